"""A first plan for large programs: solve with fractions, then search only among what could pay.

The search goes by steps. What is chosen once and shapes all else (runs, elastic options, rebates) is made
whole first (`choosing`). It is held while replicas and nodes are made whole next to their fractions, and
better plans are looked for nearby (`whole`). Where none is found, choices are let go again. The README has
what this is worth.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import pulp

from solver import backend
from solver.build import THOUSAND
from solver.choosing import choose
from solver.problem import Problem, Solution
from solver.program import Program
from solver.promising import bar_the_rest, likeliest
from solver.steps import Search, choices, count, hold, nodes, ranges, restore
from solver.verify import objective_value
from solver.whole import improve, make_whole

IMPROVING = 0.55  # share of the time left that may go into a better plan, where a better bound is in reach
REACH = 5  # times the seconds of the relaxation that a better bound takes at least
REBATES = 0.9  # share of the time left for the bound with whole rebates
CLOSELY = 0.1  # of the gap of a step, for whole rebates: little more time, and all of it is bound


class FirstPlan(NamedTuple):
    """The best plan found, if any, and the best bound: no plan is below it, in thousands."""

    plan: Solution | None
    stopped: bool = False  # on request
    bound: float = -math.inf


def first_plan(
    program: Program, *, gap_fraction: float, time_limit_s: float, should_stop: backend.Stop | None = None
) -> FirstPlan:
    """A plan from the promising options, and where it is not near, a better bound.

    The program is left as it was.
    """
    began = time.monotonic()
    search = Search(gap_fraction, began + time_limit_s, should_stop)
    relaxed = search.relax(program, crossover=False)
    if relaxed.status is not backend.Status.OPTIMAL:
        return FirstPlan(None, relaxed.stopped)
    bound_s = REACH * (time.monotonic() - began)
    as_it_was = ranges(program)
    try:
        found = _among_the_promising(program, relaxed, search, bound_s)
        restore(as_it_was)
        if found.stopped or _is_near(program.problem, found.plan, found.bound, gap_fraction):
            return found
        if search.left_s < bound_s:
            return found
        start = program.start(found.plan) if found.plan is not None else None
        bound, stopped = _with_whole_choices(program, search, start)
        return FirstPlan(found.plan, stopped, max(found.bound, bound))
    finally:
        restore(as_it_was)


def _among_the_promising(
    program: Program, relaxed: backend.Relaxation, search: Search, bound_s: float
) -> FirstPlan:
    """What is chosen once, while the rest may be fractions; then nodes and replicas."""
    start = likeliest(program, relaxed)
    bar_the_rest(program, relaxed)
    count([*nodes(program), program.replicas], pulp.LpContinuous)
    chosen = choose(program, search, start)
    if chosen.stopped or chosen.status is backend.Status.INFEASIBLE:
        return FirstPlan(None, chosen.stopped, relaxed.objective)
    count(nodes(program), pulp.LpInteger)
    program.count_replicas()
    found = _made_whole(program, chosen.values or start, search)
    near = backend.gap(found.objective, relaxed.objective) <= search.gap_fraction
    if found.status.has_plan and not found.stopped and not near:
        hold(choices(program), found.values)
        share = IMPROVING if (1 - IMPROVING) * search.left_s >= bound_s else 1.0
        found = improve(program, found, search.within(share))
    plan = program.solution(found.values) if found.status.has_plan else None
    return FirstPlan(plan, found.stopped, relaxed.objective)


def _made_whole(program: Program, values: Mapping[str, float], search: Search) -> backend.Outcome:
    """A plan with these choices, or where none is found, with any of the promising."""
    promising = ranges(program)
    hold(choices(program), values)
    found = make_whole(program, search) or search(program, None)
    restore(promising)
    return found if found.stopped or found.status.has_plan else search(program, None)


def _is_near(problem: Problem, plan: Solution | None, bound: float, gap_fraction: float) -> bool:
    """Is a plan within the gap of a bound in thousands?"""
    return plan is not None and backend.gap(objective_value(problem, plan), bound * THOUSAND) <= gap_fraction


def _with_whole_choices(
    program: Program, search: Search, start: Mapping[str, float] | None
) -> tuple[float, bool]:
    """The bound from all options where only what is chosen once is whole: rebates, then options as well.

    Rebates as fractions cost the bound most, and they are few. A plan to start from spares a third of the
    time of the second search.
    """
    count([*nodes(program), program.replicas], pulp.LpContinuous)
    options = (program.run, program.choose)
    bound, stopped = -math.inf, False
    if program.tier.size:
        count(options, pulp.LpContinuous)
        closely = replace(search, gap_fraction=CLOSELY * search.gap_fraction)
        outcome = closely(program, None, REBATES)
        bound, stopped = outcome.bound, outcome.stopped
        count(options, pulp.LpInteger)
    if not stopped:
        outcome = search(program, start, 1.0)
        bound, stopped = max(bound, outcome.bound), outcome.stopped
    return bound, stopped
