"""Carbon of memory and drives, by capacity. Which factor goes with which stands in `data/`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carbon import _domain

Column = float | NDArray[np.float64]


def capacity_kgco2e(
    *, capacity_gb: Column, capacity_kgco2e_per_gb: Column, yield_fraction: Column = 1.0
) -> Column:
    """Carbon to make memory or storage, by capacity.

    E = CPS * capacity / Y

    ACT's paper has no yield here, its program divides by 0.875: hand it over to follow the program.

    Source: Gupta et al., "ACT", ISCA 2022; facebookresearch/ACT v2.0 for the yield.
    """
    _domain.nonnegative(capacity_gb=capacity_gb, capacity_kgco2e_per_gb=capacity_kgco2e_per_gb)
    _domain.share_above_zero(yield_fraction=yield_fraction)
    return capacity_kgco2e_per_gb * capacity_gb / yield_fraction


def drives_kgco2e(
    *, drives: Column, drive_gb: Column, capacity_kgco2e_per_gb: Column, base_kgco2e: Column
) -> Column:
    """Carbon of memory modules, solid-state or hard disk drives: by capacity, with a base for each.

    E = n * (CPS * GB + base)

    The base is board, controller and case. A factor that already holds them, as most per-GB figures do, goes
    with a base of 0. Published factors differ 15 to 25 times: show the range wherever this decides.

    Source: form of Boavizta's methodology pages on memory and drives; ACT (ISCA 2022) at base 0.
    """
    _domain.nonnegative(
        drives=drives,
        drive_gb=drive_gb,
        capacity_kgco2e_per_gb=capacity_kgco2e_per_gb,
        base_kgco2e=base_kgco2e,
    )
    return drives * (capacity_kgco2e_per_gb * drive_gb + base_kgco2e)
