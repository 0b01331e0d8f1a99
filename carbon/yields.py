"""How many good dies a wafer gives, as peers count them: Seeds' yield, and the wafer's geometry."""

from __future__ import annotations

import numpy as np

from carbon import _domain
from carbon.columns import Column


def seeds_yield_fraction(*, area_cm2: Column, defects_per_cm2: Column) -> Column:
    """Share of good dies in the root form that Seeds gave for large dies.

    Y = exp(-sqrt(A * D0))

    BoaviztAPI 2.5 uses this form. Another formula, 1 / (1 + A * D0), carries the same name elsewhere.

    Source: Seeds, "Yield, Economic, and Logistic Models for Complex Digital Arrays", IEEE Int. Convention
    Record, part 6, 1967.
    """
    _domain.nonnegative(area_cm2=area_cm2, defects_per_cm2=defects_per_cm2)
    return np.exp(-np.sqrt(np.multiply(area_cm2, defects_per_cm2)))


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
