"""What hardware delivers: the table against other routes, published values, and what it refuses."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import shlex
from pathlib import Path

import pytest
from explained import explained
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import size

import planner.performance.capacity
from planner.answers.throughput import Question, throughput_document, to_csv
from planner.answers.throughput.training import rounder
from planner.cli import ANSWER, NO_PLAN, WRONG_INPUT, main
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import load_scenario, with_changes
from planner.inputs.software import default_stack
from planner.performance.ceilings import CeilingError, request_flop
from planner.physics.engines import kernel
from planner.physics.requests import inputs_of
from planner.program.assembly import assemble
from planner.trace.errors import InputError
from planner.validation.recommendation import serve_benchmark

PAGE = Path(__file__).resolve().parents[2] / "docs" / "what-does-this-hardware-deliver.md"
SEQUENCES = 1024
TOKENS = SEQUENCES * 8192.0


def rows(document, sku):
    return [row for row in document["rows"] if row["sku"] == sku]


def test_h100_trains_70b_as_megatron_reports():
    """Megatron-Core on 768 H100: 419.7 TFLOP/s each on 70 B, 42 % of the peak; other batch and length.

    Published MFU of dense H100 runs is 38 to 47 %, Megatron-Bridge reaches more: 44 to 55 % is near enough
    for a layout that nobody tuned by hand, and twice or half of it would fail.
    """
    document = throughput_document(
        Question("llama-3.1-70b", batch_tokens=TOKENS, skus=("h100-8",), nodes=(96,))
    )
    (row,) = rows(document, "h100-8")

    assert row["accelerators"] == 768
    assert 0.40 <= row["mfu_fraction"] <= 0.55
    assert row["low_per_s"] < row["rate_per_s"] < row["high_per_s"]


def test_lora_as_mlperf_measured():
    """MLPerf Training v4.1, Llama 2 70B LoRA on 8 H100: 2.18 samples of 8,192 tokens a second.

    Log-derived, not verified by MLCommons Association; this form is within 16 % on six such rows.
    """
    document = throughput_document(
        Question(
            "llama-2-70b",
            precision="fp8",
            sequence_tokens=8192,
            batch_tokens=65536,
            adapter_rank=16,
            skus=("h100-8",),
            nodes=(1,),
        )
    )

    assert document["rows"][0]["rate_per_s"] == pytest.approx(2.18 * 8192, rel=0.16)


def test_recommendation_as_mlperf_measured():
    """MLPerf Training, DLRM-DCNv2 on 8 H100: 13.74 M samples a second (log-derived, not verified)."""
    document = throughput_document(Question("dlrm-dcnv2", batch=65_536, skus=("h100-8",), nodes=(1,)))

    assert document["rows"][0]["rate_per_s"] == pytest.approx(13.74e6, rel=0.1)


@pytest.mark.slow
def test_rate_step_and_energy_agree():
    """Agreement: tokens of a step over its time are the rate; the rate over the power is the energy."""
    document = throughput_document(Question("llama-3.1-8b", batch_tokens=TOKENS, nodes=(4,)))
    for row in (row for row in document["rows"] if row["fits"]):
        assert row["rate_per_s"] == pytest.approx(row["batch"] * 8192 / row["step_s"])
        assert row["rate_per_s"] == pytest.approx(row["tokens_per_s_per_gpu"] * row["accelerators"])
        assert row["per_kwh"] == pytest.approx(3600 * row["rate_per_s"] / (row["nodes"] * row["node_kw"]))
        assert row["high_per_s"] / row["rate_per_s"] == pytest.approx(1 + row["error_fraction"])
        assert 0 < row["mfu_fraction"] < 1
        assert (
            row["node_kw"]
            <= load_catalogue().fact(f"server.{load_catalogue().skus[row['sku']].server}.max_power").value
        )


def test_a_measured_point_is_met_and_carried_on():
    """The measured size comes out as measured; a size bound by its network gains less than the factor."""
    plain = throughput_document(
        Question("llama-3.1-70b", batch_tokens=TOKENS, skus=("h100-8",), nodes=(64, 128))
    )
    point = 0.85 * plain["rows"][0]["rate_per_s"]
    measured = throughput_document(
        Question(
            "llama-3.1-70b",
            batch_tokens=TOKENS,
            skus=("h100-8", "b200-8"),
            nodes=(64, 128),
            measured=f"h100-8 x 64 nodes = {point:.6g} tokens/s",
        )
    )
    at, beyond = rows(measured, "h100-8")

    assert at["rate_per_s"] == pytest.approx(point, rel=1e-5)
    assert beyond["rate_per_s"] / plain["rows"][1]["rate_per_s"] == pytest.approx(0.85, abs=0.03)
    assert at["error_fraction"] == load_catalogue().fact("performance.training.calibrated_error").high
    assert rows(measured, "b200-8")[0]["error_fraction"] > at["error_fraction"]
    assert measured["calibrated_skus"] == ["h100-8"]


@pytest.mark.slow
def test_a_saved_calibration_is_used(tmp_path, capsys):
    """The efficiency that `calibrate` found stands in the explanation of the rate."""
    assert main(["calibrate", str(data_folder() / "samples" / "measurements.csv"), "--json"]) == ANSWER
    found = json.loads(capsys.readouterr().out)
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(found), encoding="utf-8")
    document = throughput_document(
        Question("llama-3.1-405b", calibration=file, skus=("h100-8",), nodes=(64,), why="h100-8:64")
    )
    chips = found["tables"]["hardware"]
    found_speed = next(one for one in chips if one["accelerator"] == "h100-sxm-80gb")
    steps = {step.name: step for step in explained(document, "rate_per_s").steps}

    assert steps["accelerator.h100-sxm-80gb.matrix_efficiency"].value == found_speed["speed_after"]
    assert document["rows"][0]["error_fraction"] == pytest.approx(found_speed["speed_expected_error_worst"])


def test_target_is_reached_by_the_smallest_size():
    """Independent route: the row that answers the target is the first of the full table that reaches it."""
    question = Question("llama-3.1-8b", batch_tokens=TOKENS, skus=("h100-8",), nodes=tuple(range(1, 13)))
    whole = throughput_document(question)["rows"]
    target = whole[5]["rate_per_s"] * 0.999
    (found,) = throughput_document(
        Question(
            "llama-3.1-8b",
            batch_tokens=TOKENS,
            skus=("h100-8",),
            nodes=tuple(range(1, 13)),
            target_per_s=target,
        )
    )["reached"]

    assert found["nodes"] == next(row["nodes"] for row in whole if row["rate_per_s"] >= target)
    assert found["sure_nodes"] == next(row["nodes"] for row in whole if row["low_per_s"] >= target)


def test_batch_follows_racks_of_72():
    """8 racks of 18 trays: 576 = 9 x 64 does not divide 1,024 sequences; 1,008 = 9 x 112 is near."""
    document = throughput_document(
        Question("llama-3.1-70b", batch_tokens=TOKENS, skus=("gb200-nvl72", "h100-8"), nodes=(8, 144))
    )

    assert [row["batch"] for row in rows(document, "gb200-nvl72")] == [SEQUENCES, 1008]
    assert rows(document, "h100-8")[0]["batch"] == SEQUENCES


@pytest.mark.parametrize("accelerators", [8, 72, 512, 4096])
@pytest.mark.parametrize("batch", [1, 60, 500, 512, 1000, 3000])
def test_a_rounder_batch_is_near_and_divides_no_less(batch, accelerators):
    """Within a tenth, among at least as many copies; a batch of full powers of two stays."""
    other = rounder(batch, accelerators)
    assert abs(other - batch) <= 0.1 * batch
    assert math.gcd(other, accelerators) >= math.gcd(batch, accelerators)
    if batch == 512 and accelerators & (accelerators - 1) == 0:
        assert other == batch


def test_a_batch_that_leaves_few_layouts_is_named():
    """1,000 sequences divide among 8 of 512 accelerators, 1,024 among all: two fifths more, as it says."""
    few, many = (
        throughput_document(
            Question("llama-3.1-8b", batch_tokens=batch * 8192.0, skus=("h100-8",), nodes=(9, 64))
        )
        for batch in (1000, 1024)
    )
    better = rows(many, "h100-8")[1]["rate_per_s"]
    assert better > 1.3 * rows(few, "h100-8")[1]["rate_per_s"]
    (hint,) = [note for note in few["notes"] if note.startswith("h100-8, 64 nodes: a batch of 1,024")]
    assert f"{better:,.0f} tokens/s" in hint
    assert not any("in place of" in note for note in many["notes"])


def test_mfu_of_a_hybrid_counts_the_layers_that_attend():
    """4 of 56 layers of Nemotron Nano 9B attend: with scores in all of them MFU at 1 M tokens was 482 %."""
    document = throughput_document(
        Question(
            "nemotron-nano-9b-v2",
            sequence_tokens=2**20,
            batch_tokens=2.0**26,
            skus=("h100-8",),
            nodes=(16,),
        )
    )
    (row,) = rows(document, "h100-8")
    scores = 12 * 4 * 40 * 128 * 2**20
    flop = 6 * 8.89e9 + scores
    assert row["mfu_fraction"] == pytest.approx(row["tokens_per_s_per_gpu"] * flop / 989e12, rel=0.02)
    assert any("A causal mask hides half" in note for note in document["notes"])


@pytest.mark.parametrize("model", ["llama-3.1-8b", "mixtral-8x7b"])
def test_targets_out_of_reach_are_next_to_what_a_request_takes_alone(model):
    """With a little more than what is said there is a load, with a little less there is none."""
    question = {"serve": True, "skus": ("h100-8",), "input_tokens": 2000.0, "output_tokens": 100.0}
    tight = throughput_document(Question(model, ttft_s=1e-3, **question))
    row = rows(tight, "h100-8")[-1]
    said = re.search(r"within ([\d.]+) s \(90 % of requests\) and ([\d.]+) ms a token", row["reason"])
    assert said is not None, row["reason"]
    ttft_s, tpot_s = float(said[1]), float(said[2]) / 1e3
    for factor, fits in ((1.1, True), (0.9, False)):
        document = throughput_document(
            Question(model, ttft_s=factor * ttft_s, tpot_s=factor * tpot_s, **question)
        )
        assert rows(document, "h100-8")[-1]["fits"] is fits


def test_a_replica_says_how_it_is_laid_out(capsys):
    """Groups of a mixture and stages over nodes are options of an engine; a plain split needs no column."""
    document = throughput_document(Question("mixtral-8x7b", serve=True, skus=("h100-8", "v100-8")))
    fitting = [row for row in document["rows"] if row["fits"]]
    assert fitting
    for row in fitting:
        assert row["tp"] * row["pp"] * row["dp"] == row["accelerators"]
    assert {"TP2 DP2", "TP2 DP4"} & {row["layout"] for row in fitting}
    main(["throughput", "llama-3.1-405b", "--serve", "--sku", "h100-8"])
    assert "TP8 PP2" in capsys.readouterr().out
    main(["throughput", "llama-3.1-8b", "--serve", "--sku", "h100-8"])
    assert "layout" not in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("model", ["llama-3-8b", "mixtral-8x7b"])
def test_a_replica_is_that_of_a_plan(model):
    """Agreement: the table and a plan's service with the same requests and targets have the same replicas."""
    shipped = load_scenario(data_folder() / "scenarios" / "serving-only.toml")
    inputs = Inputs(with_changes(shipped, {"services.chat.model": model}), load_catalogue())
    planned = assemble(inputs).replicas
    service, candidates = inputs.scenario.services[0], planned.candidates
    document = throughput_document(
        Question(
            model,
            serve=True,
            skus=tuple(sku.name for sku in inputs.skus),
            mix=service.traffic,
            ttft_s=service.first_token_s,
            tpot_s=service.per_token_s,
            requests_per_s=min(service.peak_requests_per_s),
        )
    )
    at = {(row["sku"], row["accelerators"]): row for row in document["rows"] if row["fits"]}
    names = [inputs.skus[k].name for k in inputs.node_group_sku[candidates.node_group]]
    # The same in each period, as the demand is.
    columns = (each.value[:, 0] for each in (planned.requests_per_s, planned.ttft_s, planned.tpot_s))
    mine = [
        row
        for row in zip(candidates.service, names, candidates.accelerators, *columns, strict=True)
        if not row[0]
    ]

    assert len(mine) > 8
    for _, sku, tp, rate, ttft_s, tpot_s in mine:
        row = at.get((sku, tp), {"rate_per_s": 0.0, "ttft_s": 0.0, "tpot_s": 0.0})
        assert (row["rate_per_s"], row["ttft_s"], row["tpot_s"]) == pytest.approx((rate, ttft_s, tpot_s))


def test_replicas_are_counted_with_their_margin():
    """Rates lie a quarter below the largest one (headroom 0.75); replicas are the fewest that carry 50 /s."""
    document = throughput_document(
        Question("llama-3.1-70b", serve=True, skus=("h100-8",), requests_per_s=50.0)
    )
    for row in (row for row in rows(document, "h100-8") if row["fits"]):
        assert row["rate_per_s"] == pytest.approx(0.75 * row["limit_per_s"])
        assert row["replicas"] == math.ceil(50.0 / row["rate_per_s"])
        assert row["running"] <= row["batch"]
        assert row["ttft_s"] < 1.0
        assert row["tpot_s"] < 0.1


@pytest.mark.slow
def test_each_accelerator_has_kernels_and_host_time_of_its_own():
    """What was measured on B200 decides there; the engine of 2025 took longer on its hosts."""
    question = Question(
        "llama-3.1-8b", serve=True, skus=("h100-8", "b200-8"), engine="vllm-2025", why="b200-8:1"
    )
    steps = {step.name for step in explained(throughput_document(question), "rate_per_s").steps}
    engine, kernel = "performance.engine.vllm-2025", "kernel.b200-sxm-180gb"

    assert {f"{engine}.step_time@b200", f"{engine}.sequence_time@b200", f"{engine}.layer_time"} <= steps
    assert {f"{kernel}.matrix_share@bf16", f"{kernel}.cache_read_share"} <= steps
    assert not any(name == f"{engine}.step_time" or name.startswith("kernel.h100") for name in steps)


@pytest.mark.slow
def test_looser_targets_never_carry_less():
    """Property: a replica with more time takes at least as many requests."""

    def rate(ttft_s, tpot_s):
        document = throughput_document(
            Question("llama-3.1-8b", serve=True, skus=("h100-8",), ttft_s=ttft_s, tpot_s=tpot_s)
        )
        return [row.get("rate_per_s", 0.0) for row in document["rows"]]

    assert all(more >= less for less, more in zip(rate(0.5, 0.03), rate(2.0, 0.06), strict=True))


def limits_per_s(**question):
    """Largest rate of a replica of each size; 0 where it keeps no target."""
    document = throughput_document(Question(serve=True, **question))
    return [row.get("limit_per_s", 0.0) for row in document["rows"]]


QUESTION = {
    "model": st.sampled_from(["llama-3.1-8b", "llama-3.1-70b", "qwen3-30b-a3b"]),
    "skus": st.sampled_from([("h100-8",), ("l40s-8",), ("b200-8",)]),
    "precision": st.sampled_from(["bf16", "fp8"]),
    "input_tokens": st.floats(16, 4096),
    "output_tokens": st.floats(1, 40) | st.just(1.0),
}


SIZES = ("active_parameters", "tied_embeddings", "vocab", "hidden")


@pytest.mark.slow
@settings(max_examples=size(4, nightly=12))
@given(
    question=st.fixed_dictionaries(QUESTION | {"ttft_s": st.floats(0.2, 20), "tpot_s": st.floats(0.02, 10)})
)
def test_no_rate_beats_the_arithmetic_of_its_prompts(question):
    """Property: 2 N (i + o - 1) for each request stays below the share of the peak that its matrices reach.

    N are the weights between the tables of tokens: each token of a prompt is multiplied with all of them.

    Each prompt was once read at the price of a step that all shared: 66 times the peak of an H100 at one
    token out.
    """
    catalogue = load_catalogue()
    chip = catalogue.skus[question["skus"][0]].accelerator
    peak = catalogue.fact(f"accelerator.{chip}.{question['precision']}_peak").value * 1e12
    inputs = inputs_of(catalogue, question["skus"])
    share = max(
        kernel(inputs, chip, f"{kind}_share@{question['precision']}").value for kind in ("matrix", "grouped")
    )
    of = {name: catalogue.fact(f"model.{question['model']}.{name}").value for name in SIZES}
    tables = (2 - of["tied_embeddings"]) * of["vocab"] * of["hidden"]
    flop = request_flop(
        active_parameters=of["active_parameters"] - tables,
        head_parameters=0.0,
        input_tokens=question["input_tokens"],
        output_tokens=question["output_tokens"],
    )

    for tp, limit_per_s in zip((1, 2, 4, 8), limits_per_s(**question), strict=True):
        assert limit_per_s * flop <= share * tp * peak * (1 + 1e-6)


@pytest.mark.slow
@settings(max_examples=size(4, nightly=8))
@given(
    question=st.fixed_dictionaries(QUESTION | {"input_tokens": st.floats(16, 1024)}),
    longer=st.floats(1.05, 10),
)
@pytest.mark.nightly
def test_shorter_answers_carry_no_fewer_requests(question, longer):
    """Property: where targets leave room, each token more costs rate; 6 % for the tail of the first tokens.

    An answer of one token waits for its prompt only, among the prompts of all others.
    """
    shorter, more = (
        limits_per_s(
            **question | {"ttft_s": 30.0, "tpot_s": 10.0, "output_tokens": question["output_tokens"] * by}
        )
        for by in (1.0, longer)
    )

    assert all(less >= 0.94 * other for less, other in zip(shorter, more, strict=True))


@pytest.mark.slow
@settings(max_examples=size(4, nightly=8))
@given(
    question=st.fixed_dictionaries(QUESTION),
    laxer=st.floats(1.0, 10),
    ttft_s=st.floats(0.1, 5),
    tpot_s=st.floats(0.02, 0.2),
)
@pytest.mark.nightly
def test_laxer_targets_never_lower_the_rate(question, laxer, ttft_s, tpot_s):
    targets = {"ttft_s": ttft_s, "tpot_s": tpot_s}
    strict = limits_per_s(**question | targets)

    for name in targets:
        lax = limits_per_s(**question | targets | {name: targets[name] * laxer})
        assert all(more >= less * (1 - 1e-4) for less, more in zip(strict, lax, strict=True)), name


@pytest.mark.slow
def test_one_token_out_is_held_to_no_time_per_token():
    """There is no further token: 50 ms a token, 10 s a token and 1 ms a token are one question."""
    rates = [
        limits_per_s(
            model="llama-3.1-70b",
            precision="fp8",
            skus=("h100-8",),
            input_tokens=512.0,
            output_tokens=1.0,
            ttft_s=1.0,
            tpot_s=tpot_s,
        )
        for tpot_s in (0.001, 0.05, 10.0)
    ]

    assert rates[0] == rates[1] == rates[2]
    assert min(rates[0]) > 10.0


def test_answers_of_one_length_are_met_at_half_of_it():
    """By hand: a step meets 2 o of an exponential answer and o of one that is fixed, so half of that is read.

    As many bytes of cache are read a step at 100 + 400 tokens that spread, 100 + 800 that are alike.
    """
    at = {"model": "llama-3.1-8b", "skus": ("b200-8",), "input_tokens": 100.0, "ttft_s": 10.0, "tpot_s": 0.02}
    spread = throughput_document(Question(serve=True, **at, output_tokens=400.0))["rows"][0]
    alike = throughput_document(Question(serve=True, **at, output_tokens=800.0, alike=True))["rows"][0]

    # Half as many prompts are read for a token, which is all the difference.
    assert alike["limit_per_s"] * 800 == pytest.approx(spread["limit_per_s"] * 400, rel=0.1)
    assert alike["limit_per_s"] * 800 > spread["limit_per_s"] * 400


@pytest.mark.parametrize(("output_tokens", "limit_per_s"), [(1.0, 97.4), (2.0, 96.9), (28.0, 87.0)])
def test_short_answers_cost_their_prompts(output_tokens, limit_per_s):
    """By hand for one token of 8B on one H100: 2 x 6.98e9 x 512 / (0.808 x 989e12) = 8.9 ms of matrices.

    0.9 ms are 45 bytes of each of 4,096 x 32 x 512 values, 0.3 ms attention, the host the rest of 10.3 ms.
    """
    (one, *_) = limits_per_s(
        model="llama-3.1-8b",
        skus=("h100-8",),
        input_tokens=512.0,
        output_tokens=output_tokens,
        ttft_s=3.0,
        tpot_s=10.0,
    )

    assert one == pytest.approx(limit_per_s, rel=0.01)


@pytest.mark.slow
def test_the_code_trace_is_carried_by_a_replica_that_is_fast_enough():
    """Bursts cost no more than the half that a stream of two exponentials at twice its rate costs.

    The trace (Ca^2 = 173 at 2.6 requests/s) was once carried at 0.00013 requests/s by 8B on one H100.
    """
    question = {"model": "llama-3.1-8b", "skus": ("h100-8",), "ttft_s": 2.0, "tpot_s": 0.06}
    bursty = limits_per_s(**question, mix="azure-2023-code")
    calm = limits_per_s(**question, mix="azure-2023-code", requests_per_s=2.6e3)  # a thousand such streams

    assert all(0.45 * most <= rate <= most for rate, most in zip(bursty, calm, strict=True))
    assert bursty[0] > 5.0


JOB = """
title = "a prompt and a word"
[site]
grid = "us"
pue = 1.1
[hardware]
sku = "h100-8"
[inference]
model = "llama-3.1-8b"
requests = 1e9
tokens_in = 512
tokens_out = 2
"""


@pytest.mark.parametrize(
    "command",
    [
        [
            "throughput",
            "llama-3.1-8b",
            "--serve",
            "--sku",
            "h100-8",
            "--input-tokens",
            "512",
            "--output-tokens",
            "2",
        ],
        pytest.param(
            ["plan", str(data_folder() / "scenarios" / "serving-only.toml"), "--no-baselines"],
            marks=pytest.mark.slow,
        ),
        ["carbon", "job.toml"],
    ],
    ids=lambda command: command[0],
)
def test_every_door_refuses_a_rate_beyond_the_peak(command, monkeypatch, tmp_path):
    """Planted fault: a replica takes 100 times too much. No door shows a number, the message says why."""
    law = planner.performance.capacity.largest_mix_rate_per_s
    monkeypatch.setattr(
        planner.performance.capacity, "largest_mix_rate_per_s", lambda **of: 100.0 * law(**of)
    )
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.toml").write_text(JOB)

    with pytest.raises(CeilingError) as refused:
        main(command)

    said = str(refused.value)
    for part in (
        "llama-3",
        "in bf16" if "plan" not in command else " in ",
        "chips of",
        "tokens in and",
        "FLOP/s",
        "x the dense peak of",
        "a fault of everfleet, not of your input",
    ):
        assert part in said


@pytest.mark.parametrize(
    ("question", "measured_per_s"),
    [
        # MLPerf Inference v5.1, closed, SDXL offline on 8 H100: 18.1 images/s, in 8 bits.
        (Question("sdxl", serve=True, precision="fp8", skus=("h100-8",), nodes=(1,)), 18.1),
        # MLPerf Inference v4.1, closed, DLRM-v2 offline, filed in int8: 270 samples in a query on average.
        (
            Question("dlrm-dcnv2", serve=True, precision="int8", batch=17_280, skus=("h100-8",), nodes=(1,)),
            270 * 595_658.0,
        ),
        (
            Question("dlrm-dcnv2", serve=True, precision="int8", batch=17_280, skus=("h200-8",), nodes=(1,)),
            270 * 637_342.0,
        ),
    ],
)
def test_images_and_scores_as_mlperf_measured(question, measured_per_s):
    """Within a fifth, as validation asks; results of throughput engines, which hide their host."""
    (row,) = throughput_document(question)["rows"]

    assert row["rate_per_s"] == pytest.approx(measured_per_s, rel=0.2)


@pytest.mark.parametrize(
    ("model", "precision", "sku", "batch", "benchmark", "round_of", "items"),
    [
        ("sdxl", "fp8", "h100-8", 8, "stable-diffusion-xl", "v5.1", 1.0),
        ("sdxl", "bf16", "b200-8", 8, "stable-diffusion-xl", "v5.1", 1.0),
        ("sdxl", "fp8", "mi325x-8", 8, "stable-diffusion-xl", "v5.1", 1.0),
        ("dlrm-dcnv2", "int8", "h100-8", 17_280, "dlrm-v2-99", "v4.1", 270.0),
        ("dlrm-dcnv2", "fp8", "h200-8", 17_280, "dlrm-v2-99", "v4.1", 270.0),
    ],
)
def test_the_rate_that_is_checked_is_the_rate_that_plans(
    model: str, precision: str, sku: str, batch: int, benchmark: str, round_of: str, items: float
) -> None:
    """Published rows are judged by the rate that the question, and so a plan, has at the same batch."""
    (row,) = throughput_document(
        Question(model, serve=True, precision=precision, batch=batch, skus=(sku,), nodes=(1,))
    )["rows"]
    judged = serve_benchmark(
        benchmark=benchmark,
        scenario="Offline",
        gpu=load_catalogue().skus[sku].accelerator,
        accelerators=8,
        precision=precision,
        round=round_of,
    )

    assert row["rate_per_s"] == pytest.approx(items * judged["1/s"], rel=1e-9)


@pytest.mark.parametrize(("model", "latency_s"), [("flux1-dev", 11.64), ("hunyuan-video", 1689.0)])
def test_slow_engines_lie_within_the_range(model, latency_s):
    """ML.ENERGY v3, one H100, batch 1: an engine that starts each operator alone, within the stated range."""
    document = throughput_document(Question(model, serve=True, batch=1, skus=("h100-8",), nodes=(1,)))
    (row,) = document["rows"]

    assert row["low_per_s"] * 0.99 <= 8 / latency_s <= row["rate_per_s"]
    assert document["unit"] == ("videos" if model == "hunyuan-video" else "images")


def test_what_memory_lacks_is_said():
    """L4 holds 24 GB: neither 13 B weights in 16 bits nor 26 GB of tables in 8 bits."""
    for question in (
        Question("hunyuan-video", serve=True, skus=("l4-8",), nodes=(1,)),
        Question("dlrm-dcnv2", serve=True, precision="fp8", skus=("l4-8",), nodes=(1,)),
    ):
        assert re.search("needs 2[67] GB of 23 GB", throughput_document(question)["rows"][0]["reason"])


@pytest.mark.slow
def test_replicas_apart_keep_what_replicas_together_cannot():
    """With 25 ms a token, reading disturbs a joint replica: apart fewer H100 do, as DistServe reports.

    Bounds: readers do 2 N operations for each prompt token at no more than the peak and three quarters of
    their time; both pools together hold at least the weights.
    """
    question = Question(
        "llama-3.1-70b",
        serve=True,
        skus=("h100-8", "b200-8"),
        requests_per_s=50.0,
        tpot_s=0.025,
        disaggregated=True,
    )
    about = throughput_document(question)["about"]
    same = next(row for row in about["apart"] if row["prefill_sku"] == row["decode_sku"] == "h100-8")

    assert len(about["apart"]) == 4
    assert same["accelerators"] < same["joint_accelerators"]
    operations = 50.0 * about["input_tokens"] * 2 * 70.55e9
    assert same["prefill_replicas"] * same["prefill_tp"] >= operations / 989.4e12 / 0.75
    for row in about["apart"]:
        assert row["accelerators"] == (
            row["prefill_replicas"] * row["prefill_tp"] + row["decode_replicas"] * row["decode_tp"]
        )
        assert row["ttft_s"] < 1.0


def test_every_problem_is_said_at_once(capsys):
    """Six mistakes, six lines, each with its option and a remedy."""
    command = "throughput llama-3.1-8 --sku h100,a100-80-8 --precision fp8 --nodes 0 --mix azur --tokens 4"
    assert main(shlex.split(command)) == WRONG_INPUT
    said = capsys.readouterr().err

    for words in (
        "did you mean 'llama-3.1-8b'",
        "no SKU 'h100'",
        "a100-80-8 does not compute in fp8",
        "0 is no size",
        "no request mix 'azur'",
        "--by go together",
    ):
        assert words in said
    assert len(said.splitlines()) == 6


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (Question("llama-3.1-8b", mix="azure-code"), "--mix: has no effect on training"),
        (Question("whisper-large-v3"), "only its serving is answered"),
        (Question("llama-3.1-8b", precision="w4a16", skus=("h100-8",)), "w4a16 is a format of serving"),
        (Question("opt-13b", precision="int8", skus=("gb300-nvl72",)), "training is in bf16, fp16, fp8"),
        (
            Question("whisper-large-v3", serve=True, mix="azure-code"),
            "--mix: has no effect on writing speech down",
        ),
        (Question("llama-3.1-8b", serve=True, audio_s=30.0), "--audio: has no effect on serving a language"),
        (Question("llama-3.1-8b", serve=True, engine="vlm"), "--engine: the catalogue has no serving engine"),
        (Question("llama-3.1-8b", measured="fast"), "write for example 'h100-8 x 64 nodes"),
        (Question("llama-3.1-8b", measured="h100-8 x 1 nodes = 1e9 tokens/s"), "no efficiency"),
        (Question("llama-3.1-8b", skus=("h100-8",), why="h100-8:x"), "write SKU:NODES"),
        (Question("llama-3.1-405b", skus=("h100-8",), why="h100-8:1"), "delivers nothing"),
        (Question("llama-3.1-8b", serve=True, alike=True), "--alike: says that answers are of one length"),
        (Question("llama-3.1-8b", calibration=Path("nowhere.json")), "cannot be read"),
    ],
)
def test_what_cannot_be_is_refused(question, words):
    with pytest.raises(InputError, match=re.escape(words)):
        throughput_document(question)


def test_why_opens_down_to_sources(capsys):
    """The explanation's first number is the row's rate, and its leaves are facts with a source."""
    assert main(shlex.split("throughput llama-3.1-8b --serve --sku h100-8 --why h100-8:2 --json")) == ANSWER
    document = json.loads(capsys.readouterr().out)
    row = next(row for row in document["tables"]["rows"] if row["accelerators"] == 2)
    found = explained(document, "rate_per_s")

    assert found.steps[0].value == row["rate_per_s"]
    assert {"accelerator.h100-sxm-80gb.memory", "performance.engine.vllm.largest_batch"} <= {
        step.name for step in found.facts()
    }


@pytest.mark.slow
def test_csv_holds_every_row(capsys):
    document = throughput_document(Question("llama-3.1-70b", nodes=(1, 64)))
    read = list(csv.DictReader(io.StringIO(to_csv(document))))

    assert [(row["sku"], int(row["nodes"])) for row in read] == [
        (row["sku"], row["nodes"]) for row in document["rows"]
    ]
    assert len(read) == 2 * len(load_catalogue().sold)


def test_csv_holds_no_formula():
    """A card may call a model, and a folder a SKU, anything."""
    read = csv.DictReader(io.StringIO(to_csv({"rows": [{"sku": "=1+1", "rate_per_s": -2.5}]})))

    assert list(read) == [{"sku": "'=1+1", "rate_per_s": "-2.5"}]


def test_nothing_that_works_is_an_answer_of_its_own(capsys):
    """405 B parameters on one node of L4: exit 1, with what is missing."""
    assert main(shlex.split("throughput llama-3.1-405b --sku l4-8 --nodes 1")) == NO_PLAN
    assert "not on 1 node: the smallest of" in capsys.readouterr().out


@pytest.mark.slow
def test_page_runs_and_prints_what_it_shows(capsys):
    """Each shown line is a line of the output of the command before it, so that no number is out of date."""
    blocks = re.findall(
        r"^```(\w+)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    printed, ran = "", 0
    for kind, text in blocks:
        if kind == "sh":
            assert main(shlex.split(text)[1:]) == ANSWER, text
            printed, ran = capsys.readouterr().out, ran + 1
        else:
            assert set(text.splitlines()) <= {*printed.splitlines(), ""}

    assert ran == 15


def test_training_and_serving_name_their_software():
    """Which stack or engine, of which year: the newest that each chip runs, or the one that is asked for."""
    trains = throughput_document(Question("llama-3.1-8b", skus=("h100-8", "mi300x-8"), nodes=(1,)))
    serves = throughput_document(Question("llama-3.1-8b", serve=True, skus=("h100-8",), engine="sglang"))

    said = " ".join(trains["notes"])
    assert default_stack("h100-sxm-80gb").says in said
    assert default_stack("mi300x").says in said
    assert "Engine: SGLang 0.5." in serves["notes"]


def test_formats_that_training_may_choose_are_of_training():
    """H100 multiplies in 8-bit integers, too, which are no remedy for a run."""
    with pytest.raises(InputError) as found:
        throughput_document(Question("opt-13b", precision="nvfp4", skus=("h100-8",)))
    assert str(found.value).endswith("but in bf16, fp16, fp8, mxfp8")


def test_common_software_is_next_to_the_tuned():
    """torchtitan, docs/performance.md: Llama 3 8B on 64 A100, 2,973 tokens/s each, below the tuned range.

    With the share that the note names it lies within the range; dense models on NVLink alone have the note.
    """
    document = throughput_document(
        Question("llama-3-8b", batch_tokens=64 * 8192.0, skus=("a100-80-8", "mi300x-8"), nodes=(8,))
    )
    ((said,),) = ([note for note in document["notes"] if "torchtitan" in note],)
    share = float(re.search(r"reached ([\d.]+) of such rates", said)[1])
    (row,) = rows(document, "a100-80-8")
    assert row["low_per_s"] / 64 > 2973
    assert share * row["low_per_s"] / 64 < 2973 < share * row["high_per_s"] / 64
    for other in (
        Question("llama-3-8b", skus=("mi300x-8",), nodes=(8,)),
        Question("mixtral-8x7b", skus=("h100-8",), nodes=(8,)),
    ):
        assert not any("torchtitan" in note for note in throughput_document(other)["notes"])


def test_the_head_runs_once_for_a_prompt():
    """1,000 tokens in and 11 out meet 9 B of layers 1,010 times and 1 B of the head 11 times."""
    read = {"active_parameters": 10e9, "input_tokens": 1000.0}
    flop = request_flop(**read, head_parameters=1e9, output_tokens=11.0)
    once = request_flop(**read, head_parameters=1e9, output_tokens=1.0)

    assert flop == pytest.approx(2 * (9e9 * 1010 + 1e9 * 11), rel=1e-12)
    assert once == pytest.approx(2 * (9e9 * 1000 + 1e9), rel=1e-12)
    with pytest.raises(ValueError, match="layer_parameters"):
        request_flop(**read, head_parameters=11e9, output_tokens=1.0)
