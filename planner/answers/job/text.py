"""A job for a terminal: one screen with total, range, split and what would change it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from planner.answers.job.model_card import assumed_said, grid_said, said
from planner.report.columns import Column, aligned
from planner.report.tables import why_text
from planner.report.text import terminal_columns
from planner.trace.numbers import fixed_text, percent_text
from planner.trace.records import Record

LEAST_SHOWN = 0.001


def to_text(document: Record, why: bool = False) -> str:
    """The document for a terminal; with `why` the total opened down to its sources."""
    blocks = [document["title"], _totals(document), _phases(document), _scopes(document)]
    blocks += [block for block in (_failures(document), _scores(document), _changes(document)) if block]
    blocks += [
        *([_tornado(document)] if document["tornado"] else []),
        "For a model card (--card adds tables and sources):",
        _wrapped(document["model_card"]),
    ]
    if document["embodied"]:
        blocks.append(_embodied(document))
    if why:
        blocks.append(why_text(document, "carbon") or "")
    return "\n\n".join(blocks)


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, terminal_columns(), subsequent_indent=indent, break_on_hyphens=False)


def _mass(kgco2e: float) -> str:
    return said(kgco2e, "kgCO2e")


def _change(fraction: float) -> str:
    return percent_text(fraction, sign=True) if abs(fraction) >= LEAST_SHOWN else "under 0.1 %"


def _totals(document: Record) -> str:
    return "\n".join(aligned(_RANGED, document["totals"], gap=""))


def _scores(document: Record) -> str:
    if not document["scores"]:
        return ""
    head = "What a phase comes to (with its share of network and building: --as sci)"
    return "\n".join([head, *_body(_RANGED, document["scores"])])


_RANGED = (
    Column("", lambda row: row["label"], 40, right=False),
    Column("value", lambda row: said(row["value"], row["unit"]), 14),
    Column(
        "  p5 .. p95",
        lambda row: (
            f"  {said(row['p5'], row['unit'])} .. {said(row['p95'], row['unit'])}"
            if row["p5"] != row["p95"]
            else "  no range"
        ),
        right=False,
    ),
)


def _body(columns: Sequence[Column], rows: Sequence[Record]) -> list[str]:
    """Rows without their headings, below a sentence that says what they are."""
    return aligned(columns, rows, gap="")[1:]


def _weight(heading: str, key: str) -> Column:
    return Column(heading, lambda row: f" {_mass(row[key])}", 13)


def _what(row: Record) -> str:
    """What a phase does, as far as the terminal has room."""
    return "  " + textwrap.shorten(row["what"], max(terminal_columns() - 66, 12), placeholder="…")


def _phases(document: Record) -> str:
    columns = (
        Column("Phase", lambda row: row["phase"], 17, right=False),
        _weight("carbon", "kgco2e"),
        Column("share", lambda row: percent_text(row["of_total_fraction"]), 8),
        _weight("electricity", "electricity_kgco2e"),
        _weight("hardware", "hardware_kgco2e"),
        Column("  what", _what, right=False),
    )
    lines = aligned(columns, document["phases"], gap="")
    for row in document["metered"]:
        ours, theirs = _mass(row["electricity_kgco2e"]), _mass(row["tool_kgco2e"])
        lines.append(
            _wrapped(
                f"Electricity of {row['phase']}: {ours} here, {theirs} by {row['tool']} with its own grid "
                "factor and PUE",
                "  ",
            )
        )
    if document["left_out"]:
        left_out = f"Not counted, because the job does not state them: {', '.join(document['left_out'])}"
        lines.append(_wrapped(left_out, "  "))
    if assumed := assumed_said(document):
        lines.append(_wrapped(assumed, "  "))
    lines += [_wrapped(f"Note: {note}", "  ") for note in document["notes"]]
    return "\n".join(lines)


def _scopes(document: Record) -> str:
    apart = "  next to it, not in the total and no saving"
    columns = (
        Column("", lambda row: f"  {row['scope']}", 32, right=False),
        _weight("", "kgco2e"),
        Column("", lambda row: "" if row["in_total"] == "yes" else apart, right=False),
    )
    # Documents that were saved earlier have none.
    notes = [document.get("scope_note", ""), *document.get("inventory_notes", [])]
    lines = [f"By scope; grid: {grid_said(document)}", *_body(columns, document["scopes"])]
    return "\n".join([*lines, *[_wrapped(note, "  ") for note in notes if note]])


def _failures(document: Record) -> str:
    if not document["failures"]:
        return ""
    shown = [
        f"{row['state']} {_mass(row['kgco2e'])} ({percent_text(row['of_training_fraction'], 2)})"
        for row in document["failures"]
    ]
    return _wrapped(f"Of the training run: {'; '.join(shown)}.")


def _changes(document: Record) -> str:
    parts = [_table_of_changes([row for row in document["changes"] if not _is_technique(row)])]
    parts.append(_techniques([row for row in document["changes"] if _is_technique(row)]))
    return "\n\n".join(filter(None, parts))


def _is_technique(row: Record) -> bool:
    return str(row["what"]).startswith("technique in ")


def _techniques(rows: list[Record]) -> str:
    """Each technique with its phases, what it would change, and its range."""
    if not rows:
        return ""
    columns = (
        Column("", lambda row: f"  {row['to']}", 31, right=False),
        Column("", lambda row: str(row["what"]).removeprefix("technique in "), 29, right=False),
        Column("", lambda row: _change(row["change_fraction"]) if row["change_kgco2e"] else "no effect", 12),
        Column("", lambda row: f"  {str(row['note']).partition(';')[0]}", right=False),
    )
    head = "Published techniques that apply (each alone; their cards: everfleet techniques NAME)"
    return "\n".join([head, *_body(columns, rows)])


def _table_of_changes(rows: list[Record]) -> str:
    if not rows:
        return ""
    columns = (
        Column("", lambda row: f"  {row['what']}", 31, right=False),
        Column("", lambda row: f"{row['from']} -> {row['to']}", 29, right=False),
        _weight("", "kgco2e"),
        Column("", _moved, 14),
        Column("", lambda row: _change(row["change_fraction"]), 12),
    )
    head = "What would change it (the same job worked out again)"
    return "\n".join([head, *_body(columns, rows)])


def _moved(row: Record) -> str:
    return f"{'+' if row['change_kgco2e'] >= 0 else '-'}{_mass(abs(row['change_kgco2e']))}"


def _tornado(document: Record) -> str:
    columns = (
        Column("", lambda row: f"  {row['fact']}", 54, right=False),
        _weight("", "at_low"),
        Column("", lambda row: f" .. {_mass(row['at_high'])}", right=False),
    )
    head = "What is least certain (carbon with the fact at its low and its high end)"
    return "\n".join([head, *_body(columns, document["tornado"])])


def _embodied(document: Record) -> str:
    columns = (
        Column("", lambda row: f"  {row['accelerator']}", 18, right=False),
        Column("", lambda row: f"{row['figure']}: {row['step']}", 62, right=False),
        Column("", lambda row: f"{fixed_text(row['kgco2e'], 1)} kg", 11),
        Column("", _next_to_ours, right=False),
    )
    head = "Why others print other figures for the accelerator"
    return "\n".join([head, *_body(columns, document["embodied"])])


def _next_to_ours(row: Record) -> str:
    return f"  {fixed_text(row['of_ours_ratio'], 2)} x  {row['boundary']}" if "boundary" in row else ""
