"""Several plans side by side: inputs that differ, totals with their differences, terms of cost and carbon."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner.answers.saved.compare import common_currency, flat_inputs, head_of
from planner.inputs.scenario.bundle import restored
from planner.report.cells import FORMER_TERMS
from planner.store.store import Store
from planner.trace.explain import kept_step
from planner.trace.numbers import share_of
from planner.trace.records import Record

MOST_PLANS = 6
TERMS = {"cost": "usd", "carbon": "kgco2e"}


@dataclass(frozen=True, slots=True)
class Compared:
    """One plan of a comparison: what a list shows of it, its inputs by path, and its document."""

    head: Record
    inputs: Mapping[str, Any]
    document: Record


def compare_several(store: Store, digests: Sequence[str]) -> Record:
    """What differs between saved plans; each is held against the first.

    Raises:
        StoreError: one of them is not there.
        ScenarioError: this everfleet does not take the scenario of one.
    """
    return side_by_side([_compared(store, digest) for digest in digests])


def _compared(store: Store, digest: str) -> Compared:
    saved = store.plan(digest)
    with restored(store.scenario(saved.scenario)) as scenario:
        inputs = flat_inputs(scenario)
    head = head_of(saved) | {"scenario": saved.scenario}
    return Compared(head, inputs, store.document(saved.digest))


def side_by_side(plans: Sequence[Compared]) -> Record:
    """The comparison as plain data; each list of values has one for each plan, in their order."""
    if not 1 <= len(plans) <= MOST_PLANS:
        raise ValueError(f"plans are 1 to {MOST_PLANS}, got {len(plans)}")
    documents = [plan.document for plan in plans]
    return {
        **common_currency(documents),
        "plans": [dict(plan.head) for plan in plans],
        "inputs": _differing([plan.inputs for plan in plans]),
        "totals": _totals(documents),
        "terms": {name: _terms(documents, name, unit) for name, unit in TERMS.items()},
        "headlines": [document["headline"] for document in documents],
        "explanations": [
            {name: found.to_dict() for name in TERMS if (found := kept_step(document, name)) is not None}
            for document in documents
        ],
    }


def _differing(inputs: Sequence[Mapping[str, Any]]) -> list[Record]:
    """Paths at which not all scenarios say the same; what one does not say is None."""
    paths = dict.fromkeys(path for each in inputs for path in each)
    rows = [{"path": path, "values": [_shown(each.get(path)) for each in inputs]} for path in paths]
    return [row for row in rows if any(value != row["values"][0] for value in row["values"])]


def _shown(value: Any) -> Any:
    """A value as a cell holds it: lists as a file writes them, dates as text."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return json.dumps(value, default=str)


def _totals(documents: Sequence[Record]) -> list[Record]:
    """Each total of all plans; a share is none of nothing."""
    held = [{total["name"]: total for total in document["totals"]} for document in documents]
    rows = []
    for name in dict.fromkeys(name for each in held for name in each):
        known = next(each[name] for each in held if name in each)
        values = [each[name]["value"] if name in each else None for each in held]
        more = _differences(values)
        first = values[0]
        rows.append(
            {
                "name": name,
                "label": known["label"],
                "unit": known["unit"],
                "values": values,
                "differences": more,
                "difference_fractions": [share_of(one, first) for one in more],
            }
        )
    return rows


def _terms(documents: Sequence[Record], table: str, unit: str) -> list[Record]:
    """Each term of a total in all plans; a plan without it has nothing of it, one without terms None."""
    held = [
        {FORMER_TERMS.get(row["term"], row["term"]): row for row in document["tables"][table]}
        for document in documents
    ]
    rows = []
    for term in dict.fromkeys(term for each in held for term in each):
        label = next(each[term]["label"] for each in held if term in each)
        values = [(each[term][unit] if term in each else 0.0) if each else None for each in held]
        rows.append({"term": term, "label": label, "values": values, "differences": _differences(values)})
    return rows


def _differences(values: Sequence[float | None]) -> list[float | None]:
    """What each has more than the first."""
    first = values[0]
    return [None if value is None or first is None else value - first for value in values]
