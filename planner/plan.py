"""From a scenario to a checked plan: candidates, coefficients, program, answer, and the numbers behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from planner.assembly import Assembled, assemble
from planner.catalogue import Catalogue, load_catalogue
from planner.inputs import Inputs
from planner.ledger import PlanLedger, plan_ledger
from planner.scenario import Scenario
from solver.answer import Answer, answer
from solver.backend import Progress, Status
from solver.infeasible import Clash, explain_infeasible
from solver.problem import Objective, Problem

Watch = Callable[[str], None]

# Repairs are for reading: a close answer soon is better than the exact one late.
CLASH_GAP, CLASH_SECONDS = 0.02, 10.0
COST_ONLY = "cost only"
AS_TODAY = "as today"


@dataclass(frozen=True)
class Plan:
    """A scenario, what was asked of the solver, what it answered, and what stands beside it."""

    inputs: Inputs
    assembled: Assembled
    answer: Answer
    baselines: dict[str, Answer]
    clash: Clash | None

    @property
    def problem(self) -> Problem:
        """The program that was solved."""
        return self.assembled.problem

    @cached_property
    def ledger(self) -> PlanLedger:
        """Money, carbon and energy of the plan, traced to facts.

        Raises:
            ValueError: there is no plan to account for.
        """
        if self.answer.solution is None:
            raise ValueError("no plan was found, so there is nothing to account for")
        return plan_ledger(self.inputs, self.assembled, self.answer.solution)


def plan_fleet(
    scenario: Scenario,
    *,
    catalogue: Catalogue | None = None,
    baselines: bool = True,
    watch: Watch | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Plan:
    """Plan a scenario.

    Args:
        scenario: what to plan.
        catalogue: facts; the shipped ones if none are given.
        baselines: whether to solve the cost-only plan and today's fleet beside it.
        watch: told in words how far the work is.
        should_stop: asked while solving; the best plan found so far is kept.
    """
    tell = watch or (lambda _: None)
    tell("working out what each option takes")
    inputs = Inputs(scenario, catalogue or load_catalogue())
    assembled = assemble(inputs)
    problem = assembled.problem

    def solve(one: Problem, name: str) -> Answer:
        def on_progress(seen: Progress) -> None:
            found = "none yet" if np.isinf(seen.incumbent) else f"{seen.incumbent:,.0f}"
            gap = "" if np.isinf(seen.gap_fraction) else f", within {seen.gap_fraction:.2%}"
            tell(f"{name}: {seen.elapsed_s:4.1f} s, best {found}, bound {seen.bound:,.0f}{gap}")

        return answer(
            one, gap_fraction=scenario.solve.gap_fraction, time_limit_s=scenario.solve.time_limit_s,
            watch=on_progress if watch else None, should_stop=should_stop, engine=scenario.solve.engine,
        )  # fmt: skip

    found = solve(problem, "plan")
    clash = None
    beside: dict[str, Answer] = {}
    if found.status is Status.INFEASIBLE:
        tell("no plan exists: looking for the limits that clash")
        clash = explain_infeasible(
            problem, gap_fraction=CLASH_GAP, time_limit_s=CLASH_SECONDS, should_stop=should_stop
        )
    elif baselines and found.status is not Status.INTERRUPTED:
        beside[COST_ONLY] = solve(replace(problem, objective=Objective(1.0, 0.0)), COST_ONLY)
        beside[AS_TODAY] = solve(without_purchases(problem), AS_TODAY)
    return Plan(inputs, assembled, found, beside, clash)


def without_purchases(problem: Problem) -> Problem:
    """The same work on the nodes that stand today."""
    allowed = np.zeros_like(problem.pools.purchase_allowed)
    return replace(problem, pools=replace(problem.pools, purchase_allowed=allowed))
