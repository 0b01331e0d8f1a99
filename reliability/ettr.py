"""Effective training time ratio (ETTR): useful hours for each hour that a job is there.

Everywhere in this room the interval is the compute time between two checkpoints; the time to write
them is not in it. Slow steps are not in ETTR either: multiply by the compute efficiency for those.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import exprel, gamma, gammaincc

from reliability.domain import (
    require_at_least,
    require_not_negative,
    require_positive,
    require_positive_or_infinite,
)

Column = float | NDArray[np.float64]

# Terms of the renewal sum that are added one by one; Euler and Maclaurin's formula gives the rest.
_SUMMED_TERMS = 200


def ettr_fraction(
    *, interval_h: Column, mtbf_h: Column, write_h: Column, restart_h: Column, queue_h: Column = 0.0
) -> Column:
    """Exact ETTR with blocking checkpoints and failures that arrive at a constant rate.

        ETTR = W / ((M + u0 + q) * (exp((W + C) / M) - 1))

    Failures strike during work and during writes, not during a restart or in the queue. With
    `queue_h` the hours waited after each failure count against the job.

    Source: renewal argument of Daly, "A higher order estimate of the optimum checkpoint interval", FGCS
    22(3), 2006.
    """
    _check(interval_h, mtbf_h, write_h, restart_h, queue_h)
    cycle_h = np.add(interval_h, write_h)
    exponent = np.divide(cycle_h, mtbf_h)
    # Multiplied through by exp(-x): neither a huge nor an infinite MTBF overflows.
    spent_h = cycle_h * exprel(-exponent) - np.add(restart_h, queue_h) * np.expm1(-exponent)
    share: Column = interval_h * np.exp(-exponent) / spent_h
    return share


def ettr_restart_can_fail_fraction(
    *, interval_h: Column, mtbf_h: Column, write_h: Column, restart_h: Column, downtime_h: Column = 0.0
) -> Column:
    """Exact ETTR where a failure during the restart starts it again.

        ETTR = W / ((M + D) * exp(R / M) * (exp((W + C) / M) - 1))

    Nothing fails during the downtime D, which comes before each restart R.

    Source: Daly, FGCS 22(3), 2006.
    """
    require_not_negative(downtime_h=downtime_h)
    _check(interval_h, mtbf_h, write_h, restart_h)
    sure = ettr_fraction(interval_h=interval_h, mtbf_h=mtbf_h, write_h=write_h, restart_h=downtime_h)
    return sure * np.exp(-np.divide(restart_h, mtbf_h))


def asynchronous_ettr_fraction(
    *, interval_h: Column, mtbf_h: Column, blocking_h: Column, persist_h: Column, restart_h: Column
) -> Column:
    """Exact ETTR where a checkpoint stops the job for a moment and is stored in the background.

        ETTR = exp(-P / M) * W / ((M + u0) * (exp((W + b) / M) - 1))

    A snapshot helps only once it is stored, P after it was taken. One snapshot is in flight at a time, so
    P <= W + b. Slower steps while the background write runs are left out.

    Source: renewal argument; the first-order loss for each failure is W/2 + P.
    """
    require_not_negative(persist_h=persist_h)
    if np.any(np.asarray(persist_h) > np.add(interval_h, blocking_h) * (1 + 1e-9)):
        raise ValueError(
            "persist_h must not exceed interval_h + blocking_h: the next snapshot would start "
            f"before this one is stored, got persist_h {persist_h} with interval_h {interval_h}"
        )
    blocking = ettr_fraction(interval_h=interval_h, mtbf_h=mtbf_h, write_h=blocking_h, restart_h=restart_h)
    return blocking * np.exp(-np.divide(persist_h, mtbf_h))


def linear_ettr_fraction(
    *,
    interval_h: Column,
    mtbf_h: Column,
    write_h: Column,
    restart_h: Column,
    queue_h: Column = 0.0,
    productive_h: Column = np.inf,
) -> Column:
    """ETTR as the straight line of the paper, for comparison with published figures.

        E = (1 - lambda * (u0 + dt / 2)) / ((1 + lambda * q + (u0 + q) / R) * (1 + w / dt))

    Good while lambda * (u0 + dt / 2) stays below 0.15; beyond that it falls short and turns negative,
    which is left visible. `productive_h` R spreads the first start and queue over the run.

    Source: Kokolis et al., HPCA 2025, arXiv 2410.21680; queue terms by a first-order derivation from it.
    """
    _check(interval_h, mtbf_h, write_h, restart_h, queue_h)
    require_positive_or_infinite(productive_h=productive_h)
    loss = np.divide(np.add(restart_h, np.divide(interval_h, 2.0)), mtbf_h)
    waiting = np.divide(queue_h, mtbf_h) + np.divide(np.add(restart_h, queue_h), productive_h)
    return (1.0 - loss) / ((1.0 + waiting) * (1.0 + np.divide(write_h, interval_h)))


def two_level_ettr_fraction(
    *,
    interval_h: Column,
    local_saves: Column,
    local_rate_per_h: Column,
    remote_rate_per_h: Column,
    local_write_h: Column,
    remote_write_h: Column,
    local_restart_h: Column,
    remote_restart_h: Column,
) -> Column:
    """Exact ETTR with n quick local saves, each after W of compute, the last with a durable remote one.

        ETTR = n * W / E_0
        E_i = g_i * (1 + l1 * R1 + l2 * R2 + l1 * E_i + l2 * E_0) + exp(-l * S_i) * E_(i+1)

    E_i is the expected time from save i to the end of the pattern, S_i the length of the stage that follows
    (W + C1, the last W + C1 + C2), g_i = (1 - exp(-l * S_i)) / l the mean time of one attempt at it, with
    l = l1 + l2. Local failures go back one save, remote ones to the last remote save; a failure during
    the remote write repeats its stage. Restarts do not fail.

    Source: pattern of Benoit et al., "Towards optimal multi-level checkpointing", IEEE TC, 2016; solved
    here as a chain of stages.
    """
    _check_two_level(interval_h, local_saves, local_rate_per_h, remote_rate_per_h)
    require_not_negative(local_write_h=local_write_h, remote_write_h=remote_write_h)
    require_not_negative(local_restart_h=local_restart_h, remote_restart_h=remote_restart_h)
    rate_per_h = np.add(local_rate_per_h, remote_rate_per_h)
    stretch = (
        1.0
        + np.multiply(local_rate_per_h, local_restart_h)
        + np.multiply(remote_rate_per_h, remote_restart_h)
    )
    save_h = np.add(interval_h, local_write_h)
    spent_h, back = _stage(save_h, rate_per_h, remote_rate_per_h)
    last_h, last_back = _stage(np.add(save_h, remote_write_h), rate_per_h, remote_rate_per_h)
    before = np.subtract(local_saves, 1.0)
    log_on = before * np.log1p(-back)
    # Visits to the stages before the last, in one try at the pattern.
    stages = np.where(back > 0, -np.expm1(log_on) / np.where(back > 0, back, 1.0), before)
    through = np.exp(log_on)
    useful_h = np.multiply(local_saves, interval_h)
    share: Column = useful_h * through * (1.0 - last_back) / (stretch * (spent_h * stages + through * last_h))
    return share


def two_level_linear_ettr_fraction(
    *,
    interval_h: Column,
    local_saves: Column,
    local_rate_per_h: Column,
    remote_rate_per_h: Column,
    local_write_h: Column,
    remote_write_h: Column,
    local_restart_h: Column,
    remote_restart_h: Column,
) -> Column:
    """First-order ETTR of the two-level pattern; the one that its optimum is derived from.

        E = (1 - l1 * (R1 + W / 2) - l2 * (R2 + n * W / 2)) / (1 + (C1 + C2 / n) / W)

    Second-order terms are left out; it can turn negative, as the one-level line does.

    Source: Benoit et al., "Towards optimal multi-level checkpointing", IEEE TC, 2016.
    """
    _check_two_level(interval_h, local_saves, local_rate_per_h, remote_rate_per_h)
    half_h = np.divide(interval_h, 2.0)
    local_loss = local_rate_per_h * np.add(local_restart_h, half_h)
    remote_loss = remote_rate_per_h * np.add(remote_restart_h, local_saves * half_h)
    writes = np.add(local_write_h, np.divide(remote_write_h, local_saves)) / interval_h
    return (1.0 - local_loss - remote_loss) / (1.0 + writes)


def weibull_ettr_fraction(
    *, interval_h: Column, mtbf_h: Column, weibull_shape: Column, write_h: Column, restart_h: Column
) -> Column:
    """ETTR where times between failures are Weibull and start anew at each restart.

        ETTR = W * sum_(n >= 1) S(n * (W + C)) / (M + u0),  S(t) = exp(-(t * Gamma(1 + 1/k) / M)^k)

    Shape 1 is the exponential case. A job on many nodes that are not all renewed at a restart tends to
    shape 1 whatever its nodes do; use another shape only where the job's own gaps show it.

    Source: renewal-reward theorem; the tail of the sum by Euler and Maclaurin's formula.
    """
    _check(interval_h, mtbf_h, write_h, restart_h)
    require_positive(mtbf_h=mtbf_h, weibull_shape=weibull_shape)
    scale_h = np.divide(mtbf_h, gamma(1.0 + np.divide(1.0, weibull_shape)))
    kept = _renewal_sum(np.add(interval_h, write_h) / scale_h, np.asarray(weibull_shape, dtype=float))
    return interval_h * kept / np.add(mtbf_h, restart_h)


def _stage(length_h: Column, rate_per_h: Column, remote_rate_per_h: Column) -> tuple[Column, Column]:
    """Expected time in a stage for each visit, and the chance that the visit ends at the pattern's start."""
    exponent = np.multiply(rate_per_h, length_h)
    attempt_h = length_h * exprel(-exponent)
    # The floor keeps a stage that is never passed (exponent above 690) from dividing by zero.
    leaves = np.maximum(np.exp(-exponent), 1e-300) + remote_rate_per_h * attempt_h
    return attempt_h / leaves, np.minimum(remote_rate_per_h * attempt_h / leaves, 1.0 - 1e-16)


def _renewal_sum(step: Column, shape: NDArray[np.float64]) -> Column:
    """Sum over n >= 1 of exp(-(n * step)^shape)."""
    step, shape = np.broadcast_arrays(step, shape)
    terms = np.arange(1.0, _SUMMED_TERMS)
    with np.errstate(over="ignore"):
        direct = np.exp(-np.power(step[..., None] * terms, shape[..., None])).sum(axis=-1)
        power = np.power(_SUMMED_TERMS * step, shape)
        first = np.exp(-power)
        slope = np.where(first > 0, shape * power / _SUMMED_TERMS * first, 0.0)
        area = gamma(1.0 / shape) * gammaincc(1.0 / shape, power) / (shape * step)
    total: Column = (direct + area + first / 2.0 + slope / 12.0)[()]
    return total


def _check(
    interval_h: Column, mtbf_h: Column, write_h: Column, restart_h: Column, queue_h: Column = 0.0
) -> None:
    require_positive(interval_h=interval_h)
    require_positive_or_infinite(mtbf_h=mtbf_h)
    require_not_negative(write_h=write_h, restart_h=restart_h, queue_h=queue_h)


def _check_two_level(
    interval_h: Column, local_saves: Column, local_rate_per_h: Column, remote_rate_per_h: Column
) -> None:
    require_positive(interval_h=interval_h)
    require_at_least(1.0, local_saves=local_saves)
    require_not_negative(local_rate_per_h=local_rate_per_h, remote_rate_per_h=remote_rate_per_h)
