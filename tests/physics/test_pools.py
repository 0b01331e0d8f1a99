"""Pools by every way to state their need: node-hours of one program, from rates that other doors give too."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from planner.answers.check import check
from planner.answers.throughput import Question, throughput_document
from planner.inputs.catalogue import load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import ScenarioError, parse_scenario
from planner.physics.divisible_work import NodeWork, node_work
from planner.program.assembly import Assembled, assemble

FRAME = """
title = "A pool"
[horizon]
start = 2027-01-01
periods = 2
period = "quarter"
[[sites]]
name = "here"
grid = "us-camx"
pue = 1.1
power_cap = "900 kW"
racks = 40
[[fleet]]
sku = "h100-8"
site = "here"
nodes = 20
in_service = 2025-01-01
[[market]]
sku = "mi300x-8"
lead_time = "0 d"
order_nodes = 1
[[services]]
name = "chat"
model = "llama-3-8b"
precision = "bf16"
tokens_in = 500
tokens_out = 200
peak_rate = "300 /s"
mean_to_peak = 0.5
first_token = "2 s"
per_token = "60 ms"
availability = 0.99
[[pools]]
name = "work"
model = "llama-3-8b"
reference = "h100-8"
{pool}
[reliability]
failures = "meta-rsc-1"
restart = "10 min"
repair = "2 d"
spare_confidence = 0.9
[policy]
objective = "weighted"
carbon_price = "150 USD/t"
discount_rate = 0.08
node_life = "5 y"
levers = ["shift", "pack", "lend"]
"""
BATCH = 'items = ["40e6 /d", "80e6 /d"]\ntokens_in = 1200\ntokens_out = 150\n'
HOURS_OF_QUARTERS = np.array([90 * 24.0, 91 * 24.0])


def inputs(pool: str) -> Inputs:
    return Inputs(parse_scenario(FRAME.format(pool=pool)), load_catalogue())


@cache
def nodes(pool: str) -> dict[str, NodeWork]:
    """What a node of each SKU does for a pool."""
    found = inputs(pool)
    works = node_work(found, found.scenario.pools[0])
    return {found.skus[k].name: one for k, one in works.items() if isinstance(one, NodeWork)}


@cache
def assembled(pool: str) -> Assembled:
    return assemble(inputs(pool))


def test_batch_inference_has_the_rate_of_throughput_where_nobody_waits() -> None:
    """`everfleet throughput --serve --ttft '1 h' --tpot '1 h'`: what a replica takes at most, for a node."""
    question = Question(
        model="llama-3-8b",
        serve=True,
        skus=("h100-8", "mi300x-8"),
        input_tokens=1200.0,
        output_tokens=150.0,
        ttft_s=3600.0,
        tpot_s=3600.0,
    )
    most = {"h100-8": 0.0, "mi300x-8": 0.0}
    for row in throughput_document(question)["rows"]:
        if row["fits"]:
            most[row["sku"]] = max(most[row["sku"]], row["limit_per_s"] * 8 / row["accelerators"])

    for sku, work in nodes(BATCH).items():
        assert work.rate_per_s.value == pytest.approx(most[sku], rel=1e-3)


def test_items_of_a_day_are_node_hours_of_the_reference() -> None:
    reference = nodes(BATCH)["h100-8"].rate_per_s.value
    work = assembled(BATCH).problem.work

    expected = np.array([40e6, 80e6]) / 24.0 * HOURS_OF_QUARTERS / (3600.0 * reference)
    assert work.demand_h[0] == pytest.approx(expected)
    more = assembled(BATCH + "passes = 3\n").problem.work
    assert more.demand_h == pytest.approx(3.0 * work.demand_h)


def test_batch_inference_is_a_pool_of_the_same_program() -> None:
    """The same rows, slots and loans as a pool in accelerator-hours: only speeds and power are its own."""
    batch, hours = assembled(BATCH).problem, assembled('gpu_time = "60000 h"\n').problem

    assert batch.work_options.node_group.tolist() == hours.work_options.node_group.tolist()
    assert len(batch.slots) == len(hours.slots) > 0
    assert batch.work_shifts.may_borrow.tolist() == hours.work_shifts.may_borrow.tolist() == [True, True]
    speed = nodes(BATCH)["mi300x-8"].rate_per_s.value / nodes(BATCH)["h100-8"].rate_per_s.value
    assert batch.work_options.speed.tolist() == pytest.approx([1.0, speed])
    assert speed != pytest.approx(hours.work_options.speed[1], rel=0.02)


@pytest.mark.parametrize(
    ("pool", "said"),
    [
        ("", "pools.work: gpu_time and items say what a pool needs: write one of them"),
        (BATCH + 'gpu_time = "3 h"', "pools.work: gpu_time and items all say what it needs: keep one"),
        ('items = "4 /d"\ntokens_out = 3', "pools.work.tokens_in: is missing, and items needs it"),
        ('gpu_time = "3 h"\npasses = 2', "pools.work.passes: has no effect with gpu_time, only with items"),
        (BATCH.replace("80e6 /d", "80 kW"), "pools.work.items[1]: '80 kW'"),
        (BATCH + 'engine = "vlm"', "pools.work.engine: the catalogue has no serving engine 'vlm'"),
    ],
)
def test_a_need_that_is_stated_wrongly_is_one_message(pool: str, said: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        check(FRAME.format(pool=pool), "mine.toml")

    assert len(refused.value.problems) == 1
    assert said in str(refused.value)
