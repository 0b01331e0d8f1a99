"""Time of a training step and of a scored batch, from the times of their parts."""

from dataclasses import dataclass

import numpy as np

from planner.performance._checks import require_not_negative, require_positive
from planner.performance.bundles import Links, RankingBytes, RankingChip, RankingModel, named
from planner.performance.columns import Column
from planner.performance.communication import gradient_exchange_s
from planner.performance.recommendation.parts import all_to_all_s, dense_forward_s, embedding_forward_s


@dataclass(frozen=True, slots=True)
class RecommendationStep:
    """Where the time of one step goes. The terms before `total_s` add up to it; the last two do not."""

    dense_s: Column
    embedding_s: Column
    exposed_communication_s: Column
    optimizer_s: Column
    fixed_s: Column
    total_s: Column
    all_to_all_s: Column
    all_reduce_s: Column


def scheduled_step(
    *,
    bottom_forward_s: Column,
    top_forward_s: Column,
    embedding_forward_s: Column,
    embedding_backward_s: Column,
    all_to_all_s: Column,
    all_reduce_s: Column,
    optimizer_s: Column,
    fixed_s: Column,
) -> RecommendationStep:
    """One synchronous training step from the times of its parts.

    F = emb_f + max(a2a, bot) + top
    R = max(2 top + max(a2a, 2 bot) + emb_b,  a2a + ar)
    T = F + R + opt + t_fix

    Only layers below the interaction can run while vectors travel. Lookups share the accelerator with the
    dense layers, so they never overlap; gradients share the network with the vectors and overlap with the
    rest of the backward pass. Without layers above the interaction this is close to the usual
    max(dense, all-to-all) + embedding + exposed all-reduce. Prefetching the next batch's lookups is left
    out.

    Source: order of operations in Mudigere et al., arXiv 2104.05158, and Hsia et al., arXiv 2310.02784.
    """
    require_not_negative(
        bottom_forward_s=bottom_forward_s,
        top_forward_s=top_forward_s,
        embedding_forward_s=embedding_forward_s,
        embedding_backward_s=embedding_backward_s,
        all_to_all_s=all_to_all_s,
        all_reduce_s=all_reduce_s,
        optimizer_s=optimizer_s,
        fixed_s=fixed_s,
    )
    dense = 3.0 * (bottom_forward_s + top_forward_s)
    embedding = embedding_forward_s + embedding_backward_s
    forward = embedding_forward_s + np.maximum(all_to_all_s, bottom_forward_s) + top_forward_s
    chain = 2.0 * top_forward_s + np.maximum(all_to_all_s, 2.0 * bottom_forward_s) + embedding_backward_s
    passes = forward + np.maximum(chain, all_to_all_s + all_reduce_s)
    return RecommendationStep(
        dense_s=dense,
        embedding_s=embedding,
        exposed_communication_s=passes - dense - embedding,
        optimizer_s=optimizer_s,
        fixed_s=fixed_s,
        total_s=passes + optimizer_s + fixed_s,
        all_to_all_s=2.0 * all_to_all_s,
        all_reduce_s=all_reduce_s,
    )


def recommendation_training_step(
    *,
    global_batch: Column,
    accelerators: Column,
    model: RankingModel,
    kept: RankingBytes,
    chip: RankingChip,
    links: Links,
    backward_traffic_ratio: Column,
    imbalance_ratio: Column,
    collective_latency_s: Column,
    fixed_s: Column,
    partner_latency_s: Column = 0.0,
) -> RecommendationStep:
    """Time of one training step on n accelerators, tables cut across them, dense layers copied.

    b = B / n,  emb_b = u emb_f,  ar = hierarchical all-reduce of N_dense gradients
    opt = k N_dense / (M e_m),  T as scheduled

    Element-wise work belongs to the layers above the interaction. u is what the update moves over what
    the lookup reads: 2 where rows are read and written and their state is one number a row, 4 with a state
    for every value. t_fix is what starting the kernels of a step costs. Reading the training data and
    stragglers are left out.

    Source: Mudigere et al., ISCA 2022, arXiv 2104.05158; Hsia et al., ISCA 2024, arXiv 2310.02784.
    """
    require_positive(global_batch=global_batch, accelerators=accelerators)
    require_not_negative(
        dense_parameters=model.dense_parameters,
        backward_traffic_ratio=backward_traffic_ratio,
        gradient_bytes=kept.gradient_bytes,
        optimizer_bytes=kept.optimizer_bytes,
    )
    samples = global_batch / accelerators
    multiplied_on = {
        "value_bytes": kept.value_bytes,
        "peak_tflop_per_s": chip.peak_tflop_per_s,
        "memory_gb_per_s": chip.memory_gb_per_s,
        "matrix_efficiency_fraction": chip.matrix_efficiency_fraction,
        "memory_efficiency_fraction": chip.memory_efficiency_fraction,
    }
    exchanged_over = named(links)
    embedding = embedding_forward_s(
        samples=samples,
        lookups=model.lookups,
        embedding_dim=model.embedding_dim,
        table_bytes=kept.table_bytes,
        imbalance_ratio=imbalance_ratio,
        memory_gb_per_s=chip.memory_gb_per_s,
        memory_efficiency_fraction=chip.memory_efficiency_fraction,
    )
    # An all-reduce sends what a reduce-scatter and an all-gather send: the gradients twice.
    reduced = gradient_exchange_s(
        exchanged_gb=2.0 * model.dense_parameters * kept.gradient_bytes / 1e9,
        ranks=accelerators,
        tp=1.0,
        links=links,
    )
    latency: Column = np.where(np.asarray(accelerators) > 1, collective_latency_s, 0.0)
    return scheduled_step(
        bottom_forward_s=dense_forward_s(
            samples=samples,
            multiplications=model.bottom_multiplications,
            elementwise_values=0.0,
            **multiplied_on,
        ),
        top_forward_s=dense_forward_s(
            samples=samples,
            multiplications=model.top_multiplications,
            elementwise_values=model.elementwise_values,
            **multiplied_on,
        ),
        embedding_forward_s=embedding,
        embedding_backward_s=backward_traffic_ratio * embedding,
        all_to_all_s=all_to_all_s(
            samples=samples,
            tables=model.tables,
            embedding_dim=model.embedding_dim,
            exchange_bytes=kept.value_bytes,
            accelerators=accelerators,
            collective_latency_s=collective_latency_s,
            partner_latency_s=partner_latency_s,
            **exchanged_over,
        ),
        all_reduce_s=reduced + latency,
        optimizer_s=kept.optimizer_bytes
        * model.dense_parameters
        / (chip.memory_gb_per_s * 1e9 * chip.memory_efficiency_fraction),
        fixed_s=fixed_s,
    )


def recommendation_batch_s(
    *,
    bottom_forward_s: Column,
    top_forward_s: Column,
    embedding_forward_s: Column,
    all_to_all_s: Column,
) -> Column:
    """Time to score one batch of user-item pairs.

    T = emb + max(a2a, bot) + top

    The all-to-all is zero where every accelerator holds all tables.

    Source: the forward pass of `scheduled_step`.
    """
    require_not_negative(
        bottom_forward_s=bottom_forward_s,
        top_forward_s=top_forward_s,
        embedding_forward_s=embedding_forward_s,
        all_to_all_s=all_to_all_s,
    )
    return embedding_forward_s + np.maximum(all_to_all_s, bottom_forward_s) + top_forward_s
