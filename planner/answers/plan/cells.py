"""A number of a plan's tables opened: the steps that the document keeps of it, or what was decided."""

from __future__ import annotations

from planner.answers.plan.decisions import reason_of, unit_in
from planner.report.cells import Cell, fact_number, is_number
from planner.report.charts import Document, Record
from planner.trace.explain import Explanation, Step, opened

FACTS = ("facts", "facts_weighed")
# Columns of a row that one kept explanation opens.
TOTALS = ("value", "usd", "kgco2e")


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
    if table in FACTS:
        return _fact(row, key)
    if (number := _step_of(document, table, row, key)) is not None:
        return opened(document, number)
    if key in TOTALS and (found := opened(document, row.get("explain"))) is not None:
        return found
    about = reason_of(table, key, row)
    if about is None:
        return None
    place, unit = Cell(document, table, row, key).place, unit_in(table, key, row)
    return Explanation((Step(0, key, float(row[key]), unit, "chosen", about=about, place=place),))


def _step_of(document: Document, table: str, row: Record, key: str) -> int | None:
    """The step that a number of a table is, where the document keeps it."""
    cells, rows = document.get("cells", {}).get(table), document.get("tables", {}).get(table, [])
    if not cells or row not in rows:
        return None
    found: int | None = cells[rows.index(row)].get(key)
    return found


def _fact(row: Record, key: str) -> Explanation:
    """A fact with its source."""
    found = fact_number(row)
    place = "" if key == "value" else f", the {key} end of its range"
    step = Step(
        0,
        found.name,
        float(row[key]),
        found.unit,
        found.kind,
        about=found.about,
        source=found.source,
        place=place,
    )
    return Explanation((step,))
