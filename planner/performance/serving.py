"""Speed of a replica that serves a language model with continuous batching and chunked prefill.

One step of the engine gives every running request one token and, spread over the steps, reads the
prompts of the requests that joined. The constants belong to an engine version: between engines the host
terms differ by 10 to 45 %.
"""

import numpy as np

from planner.performance._checks import (
    require_not_negative,
    require_positive,
    require_share,
)
from planner.performance.columns import Column


def uncached_tokens(*, input_tokens: Column, cached_fraction: Column) -> Column:
    """Prompt tokens that an engine has to read, the others being found in its prefix cache.

    isl' = isl (1 - h)

    Their keys and values still lie in memory and are still read by each step, so that the context of
    `step_times` keeps the whole prompt. Blocks, eviction and the look-up are left out.

    Source: Zheng et al., "SGLang", NeurIPS 2024, arXiv 2312.07104 (prefix reuse).
    """
    require_not_negative(input_tokens=input_tokens)
    require_share(cached_fraction=cached_fraction)
    return input_tokens * (1.0 - cached_fraction)


def latent_head_dim(*, latent_dims: Column, rope_dims: Column) -> Column:
    """Head size with which one key-value head stands for latent attention.

    2 d = c + r

    Latent attention keeps one vector of c compressed and r positional values for each token and layer, for
    all heads together. With `kv_heads` 1 and this size the cache formulas hold, and the cache is repeated
    on every accelerator of a tensor-parallel group, as one head is.

    Source: DeepSeek-AI, "DeepSeek-V2", arXiv 2405.04434, section 2.1.
    """
    require_positive(latent_dims=latent_dims)
    require_not_negative(rope_dims=rope_dims)
    return (latent_dims + rope_dims) / 2.0


def prefill_tokens(*, batch: Column, input_tokens: Column, output_tokens: Column) -> Column:
    """Prompt tokens that join each step in the long run, so that prompts arrive as answers leave.

    q = b isl / osl

    `input_tokens` counts those not found in a prefix cache.

    Source: balance of a steady state; Agrawal et al., "Sarathi-Serve", arXiv 2403.02310 (chunked prefill).
    """
    require_positive(output_tokens=output_tokens)
    require_not_negative(batch=batch, input_tokens=input_tokens)
    return batch * input_tokens / output_tokens


def output_tokens_per_s(*, batch: Column, step_s: Column) -> Column:
    """Tokens that a replica writes.

    X = b / T

    Source: definition (every running request gets one token a step).
    """
    require_not_negative(batch=batch)
    require_positive(step_s=step_s)
    return batch / step_s


def reread_tokens(*, context_tokens: Column, interval_steps: Column, free_fraction: Column) -> Column:
    """Tokens that are read again for each token written, where prompts fill the cache before answers grow.

    f = max(0, 1 - w c / n)

    A cache that holds r requests has room for r c tokens. Prompts join while more than w of it is free, and
    the next n steps need r n. What room they lack is taken from the requests that joined last, whose prompts
    are read once more: r n - w r c of the r n tokens written. Engines that schedule each step alone (n = 1)
    throw nothing out where w c is one token or more.

    Args:
        context_tokens: c, tokens of the cache that a running request holds.
        interval_steps: n, steps scheduled at once.
        free_fraction: w, share of the cache that prompts leave free.

    Source: balance of the cache; vLLM's first engine (block manager, watermark 0.01; preemption by
    recomputation). A simulation of its scheduler gives 0.39 for the 0.37 of Mixtral on MI300X.
    """
    require_positive(context_tokens=context_tokens, interval_steps=interval_steps)
    require_share(free_fraction=free_fraction)
    result: Column = np.maximum(0.0, 1.0 - free_fraction * context_tokens / interval_steps)
    return result


def prefill_steps(*, input_tokens: Column, chunk_tokens: Column) -> Column:
    """Steps that reading a prompt takes when at most `chunk_tokens` enter a step; at least one.

    c = max(1, ceil(isl / chunk))

    Source: Agrawal et al., "Sarathi-Serve", arXiv 2403.02310.
    """
    require_positive(chunk_tokens=chunk_tokens)
    require_not_negative(input_tokens=input_tokens)
    result: Column = np.maximum(1.0, np.ceil(input_tokens / chunk_tokens))
    return result
