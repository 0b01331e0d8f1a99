"""Constraints of services in the slots of a period: replicas that are ready, quality, times and regions."""

from __future__ import annotations

import numpy as np
import pulp

from solver import pipelines, quality, regions
from solver.constrain_services import taking
from solver.constrain_tasks import serving
from solver.program import Program
from solver.rows import NO_PART, Part, cells, in_slot, made
from solver.slot_parts import (
    give_way,
)
from solver.tables import Flags, Floats, Whole


def stay_ready(program: Program) -> None:
    """sum_v capacity[v,t] * (carry[v,t] - quiet[v,t,y] - rest[v,t,y]) >= ready[i,t,y] * demand * (1 - shed);

    quiet[v,t,y] + rest[v,t,y] <= carry[v,t];
    carry[v,t] = replicas[v,t] / (1 + standby share[v,t]) - standby[v,t] * serves[v,t]

    So what stands by is awake. Demand is demand[i,t] and shed is shed[i,t]. Each row of the first kind is
    divided by its largest capacity.
    """
    problem, serves, slots = program.problem, program.problem.serve_options, program.problem.slots
    if not len(slots) or not made(program.quiet).any():
        return
    every = np.arange(len(problem.services))
    _answer_enough(program, "ready", every, (serves.service == every[:, None]).astype(float))
    shape, each = program.quiet.shape, np.arange(len(serves))
    share = 1 / (1 + serves.standby_fraction)[:, :, None] * np.ones(len(slots))
    program.add_rows(
        "asleep",
        cells(*shape),
        pulp.LpConstraintLE,
        np.where(made(program.quiet), 0.0, np.inf).ravel(),
        *(in_slot(each, one, np.ones(shape)) for one in (program.quiet, program.rest)),
        in_slot(each, np.broadcast_to(program.replicas[:, :, None], shape), -share),
        _standing_by(program, each, each, np.ones(shape)),
    )


def keep_mean_quality_in_a_slot(program: Program) -> None:
    """sum_v max(0, x - lost[v]) * awake[v,t,y] >= (x - limit[i]) * ready[i,t,y] * demand * (1 - shed)

    As `keep_mean_quality` by period; awake[v,t,y] is what the first kind of rows of `stay_ready` adds up.
    """
    service, gains = quality.gains(program.problem)
    if service.size:
        _answer_enough(program, "slot_quality", service, gains)


def answer_in_time_in_a_slot(program: Program) -> None:
    """sum_v awake[v,t,y] >= ready[i,t,y] * demand * (sum_k takes[k] - shed)

    As `share_response_time` by period, of the same shares; awake as in `keep_mean_quality_in_a_slot`.
    """
    service, fast, smaller = pipelines.in_time(program.problem)
    if service.size:
        _answer_enough(program, "slot_stage", service, fast.astype(float), smaller)


def answer_each_region_in_a_slot(program: Program) -> None:
    """sum_v awake[v,t,y] >= share[n,y] * ready[i,t,y] * demand * (1 - shed)

    As `answer_each_region` by period; awake as in `keep_mean_quality_in_a_slot`. Share[n,y] is the part of
    the load of the slot that comes from the regions of n.
    """
    service, answers, _ = regions.columns(program.problem)
    if service.size:
        count = len(program.problem.slots)
        share = np.array([one.in_slots(count) for one in regions.sets(program.problem)])
        _answer_enough(program, "slot_region", service, answers.astype(float), share=share)


def _answer_enough(
    program: Program,
    stem: str,
    service: Whole,
    counts: Floats,
    takes: Flags | None = None,
    share: Floats | None = None,
) -> None:
    """The first kind of rows of `stay_ready`, each replica times counts[n,v]: rows of (n, period, slot).

    In the periods in which any replica of the service may rest. Where shares of time are given, their sum
    replaces the 1; where shares of the demand of each slot are, they multiply it.
    """
    problem, serves = program.problem, program.problem.serve_options
    if not len(problem.slots) or not made(program.quiet).any():
        return
    demand, slots = problem.services.demand[service], np.ones(len(problem.slots))
    most = np.ones(len(service)) if share is None else share.max(axis=1, initial=0.0)
    demand = demand * most[:, None]
    capacity = counts[:, :, None] * serves.capacity
    scale = capacity.max(axis=1, initial=0.0)
    scale[scale == 0] = 1.0
    ready = problem.slot_demand.ready_fraction[service] * (demand / scale)[:, :, None]
    if share is not None:
        ready = ready * (share / np.where(most > 0, most, 1.0)[:, None])[:, None, :]
    sleeps = np.zeros(problem.services.demand.shape, dtype=bool)
    np.logical_or.at(sleeps, serves.service, made(program.quiet).any(axis=2))
    sleeps = sleeps[service][:, :, None]
    parts: list[Part] = []
    for n, each in enumerate(counts):
        rows = np.flatnonzero(each)
        part, row = (capacity[n, rows] / scale[n])[:, :, None] * slots, np.full(rows.size, n)
        replicas = np.broadcast_to(program.replicas[rows, :, None], part.shape)
        standing = 1 / (1 + serves.standby_fraction[rows])[:, :, None]
        parts += [
            in_slot(row, replicas, part * standing),
            in_slot(row, program.quiet[rows], -part),
            in_slot(row, program.rest[rows], -part),
            _standing_by(program, rows, row, -part),
        ]
        if takes is not None:
            smaller = np.flatnonzero(takes[n])
            wanted = np.broadcast_to(-ready[n], (smaller.size, *ready.shape[1:]))
            taken = np.broadcast_to(taking(program)[smaller, None, None], wanted.shape)
            parts.append(in_slot(np.full(smaller.size, n), taken, wanted))
    sheds = np.isfinite(problem.services.unmet_usd)[service][:, :, None]
    shed = np.broadcast_to(program.shed[service][:, :, None], ready.shape)
    program.add_rows(
        stem,
        cells(*ready.shape),
        pulp.LpConstraintGE,
        np.where(sleeps, ready if takes is None else 0.0, -np.inf).ravel(),
        *parts,
        in_slot(np.arange(len(service)), shed, np.where(sheds, ready, 0.0)),
        give_way(program, "demand", np.where(sleeps, ready, 0.0), demand, service),
    )


def _standing_by(program: Program, options: Whole, row_of: Whole, coefficients: Floats) -> Part:
    """standby[v,t] * serves[v,t] of some options in every slot, times a coefficient, in rows of `row_of`."""
    serves, count = program.problem.serve_options, coefficients.shape[2]
    option, period = np.nonzero(serves.chosen_or_not)
    if not option.size:
        return NO_PART
    used = np.full((*serves.standby.shape, 1), None, dtype=object)
    used[option, period, 0] = serving(program)
    stands = np.broadcast_to(used, (*serves.standby.shape, count))[options]
    return in_slot(row_of, stands, coefficients * serves.standby[options, :, None])
