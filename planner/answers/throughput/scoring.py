"""Recommendation models that score: samples a second of nodes whose accelerators each hold every table."""

from __future__ import annotations

from collections.abc import Sequence

from planner.answers.throughput.equations import looked_up_gb, scored_parameters
from planner.answers.throughput.recommendation import layer_width
from planner.answers.throughput.setting import Index, Setting, Table, worst
from planner.answers.throughput.single_device import Alone, alone_table, peak_of, reached_fraction
from planner.performance.power import serving_compute_use_fraction, serving_memory_use_fraction
from planner.performance.recommendation import (
    dense_forward_s,
    embedding_forward_s,
    recommendation_batch_s,
    recommendation_memory_gb,
)
from planner.physics.requests import given
from planner.trace.quantities import Traced, chosen, derive

BATCH = 16_384  # samples scored together where none is requested


def scoring_table(setting: Setting, sizes: Sequence[int]) -> Table:
    """Every SKU at every size whose accelerators each hold all tables, or what they lack."""
    notes = [
        "At full load, in batches: a latency limit takes its share. Rows cached near the chip are left out."
    ]
    return alone_table(
        setting,
        sizes,
        _scorer,
        lambda _, power_kw, __: power_kw,
        unit="samples",
        usable_fraction=setting.fact("performance.serving.usable_memory").value,
        notes=notes,
    )


def _scorer(setting: Setting, sku: Index) -> Alone:
    """One accelerator that scores a batch."""
    inputs, fact, own = setting.inputs, setting.fact, f"recommendation.{setting.question.model}"
    batch = given("batch", float(setting.question.batch or BATCH), "1")
    size = fact("performance.recommendation.serving_bytes")
    peak = peak_of(setting, sku, setting.question.precision)
    memory = {
        "memory_gb_per_s": inputs.of_sku(inputs.accelerator("memory_bandwidth"), sku),
        "memory_efficiency_fraction": fact("performance.recommendation.memory_efficiency"),
    }
    reached = reached_fraction(setting, sku, layer_width(setting), batch)

    def dense(part: str, elementwise: Traced) -> Traced:
        return derive(
            dense_forward_s,
            samples=batch,
            multiplications=fact(f"{own}.{part}"),
            value_bytes=size,
            elementwise_values=elementwise,
            peak_tflop_per_s=peak,
            matrix_efficiency_fraction=reached,
            **memory,
        )

    rows = {"lookups": fact(f"{own}.lookups"), "embedding_dim": fact(f"{own}.embedding_dim")}
    none = chosen("elementwise_values", 0.0, "counted with the upper layers")
    time = derive(
        recommendation_batch_s,
        bottom_forward_s=dense("bottom", none),
        top_forward_s=dense("top", fact(f"{own}.elementwise")),
        embedding_forward_s=derive(
            embedding_forward_s,
            samples=batch,
            table_bytes=size,
            **rows,
            **memory,
            imbalance_ratio=chosen("imbalance_ratio", 1.0, "each accelerator holds every table"),
        ),
        all_to_all_s=chosen("all_to_all_s", 0.0, "each accelerator holds every table"),
    )
    held = derive(
        recommendation_memory_gb,
        embedding_rows=fact(f"{own}.embedding_rows"),
        table_bytes=size,
        embedding_dim=rows["embedding_dim"],
        dense_parameters=fact(f"{own}.dense_parameters"),
        row_state_bytes=chosen("row_state_bytes", 0.0, "nothing is trained"),
        dense_state_bytes=size,
        samples=batch,
        sample_values=fact(f"{own}.elementwise"),
        value_bytes=size,
        accelerators=chosen("accelerators", 1.0, "each accelerator holds every table"),
    )
    work = derive(scored_parameters, bottom=fact(f"{own}.bottom"), top=fact(f"{own}.top"))
    return Alone(
        memory_gb=held,
        batch=batch,
        time_s=time,
        memory_use=derive(
            serving_memory_use_fraction,
            step_s=time,
            memory_gb_per_s=memory["memory_gb_per_s"],
            touched_gb=derive(looked_up_gb, samples=batch, table_bytes=size, **rows),
            cache_read_gb=chosen("cache_read_gb", 0.0, "nothing is cached"),
        ),
        compute_use=derive(
            serving_compute_use_fraction,
            active_parameters=work,
            step_tokens=batch,
            step_s=time,
            tp=chosen("tp", 1.0, "layers are copied, not split"),
            peak_tflop_per_s=peak_of(setting, sku, "bf16"),
        ),
        error=worst(fact("performance.recommendation.rate_error"), "the worst of the MLPerf rows"),
    )
