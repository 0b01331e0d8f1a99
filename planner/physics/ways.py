"""Ways to do a service: each precision, model and set of techniques that a plan may choose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, product

from planner.inputs.model_kinds import score_key
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Service
from planner.inputs.techniques import Way, Ways, technique_named
from planner.physics.pipelines import time_fractions
from planner.physics.users import placings
from planner.trace.numbers import seconds_text
from planner.trace.quantities import Traced, chosen, derive, total


def every_way(inputs: Inputs) -> Inputs:
    """The inputs with each service once for each way to do it; themselves where none has a choice.

    The first way of a service is as it is stated. What the quality budget does not allow is not tried.
    """
    services = inputs.scenario.services
    found = [(i, *each) for i, service in enumerate(services) for each in _of(inputs, service)]
    if len(found) == len(services) and not any(one.pipeline or one.regions for one in services):
        return inputs
    ways: list[Way] = []
    base = 0
    for at, (i, one, names, share) in enumerate(found):
        base = base if names else at
        usable = max((usable_h(inputs, name) for name in names), default=0.0)
        lost = _lost_on_average(inputs, services[i], one, names)
        first, _ = placings(inputs, services[i])[0]
        answered = sum(1 << r for r, home in enumerate(services[i].regions) if home in one.regions)
        way = Way(i, base, names, usable, lost_fraction=lost, time_fraction=share, regions=answered)
        ways.append(replace(way, nearest=not services[i].homes or one.sites == first))
    scenario = inputs.scenario.model_copy(update={"services": tuple(one for _, one, *_ in found)})
    return replace(inputs, scenario=scenario, ways=Ways(services=tuple(ways)))


def _of(inputs: Inputs, service: Service) -> Iterator[tuple[Service, tuple[str, ...], float]]:
    """The ways of a service: each model in each precision, without techniques first.

    A stage of a pipeline has each of them for every share of the response time that it may take, a service
    that says where its users are, for sites that are equally far from them, and one that may read and write
    apart, for replicas that do both first.
    """
    budget = service.quality_budget_fraction
    kinds = product(
        dict.fromkeys((service.model, *service.models)),
        dict.fromkeys((service.precision, *service.precisions)),
        time_fractions(inputs, service),
        placings(inputs, service),
        ("together", "apart") if service.phases == "either" else (service.phases,),
    )
    for model, precision, share, (sites, regions), phases in kinds:
        as_stated = model == service.model and precision == service.precision
        if budget is not None and not as_stated and _lost(inputs, service, model, precision) > budget:
            continue
        kind = service.but(model=model, precision=precision, sites=sites, regions=regions, phases=phases)
        if service.pipeline is not None:
            kind = kind.but(response_time_s=share * service.first_answer_s)
        for names in sets_together(allowed_techniques(inputs, service)):
            if not names or budget is None or _lost(inputs, service, model, precision, names) <= budget:
                yield kind, names, share if service.pipeline is not None else 0.0


def allowed_techniques(inputs: Inputs, service: Service) -> tuple[str, ...]:
    """Techniques that a service may use: its own and those of the policy, of those that are for serving."""
    named = dict.fromkeys((*service.techniques, *inputs.scenario.policy.techniques))
    return tuple(name for name in named if "inference" in technique_named(name).phases)


def quality_loss(
    inputs: Inputs, service: Service, model: str, precision: str, techniques: Sequence[str] = ()
) -> Traced:
    """Share of the quality that another model, another precision and techniques lose, next to what is stated.

    Losses add up; below 0 it is better. Models are compared where the service limits what may be lost.
    """
    keys = {f"technique {name}": f"technique.{name}.quality_loss" for name in techniques}
    lost: dict[str, Traced] = {said: inputs.fact(key) for said, key in keys.items() if inputs.has(key)}
    if precision != service.precision:
        lost["another format"] = derive(
            format_loss_fraction,
            lost_fraction=_format_loss(inputs, precision),
            stated_lost_fraction=_format_loss(inputs, service.precision),
        )
    if model != service.model and service.limits_quality:
        score, stated = (inputs.fact(score_key(inputs.catalogue, name)) for name in (model, service.model))
        lost["another model"] = (1.0 - score / stated).named(
            "model_loss_fraction", "Share of the quality that another model loses"
        )
    return total("quality_loss_fraction", lost, "next to the service as it is stated")


def format_loss_fraction(*, lost_fraction: float, stated_lost_fraction: float) -> float:
    """Share of the quality that a number format loses beyond the format that is stated.

    L = max(0, l) - max(0, l_0)

    Source: definition (both are next to 16 bits; no format is taken to gain).
    """
    return max(0.0, lost_fraction) - max(0.0, stated_lost_fraction)


def _format_loss(inputs: Inputs, precision: str) -> Traced:
    key = f"precision.{precision}.quality_loss"
    if inputs.has(key):
        return inputs.fact(key)
    return chosen("lost_fraction", 0.0, "no loss of this format is known")


def _lost_on_average(inputs: Inputs, stated: Service, way: Service, techniques: Sequence[str]) -> float:
    """What counts for the mean quality of a service; 0 where it has no such limit."""
    if stated.mean_quality_budget_fraction is None:
        return 0.0
    return _lost(inputs, stated, way.model, way.precision, techniques)


def _lost(
    inputs: Inputs, service: Service, model: str, precision: str, techniques: Sequence[str] = ()
) -> float:
    return float(quality_loss(inputs, service, model, precision, techniques).value)


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


def way_said(inputs: Inputs, row: int, *, with_time: bool = True) -> str:
    """One way in words: model, precision, techniques, and the time that a stage of a pipeline takes."""
    service, way = inputs.scenario.services[row], inputs.ways.services[row]
    said = f"{service.model} in {service.precision}" + "".join(f", {name}" for name in way.techniques)
    if service.reads_apart:
        said += ", prompts and answers apart"
    within = with_time and way.time_fraction > 0
    return f"{said}, within {seconds_text(service.first_answer_s)}" if within else said


def service_said(inputs: Inputs, row: int) -> str:
    """The name of a service, with its way where it has several."""
    name = inputs.scenario.services[row].name
    return f"{name} as {way_said(inputs, row, with_time=False)}" if inputs.ways.services else name
