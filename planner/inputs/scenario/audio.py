"""Demand that is stated as sound: hours of it a day become the requests of the busiest hour."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.inputs.scenario.base import rule_of
from planner.inputs.scenario.fields import Frame
from planner.inputs.scenario.fields_nested import EachPeriod
from planner.inputs.scenario.parts import keys_of
from planner.inputs.scenario.problems import Problem, place
from planner.inputs.scenario.schema_services import Service
from planner.performance.demand import peak_recordings_per_s
from planner.trace.units import convert_factor

KEY, RATE = "audio_rate", "peak_rate"
_NEEDS = ("audio", "mean_to_peak")
# So that what cannot be known is not said to be missing, too.
_STAND_IN = {RATE: "1 /s", "audio": "30 s"}


def with_audio(document: Mapping[str, Any], frame: Frame) -> tuple[dict[str, Any], list[Problem]]:
    """The tables with the requests of services that state their sound, and what is wrong with it."""
    found, problems = dict(document), list[Problem]()
    entries = found.get("services")
    if isinstance(entries, list) and any(isinstance(one, dict) and KEY in one for one in entries):
        found["services"] = [
            _as_requests(entry, place(("services", i), document), frame, problems)
            if isinstance(entry, dict) and KEY in entry
            else entry
            for i, entry in enumerate(entries)
        ]
    return found, problems


def _as_requests(entry: Mapping[str, Any], at: str, frame: Frame, problems: list[Problem]) -> dict[str, Any]:
    rest = {name: value for name, value in entry.items() if name != KEY}
    if RATE in entry:
        problems.append(Problem(f"{at}.{KEY}", f"and {RATE} each say how much comes: keep one"))
        return rest
    if "audio" not in entry:
        problems.append(
            Problem(f"{at}.audio", f'is missing, and {KEY} needs it: write for example audio = "30 s"')
        )
    if any(name not in entry for name in _NEEDS):
        return {**_STAND_IN, **rest}
    rules = {name: rule_of(Service, keys_of(Service)[name]) for name in (KEY, RATE, *_NEEDS)}
    stated, rate = rules[KEY], rules[RATE]
    assert isinstance(stated, EachPeriod), "demand is stated by period"
    assert isinstance(rate, EachPeriod), "demand is stated by period"
    try:
        heard = stated.read(entry[KEY], frame)
        audio_s, mean = (float(_read(rules[name], entry[name])) for name in _NEEDS)
    except ValueError:
        return {**entry, RATE: _STAND_IN[RATE]}
    ratio = convert_factor("h/d", "1")
    peaks = [
        float(peak_recordings_per_s(audio_ratio=one * ratio, audio_s=audio_s, mean_to_peak_fraction=mean))
        for one in heard
    ]
    return {**rest, RATE: [rate.rule.write(one) for one in peaks]}


def _read(rule: Any, value: object) -> float:
    return float(rule.read(value, Frame()))
