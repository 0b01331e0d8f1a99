"""Writes docs/what-the-join-saves.md: what planning failures, checkpoints and carbon together is worth.

    python -m benchmarks.studies.savings

Each shipped family of scenarios is planned for least cost, for least carbon and for both with carbon at its
price (the joint plan); then once more with what is often set by habit: an hour between checkpoints, a tenth
of the nodes as spares, and nodes retired at five years. Habits are judged by the same coefficients as the
joint plan, and spares that are too few are added before costs are compared.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from planner.inputs.consistency import with_cards
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, load_scenario, with_changes
from planner.program.assembly import Assembled, assemble
from planner.program.baselines import spare_confidence_fraction
from solver.answer import answer
from solver.backend import Status
from solver.known import Answer
from solver.problem import Objective, Problem, Solution

PAGE = Path(__file__).resolve().parents[2] / "docs" / "what-the-join-saves.md"
FAMILIES = (
    "next-quarter",
    "growth",
    "brownfield",
    "clean-and-dirty-sites",
    "tight-power",
    "bursty-serving",
    "long-training",
    "spot-shortage",
)
INTERVAL, SPARES, LIFE_YEARS = "60 min", "10 %", 5
GAP_FRACTION, TIME_LIMIT_S = 0.001, 120.0
CHEAPEST, CLEANEST, JOINT = "least money", "least carbon", "joint"
HOURLY, LEVEL, FIVE_YEARS, HABITS = (
    "checkpoint each hour",
    "10 % spares",
    "five years, then out",
    "all three habits",
)
OF_HABIT = (HOURLY, LEVEL, FIVE_YEARS, HABITS)

INTRODUCTION = """\
# What the join saves

Failures, checkpoints, spares, lifetimes and carbon are planned in one program. This page, written by
`python -m benchmarks.studies.savings`, asks what that is worth: on eight families of scenarios
(`data/scenarios`) it puts the joint plan, money plus carbon at its price, next to plans for money or carbon
alone, and next to the best plan that keeps habits: an hour between checkpoints, a tenth of the nodes in use
as spares, nodes retired at five years. All else is planned as well as in the joint plan, so that this is what
the join itself saves, not what a plan saves against none."""
LEGEND = f"""\
Saved by the joint plan, in % of the other plan: money / carbon, **both with carbon at its price**, which is
what the joint plan minimizes. A minus: the other plan has less of it. `=`: the plans differ by no more than
the gaps to which both are solved (at most {GAP_FRACTION:.1%} for each program that was solved)."""
METHOD = """\
## How habits are judged

By the joint plan's own coefficients: an hour between checkpoints takes the hours, energy and carbon that the
model gives that interval. Near the best interval the loss is flat, and nodes are paid by the period: a run
that ends sooner saves energy, but money only where fewer nodes or periods do.

A tenth as spares is planned as such. Where that is not enough for the confidence that the scenario asks for,
the share of time for which it is enough is shown, and the same runs, replicas and work options are planned
once more with the spares that they need: that is the plan compared. So where a tenth is too few the joint
plan need not save money: what it gives is the confidence.

Nodes past their fifth year leave at the start of the next period, and what was paid for any standing node is
sunk in every plan: a rule of five years throws away nodes that cost only their upkeep. That saving is an
upper end. Old nodes fail more often by an assumed share a year (`reliability.ageing`), nodes bought next to
old ones count as old, and no scenario prices the end of vendor support."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a plan comes to; `confidence_fraction` is that of its own spares, where they are short."""

    usd: float
    kgco2e: float
    weighted_usd: float
    gap_fraction: float
    confidence_fraction: float | None = None


def habits(scenario: Scenario, *, interval: bool, spares: bool) -> Scenario:
    """The scenario with an hour between checkpoints, a tenth of the nodes as spares, or both."""
    stated: dict[str, Any] = {"reliability.spare_share": SPARES} if spares else {}
    if interval:
        stated |= {f"training.{job.name}.checkpoint_interval": INTERVAL for job in scenario.training}
    return with_changes(scenario, stated) if stated else scenario


def retired_at_five(scenario: Scenario, problem: Problem) -> Problem:
    """The problem with each cohort gone from the first period that begins past its fifth year."""
    starts = scenario.horizon.period_starts
    ends = [_years_after(cohort.in_service, LIFE_YEARS) for cohort in scenario.fleet]
    last = np.array([sum(start < end for start in starts) for end in ends], dtype=int)
    home = [*range(len(ends)), *problem.moves.from_cohort.tolist()]  # what moves makes a cohort of its own
    earlier = np.minimum(problem.cohorts.must_retire_by, last[home])
    return replace(problem, cohorts=replace(problem.cohorts, must_retire_by=earlier))


def _years_after(day: date, years: int) -> date:
    """The same day of a later year; 29 February becomes 1 March."""
    try:
        return day.replace(year=day.year + years)
    except ValueError:
        return date(day.year + years, 3, 1)


def options_used(problem: Problem, plan: Solution) -> Problem:
    """The problem with no other runs, replicas and work options than those that a plan uses."""
    used = {
        "run_options": plan.run > 0,
        "serve_options": (plan.replicas > 0).any(axis=1),
        "work_options": (plan.work_node_h > 0).any(axis=1),
    }
    tables = {name: getattr(problem, name) for name in used}
    rows = {
        name: {
            column: getattr(table, column)[used[name]]
            for column, shape in table.SHAPES.items()
            if shape.axes.startswith("*")
        }
        for name, table in tables.items()
    }
    return replace(problem, **{name: replace(table, **rows[name]) for name, table in tables.items()})


def planned(problem: Problem) -> Answer:
    """The plan of a problem, to the gap of this page, or the proof that there is none."""
    found = answer(problem, gap_fraction=GAP_FRACTION, time_limit_s=TIME_LIMIT_S)
    if found.solution is None and found.status is not Status.INFEASIBLE:
        raise RuntimeError(f"no plan within {TIME_LIMIT_S:g} s, and no proof that there is none")
    return found


def outcome(problem: Problem, price_usd_per_kgco2e: float, confidence: float | None = None) -> Outcome | None:
    """What the plan of a problem comes to; None where there is none."""
    return _counted(planned(problem), price_usd_per_kgco2e, confidence)


def _counted(found: Answer, price: float, confidence: float | None = None) -> Outcome | None:
    plan = found.solution
    if plan is None:
        return None
    return Outcome(plan.usd, plan.kgco2e, plan.usd + price * plan.kgco2e, found.gap_fraction, confidence)


def outcomes(scenario: Scenario) -> dict[str, Outcome | None]:
    """Each plan of a family by its name; None where there is none."""
    catalogue = with_cards(scenario, load_catalogue())
    price = scenario.policy.carbon_price_usd_per_kgco2e or 0.0

    def program(*, interval: bool = False, spares: bool = False) -> tuple[Inputs, Assembled]:
        inputs = Inputs(habits(scenario, interval=interval, spares=spares), catalogue)
        return inputs, assemble(inputs)

    def level(*, interval: bool, retire: bool) -> Outcome | None:
        """Planned with a tenth as spares; then the same options with the spares that failures ask for."""
        flat, (inputs, assembled) = program(interval=interval, spares=True)[1], program(interval=interval)
        needed = assembled.problem
        pair = [retired_at_five(scenario, one) if retire else one for one in (flat.problem, needed)]
        found = planned(pair[0])
        if found.solution is None:
            return None
        reached = spare_confidence_fraction(inputs, assembled, found.solution)
        if reached >= scenario.reliability.spare_confidence_fraction:
            return _counted(found, price)
        good = outcome(options_used(pair[1], found.solution), price, reached)
        return good and replace(good, gap_fraction=good.gap_fraction + found.gap_fraction)

    joint = program()[1].problem
    hourly = program(interval=True)[1].problem
    return {
        CHEAPEST: outcome(replace(joint, objective=Objective(1.0, 0.0)), price),
        CLEANEST: outcome(replace(joint, objective=Objective(1e-5, 1.0)), price),
        JOINT: outcome(joint, price),
        HOURLY: outcome(hourly, price),
        LEVEL: level(interval=False, retire=False),
        FIVE_YEARS: outcome(retired_at_five(scenario, joint), price),
        HABITS: level(interval=True, retire=True),
    }


def saved_fraction(joint: Outcome, other: Outcome, name: str) -> float:
    """Share of another plan's figure that the joint plan saves.  1 - joint / other"""
    return 1.0 - float(getattr(joint, name)) / float(getattr(other, name))


def _resolved(joint: Outcome, other: Outcome) -> bool:
    """Whether two plans differ by more than what either may lie above its best."""
    unsure = joint.gap_fraction + other.gap_fraction
    return abs(saved_fraction(joint, other, "weighted_usd")) > unsure


def page(found: dict[str, dict[str, Outcome | None]], scenarios: dict[str, Scenario]) -> str:
    """The whole page."""
    parts = [INTRODUCTION, "## At a glance\n\n" + _summary(found), LEGEND, _said(found), METHOD]
    parts += [_family(scenarios[name], name, plans) for name, plans in found.items()]
    return "\n\n".join(parts) + "\n"


def _summary(found: dict[str, dict[str, Outcome | None]]) -> str:
    others = (CHEAPEST, CLEANEST, *OF_HABIT)
    rows = []
    for name, plans in found.items():
        joint = plans[JOINT]
        cells = ["no plan" if joint is None else _saving(joint, plans[other]) for other in others]
        rows.append((f"[{name}](#{name})", *cells))
    return _markdown(("family", *others), rows)


def _saving(joint: Outcome, other: Outcome | None) -> str:
    if other is None:
        return "no plan"
    if not _resolved(joint, other):
        return "="
    usd, kg, both = (100 * saved_fraction(joint, other, n) for n in ("usd", "kgco2e", "weighted_usd"))
    return f"{usd:.1f} / {kg:.1f}, **{both:.1f}**"


def _family(scenario: Scenario, name: str, plans: dict[str, Outcome | None]) -> str:
    price = 1000 * (scenario.policy.carbon_price_usd_per_kgco2e or 0.0)
    rows = []
    for plan, one in plans.items():
        if one is None:
            rows.append((plan, "no plan", "", "", "", ""))
            continue
        wanted = scenario.reliability.spare_confidence_fraction
        reached = one.confidence_fraction
        own = "" if reached is None else f"{reached:.1%} of time, {wanted:.1%} asked"
        cells = (f"{one.usd / 1e3:,.0f}", f"{one.kgco2e / 1e3:,.1f}", f"{one.weighted_usd / 1e3:,.0f}")
        rows.append((plan, *cells, f"{one.gap_fraction:.2%}", own))
    head = ("plan", "kUSD", "tCO2e", f"kUSD with carbon at {price:.0f} USD/t", "gap", "10 % is enough for")
    return f"## {name}\n\n{scenario.title}.\n\n{_markdown(head, rows)}"


def _said(found: dict[str, dict[str, Outcome | None]]) -> str:
    """What the tables come to, counted."""
    lines = []
    for plan in (CHEAPEST, CLEANEST, *OF_HABIT):
        pairs = [(one[JOINT], one[plan]) for one in found.values()]
        both = [(joint, other) for joint, other in pairs if joint is not None and other is not None]
        apart = [pair for pair in both if _resolved(*pair)]
        none = sum(other is None for _, other in pairs)
        text = f"- Against *{plan}* the joint plan saves something in {len(apart)} of {len(found)} families"
        if apart:
            ends = sorted(100 * saved_fraction(*pair, "weighted_usd") for pair in apart)
            span = dict.fromkeys(f"{end:.1f}" for end in (ends[0], ends[-1]))
            text += f", {' to '.join(span)} % of money and carbon together"
            dirtier = sum(joint.kgco2e > other.kgco2e for joint, other in apart)
            text += f" (and emits more in {dirtier} of them)" if dirtier else ""
        if len(both) > len(apart):
            text += f"; in {len(both) - len(apart)} nothing larger than the gaps"
        if none:
            text += f"; in {none} there is no such plan at all"
        short = [other for _, other in both if other.confidence_fraction is not None]
        if short:
            worst = min(other.confidence_fraction or 0.0 for other in short)
            text += f"; its spares are too few in {len(short)}, at worst enough {worst:.0%} of the time"
        lines.append(text + ".")
    lines.append("\nWhere a row holds only `=` in the columns of habits, the join saves nothing there.")
    return "\n".join(lines)


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> int:
    """Plan every family and write the page."""
    scenarios = {name: load_scenario(data_folder() / "scenarios" / f"{name}.toml") for name in FAMILIES}
    found = {name: outcomes(scenario) for name, scenario in scenarios.items()}
    PAGE.write_text(page(found, scenarios), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
