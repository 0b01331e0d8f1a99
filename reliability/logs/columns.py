"""Columns that several kinds of log have, as SQL, and what can be wrong with them."""

from __future__ import annotations

from collections.abc import Iterable

from reliability.logs.mapping import Mapping
from reliability.logs.records import not_a, number
from reliability.logs.source import Source, literal

YES = ("true", "t", "yes", "y", "1")
NO = ("false", "f", "no", "n", "0")


def unit_of(source: Source, mapping: Mapping) -> str:
    """SQL for the name of a unit: its columns, joined by '/'; of a log without names, the log's own."""
    names = mapping.columns.get("unit")
    if names is None:
        return literal(source.name)
    if isinstance(names, str):
        return source.cell(names)
    return f"nullif(concat_ws('/', {', '.join(map(source.cell, names))}), '')"


def selected(texts: dict[str, str]) -> str:
    """SQL that selects expressions under their names."""
    return ", ".join(f"{expression} AS {name}" for name, expression in texts.items())


def not_times(mapping: Mapping, roles: Iterable[str]) -> list[tuple[str, str]]:
    """Checks that `ROLE_text`, where it is filled, was read as `ROLE_time`."""
    return [
        (
            f"{role}_text IS NOT NULL AND {role}_time IS NULL",
            not_a("a time", mapping.column(role) or role, f"{role}_text"),
        )
        for role in roles
    ]


def not_durations(mapping: Mapping, roles: Iterable[str]) -> list[tuple[str, str]]:
    """Checks that `ROLE_text`, where it is filled, is a number from 0 up."""
    return [
        (
            f"{role}_text IS NOT NULL AND NOT coalesce({number(f'{role}_text')} >= 0, false)",
            not_a("a number from 0 up", mapping.column(role) or role, f"{role}_text"),
        )
        for role in roles
    ]
