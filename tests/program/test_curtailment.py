"""Curtailment of a site: from the file to the plan, its ledger and its words, and what is refused."""

from __future__ import annotations

from functools import cache

import pytest

from planner.answers.plan.cells import cell_explanation
from planner.answers.plan.document import plan_document
from planner.answers.plan.places import place_sentences
from planner.answers.plan.repairs import repair_changes
from planner.inputs.loading import load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, ScenarioError, parse_scenario, with_changes
from planner.program.assembly import assemble
from planner.program.baselines import usual_practice
from planner.program.operation import Means, desk, operate
from planner.program.plan import Plan, plan_fleet

TEXT = """
title = "A site that may be called on"
[horizon]
start = 2027-01-01
periods = 2
period = "quarter"
[[sites]]
name = "here"
grid_intensity = "300 g/kWh"
electricity_price = "60 USD/MWh"
pue = 1.1
power_cap = "900 kW"
racks = 40
{contract}
[[fleet]]
sku = "h100-8"
site = "here"
nodes = 8
in_service = 2025-01-01
[[pools]]
name = "tuning"
model = "llama-3-8b"
reference = "h100-8"
gpu_time = "60000 h"
may_wait = 0.8
{run}[reliability]
failures = "meta-rsc-1"
restart = "12 min"
repair = "2 d"
spare_confidence = 0.9
[policy]
objective = "money"
retirement = "none"
discount_rate = 0.08
node_life = "5 y"
"""
CONTRACT = """curtailment = "{kw}"
curtailment_hours = "73.05 h"
curtailment_event = "2 h"
curtailment_notice = "{notice}"
curtailment_payment = "{payment}"
"""


def scenario(*, kw: str = "10 kW", notice: str = "30 min", payment: str = "6 USD/kW/month") -> Scenario:
    return parse_scenario(
        TEXT.format(contract=CONTRACT.format(kw=kw, notice=notice, payment=payment), run="")
    )


@cache
def planned(contract: bool) -> Plan:
    one = scenario() if contract else parse_scenario(TEXT.format(contract="", run=""))
    return plan_fleet(one, baselines=False)


def test_hours_of_calls_and_of_starting_anew_are_lost() -> None:
    """73.05 of 8,766 h are 1/120, and of each call of 2 h another 0.2 h; of four fifths of the work."""
    problem = assemble(Inputs(scenario(), load_catalogue())).problem
    assert problem.places.curtailed_fraction == pytest.approx([1.1 / 120])
    assert problem.work_options.stops_fraction == pytest.approx([0.8])
    assert problem.places.curtailed_usd.sum() == pytest.approx(6 * 10 * 12 * (181 / 365.25))


def test_work_that_cannot_stop_within_the_notice_does_not_count() -> None:
    problem = assemble(Inputs(scenario(notice="1 min"), load_catalogue())).problem
    assert problem.work_options.stops_fraction.tolist() == [0.0]
    plan = plan_fleet(scenario(notice="1 min"), baselines=False)
    assert plan.answer.solution is not None
    assert plan.answer.solution.signed.tolist() == [0]
    plain = planned(contract=False).answer.solution
    assert plain is not None
    assert plan.answer.solution.usd == pytest.approx(plain.usd)


def test_a_contract_that_pays_is_signed_and_the_work_is_still_done() -> None:
    """The hours lost are worked once more; the ledger has what is paid; no plan is dearer for an offer."""
    plan, plain = planned(contract=True), planned(contract=False)
    one, other = plan.answer.solution, plain.answer.solution
    assert one is not None
    assert other is not None
    assert one.signed.tolist() == [1]
    assert one.work_node_h.sum() == pytest.approx(other.work_node_h.sum() / (1 - 0.8 * 1.1 / 120))
    paid = -plan.problem.places.curtailed_usd.sum()
    assert plan.ledger.usd_terms["curtailment_usd"].value == pytest.approx(paid)
    assert plan.ledger.cost.value == pytest.approx(one.usd, rel=1e-9)
    assert one.usd < other.usd
    said = [line for line in place_sentences(plan, one) if "curtailment" in line]
    assert len(said) == 1
    assert said[0].startswith("here signs the contract for curtailment: at least ")
    assert "curtailment_usd" not in plain.ledger.usd_terms


RUN = """[[training]]
name = "small"
model = "llama-3-8b"
tokens = 6e10
precision = "bf16"
sequence_tokens = 8192
batch_tokens = 4e6
nodes = [2, 4]
checkpoint_storage = "parallel-fs"
earliest = 2027-01-01
deadline = 2027-06-30
pausable = true
"""


def test_electricity_is_billed_as_it_is_drawn_of_pools_and_of_runs_that_pause() -> None:
    """In a call nodes idle: cost, carbon and energy are less by what work adds, but for starting anew."""
    contract = CONTRACT.format(kw="10 kW", notice="30 min", payment="6 USD/kW/month")
    plan = plan_fleet(parse_scenario(TEXT.format(contract=contract, run=RUN)), baselines=False)
    solution, problem = plan.answer.solution, plan.problem
    assert solution is not None
    assert solution.signed.tolist() == [1]
    job_h = problem.pausable_options.node_hours @ solution.completed
    assert solution.done_node_h.sum() == pytest.approx(job_h / (1 - 1.1 / 120))
    lost_kw = solution.work_node_h.sum() * 0.8 * 1.1 / 120 * float(problem.work_options.active_kw[0])
    lost_kw += solution.done_node_h.sum() * 1.1 / 120 * float(problem.pausable_options.active_kw.max())
    drawn = float(plan.ledger.kwh_terms["stopped_kwh"].value)
    assert drawn == pytest.approx(-lost_kw / 1.1, rel=0.02)
    assert plan.ledger.usd_terms["stopped_usd"].value == pytest.approx(drawn * 0.06, rel=1e-6)
    assert plan.ledger.kgco2e_terms["stopped_kgco2e"].value == pytest.approx(drawn * 0.3, rel=1e-6)
    document = plan_document(plan)
    [line] = [one for one in document["tables"]["cost"] if one["term"] == "stopped"]
    found = cell_explanation(document, "cost", line, "usd")
    assert found is not None
    assert "sites.here.curtailment_event" in found.to_text()
    assert sum(one["it_kwh"] + one["overhead_kwh"] for one in document["tables"]["energy"]) == pytest.approx(
        plan.ledger.energy.value, rel=1e-9
    )


def test_a_replay_makes_up_for_the_hours_as_well() -> None:
    plan = planned(contract=True)
    assert plan.answer.solution is not None
    at = desk(plan.inputs, plan.assembled, plan.answer.solution)
    found = operate(at, at.stated(), Means(rent=True), at.prices())
    assert found is not None
    assert found.working.sum() == pytest.approx(plan.answer.solution.work_node_h.sum(), rel=1e-6)


def test_what_is_half_stated_is_refused_and_usual_practice_signs_nothing() -> None:
    with pytest.raises(ScenarioError, match="curtailment: needs curtailment_hours"):
        parse_scenario(TEXT.format(contract='curtailment = "10 kW"\n', run=""))
    assert usual_practice(scenario()).sites[0].curtailment_kw is None


def test_an_obliged_contract_that_cannot_be_kept_says_by_how_much() -> None:
    """The limit is named with its key and with what of it would do; with that there is a plan."""
    contract = CONTRACT.format(kw="200 kW", notice="30 min", payment="6 USD/kW/month")
    one = parse_scenario(TEXT.format(contract=contract + "curtailment_obliged = true\n", run=""))
    document = plan_document(plan_fleet(one))
    said = document["headline"][0]
    assert "the power that here is obliged to stop (sites.here.curtailment)" in said
    assert "sites.here.curtailment from 200 kW to 14 kW" in said
    [row] = document["clash"]["families"][0]["rows"]
    changes = repair_changes(one, [row])
    assert changes == {"sites.here.curtailment": "14 kW"}
    assert plan_fleet(with_changes(one, changes), baselines=False).answer.solution is not None
    assert repair_changes(one, [row | {"by": 199.9}]) == {"sites.here.curtailment_obliged": False}
