"""Figures of a data sheet that are easily taken for others: sparse peaks, two-way links, formats."""

from collections.abc import Mapping

import numpy as np

from planner.performance._checks import require_positive
from planner.performance.columns import Column

# A doubled figure, less what rounding and clock bins of a data sheet may take off.
DOUBLED = 1.9


def require_dense_peak(*, peak_tflop_per_s: Column, dense_tflop_per_s: Column) -> None:
    """Raise ValueError where a peak is about twice the known dense one: the figure with sparsity.

    P <= 1.9 P_dense

    Source: NVIDIA data sheets, which print the rate with 2:4 structured sparsity.
    """
    require_positive(peak_tflop_per_s=peak_tflop_per_s, dense_tflop_per_s=dense_tflop_per_s)
    if np.any(peak_tflop_per_s / dense_tflop_per_s >= DOUBLED):
        raise ValueError(
            f"peak_tflop_per_s {peak_tflop_per_s} is about twice the dense {dense_tflop_per_s}: the figure "
            "with structured sparsity? Training and serving reach the dense rate; give that"
        )


def require_one_way_link(*, link_gb_per_s: Column, one_way_gb_per_s: Column) -> None:
    """Raise ValueError where a link is about twice the known one: both directions added up.

    N_l <= 1.9 N_one-way

    Source: NVIDIA data sheets, which print NVLink in both directions (H100: 900 GB/s for 450 each way).
    """
    require_positive(link_gb_per_s=link_gb_per_s, one_way_gb_per_s=one_way_gb_per_s)
    if np.any(link_gb_per_s / one_way_gb_per_s >= DOUBLED):
        raise ValueError(
            f"link_gb_per_s {link_gb_per_s} is about twice the {one_way_gb_per_s} of one direction: both "
            "directions added up? Give the bandwidth of one"
        )


def power_at_equal_peak_kw(
    *,
    reference_kw: Column,
    tdp_kw: Column,
    peak_tflop_per_s: Column,
    reference_tdp_kw: Column,
    reference_peak_tflop_per_s: Column,
) -> Column:
    """Power of as much dense peak on other hardware, by thermal design power.

    P' = P (TDP' / peak') / (TDP / peak)

    What is reached of either peak, and the hosts, are left out: it compares data sheets.

    Source: arithmetic per watt of thermal design power, as in "xPU-athalon", arXiv 2604.10852.
    """
    require_positive(tdp_kw=tdp_kw, peak_tflop_per_s=peak_tflop_per_s, reference_kw=reference_kw)
    require_positive(reference_tdp_kw=reference_tdp_kw, reference_peak_tflop_per_s=reference_peak_tflop_per_s)
    return reference_kw * tdp_kw / peak_tflop_per_s * reference_peak_tflop_per_s / reference_tdp_kw


def idle_excess_fraction(*, idle_fractions: Column, reference_idle_fraction: Column) -> float:
    """How far the largest idle share of thermal design power lies above that of a reference.

    max_i(idle_i / TDP_i) - idle_ref / TDP_ref

    Source: definition; "xPU-athalon", arXiv 2604.10852 (10 to 60 points above GPUs).
    """
    for name, share in (("idle_fractions", idle_fractions), ("reference", reference_idle_fraction)):
        if np.any(np.asarray(share) < 0) or np.any(np.asarray(share) > 1):
            raise ValueError(f"{name}: idle power is a share of thermal design power, got {share}")
    return float(np.max(idle_fractions) - reference_idle_fraction)


def precision_peak_tflop_per_s(*, peaks_tflop_per_s: Mapping[str, float], precision: str) -> float:
    """Dense peak at a precision, from those that an accelerator has.

    Raises:
        ValueError: it lacks the precision.

    Source: look-up.
    """
    if precision not in peaks_tflop_per_s:
        known = ", ".join(sorted(peaks_tflop_per_s)) or "none"
        raise ValueError(f"precision '{precision}' is not among those that the accelerator has: {known}")
    return peaks_tflop_per_s[precision]


def precision_factor(*, narrow_efficiency_fraction: Column, efficiency_fraction: Column) -> Column:
    """What is left of a narrow peak next to a 16-bit one.

    f = e_p / e_16

    Source: definition; both are shares of their own dense peak that kernels reach.
    """
    require_positive(narrow_efficiency_fraction=narrow_efficiency_fraction)
    require_positive(efficiency_fraction=efficiency_fraction)
    return narrow_efficiency_fraction / efficiency_fraction
