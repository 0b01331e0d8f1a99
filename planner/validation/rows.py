"""Reads rows of published values, sets ours next to them, and says how each one ended."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from planner.inputs.files import limited_lines, read_limited
from planner.inputs.loading import data_folder
from planner.performance.calibrate import median_error, worst_error
from planner.trace.errors import InputError
from planner.trace.quantities import Call, Derived, Traced, chosen, pick
from planner.trace.records import Record, stepped
from planner.trace.units import DIMENSIONLESS
from planner.validation.accuracy import (
    INSIDE,
    NOT_RUN,
    NOT_UNDERSTOOD,
    OUTSIDE,
    Accuracy,
    accuracy_tables,
    is_scored,
    mean_error,
    within_10_percent_fraction,
)
from planner.validation.datasets import NeedsData, looking_in, sibling_folders
from planner.validation.forms import NotUnderstood
from planner.validation.generations import generation_of
from planner.validation.nodes import with_cooling
from planner.validation.opening import error_of, published
from planner.validation.performance import MIXTURES, TRAINING
from planner.validation.registry import forms_of, traced
from planner.validation.software import with_software
from planner.validation.steps import names_mixture
from planner.validation.tolerance import ToleranceError, is_two_sided, parse_tolerance, relative_error

COLUMNS = ("id", "source", "inputs", "expected", "unit", "tolerance")
PLUMBING = "plumbing"  # first word of a note: the row is arithmetic on its own numbers
NO_MODEL = "kinds without a model"

_LARGEST_BYTES = 50_000_000


@dataclass(frozen=True, slots=True)
class Judged:
    """One row with our value next to the published one; `ours` and `error` are absent where none is.

    `cells` are those numbers with what they come from.
    """

    id: str
    source: str
    quantity: str
    expected: float | None
    ours: float | None
    unit: str
    error: float | None
    tolerance: str
    status: str
    note: str = ""
    subject: str = ""
    generation: str = ""
    plumbing: bool = False
    cells: Mapping[str, Traced] = field(default_factory=dict, compare=False)
    inputs: str = ""

    def document(self) -> dict[str, Any]:
        """The row for JSON."""
        names = (
            "id",
            "source",
            "quantity",
            "expected",
            "ours",
            "unit",
            "error",
            "tolerance",
            "status",
            "note",
            "subject",
            "generation",
            "plumbing",
            "inputs",
        )
        return {name: getattr(self, name) for name in names}


def validate(files: Sequence[Path] = (), data: Sequence[Path] = ()) -> dict[str, Any]:
    """Our values next to published ones: every row of the files, or of `data/published/` where none is named.

    Rows about a file that may not be shipped look for it in the folders `data` and next to their own file;
    where it is missing they are not run, and say so.

    Raises:
        InputError: a file cannot be read as such rows at all, or a folder does not exist.
    """
    if absent := [str(folder) for folder in data if not folder.is_dir()]:
        raise InputError(f"--data: no folder {', '.join(absent)}")
    paths = list(files) or sorted((data_folder() / "published").glob("*.csv"))
    judged: list[Judged] = []
    for path in paths:
        # Inputs of a stranger may overflow on the way to a value that is then refused.
        with looking_in([*data, *sibling_folders(path)]), np.errstate(all="ignore"):
            judged += [judge(row) for row in read_rows(path)]
    rows = [{**row.document(), **row.cells} for row in judged]
    return stepped({"everfleet_validation": 1, "rows": rows, "summary": summary(judged)})


def summary(rows: Sequence[Judged]) -> Record:
    """Counts by status, median and worst error of the rows that state a value, and the accuracy tables.

    Numbers are traced.
    """
    counts = {
        status: sum(row.status == status for row in rows)
        for status in (INSIDE, OUTSIDE, NOT_UNDERSTOOD, NOT_RUN)
    }
    errors = [row.cells["error"] for row in rows if _scored(row)]
    return {
        "rows": _counted("rows", len(rows), "all rows"),
        **{status: _counted("rows", count, f"rows that are {status}") for status, count in counts.items()},
        **{function.__name__: _of(function, errors) for function in (median_error, worst_error)},
        **accuracy_tables([{**row.document(), "cells": row.cells} for row in rows], _opened),
    }


COUNTS = {
    "rows": "rows that ran and are no arithmetic on their own numbers",
    "understood": "rows with a value of ours",
    "inside": "rows whose value of ours is within the tolerance",
    "scored": "rows that state a value and leave room around it",
}
ERRORS = (median_error, mean_error, within_10_percent_fraction, worst_error)


def _opened(one: Accuracy, rows: Sequence[Mapping[str, Any]]) -> Record:
    """The accuracy of a group, its errors from those of its rows."""
    errors = [row["cells"]["error"] for row in rows if is_scored(row)]
    counts = {name: _counted(name, getattr(one, name), said) for name, said in COUNTS.items()}
    found = {function.__name__: _of(function, errors) for function in ERRORS}
    return {"name": one.name, **counts, **found, "worst_id": one.worst_id}


def _counted(name: str, count: int, said: str) -> Traced:
    return chosen(name, count, said, "1")


def _of(function: Callable[..., float], errors: Sequence[Traced]) -> Traced | None:
    """A number of the errors of some rows; None where there are none."""
    if not errors:
        return None
    column = pick(errors, np.arange(len(errors)))
    value = function(error_fraction=column.value)
    return Derived(value, DIMENSIONLESS, call=Call(function, {"error_fraction": column}))


def _scored(row: Judged) -> bool:
    return row.error is not None and is_two_sided(row.tolerance) and not row.plumbing


def read_rows(path: Path) -> Iterator[dict[str, str]]:
    """Rows of a CSV file as texts; missing cells are empty.

    Raises:
        InputError: no such file, not a table, or a column is missing.
    """
    try:
        text = read_limited(path, most_bytes=_LARGEST_BYTES).decode("utf-8-sig")
        reader = csv.DictReader(limited_lines(path.name, io.StringIO(text, newline="")))
        missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
        if missing:
            raise InputError(
                f"{path}: no column {', '.join(missing)}; the first line must name id, source, inputs, "
                "expected, unit, tolerance and may name note"
            )
        rows = [{name: row.get(name) or "" for name in (*COLUMNS, "note")} for row in reader]
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start})") from error
    except csv.Error as error:
        raise InputError(f"{path}: not a CSV table: {error}") from error
    yield from rows


def judge(row: Mapping[str, str]) -> Judged:
    """One row, judged."""
    quantity, inputs = "", dict[str, Any]()
    expected: float | None = None
    try:
        quantity, inputs = _inputs(row["inputs"])
        expected = _expected(row["expected"])
        tolerance = parse_tolerance(row["tolerance"], expected=expected, unit=row["unit"])
        known = with_cooling(with_software(quantity, inputs, row["source"]), row["source"])
        opened, form = traced(quantity, known, row["unit"])
        ours = float(opened.value)
    except (NotUnderstood, ToleranceError) as error:
        judged = _judged(row, quantity, expected, NOT_UNDERSTOOD, note=str(error))
    except NeedsData as error:
        judged = _judged(row, quantity, expected, NOT_RUN, note=str(error))
    else:
        status = INSIDE if tolerance.holds(ours) else OUTSIDE
        judged = _judged(
            row, quantity, expected, status, ours=ours, note=tolerance.note, subject=form.subject
        )
        judged = replace(judged, cells={"ours": opened, "error": error_of(opened, published(row, expected))})
    return replace(
        judged,
        cells={**judged.cells, **({} if expected is None else {"expected": published(row, expected)})},
        subject=_parted(judged.subject or _subject(quantity), inputs),
        generation=generation_of(inputs),
        inputs=row["inputs"] if inputs else "{}",
        plumbing=row.get("note", "").lower().startswith(PLUMBING),
    )


def _subject(quantity: str) -> str:
    """Of a row without a value of ours: that of the models which might have answered."""
    try:
        return next((form.subject for form in forms_of(quantity)), NO_MODEL)
    except NotUnderstood:
        return NO_MODEL


def _parted(subject: str, inputs: Mapping[str, Any]) -> str:
    """Training of dense models and of mixtures apart: a mean over both says nothing about either."""
    return MIXTURES if subject == TRAINING and names_mixture(inputs) else subject


def _judged(
    row: Mapping[str, str],
    quantity: str,
    expected: float | None,
    status: str,
    *,
    ours: float | None = None,
    note: str = "",
    subject: str = "",
) -> Judged:
    error = None if ours is None or expected is None else relative_error(ours, expected)
    beyond = [name for name, value in (("ours", ours), ("the error", error)) if not _is_finite(value)]
    if beyond:  # JSON has no word for it: there it is null, and this says why
        note = "; ".join(filter(None, (note, f"{' and '.join(beyond)} is no finite number")))
        error = None
    return Judged(
        row["id"],
        row["source"],
        quantity,
        expected,
        ours,
        row["unit"],
        error,
        row["tolerance"],
        status,
        note,
        subject,
    )


def _is_finite(value: float | None) -> bool:
    return value is None or math.isfinite(value)


def _inputs(text: str) -> tuple[str, dict[str, Any]]:
    try:
        inputs = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise NotUnderstood(f"the inputs are not JSON: {error}") from error
    if not isinstance(inputs, dict):
        raise NotUnderstood("the inputs are not a JSON object")
    names = [key for key in ("quantity", "kind") if isinstance(inputs.get(key), str)]
    if len(names) != 1:
        raise NotUnderstood("the inputs must name one 'quantity' (or 'kind')")
    quantity: str = inputs.pop(names[0])
    return quantity, inputs


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number of JSON")


def _expected(text: str) -> float:
    try:
        value = float(text)
    except ValueError as error:
        raise NotUnderstood(f"the expected value '{text[:40]}' is not a number") from error
    if not math.isfinite(value):
        raise NotUnderstood(f"the expected value '{text[:40]}' is not finite")
    return value
