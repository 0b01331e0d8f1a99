"""Stops that throw stored work away: loss spikes, and results that were wrong for a while before it was seen.

A failed node costs what was done since the last checkpoint. These cost stored checkpoints, too: those written
near the spike, or with the wrong results in them.
"""

from __future__ import annotations

import numpy as np

from reliability.checkpoint import StateHours
from reliability.columns import Column
from reliability.domain import (
    require_fraction,
    require_not_negative,
    require_not_negative_or_infinite,
    require_positive_or_infinite,
)


def joined_mttf_h(*, mttf_h: Column, other_stops_per_h: Column) -> Column:
    """Mean time between stops of a job, of failures and of all else that sends it back.

        M' = 1 / (1 / M + l)

    Source: rates of independent causes add.
    """
    require_positive_or_infinite(mttf_h=mttf_h)
    require_not_negative(other_stops_per_h=other_stops_per_h)
    joined: Column = 1.0 / (np.divide(1.0, mttf_h) + other_stops_per_h)
    return joined


def mean_rolled_back_h(
    *,
    mttf_h: Column,
    spikes_per_h: Column,
    spike_back_h: Column,
    corruptions_per_h: Column,
    corruption_back_h: Column,
) -> Column:
    """Stored work that a stop throws away, in the mean over all stops of a job; `mttf_h` M counts them all.

        B = M * (l_s * b_s + l_c * b_c)

    Work since the last checkpoint, which every stop loses, is not in it.

    Source: mean over causes.
    """
    require_positive_or_infinite(mttf_h=mttf_h)
    require_not_negative(spikes_per_h=spikes_per_h, spike_back_h=spike_back_h)
    require_not_negative(corruptions_per_h=corruptions_per_h, corruption_back_h=corruption_back_h)
    lost = np.multiply(spikes_per_h, spike_back_h) + np.multiply(corruptions_per_h, corruption_back_h)
    mean: Column = np.multiply(mttf_h, lost)
    return mean


def corruptions_per_h(
    *, accelerators: Column, corruptions_per_accelerator_h: Column, share_fraction: Column = 1.0
) -> Column:
    """Silent corruptions of a job an hour; those of them that are found, or not, by their share.

        l = N * r * share

    Source: rates of independent devices add.
    """
    require_not_negative(
        accelerators=accelerators, corruptions_per_accelerator_h=corruptions_per_accelerator_h
    )
    require_fraction(share_fraction=share_fraction)
    rate: Column = np.multiply(accelerators, corruptions_per_accelerator_h) * share_fraction
    return rate


def useful_and_repeated_h(
    *,
    useful_h: Column,
    interval_h: Column,
    mttf_h: Column,
    write_h: Column,
    persist_h: Column = 0.0,
    rolled_back_h: Column = 0.0,
) -> Column:
    """Hours of work that a job stores until it has all that it wants, what it throws away with it.

        U' = U / (1 - B / (n * W)),  n = e^(-P/M) / (e^((W+C)/M) - 1)

    n intervals are stored between two stops. Infinite where a job goes back further than it comes.

    Source: law of large numbers, as `hours_by_state`.
    """
    require_not_negative(rolled_back_h=rolled_back_h)
    if not np.any(rolled_back_h):
        return useful_h
    with np.errstate(over="ignore", divide="ignore"):
        stored = np.exp(-np.divide(persist_h, mttf_h)) / np.expm1(np.add(interval_h, write_h) / mttf_h)
        kept = np.maximum(1.0 - rolled_back_h / (stored * interval_h), 0.0)
        all_h: Column = np.divide(useful_h, kept)
    return all_h


def checked_h(*, hours_h: Column, check_fraction: Column) -> Column:
    """Hours that work takes with checks of its results next to it.

        h' = h * (1 + o)

    Hours without end, of a run that fails faster than it trains, stay without end.

    Source: definition of an overhead.
    """
    require_not_negative_or_infinite(hours_h=hours_h)
    require_not_negative(check_fraction=check_fraction)
    slowed: Column = np.multiply(hours_h, np.add(1.0, check_fraction))
    return slowed


def hours_with_checks(
    *,
    useful_h: Column,
    checkpoint_h: Column,
    lost_h: Column,
    restart_h: Column,
    check_fraction: Column,
) -> StateHours:
    """Hours by state for one useful hour where results are checked as they come.

        work' = (1 + o) * work,  lost' = work' - 1, the others as work

    The time of the checks counts as lost. An interval is as long by the clock as without them.

    Source: definition of an overhead.
    """
    work_h = checked_h(hours_h=np.add(useful_h, lost_h), check_fraction=check_fraction)
    return StateHours(
        useful_h=useful_h,
        checkpoint_h=checked_h(hours_h=checkpoint_h, check_fraction=check_fraction),
        lost_h=np.subtract(work_h, useful_h),
        restart_h=checked_h(hours_h=restart_h, check_fraction=check_fraction),
    )
