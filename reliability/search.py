"""Least points and flat ends of a cost with one valley, on columns: what the numeric optima share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Column = float | NDArray[np.float64]
Cost = Callable[[Column], Column]

_GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0
# Golden steps until the bracket is below what a cost in double precision can tell apart.
_STEPS = 50
# How far from its best point a valley may be flat, as a factor.
_FARTHEST = 1e6


def least_point(cost: Cost, *, low: Column, high: Column) -> Column:
    """Where a cost with one valley is least, by golden sections of the logarithm.

    Ties go left: beyond the valley a cost may be infinite or undefined, before it never.

    Source: Kiefer, "Sequential minimax search for a maximum", Proc. AMS 4, 1953.
    """
    left, right = np.broadcast_arrays(np.log(low), np.log(high))
    near, far = right - _GOLDEN * (right - left), left + _GOLDEN * (right - left)
    near_cost, far_cost = _known(cost, near), _known(cost, far)
    for _ in range(_STEPS):
        goes_left = near_cost <= far_cost
        left, right = np.where(goes_left, left, near), np.where(goes_left, far, right)
        point = np.where(goes_left, right - _GOLDEN * (right - left), left + _GOLDEN * (right - left))
        fresh = _known(cost, point)
        near, far = np.where(goes_left, point, far), np.where(goes_left, near, point)
        near_cost, far_cost = np.where(goes_left, fresh, far_cost), np.where(goes_left, near_cost, fresh)
    least: Column = np.exp((left + right) / 2.0)[()]
    return least


def flat_ends(
    cost: Cost, *, best: Column, loss_fraction: Column, floor: Column = 0.0
) -> tuple[Column, Column]:
    """Both points around the best one where the cost is `loss_fraction` above the least.

    Where the cost at `floor`, the lowest point allowed, is still below that, the floor is the end.

    Source: halving of the logarithm on both sides of the valley.
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
    for _ in range(_STEPS):
        middle = (good + bad) / 2.0
        within = _known(cost, middle) <= most
        good, bad = np.where(within, middle, good), np.where(within, bad, middle)
    end: Column = np.where(all_good, outside, np.exp(good))[()]
    return end
