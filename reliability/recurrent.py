"""Units that fail, are repaired and fail again: mean number of failures, trend, and gaps between failures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtr, chdtrc, ndtr

from reliability.fitting import Fit, fit_weibull
from reliability.lifetimes import Weibull
from reliability.likelihood import normal_quantile

Column = float | NDArray[np.float64]
Floats = NDArray[np.float64]
Whole = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class MeanCumulative:
    """Mean number of failures of one unit by each age at which any failed, with those watched just before."""

    time_h: Floats
    at_risk: Floats
    mean_failures: Floats
    low_failures: Floats
    high_failures: Floats

    def failures_at(self, *, time_h: Column) -> Column:
        """Mean number of failures by an age: the last step at or before it."""
        step = np.searchsorted(self.time_h, time_h, side="right")
        return np.concatenate([[0.0], self.mean_failures])[step]


@dataclass(frozen=True, slots=True)
class TrendTest:
    """Two tests of a constant rate in each unit; p-values are two-sided.

    `laplace_z` is normal: above 0 failures come late (getting worse), below 0 early. `military_chi_square`
    has two degrees of freedom for each failure: few is getting worse. Failures in bursts fail both tests
    without any trend.
    """

    laplace_z: float
    laplace_p_value: float
    military_chi_square: float
    military_p_value: float
    failures: int


@dataclass(frozen=True, slots=True)
class Gaps:
    """Stretches between failures: ages [entry, end], whether it ended in one, and its number in the unit.

    Gap 0 runs from when the unit was first watched to its first failure; the last of a unit is cut off.
    """

    unit: NDArray[Any]
    entry_h: Floats
    end_h: Floats
    observed: NDArray[np.bool_]
    gap: Whole

    @property
    def duration_h(self) -> Floats:
        """Hours from return to service to failure, or to when watching ended."""
        return self.end_h - self.entry_h


def gaps_between_failures(
    *,
    event_unit: ArrayLike,
    event_h: ArrayLike,
    unit: ArrayLike,
    end_h: ArrayLike,
    start_h: ArrayLike = 0.0,
    back_h: ArrayLike | None = None,
) -> Gaps:
    """Failures of units as stretches between them.

    A clock that restarts at each repair (as good as new) is fitted on `duration_h`; one that runs on (as bad
    as old) on `end_h` with `entry_h` as entry. A stretch of no length at the end of a unit is left out.

    Args:
        event_unit: which unit failed.
        event_h: its age then; not twice the same in one unit (join alarms that coincide).
        unit: every unit that was watched, those that never failed too.
        end_h: age at which watching ended, for each unit or for all.
        start_h: age at which it began.
        back_h: age at return to service, for each failure (infinite: still down); left out: at once.

    Source: Cook and Lawless, "The Statistical Analysis of Recurrent Events", 2007, chapter 1.
    """
    log = _log(event_unit, event_h, unit, end_h, start_h)
    back = log.event_h
    if back_h is not None:
        back = np.broadcast_to(np.asarray(back_h, dtype=float), back.shape)[log.order]
    first = np.diff(log.owner, prepend=-1) != 0
    before = np.where(first, log.start_h[log.owner], np.roll(back, 1))
    if np.any(wrong := ~((before < log.event_h) & (back >= log.event_h))):
        place = int(np.argmax(wrong))
        raise ValueError(
            f"back_h: unit {log.unit[log.owner[place]]} fails at {log.event_h[place]:g} and is back at "
            f"{back[place]:g}, but was down until {before[place]:g}; join outages that overlap"
        )
    counts = np.bincount(log.owner, minlength=log.unit.size)
    last = log.start_h.copy()
    last[counts > 0] = back[np.cumsum(counts)[counts > 0] - 1]
    rest = np.flatnonzero(last < log.end_h)
    number = np.arange(log.owner.size) - (np.cumsum(counts) - counts)[log.owner]
    owner = np.concatenate([log.owner, rest])
    found = Gaps(
        unit=log.unit[owner],
        entry_h=np.concatenate([before, last[rest]]),
        end_h=np.concatenate([log.event_h, log.end_h[rest]]),
        observed=np.repeat([True, False], [log.owner.size, rest.size]),
        gap=np.concatenate([number, counts[rest]]),
    )
    by_unit = np.lexsort((found.gap, owner))
    return Gaps(*(getattr(found, name)[by_unit] for name in ("unit", "entry_h", "end_h", "observed", "gap")))


def fit_power_law(
    *,
    event_unit: ArrayLike,
    event_h: ArrayLike,
    unit: ArrayLike,
    end_h: ArrayLike,
    start_h: ArrayLike = 0.0,
) -> Fit[Weibull]:
    """Power-law process (Crow-AMSAA) of highest likelihood; arguments as in `gaps_between_failures`.

        N(t) = (t / scale)^shape,  rate = shape / scale * (t / scale)^(shape - 1)

    Repair brings a unit back to the state that it had. The answer's cumulative hazard is the mean number of
    failures of one unit by an age, so `expected_failures` forecasts with it. Shape above 1: getting worse.
    Where all units start new and end alike, n failures make the shape too high by n / (n - 1) on average.

    Source: Crow, "Reliability analysis for complex, repairable systems", 1974; as a Weibull whose units enter
    again at the age of each failure.
    """
    rows = gaps_between_failures(
        event_unit=event_unit, event_h=event_h, unit=unit, end_h=end_h, start_h=start_h
    )
    return fit_weibull(duration_h=rows.end_h, observed=rows.observed, entry_h=rows.entry_h)


def trend_test(
    *,
    event_unit: ArrayLike,
    event_h: ArrayLike,
    unit: ArrayLike,
    end_h: ArrayLike,
    start_h: ArrayLike = 0.0,
) -> TrendTest:
    """Whether each unit fails at a constant rate; arguments as in `gaps_between_failures`.

        Laplace: z = sum of (t - (S + T) / 2) / sqrt(sum of (T - S)^2 / 12)
        MIL-HDBK-189: chi^2 = 2 * sum of ln((T - S) / (t - S)), of 2n degrees of freedom

    Units may have different rates. S and T are the start and end of the unit that a failure is of.

    Source: Kvaloy and Lindqvist, Reliability Engineering and System Safety 60, 1998, pooled tests.
    """
    log = _log(event_unit, event_h, unit, end_h, start_h)
    if not log.event_h.size:
        raise ValueError("event_h must hold at least one failure, got none")
    start, length = log.start_h[log.owner], (log.end_h - log.start_h)[log.owner]
    into = log.event_h - start
    z = float((into - length / 2.0).sum() / np.sqrt((length**2).sum() / 12.0))
    chi = float(2.0 * np.log(length / into).sum())
    freedom = 2.0 * log.event_h.size
    military = 2.0 * min(float(chdtr(freedom, chi)), float(chdtrc(freedom, chi)))
    return TrendTest(z, 2.0 * float(ndtr(-abs(z))), chi, military, int(log.event_h.size))


def mean_cumulative(
    *,
    event_unit: ArrayLike,
    event_h: ArrayLike,
    unit: ArrayLike,
    end_h: ArrayLike,
    start_h: ArrayLike = 0.0,
    confidence_fraction: float = 0.95,
) -> MeanCumulative:
    """Mean number of failures by age, without a model; other arguments as in `gaps_between_failures`.

        M(t) = sum over t_k <= t of d_k / n_k
        Var[M(t)] = sum over units of (sum over t_k <= t, unit watched, of (own failures - d_k / n_k) / n_k)^2

    The variance holds for failures in bursts and for bad units, not for Poisson alone. The interval is normal
    on ln M, so it stays above zero. Hours in repair count as watched.

    Source: Nelson, Technometrics 37, 1995; variance of Lawless and Nadeau in the same volume.
    """
    reach = normal_quantile(confidence_fraction)
    log = _log(event_unit, event_h, unit, end_h, start_h)
    if not log.event_h.size:
        raise ValueError("event_h must hold at least one failure, got none")
    times, place = np.unique(log.event_h, return_inverse=True)
    deaths = np.bincount(place).astype(float)
    begin = np.searchsorted(times, log.start_h, side="right")
    end = np.searchsorted(times, log.end_h, side="right")
    changes = np.bincount(begin, minlength=times.size + 1) - np.bincount(end, minlength=times.size + 1)
    at_risk = np.cumsum(changes)[: times.size].astype(float)
    mean = np.cumsum(deaths / at_risk)
    variance = _robust_variance(log.owner, place, begin, end, deaths / at_risk, at_risk)
    factor = np.exp(reach * np.sqrt(variance) / mean)
    return MeanCumulative(times, at_risk, mean, mean / factor, mean * factor)


def _robust_variance(
    owner: Whole, place: Whole, begin: Whole, end: Whole, rate: Floats, at_risk: Floats
) -> Floats:
    """Sum over units of R^2, where R adds (own failures - rate) / at risk at each time that it is watched.

    R^2 grows by 2 * R * a + a^2 at a step a. Summed over the units watched that needs the sum of their R,
    which is their own failures' part less the part that all share, so no array is units times times.
    """
    shared = np.concatenate([[0.0], np.cumsum(rate / at_risk)])
    own = 1.0 / at_risk[place]
    # Events come by unit and age: own failures' part of R before each.
    total = np.cumsum(own) - own
    first = np.diff(owner, prepend=-1) != 0
    earlier = total - np.maximum.accumulate(np.where(first, total, 0.0))
    before = earlier - (shared[place] - shared[begin[owner]])
    size = rate.size

    def by_time(at: Whole, weights: Floats) -> Floats:
        return np.bincount(at, weights=weights, minlength=size + 1)[:size].astype(float)

    # Sum of R just before each time over the units that are watched at it.
    arrived = np.cumsum(by_time(place + 1, own)) - np.cumsum(by_time(end[owner], own))
    origin = np.cumsum(by_time(begin, shared[begin]) - by_time(end, shared[begin]))
    watched = arrived - (at_risk * shared[:size] - origin)
    step = rate / at_risk
    mine = by_time(place, own * before)
    squares = by_time(place, own * own) - 2.0 * step * by_time(place, own) + at_risk * step**2
    variance: Floats = np.maximum(np.cumsum(2.0 * (mine - step * watched) + squares), 0.0)
    return variance


@dataclass(frozen=True, slots=True)
class _Log:
    """Units in order, and events by unit and age; `owner` is the event's unit, `order` its row as given."""

    unit: NDArray[Any]
    start_h: Floats
    end_h: Floats
    owner: Whole
    event_h: Floats
    order: Whole


def _log(
    event_unit: ArrayLike, event_h: ArrayLike, unit: ArrayLike, end_h: ArrayLike, start_h: ArrayLike
) -> _Log:
    units, place = np.unique(np.asarray(unit), return_index=True)
    if units.size != np.size(unit):
        raise ValueError(f"unit must name each unit once, got {np.size(unit)} rows for {units.size} units")
    start, end = (
        np.broadcast_to(np.asarray(column, dtype=float), np.shape(unit))[place] for column in (start_h, end_h)
    )
    if np.any(wrong := ~(np.isfinite(end) & (start >= 0) & (start < end))):
        which = int(np.argmax(wrong))
        raise ValueError(
            f"end_h must be a finite number above start_h, which is from 0 up: unit {units[which]} has "
            f"{start[which]:g} to {end[which]:g}"
        )
    names, ages = np.atleast_1d(np.asarray(event_unit)), np.atleast_1d(np.asarray(event_h, dtype=float))
    owner = np.minimum(np.searchsorted(units, names), units.size - 1).astype(np.intp)
    if np.any(unknown := units[owner] != names):
        raise ValueError(f"event_unit holds {names[unknown][0]}, which unit does not name")
    if np.any(outside := ~((ages > start[owner]) & (ages <= end[owner]))):
        which = int(np.argmax(outside))
        raise ValueError(
            f"event_h must be after start_h and not after end_h of its unit, got {ages[which]:g} for unit "
            f"{names[which]} watched from {start[owner[which]]:g} to {end[owner[which]]:g}"
        )
    order = np.lexsort((ages, owner))
    owner, ages = owner[order], ages[order]
    if np.any(same := (np.diff(ages) == 0) & (np.diff(owner) == 0)):
        which = int(np.argmax(same))
        raise ValueError(
            f"event_h: unit {units[owner[which]]} fails twice at {ages[which]:g}; join events that coincide"
        )
    return _Log(units, start, end, owner, ages, order)
