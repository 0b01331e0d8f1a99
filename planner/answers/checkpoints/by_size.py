"""One job at many sizes, and every policy at many intervals: what maps and curves are drawn from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from planner.answers.checkpoints.policies import (
    OBJECTIVES,
    OneLevel,
    Pattern,
    Policy,
    objective_value,
    policies_of,
    weights_of,
)
from planner.answers.checkpoints.question import Terms
from planner.answers.checkpoints.rows import FLAT, columns, row
from planner.answers.checkpoints.setting import setting_of
from planner.trace.explain import explain
from planner.trace.quantities import chosen
from planner.trace.records import Record

Hours = NDArray[np.float64]

ROWS = 31
SPAN = 5.0  # from a fifth of the shortest of the best intervals to five times the longest
STEPS = 2.0 ** np.arange(-3, 5)
KEPT = (
    "interval_min",
    "ettr_fraction",
    "ettr_low_fraction",
    "ettr_high_fraction",
    "usd_per_useful_h",
    "usd_low_per_useful_h",
    "usd_high_per_useful_h",
    "kgco2e_per_useful_h",
    "kgco2e_low_per_useful_h",
    "kgco2e_high_per_useful_h",
)


def sizes_around(nodes: int) -> tuple[int, ...]:
    """Numbers of nodes from an eighth of a job's to sixteen times as many, each twice the one before."""
    return tuple(int(size) for size in np.unique(np.maximum(np.round(nodes * STEPS), 1)))


def across_rows(terms: Terms, sku: str, nodes: int, sizes: Sequence[int]) -> Record:
    """`sizes` and the best interval of each, a `map` of interval by size, and `curves` of every policy.

    The map is for the way of writing that `terms` ask for. Each curve is that of the job as asked; that of
    two levels keeps the number of local saves that loses least time.
    """
    name = "asynchronous" if terms.asynchronous else "blocking"
    jobs = {size: policies_of(setting_of(terms, sku, size))[name] for size in sorted(set(sizes))}
    best = {size: _optima(policy) for size, policy in jobs.items()}
    shared = _shared([found["time"] for found in best.values()])
    policies = policies_of(setting_of(terms, sku, nodes))
    patterns = {name: policy.best(weights_of(policy, "time")) for name, policy in policies.items()}
    own = _shared(list(patterns.values()))
    return {
        "sizes": [_size(size, jobs[size], best[size]) for size in jobs],
        "map": [
            {"nodes": size, **line, **_behind(line, least)}
            for size, policy in jobs.items()
            for least in [_least(policy, best[size])]
            for line in _lines(policy, best[size]["time"], shared)
        ],
        "curves": [
            {"policy": name, "local_saves": _saves(patterns[name]), **line}
            for name, policy in policies.items()
            for line in _lines(policy, patterns[name], own)
        ],
        "size_explanations": {
            f"{size}.{objective}": explain(pattern.interval_h).to_dict()
            for size, found in best.items()
            for objective, pattern in found.items()
        },
    }


def _optima(policy: Policy) -> dict[str, Pattern]:
    return {objective: policy.best(weights_of(policy, objective)) for objective in OBJECTIVES}


def _size(nodes: int, policy: Policy, best: dict[str, Pattern]) -> Record:
    """One size: how often it fails, its best interval for each objective, and what the quickest one does."""
    loss = chosen("loss_fraction", FLAT, "a loss too small to matter")
    low, high = policy.flat(best["time"], weights_of(policy, "time"), loss)
    found = row(policy, best["time"])
    intervals = {
        f"{objective}_interval_min": float(best[objective].interval_h.value) * 60
        for objective in ("money", "carbon")
    }
    return {
        "nodes": nodes,
        "mttf_h": float(policy.setting.mttf_h.value),
        **{key: found[key] for key in KEPT if key in found},
        **intervals,
        "flat_low_min": float(low.value) * 60,
        "flat_high_min": float(high.value) * 60,
    }


def _least(policy: Policy, best: dict[str, Pattern]) -> dict[str, float]:
    """Hours, money and carbon of one useful hour, each at its own best interval."""
    return {name: float(objective_value(policy, pattern, name).value) for name, pattern in best.items()}


def _behind(line: Record, least: dict[str, float]) -> Record:
    """How much more time, money and carbon an interval takes than the best one for each."""
    cost = {name: line[key] for name, key in OBJECTIVES.items()} | {"time": 1.0 / line["ettr_fraction"]}
    return {f"{name}_more_fraction": cost[name] / least[name] - 1.0 for name in OBJECTIVES}


def _shared(patterns: Sequence[Pattern]) -> Hours:
    """Intervals that hold every best one, evenly spread over their logarithm."""
    best = [float(pattern.interval_h.value) for pattern in patterns]
    return np.geomspace(min(best) / SPAN, max(best) * SPAN, ROWS)


def _lines(policy: Policy, pattern: Pattern, interval_h: Hours) -> list[Record]:
    """A policy at those of the intervals that it can keep to."""
    if isinstance(policy, OneLevel):
        # A checkpoint has to be stored before the next one begins.
        least = float(policy.persist_h.value) - float(policy.write_h.value)
        interval_h = interval_h[interval_h >= least]
    if not interval_h.size:
        return []
    column = chosen("interval_h", interval_h, "a column of the map")
    found = columns(policy, Pattern(column, pattern.local_saves))
    return [{key: found[key][i].item() for key in KEPT if key in found} for i in range(interval_h.size)]


def _saves(pattern: Pattern) -> int | None:
    return None if pattern.local_saves is None else int(pattern.local_saves.value)
