"""Hardware past its accounting life: longer in service, in other hands, or against new hardware.

Where conventions disagree both results are side by side: neither is the right one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from carbon import _domain

Column = float | NDArray[np.float64]


def extended_kgco2e(
    *,
    embodied_kgco2e: Column,
    remaining_fraction: Column,
    age_h: Column,
    extended_lifetime_h: Column,
    used_h: Column,
) -> Column:
    """Embodied carbon of some hours after the life was lengthened at an age.

    M = TE * R(a) * t / (L' - a)

    Only what is left is spread over what is left: hours before the decision keep what they carried.

    Source: change of useful life as a change of estimate, forward only (IAS 8), applied to carbon.
    """
    _domain.nonnegative(embodied_kgco2e=embodied_kgco2e, age_h=age_h, used_h=used_h)
    _domain.share(remaining_fraction=remaining_fraction)
    _domain.positive(extended_lifetime_h=extended_lifetime_h)
    left_h = np.subtract(extended_lifetime_h, age_h)
    if np.any(left_h <= 0) or np.any(np.greater(used_h, left_h * (1 + 1e-9))):
        raise ValueError(
            f"extended_lifetime_h holds age_h and used_h after it, got {extended_lifetime_h} for an age of "
            f"{age_h} and {used_h} used"
        )
    return embodied_kgco2e * remaining_fraction * used_h / left_h


@dataclass(frozen=True, slots=True)
class SecondLife:
    """Embodied carbon that a first and a second owner carry, by two conventions; both sum to the whole."""

    cut_off_first_kgco2e: Column
    cut_off_second_kgco2e: Column
    by_hours_first_kgco2e: Column
    by_hours_second_kgco2e: Column


def second_life(
    *, embodied_kgco2e: Column, refurbishment_kgco2e: Column, first_life_h: Column, second_life_h: Column
) -> SecondLife:
    """Embodied carbon of hardware that two owners use one after the other.

    cut-off:   M_1 = TE, M_2 = E_r
    by hours:  M_i = (TE + E_r) * L_i / (L_1 + L_2)

    The cut-off rewards the buyer of used hardware, the split by hours whoever makes a second life possible.

    Source: GHG Protocol, "Product Standard", 2011, chapter 9 (recycled content, or cut-off, method).
    """
    _domain.nonnegative(
        embodied_kgco2e=embodied_kgco2e,
        refurbishment_kgco2e=refurbishment_kgco2e,
        second_life_h=second_life_h,
    )
    _domain.positive(first_life_h=first_life_h)
    whole, hours = np.add(embodied_kgco2e, refurbishment_kgco2e), np.add(first_life_h, second_life_h)
    return SecondLife(
        cut_off_first_kgco2e=embodied_kgco2e,
        cut_off_second_kgco2e=refurbishment_kgco2e,
        by_hours_first_kgco2e=whole * first_life_h / hours,
        by_hours_second_kgco2e=whole * second_life_h / hours,
    )


def intensity_ratio(*, old_kgco2e: Column, new_kgco2e: Column, throughput_ratio: Column) -> Column:
    """Embodied carbon for the same work, of new hardware over old.

    r = (TE_new / TE_old) / k

    k is how many times the old hardware's work the new one does in the same life. Below 1 the new one takes
    less to make for each unit of work, however much more it takes by itself. Energy in use is left out.

    Source: embodied carbon intensity, e.g. Schneider et al., "Life-Cycle Emissions of AI Hardware", 2025.
    """
    _domain.nonnegative(new_kgco2e=new_kgco2e)
    _domain.positive(old_kgco2e=old_kgco2e, throughput_ratio=throughput_ratio)
    return np.divide(new_kgco2e, old_kgco2e) / throughput_ratio
