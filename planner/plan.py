"""From a scenario to a checked plan: candidates, coefficients, program, answer, and the numbers behind it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
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
from solver.problem import Objective, Problem, Solution
from solver.verify import objective_value

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

    stopped = threading.Event()

    def stop() -> bool:
        return stopped.is_set() or (should_stop is not None and should_stop())

    def solve(
        one: Problem, progress: Callable[[Progress], None] | None = None, start: Solution | None = None
    ) -> Answer:
        settings = scenario.solve
        return answer(
            one, gap_fraction=settings.gap_fraction, time_limit_s=settings.time_limit_s, watch=progress,
            should_stop=stop, engine=settings.engine, start=start,
        )  # fmt: skip

    def solve_beside() -> dict[str, Answer]:
        cost_only = replace(problem, objective=Objective(1.0, 0.0))
        return {COST_ONLY: solve(cost_only), AS_TODAY: solve(without_purchases(problem))}

    # The engine works outside Python's lock, so the baselines cost little time where there is a second core.
    with ThreadPoolExecutor(max_workers=1) as side:
        waiting = side.submit(solve_beside) if baselines else None
        try:
            found = solve(problem, _say(tell) if watch else None)
        except BaseException:
            stopped.set()
            raise
        if found.status in (Status.INFEASIBLE, Status.INTERRUPTED):
            stopped.set()
        else:
            tell("solving the baselines")
        beside = waiting.result() if waiting is not None else {}
    if found.status is Status.WITHIN_GAP:
        # Within the gap a baseline may win; the plan is never worse than what stands beside it.
        plans = [one.solution for one in beside.values() if one.solution is not None]
        best = min(plans, key=lambda one: objective_value(problem, one), default=None)
        if best is not None and objective_value(problem, best) < found.objective:
            tell("a baseline is better within the gap: going on from there")
            found = solve(problem, start=best)
    clash = None
    if found.status is Status.INFEASIBLE:
        tell("no plan exists: looking for the limits that clash")
        clash = explain_infeasible(
            problem, gap_fraction=CLASH_GAP, time_limit_s=CLASH_SECONDS, should_stop=should_stop
        )
    return Plan(inputs, assembled, found, beside, clash)


def _say(tell: Watch) -> Callable[[Progress], None]:
    """Progress of the solver in words."""

    def say(seen: Progress) -> None:
        found = "none yet" if np.isinf(seen.incumbent) else f"{seen.incumbent:,.0f}"
        within = "" if np.isinf(seen.gap_fraction) else f", within {seen.gap_fraction:.2%}"
        tell(f"plan: {seen.elapsed_s:4.1f} s, best {found}, bound {seen.bound:,.0f}{within}")

    return say


def without_purchases(problem: Problem) -> Problem:
    """The same work on the nodes that stand today."""
    allowed = np.zeros_like(problem.pools.purchase_allowed)
    return replace(problem, pools=replace(problem.pools, purchase_allowed=allowed))
