"""What a person types into one field, as a value of the file, and back."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from datetime import date
from typing import Any

from planner.scenario.numbers import Count, Fraction, Number, Rule
from planner.scenario.rules import Day, EachPeriod, Flag, Several


def typed_value(rule: Rule, text: str) -> Any:
    """The value that a text means under a rule, None for an empty one; what fits no rule stays the text.

    Nothing is refused here: the scenario is checked whole, and its messages quote what was typed.
    """
    text = text.strip()
    if not text:
        return None
    if isinstance(rule, Several):
        return _entries(rule.rule, text, ",")
    if isinstance(rule, EachPeriod):
        # A comma alone may be a decimal one, which has to be refused and not be taken for two values.
        return _entries(rule.rule, text, ", ") if text.startswith("[") or ", " in text else _one(rule, text)
    return _one(rule, text)


def typed_cell(rule: Rule, value: Any) -> Any:
    """The value that a cell of a table means: typed text, a number, a day or a truth value."""
    if value is None:
        return None
    if isinstance(value, float) and isinstance(_inner(rule), Count) and value.is_integer():
        return int(value)
    if isinstance(value, str):
        return typed_value(rule, value)
    return value


def shown_value(value: Any) -> str:
    """A value of a file as a person would type it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ", ".join(map(shown_value, value))
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {shown_value(entry)}" for key, entry in value.items())
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value else repr(value)
    return value.isoformat() if isinstance(value, date) else str(value)


def _inner(rule: Rule) -> Rule:
    return rule.rule if isinstance(rule, EachPeriod | Several) else rule


def _entries(rule: Rule, text: str, separator: str) -> Any:
    if text.startswith("["):
        return _toml(text)
    return [_one(rule, entry.strip()) for entry in text.split(separator) if entry.strip()]


def _one(rule: Rule, text: str) -> Any:
    read = _toml(text) if isinstance(_inner(rule), Count | Number | Fraction | Day | Flag) else text
    # A share in percent, and whatever is no value at all, is text for the rule to read or to refuse.
    return text if isinstance(read, dict) else read


def _toml(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text
