"""The best operation of a fleet that stays: everything whole is held, and what is left is decided anew."""

from __future__ import annotations

from solver import backend
from solver.build import build
from solver.problem import Problem, Solution

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
) -> Solution | None:
    """The plan with its operation chosen again, unchecked; None where the fleet is not enough."""
    program = build(problem)
    values = program.start(plan)
    for family in HELD:
        for variable in getattr(program, family).ravel():
            if variable is None:
                continue
            variable.lowBound = variable.upBound = values.get(variable.name, variable.lowBound or 0.0)
    found = backend.solve(
        program.model, gap_fraction=1e-6, time_limit_s=time_limit_s, should_stop=should_stop, engine=engine
    )
    return program.solution(found.values) if found.status.has_plan else None
