"""Several classes of requests in one service, and prompts that the prefix cache knows in part."""

from __future__ import annotations

import numpy as np
import pytest

from planner.inputs.consistency import check_scenario
from planner.inputs.loading import load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import ScenarioError, parse_scenario
from planner.performance.mix import mean_tokens, spread_mix
from planner.physics.replica_kinds import replica_kinds
from planner.physics.requests import FRAME
from planner.physics.serving import serving_candidates

CATALOGUE = load_catalogue()
SERVICE = """
[[services]]
name = "s"
model = "llama-3.1-8b"
precision = "bf16"
peak_rate = "{rate} /s"
mean_to_peak = 0.5
first_token = "1 s"
per_token = "60 ms"
availability = 0.99
{said}
"""
ONE = "tokens_in = 4000\ntokens_out = 100"
SHORT = "[[services.classes]]\nshare = 0.8\ntokens_in = 500\ntokens_out = 100\n"
LONG = "[[services.classes]]\nshare = 0.2\ntokens_in = 18000\ntokens_out = 100\n"
SAME = "[[services.classes]]\nshare = {share}\ntokens_in = 4000\ntokens_out = 100\n"


def of(said: str, rate: float = 1.0) -> Inputs:
    text = FRAME.format(fleet='[[market]]\nsku = "h100-8"\nlead_time = "0 d"\n')
    return Inputs(parse_scenario(text + SERVICE.format(said=said, rate=rate), "x"), CATALOGUE)


def capacity(said: str) -> tuple[float, float]:
    """Requests a second at most of one accelerator, and requests that it holds."""
    inputs = of(said)
    kinds, _ = replica_kinds(inputs, serving_candidates(inputs, (1,))[0])
    limit = np.asarray(kinds.capacity["limit_requests_per_s"].value)[0]
    return float(limit), float(np.asarray(kinds.batch.value)[0])


def problems(said: str) -> list[str]:
    try:
        check_scenario(of(said).scenario, CATALOGUE)
    except ScenarioError as error:
        return [f"{one.path}: {one.message}" for one in error.problems]
    return []


def test_classes_that_are_alike_are_one() -> None:
    """Two halves of 4,000 tokens in and 100 out are a service of that length."""
    halves = SAME.format(share=0.5) * 2

    assert capacity(halves)[0] == pytest.approx(capacity(ONE)[0], rel=1e-6)
    assert capacity(SAME.format(share=1.0))[0] == pytest.approx(capacity(ONE)[0], rel=1e-9)


def test_a_mix_is_not_its_mean() -> None:
    """0.8 x 500 + 0.2 x 18,000 is 4,000 tokens: long prompts take most of the second that all have."""
    mixed, alike = capacity(SHORT + LONG)[0], capacity(ONE)[0]

    assert mixed < 0.9 * alike
    assert capacity(SHORT.replace("0.8", "1.0"))[0] > alike


def test_means_are_kept_by_the_spread_of_a_class() -> None:
    """Eight parts of an exponential law have its mean; requests played one by one are drawn from them."""
    mix = spread_mix(
        share_fraction=np.array([0.8, 0.2]),
        input_tokens=np.array([500.0, 18_000.0]),
        output_tokens=np.array([100.0, 400.0]),
    )

    assert mean_tokens(mix) == pytest.approx((4000.0, 160.0))
    assert mix.share_fraction.sum() == pytest.approx(1.0)


def test_hits_spare_reading_and_take_memory() -> None:
    """Half of each prompt known: more requests; 200,000 kept tokens of 131,072 bytes are 26 GB."""
    plain_rate, plain_held = capacity(ONE)
    rate, held = capacity(ONE + "\ncache_hits = 0.5")
    _, fewer = capacity(ONE + "\ncache_hits = 0.5\ncached_tokens = 200000")
    each = 131_072 * 4100.0  # bytes of a request: 32 layers, 8 heads of 128, 16 bits

    assert rate > 1.3 * plain_rate
    assert plain_held - held == pytest.approx(2000 / 4100, abs=1)  # one prefix
    assert plain_held - fewer == pytest.approx(200_000 * 131_072 / each, rel=0.03)


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        (SHORT, "services.s.classes: their shares add up to 0.8: write shares that add up to 1"),
        (SHORT + LONG.replace("0.2", "0.3"), "services.s.classes: their shares add up to 1.1"),
        (
            ONE + "\n" + SHORT + LONG,
            "services.s: classes and tokens_in and tokens_out say the same thing twice",
        ),
        ("classes = []", "services.s.classes: is empty"),
        (ONE + "\ncache_hits = 1.5", "services.s.cache_hits: 1.5 is out of range"),
        (ONE + "\ncached_tokens = 5", "services.s.cached_tokens: has no effect without cache_hits"),
        (SHORT.replace("500", '"many"') + LONG, "services.s.classes[0].tokens_in: 'many'"),
    ],
)
def test_what_does_not_go_together_is_said_once(said: str, wanted: str) -> None:
    assert len([one for one in problems(said) if one.startswith(wanted)]) == 1, problems(said)


def test_caches_of_other_kinds_are_refused() -> None:
    text = 'model = "sdxl"\nimages = 1\nresponse_time = "60 s"\ncache_hits = 0.5'
    frame = FRAME.format(fleet='[[market]]\nsku = "h100-8"\nlead_time = "0 d"\n')
    service = (
        f'[[services]]\nname = "s"\nprecision = "bf16"\nmean_to_peak = 0.5\navailability = 0.9\n{text}\n'
    )
    with pytest.raises(ScenarioError, match="cache_hits: works for a language model; 'sdxl' is a model that"):
        check_scenario(parse_scenario(frame + service + 'peak_rate = "1 /s"\n', "x"), CATALOGUE)


@pytest.mark.parametrize("hits", [0.6, 0.95])
def test_what_a_prefix_cache_knows_is_not_counted_against_the_peak(hits: float) -> None:
    """Prompts of 500 tokens and an answer of one: with all of each prompt counted the rate was beyond it.

    No more is multiplied than the peak in 16 bits does of what is read, with all weights but the head.
    """
    rate, _ = capacity(f"tokens_in = 500\ntokens_out = 1\ncache_hits = {hits}")
    fact = CATALOGUE.fact
    peak = fact("accelerator.h100-sxm-80gb.bf16_peak").value * 1e12
    tables = 2 * fact("model.llama-3.1-8b.vocab").value * fact("model.llama-3.1-8b.hidden").value
    read_flop = 2 * (fact("model.llama-3.1-8b.parameters").value - tables) * 500

    assert rate * read_flop > peak
    assert rate * read_flop * (1 - hits) < peak
