"""How many requests per second one replica can take while it keeps its latency targets."""

from dataclasses import dataclass, fields, replace

import numpy as np

from planner.performance._checks import require_not_negative, require_open_share, require_positive
from planner.performance._replica_steps import (
    Steps,
    between_states,
    context_tokens_of,
    states_tried,
    wide,
)
from planner.performance.bundles import Guesses, Limits, Measured, Requests, Targets, worked_on
from planner.performance.columns import Column, Floats
from planner.performance.engine import Chip, Engine, ReplicaLayout, StepTimes, Transformer, on_axes
from planner.performance.mix import bursty_departures_per_s
from planner.performance.queueing import state_probability_fraction
from planner.performance.remembered import remembered
from planner.performance.replica import MixedReplica, largest_mix_rate_per_s, mixed_replica, mixed_state

_WHOLE_PROMPT = 1e12  # tokens of a chunk that holds any prompt
_NO_LOAD = 1e-9  # requests a second at which a replica is idle
_MOST_REMEMBERED = 256  # results: of plans made again with other prices, of pages drawn again


@dataclass(frozen=True, slots=True)
class ReplicaCapacity:
    """What one replica achieves at its planned load; all zero where no load meets the targets."""

    requests_per_s: Column
    limit_requests_per_s: Column
    running: Column
    step_s: Column
    ttft_s: Column
    tpot_s: Column
    wait_s: Column


@remembered(_MOST_REMEMBERED)
def replica_capacity(
    *,
    model: Transformer,
    chip: Chip,
    engine: Engine,
    layout: ReplicaLayout,
    requests: Requests,
    limits: Limits,
    targets: Targets,
    measured: Measured,
    arrival_scv_ratio: Column,
    utilisation_fraction: Column,
    guesses: Guesses | None = None,
) -> ReplicaCapacity:
    """Planned load of one replica and its mean latencies there.

    lambda = u lambda*,  T(k) = (1 - y) T(k', 0) + y sum_j v_j T(k', isl_j/c_j max(1, x)),  x = k/osl sum_j
    w_j c_j

    k' = k (1 - 1/osl),  y = min(1, x),  prefill_j(k) = max(c_j T(k - 1, isl_j/c_j), T(k)),  T = T_model/f(k)

    lambda* is `largest_mix_rate_per_s`; u keeps a margin below it for the peak hour (0.7 to 0.8). The
    replica's groups share requests evenly, so that the queue is that of one group, k the requests of it. The
    batch limit comes from the memory left; 0 means that the model does not fit and gives no capacity. The
    first token comes with the prompt, so that k/osl requests of a step write none; answers of one token are
    prompts alone, whose time per token is 0. Short answers let many prompts join each step: reading one takes
    no less than a step with its share of them, so that no prompt is read for free. Where an engine was
    measured, its points count (`calibrated_step_s` for the bound by the peak). Between the states in which
    the step is worked out (every one at first, then six to a doubling) it is a straight line. Burstinesses to
    try may lie on an axis behind the candidates', as then do the results: the steps are worked out once.
    Where layers lie on p stages, each of the p batches under way is a queue like that of a group. They step
    together, so that a prompt of any of them makes the step longer: y = 1 - (1 - min(1, x))^p, as far as an
    engine does not spread prompts evenly over them (`stage_wait_fraction`). Where tokens are guessed a
    request takes osl/a steps of 1 + d_s tokens each, and a token 1/a of a step; prompts that are known in
    part are read as if they were shorter.

    Source: `step_times`; queue as in the llm-d autoscaler.
    """
    require_open_share(utilisation_fraction=utilisation_fraction)
    accepted = np.asarray(1.0 if guesses is None else guesses.accepted_tokens, dtype=np.float64)
    replica = replica_queue(
        model=model,
        chip=chip,
        engine=engine,
        layout=layout,
        requests=requests,
        limits=limits,
        measured=measured,
        arrival_scv_ratio=arrival_scv_ratio,
        token_spread=bool(np.any(np.asarray(targets.tpot_quantile_fraction) > 0)),
        guesses=guesses,
    )
    targets = replace(targets, tpot_target_s=np.asarray(targets.tpot_target_s) * accepted)
    fits, share = np.asarray(limits.batch_limit) >= 1.0, utilisation_fraction
    groups = np.multiply(layout.dp, layout.pp)
    if np.ndim(replica.batch_limit) > np.ndim(limits.batch_limit):  # several burstinesses
        targets = on_axes(targets, 1)
        fits, share, groups = fits[..., None], np.asarray(share)[..., None], np.asarray(groups)[..., None]
    found = largest_mix_rate_per_s(
        replica=replica,
        ttft_target_s=targets.ttft_target_s,
        tpot_target_s=targets.tpot_target_s,
        quantile_fraction=targets.quantile_fraction,
        tpot_quantile_fraction=targets.tpot_quantile_fraction,
    )
    planned = _planned(replica, np.where(fits, found, 0.0), share, groups)
    if guesses is None:
        return planned
    several = np.ndim(planned.tpot_s) > np.ndim(accepted) > 0
    return replace(planned, tpot_s=planned.tpot_s / (accepted[..., None] if several else accepted))


def replica_queue(
    *,
    model: Transformer,
    chip: Chip,
    engine: Engine,
    layout: ReplicaLayout,
    requests: Requests,
    limits: Limits,
    measured: Measured,
    arrival_scv_ratio: Column,
    token_spread: bool = False,
    guesses: Guesses | None = None,
) -> MixedReplica:
    """The queue of one group of a replica: its times in every state, as `replica_capacity` says.

    s(k) = (ITL(k) - T(k, 0)) / sqrt(k)

    With `token_spread` its times between tokens differ among requests by how many prompts each of them saw
    read: k on average while k run (Little), at random.

    Source: as `replica_capacity`.
    """
    require_not_negative(batch_limit=limits.batch_limit, queue_places=limits.queue_places)
    require_positive(input_tokens=requests.input_tokens, output_tokens=requests.output_tokens)
    limit = np.maximum(np.floor(limits.batch_limit), 1.0)
    tried = states_tried(float(np.max(limit)))
    running = np.minimum(tried, wide(limit))
    chunk, context = wide(limits.chunk_tokens), context_tokens_of(requests)
    requests = worked_on(requests, guesses)
    step = Steps(model, chip, engine, layout, requests, measured, running, chunk, guesses, context)
    _, average_s = step.average()
    own_s = step.chunks * step.with_prompt_s()
    prefill_s = np.maximum(own_s, average_s)
    between_s = step.between_tokens_s()
    spread_s = (between_s - step.without_prompts_s()) / np.sqrt(running) if token_spread else None
    return mixed_replica(
        prefill_s=between_states(prefill_s, tried, limit[..., None]),
        tpot_s=between_states(between_s[..., 0, :], tried, limit),
        step_s=between_states(average_s[..., 0, :], tried, limit),
        share_fraction=requests.share_fraction,
        output_tokens=np.asarray(requests.output_tokens)[..., None] * requests.output_ratio,
        output_scv_ratio=requests.output_scv_ratio,
        batch_limit=limit,
        queue_places=np.floor(limits.queue_places),
        arrival_scv_ratio=arrival_scv_ratio,
        tpot_spread_s=None if spread_s is None else between_states(spread_s[..., 0, :], tried, limit),
        reading=step.reading(tried, limit, wide(limits.interval_steps), limits.pooled),
    )


@dataclass(frozen=True, slots=True)
class RequestAlone:
    """How long a replica takes for a request that meets no other."""

    ttft_s: Column
    tpot_s: Column


def request_alone(
    *,
    model: Transformer,
    chip: Chip,
    engine: Engine,
    layout: ReplicaLayout,
    requests: Requests,
    limits: Limits,
    targets: Targets,
    measured: Measured,
    guesses: Guesses | None = None,
) -> RequestAlone:
    """What no load undercuts: the time to the first token that the wanted share keeps, and for each further.

    ttft = min r_j with sum_{r_i <= r_j} w_i >= q,  tpot = ITL(1)/a;  0 where nothing is written on

    Source: as `replica_capacity`, at no load.
    """
    replica = replica_queue(
        model=model,
        chip=chip,
        engine=engine,
        layout=layout,
        requests=requests,
        limits=limits,
        measured=measured,
        arrival_scv_ratio=1.0,
        guesses=guesses,
    )
    state = mixed_state(replica=replica, arrivals_per_s=np.full(replica.batch_limit.shape, _NO_LOAD))
    own = np.asarray(replica.class_prefill_s[..., 0] if state.own_s is None else state.own_s)
    share = np.broadcast_to(replica.share_fraction, own.shape)
    order = np.argsort(own, axis=-1)
    reached = np.cumsum(np.take_along_axis(share, order, axis=-1), axis=-1)
    wanted = np.asarray(targets.quantile_fraction, dtype=np.float64)[..., None]
    first = np.argmax(reached >= np.minimum(wanted, reached[..., -1:]), axis=-1)[..., None]
    ttft = np.take_along_axis(np.take_along_axis(own, order, axis=-1), first, axis=-1)[..., 0]
    accepted = 1.0 if guesses is None else guesses.accepted_tokens
    return RequestAlone(ttft_s=ttft, tpot_s=np.where(replica.writes_on, state.tpot_s / accepted, 0.0))


@dataclass(frozen=True, slots=True)
class ReplicaUse:
    """What a replica uses of its accelerators at a load, averaged over the time in which it steps."""

    busy_fraction: Column
    memory_use_fraction: Column
    compute_use_fraction: Column
    compute_root_fraction: Column
    exchange_fraction: Column


@remembered(_MOST_REMEMBERED)
def replica_use(
    *,
    model: Transformer,
    chip: Chip,
    engine: Engine,
    layout: ReplicaLayout,
    requests: Requests,
    limits: Limits,
    measured: Measured,
    arrival_scv_ratio: Column,
    requests_per_s: Column,
    guesses: Guesses | None = None,
) -> ReplicaUse:
    """Use of memory, matrices and links of a replica at a load, over the states of its queue.

    busy = 1 - p[0],  u = sum_k p[k] u(k) / busy,  u_mem(k) = bytes/(M T(k)),  u_comp(k) = FLOP/(P_16 T(k))

    A replica with any request steps all the time: few requests read all weights as often as many do. For
    power, operations count over the 16-bit peak, whatever the weights take. The root of u_comp is averaged by
    itself, as a power law takes it. Loads may lie on an axis behind the candidates'.

    Source: time average over the chain of `replica_capacity`; uses as the power law was fitted.
    """
    limit = np.maximum(np.floor(limits.batch_limit), 1.0)
    tried = states_tried(float(np.max(limit)))
    running = np.minimum(tried, wide(limit))
    chunk, context = wide(limits.chunk_tokens), context_tokens_of(requests)
    requests = worked_on(requests, guesses)
    step = Steps(model, chip, engine, layout, requests, measured, running, chunk, guesses, context)
    times, step_s = step.average()
    uses = step_uses(times=times, chip=on_axes(chip, 2), step_s=step_s)
    answer = np.asarray(requests.output_tokens)[..., None]
    rates = running[..., 0, :] / (answer * step_s[..., 0, :])
    places = limit + np.floor(limits.queue_places)
    waiting = int(np.max(places)) - int(np.max(limit))

    def of_states(values: Floats) -> Floats:
        """In every state; those who wait change nothing. Behind an axis of loads."""
        every = between_states(values, tried, limit)
        return np.concatenate([every, np.repeat(every[..., -1:], waiting, axis=-1)], axis=-1)[..., None, :]

    arrivals = np.asarray(requests_per_s, dtype=np.float64)
    loads = arrivals if arrivals.ndim > limit.ndim else arrivals[..., None]
    each = np.maximum(loads / np.multiply(layout.dp, layout.pp)[..., None], 1e-12)
    served = bursty_departures_per_s(
        arrivals_per_s=each,
        departures_per_s=of_states(rates),
        arrival_scv_ratio=np.asarray(arrival_scv_ratio)[..., None],
    )
    p = state_probability_fraction(
        arrivals_per_s=each, departures_per_s=served, places=np.broadcast_to(places[..., None], each.shape)
    )
    busy = np.maximum(1.0 - p[..., 0], 1e-12)

    def mean(values: Floats) -> Column:
        own = of_states(values[..., 0, :])
        found = np.minimum(np.sum(p[..., 1:] * own, axis=-1) / busy, 1.0)
        shown = found if arrivals.ndim > limit.ndim else found[..., 0]
        return shown if np.ndim(shown) else float(shown)

    stepping = busy if arrivals.ndim > limit.ndim else busy[..., 0]
    return ReplicaUse(
        busy_fraction=stepping if np.ndim(stepping) else float(stepping),
        **{name: mean(np.asarray(values)) for name, values in uses.items()},
    )


def step_uses(*, times: StepTimes, chip: Chip, step_s: Column) -> dict[str, Column]:
    """Shares of a step that an accelerator uses of its memory, its 16-bit peak and its links.

    u_mem = bytes/(M T),  u_comp = FLOP/(P_16 T),  x = t_exchange/T_model, each at most 1

    `step_s` is the measured step where there is one; the exchanges keep their share of the modelled one.

    Source: definition in the fit of `accelerator_power_kw`.
    """
    compute = np.minimum(times.tflop / (chip.half_peak_tflop_per_s * step_s), 1.0)
    return {
        "memory_use_fraction": np.minimum(times.read_gb / (chip.memory_gb_per_s * step_s), 1.0),
        "compute_use_fraction": compute,
        "compute_root_fraction": np.sqrt(compute),
        "exchange_fraction": np.minimum(times.exchange_s / times.total_s, 1.0),
    }


def _planned(
    replica: MixedReplica, largest: Floats, utilisation_fraction: Column, groups: Column
) -> ReplicaCapacity:
    """A replica at its planned load; zero where nothing works, plain numbers for plain arguments."""
    works = largest > 0
    planned = utilisation_fraction * largest
    # An idle replica is used instead where nothing works; it is masked below.
    state = mixed_state(replica=replica, arrivals_per_s=np.where(works, planned, _NO_LOAD))

    def shown(value: Column) -> Column:
        masked = np.where(works, value, 0.0)
        return masked if masked.ndim else float(masked)

    return ReplicaCapacity(
        requests_per_s=shown(planned * groups),
        limit_requests_per_s=shown(largest * groups),
        running=shown(state.queue.running * groups),
        step_s=shown(state.tpot_s),
        ttft_s=shown(state.ttft_s),
        tpot_s=shown(np.where(replica.writes_on, state.tpot_s, 0.0)),
        wait_s=shown(state.queue.wait_s),
    )


def average_step(
    *,
    model: Transformer,
    chip: Chip,
    engine: Engine,
    layout: ReplicaLayout,
    requests: Requests,
    running: Column,
    chunk_tokens: Column | None = None,
) -> StepTimes:
    """A step of a replica in which so many requests run in all, prompts joining as answers leave.

    As T(k) of `replica_capacity`.

    Source: balance of a steady state, as `prefill_tokens`; `step_times`.
    """
    own = np.maximum(wide(np.asarray(running) / np.multiply(layout.dp, layout.pp)), 1e-9)
    chunk = wide(_WHOLE_PROMPT if chunk_tokens is None else chunk_tokens)
    times, _ = Steps(model, chip, engine, layout, requests, Measured(), own, chunk).average()
    shape = np.broadcast_shapes(np.shape(running), np.shape(layout.tp), np.shape(requests.input_tokens))
    plain = {f.name: np.broadcast_to(getattr(times, f.name)[..., 0, 0], shape) for f in fields(times)}
    return StepTimes(**{name: value if shape else float(value) for name, value in plain.items()})
