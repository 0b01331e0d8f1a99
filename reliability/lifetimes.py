"""How long things live. A model states its cumulative hazard; everything else follows from that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from reliability.domain import require_not_negative, require_positive

Column = float | NDArray[np.float64]

# Where the numeric inversions look: beyond any age or precision that a fleet could have.
_SHORTEST_H, _LONGEST_H = 1e-30, 1e30


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


def survival_fraction(lifetime: Lifetime, *, age_h: Column) -> Column:
    """Share still alive at an age.

        S(t) = exp(-H(t))

    Source: definition of the cumulative hazard.
    """
    require_not_negative(age_h=age_h)
    alive: Column = np.exp(-lifetime.cumulative_hazard(age_h=age_h))
    return alive


def hazard_per_h(lifetime: Lifetime, *, age_h: Column) -> Column:
    """Rate at which survivors of an age die.

        h(t) = dH/dt

    Taken as a central difference over 1e-5 of the age, good to about 1e-9.

    Source: definition of the hazard rate.
    """
    require_positive(age_h=age_h)
    step_h = np.multiply(age_h, 1e-5)
    rise = lifetime.cumulative_hazard(age_h=age_h + step_h) - lifetime.cumulative_hazard(age_h=age_h - step_h)
    return rise / (2.0 * step_h)


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

    The second form is smooth and dies off at both ends, so the trapezoid rule is near exact.

    Source: integration by parts of the mean.
    """
    middle_h = float(_age_at_hazard(lifetime, np.asarray(1.0)))
    last_h = float(_age_at_hazard(lifetime, np.asarray(60.0)))
    log_age = np.linspace(np.log(middle_h) - 40.0, np.log(last_h), 8001)
    age_h = np.exp(log_age)
    return float(np.trapezoid(np.exp(-lifetime.cumulative_hazard(age_h=age_h)) * age_h, log_age))


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
