"""Writes docs/worth.md: how much less carbon the levers bring at how little more money, family by family.

    python -m benchmarks.studies.worth [family ... | --page]

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
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.studies.savings import FAMILIES as SHIPPED
from planner.inputs.consistency import with_cards
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, load_scenario, with_changes
from planner.inputs.scenario.schema_futures import Future
from planner.program.assembly import Assembled, assemble
from planner.program.baselines import spare_confidence_fraction, usual_practice
from planner.program.future_scenarios import in_future
from planner.program.grids import drawn_points
from solver import backend
from solver.answer import Answer
from solver.levers import allowed_levers, operated, with_levers
from solver.problem import Objective, Problem, Solution
from solver.stochastic import FirstStage, answer_held
from solver.within_cap import Supports, answer_within_cap

ROOT = Path(__file__).resolve().parents[2]
PAGE, KEPT = ROOT / "docs" / "worth.md", Path(__file__).with_name("worth.json")
OWN = Path(__file__).with_name("families")
MORE_MONEY = 0.05
GAP_FRACTION, TIME_LIMIT_S, CAPPED_SECONDS, LEVER_SECONDS = 0.005, 60.0, 120.0, 15.0
CAPPED_GAP_FRACTION = 0.001  # at 0.5 %, growth stayed 0.26 % above its best, near the aim of 15 %
ROUNDING = 1e-6  # by which a plan may be above a cap
LEAST_MONEY, LEAST_CARBON = Objective(1.0, 0.0), Objective(1e-5, 1.0)
ALL = ("shift", "pack", "lend")
CLOCKS = (0.8, 0.9, 1.0)  # of the highest, that runs, pools and services may be locked at
HELD_SECONDS = 30.0  # to choose everything but the fleet again
AIM_FRACTION, SURE_FRACTION = 0.15, 0.05
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
    small = _solved(replace(none, objective=LEAST_MONEY))
    search = _FrontSearch(full, _taken_over(replace(full, objective=LEAST_MONEY), _plans(small)))
    search.find_cheapest()
    paid_usd = None if usual is None or usual.solution is None else usual.solution.usd
    found_at: dict[str, Answer | None] = {NO_LEVER: None, OVER_USUAL: None}
    if paid_usd is not None:
        limited = capped(none, paid_usd)
        found_at[NO_LEVER] = _solved(limited, _cleanest_within(limited, _plans(small)))
        # A plan without levers keeps every rule of one with them.
        search.known += _taken_over(capped(full, paid_usd), _plans(found_at[NO_LEVER]))
        search.cleanest(capped(full, paid_usd))
    steps = search.front()
    if paid_usd is not None:
        found_at[OVER_USUAL] = search.known_within(paid_usd * (1 + MORE_MONEY))
    cheapest, found_at[OVER_CHEAPEST] = search.cheapest, steps.get(MORE_MONEY)
    best, levers = next(iter(_plans(found_at[OVER_USUAL])), None), dict[str, Lever]()
    if best is not None and paid_usd is not None:
        levers = _levers(capped(full, paid_usd), best)
        levers["clock"] = _clock(capped(full, paid_usd), capped(at_full_clock, paid_usd), best)
    front = {f"{more:.0%}": _outcome(one) for more, one in steps.items()}
    solved = {USUAL: usual, CHEAPEST: cheapest} | found_at
    plans = {name: _outcome(solved[name]) for name in PLANS}
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
class _FrontSearch:
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
            found = _solved(replace(self.full, objective=LEAST_MONEY), start)
            self.known += _plans(found)
            self._keep_cheapest(found)
            if start is None or (found is not None and found.gap_fraction <= GAP_FRACTION):
                break

    def _keep_cheapest(self, found: Answer | None) -> None:
        """The cheapest plan of all searches, with the best bound of those for it."""
        bound = max((one.bound for one in (found, self.cheapest) if one is not None), default=-math.inf)
        if best := min(self.known, key=lambda one: one.usd, default=None):
            self.cheapest = _as_answer(best, best.usd, bound)

    def cleanest(self, limited: Problem) -> None:
        """Search for the cleanest plan within the cap on money of a problem."""
        found = _solved(limited, _cleanest_within(limited, self.known), self.supports)
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
        self._keep_cheapest(None)
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
    found = _solved(with_levers(assembled.problem, ()))
    if found is None or found.solution is None:
        return None
    reached = spare_confidence_fraction(own, assembled, found.solution)
    if reached >= scenario.reliability.spare_confidence_fraction:
        return Usual(as_usual, found)
    stated = scenario.reliability.spare_share_fraction
    spared = with_changes(as_usual, {"reliability.spare_share": stated})
    again = _solved(with_levers(hourly(spared)[1].problem, ()))
    return Usual(as_usual, found, reached) if again is None else Usual(spared, again, reached)


def _solved(
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


def _outcome(found: Answer | None) -> Outcome | None:
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
        found = _on_fleet(one, plan)
        return None if found is None else found.kgco2e

    alone, none = with_levers(problem, ()), with_levers(at_full_clock, ())
    return Lever(_less(kgco2e(at_full_clock), plan.kgco2e), _less(kgco2e(none), kgco2e(alone)))


def _on_fleet(problem: Problem, plan: Solution) -> Solution | None:
    """The best plan of a problem on the fleet of a plan of another; None where none is found."""
    return answer_held(
        problem,
        FirstStage.of(plan),
        shared_periods=problem.periods,
        gap_fraction=GAP_FRACTION,
        time_limit_s=HELD_SECONDS,
    ).solution


def _taken_over(problem: Problem, plans: Sequence[Solution]) -> list[Solution]:
    """Plans of a problem on the fleets of plans of a problem with fewer ways to do the same work."""
    return [found for plan in plans if (found := _on_fleet(problem, plan)) is not None]


def _less(more: float | None, less: float | None) -> float | None:
    return None if more is None or less is None else more - less


# The page

INTRODUCTION = f"""\
# What the levers are worth

Written by `python -m benchmarks.studies.worth`: eight families that ship (`data/scenarios`) and four with
room for levers by the hour (`benchmarks/studies/families`). For each:

- **usual practice**: at today's sites, at the least cost by annual factors; nodes stay to the end of their
  life; a checkpoint every hour; 3 % of spares, and more where failures ask for them; replicas awake all
  day, work spread evenly;
- **least money**: the same work at the least cost, with every lever allowed;
- **least carbon** with no more than {MORE_MONEY:.0%} more money than usual practice, and than least money.

All of them are judged by one program, whose services follow their curve of the day through the hours of the
grid. So a plan is not better here because it was judged by other hours. Much of what is saved against usual
practice is no lever of the hour: it is nodes that are sold, work at the cleaner site, sizes and checkpoints,
which the column *without levers* has alone."""

METHOD = f"""\
## How to read it

Levers: *shift* moves pools and pausable runs between hours, *pack* lets replicas rest and nodes be off,
*lend* lets pools work on nodes of replicas that rest, *clock* lets runs, pools and replicas run at
{" and ".join(f"{clock:.0%}" for clock in CLOCKS[:-1])} of the highest clock. *Left out*: carbon that the
operation of the same fleet takes more without the lever; *alone*: what it takes less with it alone (lending
on top of packing). For clocks all but the fleet is chosen again. Blank: the fleet is too small without it, so
that its worth is the nodes that it saves. The two differ where
levers get in each other's way, and their sum is not what all of them bring.

Each program was searched for {TIME_LIMIT_S:.0f} s at the most, those with a cap on money for
{CAPPED_SECONDS:.0f} s, where a family does not state less; the gap says how far a plan may be from the
best of its kind. Where a gap is larger than a saving, the saving may be more, and what is measured is what
was found. Carbon is that which the plan minimises: electricity, and the making of what is bought; standing
nodes are sunk, and network, storage and building are left out of all plans alike.

Families that count carbon market-based are counted here by the grids where energy is drawn, without
contracts.

"""

FRONT = """\
## The front

Carbon under that of the *least money* plan, %, for so much more money. Each search begins from the best plan
that it may have, so that more money never brings less."""

REPLAYS = f"""\
## Where facts turn out otherwise

{DRAWS} draws of all facts within their ranges, the same for both plans of a pair. What the first period
buys, sells, moves and reserves stays; later periods and operation are planned anew: by money after the other
plan, and after the carbon plan by carbon at no more than {MORE_MONEY:.0%} more than that then takes (by
money, where that is not to be had). Demand is as stated, and no nodes are rented on top: where a first
period has too few nodes for what then is known, the draw says nothing and is counted."""


def page(found: dict[str, Family]) -> str:
    """The whole page."""
    parts = [INTRODUCTION, "## At a glance\n\n" + _summary(found), _said(found)]
    parts += [f"{FRONT}\n\n{_fronts(found)}"] if any(one.front for one in found.values()) else []
    parts += [f"{REPLAYS}\n\n{_replays(found)}"] if any(one.replays for one in found.values()) else []
    parts += [METHOD.rstrip() + "\n\n" + _not_done(found)]
    parts += [_family(name, one) for name, one in found.items()]
    return "\n\n".join(parts) + "\n"


def _not_done(found: dict[str, Family]) -> str:
    """What the page leaves out."""
    missing = [name for name, one in found.items() if not (one.front and one.replays)]
    if not missing:
        return "Not done here: bands for other habits of usual practice."
    some = "" if len(missing) == len(found) else f" of {', '.join(missing)}"
    return (
        f"Not done here: fronts{some}, plans replayed under drawn futures, and bands for other habits of "
        "usual practice."
        if not some
        else f"Not done here: fronts and plans under drawn futures{some}; bands for other habits of usual "
        "practice."
    )


def _fronts(found: dict[str, Family]) -> str:
    """Carbon saved at each step of money."""
    rows = []
    for name, one in found.items():
        if not one.front:
            continue
        base = one.plans.get(CHEAPEST)
        cells = [
            "no plan"
            if (at := one.front.get(f"{more:.0%}")) is None or base is None
            else f"{100 * (1 - at.kgco2e / base.kgco2e):.1f}"
            for more in STEPS
        ]
        rows.append((name, *cells))
    return _markdown(("family", *(f"+{more:.0%}" for more in STEPS)), rows)


def _replays(found: dict[str, Family]) -> str:
    """Carbon and money of both carbon plans over the draws, from the least to the most."""
    rows = []
    for name, one in found.items():
        for plan, against in COMPARED:
            held = one.replays.get(plan)
            if held is None:
                continue
            spans = [
                "" if not each else f"{100 * min(each):.1f} to {100 * max(each):.1f}"
                for each in (held.saved_fraction, held.more_fraction)
            ]
            both = len(held.saved_fraction)
            rows.append((name, against, *spans, str(both), str(held.not_enough), str(held.other_not_enough)))
    head = (
        "family",
        "against",
        "carbon saved, %",
        "more money, %",
        "draws that both carry",
        "too few nodes here",
        "too few there",
    )
    return _markdown(head, rows)


def saved_fraction(one: Family, plan: str, against: str) -> float | None:
    """Share of the carbon of one plan that another saves.  1 - C / C_against"""
    better, worse = one.plans.get(plan), one.plans.get(against)
    if better is None or worse is None or worse.kgco2e <= 0:
        return None
    return 1.0 - better.kgco2e / worse.kgco2e


def _more_money(one: Family, plan: str, against: str) -> float | None:
    better, worse = one.plans.get(plan), one.plans.get(against)
    return None if better is None or worse is None else better.usd / worse.usd - 1.0


COMPARED = ((OVER_USUAL, USUAL), (OVER_CHEAPEST, CHEAPEST))


def _summary(found: dict[str, Family]) -> str:
    rows = []
    for name, one in found.items():
        cells = []
        for plan, against in COMPARED:
            saved, more = saved_fraction(one, plan, against), _more_money(one, plan, against)
            cells.append(
                "no plan" if saved is None or more is None else f"**{100 * saved:.1f}** for {100 * more:+.1f}"
            )
        without = saved_fraction(one, NO_LEVER, USUAL)
        cells.append("no plan" if without is None else f"{100 * without:.1f}")
        cells.append(_main_lever(one))
        gaps = [plan.gap_fraction for plan in one.plans.values() if plan is not None]
        cells.append(_gap_text(max(gaps)) if gaps else "")
        rows.append((f"[{name}](#{name})", *cells))
    head = (
        "family",
        "carbon saved against usual practice, %, for money, %",
        "against least money",
        "against usual practice without levers",
        "lever that brings most",
        "largest gap, %",
    )
    return _markdown(head, rows)


def _main_lever(one: Family) -> str:
    """The lever without which the same fleet takes the most carbon, where that is one part in a thousand."""
    best = one.plans.get(OVER_USUAL)
    known = {
        name: lever.left_out_kgco2e for name, lever in one.levers.items() if lever.left_out_kgco2e is not None
    }
    if best is None or not known:
        return "purchases, sites and sizes alone"
    name = max(known, key=lambda lever: known[lever] or 0.0)
    share = (known[name] or 0.0) / best.kgco2e
    return f"{name}, {100 * share:.1f} %" if share > 1e-3 else "none of them pays"


def _said(found: dict[str, Family]) -> str:
    lines = []
    for plan, against in COMPARED:
        known = {name: saved_fraction(one, plan, against) for name, one in found.items()}
        some = {name: value for name, value in known.items() if value is not None}
        enough = [name for name, value in some.items() if value >= AIM_FRACTION]
        nothing = [name for name, value in some.items() if value < 0.01]
        text = (
            f"Against *{against}*, {AIM_FRACTION:.0%} less carbon or more is found in {len(enough)} of "
            f"{len(found)} families"
        )
        text += f" ({', '.join(enough)})" if enough else ""
        sure = [name for name in enough if _largest_gap(found[name], (plan, against)) <= SURE_FRACTION]
        text += f", in {len(sure)} of them by plans within {SURE_FRACTION:.0%} of the best" if enough else ""
        text += f"; less than 1 % in {', '.join(nothing)}." if nothing else "."
        lines.append(text)
    return "\n\n".join(lines)


def _family(name: str, one: Family) -> str:
    base = one.plans.get(USUAL)
    rows = []
    for plan in PLANS:
        outcome = one.plans.get(plan)
        if outcome is None:
            rows.append((plan, "no plan found", "", "", ""))
            continue
        less = "" if base is None else f"{100 * (1 - outcome.kgco2e / base.kgco2e):.1f}"
        rows.append(
            (
                plan,
                f"{outcome.usd / 1e3:,.0f}",
                f"{outcome.kgco2e / 1e3:,.1f}",
                less,
                _gap_text(outcome.gap_fraction),
            )
        )
    head = ("plan", "kUSD", "tCO2e", "carbon under usual practice, %", "gap, %")
    parts = [f"## {name}", one.title + ".", _markdown(head, rows)]
    if one.levers:
        held = [
            (lever, _tonnes(both.left_out_kgco2e), _tonnes(both.alone_kgco2e))
            for lever, both in one.levers.items()
        ]
        parts.append(_markdown(("lever, on the fleet of the carbon plan", "left out, t", "alone, t"), held))
    else:
        parts.append("Nothing is decided by the hour here.")
    if one.levers and "clock" not in one.levers:
        parts.append("Found before clocks were a lever, and by the facts of that day.")
    parts += [one.remark] if one.remark else []
    if one.confidence_fraction is not None:
        parts.append(
            f"Spares of 3 % would be enough for {one.confidence_fraction:.1%} of the time; usual practice is "
            "planned here with the spares that the scenario asks for."
        )
    parts += [" ".join(one.hours)] if one.hours else []
    if one.limits_s != (TIME_LIMIT_S, CAPPED_SECONDS):
        plain, with_cap = one.limits_s
        parts.append(f"Searched for {plain:.0f} s at the most, and {with_cap:.0f} s with a cap on money.")
    return "\n\n".join(parts)


def _largest_gap(one: Family, plans: Iterable[str]) -> float:
    return max(held.gap_fraction for name in plans if (held := one.plans.get(name)) is not None)


def _gap_text(fraction: float) -> str:
    return f"{100 * fraction:.1f}" if math.isfinite(fraction) else "not known"


def _tonnes(kgco2e: float | None) -> str:
    return "" if kgco2e is None else f"{kgco2e / 1e3 + 0.0:,.2f}".replace("-0.00", "0.00")


def _markdown(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


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


def main(names: list[str]) -> None:
    """Measure the families that are named, or all; then write the page of all that are known.

    With `--page` nothing is measured: what earlier runs found is written once more.
    """
    files, found = families(), kept()
    for name in () if names == ["--page"] else names or files:
        found[name] = measured(load_scenario(files[name]))
        KEPT.write_text(
            json.dumps({one: asdict(held) for one, held in found.items()}, indent=1) + "\n", encoding="utf-8"
        )
        print(
            name, {plan: held and round(held.kgco2e) for plan, held in found[name].plans.items()}, flush=True
        )
    PAGE.write_text(page({name: found[name] for name in files if name in found}), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
