"""What the steps towards a first plan share: a clock, and variables that are held and let go again."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import pulp

from solver import backend
from solver.program import Program, Variables, name
from solver.tables import Floats
from solver.warm_relaxation import Fractions

STEP = 0.5  # share of the time left that each step may take
STEPS = 3  # that share the gap
ROOM_OF_MANY = 0.35  # of a replica: what a large program leaves to round up each service in each period
SOON_S = backend.SOON_S

Range = tuple[float | None, float | None, str]  # least, most and kind of a variable


@dataclass(frozen=True, slots=True)
class Search:
    """What every step is given, and when all of them have to end."""

    gap_fraction: float
    ends: float
    should_stop: backend.Stop | None

    @property
    def left_s(self) -> float:
        """What is left for all steps to come."""
        return max(self.ends - time.monotonic(), SOON_S)

    def within(self, share: float) -> Search:
        """The same for some of the steps, in a share of the time left."""
        return replace(self, ends=time.monotonic() + share * self.left_s)

    def __call__(
        self,
        program: Program,
        start: Mapping[str, float] | None,
        share: float = STEP,
        looking: backend.Looking = backend.Looking.AS_EVER,
        watch: backend.Watch | None = None,
    ) -> backend.Outcome:
        """Solve as the program stands, in a share of the time left; the steps share the gap."""
        return backend.solve(
            program.model,
            gap_fraction=self.gap_fraction / STEPS,
            time_limit_s=max(share * self.left_s, SOON_S),
            watch=watch,
            should_stop=self.should_stop,
            start=start,
            looking=looking,
        )

    def relax(
        self, program: Program, *, crossover: bool = True, inside: bool = False, share: float = 1.0
    ) -> backend.Relaxation:
        """The optimum with fractions of everything; `inside` and `crossover` as in `backend.relax`."""
        return backend.relax(
            program.model,
            time_limit_s=max(share * self.left_s, SOON_S),
            should_stop=self.should_stop,
            crossover=crossover,
            inside=inside,
        )

    def fractions(self, program: Program, share: float = 1.0) -> Fractions:
        """The program with fractions of everything that is open, to be solved again and again."""
        return Fractions(
            program.model, time_limit_s=max(share * self.left_s, SOON_S), should_stop=self.should_stop
        )


def cost(outcome: backend.Outcome) -> float:
    """What the plan of an outcome costs, in thousands; infinite where there is none."""
    return outcome.objective if outcome.status.has_plan else math.inf


def reader(values: Mapping[str, float]) -> Callable[[Variables], Floats]:
    """Columns of what is stated of each variable; 0 where nothing is."""

    def read(variables: Variables) -> Floats:
        flat = [values.get(variable.name, 0.0) for variable in variables.ravel()]
        return np.array(flat, dtype=float).reshape(variables.shape)

    return read


def nodes(program: Program) -> tuple[Variables, ...]:
    """What counts nodes by the period."""
    term = program.problem.under_term
    rented = (program.rented[~term], program.commit[term])
    return (program.order, *rented, program.retire, program.sell, program.move)


def choices(program: Program) -> tuple[Variables, ...]:
    """What is chosen once and shapes all else."""
    return program.run, program.choose, program.tier


def hold(columns: Iterable[Variables], values: Mapping[str, float]) -> None:
    """Leave variables at the whole numbers that their values stand for."""
    for variables in columns:
        for variable in variables.ravel():
            variable.lowBound = variable.upBound = round(values.get(variable.name, 0.0))


def hold_within(variables: Variables, least: Floats, most: Floats) -> None:
    """Leave variables only these ranges, as far as they are open."""
    for variable, low, high in zip(variables.ravel(), least.ravel(), most.ravel(), strict=True):
        top = math.inf if variable.upBound is None else variable.upBound
        variable.lowBound = min(max(variable.lowBound or 0.0, float(low)), top)
        variable.upBound = max(min(top, float(high)), variable.lowBound)


def count(columns: Iterable[Variables], kind: str) -> None:
    """From now on variables are of that kind: whole numbers or fractions."""
    for variables in columns:
        for variable in variables.ravel():
            variable.cat = kind


def ranges(program: Program) -> dict[pulp.LpVariable, Range]:
    """Least, most and kind of every variable, to go back to."""
    return {each: (each.lowBound, each.upBound, each.cat) for each in program.model.variables()}


def restore(kept: Mapping[pulp.LpVariable, Range]) -> None:
    """Go back to what was kept."""
    for variable, (least, most, kind) in kept.items():
        variable.lowBound, variable.upBound, variable.cat = least, most, kind


def open_variables(variables: Mapping[pulp.LpVariable, Range]) -> int:
    """How many of them may take more than one value."""
    return sum(least != most for least, most, _ in variables.values())


@contextmanager
def room_to_round(program: Program, replicas: float) -> Iterator[None]:
    """Meanwhile each service has to carry more in each period: by a share of one replica, the largest.

    No more than its options carry together.
    """
    serving = {variable for variable in program.replicas.ravel() if variable.upBound != 0}
    rows = [
        row
        for index in np.ndindex(program.problem.services.demand.shape)
        if (row := program.model.constraints.get(program.prefix + name("demand", index))) is not None
    ]
    floors = [float(row.getLb()) for row in rows]
    for row, least in zip(rows, floors, strict=True):
        gives = [(each, amount) for each, amount in row.items() if each in serving]
        largest = max((amount for _, amount in gives), default=0.0)
        most = sum(math.inf if each.upBound is None else amount * each.upBound for each, amount in gives)
        row.changeRHS(max(least, min(least + replicas * largest, most)))
    try:
        yield
    finally:
        for row, least in zip(rows, floors, strict=True):
            row.changeRHS(least)


@contextmanager
def rows_for_now(program: Program) -> Iterator[None]:
    """What rows are added meanwhile are taken out again."""
    rows = program.model.constraints
    before = len(rows)
    try:
        yield
    finally:
        for added in list(rows)[before:]:
            del rows[added]
