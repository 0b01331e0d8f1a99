"""What a plan does with the batteries and the sun of its sites, with the load that they meet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.physics.site_energy import states_energy as states
from planner.program.plan import Plan
from planner.program.slot_use import slot_nodes
from planner.trace.columns import Floats
from solver.account import peak_kw
from solver.account_energy import battery_kwh, flows_kw, matched_fractions, solar_kw
from solver.account_slots import above_kw
from solver.solution import Solution


@dataclass(frozen=True, eq=False)
class SiteUse:
    """A site of a plan: its load and its flows in mean kilowatts by period and slot (T, Y)."""

    number: int
    name: str
    hours: Floats
    load_kw: Floats
    charge_kw: Floats
    discharge_kw: Floats
    used_kw: Floats  # of the sun
    sun_kw: Floats
    battery_kwh: float
    solar_kw: float  # of its cells that are bought
    peak_kw: float

    @property
    def import_kw(self) -> Floats:
        """What the site draws from the grid."""
        drawn: Floats = self.load_kw + self.charge_kw - self.discharge_kw - self.used_kw
        return drawn

    @property
    def matched(self) -> tuple[float, float]:
        """Share of the load that the sun covers by the year and by the hour."""
        return matched_fractions(self.load_kw, self.sun_kw, self.hours)


def states_energy(plan: Plan) -> bool:
    """Whether any site states a battery or the sun."""
    return states(plan.inputs)


def site_uses(plan: Plan, solution: Solution) -> list[SiteUse]:
    """Each site that states a battery or the sun; none where the plan has no slots."""
    levers, energy, problem = plan.assembled.levers, plan.assembled.energy, plan.problem
    nodes = slot_nodes(plan.assembled, solution, plan.ledger)
    if levers is None or energy is None or nodes is None:
        return []
    hours = levers.times.hours.T
    flows = flows_kw(problem, solution.slots)
    kwh = np.sum([each.value for each in nodes.kwh.values()], axis=0)
    imported = np.divide(kwh, hours, out=np.zeros_like(kwh), where=hours > 0)
    highest = peak_kw(problem, solution, solution.in_service) + above_kw(problem, solution)
    bought_kwh, bought_kw = battery_kwh(problem, solution), solar_kw(problem, solution)
    given = problem.site_energy.given_kw(bought_kw)
    found = list[SiteUse]()
    for s in np.flatnonzero(energy.stated).tolist():
        charge, discharge, fixed, moved = (flow[s] for flow in flows)
        used = fixed + moved
        found.append(
            SiteUse(
                number=s,
                name=problem.site_names[s],
                hours=hours,
                load_kw=imported[s] - charge + discharge + used,
                charge_kw=charge,
                discharge_kw=discharge,
                used_kw=used,
                sun_kw=given[s],
                battery_kwh=float(bought_kwh[s]),
                solar_kw=float(bought_kw[s]),
                peak_kw=float(highest[s].max()),
            )
        )
    return found
