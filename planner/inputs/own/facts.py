"""What facts of one's own are, and what an answer says of them."""

from __future__ import annotations

from collections.abc import Iterable

from planner.inputs.catalogue import Catalogue, own_facts_said
from planner.trace.errors import InputError
from planner.trace.numbers import count_text

OWN = "own"  # the source of rows that name none
LARGEST_BYTES = 20_000_000
MOST_FILES = 1_000


class OwnDataError(InputError):
    """Facts of one's own cannot be used; the message names every fault with its file and line."""


def own_notes(used: Iterable[str], catalogue: Catalogue) -> list[str]:
    """How many facts of one's own an answer rests on, and which of ours they replace.

    `used` are the keys of the facts that it rests on, without those that its file states itself.
    """
    own = catalogue.own
    if own is None:
        return []
    held = {fact.key for fact in own.facts} & set(used)
    replaced = sorted(held & set(own.replaced))
    said = f"{own_facts_said(len(held), len(replaced))} ({own.name}, which has {count_text(len(own.facts))})"
    few = ", ".join(replaced[:5]) + (f" and {len(replaced) - 5} more" if len(replaced) > 5 else "")
    return [f"This answer rests on {said}" + (f": {few}" if few else "")]
