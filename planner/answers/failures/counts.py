"""Failures and node-hours of a log: in all, by consecutive period, and by unit and period."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.trace.columns import Floats
from reliability.groups import Dispersion, dispersion
from reliability.logs import FailureLog

FEWEST_PERIODS, USUAL_PERIODS, FEWEST_EXPECTED = 6, 12, 5.0


@dataclass(frozen=True, slots=True)
class Periods:
    """Whole periods, the oldest first, that end with the log; `skipped_h` lies before the first."""

    start_h: Floats
    failures: Floats
    node_h: Floats
    length_h: float
    skipped_h: float

    @property
    def size(self) -> int:
        """How many there are."""
        return int(self.failures.size)


def failure_count(log: FailureLog) -> int:
    """Failures of a log of any kind."""
    if log.kind == "jobs":
        return int(log.jobs["failures"].fillna(0).sum())
    return int(log.lives["died"].sum()) if log.kind == "lives" else len(log.failures)


def exposure_h(log: FailureLog) -> float:
    """Node-hours that failures are divided by: in service for outage logs, as published rates have it."""
    if log.kind == "events":
        return float((log.units["exit_h"] - log.units["entry_h"]).sum())
    return log.node_h


def periods_of(log: FailureLog, length_h: float) -> Periods:
    """Failures and node-hours of whole periods back from the end of the log.

    Periods end with the log, so that the newest failures are never the ones left out.
    """
    if log.exposure.empty:
        return Periods(np.empty(0), np.empty(0), np.empty(0), length_h, log.window_h)
    count = int(np.floor(log.window_h / length_h + 1e-9))
    edges = np.maximum(log.window_h - length_h * np.arange(count, -1, -1), 0.0)
    node_h = np.diff(np.interp(edges, log.exposure["time_h"], log.exposure["node_h"]))
    failures = np.histogram(log.failures["start_h"], edges)[0] if count else np.empty(0)
    watched = node_h > 0
    return Periods(
        edges[:-1][watched], failures[watched].astype(float), node_h[watched], length_h, float(edges[0])
    )


def usual_periods(log: FailureLog, period_h: float) -> Periods:
    """Periods of the length asked for, or shorter ones where the log would hold too few of them."""
    wanted = periods_of(log, period_h)
    if wanted.size >= FEWEST_PERIODS:
        return wanted
    return periods_of(log, min(period_h, log.window_h / USUAL_PERIODS))


def scatter(periods: Periods, interval_fraction: float) -> Dispersion | None:
    """How counts vary between periods; None where the log holds too few of them to tell.

    Periods in which fewer than five failures are to be expected are left out (Cochran's rule): the first
    weeks of a fleet of a few nodes would outweigh all the rest.
    """
    if not periods.failures.any():
        return None
    expected = periods.node_h * (periods.failures.sum() / periods.node_h.sum())
    kept = expected >= FEWEST_EXPECTED
    if kept.sum() < FEWEST_PERIODS or not periods.failures[kept].any():
        return None
    return dispersion(
        failures=periods.failures[kept], node_h=periods.node_h[kept], confidence_fraction=interval_fraction
    )


def by_unit(log: FailureLog, parts: int) -> tuple[list[str], Floats, Floats]:
    """Names of units, and their failures and hours in equal parts of the log."""
    edges = np.linspace(0.0, log.window_h, parts + 1)
    units = log.units.drop_duplicates("unit")
    entry, leave = (units[end].to_numpy(dtype=float)[:, None] for end in ("entry_h", "exit_h"))
    hours = np.clip(np.minimum(leave, edges[1:]) - np.maximum(entry, edges[:-1]), 0.0, None)
    place = {unit: row for row, unit in enumerate(units["unit"])}
    counts = np.zeros_like(hours)
    known = log.failures[log.failures["unit"].isin(place)]
    part = np.clip(np.searchsorted(edges, known["start_h"], side="right") - 1, 0, parts - 1)
    np.add.at(counts, (known["unit"].map(place).to_numpy(dtype=int), part), 1.0)
    counts[hours <= 0] = 0.0
    watched = hours.sum(axis=1) > 0
    return list(units["unit"][watched]), counts[watched], hours[watched]
