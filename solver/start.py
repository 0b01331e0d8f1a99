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
from solver.by_periods import better_by_periods, plan_by_periods
from solver.choosing import choose, with_rebates
from solver.floor import MANY, Floor
from solver.problem import Solution
from solver.program import Program
from solver.promising import MOSTLY, bar_the_rest, likeliest
from solver.steps import (
    STEPS,
    Range,
    Search,
    choices,
    cost,
    count,
    hold,
    nodes,
    open_variables,
    ranges,
    restore,
)
from solver.tables import Floats
from solver.verify import objective_value
from solver.whole import improve, make_whole

REACH = 3  # times the seconds of the relaxation that a better bound takes at least
FEW = 30_000  # open variables below which a search of all lifts the bound: of 15,000, and not of 71,000
NEARBY = 0.3  # of the time left, for plans near to one where nodes have spares, before all is searched
ROUGHLY = 0.02  # how near to its best a period goes for a plan that a search starts from
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

    parts: Floats | None = None
    if rebates and pays():
        parts = floor.begin_with_rebates(program, relaxed, search)
    try:
        chosen = _chosen(program, relaxed, search, parts, large=open_variables(as_it_was) >= MANY)
        if chosen.stopped or chosen.status is backend.Status.INFEASIBLE:
            return FirstPlan(None, chosen.stopped, floor.bound)
        if not rebates and pays():
            floor.begin_with_choices(program, as_it_was, search, chosen.values)
        found = _whole_plan(program, chosen, search, floor)
        if program.reaches:  # where nodes have spares, no search for a bound is over before the time is
            goes_on = pays() and open_variables(as_it_was) < FEW
            found = _improved(program, found, search.within(NEARBY) if goes_on else search, floor)
            if goes_on:
                found = _searched(program, as_it_was, found, search, floor)
        best = floor.end(at_once=found.stopped or floor.near)
        while not (found.stopped or best.stopped or floor.near):
            lifts = rebates and best.status.has_plan and pays()
            if lifts:
                floor.leave_out(program, chosen)
                tried = chosen if floor.knows(program, best) else _for_these_rebates(program, best, search)
                floor.leave_out(program, tried)
                floor.begin_with_other_rebates(search)
                if cost(tried) < cost(chosen) * (1 - PAYS):
                    chosen = tried
                    found = min(found, _whole_plan(program, chosen, search, floor), key=cost)
            found = _improved(program, found, search, floor)
            if not lifts:
                break
            best = floor.end(at_once=found.stopped or floor.near)
        # Choices made next to fractions of spares are no measure of those made next to whole ones.
        better = not (rebates or program.reaches) and cost(best) < cost(chosen) * (1 - PAYS)
        if better and not (found.stopped or best.stopped or floor.near):
            restore(as_it_was)  # better choices may be among what was barred
            program.count_replicas()
            found = min(found, _whole_plan(program, best, search, floor), key=cost)
        plan = program.solution(found.values) if found.status.has_plan else None
        return FirstPlan(plan, found.stopped or best.stopped, floor.bound)
    finally:
        floor.end(at_once=True)
        restore(as_it_was)


def plan_by_rounding(
    program: Program, *, gap_fraction: float, time_limit_s: float, should_stop: backend.Stop | None = None
) -> FirstPlan:
    """A plan from options that are rounded one after the other, and no bound but that of the relaxation.

    For programs whose bound is looked for elsewhere. The program is left as it was.
    """
    search = Search(gap_fraction, time.monotonic() + time_limit_s, should_stop)
    relaxed, as_it_was = search.relax(program, crossover=False), ranges(program)
    if relaxed.status is not backend.Status.OPTIMAL:
        return FirstPlan(None, relaxed.stopped)
    try:
        found = _chosen(program, relaxed, search, None, large=True)
        if not found.stopped and found.status is not backend.Status.INFEASIBLE:
            found = _made_whole(program, found.values, search)
        plan = program.solution(found.values) if found.status.has_plan else None
        return FirstPlan(plan, found.stopped, relaxed.objective)
    finally:
        restore(as_it_was)


def plan_of_choices(
    program: Program,
    *,
    gap_fraction: float,
    time_limit_s: float,
    watch: backend.Watch | None = None,
    should_stop: backend.Stop | None = None,
) -> FirstPlan:
    """A plan from what is chosen once, which is made whole alone, and all else for what was chosen.

    For programs that one search can take: an engine that has to choose and to count at once finds a near plan
    late, and where it is told one it needs less for the bound. What is not chosen is barred while all else is
    made whole. Where nodes have spares that goes by periods: an engine finds as good a plan late, or by luck.
    None where nothing is to be chosen. Who watches is told plans without a bound: that of these choices is
    none of the program. It is left as it was.
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
        for each in once:
            if round(chosen.values.get(each.name, 0.0)) == 0:
                each.upBound = 0
        program.count_replicas()  # what is shown, or kept by a stop, has to be a plan
        found = _by_periods(program, search)
        if found is not None and found.status.has_plan and watch is not None:
            watch(backend.Progress(found.objective, -math.inf, math.inf, found.elapsed_s))
        found = found or search(program, None, share=1.0, watch=_without_bound(watch))
        return FirstPlan(program.solution(found.values) if found.status.has_plan else None, found.stopped)
    finally:
        restore(as_it_was)


def _by_periods(program: Program, search: Search) -> backend.Outcome | None:
    """A plan with these choices where nodes have spares, near enough to tell what else could pay."""
    if not program.reaches:
        return None
    roughly = replace(search, gap_fraction=STEPS * ROUGHLY)
    found = plan_by_periods(program, roughly)
    if found is not None and found.status.has_plan and not found.stopped:
        for better in better_by_periods(program, found, roughly, rounds=1):
            found = better
    return found


def _without_bound(watch: backend.Watch | None) -> backend.Watch | None:
    """Plans of a part of the program are its plans; what bounds the part bounds nothing else."""
    if watch is None:
        return None
    return lambda seen: watch(replace(seen, bound=-math.inf, gap_fraction=math.inf))


def _chosen(
    program: Program,
    relaxed: backend.Relaxation,
    search: Search,
    parts: Floats | None,
    *,
    large: bool,
) -> backend.Outcome:
    """What is chosen once, while the rest may be fractions: with rebates near to these parts, if told.

    Where none are told, all that is not promising is barred from now on. Where nothing is found, what is
    likeliest.
    """
    start = likeliest(program, relaxed)
    if parts is not None:
        start |= {each.name: float(part > MOSTLY) for each, part in zip(program.tier, parts, strict=True)}
    if parts is None:
        bar_the_rest(program, relaxed, any_pace=large)
    with_spares, kinds = bool(program.reaches), ranges(program)
    once = {each for part in choices(program) for each in part}
    counted = [each for each in kinds if each not in once] if with_spares else []
    count([*nodes(program), program.replicas, np.array(counted, dtype=object)], pulp.LpContinuous)
    rounded = large or (with_spares and parts is None)
    chosen = choose(program, search, start, parts, at_once=rounded, again=with_spares)
    restore(kinds)
    program.count_replicas()
    return chosen if chosen.status.has_plan else replace(chosen, values=start)


def _for_these_rebates(program: Program, bound: backend.Outcome, search: Search) -> backend.Outcome:
    """Options for the rebates that the search for the bound took; those are told also where none fit."""
    count([*nodes(program), program.replicas], pulp.LpContinuous)
    found = with_rebates(program, search, bound.values)
    count(nodes(program), pulp.LpInteger)
    program.count_replicas()
    return found if found.status.has_plan else replace(found, values=bound.values)


def _whole_plan(program: Program, chosen: backend.Outcome, search: Search, floor: Floor) -> backend.Outcome:
    """Nodes and replicas for these choices, or where none are found, for any of the promising."""
    promising = ranges(program)
    found = _made_whole(program, chosen.values, search)
    restore(promising)
    return _with_floor_raised(program, found, floor)


def _improved(program: Program, found: backend.Outcome, search: Search, floor: Floor) -> backend.Outcome:
    """Better plans near to one, with its choices."""
    if not found.status.has_plan or found.stopped:
        return found
    promising = ranges(program)
    hold(choices(program), found.values)
    if program.reaches:
        for better in better_by_periods(program, found, search):
            found = _with_floor_raised(program, better, floor)
            if floor.near:
                break
    else:
        found = improve(program, found, search)
    restore(promising)
    return _with_floor_raised(program, found, floor)


def _searched(
    program: Program,
    as_it_was: Mapping[pulp.LpVariable, Range],
    found: backend.Outcome,
    search: Search,
    floor: Floor,
) -> backend.Outcome:
    """Better plans and a better bound from a plan on, with all open, next to the search for the bound.

    An engine that is told a plan leaves out what costs more: of 32 node groups the bound is 0.4 % higher for
    the same seconds of processor. A plan that is found counts; so does the bound, as nothing is barred.
    """
    if not found.status.has_plan or found.stopped or floor.near:
        return found
    promising = ranges(program)
    restore(as_it_was)
    program.count_replicas()
    better = backend.solve(
        program.model,
        gap_fraction=search.gap_fraction,
        time_limit_s=search.left_s,
        should_stop=search.should_stop,
        start=found.values,
    )
    restore(promising)
    if better.status is not backend.Status.INFEASIBLE:  # by rounding: there is a plan
        floor.known = max(floor.known, better.bound)
    found = replace(min(found, better, key=cost), stopped=better.stopped)
    return _with_floor_raised(program, found, floor)


def _with_floor_raised(program: Program, found: backend.Outcome, floor: Floor) -> backend.Outcome:
    if found.status.has_plan:
        floor.tell(objective_value(program.problem, program.solution(found.values)) / THOUSAND)
    return found


def _made_whole(program: Program, values: Mapping[str, float], search: Search) -> backend.Outcome:
    """A plan with these choices, or where none is found, with any of the promising."""
    promising = ranges(program)
    hold(choices(program), values)
    by_hand = plan_by_periods if program.reaches else make_whole
    found = by_hand(program, search) or search(program, None)
    restore(promising)
    return found if found.stopped or found.status.has_plan else search(program, None)
