"""Buying under contract, moving, keeping past a life, selling, and what money counts, by hand sums.

One small fleet at a dear and dirty site beside a cheap and clean one, with one service; every plan is solved
to a gap of 0, and every ledger agrees with the solver's sums or raises.
"""

from __future__ import annotations

import math
from ast import literal_eval
from functools import cache
from typing import Any

import numpy as np
import pytest
from plain import plain

from planner.answers.plan.document import plan_document
from planner.answers.plan.summary import why_this_plan
from planner.answers.plan.tables import plan_tables
from planner.inputs.scenario import ScenarioError, load_scenario, parse_scenario, with_changes
from planner.physics.existing_fleet import extra_parts_usd, up_fraction
from planner.physics.procurement import rebated_usd
from planner.program.plan import Plan, plan_fleet
from planner.report.page import to_html
from planner.report.text import to_markdown
from planner.trace.explain import explain
from solver.backend import Status
from solver.problem import Solution

FLEET = """
title = "A dear site and a cheap one"
horizon = { start = 2027-01-01, periods = 4, period = "quarter" }
reliability = { failures = "meta-rsc-1", restart = "10 min", repair = "5 d", spare_confidence = 0.9 }
policy = { objective = "money", discount_rate = "8 %", node_life = "5 y" }
solve = { gap = "0 %" }

[[sites]]
name = "north"
grid_intensity = "50 g/kWh"
pue = 1.1
power_cap = "400 kW"
space_price = "184.06 USD/kW/month"
racks = 20
electricity_price = "60 USD/MWh"

[[sites]]
name = "south"
grid_intensity = "400 g/kWh"
pue = 1.2
power_cap = "400 kW"
space_price = "184.06 USD/kW/month"
racks = 20
electricity_price = "120 USD/MWh"

[[fleet]]
sku = "a100-80-8"
site = "south"
nodes = 8
in_service = 2021-07-01

[[market]]
sku = "h100-8"
price = "250 kUSD"
lead_time = "0 d"

[[services]]
name = "chat"
model = "llama-3-8b"
precision = "bf16"
tokens_in = 1000
tokens_out = 200
peak_rate = "40 /s"
mean_to_peak = 0.5
first_token = "1 s"
per_token = "50 ms"
availability = 0.9
"""
YEAR_H = 8766.0  # of the mean year
HORIZON_H = 8760.0  # 2027 has 365 days
BUSY = {"services.chat.peak_rate": "2500 /s"}
NORTHWARDS = {"from": "south", "to": "north", "cost": "1 kUSD", "downtime": "0 d"}


def planned(changes: dict[str, Any] | None = None) -> Plan:
    return _planned(repr(changes or {}))


@cache
def _planned(changes: str) -> Plan:
    """The plan of the fleet with changes, solved once."""
    return plan_fleet(with_changes(parse_scenario(FLEET), literal_eval(changes)), baselines=False)


def solved(plan: Plan) -> Solution:
    assert plan.answer.status is Status.OPTIMAL
    assert plan.answer.solution is not None
    return plan.answer.solution


def bought(plan: Plan) -> int:
    return int((solved(plan).orders * plan.problem.node_groups.order_unit_nodes[:, None]).sum())


def term(plan: Plan, name: str) -> float:
    return float(plan.ledger.usd_terms[f"{name}_usd"].value)


def headline(plan: Plan) -> str:
    return " ".join(why_this_plan(plan)[0])


def steps(plan: Plan, name: str) -> str:
    """The explanation of a term of cost or carbon."""
    total, _, what = name.partition(".")
    ledger = plan.ledger
    terms = ledger.usd_terms if total == "cost" else ledger.kgco2e_terms
    return explain(terms[f"{what}_{'usd' if total == 'cost' else 'kgco2e'}"]).to_text()


def first_year_charge(price: float) -> float:
    """Interest and fall of value over the horizon of a new node that keeps 78 % of its value in a year."""
    end = price * 0.78 ** (HORIZON_H / YEAR_H)
    return (price - end) * (1 - math.log(1.08) / math.log(0.78))


# What a person may write


def test_every_problem_of_what_is_owned_is_told_at_once() -> None:
    """Each with its place and a remedy."""
    wrong = FLEET.replace(
        "in_service = 2021-07-01",
        'in_service = 2021-07-01\nextend_to = "8 y"\nresale_decline = 0.1',
    ).replace(
        'lead_time = "0 d"',
        'lead_time = "0 d"\nsupply_nodes = 2\nminimum_nodes = 9\n'
        'tiers = [{ from_nodes = 4, rebate = "5 %" }, { from_nodes = 6, rebate = "4 %" }]',
    )
    wrong += """
[[moves]]
from = "south"
to = "south"
cost = "1 kUSD"
downtime = "0 d"
distance = "1 km"
carbon = "1 kg"

[[moves]]
sku = "h100-8"
from = "south"
to = "east"
cost = "1 kUSD"
downtime = "0 d"
"""

    with pytest.raises(ScenarioError) as error:
        parse_scenario(wrong, "s.toml")

    assert [line.removeprefix("s.toml: ") for line in str(error.value).splitlines()] == [
        "moves[1].to: 'east' is no site here; there is north, south",
        'fleet[0].extend_to: needs a life to go beyond: write for example life = "6 y", or remove it',
        'fleet[0].resale_decline: has no effect: write for example resale = "8 kUSD", or remove it',
        "market.h100-8.minimum_nodes: 9 is more than the supply of the horizon, 8: lower it, or raise "
        "supply_nodes",
        "market.h100-8.tiers[1]: does not rise: 6 nodes and 0.04 come after 4 and 0.05; write more nodes and "
        "a higher rebate",
        "moves[0].to: 'south' is where they already are: write another site",
        "moves[0]: distance and carbon say the same thing twice: keep one",
        "moves[1].from: the fleet has no 'h100-8' at 'south': write a site that has it, or remove the move",
    ]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"fleet[0].resale": "8 kUSD", "policy.residual_value": 0, "policy.node_life": "5 y"},
            "fleet[0].resale: is above zero, and policy.residual_value = 0 makes a node of 5.5 years worth "
            "nothing after policy.node_life, 5 years: remove one, or write a longer life",
        ),
        (
            {"reliability.repair": "0 h"},
            "reliability.repair: '0 h' is out of range: write a value above 0 and up to 8,766 h",
        ),
        (
            {"fleet[0].life": "6 y", "fleet[0].extend_to": "5 y"},
            "fleet[0].extend_to: 5 y is not beyond life, 6 y: write a longer time, or remove it",
        ),
        (
            {"fleet[0].life": "6 y", "fleet[0].extension_cost": "1 kUSD/y"},
            'fleet[0].extension_cost: has no effect: write for example extend_to = "8 y", or remove it',
        ),
        (
            {"market.h100-8.tiers": [{"from_nodes": 4}]},
            "market.h100-8.tiers[0].rebate: is missing: write for example rebate = 0.05",
        ),
        (
            {"market.h100-8.tiers": 3},
            "market.h100-8.tiers: 3 is not a table: begin each with [[market.tiers]]",
        ),
    ],
)
def test_a_life_and_a_contract_are_checked(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError) as error:
        with_changes(parse_scenario(FLEET), changes)

    assert said in str(error.value).removeprefix("scenario: ").splitlines()


def test_an_old_scenario_has_none_of_it() -> None:
    """No carriage, no loss of nodes, no end of life; any node may go, at what its sale takes."""
    plan = planned()
    problem = plan.problem

    assert "moved_usd" not in plan.ledger.usd_terms
    assert (problem.cohorts.available_fraction == 1).all()
    assert (problem.cohorts.must_retire_by == 4).all()
    assert problem.cohorts.may_retire.all()
    assert (problem.cohorts.retire_usd_per_node > 2000).all()
    assert (len(problem.moves), len(problem.tiers)) == (0, 0)


# Buying


@pytest.mark.nightly
def test_a_rebate_is_worth_its_share_of_the_capital_of_every_node() -> None:
    """11 nodes either way; a fifth of their capital charge is saved, and a fifth of the cash."""
    tiers = {"market.h100-8.tiers": [{"from_nodes": 8, "rebate": "20 %"}]}
    busy = {"services.chat.peak_rate": "2000 /s"}
    plain, rebated = planned(busy), planned(busy | tiers)
    nodes = bought(plain)
    saved = 0.2 * nodes * first_year_charge(250e3)

    assert bought(rebated) == nodes == 11
    assert solved(plain).usd - solved(rebated).usd == pytest.approx(saved, rel=1e-9)
    assert rebated.ledger.capex.value == pytest.approx(0.8 * 11 * 250e3)
    assert "The contract for h100-8 reaches a rebate of 20.0 % on 11 nodes." in headline(rebated)
    assert "scenario.market.h100-8.tiers[0].rebate" in steps(rebated, "cost.capital")
    assert plan_tables(rebated)["by_period"][0]["capex_usd"] == pytest.approx(0.8 * 11 * 250e3)


def test_a_rebate_draws_orders_up_to_its_tier() -> None:
    """Two nodes are best at the list price; at half the price from three on, three are."""
    busy = {"services.chat.peak_rate": "300 /s"}
    tiers = {"market.h100-8.tiers": [{"from_nodes": 3, "rebate": "50 %"}]}

    assert bought(planned(busy)) == 2
    assert bought(planned(busy | tiers)) >= 3


def test_a_minimum_order_is_none_or_at_least_that() -> None:
    """With orders in the first quarter only, two nodes are best alone; of none and twelve, it is one."""
    busy = {"services.chat.peak_rate": "300 /s", "market.h100-8.supply_nodes": [99, 0, 0, 0]}
    free, bound = planned(busy), planned(busy | {"market.h100-8.minimum_nodes": 12})

    assert bought(free) == 2
    assert bought(bound) in (0, 12)
    assert solved(bound).usd > solved(free).usd


@pytest.mark.nightly
def test_cash_counts_the_price_when_ordered_and_no_capital() -> None:
    """As many nodes are bought as by economic cost; the rest is price, upkeep, people, space and energy."""
    busy = {"services.chat.peak_rate": "600 /s"}
    spread, cash = planned(busy), planned(busy | {"policy.objective": "cash"})
    upkeep = cash.assembled.nodes.kept_usd.value
    held = solved(cash).bought_in_service

    assert (bought(spread), bought(cash)) == (2, 2)
    assert term(cash, "ordered") == pytest.approx(2 * 250e3)
    assert term(cash, "bought") == pytest.approx(float((held * upkeep).sum()))
    bills = ("bought", "standing", "serving", "deployed", "idle", "space")
    assert solved(cash).usd == pytest.approx(2 * 250e3 + sum(term(cash, name) for name in bills))
    assert "with purchases counted in full" in headline(cash)
    assert "scenario.market.h100-8.price" in steps(cash, "cost.ordered")
    assert plan_tables(cash)["by_period"][0]["cost_usd"] > 2 * 250e3


def test_a_rebate_lowers_cash() -> None:
    """Fifteen nodes at four fifths of 250 kUSD."""
    tiers = {"market.h100-8.tiers": [{"from_nodes": 4, "rebate": "20 %"}], "policy.objective": "cash"}
    plan = planned(BUSY | tiers)

    assert term(plan, "ordered") == pytest.approx(bought(plan) * 200e3)


@pytest.mark.parametrize("stated", [None, "0 %", "40 %"])
def test_the_residual_value_is_ones_own_where_stated(stated: str | None) -> None:
    """Capital cost of 250 kUSD to the end: by the market, or down a straight line over five years."""
    plan = planned({} if stated is None else {"policy.residual_value": stated})
    group = plan.problem.node_groups.sku.tolist().index(plan.problem.sku_names.index("h100-8"))
    years = HORIZON_H / YEAR_H
    wanted = first_year_charge(250e3)
    if stated is not None:
        fall = 250e3 * (1 - float(stated.removesuffix(" %")) / 100) * years / 5
        wanted = fall + math.log(1.08) * (250e3 - fall / 2) * years

    charge = plan.problem.node_groups.order_usd_per_node[group, 0]
    assert charge == pytest.approx(wanted, rel=1e-4 if stated else 1e-9)


def test_rebates_by_hand() -> None:
    """A tenth off 200."""
    assert rebated_usd(price_usd=200.0, rebate_fraction=0.1) == pytest.approx(180.0)


# Keeping and selling


def test_nodes_are_gone_from_the_period_in_which_their_life_ends() -> None:
    """Six years from July 2021 end on 1 July 2027 at noon: two quarters serve, the third may not."""
    plan = planned({"fleet[0].life": "6 y"})

    assert plan.problem.cohorts.must_retire_by.tolist() == [2]
    assert solved(plan).kept[0].tolist() == [1, 1, 0, 0]
    assert bought(plan) == 1


def test_an_extension_is_paid_by_the_hour_past_the_life() -> None:
    """184 days less half a day past the life: 4,404 h of 6 kUSD a year, for the one node that is kept."""
    life = {"fleet[0].life": "6 y", "fleet[0].extend_to": "8 y"}
    free, paid = planned(life), planned(life | {"fleet[0].extension_cost": "6 kUSD/y"})

    assert solved(paid).kept[0].tolist() == [1, 1, 1, 1]
    assert term(paid, "standing") - term(free, "standing") == pytest.approx(6000 / YEAR_H * 4404, rel=1e-9)
    assert "Keep 1 node of a100-80-8 at south past their life of 6 y, until 2027 Q4" in headline(paid)
    assert "scenario.fleet[0].extension_cost" in steps(paid, "cost.standing")


def test_a_dear_extension_buys_new_nodes() -> None:
    """At 300 kUSD a year the two quarters past the life cost more than a new node."""
    life = {"fleet[0].life": "6 y", "fleet[0].extend_to": "8 y", "fleet[0].extension_cost": "300 kUSD/y"}

    assert solved(planned(life)).kept[0].tolist() == [1, 1, 0, 0]


def test_ageing_past_a_life_costs_parts_and_nodes() -> None:
    """Where failures rise 20-fold a year, old nodes go; the share that is up falls as failures say."""
    life = {"fleet[0].life": "6 y", "fleet[0].extend_to": "8 y", "services.chat.peak_rate": "400 /s"}
    calm, fast = planned(life), planned(life | {"facts.reliability.ageing": "20 /y"})
    up = fast.problem.cohorts.available_fraction[0]

    assert solved(calm).kept[0, -1] == 8
    assert solved(fast).kept[0, -1] == 0
    assert up[:2].tolist() == [1, 1]
    assert 0 < up[3] < up[2] < 1


def test_ageing_by_hand() -> None:
    """Down half of the time at a rate of 1/R, a fifth at a quarter of it; 3 more failures in 1,000 h."""
    up = up_fraction(failure_rate_per_node_h=0.01, usual_failure_rate_per_node_h=0.0025, repair_h=100.0)
    parts = extra_parts_usd(
        failure_rate_per_node_h=0.004,
        usual_failure_rate_per_node_h=0.001,
        hours_h=1000.0,
        replacement_fraction=0.2,
        price_usd=200e3,
        accelerators=8.0,
    )

    assert up == pytest.approx(0.7)
    assert parts == pytest.approx(3 * 0.2 * 25e3)


def test_a_stated_resale_takes_the_place_of_the_market() -> None:
    """Holding costs its fall and interest, and a sale takes nothing more: all that is not needed goes."""
    sold, dear = planned({"fleet[0].resale": "8 kUSD"}), planned({"fleet[0].resale": "120 kUSD"})
    held = solved(sold).kept.sum(axis=0)

    assert held.tolist() == [1, 1, 1, 1]
    assert term(sold, "retired") == 0
    assert "Sell 7 nodes of a100-80-8 at south in 2027 Q1 for 56.0 kUSD" in headline(sold)
    assert "scenario.fleet[0].resale" in steps(sold, "cost.standing_capital")
    # What one brings is what keeping the one node costs more.
    dearer = term(dear, "standing_capital") if solved(dear).kept[0, -1] else 0.0
    assert dearer == pytest.approx(15 * term(sold, "standing_capital") if dearer else 0.0)


def test_a_stated_decline_takes_the_place_of_the_market() -> None:
    """8 kUSD that lose a quarter a year: the fall and the interest on it, in hand sums; disposal is paid."""
    falls = planned({"fleet[0].resale": "8 kUSD", "fleet[0].resale_decline": "25 %"})
    end = 8000 * 0.75 ** (HORIZON_H / YEAR_H)
    by_hand = (8000 - end) * (1 - math.log(1.08) / math.log(0.75))
    assert term(falls, "standing_capital") == pytest.approx(by_hand, rel=1e-6)

    away = planned({"fleet[0].resale": "-500 USD"})
    assert term(away, "standing_capital") == 0
    assert term(away, "retired") == pytest.approx(7 * 500)
    assert "Pay for the disposal of 7 nodes" in headline(away)


# Moving


def test_a_node_moves_to_the_cheap_and_clean_site() -> None:
    """Its carriage and the carbon of 123.2 kg over 1,000 km by road are the only terms that are new."""
    stay, move = planned(), planned({"moves": [NORTHWARDS]})
    solution = solved(move)

    assert solution.moved.sum() == 1
    assert solution.kept[:, -1].tolist() == [0, 1]
    assert term(move, "moved") == pytest.approx(1000.0)
    assert move.ledger.kgco2e_terms["moved_kgco2e"].value == pytest.approx(123.2 * 1000 * 5.04e-5)
    assert solution.usd < solved(stay).usd
    assert solution.kgco2e < 0.2 * solved(stay).kgco2e
    assert "Move 1 node of a100-80-8 from south to north in 2027 Q1 for 1.00 kUSD" in headline(move)
    assert "scenario.moves[0].cost" in steps(move, "cost.moved")
    assert "transport.truck.intensity" in steps(move, "carbon.moved")
    assert plan_tables(move)["moves"][0]["to"] == "north"


@pytest.mark.nightly
def test_what_moves_is_in_every_report() -> None:
    """The page and the text show the same table."""
    document = plan_document(planned({"moves": [NORTHWARDS]}))

    assert "What to move" in to_html(document)
    assert "| 2027 Q1 | a100-80-8 | south | north | 1 |" in to_markdown(document)


def test_a_dear_move_is_not_made() -> None:
    """The cheap site saves about 1,700 USD a year: 3 kUSD are not worth it."""
    assert not solved(planned({"moves": [NORTHWARDS | {"cost": "3 kUSD"}]})).moved.any()


def test_downtime_counts_by_its_days() -> None:
    """14 days are a part of the quarter of arrival; 100 days a quarter that is paid for, and the rest."""
    short = planned({"moves": [NORTHWARDS | {"downtime": "14 d", "carbon": "60 kg"}]}).problem
    long = planned({"moves": [NORTHWARDS | {"downtime": "100 d"}]}).problem
    days, keep = np.array([90, 91, 92, 92]), long.cohorts.keep_usd_per_node

    assert short.moves.lead_periods.tolist() == [0]
    assert short.moves.away_fraction[0] == pytest.approx(14 / days)
    assert short.moves.usd_per_node[0] == pytest.approx(np.full(4, 1000.0))
    assert short.moves.kgco2e_per_node[0] == pytest.approx(np.full(4, 60.0))
    assert long.moves.lead_periods.tolist() == [1]
    assert long.moves.away_fraction[0] == pytest.approx([10 / 91, 9 / 92, 8 / 92, 0.0])
    assert long.moves.usd_per_node[0] == pytest.approx(1000.0 + keep[0])


@pytest.mark.nightly
def test_a_pool_has_the_rest_of_the_period_of_arrival() -> None:
    """800 GPU-hours take a twentieth of a node for a quarter: it moves at once, idle from its arrival on.

    A service needs its node from the first day: where its site goes dark in April, another leaves in winter.
    """
    away = NORTHWARDS | {"downtime": "14 d"}
    pool = '[[pools]]\nname = "tuning"\nmodel = "llama-3-8b"\nreference = "a100-80-8"\ngpu_time = "800 h"\n'
    text = FLEET[: FLEET.index("[[services]]")] + pool
    pooled = plan_fleet(with_changes(parse_scenario(text), {"moves": [away]}), baselines=False)
    rows = [row for row in plan_document(pooled)["tables"]["fleet"] if row["site"] == "north"]
    dark = {"sites[1].power_cap": ["400 kW", "0 kW", "0 kW", "0 kW"]}
    served = solved(planned({"moves": [away], **dark}))

    assert solved(pooled).moved[0].tolist() == [1, 0, 0, 0]
    assert solved(pooled).kept[:, 0].tolist() == [0, 1]
    assert rows[0]["under_way_nodes"] == pytest.approx(14 / 90)
    assert rows[0]["used_nodes"] > 0
    left = 1 - 14 / 90 - rows[0]["used_nodes"]
    assert rows[0]["idle_nodes"] == pytest.approx(left)
    assert plan_document(pooled)["tables"]["moves"][0]["in_service"] == "2027-01-15"
    assert served.moved[0].tolist() == [1, 0, 0, 0]
    assert served.kept[:, 0].tolist() == [1, 1]
    assert served.kept[:, 1].tolist() == [0, 1]


def test_what_moved_keeps_its_age() -> None:
    """A life that ends in July ends in July at the other site, too."""
    plan = planned({"moves": [NORTHWARDS], "fleet[0].life": "6 y"})

    assert plan.problem.cohorts.must_retire_by.tolist() == [2, 2]
    assert solved(plan).kept[:, 2:].max() == 0


# Limits


def test_a_carbon_cap_of_each_period_holds_in_each() -> None:
    """The old node emits about 2.6 t in a quarter at the dirty site: under 1 t work goes to the clean one."""
    plan = planned({"policy.carbon_cap_by_period": "1 t"})

    assert solved(plan).kgco2e_terms.by_period().max() <= 1000 * (1 + 1e-6)
    assert solved(plan).usd > solved(planned()).usd
    rows = [row for row in plan_tables(plan)["limits"] if row["limit"] == "carbon cap"]
    assert [row["allowed"] for row in rows] == [1000.0] * 4


def test_a_money_cap_below_the_cheapest_plan_is_named() -> None:
    """The cheapest plan costs 26.3 kUSD."""
    plan = planned({"policy.money_cap": "20 kUSD"})
    document = plan_document(plan)
    short = solved(planned()).usd - 20e3

    assert plan.answer.status is Status.INFEASIBLE
    assert "A plan exists if one of these gives way: money cap" in document["headline"][0]
    family = next(each for each in document["clash"]["families"] if each["family"] == "money cap")
    assert family["rows"][0]["by"] == pytest.approx(short, rel=1e-3)


@pytest.mark.nightly
def test_a_shipped_scenario_takes_all_of_it_at_once() -> None:
    """Everything beside everything else: the ledger agrees with the solver's sums, or raises."""
    scenario = with_changes(
        load_scenario(plain("serving-only")),
        {
            "solve.gap": "50 %",  # any plan will do: what is compared is how it is counted
            "policy.objective": "cash",
            "moves": [{"from": "virginia", "to": "california", "cost": "2 kUSD", "downtime": "30 d"}],
            "fleet[0].life": "5 y",
            "fleet[0].extend_to": "7 y",
            "fleet[0].resale": "20 kUSD",
            "market.l40s-8.tiers": [{"from_nodes": 2, "rebate": "10 %"}],
            "market.h100-8.minimum_nodes": 4,
        },
    )

    plan = plan_fleet(scenario, baselines=False)
    assert plan.answer.solution is not None
    assert plan.ledger.cost.value == pytest.approx(plan.answer.solution.usd)


def test_a_service_may_have_no_requests_in_a_period() -> None:
    """Before its launch and in a break nothing serves it, and the document closes."""
    plan = planned({"services.chat.peak_rate": ["0 /s", "40 /s", "0 /s", "40 /s"]})
    serving = [row["period"] for row in plan_document(plan)["tables"]["services"]]

    assert (solved(plan).replicas.sum(axis=0) > 0).tolist() == [False, True, False, True]
    assert sorted(set(serving)) == ["2027 Q2", "2027 Q4"]


def test_where_carbon_comes_first_sold_nodes_do_not_lack_work() -> None:
    """Next to a plan of least carbon, one that keeps the nodes may be cheaper: money is no reason, then."""
    first = {"policy.objective": "lexicographic", "policy.first": "carbon", "policy.tolerance": "2 %"}
    plan = plan_fleet(with_changes(parse_scenario(FLEET), first), baselines=False)
    solution = plan.answer.solution
    assert solution is not None
    assert solution.retired.sum() > 0
    said = " ".join(why_this_plan(plan)[1])
    assert "because the plan of least carbon has no work for them" in said
    labels = [total["label"] for total in plan_document(plan)["totals"]]
    assert "What the program minimised second, after carbon" in labels
    reasons = {row["because"] for row in plan_tables(plan)["disposals"]}
    assert reasons == {"no work in the plan of least carbon"}
