"""Market-based plans: contracts by hand sums, and the location-based figure beside them."""

from __future__ import annotations

import json

import pytest
from explained import explained
from test_plan_questions import TEXT, WIDE, planned, scenario

from planner.answers.plan.document import plan_document
from planner.answers.plan.ranges import ranged_totals
from planner.answers.plan.summary import why_this_plan
from planner.answers.plan.tables import plan_tables
from planner.inputs.scenario import ScenarioError, parse_scenario, with_changes
from planner.program.plan import Plan, plan_fleet
from planner.report.data import to_json
from planner.trace.explain import explain, explanation_from
from planner.trace.quantities import Derived, Traced
from planner.trace.recomputation import recompute
from planner.trace.records import plain_rows
from planner.trace.uncertainty import ranged_facts, spread

CONTRACTS = """
[[contracts]]
name = "wind"
site = "oregon"
price_premium = "5 USD/MWh"
volume = "30 MWh"

[[contracts]]
name = "sun"
site = "virginia"
price_premium = "6 USD/MWh"
power = "8 kW"
intensity = "20 g/kWh"
level = true
"""
MARKET = {"policy.accounting": "market", "sites.oregon.market_intensity": "300 g/kWh"}


def with_contracts(changes: dict[str, object] | None = None) -> Plan:
    text = TEXT.replace('accounting = "location"', "").replace(
        'objective = "weighted"', 'objective = "weighted"\naccounting = "market"'
    )
    changed = WIDE | MARKET | (changes or {})
    return plan_fleet(with_changes(parse_scenario(text + CONTRACTS), changed), baselines=False)


@pytest.mark.nightly
def test_a_contract_is_paid_and_avoids_what_it_covers() -> None:
    """By hand: 30 MWh a quarter at 5 USD/MWh, each in place of 300 g/kWh; the sun in place of the grid."""
    plan = with_contracts()
    rows = {(r["contract"], r["period"]): r for r in plan_tables(plan)["contracts"]}

    for period in ("2027 Q1", "2027 Q2"):
        wind = rows["wind", period]
        assert wind["matched_kwh"] == pytest.approx(30_000)
        assert wind["premium_usd"] == pytest.approx(150)
        assert wind["avoided_kgco2e"] == pytest.approx(9_000)
    sun = [rows["sun", period]["matched_kwh"] for period in ("2027 Q1", "2027 Q2")]
    assert sun == pytest.approx([8 * 90 * 24, 8 * 91 * 24])  # level: the same 8 kW in each period
    assert plan.ledger.usd_terms["contract_usd"].value == pytest.approx(300 + 0.006 * sum(sun))


def test_without_contracts_only_the_factors_differ() -> None:
    """At the location's factors a market-based plan is the location-based one, and so are both figures."""
    location, market = planned(WIDE), planned(WIDE | {"policy.accounting": "market"})
    reference = market.ledger.location_carbon

    assert location.ledger.location_carbon is None
    assert reference is not None
    assert market.ledger.carbon.value == pytest.approx(location.ledger.carbon.value)
    assert reference.value == pytest.approx(location.ledger.carbon.value)


def test_a_plan_that_buys_clean_energy_does_not_decide_as_the_cheapest() -> None:
    """The cheapest plan pays no premium; that the two decide the same was said of the nodes alone."""
    text = TEXT.replace('accounting = "location"', "").replace(
        'objective = "weighted"', 'objective = "weighted"\naccounting = "market"'
    )
    plan = plan_fleet(with_changes(parse_scenario(text + CONTRACTS), WIDE | MARKET))
    solution = plan.answer.solution
    assert solution is not None
    said = " ".join(why_this_plan(plan)[1])
    assert solution.matched_kwh.sum() > 0
    assert "decides the same" not in said
    assert "clean energy: " in said
    assert "(cost only: none)" in said


def test_a_contract_leaves_the_location_based_figure_as_it_is() -> None:
    """The same fleet with and without contracts draws the same energy from the same grids."""
    bare = planned(WIDE | MARKET | {"sites.oregon.market_intensity": "80 g/kWh"})
    bought = with_contracts({"sites.oregon.market_intensity": "80 g/kWh"})
    plans = [each.answer.solution for each in (bare, bought)]
    assert plans[0] is not None
    assert plans[1] is not None
    assert bare.ledger.location_carbon is not None
    assert bought.ledger.location_carbon is not None
    same_fleet = (plans[0].orders == plans[1].orders).all()
    if same_fleet and plans[0].work_node_h == pytest.approx(plans[1].work_node_h):
        assert bought.ledger.location_carbon.value == pytest.approx(bare.ledger.location_carbon.value)
    assert bought.ledger.carbon.value < bare.ledger.carbon.value


def test_both_figures_are_told_and_where_a_factor_stands_in() -> None:
    document = plan_document(with_contracts())
    names = {total["name"]: total["label"] for total in document["totals"]}

    assert names["carbon"] == "Carbon in the horizon, market-based"
    assert names["carbon_location"] == "For comparison: carbon, location-based"
    assert any("of clean energy under wind at oregon" in line for line in document["headline"])
    assert any("never added" in line for line in document["headline"])
    assert any(line.startswith("No residual mix is stated for virginia") for line in document["why"])
    assert explained(document, "carbon.contract").steps[0].name == "contracted_kgco2e"
    assert "GHG Protocol" in explained(document, "carbon.contract").to_text()


def test_a_contract_too_dear_for_what_it_avoids_is_left() -> None:
    """At 200 USD/t, 300 g/kWh are worth 60 USD/MWh: 59 is paid, 61 is not."""
    for premium, bought in (("59 USD/MWh", True), ("61 USD/MWh", False)):
        only = {f"market.{sku}.sites": ["oregon"] for sku in ("h100-8", "b200-8")}
        roomy = only | {"sites.oregon.power_cap": "60 kW"}
        plan = with_contracts(roomy | {"contracts.wind.price_premium": premium})
        assert plan.answer.solution is not None
        assert bool(plan.answer.solution.matched_kwh[0].sum() > 1) is bought


ALL_CLEAN = {
    "contracts.wind.volume": None,
    "contracts.sun.power": None,
    "contracts.sun.level": None,
    "contracts.sun.intensity": None,
    "contracts.wind.price_premium": "1 USD/MWh",
    "contracts.sun.price_premium": "1 USD/MWh",
    "policy.park_idle": True,
}


def electric(plan: Plan) -> list[Traced]:
    """The terms of carbon that energy has, the contracts' last."""
    drawn = [name.removesuffix("kwh") for name in plan.ledger.kwh_terms]
    return [plan.ledger.kgco2e_terms[f"{name}kgco2e"] for name in (*drawn, "contract_")]


def test_contracts_of_all_energy_leave_none_of_its_carbon_whatever_is_drawn() -> None:
    """By definition: all of the energy at 0 g/kWh is nothing, with each fact at either end of its range."""
    plan = with_contracts(ALL_CLEAN)
    terms = electric(plan)
    facts = ranged_facts(*terms)
    held = plan.ledger.energy.value

    assert sum(float(term.value) for term in terms) == pytest.approx(0, abs=1e-6 * -terms[-1].value)
    assert any(recompute([plan.ledger.energy], {f.key: f.high or 0.0})[0] != held for f in facts)
    for fact in facts:
        for end in (fact.low, fact.high):
            again = recompute(terms, {fact.key: end or 0.0})
            assert sum(again) == pytest.approx(0, abs=1e-6 * -again[-1])
    assert spread([plan.ledger.carbon], draws=40)[0].p5 >= 0


def test_less_energy_than_planned_is_never_below_nothing_where_contracts_cover_it() -> None:
    """All energy at 0 g/kWh: in each draw what is left is making and parts; by location it falls and rises.

    It fell below zero where demand did, as the contract stayed and its energy did not.
    """
    plan = with_contracts(ALL_CLEAN)
    solution, ledger = plan.answer.solution, plan.ledger
    assert solution is not None
    assert ledger.location_carbon is not None
    named = {
        "cost": ("Cost", ledger.cost),
        "carbon": ("Carbon", ledger.carbon),
        "carbon_location": ("By location", ledger.location_carbon),
    }
    _, carbon, location = plain_rows(ranged_totals(plan, solution, named, 32)[0])
    made = ledger.carbon.value - sum(float(term.value) for term in electric(plan))
    assert 0 < carbon["p5"] < made
    assert location["p5"] < 0.97 * location["value"]
    assert location["p95"] > 1.03 * location["value"]


def test_a_contract_covers_its_share_up_to_its_limit() -> None:
    """By hand: 30 MWh of wind are all that it holds; a site that draws half as much takes half of them."""
    contract = with_contracts().ledger.kgco2e_terms["contract_kgco2e"]
    assert isinstance(contract, Derived)
    matched = contract.call.inputs["matched_kwh"]
    assert isinstance(matched, Derived)
    given = {name: one.value for name, one in matched.call.inputs.items()}

    again = {
        ratio: matched.call.function(**given | {"drawn_kwh": ratio * given["drawn_kwh"]})
        for ratio in (0.5, 1.0, 2.0)
    }
    assert again[0.5] == pytest.approx(0.5 * again[1.0])
    assert again[2.0][0] == pytest.approx([30_000, 30_000])


def test_a_contract_without_a_limit_says_so() -> None:
    """Here and read back from a file, which writes null for what has no end; one with a limit names it."""
    changed: list[dict[str, object]] = [{"contracts.wind.volume": None}, {}]
    open_ended, limited = (
        explain(with_contracts(changes).ledger.kgco2e_terms["contract_kgco2e"]) for changes in changed
    )
    read_back = explanation_from(json.loads(to_json({"steps": open_ended.to_dict()}))["steps"])

    for shown in (open_ended, read_back):
        assert "limit_kwh = no limit  (chosen)" in shown.to_text()
    assert "limit_kwh = 30,000 kWh  (chosen)" in limited.to_text()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"policy.accounting": "location"}, "count by the market-based method alone"),
        ({"contracts.wind.power": "5 kW"}, "the same limit twice"),
        ({"contracts.wind.site": "texas"}, "is no site here"),
        ({"contracts.sun.name": "wind"}, "give it a name of its own"),
        ({"contracts.wind.price_premium": "5"}, "unit"),
    ],
)
def test_contracts_that_cannot_be(changes: dict[str, object], said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        with_contracts(changes)


def test_a_market_factor_without_its_accounting_is_refused() -> None:
    with pytest.raises(ScenarioError, match="market_intensity: has no effect"):
        scenario({"sites.oregon.market_intensity": "300 g/kWh"})
