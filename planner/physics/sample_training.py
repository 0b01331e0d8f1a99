"""What a step of a recommendation model takes, by samples; plans and questions about hardware ask it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.inputs.resolved import Inputs
from planner.inputs.scenario import TrainingJob
from planner.performance.bundles import ranking_bundles
from planner.performance.power import moving_s, training_power_kw
from planner.performance.recommendation import recommendation_memory_gb, recommendation_training_step
from planner.performance.throughput import samples_per_s
from planner.physics.batch_work import layer_width, peak_column, reached_fraction
from planner.physics.equations.batches import (
    kept_values,
    multiplied_use_fraction,
    row_state_bytes,
)
from planner.physics.links import link_domain
from planner.physics.nodes import power_curve
from planner.physics.recommendation_step import CHIP, SHAPE, recommendation_arguments
from planner.trace.columns import Indices
from planner.trace.quantities import Parts, Traced, chosen, derive, derive_parts, pick


@dataclass(frozen=True)
class SampleStep:
    """Steps of a recommendation model on rows of SKUs and accelerators."""

    step: Parts
    samples_per_s: Traced
    memory_gb: Traced
    accelerator_kw: Traced


def sample_step(
    inputs: Inputs,
    model: str,
    precision: str,
    sku: Indices,
    accelerators: Traced,
    samples: Traced,
    imbalance: Traced | None = None,
) -> SampleStep:
    """Time, rate, memory and power of one accelerator; tables are cut across all, layers are copied.

    `imbalance` is that of a placement, by row, in place of the fact.
    """
    each = (samples / accelerators).named("rank_samples")
    peak = peak_column(inputs, sku, precision)
    arguments = _arguments(inputs, model, sku) | ({} if imbalance is None else {"imbalance_ratio": imbalance})
    shape = {name: arguments[name] for name in SHAPE}
    constants = {name: node for name, node in arguments.items() if name not in (*SHAPE, *CHIP)}
    step = derive_parts(
        recommendation_training_step,
        **ranking_bundles(
            {
                "global_batch": samples,
                "accelerators": accelerators,
                "peak_tflop_per_s": peak,
                "matrix_efficiency_fraction": reached_fraction(inputs, sku, layer_width(inputs, model), each),
                **arguments,
            }
        ),
    )
    rate = derive(samples_per_s, global_batch=samples, step_s=step.total_s)
    compute = derive(
        multiplied_use_fraction,
        samples_per_s=rate,
        accelerators=accelerators,
        peak_tflop_per_s=peak,
        **{name: shape[name] for name in ("bottom_multiplications", "top_multiplications")},
    )
    drawn = derive(
        training_power_kw,
        tdp_kw=inputs.of_sku(inputs.accelerator("tdp"), sku),
        computing_s=step.dense_s,
        moving_s=derive(moving_s, elementwise_s=step.embedding_s, optimizer_s=step.optimizer_s),
        total_s=step.total_s,
        compute_use_fraction=compute,
        memory_efficiency_fraction=constants["memory_efficiency_fraction"],
        exchange_power_fraction=inputs.fact("performance.power.exchange"),
        **power_curve(inputs, sku),
    )
    rows_held = inputs.fact(f"recommendation.{model}.embedding_rows")
    memory = _memory(inputs, rows_held, shape, constants, each, accelerators)
    return SampleStep(step, rate, memory, drawn)


def run_memory_gb(inputs: Inputs, job: TrainingJob, sku: int, nodes: int) -> float:
    """Memory that each accelerator of a run needs."""
    one = np.array([sku], dtype=np.intp)
    count = nodes * float(inputs.server("accelerators")[sku].value)
    found = sample_step(
        inputs,
        job.model,
        job.precision,
        one,
        chosen("accelerators", np.array([count]), "enumerated: a size that the scenario names"),
        inputs.yours(f"training.{job.name}.batch_samples", job.step_amount, "1"),
    )
    return float(np.ravel(found.memory_gb.value)[0])


def without_tables_gb(inputs: Inputs, model: str, sku: int, accelerators: int, samples: float) -> Traced:
    """Memory of each accelerator of a run without its tables: dense layers, activations of its samples."""
    arguments = _arguments(inputs, model, np.array([sku], dtype=np.intp))
    count = chosen("accelerators", float(accelerators), "enumerated: a size that the scenario names")
    each = (chosen("samples", samples, "of a step") / count).named("rank_samples")
    none = chosen("embedding_rows", 0.0, "tables are placed on their own")
    return _memory(inputs, none, arguments, arguments, each, count)


def _arguments(inputs: Inputs, model: str, sku: Indices) -> dict[str, Traced]:
    """Arguments of the step as columns; what is the same on every SKU stays one node."""
    each = [
        {
            **recommendation_arguments(
                inputs, model, one.accelerator, inputs.catalogue.link(one.accelerator)
            ),
            "link_domain": link_domain(inputs, k),
        }
        for k, one in enumerate(inputs.skus)
    ]
    return {
        name: first if all(one[name] is first for one in each) else pick([one[name] for one in each], sku)
        for name, first in each[0].items()
    }


def _memory(
    inputs: Inputs,
    embedding_rows: Traced,
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
        embedding_rows=embedding_rows,
        embedding_dim=shape["embedding_dim"],
        table_bytes=constants["table_bytes"],
        row_state_bytes=state,
        dense_parameters=shape["dense_parameters"],
        dense_state_bytes=inputs.fact("performance.training.optimizer_bytes_per_parameter"),
        samples=each,
        sample_values=kept,
        value_bytes=constants["value_bytes"],
        accelerators=accelerators,
    )
