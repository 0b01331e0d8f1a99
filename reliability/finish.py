"""When a job is done and what it loses on the way: quantiles, from luck and from doubt about the rate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammainc, gammaincinv

from reliability.columns import Column, Floats
from reliability.domain import (
    require_not_negative,
    require_positive,
    require_positive_or_infinite,
    require_share,
)
from reliability.rollback import useful_and_repeated_h

# Doubt about the failure rate is cut into slices of chance, fine at both ends (Gauss and Legendre).
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
# A stretch of compute this many MTTFs long is never passed; beyond it squares would overflow.
_NEVER = 100.0
# Least variance of the hours added, for each square of their mean: where it is below, it is all rounding.
_NARROWEST = 1e-8


def finish_quantile_h(
    *,
    useful_h: Column,
    interval_h: Column,
    mttf_h: Column,
    write_h: Column,
    restart_h: Column,
    quantile_fraction: Column,
    persist_h: Column = 0.0,
    rate_shape: Column = np.inf,
    queue_h: Column = 0.0,
    restart_deviation_h: Column = 0.0,
    rolled_back_h: Column = 0.0,
) -> Column:
    """Hours after its start by which a job is done with a given chance.

        t_q = n * (W + C) + P + G_q,  n = useful / W,  averaged over r ~ Gamma(a, a * M)

    G, what failures add, is 0 with the chance e^(-(n * (W + C) + P) / M) that nothing fails, else gamma; it
    has the exact mean n * (E[T] - W - C) and variance n * Var[T], where, with u for u0 + q,

        E[T] = (M + u) * (e^x - 1),  x = (W + C) / M
        Var[T] = M^2 * (e^(2x) - 2 * x * e^x - 1) + u * e^x * (2 * M * (e^x - 1 - x) + u * (e^x - 1))
                 + s^2 * (e^x - 1)

    From one expected failure on, with restarts shorter than an interval, the 95 % quantile is within 1 % of
    played jobs. `rate_shape` a says how sure the rate is (its standard error is 1/sqrt(a) of it; infinite for
    known), as `updated_rate` gives it. s is `restart_deviation_h`. The queue is that after failures; the one
    before the start is left out. With a background write the job is done once the last one is stored. Stored
    work that stops throw away (`rolled_back_h`) is done again: its mean counts, its spread does not.

    Source: mean and variance of a restarted exponential task; gamma approximation of their sum.
    """
    require_share(quantile_fraction=quantile_fraction)
    require_not_negative(restart_h=restart_h, queue_h=queue_h)
    all_h = useful_and_repeated_h(
        useful_h=useful_h,
        interval_h=interval_h,
        mttf_h=mttf_h,
        write_h=write_h,
        persist_h=persist_h,
        rolled_back_h=rolled_back_h,
    )
    columns = np.broadcast_arrays(
        *(
            np.asarray(c, dtype=float)
            for c in (
                all_h,
                interval_h,
                mttf_h,
                write_h,
                np.add(restart_h, queue_h),
                persist_h,
                rate_shape,
                restart_deviation_h,
                quantile_fraction,
            )
        )
    )
    # A job takes as long at every site where its nodes are alike: each distinct one is worked out once.
    distinct, row = np.unique(np.stack([c.ravel() for c in columns]), axis=1, return_inverse=True)
    return _quantile_h(*distinct)[row.ravel()].reshape(columns[0].shape)[()]


@dataclass(frozen=True, slots=True)
class _Slices:
    """Finish for each slice of the belief about the rate: `least_h`, plus gamma hours unless unhurt."""

    least_h: Floats
    unhurt: Floats  # chance that nothing fails
    shape: Floats
    scale_h: Floats


def _slices(
    useful: Floats,
    interval: Floats,
    mttf: Floats,
    write: Floats,
    restart: Floats,
    persist: Floats,
    rate_shape: Floats,
    deviation: Floats,
) -> _Slices:
    require_positive(useful_h=useful, interval_h=interval)
    require_positive_or_infinite(mttf_h=mttf, rate_shape=rate_shape)
    require_not_negative(write_h=write, persist_h=persist, restart_deviation_h=deviation)
    least = useful / interval * (interval + write) + persist
    known = np.isinf(rate_shape)
    if not known.all():
        finite = np.where(known, 1.0, rate_shape)
        mttf = mttf / np.where(known, 1.0, gammaincinv(finite, (_NODES + 1.0) / 2.0) / finite)
    added, variance = _added(useful, interval, mttf, write, restart, persist, deviation)
    if added.shape[-1] > 1:
        # Spread inside a slice, so that the mixture has no steps between slices.
        variance = variance + np.square(np.gradient(added, axis=-1)) / 12.0
    hurt = -np.expm1(-least / mttf)
    fails = (added > 0) & (hurt > 0)
    chance = np.where(fails, hurt, 1.0)
    mean = np.where(fails, added, 1.0) / chance
    # Given that something fails; the floor is for a restart that is all there is, of which rounding is left.
    spread = np.maximum(variance / chance - mean * mean * (1.0 - chance), _NARROWEST * mean * mean)
    return _Slices(least, 1.0 - hurt, mean * mean / spread, np.where(fails, spread / mean, 0.0))


def _added(
    useful: Floats,
    interval: Floats,
    mttf: Floats,
    write: Floats,
    restart: Floats,
    persist: Floats,
    deviation: Floats,
) -> tuple[Floats, Floats]:
    """Mean and variance of the hours that failures add to a job."""
    cycle = interval + write
    exponent = np.minimum(cycle / mttf, _NEVER)
    mttf = np.maximum(mttf, cycle / _NEVER)
    # With a background write a restart lasts until P has passed without a failure: a task of its own.
    own_variance = np.square(deviation)
    waiting, waiting_variance = _task(persist, persist / mttf, restart, own_variance)
    restarting = restart + persist + waiting
    added, variance = _task(cycle, exponent, restarting, own_variance + waiting_variance)
    intervals = useful / interval
    return waiting + intervals * added, waiting_variance + intervals * variance


def _task(
    length: Floats, exponent: Floats, restart: Floats, restart_variance: Floats
) -> tuple[Floats, Floats]:
    """Mean and variance of what failures add to a task that starts again after each one."""
    repeats = np.expm1(exponent)
    square = length * exponent * _exp_excess(exponent)
    own = length * length * exponent * _sinh_excess(exponent) / 3.0
    restarts = restart * (square + restart * repeats)
    return square / 2.0 + restart * repeats, np.exp(exponent) * (own + restarts) + repeats * restart_variance


def _sinh_excess(x: Floats) -> Floats:
    """6 * (sinh(x) - x) / x^3, by its series where the difference would cancel."""
    safe, square = np.maximum(x, 0.1), np.square(np.minimum(x, 0.1))
    series = 1.0 + square / 20.0 * (1.0 + square / 42.0 * (1.0 + square / 72.0))
    return np.where(x < 0.1, series, 6.0 * (np.sinh(safe) - safe) / safe**3)


def _exp_excess(x: Floats) -> Floats:
    """2 * (exp(x) - 1 - x) / x^2, by its series where the difference would cancel."""
    safe, small = np.maximum(x, 0.1), np.minimum(x, 0.1)
    series = np.ones_like(small)
    for divisor in (7.0, 6.0, 5.0, 4.0, 3.0):
        series = 1.0 + small / divisor * series
    return np.where(x < 0.1, series, 2.0 * (np.expm1(safe) - safe) / safe**2)


def _share_done(slices: _Slices, at: Floats) -> Floats:
    """Chance of being done at a time, averaged over the slices; a job that nothing hurts is a step."""
    left = at - slices.least_h
    scale = np.where(slices.scale_h > 0, slices.scale_h, 1.0)
    among_failing = np.where(slices.scale_h > 0, gammainc(slices.shape, np.maximum(left, 0.0) / scale), 1.0)
    done = np.where(left >= 0, slices.unhurt + (1.0 - slices.unhurt) * among_failing, 0.0)
    weights = _WEIGHTS / 2.0 if done.shape[-1] > 1 else np.ones(1)
    share: Floats = (done * weights).sum(axis=-1, keepdims=True)
    return share


def _quantile_h(*columns: Floats) -> Floats:
    """Quantile of each job; the share is the last column."""
    *job, share = (column[..., None] for column in columns)
    slices = _slices(*job)
    among_failing = np.maximum(share - slices.unhurt, 0.0) / np.where(slices.unhurt < 1, 1 - slices.unhurt, 1)
    with np.errstate(under="ignore"):
        candidates_h = slices.least_h + slices.scale_h * gammaincinv(slices.shape, among_failing)
    if candidates_h.shape[-1] == 1:
        return candidates_h[..., 0]
    return _mixture_quantile(slices, share, candidates_h)


def _mixture_quantile(slices: _Slices, share: Floats, candidates: Floats) -> Floats:
    """Quantile of the average over slices, by halving: it lies between the quantiles of its parts."""
    low, high = candidates.min(axis=-1, keepdims=True), candidates.max(axis=-1, keepdims=True)
    for _ in range(36):
        middle = (low + high) / 2.0
        early = _share_done(slices, middle) < share
        low, high = np.where(early, middle, low), np.where(early, high, middle)
    quantile: Floats = high[..., 0]
    return quantile
