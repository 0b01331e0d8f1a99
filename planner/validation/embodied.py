"""Adapters of embodied carbon: dies, accelerators, batteries, and shares of a life."""

from __future__ import annotations

import re

from carbon.attribution import embodied_share_kgco2e, intensity_ratio, lifetime_h
from carbon.embodied import (
    accelerator_kgco2e,
    baseboard_share_kgco2e,
    battery_kgco2e_per_y,
    capacity_kgco2e,
    die_kgco2e,
    gas_kgco2e_per_cm2,
    packaging_kgco2e,
)
from planner.validation.aliases import aliases, constant
from planner.validation.forms import Book, NotUnderstood

DIES = "die and embodied carbon"

BOOK = Book(
    {
        "gpu_hours": ("device_h", 1.0),
        "gpu_h": ("device_h", 1.0),
        "hours": ("duration_h", 1.0),
        "days": ("duration_h", 24.0),
        "gpus": ("devices", 1.0),
        "tdp_w": ("power_kw", 1e-3),
        "server_kg": ("embodied_kgco2e", 1.0),
        "gpu_kg": ("embodied_kgco2e", 1.0),
        "device_kg": ("embodied_kgco2e", 1.0),
        "board_kg": ("embodied_kgco2e", 1.0),
        "total_kg": ("embodied_kgco2e", 1.0),
        "baseboard_kg": ("baseboard_kgco2e", 1.0),
        "lifetime_years": ("lifetime_y", 1.0),
        "utilisation": ("utilisation_fraction", 1.0),
        "area_mm2": ("area_cm2", 1e-2),
        "hbm_gb": ("memory_gb", 1.0),
        "mem_gb": ("memory_gb", 1.0),
        "memory": ("memory_type", 1.0),
        "mem_type": ("memory_type", 1.0),
        "die_cm2": ("area_cm2", 1.0),
        "die_mm2": ("area_cm2", 1e-2),
        "capacity_mwh": ("capacity_kwh", 1e3),
        "kg_per_kwh": ("battery_kgco2e_per_kwh", 1.0),
        "t_per_mwh": ("battery_kgco2e_per_kwh", 1.0),
        "kg_per_mwh": ("battery_kgco2e_per_kwh", 1e-3),
        "cycles": ("life_cycles", 1.0),
        "cycle_life": ("life_cycles", 1.0),
        "cycles_per_day": ("cycles_per_y", 365.25),
        "cycles_per_year": ("cycles_per_y", 1.0),
        "shelf_life_years": ("shelf_life_y", 1.0),
        "calendar_life_years": ("shelf_life_y", 1.0),
        "ci_fab": ("fab_kgco2e_per_kwh", 1e-3),
        "epa": ("fab_kwh_per_cm2", 1.0),
        "gpa": ("gas_kgco2e_per_cm2", 1e-3),
        "mpa": ("material_kgco2e_per_cm2", 1e-3),
        "fab_yield": ("yield_fraction", 1.0),
        "ics": ("packages", 1.0),
        "ics_per_dimm": ("packages", 1.0),
        "pkg_g": ("package_kgco2e", 1e-3),
        "mem_g_per_gb": ("memory_kgco2e_per_gb", 1e-3),
        "g_per_gb": ("capacity_kgco2e_per_gb", 1e-3),
        "gb": ("capacity_gb", 1.0),
        "gb_per_dimm": ("capacity_gb", 1.0),
        "dimms": ("pieces", 1.0),
        "drives": ("pieces", 1.0),
    }
)


@BOOK.takes("embodied_amortised", unit="kgCO2e", subject=DIES, labels=("gpu", "model"))
def amortised(
    *,
    embodied_kgco2e: float,
    lifetime_y: float,
    device_h: float | None = None,
    duration_h: float | None = None,
    devices: float = 1.0,
    accelerators_per_server: float = 1.0,
    utilisation_fraction: float = 1.0,
    hours_per_year: float | None = None,
) -> float:
    """Embodied share of some hours, by calendar hours or, with a utilisation, by used hours."""
    if device_h is not None and duration_h is not None:
        raise NotUnderstood("embodied_amortised takes gpu_hours or hours, not both")
    hours = device_h if device_h is not None else duration_h
    if hours is None:
        raise NotUnderstood("embodied_amortised needs gpu_hours or hours")
    if device_h is not None and devices != 1.0:
        raise NotUnderstood("embodied_amortised takes gpu_hours, or hours and gpus: not gpu_hours and gpus")
    life_h = (
        float(lifetime_h(lifetime_y=lifetime_y)) if hours_per_year is None else lifetime_y * hours_per_year
    )
    return float(
        embodied_share_kgco2e(
            embodied_kgco2e=baseboard_share_kgco2e(
                baseboard_kgco2e=embodied_kgco2e, accelerators=accelerators_per_server
            ),
            used_h=hours * devices,
            lifetime_h=life_h,
            utilisation_fraction=utilisation_fraction,
        )
    )


@BOOK.takes("embodied_per_gpu", unit="kgCO2e", subject=DIES)
def per_gpu(*, baseboard_kgco2e: float, devices: float) -> float:
    """One accelerator's share of a board."""
    return float(baseboard_share_kgco2e(baseboard_kgco2e=baseboard_kgco2e, accelerators=devices))


@BOOK.takes("embodied_intensity_ratio", unit="1", subject=DIES)
def intensity(*, old_kg: float, new_kg: float, throughput_ratio_fp16: float) -> float:
    """Embodied carbon for the same work, new over old."""
    return float(
        intensity_ratio(old_kgco2e=old_kg, new_kgco2e=new_kg, throughput_ratio=throughput_ratio_fp16)
    )


@BOOK.takes("share", unit="1", subject=DIES)
def share(*, memory_kg: float, total_kg: float) -> float:
    """One part of a published split over the whole."""
    return memory_kg / total_kg


@BOOK.takes("embodied_component_engine", unit="kgCO2e", subject=DIES, labels=("gpu", "accelerator"))
def component_engine(
    *, node: str | float, area_cm2: float, memory_gb: float, power_kw: float, memory_type: str = "hbm"
) -> float:
    """Embodied carbon of one accelerator by the component engine, calibrated on one board only."""
    engine = "embodied.engine."
    family = re.sub(r"\d.*", "", memory_type.lower())  # hbm3e and hbm2 are hbm here, gddr6x is gddr
    return float(
        accelerator_kgco2e(
            die_cm2=area_cm2,
            memory_gb=memory_gb,
            tdp_kw=power_kw,
            silicon_kgco2e_per_cm2=constant(f"die.{_process(node)}.carbon_per_area", "kgco2e_per_cm2"),
            integrated_circuit_residual_kgco2e=constant(
                engine + "integrated_circuit_residual", "residual_kgco2e"
            ),
            memory_kgco2e_per_gb=constant(f"{engine}memory_{family}", "memory_kgco2e_per_gb"),
            thermal_kgco2e_per_kw=constant(engine + "thermal", "thermal_kgco2e_per_kw"),
            electromechanical_kgco2e=constant(engine + "electromechanical", "electromechanical_kgco2e"),
            assembly_ratio=constant(engine + "assembly_ratio", "assembly_ratio"),
        )
    )


@BOOK.takes("battery_embodied_per_year", unit="kgCO2e/y", subject=DIES)
def battery_per_year(
    *,
    capacity_kwh: float,
    battery_kgco2e_per_kwh: float,
    life_cycles: float | None = None,
    cycles_per_y: float | None = None,
    shelf_life_y: float | None = None,
) -> dict[str, float]:
    """Embodied carbon of a battery for a year: worn out by cycles or by age, whichever is sooner."""
    if (life_cycles is None) != (cycles_per_y is None) or (life_cycles is None and shelf_life_y is None):
        raise NotUnderstood(
            "battery_embodied_per_year needs cycles and cycles_per_day, or shelf_life_years, or all three"
        )
    yearly = float(
        battery_kgco2e_per_y(
            capacity_kwh=capacity_kwh,
            battery_kgco2e_per_kwh=battery_kgco2e_per_kwh,
            life_cycles=life_cycles or 1.0,
            cycles_per_y=cycles_per_y or 0.0,
            shelf_life_y=shelf_life_y if shelf_life_y is not None else 1e9,  # no limit of its own
        )
    )
    return {"kgCO2e/y": yearly, "kgCO2e": yearly}


@BOOK.takes("embodied_act", unit="kgCO2e", subject=DIES)
def act_die(
    *,
    area_cm2: float,
    fab_kgco2e_per_kwh: float,
    yield_fraction: float,
    packages: float,
    package_kgco2e: float,
    node: str | float | None = None,
    fab_kwh_per_cm2: float | None = None,
    gas_kgco2e_per_cm2: float | str | None = None,
    material_kgco2e_per_cm2: float | None = None,
    memory_gb: float = 0.0,
    memory_kgco2e_per_gb: float = 0.0,
) -> float:
    """A die with its packages and, on a card, its memory by capacity (no yield, as in ACT's paper).

    Factors that are not given are those of the node; gas may be an abatement, such as `95%`.
    """
    die = die_kgco2e(
        area_cm2=area_cm2,
        fab_kgco2e_per_kwh=fab_kgco2e_per_kwh,
        yield_fraction=yield_fraction,
        fab_kwh_per_cm2=_of_node(node, "fab_energy", fab_kwh_per_cm2),
        gas_kgco2e_per_cm2=_gas(node, gas_kgco2e_per_cm2),
        material_kgco2e_per_cm2=_of_node(node, "materials", material_kgco2e_per_cm2),
    )
    memory = capacity_kgco2e(capacity_gb=memory_gb, capacity_kgco2e_per_gb=memory_kgco2e_per_gb)
    return float(die + memory + packaging_kgco2e(packages=packages, package_kgco2e=package_kgco2e))


@BOOK.takes("embodied_act", unit="kgCO2e", subject=DIES)
def act_capacity(
    *,
    pieces: float,
    capacity_gb: float,
    capacity_kgco2e_per_gb: float,
    yield_fraction: float,
    packages: float,
    package_kgco2e: float,
) -> float:
    """Memory modules or drives as ACT counts them: capacity through the yield, and packages."""
    one = capacity_kgco2e(
        capacity_gb=capacity_gb, capacity_kgco2e_per_gb=capacity_kgco2e_per_gb, yield_fraction=yield_fraction
    )
    return float(pieces * (one + packaging_kgco2e(packages=packages, package_kgco2e=package_kgco2e)))


def _process(node: str | float) -> str:
    """The catalogue's name of a process: `7nm`, `N7`, `4N` or 7 is `n7`, `n4`."""
    text = f"{node:g}" if isinstance(node, float) else node
    known = aliases("process_node")
    if text in known:
        return str(known[text])
    found = re.search(r"\d+", text)
    if found is None:
        raise NotUnderstood(f"no process node '{node}'")
    return f"n{found[0]}"


def _of_node(node: str | float | None, name: str, given: float | None) -> float:
    """A factor of the fab: given, or that of the node."""
    if given is not None:
        return given
    if node is None:
        raise NotUnderstood("embodied_act needs a node, or epa, gpa and mpa")
    return constant(
        f"die.{_process(node)}.{name}", "kgco2e_per_cm2" if name != "fab_energy" else "kwh_per_cm2"
    )


def _gas(node: str | float | None, given: float | str | None) -> float:
    """Fab gas emissions: given, or by abatement from the two that ACT publishes for the node."""
    if isinstance(given, float):
        return given
    abated = constant("fab.abatement", "fraction") if given is None else float(given.rstrip("% ")) / 100.0
    ends = {0.95: "gas_95", 0.99: "gas_99"}
    if abated in ends:
        return _of_node(node, ends[abated], None)  # authors of other nodes give one end alone
    return float(
        gas_kgco2e_per_cm2(
            abatement_fraction=abated,
            low_abatement_fraction=0.95,
            high_abatement_fraction=0.99,
            gas_at_low_kgco2e_per_cm2=_of_node(node, "gas_95", None),
            gas_at_high_kgco2e_per_cm2=_of_node(node, "gas_99", None),
        )
    )
