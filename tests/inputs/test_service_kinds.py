"""What a request is, by kind of model: each key works where it means something, and says where that is."""

from __future__ import annotations

import pytest

from planner.answers.check import check
from planner.inputs.consistency import check_scenario
from planner.inputs.loading import load_catalogue
from planner.inputs.model_kinds import KINDS, kind_of_model, models_of
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import ScenarioError, parse_scenario
from planner.inputs.service_requests import mix_of, request_classes
from planner.physics.training_step import without_precision

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
[[fleet]]
sku = "h100-8"
site = "here"
nodes = 2
in_service = 2026-01-01
[reliability]
failures = "meta-rsc-2"
restart = "10 min"
repair = "5 d"
spare_confidence = 0.95
[policy]
objective = "money"
discount_rate = 0.08
node_life = "5 y"
[[services]]
name = "s"
peak_rate = "10 /s"
mean_to_peak = 0.5
availability = 0.999
precision = "bf16"
"""
CATALOGUE = load_catalogue()
WRITES = 'model = "llama-3-8b"\nfirst_token = "1 s"\nper_token = "60 ms"\n'
SCORES = 'model = "dlrm-dcnv2"\nresponse_time = "20 ms"\n'
DRAWS = 'model = "sdxl"\nresponse_time = "20 s"\n'
HEARS = 'model = "whisper-large-v3"\nfirst_token = "1 s"\nper_token = "60 ms"\n'


def problems(service: str, frame: str = FRAME) -> list[str]:
    """Everything that is wrong with a file, each with its path."""
    try:
        check_scenario(parse_scenario(frame + service, "x"), CATALOGUE)
    except ScenarioError as error:
        return [f"{one.path}: {one.message}" for one in error.problems]
    return []


def test_answers_are_alike_or_spread_like_exponential_ones() -> None:
    """Squared spread 0 and 1 around the same means; `--verify` draws the one length, or exponential ones."""
    found = []
    for said in ("", 'answers = "spread"\n', 'answers = "alike"\n'):
        text = FRAME + WRITES + "tokens_in = 500\ntokens_out = 100\n" + said
        inputs = Inputs(parse_scenario(text, "x"), CATALOGUE)
        (service,) = inputs.scenario.services
        found.append((request_classes(inputs, service).output_scv_ratio.tolist(), mix_of(inputs, service)))

    *spread, (alike, mix) = found
    assert spread == [([1.0], None)] * 2
    assert alike == [0.0]
    assert mix is not None
    assert (*mix.input_tokens, *mix.output_tokens, *mix.share_fraction) == (500.0, 100.0, 1.0)


BY_HOURS = FRAME.replace('peak_rate = "10 /s"\n', "")
POOL = """
[[pools]]
name = "p"
model = "{model}"
reference = "h100-8"
{need}
"""


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        (HEARS + 'audio_rate = "9 h/d"\n', "services.s.audio: is missing, and audio_rate needs it"),
        (WRITES + 'audio_rate = "9 h/d"\naudio = "3 s"\n', "services.s.audio: works for a model of speech"),
        (HEARS + 'audio_rate = "9 h"\naudio = "3 s"\n', "services.s.audio_rate: '9 h': 'h' is a time"),
        (HEARS + 'audio_rate = "9 h/d"\naudio = "3 s"\n', ""),
        (HEARS + 'audio_rate = "9 h/d"\ngrowth = "50 %/year"\naudio = "3 s"\n', ""),
    ],
)
def test_hours_of_sound_are_a_demand_of_their_own(said: str, wrong: str) -> None:
    """One thing is wrong, and nothing else is said to be missing because of it."""
    found = problems(said, BY_HOURS)

    assert len(found) == bool(wrong)
    assert all(wrong in one for one in found)


@pytest.mark.parametrize(
    ("model", "need", "wrong"),
    [
        ("whisper-large-v3", 'audio_rate = "9 h/d"', ""),
        ("whisper-large-v3", 'audio_rate = "9 h/d"\naudio = "10 min"\npasses = 2', ""),
        (
            "whisper-large-v3",
            'gpu_time = "90 h"',
            "pools.p.audio_rate: is missing, and 'whisper-large-v3' is a",
        ),
        ("llama-3-8b", 'audio_rate = "9 h/d"', "pools.p.audio_rate: works for a model of speech"),
        (
            "whisper-large-v3",
            'audio_rate = "9 h/d"\nsamples = 2',
            "pools.p.samples: has no effect with audio_rate",
        ),
    ],
)
def test_pools_write_sound_down(model: str, need: str, wrong: str) -> None:
    service = WRITES + "tokens_in = 100\ntokens_out = 10\n"
    found = problems(service + POOL.format(model=model, need=need))

    assert len(found) == bool(wrong)
    assert all(wrong in one for one in found)


@pytest.mark.parametrize(
    "service",
    [
        WRITES + "tokens_in = 100\ntokens_out = 10\n",
        'model = "llama-3-8b"\ntokens_in = 100\ntokens_out = 0\nresponse_time = "1 s"\n',
        'model = "llama-3-8b"\ntokens_in = 100\ntokens_out = 0\nfirst_token = "1 s"\n',
        SCORES + "candidates = 270\n",
        DRAWS + "images = 1\n",
        'model = "vit-l-16"\nimages = 8\nresponse_time = "1 s"\n',
        HEARS + 'audio = "30 s"\ntokens_out = 83\n',
        HEARS + 'audio = "7 min"\n',
    ],
)
def test_each_kind_has_its_requests(service: str) -> None:
    assert problems(service) == []


def test_what_a_request_is_comes_before_its_targets() -> None:
    """No target of another kind is proposed to a service that only lacks its images."""
    assert not [one for one in problems(DRAWS) if "first_token" in one]


@pytest.mark.parametrize(
    ("service", "said"),
    [
        (SCORES, "services.s: neither traffic nor tokens_in and tokens_out"),
        (
            SCORES + "tokens_in = 5\ntokens_out = 0\n",
            "services.s.candidates: is missing, and 'dlrm-dcnv2' is a rec",
        ),
        (
            SCORES + "images = 5\n",
            "services.s.images: works for a model that makes images or films or a vision",
        ),
        (
            SCORES.replace("dlrm-dcnv2", "llama-3-8b") + "candidates = 5\n",
            "services.s.candidates: works for a recommendation model; 'llama-3-8b' is",
        ),
        (
            WRITES + 'audio = "3 s"\ntokens_out = 5\n',
            "services.s.audio: works for a model of speech; 'llama-3-8b'",
        ),
        (HEARS + 'audio_rate = "9 h/d"\n', "services.s.audio_rate: and peak_rate each say how much comes"),
        (
            HEARS + 'audio = "3 s"\ntokens_in = 5\ntokens_out = 5\n',
            "services.s.tokens_in: follows from audio",
        ),
        (
            DRAWS + "images = 1\ncandidates = 2\n",
            "services.s: candidates and images each say what a request is",
        ),
        (
            DRAWS + 'images = 1\nfirst_token = "1 s"\n',
            "services.s.first_token: is for models that write tokens",
        ),
        ('model = "sdxl"\nimages = 1\n', "services.s.response_time: is missing, and images need it"),
        (
            DRAWS + 'images = 1\nengine = "vllm"\n',
            "services.s.engine: works for models that write tokens",
        ),
        (
            DRAWS + 'images = 1\nmodels = ["dlrm-dcnv2"]\n',
            "services.s.models[0]: 'dlrm-dcnv2' is a recommendation",
        ),
        (
            'model = "llama-3-8b"\ntokens_in = 9\ntokens_out = 9\nresponse_time = "1 s"\n',
            "services.s.response_time: is for answers that come at once",
        ),
        (
            WRITES + 'tokens_in = 9\ntokens_out = 0\nresponse_time = "1 s"\n',
            "services.s: response_time and first_token and per_token say the same thing twice",
        ),
        ('model = "llama-3-8b"\ntokens_in = 9\ntokens_out = 9\n', "services.s.first_token: is missing"),
        (
            WRITES + 'traffic = "azure-2023-conv"\nanswers = "alike"\n',
            "services.s.answers: says how answers of",
        ),
        (SCORES + 'candidates = "many"\n', "services.s.candidates: 'many'"),
        (SCORES + "candidates = 0\n", "services.s.candidates: 0 is out of range"),
    ],
)
def test_what_does_not_go_together_is_said_once(service: str, said: str) -> None:
    found = [one for one in problems(service) if one.startswith(said)]

    assert len(found) == 1, problems(service)


def test_pools_of_other_kinds_say_where_those_work() -> None:
    pool = '[[pools]]\nname = "p"\nmodel = "dlrm-dcnv2"\nreference = "h100-8"\ngpu_time = "1 h"\n'

    assert problems(WRITES + "tokens_in = 9\ntokens_out = 9\n" + pool) == [
        "pools.p.model: 'dlrm-dcnv2' is a recommendation model: it works in [[services]] and [[training]], "
        "not in [[pools]]"
    ]


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("sdxl", "pools.p.model: 'sdxl' is a model that makes images or films: it works in [[services]]"),
        ("vit-l-16", "pools.p.items: works for a language model; 'vit-l-16' is a vision model"),
    ],
)
def test_pools_answer_prompts_by_language_models_alone(model: str, said: str) -> None:
    """Also what is looked at after the keys, whether the reference holds it, leaves them out."""
    lengths = "tokens_in = 9\ntokens_out = 9\n"
    pool = f'[[pools]]\nname = "p"\nmodel = "{model}"\nreference = "h100-8"\nitems = "1 /d"\n'

    with pytest.raises(ScenarioError) as refused:
        check(FRAME + WRITES + lengths + pool + lengths, "x")

    (problem,) = refused.value.problems
    assert f"{problem.path}: {problem.message}".startswith(said)


def test_techniques_of_services_in_batches_say_that_no_plan_applies_them() -> None:
    assert problems(SCORES + 'candidates = 9\ntechniques = ["recpipe"]\n') == [
        "services.s.techniques[0]: 'recpipe' changes nothing here: no plan applies techniques to a service "
        "of a recommendation model. Remove it"
    ]


@pytest.mark.parametrize(
    ("chip", "precision", "why"),
    [
        ("a100-sxm-80gb", "w4a16", ""),  # widened to 16 bits, which it has
        ("h100-sxm-80gb", "w4a8", ""),
        ("a100-sxm-80gb", "w4a8", "a100-sxm-80gb: precision 'w4a8' is not among those"),
        ("h100-sxm-80gb", "mxfp4", "h100-sxm-80gb: precision 'mxfp4' is not among those"),
    ],
)
def test_weights_of_four_bits_are_served_without_units_for_them(chip: str, precision: str, why: str) -> None:
    """Scenarios take what `throughput` takes: GPT-OSS on H100, AWQ and GPTQ on A100 could not be planned."""
    service = FRAME.replace('precision = "bf16"', f'precision = "{precision}"')

    assert problems(WRITES + "tokens_in = 500\ntokens_out = 100\n", service) == []
    assert without_precision(CATALOGUE, chip, precision).startswith(why)
    assert bool(without_precision(CATALOGUE, chip, precision)) == bool(why)


def test_every_model_has_one_kind() -> None:
    """All rooms of models are asked in one place."""
    assert {kind_of_model(CATALOGUE, name) for name in models_of(CATALOGUE)} == set(KINDS)
    assert kind_of_model(CATALOGUE, "vit-l-16") == "vision"
    assert kind_of_model(CATALOGUE, "nothing") == ""
