"""Where places lie, for a map and for the way between users and sites; and the outlines of land."""

from __future__ import annotations

import csv
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from planner.inputs.loading import data_folder

Ring = tuple[tuple[float, float], ...]


class Spot(NamedTuple):
    """Where a country or a region of a provider is marked: its city, and degrees."""

    city: str
    latitude_deg: float
    longitude_deg: float


@cache
def spots() -> dict[str, Spot]:
    """Spots by the code of a country or the name of a region. Source: GeoNames, see data/map."""
    with (_folder() / "places.csv").open(encoding="utf-8", newline="") as file:
        return {
            row["name"]: Spot(row["city"], float(row["latitude_deg"]), float(row["longitude_deg"]))
            for row in csv.DictReader(file)
        }


def place_of(*names: object) -> Spot | None:
    """The first of some names (a region, a grid) whose place is known."""
    return next((spots()[name] for name in names if isinstance(name, str) and name in spots()), None)


@cache
def land() -> tuple[tuple[Ring, ...], ...]:
    """Land as polygons: rings of (longitude, latitude), the outer one first. Source: Natural Earth."""
    with (_folder() / "land.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return tuple(
        tuple(
            tuple((float(row["longitude_deg"]), float(row["latitude_deg"])) for row in ring)
            for _, ring in groupby(polygon, lambda row: row["ring"])
        )
        for _, polygon in groupby(rows, lambda row: row["polygon"])
    )


def _folder() -> Path:
    return data_folder() / "map"
