"""Time of one collective by itself, on links of stated bandwidth and latency: between sites, say.

Collectives inside a training step, with their overlap and fitted efficiencies, are in `communication`.
"""

import numpy as np

from planner.performance._checks import require_not_negative, require_positive
from planner.performance.columns import Column

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


def gradients_across_s(
    *,
    sites: Column,
    gradient_gb: Column,
    bandwidth_gb_per_s: Column,
    latency_s: Column,
    oversubscription_ratio: Column,
    exchange_steps: Column,
    hidden_fraction: Column,
    computing_s: Column,
) -> Column:
    """What a step waits for gradients, or weights, that sites exchange over the links between them.

    t = a - min(x a, T_c / 2) where H = 1,  a / H where H > 1,  a = all-reduce of G on a ring of s sites

    H steps go by between two exchanges. Of each step at most half of the compute is backward work that hides
    one (a as of `ring_s`). Each site sums its own first. Where H > 1 sites train apart in between, which is
    another optimisation, and all wait for the weights.

    Source: ring as above; hiding as in `training_step_s`; H: Douillard et al., "DiLoCo", arXiv 2311.08105.
    """
    require_positive(exchange_steps=exchange_steps)
    require_not_negative(hidden_fraction=hidden_fraction, computing_s=computing_s)
    exchanged_s = ring_s(
        trips=RING_TRIPS["all_reduce"],
        ranks=sites,
        size_gb=gradient_gb,
        bandwidth_gb_per_s=bandwidth_gb_per_s,
        latency_s=latency_s,
        oversubscription_ratio=oversubscription_ratio,
    )
    hidden_s = np.minimum(hidden_fraction * exchanged_s, 0.5 * np.asarray(computing_s))
    exposed_s = np.where(np.asarray(exchange_steps) > 1.0, exchanged_s, exchanged_s - hidden_s)
    waited_s: Column = (exposed_s / exchange_steps)[()]
    return waited_s


def pipeline_across_s(
    *,
    sites: Column,
    micro_batches: Column,
    copies: Column,
    activation_gb: Column,
    bandwidth_gb_per_s: Column,
    latency_s: Column,
    oversubscription_ratio: Column,
    micro_batch_s: Column,
) -> Column:
    """What a step waits for activations that cross from the stages of one site to those of the next.

    t = 2 (s-1) (w + l) + m max(0, w - t_mb),  w = d A o / B

    w is the time in which the d copies send one micro-batch over a link, both ways at once. It is exposed
    while the pipeline fills and drains, and where the link is slower than a stage. Micro-batches in flight
    are taken as enough to cover the latency in between.

    Source: 1F1B schedule, Narayanan et al., SC 2021, arXiv 2104.04473; links as in ScaleAcross Explorer,
    arXiv 2605.24326.
    """
    require_positive(copies=copies, bandwidth_gb_per_s=bandwidth_gb_per_s, micro_batches=micro_batches)
    require_not_negative(activation_gb=activation_gb, latency_s=latency_s, micro_batch_s=micro_batch_s)
    sent_s = copies * activation_gb * oversubscription_ratio / bandwidth_gb_per_s
    waits_s = np.maximum(0.0, sent_s - np.asarray(micro_batch_s))
    return 2.0 * (sites - 1.0) * (sent_s + latency_s) + micro_batches * waits_s
