"""Rows inside of rows: what `tables_in` makes flat, put back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from planner.trace.records import Record


def layout_of(held: Any) -> Any:
    """How rows lie in rows: a null for each cell, that a table has; what is a list in a cell stays."""
    match held:
        case dict():
            return {key: layout_of(one) for key, one in held.items()}
        case list() if any(isinstance(one, dict) for one in held):
            return [layout_of(one) for one in held]
        case list():
            return held
    return None


def laid_out(layout: Any, name: str, tables: Mapping[str, Sequence[Record]]) -> Any:
    """Rows of tables in the rows that they were in, as their layout has it.

    Raises:
        LookupError: a table has fewer rows or other columns than the layout.
    """
    return _nested(layout, name, {table: iter(rows) for table, rows in tables.items()})


def _nested(layout: Any, name: str, rows: Mapping[str, Iterator[Record]]) -> Any:
    """Each table has its rows in the order of the layout."""

    def part(of: Record, start: str, row: Record) -> Record:
        return {key: cell(one, f"{start}{key}", row) for key, one in of.items()}

    def cell(one: Any, key: str, row: Record) -> Any:
        match one:
            case None:
                return row[key]
            case dict():
                return part(one, f"{key}_", row)
            case list() if any(isinstance(each, dict) for each in one):
                return _nested(one, f"{name}_{key}", rows)
        return one

    def next_row() -> Record:
        try:
            return next(rows[name])
        except StopIteration:
            raise LookupError(f"{name} has too few rows") from None

    if isinstance(layout, dict):
        return part(layout, "", next_row())
    return [part(one, "", next_row()) for one in layout]
