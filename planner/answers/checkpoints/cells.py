"""A number of a checkpoint table opened down to its sources, worked out again when it is requested."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from planner.answers.checkpoints.document import intervals_of
from planner.answers.checkpoints.equations import more_fraction
from planner.answers.checkpoints.policies import (
    OBJECTIVES,
    OneLevel,
    Pattern,
    Policy,
    kgco2e_per_useful_h,
    objective_value,
    policies_of,
    usd_per_useful_h,
    weights_of,
)
from planner.answers.checkpoints.question import SharedOptions, Terms, terms_of_flags
from planner.answers.checkpoints.rows import FLAT
from planner.answers.checkpoints.setting import setting_of
from planner.inputs.catalogue import load_catalogue
from planner.inputs.fits import fit_of
from planner.inputs.models import with_model_cards
from planner.trace.explain import Explanation, explain
from planner.trace.quantities import Fact, Traced, chosen, convert, derive, ratio

Record = Mapping[str, Any]

# Column at one end of the failure rate's range -> what it is, and the end: failures are dear.
_ENDS = {
    "ettr_low_fraction": ("ettr_fraction", "high"),
    "ettr_high_fraction": ("ettr_fraction", "low"),
    "usd_low_per_useful_h": ("usd_per_useful_h", "low"),
    "usd_high_per_useful_h": ("usd_per_useful_h", "high"),
    "kgco2e_low_per_useful_h": ("kgco2e_per_useful_h", "low"),
    "kgco2e_high_per_useful_h": ("kgco2e_per_useful_h", "high"),
}

# What a question may state next to the job; the page does not ask for it.
_SHARED = SharedOptions.__dataclass_fields__


@dataclass(frozen=True)
class _Place:
    """Where a cell stands: a policy for a job, its pattern, and what the pattern was chosen for."""

    policy: Policy
    pattern: Pattern
    objective: str


def cell_explanation(inputs: Record, table: str, row: Record, key: str) -> Explanation | None:
    """Why a cell holds its number; None where it holds a name or nothing.

    Args:
        inputs: what `checkpoint_document` was asked, by its arguments' names.
        table: which list of its document the row is from: rows, marks, policies, sizes, map or curves.
        row: the row.
        key: the column.
    """
    if isinstance(row.get(key), str | None):
        return None
    terms = _terms(inputs)
    if key == "nodes":
        return explain(_nodes(inputs, terms, row))
    place = _place(inputs, terms, table, row)
    if key in _ENDS:
        key, end = _ENDS[key]
        there = _place(inputs, _at_end(terms, end), table, row)
        place = replace(there, pattern=place.pattern.kept())
    return explain(_cells(place)[key]())


def _terms(inputs: Record) -> Terms:
    catalogue = with_model_cards(load_catalogue(), [inputs["model"]], Path())
    failures = inputs["failures"]
    fleet = failures if isinstance(failures, str) else fit_of(failures, "the fit")
    return terms_of_flags(
        catalogue,
        fleet,
        inputs["storage"],
        inputs["restart_min"],
        inputs["model"],
        inputs["asynchronous"],
        inputs["grid"],
        SharedOptions(**{name: inputs[name] for name in _SHARED if name in inputs}),
    )


def _at_end(terms: Terms, end: str) -> Terms:
    """The same question at one end of the failure rate's range."""
    rate = terms.failure_rate
    assert isinstance(rate, Fact)
    note = f"the {end} end of its range. {rate.note}".strip()
    value = rate.low if end == "low" else rate.high
    return replace(terms, failure_rate=replace(rate, value=value, low=None, high=None, note=note))


def _nodes(inputs: Record, terms: Terms, row: Record) -> Traced:
    """The job's own nodes, or those of a job set next to it."""
    if row["nodes"] == inputs["nodes"]:
        return setting_of(terms, inputs["sku"], row["nodes"]).nodes
    why = f"next to the {inputs['nodes']:,} that were asked for, each size twice the one before"
    return chosen("nodes", float(row["nodes"]), why, "1")


def _place(inputs: Record, terms: Terms, table: str, row: Record) -> _Place:
    policies = policies_of(setting_of(terms, inputs["sku"], row.get("nodes", inputs["nodes"])))
    policy = policies[row.get("policy", "asynchronous" if inputs["asynchronous"] else "blocking")]
    objective = row.get("objective", "time")
    if table == "marks":
        assert isinstance(policy, OneLevel)
        objective = row["name"].removesuffix("-optimal") if row["name"].endswith("-optimal") else "time"
        return _Place(policy, Pattern(intervals_of(policy)[row["name"]]), objective)
    pattern = policy.best(weights_of(policy, objective))
    if table in ("rows", "map", "curves"):
        spaced = "one of the intervals shown, evenly spread over their logarithm"
        pattern = Pattern(chosen("interval_h", row["interval_min"] / 60.0, spaced), pattern.local_saves)
    return _Place(policy, pattern, objective)


def _cells(place: _Place) -> dict[str, Callable[[], Traced]]:
    """How each column is worked out."""
    policy, pattern = place.policy, place.pattern

    def flat(end: int) -> Traced:
        loss = chosen("loss_fraction", FLAT, "a loss too small to matter")
        return convert(policy.flat(pattern, weights_of(policy, place.objective), loss)[end], "min")

    def best(objective: str) -> Pattern:
        return policy.best(weights_of(policy, objective))

    def best_interval(objective: str) -> Traced:
        return convert(best(objective).interval_h, "min")

    def more(objective: str) -> Traced:
        here, least = (objective_value(policy, one, objective) for one in (pattern, best(objective)))
        return derive(more_fraction, to_best_ratio=ratio(here, least))

    def share(state: str) -> Traced:
        hours = policy.hours(pattern)
        return hours.fraction(getattr(hours, f"{state}_h"))

    def saves() -> Traced:
        assert pattern.local_saves is not None
        return pattern.local_saves

    found: dict[str, Callable[[], Traced]] = {
        "interval_min": lambda: convert(pattern.interval_h, "min"),
        "local_saves": saves,
        "ettr_fraction": lambda: policy.hours(pattern).ettr,
        "usd_per_useful_h": lambda: usd_per_useful_h(policy, pattern),
        "kgco2e_per_useful_h": lambda: kgco2e_per_useful_h(policy, pattern),
        "mttf_h": lambda: policy.setting.mttf_h,
        "flat_low_min": lambda: flat(0),
        "flat_high_min": lambda: flat(1),
    }
    for state in ("lost", "checkpoint", "restart"):
        found[f"{state}_fraction"] = partial(share, state)
    for objective in OBJECTIVES:
        found[f"{objective}_more_fraction"] = partial(more, objective)
        found[f"{objective}_interval_min"] = partial(best_interval, objective)
    return found
