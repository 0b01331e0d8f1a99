"""The model at a measured point of serving: what it says there, and the factor between both."""

from __future__ import annotations

import numpy as np

from planner.inputs.resolved import Inputs
from planner.performance.calibrate_serving import serving_factor, step_arithmetic_s
from planner.performance.mix import class_context_tokens
from planner.performance.serving import decode_step_s, output_tokens_per_s, prefill_tokens, touched_parameters
from planner.physics.serving import replica_arguments
from planner.physics.serving_options import CLASSES, serving_candidates
from planner.trace.quantities import chosen

STEP = (
    "active_parameters",
    "weight_bytes",
    "layers",
    "hidden",
    "kv_heads",
    "head_dim",
    "kv_bytes",
    "tp",
    "peak_tflop_per_s",
    "memory_gb_per_s",
    "link_gb_per_s",
    "weight_factor",
    "compute_factor",
    "kv_factor",
    "link_latency_s",
    "ring_factor",
    "layer_s",
    "sequence_s",
    "peak_share_fraction",
    "eight_bit_layer_s",
)
TOUCHED = ("parameters", "routed_parameters", "experts", "experts_per_token")


def modelled_tokens_per_s(
    inputs: Inputs, accelerators: int, batch: float, output_scv_ratio: float | None = None
) -> tuple[float, float]:
    """Tokens a second of a replica that runs so many requests, and the most that the dense peak allows.

    Args:
        inputs: one service on one SKU.
        accelerators: those that share the model.
        batch: mean requests that run.
        output_scv_ratio: squared spread of the answers; that of the service where it is None.

    Raises:
        ValueError: the model does not run so on this SKU.
    """
    candidates, dropped = serving_candidates(inputs, (accelerators,))
    if not len(candidates):
        few = f"{accelerators} accelerators are more than {inputs.skus[0].name} has"
        raise ValueError(dropped[0].reason if dropped else few)
    row = np.zeros(1, dtype=np.intp)
    split = chosen("tp", np.array([float(accelerators)]), "as measured")
    arguments = replica_arguments(inputs, row, row, split)
    given = {name: np.asarray(node.value, dtype=np.float64) for name, node in arguments.items()}
    if output_scv_ratio is not None:
        given["output_scv_ratio"] = np.full_like(given["share_fraction"], output_scv_ratio)
    lengths = {name: given[name] for name in ("input_tokens", "output_tokens")}
    step_s = decode_step_s(
        touched_parameters=touched_parameters(batch=batch, **{name: given[name] for name in TOUCHED}),
        batch=batch,
        prefill_tokens=prefill_tokens(batch=batch, **lengths),
        context_tokens=class_context_tokens(
            written_fraction=0.5, **lengths, **{name: given[name] for name in CLASSES}
        ),
        **{name: given[name] for name in STEP},
    )
    least_s = step_arithmetic_s(
        tokens=batch + prefill_tokens(batch=batch, **lengths),
        **{name: given[name] for name in ("active_parameters", "tp", "peak_tflop_per_s")},
    )
    modelled, most = (
        float(np.squeeze(output_tokens_per_s(batch=batch, step_s=each))) for each in (step_s, least_s)
    )
    return modelled, most


def measured_factor(
    tokens_per_s: float,
    inputs: Inputs,
    accelerators: int,
    batch: float,
    output_scv_ratio: float | None = None,
) -> float:
    """How much faster than modelled a measured replica writes.

    Raises:
        ValueError: the model does not run so, or the rate is above what the dense peak allows.
    """
    modelled, most = modelled_tokens_per_s(inputs, accelerators, batch, output_scv_ratio)
    if tokens_per_s > most:
        raise ValueError(
            f"{tokens_per_s:,.0f} tokens/s from {batch:g} requests is above the dense peak of {accelerators} "
            f"accelerators, {most:,.0f}: count written tokens alone, and the requests that run"
        )
    return float(serving_factor(measured_tokens_per_s=tokens_per_s, modelled_tokens_per_s=modelled))
