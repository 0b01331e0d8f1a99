"""A replica summed state by state: the independent route to the closed sums of `performance.replica`."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc

from planner.performance.columns import Column
from planner.performance.queueing import ReplicaState, state_probability_fraction


def replica_state(
    *,
    arrivals_per_s: Column,
    departures_per_s: Column,
    batch_limit: Column,
    places: Column,
    arrival_scv_ratio: Column,
) -> ReplicaState:
    """Means of a replica in the long run.

    N_q = sum_k max(k - B, 0) p[k],  W = N_q / lambda_acc * (Ca^2 + 1)/2,  lambda_acc = lambda (1 - p[K])

    `arrival_scv_ratio` is the squared coefficient of variation of the time between arrivals (1 for
    Poisson); the wait is scaled with it after Allen and Cunneen, the chain itself stays Poisson.

    Source: Little's law; Allen, "Probability, Statistics and Queueing Theory", 1990 (factor).
    """
    p = state_probability_fraction(
        arrivals_per_s=arrivals_per_s, departures_per_s=departures_per_s, places=places
    )
    states = np.arange(p.shape[-1])
    limit = np.asarray(batch_limit)[..., None]
    refused = np.sum(np.where(states == np.asarray(places)[..., None], p, 0.0), axis=-1)
    accepted = arrivals_per_s * (1.0 - refused)
    running = np.sum(np.minimum(states, limit) * p, axis=-1)
    waiting = np.sum(np.maximum(states - limit, 0.0) * p, axis=-1)
    wait_s = waiting / accepted * (arrival_scv_ratio + 1.0) / 2.0
    return ReplicaState(
        accepted_requests_per_s=accepted,
        running=running,
        waiting=waiting,
        refused_fraction=refused,
        wait_s=wait_s,
        residence_s=wait_s + running / accepted,
    )


def mean_latencies_s(
    *,
    probability_fraction: NDArray[np.float64],
    running: Column,
    prefill_s: Column,
    tpot_s: Column,
    wait_s: Column,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean time to first token and mean time per token of a replica.

    TTFT = W + sum_k p[k] prefill(k+1) / sum_k p[k],  TPOT = sum_k k p[k] / sum_k k p[k] / ITL(k)

    An arrival joins those that it finds; every running request writes one token per ITL(k).

    Source: Wolff, Operations Research 1982 (arrivals see time averages).
    """
    found, busy = probability_fraction[..., :-1], probability_fraction[..., 1:] * running
    first = np.asarray(wait_s) + np.sum(found * prefill_s, axis=-1) / np.sum(found, axis=-1)
    each = np.sum(busy, axis=-1) / np.sum(busy / np.asarray(tpot_s), axis=-1)
    return first, each


def ttft_met_fraction(
    *,
    arrivals_per_s: Column,
    departures_per_s: Column,
    prefill_s: Column,
    batch_limit: Column,
    places: Column,
    arrival_scv_ratio: Column,
    ttft_target_s: Column,
) -> Column:
    """Share of accepted requests whose first token comes in time.

    P = sum_{k<B} p[k] 1(prefill(k+1) <= T) + sum_{j>=0} p[B+j] P(Erlang(j+1, mu(B)) <= (T - prefill(B)) / f)

    An arrival sees the state as it is on average; who finds the replica full waits for j+1 departures at
    rate mu(B). f = (Ca^2 + 1)/2 stretches the wait of bursty traffic. `departures_per_s` and `prefill_s`
    hold states 1, 2, ... on the last axis.

    Source: Wolff, Operations Research 1982 (arrivals see time averages); Erlang waiting times of M/M/c.
    """
    p = state_probability_fraction(
        arrivals_per_s=arrivals_per_s, departures_per_s=departures_per_s, places=places
    )
    seen = p[..., :-1]  # an arrival that finds the last place taken is refused
    seen = np.where(np.arange(seen.shape[-1]) < np.asarray(places)[..., None], seen, 0.0)
    found = np.arange(seen.shape[-1])
    limit = np.asarray(batch_limit)[..., None]
    rates, prefill = np.asarray(departures_per_s), np.asarray(prefill_s)
    spare_s = np.asarray(ttft_target_s)[..., None] - prefill
    stretch = (np.asarray(arrival_scv_ratio)[..., None] + 1.0) / 2.0
    with np.errstate(divide="ignore"):
        reach = np.where(stretch > 0, np.maximum(spare_s, 0.0) / stretch, np.inf)
    late = gammaincc(np.maximum(found - limit + 1.0, 1.0), np.minimum(rates * reach, 1e12))
    met = np.where(found < limit, 1.0, 1.0 - late) * (spare_s >= 0)
    result: Column = np.sum(seen * met, axis=-1) / np.sum(seen, axis=-1)
    return result
