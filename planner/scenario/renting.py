"""The part of a scenario that rents: nodes by the hour at a provider's location."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from planner.scenario.numbers import Count, Number, Quantity, Range
from planner.scenario.part import Part, SkuName
from planner.scenario.rules import Choice, EachPeriod, Text


class Rental(Part):
    """Nodes by the hour at a provider's location, which counts as one more site that work may use."""

    name: Annotated[str, Text('"cloud-finland"')] = Field(
        description="Name of the location, unique among sites and rentals"
    )
    sku: SkuName = Field(description="What is rented")
    grid: Annotated[str | None, Text('"gcp-europe-north1"')] = Field(
        None, description="Grid region of the catalogue; its intensity declines over the years"
    )
    grid_kgco2e_per_kwh: Annotated[
        tuple[float, ...] | None, EachPeriod(Quantity('"120 g/kWh"', "kgCO2e/kWh", Range(0, 2)))
    ] = Field(None, alias="grid_intensity", description="Your own grid intensity, in place of `grid`")
    pue: Annotated[float | None, Number("1.12", Range(1, 3))] = Field(
        None, description="Power of the provider's building over power of the computers; default: a fact"
    )
    price_usd_per_h: Annotated[
        tuple[float, ...] | None, EachPeriod(Quantity('"3.20 USD/h"', "USD/h", Range(0, 1e6, open=True)))
    ] = Field(None, alias="price", description="Price of an hour in use; default: the catalogue's dated one")
    per: Annotated[Literal["accelerator", "node"], Choice('"accelerator"', ("accelerator", "node"))] = Field(
        "accelerator", description="What the price is for"
    )
    nodes: Annotated[tuple[int, ...] | None, EachPeriod(Count("16", Range(0, 1_000_000)))] = Field(
        None, description="Most nodes at once in a period; default: no limit"
    )
