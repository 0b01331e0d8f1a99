"""Stages of a pipeline: whether what they share is the same, and goes with the rest that they state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from planner.inputs.catalogue import Catalogue
from planner.inputs.scenario import Problem, Service
from planner.inputs.scenario.fields import Frame
from planner.inputs.scenario.parts import entries_of, read_far
from planner.inputs.scenario.problems import place
from planner.trace.numbers import seconds_text

TIME_STEPS = "planning.pipeline.time_steps"
Stage = tuple[str, Mapping[str, Any]]


def pipeline_problems(document: Mapping[str, Any], catalogue: Catalogue) -> Iterator[Problem]:
    """Services that name a pipeline and cannot be stages of it."""
    pipelines: dict[str, list[Stage]] = {}
    for i, entry in entries_of(document, "services"):
        if isinstance(entry.get("pipeline"), str):
            pipelines.setdefault(entry["pipeline"], []).append((place(("services", i), document), entry))
    for name, stages in pipelines.items():
        yield from _stages(name, stages, int(catalogue.fact(TIME_STEPS).value))


def _stages(name: str, stages: list[Stage], steps: int) -> Iterator[Problem]:
    at, first = stages[0]
    if len(stages) == 1:
        yield Problem(
            f"{at}.pipeline", f"'{name}' has this stage alone: name it in another service, or remove this"
        )
    if len(stages) > steps:
        yield Problem(
            f"{at}.pipeline",
            f"'{name}' has {len(stages)} stages, and its time is divided in {steps} steps ({TIME_STEPS}): "
            "name fewer stages",
        )
    whole = _seconds(first)
    for where, entry in stages:
        if "unmet_penalty" in entry:
            yield Problem(
                f"{where}.unmet_penalty",
                "a request that one stage leaves is lost to all of the pipeline: remove one of the two keys",
            )
        if "response_time" not in entry:
            if "candidates" not in entry and "images" not in entry:
                yield Problem(
                    f"{where}.pipeline",
                    "is for services whose answers come at once: its stages share one response_time",
                )
        elif (own := _seconds(entry)) is not None and whole is not None and own != whole:
            yield Problem(
                f"{where}.response_time",
                f"{seconds_text(own)} is that of the whole pipeline '{name}', of which {at} says "
                f"{seconds_text(whole)}: write one of them in both",
            )


def _seconds(entry: Mapping[str, Any]) -> float | None:
    """The response time of an entry; None where it is missing or wrong."""
    if "response_time" not in entry:
        return None
    service = read_far(Service, {"response_time": entry["response_time"]}, Frame())
    return service.response_time_s if service is not None and service.reads("response_time_s") else None
