"""Futures drawn from the ranges of facts and demand, and the few of them that stand for all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from planner.inputs.catalogue import Catalogue
from planner.inputs.scenario import Scenario
from planner.inputs.scenario.schema_futures import Future, Uncertainty
from planner.program.future_scenarios import in_future, without_futures
from planner.program.grids import drawn_points
from planner.program.plan import plan_fleet
from planner.trace.columns import Floats
from planner.trace.uncertainty import cause_of, ranged_facts, tornado
from planner.trace.units import parse_quantity
from solver.reduction import representatives

Stop = Callable[[], bool]


def drawn_futures(
    scenario: Scenario, uncertainty: Uncertainty, catalogue: Catalogue, should_stop: Stop | None = None
) -> tuple[Future, ...]:
    """Futures of a scenario that says `[uncertainty]`.

    Draws lie near each other where they move the objective of the plan as stated alike: each cause counts by
    how far it moves that objective from one end of its range to the other, choices as they are; demand by the
    best plans at its ends.
    """
    stated = without_futures(scenario)
    points = drawn_points(stated, catalogue, draws=uncertainty.draws, seed=uncertainty.seed).points
    facts = {path.removeprefix("facts."): path for path in points[0]}
    demand = _demand_ratios(uncertainty)
    moved_usd = _moved_usd(stated, catalogue, points, facts, demand, should_stop)
    chosen, share = representatives(moved_usd, uncertainty.reduce_to)
    return tuple(
        Future.model_construct(
            name=f"draw {number + 1}",
            probability_fraction=float(part),
            demand_ratio=None if demand is None else (float(demand[number]),) * stated.horizon.periods,
            values=dict(points[number]),
        )
        for number, part in zip(chosen.tolist(), share.tolist(), strict=True)
        if part > 0  # where draws are alike, fewer stand for all
    )


def _demand_ratios(uncertainty: Uncertainty) -> Floats | None:
    """Multiples of demand: half of the draws below 1 and half above, fewer towards the ends, stratified."""
    if uncertainty.demand_range is None:
        return None
    low, high = uncertainty.demand_range
    generator = np.random.default_rng([uncertainty.seed, 1])
    u = (generator.permutation(uncertainty.draws) + generator.random(uncertainty.draws)) / uncertainty.draws
    away = 1 - np.sqrt(1 - np.abs(2 * u - 1))
    ratios: Floats = 1 + away * np.where(u < 0.5, low - 1, high - 1)
    return ratios


def _moved_usd(
    stated: Scenario,
    catalogue: Catalogue,
    points: Sequence[Mapping[str, Any]],
    facts: Mapping[str, str],
    demand: Floats | None,
    should_stop: Stop | None,
) -> Floats:
    """How far each draw moves the objective, one column for each cause; the last one is demand."""
    plan = plan_fleet(stated, catalogue=catalogue, baselines=False, remedies=False, should_stop=should_stop)
    if plan.answer.solution is None:
        return np.zeros((len(points), 1))
    target = plan.ledger.objective
    columns: dict[str, Floats] = {}
    for swing in tornado(target, most=len(ranged_facts(target))):
        fact, low, high = swing.fact, float(swing.fact.low or 0), float(swing.fact.high or 0)
        if fact.key not in facts:
            continue
        texts = [point[facts[fact.key]] for point in points]
        values = np.array([parse_quantity(text, fact.unit) for text in texts])
        moved = (values - fact.value) / (high - low) * (swing.at_high - swing.at_low)
        columns[cause_of(fact)] = columns.get(cause_of(fact), np.zeros(len(points))) + moved
    if demand is not None:
        ends = (float(demand.min()), float(demand.max()))
        at = [(ratio, _objective_at(stated, catalogue, ratio, should_stop)) for ratio in ends]
        at.append((1.0, plan.answer.objective))
        known = np.array([pair for pair in sorted(at) if np.isfinite(pair[1])])
        columns["demand"] = np.interp(demand, known[:, 0], known[:, 1])
    return np.stack(list(columns.values()) or [np.zeros(len(points))], axis=1)


def _objective_at(stated: Scenario, catalogue: Catalogue, ratio: float, should_stop: Stop | None) -> float:
    """The objective of the best plan at a multiple of demand; not a number where there is none."""
    every = (ratio,) * stated.horizon.periods
    other = Future.model_construct(name="other", probability_fraction=1.0, demand_ratio=every)
    changed = in_future(stated, other, catalogue)
    plan = plan_fleet(changed, catalogue=catalogue, baselines=False, remedies=False, should_stop=should_stop)
    return plan.answer.objective
