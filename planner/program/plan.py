"""From a scenario to a checked plan: candidates, coefficients, program, answer, and the numbers behind it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from planner.inputs.catalogue import Catalogue
from planner.inputs.consistency import with_cards
from planner.inputs.loading import load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Policy, Scenario, Solve
from planner.program.assembly import Assembled, assemble
from planner.program.baselines import (
    COST_ONLY,
    KEEP_EVERYTHING,
    NO_PURCHASES,
    USUAL_PRACTICE,
    cost_only,
    fleet_taken_over,
    keeping_everything,
    usual_practice,
    without_purchases,
)
from planner.program.engines import refusing, require_trusted
from planner.program.ledger import PlanLedger, plan_ledger
from planner.program.remedies import Remedy, find_remedies
from planner.program.search_cache import Memory, searched, searched_ties
from planner.trace.numbers import count_text, fixed_text, percent_text
from solver import backend
from solver.alternatives import Alternative
from solver.backend import Progress, Status
from solver.conflict import Conflict, find_conflict
from solver.frontier import CARBON, MONEY, after_first
from solver.infeasible import Infeasibility, explain_infeasible
from solver.known import PROVEN, Answer
from solver.prices import Price
from solver.problem import Problem, Solution
from solver.stochastic import FirstStage, answer_held
from solver.ties import Tie, settled, tied_plans, ties
from solver.verify import objective_value
from solver.within_cap import answer_within_cap


def until(seconds: float, should_stop: Callable[[], bool] | None = None) -> Callable[[], bool]:
    """Stop when somebody asks for it, or when the time is up."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() > end or (should_stop is not None and should_stop())


TOLERANCE = 0.01  # of the first, given up for the second where nothing is stated


def first_tolerance(policy: Policy) -> float:
    """The share of the first objective that may be given up for the second."""
    return TOLERANCE if policy.tolerance_fraction is None else policy.tolerance_fraction


def first_stage(
    policy: Policy, problem: Problem, solve: Callable[[Problem], Answer]
) -> tuple[Problem, Answer | None]:
    """The problem of the second objective with the first one capped, and the plan that is best in the first.

    Any other policy has one stage: its problem stays as it is. So it does where the first has no plan; the
    answer then says why.
    """
    if policy.objective != "lexicographic":
        return problem, None
    carbon_first = policy.first == "carbon"
    best = solve(replace(problem, objective=CARBON if carbon_first else MONEY))
    if best.solution is None or best.status is Status.INTERRUPTED:
        return problem, best
    capped = after_first(
        problem, best.objective, carbon_first=carbon_first, tolerance_fraction=first_tolerance(policy)
    )
    return capped, best


Watch = Callable[[str], None]
NOT_THE_BEST = (Status.WITHIN_GAP, Status.TIME_LIMIT)  # a better plan may be found by another way


def silent(text: str) -> None:
    """Nobody wants to know how far it is."""


# Repairs are for reading: a close answer soon is better than the exact one late.
CLASH_GAP, CLASH_SECONDS = 0.02, 10.0
CONFLICT_SECONDS = 20.0  # of all its solves together; what is not settled then stays in the conflict
REMEDY_SECONDS = 30.0  # of all trials together
TIE_SECONDS, TIE_SHARE = 15.0, 0.25  # of all searches for ties together, and at most so much of the limit
TAKEN_OVER_SECONDS = 10.0  # to operate the fleet of the usual practice with all options of the plan


@dataclass(frozen=True)
class Plan:
    """A scenario, what was asked of the solver, what it answered, and what is next to it."""

    inputs: Inputs
    assembled: Assembled
    answer: Answer
    baselines: dict[str, Answer]
    infeasibility: Infeasibility | None
    conflict: Conflict | None = None
    prices: tuple[Price, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    ties: tuple[Tie, ...] = ()  # other plans within the gap
    verification: dict[str, Any] | None = None  # its services played request by request
    # Of those with options of their own: their inputs and their program.
    own_baselines: Mapping[str, tuple[Inputs, Assembled]] = field(default_factory=dict)
    remedies: tuple[Remedy, ...] = ()  # where there is no plan: what is enough, next to the limits

    @property
    def baseline_problems(self) -> dict[str, Problem]:
        """The programs of the baselines that have options of their own."""
        return {name: assembled.problem for name, (_, assembled) in self.own_baselines.items()}

    def baseline_plan(self, name: str) -> Plan:
        """A baseline as a plan of its own, with nothing next to it."""
        inputs, assembled = self.own_baselines.get(name, (self.inputs, self.assembled))
        return Plan(inputs, assembled, self.baselines[name], {}, None)

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


@refusing
def plan_fleet(
    scenario: Scenario,
    *,
    catalogue: Catalogue | None = None,
    baselines: bool = True,
    remedies: bool = True,
    memory: Memory | None = None,
    watch: Watch | None = None,
    progress: Callable[[Progress], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Plan:
    """Plan a scenario.

    Args:
        scenario: what to plan.
        catalogue: facts; the shipped ones if none are given.
        baselines: whether to solve next to it the cost-only plan, the best without purchases, the best that
            keeps every node to the end of its life, and the plan that operators usually make; and to look
            for ties: of the plans found within the gap, the one with the fewest changes is taken.
        remedies: whether to try, where no plan exists, which other values are enough.
        memory: where searches are kept, and found again; none searches all of it.
        watch: called with a message on the progress.
        progress: called with numbers on how far the search for the plan is, which the words then leave out.
        should_stop: called while solving; the best plan found so far is kept.

    Raises:
        InputError: an engine cannot be trusted.
    """
    require_trusted(scenario.solve)
    tell = watch or silent
    ends = time.monotonic() + scenario.solve.time_limit_s
    tell("working out what each option takes")
    inputs = Inputs(scenario, with_cards(scenario, catalogue or load_catalogue()))
    assembled = assemble(inputs)
    problem = assembled.problem

    own: dict[str, tuple[Inputs, Assembled]] = {}

    def usual() -> Problem:
        as_usual = usual_practice(scenario)
        its_inputs = Inputs(as_usual, with_cards(as_usual, inputs.catalogue))
        own[USUAL_PRACTICE] = its_inputs, assemble(its_inputs)
        return own[USUAL_PRACTICE][1].problem

    search = _Search(problem, scenario.solve, ends, watch, progress, should_stop, usual, memory)
    search.problem, search.first = first_stage(scenario.policy, problem, search.alone)
    assembled = replace(assembled, problem=search.problem)
    found, references = search.run(baselines)
    within: tuple[Tie, ...] = ()
    if baselines and found.status in PROVEN:
        tell("looking for other plans within the gap")
        found, within = search.settle(found, references)
    infeasibility = conflict = None
    tried: tuple[Remedy, ...] = ()
    if found.status is Status.INFEASIBLE:
        tell("no plan exists: looking for the limits in conflict")
        infeasibility = explain_infeasible(
            problem, gap_fraction=CLASH_GAP, time_limit_s=CLASH_SECONDS, should_stop=should_stop
        )
        conflict = find_conflict(
            problem,
            gap_fraction=CLASH_GAP,
            time_limit_s=CLASH_SECONDS,
            should_stop=until(CONFLICT_SECONDS, should_stop),
        )
        if remedies:
            tell("trying which other values are enough")
            tried = find_remedies(
                scenario, inputs.catalogue, infeasibility, conflict, until(REMEDY_SECONDS, should_stop)
            )
    return Plan(
        inputs,
        assembled,
        found,
        references,
        infeasibility,
        conflict,
        own_baselines=own,
        remedies=tried,
        ties=within,
    )


def _plans_of(references: dict[str, Answer]) -> list[Solution]:
    """The baselines that are plans of the same program."""
    return [
        one.solution
        for name, one in references.items()
        if one.solution is not None and name != USUAL_PRACTICE  # that one has options of its own
    ]


class _Search:
    """The plan and what is next to it, solved side by side."""

    def __init__(
        self,
        problem: Problem,
        settings: Solve,
        ends: float,
        watch: Watch | None,
        progress: Callable[[Progress], None] | None,
        should_stop: Callable[[], bool] | None,
        usual: Callable[[], Problem],
        memory: Memory | None,
    ) -> None:
        self.usual, self.memory = usual, memory
        self.problem, self.settings, self.watch, self.progress = problem, settings, watch, progress
        self.base, self.ends, self.should_stop = problem, ends, should_stop
        self.first: Answer | None = None  # the plan that is best in what comes first
        self.stopped = threading.Event()

    def run(self, baselines: bool) -> tuple[Answer, dict[str, Answer]]:
        """The plan, and its baselines if they are requested and nobody stopped the search.

        The cost-only plan follows the plan and starts from it; the other baselines are solved meanwhile.

        The engine works outside Python's lock, so baselines cost little time where there is a second core.
        """
        if self.first is not None and self.problem is self.base:
            return self.first, {}  # no plan, or stopped before the second could be looked at
        found: Answer | None = None
        references: dict[str, Answer] = {}
        with ThreadPoolExecutor(max_workers=1) as side:
            waiting = side.submit(self._baselines) if baselines else None
            try:
                start = None if self.first is None else self.first.solution
                found = self._solve(self.problem, watched=True, start=start)
                if waiting is not None and found.status not in (Status.INFEASIBLE, Status.INTERRUPTED):
                    self._tell("solving the baselines")
                    # The plan is one of this problem, too: a start, on the core that it leaves free.
                    cheapest = self._solve(cost_only(self.base), start=found.solution)
                    if cheapest.status is not Status.INTERRUPTED:
                        references = {COST_ONLY: cheapest} | waiting.result()
            except KeyboardInterrupt:
                if found is None:
                    raise  # the engine heard the first Ctrl-C itself; this is the second
            finally:
                self.stopped.set()
        self.stopped.clear()
        beaten = self._not_beaten(found, _plans_of(references))
        return self._not_beaten(beaten, self._usual_fleet(beaten, references)), references

    def _baselines(self) -> dict[str, Answer]:
        return {
            NO_PURCHASES: self._solve(without_purchases(self.base)),
            KEEP_EVERYTHING: self._solve(keeping_everything(self.base)),
            USUAL_PRACTICE: self._solve(self.of_usual),
        }

    @cached_property
    def of_usual(self) -> Problem:
        """The program of the usual practice, which has options of its own."""
        return self.usual()

    def alone(self, problem: Problem) -> Answer:
        """What comes before the plan, told as the plan is, in half of the time."""
        return self._solve(problem, watched=True, share=0.5)

    def _not_beaten(self, found: Answer, others: list[Solution]) -> Answer:
        """The plan, or the best of other plans of the same program: the bound holds for all of them."""
        best = min(others, key=lambda one: objective_value(self.problem, one), default=None)
        if best is None or found.status not in NOT_THE_BEST or self.first is not None:
            return found
        objective = objective_value(self.problem, best)
        if objective >= found.objective:
            return found
        self._tell("a baseline is better than what the search found: it is the plan")
        best, objective = self._operated(best, objective)
        gap = backend.gap(objective, found.bound)
        within = gap <= self.settings.gap_fraction
        return replace(
            found,
            solution=best,
            objective=objective,
            gap_fraction=gap,
            status=Status.WITHIN_GAP if within else found.status,
        )

    def _usual_fleet(self, found: Answer, references: dict[str, Answer]) -> list[Solution]:
        """Where the usual practice is better than the plan: its fleet, with all that the plan may do."""
        usual = references.get(USUAL_PRACTICE)
        if usual is None or usual.solution is None or found.status not in NOT_THE_BEST:
            return []
        if self.first is not None or objective_value(self.problem, usual.solution) >= found.objective:
            return []
        held = fleet_taken_over(usual.solution, self.of_usual, self.problem)
        if held is None:
            return []
        operated = self._held(held)
        return [] if operated.solution is None else [operated.solution]

    def _operated(self, plan: Solution, objective: float) -> tuple[Solution, float]:
        """The fleet of a plan that was made for another objective, put to work for that of this plan.

        One that looks for money alone buys no clean energy, however little it costs.
        """
        found = self._held(FirstStage.of(plan), start=plan)
        if found.solution is None or found.objective >= objective - 1e-9 * abs(objective):
            return plan, objective
        return found.solution, found.objective

    def _held(self, held: FirstStage, start: Solution | None = None) -> Answer:
        """The program with its fleet given."""
        return answer_held(
            self.problem,
            held,
            shared_periods=self.problem.periods,
            start=start,
            gap_fraction=self.settings.gap_fraction,
            time_limit_s=TAKEN_OVER_SECONDS,
            should_stop=self._should_stop,
        )

    def settle(self, found: Answer, references: dict[str, Answer]) -> tuple[Answer, tuple[Tie, ...]]:
        """Of the plan and what is found within its gap the one with the fewest changes, and the others."""
        plan, gap_fraction = found.solution, self.settings.gap_fraction
        assert plan is not None, "a plan was proven"
        whole_s = min(TIE_SECONDS, TIE_SHARE * self.settings.time_limit_s)
        left_s = min(whole_s, self.ends - time.monotonic())
        others = searched_ties(
            self.memory,
            self.problem,
            found,
            lambda: ties(
                self.problem,
                plan,
                bound=found.bound,
                gap_fraction=gap_fraction,
                time_limit_s=left_s,
                should_stop=self._should_stop,
                engine=self.settings.engine,
            ),
            gap_fraction=gap_fraction,
            engine=self.settings.engine,
            time_limit_s=whole_s,
            stopped=self._should_stop,
        )
        compared = [] if self.first is not None else _plans_of(references)
        least = min((objective_value(self.problem, one) for one in compared), default=np.inf)
        chosen = settled(
            self.problem,
            plan,
            [*others, *compared],
            bound=found.bound,
            gap_fraction=gap_fraction,
            at_most=least,
        )
        objective = objective_value(self.problem, chosen)
        gap = found.gap_fraction if chosen is plan else backend.gap(objective, found.bound)
        status = found.status if gap == 0 else Status.WITHIN_GAP
        settled_on = replace(found, solution=chosen, objective=objective, gap_fraction=gap, status=status)
        return settled_on, tied_plans(self.problem, chosen, [plan, *others])

    def _solve(
        self, problem: Problem, watched: bool = False, start: Solution | None = None, share: float = 1.0
    ) -> Answer:
        return searched(
            self.memory,
            problem,
            lambda first: answer_within_cap(
                problem,
                gap_fraction=self.settings.gap_fraction,
                time_limit_s=share * max(self.ends - time.monotonic(), 0.0),
                watch=self._progress if watched and (self.watch or self.progress) else None,
                should_stop=self._should_stop,
                start=first,
                engine=self.settings.engine,
            ),
            gap_fraction=self.settings.gap_fraction,
            engine=self.settings.engine,
            start=start,
            time_limit_s=share * self.settings.time_limit_s,
        )

    def _should_stop(self) -> bool:
        return self.stopped.is_set() or (self.should_stop is not None and self.should_stop())

    def _tell(self, text: str) -> None:
        if self.watch is not None:
            self.watch(text)

    def _progress(self, seen: Progress) -> None:
        if self.progress is not None:
            self.progress(seen)
            return
        found = "none yet" if np.isinf(seen.incumbent) else count_text(seen.incumbent)
        bound = "none yet" if np.isinf(seen.bound) else count_text(seen.bound)
        within = "" if np.isinf(seen.gap_fraction) else f", within {percent_text(seen.gap_fraction, 2)}"
        self._tell(f"plan: {fixed_text(seen.elapsed_s, 1):>4} s, best {found}, bound {bound}{within}")
