"""Facts by words: each with its value, range, kind, source, and what it is used for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner.inputs.loading import load_catalogue
from planner.report.shape import SCHEMA
from planner.store.packing import versions_here
from planner.trace.numbers import exact_text
from planner.trace.quantities import Fact
from planner.trace.records import Record, fact_record


def facts_holding(words: Iterable[str]) -> tuple[Fact, ...]:
    """Facts whose key, note or source holds every word; all of them where there are no words."""
    return load_catalogue().search(" ".join(words))


def fact_records(facts: Sequence[Fact]) -> list[Record]:
    """Facts as plain data."""
    ranges = load_catalogue().ranges
    return [{**fact_record(fact), "use": ranges.use(fact.key)} for fact in facts]


def facts_document(facts: Sequence[Fact]) -> Record:
    """Facts in the one shape of answers, for formats that describe a set of data."""
    return {
        "kind": "facts",
        "schema": SCHEMA,
        "title": f"{len(facts)} facts of everfleet, each with value, range, kind and source",
        "everfleet": versions_here()["everfleet"],
        "catalogue": load_catalogue().digest,
        "tables": {"facts": [fact_record(fact) for fact in facts]},
    }


def fact_line(fact: Fact) -> str:
    """A fact in one line."""
    spread = f" [{exact_text(fact.low)} .. {exact_text(fact.high)}]" if fact.low is not None else ""
    unit = "" if fact.unit == "1" else f" {fact.unit}"
    where = ", ".join(part for part in (fact.source.name, fact.locator) if part)
    idle = f"; {said}" if (said := load_catalogue().ranges.without_effect(fact.key)) else ""
    value = exact_text(float(fact.value))
    return f"{fact.key} = {value}{unit}{spread}  ({fact.kind}; {where}{idle})"
