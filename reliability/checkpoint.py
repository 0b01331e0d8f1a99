"""When to write a checkpoint, how long that takes, and what each state of a job costs.

The interval W is compute time between checkpoints, the write excluded; M is the job's mean time between
failures, C the time that a write stops the job. Near the optimum ETTR is flat: judge an interval by the
ETTR that it gives, not by its distance from the best one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import exprel, lambertw

from reliability.columns import Column
from reliability.domain import (
    require_at_least,
    require_not_negative,
    require_positive,
    require_positive_or_infinite,
)

# Rounds to the least of a ratio, each of which squares the error of the one before; the weight beyond which
# a job that goes back further than it comes is not weighed.
_ROUNDS_OF_A_RATIO, _MOST_WEIGHT = 4, 1e6


@dataclass(frozen=True, slots=True)
class StateHours:
    """Hours in each state for one useful hour; they add up to 1 / ETTR."""

    useful_h: Column
    checkpoint_h: Column
    lost_h: Column
    restart_h: Column

    @property
    def ettr_fraction(self) -> Column:
        """Useful hours for each hour in any state."""
        spent_h = np.add(self.useful_h, self.checkpoint_h) + self.lost_h + self.restart_h
        share: Column = self.useful_h / spent_h
        return share


@dataclass(frozen=True, slots=True)
class TwoLevelPlan:
    """Local saves for each remote one, and the compute time before each local save."""

    local_saves: Column
    interval_h: Column


def checkpoint_size_gb(*, parameters: Column, bytes_per_parameter: Column) -> Column:
    """Size of a full checkpoint.

        size = parameters * bytes

    Data-loader and random-number state are left out. Weights and Adam's two moments in fp32 are 12 bytes.

    Source: Wang et al., "Gemini", SOSP 2023, section 2.2 (12 bytes reproduce its 42 min example).
    """
    require_positive(parameters=parameters, bytes_per_parameter=bytes_per_parameter)
    return np.multiply(parameters, bytes_per_parameter) / 1e9


def checkpoint_write_h(*, size_gb: Column, bandwidth_gb_per_s: Column) -> Column:
    """Time to write a checkpoint at a sustained bandwidth of the whole job.

        t = size / bandwidth

    Bursts of other jobs on the same storage, metadata and serialisation are left out.

    Source: definition of bandwidth.
    """
    require_positive(size_gb=size_gb, bandwidth_gb_per_s=bandwidth_gb_per_s)
    return np.divide(size_gb, bandwidth_gb_per_s) / 3600.0


def young_interval_h(*, mttf_h: Column, write_h: Column) -> Column:
    """Young's interval.

        W = sqrt(2 * C * M)

    First order: 5 % too long at C/M = 0.01, 17 % at 0.1.

    Source: Young, "A first order approximation to the optimum checkpoint interval", CACM 17(9), 1974.
    """
    require_positive(mttf_h=mttf_h, write_h=write_h)
    interval: Column = np.sqrt(2.0 * np.multiply(write_h, mttf_h))
    return interval


def daly_first_order_interval_h(*, mttf_h: Column, write_h: Column) -> Column:
    """Daly's first-order interval.

        W = sqrt(2 * C * M) - C

    Holds for C below M / 2, where it is too short: by 2.5 % at C/M = 0.01, 9 % at 0.1.

    Source: Daly, "A higher order estimate of the optimum checkpoint interval", FGCS 22(3), 2006.
    """
    interval = young_interval_h(mttf_h=mttf_h, write_h=write_h) - write_h
    if np.any(np.asarray(interval) <= 0):
        raise ValueError(
            f"write_h must be below 2 * mttf_h in the first-order form, got {write_h} with {mttf_h}"
        )
    return interval


def daly_interval_h(*, mttf_h: Column, write_h: Column) -> Column:
    """Daly's higher-order interval.

        W = sqrt(2 * C * M) * (1 + sqrt(C / 2M) / 3 + (C / 2M) / 9) - C  for C < 2M, else M

    Within 0.04 % of the exact optimum up to C/M = 0.1.

    Source: Daly, FGCS 22(3), 2006.
    """
    young_h = young_interval_h(mttf_h=mttf_h, write_h=write_h)
    half_ratio = np.divide(write_h, np.multiply(2.0, mttf_h))
    higher_h = young_h * (1.0 + np.sqrt(half_ratio) / 3.0 + half_ratio / 9.0) - write_h
    return np.where(half_ratio < 1.0, higher_h, mttf_h)[()]


def optimal_interval_h(*, mttf_h: Column, write_h: Column) -> Column:
    """The interval of highest ETTR, exact for failures at a constant rate.

        W = M * (1 + W0(-exp(-C / M - 1)))

    W0 is Lambert's function. Restart and queue do not move it. Failures may strike during writes.

    Source: Daly, FGCS 22(3), 2006, exact form of the optimum.
    """
    require_positive(mttf_h=mttf_h, write_h=write_h)
    return _least(mttf_h, -np.expm1(-np.divide(write_h, mttf_h)))


def hours_by_state(
    *,
    interval_h: Column,
    mttf_h: Column,
    write_h: Column,
    restart_h: Column,
    persist_h: Column = 0.0,
    rolled_back_h: Column = 0.0,
) -> StateHours:
    """Expected hours in each state for one useful hour; exact, they add up to 1 / ETTR.

        checkpoint = s * e^(P/M) * M * (e^(C/M) - 1) / W
        work       = s * e^(P/M) * M * e^(C/M) * (e^(W/M) - 1) / W,  lost = work - 1
        restart    = s * e^(P/M) * u0 * (e^((W+C)/M) - 1) / W
        s          = 1 / (1 - B / (n * W)),  n = e^(-P/M) / (e^((W+C)/M) - 1)

    Writes that a failure cut short count as checkpoint. `persist_h` P is for asynchronous checkpoints
    (zero when blocking). `rolled_back_h` B is stored work that a failure throws away, too, in the mean over
    all failures, as after a loss spike: n intervals are stored between two failures. A job that goes back
    further than it comes takes for ever. Hours in the queue hold no nodes and are left out.

    Source: renewal argument; each attempt ends at an exponential time or at W + C.
    """
    require_positive(interval_h=interval_h)
    require_positive_or_infinite(mttf_h=mttf_h)
    require_not_negative(
        write_h=write_h, restart_h=restart_h, persist_h=persist_h, rolled_back_h=rolled_back_h
    )
    writing, working = np.divide(write_h, mttf_h), np.divide(interval_h, mttf_h)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        again = np.exp(np.divide(persist_h, mttf_h))
        if np.any(rolled_back_h):
            forward_h = np.divide(interval_h, np.expm1(writing + working)) / again
            again = again / np.maximum(1.0 - np.divide(rolled_back_h, forward_h), 0.0)
        stalled = again * np.divide(write_h, interval_h) * exprel(writing)
        restarting = again * np.divide(restart_h, interval_h) * np.expm1(writing + working)
        return StateHours(
            useful_h=np.ones_like(again * working)[()],
            checkpoint_h=np.where(np.asarray(write_h) > 0, stalled, 0.0)[()],
            lost_h=again * np.exp(writing) * exprel(working) - 1.0,
            # No time each, however many there are.
            restart_h=np.where(np.asarray(restart_h) > 0, restarting, 0.0)[()],
        )


def weighted_hours_ratio(
    *,
    interval_h: Column,
    mttf_h: Column,
    write_h: Column,
    restart_h: Column,
    work_weight_factor: Column,
    write_weight_factor: Column,
    restart_weight_factor: Column,
    persist_h: Column = 0.0,
    rolled_back_h: Column = 0.0,
) -> Column:
    """Weighted hours for one useful hour, such as energy where the weights are powers.

        cost = w_work * (1 + lost) + w_write * checkpoint + w_restart * restart

    The weights share one unit (kW, USD/h, kgCO2e/h), which is that of the answer. All at 1: 1 / ETTR.

    Source: expected hours by state of this room.
    """
    _check_weights(work_weight_factor, write_weight_factor, restart_weight_factor)
    hours = hours_by_state(
        interval_h=interval_h,
        mttf_h=mttf_h,
        write_h=write_h,
        restart_h=restart_h,
        persist_h=persist_h,
        rolled_back_h=rolled_back_h,
    )
    work = work_weight_factor * (hours.useful_h + hours.lost_h)
    return work + write_weight_factor * hours.checkpoint_h + restart_weight_factor * hours.restart_h


def objective_optimal_interval_h(
    *,
    mttf_h: Column,
    write_h: Column,
    restart_h: Column,
    work_weight_factor: Column,
    write_weight_factor: Column,
    restart_weight_factor: Column,
    persist_h: Column = 0.0,
    rolled_back_h: Column = 0.0,
) -> Column:
    """The interval of least weighted hours: lost work may cost more an hour than a stall.

        W = M * (1 + W0(-r / e)),  r = 1 - (w_write * M + w_restart * u0) * (e^(C/M) - 1) / A
        A = (w_work * M + w_restart * u0) * e^(C/M)

    With equal weights it is `optimal_interval_h`. Cheaper stalls shorten it, dearer ones lengthen it. With
    a background write it is not below P - C. Where failures throw stored work away, work and writes weigh
    v * B / M more, v the weighted hours at the least: their sum over what is kept is least there.

    Source: weighted hours of this room, whose derivative is Lambert's equation; a ratio is least where its
    sum is, Dinkelbach, "On nonlinear fractional programming", Management Science 13(7), 1967.
    """
    require_positive(mttf_h=mttf_h, write_h=write_h)
    require_not_negative(restart_h=restart_h, persist_h=persist_h, rolled_back_h=rolled_back_h)
    _check_weights(work_weight_factor, write_weight_factor, restart_weight_factor)
    job = {"mttf_h": mttf_h, "write_h": write_h, "restart_h": restart_h, "persist_h": persist_h}
    best_h = _least_weighted_h(job, work_weight_factor, write_weight_factor, restart_weight_factor)
    if not np.any(rolled_back_h):
        return best_h
    for _ in range(_ROUNDS_OF_A_RATIO):
        least = weighted_hours_ratio(
            interval_h=best_h,
            **job,
            work_weight_factor=work_weight_factor,
            write_weight_factor=write_weight_factor,
            restart_weight_factor=restart_weight_factor,
            rolled_back_h=rolled_back_h,
        )
        more = np.minimum(least, _MOST_WEIGHT) * np.divide(rolled_back_h, mttf_h)
        best_h = _least_weighted_h(
            job, work_weight_factor + more, write_weight_factor + more, restart_weight_factor
        )
    return best_h


def _least_weighted_h(
    job: dict[str, Column], work_weight: Column, write_weight: Column, restart_weight: Column
) -> Column:
    """The interval of least weighted hours where failures keep what is stored."""
    mttf_h, write_h, restart_h, persist_h = job.values()
    work, write = np.multiply(work_weight, mttf_h), np.multiply(write_weight, mttf_h)
    restart = np.multiply(restart_weight, restart_h)
    # (e^(C/M) - 1) / e^(C/M), written so that neither end overflows.
    share = -np.expm1(-np.divide(write_h, mttf_h))
    best_h = _least(mttf_h, (write + restart) * share / (work + restart))
    return np.maximum(best_h, np.subtract(persist_h, write_h))


def two_level_plan(
    *, local_rate_per_h: Column, remote_rate_per_h: Column, local_write_h: Column, remote_write_h: Column
) -> TwoLevelPlan:
    """Pattern of least first-order waste: n local saves for each remote one, W before each.

        n = sqrt(l1 * C2 / (l2 * C1)),  W = sqrt(2 * (C1 + C2 / n) / (l1 + n * l2))

    n is the better of the two whole numbers next to it. Restarts do not move the pattern.

    Source: Benoit et al., "Towards optimal multi-level checkpointing", IEEE TC, 2016.
    """
    require_positive(local_rate_per_h=local_rate_per_h, remote_rate_per_h=remote_rate_per_h)
    require_positive(local_write_h=local_write_h, remote_write_h=remote_write_h)
    best = np.sqrt(
        np.multiply(local_rate_per_h, remote_write_h) / np.multiply(remote_rate_per_h, local_write_h)
    )
    fewer = np.maximum(np.floor(best), 1.0)

    def writes_h(saves: Column) -> Column:
        return np.add(local_write_h, np.divide(remote_write_h, saves))

    def halves_per_h(saves: Column) -> Column:
        return np.add(local_rate_per_h, saves * remote_rate_per_h)

    # Waste at the best W is sqrt(2 * writes * halves): the smaller product wins.
    more_wins = writes_h(fewer + 1) * halves_per_h(fewer + 1) < writes_h(fewer) * halves_per_h(fewer)
    saves = np.where(more_wins, fewer + 1, fewer)[()]
    return TwoLevelPlan(local_saves=saves, interval_h=np.sqrt(2.0 * writes_h(saves) / halves_per_h(saves)))


def _least(mttf_h: Column, gap: Column) -> Column:
    """M * x where x solves 1 - x = (1 - gap) * exp(-x): x = 1 + W0((gap - 1) / e)."""
    # Lambert's function has a branch point at gap 0: its series in sqrt(2 * gap) takes over there.
    root = np.sqrt(2.0 * np.minimum(gap, 1e-6))
    near = root * (1.0 - root * (1.0 / 3.0 - root * (11.0 / 72.0 - root * 43.0 / 540.0)))
    argument: Any = (np.maximum(gap, 1e-6) - 1.0) / np.e  # SciPy's types know no "number or column"
    away: Column = 1.0 + np.real(lambertw(argument))
    return np.multiply(mttf_h, np.where(np.asarray(gap) < 1e-6, near, away))[()]


def _check_weights(
    work_weight_factor: Column, write_weight_factor: Column, restart_weight_factor: Column
) -> None:
    require_positive(work_weight_factor=work_weight_factor)
    require_at_least(
        0.0, write_weight_factor=write_weight_factor, restart_weight_factor=restart_weight_factor
    )
