"""Constraints of a second life: what is retired may go on in a lower tier, as far as that takes it."""

from __future__ import annotations

import numpy as np
import pulp

from solver.program import Program
from solver.rows import cells, each, made, summed


def reuse_what_is_retired(program: Program) -> None:
    """reuse[h,t] <= retire[h,t];  sum_t reuse[h,t] <= limit[h]

    A node that goes on is retired: it stands at no site, and its sale is given up.
    """
    cohorts, offered = program.problem.cohorts, made(program.reuse)
    if not offered.any():
        return
    program.add_rows(
        "reuse",
        cells(*offered.shape),
        pulp.LpConstraintLE,
        np.where(offered, 0.0, np.inf).ravel(),
        each(program.reuse, 1.0 * offered),
        each(program.retire, -1.0 * offered),
    )
    program.add_rows(
        "reuse_limit",
        cells(len(cohorts)),
        pulp.LpConstraintLE,
        np.where(offered.any(axis=1), cohorts.reuse_limit.astype(float), np.inf),
        summed(np.arange(len(cohorts)), program.reuse, 1.0 * offered),
    )
