"""Hourly grid intensity: one value an hour in UTC, gaps as gaps, with the signal that it is of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from carbon import _domain
from carbon.columns import Column
from carbon.signals import GridSignal

GapRule = Literal["line", "day before"]

HOUR = np.timedelta64(1, "h")


@dataclass(frozen=True, slots=True, eq=False)
class HourlyIntensity:
    """Grid intensity of a zone, hour after hour in UTC; a missing hour is not a number.

    `made` says where the values come from: measured, or a synthetic profile.
    """

    zone: str
    signal: GridSignal
    first_hour: np.datetime64
    grid_kgco2e_per_kwh: NDArray[np.float64]
    made: Literal["measured", "synthetic"] = "measured"

    def __post_init__(self) -> None:
        values = np.array(self.grid_kgco2e_per_kwh, dtype=np.float64)
        if values.ndim != 1 or not np.isfinite(values).any():
            raise ValueError(f"{self.zone}: an hourly series is one row that holds at least one value")
        _domain.nonnegative(grid_kgco2e_per_kwh=values[~np.isnan(values)])
        values.flags.writeable = False
        object.__setattr__(self, "grid_kgco2e_per_kwh", values)
        object.__setattr__(self, "first_hour", self.first_hour.astype("datetime64[h]"))

    @property
    def hours(self) -> int:
        """Hours from the first to the last, missing ones included."""
        return len(self.grid_kgco2e_per_kwh)

    @property
    def missing_hours(self) -> int:
        """Hours without a value."""
        return int(np.isnan(self.grid_kgco2e_per_kwh).sum())

    @property
    def mean_kgco2e_per_kwh(self) -> float:
        """Plain mean of the hours that have a value."""
        return float(np.nanmean(self.grid_kgco2e_per_kwh))

    @property
    def time_utc(self) -> NDArray[np.datetime64]:
        """Start of each hour."""
        return self.first_hour + np.arange(self.hours) * HOUR

    def complete(self) -> NDArray[np.float64]:
        """The values, where none is missing.

        Raises:
            ValueError: hours are missing; the message says how many, the first one, and the way out.
        """
        if self.missing_hours:
            first = self.time_utc[np.isnan(self.grid_kgco2e_per_kwh)][0]
            raise ValueError(
                f"{self.zone}: {self.missing_hours} of {self.hours} hours are missing, first {first}Z: "
                "fill them by a stated rule (`filled`)"
            )
        return self.grid_kgco2e_per_kwh


@dataclass(frozen=True, slots=True, eq=False)
class Filled:
    """A series without gaps, and how many of its hours were filled."""

    series: HourlyIntensity
    filled_hours: int


def filled(*, series: HourlyIntensity, rule: GapRule, longest_gap_hours: int) -> Filled:
    """A series whose gaps are filled by a stated rule, and the number of hours that were.

    line:        CI_h = CI_a + (CI_b - CI_a) * (h - a) / (b - a)    a, b: the known hours around the gap
    day before:  CI_h = CI_{h-24}, itself filled where it was missing

    A gap at an end has no neighbour on one side: a line there repeats the last known hour. Gaps that are
    longer than `longest_gap_hours` are refused rather than guessed.

    Source: the rules are the scenario's; their effect is bounded by the number of filled hours.
    """
    values, gaps = series.grid_kgco2e_per_kwh.copy(), np.isnan(series.grid_kgco2e_per_kwh)
    longest = _longest_run(gaps)
    if longest > longest_gap_hours:
        raise ValueError(f"{series.zone}: a gap of {longest} hours, longest_gap_hours is {longest_gap_hours}")
    if rule == "line":
        hours = np.arange(len(values))
        values[gaps] = np.interp(hours[gaps], hours[~gaps], values[~gaps])
    elif rule == "day before":
        for hour in np.flatnonzero(gaps):
            values[hour] = values[hour - 24] if hour >= 24 else np.nan
        if np.isnan(values).any():
            raise ValueError(f"{series.zone}: a gap in the first day has no day before it: fill by 'line'")
    else:
        raise ValueError(f"rule is 'line' or 'day before', got '{rule}'")
    return Filled(replace(series, grid_kgco2e_per_kwh=values), int(gaps.sum()))


def year_hours(year: int) -> int:
    """Hours of a calendar year: 8,784 in a leap year, 8,760 else."""
    return int((np.datetime64(f"{year + 1:04d}", "h") - np.datetime64(f"{year:04d}", "h")) / HOUR)


def mix_kgco2e_per_kwh(
    *, generation_kwh: NDArray[np.float64], source_kgco2e_per_kwh: NDArray[np.float64]
) -> Column:
    """Average intensity of what a zone generates, from its mix by source (last axis).

    CI = sum_s(G_s * EF_s) / sum_s(G_s)

    Production-based: imports, exports and losses are left out, and so is what storage gave back.

    Source: Tranberg et al., "Real-time carbon accounting ...", Energy Strategy Reviews 26, 2019; no flows.
    """
    _domain.nonnegative(generation_kwh=generation_kwh, source_kgco2e_per_kwh=source_kgco2e_per_kwh)
    total = np.sum(generation_kwh, axis=-1)
    _domain.positive(sum_of_generation_kwh=total)
    mixed: Column = np.sum(generation_kwh * source_kgco2e_per_kwh, axis=-1) / total
    return mixed


def _longest_run(gaps: NDArray[np.bool_]) -> int:
    edges = np.flatnonzero(np.diff(np.concatenate(([0], gaps.astype(np.int8), [0]))))
    return int((edges[1::2] - edges[::2]).max(initial=0))
