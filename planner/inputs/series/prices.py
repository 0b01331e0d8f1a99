"""Prices of electricity, read from rows of a time and a price with its unit in the header."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from planner.inputs.series.table import read_table
from planner.inputs.series.times import TIME_COLUMNS, utc_times
from planner.trace.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

_PRICE = re.compile(r"(?<![A-Za-z])([A-Za-z]{3})\s*(?:/|_per_| per )\s*([kM]Wh)(?![A-Za-z])", re.IGNORECASE)


def _coded(header: str) -> str:
    """A header with the codes of currencies for their signs; a dollar is that of several countries."""
    return header.replace("€", "EUR").replace("£", "GBP")


@dataclass(frozen=True, slots=True, eq=False)
class PriceRows:
    """Rows of a file of prices, as it states them."""

    time: pd.DatetimeIndex
    price: NDArray[np.float64]
    unit: str


def price_rows(path: Path) -> PriceRows:
    """The rows of a file of times and prices.

    Raises:
        InputError: there is no such column, or no row holds a price.
    """
    table = read_table(path)
    time = table.column(*TIME_COLUMNS)
    column = next((name for name in table.header if _PRICE.search(_coded(name))), None)
    if time is None or column is None:
        raise InputError(
            f"{table.name}: no column of times, or of prices with their unit, among "
            f"{', '.join(table.header)}: name them for example time and price (EUR/MWh)"
        )
    found = _PRICE.search(_coded(column))
    assert found is not None, "the column was found by it"
    values = table.numbers(column)
    if np.isnan(values).all():
        raise InputError(f"{table.name}: no row holds a price")
    unit = f"{found[1].upper()}/{found[2][0].replace('K', 'k').replace('m', 'M')}Wh"
    return PriceRows(utc_times(table, time, ""), values, unit)
