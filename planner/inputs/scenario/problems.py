"""What is wrong with a scenario, where, and what to do instead."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from planner.trace.errors import InputError, shortened

MAX_PROBLEMS = 100
NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 ._-]{0,62}[A-Za-z0-9._-])?")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: its place in the file, and a message with a remedy."""

    path: str
    message: str


class ScenarioError(InputError):
    """A scenario cannot be used; `problems` holds everything that is wrong with it."""

    def __init__(self, name: str, problems: Iterable[Problem], more: int = 0) -> None:
        found = tuple(problems)
        more += max(0, len(found) - MAX_PROBLEMS)
        self._more = more
        if more:
            found = (*found[:MAX_PROBLEMS], Problem("", f"and {more:,} more problem{'s' * (more > 1)}"))
        self.name = name
        self.problems = found
        super().__init__(name, found)

    def __str__(self) -> str:
        named = self.problems[:-1] if self._more else self.problems
        lines = [": ".join(filter(None, (self.name, p.path, p.message))) for p in named]
        return shortened("\n".join(lines), self._more)


class FieldError(ValueError):
    """What is wrong inside one field: pairs of a place in the field and a message."""

    def __init__(self, parts: Iterable[tuple[str, str]]) -> None:
        self.parts = tuple(parts)
        super().__init__("; ".join(message for _, message in self.parts))


def shown(value: object) -> str:
    """A value as a message quotes it: on one line, cut where it is long."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, str):
        text = f"'{value}'" if value.isprintable() else repr(value)
        return text if len(text) <= 42 else f"{text[:38]}…'"
    text = value.isoformat() if isinstance(value, date) else str(value)
    return text if len(text) <= 40 else f"{text[:37]}…"


def rank_without_adapters(entry: Mapping[str, Any], at: str) -> Iterator[Problem]:
    """A rank is of adapters: work that trains all weights has none."""
    if "adapter_rank" in entry and entry.get("method") != "lora":
        yield Problem(f"{at}.adapter_rank", 'has no effect without method = "lora": write that, or remove it')


def nearest_remedy(name: str, known: Collection[str]) -> str:
    """A remedy for an unknown name: the nearest known ones, else what there is."""
    found = difflib.get_close_matches(name[:64], known, n=3, cutoff=0.6)
    if found:
        return "did you mean " + " or ".join(f"'{match}'" for match in found) + "?"
    few = sorted(known)[:12]
    more = f" and {len(known) - len(few)} more" if len(known) > len(few) else ""
    return "there is " + ", ".join(few) + more if few else "there is none"


_ADDED_AS = {"SKU": "gpu", "model": "model", "grid region": "region"}


def near_or_own(kind: str, name: str, known: Collection[str]) -> str:
    """The same of what a person may add: `everfleet add` writes one of their own."""
    added = _ADDED_AS.get(kind)
    said = nearest_remedy(name, known)
    if not added:
        return said
    own = f"`everfleet add {added}` writes one of your own"
    if kind == "grid region":
        own += ", or state grid_intensity in place of grid"
    return f"{said}{'' if said.endswith('?') else '.'} {own}"


def label(entry: object, section: str, entries: Sequence[object]) -> str:
    """What a path calls an entry of a list: its name, on the market its SKU; empty where that is no help."""
    if section == "fleet" or not isinstance(entry, Mapping):
        return ""
    key = "sku" if section == "market" else "name"
    name = entry.get(key)
    if not isinstance(name, str) or not NAME.fullmatch(name):
        return ""
    alone = sum(isinstance(other, Mapping) and other.get(key) == name for other in entries) == 1
    return name if alone else ""


def place(loc: Sequence[str | int], document: Mapping[str, Any]) -> str:
    """A path as a person reads it: `sites.dallas.power_cap`, `fleet[0].sku`."""
    words = ""
    for i, step in enumerate(loc):
        if isinstance(step, str):
            words += ("." if words else "") + shown_key(step)
            continue
        entries = document.get(str(loc[0]), ()) if i == 1 else ()  # none where its key is misspelt
        name = label(entries[step], str(loc[0]), entries) if entries else ""
        words += f".{name}" if name else f"[{step}]"
    return words


def shown_key(key: str) -> str:
    """A key as a path shows it: one that is long, empty or unprintable is cut and quoted."""
    return key if key.isprintable() and 0 < len(key) <= 64 else shown(key)
