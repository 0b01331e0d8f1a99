"""How much compute a quantity of work asks for: jobs of unlike size, data to go through, agents, growth."""

from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from planner.performance._checks import require_not_negative, require_positive

Column = float | NDArray[np.float64]


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


def heard_tokens(*, audio_s: Column, window_s: Column, window_tokens: Column) -> Column:
    """Frames that an encoder hears of a recording, which is cut into windows and padded to whole ones.

    n = ceil(a / w) n_w

    Windows are heard one after the other; that each attends to itself alone is left out.

    Source: Radford et al., "Robust Speech Recognition via Large-Scale Weak Supervision", arXiv 2212.04356,
    section 2.1 (30 s, padded).
    """
    require_positive(audio_s=audio_s, window_s=window_s, window_tokens=window_tokens)
    result: Column = np.ceil(np.asarray(audio_s) / window_s) * window_tokens
    return result
