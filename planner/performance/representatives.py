"""Few members that stand for many, each with its weight."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from planner.performance.columns import Floats

MOST_TRIED = 20_000  # sets of members


def representatives(*, features: Floats, count: int) -> tuple[NDArray[np.intp], Floats]:
    """Members whose nearest of them is least far from all, and the share of all that each stands for.

    min over sets R of `count` members:  sum_i min_r |z_i - z_r|;  w_r = members nearest to r / members

    z are the columns of `features` over their spread. Every set is tried where there are few, else members
    are taken one after the other and then exchanged.

    Source: k-medoids, Kaufman and Rousseeuw, 1987.
    """
    members = len(features)
    if not 1 <= count <= members:
        raise ValueError(f"count is 1 to {members}, got {count}")
    spread = features.std(axis=0)
    scaled = (features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    apart = np.sqrt(((scaled[:, None] - scaled[None]) ** 2).sum(axis=2))

    def far(chosen: tuple[int, ...]) -> float:
        return float(apart[:, list(chosen)].min(axis=1).sum())

    if comb(members, count) <= MOST_TRIED:
        best = min(combinations(range(members), count), key=far)
    else:
        best = ()
        for _ in range(count):
            best = min(((*best, one) for one in range(members) if one not in best), key=far)
        while True:
            others = [one for one in range(members) if one not in best]
            tries = [(*best[:at], one, *best[at + 1 :]) for at in range(count) for one in others]
            nearer = min(tries, key=far, default=best)
            if far(nearer) >= far(best) - 1e-12:
                break
            best = nearer
    chosen = np.array(sorted(best), dtype=np.intp)
    nearest = apart[:, chosen].argmin(axis=1)
    return chosen, np.bincount(nearest, minlength=count) / members
