"""ETTR of a two-level pattern: quick local saves between durable remote ones, and its least waste."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import exprel

from reliability.columns import Column
from reliability.domain import require_at_least, require_not_negative, require_positive


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
    queue_h: Column = 0.0,
) -> Column:
    """Exact ETTR with n quick local saves, each after W of compute, the last with a durable remote one.

        ETTR = n * W / E_0
        E_i = g_i * (1 + l1 * (R1 + q) + l2 * (R2 + q) + l1 * E_i + l2 * E_0) + exp(-l * S_i) * E_(i+1)

    E_i is the expected time from save i to the end of the pattern, S_i the length of the stage that follows
    (W + C1, the last W + C1 + C2), g_i = (1 - exp(-l * S_i)) / l the mean time of one attempt at it, with
    l = l1 + l2. Local failures go back one save, remote ones to the last remote save; a failure during
    the remote write repeats its stage. Restarts do not fail. Where failures of one kind alone queue, add
    the queue to their restart.

    Source: pattern of Benoit et al., "Towards optimal multi-level checkpointing", IEEE TC, 2016; solved
    as a chain of stages by `two_level_attempts`.
    """
    require_not_negative(local_restart_h=local_restart_h, remote_restart_h=remote_restart_h, queue_h=queue_h)
    rate_per_h = np.add(local_rate_per_h, remote_rate_per_h)
    stretch = (
        1.0
        + np.multiply(local_rate_per_h, local_restart_h)
        + np.multiply(remote_rate_per_h, remote_restart_h)
        + np.multiply(rate_per_h, queue_h)
    )
    spent = two_level_attempts(
        interval_h=interval_h,
        local_saves=local_saves,
        local_rate_per_h=local_rate_per_h,
        remote_rate_per_h=remote_rate_per_h,
        local_write_h=local_write_h,
        remote_write_h=remote_write_h,
    )
    with np.errstate(over="ignore"):
        share: Column = 1.0 / (spent.up_h * stretch)
    return share


@dataclass(frozen=True, slots=True)
class TwoLevelAttempts:
    """Attempts at a stage for one useful hour, and the hours of one that go into work and writes.

    `every` counts attempts at all stages, `last` those at the last stage that reach its remote write.
    """

    every: NDArray[np.float64]
    last: NDArray[np.float64]
    work_h: NDArray[np.float64]
    local_write_h: NDArray[np.float64]
    remote_write_h: NDArray[np.float64]

    @property
    def up_h(self) -> NDArray[np.float64]:
        """Hours of work and writes for one useful hour; failures come only in these."""
        hours: NDArray[np.float64] = (
            self.every * (self.work_h + self.local_write_h) + self.last * self.remote_write_h
        )
        return hours


def two_level_attempts(
    *,
    interval_h: Column,
    local_saves: Column,
    local_rate_per_h: Column,
    remote_rate_per_h: Column,
    local_write_h: Column,
    remote_write_h: Column,
) -> TwoLevelAttempts:
    """Expected attempts at the stages of a two-level pattern for one useful hour; exact.

        attempts at the last stage   = exp(l * (S + C2))
        attempts at those before it  = ((1 - back)^-(n - 1) - 1) / (back * pass * leave)

    S = W + C1 is a stage, l = l1 + l2; leave = exp(-l * S) + l2 * g is the chance that an attempt of mean
    length g ends the visit, back = l2 * g / leave that it ends at the pattern's start, pass that the last
    stage is passed. Each attempt spends its hours in order: work, local write, remote write.

    Source: pattern of Benoit et al., "Towards optimal multi-level checkpointing", IEEE TC, 2016; solved
    here as a chain of stages.
    """
    _check_two_level(interval_h, local_saves, local_rate_per_h, remote_rate_per_h)
    require_not_negative(local_write_h=local_write_h, remote_write_h=remote_write_h)
    rate = np.add(local_rate_per_h, remote_rate_per_h)
    save_h = np.add(interval_h, local_write_h)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        work_h = interval_h * exprel(-rate * interval_h)
        local_h = np.exp(-rate * interval_h) * local_write_h * exprel(-rate * local_write_h)
        remote_h = np.exp(-rate * save_h) * remote_write_h * exprel(-rate * remote_write_h)
        # The floor keeps a stage that is never passed (exponent above 690) from dividing by zero.
        through = np.maximum(np.exp(-rate * save_h), 1e-300)
        last_through = np.maximum(np.exp(-rate * (save_h + remote_write_h)), 1e-300)
        leaves = through + remote_rate_per_h * (work_h + local_h)
        back = np.minimum(remote_rate_per_h * (work_h + local_h) / leaves, 1.0 - 1e-16)
        last_passes = last_through / (last_through + remote_rate_per_h * (work_h + local_h + remote_h))
        before = np.subtract(local_saves, 1.0)
        visits = np.where(
            back > 0, np.expm1(-before * np.log1p(-back)) / np.where(back > 0, back, 1.0), before
        )
        pattern_h = np.multiply(local_saves, interval_h)
        last = 1.0 / last_through / pattern_h
        every = visits / (last_passes * leaves) / pattern_h + last
        return TwoLevelAttempts(every, last, work_h, local_h, remote_h)


def two_level_restart_can_fail_ettr_fraction(
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
    """Exact ETTR of the two-level pattern where a failure during a restart starts it again.

        s = e^(-l * R1) / (1 - (1 - e^(-l * R1)) * l1 / l),  l1' = s * l1,  l2' = l - l1'
        R1' = (e^(l * R1) - 1) / l,  R2' = (e^(l * R2) - 1) / l

    A local restart ends well with the chance s; a remote failure during it takes the job to the remote
    save, where any failure repeats the restart. So some local failures become remote ones, and both
    restarts take longer; the rest is `two_level_ettr_fraction`.

    Source: chain of restart attempts, solved; Daly, FGCS 22(3), 2006, for one level.
    """
    _check_two_level(interval_h, local_saves, local_rate_per_h, remote_rate_per_h)
    rate_per_h = np.add(local_rate_per_h, remote_rate_per_h)
    require_positive(total_rate_per_h=rate_per_h)
    kept = np.exp(-np.multiply(rate_per_h, local_restart_h))
    local_share = np.divide(local_rate_per_h, rate_per_h)
    well = kept / (1.0 - (1.0 - kept) * local_share)
    stays_per_h = np.multiply(local_rate_per_h, well)
    return two_level_ettr_fraction(
        interval_h=interval_h,
        local_saves=local_saves,
        local_rate_per_h=stays_per_h,
        remote_rate_per_h=rate_per_h - stays_per_h,
        local_write_h=local_write_h,
        remote_write_h=remote_write_h,
        local_restart_h=np.multiply(local_restart_h, exprel(np.multiply(rate_per_h, local_restart_h))),
        remote_restart_h=np.multiply(remote_restart_h, exprel(np.multiply(rate_per_h, remote_restart_h))),
    )


def two_level_least_waste_fraction(
    *, local_rate_per_h: Column, remote_rate_per_h: Column, local_write_h: Column, remote_write_h: Column
) -> Column:
    """Share of the time that the best two-level pattern wastes, to first order.

        H = sqrt(2 * l1 * C1) + sqrt(2 * l2 * C2)

    What is left of the pattern's waste at its best W and n (not yet a whole number): writes and work done
    again. Restarts, which no pattern avoids, are left out.

    Source: Benoit et al., "Towards optimal multi-level checkpointing", IEEE TC, 2016.
    """
    require_not_negative(local_rate_per_h=local_rate_per_h, remote_rate_per_h=remote_rate_per_h)
    require_not_negative(local_write_h=local_write_h, remote_write_h=remote_write_h)
    near, far = np.multiply(local_rate_per_h, local_write_h), np.multiply(remote_rate_per_h, remote_write_h)
    waste: Column = np.sqrt(2.0 * near) + np.sqrt(2.0 * far)
    return waste


def _check_two_level(
    interval_h: Column, local_saves: Column, local_rate_per_h: Column, remote_rate_per_h: Column
) -> None:
    require_positive(interval_h=interval_h)
    require_at_least(1.0, local_saves=local_saves)
    require_not_negative(local_rate_per_h=local_rate_per_h, remote_rate_per_h=remote_rate_per_h)
