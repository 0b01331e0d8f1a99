"""Draws of what reaches replicas: requests of a trace, dealt out at random, and failures of their nodes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planner.performance._checks import require_not_negative, require_positive
from planner.performance.columns import Floats
from planner.performance.mix import RequestMix
from planner.performance.simulation import Outage, Stream


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """Requests a second of a whole service, and the trace that they come and look like.

    `share_fraction` of them goes to the replicas in question, at random; the rest to others.
    """

    requests_per_s: float
    trace_per_s: float
    trace_scv_ratio: float
    mix: RequestMix | None  # None: `input_tokens` each, and answers spread like exponential ones
    input_tokens: float
    output_tokens: float
    share_fraction: float = 1.0

    @property
    def own_per_s(self) -> float:
        """Requests a second that go to these replicas."""
        return self.requests_per_s * self.share_fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Crew:
    """Replicas of a service: so many carry, others stand by; how often one's node fails, and for how long."""

    carrying: int
    standby: int
    groups: int  # of a replica, which share its requests
    replica_nodes: float
    failure_rate_per_node_h: float
    down_s: float


def arrival_times_s(*, demand: Demand, seconds: float, draw: np.random.Generator) -> Floats:
    """Arrivals of a whole service, from a moment like any other.

    m = demand / trace rate: [m] streams like the trace, or one of which a share m is kept

    A stream is a renewal process whose gaps are of two exponentials with balanced means (exponential where
    the trace is no burstier than that): `replica_arrival_scv_ratio` takes the same streams, but by their
    limits. The first gap is one met by chance.

    Source: Whitt, "Approximating a point process by a renewal process", Operations Research 1982, section 3.
    """
    require_positive(requests_per_s=demand.requests_per_s, trace_per_s=demand.trace_per_s, seconds=seconds)
    streams = max(1, round(demand.requests_per_s / demand.trace_per_s))
    per_s = max(demand.requests_per_s / streams, demand.trace_per_s if streams == 1 else 0.0)
    spread = max(demand.trace_scv_ratio, 1.0)
    often = 0.5 * (1.0 + np.sqrt((spread - 1.0) / (spread + 1.0)))
    rates = 2.0 * per_s * np.array([often, 1.0 - often])
    found = []
    for _ in range(streams):
        # By time, each kind of gap takes a half.
        at = draw.exponential(1.0 / rates[draw.integers(2)]) if often < 1.0 else draw.exponential(1.0 / per_s)
        while at < seconds:
            more = max(64, int(1.2 * per_s * (seconds - at)))
            gaps = draw.exponential(1.0, more) / rates[(draw.random(more) >= often).astype(int)]
            times = at + np.concatenate([[0.0], np.cumsum(gaps)])
            found.append(times[:-1][times[:-1] < seconds])
            at = times[-1]
    arrivals = np.sort(np.concatenate(found)) if found else np.zeros(0)
    kept = demand.requests_per_s / (streams * per_s)
    result: Floats = arrivals[draw.random(arrivals.size) < kept] if kept < 1.0 else arrivals
    return result


def drawn_lengths(*, demand: Demand, requests: int, draw: np.random.Generator) -> tuple[Floats, Floats]:
    """Prompts and answers: rows of the trace's joint histogram, or of stated means.

    Source: definition.
    """
    if demand.mix is not None:
        row = draw.choice(len(demand.mix.share_fraction), requests, p=demand.mix.share_fraction)
        return np.maximum(np.round(demand.mix.input_tokens[row]), 1.0), demand.mix.output_tokens[row]
    answers = np.ones(requests)
    if demand.output_tokens > 1.0:
        answers = draw.geometric(1.0 / demand.output_tokens, requests).astype(np.float64)
    return np.full(requests, max(round(demand.input_tokens), 1.0)), answers


def drawn_outages(*, crew: Crew, seconds: float, draw: np.random.Generator) -> list[list[Outage]]:
    """When each place that carries loses its replica, and when the next one is there.

    A node fails at its rate and takes along all replicas on it; a replica of several nodes fails with any of
    them. One that stands by takes over at once, as long as there is one; else the place is empty until the
    first is back. Failures of the time before count as far as they reach.

    Source: renewal theory, alternating up and down times, event by event.
    """
    require_not_negative(failure_rate_per_node_h=crew.failure_rate_per_node_h, down_s=crew.down_s)
    found: list[list[Outage]] = [[] for _ in range(crew.carrying)]
    everyone = crew.carrying + crew.standby
    shared = max(1, int(1.0 / crew.replica_nodes + 1e-9))
    hosts = -(-everyone // shared)
    per_s = crew.failure_rate_per_node_h / 3600.0 * max(crew.replica_nodes, 1.0)
    count = draw.poisson(hosts * per_s * (seconds + crew.down_s))
    times = np.sort(draw.uniform(-crew.down_s, seconds, count))
    events = [(float(at), "fails", int(draw.integers(hosts))) for at in times]
    events += [(at + crew.down_s, "back", host) for at, _, host in events]
    order = draw.permutation(everyone)  # who carries says nothing of where it stands
    holder: list[int | None] = list(range(crew.carrying))
    spare = list(range(crew.carrying, everyone))
    host_of = {replica: int(order[replica]) // shared for replica in range(everyone)}
    empty: dict[int, float] = {}
    down: set[int] = set()
    for at, what, host in sorted(events):
        here = [replica for replica in range(everyone) if host_of[replica] == host]
        if what == "fails" and host not in down:
            down.add(host)
            spare = [replica for replica in spare if host_of[replica] != host]
            for place in [place for place, one in enumerate(holder) if one in here]:
                holder[place] = spare.pop(0) if spare else None
                if holder[place] is None:
                    empty[place] = at
                else:
                    found[place].append(Outage(at, at))
        elif what == "back" and host in down:
            down.discard(host)
            spare += here
            while spare and empty:
                place = min(empty, key=lambda one: empty[one])
                found[place].append(Outage(empty.pop(place), at))
                holder[place] = spare.pop(0)
    for place, at in empty.items():
        found[place].append(Outage(at, np.inf))
    return found


def dealt_stream(
    *,
    demand: Demand,
    crew: Crew,
    outages: Sequence[Sequence[Outage]],
    sampled: int,
    seconds: float,
    draw: np.random.Generator,
) -> Stream:
    """Requests of the first places (`sampled`), each request dealt at random to one that is not empty.

    A row for each group of a replica. Places are alike, so that a few of them stand for all: they meet the
    bursts of the whole service.

    Source: definition.
    """
    at = arrival_times_s(demand=demand, seconds=seconds, draw=draw)
    if demand.share_fraction < 1.0:
        at = at[draw.random(at.size) < demand.share_fraction]
    place = draw.integers(crew.carrying, size=at.size)
    empty = [(p, one) for p, each in enumerate(outages) for one in each if one.until_s > one.at_s]
    for p, gone in empty:
        others = [q for q in range(crew.carrying) if not any(r == q and _meet(one, gone) for r, one in empty)]
        moved = np.flatnonzero((place == p) & (at >= gone.at_s) & (at < gone.until_s))
        if others:
            place[moved] = np.array(others)[draw.integers(len(others), size=moved.size)]
    kept = np.flatnonzero(place < sampled)
    row = place[kept] * crew.groups + draw.integers(crew.groups, size=kept.size)
    prompts, answers = drawn_lengths(demand=demand, requests=kept.size, draw=draw)
    order = np.argsort(row, kind="stable")
    counts = np.bincount(row, minlength=sampled * crew.groups)
    column = np.arange(kept.size) - np.repeat(np.cumsum(counts) - counts, counts)
    shape = len(counts), int(counts.max(initial=0))
    columns = {"arrival_s": np.full(shape, np.inf), "input_tokens": np.ones(shape)}
    columns["output_tokens"] = np.ones(shape)
    for name, values in (("arrival_s", at[kept]), ("input_tokens", prompts), ("output_tokens", answers)):
        columns[name][row[order], column] = values[order]
    return Stream(**columns)


def joined_streams(streams: Sequence[Stream]) -> Stream:
    """One stream of the rows of several, as wide as the widest.

    Source: definition.
    """
    wide = max(one.arrival_s.shape[1] for one in streams)

    def all_rows(name: str, filling: float) -> Floats:
        rows = [
            np.pad(column, ((0, 0), (0, wide - column.shape[1])), constant_values=filling)
            for column in (getattr(one, name) for one in streams)
        ]
        return np.concatenate(rows)

    return Stream(
        all_rows("arrival_s", np.inf), all_rows("input_tokens", 1.0), all_rows("output_tokens", 1.0)
    )


def _meet(one: Outage, other: Outage) -> bool:
    return one.at_s < other.until_s and other.at_s < one.until_s
