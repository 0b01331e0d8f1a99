"""From the plug of the node to the meter of the facility, and on to the power station.

PUE enters once, in `facility_energy_kwh`; everything before it is energy of the IT equipment. Losses of
uninterruptible supplies, transformers on site and cooling are in the PUE; losses of the grid are not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carbon import _domain

Column = float | NDArray[np.float64]

MONTHS = 12


def facility_energy_kwh(*, it_energy_kwh: Column, pue: Column) -> Column:
    """Energy at the meter of the facility.

    E_facility = E_IT * PUE

    The one place where PUE enters. A yearly PUE hides that cooling costs more in summer.

    Source: ISO/IEC 30134-2 (power usage effectiveness).
    """
    _domain.nonnegative(it_energy_kwh=it_energy_kwh)
    _domain.at_least(1.0, pue=pue)
    return it_energy_kwh * pue


def load_pue(
    *, load_fraction: Column, fixed_overhead_fraction: Column, proportional_overhead_fraction: Column
) -> Column:
    """PUE of a facility at a share of the IT power it was built for.

    PUE(l) = (a + b * l) / l = 1 + c + a / l,  b = 1 + c

    a is overhead that runs whatever the load (transformers, fans, lights), as a share of the rated IT power;
    c follows the load. Losses that grow with its square are left out: they matter near full load only.

    Source: Rasmussen, "Electrical Efficiency Modeling for Data Centers", Schneider White Paper 113.
    """
    _domain.share_above_zero(load_fraction=load_fraction)
    _domain.nonnegative(
        fixed_overhead_fraction=fixed_overhead_fraction,
        proportional_overhead_fraction=proportional_overhead_fraction,
    )
    return 1 + proportional_overhead_fraction + fixed_overhead_fraction / load_fraction


def fixed_overhead_fraction(*, full_pue: Column, part_pue: Column, part_load_fraction: Column) -> Column:
    """Fixed overhead of a facility whose PUE is known at full and at part load.

    a = (PUE(l) - PUE(1)) / (1 / l - 1)

    What remains, c = PUE(1) - 1 - a, follows the load.

    Source: `load_pue`, solved for a.
    """
    _domain.at_least(1.0, full_pue=full_pue, part_pue=part_pue)
    _domain.share_above_zero(part_load_fraction=part_load_fraction)
    if np.any(np.greater_equal(part_load_fraction, 1)) or np.any(np.less(part_pue, full_pue)):
        raise ValueError(
            "part_pue is at a part_load_fraction below 1 and not below full_pue, "
            f"got {part_pue} at {part_load_fraction} and {full_pue} at full load"
        )
    fixed = (part_pue - full_pue) / (1 / part_load_fraction - 1)
    if np.any(np.greater(fixed, full_pue - 1)):
        raise ValueError(
            f"full_pue leaves room for the fixed overhead of {fixed}, got {full_pue}: "
            "so steep a rise means that less equipment ran at full load"
        )
    return fixed


def seasonal_profile(*, amplitude_fraction: float, warmest_month: float) -> NDArray[np.float64]:
    """Overhead of each month relative to the year, where no measured profile is known.

    s_m = 1 + A * cos(2 * pi * (m - m_warm) / 12),  m = 1..12

    Its mean is 1. Months of equal length; 7 is July, and 1 the warmest month of the south.

    Source: first harmonic of a yearly cycle.
    """
    _domain.share(amplitude_fraction=amplitude_fraction)
    if not 1 <= warmest_month < MONTHS + 1:
        raise ValueError(f"warmest_month is in 1 (January) to 12, got {warmest_month}")
    months = np.arange(1, MONTHS + 1)
    return 1 + amplitude_fraction * np.cos(2 * np.pi * (months - warmest_month) / MONTHS)


def monthly_pue(*, pue: float, overhead_profile: NDArray[np.float64]) -> NDArray[np.float64]:
    """PUE of each month, January first, from that of the year.

    PUE_m = 1 + (PUE - 1) * s_m,  mean of s = 1

    The profile acts on the overhead: IT energy has no season, and no month falls below 1. At an even IT load
    the year's PUE is kept.

    Source: ISO/IEC 30134-2 (PUE is a year's energy over a year's energy).
    """
    _domain.at_least(1.0, pue=pue)
    profile = np.asarray(overhead_profile, dtype=float)
    _domain.nonnegative(overhead_profile=profile)
    if profile.shape != (MONTHS,) or abs(profile.mean() - 1) > 1e-6:
        mean = profile.mean() if profile.size else 0.0
        raise ValueError(
            f"overhead_profile is {MONTHS} months with mean 1, got {profile.size} with mean {mean:g}"
        )
    return 1 + (pue - 1) * profile


def weighted_pue(*, it_energy_kwh: NDArray[np.float64], pue: NDArray[np.float64]) -> float:
    """PUE of a period in which it changed, over the hours when the load really drew power.

    PUE = sum_t (E_t * PUE_t) / sum_t E_t

    The mean of the PUEs agrees only where the load was even.

    Source: ISO/IEC 30134-2 (ratio of sums).
    """
    facility_kwh = facility_energy_kwh(it_energy_kwh=it_energy_kwh, pue=pue)
    _domain.positive(it_energy_kwh=float(np.sum(it_energy_kwh)))
    return float(np.sum(facility_kwh) / np.sum(it_energy_kwh))


def generated_energy_kwh(*, facility_energy_kwh: Column, grid_loss_fraction: Column) -> Column:
    """Energy that power stations feed in so that a facility gets its own.

    E_gen = E_facility / (1 - k)

    Only for a grid factor per kWh generated (eGRID, Ember and most yearly tables): one per kWh consumed
    already holds transmission and distribution. k is the share of what is fed in that is lost on the way.

    Source: EPA eGRID technical guide (grid gross loss); GHG Protocol Scope 2 and category 3.
    """
    _domain.nonnegative(facility_energy_kwh=facility_energy_kwh)
    _domain.share(grid_loss_fraction=grid_loss_fraction)
    if np.any(np.equal(grid_loss_fraction, 1)):
        raise ValueError("grid_loss_fraction is below 1, got 1: nothing would arrive")
    return facility_energy_kwh / (1 - grid_loss_fraction)
