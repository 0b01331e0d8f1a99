"""A number of a fit's tables opened down to the log, worked out when it is requested."""

from __future__ import annotations

from collections.abc import Callable

from planner.answers.failures import cells_counted as counted
from planner.answers.failures import cells_fitted as fitted
from planner.answers.failures.cell import Cell
from planner.trace.explain import Explanation, explain
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


def cell_explanation(document: Record, section: str, table: str, number: int, key: str) -> Explanation | None:
    """Why a cell of the document of a fit holds its number; None where it holds a name or nothing.

    Args:
        document: of the fit.
        section: which subject.
        table: which of its tables.
        number: which row, from 0.
        key: which column.
    """
    cell = Cell(document, section, table, number, key)
    held = cell.row[key]
    if isinstance(held, str | bool | None) and (table, key) not in _TEXTS:
        return None
    causes = section == "rate" and (table == "causes" or table.startswith("by_"))
    node = counted.cause_cell(cell) if causes else _CELLS[section, table](cell)
    return None if node is None else explain(node)
