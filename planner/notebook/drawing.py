"""Answers as a notebook shows them: small, escaped, fetching nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, Protocol

from planner.report import charts
from planner.report.charts import Picture
from planner.report.table_columns import COLUMNS, TITLES
from planner.report.tables import Table as Drawn
from planner.report.tables import table_of, totals_table

MOST_BYTES = 250_000  # of an answer: a notebook keeps it in its file
MOST_ROWS = 20
MOST_SENTENCES = 12
MOST_CHARTS = 2
MOST_LETTERS = 200  # of one cell
_STYLE = (
    "<style>.everfleet td,.everfleet th{text-align:left;padding:.15rem .6rem;vertical-align:top}"
    ".everfleet .n{text-align:right}.everfleet summary{cursor:pointer}.everfleet "
    "svg{max-width:100%}</style>"
)


class Rows(Protocol):
    """What is drawn of a table: its name, columns and records."""

    name: str

    @property
    def records(self) -> Sequence[Mapping[str, Any]]:
        """The rows."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Keys of the columns."""


class Chart:
    """A chart of an answer, with its title and its words for those who do not see it."""

    def __init__(self, picture: Picture) -> None:
        self._picture = picture

    @property
    def title(self) -> str:
        """What it shows."""
        return self._picture.title

    @property
    def alt(self) -> str:
        """The same in words."""
        return self._picture.alt

    @property
    def altair(self) -> Any:
        """The chart as Altair has it, to change or to put next to others."""
        return self._picture.chart

    def to_svg(self, width: int = 430) -> str:
        """One drawing that fetches nothing."""
        return charts.to_svg(self._picture, width)

    def __repr__(self) -> str:
        return f"<chart '{self.title}'>"

    def _repr_html_(self) -> str:
        return (
            f"<figure role='img' aria-label='{escape(self.alt, quote=True)}'>{self.to_svg()}"
            f"<figcaption>{escape(self.title)}</figcaption></figure>"
        )


class Shown(Protocol):
    """What is drawn of an answer."""

    title: str
    said: tuple[str, ...]

    @property
    def totals(self) -> Rows:
        """Its totals."""

    @property
    def charts(self) -> Mapping[str, Chart]:
        """Every chart by name."""

    @property
    def tables(self) -> Mapping[str, Rows]:
        """Every table by name."""


def answer_html(answer: Shown) -> str:
    """Title, sentences, totals, the first charts, and the beginning of each table, folded."""
    parts = [f"<h3>{escape(answer.title)}</h3>", _sentences(answer.said)]
    if answer.totals.records:
        parts.append(_totals(answer.totals))
    used = sum(len(part.encode()) for part in parts)
    for part in _further(answer):
        used += len(part.encode())
        if used > MOST_BYTES:
            parts.append(f"<p>More in <code>{escape(repr(list(answer.tables)))}</code></p>")
            break
        parts.append(part)
    return f"<div class='everfleet'>{_STYLE}{''.join(parts)}</div>"


def table_html(table: Rows) -> str:
    """The first rows of a table."""
    return f"<div class='everfleet'>{_STYLE}{_rows(table)}</div>"


def why_html(text: str) -> str:
    """An explanation as it is on a terminal; a very long one cut."""
    cut = text[: MOST_BYTES // 4]
    more = "\n… (.to_text() has all of it)" if len(text) > len(cut) else ""
    return f"<pre>{escape(cut + more)}</pre>"


def _further(answer: Shown) -> Iterator[str]:
    for chart in list(answer.charts.values())[:MOST_CHARTS]:
        yield chart._repr_html_()
    for name, table in answer.tables.items():
        if table.records:
            about = f": {TITLES[name]}" if name in TITLES else ""
            head = f"{name}{about} ({len(table.records)} row{'s' * (len(table.records) != 1)})"
            yield f"<details><summary>{escape(head)}</summary>{_rows(table)}</details>"


def _sentences(said: tuple[str, ...]) -> str:
    shown = [f"<li>{escape(sentence)}</li>" for sentence in said[:MOST_SENTENCES]]
    if len(said) > MOST_SENTENCES:
        shown.append(f"<li>and {len(said) - MOST_SENTENCES} more: <code>.said</code></li>")
    return f"<ul>{''.join(shown)}</ul>" if shown else ""


def _totals(totals: Rows) -> str:
    if {"label", "value", "unit", "p5", "p95"} <= set(totals.columns):
        return _markup(totals_table({"totals": [dict(record) for record in totals.records]}))
    return _rows(totals)


def _rows(table: Rows) -> str:
    more = len(table.records) - MOST_ROWS
    left = f"<p>{more} more: <code>.to_pandas()</code> has all</p>" if more > 0 else ""
    return _markup(table_text(table, MOST_ROWS)) + left if table.records else "<p>no rows</p>"


def table_text(table: Rows, most: int | None = None) -> Drawn:
    """A table as text in the units that read best, in the report's order where it knows the columns."""
    known = [key for key in COLUMNS.get(table.name, ()) if key in table.columns]
    keys = (
        known if 2 * len(known) >= len(table.columns) else [key for key in table.columns if key != "explain"]
    )
    return table_of(table.name, [_flat(record) for record in table.records[:most]], keys)


def _flat(record: Mapping[str, Any]) -> dict[str, Any]:
    """A row whose lists and tables are text."""
    return {key: str(value) if isinstance(value, list | dict) else value for key, value in record.items()}


def _markup(table: Drawn) -> str:
    classes = [" class='n'" if numeric else "" for numeric in table.numeric]
    heads = zip(classes, table.headings, strict=True)
    lines = ["".join(f"<th{kind}>{escape(heading)}</th>" for kind, heading in heads)]
    for cells in table.cells:
        row = zip(classes, cells, strict=True)
        lines.append("".join(f"<td{kind}>{escape(cell[:MOST_LETTERS])}</td>" for kind, cell in row))
    body = "".join(f"<tr>{line}</tr>" for line in lines[1:])
    return f"<table><thead><tr>{lines[0]}</tr></thead><tbody>{body}</tbody></table>"
