"""Equations of work that is done in batches: scored samples, images, films; beyond those of the leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.performance.diffusion import attention_tflop, linear_tflop
from planner.trace.columns import Column


def mean_width(*, weights: Column, layers: Column) -> Column:
    """Width of square layers that hold as many weights.

    w = sqrt(N / L)

    Source: definition.
    """
    result: Column = np.sqrt(np.asarray(weights) / layers)
    return result


def joint_efficiency_fraction(
    *, matrix_efficiency_fraction: Column, shape_efficiency_fraction: Column
) -> Column:
    """Share of the peak that matrices of one shape reach on a chip.

    e = e_hw g

    Source: the form of `training_step_s`.
    """
    return matrix_efficiency_fraction * np.asarray(shape_efficiency_fraction)


def looked_up_gb(*, samples: Column, lookups: Column, embedding_dim: Column, table_bytes: Column) -> Column:
    """Bytes of the rows that a batch of samples reads.

    G = b k D B

    Source: definition.
    """
    return samples * lookups * np.asarray(embedding_dim) * table_bytes / 1e9


def kept_values(*, tables: Column, embedding_dim: Column, elementwise_values: Column) -> Column:
    """Values of a sample that are kept for the backward pass of a recommendation model.

    V = T D + V_interaction

    Activations of the dense layers are left out: a few thousand next to these.

    Source: Naumov et al., "DLRM", arXiv 1906.00091.
    """
    return tables * embedding_dim + np.asarray(elementwise_values)


def row_state_bytes(*, backward_traffic_ratio: Column, embedding_dim: Column, table_bytes: Column) -> Column:
    """Optimizer state of one row of a table.

    s = D B if u > 2 else 4

    An update that moves four times what a lookup reads has a state for every value, one that moves twice
    has one number a row.

    Source: the two cases of `recommendation_training_step`.
    """
    result: Column = np.where(np.asarray(backward_traffic_ratio) > 2.0, embedding_dim * table_bytes, 4.0)
    return result


def multiplied_use_fraction(
    *,
    bottom_multiplications: Column,
    top_multiplications: Column,
    samples_per_s: Column,
    accelerators: Column,
    peak_tflop_per_s: Column,
) -> Column:
    """Share of the dense peak that the layers of a recommendation model use in training.

    u = 6 M X / (n P)

    A multiplication is two operations, and backward does twice the work of forward.

    Source: definition in the fit of `accelerator_power_kw`.
    """
    operations = 6.0 * (np.asarray(bottom_multiplications) + top_multiplications) * samples_per_s
    result: Column = np.minimum(1.0, operations / (accelerators * np.asarray(peak_tflop_per_s) * 1e12))
    return result


def all_tokens(*, latent_tokens: Column, text_tokens: Column) -> Column:
    """Tokens of picture and text, which one attention sees.

    s = s_latent + s_text

    Source: Esser et al., arXiv 2403.03206 (joint attention over both).
    """
    return latent_tokens + np.asarray(text_tokens)


def counted_tflop(*, linear: Column, convolution: Column, attention: Column) -> NDArray[Any]:
    """Arithmetic of one pass from its counted multiplications: a multiplication is two operations.

    F = 2 (M_linear + M_convolution), 2 M_attention, 0

    Source: definition.
    """
    return _three(2e-12 * (np.asarray(linear) + convolution), 2e-12 * np.asarray(attention), 0.0)


def transformer_tflop(
    *,
    layers: Column,
    hidden: Column,
    ffn_ratio: Column,
    tokens: Column,
    second_fraction: Column = 0.0,
    latent_tokens: Column = 0.0,
) -> NDArray[Any]:
    """Arithmetic of one pass of a transformer denoiser.

    F = 2 s L h^2 (4 + 2 f), 4 L (s^2 + x s_latent^2) h, 0

    Source: `linear_tflop` and `attention_tflop`.
    """
    matrices = linear_tflop(layers=layers, hidden=hidden, ffn_ratio=ffn_ratio, tokens=tokens)
    scores = attention_tflop(
        layers=layers,
        hidden=hidden,
        tokens=tokens,
        second_fraction=second_fraction,
        latent_tokens=latent_tokens,
    )
    return _three(matrices, scores, 0.0)


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


def busy_tflop(*, step_tflop: NDArray[Any], width: Column, half_width: Column) -> NDArray[Any]:
    """Arithmetic of one pass that a chip would do while its matrix units are busy, were the matrices wide.

    F' = F_m (1 + w_h/w), F_a, F_el

    Narrow matrices keep the units busy for longer than they compute, and draw power all that time.

    Source: the width term of `shape_efficiency_fraction`.
    """
    matrices, others = np.asarray(step_tflop)[..., :1], np.asarray(step_tflop)[..., 1:]
    wider = 1.0 + np.asarray(half_width) / np.asarray(width)
    return np.concatenate([matrices * wider, others], axis=-1)


def crossing_gb(*, moved_gb: NDArray[Any], crossing_fraction: Column) -> Column:
    """Bytes of operators that cross the memory, where fused kernels keep the others on the chip.

    B' = x B

    Source: definition.
    """
    result: Column = np.multiply(moved_gb, crossing_fraction)
    return result


def tiled_efficiency_fraction(*, efficiency_fraction: Column, tiles_ratio: Column) -> Column:
    """Share of the peak that the multiplications counted of a model get, where whole tiles are multiplied.

    e' = e / r

    Source: definition.
    """
    return efficiency_fraction / tiles_ratio


def element_gb(*, batch: Column, passes: Column, step_gb: NDArray[Any]) -> Column:
    """Bytes that element-wise work moves in one step of a batch.

    G = b g sum_i B_i

    Source: definition.
    """
    result: Column = batch * np.asarray(passes) * np.sum(step_gb, axis=-1)
    return result


def _three(*operators: Column) -> NDArray[Any]:
    return np.stack(np.broadcast_arrays(*operators), axis=-1)


def tables_gb(
    *,
    embedding_rows: Column,
    embedding_dim: Column,
    table_bytes: Column,
    row_state_bytes: Column,
    dense_parameters: Column,
    dense_state_bytes: Column,
) -> Column:
    """Bytes of tables and dense layers with the state of their optimizers, as a checkpoint holds them.

    G = R (D B + s) + N_dense s_dense

    Source: as `recommendation_memory_gb`, of all accelerators and without samples.
    """
    rows = np.multiply(embedding_rows, np.multiply(embedding_dim, table_bytes) + row_state_bytes)
    return (rows + np.multiply(dense_parameters, dense_state_bytes)) / 1e9


def weights_cut(
    *, parameters: Column, held_bytes: Column, memory_gb: Column, usable_fraction: Column
) -> Column:
    """1 where weights and gradients of a denoiser are split over all accelerators, 0 where each holds them.

    c = 1 if h N > u M / 2 else 0

    Half of the usable memory M is left to what the samples keep.

    Source: Rajbhandari et al., "ZeRO", arXiv 1910.02054 (stage 3 where stage 1 leaves too little room).
    """
    room_gb = 0.5 * np.asarray(usable_fraction) * memory_gb
    result: Column = np.where(np.asarray(held_bytes) * parameters / 1e9 > room_gb, 1.0, 0.0)
    return result
