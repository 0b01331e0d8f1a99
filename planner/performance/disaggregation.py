"""Prompts read by some replicas and answers written by others: how many of each.

Reading is bound by arithmetic, writing by memory. Apart, they do not slow each other down and may run on
different hardware; the cache of each request then crosses the network.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.performance._checks import (
    require_not_negative,
    require_open_share,
    require_positive,
    require_share,
)
from planner.performance.queueing import largest_rate_per_s, servers_needed, servers_wait_h

Column = float | NDArray[np.float64]
_HALVINGS = 16


@dataclass(frozen=True, slots=True)
class DisaggregatedReplicas:
    """Replicas of both kinds (infinite where a target is out of reach) and what a user sees on average."""

    prefill_replicas: Column
    decode_replicas: Column
    decode_requests_per_s: Column
    ttft_s: Column


def kv_transfer_s(
    *,
    input_tokens: Column,
    kv_cache_gb_per_token: Column,
    state_gb: Column,
    network_gb_per_s: Column,
    latency_s: Column,
    exposed_fraction: Column,
) -> Column:
    """Time for which the second token waits until the cache of its prompt has arrived.

    t = lat + x (i k + S) / N

    All per accelerator: each sends its share of the cache (k a token, and the constant state S of
    recurrent layers) through its own port. x is what is not hidden: 1 if sent after the prompt, about
    one over the number of layers if sent layer by layer. The port is taken as free.

    Source: Patel et al., "Splitwise", ISCA 2024, arXiv 2311.18677, section IV-C.
    """
    require_not_negative(input_tokens=input_tokens, kv_cache_gb_per_token=kv_cache_gb_per_token)
    require_not_negative(state_gb=state_gb, latency_s=latency_s)
    require_positive(network_gb_per_s=network_gb_per_s)
    require_share(exposed_fraction=exposed_fraction)
    moved_gb = input_tokens * kv_cache_gb_per_token + state_gb
    return latency_s + exposed_fraction * moved_gb / network_gb_per_s


@dataclass(frozen=True, slots=True, kw_only=True)
class DisaggregatedTargets:
    """Times that a share of the requests keeps: first token, each further one, and from reader to writer."""

    ttft_target_s: Column
    tpot_target_s: Column
    handover_target_s: Column
    quantile_fraction: Column


def prefill_replicas(
    *,
    requests_per_s: Column,
    prefill_s: Column,
    prefill_scv_ratio: Column,
    arrival_scv_ratio: Column,
    ttft_target_s: Column,
    met_fraction: Column,
    occupancy_fraction: Column,
) -> Column:
    """Fewest replicas that read prompts one at a time and give first tokens in time; infinite where none do.

    c = min {c : 1 - C e^(-(c - A) w / (S f)) >= target and A/c <= occupancy}

    w = TTFT - S,  f = (Ca^2 + Cs^2)/2

    C is Erlang's chance of a wait at load A = lambda S; f stretches the wait for bursts and for prompts of
    unequal length. `prefill_s` is the time of a mean prompt; that of a long one is for the caller to ask.

    Source: M/M/c waits, Kleinrock, "Queueing Systems I", 1975, section 3.5; factor as Allen-Cunneen; pools
    as in Zhong et al., "DistServe", OSDI 2024, arXiv 2401.09670.
    """
    require_positive(requests_per_s=requests_per_s, prefill_s=prefill_s, ttft_target_s=ttft_target_s)
    stretch = _stretch(arrival_scv_ratio, prefill_scv_ratio)
    spare_s = np.asarray(ttft_target_s - prefill_s)
    servers = servers_needed(
        offered_load=requests_per_s * prefill_s,
        service_h=prefill_s / 3600.0,
        wait_target_h=np.maximum(spare_s, 0.0) / stretch / 3600.0,
        met_fraction=met_fraction,
        occupancy_fraction=occupancy_fraction,
    )
    result = np.where(spare_s >= 0, servers, np.inf)
    return result if result.ndim else float(result)


def disaggregated_replicas(
    *,
    requests_per_s: Column,
    prefill_s: Column,
    prefill_scv_ratio: Column,
    arrival_scv_ratio: Column,
    transfer_s: Column,
    decode_step_s: Column,
    output_tokens: Column,
    batch_limit: Column,
    queue_places: Column,
    targets: DisaggregatedTargets,
    utilisation_fraction: Column,
) -> DisaggregatedReplicas:
    """Replicas of both kinds for a request rate.

    n_p = `prefill_replicas`,  n_d = ceil(lambda / (u lambda*)),  TTFT = W + S

    The prefill replicas write the first token; the second follows after the transfer, the wait for a place
    and one step, together within their handover. lambda* is the largest rate of a decode replica that
    keeps this and the time per token. `decode_step_s` holds the step without prompts (prefill tokens 0) in
    states 1, 2, ... on its last axis, everything else one entry per candidate. u is the most either kind
    is planned for. Failures between the two are left out.

    Source: Zhong et al., "DistServe", OSDI 2024; replica sizing as in `largest_rate_per_s`.
    """
    require_open_share(utilisation_fraction=utilisation_fraction)
    readers = prefill_replicas(
        requests_per_s=requests_per_s,
        prefill_s=prefill_s,
        prefill_scv_ratio=prefill_scv_ratio,
        arrival_scv_ratio=arrival_scv_ratio,
        ttft_target_s=targets.ttft_target_s,
        met_fraction=targets.quantile_fraction,
        occupancy_fraction=utilisation_fraction,
    )
    reached = np.isfinite(readers)
    load = np.asarray(requests_per_s * prefill_s)
    wait_s = 3600.0 * servers_wait_h(
        servers=np.where(reached, readers, np.floor(load) + 1.0),
        offered_load=load,
        service_h=prefill_s / 3600.0,
        arrival_scv_ratio=arrival_scv_ratio,
        service_scv_ratio=prefill_scv_ratio,
    )
    spare_s = np.asarray(targets.handover_target_s - transfer_s)
    largest = largest_rate_per_s(
        prefill_s=decode_step_s,
        tpot_s=decode_step_s,
        output_tokens=output_tokens,
        batch_limit=batch_limit,
        places=np.asarray(batch_limit) + queue_places,
        arrival_scv_ratio=arrival_scv_ratio,
        ttft_target_s=np.where(spare_s > 0, spare_s, 1.0),
        tpot_target_s=targets.tpot_target_s,
        quantile_fraction=targets.quantile_fraction,
    )
    rate = np.where(spare_s > 0, utilisation_fraction * np.asarray(largest), 0.0)
    writers = np.where(rate > 0, np.ceil(requests_per_s / np.where(rate > 0, rate, 1.0)), np.inf)
    return DisaggregatedReplicas(
        prefill_replicas=readers,
        decode_replicas=_plain(writers),
        decode_requests_per_s=_plain(rate),
        ttft_s=_plain(np.where(reached, wait_s + prefill_s, np.inf)),
    )


def apart_requests_per_s(
    *,
    accelerators: float,
    reading_s: NDArray[np.float64],
    reading_places: NDArray[np.float64],
    reading_accelerators: NDArray[np.float64],
    writing_requests_per_s: NDArray[np.float64],
    writing_accelerators: NDArray[np.float64],
    ttft_target_s: float,
    quantile_fraction: float,
) -> float:
    """Largest rate of a system that is split between replicas that read prompts and replicas that write.

    max over n_w of min(n_w mu_w, lambda_r(n_r)),  n_r = floor((N - n_w a_w)/a_r)

    A reading replica reads as many prompts together as it has places, each in S; lambda_r keeps
    1 - C e^(-(c - A) (TTFT - S)/S) >= q with c = n_r places and A = lambda S. A writing replica is full:
    whoever finds no place waits for one, which is little against a whole answer. Every way to read is tried
    with every way to write. The cache crosses while its layers are read, inside one domain of links.

    Args:
        accelerators: N.
        reading_s: S of each way to read.
        reading_places: prompts that a replica reads together, in each way.
        reading_accelerators: a_r of each way.
        writing_requests_per_s: mu_w, what a full replica writes within the time per token, in each way.
        writing_accelerators: a_w of each way.
        ttft_target_s: time within which a first token is given.
        quantile_fraction: q, share of first tokens in time.

    Source: Zhong et al., "DistServe", OSDI 2024, arXiv 2401.09670; M/M/c waits as in `prefill_replicas`.
    """
    require_positive(accelerators=accelerators, ttft_target_s=ttft_target_s)
    require_share(quantile_fraction=quantile_fraction)
    tried = []
    for rate, size in zip(writing_requests_per_s, writing_accelerators, strict=True):
        writers = np.arange(1.0, np.floor(accelerators / size) + 1.0)
        for seconds, places, each in zip(reading_s, reading_places, reading_accelerators, strict=True):
            readers = np.floor((accelerators - writers * size) / each) * places
            most = np.max(np.minimum(writers * rate, readers / seconds), initial=0.0)
            tried.append((float(most), float(seconds), writers * rate, readers))
    best = 0.0
    # No way gives more than without a wait: the best of those first, and none that cannot be better.
    for most, seconds, writes, places_left in sorted(tried, key=lambda one: -one[0]):
        if most <= best:
            break
        reads = _reading_requests_per_s(places_left, seconds, ttft_target_s, quantile_fraction)
        best = max(best, float(np.max(np.minimum(writes, reads), initial=0.0)))
    return best


def _reading_requests_per_s(
    places: NDArray[np.float64], reading_s: float, ttft_target_s: float, quantile_fraction: float
) -> NDArray[np.float64]:
    """Largest rates at which so many places give first tokens in time, by halving."""
    if reading_s >= ttft_target_s:
        return np.zeros_like(places)
    low, high = np.zeros_like(places), places / reading_s
    for _ in range(_HALVINGS):
        tried = (low + high) / 2.0
        needed = prefill_replicas(
            requests_per_s=np.maximum(tried, 1e-9),
            prefill_s=reading_s,
            prefill_scv_ratio=1.0,
            arrival_scv_ratio=1.0,
            ttft_target_s=ttft_target_s,
            met_fraction=quantile_fraction,
            occupancy_fraction=1.0,
        )
        kept = np.asarray(needed) <= places
        low, high = np.where(kept, tried, low), np.where(kept, high, tried)
    return low


def _stretch(arrival_scv_ratio: Column, service_scv_ratio: Column) -> Column:
    """How much longer than in M/M/c a wait is; no less than a hair, as something is divided by it."""
    require_not_negative(arrival_scv_ratio=arrival_scv_ratio, service_scv_ratio=service_scv_ratio)
    result: Column = np.maximum((arrival_scv_ratio + service_scv_ratio) / 2.0, 1e-9)
    return result


def _plain(value: NDArray[np.float64]) -> Column:
    return value if value.ndim else float(value)
