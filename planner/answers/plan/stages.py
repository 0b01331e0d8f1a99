"""Stages of a pipeline in a plan: how they divide its response time, and where each runs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from planner.answers.plan.decisions import REASONS
from planner.inputs.scenario import Service
from planner.physics.pipelines import QUANTILE
from planner.program.plan import Plan
from planner.program.solution import Solution, totals_by
from planner.trace.numbers import count_text, percent_text, seconds_text
from planner.trace.quantities import chosen
from planner.trace.records import Record


def stage_columns(plan: Plan, option: int) -> Record:
    """The share of the response time within which an option of a stage answers; nothing of other services."""
    serves = plan.problem.serve_options
    service = plan.inputs.scenario.services[int(serves.service[option])]
    if service.pipeline is None:
        return {}
    reason = REASONS["services"]["time_fraction"]
    share = chosen("time_fraction", float(serves.time_fraction[option]), reason)
    whole = plan.inputs.yours(f"services.{service.name}.response_time", service.first_answer_s, "s")
    return {
        "pipeline": service.pipeline,
        "time_fraction": share,
        "stage_time_s": (share * whole).named("stage_time_s"),
    }


def stage_sentences(plan: Plan, solution: Solution) -> list[str]:
    """A sentence for each pipeline: what each stage takes of its time, and on which nodes."""
    stages: dict[str, list[tuple[int, Service]]] = {}
    for i, service in enumerate(plan.inputs.scenario.services):
        if service.pipeline is not None:
            stages.setdefault(service.pipeline, []).append((i, service))
    return [said for name, own in stages.items() for said in _of_pipeline(plan, solution, name, own)]


def _of_pipeline(
    plan: Plan, solution: Solution, name: str, stages: list[tuple[int, Service]]
) -> Iterator[str]:
    serves, problem = plan.problem.serve_options, plan.problem
    used = solution.replicas.max(axis=1, initial=0)
    parts: list[str] = []
    for i, service in stages:
        mine = (serves.service == i) & (used > 0)
        if not mine.any():
            return
        share = float(serves.time_fraction[mine].max())
        groups = totals_by(serves.node_group, len(problem.node_groups), used[:, None] * mine[:, None])[:, 0]
        where = " and ".join(
            f"{count_text(groups[p])} replica{'s' if groups[p] != 1 else ''} on {problem.node_group_name(p)}"
            for p in np.flatnonzero(groups).tolist()
        )
        seconds = seconds_text(share * service.first_answer_s)
        parts.append(f"{service.name} {percent_text(share, 0)} ({seconds}; up to {where})")
    whole = seconds_text(stages[0][1].first_answer_s)
    yield f"Of the {whole} of {name}, its stages take: {', '.join(parts)}."
    each, together = plan.assembled.tried.ways.quantiles[name], plan.inputs.fact(QUANTILE).value
    yield (
        f"Each stage of {name} gives {percent_text(each)} of its answers within its part, so that "
        f"{percent_text(together)} or more of all answers come within {whole}, added up over the stages."
    )
