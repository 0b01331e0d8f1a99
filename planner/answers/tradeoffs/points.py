"""One plan of a front as plain data: what it comes to, what stands where, how to open it as a scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planner.answers.plan.decisions import with_reasons
from planner.answers.plan.money import cost_label
from planner.answers.plan.names import changes_text, labels_of
from planner.answers.plan.summary import why_this_plan
from planner.answers.plan.tables import traced_tables
from planner.answers.plan.whole_ledger import whole_ledger
from planner.program.plan import Plan
from planner.program.searches import compare_decisions
from planner.program.solution import Answer, Solution
from planner.trace.currency import currency_record, showing
from planner.trace.explain import Steps
from planner.trace.records import Record, finite, plain_rows
from planner.trace.records import numbered as cells_of

TABLES = ("fleet", "purchases", "jobs", "cost", "carbon")
ROOM = 1e-6  # in shares of a cap, so that rounding does not bar the very plan that it was read from


def point_record(plan: Plan, changes: Mapping[str, Any], than: Solution | None = None) -> Record:
    """What a page shows of one plan; `changes`, as `--set` takes them, plan it from its scenario.

    `than` is a plan of the same problem to which it is compared.
    """
    with showing(plan.inputs.currency):
        return _point(plan, changes, than) | currency_record(plan.inputs.currency)


def _point(plan: Plan, changes: Mapping[str, Any], than: Solution | None) -> Record:
    assert plan.answer.solution is not None, "a point is a plan"
    whole = whole_ledger(plan, plan.answer.solution)
    ledger, steps, every = plan.ledger, Steps(), traced_tables(plan, whole)
    tables = {name: every[name] for name in TABLES}
    headline, _ = why_this_plan(plan, whole)
    nodes = {"cost": ledger.cost, "carbon": ledger.carbon}
    return {
        "totals": [
            {
                "name": name,
                "label": text,
                "value": float(nodes[name].value),
                "unit": nodes[name].unit,
                "explain": name,
            }
            for name, text in (("cost", cost_label(plan)), ("carbon", "Carbon in the horizon"))
        ],
        "headline": headline,
        "differs": "" if than is None else differences_text(plan, than),
        "tables": {name: plain_rows(rows) for name, rows in tables.items()},
        "explanations": {name: steps.add(node) for name, node in nodes.items()},
        "cells": cells_of(with_reasons(tables), steps),
        "steps": steps.packed(),
        "changes": dict(changes),
    }


def differences_text(plan: Plan, than: Solution) -> str:
    """By what the fleet of a plan differs from that of another plan of its problem."""
    assert plan.answer.solution is not None, "a point is a plan"
    found = compare_decisions(plan.problem, than, plan.answer.solution)
    return changes_text(plan.problem, labels_of(plan), found, most=6) or "in nothing of the fleet"


def capped_changes(title: str, cap_kgco2e: float) -> Record:
    """Least money under a cap of carbon, whatever the scenario minimized before."""
    return {
        "title": title,
        "policy.objective": "money",
        "policy.carbon_price": None,
        "policy.first": None,
        "policy.tolerance": None,
        "policy.carbon_cap": f"{cap_kgco2e * (1 + ROOM)!r} kgCO2e",
    }


def cleanest_changes(title: str, deadlines: Mapping[str, Any], tolerance_fraction: float) -> Record:
    """Least carbon, then least money, by deadlines of their own."""
    return {
        "title": title,
        **{path: str(day) for path, day in deadlines.items()},
        "policy.objective": "lexicographic",
        "policy.first": "carbon",
        "policy.tolerance": tolerance_fraction,
        "policy.carbon_price": None,
    }


def reference_record(name: str, found: Answer) -> Record:
    """A plan that is next to a front as a mark."""
    assert found.solution is not None, "only plans are compared with a front"
    return {
        "name": name,
        "cost_usd": found.solution.usd,
        "carbon_kgco2e": found.solution.kgco2e,
        "gap_fraction": finite(found.gap_fraction),
    }


def numbered(records: Sequence[Record]) -> list[Record]:
    """Records with the number of their row."""
    return [{"point": number + 1, **record} for number, record in enumerate(records)]
