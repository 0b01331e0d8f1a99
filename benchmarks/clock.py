"""Times of repeated work, and the most memory that a process ever held."""

from __future__ import annotations

import resource
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

Record = dict[str, Any]


def seconds(work: Callable[[], object]) -> float:
    """Time of one call."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def repeated(work: Callable[[], object], repeats: int) -> Record:
    """Least, middle and most time of one call."""
    return in_turns([work], repeats)[0]


def in_turns(works: Sequence[Callable[[], object]], repeats: int, calls: int = 1) -> list[Record]:
    """Least, middle and most time of one call of each, turn by turn: what disturbs one disturbs the other.

    Quick work is called several times for each reading.
    """
    readings: list[list[float]] = [[] for _ in works]
    for _ in range(repeats):
        for work, held in zip(works, readings, strict=True):
            began = time.perf_counter()
            for _ in range(calls):
                work()
            held.append((time.perf_counter() - began) / calls)
    return [spread(held) for held in readings]


def spread(readings: Sequence[float]) -> Record:
    """Least, middle and most of some readings."""
    return {"min": min(readings), "median": statistics.median(readings), "max": max(readings)}


def peak_mb() -> float:
    """Most memory that this process held at once. Linux counts in kibibytes, macOS in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1.0 if sys.platform == "darwin" else 1024.0) / 1e6
