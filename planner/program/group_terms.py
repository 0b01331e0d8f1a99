"""Terms of a plan whose rows are node groups, each the sum of what several kinds of work take there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from planner.program.slot_ledger import DECIDED, SUMS
from planner.trace.quantities import Part, Traced, chosen, derive, rows
from solver.problem import Problem

# What each takes (X, T), its node group, how many there are (X, T), and of what.
Source = tuple[Traced, NDArray[np.intp], NDArray[np.float64], str]


def by_group(kind: str, term: str, problem: Problem, sources: Sequence[Source]) -> dict[str, Part]:
    """One term, a row for each node group and a column for each period; nothing where there is none of it."""
    parts = list[Traced]()
    for each, group, amounts, what in sources:
        some = np.flatnonzero(amounts.any(axis=1))
        if not some.size:
            continue
        here = (np.arange(len(problem.node_groups))[:, None] == group[some]).astype(float)
        parts.append(
            derive(
                SUMS[kind],
                **{f"each_{kind}": rows(each, some)},
                amounts=chosen("amounts", amounts[some], f"{DECIDED}: {what}"),
                here=chosen("here", here, "which node group each is on"),
            )
        )
    if not parts:
        return {}
    whole = parts[0]
    for part in parts[1:]:
        whole = (whole + part).named(f"{term}_{kind}")
    return {term: (whole, chosen("counts", np.ones(np.shape(whole.value)), "once in each period", "1"))}
