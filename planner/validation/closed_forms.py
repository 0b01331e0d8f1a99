"""Adapters of closed forms of training: arithmetic of a run, its days, its utilisation, its GPU-hours."""

from __future__ import annotations

from planner.performance.throughput import mfu_fraction, model_flops_per_token, training_time_h
from planner.validation.forms import Book
from planner.validation.performance import TRAINING
from planner.validation.stated import DenseModel

BOOK = Book(
    {
        "seq": ("sequence_tokens", 1.0),
        "vocab": ("vocabulary", 1.0),
        "gated_mlp": ("gated", 1.0),
        "params": ("parameters", 1.0),
        "tflops_per_gpu": ("achieved_tflop_per_s", 1.0),
        "flops_per_param_token": ("flops_per_parameter_token", 1.0),
        "peak_tflops": ("peak_tflop_per_s", 1.0),
    }
)


@BOOK.takes("training_flops", unit="FLOP", subject=TRAINING, labels=("model",))
def training_flops(*, model: DenseModel, sequence_tokens: int, tokens: float) -> dict[str, float]:
    """Arithmetic of a run: 6 for each weight that multiplies, output layer too, and half of all scores."""
    each = model_flops_per_token(
        parameters=model.layers * model.parameters_of_a_layer + model.vocabulary * model.hidden,
        layers=model.layers,
        heads=model.heads,
        head_dim=model.head_dim or model.hidden / model.heads,
        sequence_tokens=sequence_tokens,
        counted_scores_fraction=0.5,
    )
    return {"FLOP": tokens * float(each), "1": tokens * float(each)}


@BOOK.takes("train_days_closed_form", unit="h", subject=TRAINING)
def training_days(
    *,
    parameters: float,
    tokens: float,
    accelerators: float,
    achieved_tflop_per_s: float,
    flops_per_parameter_token: float,
) -> float:
    """Hours of pure training from an achieved rate."""
    return float(
        training_time_h(
            parameters=parameters,
            tokens=tokens,
            accelerators=accelerators,
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
