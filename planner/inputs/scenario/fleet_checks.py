"""What is wrong between the keys of a cohort, of an offer or of a move."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from itertools import pairwise
from typing import Any

from planner.inputs.scenario.parts import entries_of
from planner.inputs.scenario.problems import Problem, place, shown
from planner.inputs.scenario.schema import Horizon, Policy
from planner.inputs.scenario.schema_fleet import (
    Cohort,
    Move,
    Offer,
)


def needless_keys(cohort: Cohort, at: str) -> Iterator[Problem]:
    """An extension needs a life and resale that falls from something."""
    for key, attribute in {"extend_to": "extend_to_y", "extension_cost": "extension_usd_per_node_h"}.items():
        if cohort.has(attribute) and not cohort.has("life_y"):
            yield Problem(
                f"{at}.{key}", 'needs a life to go beyond: write for example life = "6 y", or remove it'
            )
    if cohort.has("life_y", "extension_usd_per_node_h") and not cohort.has("extend_to_y"):
        yield Problem(
            f"{at}.extension_cost", 'has no effect: write for example extend_to = "8 y", or remove it'
        )
    if (
        cohort.has("resale_decline_fraction")
        and cohort.reads("resale_usd")
        and (cohort.resale_usd or 0.0) < 0
    ):
        yield Problem(
            f"{at}.resale_decline", "has no effect on a resale below zero, which is a cost: remove it"
        )
    if cohort.has("resale_decline_fraction") and not cohort.has("resale_usd"):
        yield Problem(
            f"{at}.resale_decline", 'has no effect: write for example resale = "8 kUSD", or remove it'
        )


def extended_back(cohort: Cohort, at: str) -> Iterator[Problem]:
    """A life and its extension in order."""
    if cohort.life_y is not None and cohort.extend_to_y is not None and cohort.extend_to_y <= cohort.life_y:
        yield Problem(
            f"{at}.extend_to",
            f"{cohort.extend_to_y:g} y is not beyond life, {cohort.life_y:g} y: "
            "write a longer time, or remove it",
        )


def above_supply(offer: Offer, at: str) -> Iterator[Problem]:
    """A minimum within the supply."""
    supply = None if offer.supply_nodes is None else sum(offer.supply_nodes)
    if supply is not None and offer.minimum_nodes is not None and offer.minimum_nodes > supply:
        yield Problem(
            f"{at}.minimum_nodes",
            f"{offer.minimum_nodes} is more than the supply of the horizon, "
            f"{supply}: lower it, or raise supply_nodes",
        )


def tiers_above_supply(offer: Offer, at: str) -> Iterator[Problem]:
    """Tiers that can be reached."""
    supply = None if offer.supply_nodes is None else sum(offer.supply_nodes)
    for i, tier in enumerate(offer.tiers):
        if supply is not None and tier.from_nodes > supply:
            yield Problem(
                f"{at}.tiers[{i}].from_nodes",
                f"{tier.from_nodes} is more than the supply of the horizon, "
                f"{supply}: lower it, or raise supply_nodes",
            )


def falling_tiers(offer: Offer, at: str) -> Iterator[Problem]:
    """Tiers that rise."""
    for i, (before, tier) in enumerate(pairwise(offer.tiers), start=1):
        if tier.from_nodes <= before.from_nodes or tier.rebate_fraction <= before.rebate_fraction:
            yield Problem(
                f"{at}.tiers[{i}]",
                f"does not rise: {tier.from_nodes} nodes and {tier.rebate_fraction:.3g} come "
                f"after {before.from_nodes} and {before.rebate_fraction:.3g}; write more nodes and "
                "a higher rebate",
            )


def move_to_itself(move: Move, at: str, document: Mapping[str, Any]) -> Iterator[Problem]:
    """A way between two sites."""
    if move.origin == move.to:
        yield Problem(f"{at}.to", f"{shown(move.to)} is where they already are: write another site")


def carbon_of_move_twice(move: Move, at: str, document: Mapping[str, Any]) -> Iterator[Problem]:
    """One statement of its carbon."""
    if move.has("distance_km", "carbon_kgco2e"):
        yield Problem(at, "distance and carbon say the same thing twice: keep one")


def nothing_to_move(move: Move, at: str, document: Mapping[str, Any]) -> Iterator[Problem]:
    """Nodes that move stand there."""
    standing = [entry for _, entry in entries_of(document, "fleet")]
    if not any(
        entry.get("site") == move.origin and move.sku in (None, entry.get("sku")) for entry in standing
    ):
        what = "nothing" if move.sku is None else f"no {shown(move.sku)}"
        yield Problem(
            f"{at}.from",
            f"the fleet has {what} at {shown(move.origin)}: write a site that has it, or remove the move",
        )


OF_COHORTS = (needless_keys, extended_back)
OF_OFFERS = (above_supply, tiers_above_supply, falling_tiers)
OF_MOVES = (move_to_itself, carbon_of_move_twice, nothing_to_move)


def late_energy(document: Mapping[str, Any], horizon: Horizon) -> Iterator[Problem]:
    """What may be bought for a site stands in some period of the horizon."""
    last = horizon.period_starts[-1]
    for i, entry in entries_of(document, "sites"):
        for key in ("solar_from", "battery_from"):
            day = entry.get(key)
            if type(day) is date and day > last:
                yield Problem(
                    f"{place(('sites', i), document)}.{key}",
                    f"{day} is after the last period begins, {last}: nothing that stands then is of use in "
                    "the horizon. Write an earlier day, or remove what may be bought",
                )


def late_cohorts(document: Mapping[str, Any], horizon: Horizon) -> Iterator[Problem]:
    """What stands is in service when the horizon starts."""
    for i, entry in entries_of(document, "fleet"):
        day = entry.get("in_service")
        if type(day) is date and day > horizon.start:
            yield Problem(
                f"fleet[{i}].in_service",
                f"{day} is after the horizon's start, {horizon.start}: "
                "write an earlier day, or offer the nodes on the market",
            )


def declines_twice(cohorts: Mapping[int, Cohort], policy: Policy) -> Iterator[Problem]:
    """By one residual value all nodes lose their value alike: no entry of the fleet may fall otherwise."""
    if policy.residual_value_fraction is None:
        return
    for i, cohort in cohorts.items():
        if cohort.has("resale_decline_fraction"):
            yield Problem(
                f"fleet[{i}].resale_decline",
                "has no effect next to policy.residual_value, by which each node falls in a straight line "
                "over policy.node_life: remove one of them",
            )


def resale_of_nothing(
    document: Mapping[str, Any], cohorts: Mapping[int, Cohort], policy: Policy, horizon: Horizon
) -> Iterator[Problem]:
    """No price of a node is worth something after a life that leaves nothing."""
    if policy.residual_value_fraction != 0:
        return
    for i, cohort in cohorts.items():
        if not cohort.has("in_service", "resale_usd") or (cohort.resale_usd or 0.0) <= 0:
            continue
        age_y = (horizon.start - cohort.in_service).days / 365.25
        if age_y >= policy.node_life_y:
            yield Problem(
                f"fleet[{i}].resale",
                f"is above zero, and policy.residual_value = 0 makes a node of {age_y:.1f} years worth "
                f"nothing after policy.node_life, {policy.node_life_y:g} years: remove one, or write a "
                "longer life",
            )
