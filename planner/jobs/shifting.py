"""What other hours would do: the cleanest start of the training run, and the bound of pausing it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta

import numpy as np

from carbon.shifting import best_hours_kgco2e_per_kwh
from planner.jobs.footprint import Footprint, changed_row, variant
from planner.jobs.hours import HOURS_A_DAY, Hours

PAUSED = HOURS_A_DAY // 2


def hour_rows(footprint: Footprint) -> Iterator[dict[str, object]]:
    """The best day to start, and the cleanest half of each day, of a run whose hours are known."""
    setting, training = footprint.setting, footprint.phase("training")
    series, table = setting.hours, setting.job.training
    if series is None or table is None or training is None or training.done is None:
        return
    begin = setting.started(training.done.start)
    if begin is None or training.done.duration_h is None:
        return
    best = _best_day(footprint, series)
    moved = variant(setting, training=replace(table, start=best))
    kind = "a bound: it knows the year's hours, and no queue"
    yield changed_row(
        footprint, "first day (bound)", f"{begin:%d %b}", f"{best:%d %b}", float(moved.carbon.value), kind
    )
    assert training.operational is not None, "training draws power"
    assert training.grid is not None, "training draws power"
    met = float(training.grid.value)
    cleanest = _cleanest_half(series)
    saved = float(training.operational.value) * (1 - cleanest / met) if met else 0.0
    yield changed_row(
        footprint, "paused half the day (bound)", "as it comes", f"cleanest {PAUSED} h",
        float(footprint.carbon.value) - saved,
        f"{kind}; over the whole series, twice as long; what paused nodes draw and carry is not added",
    )  # fmt: skip


def _best_day(footprint: Footprint, series: Hours) -> date:
    """The day of the series on which the run would meet the least, by its cumulative sums."""
    training = footprint.phase("training")
    assert training is not None, "asked by the caller"
    assert training.done is not None, "asked by the caller"
    assert training.done.duration_h is not None, "asked by the caller"
    values = np.asarray(series.fact.value)
    lasts = float(training.done.duration_h.value) % len(values)
    sums = np.concatenate([[0.0], np.cumsum(np.tile(values, 2))])
    starts = np.arange(0, len(values), HOURS_A_DAY)
    ends = np.interp(starts + lasts, np.arange(len(sums)), sums)
    day = int(np.argmin(ends - sums[starts]))
    return series.first + timedelta(days=day)


def _cleanest_half(series: Hours) -> float:
    values = np.asarray(series.fact.value)
    whole = values[: len(values) // HOURS_A_DAY * HOURS_A_DAY]
    return float(best_hours_kgco2e_per_kwh(grid_kgco2e_per_kwh=whole, best_hours=PAUSED))
