"""What buying costs, by when money is counted, and the rebates of framework contracts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.coefficients.nodes import Nodes
from planner.inputs import Inputs
from planner.trace import Traced, chosen, derive, pick

Column = float | NDArray[Any]


def rebated_usd(*, price_usd: Column, rebate_fraction: Column) -> Column:
    """Price of a node after the rebate of a framework contract.

    P' = P * (1 - f)

    Source: all-units rebate.
    """
    return price_usd * (1.0 - np.asarray(rebate_fraction))


def rebated_holding_usd(*, holding_usd: Column, capital_usd: Column, rebate_fraction: Column) -> Column:
    """Money for having a bought node in service, after a rebate.

    H' = H - f * capital

    Maintenance follows the list price.

    Source: all-units rebate on the annualised price.
    """
    return holding_usd - rebate_fraction * np.asarray(capital_usd)


@dataclass(frozen=True)
class Buying:
    """Columns by pool and period (P, T); rebates one row (G) for each tier of each offer."""

    order_usd: Traced | None  # counted when ordered; None where capital is spread over the life
    holding_usd: Traced
    capital_usd: Traced | None  # the part of holding that a rebate lowers
    tier_sku: NDArray[np.intp]
    tier_from_nodes: NDArray[np.float64]
    rebates: tuple[Traced, ...]

    @property
    def tier_rebate_fraction(self) -> NDArray[np.float64]:
        """Rebate of each tier."""
        return np.array([float(rebate.value) for rebate in self.rebates])


def buying_columns(inputs: Inputs, nodes: Nodes) -> Buying:
    """Every coefficient of buying."""
    cash = inputs.scenario.policy.objective == "cash"
    names = [sku.name for sku in inputs.skus]
    tiers = [
        (names.index(offer.sku), f"market.{offer.sku}.tiers[{i}].rebate", tier)
        for offer in inputs.scenario.market
        for i, tier in enumerate(offer.tiers)
    ]
    return Buying(
        order_usd=nodes.price_usd if cash else None,
        holding_usd=nodes.kept_usd if cash else nodes.owned_usd,
        capital_usd=None if cash else nodes.capital_usd,
        tier_sku=np.array([sku for sku, _, _ in tiers], dtype=np.intp),
        tier_from_nodes=np.array([float(tier.from_nodes) for _, _, tier in tiers]),
        rebates=tuple(inputs.yours(path, tier.rebate_fraction, "1") for _, path, tier in tiers),
    )


def rebate_by_pool(inputs: Inputs, buying: Buying, reached_fraction: NDArray[np.float64]) -> Traced | None:
    """The rebate that a plan reaches on the nodes of each pool (P, 1), as its tier has it; None if none."""
    if not reached_fraction.any():
        return None
    items: list[Traced] = [chosen("rebate_fraction", 0.0, "no tier is reached"), *buying.rebates]
    of_sku = np.zeros(len(reached_fraction), dtype=np.intp)
    for g, (sku, rebate) in enumerate(zip(buying.tier_sku, buying.tier_rebate_fraction, strict=True)):
        if reached_fraction[sku] == rebate:
            of_sku[sku] = g + 1
    return pick(items, of_sku[inputs.pool_sku][:, None])


def paid_usd(buying_usd: Traced, rebate: Traced | None) -> Traced:
    """A price of each pool and period, the rebate taken off where there is one."""
    return buying_usd if rebate is None else derive(rebated_usd, price_usd=buying_usd, rebate_fraction=rebate)


def held_usd(buying: Buying, rebate: Traced | None) -> Traced:
    """Money of holding a bought node, the rebate taken off its capital."""
    if rebate is None or buying.capital_usd is None:
        return buying.holding_usd
    return derive(
        rebated_holding_usd, holding_usd=buying.holding_usd, capital_usd=buying.capital_usd,
        rebate_fraction=rebate,
    )  # fmt: skip
