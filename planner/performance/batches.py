"""Requests that are answered in batches: what one unit takes within a response time, and how busy it is.

A recommender that scores, or a model that makes images, answers a request as a whole. The unit takes all who
wait into a batch, and those who come meanwhile wait for the next one. Where more wait than the engine takes
together, they are a group of several batches, one after the other. So the size of a group is the number of
arrivals during the one before: a Markov chain from group to group.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, gammaincc, gammaln

from planner.performance._checks import (
    require_not_negative,
    require_open_share,
    require_positive,
    require_share,
)
from planner.performance.capacity import ReplicaCapacity, ReplicaUse
from planner.performance.columns import Column, Floats
from planner.performance.remembered import remembered

_HALVINGS = 14  # of the bracket: the rate is found to 1e-4 of what full batches take
_MOST_REMEMBERED = 64
_POISSON = 1.0 + 1e-6  # a spread of counts up to which they count as Poisson's
_EVERY, _TO_A_DOUBLING = 8, 4
_SQUARINGS = 12  # of the chain from batch to batch: after 4096 batches its start is forgotten
_MOST_BATCHES = 64.0  # of a group: who comes beyond them is refused
_LEAST = 1e-12


def batch_sizes(*, largest: float) -> Floats:
    """Sizes of batches that are looked at: every one up to eight, then four to each doubling, the last whole.

    Source: between them times are nearly straight lines.
    """
    require_positive(largest=largest)
    most = max(1.0, float(np.floor(largest)))
    doublings = np.log2(max(most / _EVERY, 1.0))
    further = _EVERY * 2.0 ** (np.arange(1.0, np.floor(doublings * _TO_A_DOUBLING) + 1.0) / _TO_A_DOUBLING)
    sizes = np.concatenate([np.arange(1.0, _EVERY + 1.0), np.round(further), [most]])
    return np.unique(sizes[sizes <= most])


@remembered(_MOST_REMEMBERED)
def batched_capacity(
    *,
    batch_requests: Floats,
    batch_s: Floats,
    start_s: Column,
    response_target_s: Column,
    quantile_fraction: Column,
    arrival_scv_ratio: Column,
    utilisation_fraction: Column,
) -> ReplicaCapacity:
    """Planned load of a unit that answers in batches, and its mean response there; 0 where none is in time.

    lambda* = max {lambda : P(response <= R) >= q},  lambda = u lambda*

    response = (1 - U) O(k) + t_0 + F(m) + U (T(m) - F(m)),  m = min(1 + X, B),  X ~ counts in O(k)

    O(k) = max(t_0, T(k)),  F(k) = T(min(k, b)),  T(k) = k/b O(b) beyond b,  B = max {k : t_0 + T(k) <= R}

    T(k) is the time of a batch of k requests (sizes on the last axis up to the most that the engine takes, b;
    one row a candidate), t_0 what the host spends on one, which is hidden behind the batch before but not
    from who waits. An arrival finds a group of k for the time that such groups take, waits for the rest of it
    and is answered in its turn, U uniform in 0 to 1, with all who came during it; who finds nobody is
    answered alone. A batch that is not full is not filled by those who come while its group is answered,
    which is a little slow. Beyond B, where the target sets it, they are refused and count as late; where the
    engine sets b they wait, in time or not. Counts are Poisson's, or of the negative binomial law with the
    spread Ca^2 (which bursts reach over long times: they are taken as no shorter than a batch). The size of
    the next group is that of the arrivals: pi = pi P(lambda). Burstinesses to try may lie on an axis behind
    the candidates'.

    Source: bulk service of those present, Bailey, "On queueing processes with bulk service", JRSS B 1954;
    Chaudhry and Templeton, "A First Course in Bulk Queues", 1983; batches and latency of recommenders, Gupta
    et al., "DeepRecSys", ISCA 2020, arXiv 2001.02772.
    """
    require_open_share(utilisation_fraction=utilisation_fraction)
    require_share(quantile_fraction=quantile_fraction)
    require_positive(response_target_s=response_target_s)
    unit = _unit(batch_requests, batch_s, start_s, arrival_scv_ratio, response_target_s)
    works = unit.answers_in_time
    quantile, utilisation = (_of_candidates(one, works) for one in (quantile_fraction, utilisation_fraction))
    high = np.where(works, unit.most_per_s, 1.0)
    low = np.zeros(high.shape)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        state = unit.at(middle)
        good = works & (state.in_time_fraction >= quantile)
        low, high = np.where(good, middle, low), np.where(good, high, middle)
    able = works & (low > 0)
    planned = utilisation * low
    state = unit.at(np.where(able, planned, 1e-9))

    def shown(value: Floats) -> Floats:
        return np.where(able, value, 0.0)

    return ReplicaCapacity(
        requests_per_s=shown(planned),
        limit_requests_per_s=shown(low),
        running=shown(state.running),
        step_s=shown(state.mean_s),
        ttft_s=shown(state.response_s),
        tpot_s=np.zeros(low.shape),
        wait_s=shown(state.wait_s),
    )


@remembered(_MOST_REMEMBERED)
def batched_in_time_fraction(
    *,
    batch_requests: Floats,
    batch_s: Floats,
    start_s: Column,
    response_target_s: Column,
    arrival_scv_ratio: Column,
    requests_per_s: Column,
    within_s: Floats,
) -> Floats:
    """Shares of requests that a unit answers within each of several times, on a last axis; at a load.

    F(t) = P(response <= t)

    The unit takes as many together as `batched_capacity` lets it within its target, whatever t is. Those who
    are refused are answered in no time, and count against the shortest t as well: F is no larger than it is.

    Source: the chain of `batched_capacity`.
    """
    unit = _unit(batch_requests, batch_s, start_s, arrival_scv_ratio, response_target_s)
    chain = unit.chain(np.asarray(requests_per_s, dtype=np.float64))
    times = np.asarray(within_s, dtype=np.float64)
    found = np.stack([chain.in_time(np.full(chain.alone.shape, time)) for time in times], axis=-1)
    return np.clip(found, 0.0, 1.0)


@remembered(_MOST_REMEMBERED)
def batched_use(
    *,
    batch_requests: Floats,
    batch_s: Floats,
    start_s: Column,
    batch_memory_fraction: Column,
    batch_compute_fraction: Column,
    response_target_s: Column,
    arrival_scv_ratio: Column,
    requests_per_s: Column,
) -> ReplicaUse:
    """Use of memory and matrices by batches at a load, over the time in which any runs.

    busy = sum_k pi_k O(k) / C,  u = sum_k pi_k T(k) u(k) / sum_k pi_k O(k)

    C is the mean time from batch to batch, u(k) what a batch of each size uses. Loads may lie on an axis
    behind the candidates'.

    Source: time average over the chain of `batched_capacity`; uses as of `replica_use`.
    """
    loads = np.asarray(requests_per_s, dtype=np.float64)
    several = loads.ndim > 1
    unit = _unit(batch_requests, batch_s, start_s, arrival_scv_ratio, response_target_s, several)
    state = unit.at(np.clip(loads, _LEAST, None))
    require_share(batch_memory_fraction=batch_memory_fraction, batch_compute_fraction=batch_compute_fraction)
    shape, groups = np.shape(unit.times_s), unit.sizes.shape[-1] - np.shape(batch_requests)[-1]
    uses = {
        name: _repeated(np.asarray(use), groups)
        for name, use in (
            ("memory_use_fraction", batch_memory_fraction),
            ("compute_use_fraction", batch_compute_fraction),
            ("compute_root_fraction", np.sqrt(batch_compute_fraction)),
        )
    }
    at_work = state.share * unit.times_s
    whole = np.maximum(np.sum(state.share * unit.taken_s, axis=-1), _LEAST)

    def mean(values: Floats) -> Floats:
        own = np.broadcast_to(values[..., None, :] if several and values.ndim > 1 else values, shape)
        found: Floats = np.minimum(np.sum(at_work * own, axis=-1) / whole, 1.0)
        return found

    return ReplicaUse(
        busy_fraction=np.minimum(state.busy_fraction, 1.0),
        exchange_fraction=np.zeros(loads.shape),
        **{name: mean(values) for name, values in uses.items()},
    )


def _of_candidates(value: Column, like: NDArray[Any]) -> Floats:
    """A number, or one for each candidate, where burstinesses to try may lie on an axis behind."""
    column = np.asarray(value, dtype=np.float64)
    return column[:, None] if column.ndim and like.ndim > column.ndim else column


def _repeated(use: Floats, groups: int) -> Floats:
    """What batches use, where groups of several full ones use what the largest does."""
    return np.concatenate([use, np.repeat(use[..., -1:], groups, axis=-1)], axis=-1) if use.ndim else use


@dataclass(frozen=True, slots=True)
class _State:
    """A unit in the long run; shares of batches by size on the last axis."""

    share: Floats
    busy_fraction: Floats
    in_time_fraction: Floats
    running: Floats
    mean_s: Floats
    response_s: Floats
    wait_s: Floats


@dataclass(frozen=True, slots=True)
class _Unit:
    """One unit of each row: sizes of groups, what they take and when they are answered, on the last axis.

    `first_s` is when the first of a group is answered, `answered_s` when the last is. `limit` is the place of
    the largest size that comes to be: the largest in time, or all where the engine sets the largest batch.
    """

    sizes: Floats
    times_s: Floats
    taken_s: Floats
    first_s: Floats
    answered_s: Floats
    target_s: Floats
    spread: Floats
    limit: NDArray[np.intp]
    answers_in_time: NDArray[np.bool_]
    most_per_s: Floats

    def chain(self, arrivals_per_s: Floats) -> "_Chain":
        """The chain at a load: `batched_capacity`."""
        load = np.maximum(arrivals_per_s, _LEAST)[..., None]
        mean = load * self.taken_s  # arrivals during a batch of each size
        spread, last = self.spread[..., None], self.limit[..., None]
        place = np.arange(self.sizes.shape[-1])
        counts = _Counts(mean[..., None], spread[..., None], self.sizes[..., None, :])
        allowed = (place <= last)[..., None, :]
        nobody = counts.nobody
        next_ = _on_sizes(counts, self.sizes[..., None, :], allowed, last[..., None], shift=0)
        next_[..., 0] += nobody[..., 0]
        share = _long_run(next_, place <= last)
        idle_s = np.sum(share * nobody[..., 0], axis=-1) / load[..., 0]
        busy_s = np.sum(share * self.taken_s, axis=-1)
        cycle_s = busy_s + idle_s
        return _Chain(
            unit=self,
            share=share,
            # Those who arrive during a group are answered with all others who do, in their turn.
            together=_on_sizes(counts, self.sizes[..., None, :], allowed, last[..., None], shift=1),
            weight=share * self.taken_s / cycle_s[..., None],
            alone=idle_s / cycle_s,
            accepted=np.sum(share * self.sizes, axis=-1) / (load[..., 0] * cycle_s),
            busy_s=busy_s,
            cycle_s=cycle_s,
        )

    def at(self, arrivals_per_s: Floats) -> _State:
        """What the chain at a load comes to."""
        chain = self.chain(arrivals_per_s)
        answer = np.sum(chain.together * (self.first_s + self.answered_s)[..., None, :] / 2.0, axis=-1)
        wait = np.sum(chain.weight * self.taken_s / 2.0, axis=-1)
        response = wait + np.sum(chain.weight * answer, axis=-1) + chain.alone * self.answered_s[..., 0]
        return _State(
            share=chain.share,
            busy_fraction=chain.busy_s / chain.cycle_s,
            in_time_fraction=chain.in_time(self.target_s),
            running=np.sum(chain.share * self.taken_s * self.sizes, axis=-1) / chain.cycle_s,
            mean_s=chain.busy_s,
            response_s=response,
            wait_s=wait,
        )


@dataclass(frozen=True, slots=True)
class _Chain:
    """Groups of a unit in the long run at a load: their shares by size, and who is answered with whom.

    `weight` is the share of arrivals that find a group of each size, `alone` of those that find nobody.
    """

    unit: _Unit
    share: Floats
    together: Floats
    weight: Floats
    alone: Floats
    accepted: Floats
    busy_s: Floats
    cycle_s: Floats

    def in_time(self, within_s: Floats) -> Floats:
        """Share of arrivals that are answered within a time; those who are refused never are."""
        unit = self.unit
        turn_s = (unit.answered_s - unit.first_s)[..., None, :] - unit.taken_s[..., None]
        early_s = unit.taken_s[..., None] + unit.first_s[..., None, :]  # of who comes as the group begins
        kept = np.sum(self.together * _share_within(early_s, turn_s, within_s[..., None, None]), axis=-1)
        at_once = self.alone * (unit.answered_s[..., 0] <= within_s)
        met: Floats = np.sum(self.weight * kept, axis=-1) + at_once
        return met - np.maximum(1.0 - self.accepted, 0.0)


def _unit(
    batch_requests: Floats,
    batch_s: Floats,
    start_s: Column,
    arrival_scv_ratio: Column,
    response_target_s: Column,
    several: bool = False,
) -> _Unit:
    """Units with an axis for burstinesses, or for loads, behind the candidates' where there is one."""
    sizes, times = np.broadcast_arrays(
        np.asarray(batch_requests, dtype=np.float64), np.asarray(batch_s, dtype=np.float64)
    )
    require_positive(batch_requests=sizes, batch_s=times)
    require_not_negative(start_s=start_s, arrival_scv_ratio=arrival_scv_ratio)
    start = np.broadcast_to(np.asarray(start_s, dtype=np.float64), times.shape[:-1])[..., None]
    target = np.broadcast_to(np.asarray(response_target_s, dtype=np.float64), times.shape[:-1])
    spread = np.maximum(np.asarray(arrival_scv_ratio, dtype=np.float64), 1.0)
    taken, largest = np.maximum(start, times), times.shape[-1]
    sizes, times, taken, first = _with_groups(sizes, times, taken, start, target)
    first, answered = start + first, start + times
    if several or spread.ndim > target.ndim:
        sizes, times, first, answered, taken = (
            one[..., None, :] for one in (sizes, times, first, answered, taken)
        )
        target = target[..., None]
        spread = spread if spread.ndim > 1 else np.broadcast_to(spread, target.shape[:1])[..., None]
    spread = np.broadcast_to(spread, np.broadcast_shapes(spread.shape, target.shape))
    in_time = answered <= target[..., None]
    limit = np.maximum(np.sum(in_time, axis=-1) - 1, 0)
    # Where the engine sets the largest batch, who waits for a later one is answered, in time or not.
    limit = np.where(in_time[..., largest - 1], sizes.shape[-1] - 1, limit)
    allowed = np.arange(sizes.shape[-1]) <= limit[..., None]
    rates = np.where(allowed, sizes / taken, 0.0)
    return _Unit(
        sizes=sizes,
        times_s=times,
        taken_s=taken,
        first_s=first,
        answered_s=answered,
        target_s=target,
        spread=spread,
        limit=limit,
        answers_in_time=np.broadcast_to(in_time[..., 0], spread.shape),
        most_per_s=np.broadcast_to(rates.max(axis=-1), spread.shape),
    )


def _with_groups(
    sizes: Floats, times: Floats, taken: Floats, start: Floats, target: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Sizes, times and seconds taken with groups of several full batches, and when the first are answered.

    None where no largest batch is in time: then the target sets the largest size.
    """
    last = taken[..., -1:]
    if not np.any(start[..., 0] + times[..., -1] <= target):
        return sizes, times, taken, times
    batches = batch_sizes(largest=_MOST_BATCHES)[1:]  # the same for every row, whatever its target
    grouped = np.concatenate([sizes, sizes[..., -1:] * batches], axis=-1)
    held = np.concatenate([taken, last * batches], axis=-1)
    ended = np.concatenate([times, last * (batches - 1.0) + times[..., -1:]], axis=-1)
    first = np.concatenate([times, np.repeat(times[..., -1:], batches.size, axis=-1)], axis=-1)
    return grouped, ended, held, first


def _share_within(start: Floats, change: Floats, target: Floats) -> Floats:
    """Share of u, uniform in 0 to 1, for which start + u change is at most the target."""
    level = np.where(np.abs(change) < _LEAST, _LEAST, change)
    met = (target - start) / level
    share: Floats = np.clip(np.where(level > 0.0, met, 1.0 - met), 0.0, 1.0)
    return share


class _Counts:
    """Arrivals in a time: P(X <= n) and P(X = n) at sizes n, Poisson's or of the negative binomial law."""

    def __init__(self, mean: Floats, spread: Floats, sizes: Floats) -> None:
        self.mean = np.maximum(mean, _LEAST)
        self.spread = np.broadcast_to(spread, self.mean.shape)
        self.sizes = sizes
        self.nobody = self.exactly(np.zeros((1,)))
        self.up_to, self.at = self.at_most(sizes), self.exactly(sizes)

    @property
    def _successes(self) -> Floats:
        return self.mean / np.maximum(self.spread - 1.0, _POISSON - 1.0)

    def at_most(self, count: Floats) -> Floats:
        """P(X <= n)."""
        plain: Floats = gammaincc(count + 1.0, self.mean)
        if np.all(self.spread <= _POISSON):
            return plain
        bursty = betainc(self._successes, count + 1.0, 1.0 / np.maximum(self.spread, _POISSON))
        return np.where(self.spread <= _POISSON, plain, bursty)

    def exactly(self, count: Floats) -> Floats:
        """P(X = n)."""
        plain = np.exp(count * np.log(self.mean) - self.mean - gammaln(count + 1.0))
        if np.all(self.spread <= _POISSON):
            return plain
        r, spread = self._successes, np.maximum(self.spread, _POISSON)
        ways = gammaln(count + r) - gammaln(r) - gammaln(count + 1.0)
        bursty = np.exp(ways - r * np.log(spread) + count * np.log1p(-1.0 / spread))
        return np.where(self.spread <= _POISSON, plain, bursty)

    def sum_up_to(self, up_to: Floats, at: Floats, count: Floats) -> Floats:
        """E[X; X <= n] from P(X <= n) and P(X = n).

        mu P(X <= n - 1) of Poisson; with a spread d: mu P(X <= n) - d (n + mu/(d-1)) (1 - 1/d) P(X = n), by
        sum_(i<=n) of i P(i) = (1 - 1/d) (i - 1 + r) P(i-1)
        """
        plain = self.mean * (up_to - at)
        if np.all(self.spread <= _POISSON):
            return plain
        r, spread = self._successes, np.maximum(self.spread, _POISSON)
        bursty = self.mean * up_to - (spread - 1.0) * (count + r) * at
        return np.where(self.spread <= _POISSON, plain, bursty)


def _on_sizes(
    counts: _Counts, sizes: Floats, allowed: NDArray[np.bool_], last: NDArray[np.intp], shift: int
) -> Floats:
    """Chances of the sizes looked at: a count between two of them is both, by its distance; X + shift.

    A straight line between sizes keeps the mean. What is beyond the largest size is the largest.
    """
    up_to, at = counts.up_to, counts.at
    if shift:
        up_to, at = up_to - at, at * _before(counts, sizes)
    sums = counts.sum_up_to(up_to, at, sizes - shift) + shift * up_to
    mass, summed = np.diff(up_to, axis=-1), np.diff(sums, axis=-1)
    width = np.diff(sizes, axis=-1)
    right = np.clip((summed - sizes[..., :-1] * mass) / width, 0.0, np.maximum(mass, 0.0))
    found = np.zeros(up_to.shape)
    found[..., 1:] += right
    found[..., :-1] += np.maximum(mass, 0.0) - right
    # Up to the first size, which is one: exactly one, as nobody is counted apart.
    found[..., 0] += up_to[..., 0] - (0.0 if shift else counts.nobody[..., 0])
    found = np.where(allowed, found, 0.0)
    have = np.sum(found, axis=-1)
    everybody = 1.0 - (0.0 if shift else counts.nobody[..., 0])
    more = np.maximum(everybody - have, 0.0)
    np.put_along_axis(
        found,
        np.broadcast_to(last, (*found.shape[:-1], 1)),
        np.take_along_axis(found, np.broadcast_to(last, (*found.shape[:-1], 1)), axis=-1) + more[..., None],
        axis=-1,
    )
    return found


def _before(counts: _Counts, sizes: Floats) -> Floats:
    """P(X = n - 1) / P(X = n)."""
    plain = sizes / counts.mean
    if np.all(counts.spread <= _POISSON):
        return plain
    r, spread = counts._successes, np.maximum(counts.spread, _POISSON)
    bursty = sizes / ((sizes - 1.0 + r) * (1.0 - 1.0 / spread))
    return np.where(counts.spread <= _POISSON, plain, bursty)


def _long_run(next_: Floats, allowed: NDArray[np.bool_]) -> Floats:
    """Shares of batches by size in the long run: pi = pi P, by squaring P."""
    power = next_ / np.maximum(np.sum(next_, axis=-1, keepdims=True), _LEAST)
    for _ in range(_SQUARINGS):
        power = power @ power
    share = np.where(allowed, power[..., 0, :], 0.0)
    result: Floats = share / np.maximum(np.sum(share, axis=-1, keepdims=True), _LEAST)
    return result
