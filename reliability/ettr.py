"""Effective training time ratio (ETTR): useful hours for each hour that a job is there.

Everywhere in this room the interval is the compute time between two checkpoints; the time to write
them is not in it. Hours in a queue after each failure count where `queue_h` says so. Slow steps are
not in ETTR: multiply by the compute efficiency for those.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gamma, gammaincc

from reliability.checkpoint import hours_by_state
from reliability.columns import Column
from reliability.domain import (
    require_fraction,
    require_not_negative,
    require_positive,
    require_positive_or_infinite,
)

# Terms of the renewal sum that are added one by one; Euler and Maclaurin's formula gives the rest.
_SUMMED_TERMS = 200


@dataclass(frozen=True, slots=True)
class LinearEttr:
    """ETTR by the published straight line, and whether it may be read: `loss_fraction` must be small."""

    ettr_fraction: Column
    loss_fraction: Column
    in_range: bool | NDArray[np.bool_]


def ettr_fraction(
    *, interval_h: Column, mttf_h: Column, write_h: Column, restart_h: Column, queue_h: Column = 0.0
) -> Column:
    """Exact ETTR with blocking checkpoints and failures that arrive at a constant rate.

        ETTR = W / ((M + u0 + q) * (exp((W + C) / M) - 1))

    Failures strike during work and during writes, not during a restart or in the queue. With
    `queue_h` the hours waited after each failure count against the job.

    Source: renewal argument of Daly, "A higher order estimate of the optimum checkpoint interval", FGCS
    22(3), 2006.
    """
    return asynchronous_ettr_fraction(
        interval_h=interval_h,
        mttf_h=mttf_h,
        blocking_h=write_h,
        persist_h=0.0,
        restart_h=restart_h,
        queue_h=queue_h,
    )


def asynchronous_ettr_fraction(
    *,
    interval_h: Column,
    mttf_h: Column,
    blocking_h: Column,
    persist_h: Column,
    restart_h: Column,
    queue_h: Column = 0.0,
) -> Column:
    """Exact ETTR where a checkpoint stops the job for a moment and is stored in the background.

        ETTR = exp(-P / M) * W / ((M + u0 + q) * (exp((W + b) / M) - 1))

    A snapshot helps only once it is stored, P after it was taken. One snapshot is in flight at a time, so
    P <= W + b. Slower steps while the background write runs are left out.

    Source: renewal argument; the first-order loss for each failure is W/2 + P.
    """
    _check(interval_h, mttf_h, blocking_h, restart_h, queue_h)
    _check_one_in_flight(interval_h, persist_h, blocking_h=blocking_h)
    return hours_by_state(
        interval_h=interval_h,
        mttf_h=mttf_h,
        write_h=blocking_h,
        restart_h=np.add(restart_h, queue_h),
        persist_h=persist_h,
    ).ettr_fraction


def linear_ettr_fraction(
    *,
    interval_h: Column,
    mttf_h: Column,
    write_h: Column,
    restart_h: Column,
    queue_h: Column = 0.0,
    productive_h: Column = np.inf,
) -> Column:
    """ETTR as the straight line of the paper, for comparison with published figures.

        E = (1 - lambda * (u0 + dt / 2)) / ((1 + lambda * q + (u0 + q) / R) * (1 + w / dt))

    Good while lambda * (u0 + dt / 2) stays small (`linear_ettr` says so); beyond that it falls short and
    turns negative, which is left visible. `productive_h` R spreads the first start and queue over the run.

    Source: Kokolis et al., HPCA 2025, arXiv 2410.21680; queue terms by a first-order derivation from it.
    """
    _check(interval_h, mttf_h, write_h, restart_h, queue_h)
    require_positive_or_infinite(productive_h=productive_h)
    loss = linear_loss_fraction(interval_h=interval_h, mttf_h=mttf_h, restart_h=restart_h)
    waiting = np.divide(queue_h, mttf_h) + np.divide(np.add(restart_h, queue_h), productive_h)
    return (1.0 - loss) / ((1.0 + waiting) * (1.0 + np.divide(write_h, interval_h)))


def linear_loss_fraction(*, interval_h: Column, mttf_h: Column, restart_h: Column) -> Column:
    """Hours that a failure costs, as a share of the hours between failures: what the straight line lives by.

        loss = lambda * (u0 + dt / 2)

    Without writes and queues the line is at most loss^2 below the exact form.

    Source: Kokolis et al., HPCA 2025, arXiv 2410.21680; the bound follows from 1 / (1 + loss).
    """
    _check(interval_h, mttf_h, 0.0, restart_h)
    return np.divide(np.add(restart_h, np.divide(interval_h, 2.0)), mttf_h)


def linear_ettr(
    *,
    interval_h: Column,
    mttf_h: Column,
    write_h: Column,
    restart_h: Column,
    queue_h: Column = 0.0,
    productive_h: Column = np.inf,
    largest_loss_fraction: float = 0.15,
) -> LinearEttr:
    """ETTR as the straight line of the paper, and whether it is in its range.

        in range: lambda * (u0 + dt / 2) <= largest loss

    At the default of 0.15 the line is at most 2.3 % below the exact form (0.15^2); the paper's own
    comparison, 8,000 GPUs with an hour between checkpoints, has a loss of 0.16. Out of range the value
    stands as it comes, below zero too.

    Source: Kokolis et al., HPCA 2025, arXiv 2410.21680; the range from the exact form of this room.
    """
    require_positive(largest_loss_fraction=largest_loss_fraction)
    line = linear_ettr_fraction(
        interval_h=interval_h,
        mttf_h=mttf_h,
        write_h=write_h,
        restart_h=restart_h,
        queue_h=queue_h,
        productive_h=productive_h,
    )
    loss = linear_loss_fraction(interval_h=interval_h, mttf_h=mttf_h, restart_h=restart_h)
    return LinearEttr(line, loss, (np.asarray(loss) <= largest_loss_fraction)[()])


def weibull_ettr_fraction(
    *,
    interval_h: Column,
    mttf_h: Column,
    weibull_shape: Column,
    write_h: Column,
    restart_h: Column,
    persist_h: Column = 0.0,
    queue_h: Column = 0.0,
) -> Column:
    """ETTR where times between failures are Weibull and start anew at each restart.

        ETTR = W * sum_(n >= 1) S(n * (W + C) + P) / (M + u0 + q),  S(t) = exp(-(t * Gamma(1 + 1/k) / M)^k)

    P is the time to store a checkpoint in the background, zero where it blocks. Shape 1 is the exponential
    case. A job on many nodes that are not all renewed at a restart tends to shape 1 whatever its nodes do;
    use another shape only where the job's own gaps show it.

    Source: renewal-reward theorem; the tail of the sum by Euler and Maclaurin's formula.
    """
    _check(interval_h, mttf_h, write_h, restart_h, queue_h)
    _check_one_in_flight(interval_h, persist_h, write_h=write_h)
    require_positive(mttf_h=mttf_h, weibull_shape=weibull_shape)
    shape = np.asarray(weibull_shape, dtype=float)
    scale_h = np.divide(mttf_h, gamma(1.0 + 1.0 / shape))
    kept = _renewal_sum(np.add(interval_h, write_h) / scale_h, np.divide(persist_h, scale_h), shape)
    return interval_h * kept / (np.add(restart_h, queue_h) + mttf_h)


def interval_goodput_fraction(
    *, interval_h: Column, lost_h: Column, reschedule_h: Column, restart_h: Column
) -> Column:
    """Share of one interval's hours, and of the interruption in it, whose work lasts.

        goodput = (W - lost) / (W + reschedule + restart)

    One failure in the interval, no more and no fewer; writes are left out. For the long run, where
    failures arrive by chance, it is `ettr_fraction`.

    Source: runtime goodput as cloud providers count it: useful time over time since the last checkpoint.
    """
    require_positive(interval_h=interval_h)
    require_not_negative(lost_h=lost_h, reschedule_h=reschedule_h, restart_h=restart_h)
    if np.any(np.asarray(lost_h) > interval_h):
        raise ValueError(f"lost_h must not exceed interval_h {interval_h}: no more was done, got {lost_h}")
    share: Column = np.subtract(interval_h, lost_h) / (np.add(reschedule_h, restart_h) + interval_h)
    return share


def not_training_h(*, ettr_fraction: Column, period_h: Column) -> Column:
    """Hours of a period that trained nothing that lasts.

        t_lost = (1 - ETTR) * t

    Source: definition of ETTR.
    """
    require_fraction(ettr_fraction=ettr_fraction)
    require_not_negative(period_h=period_h)
    hours: Column = np.multiply(np.subtract(1.0, ettr_fraction), period_h)
    return hours


def _renewal_sum(step: Column, offset: Column, shape: NDArray[np.float64]) -> Column:
    """Sum over n >= 1 of exp(-(n * step + offset)^shape)."""
    step, offset, shape = np.broadcast_arrays(step, offset, shape)
    terms = np.arange(1.0, _SUMMED_TERMS)
    with np.errstate(over="ignore"):
        ages = step[..., None] * terms + offset[..., None]
        direct = np.exp(-np.power(ages, shape[..., None])).sum(axis=-1)
        age = _SUMMED_TERMS * step + offset
        power = np.power(age, shape)
        first = np.exp(-power)
        slope = np.where(first > 0, shape * power * step / age * first, 0.0)
        area = gamma(1.0 / shape) * gammaincc(1.0 / shape, power) / (shape * step)
    total: Column = (direct + area + first / 2.0 + slope / 12.0)[()]
    return total


def _check(
    interval_h: Column, mttf_h: Column, write_h: Column, restart_h: Column, queue_h: Column = 0.0
) -> None:
    require_positive(interval_h=interval_h)
    require_positive_or_infinite(mttf_h=mttf_h)
    require_not_negative(write_h=write_h, restart_h=restart_h, queue_h=queue_h)


def _check_one_in_flight(interval_h: Column, persist_h: Column, **blocking: Column) -> None:
    require_not_negative(persist_h=persist_h)
    ((name, blocking_h),) = blocking.items()
    if np.any(np.asarray(persist_h) > np.add(interval_h, blocking_h) * (1 + 1e-9)):
        raise ValueError(
            f"persist_h must not exceed interval_h + {name}: the next snapshot would start "
            f"before this one is stored, got persist_h {persist_h} with interval_h {interval_h}"
        )
