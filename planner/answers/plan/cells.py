"""A number of a plan's tables opened: the steps that the document keeps of it, or what was decided."""

from __future__ import annotations

from dataclasses import replace

from planner.answers.plan.decisions import reason_of, unit_in
from planner.report.cells import opened_cell, place_of
from planner.trace.currency import in_its_currency
from planner.trace.explain import Explanation, Step
from planner.trace.records import Document, Record, is_number


@in_its_currency
def cell_explanation(document: Document, table: str, row: Record, key: str) -> Explanation | None:
    """Why a cell of a plan's table holds its number; None where it holds a name, a day or nothing.

    Args:
        document: of the plan.
        table: name of the table, as in the document; also "totals", "tornado" and "clash".
        row: the record in the table.
        key: of its column.
    """
    if not is_number(row.get(key)):
        return None
    place = place_of(table, row)
    if (found := opened_cell(document, table, row, key)) is not None:
        first, *below = found.steps
        return Explanation((replace(first, place=first.place or place), *below))
    about = reason_of(table, key, row)
    if about is None:
        return None
    step = Step(0, key, float(row[key]), unit_in(table, key, row), "chosen", about=about, place=place)
    return Explanation((step,))
