"""Rows that no plan needs and fractions break: a program whose relaxation is nearer to its plans.

As fractions, a rebate is had in parts: a tier that is a third reached makes every node cheaper, as far as a
third of what could be ordered. So the use of each SKU is split by task: what a tier does not cover is used at
full price, on nodes without the rebate. One task may not use more at the rebate than the share of the tier
allows it alone (the same idea as in facility location, where a share of a warehouse serves a share of each
customer). On 72 node groups this lifts the relaxation by 1.5 %, of the 1.8 % that whole choices and rebates
cost.

Letters as in `solver.problem`; for a tier g of the SKU k,

    share[g] = sum of the tiers of k from g up: 1 where g or better is reached
    full[x,t] what task x uses in t at less than the rebate of g, in nodes
"""

from __future__ import annotations

import numpy as np
import pulp

from solver import bounds
from solver.program import Program, Variables
from solver.rows import Part, array, cells, each, grouped, name
from solver.tables import Flags, Floats, Whole


def keep_the_pace(program: Program) -> None:
    """done[e,t] <= limit[e,t] * choose[e], for single jobs too

    In whole choices the bound of `done` says as much. Half an option would do all its work in half of the
    periods.
    """
    problem, options = program.problem, program.problem.pausable_options
    limit = np.minimum(options.node_hours_limit, options.node_hours[:, None])
    paced = (options.node_hours_limit < options.node_hours[:, None]) & (limit > 0)
    paced &= (problem.jobs.count[options.job] == 1)[:, None]
    program.add_rows(
        "pace_of_one",
        cells(*limit.shape),
        pulp.LpConstraintLE,
        np.where(paced, 0.0, np.inf).ravel(),
        each(program.done),
        grouped(np.arange(len(options)), program.choose, -limit / problem.node_groups.hours),
    )


def split_by_rebate(program: Program, skus: Flags, *, best_only: bool = False) -> None:
    """What is used of these SKUs at less than each rebate, on nodes without it: sum_x full[x,t] <= plain[k,t]

    plain[k,t] = sum_p n[p,t] + rented[p,t] - sum_g',p rebated[g',p,t'] arrived by t, over the groups of k and
    the tiers from g up. Work is not split: it is no node's in particular. With `best_only`, g is the last
    tier of each SKU.
    """
    problem, groups, tiers = program.problem, program.problem.node_groups, program.problem.tiers
    order = np.lexsort((tiers.from_nodes, tiers.sku))
    for sku in np.flatnonzero(skus).tolist():
        own = order[tiers.sku[order] == sku]
        for place, tier in list(enumerate(own.tolist()))[-1 if best_only else 0 :]:
            share, stem = program.tier[own[place:]], name("full", (tier,))
            parts = [
                *_full_price_of_pausable_jobs(program, sku, share, stem),
                *_full_price_of_runs(program, sku, share, stem),
                *_full_price_of_services(program, sku, share, stem),
            ]
            here = np.flatnonzero(groups.sku == sku)
            zeros = np.zeros(len(here), dtype=np.int64)
            rented = np.broadcast_to(groups.rental_limit_nodes[here] > 0, (len(here), problem.periods))
            program.add_rows(
                name("plain", (tier,)),
                cells(problem.periods),
                pulp.LpConstraintLE,
                np.zeros(problem.periods),
                *parts,
                grouped(zeros, program.in_service[here], -np.ones(rented.shape)),
                grouped(zeros, program.rented[here], -rented.astype(float)),
                *(_arrived(program, each_tier, here) for each_tier in own[place:].tolist()),
            )


def _full_price_of_services(program: Program, sku: int, share: Variables, stem: str) -> list[Part]:
    """full[i,t] >= sum_v nodes[v] * replicas[v,t] - most[i,t] * share, over the options of i on the SKU"""
    serves = program.problem.serve_options
    rows = np.flatnonzero(program.problem.node_groups.sku[serves.node_group] == sku)
    services, group = np.unique(serves.service[rows], return_inverse=True)
    most = most_together(program, rows, group, len(services))
    nodes = np.broadcast_to(serves.nodes[rows, None], (len(rows), most.shape[1]))
    used = grouped(group, program.replicas[rows], nodes)
    return _above_the_share(program, stem + "_services", used, most, share)


def most_together(program: Program, rows: Whole, group: Whole, groups: int) -> Floats:
    """Nodes that options of a service hold together at most where no part of a replica is needless [I, T].

    most[i,t] = demand[i,t] * max_v (nodes[v] / c[v,t]) + sum_v standby[v,t] * nodes[v], c as in `meet_demand`
    """
    problem, serves = program.problem, program.problem.serve_options
    alone, nodes = bounds.most_replicas(problem)[rows], serves.nodes[rows, None]
    carried = (serves.capacity / (1 + serves.standby_fraction))[rows]
    demand = problem.services.demand[serves.service[rows]]
    needed = np.divide(demand * nodes, carried, out=np.zeros_like(demand), where=alone > 0)
    most, standby = np.zeros((groups, problem.periods)), np.zeros((groups, problem.periods))
    np.maximum.at(most, group, needed)
    np.add.at(standby, group, np.where(alone > 0, serves.standby[rows] * nodes, 0.0))
    return most + standby


def _full_price_of_runs(program: Program, sku: int, share: Variables, stem: str) -> list[Part]:
    """full[j,t] >= sum_r nodes[r,t] * run[r] - count[j] * (max_r nodes[r,t]) * share, rows of a run together

    At the start of t: a run that begins within it may take over the nodes of another one.
    """
    runs = program.problem.run_options
    rows = np.flatnonzero(program.problem.node_groups.sku[runs.node_group] == sku)
    jobs, group = np.unique(runs.job[rows], return_inverse=True)
    most = np.zeros((len(jobs), program.problem.periods))
    held = np.where(runs.from_h > 0, 0, runs.nodes) * np.isin(np.arange(len(runs)), rows)[:, None]
    nodes = held[rows]
    np.maximum.at(most, group, runs.of_whole_run(held.astype(float))[runs.first[rows]])
    most *= program.problem.jobs.count[jobs][:, None]
    used = grouped(group, program.run[rows], nodes)
    return _above_the_share(program, stem + "_runs", used, most, share)


def _above_the_share(program: Program, stem: str, used: Part, most: Floats, share: Variables) -> list[Part]:
    """full[x,t] >= used[x,t] - most[x,t] * share, where there is any; all full[x,t] for the rows of t"""
    full = array(program.prefix + stem, most.shape, None, False)
    flat = np.arange(most.size)
    program.add_rows(
        stem,
        cells(*most.shape),
        pulp.LpConstraintLE,
        np.where(most > 0, 0.0, np.inf).ravel(),
        used,
        each(full, -1.0),
        *((flat, np.repeat(tier, most.size), -most.ravel()) for tier in share),
    )
    task, period = np.nonzero(most)
    return [(period, full[task, period], np.ones(len(task)))]


def _full_price_of_pausable_jobs(program: Program, sku: int, share: Variables, stem: str) -> list[Part]:
    """Options may be chosen in part at full price: part[z], of all the options of one pace z

    sum_e choose[e] - count[j] * share <= sum_z part[z];
    full[j,t] >= sum_e done[e,t] - limit[e,t] * choose[e] + sum_z limit[z,t] * part[z];
    sum_t full[j,t] >= sum_z node_hours[z] * part[z], for jobs that are done whole
    """
    problem, options, jobs = program.problem, program.problem.pausable_options, program.problem.jobs
    rows = np.flatnonzero(problem.node_groups.sku[options.node_group] == sku)
    if not rows.size:
        return []
    hours, mean_h = problem.node_groups.hours, float(problem.node_groups.hours.mean())
    limit = np.minimum(options.node_hours_limit, options.node_hours[:, None])[rows] / hours
    work = options.node_hours[rows]
    _, first, pace = np.unique(
        np.column_stack([options.job[rows], work, limit]), axis=0, return_index=True, return_inverse=True
    )
    pace = pace.ravel()
    found, job = np.unique(options.job[rows], return_inverse=True)
    paced_job = job[first]
    part = array(program.prefix + stem + "_choice", first.shape, None, False)
    full = array(program.prefix + stem + "_jobs", (len(found), problem.periods), None, False)
    count, every = jobs.count[found].astype(float), np.arange(len(found))
    program.add_rows(
        stem + "_choice",
        cells(len(found)),
        pulp.LpConstraintLE,
        np.zeros(len(found)),
        (job, program.choose[rows], np.ones(len(rows))),
        (paced_job, part, -np.ones(len(part))),
        *((every, np.repeat(tier, len(found)), -count) for tier in share),
    )
    program.add_rows(
        stem + "_chosen",
        cells(len(part)),
        pulp.LpConstraintLE,
        np.zeros(len(part)),
        each(part),
        (pace, program.choose[rows], -np.ones(len(rows))),
    )
    wanted = np.zeros(full.shape)
    np.maximum.at(wanted, job, limit)
    task, period = np.nonzero(wanted)
    program.add_rows(
        stem + "_jobs",
        cells(*full.shape),
        pulp.LpConstraintLE,
        np.where(wanted > 0, 0.0, np.inf).ravel(),
        grouped(job, program.done[rows], np.ones(limit.shape)),
        grouped(job, program.choose[rows], -limit),
        grouped(paced_job, part, limit[first]),
        each(full, -1.0),
    )
    program.add_rows(
        stem + "_work",
        cells(len(found)),
        pulp.LpConstraintLE,
        np.where(jobs.partial[found], np.inf, 0.0),
        (paced_job, part, work[first] / mean_h),
        (task, full[task, period], -(hours / mean_h)[period]),
    )
    return [(period, full[task, period], np.ones(len(task)))]


def _arrived(program: Program, tier: int, groups: Whole) -> Part:
    """Row t holds what was ordered of these node groups at the rebate of a tier, and has arrived by then."""
    rebated, lead = program.rebated[tier, groups], program.problem.node_groups.lead_periods[groups]
    group, ordered, period = np.nonzero(
        (program.most_rebated[tier, groups] > 0)[:, :, None]
        & (
            np.arange(program.problem.periods)
            >= (np.arange(program.problem.periods)[:, None] + lead[:, None, None])
        )
    )
    return period, rebated[group, ordered], np.ones(len(period))
