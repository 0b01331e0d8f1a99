"""Figures of a data sheet that are easily taken for others: sparse peaks, two-way links, formats."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from planner.performance._checks import require_positive

Column = float | NDArray[np.float64]

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
