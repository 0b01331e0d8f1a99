"""Money and carbon of a plan, by term, by period and by contract: tables and sentences."""

from __future__ import annotations

from typing import Any

from planner.program.assembly import objective_unit
from planner.program.market_based import stand_ins
from planner.program.plan import AS_TODAY, COST_ONLY, Plan
from planner.program.solution import Solution, capex_usd
from planner.report.format import energy, mass, money
from planner.trace.records import Record


def contract_records(plan: Plan, solution: Solution) -> list[Record]:
    """One row for each contract and period in which energy is bought."""
    contracts, labels = plan.problem.contracts, plan.inputs.scenario.horizon.period_labels
    return [
        {
            "contract": plan.inputs.scenario.contracts[c].name,
            "site": plan.problem.site_names[contracts.site[c]],
            "period": label,
            "matched_kwh": float(solution.matched_kwh[c, t]),
            "premium_usd": float(solution.usd_terms.contract[c, t]),
            "avoided_kgco2e": -float(solution.kgco2e_terms.contract[c, t]),
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
    "bought": "New nodes: capital, maintenance, space",
    "standing": "Standing nodes: maintenance, space",
    "training": "Training: electricity",
    "serving": "Serving: electricity",
    "pools": "Pools: electricity",
    "idle": "Idle nodes: electricity",
    "pausable": "Pausable jobs: electricity",
    "rental": "Rented nodes: hours in use",
    "parked": "Parked nodes: electricity",
    "unmet": "Demand not carried: penalties",
    "left_out": "Jobs left out: penalties",
    "ordered": "New nodes: price, when ordered",
    "retired": "Retired nodes: disposal less resale",
    "moved": "Moved nodes: carriage, keeping under way",
    "contract": "Clean energy: premium",
}
CARBON_LABELS = {
    "bought": "New nodes: embodied share and replaced parts",
    "standing": "Standing nodes: replaced parts",
    "training": "Training: electricity",
    "serving": "Serving: electricity",
    "pools": "Pools: electricity",
    "idle": "Idle nodes: electricity",
    "moved": "Moved nodes: carriage",
    "pausable": "Pausable jobs: electricity",
    "rental": "Rented nodes: share of their making and repair",
    "parked": "Parked nodes: electricity",
    "contract": "Clean energy: avoided, market-based",
}


def summary_records(plan: Plan, solution: Solution) -> list[Record]:
    """The plan next to the cost-only plan and today's fleet."""
    baselines = {name: found.solution for name, found in plan.baselines.items()}
    columns = {"plan": solution, "cost_only": baselines.get(COST_ONLY), "as_today": baselines.get(AS_TODAY)}
    problem = plan.problem
    weight = problem.objective

    def capex(one: Solution) -> float:
        return float(capex_usd(problem, one.orders).sum())

    measures: list[tuple[str, str, Any]] = [
        (cost_label(plan), "USD", lambda one: one.usd),
        ("Carbon in the horizon", "kgCO2e", lambda one: one.kgco2e),
        (
            "Objective",
            objective_unit(weight),
            lambda one: weight.money_weight * one.usd + weight.carbon_weight * one.kgco2e,
        ),
        ("Purchases, cash", "USD", capex),
        (
            "Nodes bought",
            "nodes",
            lambda one: float((one.orders * problem.node_groups.order_unit_nodes[:, None]).sum()),
        ),
        ("Nodes retired", "nodes", lambda one: float(one.retired.sum())),
        ("Nodes in service at the end", "nodes", lambda one: float(one.in_service[:, -1].sum())),
    ]
    return [
        {"measure": measure, "unit": unit}
        | {name: None if one is None else float(value(one)) for name, one in columns.items()}
        for measure, unit, value in measures
    ]


def term_records(terms: Any, unit: str, total: str, labels: dict[str, str]) -> list[Record]:
    """Terms of a total that are not zero, with the name of their explanation."""
    return [
        {
            "term": name,
            "label": label,
            unit: float(terms[f"{name}_{unit}"].value),
            "explain": f"{total}.{name}",
        }
        for name, label in labels.items()
        if f"{name}_{unit}" in terms and terms[f"{name}_{unit}"].value
    ]


def period_records(plan: Plan, solution: Solution) -> list[Record]:
    """Cost, carbon, energy and purchases by period."""
    problem, ledger = plan.problem, plan.ledger
    usd, kgco2e = solution.usd_terms.by_period(), solution.kgco2e_terms.by_period()
    kwh = (ledger.idle_nodes * plan.assembled.nodes.idle_kwh.value).sum(axis=0)
    if ledger.runs is not None:
        each = solution.run[solution.run > 0][:, None]
        kwh = kwh + (each * ledger.runs.facility_kwh.value[ledger.run_rows]).sum(axis=0)
    if ledger.replicas is not None:
        kwh = kwh + (ledger.replicas.facility_kwh.value * solution.replicas[ledger.replica_options]).sum(
            axis=0
        )
    if plan.assembled.work.facility_kwh is not None:
        kwh = kwh + (plan.assembled.work.facility_kwh.value * solution.work_node_h).sum(axis=0)
    kwh = kwh + (problem.pausable_options.kwh_per_node_h * solution.done_node_h).sum(axis=0)
    kwh = kwh + (problem.node_groups.off_kwh_per_node * solution.parked).sum(axis=0)
    capex = capex_usd(problem, solution.orders)
    return [
        {
            "period": label,
            "cost_usd": float(usd[t]),
            "carbon_kgco2e": float(kgco2e[t]),
            "energy_kwh": float(kwh[t]),
            "capex_usd": float(capex[t]),
        }
        for t, label in enumerate(plan.inputs.scenario.horizon.period_labels)
    ]


def cost_label(plan: Plan) -> str:
    """What the cost of a plan counts."""
    if plan.inputs.scenario.policy.objective == "cash":
        return "Money spent in the horizon, purchases in full"
    return "Cost in the horizon, capital annualised"


def cost_labels(plan: Plan, labels: dict[str, str]) -> dict[str, str]:
    """Labels of the terms of cost: new nodes without capital where their price is counted when ordered."""
    cash = plan.inputs.scenario.policy.objective == "cash"
    return labels | ({"bought": "New nodes: maintenance, space"} if cash else {})


def cost_basis(plan: Plan) -> str:
    """How a sentence says what the cost counts."""
    cash = plan.inputs.scenario.policy.objective == "cash"
    return "with purchases counted in full" if cash else "with capital annualised"


def total_sentence(plan: Plan) -> str:
    """Money, carbon and energy over the horizon."""
    ledger = plan.ledger
    return (
        f"Over the horizon: {money(ledger.cost.value)} {cost_basis(plan)}, {mass(ledger.carbon.value)}, "
        f"{energy(ledger.energy.value)}; purchases {money(ledger.capex.value)} in cash."
    )
