"""Requests of unequal length on one replica.

A mix is a joint histogram of prompt and answer lengths. Means alone hide three things: long answers stay
longer, so that a step meets them more often; prompts differ in their first token; spread makes queues longer.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.performance._checks import require_not_negative, require_positive
from planner.performance.columns import Column

_PARTS = 8  # of equal chance, of answers that spread like exponential ones


@dataclass(frozen=True, slots=True)
class RequestMix:
    """Kinds of requests, one entry each; the shares sum to 1."""

    input_tokens: NDArray[np.float64]
    output_tokens: NDArray[np.float64]
    share_fraction: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PromptClasses:
    """A mix by length of prompt: shares, mean lengths over those of all requests, spread of answers."""

    share_fraction: NDArray[np.float64]
    input_ratio: NDArray[np.float64]
    output_ratio: NDArray[np.float64]
    output_scv_ratio: NDArray[np.float64]


def request_mix(*, context_tokens: ArrayLike, generated_tokens: ArrayLike, requests: ArrayLike) -> RequestMix:
    """A mix from the rows of a joint histogram of lengths.

    w_i = n_i / sum n

    Source: definition.
    """
    prompts, answers, counts = (
        np.asarray(column, dtype=np.float64) for column in (context_tokens, generated_tokens, requests)
    )
    require_not_negative(context_tokens=prompts, requests=counts)
    require_positive(generated_tokens=answers, requests_in_all=float(counts.sum()))
    return RequestMix(input_tokens=prompts, output_tokens=answers, share_fraction=counts / counts.sum())


def spread_mix(
    *,
    share_fraction: NDArray[np.float64],
    input_tokens: NDArray[np.float64],
    output_tokens: NDArray[np.float64],
) -> RequestMix:
    """A mix from classes of which only means are known: answers of each spread like exponential ones.

    o_jm = o_j p [(1 - ln s) s] from s_(m+1) to s_m,  p = 8 parts of equal chance, s_m = 1 - m/p

    Source: means of an exponential law between its quantiles.
    """
    require_positive(input_tokens=input_tokens)
    survives = 1.0 - np.arange(_PARTS + 1.0) / _PARTS
    beyond = survives * (1.0 - np.log(np.maximum(survives, np.finfo(np.float64).tiny)))
    of_part = _PARTS * (beyond[:-1] - beyond[1:])
    return RequestMix(
        input_tokens=np.repeat(input_tokens, _PARTS),
        output_tokens=np.maximum(np.outer(output_tokens, of_part).ravel(), 1.0),
        share_fraction=np.repeat(share_fraction / _PARTS, _PARTS),
    )


def mean_tokens(mix: RequestMix) -> tuple[float, float]:
    """Mean prompt and mean answer of a request.

    E[i] = sum w i,  E[o] = sum w o

    Source: definition.
    """
    return float(mix.share_fraction @ mix.input_tokens), float(mix.share_fraction @ mix.output_tokens)


def prompt_classes(mix: RequestMix, *, classes_per_doubling: int) -> PromptClasses:
    """A mix with prompts of about one length joined, so that few numbers say what a queue depends on.

    w_j = sum_(i in j) w,  ratios E_j[i] / E[i] and E_j[o] / E[o],  v_j = E_j[o^2] / E_j[o]^2 - 1

    The reading of a prompt depends on its length alone; of answers the mean and the spread are kept. What is
    lost is the tie between prompt and answer inside a class.

    Source: definition (law of total variance).
    """
    require_positive(classes_per_doubling=classes_per_doubling)
    prompt, answer = mean_tokens(mix)
    place = np.floor(np.log2(np.maximum(mix.input_tokens, 1.0)) * classes_per_doubling)
    _, of = np.unique(place, return_inverse=True)
    share = np.bincount(of, mix.share_fraction).astype(np.float64)
    prompts, answers, squares = (
        np.bincount(of, mix.share_fraction * values) / share
        for values in (mix.input_tokens, mix.output_tokens, mix.output_tokens**2)
    )
    return PromptClasses(
        share_fraction=share,
        input_ratio=prompts / prompt,
        output_ratio=answers / answer,
        output_scv_ratio=np.maximum(squares / answers**2 - 1.0, 0.0),
    )


def class_context_tokens(
    *,
    input_tokens: Column,
    output_tokens: Column,
    share_fraction: Column,
    input_ratio: Column,
    output_ratio: Column,
    output_scv_ratio: Column,
    written_fraction: Column,
) -> Column:
    """Mean length of the requests that a step meets, from classes of prompts on the last axis.

    c = sum_j w_j o_j (i_j + y (1 + v_j) o_j) / o,  i_j = i r_j,  o_j = o r'_j

    y is the share of the answer that is written: 1/2 on average over the steps (`context_tokens` of
    `step_times`), 1 at the end (what the cache must have room for).

    Source: length-biased sampling; Cox, "Renewal Theory", 1962, section 5.4.
    """
    require_positive(output_tokens=output_tokens)
    require_not_negative(input_tokens=input_tokens, written_fraction=written_fraction)
    prompts = np.asarray(input_tokens)[..., None] * input_ratio
    answers = np.asarray(output_tokens)[..., None] * output_ratio
    length = prompts + np.asarray(written_fraction)[..., None] * (1.0 + output_scv_ratio) * answers
    result: Column = np.sum(share_fraction * output_ratio * length, axis=-1)
    return result


def bursty_departures_per_s(
    *, arrivals_per_s: Column, departures_per_s: NDArray[np.float64], arrival_scv_ratio: Column
) -> NDArray[np.float64]:
    """Departure rates with which a Poisson stream fills a replica as a bursty stream does with its own.

    mu'(k) = max(lambda (mu(k) / lambda)^(1/z), mu(k)/b),  z = (Ca^2 + 1)/2

    b = 1 + sqrt((Ca^2 - 1)/(Ca^2 + 1))

    With many servers the number inside spreads z times as much as Poisson's (peakedness), near saturation
    the queue is z times as long, and Ca^2 = 1 changes nothing: both known limits, one form between them. Far
    from saturation that form queues requests which a burst never brings: the stream of two exponentials with
    balanced means comes at b < 2 times its mean rate at most, so that no state is fuller than under a Poisson
    stream of rate b lambda. A process that is bursty over minutes (a shift, a release) is a change of load,
    not of Ca^2. States lie on the last axis of `departures_per_s`.

    Source: peakedness of renewal streams, Whitt, "Heavy-traffic approximations for service systems with
    blocking", AT&T Bell Laboratories Technical Journal 1984; Kingman 1961 (one server near saturation); the
    stream: Whitt, "Approximating a point process by a renewal process", Operations Research 1982, section 3.
    """
    require_positive(arrivals_per_s=arrivals_per_s, departures_per_s=departures_per_s)
    require_not_negative(arrival_scv_ratio=arrival_scv_ratio)
    load = np.asarray(arrivals_per_s)[..., None]
    bursty = bursty_log_ratios(np.log(load / departures_per_s), np.asarray(arrival_scv_ratio)[..., None])
    result: NDArray[np.float64] = load * np.exp(-bursty)
    return result


def bursty_log_ratios(log_ratios: NDArray[np.float64], spread: Column) -> NDArray[np.float64]:
    """ln(lambda/mu'(k)) of `bursty_departures_per_s` from ln(lambda/mu(k)), for chains in logarithms."""
    in_burst = np.log1p(np.sqrt(np.maximum(spread - 1.0, 0.0) / (spread + 1.0)))
    most = np.where(np.asarray(spread) > 1.0, in_burst, np.inf)
    result: NDArray[np.float64] = np.minimum(log_ratios * (2.0 / (spread + 1.0)), log_ratios + most)
    return result


def wait_factor(*, arrival_scv_ratio: Column, service_scv_ratio: Column) -> Column:
    """How much longer those who find a replica full wait than in the chain, which holds the bursts already.

    f = max((Ca^2 + Cs^2) / (Ca^2 + 1), 1/2)

    Source: Allen, "Probability, Statistics and Queueing Theory", 1990 (Allen-Cunneen over the chain's part).
    """
    require_not_negative(arrival_scv_ratio=arrival_scv_ratio, service_scv_ratio=service_scv_ratio)
    result: Column = np.maximum((arrival_scv_ratio + service_scv_ratio) / (arrival_scv_ratio + 1.0), 0.5)
    return result
