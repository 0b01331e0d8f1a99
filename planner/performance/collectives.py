"""Time of one collective by itself, on links of stated bandwidth and latency: between sites, say.

Collectives inside a training step, with their overlap and fitted efficiencies, are in `communication`.
"""

import numpy as np
from numpy.typing import NDArray

from planner.performance._checks import require_not_negative, require_positive

Column = float | NDArray[np.float64]

# What one rank sends on to all, or all sum up for one: everything passes each link once.
CHAINED = ("broadcast", "reduce")
# How often a ring goes round, and the share of the data that each trip moves over a link.
RING_TRIPS = {"all_reduce": 2.0, "all_gather": 1.0, "reduce_scatter": 1.0, "all_to_all": 1.0}


def ring_s(
    *,
    trips: Column,
    ranks: Column,
    size_gb: Column,
    bandwidth_gb_per_s: Column,
    latency_s: Column,
    oversubscription_ratio: Column = 1.0,
) -> Column:
    """Time of a collective whose data goes round a ring.

    t = trips [(n-1)/n S o / B + (n-1) l]

    S is the whole of the data at the end of it (all gradients, all gathered weights, all that one rank
    sends); trips is 2 for an all-reduce, which is a reduce-scatter and an all-gather, and else 1
    (`RING_TRIPS`). o is how many times less than its nominal bandwidth an oversubscribed link gives.

    Source: Thakur, Rabenseifner and Gropp, IJHPCA 2005, section 4.
    """
    require_positive(trips=trips, ranks=ranks, bandwidth_gb_per_s=bandwidth_gb_per_s)
    require_not_negative(size_gb=size_gb, latency_s=latency_s)
    if np.any(np.asarray(ranks) < 1) or np.any(np.asarray(oversubscription_ratio) < 1):
        raise ValueError(
            f"ranks and oversubscription_ratio are 1 or more, got {ranks} and {oversubscription_ratio}"
        )
    sent_s = (ranks - 1.0) / ranks * size_gb * oversubscription_ratio / bandwidth_gb_per_s
    return trips * (sent_s + (ranks - 1.0) * latency_s)


def chain_s(
    *,
    ranks: Column,
    size_gb: Column,
    bandwidth_gb_per_s: Column,
    latency_s: Column,
    oversubscription_ratio: Column = 1.0,
) -> Column:
    """Time of a broadcast or a reduction that is passed on in small parts.

    t = S o / B + (n-1) l,  0 where n = 1

    The parts are small enough that the links work side by side.

    Source: pipelined ring, as in NCCL; Thakur, Rabenseifner and Gropp, IJHPCA 2005.
    """
    require_positive(ranks=ranks, bandwidth_gb_per_s=bandwidth_gb_per_s)
    require_not_negative(size_gb=size_gb, latency_s=latency_s)
    if np.any(np.asarray(ranks) < 1) or np.any(np.asarray(oversubscription_ratio) < 1):
        raise ValueError(
            f"ranks and oversubscription_ratio are 1 or more, got {ranks} and {oversubscription_ratio}"
        )
    sent_s = size_gb * oversubscription_ratio / bandwidth_gb_per_s
    took: Column = np.where(np.asarray(ranks) > 1, sent_s + (ranks - 1.0) * latency_s, 0.0)[()]
    return took
