"""Nodes as tables of the program: standing, bought, rented, moved, switched off, and their limits."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.physics.existing_fleet import Standing
from planner.physics.failures import down_variance_to_mean
from planner.physics.nodes import Nodes, Parked
from planner.physics.procurement import Buying, Rented, Reserved, may_be_ordered, order_lead_periods
from planner.physics.promises import node_up_fraction, outage_correlation, promises, spares_fraction
from planner.program.option_tables import ROUNDING
from planner.program.places import shared_power
from planner.trace.errors import InputError
from planner.trace.numbers import count_text
from reliability.promises import promise_steps
from reliability.spares import SpareSteps as Steps
from reliability.spares import spare_steps
from solver.problem import (
    Cohorts,
    Jobs,
    Limits,
    Moves,
    NodeGroups,
    PausableOptions,
    RunOptions,
    Sales,
    ServeOptions,
    SpareSteps,
    Tiers,
)

MOST_NODES = 1_000_000  # of one SKU at a site: the tables of spares of more take minutes


def rental_columns(inputs: Inputs, nodes: Nodes, rented: Rented, reserved: Reserved) -> dict[str, Any]:
    """Columns of the node groups: how many nodes may be rented, off our sites, by the hour and for terms."""
    limit = np.zeros((len(inputs.node_groups), inputs.periods))
    for p in np.flatnonzero(inputs.rented):
        rental = inputs.rental_of(int(p))
        limit[p] = np.inf if rental.nodes is None else rental.nodes
    found: dict[str, Any] = {"rental_limit_nodes": limit, "off_site": inputs.rented}
    hours = inputs.period_h.value
    for kind, each in (("usd", rented.usd), ("kgco2e", rented.kgco2e)):
        if each is not None:
            found[f"unfilled_{kind}_per_node"] = np.zeros_like(limit)
            idle = np.broadcast_to(getattr(nodes, f"idle_{kind}").value, limit.shape)[rented.node_group]
            found[f"unfilled_{kind}_per_node"][rented.node_group] = each.value * hours + idle
    if reserved.usd is None or reserved.kgco2e is None:
        return found
    usd, kgco2e, term = np.zeros_like(limit), np.zeros_like(limit), np.zeros(len(limit), dtype=int)
    begins, signed, left = np.zeros(limit.shape, dtype=bool), np.zeros_like(limit), np.zeros_like(limit)
    usd[reserved.node_group] = reserved.usd.value
    kgco2e[reserved.node_group] = reserved.kgco2e.value
    term[reserved.node_group] = reserved.term_periods
    begins[reserved.node_group] = reserved.may_begin
    signed[reserved.node_group] = reserved.signed_nodes
    if reserved.left_usd is not None:
        left[reserved.node_group] = reserved.left_usd.value
    return found | {
        "rental_usd_per_node": usd,
        "rental_kgco2e_per_node": kgco2e,
        "rental_term_periods": term,
        "rental_start_allowed": begins,
        "rental_signed_nodes": signed,
        "term_left_usd_per_node": left,
    }


def parking_columns(inputs: Inputs, parked: Parked | None) -> dict[str, Any]:
    """Columns of the groups: what a node draws, costs and emits that is off; rented ones are given back."""
    if parked is None:
        return {}
    shape = (len(inputs.node_groups), inputs.periods)
    return {
        "may_park": ~inputs.rented,
        "off_kw": parked.facility_kw.value[:, 0],
        "off_usd_per_node": np.broadcast_to(parked.usd.value, shape),
        "off_kgco2e_per_node": np.broadcast_to(parked.kgco2e.value, shape),
        "off_kwh_per_node": np.broadcast_to(parked.kwh.value, shape),
    }


def cohort_table(standing: Standing, periods: int) -> Cohorts:
    """Cohorts of the fleet, and an empty one for each that a move may make."""
    shape = (len(standing.node_group), periods)
    none = np.zeros(shape)
    capital = none if standing.capital_usd is None else standing.capital_usd.value
    reuse = standing.second_life
    again: dict[str, Any] = {}
    if reuse is not None:
        again = {
            "reuse_limit": reuse.limit,
            "reuse_usd_per_node": np.broadcast_to(reuse.usd.value, shape),
            "reuse_kgco2e_per_node": np.broadcast_to(reuse.kgco2e.value, shape),
        }
    return Cohorts(
        **again,
        node_group=standing.node_group,
        nodes=standing.nodes,
        keep_usd_per_node=np.broadcast_to(standing.keep_usd.value + capital, shape),
        keep_kgco2e_per_node=np.broadcast_to(standing.keep_kgco2e.value, shape),
        retire_usd_per_node=none
        if standing.retire_usd is None
        else np.broadcast_to(standing.retire_usd.value, shape),
        must_retire_by=standing.must_retire_by,
        may_retire=standing.may_retire,
        available_fraction=np.broadcast_to(standing.available_fraction.value, shape),
    )


def move_table(standing: Standing, periods: int) -> Moves:
    """Ways between cohorts."""
    moving = standing.moving
    if moving is None:
        return Moves.none(periods)
    shape = (len(moving.entry), periods)
    return Moves(
        from_cohort=moving.from_cohort,
        to_cohort=moving.to_cohort,
        lead_periods=moving.lead_periods,
        usd_per_node=np.broadcast_to(moving.usd.value, shape),
        kgco2e_per_node=np.broadcast_to(moving.kgco2e.value, shape),
        away_fraction=moving.away_fraction,
    )


def tier_table(buying: Buying, periods: int) -> Tiers:
    """Rebates of framework contracts."""
    if not buying.rebates:
        return Tiers.none(periods)
    return Tiers(
        sku=buying.tier_sku, from_nodes=buying.tier_from_nodes, rebate_fraction=buying.tier_rebate_fraction
    )


def minimum_order_nodes(inputs: Inputs) -> NDArray[np.float64]:
    """Fewest nodes that each node group orders over the horizon, if it orders any."""
    least = {name: float(offer.minimum_nodes or 0) for name, offer in inputs.offers.items()}
    return np.array([least.get(inputs.skus[sku].name, 0.0) for sku in inputs.node_group_sku])


def most_standing_nodes(standing: Standing, groups: int) -> NDArray[np.float64]:
    """Standing nodes that each node group could hold, those that may move there included."""
    most = np.zeros(groups)
    np.add.at(most, standing.node_group, standing.nodes)
    if standing.moving is not None:
        pairs = np.unique(
            np.stack([standing.moving.from_cohort, standing.node_group[standing.moving.to_cohort]]), axis=1
        )
        np.add.at(most, pairs[1], standing.nodes[pairs[0]])
    return most


def node_group_table(inputs: Inputs, nodes: Nodes, buying: Buying) -> NodeGroups:
    """Nodes of one SKU at one site: what they cost, draw and take, by period."""
    shape = (len(inputs.node_groups), inputs.periods)
    allowed = np.repeat(may_be_ordered(inputs)[:, None], inputs.periods, axis=1)
    unit = np.ones(shape[0], dtype=int)
    for p in np.flatnonzero(allowed.any(axis=1)):
        unit[p] = inputs.order_nodes(inputs.offers[inputs.skus[inputs.node_group_sku[p]].name])
    ordering = np.broadcast_to(buying.order_usd.value, shape).copy()
    if buying.vintages is not None:
        w = buying.vintages
        held = np.broadcast_to(w.value.capital_usd.value, w.may_sell.shape) * w.held(inputs.periods)
        np.add.at(ordering, (w.node_group, w.ordered), held.sum(axis=1))

    def full(column: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.broadcast_to(column, shape)

    # Nodes by the hour go back when unused: of them idles only what replicas leave of whole ones.
    held = (~inputs.rented | inputs.reserved)[:, None]
    return NodeGroups(
        sku=inputs.node_group_sku,
        site=inputs.node_group_site,
        order_unit_nodes=unit,
        lead_periods=order_lead_periods(inputs),
        purchase_allowed=allowed,
        capex_usd_per_node=full(nodes.price_usd.value),
        holding_usd_per_node=full(buying.holding_usd.value),
        holding_kgco2e_per_node=full(nodes.owned_kgco2e.value),
        idle_kw=nodes.idle_facility_kw.value[:, 0],
        idle_usd_per_node=full(nodes.idle_usd.value) * held,
        idle_kgco2e_per_node=full(nodes.idle_kgco2e.value) * held,
        idle_kwh_per_node=full(nodes.idle_kwh.value) * held,
        racks_per_node=nodes.racks.value,
        hours=np.array(inputs.scenario.horizon.hours),
        order_usd_per_node=ordering * allowed,
        spares_for=inputs.spares_for,
    )


def sale_table(buying: Buying, periods: int) -> Sales:
    """Bought nodes that may be sold again, where that ends more of their capital cost than it takes."""
    if buying.vintages is None:
        return Sales.none(periods)
    w = buying.vintages
    held = np.broadcast_to(w.value.capital_usd.value, w.may_sell.shape) * w.held(periods)
    later = np.cumsum(held[:, ::-1], axis=1)[:, ::-1]
    usd, row = np.broadcast_to(w.value.sale_usd.value, held.shape) - later, w.for_sale
    return Sales(
        node_group=w.node_group[row], ordered=w.ordered[row], usd_per_node=usd[row], may_sell=w.may_sell[row]
    )


def job_table(inputs: Inputs) -> Jobs:
    """Training runs: how many, by when, and what leaving one out costs."""
    jobs = inputs.scenario.training
    return Jobs(
        name=tuple(job.name for job in jobs),
        optional=np.array([job.may_be_left_out for job in jobs], dtype=bool),
        left_out_usd=np.array([float(job.left_out_penalty_usd or 0.0) for job in jobs]),
        left_out_kgco2e=np.zeros(len(jobs)),
        count=np.array([job.count for job in jobs], dtype=int),
        partial=np.array([job.partial for job in jobs], dtype=bool),
    )


def spare_table(inputs: Inputs, nodes: Nodes, most: NDArray[Any]) -> SpareSteps:
    """Spares of each group over the nodes in use: the share that is stated, else what its failures ask for.

    What services are promised comes on top, for their nodes. Rented nodes have none: the provider replaces
    what fails; what lies on a shelf is a spare itself.
    """
    reliability = inputs.scenario.reliability
    repair_h = float(inputs.repair().value)

    @cache  # nodes of one SKU fail alike wherever they stand
    def steps(failure_rate_per_node_h: float, highest_nodes: int) -> Steps:
        if reliability.spare_share_fraction is not None:
            return level_table(reliability.spare_share_fraction, highest_nodes)
        return spare_steps(
            failure_rate_per_node_h=failure_rate_per_node_h,
            repair_h=repair_h,
            confidence_fraction=reliability.spare_confidence_fraction,
            highest_nodes=highest_nodes,
            variance_to_mean_ratio=down_variance_to_mean(inputs, highest_nodes).value,
        )

    rates = np.atleast_1d(nodes.failure_rate_per_node_h.value)
    each = [steps(float(rate), int(highest)) for rate, highest in zip(rates, most, strict=True)]
    group = np.repeat(np.arange(len(each)), [one.spares.size for one in each])
    own = has_spares(inputs)[group]
    plain = SpareSteps(
        node_group=group[own],
        spares=np.concatenate([one.spares for one in each]).astype(int)[own],
        reach=np.concatenate([one.reach_nodes for one in each])[own],
    )
    return with_promises(inputs, nodes, most, plain)


def has_spares(inputs: Inputs) -> NDArray[np.bool_]:
    """Node groups of one's own that work."""
    return ~(inputs.rented | inputs.on_shelf)


def with_promises(inputs: Inputs, nodes: Nodes, most: NDArray[Any], plain: SpareSteps) -> SpareSteps:
    """The same, and the spares that each promise to services asks for over the nodes that it is for."""
    rates = np.atleast_1d(nodes.failure_rate_per_node_h.value)
    up = node_up_fraction(inputs, nodes.failure_rate_per_node_h)
    tied = np.atleast_1d(outage_correlation(inputs, up).value)
    repair_h, highest = float(inputs.repair().value), int(most.max(initial=1))

    @cache
    def steps(failure_rate_per_node_h: float, correlation_fraction: float, promise_fraction: float) -> Steps:
        return promise_steps(
            failure_rate_per_node_h=failure_rate_per_node_h,
            repair_h=repair_h,
            promise_fraction=promise_fraction,
            highest_nodes=highest,
            correlation_fraction=correlation_fraction,
        )

    columns = [(plain.node_group, plain.spares, plain.reach, plain.promise)]
    for number, promise in enumerate(promises(inputs), start=1):
        wanted = float(spares_fraction(inputs, promise).value)
        for p in np.flatnonzero(has_spares(inputs)):
            found = steps(float(rates[p]), float(tied[p]), wanted)
            last = int(np.searchsorted(found.reach_nodes, float(most[p])))
            row = np.arange(min(last + 1, found.spares.size))
            columns.append(
                (
                    np.full(row.size, p),
                    found.spares[row].astype(np.int64),
                    np.minimum(found.reach_nodes[row], most[p]),
                    np.full(row.size, number),
                )
            )
    group, spares, reach, of_promise = (np.concatenate(each) for each in zip(*columns, strict=True))
    return SpareSteps(node_group=group, spares=spares, reach=reach, promise=of_promise)


def level_table(spare_share_fraction: float, highest_nodes: int) -> Steps:
    """Whole spares at one share of the nodes in use, whatever fails.  s = ceil(f * N)"""
    nodes = np.arange(1.0, highest_nodes + 1)
    needed = np.ceil(spare_share_fraction * nodes - ROUNDING)
    last = np.flatnonzero(np.diff(needed, append=np.inf))
    return Steps(needed[last], nodes[last])


def most_used(
    inputs: Inputs,
    nodes: Nodes,
    stands: Standing,
    runs: RunOptions,
    pausable: PausableOptions,
    replicas: ServeOptions,
) -> NDArray[Any]:
    """Nodes that could be in use in a node group: what stands there, and supply within racks and power.

    A node in use draws no less than one that idles. Where a battery or the sun carries a part of the load,
    the limit of power is no bound.

    Never below the largest single option, so that a supply limit of zero can be told as what it is.

    Raises:
        InputError: more than the tables of spares have rows for.
    """
    names = [sku.name for sku in inputs.skus]
    sites = inputs.scenario.sites
    most, standing = np.ones(len(inputs.node_groups)), most_standing_nodes(stands, len(inputs.node_groups))
    racks = np.broadcast_to(np.ravel(nodes.racks.value), most.shape)
    idle_kw = np.broadcast_to(nodes.idle_facility_kw.value[:, 0], most.shape)
    for p, (k, s) in enumerate(inputs.node_groups):
        if inputs.rented[p] or inputs.on_shelf[p]:
            continue
        room = math.floor(sites[s].racks / float(racks[p]))
        if not sites[s].has_energy and idle_kw[p] > 0:
            room = min(room, math.floor(max(sites[s].power_cap_kw) / float(idle_kw[p])))
        offer = inputs.offers.get(names[k])
        supply = 0 if offer is None else room if offer.supply_nodes is None else sum(offer.supply_nodes)
        most[p] = max(1, standing[p] + min(supply, room))
        if most[p] > MOST_NODES:
            room_said, most_said = count_text(most[p]), count_text(MOST_NODES)
            raise InputError(
                f"sites.{sites[s].name}.racks: room and supply for {room_said} nodes of {names[k]}; a plan "
                f"takes {most_said} of one SKU at a site: state fewer racks, less power_cap, or supply_nodes "
                "of the offer"
            )
    np.maximum.at(most, runs.node_group, runs.nodes.max(axis=1, initial=0))
    np.maximum.at(most, pausable.node_group, pausable.nodes)
    np.maximum.at(most, replicas.node_group, np.ceil(replicas.nodes))
    return most.astype(int)


def limit_table(inputs: Inputs) -> Limits:
    """Power, racks, supply, budget and carbon that a plan may use."""
    scenario = inputs.scenario
    supply = np.zeros((len(inputs.skus), inputs.periods))
    for k, sku in enumerate(inputs.skus):
        offer = inputs.offers.get(sku.name)
        if offer is not None:
            supply[k] = np.inf if offer.supply_nodes is None else offer.supply_nodes
    return Limits(
        power_kw=np.array([site.power_cap_kw for site in inputs.sites]),
        racks=np.array([float(site.racks) for site in inputs.sites]),
        supply_nodes=supply,
        budget_usd=np.array(scenario.policy.budget_usd or [np.inf] * inputs.periods, dtype=float),
        carbon_cap_kgco2e=math.inf
        if scenario.policy.carbon_cap_kgco2e is None
        else scenario.policy.carbon_cap_kgco2e,
        money_cap_usd=math.inf if scenario.policy.money_cap_usd is None else scenario.policy.money_cap_usd,
        minimum_nodes=minimum_order_nodes(inputs),
        carbon_cap_by_period_kgco2e=np.array(
            scenario.policy.carbon_cap_by_period_kgco2e or [np.inf] * inputs.periods, dtype=float
        ),
        **shared_power(inputs),
    )
