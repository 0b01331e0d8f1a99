"""Facts of the catalogue as rows: all that match some words, areas, kinds and units."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from planner.inputs.catalogue import Catalogue
from planner.inputs.ranges import USES
from planner.trace.quantities import Fact
from planner.trace.records import Record


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a reader looks for; an empty choice takes everything."""

    words: str = ""
    areas: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    units: tuple[str, ...] = ()

    def takes(self, fact: Fact) -> bool:
        """Whether a fact is in all of the choices."""
        chosen = ((self.areas, area_of(fact.key)), (self.kinds, fact.kind), (self.units, fact.unit))
        return all(not allowed or value in allowed for allowed, value in chosen)


def area_of(key: str) -> str:
    """The first word of a key, which says what the fact is about."""
    return key.partition(".")[0]


def choices(catalogue: Catalogue) -> dict[str, tuple[str, ...]]:
    """Areas, kinds and units that facts have, in the order of their names."""
    facts = catalogue.facts.values()
    return {
        "areas": _sorted(area_of(fact.key) for fact in facts),
        "kinds": _sorted(fact.kind for fact in facts),
        "units": _sorted(fact.unit for fact in facts),
    }


def found_rows(catalogue: Catalogue, wanted: Wanted) -> list[Record]:
    """Rows of the facts that a reader looks for, in the order of their keys."""
    found = (fact for fact in catalogue.search(wanted.words) if wanted.takes(fact))
    return [fact_row(fact, catalogue) for fact in sorted(found, key=lambda fact: fact.key)]


def fact_row(fact: Fact, catalogue: Catalogue) -> Record:
    """A fact with all that is known of where it comes from, and what counts with it."""
    return {
        "key": fact.key,
        "value": fact.value,
        "unit": "" if fact.unit == "1" else fact.unit,
        "low": fact.low,
        "high": fact.high,
        "kind": fact.kind,
        "stated": fact.stated.removesuffix(" 1"),
        "source": ", ".join(part for part in (fact.source.authors, fact.source.title) if part),
        "year": fact.source.year,
        "locator": fact.locator,
        "licence": fact.source.licence,
        "link": _address(fact.source.link),
        "boundary": "; ".join(f"{family}: {tag}" for family, tag in fact.boundary.items()),
        "use": USES[catalogue.ranges.use(fact.key)],
        "note": fact.note,
    }


def _address(link: str) -> str:
    """Where a source is found; of a DOI or an arXiv number the address."""
    if link.startswith("10."):
        return f"https://doi.org/{link}"
    return f"https://arxiv.org/abs/{link}" if link.replace(".", "").isdigit() else link


def _sorted(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(values)))
