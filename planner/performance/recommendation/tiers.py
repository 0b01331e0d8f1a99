"""Tables over memories of several speeds: what a look-up moves, and what parts and copies send."""

import numpy as np

from planner.performance._checks import require_not_negative, require_open_share, require_positive
from planner.performance.columns import Column


def moved_gb(*, reads: Column, row_bytes: Column, block_bytes: Column) -> Column:
    """Bytes that reads of rows move: a row narrower than what a memory reads at once moves all of that.

    G = r max(w, B)

    Source: definition; for drives Wilkening et al., "RecSSD", ASPLOS 2021, arXiv 2102.00075.
    """
    require_not_negative(reads=reads)
    require_positive(row_bytes=row_bytes, block_bytes=block_bytes)
    return reads * np.maximum(row_bytes, block_bytes) / 1e9


def tier_s(*, moved_gb: Column, tier_gb_per_s: Column, efficiency_fraction: Column) -> Column:
    """Time of the reads of one memory; memories of a device follow one another.

    t = G / (N e)

    Source: bandwidth bound look-ups as in Sethi et al., "RecShard", ASPLOS 2022, arXiv 2201.10095.
    """
    require_not_negative(moved_gb=moved_gb)
    require_positive(tier_gb_per_s=tier_gb_per_s)
    require_open_share(efficiency_fraction=efficiency_fraction)
    return moved_gb / (tier_gb_per_s * efficiency_fraction)


def vectors_sent(*, pooling: Column, summed: Column, parts: Column, local_fraction: Column) -> Column:
    """Vectors of one sample that a part of the rows of a table sends on average.

    summed: v = min(1, k / p) (1 - h^k);  each as it is: v = k (1 - h) / p

    k rows of the table are read for a sample, a share h of them from copies that every accelerator has. A sum
    need not be sent where all of its rows are local; parts by rows send a sum each, as many as there are rows
    at most. Reads are taken as independent; those of one sample are alike, so that sums that stay local are
    more in truth.

    Source: copies of hot rows as in Sethi et al., "FlexShard", arXiv 2301.02959.
    """
    require_positive(pooling=pooling, parts=parts)
    if np.any(np.asarray(local_fraction) < 0) or np.any(np.asarray(local_fraction) > 1):
        raise ValueError(f"local_fraction is a share from 0 to 1, got {local_fraction}")
    one = np.minimum(1.0, pooling / np.asarray(parts)) * (1.0 - np.power(local_fraction, pooling))
    each = pooling * (1.0 - np.asarray(local_fraction)) / parts
    result: Column = np.where(np.asarray(summed) > 0, one, each)
    return result


def longest_s(*, device_s: Column) -> Column:
    """Time of the device that takes longest, for which the others wait.

    T = max_d t_d

    Source: definition of a synchronous step.
    """
    return float(np.max(device_s))


def placed_imbalance_ratio(*, longest_s: Column, even_lookup_s: Column, even_exchange_s: Column) -> Column:
    """What look-ups of even parts are to be multiplied with so that the step of a placement comes out.

    i = max(1, (T - x) / t)

    t and x are what look-ups in the fastest memory and the exchange of whole tables take where every device
    has the same part of them. Copies and parts may make a placement faster than that: then i is 1.

    Source: `imbalance_ratio` of `embedding_forward_s`, which this stands for.
    """
    require_positive(even_lookup_s=even_lookup_s)
    return np.maximum(1.0, (longest_s - np.asarray(even_exchange_s)) / even_lookup_s)


def above_bound_fraction(*, longest_s: Column, bound_s: Column) -> Column:
    """How much less time the best placement can take at most.

    g = 1 - bound / T

    Source: definition of the gap of an integer program.
    """
    require_positive(longest_s=longest_s)
    return np.maximum(0.0, 1.0 - np.asarray(bound_s) / longest_s)
