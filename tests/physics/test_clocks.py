"""Locked clocks of runs, pools and services: what they save, what they cost in speed, targets that hold."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carbon.power import clocked_dynamic_fraction
from planner.answers.plan.document import plan_document
from planner.answers.plan.tables import plan_tables
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import ScenarioError, load_scenario, parse_scenario, with_changes
from planner.performance.power import clocked_idle_share_factor, clocked_memory_factor
from planner.physics.divisible_work import NodeWork, node_work
from planner.physics.training_options import FREELY, Mode
from planner.program.assembly import Assembled, assemble
from planner.program.baselines import usual_practice
from planner.program.plan import Plan, plan_fleet
from planner.report.text import to_markdown

FRAME = """
title = "Clocks"
[horizon]
start = 2027-01-01
periods = 1
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
[reliability]
failures = "meta-rsc-1"
restart = "10 min"
repair = "5.5 d"
spare_confidence = 0.99
[policy]
objective = "{objective}"
discount_rate = "8 %"
node_life = "5 y"
"""
POOL = """
[[pools]]
name = "work"
model = "llama-3-8b"
reference = "h100-8"
gpu_time = "60000 h"
{more}
"""
ITEMS = """
[[pools]]
name = "work"
model = "llama-3.1-8b"
reference = "h100-8"
items = "2e6 /d"
tokens_in = 800
tokens_out = 300
{more}
"""
CHAT = """
[[services]]
name = "chat"
model = "llama-3.1-8b"
precision = "bf16"
tokens_in = 600
tokens_out = 250
peak_rate = "200 /s"
mean_to_peak = 0.5
first_token = "1 s"
per_token = "50 ms"
availability = 0.99
{more}
"""
CLOCKS = "clocks = [0.7, 0.85, 1]"


def law(clock: float) -> float:
    facts = load_catalogue().fact
    return float(
        clocked_dynamic_fraction(
            clock_fraction=clock,
            linear_fraction=facts("performance.power_cap.linear_share").value,
            steep_exponent=facts("performance.power_cap.steep_exponent").value,
        )
    )


def inputs(work: str, more: str = CLOCKS, objective: str = "carbon") -> Inputs:
    text = FRAME.format(objective=objective) + work.format(more=more)
    return Inputs(parse_scenario(text), load_catalogue())


@cache
def served(more: str) -> Assembled:
    return assemble(inputs(CHAT, more))


def of_node(work: str, mode: Mode) -> NodeWork:
    held = inputs(work)
    found = node_work(held, held.scenario.pools[0], mode=mode)[0]
    assert isinstance(found, NodeWork)
    return found


def test_training_of_a_pool_slows_with_its_clock_and_draws_by_the_law() -> None:
    """By hand: eight accelerators, each its idle power and d(f) of what it draws above it."""
    free, slow = (of_node(POOL, mode) for mode in (FREELY, (1.0, 0.85)))
    idle_kw = 8 * load_catalogue().fact("accelerator.h100-sxm-80gb.idle_power").value / 1000
    less_kw = free.busy_kw.value - slow.busy_kw.value

    assert slow.rate_per_s.value == pytest.approx(0.85 * free.rate_per_s.value)
    assert less_kw > 0
    # Fans of the host follow what is drawn, so that the node saves a little more than its accelerators.
    eight_kw = less_kw / (1.0 - law(0.85)) + idle_kw
    assert 4.5 < eight_kw < 7.0


def test_answers_of_a_pool_lose_less_than_its_clock() -> None:
    """They wait for memory in part: of 30 % of the clock they lose less, at less power."""
    free, slow = (of_node(ITEMS, mode) for mode in (FREELY, (1.0, 0.7)))
    speed = float(slow.rate_per_s.value / free.rate_per_s.value)
    power = float(slow.busy_kw.value / free.busy_kw.value)

    assert 0.7 < speed < 1.0
    assert 0.7 < power < 0.9


@pytest.mark.parametrize("phases", ["together", "apart"])
def test_replicas_at_a_lower_clock_keep_their_targets(phases: str) -> None:
    """Less is carried, at less power, in time; where others read prompts, those that write are slowed."""
    found = served(f'{CLOCKS}\nphases = "{phases}"').replicas
    assert found is not None
    many, clock = found.candidates, found.candidates.clock_fraction
    rate, drawn = found.requests_per_s.value[:, 0], found.increment_kw.value
    compared = 0
    for row in np.flatnonzero((clock < 1.0) & (rate > 0)).tolist():
        same = (many.accelerators == many.accelerators[row]) & (many.unit == many.unit[row]).all(axis=1)
        (full,) = np.flatnonzero(same & (clock == 1.0))
        assert (0.5 if phases == "together" else 0.8) * rate[full] < rate[row] <= rate[full] * (1 + 1e-9)
        assert drawn[row] < drawn[full]
        compared += 1
    assert compared
    assert np.all(found.ttft_s.value[rate > 0, 0] <= 1.0)
    assert np.all(found.tpot_s.value[rate > 0, 0] <= 0.05)


@given(
    idle_share=st.floats(0.05, 0.5),
    core=st.floats(0, 1),
    clock=st.floats(0.3, 1),
)
def test_coefficients_at_a_lower_clock_fall_and_at_the_highest_stay(
    idle_share: float, core: float, clock: float
) -> None:
    """No load draws no less than what is static, and the memory no less than it takes without the core."""
    static = {"static_kw": 0.07, "tdp_kw": 0.7}
    at_no_load = clocked_idle_share_factor(
        idle_share_factor=idle_share, dynamic_fraction=law(clock), **static
    )
    memory = clocked_memory_factor(
        memory_factor=0.35, memory_core_fraction=core, operation_energy_ratio=law(clock) / clock
    )

    assert min(0.1, idle_share) - 1e-12 <= at_no_load <= idle_share + 1e-12
    assert 0.35 * (1 - core) - 1e-12 <= memory <= 0.35 + 1e-12
    assert clocked_idle_share_factor(
        idle_share_factor=idle_share, dynamic_fraction=1.0, **static
    ) == pytest.approx(idle_share)


@pytest.mark.solve
@pytest.mark.parametrize(("work", "table"), [(POOL, "pools"), (CHAT, "services")], ids=["pool", "service"])
def test_a_plan_for_carbon_lowers_clocks_and_says_so(work: str, table: str) -> None:
    """On nodes that stand anyway the cleanest plan slows down; where no clock is stated, none is named."""

    def plan(more: str) -> Plan:
        return plan_fleet(inputs(work, more).scenario)

    slow, free = plan(CLOCKS), plan("")
    assert slow.answer.solution is not None
    assert free.answer.solution is not None
    assert slow.answer.solution.kgco2e < 0.99 * free.answer.solution.kgco2e
    rows = plan_tables(slow)[table]
    assert min(row["clock_fraction"] for row in rows) < 1.0
    said = to_markdown(plan_document(slow))
    assert re.search(r"Run (work|chat) with .*clocks locked at \d+ %", said)
    assert "clocks locked" not in to_markdown(plan_document(free))
    assert all("clock_fraction" not in row for row in plan_tables(free)[table])


@pytest.mark.solve
def test_a_pausable_run_says_its_clock() -> None:
    """In its row, with the reason, and in its sentence."""
    job = load_scenario(data_folder() / "scenarios" / "one-training-job.toml")
    at = "training.train-8b"
    plan = plan_fleet(with_changes(job, {f"{at}.pausable": True, f"{at}.clocks": [0.8]}))

    assert {row["clock_fraction"] for row in plan_tables(plan)["pausable"]} == {0.8}
    assert re.search(
        r"whenever it suits, .*clocks locked at 80 %: node-hours", to_markdown(plan_document(plan))
    )


def test_caps_of_a_pool_are_tried_next_to_clocks() -> None:
    """Each is a way of its own; a cap below what an idle accelerator draws is none."""
    work = assemble(inputs(POOL, "power_caps = [0.8]\nclocks = [0.9, 1]")).work

    assert work.modes.power_cap_fraction.tolist() == [0.8, 1.0, 1.0]
    assert work.modes.clock_fraction.tolist() == [1.0, 0.9, 1.0]
    assert work.speed is not None
    assert work.speed.value.tolist() == pytest.approx([work.speed.value[0], 0.9, 1.0])
    assert 0.9 < work.speed.value[0] < 1.0


@pytest.mark.parametrize("work", [POOL, ITEMS, CHAT])
def test_clocks_of_the_policy_are_those_of_all_that_states_none(work: str) -> None:
    """The same ways as where the work states them; what states its own keeps to it."""
    text = FRAME.format(objective='carbon"\nclocks = [0.7, 0.85, 1]\nlevers = []\n#') + work
    theirs = assemble(Inputs(parse_scenario(text.format(more="")), load_catalogue()))
    own = assemble(Inputs(parse_scenario(text.format(more="clocks = [0.9]")), load_catalogue()))
    stated = assemble(inputs(work))

    for one, expected in ((theirs, stated), (own, None)):
        clocks = one.work.modes.clock_fraction if work is not CHAT else clocks_of(one)
        if expected is None:
            assert set(clocks.tolist()) == {0.9}
            continue
        same = expected.work.modes.clock_fraction if work is not CHAT else clocks_of(expected)
        assert clocks.tolist() == same.tolist()
        assert len(set(clocks.tolist())) == 3


def clocks_of(assembled: Assembled) -> Any:
    assert assembled.replicas is not None
    return assembled.replicas.candidates.clock_fraction


def test_usual_practice_runs_at_full_clock() -> None:
    """What one compares with uses no lever: neither those of the policy nor those of the work."""
    text = FRAME.format(objective='carbon"\nclocks = [0.8]\nretirement = "none') + POOL + CHAT
    usual = usual_practice(parse_scenario(text.format(more="clocks = [0.9]")))

    assert usual.policy.clocks_fraction is None
    assert usual.pools[0].clocks_fraction is None
    assert usual.services[0].clocks_fraction is None


def test_clocks_that_cannot_be() -> None:
    with pytest.raises(ScenarioError, match=r"pools.work.clocks\[0\]"):
        inputs(POOL, "clocks = [0.1]")
