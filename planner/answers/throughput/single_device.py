"""Work that each accelerator does alone (images, films, scored samples): every SKU at every size."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from planner.answers.throughput.costs import delivered
from planner.answers.throughput.equations import joint_efficiency_fraction, system_per_s
from planner.answers.throughput.setting import Index, Setting, Table, every_size, ranged
from planner.performance.power import accelerator_power_kw
from planner.performance.throughput import samples_per_s
from planner.performance.training import shape_efficiency_fraction
from planner.physics.equations.training import accelerators_in_use
from planner.physics.nodes import host_columns, power_curve, working_node_kw
from planner.physics.precisions import FORMATS
from planner.trace.numbers import count_text
from planner.trace.quantities import Traced, chosen, derive, pick, rows


@dataclass(frozen=True)
class Alone:
    """One accelerator at work on a batch, by SKU; memory that it needs, and by which it draws power."""

    memory_gb: Traced
    batch: Traced
    time_s: Traced
    memory_use: Traced
    compute_use: Traced
    error: Traced


def alone_table(
    setting: Setting,
    sizes: Sequence[int],
    work: Callable[[Setting, Index], Alone],
    held: Callable[[Setting, Traced, Index], Traced],
    *,
    unit: str,
    usable_fraction: float,
    notes: list[str],
) -> Table:
    """Rates of nodes whose accelerators work side by side, or what their memory lacks.

    `work` gives what one accelerator does, `held` its power where the law alone is not enough.
    """
    inputs = setting.inputs
    listed, place, sku_at, nodes_at = every_size(setting, sizes)
    if not len(place):
        return Table(unit, listed, [], {}, {"batch": 0}, notes)
    one = work(setting, sku_at)
    batch = int(np.max(one.batch.value))
    needed = np.broadcast_to(np.asarray(one.memory_gb.value), place.shape)
    room = usable_fraction * np.asarray(inputs.of_sku(inputs.accelerator("memory"), sku_at).value)
    fits = needed <= room
    for at, needs, has in zip(place[~fits], needed[~fits], room[~fits], strict=True):
        listed[at]["reason"] = (
            f"one accelerator needs {count_text(needs)} GB of {count_text(has)} GB that are usable"
        )
    for at in place[fits]:
        listed[at] |= {"fits": True, "batch": batch}
    index = np.flatnonzero(fits)
    columns = _columns(setting, sku_at, nodes_at, one, held) if len(index) else {}
    kept = {name: rows(column, index) for name, column in columns.items()}
    return Table(unit, listed, [int(i) for i in place[fits]], kept, {"batch": batch}, notes).filled()


def reached_fraction(setting: Setting, sku: Index, width: Traced, matrix_rows: Traced) -> Traced:
    """Share of the peak that dense layers reach, by the law fitted on language models."""
    shape = derive(
        shape_efficiency_fraction,
        hidden=width,
        rank_tokens=matrix_rows,
        tp=chosen("tp", 1.0, "layers are copied, not split"),
        hidden_half_width=setting.fact("performance.training.hidden_half_width"),
        tokens_half=setting.fact("performance.training.tokens_half"),
    )
    chip = setting.inputs.of_sku(setting.inputs.accelerator("matrix_efficiency"), sku)
    return derive(joint_efficiency_fraction, matrix_efficiency_fraction=chip, shape_efficiency_fraction=shape)


def peak_of(setting: Setting, sku: Index, precision: str) -> Traced:
    """Dense peak of each row at a precision that its accelerator has."""
    used, place = np.unique(sku, return_inverse=True)
    chips = [setting.inputs.skus[k].accelerator for k in used]
    return pick([setting.fact(f"accelerator.{chip}.{FORMATS[precision].peak}_peak") for chip in chips], place)


def _columns(
    setting: Setting,
    sku: Index,
    nodes_at: Index,
    one: Alone,
    held: Callable[[Setting, Traced, Index], Traced],
) -> Mapping[str, Traced]:
    """What each size delivers and draws."""
    inputs = setting.inputs
    nodes = chosen("nodes", nodes_at.astype(float), "enumerated: a size to look at")
    per_node = inputs.of_sku(inputs.server("accelerators"), sku)
    accelerators = derive(accelerators_in_use, nodes=nodes, accelerators=per_node)
    each = derive(samples_per_s, global_batch=one.batch, step_s=one.time_s)
    rate = derive(system_per_s, rate_per_s_per_gpu=each, accelerators=accelerators)
    law = derive(
        accelerator_power_kw,
        tdp_kw=inputs.of_sku(inputs.accelerator("tdp"), sku),
        memory_use_fraction=one.memory_use,
        compute_use_fraction=one.compute_use,
        **power_curve(inputs, sku),
    )
    node_kw = working_node_kw(host_columns(inputs, sku), per_node, held(setting, law, sku))
    return ranged(rate, one.error) | {
        "step_s": one.time_s,
        "node_kw": node_kw,
        **delivered(setting, sku, rate=rate, nodes=nodes, node_kw=node_kw),
    }
