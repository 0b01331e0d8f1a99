"""What work other than language models asks of an accelerator: images, speech, image training."""

from __future__ import annotations

import numpy as np

from planner.physics.equations.batches import busy_tflop
from planner.validation.aliases import constant, constants
from planner.validation.forms import NotUnderstood
from planner.validation.steps import hardware, values

VALUE_BYTES = 2.0  # of mixed precision and of a cache
TRAINED = 3.0  # passes of a training step: forward, and twice as much back
GENERATED = ("linear", "convolution", "attention", "block_values", "norm_values", "steps", "passes")
ONCE = ("once_convolution", "once_attention", "once_values")


def image_uses(chip: str, accelerators: float, images_per_s: float) -> dict[str, float]:
    """What making images of SDXL uses of an accelerator at a rate."""
    facts = constants("diffusion.sdxl", {name: name for name in (*GENERATED, *ONCE, "width")})
    runs = facts["steps"] * facts["passes"]
    each = busy_tflop(
        step_tflop=np.array([facts["linear"] + facts["convolution"], facts["attention"]]),
        width=facts["width"],
        half_width=constant("performance.training.hidden_half_width", "half_width"),
    ).sum()
    multiplications = runs * each + facts["once_convolution"] + facts["once_attention"]
    block_bytes = constant("performance.training.elementwise_bytes_per_value", "bytes")
    moved = runs * (facts["block_values"] * block_bytes + VALUE_BYTES * facts["norm_values"])
    return _uses(
        chip, images_per_s / accelerators, multiplications, moved + VALUE_BYTES * facts["once_values"]
    )


def detection_uses(chip: str, accelerators: float, images_per_s: float) -> dict[str, float]:
    """What finding objects in images uses of an accelerator at a rate; values that it moves are left out."""
    each = constant("benchmark.retinanet.multiplications", "multiplications")
    return _uses(chip, images_per_s / accelerators, each, 0.0)


def speech_uses(
    chip: str, accelerators: float, *, tokens_per_s: float | None, samples_per_s: float | None
) -> dict[str, float]:
    """What transcribing with Whisper uses of an accelerator at a rate: it listens once, and looks back often.

    Every token reads the keys and values of all sounds. Weights of the decoder are read for many at once.
    """
    written = constant("benchmark.whisper.output_tokens", "tokens")
    samples = samples_per_s or (tokens_per_s or 0.0) / constant("benchmark.whisper.filed_tokens", "tokens")
    if not samples:
        raise NotUnderstood("a rate is needed: tokens_per_s or samples_per_s")
    names = ("encoder_layers", "decoder_layers", "hidden", "ffn", "encoder_tokens", "vocab")
    facts = constants("speech.whisper-large-v3", {name: name for name in names})
    wide, sounds = facts["hidden"], facts["encoder_tokens"]
    layer = 4.0 * wide * wide + 2.0 * wide * facts["ffn"]
    heard = facts["encoder_layers"] * sounds * (layer + 2.0 * sounds * wide)
    # The decoder also attends to the sounds: two more matrices a token, keys and values of all once.
    token = (
        facts["decoder_layers"] * (layer + 2.0 * wide * wide + 2.0 * sounds * wide) + facts["vocab"] * wide
    )
    kept = facts["decoder_layers"] * sounds * 2.0 * wide
    moved = VALUE_BYTES * kept * written
    return _uses(chip, samples / accelerators, heard + kept * wide + written * token, moved)


def classifier_parts(chip: str, batch: float) -> dict[str, float]:
    """What an accelerator does in a step of training ResNet-50, its input hidden.

    Convolutions move their values while they multiply; times of both add up all the same.
    """
    names = ("multiplications", "activations", "moves")
    facts = constants("vision.resnet-50", {name: name for name in names})
    step = values(hardware(chip, "bf16"))
    reached = constant("performance.vision.convolution_efficiency", "efficiency_fraction")
    moved = facts["activations"] * facts["moves"] * VALUE_BYTES / TRAINED
    each = _parts(step, facts["multiplications"] / reached, moved, facts["multiplications"])
    total_s = batch * each["total_s"] + constant("vision.resnet-50.fixed_time", "fixed_s")
    busy = batch * each["total_s"] / total_s
    return {
        "computing_s": batch * each["total_s"],
        "moving_s": 0.0,
        "total_s": total_s,
        "compute_use_fraction": busy * each["compute_use_fraction"],
        "memory_use_fraction": each["moving_s"] / each["total_s"] * step["memory_efficiency_fraction"],
        "memory_efficiency_fraction": step["memory_efficiency_fraction"],
    }


def _parts(step: dict[str, float], full_rate: float, moved: float, done: float) -> dict[str, float]:
    """Times of one sample: multiplications as if at the peak, bytes of a forward pass, multiplications."""
    per_s = step["attention_tflop_per_s"] * 1e12
    computing_s = TRAINED * 2.0 * full_rate / per_s
    moving_s = TRAINED * moved / (step["memory_efficiency_fraction"] * step["memory_gb_per_s"] * 1e9)
    total_s = computing_s + moving_s
    return {
        "computing_s": computing_s,
        "moving_s": moving_s,
        "total_s": total_s,
        "compute_use_fraction": TRAINED * 2.0 * done / (per_s * total_s),
        "memory_efficiency_fraction": step["memory_efficiency_fraction"],
    }


def _uses(chip: str, samples_per_s: float, multiplications: float, moved: float) -> dict[str, float]:
    """Shares of an accelerator's memory and 16-bit peak that samples of so much work use."""
    peak = constant(f"accelerator.{chip}.bf16_peak", "peak_tflop_per_s") * 1e12
    bandwidth = constant(f"accelerator.{chip}.memory_bandwidth", "memory_gb_per_s") * 1e9
    return {
        "memory_use_fraction": min(1.0, samples_per_s * moved / bandwidth),
        "compute_use_fraction": min(1.0, 2.0 * samples_per_s * multiplications / peak),
    }
