"""Which limits conflict: a set of them that no plan can keep together, though it can keep all but any one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pulp

from solver import backend
from solver.build import build
from solver.decisions import Effort, solve_checked
from solver.infeasible import label, moved
from solver.problem import Problem
from solver.program import FAMILIES, Index, Program

Key = tuple[str, Index]  # a family and the index of one of its limits


@dataclass(frozen=True, slots=True)
class Member:
    """One limit of a conflict."""

    family: str
    index: Index
    label: str


@dataclass(frozen=True, slots=True)
class Conflict:
    """Limits that cannot be kept together.

    `proven` says that there is no plan with these alone, by the engine on the program without the others.
    `irreducible` says that without any one of them there is a plan, checked by plain sums. Where time ran
    out, a limit is kept that might not be needed. `solves` counts the programs that were solved.
    """

    members: tuple[Member, ...]
    proven: bool
    irreducible: bool
    solves: int


def find_conflict(
    problem: Problem,
    *,
    gap_fraction: float,
    time_limit_s: float,
    tolerance: float = 1e-6,
    should_stop: backend.Stop | None = None,
) -> Conflict | None:
    """An irreducible set of conflicting limits, by deletion; None where a plan was found that keeps all.

    Limits are let go by families, then by halves of those that cannot go whole, down to single ones: what can
    go with the rest still in conflict is gone for good. Families go in the order of `FAMILIES`, so that what
    the plan is for (demand, jobs, work) is what a conflict tends to name. There may be other conflicts. The
    time limit is that of each solve.

    Source: Chinneck, "Feasibility and Infeasibility in Optimization", Springer 2008, chapter 6 (the deletion
    filter).
    """
    effort = Effort(
        gap_fraction=gap_fraction, time_limit_s=time_limit_s, tolerance=tolerance, should_stop=should_stop
    )
    search = _Search(problem, effort)
    if search.has_plan(()):
        return None
    for family in FAMILIES:
        search.keep_needed([key for key in search.firm if key[0] == family])
    others = [key for key in search.most if key not in search.firm]
    outcome, _ = solve_checked(build(without(problem, others)), **effort)
    members = tuple(Member(*key, label(problem, *key)) for key in search.firm)
    proven = outcome.status is backend.Status.INFEASIBLE
    return Conflict(members, proven, not search.unknown, search.solves + 1)


def without(problem: Problem, limits: Iterable[Key]) -> Problem:
    """The problem as if some of its limits were not there; what is no longer asked for is not done."""
    for family, index in limits:
        amount = math.inf
        if family == "deadlines":
            runs = problem.run_options
            amount = float(runs.late_h[runs.job == index[0]].max(initial=0.0))
        problem = moved(problem, family, index, amount)
    return problem


class _Search:
    """The program with every limit relaxed, and which of them are still firm."""

    def __init__(self, problem: Problem, effort: Effort) -> None:
        self.problem, self.effort = problem, effort
        self.program: Program = build(problem, FAMILIES)
        self.program.model.setObjective(pulp.LpAffineExpression())  # any plan will do
        self.most = {key: slack.variable.upBound for key, slack in self.program.slacks.items()}
        self.firm = sorted(self.most, key=lambda key: (FAMILIES.index(key[0]), key[1]))
        self.unknown, self.solves = False, 0

    def has_plan(self, gone: Sequence[Key]) -> bool | None:
        """Is there a plan that keeps the firm limits but for these? None where time ran out."""
        firm = set(self.firm) - set(gone)
        for key, slack in self.program.slacks.items():
            slack.variable.upBound = 0.0 if key in firm else self.most[key]
        # A plan is checked against the rules that it was asked to keep.
        self.program.problem = without(self.problem, [key for key in self.most if key not in firm])
        outcome, solution = solve_checked(self.program, **self.effort)
        self.solves += 1
        if solution is None and outcome.status is not backend.Status.INFEASIBLE:
            return None
        return solution is not None

    def keep_needed(self, group: Sequence[Key]) -> None:
        """Let go of what the conflict does not need, all at once or by halves."""
        if not group:
            return
        found = self.has_plan(group)
        if found is False:
            gone = set(group)
            self.firm = [key for key in self.firm if key not in gone]
        elif len(group) > 1:
            half = len(group) // 2
            self.keep_needed(group[:half])
            self.keep_needed(group[half:])
        elif found is None:
            self.unknown = True
