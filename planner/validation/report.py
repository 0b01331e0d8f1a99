"""The result in words: on the terminal, as tables of the README, and the list of quantities."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from planner.report.columns import Column, aligned
from planner.trace.errors import InputError
from planner.trace.numbers import exact_text, number_text, percent_text
from planner.trace.units import DIMENSIONLESS, UnitError, unit_of
from planner.validation.accuracy import (
    INSIDE,
    NOT_RUN,
    NOT_UNDERSTOOD,
    OUTSIDE,
    Accuracy,
    accuracies,
    accuracies_of_pairs,
    accuracy,
    by_name,
    judged_rows,
    publication,
)
from planner.validation.forms import Form
from planner.validation.leaves import functions, leaf_form
from planner.validation.registry import FORMS

Row = dict[str, Any]

_MARKERS = re.compile(r"(<!-- validation table[^>]*-->\n)(.*?)(<!-- end of validation table -->)", re.DOTALL)
_MARKS = {INSIDE: " ", OUTSIDE: "!", NOT_UNDERSTOOD: "?", NOT_RUN: "-"}


def report_text(result: dict[str, Any]) -> str:
    """Ours next to theirs for each source, then how close by source, kind, generation and subject."""
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
    """Markdown: each subject, then each generation of accelerators with what is requested of it."""
    rows: list[Row] = result["rows"]
    scored = judged_rows(rows)
    lines = ["| what is modelled | " + _HEADS + " sources |", "|---|--:|--:|--:|--:|--:|---|---|"]
    for one in by_name(accuracies(rows, "subject")):
        sources = dict.fromkeys(publication(row["source"]) for row in scored if row["subject"] == one.name)
        lines.append(f"| {one.name} | {_figures(one)} | {_few(list(sources))} |")
    lines.append(f"| **all** | {_figures(accuracy('all', scored))} | |")
    pairs = accuracies_of_pairs(rows)
    if pairs:
        lines += ["", "| generation | what is modelled | " + _HEADS, "|---|---|--:|--:|--:|--:|--:|---|"]
        lines += [f"| {pair[0]} | {pair[1]} | {_figures(one)} |" for pair, one in pairs.items()]
    lines += ["", *_not_counted(rows)]
    return "\n".join(lines).rstrip()


_HEADS = "rows | understood | inside | median error | MAPE | worst |"


def _figures(one: Accuracy) -> str:
    median, mean = (_share(share) for share in (one.median_error, one.mean_error))
    worst = f"{_share(one.worst_error)} ({one.worst_id})" if one.worst_id else "-"
    return f"{one.rows} | {one.understood} | {one.inside} | {median} | {mean} | {worst}"


def _not_counted(rows: Sequence[Row]) -> list[str]:
    """What the tables leave out, and why."""
    absent = _count(rows, NOT_RUN)
    plain = [row for row in rows if row["plumbing"]]
    said = []
    if plain:
        said.append(
            f"Not counted: {len(plain)} rows that are arithmetic on their own numbers, "
            f"{_count(plain, INSIDE)} of them inside."
        )
    if absent:
        said.append(f"Not counted: {absent} rows about files that may not be shipped and were not here.")
    return said


def _source_text(source: str, rows: Sequence[Row]) -> str:
    """Rows of one source: those with a value of ours, then those without, each with what became of it."""
    apart = (NOT_UNDERSTOOD, NOT_RUN)
    lines = [source or "(no source)"]
    for columns, shown in (
        (_VALUES, [row for row in rows if row["status"] not in apart]),
        (_WITHOUT, [row for row in rows if row["status"] in apart]),
    ):
        lines += aligned(columns, shown, indent="  ", gap=" ")[1:]
    return "\n".join(lines)


_NAMES = (
    Column("", lambda row: _MARKS[row["status"]], right=False),
    Column("", lambda row: row["id"], 28, right=False),
    Column("", lambda row: row["quantity"], 26, right=False),
)
_WITHOUT = (*_NAMES, Column("", lambda row: f"{row['status']}: {row['note']}", right=False))
_VALUES = (
    *_NAMES,
    Column("", lambda row: f"ours {number_text(row['ours'], 5)}", 17),
    Column("", lambda row: f"theirs {number_text(row['expected'], 5)}", 19),
    Column("", lambda row: row["unit"], 20, right=False),
    Column("", lambda row: percent_text(row["error"], None, sign=True), 9),
    Column("", lambda row: f" ({row['tolerance']}) {row['status']}", right=False),
)


def _totals_text(rows: Sequence[Row], summary: dict[str, Any]) -> str:
    tables = [
        *_accuracy_lines("source", accuracies(rows, "source")),
        "",
        *_accuracy_lines("kind", by_name(accuracies(rows, "quantity"))),
        "",
        *_accuracy_lines("generation", by_name(accuracies(rows, "generation"))),
        "",
        *_accuracy_lines("generation and subject", list(accuracies_of_pairs(rows).values())),
        "",
        *_accuracy_lines(
            "subject", [*by_name(accuracies(rows, "subject")), accuracy("all", judged_rows(rows))]
        ),
    ]
    return "\n".join(
        [
            *tables,
            "Scored are rows that state a value and leave room around it: no bounds, counts or identities.",
            *_not_counted(rows),
            f"{summary['rows']} rows: {summary[INSIDE]} inside, {summary[OUTSIDE]} outside, "
            f"{summary[NOT_UNDERSTOOD]} not understood, {summary[NOT_RUN]} not run",
        ]
    )


def _accuracy_lines(what: str, found: Sequence[Accuracy]) -> list[str]:
    """One line for each: its rows, those inside, and the errors of those that are scored."""
    if not found:
        return [f"No row tells its {what}."]
    columns = [
        *(Column(heading, _count_of(heading), width) for heading, width in _COUNTS.items()),
        *(Column(heading, _share_of(key), 9) for heading, key in _ERRORS.items()),
        Column(" of", lambda row: f" {row['worst_id'] or '-'}", 29, right=False),
        Column(f" {what}", lambda row: f" {row['name'] or f'(no {what})'}", right=False),
    ]
    return aligned(columns, map(asdict, found), gap=" ")


# Heading -> width of a count; heading -> field of an error.
_COUNTS = {"rows": 5, "understood": 10, "inside": 7, "scored": 7}
_ERRORS = {
    "median": "median_error",
    "MAPE": "mean_error",
    "<= 10 %": "within_10_percent_fraction",
    "worst": "worst_error",
}


def _count_of(key: str) -> Callable[[Row], str]:
    return lambda row: str(row[key])


def _share_of(key: str) -> Callable[[Row], str]:
    return lambda row: _share(row[key])


def _share(share: float | None) -> str:
    return "-" if share is None else percent_text(share, None)


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
    return key if factor == 1 else f"{key} (x {exact_text(factor)})"


def _unit_word(unit: str) -> str:
    return "number" if unit == DIMENSIONLESS else unit


def _summary(function: Any) -> str:
    return (function.__doc__ or "").strip().split("\n")[0]


def _in_order(rows: Sequence[Row], name: str) -> list[str]:
    return list(dict.fromkeys(row[name] for row in rows))


def _count(rows: Sequence[Row], status: str) -> int:
    return sum(row["status"] == status for row in rows)


def _few(names: list[str], most: int = 4) -> str:
    more = len(names) - most
    return "; ".join(names[:most]) + (f"; {more} more" if more > 0 else "")
