"""How many requests per second one replica can take while it keeps its latency targets."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.performance._checks import require_not_negative, require_open_share, require_positive
from planner.performance.queueing import (
    departures_per_s,
    largest_rate_per_s,
    mean_latencies_s,
    replica_state,
    state_probability_fraction,
)
from planner.performance.serving import decode_step_s, prefill_steps, prefill_tokens, touched_parameters

Column = float | NDArray[np.float64]


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
) -> ReplicaCapacity:
    """Planned load of one replica and its mean latencies there.

    lambda = u lambda*,  ITL(k) = T(k, k isl/osl),  prefill(k) = c T(k, isl/c)

    lambda* is `largest_rate_per_s`; u keeps a margin below it for the peak hour (0.7 to 0.8). The batch
    limit comes from the memory left; 0 means that the model does not fit and gives no capacity. Request
    lengths enter by their means: spread makes tails longer, which is what u and the quantile are for.

    Source: step time of ML.ENERGY fits (`decode_step_s`), queue as in the llm-d autoscaler.
    """
    require_not_negative(batch_limit=batch_limit, queue_places=queue_places)
    require_positive(input_tokens=input_tokens, output_tokens=output_tokens)
    require_open_share(utilisation_fraction=utilisation_fraction)
    limit = np.maximum(np.floor(batch_limit), 1.0)
    places = limit + np.floor(queue_places)
    states = np.arange(1.0, float(np.max(places)) + 1.0)

    def by_state(value: Column) -> NDArray[np.float64]:
        """One candidate per row, one state per column."""
        return np.asarray(value, dtype=np.float64)[..., None]

    running = np.minimum(states, by_state(limit))
    chunks = by_state(prefill_steps(input_tokens=input_tokens, chunk_tokens=chunk_tokens))

    def step(prompt_tokens: Column) -> NDArray[np.float64]:
        """Step time in every state when this many prompt tokens join."""
        return np.asarray(
            decode_step_s(
                touched_parameters=touched_parameters(
                    parameters=by_state(parameters), routed_parameters=by_state(routed_parameters),
                    experts=by_state(experts), experts_per_token=by_state(experts_per_token), batch=running,
                ),
                active_parameters=by_state(active_parameters), weight_bytes=by_state(weight_bytes),
                layers=by_state(layers), hidden=by_state(hidden), kv_heads=by_state(kv_heads),
                head_dim=by_state(head_dim), kv_bytes=by_state(kv_bytes), batch=running,
                prefill_tokens=prompt_tokens,
                context_tokens=by_state(input_tokens) + by_state(output_tokens) / 2.0, tp=by_state(tp),
                peak_tflop_per_s=by_state(peak_tflop_per_s), memory_gb_per_s=by_state(memory_gb_per_s),
                link_gb_per_s=by_state(link_gb_per_s), weight_factor=by_state(weight_factor),
                compute_factor=by_state(compute_factor), kv_factor=by_state(kv_factor),
                link_latency_s=by_state(link_latency_s), ring_factor=by_state(ring_factor),
                layer_s=by_state(layer_s), sequence_s=by_state(sequence_s),
                peak_share_fraction=by_state(peak_share_fraction),
            )
        )  # fmt: skip

    prompts, answers = by_state(input_tokens), by_state(output_tokens)
    token_s = step(prefill_tokens(batch=running, input_tokens=prompts, output_tokens=answers))
    prefill_s = chunks * step(prompts / chunks)
    found = largest_rate_per_s(
        prefill_s=prefill_s, tpot_s=token_s, output_tokens=output_tokens, batch_limit=limit, places=places,
        arrival_scv_ratio=arrival_scv_ratio, ttft_target_s=ttft_target_s, tpot_target_s=tpot_target_s,
        quantile_fraction=quantile_fraction,
    )  # fmt: skip
    works = (np.asarray(batch_limit) >= 1.0) & (np.asarray(found) > 0)
    largest = np.where(works, found, 0.0)
    planned = utilisation_fraction * largest
    rates = departures_per_s(running=running, prefill_s=prefill_s, tpot_s=token_s, output_tokens=answers)
    load = np.where(works, planned, 1e-9)  # an idle replica stands in where nothing works; masked below
    state = replica_state(
        arrivals_per_s=load, departures_per_s=rates, batch_limit=limit, places=places,
        arrival_scv_ratio=arrival_scv_ratio,
    )  # fmt: skip
    first_s, each_s = mean_latencies_s(
        probability_fraction=state_probability_fraction(
            arrivals_per_s=load, departures_per_s=rates, places=places
        ),
        running=running, prefill_s=prefill_s, tpot_s=token_s, wait_s=state.wait_s,
    )  # fmt: skip

    def shown(value: Column) -> Column:
        """Zero where nothing works; a plain number for plain arguments."""
        masked = np.where(works, value, 0.0)
        return masked if masked.ndim else float(masked)

    return ReplicaCapacity(
        requests_per_s=shown(planned), limit_requests_per_s=shown(largest), running=shown(state.running),
        step_s=shown(each_s), ttft_s=shown(first_s), tpot_s=shown(each_s), wait_s=shown(state.wait_s),
    )  # fmt: skip
