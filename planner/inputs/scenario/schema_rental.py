"""What can be rented: by the hour, as spot, for a block of time, or for years."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from typing import Annotated, Literal, Protocol

from pydantic import Field

from planner.inputs.scenario.base import Part, SkuName
from planner.inputs.scenario.fields import Choice, Count, Day, Flag, Number, Quantity, Range, Text
from planner.inputs.scenario.fields_nested import EachPeriod
from planner.inputs.scenario.problems import Problem

# How facts are named that say what an accelerator-hour costs under a commitment.
COMMITMENTS = {"spot": "spot", "block": "block", "1 year": "year_1", "3 years": "year_3"}


def price_keys(has: Callable[[str], bool], commitment: str, accelerator: str) -> tuple[str, ...]:
    """The fact that an accelerator-hour costs; or two, that on demand and the share of it to be paid."""
    on_demand = f"rental.{accelerator}.price"
    if commitment == "on demand":
        return (on_demand,)
    word = COMMITMENTS[commitment]
    own = f"rental.{accelerator}.{word}"
    return (own,) if has(own) else (on_demand, f"rental.{word}.ratio")


class Horizon(Protocol):
    """What checks look at in the horizon, which is read after this module."""

    @property
    def period_starts(self) -> tuple[date, ...]:
        """First day of each period."""
        ...

    @property
    def end(self) -> date:
        """The day after the last one."""
        ...


class Rental(Part):
    """Nodes at a provider's location, which counts as one more site that work may use, and on which terms."""

    name: Annotated[str, Text('"cloud-finland"')] = Field(
        description="Name of the location, unique among sites and rentals"
    )
    sku: SkuName = Field(description="What is rented")
    region: Annotated[str | None, Text('"azure/westeurope"', name=False)] = Field(
        None,
        description="Region of a provider or of your own: its grid and PUE hold where they are not stated; "
        "`everfleet regions` lists them",
    )
    grid: Annotated[str | None, Text('"gcp-europe-north1"')] = Field(
        None, description="Grid region of the catalogue; its intensity declines over the years"
    )
    grid_kgco2e_per_kwh: Annotated[
        tuple[float, ...] | None, EachPeriod(Quantity('"120 g/kWh"', "kgCO2e/kWh", Range(0, 2)))
    ] = Field(None, alias="grid_intensity", description="Your own grid intensity, in place of `grid`")
    pue: Annotated[float | None, Number("1.12", Range(1, 3))] = Field(
        None,
        description="Power of the provider's building over power of the computers; "
        "default: the fact rental.pue",
    )
    price_usd_per_h: Annotated[
        tuple[float, ...] | None, EachPeriod(Quantity('"3.20 USD/h"', "USD/h", Range(0, 1e6, open=True)))
    ] = Field(
        None,
        description="Price of an hour in use, under a term of every hour; default: the catalogue's dated one "
        "for this commitment",
    )
    per: Annotated[Literal["accelerator", "node"], Choice('"accelerator"', ("accelerator", "node"))] = Field(
        "accelerator", description="What the price is for"
    )
    nodes: Annotated[tuple[int, ...] | None, EachPeriod(Count("16", Range(0, 1_000_000)))] = Field(
        None, description="Most nodes at once in a period; default: no limit"
    )
    commitment: Annotated[
        Literal["on demand", "spot", "block", "1 year", "3 years"],
        Choice('"1 year"', ("on demand", "spot", "block", "1 year", "3 years")),
    ] = Field(
        "on demand",
        description="On demand and spot are paid by the hour in use, by whole nodes where services stand, "
        "and spot may be taken back; a block, a year and three years are paid used or not, from a period "
        "that the program chooses",
    )
    starts: Annotated[date | None, Day("2027-04-01")] = Field(
        None, description="First day of a block, or the first on which a term may begin; that of a period"
    )
    ends: Annotated[date | None, Day("2027-07-01")] = Field(
        None, description="Day at whose beginning a block ends; the first of a period, or the horizon's end"
    )
    interruption_rate_per_node_h: Annotated[float | None, Quantity('"0.2 /month"', "1/h", Range(0, 1))] = (
        Field(
            None,
            description="How often a spot node is taken back; default: the catalogue's for its accelerator",
        )
    )

    signed: Annotated[bool, Flag("true")] = Field(
        False,
        description="Whether a block or a term is signed already: all its nodes are paid in any case, from "
        "`starts`; a term that has begun is a block to its last day",
    )

    @property
    def by_the_hour(self) -> bool:
        """Whether only hours in use are paid."""
        return self.commitment in ("on demand", "spot")

    @property
    def term_months(self) -> int:
        """Length of a term in months; 0 for a block, whose days are stated, and for what is by the hour."""
        return {"1 year": 12, "3 years": 36}.get(self.commitment, 0)


def needless_terms(rental: Rental, at: str) -> Iterator[Problem]:
    """A block has its days, spot its interruptions; other ways to rent have neither."""
    if rental.commitment == "block":
        for key in ("starts", "ends"):
            if not rental.has(key):
                yield Problem(
                    f"{at}.{key}", f"is missing, and a block needs it: write for example {key} = 2027-04-01"
                )
    elif rental.has("ends"):
        yield Problem(f"{at}.ends", 'has no effect: write commitment = "block", or remove it')
    if rental.by_the_hour and rental.has("starts"):
        yield Problem(
            f"{at}.starts", "has no effect on what is rented by the hour: remove it, or write commitment"
        )
    if rental.signed and rental.by_the_hour:
        yield Problem(f"{at}.signed", "has no effect on what is rented by the hour: remove it")
    elif rental.signed:
        if not rental.has("starts"):
            yield Problem(f"{at}.starts", "is missing, and what is signed needs it: write its first day")
        if rental.nodes is None or len(set(rental.nodes)) > 1:
            yield Problem(
                f"{at}.nodes", "is how many were taken, one number, where a term is signed: write it"
            )
    if rental.has("interruption_rate_per_node_h") and rental.commitment != "spot":
        yield Problem(f"{at}.interruption_rate", 'has no effect: write commitment = "spot", or remove it')


def between_periods(rental: Rental, at: str, horizon: Horizon) -> Iterator[Problem]:
    """Terms and blocks begin and end with a period."""
    days = (*horizon.period_starts, horizon.end)
    for key, day in {"starts": rental.starts, "ends": rental.ends}.items():
        if day is not None and day not in days:
            near = min(days, key=lambda each: abs((each - day).days))
            yield Problem(
                f"{at}.{key}", f"{day} is inside a period or outside the horizon: write for example {near}"
            )
    if rental.starts is not None and rental.ends is not None and rental.ends <= rental.starts:
        yield Problem(f"{at}.ends", f"{rental.ends} is not after starts, {rental.starts}: write a later day")
