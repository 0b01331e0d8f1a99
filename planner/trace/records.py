"""Facts, totals, swings and purchases as plain records: one shape wherever they are written out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np

from planner.trace.explain import Steps
from planner.trace.quantities import Fact, Traced
from planner.trace.uncertainty import Spread, Swing, percentiles, spread

Record = dict[str, Any]
Document = dict[str, Any]  # of an answer: sentences, totals, tables and steps
# Parts of documents that are no tables of an answer.
_NO_TABLES = {
    "explanations",
    "policy_explanations",
    "size_explanations",
    "cells",
    "steps",
    "choices",
    "bad_rows",
    "titles",
}


def fact_record(fact: Fact) -> Record:
    """A fact with value, range, kind, source and what it must not be mixed with."""
    return {
        "key": fact.key,
        "value": fact.value,
        "unit": fact.unit,
        "stated": fact.stated,
        "kind": fact.kind,
        "low": fact.low,
        "high": fact.high,
        "boundary": dict(fact.boundary),
        "source": fact.source.cite(),
        "locator": fact.locator,
        "note": fact.note,
    }


def total_records(
    named: Mapping[str, tuple[str, Traced]],
    draws: int,
    bands: Sequence[Spread] | None = None,
    also: Sequence[Fact] = (),
) -> list[Record]:
    """Totals by name, each with its label and its p5, p50 and p95, traced.

    Those are of joint draws of the facts, or `bands` found with what else was drawn by the facts of `also`.
    """
    if bands is None:
        bands = spread([node for _, node in named.values()], draws=draws)
    return [
        {
            "name": name,
            "label": text,
            "value": node,
            "unit": node.unit,
            **percentiles(node, band, draws, also=also),
            "explain": name,
        }
        for (name, (text, node)), band in zip(named.items(), bands, strict=True)
    ]


def swing_records(swings: Iterable[Swing], unit: str) -> list[Record]:
    """What a result in `unit` does at both ends of each fact."""
    return [
        {
            "fact": swing.fact.key,
            "low": swing.fact.low,
            "high": swing.fact.high,
            "at_low": swing.at_low,
            "at_high": swing.at_high,
            "at_unit": unit,
            "unit": swing.fact.unit,
        }
        for swing in swings
    ]


def finite(value: float) -> float | None:
    """A number of a search; None for one that is not known yet."""
    return value if math.isfinite(value) else None


def plain(value: Any) -> Any:
    """A cell as files and readers have it: a traced number without its trace, a count as a whole number."""
    if not isinstance(value, Traced):
        return value
    return int(value.value) if isinstance(value.value, int | np.integer) else float(value.value)


def plain_rows(rows: Iterable[Mapping[str, Any]]) -> list[Record]:
    """Rows of cells as files and readers have them."""
    return [{key: plain(value) for key, value in row.items()} for row in rows]


def numbered(
    tables: Mapping[str, Iterable[Mapping[str, Any]]], steps: Steps
) -> dict[str, list[dict[str, int]]]:
    """Table -> for each row, column -> the step that its number is; tables without such numbers have none."""
    found = {
        name: [
            {key: steps.add(value) for key, value in row.items() if isinstance(value, Traced)} for row in rows
        ]
        for name, rows in tables.items()
    }
    return {name: rows for name, rows in found.items() if any(rows)}


def stepped(document: Mapping[str, Any]) -> Record:
    """A document whose cells may be traced numbers as files have it, with the steps behind each of them."""
    steps = Steps()
    cells = numbered(tables_in(document), steps)
    return {name: _plain_all(held) for name, held in document.items()} | {
        "cells": cells,
        "steps": steps.packed(),
    }


def _plain_all(value: Any) -> Any:
    match value:
        case Mapping():
            return {key: _plain_all(held) for key, held in value.items()}
        case list() | tuple():
            return [_plain_all(held) for held in value]
    return plain(value)


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a cell holds a number that can be opened."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def table_rows(document: Record, table: str) -> list[Record]:
    """The rows of a table of a document, wherever it stands; what stands alone is a table of one row.

    Rows inside of rows are a table as `tables_in` names it.
    """
    kept = document.get("tables", {})
    inside = [] if table in kept else document.get("sections", {}).values()
    held = next((found["tables"][table] for found in inside if table in found["tables"]), document.get(table))
    held = kept.get(table, held)
    if held is None or any(map(_nested, held if isinstance(held, list) else [held])):
        held = tables_in(document).get(table, [])
    return held if isinstance(held, list) else [held] if held else []


def tables_in(document: Mapping[str, Any]) -> dict[str, list[Record]]:
    """Every list of rows in a document as a table, rows inside of rows as tables of their own.

    Those name the row that they were in by its texts. What stands alone is a table of one row.
    """
    found: dict[str, list[Record]] = {}
    for name, held in document.items():
        if name in _NO_TABLES:
            continue
        if isinstance(held, Mapping):
            held = [held] if any(map(_is_plain, held.values())) else []
        if isinstance(held, list) and held and all(isinstance(row, Mapping) for row in held):
            _add(found, name, held, {})
    return found


def _add(found: dict[str, list[Record]], name: str, rows: Sequence[Record], within: Record) -> None:
    for row in rows:
        own = dict(_flat(row))
        found.setdefault(name, []).append(within | own)
        names = within | {key: value for key, value in own.items() if isinstance(value, str)}
        for key, held in _inner(row):
            _add(found, f"{name}_{key}", held, names)


def _flat(row: Mapping[str, Any], start: str = "") -> Iterator[tuple[str, Any]]:
    """Single values of a row, those of a part under `part_key`."""
    for key, value in row.items():
        if isinstance(value, Mapping) and key not in _NO_TABLES:
            yield from _flat(value, f"{start}{key}_")
        elif _is_plain(value) or (isinstance(value, list) and all(map(_is_plain, value))):
            text = ", ".join(str(plain(one)) for one in value) if isinstance(value, list) else value
            yield f"{start}{key}", text


def _inner(row: Mapping[str, Any], start: str = "") -> Iterator[tuple[str, list[Record]]]:
    """Lists of rows inside a row, and inside of its parts."""
    for key, value in row.items():
        if key in _NO_TABLES:
            continue
        if isinstance(value, Mapping):
            yield from _inner(value, f"{start}{key}_")
        elif isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value):
            yield f"{start}{key}", value


def _nested(row: Any) -> bool:
    """Whether a row has parts whose keys `tables_in` joins to its own."""
    return isinstance(row, Mapping) and any(isinstance(held, Mapping) for held in row.values())


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | bool | int | float | Traced)


def first_and_evenly_taken(items: list[Any], most: int) -> list[Any]:
    """All items where there are so few, else the first one, where a plan begins, and others evenly."""
    if len(items) <= most:
        return items
    return [*items[:1], *(evenly_taken(items[1:], most - 1) if most > 1 else [])]


def evenly_taken(items: list[Any], most: int) -> list[Any]:
    """At most `most` of the items, evenly taken, the last one among them."""
    return items[:: -max(1, math.ceil(len(items) / most))][::-1]
