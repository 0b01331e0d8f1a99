"""One replica under a mix of requests: state at a load, share of first tokens in time, largest load."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaincc, gammaln, ndtr, xlogy

from planner.performance._checks import require_not_negative, require_positive, require_share
from planner.performance.columns import Column, Floats
from planner.performance.mix import bursty_log_ratios, wait_factor
from planner.performance.prefill_queue import (
    GatedQueue,
    PromptReading,
    PromptWait,
    at_state,
    prompt_times,
    prompt_wait,
    wait_in_time_fraction,
)
from planner.performance.queueing import ReplicaState, chain_of_log_ratios, departures_per_s

_HALVINGS = 20  # of the bracket: the rate is found to 1e-6 of the saturation rate
# So many halvings at once, where that makes few numbers: a call costs more than they do.
_AT_ONCE, _FEW_STATES = 4, 20_000
_NEAR_ONE = 1e-5  # a ratio nearer to 1 than this lets the difference of two Q cancel in the closed sum
_LARGEST_EXPONENT = 700.0  # e to it is still a number
_LEAST_CHANCE = 1e-300
_NEGLIGIBLE = 1e-12  # share of time in which a replica is full


@dataclass(frozen=True, slots=True)
class MixedReplica:
    """A replica in states 1, 2, ... up to its places (last axis), one entry per candidate before it.

    Where `reading` is not given, prompts are read at once, whatever other prompts are there.
    """

    running: Floats
    prefill_s: Floats
    tpot_s: Floats
    departures_per_s: Floats
    class_prefill_s: Floats
    share_fraction: Floats
    service_scv_ratio: Floats
    writes_on: NDArray[np.bool_]
    batch_limit: Floats
    places: Floats
    arrival_scv_ratio: Column
    wait_factor: Column
    tpot_spread_s: Floats
    reading: PromptReading | None


@dataclass(frozen=True, slots=True)
class MixedState:
    """Long-run means of a replica at one load; `probability_fraction` of 0, 1, 2, ... requests inside.

    `full_departures_per_s` is the rate at which a full replica is left, bursts included. Who is let in waits
    `prompts` for the prompts of others, and reads its own, by class, in `own_s`.
    """

    probability_fraction: Floats
    full_departures_per_s: Floats
    queue: ReplicaState
    ttft_s: Floats
    tpot_s: Floats
    prompts: PromptWait | None = None
    own_s: Floats | None = None


def mixed_replica(
    *,
    prefill_s: Floats,
    tpot_s: Floats,
    step_s: Floats,
    share_fraction: Column,
    output_tokens: Column,
    output_scv_ratio: Column,
    batch_limit: Column,
    queue_places: Column,
    arrival_scv_ratio: Column,
    tpot_spread_s: Floats | None = None,
    reading: PromptReading | None = None,
) -> MixedReplica:
    """A replica from its times in states 1, 2, ... up to the largest batch limit.

    mu(k) = k / max(E[prefill(k)] + (E[o] - 1) ITL(k), E[o] T(k)),  Cs^2 = E[S^2]/E[S]^2 - 1

    S_j = prefill_j(B) + (o_j - 1) ITL(B),  E_j[S^2] = S_j^2 + v_j (o_j ITL(B))^2

    `prefill_s` has candidates, classes of prompts and states on its axes, `tpot_s` (ITL, between two tokens
    of a request) and `step_s` (T, with the prompts of all) candidates and states;
    answers of a class have a mean and a squared coefficient of variation v. Beyond the batch limit
    `queue_places` requests wait. `writes_on` says whether any class writes more than its first token.
    `tpot_spread_s` is the standard deviation of ITL among requests in a state; none where it does not matter.
    `arrival_scv_ratio` may have an axis behind the candidates', which then all columns have.

    Source: queue model of the llm-d workload-variant autoscaler; law of total variance.
    """
    require_positive(prefill_s=prefill_s, tpot_s=tpot_s, output_tokens=output_tokens)
    require_not_negative(
        queue_places=queue_places, output_scv_ratio=output_scv_ratio, share_fraction=share_fraction
    )
    share, answers = np.asarray(share_fraction), np.asarray(output_tokens)
    limit = np.asarray(batch_limit, dtype=np.float64)
    places = limit + np.asarray(queue_places)
    states = np.arange(1.0, float(np.max(places)) + 1.0)

    def waiting_too(times: Floats) -> Floats:
        """Times of all states: who waits changes nothing."""
        return np.concatenate(
            [times, np.repeat(times[..., -1:], len(states) - times.shape[-1], axis=-1)], axis=-1
        )

    running = np.minimum(states, limit[..., None])
    mean_prefill = waiting_too(np.sum(share[..., None] * prefill_s, axis=-2))
    token = waiting_too(tpot_s)
    answer = np.sum(share * answers, axis=-1)
    full = prefill_s[..., -1] + np.maximum(answers - 1.0, 0.0) * tpot_s[..., -1:]
    squares = full**2 + output_scv_ratio * (answers * tpot_s[..., -1:]) ** 2
    service_scv_ratio = np.sum(share * squares, axis=-1) / np.sum(share * full, axis=-1) ** 2 - 1.0
    replica = MixedReplica(
        running=running,
        prefill_s=mean_prefill,
        tpot_s=token,
        departures_per_s=np.asarray(
            departures_per_s(
                running=running,
                prefill_s=mean_prefill,
                tpot_s=token,
                output_tokens=answer[..., None],
                step_s=waiting_too(step_s),
            )
        ),
        class_prefill_s=prefill_s,
        share_fraction=share,
        service_scv_ratio=service_scv_ratio,
        writes_on=np.any((share > 0) & (answers > 1.0), axis=-1),
        batch_limit=limit,
        places=places,
        arrival_scv_ratio=arrival_scv_ratio,
        wait_factor=1.0,
        tpot_spread_s=waiting_too(np.zeros_like(tpot_s) if tpot_spread_s is None else tpot_spread_s),
        reading=reading,
    )
    if np.ndim(arrival_scv_ratio) > limit.ndim:
        replica = _with_axis(replica)
    factor = wait_factor(arrival_scv_ratio=arrival_scv_ratio, service_scv_ratio=replica.service_scv_ratio)
    return dataclasses.replace(replica, wait_factor=factor)


def _with_axis(replica: MixedReplica) -> MixedReplica:
    """With an axis of length 1 right behind the candidates'."""
    behind = {"class_prefill_s": 2, "running": 1, "prefill_s": 1, "tpot_s": 1, "departures_per_s": 1}
    behind |= {
        "tpot_spread_s": 1,
        "share_fraction": 1,
        "service_scv_ratio": 0,
        "writes_on": 0,
        "batch_limit": 0,
        "places": 0,
    }
    wide = {name: np.expand_dims(getattr(replica, name), -1 - axes) for name, axes in behind.items()}
    reading = replica.reading
    if reading is not None:
        behind = {"own_s": 2, "calm_s": 1, "hidden_s": 1, "work_s": 1, "shared_s": 1, "share_fraction": 1}
        behind |= {"chunk_s": 0, "limit": 0, "others": 0, "groups": 0, "servers": 0}
        more = {name: np.expand_dims(getattr(reading, name), -1 - axes) for name, axes in behind.items()}
        reading = dataclasses.replace(reading, **more)
    return dataclasses.replace(replica, **wide, reading=reading)


def mixed_state(*, replica: MixedReplica, arrivals_per_s: Column) -> MixedState:
    """Long-run means of a replica at a load.

    W = f N_q / lambda_acc, the chain filled by `bursty_departures_per_s`, f the `wait_factor`

    TTFT = W + W_p + E[r],  TPOT = sum_k k p[k] / sum_k k p[k] / ITL(k)

    W_p is the wait for other prompts (`prompt_wait`), r the time to read a prompt, both at the mean state
    that finds room and company: k_1 = sum_{0<k<B} k p[k] / sum_{0<k<B} p[k]. A replica without `reading`
    takes r = sum_k p[k] prefill(k+1) / sum_k p[k] and no W_p.

    Below the batch limit the replica is a shared processor: its states depend on lengths by their mean only.

    Source: Kelly, "Reversibility and Stochastic Networks", 1979, section 3.3 (insensitivity); Little's law;
    Allen, "Probability, Statistics and Queueing Theory", 1990 (factor of the wait); Wolff, Operations
    Research 1982 (arrivals see time averages).
    """
    return _in_state(replica)(arrivals_per_s)


def _in_state(replica: MixedReplica) -> Callable[[Column], MixedState]:
    """`mixed_state` at any load; what no load changes is worked out here, once."""
    states = np.arange(1.0, replica.running.shape[-1] + 1.0)
    places, limit = replica.places[..., None], replica.batch_limit[..., None]
    log_rates = np.log(replica.departures_per_s)
    spread = np.asarray(replica.arrival_scv_ratio)[..., None]
    beyond, last = states > places, places.astype(np.intp)
    queued = np.maximum(states - limit, 0.0)
    tokens = replica.running / replica.tpot_s
    reading = replica.reading
    times = None if reading is None else prompt_times(reading)
    room = (states < limit).astype(np.float64)

    def state(arrivals_per_s: Column) -> MixedState:
        """Means at this load."""
        load = np.asarray(arrivals_per_s, dtype=np.float64)
        ratios = bursty_log_ratios(np.log(load)[..., None] - log_rates, spread)
        p = chain_of_log_ratios(ratios, beyond)
        refused = np.take_along_axis(p, np.broadcast_to(last, (*p.shape[:-1], 1)), axis=-1)[..., 0]
        accepted = load * (1.0 - refused)
        found, inside = p[..., :-1], p[..., 1:]
        running = _weighed(inside, replica.running)
        waiting = _weighed(inside, queued)
        wait_s = waiting / accepted * replica.wait_factor
        if reading is None or times is None:
            prompts, own_s = None, None
            first_s = _weighed(found, replica.prefill_s) / found.sum(axis=-1)
        else:
            company = np.maximum(_weighed(inside, room), _LEAST_CHANCE)
            others = _weighed(inside, room * states) / company
            empty = p[..., 0] / (p[..., 0] + company)
            prompts, own_s = _prompts(reading, times, load, others, empty, replica.arrival_scv_ratio)
            first_s = np.sum(reading.share_fraction * own_s, axis=-1) + prompts.mean_s
        return MixedState(
            probability_fraction=p,
            full_departures_per_s=load * np.exp(-ratios[..., -1]),
            queue=ReplicaState(
                accepted_requests_per_s=accepted,
                running=running,
                waiting=waiting,
                refused_fraction=refused,
                wait_s=wait_s,
                residence_s=wait_s + running / accepted,
            ),
            ttft_s=wait_s + first_s,
            tpot_s=running / _weighed(inside, tokens),
            prompts=prompts,
            own_s=own_s,
        )

    return state


def _prompts(
    reading: PromptReading,
    times: Floats,
    load: Floats,
    others: Floats,
    empty_fraction: Floats,
    arrival_scv_ratio: Column,
) -> tuple[PromptWait, Floats]:
    """Wait for other prompts, and time to read one's own by class, next to so many others."""
    found = at_state(times, reading, others + 1.0)
    queue = GatedQueue(
        arrivals_per_s=load,
        calm_s=found[..., -2],
        hidden_s=found[..., -1],
        work_s=reading.work_s,
        share_fraction=reading.share_fraction,
        chunk_s=reading.chunk_s,
        others=reading.others,
        groups=reading.groups,
        shared_s=reading.shared_s,
    )
    wait = prompt_wait(
        queue,
        empty_fraction=empty_fraction,
        arrival_scv_ratio=arrival_scv_ratio,
        servers=reading.servers,
    )
    return wait, found[..., :-2]


def _weighed(chance: Floats, values: Floats) -> Floats:
    """Sum over the states, without a copy of their product."""
    result: Floats = np.einsum("...k,...k->...", chance, values)
    return result


def first_tokens_in_time_fraction(
    *, replica: MixedReplica, state: MixedState, arrivals_per_s: Column, ttft_target_s: Column
) -> Floats:
    """Share of accepted requests of the whole mix whose first token comes in time.

    P = sum_{k<B} p[k] F + p[B] sum_j w_j G(x_j),  F = sum_j w_j P(W_p + r_j <= T)

    G(x_j) = min(sum_{i<n} r^i P(Erlang(i+1) <= x_j), P(W_p + r_j <= T) sum_{i<n} r^i)

    x_j = mu(B) (T - r_j(B))/f

    W_p and r_j as of `mixed_state`; without `reading` F(k+1) = sum_j w_j 1(prefill_j(k+1) <= T), r_j(B) =
    prefill_j(B) and no W_p. r = lambda/mu(B), n places to wait. Who finds the replica full waits for
    departures at rate mu(B), so that the states beyond B fall by r each and the sum over them is closed
    (`_waited_in_time`). Prompts ahead are read meanwhile: the longer of both waits counts, not their sum.

    Source: Wolff, Operations Research 1982 (arrivals see time averages); Erlang waiting times of M/M/c.
    """
    return _in_time(replica, ttft_target_s)(state, arrivals_per_s)


def _in_time(replica: MixedReplica, ttft_target_s: Column) -> Callable[[MixedState, Column], Floats]:
    """`first_tokens_in_time_fraction` at any load; what no load changes is worked out here, once."""
    states = replica.class_prefill_s.shape[-1]
    target = np.asarray(ttft_target_s)[..., None]
    share = replica.share_fraction
    free = np.arange(states) < replica.batch_limit[..., None]
    at_once_in_time = free.astype(np.float64)
    if replica.reading is None:
        in_time = np.sum(share[..., None] * (replica.class_prefill_s <= target[..., None]), axis=-2)
        at_once_in_time = np.where(free, in_time, 0.0)
    admitted = (np.arange(replica.running.shape[-1]) < replica.places[..., None]).astype(np.float64)
    # Other prompts are waited for in `prompts`; without, reading one takes as long as all that join with it.
    last_s = (replica.class_prefill_s if replica.reading is None else replica.reading.own_s)[..., -1]
    spare_s = target - last_s
    places = (replica.places - replica.batch_limit)[..., None]
    queue = np.maximum(places, 1.0)
    last = replica.batch_limit[..., None].astype(np.intp)

    def share_in_time(state: MixedState, arrivals_per_s: Column) -> Floats:
        """Of those accepted at this load."""
        seen = state.probability_fraction[..., :-1]
        accepted = _weighed(seen, admitted)
        at_once = _weighed(seen[..., :states], at_once_in_time)
        of_prompts = np.ones_like(share)
        if state.prompts is not None and state.own_s is not None:
            of_prompts = wait_in_time_fraction(wait=state.prompts, own_s=state.own_s, spare_s=target[..., 0])
            at_once = at_once * np.sum(share * of_prompts, axis=-1)
        chance = state.probability_fraction
        full = np.take_along_axis(chance, np.broadcast_to(last, (*chance.shape[:-1], 1)), axis=-1)[..., 0]
        if np.all(full < _NEGLIGIBLE):
            return np.asarray(at_once / accepted)
        full_rate = state.full_departures_per_s
        ratio = (np.asarray(arrivals_per_s) / full_rate)[..., None]
        reach = np.clip(spare_s * (full_rate / replica.wait_factor)[..., None], 0.0, 1e12)
        waited = _waited_in_time(ratio=ratio, places=queue, reach=reach)
        some = _waited_in_time(ratio=ratio, places=queue, reach=np.full_like(ratio, 1e12))
        queued = np.where((spare_s >= 0) & (places > 0), np.minimum(waited, some * of_prompts), 0.0)
        result: Floats = (at_once + full * np.sum(share * queued, axis=-1)) / accepted
        return result

    return share_in_time


def _waited_in_time(*, ratio: Floats, places: Floats, reach: Floats) -> Floats:
    """States of a full replica, each by its weight and its chance that the wait is short enough.

    G(x) = sum_{i<n} r^i P(Erlang(i+1) <= x) = [(1 - r^n) P(n, x) + (1 - e^{-xd}) Q(n, x) - e^{-xd} D]/d

    d = 1 - r,  D = Q(n, r x) - Q(n, x), near r = 1 the density of Erlang(n) at x (1 - d/2) times x d

    P and Q are the incomplete gamma functions. Every term falls with d of its own, so that nothing cancels
    where arrivals come as fast as requests leave; there G is sum_{i<n} P(Erlang(i+1) <= x).

    Source: sum over i exchanged with that of the Poisson terms.
    """
    gap = 1.0 - ratio
    gap = np.where(gap == 0.0, np.finfo(np.float64).tiny, gap)
    near = np.abs(gap) < _NEAR_ONE
    falls = np.minimum(-reach * gap, _LARGEST_EXPONENT)
    middle = reach * (1.0 - gap / 2.0)
    density = np.exp(xlogy(places - 1.0, middle) - middle - gammaln(places))
    far = gammaincc(places, ratio * reach) - gammaincc(places, reach)
    between = np.exp(falls) * np.where(near, reach * gap * density, far)
    shrinks = -np.expm1(places * np.where(near, np.log1p(-np.where(near, gap, 0.0)), np.log(ratio)))
    summed = shrinks * gammainc(places, reach) - np.expm1(falls) * gammaincc(places, reach) - between
    result: Floats = summed / gap
    return result


def tokens_in_time_fraction(*, replica: MixedReplica, state: MixedState, tpot_target_s: Column) -> Floats:
    """Share of running requests whose time per token keeps its target.

    P = sum_k k p[k] Phi((T - ITL(k)) / s(k)) / sum_k k p[k]

    A request that passes through several states sees their mean: this errs to the late side.

    Source: normal law of the sum of many prompts that are read between the tokens of a request.
    """
    spare_s = np.asarray(tpot_target_s)[..., None] - replica.tpot_s
    spread_s = replica.tpot_spread_s
    sure = np.where(spare_s >= 0.0, 1.0, 0.0)
    chance = np.where(spread_s > 0.0, ndtr(spare_s / np.where(spread_s > 0.0, spread_s, 1.0)), sure)
    inside = state.probability_fraction[..., 1:] * replica.running
    result: Floats = _weighed(inside, chance) / np.sum(inside, axis=-1)
    return result


def largest_mix_rate_per_s(
    *,
    replica: MixedReplica,
    ttft_target_s: Column,
    tpot_target_s: Column,
    quantile_fraction: Column,
    tpot_quantile_fraction: Column = 0.0,
) -> Floats:
    """Largest request rate at which one replica meets both latency targets over the mix; 0 where none does.

    lambda* = max {lambda <= mu(B) : TTFT <= target and TPOT <= target}

    `quantile_fraction` is of the first token: 0.99 asks that 99 % of arrivals (refused ones count as late)
    get it in time, 0 compares means. The time per token is a mean over requests, as engines and peers report
    it, where `tpot_quantile_fraction` is 0; else that share of requests keeps it too. Answers of one token
    have no further one, and no time per token to keep. Found by halving a bracket for all candidates at once;
    where states are few, by looking at all loads of the next four halvings together: the same steps.

    Source: replica sizing as in the llm-d workload-variant autoscaler, here with quantiles over a mix.
    """
    require_positive(ttft_target_s=ttft_target_s, tpot_target_s=tpot_target_s)
    require_share(quantile_fraction=quantile_fraction)
    in_state, share_in_time = _in_state(replica), _in_time(replica, ttft_target_s)
    last = ~replica.writes_on  # the first token is the last
    quantile, token_quantile = np.asarray(quantile_fraction), np.asarray(tpot_quantile_fraction)
    if np.any(quantile >= 1):
        raise ValueError(f"quantile_fraction must stay below 1 (no load is certain), got {quantile_fraction}")

    def meets(arrivals_per_s: Floats) -> NDArray[np.bool_]:
        """Whether this load keeps both targets, by mean or by quantile."""
        state = in_state(arrivals_per_s)
        by_mean = (state.ttft_s <= ttft_target_s) & (last | (state.tpot_s <= tpot_target_s))
        in_time = share_in_time(state, arrivals_per_s) * (1.0 - state.queue.refused_fraction)
        writes = last | (state.tpot_s <= tpot_target_s)
        if np.any(token_quantile > 0):
            each = tokens_in_time_fraction(replica=replica, state=state, tpot_target_s=tpot_target_s)
            writes &= last | (each >= token_quantile)
        by_quantile = (in_time >= quantile) & writes
        good: NDArray[np.bool_] = np.where(quantile > 0, by_quantile, by_mean)
        return good

    shape = np.broadcast_shapes(
        *map(np.shape, (replica.batch_limit, ttft_target_s, tpot_target_s, quantile)),
        replica.departures_per_s.shape[:-1],
    )
    high = np.broadcast_to(replica.departures_per_s.max(axis=-1), shape)
    low = np.zeros(shape)
    levels = _AT_ONCE if replica.departures_per_s.size <= _FEW_STATES else 1
    parts = (np.arange(1, 2**levels) / 2**levels).reshape(-1, *(1,) * len(shape))
    for _ in range(_HALVINGS // levels):
        good = meets(low + (high - low) * parts)
        reached = np.zeros(shape, dtype=np.intp)
        for level in reversed(range(levels)):
            middle = reached + 2**level
            reached = np.where(np.take_along_axis(good, middle[None] - 1, axis=0)[0], middle, reached)
        low, high = (low + (high - low) * ((reached + more) / 2**levels) for more in (0, 1))
    return low
