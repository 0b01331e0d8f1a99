"""How much of each thing could be of use at once: upper bounds that keep the program tight.

A plan that orders more than could be used, spares included, is not looked at: only where idling earns would
it pay.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solver import account
from solver.account_slots import curtailed_fraction
from solver.problem import Problem
from solver.tables import Flags, Floats, Whole

ALMOST = 1e-9  # what rounding may have added to a count before it is rounded up


def whole_above(amount: Floats) -> Whole:
    """The least whole number that is no smaller."""
    return np.asarray(np.ceil(amount * (1 - ALMOST) - ALMOST), dtype=np.int64)


def allowed_runs(problem: Problem, any_lateness: bool) -> Flags:
    """Run options that keep their deadline, or all."""
    late = problem.run_options.late_h > problem.jobs.allowed_late_h[problem.run_options.job]
    return np.full(late.shape, True) if any_lateness else ~late


def most_replicas(problem: Problem) -> Whole:
    """Replicas that carry a service alone.

    most[v,t] = max(ceil(demand[i,t] * (1 + standby share[v,t]) / capacity[v,t]) + standby[v,t], least[v,t]);
    none without capacity or demand
    """
    serves = problem.serve_options
    needed = problem.services.demand[serves.service] * (1 + serves.standby_fraction)
    capacity = serves.capacity
    carrying = whole_above(np.divide(needed, capacity, out=np.zeros_like(needed), where=capacity > 0))
    most: Whole = np.maximum(carrying + serves.standby, serves.least) * (carrying > 0)
    return most


def most_started(problem: Problem, replicas: Whole) -> Whole:
    """Replicas that could start, where that costs or emits anything; none elsewhere."""
    serves = problem.serve_options
    return replicas * ((serves.start_usd > 0) | (serves.start_kgco2e > 0))


def most_begun(problem: Problem, replicas: Whole) -> Whole:
    """1 where an option could serve and setting it up has a price; 0 elsewhere."""
    may: Whole = ((replicas > 0) & problem.serve_options.charged_to_begin).astype(np.int64)
    return may


def most_work_nodes(problem: Problem) -> Floats:
    """Mean nodes that do a work alone.

    most[o,t] = usable[o,t] * demand_h[w,t] / (speed[o] * hours[t]); none without speed

    As much more as is lost where its site is curtailed. usable[o,t] is the least of usable[a,t] over the
    techniques a that o uses; 1 where it uses none.

    Mean nodes that work; it takes held[o,t] times as many.
    """
    options = problem.work_options
    needed = problem.work.demand_h[options.work] / problem.node_groups.hours
    usable = np.where(options.uses[:, :, None], problem.adoptions.usable_fraction, 1.0)
    needed = needed * usable.min(axis=1, initial=1.0)
    speed = options.speed[:, None]
    most: Floats = np.divide(needed, speed, out=np.zeros_like(needed), where=speed > 0)
    return most / (1.0 - curtailed_fraction(problem, options))[:, None]


def most_in_use(problem: Problem, allowed: Flags, replicas: Whole) -> Floats:
    """Nodes that all jobs and services together could hold of a node group, each by its largest option there.

    most[p,t] = sum_j count[j] * max(max_r nodes[r,t], max_e limit[e,t] / hours[t])
                + sum_i max_v nodes[v] * most[v,t], within the reach of the spares

    Options of a service that answer other regions each count by themselves.
    """
    runs, serves, pausable = problem.run_options, problem.serve_options, problem.pausable_options
    shape = (len(problem.node_groups), problem.periods)
    largest_run = np.zeros((len(problem.jobs), *shape))
    np.maximum.at(largest_run, (runs.job, runs.node_group), runs.nodes * allowed[:, None])
    np.maximum.at(
        largest_run,
        (pausable.job, pausable.node_group),
        pausable.node_hours_limit / problem.node_groups.hours,
    )
    largest_run *= problem.jobs.count[:, None, None]
    serving = _serving_nodes(problem, serves.nodes[:, None] * replicas)
    most: Floats = largest_run.sum(axis=0) + serving
    return within_reach(problem, most, 0)


def within_reach(problem: Problem, nodes: Floats, promise: int) -> Floats:
    """Nodes, no more of a node group than its steps of a promise reach."""
    steps, most = problem.spare_steps, nodes.copy()
    for group in np.unique(steps.node_group[steps.promise == promise]).tolist():
        most[group] = np.minimum(most[group], steps.reach[steps.of_node_group(group, promise)].max())
    return most


def most_promised(problem: Problem, replicas: Whole, promise: int) -> Floats:
    """Nodes of replicas with such a promise or a stricter one that a node group could hold.

    most[q,p,t] = sum_i max_v nodes[v] * most[v,t], within the reach of the spares
    """
    serves = problem.serve_options
    held = serves.nodes[:, None] * replicas * (serves.promise >= promise)[:, None]
    return within_reach(problem, _serving_nodes(problem, held), promise)


def _serving_nodes(problem: Problem, held: Floats) -> Floats:
    """Nodes that services together could hold of a node group, each by its largest option [V, T] there."""
    serves = problem.serve_options
    nodes = np.zeros((len(problem.node_groups), problem.periods))
    for answers in np.unique(serves.regions).tolist():
        mine = np.flatnonzero(serves.regions == answers)
        largest = np.zeros((len(problem.services), *nodes.shape))
        np.maximum.at(largest, (serves.service[mine], serves.node_group[mine]), held[mine])
        nodes += largest.sum(axis=0)
    return nodes


def most_spares(problem: Problem, in_use: Floats, replicas: Whole) -> Whole:
    """Spares that any number of nodes in use could ask for, standby replicas not counted."""
    needed = account.spares_of_promise(problem, in_use, 0, ALMOST)
    for promise in problem.spare_steps.promises():
        if promise:
            nodes = most_promised(problem, replicas, promise)
            needed = np.maximum(needed, account.spares_of_promise(problem, nodes, promise, ALMOST))
    found: Whole = np.where(np.isfinite(needed), needed, 0.0).astype(np.int64)
    shelf = problem.node_groups.spares_for
    found[shelf >= 0] = found[shelf[shelf >= 0]]
    return found


def fewest_spares(problem: Problem, in_use: Floats, replicas: Whole, in_service: Whole) -> Whole:
    """Spares that are just enough, those on a shelf first; none where no step reaches.

    That a step is missing, a check of the plan will find.
    """
    needed = account.spares_needed(problem, in_use, replicas, ALMOST)
    found = whole_above(np.where(np.isfinite(needed), needed, 0.0))
    for shelf in np.flatnonzero(problem.node_groups.spares_for >= 0).tolist():
        group = problem.node_groups.spares_for[shelf]
        found[shelf] = np.minimum(found[group], in_service[shelf])
        found[group] -= found[shelf]
    return found


def most_useful(problem: Problem, in_use: Floats, apart: Whole, spares: Whole, work: Floats) -> Whole:
    """Nodes that could be of use at once.

    most[p,t] = max(ceil(u[p,t]), apart[p,t]) + spares[p,t] + mean nodes that work + the fewest of a pausable
    job

    The last is there because such a job asks for so many nodes at once, but for less than that on average.
    """
    options, least = problem.pausable_options, np.zeros(len(problem.node_groups))
    np.maximum.at(least, options.node_group, options.nodes_least)
    held = problem.work_options.held_ratio * work
    work_nodes = account.totals_by(problem.work_options.node_group, len(problem.node_groups), held)
    return whole_above(whole_above(np.maximum(in_use, apart)) + spares + work_nodes + least[:, None])


def most_orders(problem: Problem, useful: Whole) -> Whole:
    """Order units that could all be used in some period after they arrive.

    most[p,t] = ceil(max over t' >= t + lead[p] of useful[p,t'] / unit[p]); 0 where not allowed

    Where a node group has a minimum order, any order that arrives may help to reach it; so it may a rebate.
    """
    groups, tiers = problem.node_groups, problem.tiers
    later = np.maximum.accumulate(useful[:, ::-1], axis=1)[:, ::-1]
    reach = np.zeros(len(problem.sku_names))
    np.maximum.at(reach, tiers.sku, tiers.from_nodes)
    wanted = np.zeros(useful.shape)
    for group, lead in enumerate(groups.lead_periods):
        in_time = slice(0, max(problem.periods - lead, 0))
        wanted[group, in_time] = later[group, lead:]
        if wanted[group].any():
            wanted[group, in_time] = np.maximum(wanted[group, in_time], problem.limits.minimum_nodes[group])
        wanted[group, in_time] = np.maximum(wanted[group, in_time], reach[groups.sku[group]])
    return whole_above(wanted / groups.order_unit_nodes[:, None]) * groups.purchase_allowed


def most_rebated(problem: Problem, orders: Whole, any_supply: bool) -> Floats:
    """Nodes that could be ordered at the rebate of a tier.

    most[g,p,t] = min(unit[p] * orders[p,t], supply[k,t]) of the groups of its SKU k; 0 where all that could
    be ordered of k does not reach the tier
    """
    groups, tiers = problem.node_groups, problem.tiers
    supply = np.full_like(problem.limits.supply_nodes, np.inf) if any_supply else problem.limits.supply_nodes
    ordered = np.minimum(groups.order_unit_nodes[:, None] * orders, supply[groups.sku])
    of_sku = account.totals_by(groups.sku, len(problem.sku_names), ordered)
    most = np.minimum(of_sku, supply).sum(axis=1)
    reached = most[tiers.sku] >= tiers.from_nodes
    same = tiers.sku[:, None] == groups.sku
    found: Floats = ordered * (same & reached[:, None])[:, :, None]
    return found


def most_retired(problem: Problem) -> Whole:
    """Nodes that could be retired of a cohort: its own, and where others may join it, all of its SKU."""
    most = problem.cohorts.nodes.copy()
    joined = problem.moves.to_cohort
    most[joined] = _standing_of_sku(problem)[joined]
    return most[:, None] * problem.cohorts.may_retire


def most_reused(problem: Problem) -> Whole:
    """Nodes of a cohort that could go on in a lower tier."""
    return np.minimum(most_retired(problem), problem.cohorts.reuse_limit[:, None])


def most_rented(problem: Problem, useful: Whole, ever: Whole) -> Floats:
    """Nodes that may be rented at once: no more than could be used, under a term than in any of its periods.

    most[p,t] = min(limit[p,t], useful[p,t]);  min(limit[p,t], max over t of ever[p,t]) where there is a term
    """
    groups = problem.node_groups
    ever = np.maximum(ever, groups.rental_signed_nodes)
    most: Floats = np.where(problem.under_term[:, None], ever.max(axis=1, keepdims=True), useful)
    return np.minimum(groups.rental_limit_nodes, most)


def most_committed(problem: Problem, useful: Whole) -> Floats:
    """Nodes whose term may begin in a period, within the limit of each period that it covers.

    most[p,t] = min(max of useful[p,t'], min of limit[p,t']) over t <= t' < t + term[p]; 0 without a term
    What is signed is held, useful or not.
    """
    groups = problem.node_groups
    most = np.zeros(useful.shape)
    for group in np.flatnonzero(groups.rental_term_periods):
        for period in np.flatnonzero(groups.rental_start_allowed[group]):
            held = slice(period, period + int(groups.rental_term_periods[group]))
            limit = float(groups.rental_limit_nodes[group, held].min())
            most[group, period] = min(float(useful[group, held].max()), np.floor(limit))
    return np.maximum(most, groups.rental_signed_nodes)


def most_sold(problem: Problem, orders: Whole) -> Whole:
    """Bought nodes that could be sold again: those of their order, where that makes something less.

    most[b,t] = unit[p] * orders[p,t'] of its order in t' where it may be sold and its sale ends more money or
    carbon than it takes; else 0
    """
    groups, sales = problem.node_groups, problem.sales
    later_usd, later_kgco2e = (
        from_now_on(column)[sales.node_group]
        for column in (
            groups.holding_usd_per_node + standing_usd(problem),
            groups.holding_kgco2e_per_node + np.maximum(groups.idle_kgco2e_per_node, 0.0),
        )
    )
    aim = problem.objective
    saves = aim.money_weight * (later_usd - sales.usd_per_node) + aim.carbon_weight * later_kgco2e > 0
    capped = (
        np.isfinite(problem.limits.carbon_cap_kgco2e)
        or np.isfinite(problem.limits.carbon_cap_by_period_kgco2e).any()
    )
    most = groups.order_unit_nodes[sales.node_group] * orders[sales.node_group, sales.ordered]
    arrives = sales.ordered + groups.lead_periods[sales.node_group]
    here = np.arange(problem.periods) >= arrives[:, None]
    return most[:, None] * (sales.may_sell & here & (saves | capped))


def standing_usd(problem: Problem) -> Floats:
    """The most that a node in service can be charged by its site in a period although nothing uses it.

    s[p,t] = space[s,t] * kw[p] + peak[s,t] * idle[p] + max(idle[p,t], 0); nothing of what is committed is off
    """
    groups, places = problem.node_groups, problem.places
    here = ~groups.off_site
    space = places.space_usd_per_kw[groups.site] * (groups.space_kw * here)[:, None]
    peak = places.peak_usd_per_kw[groups.site] * (groups.idle_kw * here)[:, None]
    charged: Floats = space + peak + np.maximum(groups.idle_usd_per_node, 0.0)
    return charged


def _standing_of_sku(problem: Problem) -> Whole:
    """Nodes that stand at first of the SKU of each cohort, at all sites."""
    sku = problem.node_groups.sku[problem.cohorts.node_group]
    standing = account.totals_by(sku, len(problem.sku_names), problem.cohorts.nodes)
    return standing[sku].astype(np.int64)


def most_moved(problem: Problem) -> Whole:
    """Nodes that could leave by a move: all that stand of its SKU, if they arrive in time to serve.

    most[m,t] = sum_h nodes[h] of the SKU, where t + lead[m] < min(T, end[h'] of the cohort joined); else 0
    """
    cohorts, moves = problem.cohorts, problem.moves
    standing = _standing_of_sku(problem)[moves.from_cohort]
    last = np.minimum(cohorts.must_retire_by[moves.to_cohort], problem.periods)
    arrival = np.arange(problem.periods) + moves.lead_periods[:, None]
    return standing[:, None] * (arrival < last[:, None])


def most_done(problem: Problem) -> Floats:
    """Mean nodes that a pausable option works with, of all its identical jobs.

    most[e,t] = count[j] * limit[e,t] / hours[t]
    """
    options = problem.pausable_options
    return problem.jobs.count[options.job][:, None] * options.node_hours_limit / problem.node_groups.hours


def from_now_on(column: Floats) -> Floats:
    """What a row adds up to from each period to the end.

    f[x,t] = sum over t' >= t of c[x,t']
    """
    return np.cumsum(column[:, ::-1], axis=1)[:, ::-1]


def from_arrival(problem: Problem, per_node: Floats) -> Floats:
    """What a node ordered in each period is charged from its arrival to the end.

    f[p,t] = sum over t' >= t + lead[p] of c[p,t']; 0 where it arrives after the end
    """
    return after_lead(problem.node_groups.lead_periods, per_node)


def at_arrival(lead_periods: Whole, per_node: Floats) -> Floats:
    """What a node sent off in each period is charged in the period of its arrival.

    f[x,t] = c[x,t+lead[x]]; 0 where it arrives after the end
    """
    charged = np.zeros_like(per_node)
    for row, lead in enumerate(lead_periods):
        charged[row, : max(per_node.shape[1] - lead, 0)] = per_node[row, lead:]
    return charged


def after_lead(lead_periods: Whole, per_node: Floats) -> Floats:
    """What a node sent off in each period is charged from its arrival to the end.

    f[x,t] = sum over t' >= t + lead[x] of c[x,t']; 0 where it arrives after the end
    """
    return at_arrival(lead_periods, from_now_on(per_node))


@dataclass(frozen=True, slots=True, eq=False)
class Sizes:
    """What could be of use to a problem at once."""

    runs: Flags  # [R] options that keep their deadline
    replicas: Whole  # [V, T]
    work: Floats  # [O, T] mean nodes
    in_use: Floats  # [P, T]
    spares: Whole  # [P, T]
    useful: Whole  # [P, T] nodes
    orders: Whole  # [P, T] order units


def sizes(problem: Problem, *, any_lateness: bool) -> Sizes:
    """Every bound that depends on what the fleet is for."""
    runs, replicas = allowed_runs(problem, any_lateness), most_replicas(problem)
    work, in_use = most_work_nodes(problem), most_in_use(problem, runs, replicas)
    spares = most_spares(problem, in_use, replicas)
    useful = most_useful(problem, in_use, account.nodes_apart(problem, replicas), spares, work)
    return Sizes(runs, replicas, work, in_use, spares, useful, most_orders(problem, useful))
