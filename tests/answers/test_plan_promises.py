"""What services are promised is kept by the plan, or refused with what could be kept; pools are not full."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from planner.answers.plan.disposals import unused_sentences
from planner.answers.plan.document import plan_document
from planner.answers.plan.repairs import repaired_text, repairs
from planner.answers.plan.work import pool_records, service_records
from planner.inputs.loading import load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, parse_scenario, with_changes
from planner.physics.equations.promises import failing_units, failures_without_spares, standby_replicas
from planner.program.assembly import assemble
from planner.program.plan import Plan, plan_fleet
from planner.trace.recomputation import recompute
from solver.verify import verify

SMALL = """
title = "Some nodes, and nothing to buy"

[horizon]
start = 2027-01-01
periods = 1
period = "quarter"

[[sites]]
name = "dallas"
grid = "gcp-us-south1"
pue = 1.12
power_cap = "400 kW"
racks = 60

[[fleet]]
sku = "h100-8"
site = "dallas"
nodes = 1
in_service = 2027-01-01

[reliability]
failure_rate = "0.0001083 /h"
restart = "10 min"
repair = "5.5 d"
spare_confidence = 0.95

[policy]
objective = "money"
discount_rate = "8 %"
node_life = "5 y"

[solve]
gap = "0.1 %"
time_limit = "20 s"
"""
SERVICE = """
[[services]]
name = "chat"
model = "llama-3.1-70b"
precision = "bf16"
traffic = "azure-2023-conv"
peak_rate = "1 /s"
mean_to_peak = 0.55
first_token = "1.5 s"
per_token = "60 ms"
availability = 0.9999
"""
POOL = """
[[pools]]
name = "experiments"
model = "llama-3.1-8b"
reference = "h100-8"
gpu_time = "100000 h"
"""


def small(text: str = SERVICE, **changes: Any) -> Scenario:
    return with_changes(
        parse_scenario(SMALL + text), {path.replace("__", "."): value for path, value in changes.items()}
    )


def planned(scenario: Scenario) -> Plan:
    return plan_fleet(scenario, baselines=False)


def test_one_node_cannot_promise_what_two_spares_keep() -> None:
    """0.9999 on one node whose availability is 0.986: refused, with what is missing and what it keeps."""
    document = plan_document(planned(small()))
    said = document["clash"]["text"]

    assert (
        "services.chat.availability of 0.9999 asks for 2 spare nodes of h100-8 at dallas next to the 1 in use"
        in said
    )
    # Up for 0.9859 of the time; half of what is missing is left to restarts, as in the promise itself.
    kept = float(said.partition("there can be none: ")[2].partition(" ")[0])
    assert kept == pytest.approx(1.0 - (1.0 - 0.98594) / 0.5, abs=1e-4)
    assert f"services.chat.availability from 0.9999 to {kept:g}" in said
    assert "the availability of chat on h100-8 at dallas" in said


def test_an_availability_that_can_be_kept_is_the_repair() -> None:
    """The copy asks for no more than the node keeps, restarts included, and has a plan."""
    scenario = small()
    document = plan_document(planned(scenario))
    (way,) = [each for each in repairs(document["clash"]) if each["family"] == "availability"]
    repaired = parse_scenario(repaired_text(scenario, way))

    assert repaired.services[0].availability_fraction == pytest.approx(0.972, abs=0.0015)
    assert planned(repaired).answer.solution is not None


def test_spares_that_nodes_in_use_ask_for_are_refused_in_their_own_words() -> None:
    """The confidence of 0.999 is that of spares, whatever the service is promised."""
    scenario = small(services__chat__availability=0.9, reliability__spare_confidence=0.999)
    said = plan_document(planned(scenario))["clash"]["text"]

    assert "reliability.spare_confidence of 0.999 asks for 2 spare nodes of h100-8 at dallas" in said or (
        "reliability.spare_confidence of 0.999 asks for 1 spare node of h100-8 at dallas" in said
    )
    assert "the spares (reliability.spare_confidence) for all nodes in use on h100-8 at dallas" in said


@pytest.mark.parametrize(
    ("availability", "confidence", "nodes"),
    [(0.97, 0.95, 1), (0.999, 0.95, 2), (0.9999, 0.95, 3), (0.97, 0.999, 2)],
)
def test_the_stricter_of_both_decides(availability: float, confidence: float, nodes: int) -> None:
    """Nodes in service are those that keep the promise and the spares, whichever asks for more."""
    plan = planned(
        small(
            **{"fleet[0]__nodes": 6, "fleet[0]__resale": "0 USD"},
            services__chat__availability=availability,
            reliability__spare_confidence=confidence,
        )
    )
    solution = plan.answer.solution

    assert solution is not None
    assert solution.in_service.sum() == nodes
    assert verify(plan.problem, solution, 1e-6) == []


def test_a_share_of_spares_does_not_undo_a_promise() -> None:
    """No spares for nodes in use, and those of the service all the same."""
    plan = planned(small(**{"fleet[0]__nodes": 6}, reliability__spare_share=0.0))

    assert plan.answer.solution is not None
    assert plan.answer.solution.spares.sum() == 2


@pytest.mark.parametrize("availability", [0.99, 0.999, 0.9999])
@pytest.mark.parametrize("rate", ["1 /s", "60 /s"])
def test_every_row_says_what_it_keeps(availability: float, rate: str) -> None:
    """The availability of a row is no less than asked for, and follows from its parts."""
    scenario = small(
        **{"fleet[0]__nodes": 60},
        services__chat__availability=availability,
        services__chat__peak_rate=rate,
    )
    plan = planned(scenario)
    solution = plan.answer.solution
    assert solution is not None
    records = service_records(plan, solution)

    assert records
    for record in records:
        kept = record["availability_fraction"]
        assert availability <= float(kept.value) < 1
        assert recompute([kept], {})[0] == pytest.approx(float(kept.value))


def test_a_pool_needs_more_nodes_than_its_work_fills() -> None:
    """Of nodes that are always up, 100 node-months of work at 80 % take 125; of these 1.4 % are down, too."""
    node_h = 100_000 / 8
    plan = planned(small(POOL, **{"fleet[0]__nodes": 12, "fleet[0]__resale": "0 USD"}))
    solution = plan.answer.solution
    assert solution is not None
    (record,) = pool_records(plan, solution)
    held = float(record["held_node_h"].value)

    assert float(record["node_h"].value) == pytest.approx(node_h, rel=1e-6)
    assert held == pytest.approx(node_h / 0.8 * (1 + 0.0001083 * 132), rel=1e-6)
    assert solution.in_service.sum() == np.ceil(held / plan.problem.node_groups.hours[0])


def test_a_pool_states_its_own_utilisation() -> None:
    """Full nodes are asked for where a scenario says so; what is held is then what is down alone."""
    problem = assemble(Inputs(small(POOL, pools__experiments__utilisation=1.0), load_catalogue())).problem

    assert problem.work_options.held_ratio[0] == pytest.approx(1 + 0.0001083 * 132)


@pytest.mark.parametrize(("carrying", "more"), [(1, 1), (4, 2), (10, 2)])
def test_standby_alone_covers_repairs_where_no_spares_are_kept(carrying: int, more: int) -> None:
    """99.9 % of nodes that are up 98.6 %: 2 for 1 (0.9998), 6 for 4 (0.99995), 12 for 10 (0.99945).

    Half a node each, twice as many replicas carry, and a node takes two of them along.
    """
    alone = {
        "failure_rate_per_node_h": 0.014 / 0.986,
        "down_h": 1.0,
        "availability_fraction": 0.999,
        "correlation_fraction": 0.0,
    }
    for share in (1.0, 0.5):
        replicas = carrying / share
        units = failing_units(carrying=replicas, replica_nodes=share)
        failures = failures_without_spares(units=units, replica_nodes=share, **alone)
        assert failures == more
        assert standby_replicas(failures=failures, carrying=replicas, replica_nodes=share) == more / share


@pytest.mark.parametrize(("nodes", "said"), [(8, 0), (10, 2)])
def test_headroom_of_a_pool_is_no_node_without_work(nodes: int, said: int) -> None:
    """100,000 hours use 5.8 nodes and hold 7.3, so that work need not wait: of 8 none is free."""
    plan = planned(small(POOL, **{"fleet[0].nodes": nodes}, policy__retirement="none"))
    solution = plan.answer.solution
    assert solution is not None
    sentences = unused_sentences(plan, solution)

    assert float(plan.ledger.idle_nodes[0, 0]) > 2.0
    assert [line.split(" of ")[0] for line in sentences] == ([f"Keep {said} nodes"] if said else [])
