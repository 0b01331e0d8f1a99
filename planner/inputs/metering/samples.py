"""Energy of samples: of power by trapezoids, of a counter by its steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from planner.trace.columns import Floats

SECONDS_PER_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Series:
    """Samples of one accelerator in order, at most one a moment."""

    device: str
    time_s: Floats
    value: Floats


@dataclass(frozen=True, slots=True)
class Integral:
    """Energy of one accelerator, the hours that were metered, and those that were not."""

    energy_kwh: float
    metered_h: float
    gap_h: float


def series_of(devices: NDArray[np.object_], time_s: Floats, value: Floats, notes: list[str]) -> list[Series]:
    """Samples by accelerator and time; those of one moment become their mean, and what was moved is noted."""
    frame = pd.DataFrame({"device": devices, "time_s": time_s, "value": value}).dropna()
    steps = frame.groupby("device", sort=False)["time_s"].diff()
    back = int((steps < 0).sum())
    if back:
        notes.append(
            f"samples before the one above them, by up to {-steps.min():g} s: {back}; sorted by time"
        )
    moments = frame.groupby(["device", "time_s"], sort=True)["value"]
    mean, spread = moments.mean(), moments.max() - moments.min()
    twice = len(frame) - len(mean)
    if twice:
        unlike = int((spread > 0).sum())
        notes.append(
            f"samples that repeat a moment: {twice}; taken once, where they differ as their mean: {unlike}"
        )
    return [
        Series(str(device), part.index.get_level_values("time_s").to_numpy(), part.to_numpy())
        for device, part in mean.groupby(level="device", sort=True)
    ]


def longest_interval_s(series: list[Series], gap_intervals: float) -> float:
    """The interval above which a time counts as not metered: so many times the median one."""
    intervals = np.concatenate([np.diff(one.time_s) for one in series])
    return gap_intervals * float(np.median(intervals)) if intervals.size else 0.0


def power_integral(series: Series, *, first_s: float, last_s: float, longest_s: float) -> Integral:
    """Energy of samples of power in kW.

    E = sum_i (P_i + P_{i+1}) / 2 * (t_{i+1} - t_i),  over intervals not longer than the longest
    """
    step_s = np.diff(series.time_s)
    bridged = step_s <= longest_s
    mean_kw = (series.value[:-1] + series.value[1:]) / 2
    energy_kwh = float(np.sum((mean_kw * step_s)[bridged])) / SECONDS_PER_HOUR
    gap_s = float(np.sum(step_s[~bridged])) + _outside_s(series, first_s, last_s, longest_s)
    return Integral(energy_kwh, float(np.sum(step_s[bridged])) / SECONDS_PER_HOUR, gap_s / SECONDS_PER_HOUR)


def counter_integral(series: Series, *, first_s: float, last_s: float, longest_s: float) -> Integral:
    """Energy of readings of a counter in kWh; it counts through times without a reading.

    E = sum_i c_{i+1} - c_i, or c_{i+1} where the counter fell: it began again from 0
    """
    rise = np.diff(series.value)
    energy_kwh = float(np.sum(np.where(rise < 0, series.value[1:], rise)))
    metered_s = float(series.time_s[-1] - series.time_s[0])
    gap_s = _outside_s(series, first_s, last_s, longest_s)
    return Integral(energy_kwh, metered_s / SECONDS_PER_HOUR, gap_s / SECONDS_PER_HOUR)


def _outside_s(series: Series, first_s: float, last_s: float, longest_s: float) -> float:
    """Time before the first and after the last sample of this accelerator, while others were metered."""
    ends = np.array([series.time_s[0] - first_s, last_s - series.time_s[-1]])
    return float(np.sum(ends[ends > longest_s]))
