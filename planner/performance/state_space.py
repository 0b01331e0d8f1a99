"""Layers that keep a state of constant size in place of keys and values, and hybrids with attention."""

import numpy as np

from planner.performance._checks import require_not_negative, require_positive
from planner.performance.columns import Column


def state_space_parameters(
    *, hidden: Column, inner: Column, state: Column, groups: Column, heads: Column
) -> Column:
    """Weights of the projections of one state-space layer (Mamba-2).

    W_s = h (2 d + 2 g N + a) + d h

    d is the inner width (usually 2 h), N the state of each channel, g the groups that share the input
    and output maps, a the heads. The short convolution and the norms are left out (below 0.5 %).

    Source: Dao and Gu, "Transformers are SSMs", arXiv 2405.21060, section 7.
    """
    require_positive(hidden=hidden, inner=inner, state=state, groups=groups, heads=heads)
    return hidden * (2.0 * inner + 2.0 * groups * state + heads) + inner * hidden


def selective_state_parameters(*, hidden: Column, inner: Column, state: Column, rank: Column) -> Column:
    """Weights of the projections of one selective state-space layer of the first kind (Mamba).

    W_s = 2 h d + d (r + 2 N) + r d + d h

    r is the rank of the step sizes; input and output maps are made from each token. Convolution and norms are
    left out.

    Source: Gu and Dao, "Mamba", arXiv 2312.00752, section 3.4; released code.
    """
    require_positive(hidden=hidden, inner=inner, state=state, rank=rank)
    return 2.0 * hidden * inner + inner * (rank + 2.0 * state) + rank * inner + inner * hidden


def scanned_flops_per_token(*, inner: Column, state: Column) -> Column:
    """Forward operations of the scan of one layer of the first kind for one token, projections left out.

    F = 9 d N

    Source: operation count of the selective scan, Gu and Dao, arXiv 2312.00752, section 3.3.
    """
    require_positive(inner=inner, state=state)
    return 9.0 * np.multiply(inner, state)


def crossover_tokens(*, state_bytes: Column, key_value_bytes: Column) -> Column:
    """Context from which a layer with a state keeps less of a sequence than one with keys and values.

    c = S / k

    Source: definition; k are the bytes of one token in a layer that attends.
    """
    require_positive(key_value_bytes=key_value_bytes)
    require_not_negative(state_bytes=state_bytes)
    return np.divide(state_bytes, key_value_bytes)


def state_space_flops_per_token(
    *, inner: Column, state: Column, groups: Column, chunk_tokens: Column
) -> Column:
    """Forward operations on the state of one layer for one token, projections left out.

    F = 4 d N + 2 Q (g N + d)

    4 d N read and write the state; within a chunk of Q tokens scores (2 Q g N) and their product with
    the inputs (2 Q d) are formed, so the cost does not grow with the sequence.

    Source: Dao and Gu, arXiv 2405.21060, section 6 (block decomposition).
    """
    require_positive(inner=inner, state=state, groups=groups, chunk_tokens=chunk_tokens)
    return 4.0 * inner * state + 2.0 * chunk_tokens * (groups * state + inner)


def state_gb_per_sequence(
    *,
    layers: Column,
    inner: Column,
    state: Column,
    groups: Column,
    convolution_tokens: Column,
    state_bytes: Column,
    tp: Column,
) -> Column:
    """Memory of the states of one sequence on one accelerator, whatever its length.

    S = L (d N + (k - 1) (d + 2 g N)) B / t

    Apart from the state itself the last k - 1 inputs of the short convolution are kept.

    Source: Gu and Dao, "Mamba", arXiv 2312.00752; Dao and Gu, arXiv 2405.21060.
    """
    require_positive(layers=layers, inner=inner, state=state, groups=groups, tp=tp, state_bytes=state_bytes)
    require_positive(convolution_tokens=convolution_tokens)
    channels = inner * state + (convolution_tokens - 1.0) * (inner + 2.0 * groups * state)
    return layers * channels * state_bytes / tp / 1e9
