"""Adapters of hourly and yearly grids: means of a zone, and what moving work within its days could save."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from carbon.grid import weighted_kgco2e_per_kwh
from carbon.shifting import best_hours_kgco2e_per_kwh, best_window_kgco2e_per_kwh
from carbon.signals import GridSignal
from planner.inputs.series import read_series
from planner.validation.carbon import GRIDS
from planner.validation.datasets import dataset_path
from planner.validation.forms import Book, NotUnderstood

BOOK = Book({})

# The second data set names its columns in its own way; all other zones are Electricity Maps' yearly files.
_OTHER_ZONES = {"US-TEX-ERCO", "JP-TK", "UK-ESO"}
_IN_A_ROW = re.compile(r"contiguous|consecutive|in a row|window|unbroken|without a break", re.IGNORECASE)


@BOOK.takes("grid_intensity", unit="kgCO2e/kWh", subject=GRIDS)
def grid_of_hours(*, zone: str, year: int, column: str = "LCA") -> float:
    """Plain mean of a zone's hours."""
    known = _hours(zone, year, _scope(column))
    return float(np.nanmean(known))


@BOOK.takes("grid_intensity", unit="kgCO2e/kWh", subject=GRIDS)
def grid_of_year(*, region: str, year: int) -> float:
    """Yearly factor of a country, by its name or its code of three letters."""
    table = _yearly(dataset_path("owid"))
    named = (table["Entity"].str.casefold() == region.casefold()) | (table["Code"] == region.upper())
    found = table.loc[named & (table["Year"] == year), "Carbon intensity of electricity per kWh"]
    if len(found) != 1:
        raise NotUnderstood(f"no yearly factor of '{region[:40]}' in {year}")
    return float(found.iloc[0]) / 1e3


@BOOK.takes("grid_shift", unit="kgCO2e/kWh", subject=GRIDS)
def grid_shift(*, zone: str, year: int, rule: str) -> dict[str, float]:
    """Mean when work runs in the cleanest hours of each UTC day, free or in a row; and the share saved."""
    counts = re.findall(r"\d+", rule)
    if len(counts) != 1:
        raise NotUnderstood(f"grid_shift: the rule names one number of hours, got '{rule}'")
    hours, best = _hours(zone, year, _scope(rule)), int(counts[0])
    if _IN_A_ROW.search(rule):
        met = float(best_window_kgco2e_per_kwh(grid_kgco2e_per_kwh=hours, window_hours=best))
    else:
        met = float(best_hours_kgco2e_per_kwh(grid_kgco2e_per_kwh=hours, best_hours=best))
    mean = float(weighted_kgco2e_per_kwh(grid_kgco2e_per_kwh=hours, load_kwh=1.0))
    return {"kgCO2e/kWh": met, "1": 1 - met / mean}


def _scope(text: str) -> str:
    return "direct" if "direct" in text.casefold() else "life-cycle"


def _hours(zone: str, year: int, scope: str) -> NDArray[np.float64]:
    if not re.fullmatch(r"[A-Za-z0-9-]{2,20}", zone):
        raise NotUnderstood(f"'{zone[:40]}' names no zone")
    name = "sc23" if zone in _OTHER_ZONES else "electricitymaps"
    # The operator of Great Britain gives one signal, whatever a row calls its column.
    held = "direct" if zone == "UK-ESO" else scope
    return _read(dataset_path(name, zone=zone, year=year), held)


@cache
def _yearly(path: Path) -> pd.DataFrame:
    return pd.read_csv(path)


@cache
def _read(path: Path, scope: str) -> NDArray[np.float64]:
    signal = GridSignal.parse(f"average/{scope}/consumption")
    return read_series(path, signal=signal).series.grid_kgco2e_per_kwh
