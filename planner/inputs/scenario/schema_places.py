"""Where nodes stand: sites with their power, space and terms, and power that several sites share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import Field

from planner.inputs.scenario.base import Part, SiteRef
from planner.inputs.scenario.fields import Choice, Count, Day, Flag, Fraction, Number, Quantity, Range, Text
from planner.inputs.scenario.fields_nested import EachPeriod, Several
from planner.inputs.scenario.problems import Problem

_SITE = Text('"dallas"')


class Site(Part):
    """A data centre, or the part of one that is yours to fill."""

    name: Annotated[str, _SITE] = Field(description="Name, unique among the sites")
    region: Annotated[str | None, Text('"aws/eu-central-1"', name=False)] = Field(
        None,
        description="Region of a provider or of your own: its grid and PUE hold where they are not stated; "
        "`everfleet regions` lists them",
    )
    grid: Annotated[str | None, Text('"se"')] = Field(
        None, description="Grid region of the catalogue; its intensity declines over the years"
    )
    grid_kgco2e_per_kwh: Annotated[
        tuple[float, ...] | None, EachPeriod(Quantity('"120 g/kWh"', "kgCO2e/kWh", Range(0, 2)))
    ] = Field(None, alias="grid_intensity", description="Your own grid intensity, in place of `grid`")
    hourly: Annotated[str | None, Text('"grid-2025.csv"', name=False)] = Field(
        None,
        description="Your own hours of the grid (CSV) in the folder of this file, in place of `grid`: each "
        "period takes the mean of its calendar months",
    )
    hourly_shape: Annotated[str | None, Text('"gb-2021"', name=False)] = Field(
        None,
        description="Hours whose shape operation is planned by where `levers` allow it: a shipped series, or "
        "your own (CSV) in the folder of this file; the mean stays that of the site. Default: those of "
        "`hourly`, else the shipped series of `grid`, else a flat grid",
    )
    pue: Annotated[float, Number("1.12", Range(1, 3))] = Field(
        description="Power of the building over power of the computers"
    )
    power_cap_kw: Annotated[tuple[float, ...], EachPeriod(Quantity('"2 MW"', "kW", Range(0, 1e7)))] = Field(
        description="Power that the building may draw, cooling included; 0 before it is energised"
    )
    racks: Annotated[int, Count("60", Range(1, 1_000_000))] = Field(description="Racks of space")
    market_kgco2e_per_kwh: Annotated[
        tuple[float, ...] | None, EachPeriod(Quantity('"340 g/kWh"', "kgCO2e/kWh", Range(0, 2)))
    ] = Field(
        None,
        alias="market_intensity",
        description="Residual mix or supplier's factor, for market-based accounting; default: the grid's",
    )
    electricity_price_usd_per_kwh: Annotated[
        tuple[float, ...] | None, EachPeriod(Quantity('"62 USD/MWh"', "USD/kWh", Range(0, 5)))
    ] = Field(
        None,
        description="Price of energy, or a file of hours with their prices (CSV) in the "
        "folder of this file; default: the catalogue's",
    )
    price_shape: Annotated[str | None, Text('"prices-2025.csv"', name=False)] = Field(
        None,
        description="Hours of prices (CSV) in the folder of this file, whose shape operation is planned by "
        "where `levers` allow it; the mean stays that of the site. Default: those of the file that "
        "`electricity_price` names, else the same price at all hours",
    )
    egress_price_usd_per_gb: Annotated[float | None, Quantity('"0.02 USD/GB"', "USD/GB", Range(0, 10))] = (
        Field(
            None,
            description="Price of data that leave the site for another one; default: the fact "
            "network.egress.price",
        )
    )
    wue_l_per_kwh: Annotated[float | None, Quantity('"0.2 L/kWh"', "L/kWh", Range(0, 20))] = Field(
        None,
        description="Water used on site for each kWh of the computers; "
        "default: of its region, else the fact wue.default",
    )
    storage_gb: Annotated[float | None, Quantity('"20 PB"', "GB", Range(0, 1e12, open=True))] = Field(
        None,
        description="Data that the site keeps through the horizon, without its copies: counted in the whole "
        "ledger, next to what the plan minimises",
    )
    storage_medium: Annotated[Literal["hdd", "ssd"] | None, Choice('"hdd"', ("hdd", "ssd"))] = Field(
        None, description="What it is kept on; default: hdd"
    )
    storage_reads_ratio: Annotated[float | None, Number("8", Range(0, 10_000, open=True))] = Field(
        None,
        alias="storage_reads_ratio",
        description="Read operations that its work asks for, over those that drives for one copy give; above "
        "the copies, drives are added for their operations",
    )
    rack_power_kw: Annotated[float | None, Quantity('"17 kW"', "kW", Range(0, 1000, open=True))] = Field(
        None, description="Power that a rack can be given, by the rating of its nodes; default: no limit"
    )
    cooling: Annotated[Literal["air", "liquid"] | None, Choice('"air"', ("air", "liquid"))] = Field(
        None,
        description="How racks are cooled: by air, nodes that need liquid have no place. Default: either",
    )
    space: Annotated[Literal["owned"] | None, Choice('"owned"', ("owned",))] = Field(
        None,
        description="Whose the building is: that of an owned one is paid for and charged to nobody; "
        "default: let, at `space_price`",
    )
    space_price_usd_per_kw_month: Annotated[
        tuple[float, ...] | None,
        EachPeriod(Quantity('"170 USD/kW/month"', "USD/kW/month", Range(0, 100_000))),
    ] = Field(
        None,
        description="Price of space and cooling by the rated power of the nodes that stand there, energy "
        "apart; default: the fact finance.space",
    )
    space_committed_kw: Annotated[
        tuple[float, ...] | None, EachPeriod(Quantity('"100 kW"', "kW", Range(0, 1e7)))
    ] = Field(
        None,
        description="Rated power of space that is paid whether used or not; more is had at the same price",
    )
    demand_charge_usd_per_kw_month: Annotated[
        tuple[float, ...] | None,
        EachPeriod(Quantity('"14.6 USD/kW/month"', "USD/kW/month", Range(0, 10_000))),
    ] = Field(
        None,
        description="Price of the site's highest power in a period, next to the price of energy; default: "
        "none, the catalogue's prices of energy are mean bills",
    )
    curtailment_kw: Annotated[float | None, Quantity('"300 kW"', "kW", Range(0, 1e7, open=True))] = Field(
        None,
        description="Least power that stops whenever the site is called on to draw less, by a contract that "
        "is signed where it pays; work of pools that may wait, and runs that may pause, stop",
    )
    curtailment_hours_h: Annotated[float | None, Quantity('"50 h"', "h", Range(0, 4000, open=True))] = Field(
        None, description="Hours of a year in which it is called on, at the most"
    )
    curtailment_event_h: Annotated[float | None, Quantity('"2 h"', "h", Range(0.05, 200))] = Field(
        None, description="Hours of one call, after which work starts anew"
    )
    curtailment_notice_h: Annotated[float | None, Quantity('"30 min"', "h", Range(0, 1000))] = Field(
        None,
        description="Time from a call until power has to be down: too short for jobs to stop, none counts",
    )
    curtailment_payment_usd_per_kw_month: Annotated[
        tuple[float, ...] | None,
        EachPeriod(Quantity('"6 USD/kW/month"', "USD/kW/month", Range(0, 10_000))),
    ] = Field(None, description="What is paid for each kilowatt that may stop")
    curtailment_obliged: Annotated[bool, Flag("true")] = Field(
        False, description="Whether the contract is signed already, or a condition of the connection"
    )
    solar_kw: Annotated[float | None, Quantity('"400 kW"', "kW", Range(0, 1e7, open=True))] = Field(
        None,
        description="Rated power of the sun's cells that stand at the site: used by the hour where `levers` "
        "are allowed, never sold",
    )
    solar_more_kw: Annotated[float | None, Quantity('"3 MW"', "kW", Range(0, 1e7, open=True))] = Field(
        None,
        description="Most of the sun's cells that may be bought for the site, next to `solar`: how much is a "
        "decision of the plan where `levers` are allowed",
    )
    solar_price_usd_per_kw: Annotated[float | None, Quantity('"1500 USD/kW"', "USD/kW", Range(0, 1e5))] = (
        Field(
            None,
            description="Price of what may be bought, installed, by rated power: charged over its life in "
            "the cost, due in full in purchases, cash and budget when it stands",
        )
    )
    solar_upkeep_fraction: Annotated[float | None, Fraction("0.012", Range(0, 1))] = Field(
        None, description="Share of that price that running them takes in a year"
    )
    solar_embodied_kgco2e_per_kw: Annotated[
        float | None, Quantity('"1900 kg/kW"', "kgCO2e/kW", Range(0, 1e5))
    ] = Field(None, description="Carbon of making and raising them, by rated power")
    solar_life_y: Annotated[float | None, Quantity('"30 y"', "y", Range(1, 60))] = Field(
        None, description="Life over which their price and their making are spread"
    )
    solar_from: Annotated[date | None, Day("2027-07-01")] = Field(
        None,
        description="Day from which those that are bought stand: they give and cost in periods that begin "
        "then or later. Default: the first day",
    )
    solar_spread_fraction: Annotated[float | None, Fraction("0.35", Range(0, 0.9))] = Field(
        None,
        description="Standard deviation of the sun of a day over its mean in the month, by clouds: half of "
        "the days are clear, half dull. Default: all days of a month alike",
    )
    solar_yield_fraction: Annotated[float | None, Fraction("0.18", Range(0, 0.5, open=True))] = Field(
        None, description="Mean power of them over their rated power, through the year"
    )
    solar_latitude_deg: Annotated[float | None, Number("36.8", Range(-65, 65))] = Field(
        None, alias="solar_latitude", description="Latitude of the site in degrees, north above 0"
    )
    solar_longitude_deg: Annotated[float | None, Number("-119.8", Range(-180, 180))] = Field(
        None, alias="solar_longitude", description="Longitude of the site in degrees, east above 0"
    )
    battery_kwh: Annotated[float | None, Quantity('"2 MWh"', "kWh", Range(0, 1e8, open=True))] = Field(
        None,
        description="Most battery that may be bought for the site: how much, and what it does in each slot, "
        "are decisions of the plan where `levers` are allowed",
    )
    battery_full_power_h: Annotated[float | None, Quantity('"4 h"', "h", Range(0.25, 48))] = Field(
        None, alias="battery_hours", description="Hours for which it gives its full power"
    )
    battery_efficiency_fraction: Annotated[float | None, Fraction("0.86", Range(0.1, 1))] = Field(
        None, description="Energy out over energy in, both ways together"
    )
    battery_price_usd_per_kwh: Annotated[
        float | None, Quantity('"300 USD/kWh"', "USD/kWh", Range(0, 1e5))
    ] = Field(
        None,
        description="Price of it, installed: charged over its life in the cost, due in full in purchases, "
        "cash and budget when it stands",
    )
    battery_embodied_kgco2e_per_kwh: Annotated[
        float | None, Quantity('"104 kg/kWh"', "kgCO2e/kWh", Range(0, 1e4))
    ] = Field(None, description="Carbon of making it; 74 to 134 kg/kWh are published")
    battery_life_y: Annotated[float | None, Quantity('"12 y"', "y", Range(1, 40))] = Field(
        None, description="Life over which its price and its making are spread"
    )
    battery_from: Annotated[date | None, Day("2027-07-01")] = Field(
        None,
        description="Day from which it stands: it works and costs in periods that begin then or later. "
        "Default: the first day",
    )

    @property
    def has_energy(self) -> bool:
        """Whether a battery or the sun is stated, standing or to be bought."""
        return any(one is not None for one in (self.battery_kwh, self.solar_kw, self.solar_more_kw))


class PowerGroup(Part):
    """A feed or a contract for power that several sites share."""

    name: Annotated[str, Text('"campus-north"')] = Field(description="Name, unique among the power groups")
    sites: Annotated[tuple[str, ...], Several(SiteRef('"dallas"'))] = Field(description="Sites that share it")
    power_cap_kw: Annotated[tuple[float, ...], EachPeriod(Quantity('"3 MW"', "kW", Range(0, 1e7)))] = Field(
        description="Power that all of them together may draw, cooling included"
    )


class SiteLink(Part):
    """What joins two sites: a run that states `across` may use nodes of both."""

    sites: Annotated[
        tuple[str, ...], Several(SiteRef('"dallas"'), most=2, least=2, example='["dallas", "oregon"]')
    ] = Field(description="The two sites that it joins")
    bandwidth_gb_per_s: Annotated[float, Quantity('"800 Gbit/s"', "GB/s", Range(0, 1e9, open=True))] = Field(
        description="What it carries each way"
    )
    latency_s: Annotated[float, Quantity('"20 ms"', "s", Range(0, 60))] = Field(
        description="Time that a bit takes one way"
    )
    oversubscription_ratio: Annotated[float, Number("2", Range(1, 1000))] = Field(
        1.0, description="How many times more is sold of it than it carries; default: 1, all of it is yours"
    )


def linked_twice(document: Mapping[str, Any]) -> Iterator[Problem]:
    """One link between two sites."""
    seen: dict[frozenset[Any], int] = {}
    entries = document.get("links")
    for i, entry in enumerate(entries if isinstance(entries, list) else []):
        ends = entry.get("sites") if isinstance(entry, dict) else None
        if not isinstance(ends, list) or not all(isinstance(end, str) for end in ends):
            continue
        first = seen.setdefault(frozenset(ends), i)
        if first != i:
            yield Problem(f"links[{i}].sites", f"links[{first}] joins the same sites: keep one")


def owned_and_priced(site: Site, at: str) -> Iterator[Problem]:
    """An owned building has no price; what is committed has one."""
    for key, name in {
        "space_price": "space_price_usd_per_kw_month",
        "space_committed": "space_committed_kw",
    }.items():
        if site.space == "owned" and site.has(name):
            yield Problem(f"{at}.{key}", 'has no effect on an owned building: remove it, or space = "owned"')


def counted_twice(site: Site, at: str) -> Iterator[Problem]:
    """A demand charge next to a price of energy that has one in it."""
    if site.has("demand_charge_usd_per_kw_month") and not site.has("electricity_price_usd_per_kwh"):
        yield Problem(
            f"{at}.electricity_price",
            "is missing, and demand_charge needs it: the catalogue's prices are mean bills, with demand "
            'charges in them. Write for example electricity_price = "45 USD/MWh"',
        )


OF_THE_SUN = {
    "solar_yield": "solar_yield_fraction",
    "solar_latitude": "solar_latitude_deg",
    "solar_longitude": "solar_longitude_deg",
}
OF_MORE_SUN = {
    "solar_price": "solar_price_usd_per_kw",
    "solar_upkeep": "solar_upkeep_fraction",
    "solar_embodied": "solar_embodied_kgco2e_per_kw",
    "solar_life": "solar_life_y",
}
OF_CURTAILMENT = {
    "curtailment_hours": "curtailment_hours_h",
    "curtailment_event": "curtailment_event_h",
    "curtailment_notice": "curtailment_notice_h",
    "curtailment_payment": "curtailment_payment_usd_per_kw_month",
}
OF_THE_BATTERY = {
    "battery_hours": "battery_full_power_h",
    "battery_efficiency": "battery_efficiency_fraction",
    "battery_price": "battery_price_usd_per_kwh",
    "battery_embodied": "battery_embodied_kgco2e_per_kwh",
    "battery_life": "battery_life_y",
}


def reads_of_nothing(site: Site, at: str) -> Iterator[Problem]:
    """Drives that serve reads hold data."""
    if site.has("storage_reads_ratio") and not site.has("storage_gb"):
        yield Problem(
            f"{at}.storage_reads_ratio", 'has no effect without storage: write for example storage = "20 PB"'
        )


def energy_in_parts(site: Site, at: str) -> Iterator[Problem]:
    """A battery, the sun's cells and curtailment are stated whole, or not at all."""
    more, clouds = {"solar_more": "solar_more_kw"}, {"solar_spread": "solar_spread_fraction"}
    for wholes, needed, read in (
        ({"solar": "solar_kw"} | more, OF_THE_SUN, OF_THE_SUN | clouds),
        (more, OF_MORE_SUN | clouds, OF_MORE_SUN | {"solar_from": "solar_from"}),
        ({"battery": "battery_kwh"}, OF_THE_BATTERY, OF_THE_BATTERY | {"battery_from": "battery_from"}),
        ({"curtailment": "curtailment_kw"}, OF_CURTAILMENT, OF_CURTAILMENT),
    ):
        whole = [key for key, attribute in wholes.items() if site.has(attribute)]
        lacking = [key for key, attribute in needed.items() if not site.has(attribute)]
        alone = [key for key, attribute in read.items() if site.has(attribute)]
        if whole and lacking:
            yield Problem(f"{at}.{whole[0]}", f"needs {', '.join(lacking)} next to it")
        elif not whole and alone:
            without = " or ".join(wholes)
            yield Problem(f"{at}.{alone[0]}", f"has no effect without {without}: write it, or remove this")
