"""What a wanted loss takes, by a power law through runs of one's own; or that no size reaches it."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from planner.inputs.loading import load_catalogue
from planner.inputs.scaling_runs import active_parameters, read_runs
from planner.performance.scaling import (
    PowerLaw,
    end_of_range,
    log_size_error,
    size_for_loss,
    student_quantile,
    tokens_of_compute,
)
from planner.physics.requests import given
from planner.trace.errors import InputError
from planner.trace.explain import Steps
from planner.trace.numbers import SHOWN, many_text, number_text, percent_text
from planner.trace.quantities import Traced, chosen, derive
from planner.trace.records import Record

MOST_IN_WORDS = 1e15  # beyond thousands of billions words end
SHARE = 0.9  # of the range that is shown
METHOD = "bounded least squares of relative errors"
_LAW = ("scale_loss", "exponent", "floor_loss", "reference")
_OF = {"tokens": "tokens", "compute": "FLOP", "parameters": "parameters"}


def scaling_document(
    file: Path, *, target: float, axis: str | None = None, model: str | None = None
) -> Record:
    """The power law of the runs in a file, and the size at which it reaches a loss.

    Args:
        file: CSV with a column tokens, compute or parameters, and one of losses.
        target: the loss that is wanted.
        axis: which column, where there are several.
        model: of the catalogue, whose tokens a compute budget is stated in.

    Raises:
        InputError: the file is not understood, no law can be told from it, or the model is not known.
    """
    if not (math.isfinite(target) and target > 0):
        raise InputError(f"--target: {target:g} is no loss: write a number above zero")
    runs = read_runs(file, axis)
    law = runs.law()
    fitted = {
        name: chosen(name, value, f"{METHOD} through {law.runs} runs of {runs.file}")
        for name, value in (
            ("scale_loss", law.scale),
            ("exponent", law.exponent),
            ("floor_loss", law.floor),
            ("reference", law.reference),
        )
    }
    spread = np.sqrt(np.diag(law.covariance))
    row: dict[str, Traced] = {
        "runs": chosen("runs", float(law.runs), f"lines of {runs.file}"),
        "exponent": fitted["exponent"],
        "exponent_error": chosen("exponent_error", float(spread[1]), f"standard error; {METHOD}"),
        "scale_loss": fitted["scale_loss"],
        "reference": fitted["reference"],
        "floor_loss": fitted["floor_loss"],
        "floor_error": chosen("floor_error", float(spread[2]), f"standard error; {METHOD}"),
        "largest_size": chosen("largest_size", law.largest_size, f"the largest run of {runs.file}"),
        "largest_error_fraction": chosen(
            "largest_error_fraction", law.largest_error_fraction, "of a run next to the law"
        ),
        "target_loss": given("target", target, "1"),
    }
    reached = target > law.floor
    if reached:
        row |= _needed(runs.axis, model, law, row, target)
    steps = Steps()
    cells = {name: steps.add(one) for name, one in row.items()}
    values: Record = {"axis": runs.axis, **{name: float(one.value) for name, one in row.items()}}
    document: Record = {
        "everfleet_scaling": 1,
        "title": f"Scaling of {runs.file}",
        "file": runs.file,
        "model": model,
        "reached": reached,
        "fits": [values],
    }
    return document | {
        "headline": _said(document, values),
        "cells": {"fits": [cells]},
        "steps": steps.packed(),
    }


def _needed(
    axis: str, model: str | None, law: PowerLaw, row: dict[str, Traced], target: float
) -> dict[str, Traced]:
    """The size at the target with the ends of its range, and tokens where they follow."""
    needed = derive(size_for_loss, **{name: row[name] for name in ("target_loss", *_LAW)})
    error = chosen(
        "log_error",
        log_size_error(law=law, target_loss=target),
        "from the covariance of the fit, to first order",
    )
    found: dict[str, Traced] = {"needed": needed}
    for name, sign in (("needed_low", -1.0), ("needed_high", 1.0)):
        quantile = chosen(
            "quantile",
            sign * student_quantile(runs=law.runs, share_fraction=SHARE),
            f"{percent_text(SHARE, 0)} of Student's law with {law.runs - 3} degrees of freedom",
        )
        found[name] = derive(end_of_range, middle=needed, log_error=error, quantile=quantile)
    if axis == "compute" and model is not None:
        found["tokens"] = derive(
            tokens_of_compute, flop=needed, parameters=active_parameters(load_catalogue(), model)
        )
    return found


def scaling_text(document: Record) -> str:
    """The document as lines for a terminal."""
    return "\n".join(document["headline"])


def _size(value: float) -> str:
    """A size to the digits that a fit may have: '172.8 billion'; compute with its exponent."""
    return number_text(value) if value >= MOST_IN_WORDS else many_text(value, "", SHOWN).strip()


def _said(document: Record, row: Record) -> list[str]:
    unit, axis = _OF[row["axis"]], row["axis"]
    floor = f"c = {number_text(row['floor_loss'])} ± {number_text(row['floor_error'])}"
    said = [
        f"{document['file']}: loss = {number_text(row['scale_loss'])} ({axis} / "
        f"{_size(row['reference'])})^-{number_text(row['exponent'])} + c, {floor}, through "
        f"{number_text(row['runs'])} runs, which lie within "
        f"{percent_text(row['largest_error_fraction'], 2)} of it "
        f"({METHOD})."
    ]
    target = number_text(row["target_loss"])
    if not document["reached"]:
        return [
            *said,
            f"A loss of {target} is unreachable: it is below the floor {floor}, which no number of {unit} "
            "passes. Aim above it, or change what the floor depends on: the data, or the model.",
        ]
    quantile = student_quantile(runs=int(row["runs"]), share_fraction=SHARE)
    certain = row["target_loss"] - row["floor_loss"] > quantile * row["floor_error"]
    high = _size(row["needed_high"]) if certain else "no end, for the floor may be above it"
    said.append(
        f"A loss of {target} takes {_size(row['needed'])} {unit}; in {percent_text(SHARE, 0)} of cases "
        f"{_size(row['needed_low'])} to {high}."
    )
    if row["needed"] > row["largest_size"]:
        said.append(
            f"That is {number_text(row['needed'] / row['largest_size'])} times the largest run: the range "
            "holds as far as the law does."
        )
    if "tokens" in row:
        said.append(f"For {document['model']} these are {_size(row['tokens'])} tokens, at 6 FLOP a weight.")
    return said
