"""What can be wrong with a mapping that a person wrote."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any
from zoneinfo import available_timezones

from reliability.logs.problems import near
from reliability.logs.roles import (
    DURATIONS,
    LAYOUTS,
    NEEDED,
    OTHER,
    SEVERAL,
    SINCE_1970,
    SINCE_START,
    Columns,
)


def _is_texts(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(each, str) for each in value)


def _is_words(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())


def _is_choice(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_texts(each) and each for each in value.values())


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")


def _is_time(value: Any) -> bool:
    """A form has letters after its marks: DuckDB cannot even name another character that it does not know."""
    if not isinstance(value, str):
        return False
    marked = re.findall("%(-?.?)", value, re.DOTALL)
    return value in ("iso", *SINCE_1970, *SINCE_START) or (
        bool(marked) and all(re.fullmatch("-?[A-Za-z]|%", mark) for mark in marked)
    )


def _is_columns(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(name, str) or (role in SEVERAL and _is_texts(name) and name)
        for role, name in value.items()
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "kind": (lambda value: value in NEEDED, "'jobs', 'events' or 'lives'"),
    "columns": (_is_columns, "a table of role = \"column\"; 'unit' and 'cause' may have a list of columns"),
    "about": (_is_text, "text"),
    "layout": (lambda value: value in LAYOUTS, "'table', 'json' or 'kernel'"),
    "separator": (lambda value: _is_text(value) and len(value) == 1, "one character"),
    "timezone": (_is_text, "a name such as 'UTC' or 'Europe/Berlin'"),
    "time_format": (
        lambda value: _is_texts(value) and bool(value) and all(map(_is_time, value)),
        "'iso', 'unix_s' (or _ms), 'since_start_d' (or _h, _min, _s) or a form such as '%d.%m.%Y %H:%M'",
    ),
    "year": (_is_count, "a year such as 2025"),
    "missing": (_is_texts, "a list of words"),
    "window_start": (_is_text, "a time as in the log"),
    "window_end": (_is_text, "a time as in the log"),
    "fleet_size": (_is_count, "a number of units from 1 up"),
    "units": (_is_texts, 'a list of names, such as ["node[001-400]"]'),
    "coalesce_s": (_is_number, "seconds, from 0 up"),
    "every_row_counts": (_is_flag, "true or false"),
    "needs_cause": (_is_flag, "true or false"),
    "states": (_is_flag, "true or false"),
    "covariates": (_is_texts, "a list of columns"),
    "planned": (_is_texts, "a list of causes, severities or states"),
    "only": (_is_choice, 'a table of words by column: reason = ["NodeNotReady", "NodeReady"]'),
    "transitions": (
        lambda value: _is_words(value) and set(value) == {"start", "end"},
        'a table with the words of both: start = "down", end = "up"',
    ),
    "severity": (_is_words, 'a table of words: "NODE_FAIL" = "hardware"'),
    "causes": (_is_words, 'a table of words: "xid79" = "fell off the bus"'),
}


def wrong_values(values: dict[str, Any]) -> Iterator[str]:
    """What is wrong with single values of a mapping."""
    for key in ("kind", "columns"):
        if key not in values:
            yield f"{key} is missing: it is {_CHECKS[key][1]}"
    for key, value in values.items():
        if key not in _CHECKS:
            yield f"unknown key '{key}': {near(key, _CHECKS)}"
        elif not _CHECKS[key][0](value):
            yield f"{key} must be {_CHECKS[key][1]}, got {value!r}"
    zone = values.get("timezone")
    if isinstance(zone, str) and zone not in (zones := available_timezones()):
        yield f"timezone '{zone}' is not known: {near(zone, sorted(zones))}"


def wrong_roles(kind: str, layout: str, columns: Columns, transitions: dict[str, str]) -> Iterator[str]:
    """What is wrong with the roles of a mapping whose values are each of the right kind."""
    known = (*NEEDED[kind], *OTHER[kind])
    for role in columns:
        if role not in known:
            yield f"columns.{role}: a log of {kind} has no such role: {near(role, known)}"
    for role in NEEDED[kind]:
        # Events without a unit are read where the size of the fleet is known.
        nameless = role == "unit" and kind == "events" and columns.keys() <= {*known}
        if role not in columns and not nameless:
            yield f'columns.{role} is missing: write {role} = "the column that holds it"'
    if transitions and "unit" not in columns and layout != "kernel":
        yield "columns.unit is missing: without it nobody knows which end belongs to which start of an outage"
    if bool(transitions) != ("transition" in columns):
        yield "columns.transition and [transitions] belong together: write both or neither"
    if kind == "lives":
        yield from _wrong_lives(columns)


def _wrong_lives(columns: Columns) -> Iterator[str]:
    if not any(role in columns for role in (*DURATIONS, "entry")):
        yield "columns: a life needs a duration (duration_h, duration_d, ...) or an entry"
    if sum(role in columns for role in ("died", "censored", "death")) != 1:
        yield "columns: a life needs one of died, censored or death (the day it died, empty while alive)"
