"""From a problem to a checked answer."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

from solver import backend, verify
from solver.build import THOUSAND, build
from solver.problem import Problem, Solution
from solver.start import first_plan

SOON_S = 1e-3  # what is left of a time limit that is used up
LARGE = 1000  # whole-number variables from which a first plan of our own pays


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


def answer(
    problem: Problem,
    *,
    gap_fraction: float,
    time_limit_s: float,
    watch: backend.Watch | None = None,
    should_stop: backend.Stop | None = None,
    start: Solution | None = None,
    engine: str = "highs",
    tolerance: float = 1e-6,
    head_start_fraction: float = 0.3,
) -> Answer:
    """Build, solve, and check by plain sums; a plan that breaks a rule raises `WrongAnswer`.

    `start` is the plan of a neighbouring problem with the same rows, where one is known. Without one, a large
    problem gets a first plan from its promising options alone, in at most `head_start_fraction` of the time.
    """
    began = time.monotonic()
    program = build(problem)
    head_start_s = head_start_fraction * time_limit_s if math.isfinite(time_limit_s) else 0.0
    if start is None and head_start_s > 0 and program.whole_numbers() >= LARGE and engine == "highs":
        start, stopped = first_plan(
            problem, gap_fraction=gap_fraction, time_limit_s=head_start_s, should_stop=should_stop
        )
        if stopped:
            return _stopped_early(problem, start, time.monotonic() - began, tolerance)
    spent_s = time.monotonic() - began

    def tell(seen: backend.Progress) -> None:
        if watch is not None:
            scaled = {name: getattr(seen, name) * THOUSAND for name in ("incumbent", "bound")}
            watch(replace(seen, elapsed_s=seen.elapsed_s + spent_s, **scaled))

    outcome = backend.solve(
        program.model,
        gap_fraction=gap_fraction,
        time_limit_s=max(time_limit_s - spent_s, SOON_S),
        watch=tell if watch is not None else None,
        should_stop=should_stop,
        start=program.start(start) if start is not None else None,
        engine=engine,
    )
    elapsed_s = spent_s + outcome.elapsed_s
    if not outcome.status.has_plan:
        return Answer(outcome.status, None, math.nan, outcome.bound * THOUSAND, math.inf, elapsed_s)
    solution = program.solution(outcome.values)
    return _checked(problem, solution, outcome.status, outcome.bound * THOUSAND, elapsed_s, tolerance)


def _stopped_early(problem: Problem, solution: Solution | None, elapsed_s: float, tolerance: float) -> Answer:
    """What there is before the search proper: perhaps a plan, and no bound."""
    if solution is None:
        return Answer(backend.Status.NO_INCUMBENT, None, math.nan, -math.inf, math.inf, elapsed_s)
    return _checked(problem, solution, backend.Status.INTERRUPTED, -math.inf, elapsed_s, tolerance)


def _checked(
    problem: Problem,
    solution: Solution,
    status: backend.Status,
    bound: float,
    elapsed_s: float,
    tolerance: float,
) -> Answer:
    """The answer, its objective by plain sums, if the plan holds."""
    if violations := verify.verify(problem, solution, tolerance):
        raise WrongAnswer(violations)
    objective = verify.objective_value(problem, solution)
    gap_fraction = 0.0 if status is backend.Status.OPTIMAL else backend.gap(objective, bound)
    return Answer(status, solution, objective, bound, gap_fraction, elapsed_s)
