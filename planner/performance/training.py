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
from planner.performance.adapters import overhead_ratio, training_flops_ratio
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
    gradient_exchange_s,
    weight_gather_s,
)
from planner.performance.memory import (
    expert_copies,
    rank_expert_parameters,
    rank_parameters,
    redone_fraction,
)
from planner.performance.training_layer import LayerForward, Rank, layer_forward, rank_of


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
    `adapter_parameters` of each layer above 0 are trained and everything else is frozen, next to which
    `adapter_overhead_ratio` of element-wise work on whole tensors and of host time is left. The head is
    computed once for each of `predicted_tokens`.
    Left out: data loading, evaluation, failures.

    Source: fit on SC'21 (2104.04473), 2205.05198, Megatron-Core, MegaScale, vTrain, llm-foundry,
    Megatron-Bridge and Llama 3 throughput; form, constants and errors in README.md of this folder.
    """
    _require_sense(model=model, run=run, layout=layout, chip=chip, software=software)
    rank = rank_of(model=model, run=run, layout=layout, chip=chip, software=software)
    return _whole_step(rank, _micro_batch(rank, layer_forward(rank)))


def _require_sense(
    *,
    model: TrainedTransformer,
    run: TrainingRun,
    layout: TrainingLayout,
    chip: TrainingChip,
    software: TrainingSoftware,
) -> None:
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
        adapter_overhead_ratio=software.adapter_overhead_ratio,
        state_space_flops_per_token=model.state_space_flops_per_token,
        layer_launch_s=software.layer_launch_s,
        grouped_half_tokens=software.tokens_half
        if chip.grouped_half_tokens is None
        else chip.grouped_half_tokens,
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


@dataclass(frozen=True, slots=True)
class _MicroBatch:
    """Seconds of one micro-batch on one stage, forward and backward; they add up to `total_s`."""

    matrix_s: Column
    attention_s: Column
    elementwise_s: Column
    tensor_parallel_s: Column
    expert_parallel_s: Column
    context_parallel_s: Column
    launch_s: Column
    weight_gather_s: Column
    head_s: Column
    total_s: Column


def _micro_batch(rank: Rank, forward: LayerForward) -> _MicroBatch:
    """Forward and backward of all layers of a stage, and its head; fused backward passes redo scores: 2.2."""
    model, run, layout, chip, software = rank.model, rank.run, rank.layout, rank.chip, rank.software
    matrix, attention, elementwise = forward.matrix_s, forward.attention_s, forward.elementwise_s
    exchange, sent, ring = forward.tensor_parallel_s, forward.expert_parallel_s, forward.context_parallel_s
    again = redone_fraction(recompute=layout.recompute)
    # Where attention is fused nothing but whole layers is redone next to whole layers.
    scores_again = np.where(
        layout.recompute > 1,
        np.where(layout.fused_attention > 0, again, 1.0),
        np.where(layout.recompute > 0, 1.0, 0.0),
    )
    adapted = bool(np.any(np.asarray(model.adapter_parameters) > 0))
    passes = training_flops_ratio(adapter_parameters=model.adapter_parameters)
    # Nobody reads the last product of a layer that is redone, so that a compiler may leave it out.
    unread = 0.0 if rank.mixture else model.hidden * model.ffn / rank.weights.common_parameters
    redone = again * (1.0 - unread * (1.0 - np.asarray(software.unread_redone_fraction)))
    matrix = matrix * (passes + redone) * rank.layers
    if adapted:
        adapter_s = 2.0 * rank.tokens * model.adapter_parameters / layout.tp / rank.matrix_flop_per_s
        matrix = matrix + adapter_s * (3.0 + again) * rank.layers
        # Software fuses adapters on whole tensors alone.
        elementwise = elementwise * np.where(np.asarray(layout.tp) > 1, 1.0, _overhead_ratio(rank))
    attention = attention * (3.2 + scores_again) * rank.layers
    elementwise = elementwise * (3.0 + again) * rank.layers
    exchange = exchange * (2.0 + again) * rank.layers
    sent = sent * (2.0 + again) * rank.layers
    # Backward sends keys and values again, and their gradients, on top of twice the attention.
    ring = ring * (3.0 + scores_again) * rank.layers
    launch = software.layer_launch_s * (2.0 + again) * rank.layers
    layer_values = (
        rank.weights.common_parameters / layout.tp + rank.weights.held_routed_parameters / layout.ep
    )
    gather = _exposed_gather_s(
        busy_s=matrix + attention + elementwise + exchange + sent + ring,
        gather_s=rank.layers
        * weight_gather_s(
            gathered_gb=VALUE_BYTES * layer_values / 1e9,
            accelerators=run.accelerators,
            links=rank.links,
            pair_link_fraction=chip.pair_link_fraction,
            fsdp_latency_s=software.fsdp_latency_s,
        ),
        # Frozen weights are gathered twice and have no gradients to scatter.
        rounds_at_full_sharding=passes,
        sharding=layout.sharding,
        micro_batches=rank.micro_batches,
        fsdp_exposed_fraction=software.fsdp_exposed_fraction,
    )
    exchange, sent, ring, gather = (one * software.exchange_factor for one in (exchange, sent, ring, gather))
    # The output layer stays in 16 bits where the layers multiply in 8.
    narrow = chip.attention_tflop_per_s / rank.narrow_tflop_per_s
    head_flop_per_s = rank.matrix_flop_per_s * np.minimum(1.0, narrow)
    scored = model.predicted_tokens * rank.tokens * model.vocabulary / layout.tp
    head = 2.0 * passes * scored * model.hidden / head_flop_per_s
    head = head + 8.0 * scored / rank.memory_bytes_per_s
    head = head * np.where(layout.pp > 1, 0.5, 1.0)  # the last stage holds it; half of it delays the others
    micro_batch_s = matrix + attention + elementwise + exchange + sent + ring + launch + gather + head
    return _MicroBatch(
        matrix, attention, elementwise, exchange, sent, ring, launch, gather, head, micro_batch_s
    )


def _whole_step(rank: Rank, each: _MicroBatch) -> StepTime:
    """All micro-batches, the bubble, what stages and copies send each other, the optimizer and the drag."""
    model, run, layout, chip, software = rank.model, rank.run, rank.layout, rank.chip, rank.software
    adapted = bool(np.any(np.asarray(model.adapter_parameters) > 0))
    steps_s = each.total_s * rank.micro_batches
    bubble = each.total_s * (layout.pp - 1.0) / layout.interleave
    sent_s = (
        VALUE_BYTES
        * rank.tokens
        * model.hidden
        / layout.tp
        / (chip.network_gb_per_s * 1e9 * software.network_efficiency_fraction)
    )
    sends = np.where(layout.pp > 1, 2.0, 0.0) * rank.micro_batches * layout.interleave
    shown = software.pipeline_exposed_fraction * software.exchange_factor
    transfer = sends * (sent_s + software.collective_latency_s) * shown
    summed = np.where(layout.sharding < 2, 1.0, 0.0)
    held = rank_parameters(
        layers=model.layers,
        layer_parameters=rank.weights.common_parameters,
        hidden=model.hidden,
        vocabulary=model.vocabulary,
        tp=layout.tp,
        pp=layout.pp,
    )
    fixed_s: Column = software.fixed_s
    if adapted:
        fixed_s = fixed_s * _overhead_ratio(rank)
        held = np.where(
            np.asarray(model.adapter_parameters) > 0, rank.layers * model.adapter_parameters / layout.tp, held
        )
    gradient = summed * gradient_exchange_s(
        exchanged_gb=4.0 * held / 1e9,
        ranks=rank.data_parallel * layout.cp,
        tp=layout.tp,
        links=rank.links,
        pair_link_fraction=chip.pair_link_fraction,
    )
    updated = held / np.where(layout.sharding >= 1, rank.data_parallel * layout.cp, 1.0)
    if rank.mixture:
        routed = rank_expert_parameters(
            layers=model.layers,
            routed_parameters=rank.weights.held_routed_parameters,
            pp=layout.pp,
            ep=layout.ep,
        )
        routed = routed * np.where(np.asarray(model.adapter_parameters) > 0, 0.0, 1.0)
        copies = expert_copies(accelerators=run.accelerators, pp=layout.pp, ep=layout.ep)
        gradient = gradient + summed * gradient_exchange_s(
            exchanged_gb=4.0 * routed / 1e9,
            ranks=copies,
            tp=layout.ep,
            links=rank.links,
            pair_link_fraction=chip.pair_link_fraction,
        )
        updated = updated + routed / np.where(layout.sharding >= 1, copies, 1.0)
    # At most half of the compute is backward work that gradients can hide behind.
    gradient = gradient - np.minimum(software.data_parallel_hidden_fraction * gradient, 0.5 * steps_s)
    gradient = gradient * software.exchange_factor
    # 18 bytes: Adam reads and writes weights, moments and gradients of its share once.
    optimizer = 18.0 * updated / rank.memory_bytes_per_s
    before_drag = steps_s + bubble + transfer + gradient + optimizer + fixed_s
    drag = before_drag * software.scale_drag_ratio * np.maximum(0.0, np.log2(run.accelerators / 8.0))
    return StepTime(
        matrix_s=each.matrix_s * rank.micro_batches,
        attention_s=each.attention_s * rank.micro_batches,
        elementwise_s=each.elementwise_s * rank.micro_batches,
        tensor_parallel_s=each.tensor_parallel_s * rank.micro_batches,
        expert_parallel_s=each.expert_parallel_s * rank.micro_batches,
        context_parallel_s=each.context_parallel_s * rank.micro_batches,
        launch_s=each.launch_s * rank.micro_batches,
        weight_gather_s=each.weight_gather_s * rank.micro_batches,
        head_s=each.head_s * rank.micro_batches,
        pipeline_bubble_s=bubble,
        pipeline_transfer_s=transfer,
        data_parallel_s=gradient,
        optimizer_s=optimizer,
        fixed_s=fixed_s,
        scale_drag_s=drag,
        total_s=before_drag + drag,
    )


def _overhead_ratio(rank: Rank) -> Column:
    return overhead_ratio(
        adapter_parameters=rank.model.adapter_parameters,
        fused_ratio=rank.software.adapter_overhead_ratio,
    )


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
