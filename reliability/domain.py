"""Checks of what an equation may be given: each names the parameter, the value and what to do instead."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reliability.columns import Column, Floats


def require_positive(**values: Column) -> None:
    """Refuse values that are not finite numbers above zero."""
    for name, value in values.items():
        _require(name, value, np.isfinite(value) & (np.asarray(value) > 0), "a finite number above 0")


def require_positive_or_infinite(**values: Column) -> None:
    """Refuse values that are not above zero; infinity stands for "never"."""
    for name, value in values.items():
        _require(name, value, np.asarray(value) > 0, "above 0 (infinite for never)")


def require_not_negative(**values: Column) -> None:
    """Refuse values that are not finite numbers from zero up."""
    for name, value in values.items():
        _require(name, value, np.isfinite(value) & (np.asarray(value) >= 0), "a finite number from 0 up")


def require_not_negative_or_infinite(**values: Column) -> None:
    """Refuse values that are not from zero up; infinity stands for hours in which no work gets done."""
    for name, value in values.items():
        _require(name, value, np.asarray(value) >= 0, "from 0 up (infinite where no work gets done)")


def require_share(**values: Column) -> None:
    """Refuse values that are not shares strictly between 0 and 1."""
    for name, value in values.items():
        column = np.asarray(value)
        _require(name, value, (column > 0) & (column < 1), "a share between 0 and 1, both excluded")


def require_fraction(**values: Column) -> None:
    """Refuse values that are not shares from 0 to 1, both ends allowed."""
    for name, value in values.items():
        column = np.asarray(value)
        _require(name, value, (column >= 0) & (column <= 1), "a share from 0 to 1")


def require_at_least(least: float, **values: Column) -> None:
    """Refuse values that are not finite numbers from `least` up."""
    for name, value in values.items():
        _require(
            name,
            value,
            np.isfinite(value) & (np.asarray(value) >= least),
            f"a finite number from {least:g} up",
        )


def require_some_failure(failures: Floats) -> None:
    """Refuse counts without any failure."""
    if not failures.any():
        raise ValueError(
            "failures must not all be 0: no failure says nothing of how failures vary; "
            "use rate_interval, or a published prior with updated_rate"
        )


def counts_of_periods(counts: ArrayLike, exposure: ArrayLike) -> tuple[Floats, Floats]:
    """Counts and exposures as columns of one length; a single exposure holds for all periods."""
    seen = np.atleast_1d(np.asarray(counts, dtype=float))
    exposed = np.asarray(exposure, dtype=float)
    if exposed.ndim and exposed.shape != seen.shape:
        raise ValueError(f"exposure must have a row for each of the {seen.size} counts, got {exposed.size}")
    require_not_negative(counts=seen)
    if np.any(seen != np.floor(seen)):
        raise ValueError(f"counts must be whole numbers, got {seen[seen != np.floor(seen)][0]:g}")
    require_positive(exposure=exposed)
    return seen, np.broadcast_to(exposed, seen.shape)


def _require(name: str, value: Column, holds: np.bool_ | NDArray[np.bool_], wanted: str) -> None:
    if holds.all():
        return
    first = int(np.argmin(holds))
    where = f" in row {first}" if np.ndim(value) else ""
    raise ValueError(f"{name} must be {wanted}, got {np.ravel(value)[first]:g}{where}")
