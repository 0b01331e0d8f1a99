"""Whole replicas and whole orders for choices that are held: a plan, and better ones in its neighbourhood.

An engine alone finds dear ones on large fleets: where every node is in use, one more replica wants one more
rack. So orders are made whole first, with room for replicas to be rounded; then both near to that, and nearer
still to what is found. Of larger programs orders stay at their fractions, rounded up or down, and replicas
are fitted into them (`fitting`). Where that finds none, they go by parts: the replicas of a part of the
services after the other are made whole next to their fractions, which are found anew each time, as what is
rounded moves the rest elsewhere, or adds to an order. Orders for whole replicas are soon found, and dear.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pulp

from solver import account, backend
from solver.fitting import fit
from solver.program import Program, Variables, name
from solver.steps import (
    ROOM_OF_MANY,
    SOON_S,
    Search,
    cost,
    count,
    hold_within,
    nodes,
    ranges,
    reader,
    restore,
    room_to_round,
)
from solver.tables import Flags, Floats, Whole

SHARE = 0.2  # of the time left, for each search
PARTS = 5  # of the services, made whole one after the other
SOME = 1e-6  # less than this of a replica is none
TO_SPARE = 0.02  # of the limits of a site, for orders that are rounded up
ROOM = 0.25  # of a replica, left to round up what each service has in each period
AROUND, NEARER = 2, 1  # how far whole numbers may go from the first orders, and from a plan, at all sites
LOOSELY = 2.0  # times as near as every step: what is nearer is found around that plan
CLOSER = 0.2  # of the gap asked for: how near orders for held replicas go to their best
PAYS = 1e-4  # a search that wins less than this share was fruitless
MANY = 5000  # whole numbers that one search is given


def make_whole(program: Program, search: Search) -> backend.Outcome | None:
    """A plan next to the fractions of these choices, or none where rounding does not fit.

    The choices have to be held; replicas and nodes are whole numbers before and after.
    """
    return _orders_first(program, search) or _replicas_first(program, search)


def _orders_first(program: Program, search: Search) -> backend.Outcome | None:
    """Orders while replicas are fractions with room to be rounded; then both near to that, if any fit."""
    as_it_was, many = ranges(program), _many(program)
    try:
        with room_to_round(program, ROOM_OF_MANY if many else ROOM):
            count([program.replicas], pulp.LpContinuous)
            if many:
                _round_orders(program, search)
            ordered = search(program, None, SHARE)
        if ordered.stopped or not ordered.status.has_plan:
            return None
        restore(as_it_was)
        start: Mapping[str, float] | None = None
        if not many:
            _stay_with_used((program.replicas, program.order), ordered.values, AROUND)
            search = replace(search, gap_fraction=LOOSELY * search.gap_fraction)
        elif (start := fit(program, ordered.values, search)) is not None:
            restore(as_it_was)
            _hold_as_found(program, start)
            search = replace(search, gap_fraction=CLOSER * search.gap_fraction)
        else:
            return None
        found = search(program, start)
        return found if found.stopped or found.status.has_plan else None
    finally:
        restore(as_it_was)


def _many(program: Program) -> bool:
    """Are there more whole numbers than one search is given?"""
    counted = (program.order, program.replicas)
    open_ones = [each for part in counted for each in part.ravel() if each.upBound != each.lowBound]
    return len(open_ones) > MANY


def _hold_as_found(program: Program, values: Mapping[str, float]) -> None:
    """From now on replicas are what they are, barred or not, and orders near to what they are."""
    for variable in program.replicas.ravel():
        variable.lowBound = variable.upBound = round(values[variable.name])
    _stay_with_used([program.order], values, NEARER)


def _round_orders(program: Program, search: Search) -> None:
    """From now on orders are what they are as fractions, rounded up or down."""
    fractions = search.fractions(program, SHARE)
    if math.isfinite(fractions.solve()):
        _stay_with_used([program.order], fractions.values(), 0)


def _stay_with_used(columns: Iterable[Variables], values: Mapping[str, float], around: int) -> None:
    """Replicas or orders stay near what they are, those that are used in no period at none."""
    for variables in columns:
        now = reader(values)(variables)
        used = np.any(now > SOME, axis=1, keepdims=True)
        hold_within(variables, np.floor(now + SOME) - around, np.where(used, np.ceil(now - SOME) + around, 0))


def _replicas_first(program: Program, search: Search) -> backend.Outcome | None:
    """Replicas next to their fractions, part by part; then orders for them, if any fit."""
    as_it_was = ranges(program)
    try:
        count([*nodes(program), program.replicas], pulp.LpContinuous)
        limits = [(row, limit) for row, limit, _, _ in _site_limits(program)]
        for row, limit in limits:
            row.changeRHS((1 - TO_SPARE) * limit)
        values = _round_replicas(program, search)
        for row, limit in limits:
            row.changeRHS(limit)
        if not values:
            return None
        count([*nodes(program), program.replicas], pulp.LpInteger)
        found = search(program, _rounded_up(program, values), SHARE)
        return found if found.stopped or found.status.has_plan else None
    finally:
        restore(as_it_was)


def _round_replicas(program: Program, search: Search) -> Mapping[str, float]:
    """Hold replicas at whole numbers, part by part; a part that does not fit stays open.

    What all else was when last looked at; nothing where there is no plan even with fractions.
    """
    values: Mapping[str, float] = {}
    before = ranges(program)
    for part in range(PARTS + 1):
        relaxed = search.relax(program, share=SHARE)
        if relaxed.status is not backend.Status.OPTIMAL:
            restore(before)
            break
        values, before = relaxed.values, ranges(program)
        if part < PARTS:
            _round(program, values, part)
    return values


def _round(program: Program, values: Mapping[str, float], part: int) -> None:
    """Hold the replicas of every so manieth service: the largest fractions up, until they carry as much.

    Where no node can be added in time, fractions go up only if all others do not carry enough.
    """
    serves, served = program.problem.serve_options, reader(values)(program.replicas)
    whole = np.floor(served + SOME)
    fractions = np.where(served - whole > SOME, served - whole, 0.0)
    grows = _may_grow(program, values)[serves.node_group] & (_most(program.replicas) > whole)
    rank = grows + fractions + SOME * served.sum(axis=1, keepdims=True) / (1 + served.sum())
    for service in range(part, len(program.problem.services), PARTS):
        rows = np.flatnonzero(serves.service == service)
        order = np.argsort(-rank[rows], axis=0, kind="stable")
        missing = (serves.capacity[rows] * fractions[rows]).sum(axis=0)
        able = np.take_along_axis(grows[rows] | (fractions[rows] > 0), order, axis=0)
        carries = np.take_along_axis(serves.capacity[rows], order, axis=0) * able
        before = np.cumsum(carries, axis=0) - carries
        np.put_along_axis(up := np.zeros(order.shape), order, able & (before < (1 - SOME) * missing), axis=0)
        whole[rows] += up
        hold_within(program.replicas[rows], whole[rows], whole[rows])


def _rounded_up(program: Program, values: Mapping[str, float]) -> dict[str, float]:
    """Orders of each node group at what they add up to by each period, rounded up; replicas as they are."""
    read = reader(values)
    units = np.diff(np.ceil(np.cumsum(read(program.order), axis=1) - SOME), axis=1, prepend=0.0)
    pairs = ((program.order, units), (program.replicas, np.rint(read(program.replicas))))
    return {
        variable.name: float(value)
        for variables, numbers in pairs
        for variable, value in zip(variables.ravel(), numbers.ravel(), strict=True)
    }


def _may_grow(program: Program, values: Mapping[str, float]) -> Flags:
    """Node groups in which ordered nodes may have arrived by each period, at sites with room to spare."""
    groups = program.problem.node_groups
    placed: Whole = np.cumsum(_most(program.order) > 0, axis=1, dtype=np.int64)
    grows: Flags = account.arriving(placed, groups.lead_periods) > 0
    for row, limit, sites, period in _site_limits(program):
        if sum(factor * values[variable.name] for variable, factor in row.items()) > (1 - TO_SPARE) * limit:
            grows[sites[groups.site], period] = False
    return grows


def _site_limits(program: Program) -> Iterator[tuple[Any, float, Flags, int]]:
    """The rows of power and of space: of which sites and in which period each is, and its limit."""
    limits, rows = program.problem.limits, program.model.constraints
    alone = np.eye(len(limits.racks), dtype=bool)
    for stem, members in (("power", alone), ("space", alone), ("shared_power", limits.shared_power_sites)):
        for number, period in np.ndindex(len(members), program.problem.periods):
            row = rows.get(program.prefix + name(stem, (number, period)))
            if row is not None:
                yield row, float(row.getUb()), members[number], period


def _most(variables: Variables) -> Floats:
    """The upper bound of each variable; infinite where there is none."""
    flat = [math.inf if each.upBound is None else each.upBound for each in variables.ravel()]
    return np.array(flat, dtype=float).reshape(variables.shape)


def improve(program: Program, found: backend.Outcome, search: Search) -> backend.Outcome:
    """The best plan from staying with what is used, and near to it, until that brings no more or time is up.

    The choices have to be held. An outcome that was stopped says so. Where there is too much for one search,
    the plan is what it was.
    """
    open_ones, best = ranges(program), found
    while not _many(program) and search.left_s > SOON_S:
        _stay_with_used((program.replicas, program.order), best.values, NEARER)
        better = search(program, best.values)
        restore(open_ones)
        pays = cost(better) < best.objective * (1 - PAYS)
        best = min(better, best, key=cost)
        if better.stopped:
            return replace(best, stopped=True)
        if not pays:
            break
    return best
