"""Answers that were written into a file or a store, opened again."""

from __future__ import annotations

from planner.notebook.answer import Answer
from planner.notebook.other_answers import (
    calibration_made,
    checkpoints_made,
    fit_made,
    job_made,
    throughput_made,
    validation_made,
)
from planner.notebook.plan_answers import comparison_made, front_made, futures_made, plan_made
from planner.report.shape import form_of
from planner.trace.errors import InputError
from planner.trace.records import Record

_MAKERS = {
    "plan": plan_made,
    "job": job_made,
    "checkpoints": checkpoints_made,
    "fit": fit_made,
    "throughput": throughput_made,
    "calibration": calibration_made,
    "validation": validation_made,
    "futures": futures_made,
    "front": front_made,
    "comparison": comparison_made,
}


def kept_answer(document: Record) -> Answer:
    """The answer of a document that was kept.

    Raises:
        InputError: it is of a kind that is asked again.
    """
    kind = document.get("everfleet_answer") or form_of(document).kind  # a list says only what it is
    if kind not in _MAKERS:
        raise InputError(f"answers about {kind} are not kept to be opened again: ask again")
    return _MAKERS[kind](document)
