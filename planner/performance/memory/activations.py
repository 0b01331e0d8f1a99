"""Activations kept for the backward pass, and logits."""

import numpy as np

from planner.performance._checks import require_not_negative, require_positive
from planner.performance.bundles import TrainingLayout
from planner.performance.columns import Column
from planner.performance.memory.ranks import redone_fraction, stage_layers


def activation_gb(
    *,
    layers: Column,
    hidden: Column,
    heads: Column,
    sequence_tokens: Column,
    micro_batches: Column,
    layout: TrainingLayout,
) -> Column:
    """Activations kept for the backward pass on the first pipeline stage.

    A = s b h L/p * (10 + 24/t + 5 a s/(h t)) * min(m, p) * (1 + (p-1)/(p v))

    With sequence parallelism 10 + 24/t becomes 34/t. The attention scores, 5 a s/(h t), are kept
    neither by selective recompute nor by fused (flash) attention. Full recompute keeps 2 bytes per
    value (2/t with sequence parallelism) and one whole layer at a time; where it redoes a share of the
    layers, the others keep what they do with selective recompute. The interleaving factor holds
    where v > 1. `sequence_parallel` and `fused_attention` are 1 or 0; context parallelism divides the
    tokens by c. Logits are left out, see `logits_gb`.

    Source: Korthikanti et al., arXiv 2205.05198, equations 1 to 5 and Table 2.
    """
    require_positive(
        tp=layout.tp, pp=layout.pp, interleave=layout.interleave, cp=layout.cp, micro_batches=micro_batches
    )
    require_positive(layers=layers, hidden=hidden, heads=heads)
    require_positive(sequence_tokens=sequence_tokens, micro_batch=layout.micro_batch)
    values = sequence_tokens / layout.cp * layout.micro_batch * hidden
    linear = np.where(layout.sequence_parallel > 0, 34.0 / layout.tp, 10.0 + 24.0 / layout.tp)
    scores = (
        5.0 * heads * sequence_tokens / (hidden * layout.tp) * np.where(layout.fused_attention == 0, 1.0, 0.0)
    )
    kept = np.where(layout.recompute == 0, linear + scores, linear)
    redone = redone_fraction(recompute=layout.recompute)
    inputs_alone = np.where(layout.sequence_parallel > 0, 2.0 / layout.tp, 2.0)
    kept = (1.0 - redone) * kept + redone * inputs_alone
    ahead = np.where(layout.interleave > 1, 1.0 + (layout.pp - 1.0) / (layout.pp * layout.interleave), 1.0)
    in_flight = np.minimum(micro_batches, layout.pp) * ahead
    working_layer = np.where(redone > 0, linear + scores, 0.0)
    result: Column = (
        values * (stage_layers(layers=layers, pp=layout.pp) * kept * in_flight + working_layer) / 1e9
    )
    return result


def kept_fraction(*, value_bytes: Column) -> Column:
    """Share of 16-bit activations that is kept where matrices multiply at another precision.

    (20 + 14 B/2) / 34

    Of the 34 bytes kept for each value of a layer 14 are inputs of its four matrices, which are kept as they
    are multiplied; norms, masks and what attention keeps stay as they are.

    Source: Korthikanti et al., arXiv 2205.05198, section 4.1, taken apart.
    """
    require_positive(value_bytes=value_bytes)
    return (20.0 + 14.0 * value_bytes / 2.0) / 34.0


def logits_gb(
    *, sequence_tokens: Column, micro_batch: Column, vocabulary: Column, tp: Column, pp: Column, cp: Column
) -> Column:
    """Logits of one micro-batch in fp32, where the first stage is also the last.

    G = 4 s b V / t

    With a pipeline they lie on the last stage, which has fewer micro-batches in flight, so the first
    stage stays the tightest and nothing is added.

    Source: Korthikanti et al., arXiv 2205.05198, section 4.3.
    """
    require_positive(tp=tp, pp=pp, cp=cp)
    require_not_negative(vocabulary=vocabulary)
    both_ends = np.where(pp <= 1, 1.0, 0.0)
    result: Column = 4.0 * sequence_tokens / cp * micro_batch * vocabulary / tp * both_ends / 1e9
    return result
