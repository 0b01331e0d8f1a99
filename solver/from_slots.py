"""With slots: plans of fewer slots or of none first, and with batteries or the sun those without them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from solver import backend, known
from solver.account_energy import has_energy, without_energy
from solver.build import THOUSAND
from solver.energy_apart import energy_apart, may_stand_apart
from solver.fewer_slots import fewer_slots
from solver.known import Answer, Known
from solver.many_slots import bound_of_means, plan_of_one_slot
from solver.mean_slots import mean_slots
from solver.operating import best_operation
from solver.problem import Problem, Solution

MEANS_FIRST = 0.9  # of the time, for a plan with means of slots: a search of all slots after it finds little
SLOTS_LATER = 0.75  # of the time, for plans with longer slots before those of the problem are looked at
PERIOD_FIRST = 0.6  # of that, for a plan without any
FEW = 4  # longer slots of a day
MEANS = 3  # slots of which each is the mean of many
MEAN_CLOSELY = 0.2  # of the gap, for a search with these: the rest is left to what they differ by
OPERATION_S = 10.0  # at most, to choose the operation of a plan again
HALF = 0.5  # of the time, for a plan next to the mean of all slots; and too little for a search in all
WITHOUT_ENERGY = 0.4  # of the time, for a plan without batteries and the sun, whose whole numbers are held
ENERGY_ROUNDS = 2  # of prices for what batteries and the sun are worth
ENERGY_SHARE = 0.4  # of the time left, for a fleet at such prices: a search has the rest


@dataclass(kw_only=True)
class FromSlots(Known):
    """The steps of a question with slots. They `ask` for the answers of problems that are easier."""

    ask: Callable[..., Answer]

    @property
    def stands_apart(self) -> bool:
        """Is the bound of a problem with batteries or the sun looked for without them?"""
        return self.engine == "highs" and self.whole_numbers >= known.SMALL and may_stand_apart(self.problem)

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
            self.start, self.floor = self.from_fewer_slots()
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

    def from_fewer_slots(self) -> tuple[Solution | None, float]:
        """A plan to start from, and a bound: whole numbers are found sooner where slots are few.

        One in the middle is solved with the means of its slots, which no plan costs less than; where the
        nodes of the mean are not enough in every slot, a few more are. Of any other, or where no more are
        allowed, a plan of the period is one of its slots, and one of longer slots is one of those that they
        join. What is whole of either is held, and its operation chosen in the slots of the problem.
        """
        problem, floor = self.problem, -math.inf
        if has_energy(problem).any():
            # No mean of slots bounds these, and a search with them finds little: whole numbers come first.
            plain = self.answer_of(without_energy(problem), 1.0, WITHOUT_ENERGY * self.left_s()).solution
            better = self.operated(plain) if plain is not None else None
            best = self.best([better]) if better is not None else None
            if best is not None and self.stands_apart:
                best, floor = self.apart_from_energy(best)
            if best is not None:
                return best, floor
        if self.engine == "highs" and known.MIDDLE <= self.whole_numbers < self.large_from:
            mean = mean_slots(problem, MEANS)
            if mean is problem and len(problem.slots) <= MEANS:
                return None, floor  # few enough to be searched as they are
            if mean is not problem:
                found = self.answer_of(mean, MEAN_CLOSELY, MEANS_FIRST * self.left_s())
                floor = found.bound if found.status is not backend.Status.INFEASIBLE else floor
                plan = None
                if found.solution is not None:
                    plan = self.operated(found.solution) or self.operated(found.solution, more=True)
                if plan is not None and (best := self.best([plan])) is not None:
                    return best, floor
        if self.many_slots:
            next_to_mean = plan_of_one_slot(
                problem,
                gap_fraction=self.gap_fraction,
                ends=self.began + self.time_limit_s,
                time_limit_s=HALF * self.left_s(),
                should_stop=self.should_stop,
            )
            plan, floor = next_to_mean.plan, next_to_mean.bound * THOUSAND
            better = self.operated(plan) if plan is not None else None
            if better is not None and (best := self.best([better])) is not None:
                return best, floor
        searched = time.monotonic() + SLOTS_LATER * self.left_s()

        def left_s() -> float:
            return max(searched - time.monotonic(), 0.0)

        # No search takes longer slots of a program that large.
        first = PERIOD_FIRST if self.whole_numbers < self.large_from else 1.0
        by_period = self.answer_of(problem.by_period(), 1.0, first * left_s()).solution
        if by_period is None:
            return None, floor
        plans, few, coarser = [by_period], None, fewer_slots(problem, FEW)
        if coarser is not problem and left_s() > backend.SOON_S:
            few = self.answer_of(coarser, 1.0, left_s(), by_period).solution
        for plan in (few, by_period):
            better = self.operated(plan) if plan is not None else None
            if better is not None:
                plans.append(better)
                break
        return self.best(plans), floor

    def answer_of(
        self, problem: Problem, share: float, limit_s: float, start: Solution | None = None
    ) -> Answer:
        """The answer of a problem that is easier, to a share of the gap."""
        return self.ask(
            problem,
            gap_fraction=share * self.gap_fraction,
            time_limit_s=limit_s,
            should_stop=self.should_stop,
            start=start,
            engine=self.engine,
            tolerance=self.tolerance,
        )

    def operated(self, plan: Solution, *, more: bool = False) -> Solution | None:
        """The plan with the best operation in the slots of the problem, or with a few nodes more."""
        if self.left_s() == 0 or (self.should_stop is not None and self.should_stop()):
            return None
        long = self.many_slots or has_energy(self.problem).any()
        most_s = self.left_s() if long else min(OPERATION_S, self.left_s())
        return best_operation(
            self.problem,
            plan,
            time_limit_s=max(most_s, backend.SOON_S),
            should_stop=self.should_stop,
            engine=self.engine,
            more=more,
        )

    def from_energy(self) -> Answer | None:
        """With batteries or the sun and a known plan, a better one and a bound; the answer if near."""
        plan = self.best([self.start]) if self.start is not None and self.stands_apart else None
        if plan is None:
            return None
        self.start, self.floor = self.apart_from_energy(plan)
        return self.ended(backend.Status.WITHIN_GAP, self.start) if self.holds(self.start) else None

    def apart_from_energy(self, plan: Solution) -> tuple[Solution, float]:
        """A plan as good as a known one and a bound, with batteries and the sun apart from the fleet."""
        floor = -math.inf
        for _ in range(ENERGY_ROUNDS):
            if self.near(plan, floor) or self.left_s() == 0:
                break
            apart = energy_apart(self.problem, plan, time_limit_s=self.left_s(), should_stop=self.should_stop)
            if apart is None:
                break
            found = self.answer_of(apart.fleet, 1.0, ENERGY_SHARE * self.left_s())
            if found.status is backend.Status.INFEASIBLE:  # by rounding: the fleet of the plan is one
                break
            floor = max(floor, found.bound + apart.least)
            better = None
            if found.solution is not None:
                better = self.operated(found.solution) or self.operated(found.solution, more=True)
            before, plan = plan, self.best([plan, *([] if better is None else [better])]) or plan
            if plan is before:  # its prices would be the same
                break
        return plan, floor
