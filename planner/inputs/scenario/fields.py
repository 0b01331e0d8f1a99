"""Rules of keys that hold one value: numbers with their units, days and words."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from planner.inputs.exchange import default_rates, unknown
from planner.inputs.scenario.problems import NAME, shown
from planner.trace.currency import CODE, USD, Stated, code_in
from planner.trace.units import UnitError, parse_quantity

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
    rates: Mapping[str, float] | None = None  # USD for one of each currency; None: those of the catalogue

    @property
    def known_rates(self) -> Mapping[str, float]:
        """USD for one of each currency in which money may be written."""
        return default_rates() if self.rates is None else self.rates


@dataclass(frozen=True, slots=True)
class Rule:
    """What may be in one field; `example` is a good value, as TOML."""

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
    """Limits of a number; an open range leaves out `least` itself, `or_none` takes 0 in next to it."""

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
        number = (
            _money(value, self, frame) if USD in self.unit else quantity_in(value, self.unit, self.example)
        )
        self.range.check(number, value, self.unit)
        return number

    def write(self, value: float) -> str:
        """The number with its unit, exactly; money in the currency in which it was written."""
        if isinstance(value, Stated):
            return f"{value.amount!r} {self.unit.replace(USD, value.code)}"
        return f"{value!r} {self.unit.removeprefix('1')}"

    def schema(self) -> dict[str, Any]:
        """Text: a number, then a unit."""
        comment = f"a number with a unit that converts to {self.unit}, {self.range.words(self.unit)}"
        pattern = r"^\s*[+-]?(\d|\.\d)[\d_]*.*[A-Za-z].*$"
        text = {"type": "string", "pattern": pattern, "examples": [self.example.strip('"')]}
        return {**text, "$comment": comment}


_MANY = {"": 1.0, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_BY_AMOUNT = re.compile(
    r"(?P<money>[^/]+)/\s*(?P<count>\d[\d_]*\.?\d*(?:[eE]\+?\d+)?)?\s*"
    r"(?P<many>thousand|million|billion|trillion)?\s*(?P<what>[a-z]*)\s*",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class PricePerMillion(Rule):
    """Money for an amount of tokens or samples, as text; read as USD for a million of them."""

    range: Range

    def read(self, value: object, frame: Frame) -> float:
        """USD for a million; money in another currency is converted, and kept next to it."""
        found = (
            _BY_AMOUNT.fullmatch(value) if isinstance(value, str) and len(value) <= _MAX_QUANTITY else None
        )
        if found is None or (found["what"] and found["what"] not in ("tokens", "samples")):
            raise ValueError(
                f"{shown(value)} is not a price for an amount of data: write for example {self.example}"
            )
        count = float(found["count"] or 1.0) * _MANY[found["many"] or ""]
        if not count:
            raise ValueError(f"{shown(value)} is a price for nothing: write for example {self.example}")
        money = Quantity(self.example.partition(" /")[0] + '"', USD, Range(0, 1e18)).read(
            found["money"], frame
        )
        scale = 1e6 / count
        number = money * scale
        self.range.check(number, value, "USD for a million")
        return Stated(number, money.amount * scale, money.code) if isinstance(money, Stated) else number

    def write(self, value: float) -> str:
        """The price of a million, exactly; in the currency in which it was written."""
        amount, code = (value.amount, value.code) if isinstance(value, Stated) else (value, USD)
        return f"{amount!r} {code} / 1e6"

    def schema(self) -> dict[str, Any]:
        """Text: money, then a slash and an amount."""
        comment = f"money for an amount of tokens or samples, {self.range.words('USD for a million')}"
        return {
            "type": "string",
            "pattern": r"^[^/]+/\s*[\d a-z_.+E]*$",
            "examples": [self.example.strip('"')],
            "$comment": comment,
        }


@dataclass(frozen=True, slots=True)
class Fraction(Rule):
    """A share of one, as a number or as text in percent."""

    range: Range

    def read(self, value: object, frame: Frame) -> float:
        """The share, as a number from 0 to 1."""
        if isinstance(value, str):
            try:
                number = quantity_in(value, "1", self.example)
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
    """Whether a text may be passed on as a quantity: short, a number first, no tower of powers."""
    return len(text) <= _MAX_QUANTITY and _QUANTITY.fullmatch(text) is not None


def quantity_in(value: object, unit: str, example: str) -> float:
    """A number with its unit, in `unit`; what cannot be one is refused, with the example."""
    refused = f"{shown(value)} is not a number with a unit: write for example {example}"
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(refused)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{shown(value)} is not a finite number: write for example {example}")
    # A bare number goes through as text, for the message that asks for its unit.
    if not quantity_like(str(value)):
        raise ValueError(refused)
    try:
        return parse_quantity(str(value), unit, example.strip('"'))
    except UnitError:
        raise
    except (ValueError, ArithmeticError):
        raise ValueError(refused) from None


def _money(value: object, rule: Quantity, frame: Frame) -> float:
    """Money in USD; what is written in another currency is converted, and kept next to it."""
    code = code_in(value) if isinstance(value, str) and quantity_like(value) else ""
    if not code or not isinstance(value, str):
        return quantity_in(value, rule.unit, rule.example)
    if code not in frame.known_rates:
        raise ValueError(f"{shown(value)}: {unknown(code, frame.known_rates)}")
    amount = quantity_in(value.replace(code, USD), rule.unit, rule.example)
    return Stated(amount * frame.known_rates[code], amount, code)


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


@dataclass(frozen=True, slots=True)
class CurrencyCode(Rule):
    """A currency of which a rate is known."""

    def read(self, value: object, frame: Frame) -> str:
        """Its three letters."""
        if not isinstance(value, str) or not CODE.fullmatch(value):
            raise ValueError(
                f"{shown(value)} is no currency: write its three letters, for example {self.example}"
            )
        if value != USD and value not in frame.known_rates:
            raise ValueError(unknown(value, frame.known_rates))
        return value

    def schema(self) -> dict[str, Any]:
        """Three letters."""
        return {"type": "string", "pattern": f"^{CODE.pattern}$", "examples": [self.example.strip('"')]}
