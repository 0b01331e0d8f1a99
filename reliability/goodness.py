"""Whether a fitted lifetime could have made the deaths that a log shows, age by age."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaincc

from reliability.columns import Floats
from reliability.fitting import Fit
from reliability.lifetimes import Lifetime

DEATHS_IN_A_GROUP, MOST_GROUPS = 5, 10  # Cochran's rule, and no more groups than a log can fill
STEP = 1e-4  # of a standard error
LEAST_EIGENVALUE = 1e-3  # below it, what the fit has used up


@dataclass(frozen=True, slots=True)
class FitTest:
    """`p_value`: how often deaths as far from the model are seen where the model is right."""

    chi_squared: float
    degrees: int
    p_value: float


def fit_test(
    fit: Fit[Lifetime], *, duration_h: ArrayLike, observed: ArrayLike, entry_h: ArrayLike = 0.0
) -> FitTest | None:
    """Deaths seen in stretches of age against those that the model expects of the units then watched.

        Z = O - E,  E_k = sum of H over what each unit lived in stretch k
        X^2 = Z^T V^- Z,  V = diag(E) - G Cov G^T,  G = dE / d parameter

    X^2 is chi-squared with as many degrees as V has rank, censored and late units included; stretches hold
    about as many deaths each. None where deaths are too few for more stretches than parameters, or the
    errors of the parameters are not known.

    Source: Hjort, Ann. Statist. 18, 1990; Bagdonavicius and Nikulin, Lifetime Data Anal. 17, 2011.
    """
    duration, died = np.asarray(duration_h, dtype=float), np.asarray(observed, dtype=bool)
    entry = np.broadcast_to(np.asarray(entry_h, dtype=float), duration.shape)
    groups = min(MOST_GROUPS, int(died.sum()) // DEATHS_IN_A_GROUP)
    edges = _edges(duration, died, groups)
    if edges.size - 1 <= fit.covariance.shape[0]:
        return None
    seen = np.histogram(duration[died], np.concatenate([[-1.0], edges[1:-1] + _tiny(edges), edges[-1:]]))[0]
    expected = _expected(fit.model, duration, entry, edges)
    slopes = _slopes(fit, duration, entry, edges)
    root = np.sqrt(expected)
    if not (root > 0).all() or not np.isfinite(fit.covariance).all():
        return None
    scaled = slopes / root[:, None]
    values, vectors = np.linalg.eigh(np.eye(root.size) - scaled @ fit.covariance @ scaled.T)
    kept = values > LEAST_EIGENVALUE
    along = vectors[:, kept].T @ ((seen - expected) / root)
    chi_squared = float(np.sum(np.square(along) / values[kept]))
    return FitTest(chi_squared, int(kept.sum()), _upper_tail(chi_squared, int(kept.sum())))


def _edges(duration: Floats, died: NDArray[np.bool_], groups: int) -> Floats:
    """From new to the oldest, with about as many deaths in each stretch."""
    if groups < 2:
        return np.array([0.0])
    inner = np.quantile(duration[died], np.linspace(0.0, 1.0, groups + 1)[1:-1])
    return np.unique([0.0, *inner, float(duration.max())])


def _tiny(edges: Floats) -> Floats:
    """So much that a death at an edge falls into the stretch that ends there."""
    return 1e-12 * edges[1:-1]


def _expected(model: Lifetime, duration: Floats, entry: Floats, edges: Floats) -> Floats:
    """Deaths that the model expects in each stretch."""
    reached = [
        float(np.sum(model.cumulative_hazard(age_h=np.minimum(duration, edge))))
        - float(np.sum(model.cumulative_hazard(age_h=np.minimum(entry, edge))))
        for edge in edges
    ]
    return np.diff(reached)


def _slopes(fit: Fit[Lifetime], duration: Floats, entry: Floats, edges: Floats) -> Floats:
    """Central differences of the expected deaths by each parameter."""
    model: Any = fit.model
    names = [field.name for field in fields(model)]
    steps = STEP * np.sqrt(np.diag(fit.covariance))

    def moved(name: str, by: float) -> Floats:
        return _expected(replace(model, **{name: getattr(model, name) + by}), duration, entry, edges)

    columns = [
        (moved(name, step) - moved(name, -step)) / (2.0 * step)
        for name, step in zip(names, steps, strict=True)
    ]
    return np.stack(columns, axis=1)


def _upper_tail(chi_squared: float, degrees: int) -> float:
    return float(gammaincc(degrees / 2.0, chi_squared / 2.0))
