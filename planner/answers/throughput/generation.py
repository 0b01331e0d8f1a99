"""Images and films by denoising steps: what nodes make in a second, and what they draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.answers.throughput.setting import Index, Setting, Table, worst
from planner.answers.throughput.single_device import Alone, alone_table, peak_of, reached_fraction
from planner.performance.diffusion import (
    attention_tflop,
    generation_compute_use_fraction,
    generation_memory_gb,
    generation_s,
    latent_tokens,
    linear_tflop,
    operator_s,
)
from planner.performance.memory import serving_weights_gb
from planner.performance.power import serving_memory_use_fraction, sustained_power_kw
from planner.physics.requests import given
from planner.physics.training_options import weight_bytes
from planner.trace.quantities import Traced, chosen, derive, pick, rows

Column = float | NDArray[Any]


def all_tokens(*, latent_tokens: Column, text_tokens: Column) -> Column:
    """Tokens of picture and text, which one attention sees.

    s = s_latent + s_text

    Source: Esser et al., arXiv 2403.03206 (joint attention over both).
    """
    return latent_tokens + np.asarray(text_tokens)


def matrix_rows(*, tokens: Column, passes: Column, batch: Column) -> Column:
    """Rows of a matrix multiplication of one step.

    r = s g b

    Source: definition.
    """
    return tokens * passes * np.asarray(batch)


def counted_tflop(*, linear: Column, convolution: Column, attention: Column) -> NDArray[Any]:
    """Arithmetic of one pass from its counted multiplications: a multiplication is two operations.

    F = 2 (M_linear + M_convolution), 2 M_attention, 0

    Source: definition.
    """
    return _three(2e-12 * (np.asarray(linear) + convolution), 2e-12 * np.asarray(attention), 0.0)


def transformer_tflop(*, layers: Column, hidden: Column, ffn_ratio: Column, tokens: Column) -> NDArray[Any]:
    """Arithmetic of one pass of a transformer denoiser.

    F = 2 s L h^2 (4 + 2 f), 4 L s^2 h, 0

    Source: `linear_tflop` and `attention_tflop`.
    """
    matrices = linear_tflop(layers=layers, hidden=hidden, ffn_ratio=ffn_ratio, tokens=tokens)
    return _three(matrices, attention_tflop(layers=layers, hidden=hidden, tokens=tokens), 0.0)


def pass_values(*, layers: Column, hidden: Column, tokens: Column) -> Column:
    """Values that element-wise work of one pass goes over.

    V = L s h

    Source: the form of `training_step_s`.
    """
    return layers * np.asarray(hidden) * tokens


def moved_gb(*, block_values: Column, block_bytes: Column, norm_values: Column) -> NDArray[Any]:
    """Bytes that element-wise work of one pass moves; matrices and attention hide theirs.

    B = 0, 0, k V + 2 V_norm

    V counts values of transformer blocks, V_norm those of normalisation and sums outside them, in 16 bits.

    Source: k fitted on language models, as in `training_step_s`.
    """
    return _three(0.0, 0.0, (block_values * np.asarray(block_bytes) + 2.0 * np.asarray(norm_values)) / 1e9)


def operators_tflop_per_s(
    *,
    matrix_tflop_per_s: Column,
    matrix_efficiency_fraction: Column,
    half_tflop_per_s: Column,
    attention_efficiency_fraction: Column,
) -> NDArray[Any]:
    """Rate that each operator reaches.

    R = P e g, P_16 e_att, P_16

    Source: the efficiencies of `training_step_s`.
    """
    half = np.asarray(half_tflop_per_s)
    return _three(
        matrix_tflop_per_s * np.asarray(matrix_efficiency_fraction),
        half * attention_efficiency_fraction,
        half,
    )


def sample_tflop(
    *, steps: Column, passes: Column, step_tflop: NDArray[Any], once_tflop: NDArray[Any]
) -> Column:
    """Arithmetic of a whole image or film.

    F = n g sum_i F_i + sum_j F_j

    Source: definition.
    """
    result: Column = steps * np.asarray(passes) * np.sum(step_tflop, axis=-1) + np.sum(once_tflop, axis=-1)
    return result


def step_s(*, time_s: Column, steps: Column) -> Column:
    """Time of one denoising step; the parts that run once are spread over the steps.

    t = T / n

    Source: definition.
    """
    return np.divide(time_s, steps)


def _three(*operators: Column) -> NDArray[Any]:
    return np.stack(np.broadcast_arrays(*operators), axis=-1)


COUNTS = ("linear", "convolution", "attention")
ONCE = {"linear": "once_linear", "convolution": "once_convolution", "attention": "once_attention"}
SHAPE = ("layers", "hidden", "ffn_ratio")
LATENT = {
    "height_px": "height",
    "width_px": "width",
    "frames": "frames",
    "spatial_ratio": "spatial_ratio",
    "temporal_ratio": "temporal_ratio",
    "patch": "patch",
}
FILMS = 1  # films made together where a question does not say: one fills an accelerator


def generation_table(setting: Setting, sizes: Sequence[int]) -> Table:
    """Every SKU at every size whose accelerators hold the denoiser."""
    notes = [
        "An engine that starts each operator alone is slower: the low end is what such engines were measured "
        "at. Text encoder and, where it is not counted, decoder are left out."
    ]
    return alone_table(
        setting,
        sizes,
        _generator,
        _held_kw,
        unit="videos" if is_film(setting) else "images",
        usable_fraction=setting.fact("performance.serving.usable_memory").value,
        notes=notes,
    )


def is_film(setting: Setting) -> bool:
    """Whether the model makes films."""
    key = f"{_model(setting)}.frames"
    return setting.catalogue.has(key) and setting.fact(key).value > 1


def _model(setting: Setting) -> str:
    return f"diffusion.{setting.question.model}"


def _generator(setting: Setting, sku: Index) -> Alone:
    """One accelerator that makes a batch."""
    inputs, fact, own = setting.inputs, setting.fact, _model(setting)
    stated = setting.question.batch or (FILMS if is_film(setting) else None)
    batch: Traced = (
        fact("performance.diffusion.batch") if stated is None else given("batch", float(stated), "1")
    )
    parts = _denoiser(setting)
    steps, passes = fact(f"{own}.steps"), fact(f"{own}.passes")
    precision = setting.question.precision
    size = chosen("weight_bytes", weight_bytes(precision), f"bytes of one {precision} value")
    one = chosen("tp", 1.0, "each accelerator holds the whole denoiser")
    weights = derive(serving_weights_gb, parameters=fact(f"{own}.parameters"), weight_bytes=size, tp=one)
    memory = {
        "memory_gb_per_s": inputs.of_sku(inputs.accelerator("memory_bandwidth"), sku),
        "memory_efficiency_fraction": fact("performance.training.memory_efficiency"),
    }
    reached = reached_fraction(
        setting,
        sku,
        parts["width"],
        derive(matrix_rows, tokens=parts["tokens"], passes=passes, batch=batch),
    )
    half = peak_of(setting, sku, "bf16")
    attention = fact("performance.training.attention_efficiency")

    def times(tflop: Traced, gb: Traced, peak: Traced) -> Traced:
        """Time of matrices, attention and element-wise work: the two last in 16 bits."""
        rates = derive(
            operators_tflop_per_s,
            matrix_tflop_per_s=peak,
            matrix_efficiency_fraction=reached,
            half_tflop_per_s=half,
            attention_efficiency_fraction=attention,
        )
        tall = {name: _tall(node) for name, node in memory.items()}
        return derive(operator_s, operator_tflop=tflop, operator_gb=gb, operator_tflop_per_s=rates, **tall)

    time = derive(
        generation_s,
        steps=steps,
        passes=passes,
        batch=batch,
        weights_gb=weights,
        **memory,
        step_operator_s=times(parts["step_tflop"], parts["step_gb"], peak_of(setting, sku, precision)),
        once_operator_s=times(parts["once_tflop"], parts["once_gb"], half),
    )
    whole = derive(
        sample_tflop,
        steps=steps,
        passes=passes,
        step_tflop=parts["step_tflop"],
        once_tflop=parts["once_tflop"],
    )
    return Alone(
        memory_gb=derive(
            generation_memory_gb,
            weights_gb=weights,
            batch=batch,
            passes=passes,
            sample_gb=chosen("sample_gb", 0.0, "activations are left out"),
        ),
        batch=batch,
        time_s=time,
        memory_use=derive(
            serving_memory_use_fraction,
            touched_gb=weights,
            memory_gb_per_s=memory["memory_gb_per_s"],
            cache_read_gb=chosen("cache_read_gb", 0.0, "nothing is cached"),
            step_s=derive(step_s, time_s=time, steps=steps),
        ),
        compute_use=derive(
            generation_compute_use_fraction,
            sample_tflop=whole,
            batch=batch,
            time_s=time,
            peak_tflop_per_s=half,
        ),
        error=worst(fact("performance.diffusion.rate_error"), "the worst engine"),
    )


def _denoiser(setting: Setting) -> dict[str, Traced]:
    """Arithmetic and traffic of a pass and of what runs once, counted or from the shape of a transformer."""
    fact, own = setting.fact, _model(setting)
    block_bytes = fact("performance.training.elementwise_bytes_per_value")
    if setting.catalogue.has(f"{own}.linear"):
        none = chosen("linear", 0.0, "the decoder has convolutions alone")
        counts: dict[str, Traced] = {name: fact(f"{own}.{name}") for name in COUNTS}
        once = {name: none if name == "linear" else fact(f"{own}.{key}") for name, key in ONCE.items()}
        return {
            "width": fact(f"{own}.width"),
            "tokens": fact(f"{own}.tokens"),
            "step_tflop": derive(counted_tflop, **counts),
            "once_tflop": derive(counted_tflop, **once),
            "step_gb": derive(
                moved_gb,
                block_values=fact(f"{own}.block_values"),
                norm_values=fact(f"{own}.norm_values"),
                block_bytes=block_bytes,
            ),
            "once_gb": derive(
                moved_gb,
                norm_values=fact(f"{own}.once_values"),
                block_bytes=block_bytes,
                block_values=chosen("block_values", 0.0, "no transformer blocks in the decoder"),
            ),
        }
    latent = derive(latent_tokens, **{name: fact(f"{own}.{key}") for name, key in LATENT.items()})
    tokens = derive(all_tokens, latent_tokens=latent, text_tokens=fact(f"{own}.text_tokens"))
    shape = {name: fact(f"{own}.{name}") for name in SHAPE}
    nothing = "the decoder of this model is not counted"
    return {
        "width": shape["hidden"],
        "tokens": tokens,
        "step_tflop": derive(transformer_tflop, tokens=tokens, **shape),
        "once_tflop": chosen("once_tflop", np.zeros(3), nothing),
        "step_gb": derive(
            moved_gb,
            block_bytes=block_bytes,
            norm_values=chosen("norm_values", 0.0, "in the blocks"),
            block_values=derive(pass_values, layers=shape["layers"], hidden=shape["hidden"], tokens=tokens),
        ),
        "once_gb": chosen("once_gb", np.zeros(3), nothing),
    }


def _tall(node: Traced) -> Traced:
    """A column with an axis for operators behind its rows."""
    return rows(node, np.arange(np.size(node.value))[:, None])


def _held_kw(setting: Setting, power_kw: Traced, sku: Index) -> Traced:
    """Power of an accelerator, kept at the share of its rating that such loads were measured at."""
    inputs = setting.inputs
    what = "video" if is_film(setting) else "image"
    shares = [setting.fact(f"performance.power.{one.power_curve}.{what}") for one in inputs.skus]
    return derive(
        sustained_power_kw,
        power_kw=power_kw,
        tdp_kw=inputs.of_sku(inputs.accelerator("tdp"), sku),
        sustained_fraction=pick(shares, sku),
    )
