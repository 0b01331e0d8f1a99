"""How many spare nodes a fleet's own outage history asks for.

Outages come in bursts and repairs have a heavy tail, so the nodes that are down wander for weeks: the
mean of the past and a Poisson count around it are short as soon as a burst comes, and the highest past
count is held long after one. Nodes down are a count whose level drifts, like failures per quarter, and
are forecast by the same equation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from reliability.columns import Floats
from reliability.domain import require_not_negative, require_positive, require_share
from reliability.forecast import EVEN_SHARES, count_belief, predicted_counts


@dataclass(frozen=True, slots=True)
class DownHistory:
    """Nodes down as steps: `nodes_down[i]` from `from_h[i]` to the next step, the last until `end_h`."""

    from_h: Floats
    nodes_down: Floats
    end_h: float

    @property
    def still_down(self) -> int:
        """Nodes whose outage was open when the history ends."""
        return int(self.nodes_down[-1])

    @property
    def step_h(self) -> Floats:
        """Length of each step."""
        return np.diff(self.from_h, append=self.end_h)


@dataclass(frozen=True, slots=True)
class DownStatistics:
    """Share of time that each number of nodes was down, with mean and variance over time."""

    nodes_down: Floats
    time_fraction: Floats
    mean_down: float
    variance_to_mean_ratio: float


@dataclass(frozen=True, slots=True)
class HeldSpares:
    """Spares for the next review period; the mean expected then, and what the history held."""

    spares: int
    mean_down: float
    nodes_down_now: int
    reviews: int


@dataclass(frozen=True, slots=True)
class SparesBacktest:
    """Pools sized from the past of each origin, and how they fared while held.

    Columns have a row for each origin. `past_highest` is the most nodes that were down at once before it.
    """

    origin_h: Floats
    spares: Floats
    covered_fraction: Floats
    pinball: Floats
    past_highest: Floats


def down_history(
    *, start_h: ArrayLike, end_h: ArrayLike, window_end_h: float, window_start_h: float = 0.0
) -> DownHistory:
    """Nodes down over time from outages.

        X(t) = #{ i : start_i <= t < end_i }

    An outage without an end (NaN), or with one beyond the window, is still down when the window ends. Two
    outages of one node at once count twice: merge them before.

    Source: counting process.
    """
    start, end = np.atleast_1d(np.asarray(start_h, float)), np.atleast_1d(np.asarray(end_h, float))
    if start.shape != end.shape:
        raise ValueError(f"end_h must have a row for each of the {start.size} starts, got {end.size}")
    if not np.all(np.isfinite(start)):
        raise ValueError(f"start_h must be finite numbers, got {start[~np.isfinite(start)][0]:g}")
    if not (np.isfinite(window_start_h) and np.isfinite(window_end_h) and window_start_h < window_end_h):
        raise ValueError(f"window_end_h must exceed window_start_h {window_start_h:g}, got {window_end_h:g}")
    if np.any(end < start):
        row = int(np.argmax(end < start))
        raise ValueError(f"end_h must not be before start_h {start[row]:g}, got {end[row]:g} in row {row}")
    start = np.maximum(start, window_start_h)
    end = np.where(np.isnan(end), np.inf, np.maximum(end, window_start_h))
    inside = np.concatenate([[window_start_h], start, end])
    steps = np.unique(inside[inside < window_end_h])
    down = np.searchsorted(np.sort(start), steps, "right") - np.searchsorted(np.sort(end), steps, "right")
    return DownHistory(steps, down.astype(float), float(window_end_h))


def past_of(history: DownHistory, *, until_h: float) -> DownHistory:
    """What was known of a history at an earlier hour: outages that were open then are open."""
    if not history.from_h[0] < until_h <= history.end_h:
        raise ValueError(
            f"until_h must be after {history.from_h[0]:g} and at most {history.end_h:g}, got {until_h:g}"
        )
    before = history.from_h < until_h
    return DownHistory(history.from_h[before], history.nodes_down[before], until_h)


def nodes_down_at(history: DownHistory, *, at_h: ArrayLike) -> Floats:
    """Nodes down at hours of the history; at its end those that are still down."""
    at = np.asarray(at_h, dtype=float)
    outside = np.atleast_1d(at)[np.atleast_1d(~(at >= history.from_h[0]) | (at > history.end_h))]
    if outside.size:
        raise ValueError(f"at_h must be from {history.from_h[0]:g} to {history.end_h:g}, got {outside[0]:g}")
    down: Floats = history.nodes_down[np.searchsorted(history.from_h, at, "right") - 1]
    return down


def down_statistics(history: DownHistory) -> DownStatistics:
    """Distribution of the nodes down over time.

        P(X = k) = time with k down / time,  v = Var[X] / E[X]

    A count that wanders shows its full variance only in a history much longer than its bursts. Without
    any outage v is 1, as for a Poisson count.

    Source: time average.
    """
    share = np.bincount(history.nodes_down.astype(int), weights=history.step_h) / history.step_h.sum()
    down = np.arange(share.size, dtype=float)
    mean = float(share @ down)
    ratio = float(share @ np.square(down - mean)) / mean if mean else 1.0
    return DownStatistics(down, share, mean, ratio)


def nodes_down_quantile(history: DownHistory, *, time_fraction: float) -> float:
    """Nodes down at once that were not exceeded for a share of the time.

        k = min { k : time with at most k down / time >= q }

    Source: time average.
    """
    require_share(time_fraction=time_fraction)
    seen = down_statistics(history)
    enough = np.cumsum(seen.time_fraction) >= time_fraction - 1e-12
    return float(seen.nodes_down[np.argmax(enough)])


def spares_by_history(
    *,
    history: DownHistory,
    confidence_fraction: float,
    review_h: float,
    memory_fractions: ArrayLike = EVEN_SHARES,
    scatter_fractions: ArrayLike = EVEN_SHARES,
) -> HeldSpares:
    """Fewest spares that cover the nodes down one review from now with the given confidence.

        s = min { k : P(X(T + h) <= k | X(T), X(T - h), X(T - 2h), ...) >= p }

    X is drawn as in `count_belief`. `review_h` is how long a pool is held before it is sized anew: a longer
    one asks for more spares, as the count wanders further. A pool larger than the fleet says that the
    history is too short for the confidence. Repairs and bursts enter by what they did to the count.

    Source: see `reliability.forecast.count_belief`.
    """
    require_share(confidence_fraction=confidence_fraction)
    require_positive(review_h=review_h)
    reviews = int((history.end_h - history.from_h[0]) // review_h)
    at_h = history.end_h - review_h * np.arange(reviews, -1, -1)
    belief = count_belief(
        counts=nodes_down_at(history, at_h=np.maximum(at_h, history.from_h[0])),
        exposure=1.0,
        memory_fractions=memory_fractions,
        scatter_fractions=scatter_fractions,
    )
    spares = predicted_counts(belief=belief, next_exposure=1.0, share_fractions=confidence_fraction)
    mean = float(belief.weight_fraction @ (belief.shape / belief.exposure))
    return HeldSpares(int(spares[0]), mean, history.still_down, reviews)


def backtest_spares(
    *,
    history: DownHistory,
    rule: Callable[[DownHistory], float],
    confidence_fraction: float,
    first_h: float,
    step_h: float,
    hold_h: float,
) -> SparesBacktest:
    """Size a pool every `step_h` by a rule that sees the past alone, hold it for `hold_h`, and score it.

        covered = time with X <= s / hold_h,  pinball = mean of max(p * (X - s), (p - 1) * (X - s))

    The first pool is sized `first_h` into the history; pools that could not be held in full are left out.

    Source: rolling-origin evaluation (Tashman, IJF 16(4), 2000); pinball loss (Koenker and Bassett, 1978).
    """
    require_share(confidence_fraction=confidence_fraction)
    require_positive(first_h=first_h, step_h=step_h, hold_h=hold_h)
    last = history.end_h - hold_h
    origins = np.arange(history.from_h[0] + first_h, last + 1e-9 * step_h, step_h)
    if not origins.size:
        raise ValueError(
            f"the history of {history.end_h - history.from_h[0]:g} h must hold "
            f"first_h {first_h:g} and hold_h {hold_h:g}: shorten one"
        )
    pasts = [past_of(history, until_h=origin) for origin in origins.tolist()]
    held = [past_of(history, until_h=min(origin + hold_h, history.end_h)) for origin in origins.tolist()]
    spares = np.array([float(rule(past)) for past in pasts])
    require_not_negative(spares=spares)
    scores = map(_score, held, origins.tolist(), spares.tolist(), [confidence_fraction] * origins.size)
    covered, pinball = np.array(list(scores)).T
    return SparesBacktest(origins, spares, covered, pinball, np.array([p.nodes_down.max() for p in pasts]))


def _score(held: DownHistory, origin_h: float, spares: float, share: float) -> tuple[float, float]:
    """Share of the time from the origin to the end that the pool was enough, and its pinball loss."""
    within_h = np.clip(held.from_h + held.step_h - origin_h, 0.0, held.step_h)
    weight = within_h / within_h.sum()
    over = held.nodes_down - spares
    return float(weight @ (over <= 0)), float(weight @ np.maximum(share * over, (share - 1.0) * over))
