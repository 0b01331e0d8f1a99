"""Numbers in the tables of a job by name, each opened by the steps that its document keeps."""

from __future__ import annotations

from planner.report.cells import opened_cell
from planner.trace.errors import InputError
from planner.trace.explain import Explanation
from planner.trace.records import Record, is_number, table_rows

# In the order of reading.
TABLES = (
    "totals",
    "scores",
    "phases",
    "scopes",
    "failures",
    "changes",
    "tornado",
    "facts",
    "predicted",
    "assumed",
    "metered",
    "hours",
    "months",
    "places",
)


def named_explanation(document: Record, name: str) -> Explanation:
    """The explanation of a cell by name: table, number of the row from 1, and column, apart by full stops.

    Raises:
        InputError: there is no such cell; the message says which there are.
    """
    table, _, rest = name.partition(".")
    number, _, key = rest.partition(".")
    rows = table_rows(document, table) if table in TABLES else []
    if number.isdecimal() and 0 < int(number) <= len(rows):
        row = rows[int(number) - 1]
        key = key or next(one for one, value in row.items() if is_number(value))
        found = opened_cell(document, table, row, key)
        if found is not None:
            return found
    held = [f"{one}.1 to {one}.{len(rows)}" for one in TABLES if (rows := table_rows(document, one))]
    raise InputError(
        f"there is no number '{name}': write a row of a table and one of its columns, such as "
        f"changes.1.change_kgco2e; there are {', '.join(held)}"
    )
