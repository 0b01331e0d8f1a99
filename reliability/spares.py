"""How many spare nodes, so that repairs seldom leave a job or a service short.

Nodes under repair are counted as a Poisson number, or as a wider one where failures come in bursts. On
the only public trace of a modern fleet with outage times the Poisson 99 % pool is enough 83 % of the
time: state a variance-to-mean ratio wherever there is a log to take it from.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, gammaincc

from reliability.domain import require_at_least, require_not_negative, require_positive, require_share

Column = float | NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SpareLines:
    """Straight lines on or above the spares needed; line i holds from `low_nodes[i]` to `high_nodes[i]`."""

    slope_factor: NDArray[np.float64]
    intercept_nodes: NDArray[np.float64]
    low_nodes: NDArray[np.float64]
    high_nodes: NDArray[np.float64]


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
    spread = 10.0 * np.sqrt(mean * ratio) + 10.0 * ratio
    return _fewest(lambda count: _share_at_most(count, mean, ratio), share, np.ceil(mean + spread))[()]


def k_of_n_availability_fraction(
    *, needed: Column, installed: Column, availability_fraction: Column
) -> Column:
    """Chance that at least `needed` of the `installed` units are up.

        A = sum_(i >= k) binom(n, i) * a^i * (1 - a)^(n - i)

    Units fail independently; a shared power feed or switch is left out.

    Source: binomial distribution, as a regularised incomplete beta function.
    """
    require_not_negative(needed=needed)
    require_share(availability_fraction=availability_fraction)
    if np.any(np.asarray(needed) > np.asarray(installed)):
        raise ValueError(f"needed must not exceed installed, got {needed} of {installed}")
    some = np.maximum(needed, 1.0)
    # Only reached with needed = 0 where installed may be 0 too.
    beyond = np.maximum(np.subtract(installed, some) + 1.0, 1.0)
    return np.where(np.asarray(needed) > 0, betainc(some, beyond, availability_fraction), 1.0)[()]


def installed_for_availability(
    *, needed: Column, availability_fraction: Column, target_fraction: Column
) -> Column:
    """Fewest units to install so that `needed` are up with the target chance.

        n = min { n >= k : A(k, n) >= target }

    Source: binomial distribution; see `k_of_n_availability_fraction`.
    """
    require_not_negative(needed=needed)
    require_share(availability_fraction=availability_fraction, target_fraction=target_fraction)
    columns = (np.asarray(c, dtype=float) for c in (needed, availability_fraction, target_fraction))
    wanted, up, target = np.broadcast_arrays(*columns)
    extra = _fewest(
        lambda more: k_of_n_availability_fraction(
            needed=wanted, installed=wanted + more, availability_fraction=up
        ),
        target,
        np.ones_like(wanted),
    )
    return (wanted + extra)[()]


def spare_lines(
    *,
    failure_rate_per_node_h: float,
    repair_h: float,
    confidence_fraction: float,
    highest_nodes: int,
    lines: int,
    variance_to_mean_ratio: float = 1.0,
) -> SpareLines:
    """Straight lines for an integer program that are on or above the spares needed at every whole number.

        slope_i * N + intercept_i >= s(N * r_f * MTTR)  for N from low_i to high_i

    The ranges tile 1 to `highest_nodes`, each a constant factor wider, as the need grows like m + sqrt(m).
    In its range each line touches the need and has the least mean excess over it. No nodes need no spares:
    that case is the program's to switch.

    Source: upper convex hull of the steps of `spares_for_confidence`.
    """
    require_positive(highest_nodes=highest_nodes, lines=lines)
    edges = np.unique(np.round(np.geomspace(1, highest_nodes + 1, int(lines) + 1)).astype(int))
    nodes = np.arange(1.0, highest_nodes + 1)
    down = mean_nodes_down(nodes=nodes, failure_rate_per_node_h=failure_rate_per_node_h, repair_h=repair_h)
    needed = np.asarray(
        spares_for_confidence(
            mean_down=down,
            confidence_fraction=confidence_fraction,
            variance_to_mean_ratio=variance_to_mean_ratio,
        )
    )
    pieces = [_line_above(nodes[a - 1 : b - 1], needed[a - 1 : b - 1]) for a, b in itertools.pairwise(edges)]
    slope, intercept = np.array(pieces).T
    return SpareLines(slope, intercept, edges[:-1].astype(float), edges[1:] - 1.0)


def _line_above(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float]:
    """The line over all points with the least mean excess: the hull edge above their middle."""
    corners = np.flatnonzero(np.diff(y, prepend=y[0] - 1.0) > 0).tolist()
    hull: list[int] = []
    for i in dict.fromkeys([*corners, x.size - 1]):
        while len(hull) > 1 and _turns_left(x, y, hull[-2], hull[-1], i):
            hull.pop()
        hull.append(i)
    if len(hull) == 1:
        return 0.0, float(y[0])
    right = int(np.searchsorted(x[hull], x.mean(), side="right"))
    a, b = hull[min(right, len(hull) - 1) - 1], hull[min(right, len(hull) - 1)]
    slope = float((y[b] - y[a]) / (x[b] - x[a]))
    # Lift by what rounding took, so that the line is above in floating point too.
    return slope, float(np.max(y - slope * x))


def _turns_left(x: NDArray[np.float64], y: NDArray[np.float64], a: int, b: int, c: int) -> bool:
    return bool((y[b] - y[a]) * (x[c] - x[b]) <= (y[c] - y[b]) * (x[b] - x[a]))


def _share_at_most(
    count: NDArray[np.float64], mean: NDArray[np.float64], ratio: NDArray[np.float64]
) -> NDArray[np.float64]:
    """P(X <= count); a ratio within 1e-9 of 1 is Poisson."""
    burst = (ratio > 1.0 + 1e-9) & (mean > 0)
    excess = np.where(burst, ratio - 1.0, 1.0)
    trials = np.where(burst, mean / excess, 1.0)
    poisson = np.where(mean > 0, gammaincc(count + 1.0, mean), 1.0)
    return np.where(burst, betainc(trials, count + 1.0, 1.0 / (1.0 + excess)), poisson)


def _fewest(
    share_at: Callable[[NDArray[np.float64]], Column], target: NDArray[np.float64], guess: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Smallest whole number from 0 whose share reaches the target, by doubling and halving on columns."""
    low, high = np.full(target.shape, -1.0), np.maximum(guess, 1.0)
    while np.any(short := np.asarray(share_at(high)) < target):
        low, high = np.where(short, high, low), np.where(short, 2.0 * high, high)
    while np.any(high - low > 1.0):
        middle = np.where(high - low > 1.0, np.floor((low + high) / 2.0), high)
        enough = np.asarray(share_at(middle)) >= target
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high
