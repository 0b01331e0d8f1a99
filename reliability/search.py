"""Least points and flat ends of a cost with one valley, on columns: what the numeric optima share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from reliability.columns import Column

Cost = Callable[[Column], Column]

# Points looked at together: on arrays they cost hardly more than one.
_PARTS = 64
# Rounds until the bracket is below what a cost in double precision can tell apart, each of a 64th of the one
# before, or two of them around a least point.
_ROUNDS, _ROUNDS_OF_TWO = 9, 8
# How far from its best point a valley may be flat, as a factor.
_FARTHEST = 1e6


def least_point(cost: Cost, *, low: Column, high: Column) -> Column:
    """Where a cost with one valley is least, by narrower and narrower grids of the logarithm.

    Ties go left: beyond the valley a cost may be infinite or undefined, before it never.

    Source: a grid search; with one valley the least point is next to the best of the grid.
    """
    left, right = np.broadcast_arrays(np.log(low), np.log(high))
    for _ in range(_ROUNDS_OF_TWO):
        tried = _between(left, right)
        best = np.argmin(_known(cost, tried), axis=0)[None]
        left, right = (
            np.take_along_axis(tried, np.clip(best + step, 0, _PARTS), axis=0)[0] for step in (-1, 1)
        )
    least: Column = np.exp((left + right) / 2.0)[()]
    return least


def flat_ends(
    cost: Cost, *, best: Column, loss_fraction: Column, floor: Column = 0.0
) -> tuple[Column, Column]:
    """Both points around the best one where the cost is `loss_fraction` above the least.

    Where the cost at `floor`, the lowest point allowed, is still below that, the floor is the end.

    Source: narrower and narrower grids of the logarithm on both sides of the valley.
    """
    most = (1.0 + np.asarray(loss_fraction)) * cost(best)
    lowest = np.maximum(np.divide(best, _FARTHEST), floor)
    return (
        _crossing(cost, inside=best, outside=lowest, most=most),
        _crossing(cost, inside=best, outside=np.multiply(best, _FARTHEST), most=most),
    )


def _known(cost: Cost, logarithm: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(over="ignore", invalid="ignore"):
        found = cost(np.exp(logarithm))
        return np.where(np.isnan(found), np.inf, found)


def _crossing(cost: Cost, *, inside: Column, outside: Column, most: Column) -> Column:
    good, bad = np.broadcast_arrays(np.log(inside), np.log(outside))
    all_good = _known(cost, bad) <= most
    for _ in range(_ROUNDS):
        tried = _between(good, bad)
        too_dear = _known(cost, tried[1:]) > most
        last = np.where(too_dear.any(axis=0), np.argmax(too_dear, axis=0), _PARTS - 1)[None]
        good, bad = (np.take_along_axis(tried, last + step, axis=0)[0] for step in (0, 1))
    end: Column = np.where(all_good, outside, np.exp(good))[()]
    return end


def _between(start: NDArray[np.float64], end: NDArray[np.float64]) -> NDArray[np.float64]:
    """Both and what lies between them, in equal parts along a first axis of their own."""
    parts = np.arange(_PARTS + 1.0).reshape(-1, *(1,) * start.ndim) / _PARTS
    return start + (end - start) * parts
