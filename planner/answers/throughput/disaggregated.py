"""Prompts read on one pool of replicas and answers written on another, next to replicas that do both."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.answers.throughput.setting import Row, Setting, Table
from planner.performance.calibrate_serving import calibrated_step_s, serving_factor_at, step_arithmetic_s
from planner.performance.disaggregation import disaggregated_pools, kv_transfer_s, prefill_replicas
from planner.performance.memory import kv_cache_gb_per_token
from planner.performance.mix import class_context_tokens
from planner.performance.serving import decode_step_s, prefill_steps, touched_parameters
from planner.physics.calibrated_serving import STEP, TOUCHED
from planner.physics.equations.serving import replica_arrival_scv_ratio
from planner.physics.serving import replica_arguments
from planner.physics.serving_options import CLASSES, serving_candidates
from planner.trace.quantities import chosen

Floats = NDArray[np.float64]
CACHE = ("layers", "kv_heads", "head_dim", "kv_bytes", "tp")
WHOLE = 1.0  # the cache is sent after the prompt, so that its whole transfer is waited for


def apart_rows(asked: Setting, joint: Table) -> list[Row]:
    """Fewest accelerators of two pools, for every SKU that reads with every SKU that writes.

    Args:
        asked: the setting with its question as a service.
        joint: replicas that do both, with the pools that carry the demand.
    """
    inputs = asked.inputs
    candidates, _ = serving_candidates(inputs)
    if not len(candidates):
        return []
    sku = inputs.pool_sku[candidates.pool]
    tp = chosen("tp", candidates.tp.astype(float), "enumerated: accelerators that share the model")
    arguments = {
        name: np.asarray(node.value, dtype=np.float64)
        for name, node in replica_arguments(inputs, candidates.service, sku, tp).items()
    }
    rate = inputs.scenario.services[0].peak_requests_per_s[0]
    common = _common(asked, arguments, rate)
    read_s, spread = _reading(arguments)
    readers = np.asarray(
        prefill_replicas(
            prefill_s=read_s,
            prefill_scv_ratio=spread,
            met_fraction=common["quantile_fraction"],
            occupancy_fraction=common["utilisation_fraction"],
            **{name: common[name] for name in ("requests_per_s", "arrival_scv_ratio", "ttft_target_s")},
        )
    )
    first = [_fewest(readers * arguments["tp"], sku == k) for k in np.unique(sku)]
    r, w = (pair.ravel() for pair in np.meshgrid(first, np.arange(len(sku)), indexing="ij"))
    network = np.array([fact.value for fact in inputs.accelerator("network_bandwidth")])
    pools = disaggregated_pools(
        prefill_s=read_s[r],
        prefill_scv_ratio=spread[r],
        transfer_s=_transfer_s(asked, arguments, r, np.minimum(network[sku[r]], network[sku[w]])),
        decode_step_s=_writing_s(arguments)[w],
        batch_limit=np.floor(arguments["batch_limit"][w]),
        output_tokens=np.broadcast_to(arguments["output_tokens"], len(sku))[w],
        # The second token may wait no longer than any later one.
        handover_target_s=common["tpot_target_s"],
        **common,
    )
    need, have = np.asarray(pools.prefill_replicas), np.asarray(pools.decode_replicas)
    chips = need * arguments["tp"][r] + have * arguments["tp"][w]
    rows: list[Row] = []
    for reading in first:
        for k in np.unique(sku):
            at = _fewest(chips, (r == reading) & (sku[w] == k))
            row = {"prefill_sku": inputs.skus[sku[reading]].name, "decode_sku": inputs.skus[k].name}
            row |= _joint(joint, row["prefill_sku"], row["decode_sku"])
            rows.append(row | {"fits": bool(np.isfinite(chips[at]))})
            if rows[-1]["fits"]:
                rows[-1] |= {
                    "prefill_tp": int(arguments["tp"][reading]),
                    "prefill_replicas": int(need[at]),
                    "decode_tp": int(arguments["tp"][w[at]]),
                    "decode_replicas": int(have[at]),
                    "accelerators": int(chips[at]),
                    "ttft_s": float(np.asarray(pools.ttft_s)[at]),
                }
    return rows


def _common(asked: Setting, arguments: dict[str, Floats], rate: float) -> dict[str, Any]:
    """What both pools share: demand, its burstiness before it is dealt out, targets and margin."""
    service, inputs = asked.inputs.scenario.services[0], asked.inputs
    burstiness = replica_arrival_scv_ratio(
        trace_scv_ratio=inputs.arrival_scv(service).value,
        trace_per_s=inputs.trace_rate(service).value,
        demand_per_s=rate,
        carrying_replicas=1.0,
    )
    return {
        "requests_per_s": rate,
        "arrival_scv_ratio": float(burstiness),
        "queue_places": float(arguments["queue_places"]),
        "ttft_target_s": service.first_token_s,
        "tpot_target_s": service.per_token_s,
        "quantile_fraction": float(arguments["quantile_fraction"]),
        "utilisation_fraction": float(arguments["utilisation_fraction"]),
    }


def _reading(arguments: dict[str, Floats]) -> tuple[Floats, Floats]:
    """Mean time to read a prompt alone, and its squared spread over the classes of prompts."""
    share = arguments["share_fraction"][0]
    prompts = arguments["input_tokens"][:, None] * arguments["input_ratio"]
    chunks = prefill_steps(input_tokens=prompts, chunk_tokens=arguments["chunk_tokens"])
    each = chunks * _step_s(arguments, batch=1.0, joining=prompts / chunks, context=prompts)
    mean: Floats = each @ share
    return mean, each**2 @ share / mean**2 - 1.0


def _writing_s(arguments: dict[str, Floats]) -> Floats:
    """Step of a replica that only writes, in every state up to its places; those who wait change nothing."""
    lengths = {name: arguments[name] for name in ("input_tokens", "output_tokens", *CLASSES)}
    context = np.asarray(class_context_tokens(written_fraction=0.5, **lengths))[:, None]
    limit = np.floor(arguments["batch_limit"])[:, None]
    running = np.minimum(np.arange(1.0, limit.max() + float(arguments["queue_places"]) + 1.0), limit)
    return _step_s(arguments, batch=running, joining=0.0, context=context)


def _step_s(
    arguments: dict[str, Floats], *, batch: Floats | float, joining: Floats | float, context: Floats
) -> Floats:
    """Steps of every candidate, with states or classes on the last axis."""

    def tall(*names: str) -> dict[str, Floats]:
        return {name: arguments[name][..., None] for name in names}

    touched = touched_parameters(batch=batch, **tall(*TOUCHED))
    modelled = decode_step_s(
        touched_parameters=touched, batch=batch, prefill_tokens=joining, context_tokens=context, **tall(*STEP)
    )
    factor = serving_factor_at(
        batch=np.asarray(batch),
        measured_batches=arguments["measured_batches"][..., None, :],
        factors=arguments["measured_factors"][..., None, :],
    )
    least = step_arithmetic_s(tokens=batch + joining, **tall("active_parameters", "tp", "peak_tflop_per_s"))
    return np.asarray(calibrated_step_s(step_s=modelled, factor=factor, least_s=least))


def _transfer_s(
    asked: Setting, arguments: dict[str, Floats], readers: NDArray[np.intp], network_gb_per_s: Floats
) -> Floats:
    """Time to send the cache of a mean prompt, each accelerator its share through its own port."""
    cache = np.asarray(kv_cache_gb_per_token(**{name: arguments[name] for name in CACHE}))
    return np.asarray(
        kv_transfer_s(
            input_tokens=arguments["input_tokens"][readers],
            kv_cache_gb_per_token=cache[readers],
            state_gb=0.0,
            network_gb_per_s=network_gb_per_s,
            exposed_fraction=WHOLE,
            latency_s=asked.fact("performance.training.collective_latency").value,
        )
    )


def _fewest(accelerators: Floats, among: NDArray[np.bool_]) -> int:
    """Where among some candidates fewest accelerators are needed; the first of them where none works."""
    own = np.flatnonzero(among)
    return int(own[np.argmin(accelerators[own])])


def _joint(table: Table, *skus: object) -> Row:
    """Fewest accelerators of replicas that do both, on either of the SKUs; none where no replica works."""
    pools = [
        int(float(str(row["replicas"]))) * int(str(row["accelerators"]))
        for row in table.rows
        if row["fits"] and row["sku"] in skus
    ]
    return {"joint_accelerators": min(pools) if pools else None}
