"""Carbon of dies: what a fab spends on a square centimetre, what a good die carries, and its package."""

from __future__ import annotations

import numpy as np

from carbon import _domain
from carbon.columns import Column


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

    Design is left out.

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
