"""Power of a machine: by utilisation, and under a cap."""

from __future__ import annotations

import numpy as np

from carbon import _domain
from carbon.columns import Column

_NEWTON_STEPS, _ROUNDING = 100, 1e-13


def power_kw(*, idle_kw: Column, max_kw: Column, utilisation_fraction: Column) -> Column:
    """Power of a machine, linear in its utilisation.

    P = P_idle + u * (P_max - P_idle)

    Source: Cloud Carbon Footprint methodology, after Etsy, "Cloud Jewels", 2020.
    """
    _check_power_range(idle_kw, max_kw, utilisation_fraction)
    return idle_kw + utilisation_fraction * (max_kw - idle_kw)


def clocked_dynamic_fraction(
    *, clock_fraction: Column, linear_fraction: Column, steep_exponent: Column
) -> Column:
    """Power above what is static at a lower clock, over that at the highest, of work whose pace follows it.

    d = k f + (1 - k) f^m

    A part k falls with the clock alone, the rest with the voltage too, which falls with the clock. Each
    operation takes d / f of its energy at the highest clock, whatever its pace.

    Source: dynamic power C V^2 f; a linear and a nonlinear part of measured power, arXiv 2607.00819. k and m
    are facts (`performance.power_cap`), fitted on H200 in MLPerf: benchmarks/studies/fit_caps.py.
    """
    _domain.share_above_zero(clock_fraction=clock_fraction)
    _domain.share_above_zero(linear_fraction=linear_fraction)
    _domain.at_least(1.0, steep_exponent=steep_exponent)
    dynamic: Column = linear_fraction * clock_fraction + (1.0 - linear_fraction) * np.power(
        clock_fraction, steep_exponent
    )
    return dynamic


def clocked_power_kw(
    *,
    power_kw: Column,
    static_kw: Column,
    clock_fraction: Column,
    linear_fraction: Column,
    steep_exponent: Column,
) -> Column:
    """Power at a lower clock of work whose pace follows it.

    P = P_s + (P_0 - P_s) d(f)

    Work that draws less than what is static is not lowered.

    Source: `clocked_dynamic_fraction`.
    """
    _domain.nonnegative(power_kw=power_kw, static_kw=static_kw)
    dynamic = clocked_dynamic_fraction(
        clock_fraction=clock_fraction, linear_fraction=linear_fraction, steep_exponent=steep_exponent
    )
    lowest = np.minimum(power_kw, static_kw)
    power: Column = lowest + (power_kw - lowest) * dynamic
    return power


def capped_clock_fraction(
    *,
    cap_kw: Column,
    uncapped_kw: Column,
    static_kw: Column,
    linear_fraction: Column,
    steep_exponent: Column,
) -> Column:
    """Clock under a power cap, as a share of the clock without one.

    d(f) = min(1, (P_cap - P_s) / (P_0 - P_s))

    P_0 is what the work draws without a cap, P_s what does not fall with the clock, d the law of
    `clocked_dynamic_fraction`, which is solved for f. A cap above P_0 does nothing; one at or below P_s stops
    the device and is refused.

    Source: the inverse of `clocked_dynamic_fraction`, by Newton's method: d rises and is convex, so that each
    step from f = 1 stays above the root.
    """
    _domain.nonnegative(static_kw=static_kw)
    _check_above("cap_kw", cap_kw, static_kw)
    _check_above("uncapped_kw", uncapped_kw, static_kw)
    law = {"linear_fraction": linear_fraction, "steep_exponent": steep_exponent}
    dynamic_fraction = np.minimum(1.0, (cap_kw - static_kw) / (uncapped_kw - static_kw))
    clock: Column = np.ones_like(dynamic_fraction + np.multiply(linear_fraction, steep_exponent))
    for _ in range(_NEWTON_STEPS):
        slope = linear_fraction + (1.0 - linear_fraction) * steep_exponent * np.power(
            clock, np.subtract(steep_exponent, 1.0)
        )
        step = (clocked_dynamic_fraction(clock_fraction=clock, **law) - dynamic_fraction) / slope
        clock = clock - step
        if np.all(np.abs(step) < _ROUNDING):
            break
    return clock if np.ndim(clock) else float(clock)


def capped_throughput_fraction(*, clock_fraction: Column, clock_bound_fraction: Column) -> Column:
    """Throughput at a lower clock, as a share of the throughput at the full one.

    x = 1 / (1 - b + b / f)

    b is the share of the time that waits for the clock, at the full clock: near 1 in prefill, near 0 in
    decode, which waits for memory. With `capped_clock_fraction` it rises with the cap.

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
