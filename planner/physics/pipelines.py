"""Stages of a pipeline: which parts of its response time each is looked at with."""

from __future__ import annotations

from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Service
from planner.performance.users import time_left_s
from planner.physics.users import farthest_latency
from planner.trace.quantities import Traced, chosen, derive

TIME_STEPS = "planning.pipeline.time_steps"
QUANTILE = "performance.serving.first_token_quantile"
WHOLE = (1.0,)  # of the response time: that of a service of no pipeline


def time_fractions(inputs: Inputs, service: Service) -> tuple[float, ...]:
    """Shares of the response time that a stage may take: whole steps, with one left for each other stage.

    x[k] = k / n,  k = 1 ... n - (stages - 1)
    """
    if service.pipeline is None:
        return WHOLE
    steps = int(inputs.fact(TIME_STEPS).value)
    stages = sum(one.pipeline == service.pipeline for one in inputs.scenario.services)
    return tuple(k / steps for k in range(1, steps - stages + 2))


def answer_quantile(inputs: Inputs, service: Service) -> Traced:
    """Share of first tokens, or of answers that come at once, within their target.

    Of a stage of a pipeline, in its part: such that all stages together keep what is asked.
    """
    found = inputs.ways.quantiles.get(service.pipeline or "")
    if found is None:
        return inputs.fact(QUANTILE)
    said = f"found: with it {service.pipeline} keeps {QUANTILE} as a whole, in any division of its time"
    return chosen("quantile_fraction", found, said)


def answer_target(inputs: Inputs, service: Service) -> Traced:
    """Longest time to the first token, or to an answer that comes at once, for the site that gives it.

    As stated, or the part of it that a stage is tried with; less the way to the users.
    """
    seconds, late = service.first_answer_s, farthest_latency(inputs, service)
    if service.pipeline is not None and inputs.ways.services:
        reason = f"enumerated: a part of services.{service.name}.response_time, which stages share"
        return chosen("response_target_s", seconds, reason)
    key = "response_time" if service.first_token_s is None else "first_token"
    stated = inputs.yours(f"services.{service.name}.{key}", seconds, "s")
    return stated if late is None else derive(time_left_s, target_s=stated, latency_s=late)
