"""Carbon of components: by capacity, area, mass or number. Which factor goes with which stands in `data/`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carbon import _domain

Column = float | NDArray[np.float64]


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


def drives_kgco2e(
    *, drives: Column, drive_gb: Column, capacity_kgco2e_per_gb: Column, base_kgco2e: Column
) -> Column:
    """Carbon of memory modules, solid-state or hard disk drives: by capacity, with a base for each.

    E = n * (CPS * GB + base)

    The base is board, controller and case. A factor that already holds them, as most per-GB figures do, goes
    with a base of 0. Published factors differ 15 to 25 times: show the range wherever this decides.

    Source: form of Boavizta's methodology pages on memory and drives; ACT (ISCA 2022) at base 0.
    """
    _domain.nonnegative(
        drives=drives,
        drive_gb=drive_gb,
        capacity_kgco2e_per_gb=capacity_kgco2e_per_gb,
        base_kgco2e=base_kgco2e,
    )
    return drives * (capacity_kgco2e_per_gb * drive_gb + base_kgco2e)


def processor_kgco2e(
    *, processors: Column, die_cm2: Column, die_kgco2e_per_cm2: Column, base_kgco2e: Column
) -> Column:
    """Carbon of host processors: silicon by area, package and lid for each.

    E = n * (A * c + base)

    A rate without wafer edge and the package of `packaging_kgco2e` give ACT's figure; Boavizta's rate holds
    both edge and scrap.

    Source: form of Boavizta's methodology pages on processors.
    """
    _domain.nonnegative(
        processors=processors,
        die_cm2=die_cm2,
        die_kgco2e_per_cm2=die_kgco2e_per_cm2,
        base_kgco2e=base_kgco2e,
    )
    return processors * (die_cm2 * die_kgco2e_per_cm2 + base_kgco2e)


def circuit_board_kgco2e(*, board_cm2: Column, board_kgco2e_per_cm2: Column) -> Column:
    """Carbon of a populated circuit board, by its area.

    E = A * c

    Small components are inside; processors and memory are not.

    Source: ADEME/Falk parametric model of graphics cards, arXiv 2509.00093.
    """
    _domain.nonnegative(board_cm2=board_cm2, board_kgco2e_per_cm2=board_kgco2e_per_cm2)
    return board_cm2 * board_kgco2e_per_cm2


def mass_kgco2e(*, mass_kg: Column, material_kgco2e_per_kg: Column) -> Column:
    """Carbon of what goes by its mass: heat sink, casing, chassis, power supply, cables.

    E = m * c

    The rate holds material and forming; recycling credits are left out.

    Source: ADEME/Falk parametric model (heat sink, casing); Boavizta (power supply); ACT (metals).
    """
    _domain.nonnegative(mass_kg=mass_kg, material_kgco2e_per_kg=material_kgco2e_per_kg)
    return mass_kg * material_kgco2e_per_kg


def pieces_kgco2e(*, pieces: Column, piece_kgco2e: Column) -> Column:
    """Carbon of what is counted: network cards, optical transceivers, fans, motherboards.

    E = n * e

    Source: sum of parts.
    """
    _domain.nonnegative(pieces=pieces, piece_kgco2e=piece_kgco2e)
    return pieces * piece_kgco2e


def switch_kgco2e(
    *,
    switch_chip_kgco2e: Column,
    board_kgco2e: Column,
    chassis_kgco2e: Column,
    supplies_kgco2e: Column,
    ports: Column,
    port_kgco2e: Column,
) -> Column:
    """Carbon of one network switch from its parts.

    E_sw = E_chip + E_pcb + E_case + E_psu + n * e_port

    Ports carry their cages and retimers; optical transceivers are pieces of their own.

    Source: sum of parts; no open product footprint of a cluster switch was found to check it with.
    """
    _domain.nonnegative(
        switch_chip_kgco2e=switch_chip_kgco2e,
        board_kgco2e=board_kgco2e,
        chassis_kgco2e=chassis_kgco2e,
        supplies_kgco2e=supplies_kgco2e,
        ports=ports,
        port_kgco2e=port_kgco2e,
    )
    return switch_chip_kgco2e + board_kgco2e + chassis_kgco2e + supplies_kgco2e + ports * port_kgco2e
