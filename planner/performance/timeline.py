"""What an accelerator did when, from the intervals of its kernels: busy, communicating, waiting."""

import numpy as np
from numpy.typing import ArrayLike

from planner.performance.columns import Floats


def covered_s(*, start_s: ArrayLike, end_s: ArrayLike) -> float:
    """Time in which at least one interval runs.

    | union of [start_i, end_i) |

    Source: union of intervals.
    """
    start, end = _intervals(start_s, end_s)
    if not start.size:
        return 0.0
    order = np.argsort(start, kind="stable")
    start, end = start[order], end[order]
    reached = np.maximum.accumulate(end)
    before = np.concatenate([[start[0]], reached[:-1]])
    return float(np.maximum(0.0, reached - np.maximum(start, before)).sum())


def exposed_s(*, start_s: ArrayLike, end_s: ArrayLike, is_communication: ArrayLike) -> float:
    """Time in which communication runs and nothing else does.

    exposed = | union of all | - | union of what is not communication |

    Source: Hsia et al., "MAD-Max", arXiv 2310.02784 (exposed communication).
    """
    start, end = _intervals(start_s, end_s)
    other = ~np.asarray(is_communication, dtype=bool)
    return covered_s(start_s=start, end_s=end) - covered_s(start_s=start[other], end_s=end[other])


def busy_fraction(*, start_s: ArrayLike, end_s: ArrayLike) -> float:
    """Share of the time from the first start to the last end in which something runs.

    busy = | union | / (max end - min start)

    Source: definition of a device's active time.
    """
    start, end = _intervals(start_s, end_s)
    if not start.size or end.max() <= start.min():
        raise ValueError("a busy share needs intervals that last, got none")
    return covered_s(start_s=start, end_s=end) / float(end.max() - start.min())


def _intervals(start_s: ArrayLike, end_s: ArrayLike) -> tuple[Floats, Floats]:
    start, end = np.asarray(start_s, dtype=float), np.asarray(end_s, dtype=float)
    if start.shape != end.shape or np.any(end < start):
        raise ValueError("end_s must be as long as start_s, and no interval may end before it starts")
    return start, end
