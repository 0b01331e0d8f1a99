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
PERCENTILES = {"median_cost_usd": "p50", "p95_cost_usd": "p95"}  # the same of the range of its cost
ENOUGH = "share of the draws of this plan in which its own nodes are enough"
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
        drawn = {key: cost.get(name) for key, name in PERCENTILES.items()}
        found.append({**row, **drawn, "enough_fraction": held.get("enough_fraction")})
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
                key: kept[key] if key in kept else steps.add(_stated(key, row))
                for key, value in row.items()
                if is_number(value)
            }
        )
    return {"cells": {"points": cells} if cells else {}, "steps": packed(steps.steps)}


def _taken(steps: Gathered, document: Mapping[str, Any]) -> dict[str, int]:
    """The steps behind the totals of a plan and the percentiles of its cost, by the column of a point."""
    whole = document["explanations"]
    own = {key: whole[name] for key, name in TOTALS.items() if name in whole}
    cells = zip(document["totals"], document.get("cells", {}).get("totals", []), strict=False)
    of_cost: Mapping[str, int] = next((cell for row, cell in cells if row["name"] == "cost"), {})
    own |= {key: of_cost[name] for key, name in PERCENTILES.items() if name in of_cost}
    return steps.take({"explanations": own, "steps": document["steps"]})


def _stated(key: str, row: Record) -> Step:
    about = NUMBER if key == "point" else CHANGED
    unit = column_unit(key) or "1"
    if key == "enough_fraction":
        about = ENOUGH
    if key in TOTALS:
        about = f"{TOTALS[key]} of plan {row['plan']}, which the store keeps whole"
        unit = row["objective_unit"] if key == "objective_value" else unit
    return Step(0, key, float(row[key]), unit, "chosen", about=about)
