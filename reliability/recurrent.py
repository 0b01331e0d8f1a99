"""Units that fail, are repaired and fail again: whether their rate has a trend."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtr, chdtrc, ndtr

from reliability.columns import Floats, Indices


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


def trend_test(
    *,
    event_unit: ArrayLike,
    event_h: ArrayLike,
    unit: ArrayLike,
    end_h: ArrayLike,
    start_h: ArrayLike = 0.0,
) -> TrendTest:
    """Whether each unit fails at a constant rate.

        Laplace: z = sum of (t - (S + T) / 2) / sqrt(sum of (T - S)^2 / 12)
        MIL-HDBK-189: chi^2 = 2 * sum of ln((T - S) / (t - S)), of 2n degrees of freedom

    Units may have different rates. S and T are the start and end of the unit that a failure is of.

    Args:
        event_unit: which unit failed.
        event_h: its age then; not twice the same in one unit (join alarms that coincide).
        unit: every unit that was watched, those that never failed too.
        end_h: age at which watching ended, for each unit or for all.
        start_h: age at which it began.

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
    """Units in order, and events by unit and age; `owner` is the event's unit."""

    start_h: Floats
    end_h: Floats
    owner: Indices
    event_h: Floats


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
    return _Log(start, end, owner, ages)
