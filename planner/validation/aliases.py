"""Names as files spell them, and the numbers that adapters take from the catalogue."""

from __future__ import annotations

import re
from collections.abc import Mapping

from planner.inputs.aliases import alias_of, aliases, name_called
from planner.inputs.loading import load_catalogue
from planner.trace.units import convert_factor, unit_of

ANOTHER_PART = re.compile(r"\b(\d+ ?k?w|mig|nvl4|maxq)\b", re.IGNORECASE)

__all__ = ["alias_of", "aliases", "catalogue_name", "constant", "constants"]


def catalogue_name(table: str, name: str) -> str:
    """The catalogue's name of a thing: an alias, a name that the catalogue has, or one spelled otherwise.

    Raises:
        ValueError: none of them.
    """
    known, catalogue = aliases(table), load_catalogue()
    if name in known:
        return str(known[name])
    folded = {alias.casefold(): str(target) for alias, target in known.items()}
    if name.casefold() in folded:
        return folded[name.casefold()]
    if name in catalogue.names(table):
        return name
    # A stated power or slice is another part than the one whose name stands in front of it.
    other = table == "accelerator" and ANOTHER_PART.search(name)
    called = None if other else name_called(table, name, catalogue)
    if called is not None and not (table == "accelerator" and _is_another_form(name, called)):
        return called
    raise ValueError(f"no {table} '{name}' in the catalogue: add an alias to data/aliases.toml")


def _is_another_form(name: str, called: str) -> bool:
    """Whether a name says that it is a card and the accelerator found is none: A100 PCIe is no A100 SXM."""
    is_card = "pcie" in called or called in aliases("generation")["PCIe cards"]
    return "pcie" in name.casefold() and not is_card


def constant(key: str, parameter: str, *, unit: str = "") -> float:
    """A catalogue fact in the unit that the name of a parameter says, or in a stated one."""
    fact = load_catalogue().fact(key)
    return float(fact.value) * convert_factor(fact.unit, unit or unit_of(parameter))


def constants(room: str, names: Mapping[str, str]) -> dict[str, float]:
    """Arguments of a leaf from facts of one room: parameter -> last word of the key."""
    return {parameter: constant(f"{room}.{name}", parameter) for parameter, name in names.items()}
