"""What one training step is given: the chip at a precision, the software that it runs, the model.

Plans, questions about hardware, calibration and the published cases all take it from here, as facts that
remember where they come from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from planner.inputs.catalogue import Facts
from planner.inputs.fits import EXCHANGES
from planner.inputs.loading import load_catalogue
from planner.inputs.software import Stack, default_stack
from planner.performance.adapters import adapter_parameters
from planner.performance.bundles import SplitLimits, search_bundles
from planner.performance.experts import attention_parameters, latent_attention_parameters
from planner.performance.hardware import precision_factor, precision_peak_tflop_per_s
from planner.performance.layouts import Layout, NoLayout, best_layout
from planner.performance.memory import kept_fraction
from planner.physics.hybrids import hybrid_arguments, is_hybrid
from planner.physics.precisions import FORMATS, kernels_of, value_bytes
from planner.trace.quantities import Fact, Traced, chosen, derive

SHAPE = ("layers", "hidden", "heads", "kv_heads", "ffn", "gated")
LAYOUT = ("tp", "pp", "interleave", "cp", "micro_batch", "recompute", "sharding", "ep")
EXPERTS = ("experts", "experts_per_token", "shared_experts")
WHOLE = (*SHAPE, "vocabulary", "link_domain", "sequence_parallel", "fused_attention")
# A leaf's parameter -> the constant of training software, where its stack states no other.
TRAINING_CONSTANTS = {
    "stack_factor": "stack_factor",
    "hidden_half_width": "hidden_half_width",
    "tokens_half": "tokens_half",
    "elementwise_bytes_per_value": "elementwise_bytes_per_value",
    "attention_efficiency_fraction": "attention_efficiency",
    "memory_efficiency_fraction": "memory_efficiency",
    "link_efficiency_fraction": "link_efficiency",
    "network_efficiency_fraction": "network_efficiency",
    "collective_latency_s": "collective_latency",
    "near_hop_s": "ring_hop_near",
    "far_hop_s": "ring_hop_far",
    "tensor_exposed_fraction": "tensor_exposed_modern",
    "fsdp_latency_s": "fsdp_latency",
    "fsdp_exposed_fraction": "fsdp_exposed",
    "pipeline_exposed_fraction": "pipeline_exposed_modern",
    "data_parallel_hidden_fraction": "data_parallel_hidden",
    "context_exposed_fraction": "context_exposed",
    "context_imbalance_fraction": "context_imbalance",
    "unread_redone_fraction": "unread_redone",
    "adapter_overhead_ratio": "adapter_overhead",
    "fixed_s": "fixed_time",
    "scale_drag_ratio": "scale_drag",
}
# The same for what only some models or precisions have.
EXPERT_CONSTANTS = {
    "load_imbalance_factor": "load_imbalance",
    "expert_exposed_fraction": "expert_exposed",
    "expert_exposed_interleaved_fraction": "expert_exposed_interleaved",
    "expert_network_efficiency_fraction": "expert_network_efficiency",
    "layer_launch_s": "layer_launch",
}
# The same of a chip and its software together, by a trace of one's own.
MEASURED = {"exchange_factor": "exchange_factor", "fixed_s": "fixed_time"}
ACCELERATOR_FACTS = {
    "attention_tflop_per_s": "bf16_peak",
    "memory_gb_per_s": "memory_bandwidth",
    "link_gb_per_s": "link_bandwidth",
    "network_gb_per_s": "network_bandwidth",
    "link_domain": "link_domain",
    "matrix_efficiency_fraction": "matrix_efficiency",
}
CALIBRATION = "performance.training.expert_calibration_factor"
# Replaced on a mixture of experts alone.
EXPERT_ONLY = frozenset({*EXPERT_CONSTANTS, "calibration_factor"})
# The fact of how much slower a simpler layout may be and is chosen, in training and in serving.
AS_FAST = "performance.layout.as_fast"
# The fact of the rank of adapters where none is stated.
ADAPTER_RANK = "performance.adapter.rank"
PRECISIONS = ("bf16", "fp16", "fp8", "mxfp8", "nvfp4", "mxfp4")  # of training
# What memory takes by precision and software, and the step does not.
MEMORY = {"gradient_bytes": "gradient_bytes"}
KEPT = "activation_fraction"
SPREAD = "shard_weights"  # whether software shards weights over copies, of which its layouts alone speak
# What is known of a mixture of experts next to its step: the rate of all steps, the weights of a token; and
# what its memory takes.
OUTSIDE_STEP = ("calibration_factor", "active_parameters", *MEMORY, KEPT, SPREAD)


@dataclass(frozen=True, slots=True)
class Workload:
    """What is trained, as far as a layout depends on it."""

    model: str
    precision: str
    sequence_tokens: int
    batch_sequences: int


def peak(facts: Facts, accelerator: str, precision: str) -> Fact:
    """Dense matrix rate at a precision.

    Raises:
        UnknownFact: the accelerator has no such matrix rate.
    """
    return facts.fact(f"accelerator.{accelerator}.{FORMATS[precision].peak}_peak")


def computes_in(facts: Facts, accelerator: str) -> tuple[str, ...]:
    """Precisions that an accelerator has matrix units for."""
    return tuple(
        name for name in PRECISIONS if facts.has(f"accelerator.{accelerator}.{FORMATS[name].peak}_peak")
    )


def without_precision(facts: Facts, accelerator: str, precision: str) -> str:
    """Why an accelerator cannot compute at a precision; empty where it can."""
    if precision not in PRECISIONS and facts.has(f"accelerator.{accelerator}.{FORMATS[precision].peak}_peak"):
        return ""  # a format of serving alone
    peaks = {name: peak(facts, accelerator, name).value for name in computes_in(facts, accelerator)}
    try:
        precision_peak_tflop_per_s(peaks_tflop_per_s=peaks, precision=precision)
    except ValueError as error:
        return f"{accelerator}: {error}"
    return ""


def hardware_arguments(
    facts: Facts, accelerator: str, precision: str, stack: Stack | None = None
) -> dict[str, Traced]:
    """What the step takes from a chip at a precision and from the software on it; by default its newest."""
    software, width = stack or default_stack(accelerator), kernels_of(precision)
    chip = f"accelerator.{accelerator}"
    found: dict[str, Traced] = {"matrix_tflop_per_s": peak(facts, accelerator, precision)}
    for parameter, name in ACCELERATOR_FACTS.items():
        inside = parameter == "network_gb_per_s" and not facts.has(f"{chip}.{name}")
        # A pod that is one fast domain has no published network behind it.
        found[parameter] = facts.fact(f"{chip}.{'link_bandwidth' if inside else name}")
    for parameter, name in (TRAINING_CONSTANTS | MEMORY).items():
        found[parameter] = facts.fact(f"performance.training.{name}")
    size = chosen("value_bytes", value_bytes(precision), f"one {precision} value")
    found[KEPT] = derive(kept_fraction, value_bytes=size)
    if facts.has(f"{chip}.link_efficiency"):
        found["link_efficiency_fraction"] = facts.fact(f"{chip}.link_efficiency")
    meshed = facts.has(f"{chip}.pair_links")
    found["pair_link_fraction"] = (
        facts.fact(f"{chip}.pair_links") if meshed else chosen("pair_link_fraction", 1.0, "by a switch")
    )
    found["precision_factor"] = _precision_factor(facts, chip, precision)
    for parameter, key in software.replaced(accelerator, width).items():
        if parameter not in EXPERT_ONLY:
            found[parameter] = facts.fact(key)
    if facts.has(EXCHANGES):
        found["exchange_factor"] = facts.fact(EXCHANGES)
    for parameter, name in MEASURED.items():
        if facts.has(key := f"performance.training.{name}@{accelerator}"):
            found[parameter] = facts.fact(key)
    if not software.hides_gradients:
        found["data_parallel_hidden_fraction"] = chosen("data_parallel_hidden_fraction", 0.0, software.says)
    fused = chosen("fused_attention", int(software.fused_attention), software.says)
    spread = chosen(SPREAD, int(software.shards_weights), software.says)
    return {**found, "sequence_parallel": _split(software), "fused_attention": fused, SPREAD: spread}


def _split(software: Stack) -> Traced:
    """Whether activations are split along the sequence; "selective" is where a stated layout decides."""
    return chosen("sequence_parallel", int(bool(software.sequence_parallel)), software.says)


def _precision_factor(facts: Facts, chip: str, precision: str) -> Traced:
    """Share of the peak that kernels of a precision reach over the share that 16-bit ones reach.

    The 16-bit share is the shipped one: what a run of one's own says of a chip moves all of its precisions.
    """
    width, shipped = kernels_of(precision), load_catalogue()
    if width == "bf16":
        return chosen("precision_factor", 1.0, f"{precision} is the precision of the peak")
    key = f"{chip}.matrix_efficiency"
    if not facts.has(f"{key}@{width}"):
        return facts.fact(f"performance.training.{width}_factor")
    wide = shipped.fact(key) if shipped.has(key) else facts.fact(key)
    return derive(
        precision_factor,
        narrow_efficiency_fraction=facts.fact(f"{key}@{width}"),
        efficiency_fraction=wide,
    )


def model_arguments(facts: Facts, model: str) -> dict[str, Traced]:
    """The shape of a model."""
    found: dict[str, Traced] = {name: facts.fact(f"model.{model}.{name}") for name in SHAPE}
    found["vocabulary"] = facts.fact(f"model.{model}.vocab")
    found["head_dim"] = facts.fact(f"model.{model}.head_dim")  # not always width over heads
    if facts.has(f"model.{model}.patch_pixels"):
        found["vocabulary"] = chosen("vocabulary", 0.0, "classes depend on one token")
        found["causal"] = chosen("causal", 0.0, "every patch sees every other")
    return found


def adapter_arguments(facts: Facts, model: str, rank: Traced) -> dict[str, Traced]:
    """What adapters of a rank next to frozen weights add to the arguments of the step."""
    shape = model_arguments(facts, model)
    widths = {name: shape[name] for name in ("hidden", "heads", "kv_heads", "head_dim")}
    return {"adapter_parameters": derive(adapter_parameters, rank=rank, **widths)}


def is_mixture(facts: Facts, model: str) -> bool:
    """Whether a model has experts, of which a token passes a few."""
    key = f"model.{model}.experts"
    return facts.has(key) and bool(facts.fact(key).value > 0)


def has_wide_experts(facts: Facts, model: str) -> bool:
    """Whether an expert is wider than the tokens that it is given."""
    name = f"model.{model}"
    given = f"{name}.expert_hidden" if facts.has(f"{name}.expert_hidden") else f"{name}.hidden"
    return bool(facts.fact(f"{name}.ffn").value > facts.fact(given).value)


def step_arguments(
    facts: Facts,
    model: str,
    accelerator: str,
    precision: str,
    *,
    stack: Stack | None = None,
    mixed: bool = False,
    with_hybrid: bool = False,
) -> dict[str, Traced]:
    """Everything that `training_step_s` wants and that does not depend on the layout.

    For a mixture of experts also `OUTSIDE_STEP`; where it is `mixed` with one in a column, for any model. So
    with what mixes the tokens of a hybrid of attention and state-space layers.
    """
    found = {**model_arguments(facts, model), **hardware_arguments(facts, accelerator, precision, stack)}
    if mixed or is_mixture(facts, model):
        software = stack or default_stack(accelerator)
        found.update(_expert_arguments(facts, model, accelerator, precision, software, found))
    if with_hybrid or is_hybrid(facts, model):
        mixers = hybrid_arguments(facts, model)
        plain = not is_hybrid(facts, model) and "mixer_parameters" in found
        found = {**mixers, **found} if plain else {**found, **mixers}
    return found


def latent_score_dim(*, head_dim: float, rotary_dim: float, value_dim: float) -> float:
    """Width of a head that costs the same scores and sums as one of latent attention.

    d = (d_head + d_R + d_v) / 2

    Queries meet keys of width d_head + d_R and sum values of width d_v; plainly both are of one width.

    Source: DeepSeek-AI, "DeepSeek-V2", arXiv 2405.04434, section 2.1.
    """
    return (head_dim + rotary_dim + value_dim) / 2.0


def _expert_arguments(
    facts: Facts, model: str, accelerator: str, precision: str, software: Stack, shape: dict[str, Traced]
) -> dict[str, Traced]:
    """What a mixture of experts adds to the arguments; a dense model is one with no experts."""
    name, mixture = f"model.{model}", is_mixture(facts, model)
    found: dict[str, Traced] = {
        part: facts.fact(f"{name}.{part}")
        if mixture and facts.has(f"{name}.{part}")
        else chosen(part, 0.0, f"{model} has none")
        for part in EXPERTS
    }
    found["expert_hidden"] = facts.fact(
        f"{name}.{'expert_hidden' if mixture and facts.has(f'{name}.expert_hidden') else 'hidden'}"
    )
    attention = {part: shape[part] for part in ("hidden", "heads")}
    if mixture and facts.has(f"{name}.latent_rank"):
        widths = {part: facts.fact(f"{name}.{part}") for part in ("head_dim", "rotary_dim", "value_dim")}
        ranks = {part: facts.fact(f"{name}.{part}") for part in ("query_rank", "latent_rank")}
        found["head_dim"] = derive(latent_score_dim, **widths)
        found["mixer_parameters"] = derive(latent_attention_parameters, **attention, **ranks, **widths)
    else:
        heads = {part: shape[part] for part in ("kv_heads", "head_dim")}
        found["mixer_parameters"] = derive(attention_parameters, **attention, **heads)
    replaced = software.replaced(accelerator, kernels_of(precision))
    for parameter, word in EXPERT_CONSTANTS.items():
        found[parameter] = facts.fact(replaced.get(parameter, f"performance.training.{word}"))
    kernels = kernels_of(precision)
    half, wide = (
        f"accelerator.{accelerator}.{part}@{kernels}"
        for part in ("grouped_half_tokens", "grouped_efficiency")
    )
    found["grouped_half_tokens"] = facts.fact(half if facts.has(half) else "performance.training.tokens_half")
    # Grouped kernels of serving engines in 8 and 4 bits scale by blocks of their own; training's do not.
    found["grouped_efficiency_fraction"] = (
        facts.fact(wide)
        if kernels == "bf16" and facts.has(wide)
        else chosen("grouped_efficiency_fraction", 1.0, "nobody measured grouped kernels of training")
    )
    tile = f"accelerator.{accelerator}.matrix_tile"
    found["grouped_tile"] = (
        facts.fact(tile)
        if facts.has(tile)
        else chosen("grouped_tile", 1.0, "nobody says how wide its grouped kernels are")
    )
    limited = mixture and facts.has(f"{name}.nodes_per_token")
    found["most_domains_per_token"] = (
        facts.fact(f"{name}.nodes_per_token")
        if limited
        else chosen("most_domains_per_token", max(1.0, float(found["experts"].value)), "no limit is known")
    )
    found["calibration_factor"] = (
        facts.fact(calibration_key(facts, model, kernels, replaced))
        if mixture
        else chosen("calibration_factor", 1.0, f"{model} is dense")
    )
    if not mixture:
        found["layer_launch_s"] = chosen("layer_launch_s", 0.0, f"{model} has no experts")
    found["active_parameters"] = facts.fact(f"{name}.{'active_parameters' if mixture else 'parameters'}")
    return found


def calibration_key(
    facts: Facts, model: str, kernels: str = "", replaced: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Fact of the measured rate of a mixture over the modelled one: by software, of hybrids, of wide experts.

    What surrounds experts is little where they are wide. Hybrids did not read faster where later releases
    made other mixtures so. Both have one factor of all software.
    """
    own = f"{CALIBRATION}@hybrid"
    if is_hybrid(facts, model):
        return f"{own}-{kernels}" if facts.has(f"{own}-{kernels}") else own
    if has_wide_experts(facts, model):
        return f"{CALIBRATION}@wide"
    return replaced.get("calibration_factor", CALIBRATION)


def layout_of(
    arguments: dict[str, Traced],
    *,
    accelerators: int,
    global_batch: int,
    sequence_tokens: int,
    memory_gb: float,
    usable_fraction: float,
    as_fast_fraction: float,
    limits: SplitLimits | None = None,
) -> Layout | NoLayout:
    """The layout that the planner would choose for a step with these arguments."""
    values: dict[str, Any] = {
        name: node.value
        for name, node in arguments.items()
        if name not in OUTSIDE_STEP or name in MEMORY or name in (KEPT, SPREAD)
    }
    values |= {name: int(values[name]) for name in (*WHOLE, *EXPERTS) if name in values}
    bundles = search_bundles(
        {
            **values,
            "accelerators": accelerators,
            "global_batch": global_batch,
            "sequence_tokens": sequence_tokens,
        }
    )
    if limits is not None:
        bundles["limits"] = replace(limits, shard_weights=bundles["limits"].shard_weights)
    return best_layout(
        **bundles,
        memory_gb=memory_gb,
        usable_fraction=usable_fraction,
        as_fast_fraction=as_fast_fraction,
    )
