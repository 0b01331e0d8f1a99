"""What an equation takes and gives: one number, or a column of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Column = float | NDArray[Any]
Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]

ROUNDING = 1e-9  # of the larger: sums of the same numbers in another order are no farther apart


def difference(one: Column, other: Column) -> Column:
    """`one` less `other`; nothing where only rounding sets them apart."""
    return np.where(np.isclose(one, other, rtol=ROUNDING, atol=0.0), 0.0, np.subtract(one, other))[()]
