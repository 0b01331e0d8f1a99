"""A period as a few slots: types of day, parts of the day, and what each emits or costs for three loads.

Averaging days removes what shifting lives on; sorting all hours promises work that is bound to its day too
much. So each slot has three intensities, and three prices: for load that cannot move, for load that moves
within its day, and for load that moves within the period. All three have the same mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from carbon import _domain

Hours = NDArray[np.float64]

HOURS_A_DAY = 24


@dataclass(frozen=True, slots=True, eq=False)
class Slots:
    """Slots (B) of a period, type by type in the order of the clock, and ratios of each series (S, B).

    A ratio is what a kilowatt-hour in the slot emits or costs, over the mean of the period.
    `hours_fraction` is the part of the period that a slot covers.
    """

    day_type: NDArray[np.intp]
    start_h: Hours
    hours_fraction: Hours
    fixed_ratio: Hours
    day_ratio: Hours
    period_ratio: Hours


def day_types(*, day_values: NDArray[np.float64], types: int) -> NDArray[np.intp]:
    """Which type each day (rows) is of: days that are alike are of one type, the commonest type first.

    z = sum over types of sum over its days of |x_d - mean of its type|^2

    Days are joined two by two, the pair first that adds least to z. Fewer types than requested are found
    where fewer days differ.

    Source: Ward, "Hierarchical grouping to optimize an objective function", JASA 58, 1963; for typical days
    of energy models, Kotzur et al., Applied Energy 213, 2018.
    """
    values = np.asarray(day_values, dtype=np.float64)
    if values.ndim != 2 or values.shape[0] < 1 or types < 1:
        raise ValueError(f"day_values are days x values and types is at least 1, got {values.shape}, {types}")
    if types == 1 or values.shape[0] == 1 or np.all(values == values[0]):
        return np.zeros(values.shape[0], dtype=np.intp)
    from scipy.cluster.hierarchy import fcluster, linkage  # slow to import

    found = fcluster(linkage(values, method="ward"), types, criterion="maxclust")
    names, first, back, counts = np.unique(found, return_index=True, return_inverse=True, return_counts=True)
    place = np.empty(len(names), dtype=np.intp)
    place[np.lexsort((first, -counts))] = np.arange(len(names))
    of_day: NDArray[np.intp] = place[back.ravel()]
    return of_day


def two_columns(
    *,
    hours_ratio: Hours,
    day_type: NDArray[np.intp],
    slots_a_day: int,
    signal_ratio: Hours | None = None,
    known_in_day_fraction: float = 1.0,
    known_in_period_fraction: float = 1.0,
) -> Slots:
    """Slots of a period whose hours (S series, hours of whole days) are known, in any scale.

    fixed[b]   = mean over the days d of a type of x in slot b
    day[b]     = m - f_day * (m - mean over d of x in the k-th best part of day d)
    period[b]  = m - f_period * (m - x in the k-th best part of all hours of the type)

    x is an intensity or a price. Hours with the least signal are best: the signal is x itself, or what an
    hour weighs where both count, so that the intensity and the price of a slot are of the same hours. k is
    the place of slot b among the slots of its type, by the signal of the mean day; m the type's mean; f the
    share of what perfect foresight would save that a forecast keeps. Work bound to its day that takes the k
    best slots of it then meets what the best hours of each day have, and work that is free the duration
    curve: both sums are exact for whole slots. Series that differ keep their order by their own mean day, so
    that moves between sites are judged by slots that need not be the same hours. All ratios are over the mean
    of the period.

    Source: the idea of two intensities for one slot is everfleet's own; duration curves and typical days as
    in Kotzur et al., Applied Energy 213, 2018.
    """
    series = np.atleast_2d(np.asarray(hours_ratio, dtype=np.float64))
    signal = series if signal_ratio is None else np.atleast_2d(np.asarray(signal_ratio, dtype=np.float64))
    mean = series.mean(axis=-1, keepdims=True)
    _domain.nonnegative(mean_of_hours_ratio=mean)
    _domain.share(
        known_in_day_fraction=known_in_day_fraction, known_in_period_fraction=known_in_period_fraction
    )
    days = len(day_type)
    if days < 1 or series.shape[-1] != days * HOURS_A_DAY:
        raise ValueError(
            f"hours_ratio holds {HOURS_A_DAY} hours for each of the {days} days, got {series.shape[-1]}"
        )
    if signal.shape != series.shape:
        raise ValueError(f"signal_ratio has the hours of hours_ratio, got {signal.shape} for {series.shape}")
    if slots_a_day < 1 or HOURS_A_DAY % slots_a_day:
        raise ValueError(f"slots_a_day divides the {HOURS_A_DAY} hours of a day, got {slots_a_day}")
    by_day, signal_by_day = (one.reshape(len(series), days, HOURS_A_DAY) for one in (series, signal))
    columns: dict[str, list[Hours]] = {"fixed": [], "day": [], "period": []}
    types = range(int(np.max(day_type)) + 1)
    for one in types:
        of_type, weighed = by_day[:, day_type == one], signal_by_day[:, day_type == one]
        its_mean = of_type.mean(axis=(1, 2))[:, None]
        fixed = _parts(of_type.mean(axis=1), slots_a_day)
        mean_day = _parts(weighed.mean(axis=1), slots_a_day)
        place = np.argsort(np.argsort(mean_day, axis=-1, kind="stable"), axis=-1, kind="stable")
        in_day = _parts(_best_first(of_type, weighed).mean(axis=1), slots_a_day)
        every = (len(series), -1)
        in_period = _parts(_best_first(of_type.reshape(every), weighed.reshape(every)), slots_a_day)
        columns["fixed"].append(fixed)
        for name, sorted_parts, known in (
            ("day", in_day, known_in_day_fraction),
            ("period", in_period, known_in_period_fraction),
        ):
            placed = np.take_along_axis(sorted_parts, place, axis=-1)
            columns[name].append(its_mean - known * (its_mean - placed))
    count = len(types) * slots_a_day
    width = HOURS_A_DAY / slots_a_day
    share = np.array([np.mean(day_type == one) for one in types]) / slots_a_day

    def ratio(parts: list[Hours]) -> Hours:
        joined = np.concatenate(parts, axis=-1)
        found: Hours = np.divide(joined, mean, out=np.ones((len(series), count)), where=mean > 0)
        return found

    return Slots(
        day_type=np.repeat(np.arange(len(types)), slots_a_day),
        start_h=np.tile(np.arange(slots_a_day) * width, len(types)),
        hours_fraction=np.repeat(share, slots_a_day),
        fixed_ratio=ratio(columns["fixed"]),
        day_ratio=ratio(columns["day"]),
        period_ratio=ratio(columns["period"]),
    )


def _best_first(hours: Hours, signal: Hours) -> Hours:
    """Hours of the last axis in the order of their signal, the least first."""
    ordered: Hours = np.take_along_axis(hours, np.argsort(signal, axis=-1, kind="stable"), axis=-1)
    return ordered


def _parts(hours: Hours, parts: int) -> Hours:
    """Means of equal parts of the last axis."""
    means: Hours = hours.reshape(*hours.shape[:-1], parts, -1).mean(axis=-1)
    return means
