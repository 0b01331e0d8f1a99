"""Fits what engines spend around the kernels again; says how well that predicts other models and chips.

    python -m benchmarks.studies.fit_serving

A set is one engine on the points that tell its constants: rates of today's engines as aiconfigurator gives
them (serving_points.csv), and runs of an engine of 2025 in the ML.ENERGY benchmark v3 (serving.csv), both in
data/fit/. engine_constants.csv says which constants are free in which set, what one would take without any
point, how far off that may be, and bounds; the others keep their facts. Rates of full systems without a
stated batch take no part in a fit: they are held back and only compared. Kernels and links are facts of an
accelerator, which nothing here moves. The script prints and changes nothing.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from planner.inputs.loading import load_catalogue
from planner.inputs.resolved import Inputs
from planner.performance.bundles import Requests
from planner.performance.capacity import average_step
from planner.performance.engine import (
    Chip,
    Engine,
    ReplicaLayout,
    StepTimes,
    Transformer,
    rows_of,
    with_values,
)
from planner.physics.engines import (
    ATTENTION,
    engine_constants,
    has_one_scale,
    kernel_keys,
    limits,
    served_chip,
)
from planner.physics.links import replica_layout
from planner.physics.measured_serving import MODERATE
from planner.physics.requests import inputs_of
from planner.physics.served_models import served_model
from planner.physics.serving_options import stacked
from planner.trace.quantities import chosen
from planner.trace.units import convert_factor, unit_of
from planner.validation.aliases import constant
from planner.validation.benchmark_runs import held_requests
from planner.validation.filed_engines import MLPERF
from planner.validation.serving import replica_of

PEER = "nvidia-aiconfigurator-2026"  # of whose rates groups that share experts are in balance
FOLDER = Path(__file__).resolve().parents[2] / "data" / "fit"
RUNS, POINTS, CONSTANTS = (
    FOLDER / f"{name}.csv" for name in ("serving", "serving_points", "engine_constants")
)
RUN_COLUMNS = (
    "source",
    "chip",
    "model",
    "weights",
    "accelerators",
    "ep",
    "batch",
    "output_tokens",
    "tokens_per_s",
)
POINT_COLUMNS = (
    "source",
    "engine",
    "sku",
    "model",
    "precision",
    "cache",
    "tp",
    "dp",
    "batch",
    "input_tokens",
    "output_tokens",
    "requests_per_s",
)
YEAR_OLD = "vllm-2025"  # engine of the runs
RUN_SKUS = {"h100-sxm-80gb": "h100-8", "b200-sxm-180gb": "b200-8"}
WITHIN = 0.25
LEAST = 4  # points that tell an error
SOFT_ERROR = 0.08  # beyond it an error weighs by its size, not its square: some points hold what no term sees
PRIOR = 0.1  # a constant one width off its start costs as much as one point in fifty that is 10 % off

Numbers = NDArray[np.float64]
Labels = NDArray[np.str_]


@dataclass(frozen=True, slots=True)
class Constant:
    """A free constant of a set: where it is looked for, and what the facts hold."""

    set: str
    argument: str
    start: float
    width: float
    low: float
    high: float
    shipped: float
    stated_low: float
    stated_high: float


@dataclass(frozen=True, slots=True)
class Points:
    """Served runs: labels, what a step of each is made of with the shipped constants, and its rate."""

    labels: Mapping[str, Labels]
    model: Transformer
    chip: Chip
    engine: Engine
    layout: ReplicaLayout
    requests: Requests
    running: Numbers
    chunk_tokens: Numbers
    requests_per_s: Numbers

    @property
    def count(self) -> int:
        return len(self.running)

    def only(self, kept: NDArray[np.bool_] | slice) -> Points:
        return Points(
            {name: column[kept] for name, column in self.labels.items()},
            rows_of(self.model, kept),
            rows_of(self.chip, kept),
            rows_of(self.engine, kept),
            rows_of(self.layout, kept),
            rows_of(self.requests, kept),
            self.running[kept],
            self.chunk_tokens[kept],
            self.requests_per_s[kept],
        )


def read_constants(path: Path = CONSTANTS) -> list[Constant]:
    with path.open(encoding="utf-8", newline="") as file:
        return [_constant(row) for row in csv.DictReader(file)]


def _constant(row: Mapping[str, str]) -> Constant:
    fact = load_catalogue().fact(row["fact"])
    if fact.low is None or fact.high is None:
        raise ValueError(f"{row['fact']}: a fitted constant is a fact with a range")
    factor = convert_factor(fact.unit, unit_of(row["argument"]))
    start, width, low, high = (float(row[name]) for name in ("start", "width", "low", "high"))
    shipped, stated_low, stated_high = (factor * value for value in (fact.value, fact.low, fact.high))
    return Constant(row["set"], row["argument"], start, width, low, high, shipped, stated_low, stated_high)


def read_table(path: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    """Rows of a file.

    Raises:
        ValueError: a column is missing or there is no row.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    if missing := [name for name in columns if not rows or rows[0].get(name) is None]:
        raise ValueError(f"{path}: no row, or no column {', '.join(missing)}; wanted {', '.join(columns)}")
    return rows


def read_points(path: Path = POINTS) -> Points:
    """Rates of today's engines; a row without a batch is full, as far as memory goes."""
    return points_of(read_table(path, POINT_COLUMNS))


def read_runs(path: Path = RUNS) -> Points:
    """Runs of the benchmark as points: chats whose answers spread, groups where experts are spread."""
    rows = []
    for row in read_table(path, RUN_COLUMNS):
        answer, groups = float(row["output_tokens"]), int(row["ep"])
        rows.append(
            {
                "source": row["source"],
                "engine": YEAR_OLD,
                "sku": RUN_SKUS[row["chip"]],
                "model": row["model"],
                "precision": row["weights"],
                "cache": "bf16",
                "tp": "1" if groups > 1 else row["accelerators"],
                "dp": str(max(groups, 1)),
                "batch": row["batch"],
                "input_tokens": str(constant("validation.prompt_tokens", "input_tokens")),
                "output_tokens": row["output_tokens"],
                "requests_per_s": str(float(row["tokens_per_s"]) / answer),
            }
        )
    return points_of(rows, spread=constant("validation.answer_scv", "scv_ratio"))


@cache
def _inputs() -> Inputs:
    return inputs_of(load_catalogue(), ())


def points_of(rows: Sequence[Mapping[str, str]], spread: float = 0.0, *, measured: bool = True) -> Points:
    """Rows as columns, each put together by the road of a plan; or as if nobody had measured kernels."""
    inputs, place = _inputs(), {one.name: k for k, one in enumerate(_inputs().skus)}
    sku = np.array([place[row["sku"]] for row in rows], dtype=np.intp)
    each, engines = np.arange(len(rows)), [row["engine"] for row in rows]
    tp, dp = (
        chosen(name, np.array([float(row[name]) for row in rows]), "as stated") for name in ("tp", "dp")
    )
    chips = [inputs.skus[k].accelerator for k in sku]
    models = [served_model(inputs, row["model"], row["precision"], _cached(row)) for row in rows]
    scales = [has_one_scale(inputs, row["model"], row["engine"]) for row in rows]
    each_row = list(zip(chips, rows, scales, strict=True))
    kernels = [
        served_chip(inputs, chip, row["precision"], engine=row["engine"], one_scale=one)
        for chip, row, one in each_row
    ]
    if not measured:
        kernels = [
            _assumed(inputs, own, row["precision"], one)
            for own, (_, row, one) in zip(kernels, each_row, strict=True)
        ]
    one = np.ones((len(rows), 1))
    bounds = limits(inputs, engines, sku, chosen("batch_limit", 1.0, "as stated"))
    prompt, answer, rate = (
        np.array([float(row[name]) for row in rows])
        for name in ("input_tokens", "output_tokens", "requests_per_s")
    )
    labels = {name: [row[name] for row in rows] for name in ("engine", "sku", "model", "precision")} | {
        "accelerator": chips,
        "lengths": [f"{float(r['input_tokens']):.0f}/{float(r['output_tokens']):.0f}" for r in rows],
        "layout": [f"tp{row['tp']} x {row['dp']}" for row in rows],
        "kind": ["mixture" if np.any(m.routed_parameters.value > 0) else "dense" for m in models],
        "batch": ["stated" if row["batch"] else "full" for row in rows],
    }
    return Points(
        {name: np.array(column) for name, column in labels.items()},
        with_values(stacked(models, each)),
        with_values(stacked(kernels, each)),
        _balanced_where_the_peer_asks(with_values(engine_constants(inputs, engines, sku)), rows),
        with_values(replica_layout(inputs, sku, tp, dp)),
        Requests(
            input_tokens=prompt,
            output_tokens=answer,
            share_fraction=one,
            input_ratio=one,
            output_ratio=one,
            output_scv_ratio=spread * one,
        ),
        np.array([_running(row, chip) for row, chip in zip(rows, chips, strict=True)]),
        np.broadcast_to(np.asarray(bounds.chunk_tokens.value, dtype=np.float64), rate.shape).copy(),
        rate,
    )


def _balanced_where_the_peer_asks(engine: Engine, rows: Sequence[Mapping[str, str]]) -> Engine:
    """Engines whose groups all read as much in each step where the peer says the rate: it takes them so."""
    waits = np.broadcast_to(np.asarray(engine.group_wait_fraction, dtype=np.float64), (len(rows),))
    of_peer = np.array([row["source"] == PEER for row in rows])
    return replace(engine, group_wait_fraction=np.where(of_peer, 0.0, waits))


def _assumed(inputs: Inputs, chip: Chip, precision: str, one_scale: bool) -> Chip:
    """An accelerator with kernels as they are assumed where nobody measured them."""
    own = kernel_keys(precision, one_scale=one_scale)
    common = {**ATTENTION, "half_matrix_fraction": "matrix_share@bf16"}
    assumed: dict[str, Any] = {
        name: inputs.fact(f"kernel.prior.{key}") for name, key in {**own, **common}.items()
    }
    return replace(chip, **assumed)


def _cached(row: Mapping[str, str]) -> str | None:
    return None if row["cache"] == "bf16" else row["cache"]


def _running(row: Mapping[str, str], chip: str) -> float:
    """Requests that run in all: as stated, or as many as the memory holds."""
    if row["batch"]:
        return float(row["batch"])
    tp, dp = int(row["tp"]), int(row["dp"])
    parts = replica_of(row["model"], chip, row["precision"], tp, tp * dp, row["engine"], _cached(row))
    context = float(row["input_tokens"]) + float(row["output_tokens"])
    return dp * held_requests(parts, chip, context, MLPERF)


def steps_of(points: Points, values: Mapping[str, float]) -> StepTimes:
    """Mean step of each point, with some constants of its engine set anew."""
    same: dict[str, Any] = {name: value * np.ones(points.count) for name, value in values.items()}
    return average_step(
        model=points.model,
        chip=points.chip,
        engine=replace(points.engine, **same),
        layout=points.layout,
        requests=points.requests,
        running=points.running,
        chunk_tokens=points.chunk_tokens,
    )


def rate_errors(points: Points, values: Mapping[str, float]) -> Numbers:
    """ln(modelled / stated) requests a second of each point."""
    step_s = np.asarray(steps_of(points, values).total_s)
    result: Numbers = np.log(
        points.running / (np.asarray(points.requests.output_tokens) * step_s) / points.requests_per_s
    )
    return result


def fit(points: Points, free: Sequence[Constant]) -> dict[str, float]:
    """Constants that bring the logarithms closest, within their bounds and not far off without reason.

    min over k of sum_i rho(ln(X_i(k)/X_i) / 0.08) + sum_j rho(0.1 sqrt(n/50) (k_j - k_j0)/w_j / 0.08),
    rho(z) = 2 sqrt(1 + z^2) - 2
    """
    start, width, low, high = (
        np.array([getattr(c, name) for c in free]) for name in ("start", "width", "low", "high")
    )
    weight = PRIOR * np.sqrt(points.count / 50.0)

    def named(widths: Numbers) -> dict[str, float]:
        return {c.argument: float(v) for c, v in zip(free, start + widths * width, strict=True)}

    def distances(widths: Numbers) -> Numbers:
        return np.concatenate([rate_errors(points, named(widths)), weight * widths])

    found = least_squares(
        distances,
        np.zeros(len(free)),
        bounds=((low - start) / width, (high - start) / width),
        loss="soft_l1",
        f_scale=SOFT_ERROR,
    )
    return named(found.x)


def left_out_errors(points: Points, free: Sequence[Constant], label: str) -> Numbers:
    """For each point, the error of constants fitted on those with another label."""
    result = np.empty(points.count)
    for name in dict.fromkeys(points.labels[label]):
        out = points.labels[label] == name
        if out.all():
            raise ValueError(f"all points have the {label} {name}: there is none to fit on")
        result[out] = rate_errors(points.only(out), fit(points.only(~out), free))
    return result


@dataclass(frozen=True, slots=True)
class Set:
    """What one set fits, and its errors: shipped, fitted, with each model and each chip left out."""

    name: str
    free: Sequence[Constant]
    points: Points
    fitted: Mapping[str, float]
    errors: Mapping[str, Numbers]


SHIPPED, FITTED, NO_MODEL, NO_CHIP = "shipped", "fitted", "each model left out", "each chip left out"


def _chosen_points(points: Points, name: str) -> NDArray[np.bool_]:
    """Points of a set."""
    engine, sku, kind = (points.labels[label] for label in ("engine", "sku", "kind"))
    stated = points.labels["batch"] == "stated"
    own: Callable[[], NDArray[np.bool_]] = {
        YEAR_OLD: lambda: (sku == "h100-8") & (kind == "dense"),
        f"{YEAR_OLD} on B200": lambda: (sku == "b200-8") & (kind == "dense"),
        f"{YEAR_OLD} with experts": lambda: (sku == "h100-8") & (kind == "mixture"),
    }.get(name, lambda: np.ones(points.count, dtype=bool))
    result: NDArray[np.bool_] = (engine == name.split(" ")[0]) & stated & own()
    return result


def fit_set(name: str, constants: Sequence[Constant], points: Points) -> Set:
    """One set, fitted on its points."""
    free, chosen_points = [c for c in constants if c.set == name], points.only(_chosen_points(points, name))
    fitted = fit(chosen_points, free)
    errors = {
        SHIPPED: rate_errors(chosen_points, {}),
        FITTED: rate_errors(chosen_points, fitted),
        NO_MODEL: left_out_errors(chosen_points, free, "model"),
    }
    if len(set(chosen_points.labels["accelerator"])) > 1:
        errors[NO_CHIP] = left_out_errors(chosen_points, free, "accelerator")
    return Set(name, free, chosen_points, fitted, errors)


def fit_sets(constants: Sequence[Constant]) -> list[Set]:
    """All sets in the order of the file."""
    today, old = read_points(), read_runs()
    return [
        fit_set(name, constants, old if name.startswith(YEAR_OLD) else today)
        for name in dict.fromkeys(c.set for c in constants)
    ]


def held_back() -> tuple[Points, Numbers]:
    """Full systems, which no set sees, and the errors of the shipped constants."""
    points = read_points()
    full = points.only(points.labels["batch"] == "full")
    return full, rate_errors(full, {})


def assumed_errors() -> Numbers:
    """Errors of the shipped constants on accelerators as if nobody had measured their kernels."""
    points = points_of(read_table(POINTS, POINT_COLUMNS), measured=False)
    return rate_errors(points, {})


def one_point_errors(points: Points, errors: Numbers) -> Numbers:
    """For each pair of batches of a series, the error at one where the other set a factor."""
    labels = ("accelerator", "model", "precision", "layout")
    series = np.array([" ".join(row) for row in zip(*(points.labels[name] for name in labels), strict=True)])
    first, second = np.nonzero(series[:, None] == series[None, :])
    other = first != second
    result: Numbers = errors[second[other]] - errors[first[other]]
    return result


def spread(errors: Numbers) -> tuple[float, float, float]:
    """Mean and median of the absolute relative errors, and the share of points within 25 %."""
    sizes = np.abs(np.expm1(errors))
    return float(sizes.mean()), float(np.median(sizes)), float((np.abs(errors) <= np.log1p(WITHIN)).mean())


@dataclass(frozen=True, slots=True)
class ErrorFact:
    """Error of rates on models that a fit did not see: median, quarter and nine tenths of the points."""

    key: str
    median: float
    low: float
    high: float
    count: int


def error_facts(sets: Sequence[Set]) -> list[ErrorFact]:
    """Errors on models left out and on full systems by accelerator, and after one measured batch."""
    full, full_errors = held_back()
    parts = [(one.points, one.errors[NO_MODEL]) for one in sets] + [(full, full_errors)]
    chip, kind = (
        np.concatenate([points.labels[label] for points, _ in parts]) for label in ("accelerator", "kind")
    )
    errors = np.concatenate([errors for _, errors in parts])
    room = "performance.serving."
    found = []
    for title, mixture in (("", False), ("-experts", True)):
        for name in sorted(set(chip)):
            kept = errors[(chip == name) & ((kind == "mixture") == mixture)]
            if len(kept) >= LEAST:
                found.append(_error_fact(f"{room}rate_error@{name}{title}", kept))
    found.append(_error_fact(f"{room}other_hardware_error", assumed_errors()))
    by_name = {one.name: one for one in sets}
    b200 = by_name[f"{YEAR_OLD} on B200"]
    small = b200.points.model.parameters < MODERATE
    for title, one, kept in (
        ("", by_name[YEAR_OLD], slice(None)),
        ("@experts", by_name[f"{YEAR_OLD} with experts"], slice(None)),
        ("@b200", b200, ~small),
        ("@b200-small", b200, small),
    ):
        own = one_point_errors(one.points.only(kept), one.errors[SHIPPED][kept])
        found.append(_error_fact(f"{room}calibrated_error{title}", own))
    return found


def _error_fact(key: str, errors: Numbers) -> ErrorFact:
    sizes = np.abs(np.expm1(errors))
    low, median, high = (float(value) for value in np.quantile(sizes, (0.25, 0.5, 0.9)))
    return ErrorFact(key, median, low, high, len(sizes))


def table(points: Points, errors: Numbers, label: str) -> list[str]:
    """Errors by a label."""
    lines = []
    for name in sorted(set(points.labels[label])):
        own = errors[points.labels[label] == name]
        mean, _, within = spread(own)
        lines.append(
            f"    {name:<24}{own.size:>6}{np.exp(np.median(own)):>8.2f}{mean:>8.1%}{within:>9.0%}"
            f"{np.exp(own.min()):>8.2f}{np.exp(own.max()):>7.2f}"
        )
    return lines


HEAD = f"    {'':<24}{'points':>6}{'median':>8}{'error':>8}{'in 25 %':>9}{'least':>8}{'most':>7}"


def set_text(one: Set) -> str:
    lines = [one.name, f"  {'constant':<22}{'start':>11}{'shipped':>11}{'stated range':>24}{'fitted':>11}"]
    for c in one.free:
        stated = f"{c.stated_low:.3g} .. {c.stated_high:.3g}"
        fitted = one.fitted[c.argument]
        lines.append(f"  {c.argument:<22}{c.start:>11.4g}{c.shipped:>11.4g}{stated:>24}{fitted:>11.4g}")
    lines.append(f"  {'':<24}{'points':>8}{'mean':>8}{'median':>8}{'in 25 %':>9}")
    for title, errors in one.errors.items():
        mean, median, within = spread(errors)
        lines.append(f"  {title:<24}{errors.size:>8}{mean:>8.1%}{median:>8.1%}{within:>9.0%}")
    for label in ("accelerator", "precision", "model", "lengths", "layout"):
        if len(set(one.points.labels[label])) > 1:
            lines += [f"  by {label}, shipped", HEAD, *table(one.points, one.errors[SHIPPED], label)]
    return "\n".join(lines)


def held_back_text() -> str:
    points, errors = held_back()
    mean, median, within = spread(errors)
    lines = [
        "full systems, held back",
        f"  {points.count} points, mean {mean:.1%}, median {median:.1%}, within 25 % {within:.0%}",
    ]
    for label in ("accelerator", "model", "lengths", "layout"):
        lines += [f"  by {label}", HEAD, *table(points, errors, label)]
    return "\n".join(lines)


def facts_text(sets: Sequence[Set]) -> str:
    lines = ["errors that are facts: median, a quarter of the points, nine tenths, points"]
    for one in error_facts(sets):
        lines.append(f"  {one.key:<58}{one.median:>7.3f}{one.low:>7.3f}{one.high:>7.3f}{one.count:>6}")
    return "\n".join(lines)


def main() -> None:
    sets = fit_sets(read_constants())
    print("\n\n".join([*(set_text(one) for one in sets), held_back_text(), facts_text(sets)]))


if __name__ == "__main__":
    main()
