"""Replicas that keep some weights wider than the others, as engines do to hold a benchmark's accuracy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from planner.performance.columns import Column


def mixed_weights(
    narrow: dict[str, Any], wide: dict[str, Any], wide_fraction: float, experts: bool = True
) -> dict[str, Any]:
    """What a replica is made of that keeps a share x of its weights in a wider format.

    1/e = (1-x)/e_n + x P_n/(P_w e_w);  B = (1-x) B_n + x B_w

    P and e are the peak of a format and the share of it that large matrices reach, dense and of experts, B
    the bytes of a weight. Which matrices are kept is not published: they are taken as any. Without `experts`
    they are any but theirs, and weights in memory stay narrow. What rows and sizes halve those shares stays
    that of the narrower format.

    Source: definition, of work one after the other.
    """
    few, many = wide["chip"], narrow["chip"]
    faster = np.asarray(many.peak_tflop_per_s) / np.asarray(few.peak_tflop_per_s)

    def mean(narrower: Column, wider: Column, wider_takes: Column) -> Column:
        result: Column = (1.0 - wide_fraction) * np.asarray(narrower) + wide_fraction * wider_takes * wider
        return result

    shares = {
        name: 1.0 / mean(1.0 / getattr(many, name), 1.0 / getattr(few, name), faster)
        for name in ("matrix_fraction", "grouped_fraction")[: 2 if experts else 1]
    }
    if not experts:
        return narrow | {"chip": replace(many, **shares)}
    model = narrow["model"]
    weight_bytes = mean(model.weight_bytes, wide["model"].weight_bytes, 1.0)
    return narrow | {
        "chip": replace(many, **shares),
        "model": replace(model, weight_bytes=weight_bytes),
    }
