"""The part of a scenario that buys clean energy, and what has to be said for it to count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field

from planner.scenario.numbers import Quantity, Range
from planner.scenario.part import Part
from planner.scenario.problems import Problem
from planner.scenario.rules import EachPeriod, Flag, Text


class Contract(Part):
    """Clean energy that may be bought for what a site draws; the program chooses how much."""

    name: Annotated[str, Text('"wind-ppa"')] = Field(description="Name, unique among the contracts")
    site: Annotated[str, Text('"dallas"')] = Field(description="Site whose energy it may cover")
    price_premium_usd_per_kwh: Annotated[
        tuple[float, ...], EachPeriod(Quantity('"4 USD/MWh"', "USD/kWh", Range(-5, 5)))
    ] = Field(alias="price_premium", description="Price beyond that of the electricity it stands for")
    volume_kwh: Annotated[
        tuple[float, ...] | None, EachPeriod(Quantity('"2 GWh"', "kWh", Range(0, 1e13)))
    ] = Field(None, alias="volume", description="Most energy in a period; default: no limit")
    power_kw: Annotated[tuple[float, ...] | None, EachPeriod(Quantity('"500 kW"', "kW", Range(0, 1e9)))] = (
        Field(None, alias="power", description="Most mean power in a period, in place of `volume`")
    )
    intensity_kgco2e_per_kwh: Annotated[float, Quantity('"0 g/kWh"', "kgCO2e/kWh", Range(0, 2))] = Field(
        0.0, alias="intensity", description="Carbon of the energy under contract"
    )
    level: Annotated[bool, Flag("true")] = Field(
        False, description="Whether it is the same mean power in every period"
    )


def contract_problems(document: Mapping[str, Any]) -> Iterator[Problem]:
    """Contracts that would not count, and limits that are given twice."""
    entries, policy = document.get("contracts"), document.get("policy")
    accounting = policy.get("accounting") if isinstance(policy, dict) else None
    for i, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict) and "volume" in entry and "power" in entry:
            yield Problem(f"contracts[{i}]", "volume and power are the same limit twice: keep one")
    if entries and accounting != "market":
        yield Problem(
            "contracts", 'count by the market-based method alone: write policy.accounting = "market"'
        )
    sites = document.get("sites")
    for i, site in enumerate(sites if isinstance(sites, list) else ()):
        if isinstance(site, dict) and "market_intensity" in site and accounting != "market":
            where = f"sites.{site.get('name', i)}.market_intensity"
            yield Problem(where, 'has no effect: write policy.accounting = "market", or leave it out')


def order_problems(document: Mapping[str, Any]) -> Iterator[Problem]:
    """`first` and `tolerance` belong to the lexicographic objective, which needs to know what is first."""
    policy = document.get("policy")
    if not isinstance(policy, dict):
        return
    if policy.get("objective") == "lexicographic":
        if "first" not in policy:
            yield Problem("policy.first", 'is missing, and objective = "lexicographic" needs it: '
                          'write first = "carbon" or first = "money"')  # fmt: skip
        return
    for key in ("first", "tolerance"):
        if key in policy:
            yield Problem(
                f"policy.{key}", 'has no effect: write objective = "lexicographic", or leave it out'
            )
