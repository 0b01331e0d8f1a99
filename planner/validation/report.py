"""The result in words: by source on the terminal, by subject in the README, and the list of quantities."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from planner.trace.errors import InputError
from planner.trace.units import DIMENSIONLESS, UnitError, unit_of
from planner.validation.accuracy import (
    INSIDE,
    NOT_RUN,
    NOT_UNDERSTOOD,
    OUTSIDE,
    Accuracy,
    accuracies,
    accuracy,
)
from planner.validation.forms import Form
from planner.validation.leaves import functions, leaf_form
from planner.validation.registry import FORMS
from planner.validation.tolerance import is_two_sided

Row = dict[str, Any]

_MARKERS = re.compile(r"(<!-- validation table[^>]*-->\n)(.*?)(<!-- end of validation table -->)", re.DOTALL)
_MARKS = {INSIDE: " ", OUTSIDE: "!", NOT_UNDERSTOOD: "?", NOT_RUN: "-"}


def report_text(result: dict[str, Any]) -> str:
    """Ours next to theirs for each source, then how close by source and by subject."""
    rows: list[Row] = result["rows"]
    parts = [
        _source_text(source, [r for r in rows if r["source"] == source])
        for source in _in_order(rows, "source")
    ]
    return "\n\n".join([*parts, _totals_text(rows, result["summary"])])


def quantities_text() -> str:
    """Every quantity with its inputs and their units."""
    lines = [
        "Quantities of published rows. Each line of keys is one input; of its spellings a row gives one, the",
        "number after x turns it into the unit of the first:",
        "",
    ]
    for form in sorted(FORMS, key=lambda one: (one.subject, one.quantity)):
        lines.append(f"{form.quantity} [{_unit_word(form.unit)}]  ({form.subject})")
        lines += [f"    {line}" for line in _keys(form)]
    lines += ["", "Functions of the leaves, by name (of several results, name a field after it):", ""]
    for name, function in functions().items():
        form = leaf_form(name)
        inputs = ", ".join(_parameter(parameter) for parameter in form.parameters)
        lines += [f"{name} [{_unit_word(form.unit)}]  {_summary(function)}", f"    {inputs}"]
    return "\n".join(lines)


def write_readme_table(result: dict[str, Any], path: Path) -> None:
    """Put the accuracy table between the two markers of a Markdown file.

    Raises:
        InputError: the file cannot be read or has no such markers.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from error
    if not _MARKERS.search(text):
        raise InputError(f"{path}: no '<!-- validation table' and '<!-- end of validation table -->' in it")
    table = readme_table(result)
    path.write_text(_MARKERS.sub(lambda found: f"{found[1]}{table}\n{found[3]}", text), encoding="utf-8")


def readme_table(result: dict[str, Any]) -> str:
    """Markdown table: for each subject its rows, how many are inside, and the errors."""
    rows: list[Row] = [row for row in result["rows"] if row["subject"]]
    lines = [
        "| subject | rows | inside | median error | worst error | sources |",
        "|---|--:|--:|--:|--:|---|",
    ]
    for subject in sorted(_in_order(rows, "subject")):
        mine = [row for row in rows if row["subject"] == subject]
        median, worst = _spread(mine)
        sources = _few(list(dict.fromkeys(_short(row["source"]) for row in mine)))
        lines.append(f"| {subject} | {len(mine)} | {_count(mine, INSIDE)} | {median} | {worst} | {sources} |")
    median, worst = _spread(rows)
    lines.append(f"| **all** | {len(rows)} | {_count(rows, INSIDE)} | {median} | {worst} | |")
    unknown, absent = (result["summary"][status] for status in (NOT_UNDERSTOOD, NOT_RUN))
    if unknown:
        lines += ["", f"Not counted: {unknown} rows whose model is not in this version."]
    if absent:
        lines += ["", f"Not counted: {absent} rows about files that may not be shipped and were not here."]
    return "\n".join(lines)


def _source_text(source: str, rows: Sequence[Row]) -> str:
    lines = [source or "(no source)"]
    for row in rows:
        head = f"  {_MARKS[row['status']]} {row['id']:<28.28} {row['quantity']:<26.26}"
        if row["status"] in (NOT_UNDERSTOOD, NOT_RUN):
            lines.append(f"{head} {row['status']}: {row['note']}")
            continue
        lines.append(
            f"{head} ours {_number(row['ours']):>12} theirs {_number(row['expected']):>12} "
            f"{row['unit']:<20.40} "
            f"{_percent(row['error']):>9}  ({row['tolerance']}) {row['status']}"
        )
    return "\n".join(lines)


def _totals_text(rows: Sequence[Row], summary: dict[str, Any]) -> str:
    by_subject = sorted(accuracies(rows, "subject"), key=lambda one: one.name)
    return "\n".join(
        [
            *_accuracy_lines("source", accuracies(rows, "source")),
            "",
            *_accuracy_lines("subject", [*by_subject, accuracy("all", [r for r in rows if r["subject"]])]),
            "Scored are rows that state a value and leave room around it: no bounds, counts or identities.",
            f"{summary['rows']} rows: {summary[INSIDE]} inside, {summary[OUTSIDE]} outside, "
            f"{summary[NOT_UNDERSTOOD]} not understood, {summary[NOT_RUN]} not run",
        ]
    )


def _accuracy_lines(what: str, found: Sequence[Accuracy]) -> list[str]:
    """One line for each: its rows, those inside, and the errors of those that are scored."""
    errors = ("median", "MAPE", "<= 10 %", "worst")
    lines = [f"{'rows':>5} {'inside':>7} {'scored':>7} {' '.join(f'{e:>9}' for e in errors)}  {what}"]
    for one in found:
        shares = (one.median_error, one.mean_error, one.within_10_percent_fraction, one.worst_error)
        shown = " ".join(f"{'-' if share is None else _percent(share, sign=False):>9}" for share in shares)
        name = one.name or f"(no {what})"
        lines.append(f"{one.rows:>5} {one.inside:>7} {one.scored:>7} {shown}  {name}")
    return lines


def _keys(form: Form) -> list[str]:
    lines = []
    for name, parameter in form.parameters.items():
        required = parameter.default is parameter.empty
        keys = [_parameter(name), *(_spelled(form, key) for key in form.keys(name)[1:])]
        lines.append(f"{'' if required else '(may be left out) '}{', '.join(keys)}")
    if form.labels:
        lines.append(f"(describe only) {', '.join(sorted(form.labels))}")
    lines += [f"{key}: {' or '.join(map(str, values))} alone" for key, values in sorted(form.only.items())]
    return lines


def _parameter(name: str) -> str:
    try:
        unit = unit_of(name)
    except UnitError:
        return name
    return name if unit == DIMENSIONLESS else f"{name} [{unit}]"


def _spelled(form: Form, key: str) -> str:
    """A key of the files, with what one of it is in the unit of the argument."""
    factor = form.spellings[key][1]
    return key if factor == 1 else f"{key} (x {factor:.6g})"


def _unit_word(unit: str) -> str:
    return "number" if unit == DIMENSIONLESS else unit


def _summary(function: Any) -> str:
    return (function.__doc__ or "").strip().split("\n")[0]


def _in_order(rows: Sequence[Row], name: str) -> list[str]:
    return list(dict.fromkeys(row[name] for row in rows))


def _count(rows: Sequence[Row], status: str) -> int:
    return sum(row["status"] == status for row in rows)


def _spread(rows: Sequence[Row]) -> tuple[str, str]:
    """Median and worst error, without the rows that only bound us from one side or inform."""
    errors = [
        abs(row["error"]) for row in rows if row["error"] is not None and is_two_sided(row["tolerance"])
    ]
    if not errors:
        return "-", "-"
    return _percent(statistics.median(errors), sign=False), _percent(max(errors), sign=False)


def _percent(share: float, *, sign: bool = True) -> str:
    if abs(share) < 5e-6:
        return "0 %"
    digits = max(0, min(4, 1 - math.floor(math.log10(abs(100 * share)))))
    return f"{100 * share:{'+' if sign else ''}.{digits}f} %"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1e5 else f"{value:.5g}"


def _short(source: str) -> str:
    """What comes before the first comma, semicolon or bracket; of a repository its name."""
    repository = re.match(r"github ([\w.-]+/[\w.-]+)", source)
    return repository[1] if repository else re.split(r"[,;(]", source)[0].strip()


def _few(names: list[str], most: int = 4) -> str:
    more = len(names) - most
    return "; ".join(names[:most]) + (f"; {more} more" if more > 0 else "")
