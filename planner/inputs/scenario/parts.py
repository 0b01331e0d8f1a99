"""The machine that reads every file of ours: tables into parts, or every problem in words of ours.

A part that is wrong is also read as far as it goes: checks still look at all that is right in it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from planner.inputs.scenario.base import Part, Unread, is_list, part_in, rule_of
from planner.inputs.scenario.fields import Frame
from planner.inputs.scenario.problems import (
    MAX_PROBLEMS,
    FieldError,
    Problem,
    nearest_remedy,
    place,
    shown,
    shown_key,
)

P = TypeVar("P", bound=Part)
_WHOLE = re.compile(r"\w*(\[\d+\])?")  # the place of a whole table, which may be wrong in several ways
_MISSPELT = 0.8  # how alike two keys are, of which one is taken for the other


@dataclass(frozen=True, slots=True)
class Meant:
    """The tables of a file with misspelt keys as they were meant, without those that mean nothing."""

    document: dict[str, Any]
    written: Mapping[str, str]  # place of a key as it was meant -> as it is written
    unknown: tuple[Problem, ...] = ()
    more: int = 0  # unknown keys beyond those

    def as_written(self, problem: Problem) -> Problem:
        """A problem at the place where the file has it."""
        path = problem.path
        for meant, written in self.written.items():
            if path == meant or path.startswith((f"{meant}.", f"{meant}[")):
                path = written + path[len(meant) :]
        return Problem(path, problem.message)


def keys_of(kind: type[BaseModel]) -> dict[str, str]:
    """The attribute of each key of a table."""
    return {field.alias or name: name for name, field in kind.model_fields.items()}


def without_slips(root: type[Part], document: Mapping[str, Any]) -> Meant:
    """The tables with each unknown key told once: what would only follow from a slip of the pen is not."""
    written: dict[str, str] = {}
    unknown: list[Problem] = []
    more = 0

    def table(kind: type[BaseModel], held: Mapping[str, Any], loc: tuple[str | int, ...]) -> dict[str, Any]:
        nonlocal more
        keys = keys_of(kind)
        found = {}
        for key, value in held.items():
            if key not in keys and len(unknown) == MAX_PROBLEMS:
                more += 1
                continue
            if key not in keys:
                at = place((*loc, key), document)
                unknown.append(Problem(at, f"is not known here; {nearest_remedy(key, keys)}"))
                close = difflib.get_close_matches(key[:64], keys.keys() - held.keys(), 1, _MISSPELT)
                if not close or close[0] in found or close[0][0] != key[0]:
                    continue  # `restart` is no slip for `start`
                key = close[0]
                written[place((*loc, key), document)] = at
            found[key] = inner(kind, keys[key], value, (*loc, key))
        return found

    def inner(kind: type[BaseModel], attribute: str, value: Any, loc: tuple[str | int, ...]) -> Any:
        if rule_of(kind, attribute) is not None:
            return value
        part = part_in(kind.model_fields[attribute])
        if isinstance(value, dict):
            return table(part, value, loc)
        if isinstance(value, list):
            return [
                table(part, entry, (*loc, i)) if isinstance(entry, dict) else entry
                for i, entry in enumerate(value)
            ]
        return value

    found = table(root, document, ())
    return Meant(found, written, tuple(unknown), more)


def read_part(
    root: type[P], document: Mapping[str, Any], frame: Frame
) -> tuple[P | None, list[Problem], int]:
    """The part that tables are; or what is wrong with its fields, and how many problems more there are."""
    try:
        return root.model_validate(document, context=frame), [], 0
    except ValidationError as error:
        found = error.errors(include_url=False)
        problems = [said for entry in found[:MAX_PROBLEMS] for said in _translated(entry, document, root)]
        return None, problems, max(0, len(found) - MAX_PROBLEMS)


def read_far(kind: type[P], table: object, frame: Frame) -> P | None:
    """A table as far as it can be read, None for no table: asking for a wrong value raises `Unread`."""
    if not isinstance(table, Mapping):
        return None
    try:
        return kind.model_validate(table, context=frame)
    except ValidationError:
        pass
    values: dict[str, Any] = {}
    wrong = [name for key, name in keys_of(kind).items() if key not in table and _is_needed(kind, name)]
    given = {name: table[key] for key, name in keys_of(kind).items() if key in table}
    for name, value in given.items():
        try:
            values[name] = _value(kind, name, value, frame)
        except (ValueError, Unread):
            wrong.append(name)
    found = cast(P, kind.model_construct(set(given), **values))
    for name in wrong:
        found.__dict__.pop(name, None)
    return found


def _is_needed(kind: type[Part], name: str) -> bool:
    return kind.model_fields[name].is_required()


def _value(kind: type[Part], name: str, value: object, frame: Frame) -> Any:
    rule = rule_of(kind, name)
    if rule is not None:
        return rule.read(value, frame)
    field = kind.model_fields[name]
    part = part_in(field)
    assert issubclass(part, Part), "what has no rule is a table"
    several = value if isinstance(value, list) else [None]
    held = [read_far(part, one, frame) for one in (several if is_list(field) else [value])]
    if None in held:
        raise Unread(name)
    return tuple(held) if is_list(field) else held[0]


def reported(checks: Iterable[Callable[..., Iterator[Problem]]], *looked_at: Any) -> Iterator[Problem]:
    """What each check finds; one that needs a value that could not be read ends there."""
    for check in checks:
        try:
            yield from check(*looked_at)
        except Unread:
            continue


def once(*stages: Iterable[Problem]) -> list[Problem]:
    """Each problem once: what a later stage tells of a key that an earlier one refused follows from that."""
    found: dict[Problem, None] = {}
    for stage in stages:
        refused = {problem.path for problem in found if not _WHOLE.fullmatch(problem.path)}
        found |= {problem: None for problem in stage if problem.path not in refused}
    return list(found)


def _part_of(root: type[BaseModel], loc: Sequence[str | int]) -> type[BaseModel]:
    """The table at a place of the file."""
    part = root
    for step in loc:
        if isinstance(step, str):
            part = part_in(part.model_fields[keys_of(part)[step]])
    return part


def _translated(
    error: Mapping[str, Any], document: Mapping[str, Any], root: type[BaseModel]
) -> Iterator[Problem]:
    loc: Sequence[str | int] = error["loc"]
    path = place(loc, document)
    match error["type"]:
        case "value_error":
            said = error["ctx"]["error"]
            parts = said.parts if isinstance(said, FieldError) else (("", str(said)),)
            yield from (Problem(path + inside, message) for inside, message in parts)
        case "missing":
            yield Problem(path, f"is missing: {_remedy(loc, root)}")
        case "extra_forbidden":
            known = keys_of(_part_of(root, loc[:-1]))
            yield Problem(path, f"is not known here; {nearest_remedy(str(loc[-1]), known)}")
        case _:
            said = "is one table of several" if isinstance(error["input"], dict) else "is not a table"
            value = "" if isinstance(error["input"], dict) else f"{shown(error['input'])} "
            yield Problem(path, f"{value}{said}: {_remedy(loc, root)}")


def _remedy(loc: Sequence[str | int], root: type[BaseModel]) -> str:
    """How a field is written; for a table or a list of them, how it begins."""
    *outer, key = [step for step in loc if isinstance(step, str)]
    part = _part_of(root, outer)
    attribute = keys_of(part)[key]
    rule = rule_of(part, attribute)
    if rule is not None:
        return f"write for example {key} = {rule.example}"
    path = ".".join(map(shown_key, (*outer, key)))
    return (
        f"begin each with [[{path}]]" if is_list(part.model_fields[attribute]) else f"begin it with [{path}]"
    )


def entries_of(document: Mapping[str, Any], section: str) -> list[tuple[int, dict[str, Any]]]:
    """The entries of a list of tables that are tables, with their numbers."""
    entries = document.get(section)
    held = entries if isinstance(entries, list) else []
    return [(i, entry) for i, entry in enumerate(held) if isinstance(entry, dict)]
