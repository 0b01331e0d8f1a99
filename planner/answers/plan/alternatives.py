"""Plans that cost little more than the best one and decide otherwise, as records and in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from planner.answers.plan.decisions import decided
from planner.answers.plan.names import changes_text, labels_of
from planner.program.ledger import objective_of
from planner.program.plan import Plan
from planner.program.searches import Alternative, Tie, changes, near_optimal
from planner.program.solution import Solution
from planner.trace.columns import difference
from planner.trace.numbers import mass, money, percent_text
from planner.trace.records import Record

MOST_TIES = 3  # in the first lines; the table holds them all


def with_alternatives(
    plan: Plan,
    *,
    plans: int,
    within_fraction: float,
    time_limit_s: float,
    should_stop: Callable[[], bool] | None = None,
) -> Plan:
    """The plan with so many near-optimal alternatives, each as different as can be from those before."""
    if plan.answer.solution is None:
        return plan
    found = near_optimal(
        plan.problem,
        plan.answer.solution,
        plans=plans,
        within_fraction=within_fraction,
        gap_fraction=max(plan.inputs.scenario.solve.gap_fraction, 0.01),  # of a distance: 1 % is near enough
        time_limit_s=time_limit_s,
        should_stop=should_stop,
    )
    return replace(plan, alternatives=found.plans)


def alternative_records(plan: Plan) -> list[Record]:
    """One row for each alternative: what it costs more, and by what it differs."""
    units = plan.problem.node_groups.order_unit_nodes[:, None]
    return [
        {
            "alternative": number + 1,
            **_near(plan, "alternatives", number + 1, each.solution),
            "nodes_bought": float((each.solution.orders * units).sum()),
            "distance_fraction": each.distance,
            "differs": changes_text(plan.problem, labels_of(plan), each.differences)
            or "in nothing of the fleet",
        }
        for number, each in enumerate(plan.alternatives)
    ]


def tie_records(plan: Plan) -> list[Record]:
    """One row for each other plan within the gap: how far its objective is, and by what it differs."""
    return [
        {
            "tie": number + 1,
            **_near(plan, "ties", number + 1, each.solution),
            "changes": changes(plan.problem, each.solution),
            "differs": changes_text(plan.problem, labels_of(plan), each.differences),
        }
        for number, each in enumerate(plan.ties)
    ]


def tie_sentences(plan: Plan) -> list[str]:
    """The nearest ties in words: what could as well be decided otherwise."""
    return [_tie(plan, each) for each in plan.ties[:MOST_TIES]]


def _tie(plan: Plan, each: Tie) -> str:
    solution = plan.answer.solution
    assert solution is not None, "a tie is one with a plan"
    differs = changes_text(plan.problem, labels_of(plan), each.differences)
    near = percent_text(abs(each.excess_fraction), 2)
    if each.excess_fraction >= 0:
        return f"A tie, {near} above this plan: {differs}."
    more = changes(plan.problem, each.solution) - changes(plan.problem, solution)
    return f"A tie, {near} below this plan with {more} more to do: {differs}."


def _near(plan: Plan, table: str, number: int, solution: Solution) -> Record:
    """How much above the plan another one is, and the money and carbon that it is so by."""
    row: Record = {"cost_usd": solution.usd, "carbon_kgco2e": solution.kgco2e}
    if plan.answer.objective <= 0:
        return {"excess_fraction": None} | row
    cost, carbon = (decided(table, key, row) for key in row)
    best = plan.ledger.objective
    theirs = objective_of(plan.inputs, plan.problem.objective, cost, carbon)
    which = f"of number {number} of {table}, above this plan"
    return {"excess_fraction": ((theirs - best) / best).named("excess_fraction", which)} | row


def alternative_sentences(plan: Plan) -> list[str]:
    """The alternatives in words."""
    return [_sentence(plan, number + 1, each) for number, each in enumerate(plan.alternatives)]


def _sentence(plan: Plan, number: int, each: Alternative) -> str:
    best = plan.answer.solution
    assert best is not None, "an alternative is one to a plan"
    dearer = float(difference(each.solution.usd, best.usd))
    dirtier = float(difference(each.solution.kgco2e, best.kgco2e))
    cost = f"{money(abs(dearer))} {'more' if dearer >= 0 else 'less'}"
    carbon = f"{mass(abs(dirtier))} {'more' if dirtier >= 0 else 'less'}"
    differs = changes_text(plan.problem, labels_of(plan), each.differences)
    return f"Alternative {number} costs {cost} and emits {carbon}: {differs or 'the same fleet'}."
