"""Ways out of a conflict in the words of the file: which key, what it says, and which value is enough."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from planner.answers.plan.repairs import repair_changes
from planner.inputs.scenario import Scenario, value_at
from planner.inputs.scenario.base import Part
from planner.program.plan import Plan
from planner.program.remedies import LEFT_OUT
from planner.program.solution import TASKS
from planner.trace.currency import Stated, shown_unit
from planner.trace.numbers import EXACT, quantity_text, written_text
from planner.trace.records import Record
from planner.trace.units import UnitError, canonical, everyday

DIGITS = 4  # of a value that is enough, rounded to the side on which it still is
MOST_PERIODS = 3  # of one key that are said one by one


def ways_records(plan: Plan, families: Sequence[Mapping[str, Any]]) -> list[Record]:
    """Each way out, those that give up none of the work first: the key, what it says, and what is enough.

    `changes` are values by their paths, as a copy of the scenario would have them.
    """
    scenario = _in_dollars(plan.inputs.scenario)
    limits: list[Record] = []
    last: list[Record] = []
    for family in families:
        if (way := _of_family(scenario, family)) is not None:
            (last if any(row["limit"] in TASKS for row in family["rows"]) else limits).append(way)
    tried = [
        {
            "gives_way": one.key.rpartition(".")[2].replace("_", " "),
            "key": one.key,
            "stated": one.stated,
            "needed": one.needed,
            "changes": {path: _plain(value) for path, value in one.changes.items()},
        }
        for one in plan.remedies
    ]
    return [*limits, *tried, *last]


def ways_text(ways: Sequence[Mapping[str, Any]]) -> str:
    """What each way out asks for, as parts of one sentence."""
    return "; ".join(way_text(way) for way in ways)


def way_text(way: Mapping[str, Any]) -> str:
    """One way out: what gives way, by which key and which value."""
    key, needed = way["key"], way["needed"]
    if needed == LEFT_OUT:
        return f"{way['gives_way']} ({key} of {way['stated']} left out)"
    stated = f" from {way['stated']}" if way["stated"] else ""
    return f"{way['gives_way']} ({key}{stated} to {needed})"


def _in_dollars(scenario: Scenario) -> Scenario:
    """The scenario with all money in USD, as the program counts: what was written otherwise is converted."""

    def plain(value: Any) -> Any:
        if isinstance(value, Stated):
            return float(value)
        if isinstance(value, tuple):
            return tuple(map(plain, value))
        if isinstance(value, Part):
            return value.but(**{name: plain(getattr(value, name)) for name in type(value).model_fields})
        return value

    found = plain(scenario)
    assert isinstance(found, Scenario), "a copy of one"
    return found


def _of_family(scenario: Scenario, family: Mapping[str, Any]) -> Record | None:
    """A way out by limits of the program; None where no file says how they give way."""
    rows = [row for row in family["rows"] if row["limit"] != "jobs"]
    jobs = [row["where"] for row in family["rows"] if row["limit"] == "jobs"]
    if any(row["limit"] == "availability" and "kept_fraction" not in row for row in rows):
        return None
    changes = repair_changes(scenario, rows) if rows else {}
    parts = [_change(scenario, path, value) for path, value in changes.items()]
    parts += [(f"training.{job}.may_be_left_out", "false", "true, with a left_out_penalty") for job in jobs]
    if not parts:
        return None
    keys, stated, needed = zip(*parts, strict=True)
    return {
        "gives_way": family["family"],
        "key": " and ".join(keys),
        "stated": " and ".join(stated),
        "needed": " and ".join(needed),
        "changes": {} if jobs else {path: _plain(value) for path, value in changes.items()},
    }


def _change(scenario: Scenario, path: str, value: Any) -> tuple[str, str, str]:
    """A path, what stands there, and what is enough."""
    stated = value_at(scenario, path)
    if not isinstance(value, list):
        return path, _said(stated), LEFT_OUT if value is None else _needed(stated, value)
    labels = scenario.horizon.period_labels
    before = stated if isinstance(stated, list) else [stated] * len(value)
    moved = [
        (label, one, now)
        for label, one, now in zip(labels, before, value, strict=True)
        if _number(one) != _number(now)
    ]
    if len({(_said(one), _needed(one, now)) for _, one, now in moved}) == 1 and len(moved) == len(value):
        return path, _said(moved[0][1]), _needed(*moved[0][1:])
    if len(moved) > MOST_PERIODS:
        furthest = max(moved, key=lambda one: abs((_number(one[2]) or 0.0) - (_number(one[1]) or 0.0)))
        more = f", and less far in {len(moved) - 1} more periods"
        return path, _said(furthest[1]), f"{_needed(*furthest[1:])} in {furthest[0]}{more}"
    return (
        path,
        " and ".join(dict.fromkeys(_said(one) for _, one, _ in moved)),
        " and ".join(f"{_needed(one, now)} in {label}" for label, one, now in moved),
    )


def _needed(before: Any, after: Any) -> str:
    """A value that is enough, rounded to the side on which it is."""
    old, new = _number(before), _number(after)
    if new is None or not isinstance(after, str):
        return _said(after)
    up = old is None or new > old
    unit = after.partition(" ")[2]
    factor, _ = shown_unit(unit)  # rounded as it is shown
    return _said(f"{written_text(_outward(new * factor, up) / factor, 15)} {unit}".strip())


def _outward(value: float, up: bool) -> float:
    if value == 0.0:
        return value
    size = 10.0 ** (math.floor(math.log10(abs(value))) - DIGITS + 1)
    whole = value / size
    near = math.ceil(whole * (1 - 1e-12)) if up else math.floor(whole * (1 + 1e-12))
    return float(written_text(near * size, 12))


def _said(value: Any) -> str:
    """A value as a person would write it into the file."""
    if value is None:
        return ""
    if isinstance(value, list):
        return f"[{', '.join(map(_said, value))}]"
    if isinstance(value, date):
        return value.isoformat()
    if not isinstance(value, str):
        return str(value)
    number = _number(value)
    if number is None:
        return value
    unit = value.partition(" ")[2]
    try:
        held, inside = canonical(number, unit)
    except UnitError:
        return value
    if inside in ("USD", "kW", "kWh"):
        return quantity_text(held, inside, EXACT)
    if unit in ("kg", "kgCO2e") and abs(held) >= 1000:
        return f"{written_text(held / 1000, 12)} t"
    if inside == unit:
        return everyday(f"{written_text(number, 12)} {unit}")
    return f"{written_text(number, 12)} {unit}"


def _number(value: Any) -> float | None:
    """The number that a value begins with."""
    try:
        return float(str(value).partition(" ")[0])
    except ValueError:
        return None


def _plain(value: Any) -> Any:
    """As a file of a plan keeps it: a day as text."""
    if isinstance(value, date):
        return value.isoformat()
    return list(value) if isinstance(value, tuple) else value
