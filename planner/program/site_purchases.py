"""Batteries and cells of the sun that a plan puts up at its sites."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.physics.site_energy import SiteEnergy
from planner.physics.site_purchases import BATTERY, SOLAR, BoughtForSites, Purchase
from planner.trace.columns import Floats
from planner.trace.quantities import Chosen, chosen
from solver.account_energy import battery_kwh, solar_kw
from solver.problem import Problem, Solution

DECIDED = "decided by the program"
NONE = 1e-9  # of a kilowatt or a kilowatt-hour: rounding of the search


@dataclass(frozen=True, eq=False)
class PutUp:
    """How much of one thing a plan puts up at each site (S), and what one unit of it takes."""

    what: Purchase
    each: BoughtForSites
    amounts: Floats

    @property
    def by_period(self) -> Floats:
        """The same in every period (S, T)."""
        found: Floats = self.amounts[:, None] * np.ones(self.each.in_use.shape)
        return found

    @property
    def counts(self) -> Chosen:
        """The same as a decision of the plan."""
        return chosen("bought", self.by_period, DECIDED, "1")

    @property
    def capex_usd(self) -> Floats:
        """What is due of its price at each site in each period (S, T)."""
        found: Floats = self.by_period * np.asarray(self.each.capex_usd.value)
        return found


def put_up(energy: SiteEnergy | None, problem: Problem, solution: Solution) -> list[PutUp]:
    """What a plan puts up; nothing where no site may, or nothing is decided by slot."""
    if energy is None:
        return []
    every = (
        (BATTERY, energy.battery, battery_kwh(problem, solution)),
        (SOLAR, energy.solar, solar_kw(problem, solution)),
    )
    return [
        PutUp(what, each, np.where(amounts > NONE, amounts, 0.0))
        for what, each, amounts in every
        if (amounts > NONE).any()
    ]
