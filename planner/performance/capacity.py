"""How many requests per second one replica can take while it keeps its latency targets."""

from dataclasses import dataclass, field, fields, replace

import numpy as np

from planner.performance._checks import require_not_negative, require_open_share, require_positive
from planner.performance.bundles import Entry
from planner.performance.calibrate_serving import calibrated_step_s, serving_factor_at, step_arithmetic_s
from planner.performance.columns import Column, Floats
from planner.performance.engine import (
    Chip,
    Engine,
    ReplicaLayout,
    StepTimes,
    Transformer,
    matrix_parameters,
    on_axes,
    step_times,
)
from planner.performance.mix import bursty_departures_per_s, class_context_tokens
from planner.performance.prefill_queue import PromptReading
from planner.performance.queueing import state_probability_fraction
from planner.performance.remembered import remembered
from planner.performance.replica import MixedReplica, largest_mix_rate_per_s, mixed_replica, mixed_state
from planner.performance.serving import prefill_steps


def _one() -> Floats:
    """Prompts that are alike, whose answers spread like exponential ones: all that means can say."""
    return np.ones(1)


# States in which a step is worked out: every one up to the first figure, then so many to each doubling.
_EVERY, _TO_A_DOUBLING = 8, 6
_WHOLE_PROMPT = 1e12  # tokens of a chunk that holds any prompt
_MOST_REMEMBERED = 256  # results: of plans made again with other prices, of pages drawn again


@dataclass(frozen=True, slots=True, kw_only=True)
class Requests:
    """Lengths of requests: means, and classes of prompts on the last axis of the other columns.

    As of `prompt_classes`: share of requests, mean prompt and answer of a class over those of all, spread of
    its answers. Where only means are known there is one class, whose answers spread like exponential ones.
    """

    input_tokens: Entry
    output_tokens: Entry
    share_fraction: Entry = field(default_factory=_one)
    input_ratio: Entry = field(default_factory=_one)
    output_ratio: Entry = field(default_factory=_one)
    output_scv_ratio: Entry = field(default_factory=_one)


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """When a first token and each further one are in time, and for which share of them; 0 compares means."""

    ttft_target_s: Entry
    tpot_target_s: Entry
    quantile_fraction: Entry
    tpot_quantile_fraction: Entry = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Requests that each group of a replica holds, that may wait for it, and prompt tokens of a step.

    An engine that schedules `interval_steps` at once reads prompts in every so many steps alone. So many
    replicas as are `pooled` take prompts from one queue, to whichever is free first; 1 where each replica is
    dealt its own.
    """

    batch_limit: Entry
    queue_places: Entry
    chunk_tokens: Entry
    interval_steps: Entry = 1.0
    pooled: Entry = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Points on the last axis at which an engine was measured, and its factors (`serving_factor_at`)."""

    batches: Entry = field(default_factory=_one)
    factors: Entry = field(default_factory=_one)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guesses:
    """Tokens guessed ahead for each request in a step, and tokens that the step gives it on average.

    Of a prompt `read_fraction` is read, and the rest known from earlier ones: it takes room all the same.
    """

    draft_tokens: Entry
    accepted_tokens: Entry
    read_fraction: Entry = 1.0


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
    tried = _tried(float(np.max(limit)))
    running = np.minimum(tried, _wide(limit))
    chunk, context = _wide(limits.chunk_tokens), _context(requests)
    requests = _worked_on(requests, guesses)
    step = _Steps(model, chip, engine, layout, requests, measured, running, chunk, guesses, context)
    _, average_s = step.average()
    own_s = step.chunks * step.with_prompt_s()
    prefill_s = np.maximum(own_s, average_s)
    between_s = step.between_tokens_s()
    spread_s = (between_s - step.without_prompts_s()) / np.sqrt(running) if token_spread else None
    return mixed_replica(
        prefill_s=_between(prefill_s, tried, limit[..., None]),
        tpot_s=_between(between_s[..., 0, :], tried, limit),
        step_s=_between(average_s[..., 0, :], tried, limit),
        share_fraction=requests.share_fraction,
        output_tokens=np.asarray(requests.output_tokens)[..., None] * requests.output_ratio,
        output_scv_ratio=requests.output_scv_ratio,
        batch_limit=limit,
        queue_places=np.floor(limits.queue_places),
        arrival_scv_ratio=arrival_scv_ratio,
        tpot_spread_s=None if spread_s is None else _between(spread_s[..., 0, :], tried, limit),
        reading=step.reading(own_s, tried, limit, _wide(limits.interval_steps), limits.pooled),
    )


def _worked_on(requests: Requests, guesses: Guesses | None) -> Requests:
    """Requests by the steps that they take and the tokens that are read of them."""
    if guesses is None:
        return requests
    steps = np.maximum(np.asarray(requests.output_tokens) / guesses.accepted_tokens, 1.0)
    read = np.maximum(np.asarray(requests.input_tokens) * guesses.read_fraction, 1.0)
    return replace(requests, output_tokens=steps, input_tokens=read)


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
    tried = _tried(float(np.max(limit)))
    running = np.minimum(tried, _wide(limit))
    chunk, context = _wide(limits.chunk_tokens), _context(requests)
    requests = _worked_on(requests, guesses)
    step = _Steps(model, chip, engine, layout, requests, measured, running, chunk, guesses, context)
    times, step_s = step.average()
    uses = step_uses(times=times, chip=on_axes(chip, 2), step_s=step_s)
    answer = np.asarray(requests.output_tokens)[..., None]
    rates = running[..., 0, :] / (answer * step_s[..., 0, :])
    places = limit + np.floor(limits.queue_places)
    waiting = int(np.max(places)) - int(np.max(limit))

    def of_states(values: Floats) -> Floats:
        """In every state; those who wait change nothing. Behind an axis of loads."""
        every = _between(values, tried, limit)
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
    own = np.maximum(_wide(np.asarray(running) / np.multiply(layout.dp, layout.pp)), 1e-9)
    chunk = _wide(_WHOLE_PROMPT if chunk_tokens is None else chunk_tokens)
    times, _ = _Steps(model, chip, engine, layout, requests, Measured(), own, chunk).average()
    shape = np.broadcast_shapes(np.shape(running), np.shape(layout.tp), np.shape(requests.input_tokens))
    plain = {f.name: np.broadcast_to(getattr(times, f.name)[..., 0, 0], shape) for f in fields(times)}
    return StepTimes(**{name: value if shape else float(value) for name, value in plain.items()})


class _Steps:
    """Step times of every candidate in every state tried, on the axes candidate, class of prompts, state."""

    def __init__(
        self,
        model: Transformer,
        chip: Chip,
        engine: Engine,
        layout: ReplicaLayout,
        requests: Requests,
        measured: Measured,
        running: Floats,
        chunk_tokens: Floats,
        guesses: Guesses | None = None,
        context_tokens: Column | None = None,
    ) -> None:
        self.parts = {
            "model": on_axes(model, 2),
            "chip": on_axes(chip, 2),
            "engine": on_axes(engine, 2),
            "layout": on_axes(layout, 2),
        }
        self.running, self.requests = running, requests
        self.drafts = _wide(0.0 if guesses is None else guesses.draft_tokens)
        self.context = _wide(_context(requests) if context_tokens is None else context_tokens)
        self.groups, self.stages = _wide(layout.dp), _wide(layout.pp)
        self.stage_wait = _wide(engine.stage_wait_fraction)
        self.ranks = _wide(np.multiply(layout.tp, layout.dp))
        self.chunk = chunk_tokens
        self.parameters = _wide(matrix_parameters(model))
        self.peak = _wide(chip.peak_tflop_per_s)
        self.factor = np.asarray(
            serving_factor_at(
                batch=(running * self.groups * self.stages)[..., 0, :],
                measured_batches=np.asarray(measured.batches)[..., None, :],
                factors=np.asarray(measured.factors)[..., None, :],
            )
        )[..., None, :]

        answers = np.asarray(requests.output_tokens, dtype=np.float64)
        self.answer = _wide(np.maximum(answers, 1.0))
        self.prompts = (np.asarray(requests.input_tokens)[..., None] * requests.input_ratio)[..., None]
        self.chunks = prefill_steps(input_tokens=self.prompts, chunk_tokens=chunk_tokens)
        self.share = np.asarray(requests.share_fraction, dtype=np.float64)[..., None]

    def average(self) -> tuple[StepTimes, Floats]:
        """Steps in which prompts join as answers leave: as modelled, and as measured."""
        return self._mean(self.running * (1.0 - 1.0 / self.answer), self.running)

    def between_tokens_s(self) -> Floats:
        """Steps between two tokens of a request: prompts of the others join, its own was read before."""
        others = np.maximum(self.running - 1.0, 0.0)
        return self._mean(1.0 + others * (1.0 - 1.0 / self.answer), others)[1]

    def without_prompts_s(self) -> Floats:
        """Steps between two tokens of a request while no prompt is read."""
        writing = 1.0 + np.maximum(self.running - 1.0, 0.0) * (1.0 - 1.0 / self.answer)
        return self._step(writing, 0.0, (self.groups - 1.0) * writing * (1.0 + self.drafts))[1]

    def with_prompt_s(self) -> Floats:
        """Steps in which one group reads a part of a prompt of each class, next to all others that run.

        One part is what any group reads in such a step: where more prompts join than steps are taken, the
        other groups read no more of theirs in it than this one.
        """
        writing = np.maximum(self.running - 1.0, 0.0)
        return self._step(writing, self.prompts / self.chunks, self._one_part_each(writing))[1]

    def reading(
        self, own_s: Floats, found: Floats, limit: Floats, interval_steps: Floats, pooled: Column
    ) -> PromptReading:
        """What prompts wait for one another: steps without one, and with a chunk full of them.

        a_j = (T(C) - T(C/2))/(C/2) at the length of class j,  b_j = a_j isl_j,  h = T(0) - (T(C) - a C)

        Half a chunk hides nothing any more. A full chunk holds prompts as long as its tokens meet them. Where
        prompts are read in every m-th step, what is read at once waits for m steps without: t = m T(0).
        """
        writing = np.maximum(self.running - 1.0, 0.0)
        others = self._one_part_each(writing)
        met = np.sum(self.share * self.prompts**2, axis=-2, keepdims=True) / np.sum(
            self.share * self.prompts, axis=-2, keepdims=True
        )

        def slope(states: slice, lengths: Floats) -> tuple[Floats, Floats]:
            here = writing[..., states], others[..., states]
            full, half = (
                self._step(here[0], part * self.chunk, here[1], lengths, states)[1] for part in (1.0, 0.5)
            )
            return full, np.maximum(full - half, 0.0) / (self.chunk / 2.0)

        every = slice(None)
        calm = self._step(writing, 0.0, others, np.ones((1, 1)), every)[1]
        full, token_s = slope(every, met)
        _, class_token_s = slope(slice(0, 1), self.prompts)
        work = class_token_s * self.prompts
        hidden = np.clip(calm - (full - token_s * self.chunk), 0.0, calm)
        saved = np.sum(self.share * np.minimum(hidden, work), axis=-2)
        return PromptReading(
            found=found,
            own_s=own_s,
            calm_s=(interval_steps * calm)[..., 0, :],
            hidden_s=saved,
            work_s=work[..., 0],
            share_fraction=self.share[..., 0],
            chunk_s=(token_s * self.chunk)[..., 0, 0],
            limit=limit,
            parts=np.sum(self.share * self.chunks, axis=-2)[..., 0],
            others=(self.stage_wait * (self.stages - 1.0))[..., 0, 0],
            servers=np.broadcast_to(np.asarray(pooled, dtype=np.float64), limit.shape),
        )

    def _one_part_each(self, writing: Floats) -> Floats:
        """Tokens of the others in a step that reads a part of a prompt: no more than a part of theirs."""
        parts = np.sum(self.share * self.chunks, axis=-2, keepdims=True) * self.running / self.answer
        return self._others(writing, self.running / np.maximum(parts, 1.0))

    def _others(self, writing: Floats, reading: Floats) -> Floats:
        """Tokens of a step of the other groups, of which each writes and reads on average as much."""
        joining = np.sum(self.share * self.prompts, axis=-2, keepdims=True) * reading / self.answer
        result: Floats = (self.groups - 1.0) * (writing * (1.0 + self.drafts) + joining)
        return result

    def _mean(self, writing: Floats, reading: Floats) -> tuple[StepTimes, Floats]:
        """Mean step: some read a chunk of a prompt, the others none; with many prompts all read more."""
        each = self.share * self.chunks
        whole = np.sum(each, axis=-2, keepdims=True)
        chunks = whole * reading / self.answer  # that a step reads
        own, more = np.minimum(chunks, 1.0), np.maximum(chunks, 1.0)
        # Batches on the stages wait for the one that reads.
        often = own + (1.0 - own) * self.stage_wait * (1.0 - (1.0 - own) ** (self.stages - 1.0))
        others = self._others(writing, reading)
        without, without_s = self._step(writing, 0.0, others, np.ones((1, 1)))
        reads, reads_s = self._step(writing, self.prompts / self.chunks * more, others)

        def mean(plain: Column, chunked: Column, share: Floats) -> Floats:
            found: Floats = (1.0 - share) * plain + share * np.sum(
                each / whole * chunked, axis=-2, keepdims=True
            )
            return found

        parts = {f.name: mean(getattr(without, f.name), getattr(reads, f.name), own) for f in fields(reads)}
        parts["total_s"] = mean(without.total_s, reads.total_s, often)
        return StepTimes(**parts), mean(without_s, reads_s, often)

    def _step(
        self,
        writing: Floats,
        prompts: Column,
        others: Floats,
        lengths: Floats | None = None,
        states: slice = slice(None),
    ) -> tuple[StepTimes, Floats]:
        """Steps in which a group writes and reads so much, and the other groups read so many tokens.

        `lengths` are those of the prompts, by class where none are given; `states` which of those tried.
        """
        times = step_times(
            **self.parts,  # type: ignore[arg-type]
            writing=writing,
            prefill_tokens=prompts,
            context_tokens=self.context,
            prompt_tokens=self.prompts if lengths is None else lengths,
            other_tokens=others,
            draft_tokens=self.drafts,
        )
        least = step_arithmetic_s(
            active_parameters=self.parameters,
            tokens=np.maximum(writing * (1.0 + self.drafts) + prompts + others, 1e-9),
            tp=self.ranks,
            peak_tflop_per_s=self.peak,
        )
        return times, np.asarray(
            calibrated_step_s(step_s=times.total_s, factor=self.factor[..., states], least_s=least)
        )


def _context(requests: Requests) -> Column:
    """Tokens that a writing request reads, on average over the steps."""
    return class_context_tokens(
        input_tokens=requests.input_tokens,
        output_tokens=requests.output_tokens,
        share_fraction=requests.share_fraction,
        input_ratio=requests.input_ratio,
        output_ratio=requests.output_ratio,
        output_scv_ratio=requests.output_scv_ratio,
        written_fraction=0.5,
    )


def _tried(largest: float) -> Floats:
    """States in which the step is worked out, the same for every candidate; the last is none below any."""
    doublings = np.log2(max(largest / _EVERY, 1.0))
    further = _EVERY * 2.0 ** (np.arange(1.0, np.ceil(doublings * _TO_A_DOUBLING) + 1.0) / _TO_A_DOUBLING)
    return np.concatenate([np.arange(1.0, _EVERY + 1.0), np.round(further)])


def _between(values: Floats, tried: Floats, limit: Floats) -> Floats:
    """Values in every state from those in the states tried, by straight lines on the last axis.

    States tried beyond the limit of a candidate hold its value at the limit: nothing depends on who else is
    worked out with it.
    """
    every = np.arange(1.0, float(np.max(limit)) + 1.0)
    right = np.clip(np.searchsorted(tried, every, side="left"), 1, len(tried) - 1)
    left = tried[right - 1]
    way = np.clip(
        (every - left) / np.maximum(np.minimum(tried[right], limit[..., None]) - left, 1.0), 0.0, 1.0
    )
    result: Floats = values[..., right - 1] * (1.0 - way) + values[..., right] * way
    return result


def _wide(value: Column) -> Floats:
    """A candidate each, before an axis of classes and one of states."""
    return np.asarray(value, dtype=np.float64)[..., None, None]


def _planned(
    replica: MixedReplica, largest: Floats, utilisation_fraction: Column, groups: Column
) -> ReplicaCapacity:
    """A replica at its planned load; zero where nothing works, plain numbers for plain arguments."""
    works = largest > 0
    planned = utilisation_fraction * largest
    # An idle replica is used instead where nothing works; it is masked below.
    state = mixed_state(replica=replica, arrivals_per_s=np.where(works, planned, 1e-9))

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
