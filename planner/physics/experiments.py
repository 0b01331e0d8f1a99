"""What pools get done: divisible work on hours that runs and services leave over."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Pool
from planner.physics.chance import pool_headroom
from planner.physics.divisible_work import NodeWork, check_pools, node_work
from planner.physics.egress import Egress, egress_of_work
from planner.physics.equations.promises import work_held_ratio
from planner.physics.failures import restart_by_node_group
from planner.physics.needs import need_node_h
from planner.physics.nodes import energy_by_site, idle_node_items
from planner.physics.pool_ways import PoolTechniques, pool_techniques
from planner.physics.power_caps import Modes
from planner.physics.promises import node_up_fraction
from planner.physics.training_options import FREELY, Dropped, Mode, allowed, stated_modes
from planner.trace.columns import Column
from planner.trace.quantities import Traced, chosen, derive, pick, rows
from reliability.spares import node_availability_fraction


def work_increment_kw(*, busy_kw: Column, idle_kw: Column, pue: Column) -> Column:
    """Facility power that a working node adds to its idle power.

    dP = (P_work - P_idle) * PUE

    Source: definition.
    """
    return np.maximum(0.0, np.asarray(busy_kw) - idle_kw) * pue


@dataclass(frozen=True)
class PoolWork:
    """Demand (W, T) and ways to do it (O): one for each pool of work, node group and set of techniques."""

    demand_h: Traced | None
    work: NDArray[np.intp]
    node_group: NDArray[np.intp]
    speed: Traced | None
    held_ratio: Traced | None
    increment_kw: Traced | None
    facility_kwh: Traced | None
    usd: Traced | None
    kgco2e: Traced | None
    dropped: tuple[Dropped, ...]
    techniques: PoolTechniques
    uses: NDArray[np.bool_]  # which techniques each way uses (O, A)
    modes: Modes  # of the accelerators, a row for each way
    egress: Egress | None = None  # of an hour of a node, where data lie at one site

    def with_egress(self, kind: str) -> Traced | None:
        """What an hour of a node takes (usd, kgco2e), data that move included; (O, T)."""
        taken: Traced | None = getattr(self, kind)
        if taken is None or self.egress is None:
            return taken
        more: Traced = getattr(self.egress, kind)
        return (taken + more).named(f"work_{kind}")


def pool_work(inputs: Inputs, failure_rate_per_node_h: Traced) -> PoolWork:
    """Every coefficient of every way to do a pool's work.

    Raises:
        ScenarioError: the reference node of a pool cannot hold its model.
    """
    check_pools(inputs)
    dropped: list[Dropped] = []
    entries: list[tuple[int, int, Traced, Traced, tuple[int, ...], Mode]] = []
    techniques = pool_techniques(inputs)
    demand: list[Traced] = []
    names = [sku.name for sku in inputs.skus]
    for w, pool in enumerate(inputs.scenario.pools):
        nodes = node_work(inputs, pool)
        dropped += [Dropped(pool.name, names[k], why) for k, why in nodes.items() if isinstance(why, str)]
        reference = nodes[names.index(pool.reference)]
        assert isinstance(reference, NodeWork), "it was checked"
        demand += [need_node_h(inputs, pool, reference, t) for t in range(inputs.periods)]
        for used in techniques.sets_of(w):
            names_used = tuple(techniques.name[a] for a in used)
            for mode in stated_modes(inputs, pool):
                works = node_work(inputs, pool, names_used, mode) if used or mode != FREELY else nodes
                for p, (k, s) in enumerate(inputs.node_groups):
                    found = works.get(k)
                    if not isinstance(found, NodeWork) or not allowed(inputs, pool, k, s):
                        continue
                    ratio = (found.rate_per_s / reference.rate_per_s).named(
                        "speed_ratio",
                        "Work of a node against the reference node, each in the fastest way that fits on it",
                    )
                    entries.append((w, p, ratio, found.busy_kw, used, mode))
    demand_h = (
        pick(demand, np.arange(len(demand)).reshape(len(inputs.scenario.pools), inputs.periods))
        if demand
        else None
    )
    work, node_group = (np.array([entry[i] for entry in entries], dtype=np.intp) for i in range(2))
    uses = np.array([np.isin(np.arange(len(techniques.name)), entry[4]) for entry in entries], dtype=bool)
    uses = uses.reshape(len(entries), len(techniques.name))
    modes = Modes(*(np.array([entry[5][i] for entry in entries], dtype=float) for i in range(2)))
    if not entries:
        none = (None, None, None, None, None, None)
        return PoolWork(demand_h, work, node_group, *none, tuple(dropped), techniques, uses, modes)
    sku, site = inputs.node_group_sku[node_group], inputs.node_group_site[node_group]
    busy_kw = pick([entry[3] for entry in entries], np.arange(len(entries)))
    tall = np.arange(len(entries))[:, None]
    each_hour = (rows(busy_kw, tall) * chosen("active_h", np.ones((1, inputs.periods)), "one hour")).named(
        "drawn_kwh"
    )
    facility, usd, kgco2e = energy_by_site(inputs, each_hour, site)
    speed = pick([entry[2] for entry in entries], np.arange(len(entries)))
    return PoolWork(
        demand_h=demand_h,
        work=work,
        node_group=node_group,
        speed=speed,
        held_ratio=derive(
            work_held_ratio,
            utilisation_fraction=pick(
                [_utilisation(inputs, pool) for pool in inputs.scenario.pools], work[:, None]
            ),
            up_fraction=rows(_up_fraction(inputs, failure_rate_per_node_h), node_group[:, None]),
            headroom_ratio=pool_headroom(inputs, work, sku),
        ),
        increment_kw=derive(
            work_increment_kw,
            busy_kw=busy_kw,
            idle_kw=pick(idle_node_items(inputs), sku),
            pue=pick(inputs.pue, site),
        ),
        facility_kwh=facility,
        usd=usd,
        kgco2e=kgco2e,
        dropped=tuple(dropped),
        techniques=techniques,
        uses=uses,
        modes=modes,
        egress=egress_of_work(inputs, work, site, speed),
    )


def _utilisation(inputs: Inputs, pool: Pool) -> Traced:
    """Share of the available node-hours that a pool's jobs fill: as stated, or what is usual."""
    if pool.utilisation_fraction is None:
        return inputs.fact("pool.utilisation")
    return inputs.yours(f"pools.{pool.name}.utilisation", pool.utilisation_fraction, "1")


def _up_fraction(inputs: Inputs, failure_rate_per_node_h: Traced) -> Traced:
    """Share of time that a node of each node group is up; who rents one out replaces it.

    A spot node that was taken back is up again when another was had and the work restarted.
    """
    own = node_up_fraction(inputs, failure_rate_per_node_h)
    always = chosen("up_fraction", 1.0, "the provider replaces what fails")
    each: list[Traced] = [always if rented else own[p] for p, rented in enumerate(inputs.rented)]
    if inputs.spot.any():
        back = derive(
            node_availability_fraction,
            failure_rate_per_node_h=failure_rate_per_node_h,
            repair_h=restart_by_node_group(inputs, np.arange(len(each))),
        )
        each = [back[p] if inputs.spot[p] else one for p, one in enumerate(each)]
    return pick(each, np.arange(len(each)))
