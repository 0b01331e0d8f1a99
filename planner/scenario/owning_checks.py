"""What fields of cohorts, offers and moves cannot know of each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from planner.scenario.owning import Cohort, Move, Offer
from planner.scenario.problems import Problem, shown


def cohort_problems(cohort: Cohort, at: str) -> Iterator[Problem]:
    """A life and its extension in order; resale that falls from something."""
    extended = {"extend_to": cohort.extend_to_y, "extension_cost": cohort.extension_usd_per_node_h}
    for key, value in extended.items() if cohort.life_y is None else ():
        if value is not None:
            yield Problem(f"{at}.{key}", 'needs a life to go beyond: write for example life = "6 y", or '
                          "remove it")  # fmt: skip
    if cohort.life_y is not None and cohort.extend_to_y is not None and cohort.extend_to_y <= cohort.life_y:
        yield Problem(f"{at}.extend_to", f"{cohort.extend_to_y:g} y is not beyond life, {cohort.life_y:g} y: "
                      "write a longer time, or remove it")  # fmt: skip
    if (
        cohort.life_y is not None
        and cohort.extension_usd_per_node_h is not None
        and cohort.extend_to_y is None
    ):
        yield Problem(f"{at}.extension_cost", 'has no effect: write for example extend_to = "8 y", or '
                      "remove it")  # fmt: skip
    if cohort.resale_decline_fraction is not None and cohort.resale_usd is None:
        yield Problem(f"{at}.resale_decline", 'has no effect: write for example resale = "8 kUSD", or '
                      "remove it")  # fmt: skip


def offer_problems(offer: Offer, at: str) -> Iterator[Problem]:
    """A minimum within the supply; tiers that rise, within the supply."""
    supply = None if offer.supply_nodes is None else sum(offer.supply_nodes)
    if supply is not None and offer.minimum_nodes is not None and offer.minimum_nodes > supply:
        yield Problem(f"{at}.minimum_nodes", f"{offer.minimum_nodes} is more than the supply of the horizon, "
                      f"{supply}: lower it, or raise supply_nodes")  # fmt: skip
    for i, tier in enumerate(offer.tiers):
        here = f"{at}.tiers[{i}]"
        if supply is not None and tier.from_nodes > supply:
            yield Problem(f"{here}.from_nodes", f"{tier.from_nodes} is more than the supply of the horizon, "
                          f"{supply}: lower it, or raise supply_nodes")  # fmt: skip
        if i == 0:
            continue
        before = offer.tiers[i - 1]
        if tier.from_nodes <= before.from_nodes or tier.rebate_fraction <= before.rebate_fraction:
            yield Problem(here, f"does not rise: {tier.from_nodes} nodes and {tier.rebate_fraction:.3g} come "
                          f"after {before.from_nodes} and {before.rebate_fraction:.3g}; write more nodes and "
                          "a higher rebate")  # fmt: skip


def move_problems(move: Move, at: str, document: Mapping[str, Any]) -> Iterator[Problem]:
    """A way between two sites, for nodes that stand there, with one statement of its carbon."""
    if move.origin == move.to:
        yield Problem(f"{at}.to", f"{shown(move.to)} is where they stand: write another site")
    if move.distance_km is not None and move.carbon_kgco2e is not None:
        yield Problem(at, "distance and carbon say the same thing twice: keep one")
    fleet = document.get("fleet")
    standing = [entry for entry in fleet if isinstance(entry, dict)] if isinstance(fleet, list) else []
    if not any(
        entry.get("site") == move.origin and move.sku in (None, entry.get("sku")) for entry in standing
    ):
        what = "nothing" if move.sku is None else f"no {shown(move.sku)}"
        yield Problem(f"{at}.from", f"the fleet has {what} at {shown(move.origin)}: write a site where it "
                      "stands, or remove the move")  # fmt: skip
