"""Equations of what stands beside another number: changes, shares, sums of lines, means of hours."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Column = float | NDArray[Any]


def change_kgco2e(*, then_kgco2e: Column, now_kgco2e: Column) -> Column:
    """What a change adds to a job's carbon, or takes from it.

    dC = C' - C

    Source: definition.
    """
    return np.subtract(then_kgco2e, now_kgco2e)


def change_fraction(*, then_kgco2e: Column, now_kgco2e: float) -> Column:
    """The same as a share of the job's carbon; nothing where the job emits nothing.

    d = (C' - C) / C

    Source: definition.
    """
    change = np.subtract(then_kgco2e, now_kgco2e)
    return change / now_kgco2e if now_kgco2e else 0.0 * change


def share_fraction(*, part_kgco2e: float, whole_kgco2e: float) -> float:
    """How much of the whole a part is; nothing where there is no whole.

    s = C_part / C

    Source: definition.
    """
    return part_kgco2e / whole_kgco2e if whole_kgco2e else 0.0


def lines_kgco2e(**lines: float) -> float:
    """Carbon of some lines of the ledger together.

    C = sum_l C_l

    Source: GHG Protocol, "Corporate Value Chain (Scope 3) Standard", 2011.
    """
    return sum(lines.values())


def states_kgco2e(**states: float) -> float:
    """Carbon of a run in all its states together.

    C = sum_s C_s

    Source: sum of parts.
    """
    return sum(states.values())


def mean_kgco2e_per_kwh(*, hourly_kgco2e_per_kwh: NDArray[np.float64]) -> float:
    """Mean of a series of hours.

    CI = mean_h(CI_h)

    Source: definition.
    """
    return float(np.nanmean(hourly_kgco2e_per_kwh))
