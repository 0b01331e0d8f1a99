"""A first plan for large programs: solve with fractions, then search only among what that solution uses.

The engine alone takes long to find a good plan of a large fleet; the README has what this start is worth.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from solver import backend
from solver.build import build
from solver.problem import Problem, Solution
from solver.program import Program, Variables
from solver.tables import Flags, Floats, Whole

BEST_OF_EACH = 3  # options that every job and service keeps on the pools in use, used by the fractions or not
SOME = 1e-6  # less than this of a variable is none


def first_plan(
    problem: Problem, *, gap_fraction: float, time_limit_s: float, should_stop: backend.Stop | None = None
) -> tuple[Solution | None, bool]:
    """The best plan found among the promising options, if any; and whether the search was asked to stop."""
    program = build(problem)
    began = time.monotonic()
    relaxed = backend.relax(program.model, time_limit_s=time_limit_s, should_stop=should_stop)
    left_s = time_limit_s - (time.monotonic() - began)
    if relaxed.status is not backend.Status.OPTIMAL or left_s <= 0:
        return None, relaxed.stopped
    _bar_the_rest(program, relaxed)
    outcome = backend.solve(
        program.model, gap_fraction=gap_fraction, time_limit_s=left_s, should_stop=should_stop
    )
    return (program.solution(outcome.values) if outcome.status.has_plan else None), outcome.stopped


def _bar_the_rest(program: Program, relaxed: backend.Relaxation) -> None:
    """Leave orders to pools in use, and to each job and service what was used there or costs least to use."""
    problem = program.problem

    def read(variables: Variables, told: Callable[[str], float]) -> Floats:
        return np.array([told(each.name) for each in variables.ravel()]).reshape(variables.shape)

    def value(name: str) -> float:
        return relaxed.values.get(name, 0.0)

    def cost(name: str) -> float:
        return relaxed.reduced_costs.get(name, 0.0)

    pools = np.any(read(program.in_service, value) > SOME, axis=1)
    runs, serves = problem.run_options, problem.serve_options
    run = (read(program.run, value) > SOME) | _least(runs.job, pools[runs.pool], read(program.run, cost))
    served = read(program.replicas, value).max(axis=1, initial=0.0) > SOME
    serve = served | _least(serves.service, pools[serves.pool], read(program.replicas, cost).sum(axis=1))
    for variables, kept in ((program.order, pools), (program.run, run), (program.replicas, serve)):
        for variable in variables[~kept].ravel():
            variable.upBound = 0


def _least(group: Whole, eligible: Flags, cost: Floats) -> Flags:
    """The rows of each group that cost least among the eligible ones."""
    kept = np.zeros(group.shape, dtype=bool)
    for member in np.unique(group):
        rows = np.flatnonzero((group == member) & eligible)
        kept[rows[np.argsort(cost[rows], kind="stable")[:BEST_OF_EACH]]] = True
    return kept
