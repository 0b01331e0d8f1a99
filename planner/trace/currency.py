"""The currency in which money is shown: the program counts in USD, and one stated rate converts.

Nothing is converted but where a number becomes text, a cell or a mark of a chart: `planner.trace.numbers`
asks here. Documents keep USD in what ends in `_usd`, and say once in which currency they are shown, and at
which rate.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from functools import wraps
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])
USD = "USD"
CODE = re.compile(r"[A-Z]{3}")
_OF_UNIT = re.compile(r"(?<![A-Za-z])[kMG]?([A-Z]{3})(?![A-Za-z0-9])")


@dataclass(frozen=True, slots=True)
class Currency:
    """A currency, what one of it is in USD, of which day, and who says so."""

    code: str = USD
    usd: float = 1.0
    date: str = ""
    source: str = ""


class Stated(float):
    """Money in USD that was written in another currency: what was written is kept next to it."""

    __slots__ = ("amount", "code")
    amount: float
    code: str

    def __new__(cls, usd: float, amount: float, code: str) -> Stated:
        """So many USD, written as this amount of that currency."""
        found = super().__new__(cls, usd)
        found.amount, found.code = amount, code
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return Stated, (float(self), self.amount, self.code)


_DOLLARS = Currency()
_SHOWN: ContextVar[Currency] = ContextVar("currency")


def shown() -> Currency:
    """The currency in which money is shown here."""
    return _SHOWN.get(_DOLLARS)


@contextmanager
def showing(currency: Currency | None) -> Iterator[None]:
    """Inside, money is shown in this currency; None changes nothing."""
    if currency is None:
        yield
        return
    before = _SHOWN.set(currency)
    try:
        yield
    finally:
        _SHOWN.reset(before)


def currency_of(document: object) -> Currency | None:
    """The currency that a document states; None where it states none, which is USD."""
    held = document.get("currency") if isinstance(document, Mapping) else None
    return Currency(**held) if isinstance(held, Mapping) else None


def currency_record(currency: Currency) -> dict[str, Any]:
    """What a document says of its currency; nothing for USD."""
    return {} if currency.code == USD else {"currency": asdict(currency)}


def in_its_currency(function: F) -> F:
    """A function whose first argument is a document shows money in the currency of that."""

    @wraps(function)
    def within(document: Any, *arguments: Any, **options: Any) -> Any:
        with showing(currency_of(document)):
            return function(document, *arguments, **options)

    return cast(F, within)


def shown_unit(unit: str) -> tuple[float, str]:
    """What a number in a unit is multiplied by to be shown, and the unit then: 'USD/kWh' is 'EUR/kWh'."""
    currency = shown()
    if currency.code == USD or USD not in unit:
        return 1.0, unit
    top, *below = unit.split("/")
    power = (USD in top) - sum(USD in part for part in below)
    return float(currency.usd**-power), unit.replace(USD, currency.code)


def shown_value(value: float, unit: str) -> float:
    """A number in a unit as it is shown."""
    factor, _ = shown_unit(unit)
    return value if factor == 1.0 else value * factor


def code_in(text: str) -> str:
    """The currency in which a quantity is written; empty for USD, and where there is none."""
    found = (match[1] for match in _OF_UNIT.finditer(text) if match[1] != USD)
    return next(found, "")
