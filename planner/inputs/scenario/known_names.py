"""Names of the catalogue that a scenario or a job refers to, and facts of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from planner.inputs.exchange import rates_in, usd_text
from planner.inputs.ranges import Ranges
from planner.inputs.scenario.checks import LISTS, list_in
from planner.inputs.scenario.fields import CARD, quantity_like
from planner.inputs.scenario.parts import entries_of
from planner.inputs.scenario.problems import Problem, near_or_own, nearest_remedy, place, shown, shown_key
from planner.trace.units import UnitError, parse_quantity


@dataclass(frozen=True, slots=True)
class Known:
    """Names that the catalogue has, the unit of each of its facts, and what their families may be."""

    skus: frozenset[str]
    models: frozenset[str]
    grids: frozenset[str]
    traffics: frozenset[str]
    storages: frozenset[str]
    fleets: frozenset[str]
    spares: frozenset[str] = frozenset()  # SKUs of nodes on a shelf, which may stand already
    engines: frozenset[str] = frozenset()
    techniques: frozenset[str] = frozenset()
    fact_units: Mapping[str, str] = field(default_factory=dict)
    ranges: Ranges = field(default_factory=lambda: Ranges(()))


def unknown_names(document: Mapping[str, Any], known: Known) -> Iterator[Problem]:
    """Names that the catalogue does not have, and overrides that its facts cannot take, in tables."""
    one = {
        "sku": ("SKU", known.skus),
        "reference": ("SKU", known.skus),
        "model": ("model", known.models),
        "grid": ("grid region", known.grids),
        "traffic": ("traffic trace", known.traffics),
        "checkpoint_storage": ("storage class", known.storages),
        "engine": ("serving engine", known.engines),
    }
    several = {
        "skus": ("SKU", known.skus),
        "skus_today": ("SKU", known.skus),
        "models": ("model", known.models),
        "techniques": ("technique", known.techniques),
    }
    for section in LISTS:
        stands = section in ("fleet", "moves")
        for i, entry in entries_of(document, section):
            at = place((section, i), document)
            for key, (kind, names) in one.items():
                if isinstance(name := entry.get(key), str) and not (stands and name in known.spares):
                    yield from _unknown(f"{at}.{key}", name, kind, names)
            for key, (kind, names) in several.items():
                for k, name in enumerate(list_in(entry, key)):
                    if isinstance(name, str):
                        yield from _unknown(f"{at}.{key}[{k}]", name, kind, names)
    for i, entry in entries_of(document, "training"):
        fed = entry.get("ingestion")
        if isinstance(fed, dict) and isinstance(name := fed.get("sku"), str):
            yield from _unknown(f"{place(('training', i), document)}.ingestion.sku", name, "SKU", known.skus)
    policy = document.get("policy")
    for k, name in enumerate(list_in(policy, "techniques") if isinstance(policy, dict) else ()):
        if isinstance(name, str):
            yield from _unknown(f"policy.techniques[{k}]", name, "technique", known.techniques)
    reliability = document.get("reliability")
    fleet = reliability.get("failures") if isinstance(reliability, dict) else None
    if isinstance(fleet, str):
        yield from _unknown("reliability.failures", fleet, "fleet", known.fleets)
    if known.fact_units:
        yield from own_fact_problems(own_facts(document), known)


def own_facts(document: Mapping[str, Any]) -> dict[str, str]:
    """The values of one's own in the tables of a file, those that are written as a quantity."""
    facts = document.get("facts")
    held = facts if isinstance(facts, dict) else {}
    kinds = str | int | float
    rates = rates_in(document)
    return {
        key: usd_text(str(entry), rates)
        for key, entry in held.items()
        if isinstance(entry, kinds) and not isinstance(entry, bool) and quantity_like(str(entry))
    }


def own_fact_problems(facts: Mapping[str, str], known: Known) -> Iterator[Problem]:
    """Values of your own for facts that do not exist, of another unit, or that no such thing can have."""
    for key, text in facts.items():
        path = f"facts.{shown_key(key)}"
        if key not in known.fact_units:
            yield Problem(path, f"the catalogue has no such fact; {nearest_remedy(key, known.fact_units)}")
            continue
        if idle := known.ranges.without_effect(key):
            yield Problem(path, f"{idle}; remove it")
            continue
        try:
            value = parse_quantity(text, known.fact_units[key])
        except UnitError as error:
            yield Problem(path, str(error))
            continue
        allowed = known.ranges.of(key)
        if allowed is not None and not allowed.holds(value):
            yield Problem(path, f"{shown(text)} is out of range: write a value {allowed.words}")


def _unknown(path: str, name: str, kind: str, names: frozenset[str]) -> Iterator[Problem]:
    if name in names:
        return
    if kind == "model" and CARD.fullmatch(name):
        # A text may come from anywhere: it must not choose what is read on this machine.
        yield Problem(
            path,
            f"{shown(name)} is looked for in the folder of the scenario, and this text has no file: "
            "save it, and read the scenario from there",
        )
        return
    yield Problem(path, f"the catalogue has no {kind} {shown(name)}; {near_or_own(kind, name, names)}")
