"""How many requests per second one replica can take while it keeps its latency targets."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.performance._checks import require_not_negative, require_open_share, require_positive
from planner.performance.calibrate_serving import calibrated_step_s, serving_factor_at, step_arithmetic_s
from planner.performance.mix import class_context_tokens
from planner.performance.replica import MixedReplica, largest_mix_rate_per_s, mixed_replica, mixed_state
from planner.performance.serving import decode_step_s, prefill_steps, prefill_tokens, touched_parameters

Column = float | NDArray[np.float64]
Floats = NDArray[np.float64]

# Prompts that are alike, with answers that spread like exponential ones: all that means alone can say.
ONE_CLASS = np.ones(1)


@dataclass(frozen=True, slots=True)
class ReplicaCapacity:
    """What one replica achieves at its planned load; all zero where no load meets the targets."""

    requests_per_s: Column
    limit_requests_per_s: Column
    running: Column
    step_s: Column
    ttft_s: Column
    tpot_s: Column
    wait_s: Column


def replica_capacity(
    *,
    parameters: Column,
    active_parameters: Column,
    routed_parameters: Column,
    experts: Column,
    experts_per_token: Column,
    weight_bytes: Column,
    layers: Column,
    hidden: Column,
    kv_heads: Column,
    head_dim: Column,
    kv_bytes: Column,
    input_tokens: Column,
    output_tokens: Column,
    chunk_tokens: Column,
    batch_limit: Column,
    queue_places: Column,
    tp: Column,
    peak_tflop_per_s: Column,
    memory_gb_per_s: Column,
    link_gb_per_s: Column,
    weight_factor: Column,
    compute_factor: Column,
    kv_factor: Column,
    link_latency_s: Column,
    ring_factor: Column,
    layer_s: Column,
    sequence_s: Column,
    peak_share_fraction: Column,
    ttft_target_s: Column,
    tpot_target_s: Column,
    quantile_fraction: Column,
    arrival_scv_ratio: Column,
    utilisation_fraction: Column,
    share_fraction: Column = ONE_CLASS,
    input_ratio: Column = ONE_CLASS,
    output_ratio: Column = ONE_CLASS,
    output_scv_ratio: Column = ONE_CLASS,
    eight_bit_layer_s: Column = 0.0,
    measured_batches: Column = ONE_CLASS,
    measured_factors: Column = ONE_CLASS,
) -> ReplicaCapacity:
    """Planned load of one replica and its mean latencies there.

    lambda = u lambda*,  ITL(k) = T(k, q),  q = k isl/osl,  T = T_model / f(k)

    prefill_j(k) = max(c_j T(k, isl_j/c_j), ITL(k))

    lambda* is `largest_mix_rate_per_s`; u keeps a margin below it for the peak hour (0.7 to 0.8). The batch
    limit comes from the memory left; 0 means that the model does not fit and gives no capacity. Short
    answers let many prompts join each step: reading one takes no less than a step with its share of them, so
    that no prompt is read for free. Where no answer has a second token the time per token is 0. Requests
    come in classes of prompts, on the last axis of `share_fraction` and the three columns after it (as of
    `prompt_classes`: mean prompt and answer of a class over those of all, spread of its answers). Where only
    means are known there is one class, whose answers spread like exponential ones. Where an engine was
    measured, its points are on the last axis of `measured_batches` and `measured_factors`
    (`serving_factor_at`; `calibrated_step_s` for the bound by the peak).

    Source: step time of ML.ENERGY fits (`decode_step_s`), queue as in the llm-d autoscaler.
    """
    require_not_negative(batch_limit=batch_limit, queue_places=queue_places)
    require_positive(input_tokens=input_tokens, output_tokens=output_tokens)
    require_open_share(utilisation_fraction=utilisation_fraction)
    limit = np.maximum(np.floor(batch_limit), 1.0)
    context = class_context_tokens(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        share_fraction=share_fraction,
        input_ratio=input_ratio,
        output_ratio=output_ratio,
        output_scv_ratio=output_scv_ratio,
        written_fraction=0.5,
    )

    def wide(value: Column) -> Floats:
        """A candidate each, before an axis of classes and one of states."""
        return np.asarray(value, dtype=np.float64)[..., None, None]

    running = np.minimum(np.arange(1.0, float(np.max(limit)) + 1.0), wide(limit))
    factor = np.asarray(
        serving_factor_at(
            batch=running[..., 0, :],
            measured_batches=np.asarray(measured_batches)[..., None, :],
            factors=np.asarray(measured_factors)[..., None, :],
        )
    )[..., None, :]

    def step(prompt_tokens: Column) -> Floats:
        """Step time in every state when this many prompt tokens join."""
        least = step_arithmetic_s(
            active_parameters=wide(active_parameters),
            tokens=running + prompt_tokens,
            tp=wide(tp),
            peak_tflop_per_s=wide(peak_tflop_per_s),
        )
        modelled = np.asarray(
            decode_step_s(
                touched_parameters=touched_parameters(
                    parameters=wide(parameters),
                    routed_parameters=wide(routed_parameters),
                    experts=wide(experts),
                    experts_per_token=wide(experts_per_token),
                    batch=running,
                ),
                active_parameters=wide(active_parameters),
                weight_bytes=wide(weight_bytes),
                layers=wide(layers),
                hidden=wide(hidden),
                kv_heads=wide(kv_heads),
                head_dim=wide(head_dim),
                kv_bytes=wide(kv_bytes),
                batch=running,
                prefill_tokens=prompt_tokens,
                context_tokens=wide(context),
                tp=wide(tp),
                peak_tflop_per_s=wide(peak_tflop_per_s),
                memory_gb_per_s=wide(memory_gb_per_s),
                link_gb_per_s=wide(link_gb_per_s),
                weight_factor=wide(weight_factor),
                compute_factor=wide(compute_factor),
                kv_factor=wide(kv_factor),
                link_latency_s=wide(link_latency_s),
                ring_factor=wide(ring_factor),
                layer_s=wide(layer_s),
                sequence_s=wide(sequence_s),
                peak_share_fraction=wide(peak_share_fraction),
                eight_bit_layer_s=wide(eight_bit_layer_s),
            )
        )
        return np.asarray(calibrated_step_s(step_s=modelled, factor=factor, least_s=least))

    prompts = (np.asarray(input_tokens)[..., None] * input_ratio)[..., None]
    chunks = prefill_steps(input_tokens=prompts, chunk_tokens=wide(chunk_tokens))
    joining = prefill_tokens(
        batch=running, input_tokens=wide(input_tokens), output_tokens=wide(output_tokens)
    )
    average_s = step(joining)
    replica = mixed_replica(
        prefill_s=np.maximum(chunks * step(prompts / chunks), average_s),
        tpot_s=average_s[..., 0, :],
        share_fraction=share_fraction,
        output_tokens=np.asarray(output_tokens)[..., None] * output_ratio,
        output_scv_ratio=output_scv_ratio,
        batch_limit=limit,
        queue_places=np.floor(queue_places),
        arrival_scv_ratio=arrival_scv_ratio,
    )
    found = largest_mix_rate_per_s(
        replica=replica,
        ttft_target_s=ttft_target_s,
        tpot_target_s=tpot_target_s,
        quantile_fraction=quantile_fraction,
    )
    return _planned(replica, np.where(np.asarray(batch_limit) >= 1.0, found, 0.0), utilisation_fraction)


def _planned(replica: MixedReplica, largest: Floats, utilisation_fraction: Column) -> ReplicaCapacity:
    """A replica at its planned load; zero where nothing works, plain numbers for plain arguments."""
    works = largest > 0
    planned = utilisation_fraction * largest
    # An idle replica is used instead where nothing works; it is masked below.
    state = mixed_state(replica=replica, arrivals_per_s=np.where(works, planned, 1e-9))

    def shown(value: Column) -> Column:
        masked = np.where(works, value, 0.0)
        return masked if masked.ndim else float(masked)

    return ReplicaCapacity(
        requests_per_s=shown(planned),
        limit_requests_per_s=shown(largest),
        running=shown(state.queue.running),
        step_s=shown(state.tpot_s),
        ttft_s=shown(state.ttft_s),
        tpot_s=shown(np.where(replica.writes_on, state.tpot_s, 0.0)),
        wait_s=shown(state.queue.wait_s),
    )
