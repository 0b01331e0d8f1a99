"""Decisions of two plans side by side, and programs in which some are held or something else is minimised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
import pulp

from solver import backend
from solver.account import totals_by
from solver.known import WrongAnswer, check
from solver.problem import Problem, Solution
from solver.program import Index, Program
from solver.rows import linear, name, terms
from solver.tables import Flags, Floats, Whole
from solver.totals import objective

# Columns of a plan; where jobs run comes on top.
FLEET = ("orders", "rented", "committed", "retired", "sold", "moved", "left_out")


class Effort(TypedDict):
    """What every solve of a question is given."""

    gap_fraction: float
    time_limit_s: float
    tolerance: float
    should_stop: backend.Stop | None


@dataclass(frozen=True, slots=True)
class Difference:
    """One decision that two plans take differently.

    `kind` is a column of the plan (orders in order units, the others in nodes or jobs) with its index, or
    "job" with the indices of a job and a node group: how many such jobs run there.
    """

    kind: str
    index: Index
    label: str
    before: float
    after: float


@dataclass(frozen=True, slots=True, eq=False)
class Fleet:
    """The part of a plan that is held against another; it fits any problem of the same fleet and jobs.

    Run options may differ from problem to problem, where dominated ones were dropped.
    """

    orders: Whole  # [P, T]
    rented: Whole  # [P, T]
    committed: Whole  # [P, T]
    retired: Whole  # [H, T]
    sold: Whole  # [B, T]
    moved: Whole  # [M, T]
    left_out: Floats  # [J]
    job: Floats  # [J, P] how many jobs of each row run on each node group


def fleet_of(problem: Problem, plan: Solution) -> Fleet:
    """The fleet of a plan of this problem."""
    shape = problem.node_groups.purchase_allowed.shape
    if plan.orders.shape != shape:
        raise ValueError(f"plans of one problem have equal columns; orders is {plan.orders.shape}, {shape}")
    return Fleet(**{kind: getattr(plan, kind) for kind in FLEET}, job=jobs_by_node_group(problem, plan))


def compare_decisions(problem: Problem, before: Solution, after: Solution) -> tuple[Difference, ...]:
    """Where two plans differ in their fleet: nodes bought, rented, retired, sold or moved; jobs by group.

    What follows the fleet is left out: replicas, work, spares, parked nodes, clean energy, and in which
    configuration and when a job runs on its node group.
    """
    return compare_fleets(problem, fleet_of(problem, before), fleet_of(problem, after))


def compare_fleets(problem: Problem, before: Fleet, after: Fleet) -> tuple[Difference, ...]:
    """The same of two fleets, each of a plan of this problem or of one with other options."""
    found = []
    for kind in (*FLEET, "job"):
        old, new = getattr(before, kind), getattr(after, kind)
        if old.shape != new.shape:
            raise ValueError(f"plans of one problem have equal columns; {kind} is {old.shape}, {new.shape}")
        for row in np.argwhere(~np.isclose(old, new)):
            index = tuple(int(number) for number in row)
            label = _label(problem, kind, index)
            found.append(Difference(kind, index, label, float(old[index]), float(new[index])))
    return tuple(found)


def jobs_by_node_group(problem: Problem, plan: Solution) -> Floats:
    """How many jobs of each row run on each node group, by run options and by pausable ones.

    y[j,p] = sum_r run[r] + sum_e chosen[e], over the options of j on p
    """
    jobs, groups = len(problem.jobs), len(problem.node_groups)
    runs, pausable = problem.run_options, problem.pausable_options
    flat = totals_by(runs.job * groups + runs.node_group, jobs * groups, plan.run)
    flat = flat + totals_by(pausable.job * groups + pausable.node_group, jobs * groups, plan.chosen)
    return flat.reshape(jobs, groups)


def jobs_at(program: Program, groups: Flags, job: int) -> list[tuple[Any, float]]:
    """The same as a sum of variables, over some node groups."""
    runs, pausable = program.problem.run_options, program.problem.pausable_options
    return [
        *terms(program.run, ((runs.job == job) & groups[runs.node_group]).astype(float)),
        *terms(program.choose, ((pausable.job == job) & groups[pausable.node_group]).astype(float)),
    ]


def fix(variable: Any, value: float) -> None:
    """Leave a variable one value."""
    variable.lowBound = variable.upBound = value


def hold_fleet(program: Program, fleet: Fleet) -> None:
    """Fix what `compare_fleets` compares; the part of a job that is left out stays free.

    sum_r run[r] + sum_e choose[e] = y[j,p], over the options of j on p
    """
    problem = program.problem
    whole = ~problem.jobs.partial
    for variables, counts in (
        (program.order, fleet.orders),
        (program.rented, fleet.rented),
        (program.commit, fleet.committed),
        (program.retire, fleet.retired),
        (program.sell, fleet.sold),
        (program.move, fleet.moved),
        (program.left_out[whole], fleet.left_out[whole]),
    ):
        for variable, count in zip(variables.ravel(), counts.ravel().tolist(), strict=True):
            fix(variable, count)
    for (job, group), count in np.ndenumerate(fleet.job):
        here = np.arange(len(problem.node_groups)) == group
        row = linear(jobs_at(program, here, job))
        program.add(name("held", (job, group)), row, pulp.LpConstraintEQ, float(count))


def minimise_objective(program: Program) -> None:
    """Give a pausable program the objective of its problem in place of the sum of what gives way."""
    program.model.setObjective(objective(program))


def limit_above(program: Program, row: str, expression: Any, limit: float) -> None:
    """Add a row: expression <= limit"""
    program.add(row, expression, pulp.LpConstraintLE, limit)


def solve_checked(
    program: Program,
    *,
    gap_fraction: float,
    time_limit_s: float,
    tolerance: float,
    should_stop: backend.Stop | None = None,
    start: Mapping[str, float] | None = None,
) -> tuple[backend.Outcome, Solution | None]:
    """Solve a program as it is; a plan that breaks a rule of its problem raises `WrongAnswer`.

    Replicas are counted: a fraction that is rounded up may break the rows that are not the problem's.
    """
    program.count_replicas()
    outcome = backend.solve(
        program.model,
        gap_fraction=gap_fraction,
        time_limit_s=time_limit_s,
        should_stop=should_stop,
        start=start,
    )
    if not outcome.status.has_plan:
        return outcome, None
    solution = program.solution(outcome.values)
    if violations := check(program, solution, tolerance):
        raise WrongAnswer(violations)
    return outcome, solution


def _label(problem: Problem, kind: str, index: Index) -> str:
    """What a person calls one decision."""
    if kind == "job":
        return f"job {problem.jobs.name[index[0]]} on {problem.node_group_name(index[1])}"
    if kind == "left_out":
        return f"left out, {problem.jobs.name[index[0]]}"
    if kind in ("orders", "rented", "committed"):
        what = problem.node_group_name(index[0])
    elif kind == "sold":
        sales = problem.sales
        what = (
            f"{problem.node_group_name(int(sales.node_group[index[0]]))} of order {sales.ordered[index[0]]}"
        )
    else:
        moves = problem.moves
        cohort = index[0] if kind == "retired" else int(moves.from_cohort[index[0]])
        what = f"cohort {cohort}, {problem.node_group_name(int(problem.cohorts.node_group[cohort]))}"
        if kind == "moved":
            goal = problem.node_groups.site[problem.cohorts.node_group[moves.to_cohort[index[0]]]]
            what += f" to {problem.site_names[goal]}"
    return f"{kind}, {what}, period {index[1]}"
