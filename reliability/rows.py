"""Rows of lives: checked, those alike counted once, and who is at risk at an age.

A row is one unit: watched from its age at entry, until its age at death or when last seen alive. It is at
risk at ages in (entry, duration], so a unit that enters at an age cannot be seen to die at it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reliability.columns import Floats, Indices


@dataclass(frozen=True, slots=True)
class LifeRows:
    """Checked columns of one length; `weight` is how many units a row stands for."""

    duration_h: Floats
    observed: NDArray[np.bool_]
    entry_h: Floats
    weight: Floats

    @classmethod
    def checked(
        cls, duration_h: ArrayLike, observed: ArrayLike, entry_h: ArrayLike, weight: ArrayLike
    ) -> LifeRows:
        """Columns of one length in which every row makes sense and someone died."""
        numbers = (np.atleast_1d(np.asarray(column, dtype=float)) for column in (duration_h, entry_h, weight))
        duration, entry, count, died = np.broadcast_arrays(*numbers, np.asarray(observed, dtype=bool))
        positive = np.isfinite(duration) & (duration > 0)
        _refuse("duration_h", duration, positive, "above 0 (join events that coincide)")
        _refuse("entry_h", entry, (entry >= 0) & (entry < duration), "from 0 up and below duration_h")
        _refuse("weight", count, np.isfinite(count) & (count > 0), "above 0")
        if not died.any():
            raise ValueError(f"observed must hold at least one death, got none in {duration.size} rows")
        return cls(duration, died, entry, count)

    @property
    def deaths(self) -> float:
        """How many died."""
        return float(self.weight[self.observed].sum())

    def grouped(self) -> LifeRows:
        """Rows that are alike counted once: a log of day resolution has few different ones."""
        columns = [codes(column)[1] for column in (self.duration_h, self.observed, self.entry_h)]
        first, group = different_rows(columns)
        weight = np.bincount(group, weights=self.weight).astype(float)
        return LifeRows(self.duration_h[first], self.observed[first], self.entry_h[first], weight)

    def steps(self) -> tuple[Floats, Floats, Floats]:
        """Each age at which someone died, how many did, and how many were at risk just before."""
        times, ending, deaths = _tally(self.duration_h, self.weight, self.weight * self.observed)
        died = deaths > 0
        return times[died], deaths[died], _from_here(ending)[died] - self._not_yet_watched(times[died])

    def at_risk(self, time_h: Floats) -> Floats:
        """Weight of the rows that are watched just before each age."""
        return weight_from(self.duration_h, self.weight, time_h) - self._not_yet_watched(time_h)

    def _not_yet_watched(self, time_h: Floats) -> Floats:
        late = self.entry_h > 0
        return weight_from(self.entry_h[late], self.weight[late], time_h)


def codes(column: NDArray[Any]) -> tuple[NDArray[Any], Indices]:
    """Different values, rising, and the place of each row's among them.

    Source: counting.
    """
    if column.dtype.kind in "biuf" and (place := _on_grid(column.astype(float, copy=False))) is not None:
        values = np.empty(int(place.max()) + 1, dtype=column.dtype)
        values[place] = column
        if np.all(values[place] == column):
            seen = np.bincount(place) > 0
            return values[seen], (np.cumsum(seen) - 1)[place]
    values, code = np.unique(column, return_inverse=True)
    return values, code


def _on_grid(numbers: Floats) -> Indices | None:
    """Place on an even grid, where a sample of the numbers seems to lie on one: days, codes, 0 and 1."""
    sample = np.unique(numbers[:: max(1, numbers.size // 1000)])
    step = float(np.diff(sample).min()) if sample.size > 1 else 1.0
    low = float(numbers.min())
    steps = (sample - low) / step
    if float(numbers.max()) - low > 4.0 * step * numbers.size or np.abs(steps - np.rint(steps)).max() > 1e-3:
        return None
    place = numbers - low
    place /= step
    return np.rint(place, out=place).astype(np.intp)


def different_rows(columns: Sequence[Indices]) -> tuple[Indices, Indices]:
    """The first row of each combination of codes, by the first column, then the next; each row's combination.

    Source: counting.
    """
    key, size = columns[0], int(columns[0].max()) + 1
    for code in columns[1:]:
        count = int(code.max()) + 1
        if size > 2**62 // count:  # the key would not fit: number the combinations so far
            key = codes(key)[1]
            size = int(key.max()) + 1
        key, size = key * count + code, size * count
    seen, group = codes(key)
    first = np.empty(seen.size, dtype=np.intp)
    first[group[::-1]] = np.arange(key.size)[::-1]
    return first, group


def _tally(values: Floats, *weights: Floats) -> tuple[Floats, ...]:
    """Each value once, rising, and the sum of each column of weights at it.

    Source: counting.
    """
    times, place = codes(values)
    return (times, *(np.bincount(place, weights=column).astype(float) for column in weights))


def weight_from(values: Floats, weight: Floats, time_h: Floats) -> Floats:
    """Weight of the rows whose value is at or above each time.

    Source: counting.
    """
    if not values.size:
        return np.zeros(time_h.shape)
    times, weights = _tally(values, weight)
    return np.concatenate([_from_here(weights), [0.0]])[np.searchsorted(times, time_h)]


def _from_here(weights: Floats) -> Floats:
    """Sums from each place to the end, the last one exact."""
    total: Floats = np.cumsum(weights[::-1])[::-1]
    return total


def _refuse(name: str, column: Floats, holds: NDArray[np.bool_], wanted: str) -> None:
    if not holds.all():
        row = int(np.argmin(holds))
        raise ValueError(f"{name} must be {wanted}, got {column[row]:g} in row {row}")
