"""Time that accelerators spend sending to each other while training.

Bandwidths are one way and per accelerator; `link_domain` is the number of accelerators that share the
fast links (8 in most nodes, 72 in a rack-scale domain), and `pair_link_fraction` the share of its links that
an accelerator has to any one other there: 1 where a switch joins them all.
"""

import numpy as np

from planner.performance._checks import require_not_negative, require_share
from planner.performance.bundles import Links
from planner.performance.columns import Column
from planner.performance.experts import token_copies

VALUE_BYTES = 2.0  # bf16 activations and gathered weights, whatever the precision of the multiplications
FIT_NODE = 8.0  # accelerators in a node of the data that the gather was fitted on


def used_link_fraction(*, members: Column, pair_link_fraction: Column) -> Column:
    """Share of its links that an accelerator uses in a group of its node.

    min(1, (g-1) f)

    Where links join pairs without a switch, those to accelerators outside the group lie idle.

    Source: counting; data sheet of AMD MI300X (seven links of eight accelerators).
    """
    result: Column = np.minimum(1.0, (np.asarray(members) - 1.0) * pair_link_fraction)
    return result


def _group_gb_per_s(members: Column, links: Links, pair_link_fraction: Column) -> Column:
    """What a group of the fast domain reaches; one alone sends nothing, at any speed."""
    used = used_link_fraction(members=np.maximum(members, 2.0), pair_link_fraction=pair_link_fraction)
    result: Column = links.link_gb_per_s * links.link_efficiency_fraction * used
    return result


def tensor_exchange_s(
    *,
    rank_tokens: Column,
    hidden: Column,
    tp: Column,
    links: Links,
    collective_latency_s: Column,
    tensor_exposed_fraction: Column,
    near_hop_s: Column = 0.0,
    far_hop_s: Column = 0.0,
    pair_link_fraction: Column = 1.0,
) -> Column:
    """Exposed time of the two all-reduces of one layer in one direction.

    t_tp = 2 [2 (t-1)/t * tok h * 2 B / (N_l eta_nv) x + latency + hops],  0 where t = 1
    hops = 2 (t - N) l_near + 2 (N-1) l_far,  N = t/r,  where t > r, else 0

    x is the share of the bytes that no work hides; each exchange starts after what it waits for, so that its
    latency is seen in full.

    A group larger than the fast domain r leaves it through the network ports of all its members, as rings of
    NCCL do: at the lesser of N_l eta_nv and r N_i eta_i. Such a ring is not switched: every part goes from
    member to member, and waits at each (l_near), longer where it crosses the network (l_far).

    Source: Shoeybi et al., "Megatron-LM", arXiv 1909.08053 (two all-reduces); NCCL, src/graph/tuning.cc
    (hops of a ring); eta and x fitted.
    """
    require_not_negative(near_hop_s=near_hop_s, far_hop_s=far_hop_s)
    require_share(tensor_exposed_fraction=tensor_exposed_fraction)
    fast = _group_gb_per_s(tp, links, pair_link_fraction)
    ports = links.link_domain * links.network_gb_per_s * links.network_efficiency_fraction
    ring_gb_per_s = np.where(tp <= links.link_domain, fast, np.minimum(fast, ports))
    ring_s = 2.0 * (tp - 1.0) / tp * rank_tokens * hidden * VALUE_BYTES / (ring_gb_per_s * 1e9)
    split = np.where(tp > 1, 2.0, 0.0)
    domains = tp / links.link_domain
    hops_s = 2.0 * (tp - domains) * near_hop_s + 2.0 * (domains - 1.0) * far_hop_s
    started_s = collective_latency_s + np.where(tp > links.link_domain, hops_s, 0.0)
    result: Column = split * (ring_s * tensor_exposed_fraction + started_s)
    return result


def expert_exchange_s(
    *,
    rank_tokens: Column,
    hidden: Column,
    experts_per_token: Column,
    ep: Column,
    links: Links,
    collective_latency_s: Column,
    exposed_fraction: Column,
    most_domains_per_token: Column = np.inf,
    pair_link_fraction: Column = 1.0,
) -> Column:
    """Exposed time to send tokens to their experts and back, one layer in one direction.

    t_ep = 2 [tok h 2 B max(D(M r) (r-1)/r / (N_l eta_nv), D(M) (N-1)/N / (N_i eta_i)) + latency] x

    r = min(e, domain),  N = e/r fast domains,  M = min(N, limit),  D: `token_copies`

    A token crosses the network once to each domain that holds some of its experts, is passed on there over
    the fast link, once to each accelerator, and others arrive meanwhile. `most_domains_per_token` is the
    most domains that routing sends a token to. `network_efficiency_fraction` is that of this exchange:
    many partners at once, nothing to sum. Copies of 8 bits are left out, and so are experts that are
    chosen together.

    Source: Lepikhin et al., "GShard", arXiv 2006.16668 (two all-to-all exchanges); DeepSeek-AI,
    "DeepSeek-V3", arXiv 2412.19437, section 3.2.2 (one copy to a node, passed on there).
    """
    require_share(exposed_fraction=exposed_fraction)
    near = np.minimum(ep, links.link_domain)
    domains = ep / near
    chosen = np.minimum(domains, most_domains_per_token)
    passed_on = token_copies(experts_per_token=experts_per_token, holders=chosen * near) * (1.0 - 1.0 / near)
    crossing = token_copies(experts_per_token=experts_per_token, holders=chosen) * (1.0 - 1.0 / domains)
    fast_s = passed_on / _group_gb_per_s(near, links, pair_link_fraction)
    slow_s = crossing / (links.network_gb_per_s * links.network_efficiency_fraction)
    copy_gb = rank_tokens * hidden * VALUE_BYTES / 1e9
    both_ways = np.where(ep > 1, 2.0, 0.0)
    result: Column = (
        both_ways * (copy_gb * np.maximum(fast_s, slow_s) + collective_latency_s) * exposed_fraction
    )
    return result


def context_exchange_s(
    *,
    rank_tokens: Column,
    key_width: Column,
    tp: Column,
    cp: Column,
    links: Links,
    collective_latency_s: Column,
    attention_s: Column,
    exposed_fraction: Column,
    pair_link_fraction: Column = 1.0,
) -> Column:
    """Exposed time to pass keys and values round the ring of context parallelism, one layer forward.

    t_cp = max(0, R - t_att) + x min(R, t_att),  R = (c-1) [tok 2 w/t 2 B / (N e) + latency],  0 where c = 1

    w is the width of all keys. The ring of t c neighbours lies in the fast domain, over the
    links of a pair, or its slowest hop is a network port. Each part arrives while attention works on the one
    before; the first and the last have nothing next to them (x).

    Source: Liu et al., "Ring Attention", arXiv 2310.01889; Jacobs et al., arXiv 2309.14509, for the volumes.
    """
    require_share(exposed_fraction=exposed_fraction)
    port = np.where(
        tp * cp <= links.link_domain,
        links.link_gb_per_s * links.link_efficiency_fraction * pair_link_fraction,
        links.network_gb_per_s * links.network_efficiency_fraction,
    )
    part_s = rank_tokens * 2.0 * key_width / tp * VALUE_BYTES / (port * 1e9) + collective_latency_s
    round_s = np.where(cp > 1, cp - 1.0, 0.0) * part_s
    hidden = np.minimum(round_s, attention_s)
    result: Column = round_s - hidden + exposed_fraction * hidden
    return result


def context_imbalance_ratio(*, cp: Column, causal: Column, imbalance_fraction: Column) -> Column:
    """Attention of the rank that all others wait for, over the mean of the ranks of a ring.

    1 + x C (c-1)/c

    A rank that holds the last piece of a causal text attends to all of it: (2c-1)/c times its share, x = 1.
    Where each rank holds a piece from the front and one from the back, x = 0. C is 1 under a causal mask.

    Source: Brandon et al., "Striped Attention", arXiv 2311.09431, sec. 3.
    """
    require_share(imbalance_fraction=imbalance_fraction)
    result: Column = 1.0 + imbalance_fraction * causal * (np.asarray(cp) - 1.0) / cp
    return result


def weight_gather_s(
    *,
    gathered_gb: Column,
    accelerators: Column,
    links: Links,
    fsdp_latency_s: Column,
    pair_link_fraction: Column = 1.0,
) -> Column:
    """Time to gather the sharded weights of one layer.

    AG = by (1 - r/n) / (r N_i eta_i) + by (1/8 + (1 - 8/r)+) / (N_l eta_nv) + latency,  r = min(domain, n)

    The r accelerators of a fast domain fetch different parts through their own network ports. Within a
    node of eight the fit charges an eighth; what a larger domain sends beyond eight is charged in full.

    Source: fit on FSDP throughput of llm-foundry and Megatron-Bridge, see README.md of this folder.
    """
    near = np.minimum(links.link_domain, accelerators)
    ports_gb_per_s = near * links.network_gb_per_s * links.network_efficiency_fraction
    network_s = gathered_gb * (1.0 - near / accelerators) / ports_gb_per_s
    passed_on = 1.0 / FIT_NODE + np.maximum(0.0, 1.0 - FIT_NODE / near)
    fast = _group_gb_per_s(near, links, pair_link_fraction)
    result: Column = network_s + gathered_gb * passed_on / fast + fsdp_latency_s
    return result


def gradient_exchange_s(
    *,
    exchanged_gb: Column,
    ranks: Column,
    tp: Column,
    links: Links,
    pair_link_fraction: Column = 1.0,
) -> Column:
    """Time to sum gradients over the data-parallel ranks, before overlap.

    DP = by [(r-1)/r / (N_l eta_nv) + (k-1)/k / (r N_i eta_i)],  r = min(d, domain/t), k = d/r

    First within the fast domain, then each of its r ranks sends its own part over the network.

    Source: hierarchical all-reduce as in NCCL; Thakur et al., IJHPCA 2005, for the ring volumes.
    """
    near = np.clip(links.link_domain / tp, 1.0, ranks)
    far = ranks / near
    fast = _group_gb_per_s(near, links, pair_link_fraction)
    fast_s = (near - 1.0) / near / fast
    slow_s = (far - 1.0) / far / (near * links.network_gb_per_s * links.network_efficiency_fraction)
    result: Column = exchanged_gb * (fast_s + slow_s)
    return result
