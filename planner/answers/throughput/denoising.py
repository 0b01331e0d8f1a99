"""Training of models that make images or films: nodes whose accelerators each take samples of their own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planner.answers.throughput.costs import delivered
from planner.answers.throughput.setting import Setting, Table, every_size, ranged, worst
from planner.inputs.model_kinds import item_of
from planner.performance.throughput import exposed_communication_fraction
from planner.physics.denoiser_training import HELD, denoiser_columns, no_step, stages
from planner.physics.nodes import host_columns, working_node_kw
from planner.physics.requests import given
from planner.physics.training_options import cannot_train
from planner.trace.quantities import chosen, derive, rows

BATCH = 2048  # samples of a step, as Stable Diffusion was trained (its model card: 32 x 8 x 2 x 4)
NOTES = (
    "One noise level a sample: latents and texts are encoded beforehand, as the benchmarks do. What samples "
    "keep for the way back is left out, but for half of the memory. To make images or films: --serve."
)


def denoising_table(setting: Setting, sizes: Sequence[int]) -> Table:
    """Every SKU at every size with a sample for each accelerator and room for its share, or why not."""
    question, inputs = setting.question, setting.inputs
    batch = question.batch or BATCH
    unit, about, notes = item_of(setting.catalogue, question.model), {"batch": batch}, [NOTES]
    listed, place, sku, nodes_at = every_size(setting, sizes)
    trains = np.array([not cannot_train(inputs, k) for k in sku.tolist()], dtype=bool)
    for row_at, k in zip(place[~trains].tolist(), sku[~trains].tolist(), strict=True):
        listed[row_at]["reason"] = cannot_train(inputs, k)
    place, sku, nodes_at = place[trains], sku[trains], nodes_at[trains]
    if not len(place):
        return Table(unit, listed, [], {}, about, notes)
    nodes = chosen("nodes", nodes_at.astype(float), "enumerated: a size to look at")
    per_node = inputs.of_sku(inputs.server("accelerators"), sku)
    accelerators = (nodes * per_node).named("accelerators_in_use")
    found, drawn = denoiser_columns(
        inputs, question.model, question.precision, sku, given("batch", float(batch), "1"), accelerators
    )
    room = setting.fact("performance.training.usable_memory").value * np.asarray(
        inputs.of_sku(inputs.accelerator("memory"), sku).value
    )
    held = np.broadcast_to(np.asarray(found.held_gb.value), place.shape)
    stage = np.broadcast_to(stages(found), place.shape).tolist()
    works = []
    for i, row_at in enumerate(place.tolist()):
        each = int(accelerators.value[i])
        if reason := no_step(batch, each, float(held[i]), float(room[i])):
            listed[row_at]["reason"] = reason
            continue
        listed[row_at] |= {"fits": True, "batch": batch, "layout": HELD[stage[i]]}
        works.append(i)
    none = chosen("expert_parallel_s", 0.0, "no such exchange")
    exposed = derive(
        exposed_communication_fraction,
        tensor_parallel_s=none,
        expert_parallel_s=none,
        weight_gather_s=none,
        pipeline_transfer_s=none,
        data_parallel_s=found.step.exposed_communication_s,
        total_s=found.step.total_s,
    )
    node_kw = working_node_kw(host_columns(inputs, sku), per_node, drawn)
    error = worst(setting.fact("performance.diffusion.rate_error"), "the worst engine")
    columns = ranged(found.samples_per_s, error) | {
        "step_s": found.step.total_s,
        "exposed_fraction": exposed,
        "node_kw": node_kw,
        **delivered(setting, sku, rate=found.samples_per_s, nodes=nodes, node_kw=node_kw),
    }
    kept = {name: rows(column, np.array(works, dtype=np.intp)) for name, column in columns.items()}
    return Table(unit, listed, [int(place[i]) for i in works], kept if works else {}, about, notes).filled()
