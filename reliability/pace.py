"""Hours for each hour of work at the usual pace, over a day or a whole run.

What many steps share (a hot aisle, a congested fabric, a slow node) does not average out within a day:
`lasting` times say how long it stays. The usual pace is the mean step of `step_time`. Failures and
checkpoints are not in here (`ettr`); steps thrown away after a loss spike are a `FailureClass` with a
rollback.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, gammaln, ndtr

from reliability.domain import (
    require_at_least,
    require_not_negative,
    require_positive,
    require_positive_or_infinite,
    require_share,
)

Column = float | NDArray[np.float64]
Floats = NDArray[np.float64]

# The slow hours of a window are cut into slices of chance, fine at both ends (Gauss and Legendre).
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
# Terms of the variance of slow hours: more than 100 episodes at once are never without one.
_EPISODES = np.arange(1.0, 101.0)


def averaged_variance_fraction(*, window_h: Column, lasting_h: Column) -> Column:
    """Share of a variance that is left in the average over a window.

        v = 2 * (h - 1 + e^-h) / h^2,  h = window / lasting

    For what is forgotten as e^(-t / lasting): 1 where it outlasts the window, 2 / h where it is short.

    Source: variance of the time average of a process with exponential autocorrelation.
    """
    require_positive(window_h=window_h)
    require_positive_or_infinite(lasting_h=lasting_h)
    h = np.divide(window_h, lasting_h)
    large, small = np.maximum(h, 0.02), np.minimum(h, 0.02)
    series = 1.0 - small / 3.0 * (1.0 - small / 4.0 * (1.0 - small / 5.0 * (1.0 - small / 6.0)))
    share: Column = np.where(h < 0.02, series, 2.0 * (large + np.expm1(-large)) / (large * large))[()]
    return share


def slow_time_fraction(*, episodes_per_h: Column, episode_h: Column) -> Column:
    """Share of hours in which at least one slow episode is on.

        p = 1 - exp(-l * D)

    `episodes_per_h` is that of the job, nodes times the rate of one. Overlapping episodes slow the job once.

    Source: M/G/infinity queue, chance of being busy.
    """
    require_not_negative(episodes_per_h=episodes_per_h, episode_h=episode_h)
    share: Column = -np.expm1(-np.multiply(episodes_per_h, episode_h))
    return share


def mean_step_factor(*, episodes_per_h: Column, episode_h: Column, slowdown_factor: Column) -> Column:
    """Hours for each hour of work at the usual pace, in the long run.

        f = 1 / (1 - p * (1 - 1 / m)),  p = 1 - exp(-l * D)

    The usual pace is the mean step without slow episodes, `slowest(...).mean_s`; noise of steps and shared
    noise are in its mean and average out.

    Source: share of hours by pace; p from the M/G/infinity queue.
    """
    require_at_least(1.0, slowdown_factor=slowdown_factor)
    slow = slow_time_fraction(episodes_per_h=episodes_per_h, episode_h=episode_h)
    factor: Column = 1.0 / (1.0 - slow * (1.0 - np.divide(1.0, slowdown_factor)))
    return factor


def step_quantile_factor(
    *,
    quantile_fraction: Column,
    window_h: Column,
    step_s: Column,
    step_variation_fraction: Column,
    shared_variation_fraction: Column = 0.0,
    shared_lasting_h: Column = np.inf,
    episodes_per_h: Column = 0.0,
    episode_h: Column = 0.0,
    slowdown_factor: Column = 1.0,
) -> Column:
    """Hours for each hour of work at the usual pace, over a window, not exceeded with a given chance.

        f = A / (1 - B * (1 - 1 / m))
        A lognormal of mean 1, variance c^2 * step / window + s^2 * v(window / lasting)
        B = 0 with the chance exp(-l * (D + window)), else beta; E[B] = p = 1 - exp(-l * D)
        Var[B] = exp(-2 * l * D) * sum_(j >= 1) (l * D)^j / j! * v(j * window / D)

    v is `averaged_variance_fraction`. Noise of each step (c) is gone within an hour; a shared regime (s)
    stays as long as it lasts, for ever by default; episodes (l in an hour, D long on average, exponential)
    slow the job by m while any is on. Over a single step this is the spread of steps, over a run that of
    finish dates. Mean and variance of A and B are exact, their shapes are not.

    Source: M/M/infinity queue, autocorrelation of its busy times; beta and lognormal by their moments.
    """
    require_share(quantile_fraction=quantile_fraction)
    require_positive(window_h=window_h, step_s=step_s)
    require_not_negative(step_variation_fraction=step_variation_fraction, episode_h=episode_h)
    require_not_negative(shared_variation_fraction=shared_variation_fraction, episodes_per_h=episodes_per_h)
    require_positive_or_infinite(shared_lasting_h=shared_lasting_h)
    require_at_least(1.0, slowdown_factor=slowdown_factor)
    columns = np.broadcast_arrays(
        *(
            np.asarray(c, dtype=float)
            for c in (
                quantile_fraction,
                window_h,
                step_s,
                step_variation_fraction,
                shared_variation_fraction,
                shared_lasting_h,
                episodes_per_h,
                episode_h,
                slowdown_factor,
            )
        )
    )
    share, window, step, own, shared, lasting, rate, episode, slowdown = (c[..., None] for c in columns)
    own_variance = np.square(own) * np.minimum(step / 3600.0 / window, 1.0)
    noise = own_variance + np.square(shared) * averaged_variance_fraction(window_h=window, lasting_h=lasting)
    slow, weights = _slow_slices(window, rate, episode)
    pace = -np.log1p(-slow * (1.0 - 1.0 / slowdown))
    log_variance = np.log1p(noise)
    # Spread inside a slice, so that the mixture has no steps between slices; the first stands alone.
    inside = np.concatenate([np.zeros_like(share), np.gradient(pace[..., 1:], axis=-1)], axis=-1)
    deviation = np.sqrt(log_variance + np.square(inside) / 12.0)
    return np.exp(_normal_mixture_quantile(pace - log_variance / 2.0, deviation, weights, share))[()]


def _slow_slices(window: Floats, rate: Floats, episode: Floats) -> tuple[Floats, Floats]:
    """Shares of a window that are slow, and their chances: none at all, then slices of the rest."""
    at_once = rate * episode
    untouched = np.exp(-at_once - rate * window)
    touched = -np.expm1(-at_once - rate * window)
    chance = np.where(touched > 0, touched, 1.0)
    busy = -np.expm1(-at_once)
    lasting = np.where(episode > 0, episode, 1.0) / _EPISODES
    terms = np.exp(_EPISODES * np.log(np.maximum(at_once, 1e-300)) - gammaln(_EPISODES + 1.0) - 2.0 * at_once)
    left = averaged_variance_fraction(window_h=window, lasting_h=lasting)
    variance = (terms * left).sum(axis=-1, keepdims=True)
    mean = np.clip(busy / chance, 1e-12, 1.0 - 1e-12)
    spread = np.maximum(variance / chance - mean * mean * (1.0 - chance), 1e-12 * mean * (1.0 - mean))
    # Towards 0 all hours or none are slow, and the beta is two points.
    narrow = np.maximum(mean * (1.0 - mean) / spread - 1.0, 1e-3)
    slices = betaincinv(mean * narrow, (1.0 - mean) * narrow, (_NODES + 1.0) / 2.0)
    slow = np.where(busy > 0, slices, 0.0)
    weights = touched * _WEIGHTS / 2.0
    return np.concatenate([np.zeros_like(mean), slow], -1), np.concatenate([untouched, weights], -1)


def _normal_mixture_quantile(mean: Floats, deviation: Floats, weights: Floats, share: Floats) -> Floats:
    """Quantile of a mixture of normals, by halving; a part without spread is a step."""
    reach = 40.0 * deviation.max(axis=-1, keepdims=True)
    low, high = mean.min(axis=-1, keepdims=True) - reach, mean.max(axis=-1, keepdims=True) + reach
    for _ in range(60):
        middle = (low + high) / 2.0
        z = (middle - mean) / np.where(deviation > 0, deviation, 1.0)
        done = (weights * np.where(deviation > 0, ndtr(z), middle >= mean)).sum(axis=-1, keepdims=True)
        low, high = np.where(done < share, middle, low), np.where(done < share, high, middle)
    quantile: Floats = high[..., 0]
    return quantile
