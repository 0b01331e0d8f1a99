"""Serving engines, number formats and layouts: which are offered, and what a step is then made of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.inputs.catalogue import ServingEngine, data_folder, load_catalogue
from planner.inputs.consistency import check_scenario
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import ScenarioError, load_scenario, with_changes
from planner.performance.capacity import Requests, average_step
from planner.performance.engine import attended_tokens, prompt_attended_tokens, step_times, with_values
from planner.performance.memory import kv_cache_gb_per_token, largest_batch
from planner.physics.engines import (
    engine_of,
    has_one_scale,
    kernel,
    served_chip,
    served_model,
    served_replica,
)
from planner.physics.precisions import FORMATS, kernels_of, peak_of, value_bytes
from planner.physics.requests import SERVICE, inputs_of
from planner.physics.serving import replica_kinds, serving_candidates, simplest_rows
from planner.physics.serving_options import possible_layouts
from planner.physics.training_step import AS_FAST
from planner.trace.quantities import facts_of

SERVING = load_scenario(data_folder() / "scenarios" / "serving-only.toml")
CATALOGUE = load_catalogue()


def inputs_for(
    model: str, *, skus: tuple[str, ...], more: str = "", precision: str = "bf16", answer: float = 200
) -> Inputs:
    """Inputs of one question about a service."""
    text = SERVICE.format(
        model=model,
        precision=precision,
        lengths=f"tokens_in = 1000.0\ntokens_out = {answer}\n{more}",
        rate=10.0,
        ttft_s=2.0,
        tpot_s=0.1,
        availability=0.99,
    )
    return inputs_of(CATALOGUE, skus, text)


def test_the_newest_engine_serves_unless_another_is_named() -> None:
    """Dates of data/engines.toml decide; what is only for benchmarks is no choice."""
    newest = max((e.released, e.name) for e in CATALOGUE.engines.values() if not e.only)[1]
    later = {"mine": ServingEngine("mine", "Mine 1.0", "2099-01")}
    barred = {"tuned": ServingEngine("tuned", "Tuned", "2100-01", only="benchmarks")}

    assert CATALOGUE.default_engine == newest == "vllm"
    known = {**CATALOGUE.engines, **later, **barred}
    grown = replace(CATALOGUE, engines=known)
    assert grown.default_engine == "mine"
    named = inputs_for("llama-3.1-8b", skus=("h100-8",), more='engine = "sglang"')
    assert engine_of(named, named.scenario.services[0]) == "sglang"


@pytest.mark.parametrize("engine", ["vlm", "mlperf"])
def test_an_engine_that_no_service_may_choose_is_refused(engine: str) -> None:
    scenario = with_changes(SERVING, {"services.chat.engine": engine})

    with pytest.raises(ScenarioError) as refused:
        check_scenario(scenario, CATALOGUE)

    lines = str(refused.value).splitlines()
    assert len(lines) == 1
    assert f"services.chat.engine: the catalogue has no serving engine '{engine}'" in lines[0]
    assert "vllm" in lines[0]


def test_an_engine_without_kernels_for_an_accelerator_drops_it() -> None:
    """TensorRT-LLM is NVIDIA's: what AMD sells is left out, and the reason says why."""
    inputs = inputs_for("llama-3.1-8b", skus=("h100-8", "mi300x-8"), more='engine = "tensorrt-llm"')

    candidates, dropped = serving_candidates(inputs)

    sold = {inputs.skus[k].name for k in inputs.node_group_sku[candidates.node_group]}
    assert sold == {"h100-8"}
    reasons = {one.reason for one in dropped if one.sku == "mi300x-8"}
    assert reasons == {"TensorRT-LLM 1.3 does not run on mi300x"}


def test_nothing_written_is_a_prompt_alone() -> None:
    """`tokens_out = 0`: as one token that comes with the prompt, held to no time per token."""
    columns = [
        replica_kinds(inputs, serving_candidates(inputs, (1,))[0])[0].capacity
        for inputs in (inputs_for("llama-3.1-8b", skus=("h100-8",), answer=n) for n in (0, 1))
    ]

    for name in ("requests_per_s", "ttft_s", "tpot_s"):
        assert columns[0][name].value == pytest.approx(columns[1][name].value)
    assert columns[0]["tpot_s"].value.tolist() == [0.0]
    assert columns[0]["requests_per_s"].value[0] > 0


@pytest.mark.parametrize(
    ("name", "bits"),
    [
        ("bf16", 16),
        ("fp16", 16),
        ("fp8", 8),
        ("int8", 8),
        ("mxfp8", 8 + 8 / 32),
        ("fp6", 6 + 8 / 32),
        ("nvfp4", 4 + 8 / 16),
        ("mxfp4", 4 + 8 / 32),
        ("w4a16", 4 + 8 / 32),
        ("w4a8", 4 + 8 / 32),
    ],
)
def test_bytes_of_a_format(name: str, bits: float) -> None:
    """A block of 16 or 32 values shares one scale of 8 bits (OCP microscaling formats 1.0; NVFP4)."""
    assert value_bytes(name) == pytest.approx(bits / 8)
    assert kernels_of(name) in ("bf16", "fp8", "fp4")


def test_every_format_is_tested_above() -> None:
    marks = test_bytes_of_a_format.pytestmark[0].args[1]  # type: ignore[attr-defined]

    assert {name for name, _ in marks} == FORMATS.keys()


def test_four_bits_of_weights_alone_compute_in_sixteen() -> None:
    """w4a16 reads a quarter of the bytes at the 16-bit peak; nvfp4 multiplies at the 4-bit one."""
    inputs = inputs_for("llama-3.1-70b", skus=("b200-8",))
    chip = "b200-sxm-180gb"

    assert peak_of(inputs, chip, "w4a16").key == f"accelerator.{chip}.bf16_peak"
    assert peak_of(inputs, chip, "nvfp4").key == f"accelerator.{chip}.fp4_peak"
    wide, narrow = (served_chip(inputs, chip, name) for name in ("bf16", "w4a16"))
    assert narrow.peak_tflop_per_s is wide.peak_tflop_per_s
    assert served_model(inputs, "llama-3.1-70b", "w4a16").kv_bytes.value == 2.0


def test_one_scale_a_matrix_has_kernels_of_its_own() -> None:
    """Mixtral in 8 bits by TensorRT-LLM; DeepSeek-V3 has scales for blocks, vLLM kernels for those alone."""
    inputs = inputs_for("mixtral-8x7b", skus=("h100-8",))

    assert has_one_scale(inputs, "mixtral-8x7b", "tensorrt-llm")
    assert not has_one_scale(inputs, "deepseek-v3", "tensorrt-llm")
    assert not has_one_scale(inputs, "mixtral-8x7b", "vllm")
    one, blocks = (served_chip(inputs, "h100-sxm-80gb", "fp8", one_scale=word) for word in (True, False))
    assert one.grouped_fraction.key == "kernel.h100-sxm-80gb.grouped_share@fp8-tensor"
    assert blocks.grouped_fraction.key == "kernel.h100-sxm-80gb.grouped_share@fp8"
    assert one.matrix_fraction is blocks.matrix_fraction
    plain = served_chip(inputs, "h100-sxm-80gb", "bf16", one_scale=True)
    assert plain.grouped_fraction.key == "kernel.h100-sxm-80gb.grouped_share@bf16"


def test_four_bits_of_weights_by_eight_have_kernels_of_their_own() -> None:
    """w4a8 multiplies at the 8-bit peak; experts by kernels that were measured with such values."""
    inputs = inputs_for("gpt-oss-120b", skus=("b200-8",))
    chip = "b200-sxm-180gb"
    own, eight = (served_chip(inputs, chip, name) for name in ("w4a8", "fp8"))

    assert own.peak_tflop_per_s is eight.peak_tflop_per_s
    assert own.matrix_fraction is eight.matrix_fraction
    assert own.grouped_fraction.key == f"kernel.{chip}.grouped_share@w4a8"
    assert own.grouped_fraction.value > 2.0 * eight.grouped_fraction.value


@pytest.mark.parametrize(
    ("name", "window", "layers"),
    [
        ("gpt-oss-120b", 128, 18),
        ("gpt-oss-20b", 128, 12),
        ("gemma-2-9b", 4096, 21),
        ("gemma-3-27b", 1024, 52),
        ("mistral-7b", 4096, 32),
        ("llama-3.1-8b", 0, 0),
    ],
)
def test_windows_are_those_of_the_released_configuration(name: str, window: int, layers: int) -> None:
    """Layers that attend to a window, as `layer_types` or its pattern lists them in each config.json."""
    model = served_model(inputs_for(name, skus=("h100-8",)), name, "bf16")

    assert model.window_tokens.value == window
    assert model.windowed_fraction.value == pytest.approx(
        layers / CATALOGUE.fact(f"model.{name}.layers").value
    )


def test_a_window_is_all_that_a_layer_reads() -> None:
    """By hand: at 5,000 tokens half of the layers of gpt-oss-120b read 128; a short context is read whole."""
    model = with_values(served_model(inputs_for("gpt-oss-120b", skus=("h100-8",)), "gpt-oss-120b", "bf16"))

    assert attended_tokens(model=model, context_tokens=5000.0) == pytest.approx((5000 + 128) / 2)
    assert attended_tokens(model=model, context_tokens=100.0) == 100.0
    # The mean of min(i, 128) over 1,024 tokens is 128 - 128^2/2,048 = 120.
    assert prompt_attended_tokens(model=model, prompt_tokens=1024.0) == pytest.approx((512 + 120) / 2)


def test_an_encoder_hears_what_a_decoder_writes_about() -> None:
    """Whisper large-v3 by hand: 32 layers of 12 h^2 hear, keys and values of 2 h^2 for 32 layers beside them.

    1,500 frames meet 2 x 734 M operations each and all of each other; a token meets the other weights, and
    reads the cache of all frames: 2 x 32 x 1,280 values of each.
    """
    parts = dict(
        zip(
            ("model", "chip", "engine", "layout"),
            served_replica(
                inputs_for("llama-3.1-8b", skus=("h100-8",)),
                model="whisper-large-v3",
                accelerator="h100-sxm-80gb",
                precision="bf16",
                engine="mlperf",
                tp=1,
            ),
            strict=True,
        )
    )
    lengths = {"context_tokens": 1500.0, "prompt_tokens": 1500.0}
    hearing = step_times(**parts, writing=0.0, prefill_tokens=1500.0, **lengths)
    writing = step_times(**parts, writing=1.0, prefill_tokens=0.0, **lengths)

    weights = 32 * 14 * 1280**2
    scores = 4 * 1500 * 1280 * 32 * 1500
    assert float(parts["model"].encoder_parameters) == weights
    assert float(np.squeeze(hearing.tflop)) == pytest.approx((2 * weights * 1500 + scores) / 1e12)
    cache = 2 * 32 * 1280 * 2 * 1500
    assert float(np.squeeze(writing.read_gb)) == pytest.approx((cache + 2 * (1543490560 - weights)) / 1e9)


def test_room_is_kept_for_windows_alone() -> None:
    """As many bytes hold nearly twice the requests of gpt-oss where half of the layers keep 128 tokens."""
    short = held_requests_of("gpt-oss-120b", prompt=127.0)
    long = held_requests_of("gpt-oss-120b", prompt=20_000.0)

    assert long * (20_001 + 128) / 2 == pytest.approx(short * 128, rel=0.05)


def held_requests_of(model: str, prompt: float) -> float:
    parts = dict(
        zip(
            ("model", "chip", "engine", "layout"),
            served_replica(
                inputs_for(model, skus=("h200-8",)),
                model=model,
                accelerator="h200-sxm-141gb",
                precision="w4a16",
                engine="mlperf",
                tp=8,
            ),
            strict=True,
        )
    )
    one = parts["model"]
    room = largest_batch(
        memory_gb=141.0,
        usable_fraction=0.9,
        weights_gb=0.0,
        kv_cache_gb_per_token=kv_cache_gb_per_token(
            layers=one.layers, kv_heads=one.kv_heads, head_dim=one.head_dim, kv_bytes=one.kv_bytes, tp=8.0
        ),
        context_tokens=attended_tokens(model=one, context_tokens=prompt + 1.0),
        batch_limit=1e9,
    )
    return float(np.squeeze(room))


@pytest.mark.parametrize("batch", [1.0, 16.0])
def test_fewer_bytes_are_read_faster(batch: float) -> None:
    """Small batches read weights: each format with fewer bytes takes less time, on a chip with kernels."""
    inputs = inputs_for("llama-3.1-70b", skus=("b200-8",))

    def read_s(precision: str) -> float:
        model, chip, engine, layout = served_replica(
            inputs,
            model="llama-3.1-70b",
            accelerator="b200-sxm-180gb",
            precision=precision,
            engine="vllm",
            tp=2,
        )
        requests = Requests(input_tokens=100.0, output_tokens=500.0)
        step = average_step(
            model=model, chip=chip, engine=engine, layout=layout, requests=requests, running=batch
        )
        return float(np.squeeze(step.matrix_s))

    assert read_s("bf16") > read_s("fp8") > read_s("nvfp4")
    assert read_s("bf16") > read_s("w4a16")


def test_what_nobody_measured_takes_the_prior() -> None:
    inputs = inputs_for("llama-3.1-8b", skus=("mi325x-8",))

    assert kernel(inputs, "h100-sxm-80gb", "cache_read_share").key == "kernel.h100-sxm-80gb.cache_read_share"
    assert kernel(inputs, "nobody", "cache_read_share").key == "kernel.prior.cache_read_share"


def test_only_mixtures_repeat_attention_and_the_best_layout_is_kept() -> None:
    """A dense model is split one way; of a mixture every divisor is tried, and what carries most stays."""
    dense, mixture = (inputs_for(name, skus=("h100-8",)) for name in ("llama-3.1-8b", "qwen3-30b-a3b"))
    every, _ = possible_layouts(mixture)
    best, _ = serving_candidates(mixture)

    assert set(possible_layouts(dense)[0].groups.tolist()) == {1}
    assert {(8, n) for n in (1, 2, 4, 8)} <= set(
        zip(every.accelerators.tolist(), every.groups.tolist(), strict=True)
    )
    assert sorted(best.accelerators.tolist()) == sorted(set(every.accelerators.tolist()))
    all_kinds, _ = replica_kinds(mixture, every)
    limits = all_kinds.capacity["limit_requests_per_s"].value
    for size, groups in zip(best.accelerators, best.groups, strict=True):
        same = all_kinds.accelerators.value == size
        mine = limits[same & (all_kinds.groups == groups)][0]
        assert mine >= 0.95 * limits[same].max()


def test_a_service_names_its_engine_in_its_sources() -> None:
    """Constants of the engine that was named are facts of what a replica carries; the default's are not."""
    inputs = Inputs(with_changes(SERVING, {"services.chat.engine": "sglang"}), CATALOGUE)
    candidates, _ = serving_candidates(inputs, (4,))
    kinds, _ = replica_kinds(inputs, candidates.some(candidates.service == 0))
    keys = {key for key in facts_of(kinds.capacity["requests_per_s"]) if key.startswith("performance.engine")}

    assert "performance.engine.sglang.step_time" in keys
    assert not any(key.startswith("performance.engine.vllm.") for key in keys)


def test_of_layouts_that_carry_as_much_the_simplest_serves():
    """Within 2 % attention stays shared by all; what carries more than that is taken, as in training."""
    kind, groups = np.array([0, 0, 0, 1, 1, 2]), np.array([1, 2, 4, 1, 8, 1])
    carried = np.array([9.9, 9.85, 10.0, 9.0, 10.0, 0.0])

    as_fast = float(load_catalogue().fact(AS_FAST).value)

    assert as_fast == 0.02
    assert simplest_rows(kind, groups, carried, as_fast).tolist() == [0, 4, 5]
    assert simplest_rows(kind, groups, carried, 0.0).tolist() == [2, 4, 5]
