"""Adapters of training performance: stated layouts and planned ones."""

from __future__ import annotations

import re
from collections.abc import Mapping

from planner.inputs.software import stack_named
from planner.performance.bundles import memory_bundles
from planner.performance.layouts import Layout, require_layout
from planner.performance.memory import training_memory_parts
from planner.performance.throughput import (
    mfu_fraction,
    model_flops_per_token,
)
from planner.physics.run_speed import throughput
from planner.physics.training_step import LAYOUT
from planner.trace.quantities import chosen
from planner.validation.aliases import alias_of, catalogue_name, constant
from planner.validation.forms import Book, NotUnderstood
from planner.validation.software import (
    sharding_stage,
    split_by_stack,
    stack_of_inputs,
    stack_of_year,
    vintage_of,
)
from planner.validation.stated import RECOMPUTE, SHARDING, StatedLayout, StatedShape
from planner.validation.steps import (
    Arguments,
    adapted,
    hardware,
    is_model_mixture,
    model_shape,
    model_step,
    planned,
    stated_shape,
    values,
)

TRAINING, ADAPTERS = "training throughput", "adapter training"
MIXTURES = "training throughput, mixtures of experts"  # held to other aims than dense models are
LORA = " LoRA"  # behind the name of a model: adapters next to its frozen weights

SPELLINGS = {
    "seq": ("sequence_tokens", 1.0),
    "vocab": ("vocabulary", 1.0),
    "vp": ("interleave", 1.0),
    "gated_mlp": ("gated", 1.0),
}
BOOK = Book(SPELLINGS)


@BOOK.takes("train", unit="1/s", subject=TRAINING, labels=("model", "params"))
def train(
    *,
    gpu: str,
    accelerators: int,
    layout: StatedLayout,
    global_batch: int,
    sequence_tokens: int,
    shape: StatedShape,
    vocabulary: int,
    recompute: str | None = None,
    dtype: str,
    software: str | None = None,
) -> float:
    """Tokens a second and accelerator on a stated layout, by the software of a stack.

    Where a row does not say what is recomputed, it is nothing where that fits in memory.
    """
    layout.require_known(recompute)
    require_layout(
        accelerators=accelerators,
        global_batch=global_batch,
        layers=shape.layers,
        heads=shape.heads,
        kv_heads=shape.kv_heads,
        sequence_tokens=sequence_tokens,
        split=layout.split(),
    )
    chip = catalogue_name("accelerator", gpu)
    ran = software or stack_of_inputs(chip, dtype, SHARDING[layout.dp_sharding.casefold()])
    laid = layout.arguments(sharding_stage(layout.dp_sharding, ran))
    arguments = {**stated_shape(shape.with_vocabulary(vocabulary)), **hardware(chip, dtype, ran)}
    redone = (
        _least_recompute(chip, arguments, laid, accelerators, global_batch, sequence_tokens)
        if recompute is None
        else RECOMPUTE[recompute]
    )
    laid["recompute"] = redone
    split = split_by_stack(stack_named(ran), redone)
    arguments["sequence_parallel"] = chosen("sequence_parallel", split, "by the stack and recomputation")
    return layout_rate(arguments, laid, accelerators, global_batch, sequence_tokens)


@BOOK.takes("train", unit="1/s", subject=TRAINING, labels=("params",))
def train_model(
    *,
    model: str,
    gpu: str,
    accelerators: int,
    layout: StatedLayout,
    ep: int = 1,
    global_batch: int,
    sequence_tokens: int,
    dtype: str,
    recompute: str | None = None,
    software: str | None = None,
) -> float:
    """Tokens a second and accelerator of a model of the catalogue on a stated layout.

    Experts are evenly loaded and no token is dropped, as in published runs. Where a row does not say what is
    recomputed, it is nothing where that fits in memory.
    """
    layout.require_known(recompute)
    chip, name = catalogue_name("accelerator", gpu), catalogue_name("model", model)
    ran = software or stack_of_inputs(chip, dtype, SHARDING[layout.dp_sharding.casefold()])
    arguments = model_step(name, chip, dtype, ran)
    if is_model_mixture(name):
        arguments["load_imbalance_factor"] = chosen("load_imbalance_factor", 1.0, "evenly loaded")
    counted = {part: round(float(arguments[part].value)) for part in ("layers", "heads", "kv_heads")}
    require_layout(
        accelerators=accelerators,
        global_batch=global_batch,
        sequence_tokens=sequence_tokens,
        experts=round(float(arguments["experts"].value)) if "experts" in arguments else 0,
        split=layout.split(ep),
        **counted,
    )
    laid = layout.arguments(sharding_stage(layout.dp_sharding, ran))
    if is_model_mixture(name):
        laid["ep"] = ep
    laid["recompute"] = (
        _least_recompute(chip, arguments, laid, accelerators, global_batch, sequence_tokens)
        if recompute is None
        else RECOMPUTE[recompute]
    )
    return layout_rate(arguments, laid, accelerators, global_batch, sequence_tokens)


MEMORY = (
    "layers",
    "hidden",
    "heads",
    "kv_heads",
    "ffn",
    "gated",
    "vocabulary",
    "head_dim",
    "mixer_parameters",
    "experts",
    "experts_per_token",
    "shared_experts",
    "expert_hidden",
    "predicted_tokens",
    "sequence_parallel",
    "fused_attention",
    "gradient_bytes",
    "activation_fraction",
)


def _least_recompute(
    chip: str,
    arguments: Arguments,
    layout: Mapping[str, float],
    accelerators: int,
    global_batch: int,
    sequence_tokens: int,
) -> int:
    """None where that fits in memory, else selective: published runs of such layouts redo no whole layer."""
    usable = constant("performance.training.usable_memory", "usable_fraction")
    memory_gb = constant(f"accelerator.{chip}.memory", "memory_gb")
    known = {name: arguments[name].value for name in MEMORY if name in arguments}
    run = {
        "accelerators": accelerators,
        "global_batch": global_batch,
        "sequence_tokens": sequence_tokens,
    }
    stated = {**known, **layout, **run, "recompute": RECOMPUTE["none"]}
    needed = training_memory_parts(**memory_bundles(stated))
    return RECOMPUTE["none" if needed.total_gb <= usable * memory_gb else "selective"]


def layout_rate(
    arguments: Arguments,
    layout: Mapping[str, float],
    accelerators: int,
    global_batch: int,
    sequence_tokens: int,
) -> float:
    """Tokens a second and accelerator by the planning path."""
    run = {
        **{name: chosen(name, value, "the layout") for name, value in layout.items()},
        "global_batch": chosen("global_batch", float(global_batch), "sequences of a step"),
        "sequence_tokens": chosen("sequence_tokens", float(sequence_tokens), "tokens of a sequence"),
    }
    _, rate = throughput({**arguments, **run}, chosen("gpus", float(accelerators), "accelerators"))
    return float(rate.value)


def planned_rate(
    chip: str, accelerators: int, global_batch: int, sequence_tokens: int, arguments: Arguments
) -> float:
    """Tokens a second and accelerator on the layout that the planner would choose."""
    found: Layout = planned(chip, accelerators, global_batch, sequence_tokens, arguments)
    layout = {name: float(getattr(found, name)) for name in LAYOUT if name != "ep" or "experts" in arguments}
    return layout_rate(arguments, layout, accelerators, global_batch, sequence_tokens)


def searched_model_rate(
    *,
    model: str,
    gpu: str,
    accelerators: int,
    global_batch: int,
    sequence_tokens: int,
    dtype: str,
    software: str | None = None,
) -> float:
    """Tokens a second and accelerator of a model of the catalogue on the planner's own layout."""
    chip, name = catalogue_name("accelerator", gpu), catalogue_name("model", model)
    arguments = model_step(name, chip, dtype, software)
    if is_model_mixture(name):
        arguments["load_imbalance_factor"] = chosen("load_imbalance_factor", 1.0, "evenly loaded")
    return planned_rate(chip, accelerators, global_batch, sequence_tokens, arguments)


@BOOK.takes("train_system", unit="1/s", subject=TRAINING, labels=("model", "params"))
def train_system(
    *,
    gpu: str,
    accelerators: int,
    global_batch: int,
    dtype: str,
    shape: StatedShape,
    vocabulary: int,
    sequence_tokens: int,
    software_year: int | None = None,
    software: str | None = None,
) -> dict[str, float]:
    """Tokens and sequences a second of a whole system, on the layout that the planner would choose.

    By the newest software that the chip runs where a row states neither a stack nor a year. Software older
    than any whose constants are known is slower by its dated factor.
    """
    chip = catalogue_name("accelerator", gpu)
    ran = software or (None if software_year is None else stack_of_year(chip, software_year))
    arguments = {**stated_shape(shape.with_vocabulary(vocabulary)), **hardware(chip, dtype, ran)}
    tokens = accelerators * planned_rate(chip, accelerators, global_batch, sequence_tokens, arguments)
    tokens *= vintage_of(chip, ran, software_year)
    return _by_sequence(tokens, sequence_tokens)


@BOOK.takes("train_system", unit="1/s", subject=TRAINING, labels=("params",))
def train_system_model(
    *,
    model: str,
    gpu: str,
    accelerators: int,
    global_batch: int,
    dtype: str,
    sequence_tokens: int | None = None,
    software: str | None = None,
) -> dict[str, float]:
    """Tokens and sequences a second of a whole system that trains a model of the catalogue, likewise."""
    length = sequence_tokens or benchmark_length(model)
    each = searched_model_rate(
        model=model,
        gpu=gpu,
        accelerators=accelerators,
        global_batch=global_batch,
        sequence_tokens=length,
        dtype=dtype,
        software=software,
    )
    return _by_sequence(accelerators * each, length)


def _by_sequence(tokens_per_s: float, sequence_tokens: int) -> dict[str, float]:
    """A rate of tokens, and that of the sequences or samples that they make up."""
    sequences = tokens_per_s / sequence_tokens
    return {"1/s": tokens_per_s, "sequences/s": sequences, "samples/s": sequences}


def benchmark_length(model: str) -> int:
    """Tokens of a sequence where a row leaves them to the training benchmark of its model."""
    length = alias_of("sequence_tokens", model.removesuffix(LORA))
    if length is None:
        raise NotUnderstood(f"seq is needed: no benchmark fixes it for '{model}'")
    return int(length)


@BOOK.takes("finetune_lora_system", unit="1/s", subject=ADAPTERS)
def finetune_lora_system(
    *,
    model: str,
    gpu: str,
    accelerators: int,
    global_batch: int,
    sequence_tokens: int | None = None,
    dtype: str,
    software: str | None = None,
) -> dict[str, float]:
    """Samples a second of a whole system that trains adapters next to frozen weights.

    Adapters of the usual rank on all four attention projections; weights frozen in 16 bits.
    """
    chip = catalogue_name("accelerator", gpu)
    length = sequence_tokens or benchmark_length(model)
    arguments = adapted(model_step(catalogue_name("model", model.removesuffix(LORA)), chip, dtype, software))
    samples = accelerators * planned_rate(chip, accelerators, global_batch, length, arguments) / length
    return {"1/s": samples, "samples/s": samples}


@BOOK.takes("train_mfu", unit="1", subject=TRAINING)
def train_mfu(
    *,
    accelerator: str,
    model: str,
    sequence_tokens: str | int,
    dtype: str = "bf16",
    accelerators: int | None = None,
) -> float:
    """Model utilisation with causal scores counted once, at a usual size and batch where none is given."""
    chip, name = catalogue_name("accelerator", accelerator), catalogue_name("model", model)
    length = _length_of(model, sequence_tokens)
    size = accelerators or round(constant("performance.mfu.chips", "chips"))
    batch = size * round(constant("performance.mfu.sequences_per_chip", "sequences"))
    arguments = model_step(name, chip, dtype)
    if is_model_mixture(name):
        arguments["load_imbalance_factor"] = chosen("load_imbalance_factor", 1.0, "evenly loaded")
    rate = planned_rate(chip, size, batch, length, arguments)
    shape = values(model_shape(name))
    flops = model_flops_per_token(
        parameters=constant(f"model.{name}.active_parameters", "parameters"),
        layers=shape["layers"],
        heads=shape["heads"],
        head_dim=shape["head_dim"],
        sequence_tokens=length,
        counted_scores_fraction=0.5,
    )
    peak = float(arguments["matrix_tflop_per_s"].value)
    return float(mfu_fraction(tokens_per_s_per_gpu=rate, flops_per_token=flops, peak_tflop_per_s=peak))


def _length_of(model: str, stated: str | int) -> int:
    """One sequence length, or that of the family in a list such as "4096 (Llama2) / 8192 (Llama3.1)"."""
    if isinstance(stated, int):
        return stated
    name = catalogue_name("model", model).replace("-", "")
    for length, family in re.findall(r"(\d+)\s*\(([^)]+)\)", stated):
        if name.startswith(family.casefold().replace("-", "").replace(" ", "")):
            return int(length)
    raise NotUnderstood(f"no sequence length for '{model}' in '{stated}'")


@BOOK.takes("train_gpu_hours", unit="h", subject=TRAINING)
def train_gpu_hours(
    *,
    model: str,
    gpu: str,
    shape: StatedShape,
    sequence_tokens: int,
    tokens: float,
    global_batch_tokens: float,
    dtype: str,
    vocabulary: int | None = None,
    accelerators: int | None = None,
) -> float:
    """Productive GPU-hours of a run on the planner's layout, at a usual size where none is given."""
    size = accelerators or round(constant("validation.training_gpus", "accelerators"))
    if vocabulary is None:
        vocabulary = round(constant(f"model.{catalogue_name('model', model)}.vocab", "vocabulary"))
    # A batch in tokens is printed rounded: the nearest multiple that many layouts divide.
    share = size // 8
    batch = max(share, share * round(global_batch_tokens / sequence_tokens / share))
    chip = catalogue_name("accelerator", gpu)
    arguments = {**stated_shape(shape.with_vocabulary(vocabulary)), **hardware(chip, dtype)}
    return tokens / planned_rate(chip, size, batch, sequence_tokens, arguments) / 3600.0
