"""What an equation takes and gives: one number, or a column of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Column = float | NDArray[np.float64]
Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]
Counts = NDArray[np.int64]
