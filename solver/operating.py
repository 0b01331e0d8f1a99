"""The best operation of a fleet that stays: everything whole is held, and what is left is decided anew."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from solver import backend
from solver.build import build
from solver.problem import Problem, Solution
from solver.program import Program
from solver.tables import Flags

SOME = 1e-3  # of an order: less is none
EXACTLY, NEARLY = 1e-6, 1e-4  # the gap of an operation; and where nodes are chosen with it
HELD = (
    "order",
    "commit",
    "retire",
    "sell",
    "move",
    "run",
    "choose",
    "left_out",
    "replicas",
    "adopt",
    "sign",
    "reuse",
)


def best_operation(
    problem: Problem,
    plan: Solution,
    *,
    time_limit_s: float,
    should_stop: backend.Stop | None = None,
    engine: str = "highs",
    instead: Flags | None = None,
    more: bool = False,
) -> Solution | None:
    """The plan with its operation chosen again, unchecked; None where the fleet is not enough.

    Runs [R] that may take place `instead` of those of the plan are chosen, too; and `more` orders or fewer
    retirements, where a slot lacks nodes that the mean of many has.
    """
    program = build(for_this(problem, plan))
    before = program.start(plan)
    free = [] if instead is None else [(each, 0.0, each.upBound) for each in program.run[instead]]
    if more:
        free += [(each, before[each.name], each.upBound) for each in program.order.ravel()]
        free += [(each, each.lowBound, before[each.name]) for each in program.retire.ravel()]
    hold(program, before, HELD)
    for variable, least, most in free:
        variable.lowBound, variable.upBound = least, most
    found = backend.solve(
        program.model,
        gap_fraction=NEARLY if more else EXACTLY,
        time_limit_s=time_limit_s,
        should_stop=should_stop,
        engine=engine,
    )
    return program.solution(found.values) if found.status.has_plan else None


def with_more_nodes(
    problem: Problem, plan: Solution, *, time_limit_s: float, should_stop: backend.Stop | None = None
) -> Solution | None:
    """The plan with as many more orders as its operation needs, unchecked; None where none are enough.

    Orders are fractions at first, and rounded up.
    """
    program = build(for_this(problem, plan))
    before = program.start(plan)
    hold(program, before, [family for family in HELD if family != "order"])
    for variable in program.order.ravel():
        variable.lowBound = before[variable.name]
    found = backend.relax(
        program.model, time_limit_s=time_limit_s, should_stop=should_stop, crossover=False, inside=True
    )
    if found.status is not backend.Status.OPTIMAL:
        return None
    up = {each.name: math.ceil(found.values[each.name] - SOME) for each in program.order.ravel()}
    return program.solution({**found.values, **up})


def hold(program: Program, values: Mapping[str, float], families: Iterable[str]) -> None:
    """Leave variables at these values; those without one at their least."""
    for family in families:
        for variable in getattr(program, family).ravel():
            if variable is not None:
                variable.lowBound = variable.upBound = values.get(variable.name, variable.lowBound or 0.0)


def for_this(problem: Problem, plan: Solution) -> Problem:
    """The problem without slots of what a plan does not have; whatever its fleet may do is left.

    Of 72 node groups over 8 periods of 24 slots a quarter of the columns stays.
    """
    if not len(problem.slots):
        return problem
    rented = problem.node_groups.rental_limit_nodes
    stands: Flags = np.any((plan.in_service > 0) | (rented > 0), axis=1, keepdims=True)[:, 0]
    serves: Flags = np.any(plan.replicas > 0, axis=1, keepdims=True)[:, 0]
    here = stands[problem.work_options.node_group]

    def only(table: Any, **allowed: Flags) -> Any:
        if not len(table):
            return table
        return replace(table, **{name: getattr(table, name) & some for name, some in allowed.items()})

    return replace(
        problem,
        work_shifts=only(problem.work_shifts, may_move=here, may_borrow=here),
        pausable_shifts=only(problem.pausable_shifts, may_move=plan.chosen > 0),
        resting=only(problem.resting, may_rest=serves),
        switching=only(problem.switching, may_switch=stands),
    )
