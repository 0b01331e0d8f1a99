"""The document of a placement for a terminal, as CSV, and as a fact of one's own."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from planner.inputs.placement_question import TIERS
from planner.report.columns import Column, aligned
from planner.report.spreadsheets import csv_of
from planner.trace.numbers import count_text, fixed_text, number_text, percent_text
from planner.trace.records import Record

MOST_ROWS = 32
IMBALANCE = "performance.recommendation.imbalance"


def to_text(document: Record) -> str:
    """Sizes, tiers, devices and rules of others as tables."""
    lines = [document["title"], "", *document["headline"], "", *aligned(_SIZES, document["sizes"])]
    for name, columns in (("tiers", _TIERS), ("devices", _devices(document)), ("rules", _RULES)):
        rows: list[Record] = document.get(name, [])
        if rows:
            lines += ["", *aligned(columns, rows[:MOST_ROWS]), *_left_out(rows, name)]
    if document.get("placed"):
        lines += ["", "--out FILE writes the imbalance as such a fact, for `--data FILE`."]
    return "\n".join(lines)


def to_csv(document: Record) -> str:
    """Where each table lies, as CSV."""
    return csv_of(document.get("placed", []), line_end="\n").rstrip("\n")


def facts_toml(document: Record) -> str:
    """The imbalance as a fact of one's own, for `--data`; none where nothing was placed."""
    found = [one for one in document["totals"] if one["name"] == "imbalance"]
    lines = [f"# {document['title']}", *(f"# {sentence}" for sentence in document["headline"])]
    if found:
        lines += ["[facts]", f'"{IMBALANCE}" = "{number_text(found[0]["value"])}"']
    return "\n".join([*lines, ""])


def _left_out(rows: list[Record], name: str) -> Iterator[str]:
    if len(rows) > MOST_ROWS:
        yield f"and {count_text(len(rows) - MOST_ROWS)} more {name}: --json has all"


def _ms(row: Record, key: str) -> str:
    return "" if row.get(key) is None else number_text(1e3 * row[key])


def _size_said(row: Record) -> str:
    if not row["fits"]:
        return str(row["reason"])
    return "proven" if row["proven"] else "within the gap"


_SIZES = [
    Column("nodes", lambda row: count_text(row["nodes"])),
    Column("chips", lambda row: count_text(row["accelerators"])),
    Column("step ms", lambda row: _ms(row, "step_s")),
    Column("bound ms", lambda row: _ms(row, "bound_s")),
    Column("gap", lambda row: percent_text(row["gap_fraction"], 2) if row["fits"] else ""),
    Column("imbalance", lambda row: number_text(row["imbalance_ratio"]) if row["fits"] else ""),
    Column("", _size_said, right=False),
]
_TIERS = [
    Column("tier", lambda row: row["tier"], right=False),
    Column("holds GB", lambda row: number_text(row["held_gb"])),
    Column("full", lambda row: percent_text(row["full_fraction"])),
    Column("bytes read", lambda row: percent_text(row["moved_fraction"])),
]
_RULES = [
    Column("whole tables, the heaviest first, by", lambda row: row["rule"], right=False),
    Column("step ms", lambda row: _ms(row, "step_s") if row["fits"] else "do not fit"),
    Column("over ours", lambda row: fixed_text(row["over_ours_ratio"], 2) if row["fits"] else ""),
]


def _gb(key: str, row: Record) -> str:
    return number_text(row[key])


def _devices(document: Record) -> list[Column]:
    rows: list[Record] = document.get("devices", [])
    held = [name for name in TIERS if rows and f"{name}_gb" in rows[0]]
    return [
        Column("device", lambda row: row["device"], right=False),
        Column("pieces", lambda row: count_text(row["pieces"])),
        *(Column(f"{name} GB", partial(_gb, f"{name}_gb")) for name in held),
        Column("look-up ms", lambda row: _ms(row, "lookup_s")),
        Column("exchange ms", lambda row: _ms(row, "exchange_s")),
        Column("of mean", lambda row: fixed_text(row["of_mean_ratio"], 2)),
    ]
