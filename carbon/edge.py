"""A small device over its life: what its accelerator can do, and the carbon of what it is asked."""

from __future__ import annotations

from carbon import _domain
from carbon.columns import Column
from carbon.operational import operational_kgco2e
from carbon.pue import facility_energy_kwh


def array_operations_per_s(
    *, cores: Column, rows: Column, columns: Column, clock_per_s: Column, operations: Column
) -> Column:
    """Peak rate of an accelerator made of arrays of multipliers.

    ops/s = cores * rows * columns * clock * k,  k = 2: a multiplication and an addition

    Whether memory can feed it is not asked.

    Source: Wang et al., "CATransformers", arXiv 2505.01386 (search space of accelerators).
    """
    _domain.nonnegative(
        cores=cores, rows=rows, columns=columns, clock_per_s=clock_per_s, operations=operations
    )
    return cores * rows * columns * clock_per_s * operations


def life_use_kgco2e(
    *, energy_kwh_per_request: Column, requests: Column, pue: Column, grid_kgco2e_per_kwh: Column
) -> Column:
    """Operational carbon of all requests that a device answers in its life.

    C_op = e * n * PUE * CI

    PUE is 1 for a device in someone's hand. Energy between requests is left out.

    Source: Wang et al., "CATransformers", arXiv 2505.01386.
    """
    _domain.nonnegative(energy_kwh_per_request=energy_kwh_per_request, requests=requests)
    energy = facility_energy_kwh(it_energy_kwh=energy_kwh_per_request * requests, pue=pue)
    return operational_kgco2e(facility_energy_kwh=energy, grid_kgco2e_per_kwh=grid_kgco2e_per_kwh)
