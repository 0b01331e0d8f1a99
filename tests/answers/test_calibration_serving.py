"""Measured serving: read, carried to other batches and splits, used by questions and plans; the cache."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.answers.calibration import calibration_document, facts_toml, to_text
from planner.answers.throughput import Question, throughput_document
from planner.cli import ANSWER, WRONG_INPUT, main
from planner.inputs.consistency import check_scenario, with_cards
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import ScenarioError, digest, load_scenario, parse_scenario
from planner.inputs.scenario.bundle import keep, restored
from planner.performance.calibrate_serving import calibrated_step_s, serving_factor_at, step_arithmetic_s
from planner.physics.replica_kinds import replica_kinds
from planner.physics.replica_questions import replica_arguments
from planner.physics.requests import SERVICE, inputs_of
from planner.physics.serving import serving_candidates
from planner.trace.errors import InputError
from planner.trace.explain import explain
from planner.trace.quantities import chosen

SAMPLE = data_folder() / "samples" / "serving-measurements.csv"
SCENARIO = data_folder() / "scenarios" / "serving-only.toml"
RING_LATENCIES = ("ring_latency@2", "ring_latency@4", "ring_latency@8")
HEADER = "sku,model,precision,accelerators,batch,input_tokens,output_tokens,quantity,value,unit,source"
ONE = "h100-8,llama-3.1-70b,bf16,4,64,1000,200"
PLANNED = "h100-8,llama-3-8b,bf16,1,64,1000,200"  # a service of the scenario


@pytest.fixture
def write(tmp_path):
    def write(*rows: str, header: str = HEADER) -> Path:
        path = tmp_path / "mine.csv"
        path.write_text("\n".join([header, *rows, ""]), encoding="utf-8")
        return path

    return write


@pytest.fixture
def calibration(write, tmp_path):
    """A calibration of `PLANNED` at a share of our rate, as a file beside a scenario."""

    def calibration(share: float) -> Path:
        path = tmp_path / "mine.json"
        rate = share * ours(write, PLANNED)
        document = calibration_document(write(f"{PLANNED},tokens_rate,{rate!r},/s,me"))
        path.write_text(json.dumps(document), encoding="utf-8")
        return path

    return calibration


def model(path: Path):
    (hardware,) = calibration_document(path)["hardware"]
    (one,) = hardware["serving"]
    return one


def ours(write, row: str = ONE) -> float:
    """Tokens a second that we predict for a row."""
    return model(write(f"{row},tokens_rate,1000,/s,me"))["points"][0]["before_tokens_per_s"]


def scenario_with(folder: Path, *extra: str):
    """The shipped scenario of services, with more text, in a folder."""
    path = folder / "plan.toml"
    path.write_text("\n".join([SCENARIO.read_text(encoding="utf-8"), *extra]), encoding="utf-8")
    return load_scenario(path)


def capacities(scenario):
    """Kinds of replica of a scenario by service, SKU and split: requests a second and time of a token."""
    inputs = Inputs(scenario, with_cards(scenario, load_catalogue()))
    kinds, _ = replica_kinds(inputs, serving_candidates(inputs)[0])
    names = [
        (scenario.services[i].model, inputs.skus[k].accelerator, int(size))
        for i, k, size in zip(kinds.service, kinds.sku, kinds.accelerators.value, strict=True)
    ]
    rate, token = (kinds.capacity[name].value for name in ("requests_per_s", "tpot_s"))
    return {name: (rate[i], token[i]) for i, name in enumerate(names)}, kinds


# ---- points


@pytest.mark.slow
@pytest.mark.parametrize(
    ("quantity", "unit", "of_rate"),
    [
        ("tokens_rate", "tokens/s", lambda rate: rate),
        ("tokens_rate_per_accelerator", "1/s", lambda rate: rate / 4),
        ("inter_token_time", "ms", lambda rate: 1000 * 64 / rate),
    ],
)
def test_every_way_to_state_a_speed_gives_the_same_factor(write, quantity, unit, of_rate):
    """A replica's rate, an accelerator's and the time between tokens are one measurement (Little's law)."""
    found = model(write(f"{ONE},{quantity},{of_rate(0.9 * ours(write))!r},{unit},me"))

    assert found["points"][0]["factor"] == pytest.approx(0.9, rel=1e-9)
    assert found["batches"][1]["after_tokens_per_s"] == pytest.approx(0.9 * ours(write), rel=1e-9)


@pytest.mark.slow
@pytest.mark.nightly
def test_one_batch_takes_its_error_from_published_runs(write):
    """Nothing else is known of other batches; the catalogue's error is by kind of model and hardware."""
    rows = {
        "": ONE,
        "@experts": ONE.replace("llama-3.1-70b", "mixtral-8x7b"),
        "@b200": ONE.replace("h100-8", "b200-8"),
        "@other-hardware": ONE.replace("h100-8", "mi300x-8"),
        "@b200-small": ONE.replace("h100-8", "b200-8").replace("70b", "8b"),
    }
    for kind, row in rows.items():
        fact = load_catalogue().fact(f"performance.serving.calibrated_error{kind}")

        error = model(write(f"{row},tokens_rate,500,/s,me"))["expected_error"]

        assert (error["median"], error["worst"], error["errors"]) == (fact.value, fact.high, [])


@pytest.mark.slow
@pytest.mark.nightly
def test_several_batches_predict_each_other():
    """Qwen 3 32B as ML.ENERGY measured it: factors worked out by hand from 970.2, 2653.8 and 5155.5 tokens/s.

    The middle one of 63.86 requests lies at ln(63.86/15.97)/ln(255.6/15.97) = 0.4999 of the way.
    """
    qwen = calibration_document(SAMPLE)["hardware"][0]["serving"][0]
    first, middle, last = (point["factor"] for point in qwen["points"])
    ours = [point["before_tokens_per_s"] for point in qwen["points"]]
    between = first ** (1 - 0.4999) * last**0.4999

    assert [first, middle, last] == pytest.approx([970.2 / ours[0], 2653.8 / ours[1], 5155.5 / ours[2]])
    assert qwen["expected_error"]["errors"][1] == pytest.approx(between / middle - 1, abs=1e-4)
    assert qwen["expected_error"]["errors"][0] == pytest.approx(middle / first - 1)
    # Of an engine of 2025, whose host took a larger share of small batches than that of the newest one.
    assert qwen["expected_error"]["worst"] < 0.3


@given(batch=st.floats(1, 1000), last=st.floats(0.3, 3.0))
def test_rows_of_factors_agree_with_each_row(batch, last):
    """Columns against one row at a time, of which the shorter repeats its last point."""
    batches = np.array([[4.0, 64.0, 64.0], [2.0, 8.0, 256.0]])
    factors = np.array([[0.5, last, last], [1.0, 2.0, 3.0]])

    both = serving_factor_at(batch=batch, measured_batches=batches, factors=factors)

    for row, at, height in zip(both, ([4.0, 64.0], batches[1]), ([0.5, last], factors[1]), strict=True):
        assert row == pytest.approx(float(np.exp(np.interp(np.log(batch), np.log(at), np.log(height)))))


@given(factor=st.floats(0.1, 50.0))
def test_no_factor_beats_the_peak(factor):
    """70 billion weights, 512 tokens, four H100: 2 * 70e9 * 512 / (4 * 989e12) = 18.1 ms at the least."""
    least = step_arithmetic_s(active_parameters=70e9, tokens=512, tp=4, peak_tflop_per_s=989)

    got = calibrated_step_s(step_s=0.05, factor=factor, least_s=least)

    assert least == pytest.approx(0.01812, rel=1e-3)
    assert got == pytest.approx(max(0.05 / factor, least))


# ---- wrong rows


def test_every_wrong_row_is_said_at_once(write):
    path = write(
        f"{ONE},tokens_rate,1e6,/s,me",
        f"{ONE},step_time,1,s,me",
        "h100-8,llama-3.1-70b,bf16,3,64,1000,200,tokens_rate,900,/s,me",
        "h100-8,llama-3.1-70b,bf16,16,64,1000,200,tokens_rate,900,/s,me",
        "h100-8,llama-3.1-70b,bf16,4,-1,1000,none,tokens_rate,900,/s,me",
        f"{ONE},tokens_rate,900,W,",
        "h100-8,llama-3.1-70b,bf16,4,,,,tokens_rate,900,/s,me",
    )

    with pytest.raises(InputError) as error:
        calibration_document(path)

    said = str(error.value).splitlines()
    for line, words in [
        (2, "above the dense peak of 4 accelerators"),
        (3, "there is no quantity 'step_time'"),
        (4, "64 heads do not divide among 3"),
        (5, "16 accelerators are more than h100-8 has"),
        (6, "batch is '-1': write a number above 0"),
        (6, "output_tokens is 'none'"),
        (7, "unit of tokens_rate"),
        (7, "source is empty"),
        (8, "batch_sequences is ''"),
    ]:
        assert any(one.startswith(f"mine.csv: line {line}: ") and words in one for one in said), (line, words)


def test_what_belongs_to_training_is_refused_beside_a_batch(write):
    path = write(f"{ONE},tokens_rate,900,/s,me,-1,2", header=f"{HEADER},output_scv,tp")

    with pytest.raises(InputError) as error:
        calibration_document(path)

    assert "output_scv is '-1'" in str(error.value)
    assert "measured serving: leave tp empty" in str(error.value)


def test_training_and_serving_stand_in_one_file(write):
    header = f"{HEADER},batch_sequences,sequence_tokens"
    path = write(
        f"{ONE},tokens_rate,1500,/s,me,,",
        "h100-8,llama-3-8b,bf16,64,,,,step_time,10,s,me,512,8192",
        header=header,
    )
    (hardware,) = calibration_document(path)["hardware"]

    assert hardware["speed"]["points"][0]["accelerators"] == 64
    assert hardware["serving"][0]["points"][0]["batch"] == 64


@pytest.mark.slow
def test_the_text_says_how_serving_is_used():
    document = calibration_document(SAMPLE)
    text = to_text(document)

    assert "each of the 3 measured batches predicted from the others" in text
    assert "at other splits: at worst 12.2 %" in text
    assert "[facts]" not in facts_toml(document)
    assert 'calibration = "mine.json"' in facts_toml(document)


# ---- a question


@pytest.mark.slow
def test_a_measured_point_is_used_and_narrows_the_range(capsys):
    """The measured split has the error of other batches, others of the SKU that of other splits."""
    question = "throughput llama-3.1-70b --serve --sku h100-8,mi300x-8 --json"
    point = "--measured 'h100-8 tp4 = 1500 tokens/s at batch 64'"
    assert main(shlex.split(f"{question} {point}")) == ANSWER
    document = json.loads(capsys.readouterr().out)
    errors = {
        (row["sku"], row["accelerators"]): row["error_fraction"]
        for row in document["tables"]["rows"]
        if row["fits"]
    }

    high = {
        kind: load_catalogue().fact(f"performance.serving.{kind}").high
        for kind in ("calibrated_error", "calibrated_error@other-split", "rate_error@mi300x")
    }
    assert errors["h100-8", 4] == pytest.approx(high["calibrated_error"])
    assert errors["h100-8", 8] == pytest.approx(high["calibrated_error@other-split"])
    assert errors["mi300x-8", 4] == pytest.approx(high["rate_error@mi300x"])
    assert document["calibrated_skus"] == ["h100-8"]


@pytest.mark.slow
def test_a_rate_and_a_time_between_tokens_are_one_point():
    """1,500 tokens/s of 64 requests is a token each 42.667 ms (Little's law)."""

    def rate(point: str) -> float:
        question = Question("llama-3.1-70b", serve=True, skus=("h100-8",), measured=point)
        rows = throughput_document(question)["rows"]
        return next(row["rate_per_s"] for row in rows if row["accelerators"] == 4)

    by_rate = rate("h100-8 tp4 = 1500 tokens/s at batch 64")
    assert by_rate == pytest.approx(rate("h100-8 tp4 = 42.666667 ms at batch 64"), rel=1e-5)
    assert by_rate != pytest.approx(rate("h100-8 tp4 = 1600 tokens/s at batch 64"), rel=1e-2)


@pytest.mark.parametrize(
    ("point", "said"),
    [
        ("fast", "write for example 'h100-8 tp4 = 2500 tokens/s at batch 64'"),
        ("h100-8 x 4 nodes = 2500 tokens/s", "is not understood"),
        ("h9-8 tp4 = 2500 tokens/s at batch 64", "no SKU 'h9-8'"),
        ("h100-8 tp3 = 2500 tokens/s at batch 64", "do not divide"),
        ("h100-8 tp1 = 2500 tokens/s at batch 64", "do not fit in the memory"),
        ("h100-8 tp4 = 1 ms at batch 64", "above the dense peak"),
        ("h100-8 tp4 = 2500 tokens/s at batch 0", "'0' must be a number above zero"),
    ],
)
def test_a_point_that_cannot_be_is_refused(capsys, point, said):
    assert main(["throughput", "llama-3.1-70b", "--serve", "--measured", point]) == WRONG_INPUT
    assert said in capsys.readouterr().err


# ---- a plan


@pytest.mark.slow
def test_a_plan_serves_as_if_its_constants_were_measured(calibration, tmp_path):
    """Independent route: a replica at factor 0.8 is one whose every time takes 1/0.8, by [facts].

    What was not measured keeps its rate.
    """
    path = calibration(0.8)
    chip = "h100-sxm-80gb"
    rates = {f"accelerator.{chip}.bf16_peak": "TFLOP/s"}
    rates |= {f"accelerator.{chip}.{name}": "GB/s" for name in ("memory_bandwidth", "link_bandwidth")}
    engine_times = ("step", "layer", "expert_layer", "sequence", "token")
    times = [f"performance.engine.vllm.{name}_time" for name in engine_times]
    times += [f"kernel.{chip}.{name}" for name in ("matrix_time@bf16-vllm", *RING_LATENCIES)]
    known = load_catalogue().fact
    lines = [f'"{key}" = "{0.8 * known(key).value!r} {unit}"' for key, unit in rates.items()]
    lines += [f'"{key}" = "{known(key).value / 0.8!r} s"' for key in times]

    plain, _ = capacities(scenario_with(tmp_path))
    measured, kinds = capacities(scenario_with(tmp_path, f'[performance]\ncalibration = "{path.name}"'))
    by_hand, _ = capacities(scenario_with(tmp_path, "[facts]", *lines))

    own = [key for key in plain if key[:2] == ("llama-3-8b", "h100-sxm-80gb")]
    assert own
    for key in plain:
        assert measured[key] == pytest.approx((by_hand if key in own else plain)[key], rel=1e-6), key
        assert key not in own or measured[key][0] < plain[key][0]
    row = kinds.capacity["requests_per_s"].value.tolist().index(measured[own[0]][0])
    opened = explain(kinds.capacity["requests_per_s"], row)
    fact = next(step for step in opened.facts() if "serving.factor@" in step.name)
    assert (fact.kind, fact.value) == ("measured", pytest.approx(0.8))
    assert "your calibration: mine.csv" in fact.source
    assert fact.about == "line 2: me"


def test_efficiency_and_rating_reach_a_plan(tmp_path):
    """Each value that `everfleet calibrate` found stands in the catalogue of the plan, measured."""
    document = calibration_document(data_folder() / "samples" / "measurements.csv")
    (tmp_path / "mine.json").write_text(json.dumps(document), encoding="utf-8")
    scenario = scenario_with(tmp_path, '[performance]\ncalibration = "mine.json"')
    check_scenario(scenario, load_catalogue())
    inputs = Inputs(scenario, with_cards(scenario, load_catalogue()))

    for one in document["hardware"]:
        fact = inputs.fact(one["speed"]["key"])
        assert (fact.value, fact.kind) == (pytest.approx(one["speed"]["after"]), "measured")
        if one["power"]:
            assert inputs.fact(one["power"]["key"]).value == pytest.approx(one["power"]["after_kw"])


@pytest.mark.slow
@pytest.mark.nightly
def test_another_measurement_is_another_scenario(calibration, tmp_path):
    """A plan is known by its digest: the same words over other measurements are not the same question."""
    table = '[performance]\ncalibration = "mine.json"'
    calibration(0.8)
    before = scenario_with(tmp_path, table)
    calibration(0.9)
    after = scenario_with(tmp_path, table)

    assert digest(before) != digest(after)
    assert before != after


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            None,
            "there is no file 'mine.json' in the folder of the scenario: write it with `everfleet calibrate",
        ),
        ("{}", "'mine.json' is no calibration: write one by"),
        ('{"everfleet_calibration": 1, "file": "a", "hardware": [{}]}', "is no calibration"),
        (
            '{"everfleet_calibration": 1, "file": "a", "hardware": [{"accelerator": "h9", "serving": [], '
            '"power": null, "speed": {"key": "accelerator.h9.matrix_efficiency", "after": 0.5, '
            '"expected_error": {"worst": 0.1, "from": "b"}}}]}',
            "the catalogue has no accelerator.h9.matrix_efficiency",
        ),
    ],
)
def test_a_file_that_is_no_calibration_is_refused(tmp_path, text, said):
    if text is not None:
        (tmp_path / "mine.json").write_text(text, encoding="utf-8")

    with pytest.raises(ScenarioError, match=said):
        check_scenario(scenario_with(tmp_path, '[performance]\ncalibration = "mine.json"'), load_catalogue())


def test_a_text_without_a_file_names_no_calibration():
    """The app takes texts from anywhere: they must not choose which file of the machine is read."""
    text = SCENARIO.read_text(encoding="utf-8") + '\n[performance]\ncalibration = "mine.json"\n'

    with pytest.raises(
        ScenarioError, match=r"performance\.calibration: is looked for in the folder of the scenario"
    ):
        parse_scenario(text, "text")


# ---- the cache


@pytest.mark.parametrize(("stated", "value_bytes"), [("", 2.0), ("bf16", 2.0), ("fp8", 1.0)])
def test_the_cache_keeps_16_bits_beside_weights_of_8(stated, value_bytes):
    """VLLM's and SGLang's default: the cache has the type of the model's computation, whatever the weights.

    By hand for Llama 3.1 70B: 2 * 80 layers * 8 heads * 128 * bytes = 163,840 times bytes a token.
    """
    line = f'\ncache_precision = "{stated}"' if stated else ""
    text = SERVICE.format(
        model="llama-3.1-70b",
        precision="fp8",
        lengths=f"tokens_in = 1000.0\ntokens_out = 200.0{line}",
        rate=1.0,
        ttft_s=1.0,
        tpot_s=1.0,
        availability=0.99,
    )
    inputs = inputs_of(load_catalogue(), ("h100-8",), text)
    zero = np.zeros(1, dtype=np.intp)

    split = [chosen(name, np.array([n]), "test") for name, n in (("tp", 2.0), ("dp", 1.0), ("pp", 1.0))]
    of = replica_arguments(inputs, zero, zero, *split)["model"]
    held = int(serving_candidates(inputs, (2,))[0].batch[0])

    assert (of.weight_bytes.value[0], of.kv_bytes.value[0]) == (1.0, value_bytes)
    room_gb = 0.94 * 80.0 - 70.554e9 / 2 / 1e9
    # Answers that are spread like exponential ones are met with 1,000 + 2 * 200 tokens at their end.
    assert held == min(1024, int(room_gb / (163_840 * value_bytes / 2 / 1e9 * 1400)))


@pytest.mark.slow
def test_a_saved_scenario_takes_its_measurements_along(calibration, tmp_path):
    """Planned from a store, without the folder: the same scenario by its digest, with what was measured."""
    path = calibration(0.8)
    scenario = scenario_with(tmp_path, '[performance]\ncalibration = "mine.json"')
    kept = keep(scenario)
    path.unlink()

    with restored(kept) as again:
        assert again == scenario
        assert digest(again) == digest(scenario)
