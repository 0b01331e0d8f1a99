"""Constraints of what the fleet is for: jobs, pausable jobs, services, work."""

from __future__ import annotations

import numpy as np
import pulp

from solver import bounds
from solver.account_slots import curtailed_fraction
from solver.program import Program, Slack
from solver.rows import (
    NO_PART,
    Part,
    Variables,
    cells,
    each,
    grouped,
    indicators,
    linear,
    made,
    name,
    summed,
    terms,
)
from solver.tables import Floats, Whole


def run_every_job_once(program: Program) -> None:
    """sum_r run[r] + sum_e completed[e] + left_out[j] = count[j]

    Rows of one run at several sites count once; they are one variable, so that all its nodes are held.
    """
    problem, jobs = program.problem, program.problem.jobs
    program.add_rows(
        "job",
        cells(len(jobs)),
        pulp.LpConstraintEQ,
        jobs.count.astype(float),
        summed(problem.run_options.job, program.run, problem.run_options.counts),
        summed(problem.pausable_options.job, program.completed),
        each(program.left_out),
    )
    if "jobs" in program.relaxed:
        for job in np.flatnonzero(~jobs.optional).tolist():
            program.slacks["jobs", (job,)] = Slack(program.left_out[job], 1.0)


def keep_deadlines(program: Program) -> None:
    """sum_r late[r] * run[r] <= allowed[j] + give

    Where deadlines are firm, later runs have the upper bound 0 and no row is needed.
    """
    if "deadlines" not in program.relaxed:
        return
    problem = program.problem
    runs, period_h = problem.run_options, float(problem.node_groups.hours.mean())
    for job, allowed in enumerate(problem.jobs.allowed_late_h):
        later = (runs.job == job) & (runs.late_h > allowed) & runs.counts
        late = np.where(later, runs.late_h - allowed, 0.0)
        if late.any():
            give = [(variable, -size) for variable, size in program.slack("deadlines", (job,), period_h)]
            row = linear(terms(program.run, late), give)
            program.add(name("deadline", (job,)), row, pulp.LpConstraintLE, 0.0)


def do_pausable_jobs(program: Program) -> None:
    """sum_t done[e,t] - lost[e,t] = node_hours[e] * completed[e];  done[e,t] <= limit[e,t] * choose[e]

    In node-hours; lost is what curtailment takes. The first is divided by the node-hours. The second is left
    out where the first says as much, and for a single job: not chosen it does nothing, and chosen its upper
    bound is the limit. The relaxation is hardly weaker without these rows, and plans are found sooner.
    """
    problem, options = program.problem, program.problem.pausable_options
    hours, rows, lost = problem.node_groups.hours, len(options), made(program.lost_done)
    program.add_rows(
        "pausable",
        cells(rows),
        pulp.LpConstraintEQ,
        np.zeros(rows),
        summed(np.arange(rows), program.done, hours / options.node_hours[:, None]),
        summed(np.arange(rows), program.lost_done, -hours / options.node_hours[:, None] * lost),
        each(program.completed, -1.0),
    )
    most = (options.node_hours / (1 - curtailed_fraction(problem, options)))[:, None]
    limit = np.minimum(options.node_hours_limit, most)
    single = problem.jobs.count[options.job] == 1
    said = (options.node_hours_limit >= most) | (limit == 0) | single[:, None]
    index = cells(rows, problem.periods)
    program.add_rows(
        "pace",
        index,
        pulp.LpConstraintLE,
        np.where(said, np.inf, 0.0).ravel(),
        each(program.done),
        grouped(np.arange(rows), program.choose, -limit / hours),
    )


def choose_before_doing_a_part(program: Program) -> None:
    """completed[e] <= choose[e];  sum_r run[r] + sum_e choose[e] <= count[j], for jobs done in part"""
    problem, options = program.problem, program.problem.pausable_options
    partial = problem.jobs.partial[options.job]
    program.add_rows(
        "part",
        cells(len(options)),
        pulp.LpConstraintLE,
        np.where(partial, 0.0, np.inf),
        each(program.completed),
        each(program.choose, -1.0),
    )
    some = np.isin(np.arange(len(problem.jobs)), options.job[partial])
    program.add_rows(
        "chosen",
        cells(len(problem.jobs)),
        pulp.LpConstraintLE,
        np.where(some, problem.jobs.count, np.inf),
        summed(problem.run_options.job, program.run, problem.run_options.counts),
        summed(options.job, program.choose),
    )


def meet_demand(program: Program) -> None:
    """sum_v c[v,t] * (replicas[v,t] - standby[v,t] * serves[v,t]) >= demand[i,t] * (1 - shed[i,t] - give)

    c[v,t] = capacity[v,t] / (1 + standby share[v,t]). Each row is divided by its largest c, so that it counts
    replicas. Where setting a deployment up has a price, least[v,t] >= 1: nothing is kept without a replica.
    An option that serves keeps its standby and its least number of replicas:
    replicas[v,t] <= most[v,t] * serves[v,t];  least[v,t] * serves[v,t] <= replicas[v,t] where least[v,t] > 1
    """
    problem, serves, demand = program.problem, program.problem.serve_options, program.problem.services.demand
    carried = serves.capacity / (1 + serves.standby_fraction)
    scale = np.zeros(demand.shape)
    np.maximum.at(scale, serves.service, carried)
    scale[scale == 0] = 1.0
    share = carried / scale[serves.service]
    sheds = np.isfinite(problem.services.unmet_usd)
    wanted = np.where(demand > 0, demand, -np.inf)
    row, variables, sizes = program.gives("demand", wanted)
    for variable in variables:
        variable.upBound = 1.0
    _tie_to_serving(program)
    program.add_rows(
        "demand",
        cells(*demand.shape),
        pulp.LpConstraintGE,
        (wanted / scale).ravel(),
        grouped(serves.service, program.replicas, share),
        standing_by(program, serves.service, share),
        each(program.shed, np.where(sheds, demand / scale, 0.0)),
        (row, variables, -sizes / scale.ravel()[row]),
    )


def _tie_to_serving(program: Program) -> None:
    """The second pair of rows of `meet_demand`."""
    serves = program.problem.serve_options
    option, period = np.nonzero(serves.chosen_or_not)
    if not option.size:
        return
    used, begins = serving(program), np.any(serves.charged_to_begin, axis=1)[option]
    least = np.maximum(serves.least[option, period], begins).astype(float)
    row, most = np.arange(option.size), bounds.most_replicas(program.problem)[option, period]
    for variable in used[most == 0]:
        variable.upBound = 0  # else what is set up once would serve through a break, and not begin again
    program.add_rows(
        "serves",
        np.stack([option, period], axis=1),
        pulp.LpConstraintLE,
        np.zeros(option.size),
        (row, program.replicas[option, period], np.ones(option.size)),
        (row, used, -most.astype(float)),
    )
    program.add_rows(
        "least",
        np.stack([option, period], axis=1),
        pulp.LpConstraintLE,
        np.where(((least > 1) | begins) & (most > 0), 0.0, np.inf),
        (row, used, least),
        (row, program.replicas[option, period], -np.ones(option.size)),
    )


def standing_by(program: Program, row_of: Whole, share: Floats) -> Part:
    """- share[v,t] * standby[v,t] * serves[v,t], in rows of (row_of[v], period)."""
    serves, periods = program.problem.serve_options, program.problem.periods
    option, period = np.nonzero(serves.chosen_or_not)
    if not option.size:
        return NO_PART
    lost = (share * serves.standby)[option, period]
    stands = lost > 0
    return (row_of[option] * periods + period)[stands], serving(program)[stands], -lost[stands]


def serving(program: Program) -> Variables:
    """Whether options serve in a period: those of `chosen_or_not`, in the order of `np.nonzero`."""
    if program.serves is None:
        option, period = np.nonzero(program.problem.serve_options.chosen_or_not)
        program.serves = indicators(program.prefix + "serves", option, period)
    return program.serves


def start_what_did_not_run(program: Program) -> None:
    """replicas[v,t] - replicas[v,t-1] <= started[v,t], where a start has a price; replicas[v,-1] = 0

    No whole number is needed: what starts is no more than it has to be, as it is charged.
    """
    replicas, shape = program.replicas, program.replicas.shape
    priced = made(program.started)
    program.add_rows(
        "starts",
        cells(*shape),
        pulp.LpConstraintLE,
        np.where(priced, 0.0, np.inf).ravel(),
        each(replicas),
        grouped(np.arange(shape[0]), replicas, -np.ones(shape), later=1),
        each(program.started, -1.0 * priced),
    )


def set_up_what_did_not_serve(program: Program) -> None:
    """serves[v,t] - serves[v,t-1] <= begun[v,t], where setting a deployment up has a price; serves[v,-1] = 0

    No whole number is needed, as what is set up is charged.
    """
    shape, priced = program.begun.shape, made(program.begun)
    option, period = np.nonzero(program.problem.serve_options.chosen_or_not)
    used, row = serving(program), option * shape[1] + period
    later = period + 1 < shape[1]
    program.add_rows(
        "set_up",
        cells(*shape),
        pulp.LpConstraintLE,
        np.where(priced, 0.0, np.inf).ravel(),
        (row, used, np.ones(row.size)),
        ((row + 1)[later], used[later], -np.ones(int(later.sum()))),
        each(program.begun, -1.0 * priced),
    )


def do_the_work(program: Program) -> None:
    """sum_o speed[o] * (work[o,t] + lent[o,t] - lost[o,t]) >= demand_h[w,t] / hours[t] * (1 - give)

    lent[o,t] = eff[o] * sum_y h[y,t] / hours[t] * lent[o,t,y], on nodes of replicas that rest; lost is what
    curtailment takes
    """
    problem, options = program.problem, program.problem.work_options
    hours, demand_h = problem.node_groups.hours, problem.work.demand_h
    wanted = np.where(demand_h > 0, demand_h, -np.inf)
    row, variables, sizes = program.gives("work", wanted)
    for variable in variables:
        variable.upBound = 1.0
    program.add_rows(
        "work",
        cells(*demand_h.shape),
        pulp.LpConstraintGE,
        (wanted / hours).ravel(),
        grouped(options.work, program.work, np.broadcast_to(options.speed[:, None], program.work.shape)),
        _lent_work(program),
        _lost_work(program),
        (row, variables, -sizes / hours[row % problem.periods]),
    )


def _lost_work(program: Program) -> Part:
    """What curtailment takes off the work rows."""
    problem, options = program.problem, program.problem.work_options
    option, period = np.nonzero(made(program.lost))
    row = options.work[option] * problem.periods + period
    return row, program.lost[option, period], -options.speed[option]


def lose_what_is_curtailed(program: Program) -> None:
    """phi[o] * (work[o,t] + lent[o,t]) - lost[o,t] <= phi[o] * most[o,t] * (1 - sign[s]);

    lost[o,t] <= phi[o] * (work[o,t] + lent[o,t]);  lost[o,t] <= phi[o] * most[o,t] * sign[s]

    phi is the share of its hours that is lost at its site, most the nodes that do all of the work alone. So
    lost is phi times what works where the contract is signed, else 0. Pausable jobs lose so of done[e,t].
    """
    problem = program.problem
    for stem, lost, whole, options, most in (
        ("lost", program.lost, program.work, problem.work_options, bounds.most_work_nodes(problem)),
        ("lost_done", program.lost_done, program.done, problem.pausable_options, bounds.most_done(problem)),
    ):
        option, period = np.nonzero(made(lost))
        if not option.size:
            continue
        share = curtailed_fraction(problem, options)[option]
        row, index = np.arange(option.size), np.stack([option, period], axis=1)
        lent = _lent_where(program, option, period) if stem == "lost" else []
        sign = program.sign[problem.node_groups.site[options.node_group[option]]]
        reach = share * most[option, period]
        works = [(row, whole[option, period], share), *((r, v, share[r] * c) for r, v, c in lent)]
        own, none = (row, lost[option, period], np.ones(option.size)), np.zeros(option.size)
        less = (row, lost[option, period], -np.ones(option.size))
        idle = [(r, v, -c) for r, v, c in works]
        program.add_rows(stem, index, pulp.LpConstraintLE, reach, *works, less, (row, sign, reach))
        program.add_rows(f"{stem}_of_work", index, pulp.LpConstraintLE, none, own, *idle)
        program.add_rows(f"{stem}_signed", index, pulp.LpConstraintLE, none, own, (row, sign, -reach))


def _lent_where(program: Program, option: Whole, period: Whole) -> list[Part]:
    """Work on lent nodes, at its lower speed, in rows of some options and periods."""
    slots, slower = program.problem.slots, program.problem.work_shifts.lent_speed_fraction
    if not len(slots):
        return []
    return [
        (np.full(len(own), i), program.lent[o, t, own], slower[o] * slots.share()[t, own])
        for i, (o, t) in enumerate(zip(option.tolist(), period.tolist(), strict=True))
        if len(own := np.flatnonzero(made(program.lent[o, t])))
    ]


def stop_when_curtailed(program: Program) -> None:
    """sum_o kw[o] * (work[o,t] + lent[o,t]) + sum_e kw[e] * done[e,t] >= least[s] * (sign[s] - give[s])

    kw is the power above idle of what stops, on nodes of one's own at s, which stay on; lent is in mean nodes
    of the period. A contract that is obliged may give way, any other is left unsigned.
    """
    problem, options, groups = program.problem, program.problem.work_options, program.problem.node_groups
    least, pausable = problem.places.curtailed_kw, problem.pausable_options
    if not (least > 0).any():
        return
    kw, kw_done = (
        one.active_kw * one.stops_fraction * ~groups.off_site[one.node_group] for one in (options, pausable)
    )
    site, periods = groups.site[options.node_group], problem.periods
    option, period, slot = np.nonzero(made(program.lent) & (kw > 0)[:, None, None])
    share = problem.slots.share() if len(problem.slots) else np.zeros((periods, 0))
    obliged = np.where(problem.places.curtailment_obliged & (least > 0), least, np.inf)
    row, variables, sizes = program.gives("curtailment", obliged)
    for variable in variables:
        variable.upBound = 1.0
    every = np.repeat(row, periods) * periods + np.tile(np.arange(periods), len(row))
    program.add_rows(
        "curtailed",
        cells(len(least), periods),
        pulp.LpConstraintGE,
        np.repeat(np.where(least > 0, 0.0, -np.inf), periods),
        grouped(site, program.work, np.broadcast_to(kw[:, None], program.work.shape)),
        grouped(
            groups.site[pausable.node_group],
            program.done,
            np.broadcast_to(kw_done[:, None], program.done.shape),
        ),
        (
            site[option] * periods + period,
            program.lent[option, period, slot],
            kw[option] * share[period, slot],
        ),
        grouped(
            np.flatnonzero(least > 0), program.sign[least > 0], -np.outer(least[least > 0], np.ones(periods))
        ),
        (every, np.repeat(variables, periods), -np.repeat(sizes, periods)),
    )


def adopt_before_use(program: Program) -> None:
    """sum_o uses[o,a] * speed[o] * (work[o,t] + lent[o,t]) <= most[a,t] * adopt[a]

    most[a,t] = usable[a,t] * demand_h[w,t] / hours[t]; w is the work of a; lent[o,t] as in `do_the_work`.
    Before the day of a, the bounds of work are 0.
    """
    problem, options, adoptions = program.problem, program.problem.work_options, program.problem.adoptions
    if not len(adoptions):
        return
    option, used = np.nonzero(options.uses)
    work, speed = program.work[option], options.speed[option][:, None]
    most = adoptions.usable_fraction * problem.work.demand_h[adoptions.work] / problem.node_groups.hours
    program.add_rows(
        "adopted",
        cells(*most.shape),
        pulp.LpConstraintLE,
        np.where(most > 0, 0.0, np.inf).ravel(),
        grouped(used, work, np.broadcast_to(speed, work.shape)),
        *(_lent_work(program, np.where(uses, a, -1)) for a, uses in enumerate(options.uses.T)),
        grouped(np.arange(len(adoptions)), program.adopt, -most),
    )


def _lent_work(program: Program, row_of: Whole | None = None) -> Part:
    """What work on lent nodes adds to the work rows, or to those that `row_of` names; none where below 0."""
    problem, options = program.problem, program.problem.work_options
    rows = options.work if row_of is None else row_of
    option, period, slot = np.nonzero(made(program.lent) & (rows >= 0)[:, None, None])
    if not option.size:
        return NO_PART
    done = (options.speed * problem.work_shifts.lent_speed_fraction)[option]
    return (
        rows[option] * problem.periods + period,
        program.lent[option, period, slot],
        done * problem.slots.share()[period, slot],
    )
