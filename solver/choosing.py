"""What is chosen once, made whole while what is counted may be fractions: options and rebates.

Both together are hard: a rebate pays only where enough is bought of a SKU, and options that are whole decide
what that is. With the rebates held, options are soon found, all of them open. Which rebates those are is told
by the tightened relaxation (`floor`), where they are nearly whole. A large program has no time for that: its
rebates are those that the orders of the relaxation reach without them, or the next, and its options are
rounded one after the other (`diving`).
"""

from __future__ import annotations

from collections.abc import Mapping

from solver import backend
from solver.diving import REBATES, choose_rebates, dive
from solver.program import Program
from solver.steps import (
    ROOM_OF_MANY,
    Search,
    hold,
    ranges,
    restore,
    room_to_round,
    rows_for_now,
)
from solver.tables import Floats
from solver.tighten import keep_the_pace

SHARE = 0.5  # of the time left, for a search with these rebates
SHARE_OF_LARGE = 0.1


def choose(
    program: Program,
    search: Search,
    start: Mapping[str, float],
    parts: Floats | None = None,
    *,
    at_once: bool = False,
    again: bool = False,
) -> backend.Outcome:
    """The best options found where the rebates are those of the start; where none are, with any rebates.

    Nodes and replicas have to be fractions; the choices stay open. Where `parts` of rebates are known, others
    are tried before. `at_once` options are rounded, and searched from there on where they are `again`.
    """
    found = _rounded(program, search, start) if at_once else None
    if found is not None and again and not found.stopped:
        better = with_rebates(program, search, found.values, SHARE_OF_LARGE, again=True)
        found = better if better.stopped or better.status.has_plan else found
    if parts is not None:
        start = {**start, **_better_rebates(program, search, start, parts)}
    found = found or with_rebates(program, search, start, SHARE_OF_LARGE if at_once else SHARE)
    if found.stopped or found.status.has_plan or not program.tier.size:
        return found
    return search(program, start)


def with_rebates(
    program: Program,
    search: Search,
    values: Mapping[str, float],
    share: float = SHARE,
    *,
    again: bool = False,
) -> backend.Outcome:
    """The best options for these rebates, all of them open; `again` from those that are known."""
    open_ones = ranges(program)
    hold([program.tier], values)
    found = search(program, values if again else None, share, backend.Looking.SOME)
    restore(open_ones)
    return found


def _better_rebates(
    program: Program, search: Search, start: Mapping[str, float], parts: Floats
) -> Mapping[str, float]:
    with rows_for_now(program):
        keep_the_pace(program)
        return choose_rebates(program, search.fractions(program, REBATES), start, search, parts)


def _rounded(program: Program, search: Search, start: Mapping[str, float]) -> backend.Outcome | None:
    """Options rounded one after the other for these rebates, or better ones; none where none fit."""
    with rows_for_now(program), room_to_round(program, ROOM_OF_MANY):
        keep_the_pace(program)
        return dive(program, search, start)
