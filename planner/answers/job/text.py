"""A job for a terminal: one screen with total, range, split and what would change it."""

from __future__ import annotations

import textwrap

from planner.answers.job.model_card import assumed_said, grid_said, said
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
        _tornado(document),
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
    return "\n".join([f"{'':<40}{'value':>14}  p5 .. p95", *_ranged(document["totals"])])


def _scores(document: Record) -> str:
    if not document["scores"]:
        return ""
    return "\n".join(["What it comes to (software carbon intensity)", *_ranged(document["scores"])])


def _ranged(records: list[Record]) -> list[str]:
    return [
        f"{one['label']:<40}{said(one['value'], one['unit']):>14}  "
        f"{said(one['p5'], one['unit'])} .. {said(one['p95'], one['unit'])}"
        for one in records
    ]


def _phases(document: Record) -> str:
    lines = [f"{'Phase':<17}{'carbon':>13}{'share':>8}{'electricity':>13}{'hardware':>13}  what"]
    for row in document["phases"]:
        parts = "".join(f"{_mass(row[name]):>13}" for name in ("electricity_kgco2e", "hardware_kgco2e"))
        what = textwrap.shorten(row["what"], max(terminal_columns() - 66, 12), placeholder="…")
        share = percent_text(row["of_total_fraction"])
        lines.append(f"{row['phase']:<17}{_mass(row['kgco2e']):>13}{share:>8}{parts}  {what}")
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
    lines = [f"By scope; grid: {grid_said(document)}"]
    apart = "  next to it, not in the total and no saving"
    lines += [
        f"  {row['scope']:<30}{_mass(row['kgco2e']):>13}{'' if row['in_total'] == 'yes' else apart}"
        for row in document["scopes"]
    ]
    return "\n".join(lines)


def _failures(document: Record) -> str:
    if not document["failures"]:
        return ""
    shown = [
        f"{row['state']} {_mass(row['kgco2e'])} ({percent_text(row['of_training_fraction'], 2)})"
        for row in document["failures"]
    ]
    return _wrapped(f"Of the training run: {'; '.join(shown)}.")


def _changes(document: Record) -> str:
    if not document["changes"]:
        return ""
    lines = ["What would change it (the same job worked out again)"]
    for row in document["changes"]:
        change = f"{'+' if row['change_kgco2e'] >= 0 else '-'}{_mass(abs(row['change_kgco2e']))}"
        lines.append(
            f"  {row['what']:<29}{row['from']} -> {row['to']}".ljust(60)
            + f"{_mass(row['kgco2e']):>13}{change:>13}{_change(row['change_fraction']):>12}"
        )
    return "\n".join(lines)


def _tornado(document: Record) -> str:
    lines = ["What is least certain (carbon with the fact at its low and its high end)"]
    lines += [
        f"  {swing['fact']:<52}{_mass(swing['at_low']):>13} .. {_mass(swing['at_high'])}"
        for swing in document["tornado"]
    ]
    return "\n".join(lines)


def _embodied(document: Record) -> str:
    lines = ["Why others print other figures for the accelerator"]
    for row in document["embodied"]:
        said_of = f"{row['figure']}: {row['step']}"
        ratio = f"  {fixed_text(row['of_ours_ratio'], 2)} x  {row['boundary']}" if "boundary" in row else ""
        lines.append(f"  {row['accelerator']:<16}{said_of:<62}{fixed_text(row['kgco2e'], 1):>8} kg{ratio}")
    return "\n".join(lines)
