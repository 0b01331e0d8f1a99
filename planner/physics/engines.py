"""Which engine serves, and what a step of it is made of on each SKU: model, accelerator, links, engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.inputs.model_kinds import ROOMS, SPEECH, kind_of_model
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Service
from planner.performance.capacity import Limits
from planner.performance.engine import (
    Chip,
    Engine,
    ReplicaLayout,
    Transformer,
    group_size_value,
    with_values,
)
from planner.performance.serving import latent_head_dim
from planner.performance.state_space import state_gb_per_sequence
from planner.physics.hybrids import is_hybrid, state_arguments, state_flops_per_token
from planner.physics.precisions import grouped_kernels_of, kernels_of, peak_of, value_bytes
from planner.trace.errors import InputError
from planner.trace.quantities import Fact, Traced, chosen, convert, derive, pick

Column = float | NDArray[Any]
Indices = NDArray[np.intp]

ENGINE = {
    "step_s": "step_time",
    "layer_s": "layer_time",
    "expert_layer_s": "expert_layer_time",
    "sequence_s": "sequence_time",
    "shared_s": "shared_time",
    "value_bytes": "value_bytes",
    "cache_factor": "cache_factor",
    "link_latency_factor": "link_latency_factor",
    "expert_link_factor": "expert_link_factor",
    "imbalance_factor": "imbalance_factor",
    "imbalance_exponent": "imbalance_exponent",
}
# Of the weights' precision; then of 16 bits, whatever the weights take.
KERNELS = {
    "matrix_fraction": "matrix_share",
    "matrix_half_tokens": "matrix_half_tokens",
    "matrix_half_weights": "matrix_half_weights",
    "weight_read_fraction": "weight_read_share",
    "matrix_s": "matrix_time",
    "grouped_fraction": "grouped_share",
    "grouped_half_tokens": "grouped_half_tokens",
    "grouped_half_weights": "grouped_half_weights",
    "grouped_read_fraction": "grouped_read_share",
}
ATTENTION = {
    "attention_fraction": "attention_share",
    "attention_half_tokens": "attention_half_tokens",
    "cache_read_fraction": "cache_read_share",
}
STATES = {"state_bytes": "B", "state_flop": "1"}
SMALL_MEMORY_GB = 70.0  # below it engines hold fewer requests at once and read shorter chunks
PCIE_GB_PER_S = 100.0  # links below it are PCIe: switched and direct ones start at 150


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
    if fact(f"{name}.experts").value:
        experts, each = fact(f"{name}.experts"), fact(f"{name}.experts_per_token")
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
        windowed = (fact(f"{name}.state_layers") / shape["layers"]).named(
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
    """What layers with a state keep of a request, in 16 bits, and take of a token; none where all attend."""
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
        state_bytes=chosen("state_bytes", 2.0, "16 bits, as engines keep it by default"),
        tp=chosen("tp", 1.0, "of all accelerators together"),
    )
    return {
        "state_bytes": convert(kept, "B"),
        "state_flop": (layers * state_flops_per_token(inputs, model)).named(
            "all_layers_flop", "Operations of all layers with a state for one token"
        ),
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


def served_chip(
    inputs: Inputs, accelerator: str, precision: str, *, engine: str = "", one_scale: bool = False
) -> Chip:
    """An accelerator as an engine uses it at a precision; `one_scale` as `has_one_scale` says.

    Matrices take the kernels of the engine where those were measured there, of any engine else.
    """
    keys = kernel_keys(precision, one_scale=one_scale)
    own = {name: kernel(inputs, accelerator, key, engine) for name, key in keys.items()}
    common = {name: kernel(inputs, accelerator, key) for name, key in ATTENTION.items()}
    return Chip(
        peak_tflop_per_s=peak_of(inputs, accelerator, precision),
        half_peak_tflop_per_s=inputs.fact(f"accelerator.{accelerator}.bf16_peak"),
        memory_gb_per_s=inputs.fact(f"accelerator.{accelerator}.memory_bandwidth"),
        half_matrix_fraction=kernel(inputs, accelerator, "matrix_share@bf16", engine),
        **own,
        **common,
    )


def has_one_scale(inputs: Inputs, model: str, engine: str) -> bool:
    """Whether experts in 8 bits have one scale a matrix, and the engine has kernels for it.

    Models that are released in 8 bits state the side of the blocks that share a scale (`fp8_block`).
    """
    return inputs.catalogue.engines[engine].one_scale and not inputs.catalogue.has(f"model.{model}.fp8_block")


def engine_of_kernels(inputs: Inputs, model: str, engine: str) -> str:
    """The engine whose kernels multiply a model: none in particular where it hears sound.

    Engines were measured on matrices of models that write. With them Whisper on eight H200 would come to 1.7
    times the published rate (MLPerf Inference v6.0), with the common ones to 1.2 times.
    """
    return "" if kind_of_model(inputs.catalogue, model) == SPEECH else engine


def kernel_keys(precision: str, *, one_scale: bool = False) -> dict[str, str]:
    """Facts of matrices at a precision, by their names in `Chip`; experts may have kernels of their own."""
    plain, grouped = kernels_of(precision), grouped_kernels_of(precision, one_scale=one_scale)
    return {name: f"{key}@{grouped if key.startswith('grouped') else plain}" for name, key in KERNELS.items()}


def kernel(inputs: Inputs, accelerator: str, name: str, engine: str = "") -> Fact:
    """What kernels reach on an accelerator.

    Those of the engine where they were measured there, of engines in general else, and what is assumed where
    nobody measured the accelerator.
    """
    own = f"kernel.{accelerator}.{name}"
    keys = (f"{own}-{engine}", own, f"kernel.prior.{name}")
    return inputs.fact(next((key for key in keys if inputs.catalogue.has(key)), keys[-1]))


def is_measured(inputs: Inputs, accelerator: str) -> bool:
    """Whether the kernels of an accelerator were measured."""
    return inputs.catalogue.has(f"kernel.{accelerator}.weight_read_share@bf16")


def served_replica(
    inputs: Inputs,
    *,
    model: str,
    accelerator: str,
    precision: str,
    engine: str,
    tp: float,
    dp: float = 1.0,
    cache_precision: str | None = None,
    pp: float = 1.0,
) -> tuple[Transformer, Chip, Engine, ReplicaLayout]:
    """What a step of one replica is made of, of values: the road of a plan for a question about one run.

    Raises:
        UnknownFact: the catalogue lacks the model, the accelerator or its rate at this precision.
        InputError: no SKU of the inputs has the accelerator.
    """
    at = next((k for k, one in enumerate(inputs.skus) if one.accelerator == accelerator), None)
    if at is None:
        raise InputError(f"no SKU has the accelerator '{accelerator}'")
    row = np.array([at], dtype=np.intp)
    split = [chosen(name, np.array([n]), "as stated") for name, n in (("tp", tp), ("dp", dp), ("pp", pp))]
    return (
        with_values(served_model(inputs, model, precision, cache_precision)),
        with_values(
            served_chip(
                inputs,
                accelerator,
                precision,
                engine=engine_of_kernels(inputs, model, engine),
                one_scale=has_one_scale(inputs, model, engine),
            )
        ),
        with_values(engine_constants(inputs, [engine], row, split[-1], frame_time(inputs, model))),
        with_values(replica_layout(inputs, row, *split)),
    )


def replica_layout(
    inputs: Inputs, sku: Indices, tp: Traced, dp: Traced, pp: Traced | None = None
) -> ReplicaLayout:
    """Links of replicas of SKUs: of groups that share attention, of ranks that hold experts, of stages."""
    ranks = chosen("ranks", np.asarray(tp.value) * np.asarray(dp.value), "accelerators of a stage")

    def of_size(what: str, accelerators: Traced) -> Traced:
        sizes = {
            name: inputs.of_sku([_ring(inputs, one.accelerator, f"{what}@{n}") for one in inputs.skus], sku)
            for name, n in (("at_two", 2), ("at_four", 4), ("at_eight", 8))
        }
        if what == "ring_share":
            return derive(
                ring_fraction, accelerators=accelerators, **{f"{n}_fraction": v for n, v in sizes.items()}
            )
        return derive(ring_latency_s, accelerators=accelerators, **{f"{n}_s": v for n, v in sizes.items()})

    link = inputs.of_sku(inputs.accelerator("link_bandwidth"), sku)
    return ReplicaLayout(
        tp=tp,
        dp=dp,
        ring_latency_s=of_size("ring_latency", tp),
        ring_gb_per_s=(link * of_size("ring_share", tp)).named(
            "ring_gb_per_s", "Bus bandwidth of an exchange"
        ),
        expert_latency_s=of_size("ring_latency", ranks),
        expert_gb_per_s=(link * of_size("ring_share", ranks)).named(
            "ring_gb_per_s", "Bus bandwidth of an exchange"
        ),
        **(
            {}
            if pp is None or np.all(np.asarray(pp.value) == 1.0)
            else _stage_links(inputs, sku, pp, link, of_size, ranks)
        ),
    )


def _stage_links(
    inputs: Inputs,
    sku: Indices,
    pp: Traced,
    link_gb_per_s: Traced,
    of_size: Callable[[str, Traced], Traced],
    ranks: Traced,
) -> dict[str, Traced]:
    """What passes a batch on: the link inside a domain of links, else the network between nodes."""
    pair = chosen("accelerators", 2.0, "one passes on to the next")
    domain = inputs.of_sku(inputs.accelerator("link_domain"), sku)
    apart = chosen(
        "apart",
        (np.asarray(ranks.value) * np.asarray(pp.value) > np.asarray(domain.value)).astype(float),
        "1 where the stages of a replica are more than fast links join",
    )
    return {
        "pp": pp,
        "stage_latency_s": derive(
            stage_latency_s,
            apart=apart,
            near_s=of_size("ring_latency", pair),
            far_s=inputs.fact("performance.training.ring_hop_far"),
        ),
        "stage_gb_per_s": derive(
            stage_gb_per_s,
            apart=apart,
            link_gb_per_s=link_gb_per_s,
            link_fraction=of_size("ring_share", pair),
            network_gb_per_s=inputs.of_sku(inputs.accelerator("network_bandwidth"), sku),
            network_fraction=inputs.fact("performance.training.network_efficiency"),
        ),
    }


def stage_latency_s(*, apart: Column, near_s: Column, far_s: Column) -> Column:
    """Time to pass a small batch on to the next stage.

    lat_p = lat(2) where fast links join the stages, a hop between nodes where they do not

    Source: an exchange of two is as long as a message and its answer; hops as of training.
    """
    result: Column = np.where(np.asarray(apart) > 0, far_s, near_s)
    return result


def stage_gb_per_s(
    *,
    apart: Column,
    link_gb_per_s: Column,
    link_fraction: Column,
    network_gb_per_s: Column,
    network_fraction: Column,
) -> Column:
    """Rate at which a batch is passed on to the next stage.

    N_p = e_2 N_l where fast links join the stages, e_i N between nodes

    Source: bus bandwidth of an exchange of two; share of the network as of training.
    """
    near, far = np.multiply(link_gb_per_s, link_fraction), np.multiply(network_gb_per_s, network_fraction)
    result: Column = np.where(np.asarray(apart) > 0, far, near)
    return result


def ring_fraction(
    *, at_two_fraction: Column, at_four_fraction: Column, at_eight_fraction: Column, accelerators: Column
) -> Column:
    """Bus bandwidth of an exchange over one way of the link, by the size of the group.

    As `group_size_value`.

    Source: interpolation between measured sizes.
    """
    return group_size_value(
        at_two=at_two_fraction,
        at_four=at_four_fraction,
        at_eight=at_eight_fraction,
        accelerators=accelerators,
    )


def ring_latency_s(
    *, at_two_s: Column, at_four_s: Column, at_eight_s: Column, accelerators: Column
) -> Column:
    """Time of a small exchange, by the size of the group.

    As `group_size_value`.

    Source: interpolation between measured sizes.
    """
    return group_size_value(
        at_two=at_two_s, at_four=at_four_s, at_eight=at_eight_s, accelerators=accelerators
    )


def _ring(inputs: Inputs, accelerator: str, name: str) -> Fact:
    own = f"kernel.{accelerator}.{name}"
    if inputs.catalogue.has(own):
        return inputs.fact(own)
    return inputs.fact(f"kernel.prior.{name}{'-pcie' if has_slow_links(inputs, accelerator) else ''}")


def has_slow_links(inputs: Inputs, accelerator: str) -> bool:
    """Whether accelerators of a node are joined by PCI Express alone."""
    return float(inputs.fact(f"accelerator.{accelerator}.link_bandwidth").value) < PCIE_GB_PER_S


def engine_of(inputs: Inputs, service: Service) -> str:
    """Name of the engine that serves: the service's, or the newest one."""
    return service.engine or inputs.catalogue.default_engine


def engine_title(inputs: Inputs, service: Service) -> str:
    """The engine that serves, as people name it."""
    return inputs.catalogue.engines[engine_of(inputs, service)].title


def engine_constants(
    inputs: Inputs,
    engines: Sequence[str],
    sku: Indices,
    pp: Traced | None = None,
    prompt_token_s: Traced | None = None,
) -> Engine:
    """What the engine of each row spends around the kernels of its accelerator, and on sound it hears."""
    constants = {parameter: _column(inputs, engines, sku, key) for parameter, key in ENGINE.items()}
    if prompt_token_s is not None:
        constants["prompt_token_s"] = prompt_token_s
    if pp is not None and np.any(np.asarray(pp.value) > 1.0):
        constants["stage_wait_fraction"] = _column(inputs, engines, sku, "stage_wait")
    return Engine(**constants)


def frame_time(inputs: Inputs, model: str) -> Traced | None:
    """Time of the host for a frame of sound; None of a model that does not hear."""
    if kind_of_model(inputs.catalogue, model) != SPEECH:
        return None
    return (
        inputs.fact("speech.default.spectrum_time") / inputs.fact(f"speech.{model}.encoder_tokens")
    ).named("frame_s", "Time of the host for a frame of sound")


def limits(inputs: Inputs, engines: Sequence[str], sku: Indices, batch_limit: Traced) -> Limits:
    """How much each group of a replica holds and reads at once."""
    return Limits(
        batch_limit=batch_limit,
        queue_places=inputs.fact("performance.serving.queue_places"),
        chunk_tokens=_column(inputs, engines, sku, "chunk_tokens"),
    )


def engine_batch_limit(inputs: Inputs, engines: Sequence[str], sku: Indices) -> Traced:
    """Requests that an engine holds at once on each row, memory aside."""
    return _column(inputs, engines, sku, "largest_batch")


def _column(inputs: Inputs, engines: Sequence[str], sku: Indices, key: str) -> Traced:
    pairs = list(dict.fromkeys(zip(engines, (int(k) for k in sku), strict=True)))
    facts = [engine_fact(inputs, engine, k, key) for engine, k in pairs]
    if all(fact is facts[0] for fact in facts):
        return facts[0]
    place = {pair: i for i, pair in enumerate(pairs)}
    return pick(facts, np.array([place[pair] for pair in zip(engines, (int(k) for k in sku), strict=True)]))


def engine_fact(inputs: Inputs, engine: str, sku: int, key: str) -> Fact:
    """A constant of an engine: of the accelerator, of its generation, of small memories, or of all."""
    one, room = inputs.skus[sku], f"performance.engine.{engine}.{key}"
    words = [one.accelerator, one.power_curve]
    if inputs.fact(f"accelerator.{one.accelerator}.memory").value < SMALL_MEMORY_GB:
        words.append("small-memory")
    return inputs.fact(next((f"{room}@{w}" for w in words if inputs.catalogue.has(f"{room}@{w}")), room))
