"""Hardware to look at, calibrated where a measurement says so, and how far off its rates may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from planner.answers.throughput.equations import joint_error_fraction
from planner.inputs.catalogue import Catalogue
from planner.inputs.hardware_question import Question
from planner.inputs.resolved import Inputs
from planner.physics.precisions import FORMATS
from planner.physics.training_step import LAYOUT, calibration_key
from planner.trace.columns import Indices
from planner.trace.explain import Steps
from planner.trace.quantities import Fact, Traced, chosen, derive, pick
from planner.trace.records import is_number

Row = dict[str, object]
FITTED = "everfleet-training-fit"  # source of efficiencies that published throughput was fitted with
OUT_OF_SAMPLE = "performance.training.out_of_sample_error"
# Columns that no equation gives -> how their numbers were found.
LAID_OUT = "of the fastest layout that fits in memory"
FOUND = {
    "nodes": "a size that was looked at",
    "accelerators": "of a size that was looked at",
    "batch": "as requested, or the nearest that the accelerators divide",
    "memory_gb": f"what an accelerator holds {LAID_OUT}",
    **{name: LAID_OUT for name in (*LAYOUT, "dp")},
}


@dataclass(frozen=True)
class Setting:
    """The SKUs asked for, the catalogue behind them, and accelerators whose error a measurement sets."""

    question: Question
    inputs: Inputs
    calibrated: Mapping[str, Traced]

    @property
    def catalogue(self) -> Catalogue:
        """Where values come from."""
        return self.inputs.catalogue

    def fact(self, key: str) -> Fact:
        """A fact of the catalogue."""
        return self.inputs.fact(key)

    def calibration(self) -> Fact:
        """Measured rate over the modelled one of mixtures like the model asked about."""
        return self.fact(calibration_key(self.catalogue, self.question.model))

    def without_precision(self, sku: int) -> str:
        """Why a SKU cannot compute at the precision asked for; empty where it can."""
        chip, precision = self.inputs.skus[sku].accelerator, self.question.precision
        unit = FORMATS[precision].peak
        return "" if self.catalogue.has(f"accelerator.{chip}.{unit}_peak") else f"no {precision} units"


def every_size(setting: Setting, sizes: Sequence[int]) -> tuple[list[Row], Indices, Indices, Indices]:
    """A row for every SKU at every size, and of those with the precision: their row, SKU and nodes."""
    listed: list[Row] = []
    tried: list[tuple[int, int, int]] = []
    for k, sku in enumerate(setting.inputs.skus):
        each = int(setting.inputs.server("accelerators")[k].value)
        for nodes in sizes:
            row: Row = {"sku": sku.name, "nodes": nodes, "accelerators": nodes * each, "fits": False}
            if reason := setting.without_precision(k):
                row["reason"] = reason
            else:
                tried.append((len(listed), k, nodes))
            listed.append(row)
    place, sku_at, nodes_at = (np.array([one[i] for one in tried], dtype=np.intp) for i in range(3))
    return listed, place, sku_at, nodes_at


@dataclass(frozen=True)
class Table:
    """Rows of the answer; entry i of every column stands behind row `fitting[i]`."""

    unit: str
    rows: list[Row]
    fitting: list[int]
    columns: Mapping[str, Traced]
    about: Mapping[str, object]
    notes: list[str]

    def filled(self) -> Table:
        """The same with the values of the columns in the rows."""
        for name, column in self.columns.items():
            values = np.broadcast_to(np.asarray(column.value, dtype=float), (len(self.fitting),))
            for row, value in zip(self.fitting, values, strict=True):
                self.rows[row][name] = float(value)
        return self

    def cells(self, steps: Steps) -> list[dict[str, int]]:
        """Row by row, column -> the step of its number, which joins `steps`."""
        behind = {row: entry for entry, row in enumerate(self.fitting)}
        return [
            {
                name: steps.add(self.columns[name], behind[place])
                if place in behind and name in self.columns
                else steps.add(chosen(name, value, FOUND[name]))
                for name, value in row.items()
                if is_number(value)
            }
            for place, row in enumerate(self.rows)
        ]


def training_error(setting: Setting, sku: Indices, mixture: bool) -> Traced:
    """Error of a training rate, row by row: of the fit, of hardware outside it, of experts."""
    inputs = setting.inputs
    fits, chips = [], []
    for one in inputs.skus:
        measured = setting.calibrated.get(one.accelerator)
        fits.append(measured or worst(setting.fact(OUT_OF_SAMPLE), "the worst publication left out"))
        own = setting.fact(f"accelerator.{one.accelerator}.matrix_efficiency")
        outside = measured is None and own.source.name != FITTED
        spread = spread_fraction(own) if outside else 0.0
        reason = f"range of {own.key}, set without training runs" if outside else "within the fit's error"
        chips.append(chosen("hardware_error_fraction", spread, reason))
    expert = setting.calibration() if mixture else None
    model = chosen(
        "model_error_fraction",
        0.0 if expert is None else spread_fraction(expert),
        "the fit is of dense models" if expert is None else f"range of {expert.key}",
    )
    return derive(
        joint_error_fraction,
        fit_error_fraction=pick(fits, sku),
        hardware_error_fraction=pick(chips, sku),
        model_error_fraction=model,
    )


def worst(error: Fact, what: str) -> Traced:
    """The high end of an error that is a fact."""
    assert error.high is not None, "an error has a range"
    return chosen("fit_error_fraction", error.high, f"{what}: high end of {error.key}, {error.value:g}")


def ranged(rate: Traced, error: Traced) -> dict[str, Traced]:
    """A rate with its ends."""
    return {
        "rate_per_s": rate,
        "low_per_s": (rate / (1.0 + error)).named("least_per_s", "Low end of a rate"),
        "high_per_s": (rate * (1.0 + error)).named("most_per_s", "High end of a rate"),
        "error_fraction": error,
    }


def spread_fraction(fact: Fact) -> float:
    """The factor from a fact to the further end of its range, less one: results run over x/(1+e)..x(1+e)."""
    low, high = (fact.value if end is None else end for end in (fact.low, fact.high))
    return float(max(high / fact.value, fact.value / low) - 1.0)
