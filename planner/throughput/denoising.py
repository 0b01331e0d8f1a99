"""Equations of a denoiser beyond the leaf: its operators are matrices, attention and element-wise work.

Each column carries these three on its last axis.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.performance.diffusion import attention_tflop, linear_tflop

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
    return _three(matrix_tflop_per_s * np.asarray(matrix_efficiency_fraction),
                  half * attention_efficiency_fraction, half)  # fmt: skip


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
