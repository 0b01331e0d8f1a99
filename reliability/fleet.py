"""From failures that were counted to the failure rate of a node and the time between failures of a job."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, polygamma

from reliability.domain import require_at_least, require_not_negative, require_positive, require_share

Column = float | NDArray[np.float64]


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


def implied_node_mtbf_h(*, job_mttf_h: Column, nodes: Column) -> Column:
    """Time between failures of one node that a measured job MTTF implies.

        MTBF_node = N_nodes * MTTF_job

    Set it beside the rate in use: where the two disagree, one of the definitions differs.

    Source: Kokolis et al., HPCA 2025, arXiv 2410.21680, turned around.
    """
    require_positive(job_mttf_h=job_mttf_h, nodes=nodes)
    return np.multiply(nodes, job_mttf_h)


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
