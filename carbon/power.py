"""Power of a machine: by utilisation, and under a cap."""

from __future__ import annotations

import numpy as np

from carbon import _domain
from carbon.columns import Column


def power_kw(*, idle_kw: Column, max_kw: Column, utilisation_fraction: Column) -> Column:
    """Power of a machine, linear in its utilisation.

    P = P_idle + u * (P_max - P_idle)

    Source: Cloud Carbon Footprint methodology, after Etsy, "Cloud Jewels", 2020.
    """
    _check_power_range(idle_kw, max_kw, utilisation_fraction)
    return idle_kw + utilisation_fraction * (max_kw - idle_kw)


def capped_clock_fraction(
    *, cap_kw: Column, uncapped_kw: Column, static_kw: Column, clock_exponent: Column
) -> Column:
    """Clock under a power cap, as a share of the clock without one.

    f = min(1, ((P_cap - P_s) / (P_0 - P_s))^(1 / a))

    P_0 is what the work draws without a cap, P_s what does not fall with the clock; a is 3 where voltage
    follows the clock and falls to 1 at the lowest voltage. A cap above P_0 does nothing; one at or below
    P_s stops the device and is refused.

    Source: dynamic power C V^2 f; Mudge, "Power: A First-Class Architectural Design Constraint", 2001.
    """
    _domain.nonnegative(static_kw=static_kw)
    _domain.at_least(1.0, clock_exponent=clock_exponent)
    _check_above("cap_kw", cap_kw, static_kw)
    _check_above("uncapped_kw", uncapped_kw, static_kw)
    dynamic_fraction = np.minimum(1.0, (cap_kw - static_kw) / (uncapped_kw - static_kw))
    clock: Column = np.power(dynamic_fraction, 1 / clock_exponent)
    return clock


def capped_throughput_fraction(*, clock_fraction: Column, clock_bound_fraction: Column) -> Column:
    """Throughput at a lower clock, as a share of the throughput at the full one.

    x = 1 / (1 - b + b / f)

    b is the share of the time that waits for the clock, at the full clock: near 1 in prefill, near 0 in
    decode, which waits for memory. With `capped_clock_fraction` it rises and is concave in the cap.

    Source: Hsu and Kremer, "The Design, Implementation, and Evaluation of a Compiler Algorithm for CPU
    Energy Reduction", PLDI 2003.
    """
    _domain.share_above_zero(clock_fraction=clock_fraction)
    _domain.share(clock_bound_fraction=clock_bound_fraction)
    return 1 / (1 - clock_bound_fraction + clock_bound_fraction / clock_fraction)


def _check_power_range(idle_kw: Column, max_kw: Column, utilisation_fraction: Column) -> None:
    _domain.nonnegative(idle_kw=idle_kw, max_kw=max_kw)
    _domain.share(utilisation_fraction=utilisation_fraction)
    if np.any(np.less(max_kw, idle_kw)):
        raise ValueError(f"max_kw is at least idle_kw, got max {max_kw} and idle {idle_kw}")


def _check_above(name: str, value_kw: Column, static_kw: Column) -> None:
    _domain.positive(**{name: value_kw})
    if np.any(np.less_equal(value_kw, static_kw)):
        raise ValueError(f"{name} is above static_kw, got {value_kw} and static {static_kw}")
