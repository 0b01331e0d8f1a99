"""Rules of the use of slots once more, as plain sums over each slot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from solver import account, account_energy, account_slots, quality
from solver.problem import Problem, Solution
from solver.solution import SlotUse
from solver.tables import Floats
from solver.verify_energy import energy_rules

Broken = tuple[str, Floats, Floats]  # a rule, what is there, and the most that may be


def slot_rules(problem: Problem, plan: Solution) -> Iterator[Broken]:
    """Each rule as what is there and the most that may be, slot by slot."""
    if not len(problem.slots):
        return
    used, own = account_slots.use_of(problem, plan), plan.slots or account_slots.no_use(problem)
    for part in fields(SlotUse):
        yield f"{part.name} in a slot", -getattr(own, part.name), np.zeros(getattr(own, part.name).shape)
    yield from _what_may_not(problem, own)
    yield from _moved_adds_up(problem, plan, used)
    yield from _work_is_done(problem, plan, used)
    yield from _ramps(problem, plan, used)
    yield from _nodes_suffice(problem, plan, used)
    yield from _ready(problem, plan, used)
    yield from _power(problem, plan)
    yield from energy_rules(problem, plan)


def _what_may_not(problem: Problem, used: SlotUse) -> Iterator[Broken]:
    """Nothing moves, borrows, rests or is switched off that may not."""
    shifts, pauses = problem.work_shifts.may_move, problem.pausable_shifts.may_move
    rests, switches = problem.resting.may_rest, problem.switching.may_switch
    for rule, amounts, allowed in (
        ("work may move", used.work, shifts),
        ("done may move", used.done, pauses),
        ("work may borrow", used.lent, problem.work_shifts.may_borrow),
        ("replicas may be quiet", used.quiet, rests),
        ("replicas may rest", used.rest, rests),
        ("nodes may be off", used.off, switches),
    ):
        yield rule, amounts * ~allowed[:, None, None], np.zeros(amounts.shape)


def _moved_adds_up(problem: Problem, plan: Solution, used: SlotUse) -> Iterator[Broken]:
    """sum_y h[y,t] * x[y,t] - lost * stops = hours[t] * x[t];  done[e,t,y] <= limit / hours[t] * chosen"""
    hours, share = problem.node_groups.hours, problem.slots.share()
    for rule, amounts, whole, table in (
        ("work over slots", used.work, plan.work_node_h, problem.work_shifts),
        ("done over slots", used.done, plan.done_node_h, problem.pausable_shifts),
    ):
        lost = account_slots.lost_fraction(problem, table) * account_slots.shrinking(problem, amounts)
        worked = (share * amounts - lost * table.may_move[:, None, None]).sum(axis=2)
        yield rule, worked, whole / hours
        yield rule, -worked, -whole / hours
    options = problem.pausable_options
    pace = options.node_hours_limit / hours * plan.chosen[:, None]
    moves = problem.pausable_shifts.may_move[:, None, None]
    yield "pace in a slot", used.done * moves, np.where(moves, pace[:, :, None], np.inf)


def _work_is_done(problem: Problem, plan: Solution, used: SlotUse) -> Iterator[Broken]:
    """Work of each type of day where it stays on its day; and in every slot what cannot wait."""
    options, shifts, slots = problem.work_options, problem.work_shifts, problem.slots
    share, hours = slots.share(), problem.node_groups.hours
    lost = account_slots.lost_fraction(problem, shifts) * account_slots.shrinking(problem, used.work)
    speed = options.speed[:, None, None]
    rate = speed * (used.work + shifts.lent_speed_fraction[:, None, None] * used.lent)
    in_slot = account.totals_by(options.work, len(problem.work), rate * share)
    in_slot -= account.totals_by(
        options.work, len(problem.work), speed * lost * shifts.may_move[:, None, None]
    )
    wanted = (problem.work.demand_h / hours)[:, :, None]
    for one in np.unique(slots.day_type).tolist():
        own = slots.day_type == one
        due = wanted[:, :, 0] * share[:, own].sum(axis=1)
        bound = np.where(problem.windows.within_day[:, None], due, 0.0)
        yield "work of a day", -in_slot[:, :, own].sum(axis=2), -bound
    now = account.totals_by(options.work, len(problem.work), rate)
    moves = np.zeros(len(problem.work), dtype=bool)
    moves[options.work[shifts.may_move]] = True
    bound = np.where(moves, 1 - problem.windows.may_wait_fraction, 0.0)[:, None, None] * wanted
    bound = bound * (slots.hours.T > 0)
    yield "work that cannot wait", -now, -np.broadcast_to(bound, now.shape)


def _ramps(problem: Problem, plan: Solution, used: SlotUse) -> Iterator[Broken]:
    """|x[y] - x[y']| <= ramp, of each work in reference nodes and of each pausable option in nodes"""
    options, before = problem.work_options, problem.slots.before
    slower = problem.work_shifts.lent_speed_fraction[:, None, None]
    rate = options.speed[:, None, None] * (used.work + slower * used.lent)
    each = account.totals_by(options.work, len(problem.work), rate)
    wanted = problem.work.demand_h / problem.node_groups.hours
    for rule, amounts, ramp, of in (
        ("ramp of work", each, problem.windows.ramp_fraction, wanted),
        ("ramp of a job", used.done, problem.pausable_shifts.ramp_nodes, plan.chosen[:, None]),
    ):
        change, held = np.abs(amounts - amounts[:, :, before]), np.isfinite(ramp)
        most = np.full(change.shape, np.inf)
        most[held] = (ramp[held, None] * of[held])[:, :, None]
        yield rule, change, most


def _nodes_suffice(problem: Problem, plan: Solution, used: SlotUse) -> Iterator[Broken]:
    """Taken <= usable;  lent <= resting;  off + taken + lent - resting <= usable, in mean nodes"""
    runs, serves, works = problem.run_options, problem.serve_options, problem.work_options
    groups, hours = len(problem.node_groups), problem.node_groups.hours
    held = works.held_ratio[:, :, None]
    flat = account.totals_by(runs.node_group, groups, runs.node_hours / hours * plan.run[:, None])
    flat = flat + account.totals_by(serves.node_group, groups, serves.node_hours / hours * plan.replicas)
    taken = flat[:, :, None] + account.totals_by(works.node_group, groups, held * used.work)
    taken = taken + account.totals_by(problem.pausable_options.node_group, groups, used.done)
    absent = account.down_nodes(problem, plan.kept) + account.nodes_under_way(problem, plan.moved, mean=True)
    usable = (plan.in_service + plan.rented - absent - plan.spares - plan.parked)[:, :, None]
    usable = np.broadcast_to(usable, taken.shape)
    lent = account.totals_by(works.node_group, groups, held * used.lent)
    resting = account.totals_by(serves.node_group, groups, serves.nodes[:, None, None] * used.rest)
    yield "nodes in a slot", taken, usable
    yield "nodes that are lent", lent, resting
    yield "nodes that are off", used.off + taken + lent - resting, usable


def _ready(problem: Problem, plan: Solution, used: SlotUse) -> Iterator[Broken]:
    """Awake replicas, those that stand by not counted, carry what a slot has to be ready for."""
    serves, services = problem.serve_options, problem.services
    stands = serves.standby * (plan.replicas > 0)
    carrying = plan.replicas / (1 + serves.standby_fraction) - stands
    asleep = used.quiet + used.rest
    yield "standby awake", asleep, np.broadcast_to(np.maximum(carrying, 0.0)[:, :, None], asleep.shape)
    each, wanted = awake_in_slots(problem, plan)
    awake = account.totals_by(serves.service, len(services), each)
    sleeps = np.zeros(services.demand.shape, dtype=bool)
    np.logical_or.at(sleeps, serves.service, asleep.any(axis=2))
    size = np.maximum(services.demand, 1e-12)[:, :, None]
    yield "ready in a slot", -awake / size, np.where(sleeps[:, :, None], -wanted / size, np.inf)
    answered = quality.answered(problem, each, wanted)
    limit = quality.mean_loss_limit_per_s(problem, answered)
    most = np.where(sleeps[:, :, None], limit / size, np.inf)
    yield "mean quality in a slot", quality.lost_per_s(problem, answered) / size, most


def awake_in_slots(problem: Problem, plan: Solution) -> tuple[Floats, Floats]:
    """Requests/s that awake replicas of each option carry [V, T, Y], and what services have to be ready for.

    Those that stand by are not counted.
    """
    serves, services = problem.serve_options, problem.services
    used = account_slots.use_of(problem, plan)
    carrying = plan.replicas / (1 + serves.standby_fraction) - serves.standby * (plan.replicas > 0)
    each = serves.capacity[:, :, None] * (carrying[:, :, None] - used.quiet - used.rest)
    wanted = (services.demand * (1 - plan.shed_fraction))[:, :, None] * problem.slot_demand.ready_fraction
    return each, wanted


def _power(problem: Problem, plan: Solution) -> Iterator[Broken]:
    """Facility power of each slot <= power_kw[s,t], and of sites that share <= shared_power_kw[f,t]"""
    changed = account_slots.changed_kw(problem, plan)
    power = account.peak_kw(problem, plan, plan.in_service)[:, :, None] + changed
    # What a plan without slots draws is judged by the rules of the period.
    moving: NDArray[np.bool_] = np.abs(changed) > account.NOTHING
    fine, there = account_energy.has_energy(problem), problem.slots.hours.T > 0
    judged = np.where(fine[:, None, None], there, moving)
    power = power + account_energy.net_kw(problem, plan.slots)
    yield "power in a slot", power, np.where(judged, problem.limits.power_kw[:, :, None], np.inf)
    shared = np.einsum("fs,sty->fty", problem.limits.shared_power_sites.astype(float), power)
    judged = there | ~account_energy.shares_energy(problem)[:, None, None]
    together = np.where(judged, problem.limits.shared_power_kw[:, :, None], np.inf)
    yield "shared power in a slot", shared, together
