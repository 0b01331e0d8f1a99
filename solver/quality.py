"""Quality of what options of a service answer together: who answers which requests, and what they lose.

Requests go to what loses least, as far as it carries, and what is left to the next one.
"""

from __future__ import annotations

import itertools

import numpy as np

from solver import account
from solver.problem import Problem, Solution
from solver.tables import Flags, Floats, Whole

_EXACT = 1e-12  # of a mean of losses


def losses_above(problem: Problem) -> tuple[Whole, Floats]:
    """Services and shares of quality that need a row: one share for each region of the users [N], [N, R].

    Each is a loss of an option of the service, and their mean over the requests is above what these may lose
    on average. A service whose users are in no regions has the same share in all places; one whose requests
    may lose any share has none.
    """
    found: list[tuple[int, tuple[float, ...]]] = []
    serves, services = problem.serve_options, problem.services
    most = max(services.region_fraction.shape[1], 1)
    for i in np.flatnonzero(np.isfinite(services.mean_loss_limit_fraction)).tolist():
        lost = np.unique(serves.lost_fraction[serves.service == i]).tolist()
        share, limit = _shares(problem, i), services.mean_loss_limit_fraction[i]
        for each in itertools.product(lost, repeat=len(share)):
            if float(np.dot(each, share)) > limit + _EXACT:
                rest = (each[0],) * (most - len(share))
                found.append((i, (*each, *rest)))
    service = np.array([i for i, _ in found], dtype=np.int64)
    return service, np.array([each for _, each in found]).reshape(len(found), most)


def gains(problem: Problem) -> tuple[Whole, Floats]:
    """The service of each of `losses_above` [N], and what an option counts for there [N, V].

    g[n,v] = max(0, x[n,v] - lost[v]) / (mean of x[n] - limit[i]), 0 of options of other services

    x[n,v] is the largest x of the regions that v answers, the mean that of all by their shares.
    """
    serves, services = problem.serve_options, problem.services
    service, loss = losses_above(problem)
    found = np.zeros((len(service), len(serves)))
    for i in np.unique(service).tolist():
        mine, share = np.flatnonzero(service == i), _shares(problem, i)
        own = np.flatnonzero(serves.service == i)
        answers = _answers(problem, own, len(share))
        held = loss[mine][:, : len(share)]
        reached = np.where(answers, held[:, None, :], -np.inf).max(axis=-1)
        above = np.maximum(reached - serves.lost_fraction[own], 0.0)
        found[np.ix_(mine, own)] = above / (held @ share - services.mean_loss_limit_fraction[i])[:, None]
    return service, found


def _shares(problem: Problem, service: int) -> Floats:
    """Share of each region in the requests of a service; of one without regions all of them."""
    share: Floats = problem.services.region_fraction[service]
    held = np.flatnonzero(share)
    return share[: held[-1] + 1] if held.size else np.ones(1)


def _answers(problem: Problem, options: Whole, regions: int) -> Flags:
    """Which regions of a service each of its options answers [V, R]."""
    bits = problem.serve_options.regions[options]
    found: Flags = (bits[:, None] >> np.arange(regions) & 1 > 0) | (bits == 0)[:, None]
    return found


def answered(problem: Problem, carries: Floats, wanted: Floats) -> Floats:
    """Requests/s that each option answers, those that lose least first; options alike share evenly.

    r[v] = c[v] * min(1, (w - sum of c that lose less) / sum of c that lose as much), not below 0

    Where a service with such a mean has users in several regions, options take all of the requests that they
    can, one after the other: what the first k can answer of all is the least cut of a flow, and no dealing
    loses less, as sets that can be answered are those of a polymatroid.

    r[v] = f[v] - f[v - 1],  f[k] = min over sets A of regions of sum_r not in A w[r] + sum_v of A, <= k c[v]

    Args:
        problem: what loses how much.
        carries: requests/s that each option carries [V, ...].
        wanted: requests/s that are to be answered [I, ...].
    """
    serves = problem.serve_options
    found = np.zeros_like(carries, dtype=float)
    for i in range(len(problem.services)):
        share, left = _shares(problem, i), wanted[i].astype(float)
        if len(share) > 1 and np.isfinite(problem.services.mean_loss_limit_fraction[i]):
            _answer_regions(problem, i, carries, left, found)
            continue
        for loss in np.unique(serves.lost_fraction[serves.service == i]).tolist():
            alike = (serves.service == i) & (serves.lost_fraction == loss)
            whole = carries[alike].sum(axis=0)
            taken = np.minimum(whole, left)
            found[alike] = carries[alike] * np.divide(taken, whole, out=np.zeros_like(left), where=whole > 0)
            left = left - taken
    return found


def _answer_regions(problem: Problem, service: int, carries: Floats, wanted: Floats, found: Floats) -> None:
    """Put in what the options of a service answer whose users are in several regions."""
    serves, share = problem.serve_options, _shares(problem, service)
    own = np.flatnonzero(serves.service == service)
    own = own[np.argsort(serves.lost_fraction[own], kind="stable")]
    sets = np.array(list(itertools.product((False, True), repeat=len(share))))
    reaches = _answers(problem, own, len(share)) @ sets.T  # [V, sets] whether an option answers any of a set
    cuts = np.multiply.outer((~sets) @ share, wanted)
    before = np.zeros_like(wanted)
    for k, v in enumerate(own.tolist()):
        cuts = cuts + np.multiply.outer(reaches[k].astype(float), carries[v])
        whole = cuts.min(axis=0)
        found[v] = np.maximum(whole - before, 0.0)
        before = whole


def least_loss(problem: Problem, service: int) -> float:
    """Share of quality that requests of a service lose on average where each is answered as well as it can.

    Infinite where nothing answers one of its regions.
    """
    own, share = np.flatnonzero(problem.serve_options.service == service), _shares(problem, service)
    lost = np.where(
        _answers(problem, own, len(share)), problem.serve_options.lost_fraction[own][:, None], np.inf
    )
    return float(lost.min(axis=0, initial=np.inf) @ share)


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
