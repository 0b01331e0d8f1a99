"""Money against carbon for a scenario: the front as a document of sections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from planner.answers.plan.notes import notes_of
from planner.inputs.consistency import with_cards
from planner.inputs.loading import load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, digest
from planner.program.assembly import Assembled, assemble
from planner.program.engines import require_trusted
from planner.program.ledger import PlanLedger
from planner.program.plan import Plan
from planner.program.searches import Front, Point, gathered, pareto_front
from planner.program.solution import Problem, Solution, Status
from planner.trace.currency import currency_record, showing
from planner.trace.explain import Steps
from planner.trace.numbers import mass, money, percent_text, share_of, tonne_price
from planner.trace.quantities import Traced, calculated, chosen
from planner.trace.records import Document, Record, numbered, plain_rows

BOUGHT = "decided by the program: whole orders"
GAP = "how much better than this plan one could still be at the most: the search for it ended there"
EDITION = 1
MOST_NODE_GROUPS = 3  # of a fleet that is named in a row
ALIKE = 1e-6  # of money and carbon, by which two answers for one plan may differ


@dataclass(frozen=True)
class Found:
    """A front with what it was searched in; each plan stands in it once."""

    inputs: Inputs
    assembled: Assembled
    front: Front
    levels: int  # of carbon that led to a plan


def front_document(
    scenario: Scenario,
    *,
    points: int,
    watch: Callable[[str], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Document:
    """The front of a scenario: the least money at each level of carbon, its knee, what a tonne costs.

    The scenario's own objective is not looked at, its limits are. The first Ctrl-C ends the search and keeps
    the points that are there.
    """
    return document_of(find_front(scenario, points=points, watch=watch, should_stop=should_stop))


def find_front(
    scenario: Scenario,
    *,
    points: int,
    watch: Callable[[str], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    met: Callable[[Inputs, Assembled, Point], None] | None = None,
) -> Found:
    """The front of a scenario with its plans; `met` receives each plan as it is found."""
    require_trusted(scenario.solve)
    tell = watch or (lambda _: None)
    tell("working out what each option takes")
    inputs = Inputs(scenario, with_cards(scenario, load_catalogue()))
    assembled = assemble(inputs)
    found: list[Point] = []

    def keep(point: Point, to_come: int) -> None:
        found.append(point)
        tell(f"point {len(found)}: {money(point.usd)}, {mass(point.kgco2e)}; {to_come} to come")
        if met is not None:
            met(inputs, assembled, point)

    gap = scenario.solve.gap_fraction
    try:
        front = pareto_front(
            assembled.problem,
            points=points,
            tolerance_fraction=gap,
            gap_fraction=gap,
            time_limit_s=scenario.solve.time_limit_s,
            tell=keep,
            should_stop=should_stop,
        )
    except KeyboardInterrupt:
        if not found:
            raise
        front = gathered(found, Status.INTERRUPTED, gap, complete=False)
    return Found(inputs, assembled, merged(front), len(front.points))


def merged(front: Front) -> Front:
    """The front with each plan once: a point that repeats one which is kept is left out."""
    kept = [point for point, needless in zip(front.points, front.dominated, strict=True) if not needless]
    stays = [
        number
        for number, point in enumerate(front.points)
        if not front.dominated[number] or not any(_alike(point, other) for other in kept)
    ]
    return replace(
        front,
        points=tuple(front.points[number] for number in stays),
        dominated=tuple(front.dominated[number] for number in stays),
        knee=None if front.knee is None else stays.index(front.knee),
    )


def _alike(one: Point, other: Point) -> bool:
    return bool(np.allclose((one.usd, one.kgco2e), (other.usd, other.kgco2e), rtol=ALIKE, atol=0))


def document_of(found: Found) -> Document:
    """The front as plain data; its sentences say money in the scenario's currency."""
    with showing(found.inputs.currency):
        return _document(found) | currency_record(found.inputs.currency)


def _document(found: Found) -> Document:
    scenario, front = found.inputs.scenario, found.front
    steps, traced = Steps(), _rows(found)
    cells, rows = numbered({"points": traced}, steps), plain_rows(traced)
    said = _sentences(front, rows)
    if again := found.levels - len(front.points):
        levels = "1 level of carbon gives" if again == 1 else f"{again} levels of carbon give"
        said.append(f"{levels} the same plan as another level.")
    said += notes_of([found.inputs], "these plans")
    return {
        "everfleet_pareto": EDITION,
        "title": f"Money against carbon: {scenario.title}",
        "scenario": scenario.path.name if scenario.path else "",
        "scenario_digest": digest(scenario),
        "complete": front.complete,
        "sections": {
            "front": {
                "title": "The front",
                "said": said,
                "tables": {"points": rows} if rows else {},
            }
        },
        "cells": cells,
        "steps": steps.packed(),
    }


def _rows(found: Found) -> list[Record]:
    """A traced row for each plan, from the cleanest to the cheapest; what the last tonnes before it cost."""
    problem, front = found.assembled.problem, found.front
    ledgers = [Plan(found.inputs, found.assembled, one.answer, {}, None).ledger for one in front.points]
    kept = [number for number, needless in enumerate(front.dominated) if not needless]
    next_dirtier = dict(pairwise(kept))
    units = problem.node_groups.order_unit_nodes[:, None]
    rows = []
    for number, point in enumerate(front.points):
        other = next_dirtier.get(number)
        rows.append(
            {
                "point": chosen("point", number + 1, "place in the front, from the cleanest"),
                "cost_usd": ledgers[number].cost,
                "carbon_kgco2e": ledgers[number].carbon,
                "usd_per_tonne_saved": None
                if other is None or _slope(point, front.points[other]) is None
                else _traced_slope(ledgers[number], ledgers[other]),
                "mark": _mark(front, number, kept),
                "nodes_bought": chosen(
                    "nodes_bought",
                    float((point.solution.orders * units).sum()),
                    BOUGHT,
                ),
                "fleet_at_the_end": fleet_text(problem, point.solution),
                "gap_fraction": chosen("gap_fraction", point.answer.gap_fraction, GAP)
                if np.isfinite(point.answer.gap_fraction)
                else None,
            }
        )
    return rows


def _slope(cleaner: Point, dirtier: Point) -> float | None:
    """What a tonne less costs on the way from the next dirtier plan."""
    saved = dirtier.kgco2e - cleaner.kgco2e
    return 1000.0 * (cleaner.usd - dirtier.usd) / saved if saved > 0 else None


def _traced_slope(cleaner: PlanLedger, dirtier: PlanLedger) -> Traced:
    """The same of what both plans come to."""
    return calculated(
        "usd_per_tonne_saved",
        "1000 * (this_usd - next_usd) / (next_kgco2e - this_kgco2e)",
        "USD",
        "on the way from the next dirtier plan of the front, a tonne being 1,000 kg",
        this_usd=cleaner.cost,
        next_usd=dirtier.cost,
        next_kgco2e=dirtier.carbon,
        this_kgco2e=cleaner.carbon,
    )


def _mark(front: Front, number: int, kept: Sequence[int]) -> str:
    if front.dominated[number]:
        return "beaten"
    if number == front.knee:
        return "knee"
    ends = {kept[0]: "cleanest", kept[-1]: "cheapest"}
    return ends.get(number, "") if front.complete else ""


def fleet_text(problem: Problem, plan: Solution) -> str:
    """The largest node groups of the last period in words."""
    nodes = (plan.in_service + plan.rented)[:, -1]
    order = [int(group) for group in np.argsort(-nodes, kind="stable") if nodes[group] > 0]
    said = [f"{nodes[group]:g} {problem.node_group_name(group)}" for group in order[:MOST_NODE_GROUPS]]
    return ", ".join(said) + (
        f" and {nodes[order[MOST_NODE_GROUPS:]].sum():g} more" if order[MOST_NODE_GROUPS:] else ""
    )


def _sentences(front: Front, rows: Sequence[Record]) -> list[str]:
    """What the front says, for whoever reads no table."""
    if not rows:
        if front.ended is Status.INFEASIBLE:
            return [
                "No plan exists that keeps every limit: `everfleet plan` says which ones are in conflict."
            ]
        return ["Stopped before a plan was found: allow more time (solve.time_limit)."]
    said = []
    if not front.complete:
        there = "1 point is" if len(rows) == 1 else f"{len(rows)} points are"
        said.append(f"Stopped early: {there} there, the rest is not known.")
    kept = [point for point, needless in zip(front.points, front.dominated, strict=True) if not needless]
    if len(kept) == 1:
        return [*said, "One plan is both the cheapest and the cleanest: there is nothing to trade."]
    cleanest, cheapest = kept[0], kept[-1]
    said.append(f"From {_pair(cheapest)} (cheapest) to {_pair(cleanest)} (cleanest).")
    if front.knee is not None:
        knee = front.points[front.knee]
        dearer = _more(knee.usd - cheapest.usd, cheapest.usd, money)
        cleaner = _more(cheapest.kgco2e - knee.kgco2e, cheapest.kgco2e, mass)
        price = _slope(knee, cheapest)
        paid = "" if price is None else f", at {tonne_price(price).removesuffix('/t')} for each tonne"
        said.append(
            f"At the knee, point {front.knee + 1}, {_pair(knee)}: {dearer} more expensive than the "
            f"cheapest plan and {cleaner} cleaner{paid}."
        )
    if beaten := sum(front.dominated):
        points = "1 of the points is" if beaten == 1 else f"{beaten} of the points are"
        said.append(f"{points} beaten by another within the gap of the search.")
    return said


def _more(difference: float, of: float, amount: Callable[[float], str]) -> str:
    """A difference as a share; as an amount where there is nothing to have a share of."""
    share = share_of(difference, of)
    return amount(difference) if share is None else percent_text(share)


def _pair(point: Point) -> str:
    return f"{money(point.usd)} and {mass(point.kgco2e)}"
