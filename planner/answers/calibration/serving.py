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
from planner.physics.calibrated_serving import measured_factor, modelled_tokens_per_s
from planner.physics.measured_serving import calibrated_error, other_split_error
from planner.physics.requests import SERVICE, inputs_of
from planner.trace.records import Record

Key = tuple[str, str]  # model and precision

BATCHES = (0.5, 1.0, 2.0, 4.0)  # of the first measured batch, to show what follows
NO_SERVICE = {"rate": 1.0, "ttft_s": 1.0, "tpot_s": 1.0, "availability": 0.99}  # none of it enters a step


@dataclass(frozen=True)
class _Point:
    """One measured replica and its factor."""

    measured: Served
    factor: float

    @property
    def modelled_per_s(self) -> float:
        return self.measured.tokens_per_s / self.factor


def served_models(group: Sequence[Served], catalogue: Catalogue, problems: Problems) -> list[Record]:
    """What the measured replicas of an accelerator say, for each model and precision."""
    points: dict[Key, list[_Point]] = {}
    for one in group:
        try:
            points.setdefault((one.model, one.precision), []).append(_point(one, catalogue))
        except ValueError as error:
            problems.append((one.line, str(error)))
    return [_model(key, found, catalogue) for key, found in points.items() if found]


def _point(one: Served, catalogue: Catalogue) -> _Point:
    inputs = _inputs(one, catalogue)
    factor = measured_factor(one.tokens_per_s, inputs, one.accelerators, one.batch, one.output_scv_ratio)
    return _Point(one, factor)


def _inputs(one: Served, catalogue: Catalogue) -> Inputs:
    lengths = f"tokens_in = {one.input_tokens!r}\ntokens_out = {one.output_tokens!r}"
    text = SERVICE.format(model=one.model, precision=one.precision, lengths=lengths, **NO_SERVICE)
    return inputs_of(catalogue, (one.sku.name,), text)


def _model(key: Key, points: Sequence[_Point], catalogue: Catalogue) -> Record:
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
        "batches": _batches(points[0].measured, splits, error["worst"], catalogue),
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
    inputs = _inputs(one, catalogue)
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
    one: Served, splits: dict[int, dict[float, float]], worst: float, catalogue: Catalogue
) -> list[Record]:
    """The first measured replica at other batches."""
    found = []
    for share in BATCHES:
        batch = max(1.0, share * one.batch)
        before, most = modelled_tokens_per_s(
            _inputs(one, catalogue), one.accelerators, batch, one.output_scv_ratio
        )
        after = min(before * _at(batch, splits[one.accelerators]), most)
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
