"""Adapters of serving: speed, power and sizing of replicas."""

from __future__ import annotations

from typing import Any

from carbon.energy import energy_kwh
from carbon.power import power_kw
from planner.inputs.catalogue import load_catalogue
from planner.performance.memory import kv_cache_gb_per_token
from planner.performance.power import (
    accelerator_power_kw,
    serving_compute_use_fraction,
    serving_memory_use_fraction,
)
from planner.performance.serving import (
    decode_step_s,
    exchange_s,
    output_tokens_per_s,
    prefill_tokens,
    touched_parameters,
    uncached_tokens,
)
from planner.physics.nodes import POWER_CURVE
from planner.physics.serving import SERVING_CONSTANTS
from planner.validation.aliases import aliases, catalogue_name, constant, constants
from planner.validation.forms import Book, NotUnderstood

SERVING, POWER = "serving throughput", "power"

BOOK = Book(
    {
        "avg_batch": ("batch", 1.0),
        "avg_output_tokens": ("output_tokens", 1.0),
        "avg_input_tokens": ("input_tokens", 1.0),
        "input_tokens": ("input_tokens", 1.0),
        "ttft_ms": ("ttft_target_s", 1e-3),
        "tpot_ms": ("tpot_target_s", 1e-3),
        "rate_req_s": ("requests_per_s", 1.0),
        "power_w": ("power_kw", 1e-3),
        "avg_power_w": ("power_kw", 1e-3),
        "busy_w": ("busy_kw", 1e-3),
        "idle_w": ("idle_kw", 1e-3),
        "duty": ("duty_fraction", 1.0),
        "duty_cycle": ("duty_fraction", 1.0),
        "idle_tdp_fraction": ("idle_fraction", 1.0),
        "busy_tdp_fraction": ("busy_fraction", 1.0),
        "output_tokens_per_s": ("tokens_per_s", 1.0),
        "tok_s": ("tokens_per_s", 1.0),
    }
)

WEIGHT_BYTES = {"bfloat16": 2.0, "bf16": 2.0, "float16": 2.0, "fp16": 2.0, "fp8": 1.0, "int8": 1.0}
PEAKS = {"bfloat16": "bf16", "bf16": "bf16", "float16": "fp16", "fp16": "fp16", "fp8": "fp8", "int8": "int8"}
PLANNING = ("utilisation_fraction", "queue_places", "chunk_tokens")  # not constants of the engine's step
STEP_CONSTANTS = {name: key for name, key in SERVING_CONSTANTS.items() if name not in PLANNING} | {
    "eight_bit_layer_s": "eight_bit_layer_time",
    "expert_layer_s": "expert_layer_time",
}
EXCHANGE = (
    "layers",
    "hidden",
    "tp",
    "ep",
    "experts_per_token",
    "link_gb_per_s",
    "link_latency_s",
    "ring_factor",
)
RECORD = ("max_num_seqs", "gpus")


@BOOK.takes("serve_decode", unit="1/s", subject=SERVING, labels=RECORD)
def serve_decode(
    *,
    model: str,
    gpu: str,
    batch: float,
    output_tokens: float,
    weights: str,
    tp: int = 1,
    ep: int = 1,
    engine: str = "vLLM",
    input_tokens: float | None = None,
) -> float:
    """Output tokens a second of a replica that holds a mean number of requests of unequal answers."""
    step_s, _ = chat_step(model, gpu, batch, output_tokens, weights, tp, ep, engine, input_tokens)
    return float(output_tokens_per_s(batch=batch, step_s=step_s))


@BOOK.takes("serve_power", unit="kW", subject=POWER, labels=("max_num_seqs",))
def serve_power(
    *,
    model: str,
    gpu: str,
    batch: float,
    output_tokens: float,
    weights: str,
    gpus: int = 1,
    tp: int = 1,
    ep: int = 1,
    engine: str = "vLLM",
    input_tokens: float | None = None,
) -> float:
    """Power of all accelerators of a replica, by its modelled step."""
    step_s, parts = chat_step(model, gpu, batch, output_tokens, weights, tp, ep, engine, input_tokens)
    chip = catalogue_name("accelerator", gpu)
    uses = step_uses(parts, step_s, chip)
    return gpus * accelerator_kw(chip, **uses, experts=parts["touched_expert_parameters"] > 0)


@BOOK.takes("energy_per_token", unit="kWh", subject=POWER, labels=("max_num_seqs",))
def modelled_energy_per_token(
    *,
    model: str,
    gpu: str,
    batch: float,
    output_tokens: float,
    weights: str,
    gpus: int = 1,
    tp: int = 1,
    ep: int = 1,
    engine: str = "vLLM",
    input_tokens: float | None = None,
) -> float:
    """Energy of the accelerators for one output token, by the modelled power and speed."""
    same: dict[str, Any] = dict(
        model=model,
        gpu=gpu,
        batch=batch,
        output_tokens=output_tokens,
        weights=weights,
        tp=tp,
        ep=ep,
        engine=engine,
        input_tokens=input_tokens,
    )
    return measured_energy_per_token(
        power_kw=serve_power(gpus=gpus, **same), tokens_per_s=serve_decode(**same)
    )


@BOOK.takes("energy_per_token", unit="kWh", subject=POWER, labels=("model", "gpu", "gpus"))
def measured_energy_per_token(*, power_kw: float, tokens_per_s: float, pue: float = 1.0) -> float:
    """Energy for one token from a power and a rate."""
    return float(energy_kwh(power_kw=power_kw, duration_h=1.0 / tokens_per_s / 3600.0)) * pue


@BOOK.takes("energy_per_token", unit="kWh", subject=POWER, labels=("model", "gpu", "gpus"))
def duty_energy_per_token(
    *, idle_kw: float, busy_kw: float, duty_fraction: float, tokens_per_s: float
) -> float:
    """Energy for one token where the device works a share of the time and idles the rest."""
    mean = float(power_kw(idle_kw=idle_kw, max_kw=busy_kw, utilisation_fraction=duty_fraction))
    return measured_energy_per_token(power_kw=mean, tokens_per_s=duty_fraction * tokens_per_s)


@BOOK.takes("energy_per_token", unit="1", subject=POWER, labels=("model", "gpu", "accelerator"))
def energy_per_token_ratio(
    *, idle_fraction: float, busy_fraction: float = 1.0, duty_fraction: float
) -> float:
    """Energy for one token at a duty cycle over that of a device that is always busy."""
    mean = power_kw(idle_kw=idle_fraction, max_kw=busy_fraction, utilisation_fraction=duty_fraction)
    return float(mean) / duty_fraction / busy_fraction


def chat_step(
    model: str,
    gpu: str,
    batch: float,
    output_tokens: float,
    weights: str,
    tp: int,
    ep: int,
    engine: str,
    input_tokens: float | None,
) -> tuple[float, dict[str, float]]:
    """Time of one step among answers of unequal length, of which long ones are met more often."""
    prompt = constant("validation.prompt_tokens", "input_tokens") if input_tokens is None else input_tokens
    spread = constant("validation.answer_scv", "scv_ratio")
    return engine_step(
        model,
        gpu,
        batch,
        output_tokens,
        weights,
        tp,
        ep,
        engine,
        prompt,
        context_tokens=prompt + output_tokens * (1.0 + spread) / 2.0,
    )


def engine_step(
    model: str,
    gpu: str,
    batch: float,
    output_tokens: float,
    weights: str,
    tp: int,
    ep: int,
    engine: str,
    input_tokens: float,
    cached_fraction: float = 0.0,
    context_tokens: float | None = None,
) -> tuple[float, dict[str, float]]:
    """Time of one step, and the arguments that gave it; answers of one length where no context is given."""
    name, chip = f"model.{catalogue_name('model', model)}", catalogue_name("accelerator", gpu)
    read = float(uncached_tokens(input_tokens=input_tokens, cached_fraction=cached_fraction))
    arguments = {
        **served_arguments(name, batch),
        **chip_arguments(chip, weights),
        "tp": float(tp),
        "ep": float(ep),
        "batch": batch,
        "context_tokens": input_tokens + output_tokens / 2.0 if context_tokens is None else context_tokens,
        "prefill_tokens": float(prefill_tokens(batch=batch, input_tokens=read, output_tokens=output_tokens)),
        **engine_constants(engine, chip),
    }
    return float(decode_step_s(**arguments)), arguments


def step_uses(parts: dict[str, float], step_s: float, chip: str) -> dict[str, float]:
    """What one accelerator uses in a step: memory bandwidth, dense 16-bit peak, and time in exchanges."""
    ranks = max(parts["tp"], parts["ep"])
    cache = kv_cache_gb_per_token(
        tp=parts["tp"], **some(parts, ("layers", "kv_heads", "head_dim", "kv_bytes"))
    )
    experts = parts["touched_expert_parameters"]
    touched = (parts["touched_parameters"] - experts) / parts["tp"] + experts / ranks
    memory = serving_memory_use_fraction(
        touched_gb=touched * parts["weight_bytes"] / 1e9,
        cache_read_gb=float(cache) * parts["context_tokens"] * parts["batch"] * parts["tp"] / ranks,
        step_s=step_s,
        memory_gb_per_s=parts["memory_gb_per_s"],
    )
    compute = serving_compute_use_fraction(
        active_parameters=parts["active_parameters"],
        tp=ranks,
        step_s=step_s,
        step_tokens=parts["batch"] + parts["prefill_tokens"],
        peak_tflop_per_s=constant(f"accelerator.{chip}.bf16_peak", "peak_tflop_per_s"),
    )
    exchange = exchange_s(
        tokens=(parts["batch"] + parts["prefill_tokens"]) * parts["tp"] / ranks, **some(parts, EXCHANGE)
    )
    return {
        "memory_use_fraction": float(memory),
        "compute_use_fraction": float(compute),
        "exchange_fraction": min(1.0, float(exchange) / step_s),
    }


def some(parts: dict[str, float], names: tuple[str, ...]) -> dict[str, float]:
    """Some of the arguments."""
    return {name: parts[name] for name in names}


def engine_constants(engine: str, chip: str) -> dict[str, float]:
    """Constants of an engine's step: its own, those of the accelerator's generation, or the common ones."""
    if engine not in aliases("engine"):
        raise NotUnderstood(
            f"the catalogue has no constants of the engine '{engine}': engines differ by 10 to 45 %"
        )
    has, room = load_catalogue().has, "performance.serving"
    own = [f"@{word}" for word in (aliases("engine")[engine], power_curve(chip)) if word] + [""]
    return constants(
        room,
        {
            parameter: name + next(word for word in own if not word or has(f"{room}.{name}{word}"))
            for parameter, name in STEP_CONSTANTS.items()
        },
    )


def served_arguments(name: str, batch: float) -> dict[str, float]:
    """Model arguments of the engine's step."""
    whole, active = (
        constant(f"{name}.parameters", "parameters"),
        constant(f"{name}.active_parameters", "parameters"),
    )
    shape = {part: constant(f"{name}.{part}", part) for part in ("layers", "hidden", "kv_heads", "head_dim")}
    routed = expert_arguments(name)
    touched = float(touched_parameters(parameters=whole, batch=batch, **routed))
    experts = routed["routed_parameters"]
    return {
        "touched_parameters": touched,
        "active_parameters": active,
        "touched_expert_parameters": touched - (whole - experts) if experts else 0.0,
        "experts_per_token": routed["experts_per_token"],
        **shape,
    }


def expert_arguments(name: str) -> dict[str, float]:
    """Where the weights of a model lie; a dense model is one expert."""
    experts, chosen = constant(f"{name}.experts", "experts"), constant(f"{name}.experts_per_token", "experts")
    if not experts:
        return {"routed_parameters": 0.0, "experts": 1.0, "experts_per_token": 1.0}
    whole, active = (
        constant(f"{name}.parameters", "parameters"),
        constant(f"{name}.active_parameters", "parameters"),
    )
    # What a token leaves untouched lies in the experts that it does not choose.
    return {
        "routed_parameters": (whole - active) / (1.0 - chosen / experts),
        "experts": experts,
        "experts_per_token": chosen,
    }


def chip_arguments(chip: str, weights: str) -> dict[str, float]:
    """Accelerator arguments of the engine's step; the cache stays in 16 bits."""
    if weights not in WEIGHT_BYTES:
        raise NotUnderstood(f"unknown precision '{weights}'; known: {', '.join(WEIGHT_BYTES)}")
    return {
        "weight_bytes": WEIGHT_BYTES[weights],
        "kv_bytes": WEIGHT_BYTES["bf16"],
        "peak_tflop_per_s": constant(f"accelerator.{chip}.{PEAKS[weights]}_peak", "peak_tflop_per_s"),
        "memory_gb_per_s": constant(f"accelerator.{chip}.memory_bandwidth", "memory_gb_per_s"),
        "link_gb_per_s": constant(f"accelerator.{chip}.link_bandwidth", "link_gb_per_s"),
    }


def power_curve(chip: str) -> str | None:
    """The power law that an SKU with this accelerator names, if any does."""
    return next((sku.power_curve for sku in load_catalogue().skus.values() if sku.accelerator == chip), None)


def accelerator_kw(
    chip: str,
    memory_use_fraction: float,
    compute_use_fraction: float,
    exchange_fraction: float = 0.0,
    *,
    experts: bool = False,
) -> float:
    """Power of one accelerator by the law that its SKU names, or by that of mixtures next to it."""
    curve = power_curve(chip)
    if experts and load_catalogue().has(f"performance.power.{curve}-experts.c0"):
        curve = f"{curve}-experts"
    if curve is None:
        raise NotUnderstood(f"no power law is assigned to '{chip}' in data/skus.toml")
    return float(
        accelerator_power_kw(
            tdp_kw=constant(f"accelerator.{chip}.tdp", "tdp_kw"),
            memory_use_fraction=memory_use_fraction,
            compute_use_fraction=compute_use_fraction,
            exchange_fraction=exchange_fraction,
            **constants(f"performance.power.{curve}", {**POWER_CURVE, "exchange_factor": "c4"}),
        )
    )
