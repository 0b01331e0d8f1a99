"""The plan as data: the document itself as JSON, its tables as CSV."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from planner.report.spreadsheets import csv_of
from planner.report.tables import COLUMNS, TITLES, column_unit

if TYPE_CHECKING:
    from planner.report.charts import Document, Record


def to_json(document: Document, *, sort_keys: bool = True) -> str:
    """The document itself: keys sorted unless their order says something, null for NaN and infinity."""
    plain = _plain(document)
    return json.dumps(plain, indent=1, sort_keys=sort_keys, ensure_ascii=False, allow_nan=False) + "\n"


def to_csv_files(document: Document) -> dict[str, str]:
    """One CSV for each table that holds rows, in the document's own units and at full precision.

    `columns.csv` says what each column of each table is in, and the version of the document's schema.
    """
    named: dict[str, Sequence[Record]] = {
        "totals": document["totals"],
        **{name: document["tables"].get(name, []) for name in TITLES},
        "tornado": document["tornado"],
    }
    held = {name: rows for name, rows in named.items() if rows}
    return {f"{name}.csv": csv_text(name, rows) for name, rows in held.items()} | {
        "columns.csv": csv_text("columns", _column_records(held, document["schema"]))
    }


def csv_text(name: str, rows: Sequence[Record]) -> str:
    """Rows of table `name` as CSV, its columns in the order in which the report shows them."""
    held = {key for row in rows for key in row}
    return csv_of([_plain(row) for row in rows], [key for key in COLUMNS.get(name, ()) if key in held])


def _column_records(named: Mapping[str, Sequence[Record]], schema: int) -> list[Record]:
    """Table, column and unit of everything that the CSV files hold."""
    found = []
    for name, rows in named.items():
        own = any("unit" in row for row in rows)
        held = dict.fromkeys(key for row in rows for key in row)
        for key in dict.fromkeys((*(key for key in COLUMNS.get(name, ()) if key in held), *held)):
            number = any(isinstance(row.get(key), int | float) for row in rows)
            unit = column_unit(key, rows) or ("that of its row" if own and number else "")
            found.append({"table": name, "column": key, "unit": unit, "schema": schema})
    return found


def _plain(value: Any) -> Any:
    """The same data without NumPy and without numbers that JSON does not know."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
