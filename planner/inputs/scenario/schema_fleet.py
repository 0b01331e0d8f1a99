"""What stands and what can be bought: cohorts, ways to move them, offers and their framework contracts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Annotated, Any, Protocol

from pydantic import Field

from planner.inputs.scenario.base import Part, SiteName, SiteNames, SkuName
from planner.inputs.scenario.fields import Count, Day, Flag, Fraction, Number, Quantity, Range, Text
from planner.inputs.scenario.fields_nested import EachPeriod
from planner.inputs.scenario.problems import Problem

_LIFE = Range(0, 30, open=True)


class Cohort(Part):
    """Nodes that stand there already."""

    sku: SkuName = Field(
        description="What they are; with ' spare' after it, nodes on the shelf: \"gb200-nvl72 spare\""
    )
    site: SiteName = Field(description="Site that holds them today")
    nodes: Annotated[int, Count("64", Range(1, 1_000_000))] = Field(description="How many")
    in_service: Annotated[date, Day("2023-09-15")] = Field(description="Day on which they began to work")
    life_y: Annotated[float | None, Quantity('"6 y"', "y", _LIFE)] = Field(
        None,
        description="Age up to which they serve: gone from the first period that ends later. Default: no end",
    )
    extend_to_y: Annotated[float | None, Quantity('"8 y"', "y", _LIFE)] = Field(
        None, description="Age up to which they may be kept, failing more as they age"
    )
    extension_usd_per_node_h: Annotated[float | None, Quantity('"6 kUSD/y"', "USD/h", Range(0, 1e5))] = Field(
        None, alias="extension_cost", description="Further cost of a node kept beyond its life; default: none"
    )
    paid_usd: Annotated[float | None, Quantity('"310 kUSD"', "USD", Range(0, 1e9))] = Field(
        None,
        description="What a node cost when it was bought; the accounts alone count with it; default: the "
        "price of a new one today",
    )
    resale_usd: Annotated[float | None, Quantity('"8 kUSD"', "USD", Range(-1e7, 1e9))] = Field(
        None,
        description="What a node brings, all costs of its sale paid, if sold at the horizon's start; below "
        "zero: its disposal. Default: the market's value by age, less what a sale costs",
    )
    second_life_nodes: Annotated[int | None, Count("16", Range(1, 1_000_000))] = Field(
        None,
        alias="second_life",
        description="Nodes of it that a lower tier of the firm takes, in place of new ones, when they leave "
        "service here; default: none, they are sold or scrapped",
    )
    resale_decline_fraction: Annotated[float | None, Fraction("0.3", Range(0, 0.99))] = Field(
        None,
        description="Share of it that is lost in a year; not next to policy.residual_value, which says it "
        "for all nodes. Default: as the market's value falls by age",
    )


class Tier(Part):
    """A rebate of a framework contract: every node of the SKU is cheaper from so many on."""

    from_nodes: Annotated[int, Count("32", Range(1, 10_000_000))] = Field(
        description="Nodes ordered over the horizon, all sites together"
    )
    rebate_fraction: Annotated[float, Fraction("0.05", Range(0, 0.95, open=True))] = Field(
        description="What every one of them is cheaper by"
    )


class Offer(Part):
    """Nodes that can be bought."""

    sku: SkuName = Field(description="What is on offer, once for each SKU")
    price_usd: Annotated[
        tuple[float, ...] | None, EachPeriod(Quantity('"280 kUSD"', "USD", Range(0, 1e9, open=True)))
    ] = Field(None, description="Price of a node; default: the catalogue's dated one")
    lead_time_h: Annotated[float, Quantity('"60 d"', "h", Range(0, 43_830))] = Field(
        description="Time from the order to the first hour of work; `0 d` is in stock, which nothing delays"
    )
    order_nodes: Annotated[int, Count("2", Range(1, 100_000))] = Field(
        1, description="Nodes in one order unit; what is sold by the rack or slice is ordered so"
    )
    supply_nodes: Annotated[tuple[int, ...] | None, EachPeriod(Count("64", Range(0, 10_000_000)))] = Field(
        None, description="Nodes that can be had in a period; default: no limit"
    )
    single_spares: Annotated[tuple[int, ...] | None, EachPeriod(Count("4", Range(0, 1_000_000)))] = Field(
        None,
        description="Spare nodes, as trays of a rack, that can be bought one at a time in a period, each at "
        "the price of a node, for the shelf: they take over from failed nodes, and no work; default: none",
    )
    sites: SiteNames = Field(None, description="Sites that may hold them; default: all")
    minimum_nodes: Annotated[int | None, Count("8", Range(1, 10_000_000))] = Field(
        None, description="Fewest that a site orders over the horizon, if it orders any; default: no minimum"
    )
    tiers: tuple[Tier, ...] = Field((), description="Rebates of a framework contract; the best reached holds")


class Move(Part):
    """A way to carry standing nodes to another site; a node moves once."""

    sku: Annotated[str | None, Text('"a100-80-8"')] = Field(
        None, description="What may move; default: every SKU"
    )
    origin: SiteName = Field(alias="from", description="Site that holds them today")
    to: SiteName = Field(description="Where they go")
    cost_usd: Annotated[float, Quantity('"1.5 kUSD"', "USD", Range(0, 1e7))] = Field(
        description="Packing, carriage and installation of a node"
    )
    downtime_h: Annotated[float, Quantity('"14 d"', "h", Range(0, 8766))] = Field(
        description="Time without work; keeping them is paid for. Pools may use the rest of a period, runs "
        "and services need nodes from its first day on"
    )
    distance_km: Annotated[float | None, Quantity('"800 km"', "km", Range(0, 40_000))] = Field(
        None, description="Way by road, for its carbon; default: the catalogue's"
    )
    carbon_kgco2e: Annotated[float | None, Quantity('"60 kg"', "kgCO2e", Range(0, 1e6))] = Field(
        None, description="Carbon of carrying a node, in place of `distance`"
    )


class Contract(Part):
    """Clean energy that may be bought for what a site draws; the program chooses how much."""

    name: Annotated[str, Text('"wind-ppa"')] = Field(description="Name, unique among the contracts")
    site: SiteName = Field(description="Site whose energy it may cover")
    price_premium_usd_per_kwh: Annotated[
        tuple[float, ...], EachPeriod(Quantity('"4 USD/MWh"', "USD/kWh", Range(-5, 5)))
    ] = Field(description="Price on top of that of the electricity")
    volume_kwh: Annotated[
        tuple[float, ...] | None, EachPeriod(Quantity('"2 GWh"', "kWh", Range(0, 1e13)))
    ] = Field(None, description="Most energy in a period; default: no limit")
    power_kw: Annotated[tuple[float, ...] | None, EachPeriod(Quantity('"500 kW"', "kW", Range(0, 1e9)))] = (
        Field(None, description="Most mean power in a period, in place of `volume`")
    )
    intensity_kgco2e_per_kwh: Annotated[float, Quantity('"0 g/kWh"', "kgCO2e/kWh", Range(0, 2))] = Field(
        0.0, description="Carbon of the energy under contract"
    )
    level: Annotated[bool, Flag("true")] = Field(
        False, description="Whether it is the same mean power in every period"
    )
    profile: Annotated[str | None, Text('"wind-2025.csv"', name=False)] = Field(
        None,
        description="How its energy lies in the hours, to tell what it matches hour by hour where `levers` "
        "are allowed: flat, sun (at profile_latitude and profile_longitude), or hours of your own (CSV) in "
        "the folder of this file; default: not known, so matched by the period alone",
    )
    profile_latitude_deg: Annotated[float | None, Number("36.8", Range(-65, 65))] = Field(
        None, alias="profile_latitude", description="Latitude of the plant in degrees, north above 0"
    )
    profile_longitude_deg: Annotated[float | None, Number("-119.8", Range(-180, 180))] = Field(
        None, alias="profile_longitude", description="Longitude of it in degrees, east above 0"
    )


class Accounted(Protocol):
    """What checks look at in the policy, which is read after this module."""

    accounting: str
    objective: str


def limits_twice(document: Mapping[str, Any], policy: Accounted) -> Iterator[Problem]:
    """Contracts whose limit is given twice."""
    entries = document.get("contracts")
    for i, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict) and "volume" in entry and "power" in entry:
            yield Problem(f"contracts[{i}]", "volume and power are the same limit twice: keep one")


def profiles_in_parts(document: Mapping[str, Any], policy: Accounted) -> Iterator[Problem]:
    """The sun of a contract has a place, and nothing else has one."""
    entries = document.get("contracts")
    for i, entry in enumerate(entries if isinstance(entries, list) else ()):
        if not isinstance(entry, dict):
            continue
        place = [key for key in ("profile_latitude", "profile_longitude") if key in entry]
        if entry.get("profile") == "sun" and len(place) < 2:
            yield Problem(
                f"contracts[{i}].profile", "needs profile_latitude and profile_longitude next to it"
            )
        elif entry.get("profile") != "sun" and place:
            yield Problem(f"contracts[{i}].{place[0]}", 'has no effect without profile = "sun": remove it')


def contracts_without_effect(document: Mapping[str, Any], policy: Accounted) -> Iterator[Problem]:
    """Contracts and residual mixes that would not count."""
    if policy.accounting == "market":
        return
    if document.get("contracts"):
        yield Problem(
            "contracts", 'count by the market-based method alone: write policy.accounting = "market"'
        )
    sites = document.get("sites")
    for i, site in enumerate(sites if isinstance(sites, list) else ()):
        if isinstance(site, dict) and "market_intensity" in site:
            where = f"sites.{site.get('name', i)}.market_intensity"
            yield Problem(where, 'has no effect: write policy.accounting = "market", or leave it out')


def order_problems(document: Mapping[str, Any], policy: Accounted) -> Iterator[Problem]:
    """`first` and `tolerance` belong to the lexicographic objective, which needs to know what is first."""
    table = document["policy"]
    if policy.objective == "lexicographic":
        if "first" not in table:
            yield Problem(
                "policy.first",
                'is missing, and objective = "lexicographic" needs it: '
                'write first = "carbon" or first = "money"',
            )
        return
    for key in ("first", "tolerance"):
        if key in table:
            yield Problem(
                f"policy.{key}", 'has no effect: write objective = "lexicographic", or leave it out'
            )
