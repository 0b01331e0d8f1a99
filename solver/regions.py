"""Requests by the region of their users: which options answer them, and sets of regions that need enough."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from solver import account
from solver.problem import Problem
from solver.tables import Flags, Floats, Whole


class Region(NamedTuple):
    """Some regions of a service, but not all: what has to answer them, and how much of it they are."""

    service: int
    numbers: tuple[int, ...]
    answers: Flags  # [V] options that answer any of them
    peak_fraction: float  # in their busiest part of a day, of all regions in that of all
    part_fraction: Floats  # [D] of the load of the service in each part of a day; empty: all peak together

    def in_slots(self, count: int) -> Floats:
        """Their share of the load in each of so many slots [Y], whose days have the same parts."""
        if not self.part_fraction.size:
            return np.full(count, self.peak_fraction)
        return np.resize(self.part_fraction, count)


def every_set(problem: Problem) -> Iterator[Region]:
    """Each set of some regions of a service, but not of all, which `meet_demand` asks for."""
    serves, services = problem.serve_options, problem.services
    for i in np.flatnonzero(services.demand.any(axis=1)).tolist():
        share, loads = services.region_fraction[i], services.region_load_fraction[i]
        own = np.flatnonzero(share > 0).tolist()
        whole = loads.sum(axis=0)
        for size in range(1, len(own)):
            for some in map(list, itertools.combinations(own, size)):
                mask = sum(1 << r for r in some)
                answers = (serves.regions == 0) | (serves.regions & mask != 0)
                mine = (serves.service == i) & answers
                if not whole.any():
                    yield Region(i, tuple(some), mine, float(share[some].sum()), np.zeros(0))
                    continue
                parts = loads[some].sum(axis=0)
                of_all = np.divide(parts, whole, where=whole > 0, out=0 * whole)
                yield Region(i, tuple(some), mine, float(parts.max() / whole.max()), of_all)


def sets(problem: Problem) -> list[Region]:
    """Sets that need a row.

    One that all options of the service answer in part needs none, and of those that the same options answer
    the largest, which has all regions of the others, is enough.
    """
    most: dict[tuple[int, bytes], Region] = {}
    for one in every_set(problem):
        key = one.service, one.answers.tobytes()
        if np.any((problem.serve_options.service == one.service) & ~one.answers) or not one.answers.any():
            most[key] = max(most.get(key, one), one, key=lambda found: found.peak_fraction)
    return list(most.values())


def columns(problem: Problem) -> tuple[Whole, Flags, Floats]:
    """The sets that need a row: service [N], options that answer any [N, V], share at their peak [N]."""
    found = sets(problem)
    flags = np.array([one.answers for one in found], dtype=bool)
    return (
        np.array([one.service for one in found], dtype=np.int64),
        flags.reshape(len(found), len(problem.serve_options)),
        np.array([one.peak_fraction for one in found]),
    )


def carried(problem: Problem, replicas: Whole) -> Floats:
    """Requests/s of all regions that replicas carry, as many of each as it has a share [I, T].

    c[i,t] = min over n of sum_v of n c[v,t] / share[n], and sum_v c[v,t]
    """
    found, each = account.carried(problem, replicas), account.carried_by_option(problem, replicas)
    service, answers, share = columns(problem)
    np.minimum.at(found, service, answers @ each / share[:, None])
    return found
