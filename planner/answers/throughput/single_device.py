"""Work that each accelerator does alone (images, films, scored samples): every SKU at every size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from planner.answers.throughput.costs import delivered
from planner.answers.throughput.setting import Setting, Table, every_size, ranged, worst
from planner.performance.power import accelerator_power_kw, generation_power_kw
from planner.performance.throughput import samples_per_s
from planner.physics.batch_work import BatchWork, batch_work, items_together, makes_images, power_law
from planner.physics.nodes import host_columns, working_node_kw
from planner.physics.requests import given
from planner.trace.columns import Indices
from planner.trace.numbers import count_text
from planner.trace.quantities import Traced, chosen, derive, rows


def alone_table(setting: Setting, sizes: Sequence[int], *, unit: str, error: str, notes: list[str]) -> Table:
    """Rates of nodes whose accelerators work side by side, or what their memory lacks.

    `error` says of what the error of the rates is the worst.
    """
    inputs, question = setting.inputs, setting.question
    listed, place, sku_at, nodes_at = every_size(setting, sizes)
    if not len(place):
        return Table(unit, listed, [], {}, {"batch": 0}, notes)
    items: Traced = items_together(inputs, question.model)
    if question.batch is not None:
        items = given("batch", float(question.batch), "1")
    one = batch_work(inputs, question.model, question.precision, sku_at, items)
    batch = int(np.max(one.batch.value))
    needed = np.broadcast_to(np.asarray(one.memory_gb.value), place.shape)
    usable_fraction = setting.fact("performance.serving.usable_memory").value
    room = usable_fraction * np.asarray(inputs.of_sku(inputs.accelerator("memory"), sku_at).value)
    fits = needed <= room
    for at, needs, has in zip(place[~fits], needed[~fits], room[~fits], strict=True):
        listed[at]["reason"] = (
            f"one accelerator needs {count_text(needs)} GB of {count_text(has)} GB that are usable"
        )
    for at in place[fits]:
        listed[at] |= {"fits": True, "batch": batch}
    index = np.flatnonzero(fits)
    columns = _columns(setting, sku_at, nodes_at, one, worst(one.error, error)) if len(index) else {}
    kept = {name: rows(column, index) for name, column in columns.items()}
    return Table(unit, listed, [int(i) for i in place[fits]], kept, {"batch": batch}, notes).filled()


def _columns(
    setting: Setting, sku: Indices, nodes_at: Indices, one: BatchWork, error: Traced
) -> Mapping[str, Traced]:
    """What each size delivers and draws."""
    inputs = setting.inputs
    nodes = chosen("nodes", nodes_at.astype(float), "enumerated: a size to look at")
    per_node = inputs.of_sku(inputs.server("accelerators"), sku)
    accelerators = (nodes * per_node).named("accelerators_in_use")
    each = derive(samples_per_s, global_batch=one.batch, step_s=one.time_s)
    rate = (each * accelerators).named("system_per_s", "Rate of a whole system")
    generates = makes_images(inputs, setting.question.model)
    drawn = derive(
        generation_power_kw if generates else accelerator_power_kw,
        tdp_kw=inputs.of_sku(inputs.accelerator("tdp"), sku),
        memory_use_fraction=one.memory_use,
        compute_use_fraction=one.compute_use,
        **power_law(inputs, setting.question.model, sku),
    )
    node_kw = working_node_kw(host_columns(inputs, sku), per_node, drawn)
    return ranged(rate, error) | {
        "step_s": one.time_s,
        "node_kw": node_kw,
        **delivered(setting, sku, rate=rate, nodes=nodes, node_kw=node_kw),
    }
