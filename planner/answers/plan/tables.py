"""The tables of a plan's document: records with plain values, keys that end in their unit."""

from __future__ import annotations

from planner.answers.plan.actions import action_records
from planner.answers.plan.alternatives import alternative_records, tie_records
from planner.answers.plan.chance import chance_records
from planner.answers.plan.clean_energy import clean_energy_records
from planner.answers.plan.commitments import commitment_records
from planner.answers.plan.data_mix import data_records
from planner.answers.plan.disposals import disposal_records
from planner.answers.plan.fleet import fleet_records, move_records, purchase_records, rental_records
from planner.answers.plan.hours import hour_records, lever_records
from planner.answers.plan.installations import installation_records
from planner.answers.plan.limit_prices import price_records
from planner.answers.plan.limits import dropped_records, limit_records
from planner.answers.plan.money import (
    CARBON_LABELS,
    COST_LABELS,
    contract_records,
    cost_labels,
    period_records,
    summary_records,
    term_records,
)
from planner.answers.plan.placements import placement_records
from planner.answers.plan.places import place_records
from planner.answers.plan.preprocessing import feeding_records
from planner.answers.plan.site_energy import site_energy_records
from planner.answers.plan.stress import stress_tables
from planner.answers.plan.unit_costs import accelerator_hour_records, unit_cost_records, use_records
from planner.answers.plan.views import view_tables
from planner.answers.plan.whole_ledger import (
    WholeLedger,
    ledger_records,
    scope_records,
    water_records,
    whole_ledger,
)
from planner.answers.plan.work import (
    job_records,
    need_records,
    pausable_records,
    pool_records,
    service_records,
)
from planner.program.plan import Plan
from planner.trace.records import Record, plain_rows

NAMES = (
    "summary",
    "actions",
    "purchases",
    "rental",
    "commitments",
    "disposals",
    "moves",
    "fleet",
    "jobs",
    "pausable",
    "services",
    "pools",
    "needs",
    "places",
    "cost",
    "contracts",
    "chance",
    "stress",
    "recourse",
    "views",
    "bridge",
    "cash",
    "accounts",
    "present_value",
    "npv",
    "life_cost",
    "unit_costs",
    "accelerator_hours",
    "use",
    "carbon",
    "whole_ledger",
    "whole_scopes",
    "water",
    "hours",
    "levers",
    "site_energy",
    "clean_energy",
    "by_period",
    "limits",
    "prices",
    "ties",
    "alternatives",
    "knowable",
    "alternatives_dropped",
    "facts",
    "facts_weighed",
)


def traced_tables(plan: Plan, whole: WholeLedger | None = None) -> dict[str, list[Record]]:
    """Every table by name, its numbers traced where an equation gives them; empty where there is no plan.

    `whole` is the whole ledger, where it is at hand.
    """
    tables: dict[str, list[Record]] = {name: [] for name in NAMES}
    tables["alternatives_dropped"] = dropped_records(plan)
    solution = plan.answer.solution
    if solution is not None:
        whole = whole or whole_ledger(plan, solution)
        tables |= {
            "whole_ledger": ledger_records(whole),
            "whole_scopes": scope_records(whole),
            "water": water_records(whole),
            "summary": summary_records(plan, solution),
            "purchases": purchase_records(plan, solution),
            "rental": rental_records(plan, solution),
            "commitments": commitment_records(plan, solution),
            "disposals": disposal_records(plan, solution),
            "moves": move_records(plan, solution),
            "fleet": fleet_records(plan, solution),
            "jobs": job_records(plan, solution),
            "pausable": pausable_records(plan, solution),
            "services": service_records(plan, solution),
            "pools": pool_records(plan, solution),
            "needs": need_records(plan),
            "cost": term_records(plan.ledger.usd_terms, "usd", "cost", cost_labels(plan, COST_LABELS)),
            "carbon": term_records(plan.ledger.kgco2e_terms, "kgco2e", "carbon", CARBON_LABELS),
            "places": place_records(plan, solution),
            "hours": hour_records(plan, solution),
            "levers": lever_records(plan, solution),
            "site_energy": site_energy_records(plan, solution),
            "clean_energy": clean_energy_records(plan, solution),
            "by_period": period_records(plan, solution),
            "limits": limit_records(plan, solution),
            "contracts": contract_records(plan, solution),
            "prices": price_records(plan),
            "ties": tie_records(plan),
            "alternatives": alternative_records(plan),
            "chance": chance_records(plan, solution),
            **stress_tables(plan, solution),
            **view_tables(plan, solution),
            "unit_costs": unit_cost_records(plan, solution),
            "accelerator_hours": accelerator_hour_records(plan, solution),
            "use": use_records(plan, solution),
        }
        if placed := placement_records(plan):
            tables["placements"] = placed
        if data := data_records(plan, solution):
            tables["data"] = data
        if fed := feeding_records(plan, solution):
            tables["feeding"] = fed
        if installed := installation_records(plan, solution):
            tables["installations"] = installed
        horizon = plan.inputs.scenario.horizon
        days = [day.isoformat() for day in horizon.period_starts]
        tables["actions"] = action_records(tables, dict(zip(horizon.period_labels, days, strict=True)))
    return tables


def plan_tables(plan: Plan) -> dict[str, list[Record]]:
    """The same with plain numbers."""
    return {name: plain_rows(rows) for name, rows in traced_tables(plan).items()}
