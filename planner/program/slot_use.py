"""What nodes do in each slot of a plan, and what each site draws then; energy adds up to that of the plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.physics.equations.slots import in_slots_kwh, served_slot_kwh, spread_slot_kwh
from planner.program.assembly import Assembled
from planner.program.ledger import PlanLedger
from planner.program.slot_ledger import DECIDED, sites_with_nodes
from planner.program.slot_ledger import TERMS as LEVER_TERMS
from planner.trace.columns import Floats
from planner.trace.quantities import Chosen, Traced, chosen, derive, each_row, rows
from solver.account import nodes_under_way, totals_by
from solver.account_slots import shrinking, use_of
from solver.problem import Solution

Use = tuple[str, Traced, NDArray[np.intp], Chosen]  # its name, energy of one, node group and how many

for _function in (served_slot_kwh, spread_slot_kwh):
    each_row(_function)


@dataclass(frozen=True, eq=False)
class SlotNodes:
    """Mean nodes by state and energy at the meter by use, by site, period and slot (S, T, Y)."""

    nodes: dict[str, Floats]
    kwh: dict[str, Traced]


def slot_nodes(assembled: Assembled, solution: Solution, ledger: PlanLedger) -> SlotNodes | None:
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
        _drawn(assembled, solution, ledger),
    )


def _drawn(assembled: Assembled, solution: Solution, ledger: PlanLedger) -> dict[str, Traced]:
    """Energy of each site by period and slot (S, T, Y), use by use.

    What is the same at all hours is spread by their length, serving by the power of its load, and what is
    decided by slot stands in its slot.
    """
    found: dict[str, Traced] = {}
    sites = np.arange(len(assembled.problem.site_names))[:, None]
    of_site = assembled.problem.node_groups.site
    for name, each, group, amounts in (
        *_by_period(assembled, ledger),
        *_by_slot(assembled, solution),
    ):
        if not np.any(amounts.value):
            continue
        here = chosen("here", (sites == of_site[group]).astype(float), "which site each is at")
        found[name] = derive(in_slots_kwh, each_kwh=each, amounts=amounts, here=here)
    return found


def _by_period(assembled: Assembled, ledger: PlanLedger) -> Iterator[Use]:
    """What is decided by period, spread over its slots."""
    levers, replicas = assembled.levers, ledger.replicas
    assert levers is not None, "something is decided by slot"
    slot_fraction = levers.times.slot_fraction
    for term, (each, counts) in ledger.parts["kwh"].items():
        if term in LEVER_TERMS:
            continue
        if term == "serving" and replicas is not None and replicas.even_kw is not None:
            spread = derive(
                served_slot_kwh, each_kwh=each, even_kw=replicas.even_kw, slot_fraction=slot_fraction
            )
        else:
            spread = derive(spread_slot_kwh, each_kwh=each, slot_fraction=slot_fraction)
        yield term, spread, ledger.part_groups[term], counts


def _by_slot(assembled: Assembled, solution: Solution) -> Iterator[Use]:
    """What is decided slot by slot, beyond what its period takes."""
    problem, levers = assembled.problem, assembled.levers
    assert levers is not None, "something is decided by slot"
    used, slots, every = use_of(problem, solution), problem.slots, np.arange(len(problem.node_groups))
    hours, days, share = slots.hours.T, slots.days.T, slots.share()

    def times(name: str, amounts: Floats, what: str) -> Chosen:
        return chosen(name, amounts, f"{DECIDED}: {what}", "1")

    def changes(amounts: Floats) -> Chosen:
        return times(
            "changes", days * shrinking(problem, amounts), "how often that ends on the days of a slot"
        )

    for name, moving, row, group, amounts in (
        (
            "work",
            levers.pools,
            np.arange(len(problem.work_options)),
            problem.work_options.node_group,
            used.work,
        ),
        (
            "pausable work",
            levers.pausable,
            assembled.pausable_row,
            problem.pausable_options.node_group,
            used.done,
        ),
    ):
        if moving is None or not len(row):
            continue
        beyond = amounts * hours - (amounts * hours).sum(axis=-1, keepdims=True) * share
        done = times(
            "node_hours", beyond, "node-hours of the slot, less those at the same number at all hours"
        )
        yield f"{name} that moves", rows(moving.lent.kwh, row), group, done
        able = amounts * moving.allowed[row][:, None, None]
        yield f"{name} lost at stops", rows(moving.stop.kwh, row), group, changes(able)
    if levers.pools is not None:
        lent = times("node_hours", used.lent * hours, "node-hours of the slot on nodes that are lent")
        yield "work on lent nodes", levers.pools.lent.kwh, problem.work_options.node_group, lent
    if levers.resting is not None and len(assembled.replica_row):
        resting, row, group = levers.resting, assembled.replica_row, problem.serve_options.node_group
        quiet = times("replicas", used.quiet, "replicas that are quiet in the slot")
        yield "replicas that are quiet", rows(resting.quiet.kwh, row), group, quiet
        rest = times("replicas", used.rest, "replicas that rest in the slot")
        yield "replicas that rest", rows(resting.rest.kwh, row), group, rest
        yield "replicas that wake", rows(resting.wake.kwh, row), group, changes(used.rest)
    if levers.switching is not None:
        off = times("nodes", used.off, "nodes that are off in the slot")
        yield "nodes that are off", levers.switching.off.kwh, every, off
        yield "nodes that boot", levers.switching.boot.kwh, every, changes(used.off)
    if assembled.energy is not None:
        row, group = sites_with_nodes(problem)
        for name, each, flow, what in (
            ("batteries charge", assembled.energy.drawn, used.charge, "kilowatt-hours into batteries"),
            (
                "batteries give back",
                assembled.energy.given,
                used.discharge,
                "kilowatt-hours out of batteries",
            ),
            (
                "sun in place of the grid",
                assembled.energy.shone,
                used.sun + used.sun_moved,
                "kilowatt-hours of the sun",
            ),
        ):
            yield name, rows(each.kwh, row), group, times("energy", flow[row] * hours, what)
