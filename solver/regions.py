"""Requests by the region of their users: which options answer them, and sets of regions that need enough."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from solver.problem import Problem
from solver.tables import Flags, Floats, Whole

Set = tuple[int, Flags, float]  # service, options [V] that answer any region of a set, share of its requests


def every_set(problem: Problem) -> Iterator[Set]:
    """Each set of some regions of a service, but not of all, which `meet_demand` asks for."""
    serves, services = problem.serve_options, problem.services
    for i in np.flatnonzero(services.demand.any(axis=1)).tolist():
        share = services.region_fraction[i]
        own = np.flatnonzero(share > 0).tolist()
        for size in range(1, len(own)):
            for some in itertools.combinations(own, size):
                mask = sum(1 << r for r in some)
                answers = (serves.regions == 0) | (serves.regions & mask != 0)
                yield i, (serves.service == i) & answers, float(share[list(some)].sum())


def sets(problem: Problem) -> tuple[Whole, Flags, Floats]:
    """Sets that need a row: service [N], options that answer any of them [N, V], share of requests [N].

    One that all options of the service answer in part needs none, and of those that the same options answer
    the largest is enough.
    """
    most: dict[tuple[int, bytes], tuple[Flags, float]] = {}
    for i, answers, share in every_set(problem):
        key = i, answers.tobytes()
        if np.any((problem.serve_options.service == i) & ~answers) or not answers.any():
            most[key] = answers, max(share, most.get(key, (answers, 0.0))[1])
    service = np.array([i for i, _ in most], dtype=np.int64)
    flags = np.array([answers for answers, _ in most.values()], dtype=bool)
    shares = np.array([share for _, share in most.values()])
    return service, flags.reshape(len(most), len(problem.serve_options)), shares
