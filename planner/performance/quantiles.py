"""Quantiles of what users of a replica see, by the closed form of its queue."""

import numpy as np

from planner.performance._checks import require_open_share
from planner.performance.replica import MixedReplica, first_tokens_in_time_fraction, mixed_state

_HALVINGS = 40  # of the bracket: to 1e-12 of it


def first_token_quantile_s(
    *, replica: MixedReplica, arrivals_per_s: float, quantile_fraction: float
) -> float:
    """Time within which this share of the accepted requests of one replica has its first token.

    t = min {t : P(TTFT <= t) >= q}

    Source: `first_tokens_in_time_fraction`, turned round by halving a bracket.
    """
    require_open_share(quantile_fraction=quantile_fraction)
    state = mixed_state(replica=replica, arrivals_per_s=arrivals_per_s)

    def met(target_s: float) -> float:
        share = first_tokens_in_time_fraction(
            replica=replica, state=state, arrivals_per_s=arrivals_per_s, ttft_target_s=target_s
        )
        return float(np.asarray(share).item())

    low, high = 0.0, float(np.max(replica.class_prefill_s))
    while met(high) < quantile_fraction:
        low, high = high, 2.0 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if met(middle) >= quantile_fraction else (middle, high)
    return high
