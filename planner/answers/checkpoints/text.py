"""Checkpoint documents as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from planner.answers.checkpoints.policies import OBJECTIVES
from planner.trace.currency import USD, in_its_currency, shown, shown_value
from planner.trace.numbers import count_text, exact_text, fixed_text, mass, money, percent_text, tonne_price
from planner.trace.records import Record


@in_its_currency
def to_text(document: Record) -> str:
    """The document as tables, the best intervals marked."""
    inputs = document["inputs"]
    lines = [
        f"{inputs['model']} on {inputs['nodes']} nodes of {inputs['sku']}, failures as {inputs['failures']}: "
        f"one every {exact_text(inputs['mttf_h'])} h; a checkpoint to {inputs['storage']} takes "
        f"{exact_text(inputs['write_min'] * 60)} s, a restart {exact_text(inputs['restart_min'])} min",
        "",
        *_intervals(document),
        *_policies(document),
    ]
    for name, write in (("today", _today), ("finish", _finish), ("simulation", _simulation)):
        if name in document:
            lines += write(document[name])
    return "\n".join(lines)


@in_its_currency
def scenario_text(document: Record) -> str:
    """A section for each job: its sizes, and one of them in full where it was requested."""
    lines = []
    for job in document["jobs"]:
        if "document" in job:
            lines += [f"{job['name']}", to_text(job["document"]), ""]
            continue
        lines += [
            f"{job['name']}: {job['model']}, {job['stated']} as the scenario has it; what loses least time",
            f"{'SKU':<12} {'site':<12} {'nodes':>6} {'MTTF h':>8} {'write s':>8} {'stated min':>11} "
            f"{'ETTR':>8}   {'best':<13} {'min':>8} {'saves':>6} {'ETTR':>8} {'low .. high':>16} "
            f"{'flat min':>16}",
            *(_size(one) for one in job["sizes"]),
            "",
        ]
    return "\n".join(lines).rstrip()


def _size(one: Record) -> str:
    band = ""
    if "ettr_low_fraction" in one:
        band = f"{percent_text(one['ettr_low_fraction'], 2)} .. {percent_text(one['ettr_high_fraction'], 2)}"
    flat = f"{fixed_text(one['flat_low_min'], 2)} .. {fixed_text(one['flat_high_min'], 2)}"
    return (
        f"{one['sku']:<12} {one['site']:<12} {one['nodes']:>6} {fixed_text(one['mttf_h'], 2):>8} "
        f"{fixed_text(60 * one['write_min'], 1):>8} {fixed_text(one['stated_interval_min'], 2):>11} "
        f"{percent_text(one['stated_ettr_fraction'], 2):>8}   "
        f"{one['policy']:<13} {fixed_text(one['interval_min'], 2):>8} {one['local_saves'] or 1:>6} "
        f"{percent_text(one['ettr_fraction'], 2):>8} {band:>16} {flat:>16}"
    )


def _intervals(document: Record) -> Iterator[str]:
    marks = document["marks"]
    band, linear = "ettr_low_fraction" in marks[0], "linear_ettr_fraction" in marks[0]
    queue = "ettr_with_queue_fraction" in marks[0]
    yield (
        f"{'interval min':>14} {'ETTR':>8} {'lost':>8} {'stalled':>8} {'restart':>8} "
        f"{f'{shown().code}/useful h':>14} {'kg/useful h':>13}"
        + (f" {'ETTR low .. high':>18}" if band else "")
        + (f" {'with queue':>11}" if queue else "")
        + (f" {'linear':>8}" if linear else "")
    )
    named = [(mark["interval_min"], f"  {mark['name']}", mark) for mark in marks]
    marked = [mark["interval_min"] for mark in marks]
    plain = [
        (row["interval_min"], "", row)
        for row in document["rows"][::4]
        if not np.isclose(row["interval_min"], marked, rtol=1e-6).any()
    ]
    for _, name, row in sorted(named + plain, key=lambda one: one[0]):
        span = (
            f"{percent_text(row['ettr_low_fraction'], 2)} .. {percent_text(row['ettr_high_fraction'], 2)}"
            if band
            else ""
        )
        out = " out of its range" if linear and not row["linear_in_range"] else ""
        yield (
            f"{fixed_text(row['interval_min'], 2):>14} {percent_text(row['ettr_fraction'], 2):>8} "
            f"{percent_text(row['lost_fraction'], 2):>8} "
            f"{percent_text(row['checkpoint_fraction'], 2):>8} {percent_text(row['restart_fraction'], 2):>8} "
            f"{fixed_text(shown_value(row['usd_per_useful_h'], USD), 2):>14} "
            f"{fixed_text(row['kgco2e_per_useful_h'], 3):>13}"
            + (f" {span:>18}" if band else "")
            + (f" {percent_text(row['ettr_with_queue_fraction'], 2):>11}" if queue else "")
            + (f" {percent_text(row['linear_ettr_fraction'], 2):>8}{out}" if linear else "")
            + name
        )
    flat = document["flat"]
    yield ""
    yield (
        f"From {fixed_text(flat['low_min'], 1)} to {fixed_text(flat['high_min'], 1)} min the loss is below "
        f"{percent_text(flat['loss_fraction'])} of the best."
    )
    worth = document["worth"]
    yield (
        f"At the best, {fixed_text(worth['not_training_h_a_day'], 2)} h of a day train nothing; a point of "
        "ETTR is "
        f"worth {tonne_price(worth['usd_a_point_and_day']).removesuffix('/t')} a day, "
        f"{money(worth['usd_a_point_and_month'])} and {mass(worth['kgco2e_a_point_and_month'])} a month."
    )


def today_said(rows: list[Record]) -> list[str]:
    """What changing the interval of today would bring in a month, a sentence each."""
    said = []
    for row in rows:
        parts = [
            _gained(shown, value, words)
            for value, shown, words in (
                (row["freed_h"], f"{fixed_text(abs(row['freed_h']), 2)} h", ("sooner", "later")),
                (row["spared_usd"], money(abs(row["spared_usd"])), ("less", "more")),
                (row["spared_kgco2e"], mass(abs(row["spared_kgco2e"])), ("less", "more")),
            )
        ]
        said.append(
            f"A checkpoint every {fixed_text(row['interval_min'], 1)} min ({row['change_to']}) does the same "
            f"work of a month {', '.join(parts)}."
        )
    return said


def _gained(shown: str, value: float, words: tuple[str, str]) -> str:
    return f"{shown} {words[0] if value >= 0 else words[1]}"


def _today(rows: list[Record]) -> list[str]:
    return ["", "Against the interval of today:", *today_said(rows)]


def _policies(document: Record) -> Iterator[str]:
    yield ""
    yield (
        f"{'least':<8} {'policy':<13} {'interval min':>13} {'saves':>6} {'flat min':>18} {'ETTR':>8} "
        f"{f'{shown().code}/useful h':>14} {'kg/useful h':>13}"
    )
    for objective in OBJECTIVES:
        for one in document["policies"]:
            if one["objective"] == objective:
                flat = f"{fixed_text(one['flat_low_min'], 2)} .. {fixed_text(one['flat_high_min'], 2)}"
                yield (
                    f"{objective:<8} {one['policy']:<13} {fixed_text(one['interval_min'], 2):>13} "
                    f"{one['local_saves'] or 1:>6} {flat:>18} {percent_text(one['ettr_fraction'], 2):>8} "
                    f"{fixed_text(shown_value(one['usd_per_useful_h'], USD), 2):>14} "
                    f"{fixed_text(one['kgco2e_per_useful_h'], 3):>13}"
                )
    yield ""
    for one in document["best"]:
        behind = [
            f"{key.removesuffix('_more_fraction')} takes {percent_text(value, 2)} more"
            for key, value in one.items()
            if key.endswith("_more_fraction") and not key.startswith(one["policy"])
        ]
        yield f"Least {one['objective']}: {one['policy']}; {', '.join(behind)}."


def _finish(rows: list[Record]) -> Iterator[str]:
    yield ""
    yield (
        f"{'finish':<13} {'rate':<7} {'mean h':>10} {'p5 h':>10} {'p50 h':>10} {'p95 h':>10} "
        f"{'lost GPU-h p5':>14} {'p50':>12} {'p95':>12}"
    )
    for row in rows:
        times = " ".join(_cell(row.get(f"{name}_h"), 10, 1) for name in ("mean", "p5", "p50", "p95"))
        lost = " ".join(
            _cell(row.get(f"lost_accelerator_{name}_h"), width, 0)
            for name, width in (("p5", 14), ("p50", 12), ("p95", 12))
        )
        yield f"{row['policy']:<13} {row['rate']:<7} {times} {lost}"


def _cell(value: float | None, width: int, digits: int) -> str:
    return f"{fixed_text(value, digits):>{width}}"


def _simulation(rows: list[Record]) -> Iterator[str]:
    yield ""
    yield (
        f"Played {count_text(rows[0]['replicas'])} times with seed {rows[0]['seed']}, ETTR and its "
        "standard error:"
    )
    for row in rows:
        yield (
            f"{row['policy']:<13} {percent_text(row['simulated_ettr_fraction'], 4)} "
            f"+- {percent_text(row['standard_error_fraction'], 4)}, closed form "
            f"{percent_text(row['closed_form_ettr_fraction'], 4)}"
        )
