"""How the future may differ: named futures with their chances, or how many to draw from ranges of facts."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Protocol

from pydantic import Field

from planner.inputs.scenario.base import Part
from planner.inputs.scenario.fields import Count, Fraction, Frame, Number, Range, Text
from planner.inputs.scenario.fields_nested import EachPeriod, Several, Table
from planner.inputs.scenario.problems import FieldError, Problem, shown, shown_key

_TIMES = Range(0, 100, open=True)
SUM = 1e-6  # how far the chances of all futures may be from 1 together


@dataclass(frozen=True, slots=True)
class Values(Table):
    """Values at paths of the scenario, as `--set` takes them: path -> text, number, truth value or list."""

    def read(self, value: object, frame: Frame) -> dict[str, Any]:
        """The values; each is read where it goes."""
        if not isinstance(value, dict):
            raise ValueError(f"{shown(value)} is not a table: write for example {self.example}")
        wrong = [
            (f".{shown_key(key)}", f"is a table: write the whole path in quotes, as in {self.example}")
            for key, entry in value.items()
            if isinstance(entry, dict)
        ]
        if wrong:
            raise FieldError(wrong)
        return dict(value)

    def write(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """A copy: the scenario stays as it is."""
        return dict(value)

    def schema(self) -> dict[str, Any]:
        """A table of anything but tables."""
        kinds = ["string", "number", "boolean", "array"]
        examples = [tomllib.loads(f"set = {self.example}")["set"]]
        return {"type": "object", "additionalProperties": {"type": kinds}, "examples": examples}


class Future(Part):
    """One way in which things may go; what it does not name is as the scenario says."""

    name: Annotated[str, Text('"boom"')] = Field(description="Name, unique among the futures")
    probability_fraction: Annotated[float, Fraction("0.3", Range(0, 1, open=True))] = Field(
        description="Its chance; those of all futures add up to 1"
    )
    demand_ratio: Annotated[tuple[float, ...] | None, EachPeriod(Number("1.3", _TIMES))] = Field(
        None, description="Requests of every service, as a multiple of what is stated"
    )
    work_ratio: Annotated[tuple[float, ...] | None, EachPeriod(Number("1.2", _TIMES))] = Field(
        None, description="Accelerator-hours of every pool, as a multiple"
    )
    tokens_ratio: Annotated[float | None, Number("1.2", _TIMES)] = Field(
        None, description="Tokens of every training job, as a multiple"
    )
    failures_ratio: Annotated[float | None, Number("1.5", _TIMES)] = Field(
        None, description="Failure rate of nodes, as a multiple"
    )
    grid_ratio: Annotated[float | None, Number("0.8", _TIMES)] = Field(
        None, description="Carbon intensity of every grid, as a multiple"
    )
    electricity_ratio: Annotated[tuple[float, ...] | None, EachPeriod(Number("1.4", _TIMES))] = Field(
        None, description="Electricity price of every site, as a multiple"
    )
    node_price_ratio: Annotated[tuple[float, ...] | None, EachPeriod(Number("1.1", _TIMES))] = Field(
        None, description="Price of every node on the market, as a multiple"
    )
    values: Annotated[dict[str, Any], Values('{ "market.h200-8.price" = "300 kUSD" }')] = Field(
        {}, alias="set", description="Further values at paths of the scenario, as `--set` takes them"
    )


class Uncertainty(Part):
    """Futures drawn from the ranges of facts and demand, and how many of them are planned for."""

    draws: Annotated[int, Count("200", Range(2, 10_000))] = Field(200, description="Futures drawn")
    reduce_to: Annotated[int, Count("5", Range(1, 50))] = Field(
        5, description="Futures that represent all of them, each with the share of draws nearest to it"
    )
    seed: Annotated[int, Count("1", Range(0, 2**31))] = Field(1, description="The same seed draws the same")
    demand_range: Annotated[tuple[float, ...] | None, Several(Number("0.8", _TIMES), 2)] = Field(
        None,
        alias="demand",
        description="Least and most of every service's requests, as multiples of what is stated; default: as "
        "stated",
    )


class Planned(Protocol):
    """What checks look at in the horizon, which is read after this module."""

    start: date

    @property
    def end(self) -> date:
        """The day after the last one."""


def futures_and_draws(
    document: Mapping[str, Any], futures: Mapping[int, Future], policy: Part | None, horizon: Planned | None
) -> Iterator[Problem]:
    """One statement of what may happen."""
    if document.get("futures") and "uncertainty" in document:
        yield Problem("uncertainty", "and futures say twice what may happen: keep one of them")


def chances(
    document: Mapping[str, Any], futures: Mapping[int, Future], policy: Part | None, horizon: Planned | None
) -> Iterator[Problem]:
    """The chances of all futures add up to one."""
    total = sum(future.probability_fraction for future in futures.values())
    if futures and len(futures) == len(document["futures"]) and abs(total - 1) > SUM:
        yield Problem(
            "futures",
            f"have chances that add up to {total:.6g}: make it 1; a future of only "
            "a name and a probability is the unchanged scenario",
        )


def without_futures(
    document: Mapping[str, Any], futures: Mapping[int, Future], policy: Part | None, horizon: Planned | None
) -> Iterator[Problem]:
    """What belongs to futures has some."""
    table = document.get("policy")
    for key in ("robust", "decide_until"):
        if isinstance(table, dict) and key in table and not ({"futures", "uncertainty"} & document.keys()):
            yield Problem(
                f"policy.{key}", "has no effect without [[futures]] or [uncertainty]: add some, or remove it"
            )


def decided_outside(
    document: Mapping[str, Any], futures: Mapping[int, Future], policy: Part | None, horizon: Planned | None
) -> Iterator[Problem]:
    """The day until which is decided lies in the horizon."""
    table = document.get("policy")
    day = table.get("decide_until") if isinstance(table, dict) else None
    if type(day) is date and horizon is not None and not horizon.start < day <= horizon.end:
        yield Problem(
            "policy.decide_until",
            f"{day} is not in the horizon: write a day after {horizon.start} and up to {horizon.end}",
        )


def more_than_drawn(uncertainty: Uncertainty) -> Iterator[Problem]:
    """No more futures are kept than are drawn."""
    if uncertainty.reduce_to > uncertainty.draws:
        yield Problem(
            "uncertainty.reduce_to",
            f"is {uncertainty.reduce_to}, more than the {uncertainty.draws} draws: lower it, or draw more",
        )


def demand_around_one(uncertainty: Uncertainty) -> Iterator[Problem]:
    """The range of demand holds what is stated."""
    ends = uncertainty.demand_range
    if ends is not None and not (len(ends) == 2 and ends[0] <= 1 <= ends[1]):
        yield Problem(
            "uncertainty.demand",
            "holds a least and a most with 1 between them: write for example demand = [0.8, 1.3]",
        )


OF_FUTURES = (futures_and_draws, chances, without_futures, decided_outside)
OF_DRAWS = (more_than_drawn, demand_around_one)
