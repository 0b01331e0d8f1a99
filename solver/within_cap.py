"""Least of one thing under a cap on another: what is capped is priced, where a search is at a loss with it.

A cap on money or carbon over the horizon makes a search hard: fractions of nodes keep it where whole ones do
not, so that its bound says little and its plans are far off. With a price on what is capped in place of the
cap, the program is one of least cost, which is searched as such:

    z(x) >= min over y of (z(y) + price * q(y)) - price * cap,  for every x with q(x) <= cap

So each price brings a bound, and a plan that no mix of others beats, within the cap or beyond it. Prices go
along the chord between the best plans on both sides. Plans of few orders lie off these chords: they are
looked for with the cap, among the options that plans found so far use, and then among all. No bound of a
price is above a chord, so that where the best plan is far above its chord, no price is tried.

Where periods have slots, few of them come first, each the mean of many: what is whole is nearly the same
there, and sooner found. All slots take a little more, as changes between them have a price, by which a plan
would be above the cap. So much of the cap is left as room, as much as a known plan takes more. With all of
the cap they bound every plan, as a mean of slots takes no more than they do.

Sources: Everett, "Generalized Lagrange multiplier method", Operations Research 11, 1963; Handler and Zang, "A
dual algorithm for the constrained shortest path problem", Networks 10, 1980 (the chord); Rothberg, "An
evolutionary algorithm for polishing mixed integer programming solutions", INFORMS J. Computing 19, 2007.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace

import numpy as np

from solver import backend
from solver.answer import answer
from solver.build import build
from solver.known import PROVEN, Answer, check
from solver.mean_slots import mean_slots
from solver.operating import best_operation
from solver.problem import Objective, Problem, Solution
from solver.program import Program
from solver.steps import hold_within, nodes, reader
from solver.verify import objective_value

FAR = 0.05  # gap from which on it is at a loss: nearer, it ends sooner alone
FEW_FIRST = 0.6  # of the time, for few slots within the cap, where periods have slots
FEW = 3  # slots then
FEW_CLOSELY = 0.005  # a gap that is less than what few slots differ by from all
FEW_BOUND = 0.65  # of the time after the plain search, for what few slots take with all of the cap
FEW_ROUNDS = 2  # the second with the room that the first one's plan wants
PRICED = 0.65  # of the time left then, for prices
MOST_PRICES = 3  # that are tried
POLISHED = 0.6  # of the time left then, for plans of what known ones use
STEEP = 0.25  # of the steepest price that could still pay, tried first where nothing is known beyond the cap
AWAY = 0.02  # of the cap: a plan that is nearer to it says nothing of what more money would bring
FLATTER = 1 / 3  # of a price that kept the cap, where nothing is known beyond it
ENDED = (*PROVEN, backend.Status.INFEASIBLE, backend.Status.UNBOUNDED, backend.Status.INTERRUPTED)
TRIED = 0.02  # a price that is nearer to one that was tried brings nothing new
MEANS = 2  # slots, each the mean of many, with which prices are tried
OPERATION_S = 5.0  # at most, to choose the operation of a plan in all slots
AROUND = (1, 2, 4, 8)  # how far orders may go from those of the plans on both sides
BEYOND = 2  # plans beyond the cap that are looked at so, the nearest
CLOSELY = 0.5  # of the gap, for a search among what known plans use


@dataclass(slots=True)
class Supports:
    """Plans found with prices on what is capped, and the bound that each price brings. For any cap."""

    plans: list[Solution] = field(default_factory=list)
    bounds: dict[float, float] = field(default_factory=dict)  # of z + price * q

    def bound(self, cap: float) -> float:
        """What no plan within the cap is below."""
        return max((least - price * cap for price, least in self.bounds.items()), default=-math.inf)


def answer_within_cap(
    problem: Problem,
    *,
    gap_fraction: float,
    time_limit_s: float,
    watch: backend.Watch | None = None,
    should_stop: backend.Stop | None = None,
    start: Solution | None = None,
    engine: str = "highs",
    tolerance: float = 1e-6,
    supports: Supports | None = None,
    plain_fraction: float = 0.5,
) -> Answer:
    """The answer, by prices where a cap over the horizon keeps the plain search from its end.

    Without a cap, with one that is no part of the objective alone, or with another engine than HiGHS, it is
    that of `answer`. `supports` are of the same problem with other caps: what is found is added.
    `plain_fraction` of the time is for the plain search: what it proves, or is near to, needs no prices. It
    has all of the time where known plans tell that no price brings a bound that is near.
    """
    cap = _Cap.of(problem)

    def plain(limit_s: float, first: Solution | None) -> Answer:
        return answer(
            problem,
            gap_fraction=gap_fraction,
            time_limit_s=limit_s,
            watch=watch,
            should_stop=should_stop,
            start=first,
            engine=engine,
            tolerance=tolerance,
        )

    if cap is None or engine != "highs" or not math.isfinite(time_limit_s):
        return plain(time_limit_s, start)
    began = time.monotonic()
    ends = began + time_limit_s
    supports = Supports() if supports is None else supports
    search = _Search(problem, cap, supports, gap_fraction, tolerance, should_stop)
    search.by_few_slots(start, ends)
    share = plain_fraction if search.left_by_prices <= FAR else 1.0
    direct = plain(share * max(ends - time.monotonic(), 0.0), search.better_than(start))
    search.take(direct.solution)
    if direct.status in ENDED:
        return replace(direct, elapsed_s=time.monotonic() - began)
    search.known_bound = max(search.known_bound, direct.bound)
    if search.gap_fraction_left > FAR:
        search.bound_by_few_slots(ends)
        search.by_prices(ends)
        search.polish(ends)
    if search.interrupted and search.best is not None:
        return search.answer(backend.Status.INTERRUPTED, time.monotonic() - began)
    if search.gap_fraction_left > gap_fraction:
        last = plain(max(ends - time.monotonic(), backend.SOON_S), search.better_than(start))
        search.take(last.solution)
        elapsed_s = time.monotonic() - began
        if last.status in PROVEN or search.best is None:
            return replace(last, elapsed_s=elapsed_s)
        if last.status is not backend.Status.INFEASIBLE:  # the best plan is above the cap by rounding
            search.known_bound = max(search.known_bound, last.bound)
        if last.status is backend.Status.INTERRUPTED:
            return search.answer(last.status, elapsed_s)
    near = search.gap_fraction_left <= gap_fraction
    status = backend.Status.WITHIN_GAP if near else backend.Status.TIME_LIMIT
    return search.answer(status, time.monotonic() - began)


@dataclass(frozen=True, slots=True)
class _Cap:
    """What is capped, and where it ends."""

    most: float
    of_carbon: bool

    @classmethod
    def of(cls, problem: Problem) -> _Cap | None:
        limits, objective = problem.limits, problem.objective
        if math.isfinite(limits.money_cap_usd) and objective.carbon_weight > 0:
            return cls(limits.money_cap_usd, of_carbon=False)
        if math.isfinite(limits.carbon_cap_kgco2e) and objective.money_weight > 0:
            return cls(limits.carbon_cap_kgco2e, of_carbon=True)
        return None

    def amount(self, plan: Solution) -> float:
        return plan.kgco2e if self.of_carbon else plan.usd

    def lowered(self, problem: Problem, room: float) -> Problem:
        """The problem with so much less under its cap."""
        most, limits = self.most - room, problem.limits
        if self.of_carbon:
            return replace(problem, limits=replace(limits, carbon_cap_kgco2e=most))
        return replace(problem, limits=replace(limits, money_cap_usd=most))

    def priced(self, problem: Problem, price: float) -> Problem:
        """The problem with a price in place of the cap; an infinite one leaves nothing else."""
        objective, limits = problem.objective, problem.limits
        if self.of_carbon:
            uncapped = replace(limits, carbon_cap_kgco2e=math.inf)
            extra = Objective(0.0, price if math.isfinite(price) else 1.0)
        else:
            uncapped = replace(limits, money_cap_usd=math.inf)
            extra = Objective(price if math.isfinite(price) else 1.0, 0.0)
        if math.isfinite(price):
            extra = Objective(
                objective.money_weight + extra.money_weight, objective.carbon_weight + extra.carbon_weight
            )
        return replace(problem, limits=uncapped, objective=extra)


@dataclass(slots=True)
class _Search:
    """A search for plans within a cap."""

    problem: Problem
    cap: _Cap
    supports: Supports
    gap_fraction: float
    tolerance: float
    should_stop: backend.Stop | None
    known_bound: float = -math.inf
    interrupted: bool = False  # by Ctrl-C, which the engine hears alone
    bounded_by_few: bool = False  # a search of few slots had all of the cap

    @property
    def bound(self) -> float:
        return max(self.known_bound, self.supports.bound(self.cap.most))

    @property
    def gap_fraction_left(self) -> float:
        """How far the best plan may be from the best that there is."""
        return math.inf if self.best is None else max(backend.gap(self._cost(self.best), self.bound), 0.0)

    def answer(self, status: backend.Status, elapsed_s: float) -> Answer:
        """The best plan, with the bound of all searches."""
        assert self.best is not None, "a plan was found"
        cost = self._cost(self.best)
        return Answer(status, self.best, cost, min(self.bound, cost), self.gap_fraction_left, elapsed_s)

    def _cost(self, plan: Solution) -> float:
        return objective_value(self.problem, plan)

    def _sides(self) -> tuple[list[Solution], list[Solution]]:
        """Plans within the cap, and beyond it."""
        sides: tuple[list[Solution], list[Solution]] = ([], [])
        for one in self.supports.plans:
            sides[not self._keeps_cap(one)].append(one)
        return sides

    def _keeps_cap(self, plan: Solution) -> bool:
        return self.cap.amount(plan) <= self.cap.most + self.tolerance * abs(self.cap.most)

    @property
    def best(self) -> Solution | None:
        return min(self._sides()[0], key=self._cost, default=None)

    def better_than(self, start: Solution | None) -> Solution | None:
        """The best plan that is known, or the start where that is better."""
        best = self.best
        if best is None or start is None:
            return best or start
        return start if self._keeps_cap(start) and self._cost(start) < self._cost(best) else best

    def take(self, plan: Solution | None) -> None:
        if plan is not None and all(plan is not one for one in self.supports.plans):
            self.supports.plans.append(plan)

    def _beyond(self) -> list[Solution]:
        """The plans beyond the cap that are next to it."""
        return sorted(self._sides()[1], key=self.cap.amount)[:BEYOND]

    def _stopped(self, ends: float) -> bool:
        self.interrupted |= self.should_stop is not None and self.should_stop()
        return self.interrupted or time.monotonic() >= ends

    def by_few_slots(self, start: Solution | None, ends: float) -> None:
        """A plan of few slots within the cap, operated in all of them."""
        few, first = mean_slots(self.problem, FEW), self.better_than(start)
        if few is self.problem:
            return
        ends = time.monotonic() + FEW_FIRST * (ends - time.monotonic())
        room = 0.0 if first is None else self._more_in_all(first, few)
        for _ in range(FEW_ROUNDS):
            if self._stopped(ends):
                break
            lowered = self.cap.lowered(few, room)
            found = answer(
                lowered,
                gap_fraction=max(self.gap_fraction, FEW_CLOSELY),
                time_limit_s=ends - time.monotonic(),
                should_stop=self.should_stop,
                start=None if first is None else self._operated(first, lowered),
                tolerance=self.tolerance,
            )
            self.interrupted |= found.status is backend.Status.INTERRUPTED
            if found.solution is None:
                break
            if room == 0:
                self.bounded_by_few = True
                self.known_bound = max(self.known_bound, found.bound)
            if (plan := self._operated(found.solution, self.problem)) is not None:
                self.take(plan)
                break
            more = self._more_in_all(found.solution, few)
            if more <= room:
                break
            room = more

    def bound_by_few_slots(self, ends: float) -> None:
        """What few slots take with all of the cap bounds every plan; with room left under it, it did not."""
        few, best = mean_slots(self.problem, FEW), self.best
        if few is self.problem or best is None or self.bounded_by_few or self._stopped(ends):
            return
        found = answer(
            few,
            gap_fraction=max(self.gap_fraction, FEW_CLOSELY),
            time_limit_s=FEW_BOUND * (ends - time.monotonic()),
            should_stop=self.should_stop,
            start=self._operated(best, few),
            tolerance=self.tolerance,
        )
        self.interrupted |= found.status is backend.Status.INTERRUPTED
        if found.status is not backend.Status.INFEASIBLE:  # the best plan is above the cap by rounding
            self.bounded_by_few, self.known_bound = True, max(self.known_bound, found.bound)
        self.take(None if found.solution is None else self._operated(found.solution, self.problem))

    def _operated(self, plan: Solution, problem: Problem) -> Solution | None:
        """The plan with its operation chosen again, where it holds so."""
        again = best_operation(
            problem, replace(plan, slots=None), time_limit_s=OPERATION_S, should_stop=self.should_stop
        )
        return None if again is None or check(build(problem), again, self.tolerance) else again

    def _more_in_all(self, plan: Solution, few: Problem) -> float:
        """By how much what is capped is more in all slots than in few, at its least with the same fleet."""
        least = [self._operated(plan, self.cap.priced(each, math.inf)) for each in (self.problem, few)]
        amounts = [self.cap.amount(each) for each in least if each is not None]
        return max(amounts[0] - amounts[1], 0.0) if len(amounts) == 2 else 0.0

    def by_prices(self, ends: float) -> None:
        """Plans of some prices, until the next one was tried, or time is up."""
        ends = time.monotonic() + PRICED * (ends - time.monotonic())
        each_s = (ends - time.monotonic()) / MOST_PRICES
        tried: list[float] = []
        for _ in range(MOST_PRICES):
            price = self._price(tried)
            if price is None or self._stopped(ends):
                break
            tried.append(price)
            self._priced(price, min(each_s, ends - time.monotonic()))

    def _chords(self) -> list[tuple[float, float]]:
        """What each chord between a plan within the cap and one beyond comes to at the cap, and its price."""
        within, beyond = self._sides()
        amount, cost, most = self.cap.amount, self._cost, self.cap.most
        return [
            (
                cost(one) + (cost(other) - cost(one)) * (most - amount(one)) / (amount(other) - amount(one)),
                (cost(one) - cost(other)) / (amount(other) - amount(one)),
            )
            for one in within
            for other in beyond
            if cost(other) < cost(one)
        ]

    @property
    def left_by_prices(self) -> float:
        """The gap of the best plan that any price leaves, as no bound of one is above a chord; 0: unknown."""
        chords = self._chords()
        return backend.gap(self._cost(self.best), min(chords)[0]) if chords and self.best else 0.0

    def _price(self, tried: list[float]) -> float | None:
        """The price of the chord between a plan within the cap and one beyond; None if it was tried."""
        within, _ = self._sides()
        amount, cost, most = self.cap.amount, self._cost, self.cap.most
        if not within:
            return None if math.inf in tried else math.inf
        best = min(within, key=cost)
        if chords := self._chords():
            price = min(chords)[1]
        elif tried and math.isfinite(tried[-1]):
            price = FLATTER * tried[-1]
        else:
            least = self.bound if math.isfinite(self.bound) else 0.0
            price = STEEP * (cost(best) - least) / max(most - amount(best), AWAY * abs(most))
        if price <= 0 or any(abs(price - one) <= TRIED * one for one in tried if math.isfinite(one)):
            return None
        return price

    def _priced(self, price: float, limit_s: float) -> None:
        """The plan of least cost at a price, and its bound."""
        problem = self.cap.priced(self.problem, price)
        few = mean_slots(problem, MEANS) if len(problem.slots) > MEANS else problem
        plans = self.supports.plans
        start = min(plans, key=lambda one: objective_value(problem, one), default=None)
        if few is not problem and start is not None:
            start = replace(start, slots=None)
        found = answer(
            few,
            gap_fraction=self.gap_fraction,
            time_limit_s=limit_s,
            should_stop=self.should_stop,
            start=start,
            tolerance=self.tolerance,
        )
        self.interrupted |= found.status is backend.Status.INTERRUPTED
        if math.isfinite(price) and math.isfinite(found.bound):
            self.supports.bounds[price] = max(found.bound, self.supports.bounds.get(price, -math.inf))
        plan = found.solution
        self.take(plan if few is problem or plan is None else self._operated(plan, problem))

    def polish(self, ends: float) -> None:
        """Better plans within the cap, of the options that known plans use."""
        ends = time.monotonic() + POLISHED * (ends - time.monotonic())
        for around in AROUND:
            best = self.best
            if best is None or self._stopped(ends):
                break
            program = build(self.problem)
            _leave_what_is_used(program, best, self._beyond(), self.supports.plans, around)
            found = backend.solve(
                program.model,
                gap_fraction=CLOSELY * self.gap_fraction,
                time_limit_s=max(ends - time.monotonic(), backend.SOON_S),
                should_stop=self.should_stop,
                start=program.start(best),
            )
            self.interrupted |= found.stopped
            plan = program.solution(found.values) if found.status.has_plan else None
            if plan is not None and not check(program, plan, self.tolerance):
                self.take(plan)


def _leave_what_is_used(
    program: Program, best: Solution, beyond: list[Solution], known: list[Solution], around: int
) -> None:
    """Leave tasks the options that a known plan uses, and orders what lies between plans or `around` them."""
    reads = [reader(program.start(plan)) for plan in known]
    near = [reader(program.start(plan)) for plan in (best, *beyond)]
    for variables in filter(np.size, (*nodes(program), program.move)):
        used = np.any([read(variables) > 0 for read in reads], axis=(0, 2))[:, None]
        between = [read(variables) for read in near]
        most = np.where(used, np.max(between, axis=0) + around, 0.0)
        hold_within(variables, np.min(between, axis=0) - around, most)
    for variables in filter(np.size, (program.run, program.choose, program.replicas)):
        rows = variables.reshape(len(variables), -1)
        used = np.any([read(rows) > 0 for read in reads], axis=(0, 2))
        for variable in rows[~used].ravel():
            variable.upBound = variable.lowBound
