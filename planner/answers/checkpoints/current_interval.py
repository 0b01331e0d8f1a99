"""What the interval of today loses in a month against the best ones, and what one point of ETTR is worth."""

from __future__ import annotations

import math
from collections.abc import Mapping

from planner.answers.checkpoints.equations import (
    point_kgco2e,
    spared_kgco2e,
    spared_usd,
)
from planner.answers.checkpoints.policies import (
    OneLevel,
    Pattern,
    kgco2e_per_useful_h,
    usd_per_useful_h,
)
from planner.answers.checkpoints.setting import Setting
from planner.inputs.resolved import HOURS_PER_YEAR
from planner.physics.equations.money import goodput_usd
from planner.physics.requests import given
from planner.trace.errors import InputError
from planner.trace.numbers import number_text
from planner.trace.quantities import Traced, chosen, convert, derive
from planner.trace.records import Record

BEST = ("time-optimal", "money-optimal", "carbon-optimal")


def month() -> Traced:
    """A month of a job that runs all the time."""
    return chosen("month_h", HOURS_PER_YEAR / 12.0, "a twelfth of 365.25 days")


def today_rows(policy: OneLevel, today_min: float, intervals: Mapping[str, Traced]) -> list[Record]:
    """What each of the best intervals gains in a month on that of today, the same work done.

    Raises:
        InputError: there is no such interval, or no write can be stored within it.
    """
    if not 0 < today_min < math.inf:
        raise InputError(f"--today-min: the interval of today is above 0 min, got {today_min:g}")
    least_min = 60.0 * (float(policy.persist_h.value) - float(policy.write_h.value))
    if today_min < least_min:
        raise InputError(
            f"--today-min: {today_min:g} min: a checkpoint is still being written in the background for "
            f"{number_text(least_min)} min after the job goes on; write at least that"
        )
    now = Pattern(given("today", today_min / 60.0, "h"))
    ettr, length = policy.hours(now).ettr, month()
    useful = (ettr * length).named("month_useful_h", "Useful hours of a month")
    usd, kgco2e = usd_per_useful_h(policy, now), kgco2e_per_useful_h(policy, now)
    rows = []
    for name in BEST:
        best = Pattern(intervals[name])
        rows.append(
            {
                "change_to": name,
                "interval_min": convert(intervals[name], "min"),
                "ettr_fraction": policy.hours(best).ettr,
                "freed_h": (useful / ettr - useful / policy.hours(best).ettr).named(
                    "freed_h",
                    "Hours sooner that the same work is done at another interval; below zero: later",
                ),
                "spared_usd": derive(
                    spared_usd, useful_h=useful, today_usd=usd, best_usd=usd_per_useful_h(policy, best)
                ),
                "spared_kgco2e": derive(
                    spared_kgco2e,
                    useful_h=useful,
                    today_kgco2e=kgco2e,
                    best_kgco2e=kgco2e_per_useful_h(policy, best),
                ),
            }
        )
    return rows


def point_of_ettr(setting: Setting) -> dict[str, Traced]:
    """What one point of ETTR is worth in a month: nodes whose hours are free for other work."""
    point, working = chosen("goodput_fraction", 0.01, "one point"), setting.working()
    return {
        "usd_a_point_and_month": derive(
            goodput_usd,
            units=setting.nodes,
            duration_h=month(),
            hour_usd=working.usd,
            goodput_fraction=point,
        ),
        "kgco2e_a_point_and_month": derive(
            point_kgco2e,
            units=setting.nodes,
            duration_h=month(),
            hour_kgco2e=working.kgco2e,
            goodput_fraction=point,
        ),
    }
