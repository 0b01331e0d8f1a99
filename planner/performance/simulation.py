"""Replicas played step by step: what each request of a drawn stream waits for, next to the closed form.

Nothing of the queue is in it: a batch engine takes prompts in turn, in chunks, next to all requests that
write, and each step takes what the law of a step says of its own tokens and caches. Engines share nothing but
the stream that they are dealt from, so that all of them take their steps side by side, in columns.

Ciw, a library for simulating queues, is not used here: its processors are shared by a fixed threshold and
walk through every request at every event, where an engine's pace follows from tokens, caches and prompts. It
holds this simulation to account in the tests, where the pace is one that it can express.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from planner.performance._checks import require_not_negative, require_positive
from planner.performance.bundles import Measured
from planner.performance.calibrate_serving import serving_factor_at, step_arithmetic_s
from planner.performance.columns import Column, Counts, Flags, Floats
from planner.performance.engine import Chip, Engine, ReplicaLayout, Transformer, matrix_parameters, step_times

_TO_A_DOUBLING = 4  # points at which a step is worked out; between them it is a plane
_TELL_EVERY = 512  # steps
_DONE = float(np.finfo(np.float64).max)  # a time that no request comes at, but those that never come


class Stopped(Exception):
    """Somebody asked the simulation to stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTable:
    """A law of steps made quick to ask: seconds by requests that write and prompt tokens read.

    `base_s` is without caches and at `prompt_tokens`; a cached token adds `cached_token_s`, a prompt token of
    a prompt longer by one `prompt_pair_s`. The whole is divided by `factors` (what an engine measured) and is
    no shorter than its tokens' arithmetic.
    """

    writing: Floats
    reading: Floats
    base_s: Floats
    prompt_tokens: float
    cached_token_s: float
    prompt_pair_s: float
    factors: Floats
    least_s_per_token: float


def step_table(
    *,
    model: Transformer,
    chip: Chip,
    engine: Engine,
    layout: ReplicaLayout,
    measured: Measured,
    batch_limit: float,
    chunk_tokens: float,
    prompt_tokens: float,
) -> StepTable:
    """Table of `step_times` for one group of one replica; the other groups write and read as much as it.

    T(b, q, c, p) = T(b, q, 0, p_0) + t_c c + t_p q (p - p_0)

    The law is linear in cached tokens and in the length over which a prompt attends.

    Source: `step_times`; bilinear interpolation between its points.
    """
    require_positive(batch_limit=batch_limit, chunk_tokens=chunk_tokens, prompt_tokens=prompt_tokens)
    writing, reading = _ladder(batch_limit), _ladder(chunk_tokens)

    def law(b: Column, q: Column, context: float, prompt: float) -> Floats:
        times = step_times(
            model=model,
            chip=chip,
            engine=engine,
            layout=layout,
            writing=b,
            prefill_tokens=q,
            context_tokens=context,
            prompt_tokens=prompt,
        )
        return np.asarray(times.total_s, dtype=np.float64)

    base = law(writing[:, None], reading[None, :], 0.0, prompt_tokens)
    one = float(law(1.0, 1.0, 0.0, prompt_tokens).item())
    cached = (float(law(1.0, 1.0, 1e4, prompt_tokens).item()) - one) / 1e4
    pair = (float(law(1.0, 1.0, 0.0, prompt_tokens + 1e4).item()) - one) / 1e4
    groups = float(np.multiply(layout.dp, layout.pp).item())
    factors = serving_factor_at(
        batch=np.maximum(writing, 1.0) * groups,
        measured_batches=np.atleast_1d(np.asarray(measured.batches, dtype=np.float64)),
        factors=np.atleast_1d(np.asarray(measured.factors, dtype=np.float64)),
    )
    least = step_arithmetic_s(
        active_parameters=matrix_parameters(model),
        tokens=groups,
        tp=np.multiply(layout.tp, layout.dp),
        peak_tflop_per_s=chip.peak_tflop_per_s,
    )
    return StepTable(
        writing=writing,
        reading=reading,
        base_s=base,
        prompt_tokens=prompt_tokens,
        cached_token_s=cached,
        prompt_pair_s=pair,
        factors=np.broadcast_to(np.asarray(factors, dtype=np.float64), writing.shape),
        least_s_per_token=float(np.asarray(least).item()),
    )


def _ladder(largest: float) -> Floats:
    """0, 1, 2, ... and then so many points to each doubling, up to the largest or beyond."""
    doublings = np.arange(0.0, np.ceil(np.log2(max(largest, 2.0))) + 1e-9, 1.0 / _TO_A_DOUBLING)
    return np.concatenate([[0.0], np.unique(np.round(2.0**doublings))])


@dataclass(frozen=True, slots=True)
class Stream:
    """Requests dealt to engines: a row each, in order of arrival, filled up with arrivals that never come."""

    arrival_s: Floats
    input_tokens: Floats
    output_tokens: Floats


@dataclass(frozen=True, slots=True)
class Served:
    """What became of each request of a stream; NaN where a token never came."""

    first_s: Floats
    last_s: Floats
    refused: Flags
    lost: Flags


@dataclass(frozen=True, slots=True)
class Outage:
    """An engine that loses all it holds, and takes no step until it is back (at once where one stands by)."""

    at_s: float
    until_s: float


def serve_stream(
    *,
    stream: Stream,
    tables: Sequence[StepTable],
    table_of: Counts,
    batch_limit: Floats,
    queue_places: Floats,
    chunk_tokens: Floats,
    outages: Sequence[Sequence[Outage]] = (),
    should_stop: Callable[[], bool] | None = None,
    tell: Callable[[float], None] | None = None,
) -> Served:
    """Take steps until every request is answered, refused or lost.

    A step holds all requests that write, and prompts in the order of arrival, up to `chunk_tokens` of them
    and `batch_limit` requests in all. Who arrives while as many are inside as it holds and lets wait is
    refused. The first token comes with the step that ends its prompt, each further one with a step. A batch
    limit, a table, places and outages for each engine.

    Source: continuous batching with chunked prefill (Agrawal et al., "Sarathi-Serve", OSDI 2024).

    Raises:
        Stopped: `should_stop` said so.
    """
    require_not_negative(input_tokens=stream.input_tokens, queue_places=queue_places)
    require_positive(output_tokens=stream.output_tokens, batch_limit=batch_limit, chunk_tokens=chunk_tokens)
    engines = _Engines(stream, _Laws(tables, table_of), batch_limit, queue_places, chunk_tokens, outages)
    ends = stream.arrival_s[np.isfinite(stream.arrival_s)]
    whole = float(ends.max()) if ends.size else 1.0
    while engines.work():
        if engines.steps % _TELL_EVERY == 0:
            if should_stop is not None and should_stop():
                raise Stopped
            if tell is not None:
                tell(min(engines.earliest() / whole, 1.0))
    return Served(engines.first, engines.last, engines.refused, engines.lost)


class _Laws:
    """Tables of all engines, asked at once."""

    def __init__(self, tables: Sequence[StepTable], table_of: Counts) -> None:
        most_b = max(float(one.writing[-1]) for one in tables)
        most_q = max(float(one.reading[-1]) for one in tables)
        self._writing, self._reading = _ladder(most_b), _ladder(most_q)
        count = len(tables), len(self._writing), len(self._reading)
        base, factors = np.empty(count), np.empty(count[:2])
        for k, one in enumerate(tables):
            # Ladders are alike but for their length; what lies beyond the end of one is never asked for.
            b = np.minimum(np.arange(count[1]), len(one.writing) - 1)
            q = np.minimum(np.arange(count[2]), len(one.reading) - 1)
            base[k], factors[k] = one.base_s[np.ix_(b, q)], one.factors[b]
        self._base, self._factors = base.ravel(), factors.ravel()
        self._row_b = table_of * count[1]
        self._wide = count[2]
        self._at_b, self._way_b = _places(self._writing)
        self._at_q, self._way_q = _places(self._reading)
        names = ("prompt_tokens", "cached_token_s", "prompt_pair_s", "least_s_per_token")
        self._prompt, self._cached, self._pair, self._least = (
            np.array([getattr(one, name) for one in tables])[table_of] for name in names
        )
        self._measured = bool(np.any(factors != 1.0))

    def step_s(self, writing: Counts, cached: Floats, reading: Floats, read_lengths: Floats) -> Floats:
        """Seconds of a step of each engine; `read_lengths` is the sum of prompt lengths over tokens read."""
        whole = reading.astype(np.int64)
        row, way_b, way_q = self._row_b + self._at_b[writing], self._way_b[writing], self._way_q[whole]
        corner = row * self._wide + self._at_q[whole]
        low = self._base[corner] * (1.0 - way_q) + self._base[corner + 1] * way_q
        high = self._base[corner + self._wide] * (1.0 - way_q) + self._base[corner + self._wide + 1] * way_q
        found = low * (1.0 - way_b) + high * way_b
        found += self._cached * cached + self._pair * (read_lengths - reading * self._prompt)
        if self._measured:
            found /= self._factors[row] * (1.0 - way_b) + self._factors[row + 1] * way_b
        result: Floats = np.maximum(found, self._least * (writing + reading))
        return result


def _places(ladder: Floats) -> tuple[Counts, Floats]:
    """For each whole number up to the end of a ladder, the rung below it and the way to the next."""
    each = np.arange(ladder[-1] + 1.0)
    below = np.clip(np.searchsorted(ladder, each, side="right") - 1, 0, len(ladder) - 2)
    return below.astype(np.int64), (each - ladder[below]) / (ladder[below + 1] - ladder[below])


class _Engines:
    """All engines between two steps."""

    def __init__(
        self,
        stream: Stream,
        laws: _Laws,
        batch_limit: Floats,
        queue_places: Floats,
        chunk_tokens: Floats,
        outages: Sequence[Sequence[Outage]],
    ) -> None:
        rows = len(stream.arrival_s)
        never = np.full((rows, 1), np.inf)  # so that there always is a next one
        self.arrival = np.concatenate([stream.arrival_s, never], axis=1)
        self.prompt = np.maximum(stream.input_tokens, 1.0)
        self.answer = np.maximum(np.round(stream.output_tokens), 1.0)
        shape = self.prompt.shape
        self.first, self.last = np.full(shape, np.nan), np.full(shape, np.nan)
        self.refused, self.lost = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
        self.laws, self.limit, self.chunk = laws, batch_limit, np.floor(chunk_tokens)
        self.places = batch_limit + queue_places
        self.row = np.arange(rows)
        self.at = np.minimum(self.arrival[:, 0], _DONE)  # time of each engine
        # Requests up to `tail` have arrived, those before `head` are read; `left` of the prompt at the head.
        self.tail, self.head = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int64)
        self.left, self.cached = np.zeros(rows), np.zeros(rows)
        self.writing, self.inside = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int64)
        self.due, self.slot = np.full((rows, 8), -1, dtype=np.int64), np.zeros((rows, 8), dtype=np.int64)
        self.steps = 0
        self.outages = [sorted(each, key=lambda one: one.at_s) for each in outages] or [[]] * rows
        self.outages = [list(each) for each in self.outages]
        self.next_outage = np.array([each[0].at_s if each else np.inf for each in self.outages])

    def earliest(self) -> float:
        """The time that every engine has reached."""
        return float(self.at.min())

    def work(self) -> bool:
        """One step of every engine that holds a request; false when none ever will."""
        self.steps += 1
        self._arrive()
        idle = self.inside == 0
        self.at = np.where(idle, np.minimum(self.arrival[self.row, self.tail], _DONE), self.at)
        busy = ~idle
        if not np.any(busy):
            return bool(np.any(self.at < _DONE))
        for r in np.flatnonzero(busy & (self.next_outage < self.at)):
            self.at[r] = max(self.at[r], self._outage(int(r)).until_s)  # it held nothing to lose
        joined, reading, lengths = self._read(busy)
        end = self.at + np.where(busy, self.laws.step_s(self.writing, self.cached, reading, lengths), 0.0)
        for r in np.flatnonzero(busy & (self.next_outage < end)):
            joined = [(rows[rows != r], heads[rows != r]) for rows, heads in joined]
            end[r] = self._fail(int(r))
            busy[r] = False
        self.at = end
        self.cached += np.where(busy, self.writing, 0)
        self._leave()
        for rows, heads in joined:
            self._join(rows, heads)
        return True

    def _arrive(self) -> None:
        """Let in who has come by now, and refuse who finds no place."""
        here = np.flatnonzero(self.arrival[self.row, self.tail] <= self.at)
        while here.size:
            fits = self.inside[here] < self.places[here]
            self.inside[here] += fits
            out = here[~fits]
            self.refused[out, self.tail[out]] = True
            self.tail[here] += 1
            here = here[self.arrival[here, self.tail[here]] <= self.at[here]]

    def _read(self, busy: Flags) -> tuple[list[tuple[Counts, Counts]], Floats, Floats]:
        """Prompts in the coming step: who ends one, tokens, and the sum of prompt lengths over them."""
        joined: list[tuple[Counts, Counts]] = []
        reading, lengths = np.zeros(len(self.row)), np.zeros(len(self.row))
        free = self.limit - self.writing
        rows = np.flatnonzero(busy & (self.head < self.tail) & (free >= 1))
        while rows.size:
            heads = self.head[rows]
            gone = self.refused[rows, heads] | self.lost[rows, heads]
            if np.any(gone):
                self.head[rows[gone]] += 1
                rows = rows[self.head[rows] < self.tail[rows]]
                continue
            prompts = self.prompt[rows, heads]
            left = np.where(self.left[rows] > 0, self.left[rows], prompts)
            taken = np.minimum(left, self.chunk[rows] - reading[rows])
            reading[rows] += taken
            lengths[rows] += taken * prompts
            self.left[rows] = left - taken
            ended = self.left[rows] <= 0
            rows, heads = rows[ended], heads[ended]
            if not rows.size:
                break
            joined.append((rows, heads))
            self.head[rows] += 1
            free[rows] -= 1
            more = (
                (reading[rows] < self.chunk[rows]) & (free[rows] >= 1) & (self.head[rows] < self.tail[rows])
            )
            rows = rows[more]
        return joined, reading, lengths

    def _leave(self) -> None:
        """Requests whose last token came with this step."""
        rows, places = np.nonzero(self.due == self.steps)
        if not rows.size:
            return
        which = self.slot[rows, places]
        self.last[rows, which] = self.at[rows]
        self.due[rows, places] = -1
        out = np.bincount(rows, minlength=len(self.row))
        self.writing -= out
        self.inside -= out
        length = self.prompt[rows, which] + self.answer[rows, which]
        self.cached -= np.bincount(rows, length, minlength=len(self.row))

    def _join(self, rows: Counts, heads: Counts) -> None:
        """Requests whose first token came with this step; one a row."""
        self.first[rows, heads] = self.at[rows]
        alone = self.answer[rows, heads] <= 1.0
        self.last[rows[alone], heads[alone]] = self.at[rows[alone]]
        self.inside[rows[alone]] -= 1
        rows, heads = rows[~alone], heads[~alone]
        if not rows.size:
            return
        empty = self.due[rows] < 0
        if not np.all(np.any(empty, axis=1)):
            self.due = np.concatenate([self.due, np.full_like(self.due, -1)], axis=1)
            self.slot = np.concatenate([self.slot, np.zeros_like(self.slot)], axis=1)
            empty = self.due[rows] < 0
        place = np.argmax(empty, axis=1)
        self.due[rows, place] = self.steps + self.answer[rows, heads].astype(np.int64) - 1
        self.slot[rows, place] = heads
        self.writing[rows] += 1
        self.cached[rows] += self.prompt[rows, heads] + 1.0

    def _fail(self, r: int) -> float:
        """An engine loses all that it holds; the time at which it goes on."""
        outage = self._outage(r)
        while self.arrival[r, self.tail[r]] <= outage.at_s:
            self.tail[r] += 1
        held = np.arange(self.tail[r])
        waits = np.isnan(self.last[r, held]) & ~self.refused[r, held]
        self.lost[r, held[waits]] = True
        self.first[r, held[waits]] = np.nan
        self.head[r] = self.tail[r]
        self.left[r] = self.cached[r] = 0.0
        self.writing[r] = self.inside[r] = 0
        self.due[r] = -1
        return outage.until_s

    def _outage(self, r: int) -> Outage:
        """The next outage of an engine, which then is the one before."""
        found = self.outages[r].pop(0)
        self.next_outage[r] = self.outages[r][0].at_s if self.outages[r] else np.inf
        return found
