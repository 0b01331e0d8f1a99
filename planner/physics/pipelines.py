"""Stages of a pipeline: which parts of its response time each is looked at with."""

from __future__ import annotations

from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Service
from planner.trace.quantities import Traced, chosen

TIME_STEPS = "planning.pipeline.time_steps"
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


def answer_target(inputs: Inputs, service: Service) -> Traced:
    """Longest time to an answer that comes at once: as stated, or the part that a stage is tried with."""
    seconds = service.first_answer_s
    if service.pipeline is None or not inputs.ways.services:
        return inputs.yours(f"services.{service.name}.response_time", seconds, "s")
    reason = f"enumerated: a part of services.{service.name}.response_time, which stages share"
    return chosen("response_target_s", seconds, reason)
