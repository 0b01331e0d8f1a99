"""Stages of a pipeline together: the share of its answers that each gives in its part of the time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planner.inputs.resolved import Inputs
from planner.performance.stages import each_alone_fraction, least_in_time_fraction
from planner.physics.batch_serving import batch_law, in_batches
from planner.physics.pipelines import QUANTILE, TIME_STEPS
from planner.physics.replica_kinds import tried_bursts
from planner.physics.serving_options import ServingCandidates
from planner.trace.columns import Floats

PARTS = 10  # of a step of the response time, in which laws are added
LOOKS = 4
CLOSE = 0.1  # of the answers that may be late: how near to what is asked of all stages together is enough


def with_joint_tails(inputs: Inputs, candidates: ServingCandidates) -> Inputs:
    """The inputs with the share of answers that stages give in their parts; themselves without pipelines.

    Each stage is planned so that this share of its answers comes within its part. It is the least, to three
    digits, at which the answers of all stages together are in time as often as is asked, whatever division
    of the time, SKUs and sizes a plan chooses: by the laws of their responses at their largest loads, added
    as if a request waited in each stage by chance alone. Where a stage is an engine that reads prompts, it is
    the share at which all stages keep their own parts at once.
    """
    named = dict.fromkeys(one.pipeline for one in inputs.scenario.services if one.pipeline is not None)
    if not named or not inputs.ways.services:
        return inputs
    found = {name: _quantile_fraction(inputs, candidates, name) for name in named}
    return _at(inputs, found)


def _at(inputs: Inputs, quantiles: dict[str, float]) -> Inputs:
    return replace(inputs, ways=replace(inputs.ways, quantiles={**inputs.ways.quantiles, **quantiles}))


def _quantile_fraction(inputs: Inputs, candidates: ServingCandidates, pipeline: str) -> float:
    """The least share of a stage, by a few looks; that of independent stages where none is found."""
    rows = [i for i, one in enumerate(inputs.scenario.services) if one.pipeline == pipeline]
    whole = float(inputs.fact(QUANTILE).value)
    stages = dict.fromkeys(inputs.ways.services[i].of for i in rows)
    best = each_alone_fraction(together_fraction=whole, stages=len(stages))
    if not all(in_batches(inputs, inputs.scenario.services[i]) for i in rows):
        return best
    near = CLOSE * (1.0 - whole)
    tried = whole + near / 2
    for _ in range(LOOKS):
        together = _together_fraction(_at(inputs, {pipeline: tried}), candidates, list(stages), rows)
        if together >= whole:
            best = min(best, tried)
        if whole <= together <= whole + near:
            break
        nearer = np.ceil(1000.0 * (tried + whole + near / 2 - together)) / 1000.0
        if nearer >= best or nearer <= 0.0:
            break
        tried = float(nearer)
    return best


def _together_fraction(
    inputs: Inputs, candidates: ServingCandidates, stages: list[int], rows: list[int]
) -> float:
    """Share of answers of all stages in time in the worst division, at the largest loads of each."""
    steps = int(inputs.fact(TIME_STEPS).value)
    laws: list[list[Floats | None]] = [[None] * (steps - len(stages) + 1) for _ in stages]
    for i in rows:
        way = inputs.ways.services[i]
        stage, k = stages.index(way.of), round(way.time_fraction * steps) - 1
        law, known = _least_law(inputs, candidates, i, steps), laws[stage][k]
        if law is not None:
            laws[stage][k] = law if known is None else np.minimum(known, law)
    return least_in_time_fraction(laws)


def _least_law(inputs: Inputs, candidates: ServingCandidates, row: int, steps: int) -> Floats | None:
    """Share of the answers of a way within each part of the whole time, on whatever unit; None: on none."""
    service = inputs.scenario.services[row]
    mine = np.flatnonzero(candidates.service == row)
    if not mine.size:
        return None
    units = np.stack([inputs.node_group_sku[candidates.node_group[mine]], candidates.accelerators[mine]])
    sku, size = np.unique(units, axis=1)
    law = batch_law(inputs, service, sku, size)
    scv = tried_bursts(inputs, np.full(len(sku), row))
    limit = np.asarray(law.capacity(scv).limit_requests_per_s.value)
    whole_s = service.first_answer_s / inputs.ways.services[row].time_fraction
    within_s = np.linspace(0.0, whole_s, steps * PARTS + 1)
    found = law.in_time(scv, np.where(limit > 0, limit, 1.0), within_s)[limit > 0]
    return None if not len(found) else np.maximum.accumulate(found.min(axis=0))
