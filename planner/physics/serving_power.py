"""What an accelerator of a replica draws at a load, under a cap, at a lower clock or freely."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from carbon.power import clocked_dynamic_fraction, clocked_power_kw
from planner.inputs.catalogue import Catalogue
from planner.inputs.resolved import Inputs
from planner.performance.capacity import replica_capacity, replica_use
from planner.performance.power import (
    capped_power_kw,
    clocked_idle_share_factor,
    clocked_memory_factor,
    served_power_kw,
)
from planner.physics.nodes import POWER_CURVE
from planner.physics.power_caps import (
    Modes,
    at_least_cap_kw,
    cap_of,
    clock_law,
    clock_of,
    clock_under,
)
from planner.physics.replica_questions import Arguments
from planner.physics.training_options import UNCAPPED, UNLOCKED
from planner.trace.columns import Column
from planner.trace.quantities import Parts, Traced, derive, derive_parts, pick, rows

# The law of training, and what exchanges take off it.
SERVING_CURVE = POWER_CURVE | {"exchange_factor": "c4"}


BUNDLES = (
    "model",
    "chip",
    "engine",
    "layout",
    "requests",
    "limits",
    "measured",
)  # of what a replica is at any load


def slowed_arguments(
    inputs: Inputs,
    service: NDArray[np.intp],
    sku: NDArray[np.intp],
    modes: Modes,
    arguments: Arguments,
    arrival_scv: Traced,
) -> Arguments:
    """Arguments of replicas whose clock is locked or lowered by a power cap, and with it the matrix rates.

    The load follows from the slower steps, so that latency targets hold then as well.
    """
    clock = clock_of(modes.clock_fraction)
    if np.any(modes.power_cap_fraction < UNCAPPED):
        free = derive_parts(replica_capacity, arrival_scv_ratio=arrival_scv, **arguments)
        drawn = accelerator_kw(inputs, service, sku, arguments, arrival_scv, free.requests_per_s)
        cap = cap_of(inputs.of_sku(inputs.accelerator("tdp"), sku), modes.power_cap_fraction)
        under = clock_under(inputs, cap, derive(at_least_cap_kw, power_kw=drawn, cap_kw=cap), sku)
        clock = (clock * under).named("clock_fraction", "Clock of an accelerator, locked or under its cap")
    chip = arguments["chip"]
    slowed = {
        name: (getattr(chip, name) * clock).named(
            "clocked_tflop_per_s", "Matrix rate at a lower clock; memory, links and the host keep theirs"
        )
        for name in ("peak_tflop_per_s", "half_peak_tflop_per_s")
    }
    return {**arguments, "chip": replace(chip, **slowed)}


def drawn_accelerator_kw(
    inputs: Inputs,
    service: NDArray[np.intp],
    sku: NDArray[np.intp],
    modes: Modes,
    arguments: Arguments,
    arrival_scv: Traced,
    rate_per_s: Traced,
) -> Traced:
    """Power of an accelerator of a replica at a load, within its cap and at its clock."""
    clocks = None if np.all(modes.clock_fraction == UNLOCKED) else modes.clock_fraction
    drawn = accelerator_kw(inputs, service, sku, arguments, arrival_scv, rate_per_s, clocks)
    if np.all(modes.power_cap_fraction == UNCAPPED):
        return drawn
    cap = cap_of(inputs.of_sku(inputs.accelerator("tdp"), sku), modes.power_cap_fraction)
    return derive(capped_power_kw, power_kw=drawn, cap_kw=on_loads(cap, np.ndim(drawn.value) > 1))


def accelerator_kw(
    inputs: Inputs,
    service: NDArray[np.intp],
    sku: NDArray[np.intp],
    arguments: Arguments,
    arrival_scv: Traced,
    rate_per_s: Traced,
    clocks: NDArray[np.float64] | None = None,
) -> Traced:
    """Power of an accelerator of a replica at a load or several (last axis), without a cap."""
    used = derive_parts(
        replica_use,
        arrival_scv_ratio=arrival_scv,
        requests_per_s=rate_per_s,
        **{name: arguments[name] for name in (*BUNDLES, "guesses") if name in arguments},
    )
    loads = np.ndim(rate_per_s.value) > 1
    columns: dict[str, Traced] = {
        "tdp_kw": inputs.of_sku(inputs.accelerator("tdp"), sku),
        "loaded_idle_kw": inputs.of_sku(inputs.accelerator("loaded_idle_power"), sku),
        **_serving_curve(inputs, service, sku),
    }
    use: dict[str, Traced] = dict(used)
    if clocks is not None:
        clock = clock_of(clocks)
        columns |= _at_clock(inputs, sku, columns, clock)
        # The matrix rate of slower steps is lower: uses are of the rate at the highest clock.
        use |= _at_highest_clock(used, on_loads(clock, loads))
    return derive(
        served_power_kw, **use, **{name: on_loads(column, loads) for name, column in columns.items()}
    )


def _at_clock(
    inputs: Inputs, sku: NDArray[np.intp], columns: Mapping[str, Traced], clock: Traced
) -> dict[str, Traced]:
    """Coefficients of the power law at a lower clock, and what weights that wait in memory draw."""
    static = inputs.of_sku(inputs.accelerator("idle_power"), sku)
    law = {"clock_fraction": clock, **clock_law(inputs)}
    dynamic = derive(clocked_dynamic_fraction, **law)
    energy = (dynamic / clock).named("operation_energy_ratio", "Energy of an operation, as voltage falls")
    return {
        "loaded_idle_kw": derive(
            clocked_power_kw, power_kw=columns["loaded_idle_kw"], static_kw=static, **law
        ),
        "idle_share_factor": derive(
            clocked_idle_share_factor,
            idle_share_factor=columns["idle_share_factor"],
            static_kw=static,
            tdp_kw=columns["tdp_kw"],
            dynamic_fraction=dynamic,
        ),
        "memory_factor": derive(
            clocked_memory_factor,
            memory_factor=columns["memory_factor"],
            memory_core_fraction=inputs.fact("performance.power_cap.memory_core_share"),
            operation_energy_ratio=energy,
        ),
        **{name: (columns[name] * energy).named(name) for name in ("compute_factor", "compute_root_factor")},
        "exchange_factor": (columns["exchange_factor"] * dynamic).named("exchange_factor"),
    }


def _at_highest_clock(use: Parts, clock: Traced) -> dict[str, Traced]:
    """Uses of the matrices over their rate at the highest clock."""
    root = derive(clock_root_fraction, clock_fraction=clock)
    return {
        "compute_use_fraction": (use.compute_use_fraction * clock).named("compute_use_fraction"),
        "compute_root_fraction": (use.compute_root_fraction * root).named("compute_root_fraction"),
    }


def clock_root_fraction(*, clock_fraction: Column) -> Column:
    """What the root of a use of the matrices falls by at a lower clock.

    sqrt(f)

    Source: definition; uses of slower steps are over a rate of f times the highest.
    """
    return np.sqrt(clock_fraction)


def on_loads(column: Traced, loads: bool) -> Traced:
    """A column before an axis of loads, where there is one."""
    if not loads or np.ndim(column.value) == 0:
        return column
    return rows(column, np.arange(len(column.value))[:, None])


def _serving_curve(inputs: Inputs, service: NDArray[np.intp], sku: NDArray[np.intp]) -> dict[str, Traced]:
    """Coefficients of the power law of each service on each SKU."""
    pairs, index = np.unique(np.stack([service, sku]), axis=1, return_inverse=True)
    laws = []
    for i, k in pairs.T:
        served = inputs.scenario.services[i]
        laws.append(law_of(inputs.catalogue, inputs.skus[k].power_curve, served.model, served.precision))
    return {
        parameter: pick([inputs.fact(f"performance.power.{law}.{name}") for law in laws], index)
        for parameter, name in SERVING_CURVE.items()
    }


def law_of(catalogue: Catalogue, curve: str, model: str, precision: str) -> str:
    """The power law of a model at a precision, of those that were measured on a generation (`curve`).

    Mixtures of experts have their own. Hopper widens weights of 4 bits and scales blocks of weights in 8 bits
    (`fp8_block`) outside its matrix units, which draws more; Blackwell's units do both.
    """
    experts = f"model.{model}.experts"
    if not catalogue.has(experts) or catalogue.fact(experts).value <= 0:
        return curve
    scaled = precision == "w4a16" or (precision == "fp8" and catalogue.has(f"model.{model}.fp8_block"))
    kinds = ("scaled", "experts") if scaled else ("experts",)
    known = (f"{curve}-{kind}" for kind in kinds if catalogue.has(f"performance.power.{curve}-{kind}.c0"))
    return next(known, curve)
