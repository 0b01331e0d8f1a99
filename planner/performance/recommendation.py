"""Recommendation models: time of a training step and of an inference batch, memory, ranking stages.

The dense layers are copied to every accelerator, the embedding tables are cut across them. A sample's
pooled vectors therefore travel twice (all-to-all, forward and backward) and the dense gradients once
(all-reduce). Bandwidths are one way and per accelerator.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from planner.performance._checks import (
    require_not_negative,
    require_open_share,
    require_positive,
    require_share,
)
from planner.performance.communication import gradient_exchange_s
from planner.performance.queueing import pool_servers

Column = float | NDArray[np.float64]


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


def mlp_multiplications(*, widths: Sequence[float]) -> float:
    """Multiplications of one sample through fully connected layers; also their weights without biases.

    M = sum_i w_i w_(i+1)

    Source: Naumov et al., "DLRM", arXiv 1906.00091.
    """
    if len(widths) < 2:
        return 0.0
    require_positive(widths=np.asarray(widths, dtype=np.float64))
    return float(sum(wide * narrow for wide, narrow in pairwise(widths)))


def dense_forward_s(
    *,
    samples: Column,
    multiplications: Column,
    elementwise_values: Column,
    value_bytes: Column,
    peak_tflop_per_s: Column,
    matrix_efficiency_fraction: Column,
    memory_gb_per_s: Column,
    memory_efficiency_fraction: Column,
) -> Column:
    """Time of the dense layers, forward, for the samples of one accelerator.

    t = b [2 M / (P e) + V B / (N e_m)]

    V are values per sample that element-wise work (concatenation, feature crossing) reads and writes;
    biases and activations ride on the multiplications. e is the chip's matrix efficiency times
    `shape_efficiency_fraction` at the mean width of the layers.

    Source: Hsia et al., "MAD-Max", ISCA 2024, arXiv 2310.02784 (e 0.705 and e_m 0.836 on A100).
    """
    require_not_negative(
        samples=samples, multiplications=multiplications, elementwise_values=elementwise_values
    )
    require_positive(
        value_bytes=value_bytes, peak_tflop_per_s=peak_tflop_per_s, memory_gb_per_s=memory_gb_per_s
    )
    require_open_share(
        matrix_efficiency_fraction=matrix_efficiency_fraction,
        memory_efficiency_fraction=memory_efficiency_fraction,
    )
    matrix_s = 2.0 * multiplications / (peak_tflop_per_s * 1e12 * matrix_efficiency_fraction)
    moved_s = elementwise_values * value_bytes / (memory_gb_per_s * 1e9 * memory_efficiency_fraction)
    return samples * (matrix_s + moved_s)


def embedding_forward_s(
    *,
    samples: Column,
    lookups: Column,
    embedding_dim: Column,
    table_bytes: Column,
    imbalance_ratio: Column,
    memory_gb_per_s: Column,
    memory_efficiency_fraction: Column,
) -> Column:
    """Time to read the rows that one accelerator's share of the lookups touches.

    t = b k D B i / (N e_m)

    `lookups` k are rows read per sample over all tables (tables times pooling); i is the busiest
    accelerator's load over the mean. Rows found in a cache are left out, so hot tables come out slow.

    Source: Hsia et al., "MAD-Max", ISCA 2024, arXiv 2310.02784.
    """
    require_not_negative(samples=samples, lookups=lookups)
    require_positive(embedding_dim=embedding_dim, table_bytes=table_bytes, memory_gb_per_s=memory_gb_per_s)
    require_open_share(memory_efficiency_fraction=memory_efficiency_fraction)
    if np.any(np.asarray(imbalance_ratio) < 1):
        raise ValueError(f"imbalance_ratio is busiest over mean and at least 1, got {imbalance_ratio}")
    read = samples * lookups * embedding_dim * table_bytes * imbalance_ratio
    return read / (memory_gb_per_s * 1e9 * memory_efficiency_fraction)


def all_to_all_s(
    *,
    samples: Column,
    tables: Column,
    embedding_dim: Column,
    exchange_bytes: Column,
    gpus: Column,
    link_domain: Column,
    link_gb_per_s: Column,
    network_gb_per_s: Column,
    link_efficiency_fraction: Column,
    network_efficiency_fraction: Column,
    collective_latency_s: Column,
) -> Column:
    """Time to bring the pooled vectors of all tables to the accelerator that holds the sample.

    t = b T D B max[(r-1)/n / (N_l e_l), (n-r)/n / (N_i e_i)] + latency,  r = min(domain, n);  0 where n = 1

    One way; the gradients travel back in the same time. Fast links and network work side by side. The
    exchange of the row numbers themselves is left out: readers of the data can place them right away.

    Source: Mudigere et al., ISCA 2022, arXiv 2104.05158 (pooled vectors in 16 bits); volumes as in NCCL.
    """
    require_not_negative(samples=samples, tables=tables, collective_latency_s=collective_latency_s)
    require_positive(
        embedding_dim=embedding_dim, exchange_bytes=exchange_bytes, gpus=gpus, link_domain=link_domain,
        link_gb_per_s=link_gb_per_s, network_gb_per_s=network_gb_per_s,
    )  # fmt: skip
    require_open_share(
        link_efficiency_fraction=link_efficiency_fraction,
        network_efficiency_fraction=network_efficiency_fraction,
    )
    sent_gb = samples * tables * embedding_dim * exchange_bytes / 1e9
    near = np.minimum(link_domain, gpus)
    near_s = (near - 1.0) / gpus / (link_gb_per_s * link_efficiency_fraction)
    far_s = (gpus - near) / gpus / (network_gb_per_s * network_efficiency_fraction)
    moved_s = sent_gb * np.maximum(near_s, far_s) + collective_latency_s
    result: Column = np.where(np.asarray(gpus) > 1, moved_s, 0.0)
    return result


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
        bottom_forward_s=bottom_forward_s, top_forward_s=top_forward_s,
        embedding_forward_s=embedding_forward_s, embedding_backward_s=embedding_backward_s,
        all_to_all_s=all_to_all_s, all_reduce_s=all_reduce_s, optimizer_s=optimizer_s, fixed_s=fixed_s,
    )  # fmt: skip
    dense = 3.0 * (bottom_forward_s + top_forward_s)
    embedding = embedding_forward_s + embedding_backward_s
    forward = embedding_forward_s + np.maximum(all_to_all_s, bottom_forward_s) + top_forward_s
    chain = 2.0 * top_forward_s + np.maximum(all_to_all_s, 2.0 * bottom_forward_s) + embedding_backward_s
    passes = forward + np.maximum(chain, all_to_all_s + all_reduce_s)
    return RecommendationStep(
        dense_s=dense, embedding_s=embedding, exposed_communication_s=passes - dense - embedding,
        optimizer_s=optimizer_s, fixed_s=fixed_s, total_s=passes + optimizer_s + fixed_s,
        all_to_all_s=2.0 * all_to_all_s, all_reduce_s=all_reduce_s,
    )  # fmt: skip


def recommendation_training_step(
    *,
    global_batch: Column,
    gpus: Column,
    bottom_multiplications: Column,
    top_multiplications: Column,
    dense_parameters: Column,
    elementwise_values: Column,
    tables: Column,
    lookups: Column,
    embedding_dim: Column,
    table_bytes: Column,
    value_bytes: Column,
    gradient_bytes: Column,
    optimizer_bytes: Column,
    backward_traffic_ratio: Column,
    imbalance_ratio: Column,
    peak_tflop_per_s: Column,
    memory_gb_per_s: Column,
    link_domain: Column,
    link_gb_per_s: Column,
    network_gb_per_s: Column,
    matrix_efficiency_fraction: Column,
    memory_efficiency_fraction: Column,
    link_efficiency_fraction: Column,
    network_efficiency_fraction: Column,
    collective_latency_s: Column,
    fixed_s: Column,
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
    require_positive(global_batch=global_batch, gpus=gpus)
    require_not_negative(
        dense_parameters=dense_parameters, backward_traffic_ratio=backward_traffic_ratio,
        gradient_bytes=gradient_bytes, optimizer_bytes=optimizer_bytes,
    )  # fmt: skip
    samples = global_batch / gpus
    chip = {
        "value_bytes": value_bytes, "peak_tflop_per_s": peak_tflop_per_s, "memory_gb_per_s": memory_gb_per_s,
        "matrix_efficiency_fraction": matrix_efficiency_fraction,
        "memory_efficiency_fraction": memory_efficiency_fraction,
    }  # fmt: skip
    links = {
        "link_domain": link_domain, "link_gb_per_s": link_gb_per_s, "network_gb_per_s": network_gb_per_s,
        "link_efficiency_fraction": link_efficiency_fraction,
        "network_efficiency_fraction": network_efficiency_fraction,
    }  # fmt: skip
    embedding = embedding_forward_s(
        samples=samples, lookups=lookups, embedding_dim=embedding_dim, table_bytes=table_bytes,
        imbalance_ratio=imbalance_ratio, memory_gb_per_s=memory_gb_per_s,
        memory_efficiency_fraction=memory_efficiency_fraction,
    )  # fmt: skip
    # An all-reduce sends what a reduce-scatter and an all-gather send: the gradients twice.
    reduced = gradient_exchange_s(
        exchanged_gb=2.0 * dense_parameters * gradient_bytes / 1e9, ranks=gpus, tp=1.0, **links
    )
    latency: Column = np.where(np.asarray(gpus) > 1, collective_latency_s, 0.0)
    return scheduled_step(
        bottom_forward_s=dense_forward_s(
            samples=samples, multiplications=bottom_multiplications, elementwise_values=0.0, **chip
        ),
        top_forward_s=dense_forward_s(
            samples=samples, multiplications=top_multiplications, elementwise_values=elementwise_values,
            **chip,
        ),
        embedding_forward_s=embedding,
        embedding_backward_s=backward_traffic_ratio * embedding,
        all_to_all_s=all_to_all_s(
            samples=samples, tables=tables, embedding_dim=embedding_dim, exchange_bytes=value_bytes,
            gpus=gpus, collective_latency_s=collective_latency_s, **links,
        ),
        all_reduce_s=reduced + latency,
        optimizer_s=optimizer_bytes * dense_parameters / (memory_gb_per_s * 1e9 * memory_efficiency_fraction),
        fixed_s=fixed_s,
    )  # fmt: skip


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
        bottom_forward_s=bottom_forward_s, top_forward_s=top_forward_s,
        embedding_forward_s=embedding_forward_s, all_to_all_s=all_to_all_s,
    )  # fmt: skip
    return embedding_forward_s + np.maximum(all_to_all_s, bottom_forward_s) + top_forward_s


def recommendation_memory_gb(
    *,
    embedding_rows: Column,
    embedding_dim: Column,
    table_bytes: Column,
    row_state_bytes: Column,
    dense_parameters: Column,
    dense_state_bytes: Column,
    samples: Column,
    sample_values: Column,
    value_bytes: Column,
    gpus: Column,
) -> Column:
    """Memory of one accelerator: its part of the tables, all dense layers, activations of its samples.

    m = R (D B + s) / n + N_dense s_dense + b V B

    Tables can be cut anywhere, so the parts are even. `row_state_bytes` is the optimizer's state of a
    row (4 with one number a row, 0 in inference); V holds every kept value of a sample.

    Source: Naumov et al., arXiv 1906.00091; Mudigere et al., arXiv 2104.05158.
    """
    require_positive(gpus=gpus, embedding_dim=embedding_dim, table_bytes=table_bytes)
    require_not_negative(
        embedding_rows=embedding_rows, row_state_bytes=row_state_bytes, dense_parameters=dense_parameters,
        dense_state_bytes=dense_state_bytes, samples=samples, sample_values=sample_values,
        value_bytes=value_bytes,
    )  # fmt: skip
    tables = embedding_rows * (embedding_dim * table_bytes + row_state_bytes) / gpus
    return (tables + dense_parameters * dense_state_bytes + samples * sample_values * value_bytes) / 1e9


def table_devices(*, embedding_parameters: Column, table_bytes: Column, memory_gb: Column) -> Column:
    """Fewest accelerators whose memory holds the tables, by capacity alone.

    n = ceil(N B / m)

    Source: definition; tables that may not be cut need more.
    """
    require_positive(embedding_parameters=embedding_parameters, table_bytes=table_bytes, memory_gb=memory_gb)
    result: Column = np.ceil(embedding_parameters * table_bytes / (memory_gb * 1e9))
    return result


def stage_servers(
    *,
    queries_per_s: Column,
    items: Column,
    item_s: Column,
    fixed_s: Column,
    latency_budget_s: Column,
    met_fraction: float,
    occupancy_fraction: Column,
) -> NDArray[np.float64]:
    """Servers of each stage of a ranking pipeline (filter, then rank), one entry per stage.

    S_k = fixed_k + items_k item_k,  q = met^(1/stages)
    c_k = min {c : P(wait <= budget_k - S_k) >= q and A_k/c <= occupancy};  infinite where S_k > budget_k

    A query that keeps every stage's budget keeps their sum, so the share of queries in time is at least
    `met_fraction`. Waits are those of exponential service, which is safe for the steadier scoring of a
    fixed number of items. Batching of several queries is left out.

    Source: Gupta et al., "RecPipe", MICRO 2021 (stages with own hardware); Kleinrock 1975 (M/M/c).
    """
    require_share(met_fraction=met_fraction)
    require_not_negative(items=items, item_s=item_s, fixed_s=fixed_s)
    service = np.asarray(fixed_s + items * item_s, dtype=np.float64)
    shape = np.broadcast_shapes(service.shape, np.shape(latency_budget_s), np.shape(queries_per_s), (1,))
    service = np.broadcast_to(service, shape)
    slack = np.broadcast_to(np.asarray(latency_budget_s), shape) - service
    servers = pool_servers(
        offered_load=np.broadcast_to(np.asarray(queries_per_s), shape) * service,
        service_h=service / 3600.0,
        wait_target_h=np.maximum(slack, 0.0) / 3600.0,
        met_fraction=np.full(shape, met_fraction ** (1.0 / shape[-1])),
        occupancy_fraction=occupancy_fraction,
    )
    result: NDArray[np.float64] = np.where(slack >= 0, servers, np.inf)
    return result
