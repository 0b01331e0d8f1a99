"""Lifetimes from logs: parametric fits and the Kaplan-Meier curve, through lifelines.

lifelines takes more than a second to load, so it is imported where it is used. Rows that are alike are
counted once with a weight first: a fleet log has day resolution and few different rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from reliability.domain import require_share
from reliability.lifetimes import Exponential, Weibull, survival_fraction

Column = float | NDArray[np.float64]
Floats = NDArray[np.float64]
Model = TypeVar("Model", Exponential, Weibull)


@dataclass(frozen=True, slots=True)
class Fit(Generic[Model]):
    """A fitted model; `covariance` is in the order of the model's parameters and in their units."""

    model: Model
    covariance: Floats
    log_likelihood: float
    aic: float
    failures: float

    def parameter_interval(self, name: str, *, confidence_fraction: float) -> tuple[float, float]:
        """Interval of a parameter, always above zero: normal on its logarithm."""
        names = [field.name for field in fields(self.model)]
        if name not in names:
            raise ValueError(f"name must be one of {', '.join(names)}, got '{name}'")
        value: float = getattr(self.model, name)
        place = names.index(name)
        factor = float(np.exp(_normal(confidence_fraction) * np.sqrt(self.covariance[place, place]) / value))
        return value / factor, value * factor


@dataclass(frozen=True, slots=True)
class SurvivalBand:
    """Survival with its interval; both ends lie in [0, 1]."""

    survival_fraction: Column
    low_fraction: Column
    high_fraction: Column


@dataclass(frozen=True, slots=True)
class SurvivalCurve:
    """Kaplan-Meier curve at each time that a death was seen, with those at risk just before it."""

    time_h: Floats
    at_risk: Floats
    deaths: Floats
    survival_fraction: Floats
    low_fraction: Floats
    high_fraction: Floats

    def survival_at(self, *, time_h: Column) -> Column:
        """Share alive at a time: the last step at or before it."""
        step = np.searchsorted(self.time_h, time_h, side="right")
        return np.concatenate([[1.0], self.survival_fraction])[step]


def fit_exponential(
    *, duration_h: ArrayLike, observed: ArrayLike, entry_h: ArrayLike = 0.0, weight: ArrayLike = 1.0
) -> Fit[Exponential]:
    """Constant-rate lifetime of highest likelihood.

        mean = time at risk / deaths,  Var[mean] = mean^2 / deaths,  ln L = -deaths * (1 + ln mean)

    Args:
        duration_h: age at death, or when last seen alive.
        observed: whether the row ended in death.
        entry_h: age at which watching began (0: from new); below the duration.
        weight: how many units the row stands for.

    Source: maximum likelihood of a censored exponential sample, in closed form.
    """
    rows = _grouped(duration_h, observed, entry_h, weight)
    deaths = float(rows.weight[rows.observed].sum())
    mean_h = float((rows.weight * (rows.duration_h - rows.entry_h)).sum()) / deaths
    log_likelihood = -deaths * (1.0 + float(np.log(mean_h)))
    covariance = np.array([[mean_h**2 / deaths]])
    return Fit(Exponential(mean_h=mean_h), covariance, log_likelihood, 2.0 - 2.0 * log_likelihood, deaths)


def fit_weibull(
    *, duration_h: ArrayLike, observed: ArrayLike, entry_h: ArrayLike = 0.0, weight: ArrayLike = 1.0
) -> Fit[Weibull]:
    """Weibull lifetime of highest likelihood; arguments as in `fit_exponential`.

        L = sum over deaths of ln h(t) - sum over rows of (H(t) - H(entry))

    Source: lifelines, WeibullFitter.
    """
    from lifelines import WeibullFitter
    from lifelines.exceptions import ConvergenceError

    rows = _grouped(duration_h, observed, entry_h, weight)
    # In units of the mean duration the search starts and stops well whatever the unit of the log.
    unit_h = float(np.average(rows.duration_h, weights=rows.weight))
    first_death_h, last_h = rows.duration_h[rows.observed].min(), rows.duration_h.max()
    if first_death_h >= last_h:  # the likelihood then grows with the shape without end
        raise ValueError(
            f"duration_h tells no shape: every death is at the last age seen, {last_h:g}; use fit_exponential"
        )
    fitter = WeibullFitter()
    try:
        with _weights_are_counts():
            fitter.fit(
                rows.duration_h / unit_h, rows.observed, entry=rows.entry_h / unit_h, weights=rows.weight
            )
    except ConvergenceError as error:
        raise ValueError(
            f"no Weibull of highest likelihood was found for these {rows.duration_h.size} different rows; "
            "look at kaplan_meier, or use fit_exponential"
        ) from error
    deaths = float(rows.weight[rows.observed].sum())
    # A density for each unit of time is `unit_h` times the one for each hour.
    log_likelihood = float(fitter.log_likelihood_) - deaths * float(np.log(unit_h))
    units = np.array([unit_h, 1.0])
    covariance = np.asarray(fitter.variance_matrix_, dtype=float) * np.outer(units, units)
    model = Weibull(scale_h=float(fitter.lambda_) * unit_h, shape=float(fitter.rho_))
    return Fit(model, covariance, log_likelihood, 4.0 - 2.0 * log_likelihood, deaths)


def survival_band(fit: Fit[Model], *, age_h: Column, confidence_fraction: float) -> SurvivalBand:
    """Survival at an age with an interval that cannot leave [0, 1].

        ln H in ln H(t) -/+ z * sqrt(g^T Cov g),  g = d ln H / d parameter

    Normal on ln H, whose whole line maps into [0, 1].

    Source: delta method on ln(-ln S), as usual for Kaplan-Meier bands.
    """
    names = [field.name for field in fields(fit.model)]
    log_hazard = np.log(np.asarray(fit.model.cumulative_hazard(age_h=age_h)))
    slopes = np.stack([_log_hazard_slope(fit.model, name, age_h) for name in names])
    variance = np.einsum("i...,ij,j...->...", slopes, fit.covariance, slopes)
    reach = _normal(confidence_fraction) * np.sqrt(variance)
    return SurvivalBand(
        survival_fraction=survival_fraction(fit.model, age_h=age_h),
        low_fraction=np.exp(-np.exp(log_hazard + reach)),
        high_fraction=np.exp(-np.exp(log_hazard - reach)),
    )


def kaplan_meier(
    *,
    duration_h: ArrayLike,
    observed: ArrayLike,
    entry_h: ArrayLike = 0.0,
    weight: ArrayLike = 1.0,
    confidence_fraction: float = 0.95,
) -> SurvivalCurve:
    """Survival curve without a model; arguments as in `fit_exponential`.

        S(t) = product over death times t_i <= t of (1 - d_i / n_i)

    The band is Greenwood's on ln(-ln S); where that is not defined (nobody left alive) it is the widest.

    Source: lifelines, KaplanMeierFitter.
    """
    from lifelines import KaplanMeierFitter

    require_share(confidence_fraction=confidence_fraction)
    rows = _grouped(duration_h, observed, entry_h, weight)
    with _weights_are_counts():
        fitted = KaplanMeierFitter(alpha=1.0 - confidence_fraction).fit(
            rows.duration_h, rows.observed, entry=rows.entry_h, weights=rows.weight
        )
    table, band = fitted.event_table, fitted.confidence_interval_
    died = table["observed"].to_numpy() > 0
    survival = fitted.survival_function_.iloc[:, 0].to_numpy()[died]
    low, high = (band.iloc[:, side].to_numpy()[died] for side in (0, 1))
    return SurvivalCurve(
        time_h=table.index.to_numpy(dtype=float)[died],
        at_risk=table["at_risk"].to_numpy(dtype=float)[died],
        deaths=table["observed"].to_numpy(dtype=float)[died],
        survival_fraction=np.clip(survival, 0.0, 1.0),
        low_fraction=np.clip(np.nan_to_num(low, nan=0.0), 0.0, 1.0),
        high_fraction=np.clip(np.nan_to_num(high, nan=1.0), 0.0, 1.0),
    )


@dataclass(frozen=True, slots=True)
class _Rows:
    duration_h: Floats
    observed: NDArray[np.bool_]
    entry_h: Floats
    weight: Floats


def _grouped(duration_h: ArrayLike, observed: ArrayLike, entry_h: ArrayLike, weight: ArrayLike) -> _Rows:
    """Checked rows, those alike counted once."""
    numbers = (np.atleast_1d(np.asarray(column, dtype=float)) for column in (duration_h, entry_h, weight))
    duration, entry, count, died = np.broadcast_arrays(*numbers, np.asarray(observed, dtype=bool))
    positive = np.isfinite(duration) & (duration > 0)
    _refuse("duration_h", duration, positive, "above 0 (join events that coincide)")
    _refuse("entry_h", entry, (entry >= 0) & (entry < duration), "from 0 up and below duration_h")
    _refuse("weight", count, np.isfinite(count) & (count > 0), "above 0")
    keys = np.column_stack([duration, died.astype(float), entry])
    unique, group = np.unique(keys, axis=0, return_inverse=True)
    weights = np.bincount(group.ravel(), weights=count).astype(np.float64)
    rows = _Rows(unique[:, 0], unique[:, 1] > 0, unique[:, 2], weights)
    if not rows.observed.any():
        raise ValueError(f"observed must hold at least one death, got none in {duration.size} rows")
    return rows


def _refuse(name: str, column: Floats, holds: NDArray[np.bool_], wanted: str) -> None:
    if not holds.all():
        row = int(np.argmin(holds))
        raise ValueError(f"{name} must be {wanted}, got {column[row]:g} in row {row}")


def _log_hazard_slope(model: Any, name: str, age_h: Column) -> Floats:
    """Central difference of ln H by one parameter, for any model."""
    value: float = getattr(model, name)
    step = value * 1e-5
    above = replace(model, **{name: value + step}).cumulative_hazard(age_h=age_h)
    below = replace(model, **{name: value - step}).cumulative_hazard(age_h=age_h)
    return np.asarray((np.log(above) - np.log(below)) / (2.0 * step))


def _normal(confidence_fraction: float) -> float:
    require_share(confidence_fraction=confidence_fraction)
    return float(ndtri((1.0 + confidence_fraction) / 2.0))


@contextmanager
def _weights_are_counts() -> Iterator[None]:
    """Our weights say how often a row was seen; the warning is about sampling weights."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*weights are not integers.*")
        yield
