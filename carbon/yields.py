"""How many good dies a wafer gives. Four yield models on the same two inputs, and the wafer's geometry.

Which model is right depends on how defects cluster; at A * D0 = 0.8 they differ by 10 points and more,
so the choice is an input of the plan and not of this file. A fixed yield is a number and needs no model.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carbon import _domain

Column = float | NDArray[np.float64]


def poisson_yield_fraction(*, area_cm2: Column, defects_per_cm2: Column) -> Column:
    """Share of good dies when defects fall independently.

    Y = exp(-A * D0)

    The lowest of the common models: it ignores that defects cluster.

    Source: Stapper, "Modeling of Integrated Circuit Defect Sensitivities", IBM J. R&D 27(6), 1983.
    """
    return np.exp(-_mean_defects(area_cm2, defects_per_cm2))


def murphy_yield_fraction(*, area_cm2: Column, defects_per_cm2: Column) -> Column:
    """Share of good dies when the defect density varies by a triangular distribution.

    Y = ((1 - exp(-A * D0)) / (A * D0))^2

    Source: Murphy, "Cost-Size Optima of Monolithic Integrated Circuits", Proc. IEEE 52(12), 1964.
    """
    defects = np.asarray(_mean_defects(area_cm2, defects_per_cm2))
    some = np.where(defects > 0, defects, 1.0)
    ratio = np.where(defects > 0, -np.expm1(-some) / some, 1.0)
    return np.square(ratio)[()]


def seeds_yield_fraction(*, area_cm2: Column, defects_per_cm2: Column) -> Column:
    """Share of good dies in the root form that Seeds gave for large dies.

    Y = exp(-sqrt(A * D0))

    BoaviztAPI 2.5 uses this form. Another formula, 1 / (1 + A * D0), carries the same name elsewhere: it is
    `negative_binomial_yield_fraction` at shape 1.

    Source: Seeds, "Yield, Economic, and Logistic Models for Complex Digital Arrays", IEEE Int. Convention
    Record, part 6, 1967.
    """
    return np.exp(-np.sqrt(_mean_defects(area_cm2, defects_per_cm2)))


def negative_binomial_yield_fraction(
    *, area_cm2: Column, defects_per_cm2: Column, cluster_shape: Column
) -> Column:
    """Share of good dies when the defect density varies by a gamma distribution.

    Y = (1 + A * D0 / alpha)^(-alpha)

    A large shape is the Poisson model; a small one clusters defects, which spares more dies.

    Source: Stapper, IBM J. R&D 27(6), 1983; ECO-CHIP (Sudarshan et al., HPCA 2024) takes alpha = 10.
    """
    _domain.positive(cluster_shape=cluster_shape)
    defects = _mean_defects(area_cm2, defects_per_cm2)
    return np.exp(-np.multiply(cluster_shape, np.log1p(np.divide(defects, cluster_shape))))


def wafer_dies(*, die_cm2: Column, wafer_cm2: Column, kerf_cm: Column) -> Column:
    """Whole dies that a round wafer gives, before yield.

    n = x - sqrt(2 * pi * x),  x = W / (sqrt(A) + k)^2

    The same as pi R^2 / A' - pi D / sqrt(2 A') with the wafer's area in place of its diameter. Dies are
    taken as square and the result is not rounded down, so that it stays smooth in the area.

    Source: De Vries, "Investigation of Gross Die per Wafer Formulas", IEEE Trans. Semicond. Manuf. 18, 2005.
    """
    _domain.positive(die_cm2=die_cm2, wafer_cm2=wafer_cm2)
    _domain.nonnegative(kerf_cm=kerf_cm)
    whole = np.divide(wafer_cm2, np.square(np.add(np.sqrt(die_cm2), kerf_cm)))
    dies = whole - np.sqrt(2 * np.pi * whole)
    _domain.positive(wafer_dies=dies)
    return dies


def effective_die_cm2(*, wafer_cm2: Column, wafer_dies: Column, yield_fraction: Column) -> Column:
    """Wafer area that one good die uses up, with its part of edge, kerf and scrap.

    A_eff = W / (n * Y)

    Charge this area at the rate of a processed wafer: a rate that is already divided by yield would count
    scrap twice.

    Source: ADEME/Falk parametric model, as documented by BoaviztAPI 2.5.
    """
    _domain.positive(wafer_cm2=wafer_cm2, wafer_dies=wafer_dies)
    _domain.share_above_zero(yield_fraction=yield_fraction)
    return wafer_cm2 / (wafer_dies * yield_fraction)


def saleable_yield_fraction(
    *, defect_yield_fraction: Column, salvage_fraction: Column, line_yield_fraction: Column
) -> Column:
    """Share of dies that are sold, with whole wafers lost on the way and broken dies sold in part.

    Y = Y_line * (Y_D + s * (1 - Y_D))

    Large accelerators are sold with some units switched off, so that s of the defective dies pass. With
    s = 0 and no lost wafers this is the yield of the defect model, at s = 1 every die passes.

    Source: Stapper, IBM J. R&D 27(6), 1983 (line and partially good yield).
    """
    _domain.share_above_zero(
        defect_yield_fraction=defect_yield_fraction, line_yield_fraction=line_yield_fraction
    )
    _domain.share(salvage_fraction=salvage_fraction)
    passed = defect_yield_fraction + salvage_fraction * np.subtract(1.0, defect_yield_fraction)
    return line_yield_fraction * passed


def _mean_defects(area_cm2: Column, defects_per_cm2: Column) -> Column:
    _domain.nonnegative(area_cm2=area_cm2, defects_per_cm2=defects_per_cm2)
    return area_cm2 * defects_per_cm2
