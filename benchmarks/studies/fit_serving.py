"""Fits the constants of the serving step and of the power law again; says how well they predict other models.

    python -m benchmarks.studies.fit_serving               on the runs of data/fit/serving.csv
    python -m benchmarks.studies.fit_serving --rows FILE   on other runs with the same columns

Runs of vLLM in the ML.ENERGY benchmark v3, read from its leaderboard; serving_constants.csv next to
them says which constants are free, in which stage, where the search starts (what one would take without any
run) and their bounds. A stage holds the constants of the step: dense models on H100 first, then the host of
B200, then experts, then power at the measured speed. The script prints and changes nothing.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from planner.inputs.catalogue import load_catalogue
from planner.performance import accelerator_power_kw, decode_step_s, output_tokens_per_s
from planner.trace.units import convert_factor, unit_of
from planner.validation.aliases import constant, constants
from planner.validation.serving import chip_arguments, served_arguments, step_uses

FOLDER = Path(__file__).resolve().parents[2] / "data" / "fit"
ROWS, CONSTANTS = FOLDER / "serving.csv", FOLDER / "serving_constants.csv"
COLUMNS = (
    "source",
    "chip",
    "model",
    "family",
    "weights",
    "accelerators",
    "ep",
    "batch",
    "output_tokens",
    "tokens_per_s",
    "power_w",
)
WITHIN = 0.10
SOFT_ERROR = 0.05  # beyond it an error weighs by its size, not its square: some runs hold what no term sees
PRIOR = 0.05  # a constant twice its start costs as much as one run that is 5 % off
SMALL = 20e9  # parameters below which one B200 waits for its host most of the time

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Constant:
    """A free constant: the argument that it sets in its stage, and where it may lie."""

    symbol: str
    stage: str
    argument: str
    start: float
    low: float
    high: float
    shipped: float
    stated_low: float
    stated_high: float


@dataclass(frozen=True, slots=True)
class Runs:
    """Measured runs as columns: who ran, what a step and the power law are given, what was measured."""

    families: NDArray[np.str_]
    chips: NDArray[np.str_]
    series: NDArray[np.str_]
    step: Mapping[str, Numbers]
    use: Mapping[str, Numbers]
    parameters: Numbers
    tokens_per_s: Numbers
    power_kw: Numbers

    def only(self, kept: NDArray[np.bool_]) -> Runs:
        return Runs(
            self.families[kept],
            self.chips[kept],
            self.series[kept],
            {name: column[kept] for name, column in self.step.items()},
            {name: column[kept] for name, column in self.use.items()},
            self.parameters[kept],
            self.tokens_per_s[kept],
            self.power_kw[kept],
        )


def read_constants(path: Path = CONSTANTS) -> list[Constant]:
    with path.open(encoding="utf-8", newline="") as file:
        return [_constant(row) for row in csv.DictReader(file)]


def _constant(row: Mapping[str, str]) -> Constant:
    fact = load_catalogue().fact(row["fact"])
    if fact.low is None or fact.high is None:
        raise ValueError(f"{row['fact']}: a fitted constant is a fact with a range")
    factor = convert_factor(fact.unit, unit_of(row["argument"]))
    start, low, high = (float(row[name]) for name in ("start", "low", "high"))
    shipped, stated_low, stated_high = (factor * value for value in (fact.value, fact.low, fact.high))
    return Constant(
        row["symbol"], row["stage"], row["argument"], start, low, high, shipped, stated_low, stated_high
    )


def read_runs(path: Path = ROWS) -> Runs:
    """Runs of a file.

    Raises:
        ValueError: a column is missing or there is no row.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    if missing := [name for name in COLUMNS if not rows or rows[0].get(name) is None]:
        raise ValueError(f"{path}: no row, or no column {', '.join(missing)}; wanted {', '.join(COLUMNS)}")
    steps = [_step(row) for row in rows]
    uses = [
        step_uses(step, step["batch"] / float(row["tokens_per_s"]), row["chip"])
        for step, row in zip(steps, rows, strict=True)
    ]
    return Runs(
        np.array([row["family"] for row in rows]),
        np.array([row["chip"] for row in rows]),
        np.array(
            [" ".join(row[name] for name in ("chip", "model", "weights", "accelerators")) for row in rows]
        ),
        {name: np.array([step[name] for step in steps]) for name in steps[0]},
        {
            "tdp_kw": np.array([constant(f"accelerator.{row['chip']}.tdp", "tdp_kw") for row in rows]),
            **{name: np.array([use[name] for use in uses]) for name in uses[0]},
        },
        np.array([constant(f"model.{row['model']}.parameters", "parameters") for row in rows]),
        np.array([float(row["tokens_per_s"]) for row in rows]),
        np.array([float(row["power_w"]) / float(row["accelerators"]) / 1e3 for row in rows]),
    )


def _step(row: Mapping[str, str]) -> dict[str, float]:
    """Arguments of the step, over which the fitted ones are set. With experts attention is repeated."""
    batch, answer, ep = (float(row[name]) for name in ("batch", "output_tokens", "ep"))
    prompt = constant("validation.prompt_tokens", "input_tokens")
    spread = constant("validation.answer_scv", "scv_ratio")
    return {
        **constants("performance.serving", {"link_latency_s": "link_latency", "ring_factor": "ring_factor"}),
        **served_arguments(f"model.{row['model']}", batch),
        **chip_arguments(row["chip"], row["weights"]),
        "batch": batch,
        "prefill_tokens": batch * prompt / answer,
        "context_tokens": prompt + answer * (1.0 + spread) / 2.0,
        "tp": 1.0 if ep > 1 else float(row["accelerators"]),
        "ep": ep,
    }


def rate_errors(runs: Runs, values: Mapping[str, float]) -> Numbers:
    """ln(modelled / measured) tokens a second of each run."""
    arguments: dict[str, Numbers | float] = {**runs.step, **values}
    step_s = np.asarray(decode_step_s(**arguments))
    modelled = np.asarray(output_tokens_per_s(batch=runs.step["batch"], step_s=step_s))
    return np.log(modelled / runs.tokens_per_s)


def power_errors(runs: Runs, values: Mapping[str, float]) -> Numbers:
    """ln(modelled / measured) power of one accelerator, at the measured speed."""
    return np.log(np.asarray(accelerator_power_kw(**runs.use, **values)) / runs.power_kw)


Errors = Callable[[Runs, Mapping[str, float]], Numbers]


def fit(runs: Runs, free: Sequence[Constant], held: Mapping[str, float], errors: Errors) -> dict[str, float]:
    """Constants that bring the logarithms closest, within their bounds and not far off without reason.

    min over k of sum_i rho(ln(X_i(k)/X_i) / 0.05) + sum_j rho(k_j/start_j - 1),  rho(z) = 2 sqrt(1 + z^2) - 2
    """
    start, low, high = (np.array([getattr(c, name) for c in free]) for name in ("start", "low", "high"))

    def named(ratios: Numbers) -> dict[str, float]:
        moved = {c.argument: value for c, value in zip(free, ratios * start, strict=True)}
        return {**held, **moved}

    def distances(ratios: Numbers) -> Numbers:
        return np.concatenate([errors(runs, named(ratios)), PRIOR * (ratios - 1.0)])

    found = least_squares(
        distances, np.ones(len(free)), bounds=(low / start, high / start), loss="soft_l1", f_scale=SOFT_ERROR
    )
    return named(found.x)


def left_out_errors(
    runs: Runs, free: Sequence[Constant], held: Mapping[str, float], errors: Errors
) -> Numbers:
    """For each run, the error of constants fitted on all other models."""
    result = np.empty(runs.families.shape)
    for name in dict.fromkeys(runs.families):
        out = runs.families == name
        result[out] = errors(runs.only(out), fit(runs.only(~out), free, held, errors))
    return result


@dataclass(frozen=True, slots=True)
class Stage:
    """What one stage fits, and its errors: of the shipped constants, fitted, and with each model left out."""

    name: str
    free: Sequence[Constant]
    fitted: Mapping[str, float]
    runs: Runs
    shipped_errors: Numbers
    fitted_errors: Numbers
    left_out: Numbers


def fit_stages(runs: Runs, constants: Sequence[Constant]) -> list[Stage]:
    """Stages in order, each on its runs."""
    hopper, b200 = (np.char.startswith(runs.chips, word) for word in ("h100", "b200"))
    experts = runs.step["touched_expert_parameters"] > 0
    none = {c.argument: 0.0 for c in constants if c.stage == "experts"}
    shipped = {c.argument: c.shipped for c in constants if c.stage == "step"} | none
    step = _stage("step", runs.only(hopper & ~experts), constants, none, shipped, rate_errors)
    held = dict(step.fitted)
    return [
        step,
        _stage("b200", runs.only(b200 & ~experts), constants, held, shipped, rate_errors),
        _stage("experts", runs.only(hopper & experts), constants, held, shipped, rate_errors),
        _stage("power-h100", runs.only(hopper & ~experts), constants, {}, {}, power_errors),
        _stage("power-b200", runs.only(b200 & ~experts), constants, {}, {}, power_errors),
        _stage("power-experts", runs.only(hopper & experts), constants, {}, {}, power_errors),
    ]


def _stage(
    name: str,
    runs: Runs,
    constants: Sequence[Constant],
    held: Mapping[str, float],
    shipped: Mapping[str, float],
    errors: Errors,
) -> Stage:
    free = [c for c in constants if c.stage == name]
    fitted = fit(runs, free, held, errors)
    return Stage(
        name,
        free,
        fitted,
        runs,
        errors(runs, {**shipped, **{c.argument: c.shipped for c in free}}),
        errors(runs, fitted),
        left_out_errors(runs, free, held, errors),
    )


def one_point_errors(runs: Runs, errors: Numbers) -> Numbers:
    """For each pair of batches of a series, the error at one where the other set a factor."""
    first, second = np.nonzero(runs.series[:, None] == runs.series[None, :])
    other = first != second
    result: Numbers = errors[second[other]] - errors[first[other]]
    return result


def spread(errors: Numbers) -> tuple[float, float, float]:
    """Mean and median of the absolute relative errors, and the share of runs within 10 %."""
    sizes = np.abs(np.expm1(errors))
    return float(sizes.mean()), float(np.median(sizes)), float((sizes <= WITHIN).mean())


def regimes(stage: Stage) -> dict[str, NDArray[np.bool_]]:
    """Runs of a stage that are distinguished: small models on B200 wait for the host, the others hardly."""
    every = {"all": np.ones(stage.runs.families.shape, dtype=bool)}
    if stage.name != "b200":
        return every
    small = stage.runs.parameters < SMALL
    return every | {"below 20 B": small, "larger": ~small}


def stage_text(stage: Stage) -> str:
    lines = [f"{stage.name}", f"  {'constant':<10}{'shipped':>11}{'stated range':>22}{'fitted':>11}"]
    for c in stage.free:
        stated = f"{c.stated_low:.3g} .. {c.stated_high:.3g}"
        lines.append(f"  {c.symbol:<10}{c.shipped:>11.4g}{stated:>22}{stage.fitted[c.argument]:>11.4g}")
    lines.append(f"  {'':<49}{'runs':>6}{'mean':>8}{'median':>8}{'in 10 %':>9}")
    for name, kept in regimes(stage).items():
        for title, errors in (
            ("shipped", stage.shipped_errors),
            ("fitted", stage.fitted_errors),
            ("each model left out in turn", stage.left_out),
            (
                "one point to other batches",
                one_point_errors(stage.runs.only(kept), stage.shipped_errors[kept]),
            ),
        ):
            of = errors if title.startswith("one point") else errors[kept]
            mean, median, within = spread(of)
            told = title if name == "all" else f"{title}, {name}"
            lines.append(f"  {told:<49}{of.size:>6}{mean:>8.1%}{median:>8.1%}{within:>9.0%}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=Path, default=ROWS, help="runs to fit on, a CSV file")
    stages = fit_stages(read_runs(parser.parse_args().rows), read_constants())
    print("\n\n".join(stage_text(stage) for stage in stages))


if __name__ == "__main__":
    main()
