"""What a node does for a pool in a second: tokens trained on, prompts answered, rollouts written and used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Pool, Problem, ScenarioError
from planner.performance.adapters import training_flops_ratio
from planner.performance.layouts import Layout, NoLayout
from planner.physics.full_replicas import FullNode, full_nodes, why_none_answers
from planner.physics.nodes import POWER_CURVE, host_facts, idle_node_items, working_node_kw
from planner.physics.pool_ways import FASTER_STEPS, LESS_WORK, applies, energy_ratio, pool_ratio
from planner.physics.power_caps import Modes, slowed
from planner.physics.run_speed import throughput, training_accelerator_kw
from planner.physics.techniques import lowered_kw
from planner.physics.training_options import (
    FREELY,
    LAYOUT,
    Mode,
    adapters_of,
    modes,
    searched,
    training_arguments,
)
from planner.physics.training_step import Workload
from planner.trace.columns import Column
from planner.trace.quantities import Traced, chosen, derive


@dataclass(frozen=True, slots=True)
class NodeWork:
    """What one node does in a second (tokens, prompts or rollouts), and its power meanwhile."""

    rate_per_s: Traced
    busy_kw: Traced


def step_rollouts_per_s(
    *,
    node_items_per_s: Column,
    step_rollouts: Column,
    nodes: Column,
    longest_tokens: Column,
    alone_s: Column,
) -> Column:
    """Rollouts that a node writes in a second where every step waits for its longest one.

    n/(N x') = n/(N x) + l t_1

    n rollouts begin at once on N nodes. After as long as replicas that are always full would take for all of
    them, one of l tokens may still have its whole length to go, alone, at t_1 a token.

    Source: bound of list scheduling, Graham, "Bounds on multiprocessing timing anomalies", SIAM J. Appl.
    Math. 17, 1969: work over machines, and the longest job.
    """
    each_s = 1.0 / np.asarray(node_items_per_s) + longest_tokens * alone_s * nodes / step_rollouts
    return 1.0 / each_s


def rollouts_per_s(
    *,
    writing_per_s: Column,
    node_tokens_per_s: Column,
    trained_tokens: Column,
    reference_passes: Column,
    step_passes: Column,
    overhead_ratio: Column,
) -> Column:
    """Rollouts that a node writes and trains on in a second.

    1/x = o (1/x_r + L (1 + k/f) / x_t)

    x_r are the rollouts that it writes, L the tokens of one that are trained on, x_t the rate of training, k
    passes forward that score them, each one of the f passes of a training step, o what a step takes over its
    phases. Nodes that write next to nodes that train take as many node-hours as the same nodes in turn; what
    the first spare is the wait for the longest rollout.

    Source: phases of a step as NeMo RL reports them: generation, log-probabilities, policy training.
    """
    writing_s = 1.0 / np.asarray(writing_per_s)
    training_s = trained_tokens * (1.0 + np.divide(reference_passes, step_passes)) / node_tokens_per_s
    return 1.0 / (overhead_ratio * (writing_s + training_s))


def mean_kw(
    *, writing_kw: Column, training_kw: Column, writing_per_s: Column, rollouts_per_s: Column
) -> Column:
    """Power of a node that writes rollouts for a part of the time and trains in the rest.

    P = f P_w + (1 - f) P_t,  f = x / x_r

    The overhead of a step draws as training does.

    Source: time average.
    """
    share = np.divide(rollouts_per_s, writing_per_s)
    return share * writing_kw + (1.0 - share) * training_kw


def node_work(
    inputs: Inputs, pool: Pool, techniques: tuple[str, ...] = (), mode: Mode = FREELY
) -> dict[int, NodeWork | str]:
    """What a node of each SKU that a pool may use does, or why it does nothing; the reference among them.

    With techniques, only the SKUs on which each of them is in scope; in a mode, those that can be run in it.
    """
    names = [sku.name for sku in inputs.skus]
    wanted = [
        k
        for k, name in enumerate(names)
        if not inputs.skus[k].spare_of
        and (not pool.skus or name in (*pool.skus, pool.reference))
        and (not techniques or applies(inputs, pool, techniques, k))
        and (mode == FREELY or mode in modes(inputs, pool, k))
    ]
    if not wanted:
        return {}
    writing = full_nodes(inputs, pool, wanted, techniques, mode) if pool.answers or pool.rolls_out else {}
    if pool.answers:
        return {
            k: one if isinstance(one, str) else NodeWork(one.rate_per_s, one.busy_kw)
            for k, one in writing.items()
        }
    layouts = pool_layouts(inputs, pool, wanted)
    training = {
        k: found
        if isinstance(found, str)
        else _faster(inputs, techniques, k, _trained(inputs, pool, k, found, mode))
        for k, found in layouts.items()
    }
    found = {
        k: _rolled_out(inputs, pool, writing[k], training[k]) if pool.rolls_out else training[k]
        for k in wanted
    }
    return {k: one if isinstance(one, str) else _less(inputs, techniques, one) for k, one in found.items()}


def _faster(inputs: Inputs, techniques: tuple[str, ...], sku: int, trained: NodeWork) -> NodeWork:
    """Training with techniques: steps take less time, and draw less above idle."""
    if not techniques:
        return trained
    rate = (trained.rate_per_s * pool_ratio(inputs, techniques, FASTER_STEPS)).named("rate_per_s")
    less = energy_ratio(inputs, techniques)
    if less is None:
        return NodeWork(rate, trained.busy_kw)
    idle = idle_node_items(inputs)[sku]
    return NodeWork(rate, derive(lowered_kw, power_kw=trained.busy_kw, idle_kw=idle, reduction_ratio=less))


def _less(inputs: Inputs, techniques: tuple[str, ...], done: NodeWork) -> NodeWork:
    """Work with techniques of which there is less to do for the same result."""
    if not techniques:
        return done
    rate = (done.rate_per_s * pool_ratio(inputs, techniques, LESS_WORK)).named("rate_per_s")
    return NodeWork(rate, done.busy_kw)


def _rolled_out(
    inputs: Inputs, pool: Pool, writing: FullNode | str, training: NodeWork | str
) -> NodeWork | str:
    """Rollouts that a node writes and trains on, or why it cannot do both."""
    if isinstance(writing, str) or isinstance(training, str):
        return writing if isinstance(writing, str) else str(training)
    where = f"pools.{pool.name}"
    wasted: Traced = chosen("wasted_fraction", 0.0, "all rollouts are trained on")
    if pool.wasted_fraction is not None:
        wasted = inputs.yours(f"{where}.wasted", pool.wasted_fraction, "1")
    read, written = pool_lengths(inputs, pool)
    written_per_s = writing.rate_per_s
    if pool.mode != "asynchronous":
        samples, step, longest = (
            inputs.yours(f"{where}.{key}", float(value or 0.0), "1")
            for key, value in (
                ("samples", pool.samples),
                ("step_prompts", pool.step_prompts),
                ("longest_tokens", pool.longest_tokens),
            )
        )
        written_per_s = derive(
            step_rollouts_per_s,
            node_items_per_s=writing.rate_per_s,
            step_rollouts=(samples * step).named("step_rollouts"),
            nodes=_nodes_of_job(inputs, pool),
            longest_tokens=longest,
            alone_s=writing.alone_s,
        )
    rate = derive(
        rollouts_per_s,
        writing_per_s=written_per_s,
        node_tokens_per_s=training.rate_per_s,
        trained_tokens=((1.0 - wasted) * (read + written)).named(
            "trained_tokens",
            "Tokens of a rollout that are trained on, on average, kept or not",
        ),
        reference_passes=_reference_passes(inputs, pool),
        step_passes=_step_passes(inputs, pool),
        overhead_ratio=inputs.fact("post_training.overhead"),
    )
    busy = derive(
        mean_kw,
        writing_kw=writing.busy_kw,
        training_kw=training.busy_kw,
        writing_per_s=written_per_s,
        rollouts_per_s=rate,
    )
    return NodeWork(rate, busy)


def _nodes_of_job(inputs: Inputs, pool: Pool) -> Traced:
    """Nodes on which a job trains together: as stated, or one."""
    if pool.job_nodes is None:
        return chosen("nodes", 1.0, "a job stays on one node")
    return inputs.yours(f"pools.{pool.name}.job_nodes", float(pool.job_nodes), "1")


def _reference_passes(inputs: Inputs, pool: Pool) -> Traced:
    """Passes forward that score each token that is trained on."""
    if pool.reference_passes is not None:
        return inputs.yours(f"pools.{pool.name}.reference_passes", pool.reference_passes, "1")
    return inputs.fact("post_training.reference_passes")


def _step_passes(inputs: Inputs, pool: Pool) -> Traced:
    """Passes of one training step in units of one forward, by what is trained."""
    none = chosen("adapter_parameters", 0.0, "all weights are trained")
    return derive(training_flops_ratio, **{"adapter_parameters": none} | _adapters(inputs, pool))


def pool_lengths(inputs: Inputs, pool: Pool) -> tuple[Traced, Traced]:
    """Tokens in and out of a prompt of a pool."""
    where = f"pools.{pool.name}"
    return (
        inputs.yours(f"{where}.tokens_in", float(pool.tokens_in or 0.0), "1"),
        inputs.yours(f"{where}.tokens_out", float(pool.tokens_out or 0.0), "1"),
    )


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
    if (pool.answers or pool.rolls_out) and (reason := why_none_answers(inputs, pool, sku)):
        return reason
    if pool.answers:
        return ""
    found = pool_layouts(inputs, pool, [sku])[sku]
    return found if isinstance(found, str) else ""


def pool_layouts(inputs: Inputs, pool: Pool, skus: list[int]) -> dict[int, Layout | str]:
    """Layout of the nodes of a job in which each SKU trains a pool's model, or why there is none.

    What does not fit is shown by the nodes of a job: it has no further one to shard over.
    """
    work = pool_workload(inputs, pool)
    return {k: _on_its_nodes(inputs, pool, work, k) for k in skus}


def pool_workload(inputs: Inputs, pool: Pool) -> Workload:
    """A fine-tuning run that represents a pool's work."""
    sequence, batch = (int(fact.value) for fact in _step_sizes(inputs, pool))
    return Workload(pool.model, pool.number_format, sequence, batch)


def _step_sizes(inputs: Inputs, pool: Pool) -> tuple[Traced, Traced]:
    """Tokens of a sequence and sequences of a step: as stated, or what is usual."""
    sequence: Traced = inputs.fact("pool.sequence_tokens")
    batch: Traced = inputs.fact("pool.batch_sequences")
    if pool.sequence_tokens is not None:
        sequence = inputs.yours(f"pools.{pool.name}.sequence_tokens", float(pool.sequence_tokens), "1")
    if pool.batch_sequences is not None:
        batch = inputs.yours(f"pools.{pool.name}.batch_sequences", float(pool.batch_sequences), "1")
    return sequence, batch


def _adapters(inputs: Inputs, pool: Pool) -> dict[str, Traced]:
    return adapters_of(inputs, pool, f"pools.{pool.name}")


def _on_its_nodes(inputs: Inputs, pool: Pool, work: Workload, sku: int) -> Layout | str:
    found = searched(inputs, work, sku, pool.nodes_of_job, _adapters(inputs, pool))
    if not isinstance(found, NoLayout):
        return found
    if not np.isfinite(found.smallest_memory_gb):
        return found.reason
    accelerators = pool.nodes_of_job * int(inputs.server("accelerators")[sku].value)
    usable = inputs.fact("performance.training.usable_memory").value
    held = accelerators * inputs.accelerator("memory")[sku].value
    nodes, name = pool.nodes_of_job, inputs.skus[sku].name
    one = nodes == 1
    return (
        f"on {'one node' if one else f'{nodes} nodes'} it needs "
        f"{accelerators * found.smallest_memory_gb:,.0f} GB, and {name if one else f'{nodes} {name}'} "
        f"{'holds' if one else 'hold'} {held:,.0f} GB, of which {usable * held:,.0f} GB are usable; "
        f"{'runs of a pool stay on one node without job_nodes' if one else 'raise job_nodes'}"
    )


def _trained(inputs: Inputs, pool: Pool, sku: int, layout: Layout, mode: Mode) -> NodeWork:
    """Training rate and power of one of the nodes of a job on a pool's model."""
    arguments = training_arguments(inputs, pool.model, sku, pool.number_format)
    arguments |= _adapters(inputs, pool)
    for name in LAYOUT:
        arguments[name] = chosen(
            name, float(getattr(layout, name)), "the fastest layout of the nodes of a job that fits in memory"
        )
    arguments["sequence_tokens"], batch = _step_sizes(inputs, pool)
    arguments["global_batch"] = chosen(
        "global_batch", float(batch.value), "sequences of one step of such work"
    )
    count: Traced = inputs.server("accelerators")[sku]
    every = count
    if pool.nodes_of_job > 1:
        every = (_nodes_of_job(inputs, pool) * count).named("accelerators_in_use")
    step, rate = throughput(arguments, every)
    curve: dict[str, Traced] = {
        name: inputs.fact(f"performance.power.{inputs.skus[sku].power_curve}.{c}")
        for name, c in POWER_CURVE.items()
    }
    busy = training_accelerator_kw(
        inputs,
        arguments,
        step,
        every,
        inputs.fact(f"model.{pool.model}.parameters"),
        inputs.accelerator("tdp")[sku],
        curve,
    )
    busy, rate = slowed(inputs, Modes.alike(mode), np.array(sku), busy, rate)
    each = (rate * count).named("node_tokens_per_s", "Training rate of one node")
    if pool.reference_passes and not pool.rolls_out:
        each = (each / (1.0 + _reference_passes(inputs, pool) / _step_passes(inputs, pool))).named(
            "scored_tokens_per_s",
            "Training rate of a node whose tokens are also scored by weights that do not change",
        )
    return NodeWork(each, working_node_kw(host_facts(inputs.fact, inputs.skus[sku]), count, busy))
