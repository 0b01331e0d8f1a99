"""Speed of a replica that serves a language model with continuous batching and chunked prefill.

One step of the engine gives every running request one token and, spread over the steps, reads the
prompts of the requests that joined. The constants belong to an engine version: between engines the host
terms differ by 10 to 45 %.
"""

import numpy as np
from numpy.typing import NDArray

from planner.performance._checks import (
    require_not_negative,
    require_open_share,
    require_positive,
    require_share,
)
from planner.performance.memory import kv_cache_gb_per_token

Column = float | NDArray[np.float64]


def touched_parameters(
    *,
    parameters: Column,
    routed_parameters: Column,
    experts: Column,
    experts_per_token: Column,
    batch: Column,
) -> Column:
    """Weights that one step reads when `batch` tokens choose among experts.

    N_touched = shared + routed (1 - (1 - k/E)^b)

    `routed_parameters` lie in experts, the rest are shared. Dense models: routed 0, experts 1, one per
    token. Experts are taken as equally likely; skewed routing touches fewer.

    Source: expected coverage of independent draws; see README.md of this folder.
    """
    require_positive(parameters=parameters, experts=experts, experts_per_token=experts_per_token, batch=batch)
    require_not_negative(routed_parameters=routed_parameters)
    require_share(experts_per_token_over_experts=experts_per_token / experts)
    reached = 1.0 - (1.0 - experts_per_token / experts) ** batch
    return parameters - routed_parameters + routed_parameters * reached


def uncached_tokens(*, input_tokens: Column, cached_fraction: Column) -> Column:
    """Prompt tokens that an engine has to read, the others being found in its prefix cache.

    isl' = isl (1 - h)

    Their keys and values still lie in memory and are still read by each step, so that the context of
    `decode_step_s` keeps the whole prompt. Blocks, eviction and the look-up are left out.

    Source: Zheng et al., "SGLang", NeurIPS 2024, arXiv 2312.07104 (prefix reuse).
    """
    require_not_negative(input_tokens=input_tokens)
    require_share(cached_fraction=cached_fraction)
    return input_tokens * (1.0 - cached_fraction)


def latent_head_dim(*, latent_dims: Column, rope_dims: Column) -> Column:
    """Head size with which one key-value head stands for latent attention.

    2 d = c + r

    Latent attention keeps one vector of c compressed and r positional values for each token and layer, for
    all heads together. With `kv_heads` 1 and this size the cache formulas hold, and the cache is repeated
    on every accelerator of a tensor-parallel group, as one head is.

    Source: DeepSeek-AI, "DeepSeek-V2", arXiv 2405.04434, section 2.1.
    """
    require_positive(latent_dims=latent_dims)
    require_not_negative(rope_dims=rope_dims)
    return (latent_dims + rope_dims) / 2.0


def prefill_tokens(*, batch: Column, input_tokens: Column, output_tokens: Column) -> Column:
    """Prompt tokens that join each step in the long run, so that prompts arrive as answers leave.

    q = b isl / osl

    `input_tokens` counts those not found in a prefix cache.

    Source: balance of a steady state; Agrawal et al., "Sarathi-Serve", arXiv 2403.02310 (chunked prefill).
    """
    require_positive(output_tokens=output_tokens)
    require_not_negative(batch=batch, input_tokens=input_tokens)
    return batch * input_tokens / output_tokens


def exchange_s(
    *,
    tokens: Column,
    layers: Column,
    hidden: Column,
    tp: Column,
    ep: Column,
    experts_per_token: Column,
    link_gb_per_s: Column,
    link_latency_s: Column,
    ring_factor: Column,
) -> Column:
    """Time that a step spends in exchanges between the accelerators of a replica.

    x = 2 L (lat + a_v 2 (t-1)/t n h 2 B/N_l) if t > 1  +  2 L (lat + a_v (e-1)/e k n h 2 B/N_l) if e > 1

    n are the `tokens` of a group that shares attention; each goes to k experts and back.

    Source: volumes of a ring all-reduce and of an all-to-all; lat and a_v as in `decode_step_s`.
    """
    require_positive(layers=layers, hidden=hidden, tp=tp, ep=ep, experts_per_token=experts_per_token)
    require_positive(link_gb_per_s=link_gb_per_s)
    require_not_negative(tokens=tokens, link_latency_s=link_latency_s, ring_factor=ring_factor)
    vector_s = tokens * hidden * 2.0 / (link_gb_per_s * 1e9)
    ring_s, all_to_all_s = 2.0 * (tp - 1.0) / tp * vector_s, (ep - 1.0) / ep * experts_per_token * vector_s
    split_s = np.where(np.asarray(tp) > 1, link_latency_s + ring_factor * ring_s, 0.0)
    routed_s = np.where(np.asarray(ep) > 1, link_latency_s + ring_factor * all_to_all_s, 0.0)
    result = np.asarray(2.0 * layers * (split_s + routed_s))
    return result if result.ndim else float(result)


def decode_step_s(
    *,
    touched_parameters: Column,
    active_parameters: Column,
    weight_bytes: Column,
    layers: Column,
    hidden: Column,
    kv_heads: Column,
    head_dim: Column,
    kv_bytes: Column,
    batch: Column,
    prefill_tokens: Column,
    context_tokens: Column,
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
    peak_share_fraction: Column = 1.0,
    attention_layers: Column | None = None,
    state_gb: Column = 0.0,
    ep: Column = 1.0,
    touched_expert_parameters: Column = 0.0,
    experts_per_token: Column = 1.0,
    eight_bit_layer_s: Column = 0.0,
    expert_layer_s: Column = 0.0,
) -> Column:
    """Time of one step of the engine; with continuous batching also the time between two tokens.

    T = max(T_fit, F / (P e))

    T_fit = [(a_w W/M)^4 + (a_c F/P)^4]^(1/4) + a_kv KV/M + x + (a_L + a_8 + a_E) L + a_s b

    W = B ((N_t - N_te)/t + N_te/r),  F = 2 N_act (b+q)/r,  r = max(t, e),  g = r/t

    All per accelerator; x are the exchanges of `exchange_s`. Attention is split over t accelerators and
    repeated on g groups, each with its share n = (b+q)/g of the tokens and b/g of the caches; the experts
    (`touched_expert_parameters` of the weights touched) lie on e = `ep` accelerators, to which each token
    travels and back. a_8 counts where weights take one byte (values are scaled before each product), a_E
    where there are experts. `context_tokens` is what a running request holds, prompt and the part written:
    steps meet long answers more often (`running_context_tokens`). The fit rests on short prompts, where a_c
    is below 1; long ones would beat the hardware, so no step is shorter than its operations at the share e of
    the dense peak that prefill reaches (`peak_share_fraction`; at most 1). Hybrid models keep a cache in
    `attention_layers` of their layers (all where None) and read and write a constant `state_gb` of each
    request and accelerator, which adds 2 b S to KV. Left out: experts that are chosen more often than others,
    speculative decoding.

    Source: fit on ML.ENERGY v3 (vLLM), see README.md and benchmarks/studies/fit_serving.py.
    """
    require_positive(
        touched_parameters=touched_parameters,
        active_parameters=active_parameters,
        weight_bytes=weight_bytes,
        layers=layers,
        hidden=hidden,
        batch=batch,
        tp=tp,
        ep=ep,
        peak_tflop_per_s=peak_tflop_per_s,
        memory_gb_per_s=memory_gb_per_s,
        link_gb_per_s=link_gb_per_s,
        experts_per_token=experts_per_token,
    )
    require_not_negative(
        prefill_tokens=prefill_tokens,
        context_tokens=context_tokens,
        state_gb=state_gb,
        touched_expert_parameters=touched_expert_parameters,
        common_parameters=touched_parameters - touched_expert_parameters,
    )
    require_open_share(peak_share_fraction=peak_share_fraction)
    ranks = np.maximum(tp, ep)
    groups, bytes_per_s = ranks / tp, memory_gb_per_s * 1e9
    tokens = (batch + prefill_tokens) / groups
    touched = (touched_parameters - touched_expert_parameters) / tp + touched_expert_parameters / ranks
    weights = weight_factor * touched * weight_bytes / bytes_per_s
    at_peak = 2.0 * active_parameters / ranks * (batch + prefill_tokens) / (peak_tflop_per_s * 1e12)
    compute = compute_factor * at_peak
    cached_layers = layers if attention_layers is None else attention_layers
    require_not_negative(attention_layers=cached_layers)
    token_gb = cached_layers * kv_cache_gb_per_token(
        layers=1.0, kv_heads=kv_heads, head_dim=head_dim, kv_bytes=kv_bytes, tp=tp
    )
    cache_gb = batch / groups * (context_tokens * token_gb + 2.0 * state_gb)
    exchange = exchange_s(
        tokens=tokens,
        layers=layers,
        hidden=hidden,
        tp=tp,
        ep=ep,
        experts_per_token=experts_per_token,
        link_gb_per_s=link_gb_per_s,
        link_latency_s=link_latency_s,
        ring_factor=ring_factor,
    )
    each_layer_s = (
        layer_s + (weight_bytes == 1) * eight_bit_layer_s + (touched_expert_parameters > 0) * expert_layer_s
    )
    overlap = (weights**4 + compute**4) ** 0.25
    moved = overlap + kv_factor * cache_gb / memory_gb_per_s + exchange
    fit = moved + each_layer_s * layers + sequence_s * batch
    result: Column = np.maximum(fit, at_peak / peak_share_fraction)
    return result


def output_tokens_per_s(*, batch: Column, step_s: Column) -> Column:
    """Tokens that a replica writes.

    X = b / T

    Source: definition (every running request gets one token a step).
    """
    require_not_negative(batch=batch)
    require_positive(step_s=step_s)
    return batch / step_s


def tpot_s(*, step_s: Column) -> Column:
    """Time per output token after the first, as a user sees it.

    TPOT = T

    Source: definition, for continuous batching without speculative decoding.
    """
    require_positive(step_s=step_s)
    return step_s


def prefill_steps(*, input_tokens: Column, chunk_tokens: Column) -> Column:
    """Steps that reading a prompt takes when at most `chunk_tokens` enter a step; at least one.

    c = max(1, ceil(isl / chunk))

    Source: Agrawal et al., "Sarathi-Serve", arXiv 2403.02310.
    """
    require_positive(chunk_tokens=chunk_tokens)
    require_not_negative(input_tokens=input_tokens)
    result: Column = np.maximum(1.0, np.ceil(input_tokens / chunk_tokens))
    return result


def ttft_s(*, wait_s: Column, prefill_steps: Column, prefill_step_s: Column) -> Column:
    """Time from the arrival of a request to its first token.

    TTFT = wait + c T(b, isl/c)

    `prefill_step_s` is `decode_step_s` with the chunk as prefill tokens. Network and tokenizer are left out.

    Source: as in the llm-d autoscaler, with the step time in place of its straight line.
    """
    require_not_negative(wait_s=wait_s)
    require_positive(prefill_steps=prefill_steps, prefill_step_s=prefill_step_s)
    return wait_s + prefill_steps * prefill_step_s


def offline_tokens_per_s(
    *,
    active_parameters: Column,
    input_tokens: Column,
    output_tokens: Column,
    peak_tflop_per_s: Column,
    accelerators: Column,
    compute_share_fraction: Column,
) -> Column:
    """Output tokens of a throughput-only engine that hides everything but arithmetic.

    X = n phi P / (2 N (1 + isl/osl))

    phi is set per chip and engine: 0.43 for H100 FP8 at MLPerf v4.1, 0.55 H200, 0.31 MI300X, 0.18 L40S.

    Source: derived from MLPerf Inference v4.1 llama2-70b results, see README.md of this folder.
    """
    require_positive(
        active_parameters=active_parameters, output_tokens=output_tokens, accelerators=accelerators
    )
    require_not_negative(input_tokens=input_tokens)
    require_share(compute_share_fraction=compute_share_fraction)
    operations = 2.0 * active_parameters * (1.0 + input_tokens / output_tokens)
    return accelerators * compute_share_fraction * peak_tflop_per_s * 1e12 / operations
