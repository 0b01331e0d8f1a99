"""Moving work in time: the lowest intensity that it can meet.

Hours lie along the last axis, sites or years along the others. The choice knows the future: it is the bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from carbon import _domain
from carbon.columns import Column

Hours = NDArray[np.float64]

HOURS_A_DAY = 24


def best_hours_kgco2e_per_kwh(
    *, grid_kgco2e_per_kwh: Hours, best_hours: int, day_hours: Sequence[int] | None = None
) -> Column:
    """Mean intensity when work runs in the cleanest hours of every day: the limit of shifting in a day.

    CI = mean_d( mean of the k lowest CI_h of day d )

    Days have 24 hours, or the hours given (23 and 25 where clocks are changed). Slack, capacity and forecast
    errors are left out, so no real schedule reaches it.

    Source: Sukprasert et al., "On the Limitations of Carbon-Aware ... Workload Shifting", EuroSys 2024.
    """

    def lowest(days: Hours) -> Hours:
        kept: Hours = np.partition(days, best_hours - 1, axis=-1)[..., :best_hours].mean(axis=-1)
        return kept

    days = list(_days(grid_kgco2e_per_kwh, day_hours, "best_hours", best_hours))
    mean: Column = np.mean(np.concatenate([lowest(day) for day in days], axis=-1), axis=-1)
    return mean


def best_window_kgco2e_per_kwh(
    *, grid_kgco2e_per_kwh: Hours, window_hours: int, day_hours: Sequence[int] | None = None
) -> Column:
    """Mean intensity when work runs once a day without a break, in the cleanest window of the day.

    CI = mean_d( min_s( mean(CI_s, ..., CI_{s+k-1}) of day d ) )

    The window does not cross midnight. Slack, capacity and forecast errors are left out.

    Source: Sukprasert et al., "On the Limitations of Carbon-Aware ... Workload Shifting", EuroSys 2024.
    """
    days = list(_days(grid_kgco2e_per_kwh, day_hours, "window_hours", window_hours))
    lowest = [np.min(_run_means(day, window_hours), axis=-1) for day in days]
    mean: Column = np.mean(np.concatenate(lowest, axis=-1), axis=-1)
    return mean


def _sums(series: Hours) -> Hours:
    start = np.zeros((*series.shape[:-1], 1))
    return np.concatenate((start, np.cumsum(series, axis=-1)), axis=-1)


def _run_means(series: Hours, run_hours: int) -> Hours:
    sums = _sums(series)
    # Rounding of the sums may leave a tiny negative mean where the grid is clean.
    means: Hours = np.maximum(sums[..., run_hours:] - sums[..., :-run_hours], 0.0) / run_hours
    return means


def _days(grid: Hours, day_hours: Sequence[int] | None, name: str, wanted: int) -> Iterator[Hours]:
    """Days of equal length together, as a last axis of hours."""
    series = np.atleast_1d(np.asarray(grid, dtype=np.float64))
    _domain.nonnegative(grid_kgco2e_per_kwh=series)
    hours = series.shape[-1]
    if day_hours is None and (hours == 0 or hours % HOURS_A_DAY):
        raise ValueError(f"grid_kgco2e_per_kwh holds whole days of {HOURS_A_DAY} hours, got {hours} hours")
    lengths = np.full(hours // HOURS_A_DAY, HOURS_A_DAY) if day_hours is None else np.asarray(day_hours)
    if lengths.sum() != hours or lengths.min(initial=1) < 1:
        raise ValueError(f"day_hours add up to the {hours} hours of the series, got {lengths.sum()}")
    shortest = int(lengths.min())
    if not 1 <= wanted <= shortest:
        raise ValueError(f"{name} is a number of hours of a day, 1 to {shortest}, got {wanted}")
    first = np.cumsum(lengths) - lengths
    for length in np.unique(lengths):
        yield series[..., first[lengths == length, np.newaxis] + np.arange(length)]
