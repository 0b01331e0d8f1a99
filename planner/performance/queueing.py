"""Waiting: one replica that slows down as it fills, several equal servers, and spare replicas.

A replica is a birth-death chain. State k is the number of requests inside; with at most B running, the
others wait. Its departure rate in state k follows from how long a request takes when k run together.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc, gammaln

from planner.performance._checks import (
    require_not_negative,
    require_open_share,
    require_positive,
    require_share,
)
from planner.performance.columns import Column


@dataclass(frozen=True, slots=True)
class ReplicaState:
    """Long-run state of one replica; one entry per candidate."""

    accepted_requests_per_s: Column
    running: Column
    waiting: Column
    refused_fraction: Column
    wait_s: Column
    residence_s: Column


def departures_per_s(
    *,
    running: Column,
    prefill_s: Column,
    tpot_s: Column,
    output_tokens: Column,
    step_s: Column | None = None,
) -> Column:
    """Rate at which `running` requests leave a replica together.

    mu(k) = k / max(prefill(k) + (osl - 1) ITL(k), osl T(k))

    ITL(k) reads the prompts of the others between two tokens; T(k), `step_s` (ITL where None), those of all k
    requests over the steps of an answer. A request takes osl steps, so that none leaves sooner than osl T(k):
    the step that reads its own prompt is no cheaper than the others.

    Source: queue model of the llm-d workload-variant autoscaler; the second term is the balance of tokens.
    """
    require_not_negative(running=running)
    require_positive(prefill_s=prefill_s, tpot_s=tpot_s)
    own_s = prefill_s + np.maximum(output_tokens - 1.0, 0.0) * tpot_s
    result: Column = running / np.maximum(own_s, output_tokens * (tpot_s if step_s is None else step_s))
    return result


def state_probability_fraction(
    *, arrivals_per_s: Column, departures_per_s: Column, places: Column
) -> NDArray[np.float64]:
    """Long-run probability of 0, 1, 2, ... requests in the system, along the last axis.

    p[k+1] = p[k] lambda / mu(k+1) for k < K, sum p = 1

    `departures_per_s` holds mu(1), mu(2), ... on its last axis; `arrivals_per_s` and `places` (K) have
    one entry per candidate. Computed in logarithms, so long queues do not overflow.

    Source: Kleinrock, "Queueing Systems I", 1975, section 3.1 (birth-death equilibrium).
    """
    require_positive(arrivals_per_s=arrivals_per_s, places=places)
    rates = np.asarray(departures_per_s, dtype=np.float64)
    ratios = np.log(np.asarray(arrivals_per_s))[..., None] - np.log(rates)
    return chain_of_log_ratios(ratios, np.arange(1, rates.shape[-1] + 1) > np.asarray(places)[..., None])


def chain_of_log_ratios(ratios: NDArray[np.float64], beyond: NDArray[np.bool_]) -> NDArray[np.float64]:
    """`state_probability_fraction` from ln(p[k+1]/p[k]) and which of the states 1, 2, ... there are not."""
    steps = np.where(beyond, -np.inf, ratios)
    logs = np.zeros((*steps.shape[:-1], steps.shape[-1] + 1))
    np.cumsum(steps, axis=-1, out=logs[..., 1:])
    logs -= logs.max(axis=-1, keepdims=True)
    weights = np.exp(logs, out=logs)
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights


def erlang_c_fraction(*, servers: Column, offered_load: Column) -> Column:
    """Probability that an arrival has to wait for one of c equal servers.

    C = B / (1 - A/c (1 - B)),  B = (A^c / c!) / sum_{k<=c} A^k / k!

    `offered_load` is arrival rate times mean service time and lies below `servers`. The sum is taken as
    an incomplete gamma function, so thousands of servers cost no loop.

    Source: Erlang 1917; Kleinrock, "Queueing Systems I", 1975, section 3.5.
    """
    require_positive(servers=servers, offered_load=offered_load)
    if np.any(np.asarray(offered_load) >= np.asarray(servers)):
        raise ValueError(f"offered_load must stay below servers, got {offered_load} on {servers}")
    last = np.exp(servers * np.log(offered_load) - offered_load - gammaln(np.asarray(servers) + 1.0))
    blocked = last / gammaincc(np.asarray(servers) + 1.0, offered_load)
    result: Column = blocked / (1.0 - offered_load / servers * (1.0 - blocked))
    return result


def servers_wait_h(
    *,
    servers: Column,
    offered_load: Column,
    service_h: Column,
    arrival_scv_ratio: Column,
    service_scv_ratio: Column,
) -> Column:
    """Mean wait for one of c equal servers.

    Wq = C S / (c (1 - rho)) (Ca^2 + Cs^2)/2

    Exact for Poisson arrivals with exponential service (both 1) and for M/G/1; an approximation otherwise.

    Source: Allen, "Probability, Statistics and Queueing Theory", 1990 (Allen-Cunneen).
    """
    require_positive(service_h=service_h)
    require_not_negative(arrival_scv_ratio=arrival_scv_ratio, service_scv_ratio=service_scv_ratio)
    waits = erlang_c_fraction(servers=servers, offered_load=offered_load)
    spread = (arrival_scv_ratio + service_scv_ratio) / 2.0
    return waits * service_h / (servers - offered_load) * spread


def mmc_wait_h(*, servers: Column, offered_load: Column, service_h: Column) -> Column:
    """Mean wait for one of c equal servers, Poisson arrivals and exponential service.

    Wq = C S / (c - A)

    Source: Kleinrock, "Queueing Systems I", 1975, section 3.5.
    """
    return servers_wait_h(
        servers=servers,
        offered_load=offered_load,
        service_h=service_h,
        arrival_scv_ratio=1.0,
        service_scv_ratio=1.0,
    )


def pooled_use_fraction(
    *,
    servers: Column,
    service_s: Column,
    wait_target_s: Column,
    late_fraction: Column,
    arrival_scv_ratio: Column = 1.0,
    service_scv_ratio: Column = 0.0,
) -> Column:
    """Largest use of c servers of one queue at which all but a share of arrivals start in time.

    P(W > t) = exp(-2 c (1 - rho) t / (S (Ca^2 + Cs^2))) = l  =>  rho = 1 - ln(1/l) S (Ca^2 + Cs^2) / (2 c t)

    Few servers have to leave more of their time free than many. That an arrival waits at all is taken as
    certain, as it nearly is at such loads. 0 where one service is too long.

    Source: Kingman, "On queues in heavy traffic", JRSS B 1962; for c servers, Kollerstrom, "Heavy traffic
    theory for queues with several servers", J. Appl. Prob. 1974.
    """
    require_positive(servers=servers, service_s=service_s, wait_target_s=wait_target_s)
    require_open_share(late_fraction=late_fraction)
    spread = arrival_scv_ratio + service_scv_ratio
    unused = np.log(1.0 / np.asarray(late_fraction)) * service_s * spread / (2.0 * servers * wait_target_s)
    result: Column = np.maximum(0.0, 1.0 - unused)
    return result


def servers_needed(
    *,
    offered_load: Column,
    service_h: Column,
    wait_target_h: Column,
    met_fraction: Column,
    occupancy_fraction: Column,
) -> Column:
    """Fewest servers of which `met_fraction` of arrivals wait no longer than the target.

    c = min {c : 1 - C e^(-(c - A) t/S) >= target and A/c <= occupancy}

    Source: M/M/c waiting-time distribution, Kleinrock, "Queueing Systems I", 1975, section 3.5.
    """
    require_positive(offered_load=offered_load, service_h=service_h)
    require_not_negative(wait_target_h=wait_target_h)
    require_open_share(occupancy_fraction=occupancy_fraction)
    _require_below_one(met_fraction=met_fraction)
    load, target = np.asarray(offered_load), np.asarray(met_fraction)
    servers = np.maximum(np.ceil(load / occupancy_fraction - 1e-9), np.floor(load) + 1.0)
    while True:
        waits = erlang_c_fraction(servers=servers, offered_load=load)
        short = 1.0 - waits * np.exp(-(servers - load) * wait_target_h / service_h) < target
        if not np.any(short):
            return servers if servers.ndim else float(servers)
        servers = servers + short


def _require_below_one(**named: Column) -> None:
    for name, value in named.items():
        require_share(**{name: value})
        if np.any(np.asarray(value) >= 1):
            raise ValueError(f"{name} must stay below 1 (certainty needs infinitely many), got {value}")
