"""Constraints of batteries and the sun at sites: what is stored and used, and that nothing is sold.

They stand on slots; in a problem in which no site has either none of them is made.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pulp

from solver import account_slots
from solver.account_energy import has_energy
from solver.program import Program
from solver.rows import Part, Variables, alike_in_slots, cells, in_period, in_slot, made
from solver.slots import Shifting
from solver.tables import Flags, Floats, Whole


def store_on_each_day(program: Program) -> None:
    """stored[s,t,y] = stored[s,t,y'] + l[y,t] * (e[s] * charge[s,t,y] - discharge[s,t,y] / e[s]);

    stored[s,t,y] <= battery[s];  charge[s,t,y] + discharge[s,t,y] <= r[s] * battery[s]

    Slot y' is the one before y on its day and l its hours on one day, so that a day ends as it began and
    nothing is stored from one type of day to another. e is the efficiency of one way, r the power of a
    kilowatt-hour.
    """
    table, slots = program.problem.site_energy, program.problem.slots
    holds = made(program.stored)
    if not holds.any():
        return
    shape, every = holds.shape, np.arange(holds.shape[0])
    lasts_h = np.divide(slots.hours, slots.days, out=np.zeros_like(slots.hours), where=slots.days > 0).T
    ones, way = np.ones(shape), table.one_way_fraction[:, None, None]
    battery = np.broadcast_to(program.battery[:, :, None], shape)
    program.add_rows(
        "stores",
        cells(*shape),
        pulp.LpConstraintEQ,
        np.where(holds, 0.0, np.inf).ravel(),
        in_slot(every, program.stored, ones),
        in_slot(every, program.stored[:, :, slots.before], -ones),
        in_slot(every, program.charge, -way * lasts_h),
        in_slot(every, program.discharge, lasts_h / way),
    )
    program.add_rows(
        "holds",
        cells(*shape),
        pulp.LpConstraintLE,
        np.where(holds, 0.0, np.inf).ravel(),
        in_slot(every, program.stored, ones),
        in_slot(every, battery, -ones),
    )
    program.add_rows(
        "flows",
        cells(*shape),
        pulp.LpConstraintLE,
        np.where(holds, 0.0, np.inf).ravel(),
        in_slot(every, program.charge, ones),
        in_slot(every, program.discharge, ones),
        in_slot(every, battery, -table.kw_per_kwh[:, None, None] * ones),
    )


def use_the_sun(program: Program) -> None:
    """sun[s,t,y] + sun_moved[s,t,y] <= sun_kw[s,t,y] + gives[s,t,y] * solar[s];  sun[s,t,y] <= fixed[s,t,y]

    solar is what of the sun's cells is bought, and gives the mean of each kilowatt of them in the slot. fixed
    is what of the load of `sell_nothing` cannot move: work and pausable jobs that may are left out, and work
    on lent nodes.
    """
    problem, table = program.problem, program.problem.site_energy
    shines = made(program.sun)
    if not shines.any():
        return
    every, ones = np.arange(len(shines)), np.ones(shines.shape)
    program.add_rows(
        "shines",
        cells(*shines.shape),
        pulp.LpConstraintLE,
        np.where(shines, table.sun_kw, np.inf).ravel(),
        in_slot(every, program.sun, ones),
        in_slot(every, program.sun_moved, ones),
        in_slot(every, np.broadcast_to(program.solar[:, :, None], shines.shape), -table.solar_kw_per_kw),
    )
    program.add_rows(
        "fixed",
        cells(*shines.shape),
        pulp.LpConstraintLE,
        np.where(shines, 0.0, np.inf).ravel(),
        in_slot(every, program.sun, ones),
        *_fixed_load(program, has_energy(problem)),
    )


def sell_nothing(program: Program) -> None:
    """discharge[s,t,y] + sun[s,t,y] + sun_moved[s,t,y] - charge[s,t,y] <= load[s,t,y]

    load = sum_p idle[p,t] * idle nodes + off[p,t] * parked[p,t] + sum_x kw[x,t,y] * x[t,y], in mean kW of
    what is drawn at s. What starts, stops and wakes is left uncovered, and so are hours lost at stops.
    """
    problem = program.problem
    stated = has_energy(problem)
    if not stated.any():
        return
    there = (problem.slots.hours.T > 0) & stated[:, None, None]
    program.add_rows(
        "import",
        cells(*there.shape),
        pulp.LpConstraintLE,
        np.where(there, 0.0, np.inf).ravel(),
        *net(program, -np.ones(there.shape[0])),
        *_fixed_load(program, stated),
        *_moving_load(program, stated),
    )


def _fixed_load(program: Program, stated: Flags) -> tuple[Part, ...]:
    """- what is drawn by what does not move, in rows of (site, period, slot)."""
    problem = program.problem
    groups, serves, runs = problem.node_groups, problem.serve_options, problem.run_options
    hours, slot_h = groups.hours, problem.slots.hours.T
    here = (stated[groups.site] & ~groups.off_site).astype(float)[:, None]
    idle, off = here * groups.idle_kwh_per_node / hours, here * groups.off_kwh_per_node / hours

    def wide(group: Whole, variables: Variables, kw: Floats) -> Part:
        shape = (*kw.shape, len(problem.slots))
        spread = np.broadcast_to(variables[:, :, None], shape)
        return in_slot(groups.site[group], spread, -np.broadcast_to(kw[:, :, None], shape))

    def by_slot(group: Whole, variables: Variables, kwh: Floats) -> Part:
        long = np.broadcast_to(slot_h, kwh.shape)
        kw = np.divide(kwh, long, out=np.zeros_like(kwh), where=long > 0)
        return in_slot(groups.site[group], variables, -here[group][:, :, None] * kw)

    every = np.arange(len(groups))
    active = (runs.kwh - _idle_kw(program, runs.node_group) * runs.node_hours) / hours
    replicas = np.broadcast_to(program.replicas[:, :, None], problem.drawing.drawn_kw.shape)
    return (
        wide(every, program.in_service, idle),
        wide(every, program.rented, idle * (groups.rental_limit_nodes > 0)),
        wide(every, program.parked, (off - idle) * groups.may_park[:, None]),
        _under_way(program, idle),
        wide(
            runs.node_group,
            np.broadcast_to(program.run[:, None], active.shape),
            here[runs.node_group] * active,
        ),
        by_slot(serves.node_group, replicas, problem.drawing.drawn_kw * slot_h),
        by_slot(serves.node_group, program.quiet, problem.resting.quiet_kwh),
        by_slot(serves.node_group, program.rest, problem.resting.rest_kwh),
        by_slot(every, program.off, problem.switching.off_kwh),
        *(
            in_slot(
                groups.site[group], alike_in_slots(whole, moving), -(here[group] * kw)[:, :, None] * slots
            )
            for group, kw, whole, moving, _ in _work(program)
            for slots in (np.ones(len(problem.slots)),)
        ),
    )


def _moving_load(program: Program, stated: Flags) -> tuple[Part, ...]:
    """- what is drawn by work that moves, less hours lost at stops, and by lent nodes."""
    problem = program.problem
    groups, lent = problem.node_groups, problem.work_options.node_group
    here = (stated[groups.site] & ~groups.off_site).astype(float)[:, None]
    parts: list[Part] = []
    for group, kw, _, moving, (stops, shifts) in _work(program):
        drawn = (here[group] * kw)[:, :, None] * np.ones(moving.shape)
        parts.append(in_slot(groups.site[group], moving, -drawn))
        lost = drawn * account_slots.lost_fraction(problem, shifts)
        for slot in range(len(problem.slots)):  # lost hours lower the load of every slot alike
            parts.append(
                _in_every_slot(groups.site[group], stops[:, :, slot], lost[:, :, slot], moving.shape[2])
            )
    table = here[lent][:, :, None] * problem.work_shifts.lent_kwh_per_node_h
    return (*parts, in_slot(groups.site[lent], program.lent, -table))


def _in_every_slot(row_of: Whole, variables: Variables, coefficients: Floats, slots: int) -> Part:
    """What stands in every slot of a period."""
    shape = (*variables.shape, slots)
    wide = np.broadcast_to(variables[:, :, None], shape)
    return in_slot(row_of, wide, np.broadcast_to(coefficients[:, :, None], shape))


def _work(
    program: Program,
) -> Iterator[tuple[Whole, Floats, Variables, Variables, tuple[Variables, Shifting]]]:
    """Node group, kW above idle, mean nodes, those by slot and those that stop, of work and pausable jobs."""
    problem = program.problem
    for options, whole, moving, stops, shifts in (
        (problem.work_options, program.work, program.work_in, program.work_stop, problem.work_shifts),
        (problem.pausable_options, program.done, program.done_in, program.done_stop, problem.pausable_shifts),
    ):
        kw = options.kwh_per_node_h - _idle_kw(program, options.node_group)
        yield options.node_group, kw, whole, moving, (stops, shifts)


def _idle_kw(program: Program, group: Whole) -> Floats:
    """What an idle node of some node groups draws in an hour [., T]."""
    groups = program.problem.node_groups
    found: Floats = (groups.idle_kwh_per_node / groups.hours)[group]
    return found


def net(program: Program, sign: Floats, row_of: Whole | None = None) -> tuple[Part, ...]:
    """What sites draw from the grid over their load, times a sign [S], in rows of (site, period, slot).

    `row_of` names other rows than those of the sites.
    """
    rows = np.arange(len(sign)) if row_of is None else row_of
    flows = (
        (program.charge, 1.0),
        (program.discharge, -1.0),
        (program.sun, -1.0),
        (program.sun_moved, -1.0),
    )
    return tuple(
        in_slot(rows, flow, factor * sign[:, None, None] * np.ones(flow.shape)) for flow, factor in flows
    )


def net_of_period(program: Program, sign: float) -> tuple[Part, ...]:
    """The same in the mean of a period, in rows of (site, period)."""
    every = np.arange(len(program.problem.site_names))
    flows = (
        (program.charge, sign),
        (program.discharge, -sign),
        (program.sun, -sign),
        (program.sun_moved, -sign),
    )
    share = program.problem.slots.share() if len(program.problem.slots) else 0.0
    return tuple(in_period(every, flow, factor * share * np.ones(flow.shape)) for flow, factor in flows)


def _under_way(program: Program, idle: Floats) -> Part:
    """Nodes that a move still carries draw nothing."""
    problem, moves = program.problem, program.problem.moves
    goal, count = problem.cohorts.node_group[moves.to_cohort], len(problem.slots)
    drawn = np.zeros((*program.move.shape, count))
    arriving = np.full(drawn.shape, None, dtype=object)
    for m, lead in enumerate(moves.lead_periods.tolist()):
        for t in range(problem.periods - lead):
            drawn[m, t + lead] = moves.away_fraction[m, t] * idle[goal[m], t + lead]
            arriving[m, t + lead] = program.move[m, t]
    return in_slot(problem.node_groups.site[goal], arriving, drawn)
