"""Money and carbon of a plan, by term, by period and by contract: tables and sentences."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from planner.answers.plan.decisions import decided
from planner.answers.plan.fleet import purchase_records
from planner.answers.plan.installations import installation_records
from planner.answers.plan.shares import avoided_part, contract_part, of_period
from planner.program.assembly import objective_unit
from planner.program.baselines import COST_ONLY, KEEP_EVERYTHING, NO_PURCHASES, USUAL_PRACTICE
from planner.program.ledger import objective_of
from planner.program.market_based import stand_ins
from planner.program.plan import Plan
from planner.program.solution import Problem, Solution, capex_usd, installed_usd
from planner.trace.numbers import energy, mass, money
from planner.trace.quantities import Traced, total
from planner.trace.records import Record


def contract_records(plan: Plan, solution: Solution) -> list[Record]:
    """One row for each contract and period in which energy is bought."""
    contracts, labels = plan.problem.contracts, plan.inputs.scenario.horizon.period_labels
    matched = plan.ledger.matched_kwh
    if matched is None:
        return []
    return [
        {
            "contract": plan.inputs.scenario.contracts[c].name,
            "site": plan.problem.site_names[contracts.site[c]],
            "period": label,
            "matched_kwh": matched[c, t],
            "premium_usd": contract_part(plan, "usd", c, t).named("premium_usd"),
            "avoided_kgco2e": avoided_part(plan, c, t).named("avoided_kgco2e"),
        }
        for c in range(len(contracts))
        for t, label in enumerate(labels)
        if solution.matched_kwh[c, t] > 0.5
    ]


def contract_sentences(plan: Plan, solution: Solution) -> list[str]:
    """What is bought under each contract; both figures of carbon where the market-based one counts."""
    said = []
    for c, one in enumerate(plan.inputs.scenario.contracts):
        matched = float(solution.matched_kwh[c].sum())
        if matched > 0.5:
            paid, avoided = (
                float(terms.contract[c].sum()) for terms in (solution.usd_terms, solution.kgco2e_terms)
            )
            said.append(
                f"Buy {energy(matched)} of clean energy under {one.name} at {one.site} for {money(paid)} "
                f"beyond the price of electricity; market-based it avoids {mass(-avoided)}."
            )
    location = plan.ledger.location_carbon
    if location is not None:
        said.append(
            f"Carbon is counted market-based here, {mass(plan.ledger.carbon.value)}; location-based it is "
            f"{mass(location.value)}. The two are shown side by side and never added."
        )
    return said


def stand_in_sentences(plan: Plan) -> list[str]:
    """Where no residual mix is known, so that the location's factor is used instead."""
    if plan.inputs.scenario.policy.accounting == "location" or not (names := stand_ins(plan.inputs)):
        return []
    return [
        f"No residual mix is stated for {', '.join(names)}: the grid's own factor is used instead "
        "(market_intensity of a site would replace it), so the market-based figure may be too low."
    ]


COST_LABELS = {
    "capital": "New nodes: fall of value, interest",
    "bought": "New nodes: maintenance",
    "standing_capital": "Standing nodes: fall of value, interest",
    "standing": "Standing nodes: maintenance",
    "training": "Training: electricity",
    "adopted": "Training and pools: people's time to adopt techniques",
    "feeding": "Training: workers that feed it",
    "data": "Training: data that is bought",
    "serving": "Serving: electricity",
    "starting": "Serving: double running of replicas that start",
    "deployed": "Serving: people's time to keep deployments",
    "set_up": "Serving: people's time to set up deployments",
    "pools": "Pools: electricity",
    "egress": "Pools: data moved between sites",
    "transfers": "Runs and services: data moved between sites",
    "idle": "Idle nodes: electricity",
    "pausable": "Pausable jobs: electricity",
    "rental": "Rented nodes: hours that are paid",
    "reserved": "Reserved nodes: rent, used or not",
    "term_left": "Reserved nodes: rent after the horizon, above its worth then",
    "parked": "Parked nodes: electricity",
    "shifted": "Hours: work that moves",
    "resting": "Hours: replicas that rest, nodes that are off",
    "lent": "Hours: work on lent nodes",
    "stored": "Batteries: electricity in less electricity out",
    "sun": "Sun: electricity not bought",
    "battery": "Batteries: their share of price",
    "solar": "The sun's cells: their share of price, and upkeep",
    "stopped": "Curtailment: electricity not drawn in calls",
    "unmet": "Demand not carried: penalties",
    "left_out": "Jobs left out: penalties",
    "ordered": "New nodes: interest on the deposit until delivery",
    "retired": "Retired nodes: what their sale takes",
    "reused": "Second life in a lower tier: over the sale",
    "sold": "New nodes sold again: what their sale takes",
    "moved": "Moved nodes: carriage, keeping under way",
    "contract": "Clean energy: premium",
    "space": "Space: rated power in service or committed",
    "peak": "Demand charge: highest power",
    "curtailment": "Curtailment: what contracts pay",
}
CASH_LABELS = {
    "ordered": "New nodes: price, when ordered",
    "retired": "Retired nodes: disposal less resale",
}
CARBON_LABELS = {
    "bought": "New nodes: embodied share and replaced parts",
    "standing": "Standing nodes: replaced parts",
    "training": "Training: electricity",
    "feeding": "Training: workers that feed it",
    "serving": "Serving: electricity",
    "starting": "Serving: double running of replicas that start",
    "pools": "Pools: electricity",
    "egress": "Pools: data moved between sites",
    "transfers": "Runs and services: data moved between sites",
    "idle": "Idle nodes: electricity",
    "moved": "Moved nodes: carriage",
    "reused": "Second life in a lower tier: making avoided",
    "pausable": "Pausable jobs: electricity",
    "rental": "Rented nodes: share of their making and repair",
    "reserved": "Reserved nodes: their making and repair",
    "parked": "Parked nodes: electricity",
    "shifted": "Hours: work that moves",
    "resting": "Hours: replicas that rest, nodes that are off",
    "lent": "Hours: work on lent nodes",
    "stored": "Batteries: electricity in less electricity out",
    "sun": "Sun: electricity not drawn from the grid",
    "battery": "Batteries: their share of making",
    "solar": "The sun's cells: their share of making",
    "stopped": "Curtailment: electricity not drawn in calls",
    "contract": "Clean energy: avoided, market-based",
}


def summary_records(plan: Plan, solution: Solution) -> list[Record]:
    """The plan next to its baselines."""
    baselines = {name: found.solution for name, found in plan.baselines.items()}
    problem, ledger = plan.problem, plan.ledger
    names = {
        "cost_only": COST_ONLY,
        "no_purchases": NO_PURCHASES,
        "keep_everything": KEEP_EVERYTHING,
        "usual_practice": USUAL_PRACTICE,
    }
    columns = {"plan": solution} | {column: baselines.get(name) for column, name in names.items()}
    mine: dict[str, Traced] = {
        "cost": ledger.cost,
        "carbon": ledger.carbon,
        "objective": ledger.objective,
        "capex": ledger.capex,
    }

    problems = {column: plan.baseline_problems.get(name, problem) for column, name in names.items()}

    def measured(measure: str, unit: str, name: str, value: Callable[[Problem, Solution], float]) -> Record:
        row: Record = {"measure": measure, "unit": unit}
        for column, one in columns.items():
            if one is None:
                row[column] = None
            elif column == "plan" and name in mine:
                row[column] = mine[name]
            elif name == "objective":
                row[column] = objective_of(plan.inputs, problem.objective, *both(column, one))
            else:
                row[column] = float(value(problems.get(column, problem), one))
        return row

    def both(column: str, one: Solution) -> tuple[Traced, Traced]:
        cost, carbon = (
            decided("summary", column, {"unit": unit}, value, name)
            for value, name, unit in (
                (float(one.usd), "cost_usd", "USD"),
                (float(one.kgco2e), "carbon_kgco2e", "kgCO2e"),
            )
        )
        return cost, carbon

    first = minimised_label(plan).partition(", ")[2]
    objective = f"Second objective, {first}" if first else "Objective"

    def bought(of: Problem, one: Solution) -> float:
        return float((one.orders * of.node_groups.order_unit_nodes[:, None]).sum())

    def paid(of: Problem, one: Solution) -> float:
        return float((capex_usd(of, one.orders) + installed_usd(of, one)).sum())

    return [
        measured(cost_label(plan), "USD", "cost", lambda _, one: one.usd),
        measured("Carbon in the horizon", "kgCO2e", "carbon", lambda _, one: one.kgco2e),
        measured(objective, objective_unit(problem.objective), "objective", lambda _, one: math.nan),
        measured("Purchases, cash", "USD", "capex", paid),
        measured("Nodes bought", "nodes", "", bought),
        measured("Nodes retired", "nodes", "", lambda _, one: one.retired.sum() + one.sold.sum()),
        measured("Nodes in service at the end", "nodes", "", lambda _, one: one.in_service[:, -1].sum()),
    ]


def term_records(terms: Any, unit: str, total: str, labels: dict[str, str]) -> list[Record]:
    """Terms of a total that are not zero, with the name of their explanation."""
    return [
        {
            "term": name,
            "label": label,
            unit: terms[f"{name}_{unit}"],
            "explain": f"{total}.{name}",
        }
        for name, label in labels.items()
        if f"{name}_{unit}" in terms and terms[f"{name}_{unit}"].value
    ]


def period_records(plan: Plan, solution: Solution) -> list[Record]:
    """Cost, carbon, energy and purchases by period."""
    purchases, installed = purchase_records(plan, solution), installation_records(plan, solution)
    return [
        {
            "period": label,
            "cost_usd": of_period(plan, "usd", t, "cost_usd"),
            "carbon_kgco2e": of_period(plan, "kgco2e", t, "carbon_kgco2e"),
            "energy_kwh": of_period(plan, "kwh", t, "energy_kwh"),
            "capex_usd": total(
                "capex_usd",
                {
                    f"{row['sku']} for {row['site']}": row["capex_usd"]
                    for row in purchases
                    if row["period"] == label
                }
                | {
                    f"{row['what']} at {row['site']}": row["capex_usd"]
                    for row in installed
                    if row["period"] == label
                },
                "the orders of this period, and what is put up in it",
            ),
        }
        for t, label in enumerate(plan.inputs.scenario.horizon.period_labels)
    ]


def cost_label(plan: Plan) -> str:
    """What the cost of a plan counts."""
    if plan.inputs.scenario.policy.objective == "cash":
        put_up = ", batteries and cells by the period" if _puts_up(plan) else ""
        return f"Money spent in the horizon, {'orders' if put_up else 'purchases'} in full{put_up}"
    return "Cost in the horizon, fall of value and interest included"


def _puts_up(plan: Plan) -> bool:
    """Whether it puts up batteries or cells, which its cost has by the period, whatever the objective."""
    solution = plan.answer.solution
    return solution is not None and bool(installed_usd(plan.problem, solution).any())


def minimised_label(plan: Plan) -> str:
    """What the objective of a plan is; of one after the other, the second, which is shown."""
    policy = plan.inputs.scenario.policy
    if policy.objective != "lexicographic":
        return "What the program minimised"
    return f"What the program minimised second, after {'carbon' if policy.first == 'carbon' else 'cost'}"


def cost_labels(plan: Plan, labels: dict[str, str]) -> dict[str, str]:
    """Labels of the terms of cost: where money is counted when it is spent, an order costs its price."""
    cash = plan.inputs.scenario.policy.objective == "cash"
    return labels | (CASH_LABELS if cash else {})


def cost_basis(plan: Plan) -> str:
    """How a sentence says what the cost counts."""
    if plan.inputs.scenario.policy.objective != "cash":
        return "with fall of value and interest"
    if _puts_up(plan):
        return "with orders counted in full, batteries and cells by the period"
    return "with purchases counted in full"


def total_sentence(plan: Plan) -> str:
    """Money, carbon and energy over the horizon."""
    ledger = plan.ledger
    return (
        f"Over the horizon: {money(ledger.cost.value)} {cost_basis(plan)}, {mass(ledger.carbon.value)}, "
        f"{energy(ledger.energy.value)}; purchases {money(ledger.capex.value)} in cash."
    )
