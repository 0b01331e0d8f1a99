"""What nodes do in each slot of a plan, and what each site draws then; energy adds up to that of the plan."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.program.assembly import Assembled
from planner.program.ledger import PlanLedger
from solver.account import nodes_under_way, totals_by
from solver.account_slots import shrinking, use_of
from solver.problem import Solution

Floats = NDArray[np.float64]
LEVER_TERMS = ("shifted", "resting", "lent")


@dataclass(frozen=True, eq=False)
class SlotNodes:
    """Mean nodes by state and energy at the meter, by site, period and slot (S, T, Y)."""

    nodes: dict[str, Floats]
    kwh: Floats


def slot_nodes(
    inputs: Inputs, assembled: Assembled, solution: Solution, ledger: PlanLedger
) -> SlotNodes | None:
    """Each node has one state in each slot; None where the plan decides nothing by slot."""
    levers, problem = assembled.levers, assembled.problem
    if levers is None or solution.slots is None:
        return None
    used, groups = use_of(problem, solution), problem.node_groups
    serves, works, pausable = problem.serve_options, problem.work_options, problem.pausable_options
    count, wide = len(groups), np.ones(len(problem.slots))

    def by_group(group: NDArray[np.int64], amounts: Floats) -> Floats:
        return totals_by(group, count, amounts)

    size = serves.nodes[:, None, None]
    held = works.held_ratio[:, :, None]
    runs = by_group(
        problem.run_options.node_group, problem.run_options.node_hours / groups.hours * solution.run[:, None]
    )
    asleep = used.quiet + used.rest
    there = solution.in_service + solution.rented - nodes_under_way(problem, solution.moved, mean=True)
    states = {
        "awake_nodes": by_group(serves.node_group, size * (solution.replicas[:, :, None] - asleep)),
        "quiet_nodes": by_group(serves.node_group, size * used.quiet),
        "lent_nodes": by_group(works.node_group, held * used.lent),
        "pool_nodes": by_group(works.node_group, held * used.work),
        "job_nodes": runs[:, :, None] * wide + by_group(pausable.node_group, used.done),
        "off_nodes": solution.parked[:, :, None] * wide + used.off,
    }
    states["idle_nodes"] = there[:, :, None] - np.sum(list(states.values()), axis=0)

    def by_site(amounts: Floats) -> Floats:
        return totals_by(groups.site, len(problem.site_names), amounts)

    return SlotNodes(
        {name: by_site(amounts) for name, amounts in states.items()},
        by_site(_drawn(inputs, assembled, solution, ledger)),
    )


def _drawn(inputs: Inputs, assembled: Assembled, solution: Solution, ledger: PlanLedger) -> Floats:
    """Energy of each node group by slot (P, T, Y).

    What is the same at all hours is spread by their length, serving by the power of its load, and what is
    decided by slot stands in its slot.
    """
    problem, levers = assembled.problem, assembled.levers
    assert levers is not None, "something is decided by slot"
    assert solution.slots is not None, "something is decided by slot"
    used, slots, count = use_of(problem, solution), problem.slots, len(problem.node_groups)
    share, hours, days = slots.share(), slots.hours.T, slots.days.T
    found = np.zeros((count, problem.periods, len(slots)))
    for term, (each, counts) in ledger.parts["kwh"].items():
        if term in LEVER_TERMS:
            continue
        amounts = np.broadcast_to(np.asarray(each.value) * counts.value, (len(counts.value), problem.periods))
        spread = share
        if term == "serving" and ledger.replicas is not None and ledger.replicas.even_kw is not None:
            even = np.asarray(ledger.replicas.even_kw.value)
            power = np.tile(even, len(slots) // even.shape[-1]) * share
            spread = power / power.sum(axis=-1, keepdims=True)
        np.add.at(found, ledger.part_groups[term], amounts[:, :, None] * spread)
    for moving, rows, group, amounts in (
        (levers.pools, np.arange(len(problem.work_options)), problem.work_options.node_group, used.work),
        (levers.pausable, assembled.pausable_row, problem.pausable_options.node_group, used.done),
    ):
        if moving is None or not len(rows):
            continue
        increment = np.asarray(moving.lent.kwh.value)[rows]
        mean = (amounts * hours).sum(axis=-1, keepdims=True) * share
        np.add.at(found, group, increment * (amounts * hours - mean))
        stops = days * shrinking(problem, amounts) * moving.allowed[rows][:, None, None]
        np.add.at(found, group, np.asarray(moving.stop.kwh.value)[rows][:, :, None] * stops)
    if levers.pools is not None:
        lent = np.asarray(levers.pools.lent.kwh.value) * used.lent * hours
        np.add.at(found, problem.work_options.node_group, lent)
    if levers.resting is not None and len(assembled.replica_row):
        resting, row, group = levers.resting, assembled.replica_row, problem.serve_options.node_group
        np.add.at(found, group, np.asarray(resting.quiet.kwh.value)[row] * used.quiet)
        np.add.at(found, group, np.asarray(resting.rest.kwh.value)[row] * used.rest)
        wakes = days * shrinking(problem, used.rest)
        np.add.at(found, group, np.asarray(resting.wake.kwh.value)[row][:, :, None] * wakes)
    if levers.switching is not None:
        found += np.asarray(levers.switching.off.kwh.value) * used.off
        boots = days * shrinking(problem, used.off)
        found += np.asarray(levers.switching.boot.kwh.value)[:, :, None] * boots
    return found
