"""Operational carbon: of electricity, and the hours that a number of operations takes."""

from __future__ import annotations

from carbon import _domain
from carbon.columns import Column


def operational_kgco2e(*, facility_energy_kwh: Column, grid_kgco2e_per_kwh: Column) -> Column:
    """Carbon of the electricity that a facility draws.

    C_op = E_facility * CI

    What the grid factor includes (average or marginal, direct or life-cycle) the result includes too.

    Source: Gupta et al., "ACT", ISCA 2022; GHG Protocol Scope 2 Guidance (2015).
    """
    _domain.nonnegative(facility_energy_kwh=facility_energy_kwh, grid_kgco2e_per_kwh=grid_kgco2e_per_kwh)
    return facility_energy_kwh * grid_kgco2e_per_kwh


def training_flops(*, active_parameters: Column, tokens: Column, flops_per_parameter_token: Column) -> Column:
    """Operations to train a transformer.

    FLOPs = k * N * D,  k = 6: two forward, four backward

    Attention over the sequence and recomputation are left out. Of a mixture of experts, only the active
    parameters count.

    Source: Kaplan et al., "Scaling Laws for Neural Language Models", arXiv 2001.08361, section 2.1.
    """
    _domain.nonnegative(
        active_parameters=active_parameters,
        tokens=tokens,
        flops_per_parameter_token=flops_per_parameter_token,
    )
    return flops_per_parameter_token * active_parameters * tokens


def training_device_h(
    *,
    flops: Column,
    peak_tflop_per_s: Column,
    efficiency_fraction: Column,
    effective_time_fraction: Column,
) -> Column:
    """Device-hours that a number of operations takes.

    t * n = FLOPs / (peak * MFU * ETTR)

    The effective time charges work lost to failures and checkpoints to the job.

    Source: Faiz et al., "LLMCarbon", ICLR 2024 (without the effective time); Llama Team, arXiv 2407.21783.
    """
    _domain.nonnegative(flops=flops)
    _domain.positive(peak_tflop_per_s=peak_tflop_per_s)
    _domain.share_above_zero(
        efficiency_fraction=efficiency_fraction, effective_time_fraction=effective_time_fraction
    )
    flops_per_s = peak_tflop_per_s * 1e12 * efficiency_fraction * effective_time_fraction
    return flops / flops_per_s / 3600
