"""Adapters of node power: idle, in training, in serving."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from carbon.energy import energy_kwh
from planner.inputs.aliases import accelerator_called
from planner.inputs.catalogue import COOLING, Sku
from planner.inputs.loading import load_catalogue
from planner.performance.bundles import step_bundles
from planner.performance.power import (
    capped_power_kw,
    host_at_load_kw,
    node_power_kw,
    training_compute_use_fraction,
    training_power_kw,
)
from planner.performance.training import training_step_s
from planner.physics.denoiser_training import denoiser_columns
from planner.physics.nodes import POWER_CURVE, host_facts
from planner.physics.training_step import LAYOUT, OUTSIDE_STEP, PRECISIONS
from planner.trace.quantities import chosen
from planner.validation.aliases import alias_of, aliases, catalogue_name, constant, constants
from planner.validation.filed_engines import filed_precision
from planner.validation.forms import Book, NotUnderstood
from planner.validation.node_work import classifier_parts, detection_uses, image_uses, speech_uses
from planner.validation.recommendation import (
    is_recommendation,
    query_uses,
    recommendation_compute_use_fraction,
    recommendation_step,
    serve_benchmark,
)
from planner.validation.replicas import SCENARIOS, serve_system, served_uses
from planner.validation.serving import (
    POWER,
    accelerator_kw,
    generation_kw,
    inputs_around,
    precision_of,
    served_law,
)
from planner.validation.steps import adapted, model_step, planned, values

Parts = Callable[[str, int, Mapping[str, Any]], dict[str, float]]
SCORED_OR_DRAWN = (
    "dlrm-v2-99",
    "dlrm-v2-99.9",
    "stable-diffusion-xl",
    "retinanet",
)  # benchmarks without tokens
CAPPED = " MaxQ"  # a node whose accelerators have a power limit set, as published for each benchmark

BOOK = Book(
    {"minutes": ("duration_h", 1 / 60), "hours": ("duration_h", 1.0), "images_per_s": ("samples_per_s", 1.0)}
)


@BOOK.takes(
    "node_power_idle",
    unit="kW",
    subject=POWER,
    labels=("nodes",),  # one idle node draws what it does next to others
    only={"workload": ("idle", "idle between phases")},
)
def node_idle(*, node: str) -> float:
    """Power of an idle node."""
    sku = _sku(node)
    return _node_kw(node, constant(f"accelerator.{sku.accelerator}.idle_power", "accelerator_kw"))


@BOOK.takes("node_power_train", unit="kW", subject=POWER)
def node_training(*, workload: str, node: str, nodes: int) -> float:
    """Power of a node in training, from what an accelerator does through the modelled step."""
    sku = _sku(node)
    what = alias_of("workload", workload) or _language_workload(workload, sku.accelerator)
    accelerators = nodes * round(constant(f"server.{sku.server}.accelerators", "accelerators"))
    if what["model"] in load_catalogue().names("diffusion", "steps"):
        return _node_kw(node, _denoiser_kw(sku.accelerator, accelerators, what))
    parts = _training_parts(what)
    return _node_kw(
        node,
        float(
            training_power_kw(
                tdp_kw=constant(f"accelerator.{sku.accelerator}.tdp", "tdp_kw"),
                exchange_power_fraction=constant("performance.power.exchange", "power_fraction"),
                **parts(sku.accelerator, accelerators, what),
                **constants(f"performance.power.{sku.power_curve}", POWER_CURVE),
            )
        ),
    )


def _language_workload(workload: str, chip: str) -> dict[str, Any]:
    """A language model in the words of "Llama 3.1 8B FP8 training" or "Llama2-70B LoRA".

    In 8 bits where the accelerator has them and nothing else is said, at the length of its benchmark and a
    usual batch.

    Raises:
        NotUnderstood: no such model, or no benchmark fixes its length.
    """
    words = [word for word in re.split(r"[ _]+", workload.strip()) if word.casefold() != "training"]
    usual = "fp8" if load_catalogue().has(f"accelerator.{chip}.fp8_peak") else "bf16"
    formats = [word for word in words if word.casefold() in ("fp4", *PRECISIONS)]
    adapters = [word for word in words if word.casefold() == "lora"]
    precision = precision_of(formats[0], chip) if formats else usual
    named = " ".join(word for word in words if word not in (*formats, *adapters))
    length = alias_of("sequence_tokens", named)
    if length is None:
        known = ", ".join((*aliases("workload"), *aliases("sequence_tokens")))
        raise NotUnderstood(f"no step model of the workload '{workload}': known are {known}")
    model = catalogue_name("model", named)
    return {
        "model": model,
        "precision": precision,
        "sequence_tokens": length,
        "adapters": bool(adapters),
    }


def _training_parts(what: Mapping[str, Any]) -> Parts:
    """What finds out what an accelerator does in a step of a workload."""
    if what["model"] == "resnet-50":
        return lambda chip, accelerators, what: classifier_parts(chip, what["global_batch"] / accelerators)
    return _recommendation_parts if is_recommendation(what["model"]) else _language_parts


def _denoiser_kw(chip: str, accelerators: int, what: Mapping[str, Any]) -> float:
    """Power of an accelerator that trains a denoiser, by the road of a plan."""
    _, drawn = denoiser_columns(
        inputs_around(chip),
        what["model"],
        "bf16",
        np.zeros(1, dtype=np.intp),
        chosen("samples", float(what["global_batch"]), "the batch of the benchmark"),
        chosen("accelerators", float(accelerators), "stated by the row"),
    )
    return float(np.squeeze(drawn.value))


def _language_parts(chip: str, accelerators: int, what: Mapping[str, Any]) -> dict[str, float]:
    """What an accelerator does in a step of a language model, adapters next to it or not."""
    each = round(constant("performance.mfu.sequences_per_chip", "sequences"))
    batch, length = what.get("global_batch", each * accelerators), what["sequence_tokens"]
    arguments = model_step(what["model"], chip, what["precision"])
    if what.get("adapters"):
        arguments = adapted(arguments)
    layout = planned(chip, accelerators, batch, length, arguments)
    step = values({name: node for name, node in arguments.items() if name not in OUTSIDE_STEP})
    laid = {name: getattr(layout, name) for name in LAYOUT if name != "ep" or "experts" in arguments}
    run = {"accelerators": accelerators, "global_batch": batch, "sequence_tokens": length}
    took = training_step_s(**step_bundles({**run, **step, **laid}))
    compute = training_compute_use_fraction(
        parameters=constant(f"model.{what['model']}.parameters", "parameters"),
        recompute=layout.recompute,
        global_batch=batch,
        sequence_tokens=length,
        accelerators=accelerators,
        step_s=took.total_s,
        peak_tflop_per_s=step["attention_tflop_per_s"],
        adapter_parameters=step.get("adapter_parameters", 0.0),
    )
    return {
        "computing_s": float(took.matrix_s + took.attention_s + took.head_s),
        "moving_s": float(took.elementwise_s + took.optimizer_s),
        "total_s": float(took.total_s),
        "compute_use_fraction": float(compute),
        "memory_efficiency_fraction": step["memory_efficiency_fraction"],
    }


def _recommendation_parts(chip: str, accelerators: int, what: Mapping[str, Any]) -> dict[str, float]:
    """What an accelerator does in a step of a recommendation model."""
    batch = what["global_batch"]
    took = recommendation_step(what["model"], chip, accelerators, batch)
    rate = batch / float(took.total_s)
    return {
        "computing_s": float(took.dense_s),
        "moving_s": float(took.embedding_s + took.optimizer_s),
        "total_s": float(took.total_s),
        "compute_use_fraction": recommendation_compute_use_fraction(what["model"], chip, accelerators, rate),
        "memory_efficiency_fraction": constant("performance.recommendation.memory_efficiency", "fraction"),
    }


@BOOK.takes("node_power_serve", unit="kW", subject=POWER)
def node_serving(
    *, workload: str, node: str, tokens_per_s: float | None = None, samples_per_s: float | None = None
) -> float:
    """Power of a node at its plug that serves a benchmark at a stated rate, or at the best of our own.

    A node that is said to be in MaxQ has the power limit on its accelerators that was published for it, or
    the mean of those that were published where its own was not.
    """
    (benchmark, scenario), sku = _served(workload), _sku(node)
    accelerators = constant(f"server.{sku.server}.accelerators", "accelerators")
    pictures = benchmark in ("stable-diffusion-xl", "retinanet")
    scored = benchmark.startswith("dlrm")
    if tokens_per_s is None and samples_per_s is None:
        system = {"benchmark": benchmark, "scenario": scenario, "gpu": sku.accelerator}
        rate_of = serve_benchmark if pictures or scored else serve_system
        unit = "samples/s" if pictures or scored or benchmark == "whisper" else "1/s"
        best = rate_of(**system, accelerators=round(accelerators))[unit]
        tokens_per_s, samples_per_s = (None, best) if unit == "samples/s" else (best, None)
    if pictures or scored:
        if samples_per_s is None:
            raise NotUnderstood(f"'{workload}' needs samples_per_s")
        seen = detection_uses if benchmark == "retinanet" else image_uses
        uses_of = query_uses if scored else seen
        uses, law = uses_of(sku.accelerator, accelerators, samples_per_s), ""
    elif benchmark == "whisper":
        rates = {"tokens_per_s": tokens_per_s, "samples_per_s": samples_per_s}
        uses, law = speech_uses(sku.accelerator, accelerators, **rates), ""
    else:
        uses = served_uses(
            benchmark, sku.accelerator, accelerators, tokens_per_s=tokens_per_s, samples_per_s=samples_per_s
        )
        precision = filed_precision(None, sku.accelerator, benchmark)
        law = served_law(sku.accelerator, catalogue_name("model", benchmark), precision)
    if pictures:
        one = generation_kw(sku.accelerator, "image", **uses)
    else:
        one = accelerator_kw(sku.accelerator, **uses, law=law)
    if _words(node)[1]:
        limit = f"benchmark.{benchmark}.maxq_limit"
        if load_catalogue().has(limit):
            cap_kw = constant(limit, "cap_kw")
        else:
            share = constant("performance.power_cap.efficient_limit", "cap_fraction")
            cap_kw = share * constant(f"accelerator.{sku.accelerator}.tdp", "tdp_kw")
        one = float(capped_power_kw(power_kw=one, cap_kw=cap_kw))
    return _node_kw(node, one)


def _served(workload: str) -> tuple[str, str]:
    """Benchmark and scenario of a workload such as "llama2-70b Offline".

    Raises:
        NotUnderstood: no such benchmark or scenario.
    """
    words, _, scenario = workload.rpartition(" ")
    name = str(alias_of("benchmark", words) or words)
    known = (*load_catalogue().names("benchmark", "output_tokens"), *SCORED_OR_DRAWN)
    if scenario not in SCENARIOS or name not in known:
        raise NotUnderstood(
            f"no serving model of the workload '{workload}': a benchmark of {', '.join(known)}, "
            f"then one of {', '.join(SCENARIOS)}"
        )
    return name, scenario


@BOOK.takes("run_energy", unit="kWh", subject=POWER)
def run_energy(*, workload: str, node: str, nodes: int, duration_h: float) -> float:
    """Energy of the nodes of a run."""
    one = node_training(workload=workload, node=node, nodes=nodes)
    return float(energy_kwh(power_kw=nodes * one, duration_h=duration_h))


def _node_kw(node: str, accelerator_kw: float) -> float:
    """Power of a node whose accelerators draw so much each, cooled as its name says or as it is sold."""
    sku = _sku(node)
    cooling = _words(node)[0].rpartition(", ")[2]
    facts = host_facts(load_catalogue().fact, sku, cooling if cooling in COOLING else "")
    host = {name: constant(fact.key, name) for name, fact in facts.items()}
    return float(
        node_power_kw(
            host_kw=host_at_load_kw(accelerator_kw=accelerator_kw, **host),
            accelerators=constant(f"server.{sku.server}.accelerators", "accelerators"),
            accelerator_kw=accelerator_kw,
        )
    )


def with_cooling(inputs: Mapping[str, Any], source: str) -> dict[str, Any]:
    """A row that names a node and not its cooling, with that of the system that its source names."""
    found = [cooling for system, cooling in aliases("cooling").items() if system in source]
    node = inputs.get("node")
    if not found or not isinstance(node, str) or _words(node)[0].rpartition(", ")[2] in COOLING:
        return dict(inputs)
    words, capped = _words(node)
    return {**inputs, "node": f"{words}, {found[0]}{CAPPED if capped else ''}"}


def _words(node: str) -> tuple[str, bool]:
    """A node's name without its limit, and whether it has one."""
    return node.removesuffix(CAPPED), node.endswith(CAPPED)


def _sku(node: str) -> Sku:
    words, _ = _words(node)
    bare, _, cooling = words.rpartition(", ")
    uncooled = bare if cooling in COOLING else words
    skus = load_catalogue().skus
    name = alias_of("sku", words) or alias_of("sku", uncooled) or (uncooled if uncooled in skus else None)
    found = _counted_sku(uncooled) if name is None else skus.get(name)
    if found is None:
        raise NotUnderstood(f"no node '{node}': known are {', '.join((*aliases('sku'), *skus))}")
    return found


def _counted_sku(node: str) -> Sku | None:
    """The node that holds so many accelerators of a name: '8xH200-SXM-141GB' and 'DGX H200' are 'h200-8'.

    What follows a comma says how it is cooled: a way that is not known is another node.
    """
    counted = re.fullmatch(r"(\d+) ?[x×] ?([^,]+)", re.sub(r"^[DH]GX ", "8x ", node), re.IGNORECASE)
    catalogue = load_catalogue()
    chip = accelerator_called(counted[2], catalogue) if counted else None
    if counted is None or chip is None:
        return None
    held = (
        sku
        for sku in (catalogue.skus[name] for name in catalogue.sold)
        if sku.accelerator == chip
        and constant(f"server.{sku.server}.accelerators", "accelerators") == float(counted[1])
    )
    return next(held, None)
