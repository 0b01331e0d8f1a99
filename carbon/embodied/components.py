"""Carbon of memory and drives, by capacity. Which factor goes with which stands in `data/`."""

from __future__ import annotations

from carbon import _domain
from carbon.columns import Column


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
