"""What decisions add up to, by plain sums of columns: nodes, node-hours, power, energy, money and carbon.

Nothing here knows the program or its engine, so that an answer can be checked against these sums.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.account_energy import energy_terms, installed_usd, net_kwh
from solver.account_slots import above_kw, lost_node_h, slot_terms, stopped_terms
from solver.problem import Problem
from solver.solution import Decisions as Decisions
from solver.solution import Solution, Terms
from solver.tables import Flags, Floats, Whole

NOTHING = 1e-7  # nodes: what an engine cannot tell from none


def totals_by(group: Whole, groups: int, rows: Floats | Whole) -> Floats:
    """Sum of the rows of each group.

    total[g] = sum of rows[x] over x with group[x] = g
    """
    total = np.zeros((groups, *rows.shape[1:]))
    np.add.at(total, group, rows)
    return total


def arriving(placed: NDArray[Any], lead_periods: Whole) -> NDArray[Any]:
    """What arrives in each period; nothing where that is after the end.

    a[x,t] = placed[x,t-lead[x]]
    """
    arrived = np.zeros_like(placed)
    periods = placed.shape[1]
    for row, lead in enumerate(lead_periods):
        arrived[row, lead:] = placed[row, : max(periods - lead, 0)]
    return arrived


def bought_nodes(problem: Problem, orders: Whole, sold: Whole) -> Whole:
    """Bought nodes in service.

    b[p,t] = sum over t' <= t - lead[p] of unit[p] * order[p,t'] - sum over b of p and t' <= t of sold[b,t']
    """
    groups = problem.node_groups
    placed = np.cumsum(orders * groups.order_unit_nodes[:, None], axis=1)
    gone = totals_by(problem.sales.node_group, len(groups), np.cumsum(sold, axis=1))
    return arriving(placed, groups.lead_periods) - gone.astype(np.int64)


def under_term(problem: Problem, committed: Whole) -> Whole:
    """Nodes that are rented for a term which has begun and not ended.

    r[p,t] = sum over t' from t - term[p] + 1 to t of committed[p,t']
    """
    begun = np.cumsum(committed, axis=1)
    held: Whole = begun - arriving(begun, problem.node_groups.rental_term_periods)
    return held


def standing_nodes(problem: Problem, retired: Whole, moved: Whole) -> Whole:
    """Nodes of each cohort that still stand.

    x[h,t] = x[h,t-1] - retire[h,t] + sum over m to h of move[m,t-lead[m]] - sum over m from h of move[m,t]
    """
    moves, cohorts = problem.moves, problem.cohorts
    gone = totals_by(moves.from_cohort, len(cohorts), moved)
    come = totals_by(moves.to_cohort, len(cohorts), arriving(moved, moves.lead_periods))
    balance = cohorts.nodes[:, None] + np.cumsum(come - gone - retired, axis=1)
    return np.rint(balance).astype(np.int64)


def down_nodes(problem: Problem, kept: Whole) -> Floats:
    """Standing nodes that are down beyond what spares cover.

    d[p,t] = sum_h (1 - available[h,t]) * x[h,t]
    """
    cohorts = problem.cohorts
    return totals_by(cohorts.node_group, len(problem.node_groups), (1 - cohorts.available_fraction) * kept)


def nodes_under_way(problem: Problem, moved: Whole, *, mean: bool) -> Floats:
    """Moved nodes that are not there yet in the period of their arrival: all of them, or the mean of it.

    w[p,t] = sum over m to p of share[m,t-lead[m]] * move[m,t-lead[m]];  share = away, or 1 where away > 0
    """
    moves, goal = problem.moves, problem.cohorts.node_group[problem.moves.to_cohort]
    share = moves.away_fraction if mean else (moves.away_fraction > 0).astype(float)
    return totals_by(goal, len(problem.node_groups), arriving(share * moved, moves.lead_periods))


def nodes_of_runs(problem: Problem, run: Whole) -> Floats:
    """Nodes that runs hold at once, at most, by node group and period.

    h[p,t] = max over instants k of sum_r nodes[r,t] * run[r] * holds[r,t,k]

    holds[r,t,k] = 1 where from[r,t] <= k < to[r,t]. What follows something holds its nodes after it. The
    most are held where a run begins, so that only these instants are looked at.
    """
    runs, held = problem.run_options, np.zeros((len(problem.node_groups), problem.periods))
    begun = run > 0
    for group in np.unique(runs.node_group[begun]).tolist():
        for period in range(problem.periods):
            own = np.flatnonzero(begun & (runs.node_group == group) & (runs.nodes[:, period] > 0))
            first, last = runs.from_h[own, period], runs.to_h[own, period]
            nodes = runs.nodes[own, period] * run[own]
            at_once = [nodes[(first <= instant) & (instant < last)].sum() for instant in first]
            held[group, period] = max(at_once, default=0.0)
    return held


def nodes_in_use(problem: Problem, run: Whole, replicas: Whole, done_node_h: Floats | None = None) -> Floats:
    """Nodes that runs, replicas and pausable jobs hold.

    u[p,t] = max over instants k of sum_r nodes[r,t] * run[r] * holds[r,t,k]
             + sum_v nodes[v] * replicas[v,t] + sum_e done[e,t] / hours[t]
    """
    serves, groups = problem.serve_options, len(problem.node_groups)
    held = nodes_of_runs(problem, run)
    held = held + totals_by(serves.node_group, groups, serves.nodes[:, None] * replicas)
    if done_node_h is None:
        return held
    return held + totals_by(
        problem.pausable_options.node_group, groups, done_node_h / problem.node_groups.hours
    )


def active_node_h(
    problem: Problem,
    run: Whole,
    replicas: Whole,
    work_node_h: Floats,
    done_node_h: Floats | None = None,
) -> Floats:
    """Node-hours in which something runs, per node group and period.

    a[p,t] = sum_r h[r,t] * run[r] + sum_v h[v,t] * replicas[v,t] + sum_o work[o,t] + sum_e done[e,t]
    """
    runs, serves, groups = problem.run_options, problem.serve_options, len(problem.node_groups)
    active = (
        totals_by(runs.node_group, groups, runs.node_hours * run[:, None])
        + totals_by(serves.node_group, groups, serves.node_hours * replicas)
        + totals_by(problem.work_options.node_group, groups, work_node_h)
    )
    if done_node_h is None:
        return active
    return active + totals_by(problem.pausable_options.node_group, groups, done_node_h)


def held_in_part(problem: Problem) -> Flags:
    """Node groups and periods in which parts of nodes are paid that replicas may leave [P, T]."""
    groups, serves = problem.node_groups, problem.serve_options
    parts = np.zeros(len(groups), dtype=bool)
    parts[serves.node_group[serves.nodes % 1.0 > 0]] = True
    found: Flags = parts[:, None] & (
        (groups.unfilled_usd_per_node > 0) | (groups.unfilled_kgco2e_per_node > 0)
    )
    return found


def whole_nodes(problem: Problem, replicas: Whole) -> tuple[Floats, Floats]:
    """Nodes that replicas hold in a node group, and the whole ones that they lie on [P, T].

    v[p,t] = sum_v nodes[v] * replicas[v,t];  w[p,t] = max(ceil(v[p,t]), apart[v,t] of those that serve)
    """
    serves = problem.serve_options
    held = totals_by(serves.node_group, len(problem.node_groups), serves.nodes[:, None] * replicas)
    return held, np.maximum(np.ceil(held - NOTHING), nodes_apart(problem, replicas))


def nodes_apart(problem: Problem, replicas: NDArray[Any]) -> Whole:
    """The fewest rented nodes that replicas of a node group lie on, so that some outlast a node [P, T].

    max over v with replicas[v,t] > 0 of apart[v,t]
    """
    serves = problem.serve_options
    found = np.zeros((len(problem.node_groups), problem.periods), dtype=np.int64)
    np.maximum.at(found, serves.node_group, serves.apart * (replicas > 0))
    return found


def unfilled_nodes(problem: Problem, chosen: Decisions) -> Floats:
    """Mean nodes that are paid although nothing uses them: parts that replicas leave and no work fills.

    q[p,t] = max(0, w[p,t] - v[p,t] - sum_o work[o,t] / hours[t]), where parts are paid
    """
    held, whole = whole_nodes(problem, chosen.replicas)
    works = problem.work_options
    filled = totals_by(works.node_group, len(problem.node_groups), chosen.work_node_h)
    left = np.maximum(whole - held - filled / problem.node_groups.hours, 0.0)
    left[left <= NOTHING] = 0.0
    return left * held_in_part(problem)


def racks_in_use(problem: Problem, run: Whole, in_service: NDArray[Any]) -> Floats:
    """Racks of nodes in service, and of what runs hold next to theirs, at each site [S, T]."""
    groups, runs, sites = problem.node_groups, problem.run_options, len(problem.site_names)
    here = ~groups.off_site[:, None]
    nodes = totals_by(groups.site, sites, groups.racks_per_node[:, None] * here * in_service)
    next_to: Floats = runs.racks * here[runs.node_group] * run[:, None]
    found: Floats = nodes + totals_by(groups.site[runs.node_group], sites, next_to)
    return found


def held_node_h(
    problem: Problem, run: Whole, replicas: Whole, work_node_h: Floats, done_node_h: Floats | None = None
) -> Floats:
    """Node-hours that something takes: work more than it runs, where its jobs do not fill them.

    h[p,t] = a[p,t] + sum_o (held[o,t] - 1) * work[o,t]
    """
    works = problem.work_options
    unfilled = totals_by(works.node_group, len(problem.node_groups), (works.held_ratio - 1) * work_node_h)
    return active_node_h(problem, run, replicas, work_node_h, done_node_h) + unfilled


def peak_kw(problem: Problem, chosen: Decisions, in_service: Whole) -> Floats:
    """Facility power at the peak, per site and period. Work and pausable jobs are taken as spread evenly.

    P[s,t] = sum_p idle[p] * (n[p,t] - parked[p,t]) + off[p] * parked[p,t] + sum_r kw[r,t] * run[r]
             + sum_v kw[v] * replicas[v,t] + sum_o kw[o] * work[o,t] / hours[t]
             + sum_e kw[e] * done[e,t] / hours[t], over the node groups at s that are not off-site
    """
    groups, runs, serves = problem.node_groups, problem.run_options, problem.serve_options
    works, pausable, count = problem.work_options, problem.pausable_options, len(problem.node_groups)
    power = groups.idle_kw[:, None] * (in_service - chosen.parked) + groups.off_kw[:, None] * chosen.parked
    power = power + totals_by(runs.node_group, count, runs.active_kw * chosen.run[:, None])
    power = power + totals_by(serves.node_group, count, serves.active_kw[:, None] * chosen.replicas)
    power = power + totals_by(
        works.node_group, count, works.active_kw[:, None] * chosen.work_node_h / groups.hours
    )
    power = power + totals_by(
        pausable.node_group, count, pausable.active_kw[:, None] * chosen.done_node_h / groups.hours
    )
    return totals_by(groups.site, len(problem.site_names), power * ~groups.off_site[:, None])


def shared_power_kw(problem: Problem, peak: Floats) -> Floats:
    """Facility power at the peak of the sites that share a limit, per limit and period.

    P[f,t] = sum over s of f of P[s,t]
    """
    shared: Floats = problem.limits.shared_power_sites.astype(float) @ peak
    return shared


def occupied_kw(problem: Problem, in_service: Whole) -> Floats:
    """Rated power of the nodes in service, per site and period.

    K[s,t] = sum over p at s of kw[p] * n[p,t], those off-site not counted
    """
    groups = problem.node_groups
    rated = (groups.space_kw * ~groups.off_site)[:, None] * in_service
    return totals_by(groups.site, len(problem.site_names), rated)


def drawn_kwh(problem: Problem, chosen: Decisions, idle_nodes: Floats) -> Floats:
    """Energy at the facility's meter, per site and period.

    E[s,t] = sum_p idle[p,t] * idle nodes + off[p,t] * parked[p,t] + sum_x kwh[x,t] * x[t] + slots[p,t],
             over the node groups at s that are not off-site; x is every run, replica, start, and node-hour,
             slots what is decided by slot. What work does not draw in calls and the sun are taken off,
             what batteries lose comes on top.
    """
    groups, runs, serves = problem.node_groups, problem.run_options, problem.serve_options
    works, pausable, count = problem.work_options, problem.pausable_options, len(problem.node_groups)
    energy = groups.idle_kwh_per_node * idle_nodes + groups.off_kwh_per_node * chosen.parked
    energy = energy + totals_by(runs.node_group, count, runs.kwh * chosen.run[:, None])
    energy = energy + totals_by(serves.node_group, count, serves.kwh * chosen.replicas)
    energy = energy + totals_by(serves.node_group, count, serves.start_kwh * started(chosen.replicas))
    energy = energy + totals_by(works.node_group, count, works.kwh_per_node_h * chosen.work_node_h)
    energy = energy + totals_by(pausable.node_group, count, pausable.kwh_per_node_h * chosen.done_node_h)
    energy = energy + sum(slot_terms(problem, chosen, "kwh").values())
    energy = energy + stopped_terms(problem, chosen, "kwh")
    there = totals_by(groups.site, len(problem.site_names), energy * ~groups.off_site[:, None])
    return there + net_kwh(problem, chosen)


def promised_nodes(problem: Problem, replicas: Whole, promise: int) -> Floats:
    """Nodes of replicas that are promised so much or more, but for those that stand by for repairs, too.

    u[q,p,t] = sum_v nodes[v] * replicas[v,t] - min(covers[v,t], nodes[v] * standby[v,t]) * stands[v,t]
    """
    serves = problem.serve_options
    lent = np.minimum(serves.covers, serves.nodes[:, None] * serves.standby) * stands_by(problem, replicas)
    held = serves.nodes[:, None] * replicas - lent
    own = (serves.promise >= promise)[:, None]
    return totals_by(serves.node_group, len(problem.node_groups), held * own)


def covered_nodes(problem: Problem, replicas: Whole, promise: int) -> Floats:
    """Nodes under repair that standby replicas with such a promise cover.

    k[q,p,t] = sum_v covers[v,t] * stands[v,t]
    """
    serves = problem.serve_options
    own = (serves.promise >= promise)[:, None]
    covered = serves.covers * stands_by(problem, replicas) * own
    return totals_by(serves.node_group, len(problem.node_groups), covered)


def stands_by(problem: Problem, replicas: Whole) -> Flags:
    """Options whose standby replicas are all there.

    stands[v,t] = 1 where replicas[v,t] >= standby[v,t]
    """
    found: Flags = replicas >= problem.serve_options.standby
    return found


def started(replicas: Whole) -> Whole:
    """Replicas that did not run in the period before.

    y[v,t] = max(0, replicas[v,t] - replicas[v,t-1]);  replicas[v,-1] = 0
    """
    more: Whole = np.maximum(np.diff(replicas, axis=1, prepend=0), 0)
    return more


def begun(replicas: Whole) -> Flags:
    """Options that serve and did not in the period before.

    b[v,t] = 1 where replicas[v,t] > 0 and replicas[v,t-1] = 0;  replicas[v,-1] = 0
    """
    serves: Flags = replicas > 0
    before = np.zeros_like(serves)
    before[:, 1:] = serves[:, :-1]
    found: Flags = serves & ~before
    return found


def spares_needed(problem: Problem, in_use: Floats, replicas: Whole, tolerance: float) -> Floats:
    """Fewest spares that are enough for every promise; infinite where no step reaches.

    s[p,t] = max over promises q of S[q,p](u[q,p,t]) - k[q,p,t],  u and k of promise 0: nodes in use, and 0
    S[q,p](u) = least of spares[g] over the steps g of q and p with u <= reach[g]; 0 where u = 0
    """
    needed = np.zeros_like(in_use)
    for promise in problem.spare_steps.promises():
        nodes, covered = in_use, np.zeros_like(in_use)
        if promise:
            nodes, covered = (each(problem, replicas, promise) for each in (promised_nodes, covered_nodes))
        needed = np.maximum(needed, spares_of_promise(problem, nodes, promise, tolerance) - covered)
    return needed


def spares_at_hand(problem: Problem, spares: NDArray[Any]) -> Floats:
    """Spares of each node group, with what lies on the shelf for it.

    ready[p,t] = spares[p,t] + sum of spares[p',t] over the node groups p' that lie on the shelf for p
    """
    shelf = problem.node_groups.spares_for
    ready = spares.astype(float)
    np.add.at(ready, shelf[shelf >= 0], spares[shelf >= 0])
    return ready


def spares_of_promise(problem: Problem, nodes: Floats, promise: int, tolerance: float) -> Floats:
    """Fewest spares by the steps of one promise.

    S[q,p](u) = least of spares[g] over the steps g of q and p with u <= reach[g]; 0 where u = 0
    """
    needed, steps = np.zeros_like(nodes), problem.spare_steps
    for group in np.unique(steps.node_group):
        rows, used = steps.of_node_group(int(group), promise), nodes[group][:, None]
        if not rows.size:
            continue
        enough = np.where(used <= steps.reach[rows] + tolerance, steps.spares[rows], np.inf).min(axis=1)
        needed[group] = np.where(nodes[group] > tolerance, enough, 0.0)
    return needed


def carried(problem: Problem, replicas: Whole) -> Floats:
    """Requests/s that replicas carry, those on standby not counted.

    c[i,t] = sum_v c[v,t], as in `carried_by_option`
    """
    each = carried_by_option(problem, replicas)
    return totals_by(problem.serve_options.service, len(problem.services), each)


def carried_by_option(problem: Problem, replicas: Whole) -> Floats:
    """Requests/s that the replicas of each option carry, those on standby not counted.

    c[v,t] = capacity[v,t] / (1 + standby share[v,t]) * max(0, replicas[v,t] - standby[v,t])
    """
    serves = problem.serve_options
    each = serves.capacity / (1 + serves.standby_fraction)
    carrying: Floats = each * np.maximum(replicas - serves.standby, 0)
    return carrying


def rebate_fraction(problem: Problem, orders: Whole) -> Floats:
    """The rebate on every node of a SKU: that of the best tier reached, 0 where none is.

    f[k] = max of rebate[g] over the tiers g of k with sum over p, t of unit[p] * order[p,t] >= from[g]
    """
    tiers, groups, skus = problem.tiers, problem.node_groups, len(problem.sku_names)
    bought = totals_by(groups.sku, skus, (orders * groups.order_unit_nodes[:, None]).sum(axis=1))
    rebate = np.zeros(skus)
    reached = bought[tiers.sku] >= tiers.from_nodes
    np.maximum.at(rebate, tiers.sku, tiers.rebate_fraction * reached)
    return rebate


def capex_usd(problem: Problem, orders: Whole) -> Floats:
    """Cash for the orders placed in each period.

    c[t] = sum_p (1 - f[k(p)]) * capex[p,t] * unit[p] * order[p,t]
    """
    groups = problem.node_groups
    paid = 1 - rebate_fraction(problem, orders)[groups.sku][:, None]
    cost: Floats = paid * groups.capex_usd_per_node * groups.order_unit_nodes[:, None] * orders
    total: Floats = cost.sum(axis=0)
    return total


def bought_usd(problem: Problem, chosen: Decisions) -> Floats:
    """Cash for what is bought for runs when they begin, and for pausable jobs as they are done.

    c[t] = sum_r bought[r] * run[r] of the runs that begin in t + sum_e bought[e] * (done[e,t] - lost[e,t])
    """
    runs, pausable = problem.run_options, problem.pausable_options
    begins = runs.start[:, None] == np.arange(problem.periods)
    begun: Floats = ((runs.bought_usd * chosen.run)[:, None] * begins).sum(axis=0)
    done: Floats = (
        pausable.bought_usd_per_node_h[:, None] * (chosen.done_node_h - lost_node_h(problem, chosen)[1])
    ).sum(axis=0)
    return begun + done


def budget_usd(problem: Problem, chosen: Decisions) -> Floats:
    """Cash of each period that the budget holds.

    c[t] = capex[t] + bought[t] + installed[t]
    """
    orders = capex_usd(problem, chosen.orders)
    return orders + bought_usd(problem, chosen) + installed_usd(problem, chosen)


def _usd_terms(
    problem: Problem, chosen: Decisions, bought: Whole, kept: Whole, in_service: Whole, idle_nodes: Floats
) -> Terms:
    """Money = sum of all parts, each a price times a count; space is max(committed, occupied) kilowatts"""
    groups, services, places = problem.node_groups, problem.services, problem.places
    rebate = rebate_fraction(problem, chosen.orders)[groups.sku][:, None]
    ordered = groups.order_unit_nodes[:, None] * chosen.orders
    priced = np.where(np.isfinite(services.unmet_usd), services.unmet_usd, 0.0)
    return Terms(
        purchase=groups.holding_usd_per_node * bought,
        order=(1 - rebate) * groups.order_usd_per_node * ordered,
        rental=groups.rental_usd_per_node * chosen.rented
        + groups.unfilled_usd_per_node * unfilled_nodes(problem, chosen),
        term_left=groups.term_left_usd_per_node * chosen.committed,
        keep=problem.cohorts.keep_usd_per_node * kept,
        retire=problem.cohorts.retire_usd_per_node * chosen.retired,
        reuse=problem.cohorts.reuse_usd_per_node * reused(problem, chosen),
        sell=problem.sales.usd_per_node * chosen.sold,
        move=problem.moves.usd_per_node * chosen.moved,
        run=problem.run_options.usd * chosen.run[:, None],
        pausable=problem.pausable_options.usd_per_node_h * chosen.done_node_h,
        serve=problem.serve_options.usd * chosen.replicas,
        start=problem.serve_options.start_usd * started(chosen.replicas),
        deploy=problem.serve_options.deployed_usd * (chosen.replicas > 0)
        + problem.serve_options.begun_usd * begun(chosen.replicas),
        work=problem.work_options.usd_per_node_h * chosen.work_node_h,
        adopt=problem.adoptions.usd * chosen.adopted[:, None],
        idle=groups.idle_usd_per_node * idle_nodes,
        parked=groups.off_usd_per_node * chosen.parked,
        contract=problem.contracts.usd_per_kwh * chosen.matched_kwh,
        unmet=priced * services.demand * chosen.shed_fraction,
        left_out=problem.jobs.left_out_usd * chosen.left_out,
        space=places.space_usd_per_kw * np.maximum(places.committed_kw, occupied_kw(problem, in_service)),
        peak=places.peak_usd_per_kw * (peak_kw(problem, chosen, in_service) + above_kw(problem, chosen)),
        curtail=-places.curtailed_usd * signed(problem, chosen)[:, None],
        stopped=stopped_terms(problem, chosen, "usd"),
        **slot_terms(problem, chosen, "usd"),
        **energy_terms(problem, chosen, "usd"),
    )


def _kgco2e_terms(
    problem: Problem, chosen: Decisions, bought: Whole, kept: Whole, idle_nodes: Floats
) -> Terms:
    """Carbon = sum of the same parts; orders, retirements, adoptions, unmet demand have none"""
    groups = problem.node_groups
    return Terms(
        purchase=groups.holding_kgco2e_per_node * bought,
        order=np.zeros(chosen.orders.shape),
        rental=groups.rental_kgco2e_per_node * chosen.rented
        + groups.unfilled_kgco2e_per_node * unfilled_nodes(problem, chosen),
        term_left=np.zeros(chosen.committed.shape),
        keep=problem.cohorts.keep_kgco2e_per_node * kept,
        retire=np.zeros(chosen.retired.shape),
        reuse=problem.cohorts.reuse_kgco2e_per_node * reused(problem, chosen),
        sell=np.zeros(chosen.sold.shape),
        move=problem.moves.kgco2e_per_node * chosen.moved,
        run=problem.run_options.kgco2e * chosen.run[:, None],
        pausable=problem.pausable_options.kgco2e_per_node_h * chosen.done_node_h,
        serve=problem.serve_options.kgco2e * chosen.replicas,
        start=problem.serve_options.start_kgco2e * started(chosen.replicas),
        deploy=problem.serve_options.deployed_kgco2e * (chosen.replicas > 0)
        + problem.serve_options.begun_kgco2e * begun(chosen.replicas),
        work=problem.work_options.kgco2e_per_node_h * chosen.work_node_h,
        adopt=np.zeros(problem.adoptions.usd.shape),
        idle=groups.idle_kgco2e_per_node * idle_nodes,
        parked=groups.off_kgco2e_per_node * chosen.parked,
        contract=-problem.contracts.kgco2e_per_kwh * chosen.matched_kwh,
        unmet=np.zeros(chosen.shed_fraction.shape),
        left_out=problem.jobs.left_out_kgco2e * chosen.left_out,
        space=np.zeros(problem.limits.power_kw.shape),
        peak=np.zeros(problem.limits.power_kw.shape),
        curtail=np.zeros(problem.limits.power_kw.shape),
        stopped=stopped_terms(problem, chosen, "kgco2e"),
        **slot_terms(problem, chosen, "kgco2e"),
        **energy_terms(problem, chosen, "kgco2e"),
    )


def signed(problem: Problem, chosen: Decisions) -> Floats:
    """1 where a contract for curtailment is signed [S]; who says nothing of it signs none."""
    found: Floats = np.zeros(len(problem.places)) + (chosen.signed if chosen.signed.size else 0.0)
    return found


def reused(problem: Problem, chosen: Decisions) -> Floats:
    """Retired nodes that go on in a lower tier [H, T]; none where nothing is said of it."""
    found: Floats = np.zeros((len(problem.cohorts), problem.periods))
    return found + chosen.reused if chosen.reused.size else found


def holding_costs(problem: Problem) -> Flags:
    """Node groups and periods where a rented node costs or emits something although nothing uses it."""
    groups = problem.node_groups
    rates = (
        groups.rental_usd_per_node,
        groups.rental_kgco2e_per_node,
        groups.idle_usd_per_node,
        groups.idle_kgco2e_per_node,
    )
    found: Flags = np.any([rate != 0 for rate in rates], axis=0)
    return found


def idle_nodes(problem: Problem, chosen: Decisions, in_service: Whole) -> Floats:
    """Mean nodes, in service or rented, that nothing uses and that are neither parked nor under way.

    i[p,t] = n[p,t] + rented[p,t] - parked[p,t] - w[p,t] - a[p,t] / hours[t]; 0 where that is what rounding
    leaves
    """
    active = active_node_h(problem, chosen.run, chosen.replicas, chosen.work_node_h, chosen.done_node_h)
    there = in_service - nodes_under_way(problem, chosen.moved, mean=True)
    idle: Floats = there + chosen.rented - chosen.parked - active / problem.node_groups.hours
    idle[np.abs(idle) <= NOTHING] = 0.0
    return idle


def nodes_in_service(problem: Problem, bought: Whole, kept: Whole) -> Whole:
    """Bought nodes and those that still stand.  n[p,t] = b[p,t] + sum over h of p of x[h,t]"""
    standing = totals_by(problem.cohorts.node_group, len(problem.node_groups), kept)
    return bought + standing.astype(np.int64)


def solution(problem: Problem, chosen: Decisions) -> Solution:
    """The plan that decisions make, with every term of its money and its carbon."""
    bought = bought_nodes(problem, chosen.orders, chosen.sold)
    kept = standing_nodes(problem, chosen.retired, chosen.moved)
    in_service = nodes_in_service(problem, bought, kept)
    idle = idle_nodes(problem, chosen, in_service)
    return Solution(
        **{part.name: getattr(chosen, part.name) for part in fields(Decisions)},
        bought_in_service=bought,
        kept=kept,
        in_service=in_service,
        in_use=nodes_in_use(problem, chosen.run, chosen.replicas, chosen.done_node_h),
        usd_terms=_usd_terms(problem, chosen, bought, kept, in_service, idle),
        kgco2e_terms=_kgco2e_terms(problem, chosen, bought, kept, idle),
    )
