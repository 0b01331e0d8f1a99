"""Limits that nothing more fits into: said where not even the smallest order would keep them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import test_plan_flexibility
import test_plan_ownership

from planner.answers.plan.limits import full_sentences
from planner.answers.plan.summary import why_this_plan
from planner.answers.plan.tables import plan_tables
from planner.inputs.loading import data_folder
from planner.inputs.scenario import load_scenario, with_changes
from planner.program.plan import Plan, plan_fleet
from planner.trace.currency import Currency, showing
from solver import account


def planned(changes: dict[str, Any]) -> Plan:
    stated = load_scenario(data_folder() / "scenarios" / "one-training-job.toml")
    return plan_fleet(with_changes(stated, changes), baselines=False)


def limit_lines(plan: Plan) -> list[str]:
    return [line for line in why_this_plan(plan)[1] if "limit" in line]


@pytest.fixture(scope="module")
def roomy() -> Plan:
    return planned({})


def peak_kw(plan: Plan) -> float:
    return float(max(row["used"] for row in plan_tables(plan)["limits"] if row["limit"] == "power"))


def test_a_limit_with_room_is_not_called_full(roomy: Plan) -> None:
    assert full_sentences(roomy, plan_tables(roomy)["limits"]) == []
    assert "No limit on power, space, supply, budget or carbon binds." in limit_lines(roomy)


def test_power_that_one_more_node_would_break_is_told(roomy: Plan) -> None:
    """The cap is set 1 kW above what the plan draws: it decides the same, and a node takes more than that."""
    cap_kw = peak_kw(roomy) + 1
    plan = planned({"sites.stockholm.power_cap": f"{cap_kw!r} kW"})
    said = limit_lines(plan)

    assert plan.answer.solution is not None
    assert peak_kw(plan) == pytest.approx(cap_kw - 1)
    assert said[0] == (
        "No limit on power, space, supply, budget or carbon is used up, but not every one has room."
    )
    assert said[1].startswith("The power limit of stockholm is nearly full in 2027 Q2: ")
    assert "one more node of " in said[1]
    needed_kw = float(said[1].rpartition("takes ")[2].removesuffix(" kW."))
    idle_kw = plan.problem.node_groups.idle_kw[plan.problem.node_groups.site == 0].min()
    assert needed_kw > max(idle_kw, 1.0), "a node at work draws more than one that idles"


@pytest.mark.parametrize(
    ("limit", "unit", "per_order"),
    [("racks", "racks", "racks_per_node"), ("budget", "USD", "capex_usd_per_node")],
)
def test_what_an_order_takes_decides(roomy: Plan, limit: str, unit: str, per_order: str) -> None:
    """A slack just below the least that an order takes is no room; one just above it is."""
    groups = roomy.problem.node_groups
    each = np.asarray(getattr(groups, per_order), dtype=float)
    each = each[:, 0] if each.ndim == 2 else each
    able = groups.purchase_allowed[:, 0]
    least = float((each * groups.order_unit_nodes)[able].min())
    where = "all sites" if limit == "budget" else "stockholm"
    period = "2027 Q1" if limit == "budget" else "2027 Q2"  # nodes are in racks once they have arrived
    row = {
        "limit": limit,
        "where": where,
        "period": period,
        "used": 1.0,
        "allowed": 1.0 + least,
        "unit": unit,
        "binding": False,
    }

    (said,) = full_sentences(roomy, [{**row, "left": 0.99 * least}])
    assert said.startswith(f"The {limit} limit of {where} is nearly full in {period}: ")
    assert full_sentences(roomy, [{**row, "left": 1.01 * least}]) == []
    assert full_sentences(roomy, [{**row, "left": 0.99 * least, "binding": True}]) == [], "told already"


def test_limits_are_said_in_units_that_read_well_and_in_the_currency_that_is_shown() -> None:
    """A cap holds for the horizon and has no limit of its own; tonnes, and thousands of EUR."""
    free = planned({}).answer.solution
    assert free is not None
    kgco2e = 1.0005 * free.kgco2e
    with showing(Currency("EUR", 1.25)):
        plan = planned({"policy.carbon_cap": f"{kgco2e!r} kg", "policy.budget": "660 kUSD"})
        said = limit_lines(plan)

    (cap,) = [line for line in why_this_plan(plan)[1] if line.startswith("The carbon cap")]
    assert "of all sites binds over the horizon: " in cap
    assert cap.endswith(" tCO2e.")
    budget = [line for line in said if line.startswith("The budget limit of all sites")]
    assert budget
    assert all("USD" not in line for line in budget)
    assert any(" kEUR" in line for line in budget)


def test_supply_counts_nodes_and_periods_are_gathered(roomy: Plan) -> None:
    """Half a node left is none; an unused limit is not full but too small; three periods are one sentence."""
    groups = roomy.problem.node_groups
    sku = roomy.problem.sku_names[int(groups.sku[groups.purchase_allowed[:, 0]][0])]
    row = {"limit": "supply", "where": sku, "allowed": 0.5, "left": 0.5, "unit": "nodes", "binding": False}
    rows = [{**row, "period": period, "used": 0.0} for period in ("2027 Q1", "2027 Q1", "2027 Q1")]
    (said,) = full_sentences(roomy, rows)

    assert said.startswith(
        f"The supply limit of {sku} is too small for any order in 2027 Q1 and 2 other periods:"
    )


def test_nodes_that_cannot_have_arrived_fill_nothing(roomy: Plan) -> None:
    """With a lead of one period no rack is missing in the first, one is in the second; caps are left out."""
    problem = roomy.problem
    late = replace(problem.node_groups, lead_periods=np.ones_like(problem.node_groups.lead_periods))
    plan = replace(roomy, assembled=replace(roomy.assembled, problem=replace(problem, node_groups=late)))
    row = {
        "limit": "racks",
        "where": "stockholm",
        "used": 0.0,
        "allowed": 0.0,
        "left": 0.0,
        "unit": "racks",
        "binding": False,
    }

    assert full_sentences(plan, [{**row, "period": "2027 Q1"}]) == []
    assert len(full_sentences(plan, [{**row, "period": "2027 Q2"}])) == 1
    assert full_sentences(plan, [{**row, "period": "2027 Q2", "limit": "carbon cap"}]) == []


PLANS = {
    "a run": lambda: planned({}),
    "services": lambda: plan_fleet(  # any plan will do: what is compared is how it is counted
        with_changes(load_scenario(data_folder() / "scenarios" / "serving-only.toml"), {"solve.gap": "20 %"}),
        baselines=False,
    ),
    "pausable, parked": lambda: test_plan_flexibility.planned(
        test_plan_flexibility.one_job(), test_plan_flexibility.PAUSABLE | {"policy.park_idle": True}
    ),
    "moved": lambda: test_plan_ownership.planned({"moves": [test_plan_ownership.NORTHWARDS]}),
}


@pytest.mark.parametrize("name", PLANS)
def test_traced_tables_are_the_sums_that_the_solver_checks(name: str) -> None:
    """Two roads to power, racks, idle nodes, money and carbon: traced parts, and plain sums of columns."""
    plan = PLANS[name]()
    problem, solution, tables = plan.problem, plan.answer.solution, plan_tables(plan)
    assert solution is not None
    labels = list(plan.inputs.scenario.horizon.period_labels)
    power = account.peak_kw(problem, solution, solution.in_service)
    racks = account.totals_by(
        problem.node_groups.site,
        len(problem.site_names),
        solution.in_service * problem.node_groups.racks_per_node[:, None],
    )
    groups = {
        (problem.site_names[s], problem.sku_names[k]): p
        for p, (s, k) in enumerate(zip(problem.node_groups.site, problem.node_groups.sku, strict=True))
    }

    limits = [row for row in tables["limits"] if row["limit"] in ("power", "racks")]
    assert limits
    for row in limits:
        found = power if row["limit"] == "power" else racks
        wanted = found[problem.site_names.index(row["where"]), labels.index(row["period"])]
        assert row["used"] == pytest.approx(wanted, rel=1e-9), row
    for row in tables["fleet"]:
        idle = plan.ledger.idle_nodes[groups[row["site"], row["sku"]], labels.index(row["period"])]
        assert row["idle_nodes"] == pytest.approx(idle, abs=1e-6), row
    for key, by_period in (
        ("carbon_kgco2e", solution.kgco2e_terms.by_period()),
        ("capex_usd", account.capex_usd(problem, solution.orders)),
    ):
        assert [row[key] for row in tables["by_period"]] == pytest.approx(by_period.tolist(), rel=1e-9), key
    # The solver counts capital of an order to the end when it is placed; the tables tell it by period.
    cost = sum(row["cost_usd"] for row in tables["by_period"])
    assert cost == pytest.approx(solution.usd_terms.by_period().sum(), rel=1e-9)
    if not solution.orders.any():
        by_period = solution.usd_terms.by_period().tolist()
        assert [row["cost_usd"] for row in tables["by_period"]] == pytest.approx(by_period, rel=1e-9)
