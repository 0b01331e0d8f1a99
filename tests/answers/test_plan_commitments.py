"""Nodes that are rented for a term, for a block of time, or as spot: what is paid, when, and what it does."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest

from planner.answers.plan.document import plan_document
from planner.answers.plan.recourse import MORE_HOURS
from planner.answers.plan.stress import spot_runs
from planner.answers.plan.tables import plan_tables
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.scenario import ScenarioError, load_scenario, parse_scenario, with_changes
from planner.physics.failures import interruption_rate_per_node_h, mean_restart_h
from planner.program.plan import Plan, plan_fleet
from planner.report.integrity import disagreements
from planner.trace.explain import explain
from planner.trace.numbers import money
from planner.trace.records import plain_rows
from solver.problem import Solution
from solver.verify import verify

JOB = load_scenario(data_folder() / "scenarios" / "one-training-job.toml")
CLOUD = {"name": "cloud", "sku": "h100-8", "grid": "se", "pue": 1.2, "price": "2 USD/h"}
MONTH_H = 8766.0 / 12
SERVICE = """
title = "One service in the cloud"
horizon = { start = 2027-01-01, periods = 4, period = "quarter" }
reliability = { failures = "meta-rsc-1", restart = "10 min", repair = "5 d", spare_confidence = 0.9 }
policy = { objective = "money", discount_rate = "8 %", node_life = "5 y" }
solve = { gap = "0 %" }

[[sites]]
name = "north"
grid_intensity = "50 g/kWh"
pue = 1.1
power_cap = "400 kW"
racks = 20

[[rental]]
name = "term"
sku = "h100-8"
grid_intensity = "50 g/kWh"
commitment = "1 year"
price = "2 USD/h"

[[rental]]
name = "hourly"
sku = "h100-8"
grid_intensity = "50 g/kWh"
price = "3 USD/h"

[[services]]
name = "chat"
model = "llama-3-8b"
precision = "bf16"
tokens_in = 1000
tokens_out = 200
peak_rate = "2000 /s"
mean_to_peak = 0.5
first_token = "1 s"
per_token = "50 ms"
availability = 0.9
"""


def job(rental: list[dict[str, Any]], changes: dict[str, Any] | None = None) -> Plan:
    """The shipped job, on nodes that are rented alone."""
    where = {"training.train-8b.sites": [one["name"] for one in rental], "rental": rental}
    return plan_fleet(with_changes(JOB, {"solve.gap": "0 %"} | where | (changes or {})), baselines=False)


def service(changes: dict[str, Any] | None = None) -> Plan:
    return plan_fleet(with_changes(parse_scenario(SERVICE), changes or {}), baselines=False)


def solved(plan: Plan) -> Solution:
    assert plan.answer.solution is not None
    return plan.answer.solution


def term(plan: Plan, name: str) -> float:
    return float(plan.ledger.usd_terms[f"{name}_usd"].value)


def said(plan: Plan) -> str:
    document = plan_document(plan)
    assert disagreements(document) == []
    return " ".join((*document["headline"], *document["why"]))


def test_a_year_is_paid_used_or_not() -> None:
    """A job of weeks on nodes for a year: every hour from its start to the horizon's end; the rest is due."""
    plan = job([CLOUD | {"commitment": "1 year"}])
    nodes = int(solved(plan).committed.sum())
    (row,) = plan_tables(plan)["commitments"]
    begins = JOB.horizon.period_starts[JOB.horizon.period_labels.index(row["period"])]
    held_h = 24.0 * (JOB.horizon.end - begins).days
    after_h = 24.0 * (begins.replace(year=2028) - JOB.horizon.end).days

    assert nodes > 0
    assert term(plan, "reserved") == pytest.approx(nodes * 8 * 2.0 * held_h)
    assert (row["commitment"], row["ends"]) == ("1 year", begins.replace(year=2028).isoformat())
    assert row["due_usd"] == pytest.approx(nodes * 8 * 2.0 * after_h)
    assert term(plan, "reserved") == pytest.approx(row["rent_usd"])
    text = said(plan)
    last = begins.replace(year=2028) - timedelta(days=1)
    assert f"at cloud for 1 year from {row['period']}, to {last}" in text
    assert "Reserved nodes are used for" in text
    assert "fall due after the horizon" in text


def test_whole_nodes_are_paid_by_the_hour_and_what_nothing_fills_is_told() -> None:
    """Replicas that fill a part of a node pay all of its hours, where no pool works on the rest."""
    plan = service({"rental": [CLOUD | {"name": "hourly", "price": "3 USD/h"}]})
    problem, solution = plan.problem, solved(plan)
    rows = plain_rows(plan_tables(plan)["rental"])
    lengths = dict(
        zip(plan.inputs.scenario.horizon.period_labels, plan.inputs.scenario.horizon.hours, strict=True)
    )
    held = (problem.serve_options.nodes[:, None] * solution.replicas).sum(axis=0)
    left = float(((np.ceil(held) - held) * problem.node_groups.hours).sum() * 8 * 3.0)
    for row in rows:
        assert row["rent_usd"] == pytest.approx(row["nodes"] * lengths[row["period"]] * 8 * 3.0)
    assert left > 0.01 * term(plan, "rental") > 0
    assert term(plan, "rental") == pytest.approx(sum(row["rent_usd"] for row in rows))
    assert f"Whole nodes are paid: {money(left)} of it for parts that replicas leave" in said(plan)


def test_a_pool_fills_the_nodes_of_replicas_before_others_are_rented() -> None:
    """Its hours lie in parts that are paid anyway: no node more at once, and no hour more in all."""
    offer = {"rental": [CLOUD | {"name": "hourly", "price": "3 USD/h"}]}
    lab = {"name": "lab", "model": "llama-3.1-8b", "reference": "h100-8", "gpu_time": "800 h"}
    alone, both = service(offer), service(offer | {"pools": [lab]})
    rows, filled = (plain_rows(plan_tables(plan)["rental"]) for plan in (alone, both))
    assert [row["nodes"] for row in filled] == [row["nodes"] for row in rows]
    assert [row["node_h"] for row in filled] == pytest.approx([row["node_h"] for row in rows])


def test_a_service_on_spot_is_told_what_it_takes_when_there_is_none() -> None:
    """Its load goes to the offer on demand, without limit, at that price for each hour."""
    offers = [
        CLOUD | {"name": "spot", "commitment": "spot", "price": "1 USD/h"},
        CLOUD | {"name": "hourly", "price": "3 USD/h"},
    ]
    plan = service({"rental": offers, "services.chat.peak_rate": "2000 /s"})
    tables = {name: plain_rows(rows) for name, rows in plan_tables(plan).items()}
    assert {row["location"] for row in tables["rental"]} == {"spot"}
    (row,) = [row for row in tables["stress"] if row["case"] == "no spot nodes are to be had"]
    assert (row["holds"], row["breaks_first"].partition(" in ")[0]) == ("no", "h100-8 at spot")
    spot = sum(row["rent_usd"] for row in tables["rental"])
    assert row["recourse"].startswith("rent up to ")
    assert row["usd"] == pytest.approx(2 * spot)  # three times the price for the same whole nodes
    only = service({"rental": offers[1:], "services.chat.peak_rate": "2000 /s"})
    assert not [row for row in plan_tables(only)["stress"] if "spot" in row["case"]]


def test_steady_work_is_reserved_and_a_peak_is_rented_by_the_hour() -> None:
    """Four times the peak in one quarter: what works in all four is cheaper at two thirds of the price."""
    flat = service()
    peaked = service({"services.chat.peak_rate": ["2000 /s", "8000 /s", "2000 /s", "2000 /s"]})
    hourly = {row["period"]: row["nodes"] for row in plan_tables(peaked)["rental"]}
    steady = solved(flat).committed.sum()

    assert steady > 1
    assert plan_tables(flat)["rental"] == []
    assert solved(peaked).committed.sum() == steady
    assert hourly["2027 Q2"] > 2 * steady
    assert list(hourly) == ["2027 Q2"]
    (row,) = plan_tables(flat)["commitments"]
    assert row["due_usd"] == 0.0
    assert "more are due" not in said(flat)


def test_a_year_that_costs_as_much_is_not_reserved() -> None:
    """At more than by the hour nobody ties nodes up."""
    dear = service({"rental.term.price": "3.1 USD/h"})

    assert solved(dear).committed.sum() == 0


@pytest.mark.nightly
def test_a_block_is_there_in_its_days_alone() -> None:
    """April to September: three of four quarters of a year are not paid, and nothing serves in the others."""
    block = {
        "rental.term.commitment": "block",
        "rental.term.starts": date(2027, 4, 1),
        "rental.term.ends": date(2027, 10, 1),
    }
    plan = service(block)
    group = int(plan.assembled.reserved.node_group[0])
    rented = solved(plan).rented[group]
    hours = np.array(plan.inputs.scenario.horizon.hours)

    assert rented[0] == rented[3] == 0
    assert rented[1] == rented[2] > 0
    assert term(plan, "reserved") == pytest.approx(rented[1] * 8 * 2.0 * hours[1:3].sum())
    (row,) = plan_tables(plan)["commitments"]
    assert (row["period"], row["ends"], row["due_usd"]) == ("2027 Q2", "2027-10-01", 0.0)
    assert "for a block of time from 2027 Q2, to 2027-09-30" in said(plan)


def test_three_years_may_begin_later_and_are_cheaper_than_one() -> None:
    """The catalogue's ratios to the price on demand, 0.60 and 0.45; the term begins when it is stated."""
    catalogue = load_catalogue()
    price = catalogue.fact("rental.h100-sxm-80gb.price").value
    later = {"starts": date(2027, 4, 1), "price": None}
    each = {
        years: job([{k: v for k, v in (CLOUD | later | {"commitment": years}).items() if v is not None}])
        for years in ("1 year", "3 years")
    }
    for years, key in (("1 year", "year_1"), ("3 years", "year_3")):
        (row,) = plan_tables(each[years])["commitments"]
        ratio = catalogue.fact(f"rental.{key}.ratio").value
        assert row["rent_usd_per_node_h"] == pytest.approx(8 * price * ratio)
        assert row["period"] == "2027 Q2"
        steps = repr(explain(each[years].ledger.usd_terms["reserved_usd"]).to_dict())
        assert f"rental.{key}.ratio" in steps


def test_what_is_due_after_the_horizon_is_charged_above_its_worth() -> None:
    """An hour of the rest is worth its price times what nodes keep of their value until its middle."""
    plan = job([CLOUD | {"commitment": "1 year"}], {"horizon.periods": 2})
    (row,) = plan_tables(plan)["commitments"]
    begins = JOB.horizon.period_starts[JOB.horizon.period_labels.index(row["period"])]
    rest_h = 24.0 * (begins.replace(year=2028) - date(2027, 7, 1)).days
    due = row["nodes"] * 8 * 2.0 * rest_h
    kept = load_catalogue().fact("resale.common.year_1.kept").value
    middle_y = (24.0 * (date(2027, 7, 1) - begins).days + rest_h / 2) / 8766.0

    assert row["due_usd"] == pytest.approx(due)
    assert row["left_usd"] == pytest.approx(due * (1 - kept**middle_y))
    assert term(plan, "term_left") == pytest.approx(row["left_usd"])
    assert "above what those hours are worth by then" in said(plan)
    lines = {row["line"]: row for row in plan_tables(plan)["bridge"]}
    assert lines["Terms after the horizon, above their worth"]["to_cash_usd"] == pytest.approx(
        -row["left_usd"]
    )


def test_a_long_term_is_no_cheap_way_to_a_short_one() -> None:
    """A peak in the last quarter, at 0.45 of the price for three years: it is rented by the hour."""
    changes = {
        "rental.term.commitment": "3 years",
        "rental.term.price": "1.35 USD/h",
        "services.chat.peak_rate": ["0 /s", "0 /s", "0 /s", "8000 /s"],
    }
    assert solved(service(changes)).committed.sum() == 0


def test_what_is_signed_is_paid_in_any_case() -> None:
    """Ten nodes for half a year that nothing needs: all are paid, and work uses them before others."""
    signed = {
        "rental.term.commitment": "block",
        "rental.term.starts": date(2027, 1, 1),
        "rental.term.ends": date(2027, 7, 1),
        "rental.term.nodes": 10,
        "rental.term.signed": True,
        "services.chat.peak_rate": "1 /s",
    }
    plan = service(signed)
    group = int(plan.assembled.reserved.node_group[0])
    hours = np.array(plan.inputs.scenario.horizon.hours)

    assert solved(plan).rented[group].tolist() == [10, 10, 0, 0]
    assert term(plan, "reserved") == pytest.approx(10 * 8 * 2.0 * hours[:2].sum())
    assert {row["period"] for row in plan_tables(plan)["rental"]} == {"2027 Q3", "2027 Q4"}
    assert "Pay what is signed: 10 nodes of h100-8 at term" in said(plan)
    broken = replace(solved(plan), committed=np.zeros_like(solved(plan).committed))
    assert "term signed" in {one.rule for one in verify(plan.problem, broken, 1e-6)}


def test_interruptions_are_a_rate_and_cost_a_wait() -> None:
    """17.5 % in a month are 2.63e-4 an hour; of stops of which half are interruptions half wait."""
    rate = float(interruption_rate_per_node_h(taken_back_fraction=0.175, month_h=MONTH_H))

    assert rate == pytest.approx(2.633e-4, rel=1e-3)
    assert 1 - np.exp(-rate * MONTH_H) == pytest.approx(0.175)
    assert mean_restart_h(
        restart_h=0.5, wait_h=4.0, failure_rate_per_node_h=1e-4, interruption_rate_per_node_h=1e-4
    ) == pytest.approx(2.5)


def test_bad_cases_say_that_none_takes_the_spot_nodes_of_a_run_away() -> None:
    """No way out of that is priced: a plan that holds in all of them may be nothing without spot nodes."""
    plan = job([CLOUD | {"commitment": "spot"}])
    assert spot_runs(plan) == (
        " None takes the spot nodes of train-8b away: --set rental.cloud.nodes=0 plans without them."
    )
    (line,) = [one for one in plan_document(plan)["headline"] if "bad case" in one]
    assert line.endswith(spot_runs(plan))
    assert spot_runs(job([CLOUD])) == ""


@pytest.mark.nightly
def test_a_run_on_spot_stops_more_often_and_takes_longer() -> None:
    """The same price on demand and as spot: more interruptions, shorter intervals, more hours."""
    plain = job([CLOUD])
    spot = job([CLOUD | {"commitment": "spot", "interruption_rate": "2 /month"}])
    rare = job([CLOUD | {"commitment": "spot", "interruption_rate": "0 /month"}])

    def run(plan: Plan) -> dict[str, Any]:
        (row,) = plan_tables(plan)["jobs"]
        return row

    assert run(spot)["ettr_fraction"] < run(plain)["ettr_fraction"] - 0.005
    assert run(spot)["interval_min"] < 0.7 * run(plain)["interval_min"]
    assert term(spot, "rental") > term(plain, "rental")
    assert run(rare)["ettr_fraction"] == pytest.approx(run(plain)["ettr_fraction"], rel=1e-9)
    mttf = float(spot.ledger.runs.mttf_h.value.min())  # type: ignore[union-attr]
    assert mttf < 0.5 * MONTH_H / run(spot)["nodes"]
    assert said(spot)


def test_what_wears_out_does_not_follow_interruptions() -> None:
    """A node that is taken back is not broken: parts replaced, and their carbon, are those of failures."""
    plain, spot = (
        job([CLOUD | more]).assembled.nodes
        for more in ({}, {"commitment": "spot", "interruption_rate": "5 /month"})
    )

    assert spot.owned_kgco2e.value == pytest.approx(plain.owned_kgco2e.value)
    assert spot.failure_rate_per_node_h.value.max() > 10 * plain.failure_rate_per_node_h.value.max()


@pytest.mark.parametrize(("promised", "nodes"), [(0.9, 1), (0.99999, 2)])
def test_replicas_that_stand_by_are_on_another_rented_node(promised: float, nodes: int) -> None:
    """A node that fails takes along what lies on it: two replicas on one node would keep 0.99997 of the time.

    One in 154 days fails, and its replicas restart in 10 min.
    """
    few = {"services.chat.peak_rate": "1 /s", "services.chat.sites": ["hourly"]}
    rows = plan_tables(service(few | {"services.chat.availability": promised}))

    assert {row["nodes"] for row in plain_rows(rows["rental"])} == {nodes}
    assert all(row["availability_fraction"] >= promised for row in plain_rows(rows["services"]))


def test_what_replicas_leave_of_a_rented_node_idles() -> None:
    """One replica on an eighth of a node that is paid in whole: seven eighths draw idle power, at 50 g/kWh.

    A pool that takes all of the rest leaves nothing that idles.
    """
    few = {"services.chat.peak_rate": "1 /s", "services.chat.sites": ["hourly"]}
    plan = service(few)
    terms, nodes, pue = (
        plan.ledger.kgco2e_terms,
        plan.assembled.nodes,
        load_catalogue().fact("rental.pue").value,
    )
    (hourly,) = plan.assembled.rented.node_group
    idle_kwh = 7 / 8 * float(nodes.idle_node_kw.value[hourly, 0]) * pue * 8760
    pool = {
        "name": "p",
        "model": "llama-3-8b",
        "reference": "h100-8",
        "gpu_time": "15200 h",
        "sites": ["hourly"],
    }

    assert solved(plan).replicas.max() == 1
    assert terms["idle_kgco2e"].value == pytest.approx(0.05 * idle_kwh)
    assert plan.ledger.kwh_terms["idle_kwh"].value == pytest.approx(idle_kwh)
    full = service(few | {"pools": [pool]}).ledger.kgco2e_terms["idle_kgco2e"].value
    assert full < 0.02 * terms["idle_kgco2e"].value


def test_a_pool_by_the_hour_is_as_sure_as_its_nodes_at_once() -> None:
    """Work of 1.05 nodes has two at once, which carry nearly twice as much; work of two has none to spare."""
    pool = {
        "name": "p",
        "model": "llama-3-8b",
        "reference": "h100-8",
        "sites": ["hourly"],
        "utilisation": 1.0,
    }
    without = {"services": [], "pools": [pool | {"gpu_time": "18000 h"}]}
    tight = {"services": [], "pools": [pool | {"gpu_time": "34300 h"}]}
    roomy, full = (
        min(row["chance_fraction"] for row in plan_tables(service(case))["chance"])
        for case in (without, tight)
    )

    for case, holds, way in ((without, "yes", MORE_HOURS), (tight, "no", "rent up to 2 nodes by the hour")):
        row = next(one for one in plain_rows(plan_tables(service(case))["stress"]) if "95th" in one["case"])
        assert (row["holds"], row["recourse"]) == (holds, way)
        assert row["usd"] > 1e4
    assert roomy > 0.8  # nearly twice as much, where a year ahead is a third off
    assert full < 0.7


def test_cleaner_nodes_that_nobody_needs_are_no_sign_of_too_few() -> None:
    """Dirty nodes serve until clean ones are there: to rent clean ones is better, and not needed."""
    clean = {
        "policy.objective": "carbon",
        "sites.north.grid_intensity": "10 g/kWh",
        "rental.term.grid_intensity": "500 g/kWh",
        "rental.hourly.nodes": 0,
        "market": [{"sku": "h100-8", "lead_time": "90 d"}],
        "services.chat.peak_rate": "5 /s",
    }

    assert plan_document(service(clean))["held"]["enough_fraction"] > 0.9


def test_one_rented_node_keeps_no_such_promise() -> None:
    few = {"services.chat.peak_rate": "1 /s", "services.chat.sites": ["hourly"], "rental.hourly.nodes": 1}
    text = plan_document(service(few | {"services.chat.availability": 0.99999}))["clash"]["text"]

    assert "its availability asks for replicas on 2 nodes at once, and rental.hourly.nodes is 1" in text


def test_a_service_on_spot_keeps_more_on_standby() -> None:
    """Promised 99.9 %: restarts that wait for another node need more standby than those that do not."""
    cases = {
        kind: service(
            {"services.chat.availability": 0.999, "services.chat.sites": ["hourly"]}
            | {"rental.hourly.commitment": kind}
            | ({"rental.hourly.interruption_rate": "5 /month"} if kind == "spot" else {})
        )
        for kind in ("on demand", "spot")
    }
    standby = {
        kind: max(row["standby"] for row in plan_tables(plan)["services"]) for kind, plan in cases.items()
    }

    assert standby["spot"] > standby["on demand"]


def test_spot_has_prices_of_its_own() -> None:
    """The price of spot where it is known; half of the price on demand where it is not."""
    catalogue = load_catalogue()
    known = job([{k: v for k, v in (CLOUD | {"commitment": "spot"}).items() if k != "price"}])
    row = plan_tables(known)["rental"][0]

    assert row["rent_usd_per_node_h"] == pytest.approx(8 * catalogue.fact("rental.h100-sxm-80gb.spot").value)


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"commitment": "block"}, "rental.cloud.starts: is missing, and a block needs it"),
        ({"commitment": "block", "starts": date(2027, 1, 5), "ends": date(2027, 4, 1)}, "is inside a period"),
        (
            {"commitment": "block", "starts": date(2027, 4, 1), "ends": date(2027, 1, 1)},
            "is not after starts",
        ),
        ({"commitment": "1 year", "ends": date(2027, 4, 1)}, "rental.cloud.ends: has no effect"),
        ({"starts": date(2027, 4, 1)}, "rental.cloud.starts: has no effect"),
        ({"interruption_rate": "1 /month"}, "rental.cloud.interruption_rate: has no effect"),
        ({"commitment": "2 years"}, "is not possible here"),
        ({"signed": True}, "rental.cloud.signed: has no effect on what is rented by the hour"),
        (
            {"signed": True, "commitment": "1 year", "nodes": 4},
            "rental.cloud.starts: is missing, and what is",
        ),
        (
            {"signed": True, "commitment": "1 year", "starts": date(2027, 1, 1)},
            "rental.cloud.nodes: is how many were taken",
        ),
    ],
)
def test_terms_that_mean_nothing_are_refused(terms: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        with_changes(JOB, {"rental": [CLOUD | terms]})
