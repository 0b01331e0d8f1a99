"""Adapters of node power, idle and in training."""

from __future__ import annotations

from carbon.energy import energy_kwh
from planner.catalogue import Sku, load_catalogue
from planner.performance.power import (
    node_power_kw,
    sustained_power_kw,
    training_compute_use_fraction,
    training_memory_use_fraction,
)
from planner.performance.training import training_step_s
from planner.validation.aliases import aliases, constant
from planner.validation.forms import Book, NotUnderstood
from planner.validation.serving import POWER, accelerator_kw
from planner.validation.steps import hardware, model_shape, modern_stack, planned

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
    )  # fmt: skip


@BOOK.takes("node_power_train", unit="kW", subject=POWER)
def node_training(*, workload: str, node: str, nodes: int) -> float:
    """Power of a node in training, from what the modelled step uses of compute and memory."""
    known = aliases("workload")
    if workload not in known:
        raise NotUnderstood(f"no step model of the workload '{workload}'")
    what, sku = known[workload], _sku(node)
    accelerators = round(constant(f"server.{sku.server}.accelerators", "accelerators"))
    gpus, shape = nodes * accelerators, model_shape(what["model"])
    dtype, batch, length = what["precision"], what["global_batch"], what["sequence_tokens"]
    layout = planned(sku.accelerator, gpus, batch, length, dtype, shape)
    chip, stack = hardware(sku.accelerator, dtype), modern_stack()
    names = ("tp", "pp", "interleave", "cp", "micro_batch", "recompute", "sharding")
    step = training_step_s(
        gpus=gpus, global_batch=batch, sequence_tokens=length, **shape, **chip, **stack,
        **{name: getattr(layout, name) for name in names},
    )  # fmt: skip
    memory = training_memory_use_fraction(
        elementwise_s=step.elementwise_s, optimizer_s=step.optimizer_s, total_s=step.total_s,
        memory_efficiency_fraction=stack["memory_efficiency_fraction"],
    )  # fmt: skip
    compute = training_compute_use_fraction(
        parameters=constant(f"model.{what['model']}.parameters", "parameters"), recompute=layout.recompute,
        global_batch=batch, sequence_tokens=length, gpus=gpus, step_s=step.total_s,
        peak_tflop_per_s=chip["matrix_tflop_per_s"],
    )  # fmt: skip
    host = constant(f"server.{sku.server}.host_power", "host_kw")
    one = sustained_power_kw(
        power_kw=accelerator_kw(sku.accelerator, float(memory), float(compute)),
        tdp_kw=constant(f"accelerator.{sku.accelerator}.tdp", "tdp_kw"),
        sustained_fraction=constant("performance.power.training", "sustained_fraction"),
    )
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
