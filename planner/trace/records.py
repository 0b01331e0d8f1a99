"""Facts, totals, swings and purchases as plain records: one shape wherever they are written out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np

from planner.trace.explain import Steps
from planner.trace.quantities import Fact, Traced
from planner.trace.uncertainty import Spread, Swing, percentiles, spread

Record = dict[str, Any]


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


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a cell holds a number that can be opened."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def table_rows(document: Record, table: str) -> list[Record]:
    """The rows of a table of a document, wherever it stands; what stands alone is a table of one row."""
    sections = document.get("sections", {}).values()
    held = document.get("tables", {}).get(table, document.get(table))
    held = next((found["tables"][table] for found in sections if table in found["tables"]), held)
    return held if isinstance(held, list) else [held] if held else []
