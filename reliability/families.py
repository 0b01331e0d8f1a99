"""The likelihood of each family of lifetimes, and where it is highest."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from scipy.special import expit, gammaln, log_ndtr

from reliability.columns import Floats
from reliability.lifetimes import (
    NEARLY_LOG_NORMAL,
    Exponential,
    GeneralisedGamma,
    Lifetime,
    LogLogistic,
    LogNormal,
    Weibull,
)
from reliability.likelihood import Likelihood, NoMaximumError, highest_likelihood
from reliability.rows import LifeRows

Kind = TypeVar("Kind", bound=Lifetime)
# The model of highest likelihood, the covariance of its parameters, and the logarithm of the likelihood.
Maximum = tuple[Kind, Floats, float]

# A Weibull shape beyond these is no ageing that a log could show.
_FLATTEST, _STEEPEST = 1e-4, 1e4
# Nor is a generalised gamma shape beyond this one.
_WIDEST = 10.0


def exponential(rows: LifeRows) -> Maximum[Exponential]:
    """Time at risk over deaths.

    Source: maximum likelihood of a censored exponential sample, in closed form.
    """
    deaths = rows.deaths
    mean_h = float(rows.weight @ (rows.duration_h - rows.entry_h)) / deaths
    log_likelihood = -deaths * (1.0 + float(np.log(mean_h)))
    return Exponential(mean_h=mean_h), np.array([[mean_h**2 / deaths]]), log_likelihood


def weibull(rows: LifeRows) -> Maximum[Weibull]:
    """One unknown, the shape: the scale follows from it.

    Source: Lawless, "Statistical Models and Methods for Lifetime Data", 2003, chapter 5.
    """
    _require_spread(rows)
    deaths, late = rows.deaths, rows.entry_h > 0
    # In units of the last age no power overflows.
    last_h = float(rows.duration_h.max())
    log_death = float(rows.weight[rows.observed] @ np.log(rows.duration_h[rows.observed] / last_h)) / deaths
    ends = _power_sums(np.log(rows.duration_h / last_h), rows.weight)
    starts = _power_sums(np.log(rows.entry_h[late] / last_h), rows.weight[late])

    def sums(shape: float) -> Floats:
        return ends(shape) - starts(shape)

    shape = _weibull_shape(sums, log_death)
    power, first, second = sums(shape)
    log_scale = float(np.log(power / deaths)) / shape
    # Sums of w * (t / scale)^k * ln(t / scale)^n, whose n = 0 is the number of deaths.
    first, second = first * deaths / power, second * deaths / power
    second = second - 2.0 * log_scale * first + log_scale**2 * deaths
    first = first - log_scale * deaths
    mixed = -shape * first
    information = np.array([[shape**2 * deaths, mixed], [mixed, deaths / shape**2 + second]])
    scale_h = last_h * float(np.exp(log_scale))
    units = np.array([scale_h, 1.0])
    log_likelihood = deaths * (np.log(shape / scale_h) + (shape - 1.0) * (log_death - log_scale) - 1.0)
    covariance = np.linalg.inv(information) * np.outer(units, units)
    return Weibull(scale_h=scale_h, shape=shape), covariance, log_likelihood


def _power_sums(log_time: Floats, weight: Floats) -> Callable[[float], Floats]:
    """By shape k the sums of w * t^k * (ln t)^n for n = 0, 1, 2."""
    moments = np.stack([weight, weight * log_time, weight * log_time**2])

    def at(shape: float) -> Floats:
        sums: Floats = moments @ np.exp(shape * log_time)
        return sums

    return at


def _weibull_shape(sums: Callable[[float], Floats], log_death: float) -> float:
    """Newton's method on the logarithm of the shape, kept between a shape too low and one too high."""
    low, high, shape = _FLATTEST, _STEEPEST, 1.0
    for _ in range(100):
        power, first, second = sums(shape)
        excess = 1.0 / shape + log_death - first / power
        slope = -1.0 / shape**2 - second / power + (first / power) ** 2
        low, high = (shape, high) if excess > 0 else (low, shape)
        new = shape * float(np.exp(np.clip(-excess / (slope * shape), -2.0, 2.0)))
        new = new if low <= new <= high else float(np.sqrt(low * high))
        if abs(new - shape) < 1e-11 * shape:
            break
        shape = new
    if not 2.0 * _FLATTEST < shape < _STEEPEST / 2.0:
        raise ValueError(
            "duration_h does not determine a shape: the likelihood grows without end; use fit_exponential"
        )
    return shape


def _require_spread(rows: LifeRows) -> None:
    if rows.deaths < 2:
        raise ValueError(
            "observed holds one death, which determines a rate but no shape; use fit_exponential"
        )
    # The likelihood would grow with the shape without end.
    if (last_h := rows.duration_h.max()) <= rows.duration_h[rows.observed].min():
        raise ValueError(
            f"duration_h does not determine a shape: every death is at the last age seen, {last_h:g}; "
            "use fit_exponential"
        )


# ln f, its first and second derivative, and ln S of a standard variable z = (ln t - location) / sigma.
Standard = Callable[[Floats], tuple[Floats, Floats, Floats, Floats]]


def _normal(z: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    return -0.5 * (z**2 + np.log(2.0 * np.pi)), -z, -np.ones_like(z), log_ndtr(-z)


def _logistic(z: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    dead, log_alive = expit(z), -np.logaddexp(0.0, z)
    return z + 2.0 * log_alive, 1.0 - 2.0 * dead, -2.0 * dead * (1.0 - dead), log_alive


def _gamma(shape: float) -> Standard:
    """Generalised gamma: ln f = a * (q * z - (exp(q * z) - 1)) - (ln 2pi) / 2 - s(a),  a = 1 / q^2.

    s is what ln Gamma(a) has above Stirling's leading terms.
    """
    if abs(shape) < NEARLY_LOG_NORMAL:
        return _nearly_normal(shape / NEARLY_LOG_NORMAL)
    order = shape**-2
    rest = gammaln(order) - (order - 0.5) * np.log(order) + order - 0.5 * np.log(2.0 * np.pi)
    if order > 30.0:  # the leading terms take its digits; the series has them
        rest = 1.0 / (12.0 * order) - 1.0 / (360.0 * order**3) + 1.0 / (1260.0 * order**5)
    level = -0.5 * np.log(2.0 * np.pi) - rest
    unit = GeneralisedGamma(scale_h=1.0, log_deviation=1.0, shape=shape)

    def at(z: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        rise = np.expm1(shape * z)
        log_alive = -np.asarray(unit.cumulative_hazard(age_h=np.exp(z)))
        return level + order * (shape * z - rise), -rise / shape, -(rise + 1.0), log_alive

    return at


def _nearly_normal(part: float) -> Standard:
    """The parabola through the shapes -1, 0 and 1 times the nearest that can be computed."""
    below, above = _gamma(-NEARLY_LOG_NORMAL), _gamma(NEARLY_LOG_NORMAL)

    def at(z: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        low, middle, high = (np.stack(standard(z)) for standard in (below, _normal, above))
        log_density, first, second, log_alive = (
            middle + part * ((high - low) + part * (high + low - 2.0 * middle)) / 2.0
        )
        return log_density, first, second, log_alive

    return at


def _location_scale(rows: LifeRows, standard: Standard) -> Likelihood:
    """Log-likelihood with its derivatives by (location / sigma, 1 / sigma), in which it has one top."""
    died, late = rows.observed, rows.entry_h > 0
    log_time = [np.log(rows.duration_h[died]), np.log(rows.duration_h[~died]), np.log(rows.entry_h[late])]
    weights = [rows.weight[died], rows.weight[~died], -rows.weight[late]]
    constant, deaths = -float(weights[0] @ log_time[0]), rows.deaths

    def likelihood(point: Floats) -> tuple[float, Floats, Floats]:
        value = constant + deaths * np.log(point[1])
        slope, curve = np.array([0.0, deaths / point[1]]), np.diag([0.0, -deaths / point[1] ** 2])
        for kind, (log_t, weight) in enumerate(zip(log_time, weights, strict=True)):
            log_density, first, second, log_alive = standard(point[1] * log_t - point[0])
            if kind:
                hazard = np.exp(log_density - log_alive)
                first, second = -hazard, -hazard * (first + hazard)
            value += weight @ (log_alive if kind else log_density)
            by_z, by_zz = weight * first, weight * second
            mixed = -(by_zz @ log_t)
            slope += [-by_z.sum(), by_z @ log_t]
            curve += [[by_zz.sum(), mixed], [mixed, (by_zz * log_t) @ log_t]]
        return float(value), slope, curve

    return likelihood


def _start(rows: LifeRows, spread: float) -> Floats:
    """The Weibull's scale, and `spread` times its 1 / shape as sigma."""
    model, _, _ = weibull(rows)
    return np.array([np.log(model.scale_h), 1.0]) * model.shape / spread


def _top(rows: LifeRows, standard: Standard, start: Floats) -> tuple[Floats, float, Floats]:
    try:
        return highest_likelihood(_location_scale(rows, standard), start)
    except NoMaximumError as error:
        raise ValueError(_no_parameters(rows)) from error


def _no_parameters(rows: LifeRows) -> str:
    return (
        f"no parameters of highest likelihood were found for these {rows.duration_h.size} different rows; "
        "look at kaplan_meier, or use a family of fewer parameters"
    )


def log_normal(rows: LifeRows) -> Maximum[LogNormal]:
    """Normal in ln t, from the Weibull.

    Source: Newton's method on (location / sigma, 1 / sigma).
    """
    point, value, covariance = _top(rows, _normal, _start(rows, 1.3))
    scale_h, sigma, change = _scale_and_sigma(point)
    return LogNormal(scale_h, sigma), change @ covariance @ change.T, value


def log_logistic(rows: LifeRows) -> Maximum[LogLogistic]:
    """Logistic in ln t, from the Weibull.

    Source: Newton's method on (location / sigma, 1 / sigma).
    """
    point, value, covariance = _top(rows, _logistic, _start(rows, 1.0))
    median_h, _, change = _scale_and_sigma(point)
    change[1] = [0.0, 1.0]
    return LogLogistic(median_h, float(point[1])), change @ covariance @ change.T, value


def _scale_and_sigma(point: Floats) -> tuple[float, float, Floats]:
    """From (location / sigma, 1 / sigma), with the derivatives."""
    sigma = float(1.0 / point[1])
    scale_h = float(np.exp(point[0] * sigma))
    change = np.array([[scale_h * sigma, -scale_h * point[0] * sigma**2], [0.0, -(sigma**2)]])
    return scale_h, sigma, change


def generalised_gamma(rows: LifeRows) -> Maximum[GeneralisedGamma]:
    """Three unknowns, from a near start: the best of shapes half apart, each from the one before.

    Source: Prentice, Biometrika 61, 1974, parameters; Newton's method.
    """
    shape, point = _ridge(rows)

    def likelihood(at: Floats) -> tuple[float, Floats, Floats]:
        """By the shape, derivatives are central differences: the gamma function has none in closed form."""
        if abs(at[2]) > _WIDEST:
            return -np.inf, np.zeros(3), -np.eye(3)
        step = 1e-3
        (low, low_slope, _), (value, slope, curve), (high, high_slope, _) = (
            _location_scale(rows, _gamma(at[2] + side))(at[:2]) for side in (-step, 0.0, step)
        )
        mixed = (high_slope - low_slope)[:, None] / (2.0 * step)
        bend = np.array([[(high - 2.0 * value + low) / step**2]])
        return (
            value,
            np.array([*slope, (high - low) / (2.0 * step)]),
            np.block([[curve, mixed], [mixed.T, bend]]),
        )

    try:
        top, value, covariance = highest_likelihood(likelihood, np.array([*point, shape]))
    except NoMaximumError as error:
        raise ValueError(_no_parameters(rows)) from error
    scale_h, sigma, two = _scale_and_sigma(top[:2])
    change = np.block([[two, np.zeros((2, 1))], [np.zeros((1, 2)), np.ones((1, 1))]])
    model = GeneralisedGamma(scale_h, sigma, float(top[2]))
    return model, change @ covariance @ change.T, value


def _ridge(rows: LifeRows) -> tuple[float, Floats]:
    """Uphill over shapes of which each has its best two parameters, from between log-normal and Weibull."""
    point, value, _ = _top(rows, _gamma(0.5), _start(rows, 1.2))
    for step in (0.5, -0.5):
        shape, here, high = 0.5, point, value
        while abs(shape) < _WIDEST:
            there, higher, _ = _top(rows, _gamma(shape + step), here)
            if higher <= high:
                break
            shape, here, high = shape + step, there, higher
        if high > value:
            return shape, here
    return 0.5, point
