"""Hours of grids, prices and requests on the same days of a year, whatever years they are of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray

from carbon.hourly import filled
from carbon.slots import HOURS_A_DAY
from planner.inputs.resolved import Inputs
from planner.inputs.series import load_series, series_of_grid, series_of_own_region
from planner.trace.errors import InputError

Day = tuple[int, int]  # month and day of the month
_FEBRUARY_29 = (2, 29)


@dataclass(frozen=True, slots=True, eq=False)
class KnownHours:
    """Hours of whole days by month and day, and what they are."""

    of_day: Mapping[Day, NDArray[np.float64]]
    said: str

    def on(self, days: Sequence[Day]) -> NDArray[np.float64]:
        """The hours of some days, one after the other."""
        return np.concatenate([self.of_day[day] for day in days])


def grid_hours(inputs: Inputs) -> tuple[list[KnownHours | None], list[str]]:
    """The hours of the grid of each site, without gaps, and what has to be said of them.

    The factor of what no contract covers is one of a year: by the market-based method no grid has hours.
    """
    if inputs.scenario.policy.accounting == "market":
        return [None] * len(inputs.scenario.sites), [
            "Market-based factors are those of a year: carbon is the same at all hours, prices need not be."
        ]
    found: list[KnownHours | None] = []
    notes: list[str] = []
    for site in inputs.scenario.sites:
        name, of_region = site.hourly_shape or series_of_grid(site.grid), None
        if name is None and site.grid is not None:
            of_region = series_of_own_region(site.grid, inputs.catalogue)
            name = None if of_region is None else of_region.zone
        if name is None:
            found.append(None)
            notes.append(f"{site.name}: no hours of its grid are known, so its grid is taken as flat.")
            continue
        own = inputs.scenario.shapes.grids.get(name) if of_region is None else of_region
        series = load_series(name, inputs.catalogue) if own is None else own
        done = filled(series=series, rule="line", longest_gap_hours=series.hours)
        year = str(series.first_hour)[:4]
        found.append(
            whole_days(
                series.first_hour,
                done.series.complete(),
                f"hours of {series.zone} in {year}, {series.made}; only their shape counts",
            )
        )
        made = "a synthetic profile that nobody measured" if series.made == "synthetic" else "measured"
        notes.append(f"{site.name}: hours as in {name} of {year}, {made}{_gaps(done.filled_hours)}.")
    return found, notes


def price_hours(inputs: Inputs) -> tuple[list[KnownHours | None], list[str]]:
    """The same of the price of each site, over its mean; a site without is the same at all hours."""
    found: list[KnownHours | None] = []
    notes: list[str] = []
    for site in inputs.scenario.sites:
        if site.price_shape is None:
            found.append(None)
            continue
        prices = inputs.scenario.shapes.prices[site.price_shape]
        year = str(prices.first_hour)[:4]
        said = f"hours of {site.price_shape} in {year}; only their shape counts"
        found.append(whole_days(prices.first_hour, prices.hours_ratio, said))
        notes.append(
            f"{site.name}: prices by the hour as in {site.price_shape} of {year}{_gaps(prices.filled_hours)}."
        )
    return found, notes


def shared_days(series: Sequence[KnownHours], otherwise: int = 1) -> list[Day]:
    """Days of the year that all series have: those of different years are laid side by side by date.

    Without any series so many days stand for all.

    Raises:
        InputError: there is no such day.
    """
    if not series:
        return [(1, 1 + i) for i in range(otherwise)]
    shared = sorted(set(series[0].of_day).intersection(*(one.of_day for one in series[1:])))
    if not shared:
        raise InputError("hourly_shape and price_shape: the series have no day of the year in common")
    return shared


def days_of_period(inputs: Inputs, period: int, shared: Sequence[Day]) -> NDArray[np.intp]:
    """Which of the shared days are of the calendar months of a period; all where there are none."""
    horizon = inputs.scenario.horizon
    first = horizon.period_starts[period].month
    months = {(first - 1 + i) % 12 + 1 for i in range(horizon.period_months)}
    own = np.flatnonzero([day[0] in months for day in shared])
    return own if own.size else np.arange(len(shared))


def days_in_window(
    inputs: Inputs, period: int, days: Sequence[Day], first: date, last: date
) -> NDArray[np.bool_]:
    """Which days of a period are from one date on and before another; all where these are of other months."""
    start = inputs.scenario.horizon.period_starts[period]
    months = inputs.scenario.horizon.period_months
    found = np.ones(len(days), dtype=bool)
    for i, (month, day) in enumerate(days):
        if (month - start.month) % 12 < months:
            year = start.year + (month < start.month)
            found[i] = first <= date(year, month, day) < last
    return found


def _gaps(hours: int) -> str:
    return f", {hours} missing hours filled by a line" if hours else ""


def whole_days(first_hour: np.datetime64, values: NDArray[np.float64], said: str) -> KnownHours:
    """Whole days of a series; of days that come several times, the first."""
    skip = int(-first_hour.astype(int) % HOURS_A_DAY)
    first = (first_hour + np.timedelta64(skip, "h")).astype("datetime64[D]")
    found: dict[Day, NDArray[np.float64]] = {}
    for number in range((len(values) - skip) // HOURS_A_DAY):
        day = (first + np.timedelta64(number, "D")).item()
        begin = skip + number * HOURS_A_DAY
        found.setdefault((day.month, day.day), values[begin : begin + HOURS_A_DAY])
    found.pop(_FEBRUARY_29, None)
    return KnownHours(found, said)
