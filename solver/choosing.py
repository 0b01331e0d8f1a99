"""What is chosen once, made whole while what is counted may be fractions: options and rebates.

Both together are hard: a rebate pays only where enough is bought of a SKU, and options that are whole decide
what that is. Alone each is soon solved. So options come first, as if a part of a rebate could be had; then
rebates for those options; then options for those rebates. The search for the bound (`floor`) takes both
together from there. A large program has no time for turns: its rebates are those that the orders of the
relaxation reach without them, or the next, and its options are rounded one after the other (`diving`).
"""

from __future__ import annotations

from collections.abc import Mapping

import pulp

from solver import backend
from solver.diving import dive
from solver.program import Program
from solver.promising import reached
from solver.steps import (
    ROOM_OF_MANY,
    Search,
    count,
    hold,
    ranges,
    reader,
    restore,
    room_to_round,
    rows_for_now,
)
from solver.tighten import keep_the_pace

FIRST = 0.25  # of the time left, for the options alone
SHARE = 0.1  # and for each search from there on


def choose(
    program: Program, search: Search, start: Mapping[str, float], *, at_once: bool = False
) -> backend.Outcome:
    """The best choices found. Nodes and replicas have to be fractions; the choices stay open.

    `start` has whole choices, of rebates those in reach; `at_once` these are taken, or the next ones.
    """
    if at_once and (found := _with_these_rebates(program, search, start)) is not None:
        return found
    if not program.tier.size:
        return search(program, start)
    count([program.tier], pulp.LpContinuous)
    options = search(program, start, FIRST, backend.Looking.SOME)
    count([program.tier], pulp.LpInteger)
    if options.stopped:
        return options
    if not options.status.has_plan:
        return search(program, start)
    return _in_turns(program, search, options) or search(program, start)


def _with_these_rebates(
    program: Program, search: Search, start: Mapping[str, float]
) -> backend.Outcome | None:
    """The best options found where the rebates are those of the start, or nearly; none where none are."""
    open_ones = ranges(program)
    with rows_for_now(program), room_to_round(program, ROOM_OF_MANY):
        keep_the_pace(program)
        found = dive(program, search, start)
    if found is None:
        hold([program.tier], start)
        found = search(program, start, SHARE, backend.Looking.SOME)
        restore(open_ones)
    return found if found.stopped or found.status.has_plan else None


def _in_turns(program: Program, search: Search, options: backend.Outcome) -> backend.Outcome | None:
    """Rebates for the options, then options for the rebates; none where none fit."""
    open_ones = ranges(program)
    best: backend.Outcome | None = None
    known: Mapping[str, float] = _with_rebates(program, options.values)
    for held in ((program.run, program.choose), (program.tier,)):
        hold(held, known)
        found = search(program, known, SHARE, backend.Looking.SOME)
        restore(open_ones)
        if found.stopped or not found.status.has_plan:
            return found if found.stopped else best
        known, best = found.values, found
    return best


def _with_rebates(program: Program, values: Mapping[str, float]) -> dict[str, float]:
    """Choices, and of each SKU the rebate that its orders reach."""
    rows = reached(program.problem, reader(values)(program.order))
    whole = {each.name: 0.0 for each in program.tier} | {program.tier[row].name: 1.0 for row in rows}
    return {each.name: values[each.name] for each in (*program.run, *program.choose)} | whole
