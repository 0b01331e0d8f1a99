"""Demand that is stated once and grows: one value for each period takes the place of both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.inputs.scenario.base import Part, rule_of
from planner.inputs.scenario.fields import Frame
from planner.inputs.scenario.fields_nested import EachPeriod
from planner.inputs.scenario.parts import keys_of
from planner.inputs.scenario.problems import Problem, place
from planner.inputs.scenario.schema import Horizon
from planner.inputs.scenario.schema_pools import WAYS, Pool
from planner.inputs.scenario.schema_services import Service
from planner.performance.demand import growth_ratio

KEY = "growth"
# Where demand may grow: the table, and the keys that state its demand.
_GROWS: tuple[tuple[str, type[Part], tuple[str, ...]], ...] = (
    ("services", Service, ("peak_rate", "audio_rate")),
    ("pools", Pool, tuple(way.key for way in WAYS)),
)


def with_growth(document: Mapping[str, Any], horizon: Horizon | None) -> tuple[dict[str, Any], list[Problem]]:
    """The tables with the demand of each period where it grows, and what is wrong with it.

    The stated value is that of the first period: d_t = d (1 + g)^(t years later). What cannot be read is left
    to the check of its own field.
    """
    found, problems = dict(document), list[Problem]()
    for section, part, keys in _GROWS:
        entries = found.get(section)
        if not isinstance(entries, list) or not any(isinstance(e, dict) and KEY in e for e in entries):
            continue
        found[section] = [
            _grown(entry, part, keys, place((section, i), document), horizon, problems)
            if isinstance(entry, dict) and KEY in entry
            else entry
            for i, entry in enumerate(entries)
        ]
    return found, problems


def _grown(
    entry: Mapping[str, Any],
    part: type[Part],
    keys: tuple[str, ...],
    at: str,
    horizon: Horizon | None,
    problems: list[Problem],
) -> dict[str, Any]:
    attributes = keys_of(part)
    key = next((one for one in keys if one in entry), None)
    if key is None or horizon is None:
        return dict(entry)  # what is missing is told of its own
    rest = {name: value for name, value in entry.items() if name != KEY}
    if isinstance(entry[key], list):
        problems.append(
            Problem(f"{at}.{KEY}", f"says what the list of {key} says already: keep one, or state {key} once")
        )
        return rest
    rule, growth = rule_of(part, attributes[key]), rule_of(part, attributes[KEY])
    assert isinstance(rule, EachPeriod), "demand is stated by period"
    assert growth is not None, "it is a field"
    try:
        yearly, value = growth.read(entry[KEY], Frame()), rule.rule.read(entry[key], Frame())
    except ValueError:
        return dict(entry)
    years = [index * horizon.period_months / 12.0 for index in range(horizon.periods)]
    ratios = [float(growth_ratio(ratio=1.0 + yearly, period_y=1.0, horizon_y=each)) for each in years]
    return {**rest, key: [rule.rule.write(value * ratio) for ratio in ratios]}
