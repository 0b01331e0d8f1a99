"""Several plans side by side, as tables: rows of what differs, one column for each plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planner.report.charts.compared import UNITS
from planner.trace.numbers import exact_text, percent_text, quantity_text, share_of
from planner.trace.records import Record
from planner.trace.units import everyday

SAID = ("cost", "carbon", "energy", "capex")


def differences_said(record: Record, names: Sequence[str]) -> list[str]:
    """How each plan differs from the first, a sentence each: what it takes more or less, and by how much."""
    first, *others = names
    said = []
    for number, name in enumerate(others, start=1):
        parts = [_part_said(total, number) for total in record["totals"] if total["name"] in SAID]
        changed = sum(row["values"][number] != row["values"][0] for row in record["inputs"])
        inputs = f"{changed or 'no'} input{'s' * (changed != 1)} differ{'s' * (changed == 1)}"
        said.append(f"{name} against {first}: {'; '.join(filter(None, [*parts, inputs]))}.")
    return said


def _part_said(total: Record, number: int) -> str:
    """What a plan takes more or less than the first of one total."""
    more, share = total["differences"][number], total["difference_fractions"][number]
    if more is None:
        return ""
    label = str(total["label"]).partition(",")[0].lower()
    if not more:
        return f"the same {label}"
    shown = quantity_text(abs(more), total["unit"])
    relative = "" if share is None else f" ({percent_text(share, sign=True)})"
    return f"{shown} {'more' if more > 0 else 'less'} {label}{relative}"


def totals_rows(record: Record, names: Sequence[str]) -> list[Record]:
    """Each total of each plan, with what it has more than that of the first."""
    return [
        _row("total", total["label"], total["unit"], total["values"], total["differences"], names)
        for total in record["totals"]
    ]


def terms_rows(record: Record, name: str, names: Sequence[str]) -> list[Record]:
    """Each term of the cost or the carbon, as `totals_rows`."""
    return [
        _row("term", term["label"], UNITS[name], term["values"], term["differences"], names)
        for term in record["terms"][name]
    ]


def inputs_rows(record: Record, names: Sequence[str]) -> list[Record]:
    """Inputs that are not alike, by path; a dash where a scenario does not say."""
    return [
        {
            "input": row["path"],
            **{name: _text(value) for name, value in zip(names, row["values"], strict=True)},
        }
        for row in record["inputs"]
    ]


def term_steps(record: Record, name: str, before: int, after: int) -> list[tuple[str, float]]:
    """What each term adds on the way from one plan to another; together they are the difference."""
    return [
        (term["label"], (term["values"][after] or 0.0) - (term["values"][before] or 0.0))
        for term in record["terms"][name]
    ]


def _row(
    heading: str,
    label: str,
    unit: str,
    values: Sequence[float | None],
    differences: Sequence[float | None],
    names: Sequence[str],
) -> Record:
    """Each number in the unit in which it reads best: a difference may be far smaller than its totals."""
    row: Record = {heading: label}
    row |= {name: quantity_text(value, unit) for name, value in zip(names, values, strict=True)}
    first = values[0]
    for name, more in list(zip(names, differences, strict=True))[1:]:
        row[f"{name} − {names[0]}"] = signed_text(more, unit)
        share = share_of(more, first)
        row[f"{name} − {names[0]}, share"] = "–" if share is None else percent_text(share, 2, sign=True)
    return row


def signed_text(value: float | None, unit: str) -> str:
    """A difference with its sign and its unit."""
    return f"{'+' if value is not None and value > 0 else ''}{quantity_text(value, unit)}"


def _text(value: Any) -> str:
    """A value as a person would write it; numbers without an exponent, as long as that is shorter."""
    if value is None:
        return "–"
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return exact_text(value) if number else everyday(str(value))
