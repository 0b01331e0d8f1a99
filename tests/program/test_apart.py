"""Prompts read by some replicas and answers written by others: units in plans, the same by every door."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from planner.answers.plan.document import plan_document
from planner.answers.plan.work import service_records
from planner.answers.throughput.document import throughput_document
from planner.inputs.consistency import check_scenario
from planner.inputs.hardware_question import Question
from planner.inputs.loading import load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import ScenarioError, parse_scenario
from planner.physics.disaggregation import CacheWay, disaggregated_law, in_less_time, prompts_alone
from planner.physics.engine_law import engine_law
from planner.physics.replica_kinds import replica_kinds
from planner.physics.requests import FRAME
from planner.physics.serving import serving_candidates
from planner.physics.serving_options import requests_of
from planner.program.plan import Plan, plan_fleet
from planner.report.cells import opened_at
from planner.report.standards import kserve
from planner.report.standards.formats import StandardError
from planner.report.standards.kueue import _left
from planner.report.standards.periods import periods_of
from planner.trace.quantities import chosen

CATALOGUE = load_catalogue()
CALM = chosen("arrival_scv_ratio", 1.0, "Poisson")
SERVICE = """
[[services]]
name = "chat"
model = "llama-3.1-70b"
precision = "bf16"
{lengths}
peak_rate = "{rate} /s"
mean_to_peak = 0.5
first_token = "1 s"
per_token = "{per_token}"
availability = 0.99
{more}
"""
SITE = """
title = "apart"
[horizon]
start = 2027-01-01
periods = 1
period = "month"
[[sites]]
name = "here"
grid = "se"
pue = 1.1
power_cap = "5 MW"
racks = 100
space = "owned"
[[fleet]]
sku = "h100-8"
site = "here"
nodes = 12
in_service = 2026-01-01
[reliability]
failures = "meta-rsc-2"
restart = "10 min"
repair = "5 d"
spare_confidence = 0.9
[policy]
objective = "carbon"
discount_rate = 0.08
node_life = "5 y"
[solve]
time_limit = "20 s"
"""
LENGTHS, WRITTEN = "tokens_in = 1200\ntokens_out = 200", "tokens_in = 200\ntokens_out = 400"
WAYS = ("together", "apart", "either")


def service(more: str, rate: float = 40.0, per_token: str = "25 ms", lengths: str = LENGTHS) -> str:
    return SERVICE.format(more=more, rate=rate, per_token=per_token, lengths=lengths)


def of(more: str, rate: float = 40.0, lengths: str = LENGTHS, per_token: str = "25 ms") -> Inputs:
    text = FRAME.format(fleet='[[market]]\nsku = "h100-8"\nlead_time = "0 d"\n')
    return Inputs(parse_scenario(text + service(more, rate, per_token, lengths), "x"), CATALOGUE)


@cache
def planned(phases: str, lengths: str = LENGTHS) -> Plan:
    text = SITE + service(f'phases = "{phases}"', 20.0, lengths=lengths)
    found = parse_scenario(text, "mine.toml")
    return plan_fleet(found, catalogue=CATALOGUE, baselines=False)


def problems(more: str, lengths: str = LENGTHS) -> list[str]:
    try:
        text = SITE + service(more, lengths=lengths)
        check_scenario(parse_scenario(text, "mine.toml"), CATALOGUE)
    except ScenarioError as error:
        return [f"{one.path}: {one.message}" for one in error.problems]
    return []


def test_who_reads_is_a_service_that_writes_nothing() -> None:
    """Limit: with a way of no time a replica that reads is that of the same prompts without any answer."""
    one, size = np.zeros(1, dtype=np.intp), np.array([4])
    alone = np.ones(1, dtype=np.intp)
    whole = of('phases = "apart"')
    reads = engine_law(whole, one, one, size, alone, alone, prompts_alone(requests_of(whole, one)))
    nothing = chosen("transfer_s", np.zeros(1), "no way", "s")
    kept = in_less_time(reads, CacheWay(nothing, nothing, nothing, nothing)).capacity(CALM)
    silent = of("", lengths="tokens_in = 1200\ntokens_out = 0")
    same = engine_law(silent, one, one, size, alone, alone).capacity(CALM)

    for name in ("limit_requests_per_s", "ttft_s", "tpot_s"):
        assert kept[name].value == pytest.approx(same[name].value, rel=1e-12)


def test_the_way_of_the_cache_takes_a_part_of_the_time_to_the_first_token() -> None:
    """327,680 B for each of 1,200 tokens, a quarter by each port of 50 GB/s: 1.97 ms and 20 us."""
    inputs, one = of('phases = "apart"'), np.zeros(1, dtype=np.intp)
    unit = np.array([[3, 4, 1, 1, 1, 4, 1, 1]])
    law = disaggregated_law(inputs, one, one, np.array([16]), unit)
    way_s = 1200 * 2 * 80 * 8 * 128 * 2 / 1e9 / 4 / 50 + 20e-6

    assert law.way.transfer_s.value == pytest.approx([way_s], rel=1e-6)
    target = law.reading.arguments["targets"].ttft_target_s
    assert np.ravel(target.value) == pytest.approx([1.0 - way_s], rel=1e-6)
    unit_s, read_s = law.capacity(CALM).ttft_s.value, law.reading.capacity(CALM).ttft_s.value
    assert unit_s == pytest.approx(np.asarray(read_s) + way_s)


def test_a_plan_and_a_single_question_count_the_same_replicas() -> None:
    """Units of one size carry a demand of which `throughput` counts each kind by itself."""
    inputs = of('phases = "apart"')
    asked = Question(
        "llama-3.1-70b",
        serve=True,
        skus=("h100-8",),
        input_tokens=1200.0,
        output_tokens=200.0,
        requests_per_s=40.0,
        tpot_s=0.025,
        ttft_s=1.0,
        disaggregated=True,
    )
    (row,) = throughput_document(asked)["about"]["apart"]
    counts = row["prefill_replicas"], row["prefill_tp"], row["decode_replicas"], row["decode_tp"]
    one, (n_r, a_r, n_w, a_w) = np.zeros(1, dtype=np.intp), counts

    def carries(readers: int, writers: int) -> bool:
        unit = np.array([[readers, a_r, 1, 1, writers, a_w, 1, 1]])
        law = disaggregated_law(inputs, one, one, np.array([readers * a_r + writers * a_w]), unit)
        return float(np.ravel(law.capacity(CALM).requests_per_s.value)[0]) >= 40.0

    assert carries(n_r, n_w)
    assert not carries(n_r - 1, n_w)
    assert not carries(n_r, n_w - 1)


@pytest.mark.parametrize("phases", ["together", "apart"])
def test_one_queue_takes_no_more_replicas(phases: str) -> None:
    """Long prompts under a tight first token: fewer carry the demand, and a single one is as before."""
    long = "tokens_in = 6000\ntokens_out = 200"

    def carrying(rate: float, routing: str) -> np.ndarray:
        inputs = of(f'phases = "{phases}"\nrouting = "{routing}"', rate, long, "300 ms")
        kinds, _ = replica_kinds(inputs, serving_candidates(inputs, (8,))[0])
        return np.asarray(kinds.carrying.value)

    many = [carrying(60.0, routing) for routing in ("random", "pooled")]
    assert np.all(many[1] <= many[0])
    assert np.min(many[1] / many[0]) < 0.95
    few = [carrying(0.01, routing) for routing in ("random", "pooled")]
    assert np.all(few[1] <= few[0])


@pytest.mark.solve
def test_the_plan_takes_what_is_cheaper() -> None:
    """Long prompts and short answers go apart with 25 ms a token, short prompts and long answers do not.

    A plan that may choose is no worse than either, as it may also mix them.
    """
    for lengths, cheaper in ((LENGTHS, "apart"), (WRITTEN, "together")):
        found = {phases: planned(phases, lengths).answer.objective for phases in WAYS}
        assert found["either"] <= min(found.values()) * (1 + 2e-3)
        assert found[cheaper] < 0.9 * max(found.values())


@pytest.mark.solve
def test_a_plan_tells_whole_replicas_of_both_kinds() -> None:
    """They lie on the accelerators that units take, and carry the peak."""
    plan = planned("apart")
    assert plan.answer.solution is not None
    (row,) = service_records(plan, plan.answer.solution)
    v = int(plan.ledger.replica_options[0])

    both = row["prefill_replicas"] * row["prefill_accelerators"]
    both += row["decode_replicas"] * row["decode_accelerators"]
    assert both == pytest.approx(row["replicas"] * 8 * plan.problem.serve_options.nodes[v])
    assert row["capacity_per_s"].value >= 20.0 * (1 - 1e-9)
    assert "tensor_parallel" not in row


@pytest.mark.solve
@pytest.mark.nightly
def test_the_whole_document_closes_and_opens() -> None:
    """The sum of the cost is its total, and each number opens down to the facts of the way of the cache."""
    document = plan_document(planned("either"))
    (row,) = document["tables"]["services"]
    totals = {total["name"]: total["value"] for total in document["totals"]}
    opened = opened_at(document, "services", 0, "first_token_s")

    assert "prompts and answers apart" in row["way"]
    assert totals["cost"] == pytest.approx(sum(one["usd"] for one in document["tables"]["cost"]))
    with pytest.raises(StandardError, match="on replicas of their own"):
        kserve.write(document)
    (quarter, *_) = periods_of(document)
    (fleet,) = document["tables"]["fleet"]
    taken = row["prefill_replicas"] * row["prefill_accelerators"]
    taken += row["decode_replicas"] * row["decode_accelerators"]
    left = _left(document, quarter)["here", "h100-8"]
    assert left == math.floor(fleet["in_service_nodes"]) - math.ceil(taken / 8)
    assert opened is not None
    assert "accelerator.h100-sxm-80gb.network_bandwidth" in opened.to_text()


@pytest.mark.parametrize(
    ("more", "lengths", "words"),
    [
        (
            'phases = "split"',
            LENGTHS,
            "services.chat.phases: 'split' is not possible here: write \"together\"",
        ),
        (
            'phases = "apart"\npower_caps = [0.8]',
            LENGTHS,
            "chat.power_caps: works where one kind of replica",
        ),
        ('phases = "either"', "tokens_in = 9\ntokens_out = 0", "no answer is written apart from its prompt"),
    ],
)
def test_bad_input_is_one_message(more: str, lengths: str, words: str) -> None:
    (only,) = problems(more, lengths)
    assert words in only
