"""What makes some units last longer: Weibull time ratios, by numbers and by levels."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from reliability.columns import Floats
from reliability.covariates import (
    Design,
    centre_and_scale,
    covariate_rows,
    separated_message,
)
from reliability.lifetimes import Weibull
from reliability.likelihood import NoMaximumError, highest_likelihood
from reliability.rows import LifeRows


@dataclass(frozen=True, slots=True)
class WeibullRegression:
    """Log time ratios and the Weibull of a unit whose numbers are 0 and whose levels are the reference.

    `covariance` is that of `names`, then ln scale and shape of `baseline`.
    """

    names: tuple[str, ...]
    coefficients: Floats
    baseline: Weibull
    covariance: Floats
    log_likelihood: float
    design: Design

    def lifetime(self, *, covariates: Mapping[str, ArrayLike]) -> Weibull:
        """The lifetime of one unit."""
        columns = {name: np.atleast_1d(np.asarray(value)) for name, value in covariates.items()}
        factor = float(np.exp(self.design.matrix(columns) @ self.coefficients)[0])
        return Weibull(scale_h=self.baseline.scale_h * factor, shape=self.baseline.shape)


def fit_weibull_regression(
    *,
    duration_h: ArrayLike,
    observed: ArrayLike,
    covariates: Mapping[str, ArrayLike],
    categorical: Collection[str] = (),
    entry_h: ArrayLike = 0.0,
    weight: ArrayLike = 1.0,
) -> WeibullRegression:
    """Weibull lives that covariates stretch or shorten (accelerated failure time); arguments as in `fit_cox`.

        H(t | x) = (t / (scale * exp(b'x)))^k
        ln L = sum over deaths of (ln k + z - ln t) - sum over rows of (exp z - exp z_entry)
        z = k * (ln t - ln scale - b'x)

    In (k, k * b, k * ln scale) this has one top.

    Source: Lawless, "Statistical Models and Methods for Lifetime Data", 2003, chapter 6.
    """
    rows = covariate_rows(LifeRows.checked(duration_h, observed, entry_h, weight), covariates, categorical)
    centre, scale = centre_and_scale(rows)
    life, late = rows.life, rows.life.entry_h > 0
    last_h, constant = float(life.duration_h.max()), np.ones((life.duration_h.size, 1))
    shape = np.column_stack([-(rows.matrix - centre) / scale, -constant, np.log(life.duration_h / last_h)])
    start = shape[late].copy()
    start[:, -1] = np.log(life.entry_h[late] / last_h)
    deaths, died = life.deaths, life.weight * life.observed
    log_death = float(died @ np.log(life.duration_h))

    def likelihood(point: Floats) -> tuple[float, Floats, Floats]:
        """By (k * b, k * ln scale, k)."""
        hazard, before = life.weight * np.exp(shape @ point), life.weight[late] * np.exp(start @ point)
        value = deaths * np.log(point[-1]) - log_death + died @ (shape @ point) - hazard.sum() + before.sum()
        slope = shape.T @ (died - hazard) + start.T @ before
        curve = start.T @ (start * before[:, None]) - shape.T @ (shape * hazard[:, None])
        slope[-1] += deaths / point[-1]
        curve[-1, -1] -= deaths / point[-1] ** 2
        return float(value), slope, curve

    start_at = np.zeros(shape.shape[1])
    start_at[-2:] = np.log(life.weight @ (life.duration_h - life.entry_h) / last_h / deaths), 1.0
    try:
        point, value, covariance = highest_likelihood(likelihood, start_at)
    except NoMaximumError as error:
        raise ValueError(separated_message(rows.design, error.step)) from error
    return _time_ratios(rows.design, point, value, covariance, centre, scale, last_h)


def _time_ratios(
    design: Design,
    point: Floats,
    value: float,
    covariance: Floats,
    centre: Floats,
    scale: Floats,
    last_h: float,
) -> WeibullRegression:
    """From (k * b, k * ln scale, k) of standardised columns to (b, ln scale, k) of the columns."""
    k, size = float(point[-1]), scale.size
    coefficients = point[:size] / k / scale
    log_scale = float(point[size] / k - coefficients @ centre)
    change = np.zeros((size + 2, size + 2))
    change[:size, :size] = np.diag(1.0 / k / scale)
    change[:size, -1] = -coefficients / k
    change[size] = [*(-centre / scale / k), 1.0 / k, -log_scale / k]
    change[-1, -1] = 1.0
    return WeibullRegression(
        names=design.names,
        coefficients=coefficients,
        baseline=Weibull(scale_h=last_h * float(np.exp(log_scale)), shape=k),
        covariance=change @ covariance @ change.T,
        log_likelihood=value,
        design=design,
    )
