"""Quality of what options of a service answer together: who answers which requests, and what they lose.

Requests go to what loses least, as far as it carries, and what is left to the next one.
"""

from __future__ import annotations

import numpy as np

from solver import account
from solver.problem import Problem, Solution
from solver.tables import Floats, Whole


def losses_above(problem: Problem) -> tuple[Whole, Floats]:
    """Services and shares of quality: each loss of their options that is above what they may lose on average.

    A service whose requests may lose any share has none.
    """
    found: list[tuple[int, float]] = []
    serves, services = problem.serve_options, problem.services
    for i in np.flatnonzero(np.isfinite(services.mean_loss_limit_fraction)).tolist():
        lost = np.unique(serves.lost_fraction[serves.service == i])
        found += [(i, loss) for loss in lost[lost > services.mean_loss_limit_fraction[i]].tolist()]
    columns = np.array(found).reshape(-1, 2)
    return columns[:, 0].astype(np.int64), columns[:, 1]


def gains(problem: Problem) -> tuple[Whole, Floats]:
    """The service of each of `losses_above` [N], and what an option counts for there [N, V].

    g[n,v] = max(0, x[n] - lost[v]) / (x[n] - limit[i]), 0 of options of other services
    """
    serves = problem.serve_options
    service, loss = losses_above(problem)
    above = np.maximum(loss[:, None] - serves.lost_fraction, 0.0) * (serves.service == service[:, None])
    return service, above / (loss - problem.services.mean_loss_limit_fraction[service])[:, None]


def answered(problem: Problem, carries: Floats, wanted: Floats) -> Floats:
    """Requests/s that each option answers, those that lose least first; options alike share evenly.

    r[v] = c[v] * min(1, (w - sum of c that lose less) / sum of c that lose as much), not below 0

    Args:
        problem: what loses how much.
        carries: requests/s that each option carries [V, ...].
        wanted: requests/s that are to be answered [I, ...].
    """
    serves = problem.serve_options
    found = np.zeros_like(carries, dtype=float)
    for i in range(len(problem.services)):
        left = wanted[i].astype(float)
        for loss in np.unique(serves.lost_fraction[serves.service == i]).tolist():
            alike = (serves.service == i) & (serves.lost_fraction == loss)
            whole = carries[alike].sum(axis=0)
            taken = np.minimum(whole, left)
            found[alike] = carries[alike] * np.divide(taken, whole, out=np.zeros_like(left), where=whole > 0)
            left = left - taken
    return found


def answered_per_s(problem: Problem, plan: Solution) -> Floats:
    """Requests/s that each option of a plan answers at the peak [V, T]."""
    wanted = problem.services.demand * (1 - plan.shed_fraction)
    return answered(problem, account.carried_by_option(problem, plan.replicas), wanted)


def lost_per_s(problem: Problem, requests: Floats) -> Floats:
    """What the requests that options answer lose together [I, ...], in whole requests/s.

    l[i] = sum_v lost[v] * r[v]
    """
    serves = problem.serve_options
    each = serves.lost_fraction.reshape(-1, *(1 for _ in requests.shape[1:])) * requests
    return account.totals_by(serves.service, len(problem.services), each)


def mean_loss_limit_per_s(problem: Problem, requests: Floats) -> Floats:
    """The most that the requests which options answer may lose together [I, ...], in whole requests/s.

    m[i] = limit[i] * sum_v r[v];  infinite where any loss is allowed
    """
    serves, services = problem.serve_options, problem.services
    limit = services.mean_loss_limit_fraction.reshape(-1, *(1 for _ in requests.shape[1:]))
    whole = account.totals_by(serves.service, len(services), requests)
    found: Floats = np.where(np.isinf(limit), np.inf, np.where(np.isinf(limit), 0.0, limit) * whole)
    return found


def carried(problem: Problem, replicas: Whole) -> Floats:
    """Requests/s that replicas carry within what these may lose on average; those on standby not counted.

    c[i,t] = min over n of sum_v g[n,v] * c[v,t], and sum_v c[v,t]
    """
    found, each = account.carried(problem, replicas), account.carried_by_option(problem, replicas)
    service, counts = gains(problem)
    np.minimum.at(found, service, counts @ each)
    return found
