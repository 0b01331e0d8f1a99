"""Rows that every plan keeps: a step of spares is taken in full where a plan needs it, not in part.

As fractions, a node group that hundreds of nodes could use gets spares at the rate of its last step, however
few nodes it has. Three kinds of rows say what whole steps take at least. Of a step z of a node group p in t,
`before` the reach of the steps before it and `needed` the spares up to it:

    runs        sum_r run[r] <= z, over the runs of one job on p with more nodes in t than `before`
    services    sum_v nodes[v] * replicas[v,t] <= most[i] * z, of the first step: over the options of i on p
    standing    u[p,t] <= before + came[p,t] + (standing[p] - needed - before) * z

    most[i] = demand[i,t] * max_v (nodes[v] / c[v,t]) + max_v least[v,t] * nodes[v]
              + sum_v standby[v,t] * nodes[v]
    came[p,t] = sum over t' <= t - lead of unit[p] * order[p,t'] + moves to p + rented[p,t]

The first is true since a job has one run, the last since what is used and spare stands or came; what is used
by a promise is no more. `most` leaves out plans with needless replicas, as the upper bounds of replicas do.
On 88 node groups of which 8 have nodes at first, the relaxation is 1.8 % higher.
"""

from __future__ import annotations

import numpy as np
import pulp

from solver import account, bounds
from solver.problem import Problem
from solver.program import Program, Variables
from solver.rows import linear, name, terms
from solver.tables import Floats

SOME = 1e-9
Pairs = list[tuple[pulp.LpVariable, float]]


def add_spare_rows(program: Program) -> int:
    """Add the rows to a program that has steps of spares; how many. It keeps all its plans."""
    problem, before = program.problem, len(program.model.constraints)
    if not program.reaches or program.relaxed:
        return 0
    most = _most_of_services(problem)
    standing = account.totals_by(
        problem.cohorts.node_group, len(problem.node_groups), problem.cohorts.nodes.astype(float)
    )
    for promise in problem.spare_steps.promises():
        for group in np.unique(problem.spare_steps.node_group).tolist():
            spares = problem.spare_steps.spares[problem.spare_steps.in_turn(group, promise)]
            for period in range(problem.periods):
                place = (promise, group, period) if promise else (group, period)
                row = program.prefix + name("promise_reach" if promise else "reach", place)
                if (steps := program.reaches.get(row)) is None:
                    continue
                used = dict(program.model.constraints[row].items())
                reach = np.cumsum([-used.pop(step, 0.0) for step in steps])
                ends = np.concatenate([[0.0], reach[:-1]])
                if not promise:
                    _whole_runs(program, group, period, steps, ends)
                _first_step(program, (promise, group, period), steps[0], most[:, group, period])
                needed = spares[: len(steps)] * _all_needed(program, group, period)
                least = np.maximum(standing[group] - needed, 0.0)
                came = _came(program, group, period)
                for number in np.flatnonzero(least > ends).tolist():
                    in_use = linear(
                        used.items(), came, [(steps[number], float(ends[number] - least[number]))]
                    )
                    at = name("stands", (promise, group, period, number))
                    program.add(at, in_use, pulp.LpConstraintLE, float(ends[number]))
    return len(program.model.constraints) - before


def _whole_runs(program: Program, group: int, period: int, steps: Variables, ends: Floats) -> None:
    """sum_r run[r] <= z of the runs of one job with more nodes than the steps before z reach"""
    problem, runs = program.problem, program.problem.run_options
    holds = np.flatnonzero((runs.node_group == group) & (runs.nodes[:, period] > 0))
    holds = holds[np.unique(runs.first[holds], return_index=True)[1]]  # one row of a run is enough
    for job in np.unique(runs.job[holds]).tolist():
        if problem.jobs.count[job] != 1:
            continue
        own = holds[runs.job[holds] == job]
        for number, end in enumerate(ends.tolist()):
            larger = own[runs.nodes[own, period] > end + SOME]
            if not larger.size:
                break
            taken = linear(terms(program.run[larger], 1.0), [(steps[number], -1.0)])
            program.add(name("runs_step", (group, period, job, number)), taken, pulp.LpConstraintLE, 0.0)


def _first_step(program: Program, index: tuple[int, int, int], step: pulp.LpVariable, most: Floats) -> None:
    """sum_v nodes[v] * replicas[v,t] <= most[i] * z of each service with options of the promise here"""
    (promise, group, period), serves = index, program.problem.serve_options
    rows = np.flatnonzero((serves.node_group == group) & (serves.promise >= promise))
    for service in np.unique(serves.service[rows]).tolist():
        own = rows[serves.service[rows] == service]
        if most[service] <= 0 or (promise and (serves.covers[own, period] > 0).any()):
            continue  # what covers a node that fails is not in use there
        used = linear(
            terms(program.replicas[own, period], serves.nodes[own]), [(step, -float(most[service]))]
        )
        program.add(name("serves_step", (*index, service)), used, pulp.LpConstraintLE, 0.0)


def _most_of_services(problem: Problem) -> Floats:
    """Nodes that options of a service hold of a node group at most, where no replica is needless [I, P, T].

    Where more than the demand asks for replicas (mean quality, regions, stages, what stands by for nodes), it
    is what each option could hold alone, added up.
    """
    serves = problem.serve_options
    alone, nodes = bounds.most_replicas(problem), serves.nodes[:, None]
    carried = serves.capacity / (1 + serves.standby_fraction)
    shape = (len(problem.services), len(problem.node_groups), problem.periods)
    place = (serves.service, serves.node_group)
    each, together, largest, standby = (np.zeros(shape) for _ in range(4))
    ratio = np.divide(nodes, carried, out=np.zeros_like(carried), where=alone > 0)
    np.add.at(each, place, nodes * alone)
    np.maximum.at(together, place, ratio * problem.services.demand[serves.service])
    np.maximum.at(largest, place, np.where(alone > 0, np.maximum(serves.least, 1) * nodes, 0.0))
    np.add.at(standby, place, np.where(alone > 0, serves.standby * nodes, 0.0))
    plain = np.ones(len(problem.services), dtype=bool)
    plain[serves.service[(serves.lost_fraction > 0) | (serves.time_fraction > 0)]] = False
    plain[serves.service[(serves.regions > 0) | (serves.covers > 0).any(axis=1)]] = False
    few: Floats = np.minimum(each, together + largest + standby)
    return np.where(plain[:, None, None], few, each)


def _all_needed(program: Program, group: int, period: int) -> bool:
    """Are spares that a step asks for in the node group itself, and not on a shelf, lent or on standby?"""
    serves = program.problem.serve_options
    covered = (serves.covers[serves.node_group == group, period] > 0).any()
    return not covered and len(program.problem.node_groups.spared_by(group)) == 1


def _came(program: Program, group: int, period: int) -> Pairs:
    """What came by t beyond what stood, taken off: orders, moves, and what is rented."""
    problem, groups, moves = program.problem, program.problem.node_groups, program.problem.moves
    ordered = program.order[group, : max(period - int(groups.lead_periods[group]) + 1, 0)]
    came = terms(ordered, -float(groups.order_unit_nodes[group]))
    for move in np.flatnonzero(problem.cohorts.node_group[moves.to_cohort] == group).tolist():
        came += terms(program.move[move, : max(period - int(moves.lead_periods[move]) + 1, 0)], -1.0)
    return [*came, (program.rented[group, period], -1.0)]
