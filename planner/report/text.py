"""The report as Markdown and as terminal text."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence

from planner.report.columns import text_line
from planner.report.table_columns import TITLES, WAYS
from planner.report.tables import (
    Table,
    across_periods,
    compared,
    found_again,
    headline,
    infeasibility_tables,
    of_periods,
    provenance,
    table_of,
    tables,
    totals_table,
    ways_table,
)
from planner.trace.currency import currency_of, in_its_currency
from planner.trace.explain import rate_line
from planner.trace.records import Document

COLUMNS_OF_A_FILE = 100
LEAST_COLUMNS, MOST_COLUMNS = 40, 160  # below, tables say nothing any more; above, lines are hard to read
_PLAYED = (
    "service",
    "period",
    "sku",
    "measure",
    "simulated_p90_s",
    "simulated_p99_s",
    "closed_p99_s",
    "in_time_fraction",
)
_JOB = ("job", "site", "sku", "nodes", "start", "finish_p95", "deadline", "ettr_fraction", "interval_min")


@in_its_currency
def to_markdown(document: Document) -> str:
    """The whole report as Markdown that reads well without being drawn."""
    text = markdown_escaped
    status = document["status"]
    rate = currency_of(document)
    parts = [
        f"# {text(document['title'])}",
        f"**{text(status['name'])}**: {text(status['text'])}",
        f"Scenario `{document['scenario'].replace('`', '')}`, {document['horizon']['start']} to "
        f"{document['horizon']['end']}. Objective: {text(document['objective']['text'])}.",
        *([] if rate is None else [f"{text(rate_line(rate))}."]),
    ]
    if document["clash"] is not None:
        parts += ["## No plan meets every limit", text(document["clash"]["text"])]
        if (ways := ways_table(document)) is not None:
            parts.append(f"### {WAYS}\n\n{markdown_table(ways)}")
        parts += [
            f"### {text(title)}\n\n{markdown_table(table)}" for title, table in infeasibility_tables(document)
        ]
    for title, lines in (("In short", headline(document)), (_reasons(document), document["why"])):
        if lines:
            parts += [f"## {title}", "\n".join(f"- {text(line)}" for line in lines)]
    if document["totals"]:
        parts += ["## Totals", markdown_table(totals_table(document))]
    for name, table in tables(document).items():
        parts += [f"## {TITLES[name]}", markdown_table(table)]
    parts += ["## Provenance", "\n".join(f"- {text(line)}" for line in provenance(document))]
    return "\n\n".join(parts) + "\n"


@in_its_currency
def to_terminal(document: Document) -> str:
    """The plan in a terminal: what a manager reads first, no line wider than it is."""
    status = document["status"]
    said = f"{status['name'].upper()}: {status['text']} {found_again(document)}".rstrip()
    blocks = [wrapped(one_line(document["title"])), wrapped(said)]
    if (rate := currency_of(document)) is not None:
        blocks.append(wrapped(f"{rate_line(rate)}."))
    if document["clash"] is not None:
        blocks.append(wrapped(document["clash"]["text"]))
        blocks += [
            f"{wrapped(one_line(title))}\n{text_table(table)}"
            for title, table in infeasibility_tables(document)
        ]
    if lines := headline(document):
        blocks.append("\n".join(wrapped(f"- {line}", "  ") for line in lines))
    for title, table in _terminal_tables(document):
        blocks.append(f"{title}\n{text_table(table)}")
    if document["why"]:
        reasons = "\n".join(wrapped(f"- {line}", "  ") for line in document["why"])
        blocks.append(f"{_reasons(document)}\n{reasons}")
    return "\n\n".join(blocks)


def _reasons(document: Document) -> str:
    """The title above reasons, or above what is worth knowing where there is no plan."""
    return "Why this plan" if document["totals"] else "What is worth knowing"


def _terminal_tables(document: Document) -> Iterable[tuple[str, Table]]:
    """The tables that fit a terminal, narrowed to the columns that decide."""
    held, periods = document["tables"], document["horizon"]["periods"]
    wide: tuple[tuple[str, tuple[str, ...]], ...] = (("summary", ()), ("actions", ()), ("jobs", _JOB))
    if document["totals"]:
        yield "Totals", totals_table(document)
    for name, keys in wide:
        if held.get(name) and (name != "summary" or compared(document)):
            yield TITLES[name], table_of(name, held[name], keys)
    if held["fleet"]:
        rows = across_periods(held["fleet"], ("site", "sku"), "in_service_nodes", periods)
        yield of_periods("Nodes in service", periods), table_of("", rows)
    if held["services"]:
        rows = across_periods(held["services"], ("service", "site", "sku"), "replicas", periods)
        yield of_periods("Replicas", periods), table_of("", rows)
    if played := held.get("verification"):
        yield TITLES["verification"], table_of("verification", played, _PLAYED)
    for name in ("cost", "carbon", "unit_costs", "views"):
        if held.get(name):
            yield TITLES[name], table_of(name, held[name])
    if binding := [row for row in held["limits"] if row["binding"]]:
        keys = ("limit", "where", "period", "used", "allowed", "unit")
        yield "Limits that bind", table_of("limits", binding, keys)


def markdown_table(table: Table) -> str:
    """A table as Markdown."""
    rule = ["---:" if numeric else "---" for numeric in table.numeric]
    lines = [table.headings, rule, *table.cells]
    escaped = [[markdown_escaped(cell) if line is not rule else cell for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in escaped)


def markdown_escaped(text: str) -> str:
    """A text in which no sign means anything to Markdown."""
    return re.sub(r"([\\`*_{}\[\]<>|#~$])", r"\\\1", one_line(text))


def one_line(text: str) -> str:
    """Without line breaks and without characters that steer a terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def terminal_columns() -> int:
    """Columns of the terminal that shows standard output; a file or a pipe has 100, whatever its reader."""
    if not sys.stdout.isatty():
        return COLUMNS_OF_A_FILE
    columns = shutil.get_terminal_size((COLUMNS_OF_A_FILE, 24)).columns
    return min(max(columns, LEAST_COLUMNS), MOST_COLUMNS)


def text_table(table: Table, *, units_below: bool = False) -> str:
    """A table for a terminal, its widest columns cut where it would not fit.

    With `units_below` the units of headings go to a line of their own before anything is cut.
    """
    head = [tuple(map(one_line, table.headings))]
    cells = [tuple(map(one_line, line)) for line in table.cells]
    widths = _widths([*head, *cells])
    if units_below and _too_wide(widths) and any(" (" in heading for heading in head[0]):
        parts = [heading.partition(" (") for heading in head[0]]
        head = [
            tuple(name for name, _, _ in parts),
            tuple(f"({unit}" if unit else "" for _, _, unit in parts),
        ]
        widths = _widths([*head, *cells])
    widths = _fitted(widths)
    rule = tuple("-" * width for width in widths)
    return "\n".join(text_line(line, widths, table.numeric) for line in (*head, rule, *cells))


def _widths(lines: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*lines, strict=True)]


def _too_wide(widths: Sequence[int]) -> bool:
    return sum(widths) + 2 * (len(widths) - 1) > terminal_columns()


def _fitted(widths: list[int]) -> list[int]:
    """Take from the widest columns until the table fits."""
    fitted = list(widths)
    while _too_wide(fitted) and max(fitted) > 4:
        fitted[fitted.index(max(fitted))] -= 1
    return fitted


def wrapped(text: str, indent: str = "") -> str:
    """A paragraph for a terminal."""
    return textwrap.fill(one_line(text), terminal_columns(), subsequent_indent=indent)
