"""One cell of a table as the scenario has it: numbers, days, lists and times; quantities stay text."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

from planner.inputs.scenario.base import rule_of
from planner.inputs.scenario.fields import Count, Day, Fraction, Number, Quantity, Rule
from planner.inputs.scenario.fields_nested import EachPeriod, Several, Times
from planner.inputs.scenario.parts import keys_of
from planner.inputs.sheets.commas import without_thousands
from planner.inputs.sheets.kinds import FED, part_of

COUNTED = ("users", "requests_per_day", "people", "accelerators")  # what a rate or hours are worked out from
LARGE = {"k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}  # how people end large counts
_DIGITS = 12  # of a share, so that 47.7 % is 0.477
_WRITTEN_OUT = 1e9  # whole numbers below are written with all their digits


def value_in(table: str, key: str, text: str) -> Any:
    """The value of a cell; quantities stay text with their unit.

    Raises:
        ValueError: it is none of its column, and what would be.
    """
    if key == FED:
        return _yes_or_no(key, text)
    rule = _rule(table, key)
    inner = rule.rule if isinstance(rule, EachPeriod | Several) else rule
    if isinstance(rule, Times):
        return _times(key, text)
    if isinstance(inner, Day):
        return _day(key, text)
    if isinstance(rule, Several) and isinstance(inner, Count):
        if re.search(r"[,;/ ]\s*\d", text):
            return [int(part) for part in re.findall(r"\d+", text)]
        return [_number(key, text, inner.example, whole=True)]
    if isinstance(rule, Several):
        return [part.strip() for part in re.split(r"[,;]", text) if part.strip()]
    if key in COUNTED and table in ("services", "pools"):
        return _number(key, text, "50k", whole=False)
    if isinstance(inner, Count | Number | Fraction):
        return _number(key, text, inner.example, whole=isinstance(inner, Count))
    return f"{text}/year" if key == "growth" and text.endswith("%") else text


def holds_a_number(table: str, key: str) -> bool:
    """Whether a cell of a column is one number, with its unit or without."""
    rule = _rule(table, key)
    inner = rule.rule if isinstance(rule, EachPeriod) else rule
    return isinstance(inner, Count | Number | Fraction | Quantity) or key in COUNTED


def _rule(table: str, key: str) -> Rule | None:
    """What may be in a key of the schema; none of a column that only sheets have."""
    part, name = part_of(table, key)
    attribute = keys_of(part).get(name)
    return None if attribute is None else rule_of(part, attribute)


def _number(key: str, text: str, example: str, *, whole: bool) -> float | int:
    scale = LARGE.get(text[-1:].casefold(), 1.0)
    percent = text.endswith("%")
    try:
        number = float(without_thousands(text[:-1] if percent or scale > 1.0 else text)) * scale
    except ValueError:
        raise ValueError(f"{key}: '{text[:40]}' is no number: write for example {example}") from None
    number = round(number / 100.0, _DIGITS) if percent else number
    return int(number) if number.is_integer() and (whole or abs(number) < _WRITTEN_OUT) else number


def _day(key: str, text: str) -> date:
    """A day as ISO 8601 has it; a year or a month is its first day."""
    for filled in (text[:10], f"{text}-01", f"{text}-01-01"):
        try:
            return date.fromisoformat(filled)
        except ValueError:
            continue
    raise ValueError(f"{key}: '{text[:40]}' is no day: write it as 2024-03-01")


def _times(key: str, text: str) -> dict[str, str]:
    """Times by name, as `frankfurt 20 ms; dallas 110 ms`; a bare number is in milliseconds."""
    found = {}
    for part in filter(None, (each.strip() for each in re.split(r"[,;]", text))):
        stated = re.fullmatch(r"(.+?)\s*[:= ]\s*(\d+(?:\.\d+)?)\s*([a-z]*)", part)
        if stated is None:
            raise ValueError(
                f"{key}: '{part[:40]}' is no site with a time: write for example frankfurt 20 ms"
            )
        found[stated[1]] = f"{stated[2]} {stated[3] or 'ms'}"
    return found


def _yes_or_no(key: str, text: str) -> bool:
    if text.casefold() in ("yes", "true", "1", "x"):
        return True
    if text.casefold() in ("no", "false", "0"):
        return False
    raise ValueError(f"{key}: '{text[:40]}' is neither yes nor no")
