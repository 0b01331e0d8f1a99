"""Times of the parts of a recommendation model: dense layers, look-ups, exchange of pooled vectors."""

import numpy as np

from planner.performance._checks import require_not_negative, require_open_share, require_positive
from planner.performance.columns import Column


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
    accelerators: Column,
    link_domain: Column,
    link_gb_per_s: Column,
    network_gb_per_s: Column,
    link_efficiency_fraction: Column,
    network_efficiency_fraction: Column,
    collective_latency_s: Column,
    partner_latency_s: Column = 0.0,
) -> Column:
    """Time to bring the pooled vectors of all tables to the accelerator that holds the sample.

    t = exchange of b T D B

    0 where n = 1. One way; the gradients travel back in the same time. The exchange of the row numbers
    themselves is left out: readers of the data can place them right away.

    Source: Mudigere et al., ISCA 2022, arXiv 2104.05158 (pooled vectors in 16 bits); volumes as in NCCL.
    """
    require_not_negative(samples=samples, tables=tables)
    require_positive(embedding_dim=embedding_dim, exchange_bytes=exchange_bytes)
    return exchange_s(
        sent_gb=samples * tables * embedding_dim * exchange_bytes / 1e9,
        accelerators=accelerators,
        link_domain=link_domain,
        link_gb_per_s=link_gb_per_s,
        network_gb_per_s=network_gb_per_s,
        link_efficiency_fraction=link_efficiency_fraction,
        network_efficiency_fraction=network_efficiency_fraction,
        collective_latency_s=collective_latency_s,
        partner_latency_s=partner_latency_s,
    )


def exchange_s(
    *,
    sent_gb: Column,
    accelerators: Column,
    link_domain: Column,
    link_gb_per_s: Column,
    network_gb_per_s: Column,
    link_efficiency_fraction: Column,
    network_efficiency_fraction: Column,
    collective_latency_s: Column,
    partner_latency_s: Column = 0.0,
) -> Column:
    """Time in which one accelerator sends its part of S to each of the others.

    t = S max[(r-1)/n / (N_l e_l), (n-r)/n / (N_i e_i)] + latency + (n-1) t_p,  r = min(domain, n)

    0 where n = 1. t_p is what each partner adds, to which its own small message is sent. Fast links and
    network work side by side.

    Source: volumes as in NCCL.
    """
    require_not_negative(sent_gb=sent_gb, collective_latency_s=collective_latency_s)
    require_positive(
        accelerators=accelerators,
        link_domain=link_domain,
        link_gb_per_s=link_gb_per_s,
        network_gb_per_s=network_gb_per_s,
    )
    require_open_share(
        link_efficiency_fraction=link_efficiency_fraction,
        network_efficiency_fraction=network_efficiency_fraction,
    )
    near = np.minimum(link_domain, accelerators)
    near_s = (near - 1.0) / accelerators / (link_gb_per_s * link_efficiency_fraction)
    far_s = (accelerators - near) / accelerators / (network_gb_per_s * network_efficiency_fraction)
    started_s = collective_latency_s + (accelerators - 1.0) * partner_latency_s
    moved_s = sent_gb * np.maximum(near_s, far_s) + started_s
    result: Column = np.where(np.asarray(accelerators) > 1, moved_s, 0.0)
    return result
