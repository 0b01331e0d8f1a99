"""The bound, looked for beside the plan: what is chosen once is whole, all else may be fractions.

The search starts from the choices that the steps towards a plan have found, which spares half of its time,
and goes on while they make the rest whole. It ends when the plan is near enough to the bound. What it finds
on its way are better choices, if there are any.

Which of the two ends first is a matter of the machine. So that the same problem gives the same answer, what
is near enough counts as just near enough, however far the search had come.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pulp

from solver import backend
from solver.program import Program
from solver.steps import Range, Search, count, nodes, ranges, restore

JUST = 1 - 1e-6  # of the gap asked for, so that no rounding takes it beyond
CLOSELY = 0.1  # of the gap asked for: how near to its own best choices the search for the bound goes


@dataclass(slots=True)
class Floor:
    """The best bound so far and the least cost, in thousands, and the search that lifts the bound."""

    known: float  # the bound that the search begins from
    gap_fraction: float
    cost: float = math.inf
    _lifted: float = -math.inf
    _running: backend.Running | None = field(default=None, repr=False)

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

    def begin(
        self,
        program: Program,
        open_ones: Mapping[pulp.LpVariable, Range],
        search: Search,
        start: Mapping[str, float],
    ) -> None:
        """Look for a better bound where all is open that is in `open_ones`; the program stays as it is."""
        as_it_is = ranges(program)
        restore(open_ones)
        count([*nodes(program), program.replicas], pulp.LpContinuous)
        try:
            self._running = backend.begin(
                program.model,
                gap_fraction=CLOSELY * self.gap_fraction,
                time_limit_s=search.left_s,
                watch=self._seen,
                should_stop=lambda: self.near or (search.should_stop is not None and search.should_stop()),
                start=start,
                looking=backend.Looking.NONE,
            )
        finally:
            restore(as_it_is)

    def _seen(self, progress: backend.Progress) -> None:
        self._lifted = max(self._lifted, progress.bound)

    def tell(self, cost: float) -> None:
        """What another plan costs."""
        self.cost = min(self.cost, cost)

    def end(self, *, at_once: bool) -> backend.Outcome:
        """Wait for the search, or stop it. What it found, and whether anyone else stopped it; or nothing."""
        if self._running is None:
            return backend.Outcome(backend.Status.NO_INCUMBENT, math.nan, self.bound, math.inf, 0.0, {})
        if at_once:
            self._running.stop()
        outcome, self._running = self._running.outcome(), None
        self._lifted = max(self._lifted, outcome.bound)
        return replace(outcome, stopped=outcome.stopped and not (at_once or self.near))
