"""Rules of keys that hold several values: lists, one of each period, and tables."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner.inputs.scenario.fields import Day, Frame, Quantity, Range, Rule, quantity_in, quantity_like
from planner.inputs.scenario.problems import FieldError, shown, shown_key
from planner.trace.currency import CODE, USD, code_in


@dataclass(frozen=True, slots=True, init=False)
class EachPeriod(Rule):
    """One value for the whole horizon, or a list with one for each period."""

    rule: Rule

    def __init__(self, rule: Rule) -> None:
        object.__setattr__(self, "example", rule.example)
        object.__setattr__(self, "rule", rule)

    def read(self, value: object, frame: Frame) -> tuple[Any, ...]:
        """One value for each period."""
        if not isinstance(value, list | tuple):
            return (self.rule.read(value, frame),) * (frame.periods or 1)
        if frame.periods is not None and len(value) != frame.periods:
            raise ValueError(
                f"the list has {_count(len(value), 'value')} and the horizon has "
                f"{_count(frame.periods, 'period')}: write one value, or one for each period"
            )
        return _each(self.rule, value, frame)

    def write(self, value: Sequence[Any]) -> Any:
        """One value where all are the same, else the list."""
        same = all(entry == value[0] for entry in value)
        return self.rule.write(value[0]) if same else [self.rule.write(entry) for entry in value]

    def schema(self) -> dict[str, Any]:
        """One value or a list."""
        one = self.rule.schema()
        return {"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]}


@dataclass(frozen=True, slots=True, init=False)
class Several(Rule):
    """A list without repetition."""

    rule: Rule
    most: int
    least: int

    def __init__(self, rule: Rule, most: int = 64, least: int = 1, example: str = "") -> None:
        object.__setattr__(self, "example", example or f"[{rule.example}]")
        object.__setattr__(self, "rule", rule)
        object.__setattr__(self, "most", most)
        object.__setattr__(self, "least", least)

    def read(self, value: object, frame: Frame) -> tuple[Any, ...]:
        """The entries, in the order written."""
        if not isinstance(value, list | tuple):
            raise ValueError(f"{shown(value)} is not a list: write for example {self.example}")
        if not self.least <= len(value) <= self.most:
            raise ValueError(f"the list has {_count(len(value), 'value')}: write {self.least} to {self.most}")
        entries = _each(self.rule, value, frame)
        for i, entry in enumerate(entries):
            if entry in entries[:i]:
                raise ValueError(f"{shown(entry)} is in the list twice: keep one")
        return entries

    def write(self, value: Sequence[Any]) -> list[Any]:
        """The entries."""
        return [self.rule.write(entry) for entry in value]

    def schema(self) -> dict[str, Any]:
        """An array without repetition."""
        bounds = {"minItems": self.least, "maxItems": self.most, "uniqueItems": True}
        return {"type": "array", "items": self.rule.schema(), **bounds}


@dataclass(frozen=True, slots=True)
class Table(Rule):
    """A table whose keys are the writer's own."""


@dataclass(frozen=True, slots=True)
class Overrides(Table):
    """Your own values for facts of the catalogue: fact key -> number with unit."""

    def read(self, value: object, frame: Frame) -> dict[str, str]:
        """The texts; they are converted where the units of the facts are known."""
        if not isinstance(value, dict):
            raise ValueError(f"{shown(value)} is not a table: write [facts] and below it {self.example}")
        wrong = [(f".{shown_key(key)}", said) for key, entry in value.items() if (said := self._wrong(entry))]
        if wrong:
            raise FieldError(wrong)
        return {key: str(entry) for key, entry in value.items()}

    def write(self, value: Mapping[str, str]) -> dict[str, str]:
        """A copy: the scenario stays as it is."""
        return dict(value)

    def _wrong(self, entry: object) -> str:
        if isinstance(entry, dict):
            return f"is a table: write the whole key in quotes, for example {self.example}"
        bare = isinstance(entry, bool) or not isinstance(entry, str | int | float)
        if bare or not quantity_like(str(entry)):
            return f"{shown(entry)} is not a number with a unit: write for example {self.example}"
        return ""

    def schema(self) -> dict[str, Any]:
        """A table of texts and numbers."""
        return {"type": "object", "additionalProperties": {"type": ["string", "number"]}}


@dataclass(frozen=True, slots=True)
class Times(Table):
    """Times by name, such as those to sites: name -> number with unit."""

    most_s: float

    def read(self, value: object, frame: Frame) -> dict[str, float]:
        """Seconds by name."""
        if not isinstance(value, dict) or not value:
            raise ValueError(f"{shown(value)} is not a table of times: write for example {self.example}")
        time, wrong, read = Quantity('"40 ms"', "s", Range(0, self.most_s)), [], {}
        for name, entry in value.items():
            try:
                read[name] = time.read(entry, frame)
            except ValueError as error:
                wrong.append((f".{shown_key(name)}", str(error)))
        if wrong:
            raise FieldError(wrong)
        return read

    def write(self, value: Mapping[str, float]) -> dict[str, str]:
        """Each number with its unit."""
        return {name: f"{seconds!r} s" for name, seconds in value.items()}

    def schema(self) -> dict[str, Any]:
        """A table of texts."""
        examples = [tomllib.loads(f"of = {self.example}")["of"]]
        texts = {"type": "object", "additionalProperties": {"type": "string"}, "minProperties": 1}
        return {**texts, "examples": examples}


_RATE = Range(1e-7, 1e4)


@dataclass(frozen=True, slots=True)
class Exchange(Table):
    """What one of a currency is in USD, by its three letters; and `date`, the day of these rates."""

    def read(self, value: object, frame: Frame) -> dict[str, Any]:
        """The texts as they are written, and the day."""
        if not isinstance(value, dict):
            raise ValueError(f"{shown(value)} is not a table: write [exchange] and below it {self.example}")
        wrong = [
            (f".{shown_key(key)}", said) for key, one in value.items() if (said := self._wrong(key, one))
        ]
        if wrong:
            raise FieldError(wrong)
        return dict(value)

    def write(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """A copy: the scenario stays as it is."""
        return dict(value)

    def _wrong(self, key: str, entry: object) -> str:
        try:
            if key == "date":
                Day("2026-11-20").read(entry, Frame())
            elif not CODE.fullmatch(key) or key == USD:
                return f"is no other currency: write its three letters, for example {self.example}"
            elif isinstance(entry, str) and code_in(entry):
                return f"{shown(entry)} is not in USD: write what one {key} is in USD, as {self.example}"
            else:
                _RATE.check(quantity_in(entry, USD, self.example.partition(" = ")[2]), entry, USD)
        except ValueError as error:
            return str(error)
        return ""

    def schema(self) -> dict[str, Any]:
        """A table of texts, and a day."""
        day = {"type": "string", "format": "date", "description": "The day of the rates"}
        return {
            "type": "object",
            "properties": {"date": day},
            "additionalProperties": {"type": "string"},
        }


def _each(rule: Rule, values: Sequence[object], frame: Frame) -> tuple[Any, ...]:
    read, wrong = [], []
    for i, value in enumerate(values):
        try:
            read.append(rule.read(value, frame))
        except ValueError as error:
            wrong.append((f"[{i}]", str(error)))
    if wrong:
        raise FieldError(wrong)
    return tuple(read)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'s' * (number != 1)}"
