"""Near-optimal alternatives: plans that cost little more than the best, each as different as possible.

A plan that is slightly better by the program may be worse by all that the program does not know. So the
objective becomes a limit, and the distance from the plans that are known becomes the objective.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pulp

from solver import backend
from solver.account import holding_costs, totals_by
from solver.build import THOUSAND, build
from solver.decisions import (
    Difference,
    Effort,
    compare_decisions,
    jobs_at,
    jobs_by_node_group,
    limit_above,
    solve_checked,
)
from solver.problem import Problem, Solution
from solver.program import Program
from solver.rows import linear, name
from solver.tables import Floats
from solver.verify import objective_value

SAME = 1e-6  # plans nearer than this are one plan
ROUNDING = 1e-7  # room, in shares, for what rounding takes from the distance that was reached


@dataclass(frozen=True, slots=True)
class Alternative:
    """A plan within reach of the best: what it costs more, how far it is from all plans before, and where."""

    solution: Solution
    objective: float
    excess_fraction: float  # (objective - best) / |best|
    distance: float  # to the nearest of the best plan and the alternatives before
    differences: tuple[Difference, ...]  # from the best plan, in the fleet


@dataclass(frozen=True, slots=True)
class Alternatives:
    """The alternatives, in the order in which they were found, and how the last search ended."""

    plans: tuple[Alternative, ...]
    ended: backend.Status


def near_optimal(
    problem: Problem,
    best: Solution,
    *,
    plans: int,
    within_fraction: float,
    gap_fraction: float,
    time_limit_s: float,
    tolerance: float = 1e-6,
    should_stop: backend.Stop | None = None,
) -> Alternatives:
    """Plans within a share of the best objective, one after the other as far as possible from all before.

        maximise   min over plans k before of d(x, k)
        subject to the program, and z(x) <= z(best) + share * |z(best)|

    Of equally distant plans the cheapest by the objective is taken. Fewer come back where no further plan
    differs, or where a search found none in its time. The gap and the time limit are those of each of two
    solves per plan.

    Source: Brill, Chang and Hopkins, "Modeling to generate alternatives", Management Science 28(3), 1982.
    """
    if plans < 1:
        raise ValueError(f"plans is a count of at least 1, got {plans}")
    if not within_fraction >= 0:
        raise ValueError(f"within_fraction is a share of at least 0, got {within_fraction}")
    least = objective_value(problem, best)
    most = least + within_fraction * abs(least)
    effort = Effort(
        gap_fraction=gap_fraction, time_limit_s=time_limit_s, tolerance=tolerance, should_stop=should_stop
    )
    found: list[Alternative] = []
    ended = backend.Status.OPTIMAL
    while len(found) < plans:
        known = [best, *(each.solution for each in found)]
        ended, solution = _farthest(problem, known, most, effort)
        if solution is None:
            break
        distance = min(distance_between(problem, solution, each, relative_to=best) for each in known)
        if distance < SAME:
            break
        objective = objective_value(problem, solution)
        excess = (objective - least) / abs(least) if least else 0.0
        differences = compare_decisions(problem, best, solution)
        found.append(Alternative(solution, objective, excess, distance, differences))
        if ended is backend.Status.INTERRUPTED:
            break
    return Alternatives(tuple(found), ended)


def distance_between(problem: Problem, one: Solution, other: Solution, *, relative_to: Solution) -> float:
    """How different two fleets are: 0 is the same, 1 as if all nodes or the sites of all jobs were exchanged.

        d = sum_p |n[p] - n'[p]| / (2 N) + sum_(j,s) |y[j,s] - y'[j,s]| / (2 J)

    n[p] are the mean nodes of a node group, in service and, where holding them costs something, rented, N
    those of the whole reference plan, and y[j,s] is the share of the jobs of a row that run at s.
    """
    weights = _weights(problem, relative_to)
    return float(np.abs(_features(problem, one) - _features(problem, other)) @ weights)


def _features(problem: Problem, plan: Solution) -> Floats:
    """n[p] of every node group, then y[j,s] of every job and site."""
    at = totals_by(problem.node_groups.site, len(problem.site_names), jobs_by_node_group(problem, plan).T).T
    shares = at / np.maximum(problem.jobs.count, 1)[:, None]
    return np.concatenate([_mean_nodes(problem, plan), shares.ravel()])


def _mean_nodes(problem: Problem, plan: Solution) -> Floats:
    """Nodes that cost or emit something: rented ones that nobody pays for would be distance for nothing."""
    mean: Floats = (plan.in_service + holding_costs(problem) * plan.rented).mean(axis=1)
    return mean


def _weights(problem: Problem, reference: Solution) -> Floats:
    nodes = float(_mean_nodes(problem, reference).sum()) or 1.0
    jobs = len(problem.jobs)
    at_sites = np.full(jobs * len(problem.site_names), 1 / (2 * max(jobs, 1)))
    return np.concatenate([np.full(len(problem.node_groups), 1 / (2 * nodes)), at_sites])


def _terms(program: Program) -> tuple[list[list[tuple[Any, float]]], Floats]:
    """The features as sums of variables, and the most that each can be."""
    problem, groups, cohorts = program.problem, program.problem.node_groups, program.problem.cohorts
    parts: list[list[tuple[Any, float]]] = []
    most: list[float] = []
    costs = holding_costs(problem)
    for group, unit in enumerate(groups.order_unit_nodes.tolist()):
        nodes = [*program.in_service[group], *program.rented[group][costs[group]]]
        parts.append([(variable, 1 / problem.periods) for variable in nodes])
        standing = cohorts.nodes[
            groups.sku[cohorts.node_group] == groups.sku[group]
        ].sum()  # they may move here
        bought = unit * sum(order.upBound for order in program.order[group])
        rented = max((variable.upBound for variable in program.rented[group][costs[group]]), default=0)
        most.append(float(standing + bought + rented))
    for job, count in enumerate(problem.jobs.count.tolist()):
        for site in range(len(problem.site_names)):
            there = jobs_at(program, groups.site == site, job)
            parts.append([(variable, weight / max(count, 1)) for variable, weight in there])
            most.append(1.0)
    return parts, np.array(most)


def _farthest(
    problem: Problem, known: Sequence[Solution], most: float, effort: Effort
) -> tuple[backend.Status, Solution | None]:
    """The plan farthest from the known ones, then the cheapest that is as far; how the first search ended."""
    program = build(problem)
    objective = program.model.objective.copy()
    limit_above(program, "near_best", objective, most / THOUSAND)
    distance = pulp.LpVariable("distance", 0)
    for number, plan in enumerate(known):
        _measure_distance(program, distance, plan, number, relative_to=known[0])
    program.model.setObjective(linear([(distance, -1.0)]))
    outcome, solution = solve_checked(program, **effort, start=program.start(known[-1]))
    if solution is None or outcome.stopped:
        return outcome.status, solution

    reached = min(distance_between(problem, solution, plan, relative_to=known[0]) for plan in known)
    distance.lowBound = reached * (1 - ROUNDING)
    program.model.setObjective(objective)
    _, cheaper = solve_checked(program, **effort, start=program.start(solution))
    return outcome.status, cheaper or solution


def _measure_distance(
    program: Program, distance: Any, plan: Solution, number: int, *, relative_to: Solution
) -> None:
    """D <= sum_f w[f] * d[f];  d[f] <= f - f0 + 2 most[f] * b;  d[f] <= f0 - f + 2 most[f] * (1 - b)

    D is the distance, f0 the plan's feature, and b tells below from above. Where f0 is 0 or the most that
    it can be, the sign is known and no switch is needed.
    """
    problem = program.problem
    values, weights = _features(problem, plan), _weights(problem, relative_to)
    parts, most = _terms(program)
    apart: list[tuple[Any, float]] = []
    constant = 0.0
    for feature, (part, value, high) in enumerate(zip(parts, values.tolist(), most.tolist(), strict=True)):
        weight = float(weights[feature])
        if value <= SAME or value >= high - SAME:
            sign = 1.0 if value <= SAME else -1.0
            apart += [(variable, sign * weight * each) for variable, each in part]
            constant -= sign * weight * value
            continue
        away = pulp.LpVariable(name("apart", (number, feature)), 0, high)
        below = pulp.LpVariable(name("below", (number, feature)), 0, 1, pulp.LpInteger)
        minus = [(variable, -each) for variable, each in part]
        limit_above(
            program,
            name("above", (number, feature)),
            linear([(away, 1.0), (below, -2 * high)], minus),
            -value,
        )
        limit_above(
            program,
            name("under", (number, feature)),
            linear([(away, 1.0), (below, 2 * high)], part),
            value + 2 * high,
        )
        apart.append((away, weight))
    merged = linear([(distance, 1.0)], [(variable, -weight) for variable, weight in apart])
    limit_above(program, name("distance", (number,)), merged, constant)
