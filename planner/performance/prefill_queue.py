"""What a prompt waits for inside a replica: the step in progress, and prompts of others read with it.

An engine takes steps without a pause while it holds a request. Who arrives during a step is read in the next
one, together with all others who arrived, first come, first served, up to a chunk. A step without a prompt
takes the time of those who write; each prompt adds the time of reading it. So prompts queue for steps as for
a server that serves what it finds at the start of a round (gated), and whose round has a fixed part.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammainc

from planner.performance._checks import require_not_negative, require_positive
from planner.performance.columns import Column, Floats
from planner.performance.queueing import erlang_c_fraction

_ROUNDS = 4  # of Newton's method for the mean step: to 1e-6 of it
_HEAVIEST = 0.99  # share of time that reading takes, from which on the queue counts as without end
_LEAST = 1e-12


@dataclass(frozen=True, slots=True)
class PromptReading:
    """What reading prompts takes a group, one entry per candidate, states found on the last axis.

    `found` are the states in which times are known: so many inside, the arrival counted. `own_s` (candidates,
    classes of prompts, states) reads a prompt next to them, `calm_s` is a step without a prompt, of which
    `hidden_s` is hidden where prompts are read. `work_s` (candidates, classes) is what a prompt adds to
    a step that reads others, `chunk_s` what a chunk full of prompts adds, `limit` the largest state, `parts`
    the steps that read a prompt. So many `others` are batches on other stages that read prompts of their own,
    for which this one waits. So many `servers` read the prompts of one queue: 1 where each has its own.
    """

    found: Floats
    own_s: Floats
    calm_s: Floats
    hidden_s: Floats
    work_s: Floats
    share_fraction: Floats
    chunk_s: Floats
    limit: Floats
    parts: Floats
    others: Floats
    servers: Floats


@dataclass(frozen=True, slots=True)
class StepMoments:
    """Steps of a group that prompts stretch: mean, and moments of the step that an arrival meets."""

    mean_s: Floats
    met_s: Floats
    met_s2: Floats
    calm_fraction: Floats  # of steps, which read no prompt


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


def step_moments(
    *,
    arrivals_per_s: Column,
    calm_s: Column,
    hidden_s: Column,
    work_s: Column,
    work_s2: Column,
    work_s3: Column,
) -> StepMoments:
    """Moments of steps that read every prompt which arrived during the step before.

    E[S] = t + rho E[S] - h (1 - z),  z = e^(-lambda E[S]),  rho = lambda b_1,  r = rho - h lambda z

    V[S] = (lambda b_2 E[S] + h^2 z (1-z))/(1 - r^2)

    C[S] = (lambda b_3 E[S] + 3 r lambda b_2 V[S])/(1 - r^3)

    An arrival meets a step by its length: E[L] = E[S^2]/E[S], E[L^2] = E[S^3]/E[S]. b_n are the moments of
    the time that a prompt adds, t is a step without a prompt, and h what the first prompt of a step saves
    (weights are read while it is computed). C is the third central moment. Exact for Poisson arrivals and
    h = 0; else steps without prompts are as many as at the mean step, and what the first prompt saves does
    not depend on how many follow.

    Source: gated service of one queue, Takagi, "Queueing Analysis", vol. 1, 1991, section 2.3; length-biased
    sampling, Cox, "Renewal Theory", 1962, section 5.4.
    """
    require_not_negative(hidden_s=hidden_s, work_s=work_s, work_s2=work_s2, work_s3=work_s3)
    require_positive(arrivals_per_s=arrivals_per_s, calm_s=calm_s)
    load = np.asarray(arrivals_per_s, dtype=np.float64)
    return _moments(load, calm_s, hidden_s, np.asarray(work_s), np.asarray(work_s2), np.asarray(work_s3))


def _moments(
    load: Floats, calm_s: Column, hidden_s: Column, work_s: Floats, work_s2: Floats, work_s3: Floats
) -> StepMoments:
    """`step_moments` of what was checked."""
    busy = np.minimum(load * work_s, _HEAVIEST)
    idle = 1.0 - busy
    step = np.asarray(calm_s / idle)
    for _ in range(_ROUNDS):
        saved = hidden_s * np.exp(-load * step)
        step = np.maximum(step - (step * idle - calm_s + hidden_s - saved) / (idle + load * saved), calm_s)
    calm = np.exp(-load * step)
    again = busy - hidden_s * load * calm
    spread = load * work_s2 * step + hidden_s**2 * calm * (1.0 - calm)
    variance = np.maximum(spread, 0.0) / (1.0 - again**2)
    third = (load * work_s3 * step + 3.0 * again * load * work_s2 * variance) / (1.0 - again**3)
    return StepMoments(
        mean_s=step,
        met_s=variance / step + step,
        met_s2=np.maximum(third / step + 3.0 * variance + step**2, (variance / step + step) ** 2),
        calm_fraction=calm,
    )


def prompt_wait(
    *,
    arrivals_per_s: Column,
    calm_s: Column,
    hidden_s: Column,
    work_s: Floats,
    share_fraction: Column,
    chunk_s: Column,
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

    Source: gated service, Takagi, "Queueing Analysis", vol. 1, 1991, section 2.3; chunks, Agrawal et al.,
    "Sarathi-Serve", OSDI 2024; bursts, Kraemer and Langenbach-Belz, "Approximate formulae for the delay in
    the queueing system GI/G/1", ITC 8, 1976, and Whitt, "The queueing network analyzer", BSTJ 1983, section
    5; geometric sum, Kleinrock, "Queueing Systems I", 1975, section 5.7; several
    servers, Whitt, "Approximations for the GI/G/m queue", Production and Operations Management 2, 1993.
    """
    load = np.asarray(arrivals_per_s, dtype=np.float64)
    weighed = share_fraction * work_s
    first, second, third = (np.einsum("...j,...j->...", weighed, work_s**n) for n in (0, 1, 2))
    work_scv = np.maximum(second / np.maximum(first, _LEAST) ** 2 - 1.0, 0.0)
    calm = _delay(load, calm_s, hidden_s, (first, second, third), chunk_s)
    bursty = _pooled(_in_bursts(calm, calm_s, work_scv, arrival_scv_ratio), calm_s, servers)
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


def _delay(
    load: Floats, calm_s: Column, hidden_s: Column, work: tuple[Floats, Floats, Floats], chunk_s: Column
) -> _Delay:
    """Delays under Poisson arrivals, from the first two moments of the wait of all."""
    busy = np.minimum(load * work[0], _HEAVIEST)
    # Work beyond chunks, as far as it is known before its steps are: of steps that hide nothing.
    behind_s = busy * (calm_s + load * work[1] / (1.0 - busy**2)) / 2.0
    delayed = 1.0 - (1.0 - busy) * np.exp(-load * calm_s)
    room = chunk_s / (chunk_s + 2.0 * behind_s / delayed)
    longer = 1.0 + (1.0 - room) * np.maximum(calm_s - hidden_s, 0.0) / chunk_s
    first, second, third = (moment * longer**n for n, moment in enumerate(work, start=1))
    met = _moments(load, calm_s, hidden_s, first, second, third)
    busy = np.minimum(load * first, _HEAVIEST)
    in_calm = -np.expm1(-load * calm_s) / (load * calm_s)
    at_once = np.minimum(calm_s * met.calm_fraction / met.mean_s * in_calm, 1.0 - _LEAST)
    behind_s = busy * met.met_s / 2.0
    room = chunk_s / (chunk_s + 2.0 * behind_s / (1.0 - at_once))
    mean = (1.0 + busy) / 2.0 * met.met_s + room * behind_s
    both = 1.0 + busy + busy**2 + room * busy * (2.0 + busy) + (room * busy) ** 2
    square = met.met_s2 * both / 3.0 + load * second * met.met_s * (1.0 + room**2) / 2.0
    delay = np.maximum(mean - at_once * calm_s / 2.0, _LEAST) / (1.0 - at_once)
    variance = (square - at_once * calm_s**2 / 3.0) / (1.0 - at_once) - delay**2
    return _Delay(1.0 - at_once, delay, np.maximum(variance / delay**2, _LEAST), busy)


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


def waiting_calm_s(
    *, reading: PromptReading, arrivals_per_s: Floats, own_s: Floats, calm_s: Floats
) -> Floats:
    """A step in which one batch reads no prompt, lengthened by those of batches on other stages.

    t' = t + (1 - e^(-(p-1) lambda c t/(1-rho))) (sum_j w_j r_j/c - t),  c parts of a prompt

    Source: Poisson arrivals at each batch during a step; all stages wait for the slowest.
    """
    if not np.any(reading.others > 0):
        return calm_s
    read_s = np.sum(reading.share_fraction * own_s, axis=-1) / reading.parts
    busy = np.minimum(arrivals_per_s * np.sum(reading.share_fraction * reading.work_s, axis=-1), _HEAVIEST)
    often = -np.expm1(-reading.others * arrivals_per_s * reading.parts * calm_s / (1.0 - busy))
    result: Floats = calm_s + often * np.maximum(read_s - calm_s, 0.0)
    return result


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
