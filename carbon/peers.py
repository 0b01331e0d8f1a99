"""Formulas of other public tools, to reproduce their numbers and explain why ours differ.

No plan uses them. Every coefficient is an argument; values and versions stand in the facts.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from carbon import _domain
from carbon.columns import Column

Entry = Any  # a number or a column; a traced one while a question is put together


def mlco2_kgco2e(*, device_h: Column, tdp_kw: Column, grid_kgco2e_per_kwh: Column) -> Column:
    """Carbon of a job as the ML CO2 Impact calculator counts it.

    C = TDP * hours * CI

    Without PUE, host or embodied carbon.

    Source: Lacoste et al., "Quantifying the Carbon Emissions of Machine Learning", arXiv 1910.09700.
    """
    _domain.nonnegative(device_h=device_h, tdp_kw=tdp_kw, grid_kgco2e_per_kwh=grid_kgco2e_per_kwh)
    return device_h * tdp_kw * grid_kgco2e_per_kwh


def green_algorithms_kwh(
    *,
    duration_h: Column,
    cores: Column,
    core_kw: Column,
    core_utilisation_fraction: Column,
    gpus: Column,
    gpu_kw: Column,
    gpu_utilisation_fraction: Column,
    memory_gb: Column,
    memory_kw_per_gb: Column,
    pue: Column,
    repeats: Column,
) -> Column:
    """Energy of a job as Green Algorithms counts it, PUE included.

    E = t * PUE * (n_core * P_core * u_core + n_gpu * P_gpu * u_gpu + GB * P_mem) * PSF

    Memory is charged for what is available, not for what is used. PSF is the number of repeats.

    Source: Lannelongue, Grealey and Inouye, "Green Algorithms", Advanced Science 8(12), 2021; version 3.
    """
    _domain.nonnegative(
        duration_h=duration_h,
        cores=cores,
        core_kw=core_kw,
        gpus=gpus,
        gpu_kw=gpu_kw,
        memory_gb=memory_gb,
        memory_kw_per_gb=memory_kw_per_gb,
        repeats=repeats,
    )
    _domain.share(
        core_utilisation_fraction=core_utilisation_fraction, gpu_utilisation_fraction=gpu_utilisation_fraction
    )
    _domain.at_least(1.0, pue=pue)
    processors = cores * core_kw * core_utilisation_fraction + gpus * gpu_kw * gpu_utilisation_fraction
    return duration_h * pue * (processors + memory_gb * memory_kw_per_gb) * repeats


def ccf_server_kgco2e(
    *,
    base_kgco2e: Column,
    memory_gb: Column,
    base_memory_gb: Column,
    memory_kgco2e_per_gb: Column,
    extra_cpus: Column,
    cpu_kgco2e: Column,
    ssds: Column,
    ssd_kgco2e: Column,
    hdds: Column,
    hdd_kgco2e: Column,
    gpus: Column,
    gpu_kgco2e: Column,
) -> Column:
    """Embodied carbon of a server as Cloud Carbon Footprint counts it.

    E = base + max(GB - GB_base, 0) * c_mem + n_cpu * c_cpu + n_ssd * c_ssd + n_hdd * c_hdd + n_gpu * c_gpu

    A mono-socket server with `base_memory_gb` is in the base; drives count by number, whatever their size.

    Source: Cloud Carbon Footprint, ccf-coefficients (Davy, "Building an AWS EC2 Carbon Emissions Dataset").
    """
    _domain.nonnegative(
        base_kgco2e=base_kgco2e,
        memory_gb=memory_gb,
        base_memory_gb=base_memory_gb,
        memory_kgco2e_per_gb=memory_kgco2e_per_gb,
        extra_cpus=extra_cpus,
        cpu_kgco2e=cpu_kgco2e,
        ssds=ssds,
        ssd_kgco2e=ssd_kgco2e,
        hdds=hdds,
        hdd_kgco2e=hdd_kgco2e,
        gpus=gpus,
        gpu_kgco2e=gpu_kgco2e,
    )
    memory = np.maximum(np.subtract(memory_gb, base_memory_gb), 0.0) * memory_kgco2e_per_gb
    parts = extra_cpus * cpu_kgco2e + ssds * ssd_kgco2e + hdds * hdd_kgco2e + gpus * gpu_kgco2e
    return base_kgco2e + memory + parts


def boavizta_chip_kgco2e(*, die_cm2: Column, die_kgco2e_per_cm2: Column, base_kgco2e: Column) -> Column:
    """Embodied carbon of a processor as Boavizta counts it.

    E = A * c + base

    Source: Boavizta, methodology pages on components.
    """
    _domain.nonnegative(die_cm2=die_cm2, die_kgco2e_per_cm2=die_kgco2e_per_cm2, base_kgco2e=base_kgco2e)
    return die_cm2 * die_kgco2e_per_cm2 + base_kgco2e


def boavizta_memory_kgco2e(
    *, capacity_gb: Column, density_gb_per_cm2: Column, die_kgco2e_per_cm2: Column, base_kgco2e: Column
) -> Column:
    """Embodied carbon of a memory module or solid-state drive as Boavizta counts it.

    E = GB / density * c + base

    Source: Boavizta, methodology pages on components.
    """
    _domain.nonnegative(capacity_gb=capacity_gb)
    _domain.positive(density_gb_per_cm2=density_gb_per_cm2)
    return boavizta_chip_kgco2e(
        die_cm2=capacity_gb / density_gb_per_cm2,
        die_kgco2e_per_cm2=die_kgco2e_per_cm2,
        base_kgco2e=base_kgco2e,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CardWay:
    """What each kilogram of a card costs on its way: before assembly, on roads, at sea, at its end."""

    upstream_kgco2e_per_kg: Entry
    truck_km: Entry
    truck_kgco2e_per_kg_km: Entry
    boat_km: Entry
    boat_kgco2e_per_kg_km: Entry
    end_of_life_kgco2e_per_kg: Entry


def boavizta_card_kgco2e(
    *,
    die_cm2: Column,
    die_kgco2e_per_cm2: Column,
    memory_die_cm2: Column,
    memory_kgco2e_per_cm2: Column,
    board_cm2: Column,
    board_kgco2e_per_cm2: Column,
    casing_kg: Column,
    casing_kgco2e_per_kg: Column,
    heat_sink_kg: Column,
    heat_sink_kgco2e_per_kg: Column,
    mass_kg: Column,
    way: CardWay,
) -> Column:
    """Embodied carbon of a graphics card as BoaviztAPI counts it.

    E = sum(A_i * c_i) + sum(m_j * c_j) + m * (c_up + d_truck * c_truck + d_boat * c_boat + c_eol)

    Areas i of die, memory and board; masses j of casing and heat sink. Silicon areas are effective
    ones, with edge and scrap (`effective_die_cm2`). Stacked memory is charged its full area at a rate that
    already looks stacked, which makes the result an upper bound for HBM.

    Source: ADEME/Falk parametric model, as coded in BoaviztAPI 2.5.0.
    """
    _domain.nonnegative(
        die_cm2=die_cm2,
        die_kgco2e_per_cm2=die_kgco2e_per_cm2,
        memory_die_cm2=memory_die_cm2,
        memory_kgco2e_per_cm2=memory_kgco2e_per_cm2,
        board_cm2=board_cm2,
        board_kgco2e_per_cm2=board_kgco2e_per_cm2,
        casing_kg=casing_kg,
        casing_kgco2e_per_kg=casing_kgco2e_per_kg,
        heat_sink_kg=heat_sink_kg,
        heat_sink_kgco2e_per_kg=heat_sink_kgco2e_per_kg,
        mass_kg=mass_kg,
        **asdict(way),
    )
    silicon = die_cm2 * die_kgco2e_per_cm2 + memory_die_cm2 * memory_kgco2e_per_cm2
    board = board_cm2 * board_kgco2e_per_cm2
    metal = casing_kg * casing_kgco2e_per_kg + heat_sink_kg * heat_sink_kgco2e_per_kg
    transport: Column = (
        way.upstream_kgco2e_per_kg
        + way.truck_km * way.truck_kgco2e_per_kg_km
        + way.boat_km * way.boat_kgco2e_per_kg_km
    )
    moved: Column = mass_kg * (transport + way.end_of_life_kgco2e_per_kg)
    return silicon + board + metal + moved


def llmcarbon_chip_kgco2e(*, area_cm2: Column, silicon_kgco2e_per_cm2: Column) -> Column:
    """Embodied carbon of a chip as LLMCarbon counts it.

    E = A * CPA

    Memory and storage go by capacity (`capacity_kgco2e`), jobs by days of the cluster over days of life
    (`calendar_share_kgco2e`). Packaging, board, cooling and assembly are left out.

    Source: Faiz et al., "LLMCarbon", ICLR 2024.
    """
    _domain.nonnegative(area_cm2=area_cm2, silicon_kgco2e_per_cm2=silicon_kgco2e_per_cm2)
    return area_cm2 * silicon_kgco2e_per_cm2


def ecologits_gpus(
    *, parameters: Column, bits_per_parameter: Column, overhead_ratio: Column, gpu_memory_gb: Column
) -> Column:
    """GPUs that EcoLogits assumes a model is served on: a power of two.

    n = 2^ceil(log2(ceil(r * P * Q / 8 / M)))

    Source: EcoLogits 0.11.3.
    """
    _domain.positive(
        parameters=parameters,
        bits_per_parameter=bits_per_parameter,
        overhead_ratio=overhead_ratio,
        gpu_memory_gb=gpu_memory_gb,
    )
    model_gb = overhead_ratio * parameters * bits_per_parameter / 8 / 1e9
    return np.exp2(np.ceil(np.log2(np.ceil(model_gb / gpu_memory_gb))))


def ecologits_latency_s(
    *,
    output_tokens: Column,
    active_parameters: Column,
    batch: Column,
    parameter_slope_s: Column,
    batch_slope_s: Column,
    offset_s: Column,
) -> Column:
    """Time of a request in EcoLogits when no measured speed is at hand.

    dt = T * (a * P / 1e9 + b * B + c)

    Coefficients are seconds per token: per 1e9 active parameters, per request in the batch, and fixed.

    Source: EcoLogits 0.11.3.
    """
    _domain.nonnegative(
        output_tokens=output_tokens,
        active_parameters=active_parameters,
        batch=batch,
        parameter_slope_s=parameter_slope_s,
        batch_slope_s=batch_slope_s,
        offset_s=offset_s,
    )
    return output_tokens * (parameter_slope_s * active_parameters / 1e9 + batch_slope_s * batch + offset_s)


def ecologits_gpu_kwh(
    *,
    output_tokens: Column,
    active_parameters: Column,
    batch: Column,
    slope_kwh: Column,
    batch_decay_factor: Column,
    offset_kwh: Column,
) -> Column:
    """Energy of one GPU for a request in EcoLogits.

    E_gpu = T * (a * exp(-b * B) * P / 1e9 + c)

    a is per token and 1e9 active parameters, c per token.

    Source: EcoLogits 0.11.3, fitted on ML.ENERGY measurements.
    """
    _domain.nonnegative(
        output_tokens=output_tokens,
        active_parameters=active_parameters,
        batch=batch,
        slope_kwh=slope_kwh,
        batch_decay_factor=batch_decay_factor,
        offset_kwh=offset_kwh,
    )
    slope = slope_kwh * np.exp(-np.multiply(batch_decay_factor, batch))
    return output_tokens * (slope * active_parameters / 1e9 + offset_kwh)


def ecologits_request_kwh(
    *,
    latency_s: Column,
    gpu_kwh: Column,
    gpus: Column,
    host_kw: Column,
    gpus_a_host: Column,
    batch: Column,
    pue: Column,
) -> Column:
    """Energy of a request in EcoLogits, PUE included.

    E = PUE * (dt * P_host * n / n_host / B + n * E_gpu)

    The host is shared by the batch; the energy of the GPUs is per request already.

    Source: EcoLogits 0.11.3.
    """
    _domain.nonnegative(latency_s=latency_s, gpu_kwh=gpu_kwh, gpus=gpus, host_kw=host_kw)
    _domain.positive(gpus_a_host=gpus_a_host, batch=batch)
    _domain.at_least(1.0, pue=pue)
    host_kwh = latency_s / 3600 * host_kw * gpus / gpus_a_host / batch
    return pue * (host_kwh + gpus * gpu_kwh)


def ecologits_request_kgco2e(
    *,
    latency_s: Column,
    gpus: Column,
    gpu_kgco2e: Column,
    host_kgco2e: Column,
    gpus_a_host: Column,
    lifetime_h: Column,
    batch: Column,
) -> Column:
    """Embodied carbon of a request in EcoLogits.

    M = dt * (n / n_host * E_host + n * E_gpu) / (L * B)

    By calendar hours: hours without requests are charged to nobody.

    Source: EcoLogits 0.11.3.
    """
    _domain.nonnegative(latency_s=latency_s, gpus=gpus, gpu_kgco2e=gpu_kgco2e, host_kgco2e=host_kgco2e)
    _domain.positive(gpus_a_host=gpus_a_host, lifetime_h=lifetime_h, batch=batch)
    hardware_kgco2e = gpus * host_kgco2e / gpus_a_host + gpus * gpu_kgco2e
    return latency_s / 3600 * hardware_kgco2e / (lifetime_h * batch)
