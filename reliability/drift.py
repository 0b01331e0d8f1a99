"""The rate in the long run where it changes from period to period, and the chance of counts at such rates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, gammaln

from reliability.domain import require_at_least, require_not_negative, require_positive, require_share
from reliability.fleet import RateEstimate

Column = float | NDArray[np.float64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class WeighedRate:
    """A rate after own counts; `prior_weight_fraction` of its mean is the prior's, the rest the counts'."""

    estimate: RateEstimate
    prior_weight_fraction: float


def drifting_rate(
    *,
    prior_shape: float,
    prior_node_h: float,
    failures: ArrayLike,
    node_h: ArrayLike,
    confidence_fraction: float,
    drift_fraction: float,
    variance_to_mean_ratio: float = 1.0,
) -> WeighedRate:
    """Rate in the long run after own counts of periods between which the rate drifts.

        n_i negative binomial of mean m_i = r * t_i and variance m_i * (v + c^2 * m_i)
        prior weight = b / (b + sum t_i / (v + c^2 * m_i)),  m_i at E[r]

    `drift_fraction` c is the standard deviation of a period's rate over the rate in the long run: however
    many failures it holds, a period says no more than 1 / c^2 failures would. `variance_to_mean_ratio` v is
    for bursts within a period. Bayes' rule on a grid of rates; the estimate's `shape` and `node_h` are those
    of the gamma belief with the same mean and variance.

    Source: gamma-Poisson mixture; the weight is that of the conjugate update, periods at their information.
    """
    require_positive(prior_shape=prior_shape, prior_node_h=prior_node_h)
    require_not_negative(drift_fraction=drift_fraction)
    require_share(confidence_fraction=confidence_fraction)
    require_at_least(1.0, variance_to_mean_ratio=variance_to_mean_ratio)
    count, hours = _columns(failures, node_h)

    def log_density(rate: Floats) -> Floats:
        """Belief in ln(rate), but for a constant."""
        mean = rate[:, None] * hours
        chance = log_chance_of_count(
            failures=count,
            mean_failures=mean,
            variance_to_mean_ratio=variance_to_mean_ratio,
            spread_fraction=drift_fraction,
        )
        density: Floats = prior_shape * np.log(rate) - prior_node_h * rate + chance.sum(axis=1)
        return density

    seen = np.append(count / hours, prior_shape / prior_node_h)
    rate, share = _grid(log_density, lowest=1e-12 * float(seen.max()), highest=1e3 * float(seen.max()))
    mean = float(np.sum(share * rate))
    variance = float(np.sum(share * (rate - mean) ** 2))
    tail = (1.0 - confidence_fraction) / 2.0
    low, high = np.interp([tail, 1.0 - tail], np.cumsum(share) - share / 2.0, rate)
    own_h = float(np.sum(hours / (variance_to_mean_ratio + drift_fraction**2 * mean * hours)))
    return WeighedRate(
        estimate=RateEstimate(
            mean_per_node_h=mean,
            low_per_node_h=float(low),
            high_per_node_h=float(high),
            shape=mean**2 / variance,
            node_h=mean / variance,
        ),
        prior_weight_fraction=prior_node_h / (prior_node_h + own_h),
    )


def log_chance_of_count(
    *, failures: Floats, mean_failures: Floats, variance_to_mean_ratio: float, spread_fraction: Column
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
    return chance - failures * np.log1p(1.0 / excess)


def _grid(log_density: Callable[[Floats], Floats], *, lowest: float, highest: float) -> tuple[Floats, Floats]:
    """Rates in equal steps of their logarithm and the share of belief in each, closing in on its bulk."""
    for _ in range(3):
        rate = np.geomspace(lowest, highest, 2001)
        density = log_density(rate)
        near = np.flatnonzero(density > density.max() - 40.0)
        lowest = float(rate[max(near[0] - 1, 0)])
        highest = float(rate[min(near[-1] + 1, rate.size - 1)])
    share = np.exp(density - density.max())
    return rate, share / share.sum()


def _columns(failures: ArrayLike, node_h: ArrayLike) -> tuple[Floats, Floats]:
    """Checked columns of one length, at least one row."""
    count, hours = np.broadcast_arrays(
        np.atleast_1d(np.asarray(failures, dtype=float)), np.asarray(node_h, dtype=float)
    )
    if count.ndim != 1 or not count.size:
        raise ValueError(f"failures must be a column of counts, got an array of shape {count.shape}")
    require_not_negative(failures=count)
    require_positive(node_h=hours)
    return count, hours
