"""Workers that feed training runs: how many, what they take, and stalls where they are too few."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from planner.answers.job.footprint import footprint_of
from planner.answers.job.ingestion import workers_of
from planner.answers.job.setting import setting_of
from planner.answers.plan.document import plan_document
from planner.inputs.consistency import check_scenario
from planner.inputs.job.reading import read_job
from planner.inputs.loading import load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import ScenarioError, parse_scenario
from planner.inputs.scenario.files import read_toml
from planner.physics.nodes import node_columns
from planner.physics.preprocessing import feeding, worker_kw
from planner.physics.training import TrainingRuns, training_runs
from planner.physics.training_options import training_candidates
from planner.program.plan import Plan, plan_fleet

CATALOGUE = load_catalogue()
TEXT = """
title = "A recommender and its workers"
[horizon]
start = 2027-01-01
periods = 1
period = "quarter"
[[sites]]
name = "here"
grid_intensity = "0.2 kg/kWh"
electricity_price = "0.08 USD/kWh"
space = "owned"
pue = 1.1
power_cap = "3 MW"
racks = {racks}
[[fleet]]
sku = "h100-8"
site = "here"
nodes = 4
in_service = 2026-01-01
[[training]]
name = "rank"
model = "dlrm-dcnv2"
samples = 1e13
batch_samples = 65536
precision = "bf16"
deadline = 2027-03-31
nodes = {nodes}
checkpoint_storage = "parallel-fs"
{said}
[reliability]
failures = "meta-rsc-2"
restart = "10 min"
repair = "5 d"
spare_confidence = 0.5
[policy]
objective = "money"
discount_rate = 0.08
node_life = "5 y"
"""
FED = "ingestion = {{ workers_per_node = 9{more} }}"


def inputs(said: str = "", nodes: str = "[2]", racks: int = 40) -> Inputs:
    return Inputs(parse_scenario(TEXT.format(said=said, nodes=nodes, racks=racks), "fed"), CATALOGUE)


@cache
def runs(said: str = "", nodes: str = "[2]") -> TrainingRuns:
    of = inputs(said, nodes)
    return training_runs(of, node_columns(of), training_candidates(of)[0])


@cache
def planned(racks: int = 40) -> Plan:
    return plan_fleet(inputs(FED.format(more=""), "[2, 4]", racks).scenario, baselines=False)


def test_the_default_lies_within_what_was_published() -> None:
    """100 trainer nodes with 9 to 55 workers each, by model (Zhao et al., ISCA 2022)."""
    of = inputs("ingestion = {}", "[100]")
    fed = feeding(of, np.array([0]), np.array([100]))

    assert fed is not None
    assert 900 <= float(fed.workers.value[0]) <= 5500
    assert fed.sku == ("xeon-6980p-2",)
    assert feeding(inputs(), np.array([0]), np.array([100])) is None


def test_enough_workers_change_no_hour_and_draw_next_to_the_nodes() -> None:
    """18 for two nodes; their power comes on top of what each of those draws, and at rest while it waits."""
    plain, fed = runs(), runs(FED.format(more=""))
    each = float(worker_kw(CATALOGUE.fact, CATALOGUE.skus["xeon-6980p-2"]).value)

    assert fed.fed is not None
    assert fed.fed.workers.value.tolist() == [18.0, 18.0]
    assert fed.duration_h.value == pytest.approx(plain.duration_h.value, rel=1e-3)  # intervals move a little
    assert fed.node_kw.value - plain.node_kw.value == pytest.approx(9 * each, rel=0.01)
    above = fed.increment_kw.value - plain.increment_kw.value
    assert above[above > 0] == pytest.approx(18 * each * 1.1)


def test_too_few_workers_slow_the_run_and_its_nodes_idle() -> None:
    """Six of eighteen supply a third: three times the hours, nodes that idle for two of three."""
    enough, few = runs(FED.format(more="")), runs(FED.format(more=", workers = 6"))
    each = float(worker_kw(CATALOGUE.fact, CATALOGUE.skus["xeon-6980p-2"]).value)
    alone = runs().progress

    assert few.fed is not None
    assert few.fed.supplied.value == pytest.approx([1 / 3, 1 / 3])
    assert few.tokens_per_s_per_gpu.value == pytest.approx(enough.tokens_per_s_per_gpu.value / 3)
    assert few.duration_h.value == pytest.approx(3 * enough.duration_h.value, rel=1e-2)
    idle = float(node_columns(inputs()).idle_node_kw.value[0, 0])
    training = float(alone.node_kw.value[0])
    assert few.node_kw.value[0] == pytest.approx(training / 3 + idle * 2 / 3 + 3 * each, rel=0.01)


def test_a_job_and_a_plan_count_the_same_workers_and_stall() -> None:
    """The same run by both doors: hours of trainers at half the supply, hours and energy of workers."""
    text = """title = "rank"
[site]
grid = "us"
pue = 1.1
[hardware]
sku = "h100-8"
[training]
model = "dlrm-dcnv2"
samples = 1e13
batch_samples = 65536
nodes = 2
[ingestion]
workers_per_node = {each}
supplied = {supplied}
"""
    few = runs(FED.format(more=", workers = 9"))
    job = read_job(read_toml(text.format(each=4.5, supplied=0.5), "job"), "job.toml", CATALOGUE)
    setting = setting_of(job, CATALOGUE)
    trained = next(one.done for one in footprint_of(setting).phases if one.name == "training")
    assert trained is not None
    fed, _ = workers_of(setting, {"training": trained})

    assert few.fed_hours is not None
    assert few.fed is not None
    assert float(fed.it_kwh.value / fed.node_h.value) == pytest.approx(few.fed.working_kw.value[0])
    assert float(fed.node_h.value) == pytest.approx(4.5 * float(trained.node_h.value))
    assert float(trained.node_h.value) == pytest.approx(2 * float(few.duration_h.value[0]), rel=0.01)
    assert few.fed_hours.worker_h.value.sum(axis=1)[0] == pytest.approx(float(fed.node_h.value), rel=0.01)


def test_the_whole_document_of_a_fed_run() -> None:
    """Its own checks hold; the table, the ledger, the racks and the cost of a run agree."""
    plan = planned()
    document = plan_document(plan)
    (row,) = document["tables"]["feeding"]
    (job,) = document["tables"]["jobs"]
    ledger = {one["label"]: one["usd"] for one in document["tables"]["cost"]}
    held = next(one for one in document["tables"]["limits"] if one["limit"] == "racks")

    assert (row["workers"], job["nodes"]) == (18, 2)
    assert row["usd"] == pytest.approx(ledger["Training: workers that feed it"])
    assert row["usd"] == pytest.approx(plan.ledger.usd_terms["feeding_usd"].value)
    assert held["used"] == pytest.approx(4 * float(plan.assembled.nodes.racks.value[0]) + row["racks"])
    assert any(
        one["line"] == "making of workers that feed runs" for one in document["tables"]["whole_ledger"]
    )
    assert any("18 workers of xeon-6980p-2 feed rank." in one for one in document["headline"])
    assert any("none is in the orders" in one for one in document["headline"])


def test_racks_hold_the_workers_too() -> None:
    """36 workers of four nodes take 3.4 racks and more; where there is room for 18 alone, two nodes run."""
    free = planned()
    assert free.answer.solution is not None
    runs_of = free.assembled.runs
    assert runs_of is not None
    assert runs_of.fed is not None
    room = sorted(set(np.asarray(runs_of.fed.racks.value).round(9).tolist()))
    stood = 4 * float(free.assembled.nodes.racks.value[0])
    tight = planned(int(np.ceil(stood + room[0])))
    assert tight.answer.solution is not None

    assert np.ceil(stood + room[0]) < stood + room[1]
    assert tight.problem.run_options.nodes[tight.answer.solution.run > 0].max() == 2


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("ingestion = { workers_per_node = 0 }", "training.rank.ingestion.workers_per_node: 0"),
        ("ingestion = { workers = 0 }", "training.rank.ingestion.workers: 0"),
        ("ingestion = { workers = 2.5 }", "training.rank.ingestion.workers: 2.5"),
        ('ingestion = { sku = "xenon" }', "training.rank.ingestion.sku: the catalogue has no SKU 'xenon'"),
        ("ingestion = { worker = 3 }", "training.rank.ingestion.worker: "),
        ("ingestion = 3", "training.rank.ingestion: "),
        ("ingestion = {}\npausable = true", "training.rank.ingestion: is of runs in one piece"),
    ],
)
def test_wrong_workers_are_refused_once(said: str, wanted: str) -> None:
    with pytest.raises(ScenarioError) as error:
        check_scenario(inputs(said).scenario, CATALOGUE)
    found = [f"{one.path}: {one.message}" for one in error.value.problems]

    assert len([one for one in found if one.startswith(wanted)]) == len(found) == 1, found
