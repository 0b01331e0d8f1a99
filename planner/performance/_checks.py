"""Domain checks shared by this room: say which parameter is wrong and with which value."""

import numpy as np
from numpy.typing import NDArray

from planner.performance.columns import Column


def require_positive(**named: Column) -> None:
    """Raise ValueError unless every entry of every argument is above zero and finite."""
    for name, value in named.items():
        if not _all((value > 0) & (value < np.inf)):
            raise ValueError(f"{name} must be above zero, got {_worst(value)}")


def require_not_negative(**named: Column) -> None:
    """Raise ValueError unless every entry of every argument is zero or more and finite."""
    for name, value in named.items():
        if not _all((value >= 0) & (value < np.inf)):
            raise ValueError(f"{name} must not be negative, got {_worst(value)}")


def require_share(**named: Column) -> None:
    """Raise ValueError unless every entry of every argument lies in 0 to 1."""
    for name, value in named.items():
        if not _all((value >= 0) & (value <= 1)):
            raise ValueError(f"{name} is a share between 0 and 1, got {_worst(value)}")


def require_open_share(**named: Column) -> None:
    """Raise ValueError unless every entry lies above 0 and at most 1 (something is divided by it)."""
    for name, value in named.items():
        if not _all((value > 0) & (value <= 1)):
            raise ValueError(f"{name} is a share above 0 and at most 1, got {_worst(value)}")


def _all(mask: bool | np.bool_ | NDArray[np.bool_]) -> bool:
    return bool(mask.all()) if isinstance(mask, np.ndarray) else bool(mask)


def _worst(value: Column) -> object:
    return value if np.ndim(value) == 0 else f"a column from {np.min(value):g} to {np.max(value):g}"
