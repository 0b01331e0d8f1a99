"""Units that fail, are repaired and fail again: trend, and gaps between failures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtr, chdtrc, ndtr

from reliability.fitting import Fit, fit_weibull
from reliability.lifetimes import Weibull

Floats = NDArray[np.float64]
Whole = NDArray[np.intp]


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
