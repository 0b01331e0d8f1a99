"""What a scenario trades: money against carbon, time against carbon, other plans of nearly the same worth."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from planner.program.draws import Stop
from planner.trace.currency import currency_record, showing
from planner.trace.numbers import count_text
from planner.trace.records import Record
from planner.ui.workers.messages import Tell

if TYPE_CHECKING:
    from planner.answers.tradeoffs.deadlines import Timed
    from planner.inputs.resolved import Inputs
    from planner.inputs.scenario import Scenario
    from planner.program.assembly import Assembled
    from planner.program.plan import Plan
    from planner.program.searches import Point
    from planner.program.solution import Answer


POINTS = 8  # of a front: each may take the time limit


def front(arguments: Record, tell: Tell, should_stop: Stop) -> Record:
    """Money against carbon of the scenario `text`, at most `points` plans, each with its decisions.

    Next to it the scenario's own plan and today's fleet. Asked to stop, it keeps the points that are there.

    Raises:
        InputError: the scenario is wrong, or names what nobody knows.
    """
    from planner.answers.tradeoffs.carbon_front import document_of, find_front
    from planner.answers.tradeoffs.points import capped_changes, numbered, point_record, reference_record
    from planner.program.plan import Plan, plan_fleet
    from planner.store.searches import kept_searches

    with checked_scenario(arguments) as scenario:
        own = plan_fleet(scenario, memory=kept_searches(), watch=tell, should_stop=should_stop)
        references = [reference_record(name, plan) for name, plan in _own_and_today(own)]
        tell("the scenario's own plan is there; now the front", part={"beside": references})
        records: dict[int, Record] = {}

        def met(inputs: Inputs, assembled: Assembled, point: Point) -> None:
            plan = Plan(inputs, assembled, point.answer, {}, None)
            title = f"{scenario.title}: at most {count_text(point.kgco2e / 1000)} tCO2e"
            changes = capped_changes(title, point.kgco2e)
            records[id(point)] = point_record(plan, changes, own.answer.solution)
            row = {"point": len(records), "cost_usd": point.usd, "carbon_kgco2e": point.kgco2e, "mark": ""}
            tell(part={"row": row})

        found = find_front(
            scenario, points=int(arguments["points"]), watch=tell, should_stop=should_stop, met=met
        )
        plans = numbered([records[id(point)] for point in found.front.points])
        return document_of(found) | {"beside": references, "plans": plans} | _tornado(own)


def front_of_time(arguments: Record, tell: Tell, should_stop: Stop) -> Record:
    """Time against carbon of the scenario `text`: the cleanest plan for at most `points` deadlines.

    Raises:
        InputError: the scenario is wrong, or has no deadline.
    """
    from planner.answers.tradeoffs.deadlines import deadline_changes, find_times, gap_of
    from planner.answers.tradeoffs.points import cleanest_changes, numbered, point_record
    from planner.answers.tradeoffs.time_front import time_document

    with checked_scenario(arguments) as scenario:
        records: dict[int, Record] = {}

        def met(point: Timed) -> None:
            changes = cleanest_changes(
                f"{scenario.title}: done by {point.deadline}",
                deadline_changes(scenario, point.shift_d),
                gap_of(scenario),
            )
            records[id(point)] = point_record(point.plan, changes)
            row = {
                "point": len(records),
                "deadline": point.deadline.isoformat(),
                "moved_d": point.shift_d,
                "carbon_kgco2e": point.solution.kgco2e,
                "mark": "",
            }
            tell(part={"row": row})

        found = find_times(
            scenario, points=int(arguments["points"]), watch=tell, should_stop=should_stop, met=met
        )
        return time_document(found) | {"plans": numbered([records[id(point)] for point in found.points])}


def alternatives(arguments: Record, tell: Tell, should_stop: Stop) -> Record:
    """As many as `plans` plans within `within_fraction` of the best, each as different as can be.

    Raises:
        InputError: the scenario is wrong, or names what nobody knows.
    """
    from planner.answers.plan.alternatives import (
        alternative_records,
        alternative_sentences,
        with_alternatives,
    )
    from planner.program.plan import plan_fleet
    from planner.store.searches import kept_searches

    with checked_scenario(arguments) as scenario:
        made = plan_fleet(
            scenario, baselines=False, memory=kept_searches(), watch=tell, should_stop=should_stop
        )
        tell("looking for plans of nearly the same worth that decide otherwise")
        made = with_alternatives(
            made,
            plans=int(arguments["plans"]),
            within_fraction=float(arguments["within_fraction"]),
            time_limit_s=scenario.solve.time_limit_s,
            should_stop=should_stop,
        )
        with showing(made.inputs.currency):
            return {
                "title": scenario.title,
                "rows": alternative_records(made),
                "said": alternative_sentences(made),
                "complete": not should_stop(),
                "has_plan": made.answer.solution is not None,
                **currency_record(made.inputs.currency),
            }


def sensitivity(arguments: Record, tell: Tell, should_stop: Stop) -> Record:
    """Which price, rate or grid would change the fleet, and where; `vary` as the command takes it.

    Raises:
        InputError: the scenario is wrong, or what is to be varied is not understood.
    """
    from planner.answers.tradeoffs.sensitivity import sensitivity_document

    with checked_scenario(arguments) as scenario:
        vary = arguments.get("vary") or ()
        return sensitivity_document(scenario, vary=vary, watch=tell, should_stop=should_stop)


def _own_and_today(own: Plan) -> Iterator[tuple[str, Answer]]:
    """The scenario's own plan, and the work on the nodes that stand today, where these exist."""
    from planner.program.baselines import NO_PURCHASES

    today = own.baselines.get(NO_PURCHASES)
    for name, found in (("this scenario's plan", own.answer), (NO_PURCHASES, today)):
        if found is not None and found.solution is not None:
            yield name, found


def _tornado(own: Plan) -> Record:
    """What the scenario's own plan depends on, as the document of a plan tells it."""
    from planner.trace.records import swing_records
    from planner.trace.uncertainty import tornado

    if own.answer.solution is None:
        return {"objective": {"value": None}, "tornado": []}
    objective = own.ledger.objective
    return {
        "objective": {"value": float(objective.value), "unit": objective.unit},
        "tornado": swing_records(tornado(objective), objective.unit),
    }


def checked_scenario(arguments: Record) -> AbstractContextManager[Scenario]:
    """The scenario of the arguments with its files, checked as every door checks it."""
    from planner.answers.check import laid_out

    return laid_out(arguments["text"], arguments["name"], arguments.get("files"))
