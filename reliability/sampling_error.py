"""How sure a mean or a percentile of played values is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reliability.columns import Floats


@dataclass(frozen=True, slots=True)
class MonteCarlo:
    """Mean and percentiles of played values, each with its standard error."""

    mean: float
    standard_error: float
    p5: float
    p50: float
    p95: float
    p5_standard_error: float
    p50_standard_error: float
    p95_standard_error: float


def monte_carlo(values: Floats) -> MonteCarlo:
    """Summary of independent played values, with how sure it is.

        se(mean) = s / sqrt(n)
        se(q)    = (x_(n * q + d) - x_(n * q - d)) / 2,  d = sqrt(n * q * (1 - q))

    The rank of a percentile is binomial, so the ordered values one deviation d of rank to each side bound
    it; nothing is assumed of their distribution. Ranks end at the smallest and largest value: below some
    40 values the errors of p5 and p95 are too small.

    Source: David and Nagaraja, "Order Statistics", 3rd edition, 2003, section 7.1.
    """
    values = np.asarray(values, dtype=float)
    if values.ndim != 1 or values.size < 2:
        raise ValueError(f"values must be a column of 2 or more, got shape {values.shape}")
    shares = np.array([0.05, 0.5, 0.95])
    aside = np.sqrt(shares * (1.0 - shares) / values.size)
    below, middle, above = np.quantile(values, np.clip([shares - aside, shares, shares + aside], 0.0, 1.0))
    error = float(values.std(ddof=1)) / values.size**0.5
    return MonteCarlo(float(values.mean()), error, *middle.tolist(), *((above - below) / 2.0).tolist())
