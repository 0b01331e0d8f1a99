"""The choices of a known plan, and all others: two programs whose bounds together are one of the whole.

In one all that the plan does not choose is barred. The other chooses something else:

    sum of the choices that the plan does not take >= 1

In either part limits say more than in the whole: steps of spares end at what is of use there at the cost of
the plan (`narrow.py`), and choices that cost more with fractions of all else are barred. Of the 76 runs of
the shipped quarter four stay, of two kinds, and fractions of the other kind rise from 4,405 to 4,460 kUSD:
cuts alone prove then what took half of a search of all.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np
import pulp

from solver import backend
from solver.build import THOUSAND
from solver.narrow import ROUNDING, narrow
from solver.problem import Solution
from solver.program import Program
from solver.rows import linear, terms
from solver.start import FirstPlan
from solver.steps import SOON_S, choices
from solver.verify import objective_value
from solver.warm_relaxation import Fractions

ROUNDS = 2  # of narrowing: the second lifts fractions half as much again, a third next to nothing
SHARE = 0.2  # of the time left, at most, for each step before a search


def among_others(
    program: Program,
    plan: Solution,
    *,
    gap_fraction: float,
    time_limit_s: float,
    watch: backend.Watch | None = None,
    should_stop: backend.Stop | None = None,
) -> FirstPlan:
    """A plan that chooses something else, if one is found that costs less, and the bound of all that do.

    The search ends where the gap of the known plan needs no more. The bound is none above its cost, and
    infinite where nothing else can be chosen. The program is left with what was barred and narrowed.
    """
    ends = time.monotonic() + time_limit_s

    def left_s() -> float:
        return max(ends - time.monotonic(), SOON_S)

    cost, others = _cost(program, plan), [*_not_taken(program, plan)]
    if not others:
        return FirstPlan(None, bound=math.inf)
    program.add("other_choices", linear(terms(np.array(others, dtype=object), 1.0)), pulp.LpConstraintGE, 1.0)
    if not _cheap_enough(program, others, cost, SHARE * left_s(), should_stop):
        return FirstPlan(None, bound=cost)
    for _ in range(ROUNDS):
        narrow(program, cost, time_limit_s=SHARE * left_s(), should_stop=should_stop)
    found = backend.solve(
        program.model,
        gap_fraction=gap_fraction,
        time_limit_s=left_s(),
        watch=watch,
        should_stop=should_stop,
        enough=cost - gap_fraction * abs(cost),
    )
    return _better(program, found, cost)


def among_its_own(
    program: Program,
    plan: Solution,
    *,
    gap_fraction: float,
    time_limit_s: float,
    watch: backend.Watch | None = None,
    should_stop: backend.Stop | None = None,
) -> FirstPlan:
    """A plan that chooses no more than this one, if one is found that costs less, and the bound of those.

    Replicas are whole. The program is left with what was barred and narrowed.
    """
    ends = time.monotonic() + time_limit_s
    cost = _cost(program, plan)
    for choice in _not_taken(program, plan):
        choice.upBound = 0
    program.count_replicas()
    narrow(program, cost, time_limit_s=SHARE * time_limit_s, should_stop=should_stop)
    found = backend.solve(
        program.model,
        gap_fraction=gap_fraction,
        time_limit_s=max(ends - time.monotonic(), SOON_S),
        watch=watch,
        should_stop=should_stop,
        start=program.start(plan),
    )
    return _better(program, found, cost)


def _cost(program: Program, plan: Solution) -> float:
    """What a plan costs, in thousands."""
    return objective_value(program.problem, plan) / THOUSAND


def _not_taken(program: Program, plan: Solution) -> Iterator[pulp.LpVariable]:
    """Open choices that a plan does not take."""
    values = program.start(plan)
    for part in choices(program):
        for each in part.ravel():
            if each.lowBound != each.upBound and round(values.get(each.name, 0.0)) == 0:
                yield each


def _better(program: Program, found: backend.Outcome, cost: float) -> FirstPlan:
    """What came of a search in which nothing dearer than a known plan stayed."""
    if found.status is backend.Status.INFEASIBLE:
        return FirstPlan(None, bound=cost)
    better = found.status.has_plan and found.objective < cost
    plan = program.solution(found.values) if better else None
    return FirstPlan(plan, found.stopped, min(found.bound, cost))


def _cheap_enough(
    program: Program,
    others: list[pulp.LpVariable],
    cost: float,
    time_limit_s: float,
    should_stop: backend.Stop | None,
) -> bool:
    """Bar the choices that cost more than this with fractions of all else; is any left?

    Those for which no time is left stay.
    """
    fractions = Fractions(program.model, time_limit_s=time_limit_s, should_stop=should_stop)
    places = fractions.places(np.array(others, dtype=object))
    most = np.array([math.inf if each.upBound is None else each.upBound for each in others], dtype=float)
    left, dearer = 0, cost + ROUNDING * abs(cost)
    for number, choice in enumerate(others):
        one = slice(number, number + 1)
        fractions.move(places[one], np.ones(1), most[one])
        if fractions.exceeds(dearer):
            choice.upBound = 0
        else:
            left += 1
        fractions.move(places[one], np.zeros(1), most[one])
    return left > 0
