"""How many nodes a plan could use that costs no more than a known one: what lies beyond is out of the search.

Steps of spares reach as far as all services and jobs together could on one node group, some hundred nodes,
where a plan that pays has a few dozen there. As fractions, spares are as cheap as at the far end: a seventh
of a spare for a node that takes a third of one when it is among few. So each row of steps is asked for the
most nodes that the relaxation allows at the cost of a plan that is known, and its steps end there:

    most[p,t] = max u[p,t]  where  cost <= that of the plan, with fractions of everything

Every plan that costs no more stays. Asked once more of the tighter relaxation, next to nothing came of it.

Source: Gleixner, Berthold, Mueller, Weltge, "Three enhancements for optimization-based bound tightening",
J. Global Optimization 67, 2017.
"""

from __future__ import annotations

import math

import pulp

from solver import backend
from solver.program import Program
from solver.rows import Variables
from solver.warm_relaxation import Fractions

ROUNDING = 1e-6  # of the cost and of the nodes: so much is left to the rounding of the engine
NODES = 1e-3  # and so many nodes


def narrow(
    program: Program, cost: float, *, time_limit_s: float, should_stop: backend.Stop | None = None
) -> None:
    """Let steps of spares end at what plans could use that cost no more than this, in thousands.

    Rows for which no time is left stay as they are.
    """
    if not program.reaches:
        return
    rows = program.model.constraints
    fractions = Fractions(program.model, time_limit_s=time_limit_s, should_stop=should_stop)
    fractions.keep_below(cost + ROUNDING * abs(cost))
    for row, steps in program.reaches.items():
        used = dict(rows[row].items())
        for step in steps:
            del used[step]
        most = fractions.most(used)
        if math.isfinite(most):
            _end_steps(rows[row], steps, most + ROUNDING * abs(most) + NODES)


def _end_steps(row: pulp.LpConstraint, steps: Variables, most: float) -> None:
    """Let the steps of a row reach so many nodes and no more."""
    before = 0.0
    for step in steps:
        reach = before - row.expr[step]
        if before >= most:
            step.upBound = 0
        elif reach > most:
            row.expr[step] = before - most
        before = reach
