"""Replicas played step by step: what each request of a drawn stream waits for, next to the closed form.

Nothing of the queue is in it: a batch engine takes prompts in turn, in chunks, next to all requests that
write, and each step takes what the law of a step says of its own tokens and caches. Groups of a replica that
share experts end each step with the slowest of them; batches on its stages follow one another and do not
overtake. Replicas share nothing but the stream that they are dealt from, so that all of them take their steps
side by side, in columns.

Ciw, a library for simulating queues, is not used here: its processors are shared by a fixed threshold and
walk through every request at every event, where an engine's pace follows from tokens, caches and prompts. It
holds this simulation to account in the tests, where the pace is one that it can express.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from planner.performance._checks import require_not_negative, require_positive
from planner.performance.columns import Counts, Flags, Floats
from planner.performance.step_table import StepLaws, StepTable

_TELL_EVERY = 512  # steps
_DONE = float(np.finfo(np.float64).max)  # a time that no request comes at, but those that never come


class Stopped(Exception):
    """Somebody asked the simulation to stop."""


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
    limit, a table, places and outages for each group; those of a replica stand next to one another, the
    groups of its first batch first.

    Groups of a batch start a step together and end it with the slowest (by `group_wait_fraction` of what it
    takes beyond their mean: engines may spread prompts evenly). A batch on s stages takes T/s on
    each, after the one before it has left: start_i = max(end_(i-1), left_i), as far as stages wait for one
    another (`stage_wait_fraction` of that wait).

    Source: continuous batching with chunked prefill (Agrawal et al., "Sarathi-Serve", OSDI 2024); stages in a
    row without overtaking, a closed tandem queue (Gordon and Newell, Operations Research 1967).

    Raises:
        Stopped: `should_stop` said so.
    """
    require_not_negative(input_tokens=stream.input_tokens, queue_places=queue_places)
    require_positive(output_tokens=stream.output_tokens, batch_limit=batch_limit, chunk_tokens=chunk_tokens)
    replicas = _Replicas(tables, table_of)
    laws = StepLaws(tables, table_of)
    engines = _Engines(stream, laws, replicas, batch_limit, queue_places, chunk_tokens, outages)
    ends = stream.arrival_s[np.isfinite(stream.arrival_s)]
    whole = float(ends.max()) if ends.size else 1.0
    while engines.work():
        if engines.steps % _TELL_EVERY == 0:
            if should_stop is not None and should_stop():
                raise Stopped
            if tell is not None:
                tell(min(engines.earliest() / whole, 1.0))
    return Served(engines.first, engines.last, engines.refused, engines.lost)


class _Replicas:
    """Which rows are groups of one batch, and which batches are of one replica."""

    def __init__(self, tables: Sequence[StepTable], table_of: Counts) -> None:
        first, groups, replica, table = [], [], [], []
        row, count = 0, 0
        while row < len(table_of):
            one = tables[table_of[row]]
            whole = row + one.groups * one.stages
            if whole > len(table_of) or np.any(table_of[row:whole] != table_of[row]):
                raise ValueError(
                    f"{one.groups} groups on {one.stages} stages end before row {row} of a stream"
                )
            first += list(range(row, whole, one.groups))
            groups += [one.groups] * one.stages
            replica += [count] * one.stages
            table += [table_of[row]] * one.stages
            row, count = whole, count + 1
        self.first, self.groups = np.array(first), np.array(groups)  # of each batch
        self.replica = np.array(replica)
        self.stages = np.array([tables[k].stages for k in table])
        self.waits = np.array([tables[k].stage_wait_fraction for k in table])
        self.group_waits = np.array([tables[k].group_wait_fraction for k in table])
        self.begins = np.flatnonzero(np.diff(self.replica, prepend=-1))  # first batch of each replica

    def earliest(self, at: Floats) -> Counts:
        """Of each replica the batch whose time comes first; none whose time never comes."""
        low = np.minimum.reduceat(at, self.begins)
        found = np.flatnonzero(at == low[self.replica])
        found = found[np.diff(self.replica[found], prepend=-1) > 0]
        result: Counts = found[at[found] < _DONE]
        return result

    def rows(self, batches: Counts) -> tuple[Counts, Counts]:
        """Rows of these batches, one after the other, and where each batch begins among them."""
        many = self.groups[batches]
        begins = np.cumsum(many) - many
        return np.arange(int(many.sum())) + np.repeat(self.first[batches] - begins, many), begins


class _Engines:
    """All engines between two steps."""

    def __init__(
        self,
        stream: Stream,
        laws: StepLaws,
        replicas: _Replicas,
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
        self.laws, self.replicas = laws, replicas
        self.limit, self.chunk = batch_limit, np.floor(chunk_tokens)
        self.places = batch_limit + queue_places
        self.row = np.arange(rows)
        self.ready = np.zeros(len(replicas.first))  # time at which each batch has ended its last step
        self.left_s = np.zeros((int(replicas.replica[-1]) + 1, int(replicas.stages.max())))  # of each stage
        # Requests up to `tail` have arrived, those before `head` are read; `left` of the prompt at the head.
        self.tail, self.head = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int64)
        self.left, self.cached = np.zeros(rows), np.zeros(rows)
        self.writing, self.inside = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int64)
        self.due, self.slot = np.full((rows, 8), -1, dtype=np.int64), np.zeros((rows, 8), dtype=np.int64)
        self.taken = np.zeros(rows, dtype=np.int64)  # steps of each
        self.steps = 0
        self.outages = [sorted(each, key=lambda one: one.at_s) for each in outages] or [[]] * rows
        self.outages = [list(each) for each in self.outages]
        self.next_outage = np.array([each[0].at_s if each else np.inf for each in self.outages])

    def earliest(self) -> float:
        """The time that every engine has reached."""
        return float(self._next_s().min())

    def _next_s(self) -> Floats:
        """When each batch could start a step: at once where it holds a request, or with its next one."""
        at = self.replicas.first
        comes = np.minimum.reduceat(self.arrival[self.row, self.tail], at)
        idle = np.add.reduceat(self.inside, at) == 0
        result: Floats = np.minimum(np.where(idle, np.maximum(self.ready, comes), self.ready), _DONE)
        return result

    def work(self) -> bool:
        """A step of every replica, of the batch that comes first in it; false when none ever will."""
        self.steps += 1
        next_s = self._next_s()
        batches = self.replicas.earliest(next_s)
        if not batches.size:
            return False
        replica, waits = self.replicas.replica[batches], self.replicas.waits[batches]
        start = next_s[batches]
        start = start + waits * np.maximum(self.left_s[replica, 0] - start, 0.0)
        rows, begins = self.replicas.rows(batches)
        many = self.replicas.groups[batches]
        owner = np.repeat(np.arange(batches.size), many)
        if np.any(self._failed(batches, rows, owner, start)):
            return True  # those that are left start with the next call
        self._arrive(rows, start[owner])
        joined, reading, lengths = self._read(rows)
        writing = self.writing[rows]
        each = self.laws.step_s(
            rows,
            writing,
            self.cached[rows],
            reading,
            lengths,
            np.add.reduceat(writing, begins)[owner] - writing,
            np.add.reduceat(writing + reading, begins)[owner],
        )
        slowest, mean = np.maximum.reduceat(each, begins), np.add.reduceat(each, begins) / many
        step = mean + self.replicas.group_waits[batches] * (slowest - mean)
        end = self._through_stages(batches, start, step)
        failed = self._failed(batches, rows, owner, end)
        self.ready[batches] = np.where(failed, self.ready[batches], end)
        self.taken[rows] += 1
        self.cached[rows] += self.writing[rows]
        self._leave(rows, end[owner])
        for places, heads in joined:
            kept = ~failed[owner[places]]
            self._join(rows[places[kept]], heads[kept], end[owner[places[kept]]])
        return True

    def _through_stages(self, batches: Counts, start: Floats, step: Floats) -> Floats:
        """When each batch leaves the last stage; it waits at each for the batch before."""
        replica, stages = self.replicas.replica[batches], self.replicas.stages[batches]
        at, each = start, step / stages
        for stage in range(self.left_s.shape[1]):
            waited = self.replicas.waits[batches] * np.maximum(self.left_s[replica, stage] - at, 0.0)
            at = np.where(stage < stages, at + (waited if stage else 0.0) + each, at)
            self.left_s[replica, stage] = at
        return at

    def _failed(self, batches: Counts, rows: Counts, owner: Counts, by_s: Floats) -> Flags:
        """Batches whose replica fails by these times, and then is ready when it is back."""
        failed = np.zeros(batches.size, dtype=bool)
        for k in np.flatnonzero(self.next_outage[rows] < by_s[owner]):
            batch = batches[owner[k]]
            self.ready[batch] = max(self.ready[batch], self._fail(int(rows[k])))
            failed[owner[k]] = True
        return failed

    def _arrive(self, rows: Counts, by_s: Floats) -> None:
        """Let in who has come by now, and refuse who finds no place."""
        here = self.arrival[rows, self.tail[rows]] <= by_s
        while np.any(here):
            rows, by_s = rows[here], by_s[here]
            fits = self.inside[rows] < self.places[rows]
            self.inside[rows] += fits
            out = rows[~fits]
            self.refused[out, self.tail[out]] = True
            self.tail[rows] += 1
            here = self.arrival[rows, self.tail[rows]] <= by_s

    def _read(self, rows: Counts) -> tuple[list[tuple[Counts, Counts]], Floats, Floats]:
        """Prompts in the coming step of these rows: who ends one, tokens, and prompt lengths over them.

        The first are places among `rows`.
        """
        joined: list[tuple[Counts, Counts]] = []
        reading, lengths = np.zeros(rows.size), np.zeros(rows.size)
        free, chunk = self.limit[rows] - self.writing[rows], self.chunk[rows]
        at = np.flatnonzero((self.head[rows] < self.tail[rows]) & (free >= 1))
        while at.size:
            here = rows[at]
            heads = self.head[here]
            gone = self.refused[here, heads] | self.lost[here, heads]
            if np.any(gone):
                self.head[here[gone]] += 1
                at = at[self.head[here] < self.tail[here]]
                continue
            prompts = self.prompt[here, heads]
            left = np.where(self.left[here] > 0, self.left[here], prompts)
            taken = np.minimum(left, chunk[at] - reading[at])
            reading[at] += taken
            lengths[at] += taken * prompts
            self.left[here] = left - taken
            ended = self.left[here] <= 0
            at, here, heads = at[ended], here[ended], heads[ended]
            if not at.size:
                break
            joined.append((at, heads))
            self.head[here] += 1
            free[at] -= 1
            at = at[(reading[at] < chunk[at]) & (free[at] >= 1) & (self.head[here] < self.tail[here])]
        return joined, reading, lengths

    def _leave(self, rows: Counts, at_s: Floats) -> None:
        """Requests whose last token came with this step."""
        found, places = np.nonzero(self.due[rows] == self.taken[rows][:, None])
        if not found.size:
            return
        here = rows[found]
        which = self.slot[here, places]
        self.last[here, which] = at_s[found]
        self.due[here, places] = -1
        out = np.bincount(here, minlength=len(self.row))
        self.writing -= out
        self.inside -= out
        length = self.prompt[here, which] + self.answer[here, which]
        self.cached -= np.bincount(here, length, minlength=len(self.row))

    def _join(self, rows: Counts, heads: Counts, at_s: Floats) -> None:
        """Requests whose first token came with this step; one a row."""
        self.first[rows, heads] = at_s
        alone = self.answer[rows, heads] <= 1.0
        self.last[rows[alone], heads[alone]] = at_s[alone]
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
        self.due[rows, place] = self.taken[rows] + self.answer[rows, heads].astype(np.int64) - 1
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
