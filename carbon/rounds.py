"""How many sessions and hours a federated job takes: in rounds, or with a buffer and no rounds.

Carbon goes with sessions. Concurrency is all devices at work at once, those included that will drop out.
"""

from __future__ import annotations

import numpy as np

from carbon import _domain
from carbon.columns import Column


def synchronous_sessions(*, rounds: Column, concurrency: Column) -> Column:
    """Sessions of a job in rounds.

    n = R * K

    K holds the devices that were picked beyond need, so that a round survives its drop-outs.

    Source: Yousefpour et al., "Green Federated Learning", arXiv 2303.14604 (carbon linear in R * K).
    """
    _domain.nonnegative(rounds=rounds, concurrency=concurrency)
    return rounds * concurrency


def synchronous_h(*, rounds: Column, slowest_session_h: Column) -> Column:
    """Time of a job in rounds: each waits for its slowest device, or for the time-out.

    T = R * max(s)

    Source: Nguyen et al., "FedBuff", arXiv 2106.06639 (stragglers).
    """
    _domain.nonnegative(rounds=rounds, slowest_session_h=slowest_session_h)
    return rounds * slowest_session_h


def asynchronous_sessions(
    *, server_updates: Column, buffer_sessions: Column, dropped_fraction: Column
) -> Column:
    """Sessions of a job whose server updates the model whenever its buffer is full.

    n = U * B / (1 - d)

    Source: Nguyen et al., "FedBuff", arXiv 2106.06639; drop-outs as in Yousefpour et al., arXiv 2303.14604.
    """
    _domain.nonnegative(server_updates=server_updates, buffer_sessions=buffer_sessions)
    _domain.share(dropped_fraction=dropped_fraction)
    finished = np.subtract(1.0, dropped_fraction)
    _domain.positive(one_minus_dropped_fraction=finished)
    return server_updates * buffer_sessions / finished


def asynchronous_h(*, sessions: Column, mean_session_h: Column, concurrency: Column) -> Column:
    """Time of a job without rounds: a device that ends is replaced at once.

    T = n * s / K

    The mean session counts, not the slowest: time is gained, carbon is not.

    Source: Nguyen et al., "FedBuff", arXiv 2106.06639; Little's law.
    """
    _domain.nonnegative(sessions=sessions, mean_session_h=mean_session_h)
    _domain.positive(concurrency=concurrency)
    return sessions * mean_session_h / concurrency


def concurrency_growth_ratio(*, concurrency_ratio: Column, speedup_ratio: Column) -> Column:
    """How many times more carbon a job emits with more devices at once.

    g = k_K / k_T

    Rounds (or hours without rounds) to the target fall by the speed-up, which grows far slower than K.

    Source: Yousefpour et al., "Green Federated Learning", arXiv 2303.14604 (ten times K, 1.5 to 2 times T).
    """
    _domain.positive(concurrency_ratio=concurrency_ratio, speedup_ratio=speedup_ratio)
    return np.divide(concurrency_ratio, speedup_ratio)


def ensemble_sessions(*, models: Column, member_sessions: Column) -> Column:
    """Sessions of an ensemble: one federated job for each model, each with its own cluster of devices.

    n = k * n_member

    Members train side by side: the ensemble takes as long as one of them.

    Source: Hejazinia et al., "FEL", arXiv 2206.03852 (models on disjoint clusters of devices).
    """
    _domain.nonnegative(models=models, member_sessions=member_sessions)
    return models * member_sessions
