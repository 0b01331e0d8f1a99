"""One layer of a training step on one rank: what the rank works with, and the time of a forward pass."""

from dataclasses import dataclass, replace

import numpy as np

from planner.performance._checks import require_not_negative, require_open_share, require_positive
from planner.performance.bundles import (
    Links,
    TrainedTransformer,
    TrainingChip,
    TrainingLayout,
    TrainingRun,
    TrainingSoftware,
)
from planner.performance.columns import Column
from planner.performance.communication import (
    context_exchange_s,
    context_imbalance_ratio,
    expert_exchange_s,
    tensor_exchange_s,
)
from planner.performance.experts import (
    LayerWeights,
    expert_activation_ratio,
    expert_tokens,
    layer_weights,
    whole_tiles_ratio,
)
from planner.performance.memory import data_parallel_ranks, stage_layers


@dataclass(frozen=True, slots=True)
class Rank:
    """What one rank works with: its weights and tokens, its links and the speeds that it reaches."""

    model: TrainedTransformer
    run: TrainingRun
    layout: TrainingLayout
    chip: TrainingChip
    software: TrainingSoftware
    weights: LayerWeights
    mixture: bool
    links: Links
    data_parallel: Column
    micro_batches: Column
    tokens: Column  # of one micro-batch
    layers: Column
    tokens_half: Column  # of grouped multiplications
    memory_bytes_per_s: Column
    narrow_tflop_per_s: Column  # mean over the multiplications of a layer, at peak
    dense_flop_per_s: Column
    matrix_flop_per_s: Column


def rank_of(
    *,
    model: TrainedTransformer,
    run: TrainingRun,
    layout: TrainingLayout,
    chip: TrainingChip,
    software: TrainingSoftware,
) -> Rank:
    """What one rank works with.

    Raises:
        ValueError: the global batch does not hold a micro-batch for each copy of the model.
    """
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
    links = Links(
        link_domain=chip.link_domain,
        link_gb_per_s=chip.link_gb_per_s,
        network_gb_per_s=chip.network_gb_per_s,
        link_efficiency_fraction=software.link_efficiency_fraction,
        network_efficiency_fraction=software.network_efficiency_fraction,
    )
    data_parallel = data_parallel_ranks(
        accelerators=run.accelerators, tp=layout.tp, pp=layout.pp, cp=layout.cp
    )
    micro_batches = run.global_batch / (data_parallel * layout.micro_batch)
    if np.any(micro_batches < 1.0 - 1e-9) or np.any(data_parallel < 1.0 - 1e-9):
        raise ValueError(
            f"global_batch must hold a micro-batch for each of n/(t p c) >= 1 copies, got {run.global_batch} "
            f"for {data_parallel} copies and micro_batch {layout.micro_batch}"
        )
    tokens = layout.micro_batch * run.sequence_tokens / layout.cp
    deep = stage_layers(layers=model.layers, pp=layout.pp)
    memory_bytes_per_s = software.memory_efficiency_fraction * chip.memory_gb_per_s * 1e9
    # Some matrices stay in 16 bits: the time of a multiplication is the mean of both.
    narrow_tflop_per_s = 1.0 / (
        chip.narrow_fraction / (chip.matrix_tflop_per_s * chip.precision_factor)
        + (1.0 - chip.narrow_fraction) / chip.attention_tflop_per_s
    )
    dense_flop_per_s = narrow_tflop_per_s * 1e12 * chip.matrix_efficiency_fraction * software.stack_factor
    matrix_flop_per_s = dense_flop_per_s * shape_efficiency_fraction(
        hidden=model.hidden,
        tp=layout.tp,
        rank_tokens=tokens,
        hidden_half_width=software.hidden_half_width,
        tokens_half=software.tokens_half,
    )
    return Rank(
        model=model,
        run=run,
        layout=layout,
        chip=chip,
        software=software,
        weights=weights,
        mixture=bool(np.any(np.asarray(model.experts) > 0)),
        links=links,
        data_parallel=data_parallel,
        micro_batches=micro_batches,
        tokens=tokens,
        layers=deep,
        tokens_half=software.tokens_half if chip.grouped_half_tokens is None else chip.grouped_half_tokens,
        memory_bytes_per_s=memory_bytes_per_s,
        narrow_tflop_per_s=narrow_tflop_per_s,
        dense_flop_per_s=dense_flop_per_s,
        matrix_flop_per_s=matrix_flop_per_s,
    )


@dataclass(frozen=True, slots=True)
class LayerForward:
    """Seconds of one layer and one micro-batch, forward: computing, and each kind of exchange."""

    matrix_s: Column
    attention_s: Column
    elementwise_s: Column
    tensor_parallel_s: Column
    expert_parallel_s: Column
    context_parallel_s: Column


def layer_forward(rank: Rank) -> LayerForward:
    """Seconds of one layer and one micro-batch, forward; the equations are those of `training_step_s`."""
    model, run, layout, chip, software = rank.model, rank.run, rank.layout, rank.chip, rank.software
    matrix = 2.0 * rank.tokens * rank.weights.common_parameters / layout.tp / rank.matrix_flop_per_s
    sent: Column = 0.0
    if rank.mixture:
        exposed: Column = software.expert_exposed_fraction
        if software.expert_exposed_interleaved_fraction is not None:
            exposed = np.where(layout.interleave > 1, software.expert_exposed_interleaved_fraction, exposed)
        matrix = matrix + software.load_imbalance_factor * _experts_s(
            model=model,
            layout=layout,
            rank_tokens=rank.tokens,
            active_parameters=rank.weights.active_routed_parameters,
            tile=chip.grouped_tile,
            flop_per_s=rank.dense_flop_per_s,
            hidden_half_width=software.hidden_half_width,
            tokens_half=rank.tokens_half,
            most_flop_per_s=chip.matrix_tflop_per_s
            * 1e12
            * software.stack_factor
            * chip.grouped_efficiency_fraction,
        )
        sent = software.load_imbalance_factor * expert_exchange_s(
            rank_tokens=rank.tokens / layout.tp,
            hidden=model.hidden if model.expert_hidden is None else model.expert_hidden,
            experts_per_token=model.experts_per_token,
            ep=layout.ep,
            links=rank.links
            if software.expert_network_efficiency_fraction is None
            else replace(rank.links, network_efficiency_fraction=software.expert_network_efficiency_fraction),
            pair_link_fraction=chip.pair_link_fraction,
            collective_latency_s=software.collective_latency_s,
            exposed_fraction=exposed,
            most_domains_per_token=model.most_domains_per_token,
        )
    attention = model.attention_fraction * attention_forward_s(
        rank_tokens=rank.tokens,
        sequence_tokens=run.sequence_tokens,
        hidden=model.hidden,
        heads=model.heads,
        tp=layout.tp,
        fused_attention=layout.fused_attention,
        attention_tflop_per_s=chip.attention_tflop_per_s,
        attention_efficiency_fraction=software.attention_efficiency_fraction,
        memory_gb_per_s=chip.memory_gb_per_s,
        memory_efficiency_fraction=software.memory_efficiency_fraction,
        head_dim=model.head_dim,
        causal=model.causal,
    )
    if np.any(np.asarray(model.state_space_flops_per_token) > 0):
        # A fused scan is taken to reach what fused attention reaches.
        scanned = rank.tokens * model.state_space_flops_per_token / layout.tp
        attention = attention + scanned / (
            chip.attention_tflop_per_s * 1e12 * software.attention_efficiency_fraction
        )
    attention = attention * context_imbalance_ratio(
        cp=layout.cp, causal=model.causal, imbalance_fraction=software.context_imbalance_fraction
    )
    split = np.where(layout.sequence_parallel > 0, 1.0 / layout.tp, 2.0 / (1.0 + layout.tp))
    elementwise = (
        software.elementwise_bytes_per_value * rank.tokens * model.hidden * split / rank.memory_bytes_per_s
    )
    if rank.mixture:
        # Each expert of a token reads, activates and writes its own copy.
        elementwise = elementwise * expert_activation_ratio(
            hidden=model.hidden,
            ffn=model.ffn,
            experts=model.experts,
            experts_per_token=model.experts_per_token,
            shared_experts=model.shared_experts,
            expert_hidden=model.expert_hidden,
        )
    ring = model.attention_fraction * context_exchange_s(
        rank_tokens=rank.tokens,
        key_width=model.kv_heads * (model.hidden / model.heads if model.head_dim is None else model.head_dim),
        tp=layout.tp,
        cp=layout.cp,
        links=rank.links,
        pair_link_fraction=chip.pair_link_fraction,
        collective_latency_s=software.collective_latency_s,
        attention_s=attention,
        exposed_fraction=software.context_exposed_fraction,
    )
    exchange = tensor_exchange_s(
        rank_tokens=rank.tokens,
        hidden=model.hidden,
        tp=layout.tp,
        links=rank.links,
        pair_link_fraction=chip.pair_link_fraction,
        collective_latency_s=software.collective_latency_s,
        tensor_exposed_fraction=software.tensor_exposed_fraction,
        near_hop_s=software.near_hop_s,
        far_hop_s=software.far_hop_s,
    )
    return LayerForward(matrix, attention, elementwise, exchange, sent, ring)


def shape_efficiency_fraction(
    *, hidden: Column, tp: Column, rank_tokens: Column, hidden_half_width: Column, tokens_half: Column
) -> Column:
    """Share of the reachable matrix speed that matrices of this shape get.

    g = w/(w + k0) * tok/(tok + T0),  w = h / sqrt(t)

    Source: fit on published throughput, see README.md of this folder (k0 182, T0 597).
    """
    require_positive(hidden=hidden, tp=tp, rank_tokens=rank_tokens)
    require_not_negative(hidden_half_width=hidden_half_width, tokens_half=tokens_half)
    width = hidden / np.sqrt(tp)
    return width / (width + hidden_half_width) * rank_tokens / (rank_tokens + tokens_half)


def attention_forward_s(
    *,
    rank_tokens: Column,
    sequence_tokens: Column,
    hidden: Column,
    heads: Column,
    tp: Column,
    fused_attention: Column,
    attention_tflop_per_s: Column,
    attention_efficiency_fraction: Column,
    memory_gb_per_s: Column,
    memory_efficiency_fraction: Column,
    head_dim: Column | None = None,
    causal: Column = 1.0,
) -> Column:
    """Forward time of the attention scores of one layer and one micro-batch.

    t_att = 4 tok s w/t * (1/2 if fused and causal) / (P_bf16 e_att) + (10 tok s a/t / (e_m M) if not fused)

    w is a d_head, or h where no head size is given. A fused (flash) kernel skips the masked half and
    keeps the scores on chip; otherwise each score crosses memory for mask, softmax and dropout: 10 bytes.

    Source: Dao et al., "FlashAttention", arXiv 2205.14135; Korthikanti et al., arXiv 2205.05198.
    """
    require_open_share(attention_efficiency_fraction=attention_efficiency_fraction)
    require_positive(attention_tflop_per_s=attention_tflop_per_s, memory_gb_per_s=memory_gb_per_s)
    unfused = 1.0 - fused_attention
    width = hidden if head_dim is None else heads * head_dim
    flops = 4.0 * rank_tokens * sequence_tokens * width / tp * (1.0 - 0.5 * fused_attention * causal)
    score_bytes = 10.0 * unfused * rank_tokens * sequence_tokens * heads / tp
    return flops / (attention_tflop_per_s * 1e12 * attention_efficiency_fraction) + score_bytes / (
        memory_efficiency_fraction * memory_gb_per_s * 1e9
    )


def _experts_s(
    *,
    model: TrainedTransformer,
    layout: TrainingLayout,
    rank_tokens: Column,
    active_parameters: Column,
    tile: Column,
    flop_per_s: Column,
    hidden_half_width: Column,
    tokens_half: Column,
    most_flop_per_s: Column,
) -> Column:
    """Forward time of the experts of one layer: 2 (tok/t) k F' at the efficiency of one expert's matrices.

    F' is F with both sides of a matrix rounded up to whole tiles, which is what a kernel multiplies. The
    matrices are as narrow as the smaller of f and the width of the tokens, whole (not split by t), and as
    short as the tokens that meet in one expert; grouped kernels reach `most_flop_per_s` where experts are
    wide and long.
    """
    width = model.hidden if model.expert_hidden is None else model.expert_hidden
    tokens = expert_tokens(
        rank_tokens=rank_tokens,
        tp=layout.tp,
        experts=np.maximum(model.experts, 1.0),
        experts_per_token=np.maximum(model.experts_per_token, 1.0),
        ep=layout.ep,
    )
    short = tokens / (tokens + tokens_half)
    narrow = shape_efficiency_fraction(
        hidden=np.minimum(width, model.ffn),
        tp=1.0,
        rank_tokens=tokens,
        hidden_half_width=hidden_half_width,
        tokens_half=tokens_half,
    )
    reached = np.minimum(flop_per_s * narrow, most_flop_per_s * short)
    whole = whole_tiles_ratio(side=width, tile=tile) * whole_tiles_ratio(side=model.ffn, tile=tile)
    found: Column = 2.0 * rank_tokens / layout.tp * active_parameters * whole / reached
    return found
