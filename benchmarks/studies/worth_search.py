"""Plans of a family for the worth page: usual practice, least money, least carbon for little more money.

Each family is planned as operators usually do, for least money, and for least carbon at no more than five
percent more money than either of the two. Every plan is judged by one program: the family's own, with the
hours of its grids. Then operation is chosen again on the fleet of the carbon plan, without each lever, and
with it alone. A front follows (least carbon at some steps of money over the least), and what the plans come
to where facts turn out otherwise. What a run found is kept in worth.json next to this file, so that one
family can be made again without the others: some four to twenty minutes each.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.studies.savings import FAMILIES as SHIPPED
from planner.inputs.consistency import with_cards
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, with_changes
from planner.inputs.scenario.schema_futures import Future
from planner.program.assembly import Assembled, assemble
from planner.program.baselines import spare_confidence_fraction, usual_practice
from planner.program.future_scenarios import in_future
from planner.program.grids import drawn_points
from solver import backend
from solver.known import Answer
from solver.levers import allowed_levers, operated, with_levers
from solver.problem import Objective, Problem, Solution
from solver.stochastic import FirstStage, answer_held
from solver.within_cap import Supports, answer_within_cap

KEPT = Path(__file__).with_name("worth.json")
OWN = Path(__file__).with_name("families")
MORE_MONEY = 0.05
GAP_FRACTION, TIME_LIMIT_S, CAPPED_SECONDS, LEVER_SECONDS = 0.005, 60.0, 120.0, 15.0
CAPPED_GAP_FRACTION = 0.001  # at 0.5 %, growth stayed 0.26 % above its best, near the aim of 15 %
ROUNDING = 1e-6  # by which a plan may be above a cap
LEAST_MONEY, LEAST_CARBON = Objective(1.0, 0.0), Objective(1e-5, 1.0)
ALL = ("shift", "pack", "lend")
CLOCKS = (0.8, 0.9, 1.0)  # of the highest, that runs, pools and services may be locked at
HELD_SECONDS = 30.0  # to choose everything but the fleet again
STEPS = (0.0, 0.01, 0.02, 0.05, 0.10)  # of money over the least, for the front
DRAWS, SEED, DRAW_SECONDS = 6, 1, 10.0

USUAL, CHEAPEST = "usual practice", "least money"
OVER_USUAL, OVER_CHEAPEST = "least carbon, 5 % over usual practice", "least carbon, 5 % over least money"
NO_LEVER = "least carbon without levers, 5 % over usual practice"
PLANS = (USUAL, CHEAPEST, NO_LEVER, OVER_USUAL, OVER_CHEAPEST)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a plan comes to, and how close to the best of its kind it is proved to be."""

    usd: float
    kgco2e: float
    gap_fraction: float


@dataclass(frozen=True, slots=True)
class Lever:
    """Carbon that operation takes more without a lever, and less with it alone; None where it cannot do."""

    left_out_kgco2e: float | None
    alone_kgco2e: float | None


@dataclass(frozen=True, slots=True)
class Replays:
    """A plan next to another one where facts turn out otherwise: a share for each draw in which both hold."""

    saved_fraction: tuple[float, ...]  # of carbon
    more_fraction: tuple[float, ...]  # of money
    not_enough: int  # draws in which the fleet of the plan carries the work no more
    other_not_enough: int  # and that of the other one


@dataclass(frozen=True, slots=True)
class Usual:
    """Usual practice: the scenario that was planned, its plan, and the reach of its spares if too few."""

    scenario: Scenario
    answer: Answer
    confidence_fraction: float | None = None


@dataclass(frozen=True, slots=True)
class Family:
    """What one family came to."""

    title: str
    plans: dict[str, Outcome | None]
    levers: dict[str, Lever] = field(default_factory=dict)
    hours: tuple[str, ...] = ()  # which hours of the grids were known
    confidence_fraction: float | None = None  # of the spares of usual practice, where they were too few
    front: dict[str, Outcome | None] = field(default_factory=dict)  # by the step of money, "1 %"
    replays: dict[str, Replays] = field(default_factory=dict)  # of the two carbon plans
    limits_s: tuple[float, float] = (TIME_LIMIT_S, CAPPED_SECONDS)  # of a search, and of one with a cap
    remark: str = ""  # what was found since, outside of the study


def families() -> dict[str, Path]:
    """Files of the families: eight that ship, and four with room for levers."""
    shipped = {name: data_folder() / "scenarios" / f"{name}.toml" for name in SHIPPED}
    return shipped | {path.stem: path for path in sorted(OWN.glob("*.toml"))}


def by_the_hour(scenario: Scenario) -> Scenario:
    """The scenario with every lever by the hour, and nodes that may be off."""
    return with_changes(scenario, {"policy.levers": list(ALL), "policy.park_idle": True})


def with_all_levers(scenario: Scenario) -> Scenario:
    """The scenario with every lever by the hour, and clocks that may be lower."""
    return with_changes(by_the_hour(scenario), {"policy.clocks": list(CLOCKS)})


def at_location(scenario: Scenario) -> Scenario:
    """The scenario by the grids where energy is drawn: hours of a grid say nothing of contracts."""
    if scenario.policy.accounting == "location":
        return scenario
    return with_changes(scenario, {"policy.accounting": "location", "contracts": None})


def capped(problem: Problem, usd: float, more: float = MORE_MONEY) -> Problem:
    """The problem of least carbon with no more money than a plan takes, and five percent or another share."""
    limits = replace(problem.limits, money_cap_usd=usd * (1 + more))
    return replace(problem, limits=limits, objective=LEAST_CARBON)


def measured(scenario: Scenario) -> Family:
    """All plans of a family."""
    scenario = at_location(scenario)
    catalogue = with_cards(scenario, load_catalogue())
    inputs = Inputs(with_all_levers(scenario), catalogue)
    assembled = assemble(inputs)
    full, at_full_clock = assembled.problem, assemble(Inputs(by_the_hour(scenario), catalogue)).problem
    none = with_levers(at_full_clock, ())
    practice = _usual(scenario, inputs)
    usual = None if practice is None else practice.answer
    # Without levers the program is small: its cheapest plan is where the search of the whole one begins.
    small = solved(replace(none, objective=LEAST_MONEY))
    search = FrontSearch(full, taken_over(replace(full, objective=LEAST_MONEY), _plans(small)))
    search.find_cheapest()
    paid_usd = None if usual is None or usual.solution is None else usual.solution.usd
    found_at: dict[str, Answer | None] = {NO_LEVER: None, OVER_USUAL: None}
    if paid_usd is not None:
        limited = capped(none, paid_usd)
        found_at[NO_LEVER] = solved(limited, _cleanest_within(limited, _plans(small)))
        # A plan without levers keeps every rule of one with them.
        search.known += taken_over(capped(full, paid_usd), _plans(found_at[NO_LEVER]))
        search.cleanest(capped(full, paid_usd))
    steps = search.front()
    if paid_usd is not None:
        found_at[OVER_USUAL] = search.known_within(paid_usd * (1 + MORE_MONEY))
    cheapest, found_at[OVER_CHEAPEST] = search.cheapest, steps.get(MORE_MONEY)
    best, levers = next(iter(_plans(found_at[OVER_USUAL])), None), dict[str, Lever]()
    if best is not None and paid_usd is not None:
        levers = _levers(capped(full, paid_usd), best)
        levers["clock"] = _clock(capped(full, paid_usd), capped(at_full_clock, paid_usd), best)
    front = {f"{more:.0%}": outcome(one) for more, one in steps.items()}
    every = {USUAL: usual, CHEAPEST: cheapest} | found_at
    plans = {name: outcome(every[name]) for name in PLANS}
    everywhere = with_all_levers(scenario)
    replays: dict[str, Replays] = {}
    for name, against, one in (
        (OVER_USUAL, practice, found_at.get(OVER_USUAL)),
        (
            OVER_CHEAPEST,
            None if cheapest is None else Usual(everywhere, cheapest),
            found_at.get(OVER_CHEAPEST),
        ),
    ):
        if against is not None and one is not None:
            replays[name] = _replayed(Usual(everywhere, one), against)
    notes = () if assembled.levers is None else assembled.levers.times.notes
    reached = None if practice is None else practice.confidence_fraction
    return Family(scenario.title, plans, levers, notes, reached, front, replays)


@dataclass(slots=True)
class FrontSearch:
    """Plans of one program from the cheapest to the cleanest: what one search finds serves all others."""

    full: Problem
    known: list[Solution]
    cheapest: Answer | None = None
    supports: Supports = field(default_factory=Supports)
    bounds: dict[float, float] = field(default_factory=dict)  # of carbon, by the cap on money

    def __post_init__(self) -> None:
        self.supports.plans = self.known

    def find_cheapest(self) -> None:
        """Search for the least money from the cheapest plan that is known; where not proven, from nothing.

        A start keeps a search near to it, and what looks at few slots first is left out.
        """
        for start in (min(self.known, key=lambda one: one.usd, default=None), None):
            found = solved(replace(self.full, objective=LEAST_MONEY), start)
            self.known += _plans(found)
            self.keep_cheapest(found)
            if start is None or (found is not None and found.gap_fraction <= GAP_FRACTION):
                break

    def keep_cheapest(self, found: Answer | None = None) -> None:
        """The cheapest plan of all searches, with the best bound of those for it."""
        bound = max((one.bound for one in (found, self.cheapest) if one is not None), default=-math.inf)
        if best := min(self.known, key=lambda one: one.usd, default=None):
            self.cheapest = _as_answer(best, best.usd, bound)

    def cleanest(self, limited: Problem) -> None:
        """Search for the cleanest plan within the cap on money of a problem."""
        found = solved(limited, _cleanest_within(limited, self.known), self.supports)
        if found is not None:
            self.bounds[limited.limits.money_cap_usd] = found.bound

    def front(self) -> dict[float, Answer | None]:
        """Least carbon at each step of money over the least, the widest first; then the best plans known.

        A search may find a cheaper plan than that of least money, which then is the base of all steps.
        """
        if self.cheapest is None or self.cheapest.solution is None:
            return {}
        if min(one.usd for one in self.known) < self.cheapest.solution.usd:
            self.find_cheapest()
        for more in sorted(STEPS, reverse=True):
            self.cleanest(capped(self.full, self.cheapest.solution.usd, more))
        self.keep_cheapest()
        return {more: self.known_within(self.cheapest.solution.usd * (1 + more)) for more in STEPS}

    def known_within(self, cap: float) -> Answer | None:
        """The cleanest plan known within a cap; what bounds a wider one bounds it, too."""
        within = [one for one in self.known if one.usd <= cap * (1 + ROUNDING)]
        if not within:
            return None
        best = min(within, key=_cost)
        wider = [bound for other, bound in self.bounds.items() if other >= cap]
        return _as_answer(best, _cost(best), max(self.supports.bound(cap), *wider, -math.inf))


def _cleanest_within(limited: Problem, known: Sequence[Solution]) -> Solution | None:
    """The cleanest of some plans that keep the cap on money of a problem: where its search begins."""
    within = [one for one in known if one.usd <= limited.limits.money_cap_usd]
    return min(within, key=_cost, default=None)


def _cost(plan: Solution) -> float:
    """What the least carbon minimises."""
    return LEAST_CARBON.money_weight * plan.usd + LEAST_CARBON.carbon_weight * plan.kgco2e


def _as_answer(plan: Solution, objective: float, bound: float) -> Answer:
    gap = max(backend.gap(objective, bound), 0.0)
    near = gap <= GAP_FRACTION
    status = backend.Status.WITHIN_GAP if near else backend.Status.TIME_LIMIT
    return Answer(status, plan, objective, min(bound, objective), gap, 0.0)


def _plans(found: Answer | None) -> list[Solution]:
    return [] if found is None or found.solution is None else [found.solution]


def _replayed(plan: Usual, against: Usual) -> Replays:
    """Both plans in the same draws of the facts: what the first period decides stays, the rest may change."""
    saved, more, short, others_short = list[float](), list[float](), 0, 0
    by_hours = against.scenario is plan.scenario
    for values in drawn_points(plan.scenario, load_catalogue(), draws=DRAWS, seed=SEED).points:
        problem, stays = _in_draw(against, values, levers=by_hours)
        theirs = _held(replace(problem, objective=LEAST_MONEY), stays)
        problem, stays = _in_draw(plan, values, levers=True)
        cheapest = replace(problem, objective=LEAST_MONEY)
        ours = None if theirs is None else _held(capped(problem, theirs.usd), stays)
        ours = ours or _held(cheapest, stays)
        short += ours is None
        others_short += theirs is None
        if ours is not None and theirs is not None:
            saved.append(1.0 - ours.kgco2e / theirs.kgco2e)
            more.append(ours.usd / theirs.usd - 1.0)
    return Replays(tuple(saved), tuple(more), short, others_short)


def _in_draw(plan: Usual, values: Mapping[str, Any], *, levers: bool) -> tuple[Problem, FirstStage]:
    """The program of a plan with other facts, by the hours of the grid, and what the plan decides."""
    assert plan.answer.solution is not None, "it was solved"
    future = Future.model_construct(name="draw", probability_fraction=1.0, values=dict(values))
    changed = in_future(plan.scenario, future, load_catalogue())
    if not levers:
        changed = with_changes(changed, {"policy.levers": list(ALL)})
    problem = assemble(Inputs(changed, with_cards(changed, load_catalogue()))).problem
    return problem if levers else with_levers(problem, ()), FirstStage.of(plan.answer.solution)


def _held(problem: Problem, stays: FirstStage) -> Solution | None:
    """The best plan after the decisions of the first period; None where none carries the work."""
    return answer_held(
        problem,
        stays,
        shared_periods=1,
        siblings=[problem],
        gap_fraction=GAP_FRACTION,
        time_limit_s=DRAW_SECONDS,
    ).solution


def _usual(scenario: Scenario, full: Inputs) -> Usual | None:
    """Usual practice by the hours of the full program; with the spares that failures ask for.

    Its own share of spares is kept where that is enough. Where it is not, it is planned with the spares that
    are, and the share of time for which its own were enough is told.
    """

    def hourly(one: Scenario) -> tuple[Inputs, Assembled]:
        own = Inputs(with_changes(one, {"policy.levers": list(ALL)}), full.catalogue)
        return own, assemble(own)

    as_usual = usual_practice(scenario)
    own, assembled = hourly(as_usual)
    found = solved(with_levers(assembled.problem, ()))
    if found is None or found.solution is None:
        return None
    reached = spare_confidence_fraction(own, assembled, found.solution)
    if reached >= scenario.reliability.spare_confidence_fraction:
        return Usual(as_usual, found)
    stated = scenario.reliability.spare_share_fraction
    spared = with_changes(as_usual, {"reliability.spare_share": stated})
    again = solved(with_levers(hourly(spared)[1].problem, ()))
    return Usual(as_usual, found, reached) if again is None else Usual(spared, again, reached)


def solved(
    problem: Problem, start: Solution | None = None, supports: Supports | None = None
) -> Answer | None:
    capped_money = math.isfinite(problem.limits.money_cap_usd)
    found = answer_within_cap(
        problem,
        gap_fraction=CAPPED_GAP_FRACTION if capped_money else GAP_FRACTION,
        time_limit_s=CAPPED_SECONDS if capped_money else TIME_LIMIT_S,
        start=start,
        supports=supports,
    )
    return None if found.solution is None else found


def outcome(found: Answer | None) -> Outcome | None:
    if found is None or found.solution is None:
        return None
    return Outcome(found.solution.usd, found.solution.kgco2e, found.gap_fraction)


def _levers(problem: Problem, plan: Solution) -> dict[str, Lever]:
    """Each lever left out and alone on the fleet of a plan; lending comes on top of packing."""

    def kgco2e(some: Iterable[str]) -> float | None:
        found = operated(with_levers(problem, tuple(some)), plan, time_limit_s=LEVER_SECONDS)
        return None if found is None else found.kgco2e

    allowed = allowed_levers(problem)
    everyone, none = kgco2e(allowed), kgco2e(())
    found: dict[str, Lever] = {}
    for lever in allowed:
        gone = {lever, "lend"} if lever == "pack" else {lever}
        below = ("pack",) if lever == "lend" else ()
        base = kgco2e(below) if below else none
        found[lever] = Lever(
            _less(kgco2e(one for one in allowed if one not in gone), everyone),
            _less(base, kgco2e((*below, lever))),
        )
    return found


def _clock(problem: Problem, at_full_clock: Problem, plan: Solution) -> Lever:
    """Lower clocks left out and alone: everything but the fleet of a plan is chosen again."""

    def kgco2e(one: Problem) -> float | None:
        found = on_fleet(one, plan)
        return None if found is None else found.kgco2e

    alone, none = with_levers(problem, ()), with_levers(at_full_clock, ())
    return Lever(_less(kgco2e(at_full_clock), plan.kgco2e), _less(kgco2e(none), kgco2e(alone)))


def on_fleet(problem: Problem, plan: Solution) -> Solution | None:
    """The best plan of a problem on the fleet of a plan of another; None where none is found."""
    return answer_held(
        problem,
        FirstStage.of(plan),
        shared_periods=problem.periods,
        gap_fraction=GAP_FRACTION,
        time_limit_s=HELD_SECONDS,
    ).solution


def taken_over(problem: Problem, plans: Sequence[Solution]) -> list[Solution]:
    """Plans of a problem on the fleets of plans of a problem with fewer ways to do the same work."""
    return [found for plan in plans if (found := on_fleet(problem, plan)) is not None]


def _less(more: float | None, less: float | None) -> float | None:
    return None if more is None or less is None else more - less


def kept() -> dict[str, Family]:
    """What earlier runs found."""
    if not KEPT.exists():
        return {}
    found = json.loads(KEPT.read_text(encoding="utf-8"))
    return {
        name: Family(
            one["title"],
            {plan: None if held is None else Outcome(**held) for plan, held in one["plans"].items()},
            {lever: Lever(**held) for lever, held in one["levers"].items()},
            tuple(one["hours"]),
            one["confidence_fraction"],
            {step: None if held is None else Outcome(**held) for step, held in one.get("front", {}).items()},
            {plan: _replays_of(held) for plan, held in one.get("replays", {}).items()},
            (float(one["limits_s"][0]), float(one["limits_s"][1])),
            one.get("remark", ""),
        )
        for name, one in found.items()
    }


def _replays_of(held: Mapping[str, Any]) -> Replays:
    return Replays(
        tuple(held["saved_fraction"]),
        tuple(held["more_fraction"]),
        held["not_enough"],
        held["other_not_enough"],
    )
