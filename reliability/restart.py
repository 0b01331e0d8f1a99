"""What follows a failure before the job works on: a restart made of parts.

Each form of ETTR takes one restart time; here it is put together.
"""

from __future__ import annotations

import numpy as np
from scipy.special import exprel, gamma, gammainc

from reliability.columns import Column
from reliability.domain import (
    require_fraction,
    require_not_negative,
    require_positive,
    require_positive_or_infinite,
)


def initialise_h(
    *, nodes: Column, base_h: Column, per_doubling_h: Column = 0.0, per_node_h: Column = 0.0
) -> Column:
    """Time to start processes and communicators on a job's nodes.

        t = a + b * log2(N) + c * N

    Trees grow with the doublings, one store that serves every rank with the nodes. Removing such a store
    and its barriers took MegaScale from 1047 s to under 5 s at 2,048 GPUs: say whose start-up is meant.

    Source: growth of the two designs; MegaScale, NSDI 2024, arXiv 2402.15627.
    """
    require_positive(nodes=nodes)
    require_not_negative(base_h=base_h, per_doubling_h=per_doubling_h, per_node_h=per_node_h)
    grown: Column = base_h + np.multiply(per_doubling_h, np.log2(nodes)) + np.multiply(per_node_h, nodes)
    return grown


def replace_h(*, spare_fraction: Column, swap_h: Column, reschedule_h: Column) -> Column:
    """Mean time to a full set of nodes: a spare where one is at hand, else the scheduler.

        t = p * swap + (1 - p) * reschedule

    p is the chance that a spare is at hand. In bursts it is lower than its share of all hours.

    Source: mean of a mixture.
    """
    require_fraction(spare_fraction=spare_fraction)
    require_not_negative(swap_h=swap_h, reschedule_h=reschedule_h)
    mean: Column = np.multiply(spare_fraction, swap_h) + np.subtract(1.0, spare_fraction) * reschedule_h
    return mean


def restart_h(
    *, detect_h: Column, replace_h: Column, initialise_h: Column, load_h: Column, warm_up_h: Column
) -> Column:
    """Mean time from a failure to working again.

        u0 = detect + replace + initialise + load + warm up

    Warm-up is what the first steps take beyond their own time, compilation with them. Failures during the
    restart are left out: `retried_restart_h`.

    Source: sum of the parts.
    """
    require_not_negative(detect_h=detect_h, replace_h=replace_h, initialise_h=initialise_h)
    require_not_negative(load_h=load_h, warm_up_h=warm_up_h)
    total: Column = np.add(detect_h, replace_h) + initialise_h + load_h + warm_up_h
    return total


def retried_restart_h(*, restart_h: Column, mttf_h: Column, downtime_h: Column = 0.0) -> Column:
    """Mean time from a failure to working again where failures during the restart start it again.

        u = (M + D) * exp(R / M) - M

    Nothing fails during the downtime D, which comes before each restart R. Given as the restart of any
    form with failures at a constant rate, it makes that form one whose restarts can fail.

    Source: Daly, FGCS 22(3), 2006, equation for the time to complete a restart.
    """
    require_not_negative(restart_h=restart_h, downtime_h=downtime_h)
    require_positive_or_infinite(mttf_h=mttf_h)
    exponent = np.divide(restart_h, mttf_h)
    retried: Column = restart_h * exprel(exponent) + downtime_h * np.exp(exponent)
    return retried


def weibull_retried_restart_h(*, restart_h: float, mttf_h: float, weibull_shape: float) -> float:
    """The same where times to failure are Weibull and start anew with each attempt.

        u = integral over t from 0 to R of S(t) / S(R),  S(t) = exp(-(t * Gamma(1 + 1/k) / M)^k)

    Shape 1 is `retried_restart_h` without a downtime. Shapes below 1 fail soon or not at all, so that
    attempts are many.

    Source: mean of a geometric number of attempts, each cut off at R.
    """
    require_positive(restart_h=restart_h, mttf_h=mttf_h, weibull_shape=weibull_shape)
    scale_h = mttf_h / float(gamma(1.0 + 1.0 / weibull_shape))
    power = (restart_h / scale_h) ** weibull_shape
    ended_h = scale_h / weibull_shape * gamma(1.0 / weibull_shape) * gammainc(1.0 / weibull_shape, power)
    return float(ended_h * np.exp(power))
