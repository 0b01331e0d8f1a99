"""Step time as a random number: how long is a step that waits for the slowest of many ranks.

Noise of single ranks makes every step longer, by nearly the same each time; `pace` says what a day or a whole
run makes of it. Failures and checkpoints are not in here (`ettr`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammainc, gammaincc, gammainccinv, gammaincinv, log_ndtr, ndtri, ndtri_exp

from reliability.columns import Column, Floats
from reliability.domain import require_at_least, require_not_negative, require_positive, require_share

Family = Literal["normal", "gamma", "lognormal"]

# Moments are integrals over a standard normal z, by the trapezoid rule: exact to rounding for smooth curves.
_Z = np.linspace(-8.5, 8.5, 69)
_MOST_SKEW = 6.0
_Z_WEIGHTS = np.exp(-_Z * _Z / 2.0) / np.exp(-_Z * _Z / 2.0).sum()


@dataclass(frozen=True, slots=True)
class StepTime:
    """A random time of known mean and coefficient of variation (standard deviation over mean).

    `certain_s` of the mean does not vary; in sums and maxima it is what gives them their skewness.
    """

    mean_s: Column
    variation_fraction: Column
    family: Family = "gamma"
    certain_s: Column = 0.0


@dataclass(frozen=True, slots=True)
class RankGroup:
    """Ranks that work side by side, each with a time of its own from the same distribution."""

    ranks: Column
    time: StepTime


def slowest_quantile_s(*, groups: Sequence[RankGroup], quantile_fraction: Column) -> Column:
    """Time by which every rank of every group is done, with a given chance.

        P(T <= t) = prod_g F_g(t)^(n_g)

    Exact for independent ranks; one group of n: t = F^-1(p^(1/n)). Several groups are what differs: a hot
    node, two kinds of hardware, stages of unlike length.

    Source: distribution of a maximum; max over parallel work as in PRISM, arXiv 2510.15596.
    """
    require_share(quantile_fraction=quantile_fraction)
    _check_groups(groups)
    return _slowest_s(groups, np.log(np.asarray(quantile_fraction, dtype=float)))[()]


def slowest(*, groups: Sequence[RankGroup]) -> StepTime:
    """Time until every rank of every group is done, as a step time that can be put into others.

        E[T^k] = integral over p from 0 to 1 of t(p)^k,  t(p) as in `slowest_quantile_s`

    Mean, variance and skewness are exact; the answer is the gamma time that has them.

    Source: moments of a maximum, by quadrature.
    """
    _check_groups(groups)
    times_s = _slowest_s([RankGroup(_deep(g.ranks), _deep_time(g.time)) for g in groups], log_ndtr(_Z))
    mean_s = (times_s * _Z_WEIGHTS).sum(axis=-1)
    away = times_s - mean_s[..., None]
    return _gamma_time(mean_s, (away**2 * _Z_WEIGHTS).sum(axis=-1), (away**3 * _Z_WEIGHTS).sum(axis=-1))


def slow_ranks_factor(
    *,
    ranks: Column,
    slow_ranks: Column,
    slowdown_factor: Column,
    variation_fraction: Column,
    family: Family = "gamma",
) -> Column:
    """How much longer the mean step is when some ranks are slowed.

        f = E[max(n - s ranks, s ranks times m)] / E[max(n ranks)]

    m without noise; less with it, since the slowed ranks must first be slower than the unluckiest other.

    Source: moments of a maximum, by quadrature.
    """
    require_at_least(1.0, slowdown_factor=slowdown_factor)
    require_positive(slow_ranks=slow_ranks)
    if np.any(np.asarray(slow_ranks) >= np.asarray(ranks)):
        raise ValueError(f"slow_ranks must be fewer than ranks, got {slow_ranks} of {ranks}")
    well = StepTime(1.0, variation_fraction, family)
    slowed = RankGroup(slow_ranks, StepTime(slowdown_factor, variation_fraction, family))
    hurt = slowest(groups=[RankGroup(np.subtract(ranks, slow_ranks), well), slowed])
    return np.divide(hurt.mean_s, slowest(groups=[RankGroup(ranks, well)]).mean_s)


def waiting_factor(
    *,
    nodes: Column,
    slow_fraction: Column,
    slowdown_factor: Column,
    variation_fraction: Column,
    family: Family = "gamma",
) -> Column:
    """How much longer the mean step of nodes that wait for each other is than that of one by itself.

        w = E[max(n nodes)] (1 + P(K > 0) (f - 1)),  P(K > 0) = 1 - (1 - p)^n

    Each node is slow with the chance p, K of them at a time; f is `slow_ranks_factor` at their mean number
    n p / P(K > 0) where there are some. Slow nodes stay long, so that their chance is that of any moment.

    Source: moments of a maximum, by quadrature; one slow node holds up all, as in PRISM, arXiv 2510.15596.
    """
    require_at_least(1.0, nodes=nodes, slowdown_factor=slowdown_factor)
    require_not_negative(slow_fraction=slow_fraction, variation_fraction=variation_fraction)
    count, chance = np.asarray(nodes, dtype=float), np.asarray(slow_fraction, dtype=float)
    some = -np.expm1(count * np.log1p(-chance))
    ranks = np.maximum(count, 2.0)
    slow = np.clip(count * chance / np.where(some > 0, some, 1.0), 1.0, ranks - 1.0)
    hurt = slow_ranks_factor(
        ranks=ranks,
        slow_ranks=slow,
        slowdown_factor=slowdown_factor,
        variation_fraction=variation_fraction,
        family=family,
    )
    noisy = slowest(groups=[RankGroup(count, StepTime(1.0, variation_fraction, family))]).mean_s
    factor: Column = (noisy * (1.0 + some * (hurt - 1.0)))[()]
    return factor


def _deviation_s(time: StepTime) -> Floats:
    return np.asarray(np.multiply(time.mean_s, time.variation_fraction), dtype=float)


def _varying(time: StepTime) -> tuple[Floats, Floats]:
    """Mean and coefficient of variation of the part that varies."""
    mean_s = np.subtract(time.mean_s, time.certain_s)
    return mean_s, _deviation_s(time) / mean_s


def _gamma_time(mean_s: Floats, variance: Floats, third_moment: Floats) -> StepTime:
    """The gamma time, with a certain part, of given central moments."""
    deviation_s = np.sqrt(variance)
    spreads = deviation_s > 1e-12 * mean_s
    # A gamma is a normal where it has no skewness; from the floor down the two are the same.
    skewness = np.maximum(third_moment / np.where(spreads, deviation_s, 1.0) ** 3, 1e-3)
    certain_s = np.where(spreads, mean_s - 2.0 * deviation_s / skewness, 0.0)
    return StepTime(mean_s[()], (deviation_s / mean_s)[()], "gamma", certain_s[()])


def _deep(column: Column) -> Column:
    """A column with an axis behind it for the points of an integral."""
    return np.asarray(column, dtype=float)[..., None]


def _deep_time(time: StepTime) -> StepTime:
    return StepTime(_deep(time.mean_s), _deep(time.variation_fraction), time.family, _deep(time.certain_s))


def _slowest_s(groups: Sequence[RankGroup], log_share: Floats) -> Floats:
    """Where all ranks are done with the chance exp(log_share), by halving between two sure bounds."""
    everyone: Column = sum((np.asarray(g.ranks, dtype=float) for g in groups), np.zeros(()))
    # Each group alone bounds the time from below; each as large as all together, from above.
    low = _latest([_quantile_s(g.time, log_share / g.ranks) for g in groups])
    high = _latest([_quantile_s(g.time, log_share / everyone) for g in groups])
    if len(groups) == 1:
        return low
    for _ in range(52):
        middle = (low + high) / 2.0
        done = sum((g.ranks * _log_share_done(g.time, middle) for g in groups), np.zeros(()))
        low, high = np.where(done < log_share, middle, low), np.where(done < log_share, high, middle)
    return high


def _latest(times_s: Sequence[Floats]) -> Floats:
    latest = times_s[0]
    for other in times_s[1:]:
        latest = np.maximum(latest, other)
    return latest


def _quantile_s(time: StepTime, log_share: Floats) -> Floats:
    """Quantile of one rank, from the logarithm of its share: near 1 a share itself has no digits left."""
    varying_s, variation = _varying(time)
    if time.family == "gamma":
        shape = 1.0 / np.square(np.where(variation > 0, variation, 1.0))
        share, beyond = np.exp(log_share), -np.expm1(log_share)
        factor = np.where(share < 0.5, gammaincinv(shape, share), gammainccinv(shape, beyond)) / shape
        factor = np.where(variation > 0, factor, 1.0)
    elif time.family == "normal":
        factor = 1.0 + variation * ndtri_exp(log_share)
    else:
        variance = np.log1p(np.square(variation))
        factor = np.exp(np.sqrt(variance) * ndtri_exp(log_share) - variance / 2.0)
    return time.certain_s + varying_s * factor


def _log_share_done(time: StepTime, at_s: Floats) -> Floats:
    """Logarithm of the chance that one rank is done by a time."""
    varying_s, variation = _varying(time)
    factor, spread = (at_s - time.certain_s) / varying_s, np.where(variation > 0, variation, 1.0)
    if time.family == "gamma":
        shape = 1.0 / np.square(spread)
        share = gammainc(shape, shape * np.maximum(factor, 0.0))
        late = gammaincc(shape, shape * np.maximum(factor, 0.0))
        log_share = np.where(share < 0.5, np.log(np.maximum(share, 1e-300)), np.log1p(-np.minimum(late, 0.9)))
    elif time.family == "normal":
        log_share = log_ndtr((factor - 1.0) / spread)
    else:
        variance = np.log1p(np.square(spread))
        log_factor = np.log(np.maximum(factor, 1e-300))
        log_share = log_ndtr((log_factor + variance / 2.0) / np.sqrt(variance))
    sure = np.where(factor >= 1.0, 0.0, -np.inf)
    return np.where(variation > 0, log_share, sure)


def _check_time(time: StepTime) -> None:
    require_positive(mean_s=time.mean_s)
    require_not_negative(variation_fraction=time.variation_fraction)
    if np.any(np.asarray(time.certain_s) >= np.asarray(time.mean_s)):
        raise ValueError(f"certain_s must be below mean_s, got {time.certain_s} with {time.mean_s}")
    if time.family not in ("normal", "gamma", "lognormal"):
        raise ValueError(f"family must be 'normal', 'gamma' or 'lognormal', got {time.family!r}")


def _check_groups(groups: Sequence[RankGroup]) -> None:
    if not groups:
        raise ValueError("groups must hold at least one RankGroup, got none")
    for group in groups:
        require_at_least(1.0, ranks=group.ranks)
        _check_time(group.time)


@dataclass(frozen=True, slots=True)
class QuantileLaw:
    """Step times known by some quantiles: t(p) = centre + spread * (e^(skew * z_p) - 1) / skew.

    Skew 0 is the normal law, above 0 a shifted log-normal one, below 0 its mirror image.
    """

    centre_s: float
    spread_s: float
    skew: float

    def quantile_s(self, quantile_fraction: float) -> float:
        """Step time that a share of the steps does not exceed."""
        require_share(quantile_fraction=quantile_fraction)
        return self.centre_s + self.spread_s * float(_skewed(ndtri(quantile_fraction), self.skew))


def fit_quantiles(*, quantile_fractions: ArrayLike, times_s: ArrayLike) -> QuantileLaw:
    """The law through measured quantiles: exact through two or three, else of least squares.

        min over centre, spread, skew of sum (t_i - t(p_i))^2

    Two quantiles tell no skew: the law is normal then.

    Source: g-distribution (Hoaglin, in "Exploring Data Tables, Trends, and Shapes", 1985).
    """
    from scipy.optimize import minimize_scalar  # takes a third of a second to load

    share, time = np.asarray(quantile_fractions, float), np.asarray(times_s, float)
    require_share(quantile_fractions=share)
    require_positive(times_s=time)
    order = np.argsort(share)
    z, time = ndtri(share[order]), time[order]
    if share.shape != time.shape or share.size < 2 or np.any(np.diff(z) <= 0) or np.any(np.diff(time) < 0):
        raise ValueError("quantile_fractions and times_s are two or more pairs, rising together")

    def line(skew: float) -> tuple[Floats, float]:
        columns = np.column_stack([np.ones_like(z), _skewed(z, skew)])
        found, *_ = np.linalg.lstsq(columns, time, rcond=None)
        return found, float(np.sum((columns @ found - time) ** 2))

    skew = 0.0
    if z.size > 2 and time[-1] > time[0]:
        steps = np.linspace(-_MOST_SKEW, _MOST_SKEW, 121)
        start = steps[int(np.argmin([line(one)[1] for one in steps]))]
        width = steps[1] - steps[0]
        ends = (float(start - width), float(start + width))
        skew = float(minimize_scalar(lambda one: line(one)[1], bounds=ends, options={"xatol": 1e-9}).x)
    (centre, spread), _ = line(skew)
    return QuantileLaw(float(centre), float(spread), float(skew))


def _skewed(z: ArrayLike, skew: float) -> Floats:
    z = np.asarray(z, dtype=float)
    return z if abs(skew) < 1e-6 else np.expm1(skew * z) / skew
