"""Less demand never costs more: the law of shared bursts, and whole plans, as each demand falls."""

from __future__ import annotations

import heapq
import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import at_night, size

from benchmarks.studies import demand_ladder
from benchmarks.studies.demand_ladder import Step, demands, ladder, rises, step
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, ScenarioError, load_scenario, parse_scenario, with_changes
from planner.physics.equations.serving import burst_fractions, replica_arrival_scv_ratio, shared_demand
from planner.physics.replica_kinds import replica_kinds
from planner.physics.serving import serving_candidates
from planner.program.assembly import assemble

CODE_SCV, CODE_PER_S = 172.9565, 2.5667  # of Azure's code trace of 2023

SMALL = """
title = "Drawn"
[horizon]
start = 2027-01-01
periods = 2
period = "quarter"
[[sites]]
name = "here"
grid = "se"
pue = 1.1
power_cap = "900 kW"
racks = 40
electricity_price = "65 USD/MWh"
[[market]]
sku = "h100-8"
lead_time = "0 d"
order_nodes = 1
[[services]]
name = "code"
model = "codellama-34b"
precision = "bf16"
traffic = "azure-2023-code"
peak_rate = ["20 /s", "30 /s"]
mean_to_peak = 0.35
first_token = "2 s"
per_token = "60 ms"
availability = 0.999
[[pools]]
name = "tuning"
model = "llama-3-8b"
reference = "h100-8"
gpu_time = ["20000 h", "30000 h"]
[[training]]
name = "train"
model = "llama-3-8b"
tokens = 1e11
sequence_tokens = 8192
batch_tokens = 4194304
precision = "bf16"
deadline = 2027-06-30
nodes = [2, 4]
checkpoint_storage = "parallel-fs"
[reliability]
failures = "meta-rsc-1"
restart = "10 min"
repair = "5.5 d"
spare_confidence = 0.95
[policy]
objective = "money"
discount_rate = "8 %"
node_life = "5 y"
"""


def shipped(name: str) -> Scenario:
    return load_scenario(data_folder() / "scenarios" / f"{name}.toml")


def shared(demand: Any, *, alone: float = 7.0, fall: float = 0.09, scv: float = CODE_SCV) -> Any:
    """Replicas that carry `alone` e^(-fall y) each, of a trace like Azure's code."""
    bursts = burst_fractions([scv])[0] * (scv - 1.0)
    return shared_demand(
        demand_per_s=np.atleast_1d(demand),
        trace_scv_ratio=scv,
        trace_per_s=CODE_PER_S,
        tried_scv_ratio=1.0 + bursts[None, :],
        tried_requests_per_s=alone * np.exp(-fall * bursts)[None, :],
    )


# ---- the law of shared bursts


@settings(max_examples=size(8, nightly=40), deadline=None)
@given(
    alone=st.floats(0.01, 50.0),
    fall=st.floats(0.0, 0.5),
    scv=st.floats(0.5, 400.0),
    demand=st.floats(1e-6, 1e4),
    share=st.floats(1e-4, 1.0),
)
def test_a_part_of_a_demand_never_takes_more_replicas(
    alone: float, fall: float, scv: float, demand: float, share: float
) -> None:
    found = shared([share * demand, demand], alone=alone, fall=fall, scv=scv)
    less, more = found.carrying_replicas

    assert less <= more * (1 + 1e-9)
    assert less >= 1.0
    assert np.all(found.arrival_scv_ratio <= max(scv, 1.0) * (1 + 1e-9))


@pytest.mark.parametrize("demand", [0.05, 0.4, 1.0, 2.5, 4.0, 9.0, 25.0, 120.0])
def test_the_fewest_replicas_are_those_found_by_trying(demand: float) -> None:
    """Every number of replicas on a fine grid, for this demand and every larger one."""

    def enough(count: np.ndarray, wanted: float) -> np.ndarray:
        streams = wanted / CODE_PER_S
        bursts = (CODE_SCV - 1.0) * min(streams, 1.0 / streams) / count
        return count * 7.0 * np.exp(-0.09 * bursts) >= wanted

    counts = np.linspace(1.0, 60.0, 20_001)
    tried = [counts[np.argmax(enough(counts, wanted))] for wanted in np.geomspace(demand, 200.0, 400)]

    assert shared(demand).carrying_replicas[0] == pytest.approx(min(tried), rel=5e-3)


def test_dealing_requests_out_thins_bursts_as_the_law_says() -> None:
    """A simulated stream of hyperexponential gaps (c^2 = 9), of which one replica of four gets a quarter."""
    rng = np.random.default_rng(7)
    often = 0.5 * (1 + math.sqrt(8 / 10))  # balanced means
    rates = np.where(rng.random(1_000_000) < often, 2 * often, 2 * (1 - often))
    times = np.cumsum(rng.exponential(1.0, rates.size) / rates)
    gaps = np.diff(times[rng.integers(0, 4, times.size) == 0])

    law = replica_arrival_scv_ratio(
        trace_scv_ratio=9.0, trace_per_s=1.0, demand_per_s=1.0, carrying_replicas=4.0
    )
    assert law == 3.0
    assert gaps.var() / gaps.mean() ** 2 == pytest.approx(law, rel=0.03)


def waits(times: np.ndarray, works: np.ndarray, servers: int) -> np.ndarray:
    """Kiefer and Wolfowitz: who comes takes the server that is free first."""
    free = [0.0] * servers
    found = np.zeros(len(times))
    for number, (time, work) in enumerate(zip(times.tolist(), works.tolist(), strict=True)):
        begins = max(time, heapq.heappop(free))
        heapq.heappush(free, begins + work)
        found[number] = begins - time
    return found


def test_a_pool_that_serves_many_streams_serves_one_of_them() -> None:
    """Simulated: without the other nine bursty streams no request of the tenth waits longer."""
    rng = np.random.default_rng(3)
    stream = np.repeat(np.arange(10), 400)
    gaps = rng.exponential(1.0, (10, 400)) * np.where(rng.random((10, 400)) < 0.05, 15.0, 0.3)
    times = gaps.cumsum(axis=1).ravel()
    order = np.argsort(times)
    times, stream, works = times[order], stream[order], rng.exponential(1.0, 4000)
    all_of_them = waits(times, works, 12)
    alone = waits(times[stream == 0], works[stream == 0], 12)

    assert all_of_them.max() > 1.0
    assert np.all(alone <= all_of_them[stream == 0] + 1e-9)


def test_little_code_is_served_by_few_replicas() -> None:
    """By the shipped scenario: a tenth of a request a second takes one replica of half a node."""
    scenario = shipped("serving-only")
    counts = []
    for rate in (25.0, 10.0, 5.0, 3.0, 2.0, 1.0, 0.1):
        inputs = Inputs(with_changes(scenario, {"services.code.peak_rate": f"{rate} /s"}), load_catalogue())
        candidates, _ = serving_candidates(inputs)
        half = np.flatnonzero(
            (candidates.service == 1)
            & (candidates.accelerators == 4)
            & (
                inputs.node_group_sku[candidates.node_group]
                == [sku.name for sku in inputs.skus].index("h100-8")
            )
        )[:1]
        kinds, _ = replica_kinds(inputs, candidates.some(half))
        counts.append(float(kinds.carrying.value[0]))

    assert counts == sorted(counts, reverse=True)
    assert counts[0] == pytest.approx(3.3, abs=0.2)
    assert counts[3] <= 5.0
    assert counts[-1] == 1.0


# ---- whole plans


@pytest.mark.parametrize(
    "path", ["services.code.peak_rate", "pools.tuning.gpu_time", "training.train.tokens"]
)
def test_a_plan_never_costs_more_as_one_demand_falls(path: str) -> None:
    """Drawn steps down, in both periods or in one: what carries more carries less."""
    scenario = parse_scenario(SMALL, "drawn")
    (values, unit) = next((values, unit) for place, values, unit in demands(scenario) if place == path)
    rng = np.random.default_rng(sum(path.encode()))
    steps = [step("drawn", scenario, path, "x 1", values, unit, 20.0)]
    for _ in range(4):
        falls = np.where(rng.random(len(values)) < 0.6, rng.choice([0.9, 0.4, 0.1], len(values)), 1.0)
        values = [float(value * fall) for value, fall in zip(values, falls, strict=True)]
        steps.append(step("drawn", scenario, path, "lower", values, unit, 20.0))

    assert steps[-1].usd < steps[0].usd
    for above, below in itertools.pairwise(steps):
        assert not rises(above, below), (above, below)


def test_a_step_that_costs_more_is_told() -> None:
    """A bound above what the larger demand costs is a proof; a worse plan within the gap is none."""
    above = Step("s", "d", "x 1", 100.0, 99.0, "within gap")

    assert rises(above, Step("s", "d", "x 0.5", 120.0, 101.0, "within gap"))
    assert not rises(above, Step("s", "d", "x 0.5", 100.5, 99.5, "within gap"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["one-training-job", "long-training", *(["serving-only", "tight-power"] if at_night() else [])]
)
def test_no_shipped_demand_costs_more_as_it_falls(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every third step down by day, every one at night, and longer."""
    stride = size(3, nightly=1)
    monkeypatch.setattr(demand_ladder, "SHARES", demand_ladder.SHARES[::stride])
    monkeypatch.setattr(demand_ladder, "CODE_PER_S", demand_ladder.CODE_PER_S[::stride])
    for steps in ladder(name, size(4, nightly=20)):
        for above, below in itertools.pairwise(steps):
            assert not rises(above, below), (above, below)


# ---- amounts too small to tell


@pytest.mark.parametrize(
    ("path", "value", "least"),
    [
        ("services.code.peak_rate", "1e-9 /s", "from 1e-06"),
        ("pools.tuning.gpu_time", "1e-6 h", "0, or from 1 "),
        ("training.train.tokens", 1e-9, "from 1 "),
    ],
)
def test_amounts_that_a_solver_cannot_tell_from_none_are_refused(path: str, value: Any, least: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        with_changes(parse_scenario(SMALL, "drawn"), {path: value})

    assert path in str(refused.value)
    assert str(value) in str(refused.value)
    assert least in str(refused.value)


def test_a_pausable_job_has_a_step_to_do() -> None:
    changes = {"training.train.tokens": 1000.0, "training.train.pausable": True}
    said = r"training.train.tokens: 1,000 are less than one step .* 4,194,304"
    with pytest.raises(ScenarioError, match=said):
        with_changes(parse_scenario(SMALL, "drawn"), changes)


def test_a_run_holds_its_nodes_however_short_it_is() -> None:
    """Its hours vanish beside those since the start of the horizon; its nodes do not."""
    scenario = parse_scenario(SMALL, "drawn")
    short = scenario.training[0].model_copy(update={"tokens": 1e-9})
    runs = assemble(
        Inputs(scenario.model_copy(update={"training": (short,)}), load_catalogue())
    ).problem.run_options

    assert len(runs)
    assert np.all(runs.nodes[np.arange(len(runs)), runs.start] >= 2)
