"""Carbon of dies: what a fab spends on a square centimetre, and how much of it one good die carries.

Two routes to the rate: from energy, gases and materials (ACT), or from one that is published per good area
(imec). Both let the fab's grid and the yield be chosen.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carbon import _domain
from carbon.yields import effective_die_cm2

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


def processed_kgco2e_per_cm2(
    *,
    fab_kwh_per_cm2: Column,
    fab_kgco2e_per_kwh: Column,
    gas_kgco2e_per_cm2: Column,
    material_kgco2e_per_cm2: Column,
) -> Column:
    """Carbon to process one square centimetre of wafer, good or not.

    c = CI_fab * EPA + GPA + MPA

    The rate to charge a die's share of the whole wafer at (`good_die_kgco2e`). Design is left out.

    Source: Gupta et al., "ACT", ISCA 2022.
    """
    _domain.nonnegative(
        fab_kwh_per_cm2=fab_kwh_per_cm2,
        fab_kgco2e_per_kwh=fab_kgco2e_per_kwh,
        gas_kgco2e_per_cm2=gas_kgco2e_per_cm2,
        material_kgco2e_per_cm2=material_kgco2e_per_cm2,
    )
    return fab_kgco2e_per_kwh * fab_kwh_per_cm2 + gas_kgco2e_per_cm2 + material_kgco2e_per_cm2


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
    processed = processed_kgco2e_per_cm2(
        fab_kwh_per_cm2=fab_kwh_per_cm2,
        fab_kgco2e_per_kwh=fab_kgco2e_per_kwh,
        gas_kgco2e_per_cm2=gas_kgco2e_per_cm2,
        material_kgco2e_per_cm2=material_kgco2e_per_cm2,
    )
    _domain.share_above_zero(yield_fraction=yield_fraction)
    return processed / yield_fraction


def rerated_kgco2e_per_cm2(
    *,
    good_kgco2e_per_cm2: Column,
    published_yield_fraction: Column,
    published_kgco2e_per_kwh: Column,
    fab_kwh_per_cm2: Column,
    fab_kgco2e_per_kwh: Column,
    yield_fraction: Column,
) -> Column:
    """A rate published per good area, moved to another fab grid and another yield.

    CPA = (CPA_0 * Y_0 + (CI_fab - CI_0) * EPA) / Y

    Models like imec's print one rate per good area, with their own grid and yield inside. At those two the
    result is what they print. A grid so much cleaner that nothing is left is refused: then the published
    rate did not hold that electricity.

    Source: Boakes et al., imec, IEDM 2023 (rates per good area); arithmetic.
    """
    _domain.nonnegative(
        good_kgco2e_per_cm2=good_kgco2e_per_cm2,
        published_kgco2e_per_kwh=published_kgco2e_per_kwh,
        fab_kwh_per_cm2=fab_kwh_per_cm2,
        fab_kgco2e_per_kwh=fab_kgco2e_per_kwh,
    )
    _domain.share_above_zero(published_yield_fraction=published_yield_fraction, yield_fraction=yield_fraction)
    electricity = np.subtract(fab_kgco2e_per_kwh, published_kgco2e_per_kwh) * fab_kwh_per_cm2
    processed = good_kgco2e_per_cm2 * published_yield_fraction + electricity
    _domain.nonnegative(processed_kgco2e_per_cm2=processed)
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


def good_die_kgco2e(
    *, processed_kgco2e_per_cm2: Column, wafer_cm2: Column, wafer_dies: Column, yield_fraction: Column
) -> Column:
    """Carbon to make one good die, with its part of the wafer's edge, kerf and scrap.

    E_die = c * W / (n * Y)

    The rate is that of a processed wafer: one that is already divided by yield would count scrap twice.

    Source: wafer balance; ECO-CHIP (Sudarshan et al., HPCA 2024) and the ADEME/Falk model charge the same.
    """
    _domain.nonnegative(processed_kgco2e_per_cm2=processed_kgco2e_per_cm2)
    return processed_kgco2e_per_cm2 * effective_die_cm2(
        wafer_cm2=wafer_cm2, wafer_dies=wafer_dies, yield_fraction=yield_fraction
    )
