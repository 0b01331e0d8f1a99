"""How far counts of periods or groups differ beyond chance, and the rates of groups drawn together.

What a small group saw owes much to chance: its rate is drawn towards that of all by as much as the counts
show.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln, chdtrc, gammainccinv, gammaincinv, gammaln

from reliability.columns import Floats
from reliability.domain import (
    require_at_least,
    require_not_negative,
    require_positive,
    require_share,
    require_some_failure,
)
from reliability.fleet import RateInterval, rate_interval


@dataclass(frozen=True, slots=True)
class Dispersion:
    """How far counts vary beyond Poisson; `poisson_p_fraction` is the chance of as much under Poisson."""

    variance_to_mean_ratio: float
    low_ratio: float
    high_ratio: float
    poisson_p_fraction: float


@dataclass(frozen=True, slots=True)
class GroupRates:
    """Groups of a fleet in the order given: each by itself (`own`), and drawn towards the others (`pooled`).

    `own_weight_fraction` is how much of `pooled` is the group's own count; `spread_fraction` the standard
    deviation of the groups' true rates over their mean.
    """

    share_fraction: Floats
    own: RateInterval
    pooled: RateInterval
    own_weight_fraction: Floats
    spread_fraction: float


def dispersion(*, failures: ArrayLike, node_h: ArrayLike, confidence_fraction: float) -> Dispersion:
    """Variance-to-mean ratio of counts, one for each period, with its interval.

        v = X^2 / (k - 1),  X^2 = sum (n_i - m_i)^2 / m_i,  m_i = t_i * sum n / sum t
        X^2 / v ~ gamma of mean k - 1 and variance (k - 1) * (2 + g)
        g = mean of (6 * (v - 1) + 1 / v) / m_i,  v from 1 up

    g is the excess kurtosis of negative binomial counts: bursts are few, and how many there were is chance.
    The ratio may fall below 1 (steadier than Poisson); where it is put to use it starts at 1. Where the rate
    drifts it grows with the length of the periods: take periods as long as those that are to be foreseen.

    Source: Pearson's statistic (McCullagh and Nelder, 1989); moments of the negative binomial.
    """
    require_share(confidence_fraction=confidence_fraction)
    count, hours = _counts(failures, node_h)
    mean = _expected(count, hours)
    pearson = float(np.sum((count - mean) ** 2 / mean))
    freedom = count.size - 1
    ratio = pearson / freedom
    bursts = max(ratio, 1.0)
    shape = freedom / (2.0 + float(np.mean((6.0 * (bursts - 1.0) + 1.0 / bursts) / mean)))
    tail = (1.0 - confidence_fraction) / 2.0
    return Dispersion(
        variance_to_mean_ratio=ratio,
        low_ratio=ratio * shape / float(gammainccinv(shape, tail)),
        high_ratio=ratio * shape / float(gammaincinv(shape, tail)),
        poisson_p_fraction=float(chdtrc(freedom, pearson)),
    )


def true_spread_fraction(
    *, failures: ArrayLike, node_h: ArrayLike, variance_to_mean_ratio: float = 1.0
) -> float:
    """How far the true rates of groups or of periods differ: their standard deviation over their mean.

        c^2 = (X^2 - v * (k - 1)) / (m - sum m_i^2 / m),  m = sum m_i

    X^2 and m_i as in `dispersion`. What chance alone would give is taken off; where nothing is left it is 0.

    Source: Bühlmann and Straub, "Glaubwürdigkeit für Schadensätze", 1970, in units of the mean rate.
    """
    require_at_least(1.0, variance_to_mean_ratio=variance_to_mean_ratio)
    count, hours = _counts(failures, node_h)
    expected = _expected(count, hours)
    excess = np.sum((count - expected) ** 2 / expected) - variance_to_mean_ratio * (count.size - 1)
    return float(np.sqrt(max(excess, 0.0) / (expected.sum() - np.sum(expected**2) / expected.sum())))


def group_rates(
    *,
    failures: ArrayLike,
    node_h: ArrayLike,
    confidence_fraction: float,
    variance_to_mean_ratio: float = 1.0,
    spread_fraction: float | None = None,
) -> GroupRates:
    """Rates of groups (causes, SKUs, sites): each by itself, and drawn towards the mean of all.

        r_i = r * (1 + z_i * (n_i / m_i - 1)),  z_i = c^2 / (c^2 + v / m_i),  m_i = r * t_i
        Var[r_i / r] = r_i / r * c^2 * (1 - z_i) + (1 - z_i)^2 / sum 1 / (c^2 + v / m_j)

    Causes share one `node_h`, and their rates add up to the fleet's, pooled or not; SKUs have each their own.
    Where the spread c of true rates is not stated it is weighed by how likely it makes the counts, all
    shares v / (v + c^2 * mean of m_i) being equally likely before. The interval is of a gamma variable of the
    mean and variance: for 90 % it covers 85 % of three groups, 87 % of twenty, 90 % where c is stated.

    Source: Bühlmann and Straub, "Glaubwürdigkeit für Schadensätze", 1970; Christiansen and Morris,
    "Hierarchical Poisson regression modeling", JASA 92, 1997.
    """
    count, hours = _counts(failures, node_h)
    own = rate_interval(
        failures=count,
        node_h=hours,
        confidence_fraction=confidence_fraction,
        variance_to_mean_ratio=variance_to_mean_ratio,
    )
    spreads = _spreads(_expected(count, hours), variance_to_mean_ratio, spread_fraction)
    rate, variance, weight, log_chance = _drawn_together(count, hours, variance_to_mean_ratio, spreads)
    belief = np.exp(log_chance - log_chance.max())
    belief /= belief.sum()
    mean = belief @ rate
    return GroupRates(
        share_fraction=count / count.sum(),
        own=own,
        pooled=_gamma_interval(mean, belief @ (variance + (rate - mean) ** 2), confidence_fraction),
        own_weight_fraction=belief @ weight,
        spread_fraction=float(belief @ spreads),
    )


def _log_chance_of_count(
    *, failures: Floats, mean_failures: Floats, variance_to_mean_ratio: float, spread_fraction: float | Floats
) -> Floats:
    """Logarithm of the chance of a count, up to what does not depend on the other arguments.

        n ~ negative binomial of mean m and variance m * (1 + x),  x = v - 1 + c^2 * m
        ln P = ln gamma(n + s) - ln gamma(s) - s * ln(1 + x) - n * ln(1 + 1/x),  s = m / x

    v is for bursts, c for rates that differ by that part of their mean. Without either it is Poisson.

    Source: gamma-Poisson mixture.
    """
    excess = variance_to_mean_ratio - 1.0 + np.square(spread_fraction) * mean_failures
    if not excess.any():
        poisson: Floats = failures * np.log(mean_failures) - mean_failures
        return poisson
    size = mean_failures / excess
    # The difference of ln gamma as a beta function keeps its digits where s is large.
    rising = gammaln(np.maximum(failures, 1.0)) - betaln(np.maximum(failures, 1.0), size)
    chance: Floats = np.where(failures > 0, rising, 0.0) - size * np.log1p(excess)
    whole: Floats = chance - failures * np.log1p(1.0 / excess)
    return whole


def _counts(failures: ArrayLike, node_h: ArrayLike) -> tuple[Floats, Floats]:
    """Checked columns of counts that can be compared."""
    count, hours = np.broadcast_arrays(
        np.atleast_1d(np.asarray(failures, dtype=float)), np.asarray(node_h, dtype=float)
    )
    if count.ndim != 1 or count.size < 2:
        raise ValueError(f"failures must be a column of at least two counts, got shape {count.shape}")
    require_not_negative(failures=count)
    require_positive(node_h=hours)
    require_some_failure(count)
    return count, hours


def _expected(count: Floats, hours: Floats) -> Floats:
    """Counts if all had the same rate."""
    expected: Floats = hours * (count.sum() / hours.sum())
    return expected


def _spreads(expected: Floats, ratio: float, stated: float | None) -> Floats:
    """Spreads to weigh: the stated one, or those of 200 equal steps of the share of chance in a count."""
    if stated is not None:
        require_not_negative(spread_fraction=stated)
        return np.array([stated])
    chance_share = (np.arange(200) + 0.5) / 200
    spreads: Floats = np.sqrt(ratio / expected.mean() * (1.0 / chance_share - 1.0))
    return spreads


def _drawn_together(
    count: Floats, hours: Floats, ratio: float, spreads: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Rates, their variances and own weights, a row for each spread; and how likely that makes the counts."""
    square = spreads[:, None] ** 2
    precision = 1.0 / (square + ratio / _expected(count, hours))
    weight = square * precision
    mean = np.sum(precision * count / hours, axis=1, keepdims=True) / precision.sum(axis=1, keepdims=True)
    relative = 1.0 + weight * (count / hours / mean - 1.0)
    error = (1.0 - weight) ** 2 / precision.sum(axis=1, keepdims=True)
    log_chance = _log_chance_of_count(
        failures=count,
        mean_failures=mean * hours,
        variance_to_mean_ratio=ratio,
        spread_fraction=spreads[:, None],
    ).sum(axis=1)
    # The mean is not known either: the more its error, the more means would do.
    log_chance -= np.log(precision.sum(axis=1)) / 2.0
    return mean * relative, mean**2 * (relative * square * (1.0 - weight) + error), weight, log_chance


def _gamma_interval(mean: Floats, variance: Floats, confidence_fraction: float) -> RateInterval:
    """Interval of gamma variables of these moments."""
    tail = (1.0 - confidence_fraction) / 2.0
    shape, scale = mean**2 / variance, variance / mean
    return RateInterval(
        rate_per_node_h=mean,
        low_per_node_h=gammaincinv(shape, tail) * scale,
        high_per_node_h=gammainccinv(shape, tail) * scale,
    )
