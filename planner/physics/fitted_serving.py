"""The few constants of a chip and its engines, fitted to measured replicas."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from planner.inputs.catalogue import make_fact
from planner.inputs.resolved import Inputs
from planner.performance.calibrate_serving import fitted_log_factors
from planner.physics.calibrated_serving import MeasuredReplica, stacked_replicas, written_tokens_per_s
from planner.physics.engines import engine_fact, kernel
from planner.physics.measured_serving import CALIBRATED_ERROR, RATE_ERROR, RATE_POINTS
from planner.physics.precisions import kernels_of
from planner.trace.columns import Floats
from planner.trace.quantities import Fact, Source

# Constant -> columns of the chip that it multiplies, and kernels behind them: of each precision that was
# measured, of experts where some were, and of 16 bits always.
CHIP = {
    "matrices": ("matrix_fraction", "grouped_fraction"),
    "memory": ("weight_read_fraction", "grouped_read_fraction", "cache_read_fraction"),
}
KERNELS = {
    "matrices": ("matrix_share", "grouped_share", ""),
    "memory": ("weight_read_share", "grouped_read_share", "cache_read_share"),
}
# Constant -> column of an engine.
HOST = {"step": "step_s", "sequence": "sequence_s"}
HOST_FACTS = {"step": "step_time", "sequence": "sequence_time"}
# Standard deviation over half of a range: of triangles, and of what is as likely anywhere.
TRIANGLE, EVEN = 6.0**-0.5, 3.0**-0.5
LEAST_LOW = 0.1  # of a value, where its range begins at zero
LEAST_HALF = 1e-3  # of a range in ln, where a fact has none: such a constant does not move


@dataclass(frozen=True, slots=True)
class FittedPoint:
    """A measured replica: what it is made of, what it ran and wrote; points of one `series` are alike."""

    replica: MeasuredReplica
    engine: str
    precision: str
    batch: float
    tokens_per_s: float
    series: Hashable


@dataclass(frozen=True, slots=True)
class Constant:
    """A fitted factor on a constant: of the chip where `engine` is empty."""

    name: str
    engine: str
    factor: float
    low_factor: float
    high_factor: float


@dataclass(frozen=True)
class FittedChip:
    """Constants of a chip and its engines, the facts that follow, and errors of rates."""

    constants: list[Constant]
    facts: list[Fact]
    before_errors: Floats
    after_errors: Floats
    left_out_errors: Floats
    by_series: bool


def enough(engines: Sequence[str]) -> int:
    """Least points that say something of each constant: more than there are."""
    return len(_names(sorted(set(engines)))) + 1


def fitted_chip(
    inputs: Inputs, accelerator: str, points: Sequence[FittedPoint], source: Source
) -> FittedChip:
    """The constants that explain the points of one accelerator, held by the catalogue's ranges.

    Args:
        inputs: of which the first SKU holds the accelerator.
        accelerator: its name.
        points: at least `enough` of them.
        source: of the facts that are made.
    """
    engines = sorted({one.engine for one in points})
    names = _names(engines)
    precisions = sorted({kernels_of(one.precision) for one in points})
    routed = any(np.any(np.asarray(one.replica.model.routed_parameters) > 0) for one in points)
    behind = {name: _facts_behind(inputs, accelerator, name, engines, precisions, routed) for name in names}
    known = [max(_known(fact) for fact in behind[name].values()) for name in names]
    largest, spreads = (np.array(column) for column in zip(*known, strict=True))
    noise = float(inputs.fact(CALIBRATED_ERROR).value)

    def fitted(some: Sequence[FittedPoint]) -> tuple[Floats, Floats]:
        errors = _Errors(names, some)
        return fitted_log_factors(
            log_errors=errors, spreads=spreads, largest_logs=largest, noise_fraction=noise
        )

    logs, sure = fitted(points)
    every = _Errors(names, points)
    series = list(dict.fromkeys(one.series for one in points))
    groups = [[i for i, one in enumerate(points) if one.series == name] for name in series]
    by_series = len(groups) > 1
    left_out = np.zeros(len(points))
    for group in groups if by_series else [[i] for i in range(len(points))]:
        others = [one for i, one in enumerate(points) if i not in group]
        left_out[group] = np.expm1(_Errors(names, [points[i] for i in group])(fitted(others)[0]))
    # A triangle's half is so many of its standard deviations; none is wider than what was known before.
    constants = []
    for (name, engine), log, sd, half in zip(names, logs, sure, largest, strict=True):
        way = min(float(sd) / TRIANGLE, float(half))
        factors = (float(np.exp(log + side * way)) for side in (0.0, -1.0, 1.0))
        constants.append(Constant(name, engine, *factors))
    facts = [
        _scaled_fact(key, fact, one, source)
        for one in constants
        for key, fact in behind[one.name, one.engine].items()
    ]
    # Points of one model alone say nothing of others.
    facts += _error_facts(accelerator, np.abs(left_out), len(points), source) if by_series else ()
    before = np.expm1(every(np.zeros(len(names))))
    return FittedChip(constants, facts, before, np.expm1(every(logs)), left_out, by_series)


class _Errors:
    """ln of modelled over measured rates, from the ln of the factors."""

    def __init__(self, names: Sequence[tuple[str, str]], points: Sequence[FittedPoint]) -> None:
        self.names = names
        self.whole = stacked_replicas([one.replica for one in points])
        self.batch = np.array([one.batch for one in points])
        self.measured = np.log([one.tokens_per_s for one in points])
        self.engines = np.array([one.engine for one in points])

    def __call__(self, logs: Floats) -> Floats:
        """At these factors; no kernel is faster than the hardware."""
        chip, engine = self.whole.chip, self.whole.engine
        for (name, of), log in zip(self.names, logs, strict=True):
            factor = np.exp(log)
            if not of:
                columns = {part: np.minimum(getattr(chip, part) * factor, 1.0) for part in CHIP[name]}
                chip = replace(chip, **columns)
            else:
                column = getattr(engine, HOST[name])
                engine = replace(
                    engine, **{HOST[name]: np.where(self.engines == of, column * factor, column)}
                )
        rates = written_tokens_per_s(replace(self.whole, chip=chip, engine=engine), self.batch)
        return np.asarray(np.log(rates) - self.measured)


def _names(engines: Sequence[str]) -> list[tuple[str, str]]:
    return [*((name, "") for name in CHIP), *((name, engine) for engine in engines for name in HOST)]


def _facts_behind(
    inputs: Inputs,
    accelerator: str,
    constant: tuple[str, str],
    engines: Sequence[str],
    precisions: Sequence[str],
    routed: bool,
) -> Mapping[str, Fact]:
    """The facts that a factor multiplies, by the key that they get for this accelerator.

    Kernels of an engine keep its name; what stood for any, or for any accelerator, becomes the accelerator's.
    """
    name, engine = constant
    if engine:
        key = HOST_FACTS[name]
        fact = engine_fact(inputs, engine, 0, key)
        return {f"performance.engine.{engine}.{key}@{accelerator}": fact}
    matrix, grouped, common = KERNELS[name]
    words = [f"{word}@{of}" for word in (matrix, *([grouped] if routed else [])) for of in precisions]
    words += [common] if common else []
    own = f"kernel.{accelerator}."
    found = {}
    for word in words:
        for one in engines:
            fact = kernel(inputs, accelerator, word, one)
            found[fact.key if fact.key.startswith(own) else own + word] = fact
    return found


def _known(fact: Fact) -> tuple[float, float]:
    """Half of the range of the ln of a fact, and the standard deviation that follows."""
    low, high = (fact.value if end is None else end for end in (fact.low, fact.high))
    half = float(np.log(max(high, fact.value) / max(low, LEAST_LOW * fact.value)) / 2.0)
    half = max(half, LEAST_HALF)
    return half, half * (EVEN if fact.kind == "assumed" else TRIANGLE)


def _scaled_fact(key: str, fact: Fact, constant: Constant, source: Source) -> Fact:
    """A fact of the catalogue times its factor; a share of the hardware's rate is at most 1."""
    most = 1.0 if key.startswith("kernel.") else np.inf
    value, low, high = (
        float(min(fact.value * factor, most))
        for factor in (constant.factor, constant.low_factor, constant.high_factor)
    )
    note = f"{fact.value:.4g} {fact.unit} of {fact.key} x {constant.factor:.3f}"
    return make_fact(key, value, fact.unit, source, kind="measured", low=low, high=high, note=note)


def _error_facts(accelerator: str, apart: Floats, points: int, source: Source) -> Sequence[Fact]:
    return (
        make_fact(
            f"{RATE_ERROR}@{accelerator}",
            float(np.median(apart)),
            "1",
            source,
            kind="measured",
            low=float(apart.min()),
            high=float(apart.max()),
            note="each model and split predicted from the others",
        ),
        make_fact(f"{RATE_POINTS}@{accelerator}", float(points), "count", source, kind="measured"),
    )
