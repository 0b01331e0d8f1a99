"""Memory of one accelerator in serving: weights, cache, and how many requests fit."""

import numpy as np

from planner.performance._checks import require_not_negative, require_open_share, require_positive
from planner.performance.columns import Column


def serving_weights_gb(*, parameters: Column, weight_bytes: Column, tp: Column) -> Column:
    """Weights of a served model on one accelerator.

    w = N B_w / t

    Source: Pope et al., "Efficiently Scaling Transformer Inference", arXiv 2211.05102.
    """
    require_positive(parameters=parameters, weight_bytes=weight_bytes, tp=tp)
    return parameters * weight_bytes / tp / 1e9


def replica_weights_gb(
    *,
    parameters: Column,
    routed_parameters: Column,
    weight_bytes: Column,
    tp: Column,
    dp: Column,
    pp: Column = 1.0,
) -> Column:
    """Weights on one accelerator of a replica whose groups repeat all but the experts.

    w = ((N - N_routed)/t + N_routed/(t d)) B_w/p

    Each of p stages holds its share of the layers, and as much cache as if it held all of them for one batch:
    that of its share for each of the p batches under way.

    Source: Pope et al., arXiv 2211.05102; DeepSeek-AI, "DeepSeek-V3", arXiv 2412.19437, section 3.4
    (attention repeated on groups, experts spread over all of them).
    """
    require_positive(parameters=parameters, weight_bytes=weight_bytes, tp=tp, dp=dp, pp=pp)
    require_not_negative(routed_parameters=routed_parameters)
    shared = (parameters - routed_parameters) / tp + routed_parameters / (tp * dp)
    return shared * weight_bytes / pp / 1e9


def kv_cache_gb_per_token(
    *, layers: Column, kv_heads: Column, head_dim: Column, kv_bytes: Column, tp: Column
) -> Column:
    """Key and value cache of one token on one accelerator.

    k = 2 L kv d_head B_kv / min(t, kv)

    Beyond one head per accelerator the cache is repeated, not split.

    Source: Pope et al., arXiv 2211.05102; Shazeer, arXiv 1911.02150 (fewer key and value heads).
    """
    require_positive(layers=layers, kv_heads=kv_heads, head_dim=head_dim, kv_bytes=kv_bytes, tp=tp)
    return 2.0 * layers * kv_heads * head_dim * kv_bytes / np.minimum(tp, kv_heads) / 1e9


def largest_batch(
    *,
    memory_gb: Column,
    usable_fraction: Column,
    weights_gb: Column,
    kv_cache_gb_per_token: Column,
    context_tokens: Column,
    batch_limit: Column,
    state_gb: Column = 0.0,
    kept_gb: Column = 0.0,
    pp: Column = 1.0,
) -> Column:
    """Requests that one stage of a replica can hold at once; 0 where not even one fits.

    b = min(floor((u M - w - G) / (k c + S)), floor(limit/p))

    `context_tokens` is the length to make room for, prompt and answer; `batch_limit` is the engine's own
    (`max_num_seqs`), for all that run in its p stages together. S is what layers with a state keep of a
    request, however long it is, G what is kept of earlier prompts. Paging keeps the waste below one block
    per request, left out.

    Source: Kwon et al., "PagedAttention", SOSP 2023, arXiv 2309.06180.
    """
    require_open_share(usable_fraction=usable_fraction)
    require_positive(memory_gb=memory_gb, kv_cache_gb_per_token=kv_cache_gb_per_token)
    require_positive(context_tokens=context_tokens, batch_limit=batch_limit)
    room = usable_fraction * memory_gb - weights_gb - kept_gb
    require_not_negative(state_gb=state_gb, kept_gb=kept_gb)
    limit = np.floor(np.divide(batch_limit, pp))
    held = np.floor(room / (kv_cache_gb_per_token * context_tokens + state_gb))
    result: Column = np.clip(held, 0.0, limit)
    return result
