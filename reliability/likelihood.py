"""Where a likelihood is highest, and how far an interval reaches around it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import ndtri

from reliability.columns import Floats
from reliability.domain import require_share

# A last step longer than this, as a part of the point, still goes somewhere.
_STILL = 1e-3
# The logarithm of a likelihood at a point, its gradient and its second derivatives.
Likelihood = Callable[[Floats], tuple[float, Floats, Floats]]


class NoMaximumError(ValueError):
    """A likelihood grows without end, or is no hill; `step` is where the search was still going."""

    def __init__(self, step: Floats) -> None:
        super().__init__("the likelihood has no highest point within reach")
        self.step = step


def highest_likelihood(likelihood: Likelihood, start: Floats) -> tuple[Floats, float, Floats]:
    """Where a likelihood is highest, how high that is, and the covariance there.

    Newton's method, leant towards the gradient where the hill is not round and halved where it oversteps.
    Raises `NoMaximumError` where 25 steps do not get there: a hill with a top takes fewer than ten.

    Source: Nocedal and Wright, "Numerical Optimization", 2006, section 3.4.
    """
    point, step = start, np.zeros(start.shape)
    with np.errstate(all="ignore"):  # a step too far may overflow, and is then halved
        value, slope, curve = likelihood(point)
        for _ in range(25):
            if not (np.isfinite(slope).all() and np.isfinite(curve).all()):
                break
            step = _uphill(slope, curve)
            if not np.isfinite(step).all():
                break
            rise = float(slope @ step)
            new = likelihood(point + step)
            while not new[0] >= value - 1e-9 * abs(value):
                step = step / 2.0
                if np.abs(step).max() < 1e-12:
                    raise NoMaximumError(step)
                new = likelihood(point + step)
            point, (value, slope, curve) = point + step, new
            if rise < 1e-12:
                return point, value, _covariance(point, step, curve)
    raise NoMaximumError(step)


def _covariance(point: Floats, step: Floats, curve: Floats) -> Floats:
    """The inverse of the curvature, where there is a top: a hill to all sides, and the search stands still.

    On a slope that flattens without end the rise vanishes too, but each step is as long as the one before.
    """
    if np.any(np.abs(step) > _STILL * np.maximum(1.0, np.abs(point))):
        raise NoMaximumError(step)
    try:
        np.linalg.cholesky(-curve)
        covariance = np.asarray(np.linalg.inv(-curve), dtype=float)
    except np.linalg.LinAlgError:
        raise NoMaximumError(step) from None
    if not (np.isfinite(covariance).all() and np.all(np.diag(covariance) > 0)):
        raise NoMaximumError(step)
    return covariance


def _uphill(slope: Floats, curve: Floats) -> Floats:
    scale = np.sqrt(np.abs(np.diag(curve))) + 1e-300
    round_hill, lean = -curve / np.outer(scale, scale), 0.0
    while True:
        try:
            np.linalg.cholesky(round_hill + lean * np.eye(slope.size))
            return np.linalg.solve(round_hill + lean * np.eye(slope.size), slope / scale) / scale
        except np.linalg.LinAlgError:
            lean = max(2.0 * lean, 1e-8)


def normal_quantile(confidence_fraction: float) -> float:
    """How many standard errors an interval reaches to each side.

    Source: standard normal distribution.
    """
    require_share(confidence_fraction=confidence_fraction)
    return float(ndtri((1.0 + confidence_fraction) / 2.0))
