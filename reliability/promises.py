"""Is enough up for what is promised: replicas of a service on nodes that fail, restart and are repaired.

A promise is the share of time in which at least as many nodes work as the load needs. Two things break it. A
failed replica restarts, for minutes, although a spare is there; standby replicas cover that. And its node is
repaired, for days; spares of the node group cover that, and so do the nodes of standby replicas.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammainc, gammaincc

from reliability.columns import Column
from reliability.domain import require_fraction, require_not_negative, require_positive, require_share
from reliability.spares import LEAST_CORRELATION, SpareSteps

ROUNDING = 1e-9  # nodes: what a sum of shares may leave above a whole number
# Spares, or replicas on standby, next to n nodes: where so many are not enough, the nodes fail all the time.
MOST_SPARES, MOST_SPARES_PER_NODE = 20, 4
EACH_SPARE = 100  # spares up to which every number of them is a step


@dataclass(frozen=True, slots=True)
class Standby:
    """Failures that standby replicas cover while replicas restart, and of those what covers repairs, too."""

    failures: Column
    covered_nodes: Column


def down_fractions(
    *, nodes: int, most_down: int, availability_fraction: float, correlation_fraction: float = 0.0
) -> NDArray[np.float64]:
    """Chances that exactly 0, 1, ... and at last `most_down` of the nodes are down.

        X ~ binomial(n, 1 - a), or beta-binomial(n, (1 - a) * s, a * s),  s = 1/rho - 1, where rho > 0

    Source: as `reliability.spares.k_of_n_availability_fraction`.
    """
    require_not_negative(nodes=nodes, correlation_fraction=correlation_fraction)
    require_fraction(availability_fraction=availability_fraction)
    x = np.arange(min(most_down, nodes) + 1.0)
    log_ways = -betaln(nodes - x + 1.0, x + 1.0) - np.log1p(nodes)
    down = 1.0 - availability_fraction
    if down <= 0.0:
        return np.where(x == 0, 1.0, 0.0)
    log_chance = x * np.log(down) + (nodes - x) * np.log(availability_fraction)
    if correlation_fraction >= LEAST_CORRELATION:
        strength = 1.0 / correlation_fraction - 1.0
        a, b = down * strength, availability_fraction * strength
        log_chance = betaln(x + a, nodes - x + b) - betaln(a, b)
    chances: NDArray[np.float64] = np.exp(log_ways + log_chance)
    return chances


def kept_fraction(
    *,
    nodes: float,
    spare_nodes: float,
    standby_nodes: float = 0.0,
    covered_nodes: float = 0.0,
    availability_fraction: float,
    correlation_fraction: float = 0.0,
    restarting_nodes: float = 0.0,
) -> float:
    """Share of time in which at least as many nodes work as carry the load of a service.

        A = sum_(x <= s + c) P(X = x) * P(R <= k - max(0, x - s)),  X of n nodes,  R ~ Poisson(m)

    X of the n nodes, spares and standby among them, are under repair; beyond the s spares they take c <= k of
    the nodes on which replicas stand by. R nodes of the service restart at once, m on average, and k may.
    Spares are idle nodes that fail like the others and on which a failed replica restarts; the standby of
    other services that gives way counts as spares. X and R are taken as independent. That none of the nodes
    that share the spares is missed is asked for, so that a service among several keeps more.

    Source: k-out-of-n availability with warm standby; Barlow and Proschan, "Statistical Theory of
    Reliability", 1975. Restarts: Little's law.
    """
    require_not_negative(spare_nodes=spare_nodes, standby_nodes=standby_nodes)
    require_not_negative(covered_nodes=covered_nodes, restarting_nodes=restarting_nodes)
    chances = down_fractions(
        nodes=math.ceil(nodes - ROUNDING),
        most_down=int(spare_nodes) + int(min(covered_nodes, standby_nodes)),
        availability_fraction=availability_fraction,
        correlation_fraction=correlation_fraction,
    )
    left = int(standby_nodes) - np.maximum(np.arange(chances.size) - int(spare_nodes), 0)
    in_time = gammaincc(left + 1.0, restarting_nodes) if restarting_nodes > 0 else np.ones(chances.size)
    return float(min(np.sum(chances * in_time), 1.0))


def standby_for_restarts(
    *,
    carrying_nodes: Column,
    restart_ratio: Column,
    short_fraction: Column,
    restart_share_fraction: Column,
    spare_confidence_fraction: Column,
) -> Standby:
    """Failures at once that standby replicas have to cover while replicas restart.

        k = min { k : P(R > k) <= b * e },  R ~ Poisson((n + k) * r)
        covered = k where P(R > k) + (1 - q) * P(R > 0) <= b * e, else 0

    Nodes that fail all the time keep no promise: the count ends at its limit, and `promise_steps` bars them.

    e is the share of time in which the service may be short, b the part of it that is left to restarts, r the
    rate of failures times the time to restart. Standby replicas that replace nodes under repair are not there
    for restarts: that happens only while spares are short, in 1 - q of the time. With a confidence q of 0
    nothing is known of the spares.

    Source: Boole's inequality on `kept_fraction`; Little's law.
    """
    require_share(short_fraction=short_fraction, restart_share_fraction=restart_share_fraction)
    n, ratio, short, share, sure = np.broadcast_arrays(
        np.ceil(np.asarray(carrying_nodes, dtype=float) - 1e-9),
        restart_ratio,
        short_fraction,
        restart_share_fraction,
        spare_confidence_fraction,
    )
    allowed = short * share
    failures = np.zeros(n.shape)

    def over(more: NDArray[np.float64]) -> NDArray[np.float64]:
        mean = (n + failures) * ratio
        late: NDArray[np.float64] = gammainc(more + 1.0, mean)
        return late

    most = MOST_SPARES + MOST_SPARES_PER_NODE * n
    while np.any(lacking := (n > 0) & (failures < most) & (over(failures) > allowed)):
        failures = failures + lacking
    both = over(failures) + (1.0 - sure) * over(np.zeros(n.shape)) <= allowed
    return Standby(failures[()], np.where(both, failures, 0.0)[()])


def promise_steps(
    *,
    failure_rate_per_node_h: float,
    repair_h: float,
    promise_fraction: float,
    highest_nodes: int,
    correlation_fraction: float = 0.0,
) -> SpareSteps:
    """How many nodes in use each number of spares keeps a promise for, up to `highest_nodes`.

        s(n) = min { s : P(X <= s) >= p },  X of n + s nodes as in `down_fractions`
        reach_s = max { N : s(n) <= s for every n <= N }

    Nodes and spares are whole, so that the need is a staircase. A part of a node in use counts as a whole
    one. One node more is never down less, so that each step ends where halving finds it. Every reach is
    exact; beyond `EACH_SPARE` spares one step is 1 % of them, so that a large fleet is asked for at most that
    much more than it needs, in hundreds of steps and not in thousands.

    Nodes that fail so often that no sensible number of spares is enough carry nothing: a reach of 0.

    Source: steps of `kept_fraction` without standby and restarts.
    """
    require_positive(highest_nodes=highest_nodes)
    require_share(promise_fraction=promise_fraction)
    up = 1.0 / (1.0 + failure_rate_per_node_h * repair_h)

    def kept(nodes: int, spares: int) -> bool:
        chances = down_fractions(
            nodes=nodes + spares,
            most_down=spares,
            availability_fraction=up,
            correlation_fraction=correlation_fraction,
        )
        return bool(np.sum(chances) >= promise_fraction)

    steps, reach, spares, stride = list[tuple[int, int]](), 0, 0, 1
    while reach < highest_nodes and spares <= MOST_SPARES + MOST_SPARES_PER_NODE * (reach + 1):
        low, high = reach, reach + stride
        while high <= highest_nodes and kept(high, spares):
            low, high = high, 2 * high - reach
        high = min(high, highest_nodes + 1)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if kept(middle, spares) else (low, middle)
        if low > reach:
            steps.append((spares, low))
            stride = low - reach  # the next step is about as long
        reach, spares = low, spares + max(spares // EACH_SPARE, 1)
    needed, ends = np.array(steps or [(0, 0)], dtype=float).T
    return SpareSteps(needed, ends)
