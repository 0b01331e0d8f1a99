"""How much compute a quantity of work asks for: jobs of unlike size, data to go through, agents, growth."""

from statistics import NormalDist

import numpy as np

from planner.performance._checks import require_not_negative, require_positive
from planner.performance.columns import Column


def lognormal_mean_h(*, median_h: Column, high_h: Column, high_fraction: float) -> Column:
    """Mean size of jobs whose sizes are log-normal, from the median and a high quantile.

    m = median exp(sigma^2 / 2),  sigma = ln(high / median) / z_q

    A few large jobs carry most of the hours: the mean is far above the median.

    Source: moments of the log-normal distribution.
    """
    require_positive(median_h=median_h, high_h=high_h)
    if not 0.5 < high_fraction < 1:
        raise ValueError(f"high_fraction must lie above 0.5 and below 1, got {high_fraction}")
    if np.any(np.asarray(high_h) < median_h):
        raise ValueError(f"high_h must not be below median_h {median_h}, got {high_h}")
    sigma = np.log(np.divide(high_h, median_h)) / NormalDist().inv_cdf(high_fraction)
    mean_h: Column = median_h * np.exp(np.square(sigma) / 2.0)
    return mean_h


def jobs_accelerator_h(*, jobs_per_h: Column, hours_h: Column, mean_h: Column) -> Column:
    """Accelerator hours of the jobs that begin in a period.

    H = n t m

    Source: definition of a mean.
    """
    require_not_negative(jobs_per_h=jobs_per_h, hours_h=hours_h, mean_h=mean_h)
    return jobs_per_h * hours_h * mean_h


def campaign_accelerator_h(
    *,
    campaigns_per_h: Column,
    hours_h: Column,
    agents: Column,
    campaign_h: Column,
    agent_accelerators: Column,
    success_fraction: Column,
) -> Column:
    """Accelerator hours of search campaigns that have to succeed, tried until they do.

    H = n t a d g / s

    a agents, each for the time d on g accelerators; 1 / s tries are expected where a share s succeeds.

    Source: mean of the geometric distribution; agents by hours as in "AIRA-Compose", Meta, 2026.
    """
    require_not_negative(campaigns_per_h=campaigns_per_h, hours_h=hours_h)
    require_positive(agents=agents, campaign_h=campaign_h, agent_accelerators=agent_accelerators)
    require_positive(success_fraction=success_fraction)
    tries = campaigns_per_h * hours_h / success_fraction
    return tries * agents * campaign_h * agent_accelerators


def team_accelerator_h(*, people: Column, person_h: Column, hours_h: Column, month_h: Column) -> Column:
    """Accelerator hours of a team in a period.

    H = P h t / month

    h are those of one person in a month.

    Source: definition.
    """
    require_not_negative(people=people, person_h=person_h, hours_h=hours_h)
    require_positive(month_h=month_h)
    return people * person_h * hours_h / month_h


def pass_h(*, items: Column, tokens_per_item: Column, tokens_per_s: Column) -> Column:
    """Accelerator hours to go once through a set of items, at a rate of one accelerator.

    t = items * tokens / X

    Source: definition of a rate.
    """
    require_not_negative(items=items, tokens_per_item=tokens_per_item)
    require_positive(tokens_per_s=tokens_per_s)
    return items * tokens_per_item / (3600.0 * tokens_per_s)


def agent_experiments_per_d(*, workers: Column, experiments_per_d: Column, asynchronous: bool) -> Column:
    """Experiments that research agents get through in a day.

    asynchronous: n e,  synchronous: e

    Asynchronous workers each start the next experiment when theirs ends. A synchronous agent waits for its
    one experiment before it asks for the next, so that further workers stand idle.

    Source: "AIRA_2", Meta, 2026: a pool of asynchronous workers makes throughput linear in its size.
    """
    require_positive(workers=workers, experiments_per_d=experiments_per_d)
    return workers * experiments_per_d if asynchronous else experiments_per_d * np.ones_like(workers)[()]


def growth_ratio(*, ratio: Column, period_y: Column, horizon_y: Column) -> Column:
    """Growth over a horizon, from that over another period.

    g = ratio^(horizon / period)

    Source: compound growth.
    """
    require_positive(ratio=ratio, period_y=period_y)
    require_not_negative(horizon_y=horizon_y)
    grown: Column = np.power(ratio, np.divide(horizon_y, period_y))
    return grown


def recording_windows(*, audio_s: Column, window_s: Column) -> Column:
    """Windows that a recording is cut into, the last one padded to a whole one; each is heard by itself.

    n = ceil(a / w)

    Source: Radford et al., "Robust Speech Recognition via Large-Scale Weak Supervision", arXiv 2212.04356,
    section 2.1 (30 s, padded); engines hear the windows of a recording as requests of their own (vLLM,
    "Supported models", transcription).
    """
    require_positive(audio_s=audio_s, window_s=window_s)
    result: Column = np.ceil(np.divide(audio_s, window_s))
    return result


def window_text_tokens(*, audio_s: Column, windows: Column, tokens_per_s: Column) -> Column:
    """Tokens that are written of the sound in one window of a recording.

    o = x a / n

    Source: definition of a rate.
    """
    require_positive(audio_s=audio_s, windows=windows, tokens_per_s=tokens_per_s)
    return tokens_per_s * audio_s / np.asarray(windows)


def recordings_per_s(*, audio_ratio: Column, audio_s: Column) -> Column:
    """Recordings that come in a second, from the time of sound that comes in a time.

    lambda = r / a

    Source: definition of a rate.
    """
    require_not_negative(audio_ratio=audio_ratio)
    require_positive(audio_s=audio_s)
    return audio_ratio / np.asarray(audio_s)


def peak_recordings_per_s(*, audio_ratio: Column, audio_s: Column, mean_to_peak_fraction: Column) -> Column:
    """Recordings that come in a second of the busiest hour, from the sound of a day.

    lambda* = r / (a m)

    Source: definition of the mean over the peak.
    """
    require_positive(mean_to_peak_fraction=mean_to_peak_fraction)
    return recordings_per_s(audio_ratio=audio_ratio, audio_s=audio_s) / mean_to_peak_fraction
