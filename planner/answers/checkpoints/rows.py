"""Rows of the tables: what a pattern, or a column of intervals, does to time, money and carbon."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

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
from planner.trace.explain import explain
from planner.trace.quantities import Fact, chosen, derive_parts, recompute
from planner.trace.records import Record
from reliability.ettr import linear_ettr

FLAT = 0.001  # intervals that cost less than this share more are as good as the best


def columns(policy: Policy, pattern: Pattern, linear: bool = False) -> dict[str, NDArray[np.float64]]:
    """What one interval, or a column of them, does."""
    hours = policy.hours(pattern)
    found = {
        "interval_min": np.asarray(pattern.interval_h.value) * 60.0,
        "ettr_fraction": np.asarray(hours.ettr.value),
        "lost_fraction": np.asarray(hours.fraction(hours.lost_h).value),
        "checkpoint_fraction": np.asarray(hours.fraction(hours.checkpoint_h).value),
        "restart_fraction": np.asarray(hours.fraction(hours.restart_h).value),
        "usd_per_useful_h": np.asarray(usd_per_useful_h(policy, pattern).value),
        "kgco2e_per_useful_h": np.asarray(kgco2e_per_useful_h(policy, pattern).value),
    }
    found |= _band(policy, pattern.kept())
    if policy.setting.queue_h.value:
        found["ettr_with_queue_fraction"] = np.asarray(policy.hours(pattern, absent(policy)).ettr.value)
    if linear and isinstance(policy, OneLevel) and policy.name == "blocking":
        found |= _line(policy, pattern)
    return found


def row(policy: Policy, pattern: Pattern, linear: bool = False) -> Record:
    """What one pattern does, as plain numbers."""
    return {name: value.item() for name, value in columns(policy, pattern, linear).items()}


def optimum_rows(policies: dict[str, Policy]) -> tuple[list[Record], dict[str, Any]]:
    """Each policy at its best for time, money and carbon, with its flat region, and why."""
    records, why = [], {}
    loss = chosen("loss_fraction", FLAT, "a loss too small to matter")
    for name, policy in policies.items():
        for objective in OBJECTIVES:
            weights = weights_of(policy, objective)
            pattern = policy.best(weights)
            low, high = policy.flat(pattern, weights, loss)
            saves = pattern.local_saves
            records.append(
                {"policy": name, "objective": objective}
                | row(policy, pattern)
                | {
                    "local_saves": None if saves is None else int(saves.value),
                    "flat_low_min": float(low.value) * 60,
                    "flat_high_min": float(high.value) * 60,
                }
            )
            value = objective_value(policy, pattern, objective)
            why[f"{name}.{objective}"] = explain(value).to_dict()
    return records, why


def best_policies(optima: list[Record]) -> list[Record]:
    """Which policy wins on each objective, and how much more the others cost."""
    winners = []
    for objective, key in OBJECTIVES.items():
        cost = {
            one["policy"]: 1.0 / one[key] if objective == "time" else one[key]
            for one in optima
            if one["objective"] == objective
        }
        name = min(cost, key=cost.__getitem__)
        behind = {f"{other}_more_fraction": cost[other] / cost[name] - 1.0 for other in NAMES}
        winners.append({"objective": objective, "policy": name, **behind})
    return winners


def _band(policy: Policy, pattern: Pattern) -> dict[str, NDArray[np.float64]]:
    """ETTR, money and carbon at both ends of the range of the failure rate, where it has one.

    Failures are dear: the rate's high end is the low one of ETTR, and the high one of money and carbon.
    """
    rate = policy.setting.terms.failure_rate
    if not isinstance(rate, Fact) or rate.low is None or rate.high is None:
        return {}
    held = [
        policy.hours(pattern).ettr,
        usd_per_useful_h(policy, pattern),
        kgco2e_per_useful_h(policy, pattern),
    ]
    seldom, often = (recompute(held, {rate.key: value}) for value in (rate.low, rate.high))
    ends = {
        "ettr_low_fraction": often[0],
        "ettr_high_fraction": seldom[0],
        "usd_low_per_useful_h": seldom[1],
        "usd_high_per_useful_h": often[1],
        "kgco2e_low_per_useful_h": seldom[2],
        "kgco2e_high_per_useful_h": often[2],
    }
    return {name: np.asarray(value) for name, value in ends.items()}


def _line(policy: OneLevel, pattern: Pattern) -> dict[str, NDArray[np.float64]]:
    """The published straight line, which knows blocking writes only, and whether it is in its range."""
    renewal = {name: value for name, value in policy.renewal().items() if name != "persist_h"}
    line = derive_parts(linear_ettr, interval_h=pattern.interval_h, **renewal)
    return {
        "linear_ettr_fraction": np.asarray(line.ettr_fraction.value),
        "linear_in_range": np.asarray(line.in_range.value),
    }
