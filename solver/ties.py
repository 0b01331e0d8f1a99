"""Plans as good as the best within its gap: what could as well be decided otherwise, and with fewer changes.

A search ends where a plan is near enough to the bound. Which of the plans there it ends at is chance, and a
person who signs it should know what else would do. So each choice of the plan is left out in turn, and what
is found within the gap without it is a tie.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver import backend
from solver.answer import answer
from solver.decisions import Difference, compare_decisions
from solver.problem import Problem, Solution
from solver.tables import Flags, Floats, Whole
from solver.verify import objective_value, verify

MOST_CHOICES = 8  # the largest by their nodes
EACH = 0.7  # of the time that is left, for one of them
ROUNDING = 1e-9  # shares by which objectives may differ and be equal


@dataclass(frozen=True, slots=True)
class Choice:
    """What a plan does with the nodes of one row, over all periods."""

    kind: str  # a column of the plan
    row: int
    nodes: float


@dataclass(frozen=True, slots=True)
class Tie:
    """Another plan within the gap: how far its objective lies above this one's, and where it differs."""

    solution: Solution
    objective: float
    excess_fraction: float  # (objective - of this plan) / |of this plan|; below 0 where it is the better one
    differences: tuple[Difference, ...]


def choices(problem: Problem, plan: Solution) -> list[Choice]:
    """What a plan could do without, the largest first: orders, terms, sales, retirements, moves, rents."""
    found = []
    early = np.arange(problem.periods) < problem.cohorts.must_retire_by[:, None]
    for kind, nodes in _columns(problem, plan):
        free = nodes
        if kind == "committed":
            free = nodes - problem.node_groups.rental_signed_nodes
        elif kind == "retired":
            free = nodes * early
        for row in np.flatnonzero((free > 0).any(axis=1)).tolist():
            found.append(Choice(kind, row, float(nodes[row].sum())))
    return sorted(found, key=lambda one: -one.nodes)[:MOST_CHOICES]


def changes(problem: Problem, plan: Solution) -> int:
    """How many things a plan asks to be done: rows and periods in which something is decided or begins.

    n = sum over columns x, rows r, periods t of [x[r,t] > 0]; rents by the period count once a row
        + sum over options v, t > 0 of [replicas[v,t] > 0 and replicas[v,t-1] = 0]
    """
    counted = int(np.sum((plan.replicas[:, 1:] > 0) & (plan.replicas[:, :-1] == 0)))
    for kind, nodes in _columns(problem, plan):
        done = nodes > 0
        counted += int(done.any(axis=1).sum() if kind == "rented" else done.sum())
    return counted


def without(problem: Problem, choice: Choice) -> Problem:
    """The same problem, in which what was chosen is not allowed; its plans are plans of the problem.

    What is signed stays, and so does the end of a life.
    """
    groups, cohorts, row, periods = problem.node_groups, problem.cohorts, choice.row, problem.periods

    def barred(column: NDArray[Any], kept: Flags | bool | int = False) -> NDArray[Any]:
        changed = column.copy()
        changed[row] = kept
        return changed

    match choice.kind:
        case "orders":
            changed = {"purchase_allowed": barred(groups.purchase_allowed)}
        case "committed":
            signed = groups.rental_signed_nodes[row] > 0
            changed = {"rental_start_allowed": barred(groups.rental_start_allowed, signed)}
        case "rented":
            changed = {"rental_limit_nodes": barred(groups.rental_limit_nodes)}
        case "sold":
            sales = replace(problem.sales, may_sell=barred(problem.sales.may_sell))
            return replace(problem, sales=sales)
        case "retired":
            ended = np.arange(periods) >= cohorts.must_retire_by[row]
            may = barred(cohorts.may_retire, cohorts.may_retire[row] & ended)
            return replace(problem, cohorts=replace(cohorts, may_retire=may))
        case _:  # what would arrive after the end does not leave
            late = barred(problem.moves.lead_periods, periods)
            return replace(problem, moves=replace(problem.moves, lead_periods=late))
    return replace(problem, node_groups=replace(groups, **changed))


def ties(
    problem: Problem,
    plan: Solution,
    *,
    bound: float,
    gap_fraction: float,
    time_limit_s: float,
    tolerance: float = 1e-6,
    should_stop: backend.Stop | None = None,
    engine: str = "highs",
) -> list[Solution]:
    """Plans within the gap of the bound that leave out one choice of this plan, of each the best found.

    A search ends early where its own bound says that no plan without the choice lies within the gap. What is
    not found in the time is not told; none of it is proof that there is no other plan.
    """
    ends = time.monotonic() + time_limit_s
    best = objective_value(problem, plan)
    most = max(_largest_within(bound, gap_fraction), best) + ROUNDING * abs(best)
    found: list[Solution] = []
    for choice in choices(problem, plan):
        left_s = ends - time.monotonic()
        if left_s < backend.SOON_S or (should_stop is not None and should_stop()):
            break
        other = _within(without(problem, choice), most, gap_fraction, EACH * left_s, should_stop, engine)
        if other is None or any(not compare_decisions(problem, other, one) for one in (plan, *found)):
            continue
        if not verify(problem, other, tolerance) and objective_value(problem, other) <= most:
            found.append(other)
    return found


def _within(
    problem: Problem,
    most: float,
    gap_fraction: float,
    time_limit_s: float,
    should_stop: backend.Stop | None,
    engine: str,
) -> Solution | None:
    """The best plan found, if any; given up where the bound is above what is asked for."""
    too_dear = False

    def watch(seen: backend.Progress) -> None:
        nonlocal too_dear
        too_dear = too_dear or seen.bound > most

    return answer(
        problem,
        gap_fraction=gap_fraction,
        time_limit_s=time_limit_s,
        watch=watch,
        should_stop=lambda: too_dear or (should_stop is not None and should_stop()),
        engine=engine,
    ).solution


def settled(
    problem: Problem,
    plan: Solution,
    others: list[Solution],
    *,
    bound: float,
    gap_fraction: float,
    at_most: float = np.inf,
) -> Solution:
    """Of the plans within the gap the one with the fewest changes; of equally many, the least objective.

    `at_most` is the objective of what the plan is compared with, which it should not be beaten by.
    """
    best = objective_value(problem, plan)
    most = min(max(_largest_within(bound, gap_fraction), best), max(at_most, best)) + ROUNDING * abs(best)
    within = [one for one in (plan, *others) if objective_value(problem, one) <= most]
    return min(within, key=lambda one: (changes(problem, one), objective_value(problem, one)))


def tied_plans(problem: Problem, plan: Solution, others: list[Solution]) -> tuple[Tie, ...]:
    """The other plans next to the one that was chosen, the nearest by objective first; each fleet once."""
    best = objective_value(problem, plan)
    found = []
    for other in others:
        objective = objective_value(problem, other)
        excess = (objective - best) / abs(best) if best else 0.0
        differences = compare_decisions(problem, plan, other)
        if differences:
            found.append(Tie(other, objective, excess, differences))
    found.sort(key=lambda one: one.excess_fraction)
    return tuple(next(same) for _, same in groupby(found, key=lambda one: one.differences))


def _largest_within(bound: float, gap_fraction: float) -> float:
    """The largest objective of which the distance to the bound is the gap.

    (z - bound) / |z| = g:  z = bound / (1 - g), or bound / (1 + g) below 0
    """
    if not np.isfinite(bound) or gap_fraction >= 1:
        return -np.inf
    return bound / (1 - gap_fraction) if bound > 0 else bound / (1 + gap_fraction)


def _columns(problem: Problem, plan: Solution) -> list[tuple[str, Whole | Floats]]:
    """Nodes by row and period of each column of a plan that is a choice."""
    groups = problem.node_groups
    by_period = np.where(problem.under_term[:, None], 0, plan.rented)
    return [
        ("orders", plan.orders * groups.order_unit_nodes[:, None]),
        ("committed", plan.committed),
        ("sold", plan.sold),
        ("retired", plan.retired),
        ("moved", plan.moved),
        ("rented", by_period),
    ]
