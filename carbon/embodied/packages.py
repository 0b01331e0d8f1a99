"""Carbon of packages: one die, several chiplets, and stacks of memory, with what bonding loses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carbon import _domain

Column = float | NDArray[np.float64]


def packaging_kgco2e(*, packages: Column, package_kgco2e: Column) -> Column:
    """Carbon of putting dies into packages.

    E_pkg = N_r * K_r

    One figure for every package, large or small; interposers and substrates of big modules cost more.

    Source: Gupta et al., "ACT", ISCA 2022 (K_r = 0.15 kg).
    """
    _domain.nonnegative(packages=packages, package_kgco2e=package_kgco2e)
    return packages * package_kgco2e


def bonded_yield_fraction(*, bonds: Column, bond_yield_fraction: Column) -> Column:
    """Share of packages in which every bond holds.

    Y_bond = y^n

    Bonds fail independently, and one failed bond loses the package.

    Source: ECO-CHIP (Sudarshan et al., HPCA 2024), with y = 0.99 for each die.
    """
    _domain.nonnegative(bonds=bonds)
    _domain.share_above_zero(bond_yield_fraction=bond_yield_fraction)
    return np.power(bond_yield_fraction, bonds)


def interposer_kgco2e(
    *,
    dies_cm2: Column,
    area_ratio: Column,
    interposer_kgco2e_per_cm2: Column,
    yield_fraction: Column,
) -> Column:
    """Carbon of the silicon, bridge or redistribution layer that chiplets and memory stand on.

    E_int = s * A * c_int / Y_int

    s is its area over that of the dies on it: above 1 for a full interposer, far below for bridges. Its rate
    is that of an old process with few layers.

    Source: ECO-CHIP (Sudarshan et al., HPCA 2024), packaging; 3D-Carbon (Zhao et al., DAC 2024).
    """
    _domain.nonnegative(
        dies_cm2=dies_cm2, area_ratio=area_ratio, interposer_kgco2e_per_cm2=interposer_kgco2e_per_cm2
    )
    _domain.share_above_zero(yield_fraction=yield_fraction)
    return area_ratio * dies_cm2 * interposer_kgco2e_per_cm2 / yield_fraction


def multi_die_package_kgco2e(
    *,
    dies_kgco2e: Column,
    interposer_kgco2e: Column,
    substrate_kgco2e: Column,
    bonds: Column,
    bond_yield_fraction: Column,
) -> Column:
    """Carbon of one good package of several dies: chiplets, memory stacks and what they stand on.

    E_pkg = (E_dies + E_int + E_sub) / y^n

    Dies are tested before bonding, so `dies_kgco2e` is the sum of good ones, each with its own yield. A
    failed bond loses everything that was put together.

    Source: ECO-CHIP (Sudarshan et al., HPCA 2024); 3D-Carbon (Zhao et al., DAC 2024).
    """
    _domain.nonnegative(
        dies_kgco2e=dies_kgco2e, interposer_kgco2e=interposer_kgco2e, substrate_kgco2e=substrate_kgco2e
    )
    whole = bonded_yield_fraction(bonds=bonds, bond_yield_fraction=bond_yield_fraction)
    return (dies_kgco2e + interposer_kgco2e + substrate_kgco2e) / whole


def memory_stack_kgco2e(
    *,
    layers: Column,
    layer_cm2: Column,
    layer_kgco2e_per_cm2: Column,
    yield_fraction: Column,
    base_kgco2e: Column,
    bond_yield_fraction: Column,
) -> Column:
    """Carbon of one good stack of memory dies on a base die (HBM), layer by layer.

    E_stack = (L * A * c / Y + E_base) / y^L

    An independent route to a rate per GB: divide by what the layers hold. Layers are tested before bonding,
    one bond each.

    Source: 3D-Carbon (Zhao et al., DAC 2024), die-to-wafer stacking.
    """
    _domain.nonnegative(
        layers=layers,
        layer_cm2=layer_cm2,
        layer_kgco2e_per_cm2=layer_kgco2e_per_cm2,
        base_kgco2e=base_kgco2e,
    )
    _domain.share_above_zero(yield_fraction=yield_fraction)
    dies = layers * layer_cm2 * layer_kgco2e_per_cm2 / yield_fraction
    return (dies + base_kgco2e) / bonded_yield_fraction(bonds=layers, bond_yield_fraction=bond_yield_fraction)
