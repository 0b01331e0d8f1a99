"""What facts of one's own are, and what an answer says of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from planner.inputs.catalogue import (
    Catalogue,
    Region,
    Sku,
)
from planner.trace.errors import InputError
from planner.trace.numbers import count_text
from planner.trace.quantities import Fact, Source

OWN = "own"  # the source of rows that name none
LARGEST_BYTES = 20_000_000
MOST_FILES = 1_000


class OwnDataError(InputError):
    """Facts of one's own cannot be used; the message names every fault with its file and line."""


@dataclass(frozen=True)
class OwnFacts:
    """What a folder or file of one's own adds to the catalogue, or replaces in it.

    `name` is how it was named; `replaced` are keys that the catalogue has, too.
    """

    name: str
    facts: tuple[Fact, ...]
    sources: Mapping[str, Source]
    skus: Mapping[str, Sku]
    regions: Mapping[str, Region]
    replaced: tuple[str, ...]
    path: Path = field(compare=False, repr=False)

    files: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @property
    def said(self) -> str:
        """How many facts these are, and how many replace ours."""
        return f"{self.name}: {_said(len(self.facts), len(self.replaced))}"

    @property
    def digest(self) -> str:
        """SHA-256 of all that is stated, wherever it lies."""
        lines = [
            f"{f.key}={f.value!r}{f.unit}{f.low}{f.high}{f.kind}{f.source.name}{f.note}{dict(f.boundary)}"
            for f in self.facts
        ]
        lines += [repr(sku) for sku in self.skus.values()]
        lines += [repr(replace(region, folder=Path())) for region in self.regions.values()]
        return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def own_notes(used: Iterable[str], catalogue: Catalogue) -> list[str]:
    """How many facts of one's own an answer rests on, and which of ours they replace.

    `used` are the keys of the facts that it rests on, without those that its file states itself.
    """
    own = catalogue.own
    if own is None:
        return []
    held = {fact.key for fact in own.facts} & set(used)
    replaced = sorted(held & set(own.replaced))
    said = f"{_said(len(held), len(replaced))} ({own.name}, which has {count_text(len(own.facts))})"
    few = ", ".join(replaced[:5]) + (f" and {len(replaced) - 5} more" if len(replaced) > 5 else "")
    return [f"This answer rests on {said}" + (f": {few}" if few else "")]


def _said(count: int, replaced: int) -> str:
    facts = "1 fact" if count == 1 else f"{count_text(count)} facts"
    ours = f"{count_text(replaced)} replace{'s' * (replaced == 1)} ours" if replaced else "none replaces ours"
    return f"{facts} of your own, {ours}"
