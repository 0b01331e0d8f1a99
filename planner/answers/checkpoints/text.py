"""Checkpoint documents as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from planner.answers.checkpoints.policies import OBJECTIVES
from planner.trace.explain import format_value
from planner.trace.records import Record


def to_text(document: Record) -> str:
    """The document as tables, the best intervals marked."""
    inputs = document["inputs"]
    lines = [
        f"{inputs['model']} on {inputs['nodes']} nodes of {inputs['sku']}, failures as {inputs['failures']}: "
        f"one every {format_value(inputs['mttf_h'])} h; a checkpoint to {inputs['storage']} takes "
        f"{format_value(inputs['write_min'] * 60)} s, a restart {format_value(inputs['restart_min'])} min",
        "",
        *_intervals(document),
        *_policies(document),
    ]
    for name, write in (("finish", _finish), ("simulation", _simulation)):
        if name in document:
            lines += write(document[name])
    return "\n".join(lines)


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
        band = f"{one['ettr_low_fraction']:.2%} .. {one['ettr_high_fraction']:.2%}"
    flat = f"{one['flat_low_min']:.2f} .. {one['flat_high_min']:.2f}"
    return (
        f"{one['sku']:<12} {one['site']:<12} {one['nodes']:>6} {one['mttf_h']:>8.2f} "
        f"{60 * one['write_min']:>8.1f} {one['stated_interval_min']:>11.2f} "
        f"{one['stated_ettr_fraction']:>8.2%}   "
        f"{one['policy']:<13} {one['interval_min']:>8.2f} {one['local_saves'] or 1:>6} "
        f"{one['ettr_fraction']:>8.2%} {band:>16} {flat:>16}"
    )


def _intervals(document: Record) -> Iterator[str]:
    marks = document["marks"]
    band, linear = "ettr_low_fraction" in marks[0], "linear_ettr_fraction" in marks[0]
    queue = "ettr_with_queue_fraction" in marks[0]
    yield (
        f"{'interval min':>14} {'ETTR':>8} {'lost':>8} {'stalled':>8} {'restart':>8} "
        f"{'USD/useful h':>14} {'kg/useful h':>13}"
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
        span = f"{row['ettr_low_fraction']:.2%} .. {row['ettr_high_fraction']:.2%}" if band else ""
        out = " out of its range" if linear and not row["linear_in_range"] else ""
        yield (
            f"{row['interval_min']:>14.2f} {row['ettr_fraction']:>8.2%} {row['lost_fraction']:>8.2%} "
            f"{row['checkpoint_fraction']:>8.2%} {row['restart_fraction']:>8.2%} "
            f"{row['usd_per_useful_h']:>14,.2f} {row['kgco2e_per_useful_h']:>13,.3f}"
            + (f" {span:>18}" if band else "")
            + (f" {row['ettr_with_queue_fraction']:>11.2%}" if queue else "")
            + (f" {row['linear_ettr_fraction']:>8.2%}{out}" if linear else "")
            + name
        )
    flat = document["flat"]
    yield ""
    yield (
        f"From {flat['low_min']:.1f} to {flat['high_min']:.1f} min the loss is below "
        f"{flat['loss_fraction']:.1%} of the best."
    )
    worth = document["worth"]
    yield (
        f"At the best, {worth['not_training_h_a_day']:.2f} h of a day train nothing; a point of ETTR is "
        f"worth {worth['usd_a_point_and_day']:,.0f} USD a day."
    )


def _policies(document: Record) -> Iterator[str]:
    yield ""
    yield (
        f"{'least':<8} {'policy':<13} {'interval min':>13} {'saves':>6} {'flat min':>18} {'ETTR':>8} "
        f"{'USD/useful h':>14} {'kg/useful h':>13}"
    )
    for objective in OBJECTIVES:
        for one in document["policies"]:
            if one["objective"] == objective:
                flat = f"{one['flat_low_min']:.2f} .. {one['flat_high_min']:.2f}"
                yield (
                    f"{objective:<8} {one['policy']:<13} {one['interval_min']:>13.2f} "
                    f"{one['local_saves'] or 1:>6} {flat:>18} {one['ettr_fraction']:>8.2%} "
                    f"{one['usd_per_useful_h']:>14,.2f} {one['kgco2e_per_useful_h']:>13,.3f}"
                )
    yield ""
    for one in document["best"]:
        behind = [
            f"{key.removesuffix('_more_fraction')} takes {value:.2%} more"
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
    return f"{'-':>{width}}" if value is None else f"{value:>{width},.{digits}f}"


def _simulation(rows: list[Record]) -> Iterator[str]:
    yield ""
    yield f"Played {rows[0]['replicas']:,} times with seed {rows[0]['seed']}, ETTR and its standard error:"
    for row in rows:
        yield (
            f"{row['policy']:<13} {row['simulated_ettr_fraction']:.4%} "
            f"+- {row['standard_error_fraction']:.4%}, closed form {row['closed_form_ettr_fraction']:.4%}"
        )
