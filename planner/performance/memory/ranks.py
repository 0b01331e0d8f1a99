"""What one accelerator of a layout holds: layers of its stage, weights, copies that share the work."""

import numpy as np

from planner.performance._checks import require_not_negative, require_positive
from planner.performance.columns import Column
from planner.performance.experts import layer_weights


def layer_parameters(
    *, hidden: Column, heads: Column, kv_heads: Column, ffn: Column, gated: Column
) -> Column:
    """Weights of one dense transformer layer.

    W = h^2 (2 + 2 kv/a) + (3 if gated else 2) h f

    `gated` is 1 for a gated feed-forward network (three matrices), else 0. Biases and norms are left
    out (below 0.1 %); the head size is taken as hidden / heads.

    Source: Vaswani et al., "Attention Is All You Need", NeurIPS 2017; Shazeer, arXiv 2002.05202 (gated).
    """
    return layer_weights(
        hidden=hidden, heads=heads, kv_heads=kv_heads, ffn=ffn, gated=gated
    ).common_parameters


def stage_layers(*, layers: Column, pp: Column) -> Column:
    """Layers on the pipeline stage that holds most of them.

    l = ceil(L / p)

    The first and the last stage may hold fewer, as with 126 layers on 16 stages.

    Source: Llama team, "The Llama 3 Herd of Models", arXiv 2407.21783, section 3.3.2.
    """
    require_positive(layers=layers, pp=pp)
    result: Column = np.ceil(layers / pp)
    return result


def data_parallel_ranks(*, accelerators: Column, tp: Column, pp: Column, cp: Column) -> Column:
    """Copies of the model that work on different samples.

    d = n / (t p c)

    Source: Narayanan et al., SC'21, arXiv 2104.04473.
    """
    require_positive(accelerators=accelerators, tp=tp, pp=pp, cp=cp)
    return accelerators / (tp * pp * cp)


def expert_copies(*, accelerators: Column, pp: Column, ep: Column) -> Column:
    """Copies of the experts of one pipeline stage.

    d_e = n / (p e)

    Source: Liu et al., "MoE Parallel Folding", arXiv 2504.14960.
    """
    require_positive(accelerators=accelerators, pp=pp, ep=ep)
    copies = accelerators / (pp * ep)
    if np.any(copies < 1.0 - 1e-9):
        raise ValueError(f"experts are spread over at most the n/p accelerators of a stage, got ep {ep}")
    return copies


def rank_parameters(
    *, layers: Column, layer_parameters: Column, hidden: Column, vocabulary: Column, tp: Column, pp: Column
) -> Column:
    """Weights outside experts that one accelerator works with, on the fullest pipeline stage.

    params/(t p) = (ceil(L/p) W + e V h) / t,  e = 2 tables without a pipeline, else 1

    Models that tie both tables hold V h fewer.

    Source: Narayanan et al., SC'21, arXiv 2104.04473.
    """
    require_positive(layer_parameters=layer_parameters, hidden=hidden, tp=tp)
    require_not_negative(vocabulary=vocabulary)
    tables = np.where(pp <= 1, 2.0, 1.0)
    result: Column = (
        stage_layers(layers=layers, pp=pp) * layer_parameters + tables * vocabulary * hidden
    ) / tp
    return result


def rank_expert_parameters(*, layers: Column, routed_parameters: Column, pp: Column, ep: Column) -> Column:
    """Weights of experts that one accelerator holds, on the fullest pipeline stage.

    ceil(L/p) E F / e

    All experts are kept, though a token passes few; each lies whole on one of the e accelerators.

    Source: Lepikhin et al., "GShard", arXiv 2006.16668; Liu et al., arXiv 2504.14960 (folded groups).
    """
    require_positive(ep=ep)
    require_not_negative(routed_parameters=routed_parameters)
    return stage_layers(layers=layers, pp=pp) * routed_parameters / ep


def redone_fraction(*, recompute: Column) -> Column:
    """Share of the layers that are computed again as a whole for their backward pass.

    x = min(max(r - 1, 0), 1)

    Source: definition of the code between 1 and 2; Megatron-LM, `--recompute-num-layers` (method "block").
    """
    result: Column = np.clip(np.asarray(recompute, dtype=np.float64) - 1.0, 0.0, 1.0)
    return result
