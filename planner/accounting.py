"""Electricity by the market-based method, and the location-based figure that always stands beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from carbon.operational import operational_kgco2e
from planner.inputs import Inputs
from planner.trace import Chosen, Traced, derive
from solver.account import drawn_kwh, idle_nodes
from solver.problem import Problem, Solution

Part = tuple[Traced, Chosen]


def location_kgco2e(inputs: Inputs, problem: Problem, plan: Solution) -> float:
    """Carbon of a market-based plan if each grid's own factor held and nothing were under contract.

    C_location = C_market - contracts + sum_s,t E[s,t] (CI_location[s,t] - CI_market[s,t])
    """
    shape = (len(inputs.sites), inputs.periods)
    location, market = (
        np.array([float(item.value) for item in items]).reshape(shape)
        for items in (inputs.location_grid, inputs.grid)
    )
    anywhere = replace(problem, pools=replace(problem.pools, off_site=np.zeros(len(problem.pools), bool)))
    energy_kwh = drawn_kwh(anywhere, plan, idle_nodes(problem, plan, plan.in_service))
    under_contract = float(plan.kgco2e_terms.contract.sum())
    return plan.kgco2e - under_contract + float((energy_kwh * (location - market)).sum())


def stand_ins(inputs: Inputs) -> tuple[str, ...]:
    """Sites where the location's factor stands in for a residual mix that is not known."""
    return tuple(site.name for site in inputs.sites if site.market_kgco2e_per_kwh is None)


def at_location(
    inputs: Inputs, kwh: Mapping[str, Part | None], pools: Mapping[str, NDArray[np.intp]]
) -> dict[str, Part | None]:
    """Parts of the plan's energy as carbon of the grids where it is drawn; `pools`: where each row runs."""
    found: dict[str, Part | None] = {}
    for name, part in kwh.items():
        if part is None or not np.any(part[1].value):
            found[name] = None
            continue
        each, counts = part
        grid = inputs.site_by_period(inputs.location_grid, inputs.pool_site[pools[name]])
        found[name] = (derive(operational_kgco2e, facility_energy_kwh=each, grid_kgco2e_per_kwh=grid), counts)
    return found
