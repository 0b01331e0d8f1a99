"""Adapters of serving: speed, power and sizing of replicas."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np

from carbon.energy import energy_kwh
from carbon.power import power_kw
from planner.inputs.loading import load_catalogue, note_facts, noting_facts
from planner.inputs.resolved import Inputs
from planner.performance.bundles import Requests
from planner.performance.capacity import average_step, step_uses
from planner.performance.engine import Chip, Engine, ReplicaLayout, StepTimes, Transformer
from planner.performance.power import generation_power_kw, served_power_kw
from planner.performance.serving import output_tokens_per_s
from planner.physics.engines import served_replica
from planner.physics.nodes import GENERATION_CURVE, TURN
from planner.physics.precisions import FORMATS
from planner.physics.requests import inputs_of
from planner.physics.serving_power import SERVING_CURVE, law_of
from planner.trace.errors import InputError
from planner.validation.aliases import alias_of, aliases, catalogue_name, constant, constants
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

VERSION = re.compile(r"(?P<engine>[A-Za-z-]+) v?(?P<major>\d+)\.(?P<minor>\d+)")  # "vLLM 0.10.2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """A replica as a row states it, with the mean number of requests that it holds and their lengths.

    `answer_scv` is the squared coefficient of variation of the answers: 0 where all are as long, that of
    chats or of models that reason where a row says none. `cache` is the format of keys and values, 16 bits
    where none is said.
    """

    model: str
    gpu: str
    batch: float
    output_tokens: float
    weights: str
    tp: int = 1
    ep: int = 1
    engine: str = "vLLM"
    input_tokens: float | None = None
    answer_scv: float | None = None
    cache: str | None = None


@BOOK.takes("serve_decode", unit="1/s", subject=SERVING)
def serve_decode(*, chat: Chat, accelerators: int | None = None, max_num_seqs: float | None = None) -> float:
    """Output tokens a second of a replica that holds a mean number of requests of unequal answers."""
    tp, ep = chat.tp, chat.ep
    if accelerators not in (None, tp, ep, tp * ep):
        raise NotUnderstood(
            f"serve_decode is of one replica: {accelerators} accelerators are not those of tp {tp}, ep {ep}"
        )
    if max_num_seqs is not None and chat.batch > max_num_seqs:
        raise NotUnderstood(
            f"serve_decode: {chat.batch:g} requests at once, max_num_seqs allows {max_num_seqs:g}"
        )
    step, _ = chat_step(chat)
    return float(np.squeeze(output_tokens_per_s(batch=chat.batch, step_s=step.total_s)))


@BOOK.takes("serve_power", unit="kW", subject=POWER, labels=("max_num_seqs",))
def serve_power(*, chat: Chat, accelerators: int = 1) -> float:
    """Power of all accelerators of a replica, by its modelled step."""
    step, chip = chat_step(chat)
    uses = step_uses(times=step, chip=chip, step_s=step.total_s)
    plain = {key: float(np.squeeze(value)) for key, value in uses.items()}
    name = catalogue_name("accelerator", chat.gpu)
    law = served_law(name, served_name(chat.model), precision_of(chat.weights, name))
    return accelerators * accelerator_kw(name, **plain, law=law)


@BOOK.takes("energy_per_token", unit="kWh", subject=POWER, labels=("max_num_seqs",))
def modelled_energy_per_token(*, chat: Chat, accelerators: int = 1) -> float:
    """Energy of the accelerators for one output token, by the modelled power and speed."""
    return measured_energy_per_token(
        power_kw=serve_power(chat=chat, accelerators=accelerators), tokens_per_s=serve_decode(chat=chat)
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


def chat_step(chat: Chat) -> tuple[StepTimes, Chip]:
    """One step among answers of unequal length, of which long ones are met more often.

    Where a row does not say how long prompts are, they are questions of a chat, or the code around a gap that
    a model made for code fills.
    """
    prompt = chat.input_tokens
    if prompt is None:
        task = "@code" if "coder" in chat.model.casefold() else ""
        prompt = constant(f"validation.prompt_tokens{task}", "input_tokens")
    parts = replica_of(chat.model, chat.gpu, chat.weights, chat.tp, chat.ep, chat.engine, chat.cache)
    stated = chat.answer_scv
    spread = answer_scv(chat.output_tokens) if stated is None else stated
    requests = lengths(prompt, chat.output_tokens, spread)
    return average_step(**parts, requests=requests, running=chat.batch), parts["chip"]


def answer_scv(output_tokens: float) -> float:
    """Squared coefficient of variation of answers: that of models that reason where they are long."""
    reasons = output_tokens >= constant("validation.reasoning_tokens", "output_tokens")
    return constant(f"validation.{'reasoning' if reasons else 'answer'}_scv", "scv_ratio")


def replica_of(
    model: str,
    gpu: str,
    weights: str,
    tp: int,
    ep: int,
    engine: str,
    cache: str | None = None,
    stages: int = 1,
) -> dict[str, Any]:
    """What a replica is made of, by the road of a plan; experts on more accelerators repeat attention."""
    chip = catalogue_name("accelerator", gpu)
    groups = max(float(tp), float(ep)) / tp
    try:
        found, keys = _served_replica(
            served_name(model),
            chip,
            precision_of(weights, chip),
            engine_name(engine),
            float(tp),
            groups,
            cache,
            float(stages),
        )
    except InputError as error:
        raise NotUnderstood(str(error)) from None
    note_facts(keys)
    return dict(zip(("model", "chip", "engine", "layout"), found, strict=True))


# Rows of one benchmark ask for the same few replicas, and each row several times.
@lru_cache(maxsize=1024)
def _served_replica(
    model: str,
    chip: str,
    precision: str,
    engine: str,
    tp: float,
    dp: float,
    cache_precision: str | None,
    pp: float,
) -> tuple[tuple[Transformer, Chip, Engine, ReplicaLayout], frozenset[str]]:
    with noting_facts() as keys:
        found = served_replica(
            inputs_around(chip),
            model=model,
            accelerator=chip,
            precision=precision,
            engine=engine,
            tp=tp,
            dp=dp,
            cache_precision=cache_precision,
            pp=pp,
        )
    return found, frozenset(keys)


def served_name(model: str) -> str:
    """The catalogue's name of a model that writes, or that hears and writes."""
    return catalogue_name("speech" if model in aliases("speech") else "model", model)


def inputs_around(chip: str) -> Inputs:
    """An SKU with this accelerator, around which a question about it is put; all where there is none."""
    return replace(_inputs_around(chip), catalogue=load_catalogue(), facts_used={})


@cache
def _inputs_around(chip: str) -> Inputs:
    catalogue = load_catalogue()
    skus = (name for name in catalogue.sold if catalogue.skus[name].accelerator == chip)
    return inputs_of(catalogue, tuple(skus)[:1])


def lengths(input_tokens: float, output_tokens: float, spread: float = 0.0) -> Requests:
    """Requests of these mean lengths, whose answers spread so."""
    one = np.ones((1, 1))
    return Requests(
        input_tokens=np.array([input_tokens]),
        output_tokens=np.array([output_tokens]),
        share_fraction=one,
        input_ratio=one,
        output_ratio=one,
        output_scv_ratio=spread * one,
    )


def precision_of(word: str, chip: str) -> str:
    """A precision as files spell it."""
    name = str(aliases("precision").get(word.lower(), word.lower()))
    if word.lower() == "fp4":
        # The format that the accelerator has kernels for: that of its maker.
        name = "mxfp4" if chip.startswith("mi") else "nvfp4"
    if name in ("mxfp4", "nvfp4") and not load_catalogue().has(f"accelerator.{chip}.fp4_peak"):
        name = "w4a16"  # engines widen such weights where no unit multiplies them
    if name not in FORMATS:
        raise NotUnderstood(f"unknown precision '{word}'; known: {', '.join(FORMATS)}")
    return name


def engine_name(engine: str) -> str:
    """An engine as files spell it; of a version nobody measured, the newest before it, or the oldest."""
    if (known := alias_of("engine", engine)) is not None:
        return str(known)
    if engine in load_catalogue().engines:
        return engine
    if (near := _nearest_version(engine)) is not None:
        return near
    raise NotUnderstood(f"the catalogue has no constants of the engine '{engine}': they differ by 10 to 45 %")


def _nearest_version(engine: str) -> str | None:
    """Constants of the version of an engine next to a stated one, among those that aliases name."""
    stated = VERSION.match(engine)
    if stated is None:
        return None
    measured = {}
    for alias, name in aliases("engine").items():
        found = VERSION.match(alias)
        if found is not None and found["engine"].casefold() == stated["engine"].casefold():
            measured[int(found["major"]), int(found["minor"])] = str(name)
    if not measured:
        return None
    before = [version for version in measured if version <= (int(stated["major"]), int(stated["minor"]))]
    return measured[max(before) if before else min(measured)]


def power_curve(chip: str) -> str | None:
    """The power law that an SKU with this accelerator names, if any does."""
    return next((sku.power_curve for sku in load_catalogue().skus.values() if sku.accelerator == chip), None)


def served_law(chip: str, model: str, precision: str) -> str:
    """The power law of a model at a precision on an accelerator, as in a plan."""
    return law_of(load_catalogue(), _curve_of(chip), model, precision)


def _curve_of(chip: str) -> str:
    curve = power_curve(chip)
    if curve is None:
        raise NotUnderstood(f"no power law is assigned to '{chip}' in data/skus.toml")
    return curve


def accelerator_kw(
    chip: str,
    memory_use_fraction: float,
    compute_use_fraction: float,
    exchange_fraction: float = 0.0,
    compute_root_fraction: float | None = None,
    *,
    law: str = "",
) -> float:
    """Power of one accelerator that steps all the time, by a law of its generation, else its common one."""
    curve = law or _curve_of(chip)
    compute = min(compute_use_fraction, 1.0)
    return float(
        served_power_kw(
            tdp_kw=constant(f"accelerator.{chip}.tdp", "tdp_kw"),
            loaded_idle_kw=constant(f"accelerator.{chip}.loaded_idle_power", "idle_kw"),
            busy_fraction=1.0,
            memory_use_fraction=min(memory_use_fraction, 1.0),
            compute_use_fraction=compute,
            compute_root_fraction=compute**0.5 if compute_root_fraction is None else compute_root_fraction,
            exchange_fraction=exchange_fraction,
            **constants(f"performance.power.{curve}", SERVING_CURVE),
        )
    )


def generation_kw(
    chip: str, what: str, *, memory_use_fraction: float, compute_use_fraction: float, **_: float
) -> float:
    """Power of one accelerator that makes images or films all the time (`what` "image" or "video")."""
    curve = _curve_of(chip)
    return float(
        generation_power_kw(
            tdp_kw=constant(f"accelerator.{chip}.tdp", "tdp_kw"),
            memory_use_fraction=min(memory_use_fraction, 1.0),
            compute_use_fraction=min(compute_use_fraction, 1.0),
            sustained_fraction=constant(f"performance.power.{curve}.{what}", "sustained_fraction"),
            turn_exponent=constant(TURN, "turn_exponent"),
            **constants(f"performance.power.{curve}-image", GENERATION_CURVE),
        )
    )
