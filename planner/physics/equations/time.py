"""When work runs: which hours of which period it takes, and how late it is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from planner.trace.columns import Column


def active_h(
    *, start_h: Column, duration_h: Column, period_start_h: Column, period_end_h: Column
) -> NDArray[np.float64]:
    """Hours of each period in which a run is active.

    h = max(0, min(start + duration, end_t) - max(start, start_t))

    Source: overlap of two intervals.
    """
    end_h = np.asarray(start_h) + duration_h
    overlap: NDArray[np.float64] = np.minimum(end_h, period_end_h) - np.maximum(start_h, period_start_h)
    return np.maximum(0.0, overlap)


def late_h(*, start_h: Column, finish_h: Column, deadline_h: Column) -> NDArray[np.float64]:
    """Hours by which a run misses its deadline.

    late = max(0, start + finish - deadline)

    Source: definition.
    """
    return np.maximum(0.0, np.asarray(start_h) + finish_h - deadline_h)
