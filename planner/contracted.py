"""Clean energy under contract and both accountings of scope 2, as records and in words."""

from __future__ import annotations

from typing import Any

from planner.accounting import stand_ins
from planner.plan import Plan
from planner.wording import energy, mass, money
from solver.problem import Solution

Record = dict[str, Any]


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
            f"{mass(location.value)}. The two stand side by side and are never added."
        )
    return said


def stand_in_sentences(plan: Plan) -> list[str]:
    """Where no residual mix is known, so that the location's factor stands in."""
    if plan.inputs.scenario.policy.accounting == "location" or not (names := stand_ins(plan.inputs)):
        return []
    return [
        f"No residual mix is stated for {', '.join(names)}: the grid's own factor stands in there "
        "(market_intensity of a site would replace it), so the market-based figure may be too low."
    ]
