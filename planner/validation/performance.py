"""Adapters of training performance: stated layouts, planned ones, scaling, closed forms."""

from __future__ import annotations

from planner.performance.throughput import (
    calibration_ratio,
    mfu_fraction,
    model_flops_per_token,
    tokens_per_s_per_gpu,
    training_time_h,
)
from planner.performance.training import training_step_s
from planner.validation.aliases import aliases, catalogue_name, constant
from planner.validation.forms import Book, NotUnderstood
from planner.validation.steps import RECOMPUTE, SHARDING, hardware, model_shape, planned_rate, software

TRAINING = "training throughput"

BOOK = Book({
    "seq": ("sequence_tokens", 1.0), "vocab": ("vocabulary", 1.0), "vp": ("interleave", 1.0),
    "gated_mlp": ("gated", 1.0), "params": ("parameters", 1.0),
    "tflops_per_gpu": ("achieved_tflop_per_s", 1.0),
    "flops_per_param_token": ("flops_per_parameter_token", 1.0), "peak_tflops": ("peak_tflop_per_s", 1.0),
})  # fmt: skip


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
) -> float:
    """Tokens a second and accelerator on a stated layout."""
    if dp_sharding not in SHARDING or recompute not in RECOMPUTE:
        raise NotUnderstood(f"unknown layout words '{dp_sharding}', '{recompute}'")
    chip = catalogue_name("accelerator", gpu)
    step = training_step_s(
        layers=layers, hidden=hidden, heads=heads, kv_heads=kv_heads, ffn=ffn, gated=int(gated),
        vocabulary=vocabulary,
        sequence_tokens=sequence_tokens, gpus=gpus, global_batch=global_batch, tp=tp, pp=pp,
        interleave=interleave,
        cp=cp, micro_batch=micro_batch, recompute=RECOMPUTE[recompute], sharding=SHARDING[dp_sharding],
        **hardware(chip, dtype), **software(chip, dtype, recompute, SHARDING[dp_sharding]),
    )  # fmt: skip
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
) -> dict[str, float]:
    """Tokens and sequences a second of a whole system, on the layout that the planner would choose."""
    shape = {
        "layers": layers, "hidden": hidden, "heads": heads, "kv_heads": kv_heads, "ffn": ffn,
        "gated": int(gated),
        "vocabulary": vocabulary,
    }  # fmt: skip
    tokens = gpus * planned_rate(gpu, gpus, global_batch, sequence_tokens, dtype, shape)
    return {"1/s": tokens, "sequences/s": tokens / sequence_tokens}


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
        "layers": layers, "hidden": hidden, "heads": heads, "kv_heads": kv_heads, "ffn": ffn,
        "gated": int(gated),
        "vocabulary": vocabulary,
    }  # fmt: skip
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
) -> dict[str, float]:
    """One measured size sets one factor; another size follows.

    Answers what the anchor is in: a rate of tokens or sequences, or seconds for each step. A stated layout
    has a micro-batch of 1 and selective recomputation; none is the planner's.
    """
    name = catalogue_name("model", model)
    length = sequence_tokens or aliases("sequence_tokens").get(model)
    if length is None:
        raise NotUnderstood(f"scale_from_anchor needs seq: no benchmark fixes it for '{model}'")
    shape = model_shape(name)
    gated = bool(shape["gated"])

    def rate(size: int, batch: int) -> float:
        if tp is None or pp is None:
            return size * planned_rate(gpu, size, batch, length, dtype, shape)
        return size * train(
            gpu=gpu, gpus=size, tp=tp, pp=pp, interleave=interleave or 1, global_batch=batch, micro_batch=1,
            sequence_tokens=length, dp_sharding="none_or_optimizer", recompute="selective", dtype=dtype,
            gated=gated, **{part: size for part, size in shape.items() if part != "gated"},
        )  # fmt: skip

    modelled, anchor = rate(gpus, global_batch), rate(anchor_gpus, anchor_global_batch)
    factor = float(calibration_ratio(measured_tokens_per_s=anchor_value, modelled_tokens_per_s=anchor))
    step_ratio = (global_batch / modelled) / (anchor_global_batch / anchor)
    return {"1/s": factor * modelled, "sequences/s": factor * modelled, "s": anchor_value * step_ratio}


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
            parameters=parameters, tokens=tokens, gpus=gpus, achieved_tflop_per_s=achieved_tflop_per_s,
            flops_per_parameter_token=flops_per_parameter_token,
        )
    )  # fmt: skip


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
