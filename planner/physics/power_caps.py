"""What a cap on the power of accelerators saves, and what it costs in speed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carbon.power import capped_clock_fraction, capped_throughput_fraction
from planner.inputs.resolved import Inputs
from planner.performance.power import capped_power_kw
from planner.physics.training_options import UNCAPPED, TrainingCandidates
from planner.trace.columns import Column
from planner.trace.quantities import Traced, chosen, derive


def at_least_cap_kw(*, power_kw: Column, cap_kw: Column) -> Column:
    """Power without a cap, or the cap where that is larger: it does nothing then.

    P_0 = max(P, P_cap)

    Source: guard; `capped_clock_fraction` gives 1 at P_0 = P_cap.
    """
    return np.maximum(power_kw, cap_kw)


def cap_of(tdp: Traced, power_cap_fraction: NDArray[np.float64]) -> Traced:
    """Cap of an accelerator, from the scenario's share of its rated power."""
    share = chosen("power_cap_fraction", power_cap_fraction, "enumerated: the scenario's caps")
    return (tdp * share).named("cap_kw", "Cap of an accelerator")


def clock_under(inputs: Inputs, cap: Traced, uncapped_kw: Traced, sku: NDArray[np.intp]) -> Traced:
    """Clock of an accelerator under its cap, as a share of the clock without one."""
    return derive(
        capped_clock_fraction,
        cap_kw=cap,
        uncapped_kw=uncapped_kw,
        static_kw=inputs.of_sku(inputs.accelerator("idle_power"), sku),
        clock_exponent=inputs.fact("performance.power_cap.clock_exponent"),
    )


def capped(
    inputs: Inputs, candidates: TrainingCandidates, tdp: Traced, busy: Traced, tokens_per_s: Traced
) -> tuple[Traced, Traced]:
    """Power of an accelerator and training rate at the cap of each candidate; as they are without caps."""
    if np.all(candidates.power_cap_fraction == UNCAPPED):
        return busy, tokens_per_s
    cap = cap_of(tdp, candidates.power_cap_fraction)
    clock = clock_under(inputs, cap, busy, inputs.node_group_sku[candidates.node_group])
    slower = derive(
        capped_throughput_fraction,
        clock_fraction=clock,
        clock_bound_fraction=inputs.fact("performance.power_cap.training_clock_bound"),
    )
    return (
        derive(capped_power_kw, power_kw=busy, cap_kw=cap),
        (tokens_per_s * slower).named("capped_tokens_per_s", "Training rate under a cap"),
    )
