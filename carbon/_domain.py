"""Domain checks for this room: the message names the parameter, what it is, and the first value outside."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carbon.columns import Column


def nonnegative(**quantities: Column) -> None:
    """Refuse a quantity that is negative, infinite or not a number."""
    for name, value in quantities.items():
        _refuse(name, value, np.isfinite(value) & np.greater_equal(value, 0), "is finite and at least 0")


def positive(**quantities: Column) -> None:
    """Refuse a quantity that is zero, negative, infinite or not a number."""
    for name, value in quantities.items():
        _refuse(name, value, np.isfinite(value) & np.greater(value, 0), "is finite and above 0")


def at_least(least: float, **quantities: Column) -> None:
    """Refuse a quantity below `least`."""
    for name, value in quantities.items():
        ok = np.isfinite(value) & np.greater_equal(value, least)
        _refuse(name, value, ok, f"is finite and at least {least:g}")


def share(**shares: Column) -> None:
    """Refuse a share outside 0..1."""
    for name, value in shares.items():
        _refuse(name, value, np.greater_equal(value, 0) & np.less_equal(value, 1), "is a share in [0, 1]")


def share_above_zero(**shares: Column) -> None:
    """Refuse a share that is zero or outside 0..1: it stands in a denominator."""
    for name, value in shares.items():
        _refuse(name, value, np.greater(value, 0) & np.less_equal(value, 1), "is a share in (0, 1]")


def _refuse(name: str, value: Column, ok: np.bool_ | NDArray[np.bool_], meaning: str) -> None:
    if bool(ok) if isinstance(ok, np.bool_) else np.all(ok):  # a single number needs no function of arrays
        return
    first = np.atleast_1d(np.asarray(value, dtype=float))[~np.atleast_1d(ok)][0]
    raise ValueError(f"{name} {meaning}, got {first:g}")
