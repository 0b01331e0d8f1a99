"""Numbers in the tables of a job opened down to their sources, each worked out again when it is requested.

What is requested is a table of the document, the number of a row in it, and the column.
"""

from __future__ import annotations

from collections.abc import Callable

from planner.answers.job import cells_estimate as elsewhere
from planner.answers.job import cells_estimate as estimate
from planner.answers.job.cell import Cell, Opened
from planner.answers.job.footprint import footprint_of
from planner.answers.job.setting import setting_of
from planner.inputs.catalogue import Catalogue, load_catalogue
from planner.inputs.job.reading import with_cards
from planner.inputs.job.schema import Job
from planner.trace.errors import InputError
from planner.trace.explain import Explanation, explain
from planner.trace.records import Record

_TABLES: dict[str, Callable[[Cell], Opened]] = {
    "totals": estimate.total,
    "scores": estimate.total,
    "phases": estimate.phase_part,
    "scopes": estimate.scope,
    "failures": estimate.state,
    "changes": estimate.change,
    "tornado": estimate.swing,
    "facts": estimate.fact_value,
    "predicted": estimate.prediction,
    "hours": elsewhere.hour,
    "months": elsewhere.month,
    "places": elsewhere.extreme,
}


def cell_explanation(
    job: Job, document: Record, table: str, number: int, key: str, catalogue: Catalogue | None = None
) -> Explanation | None:
    """Why a cell holds its number; None where it holds a name or nothing.

    Args:
        job: that the document is of.
        document: of the job, or of its places.
        table: which list of the document.
        number: of the row, from 0.
        key: of the column.
        catalogue: of facts; the one that ships where none is given.
    """
    row = rows_of(document, table)[number]
    if isinstance(row.get(key), bool) or not isinstance(row.get(key), int | float):
        return None
    catalogue = with_cards(job.model_dump(), job.folder, catalogue or load_catalogue())
    opened = _TABLES[table](Cell(footprint_of(setting_of(job, catalogue)), row, number, key))
    return opened if isinstance(opened, Explanation) else explain(*opened)


def named_explanation(
    job: Job, document: Record, name: str, catalogue: Catalogue | None = None
) -> Explanation:
    """The explanation of a cell by name: table, number of the row from 1, and column, apart by full stops.

    Raises:
        InputError: there is no such cell; the message says which there are.
    """
    table, _, rest = name.partition(".")
    number, _, key = rest.partition(".")
    rows = rows_of(document, table) if table in _TABLES and document.get(table) else []
    if number.isdecimal() and 0 < int(number) <= len(rows):
        row = rows[int(number) - 1]
        key = key or next(one for one, value in row.items() if isinstance(value, int | float))
        found = cell_explanation(job, document, table, int(number) - 1, key, catalogue)
        if found is not None:
            return found
    held = [f"{one}.1 to {one}.{len(rows_of(document, one))}" for one in _TABLES if document.get(one)]
    raise InputError(
        f"there is no number '{name}': write a row of a table and one of its columns, such as "
        f"changes.1.change_kgco2e; there are {', '.join(held)}"
    )


def rows_of(document: Record, table: str) -> list[Record]:
    """The rows of a table; what stands alone is a table of one row."""
    held = document[table]
    return held if isinstance(held, list) else [held]
