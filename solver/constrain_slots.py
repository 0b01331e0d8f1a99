"""Constraints of the slots of a period: work that moves, replicas that rest, nodes that are lent or off.

They stand on the counts of the period, which stay as they are: in a problem without slots none of them is
made.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pulp
from numpy.typing import NDArray

from solver import account_slots, pipelines, quality, regions
from solver.account_energy import has_energy, shares_energy
from solver.constrain_energy import net
from solver.constrain_services import taking
from solver.constrain_tasks import serving
from solver.program import Program
from solver.rows import NO_PART, Part, Variables, alike_in_slots, cells, in_period, in_slot, made
from solver.tables import Flags, Floats, Whole


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
            (_fixed_work(program), speed * share, by_day),
        ],
        _given(program, "work", np.where(wanted > 0, wanted, 0.0), problem.work.demand_h),
    )


def keep_what_cannot_wait(program: Program) -> None:
    """sum_o speed[o] * work[o,t,y] >= (1 - wait[w]) * demand_h[w,t] / hours[t] * (1 - give), in every slot"""
    problem, slots = program.problem, program.problem.slots
    if not len(slots):
        return
    options, waits = problem.work_options, problem.windows.may_wait_fraction
    wanted = (1 - waits)[:, None] * problem.work.demand_h / problem.node_groups.hours
    wanted = wanted[:, :, None] * np.ones(len(slots))
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
            (_fixed_work(program), speed, np.eye(len(slots))),
        ],
        _given(program, "work", np.where(wanted > 0, wanted, 0.0), problem.work.demand_h),
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


def _given(
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
        np.where(_something_moves(program)[:, None, None], np.zeros(shape), np.inf).ravel(),
        *_taken(program),
        *_unusable(program),
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
        _lent(program),
        _rested(program, -1.0),
    )


def stay_ready(program: Program) -> None:
    """sum_v capacity[v,t] * (carry[v,t] - quiet[v,t,y] - rest[v,t,y]) >= ready[i,t,y] * demand * (1 - shed);

    quiet[v,t,y] + rest[v,t,y] <= carry[v,t];
    carry[v,t] = replicas[v,t] / (1 + standby share[v,t]) - standby[v,t] * serves[v,t]

    So what stands by is awake. Demand is demand[i,t] and shed is shed[i,t]. Each row of the first kind is
    divided by its largest capacity.
    """
    problem, serves, slots = program.problem, program.problem.serve_options, program.problem.slots
    if not len(slots) or not made(program.quiet).any():
        return
    every = np.arange(len(problem.services))
    _answer_enough(program, "ready", every, (serves.service == every[:, None]).astype(float))
    shape, each = program.quiet.shape, np.arange(len(serves))
    share = 1 / (1 + serves.standby_fraction)[:, :, None] * np.ones(len(slots))
    program.add_rows(
        "asleep",
        cells(*shape),
        pulp.LpConstraintLE,
        np.where(made(program.quiet), 0.0, np.inf).ravel(),
        *(in_slot(each, one, np.ones(shape)) for one in (program.quiet, program.rest)),
        in_slot(each, np.broadcast_to(program.replicas[:, :, None], shape), -share),
        _standing_by(program, each, each, np.ones(shape)),
    )


def keep_mean_quality_in_a_slot(program: Program) -> None:
    """sum_v max(0, x - lost[v]) * awake[v,t,y] >= (x - limit[i]) * ready[i,t,y] * demand * (1 - shed)

    As `keep_mean_quality` by period; awake[v,t,y] is what the first kind of rows of `stay_ready` adds up.
    """
    service, gains = quality.gains(program.problem)
    if service.size:
        _answer_enough(program, "slot_quality", service, gains)


def answer_in_time_in_a_slot(program: Program) -> None:
    """sum_v awake[v,t,y] >= ready[i,t,y] * demand * (sum_k takes[k] - shed)

    As `share_response_time` by period, of the same shares; awake as in `keep_mean_quality_in_a_slot`.
    """
    service, fast, smaller = pipelines.in_time(program.problem)
    if service.size:
        _answer_enough(program, "slot_stage", service, fast.astype(float), smaller)


def answer_each_region_in_a_slot(program: Program) -> None:
    """sum_v awake[v,t,y] >= share[n,y] * ready[i,t,y] * demand * (1 - shed)

    As `answer_each_region` by period; awake as in `keep_mean_quality_in_a_slot`. Share[n,y] is the part of
    the load of the slot that comes from the regions of n.
    """
    service, answers, _ = regions.columns(program.problem)
    if service.size:
        count = len(program.problem.slots)
        share = np.array([one.in_slots(count) for one in regions.sets(program.problem)])
        _answer_enough(program, "slot_region", service, answers.astype(float), share=share)


def _answer_enough(
    program: Program,
    stem: str,
    service: Whole,
    counts: Floats,
    takes: Flags | None = None,
    share: Floats | None = None,
) -> None:
    """The first kind of rows of `stay_ready`, each replica times counts[n,v]: rows of (n, period, slot).

    In the periods in which any replica of the service may rest. Where shares of time are given, their sum
    replaces the 1; where shares of the demand of each slot are, they multiply it.
    """
    problem, serves = program.problem, program.problem.serve_options
    if not len(problem.slots) or not made(program.quiet).any():
        return
    demand, slots = problem.services.demand[service], np.ones(len(problem.slots))
    most = np.ones(len(service)) if share is None else share.max(axis=1, initial=0.0)
    demand = demand * most[:, None]
    capacity = counts[:, :, None] * serves.capacity
    scale = capacity.max(axis=1, initial=0.0)
    scale[scale == 0] = 1.0
    ready = problem.slot_demand.ready_fraction[service] * (demand / scale)[:, :, None]
    if share is not None:
        ready = ready * (share / np.where(most > 0, most, 1.0)[:, None])[:, None, :]
    sleeps = np.zeros(problem.services.demand.shape, dtype=bool)
    np.logical_or.at(sleeps, serves.service, made(program.quiet).any(axis=2))
    sleeps = sleeps[service][:, :, None]
    parts: list[Part] = []
    for n, each in enumerate(counts):
        rows = np.flatnonzero(each)
        part, row = (capacity[n, rows] / scale[n])[:, :, None] * slots, np.full(rows.size, n)
        replicas = np.broadcast_to(program.replicas[rows, :, None], part.shape)
        standing = 1 / (1 + serves.standby_fraction[rows])[:, :, None]
        parts += [
            in_slot(row, replicas, part * standing),
            in_slot(row, program.quiet[rows], -part),
            in_slot(row, program.rest[rows], -part),
            _standing_by(program, rows, row, -part),
        ]
        if takes is not None:
            smaller = np.flatnonzero(takes[n])
            wanted = np.broadcast_to(-ready[n], (smaller.size, *ready.shape[1:]))
            taken = np.broadcast_to(taking(program)[smaller, None, None], wanted.shape)
            parts.append(in_slot(np.full(smaller.size, n), taken, wanted))
    sheds = np.isfinite(problem.services.unmet_usd)[service][:, :, None]
    shed = np.broadcast_to(program.shed[service][:, :, None], ready.shape)
    program.add_rows(
        stem,
        cells(*ready.shape),
        pulp.LpConstraintGE,
        np.where(sleeps, ready if takes is None else 0.0, -np.inf).ravel(),
        *parts,
        in_slot(np.arange(len(service)), shed, np.where(sheds, ready, 0.0)),
        _given(program, "demand", np.where(sleeps, ready, 0.0), demand, service),
    )


def _standing_by(program: Program, options: Whole, row_of: Whole, coefficients: Floats) -> Part:
    """standby[v,t] * serves[v,t] of some options in every slot, times a coefficient, in rows of `row_of`."""
    serves, count = program.problem.serve_options, coefficients.shape[2]
    option, period = np.nonzero(serves.chosen_or_not)
    if not option.size:
        return NO_PART
    used = np.full((*serves.standby.shape, 1), None, dtype=object)
    used[option, period, 0] = serving(program)
    stands = np.broadcast_to(used, (*serves.standby.shape, count))[options]
    return in_slot(row_of, stands, coefficients * serves.standby[options, :, None])


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
        *_taken(program),
        _lent(program),
        _rested(program, -1.0),
        *_unusable(program),
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
    moving = np.isin(np.arange(len(site)), groups.site[_something_moves(program)])
    judged = np.where(fine[:, None, None], there, moving[:, None, None])
    program.add_rows(
        "slot_power",
        cells(*site.shape, count),
        pulp.LpConstraintLE,
        np.where(judged, site[:, :, None], np.inf).ravel(),
        *_power(program, groups.site, one),
        *net(program, np.ones(len(site))),
        _given(program, "power", -np.repeat(_sizes(program, "power", site)[:, :, None], count, axis=2), site),
    )
    limit, sharing = problem.limits.shared_power_kw, problem.limits.shared_power_sites
    if not len(limit):
        return
    parts = [
        part
        for number, sites in enumerate(sharing)
        for part in (
            *_power(program, np.full(len(groups), number), one * sites[groups.site]),
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
        _given(
            program,
            "shared power",
            -np.repeat(_sizes(program, "shared power", limit)[:, :, None], count, axis=2),
            limit,
        ),
    )


def _sizes(program: Program, family: str, limits: Floats) -> Floats:
    """What one unit of the slack of each limit stands for, where a share of it is counted by `_given`."""
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
        *_changed_power(program, groups.site, one),
        *net(program, np.ones(shape[0])),
        in_slot(np.arange(shape[0]), above, -np.ones((*shape, count))),
    )


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


def _something_moves(program: Program) -> NDArray[np.bool_]:
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


def _fixed_work(program: Program) -> Variables:
    """Work that does not move, in every slot [O, T, Y]; nothing where it does."""
    return alike_in_slots(program.work, program.work_in)


def _moving(whole: Variables, moved: Variables) -> Variables:
    """What the period does of what moves, in every slot; nothing where it does not."""
    wide = np.broadcast_to(whole[:, :, None], moved.shape).copy()
    wide[~made(moved)] = None
    return wide


def _taken(program: Program) -> tuple[Part, ...]:
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
        in_slot(works.node_group, _fixed_work(program), held),
        in_slot(pausable.node_group, program.done_in, ones),
        in_slot(pausable.node_group, alike_in_slots(program.done, program.done_in), ones),
    )


def _unusable(program: Program) -> tuple[Part, ...]:
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


def _lent(program: Program) -> Part:
    works = program.problem.work_options
    held = works.held_ratio[:, :, None] * np.ones(len(program.problem.slots))
    return in_slot(works.node_group, program.lent, held)


def _rested(program: Program, factor: float) -> Part:
    serves = program.problem.serve_options
    nodes = serves.nodes[:, None, None] * np.ones(program.rest.shape)
    return in_slot(serves.node_group, program.rest, factor * nodes)


def _changed_power(program: Program, row_of: Whole, counted: Floats) -> tuple[Part, ...]:
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
        _moving(whole, one)
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


def _power(program: Program, row_of: Whole, counted: Floats) -> tuple[Part, ...]:
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
        *_changed_power(program, row_of, counted),
    )
