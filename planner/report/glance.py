"""The plan on one sheet: what to do by when, money, carbon, how sure, and what would change it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.report.table_columns import TITLES
from planner.report.tables import Table, table_of
from planner.trace.records import Document, Record

MOST_ACTIONS, MOST_WORK, MOST_FACTS, MOST_TIES = 8, 5, 4, 1
COLUMNS = {
    "actions": ("by", "action", "nodes", "amount", "unit", "sku", "where", "cash_usd", "then"),
    "views": ("line", "economic_usd", "cash_usd", "accounts_usd"),
    "chance": ("work", "period", "chance_fraction"),
    "stress": ("case", "holds", "usd"),
    "ties": ("excess_fraction", "differs"),
    "tornado": ("fact", "at_low", "at_high", "at_unit"),
}
SUMMED = ("Cost", "Carbon")  # what the lines next to the baselines begin with


@dataclass(frozen=True, slots=True)
class Part:
    """A small table of the sheet, and what is left out of it."""

    name: str
    title: str
    table: Table
    note: str = ""


def glance(document: Document) -> list[Part]:
    """The small tables of the sheet, in the order of reading; what a plan lacks is left out."""
    tables = document["tables"]
    parts = [
        _part("actions", tables.get("actions") or [], MOST_ACTIONS),
        _part("views", tables.get("views") or []),
        _part("summary", [row for row in tables.get("summary") or [] if row["measure"].startswith(SUMMED)]),
        _part("chance", _least_sure(tables.get("chance") or []), MOST_WORK, "The least sure first."),
        _part("stress", tables.get("stress") or [], note="Money of the cheapest way out, on top."),
        _part("tornado", document["tornado"], MOST_FACTS, "What moves it most, at both ends of its range."),
        _part("ties", tables.get("ties") or [], MOST_TIES),
    ]
    return [part for part in parts if part is not None]


def _part(name: str, rows: Sequence[Record], most: int = 0, note: str = "") -> Part | None:
    if not rows:
        return None
    shown = rows[:most] if most else rows
    if len(shown) < len(rows):
        note = f"{note} {len(rows) - len(shown)} more are below.".strip()
    title = TITLES.get(name, "Sensitivity of the result")
    return Part(name, title, table_of(name, shown, COLUMNS.get(name, ())), note)


def _least_sure(rows: Sequence[Record]) -> list[Record]:
    """Each work in its least sure period, the least sure first."""
    found: dict[str, Record] = {}
    for row in sorted(rows, key=lambda row: float(row["chance_fraction"])):
        found.setdefault(row["work"], row)
    return list(found.values())
