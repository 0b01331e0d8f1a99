"""Image and video generation: an operator mix repeated for a number of denoising steps.

A denoiser is a list of operators (linear, convolution, attention, element-wise), each with its own
arithmetic, traffic and best rate. Their columns carry one entry per operator on the last axis.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.performance._checks import (
    require_not_negative,
    require_open_share,
    require_positive,
    require_share,
)
from planner.performance.bundles import Links, Waits
from planner.performance.columns import Column
from planner.performance.communication import gradient_exchange_s, weight_gather_s
from planner.performance.experts import whole_tiles_ratio


def latent_tokens(
    *,
    height_px: Column,
    width_px: Column,
    frames: Column,
    spatial_ratio: Column,
    temporal_ratio: Column,
    patch: Column,
) -> Column:
    """Tokens that a transformer denoiser attends over.

    s = H W / (r_s p)^2 ((F - 1)/r_t + 1)

    One frame is an image. The first frame of a video is compressed alone.

    Source: Peebles and Xie, "DiT", arXiv 2212.09748; Kong et al., "HunyuanVideo", arXiv 2412.03603.
    """
    require_positive(height_px=height_px, width_px=width_px, spatial_ratio=spatial_ratio, patch=patch)
    require_positive(frames=frames, temporal_ratio=temporal_ratio)
    side = spatial_ratio * patch
    return height_px * width_px / (side * side) * ((frames - 1.0) / temporal_ratio + 1.0)


def linear_tflop(*, layers: Column, hidden: Column, ffn_ratio: Column, tokens: Column) -> Column:
    """Arithmetic of the projections of a transformer denoiser in one pass.

    F = 2 s L h^2 (4 + 2 f)

    Four attention projections and a feed-forward part f times as wide. Embeddings and modulation, which
    act once a step, are left out.

    Source: Peebles and Xie, "DiT", arXiv 2212.09748.
    """
    require_positive(layers=layers, hidden=hidden, ffn_ratio=ffn_ratio, tokens=tokens)
    return 2.0 * tokens * layers * hidden * hidden * (4.0 + 2.0 * ffn_ratio) / 1e12


def attention_tflop(
    *,
    layers: Column,
    hidden: Column,
    tokens: Column,
    second_fraction: Column = 0.0,
    latent_tokens: Column = 0.0,
) -> Column:
    """Arithmetic of full attention in one pass: scores and weighted sum, nothing masked.

    F = 4 L (s^2 + x s_latent^2) h

    A share x of the layers attends a second time, to the picture alone.

    Source: Vaswani et al., arXiv 1706.03762; Golden et al., "Generative AI beyond LLMs", ISPASS 2024.
    """
    require_positive(layers=layers, hidden=hidden, tokens=tokens)
    require_share(second_fraction=second_fraction)
    return 4.0 * layers * (tokens * tokens + second_fraction * latent_tokens * latent_tokens) * hidden / 1e12


def whole_text_ratio(*, tokens: Column, text_tokens: Column, accelerators: Column) -> Column:
    """Tokens that each of n accelerators has in its layers over an nth of all, where they share one picture.

    r = 1 if n divides s_text, else (s - s_text + n s_text)/s

    Text that cannot be dealt out alike lies whole on each.

    Source: Fang, Pan et al., "xDiT", arXiv 2411.01738 (text and picture joined are split along the sequence).
    """
    require_positive(tokens=tokens, accelerators=accelerators)
    require_not_negative(text_tokens=text_tokens)
    repeated = np.where(np.mod(text_tokens, accelerators) == 0, 0.0, (accelerators - 1.0) * text_tokens)
    result: Column = 1.0 + repeated / tokens
    return result


def ring_rounds(*, heads: Column, accelerators: Column) -> Column:
    """Rounds in which keys and values pass accelerators that share one picture.

    r = n / gcd(n, a)

    Heads are dealt out first. Accelerators that are left over pass keys and values on; each round goes over
    the values between the layers once more.

    Source: Fang and Zhao, "USP: a unified sequence parallelism approach", arXiv 2405.07719.
    """
    require_positive(heads=heads, accelerators=accelerators)
    whole = np.asarray(accelerators).astype(np.int64)
    result: Column = whole / np.gcd(whole, np.asarray(heads).astype(np.int64))
    return result


def levels_tiles_ratio(
    *,
    tile: Column,
    narrow_width: Column,
    narrow_outputs_fraction: Column,
    middle_width: Column,
    middle_outputs_fraction: Column,
) -> Column:
    """Multiplications of a U-Net in whole tiles over those that it counts.

    r = 1 + sum_i x_i (ceil(w_i / T) T / w_i - 1)

    x_i of the multiplications have outputs w_i wide at the levels that are no multiple of a wide tile.

    Source: definition; NVIDIA, "Matrix Multiplication Background", section 3.1 (tile quantization).
    """
    require_share(
        narrow_outputs_fraction=narrow_outputs_fraction, middle_outputs_fraction=middle_outputs_fraction
    )
    narrow = narrow_outputs_fraction * (whole_tiles_ratio(side=narrow_width, tile=tile) - 1.0)
    return 1.0 + narrow + middle_outputs_fraction * (whole_tiles_ratio(side=middle_width, tile=tile) - 1.0)


def operator_s(
    *,
    operator_tflop: Column,
    operator_gb: Column,
    operator_tflop_per_s: Column,
    memory_gb_per_s: Column,
    memory_efficiency_fraction: Column,
) -> Column:
    """Time of each operator for one sample and one pass.

    t_i = max(F_i / R_i, B_i / (M e_m))

    R is the rate that the operator reaches: peak of its precision times its efficiency.

    Source: Williams et al., "Roofline", CACM 2009.
    """
    require_not_negative(operator_tflop=operator_tflop, operator_gb=operator_gb)
    require_positive(operator_tflop_per_s=operator_tflop_per_s, memory_gb_per_s=memory_gb_per_s)
    require_open_share(memory_efficiency_fraction=memory_efficiency_fraction)
    result: Column = np.maximum(
        operator_tflop / operator_tflop_per_s, operator_gb / (memory_gb_per_s * memory_efficiency_fraction)
    )
    return result


def generation_s(
    *,
    step_operator_s: NDArray[np.float64],
    once_operator_s: NDArray[np.float64],
    steps: Column,
    passes: Column,
    batch: Column,
    weights_gb: Column,
    memory_gb_per_s: Column,
    memory_efficiency_fraction: Column,
    wait_s: Column = 0.0,
) -> Column:
    """Time to make a batch of images or videos.

    T = n (max(g b sum_i t_i, W / (M e_m)) + t_w) + b sum_j t_j

    n steps, each with g passes of the denoiser (2 with classifier-free guidance); t_j is what runs once
    (text encoder, decoder). W, the weights, crosses memory at least once a step; t_w is spent between the
    kernels of a step, whatever the batch. Where none is given an engine that launches every operator alone
    is slower, above all at small batches.

    Source: structure of Golden et al., "Generative AI beyond LLMs", ISPASS 2024, arXiv 2312.14385.
    """
    require_positive(steps=steps, passes=passes, batch=batch, memory_gb_per_s=memory_gb_per_s)
    require_not_negative(
        step_operator_s=step_operator_s, once_operator_s=once_operator_s, weights_gb=weights_gb, wait_s=wait_s
    )
    require_open_share(memory_efficiency_fraction=memory_efficiency_fraction)
    weights_s = weights_gb / (memory_gb_per_s * memory_efficiency_fraction)
    step = np.maximum(passes * batch * np.sum(step_operator_s, axis=-1), weights_s)
    result: Column = steps * (step + wait_s) + batch * np.sum(once_operator_s, axis=-1)
    return result


@dataclass(frozen=True, slots=True)
class DenoiserStep:
    """Where the time of one training step goes. The terms before `total_s` add up to it."""

    computing_s: Column
    elementwise_s: Column
    exposed_communication_s: Column
    optimizer_s: Column
    waiting_s: Column
    total_s: Column


def diffusion_training_step(
    *,
    operator_s: NDArray[np.float64],
    samples: Column,
    parameters: Column,
    accelerators: Column,
    sharded: Column,
    optimizer_bytes: Column,
    memory_gb_per_s: Column,
    memory_efficiency_fraction: Column,
    links: Links,
    waits: Waits,
) -> DenoiserStep:
    """Time of one training step of a denoiser on n accelerators, each with its own samples.

    T = (C + X + 18 N/(n M e_m) + t_fix) (1 + k_s log2(n/8)),  C = 3 b sum_i t_i
    X = DP - min(x_h DP, C/2) where every accelerator holds all weights
    X = max(C, 3 AG) + x_f min(C, 3 AG) - C where they are sharded over all, or, where that is faster, over
    the fast domain alone, with the sums of the domains in what is left of C/2

    One pass forward and two back of the operators, of which the last is element-wise; a sample has one random
    noise level. Latents and texts are encoded beforehand, as the benchmarks do.

    Source: Ho et al., arXiv 2006.11239 (one denoising a sample); exchanges as in `training_step_s`.
    """
    require_positive(samples=samples, parameters=parameters, accelerators=accelerators)
    require_not_negative(operator_s=operator_s, fixed_s=waits.fixed_s)
    require_share(
        fsdp_exposed_fraction=waits.fsdp_exposed_fraction,
        data_parallel_hidden_fraction=waits.data_parallel_hidden_fraction,
    )
    passes = 3.0 * samples
    elementwise: Column = passes * np.asarray(operator_s)[..., -1]
    busy = passes * np.sum(operator_s, axis=-1)
    summed = gradient_exchange_s(exchanged_gb=4.0 * parameters / 1e9, ranks=accelerators, tp=1.0, links=links)
    near = np.minimum(links.link_domain, accelerators)
    domains = accelerators / near
    across_gb = 4.0 * parameters / near / 1e9
    across_s = (
        across_gb * (domains - 1.0) / domains / (links.network_gb_per_s * links.network_efficiency_fraction)
    )

    def gathering_s(ranks: Column) -> Column:
        gathered = 3.0 * weight_gather_s(
            gathered_gb=2.0 * parameters / 1e9,
            accelerators=ranks,
            fsdp_latency_s=waits.fsdp_latency_s,
            links=links,
        )
        longer: Column = (
            np.maximum(busy, gathered) + waits.fsdp_exposed_fraction * np.minimum(busy, gathered) - busy
        )
        return longer

    seen = np.where(
        sharded > 0,
        np.minimum(gathering_s(accelerators), gathering_s(near) + np.maximum(0.0, across_s - 0.5 * busy)),
        summed - np.minimum(waits.data_parallel_hidden_fraction * summed, 0.5 * busy),
    )
    updated = optimizer_bytes * parameters / accelerators
    updated_s = updated / (memory_gb_per_s * 1e9 * memory_efficiency_fraction)
    once_s = busy + seen + updated_s + waits.fixed_s
    total: Column = once_s * (1.0 + waits.scale_drag_ratio * np.maximum(0.0, np.log2(accelerators / 8.0)))
    return DenoiserStep(
        computing_s=busy - elementwise,
        elementwise_s=elementwise,
        exposed_communication_s=seen,
        optimizer_s=updated_s,
        waiting_s=total - busy - seen - updated_s,
        total_s=total,
    )


def denoiser_held_gb(
    *, parameters: Column, accelerators: Column, sharded: Column, held_bytes: Column, optimizer_bytes: Column
) -> Column:
    """Memory of one accelerator that trains a denoiser, without what its samples keep.

    m = (h N / (n if sharded else 1) + (o - h) N / n)

    h bytes of a parameter are its weight and gradient, o all with the state of the optimizer, which is split
    over all accelerators.

    Source: Rajbhandari et al., "ZeRO", arXiv 1910.02054, stages 1 and 3.
    """
    require_positive(parameters=parameters, accelerators=accelerators, held_bytes=held_bytes)
    copies = np.where(np.asarray(sharded) > 0, accelerators, 1.0)
    state = (np.asarray(optimizer_bytes) - held_bytes) / accelerators
    result: Column = parameters / 1e9 * (held_bytes / copies + state)
    return result


def generation_memory_gb(*, weights_gb: Column, batch: Column, passes: Column, sample_gb: Column) -> Column:
    """Memory of one accelerator that generates a batch.

    m = W + b g a

    a holds the largest set of values alive in one pass of one sample; text encoder and decoder that stay
    loaded belong to the weights.

    Source: definition.
    """
    require_positive(batch=batch, passes=passes)
    require_not_negative(weights_gb=weights_gb, sample_gb=sample_gb)
    return weights_gb + batch * passes * sample_gb


def generation_compute_use_fraction(
    *, sample_tflop: Column, batch: Column, time_s: Column, peak_tflop_per_s: Column
) -> Column:
    """Share of the dense peak that generation uses.

    u_comp = b F / (P T)

    For `accelerator_power_kw`, whose law of images counts operations over the 16-bit peak.

    Source: definition in the fit of `accelerator_power_kw`.
    """
    require_positive(batch=batch, time_s=time_s, peak_tflop_per_s=peak_tflop_per_s)
    require_not_negative(sample_tflop=sample_tflop)
    result: Column = np.minimum(1.0, batch * sample_tflop / (peak_tflop_per_s * time_s))
    return result
