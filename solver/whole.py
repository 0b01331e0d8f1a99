"""Whole replicas and whole orders for choices that are held: a plan, and better ones in its neighbourhood.

An engine alone finds dear ones on large fleets: where every node is in use, one more replica wants one more
rack. So orders are made whole first, with room for replicas to be rounded; then both near to that, and nearer
still to what is found. Larger programs stay near their fractions from the first step on. Where that finds
none, they go by parts: the replicas of a part of the services after the other are made whole next to their
fractions, which are found anew each time, as what is rounded moves the rest elsewhere, or adds to an order.
Orders for whole replicas are soon found, and dear. From a plan on the search opens some sites at a time, in
which replicas and orders may change by a few.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pulp

from solver import account, backend
from solver.program import Program, Variables, name
from solver.steps import SOON_S, Search, cost, count, hold_within, nodes, ranges, reader, restore
from solver.tables import Flags, Floats, Whole

SHARE = 0.2  # of the time left, for each search
PARTS = 5  # of the services, made whole one after the other
SOME = 1e-6  # less than this of a replica is none
TO_SPARE = 0.02  # of the limits of a site, for orders that are rounded up
NEAR_REPLICAS, NEAR_UNITS = 3, 2  # how far whole numbers may go in one search of some sites
ROOM = 0.25  # of a replica, left to round up what each service has in each period
AROUND, NEARER = 2, 1  # how far whole numbers may go from the first orders, and from a plan, at all sites
PAYS = 1e-4  # a search that wins less than this share was fruitless
MANY = 5000  # whole numbers that one search of a neighbourhood is given


def make_whole(program: Program, search: Search) -> backend.Outcome | None:
    """A plan next to the fractions of these choices, or none where rounding does not fit.

    The choices have to be held; replicas and nodes are whole numbers before and after.
    """
    return _orders_first(program, search) or _replicas_first(program, search)


def _orders_first(program: Program, search: Search) -> backend.Outcome | None:
    """Orders while replicas are fractions with room to be rounded; then both near to that, if any fit."""
    as_it_was, large = ranges(program), len(_neighbourhoods(program)) > 1
    rooms = _rooms(program)
    try:
        count([program.replicas], pulp.LpContinuous)
        for row, least, room in rooms:
            row.changeRHS(least + ROOM * room)
        if large and (relaxed := search.relax(program, share=SHARE)).status is backend.Status.OPTIMAL:
            _stay_with_used([program.order], relaxed.values, NEARER)
        ordered = search(program, None, SHARE)
        for row, least, _ in rooms:
            row.changeRHS(least)
        if ordered.stopped or not ordered.status.has_plan:
            return None
        restore(as_it_was)
        both = (program.replicas, program.order)
        _stay_with_used(both, ordered.values, NEARER if large else AROUND)
        found = search(program, None)
        return found if found.stopped or found.status.has_plan else None
    finally:
        restore(as_it_was)


def _rooms(program: Program) -> list[tuple[Any, float, float]]:
    """The rows of demand, the least that each asks for, and the most that one open replica gives it."""
    serving = {variable for variable in program.replicas.ravel() if variable.upBound != 0}
    services, periods = program.problem.services.demand.shape
    named = [program.prefix + name("demand", index) for index in np.ndindex(services, periods)]
    rows = [program.model.constraints[each] for each in named if each in program.model.constraints]
    return [
        (row, float(row.getLb()), max((gives for each, gives in row.items() if each in serving), default=0.0))
        for row in rows
    ]


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
        limits = _site_limits(program)
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
    grows = _may_grow(program, values)[serves.pool] & (_most(program.replicas) > whole)
    rank = grows + fractions + SOME * served.sum(axis=1, keepdims=True) / (1 + served.sum())
    for service in range(part, len(program.problem.services), PARTS):
        rows = np.flatnonzero(serves.service == service)
        order = np.argsort(-rank[rows], axis=0, kind="stable")
        missing = (serves.capacity[rows, None] * fractions[rows]).sum(axis=0)
        able = np.take_along_axis(grows[rows] | (fractions[rows] > 0), order, axis=0)
        carries = serves.capacity[rows][order] * able
        before = np.cumsum(carries, axis=0) - carries
        np.put_along_axis(up := np.zeros(order.shape), order, able & (before < (1 - SOME) * missing), axis=0)
        whole[rows] += up
        hold_within(program.replicas[rows], whole[rows], whole[rows])


def _rounded_up(program: Program, values: Mapping[str, float]) -> dict[str, float]:
    """Orders of each pool at what they add up to by each period, rounded up; replicas as they are."""
    read = reader(values)
    units = np.diff(np.ceil(np.cumsum(read(program.order), axis=1) - SOME), axis=1, prepend=0.0)
    pairs = ((program.order, units), (program.replicas, np.rint(read(program.replicas))))
    return {
        variable.name: float(value)
        for variables, numbers in pairs
        for variable, value in zip(variables.ravel(), numbers.ravel(), strict=True)
    }


def _may_grow(program: Program, values: Mapping[str, float]) -> Flags:
    """Pools in which ordered nodes may have arrived by each period, at sites with room to spare."""
    pools = program.problem.pools
    placed: Whole = np.cumsum(_most(program.order) > 0, axis=1, dtype=np.int64)
    grows: Flags = account.arriving(placed, pools.lead_periods) > 0
    for row, limit in _site_limits(program):
        if sum(factor * values[variable.name] for variable, factor in row.items()) > (1 - TO_SPARE) * limit:
            site, period = (int(number) for number in row.name.split("_")[-2:])
            grows[pools.site == site, period] = False
    return grows


def _site_limits(program: Program) -> list[tuple[Any, float]]:
    """The rows of power and of space at each site in each period, and their limits."""
    sites = np.ndindex(program.problem.limits.power_kw.shape)
    named = [program.prefix + name(stem, index) for index in sites for stem in ("power", "space")]
    rows = [program.model.constraints[each] for each in named if each in program.model.constraints]
    return [(row, float(row.getUb())) for row in rows]


def _most(variables: Variables) -> Floats:
    """The upper bound of each variable; infinite where there is none."""
    flat = [math.inf if each.upBound is None else each.upBound for each in variables.ravel()]
    return np.array(flat, dtype=float).reshape(variables.shape)


def _stay_near(program: Program, values: Mapping[str, float], inside: Flags) -> None:
    """In some pools replicas and orders stay near what they are; in all others they stay the same."""
    at_pool = inside[program.problem.serve_options.pool]
    both = (program.replicas, at_pool, NEAR_REPLICAS), (program.order, inside, NEAR_UNITS)
    for variables, free, most in both:
        now, around = np.rint(reader(values)(variables)), np.where(free, most, 0)[:, None]
        hold_within(variables, now - around, now + around)


def improve(program: Program, found: backend.Outcome, search: Search) -> backend.Outcome:
    """The best plan from opening some sites after the other, until none brings more or time is up.

    Where one search can take all sites, it stays with what is used, and nearer to it. The choices have to be
    held. An outcome that was stopped says so.
    """
    open_ones, best, fruitless, turn = ranges(program), found, 0, 0
    parts = _neighbourhoods(program)
    while fruitless < len(parts) and search.left_s > SOON_S:
        part = turn % len(parts)
        if len(parts) > 1:
            _stay_near(program, best.values, parts[part])
            better = search(program, best.values, share=1 / (len(parts) - part))
        else:
            _stay_with_used((program.replicas, program.order), best.values, NEARER)
            better = search(program, best.values)
        restore(open_ones)
        fruitless = 0 if cost(better) < best.objective * (1 - PAYS) else fruitless + 1
        best, turn = min(better, best, key=cost), turn + 1
        if better.stopped:
            return replace(best, stopped=True)
    return best


def _neighbourhoods(program: Program) -> list[Flags]:
    """Pools of some sites, of as many as one search is given; every site is in some."""
    pools, sites = program.problem.pools, len(program.problem.site_names)
    open_ones = sum(
        variable.upBound != variable.lowBound
        for variables in (program.order, program.replicas)
        for variable in variables.ravel()
    )
    at_once = min(sites, max(1, sites * MANY // max(open_ones, 1)))
    return [
        np.isin(pools.site, np.arange(first, first + at_once) % sites)
        for first in range(0, sites, (at_once + 1) // 2 if at_once < sites else sites)
    ]
