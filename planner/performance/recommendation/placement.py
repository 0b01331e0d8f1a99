"""Which accelerators hold which embedding tables: fewest that do, and least work on the fullest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.performance._checks import require_not_negative, require_positive
from planner.performance.rounding import rounded_up

Floats = NDArray[np.float64]

_TIME_LIMIT_S = 30.0
_MOST_PARTS = 64
_ROOM = 1e-9  # of a device: sums of sizes are floats


class NotProven(ValueError):
    """The search ended before its answer was proven the best."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Tables or parts of them that one device holds whole, each with its size and its work."""

    size_gb: Floats
    cost: Floats


def split_tables(*, size_gb: ArrayLike, cost: ArrayLike, pieces: ArrayLike) -> Parts:
    """Tables cut by columns into equal parts.

    size_i / p_i,  cost_i / p_i,  p_i times each

    A part reads the same rows, of fewer columns: its bytes and its work fall alike.

    Source: column-wise sharding, e.g. Sethi et al., "FlexShard", arXiv 2301.02959.
    """
    size, work, parts = (np.atleast_1d(np.asarray(one, dtype=float)) for one in (size_gb, cost, pieces))
    require_positive(size_gb=size)
    require_not_negative(cost=work)
    if size.shape != work.shape or parts.shape not in (size.shape, (1,)):
        raise ValueError(
            f"size_gb, cost and pieces have one entry a table, got {size.size}, {work.size} and {parts.size}"
        )
    if np.any(parts < 1) or np.any(parts % 1):
        raise ValueError(f"pieces are whole numbers from 1 up, got {parts.min():g} to {parts.max():g}")
    times = np.broadcast_to(parts, size.shape).astype(int)
    return Parts(np.repeat(size / times, times), np.repeat(work / times, times))


def fewest_devices(*, parts: Parts, memory_gb: float) -> int:
    """Fewest devices that hold every part whole.

    min n:  sum of the parts on each of n devices <= memory

    Capacity alone (`table_devices`) may say fewer: two parts above half of the memory share none.

    Source: bin packing, proven by HiGHS where first-fit-decreasing does not meet the bound.
    """
    _require_fit(parts, memory_gb)
    least = max(
        int(rounded_up(float(parts.size_gb.sum()) / memory_gb - _ROOM)),
        int((parts.size_gb > memory_gb / 2.0 * (1.0 + _ROOM)).sum()),
    )
    enough = _first_fit(parts.size_gb, memory_gb)
    for devices in range(least, enough):
        if _placed(parts, devices, memory_gb, None) is not None:
            return devices
    return enough


def least_largest_cost(*, parts: Parts, devices: int, memory_gb: float) -> float:
    """Least possible sum of work on the device that has most of it.

    min T:  sum of the work on each device <= T,  sum of the parts on it <= memory

    A step waits for that device. Every part is whole on one device.

    Source: balanced placement as in Zha et al., "NeuroShard", arXiv 2305.01868; proven by HiGHS.
    """
    _require_fit(parts, memory_gb)
    if devices < 1:
        raise ValueError(f"devices must be 1 or more, got {devices}")
    found = _placed(parts, devices, memory_gb, parts.cost)
    if found is None:
        raise ValueError(
            f"{devices} devices of {memory_gb:g} GB do not hold the {parts.size_gb.sum():.4g} GB of parts"
        )
    return found


def _placed(parts: Parts, devices: int, memory_gb: float, cost: Floats | None) -> float | None:
    """The least largest cost (0 without one), or None where the parts do not fit."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import block_diag, csr_array, eye_array, hstack, vstack

    # Work in multiples of a step adds up to multiples of it: then the bound is whole, and soon met.
    step = _step(parts.cost if cost is None else cost)
    work = np.zeros_like(parts.size_gb) if cost is None else cost / (step or 1.0)
    work = np.round(work) if step else work
    # Parts that are alike are counted, not named: otherwise every order of them is another branch.
    kinds, counts = np.unique(np.column_stack([parts.size_gb, work]), axis=0, return_counts=True)
    size, load = kinds[:, 0], kinds[:, 1]
    here, every = len(size), len(size) * devices
    none = csr_array((devices, 1))
    filled = hstack([block_diag([size[None, :]] * devices), none])
    loaded = hstack([block_diag([load[None, :]] * devices), csr_array(-np.ones((devices, 1)))])
    placed = hstack([hstack([eye_array(here)] * devices), csr_array((here, 1))])
    bound = max(float(load.max(initial=0.0)), float((load * counts).sum()) / devices)
    answer = milp(
        np.concatenate([np.zeros(every), [0.0 if cost is None else 1.0]]),
        constraints=[
            LinearConstraint(vstack([filled]), ub=memory_gb * (1.0 + _ROOM)),
            LinearConstraint(vstack([loaded]), ub=0.0),
            LinearConstraint(vstack([placed]), lb=counts, ub=counts),
        ],
        integrality=np.concatenate([np.ones(every), [1.0 if step else 0.0]]),
        bounds=Bounds(
            np.concatenate([np.zeros(every), [bound if cost is not None else 0.0]]),
            np.concatenate([np.tile(counts, devices), [np.inf]]),
        ),
        options={"time_limit": _TIME_LIMIT_S, "mip_rel_gap": 1e-9},
    )
    if answer.status == 2:  # infeasible
        return None
    if answer.status != 0:
        raise NotProven(f"no placement on {devices} devices was proven best in {_TIME_LIMIT_S:g} s")
    return float(np.round(answer.fun) * step if step else answer.fun)


def _step(cost: Floats) -> float:
    """The largest number that every cost is a multiple of; 0 where a small fraction does not tell."""
    for parts in range(1, _MOST_PARTS + 1):
        whole = cost * parts
        if np.all(np.abs(whole - np.round(whole)) < 1e-9 * np.maximum(1.0, whole)):
            return float(np.gcd.reduce(np.round(whole).astype(np.int64)) / parts) or 1.0
    return 0.0


def _first_fit(size_gb: Floats, memory_gb: float) -> int:
    free: list[float] = []
    for size in sorted(map(float, size_gb), reverse=True):
        place = next((i for i, left in enumerate(free) if size <= left + _ROOM * memory_gb), None)
        if place is None:
            free.append(memory_gb - size)
        else:
            free[place] -= size
    return len(free)


def _require_fit(parts: Parts, memory_gb: float) -> None:
    require_positive(memory_gb=memory_gb)
    if parts.size_gb.max() > memory_gb * (1.0 + _ROOM):
        raise ValueError(
            f"a table or part of {parts.size_gb.max():.4g} GB exceeds the {memory_gb:g} GB of a device: "
            "split it into more parts"
        )
