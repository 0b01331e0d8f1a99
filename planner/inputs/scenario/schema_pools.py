"""Work that may be divided and can wait: a pool, and the ways to state what it needs.

Each way has one key by period that says how much, and further keys that only it takes. What a node does of
the work, and so how many node-hours it is, is for `planner.physics`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from planner.inputs.scenario.base import CardName, Part, Precision, SiteNames, SkuName, SkuNames
from planner.inputs.scenario.fields import Choice, EachPeriod, Fraction, Number, Quantity, Range, Text
from planner.inputs.scenario.problems import Problem

_MODEL = "Model of the catalogue, or the path of its Hugging Face config.json from the folder of the scenario"
_TIME, _PER_D = Range(1, 1e12, or_none=True), Range(1e-6, 1e18, or_none=True)
_TOKENS = Range(0, 1e8, open=True)


class Pool(Part):
    """Many small jobs that together need node-hours, whichever they run on."""

    name: Annotated[str, Text('"fine-tuning"')] = Field(description="Name, unique among the pools")
    model: CardName = Field(description=f"{_MODEL}; it represents the work")
    reference: SkuName = Field(
        description="SKU in whose accelerator-hours the need is stated, or shown where it is stated otherwise"
    )
    gpu_time_h: Annotated[tuple[float, ...] | None, EachPeriod(Quantity('"250000 h"', "h", _TIME))] = Field(
        None, alias="gpu_time", description="Accelerator-hours of the reference in a period"
    )
    items_per_d: Annotated[tuple[float, ...] | None, EachPeriod(Quantity('"5e6 /d"', "1/d", _PER_D))] = Field(
        None,
        alias="items",
        description="In place of `gpu_time`, batch inference: prompts that are answered, whenever that is, "
        "by replicas that are always full",
    )
    tokens_in: Annotated[float | None, Number("1200", _TOKENS)] = Field(
        None, description="Mean prompt tokens of an item or a rollout"
    )
    tokens_out: Annotated[float | None, Number("150", Range(0, 1e8))] = Field(
        None, description="Mean tokens of an answer or a rollout; 0 where prompts are only read"
    )
    passes: Annotated[float | None, Number("4", Range(1, 1e6))] = Field(
        None,
        description="How often each item is gone through: checkpoints or seeds that an evaluation tries; "
        "default: once",
    )
    engine: Annotated[str | None, Text('"vllm"')] = Field(
        None, description="Serving engine of items and rollouts; default: the newest of the catalogue"
    )
    precision: Precision = Field(
        "bf16", description="Number format of the weights and of the matrix work; default: bf16"
    )
    demand_error_fraction: Annotated[float | None, Fraction("0.15", Range(0, 2))] = Field(
        None,
        alias="demand_error",
        description="How far off this may be a quarter ahead, as a standard deviation; "
        "default: the fact planning.demand_error",
    )
    utilisation_fraction: Annotated[float | None, Fraction("0.8", Range(0.05, 1))] = Field(
        None,
        alias="utilisation",
        description="Share of the available node-hours that its jobs fill; "
        "default: the fact pool.utilisation",
    )
    window: Annotated[Literal["day", "period"], Choice('"day"', ("day", "period"))] = Field(
        "day", description="How long its work may wait where it may shift: within its day, or in the period"
    )
    may_wait_fraction: Annotated[float | None, Fraction("0.7", Range(0, 1))] = Field(
        None,
        alias="may_wait",
        description="Share of its work that may wait for another hour; default: the fact pool.may_wait",
    )
    skus: SkuNames = Field(None, description="SKUs that it may use; default: all")
    sites: SiteNames = Field(None, description="Sites where it may run; default: all")

    @property
    def way(self) -> Way:
        """How its need is stated."""
        return next((way for way in WAYS if self.has(way.attribute)), WAYS[0])

    @property
    def answers(self) -> bool:
        """Whether its work is prompts that are answered; else it is training."""
        return self.way.key == "items"

    @property
    def need(self) -> tuple[float, ...]:
        """What it needs in each period, in the unit of its way."""
        found: tuple[float, ...] = getattr(self, self.way.attribute)
        return found


@dataclass(frozen=True, slots=True)
class Way:
    """One way to state a need: its key by period, what has to be next to it, and what may be."""

    key: str
    attribute: str
    unit: str
    needs: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    of_reference: bool = False  # hours of the reference, whose own rate then plays no part


WAYS = (
    Way("gpu_time", "gpu_time_h", "h", of_reference=True),
    Way("items", "items_per_d", "1/d", ("tokens_in", "tokens_out"), ("passes", "engine")),
)
_EXAMPLES = {"tokens_in": "1200", "tokens_out": "150"}
_OWN = dict.fromkeys(key for way in WAYS for key in (*way.needs, *way.may))


def one_way(entry: Mapping[str, Any], at: str) -> Iterator[Problem]:
    """A pool says in one way what it needs, with the keys of that way and no others."""
    stated = [way for way in WAYS if way.key in entry]
    if len(stated) != 1:
        keys = [way.key for way in stated or WAYS]
        listed = f"{', '.join(keys[:-1])} and {keys[-1]}"
        said = "all say what it needs: keep one" if stated else "say what a pool needs: write one of them"
        yield Problem(at, f"{listed} {said}")
        return
    way = stated[0]
    for key in way.needs:
        if key not in entry:
            yield Problem(
                f"{at}.{key}",
                f"is missing, and {way.key} needs it: write for example {key} = {_EXAMPLES[key]}",
            )
    for key in _OWN:
        if key in entry and key not in (*way.needs, *way.may):
            homes = " or ".join(other.key for other in WAYS if key in (*other.needs, *other.may))
            yield Problem(f"{at}.{key}", f"has no effect with {way.key}, only with {homes}: remove it")
