"""Runs of different size with the loss that each reached: a CSV with a column of sizes and one of losses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from planner.inputs.catalogue import Catalogue
from planner.inputs.files import csv_rows, read_limited
from planner.performance.scaling import (
    NotFitted,
    PowerLaw,
    fit_power_law,
    size_for_loss,
    tokens_of_compute,
)
from planner.trace.errors import InputError
from planner.trace.numbers import number_text
from planner.trace.quantities import Fact

LARGEST = 2_000_000  # bytes of a table of runs
LOSS = ("loss", "ne", "perplexity", "error")
# Column -> what grows along it, by the names that people give it.
AXES = {
    "tokens": ("tokens", "data", "samples", "examples"),
    "compute": ("compute", "flop", "flops"),
    "parameters": ("parameters", "params", "size"),
}


@dataclass(frozen=True)
class ScalingRuns:
    """Sizes along one axis and the loss at each."""

    file: str
    axis: str
    sizes: NDArray[np.float64]
    losses: NDArray[np.float64]

    def law(self) -> PowerLaw:
        """The power law of these runs.

        Raises:
            InputError: none can be told from them.
        """
        try:
            return fit_power_law(sizes=self.sizes, losses=self.losses)
        except NotFitted as error:
            raise InputError(f"{self.file}: {error}") from None


def read_runs(path: Path, axis: str | None = None) -> ScalingRuns:
    """The runs of a CSV; `axis` says which column where it has several.

    Raises:
        InputError: it cannot be read, has no such columns, or a cell is no number above zero.
    """
    try:
        text = read_limited(path, most_bytes=LARGEST).decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8 text: save it as CSV in UTF-8") from None
    rows = [(line, row) for line, row in csv_rows(path.name, text.splitlines(), tight=True) if any(row)]
    if not rows:
        raise InputError(f"{path.name}: is empty: write a column of tokens, compute or parameters, and loss")
    header = [cell.strip().lower() for cell in rows[0][1]]
    loss = _column(path.name, header, {"loss": LOSS}, None)[1]
    found, at = _column(path.name, header, AXES, axis)
    numbers = [
        (_number(path.name, line, row, at), _number(path.name, line, row, loss)) for line, row in rows[1:]
    ]
    sizes, losses = np.array(numbers, dtype=np.float64).reshape(-1, 2).T
    return ScalingRuns(path.name, found, sizes, losses)


def active_parameters(catalogue: Catalogue, model: str) -> Fact:
    """Weights that a token of a model passes.

    Raises:
        InputError: the catalogue has no such model.
    """
    for key in (f"model.{model}.active_parameters", f"model.{model}.parameters"):
        if catalogue.has(key):
            return catalogue.fact(key)
    raise InputError(f"the catalogue has no model '{model}'; `everfleet models` lists them")


def tokens_for(path: Path, target: float, model: str, catalogue: Catalogue) -> float:
    """Tokens at which the runs of a file say that a model reaches a loss.

    Raises:
        InputError: the file is not understood, says nothing of tokens, or no number of tokens reaches it.
    """
    runs = read_runs(path)
    if runs.axis == "parameters":
        raise InputError(
            f"{runs.file}: tells loss by parameters: tokens follow from runs by tokens or compute"
        )
    law = runs.law()
    if target <= law.floor:
        raise InputError(
            f"{runs.file}: a loss of {target:g} is unreachable, below the floor c = "
            f"{number_text(law.floor)} of these runs: write a higher target"
        )
    size = size_for_loss(
        target_loss=target,
        scale_loss=law.scale,
        exponent=law.exponent,
        floor_loss=law.floor,
        reference=law.reference,
    )
    if runs.axis == "tokens":
        return float(size)
    return float(tokens_of_compute(flop=size, parameters=active_parameters(catalogue, model).value))


def _column(
    file: str, header: list[str], kinds: dict[str, tuple[str, ...]], wanted: str | None
) -> tuple[str, int]:
    """The kind and place of a column by the names that it may have."""
    there = {kind: header.index(name) for kind, names in kinds.items() for name in names if name in header}
    if wanted is not None and wanted in there:
        return wanted, there[wanted]
    if len(there) == 1 and wanted is None:
        return next(iter(there.items()))
    known = " or ".join(kinds[wanted] if wanted in kinds else [names[0] for names in kinds.values()])
    if there and wanted is None:
        raise InputError(f"{file}: has {' and '.join(there)}: say which by --axis {next(iter(there))}")
    raise InputError(f"{file}: has no column {known}: its header is {', '.join(header) or 'empty'}")


def _number(file: str, line: int, row: list[str], at: int) -> float:
    cell = row[at].strip() if at < len(row) else ""
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"{file}:{line}: '{cell[:40]}' is no number above zero")
    return value
