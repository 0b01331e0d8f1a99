"""What may be decided by slot, as tables of the program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carbon.slots import HOURS_A_DAY
from planner.inputs.resolved import Inputs
from planner.physics.curtailment import may_wait
from planner.physics.egress import Egress
from planner.physics.equations.slots import served_slot_kwh
from planner.physics.levers import Energy, Levers, Moving
from planner.physics.nodes import idle_node_items
from planner.physics.serving import Replicas
from planner.physics.site_energy import SiteEnergy
from planner.physics.slots import SLOTS_A_DAY
from planner.trace.columns import Floats
from solver.problem import (
    Drawing,
    PausableOptions,
    Resting,
    Shifting,
    SlotDemand,
    Slots,
    Switching,
    Windows,
)
from solver.problem import SiteEnergy as EnergyTable


def slot_tables(
    inputs: Inputs,
    found: Levers | None,
    *,
    egress: Egress | None,
    pausable: PausableOptions,
    pausable_row: NDArray[np.intp],
    replica_row: NDArray[np.intp],
) -> dict[str, Any]:
    """Tables of the slots by the field of `Problem`; none where nothing is decided by slot."""
    if found is None:
        return {}
    times, allowed = found.times, inputs.scenario.policy.levers
    tables: dict[str, Any] = {
        "slots": Slots(hours=times.hours, before=times.before, day_type=times.day_type, days=times.days),
        "windows": _windows(inputs),
        "slot_demand": _demand(inputs, found),
    }
    shift, lend = "shift" in allowed, "lend" in allowed
    if found.pools is not None:
        every = np.arange(len(found.pools.allowed))
        shifts = _shifting(inputs, found.pools, every, shift=shift, lend=lend)
        tables["work_shifts"] = shifts if egress is None else _with_egress(shifts, egress)
    if found.pausable is not None and len(pausable_row):
        ramps = _from_slot_to_slot([one.ramp_per_h for one in inputs.scenario.training])
        tables["pausable_shifts"] = replace(
            _shifting(inputs, found.pausable, pausable_row, shift=shift, lend=False),
            ramp_nodes=ramps[pausable.job] * pausable.nodes,
        )
    if found.resting is not None and len(replica_row):
        resting = found.resting
        tables["resting"] = Resting(
            may_rest=resting.allowed[replica_row],
            quiet_usd=resting.quiet.usd.value[replica_row],
            quiet_kgco2e=resting.quiet.kgco2e.value[replica_row],
            rest_usd=resting.rest.usd.value[replica_row],
            rest_kgco2e=resting.rest.kgco2e.value[replica_row],
            wake_usd=np.maximum(resting.wake.usd.value[replica_row], 0.0),
            wake_kgco2e=resting.wake.kgco2e.value[replica_row],
            quiet_kwh=resting.quiet.kwh.value[replica_row],
            rest_kwh=resting.rest.kwh.value[replica_row],
            wake_kwh=_in_each_period(resting.wake)[replica_row],
        )
    if found.switching is not None:
        switching = found.switching
        tables["switching"] = Switching(
            may_switch=~inputs.rented,
            off_usd=switching.off.usd.value,
            off_kgco2e=switching.off.kgco2e.value,
            boot_usd=np.maximum(switching.boot.usd.value, 0.0),
            boot_kgco2e=switching.boot.kgco2e.value,
            off_kwh=switching.off.kwh.value,
            boot_kwh=_in_each_period(switching.boot),
        )
    return tables


def energy_tables(
    inputs: Inputs,
    found: SiteEnergy | None,
    levers: Levers | None,
    replicas: Replicas | None,
    row: NDArray[np.intp],
) -> dict[str, Any]:
    """Tables of batteries and the sun by the field of `Problem`; none where no site states any."""
    if found is None or levers is None:
        return {}
    tables: dict[str, Any] = {
        "site_energy": EnergyTable(
            most_kwh=found.most_kwh,
            kw_per_kwh=found.kw_per_kwh,
            one_way_fraction=found.one_way_fraction,
            sun_kw=found.sun_kw,
            battery_ready=found.battery.in_use,
            battery_capex_usd_per_kwh=found.battery.capex_usd.value,
            solar_most_kw=found.solar_most_kw,
            solar_kw_per_kw=found.solar_kw_per_kw,
            solar_usd_per_kw=found.solar.usd.value,
            solar_kgco2e_per_kw=found.solar.kgco2e.value,
            solar_capex_usd_per_kw=found.solar.capex_usd.value,
            battery_usd_per_kwh=found.battery.usd.value,
            battery_kgco2e_per_kwh=found.battery.kgco2e.value,
            moved_usd_per_kwh=found.drawn.usd.value,
            moved_kgco2e_per_kwh=found.drawn.kgco2e.value,
            fixed_usd_per_kwh=-np.asarray(found.shone.usd.value),
            fixed_kgco2e_per_kwh=-np.asarray(found.shone.kgco2e.value),
            least_usd_per_kwh=-np.asarray(found.shone_moved.usd.value),
            least_kgco2e_per_kwh=-np.asarray(found.shone_moved.kgco2e.value),
        )
    }
    if replicas is not None and len(row):
        tables["drawing"] = _drawing(inputs, levers, replicas, row)
    return tables


def _drawing(inputs: Inputs, levers: Levers, replicas: Replicas, row: NDArray[np.intp]) -> Drawing:
    """What a replica draws over the idle power of its part of a node, in each slot."""
    assert replicas.even_kw is not None, "worked out where slots are decided"
    assert replicas.ready_kw is not None, "worked out where a site has a battery or the sun"
    group, hours = replicas.candidates.node_group[row], levers.times.hours.T
    site, sku = inputs.node_group_site[group], inputs.node_group_sku[group]
    idle_kw = np.asarray(inputs.of_sku(idle_node_items(inputs), sku).value)
    share = np.asarray(replicas.nodes.value)[row] * np.array([float(one.value) for one in inputs.pue])[site]
    idle, node = (idle_kw * share)[:, None, None], share[:, None, None]
    kwh: Floats = np.asarray(
        served_slot_kwh(
            each_kwh=np.asarray(replicas.facility_kwh.value)[row],
            even_kw=np.asarray(replicas.even_kw.value)[row],
            slot_fraction=levers.times.slot_fraction.value,
        )
    )
    ready = np.asarray(replicas.ready_kw.value)[row]
    highest = np.maximum(np.tile(ready, hours.shape[1] // ready.shape[2]) * node - idle, 0.0)
    most = np.asarray(replicas.increment_kw.value)[row][:, None, None]
    mean = np.divide(kwh, hours, out=np.zeros_like(kwh), where=np.broadcast_to(hours > 0, kwh.shape))
    return Drawing(drawn_kw=mean - idle, highest_kw=np.minimum(highest, most))


def _with_egress(shifts: Shifting, egress: Egress) -> Shifting:
    """Work on lent nodes moves its data as well, less of them in an hour as it is slower."""
    slower = shifts.lent_speed_fraction[:, None]
    return replace(
        shifts,
        lent_usd_per_node_h=shifts.lent_usd_per_node_h + (slower * egress.usd.value)[:, :, None],
        lent_kgco2e_per_node_h=shifts.lent_kgco2e_per_node_h + (slower * egress.kgco2e.value)[:, :, None],
    )


def _in_each_period(change: Energy) -> NDArray[np.float64]:
    """Energy of a change of state, which is the same in every period, as a column for each."""
    return np.broadcast_to(np.asarray(change.kwh.value), np.shape(change.usd.value))


def _windows(inputs: Inputs) -> Windows:
    pools = inputs.scenario.pools
    return Windows(
        within_day=np.array([one.window == "day" for one in pools], dtype=bool),
        may_wait_fraction=may_wait(inputs),
        ramp_fraction=_from_slot_to_slot([one.ramp_per_h for one in pools]),
    )


def _from_slot_to_slot(ramps_per_h: Sequence[float | None]) -> Floats:
    """What ramps allow from the middle of a slot to that of the next; no limit where none is stated."""
    stated = np.array([np.inf if one is None else one for one in ramps_per_h], dtype=float)
    found: Floats = stated * HOURS_A_DAY / SLOTS_A_DAY
    return found


def _demand(inputs: Inputs, found: Levers) -> SlotDemand:
    """Each type of day has the same hours of load."""
    types = len(found.times.day_type) // SLOTS_A_DAY
    ready = np.tile(np.asarray(found.ready.value), types)[:, None, :] * np.ones((1, inputs.periods, 1))
    return SlotDemand(ready_fraction=ready)


def _shifting(inputs: Inputs, moving: Moving, row: NDArray[np.intp], *, shift: bool, lend: bool) -> Shifting:
    allowed = moving.allowed[row]
    return Shifting(
        may_move=allowed & shift,
        usd_per_node_h=np.asarray(moving.beyond_usd.value)[row],
        kgco2e_per_node_h=np.asarray(moving.beyond_kgco2e.value)[row],
        stop_h=np.full(len(row), moving.stop_h),
        stop_usd=np.maximum(moving.stop.usd.value[row], 0.0),
        stop_kgco2e=np.maximum(moving.stop.kgco2e.value[row], 0.0),
        may_borrow=allowed & lend,
        lent_usd_per_node_h=moving.lent.usd.value[row],
        lent_kgco2e_per_node_h=moving.lent.kgco2e.value[row],
        stop_kwh=moving.stop.kwh.value[row],
        lent_kwh_per_node_h=moving.lent.kwh.value[row],
        lent_speed_fraction=np.full(len(row), float(inputs.fact("planning.slots.lent_speed").value)),
    )
