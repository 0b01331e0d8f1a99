"""Prompts read by some replicas and answers written by others, next to replicas that do both."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.answers.throughput.setting import Row, Setting, Table
from planner.performance.bundles import bundled
from planner.performance.calibrate_serving import calibrated_step_s, serving_factor_at, step_arithmetic_s
from planner.performance.capacity import Limits, Measured, Requests
from planner.performance.disaggregation import (
    DisaggregatedTargets,
    disaggregated_replicas,
    kv_transfer_s,
    prefill_replicas,
)
from planner.performance.engine import (
    Chip,
    Engine,
    ReplicaLayout,
    Transformer,
    attended_tokens,
    matrix_parameters,
    on_axes,
    step_times,
    with_values,
)
from planner.performance.memory import kv_cache_gb_per_token
from planner.performance.mix import class_context_tokens
from planner.performance.serving import prefill_steps
from planner.physics.equations.serving import replica_arrival_scv_ratio
from planner.physics.serving import replica_arguments, serving_candidates
from planner.physics.serving_options import layout_columns

Floats = NDArray[np.float64]
WHOLE = 1.0  # the cache is sent after the prompt, so that its whole transfer is waited for


def apart_rows(setting: Setting, joint: Table) -> list[Row]:
    """Fewest accelerators of both kinds of replicas, for every SKU that reads with every SKU that writes.

    Args:
        setting: the setting with its question as a service.
        joint: replicas that do both, with the numbers that carry the demand.
    """
    inputs = setting.inputs
    candidates, _ = serving_candidates(inputs, staged=False)
    if not len(candidates):
        return []
    sku = inputs.node_group_sku[candidates.node_group]
    split = layout_columns(candidates.accelerators, candidates.groups, candidates.stages)
    traced = replica_arguments(inputs, candidates.service, sku, *split)
    size = candidates.accelerators.astype(float)
    names = ("model", "chip", "engine", "layout", "requests", "limits", "measured")
    replica = _Replica(size=size, **{name: with_values(traced[name]) for name in names})
    rate = inputs.scenario.services[0].peak_requests_per_s[0]
    common = _common(setting, traced, rate)
    read_s, spread = _reading(replica)
    readers = np.asarray(
        prefill_replicas(
            prefill_s=read_s,
            prefill_scv_ratio=spread,
            met_fraction=common["quantile_fraction"],
            occupancy_fraction=common["utilisation_fraction"],
            **{name: common[name] for name in ("requests_per_s", "arrival_scv_ratio", "ttft_target_s")},
        )
    )
    first = [_fewest(readers * size, sku == k) for k in np.unique(sku)]
    r, w = (pair.ravel() for pair in np.meshgrid(first, np.arange(len(sku)), indexing="ij"))
    network = np.array([fact.value for fact in inputs.accelerator("network_bandwidth")])
    found = disaggregated_replicas(
        prefill_s=read_s[r],
        prefill_scv_ratio=spread[r],
        transfer_s=_transfer_s(setting, replica, r, np.minimum(network[sku[r]], network[sku[w]])),
        decode_step_s=_writing_s(replica)[w],
        batch_limit=np.floor(replica.held)[w],
        output_tokens=np.broadcast_to(replica.requests.output_tokens, len(sku))[w],
        # The second token may wait no longer than any later one.
        **bundled({**common, "handover_target_s": common["tpot_target_s"]}, targets=DisaggregatedTargets),
    )
    need, have = np.asarray(found.prefill_replicas), np.asarray(found.decode_replicas)
    chips = need * size[r] + have * size[w]
    rows: list[Row] = []
    for reading in first:
        for k in np.unique(sku):
            at = _fewest(chips, (r == reading) & (sku[w] == k))
            row = {"prefill_sku": inputs.skus[sku[reading]].name, "decode_sku": inputs.skus[k].name}
            row |= _joint(joint, row["prefill_sku"], row["decode_sku"])
            rows.append(row | {"fits": bool(np.isfinite(chips[at]))})
            if rows[-1]["fits"]:
                rows[-1] |= {
                    "prefill_tp": int(size[reading]),
                    "prefill_replicas": int(need[at]),
                    "decode_tp": int(size[w[at]]),
                    "decode_replicas": int(have[at]),
                    "accelerators": int(chips[at]),
                    "ttft_s": float(np.asarray(found.ttft_s)[at]),
                }
    return rows


def _common(setting: Setting, arguments: dict[str, Any], rate: float) -> dict[str, Any]:
    """What both kinds share: demand, its burstiness before it is dealt out, targets and margin."""
    service, inputs = setting.inputs.scenario.services[0], setting.inputs
    burstiness = replica_arrival_scv_ratio(
        trace_scv_ratio=inputs.arrival_scv(service).value,
        trace_per_s=inputs.trace_rate(service).value,
        demand_per_s=rate,
        carrying_replicas=1.0,
    )
    return {
        "requests_per_s": rate,
        "arrival_scv_ratio": float(burstiness),
        "queue_places": float(arguments["limits"].queue_places.value),
        "ttft_target_s": service.first_token_s,
        "tpot_target_s": service.per_token_s,
        "quantile_fraction": float(arguments["targets"].quantile_fraction.value),
        "utilisation_fraction": float(arguments["utilisation_fraction"].value),
    }


@dataclass(frozen=True, slots=True)
class _Replica:
    """Every candidate's size and what its steps are made of."""

    size: Floats
    model: Transformer
    chip: Chip
    engine: Engine
    layout: ReplicaLayout
    requests: Requests
    limits: Limits
    measured: Measured

    @property
    def held(self) -> Floats:
        """Requests that a replica holds in all its groups."""
        held: Floats = np.asarray(self.limits.batch_limit) * np.asarray(self.layout.dp)
        return held

    def step_s(
        self, *, writing: Floats | float, joining: Floats | float, context: Floats, prompt: Floats
    ) -> Floats:
        """Steps of every candidate, with states or classes on the last axis."""
        groups = np.asarray(self.layout.dp)[..., None]
        modelled = step_times(
            model=on_axes(self.model, 1),
            chip=on_axes(self.chip, 1),
            engine=on_axes(self.engine, 1),
            layout=on_axes(self.layout, 1),
            writing=writing / groups,
            prefill_tokens=joining,
            other_tokens=(groups - 1.0) * writing / groups,
            context_tokens=context,
            prompt_tokens=prompt,
        ).total_s
        factor = serving_factor_at(
            batch=np.maximum(writing, 1.0),
            measured_batches=np.asarray(self.measured.batches)[..., None, :],
            factors=np.asarray(self.measured.factors)[..., None, :],
        )
        least = step_arithmetic_s(
            active_parameters=np.asarray(matrix_parameters(self.model))[..., None],
            tokens=np.asarray(writing) + joining,
            tp=self.size[:, None],
            peak_tflop_per_s=np.asarray(self.chip.peak_tflop_per_s)[..., None],
        )
        return np.asarray(calibrated_step_s(step_s=modelled, factor=factor, least_s=least))


def _reading(replica: _Replica) -> tuple[Floats, Floats]:
    """Mean time to read a prompt alone, and its squared spread over the classes of prompts."""
    requests = replica.requests
    share = np.asarray(requests.share_fraction)[0]
    prompts = np.asarray(requests.input_tokens)[:, None] * requests.input_ratio
    chunk = np.broadcast_to(replica.limits.chunk_tokens, len(replica.size))[:, None]
    chunks = prefill_steps(input_tokens=prompts, chunk_tokens=chunk)
    each = chunks * replica.step_s(writing=0.0, joining=prompts / chunks, context=prompts, prompt=prompts)
    mean: Floats = each @ share
    return mean, each**2 @ share / mean**2 - 1.0


def _writing_s(replica: _Replica) -> Floats:
    """Step of a replica that only writes, in every state up to its places; those who wait change nothing."""
    requests = replica.requests
    context = np.asarray(
        class_context_tokens(
            written_fraction=0.5, **{f.name: getattr(requests, f.name) for f in fields(requests)}
        )
    )[:, None]
    limit = np.floor(replica.held)[:, None]
    places = float(np.max(replica.limits.queue_places))
    running = np.minimum(np.arange(1.0, limit.max() + places + 1.0), limit)
    return replica.step_s(writing=running, joining=0.0, context=context, prompt=np.ones_like(context))


def _transfer_s(
    setting: Setting, replica: _Replica, readers: NDArray[np.intp], network_gb_per_s: Floats
) -> Floats:
    """Time to send the cache of a mean prompt, each accelerator its share through its own port."""
    model = replica.model
    cache = np.asarray(
        kv_cache_gb_per_token(
            layers=model.layers,
            kv_heads=model.kv_heads,
            head_dim=model.head_dim,
            kv_bytes=model.kv_bytes,
            tp=replica.layout.tp,
        )
    )
    return np.asarray(
        kv_transfer_s(
            input_tokens=np.broadcast_to(
                attended_tokens(model=model, context_tokens=np.asarray(replica.requests.input_tokens)),
                len(replica.size),
            )[readers],
            kv_cache_gb_per_token=cache[readers],
            state_gb=np.broadcast_to(
                np.divide(model.state_bytes, replica.layout.tp) / 1e9, len(replica.size)
            )[readers],
            network_gb_per_s=network_gb_per_s,
            exposed_fraction=WHOLE,
            latency_s=setting.fact("performance.training.collective_latency").value,
        )
    )


def _fewest(accelerators: Floats, among: NDArray[np.bool_]) -> int:
    """Where among some candidates fewest accelerators are needed; the first of them where none works."""
    own = np.flatnonzero(among)
    return int(own[np.argmin(accelerators[own])])


def _joint(table: Table, *skus: object) -> Row:
    """Fewest accelerators of replicas that do both, on either of the SKUs; none where no replica works."""
    sums = [
        int(float(str(row["replicas"]))) * int(str(row["accelerators"]))
        for row in table.rows
        if row["fits"] and row["sku"] in skus
    ]
    return {"joint_accelerators": min(sums) if sums else None}
