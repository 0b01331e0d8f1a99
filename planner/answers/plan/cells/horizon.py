"""The periods of a plan: their first days and their hours."""

from __future__ import annotations

from datetime import date

from planner.report.charts import Document

MONTHS = 12


def period_starts(document: Document) -> list[date]:
    """The first day of each period, and the day after the last."""
    horizon = document["horizon"]
    first, last = date.fromisoformat(horizon["start"]), date.fromisoformat(horizon["end"])
    months = (last.year - first.year) * MONTHS + last.month - first.month + 1
    each = months // len(horizon["periods"])
    places = [first.month - 1 + each * number for number in range(len(horizon["periods"]) + 1)]
    return [date(first.year + place // MONTHS, place % MONTHS + 1, 1) for place in places]


def hours_of(document: Document, period: str) -> float:
    """Hours of a period."""
    starts, number = period_starts(document), document["horizon"]["periods"].index(period)
    days: int = (starts[number + 1] - starts[number]).days
    return 24.0 * days
