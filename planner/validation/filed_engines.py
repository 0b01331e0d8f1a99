"""What results of a benchmark say of their engines: formats, rounds, and how each engine was set."""

from __future__ import annotations

import re

from planner.inputs.loading import load_catalogue
from planner.validation.aliases import aliases, constant
from planner.validation.forms import NotUnderstood
from planner.validation.serving import precision_of

PEER = "tensorrt-llm"  # the engine that peers size
MLPERF = "mlperf"  # engines of throughput benchmarks, tuned for one model
_ACCURACY = re.compile(r"-99(\.9)?$")  # of a benchmark's name: what the answers must keep


def filed_precision(precision: str | None, chip: str, benchmark: str) -> str:
    """Format of the weights: as filed, or the narrowest that the accelerator multiplies.

    Weights of 4 bits meet values of 8 where units for 4 bits take such pairs; elsewhere they are widened
    to 16. A benchmark filed as 16 bits by engines of 8 is served in 8 where the accelerator has them. What a
    chip's own engine files may have another name than what it runs.
    """
    narrow = [bits for bits in ("fp4", "fp8") if load_catalogue().has(f"accelerator.{chip}.{bits}_peak")]
    spelt, filed = aliases("precision"), precision or "unstated"
    names = (f"{chip} {benchmark} {filed}", f"{benchmark} {filed}", f"{chip} {filed}")
    own = next((spelt[name] for name in names if name in spelt), None)
    if own == "w4a8" and not _multiplies_pairs(chip):
        own = "w4a16"
    if own and (own != "fp8" or "fp8" in narrow):
        return str(own)
    return precision_of(precision or next(iter(narrow), "bf16"), chip)


def _multiplies_pairs(chip: str) -> bool:
    """Whether weights of 4 bits meet values of 8 on a chip: its units take fp4, its engines have kernels.

    Where grouped kernels were measured with values of 16 bits alone, engines have no others.
    """
    known, measured = load_catalogue(), f"kernel.{chip}.grouped_share"
    widened_alone = known.has(f"{measured}@w4a16") and not known.has(f"{measured}@w4a8")
    return known.has(f"accelerator.{chip}.fp4_peak") and not widened_alone


def reads_apart(chip: str, round: str) -> bool:
    """Whether the engines of a round read prompts apart in a domain of links as large as this one."""
    domain = f"performance.engine.{MLPERF}.apart_domain"
    key = f"{domain}@{round.replace('.', '-')}"
    return load_catalogue().has(key) and constant(
        f"accelerator.{chip}.link_domain", "accelerators"
    ) >= constant(key, "accelerators")


def age_of(round: str, benchmark: str, chip: str = "") -> float:
    """Time of a step of a round's engines over that of the newest; a model's or a chip's own where known."""
    known, at = load_catalogue(), round.replace(".", "-")
    usual = f"performance.engine.{MLPERF}.age_factor"
    if not known.has(f"{usual}@{at}"):
        raise NotUnderstood(f"unknown round '{round}' of the benchmark")
    keys = (f"benchmark.{benchmark}.age_factor@{at}", f"{usual}@{chip}-{at}")
    return constant(next((key for key in keys if known.has(key)), f"{usual}@{at}"), "age_factor")


def ring_factor_of(round: str, benchmark: str, chip: str) -> float:
    """Share of a ring that is seen: TensorRT of a round runs it next to the multiplication before it."""
    key = f"benchmark.{benchmark}.ring_factor@{round.replace('.', '-')}"
    fused = load_catalogue().has(key) and load_catalogue().engines[PEER].runs_on(chip)
    return constant(key, "ring_factor") if fused else 1.0


def pieces_of(chip: str, scenario: str) -> float:
    """Replicas that the engine of a processor runs on one: one for each of its dies of cores."""
    usual = f"performance.engine.{MLPERF}.pieces"
    own = f"{usual}@{chip}-{scenario.lower()}"
    return constant(own if load_catalogue().has(own) else usual, "count")


def alone_ratio() -> float:
    """Rate of an accelerator alone on its host over that of each of eight, always full."""
    return constant(f"performance.engine.{MLPERF}.alone", "rate_ratio")


def interval_of(benchmark: str, chip: str, scenario: str, round: str = "") -> float:
    """Steps that the engine of a result schedules at once, prompts in the first of them alone."""
    return _setting("interval", benchmark, chip, round.replace(".", "-"), scenario.lower())


def request_s_of(benchmark: str, chip: str, scenario: str) -> float | None:
    """Host time of each running request, s, where a result is of another engine than its chip's others."""
    model = _ACCURACY.sub("", benchmark)
    own = f"performance.engine.{MLPERF}.sequence_time@{chip}-{model}-{scenario.lower()}"
    return constant(own, "sequence_s") if load_catalogue().has(own) else None


def wide_attention_of(benchmark: str, chip: str, scenario: str) -> bool:
    """Whether the engine multiplies attention's matrices in 16 bits where it writes tokens."""
    return _setting("wide_attention", benchmark, chip, scenario=scenario.lower()) > 0.0


def free_cache_of(benchmark: str, chip: str) -> float:
    """Share of the cache that prompts leave free when they join; 1 where they wait for other reasons."""
    return _setting("free_cache", benchmark, chip)


def _setting(name: str, benchmark: str, chip: str, round: str = "", scenario: str = "") -> float:
    """A setting of an engine: of a chip in a round, of a chip and a model, or that of most."""
    usual = f"performance.engine.{MLPERF}.{name}"
    model = "-".join(part for part in (_ACCURACY.sub("", benchmark), scenario) if part)
    keys = (f"{usual}@{chip}-{round}", f"{usual}@{chip}-{model}")
    return constant(next((key for key in keys if load_catalogue().has(key)), usual), name)
