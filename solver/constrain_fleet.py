"""Constraints of the fleet: what stands and serves, what holds it, its hours, its spares."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pulp

from solver import bounds
from solver.constrain_tasks import serving
from solver.program import Program
from solver.rows import (
    NO_PART,
    Index,
    Part,
    array,
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
from solver.tables import Flags


def count_nodes_in_service(program: Program) -> None:
    """n[p,t] = n[p,t-1] + unit[p] * order[p,t-lead[p]] - sum_h retire[h,t] - sum_b sell[b,t] + moved

    n[p,-1] = sum_h nodes[h];  moved = sum_m move[m,t-lead[m]] to p - sum_m move[m,t] from p
    """
    problem, groups, cohorts = program.problem, program.problem.node_groups, program.problem.cohorts
    shape, moves, sales = program.in_service.shape, problem.moves, problem.sales
    count, ones = np.arange(len(groups)), np.ones(shape)
    standing = np.zeros(shape)
    np.add.at(standing[:, 0], cohorts.node_group, cohorts.nodes)
    order = -groups.order_unit_nodes[:, None] * ones
    moved = np.ones(program.move.shape)
    program.add_rows(
        "in_service",
        cells(*shape),
        pulp.LpConstraintEQ,
        standing.ravel(),
        each(program.in_service),
        grouped(count, program.in_service, -ones, later=1),
        grouped(count, program.order, order, later=groups.lead_periods),
        grouped(cohorts.node_group, program.retire, np.ones(program.retire.shape)),
        grouped(sales.node_group, program.sell, np.ones(program.sell.shape)),
        grouped(cohorts.node_group[moves.from_cohort], program.move, moved),
        grouped(cohorts.node_group[moves.to_cohort], program.move, -moved, later=moves.lead_periods),
    )


def count_standing_nodes(program: Program) -> None:
    """x[h,t] = x[h,t-1] - retire[h,t] - sum_m move[m,t] + sum_m move[m,t-lead[m]], x[h,-1] = nodes[h]

    Only for cohorts that move or are not always available; of the others, `retire_once` says enough.
    """
    cohorts, moves = program.problem.cohorts, program.problem.moves
    shape = program.standing.shape
    standing = np.zeros(shape)
    standing[:, 0] = cohorts.nodes
    count, ones, moved = np.arange(len(cohorts)), np.ones(shape), np.ones(program.move.shape)
    program.add_rows(
        "standing",
        cells(*shape),
        pulp.LpConstraintEQ,
        np.where(program.tracked[:, None], standing, np.inf).ravel(),
        each(program.standing),
        grouped(count, program.standing, -ones, later=1),
        each(program.retire),
        grouped(moves.from_cohort, program.move, moved),
        grouped(moves.to_cohort, program.move, -moved, later=moves.lead_periods),
    )


def retire_once(program: Program) -> None:
    """sum_t retire[h,t] <= nodes[h]"""
    cohorts = program.problem.cohorts
    program.add_rows(
        "retire_once",
        cells(len(cohorts)),
        pulp.LpConstraintLE,
        np.where(program.tracked, np.inf, cohorts.nodes),
        summed(np.arange(len(cohorts)), program.retire),
    )


def sell_once(program: Program) -> None:
    """sum_t sell[b,t] <= unit[p] * order[p,t'] of the order in t' that b is of"""
    groups, sales = program.problem.node_groups, program.problem.sales
    row = np.arange(len(sales))
    program.add_rows(
        "sell_once",
        cells(len(sales)),
        pulp.LpConstraintLE,
        np.zeros(len(sales)),
        summed(row, program.sell),
        (
            row,
            program.order[sales.node_group, sales.ordered],
            -groups.order_unit_nodes[sales.node_group].astype(float),
        ),
    )


def retire_at_end_of_life(program: Program) -> None:
    """sum_(t <= end[h]) retire[h,t] >= nodes[h] * (1 - give); of tracked cohorts x[h,end] <= give

    What would arrive later by a move is barred by its bound.
    """
    problem, cohorts, tracked = program.problem, program.problem.cohorts, program.tracked
    most = bounds.most_retired(problem).max(axis=1)
    for cohort in np.flatnonzero((cohorts.must_retire_by < problem.periods) & (most > 0)):
        nodes, last = float(cohorts.nodes[cohort]), int(cohorts.must_retire_by[cohort])
        row = name("end_of_life", (cohort,))
        if tracked[cohort]:
            give = program.slack("end of life", (int(cohort),), float(most[cohort]), most=1.0)
            stays = linear(
                [(program.standing[cohort, last], 1.0)], [(variable, -size) for variable, size in give]
            )
            program.add(row, stays, pulp.LpConstraintLE, 0.0)
        elif nodes:
            give = program.slack("end of life", (int(cohort),), nodes, most=1.0)
            gone = linear([(leaving, 1.0) for leaving in program.retire[cohort, : last + 1]], give)
            program.add(row, gone, pulp.LpConstraintGE, nodes)


def count_nodes_in_use(program: Program) -> None:
    """u[p,t] = sum_r nodes[r,t] * run[r] + sum_v nodes[v] * replicas[v,t] + sum_e done[e,t]

    Where runs may begin at several instants of t, u is no less than the same sum at each of them, over the
    runs that hold their nodes then.
    """
    problem, shape = program.problem, program.in_use.shape
    runs, serves, pausable = problem.run_options, problem.serve_options, problem.pausable_options
    several = _several_instants(program)
    program.add_rows(
        "in_use",
        cells(*shape),
        pulp.LpConstraintEQ,
        np.where(several, np.inf, 0.0).ravel(),
        each(program.in_use),
        grouped(runs.node_group, program.run, -runs.nodes),
        grouped(serves.node_group, program.replicas, -np.repeat(serves.nodes[:, None], shape[1], axis=1)),
        grouped(pausable.node_group, program.done, -np.ones(program.done.shape)),
    )


def pay_for_whole_nodes(program: Program) -> None:
    """sum_v nodes[v] * replicas[v,t] <= whole[p,t]

    whole[p,t] - sum_v nodes[v] * replicas[v,t] - sum_o work[o,t] <= unfilled[p,t]

    Where nodes are paid by the hour, and replicas may hold parts of them; divisible work fills
    what they leave, and runs, which take whole nodes, do not.
    """
    problem, counted = program.problem, made(program.whole)
    if not counted.any():
        return
    serves, works = problem.serve_options, problem.work_options
    limits = np.where(counted, 0.0, np.inf).ravel()
    held = np.repeat(serves.nodes[:, None], problem.periods, axis=1)
    program.add_rows(
        "whole",
        cells(*counted.shape),
        pulp.LpConstraintLE,
        limits,
        grouped(serves.node_group, program.replicas, held),
        each(program.whole, -1.0 * counted),
    )
    program.add_rows(
        "unfilled",
        cells(*counted.shape),
        pulp.LpConstraintLE,
        limits,
        each(program.whole, 1.0 * counted),
        each(program.unfilled, -1.0 * counted),
        grouped(serves.node_group, program.replicas, -held),
        grouped(works.node_group, program.work, -np.ones(program.work.shape)),
    )


def lie_apart(program: Program) -> None:
    """apart[v,t] * serves[v,t] <= rented[p,t]

    apart[v,t] * serves[v,t] <= whole[p,t] where whole nodes are paid

    Replicas that stand by outlast a node only on another one.
    """
    problem, serves = program.problem, program.problem.serve_options
    option, period = np.nonzero(serves.chosen_or_not)
    apart, group = serves.apart[option, period], serves.node_group[option]
    if not (apart > 1).any():
        return
    row, used, index = np.arange(option.size), serving(program), np.stack([option, period], axis=1)
    for stem, nodes, here in (
        ("apart", program.rented, problem.node_groups.rental_limit_nodes > 0),
        ("apart_whole", program.whole, made(program.whole)),
    ):
        program.add_rows(
            stem,
            index,
            pulp.LpConstraintLE,
            np.where((apart > 1) & here[group, period], 0.0, np.inf),
            (row, used, apart.astype(float)),
            (row, nodes[group, period], np.where(here[group, period], -1.0, 0.0)),
        )


def _several_instants(program: Program) -> Flags:
    """Where runs may begin at several instants of a period [P, T]; the rows of these are added here."""
    problem = program.problem
    runs, serves, pausable = problem.run_options, problem.serve_options, problem.pausable_options
    several = np.zeros(program.in_use.shape, dtype=bool)
    later, period_of = np.nonzero((runs.from_h > 0) & (runs.nodes > 0))
    for group, period in sorted({*zip(runs.node_group[later].tolist(), period_of.tolist(), strict=True)}):
        instants = runs.instants_h(group, period)
        several[group, period] = len(instants) > 1
        if not several[group, period]:
            continue
        served, paused = serves.node_group == group, pausable.node_group == group
        others = terms(program.replicas[served, period], -serves.nodes[served])
        others += terms(program.done[paused, period], -1.0)
        for number, instant in enumerate(instants.tolist()):
            holds = runs.holds_at(group, period, instant)
            used = terms(program.run[holds], -runs.nodes[holds, period].astype(float))
            at_once = linear([(program.in_use[group, period], 1.0)], used, others)
            program.add(name("in_use_at", (group, period, number)), at_once, pulp.LpConstraintGE, 0.0)
    return several


def rent_for_the_term(program: Program) -> None:
    """rented[p,t] = sum over t' from t - term[p] + 1 to t of commit[p,t'], where rental has a term"""
    groups, shape = program.problem.node_groups, program.rented.shape
    term = groups.rental_term_periods
    if not term.any():
        return
    count, minus = np.arange(len(groups)), -np.ones(shape)
    begun = [
        grouped(count, program.commit, minus * (term > later)[:, None], later=later)
        for later in range(min(int(term.max()), shape[1]))
    ]
    program.add_rows(
        "term",
        cells(*shape),
        pulp.LpConstraintEQ,
        np.where(term[:, None] > 0, np.zeros(shape), np.inf).ravel(),
        each(program.rented, 1.0 * (term[:, None] > 0)),
        *begun,
    )


def use_what_is_in_service(program: Program) -> None:
    """u[p,t] + spares[p,t] + parked[p,t] <= n[p,t] + rented[p,t] - d[p,t] - w[p,t]

    d[p,t] = sum_h (1 - available[h,t]) * x[h,t], nodes that are down beyond what spares cover; w are those of
    moves that are under way for a part of the period.
    """
    program.add_rows(
        "nodes",
        cells(*program.in_use.shape),
        pulp.LpConstraintLE,
        np.zeros(program.in_use.size),
        each(program.in_use),
        *_less_than_usable(program),
    )


def work_on_enough_nodes(program: Program) -> None:
    """done[e,t] <= most[e,t] * works[e,t];  nodes_least[e] * works[e,t] <= free[p,t]

    free[p,t] = n[p,t] + rented[p,t] - d[p,t] - w[p,t] - spares[p,t] - parked[p,t], less those of runs and
    replicas. Pausable jobs may take turns on them.
    """
    problem, options = program.problem, program.problem.pausable_options
    most = bounds.most_done(problem)
    option, period = np.nonzero((options.nodes_least[:, None] > 0) & (most > 0))
    if not option.size:
        return
    shape = program.in_use.shape
    ceiling = np.full(shape, np.inf)
    ceiling[options.node_group[option], period] = 0.0
    free = array(program.prefix + "free", shape, None, False)
    works = indicators(program.prefix + "works", option, period)
    program.add_rows(
        "free",
        cells(*shape),
        pulp.LpConstraintLE,
        ceiling.ravel(),
        each(free),
        each(program.in_use),
        grouped(options.node_group, program.done, -np.ones(program.done.shape)),
        *_less_than_usable(program),
    )
    row, index, zeros = np.arange(option.size), np.stack([option, period], axis=1), np.zeros(option.size)
    done, room = program.done[option, period], free[options.node_group[option], period]
    program.add_rows(
        "works",
        index,
        pulp.LpConstraintLE,
        zeros,
        (row, done, np.ones(option.size)),
        (row, works, -most[option, period]),
    )
    program.add_rows(
        "nodes_least",
        index,
        pulp.LpConstraintLE,
        zeros,
        (row, works, options.nodes_least[option].astype(float)),
        (row, room, -np.ones(option.size)),
    )


def fit_into_the_hours(program: Program) -> None:
    """sum_x h[x,t] * x[t] <= (n[p,t] + rented[p,t] - d[p,t] - w[p,t] - spares[p,t] - parked[p,t]) * hours[t]

    Of moved nodes that arrive within the period, w is the share of it in which they are under way.

    x is every run, replica, mean node of work and of pausable jobs; work holds held[o,t] times what it works.
    Each row is divided by the hours of its period, so that it counts nodes.
    """
    problem, hours = program.problem, program.problem.node_groups.hours
    runs, serves = problem.run_options, problem.serve_options
    works, pausable = problem.work_options, problem.pausable_options
    program.add_rows(
        "hours",
        cells(*program.in_use.shape),
        pulp.LpConstraintLE,
        np.zeros(program.in_use.size),
        grouped(runs.node_group, program.run, runs.node_hours / hours),
        grouped(serves.node_group, program.replicas, serves.node_hours / hours),
        grouped(works.node_group, program.work, works.held_ratio),
        grouped(pausable.node_group, program.done, np.ones(program.done.shape)),
        *_less_than_usable(program, mean=True),
    )


def park_what_is_in_service(program: Program) -> None:
    """parked[p,t] <= n[p,t]

    Only where nodes may be rented as well, which are given back instead.
    """
    groups, shape = program.problem.node_groups, program.parked.shape
    both = groups.may_park[:, None] & (groups.rental_limit_nodes > 0)
    program.add_rows(
        "parked",
        cells(*shape),
        pulp.LpConstraintLE,
        np.where(both, 0.0, np.inf).ravel(),
        each(program.parked),
        each(program.in_service, -1.0),
    )


def cover_with_spares(program: Program) -> None:
    """ready[p,t] >= sum_g (spares[g] - spares[g-1]) * z[g] - give, steps taken in turn:

    u[p,t] <= sum_g (reach[g] - reach[g-1]) * z[g];  z[g] <= z[g-1]

    ready[p,t] = spares[p,t] + sum of spares[p',t] over the node groups p' that lie on the shelf for p
    """
    for group in np.unique(program.problem.spare_steps.node_group).tolist():
        for period in np.flatnonzero(program.most_in_use[group] > 0).tolist():
            most = float(program.most_in_use[group, period])
            in_use = linear([(program.in_use[group, period], 1.0)])
            _reach(program, (group, period), 0, most, in_use, [])


def keep_promises(program: Program) -> None:
    """ready[p,t] + sum_v covers[v,t] * serves[v,t] >= sum_g (spares[g] - spares[g-1]) * z[g] - give

    Of each promise q, whose steps are taken in turn:
    sum_v nodes[v] * replicas[v,t] - lent[v,t] * serves[v,t] <= sum_g (reach[g] - reach[g-1]) * z[g]
    z[g] <= z[g-1]
    standby[v,t] * serves[v,t] <= replicas[v,t] where covers[v,t] > 0

    v are the options of the node group that are promised q or something stricter: they take its spares first.
    lent[v,t] = min(covers[v,t], nodes[v] * standby[v,t]), nodes that count as spares and not as in use.
    """
    problem, serves = program.problem, program.problem.serve_options
    replicas, used = bounds.most_replicas(problem), serving(program)
    option, period_of = np.nonzero(serves.chosen_or_not)
    lent = np.minimum(serves.covers, serves.nodes[:, None] * serves.standby)
    for promise in problem.spare_steps.promises():
        if promise == 0:
            continue
        most = bounds.most_promised(problem, replicas, promise)
        for group, period in np.argwhere(most > 0).tolist():
            rows = np.flatnonzero((serves.node_group == group) & (serves.promise >= promise))
            here = np.flatnonzero((period_of == period) & np.isin(option, rows))
            nodes = linear(
                terms(program.replicas[rows, period], serves.nodes[rows]),
                terms(used[here], -lent[option[here], period]),
            )
            covers = terms(used[here], serves.covers[option[here], period])
            _reach(program, (group, period), promise, float(most[group, period]), nodes, covers)
    standby = serves.standby[option, period_of].astype(float)
    program.add_rows(
        "stands_by",
        np.stack([option, period_of], axis=1),
        pulp.LpConstraintLE,
        np.where(serves.covers[option, period_of] > 0, 0.0, np.inf),
        (np.arange(option.size), used, standby),
        (np.arange(option.size), program.replicas[option, period_of], -np.ones(option.size)),
    )


def _reach(
    program: Program, index: Index, promise: int, most: float, nodes: Any, covers: list[tuple[Any, float]]
) -> None:
    """Rows of one node group, period and promise; `nodes` and `covers` are what steps are for, and help.

    Steps are taken in turn, not one of all: to leave one out bounds the nodes, and to take it the spares,
    where one of all that is left out says next to nothing. A search takes about half as many parts.
    """
    steps, tail = program.problem.spare_steps, (promise,) if promise else ()
    rows = steps.in_turn(index[0], promise)
    enough = steps.spares[rows][steps.reach[rows] >= most - bounds.ALMOST].min(initial=steps.spares.max())
    rows = rows[steps.spares[rows] <= enough]
    if rows.size == 0:
        return
    stem = "promise_" if promise else ""
    step = array(program.prefix + name(stem + "step", (*tail, *index)), (rows.size,), np.ones(rows.size))
    further = np.diff(np.minimum(steps.reach[rows], most), prepend=0.0)
    reached = nodes + linear(terms(step, -further))
    row = name(stem + "reach", (*tail, *index))
    program.add(row, reached, pulp.LpConstraintLE, 0.0)
    program.reaches[program.prefix + row] = step
    for number, (before, after) in enumerate(itertools.pairwise(step), start=1):
        turn = linear([(after, 1.0), (before, -1.0)])
        program.add(name(stem + "in_turn", (*tail, *index, number)), turn, pulp.LpConstraintLE, 0.0)
    give = _short_of_spares(program, (promise, index[0]))
    more = np.diff(steps.spares[rows], prepend=0)
    group, period = index
    ready = [(program.spares[one, period], 1.0) for one in program.problem.node_groups.spared_by(group)]
    covered = linear(ready, covers, terms(step, -more), give)
    program.add(name(stem + "spares", (*tail, *index)), covered, pulp.LpConstraintGE, 0.0)


def _short_of_spares(program: Program, index: Index) -> list[tuple[Any, float]]:
    """Spares that a node group may lack of a promise, in all periods alike, in shares of its largest step."""
    known = program.slacks.get(("availability", index))
    if known is not None:
        return [(known.variable, known.size)]
    steps = program.problem.spare_steps
    size = float(steps.spares[steps.of_node_group(index[1], index[0])].max(initial=0))
    return program.slack("availability", index, size, most=1.0) if size else []


def _less_than_usable(program: Program, *, mean: bool = False) -> tuple[Part, ...]:
    """+ spares + parked + d + w - n - rented; w as `account.nodes_under_way` has it"""
    groups, cohorts, moves = program.problem.node_groups, program.problem.cohorts, program.problem.moves
    away = moves.away_fraction if mean else (moves.away_fraction > 0).astype(float)
    down = 1 - cohorts.available_fraction
    return (
        each(program.spares),
        each(program.parked, groups.may_park[:, None]),
        grouped(cohorts.node_group, program.standing, down) if len(cohorts) else NO_PART,
        grouped(cohorts.node_group[moves.to_cohort], program.move, away, later=moves.lead_periods),
        each(program.in_service, -1.0),
        each(program.rented, -1.0 * (groups.rental_limit_nodes > 0)),
    )
