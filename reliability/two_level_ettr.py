"""ETTR of a two-level pattern: quick local saves between durable remote ones, exact and to first order."""

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
    queue_h: Column = 0.0,
) -> Column:
    """First-order ETTR of the two-level pattern; the one that its optimum is derived from.

        E = (1 - l1 * (R1 + W / 2) - l2 * (R2 + n * W / 2)) / ((1 + l * q) * (1 + (C1 + C2 / n) / W))

    Second-order terms are left out; it can turn negative, as the one-level line does.

    Source: Benoit et al., "Towards optimal multi-level checkpointing", IEEE TC, 2016.
    """
    _check_two_level(interval_h, local_saves, local_rate_per_h, remote_rate_per_h)
    require_not_negative(queue_h=queue_h)
    half_h = np.divide(interval_h, 2.0)
    local_loss = local_rate_per_h * np.add(local_restart_h, half_h)
    remote_loss = remote_rate_per_h * np.add(remote_restart_h, local_saves * half_h)
    writes = np.add(local_write_h, np.divide(remote_write_h, local_saves)) / interval_h
    waiting = np.add(local_rate_per_h, remote_rate_per_h) * queue_h
    return (1.0 - local_loss - remote_loss) / ((1.0 + waiting) * (1.0 + writes))


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
