"""Adapters of operational carbon: job energy, carbon, water, and grids."""

from __future__ import annotations

import math
import re

from carbon.attribution import lifetime_h
from carbon.energy import energy_kwh
from carbon.grid import pounds_kgco2e_per_kwh
from carbon.operational import operational_kgco2e, training_device_h, training_flops
from carbon.pue import facility_energy_kwh
from carbon.water import offsite_water_l, onsite_water_l
from planner.inputs.loading import load_catalogue
from planner.performance.power import node_power_kw, stalled_power_kw
from planner.validation.aliases import catalogue_name, constant
from planner.validation.forms import Book, NotUnderstood

ENERGY, GRIDS = "job energy and carbon", "grids"

BOOK = Book(
    {
        "gpu_hours": ("device_h", 1.0),
        "gpu_h": ("device_h", 1.0),
        "chip_hours": ("device_h", 1.0),
        "hours": ("duration_h", 1.0),
        "days": ("duration_h", 24.0),
        "gpus": ("devices", 1.0),
        "chips": ("devices", 1.0),
        "power_w": ("power_kw", 1e-3),
        "avg_power_w": ("power_kw", 1e-3),
        "gpu_w": ("power_kw", 1e-3),
        "avg_system_w_per_chip": ("power_kw", 1e-3),
        "system_w": ("power_kw", 1e-3),
        "tdp_w": ("power_kw", 1e-3),
        "gpu_mwh": ("it_energy_kwh", 1e3),
        "gpu_kwh": ("it_energy_kwh", 1.0),
        "it_mwh": ("it_energy_kwh", 1e3),
        "energy_wh": ("it_energy_kwh", 1e-3),
        "energy_kwh": ("it_energy_kwh", 1.0),
        "energy_mwh": ("it_energy_kwh", 1e3),
        "grid_kg_per_kwh": ("grid_kgco2e_per_kwh", 1.0),
        "net_grid_kg_per_kwh": ("grid_kgco2e_per_kwh", 1.0),
        "gross_grid_kg_per_kwh": ("grid_kgco2e_per_kwh", 1.0),
        "grid_g_per_kwh": ("grid_kgco2e_per_kwh", 1e-3),
        "market_based_g_per_kwh": ("grid_kgco2e_per_kwh", 1e-3),
        "location_based_g_per_kwh": ("grid_kgco2e_per_kwh", 1e-3),
        "pue_times_grid_kg_per_kwh": ("grid_kgco2e_per_kwh", 1.0),
        "wue_onsite": ("onsite_l_per_kwh", 1.0),
        "wue_onsite_l_per_kwh": ("onsite_l_per_kwh", 1.0),
        "wue_offsite_l_per_kwh": ("offsite_l_per_kwh", 1.0),
        "ewif_l_per_kwh": ("offsite_l_per_kwh", 1.0),
        "params": ("parameters", 1.0),
        "params_active": ("parameters", 1.0),
        "params_b": ("parameters", 1e9),
        "params_active_b": ("parameters", 1e9),
        "tokens_b": ("tokens", 1e9),
        "peak_tflops": ("peak_tflop_per_s", 1.0),
        "efficiency": ("efficiency_fraction", 1.0),
        "mfu": ("efficiency_fraction", 1.0),
        "effective_time": ("effective_time_fraction", 1.0),
    }
)


@BOOK.takes(
    "job_energy",
    unit="kWh",
    subject=ENERGY,
    labels=("model", "grid_kg_per_kwh", "net_grid_kg_per_kwh"),
)
def job_kwh(
    *,
    it_energy_kwh: float | None = None,
    device_h: float | None = None,
    duration_h: float | None = None,
    devices: float | None = None,
    power_kw: float | None = None,
    gpu: str | None = None,
    pue: float = 1.0,
) -> float:
    """Energy at the meter of the facility; PUE 1 where the row states none.

    Hours of a named accelerator without a power are hours of training, its share of the host with it.
    """
    _one_way(it_energy_kwh, device_h, duration_h, devices, power_kw)
    if it_energy_kwh is None:
        if (power_kw is None and gpu is None) or (device_h is None and duration_h is None):
            raise NotUnderstood("job_energy needs an energy, or hours and a power or gpu")
        if power_kw is None:
            power_kw = training_share_kw(str(gpu))
        hours = (
            device_h if device_h is not None else (duration_h or 0.0) * (1.0 if devices is None else devices)
        )
        it_energy_kwh = float(energy_kwh(power_kw=power_kw, duration_h=hours))
    return float(facility_energy_kwh(it_energy_kwh=it_energy_kwh, pue=pue))


@BOOK.takes("job_operational_carbon", unit="kgCO2e", subject=ENERGY, labels=("model",))
def job_carbon(
    *,
    grid_kgco2e_per_kwh: float,
    it_energy_kwh: float | None = None,
    device_h: float | None = None,
    duration_h: float | None = None,
    devices: float | None = None,
    power_kw: float | None = None,
    gpu: str | None = None,
    pue: float = 1.0,
) -> float:
    """Carbon of the electricity of a job."""
    energy = job_kwh(
        it_energy_kwh=it_energy_kwh,
        device_h=device_h,
        duration_h=duration_h,
        devices=devices,
        power_kw=power_kw,
        gpu=gpu,
        pue=pue,
    )
    return float(operational_kgco2e(facility_energy_kwh=energy, grid_kgco2e_per_kwh=grid_kgco2e_per_kwh))


@BOOK.takes("job_water", unit="L", subject=ENERGY, labels=("model",))
def job_water(
    *,
    onsite_l_per_kwh: float = 0.0,
    offsite_l_per_kwh: float = 0.0,
    it_energy_kwh: float | None = None,
    device_h: float | None = None,
    duration_h: float | None = None,
    devices: float | None = None,
    power_kw: float | None = None,
    gpu: str | None = None,
    pue: float = 1.0,
) -> float:
    """Water of a job, on site by IT energy and at power stations by facility energy."""
    it_kwh = job_kwh(
        it_energy_kwh=it_energy_kwh,
        device_h=device_h,
        duration_h=duration_h,
        devices=devices,
        power_kw=power_kw,
        gpu=gpu,
    )
    metered_kwh = facility_energy_kwh(it_energy_kwh=it_kwh, pue=pue)
    at_site = onsite_water_l(it_energy_kwh=it_kwh, onsite_l_per_kwh=onsite_l_per_kwh)
    at_stations = offsite_water_l(facility_energy_kwh=metered_kwh, offsite_l_per_kwh=offsite_l_per_kwh)
    return float(at_site + at_stations)


def training_share_kw(gpu: str) -> float:
    """Power of one accelerator in training with its share of the host, as `everfleet carbon` takes it."""
    chip, catalogue = catalogue_name("accelerator", gpu), load_catalogue()
    sku = next((one for one in catalogue.skus.values() if one.accelerator == chip), None)
    if sku is None:
        raise NotUnderstood(f"no node of '{gpu}' in the catalogue: state power_w")
    one = stalled_power_kw(
        tdp_kw=constant(f"accelerator.{chip}.tdp", "tdp_kw"),
        stall_fraction=constant("performance.power.training", "stall_fraction"),
    )
    count = constant(f"server.{sku.server}.accelerators", "accelerators")
    host = constant(f"server.{sku.server}.host_power", "host_kw")
    return float(node_power_kw(host_kw=host, accelerators=count, accelerator_kw=one)) / count


def _one_way(
    it_energy_kwh: float | None,
    device_h: float | None,
    duration_h: float | None,
    devices: float | None,
    power_kw: float | None,
) -> None:
    """Refuse a row whose energy can be had in two ways that do not agree.

    `devices` next to `device_h` says among how many the hours were shared, which changes nothing.
    """
    if it_energy_kwh is not None and any(
        stated is not None for stated in (device_h, duration_h, devices, power_kw)
    ):
        raise NotUnderstood("an energy is stated, and with it hours, devices or a power: keep one way")
    if device_h is not None and duration_h is not None:
        among = 1.0 if devices is None else devices
        if not math.isclose(device_h, duration_h * among, rel_tol=1e-3):
            raise NotUnderstood(f"{device_h:g} device-hours are not {among:g} x {duration_h:g} h")


@BOOK.takes(
    "training_job_from_flops", unit="h", subject=ENERGY, labels=("devices", "gpus", "chips", "gpu", "model")
)
def training_from_flops(
    *,
    parameters: float,
    tokens: float,
    peak_tflop_per_s: float,
    efficiency_fraction: float,
    effective_time_fraction: float = 1.0,
    power_kw: float | None = None,
    pue: float | None = None,
    grid_kgco2e_per_kwh: float | None = None,
) -> dict[str, float]:
    """Device-hours from operations; with a power the energy, with a grid factor the carbon."""
    if power_kw is None and (pue is not None or grid_kgco2e_per_kwh is not None):
        raise NotUnderstood("a PUE and a grid need a power: without one only hours are worked out")
    per_token = constant("validation.flops_per_parameter_token", "flops_per_parameter_token")
    flops = training_flops(active_parameters=parameters, tokens=tokens, flops_per_parameter_token=per_token)
    hours = training_device_h(
        flops=flops,
        peak_tflop_per_s=peak_tflop_per_s,
        efficiency_fraction=efficiency_fraction,
        effective_time_fraction=effective_time_fraction,
    )
    answer = {"h": float(hours)}
    if power_kw is not None:
        answer["kWh"] = job_kwh(device_h=float(hours), power_kw=power_kw, pue=1.0 if pue is None else pue)
        if grid_kgco2e_per_kwh is not None:
            answer["kgCO2e"] = float(
                operational_kgco2e(facility_energy_kwh=answer["kWh"], grid_kgco2e_per_kwh=grid_kgco2e_per_kwh)
            )
    return answer


@BOOK.takes("device_operational_carbon", unit="kgCO2e", subject=ENERGY)
def device_carbon(*, power_mw: float, duty: float, years: float, grid_g_per_kwh: float) -> float:
    """Carbon of a small device over its life; `power_mw` is in milliwatts, as ACT's tests write it."""
    used_h = float(lifetime_h(lifetime_y=years)) * duty
    return job_carbon(device_h=used_h, power_kw=power_mw * 1e-6, grid_kgco2e_per_kwh=grid_g_per_kwh * 1e-3)


@BOOK.takes("grid_intensity", unit="kgCO2e/kWh", subject=GRIDS)
def grid_of_region(*, region: str, year: int | None = None) -> float:
    """Grid intensity of a region of the catalogue, in the year that its fact is of."""
    fact = load_catalogue().fact(f"grid.{grid_called(region)}.intensity")
    known = re.search(r"year (\d{4})", fact.note)
    if year is not None and known is not None and int(known[1]) != year:
        raise NotUnderstood(f"the factor of '{region}' in the catalogue is of {known[1]}, not of {year}")
    return constant(fact.key, "grid_kgco2e_per_kwh")


def grid_called(region: str) -> str:
    """The catalogue's grid of a region, by its name, an operator's, or the place that its fact names.

    'CAMX' is a subregion of the US, 'us-central1' a region of Google, 'aws/us-east-1' one of AWS.

    Raises:
        NotUnderstood: no grid of that name, or several.
    """
    catalogue, low = load_catalogue(), region.strip().casefold()
    for name in (low, f"us-{low}", f"gcp-{low}"):
        if catalogue.has(f"grid.{name}.intensity"):
            return name
    grids = {one.grid for name, one in catalogue.regions.items() if low in (name, name.rpartition("/")[2])}
    for name in catalogue.names("grid", "intensity"):
        if catalogue.fact(f"grid.{name}.intensity").note.partition(";")[0].casefold() == low:
            grids.add(name)
    if len(grids) != 1:
        several = f": {', '.join(sorted(grids))}" if grids else ""
        raise NotUnderstood(
            f"no one grid '{region}' in the catalogue{several}; `everfleet regions` lists regions"
        )
    return grids.pop()


@BOOK.takes("grid_intensity", unit="kgCO2e/kWh", subject=GRIDS)
def grid_from_pounds(*, lb_per_mwh: float) -> float:
    """Grid intensity from pounds per megawatt-hour."""
    return float(pounds_kgco2e_per_kwh(lb_per_mwh=lb_per_mwh))
