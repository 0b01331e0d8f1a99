"""Hours whose shape alone counts: prices of electricity, and what a plant under contract gives."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from planner.inputs.series.prices import price_rows
from planner.inputs.series.table import read_table
from planner.inputs.series.times import TIME_COLUMNS, utc_times
from planner.trace.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

_OUTPUT = (r"power.*", r"energy.*", r"generation.*", r"output.*", r".*[\s(\[_][kmg]wh?[\])]?")


@dataclass(frozen=True, slots=True, eq=False)
class HourlyShape:
    """Hour after hour in UTC, over the mean of all of them; missing hours are filled by a line."""

    first_hour: np.datetime64
    hours_ratio: NDArray[np.float64]
    filled_hours: int


def hourly_prices(path: Path) -> HourlyShape:
    """The shape of the prices of a file; rows of less than an hour are averaged.

    Raises:
        InputError: as `price_rows`, or the mean price is not above zero, to which hours could be compared.
    """
    rows = price_rows(path)
    return _shape(path, rows.time, rows.price, "price")


def hourly_output(path: Path) -> HourlyShape:
    """The shape of what a plant gives: rows of a time and a power, or an energy of equal times.

    Raises:
        InputError: there are no such columns, a value is below zero, or all are zero.
    """
    table = read_table(path)
    time, column = table.column(*TIME_COLUMNS), table.column(*_OUTPUT)
    if time is None or column is None:
        raise InputError(
            f"{table.name}: no column of times, or of power, among {', '.join(table.header)}: name them for "
            "example time and power (MW)"
        )
    values = table.numbers(column)
    if (values < 0).any():
        raise InputError(f"{table.name}: '{column}' is below zero: what a plant draws is no profile")
    return _shape(path, utc_times(table, time, ""), values, "power")


def _shape(path: Path, time: pd.DatetimeIndex, values: NDArray[np.float64], what: str) -> HourlyShape:
    import pandas as pd

    hourly = pd.Series(values, index=time).resample("h").mean()
    missing = int(hourly.isna().sum())
    whole = np.asarray(hourly.interpolate(limit_direction="both"), dtype=np.float64)
    mean = float(whole.mean())
    if not mean > 0:
        raise InputError(f"{path.name}: its mean {what} is not above zero: hours cannot be compared to it")
    first = hourly.index[0].tz_localize(None).to_datetime64()
    return HourlyShape(first.astype("datetime64[h]"), whole / mean, missing)
