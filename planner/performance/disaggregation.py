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
from planner.performance.capacity import ReplicaCapacity
from planner.performance.columns import Column
from planner.performance.users import NOTHING_S

ROUNDING = 1e-9  # of a count of units


def reading_target_s(*, ttft_target_s: Column, transfer_s: Column) -> Column:
    """What the way of the cache leaves of the time to the first token for those who read prompts.

    T' = max(T - t, 1 us)

    The first token travels with the cache of its prompt, as in engines whose decode side sends the answer.

    Source: definition.
    """
    return np.maximum(np.subtract(ttft_target_s, transfer_s), NOTHING_S)


def handover_target_s(*, tpot_target_s: Column, accepted_tokens: Column) -> Column:
    """Longest time from the arrival of a cache to the next tokens.

    H = 2 a tau

    The step that runs may end first, then follows its own: each gives a tokens and takes at most as many
    times per token. Who waits for a place as well is late.

    Source: definition; steps as in continuous batching, Yu et al., "Orca", OSDI 2022.
    """
    return 2.0 * np.multiply(accepted_tokens, tpot_target_s)


def dealt_scv_ratio(*, arrival_scv_ratio: Column, replicas: Column) -> Column:
    """Burstiness at one of several replicas among which requests are dealt at random.

    c_1^2 = 1 + (c^2 - 1)/n

    Burstinesses to try may lie on an axis behind the replicas'.

    Source: random splitting (Whitt, "The queueing network analyzer", BSTJ 1983).
    """
    scv = np.asarray(arrival_scv_ratio, dtype=np.float64)
    return 1.0 + (scv - 1.0) / _before(replicas, scv)


@dataclass(frozen=True, slots=True)
class Pair:
    """Whole replicas of both kinds: how many, and which of those that were tried."""

    readers: int
    reading: int
    writers: int
    writing: int


def best_pairs(
    *,
    reading_per_s: NDArray[np.float64],
    reading_accelerators: NDArray[np.intp],
    writing_per_s: NDArray[np.float64],
    writing_accelerators: NDArray[np.intp],
    most: int,
    wanted_per_s: float = np.inf,
    ports_per_s: NDArray[np.float64] | None = None,
) -> list[Pair]:
    """Units of each size with the best ratio, the smallest first, where they may save accelerators.

    c(N) = max over n_r a_r + n_w a_w = N of min(n_r lambda_r, n_w lambda_w),  n_r, n_w <= most

    Every number of every kind of replica is tried with every other. A unit is left out where whole units of
    a smaller kind carry as much on no more accelerators, N >= ceil(c/c') N', and so are those beyond the
    first that carries all that is wanted.

    Args:
        reading_per_s: requests/s of a replica of each kind that reads, next to each kind that writes
            [kinds, kinds]: the way of the cache between both takes a part of its time.
        reading_accelerators: accelerators of each kind that reads.
        writing_per_s: requests/s of a replica of each kind that writes.
        writing_accelerators: accelerators of each kind that writes.
        most: replicas of one kind in a unit.
        wanted_per_s: the largest demand.
        ports_per_s: requests/s that the ports of one replica of either pass [2, kinds, kinds]; without limit
            where none are given.

    Source: Zhong et al., "DistServe", OSDI 2024, algorithm 1 (each kind is counted by its own goodput).
    """
    count = np.arange(1, most + 1)
    reads, writes = np.asarray(reading_per_s, dtype=np.float64), np.asarray(writing_per_s, dtype=np.float64)
    sent, received = (np.inf, np.inf) if ports_per_s is None else ports_per_s
    reads = np.minimum(reads, sent)
    takes = np.minimum(np.broadcast_to(writes[None, :], reads.shape), received)
    carried = np.minimum(
        count[:, None, None, None] * reads[:, None, :], count[None, None, :, None] * takes[:, None, :]
    )  # [readers, reading, writers, writing]
    size = (count[:, None] * reading_accelerators)[:, :, None, None] + count[:, None] * writing_accelerators
    # The smallest first; of one size what carries most, and of those as many as can be alike.
    order = np.lexsort((-carried.ravel(), size.ravel()))
    found, kept = list[Pair](), list[tuple[float, int]]()
    for at in order.tolist():
        value, accelerators = float(carried.ravel()[at]), int(size.ravel()[at])
        if kept and kept[-1][0] >= wanted_per_s:
            break
        if value > 0 and all(np.ceil(value / own - ROUNDING) * each > accelerators for own, each in kept):
            n_r, reading, n_w, writing = (int(n) for n in np.unravel_index(at, carried.shape))
            found.append(Pair(n_r + 1, reading, n_w + 1, writing))
            kept.append((value, accelerators))
    return found


def unit_capacity(
    *,
    readers: Column,
    writers: Column,
    reading_limit_per_s: Column,
    writing_limit_per_s: Column,
    reading_ttft_s: Column,
    reading_wait_s: Column,
    writing_tpot_s: Column,
    writing_running: Column,
    transfer_s: Column,
    sending_s: Column,
    receiving_s: Column,
    utilisation_fraction: Column,
) -> ReplicaCapacity:
    """What a unit of replicas that read prompts and replicas that write answers carries, and how fast.

    lambda* = min(n_r lambda_r*, n_w lambda_w*, n_r/t_r, n_w/t_w),  lambda = u lambda*,  TTFT = TTFT_r + t

    lambda_r* keeps the time to the first token less the way t of the cache, lambda_w* the time per token and
    the handover. The ports of a replica pass one cache after the other: in t_r where it is sent, t_w where it
    is received. Latencies are those of each kind at its own planned load, which that of the unit does not
    exceed. Burstinesses to try may lie on an axis behind the units'.

    Source: Zhong et al., "DistServe", OSDI 2024, arXiv 2401.09670; Patel et al., "Splitwise", ISCA 2024.
    """
    require_open_share(utilisation_fraction=utilisation_fraction)
    reads, writes = (np.asarray(one, dtype=np.float64) for one in (reading_limit_per_s, writing_limit_per_s))
    n_r, n_w = _before(readers, reads), _before(writers, writes)
    ports = np.minimum(
        n_r / np.maximum(_before(sending_s, reads), NOTHING_S),
        n_w / np.maximum(_before(receiving_s, reads), NOTHING_S),
    )
    limit = np.minimum(np.minimum(n_r * reads, n_w * writes), ports)
    works = limit > 0

    def shown(value: Column) -> Column:
        return _plain(np.where(works, value, 0.0))

    return ReplicaCapacity(
        requests_per_s=shown(utilisation_fraction * limit),
        limit_requests_per_s=shown(limit),
        running=shown(n_w * writing_running),
        step_s=shown(writing_tpot_s),
        ttft_s=shown(np.asarray(reading_ttft_s) + _before(transfer_s, reads)),
        tpot_s=shown(writing_tpot_s),
        wait_s=shown(reading_wait_s),
    )


def unit_accelerator_kw(
    *,
    readers: Column,
    writers: Column,
    reading_accelerators: Column,
    writing_accelerators: Column,
    reading_kw: Column,
    writing_kw: Column,
) -> Column:
    """Mean power of an accelerator of a unit.

    P = (n_r a_r P_r + n_w a_w P_w) / (n_r a_r + n_w a_w)

    Source: definition of a mean. Loads may lie on an axis behind the units'.
    """
    kw = np.asarray(reading_kw, dtype=np.float64)
    read = _before(np.multiply(readers, reading_accelerators), kw)
    write = _before(np.multiply(writers, writing_accelerators), kw)
    return _plain(np.asarray((read * kw + write * np.asarray(writing_kw)) / (read + write)))


def shared_per_s(*, rate_per_s: Column, replicas: Column) -> Column:
    """Requests that one of several replicas takes.

    lambda_1 = lambda/n

    Source: definition. Loads may lie on an axis behind the replicas'.
    """
    rate = np.asarray(rate_per_s, dtype=np.float64)
    return _plain(rate / _before(replicas, rate))


def kv_transfer_s(
    *,
    input_tokens: Column,
    kv_cache_gb_per_token: Column,
    state_gb: Column,
    network_gb_per_s: Column,
    latency_s: Column,
    exposed_fraction: Column,
) -> Column:
    """Time of the cache of a prompt from the accelerators that read it to those that write its answer.

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


def _before(column: Column, like: NDArray[np.float64]) -> NDArray[np.float64]:
    """A column of rows before the axes that follow them."""
    plain = np.asarray(column, dtype=np.float64)
    return plain.reshape(plain.shape + (1,) * (like.ndim - plain.ndim)) if plain.ndim else plain


def _plain(value: NDArray[np.float64]) -> Column:
    return value if value.ndim else float(value)
