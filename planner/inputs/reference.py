"""What may be written in a scenario and in a job: JSON Schema for editors, rows and a page of keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from planner.inputs.editing.fields import allowed_words, shown_value, unit_of_rule
from planner.inputs.job.schema import Job
from planner.inputs.scenario.base import Part, is_list, part_in, rule_of
from planner.inputs.scenario.fields import Choice, Count, Day, Flag, Fraction, Number, Quantity, Rule, Text
from planner.inputs.scenario.fields_nested import EachPeriod, Several, Table
from planner.inputs.scenario.parts import keys_of
from planner.inputs.scenario.schema import Scenario
from planner.inputs.scenario.writing import part_schema

FILES: dict[str, type[Part]] = {"scenario": Scenario, "job": Job}
TOP = "(top)"
_DEFAULT = re.compile(r"[;,]? ?[Dd]efault: ([^;.]+(?:\.(?! |$)[^;.]+)*)")
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_HEAD = """# Keys

Every key of a scenario and of a job file: what may be written, what holds where it is left out, and what it
means. Written by `everfleet schema --markdown`, from the descriptions that the app shows next to its fields.
For editors, `everfleet schema scenario` and `everfleet schema job` print JSON Schema; `everfleet check FILE`
reads either file and reports every problem at once.

A *quantity* is text with a unit, such as `"2 MW"`; any unit that converts may be written. A *share* is a
number from 0 to 1, or text in percent. *By period* is one value for the whole horizon, or a list with one for
each period. Facts that are defaults, with their sources: `everfleet facts KEY`.
"""


def json_schema(kind: str) -> dict[str, Any]:
    """JSON Schema of a file, by TOML keys, for editors."""
    return {"$schema": _DIALECT, "title": f"everfleet {kind}", **part_schema(FILES[kind])}


def key_rows(kind: str) -> Iterator[dict[str, str]]:
    """Every key of a file with what may be written there, as a table to look things up."""
    for section, part, _ in _sections(FILES[kind]):
        for key, attribute in keys_of(part).items():
            if (rule := rule_of(part, attribute)) is not None:
                said, default = _said(part, attribute, rule)
                yield {
                    "section": section or TOP,
                    "key": key,
                    "type": _type(rule),
                    "unit": unit_of_rule(rule),
                    "default": default,
                    "allowed": _allowed(rule),
                    "example": rule.example,
                    "description": said,
                }


def meaning_of(kind: str, place: str) -> str:
    """What the key at a place of a file, such as `training.nodes`, means, with its default."""
    part, attribute = _key_at(kind, place)
    return part.model_fields[attribute].description or ""


def rule_at(kind: str, place: str) -> Rule | None:
    """What may be written at a place of a file."""
    return rule_of(*_key_at(kind, place))


def _key_at(kind: str, place: str) -> tuple[type[Part], str]:
    *tables, key = place.split(".")
    part: type[Part] = FILES[kind]
    for table in tables:
        part = part_in(part.model_fields[keys_of(part)[table]])
    return part, keys_of(part)[key]


def keys_page() -> str:
    """The reference page of all keys, in Markdown."""
    lines = [_HEAD]
    for kind, root in FILES.items():
        lines += [f"## {kind.capitalize()}", ""]
        rows = list(key_rows(kind))
        for section, _, said in _sections(root):
            lines += [f"### {kind}: {section or 'at the top'}", ""]
            lines += [f"{said}.", ""] if said else []
            held = [row for row in rows if row["section"] == (section or TOP)]
            if held:
                lines += [
                    "| key | type, unit | default | range | example | meaning |",
                    "|---|---|---|---|---|---|",
                ]
                lines += [_line(row) for row in held] + [""]
    return "\n".join(lines)


def _line(row: dict[str, str]) -> str:
    kind = ", ".join(filter(None, (row["type"], row["unit"])))
    cells = (
        f"`{row['key']}`",
        kind,
        row["default"],
        row["allowed"],
        f"`{row['example']}`",
        row["description"],
    )
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _sections(root: type[Part], outer: str = "", said: str = "") -> Iterator[tuple[str, type[Part], str]]:
    """The tables of a file, each with its place, in the order of the file."""
    yield outer, root, said
    for key, attribute in keys_of(root).items():
        if rule_of(root, attribute) is None:
            field = root.model_fields[attribute]
            name = f"{outer}.{key}" if outer else key
            shown = f"`[[{name}]]`" if is_list(field) else f"`[{name}]`"
            yield from _sections(part_in(field), name, f"{shown} {_lower(field.description or '')}")


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _said(part: type[Part], attribute: str, rule: Rule) -> tuple[str, str]:
    """What a key means, and what holds where it is left out, which descriptions may say."""
    field = part.model_fields[attribute]
    said = field.description or ""
    if field.is_required():
        return said, "required"
    found = _DEFAULT.search(said)
    if found:
        return said[: found.start()] + said[found.end() :], found[1].strip()
    unset = field.default is None or field.default in ({}, ())
    return said, "none" if unset else shown_value(rule.write(field.default))


def _type(rule: Rule) -> str:
    match rule:
        case EachPeriod():
            return f"{_type(rule.rule)} by period"
        case Several():
            return f"list of {_type(rule.rule)}s"
        case Table():
            return "table"
    kinds = ((Quantity, "quantity"), (Fraction, "share"), (Number, "number"), (Count, "whole number"))
    words = ((Day, "date"), (Choice, "word"), (Flag, "truth value"))
    named = next((name for kind, name in (*kinds, *words) if isinstance(rule, kind)), None)
    return named or ("name" if isinstance(rule, Text) and rule.name else "text")


def _allowed(rule: Rule) -> str:
    match rule:
        case EachPeriod() | Several():
            return _allowed(rule.rule)
        case Table():
            return "keys and values of your own"
    return allowed_words(rule)
