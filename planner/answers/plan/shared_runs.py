"""Runs that two sites share, in words: which rows count, and the other half of each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from planner.physics.across import CROSSES
from planner.program.plan import Plan
from planner.program.solution import Solution
from planner.trace.records import Record


def counted_runs(plan: Plan, solution: Solution) -> NDArray[np.bool_]:
    """Of the rows of runs that are done, those that count as a run: one of each that two sites share."""
    found: NDArray[np.bool_] = plan.problem.run_options.counts[solution.run > 0]
    return found


def other_half(plan: Plan, candidate: int) -> tuple[str, str] | None:
    """The nodes of the other half of a run, and what crosses; nothing where it is at one site."""
    assert plan.ledger.runs is not None, "one of its runs"
    halves = plan.ledger.runs.candidates.halves
    if halves is None or not halves.joint[candidate]:
        return None
    group = plan.problem.node_group_name(int(halves.group[candidate]))
    return f"{halves.nodes[candidate]} of {group}", CROSSES[int(halves.crosses[candidate])]


def columns_of(plan: Plan, candidate: int) -> Record:
    """What a row of a run says of its other half, where any run of the plan has one."""
    assert plan.ledger.runs is not None, "one of its runs"
    if plan.ledger.runs.candidates.halves is None:
        return {}
    other, crosses = other_half(plan, candidate) or ("", "")
    return {"shared_with": other, "crosses": crosses}


def groups_of(plan: Plan, candidate: int) -> NDArray[np.intp]:
    """Node groups of a run: its own, and that of its other half."""
    assert plan.ledger.runs is not None, "one of its runs"
    candidates = plan.ledger.runs.candidates
    own = [int(candidates.node_group[candidate])]
    if candidates.halves is not None and candidates.halves.joint[candidate]:
        own.append(int(candidates.halves.group[candidate]))
    return np.array(own, dtype=np.intp)


def options_of(plan: Plan, option: int) -> Iterator[int]:
    """The options that hold the nodes of a run: itself, then that of its other half."""
    yield from np.flatnonzero(plan.problem.run_options.first == option).tolist()
