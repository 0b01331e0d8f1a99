"""In words and records: what moves, whose life is extended, which rebates are reached, what cost counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from planner.plan import Plan
from planner.wording import mass, money
from solver.account import rebate_fraction
from solver.problem import Solution

Record = dict[str, Any]


def cost_label(plan: Plan) -> str:
    """What the cost of a plan counts."""
    if plan.inputs.scenario.policy.objective == "cash":
        return "Money spent in the horizon, purchases in full"
    return "Cost in the horizon, capital annualised"


def cost_labels(plan: Plan, labels: dict[str, str]) -> dict[str, str]:
    """Labels of the terms of cost: new nodes without capital where their price is counted when ordered."""
    cash = plan.inputs.scenario.policy.objective == "cash"
    return labels | ({"bought": "New nodes: maintenance, space"} if cash else {})


def counted(plan: Plan) -> str:
    """How a sentence says what the cost counts."""
    cash = plan.inputs.scenario.policy.objective == "cash"
    return "with purchases counted in full" if cash else "with capital annualised"


def owning_sentences(plan: Plan, solution: Solution) -> list[str]:
    """Moves, extensions and rebates, for the headline."""
    return [*_rebates(plan, solution), *_moves(plan, solution), *_extensions(plan, solution)]


def retired_for(plan: Plan, solution: Solution, cohort: int) -> str:
    """What retiring nodes of a cohort brings or costs, as the end of a sentence."""
    usd = float(solution.usd_terms.retire[cohort].sum())
    if abs(usd) < 1.0:
        return ""
    return f"; that {'brings' if usd < 0 else 'costs'} {money(abs(usd))}"


def move_records(plan: Plan, solution: Solution) -> list[Record]:
    """Each move: when, what, from where to where, at what cost."""
    problem, labels = plan.problem, plan.inputs.scenario.horizon.period_labels
    pools, moves = problem.pools, problem.moves
    origin, goal = (problem.cohorts.pool[end] for end in (moves.from_cohort, moves.to_cohort))
    return [
        {
            "period": labels[t],
            "sku": problem.sku_names[pools.sku[origin[m]]],
            "from": problem.site_names[pools.site[origin[m]]],
            "to": problem.site_names[pools.site[goal[m]]],
            "nodes": int(solution.moved[m, t]),
            "in_service": labels[t + moves.lead_periods[m]],
            "move_usd": float(solution.usd_terms.move[m, t]),
            "move_kgco2e": float(solution.kgco2e_terms.move[m, t]),
        }
        for t, m in np.argwhere(solution.moved.T > 0)
    ]


def _rebates(plan: Plan, solution: Solution) -> list[str]:
    problem = plan.problem
    ordered = (solution.orders * problem.pools.order_unit_nodes[:, None]).sum(axis=1)
    return [
        f"The contract for {sku} reaches a rebate of {share:.1%} on "
        f"{_nodes(int(ordered[problem.pools.sku == k].sum()))}."
        for k, (sku, share) in enumerate(
            zip(problem.sku_names, rebate_fraction(problem, solution.orders), strict=True)
        )
        if share
    ]


def _moves(plan: Plan, solution: Solution) -> list[str]:
    return [
        f"Move {_nodes(row['nodes'])} of {row['sku']} from {row['from']} to {row['to']} "
        f"in {row['period']} for {money(row['move_usd'])} and {mass(row['move_kgco2e'])}; "
        f"in service from {row['in_service']}."
        for row in move_records(plan, solution)
    ]


def _extensions(plan: Plan, solution: Solution) -> list[str]:
    """Cohorts that are kept past their life, until when, and how much more that costs than before."""
    labels, fleet = plan.inputs.scenario.horizon.period_labels, plan.inputs.scenario.fleet
    standing, nodes = plan.assembled.standing, plan.assembled.nodes
    said = []
    for h, home in enumerate(standing.home):
        past = standing.beyond_life_h[home] > 0
        kept = np.flatnonzero(past & (solution.kept[h] > 0))
        if fleet[home].extend_to_y is None or not len(kept):
            continue
        usual = np.broadcast_to(nodes.kept_usd.value[standing.pool[home]], past.shape)
        keep = plan.problem.cohorts.keep_usd_per_node[h]
        dearer = float((solution.kept[h] * (keep - usual))[kept].sum())
        said.append(
            f"Keep {_nodes(int(solution.kept[h, kept[0]]))} of "
            f"{plan.problem.pool_name(int(standing.pool[h]))} past their life of {fleet[home].life_y:g} y, "
            f"until {labels[kept[-1]]}, for {money(dearer)} more."
        )
    return said


def _nodes(count: int) -> str:
    return f"{count} node{'s' * (count != 1)}"
