"""How many spare nodes, so that repairs seldom leave a job or a service short.

Nodes under repair are counted as a Poisson number, or as a wider one where failures come in bursts. On
the only public trace of a modern fleet with outage times the Poisson 99 % pool is enough 83 % of the
time: state a variance-to-mean ratio wherever one is known, and where there is an outage log size the pool
from that (`reliability.outages.spares_by_history`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaln, gammaincc, ndtri

from reliability.columns import Column
from reliability.domain import require_at_least, require_not_negative, require_positive, require_share

# More units than any service has: a search that gets here will not end well.
MOST_INSTALLED = 1e9

# Below this the beta-binomial is the binomial, and its logarithms would lose more digits than it adds.
LEAST_CORRELATION = 1e-8


@dataclass(frozen=True, slots=True)
class SpareSteps:
    """Spares needed as steps: `spares[i]` are enough for up to `reach_nodes[i]` nodes in use."""

    spares: NDArray[np.float64]
    reach_nodes: NDArray[np.float64]


def mean_nodes_down(*, nodes: Column, failure_rate_per_node_h: Column, repair_h: Column) -> Column:
    """Nodes under repair on average.

        m = N * r_f * MTTR

    Repair crews and parts are taken as never short; `repair_h` is the mean, not the median, of a heavy tail.

    Source: Little's law.
    """
    require_not_negative(nodes=nodes, failure_rate_per_node_h=failure_rate_per_node_h, repair_h=repair_h)
    return np.multiply(nodes, failure_rate_per_node_h) * repair_h


def node_availability_fraction(*, failure_rate_per_node_h: Column, repair_h: Column) -> Column:
    """Share of time that a node is up.

        a = 1 / (1 + r_f * MTTR)

    The rate is for each hour up. Planned maintenance is left out.

    Source: alternating renewal process.
    """
    require_not_negative(failure_rate_per_node_h=failure_rate_per_node_h, repair_h=repair_h)
    return 1.0 / (1.0 + np.multiply(failure_rate_per_node_h, repair_h))


def spares_for_confidence(
    *, mean_down: Column, confidence_fraction: Column, variance_to_mean_ratio: Column = 1.0
) -> Column:
    """Fewest spares that cover the nodes under repair with the given confidence.

        s = min { k : P(X <= k) >= p },  X ~ Poisson(m), or negative binomial of variance v * m

    The confidence is a share of time, one pool by itself.

    Source: M/G/infinity queue; negative binomial counts for bursts (Gamma-mixed Poisson).
    """
    require_not_negative(mean_down=mean_down)
    require_share(confidence_fraction=confidence_fraction)
    require_at_least(1.0, variance_to_mean_ratio=variance_to_mean_ratio)
    mean, share, ratio = np.broadcast_arrays(
        np.asarray(mean_down, dtype=float),
        confidence_fraction,
        np.asarray(variance_to_mean_ratio, dtype=float),
    )
    # Normal law and its first term of skewness (Cornish and Fisher), where the search begins.
    z = ndtri(share)
    near = mean + z * np.sqrt(mean * ratio) + (z * z - 1.0) / 6.0 * (2.0 * ratio - 1.0)
    return fewest_counts(lambda count: share_at_most(count, mean, ratio), share, np.ceil(near))[()]


def k_of_n_availability_fraction(
    *, needed: Column, installed: Column, availability_fraction: Column, correlation_fraction: Column = 0.0
) -> Column:
    """Chance that at least `needed` of the `installed` units are up.

        A = sum_(i >= k) binom(n, i) * a^i * (1 - a)^(n - i)
        A = P(X <= n - k),  X ~ beta-binomial(n, (1 - a) * s, a * s),  s = 1/rho - 1, where rho > 0

    Units fail independently at a `correlation_fraction` rho of 0. Above it a common cause (a power feed, a
    switch, a burst) takes several at once, any two of them alike; which unit shares what is left out.

    Source: binomial distribution, as a regularised incomplete beta function; beta-binomial (Skellam, 1948).
    """
    require_not_negative(needed=needed, correlation_fraction=correlation_fraction)
    require_share(availability_fraction=availability_fraction)
    if np.any(np.asarray(correlation_fraction) >= 1.0):
        raise ValueError(f"correlation_fraction must be from 0 to below 1, got {correlation_fraction}")
    if np.any(np.asarray(needed) > np.asarray(installed)):
        raise ValueError(f"needed must not exceed installed, got {needed} of {installed}")
    some = np.maximum(needed, 1.0)
    # Only reached with needed = 0 where installed may be 0 too.
    beyond = np.maximum(np.subtract(installed, some) + 1.0, 1.0)
    alone = betainc(some, beyond, availability_fraction)
    tied = np.asarray(correlation_fraction) >= LEAST_CORRELATION
    if np.any(tied):
        together = _share_up_at_least(
            needed, installed, availability_fraction, np.where(tied, correlation_fraction, LEAST_CORRELATION)
        )
        alone = np.where(tied, together, alone)
    return np.where(np.asarray(needed) > 0, alone, 1.0)[()]


def outage_correlation_fraction(
    *, variance_to_mean_ratio: Column, nodes: Column, availability_fraction: Column
) -> Column:
    """Correlation of any two nodes' outages that a fleet's count of nodes down implies.

        Var[X] / E[X] = a * (1 + (n - 1) * rho)

    Carries bursts seen on a whole fleet over to a few of its nodes, where they weigh less. A count narrower
    than the binomial's gives 0. Alike for any two nodes: bursts within a rack are left out.

    Source: variance of the beta-binomial distribution.
    """
    require_not_negative(variance_to_mean_ratio=variance_to_mean_ratio)
    require_at_least(2.0, nodes=nodes)
    require_share(availability_fraction=availability_fraction)
    rho = (np.divide(variance_to_mean_ratio, availability_fraction) - 1.0) / (np.asarray(nodes) - 1.0)
    if np.any(rho >= 1.0):
        most = np.multiply(nodes, availability_fraction)
        raise ValueError(f"variance_to_mean_ratio must be below {most}, got {variance_to_mean_ratio}")
    return np.maximum(rho, 0.0)[()]


def installed_for_availability(
    *,
    needed: Column,
    availability_fraction: Column,
    target_fraction: Column,
    correlation_fraction: Column = 0.0,
) -> Column:
    """Fewest units to install so that `needed` are up with the target chance.

        n = min { n >= k : A(k, n) >= target }

    Correlated units may need very many; more than `MOST_INSTALLED` are refused.

    Source: see `k_of_n_availability_fraction`.
    """
    require_not_negative(needed=needed)
    require_share(availability_fraction=availability_fraction, target_fraction=target_fraction)
    columns = (needed, availability_fraction, target_fraction, correlation_fraction)
    wanted, up, target, rho = np.broadcast_arrays(*(np.asarray(column, dtype=float) for column in columns))
    reached = k_of_n_availability_fraction(
        needed=wanted, installed=wanted + MOST_INSTALLED, availability_fraction=up, correlation_fraction=rho
    )
    if np.any(np.asarray(reached) < target):
        raise ValueError(
            f"target_fraction {target_fraction} is out of reach at availability_fraction "
            f"{availability_fraction} and correlation_fraction {correlation_fraction}: "
            "lower it, or separate what the units share"
        )
    extra = fewest_counts(
        lambda more: k_of_n_availability_fraction(
            needed=wanted, installed=wanted + more, availability_fraction=up, correlation_fraction=rho
        ),
        target,
        np.ones_like(wanted),
    )
    return (wanted + extra)[()]


def spare_steps(
    *,
    failure_rate_per_node_h: float,
    repair_h: float,
    confidence_fraction: float,
    highest_nodes: int,
    variance_to_mean_ratio: Column = 1.0,
) -> SpareSteps:
    """How many nodes in use each number of spares is enough for, up to `highest_nodes`.

        reach_s = max { N : s(n * r_f * MTTR) <= s for every n <= N }

    Exact: nodes and spares are whole, so that the need is a staircase. A part of a node in use counts as a
    whole one. `variance_to_mean_ratio` is one number, or one for each of 1, 2, ... and at last
    `highest_nodes` in use, as a burst weighs more the more nodes share it.

    Source: steps of `spares_for_confidence`.
    """
    require_positive(highest_nodes=highest_nodes)
    nodes = np.arange(1.0, highest_nodes + 1)
    down = mean_nodes_down(nodes=nodes, failure_rate_per_node_h=failure_rate_per_node_h, repair_h=repair_h)
    needed = np.maximum.accumulate(
        spares_for_confidence(
            mean_down=down,
            confidence_fraction=confidence_fraction,
            variance_to_mean_ratio=variance_to_mean_ratio,
        )
    )
    last = np.flatnonzero(np.diff(needed, append=np.inf))
    return SpareSteps(needed[last], nodes[last])


def _share_up_at_least(
    needed: Column, installed: Column, availability_fraction: Column, correlation_fraction: Column
) -> NDArray[np.float64]:
    """P(at least `needed` up) of a beta-binomial count."""
    wanted, n, up, rho = np.broadcast_arrays(needed, installed, availability_fraction, correlation_fraction)
    strength = 1.0 / rho - 1.0
    a, b = up * strength, (1.0 - up) * strength
    # The terms below `needed`: their number stays the same however many are installed.
    below = np.arange(np.ceil(wanted.max())).reshape(-1, *[1] * wanted.ndim)
    i = np.minimum(below, n)
    log_chance = betaln(i + a, n - i + b) - betaln(a, b) - betaln(i + 1.0, n - i + 1.0) - np.log1p(n)
    short: NDArray[np.float64] = np.where(below < wanted, np.exp(log_chance), 0.0).sum(axis=0)
    return np.maximum(1.0 - short, 0.0)


def share_at_most(
    count: NDArray[np.float64], mean: NDArray[np.float64], ratio: NDArray[np.float64]
) -> NDArray[np.float64]:
    """P(X <= count); a ratio within 1e-9 of 1 is Poisson."""
    burst = (ratio > 1.0 + 1e-9) & (mean > 0)
    excess = np.where(burst, ratio - 1.0, 1.0)
    trials = np.where(burst, mean / excess, 1.0)
    poisson = np.where(mean > 0, gammaincc(count + 1.0, mean), 1.0)
    return np.where(burst, betainc(trials, count + 1.0, 1.0 / (1.0 + excess)), poisson)


def fewest_counts(
    share_at: Callable[[NDArray[np.float64]], Column], target: NDArray[np.float64], guess: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Smallest whole number from 0 whose share reaches the target: steps off the guess double, then halve."""

    def reaches(count: NDArray[np.float64]) -> NDArray[np.bool_]:
        return (count >= 0.0) & (np.asarray(share_at(np.maximum(count, 0.0))) >= target)

    low, high = np.full(target.shape, -1.0), np.maximum(guess, 0.0)
    step = 1.0
    while np.any(short := ~reaches(high)):
        low, high = np.where(short, high, low), np.where(short, high + step, high)
        step *= 2.0
    step, found = 1.0, low >= 0.0
    while not np.all(found):
        below = np.where(found, low, np.maximum(high - step, -1.0))
        enough = ~found & reaches(below)
        low, high = np.where(enough | found, low, below), np.where(enough, below, high)
        step, found = 2.0 * step, ~enough
    while np.any(high - low > 1.0):
        middle = np.where(high - low > 1.0, np.floor((low + high) / 2.0), high)
        enough = reaches(middle)
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high
