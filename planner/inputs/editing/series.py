"""Series of the user as parts of a scenario: requests of a service, prices of a site by the hour."""

from __future__ import annotations

from planner.inputs.editing.found import MOST_DROPPED, Found, as_file
from planner.inputs.scenario import Scenario
from planner.inputs.series.periods import prices_by_period
from planner.inputs.series.requests import RATES, read_requests
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


def traffic_found(
    name: str, content: bytes, scenario: Scenario, service: str, *, with_rates: bool = True
) -> Found:
    """What a trace holds: a row for each request, or for several where a column counts them.

    Raises:
        InputError: it is no table, or has neither times nor tokens; naming what to do instead.
    """
    if service not in {one.name for one in scenario.services}:
        raise InputError(f"no service '{service}' in the scenario: add one first")
    with as_file(name, content) as path:
        read = read_requests(path)
    at = f"services.{service}"
    changes = {f"{at}.{key}": value for key, value in read.values.items() if with_rates or key not in RATES}
    if "tokens_in" in read.values:
        changes[f"{at}.traffic"] = None
    if f"{at}.busiest_time" in changes:
        changes[f"{at}.traffic_shape"] = None
    return Found(
        what="a trace of requests",
        facts=read.facts,
        notes=read.notes,
        dropped=read.dropped[:MOST_DROPPED],
        dropped_count=len(read.dropped),
        changes=changes,
    )
