"""Embodied carbon: what it takes to make dies, memory, accelerators, servers and the room around them.

Boundaries differ from function to function and every docstring says its own. A baseboard share and a
server are not the same quantity; adding host to accelerators (`server_kgco2e`) is the only way across.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carbon import _domain

Column = float | NDArray[np.float64]


def gas_kgco2e_per_cm2(
    *,
    abatement_fraction: Column,
    low_abatement_fraction: Column,
    gas_at_low_kgco2e_per_cm2: Column,
    high_abatement_fraction: Column,
    gas_at_high_kgco2e_per_cm2: Column,
) -> Column:
    """Fab gas emissions at an abatement between two published ones.

    GPA = GPA_lo + (GPA_hi - GPA_lo) * (a - a_lo) / (a_hi - a_lo)

    ACT publishes 95 % and 99 %; its default of 97 % is their mean. Outside the two, the line is extended
    and must not fall below zero.

    Source: Gupta et al., "ACT", ISCA 2022, Table 1 and default abatement.
    """
    _domain.share(
        abatement_fraction=abatement_fraction,
        low_abatement_fraction=low_abatement_fraction,
        high_abatement_fraction=high_abatement_fraction,
    )
    _domain.nonnegative(
        gas_at_low_kgco2e_per_cm2=gas_at_low_kgco2e_per_cm2,
        gas_at_high_kgco2e_per_cm2=gas_at_high_kgco2e_per_cm2,
    )
    span = np.subtract(high_abatement_fraction, low_abatement_fraction)
    _domain.positive(high_minus_low_abatement_fraction=span)
    slope = np.subtract(gas_at_high_kgco2e_per_cm2, gas_at_low_kgco2e_per_cm2) / span
    gas = gas_at_low_kgco2e_per_cm2 + slope * np.subtract(abatement_fraction, low_abatement_fraction)
    _domain.nonnegative(gas_kgco2e_per_cm2=gas)
    return gas


def silicon_kgco2e_per_cm2(
    *,
    fab_kwh_per_cm2: Column,
    fab_kgco2e_per_kwh: Column,
    gas_kgco2e_per_cm2: Column,
    material_kgco2e_per_cm2: Column,
    yield_fraction: Column,
) -> Column:
    """Carbon to make one square centimetre of good die.

    CPA = (CI_fab * EPA + GPA + MPA) / Y

    Scrapped dies are charged to the good ones. The edge of the wafer, packaging and design are left out.

    Source: Gupta et al., "ACT", ISCA 2022.
    """
    _domain.nonnegative(
        fab_kwh_per_cm2=fab_kwh_per_cm2,
        fab_kgco2e_per_kwh=fab_kgco2e_per_kwh,
        gas_kgco2e_per_cm2=gas_kgco2e_per_cm2,
        material_kgco2e_per_cm2=material_kgco2e_per_cm2,
    )
    _domain.share_above_zero(yield_fraction=yield_fraction)
    processed = fab_kgco2e_per_kwh * fab_kwh_per_cm2 + gas_kgco2e_per_cm2 + material_kgco2e_per_cm2
    return processed / yield_fraction


def die_kgco2e(
    *,
    area_cm2: Column,
    fab_kwh_per_cm2: Column,
    fab_kgco2e_per_kwh: Column,
    gas_kgco2e_per_cm2: Column,
    material_kgco2e_per_cm2: Column,
    yield_fraction: Column,
) -> Column:
    """Carbon to make one good die.

    E_SoC = A * (CI_fab * EPA + GPA + MPA) / Y

    Scrapped dies are charged to the good ones. Packaging is not included.

    Source: Gupta et al., "ACT", ISCA 2022.
    """
    _domain.nonnegative(area_cm2=area_cm2)
    return area_cm2 * silicon_kgco2e_per_cm2(
        fab_kwh_per_cm2=fab_kwh_per_cm2,
        fab_kgco2e_per_kwh=fab_kgco2e_per_kwh,
        gas_kgco2e_per_cm2=gas_kgco2e_per_cm2,
        material_kgco2e_per_cm2=material_kgco2e_per_cm2,
        yield_fraction=yield_fraction,
    )


def packaging_kgco2e(*, packages: Column, package_kgco2e: Column) -> Column:
    """Carbon of putting dies into packages.

    E_pkg = N_r * K_r

    One figure for every package, large or small; interposers and substrates of big modules cost more.

    Source: Gupta et al., "ACT", ISCA 2022 (K_r = 0.15 kg).
    """
    _domain.nonnegative(packages=packages, package_kgco2e=package_kgco2e)
    return packages * package_kgco2e


def capacity_kgco2e(
    *, capacity_gb: Column, capacity_kgco2e_per_gb: Column, yield_fraction: Column = 1.0
) -> Column:
    """Carbon to make memory or storage, by capacity.

    E = CPS * capacity / Y

    ACT's paper has no yield here, its program divides by 0.875: hand it over to follow the program.

    Source: Gupta et al., "ACT", ISCA 2022; facebookresearch/ACT v2.0 for the yield.
    """
    _domain.nonnegative(capacity_gb=capacity_gb, capacity_kgco2e_per_gb=capacity_kgco2e_per_gb)
    _domain.share_above_zero(yield_fraction=yield_fraction)
    return capacity_kgco2e_per_gb * capacity_gb / yield_fraction


def accelerator_kgco2e(
    *,
    die_cm2: Column,
    silicon_kgco2e_per_cm2: Column,
    integrated_circuit_residual_kgco2e: Column,
    memory_gb: Column,
    memory_kgco2e_per_gb: Column,
    tdp_kw: Column,
    thermal_kgco2e_per_kw: Column,
    electromechanical_kgco2e: Column,
    assembly_ratio: Column,
) -> Column:
    """Carbon of one accelerator as its share of a baseboard, cradle to gate.

    E = r * (CPA * A + E_ic + c_mem * M + c_th * P + E_em)

    The coefficients come from one published split, that of the HGX H100 board (memory, circuits, thermal,
    electromechanical; r adds assembly and transport). Switch chips and heat sinks of the board are inside,
    the host is not. Cards without switch chips are over-estimated.

    Source: NVIDIA, "HGX H100 Product Carbon Footprint Summary", 2025 (calibration); ACT for CPA.
    """
    _domain.nonnegative(
        die_cm2=die_cm2,
        silicon_kgco2e_per_cm2=silicon_kgco2e_per_cm2,
        integrated_circuit_residual_kgco2e=integrated_circuit_residual_kgco2e,
        memory_gb=memory_gb,
        memory_kgco2e_per_gb=memory_kgco2e_per_gb,
        tdp_kw=tdp_kw,
        thermal_kgco2e_per_kw=thermal_kgco2e_per_kw,
        electromechanical_kgco2e=electromechanical_kgco2e,
    )
    _domain.at_least(1.0, assembly_ratio=assembly_ratio)
    circuits = silicon_kgco2e_per_cm2 * die_cm2 + integrated_circuit_residual_kgco2e
    memory = memory_kgco2e_per_gb * memory_gb
    cooling = thermal_kgco2e_per_kw * tdp_kw
    return assembly_ratio * (circuits + memory + cooling + electromechanical_kgco2e)


def baseboard_share_kgco2e(*, baseboard_kgco2e: Column, accelerators: Column) -> Column:
    """Carbon of one accelerator with its equal share of the board that carries it.

    E = E_board / n

    The host is not included.

    Source: NVIDIA, "HGX H100 Product Carbon Footprint Summary", 2025 (1,312 kg for 8).
    """
    _domain.nonnegative(baseboard_kgco2e=baseboard_kgco2e)
    _domain.positive(accelerators=accelerators)
    return baseboard_kgco2e / accelerators


def server_kgco2e(*, accelerators: Column, accelerator_kgco2e: Column, host_kgco2e: Column) -> Column:
    """Carbon of one server: its accelerators and the host around them.

    E_server = n * E_acc + E_host

    The host figure must exclude the accelerators. Rack, network and building are left out.

    Source: sum of parts, as in Luccioni et al., "BLOOM", JMLR 24:253 (2023), section 4.1.
    """
    _domain.nonnegative(
        accelerators=accelerators, accelerator_kgco2e=accelerator_kgco2e, host_kgco2e=host_kgco2e
    )
    return accelerators * accelerator_kgco2e + host_kgco2e


def network_kgco2e(*, server_kgco2e: Column, network_fraction: Column) -> Column:
    """Carbon of switches, optics and cables, as a surcharge on the server that they connect.

    E_net = f * E_server

    No open product footprint of a cluster switch was found; the share is an assumption with a wide range.

    Source: form of Carbon Explorer (Acun et al., ASPLOS 2023), which adds a fixed ratio for other gear.
    """
    _domain.nonnegative(server_kgco2e=server_kgco2e, network_fraction=network_fraction)
    return network_fraction * server_kgco2e


def building_share_kgco2e(
    *, provisioned_kw: Column, building_kgco2e_per_kw: Column, used_h: Column, building_lifetime_h: Column
) -> Column:
    """Share of a building's embodied carbon for power that it provides over some hours.

    E = P * c_b * t / L_b

    By provisioned power, because that is what building, cooling and power plant are sized for. Refits of
    cooling and power plant within the building's life belong in c_b.

    Source: form of Schneider et al., "Life-Cycle Emissions of AI Hardware", arXiv 2502.01671 (2025).
    """
    _domain.nonnegative(
        provisioned_kw=provisioned_kw, building_kgco2e_per_kw=building_kgco2e_per_kw, used_h=used_h
    )
    _domain.positive(building_lifetime_h=building_lifetime_h)
    return provisioned_kw * building_kgco2e_per_kw * used_h / building_lifetime_h


def battery_kgco2e_per_y(
    *,
    capacity_kwh: Column,
    battery_kgco2e_per_kwh: Column,
    life_cycles: Column,
    cycles_per_y: Column,
    shelf_life_y: Column,
) -> Column:
    """Embodied carbon of a battery for each year that it serves.

    E_year = C * e / min(N_life / N_year, L_shelf)

    Cycles count at the depth of discharge for which the cycle life is given. Fading is left out.

    Source: Acun et al., "Carbon Explorer", ASPLOS 2023 (cycle life); shelf life as an upper limit.
    """
    _domain.nonnegative(
        capacity_kwh=capacity_kwh, battery_kgco2e_per_kwh=battery_kgco2e_per_kwh, cycles_per_y=cycles_per_y
    )
    _domain.positive(life_cycles=life_cycles, shelf_life_y=shelf_life_y)
    # The reciprocal of the life in years: an idle battery (no cycles) still ages on the shelf.
    lives_per_y = np.maximum(np.divide(cycles_per_y, life_cycles), np.divide(1.0, shelf_life_y))
    return capacity_kwh * battery_kgco2e_per_kwh * lives_per_y
