"""Rules of batteries and of the sun once more, as plain sums over each slot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from solver import account, account_energy, account_slots
from solver.problem import Problem, Solution
from solver.tables import Floats, Whole

Broken = tuple[str, Floats, Floats]  # a rule, what is there, and the most that may be


def fixed_kw(problem: Problem, plan: Solution) -> Floats:
    """What of the load of `load_kw` cannot move [S, T, Y]: no work that may, no lent nodes."""
    still = plan.slots or account_slots.no_use(problem)
    held = {
        "work": np.where(problem.work_shifts.may_move[:, None, None], 0.0, still.work),
        "done": np.where(problem.pausable_shifts.may_move[:, None, None], 0.0, still.done),
    }
    moved = (
        np.where(problem.work_shifts.may_move[:, None], 0.0, plan.work_node_h),
        np.where(problem.pausable_shifts.may_move[:, None], 0.0, plan.done_node_h),
    )
    resting = replace(still, **held, lent=0 * still.lent)
    fixed = replace(plan, slots=resting, work_node_h=moved[0], done_node_h=moved[1])
    # Nodes of work that moves idle: they draw that much whether it works or not.
    return load_kw(problem, fixed)


def load_kw(problem: Problem, plan: Solution) -> Floats:
    """What each site draws without its battery and its sun, in the mean of each slot [S, T, Y].

    L[s,t,y] = (what is the same in all slots) + sum_v drawn[v,t,y] * replicas[v,t] + (what the slot changes)

    Off-site nodes are not counted.
    """
    groups, serves = problem.node_groups, problem.serve_options
    used, slot_h, days = account_slots.use_of(problem, plan), problem.slots.hours.T, problem.slots.days.T
    share = problem.slots.share()
    load = np.zeros((len(groups), problem.periods, len(problem.slots)))

    def add(group: Whole, kwh: Floats) -> None:
        """Energy of a slot, on all its days."""
        wide = np.broadcast_to(slot_h, kwh.shape)
        np.add.at(load, group, np.divide(kwh, wide, out=np.zeros_like(kwh), where=wide > 0))

    load += (_alike_kwh(problem, plan) / groups.hours)[:, :, None]
    idle_kw = groups.idle_kwh_per_node / groups.hours
    held_kw = (idle_kw[serves.node_group] * serves.node_hours / groups.hours)[:, :, None]
    np.add.at(load, serves.node_group, (problem.drawing.drawn_kw + held_kw) * plan.replicas[:, :, None])
    for table, amounts, group, kwh in (
        (
            problem.work_shifts,
            used.work,
            problem.work_options.node_group,
            problem.work_options.kwh_per_node_h,
        ),
        (
            problem.pausable_shifts,
            used.done,
            problem.pausable_options.node_group,
            problem.pausable_options.kwh_per_node_h,
        ),
    ):
        mean = (amounts * share).sum(axis=2, keepdims=True)
        np.add.at(load, group, (kwh - idle_kw[group])[:, :, None] * (amounts - mean))
        able = amounts * table.may_move[:, None, None]
        add(group, days * table.stop_kwh[:, :, None] * account_slots.shrinking(problem, able))
    lent = problem.work_shifts.lent_kwh_per_node_h * used.lent
    np.add.at(load, problem.work_options.node_group, lent)
    resting, switching, every = problem.resting, problem.switching, np.arange(len(groups))
    add(serves.node_group, resting.quiet_kwh * used.quiet + resting.rest_kwh * used.rest)
    woken, booted = (account_slots.shrinking(problem, one) for one in (used.rest, used.off))
    add(serves.node_group, days * resting.wake_kwh[:, :, None] * woken)
    add(every, switching.off_kwh * used.off + days * switching.boot_kwh[:, :, None] * booted)
    load *= ~groups.off_site[:, None, None]
    return account.totals_by(groups.site, len(problem.site_names), load)


def _alike_kwh(problem: Problem, plan: Solution) -> Floats:
    """Energy of each node group that is the same in all slots of a period, replicas left out [P, T]."""
    groups, serves, runs = problem.node_groups, problem.serve_options, problem.run_options
    works, pausable, count = problem.work_options, problem.pausable_options, len(problem.node_groups)
    energy = groups.idle_kwh_per_node * account.idle_nodes(problem, plan, plan.in_service)
    energy = energy + groups.off_kwh_per_node * plan.parked
    energy = energy + account.totals_by(runs.node_group, count, runs.kwh * plan.run[:, None])
    starting = serves.start_kwh * account.started(plan.replicas)
    energy = energy + account.totals_by(serves.node_group, count, starting)
    energy = energy + account.totals_by(works.node_group, count, works.kwh_per_node_h * plan.work_node_h)
    done = pausable.kwh_per_node_h * plan.done_node_h
    return energy + account.totals_by(pausable.node_group, count, done)


def energy_rules(problem: Problem, plan: Solution) -> Iterator[Broken]:
    """What is stored adds up and fits, the sun gives it, nothing is sold, no more is bought than may be."""
    if not account_energy.has_energy(problem).any():
        return
    table, slots = problem.site_energy, problem.slots
    used = plan.slots or account_slots.no_use(problem)
    bought, there = account_energy.battery_kwh(problem, plan), slots.hours.T > 0
    lasts_h = np.divide(slots.hours, slots.days, out=np.zeros_like(slots.hours), where=slots.days > 0).T
    way = table.one_way_fraction[:, None, None]
    held = (bought[:, None] * table.battery_ready)[:, :, None] * np.ones(used.stored.shape)
    ways = way * used.charge - used.discharge / way
    change = np.where(there, used.stored - used.stored[:, :, slots.before] - lasts_h * ways, 0.0)
    scale = np.maximum(1.0, held)
    for sign in (1.0, -1.0):
        yield "energy stored", 1.0 + sign * change / scale, np.ones(change.shape)
    yield "battery held", used.stored, held
    yield "battery power", used.charge + used.discharge, table.kw_per_kwh[:, None, None] * held
    cells = account_energy.solar_kw(problem, plan)
    yield "sun used", used.sun + used.sun_moved, np.where(there, table.given_kw(cells), 0.0)
    yield "solar bought", cells, table.solar_most_kw
    yield "sun on load that is fixed", used.sun, np.where(there, fixed_kw(problem, plan), np.inf)
    yield "battery bought", bought, table.most_kwh
    drawn: NDArray[np.float64] = load_kw(problem, plan)
    yield (
        "sold to the grid",
        used.discharge + used.sun + used.sun_moved - used.charge,
        np.where(there, drawn, np.inf),
    )
