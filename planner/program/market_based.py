"""Electricity by the market-based method, and the location-based figure that always is next to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from carbon.operational import operational_kgco2e
from planner.inputs.resolved import Inputs
from planner.physics.clean_energy import (
    Contracted,
    contracted_kgco2e,
    contracted_kwh,
    contracted_usd,
    drawn_there_kwh,
)
from planner.program.slot_ledger import TERMS as SLOT_TERMS
from planner.trace.quantities import Part, Traced, chosen, derive, total
from solver.account import drawn_kwh, idle_nodes
from solver.problem import Contracts, Problem, Solution


def location_kgco2e(inputs: Inputs, problem: Problem, plan: Solution) -> float:
    """Carbon of a market-based plan if each grid's own factor held and nothing were under contract.

    C_location = C_market - contracts + sum_s,t E[s,t] (CI_location[s,t] - CI_market[s,t])
    """
    shape = (len(inputs.sites), inputs.periods)
    location, market = (
        np.array([float(item.value) for item in items]).reshape(shape)
        for items in (inputs.location_grid, inputs.grid)
    )
    anywhere = replace(
        problem, node_groups=replace(problem.node_groups, off_site=np.zeros(len(problem.node_groups), bool))
    )
    energy_kwh = drawn_kwh(anywhere, plan, idle_nodes(problem, plan, plan.in_service))
    under_contract = float(plan.kgco2e_terms.contract.sum())
    return plan.kgco2e - under_contract + float((energy_kwh * (location - market)).sum())


def stand_ins(inputs: Inputs) -> tuple[str, ...]:
    """Sites where the location's factor replaces a residual mix that is not known."""
    return tuple(site.name for site in inputs.sites if site.market_kgco2e_per_kwh is None)


def at_location(
    inputs: Inputs, kwh: Mapping[str, Part | None], groups: Mapping[str, NDArray[np.intp]]
) -> dict[str, Part | None]:
    """Parts of the plan's energy as carbon of the grids where it is drawn; `groups` says where."""
    found: dict[str, Part | None] = {}
    for name, part in kwh.items():
        if part is None or not np.any(part[1].value):
            found[name] = None
            continue
        each, counts = part
        grid = inputs.site_by_period(inputs.location_grid, inputs.node_group_site[groups[name]])
        if name in (*SLOT_TERMS, "stopped"):  # what rests, or stops, saves energy
            found[name] = ((each * grid).named("location_kgco2e"), counts)
            continue
        found[name] = (derive(operational_kgco2e, facility_energy_kwh=each, grid_kgco2e_per_kwh=grid), counts)
    return found


def contract_table(inputs: Inputs, contracted: Contracted | None) -> Contracts:
    """The same as a table of the program: premium, what a kilowatt-hour avoids, and the limit by period."""
    if contracted is None:
        return Contracts.none(inputs.periods)
    contracts, hours = inputs.scenario.contracts, np.array(inputs.scenario.horizon.hours)
    limit = np.full((len(contracts), inputs.periods), np.inf)
    for c, one in enumerate(contracts):
        if one.volume_kwh is not None:
            limit[c] = one.volume_kwh
        elif one.power_kw is not None:
            limit[c] = np.array(one.power_kw) * hours
    return Contracts(
        site=contracted.site,
        usd_per_kwh=contracted.premium_usd_per_kwh.value,
        kgco2e_per_kwh=contracted.market_kgco2e_per_kwh.value - contracted.own_kgco2e_per_kwh.value,
        limit_kwh=limit,
        fixed_share=np.array([one.level for one in contracts], dtype=bool),
    )


def matched_energy(
    contracted: Contracted | None,
    problem: Problem,
    solution: Solution,
    kwh: Mapping[str, Part | None],
    groups: Mapping[str, NDArray[np.intp]],
) -> Traced | None:
    """Energy that the plan buys under each contract, by period; None where there are no contracts.

    `kwh` are the parts of the plan's energy, `groups` where each of their rows runs.
    """
    if contracted is None or not solution.matched_kwh.any():
        return None
    drawn = total("drawn_kwh", _drawn_there(contracted, problem, kwh, groups), "at the site of the contract")
    share = np.divide(
        solution.matched_kwh, drawn.value, out=np.zeros_like(solution.matched_kwh), where=drawn.value > 0
    )
    return derive(
        contracted_kwh,
        covered_fraction=chosen("covered_fraction", share, "decided by the program"),
        drawn_kwh=drawn,
        limit_kwh=chosen("limit_kwh", problem.contracts.limit_kwh, "what the contract holds"),
    )


def contract_terms(contracted: Contracted | None, matched: Traced | None) -> dict[str, Traced]:
    """Premium and carbon of the energy that the plan matches; nothing where there are no contracts."""
    if contracted is None or matched is None:
        return {}
    return {
        "contract_usd": derive(
            contracted_usd, premium_usd_per_kwh=contracted.premium_usd_per_kwh, matched_kwh=matched
        ),
        "contract_kgco2e": derive(
            contracted_kgco2e,
            contract_kgco2e_per_kwh=contracted.own_kgco2e_per_kwh,
            market_kgco2e_per_kwh=contracted.market_kgco2e_per_kwh,
            matched_kwh=matched,
        ),
    }


def _drawn_there(
    contracted: Contracted,
    problem: Problem,
    kwh: Mapping[str, Part | None],
    groups: Mapping[str, NDArray[np.intp]],
) -> dict[str, Traced]:
    """Parts of the energy at the site of each contract, by period."""
    meter = np.where(problem.node_groups.off_site, -1, problem.node_groups.site)
    found: dict[str, Traced] = {}
    for name, part in kwh.items():
        if part is None or not np.any(part[1].value):
            found[f"{name}_kwh"] = chosen(name, 0.0, "nothing of this kind in the plan", "kWh")
            continue
        there = (contracted.site[:, None] == meter[groups[name]]).astype(float)
        found[f"{name}_kwh"] = derive(
            drawn_there_kwh,
            each_kwh=part[0],
            counts=part[1],
            there_ratio=chosen("there_ratio", there, "where it runs"),
        )
    return found
