"""Whole replicas for whole orders, where there are too many of both for an engine.

Of the replicas of a period all that matters is that each service is carried and that no node group holds more
than it has room for. From the fractions on, each service in turn takes what is best for it at what a node of
each node group costs now: a node group that is too full is dearer by what it is over, and dearer still the
longer it was. What is too much in some periods may be room in others, for jobs that may pause. So in between
the program with fractions of all else is solved again, with a price for what does not fit. What is over in
the end is a part of a node in one or two periods, which is little for an engine.

Source of the prices: "PathFinder" (McMurchie and Ebeling, FPGA 1995), which routes wires that ask for the
same place on a chip.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

import numpy as np

from solver import account, bounds
from solver.program import Program, name
from solver.steps import Search, hold, reader
from solver.tables import Flags, Floats, Whole

SHARE = 0.5  # of the time left, for all of it
ROUNDS = 12  # of the program with fractions in between, at most
FRUITLESS = 2  # of them, one after the other, that leave as much over as before, at most
SWEEPS = 150  # over the services of a period that use what is too full, at most
ALL = 10  # every so manieth sweep takes all services
OPTIONS = 6  # of a service, changed at once: those that serve now, and the cheapest of the others
# The price of a node that is not there: among services, times what the use of one costs, and more with every
# sweep; in the program, times what one costs in all.
STEEP, DEAR = 5.0, 10.0
FITS = 1e-7  # nodes
SOME = 1e-9


class Fitted(NamedTuple):
    """Values of all variables, and the periods in which replicas use more nodes than there are [T]."""

    values: dict[str, float]
    too_full: Flags


def fit(program: Program, ordered: Mapping[str, float], search: Search) -> Fitted | None:
    """Whole replicas for what is `ordered`, with fractions of all else, the least too full; or none.

    Orders are whole there, replicas may be fractions. Choices have to be held. What is barred may serve here,
    too: the bounds of replicas and orders are others afterwards.
    """
    fitting = _Fitting(program, ordered, search)
    return fitting.found()


class _Fitting:
    """Replicas of each option in each period, and the room for them in each node group."""

    def __init__(self, program: Program, ordered: Mapping[str, float], search: Search) -> None:
        problem, read = program.problem, reader(ordered)
        serves, used = problem.serve_options, read(program.replicas)
        self._program, self._problem = program, problem
        self._size, self._most = serves.nodes, bounds.most_replicas(problem)
        self._gives = serves.capacity / (1 + serves.standby_fraction)
        self._wanted = problem.services.demand * (1 - read(program.shed))
        self._of_service = [
            np.flatnonzero(serves.service == service) for service in range(len(problem.services))
        ]
        self._services = np.arange(len(problem.services))
        self._cost = self._cost_of_replicas()
        nodes = float((self._size[:, None] * used).sum())
        self._steep = STEEP * (abs(float((self._cost * used).sum())) / nodes if nodes else 0.0) or 1.0
        self._dearer = np.zeros(
            program.in_use.shape
        )  # what a node of each node group costs on top, from before
        self._replicas = np.floor(used + SOME).astype(np.int64)
        self._open(ordered)
        self._fractions = search.fractions(program, SHARE)
        self._soften(float(read(program.in_service).sum()), ordered)
        self._room = self._room_for(used, ordered, np.zeros(program.in_use.shape))

    def _cost_of_replicas(self) -> Floats:
        """What one replica costs in each period, with the nodes that it uses."""
        cost, program = self._program.objective, self._program
        of_replica = np.array([cost.get(each, 0.0) for each in program.replicas.ravel()])
        of_use = np.array([cost.get(each, 0.0) for each in program.in_use.ravel()])
        group = self._problem.serve_options.node_group
        own = of_replica.reshape(program.replicas.shape)
        found: Floats = own + self._size[:, None] * of_use.reshape(program.in_use.shape)[group]
        return found

    def _open(self, ordered: Mapping[str, float]) -> None:
        """Replicas may be any; orders are what they are."""
        program = self._program
        hold((program.order, program.retire, program.sell, program.move), ordered)
        for variable, most in zip(program.replicas.ravel(), self._most.ravel(), strict=True):
            variable.lowBound, variable.upBound = 0, float(most)

    def _soften(self, in_service: float, ordered: Mapping[str, float]) -> None:
        """From now on nodes may be used that are not there, at a price."""
        program = self._program
        row = {each: number for number, each in enumerate(program.model.constraints)}
        total = sum(weight * ordered.get(each.name, 0.0) for each, weight in program.objective.items())
        self._price = DEAR * abs(total) / max(in_service, 1.0) or 1.0
        slots = range(len(self._problem.slots))
        rows = [
            [row[each] for each in map(program.prefix.__add__, _rows_of_nodes(index, slots)) if each in row]
            for index in np.ndindex(program.in_use.shape)
        ]
        self._over_places = self._fractions.soften(rows, self._price).reshape(program.in_use.shape)
        self._replica_places = self._fractions.places(program.replicas)

    def _room_for(self, replicas: Floats | Whole, values: Mapping[str, float], over: Floats) -> Floats:
        """Nodes of each node group that replicas may use, where all else stays as it is."""
        program, read = self._program, reader(values)
        room = account.totals_by(
            self._problem.serve_options.node_group,
            len(self._problem.node_groups),
            self._size[:, None] * replicas,
        )
        room = room + read(program.parked) - over
        for index in np.ndindex(room.shape):
            row = program.model.constraints.get(program.prefix + name("nodes", index))
            if row is not None:
                room[index] -= sum(factor * values[each.name] for each, factor in row.items()) + row.constant
        return room

    def found(self) -> Fitted | None:
        """Round by round, until all fits, rounds bring no more or time is up."""
        periods, least, fruitless = list(range(self._problem.periods)), math.inf, 0
        best: Fitted | None = None
        for turn in range(ROUNDS):
            for period in periods:
                self._settle(period, turn)
            over = self._solved()
            if over is None:
                break
            values, too_full = self._fractions.values(), over.sum(axis=0) > FITS
            fruitless = 0 if over.sum() < least - FITS else fruitless + 1
            if not fruitless:
                least, best = float(over.sum()), Fitted(values, too_full)
            if not too_full.any() or fruitless == FRUITLESS:
                break
            self._room = self._room_for(self._replicas, values, over)
            periods = np.flatnonzero(too_full).tolist()
        return best

    def _solved(self) -> Floats | None:
        """Nodes that are not there, in each node group, for these replicas."""
        self._fractions.move(self._replica_places, self._replicas, self._replicas)
        if math.isinf(self._fractions.solve()):
            return None
        over: Floats = self._fractions.at(self._over_places)
        return over

    def _settle(self, period: int, turn: int) -> None:
        """Sweep by sweep each service takes what is best for it, until every node group has room for all."""
        room, dearer = self._room[:, period], self._dearer[:, period]
        serves = self._problem.serve_options
        group, replicas = serves.node_group, self._replicas[:, period]
        used: Floats = np.bincount(group, self._size * replicas, minlength=room.size).astype(float)
        best, kept = math.inf, replicas.copy()
        shuffled = np.random.default_rng((period, turn))  # the same each time
        for sweep in range(SWEEPS):
            crowded = (replicas > 0) & (used > room + SOME)[group]
            some = self._services if sweep % ALL == 0 else np.unique(serves.service[crowded])
            for service in shuffled.permutation(some).tolist():
                self._improve(self._of_service[service], service, period, used)
            over = np.maximum(used - room, 0.0)
            if over.sum() < best:
                best, kept = float(over.sum()), replicas.copy()
            if best <= FITS:
                break
            dearer += self._steep * over
        replicas[:] = kept

    def _improve(self, rows: Whole, service: int, period: int, used: Floats) -> None:
        """Take what is best for one service at the prices of this moment."""
        group, size = self._problem.serve_options.node_group[rows], self._size[rows]
        room, now = self._room[group, period], self._replicas[rows, period]
        price = self._cost[rows, period] + size * self._dearer[group, period]
        one_more = price + self._steep * np.maximum(used[group] + size - np.maximum(room, used[group]), 0.0)
        standby, gives = self._problem.serve_options.standby[rows, period], self._gives[rows, period]
        least = self._problem.serve_options.least[rows, period]
        able = (gives > 0) & ((now > 0) | (room >= size - SOME))
        dear = np.where(able, one_more / np.maximum(gives, SOME), math.inf)
        some = np.argsort(np.where(now > 0, -math.inf, dear), kind="stable")[: min(OPTIONS, int(able.sum()))]
        if not some.size:
            return
        after = now[some] + _changes(some.size)
        lacks = self._wanted[service, period] - float((now - standby * (now > 0)) @ gives)
        carried = (after - standby[some] * (after > 0)) @ gives[some]
        enough = carried - (now - standby * (now > 0))[some] @ gives[some] >= lacks - SOME
        allowed = (after == 0) | ((after >= least[some]) & (after <= self._most[rows[some], period]))
        fair = enough & (after >= 0).all(axis=1) & allowed.all(axis=1)
        if not fair.any():
            cheapest = int(np.argmin(dear))
            extra = math.ceil(lacks / gives[cheapest] - SOME) + int(standby[cheapest] * (now[cheapest] == 0))
            extra = max(extra, int(least[cheapest] - now[cheapest]))
            self._replicas[rows[cheapest], period] += extra
            used[group[cheapest]] += size[cheapest] * extra
            return
        shared = group[some][:, None] == group[some]  # options of one node group fill it together
        once = self._steep / shared.sum(axis=0)
        filled = used[group[some]] + (size[some] * (after - now[some])) @ shared
        cost = after @ price[some] + np.maximum(filled - room[some], 0.0) @ once
        best = int(np.argmin(np.where(fair, cost, math.inf)))
        stays = now[some] @ price[some] + np.maximum(used[group[some]] - room[some], 0.0) @ once
        if lacks > SOME or cost[best] < stays - SOME:
            self._replicas[rows[some], period] = after[best]
            used[group[some]] = filled[best]


def _rows_of_nodes(index: tuple[int, ...], slots: range) -> list[str]:
    """The rows that say how many nodes there are of a node group in a period, and in its slots."""
    by_slot = [name(stem, (*index, slot)) for stem in ("slot_nodes", "slot_off") for slot in slots]
    return [name("nodes", index), name("hours", index), *by_slot]


@cache
def _changes(options: int) -> Whole:
    """All ways to add up to two replicas and to take away up to two, over so many options."""
    one = np.eye(options, dtype=np.int64)
    few = np.array([np.zeros(options, dtype=np.int64), *one, *(one[:, None] + one).reshape(-1, options)])
    changes: Whole = np.unique((few[:, None] - few).reshape(-1, options), axis=0)
    return changes
