"""Options that no plan needs: another one is no worse in anything that the program weighs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def undominated(group: NDArray[np.intp], metrics: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which rows stay: those that no other of their group matches or beats in every metric (less is better).

    Of rows that are equal in every metric the first stays.

    Args:
        group: group of each row; only rows of one group are compared.
        metrics: one row for each option, one column for each metric.
    """
    keep = np.ones(len(group), dtype=bool)
    scale = np.maximum(np.abs(metrics).max(axis=0, initial=0.0), 1e-300)
    rounded = np.round(metrics / scale, 12)
    for one in np.unique(group):
        at = np.flatnonzero(group == one)
        values = rounded[at]
        no_worse = (values[:, None, :] <= values[None, :, :]).all(axis=2)
        better = (values[:, None, :] < values[None, :, :]).any(axis=2)
        earlier = np.arange(len(at))[:, None] < np.arange(len(at))[None, :]
        keep[at] = ~(no_worse & (better | earlier)).any(axis=0)
    return keep
