"""Lifetimes from logs: parametric fits, the choice between them, and how sure they are.

Every fit is of highest likelihood, with late entry, right censoring and weights that are counts.
`crosscheck.py` sets them next to lifelines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from reliability import families
from reliability.columns import Column, Floats
from reliability.domain import require_positive
from reliability.families import Maximum
from reliability.lifetimes import (
    Exponential,
    GeneralisedGamma,
    Lifetime,
    LogLogistic,
    LogNormal,
    Weibull,
    survival_fraction,
)
from reliability.likelihood import normal_quantile
from reliability.rows import LifeRows

Model = TypeVar("Model", bound=Lifetime, covariant=True)
Kind = TypeVar("Kind", bound=Lifetime)


@dataclass(frozen=True, slots=True)
class Fit(Generic[Model]):
    """A fitted model; `covariance` is in the order of the model's fitted parameters and in their units."""

    model: Model
    covariance: Floats
    log_likelihood: float
    aic: float
    failures: float

    def parameter_interval(self, name: str, *, confidence_fraction: float) -> tuple[float, float]:
        """Interval of a parameter: normal on its logarithm, so above zero; on itself where any sign goes."""
        model: Any = self.model
        fitted = {field.name: field for field in fields(model)}
        if name not in fitted:
            raise ValueError(f"name must be one of {', '.join(fitted)}, got '{name}'")
        value, place = float(getattr(model, name)), list(fitted).index(name)
        reach = normal_quantile(confidence_fraction) * float(np.sqrt(self.covariance[place, place]))
        if fitted[name].metadata.get("any_sign"):
            return value - reach, value + reach
        factor = float(np.exp(reach / value))
        return value / factor, value * factor


@dataclass(frozen=True, slots=True)
class SurvivalBand:
    """Survival with its interval; both ends lie in [0, 1]."""

    survival_fraction: Column
    low_fraction: Column
    high_fraction: Column


@dataclass(frozen=True, slots=True)
class RankedFits:
    """Fits of several families, the lowest AIC first, and why those in `failed` have none."""

    fits: tuple[Fit[Lifetime], ...]
    failed: dict[str, str]

    @property
    def best(self) -> Fit[Lifetime]:
        """The fit of lowest AIC."""
        return self.fits[0]

    @property
    def runner_up(self) -> Fit[Lifetime] | None:
        """The next one, if any family but one fits."""
        return self.fits[1] if len(self.fits) > 1 else None

    @property
    def aic_difference(self) -> float:
        """AIC of the runner-up above the best: below 2 the log hardly tells them apart."""
        return self.fits[1].aic - self.fits[0].aic if len(self.fits) > 1 else float("inf")


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
    return _fit(families.exponential, LifeRows.checked(duration_h, observed, entry_h, weight))


def fit_weibull(
    *, duration_h: ArrayLike, observed: ArrayLike, entry_h: ArrayLike = 0.0, weight: ArrayLike = 1.0
) -> Fit[Weibull]:
    """Weibull lifetime of highest likelihood; arguments as in `fit_exponential`.

        1 / k = sum_i w_i * (t_i^k * ln t_i - e_i^k * ln e_i) / A(k) - mean of ln t over deaths
        scale = (A(k) / deaths)^(1 / k),  A(k) = sum_i w_i * (t_i^k - e_i^k)

    The scale follows from the shape k, so one unknown is left.

    Source: profile likelihood; Lawless, "Statistical Models and Methods for Lifetime Data", 2003, chapter 5.
    """
    return _fit(families.weibull, LifeRows.checked(duration_h, observed, entry_h, weight))


def fit_log_normal(
    *, duration_h: ArrayLike, observed: ArrayLike, entry_h: ArrayLike = 0.0, weight: ArrayLike = 1.0
) -> Fit[LogNormal]:
    """Log-normal lifetime of highest likelihood; arguments as in `fit_exponential`.

        ln L = sum over deaths of ln f(t) + sum over the censored of ln S(t) - sum over rows of ln S(entry)

    Source: Newton's method on (location / sigma, 1 / sigma) of ln t.
    """
    return _fit(families.log_normal, LifeRows.checked(duration_h, observed, entry_h, weight).grouped())


def fit_log_logistic(
    *, duration_h: ArrayLike, observed: ArrayLike, entry_h: ArrayLike = 0.0, weight: ArrayLike = 1.0
) -> Fit[LogLogistic]:
    """Log-logistic lifetime of highest likelihood; arguments as in `fit_exponential`.

    The likelihood is that of `fit_log_normal`.

    Source: Newton's method on (location / sigma, 1 / sigma) of ln t.
    """
    return _fit(families.log_logistic, LifeRows.checked(duration_h, observed, entry_h, weight).grouped())


def fit_generalised_gamma(
    *, duration_h: ArrayLike, observed: ArrayLike, entry_h: ArrayLike = 0.0, weight: ArrayLike = 1.0
) -> Fit[GeneralisedGamma]:
    """Generalised gamma lifetime of highest likelihood; arguments as in `fit_exponential`.

    The likelihood is that of `fit_log_normal`. The best of shapes half apart is where the search starts.

    Source: Prentice, Biometrika 61, 1974; Newton's method on (location / sigma, 1 / sigma, shape).
    """
    return _fit(families.generalised_gamma, LifeRows.checked(duration_h, observed, entry_h, weight).grouped())


def fit_best(
    *,
    duration_h: ArrayLike,
    observed: ArrayLike,
    entry_h: ArrayLike = 0.0,
    weight: ArrayLike = 1.0,
) -> RankedFits:
    """Every family fitted, by AIC; arguments as in `fit_exponential`.

        AIC = 2 * parameters - 2 ln L

    Source: Akaike, IEEE Transactions on Automatic Control 19, 1974.
    """
    rows = LifeRows.checked(duration_h, observed, entry_h, weight).grouped()
    candidates: dict[str, Callable[[LifeRows], Maximum[Lifetime]]] = {
        "exponential": families.exponential,
        "Weibull": families.weibull,
        "log-normal": families.log_normal,
        "log-logistic": families.log_logistic,
        "generalised gamma": families.generalised_gamma,
    }
    fits, failed = [], {}
    for name, family in candidates.items():
        try:
            fits.append(_fit(family, rows))
        except ValueError as error:
            failed[name] = str(error)
    return RankedFits(tuple(sorted(fits, key=lambda fit: fit.aic)), failed)


def survival_band(fit: Fit[Lifetime], *, age_h: Column, confidence_fraction: float) -> SurvivalBand:
    """Survival at an age with an interval that cannot leave [0, 1].

        ln H in ln H(t) -/+ z * sqrt(g^T Cov g),  g = d ln H / d parameter

    Normal on ln H, whose whole line maps into [0, 1].

    Source: delta method on ln(-ln S), as usual for Kaplan-Meier bands.
    """
    require_positive(age_h=age_h)
    log_hazard = np.log(np.asarray(fit.model.cumulative_hazard(age_h=age_h)))
    steps = 1e-4 * np.sqrt(np.diag(fit.covariance))
    slopes = np.stack([_log_hazard_slope(fit.model, place, steps, age_h) for place in range(steps.size)])
    variance = np.einsum("i...,ij,j...->...", slopes, fit.covariance, slopes)
    reach = normal_quantile(confidence_fraction) * np.sqrt(variance)
    return SurvivalBand(
        survival_fraction=survival_fraction(fit.model, age_h=age_h),
        low_fraction=np.exp(-np.exp(log_hazard + reach)),
        high_fraction=np.exp(-np.exp(log_hazard - reach)),
    )


def _fit(family: Callable[[LifeRows], Maximum[Kind]], rows: LifeRows) -> Fit[Kind]:
    model, covariance, log_likelihood = family(rows)
    aic = 2.0 * covariance.shape[0] - 2.0 * log_likelihood
    return Fit(model, covariance, float(log_likelihood), float(aic), rows.deaths)


def _log_hazard_slope(model: Lifetime, place: int, steps: Floats, age_h: Column) -> Floats:
    """Central difference of ln H by the parameter at `place`, over a small part of its error."""
    above, below = (
        np.log(np.asarray(_moved(model, place, side * steps[place]).cumulative_hazard(age_h=age_h)))
        for side in (1.0, -1.0)
    )
    return np.asarray((above - below) / (2.0 * steps[place]))


def _moved(model: Any, place: int, by: float) -> Any:
    """The model with the parameter at `place` changed."""
    name = fields(model)[place].name
    return replace(model, **{name: getattr(model, name) + by})
