"""What a cap on the power of accelerators or a lower clock saves, and what it costs in speed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from carbon.power import capped_clock_fraction, capped_throughput_fraction, clocked_power_kw
from planner.inputs.resolved import Inputs
from planner.physics.training_options import UNCAPPED, UNLOCKED, Mode
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


def clock_law(inputs: Inputs) -> dict[str, Traced]:
    """Constants of the law of power by clock."""
    return {
        "linear_fraction": inputs.fact("performance.power_cap.linear_share"),
        "steep_exponent": inputs.fact("performance.power_cap.steep_exponent"),
    }


def clock_of(clock_fraction: NDArray[np.float64]) -> Traced:
    """Locked clocks, as shares of the highest one."""
    return chosen("clock_fraction", clock_fraction, "enumerated: the scenario's clocks")


def clock_under(inputs: Inputs, cap: Traced, uncapped_kw: Traced, sku: NDArray[np.intp]) -> Traced:
    """Clock of an accelerator under its cap, as a share of the clock without one."""
    return derive(
        capped_clock_fraction,
        cap_kw=cap,
        uncapped_kw=uncapped_kw,
        static_kw=inputs.of_sku(inputs.accelerator("idle_power"), sku),
        **clock_law(inputs),
    )


@dataclass(frozen=True, slots=True)
class Modes:
    """How fast accelerators are let run: a power cap, or a locked clock, each a share; a row for each."""

    power_cap_fraction: NDArray[np.float64]
    clock_fraction: NDArray[np.float64]

    @classmethod
    def alike(cls, mode: Mode, shape: tuple[int, ...] = ()) -> Modes:
        """One mode for every row."""
        return cls(*(np.full(shape, share) for share in mode))

    @property
    def free(self) -> bool:
        """Whether none is slowed down."""
        return bool(np.all(self.power_cap_fraction == UNCAPPED) and np.all(self.clock_fraction == UNLOCKED))


def slowed(
    inputs: Inputs, modes: Modes, sku: NDArray[np.intp], busy: Traced, rate: Traced
) -> tuple[Traced, Traced]:
    """Power of an accelerator and training rate in the mode of each row; as they are where all run freely."""
    if modes.free:
        return busy, rate
    idle = inputs.of_sku(inputs.accelerator("idle_power"), sku)
    clock = clock_of(modes.clock_fraction)
    if np.any(modes.power_cap_fraction < UNCAPPED):
        cap = cap_of(inputs.of_sku(inputs.accelerator("tdp"), sku), modes.power_cap_fraction)
        under = clock_under(inputs, cap, derive(at_least_cap_kw, power_kw=busy, cap_kw=cap), sku)
        clock = (clock * under).named("clock_fraction", "Clock of an accelerator, locked or under its cap")
    slower = derive(
        capped_throughput_fraction,
        clock_fraction=clock,
        clock_bound_fraction=inputs.fact("performance.power_cap.training_clock_bound"),
    )
    return (
        derive(clocked_power_kw, power_kw=busy, static_kw=idle, clock_fraction=clock, **clock_law(inputs)),
        (rate * slower).named("clocked_per_s", "Training rate at a lower clock"),
    )
