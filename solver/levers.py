"""What each lever is worth on the fleet of a plan: operation chosen again without it, and with it alone.

Everything whole stays: orders, retirements, runs, replicas. So what is left are linear programs.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from solver import backend
from solver.build import build
from solver.known import check
from solver.operating import best_operation
from solver.problem import Problem, Solution

LEVERS = ("shift", "pack", "lend")


@dataclass(frozen=True, slots=True)
class Worth:
    """What operation takes by the weights of the objective, in money and in carbon."""

    usd: float
    kgco2e: float


def allowed_levers(problem: Problem) -> tuple[str, ...]:
    """Levers that a problem allows anywhere."""
    if not len(problem.slots):
        return ()
    found = {
        "shift": problem.work_shifts.may_move.any() or problem.pausable_shifts.may_move.any(),
        "pack": problem.resting.may_rest.any() or problem.switching.may_switch.any(),
        "lend": problem.work_shifts.may_borrow.any(),
    }
    return tuple(lever for lever in LEVERS if found[lever])


def with_levers(problem: Problem, levers: Collection[str]) -> Problem:
    """The problem with no other levers than these; without pack no replica rests, so that none is lent."""
    work, pausable, rests = problem.work_shifts, problem.pausable_shifts, problem.resting
    packs = "pack" in levers
    none = np.zeros(len(work), dtype=bool)
    return replace(
        problem,
        work_shifts=replace(
            work,
            may_move=work.may_move if "shift" in levers else none,
            may_borrow=work.may_borrow if "lend" in levers else none,
        ),
        pausable_shifts=replace(pausable, may_move=pausable.may_move & ("shift" in levers)),
        resting=replace(rests, may_rest=rests.may_rest & packs),
        switching=replace(problem.switching, may_switch=problem.switching.may_switch & packs),
    )


def operated(
    problem: Problem, plan: Solution, *, time_limit_s: float, should_stop: backend.Stop | None = None
) -> Worth | None:
    """Money and carbon of the best operation of the fleet of a plan; None where the fleet is not enough."""
    best = best_operation(problem, plan, time_limit_s=time_limit_s, should_stop=should_stop)
    if best is None or check(build(problem), best, 1e-6):
        return None
    return Worth(best.usd, best.kgco2e)
