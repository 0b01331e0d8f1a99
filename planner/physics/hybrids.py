"""Hybrids of attention and state-space layers: what the shape of a configuration says of their layers."""

from __future__ import annotations

import numpy as np

from planner.inputs.catalogue import Facts
from planner.performance.experts import attention_parameters
from planner.performance.state_space import (
    crossover_tokens,
    scanned_flops_per_token,
    selective_state_parameters,
    state_gb_per_sequence,
    state_space_flops_per_token,
    state_space_parameters,
)
from planner.trace.columns import Column
from planner.trace.quantities import Traced, chosen, convert, derive

# A leaf's parameter -> the fact of a model.
STATE = {"inner": "state_inner", "state": "state_size", "groups": "state_groups"}


def is_hybrid(facts: Facts, model: str) -> bool:
    """Whether some layers of a model keep a state in place of keys and values."""
    return bool(facts.has(f"model.{model}.state_layers"))


def is_first_kind(facts: Facts, model: str) -> bool:
    """Whether its layers are of the first kind (Mamba), which have a rank of step sizes."""
    return bool(facts.has(f"model.{model}.state_rank"))


def state_arguments(facts: Facts, model: str) -> dict[str, Traced]:
    """Widths of the layers with a state."""
    return {name: facts.fact(f"model.{model}.{word}") for name, word in STATE.items()}


def state_flops_per_token(facts: Facts, model: str) -> Traced:
    """Operations on the state of one layer for one token."""
    widths = state_arguments(facts, model)
    if is_first_kind(facts, model):
        return derive(scanned_flops_per_token, inner=widths["inner"], state=widths["state"])
    return derive(
        state_space_flops_per_token, **widths, chunk_tokens=facts.fact(f"model.{model}.state_chunk")
    )


def hybrid_arguments(facts: Facts, model: str) -> dict[str, Traced]:
    """What a training step takes of a model's mixers; of one in which every layer attends, too."""
    own = f"model.{model}"
    heads = {name: facts.fact(f"{own}.{name}") for name in ("hidden", "heads", "kv_heads", "head_dim")}
    attending = derive(attention_parameters, **heads)
    if not is_hybrid(facts, model):
        return {
            "mixer_parameters": attending,
            "attention_fraction": chosen("attention_fraction", 1.0, "every layer attends"),
            "state_space_flops_per_token": chosen("flops_per_token", 0.0, "every layer attends"),
        }
    widths = state_arguments(facts, model)
    share = (1.0 - facts.fact(f"{own}.state_layers") / facts.fact(f"{own}.layers")).named(
        "attention_fraction", "Share of layers that attend"
    )
    if is_first_kind(facts, model):
        with_state = derive(
            selective_state_parameters,
            hidden=heads["hidden"],
            inner=widths["inner"],
            state=widths["state"],
            rank=facts.fact(f"{own}.state_rank"),
        )
    else:
        with_state = derive(
            state_space_parameters,
            hidden=heads["hidden"],
            heads=facts.fact(f"{own}.state_heads"),
            **widths,
        )
    return {
        "mixer_parameters": (share * attending + (1.0 - share) * with_state).named(
            "mean_mixer_parameters",
            "Weights of what mixes the tokens of a layer, a mean over attention and state layers",
        ),
        "attention_fraction": share,
        "state_space_flops_per_token": state_flops_per_token(facts, model),
    }


def crossover(facts: Facts, model: str) -> Traced:
    """Context from which a layer with a state keeps less than one that attends, both in 16 bits."""
    own = f"model.{model}"
    widths = state_arguments(facts, model)
    bytes_ = chosen("state_bytes", 2.0, "16 bits")
    one = chosen("layers", 1.0, "one layer")
    kept = derive(
        state_gb_per_sequence,
        layers=one,
        convolution_tokens=facts.fact(f"{own}.state_convolution"),
        state_bytes=bytes_,
        tp=chosen("tp", 1.0, "of all accelerators together"),
        **widths,
    )
    each = derive(
        layer_key_value_bytes,
        kv_heads=facts.fact(f"{own}.kv_heads"),
        head_dim=facts.fact(f"{own}.head_dim"),
        kv_bytes=bytes_,
    )
    return derive(crossover_tokens, state_bytes=convert(kept, "B"), key_value_bytes=each)


def layer_key_value_bytes(*, kv_heads: Column, head_dim: Column, kv_bytes: Column) -> Column:
    """Keys and values of one token in one layer.

    k = 2 h_kv d B

    Source: Pope et al., arXiv 2211.05102.
    """
    return 2.0 * np.multiply(kv_heads, head_dim) * kv_bytes
