"""Numbers with what they were worked out from, and how they become an explanation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from planner.report.table_columns import COLUMNS
from planner.trace.currency import in_its_currency
from planner.trace.errors import InputError
from planner.trace.explain import Explanation, Step, kept_step
from planner.trace.records import Document, Record, is_number, table_rows

CLOSE = 1e-6  # relative: what sums in another order may differ by
# What the terms of pausable jobs were called in plans that were saved earlier.
FORMER_TERMS = {"elastic": "pausable"}
FORMER_NAMES = {
    f"{total}.{new}": f"{total}.{old}"
    for total in ("cost", "carbon", "energy")
    for old, new in FORMER_TERMS.items()
}


@dataclass(frozen=True, slots=True)
class Number:
    """A number with its equation; `inputs` are named as the equation names them."""

    name: str
    value: float
    unit: str = "1"
    kind: str = "derived"
    equation: str = ""
    about: str = ""
    source: str = ""
    place: str = ""
    low: float | None = None
    high: float | None = None
    inputs: Mapping[str, Number | Explanation] = field(default_factory=dict)


def explanation_of(number: Number | Explanation) -> Explanation:
    """The steps of a number, those of a kept explanation below it as they were kept."""
    if isinstance(number, Explanation):
        return number
    steps: list[Step] = []
    _gather(number, steps)
    return Explanation(tuple(steps))


def _gather(number: Number | Explanation, steps: list[Step]) -> int:
    first = len(steps)
    if isinstance(number, Explanation):
        steps.extend(_moved(step, first) for step in number.steps)
        return first
    steps.append(Step(first, number.name, number.value, number.unit, number.kind))
    inputs = {name: _gather(below, steps) for name, below in number.inputs.items()}
    steps[first] = Step(
        first,
        number.name,
        number.value,
        number.unit,
        number.kind,
        equation=number.equation,
        about=number.about,
        source=number.source,
        place=number.place,
        low=number.low,
        high=number.high,
        inputs=inputs,
    )
    return first


def _moved(step: Step, by: int) -> Step:
    inputs = {name: number + by for name, number in step.inputs.items()}
    return replace(step, number=step.number + by, inputs=inputs)


def value_of(number: Number | Explanation) -> float:
    """The number itself."""
    return number.steps[0].value if isinstance(number, Explanation) else number.value


# Kept explanations
@in_its_currency
def kept_explanation(document: Document, name: str | None) -> Explanation | None:
    """The explanation that a document keeps under a name, or under the one that it had before."""
    return kept_step(document, name) or kept_step(document, FORMER_NAMES.get(name or "", ""))


def kept_for(document: Document, name: str | None, value: float) -> Explanation | None:
    """The same, where it explains just this value: a job that runs in two ways has one explanation."""
    found = kept_explanation(document, name)
    return found if found is not None and close(value_of(found), value) else None


def below(whole: Explanation, number: int) -> Explanation:
    """One step of an explanation with all that is below it."""
    found = kept_step({"steps": whole.to_dict()}, number)
    assert found is not None, "it is one of its steps"
    return found


# Facts
def fact_number(row: Record) -> Number:
    """A fact as a number with its range and its source."""
    source = "; ".join(part for part in (row.get("source"), row.get("locator")) if part)
    return Number(
        row["key"],
        row["value"],
        row["unit"],
        row.get("kind") or "fact",
        about=row.get("note") or "",
        source=source,
        low=row.get("low"),
        high=row.get("high"),
    )


def close(one: float | None, other: float | None) -> bool:
    """Whether two numbers are the same but for rounding."""
    if one is None or other is None:
        return False
    return math.isclose(one, other, rel_tol=CLOSE, abs_tol=1e-9)


NAMES = (
    "period",
    "job",
    "service",
    "pool",
    "contract",
    "limit",
    "where",
    "site",
    "location",
    "sku",
    "from",
    "to",
    "measure",
    "use",
    "label",
    "what",
    "alternative",
    "fact",
    "key",
)


def place_of(table: str, row: Record) -> str:
    """What a row is about, as the end of a heading."""
    columns = COLUMNS.get(table, tuple(row))
    named = [str(row[name]) for name in NAMES if row.get(name) and name in columns]
    return f" ({', '.join(named)})" if named else ""


# Opened by the steps that a document keeps
FACTS = ("facts", "facts_weighed")
TOTALS = ("value", "usd", "kgco2e")  # columns of a row that one kept explanation opens


@in_its_currency
def opened_cell(document: Document, table: str, row: Record, key: str) -> Explanation | None:
    """Why a cell of a document holds its number, by the steps that it keeps; None where it keeps none.

    Args:
        document: of any answer.
        table: name of the table in it.
        row: the record in the table.
        key: of its column.
    """
    if not is_number(row.get(key)):
        return None
    rows = table_rows(document, table)
    if row in rows and (found := opened_at(document, table, rows.index(row), key)) is not None:
        return found
    if table in FACTS:
        return _opened_fact(row, key)
    return kept_step(document, row.get("explain")) if key in TOTALS else None


@in_its_currency
def opened_at(document: Document, table: str, row: int, key: str) -> Explanation | None:
    """The same of a row by its number, from 0."""
    cells = document.get("cells", {}).get(table, [])
    return kept_step(document, cells[row].get(key)) if row < len(cells) else None


def named_cell(document: Document, name: str) -> Explanation:
    """The explanation of a cell of an answer in the one shape by name: table, row from 1 and column.

    Raises:
        InputError: there is no such cell, or it holds no number; the message says which there are.
    """
    table, _, rest = name.partition(".")
    number, _, key = rest.partition(".")
    tables = {"totals": document["totals"], **document["tables"]}
    rows = tables.get(table, [])
    if number.isdecimal() and 0 < int(number) <= len(rows):
        row = rows[int(number) - 1]
        key = key or next((one for one, value in row.items() if is_number(value)), "")
        if (found := opened_cell(document, table, row, key)) is not None:
            return found
    held = [f"{one}.1 to {one}.{len(rows)}" for one, rows in tables.items() if rows]
    raise InputError(
        f"there is no number '{name}': write a row of a table and one of its columns, such as "
        f"changes.1.change_kgco2e; there are {', '.join(held)}"
    )


def _opened_fact(row: Record, key: str) -> Explanation:
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
