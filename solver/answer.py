"""From a problem to a checked answer."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from solver import backend, known, verify
from solver.alike_runs import places_taken, with_alike_runs_joined
from solver.build import THOUSAND, build
from solver.from_slots import FromSlots
from solver.known import PROVEN, Answer, check
from solver.narrow import narrow
from solver.operating import best_operation
from solver.other_choices import among_its_own, among_others
from solver.period_rows import add_period_rows
from solver.problem import Problem, Solution
from solver.program import Program
from solver.spare_rows import add_spare_rows
from solver.start import FirstPlan, first_plan, plan_of_choices

REPAIR_S = 10.0  # after a stop, to find a plan that holds where one was shown
ANY = 1e6  # a gap that every plan keeps
FRACTIONS_FIRST = 0.8  # share of the time left for the search in which replicas may be fractions
SOME = 300  # and from which on rows for each period take as long as they save, as of the shipped quarter
CHOICES_FIRST = 0.5  # of the time, at most, for that
JOINED_CLOSELY = 0.8  # of the gap, where alike runs are joined: the rest is left to what they differ by
OWN_FIRST = 0.7  # of what is left, at most, for the bound of its choices before that of all others
NARROW = 0.2  # of the time, at most, for what plans could use that cost no more
LITTLE = 0.05  # of the time: too little to write a large program down for a search
PERIODS_FIRST = 0.25  # of the time, at most, for what the services of each period take alone


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
    head_start_fraction: float = 0.97,
) -> Answer:
    """Build, solve, and check by plain sums; a plan that breaks a rule raises `WrongAnswer`.

    `start` is the plan of a neighbouring problem with the same rows, where one is known: with slots or a cap
    it tells how many nodes a plan may use that is no worse. Without one, a large problem gets a first plan
    step by step, in at most `head_start_fraction` of the time; if that is near enough to the bound, it is
    the answer. A small one gets rows for the services of each period instead, which lift its bound, and one
    in the middle a plan from its choices alone. With slots, plans without them and with longer ones come
    first, and with batteries or the sun those without, their operation chosen anew. Where replicas may be
    fractions, they are rounded up; if that breaks a rule or the gap, the search goes on with whole replicas
    only. When time runs out, the best plan known is kept. Writing the program down counts, and where no
    time is left there is no search.
    """
    began = time.monotonic()
    if start is None and (time_limit_s <= 0 or (should_stop is not None and should_stop())):
        return Answer(backend.Status.NO_INCUMBENT, None, math.nan, -math.inf, math.inf, 0.0)
    search = _Search(
        problem, gap_fraction, began, time_limit_s, watch, should_stop, engine, tolerance, start, ask=answer
    )
    if start is None:
        found = search.from_slots() or search.by_steps(head_start_fraction)
    else:
        found = search.from_energy()
    if found is not None:
        return found
    return search.tighten(given=start) or search.late() or search.by_engine()


@dataclass
class _Search(FromSlots):
    """A question on its way to its answer. Each step may end it."""

    def by_steps(self, head_start_fraction: float) -> Answer | None:
        """A first plan of a large program by steps; the answer where it is near enough or was stopped."""
        left_s = self.time_limit_s - self.spent_s()
        head_start_s = head_start_fraction * left_s if math.isfinite(self.time_limit_s) else 0.0
        large = self.engine == "highs" and self.program.whole_numbers() >= self.large_from
        if self.start is not None or head_start_s <= 0 or not large:
            return None
        add_spare_rows(self.program)
        self.start, stopped, bound = first_plan(
            self.program,
            gap_fraction=self.gap_fraction,
            time_limit_s=head_start_s,
            should_stop=self.should_stop,
        )
        self.floor = max(self.floor, bound * THOUSAND)
        if stopped:
            return self.stopped(self.start)
        if self.start is None or not self.holds(self.start):
            return None
        return self.ended(backend.Status.WITHIN_GAP, self.start)

    def tighten(self, given: Solution | None) -> Answer | None:
        """What lifts the bound of a program that one search can take, and a plan from its choices."""
        if self.engine != "highs":
            return None
        count = self.program.whole_numbers()
        if given is not None and known.SMALL <= count < self.large_from:
            _leave_out_what_is_worse(self.program, given, self.left_s(), self.should_stop, self.tolerance)
        if known.SMALL <= count < SOME:
            rows_s = PERIODS_FIRST * self.left_s()
            add_period_rows(self.program, time_limit_s=rows_s, should_stop=self.should_stop)
        if self.start is not None or not known.MIDDLE <= count < self.large_from:
            return None
        joined = with_alike_runs_joined(self.problem)
        found = self.from_choices(joined)
        if found is None and self.start is None and joined is not self.problem:
            found = self.from_choices(self.problem)  # its plan lacked the hours that one of the runs takes
        return found

    def from_choices(self, problem: Problem) -> Answer | None:
        """The answer from the choices of a problem alone, which is this or one with its alike runs joined."""
        program = build(problem)
        add_spare_rows(program)
        first = plan_of_choices(
            program,
            gap_fraction=self.gap_fraction,
            time_limit_s=CHOICES_FIRST * self.left_s(),
            watch=self.tell if self.watch is not None else None,
            should_stop=self.should_stop,
        )
        self.start = self.of_this(first.plan, program)
        if first.stopped:
            return self.stopped(self.start)
        if self.start is None or check(self.program, self.start, self.tolerance):
            return None
        return self.by_choices(program, first.plan or self.start, self.start)

    def of_this(self, plan: Solution | None, program: Program) -> Solution | None:
        """A plan of the program in which alike runs are joined, with the best of them and its operation."""
        if plan is None or program.problem is self.problem:
            return plan
        return best_operation(
            self.problem,
            plan,
            time_limit_s=max(self.left_s(), backend.SOON_S),
            should_stop=self.should_stop,
            instead=places_taken(self.problem, plan),
        )

    def by_choices(self, program: Program, chosen: Solution, plan: Solution) -> Answer | None:
        """The answer from two bounds: that of the choices of a plan of a program, and that of all others.

        In the program alike runs are joined; the other plan is the same in the problem. It is left with other
        choices barred.
        """
        bound, closely = math.inf, 1.0 if program.problem is self.problem else JOINED_CLOSELY

        def among(search: Callable[..., FirstPlan], part: Program, share: float) -> FirstPlan:
            bounded, cost = bound / THOUSAND, verify.objective_value(self.problem, plan) / THOUSAND

            def tell(seen: backend.Progress) -> None:
                """What is known of the whole: a bound of one part alone is none."""
                least, low = min(seen.incumbent, cost), min(seen.bound, bounded)
                low = low if math.isfinite(bounded) else -math.inf
                self.tell(replace(seen, incumbent=least, bound=low, gap_fraction=backend.gap(least, low)))

            return search(
                part,
                chosen,
                gap_fraction=closely * self.gap_fraction,
                time_limit_s=max(share * self.left_s(), backend.SOON_S),
                watch=tell if self.watch is not None else None,
                should_stop=self.should_stop,
            )

        others = build(program.problem)
        for search, part, share in ((among_its_own, program, OWN_FIRST), (among_others, others, 1.0)):
            found = among(search, part, share)
            chosen, better = found.plan or chosen, self.of_this(found.plan, program)
            plan = plan if better is None else self.best([plan, better]) or plan
            bound = min(bound, found.bound * THOUSAND)
            if found.stopped:
                return self.stopped(plan)
        self.start, self.floor = plan, max(self.floor, bound)
        if self.holds(plan):
            exact = backend.gap(verify.objective_value(self.problem, plan), self.floor) <= backend.PROVEN
            return self.ended(backend.Status.OPTIMAL if exact else backend.Status.WITHIN_GAP, plan)
        return self.ended(backend.Status.TIME_LIMIT, plan) if self.left_s() == 0 else None

    def late(self) -> Answer | None:
        """The plan that is known, where too little time is left to write a large program down."""
        little = self.time_limit_s - self.spent_s() < LITTLE * self.time_limit_s
        if self.start is None or not little or self.whole_numbers < self.large_from:
            return None
        if check(self.program_of(self.start), self.start, self.tolerance):
            return None
        return self.ended(backend.Status.TIME_LIMIT, self.start)

    def run(self, first: Solution | None, limit_s: float) -> backend.Outcome:
        """One search by the engine for the whole program; its bound is kept."""
        outcome = backend.solve(
            self.program.model,
            gap_fraction=self.gap_fraction,
            time_limit_s=max(limit_s, backend.SOON_S),
            watch=self.tell if self.watch is not None else None,
            should_stop=self.should_stop,
            start=self.program.start(first) if first is not None else None,
            engine=self.engine,
        )
        self.floor = max(self.floor, outcome.bound * THOUSAND)
        return outcome

    def by_engine(self) -> Answer:
        """The search proper, replicas as fractions first where they may be; the best plan that is known."""
        program, fractions = self.program, not self.program.problem.serve_options.whole.all()
        left_s = self.time_limit_s - self.spent_s()
        outcome = self.run(self.start, FRACTIONS_FIRST * left_s if fractions else left_s)
        found = program.solution(outcome.values) if outcome.status.has_plan else None
        plans = [self.start] if self.start is not None else []
        if fractions and found is not None and not self.holds(found):
            plans.append(found)
            found = None
            program.count_replicas()
            if not outcome.stopped:
                outcome = self.run(plans[0], self.time_limit_s - self.spent_s())
                found = program.solution(outcome.values) if outcome.status.has_plan else None
        if found is not None and outcome.status in PROVEN:
            return self.ended(outcome.status, found)
        plans += [found] if found is not None else []
        best = None
        if outcome.status is not backend.Status.INFEASIBLE:
            best = self.best(plans)
        if best is None and outcome.stopped and (self.shown or plans):
            best = self.repaired(outcome, plans)
        if best is not None:
            status = backend.Status.INTERRUPTED if outcome.stopped else backend.Status.TIME_LIMIT
            return self.ended(status, best)
        if found is not None:
            return self.ended(outcome.status, found)
        status = backend.Status.NO_INCUMBENT if outcome.status.has_plan else outcome.status
        return Answer(status, None, math.nan, self.floor, math.inf, self.spent_s())

    def repaired(self, outcome: backend.Outcome, plans: list[Solution]) -> Solution | None:
        """A plan after a stop, where what was found breaks a rule once its counts are whole, or is gone."""
        any_plan = backend.solve(
            self.program.model,
            gap_fraction=ANY,
            time_limit_s=REPAIR_S,
            start=outcome.values,
            engine=self.engine,
        )
        if not any_plan.status.has_plan:
            return None
        return self.best([*plans, self.program.solution(any_plan.values)])


def _leave_out_what_is_worse(
    program: Program,
    plan: Solution,
    left_s: float,
    should_stop: backend.Stop | None,
    tolerance: float,
) -> None:
    """Rows for whole steps of spares, and no more nodes than plans could use that cost no more than this one.

    Only with slots or a cap, where fractions are far off: other programs take less time than this does.
    """
    problem = program.problem
    hard = len(problem.slots) or problem.limits.over_the_horizon
    if hard and not check(program, plan, tolerance):
        add_spare_rows(program)
        narrow(
            program,
            verify.objective_value(problem, plan) / THOUSAND,
            time_limit_s=NARROW * max(left_s, 0.0),
            should_stop=should_stop,
        )
