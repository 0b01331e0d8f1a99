"""Where the numbers of a sweep come from: each total of a point by the tree that its plan keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from planner.report.table_columns import column_unit
from planner.trace.explain import Gathered, Step, packed
from planner.trace.records import Record, is_number

MOST_OPENED = 40  # points whose trees a document holds; of more it names the plan that has them
# Column of a point -> what its plan calls that total.
TOTALS = {
    "objective_value": "objective",
    "cost_usd": "cost",
    "carbon_kgco2e": "carbon",
    "energy_kwh": "energy",
    "capex_usd": "capex",
}
# Column -> what the draws of a plan say of it.
OF_DRAWS = {
    "median_cost_usd": "median of the cost over the draws of this plan, rent where nodes are short included",
    "p95_cost_usd": "95th percentile of the cost over the draws of this plan",
    "enough_fraction": "share of the draws of this plan in which its own nodes are enough",
}
NUMBER = "number of the point, in the order of the grid"
CHANGED = "changed in the scenario for this point"


def with_risk(rows: Sequence[Record], document_of: Callable[[str], Mapping[str, Any]]) -> list[Record]:
    """The rows of few points with what the draws of their plans say of the cost, and of enough nodes."""
    if len(rows) > MOST_OPENED:
        return list(rows)
    found = []
    for row in rows:
        document = document_of(row["plan"]) if row["plan"] else {"totals": []}
        cost: Mapping[str, Any] = next((each for each in document["totals"] if each["name"] == "cost"), {})
        held = document.get("held") or {}
        drawn = (cost.get("p50"), cost.get("p95"), held.get("enough_fraction"))
        found.append({**row, **dict(zip(OF_DRAWS, drawn, strict=True))})
    return found


def point_steps(rows: Sequence[Record], document_of: Callable[[str], Mapping[str, Any]]) -> Record:
    """Cells and steps of the table of points.

    Args:
        rows: of the table.
        document_of: the document of a saved plan, by its digest.
    """
    steps, whole = Gathered(), len(rows) <= MOST_OPENED
    cells = []
    for row in rows:
        kept = _taken(steps, document_of(row["plan"])) if whole and row["plan"] else {}
        cells.append(
            {
                key: kept[TOTALS[key]] if TOTALS.get(key) in kept else steps.add(_stated(key, row))
                for key, value in row.items()
                if is_number(value)
            }
        )
    return {"cells": {"points": cells} if cells else {}, "steps": packed(steps.steps)}


def _taken(steps: Gathered, document: Mapping[str, Any]) -> dict[str, int]:
    """The steps behind the totals of a plan."""
    own = {name: at for name, at in document["explanations"].items() if name in TOTALS.values()}
    return steps.take({"explanations": own, "steps": document["steps"]})


def _stated(key: str, row: Record) -> Step:
    about = NUMBER if key == "point" else CHANGED
    unit = column_unit(key) or "1"
    if key in OF_DRAWS:
        about = OF_DRAWS[key]
    if key in TOTALS:
        about = f"{TOTALS[key]} of plan {row['plan']}, which the store keeps whole"
        unit = row["objective_unit"] if key == "objective_value" else unit
    return Step(0, key, float(row[key]), unit, "chosen", about=about)
