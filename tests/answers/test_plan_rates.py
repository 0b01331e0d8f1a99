"""What a plan says of the rates that it rests on."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

import everfleet as ef
from planner.answers.plan.rates import rate_sentences
from planner.inputs.catalogue import make_fact
from planner.inputs.fits import factor_fact, factor_key
from planner.inputs.loading import load_catalogue
from planner.physics.engines import is_measured
from planner.physics.measured_serving import rate_error, rate_error_text
from planner.physics.requests import SERVICE, inputs_of
from planner.trace.numbers import percent_text
from planner.trace.quantities import Source

SKUS = ("h100-8", "mi300x-8", "gaudi3-8")
MEASURED = Source("me", "my measurements")


RUN = """
[[training]]
name = "run"
model = "{model}"
{amount}
precision = "bf16"
deadline = 2025-03-31
nodes = [8]
checkpoint_storage = "parallel-fs"
"""
TOKENS = "tokens = 1e12\nsequence_tokens = 8192\nbatch_tokens = 4e6"


DRAW = """
[[services]]
name = "draw"
model = "sdxl"
precision = "bf16"
images = 1
response_time = "20 s"
peak_rate = "1 /s"
mean_to_peak = 0.5
availability = 0.99
"""


def said(*, serve=(), train=(), pause=(), buy=(), facts=(), run=("llama-3.1-8b", TOKENS), more="", text=None):
    """Reasons of a plan of services that run on some SKUs, of a run that some train, and buys some."""
    text = text or SERVICE.format(
        model="llama-3.1-70b",
        precision="bf16",
        lengths="tokens_in = 1000.0\ntokens_out = 200.0",
        rate=1.0,
        ttft_s=1.0,
        tpot_s=1.0,
        availability=0.99,
    )
    text += RUN.format(model=run[0], amount=run[1]) + more
    inputs = inputs_of(load_catalogue().with_facts(facts), SKUS, text)
    names = [sku.name for sku in inputs.skus]
    every = np.arange(len(SKUS))

    def counts(chosen):
        return np.array([[float(name in chosen)] for name in names])

    services = 1 + bool(more)
    runs = SimpleNamespace(node_group=every, job=np.ones(len(SKUS), dtype=int))
    problem = SimpleNamespace(
        node_groups=SimpleNamespace(sku=every),
        run_options=runs,
        pausable_options=runs,
        serve_options=SimpleNamespace(
            node_group=np.tile(every, services), service=np.repeat(np.arange(services), len(SKUS))
        ),
    )
    solution = SimpleNamespace(
        run=counts(train)[:, 0],
        done_node_h=counts(pause),
        replicas=np.tile(counts(serve), (services, 1)),
        orders=counts(buy),
    )
    return rate_sentences(SimpleNamespace(inputs=inputs, problem=problem), solution)


def fact(key, value, unit="1", kind="estimated", **ends):
    return make_fact(f"performance.serving.{key}", value, unit, MEASURED, kind=kind, **ends)


@pytest.mark.parametrize(("kind", "whose"), [("estimated", "published"), ("measured", "own")])
def test_the_error_of_a_chip_and_its_points(kind, whose):
    facts = [
        fact("rate_error@mi300x", 0.18, kind=kind, low=0.02, high=0.4),
        fact("rate_points@mi300x", 14, "count", kind),
    ]

    (one,) = said(serve=["mi300x-8"], facts=facts)

    assert one.startswith(f"Rates of serving on mi300x-8: ±18 %, at worst 40 %, from 14 {whose} points")


@pytest.mark.parametrize("chip", ["h100-sxm-80gb", "l40s", "mi300x", "h200-nvl-141gb"])
def test_published_points_are_those_that_the_error_was_taken_from(chip):
    """The count is a fact, so that the sentence can say it; the error's own note names the same."""
    catalogue = load_catalogue()
    error = catalogue.fact(f"performance.serving.rate_error@{chip}")
    points = catalogue.fact(f"performance.serving.rate_points@{chip}")

    assert error.note.endswith(f" {points.value:.0f} points")
    one = rate_error(inputs_of(catalogue, SKUS), chip, "llama-3.1-70b")
    assert f"from {points.value:.0f} published points" in rate_error_text(chip, one)


def test_a_model_of_speech_has_the_error_of_published_speech() -> None:
    """Not that of language models on the same chip, which was found on other work."""
    inputs = inputs_of(load_catalogue(), SKUS)
    error = rate_error(inputs, "h100-sxm-80gb", "whisper-large-v3")

    assert error.fact.key == "performance.speech.rate_error"
    assert error.fact.value > rate_error(inputs, "h100-sxm-80gb", "llama-3.1-70b").fact.value
    assert "published of a model of speech" in error.what


def test_a_chip_without_points_has_the_error_of_others():
    error = load_catalogue().fact("performance.serving.other_hardware_error")

    (one,) = said(serve=["gaudi3-8"])

    assert f"±{percent_text(error.value, 0)}, at worst {percent_text(error.high, 0)}, of other chips" in one


def test_a_chip_that_is_bought_on_a_prior_is_told_as_such():
    """Nobody measured the kernels of Gaudi 3 here; those of H100 were."""
    inputs = inputs_of(load_catalogue(), SKUS)
    assert not is_measured(inputs, "gaudi3")
    assert is_measured(inputs, "h100-sxm-80gb")

    bought = " ".join(said(serve=SKUS, buy=["h100-8", "gaudi3-8"]))

    assert "gaudi3-8 is bought on that prior" in bought
    assert "h100-8 is bought on that prior" not in bought
    assert "mi300x-8 is bought" not in bought
    assert "nobody measured its kernels" not in " ".join(said(serve=["h100-8"]))


def test_a_chip_that_makes_images_alone_is_bought_on_their_runs_and_on_no_prior():
    """The error of images is that of published images, on a chip whose kernels nobody measured, too."""
    images = DRAW.replace('name = "draw"', 'name = "more"')
    bought = " ".join(said(serve=["gaudi3-8"], buy=["gaudi3-8"], text=DRAW, more=images))

    assert "from published runs (performance.diffusion.rate_error)" in bought
    assert "bought on that prior" not in bought


def test_a_model_that_was_measured_has_the_range_of_its_points():
    key = factor_key("h100-sxm-80gb", "llama-3.1-70b", "bf16")
    facts = [factor_fact(key, 4, batch, 0.9, 0.098, MEASURED, "") for batch in (8.0, 64.0)]

    (one,) = said(serve=["h100-8"], facts=facts)

    assert "llama-3.1-70b: at worst ±10 % at other batches, from 2 own points" in one


def test_training_says_its_error_too():
    """The efficiency of H100 was fitted to runs, that of Gaudi 3 was not."""
    fit = load_catalogue().fact("performance.training.out_of_sample_error")
    own = load_catalogue().fact("accelerator.gaudi3.matrix_efficiency")

    first, second = said(train=["h100-8", "gaudi3-8"])

    assert first.startswith(
        f"Rates of training on h100-8: ±{percent_text(fit.value, 0)}, at worst {percent_text(fit.high, 0)}"
    )
    error = math.hypot(fit.high, max(own.high / own.value, own.value / own.low) - 1.0)
    low, high = (percent_text(end, 0, sign=True) for end in (-error / (1.0 + error), error))
    assert f"{low} .. {high}, as no training run" in second


def test_throughput_gives_the_same_range_of_a_chip_that_no_run_fixed():
    """A plan gave both ends of an efficiency, `throughput` a factor: one chip, two ranges."""
    row = ef.throughput("llama-3.1-8b", skus="gaudi3-8", nodes=8)["rows"][0]
    ends = (
        percent_text(row[end] / row["rate_per_s"] - 1, 0, sign=True) for end in ("low_per_s", "high_per_s")
    )

    assert " .. ".join(ends) in said(train=["gaudi3-8"])[0]


def test_runs_by_samples_say_the_error_of_their_kind():
    """MLPerf's rows of recommendation models, and engines that make images."""
    images = said(train=["h100-8"], run=("sd2", "samples = 1e9\nbatch_samples = 2048"))
    scores = said(train=["h100-8"], run=("dlrm-dcnv2", "samples = 1e12\nbatch_samples = 65536"))

    assert images[0].startswith("Rates of training by samples on h100-8: ±32 %, at worst 55 % (fact perf")
    assert "±8 %, at worst 36 % (fact performance.recommendation.rate_error)" in scores[0]


def test_idle_skus_are_not_spoken_of():
    assert said(buy=["h100-8"]) == []


def test_a_run_that_pauses_says_its_error_as_one_that_does_not():
    assert said(pause=["h100-8"]) == said(train=["h100-8"])


def test_errors_that_differ_by_service_say_whose_they_are():
    """Three sentences on the rates of serving on one SKU, each another error, named none of the services."""
    first, second = said(serve=["h100-8"], more=DRAW)

    assert first.startswith("Rates of serving on h100-8 (service): ")
    assert second.startswith("Rates of serving on h100-8 (draw): ")
