"""Rules for numbers: quantities with their unit, shares, plain numbers and counts.

A rule reads what TOML gave, writes it back in its canonical unit and describes itself to an editor, so that
reading, writing and the JSON Schema cannot drift apart.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from planner.scenario.problems import shown
from planner.units import UnitError, parse_quantity

_MAX_QUANTITY = 48  # characters; the longest sensible one has about half of that
# Number, then a unit that begins with a letter: '1,5 MW', '2 500 kW' and '1.1.1 kW' would else be read as
# products. A power only as in `cm^2`: a tower such as `9^9^9` would be worked out before it is refused.
_NUMBER = r"\s*[+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_UNIT = r"(?:1? ?/ ?)?\(?(?:1000 )?[A-Za-zµ%](?:[A-Za-z0-9µ%/()-]|\^[2-9](?![\d^])|[ *](?!\d))*"
_QUANTITY = re.compile(rf"{_NUMBER}\s*(?:{_UNIT})?\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Frame:
    """What a field must know of the rest of the file."""

    periods: int | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """What may stand in one field; `example` is a good value, as TOML."""

    example: str

    def read(self, value: object, frame: Frame) -> Any:
        """The value that the program uses, or a ValueError with a remedy."""
        raise NotImplementedError

    def write(self, value: Any) -> Any:
        """What a file holds for this value."""
        return value

    def schema(self) -> dict[str, Any]:
        """JSON Schema of the field."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Range:
    """Limits of a number; an open range leaves out `least` itself, `or_none` takes 0 in beside it."""

    least: float
    most: float
    open: bool = False
    or_none: bool = False

    def check(self, number: float, value: object, unit: str = "", hint: str = "") -> None:
        """Refuse a number outside, quoting what was written."""
        outside = not self.least <= number <= self.most or (self.open and number == self.least)
        if outside and not (self.or_none and number == 0):
            raise ValueError(f"{shown(value)} is out of range: write a value {self.words(unit)}{hint}")

    def words(self, unit: str = "") -> str:
        """The limits in words, such as `from 1 to 5 kW`."""
        low, high = f"{self.least:,.10g}", f"{self.most:,.10g} {unit.removeprefix('1')}".strip()
        if self.open:
            return f"above {low} and up to {high}"
        return f"0, or from {low} to {high}" if self.or_none else f"from {low} to {high}"

    def schema(self) -> dict[str, Any]:
        """The limits as JSON Schema."""
        least = 0.0 if self.or_none else self.least
        return {"exclusiveMinimum" if self.open else "minimum": least, "maximum": self.most}


@dataclass(frozen=True, slots=True)
class Quantity(Rule):
    """A number with its unit, as text."""

    unit: str
    range: Range

    def read(self, value: object, frame: Frame) -> float:
        """The number in `unit`."""
        number = _parsed(value, self.unit, self.example)
        self.range.check(number, value, self.unit)
        return number

    def write(self, value: float) -> str:
        """The number with its unit, exactly."""
        return f"{value!r} {self.unit.removeprefix('1')}"

    def schema(self) -> dict[str, Any]:
        """Text: a number, then a unit."""
        comment = f"a number with a unit that converts to {self.unit}, {self.range.words(self.unit)}"
        pattern = r"^\s*[+-]?(\d|\.\d)[\d_]*.*[A-Za-z].*$"
        text = {"type": "string", "pattern": pattern, "examples": [self.example.strip('"')]}
        return {**text, "$comment": comment}


@dataclass(frozen=True, slots=True)
class Fraction(Rule):
    """A share of one, as a number or as text in percent."""

    range: Range

    def read(self, value: object, frame: Frame) -> float:
        """The share, as a number from 0 to 1."""
        if isinstance(value, str):
            try:
                number = _parsed(value, "1", self.example)
            except ValueError:
                remedy = f"write for example {self.example} or '{float(self.example) * 100:g} %'"
                raise ValueError(f"{shown(value)} is not a share: {remedy}") from None
        else:
            number = _plain(value, self.example)
        hint = f"; a share is written {number / 100:g} or '{number:g} %'" if 1 < number <= 100 else ""
        self.range.check(number, value, hint=hint)
        return number

    def schema(self) -> dict[str, Any]:
        """A number, or text in percent."""
        number = {"type": "number", **self.range.schema()}
        text = {"type": "string", "pattern": r"^\s*\d[\d_.]*([eE][+-]?\d+)?\s*%?\s*$"}
        return {"anyOf": [number, text], "examples": [float(self.example)]}


@dataclass(frozen=True, slots=True)
class Number(Rule):
    """A plain number: a ratio, or a count too large to be written digit by digit."""

    range: Range

    def read(self, value: object, frame: Frame) -> float:
        """The number, as a float."""
        number = _plain(value, self.example)
        self.range.check(number, value)
        return number

    def schema(self) -> dict[str, Any]:
        """A number in its range."""
        return {"type": "number", **self.range.schema(), "examples": [float(self.example)]}


@dataclass(frozen=True, slots=True)
class Count(Rule):
    """A whole number of things."""

    range: Range

    def read(self, value: object, frame: Frame) -> int:
        """The count."""
        if isinstance(value, bool) or not isinstance(value, int):
            remedy = "write it without quotes" if isinstance(value, str) else "write digits only"
            raise ValueError(f"{shown(value)} is not a whole number: {remedy}, for example {self.example}")
        self.range.check(value, value)
        return value

    def schema(self) -> dict[str, Any]:
        """An integer in its range."""
        return {"type": "integer", **self.range.schema(), "examples": [int(self.example)]}


def quantity_like(text: str) -> bool:
    """Whether a text may be handed on as a quantity: short, a number first, no tower of powers."""
    return len(text) <= _MAX_QUANTITY and _QUANTITY.fullmatch(text) is not None


def _parsed(value: object, unit: str, example: str) -> float:
    refused = f"{shown(value)} is not a number with a unit: write for example {example}"
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(refused)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{shown(value)} is not a finite number: write for example {example}")
    # A bare number goes through as text, for the message that asks for its unit.
    if not quantity_like(str(value)):
        raise ValueError(refused)
    try:
        return parse_quantity(str(value), unit)
    except UnitError:
        raise
    except (ValueError, ArithmeticError):
        raise ValueError(refused) from None


def _plain(value: object, example: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        remedy = "write it without quotes" if isinstance(value, str) else "write a number"
        raise ValueError(f"{shown(value)} is not a plain number: {remedy}, for example {example}")
    try:
        number = float(value)
    except OverflowError:  # TOML integers have no bound here
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{shown(value)} is not a finite number: write for example {example}")
    return number
