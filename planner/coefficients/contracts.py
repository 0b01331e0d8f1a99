"""Electricity by the market-based method: the factor of each site, and clean energy under contract."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.inputs import Inputs
from planner.trace import Traced, chosen, derive, pick
from solver.problem import Contracts, Solution

Column = float | NDArray[Any]


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


def contract_terms(contracted: Contracted | None, solution: Solution) -> dict[str, Traced]:
    """Premium and carbon of the energy that the plan matches; nothing where there are no contracts."""
    if contracted is None or not solution.matched_kwh.any():
        return {}
    matched = chosen("matched_kwh", solution.matched_kwh, "decided by the program")
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
