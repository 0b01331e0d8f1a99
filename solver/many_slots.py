"""Large problems with slots, whose program is not written down: their plan and their bound, of few slots.

All slots of 72 node groups over 8 periods of 24 are 633,001 columns, which take ten seconds to write down and
minutes to solve with fractions. So whole numbers are chosen next to the mean of all slots, which knows what
is lent and what rests, as a plan without slots does not. What it does not know are slots in which less is
free than in the mean: orders grow until the nodes are enough, next to finer means. The operation in all slots
is chosen then (`operating`), and the bound is looked for at the same time.
"""

from __future__ import annotations

import time

import numpy as np

from solver import backend
from solver.build import build
from solver.mean_slots import mean_slots
from solver.operating import with_more_nodes
from solver.problem import Problem
from solver.spare_rows import add_spare_rows
from solver.start import FirstPlan, plan_by_rounding
from solver.tighten import keep_the_pace, split_by_rebate

MEANS = 3  # slots of the bound, each the mean of neighbours
FINER = 12  # and of the operation that tells how many nodes are enough
ROUGHLY = 0.02  # how near to their best the steps of a plan go, where no less is asked


def bound_of_means(
    problem: Problem, ends: float, should_stop: backend.Stop | None = None
) -> backend.Running | None:
    """Fractions with few slots that join neighbours, in a thread.

    Those of all slots take minutes. The rows of `tighten` lift the bound of 72 node groups by 1.2 %, for a
    sixth more time. Where nodes have spares, one slot bounds as much as three: of 88 node groups over 4
    periods 14,003 and 14,055 kUSD. None where there are no such means.
    """
    means = mean_slots(problem, 1 if len(problem.spare_steps) else MEANS, changes=True)
    if means is problem:
        return None
    few, limit_s = build(means), max(ends - time.monotonic(), backend.SOON_S)
    keep_the_pace(few)
    split_by_rebate(few, np.ones(len(problem.sku_names), dtype=bool), best_only=True)
    add_spare_rows(few)
    return backend.begin(
        few.model, gap_fraction=0.0, time_limit_s=limit_s, should_stop=should_stop, whole=False
    )


def plan_of_one_slot(
    problem: Problem,
    *,
    gap_fraction: float,
    ends: float,
    time_limit_s: float,
    should_stop: backend.Stop | None = None,
) -> FirstPlan:
    """A plan next to the mean of all slots, with nodes enough for most of them, and the bound of that mean.

    The limit is for the mean alone, and what is left until `ends` for more nodes. None where there is no such
    mean or no such plan; nor where nodes have spares, as periods made whole one after the other take as long
    as a plan without slots, which operates.
    """
    mean, finer = mean_slots(problem, 1), mean_slots(problem, FINER)
    if mean is problem or len(problem.spare_steps):
        return FirstPlan(None)
    found = plan_by_rounding(
        build(mean),
        gap_fraction=max(gap_fraction, ROUGHLY),
        time_limit_s=time_limit_s,
        should_stop=should_stop,
    )
    left_s = ends - time.monotonic()
    if found.plan is None or found.stopped or left_s <= 0:
        return found._replace(plan=None)
    more = with_more_nodes(finer, found.plan, time_limit_s=left_s, should_stop=should_stop)
    return found._replace(plan=more)
