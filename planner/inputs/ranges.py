"""What each family of facts may be at all: rows of `data/ranges.csv`, found by a fact's key.

A fact's own `low` and `high` say how sure its value is; the range of its family says which values make
sense. A power below zero, a PUE below one or a link domain of 10^12 chips is refused before anything
computes with it, whoever states it.

`use` says what counts with a family: `input` an answer about a plan, a job or hardware; `knowable` too,
of what a firm can look up at home (its rent, its contracts, its log); `check` the published cases of
`everfleet validate` and what `everfleet check` refuses alone; `reference` nothing: it is there for
readers to compare with. A value of one's own for the last two would change nothing, so it is refused.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from planner.trace.numbers import number_text
from planner.trace.units import UnitError, canonical

COLUMNS = ("pattern", "unit", "low", "high", "use", "note")

# What counts with a family of facts, in words for its readers.
USES = {
    "input": "answers count with it",
    "knowable": "answers count with it, and a firm can state its own",
    "check": "no answer counts with it: it is for the published cases of `everfleet validate`, or for what "
    "is refused",
    "reference": "nothing counts with it: it is shown for reference",
}


COUNTED = ("input", "knowable")


@dataclass(frozen=True, slots=True)
class Allowed:
    """Values that facts of one family may have; `low` and `high` in `unit`, the canonical one."""

    patterns: tuple[str, ...]
    low: float
    high: float
    unit: str
    words: str
    use: str

    def holds(self, value: float) -> bool:
        """Whether a value, in the canonical unit, lies inside."""
        return self.low <= value <= self.high


class Ranges:
    """The families, and the one that a key belongs to."""

    def __init__(self, families: Iterable[Allowed]) -> None:
        self.families = tuple(families)
        rooms: dict[str, list[tuple[str, Allowed]]] = {}
        for family in self.families:
            for pattern in family.patterns:
                rooms.setdefault(pattern.partition(".")[0], []).append((_expression(pattern), family))
        # One expression a room: a catalogue has thousands of keys, and each is looked up as it is loaded.
        self._rooms = {
            room: (re.compile("|".join(f"({text})" for text, _ in found)), [one for _, one in found])
            for room, found in rooms.items()
        }

    def of(self, key: str) -> Allowed | None:
        """The family of a key; `key@alternative` is of the family of `key`."""
        base = key.partition("@")[0]
        matcher, families = self._rooms.get(base.partition(".")[0], (None, []))
        found = matcher.fullmatch(base) if matcher is not None else None
        return None if found is None or found.lastindex is None else families[found.lastindex - 1]

    def use(self, key: str) -> str:
        """What counts with a fact; one that is in no family is a model of one's own, or measured."""
        family = self.of(key)
        return "input" if family is None else family.use

    def without_effect(self, key: str) -> str | None:
        """Why a value of one's own for this fact would change nothing; None where answers count with it."""
        use = self.use(key)
        return None if use in COUNTED else USES[use]

    def problem(self, key: str, values: Iterable[float | None], unit: str) -> str | None:
        """What is wrong with values of a fact, in its canonical unit; None where nothing is."""
        family = self.of(key)
        if family is None:
            return "no pattern of ranges.csv matches it: add its family there"
        if family.unit != unit:
            return f"its unit is {unit}, and ranges.csv gives its family in {family.unit}"
        outside = [value for value in values if value is not None and not family.holds(value)]
        return f"{outside[0]:g} {unit} is out of range: allowed is {family.words}" if outside else None


def read_ranges(path: Path) -> tuple[Ranges, list[str]]:
    """The families in a file, and what is wrong with the file."""
    families, problems = [], []
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            return Ranges(()), [f"{path.name}: the header must be {','.join(COLUMNS)}"]
        for row in reader:
            try:
                families.append(_family(row))
            except ValueError as error:
                problems.append(f"{path.name}:{reader.line_num}: {error}")
    return Ranges(families), problems


def _family(row: Mapping[str, str]) -> Allowed:
    patterns = tuple(row["pattern"].split())
    if not patterns:
        raise ValueError("the pattern is empty")
    low, high, unit = float(row["low"]), float(row["high"]), row["unit"]
    if not low < high:
        raise ValueError(f"{row['pattern']}: low {row['low']} is not below high {row['high']}")
    if row["use"] not in USES:
        raise ValueError(f"{row['pattern']}: use '{row['use']}' is none of {', '.join(USES)}")
    try:
        (inside_low, inside_unit), (inside_high, _) = canonical(low, unit), canonical(high, unit)
    except UnitError as error:
        raise ValueError(f"{row['pattern']}: {error}") from None
    shown = "" if unit in ("1", "count") else f" {unit.removeprefix('1')}"
    words = f"from {number_text(low, 10)} to {number_text(high, 10)}{shown}"
    return Allowed(patterns, inside_low, inside_high, inside_unit, words, row["use"])


def _expression(pattern: str) -> str:
    """A pattern as an expression without groups: `*` is any text, dots too, as names hold them."""
    return re.escape(pattern).replace(r"\*", ".+")
