"""A plan defended: prices, alternatives, the front, flips, clashes; each against a plan made anew.

The scenario is small enough to be planned to the last cent: fine-tuning on two sites, one with dirtier power.
"""

from __future__ import annotations

import json
import re
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from planner import cli
from planner.answers.plan.alternatives import with_alternatives
from planner.answers.plan.document import plan_document
from planner.answers.plan.limit_prices import with_prices
from planner.answers.tradeoffs.carbon_front import front_document, merged
from planner.answers.tradeoffs.levers import LeverError, levers
from planner.answers.tradeoffs.saving import save_findings
from planner.answers.tradeoffs.sensitivity import sensitivity_document, time_left_text
from planner.inputs.loading import load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, ScenarioError, parse_scenario, with_changes
from planner.program.assembly import assemble
from planner.program.plan import Plan, plan_fleet
from planner.report.page import to_html
from planner.report.shape import answer_json
from planner.report.text import to_markdown
from planner.trace.numbers import money
from solver.backend import Status
from solver.frontier import Front, Point
from solver.ties import changes
from solver.verify import objective_value, verify

TEXT = """
title = "Two sites"

[horizon]
start = 2027-01-01
periods = 2
period = "quarter"

[[sites]]
name = "virginia"
grid = "gcp-us-east4"
pue = 1.12
power_cap = "20 kW"
racks = 20
electricity_price = "70 USD/MWh"

[[sites]]
name = "oregon"
grid = "gcp-us-west1"
pue = 1.1
power_cap = "20 kW"
racks = 20
electricity_price = "75 USD/MWh"

[[market]]
sku = "h100-8"
lead_time = "0 d"
supply_nodes = 8

[[market]]
sku = "b200-8"
lead_time = "0 d"
supply_nodes = 4

[[pools]]
name = "tuning"
model = "llama-3-8b"
reference = "h100-8"
gpu_time = ["80000 h", "120000 h"]
utilisation = 1.0

[reliability]
failures = "meta-rsc-1"
restart = "10 min"
repair = "5 d"
spare_confidence = 0.95

[policy]
objective = "weighted"
carbon_price = "200 USD/t"
discount_rate = "8 %"
node_life = "5 y"

[solve]
gap = "0 %"
"""
WIDE = {"sites.virginia.power_cap": "60 kW", "sites.oregon.power_cap": "30 kW"}
TOO_LITTLE = {"sites.virginia.power_cap": "15 kW", "sites.oregon.power_cap": "15 kW"}


def scenario(changes: dict[str, Any] | None = None) -> Scenario:
    return with_changes(parse_scenario(TEXT), changes or {})


def planned(changes: dict[str, Any] | None = None) -> Plan:
    return plan_fleet(scenario(changes), baselines=False)


@cache
def tight() -> Plan:
    return with_prices(planned(), time_limit_s=20)


def objective(plan: Plan) -> float:
    return plan.answer.objective


# Prices


def test_the_price_of_power_is_what_another_plan_with_more_of_it_saves() -> None:
    """Agreement: the confirmed step is made again by a scenario with just that much more power."""
    plan = tight()
    power = [each for each in plan.prices if each.family == "power" and each.eased is not None]
    assert power

    for each in power:
        assert each.eased is not None
        site, period = (int(number) for number in each.index)
        caps = [20.0, 20.0]
        caps[period] += each.eased.amount
        name = plan.problem.site_names[site]
        wider = planned({f"sites.{name}.power_cap": [f"{cap!r} kW" for cap in caps]})
        assert objective(wider) - objective(plan) == pytest.approx(each.eased.change, abs=1e-3)
        assert each.eased.change <= 1e-6


def test_prices_are_told_in_words_and_in_a_table() -> None:
    """The saving of the sentence is that of the table; work is priced by what less of it saves."""
    document = plan_document(tight())
    rows = {(row["limit"], row["where"], row["period"]): row for row in document["tables"]["prices"]}
    row = rows["power", "oregon", "2027 Q2"]
    line = next(line for line in document["why"] if line.startswith("The power of oregon in 2027 Q2"))

    assert f"{row['more_by']:,.4g} kW more saves {money(-row['more_change'])} (" in line
    assert row["saving_unit"] == "USD"
    assert any("node-hour less saves" in line for line in document["why"])
    page, text = to_html(document), to_markdown(document)
    assert "What one more of each limit is worth" in page
    assert "What one more of each limit is worth" in text


def test_every_limit_says_how_much_is_left() -> None:
    """Definition: left = allowed - used."""
    for row in plan_document(tight())["tables"]["limits"]:
        assert row["left"] == pytest.approx(row["allowed"] - row["used"])


# Alternatives


@pytest.mark.nightly
def test_alternatives_cost_no_more_than_asked_and_decide_otherwise() -> None:
    plan = with_alternatives(planned(WIDE), plans=2, within_fraction=0.05, time_limit_s=20)
    document = plan_document(plan)
    rows = document["tables"]["alternatives"]

    assert len(rows) == 2
    for row in rows:
        assert 0 <= row["excess_fraction"] <= 0.05 + 1e-6
        assert row["distance_fraction"] > 0
        weighted = row["cost_usd"] + 0.2 * row["carbon_kgco2e"]
        assert weighted == pytest.approx(objective(plan) * (1 + row["excess_fraction"]), rel=1e-6)
    assert any(line.startswith("Alternative 1 costs ") for line in document["why"])
    assert any(word in rows[0]["differs"] for word in ("order", "rent", "on "))


# Ties


def test_ties_stand_in_the_first_lines_and_the_plan_has_the_fewest_changes() -> None:
    """Of all plans within 5 % of the bound that were found none asks for less to be done.

    But for one that a plan which it is compared with would beat.
    """
    plan = plan_fleet(scenario(WIDE | {"solve.gap": "5 %"}))
    document = plan_document(plan)
    rows = document["tables"]["ties"]
    solution, problem = plan.answer.solution, plan.problem

    assert solution is not None
    assert rows
    same_rules = [plan.baselines[name] for name in ("cost only", "no purchases", "keep everything")]
    others = [objective_value(problem, one.solution) for one in same_rules if one.solution is not None]
    assert others
    for row, tie in zip(rows, plan.ties, strict=True):
        weighted = row["cost_usd"] + 0.2 * row["carbon_kgco2e"]
        assert weighted == pytest.approx(objective(plan) * (1 + row["excess_fraction"]), rel=1e-6)
        assert weighted <= plan.answer.bound / 0.95 * (1 + 1e-6)
        is_beaten = objective_value(problem, tie.solution) > min(others)
        assert is_beaten or row["changes"] >= changes(problem, solution)
        assert verify(problem, tie.solution, 1e-6) == []
    assert plan.answer.gap_fraction <= 0.05
    assert objective(plan) <= min(others) * (1 + 1e-9)
    near = f"{100 * abs(rows[0]['excess_fraction']):.2f} %"
    assert any(line.startswith(f"A tie, {near}") for line in document["headline"])
    assert "Plans within the gap" in to_markdown(document)


# The front


# The wattage of a node that nobody has or offers.
NOTED = WIDE | {"facts.accelerator.gb200-nvl72.tdp": "1 kW"}
IDLE = "[facts] accelerator.gb200-nvl72.tdp changes nothing: nothing in {} asks for it."


@cache
def front() -> dict[str, Any]:
    return front_document(scenario(NOTED), points=5)


def test_a_front_says_the_notes_of_a_plan() -> None:
    assert front()["sections"]["front"]["said"][-1] == IDLE.format("these plans")


def test_the_ends_of_the_front_are_the_cheapest_and_the_cleanest_plans() -> None:
    """Agreement with plans that only count money, and only carbon."""
    rows = front()["sections"]["front"]["tables"]["points"]
    cheapest = planned(WIDE | {"policy.objective": "money"}).answer.solution
    cleanest = planned(WIDE | {"policy.objective": "carbon"}).answer.solution
    assert cheapest is not None
    assert cleanest is not None

    assert len(rows) == 5
    assert rows[-1]["cost_usd"] == pytest.approx(cheapest.usd, rel=1e-6)
    assert rows[0]["carbon_kgco2e"] == pytest.approx(cleanest.kgco2e, rel=1e-6)
    assert [row["mark"] for row in rows].count("knee") <= 1
    kept = [row for row in rows if row["mark"] != "beaten"]
    assert all(np.diff([row["carbon_kgco2e"] for row in kept]) > 0)
    assert all(np.diff([row["cost_usd"] for row in kept]) < 0)


def test_what_a_tonne_costs_is_the_slope_to_the_next_plan() -> None:
    rows = [r for r in front()["sections"]["front"]["tables"]["points"] if r["mark"] != "beaten"]
    for clean, dirty in pairwise(rows):
        slope = (clean["cost_usd"] - dirty["cost_usd"]) / (dirty["carbon_kgco2e"] - clean["carbon_kgco2e"])
        assert clean["usd_per_tonne_saved"] == pytest.approx(1000 * slope)


def test_a_plan_found_twice_is_one_point() -> None:
    """By construction: of three points the last two are one plan; the knee stays the point that it was."""
    ends = [planned(WIDE | {"policy.objective": kind}).answer for kind in ("carbon", "money")]
    points = tuple(
        Point(cap, answer, answer.solution)
        for cap, answer in zip((1.0, 2.0, 3.0), (*ends, ends[1]), strict=True)
        if answer.solution is not None
    )
    front = Front(points, (False, False, True), 1, True, Status.OPTIMAL)
    once = merged(front)

    assert (once.points, once.dominated, once.knee) == (points[:2], (False, False), 1)
    assert merged(once) == once


def test_a_front_is_saved_whole(tmp_path: Path) -> None:
    paths = save_findings(front(), tmp_path / "front")

    assert {path.name for path in paths} >= {"pareto.html", "pareto.json", "pareto.md", "points.csv"}
    assert "<svg" in (tmp_path / "front" / "pareto.html").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "front" / "pareto.json").read_text(encoding="utf-8")) == json.loads(
        answer_json(front())
    )


# Sensitivity


@pytest.mark.nightly
def test_a_flip_is_where_the_plan_made_anew_is_another() -> None:
    """At `holds_to` the plan keeps the site of its nodes; at `changes_at` a plan made anew leaves it."""
    found = sensitivity_document(scenario(WIDE), vary=["electricity=0.5..2"])
    rows = found["sections"]["flips"]["tables"]["flips"]
    oregon = next(r for r in rows if r["what"].endswith("at oregon") and r["side"] == "above")
    assert oregon["changes_at"] is not None

    def nodes(factor: float) -> list[int]:
        plan = planned(WIDE | {"sites.oregon.electricity_price": f"{75 * factor!r} USD/MWh"})
        assert plan.answer.solution is not None
        return list(plan.answer.solution.orders.ravel())

    assert nodes(oregon["holds_to"]) == nodes(1.0)
    assert nodes(oregon["changes_at"]) != nodes(1.0)
    assert oregon["regret_at_the_end_fraction"] > 0
    assert "order" in oregon["then"]


def test_a_sensitivity_says_how_far_it_is() -> None:
    """Each lever by number, each value that it is tried at, and from the second on how long it may take."""
    heard: list[str] = []
    found = sensitivity_document(scenario(NOTED), vary=["electricity=0.9..1.1"], watch=heard.append)

    assert found["complete"] is True
    assert found["sections"]["flips"]["said"][-1] == IDLE.format("this plan")
    levers_told = [text for text in heard if " of 2: " in text]
    assert levers_told[0] == "1 of 2: price of electricity at virginia"
    assert levers_told[1] == "1 of 2: price of electricity at virginia, at 0.9 times today's"
    second = [text for text in levers_told if text.startswith("2 of 2: ")]
    assert second
    assert all(re.search(r"; about \d+ s left$", text) for text in second)


def test_a_sensitivity_that_is_stopped_keeps_what_is_known() -> None:
    """Stopped when the second lever is begun: the first is told, and that there are more is said."""
    heard: list[str] = []
    found = sensitivity_document(
        scenario(WIDE),
        vary=["electricity=0.9..1.1", "failures=0.9..1.1"],
        watch=heard.append,
        should_stop=lambda: any(text.startswith("2 of 3: ") for text in heard),
    )
    flips = found["sections"]["flips"]

    assert found["complete"] is False
    assert not any(text.startswith("3 of 3") for text in heard)
    assert flips["tables"]["flips"][0]["what"] == "price of electricity at virginia"
    assert flips["said"][-1].startswith("Stopped early: only ")


@pytest.mark.parametrize(
    ("spent_s", "done", "said"),
    [
        (5.0, 0, ""),
        (10.0, 1, "; about 40 s left"),
        (120.0, 2, "; about 3 min left"),
        (9.0, 5, "; about 0 s left"),
    ],
)
def test_the_rest_takes_as_long_each_as_what_is_done(spent_s: float, done: int, said: str) -> None:
    """By hand, of five: four more at 10 s each, three more at 60 s each, none."""
    assert time_left_text(spent_s, done=done, of=5) == said


@pytest.mark.parametrize("path", ["electricity", "grid", "failures", "prices", "carbon_price"])
def test_a_lever_at_its_own_value_changes_no_plan(path: str) -> None:
    """A factor of 1 is the unchanged scenario: the same objective, to rounding."""
    base = planned(WIDE)
    for lever in levers(scenario(WIDE), load_catalogue(), [path]):
        assert objective(plan_fleet(lever.changed(1.0), baselines=False)) == pytest.approx(objective(base))


@pytest.mark.parametrize("stated", [{}, {"price": "30 USD/h", "per": "node"}])
@pytest.mark.parametrize("commitment", ["on demand", "spot", "1 year"])
def test_rent_is_a_lever_by_its_commitment(stated: dict[str, str], commitment: str) -> None:
    """At 1 every hour costs what it did, twice that at 2: as stated for a node, or by the catalogue."""
    offer = {"name": "cloud", "sku": "h100-8", "grid": "us-camx", "commitment": commitment}
    rented = scenario(WIDE | {"rental": [offer | stated]})
    catalogue = load_catalogue()
    (lever,) = levers(rented, catalogue, ["rent"])
    assert lever.name == "price of h100-8 at cloud"
    prices = []
    for one in (rented, lever.changed(1.0), lever.changed(2.0)):
        found = assemble(Inputs(one, catalogue))
        usd = found.reserved.hour_usd if commitment == "1 year" else found.rented.usd
        assert usd is not None
        prices.append(np.asarray(usd.value))
    assert prices[0].sum() > 0
    assert prices[1] == pytest.approx(prices[0])
    assert prices[2] == pytest.approx(2 * prices[0])


def test_a_path_is_varied_in_the_unit_that_is_written() -> None:
    (lever,) = levers(scenario(), load_catalogue(), ["policy.carbon_price=0..400"])
    assert (lever.today, lever.low, lever.high, lever.unit) == (pytest.approx(200), 0, 400, "USD/t")
    assert lever.changed(300).policy.carbon_price_usd_per_kgco2e == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nonsense", "is not understood"),
        ("electricity=2..3", "the factor 1 is today's value"),
        ("electricity=a..b", "is no range of factors"),
        ("policy.carbon_price=300..400 USD/t", "today's value, 200 USD/t, does not lie in that range"),
        ("policy.carbon_price=0..400 kW", "write the unit behind the range"),
        ("sites.virginia.power_cap=1..9 kW", "has a value for each period"),
        ("policy.carbon_price=400..0 USD/t", "the range ends at 0, not above 400: write the low end first"),
        ("title=1..2", "holds no number that could be varied: write a group"),
    ],
)
def test_levers_that_cannot_be(text: str, said: str) -> None:
    with pytest.raises(LeverError, match=said):
        levers(scenario({"sites.virginia.power_cap": ["20 kW", "21 kW"]}), load_catalogue(), [text])


# Clashes, and one objective after the other


@pytest.mark.nightly
def test_a_clash_is_named_by_limits_of_which_any_one_may_go() -> None:
    """Agreement: with either limit of the conflict lifted there is a plan."""
    plan = planned(TOO_LITTLE)
    infeasibility = plan_document(plan)["clash"]

    assert [(row["limit"], row["where"]) for row in infeasibility["conflict"]] == [
        ("power", "virginia"),
        ("power", "oregon"),
        ("work", "tuning"),
    ]
    assert (
        "These cannot be kept together: the power of virginia in 2027 Q2 (sites.virginia.power_cap), "
        "the power of oregon" in infeasibility["text"]
    )
    for site in ("virginia", "oregon"):
        assert planned(TOO_LITTLE | {f"sites.{site}.power_cap": "60 kW"}).answer.solution is not None


def test_a_limit_on_everything_is_said_to_hold_at_all_sites() -> None:
    """The repairs name places as the conflict does: a cap on carbon holds at all sites, in no one period."""
    infeasibility = plan_document(planned(WIDE | {"policy.carbon_cap": "1 kg"}))["clash"]
    (give,) = (
        row for family in infeasibility["families"] for row in family["rows"] if row["limit"] == "carbon cap"
    )

    assert (give["where"], give["period"]) == ("all sites", "")
    assert ("carbon cap", "all sites") in [(row["limit"], row["where"]) for row in infeasibility["conflict"]]


@pytest.mark.parametrize("first", ["carbon", "money"])
def test_one_after_the_other(first: str) -> None:
    """The first is within its tolerance of its best, and no plan within it is better in the second."""
    changes = {"policy.objective": "lexicographic", "policy.first": first, "policy.tolerance": "2 %"}
    plan = planned(WIDE | changes).answer.solution
    alone = planned(WIDE | {"policy.objective": first}).answer.solution
    assert plan is not None
    assert alone is not None
    if first == "carbon":
        capped = {"policy.objective": "money", "policy.carbon_cap": f"{alone.kgco2e * 1.02!r} kg"}
        assert plan.kgco2e <= alone.kgco2e * 1.02 * (1 + 1e-6)
        second = planned(WIDE | capped).answer.solution
        assert second is not None
        assert plan.usd == pytest.approx(second.usd, rel=1e-5)
    else:
        capped = {"policy.objective": "carbon", "policy.money_cap": f"{alone.usd * 1.02!r} USD"}
        assert plan.usd <= alone.usd * 1.02 * (1 + 1e-6)
        second = planned(WIDE | capped).answer.solution
        assert second is not None
        assert plan.kgco2e == pytest.approx(second.kgco2e, rel=1e-5)


def test_the_order_has_to_be_said() -> None:
    with pytest.raises(ScenarioError, match='first = "carbon" or first = "money"'):
        scenario({"policy.objective": "lexicographic"})
    with pytest.raises(ScenarioError, match=r"policy\.tolerance: has no effect"):
        scenario({"policy.tolerance": "1 %"})


# The command line


@pytest.mark.nightly
def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each answers in words and as data; a question that is not understood is wrong input."""
    file = tmp_path / "two.toml"
    file.write_text(TEXT, encoding="utf-8")

    assert cli.main(["pareto", str(file), "--points", "3", "--quiet", "--json"]) == cli.ANSWER
    assert len(json.loads(capsys.readouterr().out)["tables"]["points"]) == 3
    vary = ["sensitivity", str(file), "--quiet", "--vary"]
    assert cli.main([*vary, "policy.carbon_price=100..300 USD/t"]) == cli.ANSWER
    assert "policy.carbon_price: " in capsys.readouterr().out
    assert cli.main([*vary, "nothing"]) == cli.WRONG_INPUT
    plan = ["plan", str(file), "--quiet", "--no-baselines", "--prices", "--alternatives", "1"]
    assert cli.main([*plan, "--within", "3 %", "--json"]) == cli.ANSWER
    tables = json.loads(capsys.readouterr().out)["tables"]
    assert tables["prices"]
    assert len(tables["alternatives"]) <= 1
