"""What contracts of a plan match, by the period and hour by hour, next to the grids where energy is drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from carbon.market import Contract, scope_two
from carbon.slots import HOURS_A_DAY
from planner.physics.contract_hours import days_of, profile_ratio_of
from planner.physics.slots import SLOTS_A_DAY
from planner.program.plan import Plan
from planner.program.slot_use import slot_nodes
from planner.program.solution import Solution
from planner.trace.columns import Floats


@dataclass(frozen=True, slots=True)
class Matched:
    """Electricity of a site through the plan; what is matched by the hour is None without a profile."""

    site: str
    load_kwh: float
    period_kwh: float
    hour_kwh: float | None
    location_kgco2e: float
    market_kgco2e: float
    hourly_kgco2e: float | None


def matched_sites(plan: Plan, solution: Solution) -> list[Matched]:
    """Each site with a contract that covers something; none where nothing is decided by slot.

    The load of a slot is laid over the hours of its days, and the energy that is bought in a period over
    those of the contract: what is beyond the load of an hour counts for no other hour.

    Source: `carbon.market.scope_two`, period by period; GHG Protocol, "Scope 2 Guidance", 2015.
    """
    levers, inputs = plan.assembled.levers, plan.inputs
    if levers is None or not solution.matched_kwh.any():
        return []
    nodes = slot_nodes(plan.assembled, solution, plan.ledger)
    if nodes is None:
        return []
    kwh: Floats = np.sum([np.asarray(each.value) for each in nodes.kwh.values()], axis=0)
    contracts, site_of = inputs.scenario.contracts, plan.problem.contracts.site
    found = []
    for s in np.unique(site_of).tolist():
        own = [c for c in np.flatnonzero(site_of == s).tolist() if solution.matched_kwh[c].any()]
        if not own:
            continue
        known = all(contracts[c].profile is not None for c in own)
        of_each = [
            _of_period(plan, solution, t, s, own, kwh[s, t], hourly=known) for t in range(inputs.periods)
        ]
        load, by_period, by_hour, location, market, hourly = map(sum, zip(*of_each, strict=True))
        found.append(
            Matched(
                site=inputs.scenario.sites[s].name,
                load_kwh=load,
                period_kwh=by_period,
                hour_kwh=by_hour if known else None,
                location_kgco2e=location,
                market_kgco2e=market,
                hourly_kgco2e=hourly if known else None,
            )
        )
    return found


def _of_period(
    plan: Plan, solution: Solution, t: int, s: int, own: list[int], kwh: Floats, *, hourly: bool
) -> tuple[float, float, float, float, float, float]:
    """Load, matched by the period and by the hour; carbon by location, by the period and by the hour."""
    inputs, levers = plan.inputs, plan.assembled.levers
    assert levers is not None, "something is decided by slot"
    contracts, item = inputs.scenario.contracts, s * inputs.periods + t
    days = days_of(inputs, t, levers.times.calendar[t])
    slot = np.array(list(days.values()))[:, None] * SLOTS_A_DAY + np.arange(HOURS_A_DAY) * SLOTS_A_DAY // 24
    slots, hours_of = np.unique(slot, return_counts=True)
    of_hour = np.zeros(len(kwh))
    of_hour[slots] = kwh[slots] / hours_of
    load = np.maximum(of_hour[slot], 0.0).ravel()
    if load.sum() <= 0:  # nothing stands there yet, or any more
        return (0.0,) * 6
    offered = [
        Contract(
            name=contracts[c].name,
            instrument="contract",
            energy_kwh=solution.matched_kwh[c, t] * _shares(plan, c, days, hourly=hourly),
            kgco2e_per_kwh=contracts[c].intensity_kgco2e_per_kwh,
            carbon_free=contracts[c].intensity_kgco2e_per_kwh == 0,
        )
        for c in own
    ]
    grid = np.full(load.shape, float(inputs.location_grid[item].value))
    residual = float(inputs.grid[item].value)
    year, hour = (
        scope_two(
            load_kwh=load,
            grid_kgco2e_per_kwh=grid,
            residual_kgco2e_per_kwh=residual,
            contracts=offered,
            matching=matching,
        )
        for matching in ("yearly", "hourly")
    )
    return (
        float(load.sum()),
        sum(year.covered_kwh.values()),
        sum(hour.covered_kwh.values()),
        year.location_kgco2e,
        year.market_kgco2e,
        hour.market_kgco2e,
    )


def _shares(plan: Plan, contract: int, days: dict[tuple[int, int], int], *, hourly: bool) -> Floats:
    """Part of the energy of a contract in each hour of some days; alike where no profile is known."""
    one = plan.inputs.scenario.contracts[contract]
    ratio = profile_ratio_of(plan.inputs, one, days) if hourly else None
    power = np.ones((len(days), HOURS_A_DAY)) if ratio is None else ratio
    found: Floats = (power / power.sum()).ravel()
    return found
