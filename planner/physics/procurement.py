"""What buying costs, by when money is counted, and the rebates of framework contracts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import HOURS_PER_YEAR, Inputs
from planner.inputs.scenario import Rental
from planner.inputs.scenario.schema_rental import price_keys
from planner.physics.nodes import Nodes
from planner.physics.training_options import Dropped
from planner.physics.value import Value, bought_value, deposit_interest_usd, rest_worth_usd
from planner.trace.columns import Column
from planner.trace.quantities import Traced, chosen, derive, pick, rows


def rebated_usd(*, price_usd: Column, rebate_fraction: Column) -> Column:
    """Price of a node after the rebate of a framework contract.

    P' = P * (1 - f)

    Source: all-units rebate.
    """
    return price_usd * (1.0 - np.asarray(rebate_fraction))


@dataclass(frozen=True)
class Vintages:
    """Nodes by when they are ordered: one row (W) for each node group and period of an order."""

    node_group: NDArray[np.intp]
    ordered: NDArray[np.intp]  # period of the order
    arrives: NDArray[np.intp]  # period in which they enter service
    value: Value
    may_sell: NDArray[np.bool_]  # (W, T) at the start of the period

    def held(self, periods: int) -> NDArray[np.bool_]:
        """Whether those that nobody sells are in service (W, T)."""
        found: NDArray[np.bool_] = np.arange(periods) >= self.arrives[:, None]
        return found

    @property
    def for_sale(self) -> NDArray[np.intp]:
        """Rows that may be sold again in some period: those of the program."""
        return np.flatnonzero(self.may_sell.any(axis=1))

    def sold(self, sold_nodes: NDArray[Any]) -> NDArray[np.float64]:
        """What is sold of every row (W, T), from what is sold of those for sale."""
        found = np.zeros(self.may_sell.shape)
        found[self.for_sale] = sold_nodes
        return found


@dataclass(frozen=True)
class Buying:
    """Columns by node group and period (P, T), or by vintage; one rebate (G) for each tier of each offer.

    Where money is counted when it is spent, or nothing can be bought, there are no vintages.
    """

    order_usd: Traced  # counted when ordered
    holding_usd: Traced
    vintages: Vintages | None
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
        order_usd=nodes.price_usd if cash else deposit_interest(inputs, nodes.price_usd),
        holding_usd=nodes.kept_usd,
        vintages=None if cash else bought_vintages(inputs),
        tier_sku=np.array([sku for sku, _, _ in tiers], dtype=np.intp),
        tier_from_nodes=np.array([float(tier.from_nodes) for _, _, tier in tiers]),
        rebates=tuple(inputs.yours(path, tier.rebate_fraction, "1") for _, path, tier in tiers),
    )


def deposit_interest(inputs: Inputs, price_usd: Traced) -> Traced:
    """Interest until delivery on what is paid at the order of a node."""
    leads = {name: offer.lead_time_h for name, offer in inputs.offers.items()}
    each = [
        inputs.yours(f"market.{sku.spare_of or sku.name}.lead_time", leads[sku.name], "h")
        if sku.name in leads
        else chosen("lead_h", 0.0, "it is not on offer")
        for sku in inputs.skus
    ]
    return derive(
        deposit_interest_usd,
        price_usd=price_usd,
        deposit_fraction=inputs.fact("finance.deposit"),
        discount_fraction=inputs.discount_rate(),
        lead_h=pick(each, inputs.node_group_sku[:, None]),
        year_h=inputs.year_h,
    )


def order_lead_periods(inputs: Inputs) -> NDArray[np.intp]:
    """Whole periods from the order of a node to its service, by node group; 0 where it is not on offer."""
    leads = {name: offer.lead_time_h for name, offer in inputs.offers.items()}
    whole = inputs.scenario.horizon.lead_periods
    return np.array([whole(leads.get(inputs.skus[k].name, 0.0)) for k in inputs.node_group_sku], np.intp)


def in_stock(inputs: Inputs) -> NDArray[np.bool_]:
    """Node groups whose orders nothing delays, by a stated lead time of 0 d."""
    names = [inputs.skus[k].name for k in inputs.node_group_sku]
    return np.array([name in inputs.offers and inputs.offers[name].lead_time_h == 0.0 for name in names])


def not_housed(inputs: Inputs) -> list[Dropped]:
    """Orders that a site cannot take, for its cooling or the power of its racks."""
    return [
        Dropped("orders", offer.sku, why)
        for offer in inputs.scenario.market
        for site in inputs.scenario.sites
        if not offer.sites and (why := inputs.not_housed(site, offer.sku)) is not None
    ]


def may_be_ordered(inputs: Inputs) -> NDArray[np.bool_]:
    """Node groups of which nodes can be bought."""
    sites = [site.name for site in inputs.scenario.sites]
    found = np.zeros(len(inputs.node_groups), dtype=bool)
    for p, (k, s) in enumerate(inputs.node_groups):
        offer = inputs.offers.get(inputs.skus[k].name)
        if offer is not None and not inputs.rented[p]:
            found[p] = not offer.sites or sites[s] in offer.sites
    return found


def bought_vintages(inputs: Inputs) -> Vintages | None:
    """Every order that brings nodes within the horizon.

    They may be sold where that ends more of their cost than the sale takes. Those under a framework contract
    are kept: its rebate is for what one keeps.
    """
    periods = inputs.periods
    lead = order_lead_periods(inputs)
    group, ordered = (
        column.ravel() for column in np.meshgrid(np.arange(len(lead)), np.arange(periods), indexing="ij")
    )
    some = may_be_ordered(inputs)[group] & (ordered + lead[group] < periods)
    if not some.any():
        return None
    group, ordered = group[some], ordered[some]
    sku, arrives = inputs.node_group_sku[group], ordered + lead[group]
    prices: dict[tuple[int, int], Traced] = {}
    for k, t in zip(sku.tolist(), ordered.tolist(), strict=True):
        if (k, t) not in prices:
            prices[k, t] = inputs.node_price(k, t)
    value = bought_value(
        inputs, sku, arrives, [prices[k, t] for k, t in zip(sku.tolist(), ordered.tolist(), strict=True)]
    )
    tiered = {offer.sku for offer in inputs.scenario.market if offer.tiers}
    free = np.array([one.name not in tiered for one in inputs.skus])[sku]
    after = np.arange(periods) > arrives[:, None]
    sellable = inputs.scenario.policy.retirement == "allowed"
    return Vintages(group, ordered, arrives, value, may_sell=after & free[:, None] & sellable)


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
    """Node groups that are rented by the hour (rows); what an hour of a node costs and emits by period."""

    node_group: NDArray[np.intp]
    usd: Traced | None
    kgco2e: Traced | None


@dataclass(frozen=True)
class Reserved:
    """Node groups that are rented for a term (rows): what a node costs and emits through each period.

    Terms begin in the periods where they may, and end after so many; what is due after the horizon is paid
    at the price of its last period. Those hours are worth less by then, as nodes are: the difference is a
    cost of the plan, as accounts provide for an onerous contract (IAS 37, 68), so that no long term is a
    cheap way to have a short one.
    """

    node_group: NDArray[np.intp]
    term_periods: NDArray[np.intp]
    may_begin: NDArray[np.bool_]  # by period
    signed_nodes: NDArray[np.float64]  # by period: terms from there that are signed already
    hour_usd: Traced | None
    usd: Traced | None
    kgco2e: Traced | None
    left_usd: Traced | None  # of a term by the period in which it begins


def rented_hours(inputs: Inputs, nodes: Nodes) -> Rented:
    """An hour of every node that is rented by the hour, by period."""
    group = np.flatnonzero(inputs.rented & ~inputs.reserved)
    if not len(group):
        return Rented(group, None, None)
    hour = chosen("node_h", np.ones((1, inputs.periods)), "one hour in use")
    return Rented(
        group,
        usd=(_hour_usd(inputs, group) * hour).named("rent_usd"),
        kgco2e=derive(
            rented_kgco2e,
            owned_kgco2e=rows(nodes.owned_kgco2e, group),
            owned_h=inputs.period_h,
            utilisation_fraction=inputs.fact("rental.utilisation"),
            node_h=hour,
        ),
    )


def reserved_nodes(inputs: Inputs, nodes: Nodes) -> Reserved:
    """Every node that is rented for a term, through each period: it is ours, used or not."""
    group = np.flatnonzero(inputs.reserved)
    terms = [_term(inputs, inputs.rental_of(p)) for p in group.tolist()]
    may_begin = np.array([allowed for _, allowed in terms], dtype=bool).reshape(-1, inputs.periods)
    term = np.array([periods for periods, _ in terms], dtype=np.intp)
    signed = np.zeros(may_begin.shape)
    for i, p in enumerate(group.tolist()):
        rental = inputs.rental_of(p)
        if rental.signed and rental.nodes is not None:
            signed[i, int(may_begin[i].argmax())] = rental.nodes[0]
    if not len(group):
        return Reserved(group, term, may_begin, signed, None, None, None, None)
    hour = _hour_usd(inputs, group)
    return Reserved(
        group,
        term,
        may_begin,
        signed,
        hour_usd=hour,
        usd=(hour * inputs.period_h).named("rent_usd"),
        kgco2e=rows(nodes.owned_kgco2e, group),
        left_usd=_left_usd(inputs, group, term, hour),
    )


def term_end(begins: date, months: int) -> date:
    """The day after the last one of a term."""
    later = begins.month - 1 + months
    return date(begins.year + later // 12, later % 12 + 1, 1)


def term_after_h(inputs: Inputs, term_periods: int, begins: int) -> float:
    """Hours of a term after the end of the horizon."""
    horizon = inputs.scenario.horizon
    ends = term_end(horizon.period_starts[begins], term_periods * horizon.period_months)
    return max(24.0 * (ends - horizon.end).days, 0.0)


def _left_usd(
    inputs: Inputs, group: NDArray[np.intp], term: NDArray[np.intp], hour_usd: Traced
) -> Traced | None:
    """What falls due after the horizon beyond what it is worth then; None where nothing does."""
    starts = inputs.period_start_h.value[0]
    after = np.array([[term_after_h(inputs, n, t) for t in range(inputs.periods)] for n in term.tolist()])
    if not after.any() or inputs.scenario.policy.objective == "cash":
        return None
    one = np.arange(len(group))
    middle_y = (inputs.period_end_h.value[0, -1] - starts[None, :] + after / 2) / HOURS_PER_YEAR
    due = (
        pick([hour_usd[i, inputs.periods - 1] for i in range(len(group))], one[:, None])
        * chosen("after_h", after, "from the horizon's end to that of a term")
    ).named("rent_usd")
    return (due - rest_worth_usd(inputs, inputs.node_group_sku[group], due, middle_y)).named("left_usd")


def _term(inputs: Inputs, rental: Rental) -> tuple[int, list[bool]]:
    """Periods of a term, and whether it may begin in each."""
    horizon = inputs.scenario.horizon
    days = (*horizon.period_starts, horizon.end)
    first = 0 if rental.starts is None else days.index(rental.starts)
    if rental.commitment == "block":
        assert rental.ends is not None, "refused on reading"
        return days.index(rental.ends) - first, [t == first for t in range(inputs.periods)]
    return rental.term_months // horizon.period_months, [t >= first for t in range(inputs.periods)]


def _hour_usd(inputs: Inputs, group: NDArray[np.intp]) -> Traced:
    """Price of an hour of a node of each group, by period."""
    offers, first = range(len(inputs.scenario.rental)), len(inputs.scenario.sites)
    return pick(
        [_node_usd_per_h(inputs, i, t) for i in offers for t in range(inputs.periods)],
        (inputs.node_group_site[group] - first)[:, None] * inputs.periods
        + np.arange(inputs.periods)[None, :],
    )


def catalogue_usd_per_h(inputs: Inputs, commitment: str, accelerator: str) -> Traced:
    """Price of an accelerator-hour by the commitment: its own if it is known, or a share of on demand."""
    known, *ratio = (inputs.fact(key) for key in price_keys(inputs.has, commitment, accelerator))
    if not ratio:
        return known
    return (known * ratio[0]).named(
        "committed_usd_per_h",
        "Price of an hour under a commitment, or of spot, where only that on demand is known",
    )


def _node_usd_per_h(inputs: Inputs, rental: int, period: int) -> Traced:
    one = inputs.scenario.rental[rental]
    sku = next(k for k, sku in enumerate(inputs.skus) if sku.name == one.sku)
    price: Traced
    if one.price_usd_per_h is None:
        price = catalogue_usd_per_h(inputs, one.commitment, inputs.skus[sku].accelerator)
    else:
        stated = one.price_usd_per_h
        path = f"rental.{one.name}.price" + (f"[{period}]" if len(set(stated)) > 1 else "")
        price = inputs.money(path, stated[period], "USD/h")
    whole = one.per == "node" and one.price_usd_per_h is not None
    count = chosen("accelerators", 1.0, "the price is for a whole node") if whole else None
    return (price * (count or inputs.server("accelerators")[sku])).named(
        "rented_node_usd_per_h", "Price of a node for an hour in use, its electricity included"
    )
