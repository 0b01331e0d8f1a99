"""From a problem to a checked answer."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from solver import backend, verify
from solver.account_energy import has_energy, without_energy
from solver.alike_runs import places_taken, with_alike_runs_joined
from solver.build import THOUSAND, build
from solver.energy_apart import energy_apart, may_stand_apart
from solver.fewer_slots import fewer_slots
from solver.many_slots import bound_of_means, plan_of_one_slot
from solver.mean_slots import mean_slots
from solver.narrow import narrow
from solver.operating import best_operation, for_this
from solver.other_choices import among_its_own, among_others
from solver.period_rows import add_period_rows
from solver.problem import Problem, Solution
from solver.program import Program
from solver.spare_rows import add_spare_rows
from solver.start import FirstPlan, first_plan, plan_of_choices
from solver.totals import charged
from solver.variables import empty

REPAIR_S = 10.0  # after a stop, to find a plan that holds where one was shown
ANY = 1e6  # a gap that every plan keeps
FRACTIONS_FIRST = 0.8  # share of the time left for the search in which replicas may be fractions
MEANS_FIRST = 0.9  # of the time, for a plan with means of slots: a search of all slots after it finds little
SLOTS_LATER = 0.75  # of the time, for plans with longer slots before those of the problem are looked at
PERIOD_FIRST = 0.6  # of that, for a plan without any
FEW = 4  # longer slots of a day
MEANS = 3  # slots of which each is the mean of many
MEAN_CLOSELY = 0.2  # of the gap, for a search with these: the rest is left to what they differ by
OPERATION_S = 10.0  # at most, to choose the operation of a plan again
PROVEN = (backend.Status.OPTIMAL, backend.Status.WITHIN_GAP)
LARGE = 1000  # whole-number variables from which a first plan of our own pays
IN_PARTS = 2  # times as many where it has two parts, a run of a good plan and all others
SMALL = 120  # whole-number variables below which the search alone is over at once
SOME = 300  # and from which on rows for each period take as long as they save, as of the shipped quarter
MIDDLE = 500  # from which on a plan from the choices alone, to start from, is worth the time that it takes
CHOICES_FIRST = 0.5  # of the time, at most, for that
JOINED_CLOSELY = 0.8  # of the gap, where alike runs are joined: the rest is left to what they differ by
OWN_FIRST = 0.7  # of what is left, at most, for the bound of its choices before that of all others
NARROW = 0.2  # of the time, at most, for what plans could use that cost no more
HALF = 0.5  # of the time, for a plan next to the mean of all slots; and too little for a search in all
LITTLE = 0.05  # of the time: too little to write a large program down for a search
ENERGY_ROUNDS = 2  # of prices for what batteries and the sun are worth
ENERGY_SHARE = 0.8  # of the time left, for a fleet at such prices
WITHOUT_ENERGY = 0.4  # of the time, for a plan without batteries and the sun, whose whole numbers are held
PERIODS_FIRST = 0.25  # of the time, at most, for what the services of each period take alone


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
    search = _Search(problem, gap_fraction, began, time_limit_s, watch, should_stop, engine, tolerance, start)
    if start is None:
        found = search.from_slots() or search.by_steps(head_start_fraction)
        if found is not None:
            return found
    return search.tighten(given=start) or search.late() or search.by_engine()


@dataclass
class _Search:
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
    def stands_apart(self) -> bool:
        """Is the bound of a problem with batteries or the sun looked for without them?"""
        return self.engine == "highs" and self.whole_numbers >= SMALL and may_stand_apart(self.problem)

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
        return time.monotonic() - self.began

    def left_s(self) -> float:
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

    def from_slots(self) -> Answer | None:
        """With slots, a plan of fewer and a bound; the answer where they are near enough, or time is up.

        A large program with slots takes long to write down, and its search longer than all else: there is
        none where half of the time is spent.
        """
        if not len(self.problem.slots):
            return None
        ends = self.began + self.time_limit_s
        means = bound_of_means(self.problem, ends, self.should_stop) if self.many_slots else None
        left_s = 0.0  # where nothing comes of it, the bound is not waited for
        try:
            self.start, self.floor = self.from_fewer_slots(ends)
            left_s = self.left_s()
        finally:
            if means is not None:
                self.floor = max(self.floor, means.outcome(within_s=left_s).bound * THOUSAND)
        if self.start is not None and self.holds(self.start):
            return self.ended(backend.Status.WITHIN_GAP, self.start)
        if not self.many_slots or self.left_s() >= HALF * self.time_limit_s:
            return None
        if self.start is None:
            return self.stopped(None) if self.left_s() == 0 else None
        stops = self.should_stop is not None and self.should_stop()
        return self.ended(backend.Status.INTERRUPTED if stops else backend.Status.TIME_LIMIT, self.start)

    def from_fewer_slots(self, ends: float) -> tuple[Solution | None, float]:
        """A plan to start from, and a bound: whole numbers are found sooner where slots are few.

        One in the middle is solved with the means of its slots, which no plan costs less than; where the
        nodes of the mean are not enough in every slot, a few more are. Of any other, or where no more are
        allowed, a plan of the period is one of its slots, and one of longer slots is one of those that they
        join. What is whole of either is held, and its operation chosen in the slots of the problem.
        """
        problem, floor = self.problem, -math.inf

        def left_s(until: float) -> float:
            return max(until - time.monotonic(), 0.0)

        def answer_of(one: Problem, share: float, limit_s: float, start: Solution | None = None) -> Answer:
            return answer(
                one,
                gap_fraction=share * self.gap_fraction,
                time_limit_s=limit_s,
                should_stop=self.should_stop,
                start=start,
                engine=self.engine,
                tolerance=self.tolerance,
            )

        most_s = math.inf if self.many_slots or has_energy(problem).any() else OPERATION_S

        def operated(plan: Solution, more: bool = False) -> Solution | None:
            if left_s(ends) == 0 or (self.should_stop is not None and self.should_stop()):
                return None
            return best_operation(
                problem,
                plan,
                time_limit_s=max(min(most_s, left_s(ends)), backend.SOON_S),
                should_stop=self.should_stop,
                engine=self.engine,
                more=more,
            )

        if has_energy(problem).any():
            # No mean of slots bounds these, and a search with them finds little: whole numbers come first.
            plain = answer_of(without_energy(problem), 1.0, WITHOUT_ENERGY * left_s(ends)).solution
            better = operated(plain) if plain is not None else None
            best = self.best([better]) if better is not None else None
            for _ in range(ENERGY_ROUNDS if self.stands_apart else 0):
                if best is None or self.near(best, floor) or left_s(ends) == 0:
                    break
                apart = energy_apart(problem, best, time_limit_s=left_s(ends), should_stop=self.should_stop)
                if apart is None:
                    break
                found = answer_of(apart.fleet, 1.0, ENERGY_SHARE * left_s(ends))
                floor = max(floor, found.bound + apart.least)
                if found.solution is not None:
                    better = operated(found.solution) or operated(found.solution, more=True)
                    best = self.best([best] if better is None else [best, better])
            if best is not None:
                return best, floor
        if self.engine == "highs" and MIDDLE <= self.whole_numbers < self.large_from:
            mean = mean_slots(problem, MEANS)
            if mean is problem and len(problem.slots) <= MEANS:
                return None, floor  # few enough to be searched as they are
            if mean is not problem:
                found = answer_of(mean, MEAN_CLOSELY, MEANS_FIRST * left_s(ends))
                floor = found.bound if found.status is not backend.Status.INFEASIBLE else floor
                plan = None
                if found.solution is not None:
                    plan = operated(found.solution) or operated(found.solution, more=True)
                if plan is not None and (best := self.best([plan])) is not None:
                    return best, floor
        if self.many_slots:
            next_to_mean = plan_of_one_slot(
                problem,
                gap_fraction=self.gap_fraction,
                ends=ends,
                time_limit_s=HALF * left_s(ends),
                should_stop=self.should_stop,
            )
            plan, floor = next_to_mean.plan, next_to_mean.bound * THOUSAND
            better = operated(plan) if plan is not None else None
            if better is not None and (best := self.best([better])) is not None:
                return best, floor
        searched = time.monotonic() + SLOTS_LATER * left_s(ends)
        # No search takes longer slots of a program that large.
        first = PERIOD_FIRST if self.whole_numbers < self.large_from else 1.0
        by_period = answer_of(problem.by_period(), 1.0, first * left_s(searched)).solution
        if by_period is None:
            return None, floor
        known, few, coarser = [by_period], None, fewer_slots(problem, FEW)
        if coarser is not problem and left_s(searched) > backend.SOON_S:
            few = answer_of(coarser, 1.0, left_s(searched), by_period).solution
        for plan in (few, by_period):
            better = operated(plan) if plan is not None else None
            if better is not None:
                known.append(better)
                break
        return self.best(known), floor

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
        if given is not None and SMALL <= count < self.large_from:
            _leave_out_what_is_worse(self.program, given, self.left_s(), self.should_stop, self.tolerance)
        if SMALL <= count < SOME:
            rows_s = PERIODS_FIRST * self.left_s()
            add_period_rows(self.program, time_limit_s=rows_s, should_stop=self.should_stop)
        if self.start is not None or not MIDDLE <= count < self.large_from:
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
            known, cost = bound / THOUSAND, verify.objective_value(self.problem, plan) / THOUSAND

            def tell(seen: backend.Progress) -> None:
                """What is known of the whole: a bound of one part alone is none."""
                least, low = min(seen.incumbent, cost), min(seen.bound, known)
                low = low if math.isfinite(known) else -math.inf
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

    def tell(self, seen: backend.Progress) -> None:
        """Hand on what an engine tells, in the units of the objective and the seconds of the question."""
        if self.watch is not None:
            self.shown = self.shown or math.isfinite(seen.incumbent)
            scaled = {name: getattr(seen, name) * THOUSAND for name in ("incumbent", "bound")}
            self.watch(replace(seen, elapsed_s=self.spent_s(), **scaled))

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
        known = [self.start] if self.start is not None else []
        if fractions and found is not None and not self.holds(found):
            known.append(found)
            found = None
            program.count_replicas()
            if not outcome.stopped:
                outcome = self.run(known[0], self.time_limit_s - self.spent_s())
                found = program.solution(outcome.values) if outcome.status.has_plan else None
        if found is not None and outcome.status in PROVEN:
            return self.ended(outcome.status, found)
        known += [found] if found is not None else []
        best = None
        if outcome.status is not backend.Status.INFEASIBLE:
            best = self.best(known)
        if best is None and outcome.stopped and (self.shown or known):
            best = self.repaired(outcome, known)
        if best is not None:
            status = backend.Status.INTERRUPTED if outcome.stopped else backend.Status.TIME_LIMIT
            return self.ended(status, best)
        if found is not None:
            return self.ended(outcome.status, found)
        status = backend.Status.NO_INCUMBENT if outcome.status.has_plan else outcome.status
        return Answer(status, None, math.nan, self.floor, math.inf, self.spent_s())

    def repaired(self, outcome: backend.Outcome, known: list[Solution]) -> Solution | None:
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
        return self.best([*known, self.program.solution(any_plan.values)])


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
