"""From failures that were counted to the failure rate of a node and the time between failures of a job.

Counts say how sure they are (`rate_interval`), and what they are worth next to what others saw
(`updated_rate`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc, gammainccinv, gammaincinv, polygamma

from reliability.columns import Column
from reliability.domain import (
    require_at_least,
    require_fraction,
    require_not_negative,
    require_positive,
    require_share,
)

# A standard normal z, close enough that the chance of a count is smooth between two points.
_Z = np.linspace(-8.5, 8.5, 6801)
_Z_WEIGHTS = np.exp(-_Z * _Z / 2.0) / np.exp(-_Z * _Z / 2.0).sum()


@dataclass(frozen=True, slots=True)
class GammaRate:
    """What is believed of a rate: as if `shape` failures had been seen in `node_h` node-hours."""

    shape: Column
    node_h: Column


@dataclass(frozen=True, slots=True)
class RateEstimate:
    """Rate of one node with its equal-tailed interval; `shape` and `node_h` carry it on as a prior."""

    mean_per_node_h: Column
    low_per_node_h: Column
    high_per_node_h: Column
    shape: Column
    node_h: Column


@dataclass(frozen=True, slots=True)
class RateInterval:
    """Rate of one node with its equal-tailed confidence interval."""

    rate_per_node_h: Column
    low_per_node_h: Column
    high_per_node_h: Column

    def in_1000_node_days(self) -> tuple[Column, Column, Column]:
        """Rate, low and high as failures in 1000 node-days."""
        ends = (self.rate_per_node_h, self.low_per_node_h, self.high_per_node_h)
        rate, low, high = (failures_in_1000_node_days(failure_rate_per_node_h=end) for end in ends)
        return rate, low, high


@dataclass(frozen=True, slots=True)
class MttfGap:
    """MTTF of a job as modelled and as measured; `disagrees` where the two intervals do not meet."""

    model_h: Column
    model_low_h: Column
    model_high_h: Column
    measured_h: Column
    measured_to_model_ratio: Column
    implied_node_mttf_h: Column
    implied_rate_per_node_h: Column
    disagrees: bool | NDArray[np.bool_]


def job_mttf_h(*, nodes: Column, failure_rate_per_node_h: Column) -> Column:
    """Mean time to failure of a job that stops when any of its nodes fails; infinite at rate 0.

        MTTF = 1 / (N_nodes * r_f)

    Node failures are taken as independent; bursts and weak nodes ("lemons") are left out.

    Source: Kokolis et al., "Revisiting Reliability in Large-Scale ML Research Clusters", HPCA 2025,
    arXiv 2410.21680.
    """
    require_positive(nodes=nodes)
    require_not_negative(failure_rate_per_node_h=failure_rate_per_node_h)
    with np.errstate(divide="ignore"):
        mttf: Column = np.divide(1.0, np.multiply(nodes, failure_rate_per_node_h))
    return mttf


def implied_node_mttf_h(*, job_mttf_h: Column, nodes: Column) -> Column:
    """Time between failures of one node that a measured job MTTF implies.

        MTTF_node = N_nodes * MTTF_job

    Set it next to the rate in use: where the two disagree, one of the definitions differs.

    Source: Kokolis et al., HPCA 2025, arXiv 2410.21680, turned around.
    """
    require_positive(job_mttf_h=job_mttf_h, nodes=nodes)
    return np.multiply(nodes, job_mttf_h)


def mttf_gap(
    *,
    nodes: Column,
    failure_rate_per_node_h: Column,
    low_per_node_h: Column,
    high_per_node_h: Column,
    measured_mttf_h: Column,
    measured_low_h: Column | None = None,
    measured_high_h: Column | None = None,
) -> MttfGap:
    """The model's MTTF of a job next to a measured one, and whether both can be right.

        MTTF = 1 / (N_nodes * r_f),  MTTF_node = N_nodes * MTTF_measured

    A measurement without an interval is taken as exact. That the two disagree says that one counts something
    else, or that jobs of this size do not run on average nodes; it does not say which.

    Source: Kokolis et al., HPCA 2025, arXiv 2410.21680, whose rate and measurement differ by 3.7 times.
    """
    slow_h = measured_mttf_h if measured_low_h is None else measured_low_h
    fast_h = measured_mttf_h if measured_high_h is None else measured_high_h
    _require_order("failure_rate_per_node_h", low_per_node_h, failure_rate_per_node_h, high_per_node_h)
    _require_order("measured_mttf_h", slow_h, measured_mttf_h, fast_h)
    model_h, model_low_h, model_high_h = (
        job_mttf_h(nodes=nodes, failure_rate_per_node_h=rate)
        for rate in (failure_rate_per_node_h, high_per_node_h, low_per_node_h)
    )
    node_mttf_h = implied_node_mttf_h(job_mttf_h=measured_mttf_h, nodes=nodes)
    return MttfGap(
        model_h=model_h,
        model_low_h=model_low_h,
        model_high_h=model_high_h,
        measured_h=measured_mttf_h,
        measured_to_model_ratio=np.divide(measured_mttf_h, model_h),
        implied_node_mttf_h=node_mttf_h,
        implied_rate_per_node_h=np.divide(1.0, node_mttf_h),
        disagrees=np.less(fast_h, model_low_h) | np.greater(slow_h, model_high_h),
    )


def nodes_of_job(*, accelerators: Column, accelerators_per_node: Column) -> Column:
    """Nodes that a job occupies, the last one whole.

        N_nodes = ceil(accelerators / accelerators_per_node)

    Jobs that share a node are left out: each is charged the whole node.

    Source: gang scheduling by node.
    """
    for name, value in (("accelerators", accelerators), ("accelerators_per_node", accelerators_per_node)):
        require_positive(**{name: value})
        if np.any(np.mod(value, 1.0)):
            raise ValueError(f"{name} must be a whole number, got {value}")
    nodes: Column = np.ceil(np.divide(accelerators, accelerators_per_node))
    return nodes


def failure_rate_per_node_h(*, failures: Column, nodes: Column, period_h: Column) -> Column:
    """Failures for each node-hour that was watched.

        r_f = failures / (N_nodes * t)

    What counts as a failure (planned stops, software, suspected hardware) is the caller's to state.

    Source: Kokolis et al., HPCA 2025, arXiv 2410.21680.
    """
    require_not_negative(failures=failures)
    require_positive(nodes=nodes, period_h=period_h)
    return np.divide(failures, np.multiply(nodes, period_h))


def rate_per_node_h(*, failures_in_1000_node_days: Column) -> Column:
    """Rate for each node-hour from the unit that papers print.

        r = failures / (1000 * 24 h)

    A node here is what the source calls one, most often a server of 8 GPUs.

    Source: unit conversion.
    """
    require_not_negative(failures_in_1000_node_days=failures_in_1000_node_days)
    return np.divide(failures_in_1000_node_days, 24_000.0)


def failures_in_1000_node_days(*, failure_rate_per_node_h: Column) -> Column:
    """The unit that papers print, from a rate for each node-hour.

        failures = r * 1000 * 24 h

    Source: unit conversion.
    """
    require_not_negative(failure_rate_per_node_h=failure_rate_per_node_h)
    return np.multiply(failure_rate_per_node_h, 24_000.0)


def at_least_one_failure_fraction(
    *, nodes: Column, failure_rate_per_node_h: Column, period_h: Column
) -> Column:
    """Chance that a period sees a failure somewhere.

        P = 1 - exp(-N_nodes * r_f * t)

    Clustering is left out: with bursts the chance is lower and the damage in a bad week higher.

    Source: Poisson process of rate N_nodes * r_f.
    """
    require_positive(nodes=nodes)
    require_not_negative(failure_rate_per_node_h=failure_rate_per_node_h, period_h=period_h)
    chance: Column = -np.expm1(-np.multiply(nodes, failure_rate_per_node_h) * period_h)
    return chance


def failing_nodes(*, nodes: Column, weekly_failure_fraction: Column, period_h: Column) -> Column:
    """Nodes that fail at least once in a period, from the share that does in a week.

        n = N * (1 - (1 - p)^(t / 168 h))

    Nodes are alike and independent, and weeks as well: with weak nodes ("lemons") fewer nodes fail, each
    more often.

    Source: complement of surviving every week.
    """
    require_positive(nodes=nodes)
    require_fraction(weekly_failure_fraction=weekly_failure_fraction)
    require_not_negative(period_h=period_h)
    survived = np.power(np.subtract(1.0, weekly_failure_fraction), np.divide(period_h, 168.0))
    failing: Column = np.multiply(nodes, 1.0 - survived)
    return failing


def mean_count(*, units: Column, rate_per_unit_h: Column, period_h: Column) -> Column:
    """Events to expect of some units in a period.

        E[n] = N * r * t

    Silent data corruptions and failures alike; what counts as one is the rate's.

    Source: Poisson process of rate N * r.
    """
    require_positive(units=units)
    require_not_negative(rate_per_unit_h=rate_per_unit_h, period_h=period_h)
    count: Column = np.multiply(units, rate_per_unit_h) * period_h
    return count


def lognormal_count_quantile(
    *, median_per_node_h: float, log_sigma: float, node_h: float, quantile_fraction: float
) -> float:
    """Failures that are not exceeded with a given chance, where a log-normal belief says what the rate is.

        k = min { k : E_z[P(Y <= k)] >= q },  Y ~ Poisson(r * e^(s * z) * t),  z standard normal

    The belief alone, before any count: `updated_rate` weighs it with counts.

    Source: Poisson-log-normal mixture; the mean over z by the trapezoid rule.
    """
    require_positive(median_per_node_h=median_per_node_h, node_h=node_h)
    require_not_negative(log_sigma=log_sigma)
    require_share(quantile_fraction=quantile_fraction)
    means = median_per_node_h * node_h * np.exp(log_sigma * _Z)

    def reaches(count: int) -> bool:
        return bool(_Z_WEIGHTS @ gammaincc(count + 1.0, means) >= quantile_fraction)

    low, high = -1, 1
    while not reaches(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return float(high)


def rate_interval(
    *, failures: Column, node_h: Column, confidence_fraction: Column, variance_to_mean_ratio: Column = 1.0
) -> RateInterval:
    """Rate and its interval from counts alone; columns give one for each row.

        low = Q(n/v, tail) * v / t,  high = Q(n/v + 1, 1 - tail) * v / t

    Q(a, p) is the p-quantile of a gamma variable of shape a and scale 1. For Poisson counts (v = 1) it covers
    at least what it says. Bursts of `variance_to_mean_ratio` v failures carry the evidence of one.

    Source: Garwood, "Fiducial limits for the Poisson distribution", Biometrika 28, 1936; v as in
    quasi-likelihood (McCullagh and Nelder, 1989).
    """
    require_not_negative(failures=failures)
    require_positive(node_h=node_h)
    require_share(confidence_fraction=confidence_fraction)
    require_at_least(1.0, variance_to_mean_ratio=variance_to_mean_ratio)
    tail = (1.0 - np.asarray(confidence_fraction)) / 2.0
    bursts = np.divide(failures, variance_to_mean_ratio)
    evidence_h = np.divide(node_h, variance_to_mean_ratio)
    low = np.where(bursts > 0, gammaincinv(np.where(bursts > 0, bursts, 1.0), tail), 0.0)
    return RateInterval(
        rate_per_node_h=np.divide(failures, node_h),
        low_per_node_h=(low / evidence_h)[()],
        high_per_node_h=gammainccinv(bursts + 1.0, tail) / evidence_h,
    )


def gamma_prior(*, median_per_node_h: Column, log_sigma: Column) -> GammaRate:
    """The gamma belief with the median and the spread of logarithms of a lognormal one.

        trigamma(a) = sigma^2,  b = Q_a(1/2) / median

    `log_sigma` is the standard deviation of ln(rate). The gamma form is what a count can update.

    Source: log-moment matching; Var[ln X] = trigamma(a) for a gamma variable of shape a.
    """
    require_positive(median_per_node_h=median_per_node_h, log_sigma=log_sigma)
    shape = _inverse_trigamma(np.square(log_sigma))
    node_h: Column = np.asarray(gammaincinv(shape, 0.5), dtype=np.float64) / median_per_node_h
    return GammaRate(shape=shape, node_h=node_h)


def updated_rate(
    *,
    prior_shape: Column,
    prior_node_h: Column,
    failures: Column,
    node_h: Column,
    confidence_fraction: Column,
    variance_to_mean_ratio: Column = 1.0,
) -> RateEstimate:
    """Rate after own counts: prior and evidence weigh as the node-hours that they stand for.

        E[r] = (a + n/v) / (b + t/v)

    `variance_to_mean_ratio` v is that of the counts (1 for a Poisson process). Failures that come in
    bursts of v carry the evidence of one, so the interval widens; 1 is far too sure for most logs.

    Source: conjugate gamma prior of a Poisson rate; v as in quasi-likelihood (McCullagh and Nelder, 1989).
    """
    require_positive(prior_shape=prior_shape, prior_node_h=prior_node_h)
    require_not_negative(failures=failures, node_h=node_h)
    require_share(confidence_fraction=confidence_fraction)
    require_at_least(1.0, variance_to_mean_ratio=variance_to_mean_ratio)
    shape = prior_shape + np.divide(failures, variance_to_mean_ratio)
    exposure_h = prior_node_h + np.divide(node_h, variance_to_mean_ratio)
    tail = (1.0 - np.asarray(confidence_fraction)) / 2.0
    return RateEstimate(
        mean_per_node_h=shape / exposure_h,
        low_per_node_h=gammaincinv(shape, tail) / exposure_h,
        high_per_node_h=gammaincinv(shape, 1.0 - tail) / exposure_h,
        shape=shape,
        node_h=exposure_h,
    )


def _inverse_trigamma(value: Column) -> Column:
    """Shape whose trigamma is `value`: Newton on 1/trigamma, which is nearly a straight line."""
    shape: Column = 0.5 + np.divide(1.0, value)
    for _ in range(12):
        trigamma = polygamma(1, shape)
        shape = shape + trigamma * (1.0 - trigamma / value) / polygamma(2, shape)
    return shape


def _require_order(name: str, low: Column, middle: Column, high: Column) -> None:
    if not np.all((np.asarray(low) <= middle) & (np.asarray(middle) <= high)):
        raise ValueError(f"{name} must lie in its interval, got {middle} in {low} to {high}")
