"""Replicas, deployments and spares made whole one period after the other, where nodes have spares.

With choices held, all that ties periods together is nodes: orders, retirements, moves. A few hundred whole
numbers in each period are too many at once, since each node group that serves takes steps of spares and
deployments of its own. So the first period is made whole while all later ones are fractions, then held while
the next one is; orders and retirements stay open and are whole in each search. Then one period after the
other is let go again next to all others as they are, until that brings no more.

The first is relax-and-fix, the second fix-and-optimize (Pochet and Wolsey, "Production Planning by Mixed
Integer Programming", 2006, section 3.6).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pulp

from solver import backend
from solver.constrain_tasks import serving
from solver.program import Program
from solver.rows import Variables
from solver.steps import SOON_S, Search, cost, count, hold, nodes, ranges, restore

SHARE = 0.5  # of the time left, for all periods the first time
AGAIN = 0.1  # and for one of them again
NEARLY = 0.5  # of the gap asked for: how near to its best a period goes again
PAYS = 1e-4  # rounds that win less than this share are over


def plan_by_periods(program: Program, search: Search) -> backend.Outcome | None:
    """A plan from these choices, which have to be held; none where a period has none after the others."""
    periods, within = program.problem.periods, search.within(SHARE)
    found: backend.Outcome | None = None
    for period in range(periods):
        before = () if found is None else range(period)
        with _open(program, period, before, {} if found is None else found.values):
            found = within(program, _all_but_nodes(program, found), 1 / (periods - period))
        if found.stopped or not found.status.has_plan:
            return found if found.stopped else None
    return found


def _all_but_nodes(program: Program, found: backend.Outcome | None) -> dict[str, float] | None:
    """A start from the plan of the period before: an engine rounds its fractions, with other nodes, if any.

    Without it the first plan of a period may cost twice as much, and is held where time runs out: of 88 node
    groups over 4 periods, 23,183 kUSD after 83 s of processor where 16,513 come of 74 s with it.
    """
    if found is None:
        return None
    counted = {each.name for part in nodes(program) for each in part.ravel()}
    return {name: value for name, value in found.values.items() if name not in counted}


def better_by_periods(
    program: Program, found: backend.Outcome, search: Search, *, rounds: float = np.inf
) -> Iterator[backend.Outcome]:
    """Ever better plans, each with one period of the one before it chosen anew. Choices have to be held.

    An outcome that was stopped says so, and is the last. No more rounds over all periods than these.
    """
    nearly = replace(search, gap_fraction=NEARLY * search.gap_fraction)
    before, done = np.inf, 0
    while done < rounds and cost(found) < before * (1 - PAYS) and search.left_s > SOON_S:
        before, done = cost(found), done + 1
        for period in range(program.problem.periods):
            others = [each for each in range(program.problem.periods) if each != period]
            with _open(program, period, others, found.values):
                better = nearly(program, found.values, AGAIN)
            if better.stopped:
                yield replace(min(better, found, key=cost), stopped=True)
                return
            if cost(better) < cost(found):
                found = better
                yield found


@contextmanager
def _open(
    program: Program, period: int, held: range | tuple[()] | list[int], values: Mapping[str, float]
) -> Iterator[None]:
    """Meanwhile what serves in the held periods is as it is, and a fraction in all others but this one."""
    as_it_was = ranges(program)
    for other in range(program.problem.periods):
        if other in held:
            hold(_serving_in(program, other)[:2], values)
        elif other != period:
            count(_serving_in(program, other), pulp.LpContinuous)
    try:
        yield
    finally:
        restore(as_it_was)


def _serving_in(program: Program, period: int) -> tuple[Variables, ...]:
    """What is whole of a period: replicas, what serves, and what follows from these."""
    of = np.nonzero(program.problem.serve_options.chosen_or_not)[1]
    steps = [each for row, each in program.reaches.items() if int(row.rpartition("_")[2]) == period]
    return program.replicas[:, period], serving(program)[of == period], program.rented[:, period], *steps
