"""Memory of one accelerator in training, by what fills it, and what to do where it does not fit."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.performance._checks import require_not_negative, require_open_share, require_positive
from planner.performance.experts import expert_activation_ratio, layer_weights
from planner.performance.memory.activations import activation_gb, logits_gb
from planner.performance.memory.ranks import (
    data_parallel_ranks,
    expert_copies,
    rank_expert_parameters,
    rank_parameters,
    stage_layers,
)

Column = float | NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TrainingMemory:
    """What fills one accelerator while training. The parts before `total_gb` add up to it."""

    weights_optimizer_gb: Column
    expert_weights_optimizer_gb: Column
    activations_gb: Column
    logits_gb: Column
    gathered_weights_gb: Column
    total_gb: Column


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
    accelerators: Column,
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
    activation_fraction: Column = 1.0,
) -> TrainingMemory:
    """Memory that one accelerator needs while training, on the fullest pipeline stage, by what fills it.

    M = S + S_E + A + G + 4 W/t at ZeRO-3,  S over the ranks d c, S_E over n/(p e)

    `adapter_parameters` above 0 are the trainable weights of each layer next to frozen ones, which then
    keep neither gradients nor optimizer state. `weight_bytes` is 2 for bf16, 1 for weights frozen in
    FP8; FP8 training keeps bf16 weights, and its copies in 8 bits are left out. `activation_fraction` is what
    is kept of 16-bit activations (`kept_fraction`). Left out are also allocator fragmentation, communication
    buffers and the CUDA context (compare with a usable share of the memory), and what frozen layers save in
    activations.

    Source: Korthikanti et al., arXiv 2205.05198; Rajbhandari et al., "ZeRO", arXiv 1910.02054.
    """
    require_not_negative(adapter_parameters=adapter_parameters)
    data_parallel = data_parallel_ranks(accelerators=accelerators, tp=tp, pp=pp, cp=cp)
    weights = layer_weights(
        hidden=hidden,
        heads=heads,
        kv_heads=kv_heads,
        ffn=ffn,
        gated=gated,
        head_dim=head_dim,
        mixer_parameters=mixer_parameters,
        experts=experts,
        experts_per_token=experts_per_token,
        shared_experts=shared_experts,
    )
    trained = np.where(np.asarray(adapter_parameters) > 0, 0.0, 1.0)
    state_bytes = {
        "weight_bytes": weight_bytes,
        "gradient_bytes": gradient_bytes * trained,
        "optimizer_bytes": optimizer_bytes * trained,
    }
    states = weights_optimizer_gb(
        rank_parameters=rank_parameters(
            layers=layers,
            layer_parameters=weights.common_parameters,
            hidden=hidden,
            vocabulary=vocabulary,
            tp=tp,
            pp=pp,
        ),
        data_parallel=data_parallel * cp,
        sharding=sharding,
        **state_bytes,
    )
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
            rank_parameters=held,
            data_parallel=expert_copies(accelerators=accelerators, pp=pp, ep=ep),
            sharding=sharding,
            **state_bytes,
        )
        widening = expert_activation_ratio(
            hidden=hidden,
            ffn=ffn,
            experts=experts,
            experts_per_token=experts_per_token,
            shared_experts=shared_experts,
        )
    kept = (
        activation_fraction
        * widening
        * activation_gb(
            layers=layers,
            hidden=hidden,
            heads=heads,
            sequence_tokens=sequence_tokens,
            micro_batch=micro_batch,
            tp=tp,
            pp=pp,
            interleave=interleave,
            cp=cp,
            micro_batches=global_batch / (data_parallel * micro_batch),
            recompute=recompute,
            sequence_parallel=sequence_parallel,
            fused_attention=fused_attention,
        )
    )
    logits = logits_gb(
        sequence_tokens=sequence_tokens, micro_batch=micro_batch, vocabulary=vocabulary, tp=tp, pp=pp, cp=cp
    )
    layer = weights.common_parameters / tp + weights.held_routed_parameters / ep
    gathered = np.where(np.asarray(sharding) >= 3, 2.0 * weight_bytes * layer / 1e9, 0.0)
    return TrainingMemory(
        weights_optimizer_gb=states,
        expert_weights_optimizer_gb=expert_states,
        activations_gb=kept,
        logits_gb=logits,
        gathered_weights_gb=gathered,
        total_gb=states + expert_states + kept + logits + gathered,
    )


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
    accelerators: Column,
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
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=kv_heads,
        ffn=ffn,
        gated=gated,
        vocabulary=vocabulary,
        sequence_tokens=sequence_tokens,
        accelerators=accelerators,
        global_batch=global_batch,
        tp=tp,
        pp=pp,
        interleave=interleave,
        cp=cp,
        micro_batch=micro_batch,
        recompute=recompute,
        sharding=sharding,
        sequence_parallel=sequence_parallel,
        fused_attention=fused_attention,
    ).total_gb


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
            memory.weights_optimizer_gb,
            "shard them (ZeRO), split over more tensors or stages",
        ),
        "experts and their optimizer state": (
            memory.expert_weights_optimizer_gb,
            "spread experts over more accelerators, shard their state",
        ),
        "activations": (memory.activations_gb, "recompute, use a smaller micro-batch, split the sequence"),
        "logits": (memory.logits_gb, "split tensors or use a smaller micro-batch"),
        "gathered weights": (memory.gathered_weights_gb, "split over more tensors"),
    }
    largest = max(cures, key=lambda name: float(cures[name][0]))
    part, cure = cures[largest]
    return (
        f"needs {needed:.1f} GB, {usable:.1f} GB of {memory_gb:.0f} GB are usable; {largest} take "
        f"{float(part):.1f} GB: {cure}"
    )
