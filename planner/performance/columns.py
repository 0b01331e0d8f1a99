"""What an equation takes and gives: one number, or a column of them."""

import numpy as np
from numpy.typing import NDArray

Column = float | NDArray[np.float64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Counts = NDArray[np.int64]
