"""Which points a sweep has: every combination of some values, a ladder of carbon prices, or drawn facts."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner.inputs.catalogue import Catalogue
from planner.inputs.consistency import with_cards
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario
from planner.program.assembly import assemble
from planner.trace.errors import InputError
from planner.trace.numbers import count_text
from planner.trace.quantities import Fact
from planner.trace.uncertainty import draw_facts
from planner.trace.units import UnitError, parse_quantity

MOST_POINTS = 10_000
_NUMBER = re.compile(r"[-+]?[\d_.]+(?:[eE][-+]?\d+)?")
_OPEN, _CLOSED = "[{", "]}"


class GridError(InputError):
    """A sweep is requested that has no points, or too many; the message says how it is written."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Points of a sweep: for each the changes that `with_changes` takes; `seed` of drawn ones."""

    kind: str
    points: tuple[Mapping[str, Any], ...]
    seed: int = 0


def varied(choices: Sequence[str]) -> Grid:
    """Every combination of values: each choice is `PATH=VALUE,VALUE,...`, the last path moves fastest.

    A unit after the last value holds for bare numbers before it: `policy.carbon_price=0,50,100 USD/t`.

    Raises:
        GridError: a choice is not written so, a path occurs twice, or there are too many points.
    """
    lists: dict[str, list[str]] = {}
    for choice in choices:
        path, sign, text = choice.partition("=")
        values = _with_unit(list(_split(text)))
        if not sign or not path.strip() or not all(values):
            raise GridError(f"'{choice}' varies nothing: write for example policy.carbon_price=0,100 USD/t")
        if path.strip() in lists:
            raise GridError(f"'{path.strip()}' is varied twice: write all its values once")
        lists[path.strip()] = values
    points = [dict(zip(lists, values, strict=True)) for values in itertools.product(*lists.values())]
    return Grid("grid", _counted(points))


def pareto(prices: str) -> Grid:
    """A front of money and carbon: the plans of several carbon prices, such as `0,50,100,200 USD/t`.

    Raises:
        GridError: there is no price.
    """
    ladder = varied([f"policy.carbon_price={prices}"])
    return Grid("pareto", tuple(_priced(point["policy.carbon_price"]) for point in ladder.points))


def drawn_points(scenario: Scenario, catalogue: Catalogue, *, draws: int, seed: int) -> Grid:
    """Facts drawn within their ranges, as `planner.trace.uncertainty` draws them: each draw is a point.

    Drawn are the facts of the catalogue that this scenario asks for, that carry a range and whose unit a
    scenario can state. Unlike the ranges of one plan, each point is planned anew: it shows whether other
    facts would mean other decisions.

    Raises:
        GridError: no draw is requested, or no fact has a range.
    """
    if draws < 1:
        raise GridError(f"draws must be 1 or more, got {draws}")
    inputs = Inputs(scenario, with_cards(scenario, catalogue))
    assemble(inputs)
    facts = [
        fact
        for key, fact in sorted(inputs.facts_used.items())
        if key in catalogue.facts
        and key not in scenario.facts
        and fact.low is not None
        and fact.high is not None
        and fact.low < fact.high
        and _statable(fact)
    ]
    if not facts:
        raise GridError("no fact that this scenario asks for has a range: there is nothing to draw")
    columns = draw_facts(facts, draws, seed)
    points = [
        {
            f"facts.{fact.key}": _text(float(column[i]), fact.unit)
            for fact, column in zip(facts, columns, strict=True)
        }
        for i in range(draws)
    ]
    return Grid("draws", _counted(points), seed)


def _priced(price: str) -> Mapping[str, Any]:
    """The policy at a carbon price; at none it is money alone, as a scenario says it."""
    number = _NUMBER.match(price)
    if number is not None and float(number[0]) == 0:
        return {"policy.objective": "money", "policy.carbon_price": None}
    return {"policy.objective": "weighted", "policy.carbon_price": price}


def _text(value: float, unit: str) -> str:
    """A value as a scenario states it: `0.5`, `0.02 /y`, `700.0 kW`."""
    return f"{value!r}" if unit == "1" else f"{value!r} {unit.removeprefix('1')}"


def _statable(fact: Fact) -> bool:
    """Whether a scenario can state the fact: in a mass per mass, 'kg' alone would be read as kgCO2e."""
    try:
        return bool(parse_quantity(_text(fact.value, fact.unit), fact.unit) == fact.value)
    except UnitError:
        return False


def _counted(points: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    if not 0 < len(points) <= MOST_POINTS:
        raise GridError(
            f"a sweep has 1 to {count_text(MOST_POINTS)} points, and this has {count_text(len(points))}"
        )
    return tuple(points)


def _split(text: str) -> Iterator[str]:
    """Values between commas, except those inside brackets or quotes."""
    depth, quote, value = 0, "", ""
    for sign in text:
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        depth += (sign in _OPEN) - (sign in _CLOSED) if not quote else 0
        if sign == "," and not depth and not quote:
            yield value.strip()
            value = ""
        else:
            value += sign
    yield value.strip()


def _with_unit(values: list[str]) -> list[str]:
    last = _NUMBER.match(values[-1])
    unit = values[-1][last.end() :].strip() if last else ""
    return [f"{value} {unit}" if unit and _NUMBER.fullmatch(value) else value for value in values]
