"""How long things live. A model states its cumulative hazard; everything else follows from that."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaincc, gammaln, log_ndtr

from reliability.columns import Column
from reliability.domain import require_not_negative, require_positive

# Where the numeric inversions look: beyond any age or precision that a fleet could have.
_SHORTEST_H, _LONGEST_H = 1e-30, 1e30
# Nearer to log-normal the incomplete gamma function loses its digits; H is a parabola in the shape there.
NEARLY_LOG_NORMAL = 1e-3


class Lifetime(Protocol):
    """Anything with a cumulative hazard H(t) that starts at 0 and never falls."""

    def cumulative_hazard(self, *, age_h: Column) -> Column:
        """H(t) at age `age_h`."""
        ...


@dataclass(frozen=True, slots=True)
class Exponential:
    """H(t) = t / mean. Old and new fail alike."""

    mean_h: float

    def __post_init__(self) -> None:
        require_positive(mean_h=self.mean_h)

    def cumulative_hazard(self, *, age_h: Column) -> Column:
        """H(t) = t / mean."""
        return np.divide(age_h, self.mean_h)


@dataclass(frozen=True, slots=True)
class Weibull:
    """H(t) = (t / scale)^shape. Shape below 1: infant deaths; above 1: wear-out."""

    scale_h: float
    shape: float

    def __post_init__(self) -> None:
        require_positive(scale_h=self.scale_h, shape=self.shape)

    def cumulative_hazard(self, *, age_h: Column) -> Column:
        """H(t) = (t / scale)^shape."""
        return np.power(np.divide(age_h, self.scale_h), self.shape)


@dataclass(frozen=True, slots=True)
class LogNormal:
    """H(t) = -ln Phi(-z), z = ln(t / median) / sigma. The hazard rises, then falls: weak ones go first."""

    median_h: float
    log_deviation: float

    def __post_init__(self) -> None:
        require_positive(median_h=self.median_h, log_deviation=self.log_deviation)

    def cumulative_hazard(self, *, age_h: Column) -> Column:
        """H(t) = -ln Phi(-ln(t / median) / sigma)."""
        # 0.0 - ... so that a new part has hazard 0, not minus 0.
        hazard: Column = 0.0 - log_ndtr(-_log_ratio(age_h, self.median_h) / self.log_deviation)
        return hazard


@dataclass(frozen=True, slots=True)
class LogLogistic:
    """H(t) = ln(1 + (t / median)^shape). Shape above 1: rises, then falls; its tail is a power of age."""

    median_h: float
    shape: float

    def __post_init__(self) -> None:
        require_positive(median_h=self.median_h, shape=self.shape)

    def cumulative_hazard(self, *, age_h: Column) -> Column:
        """H(t) = ln(1 + (t / median)^shape)."""
        return np.logaddexp(0.0, self.shape * _log_ratio(age_h, self.median_h))


@dataclass(frozen=True, slots=True)
class GeneralisedGamma:
    """H(t) = -ln Q(1/q^2, exp(q * z) / q^2), z = ln(t / scale) / sigma; P in place of Q where q < 0.

    Shape q 1: Weibull of shape 1 / sigma. 0: log-normal. sigma: gamma. Q and P are the regularised upper and
    lower incomplete gamma functions.
    """

    scale_h: float
    log_deviation: float
    shape: float = field(metadata={"any_sign": True})

    def __post_init__(self) -> None:
        require_positive(scale_h=self.scale_h, log_deviation=self.log_deviation)
        if not np.isfinite(self.shape):
            raise ValueError(f"shape must be a finite number, got {self.shape:g}")

    def cumulative_hazard(self, *, age_h: Column) -> Column:
        """H(t) = -ln Q(1/q^2, exp(q * z) / q^2)."""
        z = _log_ratio(age_h, self.scale_h) / self.log_deviation
        if abs(self.shape) >= NEARLY_LOG_NORMAL:
            return _gamma_hazard(z, self.shape)
        part = self.shape / NEARLY_LOG_NORMAL
        below, above = (_gamma_hazard(z, side * NEARLY_LOG_NORMAL) for side in (-1.0, 1.0))
        middle = -log_ndtr(-z)
        return middle + part * ((above - below) + part * (above + below - 2.0 * middle)) / 2.0


def survival_fraction(lifetime: Lifetime, *, age_h: Column) -> Column:
    """Share still alive at an age.

        S(t) = exp(-H(t))

    Source: definition of the cumulative hazard.
    """
    require_not_negative(age_h=age_h)
    alive: Column = np.exp(-lifetime.cumulative_hazard(age_h=age_h))
    return alive


def quantile_h(lifetime: Lifetime, *, dead_fraction: Column) -> Column:
    """Age by which a share has died.

        t = H^-1(-ln(1 - q))

    Source: definition of the cumulative hazard.
    """
    share = np.asarray(dead_fraction, dtype=float)
    if not np.all((share >= 0) & (share < 1)):
        raise ValueError(f"dead_fraction must be a share from 0 up and below 1, got {dead_fraction}")
    wanted = -np.log1p(-share)
    return np.where(share > 0, _age_at_hazard(lifetime, wanted), 0.0)[()]


def mean_h(lifetime: Lifetime) -> float:
    """Mean life from new.

        mean = integral of S(t) dt = integral of S(e^y) e^y dy

    The second form is smooth and dies off at both ends, so the trapezoid rule is near exact. Beyond H = 60
    survival is taken as the power of age that it is there; where that is -1 or flatter the mean is infinite.

    Source: integration by parts of the mean.
    """
    middle_h = float(_age_at_hazard(lifetime, np.asarray(1.0)))
    last_h = float(_age_at_hazard(lifetime, np.asarray(60.0)))
    log_age = np.linspace(np.log(middle_h) - 40.0, np.log(last_h), 8001)
    age_h = np.exp(log_age)
    hazard = np.asarray(lifetime.cumulative_hazard(age_h=age_h))
    power = float((hazard[-1] - hazard[-2]) / (log_age[-1] - log_age[-2]))
    # Rounding of H at such ages; a power that near to -1 has no mean that could be told either.
    if power <= 1.0 + 1e-9:
        return float("inf")
    beyond_h = float(np.exp(-hazard[-1])) * last_h / (power - 1.0)
    return float(np.trapezoid(np.exp(-hazard) * age_h, log_age)) + beyond_h


def failure_fraction(lifetime: Lifetime, *, age_h: Column, window_h: Column) -> Column:
    """Share of those alive at an age that die in the window that follows, none of them replaced.

        P = 1 - exp(-(H(a + w) - H(a)))

    Summed over a cohort it is the expected number of deaths.

    Source: conditional survival, S(a + w) / S(a).
    """
    chance: Column = -np.expm1(-expected_failures(lifetime, age_h=age_h, window_h=window_h))
    return chance


def expected_failures(lifetime: Lifetime, *, age_h: Column, window_h: Column) -> Column:
    """Failures of one unit of an age in the window that follows, each repaired to the age it had.

        N = H(a + w) - H(a)

    Where the dead stay out, use `failure_fraction`; where new parts replace them, both are too high
    for wear-out and too low for infant deaths.

    Source: minimal repair (Barlow and Hunter, 1960).
    """
    require_not_negative(age_h=age_h, window_h=window_h)
    return lifetime.cumulative_hazard(age_h=np.add(age_h, window_h)) - lifetime.cumulative_hazard(age_h=age_h)


def _log_ratio(age_h: Column, scale_h: float) -> NDArray[np.float64]:
    """ln(age / scale), minus infinity for a new part."""
    with np.errstate(divide="ignore"):
        return np.log(np.divide(age_h, scale_h))


def _gamma_hazard(z: NDArray[np.float64], shape: float) -> NDArray[np.float64]:
    """-ln S, from whichever of S and 1 - S is the smaller, and by its leading terms where both are lost."""
    order = 1.0 / shape**2
    log_power = np.log(order) + shape * z
    # What overflows, or is infinity less infinity, stands on the side that is not taken.
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        power = np.exp(log_power)
        alive, dead = gammaincc(order, power), gammainc(order, power)
        tail = np.log(np.abs(power + 1.0 - order))
        if shape < 0:
            alive, dead = dead, alive
            tail = np.log(np.abs(order + 1.0 - power)) - np.log1p(1.0 / order)
        far = power - order * log_power + gammaln(order) + tail
        hazard = np.where(alive < 0.5, -np.log(alive), -np.log1p(-np.minimum(dead, 0.5)))
    joined: NDArray[np.float64] = np.where(alive < 1e-290, far, hazard)[()]
    return joined


def _age_at_hazard(lifetime: Lifetime, wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Invert H by halving the interval of log-age that holds the answer."""
    lower = np.full(wanted.shape, np.log(_SHORTEST_H))
    upper = np.full(wanted.shape, np.log(_LONGEST_H))
    for _ in range(80):
        middle = (lower + upper) / 2.0
        with np.errstate(over="ignore"):
            below = np.asarray(lifetime.cumulative_hazard(age_h=np.exp(middle))) < wanted
        lower, upper = np.where(below, middle, lower), np.where(below, upper, middle)
    age_h: NDArray[np.float64] = np.exp((lower + upper) / 2.0)
    return age_h
