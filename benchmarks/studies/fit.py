"""Fits the constants of the training step again, and says how well they predict what they have not seen.

    python -m benchmarks.studies.fit                  on the rows of data/fit/training.csv
    python -m benchmarks.studies.fit --rows FILE      on other rows with the same columns
    python -m benchmarks.studies.fit --stacks         how far off each software of 2025 and 2026 is
    python -m benchmarks.studies.fit --generations    dense models by generation: as shipped, and left out

data/fit/constants.csv says which constants are free, on which rows each acts, what one would take without any
run (`start`), the factor that this may well be off by (`doubt`), and its bounds. Runs and expectations are
weighed together: an error of SOFT_ERROR counts as much as a constant that is off by its doubt, so that one
which few runs show stays near what one would expect. data/software.toml says what each stack does. The script
prints and changes nothing: a new value becomes a fact by hand, with its range.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from planner.inputs.loading import load_catalogue
from planner.inputs.software import stack_named, stacks
from planner.performance.bundles import step_bundles
from planner.performance.throughput import tokens_per_s_per_gpu
from planner.performance.training import training_step_s
from planner.physics.training_step import OUTSIDE_STEP
from planner.trace.units import convert_factor, unit_of
from planner.validation.aliases import catalogue_name
from planner.validation.forms import unbundled
from planner.validation.generations import generation_of
from planner.validation.performance import searched_model_rate, train_model
from planner.validation.software import sharding_stage, split_by_stack
from planner.validation.stated import RECOMPUTE
from planner.validation.steps import hardware, is_model_mixture, values

FOLDER = Path(__file__).resolve().parents[2] / "data" / "fit"
ROWS, CONSTANTS, STACKS = FOLDER / "training.csv", FOLDER / "constants.csv", FOLDER / "stacks.csv"
COLUMNS = ("source", "stack", "inputs", "expected")
SPELLED = {
    "gpus": "accelerators",
    "seq": "sequence_tokens",
    "vocab": "vocabulary",
    "vp": "interleave",
    "gated_mlp": "gated",
}
SHAPE = (
    "layers",
    "hidden",
    "heads",
    "kv_heads",
    "ffn",
    "gated",
    "vocabulary",
    "sequence_tokens",
    "accelerators",
    "global_batch",
    "tp",
    "pp",
    "interleave",
    "cp",
    "micro_batch",
)
SHARE_WITHIN = 0.10  # the share of rows within this error is told
SOFT_ERROR = 0.05  # beyond it an error weighs by its size, not its square: some rows hold what no term sees
AT_BOUND = 1e-3  # of the width between the bounds

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Constant:
    """A free constant: the argument it sets on the rows whose label matches, and where it may lie."""

    symbol: str
    argument: str
    acting: Mapping[str, tuple[str, ...]]
    start: float
    doubt_factor: float
    low: float
    high: float
    shipped: float
    stated_low: float
    stated_high: float

    def acts_on(self, labels: Mapping[str, str]) -> bool:
        return all(
            any(fnmatchcase(labels[label], pattern) for pattern in patterns)
            for label, patterns in self.acting.items()
        )


@dataclass(frozen=True, slots=True)
class Runs:
    """Measured runs as columns; `acting` says for each constant on which of them it acts."""

    publications: NDArray[np.str_]
    series: NDArray[np.str_]
    arguments: Mapping[str, Numbers]
    measured_tokens_per_s: Numbers
    acting: tuple[NDArray[np.bool_], ...]

    def only(self, kept: NDArray[np.bool_]) -> Runs:
        return Runs(
            self.publications[kept],
            self.series[kept],
            {name: column[kept] for name, column in self.arguments.items()},
            self.measured_tokens_per_s[kept],
            tuple(mask[kept] for mask in self.acting),
        )


def read_constants(path: Path = CONSTANTS) -> list[Constant]:
    with path.open(encoding="utf-8", newline="") as file:
        return [_constant(row) for row in csv.DictReader(file)]


def _constant(row: Mapping[str, str]) -> Constant:
    labels = (words.partition("=") for words in row["rows"].split(";"))
    start, doubt, low, high = (float(row[name]) for name in ("start", "doubt", "low", "high"))
    fact = load_catalogue().fact(row["fact"])
    if fact.low is None or fact.high is None:
        raise ValueError(f"{row['fact']}: a fitted constant is a fact with a range")
    factor = convert_factor(fact.unit, unit_of(row["argument"]))
    shipped, stated_low, stated_high = (factor * value for value in (fact.value, fact.low, fact.high))
    return Constant(
        row["symbol"],
        row["argument"],
        {label: tuple(words.split("|")) for label, _, words in labels},
        start,
        doubt,
        low,
        high,
        shipped,
        stated_low,
        stated_high,
    )


def read_runs(constants: Sequence[Constant], path: Path = ROWS) -> Runs:
    """Runs of a file.

    Raises:
        ValueError: a column is missing, or a row names software or a layout word that is not known.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    if missing := [name for name in COLUMNS if not rows or rows[0].get(name) is None]:
        raise ValueError(f"{path}: no row, or no column {', '.join(missing)}; wanted {', '.join(COLUMNS)}")
    if unknown := sorted({row["stack"] for row in rows} - stacks().keys()):
        raise ValueError(f"{path}: stack must be one of {', '.join(stacks())}, got {', '.join(unknown)}")
    stated = [json.loads(row["inputs"]) for row in rows]
    chips = [catalogue_name("accelerator", inputs["gpu"]) for inputs in stated]
    labels = [
        {"chip": chip, "stack": row["stack"], "dtype": inputs["dtype"], "sharding": inputs["dp_sharding"]}
        for chip, row, inputs in zip(chips, rows, stated, strict=True)
    ]
    each = [_arguments(inputs, which) for inputs, which in zip(stated, labels, strict=True)]
    return Runs(
        # The name of a publication ends where its venue, table or version begins.
        np.array([re.split(r"[,(]", row["source"])[0].strip() for row in rows]),
        np.array([f"{row['source']} {chip}" for row, chip in zip(rows, chips, strict=True)]),
        {name: np.array([row[name] for row in each]) for name in each[0]},
        np.array([float(row["expected"]) for row in rows]),
        tuple(np.array([free.acts_on(which) for which in labels]) for free in constants),
    )


def _arguments(inputs: Mapping[str, float | str], labels: Mapping[str, str]) -> dict[str, float]:
    """What the step is given for one run; the free constants are set over it."""
    spelled = {SPELLED.get(key, key): value for key, value in inputs.items()}
    recompute = RECOMPUTE[str(inputs["recompute"])]
    given = hardware(labels["chip"], labels["dtype"], labels["stack"])
    return {
        **{name: float(spelled[name]) for name in SHAPE},
        **values({name: node for name, node in given.items() if name not in OUTSIDE_STEP}),
        "sequence_parallel": float(split_by_stack(stack_named(labels["stack"]), recompute)),
        "recompute": float(recompute),
        "sharding": float(sharding_stage(str(inputs["dp_sharding"]), labels["stack"])),
    }


def stack_errors(path: Path = STACKS, *, layouts_only: bool = False) -> dict[str, Numbers]:
    """ln(modelled / measured) of each run of a file, by stack, of dense models and of mixtures of experts.

    On the layout that ran where it was printed, else on the planner's; `layouts_only` leaves the latter out.
    """
    found: dict[str, list[float]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            inputs = {SPELLED.get(key, key): value for key, value in json.loads(row["inputs"]).items()}
            inputs.pop("kind")
            if layouts_only and "tp" not in inputs:
                continue
            rate = (unbundled(train_model) if "tp" in inputs else searched_model_rate)(
                **inputs, software=row["stack"]
            )
            kind = "experts" if is_model_mixture(catalogue_name("model", inputs["model"])) else "dense"
            error = float(np.log(np.asarray(rate) / float(row["expected"])))
            found.setdefault(f"{row['stack']}, {kind}", []).append(error)
    return {name: np.array(errors) for name, errors in found.items()}


def without_each(errors: Numbers) -> Numbers:
    """What is left of each error where one factor, the geometric mean of all others, is taken off."""
    if errors.size < 2:
        return errors
    left: Numbers = errors - (errors.sum() - errors) / (errors.size - 1)
    return left


def stacks_text(errors: Mapping[str, Numbers]) -> str:
    """Shipped errors by stack, the factor that would remove them, and each run predicted from the others."""
    lines = [f"{'stack':<26}{'runs':>5}{'mean':>8}{'median':>8}{'factor':>8}{'left out':>10}{'worst':>8}"]
    for name, each in errors.items():
        mean, median, _ = spread(each)
        out = np.abs(np.expm1(without_each(each)))
        lines.append(
            f"{name:<26}{each.size:>5}{mean:>8.1%}{median:>8.1%}{np.exp(-each.mean()):>8.3f}"
            f"{np.median(out):>10.1%}{out.max():>8.1%}"
        )
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class OfGeneration:
    """Dense runs of one generation: publications, errors as shipped, and of each run left out."""

    publications: frozenset[str]
    shipped: Numbers
    left_out: Numbers


def generation_errors() -> dict[str, OfGeneration]:
    """Dense runs of both files by generation of their accelerators.

    Left out is a table on one accelerator of the fit, whose constants are fitted again on all others, or a
    run of a younger stack, which takes one factor from its stack's other runs.
    """
    constants = read_constants()
    runs = read_runs(constants, ROWS)
    shipped = log_errors(runs, constants, [free.shipped for free in constants])
    out = np.empty_like(shipped)
    for name, errors in left_out_errors(runs, constants, runs.series).items():
        out[runs.series == name] = errors
    found: dict[str, list[tuple[str, float, float]]] = {}
    for row, now, left in zip(_rows(ROWS), shipped, out, strict=True):
        generation = generation_of(json.loads(row["inputs"]))
        found.setdefault(generation, []).append((row["source"], float(now), float(left)))
    younger = stack_errors()
    left_of = {name: iter(without_each(each)) for name, each in younger.items()}
    now_of = {name: iter(each) for name, each in younger.items()}
    for row in _rows(STACKS):
        inputs = json.loads(row["inputs"])
        kind = "experts" if is_model_mixture(catalogue_name("model", inputs["model"])) else "dense"
        name = f"{row['stack']}, {kind}"
        one = row["source"], float(next(now_of[name])), float(next(left_of[name]))
        if kind == "dense":
            found.setdefault(generation_of(inputs), []).append(one)
    return {
        name: OfGeneration(
            frozenset(source.split(",")[0] for source, _, _ in rows),
            np.array([now for _, now, _ in rows]),
            np.array([left for _, _, left in rows]),
        )
        for name, rows in found.items()
    }


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def generations_text(found: Mapping[str, OfGeneration]) -> str:
    """Runs, publications, mean errors as shipped and left out, of dense models of each generation."""
    lines = [f"{'dense models':<14}{'runs':>6}{'sources':>9}{'mean':>8}{'left out':>10}{'worst':>8}"]
    for name, each in found.items():
        now, out = spread(each.shipped)[0], spread(each.left_out)[0]
        worst = np.abs(np.expm1(each.left_out)).max()
        lines.append(
            f"{name:<14}{each.shipped.size:>6}{len(each.publications):>9}{now:>8.1%}{out:>10.1%}{worst:>8.0%}"
        )
    return "\n".join(lines)


def log_errors(runs: Runs, constants: Sequence[Constant], values: Sequence[float] | Numbers) -> Numbers:
    """ln(modelled / measured) tokens per second of each run."""
    arguments = dict(runs.arguments)
    for free, mask, value in zip(constants, runs.acting, values, strict=True):
        arguments[free.argument] = np.where(mask, value, arguments[free.argument])
    modelled = tokens_per_s_per_gpu(
        global_batch=arguments["global_batch"],
        sequence_tokens=arguments["sequence_tokens"],
        step_s=training_step_s(**step_bundles(arguments)).total_s,
        accelerators=arguments["accelerators"],
    )
    return np.log(np.asarray(modelled) / runs.measured_tokens_per_s)


def fit(runs: Runs, constants: Sequence[Constant]) -> Numbers:
    """Constants that bring the logarithms of all rates closest without leaving what one would expect.

    A constant that acts on no run stays where it starts: what one would take without a run.
    """
    names = ("start", "doubt_factor", "low", "high")
    start, spread, low, high = (np.log([getattr(c, name) for c in constants]) for name in names)
    moved = np.array([bool(mask.any()) for mask in runs.acting])

    def values(logarithms: Numbers) -> Numbers:
        taken: Numbers = start.copy()
        taken[moved] = logarithms
        return np.exp(taken)

    def misses(logarithms: Numbers) -> Numbers:
        errors = _softened(log_errors(runs, constants, values(logarithms)) / SOFT_ERROR)
        return np.concatenate([errors, (logarithms - start[moved]) / spread[moved]])

    found = least_squares(misses, start[moved], bounds=(low[moved], high[moved]), xtol=1e-8, ftol=1e-8)
    return values(found.x)


def _softened(misses: Numbers) -> Numbers:
    """Roots of 2 (sqrt(1 + z^2) - 1): squares of small misses, lengths of large ones."""
    softened: Numbers = misses * np.sqrt(2.0 / (1.0 + np.sqrt(1.0 + misses**2)))
    return softened


def left_out_errors(
    runs: Runs, constants: Sequence[Constant], groups: NDArray[np.str_]
) -> dict[str, Numbers]:
    """For each group of runs, the logarithmic errors of constants fitted on all the others."""
    return {
        str(name): log_errors(runs.only(groups == name), constants, fit(runs.only(groups != name), constants))
        for name in dict.fromkeys(groups)
    }


def spread(errors: Numbers) -> tuple[float, float, float]:
    """Mean and median of the absolute relative errors, and the share of runs within 10 %."""
    sizes = np.abs(np.expm1(errors))
    return float(sizes.mean()), float(np.median(sizes)), float((sizes <= SHARE_WITHIN).mean())


def constants_text(constants: Sequence[Constant], fitted: Numbers) -> str:
    """Fitted next to shipped; which values their bound sets, and which contradict the stated range."""
    lines = [f"{'constant':<12}{'shipped':>10}{'stated range':>20}{'fitted':>10}"]
    for free, value in zip(constants, fitted, strict=True):
        near = AT_BOUND * (free.high - free.low)
        shown = "  on its bound" if min(value - free.low, free.high - value) < near else ""
        if not free.stated_low - near <= value <= free.stated_high + near:
            shown += "  beyond the stated range"
        stated = f"{free.stated_low:g} .. {free.stated_high:g}"
        lines.append(f"{free.symbol:<12}{free.shipped:>10.4g}{stated:>20}{value:>10.4g}{shown}")
    return "\n".join(lines)


def errors_text(named: Mapping[str, Numbers]) -> str:
    lines = [f"{'':<62}{'runs':>6}{'mean':>8}{'median':>8}{'in 10 %':>9}"]
    for name, errors in named.items():
        mean, median, within = spread(errors)
        lines.append(f"{_short(name):<62}{errors.size:>6}{mean:>8.1%}{median:>8.1%}{within:>9.0%}")
    return "\n".join(lines)


def _short(name: str) -> str:
    """A long name without its middle: table and accelerator stand last."""
    return name if len(name) <= 60 else f"{name[:24]} ... {name[-31:]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=Path, default=ROWS, help="runs to fit on, a CSV file")
    parser.add_argument("--stacks", action="store_true", help="errors of each training software instead")
    parser.add_argument("--generations", action="store_true", help="errors by generation instead")
    options = parser.parse_args()
    if options.generations:
        print(generations_text(generation_errors()))
        return
    if options.stacks:
        print(stacks_text(stack_errors()))
        return
    constants = read_constants()
    runs = read_runs(constants, options.rows)
    fitted = fit(runs, constants)
    shipped = [free.shipped for free in constants]
    series = left_out_errors(runs, constants, runs.series)
    publications = left_out_errors(runs, constants, runs.publications)
    totals = {
        "shipped constants": log_errors(runs, constants, shipped),
        "fitted constants": log_errors(runs, constants, fitted),
        "each table and accelerator left out in turn": np.concatenate(list(series.values())),
        "each publication left out in turn": np.concatenate(list(publications.values())),
    }
    print(constants_text(constants, fitted))
    for title, errors in (
        ("All runs", totals),
        ("A table on one accelerator, predicted from the rest", series),
        ("A publication, predicted from the rest", publications),
    ):
        print(f"\n{title}\n{errors_text(errors)}")


if __name__ == "__main__":
    main()
