"""What may be varied to see whether another fleet would be better: prices, rates and grids of a scenario."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from planner.inputs.catalogue import Catalogue
from planner.inputs.consistency import with_cards
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Rental, Scenario, value_at, with_changes
from planner.inputs.scenario.schema_rental import price_keys
from planner.trace.errors import InputError
from planner.trace.units import UnitError, parse_quantity

NEARLY_NOTHING = 1e-6
LOW, HIGH = 0.5, 2.0  # of today's value, where no range is requested
GROUPS = ("electricity", "grid", "failures", "prices", "rent", "carbon_price")
_RANGE = re.compile(r"\s*([-+\d._eE]+)\s*\.\.\s*([-+\d._eE]+)\s*(.*?)\s*")


class LeverError(InputError):
    """What is to be varied is not understood; the message says how it is written."""


@dataclass(frozen=True, slots=True)
class Lever:
    """One number of a scenario and its range; `unit` is "times" for a factor of today's."""

    name: str
    unit: str
    today: float
    low: float
    high: float
    changed: Callable[[float], Scenario]


def levers(scenario: Scenario, catalogue: Catalogue, wanted: Sequence[str]) -> tuple[Lever, ...]:
    """The levers asked for as `GROUP`, `GROUP=LOW..HIGH` or `PATH=LOW..HIGH UNIT`; none means all groups.

    Raises:
        LeverError: one is not written so, or today's value lies outside its range.
    """
    inputs = Inputs(scenario, with_cards(scenario, catalogue))
    found: list[Lever] = []
    for text in wanted or [group for group in GROUPS if _has(scenario, group)]:
        name, sign, span = (part.strip() for part in text.partition("="))
        if name in GROUPS:
            low, high = _span(text, span) if sign else (LOW, HIGH)
            if not low <= 1.0 <= high:
                raise LeverError(f"'{text}': the factor 1 is today's value and lies in the range: widen it")
            found += _group(inputs, name, low, high)
        else:
            found.append(_of_path(scenario, text, name, span))
    return tuple(found)


def _has(scenario: Scenario, group: str) -> bool:
    if group == "carbon_price":
        return scenario.policy.objective == "weighted"
    offers = {"prices": scenario.market, "rent": scenario.rental}
    return bool(offers.get(group, True))


def _span(text: str, span: str) -> tuple[float, float]:
    match = _RANGE.fullmatch(span)
    try:
        low, high = (float(match[1]), float(match[2])) if match and not match[3] else (1.0, 0.0)
    except ValueError:
        low, high = 1.0, 0.0
    if not 0 <= low < high:
        raise LeverError(f"'{text}' is no range of factors: write for example electricity=0.5..2")
    return low, high


def _group(inputs: Inputs, group: str, low: float, high: float) -> Iterator[Lever]:
    """One lever for each site, SKU, or the whole, as factors of today's values."""

    def lever(name: str, changes: Callable[[float], dict[str, Any]]) -> Lever:
        return Lever(
            name, "times", 1.0, low, high, lambda factor: with_changes(inputs.scenario, changes(factor))
        )

    sites = inputs.scenario.sites
    match group:
        case "electricity":
            for s, site in enumerate(sites):
                yield lever(f"price of electricity at {site.name}", _electricity(inputs, s, site.name))
        case "grid":
            for s, site in enumerate(sites):
                yield lever(f"grid intensity at {site.name}", _grid(inputs, s, site.name))
        case "prices":
            for offer in inputs.scenario.market:
                yield lever(f"price of {offer.sku}", _price(inputs, offer.sku))
        case "rent":
            for rental in inputs.scenario.rental:
                yield lever(f"price of {rental.sku} at {rental.name}", _rent(inputs, rental))
        case "failures":
            yield Lever("failure rate", "times", 1.0, low, high, _failures(inputs))
        case _:
            price = inputs.scenario.policy.carbon_price_usd_per_kgco2e
            if price is None:
                raise LeverError('carbon_price is varied where objective = "weighted" gives it a price')
            yield lever(
                "carbon price", lambda factor: {"policy.carbon_price": f"{price * factor!r} USD/kgCO2e"}
            )


def _listed(items: Sequence[Any], factor: float, unit: str) -> list[str]:
    return [f"{float(item.value) * factor!r} {unit}" for item in items]


def _site_items(inputs: Inputs, items: Sequence[Any], site: int) -> Sequence[Any]:
    return items[site * inputs.periods : (site + 1) * inputs.periods]


def _electricity(inputs: Inputs, site: int, name: str) -> Callable[[float], dict[str, Any]]:
    today = _site_items(inputs, inputs.electricity, site)
    return lambda factor: {f"sites.{name}.electricity_price": _listed(today, factor, "USD/kWh")}


def _grid(inputs: Inputs, site: int, name: str) -> Callable[[float], dict[str, Any]]:
    """The intensity by period in place of the region, whose price of electricity stays as it is."""
    grid = _site_items(inputs, inputs.location_grid, site)
    market = _site_items(inputs, inputs.grid, site)
    price = _site_items(inputs, inputs.electricity, site)

    def changes(factor: float) -> dict[str, Any]:
        found: dict[str, Any] = {
            f"sites.{name}.grid": None,
            f"sites.{name}.grid_intensity": _listed(grid, factor, "kgCO2e/kWh"),
            f"sites.{name}.electricity_price": _listed(price, 1.0, "USD/kWh"),
        }
        if inputs.scenario.policy.accounting == "market":
            found[f"sites.{name}.market_intensity"] = _listed(market, factor, "kgCO2e/kWh")
        return found

    return changes


def _price(inputs: Inputs, sku: str) -> Callable[[float], dict[str, Any]]:
    offer = next(offer for offer in inputs.scenario.market if offer.sku == sku)
    today = offer.price_usd
    if today is None:
        server = next(each.server for each in inputs.skus if each.name == sku)
        today = (inputs.fact(f"server.{server}.price").value,) * inputs.periods
    return lambda factor: {f"market.{sku}.price": [f"{price * factor!r} USD" for price in today]}


def _rent(inputs: Inputs, rental: Rental) -> Callable[[float], dict[str, Any]]:
    """Its price by period, as stated or by its commitment."""
    today, per = rental.price_usd_per_h, rental.per
    if today is None:
        accelerator = next(each.accelerator for each in inputs.skus if each.name == rental.sku)
        keys = price_keys(inputs.has, rental.commitment, accelerator)
        today = (math.prod(float(inputs.fact(key).value) for key in keys),) * inputs.periods
        per = "accelerator"
    at = f"rental.{rental.name}"
    return lambda factor: {
        f"{at}.price": [f"{price * factor!r} USD/h" for price in today],
        f"{at}.per": per,
    }


def _failures(inputs: Inputs) -> Callable[[float], Scenario]:
    scenario, rate = inputs.scenario, inputs.failure_rate()
    policy, fit = scenario.reliability, scenario.fit

    def changed(factor: float) -> Scenario:
        text = f"{float(rate.value) * factor!r} /h"
        if fit is not None:
            copy = with_changes(scenario, {})
            copy._fit = replace(fit, failure_rate=replace(rate, value=float(rate.value) * factor))
            return copy
        if policy.failure_rate_per_node_h is not None:
            return with_changes(scenario, {"reliability.failure_rate": text})
        return with_changes(scenario, {f"facts.{rate.key}": text})

    return changed


def _of_path(scenario: Scenario, text: str, path: str, span: str) -> Lever:
    """A value of the scenario itself, in the unit that is written behind the range."""
    match = _RANGE.fullmatch(span)
    known = f"a group ({', '.join(GROUPS)}) or a path with its range, policy.carbon_price=0..400 USD/t"
    if not path or match is None:
        raise LeverError(f"'{text}' is not understood: write {known}")
    unit = match[3] or ("USD/t" if path == "policy.carbon_price" else "")
    today = _today(scenario, text, path, unit)
    try:
        low, high = float(match[1]), float(match[2])
    except ValueError:
        raise LeverError(f"'{text}' has no range of numbers: write {known}") from None
    if not low < high:
        raise LeverError(f"'{text}': the range ends at {high:g}, not above {low:g}: write the low end first")
    if not low <= today <= high:
        raise LeverError(f"'{text}': today's value, {today:g} {unit}, does not lie in that range: widen it")

    def changed(value: float) -> Scenario:
        # A price of exactly nothing is refused, since it is mostly a slip; here it is the end of a range.
        shown = max(value, NEARLY_NOTHING) if path == "policy.carbon_price" else value
        return with_changes(scenario, {path: f"{shown!r} {unit}" if unit else shown})

    return Lever(path, unit, today, low, high, changed)


def _today(scenario: Scenario, text: str, path: str, unit: str) -> float:
    value = value_at(scenario, path)
    if isinstance(value, list):
        raise LeverError(f"'{text}': {path} has a value for each period; vary a group by a factor instead")
    try:
        if isinstance(value, str) and (kept := value.split(maxsplit=1))[1:]:
            return float(kept[0]) / parse_quantity(f"1 {unit}", kept[1])
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    except UnitError as error:
        raise LeverError(f"'{text}': {error}; write the unit behind the range") from None
    except ValueError:
        pass  # text that is no quantity
    known = f"a group ({', '.join(GROUPS)}) or the path of a number, such as policy.carbon_price"
    raise LeverError(f"'{text}': {path} holds no number that could be varied: write {known}")
