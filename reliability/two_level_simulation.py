"""Monte Carlo of a job with local and remote checkpoints: the independent route to its ETTR."""

from __future__ import annotations

import numpy as np

from reliability.columns import Floats
from reliability.domain import require_not_negative, require_positive


def simulate_two_level_finish_h(
    *,
    patterns: int,
    interval_h: float,
    local_saves: int,
    local_rate_per_h: float,
    remote_rate_per_h: float,
    local_write_h: float,
    remote_write_h: float,
    local_restart_h: float,
    remote_restart_h: float,
    replicas: int,
    seed: int,
) -> Floats:
    """Play a job with local and remote checkpoints; hours to its finish for each replica.

        finish = sum over failures of (X + R) + last stretch

    Each pattern is `local_saves` times (work, local write), the last followed by a remote write. Local
    failures resume at the last local save, remote ones at the last remote save; a failure during the
    remote write repeats its stage. Restarts cannot fail.

    Source: direct simulation.
    """
    require_positive(patterns=patterns, interval_h=interval_h, local_saves=local_saves, replicas=replicas)
    require_not_negative(local_rate_per_h=local_rate_per_h, remote_rate_per_h=remote_rate_per_h)
    rate_per_h = local_rate_per_h + remote_rate_per_h
    require_positive(total_rate_per_h=rate_per_h)
    random = np.random.default_rng(seed)
    save_h = interval_h + local_write_h
    pattern_h = local_saves * save_h + remote_write_h
    whole, saved = np.zeros(replicas), np.zeros(replicas)  # patterns stored remotely, local saves since
    finish = np.zeros(replicas)
    running = np.arange(replicas)
    while running.size:
        up_h = random.exponential(1.0 / rate_per_h, running.size)
        local = random.random(running.size) * rate_per_h < local_rate_per_h
        needed_h = (patterns - whole[running]) * pattern_h - saved[running] * save_h
        fails = up_h < needed_h
        finish[running[~fails]] += needed_h[~fails]
        running, up_h, local = running[fails], up_h[fails], local[fails]
        reached_h = saved[running] * save_h + up_h
        stored = np.floor(reached_h / pattern_h)
        since = np.minimum(np.floor((reached_h - stored * pattern_h) / save_h), local_saves - 1.0)
        whole[running] += stored
        saved[running] = np.where(local, since, 0.0)
        finish[running] += up_h + np.where(local, local_restart_h, remote_restart_h)
    return finish
