"""The few constants of a chip and its engines: fitted to measured points, held by what was known before."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

from planner.answers.calibration import calibration_document, to_text
from planner.answers.calibration.reading import Served
from planner.answers.calibration.serving import service_of
from planner.answers.throughput import Question, throughput_document
from planner.cli import ANSWER, main
from planner.inputs.catalogue import make_fact
from planner.inputs.fits import read_calibration
from planner.inputs.loading import load_catalogue
from planner.performance.calibrate_serving import fitted_log_factors
from planner.physics.calibrated_serving import modelled_tokens_per_s
from planner.physics.engines import is_measured
from planner.physics.requests import inputs_of
from planner.trace.errors import InputError
from planner.trace.quantities import Source

HEADER = "sku,model,precision,accelerators,batch,input_tokens,output_tokens,engine,quantity,value,unit,source"
MODELS = (("llama-3.1-8b", 1), ("llama-3.1-70b", 4), ("qwen3-32b", 2))
BATCHES = (4, 32, 128)


def table(folder, *, sku="h100-8", models=MODELS, batches=BATCHES, slower=1.0, catalogue=None, name="mine"):
    """Rates that a catalogue gives, as if they were measured; `slower` divides them all."""
    catalogue = catalogue or load_catalogue()
    rows = [HEADER]
    for model, split in models:
        for batch in batches:
            one = Served(
                "", 1, catalogue.skus[sku], model, "bf16", split, batch, 1000, 200, 1.0, 1.0, "", "vllm"
            )
            rate, _ = modelled_tokens_per_s(service_of(one, catalogue), split, batch, 1.0)
            rows.append(
                f"{sku},{model},bf16,{split},{batch},1000,200,vllm,tokens_rate,{rate / slower!r},/s,me"
            )
    path = folder / f"{name}.csv"
    path.write_text("\n".join([*rows, ""]), encoding="utf-8")
    return path


def fitted(path):
    (hardware,) = calibration_document(path)["hardware"]
    return hardware


@pytest.fixture(scope="module")
def slow_document(tmp_path_factory):
    """Three models on H100, each 30 % slower than modelled."""
    return calibration_document(table(tmp_path_factory.mktemp("slow"), slower=1.3))


def factors(hardware):
    return {one["constant"]: one["factor"] for one in hardware["constants"]["constants"]}


# ---- the fit


def test_a_fit_by_hand():
    """One constant, three points that lie 0.2 off: 0.2 (3 s^2/n^2)/(3 s^2/n^2 + 1) by the prior's s."""
    logs, sure = fitted_log_factors(
        log_errors=lambda log: log[0] - np.full(3, 0.2),
        spreads=np.array([0.1]),
        largest_logs=np.array([1.0]),
        noise_fraction=0.05,
    )

    assert logs[0] == pytest.approx(0.2 * 12 / 13, rel=1e-4)
    assert sure[0] == pytest.approx(0.1 / np.sqrt(13), rel=1e-4)


def test_no_constant_leaves_its_range():
    logs, _ = fitted_log_factors(
        log_errors=lambda log: log[0] - np.full(50, 2.0),
        spreads=np.array([0.1]),
        largest_logs=np.array([0.25]),
        noise_fraction=0.05,
    )

    assert logs[0] == pytest.approx(0.25, abs=1e-3)


@pytest.mark.slow
def test_rates_that_we_predict_move_nothing(tmp_path):
    """Measured as modelled: every factor 1, no error left."""
    hardware = fitted(table(tmp_path))

    assert factors(hardware) == pytest.approx(dict.fromkeys(factors(hardware), 1.0), abs=1e-3)
    assert hardware["constants"]["expected_error"]["worst"] < 1e-3
    assert all(point["factor"] == pytest.approx(1.0, abs=1e-3) for point in hardware["serving"][0]["factors"])


@pytest.mark.slow
def test_constants_that_made_the_rates_are_found(tmp_path):
    """Rates of matrices 6 % slower, as reading prompts shows them: that constant moves, and no other much.

    What was known before and the noise of rates hold the rest of it back.
    """
    catalogue = load_catalogue()
    key = "kernel.h100-sxm-80gb.matrix_share@bf16-vllm"
    fact = make_fact(key, 0.94 * catalogue.fact(key).value, "1", Source("me", "me"))

    hardware = fitted(table(tmp_path, batches=(4, 64, 256), catalogue=catalogue.with_facts([fact])))

    found = factors(hardware)
    assert 0.93 < found["matrices"] < 0.98
    assert found["memory"] == pytest.approx(1.0, abs=0.02)
    assert hardware["constants"]["after_error"] < 0.7 * hardware["constants"]["before_error"]


@pytest.mark.slow
@pytest.mark.nightly
def test_few_points_are_no_fit(tmp_path):
    """Four constants: five points say something of each; four keep to factors by batch."""
    four = fitted(table(tmp_path, models=MODELS[:2], batches=(8, 64), slower=1.05))
    five = fitted(table(tmp_path, models=MODELS[:1], batches=(2, 8, 16, 64, 128), slower=1.05))

    assert four["constants"] is None
    assert five["constants"]["points"] == 5
    assert "of other models it says nothing" in five["constants"]["expected_error"]["from"]
    assert not [fact for fact in five["constants"]["facts"] if "rate_error" in fact["key"]]


# ---- what uses it


@pytest.mark.slow
@pytest.mark.nightly
def test_a_question_uses_the_constants_for_a_model_that_nobody_measured(tmp_path, capsys):
    """MI300X by three models, 15 % slower: a fourth model gets slower, its range the left-out error."""
    path = table(tmp_path, sku="mi300x-8", slower=1.15)
    assert main(["calibrate", str(path), "--json"]) == ANSWER
    (tmp_path / "mine.json").write_text(capsys.readouterr().out, encoding="utf-8")

    question = Question("qwen3-14b", serve=True, skus=("mi300x-8",))
    plain = throughput_document(question)["rows"][0]
    question = Question("qwen3-14b", serve=True, skus=("mi300x-8",), calibration=tmp_path / "mine.json")
    document = throughput_document(question)
    mine = document["rows"][0]

    assert mine["rate_per_s"] < plain["rate_per_s"]
    assert mine["error_fraction"] < plain["error_fraction"]
    assert "from 9 own points" in " ".join(document["notes"])
    facts = read_calibration(tmp_path / "mine.json").facts
    inputs = inputs_of(load_catalogue().with_facts(facts), ("mi300x-8",))
    assert is_measured(inputs, "mi300x")


@pytest.mark.slow
@pytest.mark.nightly
def test_the_measured_model_is_served_as_measured(tmp_path, slow_document):
    """Constants and factors together: at a measured batch and split the rate is the measured one."""
    document = slow_document
    catalogue = load_catalogue().with_facts(read_back(tmp_path, document))

    own = Served("", 1, catalogue.skus["h100-8"], "qwen3-32b", "bf16", 2, 32, 1000, 200, 1.0, 1.0, "", "vllm")
    now, _ = modelled_tokens_per_s(service_of(own, catalogue), 2, 32, 1.0)
    before, _ = modelled_tokens_per_s(service_of(own, load_catalogue()), 2, 32, 1.0)

    point = next(
        one
        for model in document["hardware"][0]["serving"]
        if model["model"] == "qwen3-32b"
        for one in model["factors"]
        if one["batch"] == 32
    )
    assert now * point["factor"] == pytest.approx(before / 1.3, rel=1e-6)
    assert "constants of serving, fitted to 9 points" in to_text(document)


def read_back(folder, document):
    (folder / "back.json").write_text(json.dumps(document), encoding="utf-8")
    return read_calibration(folder / "back.json").facts


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        {"key": "kernel.b200-sxm-180gb.matrix_share@bf16"},
        {"key": "finance.power_price"},
        {"value": -1.0, "low": -1.0},
        {"high": 1.5},
        {"unit": "parsec"},
        {"value": None},
    ],
)
def test_constants_that_cannot_be_are_refused(tmp_path, slow_document, change):
    document = copy.deepcopy(slow_document)
    document["hardware"][0]["constants"]["facts"][0] |= change

    with pytest.raises(InputError, match="is no calibration"):
        read_back(tmp_path, document)
