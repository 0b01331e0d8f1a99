"""What a replica of a service carries, draws, costs and emits, and how many stand by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Service
from planner.performance.capacity import replica_capacity
from planner.performance.ceilings import check_ceiling, request_flop
from planner.performance.mix import class_context_tokens
from planner.performance.power import (
    accelerator_power_kw,
    capped_power_kw,
    node_power_kw,
    serving_compute_use_fraction,
    serving_memory_use_fraction,
)
from planner.performance.queueing import n_plus_k_spares
from planner.performance.serving import exchange_s, prefill_tokens, touched_parameters
from planner.physics.equations.serving import (
    COUNTED_REPLICAS,
    at_least_running,
    at_least_s,
    at_most,
    burst_fractions,
    cache_read_gb_per_step,
    day_mean_kw,
    exchange_fraction,
    load_fraction,
    loaded_utilisation_fraction,
    node_available_fraction,
    replica_increment_kw,
    replica_node_h,
    replica_nodes,
    routed_layer_s,
    shared_demand,
    shared_node_kw,
    standby_ratio,
    step_tokens,
    tried_scv_ratio,
    weights_gb_per_accelerator,
)
from planner.physics.equations.time import drawn_kwh
from planner.physics.measured_serving import measured_points
from planner.physics.nodes import POWER_CURVE, Nodes, energy_by_site, idle_node_items
from planner.physics.power_caps import at_least_cap_kw, cap_of, clock_under, clocked_tflop_per_s
from planner.physics.serving_options import CLASSES, ServingCandidates, held_requests, served_arguments
from planner.physics.training_options import UNCAPPED, is_mixture, peak
from planner.trace.quantities import Parts, Traced, chosen, derive, derive_parts, pick, rows

SERVING_CONSTANTS = {
    "weight_factor": "weight_bytes_factor",
    "compute_factor": "compute_factor",
    "kv_factor": "kv_factor",
    "link_latency_s": "link_latency",
    "ring_factor": "ring_factor",
    "layer_s": "layer_time",
    "sequence_s": "sequence_time",
    "eight_bit_layer_s": "eight_bit_layer_time",
    "utilisation_fraction": "headroom",
    "queue_places": "queue_places",
    "chunk_tokens": "chunk_tokens",
    "peak_share_fraction": "prefill_efficiency",
}
EXCHANGE = (
    "layers",
    "hidden",
    "tp",
    "experts_per_token",
    "link_gb_per_s",
    "link_latency_s",
    "ring_factor",
)

# The law of training, and what exchanges take off it.
SERVING_CURVE = POWER_CURVE | {"exchange_factor": "c4"}


@dataclass(frozen=True)
class Replicas:
    """Serving candidates (V rows) that meet their latency targets, and what one replica of each does.

    What a replica carries, and how fast, depends on how many share the demand: it is by period (V x T), as
    are replicas that carry the demand alone, and those on standby then.
    """

    candidates: ServingCandidates
    requests_per_s: Traced
    ttft_s: Traced
    tpot_s: Traced
    nodes: Traced
    carrying: Traced
    standby: Traced
    standby_ratio: Traced
    planned_kw: Traced
    node_h: Traced
    increment_kw: Traced
    facility_kwh: Traced
    usd: Traced
    kgco2e: Traced


@dataclass(frozen=True)
class Kinds:
    """What is the same at every site: one row for each service, SKU, split, cap and demand (U rows)."""

    service: NDArray[np.intp]
    sku: NDArray[np.intp]
    tp: Traced
    power_cap_fraction: NDArray[np.float64]
    batch: Traced
    capacity: Mapping[str, Traced]
    nodes: Traced
    busy_kw: Traced  # at the planned load
    loaded_kw: Traced  # at the load of one of the replicas that carry the demand
    demand: Traced
    carrying: Traced

    def some(self, index: NDArray[np.intp]) -> Kinds:
        """Some of the kinds."""
        columns = (self.tp, self.batch, self.nodes, self.busy_kw, self.loaded_kw, self.demand, self.carrying)
        tp, batch, nodes, busy_kw, loaded_kw, demand, carrying = (rows(column, index) for column in columns)
        return Kinds(
            service=self.service[index],
            sku=self.sku[index],
            tp=tp,
            batch=batch,
            nodes=nodes,
            busy_kw=busy_kw,
            loaded_kw=loaded_kw,
            demand=demand,
            carrying=carrying,
            power_cap_fraction=self.power_cap_fraction[index],
            capacity={name: rows(part, index) for name, part in self.capacity.items()},
        )


def replica_columns(inputs: Inputs, nodes: Nodes, candidates: ServingCandidates) -> Replicas:
    """Every coefficient of every replica."""
    services = inputs.scenario.services
    service, pool = candidates.service, candidates.pool
    sku, site = inputs.pool_sku[pool], inputs.pool_site[pool]
    kinds, back = replica_kinds(inputs, candidates)
    capacity = {name: rows(part, back) for name, part in kinds.capacity.items()}
    tall = np.arange(len(candidates))[:, None]
    share, idle_kw = rows(kinds.nodes, back[:, 0]), inputs.of_sku(idle_node_items(inputs), sku)
    load = pick(
        [inputs.yours(f"services.{s.name}.mean_to_peak", s.mean_to_peak_fraction, "1") for s in services],
        service,
    )

    def replica_kw(busy_kw: Traced) -> Traced:
        """Power of a replica over the day, whose node draws so much at the peak hour."""
        idle, mean = rows(idle_kw, tall), rows(load, tall)
        power = derive(day_mean_kw, idle_kw=idle, busy_kw=rows(busy_kw, back), mean_to_peak_fraction=mean)
        return derive(shared_node_kw, node_kw=power, replica_nodes=rows(share, tall))

    it_kwh = derive(drawn_kwh, power_kw=replica_kw(kinds.loaded_kw), active_h=inputs.period_h)
    facility, usd, kgco2e = energy_by_site(inputs, it_kwh, site)
    pue = pick(inputs.pue, site)
    carrying = rows(kinds.carrying, back)
    standby = _standby(inputs, nodes, candidates, carrying)
    # The peak hour of the horizon is that of the period with the largest demand.
    highest = np.array([int(np.argmax(s.peak_requests_per_s)) for s in services])[service]
    busiest_kw = rows(kinds.loaded_kw, back[np.arange(len(candidates)), highest])
    return Replicas(
        candidates=candidates,
        requests_per_s=capacity["requests_per_s"],
        ttft_s=capacity["ttft_s"],
        tpot_s=capacity["tpot_s"],
        nodes=share,
        carrying=carrying,
        standby=standby,
        standby_ratio=derive(standby_ratio, carrying=carrying, standby=standby),
        planned_kw=replica_kw(kinds.busy_kw),
        node_h=derive(replica_node_h, replica_nodes=rows(share, tall), hours_h=inputs.period_h),
        increment_kw=derive(
            replica_increment_kw, busy_kw=busiest_kw, idle_kw=idle_kw, replica_nodes=share, pue=pue
        ),
        facility_kwh=facility,
        usd=usd,
        kgco2e=kgco2e,
    )


def replica_kinds(inputs: Inputs, candidates: ServingCandidates) -> tuple[Kinds, NDArray[np.intp]]:
    """The kinds of replica among the candidates, and which is which in each period.

    Their capacity is the slow part.
    """
    demands, which = _demands(inputs)
    sku_of, periods = inputs.pool_sku[candidates.pool], inputs.periods
    each = (candidates.service, sku_of, candidates.tp, candidates.power_cap_fraction)
    stacked = np.stack([*(np.repeat(column, periods) for column in each), which[candidates.service].ravel()])
    found, back = np.unique(stacked, axis=1, return_inverse=True)
    service, sku, split, of_demand = (column.astype(np.intp) for column in found[[0, 1, 2, 4]])
    caps, tp = found[3], chosen("tp", found[2], "enumerated: accelerators that share the model")
    demand = pick(demands, of_demand)
    arguments = replica_arguments(inputs, service, sku, tp)
    alike = np.stack([service, sku, split])
    carrying, scv, smooth = _sharing(inputs, demand, arguments, alike)
    arguments["arrival_scv_ratio"] = scv
    if not np.all(caps == UNCAPPED):
        arguments = _under_a_cap(inputs, service, sku, caps, arguments)
        # Slower replicas carry less, so that more share the demand.
        alike = np.stack([*alike, np.arange(len(service))])
        carrying, scv, smooth = _sharing(inputs, demand, arguments, alike)
        arguments["arrival_scv_ratio"] = scv
    capacity = derive_parts(replica_capacity, **arguments)
    # Energy is a mean over hours: bursts move work about, but hardly change how much there is.
    part = derive(load_fraction, demand_per_s=demand, carrying_replicas=carrying, requests_per_s=smooth)
    calm = {
        "arrival_scv_ratio": chosen("arrival_scv_ratio", 1.0, "Poisson, for energy"),
        "utilisation_fraction": derive(
            loaded_utilisation_fraction,
            utilisation_fraction=arguments["utilisation_fraction"],
            load_fraction=part,
        ),
    }
    loaded = derive_parts(replica_capacity, **(arguments | calm))
    accelerators = inputs.of_sku(inputs.server("accelerators"), sku)

    def node_kw(state: Parts) -> Traced:
        """Power of a node whose replicas are in this state."""
        return derive(
            node_power_kw,
            host_kw=inputs.of_sku(inputs.server("host_power"), sku),
            accelerators=accelerators,
            accelerator_kw=_drawn_kw(inputs, service, sku, caps, state, arguments),
        )

    kinds = Kinds(
        service=service,
        sku=sku,
        tp=tp,
        power_cap_fraction=caps,
        batch=arguments["batch_limit"],
        capacity=capacity,
        nodes=derive(replica_nodes, tp=tp, accelerators=accelerators),
        busy_kw=node_kw(capacity),
        loaded_kw=node_kw(loaded),
        demand=demand,
        carrying=carrying,
    )
    _check_ceiling(inputs, kinds, arguments)
    return kinds, back.reshape(len(candidates), periods)


def _demands(inputs: Inputs) -> tuple[list[Traced], NDArray[np.intp]]:
    """Demands that differ, and which of them each service has in each period."""
    demands: list[Traced] = []
    which = np.zeros((len(_services(inputs)), inputs.periods), dtype=np.intp)
    for i, service in enumerate(_services(inputs)):
        known: dict[float, int] = {}
        for t, rate in enumerate(service.peak_requests_per_s):
            if rate not in known:
                known[rate] = len(demands)
                demands.append(inputs.yours(f"services.{service.name}.peak_rate[{t}]", rate, "1/s"))
            which[i, t] = known[rate]
    return demands, which


def _sharing(
    inputs: Inputs, demand: Traced, arguments: Mapping[str, Traced], alike: NDArray[np.intp]
) -> tuple[Traced, Traced, Traced]:
    """Replicas that carry each demand, how bursty arrivals are at one, and what one carries without bursts.

    Bursts depend on how many share the demand, and how many it takes depends on bursts: each kind of replica
    (equal columns of `alike`, whose first row is the service) is tried at some burstinesses first.
    """
    _, first, back = np.unique(alike, axis=1, return_index=True, return_inverse=True)
    services = _services(inputs)
    trace = [inputs.arrival_scv(s) for s in services]
    fractions = burst_fractions(max(float(one.value) for one in trace))
    wide = np.repeat(first, len(fractions))
    scv = derive(
        tried_scv_ratio,
        trace_scv_ratio=pick(trace, alike[0][wide]),
        thinned_fraction=chosen(
            "thinned_fraction", np.tile(fractions, len(first)), "from no burst to all of the trace's"
        ),
    )
    tried = derive_parts(
        replica_capacity,
        arrival_scv_ratio=scv,
        **{name: rows(part, wide) for name, part in arguments.items() if name != "arrival_scv_ratio"},
    )
    points = np.arange(len(wide)).reshape(len(first), -1)[back.ravel()]
    shared = derive_parts(
        shared_demand,
        demand_per_s=demand,
        trace_scv_ratio=pick(trace, alike[0]),
        trace_per_s=pick([inputs.trace_rate(s) for s in services], alike[0]),
        tried_scv_ratio=rows(scv, points),
        tried_requests_per_s=rows(tried.requests_per_s, points),
    )
    without_bursts = rows(tried.requests_per_s, points[:, 0])
    return shared.carrying_replicas, shared.arrival_scv_ratio, without_bursts


def _check_ceiling(inputs: Inputs, kinds: Kinds, arguments: Mapping[str, Traced]) -> None:
    """Refuse a load beyond the dense peak: every answer on serving takes its rates from these kinds."""
    names = ("active_parameters", "input_tokens", "output_tokens")
    limit_per_s, tp, peak_tflop_per_s, parameters, prompt, answer = (
        np.broadcast_to(np.asarray(node.value, dtype=np.float64), kinds.service.shape)
        for node in (
            kinds.capacity["limit_requests_per_s"],
            kinds.tp,
            arguments["peak_tflop_per_s"],
            *(arguments[name] for name in names),
        )
    )
    flop = request_flop(active_parameters=parameters, input_tokens=prompt, output_tokens=answer)
    services = [_services(inputs)[i] for i in kinds.service]
    check_ceiling(
        flop_per_s=limit_per_s * flop,
        peak_flop_per_s=tp * peak_tflop_per_s * 1e12,
        what=[
            f"service '{service.name}': {service.model} in {service.precision} on {tp[k]:.0f} chips of "
            f"{inputs.skus[kinds.sku[k]].name}, {limit_per_s[k]:.6g} requests/s of {prompt[k]:.5g} tokens in "
            f"and {answer[k]:.5g} out"
            for k, service in enumerate(services)
        ],
    )


def _under_a_cap(
    inputs: Inputs,
    service: NDArray[np.intp],
    sku: NDArray[np.intp],
    caps: NDArray[np.float64],
    arguments: Mapping[str, Traced],
) -> dict[str, Traced]:
    """Arguments of replicas whose clock a power cap lowers, and with it the matrix rate.

    The load follows from the slower steps, so that latency targets hold under the cap as well.
    """
    drawn = _accelerator_kw(inputs, service, sku, derive_parts(replica_capacity, **arguments), arguments)
    cap = cap_of(inputs.of_sku(inputs.accelerator("tdp"), sku), caps)
    clock = clock_under(inputs, cap, derive(at_least_cap_kw, power_kw=drawn, cap_kw=cap), sku)
    rate = derive(clocked_tflop_per_s, peak_tflop_per_s=arguments["peak_tflop_per_s"], clock_fraction=clock)
    return {**arguments, "peak_tflop_per_s": rate}


def _drawn_kw(
    inputs: Inputs,
    service: NDArray[np.intp],
    sku: NDArray[np.intp],
    caps: NDArray[np.float64],
    state: Parts,
    arguments: Mapping[str, Traced],
) -> Traced:
    """Power of an accelerator of a replica in a state, within its cap."""
    drawn = _accelerator_kw(inputs, service, sku, state, arguments)
    if np.all(caps == UNCAPPED):
        return drawn
    cap = cap_of(inputs.of_sku(inputs.accelerator("tdp"), sku), caps)
    return derive(capped_power_kw, power_kw=drawn, cap_kw=cap)


def replica_arguments(
    inputs: Inputs, service: NDArray[np.intp], sku: NDArray[np.intp], tp: Traced
) -> dict[str, Traced]:
    """Arguments of `replica_capacity` for services on SKUs, but for the burstiness of arrivals."""
    services = _services(inputs)
    served = served_arguments(inputs, service)
    pairs, index = np.unique(np.stack([service, sku]), axis=1, return_inverse=True)
    return (
        served
        | engine_constants(inputs, service, sku)
        | measured_points(inputs, service, sku, tp)
        | {
            "tp": tp,
            "batch_limit": held_requests(inputs, served, sku, tp),
            "peak_tflop_per_s": pick(
                [peak(inputs, inputs.skus[k].accelerator, services[i].precision) for i, k in pairs.T], index
            ),
            "memory_gb_per_s": inputs.of_sku(inputs.accelerator("memory_bandwidth"), sku),
            "link_gb_per_s": inputs.of_sku(inputs.accelerator("link_bandwidth"), sku),
            "ttft_target_s": _stated(
                inputs, service, "first_token", [s.first_token_s for s in services], "s"
            ),
            "tpot_target_s": _stated(inputs, service, "per_token", [s.per_token_s for s in services], "s"),
            "quantile_fraction": inputs.fact("performance.serving.first_token_quantile"),
        }
    )


def engine_constants(inputs: Inputs, service: NDArray[np.intp], sku: NDArray[np.intp]) -> dict[str, Traced]:
    """Constants of the engine: those of a generation of accelerators where it has its own."""
    constants: dict[str, Traced] = {}
    for parameter, key in SERVING_CONSTANTS.items():
        own = [f"performance.serving.{key}@{one.power_curve}" for one in inputs.skus]
        facts = [
            inputs.fact(name if inputs.catalogue.has(name) else f"performance.serving.{key}") for name in own
        ]
        constants[parameter] = facts[0] if all(fact is facts[0] for fact in facts) else pick(facts, sku)
    mixtures = [is_mixture(inputs, one.model) for one in _services(inputs)]
    if any(mixtures):
        routing = inputs.fact("performance.serving.expert_layer_time")
        none = chosen("expert_layer_s", 0.0, "a dense model chooses among no experts")
        each = pick([routing if mixture else none for mixture in mixtures], service)
        constants["layer_s"] = derive(routed_layer_s, layer_s=constants["layer_s"], expert_layer_s=each)
    return constants


def _services(inputs: Inputs) -> tuple[Service, ...]:
    return inputs.scenario.services


def _stated(inputs: Inputs, service: NDArray[np.intp], key: str, values: list[float], unit: str) -> Traced:
    """Column of a value that the scenario states of each service."""
    facts = [
        inputs.yours(f"services.{s.name}.{key}", value, unit)
        for s, value in zip(_services(inputs), values, strict=True)
    ]
    return pick(facts, service)


def _accelerator_kw(
    inputs: Inputs,
    service: NDArray[np.intp],
    sku: NDArray[np.intp],
    capacity: Parts,
    arguments: Mapping[str, Traced],
) -> Traced:
    """Power of an accelerator of a replica that carries its planned load, without a cap."""

    def some(*names: str) -> dict[str, Traced]:
        return {name: arguments[name] for name in names}

    running = capacity.running
    least = chosen("least_s", 1e-9, "avoids 0/0 where no load fits")
    step_s = derive(at_least_s, step_s=capacity.step_s, least_s=least)
    lengths = some("input_tokens", "output_tokens")
    half = chosen("written_fraction", 0.5, "of its answer, on average over the steps of a request")
    touched = derive(
        touched_parameters,
        batch=derive(at_least_running, running=running),
        **some("parameters", "routed_parameters", "experts", "experts_per_token"),
    )
    memory = derive(
        serving_memory_use_fraction,
        step_s=step_s,
        memory_gb_per_s=arguments["memory_gb_per_s"],
        touched_gb=derive(weights_gb_per_accelerator, parameters=touched, **some("weight_bytes", "tp")),
        cache_read_gb=derive(
            cache_read_gb_per_step,
            running=running,
            context_tokens=derive(class_context_tokens, written_fraction=half, **lengths, **some(*CLASSES)),
            **some("layers", "kv_heads", "head_dim", "kv_bytes", "tp"),
        ),
    )
    tokens = derive(
        step_tokens, running=running, prefill_tokens=derive(prefill_tokens, batch=running, **lengths)
    )
    # Power is by the 16-bit peak, whatever the weights take.
    half_peak = [inputs.fact(f"accelerator.{one.accelerator}.bf16_peak") for one in inputs.skus]
    compute = derive(
        serving_compute_use_fraction,
        step_s=step_s,
        step_tokens=tokens,
        peak_tflop_per_s=inputs.of_sku(half_peak, sku),
        **some("active_parameters", "tp"),
    )
    waiting = derive(
        exchange_fraction,
        step_s=step_s,
        exchange_s=derive(
            exchange_s,
            tokens=tokens,
            ep=chosen("ep", 1.0, "experts are split as tensors are"),
            **some(*EXCHANGE),
        ),
    )
    return derive(
        accelerator_power_kw,
        tdp_kw=inputs.of_sku(inputs.accelerator("tdp"), sku),
        memory_use_fraction=memory,
        compute_use_fraction=compute,
        exchange_fraction=waiting,
        **_serving_curve(inputs, service, sku),
    )


def _serving_curve(inputs: Inputs, service: NDArray[np.intp], sku: NDArray[np.intp]) -> dict[str, Traced]:
    """Coefficients of the power law: mixtures of experts have their own where one was measured."""
    pairs, index = np.unique(np.stack([service, sku]), axis=1, return_inverse=True)
    laws = []
    for i, k in pairs.T:
        law = f"performance.power.{inputs.skus[k].power_curve}"
        own = f"{law}-experts"
        mixture = is_mixture(inputs, _services(inputs)[i].model) and inputs.catalogue.has(f"{own}.c0")
        laws.append(own if mixture else law)
    return {
        parameter: pick([inputs.fact(f"{law}.{name}") for law in laws], index)
        for parameter, name in SERVING_CURVE.items()
    }


def _standby(inputs: Inputs, nodes: Nodes, candidates: ServingCandidates, carrying: Traced) -> Traced:
    """Replicas on standby in each period next to those that carry its demand alone.

    Where several options share a service, each keeps the standby of the whole. The chance that more than k of
    n + k are down at once, about C(n + k, k + 1) (1 - A)^(k + 1), grows faster than n: together they are
    short no more often than one alone that carries all.
    """
    services = inputs.scenario.services
    up = derive(
        node_available_fraction,
        failure_rate_per_node_h=rows(nodes.failure_rate_per_node_h, candidates.pool[:, None]),
        down_h=inputs.yours("reliability.restart", inputs.scenario.reliability.restart_h, "h"),
    )
    target = pick(
        [inputs.yours(f"services.{s.name}.availability", s.availability_fraction, "1") for s in services],
        candidates.service[:, None],
    )
    most = chosen("most", COUNTED_REPLICAS, "beyond it the share no longer falls")
    needed = derive(at_most, value=carrying, most=most)
    return derive(n_plus_k_spares, needed=needed, availability_fraction=up, target_fraction=target)


Column = float | NDArray[Any]


def unmet_usd(
    *,
    penalty_usd_per_request: Column,
    peak_requests_per_s: Column,
    mean_to_peak_fraction: Column,
    hours_h: Column,
) -> Column:
    """Money for turning away every request of a period.

    M = p * m * peak * 3600 * h

    Where a share of the peak is not carried, the same share of all requests is taken as lost. Off the peak
    fewer are: the price is one that a plan does better than, never worse.

    Source: requests of a period, by definition.
    """
    mean_per_s = np.multiply(mean_to_peak_fraction, peak_requests_per_s)
    return penalty_usd_per_request * mean_per_s * 3600.0 * hours_h


def unmet_items(inputs: Inputs) -> dict[int, list[Traced]]:
    """What no request at all would cost in each period, for each service that may leave some."""
    found: dict[int, list[Traced]] = {}
    for i, service in enumerate(inputs.scenario.services):
        if service.unmet_penalty_usd is None:
            continue
        where = f"services.{service.name}"
        load = inputs.yours(f"{where}.mean_to_peak", service.mean_to_peak_fraction, "1")
        found[i] = [
            derive(
                unmet_usd,
                penalty_usd_per_request=inputs.yours(
                    f"{where}.unmet_penalty[{t}]", service.unmet_penalty_usd[t], "USD"
                ),
                peak_requests_per_s=inputs.yours(
                    f"{where}.peak_rate[{t}]", service.peak_requests_per_s[t], "1/s"
                ),
                mean_to_peak_fraction=load,
                hours_h=chosen("hours_h", inputs.scenario.horizon.hours[t], "calendar hours of the period"),
            )
            for t in range(inputs.periods)
        ]
    return found
