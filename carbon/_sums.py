"""Sums that lose nothing: small lines next to large ones still count, and order does not matter."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from carbon.columns import Column


def exact_sum(values: Iterable[Column]) -> Column:
    """Sum of numbers or columns, with the rounding of each step carried along.

    s' = s + v,  e' = e + ((s - s') + v  or  (v - s') + s, from the larger of the two),  sum = s + e

    Source: Neumaier, "Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen", ZAMM 54, 1974.
    """
    total: Column = 0.0
    carried: Column = 0.0
    for value in values:
        new = total + value
        larger = np.where(np.abs(total) >= np.abs(value), total, value)
        smaller = np.where(np.abs(total) >= np.abs(value), value, total)
        carried = carried + ((larger - new) + smaller)
        total = new
    return total + carried
