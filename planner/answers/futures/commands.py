"""What `everfleet futures` and `everfleet replay` answer: for each the data and the same in words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from planner.answers.futures.document import futures_document
from planner.answers.futures.page import futures_text
from planner.inputs.catalogue import Catalogue
from planner.inputs.loading import load_catalogue
from planner.inputs.scenario import Problem, Scenario, ScenarioError, with_changes
from planner.inputs.scenario.files import read_text, read_toml
from planner.inputs.scenario.schema_futures import Future
from planner.program.assembly import objective_unit
from planner.program.draws import Stop
from planner.program.future_scenarios import without_futures
from planner.program.futures import plan_futures
from planner.program.grids import drawn_points
from planner.program.plan import Watch
from planner.program.replay import Replay, replay
from planner.program.solution import Answer
from planner.report.columns import aligned, words
from planner.trace.errors import InputError
from planner.trace.explain import Steps
from planner.trace.numbers import amount_text, percent_text, share_of
from planner.trace.quantities import Chosen, chosen
from planner.trace.records import Record, numbered, plain_rows

THEN = "decided by the program with what was known then"


def plan_for_futures(
    scenario: Scenario, *, watch: Watch | None = None, should_stop: Stop | None = None
) -> tuple[Record, str]:
    """A plan for all futures of a scenario."""
    document = futures_document(plan_futures(scenario, watch=watch, should_stop=should_stop))
    return document, futures_text(document)


def replay_scenario(
    scenario: Scenario,
    *,
    realised: Path | None,
    draw: int | None,
    persist: bool,
    watch: Watch | None = None,
    should_stop: Stop | None = None,
) -> tuple[Record, str]:
    """A scenario played through in what a file says came, or in one of its futures by chance.

    Raises:
        InputError: neither is given, or both, or the file says something that cannot be.
    """
    if (realised is None) == (draw is None):
        raise InputError("say what came: --realised FILE, or --draw SEED to have it drawn")
    catalogue = load_catalogue()
    if realised is not None:
        came = read_realised(scenario, realised)
    else:
        came = draw_realised(scenario, int(draw or 0), catalogue)
    played = replay(
        scenario, came, catalogue=catalogue, persist=persist, watch=watch, should_stop=should_stop
    )
    document = replay_document(played)
    return document, replay_text(document)


def read_realised(scenario: Scenario, path: Path) -> Future:
    """What came, as a TOML file with the keys of a future, but no name and no probability.

    Raises:
        ScenarioError: the file cannot be read, or says something that cannot be.
    """
    table = read_toml(read_text(path), path.name)
    named = [key for key in ("name", "probability") if key in table]
    if named:
        found = [Problem(key, "has no place here: this is what came") for key in named]
        raise ScenarioError(path.name, found)
    future = table | {"name": "realised", "probability": 1}
    try:
        return with_changes(scenario, {"uncertainty": None, "futures": [future]}).futures[0]
    except ScenarioError as error:
        inside = "futures.realised"
        found = [
            Problem(one.path.removeprefix(inside).removeprefix("."), one.message) for one in error.problems
        ]
        raise ScenarioError(path.name, found) from None


def draw_realised(scenario: Scenario, seed: int, catalogue: Catalogue) -> Future:
    """What came, by chance: one of the futures that are named, else facts and demand in their ranges."""
    generator = np.random.default_rng(seed)
    if scenario.futures:
        chances = np.array([future.probability_fraction for future in scenario.futures])
        return scenario.futures[int(generator.choice(len(chances), p=chances / chances.sum()))]
    values = dict(drawn_points(without_futures(scenario), catalogue, draws=1, seed=seed).points[0])
    demand, periods = None, scenario.horizon.periods
    if scenario.uncertainty is not None and scenario.uncertainty.demand_range is not None:
        low, high = scenario.uncertainty.demand_range
        demand = tuple(generator.triangular(low, 1.0, high, periods).tolist())
    return Future.model_construct(
        name=f"draw {seed}", probability_fraction=1.0, demand_ratio=demand, values=values
    )


def replay_document(played: Replay) -> Record:
    """A replay as plain data."""
    labels, problem = played.scenario.horizon.period_labels, played.assembled.problem
    unit = problem.node_groups.order_unit_nodes[:, None]
    first = played.made[0].orders * unit if played.made else np.zeros_like(played.decided.orders)
    counts = {
        "nodes_ordered": (played.decided.orders * unit, THEN),
        "nodes_ordered_in_the_first_plan": (first, "decided by the program at the start"),
        "nodes_retired": (played.decided.retired, THEN),
    }
    periods = [
        {
            "period": labels[t],
            "planned": t < len(played.made),
            **{name: chosen(name, int(nodes[:, t].sum()), why) for name, (nodes, why) in counts.items()},
        }
        for t in range(len(labels))
    ]
    plan = played.plan
    nodes = (
        {}
        if plan is None
        else {name: getattr(plan.ledger, name) for name in ("objective", "cost", "carbon", "energy")}
    )
    steps, tables = Steps(), {"periods": periods, "ways": list(_ways(played))}
    return {
        "everfleet_replay": 3,
        "title": played.scenario.title,
        "headline": [_ended(played)],
        "realised": played.realised.name,
        "status": {"verified": plan is not None, "text": _ended(played)},
        "stopped": played.stopped,
        "objective": {
            "kind": played.scenario.policy.objective,
            "unit": objective_unit(played.assembled.problem.objective),
        },
        **{name: plain_rows(rows) for name, rows in tables.items()},
        "explanations": {name: steps.add(node) for name, node in nodes.items()},
        "cells": numbered(tables, steps),
        "steps": steps.packed(),
    }


def replay_text(document: Record) -> str:
    """A replay in words: what was ordered when, and what it came to next to the two extremes."""
    orders = words(
        ("period", lambda row: row["period"]),
        ("nodes ordered", lambda row: str(row["nodes_ordered"])),
        ("in the first plan", lambda row: str(row["nodes_ordered_in_the_first_plan"])),
        ("retired", lambda row: str(row["nodes_retired"])),
    )
    unit = document["objective"]["unit"]
    none = "not known" if document["stopped"] else "no plan"
    ways = words(
        ("", lambda row: row["way"]),
        (
            "objective",
            lambda row: none if row["objective_value"] is None else amount_text(row["objective_value"], unit),
        ),
        ("regret", lambda row: _regret(row, unit)),
    )
    planned = [row for row in document["periods"] if row["planned"]]
    return "\n".join(
        [document["status"]["text"], "", *aligned(orders, planned), "", *aligned(ways, document["ways"])]
    )


def _regret(way: Record, unit: str) -> str:
    """The share by which a way takes more; the amount where nothing is a share of what it is measured by."""
    if way["regret_fraction"] is not None:
        return percent_text(way["regret_fraction"])
    return "" if way.get("regret_value") is None else amount_text(way["regret_value"], unit)


def _ways(played: Replay) -> Iterator[Record]:
    """What each way of planning comes to in what came; nothing of one that has no plan there."""
    unit = objective_unit(played.assembled.problem.objective)
    known = _objective(played.known, "all known", unit)
    for name, found in (
        ("planned each period", played.again),
        ("planned once", played.once),
        ("all known", played.known),
    ):
        solution = None if found is None else found.solution
        objective = None if found is None or solution is None else _objective(found, name, unit)
        more = None if objective is None or played.known.solution is None else objective - known
        share = None if more is None else share_of(float(more.value), played.known.objective)
        why = f"of the plan that is {name}"
        yield {
            "way": name,
            "objective_value": objective,
            "cost_usd": None if solution is None else chosen("cost_usd", solution.usd, why),
            "carbon_kgco2e": None if solution is None else chosen("carbon_kgco2e", solution.kgco2e, why),
            "regret_value": None if more is None else more.named(f"regret_{unit.lower()}"),
            "regret_fraction": None
            if more is None or share is None
            else (more / known).named("regret_fraction"),
        }


def _objective(found: Answer, name: str, unit: str) -> Chosen:
    return Chosen(found.objective, unit, name="objective", reason=f"solved in what came, {name}")


def _ended(played: Replay) -> str:
    labels = played.scenario.horizon.period_labels
    if played.stopped:
        return f"Stopped on request: {len(played.made)} of {len(labels)} periods were planned."
    if len(played.made) < len(labels):
        return (
            f"From {labels[len(played.made)]} on there is no plan any more with what was decided before: "
            "give services an unmet_penalty, let jobs be left out, or keep more in reserve."
        )
    if played.plan is None:
        return "What was decided does not carry through in what came."
    return f"Played through {labels[0]} to {labels[-1]} in '{played.realised.name}'."
