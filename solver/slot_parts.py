"""Parts of rows of slots: nodes that are taken, lent or rest in a slot, and the power that they draw."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver import account_slots
from solver.program import Program
from solver.rows import Part, Variables, alike_in_slots, in_period, in_slot, made
from solver.tables import Floats, Whole


def give_way(
    program: Program, family: str, sizes: Floats, limits: Floats, limit_of: Whole | None = None
) -> Part:
    """What the rows of a slot give way by where those of the period do, in the same share of their size."""
    found: list[tuple[int, Any, float]] = []
    for index, of_slot in (((x, t), sizes[x, t]) for x, t in np.ndindex(limits.shape)):
        one = index[0] if limit_of is None else int(limit_of[index[0]])
        slack = program.slacks.get((family, (one, index[1])))
        if slack is not None and slack.size:
            row = int(np.ravel_multi_index(index, limits.shape)) * len(of_slot)
            share = slack.size / (abs(float(limits[index])) or slack.size)
            found += [(row + y, slack.variable, share * size) for y, size in enumerate(of_slot.tolist())]
    rows, variables, amounts = zip(*found, strict=True) if found else ((), (), ())
    return np.array(rows, dtype=np.int64), np.array(variables, dtype=object), np.array(amounts, dtype=float)


def energy_of_slots(program: Program, row_of: Whole, counted: Floats) -> tuple[Part, ...]:
    """What rest, nodes that are off and lent work draw over the period, in mean kW times `counted` [P]."""
    problem = program.problem
    if not len(problem.slots):
        return ()
    serves, works, hours = (
        problem.serve_options.node_group,
        problem.work_options.node_group,
        problem.slots.hours.T,
    )
    every = np.arange(len(problem.node_groups))
    whole = problem.node_groups.hours[:, None]

    def over(group: Whole, variables: Variables, kwh: Floats) -> Part:
        return in_period(row_of[group], variables, counted[group][:, None, None] * kwh / whole)

    return (
        over(serves, program.quiet, problem.resting.quiet_kwh),
        over(serves, program.rest, problem.resting.rest_kwh),
        over(every, program.off, problem.switching.off_kwh),
        over(works, program.lent, hours * problem.work_shifts.lent_kwh_per_node_h),
    )


def something_moves(program: Program) -> NDArray[np.bool_]:
    """Node groups with anything that is decided by slot."""
    problem, found = program.problem, np.zeros(len(program.problem.node_groups), dtype=bool)
    for group, variables in (
        (problem.work_options.node_group, program.work_in),
        (problem.work_options.node_group, program.lent),
        (problem.pausable_options.node_group, program.done_in),
        (problem.serve_options.node_group, program.rest),
    ):
        found[group[made(variables).any(axis=(1, 2))]] = True
    return found


def fixed_work(program: Program) -> Variables:
    """Work that does not move, in every slot [O, T, Y]; nothing where it does."""
    return alike_in_slots(program.work, program.work_in)


def moving_part(whole: Variables, moved: Variables) -> Variables:
    """What the period does of what moves, in every slot; nothing where it does not."""
    wide = np.broadcast_to(whole[:, :, None], moved.shape).copy()
    wide[~made(moved)] = None
    return wide


def taken_nodes(program: Program) -> tuple[Part, ...]:
    """Mean nodes that are taken in each slot: what is the same in all of them, and what moves."""
    problem, hours = program.problem, program.problem.node_groups.hours
    runs, serves, works = problem.run_options, problem.serve_options, problem.work_options
    pausable, count = problem.pausable_options, len(problem.slots)
    held = works.held_ratio[:, :, None] * np.ones(count)
    ones = np.ones(program.done_in.shape)
    run = np.broadcast_to(program.run[:, None, None], (*runs.node_hours.shape, count))
    replicas = np.broadcast_to(program.replicas[:, :, None], (*program.replicas.shape, count))
    return (
        in_slot(runs.node_group, run, (runs.node_hours / hours)[:, :, None] * np.ones(count)),
        in_slot(serves.node_group, replicas, (serves.node_hours / hours)[:, :, None] * np.ones(count)),
        in_slot(works.node_group, program.work_in, held),
        in_slot(works.node_group, fixed_work(program), held),
        in_slot(pausable.node_group, program.done_in, ones),
        in_slot(pausable.node_group, alike_in_slots(program.done, program.done_in), ones),
    )


def unusable_nodes(program: Program) -> tuple[Part, ...]:
    """+ spares + parked + d + w - n - rented, the same in every slot; w in the mean of the period."""
    problem = program.problem
    groups, cohorts, moves = problem.node_groups, problem.cohorts, problem.moves
    count = len(problem.slots)
    every = np.arange(len(groups))

    def wide(group: Whole, variables: Variables, coefficients: Floats) -> Part:
        spread = np.broadcast_to(variables[:, :, None], (*variables.shape, count))
        return in_slot(group, spread, coefficients[:, :, None] * np.ones(count))

    flat = np.ones(program.in_service.shape)
    away = np.zeros((*program.move.shape, count))
    arriving = np.full(away.shape, None, dtype=object)
    for m, lead in enumerate(moves.lead_periods.tolist()):
        for t in range(problem.periods - lead):
            away[m, t + lead], arriving[m, t + lead] = moves.away_fraction[m, t], program.move[m, t]
    return (
        wide(every, program.spares, flat),
        wide(every, program.parked, flat * groups.may_park[:, None]),
        wide(cohorts.node_group, program.standing, 1 - cohorts.available_fraction),
        in_slot(cohorts.node_group[moves.to_cohort], arriving, away),
        wide(every, program.in_service, -flat),
        wide(every, program.rented, -flat * (groups.rental_limit_nodes > 0)),
    )


def lent_nodes(program: Program) -> Part:
    """Nodes of resting replicas that work holds."""
    works = program.problem.work_options
    held = works.held_ratio[:, :, None] * np.ones(len(program.problem.slots))
    return in_slot(works.node_group, program.lent, held)


def rested_nodes(program: Program, factor: float) -> Part:
    """Nodes of replicas that rest, times a factor."""
    serves = program.problem.serve_options
    nodes = serves.nodes[:, None, None] * np.ones(program.rest.shape)
    return in_slot(serves.node_group, program.rest, factor * nodes)


def changed_power(program: Program, row_of: Whole, counted: Floats) -> tuple[Part, ...]:
    """Facility power of a slot over that of the period, of node groups that count."""
    problem = program.problem
    groups, serves = problem.node_groups, problem.serve_options
    works, pausable = problem.work_options, problem.pausable_options
    active = [one.active_kw * counted[one.node_group] for one in (works, pausable)]
    highest, quiet, rest = account_slots.served_kw(problem)
    counts_too = counted[serves.node_group][:, None, None]
    replicas = np.broadcast_to(program.replicas[:, :, None], highest.shape)
    less = (groups.off_kw - groups.idle_kw) * counted

    def kw(values: Floats, like: Variables) -> Floats:
        return values[:, None, None] * np.ones(like.shape)

    moved, paused = (
        moving_part(whole, one)
        for whole, one in ((program.work, program.work_in), (program.done, program.done_in))
    )
    return (
        in_slot(row_of[works.node_group], program.work_in, kw(active[0], program.work_in)),
        in_slot(row_of[works.node_group], moved, -kw(active[0], program.work_in)),
        in_slot(row_of[works.node_group], program.lent, kw(active[0], program.lent)),
        in_slot(row_of[pausable.node_group], program.done_in, kw(active[1], program.done_in)),
        in_slot(row_of[pausable.node_group], paused, -kw(active[1], program.done_in)),
        in_slot(row_of[serves.node_group], replicas, counts_too * highest),
        in_slot(row_of[serves.node_group], program.quiet, counts_too * quiet),
        in_slot(row_of[serves.node_group], program.rest, counts_too * rest),
        in_slot(row_of, program.off, kw(less, program.off)),
    )


def drawn_power(program: Program, row_of: Whole, counted: Floats) -> tuple[Part, ...]:
    """Facility power of a slot, of node groups that count: that of the period, and what changes."""
    problem, count = program.problem, len(program.problem.slots)
    groups, runs, serves = problem.node_groups, problem.run_options, problem.serve_options
    works, pausable = problem.work_options, problem.pausable_options
    flat = np.ones(problem.periods)

    def wide(group: Whole, variables: Variables, kw: Floats) -> Part:
        spread = np.broadcast_to(variables[:, :, None], (*variables.shape[:1], problem.periods, count))
        return in_slot(row_of[group], spread, kw[:, :, None] * np.ones(count))

    every = np.arange(len(groups))
    parked = (groups.off_kw - groups.idle_kw) * groups.may_park * counted
    own_runs = runs.active_kw * counted[runs.node_group][:, None]
    return (
        wide(every, program.in_service, np.outer(groups.idle_kw * counted, flat)),
        wide(every, program.parked, np.outer(parked, flat)),
        wide(runs.node_group, program.run[:, None], own_runs),
        wide(
            serves.node_group, program.replicas, np.outer(serves.active_kw * counted[serves.node_group], flat)
        ),
        wide(works.node_group, program.work, np.outer(works.active_kw * counted[works.node_group], flat)),
        wide(
            pausable.node_group,
            program.done,
            np.outer(pausable.active_kw * counted[pausable.node_group], flat),
        ),
        *changed_power(program, row_of, counted),
    )
