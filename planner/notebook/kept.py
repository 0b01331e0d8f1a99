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
from planner.trace.errors import InputError
from planner.trace.records import Record


def made(document: Record) -> Answer:
    """The answer of a document that was kept.

    Raises:
        InputError: it is of a kind that is asked again.
    """
    if "everfleet_answer" in document:
        kind = document["everfleet_answer"]
        plain = {
            "throughput": throughput_made,
            "calibration": calibration_made,
            "validation": validation_made,
            "comparison": comparison_made,
        }
        if kind not in plain:
            raise InputError(f"answers about {kind} are not kept to be opened again: ask again")
        return plain[kind](document["document"])
    if "everfleet_checkpoints" in document:
        return checkpoints_made(
            {key: held for key, held in document.items() if key != "everfleet_checkpoints"}
        )
    known = {
        "everfleet_job": job_made,
        "everfleet_fit": fit_made,
        "everfleet_futures": futures_made,
        "everfleet_pareto": front_made,
    }
    return next((make for key, make in known.items() if key in document), plan_made)(document)
