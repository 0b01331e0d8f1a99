"""Stages that share the response time of a pipeline: what each may take, and what a plan lets it take.

A stage is a service; each of its options answers within a share of the response time of the pipeline.
"""

from __future__ import annotations

import numpy as np

from solver import account
from solver.problem import Problem
from solver.tables import Flags, Floats, Whole


def shares(problem: Problem) -> tuple[Whole, Floats]:
    """Stages and shares of the time [K]: each share that options of a stage need, the least first.

    A stage of no demand has none.
    """
    serves, services = problem.serve_options, problem.services
    found = [
        (i, share)
        for i in np.flatnonzero((services.pipeline > 0) & services.demand.any(axis=1)).tolist()
        for share in np.unique(serves.time_fraction[serves.service == i]).tolist()
    ]
    columns = np.array(found).reshape(-1, 2)
    return columns[:, 0].astype(np.int64), columns[:, 1]


def in_time(problem: Problem) -> tuple[Whole, Flags, Flags]:
    """Each share but the largest of a stage: the stage [N], options in time [N, V], shares up to it [N, K].

    All options of a stage are in time for its largest share, which `meet_demand` asks for anyway.
    """
    serves = problem.serve_options
    stage, share = shares(problem)
    some = np.flatnonzero(np.append(stage[1:] == stage[:-1], False)) if stage.size else np.zeros(0, dtype=int)
    of, most = stage[some, None], share[some, None]
    fast = (serves.service == of) & (serves.time_fraction <= most)
    return stage[some], fast, (stage == of) & (share <= most)


def taken_fraction(problem: Problem, carried: Floats, wanted: Floats) -> Floats:
    """The least share of the time within which the options of each stage carry what is wanted [I].

    Args:
        problem: its stages; services that are none take nothing.
        carried: requests/s that each option carries [V, ...].
        wanted: requests/s that each service has to carry [I, ...]; where no share is enough, it takes the
            largest.
    """
    found = np.zeros(len(problem.services))
    serves, (stage, share) = problem.serve_options, shares(problem)
    for i in np.unique(stage).tolist():
        for most in share[stage == i].tolist():
            fast = (serves.service == i) & (serves.time_fraction <= most)
            found[i] = most
            if np.all(carried[fast].sum(axis=0) >= wanted[i]):
                break
    return found


def of_pipelines(problem: Problem, stages: Floats) -> Floats:
    """What the stages of each pipeline take together [L]."""
    pipeline = problem.services.pipeline
    return account.totals_by(pipeline, int(pipeline.max(initial=0)) + 1, stages)[1:]
