"""Adapters of training performance: stated layouts, planned ones, scaling, closed forms."""

from __future__ import annotations

import re
from typing import Any

from planner.inputs.catalogue import load_catalogue
from planner.performance.adapters import adapter_parameters
from planner.performance.layouts import Layout, best_layout, require_layout
from planner.performance.throughput import (
    calibration_ratio,
    mfu_fraction,
    model_flops_per_token,
    tokens_per_s_per_gpu,
    training_time_h,
)
from planner.performance.training import training_step_s
from planner.physics.training_options import ACCELERATOR_FACTS
from planner.validation.aliases import aliases, catalogue_name, constant
from planner.validation.forms import Book, NotUnderstood
from planner.validation.software import (
    sharding_stage,
    stack_constants,
    stack_of_inputs,
    stack_vintage,
    vintage,
)
from planner.validation.steps import RECOMPUTE, SHARDING, hardware, model_shape, modern_stack, planned_rate

TRAINING = "training throughput"

BOOK = Book(
    {
        "seq": ("sequence_tokens", 1.0),
        "vocab": ("vocabulary", 1.0),
        "vp": ("interleave", 1.0),
        "gated_mlp": ("gated", 1.0),
        "params": ("parameters", 1.0),
        "tflops_per_gpu": ("achieved_tflop_per_s", 1.0),
        "flops_per_param_token": ("flops_per_parameter_token", 1.0),
        "peak_tflops": ("peak_tflop_per_s", 1.0),
    }
)


@BOOK.takes("train", unit="1/s", subject=TRAINING)
def train(
    *,
    gpu: str,
    gpus: int,
    tp: int,
    pp: int,
    interleave: int = 1,
    cp: int = 1,
    global_batch: int,
    micro_batch: int,
    sequence_tokens: int,
    layers: int,
    hidden: int,
    heads: int,
    kv_heads: int,
    ffn: int,
    gated: bool,
    vocabulary: int,
    dp_sharding: str,
    recompute: str,
    dtype: str,
    software: str | None = None,
) -> float:
    """Tokens a second and accelerator on a stated layout, by the software of a stack."""
    if dp_sharding not in SHARDING or recompute not in RECOMPUTE:
        raise NotUnderstood(f"unknown layout words '{dp_sharding}', '{recompute}'")
    require_layout(
        gpus=gpus,
        global_batch=global_batch,
        layers=layers,
        heads=heads,
        kv_heads=kv_heads,
        sequence_tokens=sequence_tokens,
        tp=tp,
        pp=pp,
        interleave=interleave,
        cp=cp,
        micro_batch=micro_batch,
    )
    chip = catalogue_name("accelerator", gpu)
    ran = software or stack_of_inputs(chip, dtype, SHARDING[dp_sharding])
    step = training_step_s(
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=kv_heads,
        ffn=ffn,
        gated=int(gated),
        vocabulary=vocabulary,
        sequence_tokens=sequence_tokens,
        gpus=gpus,
        global_batch=global_batch,
        tp=tp,
        pp=pp,
        interleave=interleave,
        cp=cp,
        micro_batch=micro_batch,
        recompute=RECOMPUTE[recompute],
        sharding=sharding_stage(dp_sharding, ran),
        **hardware(chip, dtype),
        **stack_constants(ran, chip=chip, recompute=RECOMPUTE[recompute]),
    )
    return float(
        tokens_per_s_per_gpu(
            global_batch=global_batch, sequence_tokens=sequence_tokens, step_s=step.total_s, gpus=gpus
        )
    )


@BOOK.takes("train_system", unit="1/s", subject=TRAINING, labels=("model", "params"))
def train_system(
    *,
    gpu: str,
    gpus: int,
    global_batch: int,
    dtype: str,
    layers: int,
    hidden: int,
    heads: int,
    kv_heads: int,
    ffn: int,
    gated: bool,
    vocabulary: int,
    sequence_tokens: int,
    software_year: int | None = None,
    software: str | None = None,
) -> dict[str, float]:
    """Tokens and sequences a second of a whole system, on the layout that the planner would choose.

    Software older than that of the constants is slower by its dated factor; a row that states neither a year
    nor a stack is answered for the software that the planner assumes.
    """
    shape = {
        "layers": layers,
        "hidden": hidden,
        "heads": heads,
        "kv_heads": kv_heads,
        "ffn": ffn,
        "gated": int(gated),
        "vocabulary": vocabulary,
    }
    tokens = gpus * planned_rate(gpu, gpus, global_batch, sequence_tokens, dtype, shape)
    chip = catalogue_name("accelerator", gpu)
    if software_year is not None:
        tokens *= vintage(chip, software_year)
    elif software is not None:
        tokens *= stack_vintage(chip, software)
    return {"1/s": tokens, "sequences/s": tokens / sequence_tokens}


@BOOK.takes("finetune_lora_system", unit="1/s", subject=TRAINING)
def finetune_lora_system(
    *, model: str, gpu: str, gpus: int, global_batch: int, sequence_tokens: int, dtype: str
) -> dict[str, float]:
    """Samples a second of a whole system that trains adapters next to frozen weights.

    Adapters of the usual rank on all four attention projections; weights frozen in 16 bits.
    """
    chip = catalogue_name("accelerator", gpu)
    shape = model_shape(catalogue_name("model", model))
    trained = adapter_parameters(
        rank=constant("performance.adapter.rank", "rank"),
        hidden=shape["hidden"],
        heads=shape["heads"],
        kv_heads=shape["kv_heads"],
    )
    step = {**hardware(chip, dtype), **modern_stack(), "adapter_parameters": float(trained)}
    tokens = gpus * _searched_rate(chip, gpus, global_batch, sequence_tokens, shape, step)
    return {"1/s": tokens / sequence_tokens, "samples/s": tokens / sequence_tokens}


@BOOK.takes("train_mfu", unit="1", subject=TRAINING)
def train_mfu(
    *,
    accelerator: str,
    model: str,
    sequence_tokens: str | int,
    dtype: str = "bf16",
    gpus: int | None = None,
) -> float:
    """Model utilisation with causal scores counted once, at a usual size and batch where none is given."""
    chip, name = catalogue_name("accelerator", accelerator), catalogue_name("model", model)
    shape, length = model_shape(name), _length_of(model, sequence_tokens)
    size = gpus or round(constant("performance.mfu.chips", "chips"))
    step = _pod_hardware(chip, dtype, size)
    batch = size * round(constant("performance.mfu.sequences_per_chip", "sequences"))
    rate = _searched_rate(chip, size, batch, length, shape, {**step, **modern_stack()})
    flops = model_flops_per_token(
        parameters=constant(f"model.{name}.active_parameters", "parameters"),
        layers=shape["layers"],
        heads=shape["heads"],
        head_dim=shape["hidden"] / shape["heads"],
        sequence_tokens=length,
        counted_scores_fraction=0.5,
    )
    return float(
        mfu_fraction(
            tokens_per_s_per_gpu=rate, flops_per_token=flops, peak_tflop_per_s=step["matrix_tflop_per_s"]
        )
    )


def _pod_hardware(chip: str, dtype: str, size: int) -> dict[str, float]:
    """Hardware of a system inside one fast domain, where no exchange uses the network behind it."""
    domain = round(constant(f"accelerator.{chip}.link_domain", "link_domain"))
    if size > domain or load_catalogue().has(f"accelerator.{chip}.network_bandwidth"):
        return hardware(chip, dtype)
    facts = {
        name: constant(f"accelerator.{chip}.{word}", name)
        for name, word in ACCELERATOR_FACTS.items()
        if name != "network_gb_per_s"
    }
    peak = constant(f"accelerator.{chip}.{dtype}_peak", "matrix_tflop_per_s")
    return {
        **facts,
        "network_gb_per_s": facts["link_gb_per_s"],
        "matrix_tflop_per_s": peak,
        "precision_factor": 1.0,
    }


def _length_of(model: str, stated: str | int) -> int:
    """One sequence length, or that of the family in a list such as "4096 (Llama2) / 8192 (Llama3.1)"."""
    if isinstance(stated, int):
        return stated
    for length, family in re.findall(r"(\d+)\s*\(([^)]+)\)", stated):
        if model.casefold().startswith(family.casefold()):
            return int(length)
    raise NotUnderstood(f"no sequence length for '{model}' in '{stated}'")


def _searched_rate(
    chip: str,
    gpus: int,
    global_batch: int,
    sequence_tokens: int,
    shape: dict[str, int],
    step: dict[str, float],
) -> float:
    """Tokens a second and accelerator on the planner's layout, on stated hardware."""
    whole = {name: round(step[name]) for name in ("link_domain", "sequence_parallel", "fused_attention")}
    arguments: dict[str, Any] = {**shape, **step, **whole}
    found = best_layout(
        gpus=gpus,
        global_batch=global_batch,
        sequence_tokens=sequence_tokens,
        **arguments,
        memory_gb=constant(f"accelerator.{chip}.memory", "memory_gb"),
        usable_fraction=constant("performance.training.usable_memory", "usable_fraction"),
    )
    if not isinstance(found, Layout):
        raise NotUnderstood(found.reason)
    return found.tokens_per_s_per_gpu


@BOOK.takes("train_gpu_hours", unit="h", subject=TRAINING)
def train_gpu_hours(
    *,
    model: str,
    gpu: str,
    layers: int,
    hidden: int,
    heads: int,
    kv_heads: int,
    ffn: int,
    gated: bool,
    sequence_tokens: int,
    tokens: float,
    global_batch_tokens: float,
    dtype: str,
    vocabulary: int | None = None,
    gpus: int | None = None,
) -> float:
    """Productive GPU-hours of a run on the planner's layout, at a usual size where none is given."""
    size = gpus or round(constant("validation.training_gpus", "gpus"))
    if vocabulary is None:
        vocabulary = round(constant(f"model.{catalogue_name('model', model)}.vocab", "vocabulary"))
    shape = {
        "layers": layers,
        "hidden": hidden,
        "heads": heads,
        "kv_heads": kv_heads,
        "ffn": ffn,
        "gated": int(gated),
        "vocabulary": vocabulary,
    }
    # A batch in tokens is printed rounded: the nearest multiple that many layouts divide.
    share = size // 8
    batch = max(share, share * round(global_batch_tokens / sequence_tokens / share))
    return tokens / planned_rate(gpu, size, batch, sequence_tokens, dtype, shape) / 3600.0


@BOOK.takes("scale_from_anchor", unit="1/s", subject=TRAINING)
def scale_from_anchor(
    *,
    model: str,
    gpu: str,
    dtype: str,
    anchor_gpus: int,
    anchor_global_batch: int,
    anchor_value: float,
    gpus: int,
    global_batch: int,
    tp: int | None = None,
    pp: int | None = None,
    interleave: int | None = None,
    sequence_tokens: int | None = None,
    software: str | None = None,
) -> dict[str, float]:
    """One measured size sets one factor; another size follows.

    Answers what the anchor is in: a rate of tokens or sequences, or seconds for each step. A stated layout
    has a micro-batch of 1 and selective recomputation; none is the planner's. "LoRA" behind the name of
    a model means adapters next to its frozen weights.
    """
    base, adapted = model.removesuffix(" LoRA"), model.endswith(" LoRA")
    name = catalogue_name("model", base)
    length = sequence_tokens or aliases("sequence_tokens").get(model)
    if length is None:
        raise NotUnderstood(f"scale_from_anchor needs seq: no benchmark fixes it for '{model}'")
    shape = model_shape(name)
    gated = bool(shape["gated"])

    def rate(size: int, batch: int) -> float:
        if adapted:
            return finetune_lora_system(
                model=base, gpu=gpu, gpus=size, global_batch=batch, sequence_tokens=length, dtype=dtype
            )["samples/s"]
        if tp is None or pp is None:
            return size * planned_rate(gpu, size, batch, length, dtype, shape)
        return size * train(
            gpu=gpu,
            gpus=size,
            tp=tp,
            pp=pp,
            interleave=interleave or 1,
            global_batch=batch,
            micro_batch=1,
            sequence_tokens=length,
            dp_sharding="none_or_optimizer",
            recompute="selective",
            dtype=dtype,
            gated=gated,
            software=software,
            **{part: size for part, size in shape.items() if part != "gated"},
        )

    modelled, anchor = rate(gpus, global_batch), rate(anchor_gpus, anchor_global_batch)
    factor = float(calibration_ratio(measured_tokens_per_s=anchor_value, modelled_tokens_per_s=anchor))
    step_ratio = (global_batch / modelled) / (anchor_global_batch / anchor)
    rates = dict.fromkeys(("1/s", "sequences/s", "samples/s"), factor * modelled)
    return {**rates, "s": anchor_value * step_ratio}


@BOOK.takes("train_days_closed_form", unit="h", subject=TRAINING)
def training_days(
    *,
    parameters: float,
    tokens: float,
    gpus: float,
    achieved_tflop_per_s: float,
    flops_per_parameter_token: float,
) -> float:
    """Hours of pure training from an achieved rate."""
    return float(
        training_time_h(
            parameters=parameters,
            tokens=tokens,
            gpus=gpus,
            achieved_tflop_per_s=achieved_tflop_per_s,
            flops_per_parameter_token=flops_per_parameter_token,
        )
    )


@BOOK.takes("mfu", unit="1", subject=TRAINING)
def mfu(
    *,
    parameters: float,
    layers: float,
    heads: float,
    head_dim: float,
    sequence_tokens: float,
    tokens_per_s: float,
    chips: float,
    peak_tflop_per_s: float,
) -> float:
    """Share of the dense peak that a measured rate uses."""
    flops = model_flops_per_token(
        parameters=parameters, layers=layers, heads=heads, head_dim=head_dim, sequence_tokens=sequence_tokens
    )
    return float(
        mfu_fraction(
            tokens_per_s_per_gpu=tokens_per_s / chips,
            flops_per_token=flops,
            peak_tflop_per_s=peak_tflop_per_s,
        )
    )


@BOOK.takes("gpu_hours_closed_form", unit="h", subject=TRAINING, labels=("gpu", "model"))
def gpu_hours(
    *,
    tokens: float,
    gpu_hours_per_1e12_tokens: float,
    context_extension_hours: float = 0.0,
    post_training_hours: float = 0.0,
) -> float:
    """Sum of the phases of a run, the first by its measured rate."""
    return tokens / 1e12 * gpu_hours_per_1e12_tokens + context_extension_hours + post_training_hours
