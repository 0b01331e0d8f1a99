"""Whether the numbers of a document agree: cells with steps, steps with equations, tables with totals."""

from __future__ import annotations

import math
from collections.abc import Iterator

from planner.report.cells import is_number, table_rows
from planner.report.charts import Document, Record
from planner.trace.arithmetic import evaluate
from planner.trace.explain import format_value

CLOSE = 1e-9  # relative: sums in another order
AddsUp = dict[str, dict[str, tuple[str, ...]]]
# Total -> the tables and the columns that add up to it, where the table holds all of it.
OF_A_PLAN: AddsUp = {
    "cost": {"cost": ("usd",)},
    "carbon": {"carbon": ("kgco2e",), "by_period": ("carbon_kgco2e",)},
    "energy": {"energy": ("it_kwh", "overhead_kwh"), "by_period": ("energy_kwh",)},
    "capex": {"purchases": ("capex_usd",), "by_period": ("capex_usd",)},
}
OF_A_JOB: AddsUp = {
    "carbon": {"phases": ("electricity_kgco2e", "hardware_kgco2e"), "scopes": ("kgco2e",)},
    "energy": {"phases": ("energy_kwh",)},
}


class Disagreement(RuntimeError):
    """Numbers of an answer do not agree: a fault of this program, or a document that was changed by hand."""


def disagreements(document: Document) -> list[tuple[str, str]]:
    """Where numbers of a document do not agree: the place of each, and what it should be."""
    return [*_of_cells(document), *_of_steps(document), *_of_totals(document), *_of_sums(document)]


def _of_cells(document: Document) -> Iterator[tuple[str, str]]:
    steps = document.get("steps", [])
    for table, rows in document.get("cells", {}).items():
        held = table_rows(document, table)
        if len(held) != len(rows):
            yield table, f"has {len(held)} rows, and there are steps of {len(rows)}"
        for number, (row, cells) in enumerate(zip(held, rows, strict=False)):
            for key, step in cells.items():
                yield from _compared(f"{table}[{number}].{key}", row.get(key), steps[step]["value"])


def _of_steps(document: Document) -> Iterator[tuple[str, str]]:
    """Steps whose equation is arithmetic, done again."""
    steps = document.get("steps", [])
    for step in steps:
        if step.get("closes"):
            inputs = {name: steps[at]["value"] for name, at in step.get("inputs", {}).items()}
            wanted = evaluate(step["equation"].partition(" = ")[2], inputs)
            size = max((abs(value) for value in inputs.values()), default=0.0)
            yield from _compared(f"steps[{step['number']}] ({step['name']})", step["value"], wanted, size)


def _of_totals(document: Document) -> Iterator[tuple[str, str]]:
    explanations, steps = document.get("explanations", {}), document.get("steps", [])
    for total in document.get("totals", []):
        step = explanations.get(total.get("explain"))
        if isinstance(step, int):
            yield from _compared(f"totals.{total['name']}", total["value"], steps[step]["value"])


def _of_sums(document: Document) -> Iterator[tuple[str, str]]:
    totals = {total["name"]: total["value"] for total in document.get("totals", [])}
    adds_up = OF_A_JOB if "everfleet_job" in document else OF_A_PLAN
    known = totals.keys() & adds_up.keys() if document.get("cells") else set()
    for name in sorted(known):
        for table, keys in adds_up[name].items():
            rows = [row for row in table_rows(document, table) if row.get("in_total", "yes") == "yes"]
            yield from _summed(rows, keys, f"totals.{name}", totals[name], table)


def _summed(
    rows: list[Record], keys: tuple[str, ...], place: str, value: float, table: str
) -> Iterator[tuple[str, str]]:
    parts = [row[key] for row in rows for key in keys]
    size = max(map(abs, parts), default=0.0)
    yield from _compared(f"{place} (added up over {table})", value, math.fsum(parts), size)


def _compared(place: str, value: object, wanted: float, size: float = 0.0) -> Iterator[tuple[str, str]]:
    if not is_number(value) and not is_number(wanted):
        return
    room = CLOSE * max(abs(wanted) if is_number(wanted) else 0.0, size) + 1e-9
    if not is_number(value) or not is_number(wanted) or abs(float(value) - wanted) > room:  # type: ignore[arg-type]
        shown = format_value(float(value)) if is_number(value) else repr(value)  # type: ignore[arg-type]
        yield place, f"is {shown}, and what it comes from gives {format_value(wanted)}"
