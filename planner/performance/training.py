"""Time of one training step of a transformer on a given layout, term by term.

One closed form replaces a trace simulation. Its constants were fitted together on published
throughput (see README.md): they are an effective set, not separate physical facts, so all of them are
arguments. Layout codes (recompute, sharding) are explained in `memory.py`.
"""

from dataclasses import dataclass

import numpy as np

from planner.performance._checks import (
    require_not_negative,
    require_open_share,
    require_positive,
    require_share,
)
from planner.performance.adapters import training_flops_ratio
from planner.performance.bundles import (
    TrainedTransformer,
    TrainingChip,
    TrainingLayout,
    TrainingRun,
    TrainingSoftware,
)
from planner.performance.columns import Column
from planner.performance.communication import (
    VALUE_BYTES,
    context_exchange_s,
    context_imbalance_ratio,
    expert_exchange_s,
    gradient_exchange_s,
    tensor_exchange_s,
    weight_gather_s,
)
from planner.performance.experts import (
    expert_activation_ratio,
    expert_tokens,
    layer_weights,
    whole_tiles_ratio,
)
from planner.performance.memory import (
    data_parallel_ranks,
    expert_copies,
    rank_expert_parameters,
    rank_parameters,
    redone_fraction,
    stage_layers,
)


@dataclass(frozen=True, slots=True)
class StepTime:
    """Where the time of one training step goes. The terms before `total_s` add up to it."""

    matrix_s: Column
    attention_s: Column
    elementwise_s: Column
    tensor_parallel_s: Column
    expert_parallel_s: Column
    context_parallel_s: Column
    launch_s: Column
    weight_gather_s: Column
    head_s: Column
    pipeline_bubble_s: Column
    pipeline_transfer_s: Column
    data_parallel_s: Column
    optimizer_s: Column
    fixed_s: Column
    scale_drag_s: Column
    total_s: Column


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


def training_step_s(
    *,
    model: TrainedTransformer,
    run: TrainingRun,
    layout: TrainingLayout,
    chip: TrainingChip,
    software: TrainingSoftware,
) -> StepTime:
    """Time of one optimizer step, by cause.

    T = (t_mb (m + (p-1)/v) + transfer + DP + opt + t_fix) (1 + k_s log2(n/8)),  t_mb = layer L/p + head

    layer = forward + backward of one micro-batch: t_gemm, t_att, t_el, t_tp forward; 2 t_gemm, 2.2 t_att,
    2 t_el, t_tp backward, and what is recomputed. `matrix_tflop_per_s` is the dense peak of the training
    precision, `precision_factor` the share of it that kernels reach over the share that 16-bit ones do (1
    for bf16), `narrow_fraction` of the layers' multiplications run in it and the others in 16 bits, as in
    published recipes; `attention_tflop_per_s` is the bf16 peak. `layer_launch_s` is what starting the kernels
    of a layer costs in each direction where nothing hides it.

    Other models than dense causal ones, see `experts.py`, `state_space.py`, `vision.py`, `adapters.py`:
    `causal` 0 attends both ways; for each layer `attention_fraction` attend, next to those that keep a state
    (`mixer_parameters` and `state_space_flops_per_token` are then means over all layers); experts add
    k F to the multiplications, slowed by the busiest one (`load_imbalance_factor`), and two exchanges,
    over the network at `expert_network_efficiency_fraction`, that of the others where none is given;
    their grouped multiplications reach no more than `grouped_efficiency_fraction` of the peak, and half of
    their speed at `grouped_half_tokens` an expert; schedules
    that interleave stages hide more of the exchange (`expert_exposed_interleaved_fraction`);
    `adapter_parameters` of each layer above 0 are trained and everything else is frozen. The head is computed
    once for each of `predicted_tokens`.
    Left out: data loading, evaluation, failures.

    Source: fit on SC'21 (2104.04473), 2205.05198, Megatron-Core, MegaScale, vTrain, llm-foundry,
    Megatron-Bridge and Llama 3 throughput; form, constants and errors in README.md of this folder.
    """
    half_tokens = software.tokens_half if chip.grouped_half_tokens is None else chip.grouped_half_tokens
    require_open_share(
        matrix_efficiency_fraction=chip.matrix_efficiency_fraction,
        link_efficiency_fraction=software.link_efficiency_fraction,
        network_efficiency_fraction=software.network_efficiency_fraction,
        memory_efficiency_fraction=software.memory_efficiency_fraction,
    )
    require_share(
        fsdp_exposed_fraction=software.fsdp_exposed_fraction,
        pipeline_exposed_fraction=software.pipeline_exposed_fraction,
        data_parallel_hidden_fraction=software.data_parallel_hidden_fraction,
        attention_fraction=model.attention_fraction,
        causal=model.causal,
        narrow_fraction=chip.narrow_fraction,
        context_exposed_fraction=software.context_exposed_fraction,
        context_imbalance_fraction=software.context_imbalance_fraction,
        unread_redone_fraction=software.unread_redone_fraction,
        grouped_efficiency_fraction=chip.grouped_efficiency_fraction,
    )
    require_not_negative(
        adapter_parameters=model.adapter_parameters,
        exchange_factor=software.exchange_factor,
        state_space_flops_per_token=model.state_space_flops_per_token,
        layer_launch_s=software.layer_launch_s,
        grouped_half_tokens=half_tokens,
    )
    require_positive(
        layers=model.layers,
        hidden=model.hidden,
        sequence_tokens=run.sequence_tokens,
        accelerators=run.accelerators,
        global_batch=run.global_batch,
        tp=layout.tp,
        pp=layout.pp,
        interleave=layout.interleave,
        cp=layout.cp,
        micro_batch=layout.micro_batch,
        matrix_tflop_per_s=chip.matrix_tflop_per_s,
        memory_gb_per_s=chip.memory_gb_per_s,
        link_gb_per_s=chip.link_gb_per_s,
        network_gb_per_s=chip.network_gb_per_s,
        link_domain=chip.link_domain,
        stack_factor=software.stack_factor,
        precision_factor=chip.precision_factor,
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
    mixture = bool(np.any(np.asarray(model.experts) > 0))
    links = {
        "link_domain": chip.link_domain,
        "link_gb_per_s": chip.link_gb_per_s,
        "network_gb_per_s": chip.network_gb_per_s,
        "link_efficiency_fraction": software.link_efficiency_fraction,
        "network_efficiency_fraction": software.network_efficiency_fraction,
    }
    data_parallel = data_parallel_ranks(
        accelerators=run.accelerators, tp=layout.tp, pp=layout.pp, cp=layout.cp
    )
    micro_batches = run.global_batch / (data_parallel * layout.micro_batch)
    if np.any(micro_batches < 1.0 - 1e-9) or np.any(data_parallel < 1.0 - 1e-9):
        raise ValueError(
            f"global_batch must hold a micro-batch for each of n/(t p c) >= 1 copies, got {run.global_batch} "
            f"for {data_parallel} copies and micro_batch {layout.micro_batch}"
        )
    rank_tokens = layout.micro_batch * run.sequence_tokens / layout.cp
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
        rank_tokens=rank_tokens,
        hidden_half_width=software.hidden_half_width,
        tokens_half=software.tokens_half,
    )

    # One layer, one micro-batch, forward.
    matrix = 2.0 * rank_tokens * weights.common_parameters / layout.tp / matrix_flop_per_s
    sent: Column = 0.0
    if mixture:
        exposed: Column = software.expert_exposed_fraction
        if software.expert_exposed_interleaved_fraction is not None:
            exposed = np.where(layout.interleave > 1, software.expert_exposed_interleaved_fraction, exposed)
        matrix = matrix + software.load_imbalance_factor * _experts_s(
            model=model,
            layout=layout,
            rank_tokens=rank_tokens,
            active_parameters=weights.active_routed_parameters,
            tile=chip.grouped_tile,
            flop_per_s=dense_flop_per_s,
            hidden_half_width=software.hidden_half_width,
            tokens_half=half_tokens,
            most_flop_per_s=chip.matrix_tflop_per_s
            * 1e12
            * software.stack_factor
            * chip.grouped_efficiency_fraction,
        )
        sent = software.load_imbalance_factor * expert_exchange_s(
            rank_tokens=rank_tokens / layout.tp,
            hidden=model.hidden if model.expert_hidden is None else model.expert_hidden,
            experts_per_token=model.experts_per_token,
            ep=layout.ep,
            **links
            | {
                "network_efficiency_fraction": software.network_efficiency_fraction
                if software.expert_network_efficiency_fraction is None
                else software.expert_network_efficiency_fraction
            },
            collective_latency_s=software.collective_latency_s,
            exposed_fraction=exposed,
            most_domains_per_token=model.most_domains_per_token,
        )
    attention = model.attention_fraction * attention_forward_s(
        rank_tokens=rank_tokens,
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
        scanned = rank_tokens * model.state_space_flops_per_token / layout.tp
        attention = attention + scanned / (
            chip.attention_tflop_per_s * 1e12 * software.attention_efficiency_fraction
        )
    attention = attention * context_imbalance_ratio(
        cp=layout.cp, causal=model.causal, imbalance_fraction=software.context_imbalance_fraction
    )
    split = np.where(layout.sequence_parallel > 0, 1.0 / layout.tp, 2.0 / (1.0 + layout.tp))
    elementwise = (
        software.elementwise_bytes_per_value * rank_tokens * model.hidden * split / memory_bytes_per_s
    )
    if mixture:
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
        rank_tokens=rank_tokens,
        key_width=model.kv_heads * (model.hidden / model.heads if model.head_dim is None else model.head_dim),
        tp=layout.tp,
        cp=layout.cp,
        **links,
        collective_latency_s=software.collective_latency_s,
        attention_s=attention,
        exposed_fraction=software.context_exposed_fraction,
    )
    exchange = tensor_exchange_s(
        rank_tokens=rank_tokens,
        hidden=model.hidden,
        tp=layout.tp,
        **links,
        collective_latency_s=software.collective_latency_s,
        tensor_exposed_fraction=software.tensor_exposed_fraction,
        near_hop_s=software.near_hop_s,
        far_hop_s=software.far_hop_s,
    )

    # Forward and backward of the whole stage, one micro-batch. 2.2: a fused backward recomputes scores.
    # Nobody reads the last product of a layer that is redone, so that a compiler may leave it out.
    again = redone_fraction(recompute=layout.recompute)
    # Where attention is fused nothing but whole layers is redone next to whole layers.
    scores_again = np.where(
        layout.recompute > 1,
        np.where(layout.fused_attention > 0, again, 1.0),
        np.where(layout.recompute > 0, 1.0, 0.0),
    )
    adapted = bool(np.any(np.asarray(model.adapter_parameters) > 0))
    passes = training_flops_ratio(adapter_parameters=model.adapter_parameters)
    unread = 0.0 if mixture else model.hidden * model.ffn / weights.common_parameters
    redone = again * (1.0 - unread * (1.0 - np.asarray(software.unread_redone_fraction)))
    matrix = matrix * (passes + redone) * deep
    if adapted:
        adapter_s = 2.0 * rank_tokens * model.adapter_parameters / layout.tp / matrix_flop_per_s
        matrix = matrix + adapter_s * (3.0 + again) * deep
    attention = attention * (3.2 + scores_again) * deep
    elementwise = elementwise * (3.0 + again) * deep
    exchange = exchange * (2.0 + again) * deep
    sent = sent * (2.0 + again) * deep
    # Backward sends keys and values again, and their gradients, on top of twice the attention.
    ring = ring * (3.0 + scores_again) * deep
    launch = software.layer_launch_s * (2.0 + again) * deep
    layer_values = weights.common_parameters / layout.tp + weights.held_routed_parameters / layout.ep
    gather = _exposed_gather_s(
        busy_s=matrix + attention + elementwise + exchange + sent + ring,
        gather_s=deep
        * weight_gather_s(
            gathered_gb=VALUE_BYTES * layer_values / 1e9,
            accelerators=run.accelerators,
            **links,
            fsdp_latency_s=software.fsdp_latency_s,
        ),
        # Frozen weights are gathered twice and have no gradients to scatter.
        rounds_at_full_sharding=passes,
        sharding=layout.sharding,
        micro_batches=micro_batches,
        fsdp_exposed_fraction=software.fsdp_exposed_fraction,
    )
    exchange, sent, ring, gather = (one * software.exchange_factor for one in (exchange, sent, ring, gather))
    # The output layer stays in 16 bits where the layers multiply in 8.
    narrow = chip.attention_tflop_per_s / narrow_tflop_per_s
    head_flop_per_s = matrix_flop_per_s * np.minimum(1.0, narrow)
    scored = model.predicted_tokens * rank_tokens * model.vocabulary / layout.tp
    head = 2.0 * passes * scored * model.hidden / head_flop_per_s
    head = head + 8.0 * scored / memory_bytes_per_s
    head = head * np.where(layout.pp > 1, 0.5, 1.0)  # the last stage holds it; half of it delays the others
    micro_batch_s = matrix + attention + elementwise + exchange + sent + ring + launch + gather + head

    # The whole step.
    steps_s = micro_batch_s * micro_batches
    bubble = micro_batch_s * (layout.pp - 1.0) / layout.interleave
    sent_s = (
        VALUE_BYTES
        * rank_tokens
        * model.hidden
        / layout.tp
        / (chip.network_gb_per_s * 1e9 * software.network_efficiency_fraction)
    )
    sends = np.where(layout.pp > 1, 2.0, 0.0) * micro_batches * layout.interleave
    shown = software.pipeline_exposed_fraction * software.exchange_factor
    transfer = sends * (sent_s + software.collective_latency_s) * shown
    summed = np.where(layout.sharding < 2, 1.0, 0.0)
    held = rank_parameters(
        layers=model.layers,
        layer_parameters=weights.common_parameters,
        hidden=model.hidden,
        vocabulary=model.vocabulary,
        tp=layout.tp,
        pp=layout.pp,
    )
    if adapted:
        held = np.where(
            np.asarray(model.adapter_parameters) > 0, deep * model.adapter_parameters / layout.tp, held
        )
    gradient = summed * gradient_exchange_s(
        exchanged_gb=4.0 * held / 1e9, ranks=data_parallel * layout.cp, tp=layout.tp, **links
    )
    updated = held / np.where(layout.sharding >= 1, data_parallel * layout.cp, 1.0)
    if mixture:
        routed = rank_expert_parameters(
            layers=model.layers, routed_parameters=weights.held_routed_parameters, pp=layout.pp, ep=layout.ep
        )
        routed = routed * np.where(np.asarray(model.adapter_parameters) > 0, 0.0, 1.0)
        copies = expert_copies(accelerators=run.accelerators, pp=layout.pp, ep=layout.ep)
        gradient = gradient + summed * gradient_exchange_s(
            exchanged_gb=4.0 * routed / 1e9, ranks=copies, tp=layout.ep, **links
        )
        updated = updated + routed / np.where(layout.sharding >= 1, copies, 1.0)
    # At most half of the compute is backward work that gradients can hide behind.
    gradient = gradient - np.minimum(software.data_parallel_hidden_fraction * gradient, 0.5 * steps_s)
    gradient = gradient * software.exchange_factor
    # 18 bytes: Adam reads and writes weights, moments and gradients of its share once.
    optimizer = 18.0 * updated / memory_bytes_per_s
    before_drag = steps_s + bubble + transfer + gradient + optimizer + software.fixed_s
    drag = before_drag * software.scale_drag_ratio * np.maximum(0.0, np.log2(run.accelerators / 8.0))
    return StepTime(
        matrix_s=matrix * micro_batches,
        attention_s=attention * micro_batches,
        elementwise_s=elementwise * micro_batches,
        tensor_parallel_s=exchange * micro_batches,
        expert_parallel_s=sent * micro_batches,
        context_parallel_s=ring * micro_batches,
        launch_s=launch * micro_batches,
        weight_gather_s=gather * micro_batches,
        head_s=head * micro_batches,
        pipeline_bubble_s=bubble,
        pipeline_transfer_s=transfer,
        data_parallel_s=gradient,
        optimizer_s=optimizer,
        fixed_s=software.fixed_s,
        scale_drag_s=drag,
        total_s=before_drag + drag,
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


def _exposed_gather_s(
    *,
    busy_s: Column,
    gather_s: Column,
    rounds_at_full_sharding: Column,
    sharding: Column,
    micro_batches: Column,
    fsdp_exposed_fraction: Column,
) -> Column:
    """What gathering weights adds: max(busy, k AG) + x_f min(busy, k AG) - busy; k = 3, ZeRO-2: 2/m."""
    below = np.where(sharding >= 2, 2.0 / micro_batches, 0.0)
    rounds = np.where(sharding >= 3, rounds_at_full_sharding, below)
    moved = rounds * gather_s
    longer: Column = np.maximum(busy_s, moved) + fsdp_exposed_fraction * np.minimum(busy_s, moved) - busy_s
    return longer
