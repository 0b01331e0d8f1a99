"""What a replica of a service carries, draws, costs and emits, and how many stand by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.performance.capacity import replica_capacity, replica_use
from planner.physics.disaggregation import disaggregated_units
from planner.physics.equations.serving import day_mean_kw, replica_increment_kw, shared_demand, standby_ratio
from planner.physics.equations.slots import awake_kw, profile_ratio, slot_loads_per_s
from planner.physics.nodes import Nodes, energy_by_site, idle_node_items
from planner.physics.promises import standing_by
from planner.physics.replica_kinds import replica_kinds
from planner.physics.replica_questions import replica_arguments
from planner.physics.serving_options import SPLITS, ServingCandidates, layout_columns, possible_layouts
from planner.physics.slots import SlotTimes
from planner.physics.training_options import Dropped
from planner.physics.training_step import AS_FAST
from planner.trace.quantities import Traced, by_rows, chosen, derive, derive_parts, each_row, pick, rows

for _function in (
    replica_capacity,
    replica_use,
    day_mean_kw,
    awake_kw,
    profile_ratio,
    slot_loads_per_s,
):
    each_row(_function)
by_rows(shared_demand)


@dataclass(frozen=True)
class Replicas:
    """Serving candidates (V rows) that meet their latency targets, and what one replica of each does.

    What a replica carries, and how fast, depends on how many share the demand: it is by period (V x T), as
    are replicas that carry the demand alone, those on standby then, the nodes that those cover, and the
    failures at once.
    """

    candidates: ServingCandidates
    requests_per_s: Traced
    ttft_s: Traced
    tpot_s: Traced
    nodes: Traced
    carrying: Traced
    standby: Traced
    covered_nodes: Traced
    failures: Traced
    standby_ratio: Traced
    planned_kw: Traced
    node_h: Traced
    increment_kw: Traced
    facility_kwh: Traced
    usd: Traced
    kgco2e: Traced
    even_kw: Traced | None = None  # of a node in each part of a day, at even routing; where slots are decided
    awake_kw: Traced | None = None  # of a node for being awake in it
    quiet_kw: Traced | None = None  # of a node whose replicas keep their weights and serve nothing
    ready_kw: Traced | None = None  # of a node in the highest hour of each part of a day, for batteries


def serving_candidates(
    inputs: Inputs, sizes: Sequence[int] = SPLITS, *, staged: bool = True
) -> tuple[ServingCandidates, list[Dropped]]:
    """Every service on every group in every size that holds a request, each in the layout that carries most.

    Replicas of mixtures share attention by all accelerators or repeat it; where links are slow, layers may
    lie on stages. Of those that carry as much, but for what rates are not known better than, the one with
    fewest stages is taken, then the one that repeats attention least. Where prompts are read by some replicas
    and answers written by others, a candidate is a unit of both (`disaggregated_units`).
    """
    every, dropped = possible_layouts(inputs, sizes, staged=staged)
    apart = np.array([one.reads_apart for one in inputs.scenario.services], dtype=bool)[every.service]
    if apart.any():
        units = disaggregated_units(inputs, every.some(apart))
        return _best_layouts(inputs, every.some(~apart)).with_more(units), dropped
    return _best_layouts(inputs, every), dropped


def _best_layouts(inputs: Inputs, every: ServingCandidates) -> ServingCandidates:
    """Of each size and mode of a service on a node group the layout that carries most."""
    each = (every.service, every.node_group, every.accelerators)
    keys = np.stack([*each, every.power_cap_fraction, every.clock_fraction])
    _, back, counts = np.unique(keys, axis=1, return_inverse=True, return_counts=True)
    if np.all(counts == 1):
        return every
    back = back.ravel()
    row = np.flatnonzero(counts[back] > 1)
    split = layout_columns(every.accelerators[row], every.groups[row], every.stages[row])
    arguments = replica_arguments(
        inputs, every.service[row], inputs.node_group_sku[every.node_group[row]], *split
    )
    calm = chosen("arrival_scv_ratio", 1.0, "Poisson, to compare layouts")
    carried = np.zeros(len(every))
    carried[row] = derive_parts(
        replica_capacity, arrival_scv_ratio=calm, **arguments
    ).limit_requests_per_s.value
    best = simplest_rows(back, every.stages, every.groups, carried, inputs.fact(AS_FAST).value)
    return every.some(best)


def simplest_rows(
    kind: NDArray[np.intp],
    stages: NDArray[np.intp],
    groups: NDArray[np.intp],
    carried: NDArray[np.float64],
    as_fast_fraction: float,
) -> NDArray[np.intp]:
    """One row of each kind: of those that carry most, but for a share, that of fewest stages and groups."""
    most = np.zeros(int(kind.max()) + 1)
    np.maximum.at(most, kind, carried)
    near = carried * (1.0 + as_fast_fraction) >= most[kind]
    order = np.lexsort((-carried, groups, stages, ~near, kind))
    return np.sort(order[np.unique(kind[order], return_index=True)[1]])


def replica_columns(
    inputs: Inputs, nodes: Nodes, candidates: ServingCandidates, times: SlotTimes | None = None
) -> Replicas:
    """Every coefficient of every replica; with the hours of its load where slots are decided."""
    services = inputs.scenario.services
    service, group = candidates.service, candidates.node_group
    sku, site = inputs.node_group_sku[group], inputs.node_group_site[group]
    kinds, back = replica_kinds(inputs, candidates, times)
    capacity = {name: rows(part, back) for name, part in kinds.capacity.items()}
    tall = np.arange(len(candidates))[:, None]
    share, idle_kw = rows(kinds.nodes, back[:, 0]), inputs.of_sku(idle_node_items(inputs), sku)

    def replica_kw(node_kw: Traced) -> Traced:
        """Power of a replica whose node draws so much."""
        return (rows(node_kw, back) * rows(share, tall)).named("shared_node_kw", "Power of a replica")

    it_kwh = (replica_kw(kinds.day_kw) * inputs.period_h).named("drawn_kwh")
    facility, usd, kgco2e = energy_by_site(inputs, it_kwh, site)
    even = None if kinds.even_kw is None else rows(kinds.even_kw, back)
    if times is not None and even is not None:
        paid, emitted = (
            derive(
                profile_ratio,
                even_kw=even,
                slot_ratio=inputs.site_by_period(one.fixed, site),
                slot_fraction=times.slot_fraction,
            )
            for one in (times.price, times.grid)
        )
        usd, kgco2e = (usd * paid).named("served_usd"), (kgco2e * emitted).named("served_kgco2e")
    pue = pick(inputs.pue, site)
    carrying = rows(kinds.carrying, back)
    standby, covered, failures = standing_by(
        inputs, rows(nodes.failure_rate_per_node_h, group), service, group, share, carrying
    )
    # The peak hour of the horizon is that of the period with the largest demand.
    highest = np.array([int(np.argmax(s.peak_requests_per_s)) for s in services])[service]
    busiest_kw = rows(kinds.peak_kw, back[np.arange(len(candidates)), highest])
    return Replicas(
        candidates=candidates,
        requests_per_s=capacity["requests_per_s"],
        ttft_s=capacity["ttft_s"],
        tpot_s=capacity["tpot_s"],
        nodes=share,
        carrying=carrying,
        standby=standby,
        covered_nodes=covered,
        failures=failures,
        standby_ratio=derive(standby_ratio, carrying=carrying, standby=standby),
        planned_kw=replica_kw(kinds.busy_kw),
        node_h=(rows(share, tall) * inputs.period_h).named(
            "replica_node_h", "Node-hours that a replica holds in a period: it stands all the time"
        ),
        increment_kw=derive(
            replica_increment_kw, busy_kw=busiest_kw, idle_kw=idle_kw, replica_nodes=share, pue=pue
        ),
        facility_kwh=facility,
        usd=usd,
        kgco2e=kgco2e,
        even_kw=even,
        awake_kw=None if kinds.awake_kw is None else rows(kinds.awake_kw, back),
        quiet_kw=None if kinds.quiet_kw is None else rows(kinds.quiet_kw, back[:, 0]),
        ready_kw=None if kinds.ready_kw is None else rows(kinds.ready_kw, back),
    )
