"""Nodes that are reserved for a term: from when to when, what is paid, what is due after the horizon."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

import numpy as np

from planner.answers.plan.decisions import DECIDED
from planner.answers.plan.fleet import nodes_text
from planner.physics.procurement import term_after_h, term_end
from planner.program.ledger_terms import hours_in_use
from planner.program.plan import Plan
from planner.program.solution import Solution
from planner.trace.numbers import money, percent_text
from planner.trace.quantities import Traced, chosen, total
from planner.trace.records import Record, plain_rows

MUCH = 0.2  # of the plan's cost: so much due after the horizon deserves a word of warning


def commitment_records(plan: Plan, solution: Solution) -> list[Record]:
    """One row for each term that begins: what it costs in the horizon, and what is still due at its end."""
    reserved, inputs = plan.assembled.reserved, plan.inputs
    if reserved.usd is None or reserved.hour_usd is None:
        return []
    horizon, found = inputs.scenario.horizon, list[Record]()
    for i, t in np.argwhere(solution.committed[reserved.node_group] > 0).tolist():
        group, last = int(reserved.node_group[i]), min(t + int(reserved.term_periods[i]), inputs.periods)
        rental = inputs.rental_of(group)
        ends = term_end(horizon.period_starts[t], int(reserved.term_periods[i]) * horizon.period_months)
        nodes = chosen("nodes", int(solution.committed[group, t]), DECIDED)
        after = chosen(
            "after_h",
            term_after_h(inputs, int(reserved.term_periods[i]), t),
            "from the horizon's end to that of the term",
        )
        paid: dict[str, Traced] = {
            horizon.period_labels[s]: (nodes * reserved.usd[i, s]).named("rent_usd") for s in range(t, last)
        }
        found.append(
            {
                "period": horizon.period_labels[t],
                "location": rental.name,
                "sku": rental.sku,
                "commitment": rental.commitment,
                "signed": rental.signed,
                "nodes": nodes,
                "ends": ends.isoformat(),
                "rent_usd_per_node_h": reserved.hour_usd[i, t],
                "rent_usd": total("rent_usd", paid, "the periods of the term within the horizon"),
                "due_usd": (nodes * after * reserved.hour_usd[i, inputs.periods - 1]).named("due_usd"),
                "left_usd": chosen("left_usd", 0.0, "no term goes on after the horizon")
                if reserved.left_usd is None
                else (nodes * reserved.left_usd[i, t]).named("left_usd"),
            }
        )
    return found


def commitment_sentences(plan: Plan, solution: Solution) -> Iterator[str]:
    """What to reserve, from when to when, how much of it is used, and what is due after the horizon."""
    rows = plain_rows(commitment_records(plan, solution))
    for row in rows:
        after = (
            f"; {money(row['due_usd'])} more are due after it, {money(row['left_usd'])} above what those "
            "hours are worth by then."
        )
        begins = "Pay what is signed:" if row["signed"] else "Reserve"
        yield (
            f"{begins} {nodes_text(int(row['nodes']))} of {row['sku']} at {row['location']} for "
            f"{_said(row)} from {row['period']}, to {last_day(row)}, for {money(row['rent_usd'])} in the "
            "horizon, used or not" + (after if row["due_usd"] > 0 else ".")
        )


def last_day(row: Record) -> date:
    """The last day of a term: a row states the first one after it."""
    return date.fromisoformat(row["ends"]) - timedelta(days=1)


def commitment_warnings(plan: Plan, solution: Solution) -> Iterator[str]:
    """How much of what is reserved is used, and how much is promised beyond what is planned."""
    rows = plain_rows(commitment_records(plan, solution))
    groups = plan.assembled.reserved.node_group
    if not rows:
        return
    held = float((solution.rented[groups] * plan.problem.node_groups.hours).sum())
    used = float(hours_in_use(plan.assembled, solution)[groups].sum())
    yield f"Reserved nodes are used for {percent_text(used / held, 0)} of the hours that are paid for."
    due, cost = sum(row["due_usd"] for row in rows), float(plan.ledger.cost.value)
    if due > MUCH * abs(cost):
        yield (
            f"{money(due)} of what is reserved fall due after the horizon, {percent_text(due / cost, 0)} of "
            "its cost: only what they are above their worth by then is in it, and they need work to follow."
        )


def _said(row: Record) -> str:
    return "a block of time" if row["commitment"] == "block" else str(row["commitment"])
