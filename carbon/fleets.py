"""A fleet's embodied carbon over its whole life: jobs, idle and spare nodes, early ends, replaced parts.

Planned utilisation is a guess; these equations book the difference, so that the sum stays 100 %.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from carbon import _domain
from carbon._sums import exact_sum
from carbon.attribution import fleet_shares, remaining_fraction

Column = float | NDArray[np.float64]


def job_share_kgco2e(*, charged_kgco2e: Column, job_node_h: Column, used_node_h: Column) -> Column:
    """Embodied carbon that one job carries of what its fleet was charged, idle and spare nodes included.

    M_j = M * t_j / sum_j(t_j)

    The utilisation is the one that came about, so the jobs of a period sum to M. A period without a job
    has nobody to carry it: keep it as an idle line.

    Source: Luccioni et al., "BLOOM", JMLR 24:253, 2023, sec. 4.1, with utilisation counted afterwards.
    """
    _domain.nonnegative(charged_kgco2e=charged_kgco2e, job_node_h=job_node_h)
    _domain.positive(used_node_h=used_node_h)
    return charged_kgco2e * job_node_h / used_node_h


def unrecovered_kgco2e(
    *, charged_kgco2e: Column, used_fraction: Column, planned_utilisation_fraction: Column
) -> Column:
    """Embodied carbon that no job carried because fewer hours were used than planned; negative if more.

    dM = M * (1 - u / u_planned)

    It stands as a line of its own next to jobs that were charged at the planned utilisation.

    Source: balance of `embodied_share_kgco2e` against `calendar_share_kgco2e`.
    """
    _domain.nonnegative(charged_kgco2e=charged_kgco2e)
    _domain.share(used_fraction=used_fraction)
    _domain.share_above_zero(planned_utilisation_fraction=planned_utilisation_fraction)
    return charged_kgco2e * (1.0 - np.divide(used_fraction, planned_utilisation_fraction))


@dataclass(frozen=True, slots=True)
class LifeShares:
    """Embodied carbon of nodes over their whole life; the parts are the whole."""

    used_kgco2e: Column
    idle_kgco2e: Column
    spare_kgco2e: Column
    written_off_kgco2e: Column

    @property
    def total_kgco2e(self) -> Column:
        """Sum of the parts: what it took to make the nodes."""
        return exact_sum((self.used_kgco2e, self.idle_kgco2e, self.spare_kgco2e, self.written_off_kgco2e))


def life_shares(
    *,
    embodied_kgco2e: Column,
    used_fraction: Column,
    spare_fraction: Column,
    retirement_age_h: Column,
    lifetime_h: Column,
    decline_factor: Column,
) -> LifeShares:
    """Embodied carbon of nodes that leave at some age: what their hours carried, and what is written off.

    M = TE * (1 - R(a)) over used, idle and spare;  written off = TE * R(a)

    A node that leaves before its accounting life leaves carbon that no hour has carried. One that leaves
    later carried all of it.

    Source: declining-balance depreciation in continuous time; split of hours as `fleet_shares`.
    """
    _domain.nonnegative(embodied_kgco2e=embodied_kgco2e, retirement_age_h=retirement_age_h)
    _domain.share(used_fraction=used_fraction, spare_fraction=spare_fraction)
    left = remaining_fraction(age_h=retirement_age_h, lifetime_h=lifetime_h, decline_factor=decline_factor)
    hours = fleet_shares(
        charged_kgco2e=embodied_kgco2e * (1.0 - left),
        in_service_node_h=1.0,
        used_node_h=used_fraction,
        spare_node_h=spare_fraction,
    )
    return LifeShares(hours.used_kgco2e, hours.idle_kgco2e, hours.spare_kgco2e, embodied_kgco2e * left)


def replaced_parts_kgco2e(*, failures: Column, replacement_fraction: Column, part_kgco2e: Column) -> Column:
    """Carbon of the new parts that failures call for, charged in full when they are fitted.

    M_r = F * q * TE_part

    A failure is not a replacement: most end with a restart. The old part goes on being charged as planned.

    Source: Kokolis et al., arXiv 2410.21680 (swaps against failures); Llama Team, arXiv 2407.21783, table 5.
    """
    _domain.nonnegative(failures=failures, part_kgco2e=part_kgco2e)
    _domain.share(replacement_fraction=replacement_fraction)
    return failures * replacement_fraction * part_kgco2e
