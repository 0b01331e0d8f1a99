"""Shape of a transformer, and how many weights follow from it.

Norms, biases and learned positions are left out: below 1 % in models of 100 million parameters, below 0.1 %
in those of a billion.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.performance.columns import Column
from planner.performance.experts import (
    LayerWeights,
    attention_parameters,
    latent_attention_parameters,
    layer_weights,
)
from planner.performance.state_space import selective_state_parameters, state_space_parameters


@dataclass(frozen=True, slots=True)
class ModelShape:
    """What a configuration says of a transformer. `gated` and `tied_embeddings` are 1 or 0.

    `experts` is 0 in a dense model; else `ffn` is the width of one expert, and the first `dense_layers` have
    one network of width `dense_ffn` instead. `latent_rank` is 0 unless keys and values are compressed
    (multi-head latent attention); then `head_dim` is the part of a query head without rotary position,
    `rotary_dim` the part with it. `windowed_layers` attend to the last `window` tokens
    alone; 0 where all layers see all. `state_layers` keep a state in place of keys and values: of
    `state_inner` channels with `state_size` values each, input and output maps in `state_groups`,
    `state_heads` (0 in layers of the first kind, which have a `state_rank`), and the last
    `state_convolution` inputs; sequences are worked on in chunks of `state_chunk`. `state_bytes` are those
    of a value of the state while the model serves, 0 where it does not say. The first
    `dense_layers` may lie anywhere, as mixtures of hybrids do. Where each layer counted is one with experts,
    between which others mix tokens, `attending_layers` says how many attend. Routed experts see tokens
    `expert_hidden` wide, the whole width where it is 0; `prediction_layers` predict further tokens in
    training, and are not counted.
    """

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    gated: int
    vocab: int
    tied_embeddings: int
    experts: int = 0
    experts_per_token: int = 0
    shared_experts: int = 0
    dense_layers: int = 0
    dense_ffn: int = 0
    query_rank: int = 0
    latent_rank: int = 0
    rotary_dim: int = 0
    value_dim: int = 0
    window: int = 0
    windowed_layers: int = 0
    state_layers: int = 0
    state_inner: int = 0
    state_size: int = 0
    state_groups: int = 0
    state_heads: int = 0
    state_rank: int = 0
    state_convolution: int = 0
    state_chunk: int = 0
    state_bytes: int = 0
    attending_layers: int = 0
    expert_hidden: int = 0
    prediction_layers: int = 0


def parameters(shape: ModelShape) -> int:
    """Weights that a model holds.

    N = L_d (W_a + F_d) + (L - L_d) (common + held) + e V h,  e = 1 if tied else 2

    L_d layers with a network F_d = (3 if gated else 2) h f_d come before the mixtures; common and held are
    those of one layer, see `planner.performance.experts`.

    Source: arithmetic on the shape; DeepSeek-AI, "DeepSeek-V3", arXiv 2412.19437, for the leading layers.
    """
    weights = _layer(shape)
    return _whole(shape, weights, weights.held_routed_parameters)


def active_parameters(shape: ModelShape) -> int:
    """Weights that one token meets: as `parameters`, with the experts that it is sent to.

    Both embedding tables count, as in the published figures of Mixtral.

    Source: Jiang et al., "Mixtral of Experts", arXiv 2401.04088.
    """
    weights = _layer(shape)
    return _whole(shape, weights, weights.active_routed_parameters)


def _whole(shape: ModelShape, weights: LayerWeights, routed: Column) -> int:
    tables = (1 if shape.tied_embeddings else 2) * shape.vocab * shape.hidden
    dense = _mixer(shape) + (2 + shape.gated) * shape.hidden * shape.dense_ffn
    mixed = float(weights.common_parameters) + float(routed)
    return round(shape.dense_layers * dense + (shape.layers - shape.dense_layers) * mixed) + tables


def _layer(shape: ModelShape) -> LayerWeights:
    return layer_weights(
        hidden=shape.hidden,
        heads=shape.heads,
        kv_heads=shape.kv_heads,
        ffn=shape.ffn,
        gated=shape.gated,
        mixer_parameters=_mixer(shape),
        experts=shape.experts,
        experts_per_token=shape.experts_per_token,
        shared_experts=shape.shared_experts,
        expert_hidden=shape.expert_hidden or None,
    )


def _mixer(shape: ModelShape) -> float:
    """Weights of what mixes tokens for each layer, of those that attend and those with a state."""
    if not shape.state_layers:
        return _attention(shape)
    if shape.state_rank:
        state = selective_state_parameters(
            hidden=shape.hidden, inner=shape.state_inner, state=shape.state_size, rank=shape.state_rank
        )
    else:
        state = state_space_parameters(
            hidden=shape.hidden,
            inner=shape.state_inner,
            state=shape.state_size,
            groups=shape.state_groups,
            heads=shape.state_heads,
        )
    attending = shape.attending_layers or shape.layers - shape.state_layers
    return (shape.state_layers * float(state) + attending * _attention(shape)) / shape.layers


def _attention(shape: ModelShape) -> float:
    """Weights of the attention of one layer."""
    if not shape.latent_rank:
        plain = attention_parameters(
            hidden=shape.hidden, heads=shape.heads, kv_heads=shape.kv_heads, head_dim=shape.head_dim
        )
        return float(plain)
    latent = latent_attention_parameters(
        hidden=shape.hidden,
        heads=shape.heads,
        query_rank=shape.query_rank,
        latent_rank=shape.latent_rank,
        head_dim=shape.head_dim,
        rotary_dim=shape.rotary_dim,
        value_dim=shape.value_dim,
    )
    return float(latent)
