"""Deployments that carry next to nothing, and what their part would take on another one of their service."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planner.program.solution import Problem, Solution
from solver.account import NOTHING, nodes_in_use, solution
from solver.bounds import fewest_spares
from solver.verify import objective_value, verify

SMALL = 0.05  # of what a service asks for
TOLERANCE = 1e-6


@dataclass(frozen=True)
class SmallDeployment:
    """An option that carries less than `SMALL` of its service in some periods, next to others that serve.

    `dearer` is what its part would take on the best of them beyond what it takes here, in the unit of the
    objective; where there is no place for it, `broken` names the rules that would not be kept.
    """

    option: int
    periods: tuple[int, ...]
    most_fraction: float
    dearer: float | None
    broken: tuple[str, ...]


def small_deployments(problem: Problem, plan: Solution) -> list[SmallDeployment]:
    """Every such option, with its part tried as further replicas of each other option that serves then.

    All else stays as it is: what would pay only with other nodes or other work is not looked at.
    """
    serves, found = problem.serve_options, list[SmallDeployment]()
    demand = problem.services.demand[serves.service]
    share = np.divide(_carried(problem, plan), demand, out=np.ones(demand.shape), where=demand > 0)
    for v in np.flatnonzero(plan.replicas.any(axis=1)).tolist():
        others = np.flatnonzero(serves.service == serves.service[v])
        others = others[others != v]
        small = (plan.replicas[v] > 0) & (share[v] < SMALL) & plan.replicas[others].any(axis=0)
        if not small.any():
            continue
        tried = [_tried(problem, plan, v, int(other), small) for other in others.tolist()]
        possible = [dearer for dearer, _ in tried if dearer is not None]
        broken = () if possible else tuple(dict.fromkeys(rule for _, rules in tried for rule in rules))
        periods = tuple(np.flatnonzero(small).tolist())
        dearer = min(possible, default=None)
        found.append(SmallDeployment(v, periods, float(share[v, small].max()), dearer, broken))
    return found


def _tried(
    problem: Problem, plan: Solution, option: int, other: int, small: NDArray[np.bool_]
) -> tuple[float | None, tuple[str, ...]]:
    """What the part of an option takes as replicas of another one, or the rules that this would break."""
    serves = problem.serve_options
    each = (serves.capacity / (1 + serves.standby_fraction))[other, small]
    if not (plan.replicas[other, small] > 0).all() or not (each > 0).all():
        return None, ()
    replicas = plan.replicas.copy()
    replicas[option, small] = 0
    i = int(serves.service[option])
    without = replace(plan, replicas=replicas)
    wanted = problem.services.demand[i] * (1 - plan.shed_fraction[i])
    short = wanted - _carried(problem, without)[serves.service == i].sum(axis=0)
    replicas[other, small] += np.ceil(np.maximum(short[small], 0) / each - NOTHING).astype(np.int64)
    used = nodes_in_use(problem, plan.run, replicas, plan.done_node_h)
    spares = fewest_spares(problem, used, replicas, plan.in_service)
    moved = solution(problem, replace(plan, replicas=replicas, spares=spares))
    if rules := tuple(one.rule for one in verify(problem, moved, TOLERANCE)):
        return None, rules
    return objective_value(problem, moved) - objective_value(problem, plan), ()


def _carried(problem: Problem, plan: Solution) -> NDArray[np.float64]:
    """Requests/s that each option carries (V, T), those on standby not counted."""
    serves = problem.serve_options
    carrying = np.maximum(plan.replicas - serves.standby, 0)
    carried: NDArray[np.float64] = serves.capacity / (1 + serves.standby_fraction) * carrying
    return carried
