"""Slurm: jobs as `sacct --json` writes them: how long on how many nodes, how each ended, its energy.

Source: SchedMD, Slurm REST API, data_parser v0.0.40 and later (job, time, state, steps.statistics.energy).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SECONDS_PER_H = 3600.0
NODE_ENDED = ("NODE_FAIL", "BOOT_FAIL")
MOST_NODES = 3_000_000  # of one job, as in logs
MOST_S = 100 * 365.25 * 86400.0


@dataclass(frozen=True, slots=True)
class SlurmJobs:
    """All jobs of a file: node-hours, ends by a failing node, and the energy of those that say one."""

    jobs: int
    node_h: float
    node_failures: int
    energy_kwh: float | None
    energy_node_h: float
    first_s: float
    last_s: float
    left_out: int


def is_slurm(held: Any) -> bool:
    """Whether this lists jobs of Slurm."""
    jobs = held.get("jobs") if isinstance(held, Mapping) else None
    return isinstance(jobs, list) and all(isinstance(one, Mapping) for one in jobs) and "meta" in held


def read_jobs(held: Mapping[str, Any]) -> SlurmJobs:
    """What the jobs of a file come to; a job without nodes or time is counted and left out."""
    node_h = energy_j = energy_node_h = 0.0
    failures = left_out = counted = 0
    first_s, last_s = float("inf"), float("-inf")
    for job in held["jobs"]:
        nodes, time = _count(job.get("allocation_nodes")), job.get("time")
        elapsed_s = _count(time.get("elapsed")) if isinstance(time, Mapping) else None
        start_s = _count(time.get("start")) if isinstance(time, Mapping) else None
        if not nodes or not elapsed_s or start_s is None or nodes > MOST_NODES or elapsed_s > MOST_S:
            left_out += 1
            continue
        counted += 1
        hours = nodes * elapsed_s / SECONDS_PER_H
        node_h += hours
        first_s, last_s = min(first_s, start_s), max(last_s, start_s + elapsed_s)
        failures += any(state in NODE_ENDED for state in _states(job))
        if (joules := _joules(job)) is not None:
            energy_j, energy_node_h = energy_j + joules, energy_node_h + hours
    return SlurmJobs(
        counted,
        node_h,
        failures,
        energy_j / 3.6e6 if energy_node_h else None,
        energy_node_h,
        first_s,
        last_s,
        left_out,
    )


def _states(job: Mapping[str, Any]) -> list[str]:
    state = job.get("state")
    current = state.get("current") if isinstance(state, Mapping) else None
    if isinstance(current, str):
        return [current]
    return [one for one in current if isinstance(one, str)] if isinstance(current, list) else []


def _joules(job: Mapping[str, Any]) -> float | None:
    """Energy of a job: the most that a step of it says, since its external step spans all the others."""
    found = []
    steps = job.get("steps")
    for step in steps if isinstance(steps, list) else []:
        energy: Any = step
        for name in ("statistics", "energy", "consumed"):
            energy = energy.get(name) if isinstance(energy, Mapping) else None
        if (joules := _count(energy)) is not None and joules < 2.0**63:
            found.append(joules)
    return max(found) if any(found) else None


def _count(said: Any) -> float | None:
    """A number, or one that Slurm says to be set; None where it is none."""
    if isinstance(said, Mapping):
        if not said.get("set") or said.get("infinite"):
            return None
        said = said.get("number")
    if isinstance(said, bool) or not isinstance(said, int | float):
        return None
    return float(said) if 0 <= said < 1e18 else None
