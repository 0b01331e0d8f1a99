"""Memory of one accelerator in training, by what fills it, and what to do where it does not fit."""

from dataclasses import dataclass

import numpy as np

from planner.performance._checks import require_not_negative, require_open_share, require_positive
from planner.performance.bundles import KeptBytes, TrainedTransformer, TrainingLayout, TrainingRun
from planner.performance.columns import Column
from planner.performance.experts import expert_activation_ratio, layer_weights
from planner.performance.memory.activations import activation_gb, logits_gb
from planner.performance.memory.ranks import (
    data_parallel_ranks,
    expert_copies,
    rank_expert_parameters,
    rank_parameters,
    stage_layers,
)


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
    model: TrainedTransformer,
    run: TrainingRun,
    layout: TrainingLayout,
    kept: KeptBytes | None = None,
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
    kept = KeptBytes() if kept is None else kept
    require_not_negative(adapter_parameters=model.adapter_parameters)
    data_parallel = data_parallel_ranks(
        accelerators=run.accelerators, tp=layout.tp, pp=layout.pp, cp=layout.cp
    )
    weights = layer_weights(
        hidden=model.hidden,
        heads=model.heads,
        kv_heads=model.kv_heads,
        ffn=model.ffn,
        gated=model.gated,
        head_dim=model.head_dim,
        mixer_parameters=model.mixer_parameters,
        experts=model.experts,
        experts_per_token=model.experts_per_token,
        shared_experts=model.shared_experts,
        expert_hidden=model.expert_hidden,
    )
    trained = np.where(np.asarray(model.adapter_parameters) > 0, 0.0, 1.0)
    state_bytes = {
        "weight_bytes": kept.weight_bytes,
        "gradient_bytes": kept.gradient_bytes * trained,
        "optimizer_bytes": kept.optimizer_bytes * trained,
    }
    states = weights_optimizer_gb(
        rank_parameters=rank_parameters(
            layers=model.layers,
            layer_parameters=weights.common_parameters,
            hidden=model.hidden,
            vocabulary=model.vocabulary,
            tp=layout.tp,
            pp=layout.pp,
        ),
        data_parallel=data_parallel * layout.cp,
        sharding=layout.sharding,
        **state_bytes,
    )
    if np.any(np.asarray(model.adapter_parameters) > 0):
        added = stage_layers(layers=model.layers, pp=layout.pp) * model.adapter_parameters / layout.tp
        states = states + weights_optimizer_gb(
            rank_parameters=added, data_parallel=data_parallel * layout.cp, sharding=layout.sharding
        )
    expert_states: Column = 0.0
    widening: Column = 1.0
    if np.any(np.asarray(model.experts) > 0):
        held = rank_expert_parameters(
            layers=model.layers, routed_parameters=weights.held_routed_parameters, pp=layout.pp, ep=layout.ep
        )
        expert_states = weights_optimizer_gb(
            rank_parameters=held,
            data_parallel=expert_copies(accelerators=run.accelerators, pp=layout.pp, ep=layout.ep),
            sharding=layout.sharding,
            **state_bytes,
        )
        widening = expert_activation_ratio(
            hidden=model.hidden,
            ffn=model.ffn,
            experts=model.experts,
            experts_per_token=model.experts_per_token,
            shared_experts=model.shared_experts,
            expert_hidden=model.expert_hidden,
        )
    activations = (
        kept.activation_fraction
        * widening
        * activation_gb(
            layers=model.layers,
            hidden=model.hidden,
            heads=model.heads,
            sequence_tokens=run.sequence_tokens,
            micro_batches=run.global_batch / (data_parallel * layout.micro_batch),
            layout=layout,
        )
    )
    logits = logits_gb(
        sequence_tokens=run.sequence_tokens,
        micro_batch=layout.micro_batch,
        vocabulary=model.predicted_tokens * model.vocabulary,
        tp=layout.tp,
        pp=layout.pp,
        cp=layout.cp,
    )
    layer = weights.common_parameters / layout.tp + weights.held_routed_parameters / layout.ep
    gathered = np.where(np.asarray(layout.sharding) >= 3, 2.0 * kept.weight_bytes * layer / 1e9, 0.0)
    return TrainingMemory(
        weights_optimizer_gb=states,
        expert_weights_optimizer_gb=expert_states,
        activations_gb=activations,
        logits_gb=logits,
        gathered_weights_gb=gathered,
        total_gb=states + expert_states + activations + logits + gathered,
    )


def training_memory_gb(
    *, model: TrainedTransformer, run: TrainingRun, layout: TrainingLayout, kept: KeptBytes | None = None
) -> Column:
    """Memory that one accelerator needs while training, on the fullest pipeline stage.

    M = S + A + G,  S over the data- and context-parallel ranks d c, plus 4 W/t bytes gathered ahead at ZeRO-3

    The sum of `training_memory_parts`, which says what is left out.

    Source: Korthikanti et al., arXiv 2205.05198; Rajbhandari et al., "ZeRO", arXiv 1910.02054.
    """
    return training_memory_parts(model=model, run=run, layout=layout, kept=kept).total_gb


def memory_shortage(
    *, memory: TrainingMemory, memory_gb: float, usable_fraction: float, frozen: bool | None = None
) -> str:
    """Why a layout does not fit, in one sentence; empty where it fits.

    M > u M_device

    Of the smallest of all layouts, `frozen` says whether its weights are: no other split helps it.

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
    if frozen is not None:
        cure = "more accelerators, or ones with more memory"
        if not frozen and largest == "weights and optimizer state":
            cure += ', or adapters next to frozen weights (method = "lora")'
    return (
        f"needs {needed:.1f} GB, {usable:.1f} GB of {memory_gb:.0f} GB are usable; {largest} take "
        f"{float(part):.1f} GB: {cure}"
    )
