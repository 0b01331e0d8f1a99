"""Electricity by the market-based method: the factor of each site, and clean energy under contract."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.trace.columns import Column
from planner.trace.quantities import Traced, pick
from planner.trace.sums import over_all, over_rows, sums


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


sums(over_rows("there_ratio"))(drawn_there_kwh)
sums(over_all)(contracted_usd)


@dataclass(frozen=True)
class Contracted:
    """Columns by contract, or by contract and period."""

    site: NDArray[np.intp]
    premium_usd_per_kwh: Traced
    own_kgco2e_per_kwh: Traced
    market_kgco2e_per_kwh: Traced


def contract_columns(inputs: Inputs) -> Contracted | None:
    """What clean energy costs and emits, next to the market factor of its site; none without contracts."""
    contracts = inputs.scenario.contracts
    if not contracts:
        return None
    names = [site.name for site in inputs.scenario.sites]
    site = np.array([names.index(one.site) for one in contracts], dtype=np.intp)
    shape = (len(contracts), inputs.periods)
    premium = [
        inputs.money(f"contracts.{one.name}.price_premium[{t}]", value, "USD/kWh")
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
