"""Electricity by the market-based method: the factor of each site, and clean energy under contract."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.inputs import Inputs
from planner.totals import plan_kwh
from planner.trace import Chosen, Traced, chosen, derive, pick
from solver.problem import Contracts, Problem, Solution

Column = float | NDArray[Any]
Part = tuple[Traced, Chosen]


def drawn_there_kwh(*, each_kwh: Column, counts: Column, there_ratio: Column) -> NDArray[np.float64]:
    """Energy that one kind of decision draws at the site of each contract, by period.

    E[c,t] = sum_i d[c,i] n[i,t] e[i,t]

    d is 1 where i draws at the meter of the contract's site, else 0: nodes rented elsewhere do not.

    Source: plain sum over the plan's decisions.
    """
    drawn: NDArray[np.float64] = np.asarray(there_ratio) @ (np.asarray(each_kwh) * counts)
    return drawn


def contracted_kwh(*, covered_fraction: Column, drawn_kwh: Column, limit_kwh: Column) -> NDArray[Any]:
    """Energy under contract: a share of what its site draws, up to what the contract holds.

    E_c[t] = min(a[c,t] E[s(c),t], L[c,t])

    Where a site draws more or less than planned, its contracts cover the same share, never more than all.

    Source: definition; GHG Protocol, "Scope 2 Guidance", 2015, counts no more than what is consumed.
    """
    covered: NDArray[Any] = np.minimum(np.asarray(covered_fraction) * drawn_kwh, limit_kwh)
    return covered


def contracted_usd(*, premium_usd_per_kwh: Column, matched_kwh: Column) -> float:
    """Money that clean energy costs beyond the electricity that it stands for.

    M = sum_c,t p[c,t] E[c,t]

    Source: plain sum over the plan's decisions.
    """
    return float(np.sum(np.asarray(premium_usd_per_kwh) * matched_kwh))


def contracted_kgco2e(
    *, contract_kgco2e_per_kwh: Column, market_kgco2e_per_kwh: Column, matched_kwh: Column
) -> float:
    """Carbon by which energy under contract differs from the mix that it stands for; less is negative.

    C = sum_c,t (CI_contract[c] - CI_market[s(c),t]) E[c,t]

    Source: GHG Protocol, "Scope 2 Guidance", 2015: what no contract covers takes the residual mix.
    """
    apart = np.asarray(contract_kgco2e_per_kwh) - np.asarray(market_kgco2e_per_kwh)
    return float(np.sum(apart * matched_kwh))


@dataclass(frozen=True)
class Contracted:
    """Columns by contract, or by contract and period."""

    site: NDArray[np.intp]
    premium_usd_per_kwh: Traced
    own_kgco2e_per_kwh: Traced
    market_kgco2e_per_kwh: Traced


def contract_columns(inputs: Inputs) -> Contracted | None:
    """What clean energy costs and emits, beside the market factor of its site; none without contracts."""
    contracts = inputs.scenario.contracts
    if not contracts:
        return None
    names = [site.name for site in inputs.scenario.sites]
    site = np.array([names.index(one.site) for one in contracts], dtype=np.intp)
    shape = (len(contracts), inputs.periods)
    premium = [
        inputs.yours(f"contracts.{one.name}.price_premium[{t}]", value, "USD/kWh")
        for one in contracts
        for t, value in enumerate(one.price_premium_usd_per_kwh)
    ]
    own = [
        inputs.yours(f"contracts.{one.name}.intensity", one.intensity_kgco2e_per_kwh, "kgCO2e/kWh")
        for one in contracts
    ]
    return Contracted(
        site=site,
        premium_usd_per_kwh=pick(premium, np.arange(len(premium)).reshape(shape)),
        own_kgco2e_per_kwh=pick(own, np.arange(len(own))[:, None]),
        market_kgco2e_per_kwh=inputs.site_by_period(inputs.grid, site),
    )


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


def contract_terms(
    contracted: Contracted | None,
    problem: Problem,
    solution: Solution,
    kwh: Mapping[str, Part | None],
    pools: Mapping[str, NDArray[np.intp]],
) -> dict[str, Traced]:
    """Premium and carbon of the energy that the plan matches; nothing where there are no contracts.

    `kwh` are the parts of the plan's energy, `pools` where each of their rows runs.
    """
    if contracted is None or not solution.matched_kwh.any():
        return {}
    drawn = derive(plan_kwh, **_drawn_there(contracted, problem, kwh, pools))
    share = np.divide(
        solution.matched_kwh, drawn.value, out=np.zeros_like(solution.matched_kwh), where=drawn.value > 0
    )
    matched = derive(
        contracted_kwh,
        covered_fraction=chosen("covered_fraction", share, "decided by the program"),
        drawn_kwh=drawn,
        limit_kwh=chosen("limit_kwh", problem.contracts.limit_kwh, "what the contract holds"),
    )
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
    pools: Mapping[str, NDArray[np.intp]],
) -> dict[str, Traced]:
    """Parts of the energy at the site of each contract, by period: the terms of `plan_kwh`."""
    meter = np.where(problem.pools.off_site, -1, problem.pools.site)
    found: dict[str, Traced] = {}
    for name, part in kwh.items():
        if part is None or not np.any(part[1].value):
            found[f"{name}_kwh"] = chosen(name, 0.0, "nothing of this kind in the plan", "kWh")
            continue
        there = (contracted.site[:, None] == meter[pools[name]]).astype(float)
        found[f"{name}_kwh"] = derive(
            drawn_there_kwh,
            each_kwh=part[0],
            counts=part[1],
            there_ratio=chosen("there_ratio", there, "where it runs"),
        )
    return found
