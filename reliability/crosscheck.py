"""Our estimates next to those of lifelines, from the same rows.

Our own come first for three reasons. They are faster: `docs/benchmarks.md` has the times, and lifelines
takes over a second to load. They reach the top of the likelihood, where lifelines' searches stop a little
short of it: on Titan's GPUs its log-normal deviation by 2e-5, its generalised gamma shape by 2e-4, 2e-6 lower
in ln L. And their weights are counted units everywhere, where lifelines' Cox takes a row for one death,
whatever its weight, when it shares out ties. So here lifelines is set to search on, and its Cox gets a row
for each unit. What is left is below 1e-6, but up to 1e-5 in the generalised gamma's shape: there it is ours,
whose derivative by the shape is a difference.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from reliability.columns import Floats
from reliability.covariates import CovariateRows, covariate_rows
from reliability.cox import fit_cox
from reliability.fitting import (
    Fit,
    fit_exponential,
    fit_generalised_gamma,
    fit_log_logistic,
    fit_log_normal,
    fit_weibull,
)
from reliability.lifetimes import Lifetime
from reliability.rows import LifeRows
from reliability.survival import kaplan_meier
from reliability.weibull_regression import fit_weibull_regression

# As far as double precision goes: what is left then is a difference of estimates, not of patience.
_SEARCH = {"ftol": 1e-15, "gtol": 1e-10}
_COX_SEARCH = {"precision": 1e-10}


@dataclass(frozen=True, slots=True)
class Comparison:
    """One estimate by both, value by value; `names` carry their unit, hours. A curve has no likelihood."""

    estimate: str
    names: tuple[str, ...]
    ours: Floats
    lifelines: Floats
    our_log_likelihood: float | None = None
    lifelines_log_likelihood: float | None = None

    @property
    def relative_differences(self) -> Floats:
        """Of each value, to the larger of the two; 0 where both are 0."""
        apart = np.abs(self.ours - self.lifelines)
        larger = np.maximum(np.abs(self.ours), np.abs(self.lifelines))
        return np.divide(apart, larger, out=np.zeros_like(apart), where=larger > 0)

    @property
    def largest_relative_difference(self) -> float:
        """That of the values furthest apart."""
        return float(self.relative_differences.max())


@dataclass(frozen=True, slots=True)
class CrossCheck:
    """Estimates that both gave, and why those in `failed` were not given by one of them."""

    compared: tuple[Comparison, ...]
    failed: dict[str, str]


def cross_check(
    *,
    duration_h: ArrayLike,
    observed: ArrayLike,
    entry_h: ArrayLike = 0.0,
    weight: ArrayLike = 1.0,
    covariates: Mapping[str, ArrayLike] | None = None,
    categorical: Collection[str] = (),
) -> CrossCheck:
    """Kaplan-Meier, five families, and with covariates Cox and Weibull regression, by us and by lifelines.

        difference = |ours - theirs| / max(|ours|, |theirs|)

    Families are compared by their parameters, regressions by ratios. Intervals are left out.

    Args:
        duration_h: age at death, or when last seen alive.
        observed: whether the row ended in death.
        entry_h: age at which watching began (0: from new); below the duration.
        weight: how many units the row stands for, a whole number.
        covariates: a column for each name, or none.
        categorical: names whose values are levels, not numbers; text always is.

    Source: lifelines 0.30, Davidson-Pilon, JOSS 4(40), 2019.
    """
    units = LifeRows.checked(duration_h, observed, entry_h, weight)
    rows = units.grouped()
    comparisons: dict[str, Callable[[], Comparison]] = {"Kaplan-Meier": lambda: _curve(rows)}
    for family in _FAMILIES:
        comparisons[family.name] = lambda family=family: _family(family, rows)  # type: ignore[misc]
    if covariates:
        comparisons["Cox"] = lambda: _cox(covariate_rows(units, covariates, categorical))
        comparisons["Weibull regression"] = lambda: _weibull_regression(
            covariate_rows(units, covariates, categorical)
        )
    compared, failed = [], {}
    for name, compare in comparisons.items():
        try:
            compared.append(compare())
        except ValueError as error:
            failed[name] = str(error)
    return CrossCheck(tuple(compared), failed)


@dataclass(frozen=True, slots=True)
class _Family:
    """A family by both: `parameters` turns lifelines' into ours."""

    name: str
    fit: Callable[..., Fit[Lifetime]]
    fitter: str
    parameters: Callable[[Any], tuple[float, ...]]


_FAMILIES = (
    _Family("exponential", fit_exponential, "ExponentialFitter", lambda by: (by.lambda_,)),
    _Family("Weibull", fit_weibull, "WeibullFitter", lambda by: (by.lambda_, by.rho_)),
    _Family("log-normal", fit_log_normal, "LogNormalFitter", lambda by: (np.exp(by.mu_), by.sigma_)),
    _Family("log-logistic", fit_log_logistic, "LogLogisticFitter", lambda by: (by.alpha_, by.beta_)),
    _Family(
        "generalised gamma",
        fit_generalised_gamma,
        "GeneralizedGammaFitter",
        lambda by: (np.exp(by.mu_), np.exp(by.ln_sigma_), by.lambda_),
    ),
)


def _curve(rows: LifeRows) -> Comparison:
    """Survival at each age at which someone died."""
    from lifelines import KaplanMeierFitter

    ours = kaplan_meier(**_columns(rows))
    with _theirs():
        theirs = KaplanMeierFitter().fit(
            rows.duration_h,
            rows.observed,
            entry=rows.entry_h if _any_late(rows) else None,
            weights=rows.weight,
        )
    return Comparison(
        estimate="Kaplan-Meier",
        names=tuple(f"survival at {age_h:g} h" for age_h in ours.time_h),
        ours=ours.survival_fraction,
        lifelines=theirs.survival_function_at_times(ours.time_h).to_numpy(dtype=float),
    )


def _family(family: _Family, rows: LifeRows) -> Comparison:
    import lifelines

    ours = family.fit(**_columns(rows))
    model: Any = ours.model
    names = [field.name for field in fields(model)]
    with _theirs():
        theirs = getattr(lifelines, family.fitter)().fit(
            rows.duration_h,
            rows.observed,
            entry=rows.entry_h if _any_late(rows) else None,
            weights=rows.weight,
            fit_options=_SEARCH,
        )
    return Comparison(
        estimate=family.name,
        names=tuple(_label(name) for name in names),
        ours=np.array([getattr(model, name) for name in names]),
        lifelines=np.array(family.parameters(theirs), dtype=float),
        our_log_likelihood=ours.log_likelihood,
        lifelines_log_likelihood=float(theirs.log_likelihood_),
    )


def _cox(rows: CovariateRows) -> Comparison:
    """Hazard ratios, ties by Efron; lifelines gets each unit as a row."""
    from lifelines import CoxPHFitter

    ours = fit_cox(**_columns(rows.life), covariates=_by_name(rows))
    frame = _frame(rows)
    frame = frame.loc[frame.index.repeat(rows.life.weight.astype(int))].drop(columns="weight")
    with _theirs():
        theirs = CoxPHFitter().fit(
            frame,
            "duration",
            "observed",
            entry_col="entry" if _any_late(rows.life) else None,
            fit_options=_COX_SEARCH,
        )
    return Comparison(
        estimate="Cox",
        names=tuple(f"hazard ratio of {name}" for name in rows.design.names),
        ours=np.exp(ours.coefficients),
        lifelines=np.exp(theirs.params_.to_numpy(dtype=float)),
        our_log_likelihood=ours.log_partial_likelihood,
        lifelines_log_likelihood=float(theirs.log_likelihood_),
    )


def _weibull_regression(rows: CovariateRows) -> Comparison:
    """Time ratios, and the scale and shape of the reference."""
    from lifelines import WeibullAFTFitter

    ours = fit_weibull_regression(**_columns(rows.life), covariates=_by_name(rows))
    with _theirs():
        theirs = WeibullAFTFitter().fit(
            _frame(rows),
            "duration",
            "observed",
            weights_col="weight",
            entry_col="entry" if _any_late(rows.life) else None,
            fit_options=_SEARCH,
        )
    order = [("lambda_", f"x{place}") for place in range(len(rows.design.names))]
    found = theirs.params_[[*order, ("lambda_", "Intercept"), ("rho_", "Intercept")]]
    return Comparison(
        estimate="Weibull regression",
        names=(*(f"time ratio of {name}" for name in rows.design.names), _label("scale_h"), "shape"),
        ours=np.array([*np.exp(ours.coefficients), ours.baseline.scale_h, ours.baseline.shape]),
        lifelines=np.exp(found.to_numpy(dtype=float)),
        our_log_likelihood=ours.log_likelihood,
        lifelines_log_likelihood=float(theirs.log_likelihood_),
    )


@contextmanager
def _theirs() -> Iterator[None]:
    """Lifelines at work: its warnings are of weights and of variances, its errors are said to be its own."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except (ValueError, ArithmeticError) as error:
        raise ValueError(f"lifelines: {str(error).strip().partition(chr(10))[0]}") from error


def _columns(rows: LifeRows) -> dict[str, Any]:
    return {field.name: getattr(rows, field.name) for field in fields(rows)}


def _by_name(rows: CovariateRows) -> dict[str, Floats]:
    return dict(zip(rows.design.names, rows.matrix.T, strict=True))


def _frame(rows: CovariateRows) -> Any:
    """Columns x0, x1, ..., for lifelines reads other names as formulas."""
    import pandas as pd

    life = rows.life
    frame = pd.DataFrame(rows.matrix, columns=[f"x{place}" for place in range(rows.matrix.shape[1])])
    frame = frame.assign(duration=life.duration_h, observed=life.observed, weight=life.weight)
    return frame.assign(entry=life.entry_h) if _any_late(life) else frame


def _any_late(rows: LifeRows) -> bool:
    """Where every unit is watched from new lifelines is given no entries: it would be many times slower."""
    return bool(rows.entry_h.any())


def _label(name: str) -> str:
    """`scale_h` as `scale, h`."""
    words = name.removesuffix("_h").replace("_", " ")
    return f"{words}, h" if name.endswith("_h") else words
