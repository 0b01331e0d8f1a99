"""Memory of one accelerator: weights, optimizer and activations in training, weights and cache in serving.

Layout codes used throughout this room:
recompute 0 nothing, 1 attention only ("selective"), 2 whole layers ("full");
sharding 0 nothing, 1 optimizer state, 2 and gradients, 3 and weights (the ZeRO stages).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.performance._checks import require_not_negative, require_open_share, require_positive
from planner.performance.experts import expert_activation_ratio, layer_weights

Column = float | NDArray[np.float64]


def layer_parameters(
    *, hidden: Column, heads: Column, kv_heads: Column, ffn: Column, gated: Column
) -> Column:
    """Weights of one dense transformer layer.

    W = h^2 (2 + 2 kv/a) + (3 if gated else 2) h f

    `gated` is 1 for a gated feed-forward network (three matrices), else 0. Biases and norms are left
    out (below 0.1 %); the head size is taken as hidden / heads.

    Source: Vaswani et al., "Attention Is All You Need", NeurIPS 2017; Shazeer, arXiv 2002.05202 (gated).
    """
    return layer_weights(
        hidden=hidden, heads=heads, kv_heads=kv_heads, ffn=ffn, gated=gated
    ).common_parameters


def stage_layers(*, layers: Column, pp: Column) -> Column:
    """Layers on the pipeline stage that holds most of them.

    l = ceil(L / p)

    The first and the last stage may hold fewer, as with 126 layers on 16 stages.

    Source: Llama team, "The Llama 3 Herd of Models", arXiv 2407.21783, section 3.3.2.
    """
    require_positive(layers=layers, pp=pp)
    result: Column = np.ceil(layers / pp)
    return result


def weights_optimizer_gb(
    *,
    rank_parameters: Column,
    data_parallel: Column,
    sharding: Column,
    weight_bytes: Column = 2.0,
    gradient_bytes: Column = 4.0,
    optimizer_bytes: Column = 12.0,
) -> Column:
    """Weights, gradients and optimizer state on one accelerator.

    S = params / (t p) * (2 / d3 + 4 / d2 + 12 / d1)

    `rank_parameters` is params/(t p); d1, d2, d3 are the data-parallel size where the ZeRO stage is at
    least 1, 2, 3, else 1. The default bytes are those of mixed-precision Adam: bf16 weights, fp32
    gradients, fp32 weights and two moments. Fragmentation and the FP8 copy of weights are left out.

    Source: Rajbhandari et al., "ZeRO", arXiv 1910.02054; Korthikanti et al., arXiv 2205.05198.
    """
    require_positive(data_parallel=data_parallel)
    require_not_negative(rank_parameters=rank_parameters)
    kept_weights = np.where(sharding >= 3, 1.0 / data_parallel, 1.0)
    kept_gradients = np.where(sharding >= 2, 1.0 / data_parallel, 1.0)
    kept_optimizer = np.where(sharding >= 1, 1.0 / data_parallel, 1.0)
    bytes_per_parameter = (
        weight_bytes * kept_weights + gradient_bytes * kept_gradients + optimizer_bytes * kept_optimizer
    )
    return rank_parameters * bytes_per_parameter / 1e9


def activation_gb(
    *,
    layers: Column,
    hidden: Column,
    heads: Column,
    sequence_tokens: Column,
    micro_batch: Column,
    tp: Column,
    pp: Column,
    interleave: Column,
    cp: Column,
    micro_batches: Column,
    recompute: Column,
    sequence_parallel: Column,
    fused_attention: Column,
) -> Column:
    """Activations kept for the backward pass on the first pipeline stage.

    A = s b h L/p * (10 + 24/t + 5 a s/(h t)) * min(m, p) * (1 + (p-1)/(p v))

    With sequence parallelism 10 + 24/t becomes 34/t. The attention scores, 5 a s/(h t), are kept
    neither by selective recompute nor by fused (flash) attention. Full recompute keeps 2 bytes per
    value (2/t with sequence parallelism) and one whole layer at a time. The interleaving factor holds
    where v > 1. `sequence_parallel` and `fused_attention` are 1 or 0; context parallelism divides the
    tokens by c. Logits are left out, see `logits_gb`.

    Source: Korthikanti et al., arXiv 2205.05198, equations 1 to 5 and Table 2.
    """
    require_positive(tp=tp, pp=pp, interleave=interleave, cp=cp, micro_batches=micro_batches)
    require_positive(layers=layers, hidden=hidden, heads=heads)
    require_positive(sequence_tokens=sequence_tokens, micro_batch=micro_batch)
    values = sequence_tokens / cp * micro_batch * hidden
    linear = np.where(sequence_parallel > 0, 34.0 / tp, 10.0 + 24.0 / tp)
    scores = 5.0 * heads * sequence_tokens / (hidden * tp) * np.where(fused_attention == 0, 1.0, 0.0)
    kept = np.where(recompute == 0, linear + scores, linear)
    kept = np.where(recompute == 2, np.where(sequence_parallel > 0, 2.0 / tp, 2.0), kept)
    ahead = np.where(interleave > 1, 1.0 + (pp - 1.0) / (pp * interleave), 1.0)
    in_flight = np.minimum(micro_batches, pp) * ahead
    working_layer = np.where(recompute == 2, linear + scores, 0.0)
    result: Column = values * (stage_layers(layers=layers, pp=pp) * kept * in_flight + working_layer) / 1e9
    return result


def logits_gb(
    *, sequence_tokens: Column, micro_batch: Column, vocabulary: Column, tp: Column, pp: Column, cp: Column
) -> Column:
    """Logits of one micro-batch in fp32, where the first stage is also the last.

    G = 4 s b V / t

    With a pipeline they lie on the last stage, which has fewer micro-batches in flight, so the first
    stage stays the tightest and nothing is added.

    Source: Korthikanti et al., arXiv 2205.05198, section 4.3.
    """
    require_positive(tp=tp, pp=pp, cp=cp)
    require_not_negative(vocabulary=vocabulary)
    both_ends = np.where(pp <= 1, 1.0, 0.0)
    result: Column = 4.0 * sequence_tokens / cp * micro_batch * vocabulary / tp * both_ends / 1e9
    return result


@dataclass(frozen=True, slots=True)
class TrainingMemory:
    """What fills one accelerator while training. The parts before `total_gb` add up to it."""

    weights_optimizer_gb: Column
    expert_weights_optimizer_gb: Column
    activations_gb: Column
    logits_gb: Column
    gathered_weights_gb: Column
    total_gb: Column


def training_memory_parts(
    *,
    layers: Column,
    hidden: Column,
    heads: Column,
    kv_heads: Column,
    ffn: Column,
    gated: Column,
    vocabulary: Column,
    sequence_tokens: Column,
    gpus: Column,
    global_batch: Column,
    tp: Column,
    pp: Column,
    interleave: Column,
    cp: Column,
    micro_batch: Column,
    recompute: Column,
    sharding: Column,
    sequence_parallel: Column,
    fused_attention: Column,
    head_dim: Column | None = None,
    mixer_parameters: Column | None = None,
    experts: Column = 0.0,
    experts_per_token: Column = 0.0,
    shared_experts: Column = 0.0,
    ep: Column = 1.0,
    adapter_parameters: Column = 0.0,
    weight_bytes: Column = 2.0,
    gradient_bytes: Column = 4.0,
    optimizer_bytes: Column = 12.0,
) -> TrainingMemory:
    """Memory that one accelerator needs while training, on the fullest pipeline stage, by what fills it.

    M = S + S_E + A + G + 4 W/t at ZeRO-3,  S over the ranks d c, S_E over n/(p e)

    `adapter_parameters` above 0 are the trainable weights of each layer beside frozen ones, which then
    keep neither gradients nor optimizer state. `weight_bytes` is 2 for bf16, 1 for weights frozen in
    FP8; FP8 training keeps bf16 weights, and its copies in 8 bits are left out. So are allocator
    fragmentation, communication buffers and the CUDA context (compare with a usable share of the
    memory), and what frozen layers save in activations.

    Source: Korthikanti et al., arXiv 2205.05198; Rajbhandari et al., "ZeRO", arXiv 1910.02054.
    """
    require_not_negative(adapter_parameters=adapter_parameters)
    data_parallel = data_parallel_ranks(gpus=gpus, tp=tp, pp=pp, cp=cp)
    weights = layer_weights(
        hidden=hidden, heads=heads, kv_heads=kv_heads, ffn=ffn, gated=gated, head_dim=head_dim,
        mixer_parameters=mixer_parameters, experts=experts, experts_per_token=experts_per_token,
        shared_experts=shared_experts,
    )  # fmt: skip
    trained = np.where(np.asarray(adapter_parameters) > 0, 0.0, 1.0)
    state_bytes = {
        "weight_bytes": weight_bytes, "gradient_bytes": gradient_bytes * trained,
        "optimizer_bytes": optimizer_bytes * trained,
    }  # fmt: skip
    states = weights_optimizer_gb(
        rank_parameters=rank_parameters(
            layers=layers, layer_parameters=weights.common_parameters, hidden=hidden, vocabulary=vocabulary,
            tp=tp, pp=pp,
        ),
        data_parallel=data_parallel * cp, sharding=sharding, **state_bytes,
    )  # fmt: skip
    if np.any(np.asarray(adapter_parameters) > 0):
        added = stage_layers(layers=layers, pp=pp) * adapter_parameters / tp
        states = states + weights_optimizer_gb(
            rank_parameters=added, data_parallel=data_parallel * cp, sharding=sharding
        )
    expert_states: Column = 0.0
    widening: Column = 1.0
    if np.any(np.asarray(experts) > 0):
        held = rank_expert_parameters(
            layers=layers, routed_parameters=weights.held_routed_parameters, pp=pp, ep=ep
        )
        expert_states = weights_optimizer_gb(
            rank_parameters=held, data_parallel=expert_copies(gpus=gpus, pp=pp, ep=ep), sharding=sharding,
            **state_bytes,
        )  # fmt: skip
        widening = expert_activation_ratio(
            hidden=hidden, ffn=ffn, experts=experts, experts_per_token=experts_per_token,
            shared_experts=shared_experts,
        )  # fmt: skip
    kept = widening * activation_gb(
        layers=layers, hidden=hidden, heads=heads, sequence_tokens=sequence_tokens, micro_batch=micro_batch,
        tp=tp, pp=pp, interleave=interleave, cp=cp,
        micro_batches=global_batch / (data_parallel * micro_batch), recompute=recompute,
        sequence_parallel=sequence_parallel, fused_attention=fused_attention,
    )  # fmt: skip
    logits = logits_gb(
        sequence_tokens=sequence_tokens, micro_batch=micro_batch, vocabulary=vocabulary, tp=tp, pp=pp, cp=cp
    )
    layer = weights.common_parameters / tp + weights.held_routed_parameters / ep
    gathered = np.where(np.asarray(sharding) >= 3, 2.0 * weight_bytes * layer / 1e9, 0.0)
    return TrainingMemory(
        weights_optimizer_gb=states, expert_weights_optimizer_gb=expert_states, activations_gb=kept,
        logits_gb=logits, gathered_weights_gb=gathered,
        total_gb=states + expert_states + kept + logits + gathered,
    )  # fmt: skip


def training_memory_gb(
    *,
    layers: Column,
    hidden: Column,
    heads: Column,
    kv_heads: Column,
    ffn: Column,
    gated: Column,
    vocabulary: Column,
    sequence_tokens: Column,
    gpus: Column,
    global_batch: Column,
    tp: Column,
    pp: Column,
    interleave: Column,
    cp: Column,
    micro_batch: Column,
    recompute: Column,
    sharding: Column,
    sequence_parallel: Column,
    fused_attention: Column,
) -> Column:
    """Memory that one accelerator needs while training a dense model, on the fullest pipeline stage.

    M = S + A + G,  S over the data- and context-parallel ranks d c, plus 4 W/t bytes gathered ahead at ZeRO-3

    The sum of `training_memory_parts`, which also takes experts and adapters and says what is left out.

    Source: Korthikanti et al., arXiv 2205.05198; Rajbhandari et al., "ZeRO", arXiv 1910.02054.
    """
    return training_memory_parts(
        layers=layers, hidden=hidden, heads=heads, kv_heads=kv_heads, ffn=ffn, gated=gated,
        vocabulary=vocabulary, sequence_tokens=sequence_tokens, gpus=gpus, global_batch=global_batch, tp=tp,
        pp=pp, interleave=interleave, cp=cp, micro_batch=micro_batch, recompute=recompute, sharding=sharding,
        sequence_parallel=sequence_parallel, fused_attention=fused_attention,
    ).total_gb  # fmt: skip


def memory_shortage(*, memory: TrainingMemory, memory_gb: float, usable_fraction: float) -> str:
    """Why a layout does not fit, in one sentence; empty where it fits.

    M > u M_device

    Source: definition.
    """
    require_positive(memory_gb=memory_gb)
    require_open_share(usable_fraction=usable_fraction)
    needed, usable = float(memory.total_gb), usable_fraction * memory_gb
    if needed <= usable:
        return ""
    cures = {
        "weights and optimizer state": (
            memory.weights_optimizer_gb, "shard them (ZeRO), split over more tensors or stages"
        ),
        "experts and their optimizer state": (
            memory.expert_weights_optimizer_gb, "spread experts over more accelerators, shard their state"
        ),
        "activations": (memory.activations_gb, "recompute, use a smaller micro-batch, split the sequence"),
        "logits": (memory.logits_gb, "split tensors or use a smaller micro-batch"),
        "gathered weights": (memory.gathered_weights_gb, "split over more tensors"),
    }  # fmt: skip
    largest = max(cures, key=lambda name: float(cures[name][0]))
    part, cure = cures[largest]
    return (
        f"needs {needed:.1f} GB, {usable:.1f} GB of {memory_gb:.0f} GB are usable; {largest} take "
        f"{float(part):.1f} GB: {cure}"
    )


def data_parallel_ranks(*, gpus: Column, tp: Column, pp: Column, cp: Column) -> Column:
    """Copies of the model that work on different samples.

    d = n / (t p c)

    Source: Narayanan et al., SC'21, arXiv 2104.04473.
    """
    require_positive(gpus=gpus, tp=tp, pp=pp, cp=cp)
    return gpus / (tp * pp * cp)


def expert_copies(*, gpus: Column, pp: Column, ep: Column) -> Column:
    """Copies of the experts of one pipeline stage.

    d_e = n / (p e)

    Source: Liu et al., "MoE Parallel Folding", arXiv 2504.14960.
    """
    require_positive(gpus=gpus, pp=pp, ep=ep)
    copies = gpus / (pp * ep)
    if np.any(copies < 1.0 - 1e-9):
        raise ValueError(f"experts are spread over at most the n/p accelerators of a stage, got ep {ep}")
    return copies


def rank_parameters(
    *, layers: Column, layer_parameters: Column, hidden: Column, vocabulary: Column, tp: Column, pp: Column
) -> Column:
    """Weights outside experts that one accelerator works with, on the fullest pipeline stage.

    params/(t p) = (ceil(L/p) W + e V h) / t,  e = 2 tables without a pipeline, else 1

    Models that tie both tables hold V h fewer.

    Source: Narayanan et al., SC'21, arXiv 2104.04473.
    """
    require_positive(layer_parameters=layer_parameters, hidden=hidden, tp=tp)
    require_not_negative(vocabulary=vocabulary)
    tables = np.where(pp <= 1, 2.0, 1.0)
    result: Column = (
        stage_layers(layers=layers, pp=pp) * layer_parameters + tables * vocabulary * hidden
    ) / tp
    return result


def rank_expert_parameters(*, layers: Column, routed_parameters: Column, pp: Column, ep: Column) -> Column:
    """Weights of experts that one accelerator holds, on the fullest pipeline stage.

    ceil(L/p) E F / e

    All experts are kept, though a token passes few; each lies whole on one of the e accelerators.

    Source: Lepikhin et al., "GShard", arXiv 2006.16668; Liu et al., arXiv 2504.14960 (folded groups).
    """
    require_positive(ep=ep)
    require_not_negative(routed_parameters=routed_parameters)
    return stage_layers(layers=layers, pp=pp) * routed_parameters / ep


def serving_weights_gb(*, parameters: Column, weight_bytes: Column, tp: Column) -> Column:
    """Weights of a served model on one accelerator.

    w = N B_w / t

    Source: Pope et al., "Efficiently Scaling Transformer Inference", arXiv 2211.05102.
    """
    require_positive(parameters=parameters, weight_bytes=weight_bytes, tp=tp)
    return parameters * weight_bytes / tp / 1e9


def kv_cache_gb_per_token(
    *, layers: Column, kv_heads: Column, head_dim: Column, kv_bytes: Column, tp: Column
) -> Column:
    """Key and value cache of one token on one accelerator.

    k = 2 L kv d_head B_kv / min(t, kv)

    Beyond one head per accelerator the cache is repeated, not split.

    Source: Pope et al., arXiv 2211.05102; Shazeer, arXiv 1911.02150 (fewer key and value heads).
    """
    require_positive(layers=layers, kv_heads=kv_heads, head_dim=head_dim, kv_bytes=kv_bytes, tp=tp)
    return 2.0 * layers * kv_heads * head_dim * kv_bytes / np.minimum(tp, kv_heads) / 1e9


def latent_cache_gb_per_token(
    *, layers: Column, latent_rank: Column, rotary_dim: Column, kv_bytes: Column
) -> Column:
    """Cache of one token under multi-head latent attention, on every accelerator of a replica.

    k = L (r_kv + d_R) B_kv

    All heads read one latent vector and one rotary key, so tensor parallelism repeats the cache.

    Source: DeepSeek-AI, "DeepSeek-V2", arXiv 2405.04434, section 2.1.4 and Table 1.
    """
    require_positive(layers=layers, latent_rank=latent_rank, kv_bytes=kv_bytes)
    require_not_negative(rotary_dim=rotary_dim)
    return layers * (latent_rank + rotary_dim) * kv_bytes / 1e9


def largest_batch(
    *,
    memory_gb: Column,
    usable_fraction: Column,
    weights_gb: Column,
    kv_cache_gb_per_token: Column,
    context_tokens: Column,
    batch_limit: Column,
) -> Column:
    """Requests that one replica can hold at once; 0 where not even one fits.

    b = min(floor((u M - w) / (k c)), limit)

    `context_tokens` is the length to make room for, prompt and answer; `batch_limit` is the engine's own
    (`max_num_seqs`). Paging keeps the waste below one block per request, left out.

    Source: Kwon et al., "PagedAttention", SOSP 2023, arXiv 2309.06180.
    """
    require_open_share(usable_fraction=usable_fraction)
    require_positive(memory_gb=memory_gb, kv_cache_gb_per_token=kv_cache_gb_per_token)
    require_positive(context_tokens=context_tokens, batch_limit=batch_limit)
    room = usable_fraction * memory_gb - weights_gb
    held = np.floor(room / (kv_cache_gb_per_token * context_tokens))
    result: Column = np.clip(held, 0.0, batch_limit)
    return result
