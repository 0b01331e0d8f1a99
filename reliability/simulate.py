"""Monte Carlo of a job with failures: the independent route to ETTR, to finish times and to hours by state.

A seed makes a run repeatable. `sampling_error.monte_carlo` says how sure a mean or a percentile is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import gamma

from reliability.columns import Counts, Floats
from reliability.domain import require_not_negative, require_positive

# Failures drawn at once: few enough to stay in a processor's cache, where drawing is quickest.
_BLOCK = 1 << 16


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


@dataclass(frozen=True, slots=True)
class _Cycle:
    """An interval of work and the write that ends it."""

    interval_h: float
    write_h: float

    @property
    def length_h(self) -> float:
        return self.interval_h + self.write_h

    def writing_h(self, up_h: Floats) -> Floats:
        """Hours spent in writes, for each job that has been up `up_h`."""
        if up_h.max(initial=0.0) < self.length_h:
            return np.maximum(up_h - self.interval_h, 0.0)
        whole = np.floor(up_h / self.length_h)
        return whole * self.write_h + np.maximum(up_h - whole * self.length_h - self.interval_h, 0.0)


def simulate_job(
    *,
    intervals: int,
    interval_h: float,
    mttf_h: float | Floats,
    write_h: float,
    restart_h: float,
    replicas: int,
    seed: int,
    persist_h: float = 0.0,
    weibull_shape: float = 1.0,
) -> SimulatedJobs:
    """Play a job of `intervals` checkpointed intervals, `replicas` times.

        finish = sum over failures of (X + u0) + last stretch

    Uptimes X are Weibull of mean `mttf_h`, new at each restart; shape 1 is exponential. A restart cannot
    fail. A checkpoint counts once it is stored, `persist_h` after its write returned.
    `mttf_h` may hold one value for each replica, to play doubt about the rate.

    Source: direct simulation.
    """
    require_positive(intervals=intervals, interval_h=interval_h, mttf_h=mttf_h, replicas=replicas)
    require_positive(weibull_shape=weibull_shape)
    require_not_negative(write_h=write_h, restart_h=restart_h, persist_h=persist_h)
    random = np.random.default_rng(seed)
    cycle = _Cycle(interval_h, write_h)
    if weibull_shape == 1.0:
        failures, up_h, writing_h = _play_attempts(random, intervals, cycle, mttf_h, persist_h, replicas)
    else:
        scale_h = np.broadcast_to(mttf_h / float(gamma(1.0 + 1.0 / weibull_shape)), (replicas,))
        failures, up_h, writing_h = _play_uptimes(random, intervals, cycle, scale_h, weibull_shape, persist_h)
    return _jobs(intervals, cycle, failures, up_h, writing_h, failures * restart_h)


def _jobs(
    intervals: int, cycle: _Cycle, failures: Floats, up_h: Floats, writing_h: Floats, restarting_h: Floats
) -> SimulatedJobs:
    useful_h = np.full(failures.size, intervals * cycle.interval_h)
    lost_h = up_h - writing_h - useful_h
    return SimulatedJobs(up_h + restarting_h, useful_h, writing_h, lost_h, restarting_h, failures)


def _play_attempts(
    random: np.random.Generator,
    intervals: int,
    cycle: _Cycle,
    mttf_h: float | Floats,
    persist_h: float,
    replicas: int,
) -> tuple[Floats, Floats, Floats]:
    """Failures, hours up and hours writing, where uptimes have no memory.

        failures in spans ~ Poisson(Gamma(n) * (exp(span / M) - 1)) until n spans have passed

    Without memory an uptime is a row of fresh attempts: first at the wait until a checkpoint taken at once
    would be stored, then at one cycle after the other. Each attempt that passes keeps an interval, so the
    failed ones follow from their number alone, whatever their order.
    """
    failed = _failures_before(random, intervals, cycle.length_h / np.asarray(mttf_h), replicas)
    up_h, writing_h = _failed_attempts(random, failed, cycle.length_h, mttf_h, persist_h, cycle)
    failures = failed
    if persist_h > 0:
        waiting = _failures_before(random, 1 + failed, persist_h / np.asarray(mttf_h), replicas)
        wait_h, wait_writing_h = _failed_attempts(random, waiting, persist_h, mttf_h, 0.0, cycle)
        up_h, writing_h, failures = up_h + wait_h, writing_h + wait_writing_h, failed + waiting
    # The run ends when its last checkpoint is stored; that wait is charged to checkpoints.
    up_h += intervals * cycle.length_h + persist_h
    writing_h += intervals * cycle.write_h + persist_h
    return failures.astype(float), up_h, writing_h


def _failures_before(
    random: np.random.Generator, passes: int | Counts, span_of_mttf: Floats, replicas: int
) -> Counts:
    """Attempts that fail before so many have passed: negative binomial, drawn as Poisson of a gamma."""
    return random.poisson(random.standard_gamma(passes, replicas) * np.expm1(span_of_mttf))


def _failed_attempts(
    random: np.random.Generator,
    failures: Counts,
    span_h: float,
    mttf_h: float | Floats,
    before_h: float,
    cycle: _Cycle,
) -> tuple[Floats, Floats]:
    """Hours up and hours of them writing, summed for each replica over attempts that fail within `span_h`.

    up = before - M * ln(1 - U * (1 - exp(-span / M)))
    """
    up_h, writing_h = np.zeros(failures.size), np.zeros(failures.size)
    mttf_h = np.asarray(mttf_h)
    for replicas, first, counts in _blocks(failures):
        mean_h = np.repeat(mttf_h[replicas], counts) if mttf_h.ndim else mttf_h
        mean = mean_h.astype(np.float32)
        # Single precision halves the time; its error, 6e-8 of a draw, is far below any Monte Carlo error.
        up = random.random(counts.sum(), dtype=np.float32)
        up *= np.expm1(-span_h / mean)
        np.log1p(up, out=up)
        up *= -mean
        up_h[replicas] += np.add.reduceat(up, first, dtype=float) + counts * before_h
        if before_h + span_h > cycle.interval_h:
            writing = cycle.writing_h(up + before_h if before_h else up)
            writing_h[replicas] += np.add.reduceat(writing, first, dtype=float)
    return up_h, writing_h


def _blocks(failures: Counts) -> Iterator[tuple[Counts, Counts, Counts]]:
    """Cut all failures into blocks: whose they are, where each replica's begin, and how many it has there."""
    failing = np.flatnonzero(failures)
    ends = np.cumsum(failures[failing])
    begins = ends - failures[failing]
    for start in range(0, int(failures.sum()), _BLOCK):
        stop = min(start + _BLOCK, int(ends[-1]))
        here = slice(np.searchsorted(ends, start, side="right"), np.searchsorted(begins, stop))
        first = np.maximum(begins[here] - start, 0)
        yield failing[here], first, np.diff(first, append=stop - start)


def _play_uptimes(
    random: np.random.Generator,
    intervals: int,
    cycle: _Cycle,
    scale_h: Floats,
    weibull_shape: float,
    persist_h: float,
) -> tuple[Floats, Floats, Floats]:
    """Failures, hours up and hours writing; replicas are columns and the loop is over uptimes."""
    replicas = scale_h.size
    left = np.full(replicas, float(intervals))
    up_h, writing_h, failures = np.zeros(replicas), np.zeros(replicas), np.zeros(replicas)
    running = np.arange(replicas)
    while running.size:
        life_h = scale_h[running] * random.weibull(weibull_shape, running.size)
        needed_h = left[running] * cycle.length_h + persist_h
        fails = life_h < needed_h
        done = running[~fails]
        up_h[done] += needed_h[~fails]
        writing_h[done] += left[done] * cycle.write_h + persist_h
        running, life_h = running[fails], life_h[fails]
        up_h[running] += life_h
        writing_h[running] += cycle.writing_h(life_h)
        left[running] -= np.maximum(np.floor((life_h - persist_h) / cycle.length_h), 0.0)
        failures[running] += 1.0
    return failures, up_h, writing_h
