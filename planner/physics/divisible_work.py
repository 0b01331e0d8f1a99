"""What a node does for a pool in a second, by the kind of its work: training tokens, or prompts answered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Pool, Problem, ScenarioError
from planner.performance.layouts import Layout, NoLayout
from planner.physics.full_replicas import full_nodes, why_none_answers
from planner.physics.nodes import POWER_CURVE, host_facts, working_node_kw
from planner.physics.training import throughput, training_accelerator_kw
from planner.physics.training_options import LAYOUT, searched, training_arguments
from planner.physics.training_step import Workload
from planner.trace.quantities import Traced, chosen, derive

Column = float | NDArray[Any]


@dataclass(frozen=True, slots=True)
class NodeWork:
    """What one node does in a second (training tokens, or items of the pool), and its power meanwhile."""

    rate_per_s: Traced
    busy_kw: Traced


def node_tokens_per_s(*, tokens_per_s_per_gpu: Column, accelerators: Column) -> Column:
    """Training rate of one node.

    x = x_gpu * a

    Source: definition.
    """
    return tokens_per_s_per_gpu * accelerators


def node_work(inputs: Inputs, pool: Pool) -> dict[int, NodeWork | str]:
    """What a node of each SKU that a pool may use does, or why it does nothing; the reference among them."""
    names = [sku.name for sku in inputs.skus]
    wanted = [k for k, name in enumerate(names) if not pool.skus or name in (*pool.skus, pool.reference)]
    if pool.answers:
        return {
            k: found if isinstance(found, str) else NodeWork(*found)
            for k, found in full_nodes(inputs, pool, wanted).items()
        }
    return {
        k: found if isinstance(found, str) else _trained(inputs, pool, k, found)
        for k, found in pool_layouts(inputs, pool, wanted).items()
    }


def check_pools(inputs: Inputs) -> None:
    """A pool's need is in hours of its reference node, which has to be able to do its work.

    Raises:
        ScenarioError: naming each pool whose reference does not.
    """
    scenario = inputs.scenario
    if problems := list(pool_problems(inputs)):
        raise ScenarioError(scenario.path.name if scenario.path else "scenario", problems)


def pool_problems(inputs: Inputs) -> Iterator[Problem]:
    """Each pool whose reference node cannot do its work."""
    names = [sku.name for sku in inputs.skus]
    for pool in inputs.scenario.pools:
        if reason := _why_not(inputs, pool, names.index(pool.reference)):
            said = ", ".join(_skus_that_can(inputs, pool)) or "no SKU of the catalogue"
            does = "answer with" if pool.answers else "train"
            yield Problem(
                f"pools.{pool.name}.reference",
                f"'{pool.reference}' cannot {does} {pool.model}: {reason}. It would fit on {said}",
            )


def _skus_that_can(inputs: Inputs, pool: Pool) -> list[str]:
    """SKUs of the catalogue of which one node does the pool's work."""
    able = []
    for name in inputs.catalogue.sold:
        other = pool.but(reference=name)
        alone = Inputs(inputs.scenario.but(pools=(other,)), inputs.catalogue)
        if not _why_not(alone, other, [sku.name for sku in alone.skus].index(name)):
            able.append(name)
    return able


def _why_not(inputs: Inputs, pool: Pool, sku: int) -> str:
    """Why a SKU cannot do the work of a pool; empty where it can."""
    if pool.answers:
        return why_none_answers(inputs, pool, sku)
    found = pool_layouts(inputs, pool, [sku])[sku]
    return found if isinstance(found, str) else ""


def pool_layouts(inputs: Inputs, pool: Pool, skus: list[int]) -> dict[int, Layout | str]:
    """Layout of one node in which each SKU trains a pool's model, or why there is none.

    What does not fit is shown by the whole node: a pool's runs have no second one to shard over.
    """
    work = pool_workload(inputs, pool)
    return {k: _on_one_node(inputs, work, k) for k in skus}


def pool_workload(inputs: Inputs, pool: Pool) -> Workload:
    """A fine-tuning run on one node that stands for a pool's work."""
    sequence, batch = (
        int(inputs.fact(f"pool.{name}").value) for name in ("sequence_tokens", "batch_sequences")
    )
    return Workload(pool.model, pool.precision, sequence, batch)


def _on_one_node(inputs: Inputs, work: Workload, sku: int) -> Layout | str:
    found = searched(inputs, work, sku, 1)
    if not isinstance(found, NoLayout):
        return found
    if not np.isfinite(found.smallest_memory_gb):
        return found.reason
    accelerators = int(inputs.server("accelerators")[sku].value)
    usable = inputs.fact("performance.training.usable_memory").value
    held = accelerators * inputs.accelerator("memory")[sku].value
    return (
        f"on one node it needs {accelerators * found.smallest_memory_gb:,.0f} GB, "
        f"and {inputs.skus[sku].name} holds {held:,.0f} GB, of which {usable * held:,.0f} GB are usable; "
        "runs of a pool stay on one node"
    )


def _trained(inputs: Inputs, pool: Pool, sku: int, layout: Layout) -> NodeWork:
    """Training rate and power of one node on a pool's model."""
    work = pool_workload(inputs, pool)
    arguments = training_arguments(inputs, work.model, sku, work.precision)
    for name in LAYOUT:
        arguments[name] = chosen(
            name, float(getattr(layout, name)), "the fastest layout of one node that fits in memory"
        )
    arguments["global_batch"] = chosen(
        "global_batch", float(work.batch_sequences), "sequences of one step of such work"
    )
    arguments["sequence_tokens"] = inputs.fact("pool.sequence_tokens")
    count = inputs.server("accelerators")[sku]
    step, rate = throughput(arguments, count)
    curve: dict[str, Traced] = {
        name: inputs.fact(f"performance.power.{inputs.skus[sku].power_curve}.{c}")
        for name, c in POWER_CURVE.items()
    }
    busy = training_accelerator_kw(
        inputs,
        arguments,
        step,
        count,
        inputs.fact(f"model.{work.model}.parameters"),
        inputs.accelerator("tdp")[sku],
        curve,
    )
    return NodeWork(
        rate_per_s=derive(node_tokens_per_s, tokens_per_s_per_gpu=rate, accelerators=count),
        busy_kw=working_node_kw(host_facts(inputs.fact, inputs.skus[sku]), count, busy),
    )
