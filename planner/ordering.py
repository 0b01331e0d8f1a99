"""One objective after the other: what comes first is made least, then capped while the second is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from planner.scenario import Policy
from solver.answer import Answer
from solver.backend import Status
from solver.frontier import CARBON, MONEY, after_first
from solver.problem import Problem

TOLERANCE = 0.01  # of the first, given up for the second where nothing is stated


def first_tolerance(policy: Policy) -> float:
    """The share of the first objective that may be given up for the second."""
    return TOLERANCE if policy.tolerance_fraction is None else policy.tolerance_fraction


def first_stage(
    policy: Policy, problem: Problem, solve: Callable[[Problem], Answer]
) -> tuple[Problem, Answer | None]:
    """The problem of the second objective with the first one capped, and the plan that is best in the first.

    Any other policy has one stage: its problem stays as it is. So it does where the first has no plan; the
    answer then says why.
    """
    if policy.objective != "lexicographic":
        return problem, None
    carbon_first = policy.first == "carbon"
    best = solve(replace(problem, objective=CARBON if carbon_first else MONEY))
    if best.solution is None or best.status is Status.INTERRUPTED:
        return problem, best
    capped = after_first(
        problem, best.objective, carbon_first=carbon_first, tolerance_fraction=first_tolerance(policy)
    )
    return capped, best
