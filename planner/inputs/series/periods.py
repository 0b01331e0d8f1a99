"""Hours of a year as one value for each period of a plan: the mean of the same calendar months."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from carbon.hourly import HourlyIntensity
from planner.inputs.series.prices import price_rows
from planner.trace.numbers import exact_text


class Periods(Protocol):
    """What is asked of a horizon."""

    @property
    def period_starts(self) -> tuple[date, ...]:
        """First day of each period."""

    @property
    def period_labels(self) -> tuple[str, ...]:
        """Name of each period."""

    @property
    def period_months(self) -> int:
        """Months of a period."""


def grid_by_period(series: HourlyIntensity, horizon: Periods) -> tuple[list[str], list[str]]:
    """The intensity of each period, and what has to be said of it."""
    values = np.asarray(series.grid_kgco2e_per_kwh)
    hours = series.first_hour + np.arange(len(values)) * np.timedelta64(1, "h")
    means, notes = _means(hours.astype("datetime64[M]").astype(int) % 12, values, horizon)
    return [f"{exact_text(1000 * mean)} g/kWh" for mean in means], notes


def prices_by_period(path: Path, horizon: Periods) -> tuple[list[str], list[str]]:
    """The price of electricity of each period, from rows of a time and a price with its unit in the header.

    Raises:
        InputError: there is no such column, or no row holds a price.
    """
    rows = price_rows(path)
    means, notes = _means(np.asarray(rows.time.month, dtype=int) - 1, rows.price, horizon)
    return [f"{exact_text(mean)} {rows.unit}" for mean in means], notes


def _means(
    months: NDArray[Any], values: NDArray[np.float64], horizon: Periods
) -> tuple[Sequence[float], list[str]]:
    """The mean of the same calendar months for each period; of all hours, where a month is not there."""
    found, short = [], []
    for start, label in zip(horizon.period_starts, horizon.period_labels, strict=True):
        wanted = [(start.month - 1 + i) % 12 for i in range(horizon.period_months)]
        known = ~np.isnan(values)
        if all((known & (months == one)).any() for one in wanted):
            known &= np.isin(months, wanted)
        else:
            short.append(label)
        found.append(float(values[known].mean()))
    notes = ["Each period takes the mean of its calendar months; no decline over the years is assumed."]
    if short:
        notes.append(
            f"The file lacks months of {', '.join(short)}: the mean of all its hours is used for them."
        )
    return found, notes
