"""Rules for days, words and lists; those for numbers are in `numbers`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from planner.scenario.numbers import Frame, Rule, quantity_like
from planner.scenario.problems import NAME, FieldError, shown, shown_key

# The path of a model's configuration: characters that reports, files and the command line can carry.
CARD = re.compile(r"[\w./][\w ./-]{0,240}\.json")


@dataclass(frozen=True, slots=True)
class Day(Rule):
    """A calendar day, as a TOML date."""

    first_of_month: bool = False

    def read(self, value: object, frame: Frame) -> date:
        """The day."""
        if isinstance(value, datetime):
            raise ValueError(f"{shown(value)} has a time of day: write the date only, {value.date()}")
        if not isinstance(value, date):
            remedy = "write it without quotes" if isinstance(value, str) else "write year-month-day"
            raise ValueError(f"{shown(value)} is not a date: {remedy}, for example {self.example}")
        if not 1990 <= value.year <= 2100:
            raise ValueError(f"{value} is out of range: write a date from 1990 to 2100")
        if self.first_of_month and value.day != 1:
            raise ValueError(f"{value} is inside a month: write its first day, {value.replace(day=1)}")
        return value

    def schema(self) -> dict[str, Any]:
        """A date."""
        return {"type": "string", "format": "date", "examples": [self.example]}


@dataclass(frozen=True, slots=True)
class Text(Rule):
    """One line of text; as a name only characters that reports, files and the command line can carry."""

    name: bool = True

    def read(self, value: object, frame: Frame) -> str:
        """The text."""
        if not isinstance(value, str):
            raise ValueError(f"{shown(value)} is not text: write it in quotes, for example {self.example}")
        if self.name and not NAME.fullmatch(value):
            raise ValueError(
                f"{shown(value)} is not a name: write 1 to 64 letters, digits, spaces, '.', '_' or '-', "
                "with a letter or digit first"
            )
        if not value.strip() or len(value) > 200 or not value.isprintable():
            raise ValueError(f"{shown(value)} is not one line of 1 to 200 printable characters")
        return value

    def schema(self) -> dict[str, Any]:
        """Text of bounded length."""
        limits = {"pattern": f"^{NAME.pattern}$"} if self.name else {"minLength": 1, "maxLength": 200}
        return {"type": "string", **limits, "examples": [self.example.strip('"')]}


@dataclass(frozen=True, slots=True)
class ModelName(Text):
    """A model of the catalogue, or the path of its `config.json` from the folder of the file."""

    def read(self, value: object, frame: Frame) -> str:
        """The name or the path."""
        if not isinstance(value, str) or not value.endswith(".json"):
            return Text.read(self, value, frame)
        if not CARD.fullmatch(value):
            raise ValueError(
                f"{shown(value)} is not a path: write up to 240 letters, digits, spaces, '.', '_', '-' or '/'"
            )
        return value

    def schema(self) -> dict[str, Any]:
        """A name or a path."""
        return Text.schema(self) | {"pattern": f"^(?:{NAME.pattern}|{CARD.pattern})$"}


@dataclass(frozen=True, slots=True)
class Choice(Rule):
    """One of a few words; `later` are words that are understood and not yet possible, with the reason."""

    words: tuple[str, ...]
    later: tuple[tuple[str, str], ...] = ()

    def read(self, value: object, frame: Frame) -> str:
        """The word."""
        if isinstance(value, str) and value in self.words:
            return value
        for word, reason in self.later:
            if value == word:
                raise ValueError(f"'{word}' {reason}")
        words = " or ".join(f'"{word}"' for word in self.words)
        raise ValueError(f"{shown(value)} is not possible here: write {words}")

    def schema(self) -> dict[str, Any]:
        """One of the words."""
        return {"enum": list(self.words)}


@dataclass(frozen=True, slots=True)
class Flag(Rule):
    """Yes or no."""

    def read(self, value: object, frame: Frame) -> bool:
        """The truth value."""
        if not isinstance(value, bool):
            raise ValueError(f"{shown(value)} is neither true nor false: write one of them, without quotes")
        return value

    def schema(self) -> dict[str, Any]:
        """A boolean."""
        return {"type": "boolean", "examples": [self.example == "true"]}


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

    def __init__(self, rule: Rule, most: int = 64) -> None:
        object.__setattr__(self, "example", f"[{rule.example}]")
        object.__setattr__(self, "rule", rule)
        object.__setattr__(self, "most", most)

    def read(self, value: object, frame: Frame) -> tuple[Any, ...]:
        """The entries, in the order written."""
        if not isinstance(value, list | tuple):
            raise ValueError(f"{shown(value)} is not a list: write for example {self.example}")
        if not 1 <= len(value) <= self.most:
            raise ValueError(f"the list has {_count(len(value), 'value')}: write 1 to {self.most}")
        entries = _each(self.rule, value, frame)
        for i, entry in enumerate(entries):
            if entry in entries[:i]:
                raise ValueError(f"{shown(entry)} stands in the list twice: keep one")
        return entries

    def write(self, value: Sequence[Any]) -> list[Any]:
        """The entries."""
        return [self.rule.write(entry) for entry in value]

    def schema(self) -> dict[str, Any]:
        """An array without repetition."""
        bounds = {"minItems": 1, "maxItems": self.most, "uniqueItems": True}
        return {"type": "array", "items": self.rule.schema(), **bounds}


@dataclass(frozen=True, slots=True)
class Overrides(Rule):
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
