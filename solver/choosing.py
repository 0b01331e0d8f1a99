"""What is chosen once, made whole while what is counted may be fractions: options and rebates.

Both together are hard: a rebate pays only where enough is bought of a SKU, and options that are whole decide
what that is. Alone each is soon solved. So options come first, as if a part of a rebate could be had; then
rebates for those options; then both in turns, and at last together from there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import pulp

from solver import backend
from solver.program import Program
from solver.promising import reached
from solver.steps import Search, cost, count, hold, ranges, reader, restore

TURNS = 2  # rebates and options, each for the other
FIRST = 0.25  # of the time left, for the options alone
SHARE = 0.1  # and for each search from there on
PAYS = 1e-4  # a turn that wins less than this share is the last


def choose(program: Program, search: Search, start: Mapping[str, float]) -> backend.Outcome:
    """The best choices found. Nodes and replicas have to be fractions; the choices stay open."""
    if not program.tier.size:
        return search(program, start)
    count([program.tier], pulp.LpContinuous)
    options = search(program, start, FIRST)
    count([program.tier], pulp.LpInteger)
    if options.stopped:
        return options
    if not options.status.has_plan:
        return search(program, start)
    best = _in_turns(program, search, options)
    if best is not None and best.stopped:
        return best
    both = search(program, best.values if best is not None else start, SHARE)
    return min(both, best or both, key=cost) if not both.stopped else both


def _in_turns(program: Program, search: Search, options: backend.Outcome) -> backend.Outcome | None:
    """Rebates for the options, options for the rebates, until that pays no more; none where none fit."""
    open_ones = ranges(program)
    best: backend.Outcome | None = None
    known: Mapping[str, float] = _with_rebates(program, options.values)
    for turn in range(2 * TURNS):
        hold([program.tier] if turn % 2 else [program.run, program.choose], known)
        found = search(program, known, SHARE)
        restore(open_ones)
        if found.stopped or not found.status.has_plan:
            return found if found.stopped else best
        before, known, best = cost(best) if best else math.inf, found.values, found
        if turn > 1 and found.objective > before - PAYS * abs(before):
            break
    return best


def _with_rebates(program: Program, values: Mapping[str, float]) -> dict[str, float]:
    """Choices, and of each SKU the rebate that its orders reach."""
    rows = reached(program.problem, reader(values)(program.order))
    whole = {each.name: 0.0 for each in program.tier} | {program.tier[row].name: 1.0 for row in rows}
    return {each.name: values[each.name] for each in (*program.run, *program.choose)} | whole
