"""Services beyond their demand: what answers may lose on average, time that stages share, users by region."""

from __future__ import annotations

from typing import Any

import numpy as np
import pulp

from solver import pipelines, quality, regions
from solver.constrain_tasks import standing_by
from solver.program import Program
from solver.rows import Part, Variables, cells, grouped, indicators
from solver.tables import Flags, Floats, Whole


def keep_mean_quality(program: Program) -> None:
    """sum_v max(0, x - lost[v]) * carried[v,t] >= (x - limit[i]) * demand[i,t] * (1 - shed[i,t] - give)

    carried[v,t] as in `meet_demand`. One row for each share x above the limit that an option of i loses: by
    the duality of linear programs they hold exactly where requests that go to what loses least first lose no
    more than the limit on average. More replicas never break them. Each is divided by x - limit[i].

    Where users are in several regions, x is a share for each region: on the left the largest of those that v
    answers, on the right their mean by the shares of the requests. Next to `answer_each_region` these rows
    hold exactly where requests can be dealt so that they lose no more on average.
    """
    service, gains = quality.gains(program.problem)
    if service.size:
        _answer_enough(program, "quality", service, gains)


def share_response_time(program: Program) -> None:
    """sum_v carried[v,t] >= demand[i,t] * (sum_k takes[k] - shed[i,t] - give);  sum_k takes[k] >= 1 - give

    sum_k x[k] * takes[k] <= 1

    A stage i takes a share x[k] of the time of its pipeline. The first row is for each share but the
    largest: v are options that need no more, k shares that are no larger. The last is for each pipeline.
    """
    stage, share = pipelines.shares(program.problem)
    if not stage.size:
        return
    service, fast, smaller = pipelines.in_time(program.problem)
    _answer_enough(program, "stage", service, fast.astype(float), smaller)
    _take_one_share(program, stage)
    numbers, row = np.unique(program.problem.services.pipeline[stage], return_inverse=True)
    of_all = (row, taking(program), share)
    program.add_rows("shares", numbers[:, None] - 1, pulp.LpConstraintLE, np.ones(numbers.size), of_all)


def answer_each_region(program: Program) -> None:
    """sum_v carried[v,t] >= share[n] * demand[i,t] * (1 - shed[i,t] - give)

    carried[v,t] as in `meet_demand`. One row for each set n of regions of the users of i: v are options that
    answer any of them. They hold exactly where the requests of each region can be dealt to options that
    answer it (the largest flow is the least cut). What is left out is left in all regions alike. Where
    regions peak at hours of their own, share[n] is what those of n are together in their busiest part of
    a day, over the peak of all: replicas that stand have to do in every part, and each row in its own.
    """
    service, answers, share = regions.columns(program.problem)
    if service.size:
        _answer_enough(program, "region", service, answers.astype(float), share=share)


def _take_one_share(program: Program, stage: Whole) -> None:
    """sum_k takes[k] >= 1 - give of the period: one row is enough for a stage whose demand is firm."""
    every, takes = np.unique(stage), taking(program)
    wanted = program.problem.services.demand[every] > 0
    if "demand" not in program.relaxed:
        wanted &= np.cumsum(wanted, axis=1) == 1
    ones = np.ones((stage.size, wanted.shape[1]))
    give = _not_answered(program, every, np.where(wanted, 1.0, 0.0), sheds=False)
    index = np.stack([np.repeat(every, wanted.shape[1]), np.tile(np.arange(wanted.shape[1]), every.size)], 1)
    limits = np.where(wanted, 1.0, -np.inf).ravel()
    one = grouped(np.searchsorted(every, stage), takes, ones)
    program.add_rows("one_share", index, pulp.LpConstraintGE, limits, one, give)


def taking(program: Program) -> Variables:
    """Whether a stage takes a share of the time of its pipeline [K]."""
    if program.takes is None:
        stage, _ = pipelines.shares(program.problem)
        program.takes = indicators(program.prefix + "takes", np.arange(stage.size))
    return program.takes


def _answer_enough(
    program: Program,
    stem: str,
    service: Whole,
    counts: Floats,
    takes: Flags | None = None,
    share: Floats | None = None,
) -> None:
    """sum_v counts[n,v] * carried[v,t] >= demand[i,t] * (1 - shed[i,t] - give), in rows of (n, period).

    Where shares of time are given, their sum replaces the 1; where shares of the demand are, they multiply
    it. Each row is divided by its largest coefficient.
    """
    problem, serves = program.problem, program.problem.serve_options
    demand = problem.services.demand[service] * (1.0 if share is None else share[:, None])
    carried = counts[:, :, None] * serves.capacity / (1 + serves.standby_fraction)
    scale = carried.max(axis=1, initial=0.0)
    scale[scale == 0] = 1.0
    size = demand / scale
    parts: list[Part] = [_not_answered(program, service, size)]
    for n, each in enumerate(carried / scale[:, None]):
        row = np.full(len(serves), n)
        parts += [grouped(row, program.replicas, each), standing_by(program, row, each)]
        if takes is not None:
            smaller = np.flatnonzero(takes[n])
            wanted = np.broadcast_to(-size[n], (smaller.size, size.shape[1]))
            parts.append(grouped(np.full(smaller.size, n), taking(program)[smaller], wanted))
    least = size if takes is None else np.zeros(size.shape)
    limits = np.where(demand > 0, least, -np.inf)
    program.add_rows(stem, cells(*demand.shape), pulp.LpConstraintGE, limits.ravel(), *parts)


def _not_answered(program: Program, service: Whole, sizes: Floats, *, sheds: bool = True) -> Part:
    """sizes[n,t] * (shed[i,t] + give), in the rows in which either may be."""
    services = program.problem.services
    priced, demand = np.isfinite(services.unmet_usd) & sheds, services.demand
    found: list[tuple[int, Any, float]] = []
    for row, (n, t) in enumerate(np.ndindex(sizes.shape)):
        i, size = int(service[n]), float(sizes[n, t])
        if priced[i, t] and size:
            found.append((row, program.shed[i, t], size))
        if size and (slack := program.slacks.get(("demand", (i, t)))) is not None:
            found.append((row, slack.variable, size * slack.size / demand[i, t]))
    rows, variables, amounts = zip(*found, strict=True) if found else ((), (), ())
    return np.array(rows, dtype=np.int64), np.array(variables, dtype=object), np.array(amounts, dtype=float)
