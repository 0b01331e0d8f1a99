"""One job at many sizes, and every policy at many intervals: what maps and curves are drawn from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
from planner.answers.checkpoints.rows import columns, flat_of, more_than, row, rows_of
from planner.answers.checkpoints.setting import setting_of
from planner.trace.numbers import count_text
from planner.trace.quantities import Traced, chosen, convert
from planner.trace.records import Record

Hours = NDArray[np.float64]

ROWS = 31
SPACED = "one of the intervals shown, evenly spread over their logarithm"
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


def across_rows(
    terms: Terms, sku: str, nodes: int, sizes: Sequence[int]
) -> tuple[dict[str, list[Record]], dict[str, Traced]]:
    """`sizes` and the best interval of each, a `map` of interval by size, and `curves` of every policy.

    The map is for the way of writing that `terms` ask for. Each curve is that of the job as asked; that of
    two levels keeps the number of local saves that loses least time. With them the best intervals by name.
    """
    name = "asynchronous" if terms.asynchronous else "blocking"
    jobs = {size: policies_of(setting_of(terms, sku, size))[name] for size in sorted({*sizes})}
    best = {size: _optima(policy) for size, policy in jobs.items()}
    shared = _shared([found["time"] for found in best.values()])
    policies = policies_of(setting_of(terms, sku, nodes))
    patterns = {name: policy.best(weights_of(policy, "time")) for name, policy in policies.items()}
    own = _shared(list(patterns.values()))
    counts = {size: _nodes(policy, nodes) for size, policy in jobs.items()}
    tables = {
        "sizes": [{"nodes": counts[size], **_size(jobs[size], best[size])} for size in jobs],
        "map": [
            {"nodes": counts[size], **line}
            for size, policy in jobs.items()
            for line in _lines(policy, best[size]["time"], shared, _least(policy, best[size]))
        ],
        "curves": [
            {"policy": name, "local_saves": patterns[name].local_saves, **line}
            for name, policy in policies.items()
            for line in _lines(policy, patterns[name], own)
        ],
    }
    return tables, {
        f"{size}.{objective}": pattern.interval_h
        for size, found in best.items()
        for objective, pattern in found.items()
    }


def _optima(policy: Policy) -> dict[str, Pattern]:
    return {objective: policy.best(weights_of(policy, objective)) for objective in OBJECTIVES}


def _nodes(policy: Policy, requested: int) -> Traced:
    """The job's own nodes, or those of a job set next to it."""
    own = policy.setting.nodes
    if own.value == requested:
        return own
    why = f"next to the {count_text(requested)} that were asked for, each size twice the one before"
    return chosen("nodes", own.value, why)


def _size(policy: Policy, best: dict[str, Pattern]) -> Record:
    """One size: how often it fails, its best interval for each objective, and what the quickest one does."""
    low, high = flat_of(policy, best["time"], "time")
    found = row(policy, best["time"])
    intervals = {
        f"{objective}_interval_min": convert(best[objective].interval_h, "min")
        for objective in ("money", "carbon")
    }
    return {
        "mttf_h": policy.setting.mttf_h,
        **{key: found[key] for key in KEPT if key in found},
        **intervals,
        "flat_low_min": low,
        "flat_high_min": high,
    }


def _least(policy: Policy, best: dict[str, Pattern]) -> dict[str, Traced]:
    """Hours, money and carbon of one useful hour, each at its own best interval."""
    return {name: objective_value(policy, pattern, name) for name, pattern in best.items()}


def _shared(patterns: Sequence[Pattern]) -> Hours:
    """Intervals that hold every best one, evenly spread over their logarithm."""
    best = [float(pattern.interval_h.value) for pattern in patterns]
    return np.geomspace(min(best) / SPAN, max(best) * SPAN, ROWS)


def _lines(
    policy: Policy, pattern: Pattern, interval_h: Hours, least: Mapping[str, Traced] | None = None
) -> list[Record]:
    """A policy at those of the intervals that it can keep to, and how far it is behind the least of each."""
    if isinstance(policy, OneLevel):
        # A checkpoint has to be stored before the next one begins.
        shortest = float(policy.persist_h.value) - float(policy.write_h.value)
        interval_h = interval_h[interval_h >= shortest]
    if not interval_h.size:
        return []
    there = Pattern(chosen("interval_h", interval_h, SPACED), pattern.local_saves)
    found = columns(policy, there)
    kept = {key: found[key] for key in KEPT if key in found}
    for name, one in (least or {}).items():
        kept[f"{name}_more_fraction"] = more_than(objective_value(policy, there, name), one)
    return rows_of(kept, interval_h.size)
