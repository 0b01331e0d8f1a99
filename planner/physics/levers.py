"""What operation may decide by the hour, and what it takes: moving work, resting replicas, lent nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.physics.equations.slots import (
    changed_kwh,
    moved_kgco2e,
    moved_usd,
    off_slot_kwh,
    ready_fraction,
    saved_slot_kwh,
    slot_kgco2e,
    slot_usd,
)
from planner.physics.experiments import PoolWork
from planner.physics.nodes import Nodes, Parked, bill_by_site, idle_node_items
from planner.physics.pausable import PausableJobs
from planner.physics.serving import Replicas
from planner.physics.slots import SlotTimes
from planner.trace.columns import Column
from planner.trace.quantities import Traced, chosen, derive, each_row, pick, rows


def work_increment_kwh(nodes: Nodes, group: NDArray[np.intp], facility_kwh: Traced, hour: Traced) -> Traced:
    """What an hour of work adds to a node that would idle (X, T)."""
    idle = (rows(nodes.idle_facility_kw, group) * hour).named("idle_kwh")
    return (facility_kwh - idle).named(
        "work_increment_kwh",
        "Energy that an hour of work adds to a node that would idle, at the facility's meter",
    )


def lent_kwh(*, increment_kwh: Column, slot_h: Column, active_h: Column) -> Column:
    """Energy of an hour of work in each slot.

    E = E_1 / h_1

    Source: definition; the same in every slot.
    """
    each = np.asarray(increment_kwh)[..., None] / active_h
    return np.broadcast_to(each, (*each.shape[:-1], np.shape(slot_h)[-1])).copy()


for _function in (
    lent_kwh,
    moved_kgco2e,
    moved_usd,
    off_slot_kwh,
    saved_slot_kwh,
    slot_kgco2e,
    slot_usd,
):
    each_row(_function)


@dataclass(frozen=True, eq=False)
class Energy:
    """Energy of something, its bill and its carbon."""

    kwh: Traced
    usd: Traced
    kgco2e: Traced


@dataclass(frozen=True, eq=False)
class Moving:
    """Options (X) whose work may move: a node-hour by slot (X, T, Y), and a node that stops (X, T)."""

    node_group: NDArray[np.intp]
    allowed: NDArray[np.bool_]
    beyond_usd: Traced  # over the mean of the period
    beyond_kgco2e: Traced
    stop_h: float
    stop: Energy
    lent: Energy  # of a node-hour over an idle one (X, T, Y)


@dataclass(frozen=True, eq=False)
class Resting:
    """Replicas (V): quiet or at rest through a slot (V, T, Y), and waking (V, T)."""

    allowed: NDArray[np.bool_]
    quiet: Energy
    rest: Energy
    wake: Energy


@dataclass(frozen=True, eq=False)
class Switching:
    """Nodes (P): off through a slot (P, T, Y), and switched on again (P, T)."""

    off: Energy
    boot: Energy


@dataclass(frozen=True, eq=False)
class Levers:
    """All that may be decided by slot."""

    times: SlotTimes
    pools: Moving | None
    pausable: Moving | None
    resting: Resting | None
    switching: Switching | None
    ready: Traced  # of each service in each part of a day (I, 12)


def levers(
    inputs: Inputs,
    times: SlotTimes,
    nodes: Nodes,
    work: PoolWork,
    pausable: PausableJobs | None,
    replicas: Replicas | None,
    parked: Parked | None,
) -> Levers:
    """What the policy allows, on nodes of one's own: rented ones are paid or given back as they are."""
    allowed = inputs.scenario.policy.levers
    packs = "pack" in allowed
    in_period = np.array([pool.window == "period" for pool in inputs.scenario.pools], dtype=bool)
    site = inputs.node_group_site
    return Levers(
        times=times,
        pools=None
        if work.facility_kwh is None
        else _moving(
            inputs,
            times,
            nodes,
            work.node_group,
            work.facility_kwh,
            _of_pools(inputs, times, site[work.node_group], in_period[work.work]),
        ),
        pausable=None
        if pausable is None
        else _moving(
            inputs,
            times,
            nodes,
            pausable.candidates.node_group,
            pausable.facility_kwh,
            _of_jobs(inputs, times, site[pausable.candidates.node_group], pausable.candidates.job),
        ),
        resting=_resting(inputs, times, replicas) if packs and replicas is not None else None,
        switching=None if parked is None or not packs else _switching(inputs, times, nodes, parked),
        ready=derive(
            ready_fraction,
            load_fraction=rows(times.ready_load_fraction, _first_ways(inputs)),
            reserve_fraction=inputs.fact("planning.slots.reserve"),
        ),
    )


def _first_ways(inputs: Inputs) -> NDArray[np.intp]:
    """The row of each service: the first of its ways, where it has several."""
    ways = inputs.ways.services
    of = np.array([way.of for way in ways]) if ways else np.arange(len(inputs.scenario.services))
    first: NDArray[np.intp] = np.unique(of, return_index=True)[1]
    return first


@dataclass(frozen=True, eq=False)
class _Met:
    """What a kilowatt-hour costs and emits in each slot over the mean, row by row (X, T, Y)."""

    price: Traced
    grid: Traced


def _by_slot(inputs: Inputs, kwh: Traced, site: NDArray[np.intp], met: _Met) -> Energy:
    """Energy at a site in a slot (X, T, Y)."""
    price, grid = (inputs.site_by_period(items, site) for items in (inputs.electricity, inputs.grid))
    return Energy(
        kwh,
        derive(slot_usd, facility_kwh=kwh, electricity_usd_per_kwh=price, slot_ratio=met.price),
        derive(slot_kgco2e, facility_kwh=kwh, grid_kgco2e_per_kwh=grid, slot_ratio=met.grid),
    )


def _moving(
    inputs: Inputs,
    times: SlotTimes,
    nodes: Nodes,
    group: NDArray[np.intp],
    facility_kwh: Traced,
    met: _Met,
) -> Moving:
    site, hour = inputs.node_group_site[group], chosen("active_h", 1.0, "one hour")
    each = work_increment_kwh(nodes, group, facility_kwh, hour)
    restart = inputs.yours("reliability.restart", inputs.scenario.reliability.restart_h, "h")
    stopped = (each * restart / hour).named(
        "stopped_kwh", "Energy of the work that is lost when a node stops"
    )
    in_slot = derive(lent_kwh, increment_kwh=each, slot_h=times.slot_h, active_h=hour)
    return Moving(
        node_group=group,
        allowed=~inputs.rented[group],
        beyond_usd=derive(
            moved_usd,
            increment_kwh=each,
            electricity_usd_per_kwh=inputs.site_by_period(inputs.electricity, site),
            slot_ratio=met.price,
        ),
        beyond_kgco2e=derive(
            moved_kgco2e,
            increment_kwh=each,
            grid_kgco2e_per_kwh=inputs.site_by_period(inputs.grid, site),
            slot_ratio=met.grid,
        ),
        stop_h=float(restart.value),
        stop=Energy(stopped, *bill_by_site(inputs, stopped, site)),
        lent=_by_slot(inputs, in_slot, site, met),
    )


def _of_pools(inputs: Inputs, times: SlotTimes, site: NDArray[np.intp], in_period: NDArray[np.bool_]) -> _Met:
    """What pools meet that move in their day, or in the period."""
    at = np.where(in_period, len(times.grid.day), 0)[:, None] + _items(inputs, site)
    return _Met(*(pick((*one.day, *one.period), at) for one in (times.price, times.grid)))


def _of_jobs(inputs: Inputs, times: SlotTimes, site: NDArray[np.intp], job: NDArray[np.intp]) -> _Met:
    """What pausable jobs meet that move in the period, or among the days of it that are in their window."""
    first = np.zeros(len(inputs.scenario.training), dtype=np.intp)
    for number, j in enumerate(times.of_jobs, start=1):
        first[j] = number * len(times.grid.period)
    at = first[job][:, None] + _items(inputs, site)
    price = (*times.price.period, *(item for one in times.of_jobs.values() for item in one.price))
    grid = (*times.grid.period, *(item for one in times.of_jobs.values() for item in one.grid))
    return _Met(pick(price, at), pick(grid, at))


def _items(inputs: Inputs, site: NDArray[np.intp]) -> NDArray[np.intp]:
    """Which item of a list site by site each row has in each period."""
    return site[:, None] * inputs.periods + np.arange(inputs.periods)


def _fixed(inputs: Inputs, times: SlotTimes, site: NDArray[np.intp]) -> _Met:
    """What load meets that cannot move."""
    return _Met(*(inputs.site_by_period(one.fixed, site) for one in (times.price, times.grid)))


def _resting(inputs: Inputs, times: SlotTimes, replicas: Replicas) -> Resting:
    assert replicas.awake_kw is not None, "worked out where slots are decided"
    assert replicas.quiet_kw is not None, "worked out where slots are decided"
    group = replicas.candidates.node_group
    site, sku = inputs.node_group_site[group], inputs.node_group_sku[group]
    idle, pue = inputs.of_sku(idle_node_items(inputs), sku), pick(inputs.pue, site)
    fixed, tall = _fixed(inputs, times, site), np.arange(len(group))[:, None]

    def saved(resting_kw: Traced) -> Energy:
        kwh = derive(
            saved_slot_kwh,
            awake_kw=replicas.awake_kw,
            resting_kw=resting_kw,
            replica_nodes=replicas.nodes,
            pue=pue,
            slot_h=times.slot_h,
        )
        return _by_slot(inputs, kwh, site, fixed)

    woken = derive(
        changed_kwh,
        more_kw=rows(replicas.quiet_kw, tall),
        less_kw=rows(idle, tall),
        nodes=rows(replicas.nodes, tall),
        pue=rows(pue, tall),
        change_h=inputs.fact("planning.slots.wake_time"),
    )
    wake = Energy(woken, *bill_by_site(inputs, woken, site))
    wear = (inputs.fact("planning.slots.wear") * rows(replicas.nodes, tall)).named(
        "wear_usd", "Money for wear and risk of switching the nodes of something"
    )
    return Resting(
        allowed=~inputs.rented[group],
        quiet=saved(replicas.quiet_kw),
        rest=saved(idle),
        wake=Energy(wake.kwh, (wake.usd + wear).named("wake_usd"), wake.kgco2e),
    )


def _switching(inputs: Inputs, times: SlotTimes, nodes: Nodes, parked: Parked) -> Switching:
    site = inputs.node_group_site
    kwh = derive(
        off_slot_kwh,
        idle_kw=rows(nodes.idle_facility_kw, np.arange(len(site))[:, None]),
        off_kw=rows(parked.facility_kw, np.arange(len(site))[:, None]),
        slot_h=times.slot_h,
    )
    booted = derive(
        changed_kwh,
        more_kw=nodes.idle_facility_kw,
        less_kw=parked.facility_kw,
        nodes=chosen("nodes", 1.0, "one node"),
        pue=chosen("pue", 1.0, "both are at the meter of the facility"),
        change_h=inputs.fact("planning.slots.boot_time"),
    )
    boot = Energy(booted, *bill_by_site(inputs, booted, site))
    wear = inputs.fact("planning.slots.wear")
    return Switching(
        off=_by_slot(inputs, kwh, site, _fixed(inputs, times, site)),
        boot=Energy(boot.kwh, (boot.usd + wear).named("boot_usd"), boot.kgco2e),
    )
