"""Fits the power law of accelerators again, says how well it predicts other models, and power at part load.

    python -m benchmarks.studies.fit_power

Runs of vLLM in the ML.ENERGY benchmark v3 (data/fit/serving.csv; mixtures in experts_power.csv,
images and films in images.csv): what a step reads, multiplies and exchanges is the engine's
(`average_step`), over the time that the step was measured to take, so that the law alone is fitted.
power_constants.csv next to the runs says where the search starts and its bounds. The script prints and
changes nothing.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from planner.inputs.loading import load_catalogue
from planner.inputs.model_kinds import is_film
from planner.performance.bundles import Limits, Measured, Requests
from planner.performance.capacity import average_step, replica_use, step_uses
from planner.performance.power import accelerator_power_kw, generation_power_kw, served_power_kw
from planner.physics.nodes import GENERATION_CURVE, TURN
from planner.physics.serving_power import SERVING_CURVE, law_of
from planner.validation.aliases import constant, constants
from planner.validation.recommendation import generation_uses
from planner.validation.serving import answer_scv, lengths, replica_of

FOLDER = Path(__file__).resolve().parents[2] / "data" / "fit"
ROWS, CONSTANTS = FOLDER / "serving.csv", FOLDER / "power_constants.csv"
IMAGES, EXPERTS = FOLDER / "images.csv", FOLDER / "experts_power.csv"
ENGINE = "vLLM (ML.ENERGY v3)"
STAGES = {
    "power-h100": "h100",
    "power-b200": "b200",
    "power-experts": "h100-experts",
    "power-scaled": "h100-scaled",
    "power-experts-b200": "b200-experts",
    "power-image-h100": "h100-image",
    "power-image": "b200-image",
}
DENSE = ("h100", "b200")
USES = ("memory_use_fraction", "compute_use_fraction", "exchange_fraction")
SOFT_ERROR = 0.05  # beyond it an error weighs by its size, not its square
TURNS = (3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0)
PRIOR = 0.05  # a coefficient twice its start costs as much as one run that is 5 % off

Numbers = NDArray[np.float64]
Row = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Runs:
    """Measured runs as columns: who ran, what the law is given, and what was measured."""

    families: NDArray[np.str_]
    series: NDArray[np.str_]
    use: Mapping[str, Numbers]
    power_kw: Numbers

    def only(self, kept: NDArray[np.bool_]) -> Runs:
        use = {name: column[kept] for name, column in self.use.items()}
        return Runs(self.families[kept], self.series[kept], use, self.power_kw[kept])


@dataclass(frozen=True, slots=True)
class Point:
    """Power of an accelerator at a measured rate: share of the largest measured rate, theirs, ours."""

    series: str
    rate_fraction: float
    measured_kw: float
    ours_kw: float


@cache
def measured_rows(path: Path = ROWS) -> tuple[Row, ...]:
    """Runs of the file."""
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def curve(row: Row) -> str:
    """The law that a run is of: mixtures have their own where one was measured."""
    return law_of(load_catalogue(), row["chip"].partition("-")[0], row["model"], row["weights"])


def curve_of(name: str) -> Mapping[str, str]:
    """Coefficients of a law by their names in the facts."""
    return GENERATION_CURVE if name.endswith("-image") else SERVING_CURVE


def series(row: Row) -> str:
    """Runs that differ in their batch alone."""
    return " ".join(row[name] for name in ("chip", "model", "weights", "accelerators"))


@cache
def _replica(model: str, chip: str, weights: str, accelerators: int, ep: int) -> dict[str, Any]:
    return replica_of(model, chip, weights, 1 if ep > 1 else accelerators, ep, ENGINE)


def _parts(row: Row) -> dict[str, Any]:
    return _replica(row["model"], row["chip"], row["weights"], int(row["accelerators"]), int(row["ep"]))


def _requests(row: Row) -> Requests:
    written = float(row["output_tokens"])
    return lengths(constant("validation.prompt_tokens", "tokens"), written, answer_scv(written))


def runs_of(name: str) -> Runs:
    """Runs of one law, at the time that their steps took."""
    if name.endswith("-image"):
        return _image_runs(name.partition("-")[0])
    path = ROWS if name in DENSE else EXPERTS
    rows = [row for row in measured_rows(path) if curve(row) == name]
    uses = []
    for row in rows:
        parts, batch = _parts(row), float(row["batch"])
        times = average_step(**parts, requests=_requests(row), running=batch)
        found = step_uses(times=times, chip=parts["chip"], step_s=batch / float(row["tokens_per_s"]))
        uses.append({key: float(np.squeeze(found[key])) for key in USES})
    columns = {key: np.array([use[key] for use in uses]) for key in USES}
    columns["tdp_kw"] = np.array([constant(f"accelerator.{row['chip']}.tdp", "tdp_kw") for row in rows])
    each_kw = np.array([float(row["power_w"]) / float(row["accelerators"]) / 1e3 for row in rows])
    return Runs(
        np.array([row["family"] for row in rows]), np.array([series(row) for row in rows]), columns, each_kw
    )


def _image_runs(chip: str) -> Runs:
    """Runs that made images or films, by every way to split each over its accelerators."""
    rows = [row for row in measured_rows(IMAGES) if row["chip"].startswith(f"{chip}-")]
    uses = []
    for row in rows:
        found = generation_uses(
            row["model"],
            row["chip"],
            int(row["accelerators"]),
            int(row["batch"]),
            float(row["latency_s"]),
        )
        uses.append(found)
    columns = {key: np.array([use[key] for use in uses]) for key in uses[0]}
    columns["tdp_kw"] = np.array([constant(f"accelerator.{row['chip']}.tdp", "tdp_kw") for row in rows])
    what = ["video" if is_film(load_catalogue(), row["model"]) else "image" for row in rows]
    held = [constant(f"performance.power.{chip}.{one}", "sustained_fraction") for one in what]
    columns["sustained_fraction"] = np.array(held)
    each_kw = np.array([float(row["power_w"]) / float(row["accelerators"]) / 1e3 for row in rows])
    columns["turn_exponent"] = np.full(len(rows), constant(TURN, "turn_exponent"))
    names = [row["model"] for row in rows]
    kept = [" ".join(row[name] for name in ("chip", "model", "accelerators")) for row in rows]
    return Runs(np.array(names), np.array(kept), columns, each_kw)


def errors(runs: Runs, law: Mapping[str, float]) -> Numbers:
    """ln(modelled / measured) power of one accelerator."""
    power = generation_power_kw if "sustained_fraction" in runs.use else accelerator_power_kw
    return np.log(np.asarray(power(**runs.use, **law)) / runs.power_kw)


def fit(runs: Runs, stage: str) -> dict[str, float]:
    """Coefficients that bring the logarithms closest, within their bounds and not far off without reason.

    min over c of sum_i rho(ln(P_i(c)/P_i) / 0.05) + sum_j rho(c_j/start_j - 1),  rho(z) = 2 sqrt(1 + z^2) - 2
    """
    with CONSTANTS.open(encoding="utf-8", newline="") as file:
        free = [row for row in csv.DictReader(file) if row["stage"] == stage]
    start, low, high = (np.array([float(row[name]) for row in free]) for name in ("start", "low", "high"))

    def named(ratios: Numbers) -> dict[str, float]:
        return {row["argument"]: float(v) for row, v in zip(free, ratios * start, strict=True)}

    def residuals(ratios: Numbers) -> Numbers:
        return np.concatenate([errors(runs, named(ratios)), PRIOR * (ratios - 1.0)])

    found = least_squares(
        residuals,
        np.ones(len(free)),
        bounds=(low / start, high / start),
        loss="soft_l1",
        f_scale=SOFT_ERROR,
    )
    return named(found.x)


def left_out(runs: Runs, stage: str) -> Numbers:
    """For each run, the error of coefficients fitted on all other models."""
    result = np.empty(runs.families.shape)
    for name in dict.fromkeys(runs.families):
        out = runs.families == name
        result[out] = errors(runs.only(out), fit(runs.only(~out), stage))
    return result


def one_point(runs: Runs, found: Numbers) -> Numbers:
    """For each pair of batches of a series, the error at one where the other set a factor."""
    first, second = np.nonzero(runs.series[:, None] == runs.series[None, :])
    other = first != second
    result: Numbers = found[second[other]] - found[first[other]]
    return result


def mean_error(found: Numbers) -> float:
    """Mean of the absolute relative errors."""
    return float(np.abs(np.expm1(found)).mean())


def turn_errors() -> dict[float, float]:
    """For each sharpness of the turn, the mean error on models left out, over all images and films."""
    runs = {stage: runs_of(name) for stage, name in STAGES.items() if name.endswith("-image")}
    found = {}
    for turn in TURNS:
        turned = {
            stage: replace(one, use={**one.use, "turn_exponent": np.full(one.power_kw.shape, turn)})
            for stage, one in runs.items()
        }
        out = [left_out(one, stage) for stage, one in turned.items()]
        found[turn] = mean_error(np.concatenate(out))
    return found


def part_load(name: str) -> list[Point]:
    """Power of one accelerator at each measured rate of a series, by the road of a plan.

    The replica's queue at that rate, each state's step at the engine's modelled speed, loaded idle between.
    """
    rows = [row for row in measured_rows() if series(row) == name]
    parts, top = _parts(rows[0]), max(float(row["tokens_per_s"]) for row in rows)
    chip = rows[0]["chip"]
    tdp_kw, idle_kw = (constant(f"accelerator.{chip}.{word}", "kw") for word in ("tdp", "loaded_idle_power"))
    limits = Limits(
        batch_limit=np.array([max(float(row["batch"]) for row in rows)]) / parts["layout"].dp,
        queue_places=np.array([constant("performance.serving.queue_places", "queue_places")]),
        chunk_tokens=np.array([constant("performance.engine.vllm-2025.chunk_tokens", "chunk_tokens")]),
    )
    points = []
    for row in rows:
        rate = float(row["tokens_per_s"])
        use = replica_use(
            **parts,
            requests=_requests(row),
            limits=limits,
            measured=Measured(),
            arrival_scv_ratio=np.ones(1),
            requests_per_s=np.array([rate / float(row["output_tokens"])]),
        )
        ours = served_power_kw(
            tdp_kw=tdp_kw,
            loaded_idle_kw=idle_kw,
            **{key: float(np.squeeze(getattr(use, key))) for key in use.__slots__},
            **constants(f"performance.power.{curve(row)}", SERVING_CURVE),
        )
        measured = float(row["power_w"]) / float(row["accelerators"]) / 1e3
        points.append(Point(name, rate / top, measured, float(ours)))
    return points


def stage_text(stage: str, name: str) -> str:
    runs, shipped = runs_of(name), constants(f"performance.power.{name}", curve_of(name))
    found, now = fit(runs, stage), errors(runs, shipped)
    lines = [f"{stage}: {len(runs.power_kw)} runs"]
    lines += [f"  {key:<22}{shipped[key]:>9.3f}{found[key]:>9.3f}" for key in found]
    for title, values in (
        ("shipped", now),
        ("fitted", errors(runs, found)),
        ("each model left out in turn", left_out(runs, stage)),
        ("one point to other batches", one_point(runs, now)),
    ):
        lines.append(f"  {title:<32}{mean_error(values):>8.1%}")
    return "\n".join(lines)


def turn_text() -> str:
    lines = [f"{TURN}: models left out in turn, images and films of both chips"]
    lines += [f"  {turn:<32g}{error:>8.2%}" for turn, error in turn_errors().items()]
    return "\n".join(lines)


def load_text(names: Sequence[str]) -> str:
    lines = ["part load: share of the largest rate, measured W, ours W"]
    for name in names:
        for one in part_load(name):
            error = one.ours_kw / one.measured_kw - 1.0
            watts = f"{1e3 * one.measured_kw:>7.0f}{1e3 * one.ours_kw:>7.0f}"
            lines.append(f"  {name:<46}{one.rate_fraction:>6.0%}{watts}{error:>+7.0%}")
    return "\n".join(lines)


def main() -> None:
    print("\n\n".join(stage_text(stage, name) for stage, name in STAGES.items()))
    print()
    print(turn_text())
    print()
    print(load_text(list(dict.fromkeys(series(row) for row in measured_rows()))))


if __name__ == "__main__":
    main()
