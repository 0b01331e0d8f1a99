"""What the data of a training run costs in a plan: in the ledger, in cash, in the budget, and in words."""

from __future__ import annotations

from functools import cache

import pytest

from planner.answers.plan.data_mix import data_records, data_sentences
from planner.answers.plan.limits import limit_records
from planner.answers.plan.unit_costs import unit_cost_records
from planner.answers.plan.views import view_tables
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import load_scenario, with_changes
from planner.program.assembly import assemble
from planner.program.plan import Plan, plan_fleet
from planner.program.solution import Solution
from planner.trace.records import plain_rows

RUN = "training.train-8b"
# 300e9 tokens seen twice, half of them bought at 0.4 USD for a million: 75e9 tokens, 30 kUSD.
BOUGHT = {f"{RUN}.data_price": "0.4 USD / 1e6 tokens", f"{RUN}.bought": 0.5, f"{RUN}.passes": 2}
USD = 30e3


def changed(changes: dict[str, object]) -> Plan:
    few = {f"{RUN}.nodes": [4]}
    scenario = with_changes(
        load_scenario(data_folder() / "scenarios" / "one-training-job.toml"), few | changes
    )
    return plan_fleet(scenario, baselines=False)


@cache
def plain() -> Plan:
    return changed({})


@cache
def bought() -> Plan:
    return changed(BOUGHT)


def solved(plan: Plan) -> Solution:
    assert plan.answer.solution is not None
    return plan.answer.solution


def test_data_is_a_line_of_its_own_and_changes_nothing_else() -> None:
    """The plan costs what it did and 30 kUSD; the line rests on the price, the tokens and the shares."""
    before, after = plain(), bought()
    assert after.ledger.usd_terms["data_usd"].value == pytest.approx(USD)
    assert solved(after).usd - solved(before).usd == pytest.approx(USD, abs=1)
    assert "data_usd" not in before.ledger.usd_terms
    assert not before.problem.run_options.bought_usd.any()
    assert (row := data_records(after, solved(after))[0])["amount"].value == pytest.approx(75e9)
    assert row["usd"].value == pytest.approx(USD)
    assert data_sentences(after, solved(after)) == [
        "Data of train-8b: 75,000,000,000 tokens bought for 30.0 kUSD; 75,000,000,000 tokens your own."
    ]
    assert data_records(before, solved(before)) == []


def test_data_is_paid_in_the_month_in_which_its_run_begins() -> None:
    """Each view has the line; months, bridge and work add up (each table refuses sums that do not)."""
    plan = bought()
    tables = {name: plain_rows(rows) for name, rows in view_tables(plan, solved(plan)).items()}
    (line,) = [row for row in tables["views"] if row["line"] == "Data that is bought"]
    assert [line[f"{view}_usd"] for view in ("economic", "cash", "accounts")] == pytest.approx([USD] * 3)
    assert [row["month"] for row in tables["cash"] if row["data_usd"]] == ["2027-04"]
    (work,) = [row for row in unit_cost_records(plan, solved(plan)) if row["work"] == "train-8b"]
    (same,) = [row for row in unit_cost_records(plain(), solved(plain())) if row["work"] == "train-8b"]
    assert work["usd"].value - same["usd"].value == pytest.approx(USD, abs=1)


def test_the_budget_holds_data_with_the_orders() -> None:
    """The second quarter, in which orders are placed and the run begins, has to hold both."""
    orders = float(plain().ledger.capex.value)
    none, enough = (
        changed(BOUGHT | {"policy.budget": ["0 USD", f"{orders + more} USD"]})
        for more in (USD - 1e3, USD + 1e3)
    )
    assert none.answer.status.name == "INFEASIBLE"
    used = [row["used"].value for row in limit_records(enough, solved(enough)) if row["limit"] == "budget"]
    assert used == pytest.approx([0.0, orders + USD])


def test_a_job_that_may_pause_pays_as_it_is_done() -> None:
    plan = changed(BOUGHT | {f"{RUN}.pausable": True})
    assert plan.ledger.usd_terms["data_usd"].value == pytest.approx(USD)
    assert unit_cost_records(plan, solved(plan))
    assert data_records(plan, solved(plan))[0]["usd"].value == pytest.approx(USD)


def test_a_technique_that_takes_fewer_tokens_buys_fewer() -> None:
    """Rephrased data is 3.16 times fewer tokens: the rows of the program pay for those."""
    scenario = with_changes(bought().inputs.scenario, {f"{RUN}.techniques": ["synthetic-data"]})
    runs = assemble(Inputs(scenario, load_catalogue())).runs
    assert runs is not None
    assert runs.data_usd is not None
    ratio = load_catalogue().fact("technique.synthetic-data.tokens").value
    assert sorted({round(float(one), 6) for one in runs.data_usd.value}) == pytest.approx([USD / ratio, USD])
