"""A model as an engine holds it: its weights, the widths of its attention, what it keeps of a request."""

from __future__ import annotations

from planner.inputs.model_kinds import ROOMS, SPEECH, kind_of_model
from planner.inputs.resolved import Inputs
from planner.performance.engine import Transformer
from planner.performance.serving import latent_head_dim
from planner.performance.state_space import state_gb_per_sequence
from planner.physics.hybrids import (
    attending_layers,
    is_hybrid,
    kept_value_bytes,
    state_arguments,
    state_flops_per_token,
)
from planner.physics.precisions import value_bytes
from planner.trace.columns import Column
from planner.trace.quantities import Fact, Traced, chosen, convert, derive

STATES = {"state_bytes": "B", "state_flop": "1", "state_value_bytes": "B"}


def latent_attention_width(
    *, heads: Column, head_dim: Column, rope_dims: Column, value_dims: Column
) -> Column:
    """Mean width of queries and values of latent attention, whose queries carry a rotary part.

    w = a (d + r + d_v)/2

    Source: DeepSeek-AI, "DeepSeek-V2", arXiv 2405.04434, section 2.1.
    """
    return heads * (head_dim + rope_dims + value_dims) / 2.0


def latent_cache_width(*, heads: Column, latent_dims: Column, rope_dims: Column) -> Column:
    """Mean width at which all heads score and sum the cached vectors of latent attention while they write.

    w = a (2 c + r)/2

    The projections are absorbed, so that each head works on the whole latent vector.

    Source: DeepSeek-AI, "DeepSeek-V2", arXiv 2405.04434, section 2.1.2.
    """
    return heads * (2.0 * latent_dims + rope_dims) / 2.0


def encoder_parameters(*, encoder_layers: Column, layers: Column, hidden: Column, ffn: Column) -> Column:
    """Weights that a frame of sound meets: the encoder, and keys and values for each layer that writes.

    N_e = L_e (4 h^2 + 2 h f) + 2 L h^2

    Source: Vaswani et al., arXiv 1706.03762, section 3 (encoder, cross attention); Radford et al., arXiv
    2212.04356, section 2.2.
    """
    return encoder_layers * (4.0 * hidden**2 + 2.0 * hidden * ffn) + 2.0 * layers * hidden**2


def model_fact(inputs: Inputs, model: str, name: str) -> Fact:
    """A fact of a model that writes tokens, of texts or of sound."""
    room, _ = ROOMS[kind_of_model(inputs.catalogue, model)]
    return inputs.fact(f"{room}.{model}.{name}")


def served_model(
    inputs: Inputs, model: str, precision: str, cache_precision: str | None = None
) -> Transformer:
    """A model as an engine holds it."""
    if kind_of_model(inputs.catalogue, model) == SPEECH:
        return _speech_model(inputs, model, precision, cache_precision)
    name, fact = f"model.{model}", inputs.fact
    shape = {part: fact(f"{name}.{part}") for part in ("parameters", "layers", "hidden", "heads", "head_dim")}
    table = (fact(f"{name}.vocab") * shape["hidden"]).named(
        "vocabulary_parameters", "Weights of a table of tokens: that of the input, or the head"
    )
    tied = bool(fact(f"{name}.tied_embeddings").value)
    one_table = chosen("embedding_parameters", 0.0, "the table of the input is that of the head")
    width: Traced = (shape["heads"] * shape["head_dim"]).named(
        "attention_width", "Width of queries and values of all heads together"
    )
    read_width: Traced = width
    kv_heads: Traced = fact(f"{name}.kv_heads")
    head_dim: Traced = shape["head_dim"]
    if inputs.catalogue.has(f"{name}.latent_rank"):
        rope = fact(f"{name}.rotary_dim")
        width = derive(
            latent_attention_width,
            heads=shape["heads"],
            head_dim=shape["head_dim"],
            rope_dims=rope,
            value_dims=fact(f"{name}.value_dim"),
        )
        read_width = derive(
            latent_cache_width,
            heads=shape["heads"],
            latent_dims=fact(f"{name}.latent_rank"),
            rope_dims=rope,
        )
        kv_heads = chosen("kv_heads", 1.0, "all heads read one latent vector")
        head_dim = derive(latent_head_dim, latent_dims=fact(f"{name}.latent_rank"), rope_dims=rope)
    dense = "a dense model has no routed experts"
    experts: Traced = chosen("experts", 1.0, dense)
    each: Traced = chosen("experts_per_token", 1.0, dense)
    routed: Traced = chosen("routed_parameters", 0.0, dense)
    narrowed: Traced = chosen("expert_hidden", 0.0, "tokens go to experts at their whole width")
    without: Traced = chosen("dense_layers", 0.0, "every layer holds experts, or none does")
    if fact(f"{name}.experts").value:
        experts, each = fact(f"{name}.experts"), fact(f"{name}.experts_per_token")
        if inputs.catalogue.has(f"{name}.expert_hidden"):
            narrowed = fact(f"{name}.expert_hidden")
        if inputs.catalogue.has(f"{name}.dense_layers"):
            without = fact(f"{name}.dense_layers")
        routed = ((shape["parameters"] - fact(f"{name}.active_parameters")) / (1.0 - each / experts)).named(
            "routed_parameters",
            "Weights in experts: what a token leaves untouched lies in those that it does not choose",
        )
    all_see = "every layer attends to all tokens"
    window: Traced = chosen("window_tokens", 0.0, all_see)
    windowed: Traced = chosen("windowed_fraction", 0.0, all_see)
    if inputs.catalogue.has(f"{name}.window"):
        window = fact(f"{name}.window")
        windowed = (fact(f"{name}.windowed_layers") / shape["layers"]).named(
            "windowed_fraction", "Share of layers that look back at a window alone"
        )
    states = _states(inputs, model)
    if is_hybrid(inputs, model):
        window = chosen("window_tokens", 0.0, "layers with a state look back at no token")
        windowed = (1.0 - attending_layers(inputs, model) / shape["layers"]).named(
            "windowed_fraction", "Share of layers that look back at a window alone"
        )
    return Transformer(
        **states,
        parameters=shape["parameters"],
        routed_parameters=routed,
        embedding_parameters=one_table if tied else table,
        head_parameters=table,
        experts=experts,
        experts_per_token=each,
        layers=shape["layers"],
        hidden=shape["hidden"],
        expert_hidden=narrowed,
        dense_layers=without,
        attention_width=width,
        cache_width=read_width,
        kv_heads=kv_heads,
        head_dim=head_dim,
        window_tokens=window,
        windowed_fraction=windowed,
        encoder_parameters=chosen("encoder_parameters", 0.0, "prompts meet the layers that write"),
        encoder_layers=chosen("encoder_layers", 0.0, "prompts meet the layers that write"),
        **_value_sizes(precision, cache_precision),
    )


def _states(inputs: Inputs, model: str) -> dict[str, Traced]:
    """What layers with a state keep of a request and take of a token; none where all attend."""
    if not is_hybrid(inputs, model):
        return {name: chosen(name, 0.0, "every layer attends", unit) for name, unit in STATES.items()}
    state = state_arguments(inputs, model)
    layers = inputs.fact(f"model.{model}.state_layers")
    kept = derive(
        state_gb_per_sequence,
        layers=layers,
        inner=state["inner"],
        state=state["state"],
        groups=state["groups"],
        convolution_tokens=inputs.fact(f"model.{model}.state_convolution"),
        state_bytes=kept_value_bytes(inputs, model),
        tp=chosen("tp", 1.0, "of all accelerators together"),
    )
    return {
        "state_bytes": convert(kept, "B"),
        "state_flop": (layers * state_flops_per_token(inputs, model)).named(
            "all_layers_flop", "Operations of all layers with a state for one token"
        ),
        "state_value_bytes": inputs.fact("performance.serving.state_value_bytes"),
    }


def _speech_model(
    inputs: Inputs, model: str, precision: str, cache_precision: str | None = None
) -> Transformer:
    """A model that hears sound with an encoder and writes with a decoder that looks back at all of it.

    The sounds of a request are its prompt: what the decoder keeps of them is a cache like any other.
    """
    name, fact = f"speech.{model}", inputs.fact
    hidden, heads, head_dim = (fact(f"{name}.{part}") for part in ("hidden", "heads", "head_dim"))
    layers, encoder_layers = fact(f"{name}.decoder_layers"), fact(f"{name}.encoder_layers")
    width = (heads * head_dim).named("attention_width", "Width of queries and values of all heads together")
    dense, alike = "a dense model has no routed experts", "every layer attends to all tokens"
    return Transformer(
        parameters=fact(f"{name}.parameters"),
        routed_parameters=chosen("routed_parameters", 0.0, dense),
        expert_hidden=chosen("expert_hidden", 0.0, dense),
        dense_layers=chosen("dense_layers", 0.0, dense),
        embedding_parameters=chosen(
            "embedding_parameters", 0.0, "the table of the input is that of the head"
        ),
        head_parameters=(fact(f"{name}.vocab") * hidden).named(
            "vocabulary_parameters", "Weights of a table of tokens: that of the input, or the head"
        ),
        experts=chosen("experts", 1.0, dense),
        experts_per_token=chosen("experts_per_token", 1.0, dense),
        layers=layers,
        hidden=hidden,
        attention_width=width,
        cache_width=width,
        kv_heads=heads,
        head_dim=head_dim,
        window_tokens=chosen("window_tokens", 0.0, alike),
        windowed_fraction=chosen("windowed_fraction", 0.0, alike),
        encoder_parameters=derive(
            encoder_parameters,
            encoder_layers=encoder_layers,
            layers=layers,
            hidden=hidden,
            ffn=fact(f"{name}.ffn"),
        ),
        encoder_layers=encoder_layers,
        **{name: chosen(name, 0.0, "every layer attends", unit) for name, unit in STATES.items()},
        **_value_sizes(precision, cache_precision),
    )


def _value_sizes(precision: str, cache_precision: str | None) -> dict[str, Traced]:
    """Bytes of a weight and of a cached value."""
    cached = cache_precision or "bf16"
    why = f"bytes of one {cached} value" if cache_precision else "16 bits, as engines keep it by default"
    return {
        "weight_bytes": chosen("weight_bytes", value_bytes(precision), f"bytes of one {precision} value"),
        "kv_bytes": chosen("kv_bytes", value_bytes(cached), why),
    }
