"""How much of each thing could be of use at once: upper bounds that keep the program tight.

A plan that orders more than could be used, spares included, is not looked at: only where idling earns would
it pay.
"""

from __future__ import annotations

import numpy as np

from solver import account
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

    most[v,t] = ceil(demand[i,t] * (1 + standby[v]) / capacity[v]); none without capacity
    """
    serves = problem.serve_options
    needed = problem.services.demand[serves.service] * (1 + serves.standby_fraction[:, None])
    capacity = serves.capacity[:, None]
    return whole_above(np.divide(needed, capacity, out=np.zeros_like(needed), where=capacity > 0))


def most_work_nodes(problem: Problem) -> Floats:
    """Mean nodes that do a work alone.

    most[o,t] = demand_h[w,t] / (speed[o] * hours[t]); none without speed
    """
    options = problem.work_options
    needed = problem.work.demand_h[options.work] / problem.pools.hours
    speed = options.speed[:, None]
    return np.divide(needed, speed, out=np.zeros_like(needed), where=speed > 0)


def most_in_use(problem: Problem, allowed: Flags, replicas: Whole) -> Floats:
    """Nodes that all jobs and services together could hold of a pool, each by its largest option there.

    most[p,t] = sum_j max_r nodes[r,t] + sum_i max_v nodes[v] * most[v,t], within the reach of the spares
    """
    runs, serves = problem.run_options, problem.serve_options
    shape = (len(problem.pools), problem.periods)
    largest_run = np.zeros((len(problem.jobs), *shape))
    np.maximum.at(largest_run, (runs.job, runs.pool), runs.nodes * allowed[:, None])
    largest_serve = np.zeros((len(problem.services), *shape))
    np.maximum.at(largest_serve, (serves.service, serves.pool), serves.nodes[:, None] * replicas)
    most: Floats = largest_run.sum(axis=0) + largest_serve.sum(axis=0)
    steps = problem.spare_steps
    for pool in np.unique(steps.pool):
        most[pool] = np.minimum(most[pool], steps.reach[steps.of_pool(int(pool))].max())
    return most


def fewest_spares(problem: Problem, in_use: Floats) -> Whole:
    """Spares that are just enough; none where no step reaches, which a check of the plan will find."""
    needed = account.spares_needed(problem, in_use, ALMOST)
    return np.where(np.isfinite(needed), needed, 0.0).astype(np.int64)


def most_orders(problem: Problem, in_use: Floats, spares: Whole, work: Floats) -> Whole:
    """Order units that could all be used in some period after they arrive.

    most[p,t] = ceil(max over t' >= t + lead[p] of (u + spares + work)[p,t'] / unit[p]); 0 where not allowed

    Where a pool has a minimum order, any order that arrives may help to reach it.
    """
    pools = problem.pools
    nodes = whole_above(in_use) + spares + account.totals_by(problem.work_options.pool, len(pools), work)
    useful = np.maximum.accumulate(nodes[:, ::-1], axis=1)[:, ::-1]
    wanted = np.zeros(nodes.shape)
    for pool, lead in enumerate(pools.lead_periods):
        arriving = slice(0, max(problem.periods - lead, 0))
        wanted[pool, arriving] = useful[pool, lead:]
        if wanted[pool].any():
            wanted[pool, arriving] = np.maximum(wanted[pool, arriving], problem.limits.minimum_nodes[pool])
    return whole_above(wanted / pools.order_unit_nodes[:, None]) * pools.purchase_allowed


def from_now_on(column: Floats) -> Floats:
    """What a row adds up to from each period to the end.

    f[x,t] = sum over t' >= t of c[x,t']
    """
    return np.cumsum(column[:, ::-1], axis=1)[:, ::-1]


def from_arrival(problem: Problem, per_node: Floats) -> Floats:
    """What a node ordered in each period is charged from its arrival to the end.

    f[p,t] = sum over t' >= t + lead[p] of c[p,t']; 0 where it arrives after the end
    """
    later = from_now_on(per_node)
    charged = np.zeros_like(later)
    for pool, lead in enumerate(problem.pools.lead_periods):
        charged[pool, : max(problem.periods - lead, 0)] = later[pool, lead:]
    return charged
