"""Inference of a job: every kind of model of services, by the rates of services and pools."""

from __future__ import annotations

from typing import Any

import pytest

from planner.answers.job.document import job_document
from planner.answers.job.equations import answering_h
from planner.inputs.job.reading import read_job
from planner.inputs.loading import load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import ScenarioError, parse_scenario
from planner.inputs.scenario.files import read_toml
from planner.physics.full_replicas import full_nodes
from planner.physics.requests import FRAME, NODE
from planner.trace.errors import InputError

CATALOGUE = load_catalogue()
JOB = """
title = "answers"
[site]
grid = "fr"
pue = 1.2
wue = "0 L/kWh"
[hardware]
sku = "h100-8"
[inference]
model = "{model}"
{said}
"""


def read(model: str, said: str) -> Any:
    return read_job(read_toml(JOB.format(model=model, said=said), "job"), "job.toml", CATALOGUE)


def answer(model: str, said: str) -> dict[str, Any]:
    return job_document(read(model, said), CATALOGUE)


def totals(found: dict[str, Any]) -> dict[str, float]:
    return {row["name"]: float(row["value"]) for row in found["totals"]}


def refused(model: str, said: str) -> list[str]:
    with pytest.raises(ScenarioError) as error:
        read(model, said)
    return [f"{one.path}: {one.message}" for one in error.value.problems]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "request_", "pool"),
    [
        ("llama-3.1-8b", "tokens_in = 2000\ntokens_out = 300", 'items = "1e6 /d"'),
        ("llama-3.1-8b", "tokens_in = 500\ntokens_out = 0", 'items = "1e6 /d"'),
        ("whisper-large-v3", 'audio = "10 min"', 'audio_rate = "1000 h/d"'),
    ],
)
def test_a_batch_takes_the_hours_and_energy_of_a_pool(model: str, request_: str, pool: str) -> None:
    """Nobody waits for either, so that replicas are always full; a quarter was held back for a peak hour."""
    text = FRAME.format(fleet=NODE.format(name="h100-8"))
    text += f'[[pools]]\nname = "p"\nmodel = "{model}"\nreference = "h100-8"\n{pool}\n{request_}\n'
    inputs = Inputs(parse_scenario(text, "pool"), CATALOGUE)
    node = full_nodes(inputs, inputs.scenario.pools[0], [0])[0]
    assert not isinstance(node, str)
    node_h = 1e6 / float(node.rate_per_s.value) / 3600

    found = totals(answer(model, f"requests = 1e6\n{request_}"))

    assert found["accelerator_hours"] == pytest.approx(8 * node_h, rel=1e-9)
    assert found["energy"] == pytest.approx(1.2 * node_h * float(node.busy_kw.value), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "said", "item", "items"),
    [
        ("sdxl", "requests = 1e6\nimages = 4", "image", 4e6),
        (
            "hunyuan-video",
            'requests_per_day = 100\nduration = "10 d"\nimages = 2\nresponse_time = "3 h"',
            "film",
            2000,
        ),
        ("vit-l-16", "requests = 1e7\nimages = 8", "image", 8e7),
        ("whisper-large-v3", 'requests = 6000\naudio = "10 min"', "hour of sound", 1000),
        (
            "dlrm-dcnv2",
            'requests_per_day = 1e9\nduration = "1 d"\ncandidates = 300\nresponse_time = "40 ms"',
            "million samples scored",
            3e5,
        ),
    ],
)
def test_every_kind_of_model_answers(model: str, said: str, item: str, items: float) -> None:
    """Carbon for each thing that is asked for, times how many there are, is that of the phase."""
    found = answer(model, said)
    scores = {row["name"]: row for row in found["scores"]}
    score = scores["per_item"]

    assert score["label"] == f"inference alone, per {item}"
    assert score["value"] * items == pytest.approx(totals(found)["carbon"], rel=1e-9)
    assert ("per_million_tokens_written" in scores) is (model == "whisper-large-v3")


@pytest.mark.parametrize(
    ("model", "said", "wanted"),
    [
        ("sdxl", "requests = 10", "inference.images: is missing, and 'sdxl' is a model that makes images"),
        (
            "sdxl",
            'requests_per_day = 10\nduration = "1 d"\nimages = 1',
            "inference.response_time: is missing, and images need it",
        ),
        (
            "sdxl",
            "requests = 10\nimages = 1\nfirst_token = '1 s'",
            "inference.first_token: is for models that write tokens",
        ),
        ("sdxl", "requests = 10\nimages = 1\ntokens_out = 3", "inference.tokens_out: has no effect next to"),
        ("whisper-large-v3", "requests = 10", "inference.audio: is missing"),
        (
            "llama-3.1-8b",
            "requests = 10\nimages = 1",
            "inference.images: works for a model that makes images or films or a vision model",
        ),
        (
            "llama-3.1-8b",
            "requests = 10\ntokens_in = 5\ntokens_out = 5\nresponse_time = '1 s'",
            "inference.response_time: is for answers that come at once",
        ),
        (
            "llama-3.1-8b",
            "requests = 10\ntraffic = 'azure-2023-conv'\ntokens_out = 5",
            "inference: traffic and tokens_out say the same thing twice",
        ),
    ],
)
def test_what_a_request_is_has_one_message(model: str, said: str, wanted: str) -> None:
    assert len([one for one in refused(model, said) if one.startswith(wanted)]) == 1, refused(model, said)
    assert len(refused(model, said)) == 1


def test_hours_of_a_service_that_some_facts_keep_from_its_targets_are_not_told() -> None:
    """By a draw of the facts no load is in time: the hours were infinite, and the answer a traceback."""
    with pytest.raises(InputError, match="no load meets the latency targets"):
        answering_h(requests=1e6, requests_per_s=0.0, mean_to_peak_fraction=0.5)
    assert answering_h(requests=7200.0, requests_per_s=4.0, mean_to_peak_fraction=0.5) == pytest.approx(1.0)
