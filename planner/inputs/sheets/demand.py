"""What people and users need of a fleet, where nobody has counted it."""

from __future__ import annotations

import math


def requests_per_day(*, users: float, requests_per_user_h: float) -> float:
    """Requests of a day of all who may use a service.

    R = 24 U r

    r is the mean over day and night, weekends too.
    """
    return 24.0 * users * requests_per_user_h


def peak_requests_per_s(*, requests_per_day: float, mean_to_peak_fraction: float) -> float:
    """Requests in the busiest hour.

    lambda_peak = R / (86400 m)
    """
    return requests_per_day / 86_400.0 / mean_to_peak_fraction


def people_accelerator_h(*, people: float, person_h_per_month: float, months: int) -> float:
    """Accelerator-hours that a team needs in a period.

    H = P h M

    Which accelerator is not asked: the hours are of the pool's reference.
    """
    return people * person_h_per_month * months


def held_accelerator_h(*, accelerators: float, months: int) -> float:
    """Accelerator-hours that jobs take in a period which always hold so many.

    H = n M (365.25 x 24 h / 12)
    """
    return accelerators * months * 365.25 * 24.0 / 12.0


def racks_for_power(*, power_cap_kw: float, rack_kw: float) -> int:
    """Racks of a site of which only the power is known.

    n = ceil(P / p)
    """
    return max(1, math.ceil(power_cap_kw / rack_kw))
