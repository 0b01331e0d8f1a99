"""Few futures that stand for many."""

from __future__ import annotations

import numpy as np

from solver.tables import Floats, Whole


def representatives(points: Floats, count: int) -> tuple[Whole, Floats]:
    """Rows of `points` [N, axes] that stand for all, and the share of rows that is nearest to each.

    Next comes the row u with the least  sum_i min(d(i, u), min over those chosen of d(i, j)),  d Euclidean.

    Rows are equally likely, and axes count as they are: scale them by what they mean. A row that is as near
    to two goes to the one chosen first.

    Source: H. Heitsch and W. Römisch, "Scenario Reduction Algorithms in Stochastic Programming", Comput.
    Optim. Appl. 24 (2003), fast forward selection with optimal redistribution.
    """
    if not 1 <= count <= len(points):
        raise ValueError(f"count is a number of rows from 1 to {len(points)}, got {count}")
    apart = np.sqrt(((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=2))
    nearest = np.full(len(points), np.inf)
    chosen: list[int] = []
    for _ in range(count):
        left = np.minimum(nearest[:, None], apart).sum(axis=0)
        left[chosen] = np.inf
        chosen.append(int(np.argmin(left)))
        nearest = np.minimum(nearest, apart[:, chosen[-1]])
    owner = np.argmin(apart[:, chosen], axis=1)
    share = np.bincount(owner, minlength=count) / len(points)
    return np.array(chosen, dtype=np.int64), share
