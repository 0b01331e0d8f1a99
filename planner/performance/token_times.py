"""What a request waits for between its tokens: steps next to others, and prompts that are read meanwhile.

The mean of a replica hides both. Who writes few tokens may see a prompt read in one of them, or in none; and
a request starts when prompts come: those that arrived in the step that read its own are read in the next.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc

from planner.performance._checks import require_open_share, require_positive
from planner.performance.columns import Floats
from planner.performance.prefill_queue import GatedQueue, at_state, prompt_times, step_moments
from planner.performance.replica import MixedReplica, mixed_state

_STATES = 16  # equally likely ones that a request meets
_HALVINGS = 40  # of the bracket: to 1e-12 of it
_HEAVIEST = 0.97  # share of time that reading takes, from which on the queue counts as without end
_LEAST = 1e-12


def token_time_quantile_s(
    *,
    replica: MixedReplica,
    arrivals_per_s: float,
    quantile_fraction: float,
    output_tokens: Floats,
    share_fraction: Floats,
) -> float:
    """Mean time between the tokens of a request that this share of the requests of one replica keep.

    D_n = n t + Y,  E[Y] = n (ITL - t) + (rho e + g(D) b_1)/(1 - rho),  e = b + rho (E[L] - E[S])

    V[Y] = lambda (b_2 + (Ca^2-1) b_1^2) (n ITL + e)/(1 - rho)^2 + (rho/(1-rho))^2 V[e]

    V[e] = V[b] + rho^2 V[L] + lambda E[L] b_2,  P(Y = 0) = e^(-lambda (n t + E[S] + e - t))

    n tokens follow the first, each a step t without prompts; Y is the reading of others' prompts, a delay
    busy period: what arrives in it prolongs it. The step that read one's own prompt b is longer than others
    by e, and what arrived in it is read in the first step of the answer. g(x) = (Ca^2-1)/2 (1 - e^(-4 p (1-p)
    lambda x)) are the arrivals beyond lambda x that follow an arrival of a bursty stream, p = (1 + sqrt(
    (Ca^2-1)/(Ca^2+1)))/2. Y is zero or has a gamma law with these two moments, and no step reads more than a
    chunk. b_n, rho, S and L as of `step_moments`; t and ITL are those next to what a request finds. Where
    other groups and stages read prompts of their own, lambda counts y times in V[Y] and P(Y = 0).

    Args:
        replica: with `reading`.
        arrivals_per_s: at one group of it.
        quantile_fraction: the share.
        output_tokens: kinds of answers; those of one token have no further one.
        share_fraction: of each kind.

    Source: delay busy period, Kleinrock, "Queueing Systems I", 1975, section 5.8 (two moments); renewal
    function of two exponentials with balanced means, Cox, "Renewal Theory", 1962, section 4.5.
    """
    require_open_share(quantile_fraction=quantile_fraction)
    require_positive(arrivals_per_s=arrivals_per_s, output_tokens=output_tokens)
    met = _share_in_time(replica, arrivals_per_s, np.asarray(output_tokens), np.asarray(share_fraction))
    low, high = 0.0, float(np.max(replica.tpot_s))
    while met(high) < quantile_fraction:
        low, high = high, 2.0 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if met(middle) >= quantile_fraction else (middle, high)
    return high


def _share_in_time(
    replica: MixedReplica, load: float, answers: Floats, share: Floats
) -> Callable[[float], float]:
    """Share of requests whose mean time between tokens is no longer than a time."""
    reading = replica.reading
    if reading is None:
        raise ValueError("the times between tokens of a request rest on how its replica reads prompts")
    found = _found(replica, load)
    times = prompt_times(reading)
    at = np.array([at_state(times, reading, np.array([1.0 + k]))[0] for k in found])
    own_s, calm_s, hidden_s = at[:, :-2], at[:, -2], at[:, -1]
    work, part = np.ravel(reading.work_s), np.ravel(reading.share_fraction)
    first, second = (float(part @ work**n) for n in (1, 2))
    busy = min(load * first, _HEAVIEST)
    queue = GatedQueue(
        arrivals_per_s=load,
        calm_s=calm_s,
        hidden_s=hidden_s,
        work_s=work,
        share_fraction=part,
        others=np.ravel(reading.others),
        groups=np.ravel(reading.groups),
        shared_s=np.ravel(reading.shared_s),
    )
    alone, together = step_moments(replace(queue, others=0.0, groups=1.0)), step_moments(queue)
    often = together.often_ratio[:, None]
    longer_s = np.maximum(own_s @ part - calm_s, 0.0) + busy * (alone.met_s - alone.mean_s)
    spread_s2 = second - first**2 + busy**2 * (alone.met_s2 - alone.met_s**2) + load * alone.met_s * second

    several = answers > 1.0
    tokens, kept = answers[several] - 1.0, share[several] / np.sum(share[several])
    scv = max(float(np.squeeze(replica.arrival_scv_ratio)), 1.0)
    plain = np.outer(calm_s, tokens)
    whole = np.outer(replica.tpot_s[0][found], tokens)
    more = longer_s[:, None]
    mean = whole - plain + (busy * more + _following(scv, load * whole) * first) / (1.0 - busy)
    mean = np.maximum(mean, _LEAST)
    variance = often * load * (second + (scv - 1.0) * first**2) * (whole + more) / (1.0 - busy) ** 2
    variance += ((busy / (1.0 - busy)) ** 2 * spread_s2)[:, None]
    none = np.exp(-often * load * (plain + np.maximum(alone.mean_s + longer_s - calm_s, 0.0)[:, None]))
    some_s = mean / (1.0 - none)
    some_s2 = np.maximum((variance + mean**2) / (1.0 - none) - some_s**2, _LEAST)
    shape, scale_s = some_s**2 / some_s2, some_s2 / some_s
    most_s = tokens * float(np.squeeze(reading.chunk_s))

    def met(time_s: float) -> float:
        read_s = tokens * time_s - plain
        chance = none * (read_s >= 0.0) + (1.0 - none) * gammainc(shape, np.maximum(read_s, 0.0) / scale_s)
        return float(np.mean(np.where(read_s >= most_s, 1.0, chance) @ kept))

    return met


def _found(replica: MixedReplica, load: float) -> NDArray[np.intp]:
    """Requests that one finds which is let in at once, in steps of equal chance; all but the last place."""
    chance = mixed_state(replica=replica, arrivals_per_s=load).probability_fraction[0]
    seen = np.cumsum(chance[: int(replica.batch_limit[0])])
    middles = (np.arange(_STATES) + 0.5) / _STATES
    found: NDArray[np.intp] = np.searchsorted(seen, middles * seen[-1])
    return found


def _following(scv: float, mean_arrivals: Floats) -> Floats:
    """Arrivals beyond so many of the mean rate that follow an arrival of a bursty stream."""
    often = (1.0 + np.sqrt((scv - 1.0) / (scv + 1.0))) / 2.0
    result: Floats = (scv - 1.0) / 2.0 * -np.expm1(-4.0 * often * (1.0 - often) * mean_arrivals)
    return result
