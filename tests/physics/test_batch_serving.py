"""Recommenders, makers of images, models of speech as services: the road of `throughput`, published rates."""

from __future__ import annotations

import numpy as np
import pytest

from planner.answers.throughput import Question, throughput_document
from planner.inputs.loading import load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import parse_scenario
from planner.physics.batch_serving import batch_law
from planner.physics.nodes import TURN, node_columns
from planner.physics.replica_kinds import joined, replica_kinds
from planner.physics.serving import Replicas, replica_columns, serving_candidates
from planner.trace.origins import facts_of
from planner.trace.quantities import Traced, chosen

CATALOGUE = load_catalogue()
FRAME = """
title = "kinds"
[horizon]
start = 2027-01-01
periods = 1
period = "quarter"
[[sites]]
name = "here"
grid_intensity = "0.2 kg/kWh"
pue = 1.1
power_cap = "1 MW"
racks = 10
[[market]]
sku = "h100-8"
lead_time = "0 d"
[[market]]
sku = "h200-8"
lead_time = "0 d"
[[market]]
sku = "xeon-6980p-2"
lead_time = "0 d"
[reliability]
failures = "meta-rsc-2"
restart = "10 min"
repair = "5 d"
spare_confidence = 0.95
[policy]
objective = "money"
discount_rate = 0.08
node_life = "5 y"
"""
SERVICE = """
[[services]]
name = "{name}"
mean_to_peak = 0.5
availability = 0.99
precision = "{precision}"
{said}
"""
SCORES = 'model = "dlrm-dcnv2"\ncandidates = 270\nresponse_time = "20 ms"\npeak_rate = "1 /s"'
DRAWS = 'model = "sdxl"\nimages = 1\nresponse_time = "60 s"\npeak_rate = "1 /s"'
READS = 'model = "llama-3-8b"\ntokens_in = 512\ntokens_out = 0\nresponse_time = "1 s"\npeak_rate = "1 /s"'
HEARS = """
model = "whisper-large-v3"
audio = "30 s"
tokens_out = 83
first_token = "5 s"
per_token = "1 s"
peak_rate = "1 /s"
"""


def of(*services: str, precision: str = "bf16") -> Inputs:
    text = "".join(
        SERVICE.format(name=f"s{i}", said=one, precision=precision) for i, one in enumerate(services)
    )
    return Inputs(parse_scenario(FRAME + text, "x"), CATALOGUE)


def rates(inputs: Inputs) -> dict[tuple[int, str, int], float]:
    """Requests a second of a replica, by service, SKU and accelerators, as the program is given them."""
    candidates, _ = serving_candidates(inputs)
    found: Replicas = replica_columns(inputs, node_columns(inputs), candidates)
    each = np.asarray(found.requests_per_s.value)[:, 0]
    skus = [inputs.skus[k].name for k in inputs.node_group_sku[candidates.node_group]]
    return {
        (int(i), sku, int(size)): float(rate)
        for i, sku, size, rate in zip(candidates.service, skus, candidates.accelerators, each, strict=True)
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("said", "question"),
    [
        (
            SCORES,
            Question("dlrm-dcnv2", serve=True, skus=("h100-8",), nodes=(1,), response_s=0.02, items=270.0),
        ),
        (DRAWS, Question("sdxl", serve=True, skus=("h100-8",), nodes=(1,), response_s=60.0, items=1.0)),
    ],
)
def test_throughput_and_plan_give_a_unit_one_rate(said: str, question: Question) -> None:
    """Arrivals at one unit differ by how many share them, which Poisson's do not notice."""
    units = throughput_document(question, CATALOGUE)["about"]["units"]
    planned = rates(of(said))

    for row in units:
        assert planned[0, "h100-8", row["accelerators"]] == pytest.approx(row["requests_per_s"], rel=1e-6)


@pytest.mark.parametrize(("said", "model", "items"), [(SCORES, "dlrm-dcnv2", 270.0), (DRAWS, "sdxl", 1.0)])
def test_a_lax_answer_comes_near_to_full_load(said: str, model: str, items: float) -> None:
    """With time to spare a unit takes full batches but for the headroom: the rate of the table of sizes."""
    document = throughput_document(Question(model, serve=True, skus=("h100-8",), nodes=(1,)), CATALOGUE)
    full = document["rows"][0]["rate_per_s"] / 8 / items
    headroom = CATALOGUE.fact("performance.serving.headroom").value

    assert rates(of(said))[0, "h100-8", 1] == pytest.approx(headroom * full, rel=0.05)


def test_power_of_images_is_drawn_with_the_sharpness_of_its_turn() -> None:
    """The trace names the fact, and a rounder turn draws less at full load."""
    drawn = {}
    for turn in (4.0, 6.0):
        text = FRAME + SERVICE.format(name="s", said=DRAWS, precision="bf16") + f'[facts]\n"{TURN}" = {turn}'
        inputs = Inputs(parse_scenario(text, "x"), CATALOGUE)
        law = batch_law(inputs, inputs.scenario.services[0], np.array([0]), np.array([1]))
        calm = chosen("arrival_scv_ratio", 1.0, "Poisson")
        power = law.accelerator_kw(calm, law.capacity(calm).requests_per_s)
        assert facts_of(power)[TURN].value == turn
        drawn[turn] = float(np.squeeze(power.value))

    assert drawn[4.0] < drawn[6.0] < 0.7


HEARS_OFFLINE = HEARS.replace("5 s", "60 s")


@pytest.mark.parametrize(
    ("said", "precision", "sku", "published", "off"),
    [
        # MLPerf Inference v4.1, dlrm-v2-99 Server (60 ms), 8 H100: queries/s. Ours is 2 % more.
        (SCORES.replace("20 ms", "60 ms"), "fp8", "h100-8", 510_155.0, 0.1),
        # v5.1, stable-diffusion-xl Offline, FP8, 8 H100: images/s; Server asks for 20 s. Ours is 0.4 % less.
        (DRAWS.replace("60 s", "20 s"), "fp8", "h100-8", 18.1, 0.15),
        # v6.0, whisper Offline in bf16, 8 H200: 36,395.7 tokens/s of 83 a sample.
        (HEARS_OFFLINE, "bf16", "h200-8", 36_395.7 / 83, 0.1),
    ],
)
def test_eight_replicas_carry_what_was_published(
    said: str, precision: str, sku: str, published: float, off: float
) -> None:
    """The largest load of eight replicas of one accelerator, before the headroom of the peak hour."""
    headroom = CATALOGUE.fact("performance.serving.headroom").value

    assert 8 * rates(of(said, precision=precision))[0, sku, 1] / headroom == pytest.approx(published, rel=off)


def test_a_recording_is_heard_window_by_window() -> None:
    """Six minutes are twelve windows, each a request of its own: a twelfth as many recordings."""
    one, twelve = (
        rates(of(HEARS.replace("30 s", audio).replace("tokens_out = 83", f"tokens_out = {tokens}")))
        for audio, tokens in (("30 s", 83), ("6 min", 12 * 83))
    )

    assert twelve == pytest.approx({key: rate / 12 for key, rate in one.items()}, rel=1e-9)


def test_sound_of_a_day_is_requests_of_the_busiest_hour() -> None:
    """By hand: 20,000 hours a day are 40 requests of half a minute a second... twice that at the peak."""
    by_hours = HEARS.replace('peak_rate = "1 /s"', 'audio_rate = "20000 h/d"')
    service = of(by_hours).scenario.services[0]

    assert service.peak_requests_per_s == pytest.approx((20_000 * 3600 / 86_400 / 30 / 0.5,))
    assert service.audio_h_per_d is None


@pytest.mark.slow
def test_services_of_several_kinds_are_each_as_alone() -> None:
    """What a replica carries does not depend on which other services the plan has."""
    said = (READS, SCORES, DRAWS, HEARS)
    together = rates(of(*said))

    for i, one in enumerate(said):
        alone = rates(of(one))
        mine = {key[1:]: rate for key, rate in together.items() if key[0] == i}
        assert mine == pytest.approx({key[1:]: rate for key, rate in alone.items()}, rel=1e-12)


def test_processors_score_and_do_not_share_tables_over_nodes() -> None:
    sizes = {key[2] for key in rates(of(SCORES)) if key[1] == "xeon-6980p-2"}

    assert sizes == {1, 2}


def test_tables_that_no_node_holds_lie_on_several() -> None:
    """DLRM-A: 8.5 G rows of 94 values in 8 bits are 801 GB; eight H100 have 640 GB, sixteen twice as much."""
    big = 'model = "dlrm-a"\ncandidates = 100\nresponse_time = "100 ms"\npeak_rate = "1 /s"'
    sizes = {key[2] for key in rates(of(big)) if key[1] == "h100-8"}

    assert min(sizes) == 16


def test_joined_kinds_keep_their_steps() -> None:
    """Each row of two laws opens down to its own law."""
    inputs = of(READS, SCORES)
    kinds, _ = replica_kinds(inputs, serving_candidates(inputs)[0])
    column: Traced = kinds.capacity["requests_per_s"]
    scored = int(np.flatnonzero(kinds.service == 1)[0])

    assert joined([kinds], np.arange(1)) is kinds
    assert column.items[scored].column.name == "batched_capacity.requests_per_s"  # type: ignore[attr-defined]
