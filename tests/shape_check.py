"""Whether a document has the one shape, and whether each number of its tables opens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from planner.report.cells import FACTS, TOTALS
from planner.report.shape import KEYS, SCHEMA
from planner.trace.records import Record, is_number

_LISTS = ("headline", "why", "totals", "steps")
_TEXTS = ("kind", "title")
_MAPPINGS = ("tables", "cells", "explanations")


def shape_problems(document: Record) -> list[tuple[str, str]]:
    """Where a document is not of the one shape: each place, and what is wrong there."""
    return list(_problems(document))


def unopened(document: Record) -> Iterator[str]:
    """Each number of a table that no step, no fact and no explanation opens, as `table[row].column`."""
    tables = {"totals": document["totals"], **document["tables"]}
    for name, rows in tables.items():
        cells = document["cells"].get(name, [])
        for number, row in enumerate(rows):
            known = cells[number] if number < len(cells) else {}
            by_name = TOTALS if row.get("explain") in document["explanations"] else ()
            for key, value in row.items():
                if is_number(value) and key not in known and key not in by_name and name not in FACTS:
                    yield f"{name}[{number}].{key}"
    for number, one in enumerate(document.get("answers", [])):
        yield from (f"answers[{number}].{place}" for place in unopened(one))


def _problems(document: Record) -> Iterator[tuple[str, str]]:
    if missing := [key for key in KEYS if key not in document]:
        yield missing[0], "is missing"
        return
    for keys, wanted in ((_TEXTS, str), (_LISTS, list), (_MAPPINGS, Mapping)):
        for key in keys:
            if not isinstance(document[key], wanted):
                yield key, f"is no {wanted.__name__.lower()}"
                return
    if document["schema"] != SCHEMA:
        yield "schema", f"is {document['schema']}, not {SCHEMA}"
    for key in ("headline", "why"):
        if not all(isinstance(sentence, str) for sentence in document[key]):
            yield key, "holds something that is no sentence"
    yield from _of_rows(document)
    yield from _of_steps(document)
    for name, section in document.get("sections", {}).items():
        if any(table not in document["tables"] for table in section["tables"]):
            yield f"sections.{name}", "names a table that is not there"
        if any(at >= len(document["headline"]) for at in section["said"]):
            yield f"sections.{name}", "names a sentence that is not there"
    for number, one in enumerate(document.get("answers", [])):
        yield from ((f"answers[{number}].{place}", text) for place, text in _problems(one))


def _of_rows(document: Record) -> Iterator[tuple[str, str]]:
    for number, total in enumerate(document["totals"]):
        if not {"name", "label", "unit"} <= total.keys():
            yield f"totals[{number}]", "has no name, label or unit"
    for name, rows in {"totals": document["totals"], **document["tables"]}.items():
        for number, row in enumerate(rows):
            for key, value in row.items():
                if not _is_cell(value):
                    yield f"{name}[{number}].{key}", f"is a {type(value).__name__}, no cell"


def _of_steps(document: Record) -> Iterator[tuple[str, str]]:
    last = len(document["steps"])
    tables = {"totals": document["totals"], **document["tables"]}
    places = {f"explanations.{name}": at for name, at in document["explanations"].items()}
    for name, rows in document["cells"].items():
        if len(rows) != len(tables.get(name, [])):
            yield f"cells.{name}", f"has {len(rows)} rows, its table {len(tables.get(name, []))}"
            continue
        for number, row in enumerate(rows):
            for key, at in row.items():
                places[f"cells.{name}[{number}].{key}"] = at
                if key not in tables[name][number]:
                    yield f"cells.{name}[{number}].{key}", "is no column of its table"
    for number, step in enumerate(document["steps"]):
        places |= {f"steps[{number}].{key}": at for key, at in step.get("inputs", {}).items()}
    for place, at in places.items():
        if not isinstance(at, int) or not 0 <= at < last:
            yield place, f"is no number of a step: {at!r}"


def _is_cell(value: Any) -> bool:
    return value is None or isinstance(value, str | bool | int | float)
