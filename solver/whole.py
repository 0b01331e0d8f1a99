"""Whole replicas and whole orders for choices that are held: a plan, and better ones in its neighbourhood.

An engine alone finds dear ones: where every node is in use, one more replica wants one more rack, and on 72
node groups it pays 0.4 % for replicas that can be had for 0.05 %. So orders are made whole first, next to
their fractions and with room for replicas to be rounded, and replicas are fitted into them (`fitting`). Where
a few do not fit in some periods, the engine counts those of these periods again, near to what they are first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
import pulp

from solver import backend
from solver.fitting import Fitted, fit
from solver.program import Program, Variables
from solver.steps import (
    SOON_S,
    Search,
    cost,
    count,
    hold_within,
    ranges,
    reader,
    restore,
    room_to_round,
)

SHARE = 0.2  # of the time left, for each search
SOME = 1e-6  # less than this of a replica is none
ROOM = 0.3  # of a replica, left to round up what each service has in each period
NEARER = 1  # how far whole numbers may go from those of a plan
CLOSER = 0.2  # of the gap asked for: how near orders alone go to their best
NEARLY = 0.5  # and plans nearby
PAYS = 1e-4  # a search that wins less than this share was fruitless
MANY = 5000  # whole numbers that one search is given


def make_whole(program: Program, search: Search) -> backend.Outcome | None:
    """A plan next to the fractions of these choices, or none where rounding does not fit.

    The choices have to be held; replicas and nodes are whole numbers before and after.
    """
    as_it_was, closer = ranges(program), replace(search, gap_fraction=CLOSER * search.gap_fraction)
    try:
        with room_to_round(program, ROOM):
            count([program.replicas], pulp.LpContinuous)
            _round_orders(program, search)
            ordered = closer(program, None, SHARE)
        if ordered.stopped or not ordered.status.has_plan:
            return None
        restore(as_it_was)
        fitted = fit(program, ordered.values, search)
        restore(as_it_was)
        if fitted is None:
            return None
        if not fitted.too_full.any():
            _hold_as_found(program, fitted)
            return _found(closer(program, fitted.values))
        for around in (NEARER, math.inf):
            restore(as_it_was)
            _hold_as_found(program, fitted, around)
            if (found := _found(search(program, None))) is not None:
                return found
        return None
    finally:
        restore(as_it_was)


def _found(outcome: backend.Outcome) -> backend.Outcome | None:
    return outcome if outcome.stopped or outcome.status.has_plan else None


def _many(program: Program) -> bool:
    """Are there more whole numbers than one search is given?"""
    counted = (program.order, program.replicas)
    open_ones = [each for part in counted for each in part.ravel() if each.upBound != each.lowBound]
    return len(open_ones) > MANY


def _hold_as_found(program: Program, fitted: Fitted, around: float = 0.0) -> None:
    """From now on orders are near to what they are, and replicas what they are, barred or not.

    In periods that are too full, replicas are around that.
    """
    full = np.broadcast_to(fitted.too_full, program.replicas.shape)
    for variable, too_full in zip(program.replicas.ravel(), full.ravel(), strict=True):
        now = round(fitted.values[variable.name])
        off = around if too_full else 0.0
        top = math.inf if variable.upBound is None else variable.upBound
        variable.lowBound = max(0.0, now - off)
        variable.upBound = max(min(top, now + off), now)
    _stay_with_used([program.order], fitted.values, NEARER)


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


def improve(program: Program, found: backend.Outcome, search: Search) -> backend.Outcome:
    """The best plan from staying with what is used, and near to it, until that brings no more or time is up.

    The choices have to be held. An outcome that was stopped says so. Where even that is too much for one
    search, the plan is what it was.
    """
    open_ones, best = ranges(program), found
    search = replace(search, gap_fraction=NEARLY * search.gap_fraction)
    while search.left_s > SOON_S:
        _stay_with_used((program.replicas, program.order), best.values, NEARER)
        better = best if _many(program) else search(program, best.values, SHARE)
        restore(open_ones)
        pays = cost(better) < best.objective * (1 - PAYS)
        best = min(better, best, key=cost)
        if better.stopped:
            return replace(best, stopped=True)
        if not pays:
            break
    return best
