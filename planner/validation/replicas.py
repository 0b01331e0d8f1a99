"""Adapters of replicas under load: latency at a rate, and how many carry a rate."""

from __future__ import annotations

import math

import numpy as np

from planner.inputs.loading import load_catalogue
from planner.performance.bundles import Limits, Measured, Targets
from planner.performance.capacity import average_step, replica_capacity, step_uses
from planner.performance.engine import step_times
from planner.performance.serving import (
    prefill_steps,
    uncached_tokens,
)
from planner.validation.aliases import alias_of, catalogue_name, constant
from planner.validation.benchmark_runs import SPLITS, BenchmarkRun, as_number, engine_number, held_requests
from planner.validation.filed_engines import (
    MLPERF,
    PEER,
    age_of,
    alone_ratio,
    filed_precision,
    interval_of,
    pieces_of,
    reads_apart,
    request_s_of,
    ring_factor_of,
    wide_attention_of,
)
from planner.validation.forms import Book, NotUnderstood
from planner.validation.serving import SERVING, engine_name, lengths, precision_of, replica_of

SCENARIOS = ("Offline", "Server", "Interactive")
DEFAULT_ROUND = "v4.1"  # of rows that say none

BOOK = Book(
    {
        "ttft_ms": ("ttft_target_s", 1e-3),
        "tpot_ms": ("tpot_target_s", 1e-3),
        "rate_req_s": ("requests_per_s", 1.0),
    }
)


@BOOK.takes("serve_latency", unit="s", subject=SERVING, only={"arrivals": ("constant",)})
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
    cached = constant("performance.serving.cached_prompt", "cached_fraction") if prefix_caching else 0.0
    read = float(uncached_tokens(input_tokens=input_tokens, cached_fraction=cached))
    parts = replica_of(model, gpu, weights, tp, 1, engine)
    chunk = engine_number(engine_name(engine), gpu, "chunk_tokens")
    chunks = float(prefill_steps(input_tokens=read, chunk_tokens=chunk))
    # Cached tokens are not read again, but each step still reads their keys and values.
    held = input_tokens + output_tokens / 2.0
    running = 1.0
    for _ in range(200):
        requests = lengths(read, output_tokens)
        step = average_step(**parts, requests=requests, running=running, chunk_tokens=chunk)
        first = step_times(
            **parts,
            writing=max(running - 1.0, 0.0),
            prefill_tokens=read / chunks,
            context_tokens=held,
            prompt_tokens=input_tokens,
        )
        seen = step.total_s + step.cache_s * (held / (read + output_tokens / 2.0) - 1.0)
        whole = chunks * as_number(first.total_s) + (output_tokens - 1.0) * as_number(seen)
        before, running = running, max(1.0, requests_per_s * whole)
        if math.isclose(before, running, rel_tol=1e-9):
            return whole
    raise NotUnderstood("the request rate is beyond what the replica can take")


@BOOK.takes("serve_system", unit="1/s", subject=SERVING)
def serve_system(
    *,
    benchmark: str,
    scenario: str,
    gpu: str,
    accelerators: int,
    precision: str | None = None,
    round: str = DEFAULT_ROUND,
    engine: str | None = None,
) -> dict[str, float]:
    """Output tokens and requests a second of a whole system, always full or within the rules' targets.

    An engine as it was released may serve in place of one that was tuned for the benchmark: it is of its own
    age, and not of the round's.

    Offline is always full, on the best layout that fits. Server and Interactive hold as many requests as keep
    the benchmark's time per token, and give their first token in time; in large domains of links prompts may
    be read apart. An accelerator alone has its host for itself.
    """
    benchmark = str(alias_of("benchmark", benchmark) or benchmark)
    if not load_catalogue().has(f"benchmark.{benchmark}.input_tokens"):
        raise NotUnderstood(f"the catalogue has no request lengths of the benchmark '{benchmark}'")
    if scenario not in SCENARIOS:
        raise NotUnderstood(f"unknown scenario '{scenario}'; known: {', '.join(SCENARIOS)}")
    chip = catalogue_name("accelerator", gpu)
    filed, age = filed_precision(precision, chip, benchmark), age_of(round, benchmark, chip)
    ring, pieces = ring_factor_of(round, benchmark, chip), pieces_of(chip, scenario)
    interval = interval_of(benchmark, chip, scenario, round)
    request_s, wide = request_s_of(benchmark, chip, scenario), wide_attention_of(benchmark, chip, scenario)
    run = BenchmarkRun(benchmark, chip, filed, age, ring, pieces, interval, request_s, wide)
    if engine is not None:
        run = BenchmarkRun(benchmark, chip, filed, 1.0, engine=engine_name(engine))
    layouts = run.layouts(accelerators)
    found = [
        run.pieces * accelerators / (tp * dp * stages) * run.tokens_per_s(tp, dp, scenario, stages)
        for tp, dp in layouts
        for stages in run.stages(round)
        if tp * dp * stages <= accelerators
    ]
    if scenario != "Offline" and reads_apart(chip, round):
        found.append(run.apart_tokens_per_s(accelerators, scenario))
    if not any(found):
        raise NotUnderstood("the model does not fit on 1 to 8 accelerators, or keeps no target there")
    # The tuned engine's constants are those of each of eight.
    alone = run.engine == MLPERF and accelerators == 1 and scenario == "Offline"
    whole = max(found) * (alone_ratio() if alone else 1.0)
    requests = whole / run.kept_tokens
    return {"1/s": whole, "samples/s": requests, "queries/s": requests}


def served_uses(
    benchmark: str, chip: str, accelerators: float, *, tokens_per_s: float | None, samples_per_s: float | None
) -> dict[str, float]:
    """What a benchmark's requests use of an accelerator at a stated rate."""
    interval = interval_of(benchmark, chip, "Offline")
    run = BenchmarkRun(benchmark, chip, filed_precision(None, chip, benchmark), 1.0, interval_steps=interval)
    rate = tokens_per_s or (samples_per_s or 0.0) * run.kept_tokens
    if not rate:
        raise NotUnderstood("a rate is needed: tokens_per_s or samples_per_s")
    layouts = run.layouts(int(accelerators))
    filled, tp, dp = max((run.tokens_per_s(tp, dp, "Offline") / (tp * dp), tp, dp) for tp, dp in layouts)
    if not filled:
        raise NotUnderstood("the model does not fit on 1 to 8 accelerators")
    parts, running = run.parts(tp, dp), run.held(tp, dp)
    step = average_step(**parts, requests=run.requests, running=running, chunk_tokens=run.chunk_tokens)
    # The same batch at the stated rate takes longer for each step than the modelled one.
    step_s = np.asarray(step.total_s) * filled * accelerators / rate
    uses = step_uses(times=step, chip=parts["chip"], step_s=step_s)
    return {name: as_number(value) for name, value in uses.items()}


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

    Peers size to the limit, without headroom, for requests of one length.
    """
    chip = catalogue_name("accelerator", gpu)
    precision = precision_of(weights or ("fp8" if model.lower().endswith("fp8") else "bf16"), chip)
    targets = Targets(
        ttft_target_s=ttft_target_s,
        tpot_target_s=tpot_target_s,
        quantile_fraction=constant("performance.serving.first_token_quantile", "quantile_fraction"),
    )
    found = []
    for tp in SPLITS[:4]:
        parts = replica_of(model, chip, precision, tp, 1, PEER)
        held = held_requests(parts, chip, input_tokens + output_tokens, PEER)
        if held < 1:
            continue
        capacity = replica_capacity(
            **parts,
            requests=lengths(input_tokens, output_tokens),
            limits=Limits(
                batch_limit=np.array([held]),
                queue_places=constant("performance.serving.queue_places", "queue_places"),
                chunk_tokens=engine_number(PEER, chip, "chunk_tokens"),
            ),
            targets=targets,
            measured=Measured(),
            arrival_scv_ratio=1.0,
            utilisation_fraction=1.0,
        )
        rate = as_number(capacity.requests_per_s)
        if rate > 0:
            found.append(tp * math.ceil(requests_per_s / rate))
    if not found:
        raise NotUnderstood("no split over 1 to 8 accelerators meets the targets")
    return float(min(found))
