"""Recommendation models: training on nodes whose accelerators share the tables, and scoring in 8 bits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from planner.answers.throughput.costs import delivered
from planner.answers.throughput.setting import Setting, Table, every_size, ranged, worst
from planner.inputs.embedding_tables import read_tables
from planner.inputs.scenario.schema_tables import Tables
from planner.inputs.scenario.table_files import of_another_model
from planner.performance.throughput import exposed_communication_fraction
from planner.physics.nodes import host_columns, working_node_kw
from planner.physics.placed_tables import imbalance_column, no_room
from planner.physics.requests import given
from planner.physics.sample_training import sample_step
from planner.program.placed_works import place_for_training
from planner.trace.errors import InputError
from planner.trace.numbers import count_text
from planner.trace.quantities import Traced, chosen, derive, rows

WORK = "question"  # whose tables are placed


def recommendation_table(setting: Setting, sizes: Sequence[int]) -> Table:
    """Every SKU at every size whose memory holds the tables, or what they lack."""
    question, inputs = setting.question, setting.inputs
    batch = question.batch or int(setting.fact("job.batch_samples").value)
    listed, place, sku_at, nodes_at = every_size(setting, sizes)
    about = {"batch": batch}
    if not len(place):
        return Table("samples", listed, [], {}, about, _notes())
    tables = _placed(setting, batch, sku_at, nodes_at)
    memory, columns = _columns(setting, batch, sku_at, nodes_at, tables)
    usable = setting.fact("performance.training.usable_memory").value
    room = usable * np.asarray(inputs.of_sku(inputs.accelerator("memory"), sku_at).value)
    fits = np.asarray(memory.value) <= room
    for row_at, needed, has in zip(place[~fits], memory.value[~fits], room[~fits], strict=True):
        listed[row_at]["reason"] = (
            f"tables and activations need {count_text(needed)} GB of {count_text(has)} GB that are usable"
        )
    if tables is not None:
        each = np.asarray(inputs.of_sku(inputs.server("accelerators"), sku_at).value, dtype=int) * nodes_at
        why = [
            no_room(inputs, tables, WORK, k, n) for k, n in zip(sku_at.tolist(), each.tolist(), strict=True)
        ]
        fits = np.array([not one for one in why], dtype=bool)
        for row_at, reason in zip(place.tolist(), why, strict=True):
            listed[row_at] |= {"reason": reason} if reason else {}
    layout = "tables cut across all chips" if tables is None else f"tables placed by {tables.file}"
    for row_at in place[fits]:
        listed[row_at] |= {"fits": True, "batch": batch, "layout": f"{layout}, layers copied"}
    index = np.flatnonzero(fits)
    kept = {name: rows(column, index) for name, column in columns.items()}
    return Table("samples", listed, [int(i) for i in place[fits]], kept, about, _notes()).filled()


def _placed(setting: Setting, batch: int, sku: NDArray[np.intp], nodes: NDArray[np.intp]) -> Tables | None:
    """The tables that the question names, placed on every size; None where it names none.

    Raises:
        InputError: the file is wrong, or of another model.
    """
    question, inputs = setting.question, setting.inputs
    if question.tables is None:
        return None
    held = tuple(read_tables(question.tables, question.table_set))
    if problem := of_another_model(held, question.tables.name, question.model, setting.catalogue):
        raise InputError(f"--tables: {problem}")
    part = Tables(file=question.tables.name, ways=question.table_ways or None)
    sizes = zip(sku.tolist(), nodes.tolist(), strict=True)
    place_for_training(inputs, WORK, (part, held), question.model, sizes, batch)
    return part


def _columns(
    setting: Setting,
    batch: int,
    sku: NDArray[np.intp],
    nodes_at: NDArray[np.intp],
    tables: Tables | None,
) -> tuple[Traced, dict[str, Traced]]:
    """Memory of an accelerator, and what each size delivers and draws."""
    inputs, fact = setting.inputs, setting.fact
    nodes = chosen("nodes", nodes_at.astype(float), "enumerated: a size to look at")
    per_node = inputs.of_sku(inputs.server("accelerators"), sku)
    accelerators = (nodes * per_node).named("accelerators_in_use")
    found = sample_step(
        inputs,
        setting.question.model,
        setting.question.precision,
        sku,
        accelerators,
        given("batch", float(batch), "1"),
        imbalance_column(inputs, tables, WORK, sku, np.asarray(accelerators.value)),
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
