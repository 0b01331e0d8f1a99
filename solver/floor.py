"""The bound, looked for at the same time as the plan.

Where there are rebates, they are taken as whole first and all else as fractions, in a program of its own
with the rows of `tighten`: most of what whole choices cost is there, in few branches. Of a program so large
that even this would take too long it is the relaxation. Where that is not enough, the options for these
rebates are made whole, which bounds all plans with them, and the search goes on with those left out: the
bound is the least of all. Without rebates, the search takes all that is chosen once as whole. It starts from
the choices that the steps towards a plan have found; better ones may come of it. All end when the plan is
near enough.

Which ends first, plan or bound, is a matter of the machine. So that the same problem gives the same answer,
what is near enough counts as just near enough, however far a search had come.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pulp

from solver import backend
from solver.build import build
from solver.program import Program
from solver.rows import linear, name
from solver.steps import Range, Search, count, nodes, open_variables, ranges, reader, restore
from solver.tables import Flags, Floats
from solver.tighten import keep_the_pace, split_by_rebate

JUST = 1 - 1e-6  # of the gap asked for, so that no rounding takes it beyond
CLOSELY = 0.1  # of the gap asked for: how near to its own best choices a search for the bound goes
CLOSER = 0.02  # and to its own best rebates
MANY = 100_000  # open variables from which whole rebates would take minutes
SOME = 1e-6  # orders below this are none
LATE_S = 1.0  # an engine that ends later than that is left behind: its bounds were heard


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
    _left_out: float = math.inf  # the bound of the rebates that the search does not look at any more
    _tight: Program | None = field(default=None, repr=False)
    _running: backend.Running | None = field(default=None, repr=False)
    _ends: float = field(default=math.inf, repr=False)
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

    def begin_with_rebates(
        self, program: Program, relaxed: backend.Relaxation, search: Search
    ) -> Floats | None:
        """Look for a bound with whole rebates; of a large program, only tightened, with fractions of all.

        Tells which part of each rebate the tightened relaxation takes, of a large program nothing.
        """
        large = open_variables(ranges(program)) >= MANY
        tight = self._tight = tightened(program, relaxed, large=large)
        self._begin(tight, search, CLOSER, {}, whole=not large)
        if large:
            return None
        parts = search.relax(tight, crossover=False, inside=True)
        return reader(parts.values)(tight.tier) if parts.status is backend.Status.OPTIMAL else None

    def knows(self, program: Program, chosen: backend.Outcome) -> bool:
        """Are these rebates left out?"""
        return _row_of(_taken(program, chosen)) in self._rebates_of.model.constraints

    def leave_out(self, program: Program, chosen: backend.Outcome) -> None:
        """What these rebates cost at least is known, by a search of the program with whole options for them.

        The next search looks at all others: one tier at least is another one.
        """
        if self.knows(program, chosen):
            return
        tight, taken = self._rebates_of, _taken(program, chosen)
        changed = linear([(tier, -1.0 if on else 1.0) for tier, on in zip(tight.tier, taken, strict=True)])
        tight.add(_row_of(taken), changed, pulp.LpConstraintGE, 1.0 - int(taken.sum()))
        if chosen.status is not backend.Status.INFEASIBLE:
            self._left_out = min(self._left_out, chosen.bound)

    @property
    def _rebates_of(self) -> Program:
        """The program of the search for whole rebates, which has to have begun."""
        assert self._tight is not None
        return self._tight

    def begin_with_other_rebates(self, search: Search) -> None:
        """Look for a bound with whole rebates, none of those left out."""
        self._begin(self._rebates_of, search, CLOSER, {}, whole=True)

    def begin_with_choices(
        self,
        program: Program,
        open_ones: Mapping[pulp.LpVariable, Range],
        search: Search,
        start: Mapping[str, float],
    ) -> None:
        """Look for a bound with whole choices where all is open that is in `open_ones`.

        The program stays as it is. A start in which whole numbers are fractions is none.
        """
        as_it_is = ranges(program)
        restore(open_ones)
        count([*nodes(program), program.replicas], pulp.LpContinuous)
        try:
            self._begin(program, search, CLOSELY, {} if program.reaches else start, whole=True)
        finally:
            restore(as_it_is)

    def _begin(
        self, program: Program, search: Search, closely: float, start: Mapping[str, float], *, whole: bool
    ) -> None:
        self._whole, self._ends = whole, search.ends
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
        self._lifted = max(self._lifted, min(progress.bound, self._left_out))

    def tell(self, cost: float) -> None:
        """What another plan costs."""
        self.cost = min(self.cost, cost)

    def end(self, *, at_once: bool) -> backend.Outcome:
        """Wait for the search, or stop it. What it chose, and whether anyone else stopped it; or nothing."""
        if self._running is None:
            return backend.Outcome(backend.Status.NO_INCUMBENT, math.nan, self.bound, math.inf, 0.0, {})
        if at_once:
            self._running.stop()
        left_s = 0.0 if at_once else max(self._ends - time.monotonic(), 0.0)
        outcome, self._running = self._running.outcome(within_s=left_s + LATE_S), None
        self._lifted = max(self._lifted, min(outcome.bound, self._left_out))
        if not self._whole:  # fractions choose nothing
            outcome = replace(outcome, status=backend.Status.NO_INCUMBENT, values={})
        return replace(outcome, stopped=outcome.stopped and not (at_once or self.near))


def _taken(program: Program, chosen: backend.Outcome) -> Flags:
    taken: Flags = reader(chosen.values)(program.tier) > 1 / 2
    return taken


def _row_of(taken: Flags) -> str:
    return name("left_out", tuple(np.flatnonzero(taken).tolist()))
