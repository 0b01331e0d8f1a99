"""A run that no site holds takes two: its plan in full, and its rows next to the same run at one site."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from planner.answers.plan.document import plan_document
from planner.answers.throughput import Question, across_document
from planner.inputs.consistency import with_cards
from planner.inputs.loading import load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import ScenarioError, parse_scenario, with_changes
from planner.physics.nodes import node_columns
from planner.physics.training import TrainingRuns, training_runs
from planner.physics.training_options import training_candidates
from planner.program import replay
from planner.program.plan import Plan, plan_fleet
from planner.report.integrity import disagreements
from planner.report.text import to_markdown
from solver.backend import Status

FLEET = """
title = "Two small sites"
horizon = { start = 2027-01-01, periods = 1, period = "quarter" }
reliability = { failures = "meta-rsc-1", restart = "10 min", repair = "5 d", spare_confidence = 0.9 }
policy = { objective = "money", discount_rate = "8 %", node_life = "5 y" }
solve = { gap = "0 %" }

[[sites]]
name = "north"
grid_intensity = "50 g/kWh"
pue = 1.1
power_cap = "32 kW"
space = "owned"
racks = 20
electricity_price = "60 USD/MWh"

[[sites]]
name = "south"
grid_intensity = "400 g/kWh"
pue = 1.25
power_cap = "32 kW"
space = "owned"
racks = 20
electricity_price = "120 USD/MWh"

[[links]]
sites = ["north", "south"]
bandwidth = "800 Gbit/s"
latency = "20 ms"
oversubscription = 2

[[market]]
sku = "a100-80-8"
price = "180 kUSD"
lead_time = "0 d"

[[training]]
name = "train-8b"
model = "llama-3-8b"
tokens = 100e9
sequence_tokens = 8192
batch_tokens = 4194304
precision = "bf16"
deadline = 2027-03-30
nodes = [8]
across = ["gradients"]
checkpoint_storage = "parallel-fs"
"""
NEAR = {"links[0].bandwidth": "1e9 Gbit/s", "links[0].latency": "0 s", "links[0].oversubscription": 1}
ALIKE = {"sites.south.pue": 1.1, "sites.south.electricity_price": "60 USD/MWh"}


def stated(changes: dict[str, Any] | None = None) -> Inputs:
    scenario = with_changes(parse_scenario(FLEET), changes or {})
    return Inputs(scenario, with_cards(scenario, load_catalogue()))


@cache
def planned() -> tuple[Plan, dict[str, Any]]:
    """The plan and its whole document."""
    plan = plan_fleet(parse_scenario(FLEET), baselines=False)
    return plan, plan_document(plan)


def runs_of(changes: dict[str, Any]) -> TrainingRuns:
    inputs = stated(changes)
    return training_runs(inputs, node_columns(inputs), training_candidates(inputs)[0])


@pytest.mark.slow
def test_no_site_holds_it() -> None:
    """Eight nodes draw about 40 kW: without a link there is no plan."""
    alone = with_changes(parse_scenario(FLEET), {"training.train-8b.across": None})

    assert plan_fleet(alone, baselines=False).answer.status is Status.INFEASIBLE


@pytest.mark.slow
def test_two_sites_hold_it() -> None:
    """Every limit holds at both; nodes, spares and energy stand where they are."""
    plan, document = planned()
    assert plan.answer.status is Status.OPTIMAL
    solution = plan.answer.solution
    assert solution is not None
    jobs = document["tables"]["jobs"]

    assert solution.in_use.sum() == 8
    assert (solution.in_use > 0).all()
    assert (solution.in_service >= solution.in_use + solution.spares).all()
    assert sum(row["nodes"] for row in jobs) == 8
    assert [row["shared_with"] for row in jobs] == [
        f"{there['nodes']} of {there['sku']} at {there['site']}" for there in reversed(jobs)
    ]
    assert {row["crosses"] for row in jobs} == {"gradients"}
    power = [row for row in document["tables"]["limits"] if row["limit"] == "power"]
    assert [row["used"] <= 32 for row in power] == [True, True]


def test_the_whole_document_agrees_with_itself() -> None:
    """Every number is what its explanation comes to, and the run counts once."""
    _, document = planned()
    (unit,) = [row for row in document["tables"]["unit_costs"] if row["work"] == "train-8b"]
    said = [line for line in document["headline"] if line.startswith("Run ")]

    assert disagreements(document) == []
    assert unit["amount"] == 1
    assert len(said) == 1
    assert " at north and " in said[0]
    assert "(what crosses: gradients)" in said[0]
    assert len([row for row in document["tables"]["chance"] if row["work"] == "train-8b"]) == 1
    assert "| 2 of a100-80-8 at south | gradients |" in to_markdown(document)


def test_a_shared_run_that_has_begun_goes_on_at_both_sites() -> None:
    """What a replay holds of it: the same two rows, and none at one site."""
    plan, _ = planned()
    solution, begun = plan.answer.solution, replay.Begun()
    assert solution is not None
    replay._keep(replay._nothing(plan.problem), begun, plan.problem, solution, 0)
    ((_, held),) = replay._held_runs(plan.problem, begun, 1)

    assert held.tolist() == solution.run.tolist()


def halves(runs: TrainingRuns) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the first and of the second half of each run, least time first."""
    found = runs.candidates.halves
    assert found is not None
    shared = (found.joint[runs.candidate] > 0) & (runs.policy[runs.candidate] == 0)
    second = found.second[runs.candidate]
    order = np.argsort(found.joint[runs.candidate], kind="stable")
    return order[(shared & ~second)[order]], order[(shared & second)[order]]


def test_a_link_of_no_delay_joins_two_sites_to_one() -> None:
    """Eight nodes at one site take as long, draw as much, fail as often; a layout that both may have."""
    runs = runs_of(NEAR | ALIKE)
    first, second = halves(runs)
    assert runs.candidates.halves is not None
    alone = np.flatnonzero(
        (runs.candidates.halves.joint[runs.candidate] == 0) & (runs.policy[runs.candidate] == 0)
    )[0]
    one = runs.candidate[alone]
    for a, b in zip(first, second, strict=True):
        c, d = runs.candidate[a], runs.candidate[b]
        same = all(column[c] == column[one] for column in runs.candidates.layout.values())
        assert same, "the fastest layout has a copy on each node: any cut of them is whole"
        for column in (runs.step_s, runs.mttf_h, runs.ettr, runs.duration_h):
            assert column.value[c] == pytest.approx(column.value[one], rel=1e-6)
            assert column.value[d] == column.value[c]
        for name in ("node_h", "facility_kwh", "increment_kw", "usd"):
            column = getattr(runs, name).value
            assert column[a] + column[b] == pytest.approx(column[alone], rel=1e-6)


def test_each_half_pays_where_it_stands() -> None:
    """Power by the building, price and carbon of its own site, for its own nodes."""
    runs = runs_of({})
    first, second = halves(runs)
    a, b = first[0], second[0]
    nodes = runs.candidates.nodes[runs.candidate[[a, b]]]

    assert nodes.tolist() == [2, 6]
    kwh = np.array([runs.facility_kwh.value[row].sum() for row in (a, b)])
    assert kwh / nodes / [1.1, 1.25] == pytest.approx([kwh[0] / nodes[0] / 1.1] * 2)
    assert [runs.usd.value[row].sum() for row in (a, b)] == pytest.approx(kwh * [0.06, 0.12])
    carbon = [runs.kgco2e.value[row].sum() for row in (a, b)]
    assert carbon == pytest.approx(kwh * [0.05, 0.4])


@pytest.mark.parametrize("crosses", ["gradients", "small gradients", "weights", "activations"])
def test_a_worse_link_is_slower(crosses: str) -> None:
    """All that may cross; a tenth of the bandwidth and ten times the delay are never faster."""
    near, far = (
        runs_of({"training.train-8b.across": [crosses]} | link)
        for link in ({}, {"links[0].bandwidth": "80 Gbit/s", "links[0].latency": "200 ms"})
    )
    assert near.candidates.halves is not None
    shared = near.candidates.halves.joint > 0

    assert shared.any()
    assert (far.step_s.value[shared] > near.step_s.value[shared]).all()
    assert (far.step_s.value[~shared] == near.step_s.value[~shared]).all()


@pytest.mark.parametrize("crosses", ["gradients", "small gradients", "weights", "activations"])
def test_a_step_is_that_of_throughput_across(crosses: str) -> None:
    """The same question by two doors."""
    question = Question(
        "llama-3-8b",
        skus=("a100-80-8",),
        sequence_tokens=8192,
        batch_tokens=4194304,
        across="se:4,ch:4",
        link="800 Gbit/s, 20 ms, 2:1",
    )
    (row,) = [one for one in across_document(question)["options"] if one["crosses"] == crosses]
    runs = runs_of({"training.train-8b.across": [crosses]})
    even = runs.candidates.halves is not None and runs.candidates.nodes == runs.candidates.halves.nodes

    assert np.unique(runs.step_s.value[even]) == pytest.approx([row["step_s"]], rel=1e-9)


def test_failures_of_both_halves_count() -> None:
    inputs = stated()
    columns = node_columns(inputs)
    single, _ = training_candidates(inputs)
    worse = columns.failure_rate_per_node_h.value * np.array([1.0, 3.0])
    rates = replace(columns.failure_rate_per_node_h, value=worse)
    runs = training_runs(inputs, replace(columns, failure_rate_per_node_h=rates), single)
    first, second = halves(runs)
    c = runs.candidate[first[0]]

    assert runs.mttf_h.value[c] == pytest.approx(1 / (2 * worse[0] + 6 * worse[1]))
    assert runs.mttf_h.value[runs.candidate[second[0]]] == runs.mttf_h.value[c]


def test_a_link_that_no_run_may_use_changes_nothing() -> None:
    plain = stated({"training.train-8b.across": None})
    candidates, _ = training_candidates(plain)

    assert candidates.halves is None
    assert len(candidates) == 2


def test_a_link_without_nodes_at_both_ends_is_told() -> None:
    """One site may not be used: what is left out says so, and nothing is shared."""
    candidates, dropped = training_candidates(stated({"training.train-8b.sites": ["north"]}))

    assert candidates.halves is None
    assert [one.what for one in dropped] == ["train-8b at two sites"]
    assert "no link that it may use" in dropped[0].reason


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"links": None}, "training.train-8b.across: has no effect without [[links]]"),
        ({"training.train-8b.pausable": True}, "training.train-8b.across: is of runs in one piece"),
        ({"links[0].sites": ["north", "west"]}, "links[0].sites[1]: 'west' is no site here"),
        ({"links[0].sites": ["north", "north"]}, "links[0].sites: 'north' is in the list twice"),
        ({"links[0].sites": ["north"]}, "links[0].sites: the list has 1 value"),
        ({"links[0].oversubscription": 0.5}, "links[0].oversubscription: "),
    ],
)
def test_what_cannot_be_shared_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError) as problem:
        stated(changes)
    assert said in str(problem.value)


def test_a_pair_of_sites_has_one_link() -> None:
    second = '[[links]]\nsites = ["south", "north"]\nbandwidth = "1 Gbit/s"\nlatency = "1 ms"\n'
    with pytest.raises(ScenarioError, match="joins the same sites"):
        parse_scenario(FLEET + second)
