"""The document of a question about hardware: rows by SKU and size, or the smallest that reach a rate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from planner.answers.throughput.equations import needed_per_s
from planner.answers.throughput.generation import generation_table
from planner.answers.throughput.measured import with_calibration, with_point, with_serving_point
from planner.answers.throughput.question import (
    ANSWERS,
    FINE,
    GENERATE,
    RECOMMEND,
    SCORE,
    SIZES,
    Question,
    checked_kind,
)
from planner.answers.throughput.recommendation import recommendation_table
from planner.answers.throughput.scoring import scoring_table
from planner.answers.throughput.serving import serving_table
from planner.answers.throughput.setting import Setting, Table
from planner.answers.throughput.training import training_table
from planner.inputs.catalogue import Catalogue, load_catalogue
from planner.inputs.models import with_model_cards
from planner.physics.measured_serving import factors_of
from planner.physics.requests import given, inputs_of
from planner.trace.errors import InputError
from planner.trace.explain import explain
from planner.trace.quantities import chosen, derive
from planner.trace.records import Record

TABLES = {RECOMMEND: recommendation_table, SCORE: scoring_table, GENERATE: generation_table}


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
        setting = with_serving_point(setting) if kind == ANSWERS else with_point(setting)
    elif question.calibration is not None:
        setting = with_calibration(setting, question.calibration)
    table = _table(kind, setting)
    document: Record = {
        "everfleet_throughput": 1,
        "kind": kind,
        "model": question.model,
        "precision": question.precision,
        "unit": table.unit,
        "about": dict(table.about),
        "titles": {sku.name: sku.title for sku in setting.inputs.skus},
        "rows": table.rows,
        "calibrated_skus": _calibrated_skus(kind, setting),
        "notes": table.notes,
    }
    if question.wants_target:
        target = _target(question)
        document["target_per_s"] = target
        document["reached"] = _reached(table.rows, [sku.name for sku in setting.inputs.skus], target)
    if question.why:
        document["why"] = question.why
        document["explanations"] = _explanations(question.why, table)
    return document


def _calibrated_skus(kind: str, setting: Setting) -> list[str]:
    """SKUs on which somebody measured: the step of training, or this model as it is served."""
    question = setting.question
    return [
        sku.name
        for sku in setting.inputs.skus
        if (
            factors_of(setting.catalogue, sku.accelerator, question.model, question.precision, 1)
            if kind == ANSWERS
            else sku.accelerator in setting.calibrated
        )
    ]


def _table(kind: str, setting: Setting) -> Table:
    question = setting.question
    sizes = question.nodes or (FINE if question.wants_target else SIZES)
    wanted = tuple(sorted({*sizes, *_size_of_why(question)}))
    if kind == ANSWERS:
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


def _reached(rows: Sequence[Record], skus: Sequence[str], target: float) -> list[Record]:
    """For each SKU its smallest size that reaches a rate, and the one whose low end does too."""
    found: list[Record] = []
    for sku in skus:
        own = [row for row in rows if row["sku"] == sku]
        able = [row for row in own if row["fits"] and row["rate_per_s"] >= target]
        sure = [row for row in able if row["low_per_s"] >= target]
        if able:
            record = {**able[0], "sure_nodes": sure[0]["nodes"] if sure else None}
        else:
            most = max((row for row in own if row["fits"]), key=lambda row: row["rate_per_s"], default=None)
            record = {"sku": sku, "fits": False}
            if most is None:
                record["reason"] = own[-1]["reason"]
            else:
                record["reason"] = f"{most['rate_per_s']:,.0f} /s at most, on {most['nodes']} nodes"
        found.append(record)
    return found


def _explanations(why: str, table: Table) -> Record:
    """The steps behind the numbers of one row.

    Raises:
        InputError: there is no such row, or nothing works there.
    """
    sku, _, size = why.partition(":")
    names = ("nodes", "accelerators") if table.rows and "nodes" in table.rows[0] else ("accelerators",)
    at = [i for i, row in enumerate(table.rows) if row["sku"] == sku and str(row[names[0]]) == size]
    if not at:
        known = sorted({str(row["sku"]) for row in table.rows})
        what = "NODES" if names[0] == "nodes" else "ACCELERATORS of a replica"
        raise InputError(f"--why: there is no row '{why}': write SKU:{what}, of {', '.join(known)}")
    row = table.rows[at[0]]
    if not row["fits"]:
        raise InputError(f"--why: {why} delivers nothing: {row['reason']}")
    place = table.fitting.index(at[0])
    sizes = {
        name: chosen(name, value, "a size that was looked at")
        for name, value in row.items()
        if name not in table.columns and isinstance(value, int | float) and not isinstance(value, bool)
    }
    return {name: explain(column, place).to_dict() for name, column in table.columns.items()} | {
        name: explain(size).to_dict() for name, size in sizes.items()
    }
