"""Measured replicas of an accelerator, model by model: the factor of each, and how wrong others may be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from planner.answers.calibration.measured import error_of, range_of, stated
from planner.answers.calibration.reading import Problems, Served
from planner.inputs.catalogue import Catalogue
from planner.inputs.resolved import Inputs
from planner.performance.calibrate import joint_factor, median_error, worst_error
from planner.performance.calibrate_serving import serving_factor, serving_factor_at
from planner.physics.calibrated_serving import (
    measured_factor,
    measured_replica,
    modelled_rate,
    modelled_tokens_per_s,
)
from planner.physics.fitted_serving import FittedPoint, enough, fitted_chip
from planner.physics.measured_serving import calibrated_error, other_split_error
from planner.physics.requests import SERVICE, inputs_of
from planner.trace.quantities import Chosen, Fact, Source, Traced, calculated, chosen, derive, end_of, pick
from planner.trace.records import Record

Key = tuple[str, str]  # model and precision
Splits = dict[int, dict[float, Traced]]  # accelerators -> batch -> factor
CALIBRATION = Source("calibration", "own measurements")

BATCHES = (0.5, 1.0, 2.0, 4.0)  # of the first measured batch, to show what follows
NO_SERVICE = {"rate": 1.0, "ttft_s": 1.0, "tpot_s": 1.0, "availability": 0.99}  # none of it enters a step


@dataclass(frozen=True)
class _Point:
    """One measured replica, the rate that the catalogue gives it, and its factor on the fitted one."""

    measured: Served
    modelled: Traced
    factor: Traced


def served_chip(
    name: str, group: Sequence[Served], catalogue: Catalogue, problems: Problems
) -> tuple[Record | None, list[Record]]:
    """What the measured replicas of an accelerator say: of its constants, and for each model and precision.

    Constants are fitted where there are more points than constants; factors are what is left then.
    """
    able: list[Served] = []
    for one in group:
        try:
            _refuse_above_peak(one, catalogue)
            able.append(one)
        except ValueError as error:
            problems.append((one.file, one.line, str(error)))
    constants, fitted = None, catalogue
    if len(able) >= enough([one.engine for one in able]):
        constants, facts = _constants(name, able, catalogue)
        fitted = catalogue.with_facts(facts)
    points: dict[Key, list[_Point]] = {}
    for one in able:
        modelled = _modelled(one, catalogue)
        now = modelled if fitted is catalogue else _modelled(one, fitted)
        factor = derive(serving_factor, measured_tokens_per_s=_rate(one), modelled_tokens_per_s=now)
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

    def fitted(name: str, value: float) -> Chosen:
        about = f"fitted to {len(group)} measured points, held to the ranges of the shipped facts"
        return chosen(name, value, about)

    left_out = "model and split predicted from the others"
    if not found.by_series:
        left_out = "point predicted from the others, all of one model; of other models it says nothing"
    record = {
        "points": chosen("points", len(group), "points that were measured"),
        "constants": [
            {
                "constant": one.name,
                "engine": one.engine,
                "factor": fitted("factor", one.factor),
                "low_factor": fitted("low_factor", one.low_factor),
                "high_factor": fitted("high_factor", one.high_factor),
            }
            for one in found.constants
        ],
        "facts": [
            {
                "key": fact.key,
                "value": fact,
                "unit": fact.unit,
                "low": None if fact.low is None else end_of(fact, "low"),
                "high": None if fact.high is None else end_of(fact, "high"),
                "note": fact.note,
            }
            for fact in found.facts
        ],
        "before_error": fitted("before_error", float(np.median(np.abs(found.before_errors)))),
        "after_error": fitted("after_error", float(np.median(np.abs(found.after_errors)))),
        "expected_error": {
            "median": fitted("median", float(np.median(apart))),
            "worst": fitted("worst", float(apart.max())),
            "errors": [float(error) for error in found.left_out_errors],
            "from": f"each {left_out}",
        },
    }
    return record, found.facts


def _rate(one: Served) -> Fact:
    return stated(one, "measured_tokens_per_s", one.tokens_per_s)


def _modelled(one: Served, catalogue: Catalogue, batch: Traced | None = None) -> Traced:
    """What the model gives a measured replica, at its own batch or another."""
    return modelled_rate(
        service_of(one, catalogue),
        one.accelerators,
        stated(one, "batch", one.batch) if batch is None else batch,
        chosen("output_scv_ratio", np.full((1, 1), one.output_scv_ratio), "stated by the file"),
        one.groups,
    )


def _refuse_above_peak(one: Served, catalogue: Catalogue) -> None:
    measured_factor(
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
            {
                "accelerators": chosen("accelerators", split, "stated by the file"),
                "batch": chosen("batch", batch, "stated by the file"),
                "factor": factor,
                "source": _source(points, split, batch),
            }
            for split, factors in splits.items()
            for batch, factor in factors.items()
        ],
        "expected_error": error,
        "batches": _batches(points[0].measured, splits, error["worst"], catalogue, fitted),
    }


def _splits(points: Iterable[_Point]) -> Splits:
    """Factors by split and rising batch; a batch that was measured again has the mean of its factors."""
    found: dict[int, dict[float, list[Traced]]] = {}
    for point in points:
        one = point.measured
        found.setdefault(one.accelerators, {}).setdefault(one.batch, []).append(point.factor)
    return {
        split: {
            batch: derive(joint_factor, factors=pick(own[batch], np.arange(len(own[batch]))))
            for batch in sorted(own)
        }
        for split, own in found.items()
    }


def _source(points: Iterable[_Point], split: int, batch: float) -> str:
    same = [p.measured for p in points if (p.measured.accelerators, p.measured.batch) == (split, batch)]
    return "; ".join(f"line {one.line}: {one.source}" for one in same)


def _row(point: _Point) -> Record:
    one = point.measured
    return {
        "line": stated(one, "line", one.line),
        "source": one.source,
        **{
            name: stated(one, name, getattr(one, name))
            for name in ("accelerators", "batch", "input_tokens", "output_tokens")
        },
        "measured_tokens_per_s": _rate(one),
        "before_tokens_per_s": point.modelled,
        "before_error": error_of("before_error", point.modelled, _rate(one)),
        "factor": point.factor,
    }


def _expected_error(points: Sequence[_Point], splits: Splits, catalogue: Catalogue) -> Record:
    """How far off other batches may be: from the points themselves where a split has several."""
    errors = [
        error_of("error", _at(batch, {other: f for other, f in own.items() if other != batch}), factor)
        for own in splits.values()
        if len(own) > 1
        for batch, factor in own.items()
    ]
    one = points[0].measured
    inputs = service_of(one, catalogue)
    other = other_split_error(inputs)
    found: Record = {
        "errors": [float(error.value) for error in errors],
        "other_splits_worst": end_of(other, "high"),
    }
    if errors:
        apart = pick(errors, np.arange(len(errors)))
        return found | {
            "median": derive(median_error, error_fraction=apart),
            "worst": derive(worst_error, error_fraction=apart),
            "from": f"each of the {len(errors)} measured batches predicted from the others",
        }
    fact = calibrated_error(inputs, one.sku.accelerator, one.model)
    return found | {
        "median": fact,
        "worst": end_of(fact, "high"),
        "from": f"published runs ({fact.key}); a second measured batch would say more",
    }


def _at(batch: float, factors: dict[float, Traced]) -> Traced:
    batches = np.array(list(factors))
    return derive(
        serving_factor_at,
        batch=chosen("batch", batch, "requests at once"),
        measured_batches=chosen("measured_batches", batches, "requests that ran when it was measured"),
        factors=pick(list(factors.values()), np.arange(len(factors))),
    )


def _batches(
    one: Served,
    splits: Splits,
    worst: Traced,
    catalogue: Catalogue,
    fitted: Catalogue,
) -> list[Record]:
    """The first measured replica at other batches."""
    found = []
    for share in BATCHES:
        batch = max(1.0, share * one.batch)
        looked = chosen("batch", batch, "a batch that is looked at")
        before, now = (_modelled(one, facts, looked) for facts in (catalogue, fitted))
        _, most = modelled_tokens_per_s(
            service_of(one, fitted), one.accelerators, batch, one.output_scv_ratio, one.groups
        )
        factor = _at(batch, splits[one.accelerators])
        after: Traced = calculated("after_tokens_per_s", "now * factor", "1/s", now=now, factor=factor)
        if after.value > most:
            after = chosen("after_tokens_per_s", most, "what the dense peak allows", "1/s")
        found.append(
            {
                "accelerators": stated(one, "accelerators", one.accelerators),
                "batch": looked,
                "before_tokens_per_s": before,
                "after_tokens_per_s": after,
                **range_of(after, worst),
            }
        )
    return found
