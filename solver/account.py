"""What decisions add up to, by plain sums of columns: nodes, node-hours, power, money and carbon.

Nothing here knows the program or its engine, so that an answer can be checked against these sums.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solver.problem import Problem, Solution, Terms
from solver.tables import Flags, Floats, Whole


@dataclass(frozen=True, slots=True, eq=False)
class Decisions:
    """What is chosen; all else follows from it."""

    orders: Whole  # [P, T] order units
    retired: Whole  # [H, T]
    run: Flags  # [R]
    left_out: Flags  # [J]
    replicas: Whole  # [V, T]
    work_node_h: Floats  # [O, T]
    spares: Whole  # [P, T]


def totals_by(group: Whole, groups: int, rows: Floats | Whole) -> Floats:
    """Sum of the rows of each group.

    total[g] = sum of rows[x] over x with group[x] = g
    """
    total = np.zeros((groups, *rows.shape[1:]))
    np.add.at(total, group, rows)
    return total


def bought_nodes(problem: Problem, orders: Whole) -> Whole:
    """Bought nodes in service.

    b[p,t] = sum over t' <= t - lead[p] of unit[p] * order[p,t']
    """
    placed = np.cumsum(orders * problem.pools.order_unit_nodes[:, None], axis=1)
    arrived = np.zeros_like(placed)
    for pool, lead in enumerate(problem.pools.lead_periods):
        if lead < problem.periods:
            arrived[pool, lead:] = placed[pool, : problem.periods - lead]
    return arrived


def nodes_in_use(problem: Problem, run: Flags, replicas: Whole) -> Floats:
    """Nodes that runs and replicas hold.

    u[p,t] = sum_r nodes[r,t] * run[r] + sum_v nodes[v] * replicas[v,t], over the options on p
    """
    runs, serves, pools = problem.run_options, problem.serve_options, len(problem.pools)
    return totals_by(runs.pool, pools, runs.nodes * run[:, None]) + totals_by(
        serves.pool, pools, serves.nodes[:, None] * replicas
    )


def active_node_h(problem: Problem, run: Flags, replicas: Whole, work_node_h: Floats) -> Floats:
    """Node-hours in which something runs, per pool and period.

    a[p,t] = sum_r h[r,t] * run[r] + sum_v h[v,t] * replicas[v,t] + sum_o work[o,t], over the options on p
    """
    runs, serves, pools = problem.run_options, problem.serve_options, len(problem.pools)
    return (
        totals_by(runs.pool, pools, runs.node_hours * run[:, None])
        + totals_by(serves.pool, pools, serves.node_hours * replicas)
        + totals_by(problem.work_options.pool, pools, work_node_h)
    )


def peak_kw(problem: Problem, chosen: Decisions | Solution, in_service: Whole) -> Floats:
    """Facility power at the peak, per site and period. Preemptible work is taken as spread evenly.

    P[s,t] = sum_p idle[p] * n[p,t] + sum_r kw[r,t] * run[r] + sum_v kw[v] * replicas[v,t]
             + sum_o kw[o] * work[o,t] / hours[t], over what is at s
    """
    pools, runs, serves = problem.pools, problem.run_options, problem.serve_options
    works, count = problem.work_options, len(problem.pools)
    power = pools.idle_kw[:, None] * in_service
    power = power + totals_by(runs.pool, count, runs.active_kw * chosen.run[:, None])
    power = power + totals_by(serves.pool, count, serves.active_kw[:, None] * chosen.replicas)
    power = power + totals_by(works.pool, count, works.active_kw[:, None] * chosen.work_node_h / pools.hours)
    return totals_by(pools.site, len(problem.site_names), power)


def spares_needed(problem: Problem, in_use: Floats, tolerance: float) -> Floats:
    """Fewest spares that are enough for the nodes in use; infinite where no step reaches.

    q[p,t] = least of spares[g] over the steps g of p with u[p,t] <= reach[g]; 0 where u = 0
    """
    needed = np.zeros_like(in_use)
    steps = problem.spare_steps
    for pool in np.unique(steps.pool):
        rows, used = steps.of_pool(int(pool)), in_use[pool][:, None]
        enough = np.where(used <= steps.reach[rows] + tolerance, steps.spares[rows], np.inf).min(axis=1)
        needed[pool] = np.where(in_use[pool] > tolerance, enough, 0.0)
    return needed


def _usd_terms(problem: Problem, chosen: Decisions, bought: Whole, kept: Whole, idle_nodes: Floats) -> Terms:
    """Money = purchase + keep + retire + run + serve + work + idle + left out"""
    return Terms(
        purchase=problem.pools.holding_usd_per_node * bought,
        keep=problem.cohorts.keep_usd_per_node * kept,
        retire=problem.cohorts.retire_usd_per_node * chosen.retired,
        run=problem.run_options.usd * chosen.run[:, None],
        serve=problem.serve_options.usd * chosen.replicas,
        work=problem.work_options.usd_per_node_h * chosen.work_node_h,
        idle=problem.pools.idle_usd_per_node * idle_nodes,
        left_out=problem.jobs.left_out_usd * chosen.left_out,
    )


def _kgco2e_terms(
    problem: Problem, chosen: Decisions, bought: Whole, kept: Whole, idle_nodes: Floats
) -> Terms:
    """Carbon = purchase + keep + run + serve + work + idle + left out; retiring emits nothing"""
    return Terms(
        purchase=problem.pools.holding_kgco2e_per_node * bought,
        keep=problem.cohorts.keep_kgco2e_per_node * kept,
        retire=np.zeros(chosen.retired.shape),
        run=problem.run_options.kgco2e * chosen.run[:, None],
        serve=problem.serve_options.kgco2e * chosen.replicas,
        work=problem.work_options.kgco2e_per_node_h * chosen.work_node_h,
        idle=problem.pools.idle_kgco2e_per_node * idle_nodes,
        left_out=problem.jobs.left_out_kgco2e * chosen.left_out,
    )


def solution(problem: Problem, chosen: Decisions) -> Solution:
    """The plan that decisions make, with every term of its money and its carbon."""
    pools, cohorts = problem.pools, problem.cohorts
    bought = bought_nodes(problem, chosen.orders)
    kept = cohorts.nodes[:, None] - np.cumsum(chosen.retired, axis=1)
    in_service = bought + totals_by(cohorts.pool, len(pools), kept).astype(np.int64)
    active = active_node_h(problem, chosen.run, chosen.replicas, chosen.work_node_h)
    idle_nodes = in_service - active / pools.hours

    return Solution(
        orders=chosen.orders,
        retired=chosen.retired,
        run=chosen.run,
        left_out=chosen.left_out,
        replicas=chosen.replicas,
        work_node_h=chosen.work_node_h,
        spares=chosen.spares,
        bought_in_service=bought,
        kept=kept,
        in_service=in_service,
        in_use=nodes_in_use(problem, chosen.run, chosen.replicas),
        usd_terms=_usd_terms(problem, chosen, bought, kept, idle_nodes),
        kgco2e_terms=_kgco2e_terms(problem, chosen, bought, kept, idle_nodes),
    )
