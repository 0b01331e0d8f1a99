"""Adapters of other tools' formulas: their numbers, to be reproduced and not to be believed."""

from __future__ import annotations

import re
from fractions import Fraction

from carbon.attribution import calendar_share_kgco2e, lifetime_h
from carbon.embodied import capacity_kgco2e
from carbon.peers import (
    CardWay,
    boavizta_card_kgco2e,
    boavizta_chip_kgco2e,
    boavizta_memory_kgco2e,
    ccf_server_kgco2e,
    ecologits_gpu_kwh,
    ecologits_gpus,
    ecologits_latency_s,
    ecologits_request_kgco2e,
    ecologits_request_kwh,
    green_algorithms_kwh,
    llmcarbon_chip_kgco2e,
)
from carbon.yields import effective_die_cm2, seeds_yield_fraction, wafer_dies
from planner.validation.aliases import constant, constants
from planner.validation.carbon import ENERGY
from planner.validation.embodied import DIES
from planner.validation.forms import Book, NotUnderstood

BOOK = Book(
    {
        "hours": ("duration_h", 1.0),
        "gpu_w": ("gpu_kw", 1e-3),
        "core_w": ("core_kw", 1e-3),
        "mem_gb": ("memory_gb", 1.0),
        "active_b": ("active_parameters", 1e9),
        "total_b": ("parameters", 1e9),
        "out_tokens": ("output_tokens", 1.0),
        "lifetime_years": ("lifetime_y", 1.0),
        "effective_die_mm2": ("effective_die_cm2", 1e-2),
        "die_mm2": ("die_cm2", 1e-2),
        "kg_per_mm2": ("die_kgco2e_per_cm2", 1e2),
        "kg_per_cm2": ("die_kgco2e_per_cm2", 1.0),
        "base_kg": ("base_kgco2e", 1.0),
        "gb": ("capacity_gb", 1.0),
        "dram_kg_per_gb": ("dram_kgco2e_per_gb", 1.0),
    }
)

_BOAVIZTA = "peer.boavizta"
_ECOLOGITS = "peer.ecologits"


@BOOK.takes("job_energy", unit="kWh", subject=ENERGY)
def green_algorithms(
    *,
    duration_h: float,
    gpus: float,
    gpu_kw: float,
    cores: float,
    core_kw: float,
    memory_gb: float,
    pue: float,
) -> float:
    """Energy of a job as Green Algorithms counts it: everything at full use, once."""
    return float(
        green_algorithms_kwh(
            duration_h=duration_h,
            cores=cores,
            core_kw=core_kw,
            core_utilisation_fraction=1.0,
            gpus=gpus,
            gpu_kw=gpu_kw,
            gpu_utilisation_fraction=1.0,
            memory_gb=memory_gb,
            pue=pue,
            repeats=1.0,
            memory_kw_per_gb=constant("storage.dram.power@green-algorithms", "memory_kw_per_gb"),
        )
    )


@BOOK.takes("embodied_llmcarbon", unit="kgCO2e", subject=DIES)
def llmcarbon(*, components: str, run_days: float, lifetime_days: float) -> float:
    """A cluster's embodied share as LLMCarbon counts it, from a list of parts in words.

    Parts read `512 x V100 8.15 cm2 @1.2` or `64 x (CPU 1.47 cm2 @1, DRAM 256 GB @0.4)`: number, amount,
    unit, and kilograms for each unit.
    """
    total = 0.0
    for count, parts in re.findall(r"(\d+)\s*x\s*(\([^)]*\)|[^+]*)", components):
        for amount, unit, rate in re.findall(r"(\d+\.?\d*)\s*(cm2|GB)\s*@\s*(\d+\.?\d*)", parts):
            if unit == "GB":
                one = capacity_kgco2e(capacity_gb=float(amount), capacity_kgco2e_per_gb=float(rate))
            else:
                one = llmcarbon_chip_kgco2e(area_cm2=float(amount), silicon_kgco2e_per_cm2=float(rate))
            total += int(count) * float(one)
    if not total:
        raise NotUnderstood(f"no part was read from '{components}'")
    return float(
        calendar_share_kgco2e(embodied_kgco2e=total, used_h=24.0 * run_days, lifetime_h=24.0 * lifetime_days)
    )


@BOOK.takes("embodied_ccf_server", unit="kgCO2e", subject=DIES)
def ccf_server(
    *,
    base_kg: float,
    dram_gb: float,
    dram_threshold_gb: float,
    dram_kgco2e_per_gb: float | str,
    ssd: float = 0.0,
    ssd_kg: float = 0.0,
    hdd: float = 0.0,
    hdd_kg: float = 0.0,
    extra_cpu: float = 0.0,
    cpu_kg: float = 0.0,
    gpu: float = 0.0,
    gpu_kg: float = 0.0,
) -> float:
    """A server as Cloud Carbon Footprint counts it; a factor may be written as a fraction, `533/384`."""
    rate = float(Fraction(dram_kgco2e_per_gb))
    return float(
        ccf_server_kgco2e(
            base_kgco2e=base_kg,
            memory_gb=dram_gb,
            base_memory_gb=dram_threshold_gb,
            memory_kgco2e_per_gb=rate,
            extra_cpus=extra_cpu,
            cpu_kgco2e=cpu_kg,
            ssds=ssd,
            ssd_kgco2e=ssd_kg,
            hdds=hdd,
            hdd_kgco2e=hdd_kg,
            gpus=gpu,
            gpu_kgco2e=gpu_kg,
        )
    )


@BOOK.takes("embodied_boavizta", unit="kgCO2e", subject=DIES)
def boavizta_card(
    *,
    vram_gb: float,
    vram_dies: float,
    effective_die_cm2: float,
    pcb_cm2: float,
    casing_kg: float,
    heatsink_kg: float,
    mass_kg: float,
    boat_km: float,
    truck_km: float,
) -> float:
    """A graphics card as BoaviztAPI counts it, with the area that its memory takes from the wafer."""
    made = constants(
        _BOAVIZTA,
        {
            "die_kgco2e_per_cm2": "die",
            "memory_kgco2e_per_cm2": "memory_die",
            "board_kgco2e_per_cm2": "board",
            "casing_kgco2e_per_kg": "casing",
            "heat_sink_kgco2e_per_kg": "heat_sink",
        },
    )
    moved = constants(
        _BOAVIZTA,
        {
            "upstream_kgco2e_per_kg": "upstream",
            "truck_kgco2e_per_kg_km": "truck",
            "boat_kgco2e_per_kg_km": "boat",
            "end_of_life_kgco2e_per_kg": "end_of_life",
        },
    )
    one_cm2 = vram_gb / vram_dies / constant(f"{_BOAVIZTA}.memory_density", "memory_gb_per_cm2")
    return float(
        boavizta_card_kgco2e(
            die_cm2=effective_die_cm2,
            memory_die_cm2=vram_dies * _effective_cm2(one_cm2),
            board_cm2=pcb_cm2,
            casing_kg=casing_kg,
            heat_sink_kg=heatsink_kg,
            mass_kg=mass_kg,
            **made,
            way=CardWay(truck_km=truck_km, boat_km=boat_km, **moved),
        )
    )


@BOOK.takes("embodied_boavizta", unit="kgCO2e", subject=DIES)
def boavizta_chip(*, die_cm2: float, die_kgco2e_per_cm2: float, base_kgco2e: float) -> float:
    """A processor as Boavizta counts it."""
    return float(
        boavizta_chip_kgco2e(die_cm2=die_cm2, die_kgco2e_per_cm2=die_kgco2e_per_cm2, base_kgco2e=base_kgco2e)
    )


@BOOK.takes("embodied_boavizta", unit="kgCO2e", subject=DIES)
def boavizta_memory(
    *, capacity_gb: float, density_gb_per_cm2: float, die_kgco2e_per_cm2: float, base_kgco2e: float
) -> float:
    """A memory module or drive as Boavizta counts it."""
    return float(
        boavizta_memory_kgco2e(
            capacity_gb=capacity_gb,
            density_gb_per_cm2=density_gb_per_cm2,
            die_kgco2e_per_cm2=die_kgco2e_per_cm2,
            base_kgco2e=base_kgco2e,
        )
    )


@BOOK.takes("ecologits_request", unit="kWh", subject=ENERGY)
def ecologits(
    *,
    active_parameters: float,
    parameters: float,
    output_tokens: float,
    batch: float,
    pue: float | None = None,
    server_kg: float | None = None,
    gpu_kg: float | None = None,
    lifetime_y: float | None = None,
) -> dict[str, float]:
    """A request as EcoLogits counts it: its energy where a PUE is given, its hardware where a server is."""
    gpus = float(
        ecologits_gpus(
            parameters=parameters,
            **constants(
                _ECOLOGITS,
                {
                    "bits_per_parameter": "bits",
                    "overhead_ratio": "memory_overhead",
                    "gpu_memory_gb": "gpu_memory",
                },
            ),
        )
    )
    latency = float(
        ecologits_latency_s(
            output_tokens=output_tokens,
            active_parameters=active_parameters,
            batch=batch,
            **constants(
                _ECOLOGITS,
                {
                    "parameter_slope_s": "latency_slope",
                    "batch_slope_s": "latency_batch",
                    "offset_s": "latency_offset",
                },
            ),
        )
    )
    in_a_host = constant(f"{_ECOLOGITS}.gpus_a_host", "gpus_a_host")
    answer: dict[str, float] = {}
    if pue is not None:
        gpu_kwh = ecologits_gpu_kwh(
            output_tokens=output_tokens,
            active_parameters=active_parameters,
            batch=batch,
            **constants(
                _ECOLOGITS,
                {
                    "slope_kwh": "gpu_slope",
                    "batch_decay_factor": "batch_decay",
                    "offset_kwh": "gpu_offset",
                },
            ),
        )
        answer["kWh"] = float(
            ecologits_request_kwh(
                latency_s=latency,
                gpu_kwh=gpu_kwh,
                gpus=gpus,
                gpus_a_host=in_a_host,
                batch=batch,
                pue=pue,
                host_kw=constant(f"{_ECOLOGITS}.host_power", "host_kw"),
            )
        )
    if server_kg is not None and gpu_kg is not None and lifetime_y is not None:
        answer["kgCO2e"] = float(
            ecologits_request_kgco2e(
                latency_s=latency,
                gpus=gpus,
                gpu_kgco2e=gpu_kg,
                host_kgco2e=server_kg,
                gpus_a_host=in_a_host,
                lifetime_h=float(lifetime_h(lifetime_y=lifetime_y)),
                batch=batch,
            )
        )
    if not answer:
        raise NotUnderstood("ecologits_request needs a pue, or server_kg, gpu_kg and lifetime_years")
    return answer


def _effective_cm2(die_cm2: float) -> float:
    """Wafer area that a good die uses up; its yield is that of the die with its kerf."""
    kerf, wafer = (
        constant(f"{_BOAVIZTA}.kerf", "kerf", unit="cm"),
        constant(f"{_BOAVIZTA}.wafer", "wafer_cm2"),
    )
    defects = constant(f"{_BOAVIZTA}.defect_density", "defects_per_cm2")
    good = seeds_yield_fraction(area_cm2=(die_cm2**0.5 + kerf) ** 2, defects_per_cm2=defects)
    dies = wafer_dies(die_cm2=die_cm2, wafer_cm2=wafer, kerf_cm=kerf)
    return float(effective_die_cm2(wafer_cm2=wafer, wafer_dies=dies, yield_fraction=good))
