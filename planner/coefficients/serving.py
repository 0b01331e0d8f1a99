"""What a replica of a service carries, draws, costs and emits, and how many stand by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.candidates import ServingCandidates, peak, weight_bytes
from planner.coefficients.nodes import Nodes, energy_by_site, idle_node_items, power_curve
from planner.inputs import Inputs
from planner.performance.capacity import replica_capacity
from planner.performance.power import (
    accelerator_power_kw,
    node_power_kw,
    serving_compute_use_fraction,
    serving_memory_use_fraction,
)
from planner.performance.queueing import n_plus_k_spares
from planner.performance.serving import prefill_tokens
from planner.timing import drawn_kwh
from planner.trace import Parts, Traced, chosen, derive, derive_parts, pick, rows

Column = float | NDArray[Any]

SERVING_CONSTANTS = {
    "weight_factor": "weight_bytes_factor", "compute_factor": "compute_factor", "kv_factor": "kv_factor",
    "link_latency_s": "link_latency", "ring_factor": "ring_factor", "layer_s": "layer_time",
    "sequence_s": "sequence_time", "utilisation_fraction": "headroom", "queue_places": "queue_places",
    "chunk_tokens": "chunk_tokens", "peak_share_fraction": "prefill_efficiency",
}  # fmt: skip


def replica_arrival_scv_ratio(
    *, trace_scv_ratio: Column, trace_per_s: Column, demand_per_s: Column, requests_per_s: Column
) -> Column:
    """Squared coefficient of variation of the arrivals at one replica.

    c^2 = 1 + (c_trace^2 - 1) / (m n),  m = demand / trace rate,  n = demand / capacity

    A larger demand is taken as m independent streams like the trace, dealt out at random to n replicas. Both
    thin bursts. Bursts that all users share are not thinned in truth: plan them as a higher peak rate.

    Source: random splitting, c_i^2 = p c^2 + 1 - p (Whitt, "The queueing network analyzer", BSTJ 1983);
    for superposition the stationary-interval limit.
    """
    streams = np.maximum(1.0, np.divide(demand_per_s, trace_per_s))
    replicas = np.maximum(1.0, np.divide(demand_per_s, np.maximum(requests_per_s, 1e-9)))
    thinned: Column = 1.0 + (np.asarray(trace_scv_ratio) - 1.0) / (streams * replicas)
    return thinned


def replica_nodes(*, tp: Column, accelerators: Column) -> Column:
    """Nodes, or the share of one, that a replica takes.

    n = t / a

    Source: definition.
    """
    return tp / accelerators


def shared_node_kw(*, node_kw: Column, replica_nodes: Column) -> Column:
    """Power of the part of a node that a replica takes; the host is shared by accelerators.

    P = P_node * n

    Source: definition.
    """
    return node_kw * replica_nodes


def day_mean_kw(*, idle_kw: Column, busy_kw: Column, mean_to_peak_fraction: Column) -> Column:
    """Power of a replica averaged over the day's load.

    P = P_idle + m (P_peak - P_idle)

    Linear between idle and the planned load at the peak hour; m is the mean load over the peak load.

    Source: linear power model; carbon/README.md.
    """
    return idle_kw + mean_to_peak_fraction * (busy_kw - idle_kw)


def weights_gb_per_accelerator(*, parameters: Column, weight_bytes: Column, tp: Column) -> Column:
    """Weights that every step reads, on one accelerator.

    w = N B_w / t

    Source: dense model, all weights touched.
    """
    return parameters * weight_bytes / tp / 1e9


def cache_read_gb_per_step(
    *,
    layers: Column,
    kv_heads: Column,
    head_dim: Column,
    kv_bytes: Column,
    running: Column,
    context_tokens: Column,
    tp: Column,
) -> Column:
    """Keys and values that one step reads, on one accelerator.

    c = 2 L kv d B_kv b s / min(t, kv)

    Source: Pope et al., arXiv 2211.05102.
    """
    return (
        2
        * layers
        * kv_heads
        * head_dim
        * kv_bytes
        * running
        * context_tokens
        / np.minimum(tp, kv_heads)
        / 1e9
    )


def mean_context_tokens(*, input_tokens: Column, output_tokens: Column) -> Column:
    """Tokens in the cache of a request, averaged over its decoding.

    s = isl + osl / 2

    Source: definition.
    """
    return input_tokens + output_tokens / 2.0


def step_tokens(*, running: Column, prefill_tokens: Column) -> Column:
    """Tokens that one step computes: one for each running request, and the prompts that join.

    n = b + q

    Source: continuous batching with chunked prefill.
    """
    return running + prefill_tokens


def node_available_fraction(*, failure_rate_per_node_h: Column, down_h: Column) -> Column:
    """Share of time that a replica's node is up.

    A = 1 / (1 + r * t_down)

    A pooled spare takes over after a failure, so a replica is down for the time to restart, not to repair.

    Source: renewal theory, alternating up and down times.
    """
    return 1.0 / (1.0 + np.asarray(failure_rate_per_node_h) * down_h)


def standby_ratio(*, needed: Column, standby: Column) -> Column:
    """Standby replicas for each needed one, taken at the smallest demand of the horizon.

    s = k / n

    Source: n + k redundancy.
    """
    return np.divide(standby, needed)


def needed_replicas(*, demand_per_s: Column, requests_per_s: Column) -> Column:
    """Replicas that carry a demand.

    n = ceil(demand / capacity)

    Source: definition.
    """
    return np.ceil(np.divide(demand_per_s, requests_per_s))


@dataclass(frozen=True)
class Replicas:
    """Serving candidates (V rows) that meet their latency targets, and what one replica of each does."""

    candidates: ServingCandidates
    capacity: Parts
    requests_per_s: Traced
    ttft_s: Traced
    tpot_s: Traced
    nodes: Traced
    standby: Traced
    node_h: Traced
    increment_kw: Traced
    facility_kwh: Traced
    usd: Traced
    kgco2e: Traced


def replica_columns(inputs: Inputs, nodes: Nodes, candidates: ServingCandidates) -> Replicas:
    """Every coefficient of every replica."""
    services = inputs.scenario.services
    service, pool = candidates.service, candidates.pool
    sku, site = inputs.pool_sku[pool], inputs.pool_site[pool]

    def of_service(items: list[Traced]) -> Traced:
        return pick(items, service)

    def model(name: str) -> Traced:
        return of_service([inputs.fact(f"model.{s.model}.{name}") for s in services])

    size = of_service(
        [
            chosen("weight_bytes", weight_bytes(s.precision), f"bytes of one {s.precision} value")
            for s in services
        ]
    )
    tp = chosen("tp", candidates.tp.astype(float), "enumerated: accelerators that share the model")
    prompts = of_service([inputs.request_tokens(s)[0] for s in services])
    answers = of_service([inputs.request_tokens(s)[1] for s in services])
    pairs, index = np.unique(np.stack([service, sku]), axis=1, return_inverse=True)
    rate = pick([peak(inputs, inputs.skus[k].accelerator, services[i].precision) for i, k in pairs.T], index)
    bandwidth = inputs.of_sku(inputs.accelerator("memory_bandwidth"), sku)
    shape = {name: model(name) for name in ("layers", "hidden", "kv_heads", "head_dim")}
    demand = of_service(
        [inputs.yours(f"services.{s.name}.peak_rate", min(s.peak_requests_per_s), "1/s") for s in services]
    )
    arguments = dict(
        parameters=model("parameters"),
        active_parameters=model("active_parameters"),
        routed_parameters=_none("routed_parameters", 0.0),
        experts=_none("experts", 1.0),
        experts_per_token=_none("experts_per_token", 1.0),
        weight_bytes=size,
        kv_bytes=size,
        **shape,
        input_tokens=prompts,
        output_tokens=answers,
        tp=tp,
        peak_tflop_per_s=rate,
        memory_gb_per_s=bandwidth,
        link_gb_per_s=inputs.of_sku(inputs.accelerator("link_bandwidth"), sku),
        batch_limit=chosen(
            "batch_limit", candidates.batch.astype(float), "what the memory left by the weights holds"
        ),
        ttft_target_s=of_service(
            [inputs.yours(f"services.{s.name}.first_token", s.first_token_s, "s") for s in services]
        ),
        tpot_target_s=of_service(
            [inputs.yours(f"services.{s.name}.per_token", s.per_token_s, "s") for s in services]
        ),
        quantile_fraction=inputs.fact("performance.serving.first_token_quantile"),
        **{name: inputs.fact(f"performance.serving.{key}") for name, key in SERVING_CONSTANTS.items()},
    )
    # How bursty arrivals are at one replica depends on how many share them: size first with Poisson arrivals.
    poisson = derive_parts(
        replica_capacity,
        arrival_scv_ratio=chosen("arrival_scv_ratio", 1.0, "Poisson, to count replicas"),
        **arguments,
    )
    burstiness = derive(
        replica_arrival_scv_ratio,
        trace_scv_ratio=of_service([inputs.arrival_scv(s) for s in services]),
        trace_per_s=of_service([inputs.trace_rate(s) for s in services]),
        demand_per_s=demand,
        requests_per_s=poisson.requests_per_s,
    )
    capacity = derive_parts(replica_capacity, arrival_scv_ratio=burstiness, **arguments)

    accelerators = inputs.of_sku(inputs.server("accelerators"), sku)
    share = derive(replica_nodes, tp=tp, accelerators=accelerators)
    busy_kw = _busy_kw(inputs, sku, capacity, model, size, tp, prompts, answers, rate, bandwidth)
    idle_kw = inputs.of_sku(idle_node_items(inputs), sku)
    power = derive(
        day_mean_kw,
        idle_kw=idle_kw,
        busy_kw=busy_kw,
        mean_to_peak_fraction=of_service(
            [inputs.yours(f"services.{s.name}.mean_to_peak", s.mean_to_peak_fraction, "1") for s in services]
        ),
    )
    tall = np.arange(len(candidates))[:, None]
    replica_kw = derive(shared_node_kw, node_kw=power, replica_nodes=share)
    it_kwh = derive(drawn_kwh, power_kw=rows(replica_kw, tall), active_h=inputs.period_h)
    facility, usd, kgco2e = energy_by_site(inputs, it_kwh, site)
    return Replicas(
        candidates=candidates,
        capacity=capacity,
        requests_per_s=capacity.requests_per_s,
        ttft_s=capacity.ttft_s,
        tpot_s=capacity.tpot_s,
        nodes=share,
        standby=_standby(inputs, nodes, candidates, capacity, demand),
        node_h=derive(replica_node_h, replica_nodes=rows(share, tall), hours_h=inputs.period_h),
        increment_kw=derive(
            replica_increment_kw,
            busy_kw=busy_kw,
            idle_kw=idle_kw,
            replica_nodes=share,
            pue=pick(inputs.pue, site),
        ),
        facility_kwh=facility,
        usd=usd,
        kgco2e=kgco2e,
    )


def replica_node_h(*, replica_nodes: Column, hours_h: Column) -> Column:
    """Node-hours that a replica holds in a period: it stands all the time.

    N_h = n * h

    Source: definition.
    """
    return replica_nodes * hours_h


def replica_increment_kw(*, busy_kw: Column, idle_kw: Column, replica_nodes: Column, pue: Column) -> Column:
    """Facility power that a replica adds at the peak hour to the idle power of its part of a node.

    dP = (P_peak - P_idle) * n * PUE

    Source: definition.
    """
    return np.maximum(0.0, np.asarray(busy_kw) - idle_kw) * replica_nodes * pue


def _busy_kw(
    inputs: Inputs,
    sku: NDArray[np.intp],
    capacity: Parts,
    model: Any,
    size: Traced,
    tp: Traced,
    prompts: Traced,
    answers: Traced,
    rate: Traced,
    bandwidth: Traced,
) -> Traced:
    """Power of a whole node whose replicas carry their planned load."""
    joining = derive(prefill_tokens, batch=capacity.running, input_tokens=prompts, output_tokens=answers)
    step_s = derive(
        at_least_s, step_s=capacity.step_s, least_s=chosen("least_s", 1e-9, "avoids 0/0 where no load fits")
    )
    memory = derive(
        serving_memory_use_fraction,
        step_s=step_s,
        memory_gb_per_s=bandwidth,
        touched_gb=derive(
            weights_gb_per_accelerator, parameters=model("parameters"), weight_bytes=size, tp=tp
        ),
        cache_read_gb=derive(
            cache_read_gb_per_step,
            layers=model("layers"),
            kv_heads=model("kv_heads"),
            head_dim=model("head_dim"),
            kv_bytes=size,
            running=capacity.running,
            tp=tp,
            context_tokens=derive(mean_context_tokens, input_tokens=prompts, output_tokens=answers),
        ),
    )
    compute = derive(
        serving_compute_use_fraction,
        active_parameters=model("active_parameters"),
        tp=tp,
        step_s=step_s,
        step_tokens=derive(step_tokens, running=capacity.running, prefill_tokens=joining),
        peak_tflop_per_s=rate,
    )
    return derive(
        node_power_kw,
        host_kw=inputs.of_sku(inputs.server("host_power"), sku),
        accelerators=inputs.of_sku(inputs.server("accelerators"), sku),
        accelerator_kw=derive(
            accelerator_power_kw,
            tdp_kw=inputs.of_sku(inputs.accelerator("tdp"), sku),
            memory_use_fraction=memory,
            compute_use_fraction=compute,
            **power_curve(inputs, sku),
        ),
    )


def at_least_s(*, step_s: Column, least_s: Column) -> Column:
    """Step time, kept above zero where a candidate carries no load.

    T = max(T, least)

    Source: guard; such candidates are dropped.
    """
    return np.maximum(step_s, least_s)


def _standby(
    inputs: Inputs, nodes: Nodes, candidates: ServingCandidates, capacity: Parts, demand: Traced
) -> Traced:
    """Standby replicas as a share, at the smallest demand: fewer replicas need a larger share."""
    services = inputs.scenario.services
    usable = derive(
        at_least_per_s,
        rate_per_s=capacity.requests_per_s,
        least_per_s=chosen("least_per_s", 1e-6, "avoids 0/0"),
    )
    needed = derive(needed_replicas, demand_per_s=demand, requests_per_s=usable)
    up = derive(
        node_available_fraction, failure_rate_per_node_h=rows(nodes.failure_rate_per_node_h, candidates.pool),
        down_h=inputs.yours("reliability.restart", inputs.scenario.reliability.restart_h, "h"),
    )  # fmt: skip
    target = pick(
        [inputs.yours(f"services.{s.name}.availability", s.availability_fraction, "1") for s in services],
        candidates.service,
    )
    capped = derive(at_most, value=needed, most=chosen("most", 1000.0, "beyond it the share no longer falls"))
    standby = derive(n_plus_k_spares, needed=capped, availability_fraction=up, target_fraction=target)
    return derive(standby_ratio, needed=capped, standby=standby)


def at_least_per_s(*, rate_per_s: Column, least_per_s: Column) -> Column:
    """Rate, kept above zero where a candidate carries no load.

    x = max(x, least)

    Source: guard; such candidates are dropped.
    """
    return np.maximum(rate_per_s, least_per_s)


def at_most(*, value: Column, most: Column) -> Column:
    """A value and its cap.

    x = min(x, most)

    Source: guard for the size of a table.
    """
    return np.minimum(value, most)


def _none(name: str, value: float) -> Traced:
    return chosen(name, value, "a dense model has no routed experts")
