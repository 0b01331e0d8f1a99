"""What a prompt waits for inside a replica: the step in progress, and prompts of others read with it.

An engine takes steps without a pause while it holds a request. Who arrives during a step is read in the next
one, together with all others who arrived, first come, first served, up to a chunk. A step without a prompt
takes the time of those who write; each prompt adds the time of reading it. So prompts queue for steps as for
a server that serves what it finds at the start of a round (gated), and whose round has a fixed part.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammainc, ndtri

from planner.performance._checks import require_not_negative, require_positive
from planner.performance.columns import Column, Floats
from planner.performance.queueing import erlang_c_fraction

_TERMS = 4  # of the share of steps without a prompt: to a few percent where it is least known, to 1e-4 else
_ROUNDS = 4  # of the same, and of Newton's method for the mean step of several batches
_HEAVIEST = 0.99  # share of time that reading takes, from which on the queue counts as without end
_LEAST = 1e-12
_BEND, _FALLS = 2.5, 0.85  # of the fullest batch between few prompts and many: r of `step_moments`, and of v


@dataclass(frozen=True, slots=True)
class PromptReading:
    """What reading prompts takes a group, one entry per candidate, states found on the last axis.

    `found` are the states in which times are known: so many inside, the arrival counted. `own_s` (candidates,
    classes of prompts, states) reads a prompt next to them, `calm_s` is a step without a prompt, of which
    `hidden_s` is hidden where prompts are read. `work_s` (candidates, classes) is what a prompt adds to
    a step that reads others, `chunk_s` what a chunk full of prompts adds, `limit` the largest state. So many
    `others` are batches of other groups and stages that read prompts of their own, for which this one waits;
    its own times are those while they read none. `shared_s` (candidates, classes) is the part of `work_s`
    that a prompt adds for all of so many `groups`: experts see the tokens of all. So many `servers` read the
    prompts of one queue: 1 where each has its own.
    """

    found: Floats
    own_s: Floats
    calm_s: Floats
    hidden_s: Floats
    work_s: Floats
    share_fraction: Floats
    chunk_s: Floats
    limit: Floats
    others: Floats
    groups: Floats
    shared_s: Floats
    servers: Floats


@dataclass(frozen=True, slots=True)
class StepMoments:
    """Steps of a group that prompts stretch: mean, and moments of the step that an arrival meets."""

    mean_s: Floats
    met_s: Floats
    met_s2: Floats
    calm_fraction: Floats  # of steps, which read no prompt
    often_ratio: Floats  # prompts that stretch steps, over those of one batch
    spread_ratio: Floats  # variance of what they add, over that of so many prompts


@dataclass(frozen=True, slots=True)
class PromptWait:
    """What passes until the step that reads a prompt, and what others add to it; a sum of three cases.

    A share finds nobody, a share (`calm`) waits for a step without prompts to end, the others (`delayed`)
    wait for a time of the gamma law with this shape and scale.
    """

    delayed_fraction: Floats
    calm_fraction: Floats
    calm_s: Floats
    shape: Floats
    scale_s: Floats
    mean_s: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedQueue:
    """Prompts of one batch: a queue that serves in a round what came in the round before.

    `arrivals_per_s` is their rate, `calm_s` a round without any, of which `hidden_s` is hidden where some are
    read, `work_s` what a prompt adds by class (last axis), each with its `share_fraction`. A round reads a
    chunk at most, which takes `chunk_s`. So many `others` read prompts of their own in the same rounds, and
    all wait for the fullest; `shared_s` of the work of each is done by all of so many `groups` together.
    """

    arrivals_per_s: Column
    calm_s: Column
    hidden_s: Column
    work_s: Floats
    share_fraction: Column
    chunk_s: Column = 1e12
    others: Column = 0.0
    groups: Column = 1.0
    shared_s: Column = 0.0

    def moments(self) -> tuple[Floats, Floats, Floats]:
        """First three moments of what a prompt adds."""
        first, second, third = (self._mean(np.asarray(self.work_s) ** n) for n in (1, 2, 3))
        return first, second, third

    def own_moments(self) -> tuple[Floats, Floats]:
        """First two moments of what a prompt adds to its own batch alone."""
        own = np.maximum(np.asarray(self.work_s) - self.shared_s, 0.0)
        return self._mean(own), self._mean(own**2)

    def shared_moments(self) -> tuple[Floats, Floats, Floats]:
        """First two moments of what it adds for all, and the mean product of this with its own."""
        shared = np.broadcast_to(np.asarray(self.shared_s, dtype=np.float64), np.shape(self.work_s))
        own = np.maximum(np.asarray(self.work_s) - shared, 0.0)
        return self._mean(shared), self._mean(shared**2), self._mean(own * shared)

    def _mean(self, values: Floats) -> Floats:
        result: Floats = np.einsum("...j,...j->...", np.asarray(self.share_fraction), values)
        return result

    @property
    def is_alone(self) -> bool:
        """Whether no other batch is waited for."""
        return not (np.any(np.asarray(self.others) > 0) or np.any(np.asarray(self.groups) > 1))


def step_moments(queue: GatedQueue) -> StepMoments:
    """Moments of steps that read every prompt which arrived during the step before.

    E[S] = (c + h z)/(1 - rho),  c = t - h,  rho = lambda b_1

    E[S^2] = (c^2 + 2 c rho E[S] + lambda b_2 E[S] + z (t^2 - c^2))/(1 - rho^2)

    E[S^3] = (c^3 + 3 c^2 rho E[S] + 3 c A_2 + lambda b_3 E[S] + 3 rho lambda b_2 E[S^2] + z (t^3 - c^3))
    /(1 - rho^3),  A_2 = lambda b_2 E[S] + rho^2 E[S^2]

    z = phi(lambda),  phi(s) = z (e^(-st) - e^(-sc)) + e^(-sc) phi(lambda (1 - beta(s)))

    An arrival meets a step by its length: E[L] = E[S^2]/E[S], E[L^2] = E[S^3]/E[S]. b_n are the moments of
    the time that a prompt adds and beta its transform, t is a step without a prompt, h what the first prompt
    of a step saves (weights are read while it is computed), and z the share of steps without prompts. Exact
    for Poisson arrivals but for the last phi of a few, which is that of a gamma law.

    Batches of other groups and stages read prompts of their own, and all wait for the fullest: p batches
    (`others` and one) are as one whose prompts come y times as often and spread v/y times as much, with c
    longer by as much as makes the mean right. A prompt adds a_n to its own batch and s_n for all d groups:

    max_i A_i = a_2/a_1 (n + e(n)) + d lambda s_1 E[S],  n = lambda E[S] a_1^2/a_2

    e = (((p-1) n)^-r + (k n^(1/2) + (k^2-1)/6)^-r)^(-1/r),  r = 5/2

    p times one where prompts are few, k standard deviations more where they are many, k the mean of the
    largest of p normal numbers, with a term for their skew. Variance lambda E[S] (v a_2 + 2 w E[as] + d s_2),
    v = v_1 + (p - v_1)/(1 + ((p-1)/k)^2 n)^(17/20),  v_1 = 1/(1 + k^(7/5)), w alike with 1 for v_1: the
    largest of normal numbers varies with their sum as one of them does. y is the slope of the mean.

    Source: gated service of one queue, Takagi, "Queueing Analysis", vol. 1, 1991, section 2.3; length-biased
    sampling, Cox, "Renewal Theory", 1962, section 5.4; k: Blom, "Statistical Estimates and Transformed
    Beta-Variables", 1958; skew: Cornish and Fisher, 1938; e and v between their limits: the largest of
    Poisson numbers within 10 % for 2 to 8 batches.
    """
    require_not_negative(hidden_s=queue.hidden_s, work_s=queue.work_s, others=queue.others)
    require_positive(arrivals_per_s=queue.arrivals_per_s, calm_s=queue.calm_s)
    return _moments(queue)


def _moments(queue: GatedQueue) -> StepMoments:
    """`step_moments` of what was checked."""
    calm_s, fixed_s = np.asarray(queue.calm_s), np.asarray(queue.calm_s) - queue.hidden_s
    first, second, third = queue.moments()
    fullest = _fullest(queue, fixed_s)
    # No queue without end has moments: reading takes as much of the time as is looked at.
    load = np.minimum(queue.arrivals_per_s, _HEAVIEST / np.maximum(first, _LEAST))
    load, fixed_s = load * fullest.often_ratio, fixed_s + fullest.longer_s
    second, third = second * fullest.spread_ratio, third * fullest.spread_ratio**2
    busy = np.minimum(load * first, _HEAVIEST)

    def of_calm(calm: Floats) -> tuple[Floats, Floats]:
        """E[S] and E[S^2] where so many steps are without prompts."""
        step = (fixed_s + (calm_s - fixed_s) * calm) / (1.0 - busy)
        square = fixed_s**2 + 2.0 * fixed_s * busy * step + load * second * step
        return step, (square + calm * (calm_s**2 - fixed_s**2)) / (1.0 - busy**2)

    # phi(lambda) = z: the sums of the terms with z and without, down to a small s.
    at, kept, without = load, np.ones_like(busy), np.ones_like(busy)
    for _ in range(_TERMS):
        falls = np.exp(-at * fixed_s)
        without = without + kept * (falls - np.exp(-at * calm_s))
        kept = kept * falls
        at = load * (1.0 - np.sum(queue.share_fraction * np.exp(-at[..., None] * queue.work_s), axis=-1))
    calm = np.exp(-load * calm_s / (1.0 - busy))
    for _ in range(_ROUNDS):
        step, square = of_calm(calm)
        scv = np.maximum(square / step**2 - 1.0, _LEAST)
        calm = np.minimum(kept * np.exp(-np.log1p(at * step * scv) / scv) / without, 1.0)
    step, square = of_calm(calm)
    added2 = load * second * step + busy**2 * square
    cube = fixed_s**3 + 3.0 * fixed_s**2 * busy * step + 3.0 * fixed_s * added2 + load * third * step
    cube = cube + 3.0 * busy * load * second * square + calm * (calm_s**3 - fixed_s**3)
    return StepMoments(
        mean_s=step,
        met_s=square / step,
        met_s2=cube / (1.0 - busy**3) / step,
        calm_fraction=calm,
        often_ratio=fullest.often_ratio,
        spread_ratio=fullest.spread_ratio,
    )


@dataclass(frozen=True, slots=True)
class _Fullest:
    """What the fullest of several batches adds to a step: as of `step_moments`, y, v/y and c."""

    often_ratio: Floats
    spread_ratio: Floats
    longer_s: Floats


def largest_of(others: Column) -> Floats:
    """Mean of the largest of so many normal numbers and one more."""
    more = np.asarray(others, dtype=np.float64)
    result: Floats = ndtri((more + 0.625) / (more + 1.25))
    return result


def excess_of_fullest(prompts: Floats, others: Column) -> tuple[Floats, Floats]:
    """Prompts of the fullest of several batches beyond one's mean, and their slope: e of `step_moments`."""
    more, largest = np.maximum(others, _LEAST), np.maximum(largest_of(others), _LEAST)
    prompts = np.maximum(prompts, _LEAST)
    root = np.sqrt(prompts)
    few, many = more * prompts, largest * root + np.maximum(largest**2 - 1.0, 0.0) / 6.0
    found = few / (1.0 + (few / many) ** _BEND) ** (1.0 / _BEND)
    slope = (found / few) ** (_BEND + 1.0) * more
    slope = slope + (found / many) ** (_BEND + 1.0) * largest / (2.0 * root)
    return found, slope


def _fullest(queue: GatedQueue, fixed_s: Floats) -> _Fullest:
    """At the mean step, which Newton's method finds from above."""
    load, calm_s, others = np.asarray(queue.arrivals_per_s), np.asarray(queue.calm_s), queue.others
    groups = np.asarray(queue.groups, dtype=np.float64)
    none = np.zeros(np.broadcast_shapes(load.shape, calm_s.shape, np.shape(others), groups.shape))
    if queue.is_alone:
        return _Fullest(none + 1.0, none + 1.0, none)
    first, second, _ = queue.moments()
    own, own2 = queue.own_moments()
    shared, shared2, both = queue.shared_moments()
    more = np.maximum(others, _LEAST)
    load = np.minimum(load, _HEAVIEST / np.maximum(own + groups * shared, _LEAST))
    unit_s = own2 / np.maximum(own, _LEAST)
    per_s, together = load * own / np.maximum(unit_s, _LEAST), load * (own + groups * shared)

    def added(step: Floats) -> tuple[Floats, Floats]:
        """What the fullest adds to the next step after one like this, and its slope."""
        excess, slope = excess_of_fullest(per_s * step, more)
        return together * step + unit_s * excess, together + unit_s * slope * per_s

    largest = largest_of(more)
    root = largest * np.sqrt(load * own2)
    held = calm_s + unit_s * np.maximum(largest**2 - 1.0, 0.0) / 6.0
    step = ((root + np.sqrt(root**2 + 4.0 * (1.0 - together) * held)) / (2.0 * (1.0 - together))) ** 2
    for _ in range(_ROUNDS):
        calm = (calm_s - fixed_s) * np.exp(-(1.0 + more) * load * step)
        reads, often = added(step)
        slope = 1.0 + (1.0 + more) * load * calm - often
        beyond = step - fixed_s - calm - reads
        step = np.maximum(step - beyond / np.maximum(slope, 1.0 - _HEAVIEST), calm_s)
    often = added(step)[1]
    normal = 1.0 / (1.0 + largest**1.4)

    def variance_per_s(at_s: Floats) -> Floats:
        u = 1.0 + (more / largest) ** 2 * per_s * at_s
        spread, with_all = (limit + (1.0 + more - limit) / u**_FALLS for limit in (normal, 1.0))
        result: Floats = load * (spread * own2 + 2.0 * with_all * both + groups * shared2)
        return result

    met, low = step, step
    for _ in range(_ROUNDS):
        variance = variance_per_s(met) * step / (1.0 - np.minimum(often, _HEAVIEST) ** 2)
        met = np.sqrt(met * (step + variance / step))
        low = np.maximum(2.0 * step - met, np.minimum(calm_s, step))
        often = (added(met)[0] - added(low)[0]) / np.maximum(met - low, _LEAST)
    often_ratio = often / np.maximum(load * first, _LEAST)
    spread_ratio = variance_per_s(met) / np.maximum(load * often_ratio * second, _LEAST)
    return _Fullest(none + often_ratio, none + spread_ratio, none + added(low)[0] - often * low)


def _read_with(queue: GatedQueue, met_s: Floats) -> tuple[Floats, Floats]:
    """Reading next to a prompt a second, and its second moment: the fullest of all batches counts.

    beta = lambda a_1 (1 + x^2/(1 + x)/n) + d lambda s_1,  x = e(n) of the step met

    One prompt of another batch hides behind the prompt itself; of many the excess over one is waited for.

    Source: checked on the largest of Poisson numbers.
    """
    first, second, _ = queue.moments()
    load = np.asarray(queue.arrivals_per_s)
    if queue.is_alone:
        return np.minimum(load * first, _HEAVIEST), load * second
    own, own2 = queue.own_moments()
    shared, shared2, both = queue.shared_moments()
    all_of = np.asarray(queue.groups, dtype=np.float64)
    load = np.minimum(load, _HEAVIEST / np.maximum(own + all_of * shared, _LEAST))
    prompts = np.maximum(load * met_s * own**2 / np.maximum(own2, _LEAST), _LEAST)
    excess = excess_of_fullest(prompts, queue.others)[0]
    more = 1.0 + excess**2 / (1.0 + excess) / prompts
    square = own2 * more + 2.0 * both * more + all_of * shared2
    return load * (own * more + all_of * shared), load * square


def prompt_wait(
    queue: GatedQueue,
    *,
    empty_fraction: Column,
    arrival_scv_ratio: Column,
    servers: Column = 1.0,
) -> PromptWait:
    """What an arriving prompt waits for other prompts and for the step in progress.

    W = (1-U) L + R(U L) + y R((1-U) L),  y = C/2/(C/2 + E[R((1-U) L) | delayed]),  U uniform in 0 to 1

    no delay: q_0 = t z/E[S] (1 - e^(-lambda t))/(lambda t), W then uniform in 0 to t

    L is the step met (`step_moments`), R(x) the time of reading what arrives in x. What came before is read
    ahead, what comes after is read with it, as far as the chunk C has room: half of it on average, and the
    smaller of two exponential times is y of the second. Work that goes beyond chunks pays their fixed part,
    b' = b (1 + (1-y)(t-h)/C). Those delayed wait for a gamma time with their own first two moments. `work_s`
    has classes of prompts on its last axis. Bursts delay more of them, and for g times as long:

    g = (Ca^2 + Cs^2)/(1 + Cs^2) e^(-(1-rho)(Ca^2-1)/(Ca^2 + 4 Cs^2))

    P = rho + (Ca^2-1) rho (1-rho) 4 rho/(Ca^2 + rho^2 (4 Ca^2 + Cs^2)) for Poisson's rho

    and a delay of more parts spreads less, as a geometric sum: v' = 1 + (v-1) E[D]/E[D']. A share
    `empty_fraction` finds nobody. Where c servers take prompts from one queue, fewer are delayed and for a
    shorter time beyond the step in progress: q' = q C(c, c rho)/rho, D' = t/2 + (D - t/2)/c, C Erlang's.

    Where so many `others` step together with this batch and read prompts of their own, all wait for the
    fullest (`step_moments`). What comes on top of one batch by itself, X = W_p - W_1, is no longer than a
    chunk and its fixed part: W = W_1 + a X/sqrt(1 + (a X/(C + t - h))^2), a = E[b min(b, C)]/E[b^2].

    Source: gated service, Takagi, "Queueing Analysis", vol. 1, 1991, section 2.3; chunks, Agrawal et al.,
    "Sarathi-Serve", OSDI 2024; bursts, Kraemer and Langenbach-Belz, "Approximate formulae for the delay in
    the queueing system GI/G/1", ITC 8, 1976, and Whitt, "The queueing network analyzer", BSTJ 1983, section
    5; geometric sum, Kleinrock, "Queueing Systems I", 1975, section 5.7; several
    servers, Whitt, "Approximations for the GI/G/m queue", Production and Operations Management 2, 1993.
    """
    load, calm_s = np.asarray(queue.arrivals_per_s, dtype=np.float64), queue.calm_s
    first, second, _ = queue.moments()
    work_scv = np.maximum(second / np.maximum(first, _LEAST) ** 2 - 1.0, 0.0)
    bursty = _pooled(_in_bursts(_delay(queue), calm_s, work_scv, arrival_scv_ratio), calm_s, servers)
    delayed_s = np.where(load * first >= 1.0, np.inf, bursty.mean_s)
    alone = np.minimum(empty_fraction, 1.0 - bursty.fraction)
    in_calm = 1.0 - bursty.fraction - alone
    return PromptWait(
        delayed_fraction=bursty.fraction,
        calm_fraction=in_calm,
        calm_s=np.asarray(calm_s),
        shape=1.0 / bursty.scv,
        scale_s=delayed_s * bursty.scv,
        mean_s=in_calm * calm_s / 2.0 + bursty.fraction * delayed_s,
    )


@dataclass(frozen=True, slots=True)
class _Delay:
    """Share of arrivals delayed by prompts, mean and squared coefficient of variation of their wait."""

    fraction: Floats
    mean_s: Floats
    scv: Floats
    busy_fraction: Floats  # share of time that reading takes


def _delay(queue: GatedQueue) -> _Delay:
    """Delays under Poisson arrivals, from the first two moments of the wait of all."""
    load, calm_s = np.asarray(queue.arrivals_per_s, dtype=np.float64), queue.calm_s
    first, second, _ = queue.moments()
    busy = np.minimum(load * first, _HEAVIEST)
    # Work beyond chunks, as far as it is known before its steps are: of steps that hide nothing.
    behind_s = busy * (calm_s + load * second / (1.0 - busy**2)) / 2.0
    delayed = 1.0 - (1.0 - busy) * np.exp(-load * calm_s)
    chunk_s = queue.chunk_s
    room = chunk_s / (chunk_s + 2.0 * behind_s / delayed)
    fixed_s = np.maximum(calm_s - queue.hidden_s, 0.0)
    longer = (1.0 + (1.0 - room) * fixed_s / chunk_s)[..., None]
    longest = replace(queue, work_s=queue.work_s * longer)
    at_once, mean, square = _waited(replace(longest, others=0.0, groups=1.0))
    if not queue.is_alone:
        at_once, more, more2 = _waited(longest)
        # No batch reads more than a chunk in a step, and each keeps pace once it reads as much itself.
        variance, beyond = square - mean**2, np.maximum(more - mean, 0.0)
        cut = np.minimum(queue.work_s, np.asarray(chunk_s)[..., None])
        part = np.einsum("...j,...j->...", queue.share_fraction * queue.work_s, cut) / second
        part = part / np.sqrt(1.0 + (part * beyond / (fixed_s + chunk_s)) ** 2)
        variance = variance + part**2 * np.maximum(more2 - more**2 - variance, 0.0)
        mean = mean + part * beyond
        square = variance + mean**2
    delay = np.maximum(mean - at_once * calm_s / 2.0, _LEAST) / (1.0 - at_once)
    spread = (square - at_once * calm_s**2 / 3.0) / (1.0 - at_once) / delay**2 - 1.0
    busy = np.minimum(load * first * longer[..., 0], _HEAVIEST)
    return _Delay(1.0 - at_once, delay, np.maximum(spread, _LEAST), busy)


def _waited(queue: GatedQueue) -> tuple[Floats, Floats, Floats]:
    """Share of arrivals that wait for a step without prompts alone, E[W] and E[W^2] of all."""
    load = np.asarray(queue.arrivals_per_s, dtype=np.float64)
    met = _moments(queue)
    in_calm = -np.expm1(-load * queue.calm_s) / (load * queue.calm_s)
    at_once = np.minimum(queue.calm_s * met.calm_fraction / met.mean_s * in_calm, 1.0 - _LEAST)
    busy, busy2 = _read_with(queue, met.met_s)
    behind_s = busy * met.met_s / 2.0
    room = queue.chunk_s / (queue.chunk_s + 2.0 * behind_s / (1.0 - at_once))
    mean = (1.0 + busy) / 2.0 * met.met_s + room * behind_s
    both = 1.0 + busy + busy**2 + room * busy * (2.0 + busy) + (room * busy) ** 2
    square = met.met_s2 * both / 3.0 + busy2 * met.met_s * (1.0 + room**2) / 2.0
    return at_once, mean, square


def _in_bursts(calm: _Delay, calm_s: Column, work_scv: Floats, arrival_scv: Column) -> _Delay:
    """Delays under arrivals burstier than Poisson's: g of the wait beyond that for a step without prompts."""
    spread, busy = np.maximum(arrival_scv, 1.0), calm.busy_fraction
    falls = np.exp(-(1.0 - busy) * (spread - 1.0) / (spread + 4.0 * work_scv))
    longer = (spread + work_scv) / (1.0 + work_scv) * falls
    peak = 4.0 * busy / (spread + busy**2 * (4.0 * spread + work_scv))
    more = (spread - 1.0) * busy * peak  # (P - rho)/(1 - rho)
    at_once = (1.0 - calm.fraction) * (1.0 - np.minimum(more, 1.0))
    for_prompts = calm.fraction * (calm.mean_s - calm_s / 2.0)
    mean = np.maximum(calm_s / 2.0 + longer * for_prompts / (1.0 - at_once), calm.mean_s)
    scv = np.maximum(1.0 + (calm.scv - 1.0) * calm.mean_s / mean, _LEAST)
    return _Delay(1.0 - at_once, mean, np.where(spread > 1.0, scv, calm.scv), busy)


def _pooled(own: _Delay, calm_s: Column, servers: Column) -> _Delay:
    """Delays where several servers take prompts from one queue."""
    count = np.asarray(servers, dtype=np.float64)
    if np.all(count <= 1.0):
        return own
    busy = np.clip(own.busy_fraction, _LEAST, _HEAVIEST)
    fewer = np.minimum(erlang_c_fraction(servers=count, offered_load=count * busy) / busy, 1.0)
    several = count > 1.0
    return _Delay(
        np.where(several, np.maximum(own.fraction * fewer, _LEAST), own.fraction),
        np.where(several, calm_s / 2.0 + np.maximum(own.mean_s - calm_s / 2.0, 0.0) / count, own.mean_s),
        own.scv,
        own.busy_fraction,
    )


def wait_in_time_fraction(*, wait: PromptWait, own_s: Floats, spare_s: Column) -> Floats:
    """Share of prompts whose wait and reading take no longer than `spare_s`; classes on the last axis.

    P(W + r_j <= T) = p_0 1(r_j <= T) + p_c min(1, max(0, (T - r_j)/t)) + q Gamma((T - r_j)/theta; kappa)

    Source: law of total probability over the cases of `PromptWait`.
    """
    left = np.asarray(spare_s)[..., None] - own_s
    room = np.maximum(left, 0.0)
    calm, delayed = wait.calm_fraction[..., None], wait.delayed_fraction[..., None]
    in_calm = np.minimum(room / np.maximum(wait.calm_s[..., None], _LEAST), 1.0)
    in_delay = gammainc(wait.shape[..., None], room / np.maximum(wait.scale_s[..., None], _LEAST))
    alone = (1.0 - calm - delayed) * (left >= 0.0)
    result: Floats = alone + calm * in_calm + delayed * in_delay
    return result


def prompt_times(reading: PromptReading) -> Floats:
    """Times of reading a prompt by class, of a step without one and of what is hidden, in one array."""
    rows = np.stack([reading.calm_s, reading.hidden_s], axis=-2)
    shape = np.broadcast_shapes(rows.shape[:-2], reading.own_s.shape[:-2])
    own, more = (np.broadcast_to(one, (*shape, *one.shape[-2:])) for one in (reading.own_s, rows))
    result: Floats = np.concatenate([own, more], axis=-2)
    return result


def at_state(values: Floats, reading: PromptReading, found: Floats) -> Floats:
    """Values at states between those known, by straight lines on the last axis; `found` has no such axis."""
    at = np.clip(found, 1.0, reading.limit)
    known = reading.found
    right = np.clip(np.searchsorted(known, at), 1, len(known) - 1)
    low = known[right - 1]
    way = np.clip((at - low) / np.maximum(np.minimum(known[right], reading.limit) - low, 1.0), 0.0, 1.0)
    # `found` may have axes before those of the values: loads that are looked at together.
    axes = (1,) * (values.ndim - reading.limit.ndim)
    values = np.broadcast_to(values, (*at.shape[: at.ndim - reading.limit.ndim], *values.shape))
    place, part = right.reshape((*right.shape, *axes)), way.reshape((*way.shape, *axes))
    low_values = np.take_along_axis(values, place - 1, axis=-1)[..., 0]
    high_values = np.take_along_axis(values, place, axis=-1)[..., 0]
    result: Floats = low_values * (1.0 - part[..., 0]) + high_values * part[..., 0]
    return result
