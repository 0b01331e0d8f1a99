"""Constraints of services beyond their demand: what their answers may lose on average."""

from __future__ import annotations

from typing import Any

import numpy as np
import pulp

from solver import quality
from solver.constrain_tasks import standing_by
from solver.program import Program
from solver.rows import Part, cells, grouped
from solver.tables import Floats, Whole


def keep_mean_quality(program: Program) -> None:
    """sum_v max(0, x - lost[v]) * carried[v,t] >= (x - limit[i]) * demand[i,t] * (1 - shed[i,t] - give)

    carried[v,t] as in `meet_demand`. One row for each share x above the limit that an option of i loses: by
    the duality of linear programs they hold exactly where requests that go to what loses least first lose no
    more than the limit on average. More replicas never break them. Each is divided by x - limit[i].
    """
    service, gains = quality.gains(program.problem)
    if service.size:
        _answer_enough(program, "quality", service, gains)


def _answer_enough(program: Program, stem: str, service: Whole, counts: Floats) -> None:
    """sum_v counts[n,v] * carried[v,t] >= demand[i,t] * (1 - shed[i,t] - give), in rows of (n, period).

    Each is divided by its largest coefficient.
    """
    problem, serves = program.problem, program.problem.serve_options
    demand = problem.services.demand[service]
    carried = counts[:, :, None] * serves.capacity / (1 + serves.standby_fraction)
    scale = carried.max(axis=1)
    scale[scale == 0] = 1.0
    parts: list[Part] = [_not_answered(program, service, demand / scale)]
    for n, share in enumerate(carried / scale[:, None]):
        row = np.full(len(serves), n)
        parts += [grouped(row, program.replicas, share), standing_by(program, row, share)]
    wanted = np.where(demand > 0, demand / scale, -np.inf)
    program.add_rows(stem, cells(*demand.shape), pulp.LpConstraintGE, wanted.ravel(), *parts)


def _not_answered(program: Program, service: Whole, sizes: Floats) -> Part:
    """sizes[n,t] * (shed[i,t] + give), in the rows in which either may be."""
    sheds, demand = np.isfinite(program.problem.services.unmet_usd), program.problem.services.demand
    found: list[tuple[int, Any, float]] = []
    for row, (n, t) in enumerate(np.ndindex(sizes.shape)):
        i, size = int(service[n]), float(sizes[n, t])
        if sheds[i, t] and size:
            found.append((row, program.shed[i, t], size))
        if size and (slack := program.slacks.get(("demand", (i, t)))) is not None:
            found.append((row, slack.variable, size * slack.size / demand[i, t]))
    rows, variables, amounts = zip(*found, strict=True) if found else ((), (), ())
    return np.array(rows, dtype=np.int64), np.array(variables, dtype=object), np.array(amounts, dtype=float)
