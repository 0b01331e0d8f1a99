"""The money of a plan in three views: each rebuilt by another way, and the way from one to another."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pytest
from test_plan_ownership import FLEET, NORTHWARDS, solved
from test_plan_value import trained, worth

from planner.answers.plan import unit_costs, view_lines
from planner.answers.plan.document import plan_document
from planner.answers.plan.tables import plan_tables
from planner.answers.plan.views import _payback_text, npv_sentence, pays_back, view_tables
from planner.inputs.loading import load_catalogue
from planner.inputs.scenario import parse_scenario, with_changes
from planner.inputs.service_requests import request_tokens
from planner.program.baselines import NO_PURCHASES, usual_practice
from planner.program.ledger import Disagreement
from planner.program.plan import Plan, plan_fleet
from planner.report.integrity import disagreements
from planner.trace.records import Record, plain_rows

pytestmark = pytest.mark.solve

RATE = 0.08
BUSY = {"services.chat.peak_rate": "600 /s"}


def planned(changes: dict[str, Any]) -> Plan:
    return plan_fleet(with_changes(parse_scenario(FLEET), changes), baselines=False)


def last(rows: list[Record]) -> Record:
    return rows[-1]


@pytest.fixture(scope="module")
def bought_and_sold() -> Plan:
    """Nodes that are bought, that stand and are sold."""
    return planned(BUSY)


def test_the_economic_cost_is_interest_fall_and_bills(bought_and_sold: Plan) -> None:
    """From the value curve and the solver's counts alone, to a tenth of a percent."""
    plan, solution = bought_and_sold, solved(bought_and_sold)
    scenario = plan.inputs.scenario
    hours = np.array(scenario.horizon.hours)
    ends_y = np.cumsum([0.0, *hours]) / 8766.0
    rent = 0.0

    def held(price: float, age_y: float, nodes: Any) -> float:
        """Interest at a daily rate and the fall of value, of nodes by period."""
        cost = 0.0
        for t, count in enumerate(nodes):
            days = np.linspace(ends_y[t], ends_y[t + 1], 200) + age_y
            value = worth(price, days)
            cost += count * (value[0] - value[-1] + np.log(1 + RATE) * np.trapezoid(value, days))
        return float(cost)

    fleet = scenario.fleet[0]
    age = (scenario.horizon.start - fleet.in_service).days / 365.25
    names = [sku.name for sku in plan.inputs.skus]
    rent += held(plan.inputs.node_price(names.index(fleet.sku), 0).value, age, solution.kept[0])
    friction = 0.0
    for t, count in enumerate(solution.retired[0]):
        value = worth(plan.inputs.node_price(names.index(fleet.sku), 0).value, age + ends_y[t])
        friction += count * min(0.15 * value + 2000.0, value)
    nodes = solution.orders * plan.problem.node_groups.order_unit_nodes[:, None]
    assert not solution.sold.any(), "the rebuild below is of what is kept"
    for p, t in np.argwhere(nodes > 0):
        lead = int(plan.problem.node_groups.lead_periods[p])
        in_service = np.where(np.arange(len(hours)) >= t + lead, nodes[p, t], 0)
        price = plan.inputs.node_price(int(plan.problem.node_groups.sku[p]), int(t)).value
        rent += held(price, -ends_y[t + lead], in_service)
    terms = {name: one.value for name, one in plan.ledger.usd_terms.items()}
    bills = sum(terms.get(f"{name}_usd", 0.0) for name in view_lines.BILLS)
    rows = {row["line"]: row for row in plan_tables(plan)["views"]}

    assert rows["In all"]["economic_usd"] == pytest.approx(solution.usd, rel=1e-9)
    assert bills + rent + friction + terms["ordered_usd"] == pytest.approx(solution.usd, rel=1e-3)
    assert rows["Upkeep, space, electricity, rent, premiums, carriage"]["cash_usd"] == pytest.approx(bills)


def test_cash_is_price_bills_and_sales_when_they_are_paid(bought_and_sold: Plan) -> None:
    """The deposit with the order, the rest on delivery, bills by the day, sales a quarter later."""
    tables = plan_tables(bought_and_sold)
    months = {row["month"]: row for row in tables["cash"]}
    views = last(tables["views"])

    for column, key, share in (("deposits_usd", "order_by", 0.3), ("deliveries_usd", "arrives", 0.7)):
        wanted: dict[str, float] = {}
        for row in tables["purchases"]:
            month = row[key][:7]
            wanted[month] = wanted.get(month, 0.0) + share * row["capex_usd"]
        assert {name: row[column] for name, row in months.items() if row[column]} == pytest.approx(wanted)
    assert sum(row["bills_usd"] for row in months.values()) == pytest.approx(
        sum(row["bills_usd"] for row in tables["accounts"])
    )
    sold = [row for row in tables["disposals"] if row["period"] == "2027 Q1"]
    paid = -sum(row["sales_usd"] for name, row in months.items() if name == "2027-04")
    assert sold
    assert paid == pytest.approx(sum(row["proceeds_usd"] for row in sold))
    assert last(tables["cash"])["so_far_usd"] == pytest.approx(views["cash_usd"], abs=0.01)


def test_the_accounts_write_off_the_price_and_show_the_gain_of_a_sale(bought_and_sold: Plan) -> None:
    """Over five years in a straight line, whatever the market says."""
    plan, tables = bought_and_sold, plan_tables(bought_and_sold)
    fleet, solution = plan.inputs.scenario.fleet[0], solved(bought_and_sold)
    names = [sku.name for sku in plan.inputs.skus]
    price = plan.inputs.node_price(names.index(fleet.sku), 0).value
    start_y = (plan.inputs.scenario.horizon.start - fleet.in_service).days / 365.25
    year_y = start_y + sum(plan.inputs.scenario.horizon.hours) / 8766.0
    books = [price * max(0.0, 1 - age / 5) for age in (start_y, year_y)]
    kept = int(solution.kept[0, -1])
    bought = sum(
        row["capex_usd"]
        * max(0.0, 1 - (date(2028, 1, 1) - date.fromisoformat(row["arrives"])).days / 365.25 / 5)
        for row in tables["purchases"]
    )

    assert last(tables["accounts"])["book_usd"] == pytest.approx(kept * books[1] + bought, rel=1e-6)
    sold = tables["disposals"][0]
    assert tables["accounts"][0]["loss_usd"] == pytest.approx(sold["nodes"] * books[0] - sold["proceeds_usd"])


@pytest.mark.nightly
def test_the_views_come_out_even_where_nodes_move_and_are_under_contract() -> None:
    """Moves, rebates, a sale again and money counted when it is spent."""
    dear = {"sites.south.electricity_price": "3 USD/kWh", "policy.retirement": "none"}
    moves = [dear | {"moves": [NORTHWARDS | {"downtime": days}]} for days in ("80 d", "100 d")]
    cases: tuple[dict[str, Any], ...] = (
        *moves,
        BUSY | {"market.h100-8.tiers": [{"from_nodes": 1, "rebate": "20 %"}]},
        BUSY | {"policy.objective": "cash"},
    )
    for changes in cases:
        plan = planned(changes)
        tables = plan_tables(plan)
        total, bridge = last(tables["views"]), last(tables["bridge"])
        assert solved(plan).moved.any() == ("moves" in changes)
        assert bridge["to_cash_usd"] == pytest.approx(total["cash_usd"], abs=0.01)
        assert bridge["to_accounts_usd"] == pytest.approx(total["accounts_usd"], abs=0.01)


def test_a_line_that_is_left_out_is_refused(bought_and_sold: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    solution = solved(bought_and_sold)
    monkeypatch.setattr(view_lines, "BILLS", tuple(name for name in view_lines.BILLS if name != "standing"))
    with pytest.raises(Disagreement, match="economic cost"):
        view_tables(bought_and_sold, solution)
    monkeypatch.setattr(unit_costs, "HELD", ("bought", "capital"))
    with pytest.raises(Disagreement, match="all work"):
        unit_costs.unit_cost_records(bought_and_sold, solution)


@pytest.mark.nightly
def test_what_is_worth_nothing_at_the_end_costs_more(bought_and_sold: Plan) -> None:
    """At present value; by the month, with the value of today's fleet before and that of the end after."""
    tables = plan_tables(bought_and_sold)
    going, sold, nothing = tables["present_value"]
    paid = sum(
        row["cash_usd"]
        / (1 + RATE) ** ((date.fromisoformat(f"{row['month']}-15") - date(2027, 1, 1)).days / 365.25)
        for row in tables["cash"]
    )

    assert going["present_usd"] < sold["present_usd"] < nothing["present_usd"]
    assert going["paid_usd"] == pytest.approx(paid)
    end_y = 8760 / 8766
    assert going["left_usd"] * (1 + RATE) ** end_y == pytest.approx(last(tables["accounts"])["value_usd"])


@pytest.mark.nightly
def test_a_longer_life_adds_bills_and_less_capital_each_year(bought_and_sold: Plan) -> None:
    rows = plan_tables(bought_and_sold)["life_cost"]
    three, four, five = rows

    assert [row["over"] for row in rows] == ["3 years", "4 years", "5 years"]
    yearly = four["later_bills_usd"] - three["later_bills_usd"]
    assert five["later_bills_usd"] - four["later_bills_usd"] == pytest.approx(yearly)
    falls = np.diff([row["later_capital_usd"] for row in rows])
    assert 0 < falls[1] < falls[0]
    assert three["left_usd"] > four["left_usd"] > five["left_usd"] > 0


def test_a_unit_of_work_costs_its_nodes_and_its_electricity(bought_and_sold: Plan) -> None:
    """Tokens by hand: requests of the mean hour, their prompts and answers."""
    plan, tables = bought_and_sold, plan_tables(bought_and_sold)
    service = plan.inputs.scenario.services[0]
    prompt, answer = (float(one.value) for one in request_tokens(plan.inputs, service))
    rows = {row["work"]: row for row in tables["unit_costs"]}
    seconds = 3600.0 * np.array(plan.inputs.scenario.horizon.hours)
    mean = np.array(service.peak_requests_per_s) * service.mean_to_peak_fraction
    row = rows[service.name]

    assert row["amount"] == pytest.approx(float((mean * seconds).sum()) * (prompt + answer) / 1e6)
    assert row["usd_per_unit"] == pytest.approx(row["usd"] / row["amount"])
    assert sum(row["usd"] for row in rows.values()) == pytest.approx(plan.ledger.cost.value)
    assert sum(row["kgco2e"] for row in rows.values()) == pytest.approx(plan.ledger.carbon.value)
    for one in tables["accelerator_hours"]:
        here = [row for row in tables["use"] if (row["site"], row["sku"]) == (one["site"], one["sku"])]
        assert one["accelerator_h"] == pytest.approx(8 * sum(row["node_h"] for row in here))
        assert 0 < one["used_fraction"] <= 1 + 1e-9


def test_one_job_costs_what_its_plan_costs() -> None:
    """A plan of one job alone: all that is not idle is its run's."""
    plan = trained({})
    rows = {row["work"]: row for row in plan_tables(plan)["unit_costs"]}
    assert sum(row["usd"] for row in rows.values()) == pytest.approx(plan.ledger.cost.value)
    job = plan.inputs.scenario.training[0].name
    assert rows[job]["amount"] == 1
    assert rows[job]["usd_per_unit"] == rows[job]["usd"] > 0


def test_a_planted_unit_cost_is_refused(bought_and_sold: Plan) -> None:
    document = plan_document(bought_and_sold)
    assert not disagreements(document)
    document["tables"]["unit_costs"][0]["usd"] *= 1.5
    document["tables"]["cash"][2]["bills_usd"] *= 3
    places = [place for place, _ in disagreements(document)]
    assert any(place.startswith("unit_costs[0].usd") for place in places)
    assert any(place.startswith("cash[2].bills_usd") for place in places)
    assert any("added up over unit_costs" in place for place in places)


def test_the_life_of_the_accounts_is_a_fact() -> None:
    assert load_catalogue().fact("finance.capex_life").value == 5.0


@pytest.fixture(scope="module")
def beside_others() -> Plan:
    """A busy fleet with all plans next to it."""
    return plan_fleet(with_changes(parse_scenario(FLEET), BUSY), baselines=True)


def test_npv_is_the_present_cost_of_another_plan_less_that_of_this_one(beside_others: Plan) -> None:
    """A plan of its own with every node kept gives the present cost that stands beside."""
    tables = plan_tables(beside_others)
    alone = with_changes(parse_scenario(FLEET), BUSY | {"policy.retirement": "end of life"})
    kept = plan_tables(plan_fleet(alone, baselines=False))
    rows = [row for row in tables["npv"] if row["against"] == "keep everything"]

    assert len(rows) == 3
    for row, mine, theirs in zip(rows, tables["present_value"], kept["present_value"], strict=True):
        assert row["end"] == mine["end"]
        assert row["baseline_present_usd"] == pytest.approx(theirs["present_usd"], rel=1e-6)
        assert row["npv_usd"] == pytest.approx(theirs["present_usd"] - mine["present_usd"], rel=1e-6)


@pytest.mark.nightly
def test_npv_of_usual_practice_is_by_its_own_options(beside_others: Plan) -> None:
    """Planned again as a scenario of its own."""
    usual = plan_fleet(usual_practice(with_changes(parse_scenario(FLEET), BUSY)), baselines=False)
    going, *_ = plan_tables(usual)["present_value"]
    row = next(row for row in plan_tables(beside_others)["npv"] if row["against"] == "usual practice")

    assert row["baseline_present_usd"] == pytest.approx(going["present_usd"], rel=1e-6)


def test_further_cash_is_back_when_the_sums_meet_for_good() -> None:
    """By hand: 3 paid ahead in January, 1 saved in each month after; and three that never pay."""
    saved = {"2027-01": -3.0, "2027-02": 1.0, "2027-03": 1.0, "2027-04": 1.0}
    start = date(2027, 1, 1)

    assert pays_back(saved) == "2027-04"
    assert _payback_text(pays_back(saved), start) == "after 4 months (2027-04)"
    assert pays_back({"2027-01": -1.0, "2027-02": 2.0, "2027-03": -5.0}) is None
    assert _payback_text(None, start) == "never within the horizon"
    assert _payback_text(pays_back({"2027-01": 1.0, "2027-02": -0.5}), start) == "at once"


def test_what_a_plan_next_to_it_leaves_undone_is_told_with_its_present_cost() -> None:
    """Penalties are no cash: a plan that buys nothing and serves little looks cheap without them."""
    dear = BUSY | {"services.chat.unmet_penalty": "0.01 USD"}
    plan = plan_fleet(with_changes(parse_scenario(FLEET), dear))
    tables = plan_tables(plan)
    (row,) = [one for one in plain_rows(tables["npv"]) if one["against"] == NO_PURCHASES][:1]
    without = plan.baselines[NO_PURCHASES].solution
    assert without is not None
    assert row["baseline_penalties_usd"] == pytest.approx(without.usd_terms.unmet.sum())
    assert row["baseline_penalties_usd"] > 1e5
    said = " ".join(npv_sentence(plain_rows(tables["npv"])))
    assert "'no purchases'" in said
    assert "it leaves work undone at penalties of" in said
