"""A first plan for large programs: solve with fractions, then search only among what could pay.

The search goes by steps. What is chosen once and shapes all else (runs, elastic options, rebates) is made
whole first. It is held while replicas and nodes are made whole, which is a plan; where none is found, choices
are let go again. From that plan replicas and nodes are searched on. The README has what this is worth.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import pulp

from solver import backend
from solver.build import THOUSAND
from solver.problem import Problem, Solution
from solver.program import Program, Variables
from solver.promising import bar_the_rest, likeliest
from solver.verify import objective_value

STEP = 0.5  # share of the time left that each step may take
SOON_S = 1e-3  # what is left of a time limit that is used up

Range = tuple[float | None, float | None, str]  # least, most and kind of a variable


class FirstPlan(NamedTuple):
    """The best plan found, if any, and the best bound: no plan is below it, in thousands."""

    plan: Solution | None
    stopped: bool = False  # on request
    bound: float = -math.inf


@dataclass(frozen=True, slots=True)
class _Search:
    """What every step is given, and when all of them have to end."""

    gap_fraction: float
    ends: float
    should_stop: backend.Stop | None

    @property
    def left_s(self) -> float:
        return max(self.ends - time.monotonic(), SOON_S)

    def __call__(self, program: Program, start: Mapping[str, float] | None) -> backend.Outcome:
        # The steps share the gap.
        return backend.solve(
            program.model,
            gap_fraction=self.gap_fraction / 3,
            time_limit_s=STEP * self.left_s,
            should_stop=self.should_stop,
            start=start,
        )


def first_plan(
    program: Program, *, gap_fraction: float, time_limit_s: float, should_stop: backend.Stop | None = None
) -> FirstPlan:
    """A plan from the promising options, and where it is not near, a better bound.

    The program is left as it was.
    """
    search = _Search(gap_fraction, time.monotonic() + time_limit_s, should_stop)
    relaxed = backend.relax(
        program.model, time_limit_s=search.left_s, should_stop=should_stop, crossover=False
    )
    if relaxed.status is not backend.Status.OPTIMAL:
        return FirstPlan(None, relaxed.stopped)
    as_it_was = _ranges(program)
    try:
        found = _among_the_promising(program, relaxed, search)
        _restore(program, as_it_was)
        if found.stopped or _is_near(program.problem, found.plan, found.bound, gap_fraction):
            return found
        bound, stopped = _with_whole_choices(program, search)
        return FirstPlan(found.plan, stopped, max(found.bound, bound))
    finally:
        _restore(program, as_it_was)


def _among_the_promising(program: Program, relaxed: backend.Relaxation, search: _Search) -> FirstPlan:
    """What is chosen once, while the rest may be fractions; then nodes; then replicas."""
    start = likeliest(program, relaxed)
    bar_the_rest(program, relaxed)
    _count(_nodes(program), pulp.LpContinuous)
    _count([program.replicas], pulp.LpContinuous)
    chosen = search(program, start)
    if chosen.stopped or chosen.status is backend.Status.INFEASIBLE:
        return FirstPlan(None, chosen.stopped, relaxed.objective)
    _count(_nodes(program), pulp.LpInteger)
    program.count_replicas()
    promising = _ranges(program)
    found = _made_whole(program, chosen.values or start, search)
    stopped = found.stopped
    if found.status.has_plan and not stopped:
        _restore(program, promising)
        _hold_choices(program, found.values)
        better = search(program, found.values)
        found, stopped = min(found, better, key=_cost), better.stopped
    plan = program.solution(found.values) if found.status.has_plan else None
    return FirstPlan(plan, stopped, relaxed.objective)


def _made_whole(program: Program, values: Mapping[str, float], search: _Search) -> backend.Outcome:
    """A plan with these choices, or where none is found, with any of the promising."""
    promising = _ranges(program)
    _hold_choices(program, values)
    found = search(program, None)
    if found.stopped or found.status.has_plan:
        return found
    _restore(program, promising)
    return search(program, None)


def _cost(outcome: backend.Outcome) -> float:
    return outcome.objective if outcome.status.has_plan else math.inf


def _is_near(problem: Problem, plan: Solution | None, bound: float, gap_fraction: float) -> bool:
    """Is a plan within the gap of a bound in thousands?"""
    return plan is not None and backend.gap(objective_value(problem, plan), bound * THOUSAND) <= gap_fraction


def _with_whole_choices(program: Program, search: _Search) -> tuple[float, bool]:
    """The bound from all options where only what is chosen once is whole: rebates, or without any the rest.

    Rebates as fractions cost the bound most, and they are few.
    """
    _count(_nodes(program), pulp.LpContinuous)
    _count([program.replicas], pulp.LpContinuous)
    if program.tier.size:
        _count([program.run, program.choose], pulp.LpContinuous)
    outcome = search(program, None)
    return outcome.bound, outcome.stopped


def _hold(columns: Iterable[Variables], values: Mapping[str, float]) -> None:
    """Leave variables at the whole numbers that their values stand for."""
    for variables in columns:
        for variable in variables.ravel():
            variable.lowBound = variable.upBound = round(values.get(variable.name, 0.0))


def _hold_choices(program: Program, values: Mapping[str, float]) -> None:
    _hold([program.run, program.choose, program.tier], values)


def _count(columns: Iterable[Variables], kind: str) -> None:
    for variables in columns:
        for variable in variables.ravel():
            variable.cat = kind


def _nodes(program: Program) -> tuple[Variables, ...]:
    """What counts nodes by the period."""
    return program.order, program.rented, program.retire, program.move


def _ranges(program: Program) -> dict[pulp.LpVariable, Range]:
    """Least, most and kind of every variable, to go back to."""
    return {each: (each.lowBound, each.upBound, each.cat) for each in program.model.variables()}


def _restore(program: Program, ranges: Mapping[pulp.LpVariable, Range]) -> None:
    for variable, (least, most, kind) in ranges.items():
        variable.lowBound, variable.upBound, variable.cat = least, most, kind
