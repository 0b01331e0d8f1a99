"""Hourly grid intensity: the series that a job names, and the hours of it in which a phase draws power."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from carbon.hourly import HourlyIntensity, filled
from carbon.signals import GridSignal
from planner.inputs.catalogue import Catalogue
from planner.inputs.job.schema import Site
from planner.inputs.series import load_series, read_series, shipped_series, signal_in
from planner.trace.columns import Column
from planner.trace.errors import InputError
from planner.trace.numbers import count_text
from planner.trace.quantities import Fact, Source

HOURS_A_DAY = 24
WEEKS_OF_A_YEAR = 52


@dataclass(frozen=True, eq=False)
class Hours:
    """A series without gaps, as a fact of one value an hour, and what has to be said of it."""

    fact: Fact
    first: date
    notes: tuple[str, ...]

    @property
    def count(self) -> int:
        """Hours of the series."""
        return len(self.fact.value)

    def start_h(self, day: date) -> float:
        """Hour of the series in which a day begins; a day of another year stands where it does in its own."""
        return float(self._ahead_h(day) % self.count)

    def require(self, day: date, duration_h: float) -> None:
        """Refuse a run for which a series of less than a year has no hours: they come again after a year.

        Raises:
            InputError: the run begins before the series or outlasts it.
        """
        begins, ends = self._ahead_h(day), self._ahead_h(day) + duration_h
        if self.count < WEEKS_OF_A_YEAR * 7 * HOURS_A_DAY and (begins < 0 or ends > self.count):
            raise InputError(
                f"site.hourly: holds {count_text(self.count)} hours from {self.first} on, and the run takes "
                f"{count_text(math.ceil(duration_h))} h from {day} on: bring the hours of the whole run, or "
                "of a year"
            )

    def _ahead_h(self, day: date) -> int:
        ahead = (day - date(day.year, 1, 1)) - (self.first - date(self.first.year, 1, 1))
        return ahead.days * HOURS_A_DAY


def hourly_load_kwh(*, start_h: Column, duration_h: Column, hours: Column) -> NDArray[np.float64]:
    """Energy of a constant kilowatt in each hour of a series, from a start for some time.

    E_h = sum_k max(0, min(s + t, h + 1 + k n) - max(s, h + k n)),  k = 0, 1, ... turns of n hours

    A run that outlasts the series meets it again from its first hour.

    Source: definition of energy.
    """
    count = float(np.max(hours))
    turns, rest = np.divmod(duration_h, count)
    hour, end = np.arange(count), np.add(start_h, rest)

    def overlap(shift: float) -> NDArray[np.float64]:
        within = np.minimum(end, hour + 1 + shift) - np.maximum(start_h, hour + shift)
        met: NDArray[np.float64] = np.maximum(within, 0.0)
        return met

    load: NDArray[np.float64] = turns + overlap(0.0) + overlap(count)
    return load


def hours_of(site: Site, folder: Path, catalogue: Catalogue) -> Hours:
    """The series that a site names, its gaps filled by the rule that it states.

    Short gaps of a series that ships are filled by a line where none is stated, as plans do.

    Raises:
        InputError: no such series or file, or what is wrong with it.
    """
    assert site.hourly is not None, "checked by the caller"
    series, notes = _series(site, site.hourly, folder, catalogue)
    rule = site.fill or ("line" if site.hourly in shipped_series() else None)
    values, filled_hours = _complete(series, site, rule, catalogue)
    if filled_hours:
        missing = f"{filled_hours} missing hour{'s' * (filled_hours != 1)}"
        notes += (f"{missing} of {series.zone} filled by '{rule}'",)
    if series.made == "synthetic":
        notes += (f"{site.hourly} is a synthetic profile around the zone's yearly mean: nobody measured it",)
    return _as_fact(series, values, site.hourly, notes)


def series_hours(series: HourlyIntensity, name: str) -> Hours:
    """The hours of a series, gaps filled by a line between the hours next to them, and how many those are."""
    done = filled(series=series, rule="line", longest_gap_hours=series.hours)
    said = f"{name}: {done.filled_hours} missing hours are filled by a line between their neighbours"
    return _as_fact(series, done.series.complete(), name, (said,) if done.filled_hours else ())


def _as_fact(
    series: HourlyIntensity, values: NDArray[np.float64], name: str, notes: tuple[str, ...]
) -> Hours:
    first = date.fromisoformat(str(series.first_hour.astype("datetime64[D]")))
    source = Source("series", f"hourly series '{name}' of {first.year}, {series.made}")
    fact = Fact(
        values,
        "kgCO2e/kWh",
        key=f"series.{series.zone}",
        source=source,
        boundary={"grid": str(series.signal)},
        locator=f"{count_text(len(values))} hours from {first}",
        kind="measured" if series.made == "measured" else "assumed",
        note=f"year {first.year}",
    )
    return Hours(fact, first, notes)


def _series(
    site: Site, name: str, folder: Path, catalogue: Catalogue
) -> tuple[HourlyIntensity, tuple[str, ...]]:
    path = folder / name
    if name in shipped_series() or not path.suffix:
        return load_series(name, catalogue), ()
    said = None if site.hourly_signal is not None else signal_in(path)
    if site.hourly_signal is None and said is None:
        raise InputError(
            'site.hourly_signal: is missing, and a file of hours needs it: write "average/direct/production" '
            "or what its values mean, there or in a column 'signal' of the file"
        )
    try:
        signal = said or GridSignal.parse(str(site.hourly_signal))
    except ValueError as error:
        raise InputError(f"site.hourly_signal: {error}") from None
    if signal.accounting == "market":
        raise InputError(
            "site.hourly_signal: is market-based, and hours of a site are those of its grid: state what was "
            "bought in [contract]"
        )
    yearly = None if site.grid is None else catalogue.fact(f"grid.{site.grid}.intensity").value
    read = read_series(
        path,
        signal=signal,
        zone=site.hourly_zone or "",
        column=site.hourly_column or "",
        unit=site.hourly_unit or "",
        time_zone=site.hourly_time_zone or "",
        repeats=site.hourly_repeats or "refuse",  # type: ignore[arg-type]  # a word of the rule
        yearly_kgco2e_per_kwh=yearly,
        catalogue=catalogue,
    )
    repeated = f"{read.repeated_rows} rows of {path.name} repeat an hour: '{site.hourly_repeats}' was taken"
    return read.series, (repeated,) if read.repeated_rows else ()


def _complete(
    series: HourlyIntensity, site: Site, rule: str | None, catalogue: Catalogue
) -> tuple[NDArray[np.float64], int]:
    if not series.missing_hours:
        return series.complete(), 0
    unstated = InputError(
        f"site.hourly: {series.zone}: {series.missing_hours} of {series.hours} hours are missing: write "
        'fill = "line" or fill = "day before" in [site], and they are filled and counted'
    )
    if rule is None:
        raise unstated
    longest = site.longest_gap_h or catalogue.fact("job.longest_gap").value
    try:
        done = filled(series=series, rule=rule, longest_gap_hours=int(longest))  # type: ignore[arg-type]
    except ValueError as error:
        if site.fill is None:
            raise unstated from None
        raise InputError(f"site.fill: {error}; longest_gap in [site] allows more") from None
    return done.series.complete(), done.filled_hours
