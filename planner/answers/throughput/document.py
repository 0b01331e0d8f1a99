"""The document of a question about hardware: rows by SKU and size, or the smallest that reach a rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from planner.answers.throughput.batch_serving import generation_table, scoring_table
from planner.answers.throughput.costs import best_rows, costs_note, grid_of
from planner.answers.throughput.denoising import denoising_table
from planner.answers.throughput.equations import needed_per_s
from planner.answers.throughput.measured import with_calibration, with_point, with_serving_point
from planner.answers.throughput.question import FINE, SIZES, checked_kind
from planner.answers.throughput.recommendation import recommendation_table
from planner.answers.throughput.serving import serving_table
from planner.answers.throughput.setting import Setting, Table
from planner.answers.throughput.training import training_table
from planner.inputs.catalogue import Catalogue
from planner.inputs.hardware_question import DRAW, GENERATE, LOOK, RECOMMEND, SCORE, WRITTEN, Question
from planner.inputs.loading import load_catalogue
from planner.inputs.models import with_model_cards
from planner.inputs.own.facts import own_notes
from planner.physics.measured_serving import factors_of
from planner.physics.requests import given, inputs_of
from planner.trace.errors import InputError
from planner.trace.explain import Steps
from planner.trace.numbers import count_text
from planner.trace.quantities import derive
from planner.trace.records import Record

TABLES = {
    RECOMMEND: recommendation_table,
    DRAW: denoising_table,
    SCORE: scoring_table,
    GENERATE: generation_table,
    LOOK: generation_table,
}


def throughput_document(question: Question, catalogue: Catalogue | None = None) -> Record:
    """What every SKU asked for delivers and draws, at every size asked for.

    Args:
        question: the model, what is done with it, and where.
        catalogue: where values come from; the shipped one where it is None.

    Raises:
        InputError: the question is wrong (every problem at once), or a measurement cannot be explained.
    """
    catalogue = with_model_cards(catalogue or load_catalogue(), [question.model], Path())
    kind = checked_kind(question, catalogue)
    setting = Setting(question, inputs_of(catalogue, question.skus), {})
    if question.measured:
        setting = with_serving_point(setting) if kind in WRITTEN else with_point(setting)
    elif question.calibration is not None:
        setting = with_calibration(setting, question.calibration)
    table, steps = _table(kind, setting), Steps()
    cells, best = {"rows": table.cells(steps)}, best_rows(table.rows)
    cells["best"] = [cells["rows"][place] for place in best]
    document: Record = {
        "everfleet_throughput": 1,
        "kind": kind,
        "model": question.model,
        "precision": question.precision,
        "unit": table.unit,
        "million_of": "tokens written" if kind in WRITTEN else table.unit,
        "about": dict(table.about),
        "titles": {sku.name: sku.title for sku in setting.inputs.skus},
        "rows": table.rows,
        "best": [table.rows[place] for place in best],
        "calibrated_skus": _calibrated_skus(kind, setting),
        "grid": grid_of(setting),
        "notes": table.notes,
    }
    if question.wants_target:
        target = _target(question)
        document["target_per_s"] = target
        found = _reached(table.rows, [sku.name for sku in setting.inputs.skus], target)
        document["reached"] = [row for row, _ in found]
        cells["reached"] = [_cells_reached(cells["rows"], places) for _, places in found]
    if question.why:
        document["why"] = question.why
        document["explanations"] = cells["rows"][_row_of_why(question.why, table)]
    packed = steps.packed()
    document["notes"] = [
        *table.notes,
        costs_note(setting),
        *own_notes((step["name"] for step in packed), catalogue),
    ]
    return document | {"cells": cells, "steps": packed}


def _calibrated_skus(kind: str, setting: Setting) -> list[str]:
    """SKUs on which somebody measured: the step of training, or this model as it is served."""
    question = setting.question
    return [
        sku.name
        for sku in setting.inputs.skus
        if (
            factors_of(setting.catalogue, sku.accelerator, question.model, question.precision, 1)
            if kind in WRITTEN
            else sku.accelerator in setting.calibrated
        )
    ]


def _table(kind: str, setting: Setting) -> Table:
    question = setting.question
    sizes = question.nodes or (FINE if question.wants_target else SIZES)
    wanted = tuple(sorted({*sizes, *_size_of_why(question)}))
    if kind in WRITTEN:
        return serving_table(setting)
    return TABLES.get(kind, training_table)(setting, wanted)


def _size_of_why(question: Question) -> Sequence[int]:
    """The size that is to be explained is looked at, whatever else is."""
    _, _, size = question.why.rpartition(":")
    return (int(size),) if size.isdecimal() and size.isascii() and int(size) > 0 else ()


def _target(question: Question) -> float:
    if question.tokens is None or question.by_h is None:
        assert question.target_per_s is not None, "checked by the caller"
        return question.target_per_s
    amount, by = given("tokens", question.tokens, "1"), given("by", question.by_h, "h")
    return float(derive(needed_per_s, amount=amount, by_h=by).value)


def _reached(
    rows: Sequence[Record], skus: Sequence[str], target: float
) -> list[tuple[Record, tuple[int, ...]]]:
    """For each SKU its smallest size that reaches a rate, the one whose low end does too, and their rows."""
    found: list[tuple[Record, tuple[int, ...]]] = []
    for sku in skus:
        own = [place for place, row in enumerate(rows) if row["sku"] == sku]
        working = [place for place in own if rows[place]["fits"]]
        able = [place for place in working if rows[place]["rate_per_s"] >= target]
        sure = [place for place in able if rows[place]["low_per_s"] >= target][:1]
        if able:
            record = {**rows[able[0]], "sure_nodes": rows[sure[0]]["nodes"] if sure else None}
            found.append((record, (able[0], *sure)))
            continue
        record = {"sku": sku, "fits": False}
        if working:
            most = rows[max(working, key=lambda place: float(rows[place]["rate_per_s"]))]
            record["reason"] = f"{count_text(most['rate_per_s'])} /s at most, on {most['nodes']} nodes"
        else:
            record["reason"] = rows[own[-1]]["reason"]
        found.append((record, ()))
    return found


def _cells_reached(cells: Sequence[Mapping[str, int]], places: Sequence[int]) -> dict[str, int]:
    """The steps of the numbers of a size that reaches the rate, and of the one that surely does."""
    if not places:
        return {}
    size, *sure = places
    found = dict(cells[size])
    if sure:
        found["sure_nodes"] = cells[sure[0]]["nodes"]
    return found


def _row_of_why(why: str, table: Table) -> int:
    """Which row is to be explained.

    Raises:
        InputError: there is no such row, or nothing works there.
    """
    sku, _, size = why.partition(":")
    key = "nodes" if table.rows and "nodes" in table.rows[0] else "accelerators"
    at = [i for i, row in enumerate(table.rows) if row["sku"] == sku and str(row[key]) == size]
    if not at:
        known = sorted({str(row["sku"]) for row in table.rows})
        what = "NODES" if key == "nodes" else "ACCELERATORS of a replica"
        raise InputError(f"--why: there is no row '{why}': write SKU:{what}, of {', '.join(known)}")
    row = table.rows[at[0]]
    if not row["fits"]:
        raise InputError(f"--why: {why} delivers nothing: {row['reason']}")
    return at[0]
