"""Futures that share a fleet: what is ordered, retired, sold and moved is decided now, all else later.

Letters: futures f with probability P[f]; z[f] is the objective of a future, best[f] what it would be if that
future were known from the start. The extensive form is one model with the rows of every future, in which the
decisions of the first stage are the same variables.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pulp

from solver import backend, verify
from solver.build import THOUSAND, build
from solver.decisions import fix, solve_checked
from solver.known import Answer, WrongAnswer, check
from solver.problem import Problem, Solution
from solver.program import Program
from solver.tables import Floats, ProblemError, Whole, no_counts

Aim = Literal["expected", "worst", "regret"]
SUM = 1e-9  # how far probabilities may be from 1 together

# What futures have to agree on, so that one order, retirement or move means the same in each.
_COMMON = {
    "node_groups": ("sku", "site", "order_unit_nodes", "lead_periods", "purchase_allowed", "spares_for"),
    "cohorts": ("node_group", "nodes"),
    "moves": ("from_cohort", "to_cohort", "lead_periods"),
    "sales": ("node_group", "ordered", "may_sell"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Futures:
    """Problems of one fleet, how likely each is, and before which period their first stage lies."""

    problems: tuple[Problem, ...]
    probability_fraction: Floats  # [F]
    shared_periods: int

    def __post_init__(self) -> None:
        first, chances = self.problems[0], np.asarray(self.probability_fraction, dtype=float)
        object.__setattr__(self, "probability_fraction", chances)
        if chances.shape != (len(self.problems),):
            raise ProblemError(f"{len(self.problems)} futures have {len(chances)} probabilities")
        if not (np.all(chances > 0) and abs(chances.sum() - 1) <= SUM):
            raise ProblemError(f"probabilities are above 0 and add up to 1, got {chances.tolist()}")
        if not 0 <= self.shared_periods <= first.periods:
            raise ProblemError(
                f"shared_periods is a count from 0 to {first.periods}, got {self.shared_periods}"
            )
        for number, other in enumerate(self.problems[1:], start=1):
            if difference := _difference(first, other):
                raise ProblemError(f"future {number} has other {difference} than the first")


@dataclass(frozen=True, slots=True, eq=False)
class FirstStage:
    """What is decided now; columns run over all periods, those from the second stage on are not read."""

    orders: Whole  # [P, T] order units
    retired: Whole  # [H, T] nodes
    sold: Whole  # [B, T] nodes
    moved: Whole  # [M, T] nodes
    committed: Whole = field(default_factory=no_counts)  # [P, T] nodes; free where nothing is told

    @classmethod
    def of(cls, plan: Solution) -> FirstStage:
        """The first stage of a plan."""
        return cls(plan.orders, plan.retired, plan.sold, plan.moved, plan.committed)


@dataclass(frozen=True, slots=True, eq=False)
class Hedge:
    """One first stage and what follows it in each future; no plans where none was found.

    `value` and `bound` are those of the aim: in the unit of the objective, or a share for regret (`regrets`).
    """

    status: backend.Status
    aim: Aim
    plans: tuple[Solution, ...]
    objectives: Floats  # [F]
    value: float
    bound: float
    elapsed_s: float

    @property
    def first_stage(self) -> FirstStage:
        """What is decided now."""
        return FirstStage.of(self.plans[0])


def hedge(
    futures: Futures,
    *,
    aim: Aim = "expected",
    best: Floats | None = None,
    starts: Sequence[Solution] = (),
    gap_fraction: float,
    time_limit_s: float,
    tolerance: float = 1e-6,
    should_stop: backend.Stop | None = None,
) -> Hedge:
    """The first stage that is best for all futures together, and a checked plan of each.

    expected: sum_f P[f] * z[f];  worst: max_f z[f];  regret: max_f r[f], as in `regrets`

    Regret needs `best`. `starts` are plans of the futures with one first stage: the answer is no worse. What
    decides a maximum leaves the other futures free, so they are solved once more, the first stage held.

    Source: Birge and Louveaux, "Introduction to Stochastic Programming" (2011), sections 2.4 and 3.1.
    """
    began = time.monotonic()
    programs = extensive_form(futures)
    model = programs[0].model
    model.setObjective(_objective(futures, programs, aim, best))
    known: dict[str, float] = {}
    for program, start in zip(programs, starts, strict=False):
        known |= program.start(start)
    outcome = backend.solve(
        model, gap_fraction=gap_fraction, time_limit_s=time_limit_s, should_stop=should_stop, start=known
    )
    nothing = np.full(len(programs), math.nan)
    if not outcome.status.has_plan:
        return Hedge(outcome.status, aim, (), nothing, math.nan, math.nan, time.monotonic() - began)
    plans = [_checked(program, outcome.values, tolerance) for program in programs]
    if aim != "expected":
        left_s = max(time_limit_s - (time.monotonic() - began), backend.SOON_S)
        plans = _settled(futures, plans, gap_fraction, left_s, tolerance, should_stop)
    found = np.array([verify.objective_value(*pair) for pair in zip(futures.problems, plans, strict=True)])
    bound = outcome.bound * (1.0 if aim == "regret" and have_shares(_known(best)) else THOUSAND)
    value = aim_value(found, futures.probability_fraction, aim, best)
    return Hedge(outcome.status, aim, tuple(plans), found, value, bound, time.monotonic() - began)


def extensive_form(futures: Futures) -> list[Program]:
    """The program of each future in one model, with the first stage in common and no objective yet.

    order_f[p,t] = order_g[p,t], and so for what is retired, sold and moved, for all f, g, t < shared_periods
    """
    first, *others = futures.problems
    programs = [build(first, prefix="f0_", siblings=others)]
    for number, problem in enumerate(others, start=1):
        built = build(
            problem,
            prefix=f"f{number}_",
            first_stage=programs[0],
            siblings=futures.problems,
            shared_periods=futures.shared_periods,
        )
        programs.append(built)
    for program in programs:
        program.count_replicas()
    return programs


def aim_value(
    objectives: Floats, probability_fraction: Floats, aim: Aim, best: Floats | None = None
) -> float:
    """What a first stage is judged by.

    expected: sum_f P[f] * z[f];  worst: max_f z[f];  regret: max_f r[f], as in `regrets`
    """
    if aim == "expected":
        return float(objectives @ probability_fraction)
    if aim == "worst":
        return float(objectives.max())
    return float(regrets(objectives, _known(best)).max())


def regrets(objectives: Floats, best: Floats) -> Floats:
    """How much more each future takes than had it been known.

    r[f] = (z[f] - best[f]) / best[f];  where some best[f] <= 0, of which nothing is a share: z[f] - best[f]

    Source: Savage, "The Theory of Statistical Decision", J. Amer. Statist. Assoc. 46 (1951); here a share.
    """
    found: Floats = objectives - best
    return found / best if have_shares(best) else found


def have_shares(best: Floats) -> bool:
    """Is regret told as a share? Not where some future earns or takes nothing at best."""
    return bool(np.all(best > 0))


def answer_held(
    problem: Problem,
    held: FirstStage,
    *,
    shared_periods: int,
    siblings: Iterable[Problem] = (),
    also: Iterable[tuple[str, Floats]] = (),
    start: Solution | None = None,
    gap_fraction: float,
    time_limit_s: float,
    tolerance: float = 1e-6,
    should_stop: backend.Stop | None = None,
) -> Answer:
    """A problem solved with the first stage of another: what is decided before `shared_periods` stays.

    `siblings` are the problems that the first stage was made for. `also` names further variables of the
    program to hold, each with its values, NaN where they are free.
    """
    began = time.monotonic()
    program = build(problem, siblings=siblings)
    shared = slice(0, shared_periods)
    for variables, counts in (
        (program.order, held.orders),
        (program.retire, held.retired),
        (program.sell, held.sold),
        (program.move, held.moved),
    ):
        _hold(variables[:, shared], counts[:, shared].astype(float))
    if held.committed.size:
        _hold(program.commit[:, shared], held.committed[:, shared].astype(float))
    for stem, values in also:
        _hold(getattr(program, stem), values)
    outcome, plan = solve_checked(
        program,
        gap_fraction=gap_fraction,
        time_limit_s=time_limit_s,
        tolerance=tolerance,
        should_stop=should_stop,
        start=program.start(start) if start is not None else None,
    )
    elapsed_s = time.monotonic() - began
    bound = outcome.bound * THOUSAND
    if plan is None:
        return Answer(outcome.status, None, math.nan, bound, math.inf, elapsed_s)
    objective = verify.objective_value(problem, plan)
    return Answer(outcome.status, plan, objective, bound, backend.gap(objective, bound), elapsed_s)


def in_each_future(futures: Futures, held: FirstStage, **effort: Any) -> tuple[Answer, ...]:
    """One first stage, every future solved alone; the effort is that of `answer_held`."""
    return tuple(
        answer_held(problem, held, shared_periods=futures.shared_periods, siblings=futures.problems, **effort)
        for problem in futures.problems
    )


def _objective(futures: Futures, programs: list[Program], aim: Aim, best: Floats | None) -> Any:
    """The expression that the aim minimises, with a row for each future where it is a maximum.

    worst: w >= z[f];  regret: r * best[f] >= z[f] - best[f], or r >= z[f] - best[f], as in `regrets`
    """
    if aim == "expected":
        chances = futures.probability_fraction.tolist()
        return pulp.lpSum(p.objective_of(chance) for p, chance in zip(programs, chances, strict=True))
    model, largest = programs[0].model, pulp.LpVariable(aim)
    for number, program in enumerate(programs):
        if aim == "worst":
            row = largest - program.objective
        else:
            alone = float(_known(best)[number]) / THOUSAND
            whole = alone if have_shares(_known(best)) else 1.0
            row = whole * largest - program.objective + alone
        model.addConstraint(pulp.LpConstraint(row, pulp.LpConstraintGE, f"{aim}_{number}", 0.0))
    return pulp.LpAffineExpression({largest: 1.0})


def _known(best: Floats | None) -> Floats:
    if best is None or not np.all(np.isfinite(best)):
        raise ValueError(f"regret needs the best objective of every future, got {best}")
    return best


def _checked(program: Program, values: Mapping[str, float], tolerance: float) -> Solution:
    plan = program.solution(values)
    if violations := check(program, plan, tolerance):
        raise WrongAnswer(violations)
    return plan


def _settled(
    futures: Futures,
    plans: list[Solution],
    gap_fraction: float,
    time_limit_s: float,
    tolerance: float,
    should_stop: backend.Stop | None,
) -> list[Solution]:
    """Each future's plan once more at least objective, the first stage held; none becomes worse."""
    settled, each_s = [], max(time_limit_s / len(plans), backend.SOON_S)
    for problem, plan in zip(futures.problems, plans, strict=True):
        found = answer_held(
            problem,
            FirstStage.of(plan),
            shared_periods=futures.shared_periods,
            siblings=futures.problems,
            start=plan,
            gap_fraction=gap_fraction,
            time_limit_s=each_s,
            tolerance=tolerance,
            should_stop=should_stop,
        )
        both = [one for one in (found.solution, plan) if one is not None]
        settled.append(min(both, key=lambda one: verify.objective_value(problem, one)))
    return settled


def _hold(variables: Any, values: Floats) -> None:
    """Fix variables at values; those that are NaN stay free."""
    for variable, value in zip(variables.ravel(), values.ravel().tolist(), strict=True):
        if not math.isnan(value):
            fix(variable, value)


def _difference(first: Problem, other: Problem) -> str:
    """What two problems should have in common and have not; empty if nothing."""
    if first.periods != other.periods:
        return "periods"
    for name in ("site_names", "sku_names"):
        if getattr(first, name) != getattr(other, name):
            return name
    for table, columns in _COMMON.items():
        for column in columns:
            ours, theirs = (getattr(getattr(one, table), column) for one in (first, other))
            if not np.array_equal(ours, theirs):
                return f"{table}.{column}"
    return ""
