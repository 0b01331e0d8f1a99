"""What stands and what can be bought: cohorts, ways to move them, offers and their framework contracts."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from pydantic import Field

from planner.scenario.numbers import Count, Fraction, Quantity, Range
from planner.scenario.part import Part, SiteName, SiteNames, SkuName
from planner.scenario.rules import Day, EachPeriod, Text

_LIFE = Range(0, 30, open=True)


class Cohort(Part):
    """Nodes that stand there already."""

    sku: SkuName = Field(description="What they are")
    site: SiteName = Field(description="Where they stand")
    nodes: Annotated[int, Count("64", Range(1, 1_000_000))] = Field(description="How many")
    in_service: Annotated[date, Day("2023-09-15")] = Field(description="Day on which they began to work")
    life_y: Annotated[float | None, Quantity('"6 y"', "y", _LIFE)] = Field(
        None,
        alias="life",
        description="Age up to which they serve: gone from the first period that ends later. Default: no end",
    )
    extend_to_y: Annotated[float | None, Quantity('"8 y"', "y", _LIFE)] = Field(
        None, alias="extend_to", description="Age up to which they may be kept, failing more as they age"
    )
    extension_usd_per_node_h: Annotated[float | None, Quantity('"6 kUSD/y"', "USD/h", Range(0, 1e5))] = Field(
        None, alias="extension_cost", description="Further cost of a node kept beyond its life; default: none"
    )
    resale_usd: Annotated[float | None, Quantity('"8 kUSD"', "USD", Range(-1e7, 1e9))] = Field(
        None,
        alias="resale",
        description="What a node brings when it is retired at the horizon's start; below zero: its disposal",
    )
    resale_decline_fraction: Annotated[float | None, Fraction("0.3", Range(0, 0.99))] = Field(
        None,
        alias="resale_decline",
        description="Share of it that is lost in a year; default: the catalogue's",
    )


class Tier(Part):
    """A rebate of a framework contract: every node of the SKU is cheaper from so many on."""

    from_nodes: Annotated[int, Count("32", Range(1, 10_000_000))] = Field(
        description="Nodes ordered over the horizon, all sites together"
    )
    rebate_fraction: Annotated[float, Fraction("0.05", Range(0, 0.95, open=True))] = Field(
        alias="rebate", description="What every one of them is cheaper by"
    )


class Offer(Part):
    """Nodes that can be bought."""

    sku: SkuName = Field(description="What is on offer, once for each SKU")
    price_usd: Annotated[
        tuple[float, ...] | None, EachPeriod(Quantity('"280 kUSD"', "USD", Range(0, 1e9, open=True)))
    ] = Field(None, alias="price", description="Price of a node; default: the catalogue's dated one")
    lead_time_h: Annotated[float, Quantity('"60 d"', "h", Range(0, 43_830))] = Field(
        alias="lead_time", description="Time from the order to the first hour of work"
    )
    order_nodes: Annotated[int, Count("2", Range(1, 100_000))] = Field(
        1, description="Nodes in one order unit"
    )
    supply_nodes: Annotated[tuple[int, ...] | None, EachPeriod(Count("64", Range(0, 10_000_000)))] = Field(
        None, description="Nodes that can be had in a period; default: no limit"
    )
    sites: SiteNames = Field(None, description="Sites where they may stand; default: all")
    minimum_nodes: Annotated[int | None, Count("8", Range(1, 10_000_000))] = Field(
        None, description="Fewest that a site orders over the horizon, if it orders any; default: no minimum"
    )
    tiers: tuple[Tier, ...] = Field((), description="Rebates of a framework contract; the best reached holds")


class Move(Part):
    """A way to carry standing nodes to another site; a node moves once."""

    sku: Annotated[str | None, Text('"a100-80-8"')] = Field(
        None, description="What may move; default: every SKU"
    )
    origin: SiteName = Field(alias="from", description="Where they stand")
    to: SiteName = Field(description="Where they go")
    cost_usd: Annotated[float, Quantity('"1.5 kUSD"', "USD", Range(0, 1e7))] = Field(
        alias="cost", description="Packing, carriage and installation of a node"
    )
    downtime_h: Annotated[float, Quantity('"14 d"', "h", Range(0, 8766))] = Field(
        alias="downtime", description="Time without work, counted in whole periods; keeping them is paid for"
    )
    distance_km: Annotated[float | None, Quantity('"800 km"', "km", Range(0, 40_000))] = Field(
        None, alias="distance", description="Way by road, for its carbon; default: the catalogue's"
    )
    carbon_kgco2e: Annotated[float | None, Quantity('"60 kg"', "kgCO2e", Range(0, 1e6))] = Field(
        None, alias="carbon", description="Carbon of carrying a node, in place of `distance`"
    )
