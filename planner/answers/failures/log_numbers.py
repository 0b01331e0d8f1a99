"""Numbers of a log: what was counted in it, and what a function gave for rows that no document keeps."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from planner.answers.failures.sections import DAY_H
from planner.inputs.catalogue import make_fact
from planner.trace.quantities import Call, Derived, Fact, Source, Traced, chosen, convert, derive
from reliability.fleet import failure_rate_per_node_h, failures_in_1000_node_days
from reliability.logs import FailureLog


def log_fact(log: FailureLog, key: str, value: float, unit: str, note: str = "") -> Fact:
    """A number that was counted in the log, in the unit that the program has for its kind."""
    return make_fact(f"log.{key}", float(value), unit, _source(log), note=note)


def log_count(log: FailureLog, key: str, value: float, unit: str = "1", note: str = "") -> Fact:
    """A number that was counted in the log, as its table has it: whole numbers stay whole."""
    return Fact(value, unit, key=f"log.{key}", source=_source(log), locator="", kind="yours", note=note)


def estimated(
    log: FailureLog, key: str, value: float, unit: str, ends: tuple[float, float], note: str
) -> Fact:
    """A parameter that makes the log most likely, with its interval."""
    source = Source("log", f"the log '{log.name}', by highest likelihood")
    low, high = ends
    return Fact(
        value, unit, key=key, source=source, locator="", kind="estimated", low=low, high=high, note=note
    )


def reported(
    function: Callable[..., Any], part: str, value: float, unit: str = "1", /, **inputs: Traced
) -> Derived:
    """What a function gave for rows of the log; `inputs` are what is known of those."""
    return Derived(value, unit, call=Call(function, inputs), part=part)


def failure_rate(log: FailureLog, failures: float, node_h: float, hours: str) -> Derived:
    """Failures over node-hours; `hours` says of what those are."""
    return derive(
        failure_rate_per_node_h,
        failures=log_count(log, "failures", failures),
        nodes=chosen("nodes", 1.0, "its hours are counted node by node", "1"),
        period_h=log_count(log, "node_hours", node_h, "h", hours),
    )


def in_papers_unit(rate: Traced) -> Derived:
    """A rate in failures in 1000 node-days."""
    return derive(failures_in_1000_node_days, failure_rate_per_node_h=rate)


def in_days(time: Traced) -> Traced:
    """Hours as days."""
    return dataclasses.replace(convert(time, "d"), value=time.value / DAY_H)


def whole(count: Traced) -> Traced:
    """A count as a whole number."""
    return dataclasses.replace(count, value=int(count.value))


def _source(log: FailureLog) -> Source:
    return Source("log", f"the log '{log.name}'")
