"""How large the state of a run is that a checkpoint holds, by the kind of its model."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from planner.inputs.catalogue import Catalogue, Facts
from planner.inputs.model_kinds import DIFFUSION, RECOMMENDATION, kind_of_model
from planner.physics.equations.batches import row_state_bytes, tables_gb
from planner.trace.quantities import Fact, Traced, chosen, derive
from reliability.checkpoint import checkpoint_size_gb

BYTES = "checkpoint.bytes_per_parameter"


def trained_parameters(facts: Facts, model: str, adapters: Mapping[str, Traced]) -> Traced:
    """Weights that a run trains, and its checkpoints hold: those of its adapters, or all."""
    if not adapters:
        return facts.fact(f"model.{model}.parameters")
    layers = facts.fact(f"model.{model}.layers")
    return (adapters["adapter_parameters"] * layers).named(
        "trained_parameters",
        "Weights of the adapters of all layers; no checkpoint holds the frozen ones",
    )


def checkpoint_gb(
    fact: Callable[[str], Fact],
    catalogue: Catalogue,
    model: str,
    state: str = "",
    adapters: Traced | None = None,
) -> Traced:
    """Bytes of a checkpoint: weights with the state of their optimizer, and tables with that of their rows.

    `state` names what is written of each weight, such as `bf16-adam`; empty for the usual. `adapters` are the
    weights of those that alone are trained (`trained_parameters`).
    """
    each = fact(f"{BYTES}@{state}" if state else BYTES)
    kind = kind_of_model(catalogue, model)
    if kind != RECOMMENDATION:
        room = "diffusion" if kind == DIFFUSION else "model"
        trained = fact(f"{room}.{model}.parameters") if adapters is None else adapters
        return derive(checkpoint_size_gb, parameters=trained, bytes_per_parameter=each)
    own = f"recommendation.{model}"
    traffic = fact(f"{own}.backward_traffic") if catalogue.has(f"{own}.backward_traffic") else None
    kept = derive(
        row_state_bytes,
        backward_traffic_ratio=traffic or chosen("backward_traffic_ratio", 2.0, "one number a row"),
        embedding_dim=fact(f"{own}.embedding_dim"),
        table_bytes=fact("performance.recommendation.table_bytes"),
    )
    return derive(
        tables_gb,
        embedding_rows=fact(f"{own}.embedding_rows"),
        embedding_dim=fact(f"{own}.embedding_dim"),
        table_bytes=fact("performance.recommendation.table_bytes"),
        row_state_bytes=kept,
        dense_parameters=fact(f"{own}.dense_parameters"),
        dense_state_bytes=each,
    )
