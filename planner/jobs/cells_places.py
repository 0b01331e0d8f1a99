"""Numbers in the tables of places and times: a place's intensity times the job's energy, and its hardware."""

from __future__ import annotations

import numpy as np

from planner.jobs.cell import Cell, Opened, beside
from planner.jobs.places import MONTHS, by_hour, by_month, places_of
from planner.trace import chosen


def hour(cell: Cell) -> Opened:
    """The job in one hour of the day at a place."""
    if cell.key == "hour":
        return (chosen("hour", cell.row["hour"], "each hour of the day is tried, UTC", "h"),)
    carbon = by_hour(cell.footprint, places_of(cell.footprint)[cell.row["place"]])
    return beside(carbon, cell), cell.row["hour"] if np.ndim(carbon.value) else None


def month(cell: Cell) -> Opened:
    """The job at a place, begun in one month."""
    if cell.key == "month":
        return (chosen("month", cell.row["month"], f"each of {MONTHS} months is tried", "1"),)
    carbon = by_month(cell.footprint, places_of(cell.footprint)[cell.row["place"]])
    assert carbon is not None, "there are rows"
    return beside(carbon, cell), cell.row["month"] - 1


def extreme(cell: Cell) -> Opened:
    """The job in the cleanest or the dirtiest hour of a place."""
    carbon = by_hour(cell.footprint, places_of(cell.footprint)[cell.row["place"]])
    if not np.ndim(carbon.value):
        return (beside(carbon, cell),)
    pick = np.argmin if cell.key.startswith("cleanest") else np.argmax
    return beside(carbon, cell), int(pick(np.asarray(carbon.value)))
