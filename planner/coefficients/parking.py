"""What a node that is switched off draws, costs and emits."""

from __future__ import annotations

from dataclasses import dataclass

from carbon.operational import operational_kgco2e
from planner.coefficients.owning import facility_power_kw
from planner.costs import energy_usd
from planner.inputs import Inputs
from planner.timing import drawn_kwh
from planner.trace import Traced, derive, pick


@dataclass(frozen=True)
class Parked:
    """A node that is off through a period, by pool (and period)."""

    facility_kw: Traced
    kwh: Traced
    usd: Traced
    kgco2e: Traced


def parked_nodes(inputs: Inputs) -> Parked | None:
    """Off in every pool; None where nodes are never switched off."""
    if not inputs.scenario.policy.park_idle:
        return None
    site = inputs.pool_site
    power = derive(
        facility_power_kw,
        it_power_kw=inputs.fact("performance.power.off"),
        pue=pick(inputs.pue, site[:, None]),
    )
    energy = derive(drawn_kwh, power_kw=power, active_h=inputs.period_h)
    return Parked(
        facility_kw=power,
        kwh=energy,
        usd=derive(
            energy_usd, facility_energy_kwh=energy,
            electricity_usd_per_kwh=inputs.site_by_period(inputs.electricity, site),
        ),
        kgco2e=derive(
            operational_kgco2e, facility_energy_kwh=energy,
            grid_kgco2e_per_kwh=inputs.site_by_period(inputs.grid, site),
        ),
    )  # fmt: skip
