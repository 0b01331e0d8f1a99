"""Batteries and sun of the sites, by the slots of a plan that is made; their use is asked for here alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.physics.site_energy import battery_terms, sun_kw
from planner.physics.slots import SLOTS_A_DAY
from planner.program.plan import Plan
from planner.program.slot_use import slot_nodes
from planner.trace.quantities import Traced
from solver.site_energy import Site, Use, best_use, matched_fractions
from solver.solution import Solution

HOURS_A_DAY = 24.0
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SiteUse:
    """A site of a plan and the best use of what it states."""

    name: str
    site: Site
    use: Use

    @property
    def matched(self) -> tuple[float, float]:
        """Share of the load that the sun covers by the year and by the hour."""
        return matched_fractions(self.site.load_kw, self.site.sun_kw, self.site.hours)


def states_energy(plan: Plan) -> bool:
    """Whether any site states a battery or the sun."""
    return any(one.battery_kwh is not None or one.solar_kw is not None for one in plan.inputs.scenario.sites)


def site_uses(plan: Plan, solution: Solution) -> list[SiteUse]:
    """The best use at each site that states a battery or the sun, by the weights of the plan's objective.

    Empty where the plan has no slots. The load is that of the plan: fleet and operation stay as they are.
    """
    levers, inputs = plan.assembled.levers, plan.inputs
    if levers is None or not states_energy(plan):
        return []
    nodes = slot_nodes(plan.assembled, solution, plan.ledger)
    if nodes is None:
        return []
    times, periods, found = levers.times, inputs.periods, list[SiteUse]()
    hours = times.hours.T
    kwh = np.sum([each.value for each in nodes.kwh.values()], axis=0)
    for s, one in enumerate(inputs.scenario.sites):
        if one.battery_kwh is None and one.solar_kw is None:
            continue
        items = range(s * periods, (s + 1) * periods)

        def in_slots(means: Sequence[Traced], ratio: Sequence[Traced], items: range = items) -> Floats:
            return np.array([float(means[i].value) * np.asarray(ratio[i].value) for i in items])

        more_usd, more_kgco2e = _under_contract(plan, solution, s, kwh[s].sum(axis=1))
        load = np.divide(kwh[s], hours, out=np.zeros_like(kwh[s]), where=hours > 0)
        site = Site(
            load_kw=np.maximum(load, 0.0),
            hours=hours,
            before=times.before.astype(np.int64),
            slot_h=HOURS_A_DAY / SLOTS_A_DAY,
            moved_usd_per_kwh=in_slots(inputs.electricity, times.price.day) + more_usd,
            fixed_usd_per_kwh=in_slots(inputs.electricity, times.price.fixed) + more_usd,
            moved_kgco2e_per_kwh=in_slots(inputs.grid, times.grid.day) + more_kgco2e,
            fixed_kgco2e_per_kwh=in_slots(inputs.grid, times.grid.fixed) + more_kgco2e,
            peak_usd_per_kw=np.broadcast_to(plan.problem.places.peak_usd_per_kw[s], (periods,)),
            feed_kw=plan.problem.limits.power_kw[s],
            sun_kw=sun_kw(inputs, times, one),
            **battery_terms(inputs, one),
        )
        found.append(SiteUse(one.name, site, best_use(site, plan.problem.objective)))
    return found


def _under_contract(plan: Plan, solution: Solution, site: int, drawn_kwh: Floats) -> tuple[Floats, Floats]:
    """What contracts change of the price and the intensity of a mean kilowatt-hour of a site [T, 1]."""
    contracts = plan.problem.contracts
    share = np.divide(
        solution.matched_kwh, drawn_kwh, out=np.zeros_like(solution.matched_kwh), where=drawn_kwh > 0
    )
    share = share * (contracts.site == site)[:, None]
    premium, avoided = (
        (each * share).sum(axis=0)[:, None] for each in (contracts.usd_per_kwh, contracts.kgco2e_per_kwh)
    )
    return premium, -avoided
