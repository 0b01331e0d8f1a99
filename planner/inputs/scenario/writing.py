"""From a scenario back to TOML tables: its canonical text, changes to it, and the schema of the file."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from pydantic import BaseModel

from planner.inputs.scenario.base import is_list, part_in, rule_of
from planner.inputs.scenario.problems import Problem, label, nearest_remedy
from planner.inputs.scenario.schema import Scenario

# Sections that are one table, which a file may leave out where all in it has a default.
_TABLES = {
    key
    for key, field in Scenario.model_fields.items()
    if key in ("facts", "exchange") or not (is_list(field) or rule_of(Scenario, key))
}


def tables(scenario: Scenario) -> dict[str, Any]:
    """Tables of a file that says the same, each value in its canonical unit."""
    document = _table(scenario)
    for job, table in zip(scenario.training, document.get("training", ()), strict=True):
        if job.earliest == scenario.horizon.start:  # the default, which follows the horizon where that moves
            del table["earliest"]
    for pool, table in zip(scenario.pools, document.get("pools", ()), strict=True):
        if pool.feeds is not None:  # what it writes follows from its run, also where that is changed
            del table["items"]
    return document


def _table(part: BaseModel) -> dict[str, Any]:
    table = {}
    for attribute, field in type(part).model_fields.items():
        value = getattr(part, attribute)
        rule = rule_of(type(part), attribute)
        if value is None or value in ((), {}):
            continue
        if rule is not None:
            value = rule.write(value)
        elif isinstance(value, tuple):
            value = [_table(entry) for entry in value]
        else:
            value = _table(value)
        table[field.alias or attribute] = value
    return table


def change(document: dict[str, Any], path: str, value: Any) -> Problem | None:
    """Put a value at a path of the tables, in place; a problem where the path leads nowhere."""
    found = at_path(document, path)
    if isinstance(found, Problem):
        return found
    table, key = found
    if value is None:
        table.pop(key, None)
    else:
        table[key] = _as_toml(value, table.get(key))
    return None


def at_path(document: dict[str, Any], path: str) -> tuple[dict[str, Any], str] | Problem:
    """The table in which a path ends, and its key there; a problem where it leads nowhere."""
    section, _, rest = path.partition(".")
    numbered = re.fullmatch(r"(\w+)\[(\d+)\]", section)
    section, number = (numbered[1], int(numbered[2])) if numbered else (section, None)
    if not rest:
        return document, section
    held = document.setdefault(section, {}) if section in _TABLES else document.get(section)
    if isinstance(held, dict):
        return held, rest
    if not isinstance(held, list):
        return Problem(
            path,
            f"leads nowhere: there is no {section}; {nearest_remedy(section, document)}"
            if held is None
            else f"leads nowhere: {section} is no table",
        )
    if number is not None:
        if number >= len(held):
            return Problem(path, f"leads nowhere: {section} has {len(held)} entries, counted from 0")
        entry = held[number]
        return (entry, rest) if isinstance(entry, dict) else Problem(path, "leads nowhere: it is in no table")
    names = [label(entry, section, held) for entry in held]
    # Names may hold dots: the longest that fits is meant.
    fits = [i for i, name in enumerate(names) if name and rest.startswith(f"{name}.")]
    if not fits:
        remedy = nearest_remedy(rest.rpartition(".")[0], [name for name in names if name])
        return Problem(path, f"leads nowhere: no entry of {section} is called so; {remedy}")
    best = max(fits, key=lambda i: len(names[i]))
    return held[best], rest[len(names[best]) + 1 :]


def _as_toml(value: Any, present: Any) -> Any:
    """A value as a file would hold it; text is read as TOML unless it is plain and replaces text."""
    if isinstance(value, tuple):
        return list(value)
    marked = isinstance(value, str) and value.lstrip()[:1] in ("[", '"', "'")
    if not isinstance(value, str) or (isinstance(present, str) and not marked):
        return value
    try:
        read = tomllib.loads(f"value = {value}")
    except ValueError:  # not TOML, such as 300 USD/t: then it is text
        return value
    return read["value"] if read.keys() == {"value"} else value


def part_schema(part: type[BaseModel]) -> dict[str, Any]:
    """JSON Schema of a table."""
    properties, required, either = {}, [], []
    follows = getattr(part, "FOLLOWS", {})
    for attribute, field in part.model_fields.items():
        key = field.alias or attribute
        rule = rule_of(part, attribute)
        if rule is not None:
            entry = rule.schema()
        else:
            table = part_schema(part_in(field))
            entry = {"type": "array", "items": table} if is_list(field) else table
            if hasattr(part_in(field), "SHORT"):
                entry = {"anyOf": [{"type": "string"}, table]}
        properties[key] = {**entry, "description": field.description or ""}
        if field.is_required() and key in follows:
            either.append({"anyOf": [{"required": [one]} for one in (key, *follows[key])]})
        elif field.is_required():
            required.append(key)
    table = {"type": "object", "properties": properties, "additionalProperties": False}
    if either:
        table["allOf"] = either
    return {**table, "required": required} if required else table
