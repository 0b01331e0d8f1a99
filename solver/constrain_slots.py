"""Constraints of the slots of a period: work that moves, nodes that are lent or off, and power.

They stand on the counts of the period, which stay as they are: in a problem without slots none of them is
made.
"""

from __future__ import annotations

import numpy as np
import pulp

from solver import account_slots
from solver.account_energy import has_energy, shares_energy
from solver.constrain_energy import net
from solver.program import Program
from solver.rows import Part, Variables, cells, in_period, in_slot, made
from solver.slot_parts import (
    changed_power,
    drawn_power,
    fixed_work,
    give_way,
    lent_nodes,
    rested_nodes,
    something_moves,
    taken_nodes,
    unusable_nodes,
)
from solver.tables import Floats, Whole


def spread_over_slots(program: Program) -> None:
    """sum_y h[y,t] * x[y,t] - lost[t] * stop[y,t] = hours[t] * x[t], of work and pausable jobs that may move

    lost = stop_h * days[y,t]. Each row is divided by the hours of the period.
    """
    problem = program.problem
    if not len(problem.slots):
        return
    share = problem.slots.share()
    for stem, whole, moved, stops, table in (
        ("work", program.work, program.work_in, program.work_stop, problem.work_shifts),
        ("done", program.done, program.done_in, program.done_stop, problem.pausable_shifts),
    ):
        every = np.arange(len(table))
        lost = account_slots.lost_fraction(problem, table)
        program.add_rows(
            f"spread_{stem}",
            cells(*whole.shape),
            pulp.LpConstraintEQ,
            np.where(made(moved).any(axis=2), 0.0, np.inf).ravel(),
            in_period(every, moved, share * np.ones(moved.shape)),
            in_period(every, stops, -lost),
            in_period(every, whole[:, :, None], -np.ones((*whole.shape, 1))),
        )


def keep_the_pace_in_a_slot(program: Program) -> None:
    """done[e,t,y] <= limit[e,t] / hours[t] * choose[e], where a job is several; of one, the bound says it"""
    problem, options = program.problem, program.problem.pausable_options
    if not len(problem.slots):
        return
    shape, every = program.done_in.shape, np.arange(len(options))
    several = (problem.jobs.count[options.job] > 1)[:, None, None] & made(program.done_in)
    pace = (options.node_hours_limit / problem.node_groups.hours)[:, :, None] * np.ones(shape)
    choose = np.broadcast_to(program.choose[:, None, None], shape)
    program.add_rows(
        "slot_pace",
        cells(*shape),
        pulp.LpConstraintLE,
        np.where(several, 0.0, np.inf).ravel(),
        in_slot(every, program.done_in, np.ones(shape)),
        in_slot(every, choose, -pace),
    )


def stop_what_shrinks(program: Program) -> None:
    """x[y',t] - x[y,t] <= stop[y,t], y' the slot before y on its day; rest[y'] - rest[y] <= wake[y];

    off[y'] - off[y] <= boot[y]
    """
    problem = program.problem
    if not len(problem.slots):
        return
    for stem, amounts, changes in (
        ("stops_work", program.work_in, program.work_stop),
        ("stops_done", program.done_in, program.done_stop),
        ("wakes", program.rest, program.wake),
        ("boots", program.off, program.boot),
    ):
        every = np.arange(len(amounts))
        ones = np.ones(amounts.shape)
        program.add_rows(
            stem,
            cells(*amounts.shape),
            pulp.LpConstraintLE,
            np.where(made(changes), 0.0, np.inf).ravel(),
            in_slot(every, amounts[:, :, problem.slots.before], ones),
            in_slot(every, amounts, -ones),
            in_slot(every, changes, -ones),
        )


def keep_days_whole(program: Program) -> None:
    """sum_o speed[o] * (work of o on days of type d) >= demand_h[w,t] * (hours of d) / hours[t] * (1 - give)

    For kinds of work that stay on their day, lent nodes included. Each row is divided by the hours of t.
    """
    problem, slots = program.problem, program.problem.slots
    if not len(slots) or not problem.windows.within_day.any():
        return
    options, share = problem.work_options, slots.share()
    types = int(slots.day_type.max(initial=0)) + 1
    wanted = np.zeros((len(problem.work), problem.periods, types))
    for one in range(types):
        wanted[:, :, one] = problem.work.demand_h * share[:, slots.day_type == one].sum(axis=1)
    wanted /= problem.node_groups.hours[:, None]
    lost = account_slots.lost_fraction(problem, problem.work_shifts)
    speed = options.speed[:, None, None] * np.ones(program.work_in.shape)
    lent = speed * problem.work_shifts.lent_speed_fraction[:, None, None]
    by_day = np.eye(types)[slots.day_type]
    _work_rows(
        program,
        "work_day",
        np.where(problem.windows.within_day[:, None, None] & (wanted > 0), wanted, -np.inf),
        [
            (program.work_in, speed * share, by_day),
            (program.work_stop, -speed * lost, by_day),
            (program.lent, lent * share, by_day),
            (fixed_work(program), speed * share, by_day),
        ],
        give_way(program, "work", np.where(wanted > 0, wanted, 0.0), problem.work.demand_h),
    )


def keep_what_cannot_wait(program: Program) -> None:
    """sum_o speed[o] * work[o,t,y] >= (1 - wait[w]) * demand_h[w,t] / hours[t] * (1 - give), in every slot

    A type of day that no day of the period is of has slots without hours, and nothing is wanted in them.
    """
    problem, slots = program.problem, program.problem.slots
    if not len(slots):
        return
    options, waits = problem.work_options, problem.windows.may_wait_fraction
    wanted = (1 - waits)[:, None] * problem.work.demand_h / problem.node_groups.hours
    wanted = wanted[:, :, None] * (slots.hours.T > 0)
    speed = options.speed[:, None, None] * np.ones(program.work_in.shape)
    some = np.isin(np.arange(len(problem.work)), options.work[made(program.work_in).any(axis=(1, 2))])
    _work_rows(
        program,
        "work_now",
        np.where(some[:, None, None] & (wanted > 0), wanted, -np.inf),
        [
            (program.work_in, speed, np.eye(len(slots))),
            (
                program.lent,
                speed * problem.work_shifts.lent_speed_fraction[:, None, None],
                np.eye(len(slots)),
            ),
            (fixed_work(program), speed, np.eye(len(slots))),
        ],
        give_way(program, "work", np.where(wanted > 0, wanted, 0.0), problem.work.demand_h),
    )


def keep_the_ramp(program: Program) -> None:
    """|sum_o speed[o] * (x[o,t,y] - x[o,t,y'])| <= ramp[w] * demand_h[w,t] / hours[t];

    -ramp[e] * choose[e] <= done[e,t,y] - done[e,t,y'] <= ramp[e] * choose[e], y' the slot before y on its day

    x is work and, at its lower speed, lent work. Days of one type are followed by days of it.
    """
    problem, slots = program.problem, program.problem.slots
    if not len(slots):
        return
    options, pausable = problem.work_options, problem.pausable_options
    speed = options.speed[:, None, None] * np.ones(program.work_in.shape)
    lent = speed * problem.work_shifts.lent_speed_fraction[:, None, None]
    moves = (made(program.work_in) | made(program.lent)).any(axis=(1, 2))
    some = np.isin(np.arange(len(problem.work)), options.work[moves])
    most = np.full(problem.work.demand_h.shape, np.inf)
    held = some & np.isfinite(problem.windows.ramp_fraction)
    rate = problem.work.demand_h[held] / problem.node_groups.hours
    most[held] = problem.windows.ramp_fraction[held, None] * rate
    ramps = problem.pausable_shifts.ramp_nodes
    paused = np.isfinite(ramps)[:, None, None] & made(program.done_in)
    chosen = np.broadcast_to(program.choose[:, None, None], paused.shape)
    step = np.where(np.isfinite(ramps), ramps, 0.0)[:, None, None] * np.ones(paused.shape)
    every = np.arange(len(pausable))
    for stem, sign in (("rises", 1.0), ("falls", -1.0)):
        program.add_rows(
            f"{stem}_work",
            cells(*most.shape, len(slots)),
            pulp.LpConstraintLE,
            np.repeat(most.ravel(), len(slots)),
            *_changes(program, options.work, program.work_in, sign * speed),
            *_changes(program, options.work, program.lent, sign * lent),
        )
        program.add_rows(
            f"{stem}_done",
            cells(*paused.shape),
            pulp.LpConstraintLE,
            np.where(paused, 0.0, np.inf).ravel(),
            *_changes(program, every, program.done_in, sign * np.ones(paused.shape)),
            in_slot(every, chosen, -step),
        )


def _changes(program: Program, row_of: Whole, amounts: Variables, coefficients: Floats) -> tuple[Part, Part]:
    """What is in a slot less what was in the slot before it on its day, times a coefficient."""
    before = amounts[:, :, program.problem.slots.before]
    return in_slot(row_of, amounts, coefficients), in_slot(row_of, before, -coefficients)


def _work_rows(
    program: Program,
    stem: str,
    wanted: Floats,
    parts: list[tuple[Variables, Floats, Floats]],
    given: Part,
) -> None:
    """Rows of (work, period, part of the period): each slot stands in the parts that it belongs to."""
    options, (_, periods, count) = program.problem.work_options, wanted.shape
    found = []
    for variables, coefficients, belongs in parts:
        option, period, slot = np.nonzero(made(variables) * (coefficients != 0))
        row = (options.work[option] * periods + period) * count + np.argmax(belongs[slot], axis=1)
        found.append((row, variables[option, period, slot], coefficients[option, period, slot]))
    program.add_rows(stem, cells(*wanted.shape), pulp.LpConstraintGE, wanted.ravel(), *found, given)


def use_what_is_free_in_a_slot(program: Program) -> None:
    """sum_x h[x,t] / hours[t] * x + held[o,t] * work[o,t,y] + done[e,t,y] <= usable[p,t], in every slot

    x is every run, replica, and what may not move; usable as in `fit_into_the_hours`, in mean nodes.
    """
    problem = program.problem
    if not len(problem.slots):
        return
    shape = (*program.in_service.shape, len(problem.slots))
    program.add_rows(
        "slot_nodes",
        cells(*shape),
        pulp.LpConstraintLE,
        np.where(something_moves(program)[:, None, None], np.zeros(shape), np.inf).ravel(),
        *taken_nodes(program),
        *unusable_nodes(program),
    )


def lend_what_rests(program: Program) -> None:
    """sum_o held[o,t] * lent[o,t,y] <= sum_v nodes[v] * rest[v,t,y], on each node group"""
    problem = program.problem
    if not len(problem.slots):
        return
    shape = (*program.in_service.shape, len(problem.slots))
    lends = np.isin(np.arange(shape[0]), problem.work_options.node_group[made(program.lent).any(axis=(1, 2))])
    program.add_rows(
        "lend",
        cells(*shape),
        pulp.LpConstraintLE,
        np.where(lends[:, None, None], np.zeros(shape), np.inf).ravel(),
        lent_nodes(program),
        rested_nodes(program, -1.0),
    )


def switch_off_what_is_free(program: Program) -> None:
    """off[p,t,y] + taken[p,t,y] + sum_o held[o,t] * lent[o,t,y] - sum_v nodes[v] * rest[v,t,y] <= usable[p,t]

    taken and usable as in `use_what_is_free_in_a_slot`.
    """
    problem = program.problem
    if not len(problem.slots):
        return
    shape = program.off.shape
    program.add_rows(
        "slot_off",
        cells(*shape),
        pulp.LpConstraintLE,
        np.where(made(program.off), 0.0, np.inf).ravel(),
        in_slot(np.arange(shape[0]), program.off, np.ones(shape)),
        *taken_nodes(program),
        lent_nodes(program),
        rested_nodes(program, -1.0),
        *unusable_nodes(program),
    )


def stay_within_power_in_a_slot(program: Program) -> None:
    """(power of t) + (what the slot changes) <= power_kw[s,t] + give, and as much for power that sites share

    change = sum_o kw[o] * (work[o,t,y] - work[o,t] + lent[o,t,y]) + sum_e kw[e] * (done[e,t,y] - done[e,t])
             - sum_v kw[v] * rest[v,t,y] + sum_p (off[p] - idle[p]) * off[p,t,y]

    The power of the period is that of `stay_within_power`, services at their peak hour. Replicas that rest
    draw idle power alone, quiet ones count in full. At a site with a battery or the sun replicas count by the
    highest hour of the slot, less what quiet and resting ones save; charge comes on top, discharge and sun
    are taken off.
    """
    problem, slots = program.problem, program.problem.slots
    if not len(slots):
        return
    groups, count, fine = problem.node_groups, len(slots), has_energy(problem)
    one, there = np.where(groups.off_site, 0.0, 1.0), slots.hours.T > 0
    site = problem.limits.power_kw
    moving = np.isin(np.arange(len(site)), groups.site[something_moves(program)])
    judged = np.where(fine[:, None, None], there, moving[:, None, None])
    program.add_rows(
        "slot_power",
        cells(*site.shape, count),
        pulp.LpConstraintLE,
        np.where(judged, site[:, :, None], np.inf).ravel(),
        *drawn_power(program, groups.site, one),
        *net(program, np.ones(len(site))),
        give_way(
            program, "power", -np.repeat(_sizes(program, "power", site)[:, :, None], count, axis=2), site
        ),
    )
    limit, sharing = problem.limits.shared_power_kw, problem.limits.shared_power_sites
    if not len(limit):
        return
    parts = [
        part
        for number, sites in enumerate(sharing)
        for part in (
            *drawn_power(program, np.full(len(groups), number), one * sites[groups.site]),
            *net(program, sites.astype(float), np.full(len(sites), number)),
        )
    ]
    judged = there | ~shares_energy(problem)[:, None, None]
    program.add_rows(
        "slot_shared_power",
        cells(*limit.shape, count),
        pulp.LpConstraintLE,
        np.where(judged, limit[:, :, None], np.inf).ravel(),
        *parts,
        give_way(
            program,
            "shared power",
            -np.repeat(_sizes(program, "shared power", limit)[:, :, None], count, axis=2),
            limit,
        ),
    )


def _sizes(program: Program, family: str, limits: Floats) -> Floats:
    """What one unit of the slack of each limit stands for, where a share of it is counted by `given`."""
    found = np.zeros(limits.shape)
    for index in np.ndindex(limits.shape):
        slack = program.slacks.get((family, index))
        if slack is not None:
            found[index] = abs(float(limits[index])) or slack.size
    return found


def pay_for_the_highest_slot(program: Program) -> None:
    """(power in slot y) - (power of t) <= above[s,t], where a peak has a price

    The power of a slot is that of `stay_within_power_in_a_slot`.
    """
    problem, slots = program.problem, program.problem.slots
    if not len(slots) or not made(program.above).any():
        return
    groups, count, shape = problem.node_groups, len(slots), program.above.shape
    one = np.where(groups.off_site, 0.0, 1.0)
    above = np.broadcast_to(program.above[:, :, None], (*shape, count))
    judged = made(program.above)[:, :, None] & ((slots.hours.T > 0) | ~has_energy(problem)[:, None, None])
    program.add_rows(
        "slot_peak",
        cells(*shape, count),
        pulp.LpConstraintLE,
        np.where(judged, 0.0, np.inf).ravel(),
        *changed_power(program, groups.site, one),
        *net(program, np.ones(shape[0])),
        in_slot(np.arange(shape[0]), above, -np.ones((*shape, count))),
    )
