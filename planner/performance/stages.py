"""How late answers are that several stages give one after the other, each with waits of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planner.performance._checks import require_share
from planner.performance.columns import Floats


def sum_in_time_fractions(first: Floats, second: Floats) -> Floats:
    """P(X + Y <= t) at equal steps of t from 0 on, of two times that know nothing of each other.

    F(t_k) = sum_(i+j<=k) (F_X(t_i) - F_X(t_(i-1))) (F_Y(t_j) - F_Y(t_(j-1)))

    All that ends in a step is taken to end with it, so that the sum is no shorter than it is. What is not
    reached at the last t (a request that is refused, for example) is in no sum.

    Source: convolution of two laws.
    """
    one, other = (np.diff(law, prepend=0.0) for law in (first, second))
    result: Floats = np.cumsum(np.convolve(one, other)[: len(first)])
    return result


def least_in_time_fraction(laws: Sequence[Sequence[Floats | None]]) -> float:
    """Share of answers of all stages in time, in the worst division of the response time among them.

    q = min over k_1 + ... + k_s = n of P(X_1 + ... + X_s <= T)

    Args:
        laws: of each stage, for each number of steps that it may take (from one on), the share of its
            answers within equal steps from 0 to all of the time T, at most; None where it has no law. What
            takes fewer steps may be used where more are left, so that no law is above one of fewer steps.

    Source: laws that lie below others at each t give sums that do; Shaked and Shanthikumar, "Stochastic
    Orders", 2007, theorem 1.A.3.
    """
    each = [_no_better_than_fewer_steps(stage) for stage in laws]
    steps = len(laws[0]) + len(laws) - 1
    sums = {k + 1: law for k, law in enumerate(each[0]) if law is not None}
    for stage in each[1:]:
        joined: dict[int, Floats] = {}
        for taken, before in sums.items():
            for k, law in enumerate(stage):
                if law is not None and taken + k + 1 <= steps:
                    both = sum_in_time_fractions(before, law)
                    known = joined.get(taken + k + 1, both)
                    joined[taken + k + 1] = np.minimum(known, both)
        sums = joined
    return min((float(law[-1]) for law in sums.values()), default=1.0)


def each_alone_fraction(*, together_fraction: float, stages: int) -> float:
    """Share of its answers that each of several stages gives in its part, so that all are in time together.

    q_1 = q^(1/s)

    Source: chance of independent events.
    """
    require_share(together_fraction=together_fraction)
    return float(together_fraction ** (1.0 / stages))


def _no_better_than_fewer_steps(stage: Sequence[Floats | None]) -> list[Floats | None]:
    """Each law with those of fewer steps below it."""
    found, below = list[Floats | None](), None
    for law in stage:
        below = law if below is None else (below if law is None else np.minimum(below, law))
        found.append(below)
    return found
