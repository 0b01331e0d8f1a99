"""Adapters of replicas under load: latency at a rate, and how many carry a rate."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from planner.inputs.catalogue import load_catalogue
from planner.performance.capacity import replica_capacity
from planner.performance.memory import kv_cache_gb_per_token, largest_batch, serving_weights_gb
from planner.performance.serving import (
    decode_step_s,
    output_tokens_per_s,
    prefill_steps,
    prefill_tokens,
    ttft_s,
    uncached_tokens,
)
from planner.physics.serving import SERVING_CONSTANTS
from planner.physics.serving_options import SPLITS
from planner.validation.aliases import catalogue_name, constant, constants
from planner.validation.forms import Book, NotUnderstood
from planner.validation.serving import (
    SERVING,
    chip_arguments,
    engine_constants,
    engine_step,
    expert_arguments,
    served_arguments,
    step_uses,
)

SCENARIOS = ("Offline", "Server")
OFFLINE_ENGINE = "offline"  # of throughput benchmarks, whose host and 8-bit scaling are hidden

BOOK = Book(
    {
        "ttft_ms": ("ttft_target_s", 1e-3),
        "tpot_ms": ("tpot_target_s", 1e-3),
        "rate_req_s": ("requests_per_s", 1.0),
    }
)


@BOOK.takes("serve_latency", unit="s", subject=SERVING, labels=("arrivals",))
def serve_latency(
    *,
    model: str,
    gpu: str,
    tp: int,
    requests_per_s: float,
    input_tokens: float,
    output_tokens: float,
    engine: str,
    weights: str = "bfloat16",
    prefix_caching: bool = False,
) -> float:
    """Mean time of a request at a steady rate: the number running is rate times that time (Little's law)."""
    chunk = constant("performance.serving.chunk_tokens", "chunk_tokens")
    cached = constant("performance.serving.cached_prompt", "cached_fraction") if prefix_caching else 0.0
    read = float(uncached_tokens(input_tokens=input_tokens, cached_fraction=cached))
    chunks = float(prefill_steps(input_tokens=read, chunk_tokens=chunk))
    running = 1.0
    for _ in range(200):
        step_s, parts = engine_step(
            model, gpu, running, output_tokens, weights, tp, 1, engine, input_tokens, cached
        )
        first = {**parts, "prefill_tokens": read / chunks}
        whole = float(ttft_s(wait_s=0.0, prefill_steps=chunks, prefill_step_s=decode_step_s(**first)))
        whole += (output_tokens - 1.0) * step_s
        before, running = running, max(1.0, requests_per_s * whole)
        if math.isclose(before, running, rel_tol=1e-9):
            return whole
    raise NotUnderstood("the request rate is beyond what the replica can take")


@BOOK.takes("serve_system", unit="1/s", subject=SERVING)
def serve_system(*, benchmark: str, scenario: str, gpu: str, gpus: int) -> dict[str, float]:
    """Output tokens and requests a second of a whole system, always full, on the best split that fits."""
    if not load_catalogue().has(f"benchmark.{benchmark}.input_tokens"):
        raise NotUnderstood(f"the catalogue has no request lengths of the benchmark '{benchmark}'")
    if scenario not in SCENARIOS:
        raise NotUnderstood(f"unknown scenario '{scenario}'; known: {', '.join(SCENARIOS)}")
    chip = catalogue_name("accelerator", gpu)
    rates = [gpus / tp * _filled_rate(benchmark, chip, tp) for tp in SPLITS]
    if not any(rates):
        raise NotUnderstood("the model does not fit on 1 to 8 accelerators")
    share = constant("performance.serving.server_share", "share_fraction") if scenario == "Server" else 1.0
    answer = constant(f"benchmark.{benchmark}.output_tokens", "output_tokens")
    return {"1/s": share * max(rates), "samples/s": share * max(rates) / answer}


def served_uses(
    benchmark: str, chip: str, accelerators: float, *, tokens_per_s: float | None, samples_per_s: float | None
) -> dict[str, float]:
    """What a benchmark's requests use of an accelerator at a stated rate."""
    rate = tokens_per_s or (samples_per_s or 0.0) * _lengths(benchmark).answer
    if not rate:
        raise NotUnderstood("a rate is needed: tokens_per_s or samples_per_s")
    filled_rate, tp = max((_filled_rate(benchmark, chip, tp) / tp, tp) for tp in SPLITS)
    if not filled_rate:
        raise NotUnderstood("the model does not fit on 1 to 8 accelerators")
    parts = _filled_parts(benchmark, chip, tp)
    # The same batch at the stated rate takes longer for each step than the modelled one.
    step_s = float(decode_step_s(**parts)) * filled_rate * accelerators / rate
    return step_uses(parts, step_s, chip)


@dataclass(frozen=True, slots=True)
class Lengths:
    """Mean prompt and answer of a benchmark, and how many answers are written of which one is kept."""

    prompt: float
    answer: float
    beams: float


def _lengths(benchmark: str) -> Lengths:
    room = f"benchmark.{benchmark}"
    prompt, answer = (constant(f"{room}.{part}", part) for part in ("input_tokens", "output_tokens"))
    beams = constant(f"{room}.beams", "beams") if load_catalogue().has(f"{room}.beams") else 1.0
    return Lengths(prompt, answer, beams)


def _filled_rate(benchmark: str, chip: str, tp: int) -> float:
    """Output tokens a second of one replica that always holds as many requests as it can; 0 without room."""
    parts = _filled_parts(benchmark, chip, tp)
    if parts["batch"] < 1:
        return 0.0
    kept = parts["batch"] / _lengths(benchmark).beams
    return float(output_tokens_per_s(batch=kept, step_s=decode_step_s(**parts)))


def _filled_parts(benchmark: str, chip: str, tp: int) -> dict[str, float]:
    """Arguments of the step of a replica that holds as many requests as it can; batch 0 without room."""
    name, lengths = f"model.{catalogue_name('model', benchmark)}", _lengths(benchmark)
    precision = "fp8" if load_catalogue().has(f"accelerator.{chip}.fp8_peak") else "bfloat16"
    parts = chip_arguments(chip, precision)
    parts["kv_bytes"] = parts["weight_bytes"]  # such engines keep the cache in the precision of the weights
    # Beams share their prompt, so that one of them holds a part of it and its own answer.
    prompt = lengths.prompt / lengths.beams
    held = _held(name, chip, parts, tp, prompt + lengths.answer)
    batch = max(held, 1.0)
    engine = engine_constants(OFFLINE_ENGINE, chip)
    reached = constant(f"accelerator.{chip}.matrix_efficiency", "matrix_efficiency_fraction")
    engine["peak_share_fraction"] = min(engine["peak_share_fraction"], reached)
    joining = prefill_tokens(batch=batch, input_tokens=prompt, output_tokens=lengths.answer)
    return {
        **served_arguments(name, batch),
        **parts,
        **engine,
        "tp": float(tp),
        "ep": 1.0,
        "batch": batch if held >= 1 else 0.0,
        "prefill_tokens": float(joining),
        "context_tokens": lengths.prompt + lengths.answer / 2.0,
    }


@BOOK.takes("serve_sizing_peer", unit="1", subject=SERVING)
def serve_sizing(
    *,
    model: str,
    gpu: str,
    input_tokens: float,
    output_tokens: float,
    requests_per_s: float,
    ttft_target_s: float,
    tpot_target_s: float,
    weights: str | None = None,
) -> float:
    """Fewest accelerators that carry a rate within its latency targets, over the splits the planner tries.

    Peers size engines that hide their host, for requests of one length.
    """
    precision = weights or ("fp8" if model.lower().endswith("fp8") else "bfloat16")
    needed = [
        _replicas(
            model,
            gpu,
            tp,
            precision,
            input_tokens,
            output_tokens,
            requests_per_s,
            ttft_target_s,
            tpot_target_s,
        )
        for tp in SPLITS
    ]
    found = [tp * count for tp, count in zip(SPLITS, needed, strict=True) if count]
    if not found:
        raise NotUnderstood("no split over 1 to 8 accelerators meets the targets")
    return float(min(found))


def _replicas(
    model: str,
    gpu: str,
    tp: int,
    weights: str,
    input_tokens: float,
    output_tokens: float,
    requests_per_s: float,
    ttft_target_s: float,
    tpot_target_s: float,
) -> int:
    """Replicas at one split; 0 where the model does not fit or the targets are out of reach."""
    chip, name = catalogue_name("accelerator", gpu), f"model.{catalogue_name('model', model)}"
    parts = chip_arguments(chip, weights)
    shape = {part: constant(f"{name}.{part}", part) for part in ("layers", "hidden", "kv_heads", "head_dim")}
    whole = constant(f"{name}.parameters", "parameters")
    held = _held(name, chip, parts, tp, input_tokens + output_tokens)
    engine = engine_constants(OFFLINE_ENGINE, chip)
    hidden = {key: engine[key] for key in SERVING_CONSTANTS if key in engine}
    found = replica_capacity(
        parameters=whole,
        active_parameters=constant(f"{name}.active_parameters", "parameters"),
        **expert_arguments(name),
        **shape,
        **parts,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        batch_limit=held,
        tp=tp,
        ttft_target_s=ttft_target_s,
        tpot_target_s=tpot_target_s,
        arrival_scv_ratio=1.0,
        quantile_fraction=constant("performance.serving.first_token_quantile", "quantile_fraction"),
        **{**constants("performance.serving", SERVING_CONSTANTS), **hidden},
        output_scv_ratio=np.zeros(1),
    )
    rate = float(found.requests_per_s)
    return math.ceil(requests_per_s / rate) if rate > 0 else 0


def _held(name: str, chip: str, parts: dict[str, float], tp: int, context_tokens: float) -> float:
    """Requests that one replica has memory for; 0 where the weights do not fit."""
    shape = {part: constant(f"{name}.{part}", part) for part in ("layers", "kv_heads", "head_dim")}
    return float(
        largest_batch(
            memory_gb=constant(f"accelerator.{chip}.memory", "memory_gb"),
            usable_fraction=constant("performance.serving.usable_memory", "usable_fraction"),
            weights_gb=serving_weights_gb(
                parameters=constant(f"{name}.parameters", "parameters"),
                weight_bytes=parts["weight_bytes"],
                tp=tp,
            ),
            kv_cache_gb_per_token=kv_cache_gb_per_token(**shape, kv_bytes=parts["kv_bytes"], tp=tp),
            context_tokens=context_tokens,
            batch_limit=constant("performance.serving.largest_batch", "batch_limit"),
        )
    )
