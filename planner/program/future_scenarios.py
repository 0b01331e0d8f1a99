"""A scenario as it is in one of its futures: multiples become values at paths, so that each can be traced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from planner.inputs.catalogue import Catalogue
from planner.inputs.consistency import check_scenario, with_cards
from planner.inputs.fits import FittedFleet
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, with_changes
from planner.inputs.scenario.checks import AHEAD
from planner.inputs.scenario.schema_futures import Future
from planner.trace.errors import InputError

BY_PERIOD = ("demand_ratio", "work_ratio", "electricity_ratio", "node_price_ratio")
AT_ONCE = ("tokens_ratio", "failures_ratio", "grid_ratio")


def without_futures(scenario: Scenario) -> Scenario:
    """The scenario as it is."""
    return with_changes(scenario, dict.fromkeys(AHEAD))


def require_one_objective(scenario: Scenario) -> None:
    """One number is minimized over all futures.

    Raises:
        InputError: the policy asks for one objective after the other.
    """
    if scenario.policy.objective == "lexicographic":
        raise InputError(
            'policy.objective: "lexicographic" is not weighed over futures: '
            'write "money", "carbon" or "weighted"'
        )


def in_future(scenario: Scenario, future: Future, catalogue: Catalogue) -> Scenario:
    """The scenario in a future, checked. Multiples go first, then what the future sets.

    Raises:
        ScenarioError: a multiple leads out of what may stand there, or the catalogue refuses it.
    """
    stated = without_futures(scenario)
    inputs = Inputs(stated, with_cards(stated, catalogue))
    changes: dict[str, Any] = {}
    for some in (_of_tasks(stated, future), _of_world(inputs, future), _of_market(inputs, future)):
        changes |= dict(some)
    changed = with_changes(stated, changes | future.values)
    if future.failures_ratio is not None and changed.fit is not None:
        changed._fit = _scaled_fit(changed.fit, future.failures_ratio)
    check_scenario(changed, catalogue)
    return changed


def mean_future(futures: Sequence[Future], periods: int) -> Future:
    """The future in which every multiple is its mean; what futures set has none, and stays as stated.

    m[t] = sum_f P[f] * m[f,t], with m = 1 where a future does not name it
    """
    chances = [future.probability_fraction for future in futures]
    means: dict[str, Any] = {}
    for name in (*BY_PERIOD, *AT_ONCE):
        one = np.ones(periods if name in BY_PERIOD else 1)
        given = [getattr(future, name) for future in futures]
        if any(ratio is not None for ratio in given):
            rows = [one if ratio is None else np.asarray(ratio) * one for ratio in given]
            mean = np.average(rows, axis=0, weights=chances)
            means[name] = tuple(mean.tolist()) if name in BY_PERIOD else float(mean[0])
    return Future.model_construct(name="mean", probability_fraction=1.0, **means)


def _of_tasks(scenario: Scenario, future: Future) -> Iterator[tuple[str, Any]]:
    if future.demand_ratio is not None:
        for i, service in enumerate(scenario.services):
            rates = _times(service.peak_requests_per_s, future.demand_ratio)
            yield f"services[{i}].peak_rate", [_text(rate, "1/s") for rate in rates]
    if future.work_ratio is not None:
        for i, pool in enumerate(scenario.pools):
            need = _times(pool.need, future.work_ratio)
            yield f"pools[{i}].{pool.way.key}", [_text(one, pool.way.unit) for one in need]
    if future.tokens_ratio is not None:
        for i, job in enumerate(scenario.training):
            yield f"training[{i}].{job.amount_key}", job.amount * future.tokens_ratio


def _of_world(inputs: Inputs, future: Future) -> Iterator[tuple[str, Any]]:
    """Failures, grids and electricity."""
    scenario = inputs.scenario
    if future.failures_ratio is not None and scenario.fit is None:
        rate = inputs.failure_rate()
        stated = scenario.reliability.failure_rate_per_node_h is not None
        path = "reliability.failure_rate" if stated else f"facts.{rate.key}"
        yield path, _text(rate.value * future.failures_ratio, rate.unit)
    if future.grid_ratio is not None:
        for section in ("sites", "rental"):
            for i, place in enumerate(getattr(scenario, section)):
                own = place.grid_kgco2e_per_kwh
                if own is not None:
                    values = [_text(one * future.grid_ratio, "kgCO2e/kWh") for one in own]
                    yield f"{section}[{i}].grid_intensity", values
                else:
                    fact = inputs.fact(f"grid.{place.grid}.intensity")
                    yield f"facts.{fact.key}", _text(fact.value * future.grid_ratio, fact.unit)
    if future.electricity_ratio is not None:
        prices = [float(node.value) for node in inputs.electricity]
        for i in range(len(scenario.sites)):
            here = prices[i * inputs.periods : (i + 1) * inputs.periods]
            dearer = [_text(price, "USD/kWh") for price in _times(here, future.electricity_ratio)]
            yield f"sites[{i}].electricity_price", dearer


def _of_market(inputs: Inputs, future: Future) -> Iterator[tuple[str, Any]]:
    if future.node_price_ratio is None:
        return
    for i, offer in enumerate(inputs.scenario.market):
        server = inputs.catalogue.skus[offer.sku].server
        stated = offer.price_usd or (inputs.fact(f"server.{server}.price").value,) * inputs.periods
        dearer = [_text(price, "USD") for price in _times(stated, future.node_price_ratio)]
        yield f"market[{i}].price", dearer


def _scaled_fit(fit: FittedFleet, ratio: float) -> FittedFleet:
    """The fleet of a log that fails more often, or less."""
    rate = fit.failure_rate
    ends = [None if end is None else end * ratio for end in (rate.low, rate.high)]
    scaled = replace(rate, value=rate.value * ratio, low=ends[0], high=ends[1], stated="")
    return replace(fit, failure_rate=scaled)


def _times(values: Sequence[float], ratios: Sequence[float]) -> list[float]:
    return [value * ratio for value, ratio in zip(values, ratios, strict=True)]


def _text(value: float, unit: str) -> str:
    """A quantity as a scenario states it."""
    return f"{float(value)!r} {unit.removeprefix('1')}"
