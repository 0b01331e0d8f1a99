"""Measured replicas of an accelerator, model by model: the factor of each, and how wrong others may be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from planner.answers.calibration.reading import Problems, Served
from planner.inputs.catalogue import Catalogue
from planner.inputs.resolved import Inputs
from planner.performance.calibrate import joint_factor
from planner.performance.calibrate_serving import serving_factor_at
from planner.physics.calibrated_serving import measured_factor, measured_replica, modelled_tokens_per_s
from planner.physics.fitted_serving import FittedPoint, enough, fitted_chip
from planner.physics.measured_serving import calibrated_error, other_split_error
from planner.physics.requests import SERVICE, inputs_of
from planner.trace.quantities import Fact, Source
from planner.trace.records import Record

Key = tuple[str, str]  # model and precision
CALIBRATION = Source("calibration", "own measurements")

BATCHES = (0.5, 1.0, 2.0, 4.0)  # of the first measured batch, to show what follows
NO_SERVICE = {"rate": 1.0, "ttft_s": 1.0, "tpot_s": 1.0, "availability": 0.99}  # none of it enters a step


@dataclass(frozen=True)
class _Point:
    """One measured replica, the rate that the catalogue gives it, and its factor on the fitted one."""

    measured: Served
    modelled_per_s: float
    factor: float


def served_chip(
    name: str, group: Sequence[Served], catalogue: Catalogue, problems: Problems
) -> tuple[Record | None, list[Record]]:
    """What the measured replicas of an accelerator say: of its constants, and for each model and precision.

    Constants are fitted where there are more points than constants; factors are what is left then.
    """
    able: list[tuple[Served, float]] = []
    for one in group:
        try:
            able.append((one, one.tokens_per_s / _factor(one, catalogue)))
        except ValueError as error:
            problems.append((one.file, one.line, str(error)))
    constants, fitted = None, catalogue
    if len(able) >= enough([one.engine for one, _ in able]):
        constants, facts = _constants(name, [one for one, _ in able], catalogue)
        fitted = catalogue.with_facts(facts)
    points: dict[Key, list[_Point]] = {}
    for one, modelled in able:
        factor = one.tokens_per_s / modelled if fitted is catalogue else _factor(one, fitted)
        points.setdefault((one.model, one.precision), []).append(_Point(one, modelled, factor))
    return constants, [_model(key, found, catalogue, fitted) for key, found in points.items()]


def _constants(name: str, group: Sequence[Served], catalogue: Catalogue) -> tuple[Record, list[Fact]]:
    """The fitted constants of an accelerator and its engines, and what they do to the points."""
    found = fitted_chip(
        service_of(group[0], catalogue),
        name,
        [
            FittedPoint(
                measured_replica(
                    service_of(one, catalogue), one.accelerators, one.groups, one.output_scv_ratio
                ),
                one.engine,
                one.precision,
                one.batch,
                one.tokens_per_s,
                (one.model, one.precision, one.accelerators),
            )
            for one in group
        ],
        CALIBRATION,
    )
    apart = np.abs(found.left_out_errors)
    left_out = "model and split predicted from the others"
    if not found.by_series:
        left_out = "point predicted from the others, all of one model; of other models it says nothing"
    record = {
        "points": len(group),
        "constants": [
            {
                "constant": one.name,
                "engine": one.engine,
                "factor": one.factor,
                "low_factor": one.low_factor,
                "high_factor": one.high_factor,
            }
            for one in found.constants
        ],
        "facts": [
            {
                "key": fact.key,
                "value": fact.value,
                "unit": fact.unit,
                "low": fact.low,
                "high": fact.high,
                "note": fact.note,
            }
            for fact in found.facts
        ],
        "before_error": float(np.median(np.abs(found.before_errors))),
        "after_error": float(np.median(np.abs(found.after_errors))),
        "expected_error": {
            "median": float(np.median(apart)),
            "worst": float(apart.max()),
            "errors": [float(error) for error in found.left_out_errors],
            "from": f"each {left_out}",
        },
    }
    return record, found.facts


def _factor(one: Served, catalogue: Catalogue) -> float:
    return measured_factor(
        one.tokens_per_s,
        service_of(one, catalogue),
        one.accelerators,
        one.batch,
        one.output_scv_ratio,
        one.groups,
    )


def service_of(one: Served, catalogue: Catalogue) -> Inputs:
    """A measured replica as a service on its node."""
    lengths = f"tokens_in = {one.input_tokens!r}\ntokens_out = {one.output_tokens!r}\nengine = '{one.engine}'"
    text = SERVICE.format(model=one.model, precision=one.precision, lengths=lengths, **NO_SERVICE)
    return inputs_of(catalogue, (one.sku.name,), text)


def _model(key: Key, points: Sequence[_Point], catalogue: Catalogue, fitted: Catalogue) -> Record:
    splits = _splits(points)
    error = _expected_error(points, splits, catalogue)
    return {
        "model": key[0],
        "precision": key[1],
        "points": [_row(point) for point in points],
        "factors": [
            {"accelerators": split, "batch": batch, "factor": factor, "source": _source(points, split, batch)}
            for split, factors in splits.items()
            for batch, factor in factors.items()
        ],
        "expected_error": error,
        "batches": _batches(points[0].measured, splits, error["worst"], catalogue, fitted),
    }


def _splits(points: Iterable[_Point]) -> dict[int, dict[float, float]]:
    """Factors by split and rising batch; a batch that was measured again has the mean of its factors."""
    found: dict[int, dict[float, list[float]]] = {}
    for point in points:
        one = point.measured
        found.setdefault(one.accelerators, {}).setdefault(one.batch, []).append(point.factor)
    return {
        split: {batch: float(joint_factor(factors=own[batch])) for batch in sorted(own)}
        for split, own in found.items()
    }


def _source(points: Iterable[_Point], split: int, batch: float) -> str:
    same = [p.measured for p in points if (p.measured.accelerators, p.measured.batch) == (split, batch)]
    return "; ".join(f"line {one.line}: {one.source}" for one in same)


def _row(point: _Point) -> Record:
    one = point.measured
    return {
        "line": one.line,
        "source": one.source,
        "accelerators": one.accelerators,
        "batch": one.batch,
        "input_tokens": one.input_tokens,
        "output_tokens": one.output_tokens,
        "measured_tokens_per_s": one.tokens_per_s,
        "before_tokens_per_s": point.modelled_per_s,
        "before_error": point.modelled_per_s / one.tokens_per_s - 1.0,
        "factor": point.factor,
    }


def _expected_error(
    points: Sequence[_Point], splits: dict[int, dict[float, float]], catalogue: Catalogue
) -> Record:
    """How far off other batches may be: from the points themselves where a split has several."""
    errors = [
        _at(batch, {other: f for other, f in own.items() if other != batch}) / factor - 1.0
        for own in splits.values()
        if len(own) > 1
        for batch, factor in own.items()
    ]
    one = points[0].measured
    inputs = service_of(one, catalogue)
    other = other_split_error(inputs)
    found: Record = {"errors": errors, "other_splits_worst": other.high}
    if errors:
        apart = np.abs(errors)
        median, worst = float(np.median(apart)), float(apart.max())
        return found | {
            "median": median,
            "worst": worst,
            "from": f"each of the {len(errors)} measured batches predicted from the others",
        }
    fact = calibrated_error(inputs, one.sku.accelerator, one.model)
    return found | {
        "median": fact.value,
        "worst": fact.high,
        "from": f"published runs ({fact.key}); a second measured batch would say more",
    }


def _at(batch: float, factors: dict[float, float]) -> float:
    return float(
        serving_factor_at(
            batch=batch, measured_batches=np.array(list(factors)), factors=np.array(list(factors.values()))
        )
    )


def _batches(
    one: Served,
    splits: dict[int, dict[float, float]],
    worst: float,
    catalogue: Catalogue,
    fitted: Catalogue,
) -> list[Record]:
    """The first measured replica at other batches."""
    found = []
    for share in BATCHES:
        batch = max(1.0, share * one.batch)
        (before, _), (now, most) = (
            modelled_tokens_per_s(
                service_of(one, facts), one.accelerators, batch, one.output_scv_ratio, one.groups
            )
            for facts in (catalogue, fitted)
        )
        after = min(now * _at(batch, splits[one.accelerators]), most)
        found.append(
            {
                "accelerators": one.accelerators,
                "batch": batch,
                "before_tokens_per_s": before,
                "after_tokens_per_s": after,
                "low_tokens_per_s": after / (1.0 + worst),
                "high_tokens_per_s": after * (1.0 + worst),
            }
        )
    return found
