"""How many failures the next period brings, with an interval that holds.

Failures per quarter are not Poisson: they scatter more, and their rate wanders. How fast a rate is
forgotten and how wide counts scatter around it are unknown for a fleet. No value of the two is picked:
each pair of a grid forecasts, and counts by how well it forecast the periods seen so far. A short
history leaves many pairs standing, and so a wide interval.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln

from reliability.columns import Floats
from reliability.domain import counts_of_periods, require_not_negative, require_positive, require_share
from reliability.spares import fewest_counts, share_at_most

# The middles of ten equal parts of 0 to 1: all shares are equally likely before anything is seen.
EVEN_SHARES: tuple[float, ...] = tuple(float(share) for share in (np.arange(10) + 0.5) / 10)
# Jeffreys' prior of a Poisson rate: as if half an event had been seen in no time.
HALF_EVENT = 0.5


@dataclass(frozen=True, slots=True)
class CountBelief:
    """What past counts say of the next period's rate: for each pair of memory and scatter a gamma rate.

    Columns have a row for each pair: its weight, its rate as if `shape` events had been seen in `exposure`,
    and the share of that which is own counts and not the prior.
    """

    memory_fraction: Floats
    scatter_fraction: Floats
    weight_fraction: Floats
    shape: Floats
    exposure: Floats
    own_fraction: Floats
    periods: int


@dataclass(frozen=True, slots=True)
class Forecast:
    """Count of the next period with its equal-tailed interval.

    `drift_fraction` is the share of the rate's evidence that a period takes away, `history_fraction` the
    share of what is left that is own counts and not the prior. With fewer than two `periods` nothing has
    been forecast and found right or wrong yet: the width is the prior's.
    """

    mean: float
    low: float
    median: float
    high: float
    variance_to_mean_ratio: float
    drift_fraction: float
    scatter_fraction: float
    history_fraction: float
    periods: int


def count_belief(
    *,
    counts: ArrayLike,
    exposure: ArrayLike,
    prior_shape: float = HALF_EVENT,
    prior_exposure: float = 0.0,
    memory_fractions: ArrayLike = EVEN_SHARES,
    scatter_fractions: ArrayLike = EVEN_SHARES,
) -> CountBelief:
    """Rates that past counts leave possible, each pair of memory d and scatter c weighed by its forecasts.

        a <- d * max(a + y/v, 1/(2*v)),  b <- d * (b + t/v),  v = 1 + c^2 * m,  m = a/b * t
        weight <- weight * P(y),  y ~ negative binomial of mean m and variance v * m + m^2 / a

    Counts y scatter by c of their mean beyond Poisson, so they carry the evidence of y/v. A period leaves
    the share d of older evidence: 1 is a constant rate, 0 a rate that is new each period. Grid points are
    equally likely beforehand. The prior is a gamma rate (1/2 and 0: Jeffreys') and fades like other old
    evidence. Periods are of similar length; `exposure` (node-hours, or what a known ageing trend expects)
    takes up the rest. Seasons are left out.

    Source: Harvey and Fernandes, JBES 7(4), 1989 (discounted gamma); McCullagh and Nelder, 1989 (v);
    Raftery et al., Technometrics 52(1), 2010 (weighing by past forecasts).
    """
    seen, exposed = counts_of_periods(counts, exposure)
    require_positive(prior_shape=prior_shape)
    require_not_negative(prior_exposure=prior_exposure)
    memory, scatter = _grid(memory_fractions, scatter_fractions)
    a, b = np.full(memory.size, float(prior_shape)), np.full(memory.size, float(prior_exposure))
    squared = np.square(scatter)
    prior_b, log_weight = b.copy(), np.zeros(memory.size)
    for y, t in zip(seen, exposed, strict=True):
        known = bool((b > 0).all())  # not before the first period where there is no prior
        mean = a / b * t if known else np.full(memory.size, y)
        spread = 1.0 + squared * mean
        if known:
            log_weight += _log_probability(y, a, t / b, spread)
        # Quiet periods in a row must not make the rate a certain zero: half an event is always left.
        a = memory * np.maximum(a + y / spread, HALF_EVENT / spread)
        b, prior_b = memory * (b + t / spread), memory * prior_b
    weight = np.exp(log_weight - log_weight.max())
    own = 1.0 - np.divide(prior_b, b, out=np.ones_like(b), where=b > 0)
    return CountBelief(memory, scatter, weight / weight.sum(), a, b, own, seen.size)


def predicted_counts(*, belief: CountBelief, next_exposure: float, share_fractions: ArrayLike) -> Floats:
    """Quantiles of the next period's count.

        k_p = min { k : sum_i w_i * P_i(Y <= k) >= p },  P_i negative binomial as in `count_belief`

    Source: mixture of negative binomials; see `count_belief`.
    """
    require_positive(next_exposure=next_exposure)
    shares = np.atleast_1d(np.asarray(share_fractions, dtype=float))
    require_share(share_fractions=shares)
    mean, ratio = _predictive(belief, next_exposure)
    weight = belief.weight_fraction
    guess = np.full(shares.shape, np.ceil(weight @ mean))
    return fewest_counts(
        lambda count: weight @ share_at_most(count[np.newaxis, :], mean[:, np.newaxis], ratio[:, np.newaxis]),
        # A weighted sum of ones can fall short of 1 by rounding; so must the target.
        shares * (1.0 - 1e-12),
        guess,
    )


def forecast_count(
    *,
    counts: ArrayLike,
    exposure: ArrayLike,
    next_exposure: float,
    confidence_fraction: float,
    prior_shape: float = HALF_EVENT,
    prior_exposure: float = 0.0,
    memory_fractions: ArrayLike = EVEN_SHARES,
    scatter_fractions: ArrayLike = EVEN_SHARES,
) -> Forecast:
    """Count of the next period from those of past ones, oldest first.

        Y ~ sum_i w_i * NB_i(m_i, v_i * m_i + m_i^2 / a_i)

    One period ahead: for a longer one, count past periods of that length. Without any period the prior
    must say what to expect. A jump beyond all that was seen (a new defect) is left out.

    Source: see `count_belief`.
    """
    require_share(confidence_fraction=confidence_fraction)
    belief = count_belief(
        counts=counts,
        exposure=exposure,
        prior_shape=prior_shape,
        prior_exposure=prior_exposure,
        memory_fractions=memory_fractions,
        scatter_fractions=scatter_fractions,
    )
    tail = (1.0 - confidence_fraction) / 2.0
    low, median, high = predicted_counts(
        belief=belief, next_exposure=next_exposure, share_fractions=(tail, 0.5, 1.0 - tail)
    )
    each, ratio = _predictive(belief, next_exposure)
    weight = belief.weight_fraction
    mean = float(weight @ each)
    variance = float(weight @ (ratio * each + np.square(each - mean)))
    return Forecast(
        mean=mean,
        low=float(low),
        median=float(median),
        high=float(high),
        variance_to_mean_ratio=variance / mean,
        drift_fraction=float(1.0 - weight @ belief.memory_fraction),
        scatter_fraction=float(weight @ belief.scatter_fraction),
        history_fraction=float(weight @ belief.own_fraction),
        periods=belief.periods,
    )


def poisson_forecast(
    *,
    counts: ArrayLike,
    exposure: ArrayLike,
    next_exposure: float,
    confidence_fraction: float,
    last_periods: int = 4,
) -> Forecast:
    """The common plan to compare with: the rate of the last periods as the mean of a Poisson count.

        Y ~ Poisson(t * sum(y) / sum(t))

    Its interval is far too narrow on every log that was tried: on LANL's quarters 90 % holds 27 %.

    Source: Poisson process of constant rate.
    """
    require_share(confidence_fraction=confidence_fraction)
    require_positive(next_exposure=next_exposure, last_periods=last_periods)
    seen, exposed = (column[-last_periods:] for column in counts_of_periods(counts, exposure))
    if not seen.size:
        raise ValueError("counts must hold at least 1 period, got none")
    mean = float(seen.sum() / exposed.sum() * next_exposure)
    tail = (1.0 - confidence_fraction) / 2.0
    low, median, high = fewest_counts(
        lambda count: share_at_most(count, np.full(3, mean), np.ones(3)),
        np.array([tail, 0.5, 1.0 - tail]),
        np.full(3, np.ceil(mean)),
    )
    return Forecast(mean, float(low), float(median), float(high), 1.0, 0.0, 0.0, 1.0, int(seen.size))


def _grid(memory_fractions: ArrayLike, scatter_fractions: ArrayLike) -> tuple[Floats, Floats]:
    """Every pair of the two columns."""
    memory = np.atleast_1d(np.asarray(memory_fractions, dtype=float))
    scatter = np.atleast_1d(np.asarray(scatter_fractions, dtype=float))
    require_positive(memory_fractions=memory)
    if memory.max() > 1.0:
        raise ValueError(f"memory_fractions must be above 0 and at most 1, got {memory.max():g}")
    require_not_negative(scatter_fractions=scatter)
    pairs = np.meshgrid(memory, scatter, indexing="ij")
    return pairs[0].ravel(), pairs[1].ravel()


def _predictive(belief: CountBelief, next_exposure: float) -> tuple[Floats, Floats]:
    """Mean and variance-to-mean ratio of the next count for each pair."""
    if not np.all(belief.exposure > 0):
        raise ValueError(
            "counts must hold at least 1 period, got none: "
            "count one, or give prior_shape and prior_exposure of a published rate"
        )
    mean = belief.shape / belief.exposure * next_exposure
    return mean, 1.0 + np.square(belief.scatter_fraction) * mean + next_exposure / belief.exposure


def _log_probability(y: float, shape: Floats, exposure_ratio: Floats, spread: Floats) -> Floats:
    """Logarithm of P(Y = y), Y negative binomial of mean m = a * t/b and variance-to-mean v + t/b."""
    mean = shape * exposure_ratio
    excess = spread - 1.0 + exposure_ratio
    size = mean / excess
    chance: Floats = size * -np.log1p(excess) + y * -np.log1p(1.0 / excess)
    return chance if y == 0 else chance - np.log(y) - betaln(size, y)
