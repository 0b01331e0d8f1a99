"""Storage and network belong to many jobs: their carbon goes by use, unused capacity included."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carbon import _domain
from carbon.attribution import embodied_share_kgco2e

Column = float | NDArray[np.float64]


def stored_data_kgco2e(
    *,
    embodied_kgco2e: Column,
    held_gb: Column,
    capacity_gb: Column,
    filled_fraction: Column,
    held_h: Column,
    lifetime_h: Column,
) -> Column:
    """Embodied carbon of storage for what a job keeps on it.

    M = TE * (t / L) * g / (G * f)

    f is the mean share of the capacity that somebody fills: empty space is charged to the data next to it,
    so the data of a whole life sum to TE. Copies count as data.

    Source: Cloud Carbon Footprint methodology; GSF, ISO/IEC 21031:2024 (time and resource share).
    """
    _domain.nonnegative(embodied_kgco2e=embodied_kgco2e, held_gb=held_gb, held_h=held_h)
    _domain.positive(capacity_gb=capacity_gb, lifetime_h=lifetime_h)
    _domain.share_above_zero(filled_fraction=filled_fraction)
    return embodied_share_kgco2e(
        embodied_kgco2e=embodied_kgco2e * np.divide(held_gb, capacity_gb),
        used_h=held_h,
        lifetime_h=lifetime_h,
        utilisation_fraction=filled_fraction,
    )


def sent_data_kgco2e(*, charged_kgco2e: Column, job_gb: Column, carried_gb: Column) -> Column:
    """Embodied carbon of a network for what a job sent over it.

    M = M_period * q / sum(q)

    By traffic, not by the width that a job could have asked for: a reserved and silent link is free here.

    Source: GHG Protocol, "Product Standard", 2011, chapter 9 (physical allocation).
    """
    _domain.nonnegative(charged_kgco2e=charged_kgco2e, job_gb=job_gb)
    _domain.positive(carried_gb=carried_gb)
    return charged_kgco2e * job_gb / carried_gb
