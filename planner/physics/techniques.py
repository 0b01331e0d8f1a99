"""What techniques do to the work that uses them: how many times less of a handle it takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carbon.levers import total_reduction_ratio
from planner.inputs.catalogue import Facts
from planner.inputs.resolved import Inputs
from planner.inputs.techniques import RUNS, effect_key, technique_named
from planner.trace.columns import Column
from planner.trace.quantities import Traced, chosen, derive, pick

# Handles that make work take less time, by what does it; each reaches the whole or a share of it.
DATA_TIME = ("throughput", "preprocessing")
TRAINING_TIME = RUNS
SERVING_TIME = ("throughput", "step_time", "lookups")
# Handles that change a step of an engine: tokens at once, prompts that are known, the cache.
DECODE, PROMPTS, CACHE = ("decode_time",), ("prompt_reading",), ("kv_bytes",)


def effect_ratio(facts: Facts, names: Iterable[str], handles: Iterable[str]) -> Traced | None:
    """How many times less the named techniques take by any of the handles; None where none of them does.

    Each works on what the others leave: r = prod_i(r_i), as `carbon.levers.composed_ratio`.
    """
    wanted = tuple(handles)
    found: Traced | None = None
    for name in names:
        for handle in technique_named(name).handles:
            if handle in wanted:
                own = _whole(facts, effect_key(name, handle), effect_key(name, f"{handle}_affected"))
                found = own if found is None else (found * own).named("reduction_ratio")
    return found


def _whole(facts: Facts, key: str, affected: str) -> Traced:
    """The effect of one handle on the whole."""
    ratio = facts.fact(key)
    if not facts.has(affected):
        return ratio
    return derive(total_reduction_ratio, affected_fraction=facts.fact(affected), lever_ratio=ratio)


def ratio_column(
    facts: Facts, each: Sequence[tuple[str, ...]], index: NDArray[np.intp], handles: Iterable[str]
) -> Traced | None:
    """The effect on each row of a column, whose techniques are those of `each[index]`; None without any."""
    wanted = tuple(handles)
    found = [effect_ratio(facts, names, wanted) for names in each]
    if all(found[i] is None for i in index.tolist()):
        return None
    none = chosen("reduction_ratio", 1.0, "no technique")
    return pick([none if ratio is None else ratio for ratio in found], index)


def lowered_kw(*, power_kw: Column, idle_kw: Column, reduction_ratio: Column) -> Column:
    """Power of a node whose work draws less above what it draws when idle.

    P' = P_idle + max(P - P_idle, 0) / r,  P_idle at most P

    Source: definition; what a node draws when idle stays.
    """
    idle = np.minimum(idle_kw, power_kw)
    return idle + np.divide(np.subtract(power_kw, idle), reduction_ratio)


def lowered_kwh(*, it_kwh: Column, node_h: Column, idle_kw: Column, reduction_ratio: Column) -> Column:
    """IT energy where work draws less above what idle nodes draw.

    E' = E_idle + max(E - E_idle, 0) / r,  E_idle = N_h P_idle, at most E

    Source: definition; hours and what nodes draw when idle stay.
    """
    idle_kwh = np.multiply(node_h, idle_kw)
    return lowered_kw(power_kw=it_kwh, idle_kw=idle_kwh, reduction_ratio=reduction_ratio)


def serving_ratio(
    inputs: Inputs, service: NDArray[np.intp], sku: NDArray[np.intp], handles: Iterable[str]
) -> Traced | None:
    """The effect on each row of services on SKUs, of the techniques in their ways; None without any."""
    ways = inputs.ways.services
    if not any(way.techniques for way in ways):
        return None
    pairs, index = np.unique(np.stack([service, sku]), axis=1, return_inverse=True)
    each = [
        in_scope(inputs, ways[i].techniques, "inference", inputs.scenario.services[i].model, k)
        for i, k in pairs.T.tolist()
    ]
    return ratio_column(inputs, each, index.ravel(), handles)


def in_scope(inputs: Inputs, names: Iterable[str], phase: str, model: str, sku: int) -> tuple[str, ...]:
    """Those of the techniques that apply to predicted work of a phase on a SKU."""
    scope: dict[str, Any] = {
        "phase": phase,
        "model": model,
        "accelerator": inputs.skus[sku].accelerator,
        "predicted": True,
    }
    return tuple(name for name in names if not technique_named(name).out_of_scope(inputs.catalogue, **scope))
