"""The operation of a plan chosen again when the world differs: what is bought stays, work is placed anew.

A linear program over all periods: nodes that serve, hours of pools, nodes rented on top, work not done. What
was decided once stays: orders, sales, terms, runs, pausable hours and spares. Counts may be fractions, those
of nodes on top that are ordered, kept or rented for a year are whole. Hours of nodes are rented as hours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.physics.chance import pool_headroom, serving_headroom
from planner.physics.nodes import energy_by_site
from planner.physics.procurement import rented_kgco2e
from planner.program.assembly import Assembled, objective_unit
from planner.trace.columns import Floats, Indices
from planner.trace.quantities import Traced, chosen, derive
from solver.account import (
    drawn_kwh,
    held_in_part,
    idle_nodes,
    nodes_apart,
    nodes_of_runs,
    nodes_under_way,
    peak_kw,
    shared_power_kw,
    totals_by,
)
from solver.account_energy import has_energy, shares_energy
from solver.account_slots import adopted_work_h, curtailed_fraction, lent_work_h
from solver.frontier import MONEY
from solver.problem import Objective, Problem, Solution

MOST_WAYS = 4000  # of services and pools; of a larger plan only those in use are chosen among
DEAR = 100.0  # times the dearest way: work is left undone only where nothing else is possible
ENDLESS = 1e7  # nodes or kilowatts: no limit
SEARCH_S, NEAR = 5.0, 1e-4  # for whole nodes: seconds, and how near to the bound is near enough
NODES = 1000  # of the search for them: the best is found by 500 (the shipped quarter), and the rest is proof
NONE = 1e-6  # nodes, and shares of demand: what a search cannot tell from none


@dataclass(frozen=True)
class World:
    """How things turn out: multiples of what the plan was made for, and the nodes that are there for work."""

    services: Floats  # [I, T] of demand
    pools: Floats  # [W, T] of demand
    serving: Floats  # [V] of the rate of each way to serve
    working: Floats  # [O] of the speed of each way to do pool work
    there: Floats  # [P, T] nodes for services and pools, over the hours of a period
    at_once: Floats  # [P, T] for services when runs hold most; pools take the hours that runs leave

    def less(self, nodes: Floats) -> World:
        """The same with so many nodes fewer in each period."""
        fewer = np.maximum(self.there - nodes, 0.0)
        return replace(self, there=fewer).less_at_once(nodes)

    def less_at_once(self, nodes: Floats) -> World:
        """The same with so many nodes fewer at the worst moment of each period, which services feel."""
        return replace(self, at_once=np.maximum(self.at_once - nodes, 0.0))


@dataclass(frozen=True)
class More:
    """Nodes beyond the fleet that may be had from a period on, at a price for all periods from there."""

    node_group: int
    first: int
    usd: float  # a node
    kgco2e: float
    most: float
    on_site: bool
    whole: int = 1  # nodes that come together


@dataclass(frozen=True)
class Means:
    """What may be done beyond placing work anew on the nodes that are there."""

    rent: bool = False  # nodes by the hour, beyond the offers of the scenario
    drop: bool = False  # demand at the penalty that the scenario states
    more: Sequence[More] = field(default_factory=tuple)


@dataclass(frozen=True)
class Operation:
    """What runs where, what is rented or left undone, and what that takes above idling."""

    serving: Floats  # [V, T] nodes
    working: Floats  # [O, T] node-hours of work
    rented: Floats  # [P, T] nodes on top, by the hour
    more: Floats  # nodes of each of the means
    unserved: Floats  # [I, T] share of demand
    undone: Floats  # [W, T] share of demand
    usd: float
    kgco2e: float
    kwh: float
    avoided_kgco2e: float = 0.0  # by contracts that cover a share of what is drawn
    unfilled: Floats | None = None  # [P, T] nodes by the hour that are paid in whole and not filled

    @property
    def uncontracted_kgco2e(self) -> float:
        """Its carbon without any contract."""
        return self.kgco2e + self.avoided_kgco2e


@dataclass(frozen=True)
class Desk:
    """What does not change from one world to the next: the ways, what each takes, what is there."""

    problem: Problem
    solution: Solution
    serve: Indices  # options that may serve
    work: Indices
    capacity: Floats  # [v, T] requests/s that a node carries
    hours_done: Floats  # [o] hours of the reference in an hour of work
    held: Floats  # [o, T] nodes for an hour of work
    there: Floats  # [P, T] as the plan has it, over the hours of a period
    at_once: Floats  # [P, T] when runs hold most
    power_left_kw: Floats  # [L, T] beyond runs and idling nodes, of each site and of sites that share a limit
    power_sites: NDArray[np.bool_]  # [L, S] whose power counts there
    whole: bool  # whether every way of the program is looked at
    traced: Mapping[str, Traced]  # what ways, idling and renting take, by kind
    lent_h: Floats  # (W, T) work that nodes of resting replicas do, which stays as planned
    adopted: Indices  # techniques of pools that the plan adopts
    adopted_lent_h: Floats  # (A, T) work that resting replicas do with each technique, which stays as well
    uncovered: Floats  # [P, T] share of the carbon of a further kilowatt-hour that no contract avoids

    def stated(self) -> World:
        """The world that the plan was made for."""
        problem = self.problem
        return World(
            1.0 - self.solution.shed_fraction,
            np.ones_like(problem.work.demand_h),
            np.ones(len(problem.serve_options)),
            np.ones(len(problem.work_options)),
            self.there,
            self.at_once,
        )

    def prices(self, values: Mapping[str, Any] | None = None) -> Prices:
        """What each way takes above idling, by these values of what is traced; those of the facts else."""
        problem, groups = self.problem, self.problem.node_groups
        serves, works = problem.serve_options, problem.work_options
        known = {name: node.value for name, node in self.traced.items()} | dict(values or {})
        of_serve, of_work = serves.node_group[self.serve], works.node_group[self.work]
        by_the_hour = (groups.off_site & ~problem.under_term)[:, None]  # nothing of it idles
        shape = (len(groups), problem.periods)
        found: dict[str, dict[str, Floats]] = {"serve": {}, "work": {}, "hourly": {}, "hired": {}}
        for kind in KINDS:
            standing = known[f"idle_{kind}"] * np.ones(shape)
            idle = np.where(by_the_hour, 0.0, standing)
            hired = np.zeros(shape)
            if f"hired_{kind}" in known:
                hired[self.hired] = known[f"hired_{kind}"]
            found["hired"][kind] = hired * groups.hours + np.where(by_the_hour, standing, 0.0)
            active_h = serves.node_hours[self.serve]
            each = known.get(f"serve_{kind}", np.zeros(active_h.shape)) + hired[of_serve] * active_h
            spared = idle[of_serve] * active_h / groups.hours
            found["serve"][kind] = (each - spared) / serves.nodes[self.serve][:, None]
            hour = known.get(f"work_{kind}", np.zeros((len(works), 1)))[self.work] + hired[of_work]
            found["work"][kind] = hour - idle[of_work] / groups.hours
        for way, group in (("serve", of_serve), ("work", of_work)):
            whole = found[way]["kgco2e"]
            found[way]["kgco2e"] = whole * self.uncovered[group]
            found[way][AVOIDED] = whole - found[way]["kgco2e"]
        usd = np.full(shape, np.inf)
        for name, value in known.items():
            if name.startswith("rent_usd "):
                usd[groups.sku == int(name.partition(" ")[2])] = value * groups.hours
        usd[groups.off_site] = np.inf
        found["hourly"]["usd"] = usd
        found["hourly"]["kgco2e"] = known["making_kgco2e"] + known["idle_kgco2e"] * np.ones(shape)
        return Prices(**found)

    def hired_beyond(self, found: Operation, stated: Operation) -> Floats:
        """Nodes of each offer by the hour beyond those of the plan, by period."""
        problem, works = self.problem, self.problem.work_options
        replicas = problem.serve_options.nodes[:, None] * self.solution.replicas
        held = works.held_ratio * self.solution.work_node_h / problem.node_groups.hours
        planned = self._hired_at_once(replicas, held)
        least = np.maximum(planned, self._hired_by_offer(stated))
        beyond: Floats = np.maximum(self._hired_by_offer(found) - least, 0.0)
        return beyond

    def _hired_by_offer(self, operation: Operation) -> Floats:
        """Nodes of each offer by the hour that an operation uses at once, by period."""
        held = np.zeros_like(operation.working)
        held[self.work] = operation.working[self.work] * self.held
        return self._hired_at_once(operation.serving, held)

    def _hired_at_once(self, serving: Floats, held: Floats) -> Floats:
        """Whole nodes of each offer by the hour, by period, for nodes of replicas [V, T] and of work [O, T].

        ceil(max(w[p,t], v[p,t] + h[p,t])): work fills what the v nodes of replicas leave of the w they lie on
        """
        problem, groups = self.problem, len(self.there)
        nodes = totals_by(problem.serve_options.node_group, groups, serving)
        lies = np.maximum(np.ceil(nodes - NONE), nodes_apart(problem, serving > NONE))
        nodes += totals_by(problem.work_options.node_group, groups, held)
        found: Floats = np.ceil(np.maximum(lies, nodes) - NONE)[self.hired]
        return found

    @property
    def hired(self) -> Indices:
        """Node groups that are rented by the hour."""
        return np.flatnonzero(self.problem.node_groups.off_site & ~self.problem.under_term)


@dataclass(frozen=True)
class Prices:
    """What a node that serves, an hour of work and a node rented on top take, by kind."""

    serve: Mapping[str, Floats]  # [v, T] above idling
    work: Mapping[str, Floats]  # [o, T] above idling
    hourly: Mapping[str, Floats]  # [P, T] a node through the period; inf where nobody rents it out
    hired: Mapping[str, Floats]  # [P, T] of the scenario's offers by the hour, a node that idles for a period


KINDS = ("usd", "kgco2e", "kwh")
AVOIDED = "avoided_kgco2e"  # what contracts avoid of the carbon of further energy


def desk(inputs: Inputs, assembled: Assembled, solution: Solution) -> Desk:
    """The ways to operate the fleet of a plan."""
    problem, periods = assembled.problem, assembled.problem.periods
    groups, serves, works = problem.node_groups, problem.serve_options, problem.work_options
    whole = (len(serves) + len(works)) * periods <= MOST_WAYS
    used = solution.replicas.sum(axis=1) > 0
    serve = _ways(problem, used) if whole else np.flatnonzero(used)
    signed = solution.signed[groups.site[works.node_group]] if solution.signed.size else 0.0
    kept = 1.0 - curtailed_fraction(problem, works) * signed
    able = ~(works.uses & (solution.adopted == 0)).any(axis=1)
    work = np.flatnonzero(able if whole else solution.work_node_h.sum(axis=1) > 0)
    rows, at = (axis.ravel() for axis in np.indices((len(serve), periods)))
    sku = groups.sku[serves.node_group[serve]]
    sure, extra = np.ones((len(serve), periods)), np.ones((len(work), periods))
    if len(serve):
        found = serving_headroom(inputs, serves.service[serve][rows], sku[rows], at)
        sure = np.asarray(found.value, dtype=float).reshape(sure.shape)
    if len(work):
        extra = np.asarray(pool_headroom(inputs, works.work[work], groups.sku[works.node_group[work]]).value)
    fixed = replace(
        solution,
        replicas=np.zeros_like(solution.replicas),
        work_node_h=np.zeros_like(solution.work_node_h),
        parked=np.zeros_like(solution.parked),
    )
    drawn_kw = peak_kw(problem, fixed, solution.in_service)
    carried_kw, shared_kw = _carried_kw(problem, solution)
    carrying = _carrying(problem, solution, serve) / serves.nodes[serve][:, None]
    return Desk(
        problem,
        solution,
        serve,
        work,
        capacity=able_per_s(assembled, serve, sure) * carrying,
        hours_done=(works.speed * kept)[work],
        held=works.held_ratio[work] / extra / groups.hours,
        there=_there(problem, solution, at_once=False),
        at_once=_there(problem, solution, at_once=True),
        power_left_kw=np.concatenate([carried_kw - drawn_kw, shared_kw - shared_power_kw(problem, drawn_kw)]),
        power_sites=np.concatenate(
            [np.eye(len(problem.site_names), dtype=bool), problem.limits.shared_power_sites.astype(bool)]
        ),
        whole=whole,
        traced=_traced(inputs, assembled, serve),
        lent_h=lent_work_h(problem, solution),
        adopted=np.flatnonzero(solution.adopted),
        adopted_lent_h=adopted_work_h(problem, solution)
        - works.uses.T.astype(float) @ (works.speed[:, None] * solution.work_node_h),
        uncovered=_uncovered(inputs, problem, solution),
    )


def able_per_s(assembled: Assembled, serve: Indices, headroom_ratio: Floats) -> Floats:
    """Requests/s that a replica of each way can carry [v, T], headroom for a confidence not taken off.

    The program deals the demand to the replicas that it needs. Where one is more than enough, what it is
    dealt is less than what it can carry.
    """
    serves, replicas = assembled.problem.serve_options, assembled.replicas
    dealt: Floats = serves.capacity[serve] * headroom_ratio
    if replicas is None or not len(serve):
        return dealt
    row = assembled.replica_row[serve]
    alone = np.asarray(replicas.carrying.value)[row] <= headroom_ratio * (1.0 + NONE)
    return np.where(alone, np.maximum(dealt, np.asarray(replicas.requests_per_s.value)[row]), dealt)


def _uncovered(inputs: Inputs, problem: Problem, solution: Solution) -> Floats:
    """What is left of the carbon of energy where contracts cover their share of whatever is drawn.

    u = 1 - sum_c a[c,t] (1 - CI_c / CI_market), over contracts that hold more than they cover
    """
    groups, contracts = problem.node_groups, problem.contracts
    left = np.ones((len(groups), problem.periods))
    if not solution.matched_kwh.any():
        return left
    drawn = drawn_kwh(problem, solution, idle_nodes(problem, solution, solution.in_service))
    market = np.array([float(one.value) for one in inputs.grid]).reshape(-1, problem.periods)
    for c, site in enumerate(contracts.site.tolist()):
        matched = solution.matched_kwh[c]
        free = matched < contracts.limit_kwh[c] * (1.0 - NEAR)
        share = np.divide(matched, drawn[site], out=np.zeros(problem.periods), where=drawn[site] > 0)
        avoided = np.divide(
            contracts.kgco2e_per_kwh[c], market[site], out=np.zeros(problem.periods), where=market[site] > 0
        )
        left[(groups.site == site) & ~groups.off_site] -= share * free * avoided
    return left


def _carried_kw(problem: Problem, solution: Solution) -> tuple[Floats, Floats]:
    """What sites, and sites that share, may draw at the peak: what batteries and the sun carry included."""
    limits, planned = problem.limits, peak_kw(problem, solution, solution.in_service)
    own, shared = has_energy(problem)[:, None], shares_energy(problem)[:, None]
    return (
        np.where(own, np.maximum(limits.power_kw, planned), limits.power_kw),
        np.where(
            shared,
            np.maximum(limits.shared_power_kw, shared_power_kw(problem, planned)),
            limits.shared_power_kw,
        ),
    )


def _traced(inputs: Inputs, assembled: Assembled, serve: Indices) -> dict[str, Traced]:
    """What ways to serve and to work, idling and renting take, each on its facts."""
    nodes, work, rented = assembled.nodes, assembled.work, assembled.rented
    found = {f"idle_{kind}": getattr(nodes, f"idle_{kind}") for kind in KINDS}
    if assembled.replicas is not None and len(serve):
        site = inputs.node_group_site[assembled.problem.serve_options.node_group[serve]]
        pue = np.array([float(one.value) for one in inputs.pue])[site][:, None]
        facility = np.asarray(assembled.replicas.facility_kwh.value)[assembled.replica_row[serve]]
        # The laws of power stand as stated: to draw them for every way would take longer than the search.
        drawn = chosen("it_energy_kwh", facility / pue, "of a replica through a period, at the stated facts")
        found |= zip(
            ("serve_kwh", "serve_usd", "serve_kgco2e"), energy_by_site(inputs, drawn, site), strict=True
        )
    each = {f"work_{kind}": work.with_egress(kind) for kind in ("usd", "kgco2e")}
    each |= {"work_kwh": work.facility_kwh}
    each |= {"hired_usd": rented.usd, "hired_kgco2e": rented.kgco2e}
    found |= {name: node for name, node in each.items() if node is not None}
    accelerators = inputs.server("accelerators")
    for k, sku in enumerate(inputs.skus):
        if inputs.has(key := f"rental.{sku.accelerator}.price"):
            found[f"rent_usd {k}"] = (inputs.fact(key) * accelerators[k]).named(
                "rented_node_usd_per_h", "Price of a node for an hour in use, its electricity included"
            )
    found["making_kgco2e"] = derive(
        rented_kgco2e,
        owned_kgco2e=nodes.owned_kgco2e,
        owned_h=inputs.period_h,
        utilisation_fraction=inputs.fact("rental.utilisation"),
        node_h=inputs.period_h,
    )
    return found


def _ways(problem: Problem, used: NDArray[np.bool_]) -> Indices:
    """What serves already, and where a service could go besides its cheapest way there."""
    serves = problem.serve_options
    kept = used.copy()
    pair = serves.service * len(problem.node_groups) + serves.node_group
    carried = np.maximum(serves.capacity.min(axis=1), 1e-12)
    dear = serves.usd.sum(axis=1) / carried
    for one in np.unique(pair):
        rows = np.flatnonzero(pair == one)
        if not used[rows].any():
            kept[rows[np.argmin(dear[rows])]] = True
    return np.flatnonzero(kept)


def _carrying(problem: Problem, solution: Solution, serve: Indices) -> Floats:
    """Share of the replicas of each way that carries; the others stand by."""
    serves = problem.serve_options
    replicas = solution.replicas[serve].astype(float)
    needed = problem.services.demand[serves.service[serve]] / np.maximum(serves.capacity[serve], 1e-12)
    least = np.maximum(needed, 1.0) + serves.standby[serve]
    count = np.where(replicas > 0, replicas, least * (1.0 + serves.standby_fraction[serve]))
    stands = np.minimum(serves.standby[serve], count)
    share = serves.standby_fraction[serve] / (1.0 + serves.standby_fraction[serve])
    found: Floats = (count - stands) * (1.0 - share) / count
    return np.maximum(found, 1e-9)


def _there(problem: Problem, solution: Solution, *, at_once: bool) -> Floats:
    """Nodes that are there for services and pools: less those of runs, spares and what is under way.

    Over the hours of a period, where what a run leaves when it ends is there for pools; or when runs hold
    most and what is under way has not arrived: that is there for services, as in the program.
    """
    groups, pausable, runs = problem.node_groups, problem.pausable_options, problem.run_options
    there = solution.in_service.astype(float)
    under_term, off = problem.under_term, groups.off_site
    there[under_term] += solution.rented[under_term]
    hourly = off & ~under_term
    there[hourly] = groups.rental_limit_nodes[hourly]
    if at_once:
        held = nodes_of_runs(problem, solution.run)
    else:
        held = totals_by(runs.node_group, len(groups), runs.node_hours * solution.run[:, None]) / groups.hours
    held += totals_by(pausable.node_group, len(groups), solution.done_node_h / groups.hours)
    held += solution.spares + nodes_under_way(problem, solution.moved, mean=not at_once)
    found: Floats = np.maximum(there - held, 0.0)
    return found


def _weights(problem: Problem) -> Objective:
    return problem.objective if objective_unit(problem.objective) == "USD" else MONEY


def operate(at: Desk, world: World, means: Means, prices: Prices) -> Operation | None:
    """The cheapest operation, by the weights of the plan's objective; None where no means is enough.

    Of a plan whose last objective is carbon it is the one of least money: by carbon alone clean nodes would
    be rented at any price, and demand left out at any penalty.
    With nodes to rent there is always one: what nobody rents out is then left undone.
    """
    problem, (groups, periods) = at.problem, at.there.shape
    serves, works, weights = problem.serve_options, problem.work_options, _weights(problem)
    demand = problem.services.demand * world.services
    wanted = np.maximum(problem.work.demand_h * world.pools - at.lent_h, 0.0)
    table = _Table(periods)

    def cost(usd: Floats, kgco2e: Floats) -> Floats:
        return weights.money_weight * usd + weights.carbon_weight * kgco2e

    serve, work = (table.columns(cost(each["usd"], each["kgco2e"])) for each in (prices.serve, prices.work))
    n_serve, n_work = serves.node_group[at.serve], works.node_group[at.work]
    carry = table.rows(-demand)
    table.put(carry[serves.service[at.serve]], serve, -at.capacity * world.serving[at.serve][:, None])
    done = table.rows(-wanted)
    speed = (at.hours_done * world.working[at.work])[:, None]
    table.put(done[works.work[at.work]], work, -speed * np.ones_like(at.held))
    adoptions = problem.adoptions
    needed = problem.work.demand_h * world.pools
    usable = adoptions.usable_fraction * needed[adoptions.work] - at.adopted_lent_h
    by_technique = table.rows(np.maximum(usable[at.adopted], 0.0))
    for row, a in enumerate(at.adopted.tolist()):
        own = works.uses[at.work, a]
        put_in = np.broadcast_to(by_technique[row], work[own].shape)
        table.put(put_in, work[own], speed[own] * np.ones_like(at.held[own]))
    room, at_once = (table.rows(np.minimum(nodes, ENDLESS)) for nodes in (world.there, world.at_once))
    table.put(room[n_work], work, at.held)
    for rows in (room, at_once):
        table.put(rows[n_serve], serve, np.ones_like(at.capacity))
    capped = np.flatnonzero(np.isfinite(at.power_left_kw).any(axis=1)).tolist()
    power = table.rows(np.minimum(at.power_left_kw, ENDLESS))
    for of, columns, kw in (
        (
            n_serve,
            serve,
            (serves.active_kw[at.serve] / serves.nodes[at.serve])[:, None] * np.ones_like(at.capacity),
        ),
        (n_work, work, (works.active_kw[at.work] / problem.node_groups.hours[:, None]).T),
    ):
        for limit in capped:
            own = ~problem.node_groups.off_site[of] & at.power_sites[limit, problem.node_groups.site[of]]
            table.put(power[limit] * np.ones_like(columns[own]), columns[own], kw[own])
    drawn_kw = _working_kw(problem)
    per_usd, per_kgco2e = prices.hourly["usd"], prices.hourly["kgco2e"]
    rentable = np.flatnonzero(np.isfinite(per_usd).all(axis=1) & means.rent)
    hourly = table.columns(cost(per_usd[rentable], per_kgco2e[rentable]))
    for rows in (room, at_once):
        table.put(rows[rentable], hourly, -np.ones(hourly.shape))
    # What is rented draws its power elsewhere.
    elsewhere = -drawn_kw[rentable][:, None] * np.ones(hourly.shape)
    for limit in capped:
        own = at.power_sites[limit, problem.node_groups.site[rentable]]
        table.put(power[limit] * np.ones_like(hourly[own]), hourly[own], elsewhere[own])
    more = table.single(
        [
            one.whole * (weights.money_weight * one.usd + weights.carbon_weight * one.kgco2e)
            for one in means.more
        ],
        [(0.0, one.most / one.whole) for one in means.more],
    )
    for one, column in zip(means.more, more.tolist(), strict=True):
        later = np.arange(one.first, periods)
        each = np.full(later.shape, float(one.whole))
        for rows in (room, at_once):
            table.put(rows[one.node_group, later], np.full(later.shape, column), -each)
        kw = problem.node_groups.idle_kw[one.node_group] if one.on_site else -drawn_kw[one.node_group]
        site = int(problem.node_groups.site[one.node_group])
        for limit in np.flatnonzero(at.power_sites[:, site]).tolist():
            table.put(power[limit, later], np.full(later.shape, column), each * kw)
    penalty = problem.services.unmet_usd if means.drop else np.full(demand.shape, np.inf)
    dear = DEAR * max(float(np.abs(table.costs()).max(initial=0.0)), 1.0)
    stated = np.isfinite(penalty)
    least = np.minimum(at.capacity.min(initial=1.0), 1.0)
    unserved = table.columns(
        np.where(stated, weights.money_weight * np.where(stated, penalty, 0.0), dear / least)
    )
    table.put(carry, unserved, -np.ones(demand.shape))
    undone = table.columns(np.full(wanted.shape, dear))
    table.put(done, undone, -np.ones(wanted.shape))
    found = table.solve()
    if found is None:
        return None
    serving, working, rented = found[serve], found[work], found[hourly]
    left, left_h = found[unserved], found[undone]
    nodes = found[more] * np.array([one.whole for one in means.more], dtype=float)
    if not means.rent and ((left[~stated] > NONE * demand[~stated]).any() or (left_h > NONE * wanted).any()):
        return None
    taken = {
        kind: float((serving * prices.serve[kind]).sum() + (working * prices.work[kind]).sum())
        for kind in (*KINDS, AVOIDED)
    }
    for kind in ("usd", "kgco2e"):
        taken[kind] += float((rented * prices.hourly[kind][rentable]).sum())
        taken[kind] += sum(n * getattr(one, kind) for n, one in zip(nodes.tolist(), means.more, strict=True))
    taken["usd"] += float((left * np.where(stated, penalty, 0.0)).sum())
    # Whole nodes are paid where services stand on nodes by the hour: the search itself takes parts.
    held = totals_by(n_serve, groups, serving)
    filled = totals_by(n_work, groups, working / problem.node_groups.hours)
    stands = np.zeros((len(serves), periods))
    stands[at.serve] = serving > NONE
    whole = np.maximum(np.ceil(held - NONE), nodes_apart(problem, stands))
    unfilled = np.maximum(whole - held - filled, 0.0) * held_in_part(problem)
    for kind in KINDS:
        taken[kind] += float((unfilled * prices.hired[kind]).sum())
    on_top = np.zeros((groups, periods))
    on_top[rentable] = rented
    every = np.zeros((len(serves), periods)), np.zeros((len(works), periods))
    every[0][at.serve], every[1][at.work] = serving, working
    return Operation(
        *every,
        on_top,
        nodes,
        np.divide(left, demand, out=np.zeros_like(demand), where=demand > 0),
        np.divide(left_h, wanted, out=np.zeros_like(wanted), where=wanted > 0),
        taken["usd"],
        taken["kgco2e"],
        taken["kwh"],
        taken[AVOIDED],
        unfilled,
    )


def _working_kw(problem: Problem) -> Floats:
    """Most that work on a node of each group adds to its idle power."""
    found = np.zeros(len(problem.node_groups))
    serves, works = problem.serve_options, problem.work_options
    np.maximum.at(found, serves.node_group, serves.active_kw / serves.nodes)
    np.maximum.at(found, works.node_group, works.active_kw)
    return found


class _Table:
    """A linear program as it is put together: columns by period, rows at most a value."""

    def __init__(self, periods: int) -> None:
        self.periods, self.count, self.held = periods, 0, 0
        self._costs: list[Floats] = []
        self._whole: list[Indices] = []
        self._bounds: list[Floats] = []
        self._limits: list[Floats] = []
        self._entries: list[tuple[Indices, Indices, Floats]] = []

    def columns(self, costs: Floats) -> Indices:
        """One column for each entry, from 0 up."""
        bounds = np.stack([np.zeros(costs.size), np.full(costs.size, np.inf)], axis=1)
        return self._add(costs, bounds, whole=False)

    def single(self, costs: Sequence[float], bounds: Sequence[tuple[float, float]]) -> Indices:
        """Whole columns that hold for several periods."""
        limits = np.asarray(bounds, dtype=float).reshape(-1, 2)
        return self._add(np.asarray(costs, dtype=float), limits, whole=True)

    def _add(self, costs: Floats, bounds: Floats, whole: bool) -> Indices:
        found = self.count + np.arange(costs.size).reshape(costs.shape)
        self.count += costs.size
        self._costs.append(costs.ravel())
        self._whole.append(np.full(costs.size, int(whole)))
        self._bounds.append(bounds)
        return found

    def costs(self) -> Floats:
        """Of all columns so far."""
        return np.concatenate(self._costs) if self._costs else np.zeros(0)

    def rows(self, most: Floats) -> Indices:
        """One row for each entry: what stands in it adds up to at most so much."""
        found = self.held + np.arange(most.size).reshape(most.shape)
        self.held += most.size
        self._limits.append(most.ravel())
        return found

    def put(self, rows: Indices, columns: Indices, values: Floats) -> None:
        """Entries of the matrix."""
        self._entries.append((rows.ravel(), columns.ravel(), np.asarray(values, dtype=float).ravel()))

    def solve(self) -> Floats | None:
        """Values of all columns, None where there are none that keep the rows, or none was found in time."""
        from scipy.optimize import Bounds, LinearConstraint, milp  # slow to import
        from scipy.sparse import coo_array

        if not self.count:
            return np.zeros(0)
        row, column, value = (np.concatenate(part) for part in zip(*self._entries, strict=True))
        matrix = coo_array((value, (row, column)), shape=(self.held, self.count)).tocsr()
        low, high = np.concatenate(self._bounds).T
        most = np.concatenate(self._limits)
        whole = np.concatenate(self._whole)
        found = milp(
            self.costs(),
            integrality=whole,
            bounds=Bounds(low, high),
            constraints=LinearConstraint(matrix, -np.inf, most),
            options={"time_limit": SEARCH_S, "node_limit": NODES, "mip_rel_gap": NEAR} if whole.any() else {},
        )
        return None if found.x is None else np.maximum(found.x, 0.0)
