"""What decides a plan and is not stated, so that a price of the catalogue is taken in its place."""

from __future__ import annotations

from collections.abc import Iterator

from planner.inputs.catalogue import Catalogue
from planner.inputs.scenario import Scenario
from planner.inputs.scenario.schema_rental import price_keys
from planner.trace.numbers import stated_text

COMMITTED = {"spot": "as spot", "block": "in a block", "1 year": "for a year", "3 years": "for three years"}


def unstated_notes(scenario: Scenario, catalogue: Catalogue) -> list[str]:
    """One note that lists them with their keys; nothing where all of it is stated.

    Space has a note of its own. How much each of them weighs is known of a plan alone: its table `knowable`.
    """
    found = [
        f"{what} ({stated_text(str(catalogue.fact(fact).stated))}: {key})"
        for what, fact, key in _every(scenario, catalogue)
        if fact not in scenario.facts
    ]
    return [f"Not stated, so taken from the catalogue: {', '.join(found)}"] if found else []


def _every(scenario: Scenario, catalogue: Catalogue) -> Iterator[tuple[str, str, str]]:
    """What is missing, the fact in its place, and the key that would state it; `[facts]` states any fact."""
    for offer in scenario.market:
        if offer.price_usd is None:
            server = catalogue.skus[offer.sku].server
            yield f"the price of {offer.sku}", f"server.{server}.price", f"market.{offer.sku}.price"
    moving = {job.data_site for job in scenario.training} | {pool.data_site for pool in scenario.pools}
    moving |= {service.data_site for service in scenario.services}
    if any(one.logs_moved_gb_per_month for one in scenario.services):
        moving |= {site.name for site in scenario.sites}
    for site in scenario.sites:
        if site.electricity_price_usd_per_kwh is None:
            regional = f"electricity.{site.grid}.price"
            fact = regional if catalogue.has(regional) else "electricity.default_price"
            yield f"electricity at {site.name}", fact, f"sites.{site.name}.electricity_price"
        if site.name in moving and site.egress_price_usd_per_gb is None:
            yield f"data that leave {site.name}", "network.egress.price", f"sites.{site.name}.egress_price"
    for rental in scenario.rental:
        if rental.price_usd_per_h is None:
            accelerator = catalogue.skus[rental.sku].accelerator
            key = f"rental.{rental.name}.price"
            for fact in price_keys(catalogue.has, rental.commitment, accelerator):
                if fact.endswith(".ratio"):
                    yield f"the share of it that is paid {COMMITTED[rental.commitment]}", fact, key
                else:
                    how = "on demand" if fact.endswith(".price") else COMMITTED[rental.commitment]
                    yield f"an accelerator of {rental.name} {how}", fact, key
    if scenario.fleet or scenario.market:
        yield "maintenance a year as a share of the price", "finance.maintenance", "finance.maintenance"
    if scenario.services:
        yield "the people who run services", "planning.person_hour", "planning.person_hour"
