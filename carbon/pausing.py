"""Work that may be paused: the cleanest hours of each window, with a limit on the number of pauses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carbon import _domain

Hours = NDArray[np.float64]
Mask = NDArray[np.bool_]


def chosen_hours(*, grid_kgco2e_per_kwh: Hours, run_hours: int, window_hours: int, pauses: int) -> Mask:
    """Hours in which pausable work runs: in each window the cleanest k hours that need at most p pauses.

    min  sum_h(x_h * CI_h)   with   sum_h(x_h) = k   and   x in at most p + 1 unbroken runs,   x_h in {0, 1}

    Solved exactly over the hours, all windows at once. No pause is the best unbroken run, k - 1 pauses are
    the k lowest hours. Windows follow one another from the first hour on; the energy of stopping and starting
    is left out. Choose on the intensities themselves for the bound, on a forecast for what can be had, and
    weigh the intensities with the choice (`weighted_kgco2e_per_kwh`).

    Source: Bellman, "Dynamic Programming", 1957; Sukprasert et al., EuroSys 2024, for deferral with pauses.
    """
    windows = _windows(grid_kgco2e_per_kwh, run_hours, window_hours, pauses)
    runs = min(pauses + 1, run_hours, window_hours - run_hours + 1)
    began, on_was_better, last_on, last_runs = _forward(windows, run_hours, runs)
    mask = _backward(began, on_was_better, last_on, last_runs, run_hours)
    return mask.T.reshape(np.shape(grid_kgco2e_per_kwh))


def _windows(grid: Hours, run_hours: int, window_hours: int, pauses: int) -> Hours:
    """Hours of a window x windows."""
    series = np.asarray(grid, dtype=np.float64)
    _domain.nonnegative(grid_kgco2e_per_kwh=series)
    hours = series.shape[-1] if series.ndim else 0
    if window_hours < 1 or hours == 0 or hours % window_hours:
        raise ValueError(f"grid_kgco2e_per_kwh holds whole windows of {window_hours} hours, got {hours}")
    if not 1 <= run_hours <= window_hours:
        raise ValueError(f"run_hours is a number of hours of a window, 1 to {window_hours}, got {run_hours}")
    if pauses < 0:
        raise ValueError(f"pauses is a count, at least 0, got {pauses}")
    return series.reshape(-1, window_hours).T


def _forward(windows: Hours, run_hours: int, runs: int) -> tuple[Mask, Mask, Mask, NDArray[np.intp]]:
    """Lowest sums by runs begun, hours used and whether the last hour ran; the choices that led there."""
    hours, count = windows.shape
    off = np.full((runs + 1, run_hours + 1, count), np.inf)
    on = off.copy()
    off[0, 0] = 0.0
    began = np.zeros((hours, runs + 1, run_hours + 1, count), dtype=np.bool_)
    on_was_better = began.copy()
    for hour, intensity in enumerate(windows):
        # A run goes on from a running hour, or begins a further run after a resting one.
        begin = off[:-1, :-1]
        keep = on[1:, :-1]
        began[hour, 1:, 1:] = begin < keep
        on_was_better[hour] = on < off
        off = np.minimum(on, off)
        on = np.full_like(off, np.inf)
        on[1:, 1:] = np.minimum(begin, keep) + intensity
    last_runs = np.argmin(np.minimum(on, off)[:, run_hours], axis=0)
    column = np.arange(count)
    last_on = on[last_runs, run_hours, column] < off[last_runs, run_hours, column]
    return began, on_was_better, last_on, last_runs


def _backward(
    began: Mask, on_was_better: Mask, running: Mask, runs: NDArray[np.intp], run_hours: int
) -> Mask:
    """The hours that the lowest sums stand for, read from the last one back."""
    hours, count = len(began), len(runs)
    column, used = np.arange(count), np.full(count, run_hours)
    mask = np.zeros((hours, count), dtype=np.bool_)
    for hour in reversed(range(hours)):
        mask[hour] = running
        first = began[hour, runs, used, column]
        rested = on_was_better[hour, runs, used, column]
        was_running = np.where(running, ~first, rested)
        runs, used = runs - (running & first), used - running
        running = was_running
    return mask
