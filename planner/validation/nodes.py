"""Adapters of node power: idle, in training, in serving."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from carbon.energy import energy_kwh
from planner.inputs.catalogue import Sku, load_catalogue
from planner.performance.adapters import adapter_parameters
from planner.performance.layouts import NoLayout, best_layout
from planner.performance.power import (
    capped_power_kw,
    node_power_kw,
    sustained_power_kw,
    training_compute_use_fraction,
    training_memory_use_fraction,
)
from planner.performance.throughput import exposed_communication_fraction
from planner.performance.training import training_step_s
from planner.validation.aliases import aliases, constant
from planner.validation.forms import Book, NotUnderstood
from planner.validation.recommendation import (
    MODELS,
    query_uses,
    recommendation_compute_use_fraction,
    recommendation_step,
)
from planner.validation.replicas import served_uses
from planner.validation.serving import POWER, accelerator_kw
from planner.validation.steps import hardware, model_shape, modern_stack

EXPOSED = (
    "tensor_parallel_s",
    "expert_parallel_s",
    "weight_gather_s",
    "pipeline_transfer_s",
    "data_parallel_s",
    "total_s",
)
CAPPED = " MaxQ"  # a node whose accelerators have a power limit set, as published for each benchmark

BOOK = Book({"minutes": ("duration_h", 1 / 60), "hours": ("duration_h", 1.0)})


@BOOK.takes("node_power_idle", unit="kW", subject=POWER, labels=("workload", "nodes"))
def node_idle(*, node: str) -> float:
    """Power of an idle node."""
    sku = _sku(node)
    return float(
        node_power_kw(
            host_kw=constant(f"server.{sku.server}.host_idle_power", "host_kw"),
            accelerators=constant(f"server.{sku.server}.accelerators", "accelerators"),
            accelerator_kw=constant(f"accelerator.{sku.accelerator}.idle_power", "accelerator_kw"),
        )
    )


@BOOK.takes("node_power_train", unit="kW", subject=POWER)
def node_training(*, workload: str, node: str, nodes: int) -> float:
    """Power of a node in training, from what the modelled step uses of compute and memory."""
    known = aliases("workload")
    if workload not in known:
        raise NotUnderstood(f"no step model of the workload '{workload}'")
    what, sku = known[workload], _sku(node)
    accelerators = round(constant(f"server.{sku.server}.accelerators", "accelerators"))
    uses = _recommendation_uses if what["model"] in MODELS else _language_uses
    used = uses(sku.accelerator, nodes * accelerators, what)
    one = sustained_power_kw(
        power_kw=accelerator_kw(sku.accelerator, **used, experts=False),
        tdp_kw=constant(f"accelerator.{sku.accelerator}.tdp", "tdp_kw"),
        sustained_fraction=constant("performance.power.training", "sustained_fraction"),
    )
    host = constant(f"server.{sku.server}.host_power", "host_kw")
    return float(node_power_kw(host_kw=host, accelerators=accelerators, accelerator_kw=one))


def _language_uses(chip: str, gpus: int, what: Mapping[str, Any]) -> dict[str, float]:
    """What an accelerator uses in a step of a language model, adapters next to it or not."""
    shape, batch, length = model_shape(what["model"]), what["global_batch"], what["sequence_tokens"]
    adapters = 0.0
    if what.get("adapters"):
        adapters = float(
            adapter_parameters(
                rank=constant("performance.adapter.rank", "rank"),
                **{part: shape[part] for part in ("hidden", "heads", "kv_heads")},
            )
        )
    stack: dict[str, Any] = {**modern_stack(), "adapter_parameters": adapters}
    step: dict[str, Any] = {**hardware(chip, what["precision"]), **stack}
    whole = {name: round(step[name]) for name in ("link_domain", "sequence_parallel", "fused_attention")}
    layout = best_layout(
        gpus=gpus,
        global_batch=batch,
        sequence_tokens=length,
        **{**shape, **step, **whole},
        memory_gb=constant(f"accelerator.{chip}.memory", "memory_gb"),
        usable_fraction=constant("performance.training.usable_memory", "usable_fraction"),
    )
    if isinstance(layout, NoLayout):
        raise NotUnderstood(layout.reason)
    names = ("tp", "pp", "interleave", "cp", "micro_batch", "recompute", "sharding")
    took = training_step_s(
        gpus=gpus,
        global_batch=batch,
        sequence_tokens=length,
        **shape,
        **step,
        **{name: getattr(layout, name) for name in names},
    )
    memory = training_memory_use_fraction(
        elementwise_s=took.elementwise_s,
        optimizer_s=took.optimizer_s,
        total_s=took.total_s,
        memory_efficiency_fraction=stack["memory_efficiency_fraction"],
    )
    compute = training_compute_use_fraction(
        parameters=constant(f"model.{what['model']}.parameters", "parameters"),
        recompute=layout.recompute,
        global_batch=batch,
        sequence_tokens=length,
        gpus=gpus,
        step_s=took.total_s,
        peak_tflop_per_s=step["attention_tflop_per_s"],
        adapter_parameters=adapters,
    )
    return {
        "memory_use_fraction": float(memory),
        "compute_use_fraction": float(compute),
        "exchange_fraction": float(
            exposed_communication_fraction(**{name: getattr(took, name) for name in EXPOSED})
        ),
    }


def _recommendation_uses(chip: str, gpus: int, what: Mapping[str, Any]) -> dict[str, float]:
    """What an accelerator uses in a step of a recommendation model."""
    batch = what["global_batch"]
    took = recommendation_step(what["model"], chip, gpus, batch)
    memory = training_memory_use_fraction(
        elementwise_s=took.embedding_s,
        optimizer_s=took.optimizer_s,
        total_s=took.total_s,
        memory_efficiency_fraction=constant("performance.recommendation.memory_efficiency", "fraction"),
    )
    compute = recommendation_compute_use_fraction(what["model"], chip, gpus, batch / float(took.total_s))
    return {
        "memory_use_fraction": float(memory),
        "compute_use_fraction": compute,
        "exchange_fraction": float(took.exposed_communication_s / took.total_s),
    }


@BOOK.takes("node_power_serve", unit="kW", subject=POWER)
def node_serving(
    *, workload: str, node: str, tokens_per_s: float | None = None, samples_per_s: float | None = None
) -> float:
    """Power of a node at its plug that serves a benchmark at a stated rate.

    A node that is said to be in MaxQ has the power limit on its accelerators that was published for it.
    """
    benchmark = aliases("serving_workload").get(workload)
    if benchmark is None:
        raise NotUnderstood(f"no serving model of the workload '{workload}'")
    capped = node.endswith(CAPPED)
    sku = _sku(node.removesuffix(CAPPED))
    accelerators = constant(f"server.{sku.server}.accelerators", "accelerators")
    if benchmark.startswith("dlrm"):
        if samples_per_s is None:
            raise NotUnderstood(f"'{workload}' needs samples_per_s")
        served = query_uses(sku.accelerator, accelerators, samples_per_s)
    else:
        served = served_uses(
            benchmark, sku.accelerator, accelerators, tokens_per_s=tokens_per_s, samples_per_s=samples_per_s
        )
    one = accelerator_kw(sku.accelerator, **served, experts=False)
    if capped:
        cap_kw = constant(f"benchmark.{benchmark}.maxq_limit", "cap_kw")
        one = float(capped_power_kw(power_kw=one, cap_kw=cap_kw))
    host = constant(f"server.{sku.server}.host_power", "host_kw")
    return float(node_power_kw(host_kw=host, accelerators=accelerators, accelerator_kw=one))


@BOOK.takes("run_energy", unit="kWh", subject=POWER)
def run_energy(*, workload: str, node: str, nodes: int, duration_h: float) -> float:
    """Energy of the nodes of a run."""
    one = node_training(workload=workload, node=node, nodes=nodes)
    return float(energy_kwh(power_kw=nodes * one, duration_h=duration_h))


def _sku(node: str) -> Sku:
    name = aliases("sku").get(node, node)
    skus = load_catalogue().skus
    if name not in skus:
        raise NotUnderstood(f"no node '{node}': known are {', '.join((*aliases('sku'), *skus))}")
    return skus[name]
