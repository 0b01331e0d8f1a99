"""Second life in a lower tier: beside sale and scrap, in one boundary, each kilogram once."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np
import pytest

from planner.answers.plan.disposals import second_life_sentences
from planner.answers.plan.views import Views, view_records
from planner.answers.plan.whole_ledger import ledger_sentences, whole_ledger
from planner.inputs.loading import load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import parse_scenario
from planner.program.assembly import Assembled, assemble
from planner.program.plan import Plan, plan_fleet
from solver.verify import verify

TEXT = """
title = "Old nodes that a lower tier takes"
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
[[fleet]]
sku = "a100-80-8"
site = "here"
nodes = 6
in_service = 2023-01-01
{life}
[[fleet]]
sku = "h100-8"
site = "here"
nodes = 6
in_service = 2025-01-01
[[pools]]
name = "tuning"
model = "llama-3-8b"
reference = "h100-8"
gpu_time = "30000 h"
sites = ["here"]
[reliability]
failures = "meta-rsc-1"
restart = "12 min"
repair = "2 d"
spare_confidence = 0.9
[policy]
objective = "weighted"
carbon_price = "100 USD/t"
discount_rate = 0.08
node_life = "5 y"
"""


@cache
def assembled(life: str) -> Assembled:
    return assemble(Inputs(parse_scenario(TEXT.format(life=life)), load_catalogue()))


@cache
def planned(life: str) -> Plan:
    return plan_fleet(parse_scenario(TEXT.format(life=life)), baselines=False)


def test_no_more_is_avoided_than_buying_would_add() -> None:
    """Half of the making that a new node has from then on within the horizon; worth 0.85 of its value."""
    found = assembled("second_life = 2")
    cohorts, standing = found.problem.cohorts, found.standing
    making = np.asarray(found.nodes.sunk_kgco2e.value)[standing.node_group[0]]
    bought = np.asarray(found.nodes.owned_kgco2e.value)[standing.node_group[0]]
    assert cohorts.reuse_kgco2e_per_node[0] == pytest.approx([-0.5 * making.sum(), -0.5 * making[1]])
    assert -cohorts.reuse_kgco2e_per_node[0, 0] < bought.sum()
    assert standing.value is not None
    value, sale = (np.asarray(one.value)[0] for one in (standing.value.usd, standing.value.sale_usd))
    assert cohorts.reuse_usd_per_node[0] == pytest.approx(value - 0.85 * value - sale)
    assert cohorts.reuse_limit.tolist() == [2, 0]
    assert assembled("").problem.cohorts.reuse_limit.tolist() == [0, 0]


def test_nodes_that_leave_go_on_as_far_as_the_lower_tier_takes_them() -> None:
    plan, plain = planned("second_life = 2"), planned("")
    one, other = plan.answer.solution, plain.answer.solution
    assert one is not None
    assert other is not None
    assert other.retired.sum() > 2
    assert one.reused.sum() == 2
    assert (one.reused <= one.retired).all()
    assert plan.answer.objective < plain.answer.objective, "an offer never makes a plan worse"
    assert not other.reused.any()
    assert "reused_usd" not in plain.ledger.usd_terms
    more = np.where(one.reused > 0, one.retired + 1, 0)
    too_many = dataclasses.replace(one, reused=more)
    assert {"reuse", "reuse limit"} <= {found.rule for found in verify(plan.problem, too_many, 1e-6)}


def test_each_kilogram_is_counted_once() -> None:
    """What is avoided is no line of the inventory, which adds up without it; the old making stays sunk."""
    plan = planned("second_life = 2")
    solution = plan.answer.solution
    assert solution is not None
    avoided = plan.ledger.kgco2e_terms["reused_kgco2e"].value
    assert avoided == pytest.approx(2 * plan.problem.cohorts.reuse_kgco2e_per_node[0, 0])
    whole = whole_ledger(plan, solution)
    assert whole.avoided is not None
    assert whole.avoided.value == avoided < 0
    minimised = sum(float(one.kgco2e.value) for one in whole.entries if one.minimised)
    assert minimised == pytest.approx(plan.ledger.carbon.value - avoided)
    assert plan.ledger.sunk_carbon.value == pytest.approx(planned("").ledger.sunk_carbon.value)
    assert "A second life avoids" in next(iter(ledger_sentences(plan, whole)))


def test_money_is_reconciled_and_told() -> None:
    """The three views hold together, which they check themselves."""
    plan = planned("second_life = 2")
    solution = plan.answer.solution
    assert solution is not None
    assert plan.ledger.cost.value == pytest.approx(solution.usd, rel=1e-9)
    assert view_records(Views(plan, solution))
    (said,) = second_life_sentences(plan, solution)
    assert said.startswith(
        "Of those, 2 nodes of a100-80-8 at here go on in a lower tier from 2027 Q1: one is"
    )
    assert "of making within the horizon." in said
