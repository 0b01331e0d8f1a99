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
    """What a training step takes of a model's mixers; of one in which every layer attends, too.

    Modules that predict further tokens are one layer each, which attends, behind a projection of two widths
    to one.
    """
    own = f"model.{model}"
    heads = {name: facts.fact(f"{own}.{name}") for name in ("hidden", "heads", "kv_heads", "head_dim")}
    attending = derive(attention_parameters, **heads)
    if not is_hybrid(facts, model):
        return {
            "mixer_parameters": attending,
            "attention_fraction": chosen("attention_fraction", 1.0, "every layer attends"),
            "state_space_flops_per_token": chosen("flops_per_token", 0.0, "every layer attends"),
            "predicted_tokens": chosen("predicted_tokens", 1.0, "the next token alone"),
        }
    attend, keep, ahead = (
        attending_layers(facts, model),
        facts.fact(f"{own}.state_layers"),
        _ahead(facts, model),
    )
    layers = (facts.fact(f"{own}.layers") + ahead).named(
        "layers", "Layers, with modules that predict further tokens"
    )
    projected = 2.0 * heads["hidden"] * heads["hidden"]
    weights = (attend + ahead) * attending + keep * _keeping_parameters(facts, model, heads["hidden"])
    return {
        "layers": layers,
        "mixer_parameters": ((weights + ahead * projected) / layers).named(
            "mean_mixer_parameters",
            "Weights of what mixes the tokens of a layer, a mean over attention and state layers",
        ),
        "attention_fraction": ((attend + ahead) / layers).named(
            "attention_fraction", "Layers that attend, for each layer"
        ),
        "state_space_flops_per_token": (keep / layers * state_flops_per_token(facts, model)).named(
            "mean_state_flop", "Operations on states for a token, a mean over all layers"
        ),
        "predicted_tokens": (ahead + 1.0).named(
            "predicted_tokens", "Tokens predicted at each place of a sequence"
        ),
    }


def attending_layers(facts: Facts, model: str) -> Traced:
    """Layers of a hybrid that attend: those that keep no state, or as many as the model states.

    A layer of a mixture is one with experts, and holds its share of all that mixes tokens.
    """
    own = f"model.{model}"
    if facts.has(f"{own}.attending_layers"):
        return facts.fact(f"{own}.attending_layers")
    return (facts.fact(f"{own}.layers") - facts.fact(f"{own}.state_layers")).named(
        "attending_layers", "Layers that keep no state"
    )


def _ahead(facts: Facts, model: str) -> Traced:
    """Modules that predict tokens behind the next one while a model is trained."""
    key = f"model.{model}.prediction_layers"
    return facts.fact(key) if facts.has(key) else chosen("prediction_layers", 0.0, "the next token alone")


def _keeping_parameters(facts: Facts, model: str, hidden: Traced) -> Traced:
    """Weights of the projections of one layer with a state."""
    own, widths = f"model.{model}", state_arguments(facts, model)
    if is_first_kind(facts, model):
        return derive(
            selective_state_parameters,
            hidden=hidden,
            inner=widths["inner"],
            state=widths["state"],
            rank=facts.fact(f"{own}.state_rank"),
        )
    return derive(state_space_parameters, hidden=hidden, heads=facts.fact(f"{own}.state_heads"), **widths)


def kept_value_bytes(facts: Facts, model: str) -> Traced:
    """Bytes of a value of the state that is kept of a request: 16 bits, unless the model says otherwise."""
    key = f"model.{model}.state_bytes"
    return facts.fact(key) if facts.has(key) else chosen("state_bytes", 2.0, "16 bits, by default")


def crossover(facts: Facts, model: str) -> Traced:
    """Context from which a layer with a state keeps less than one that attends, whose cache is in 16 bits."""
    own = f"model.{model}"
    widths = state_arguments(facts, model)
    one = chosen("layers", 1.0, "one layer")
    kept = derive(
        state_gb_per_sequence,
        layers=one,
        convolution_tokens=facts.fact(f"{own}.state_convolution"),
        state_bytes=kept_value_bytes(facts, model),
        tp=chosen("tp", 1.0, "of all accelerators together"),
        **widths,
    )
    each = derive(
        layer_key_value_bytes,
        kv_heads=facts.fact(f"{own}.kv_heads"),
        head_dim=facts.fact(f"{own}.head_dim"),
        kv_bytes=chosen("kv_bytes", 2.0, "16 bits"),
    )
    return derive(crossover_tokens, state_bytes=convert(kept, "B"), key_value_bytes=each)


def layer_key_value_bytes(*, kv_heads: Column, head_dim: Column, kv_bytes: Column) -> Column:
    """Keys and values of one token in one layer.

    k = 2 h_kv d B

    Source: Pope et al., arXiv 2211.05102.
    """
    return 2.0 * np.multiply(kv_heads, head_dim) * kv_bytes
