"""What is known of a question on its way to its answer: its clock, its bound, the best of its plans."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from functools import cached_property

from solver import backend, verify
from solver.build import THOUSAND, build
from solver.operating import for_this
from solver.problem import Problem, Solution
from solver.program import Program
from solver.totals import charged
from solver.variables import empty

PROVEN = (backend.Status.OPTIMAL, backend.Status.WITHIN_GAP)
LARGE = 1000  # whole-number variables from which a first plan of our own pays
IN_PARTS = 2  # times as many where it has two parts, a run of a good plan and all others
SMALL = 120  # whole-number variables below which the search alone is over at once
MIDDLE = 500  # from which on a plan from the choices alone, to start from, is worth the time that it takes


class WrongAnswer(RuntimeError):
    """An engine's plan breaks a rule of its problem; the plan is withheld."""

    def __init__(self, violations: list[verify.Violation]) -> None:
        shown = "; ".join(str(each) for each in violations[:5])
        super().__init__(f"the engine's plan breaks {len(violations)} rules: {shown}")
        self.violations = violations


@dataclass(frozen=True, slots=True)
class Answer:
    """How the search ended, and the plan if there is one. Figures are in the units of the objective."""

    status: backend.Status
    solution: Solution | None
    objective: float
    bound: float
    gap_fraction: float
    elapsed_s: float
    searched_on: str = ""  # the day, ISO 8601, where it was kept from an earlier search


def check(program: Program, solution: Solution, tolerance: float) -> list[verify.Violation]:
    """Every rule that a plan breaks, and a price in the program that is not the one of its account.

    A coefficient of the objective that is not the price in the account would have the program seek another
    plan than the one it is asked for, and no rule would be broken.
    """
    violations = verify.verify(program.problem, solution, tolerance)
    accounted = verify.objective_value(program.problem, solution)
    sought = charged(program, solution)
    if not abs(sought - accounted) <= tolerance * max(1.0, abs(accounted)):
        violations.append(verify.Violation("what the program charges", (), sought, accounted))
    return violations


@dataclass
class Known:
    """A question on its way to its answer: what is known of it so far. Each step may end it."""

    problem: Problem
    gap_fraction: float
    began: float
    time_limit_s: float
    watch: backend.Watch | None
    should_stop: backend.Stop | None
    engine: str
    tolerance: float
    start: Solution | None
    floor: float = -math.inf
    shown: bool = False  # somebody saw a plan, and expects one
    charging: tuple[Solution, Program] | None = None  # a plan, and what it is charged by

    @cached_property
    def program(self) -> Program:
        """Written down when it is asked for: large problems with slots may have their answer before."""
        return build(self.problem)

    @cached_property
    def whole_numbers(self) -> int:
        """How many whole numbers there are; slots have none of their own."""
        return empty(self.problem.by_period()).whole_numbers()

    @property
    def large_from(self) -> int:
        """Whole numbers from which a first plan goes by steps: later where runs and spares make two parts."""
        runs, spares, rebates = (
            len(each) for each in (self.problem.run_options, self.problem.spare_steps, self.problem.tiers)
        )
        return IN_PARTS * LARGE if runs and spares and not rebates else LARGE

    @property
    def many_slots(self) -> bool:
        """Is it a large problem with slots, whose program is not written down to look at one plan?"""
        return (
            bool(len(self.problem.slots)) and self.engine == "highs" and self.whole_numbers >= self.large_from
        )

    def program_of(self, plan: Solution) -> Program:
        """The program, or as much of it as says what this plan is charged."""
        if not len(self.problem.slots) or "program" in vars(self):
            return self.program
        if self.charging is None or self.charging[0] is not plan:
            part = empty(for_this(self.problem, plan))
            self.charging = plan, replace(part, problem=self.problem)
        return self.charging[1]

    def best(self, known: list[Solution]) -> Solution | None:
        """The best of the plans that hold, if any does."""
        plans = [plan for plan in known if not check(self.program_of(plan), plan, self.tolerance)]
        return min(plans, key=lambda plan: verify.objective_value(self.problem, plan), default=None)

    def spent_s(self) -> float:
        """Seconds since the question."""
        return time.monotonic() - self.began

    def left_s(self) -> float:
        """Seconds until its time limit."""
        return max(self.time_limit_s - self.spent_s(), 0.0)

    def holds(self, plan: Solution) -> bool:
        """Does a plan keep every rule, and the gap, although its fractions of replicas were rounded up?"""
        if check(self.program_of(plan), plan, self.tolerance):
            return False
        return self.near(plan, self.floor)

    def near(self, plan: Solution, floor: float) -> bool:
        """Does a plan cost no more over a bound than the gap?"""
        cost = verify.objective_value(self.problem, plan)
        return backend.gap(cost, floor) <= max(self.gap_fraction, self.tolerance)

    def ended(self, status: backend.Status, plan: Solution) -> Answer:
        """The answer, its objective by plain sums, if the plan holds."""
        if violations := check(self.program_of(plan), plan, self.tolerance):
            raise WrongAnswer(violations)
        objective, floor = verify.objective_value(self.problem, plan), self.floor
        gap_fraction = 0.0 if status is backend.Status.OPTIMAL else backend.gap(objective, floor)
        return Answer(status, plan, objective, floor, gap_fraction, self.spent_s())

    def stopped(self, plan: Solution | None) -> Answer:
        """What there is before the search proper: perhaps a plan, perhaps a bound."""
        if plan is None:
            status = backend.Status.NO_INCUMBENT
            return Answer(status, None, math.nan, self.floor, math.inf, self.spent_s())
        return self.ended(backend.Status.INTERRUPTED, plan)

    def tell(self, seen: backend.Progress) -> None:
        """Hand on what an engine tells, in the units of the objective and the seconds of the question."""
        if self.watch is not None:
            self.shown = self.shown or math.isfinite(seen.incumbent)
            scaled = {name: getattr(seen, name) * THOUSAND for name in ("incumbent", "bound")}
            self.watch(replace(seen, elapsed_s=self.spent_s(), **scaled))
