"""Ways to do a service: each precision, model and set of techniques that a plan may choose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations, product

from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Service
from planner.inputs.techniques import Way, Ways, technique_named
from planner.trace.quantities import Traced, chosen


def every_way(inputs: Inputs) -> Inputs:
    """The inputs with each service once for each way to do it; themselves where none has a choice.

    The first way of a service is as it is stated. What the quality budget does not allow is not tried.
    """
    services = inputs.scenario.services
    found = [(i, one, names) for i, service in enumerate(services) for one, names in _of(inputs, service)]
    if len(found) == len(services):
        return inputs
    ways: list[Way] = []
    base = 0
    for at, (i, _, names) in enumerate(found):
        base = base if names else at
        usable = max((usable_h(inputs, name) for name in names), default=0.0)
        ways.append(Way(of=i, base=base, techniques=names, usable_h=usable))
    scenario = inputs.scenario.model_copy(update={"services": tuple(one for _, one, _ in found)})
    return replace(inputs, scenario=scenario, ways=Ways(services=tuple(ways)))


def _of(inputs: Inputs, service: Service) -> Iterator[tuple[Service, tuple[str, ...]]]:
    """The ways of a service: each model in each precision, without techniques first."""
    budget = service.quality_budget_fraction
    kinds = product(
        dict.fromkeys((service.model, *service.models)),
        dict.fromkeys((service.precision, *service.precisions)),
    )
    for model, precision in kinds:
        lost = quality_lost(inputs, service, model, precision)
        as_stated = model == service.model and precision == service.precision
        if budget is not None and lost > budget and not as_stated:
            continue
        kind = service.but(model=model, precision=precision)
        for names in sets_together(allowed_techniques(inputs, service)):
            more = sum(_loss(inputs, f"technique.{name}.quality_loss") for name in names)
            if not names or budget is None or lost + more <= budget:
                yield kind, names


def allowed_techniques(inputs: Inputs, service: Service) -> tuple[str, ...]:
    """Techniques that a service may use: its own and those of the policy, of those that are for serving."""
    named = dict.fromkeys((*service.techniques, *inputs.scenario.policy.techniques))
    return tuple(name for name in named if "inference" in technique_named(name).phases)


def quality_lost(inputs: Inputs, service: Service, model: str, precision: str) -> float:
    """Share of the quality that another model and another precision lose, next to what is stated."""
    lost = 0.0
    if precision != service.precision:
        lost += max(0.0, _loss(inputs, f"precision.{precision}.quality_loss"))
        lost -= max(0.0, _loss(inputs, f"precision.{service.precision}.quality_loss"))
    if model != service.model and service.quality_budget_fraction is not None:
        score, stated = (float(inputs.fact(f"model.{one}.mmlu").value) for one in (model, service.model))
        lost += 1.0 - score / stated
    return lost


def _loss(inputs: Inputs, key: str) -> float:
    return float(inputs.fact(key).value) if inputs.has(key) else 0.0


def people_h(inputs: Inputs, names: Iterable[str]) -> Traced:
    """What people do once to adopt techniques."""
    spent: Traced = chosen("adopted_h", 0.0, "no technique")
    for name in names:
        spent = spent + inputs.fact(f"adoption.{technique_named(name).adoption}.person_time")
    return spent


def usable_h(inputs: Inputs, name: str) -> float:
    """Hours from the start of the horizon until a technique is in use."""
    return float(inputs.fact(f"adoption.{technique_named(name).adoption}.time").value)


def sets_together(names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Sets of techniques that go together, the empty one first."""
    for size in range(len(names) + 1):
        for some in combinations(names, size):
            barred = {other for name in some for other in technique_named(name).excludes}
            if not barred & set(some):
                yield some


def way_said(inputs: Inputs, row: int) -> str:
    """One way in words: model, precision and techniques."""
    service, way = inputs.scenario.services[row], inputs.ways.services[row]
    return f"{service.model} in {service.precision}" + "".join(f", {name}" for name in way.techniques)


def service_said(inputs: Inputs, row: int) -> str:
    """The name of a service, with its way where it has several."""
    name = inputs.scenario.services[row].name
    return f"{name} as {way_said(inputs, row)}" if inputs.ways.services else name
