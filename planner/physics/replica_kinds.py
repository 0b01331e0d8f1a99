"""The kinds of replica among all options: what each carries, draws and has to answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.inputs.service_requests import arrival_scv, trace_rate
from planner.physics.batch_serving import BatchLaw, batch_law, in_batches
from planner.physics.chance import confidence, serving_headroom
from planner.physics.disaggregation import DisaggregatedLaw, disaggregated_law
from planner.physics.engine_law import EngineLaw, engine_law
from planner.physics.equations.serving import (
    burst_fractions,
    day_loads_per_s,
    day_mean_kw,
    shared_demand,
    tried_scv_ratio,
)
from planner.physics.equations.slots import awake_kw, slot_loads_per_s
from planner.physics.nodes import host_columns, working_node_kw
from planner.physics.power_caps import Modes
from planner.physics.serving_demand import carried_per_s, heard_at_once, pooled_carrying, sharing_replicas
from planner.physics.serving_options import ServingCandidates
from planner.physics.serving_power import on_loads
from planner.physics.slots import SlotTimes
from planner.physics.techniques import SERVING_TIME, serving_ratio
from planner.trace.quantities import Traced, chosen, derive, derive_parts, interleaved, pick, rows


@dataclass(frozen=True)
class Kinds:
    """What is the same at every site: one row for each service, SKU, split, mode and demand (U rows)."""

    service: NDArray[np.intp]
    sku: NDArray[np.intp]
    accelerators: Traced  # of a replica
    groups: NDArray[np.intp]
    stages: NDArray[np.intp]
    power_cap_fraction: NDArray[np.float64]
    clock_fraction: NDArray[np.float64]
    batch: Traced
    capacity: Mapping[str, Traced]
    nodes: Traced
    busy_kw: Traced  # of a node at the planned load
    day_kw: Traced  # of a node over the loads of a day, of one of the replicas that carry the demand
    peak_kw: Traced  # of a node at the peak hour, of one of the replicas that carry the demand
    demand: Traced
    carrying: Traced
    even_kw: Traced | None = None  # of a node in each part of a day, where slots are decided
    awake_kw: Traced | None = None
    quiet_kw: Traced | None = None
    ready_kw: Traced | None = None  # where a site has a battery or the sun

    def some(self, index: NDArray[np.intp]) -> Kinds:
        """Some of the kinds."""
        columns = ("accelerators", "batch", "nodes", "busy_kw", "day_kw", "peak_kw", "demand", "carrying")
        return replace(
            self,
            service=self.service[index],
            sku=self.sku[index],
            groups=self.groups[index],
            stages=self.stages[index],
            power_cap_fraction=self.power_cap_fraction[index],
            clock_fraction=self.clock_fraction[index],
            capacity={name: rows(part, index) for name, part in self.capacity.items()},
            **{name: rows(getattr(self, name), index) for name in columns},
        )


Law = EngineLaw | BatchLaw | DisaggregatedLaw
_POOLED = 2  # times that replicas with one queue are counted


def joined(parts: Sequence[Kinds], order: NDArray[np.intp]) -> Kinds:
    """Kinds of several laws as one; row i is row `order[i]` of all of them one below the other."""
    if len(parts) == 1:
        return parts[0]
    counts = [len(one.service) for one in parts]

    def column(each: Sequence[Traced]) -> Traced:
        return interleaved(each, counts, order)

    names = ("accelerators", "batch", "nodes", "busy_kw", "day_kw", "peak_kw", "demand", "carrying")
    by_slot = ("even_kw", "awake_kw", "quiet_kw", "ready_kw")
    later = [name for name in by_slot if getattr(parts[0], name) is not None]
    columns: dict[str, Any] = {
        name: column([getattr(one, name) for one in parts]) for name in (*names, *later)
    }
    for name in ("service", "sku", "groups", "stages", "power_cap_fraction", "clock_fraction"):
        columns[name] = np.concatenate([getattr(one, name) for one in parts])[order]
    capacity = {name: column([one.capacity[name] for one in parts]) for name in parts[0].capacity}
    return Kinds(**columns, capacity=capacity)


def replica_kinds(
    inputs: Inputs, candidates: ServingCandidates, times: SlotTimes | None = None
) -> tuple[Kinds, NDArray[np.intp]]:
    """The kinds of replica among the candidates, and which is which in each period.

    Their capacity is the slow part. Engines that write tokens are worked out together, and so is each service
    that answers in batches.
    """
    demands, which = _demands(inputs)
    sku_of, periods = inputs.node_group_sku[candidates.node_group], inputs.periods
    each = (
        candidates.service,
        sku_of,
        candidates.accelerators,
        candidates.groups,
        candidates.stages,
        candidates.power_cap_fraction,
        candidates.clock_fraction,
    )
    # Headroom grows with the time ahead, so that periods of equal demand are alike where none is asked for.
    period = np.tile(np.arange(periods) if confidence(inputs) else np.zeros(periods), len(candidates))
    stacked_ = np.stack(
        [
            *(np.repeat(column, periods) for column in each),
            which[candidates.service].ravel(),
            period,
            *(np.repeat(column, periods) for column in candidates.unit.T),
        ]
    )
    stacked_[0] = _way_by_period(inputs)[candidates.service].ravel()
    found, back = np.unique(stacked_, axis=1, return_inverse=True)
    back = back.reshape(len(candidates), periods)
    services = inputs.scenario.services
    own = np.array([one.reads_apart or in_batches(inputs, one) for one in services], dtype=bool)
    if not own.any():
        return _kinds(inputs, found, demands, times), back
    by_itself = np.where(own[found[0].astype(np.intp)], found[0], -1.0)
    rows_of_law = [np.flatnonzero(by_itself == one) for one in np.unique(by_itself)]
    parts = [_kinds(inputs, found[:, at], demands, times) for at in rows_of_law]
    order = np.concatenate(rows_of_law)
    return joined(parts, np.argsort(order)), back


def _kinds(
    inputs: Inputs, found: NDArray[np.float64], demands: list[Traced], times: SlotTimes | None
) -> Kinds:
    """Kinds of one law by columns.

    These are service, SKU, size, groups, stages, cap, clock, demand, time ahead, and those of a unit.
    """
    service, sku, size, groups, stages, of_demand, ahead = (
        column.astype(np.intp) for column in found[[0, 1, 2, 3, 4, 7, 8]]
    )
    modes = Modes(found[5], found[6])
    demand: Traced = pick(demands, of_demand)
    faster = heard_at_once(inputs, service, serving_ratio(inputs, service, sku, SERVING_TIME))
    if faster is not None:  # a request takes a part or a multiple of what it took, as other numbers would
        demand = (demand / faster).named("demand_per_s")
    one = inputs.scenario.services[int(service[0])] if len(service) else None
    law: Law
    unit = found[9:].astype(np.intp)
    if one is not None and in_batches(inputs, one):
        law = batch_law(inputs, one, sku, size)
    elif one is not None and one.reads_apart:
        law = disaggregated_law(inputs, service, sku, size, unit.T)
    else:
        law = engine_law(inputs, service, sku, size, groups, stages)
    alike = np.stack([service, sku, size, groups, stages, *unit])
    carrying, scv = sharing(inputs, demand, law, alike)
    if not isinstance(law, BatchLaw) and not modes.free:
        law = law.slowed(modes, scv)
        # Slower replicas carry less, so that more share the demand.
        alike = np.stack([*alike, np.arange(len(service))])
        carrying, scv = sharing(inputs, demand, law, alike)
    law, carrying = pooled(inputs, demand, law, carrying, scv)
    headroom = serving_headroom(inputs, service, sku, ahead)
    carrying = (carrying * headroom).named(
        "with_headroom", "Replicas that carry a demand as surely as a plan asks for"
    )
    capacity = law.capacity(scv)
    whole = chosen("accelerators", size.astype(float), "enumerated: accelerators of a replica")
    accelerators = inputs.of_sku(inputs.server("accelerators"), sku)
    # Energy is a mean over hours: bursts move work about, but hardly change how much there is.
    calm = chosen("arrival_scv_ratio", 1.0, "Poisson, for energy")

    def node_kw(rate_per_s: Traced) -> Traced:
        """Power of a node whose replicas take so many requests each."""
        loads = np.ndim(rate_per_s.value) > 1
        host = {name: on_loads(column, loads) for name, column in host_columns(inputs, sku).items()}
        drawn = law.accelerator_kw(calm, rate_per_s)
        return working_node_kw(host, on_loads(accelerators, loads), drawn)

    means = [
        inputs.yours(f"services.{one.name}.mean_to_peak", one.mean_to_peak_fraction, "1")
        for one in inputs.scenario.services
    ]
    peak = derive(carried_per_s, demand_per_s=demand, carrying_replicas=carrying)
    day = derive(day_loads_per_s, peak_per_s=peak, mean_to_peak_fraction=pick(means, service))
    busiest = node_kw(peak)
    by_slot: dict[str, Traced] = {}
    if times is not None:
        load = rows(times.load_fraction, service)
        even = node_kw(derive(slot_loads_per_s, peak_per_s=peak, load_fraction=load))
        by_slot = {
            "even_kw": even,
            "awake_kw": derive(awake_kw, even_kw=even, full_kw=busiest, load_fraction=load),
            "quiet_kw": node_kw(chosen("rate_per_s", np.zeros(len(service)), "no request", "1/s")),
        }
        if any(one.has_energy for one in inputs.scenario.sites):
            ready = rows(times.ready_load_fraction, service)
            by_slot["ready_kw"] = node_kw(derive(slot_loads_per_s, peak_per_s=peak, load_fraction=ready))
    kinds = Kinds(
        service=service,
        sku=sku,
        accelerators=whole,
        groups=groups,
        stages=stages,
        power_cap_fraction=modes.power_cap_fraction,
        clock_fraction=modes.clock_fraction,
        batch=law.largest_batch,
        capacity=capacity,
        nodes=(whole / accelerators).named(
            "replica_nodes", "Nodes of a replica: its accelerators over those of a node"
        ),
        busy_kw=node_kw(capacity.requests_per_s),
        day_kw=derive(day_mean_kw, loads_kw=node_kw(day)),
        peak_kw=busiest,
        demand=demand,
        carrying=carrying,
        **by_slot,
    )
    law.check(np.broadcast_to(np.asarray(capacity.limit_requests_per_s.value), service.shape))
    if faster is not None:
        more = {
            name: (capacity[name] * faster).named(name) for name in ("requests_per_s", "limit_requests_per_s")
        }
        kinds = replace(kinds, capacity={**capacity, **more})
    return kinds


def _way_by_period(inputs: Inputs) -> NDArray[np.intp]:
    """Which way each way counts as in each period (I, T): its base, until its techniques are usable."""
    ways, begin = inputs.ways.services, inputs.period_start_h.value[0]
    if not ways:
        return np.repeat(np.arange(len(inputs.scenario.services))[:, None], inputs.periods, axis=1)
    return np.array([np.where(begin >= way.usable_h, i, way.base) for i, way in enumerate(ways)])


def _demands(inputs: Inputs) -> tuple[list[Traced], NDArray[np.intp]]:
    """Demands that differ, and which of them each service has in each period."""
    demands: list[Traced] = []
    which = np.zeros((len(inputs.scenario.services), inputs.periods), dtype=np.intp)
    for i, service in enumerate(inputs.scenario.services):
        known: dict[float, int] = {}
        for t, rate in enumerate(service.peak_requests_per_s):
            if rate not in known:
                known[rate] = len(demands)
                demands.append(inputs.yours(f"services.{service.name}.peak_rate[{t}]", rate, "1/s"))
            which[i, t] = known[rate]
    return demands, which


def sharing(inputs: Inputs, demand: Traced, law: Law, alike: NDArray[np.intp]) -> tuple[Traced, Traced]:
    """Replicas that carry each demand, and how bursty arrivals are at one.

    Bursts depend on how many share the demand, and how many it takes depends on bursts: each kind of replica
    (equal columns of `alike`, whose first row is the service) is tried at some burstinesses first.
    """
    _, first, back = np.unique(alike, axis=1, return_index=True, return_inverse=True)
    services = inputs.scenario.services
    trace = [arrival_scv(inputs, s) for s in services]
    scv = tried_bursts(inputs, alike[0][first])
    tried = law.capacity(scv, first)
    points = back.ravel()
    shared = derive_parts(
        shared_demand,
        demand_per_s=demand,
        trace_scv_ratio=pick(trace, alike[0]),
        trace_per_s=pick([trace_rate(inputs, s) for s in services], alike[0]),
        tried_scv_ratio=rows(scv, points),
        tried_requests_per_s=rows(tried.requests_per_s, points),
    )
    return shared.carrying_replicas, shared.arrival_scv_ratio


def pooled(
    inputs: Inputs, demand: Traced, law: Law, carrying: Traced, arrival_scv: Traced
) -> tuple[Law, Traced]:
    """The law of replicas that take requests from one queue, and how many then carry a demand.

    Fewer carry it than were dealt theirs. So many are tried as these, then as many as that gives: a number
    that carries it all the more. Bursts are those of dealt requests.
    """
    if isinstance(law, BatchLaw):
        return law, carrying
    together = np.array([inputs.scenario.services[i].is_pooled for i in law.service.tolist()], dtype=bool)
    if not together.any():
        return law, carrying
    shares = chosen("together", together.astype(float), "1 where replicas take requests from one queue")
    for _ in range(_POOLED):
        law = law.pooled(derive(sharing_replicas, carrying_replicas=carrying, together=shares))
        rate = law.capacity(arrival_scv).requests_per_s
        carrying = derive(
            pooled_carrying,
            demand_per_s=demand,
            requests_per_s=rate,
            dealt_replicas=carrying,
            together=shares,
        )
    return law, carrying


def tried_bursts(inputs: Inputs, service: NDArray[np.intp]) -> Traced:
    """Burstinesses at which replicas of services are tried, on a last axis: from none to the trace's."""
    trace = [arrival_scv(inputs, one) for one in inputs.scenario.services]
    fractions = burst_fractions([float(one.value) for one in trace])[service]
    return derive(
        tried_scv_ratio,
        trace_scv_ratio=pick(trace, service[:, None]),
        thinned_fraction=chosen("thinned_fraction", fractions, "from no burst to all of the trace's"),
    )
