"""Rows of the tables: what a pattern, or a column of intervals, does to time, money and carbon; traced."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from planner.answers.checkpoints.policies import (
    NAMES,
    OBJECTIVES,
    OneLevel,
    Pattern,
    Policy,
    absent,
    kgco2e_per_useful_h,
    objective_value,
    usd_per_useful_h,
    weights_of,
)
from planner.trace.explain import Steps
from planner.trace.quantities import (
    Fact,
    Traced,
    chosen,
    convert,
    derive_parts,
    end_of,
    ratio,
)
from planner.trace.recomputation import replaced
from planner.trace.records import Record, numbered, plain_rows
from reliability.ettr import linear_ettr

FLAT = 0.001  # intervals that cost less than this share more are as good as the best
COUNTS = ("nodes", "local_saves")
Columns = dict[str, Any]  # traced, but for what is true or false


def columns(policy: Policy, pattern: Pattern, linear: bool = False) -> Columns:
    """What one interval, or a column of them, does."""
    hours = policy.hours(pattern)
    found: Columns = {
        "interval_min": convert(pattern.interval_h, "min"),
        "ettr_fraction": hours.ettr,
        "lost_fraction": hours.fraction(hours.lost_h),
        "checkpoint_fraction": hours.fraction(hours.checkpoint_h),
        "restart_fraction": hours.fraction(hours.restart_h),
        "usd_per_useful_h": usd_per_useful_h(policy, pattern),
        "kgco2e_per_useful_h": kgco2e_per_useful_h(policy, pattern),
    }
    found |= _band(policy, pattern.kept())
    if policy.setting.queue_h.value:
        found["ettr_with_queue_fraction"] = policy.hours(pattern, absent(policy)).ettr
    if linear and isinstance(policy, OneLevel) and policy.name == "blocking":
        found |= _line(policy, pattern)
    return found


def rows_of(found: Columns, count: int) -> list[Record]:
    """Columns as rows; what is true or false as Python has it."""
    return [
        {name: one[i] if isinstance(one, Traced) else one[i].item() for name, one in found.items()}
        for i in range(count)
    ]


def row(policy: Policy, pattern: Pattern, linear: bool = False) -> Record:
    """What one pattern does."""
    found = columns(policy, pattern, linear)
    return {name: one if isinstance(one, Traced) else one.item() for name, one in found.items()}


def plainly(rows: Iterable[Mapping[str, Any]]) -> list[Record]:
    """Rows as files have them, their counts whole."""
    return [
        {key: int(one) if key in COUNTS and one is not None else one for key, one in row.items()}
        for row in plain_rows(rows)
    ]


def with_steps(tables: Mapping[str, list[Record]], named: Mapping[str, Traced]) -> Record:
    """Tables as files have them, with the step of each number, of each cell and of what has a name."""
    steps = Steps()
    numbers = {name: steps.add(one) for name, one in named.items()}
    cells = numbered(tables, steps)
    return {name: plainly(rows) for name, rows in tables.items()} | {
        "explanations": numbers,
        "cells": cells,
        "steps": steps.packed(),
    }


def flat_of(policy: Policy, pattern: Pattern, objective: str) -> tuple[Traced, Traced]:
    """Both ends of the intervals that are as good as the best for an objective, in minutes."""
    loss = chosen("loss_fraction", FLAT, "a loss too small to matter")
    low, high = policy.flat(pattern, weights_of(policy, objective), loss)
    return convert(low, "min"), convert(high, "min")


def more_than(value: Traced, least: Traced) -> Traced:
    """How much more something is than the least of its kind; no number where all are without end."""
    with np.errstate(invalid="ignore"):
        more = ratio(value, least) - 1.0
    return more.named("more_fraction", "How much more is taken than at the best interval")


def optimum_rows(policies: Mapping[str, Policy]) -> tuple[list[Record], dict[str, Traced]]:
    """Each policy at its best for time, money and carbon, with its flat region, and what is least there."""
    records: list[Record] = []
    least: dict[str, Traced] = {}
    for name, policy in policies.items():
        for objective in OBJECTIVES:
            pattern = policy.best(weights_of(policy, objective))
            low, high = flat_of(policy, pattern, objective)
            records.append(
                {"policy": name, "objective": objective}
                | row(policy, pattern)
                | {"local_saves": pattern.local_saves, "flat_low_min": low, "flat_high_min": high}
            )
            least[f"{name}.{objective}"] = objective_value(policy, pattern, objective)
    return records, least


def best_policies(least: Mapping[str, Traced]) -> list[Record]:
    """Which policy wins on each objective, and how much more the others cost."""
    winners = []
    for objective in OBJECTIVES:
        cost = {name: least[f"{name}.{objective}"] for name in NAMES}
        best = min(cost, key=lambda name: float(cost[name].value))
        behind = {f"{name}_more_fraction": more_than(one, cost[best]) for name, one in cost.items()}
        winners.append({"objective": objective, "policy": best, **behind})
    return winners


def ends_of(rate: Traced) -> dict[str, Fact]:
    """Both ends of the range of a failure rate as facts; none where it has no range."""
    if not isinstance(rate, Fact) or rate.low is None or rate.high is None:
        return {}
    return {end: end_of(rate, end) for end in ("low", "high")}


def _band(policy: Policy, pattern: Pattern) -> Columns:
    """ETTR, money and carbon at both ends of the range of the failure rate, where it has one.

    Failures are dear: the rate's high end is the low one of ETTR, and the high one of money and carbon.
    """
    ends = ends_of(policy.setting.terms.failure_rate)
    if not ends:
        return {}
    held = [
        policy.hours(pattern).ettr,
        usd_per_useful_h(policy, pattern),
        kgco2e_per_useful_h(policy, pattern),
    ]
    seldom, often = (replaced(held, {fact.key: fact}) for fact in ends.values())
    return {
        "ettr_low_fraction": often[0],
        "ettr_high_fraction": seldom[0],
        "usd_low_per_useful_h": seldom[1],
        "usd_high_per_useful_h": often[1],
        "kgco2e_low_per_useful_h": seldom[2],
        "kgco2e_high_per_useful_h": often[2],
    }


def _line(policy: OneLevel, pattern: Pattern) -> Columns:
    """The published straight line, which knows blocking writes only, and whether it is in its range."""
    renewal = {name: value for name, value in policy.renewal().items() if name != "persist_h"}
    line = derive_parts(linear_ettr, interval_h=pattern.interval_h, **renewal)
    return {"linear_ettr_fraction": line.ettr_fraction, "linear_in_range": line.in_range.value}
