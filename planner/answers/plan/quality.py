"""Services that several ways answer at once: the share of requests of each, and what is lost on average."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from planner.answers.plan.decisions import REASONS
from planner.physics.ways import quality_loss, way_said
from planner.program.plan import Plan
from planner.program.solution import Solution, answered_per_s
from planner.trace.numbers import percent_text
from planner.trace.quantities import Traced, chosen, total
from planner.trace.records import Record


def quality_columns(plan: Plan, solution: Solution) -> dict[tuple[int, int], Record]:
    """Share of requests and loss of each option and period in use; of services with a mean of quality."""
    options, found = plan.problem.serve_options, dict[tuple[int, int], Record]()
    answered, reason = answered_per_s(plan.problem, solution), REASONS["services"]["requests_fraction"]
    for i in _with_a_mean(plan):
        rows = np.flatnonzero(options.service == i).tolist()
        lost = {v: _loss(plan, v) for v in rows if np.any(solution.replicas[v] > 0)}
        for t in range(plan.problem.periods):
            whole = float(answered[rows, t].sum())
            if whole <= 0:
                continue
            shares = {
                v: chosen("requests_fraction", float(answered[v, t]) / whole, reason)
                for v in lost
                if solution.replicas[v, t]
            }
            parts = {_where(plan, v): (shares[v] * lost[v]).named("lost_fraction") for v in shares}
            mean = total("mean_quality_loss_fraction", parts, "each loss by its share of the requests")
            for v, share in shares.items():
                found[v, t] = {
                    "requests_fraction": share,
                    "quality_loss_fraction": lost[v],
                    "mean_quality_loss_fraction": mean,
                }
    return found


def quality_sentences(plan: Plan, solution: Solution) -> list[str]:
    """A sentence for each service with a mean of quality: who answers what in the last period."""
    columns = quality_columns(plan, solution)
    return [said for i in _with_a_mean(plan) for said in _of_service(plan, i, columns)]


def _of_service(plan: Plan, service: int, columns: dict[tuple[int, int], Record]) -> Iterator[str]:
    options = plan.problem.serve_options
    mine = {key: one for key, one in columns.items() if options.service[key[0]] == service}
    if not mine:
        return
    last = max(t for _, t in mine)
    shares: dict[str, float] = {}
    for (v, t), one in mine.items():
        if t == last:
            shares[_said(plan, v)] = shares.get(_said(plan, v), 0.0) + float(one["requests_fraction"].value)
    mean = next(float(one["mean_quality_loss_fraction"].value) for (_, t), one in mine.items() if t == last)
    most = sorted(shares.items(), key=lambda each: -each[1])
    parts = ", ".join(f"{percent_text(share, 0)} by {way}" for way, share in most)
    limit = float(plan.problem.services.mean_loss_limit_fraction[service])
    yield (
        f"Of the requests of {plan.problem.services.name[service]}, {parts}: at the peak they lose "
        f"{percent_text(mean)} of the quality on average, of {percent_text(limit)} that are allowed."
    )


def _with_a_mean(plan: Plan) -> list[int]:
    if not plan.assembled.tried.ways.services:
        return []
    found: list[int] = np.flatnonzero(np.isfinite(plan.problem.services.mean_loss_limit_fraction)).tolist()
    return found


def _way_row(plan: Plan, option: int) -> int:
    """Which way of the services that were tried an option is."""
    replicas = plan.assembled.replicas
    assert replicas is not None, "an option has replicas"
    return int(replicas.candidates.service[plan.assembled.replica_row[option]])


def _said(plan: Plan, option: int) -> str:
    return way_said(plan.assembled.tried, _way_row(plan, option))


def _where(plan: Plan, option: int) -> str:
    group = int(plan.problem.serve_options.node_group[option])
    return f"way {_way_row(plan, option) + 1} on {plan.problem.node_group_name(group)}, option {option + 1}"


def _loss(plan: Plan, option: int) -> Traced:
    """What the way of an option loses, next to its service as it is stated."""
    tried, row = plan.assembled.tried, _way_row(plan, option)
    way, service = tried.ways.services[row], tried.scenario.services[row]
    stated = plan.inputs.scenario.services[way.of]
    return quality_loss(plan.inputs, stated, service.model, service.precision, way.techniques)
