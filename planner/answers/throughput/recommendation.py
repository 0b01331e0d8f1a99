"""Recommendation models: training on nodes whose accelerators share the tables, and scoring in 8 bits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from planner.answers.throughput.costs import delivered
from planner.answers.throughput.equations import (
    kept_values,
    mean_width,
    multiplied_use_fraction,
    rank_samples,
    row_state_bytes,
)
from planner.answers.throughput.setting import Setting, Table, every_size, ranged, worst
from planner.answers.throughput.single_device import peak_of, reached_fraction
from planner.performance.bundles import ranking_bundles
from planner.performance.power import moving_s, training_power_kw
from planner.performance.recommendation import recommendation_memory_gb, recommendation_training_step
from planner.performance.throughput import exposed_communication_fraction, samples_per_s
from planner.physics.equations.training import accelerators_in_use
from planner.physics.nodes import host_columns, power_curve, working_node_kw
from planner.physics.recommendation_step import CHIP, SHAPE, recommendation_arguments
from planner.physics.requests import given
from planner.physics.training_options import link_domain
from planner.trace.numbers import count_text
from planner.trace.quantities import Parts, Traced, chosen, derive, derive_parts, pick, rows

BATCH = 65_536  # samples of a step where none is requested
LAYERS = 3.0  # dense layers that share the weights where no width is published


def recommendation_table(setting: Setting, sizes: Sequence[int]) -> Table:
    """Every SKU at every size whose memory holds the tables, or what they lack."""
    question, inputs = setting.question, setting.inputs
    batch = question.batch or BATCH
    listed, place, sku_at, nodes_at = every_size(setting, sizes)
    about = {"batch": batch}
    if not len(place):
        return Table("samples", listed, [], {}, about, _notes())
    memory, columns = _columns(setting, batch, sku_at, nodes_at)
    usable = setting.fact("performance.training.usable_memory").value
    room = usable * np.asarray(inputs.of_sku(inputs.accelerator("memory"), sku_at).value)
    fits = np.asarray(memory.value) <= room
    for row_at, needed, has in zip(place[~fits], memory.value[~fits], room[~fits], strict=True):
        listed[row_at]["reason"] = (
            f"tables and activations need {count_text(needed)} GB of {count_text(has)} GB that are usable"
        )
    for row_at in place[fits]:
        listed[row_at] |= {
            "fits": True,
            "batch": batch,
            "layout": "tables cut across all chips, layers copied",
        }
    index = np.flatnonzero(fits)
    kept = {name: rows(column, index) for name, column in columns.items()}
    return Table("samples", listed, [int(i) for i in place[fits]], kept, about, _notes()).filled()


def _arguments(setting: Setting, sku: NDArray[np.intp]) -> dict[str, Traced]:
    """Arguments of the step as columns; what is the same on every SKU stays one node."""
    inputs = setting.inputs
    each = [
        {
            **recommendation_arguments(
                inputs, setting.question.model, one.accelerator, setting.catalogue.link(one.accelerator)
            ),
            "link_domain": link_domain(inputs, k),
        }
        for k, one in enumerate(inputs.skus)
    ]
    return {
        name: first if all(one[name] is first for one in each) else pick([one[name] for one in each], sku)
        for name, first in each[0].items()
    }


def _columns(
    setting: Setting, batch: int, sku: NDArray[np.intp], nodes_at: NDArray[np.intp]
) -> tuple[Traced, dict[str, Traced]]:
    """Memory of an accelerator, and what each size delivers and draws."""
    inputs, fact = setting.inputs, setting.fact
    nodes = chosen("nodes", nodes_at.astype(float), "enumerated: a size to look at")
    per_node = inputs.of_sku(inputs.server("accelerators"), sku)
    accelerators = derive(accelerators_in_use, nodes=nodes, accelerators=per_node)
    samples = given("batch", float(batch), "1")
    each = derive(rank_samples, global_batch=samples, accelerators=accelerators)
    peak = peak_of(setting, sku, setting.question.precision)
    arguments = _arguments(setting, sku)
    shape = {name: arguments[name] for name in SHAPE}
    constants = {name: node for name, node in arguments.items() if name not in (*SHAPE, *CHIP)}
    step = derive_parts(
        recommendation_training_step,
        **ranking_bundles(
            {
                "global_batch": samples,
                "accelerators": accelerators,
                "peak_tflop_per_s": peak,
                "matrix_efficiency_fraction": reached_fraction(setting, sku, layer_width(setting), each),
                **arguments,
            }
        ),
    )
    rate = derive(samples_per_s, global_batch=samples, step_s=step.total_s)
    node_kw = _node_kw(setting, sku, step, {**shape, **constants}, rate, accelerators, peak)
    none = chosen("expert_parallel_s", 0.0, "no such exchange")
    exposed = derive(
        exposed_communication_fraction,
        tensor_parallel_s=step.exposed_communication_s,
        expert_parallel_s=none,
        weight_gather_s=none,
        pipeline_transfer_s=none,
        data_parallel_s=none,
        total_s=step.total_s,
    )
    error = worst(fact("performance.recommendation.rate_error"), "the worst of the MLPerf rows")
    columns = ranged(rate, error) | {
        "step_s": step.total_s,
        "exposed_fraction": exposed,
        "node_kw": node_kw,
        **delivered(setting, sku, rate=rate, nodes=nodes, node_kw=node_kw),
    }
    return _memory(setting, shape, constants, each, accelerators), columns


def layer_width(setting: Setting) -> Traced:
    """Width of the dense layers: as published, or that of square layers with as many weights."""
    own = f"recommendation.{setting.question.model}"
    if setting.catalogue.has(f"{own}.width"):
        return setting.fact(f"{own}.width")
    layers = chosen("layers", LAYERS, "as many layers share the weights")
    return derive(mean_width, weights=setting.fact(f"{own}.dense_parameters"), layers=layers)


def _memory(
    setting: Setting,
    shape: dict[str, Traced],
    constants: dict[str, Traced],
    each: Traced,
    accelerators: Traced,
) -> Traced:
    state = derive(
        row_state_bytes,
        backward_traffic_ratio=constants["backward_traffic_ratio"],
        embedding_dim=shape["embedding_dim"],
        table_bytes=constants["table_bytes"],
    )
    kept = derive(
        kept_values, **{name: shape[name] for name in ("tables", "embedding_dim", "elementwise_values")}
    )
    return derive(
        recommendation_memory_gb,
        embedding_rows=setting.fact(f"recommendation.{setting.question.model}.embedding_rows"),
        embedding_dim=shape["embedding_dim"],
        table_bytes=constants["table_bytes"],
        row_state_bytes=state,
        dense_parameters=shape["dense_parameters"],
        dense_state_bytes=setting.fact("performance.training.optimizer_bytes_per_parameter"),
        samples=each,
        sample_values=kept,
        value_bytes=constants["value_bytes"],
        accelerators=accelerators,
    )


def _node_kw(
    setting: Setting,
    sku: NDArray[np.intp],
    step: Parts,
    arguments: dict[str, Traced],
    rate: Traced,
    accelerators: Traced,
    peak: Traced,
) -> Traced:
    """Power of a node, from what the step uses of memory and units; lookups are what memory works on."""
    inputs = setting.inputs
    compute = derive(
        multiplied_use_fraction,
        samples_per_s=rate,
        accelerators=accelerators,
        peak_tflop_per_s=peak,
        **{name: arguments[name] for name in ("bottom_multiplications", "top_multiplications")},
    )
    busy = derive(
        training_power_kw,
        tdp_kw=inputs.of_sku(inputs.accelerator("tdp"), sku),
        computing_s=step.dense_s,
        moving_s=derive(moving_s, elementwise_s=step.embedding_s, optimizer_s=step.optimizer_s),
        total_s=step.total_s,
        compute_use_fraction=compute,
        memory_efficiency_fraction=arguments["memory_efficiency_fraction"],
        exchange_power_fraction=setting.fact("performance.power.exchange"),
        **power_curve(inputs, sku),
    )
    return working_node_kw(host_columns(inputs, sku), inputs.of_sku(inputs.server("accelerators"), sku), busy)


def _notes() -> list[str]:
    return ["Reading of training data and stragglers are left out; boards without fast links are slower."]
