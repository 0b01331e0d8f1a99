"""What runs at which hour: a field of sites and types of day against the hours of a day."""

from __future__ import annotations

import altair as alt

from planner.report.charts.drawing import (
    MOST_ROWS,
    Picture,
    broken,
    chart_of,
    layered,
    row_axis,
)
from planner.trace.numbers import number_text
from planner.trace.records import Document, Record, evenly_taken

HOURS_KEY = (
    "Mean nodes that work for pools and jobs, lent ones included; the darker, the more. Hours are UTC, "
    "types are those of days that are alike."
)
WORKING = ("pool_nodes", "lent_nodes", "job_nodes")


def hours(document: Document) -> Picture | None:
    """Nodes of work that could wait, by site, period and type of day, through the hours of a day."""
    rows = [row for row in document["tables"].get("hours") or [] if _names(row)]
    shown = [row for row in rows if any(_working(one) for one in rows if _names(one) == _names(row))]
    names = list(dict.fromkeys(_names(row) for row in shown))
    if not names:
        return None
    kept = evenly_taken(names, min(len(names), MOST_ROWS))
    types = {row["day_type"] for row in shown}
    drawn = [
        {
            "place": broken(_short(row, several=len(types) > 1)),
            "hours": row["hours"],
            "nodes": _working(row),
            "awake": number_text(row["awake_nodes"]),
            "quiet": number_text(row["quiet_nodes"]),
            "lent": number_text(row["lent_nodes"]),
            "label": number_text(_working(row)),
        }
        for row in shown
        if _names(row) in kept
    ]
    base = chart_of(drawn).encode(
        x=alt.X("hours:N", sort=None, title="hours of the day, UTC", axis=alt.Axis(labelAngle=-90)),
        y=row_axis("place"),
        tooltip=["place:N", "hours:N", "label:N", "awake:N", "quiet:N", "lent:N"],
    )
    cells = base.mark_rect().encode(
        color=alt.Color(
            "nodes:Q",
            title="nodes that work",
            scale=alt.Scale(scheme="blues"),
            legend=alt.Legend(orient="top", gradientLength=180),
        )
    )
    said = "; ".join(_words([row for row in shown if _names(row) == name]) for name in kept)
    return Picture(
        "Work by the hour",
        f"A field of sites and types of day against hours, coloured by the nodes that work. {said}.",
        layered(34, cells),
    )


def _names(row: Record) -> str:
    return f"{row['site']}, {row['period']}, days of type {row['day_type']}"


def _short(row: Record, *, several: bool) -> str:
    """A row as its axis names it, in one line on a phone."""
    return f"{row['site']}, {row['period']}" + (f", type {row['day_type']}" if several else "")


def _working(row: Record) -> float:
    return sum(float(row[name]) for name in WORKING)


def _words(rows: list[Record]) -> str:
    """When most and when fewest nodes of a row work."""
    most, fewest = max(rows, key=_working), min(rows, key=_working)
    if _working(most) - _working(fewest) < 1e-6:
        return f"{_names(most)}: {number_text(_working(most))} nodes at all hours"
    return (
        f"{_names(most)}: most at {most['hours']}, {number_text(_working(most))} nodes, fewest at "
        f"{fewest['hours']}, {number_text(_working(fewest))}"
    )
