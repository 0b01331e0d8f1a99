"""The model at a measured point of serving: what it says there, and the factor between both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np

from planner.inputs.resolved import Inputs
from planner.performance.bundles import Limits, Requests
from planner.performance.calibrate_serving import serving_factor, step_arithmetic_s
from planner.performance.capacity import average_step
from planner.performance.engine import (
    Chip,
    Engine,
    ReplicaLayout,
    Transformer,
    matrix_parameters,
    with_values,
)
from planner.performance.serving import output_tokens_per_s, prefill_tokens
from planner.physics.replica_questions import replica_arguments
from planner.physics.serving import serving_candidates
from planner.physics.serving_options import ServingCandidates, layout_columns, possible_layouts
from planner.trace.columns import Floats
from planner.trace.quantities import Traced, derive, derive_parts

Bundle = TypeVar("Bundle")


@dataclass(frozen=True, slots=True)
class MeasuredReplica:
    """What a measured replica is made of, as values; one row or several."""

    model: Transformer
    chip: Chip
    engine: Engine
    layout: ReplicaLayout
    requests: Requests
    limits: Limits


def measured_replica(
    inputs: Inputs, accelerators: int, groups: int | None = None, output_scv_ratio: float | None = None
) -> MeasuredReplica:
    """A replica of one service on one SKU.

    Args:
        inputs: one service on one SKU.
        accelerators: those that share the model.
        groups: those of them that share attention; the layout that carries most where it is None.
        output_scv_ratio: squared spread of the answers; that of the service where it is None.

    Raises:
        ValueError: the model does not run so on this SKU.
    """
    arguments = _arguments(inputs, accelerators, groups)
    parts = (with_values(arguments[name]) for name in (field.name for field in fields(MeasuredReplica)))
    found = MeasuredReplica(*parts)
    if output_scv_ratio is None:
        return found
    spread = np.full_like(np.asarray(found.requests.share_fraction), output_scv_ratio)
    return replace(found, requests=replace(found.requests, output_scv_ratio=spread))


def modelled_rate(
    inputs: Inputs,
    accelerators: int,
    batch: Traced,
    output_scv_ratio: Traced | None = None,
    groups: int | None = None,
) -> Traced:
    """Tokens a second of a replica that runs so many requests, traced; as `modelled_tokens_per_s`."""
    own = _arguments(inputs, accelerators, groups)
    if output_scv_ratio is not None:
        own["requests"] = replace(own["requests"], output_scv_ratio=output_scv_ratio)
    step = derive_parts(
        average_step,
        model=own["model"],
        chip=own["chip"],
        engine=own["engine"],
        layout=own["layout"],
        requests=own["requests"],
        running=batch,
        chunk_tokens=own["limits"].chunk_tokens,
    )
    rate = derive(output_tokens_per_s, batch=batch, step_s=step.total_s)
    return rate[(0,) * np.ndim(rate.value)]


def _arguments(inputs: Inputs, accelerators: int, groups: int | None) -> dict[str, Any]:
    candidates = _candidates(inputs, accelerators, groups)
    row = np.zeros(1, dtype=np.intp)
    split = layout_columns(candidates.accelerators[:1], candidates.groups[:1], candidates.stages[:1])
    return dict(replica_arguments(inputs, row, row, *split))


def held_requests_of(inputs: Inputs, accelerators: int, groups: int | None = None) -> float:
    """Requests that a replica of one service on one SKU holds at once.

    Raises:
        ValueError: the model does not run so on this SKU.
    """
    return float(_candidates(inputs, accelerators, groups).batch[0])


def _candidates(inputs: Inputs, accelerators: int, groups: int | None) -> ServingCandidates:
    find = serving_candidates if groups is None else possible_layouts
    candidates, dropped = find(inputs, (accelerators,), staged=False)  # as measured: all share each layer
    if groups is not None:
        candidates = candidates.some(np.flatnonzero(candidates.groups == groups))
    if len(candidates):
        return candidates
    if dropped:
        raise ValueError(dropped[0].reason)
    if groups is not None and groups > 1:
        raise ValueError(f"{inputs.scenario.services[0].model} does not repeat attention on {groups} groups")
    raise ValueError(f"{accelerators} accelerators are more than {inputs.skus[0].name} has")


def stacked_replicas(replicas: Sequence[MeasuredReplica]) -> MeasuredReplica:
    """Replicas as the rows of one."""
    parts = zip(*(tuple(getattr(one, f.name) for f in fields(one)) for one in replicas), strict=True)
    return MeasuredReplica(*(_stacked(part) for part in parts))


def _stacked(bundles: Sequence[Any]) -> Any:
    columns = {
        f.name: np.concatenate([np.atleast_1d(getattr(one, f.name)) for one in bundles])
        for f in fields(bundles[0])
    }
    return type(bundles[0])(**columns)


def written_tokens_per_s(replica: MeasuredReplica, batch: float | Floats) -> Floats:
    """Tokens a second that each replica writes while so many requests run."""
    step = average_step(
        model=replica.model,
        chip=replica.chip,
        engine=replica.engine,
        layout=replica.layout,
        requests=replica.requests,
        running=batch,
        chunk_tokens=replica.limits.chunk_tokens,
    )
    return np.atleast_1d(np.squeeze(output_tokens_per_s(batch=batch, step_s=step.total_s)))


def modelled_tokens_per_s(
    inputs: Inputs,
    accelerators: int,
    batch: float,
    output_scv_ratio: float | None = None,
    groups: int | None = None,
) -> tuple[float, float]:
    """Tokens a second of a replica that runs so many requests, and the most that the dense peak allows.

    Args:
        inputs: one service on one SKU.
        accelerators: those that share the model.
        batch: mean requests that run.
        output_scv_ratio: squared spread of the answers; that of the service where it is None.
        groups: as of `measured_replica`.

    Raises:
        ValueError: the model does not run so on this SKU.
    """
    replica = measured_replica(inputs, accelerators, groups, output_scv_ratio)
    least_s = step_arithmetic_s(
        active_parameters=matrix_parameters(replica.model),
        tokens=_tokens(replica.requests, batch),
        tp=np.asarray(replica.layout.tp) * np.asarray(replica.layout.dp),
        peak_tflop_per_s=replica.chip.peak_tflop_per_s,
    )
    most = float(np.squeeze(output_tokens_per_s(batch=batch, step_s=least_s)))
    return float(written_tokens_per_s(replica, batch)[0]), most


def _tokens(requests: Requests, batch: float) -> np.ndarray:
    """Tokens of a step: those that are written, and those of prompts that join."""
    answer = np.asarray(requests.output_tokens)
    joining = prefill_tokens(batch=batch, input_tokens=requests.input_tokens, output_tokens=answer)
    return np.asarray(batch * (1.0 - 1.0 / answer) + joining)


def measured_factor(
    tokens_per_s: float,
    inputs: Inputs,
    accelerators: int,
    batch: float,
    output_scv_ratio: float | None = None,
    groups: int | None = None,
) -> float:
    """How much faster than modelled a measured replica writes.

    Raises:
        ValueError: the model does not run so, or the rate is above what the dense peak allows.
    """
    modelled, most = modelled_tokens_per_s(inputs, accelerators, batch, output_scv_ratio, groups)
    if tokens_per_s > most:
        raise ValueError(
            f"{tokens_per_s:,.0f} tokens/s from {batch:g} requests is above the dense peak of {accelerators} "
            f"accelerators, {most:,.0f}: count written tokens alone, and the requests that run"
        )
    return float(serving_factor(measured_tokens_per_s=tokens_per_s, modelled_tokens_per_s=modelled))
