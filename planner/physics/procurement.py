"""What buying costs, by when money is counted, and the rebates of framework contracts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.physics.nodes import Nodes
from planner.trace.quantities import Traced, chosen, derive, pick, rows

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
    """Columns by node group and period (P, T); rebates one row (G) for each tier of each offer."""

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


def rebate_by_node_group(
    inputs: Inputs, buying: Buying, reached_fraction: NDArray[np.float64]
) -> Traced | None:
    """The rebate that a plan reaches on the nodes of each group (P, 1), as its tier has it; None if none."""
    if not reached_fraction.any():
        return None
    items: list[Traced] = [chosen("rebate_fraction", 0.0, "no tier is reached"), *buying.rebates]
    of_sku = np.zeros(len(reached_fraction), dtype=np.intp)
    for g, (sku, rebate) in enumerate(zip(buying.tier_sku, buying.tier_rebate_fraction, strict=True)):
        if reached_fraction[sku] == rebate:
            of_sku[sku] = g + 1
    return pick(items, of_sku[inputs.node_group_sku][:, None])


def paid_usd(buying_usd: Traced, rebate: Traced | None) -> Traced:
    """A price of each node group and period, the rebate taken off where there is one."""
    return buying_usd if rebate is None else derive(rebated_usd, price_usd=buying_usd, rebate_fraction=rebate)


def held_usd(buying: Buying, rebate: Traced | None) -> Traced:
    """Money of holding a bought node, the rebate taken off its capital."""
    if rebate is None or buying.capital_usd is None:
        return buying.holding_usd
    return derive(
        rebated_holding_usd,
        holding_usd=buying.holding_usd,
        capital_usd=buying.capital_usd,
        rebate_fraction=rebate,
    )


def rented_node_usd_per_h(*, price_usd_per_h: Column, accelerators: Column) -> Column:
    """Price of a node for an hour in use, its electricity included.

    m = p * a

    Source: definition; a is 1 where the price is for a node.
    """
    return np.multiply(price_usd_per_h, accelerators)


def rent_usd(*, usd_per_node_h: Column, node_h: Column) -> Column:
    """Money for hours in use.

    M = m * h

    Source: definition.
    """
    return np.multiply(usd_per_node_h, node_h)


def rented_kgco2e(
    *, owned_kgco2e: Column, owned_h: Column, utilisation_fraction: Column, node_h: Column
) -> Column:
    """Making and repairing of the provider's node, charged to the hours in which somebody rents it.

    C = C_owned / (u * H) * h

    C_owned is what a node of your own would be charged in H hours, over the same life. The electricity of
    the provider's idle nodes is left out.

    Source: attribution by use; carbon/README.md.
    """
    return owned_kgco2e / (np.multiply(owned_h, utilisation_fraction)) * node_h


@dataclass(frozen=True)
class Rented:
    """Node groups of rented nodes (rows), and what an hour in use of one node costs and emits by period."""

    node_group: NDArray[np.intp]
    usd: Traced | None
    kgco2e: Traced | None


def rented_hours(inputs: Inputs, nodes: Nodes) -> Rented:
    """An hour of every rented node, by period."""
    group = np.flatnonzero(inputs.rented)
    if not len(group):
        return Rented(group, None, None)
    hour = chosen("node_h", np.ones((1, inputs.periods)), "one hour in use")
    first = len(inputs.scenario.sites)
    offers = range(len(inputs.scenario.rental))
    usd = pick(
        [_node_usd_per_h(inputs, i, t) for i in offers for t in range(inputs.periods)],
        (inputs.node_group_site[group] - first)[:, None] * inputs.periods
        + np.arange(inputs.periods)[None, :],
    )
    return Rented(
        group,
        usd=derive(rent_usd, usd_per_node_h=usd, node_h=hour),
        kgco2e=derive(
            rented_kgco2e,
            owned_kgco2e=rows(nodes.owned_kgco2e, group),
            owned_h=inputs.period_h,
            utilisation_fraction=inputs.fact("rental.utilisation"),
            node_h=hour,
        ),
    )


def _node_usd_per_h(inputs: Inputs, rental: int, period: int) -> Traced:
    one = inputs.scenario.rental[rental]
    sku = next(k for k, sku in enumerate(inputs.skus) if sku.name == one.sku)
    price: Traced
    if one.price_usd_per_h is None:
        price = inputs.fact(f"rental.{inputs.skus[sku].accelerator}.price")
    else:
        stated = one.price_usd_per_h
        path = f"rental.{one.name}.price" + (f"[{period}]" if len(set(stated)) > 1 else "")
        price = inputs.yours(path, stated[period], "USD/h")
    whole = one.per == "node" and one.price_usd_per_h is not None
    count = chosen("accelerators", 1.0, "the price is for a whole node") if whole else None
    return derive(
        rented_node_usd_per_h,
        price_usd_per_h=price,
        accelerators=count or inputs.server("accelerators")[sku],
    )
