"""A number of a plan's tables opened: the steps that the document keeps of it, or what was decided."""

from __future__ import annotations

from planner.answers.plan.decisions import reason_of, unit_in
from planner.report.cells import Cell, is_number, opened_cell
from planner.report.charts import Document, Record
from planner.trace.explain import Explanation, Step


def cell_explanation(document: Document, table: str, row: Record, key: str) -> Explanation | None:
    """Why a cell of a plan's table holds its number; None where it holds a name, a day or nothing.

    Args:
        document: of the plan.
        table: name of the table, as in the document; also "totals", "tornado" and "clash".
        row: the record in the table.
        key: of its column.
    """
    if (found := opened_cell(document, table, row, key)) is not None:
        return found
    about = reason_of(table, key, row) if is_number(row.get(key)) else None
    if about is None:
        return None
    place, unit = Cell(document, table, row, key).place, unit_in(table, key, row)
    return Explanation((Step(0, key, float(row[key]), unit, "chosen", about=about, place=place),))
