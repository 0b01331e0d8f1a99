"""What a replica of a service carries, draws, costs and emits, and how many stand by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.candidates import ServingCandidates, peak, weight_bytes
from planner.coefficients.nodes import Nodes, energy_by_site, idle_node_items, power_curve
from planner.coefficients.replicas import (
    at_least_per_s,
    at_least_s,
    at_most,
    cache_read_gb_per_step,
    day_mean_kw,
    mean_context_tokens,
    needed_replicas,
    node_available_fraction,
    replica_arrival_scv_ratio,
    replica_increment_kw,
    replica_node_h,
    replica_nodes,
    shared_node_kw,
    standby_ratio,
    step_tokens,
    weights_gb_per_accelerator,
)
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

SERVING_CONSTANTS = {
    "weight_factor": "weight_bytes_factor", "compute_factor": "compute_factor", "kv_factor": "kv_factor",
    "link_latency_s": "link_latency", "ring_factor": "ring_factor", "layer_s": "layer_time",
    "sequence_s": "sequence_time", "utilisation_fraction": "headroom", "queue_places": "queue_places",
    "chunk_tokens": "chunk_tokens", "peak_share_fraction": "prefill_efficiency",
}  # fmt: skip


@dataclass(frozen=True)
class Replicas:
    """Serving candidates (V rows) that meet their latency targets, and what one replica of each does."""

    candidates: ServingCandidates
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


@dataclass(frozen=True)
class Kinds:
    """What is the same at every site: one row for each service, SKU and tensor-parallel size (U rows)."""

    service: NDArray[np.intp]
    sku: NDArray[np.intp]
    capacity: Parts
    nodes: Traced
    busy_kw: Traced
    demand: Traced


def replica_columns(inputs: Inputs, nodes: Nodes, candidates: ServingCandidates) -> Replicas:
    """Every coefficient of every replica."""
    services = inputs.scenario.services
    service, pool = candidates.service, candidates.pool
    sku, site = inputs.pool_sku[pool], inputs.pool_site[pool]
    kinds, back = _kinds(inputs, candidates, sku)
    capacity = {name: rows(part, back) for name, part in kinds.capacity.items()}
    share, busy_kw = rows(kinds.nodes, back), rows(kinds.busy_kw, back)
    idle_kw = inputs.of_sku(idle_node_items(inputs), sku)
    load = pick(
        [inputs.yours(f"services.{s.name}.mean_to_peak", s.mean_to_peak_fraction, "1") for s in services],
        service,
    )
    power = derive(day_mean_kw, idle_kw=idle_kw, busy_kw=busy_kw, mean_to_peak_fraction=load)
    tall = np.arange(len(candidates))[:, None]
    replica_kw = derive(shared_node_kw, node_kw=power, replica_nodes=share)
    it_kwh = derive(drawn_kwh, power_kw=rows(replica_kw, tall), active_h=inputs.period_h)
    facility, usd, kgco2e = energy_by_site(inputs, it_kwh, site)
    pue = pick(inputs.pue, site)
    return Replicas(
        candidates=candidates,
        requests_per_s=capacity["requests_per_s"],
        ttft_s=capacity["ttft_s"],
        tpot_s=capacity["tpot_s"],
        nodes=share,
        standby=_standby(inputs, nodes, candidates, capacity["requests_per_s"], rows(kinds.demand, back)),
        node_h=derive(replica_node_h, replica_nodes=rows(share, tall), hours_h=inputs.period_h),
        increment_kw=derive(
            replica_increment_kw, busy_kw=busy_kw, idle_kw=idle_kw, replica_nodes=share, pue=pue
        ),
        facility_kwh=facility,
        usd=usd,
        kgco2e=kgco2e,
    )


def _kinds(
    inputs: Inputs, candidates: ServingCandidates, sku: NDArray[np.intp]
) -> tuple[Kinds, NDArray[np.intp]]:
    """The kinds of replica among the candidates, and which is which: their capacity is the slow part."""
    stacked = np.stack([candidates.service, sku, candidates.tp])
    (service, kind_sku, split), first, back = np.unique(
        stacked, axis=1, return_index=True, return_inverse=True
    )
    services = inputs.scenario.services

    def of_service(items: list[Traced]) -> Traced:
        return pick(items, service)

    def model(name: str) -> Traced:
        return of_service([inputs.fact(f"model.{s.model}.{name}") for s in services])

    def stated(key: str, values: list[float], unit: str) -> Traced:
        return of_service(
            [inputs.yours(f"services.{s.name}.{key}", v, unit) for s, v in zip(services, values, strict=True)]
        )

    tp = chosen("tp", split.astype(float), "enumerated: accelerators that share the model")
    batch = candidates.batch[first].astype(float)
    size = of_service(
        [
            chosen("weight_bytes", weight_bytes(s.precision), f"bytes of one {s.precision} value")
            for s in services
        ]
    )
    pairs, index = np.unique(np.stack([service, kind_sku]), axis=1, return_inverse=True)
    demand = stated("peak_rate", [min(s.peak_requests_per_s) for s in services], "1/s")
    arguments: dict[str, Traced] = {
        name: model(name)
        for name in ("parameters", "active_parameters", "layers", "hidden", "kv_heads", "head_dim")
    }
    arguments |= {
        "routed_parameters": _none("routed_parameters", 0.0),
        "experts": _none("experts", 1.0),
        "experts_per_token": _none("experts_per_token", 1.0),
        "weight_bytes": size,
        "kv_bytes": size,
        "input_tokens": of_service([inputs.request_tokens(s)[0] for s in services]),
        "output_tokens": of_service([inputs.request_tokens(s)[1] for s in services]),
        "tp": tp,
        "peak_tflop_per_s": pick(
            [peak(inputs, inputs.skus[k].accelerator, services[i].precision) for i, k in pairs.T], index
        ),
        "memory_gb_per_s": inputs.of_sku(inputs.accelerator("memory_bandwidth"), kind_sku),
        "link_gb_per_s": inputs.of_sku(inputs.accelerator("link_bandwidth"), kind_sku),
        "batch_limit": chosen("batch_limit", batch, "what the memory left by the weights holds"),
        "ttft_target_s": stated("first_token", [s.first_token_s for s in services], "s"),
        "tpot_target_s": stated("per_token", [s.per_token_s for s in services], "s"),
        "quantile_fraction": inputs.fact("performance.serving.first_token_quantile"),
    }
    for parameter, key in SERVING_CONSTANTS.items():
        arguments[parameter] = inputs.fact(f"performance.serving.{key}")
    # How bursty arrivals are at one replica depends on how many share them: count them at Poisson first.
    poisson = chosen("arrival_scv_ratio", 1.0, "Poisson, to count replicas")
    burstiness = derive(
        replica_arrival_scv_ratio,
        trace_scv_ratio=of_service([inputs.arrival_scv(s) for s in services]),
        trace_per_s=of_service([inputs.trace_rate(s) for s in services]),
        demand_per_s=demand,
        requests_per_s=derive_parts(replica_capacity, arrival_scv_ratio=poisson, **arguments).requests_per_s,
    )
    capacity = derive_parts(replica_capacity, arrival_scv_ratio=burstiness, **arguments)
    accelerators = inputs.of_sku(inputs.server("accelerators"), kind_sku)
    kinds = Kinds(
        service=service,
        sku=kind_sku,
        capacity=capacity,
        nodes=derive(replica_nodes, tp=tp, accelerators=accelerators),
        busy_kw=_busy_kw(inputs, kind_sku, capacity, arguments),
        demand=demand,
    )
    return kinds, back


def _busy_kw(inputs: Inputs, sku: NDArray[np.intp], capacity: Parts, arguments: dict[str, Traced]) -> Traced:
    """Power of a whole node whose replicas carry their planned load."""

    def some(*names: str) -> dict[str, Traced]:
        return {name: arguments[name] for name in names}

    requests = some("input_tokens", "output_tokens")
    joining = derive(prefill_tokens, batch=capacity.running, **requests)
    least = chosen("least_s", 1e-9, "avoids 0/0 where no load fits")
    step_s = derive(at_least_s, step_s=capacity.step_s, least_s=least)
    memory = derive(
        serving_memory_use_fraction,
        step_s=step_s,
        memory_gb_per_s=arguments["memory_gb_per_s"],
        touched_gb=derive(weights_gb_per_accelerator, **some("parameters", "weight_bytes", "tp")),
        cache_read_gb=derive(
            cache_read_gb_per_step,
            running=capacity.running,
            context_tokens=derive(mean_context_tokens, **requests),
            **some("layers", "kv_heads", "head_dim", "kv_bytes", "tp"),
        ),
    )
    compute = derive(
        serving_compute_use_fraction,
        step_s=step_s,
        step_tokens=derive(step_tokens, running=capacity.running, prefill_tokens=joining),
        **some("active_parameters", "tp", "peak_tflop_per_s"),
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


def _standby(
    inputs: Inputs, nodes: Nodes, candidates: ServingCandidates, requests_per_s: Traced, demand: Traced
) -> Traced:
    """Standby replicas as a share, at the smallest demand: fewer replicas need a larger share."""
    services = inputs.scenario.services
    least = chosen("least_per_s", 1e-6, "avoids 0/0 where no load fits")
    usable = derive(at_least_per_s, rate_per_s=requests_per_s, least_per_s=least)
    needed = derive(needed_replicas, demand_per_s=demand, requests_per_s=usable)
    up = derive(
        node_available_fraction,
        failure_rate_per_node_h=rows(nodes.failure_rate_per_node_h, candidates.pool),
        down_h=inputs.yours("reliability.restart", inputs.scenario.reliability.restart_h, "h"),
    )
    target = pick(
        [inputs.yours(f"services.{s.name}.availability", s.availability_fraction, "1") for s in services],
        candidates.service,
    )
    capped = derive(at_most, value=needed, most=chosen("most", 1000.0, "beyond it the share no longer falls"))
    standby = derive(n_plus_k_spares, needed=capped, availability_fraction=up, target_fraction=target)
    return derive(standby_ratio, needed=capped, standby=standby)


def _none(name: str, value: float) -> Traced:
    return chosen(name, value, "a dense model has no routed experts")
