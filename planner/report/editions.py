"""Documents that an older everfleet wrote, as this one writes them."""

from __future__ import annotations

from planner.report.shape import PLAN_SCHEMA, read_back
from planner.trace.explain import pooled
from planner.trace.records import Record

# Older editions called every objective money. Step of an explanation -> its name and unit where it is carbon.
_IN_CARBON = {
    "weighted_usd": ("weighted_kgco2e", "kgCO2e"),
    "expected_usd": ("expected_kgco2e", "kgCO2e"),
    "hedging_value_usd": ("hedging_value_kgco2e", "kgCO2e"),
    "knowing_value_usd": ("knowing_value_kgco2e", "kgCO2e"),
    "hedged_usd": ("hedged_kgco2e", "kgCO2e"),
    "known_usd": ("known_kgco2e", "kgCO2e"),
    "mean_plan_usd": ("mean_plan_kgco2e", "kgCO2e"),
    "money_weight_ratio": ("money_weight_kgco2e_per_usd", "kgCO2e/USD"),
    "carbon_weight_usd_per_kgco2e": ("carbon_weight_ratio", "1"),
}
# Kinds that were wrapped in a file and said nothing of their kind inside.
_UNMARKED = ("validation", "comparison")
# Column of a future's row in edition 1 -> in edition 2.
_OF_A_FUTURE = {
    "objective_usd": "objective_value",
    "known_usd": "known_value",
    "mean_plan_usd": "mean_plan_value",
}


def up_to_date(document: Record) -> Record:
    """A document as the program keeps it today, out of a file or the store of any edition.

    Older ones called every objective USD, and had no key that says what they are.
    """
    document = _marked(read_back(document))
    if "value_usd" in (document.get("objective") or {}):
        document = _plan(document)
    if "schema" in document and "steps" not in document:
        return _with_steps(document)
    if document.get("everfleet_futures") == 1:
        return _futures(document)
    return document


def _marked(document: Record) -> Record:
    """A document with the key that says of which kind it is: some were wrapped, or had it outside alone."""
    kind = document.get("everfleet_answer")
    if kind is not None and isinstance(document.get("document"), dict):  # else it is a list
        document = document["document"]
        if kind in _UNMARKED:
            document = {f"everfleet_{kind}": 1, **document}
    if "everfleet_checkpoints" in document and "jobs" in document:
        inside = [
            job | {"document": {"everfleet_checkpoints": 1, **job["document"]}} if "document" in job else job
            for job in document["jobs"]
        ]
        return document | {"jobs": inside}
    return document


def _with_steps(document: Record) -> Record:
    """A plan of schema 2, whose explanations each held their own steps; cells had none."""
    steps, numbers = pooled(document["explanations"])
    return document | {"schema": PLAN_SCHEMA, "explanations": numbers, "cells": {}, "steps": steps}


def _plan(document: Record) -> Record:
    """A plan of schema 1, or the part of one that stands next to a front."""
    stated = document["objective"]
    unit = _unit(stated.get("kind", "money"), stated.get("text", ""))
    rest = {key: value for key, value in stated.items() if key != "value_usd"}
    found = document | {
        "objective": rest | {"value": stated["value_usd"], "unit": unit},
        "tornado": [row | {"at_unit": unit} for row in document["tornado"]],
    }
    if "schema" in document:
        found["schema"] = 2
    if unit == "USD":
        return found
    for total in found.get("totals", []):
        if total["name"] == "objective":
            total["unit"] = unit
    for row in found.get("tables", {}).get("summary", []):
        if row["measure"] == "Objective":
            row["unit"] = unit
    if "steps" in found:
        return found | {"steps": [_step_in_carbon(step) for step in found["steps"]]}
    return found | {"explanations": _explained_in_carbon(document.get("explanations", {}))}


def _unit(kind: str, text: str) -> str:
    """In what an objective counts; of one after the other, the second is what was minimised at last."""
    return "kgCO2e" if kind == "carbon" or text.startswith("least cost, then") else "USD"


def _futures(document: Record) -> Record:
    """A plan for several futures of edition 1."""
    carbon = document["measure"] == "carbon"
    explanations = document["explanations"]
    rest = {key: value for key, value in document.items() if key != "measure"}
    return rest | {
        "everfleet_futures": 2,
        "objective": {
            "kind": document["measure"],
            "value": explanations["expected"][0]["value"] if "expected" in explanations else None,
            "unit": "kgCO2e" if carbon else "USD",
        },
        "futures": [
            {_OF_A_FUTURE.get(key, key): value for key, value in row.items()} for row in document["futures"]
        ],
        "worth": [{"name": row["name"], "value": row["usd"]} for row in document["worth"]],
        "explanations": _explained_in_carbon(explanations) if carbon else explanations,
    }


def _explained_in_carbon(explanations: Record) -> Record:
    return {name: [_step_in_carbon(step) for step in steps] for name, steps in explanations.items()}


def _step_in_carbon(step: Record) -> Record:
    if step["name"] not in _IN_CARBON:
        return step
    name, unit = _IN_CARBON[step["name"]]
    renamed = {key: new for key, (new, _) in _IN_CARBON.items()} | {"each_usd": "each_kgco2e"}
    inputs = {renamed.get(key, key): at for key, at in step.get("inputs", {}).items()}
    return step | {"name": name, "unit": unit} | ({"inputs": inputs} if inputs else {})
