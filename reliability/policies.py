"""Intervals beyond the closed forms: Weibull gaps between failures, and how flat the best interval is.

Blocking and asynchronous checkpoints have their optimum in closed form (`checkpoint.py`), two levels theirs
in `two_level.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gamma, gammaincc

from reliability.checkpoint import StateHours, weighted_hours_ratio, young_interval_h
from reliability.domain import require_not_negative, require_positive
from reliability.ettr import weibull_ettr_fraction
from reliability.search import flat_ends, least_point

Column = float | NDArray[np.float64]
Floats = NDArray[np.float64]

# Writes that are added one by one; Euler and Maclaurin's formula gives the rest.
_SUMMED_WRITES = 200
_POINTS, _POINT_WEIGHTS = np.polynomial.legendre.leggauss(8)


@dataclass(frozen=True, slots=True)
class FlatRegion:
    """Intervals from `low_h` to `high_h` cost next to nothing against the best one."""

    low_h: Column
    high_h: Column


def flat_region_h(
    *,
    interval_h: Column,
    mttf_h: Column,
    write_h: Column,
    restart_h: Column,
    loss_fraction: Column,
    work_weight_factor: Column = 1.0,
    write_weight_factor: Column = 1.0,
    restart_weight_factor: Column = 1.0,
    persist_h: Column = 0.0,
) -> FlatRegion:
    """Intervals around the best one that cost less than a share more.

        cost(W) = (1 + loss) * cost(W_best), on both sides

    `interval_h` is the best one for these weights. With a background write the low end is not below P - C,
    where one snapshot is stored as the next is taken.

    Source: weighted hours of this room, solved by halving.
    """
    require_positive(interval_h=interval_h, loss_fraction=loss_fraction)

    def cost(tried_h: Column) -> Column:
        return weighted_hours_ratio(
            interval_h=tried_h,
            mttf_h=mttf_h,
            write_h=write_h,
            restart_h=restart_h,
            persist_h=persist_h,
            work_weight_factor=work_weight_factor,
            write_weight_factor=write_weight_factor,
            restart_weight_factor=restart_weight_factor,
        )

    floor_h = np.maximum(np.subtract(persist_h, write_h), 0.0)
    return FlatRegion(*flat_ends(cost, best=interval_h, loss_fraction=loss_fraction, floor=floor_h))


def weibull_hours_by_state(
    *, interval_h: Column, mttf_h: Column, weibull_shape: Column, write_h: Column, restart_h: Column
) -> StateHours:
    """Expected hours in each state for one useful hour where gaps are Weibull and new at each restart.

        1 / kept   failures,  kept = W * sum_(n >= 1) S(n * (W + C))
        checkpoint = sum_(n >= 1) integral of S from n * (W + C) - C to n * (W + C), for each failure
        restart    = u0,  1 + lost = M - checkpoint

    At shape 1 it is `hours_by_state` of a blocking write.

    Source: renewal-reward theorem; the tail of the sum by Euler and Maclaurin's formula.
    """
    ettr = weibull_ettr_fraction(
        interval_h=interval_h,
        mttf_h=mttf_h,
        weibull_shape=weibull_shape,
        write_h=write_h,
        restart_h=restart_h,
    )
    cycle_h = np.add(interval_h, write_h)
    with np.errstate(divide="ignore"):
        failures = 1.0 / (ettr * np.add(mttf_h, restart_h))
    writing_h = failures * _written_h(cycle_h, write_h, mttf_h, weibull_shape)
    return StateHours(
        useful_h=np.ones_like(failures)[()],
        checkpoint_h=writing_h[()],
        lost_h=(failures * mttf_h - writing_h - 1.0)[()],
        restart_h=(failures * restart_h)[()],
    )


def weibull_weighted_hours_ratio(
    *,
    interval_h: Column,
    mttf_h: Column,
    weibull_shape: Column,
    write_h: Column,
    restart_h: Column,
    work_weight_factor: Column = 1.0,
    write_weight_factor: Column = 1.0,
    restart_weight_factor: Column = 1.0,
) -> Column:
    """Weighted hours for one useful hour where gaps are Weibull and new at each restart.

        cost = w_work * (1 + lost) + w_write * checkpoint + w_restart * restart

    Source: expected hours by state of this room.
    """
    _check_weights(work_weight_factor, write_weight_factor, restart_weight_factor)
    hours = weibull_hours_by_state(
        interval_h=interval_h,
        mttf_h=mttf_h,
        weibull_shape=weibull_shape,
        write_h=write_h,
        restart_h=restart_h,
    )
    work = work_weight_factor * (hours.useful_h + hours.lost_h)
    return work + write_weight_factor * hours.checkpoint_h + restart_weight_factor * hours.restart_h


def weibull_optimal_interval_h(
    *,
    mttf_h: Column,
    weibull_shape: Column,
    write_h: Column,
    restart_h: Column,
    work_weight_factor: Column = 1.0,
    write_weight_factor: Column = 1.0,
    restart_weight_factor: Column = 1.0,
) -> Column:
    """The interval of least weighted hours where gaps are Weibull and new at each restart.

        W = argmin cost(W)

    One interval for the whole run: shortening it while failures are likely is left out. All weights at
    1: highest ETTR.

    Source: weighted hours of this room, least by search.
    """
    require_positive(mttf_h=mttf_h, weibull_shape=weibull_shape, write_h=write_h)
    require_not_negative(restart_h=restart_h)
    _check_weights(work_weight_factor, write_weight_factor, restart_weight_factor)

    def cost(tried_h: Column) -> Column:
        return weibull_weighted_hours_ratio(
            interval_h=tried_h,
            mttf_h=mttf_h,
            weibull_shape=weibull_shape,
            write_h=write_h,
            restart_h=restart_h,
            work_weight_factor=work_weight_factor,
            write_weight_factor=write_weight_factor,
            restart_weight_factor=restart_weight_factor,
        )

    # Weights move the valley like a longer or shorter write; a shape far from 1 moves it further.
    price = np.sqrt(np.divide(write_weight_factor, work_weight_factor))
    young_h = young_interval_h(mttf_h=mttf_h, write_h=write_h)
    low_h = young_h * np.minimum(price, 1.0) / 64.0
    return least_point(cost, low=low_h, high=np.maximum(young_h * np.maximum(price, 1.0), mttf_h) * 16.0)


def _written_h(cycle_h: Column, write_h: Column, mttf_h: Column, weibull_shape: Column) -> Floats:
    """Hours of writing before a failure: the survival function over every write's own stretch."""
    columns = (np.asarray(c, dtype=float)[..., None] for c in (cycle_h, write_h, mttf_h, weibull_shape))
    cycle, write, mttf, shape = np.broadcast_arrays(*columns)
    scale = mttf / gamma(1.0 + 1.0 / shape)

    def after_h(time_h: Floats) -> Floats:
        """Mean hours up beyond a time, the integral of the survival function."""
        with np.errstate(over="ignore"):
            left: Floats = mttf * gammaincc(1.0 / shape, np.power(time_h / scale, shape))
        return left

    ends = cycle * np.arange(1.0, _SUMMED_WRITES)
    direct = after_h(ends - write) - after_h(ends)
    last = cycle * _SUMMED_WRITES
    rest = write / cycle * after_h(last - write * (1.0 + _POINTS) / 2.0) * _POINT_WEIGHTS / 2.0
    first = after_h(last - write) - after_h(last)
    with np.errstate(over="ignore"):
        survive = [np.exp(-np.power(time / scale, shape)) for time in (last, last - write)]
    slope = cycle * (survive[0] - survive[1])
    total: Floats = direct.sum(-1) + rest.sum(-1) + (first / 2.0 - slope / 12.0)[..., 0]
    return total


def _check_weights(work: Column, write: Column, restart: Column) -> None:
    require_positive(work_weight_factor=work, write_weight_factor=write)
    require_not_negative(restart_weight_factor=restart)
