"""The hourly series that ship: measured ones as files, others as a synthetic profile of the zone's year."""

from __future__ import annotations

import difflib
import tomllib
from functools import cache
from typing import Any

import numpy as np

from carbon.hourly import HourlyIntensity
from carbon.signals import GridSignal
from carbon.synthetic import GridProfile, synthetic_kgco2e_per_kwh
from planner.inputs.catalogue import Catalogue
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.series.reading import read_series
from planner.trace.errors import InputError


def shipped_series() -> tuple[str, ...]:
    """Names of the series in `data/series/series.toml`."""
    return tuple(_entries())


def load_series(name: str, catalogue: Catalogue | None = None) -> HourlyIntensity:
    """A series that ships, by name; `made` says whether it was measured.

    A synthetic one has yearly mean and signal of its zone's fact, and the shape of an assumed profile.

    Raises:
        InputError: no such series; the message names the nearest ones.
    """
    entries, catalogue = _entries(), catalogue or load_catalogue()
    if name not in entries:
        near = difflib.get_close_matches(name, entries, n=3, cutoff=0.3) or entries
        raise InputError(f"no hourly series '{name}'; near: {', '.join(near)}")
    entry = entries[name]
    return _synthetic(entry, catalogue) if entry["made"] == "synthetic" else _measured(entry, catalogue)


def series_of_grid(grid: str | None) -> str | None:
    """The series whose hours a grid has where nobody states others."""
    return next((name for name, entry in _entries().items() if grid in entry["grids"]), None)


def series_of_own_region(grid: str | None, catalogue: Catalogue) -> HourlyIntensity | None:
    """The hours from which a region of one's own was added, where a grid is of one; None elsewhere.

    Raises:
        InputError: what is wrong with its file.
    """
    region = next((one for one in catalogue.regions.values() if one.hourly and one.grid == grid), None)
    if region is None:
        return None
    mean = catalogue.fact(f"grid.{grid}.intensity")
    return read_series(
        region.folder / region.hourly,
        signal=GridSignal.parse(region.signal or mean.boundary["grid"]),
        zone=region.name,
        yearly_kgco2e_per_kwh=mean.value,
        catalogue=catalogue,
    ).series


def series_of_grids() -> tuple[str, ...]:
    """Series that some grid has where nobody states others; the rest is taken by name alone."""
    return tuple(name for name, entry in _entries().items() if entry["grids"])


def profile(name: str, catalogue: Catalogue) -> GridProfile:
    """A profile of the catalogue, by name."""

    def fact(word: str) -> float:
        return float(catalogue.fact(f"grid_profile.{name}.{word}").value)

    return GridProfile(
        solar_fraction=fact("solar_share"),
        evening_fraction=fact("evening_rise"),
        evening_h=fact("evening_time"),
        evening_width_h=fact("evening_width"),
        season_fraction=fact("season_swing"),
        season_day=fact("season_day"),
        weather_fraction=fact("weather_spread"),
        weather_h=fact("weather_memory"),
    )


def _measured(entry: dict[str, Any], catalogue: Catalogue) -> HourlyIntensity:
    mean = catalogue.fact(entry["fact"])
    return read_series(
        data_folder() / "series" / entry["file"],
        signal=GridSignal.parse(mean.boundary["grid"]),
        zone=entry["zone"],
        column=entry.get("column", ""),
        yearly_kgco2e_per_kwh=mean.value,
        catalogue=catalogue,
    ).series


def _synthetic(entry: dict[str, Any], catalogue: Catalogue) -> HourlyIntensity:
    mean = catalogue.fact(entry["fact"])
    values = synthetic_kgco2e_per_kwh(
        yearly_kgco2e_per_kwh=mean.value,
        year=entry["year"],
        latitude_deg=entry["latitude_deg"],
        longitude_deg=entry["longitude_deg"],
        profile=profile(entry["profile"], catalogue),
        seed=entry["seed"],
    )
    signal = GridSignal.parse(mean.boundary["grid"])
    return HourlyIntensity(
        entry["zone"], signal, np.datetime64(f"{entry['year']}-01-01T00"), values, made="synthetic"
    )


@cache
def _entries() -> dict[str, dict[str, Any]]:
    with (data_folder() / "series" / "series.toml").open("rb") as file:
        return tomllib.load(file)
