"""A first plan for large programs: solve with fractions, then search only among what could pay.

The search goes by steps. What is chosen once and shapes all else (runs, pausable options, rebates) is made
whole first (`choosing`). It is held while replicas and nodes are made whole next to their fractions, and
better plans are looked for nearby (`whole`); meanwhile a better bound is sought (`floor`). Where
no plan is found, choices are let go again. The README has what this is worth.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pulp

from solver import backend
from solver.build import THOUSAND
from solver.choosing import choose
from solver.floor import MANY, Floor
from solver.problem import Problem, Solution
from solver.program import Program
from solver.promising import bar_the_rest, likeliest
from solver.steps import STEPS, Search, choices, cost, count, hold, nodes, open_variables, ranges, restore
from solver.verify import objective_value
from solver.whole import improve, make_whole

REACH = 3  # times the seconds of the relaxation that a better bound takes at least
FOR_REBATES = 0.25  # of the time left, for options that suit the rebates of the bound
PAYS = 1e-4  # choices that are better by less than this share are not made whole once more


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
    relaxed_s = time.monotonic() - began
    floor, as_it_was = Floor(relaxed.objective, gap_fraction), ranges(program)
    rebates = program.tier.size > 0

    def pays() -> bool:
        return search.left_s >= REACH * relaxed_s

    if rebates and pays():
        floor.begin_with_rebates(program, relaxed, search)
    try:
        chosen = _chosen(program, relaxed, search, large=open_variables(as_it_was) >= MANY)
        if chosen.stopped or chosen.status is backend.Status.INFEASIBLE:
            return FirstPlan(None, chosen.stopped, floor.bound)
        if not rebates and pays():
            floor.begin_with_choices(program, as_it_was, search, chosen.values)
        plan, stopped = _whole_plan(program, chosen, search, floor)
        best = floor.end(at_once=stopped or floor.near)
        if rebates and not (stopped or best.stopped or floor.near) and pays():
            better = _for_these_rebates(program, best, search)
            pays_better = cost(better) < cost(chosen) * (1 - PAYS)
            chosen = better if pays_better else chosen
            floor.begin_with_choices(program, as_it_was, search, chosen.values)
            if pays_better:
                other, stopped = _whole_plan(program, chosen, search, floor)
                plan = _cheaper(program.problem, plan, other)
            best = floor.end(at_once=stopped or floor.near)
        if not stopped and not floor.near and cost(best) < cost(chosen) * (1 - PAYS):
            restore(as_it_was)  # better choices may be among what was barred
            program.count_replicas()
            other, stopped = _whole_plan(program, best, search, floor)
            plan = _cheaper(program.problem, plan, other)
        return FirstPlan(plan, stopped or best.stopped, floor.bound)
    finally:
        floor.end(at_once=True)
        restore(as_it_was)


def plan_of_choices(
    program: Program,
    *,
    gap_fraction: float,
    time_limit_s: float,
    watch: backend.Watch | None = None,
    should_stop: backend.Stop | None = None,
) -> FirstPlan:
    """A plan from what is chosen once, which is made whole alone, and held while all else is.

    For programs that one search can take: an engine that has to choose and to count at once finds a near plan
    late, and where it is told one it needs less for the bound. None where nothing is to be chosen. Who
    watches is told plans without a bound: that of held choices is none of the program. It is left as it was.
    """
    as_it_was = ranges(program)
    once = {each for part in choices(program) for each in part if each.lowBound != each.upBound}
    if not once:
        return FirstPlan(None)
    # The search that starts from it closes the gap: no step has to leave a part of it to others.
    search = Search(STEPS * gap_fraction, time.monotonic() + time_limit_s, should_stop)
    try:
        count([np.array([each for each in as_it_was if each not in once], dtype=object)], pulp.LpContinuous)
        chosen = search(program, None)
        restore(as_it_was)
        if chosen.stopped or not chosen.status.has_plan:
            return FirstPlan(None, chosen.stopped)
        hold(choices(program), chosen.values)
        program.count_replicas()  # what is shown, or kept by a stop, has to be a plan
        found = search(program, None, share=1.0, watch=_without_bound(watch))
        return FirstPlan(program.solution(found.values) if found.status.has_plan else None, found.stopped)
    finally:
        restore(as_it_was)


def _without_bound(watch: backend.Watch | None) -> backend.Watch | None:
    """Plans of a part of the program are its plans; what bounds the part bounds nothing else."""
    if watch is None:
        return None
    return lambda seen: watch(replace(seen, bound=-math.inf, gap_fraction=math.inf))


def _chosen(program: Program, relaxed: backend.Relaxation, search: Search, *, large: bool) -> backend.Outcome:
    """What is chosen once, while the rest may be fractions; all that is not promising is barred from now on.

    Where nothing is found, what is likeliest.
    """
    start = likeliest(program, relaxed)
    bar_the_rest(program, relaxed, any_pace=large)
    count([*nodes(program), program.replicas], pulp.LpContinuous)
    chosen = choose(program, search, start, at_once=large)
    count(nodes(program), pulp.LpInteger)
    program.count_replicas()
    return chosen if chosen.status.has_plan else replace(chosen, values=start)


def _for_these_rebates(program: Program, bound: backend.Outcome, search: Search) -> backend.Outcome:
    """Options for the rebates that the search for the bound took, among what is promising.

    Those of a plan were found in turns with its options, and may be far from the best.
    """
    if not bound.status.has_plan:
        return bound
    promising = ranges(program)
    hold([program.tier], bound.values)
    count([*nodes(program), program.replicas], pulp.LpContinuous)
    found = search(program, None, FOR_REBATES, backend.Looking.SOME)
    restore(promising)
    return found


def _whole_plan(
    program: Program, chosen: backend.Outcome, search: Search, floor: Floor
) -> tuple[Solution | None, bool]:
    """Nodes and replicas for these choices, and better plans nearby; was a stop asked for?"""
    promising = ranges(program)
    found = _made_whole(program, chosen.values, search)
    near = backend.gap(found.objective, floor.known) <= search.gap_fraction
    if found.status.has_plan and not found.stopped and not near:
        hold(choices(program), found.values)
        found = improve(program, found, search)
    restore(promising)
    if not found.status.has_plan:
        return None, found.stopped
    plan = program.solution(found.values)
    floor.tell(objective_value(program.problem, plan) / THOUSAND)
    return plan, found.stopped


def _made_whole(program: Program, values: Mapping[str, float], search: Search) -> backend.Outcome:
    """A plan with these choices, or where none is found, with any of the promising."""
    promising = ranges(program)
    hold(choices(program), values)
    found = make_whole(program, search) or search(program, None)
    restore(promising)
    return found if found.stopped or found.status.has_plan else search(program, None)


def _cheaper(problem: Problem, one: Solution | None, other: Solution | None) -> Solution | None:
    plans = [plan for plan in (one, other) if plan is not None]
    return min(plans, key=lambda plan: objective_value(problem, plan), default=None)
