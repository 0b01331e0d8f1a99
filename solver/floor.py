"""The bound, looked for at the same time as the plan.

Where there are rebates, they are taken as whole first and all else as fractions, in a program of its own with
the rows of `tighten`: most of what whole choices cost is there, in few branches. Of a program so large that
even this would take too long it is the relaxation. The other search takes all that is chosen once as whole,
where there are no rebates or the first was not enough. It starts from the choices that the steps towards a
plan have found; better ones may come of it. Both end when the plan is near enough.

Which ends first, plan or bound, is a matter of the machine. So that the same problem gives the same answer,
what is near enough counts as just near enough, however far a search had come.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pulp

from solver import backend
from solver.build import build
from solver.program import Program
from solver.steps import Range, Search, count, nodes, open_variables, ranges, reader, restore
from solver.tighten import keep_the_pace, split_by_rebate

JUST = 1 - 1e-6  # of the gap asked for, so that no rounding takes it beyond
CLOSELY = 0.1  # of the gap asked for: how near to its own best choices a search for the bound goes
CLOSER = 0.02  # and to its own best rebates
MANY = 100_000  # open variables from which whole rebates would take minutes
SOME = 1e-6  # orders below this are none


def tightened(program: Program, relaxed: backend.Relaxation, *, large: bool) -> Program:
    """The same with the rows of `tighten`, where only rebates are whole.

    Uses are split for the SKUs that the relaxation orders: of others no part of a rebate is had there. A
    large one gets no more than the rows that do most.
    """
    tight = build(program.problem)
    ordered = reader(relaxed.values)(program.order).sum(axis=1)
    if not large:
        keep_the_pace(tight)
    skus = np.zeros(len(program.problem.sku_names), dtype=bool)
    skus[program.problem.node_groups.sku[ordered > SOME]] = True
    split_by_rebate(tight, skus, best_only=large)
    count([*nodes(tight), tight.replicas, tight.run, tight.choose], pulp.LpContinuous)
    return tight


@dataclass(slots=True)
class Floor:
    """The best bound so far and the least cost, in thousands, and the search that lifts the bound."""

    known: float  # the bound that the search begins from
    gap_fraction: float
    cost: float = math.inf
    _lifted: float = -math.inf
    _running: backend.Running | None = field(default=None, repr=False)
    _whole: bool = field(default=True, repr=False)  # does the running search look for whole choices?

    @property
    def bound(self) -> float:
        """No plan costs less."""
        if math.isinf(self.cost):
            return max(self.known, self._lifted)
        enough = self.cost - JUST * self.gap_fraction * abs(self.cost)
        return max(self.known, min(self._lifted, enough))

    @property
    def near(self) -> bool:
        """Is the best plan within the gap of the bound?"""
        return self.cost < math.inf and backend.gap(self.cost, self.bound) <= self.gap_fraction

    def begin_with_rebates(self, program: Program, relaxed: backend.Relaxation, search: Search) -> None:
        """Look for a bound with whole rebates; of a large program, only tightened, with fractions of all."""
        large = open_variables(ranges(program)) >= MANY
        tight = tightened(program, relaxed, large=large)
        self._begin(tight, search, CLOSER, {}, whole=not large)

    def begin_with_choices(
        self,
        program: Program,
        open_ones: Mapping[pulp.LpVariable, Range],
        search: Search,
        start: Mapping[str, float],
    ) -> None:
        """Look for a bound with whole choices where all is open that is in `open_ones`.

        The program stays as it is.
        """
        as_it_is = ranges(program)
        restore(open_ones)
        count([*nodes(program), program.replicas], pulp.LpContinuous)
        try:
            self._begin(program, search, CLOSELY, start, whole=True)
        finally:
            restore(as_it_is)

    def _begin(
        self, program: Program, search: Search, closely: float, start: Mapping[str, float], *, whole: bool
    ) -> None:
        self._whole = whole
        self._running = backend.begin(
            program.model,
            gap_fraction=closely * self.gap_fraction,
            time_limit_s=search.left_s,
            watch=self._seen if whole else None,
            should_stop=lambda: self.near or (search.should_stop is not None and search.should_stop()),
            start=start,
            looking=backend.Looking.NONE,
            whole=whole,
        )

    def _seen(self, progress: backend.Progress) -> None:
        self._lifted = max(self._lifted, progress.bound)

    def tell(self, cost: float) -> None:
        """What another plan costs."""
        self.cost = min(self.cost, cost)

    def end(self, *, at_once: bool) -> backend.Outcome:
        """Wait for the search, or stop it. What it chose, and whether anyone else stopped it; or nothing."""
        if self._running is None:
            return backend.Outcome(backend.Status.NO_INCUMBENT, math.nan, self.bound, math.inf, 0.0, {})
        if at_once:
            self._running.stop()
        outcome, self._running = self._running.outcome(), None
        self._lifted = max(self._lifted, outcome.bound)
        if not self._whole:  # fractions choose nothing
            outcome = replace(outcome, status=backend.Status.NO_INCUMBENT, values={})
        return replace(outcome, stopped=outcome.stopped and not (at_once or self.near))
