"""ETTR of a two-level pattern: quick local saves between durable remote ones, and its least waste."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import exprel

from reliability.domain import require_at_least, require_not_negative, require_positive

Column = float | NDArray[np.float64]


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
    here as a chain of stages.
    """
    _check_two_level(interval_h, local_saves, local_rate_per_h, remote_rate_per_h)
    require_not_negative(local_write_h=local_write_h, remote_write_h=remote_write_h)
    require_not_negative(local_restart_h=local_restart_h, remote_restart_h=remote_restart_h, queue_h=queue_h)
    rate_per_h = np.add(local_rate_per_h, remote_rate_per_h)
    stretch = (
        1.0
        + np.multiply(local_rate_per_h, local_restart_h)
        + np.multiply(remote_rate_per_h, remote_restart_h)
        + np.multiply(rate_per_h, queue_h)
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


def _stage(length_h: Column, rate_per_h: Column, remote_rate_per_h: Column) -> tuple[Column, Column]:
    """Expected time in a stage for each visit, and the chance that the visit ends at the pattern's start."""
    exponent = np.multiply(rate_per_h, length_h)
    attempt_h = length_h * exprel(-exponent)
    # The floor keeps a stage that is never passed (exponent above 690) from dividing by zero.
    leaves = np.maximum(np.exp(-exponent), 1e-300) + remote_rate_per_h * attempt_h
    return attempt_h / leaves, np.minimum(remote_rate_per_h * attempt_h / leaves, 1.0 - 1e-16)


def _check_two_level(
    interval_h: Column, local_saves: Column, local_rate_per_h: Column, remote_rate_per_h: Column
) -> None:
    require_positive(interval_h=interval_h)
    require_at_least(1.0, local_saves=local_saves)
    require_not_negative(local_rate_per_h=local_rate_per_h, remote_rate_per_h=remote_rate_per_h)
