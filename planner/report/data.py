"""The plan as data: the document itself as JSON, its tables as CSV."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from planner.report.plain import plain, to_json
from planner.report.spreadsheets import csv_of
from planner.report.table_columns import BASELINES, COLUMNS, TITLES, column_unit, meaning_of
from planner.report.tables import money_in_rows
from planner.trace.currency import USD, currency_of, showing, shown, shown_unit, shown_value
from planner.trace.records import is_number

if TYPE_CHECKING:
    from planner.trace.records import Document, Record

__all__ = ["csv_text", "to_csv_files", "to_json"]


def to_csv_files(document: Document) -> dict[str, str]:
    """One CSV for each table that holds rows, in the document's own units and at full precision.

    `columns.csv` says what each column of each table means, its unit, and the version of the schema.
    """
    named: dict[str, Sequence[Record]] = {
        "totals": document["totals"],
        **{name: document["tables"].get(name, []) for name in TITLES},
        "tornado": document["tornado"],
    }
    held = {name: rows for name, rows in named.items() if rows}
    with showing(currency_of(document)):
        return {f"{name}.csv": csv_text(name, rows) for name, rows in held.items()} | {
            "columns.csv": csv_text("columns", _column_records(held, document["schema"]))
        }


def csv_text(name: str, rows: Sequence[Record]) -> str:
    """Rows of table `name` as CSV, its columns in the order in which the report shows them.

    Money is in the currency that is shown, which the end of its column's name says: `cost_eur`.
    """
    held = {key for row in rows for key in row}
    columns = [_named(key) for key in COLUMNS.get(name, ()) if key in held]
    return csv_of([_in_currency(plain(row)) for row in rows], columns)


_OF_ROW = ("value", "p5", "p50", "p95", "plan", *BASELINES, "used", "allowed", "left", "by")
_UNITS = {"unit", "at_unit", "saving_unit", "objective_unit"}


def _named(key: str) -> str:
    """The name of a column in the currency that is shown."""
    code = shown().code
    return key if code == USD else re.sub(r"(?<![a-z])usd(?![a-z])", code.lower(), key)


def _in_currency(row: Record) -> Record:
    """A row with its money in the currency that is shown; a fact stays as its source has it."""
    if shown().code == USD or {"key", "kind", "locator"} <= row.keys():
        return row
    found, unit = {}, str(row.get("unit", ""))
    for key, value in money_in_rows(row).items():
        own = column_unit(key, [row])
        if is_number(value):
            kept = own or (unit if key in _OF_ROW and "saving_unit" not in row else "")
            value = shown_value(value, kept)
        elif key in _UNITS and isinstance(value, str) and not (key == "unit" and "at_unit" in row):
            value = shown_unit(value)[1]
        found[_named(key)] = value
    return found


def _column_records(named: Mapping[str, Sequence[Record]], schema: int) -> list[Record]:
    """Table, column, unit and meaning of everything that the CSV files hold."""
    found = []
    for name, rows in named.items():
        own = any("unit" in row for row in rows)
        held = dict.fromkeys(key for row in rows for key in row)
        for key in dict.fromkeys((*(key for key in COLUMNS.get(name, ()) if key in held), *held)):
            number = any(isinstance(row.get(key), int | float) for row in rows)
            unit = column_unit(key, rows) or ("that of its row" if own and number else "")
            facts = name.startswith("facts")
            column, unit = (key, unit) if facts else (_named(key), shown_unit(unit)[1])
            meaning = meaning_of(name, key)
            found.append(
                {"table": name, "column": column, "unit": unit, "meaning": meaning, "schema": schema}
            )
    return found
