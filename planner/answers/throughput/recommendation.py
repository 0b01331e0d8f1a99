"""Recommendation models: training on nodes whose accelerators share the tables, and scoring in 8 bits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from planner.answers.throughput.costs import delivered
from planner.answers.throughput.setting import Row, Setting, Table, ranged, worst
from planner.performance.throughput import exposed_communication_fraction
from planner.physics.equations.training import accelerators_in_use
from planner.physics.nodes import host_columns, working_node_kw
from planner.physics.requests import given
from planner.physics.sample_training import sample_step
from planner.trace.numbers import count_text
from planner.trace.quantities import Traced, chosen, derive, rows

BATCH = 65_536  # samples of a step where none is requested


def recommendation_table(setting: Setting, sizes: Sequence[int]) -> Table:
    """Every SKU at every size whose memory holds the tables, or what they lack."""
    question, inputs = setting.question, setting.inputs
    batch = question.batch or BATCH
    listed: list[Row] = []
    tried: list[tuple[int, int, int]] = []
    for k, sku in enumerate(inputs.skus):
        each = int(inputs.server("accelerators")[k].value)
        for nodes in sizes:
            row: Row = {"sku": sku.name, "nodes": nodes, "accelerators": nodes * each, "fits": False}
            if reason := setting.without_precision(k):
                row["reason"] = reason
            else:
                tried.append((len(listed), k, nodes))
            listed.append(row)
    place, sku_at, nodes_at = (np.array([one[i] for one in tried], dtype=np.intp) for i in range(3))
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


def _columns(
    setting: Setting, batch: int, sku: NDArray[np.intp], nodes_at: NDArray[np.intp]
) -> tuple[Traced, dict[str, Traced]]:
    """Memory of an accelerator, and what each size delivers and draws."""
    inputs, fact = setting.inputs, setting.fact
    nodes = chosen("nodes", nodes_at.astype(float), "enumerated: a size to look at")
    per_node = inputs.of_sku(inputs.server("accelerators"), sku)
    accelerators = derive(accelerators_in_use, nodes=nodes, accelerators=per_node)
    found = sample_step(
        inputs,
        setting.question.model,
        setting.question.precision,
        sku,
        accelerators,
        given("batch", float(batch), "1"),
    )
    step, rate = found.step, found.samples_per_s
    node_kw = working_node_kw(host_columns(inputs, sku), per_node, found.accelerator_kw)
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
    return found.memory_gb, columns


def _notes() -> list[str]:
    return ["Reading of training data and stragglers are left out; boards without fast links are slower."]
