"""The numbers of a fit's tables with what they were made from, kept in its document."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from planner.answers.failures import cells_counted as counted
from planner.answers.failures import cells_fitted as fitted
from planner.answers.failures.cell import Cell
from planner.report.cells import opened_at
from planner.trace.explain import Explanation, Steps, explain
from planner.trace.quantities import Traced
from planner.trace.records import Record

# Section, and its table -> what opens a cell of it.
_CELLS: dict[tuple[str, str], Callable[[Cell], Traced | None]] = {
    ("read", "read"): fitted.read_cell,
    ("rate", "rate"): counted.rate_cell,
    ("rate", "published_fleets"): counted.published_cell,
    ("sizes", "mttf"): counted.size_cell,
    ("sizes", "measured"): counted.measured_cell,
    ("lives", "fits"): fitted.fit_cell,
    ("lives", "survival"): fitted.curve_cell,
    ("lives", "risk"): fitted.risk_cell,
    ("lives", "hazard"): counted.hazard_cell,
    ("lives", "causes_of_first_failure"): fitted.incidence_cell,
    ("lives", "hazard_ratios"): fitted.covariate_cell,
    ("beside", "agreement"): fitted.cross_checked_cell,
    ("beside", "values_compared"): fitted.cross_checked_cell,
    ("repeats", "shapes"): fitted.shape_cell,
    ("lemons", "nodes"): fitted.node_cell,
    ("downtime", "outage_lengths"): fitted.outage_cell,
    ("downtime", "spares"): fitted.spares_cell,
    ("downtime", "pool_backtest"): fitted.tested_spares_cell,
    ("downtime", "nodes_down"): fitted.down_cell,
    ("ahead", "forecast"): counted.forecast_cell,
    ("ahead", "periods"): counted.period_cell,
    ("ahead", "next_period"): counted.next_period_cell,
    ("ahead", "by_age"): fitted.age_forecast_cell,
}
# Columns of text that hold numbers.
_TEXTS = {("fits", "parameters"), ("read", "value")}


def with_cells(document: Record, made: Mapping[str, Traced]) -> Record:
    """The document of a fit with the step of each number of its tables, and of those that have a name."""
    steps = Steps()
    kept = {name: steps.add(node) for name, node in made.items()}
    cells: dict[str, list[dict[str, int]]] = {}
    for section, found in document["sections"].items():
        for table, rows in found["tables"].items():
            cells[table] = [
                {
                    key: steps.add(node)
                    for key in row
                    if (node := _node_of(Cell(document, section, table, number, key, made))) is not None
                }
                for number, row in enumerate(rows)
            ]
    return document | {
        "explanations": kept,
        "cells": cells,
        "steps": steps.packed(),
    }


def cell_explanation(document: Record, section: str, table: str, number: int, key: str) -> Explanation | None:
    """Why a cell of the document of a fit holds its number; None where it holds a name or nothing.

    In a fit of before that keeps no steps of its cells they are worked out again.

    Args:
        document: of the fit.
        section: which subject.
        table: which of its tables.
        number: which row, from 0.
        key: which column.
    """
    if "cells" in document:
        return opened_at(document, table, number, key)
    node = _node_of(Cell(document, section, table, number, key))
    return None if node is None else explain(node)


def _node_of(cell: Cell) -> Traced | None:
    """The number of a cell; None where it holds a name or nothing."""
    if isinstance(cell.row[cell.key], str | bool | None) and (cell.table, cell.key) not in _TEXTS:
        return None
    causes = cell.section == "rate" and (cell.table == "causes" or cell.table.startswith("by_"))
    return counted.cause_cell(cell) if causes else _CELLS[cell.section, cell.table](cell)
