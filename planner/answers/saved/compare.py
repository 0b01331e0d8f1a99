"""Two plans side by side: what was asked differently, and what came out and was decided differently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner.answers.saved.recompute import fact_values
from planner.inputs.scenario import Scenario
from planner.inputs.scenario.bundle import KeptScenario, restored
from planner.inputs.scenario.problems import label
from planner.inputs.scenario.writing import tables
from planner.store.packing import versions_here
from planner.store.store import SavedPlan, Store
from planner.trace.errors import InputError
from planner.trace.explain import Gathered, Step, packed
from planner.trace.numbers import energy, how_many, number_text, share_of
from planner.trace.records import Record, is_number

NO_INPUTS = "a plan out of a file keeps no scenario: inputs are not compared"
FIGURES = 3  # of amounts that are no counts: what differs further on decides nothing


def compare_plans(store: Store, before: str, after: str) -> Record:
    """What differs between two saved plans: inputs, files, facts, versions, totals and decisions.

    Facts are those that both stand on, with another value: which ones a plan asks for follows its decisions.

    Raises:
        StoreError: one of them is not there.
    """
    return compare_sides(saved_side(store, before), saved_side(store, after))


@dataclass(frozen=True, slots=True)
class Side:
    """One plan of a comparison, saved or not."""

    head: Record
    document: Record
    inputs: Mapping[str, Any]
    files: Mapping[str, Any]
    versions: Mapping[str, str]


def saved_side(store: Store, digest: str) -> Side:
    """A saved plan as one side.

    Raises:
        StoreError: it is not there.
    """
    plan = store.plan(digest)
    kept = store.scenario(plan.scenario)
    with restored(kept) as scenario:
        inputs = flat_inputs(scenario)
    return Side(head_of(plan), store.document(plan.digest), inputs, kept.files, plan.versions)


def compare_sides(before: Side, after: Side) -> Record:
    """What differs between two plans, as `compare_plans` has it."""
    sides = (before, after)
    documents = [side.document for side in sides]
    totals, changed = list(_totals(*documents)), _changed(*(side.inputs for side in sides))
    steps = Gathered()
    cells = {"totals": _cells_of_totals(totals, documents, steps), "inputs": _stated(changed, sides, steps)}
    return {
        "everfleet_comparison": 2,
        **common_currency(documents),
        "plans": [dict(side.head) for side in sides],
        "inputs": changed,
        "files": [row["path"] for row in _changed(*(side.files for side in sides))],
        "facts": [row for row in _changed(*map(fact_values, documents)) if None not in row.values()],
        "versions": _changed(*(side.versions for side in sides)),
        "totals": totals,
        "decisions": _decided(documents),
        "cells": cells,
        "steps": packed(steps.steps),
    }


def _decided(documents: Sequence[Record]) -> list[Record]:
    """What is decided differently; where one side has no plan, that and why."""
    if all(document["totals"] for document in documents):
        return _changed(*(decisions_in(document["tables"]) for document in documents))
    return _changed(
        *({"the plan": "found" if one["totals"] else " ".join(one["headline"])} for one in documents)
    )


def decisions_in(tables: Mapping[str, Sequence[Record]]) -> dict[str, str]:
    """What a plan decides, by what it is about: without money, so that another price is no other decision."""
    nodes: Counter[str] = Counter()
    for row in tables.get("purchases", ()):
        nodes[f"order {row['sku']} at {row['site']} in {row['period']}"] += row["nodes"]
    for row in tables.get("disposals", ()):
        nodes[f"{row['what'].lower()} {row['sku']} at {row['site']} in {row['period']}"] += row["nodes"]
    for row in tables.get("moves", ()):
        nodes[f"move {row['sku']} from {row['from']} to {row['to']} in {row['period']}"] += row["nodes"]
    for row in tables.get("commitments", ()):
        term = f"{row['commitment']}, from {row['period']}"
        nodes[f"reserve {row['sku']} at {row['location']} for {term}"] += row["nodes"]
    for row in tables.get("rental", ()):
        nodes[f"rent {row['sku']} at {row['location']} in {row['period']}"] += row["nodes"]
    found = {about: how_many(int(count), "node") for about, count in nodes.items()}
    for row in tables.get("jobs", ()):
        found[f"run {row['job']}"] = (
            f"{number_text(row['nodes'])} nodes of {row['sku']} at {row['site']} from {row['start']}, "
            f"a checkpoint every {number_text(row['interval_min'], FIGURES)} min"
        )
    work: Counter[tuple[str, str]] = Counter()
    for row in tables.get("services", ()):
        of = f"serve {row['service']} on {row['sku']} at {row['site']} in {row['period']}"
        work[of, "replicas"] += row["replicas"]
    for table, name in (("pools", "pool"), ("pausable", "job")):
        for row in tables.get(table, ()):
            work[f"do {row[name]} on {row['sku']} at {row['site']} in {row['period']}", "node-hours"] += row[
                "node_h"
            ]
    found |= {about: f"{number_text(much, FIGURES)} {unit}" for (about, unit), much in work.items()}
    for row in tables.get("contracts", ()):
        bought = f"buy clean energy under {row['contract']} at {row['site']} in {row['period']}"
        found[bought] = energy(row["matched_kwh"])
    for row in tables.get("site_energy", ()):
        if row.get("battery_kwh"):
            found[f"battery at {row['site']}"] = energy(row["battery_kwh"])
        if row.get("solar_bought_kw"):
            found[f"the sun's cells at {row['site']}"] = f"{number_text(row['solar_bought_kw'], FIGURES)} kW"
    return found


def _cells_of_totals(
    rows: Sequence[Record], documents: Sequence[Mapping[str, Any]], steps: Gathered
) -> list[dict[str, int]]:
    """The steps of both values of each total, which its plan keeps, and of how they differ."""
    taken = [steps.take(document) for document in documents]
    kept = [
        {total["name"]: own[total["explain"]] for total in document["totals"] if total.get("explain") in own}
        for document, own in zip(documents, taken, strict=True)
    ]
    cells = []
    for row in rows:
        found = {
            key: own[row["name"]]
            for key, own in zip(("before", "after"), kept, strict=True)
            if row["name"] in own
        }
        cell = dict(found)
        if len(found) == 2 and row["difference"] is not None:
            unit = str(row["unit"])
            cell["difference"] = steps.add(_difference("difference", row, unit, "after - before", found))
            if row["difference_fraction"] is not None:
                text = "(after - before) / before"
                cell["difference_fraction"] = steps.add(
                    _difference("difference_fraction", row, "1", text, found)
                )
        cells.append(cell)
    return cells


def _difference(key: str, row: Record, unit: str, text: str, inputs: dict[str, int]) -> Step:
    equation = f"{key} = {text}"
    return Step(0, key, row[key], unit, "derived", equation=equation, inputs=inputs, closes=True)


def _stated(rows: Sequence[Record], sides: Sequence[Side], steps: Gathered) -> list[dict[str, int]]:
    """The steps of inputs that are numbers: each is what its scenario says."""
    return [
        {
            key: steps.add(
                Step(0, row["path"], row[key], "1", "yours", source=f"scenario '{side.document['title']}'")
            )
            for key, side in zip(("before", "after"), sides, strict=True)
            if is_number(row[key])
        }
        for row in rows
    ]


def common_currency(documents: Sequence[Mapping[str, Any]]) -> Record:
    """The currency that all of some plans are shown in, at one rate; else USD, of which nothing is said."""
    first, *others = [document.get("currency") for document in documents]
    return {"currency": first} if first and all(one == first for one in others) else {}


def head_of(plan: SavedPlan) -> Record:
    """What names a plan in a comparison."""
    return {
        "digest": plan.digest,
        "title": plan.title,
        "saved": plan.saved,
        "status": plan.status,
        "name": plan.name,
        "note": plan.note,
        "tags": list(plan.tags),
        "owner": plan.owner,
    }


def kept_side(document: Record, inputs: Mapping[str, Any] | None = None) -> Side:
    """A plan that is not saved as one side: it has no day and no files of its own.

    Raises:
        InputError: it is another answer.
    """
    if "horizon" not in document or "scenario_digest" not in document:
        raise InputError(
            f"'{document.get('title', '')}' is no plan: compare plans that `plan` wrote or saved"
        )
    digest, status = document["scenario_digest"], document["status"]["name"]
    head = {"digest": digest, "title": document["title"], "saved": "", "status": status}
    return Side(head, document, inputs or {}, {}, versions_here() | {"everfleet": document["everfleet"]})


def made_side(kept: KeptScenario, document: Record) -> Side:
    """A plan that was just made as one side."""
    with restored(kept) as scenario:
        inputs = flat_inputs(scenario)
    head = {"digest": "", "title": document["title"], "saved": "", "status": document["status"]["name"]}
    return Side(head, document, inputs, kept.files, versions_here())


def flat_inputs(scenario: Scenario) -> Record:
    """Every value of a scenario by its path, paths as `--set` takes them."""
    return dict(_flat(scenario))


def _flat(scenario: Scenario) -> Iterator[tuple[str, Any]]:
    """Path and value of each key, paths as `--set` takes them."""
    for section, held in tables(scenario).items():
        if isinstance(held, dict):
            for key, value in held.items():
                yield f"{section}.{key}", value
        elif isinstance(held, list):
            for number, entry in enumerate(held):
                name = label(entry, section, held)
                for key, value in entry.items():
                    yield f"{section}.{name}.{key}" if name else f"{section}[{number}].{key}", value
        else:
            yield section, held


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Record]:
    return [
        {"path": path, "before": before.get(path), "after": after.get(path)}
        for path in dict.fromkeys((*before, *after))
        if before.get(path) != after.get(path)
    ]


def _totals(before: Record, after: Record) -> Iterator[Record]:
    """Totals of either with what the later one has more; the share is none of nothing."""
    held = [_by_name(document["totals"]) for document in (before, after)]
    for name in dict.fromkeys((*held[0], *held[1])):
        one, other = (totals.get(name) for totals in held)
        row = one or other or {}
        was, now = (None if total is None else total["value"] for total in (one, other))
        more = None if was is None or now is None else now - was
        yield {
            "name": name,
            "label": row["label"],
            "unit": row["unit"],
            "before": was,
            "after": now,
            "difference": more,
            "difference_fraction": share_of(more, was),
        }


def _by_name(totals: Sequence[Record]) -> dict[str, Record]:
    return {total["name"]: total for total in totals}
