"""What other hours would do: the cleanest start of the training run, and the bound of pausing it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

import numpy as np

from carbon.shifting import best_hours_kgco2e_per_kwh
from planner.answers.job.footprint import Change, Footprint, variant
from planner.answers.job.hourly import HOURS_A_DAY, Hours
from planner.trace.columns import Column
from planner.trace.quantities import Traced, chosen, derive, rows

PAUSED = HOURS_A_DAY // 2


def paused_kgco2e(
    *,
    footprint_kgco2e: Column,
    operational_kgco2e: Column,
    best_kgco2e_per_kwh: Column,
    grid_kgco2e_per_kwh: Column,
) -> Column:
    """Carbon of a job one of whose phases runs in the cleanest hours of each day alone.

    C' = C - C_op * (1 - CI_best / CI)

    A bound: what paused nodes draw and carry is not added.

    Source: definition.
    """
    return footprint_kgco2e - operational_kgco2e * (1 - np.divide(best_kgco2e_per_kwh, grid_kgco2e_per_kwh))


def hour_changes(footprint: Footprint) -> Iterator[Change]:
    """The best day to start, and the cleanest half of each day, of a run whose hours are known."""
    setting, training = footprint.setting, footprint.phase("training")
    series, table = setting.hours, setting.job.training
    if series is None or table is None or training is None or training.done is None:
        return
    begin = setting.started(training.done.start)
    if begin is None or training.done.duration_h is None:
        return
    best = _best_day(footprint, series)
    moved = variant(setting, training=table.but(start=best))
    kind = "a bound: it knows the year's hours, and no queue"
    yield Change("first day (bound)", f"{begin:%d %b}", f"{best:%d %b}", moved.carbon, kind)
    if paused := _paused(footprint, series):
        yield Change(
            "paused half the day (bound)",
            "as it comes",
            f"cleanest {PAUSED} h",
            paused,
            f"{kind}; over the whole series, twice as long; what paused nodes draw and carry is not added",
        )


def _paused(footprint: Footprint, series: Hours) -> Traced | None:
    """The job with its training in the cleanest half of each day; None where no hour emits anything."""
    training = footprint.phase("training")
    assert training is not None, "checked by the caller"
    assert training.operational is not None, "training draws power"
    assert training.grid is not None, "training draws power"
    if not float(training.grid.value):
        return None
    whole = series.count // HOURS_A_DAY * HOURS_A_DAY
    best = derive(
        best_hours_kgco2e_per_kwh,
        grid_kgco2e_per_kwh=rows(series.fact, np.arange(whole)),
        best_hours=chosen("best_hours", PAUSED, "half of each day"),
    )
    return derive(
        paused_kgco2e,
        footprint_kgco2e=footprint.carbon,
        operational_kgco2e=training.operational,
        best_kgco2e_per_kwh=best,
        grid_kgco2e_per_kwh=training.grid,
    )


def _best_day(footprint: Footprint, series: Hours) -> date:
    """The day of the series on which the run would meet the least, by its cumulative sums."""
    training = footprint.phase("training")
    assert training is not None, "checked by the caller"
    assert training.done is not None, "checked by the caller"
    assert training.done.duration_h is not None, "checked by the caller"
    values = np.asarray(series.fact.value)
    lasts = float(training.done.duration_h.value) % len(values)
    sums = np.concatenate([[0.0], np.cumsum(np.tile(values, 2))])
    starts = np.arange(0, len(values), HOURS_A_DAY)
    ends = np.interp(starts + lasts, np.arange(len(sums)), sums)
    day = int(np.argmin(ends - sums[starts]))
    return series.first + timedelta(days=day)
