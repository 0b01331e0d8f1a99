"""Who carries embodied carbon, and when: by hour, by schedule, and over a fleet with idle and spare parts.

Whatever the rule, the shares of a whole life and of a whole fleet sum to the embodied carbon, no more and
no less; the tests hold this.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from carbon import _domain

Column = float | NDArray[np.float64]

HOURS_A_YEAR = 8766.0  # 365.25 days


def lifetime_h(*, lifetime_y: Column) -> Column:
    """Calendar hours of a life given in years of 365.25 days.

    L = 8766 * years

    Tools that count 365 days come out 0.07 % higher per hour.

    Source: definition of the Julian year.
    """
    _domain.positive(lifetime_y=lifetime_y)
    return lifetime_y * HOURS_A_YEAR


def calendar_share_kgco2e(*, embodied_kgco2e: Column, used_h: Column, lifetime_h: Column) -> Column:
    """Embodied carbon of some hours, every calendar hour alike.

    M = TE * t / L

    Hours in which nobody used the hardware keep their part: charge them to idle and spare lines, or the
    fleet does not add to 100 %.

    Source: GSF, "Software Carbon Intensity", ISO/IEC 21031:2024; Cloud Carbon Footprint; OLMo 2.
    """
    _domain.nonnegative(embodied_kgco2e=embodied_kgco2e, used_h=used_h)
    _domain.positive(lifetime_h=lifetime_h)
    return embodied_kgco2e * used_h / lifetime_h


def embodied_share_kgco2e(
    *, embodied_kgco2e: Column, used_h: Column, lifetime_h: Column, utilisation_fraction: Column
) -> Column:
    """Embodied carbon of some hours, idle hours charged to the used ones.

    M = TE * t / (L * u)

    u is the share of the life that somebody uses, planned or measured. At u = 1 this is the calendar share.

    Source: Luccioni et al., "BLOOM", JMLR 24:253, 2023, sec. 4.1; Wu et al., "Sustainable AI", MLSys 2022.
    """
    _domain.share_above_zero(utilisation_fraction=utilisation_fraction)
    calendar = calendar_share_kgco2e(embodied_kgco2e=embodied_kgco2e, used_h=used_h, lifetime_h=lifetime_h)
    return calendar / utilisation_fraction


def remaining_fraction(*, age_h: Column, lifetime_h: Column, decline_factor: Column) -> Column:
    """Share of the embodied carbon not yet charged at an age. The schedule's one primitive.

    R(a) = exp(-f * a / L) up to a* = L * (1 - 1/f), then R(a*) * (L - a) / (L - a*)

    Declining balance at f times the straight-line rate, which turns into a straight line where that is
    faster, so that nothing is left at the end of life. f = 1 is the straight line throughout.

    Source: declining-balance depreciation with a switch to straight line, in continuous time.
    """
    _domain.nonnegative(age_h=age_h)
    _domain.positive(lifetime_h=lifetime_h)
    _domain.at_least(1.0, decline_factor=decline_factor)
    age = np.minimum(np.divide(age_h, lifetime_h), 1.0)
    switch = 1.0 - np.divide(1.0, decline_factor)
    declining = np.exp(-np.multiply(decline_factor, np.minimum(age, switch)))
    # 1 - a* is 1 / f, so the line falls at f times what is left, from the switch on.
    return declining * np.minimum((1.0 - age) * decline_factor, 1.0)


def scheduled_kgco2e(
    *,
    embodied_kgco2e: Column,
    start_age_h: Column,
    end_age_h: Column,
    lifetime_h: Column,
    decline_factor: Column,
) -> Column:
    """Embodied carbon charged between two ages of the hardware.

    M = TE * (R(start) - R(end))

    Adjacent periods telescope, so a life sums to TE. Past the accounting life nothing is left to charge.

    Source: declining-balance depreciation with a switch to straight line, in continuous time.
    """
    _domain.nonnegative(embodied_kgco2e=embodied_kgco2e, start_age_h=start_age_h, end_age_h=end_age_h)
    if np.any(np.less(end_age_h, start_age_h)):
        raise ValueError(f"end_age_h is at least start_age_h, got end {end_age_h} and start {start_age_h}")
    before = remaining_fraction(age_h=start_age_h, lifetime_h=lifetime_h, decline_factor=decline_factor)
    after = remaining_fraction(age_h=end_age_h, lifetime_h=lifetime_h, decline_factor=decline_factor)
    return embodied_kgco2e * (before - after)


def straight_line_kgco2e(
    *, embodied_kgco2e: Column, start_age_h: Column, end_age_h: Column, lifetime_h: Column
) -> Column:
    """Embodied carbon charged between two ages, the same for every hour of the life.

    M = TE * (min(end, L) - min(start, L)) / L

    Past the accounting life nothing is left to charge.

    Source: Cloud Carbon Footprint methodology (amortised embodied emissions).
    """
    return scheduled_kgco2e(
        embodied_kgco2e=embodied_kgco2e,
        start_age_h=start_age_h,
        end_age_h=end_age_h,
        lifetime_h=lifetime_h,
        decline_factor=1.0,
    )


@dataclass(frozen=True, slots=True)
class FleetShares:
    """Embodied carbon that a fleet is charged for a period, by what its hours were for."""

    used_kgco2e: Column
    idle_kgco2e: Column
    spare_kgco2e: Column

    @property
    def total_kgco2e(self) -> Column:
        """Sum of the parts: what the whole fleet is charged."""
        return self.used_kgco2e + self.idle_kgco2e + self.spare_kgco2e


def fleet_shares(
    *, charged_kgco2e: Column, in_service_node_h: Column, used_node_h: Column, spare_node_h: Column
) -> FleetShares:
    """Embodied carbon of a fleet split over used, idle and spare node-hours.

    M_s = M * t_s / t,  t_idle = t - t_used - t_spare

    All nodes of the fleet are alike: split a mixed fleet by kind first.

    Source: split by node-hours; EcoServe (Li et al., arXiv 2502.05043) on charging idle capacity.
    """
    _domain.nonnegative(charged_kgco2e=charged_kgco2e, used_node_h=used_node_h, spare_node_h=spare_node_h)
    _domain.positive(in_service_node_h=in_service_node_h)
    idle_node_h = in_service_node_h - np.add(used_node_h, spare_node_h)
    if np.any(idle_node_h < -1e-9 * in_service_node_h):
        raise ValueError(
            f"in_service_node_h holds used_node_h and spare_node_h, got {in_service_node_h} in service, "
            f"{used_node_h} used and {spare_node_h} spare"
        )
    return FleetShares(
        used_kgco2e=charged_kgco2e * used_node_h / in_service_node_h,
        idle_kgco2e=charged_kgco2e * np.maximum(idle_node_h, 0.0) / in_service_node_h,
        spare_kgco2e=charged_kgco2e * spare_node_h / in_service_node_h,
    )
