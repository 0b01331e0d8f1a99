"""From step time to rates, hours, utilisation and spread, and the one-point calibration."""

import numpy as np

from planner.performance._checks import require_not_negative, require_positive, require_share
from planner.performance.columns import Column


def tokens_per_s_per_gpu(
    *,
    global_batch: Column,
    sequence_tokens: Column,
    step_s: Column,
    accelerators: Column,
    calibration_factor: Column = 1.0,
) -> Column:
    """Training throughput of one accelerator.

    X = f B s / (T n)

    `calibration_factor` is 1, or `calibration_ratio` of one measured point, or a dated software factor.

    Source: definition.
    """
    require_positive(
        global_batch=global_batch, sequence_tokens=sequence_tokens, step_s=step_s, accelerators=accelerators
    )
    require_positive(calibration_factor=calibration_factor)
    return calibration_factor * global_batch * sequence_tokens / (step_s * accelerators)


def samples_per_s(*, global_batch: Column, step_s: Column) -> Column:
    """Samples (sequences, images) that the whole system trains on in a second.

    X = B / T

    Source: definition.
    """
    require_positive(global_batch=global_batch, step_s=step_s)
    return global_batch / step_s


def software_factor(
    *, software_year: Column, reference_year: Column, yearly_gain_ratio: Column, years_back: Column
) -> Column:
    """Speed of the software of a year over that of the year which the constants stand for.

    f = G^(y - y_0),  y within y_0 - `years_back` and y_0

    G is what one year of software gained on one and the same hardware. Beyond the years that were
    measured nothing is gained or lost: the factor stays at the edge.

    Source: definition; MLPerf Training v3.1 (2023) and v4.1 (2024) for G on H100.
    """
    require_positive(yearly_gain_ratio=yearly_gain_ratio)
    require_not_negative(years_back=years_back)
    result: Column = yearly_gain_ratio ** np.clip(software_year - reference_year, -years_back, 0.0)
    return result


def exposed_communication_fraction(
    *,
    tensor_parallel_s: Column,
    expert_parallel_s: Column,
    weight_gather_s: Column,
    pipeline_transfer_s: Column,
    data_parallel_s: Column,
    total_s: Column,
    context_parallel_s: Column = 0.0,
) -> Column:
    """Share of a step in which accelerators wait for each other's data.

    (tensor + expert + context + gather + transfer + data) / T, each after what overlap hides

    The pipeline bubble is waiting for work, not for data: left out.

    Source: definition; Hsia et al., "MAD-Max", arXiv 2310.02784 (14 to 32 % of a fleet's GPU hours).
    """
    require_positive(total_s=total_s)
    waited = tensor_parallel_s + expert_parallel_s + context_parallel_s
    return (waited + weight_gather_s + pipeline_transfer_s + data_parallel_s) / total_s


def calibration_ratio(*, measured_tokens_per_s: Column, modelled_tokens_per_s: Column) -> Column:
    """One factor that makes the model agree with one measured throughput; other sizes then follow.

    f = X_measured / X_model

    Source: definition; on published series the error at other sizes falls from 4.8 % to 3.7 %.
    """
    require_positive(measured_tokens_per_s=measured_tokens_per_s, modelled_tokens_per_s=modelled_tokens_per_s)
    return measured_tokens_per_s / modelled_tokens_per_s


def model_flops_per_token(
    *,
    parameters: Column,
    layers: Column,
    heads: Column,
    head_dim: Column,
    sequence_tokens: Column,
    counted_scores_fraction: Column = 1.0,
) -> Column:
    """Floating-point operations that training on one token needs, without recomputation.

    F = 6 N + 12 L H Q T y

    The attention term counts the full square of scores (y = 1); authors who count what a causal mask
    leaves have y = 1/2. In a mixture of experts N is what one token passes.

    Source: Chowdhery et al., "PaLM", arXiv 2204.02311, appendix B.
    """
    require_positive(parameters=parameters, layers=layers, sequence_tokens=sequence_tokens)
    require_not_negative(heads=heads, head_dim=head_dim)
    require_share(counted_scores_fraction=counted_scores_fraction)
    scores = 12.0 * layers * heads * head_dim * sequence_tokens
    return 6.0 * parameters + scores * counted_scores_fraction


def mfu_fraction(
    *, tokens_per_s_per_gpu: Column, flops_per_token: Column, peak_tflop_per_s: Column
) -> Column:
    """Share of the dense peak that useful work uses (model FLOPs utilisation).

    MFU = X F / P

    Source: Chowdhery et al., "PaLM", arXiv 2204.02311, section 4.1.
    """
    require_positive(flops_per_token=flops_per_token, peak_tflop_per_s=peak_tflop_per_s)
    return tokens_per_s_per_gpu * flops_per_token / (peak_tflop_per_s * 1e12)


def training_time_h(
    *,
    parameters: Column,
    tokens: Column,
    accelerators: Column,
    achieved_tflop_per_s: Column,
    flops_per_parameter_token: Column,
) -> Column:
    """Hours of pure training from an achieved rate per accelerator.

    t = k T P / (n X)

    k is 6, or 8 where the achieved rate counts full recomputation. Restarts are left out.

    Source: Narayanan et al., SC'21, arXiv 2104.04473, section 5.1.
    """
    require_positive(
        parameters=parameters,
        tokens=tokens,
        accelerators=accelerators,
        achieved_tflop_per_s=achieved_tflop_per_s,
    )
    operations = flops_per_parameter_token * tokens * parameters
    return operations / (accelerators * achieved_tflop_per_s * 1e12) / 3600.0
