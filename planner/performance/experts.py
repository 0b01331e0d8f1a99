"""Mixture-of-experts layers: what every token multiplies, what the memory holds, how wide experts are.

`experts` 0 means a dense layer; then every token passes one feed-forward network of width `ffn`.
Otherwise `ffn` is the width of one expert, each token passes `experts_per_token` of them and all
`shared_experts`. Experts lie whole on `ep` of the accelerators of a pipeline stage, whatever splits
the rest of the layer (t, c and d fold into one expert-parallel group).
"""

from dataclasses import dataclass

import numpy as np

from planner.performance._checks import require_not_negative, require_positive
from planner.performance.columns import Column


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """Weights of one layer: what every token passes, what one token passes in experts, all experts."""

    common_parameters: Column
    active_routed_parameters: Column
    held_routed_parameters: Column


def attention_parameters(
    *, hidden: Column, heads: Column, kv_heads: Column, head_dim: Column | None = None
) -> Column:
    """Weights of the projections around attention.

    W_a = h d_head (2 a + 2 kv),  d_head = h/a where none is given

    Source: Vaswani et al., NeurIPS 2017; Shazeer, arXiv 1911.02150 (fewer key and value heads).
    """
    require_positive(hidden=hidden, heads=heads, kv_heads=kv_heads)
    if head_dim is None:
        return hidden * hidden * (2.0 + 2.0 * kv_heads / heads)
    require_positive(head_dim=head_dim)
    return hidden * head_dim * (2.0 * heads + 2.0 * kv_heads)


def latent_attention_parameters(
    *,
    hidden: Column,
    heads: Column,
    query_rank: Column,
    latent_rank: Column,
    head_dim: Column,
    rotary_dim: Column,
    value_dim: Column,
) -> Column:
    """Weights of multi-head latent attention.

    W_a = h r_q + r_q a (d + d_R) + h (r_kv + d_R) + r_kv a (d + d_v) + a d_v h

    Source: DeepSeek-AI, "DeepSeek-V2", arXiv 2405.04434, section 2.1; "DeepSeek-V3", arXiv 2412.19437.
    """
    require_positive(hidden=hidden, heads=heads, query_rank=query_rank, latent_rank=latent_rank)
    require_positive(head_dim=head_dim, rotary_dim=rotary_dim, value_dim=value_dim)
    queries = hidden * query_rank + query_rank * heads * (head_dim + rotary_dim)
    keys_values = hidden * (latent_rank + rotary_dim) + latent_rank * heads * (head_dim + value_dim)
    return queries + keys_values + heads * value_dim * hidden


def layer_weights(
    *,
    hidden: Column,
    heads: Column,
    kv_heads: Column,
    ffn: Column,
    gated: Column,
    head_dim: Column | None = None,
    mixer_parameters: Column | None = None,
    experts: Column = 0.0,
    experts_per_token: Column = 0.0,
    shared_experts: Column = 0.0,
    expert_hidden: Column | None = None,
) -> LayerWeights:
    """Weights of one layer, dense or a mixture of experts.

    F = (3 if gated else 2) h f,  F_r = F w/h
    common = W_a + (e_s F + h E + P if experts else F),  active = k F_r,  held = E F_r
    P = 2 h w where w < h

    w is `expert_hidden`, to which latent mixtures narrow tokens before their routed experts, and h elsewhere;
    shared experts and the router see the whole width.

    `mixer_parameters` stands for W_a where the layer does not mix tokens by plain attention: latent
    attention, state space, or a mean of both kinds. h E is the router. Leading dense layers of a
    mixture model are left out: count them as layers of experts (DeepSeek-V3: 3 of 61).

    Source: Fedus et al., "Switch Transformers", arXiv 2101.03961; Dai et al., "DeepSeekMoE", 2401.06066;
    NVIDIA, "Nemotron 3 Super", arXiv 2604.12374, section 2 (latent experts).
    """
    require_positive(ffn=ffn)
    require_not_negative(experts=experts, experts_per_token=experts_per_token, shared_experts=shared_experts)
    mixer = (
        attention_parameters(hidden=hidden, heads=heads, kv_heads=kv_heads, head_dim=head_dim)
        if mixer_parameters is None
        else mixer_parameters
    )
    network = (2.0 + gated) * hidden * ffn
    if not np.any(np.asarray(experts) > 0):
        return LayerWeights(mixer + network, 0.0, 0.0)
    mixture = np.asarray(experts) > 0
    if np.any(mixture & ((np.asarray(experts_per_token) < 1) | (np.asarray(experts_per_token) > experts))):
        raise ValueError(
            f"experts_per_token must lie between 1 and experts ({experts}) in a mixture of experts, "
            f"got {experts_per_token}"
        )
    width = hidden if expert_hidden is None else expert_hidden
    narrowed = np.where(np.asarray(width) < hidden, 2.0 * hidden * width, 0.0)
    every_token = np.where(mixture, shared_experts * network + hidden * experts + narrowed, network)
    routed = network * (width / hidden)
    return LayerWeights(
        common_parameters=mixer + every_token,
        active_routed_parameters=np.where(mixture, experts_per_token * routed, 0.0),
        held_routed_parameters=experts * routed,
    )


def expert_tokens(
    *, rank_tokens: Column, tp: Column, experts: Column, experts_per_token: Column, ep: Column
) -> Column:
    """Tokens that one expert multiplies at once, from all accelerators that share the experts.

    tok_E = ep (tok/t) k / E

    Source: counting; Gale et al., "MegaBlocks", arXiv 2211.15841 (one grouped multiplication, none dropped).
    """
    require_positive(experts=experts, experts_per_token=experts_per_token, ep=ep)
    return ep * rank_tokens / tp * experts_per_token / experts


def token_copies(*, experts_per_token: Column, holders: Column) -> Column:
    """Holders of experts that a token is sent to, where one copy serves all of its experts there.

    D(n) = n (1 - (1 - 1/n)^k)

    The k experts fall on n holders alike, each for itself. A token chooses no expert twice, so it meets a
    few more: 5.29 in place of 5.25 where 8 of 256 experts lie on 8 nodes.

    Source: occupancy of n cells by k balls, Feller, "An Introduction to Probability Theory", vol. 1, IV.2.
    """
    require_not_negative(experts_per_token=experts_per_token)
    if np.any(np.asarray(holders) < 1):
        raise ValueError(f"holders of experts are 1 or more, got {np.min(holders)}")
    return holders * (1.0 - (1.0 - 1.0 / holders) ** experts_per_token)


def static_slots_ratio(*, experts: Column, capacity_factor: Column, experts_per_token: Column) -> Column:
    """Slots that static gating computes for each one that a token uses.

    E CF / k

    Every expert multiplies a buffer of CF times all tokens, filled or not. Dropless (grouped)
    multiplication computes what is used: 1.

    Source: Huang et al., "Towards MoE Deployment", arXiv 2303.06182, section 4 (waste factor).
    """
    require_positive(experts=experts, capacity_factor=capacity_factor, experts_per_token=experts_per_token)
    return experts * capacity_factor / experts_per_token


def whole_tiles_ratio(*, side: Column, tile: Column) -> Column:
    """Length that a kernel multiplies of a matrix's side over the side itself.

    r = ceil(n / T) T / n

    Source: definition; NVIDIA, "Matrix Multiplication Background", section 3.1 (tile quantization).
    """
    require_positive(side=side, tile=tile)
    return np.ceil(side / tile) * tile / side


def expert_activation_ratio(
    *,
    hidden: Column,
    ffn: Column,
    experts: Column,
    experts_per_token: Column,
    shared_experts: Column,
    expert_hidden: Column | None = None,
) -> Column:
    """Activations of a layer of experts over those of the dense layer of 34 bytes for each value.

    (15 + k (3 w/h + 4 f/h) + e_s (3 + 4 f/h)) / 34,  1 where there are no experts

    Of the 34 bytes 15 are attention and norms, 3 the input and the mask of a network and 16 = 4 (4 h)/h
    its inner values; each expert of a token keeps its own copy, w wide (`expert_hidden`, else h).

    Source: Korthikanti et al., arXiv 2205.05198, section 4.1, taken apart.
    """
    require_positive(hidden=hidden, ffn=ffn)
    width = hidden if expert_hidden is None else expert_hidden
    inner = 4.0 * ffn / hidden
    kept = 15.0 + experts_per_token * (3.0 * (width / hidden) + inner) + shared_experts * (3.0 + inner)
    result: Column = np.where(np.asarray(experts) > 0, kept / 34.0, 1.0)
    return result
