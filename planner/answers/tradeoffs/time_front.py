"""Time against carbon for a scenario: the front as a document of sections."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planner.answers.tradeoffs.carbon_front import BOUGHT, GAP, fleet_text
from planner.answers.tradeoffs.deadlines import TimeFront, days_text
from planner.inputs.exchange import shown_in
from planner.inputs.scenario import digest
from planner.trace.currency import currency_record, showing
from planner.trace.explain import Steps
from planner.trace.numbers import mass, percent_text, share_of
from planner.trace.quantities import chosen
from planner.trace.records import Document, Record, numbered, plain_rows

MOVED = "days by which every deadline is moved from where the scenario has it"
EDITION = 1


def time_document(found: TimeFront) -> Document:
    """The front of time as plain data."""
    currency = shown_in(found.scenario)
    with showing(currency):
        return _document(found) | currency_record(currency)


def _document(found: TimeFront) -> Document:
    steps, traced = Steps(), [_row(found, number) for number in range(len(found.points))]
    cells, rows = numbered({"times": traced}, steps), plain_rows(traced)
    return {
        "everfleet_times": EDITION,
        "title": f"Time against carbon: {found.scenario.title}",
        "scenario": found.scenario.path.name if found.scenario.path else "",
        "scenario_digest": digest(found.scenario),
        "complete": found.complete,
        "sections": {
            "times": {
                "title": "Time against carbon",
                "said": _sentences(found, rows),
                "tables": {"times": rows} if rows else {},
            }
        },
        "cells": cells,
        "steps": steps.packed(),
    }


def _row(found: TimeFront, number: int) -> Record:
    point = found.points[number]
    problem, solution = point.plan.problem, point.solution
    bought = solution.orders * problem.node_groups.order_unit_nodes[:, None]
    finish, gap = point.finish_p95, point.plan.answer.gap_fraction
    return {
        "point": chosen("point", number + 1, "place in the front, by its deadline"),
        "deadline": point.deadline.isoformat(),
        "moved_d": chosen("moved_d", point.shift_d, MOVED),
        "finish_p95": None if finish is None else finish.isoformat(),
        "carbon_kgco2e": point.plan.ledger.carbon,
        "cost_usd": point.plan.ledger.cost,
        "mark": _mark(found, number),
        "nodes_bought": chosen("nodes_bought", float(bought.sum()), BOUGHT),
        "fleet_at_the_end": fleet_text(problem, solution),
        "gap_fraction": chosen("gap_fraction", gap, GAP) if np.isfinite(gap) else None,
    }


def _mark(found: TimeFront, number: int) -> str:
    if found.needless[number]:
        return "beaten"
    if number == found.knee:
        return "knee"
    kept = [each for each, needless in enumerate(found.needless) if not needless]
    ends = {kept[-1]: "cleanest", kept[0]: "earliest"}
    return ends.get(number, "") if found.complete else ""


def _sentences(found: TimeFront, rows: Sequence[Record]) -> list[str]:
    """What the front says, for whoever reads no table."""
    said = (
        [] if found.complete else [f"Stopped early: {len(rows)} deadlines are there, the rest is not known."]
    )
    if not rows:
        return [
            *said,
            "No plan was found for any deadline: `everfleet plan` says which limits are in conflict.",
        ]
    kept = [row for row in rows if row["mark"] != "beaten"]
    first = kept[0]
    said.append(f"Done by {first['deadline']}, the cleanest plan emits {mass(first['carbon_kgco2e'])}.")
    for row in (row for row in kept[1:] if row["mark"] or row is kept[-1]):
        saved = first["carbon_kgco2e"] - row["carbon_kgco2e"]
        share = share_of(saved, first["carbon_kgco2e"])
        less = mass(saved) if share is None else percent_text(share)
        at = ", at the knee," if row["mark"] == "knee" else ""
        said.append(f"Done by {row['deadline']}{at} it emits {mass(row['carbon_kgco2e'])}, {less} less.")
    if found.complete and kept[-1]["deadline"] < found.scenario.horizon.end.isoformat():
        said.append("More time than that saves nothing more.")
    if found.without_plan:
        said.append(f"{days_text(found.without_plan[-1])} no plan was found that keeps every limit.")
    return said
