"""Monte Carlo of a job with failures: the independent route to ETTR, to finish times and to hours by state.

Replicas are columns; the loop is over failures. A seed makes a run repeatable.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gamma

from reliability.domain import require_not_negative, require_positive

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SimulatedJobs:
    """One entry for each replica; the four states add up to the finish."""

    finish_h: Floats
    useful_h: Floats
    checkpoint_h: Floats
    lost_h: Floats
    restart_h: Floats
    failures: Floats

    @property
    def ettr_fraction(self) -> Floats:
        """Useful hours for each hour, for each replica."""
        return self.useful_h / self.finish_h


def simulate_job(
    *,
    intervals: int,
    interval_h: float,
    mtbf_h: float | Floats,
    write_h: float,
    restart_h: float,
    replicas: int,
    seed: int,
    persist_h: float = 0.0,
    weibull_shape: float = 1.0,
) -> SimulatedJobs:
    """Play a job of `intervals` checkpointed intervals, `replicas` times.

        finish = sum over failures of (X + u0) + last stretch

    Uptimes X are Weibull of mean `mtbf_h`, new at each restart; shape 1 is exponential. A restart cannot
    fail. A checkpoint counts once it is stored, `persist_h` after its write returned.
    `mtbf_h` may hold one value for each replica, to play doubt about the rate.

    Source: direct simulation.
    """
    require_positive(intervals=intervals, interval_h=interval_h, mtbf_h=mtbf_h, replicas=replicas)
    require_positive(weibull_shape=weibull_shape)
    require_not_negative(write_h=write_h, restart_h=restart_h, persist_h=persist_h)
    random = np.random.default_rng(seed)
    scale_h = np.broadcast_to(mtbf_h / float(gamma(1.0 + 1.0 / weibull_shape)), (replicas,))
    cycle_h = interval_h + write_h
    left = np.full(replicas, float(intervals))
    finish, worked, failures = np.zeros(replicas), np.zeros(replicas), np.zeros(replicas)
    running = np.arange(replicas)
    while running.size:
        up_h = scale_h[running] * random.weibull(weibull_shape, running.size)
        needed_h = left[running] * cycle_h + persist_h
        fails = up_h < needed_h
        done, up_h, last_h = running[~fails], up_h[fails], needed_h[~fails]
        finish[done] += last_h
        worked[done] += left[done] * interval_h
        left[done] = 0.0
        running = running[fails]
        started = np.floor(up_h / cycle_h)
        finish[running] += up_h + restart_h
        worked[running] += started * interval_h + np.minimum(up_h - started * cycle_h, interval_h)
        left[running] -= np.maximum(np.floor((up_h - persist_h) / cycle_h), 0.0)
        failures[running] += 1.0
    useful = np.full(replicas, intervals * interval_h)
    restarting = failures * restart_h
    return SimulatedJobs(finish, useful, finish - worked - restarting, worked - useful, restarting, failures)


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
