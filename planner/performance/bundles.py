"""Bundles: arguments that travel together, under the field's names.

What a training step and its memory are made from is in five of them: the model, the run, the layout,
the chip and the software. Those who hold all of it under its plain names, as facts or as numbers, hand it
over with `step_bundles`, `memory_bundles` and `search_bundles`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from planner.performance.columns import Floats

# A number or a column; a traced one while a question is put together, which `derive` unwraps.
Entry = Any


class IsDataclass(Protocol):
    """What `dataclasses.fields` takes."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


Bundle = TypeVar("Bundle", bound=IsDataclass)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedTransformer:
    """A model that is trained: its shape, and what makes it other than dense and causal.

    `causal` 0 attends both ways; for each layer `attention_fraction` attend, and others keep a state:
    `state_space_flops_per_token` and `mixer_parameters` are then means over all layers. Routed experts see
    tokens `expert_hidden` wide, `hidden` where None. `predicted_tokens` of each place are trained.
    `adapter_parameters` of each layer above 0 are trained and everything else is frozen.
    """

    layers: Entry
    hidden: Entry
    heads: Entry
    kv_heads: Entry
    ffn: Entry
    gated: Entry
    vocabulary: Entry
    head_dim: Entry = None
    mixer_parameters: Entry = None
    causal: Entry = 1.0
    attention_fraction: Entry = 1.0
    state_space_flops_per_token: Entry = 0.0
    experts: Entry = 0.0
    experts_per_token: Entry = 0.0
    shared_experts: Entry = 0.0
    expert_hidden: Entry = None
    predicted_tokens: Entry = 1.0
    most_domains_per_token: Entry = np.inf
    adapter_parameters: Entry = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRun:
    """What each step trains on, and with how many accelerators."""

    sequence_tokens: Entry
    global_batch: Entry
    accelerators: Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """How a model and its batch are divided: over tensors, stages, the sequence, micro-batches, experts."""

    tp: Entry
    pp: Entry
    interleave: Entry
    cp: Entry
    micro_batch: Entry
    ep: Entry = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingLayout(Split):
    """How a model is divided, and what each accelerator keeps: codes as `memory` explains them."""

    recompute: Entry
    sharding: Entry
    sequence_parallel: Entry
    fused_attention: Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingChip:
    """An accelerator in training: dense peaks, memory, links, and what matrices of a precision reach.

    `precision_factor` is the share of its peak that the training precision reaches over the share that 16
    bits do; `narrow_fraction` of the layers' multiplications run in it, the others in 16 bits. Grouped
    matrices of experts reach `grouped_efficiency_fraction` of the peak at most, and half of their speed at
    `grouped_half_tokens` an expert, those of the software where none are given; they are made up of whole
    tiles, `grouped_tile` to a side. `pair_link_fraction` of its links lead to any one other in its
    domain; it is 1 by a switch.
    """

    matrix_tflop_per_s: Entry
    attention_tflop_per_s: Entry
    memory_gb_per_s: Entry
    link_gb_per_s: Entry
    network_gb_per_s: Entry
    link_domain: Entry
    matrix_efficiency_fraction: Entry
    precision_factor: Entry
    narrow_fraction: Entry = 1.0
    grouped_half_tokens: Entry = None
    grouped_efficiency_fraction: Entry = 1.0
    grouped_tile: Entry = 1.0
    pair_link_fraction: Entry = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSoftware:
    """Constants of training software, fitted together; experts' own where a model has them.

    `exchange_factor` is what a trace shows of exposed exchanges over what the others say of them.
    """

    stack_factor: Entry
    hidden_half_width: Entry
    tokens_half: Entry
    elementwise_bytes_per_value: Entry
    attention_efficiency_fraction: Entry
    memory_efficiency_fraction: Entry
    link_efficiency_fraction: Entry
    network_efficiency_fraction: Entry
    collective_latency_s: Entry
    tensor_exposed_fraction: Entry
    fsdp_latency_s: Entry
    fsdp_exposed_fraction: Entry
    pipeline_exposed_fraction: Entry
    data_parallel_hidden_fraction: Entry
    fixed_s: Entry
    scale_drag_ratio: Entry
    context_exposed_fraction: Entry = 0.0
    context_imbalance_fraction: Entry = 0.0
    unread_redone_fraction: Entry = 1.0
    load_imbalance_factor: Entry = 1.0
    expert_exposed_fraction: Entry = 1.0
    expert_exposed_interleaved_fraction: Entry = None
    expert_network_efficiency_fraction: Entry = None
    layer_launch_s: Entry = 0.0
    near_hop_s: Entry = 0.0
    far_hop_s: Entry = 0.0
    exchange_factor: Entry = 1.0
    adapter_overhead_ratio: Entry = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptBytes:
    """Bytes kept of each parameter, and the share kept of 16-bit activations.

    By default as mixed-precision Adam: bf16 weights, fp32 gradients, fp32 weights and two moments.
    """

    weight_bytes: Entry = 2.0
    gradient_bytes: Entry = 4.0
    optimizer_bytes: Entry = 12.0
    activation_fraction: Entry = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitLimits:
    """How far a search goes: sizes that nobody exceeds. `shard_gradients` 1 also tries ZeRO-2.

    `shard_weights` 0 leaves ZeRO-3 out. Stages, and copies of the model, are multiples of `stages_of` and
    `copies_of`: places that share a run take whole ones. Stages of several places are not cut into chunks,
    which would go to and fro between them.
    """

    largest_micro_batch: int = 8
    largest_cp: int = 8
    largest_interleave: int = 8
    spare_layers: int = 2
    shard_gradients: int = 0
    shard_weights: int = 1
    stages_of: int = 1
    copies_of: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """What an accelerator exchanges over: links of its fast domain, and the network behind them."""

    link_domain: Entry
    link_gb_per_s: Entry
    network_gb_per_s: Entry
    link_efficiency_fraction: Entry
    network_efficiency_fraction: Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """What a step waits for next to its links, and what hides behind its arithmetic."""

    fsdp_latency_s: Entry
    fsdp_exposed_fraction: Entry
    data_parallel_hidden_fraction: Entry
    fixed_s: Entry
    scale_drag_ratio: Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingModel:
    """A recommendation model: dense layers below and above the interaction, and embedding tables."""

    bottom_multiplications: Entry
    top_multiplications: Entry
    dense_parameters: Entry
    elementwise_values: Entry
    tables: Entry
    lookups: Entry
    embedding_dim: Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingBytes:
    """Bytes of an embedded value, of one that is exchanged, of a gradient, and that the optimizer moves."""

    table_bytes: Entry
    value_bytes: Entry
    gradient_bytes: Entry
    optimizer_bytes: Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingChip:
    """An accelerator that scores or trains: dense peak, memory, and the shares of both that are reached."""

    peak_tflop_per_s: Entry
    memory_gb_per_s: Entry
    matrix_efficiency_fraction: Entry
    memory_efficiency_fraction: Entry


def named(bundle: IsDataclass) -> dict[str, Any]:
    """What a bundle holds, by name."""
    return {f.name: getattr(bundle, f.name) for f in fields(bundle)}


def _one() -> Floats:
    """Prompts that are alike, whose answers spread like exponential ones: all that means can say."""
    return np.ones(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Requests:
    """Lengths of requests: means, and classes of prompts on the last axis of the other columns.

    As of `prompt_classes`: share of requests, mean prompt and answer of a class over those of all, spread of
    its answers. Where only means are known there is one class, whose answers spread like exponential ones.
    """

    input_tokens: Entry
    output_tokens: Entry
    share_fraction: Entry = field(default_factory=_one)
    input_ratio: Entry = field(default_factory=_one)
    output_ratio: Entry = field(default_factory=_one)
    output_scv_ratio: Entry = field(default_factory=_one)


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """When a first token and each further one are in time, and for which share of them; 0 compares means."""

    ttft_target_s: Entry
    tpot_target_s: Entry
    quantile_fraction: Entry
    tpot_quantile_fraction: Entry = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Requests that each group of a replica holds, that may wait for it, and prompt tokens of a step.

    An engine that schedules `interval_steps` at once reads prompts in every so many steps alone. So many
    replicas as are `pooled` take prompts from one queue, to whichever is free first; 1 where each replica is
    dealt its own.
    """

    batch_limit: Entry
    queue_places: Entry
    chunk_tokens: Entry
    interval_steps: Entry = 1.0
    pooled: Entry = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Points on the last axis at which an engine was measured, and its factors (`serving_factor_at`)."""

    batches: Entry = field(default_factory=_one)
    factors: Entry = field(default_factory=_one)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guesses:
    """Tokens guessed ahead for each request in a step, and tokens that the step gives it on average.

    Of a prompt `read_fraction` is read, and the rest known from earlier ones: it takes room all the same.
    """

    draft_tokens: Entry
    accepted_tokens: Entry
    read_fraction: Entry = 1.0


def worked_on(requests: Requests, guesses: Guesses | None) -> Requests:
    """Requests by the steps that they take and the tokens that are read of them."""
    if guesses is None:
        return requests
    steps = np.maximum(np.asarray(requests.output_tokens) / guesses.accepted_tokens, 1.0)
    read = np.maximum(np.asarray(requests.input_tokens) * guesses.read_fraction, 1.0)
    return replace(requests, output_tokens=steps, input_tokens=read)


def bundled(values: Mapping[str, Any], **kinds: type[Any]) -> dict[str, Any]:
    """What was given under plain names in bundles of these kinds; the rest keeps its name.

    A name that two bundles have goes to the first; a bundle's own default stays where nothing is given.
    """
    left, found = dict(values), dict[str, Any]()
    for name, kind in kinds.items():
        found[name] = kind(**{f.name: left.pop(f.name) for f in fields(kind) if f.name in left})
    return found | left


def step_bundles(values: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of `training_step_s`."""
    return bundled(values, **_MADE, chip=TrainingChip, software=TrainingSoftware)


def memory_bundles(values: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of `training_memory_parts`."""
    return bundled(values, **_MADE, kept=KeptBytes)


def search_bundles(values: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of `best_layout`; memory and what the software splits or fuses stay by name."""
    made = {name: kind for name, kind in _MADE.items() if name != "layout"}
    more = {"chip": TrainingChip, "software": TrainingSoftware, "kept": KeptBytes, "limits": SplitLimits}
    return bundled(values, **made, **more)


def ranking_bundles(values: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of `recommendation_training_step` from what is held under plain names."""
    return bundled(values, model=RankingModel, kept=RankingBytes, chip=RankingChip, links=Links)


_MADE = {"model": TrainedTransformer, "run": TrainingRun, "layout": TrainingLayout}
