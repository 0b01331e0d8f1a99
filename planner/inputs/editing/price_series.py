"""Electricity prices by the hour: a file as it was read, and what it would be as the price of a site."""

from __future__ import annotations

from planner.inputs.editing.found import Found, as_file
from planner.inputs.scenario import Scenario
from planner.inputs.series.periods import prices_by_period
from planner.trace.errors import InputError


def prices_found(name: str, content: bytes, scenario: Scenario, site: str) -> Found:
    """What a file of times and prices holds: one price for each period of the plan.

    Raises:
        InputError: there is no such site, or the file has no times, or no prices with their unit.
    """
    if site not in {one.name for one in scenario.sites}:
        raise InputError(f"no site '{site}'; there is {', '.join(one.name for one in scenario.sites)}")
    with as_file(name, content) as path:
        prices, notes = prices_by_period(path, scenario.horizon)
    if scenario.policy.levers:
        notes.append("Means alone are taken: for its hours name the file in the scenario, price_shape.")
    labels = scenario.horizon.period_labels
    return Found(
        what="electricity prices",
        facts=tuple((f"mean in {label}", price) for label, price in zip(labels, prices, strict=True)),
        notes=tuple(notes),
        changes={f"sites.{site}.electricity_price": prices[0] if len(set(prices)) == 1 else prices},
    )
