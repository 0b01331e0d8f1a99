"""Exchange rates: what a file states, else those of the catalogue; money of any known currency in USD."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date
from functools import cache
from typing import Any, Protocol

from planner.inputs.catalogue import Catalogue
from planner.inputs.loading import load_catalogue
from planner.trace.currency import CODE, USD, Currency, code_in
from planner.trace.quantities import Fact, Source
from planner.trace.units import parse_quantity

ROOM = "exchange"
_NUMBER = re.compile(r"\s*([+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(.*)", re.ASCII | re.DOTALL)
EXAMPLE = '"1.08 USD"'


class States(Protocol):
    """What a file says of money."""

    @property
    def currency(self) -> str | None:
        """In which answers show money."""

    @property
    def exchange(self) -> Mapping[str, Any]:
        """Rates, and their day."""

    @property
    def facts(self) -> Mapping[str, str]:
        """Values of one's own for facts."""


@cache
def default_rates() -> dict[str, float]:
    """USD for one of each currency that the catalogue knows."""
    facts = load_catalogue().facts
    return {
        key.split(".")[1].upper(): fact.value
        for key, fact in facts.items()
        if key.startswith(f"{ROOM}.") and "@" not in key
    }


def rates_in(document: Mapping[str, Any]) -> dict[str, float]:
    """USD for one of each currency that a file may be written in; what is wrong in it is passed over."""
    found = dict(default_rates())
    own, facts = (document.get(key) for key in ("exchange", "facts"))
    stated = {rate_key(code): code for code in found}
    texts = {code: facts.get(key) for key, code in stated.items()} if isinstance(facts, Mapping) else {}
    texts |= dict(own) if isinstance(own, Mapping) else {}
    for code, text in texts.items():
        if isinstance(text, str) and CODE.fullmatch(str(code)) and code != USD:
            try:
                rate = parse_quantity(text, USD)
            except ValueError:
                continue
            if rate > 0:
                found[code] = rate
    return found


def rate_key(code: str) -> str:
    """Key of the fact that says what one of a currency is in USD."""
    return f"exchange.{code.lower()}.rate"


def unknown(code: str, rates: Iterable[str]) -> str:
    """That no rate of a currency is known, and what to write."""
    known = ", ".join((USD, *sorted(rates)))
    return (
        f"no rate of {code} is known: write the amount in one of {known}, or state it below [exchange] as "
        f"{code} = {EXAMPLE}, what one {code} is in USD"
    )


def usd_text(text: str, rates: Mapping[str, float]) -> str:
    """A quantity with its money in USD; what is in no known currency stays as it is."""
    code = code_in(text)
    if code not in rates:
        return text
    found = _NUMBER.fullmatch(text)
    if found is None:
        return text
    return f"{float(found[1]) * rates[code]!r} {found[2].replace(code, USD)}"


def rate_fact(states: States, catalogue: Catalogue, code: str, source: Source) -> Fact:
    """What one of a currency is in USD: as a file states it, else as the catalogue has it.

    It has no range here: one rate holds for the whole of an answer, and is no part of how sure that is.
    """
    key = rate_key(code)
    day = states.exchange.get("date")
    stated_day = f"of {day.isoformat()}" if isinstance(day, date) else "of no stated day"
    text = states.exchange.get(code) or states.facts.get(key)
    if text is None:
        return replace(catalogue.fact(key), unit=f"USD/{code}", low=None, high=None)
    return Fact(
        parse_quantity(text, USD),
        f"USD/{code}",
        key=f"scenario.{ROOM}.{code}",
        source=source,
        locator=f"[{ROOM}] {code}" if code in states.exchange else f"[facts] {key}",
        kind="yours",
        note=f"USD for 1 {code}, {stated_day}",
        stated=text,
    )


def shown_in(states: States, catalogue: Catalogue | None = None) -> Currency:
    """The currency in which the answers to a file are shown, with its one rate."""
    code = states.currency or USD
    if code == USD:
        return Currency()
    fact = rate_fact(states, catalogue or load_catalogue(), code, Source("scenario", "the scenario"))
    if fact.kind == "yours":
        return Currency(code, fact.value, fact.note.rpartition(", of ")[2], "as the file states it")
    found = re.search(r"(mean of \d{4}|\d{4}-\d\d-\d\d)", fact.note)
    return Currency(code, fact.value, found[0] if found else "", f"fact {fact.key}, {fact.kind}")
