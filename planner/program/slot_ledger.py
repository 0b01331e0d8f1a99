"""Money, carbon and energy of what a plan decides by slot, traced, by node group and period."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.physics.equations.slots import (
    in_slots_kwh,
    over_slots_kgco2e,
    over_slots_kwh,
    over_slots_usd,
)
from planner.physics.levers import Energy, Levers, Moving
from planner.physics.site_energy import SiteEnergy
from planner.trace.columns import Floats
from planner.trace.quantities import Part, Traced, chosen, derive, rows
from planner.trace.sums import over_rows, sums
from solver.account_slots import lent_node_h, shrinking
from solver.problem import Problem, SlotUse, Solution

DECIDED = "decided by the program"
NONE = 1e-9  # of nodes or times: rounding of the search
OF_SITES = ("stored", "sun", "battery", "solar")  # what batteries and the sun of a site take as a whole
TERMS = ("shifted", "resting", "lent", *OF_SITES)
SUMS: dict[str, Callable[..., Any]] = {
    "usd": over_slots_usd,
    "kgco2e": over_slots_kgco2e,
    "kwh": over_slots_kwh,
}


for _function in (in_slots_kwh, *SUMS.values()):
    sums(over_rows("here"))(_function)


@dataclass(frozen=True, eq=False)
class SlotChoice:
    """What a plan decides by slot: coefficients of the options that it takes, and which these are.

    They are worked out once more for these alone, so that an explanation opens no other candidate.
    """

    levers: Levers
    used: SlotUse
    replica_options: NDArray[np.intp]
    pausable_rows: NDArray[np.intp]
    pausable_options: NDArray[np.intp]
    energy: SiteEnergy | None = None
    battery_kwh: Floats | None = None  # (S,)
    solar_kw: Floats | None = None  # (S,)


def slot_parts(kind: str, problem: Problem, chosen_few: SlotChoice | None) -> dict[str, Part | None]:
    """Each term that the slots add to the period, a row for each node group; none where none is decided."""
    found = dict[str, list[Traced]]()
    if chosen_few is None:
        return {}
    used, levers = chosen_few.used, chosen_few.levers
    hours, days = problem.slots.hours.T, problem.slots.days.T
    groups = len(problem.node_groups)

    def put(term: str, each: Traced, row: NDArray[np.intp], group: NDArray[np.intp], many: Floats) -> None:
        amounts = np.where(many > NONE, many, 0.0)
        some = np.flatnonzero(amounts.reshape(len(amounts), -1).any(axis=1))
        if not some.size:
            return
        here = (np.arange(groups)[:, None] == group[some]).astype(float)
        found.setdefault(term, []).append(
            derive(
                SUMS[kind],
                **{f"each_{kind}": rows(each, row[some])},
                amounts=chosen("amounts", amounts[some], DECIDED),
                here=chosen("here", here, "which node group each is on"),
            )
        )

    def moved(moving: Moving, row: NDArray[np.intp], amounts: Floats) -> None:
        group = moving.node_group[row]
        if kind != "kwh":
            put("shifted", getattr(moving, f"beyond_{kind}"), row, group, hours * amounts)
        stops = days * shrinking(problem, amounts)
        put("shifted", getattr(moving.stop, kind), row, group, stops.sum(axis=2))

    if levers.pools is not None:
        every = np.arange(len(levers.pools.allowed))
        moved(levers.pools, every, used.work)
        put("lent", getattr(levers.pools.lent, kind), every, levers.pools.node_group, hours * used.lent)
    if levers.pausable is not None:
        moved(levers.pausable, chosen_few.pausable_rows, used.done[chosen_few.pausable_options])
    _rest(kind, problem, chosen_few, put)
    if chosen_few.energy is not None and chosen_few.battery_kwh is not None:
        row, group = sites_with_nodes(problem)
        energy = chosen_few.energy
        for term, each, flow in (
            ("stored", energy.drawn, used.charge),
            ("stored", energy.given, used.discharge),
            ("sun", energy.shone, used.sun),
            ("sun", energy.shone_moved, used.sun_moved),
        ):
            put(term, getattr(each, kind), row, group, hours * flow[row])
        if kind != "kwh":
            for term, bought in (("battery", chosen_few.battery_kwh), ("solar", chosen_few.solar_kw)):
                if bought is not None:
                    amounts = bought[row, None] * np.ones(problem.periods)
                    put(term, getattr(getattr(energy, term), kind), row, group, amounts)
    return {term: _summed(kind, term, parts) for term, parts in found.items()}


def slot_parts_of(
    kind: str, problem: Problem, chosen_few: SlotChoice | None, work: str, number: int
) -> dict[str, Part | None]:
    """The same terms for one work alone: pool, service or pausable job `number`; "idle": nodes that are off.

    Over all of them they add up to those of `slot_parts`, but for what sites take as a whole.
    """
    if chosen_few is None:
        return {}
    used = chosen_few.used

    def only(name: str, of: NDArray[np.intp], amounts: Floats) -> Floats:
        kept = (of == number) & (work == name)
        return np.where(kept[:, None, None], amounts, 0.0)

    pools, services = problem.work_options.work, problem.serve_options.service
    alone = replace(
        used,
        work=only("pools", pools, used.work),
        lent=only("pools", pools, used.lent),
        done=only("pausable", problem.pausable_options.job, used.done),
        quiet=only("serving", services, used.quiet),
        rest=only("serving", services, used.rest),
        off=used.off if work == "idle" else np.zeros_like(used.off),
    )
    return slot_parts(kind, problem, replace(chosen_few, used=alone, energy=None))


def moving_node_h(problem: Problem, solution: Solution) -> Floats:
    """Node-hours of each option of a pool by which data move, on nodes of its own and lent ones [O, T]."""
    if not len(problem.slots):
        return solution.work_node_h
    slower = problem.work_shifts.lent_speed_fraction[:, None]
    moving: Floats = solution.work_node_h + slower * lent_node_h(problem, solution)
    return moving


def sites_with_nodes(problem: Problem) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Sites of one's own, and of each a node group: what a site takes as a whole counts with its first."""
    own = np.flatnonzero(~problem.node_groups.off_site)
    site, first = np.unique(problem.node_groups.site[own], return_index=True)
    return site.astype(np.intp), own[first].astype(np.intp)


def _rest(
    kind: str,
    problem: Problem,
    chosen_few: SlotChoice,
    put: Callable[[str, Traced, NDArray[np.intp], NDArray[np.intp], Floats], None],
) -> None:
    """Replicas that are quiet or rest, nodes that are off."""
    levers, used, options = chosen_few.levers, chosen_few.used, chosen_few.replica_options
    days = problem.slots.days.T
    if levers.resting is not None:
        resting, row = levers.resting, np.arange(len(options))
        group, rest = problem.serve_options.node_group[options], used.rest[options]
        put("resting", getattr(resting.quiet, kind), row, group, used.quiet[options])
        put("resting", getattr(resting.rest, kind), row, group, rest)
        _changes(kind, resting.wake, row, group, days * shrinking(problem, rest), put)
    if levers.switching is not None:
        every = np.arange(len(problem.node_groups))
        put("resting", getattr(levers.switching.off, kind), every, every, used.off)
        _changes(kind, levers.switching.boot, every, every, days * shrinking(problem, used.off), put)


def _changes(
    kind: str,
    each: Energy,
    row: NDArray[np.intp],
    group: NDArray[np.intp],
    amounts: Floats,
    put: Callable[[str, Traced, NDArray[np.intp], NDArray[np.intp], Floats], None],
) -> None:
    put("resting", getattr(each, kind), row, group, amounts.sum(axis=2))


def _summed(kind: str, term: str, parts: list[Traced]) -> Part:
    whole = parts[0]
    for part in parts[1:]:
        whole = whole + part
    if len(parts) > 1:
        whole = whole.named(f"{term}_{kind}")
    return whole, chosen("counts", np.ones(np.shape(whole.value)), "once in each period", "1")
