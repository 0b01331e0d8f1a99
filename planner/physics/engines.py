"""Which engine serves, and what a step of it is made of on each SKU: model, accelerator, links, engine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planner.inputs.model_kinds import SPEECH, kind_of_model
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Service
from planner.performance.bundles import Limits
from planner.performance.engine import Chip, Engine, ReplicaLayout, Transformer, with_values
from planner.physics.links import replica_layout
from planner.physics.precisions import grouped_kernels_of, kernels_of, peak_of
from planner.physics.served_models import served_model
from planner.trace.columns import Indices
from planner.trace.errors import InputError
from planner.trace.quantities import Fact, Traced, chosen, pick

ENGINE = {
    "step_s": "step_time",
    "layer_s": "layer_time",
    "expert_layer_s": "expert_layer_time",
    "prompt_layer_s": "prompt_layer_time",
    "expert_prompt_layer_s": "expert_prompt_layer_time",
    "sequence_s": "sequence_time",
    "shared_s": "shared_time",
    "token_s": "token_time",
    "value_bytes": "value_bytes",
    "cache_factor": "cache_factor",
    "link_latency_factor": "link_latency_factor",
    "expert_link_factor": "expert_link_factor",
    "imbalance_factor": "imbalance_factor",
    "imbalance_exponent": "imbalance_exponent",
    "sends_to_all": "sends_to_all",
    "group_wait_fraction": "group_wait",
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
SMALL_MEMORY_GB = 70.0  # below it engines hold fewer requests at once and read shorter chunks


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
    keys = (*(f"{own}-{one}" for one in _with_followed(inputs, engine)), own, f"kernel.prior.{name}")
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
    one = inputs.skus[sku]
    words = [f"@{one.accelerator}", f"@{one.power_curve}"]
    if inputs.fact(f"accelerator.{one.accelerator}.memory").value < SMALL_MEMORY_GB:
        words.append("@small-memory")
    rooms = [f"performance.engine.{name}.{key}" for name in _with_followed(inputs, engine)]
    keys = [f"{room}{word}" for room in rooms for word in (*words, "")]
    return inputs.fact(next((key for key in keys if inputs.catalogue.has(key)), keys[-1]))


def _with_followed(inputs: Inputs, engine: str) -> tuple[str, ...]:
    """An engine, and the one whose facts hold for what it does not state."""
    known = inputs.catalogue.engines.get(engine)
    return (engine, known.follows) if known and known.follows else (engine,)
