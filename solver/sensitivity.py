"""How far a price, a rate or a grid may move until another fleet is better, and what this one costs then."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from solver import backend
from solver.answer import answer
from solver.build import build
from solver.decisions import (
    Difference,
    Effort,
    Fleet,
    compare_fleets,
    fleet_of,
    hold_fleet,
    solve_checked,
)
from solver.known import Answer
from solver.problem import Problem, Solution
from solver.verify import objective_value

ProblemOf = Callable[[float], Problem]


@dataclass(frozen=True, slots=True)
class Regret:
    """What it costs to keep a fleet at one factor: how much more than with the best fleet there.

    Infinite where the old fleet breaks a limit, NaN where time ran out before either was known, or where
    somebody `stopped` the search. `best` is None where no fleet keeps all limits.
    """

    factor: float
    objective_kept: float
    objective_best: float
    best: Solution | None
    stopped: bool = False

    @property
    def regret(self) -> float:
        """objective_kept - objective_best"""
        return self.objective_kept - self.objective_best

    @property
    def fraction(self) -> float:
        """The regret as a share of the best objective."""
        if self.objective_best == 0 and self.regret > 0:
            return math.inf
        return self.regret / abs(self.objective_best) if self.regret else 0.0

    def holds(self, regret_fraction: float) -> bool | None:
        """Is the fleet as good as any, but for this share? None where time ran out before that was known."""
        if self.objective_kept == math.inf:
            return False
        return None if math.isnan(self.fraction) else self.fraction <= regret_fraction


@dataclass(frozen=True, slots=True)
class Flip:
    """Where the fleet changes: it was still best at `held`, and not at `flipped`.

    `differences` are those between the old plan and the best at `flipped`, none where there is no plan at
    all; `at_end` is the regret at the end of the range that was asked about.
    """

    held_factor: float
    flipped_factor: float
    differences: tuple[Difference, ...]
    at_flip: Regret
    at_end: Regret


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The plan at the factor asked about, and where below and above it the fleet changes, if it does.

    Where somebody `stopped` the search, what was not found may still be there.
    """

    factor: float
    answer: Answer
    below: Flip | None
    above: Flip | None
    stopped: bool = False


def find_flips(
    problem_of: ProblemOf,
    *,
    factor: float,
    low: float,
    high: float,
    width: float,
    regret_fraction: float,
    gap_fraction: float,
    time_limit_s: float,
    tolerance: float = 1e-6,
    should_stop: backend.Stop | None = None,
    base: Answer | None = None,
) -> Sensitivity:
    """Where below and above keeping the fleet begins to cost more than a share of the best objective.

    Found by bisection between `factor` and each end, down to `width`: at `held` the fleet is as good as any,
    at `flipped` it is not. A fleet that is best at an end of the range may still be beaten on the way there,
    which is not looked for.
    The fleet is what `compare_fleets` compares; what runs on it may follow the factor. The problems have
    the same groups, cohorts, moves and jobs; their options may differ. `base` is the answer at `factor`,
    where it is known. The time limit is that of each solve; a fleet of equal cost is no flip, and None may
    also mean that time ran out at the end of the range.
    """
    if not low <= factor <= high:
        raise ValueError(f"factor lies between low and high, got {factor} for {low} to {high}")
    if not width > 0:
        raise ValueError(f"width is a step of the factor above 0, got {width}")
    if not regret_fraction >= 0:
        raise ValueError(f"regret_fraction is a share of at least 0, got {regret_fraction}")
    effort = Effort(
        gap_fraction=gap_fraction, time_limit_s=time_limit_s, tolerance=tolerance, should_stop=should_stop
    )
    here = problem_of(factor)
    base = base or answer(here, **effort)
    if base.solution is None:
        return Sensitivity(factor, base, None, None)
    fleet = fleet_of(here, base.solution)
    stopped = False

    def regret_at(where: float) -> Regret:
        nonlocal stopped
        found = keep_regret(problem_of(where), fleet, factor=where, **effort)
        stopped = stopped or found.stopped
        return found

    def flip_towards(end: float) -> Flip | None:
        if stopped or end == factor or (at_end := regret_at(end)).holds(regret_fraction) is not False:
            return None
        held, at_flip = factor, at_end
        while abs(at_flip.factor - held) > width:
            tried = regret_at((held + at_flip.factor) / 2)
            holds = tried.holds(regret_fraction)
            if holds is None:
                break  # the bracket stays as wide as it is known
            if holds:
                held = tried.factor
            else:
                at_flip = tried
        there = problem_of(at_flip.factor)
        best = at_flip.best
        changed = () if best is None else compare_fleets(there, fleet, fleet_of(there, best))
        return Flip(held, at_flip.factor, changed, at_flip, at_end)

    below, above = flip_towards(low), flip_towards(high)
    return Sensitivity(factor, base, below, above, stopped)


def keep_regret(
    problem: Problem,
    fleet: Solution | Fleet,
    *,
    factor: float,
    gap_fraction: float,
    time_limit_s: float,
    tolerance: float = 1e-6,
    should_stop: backend.Stop | None = None,
) -> Regret:
    """The best plan on a given fleet, or on that of a plan of this problem, next to the best plan of all.

    regret = min over x with the fleet of z(x)  -  min over x of z(x)

    The kept plan is where the free search starts, so that a gap does not make keeping look better than best.
    """
    effort = Effort(
        gap_fraction=gap_fraction, time_limit_s=time_limit_s, tolerance=tolerance, should_stop=should_stop
    )
    program = build(problem)
    hold_fleet(program, fleet if isinstance(fleet, Fleet) else fleet_of(problem, fleet))
    outcome, kept = solve_checked(program, **effort)
    if outcome.stopped:
        return Regret(factor, math.nan, math.nan, None, stopped=True)
    best = answer(problem, **effort, start=kept)
    unfinished = best.status in (backend.Status.INTERRUPTED, backend.Status.NO_INCUMBENT)
    if unfinished and best.elapsed_s < time_limit_s:
        return Regret(factor, math.nan, best.objective, best.solution, stopped=True)
    if kept is not None:
        objective = objective_value(problem, kept)
    else:
        objective = math.inf if outcome.status is backend.Status.INFEASIBLE else math.nan
    if kept is not None and not best.objective <= objective:
        return Regret(factor, objective, objective, kept)
    return Regret(factor, objective, best.objective, best.solution)
