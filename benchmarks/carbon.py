"""A million job estimates, also done the plain way.

Where memory is compared, each way runs in a process of its own: `by` says which, and a thousand of its
answers come back with the time, so that a quick but wrong one is noticed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.clock import Record, peak_mb, repeated
from carbon.attribution import embodied_share_kgco2e
from carbon.energy import job_energy_kwh
from carbon.ledger import footprint_kgco2e
from carbon.operational import operational_kgco2e
from carbon.pue import facility_energy_kwh
from carbon.water import offsite_water_l, onsite_water_l

SEED = 2025
# What each job has of its own, drawn evenly between two ends; nothing in it was measured.
SPANS = {
    "nodes": (1, 512),
    "useful_h": (1, 500),
    "lost_h": (0, 20),
    "checkpoint_h": (0, 10),
    "restart_h": (0, 5),
    "idle_h": (0, 20),
    "training_kw": (4, 10),
    "pue": (1.05, 1.6),
    "grid_kgco2e_per_kwh": (0.02, 0.8),
    "node_kgco2e": (2000, 10_000),
    "utilisation_fraction": (0.4, 0.95),
    "onsite_l_per_kwh": (0, 2),
    "offsite_l_per_kwh": (0.5, 5),
}
STATES = ("nodes", "useful_h", "lost_h", "checkpoint_h", "restart_h", "idle_h", "training_kw")
# The same for all jobs.
STATE_KW = {"checkpoint_kw": 2.0, "restart_kw": 2.0, "idle_kw": 1.5}
LIFETIME_H = 43_830.0

Columns = dict[str, NDArray[np.float64]]
Estimate = tuple[Any, Any, Any, Any]


def jobs_estimated(jobs: int, by: str, repeats: int) -> Record:
    """Operational and embodied carbon, their sum and the water of so many jobs."""
    work = _by_columns(jobs) if by == "everfleet" else _by_loop(jobs)
    step = -(-jobs // 1000)  # the answer must stay small next to the memory that is measured
    answer = [float(value) for column in work() for value in column[::step]]
    return {"s": repeated(work, repeats), "peak_mb": peak_mb(), "answer": answer}


def one_at_a_time(jobs: int, repeats: int) -> Record:
    """The same functions of ours, called for one job after the other."""
    rows = list(_rows(job_columns(jobs)))
    return {"jobs": jobs, "s": repeated(lambda: [estimated(row) for row in rows], repeats)}


def job_columns(jobs: int) -> Columns:
    """Made-up jobs, a column for each of their figures."""
    draw = np.random.default_rng(SEED)
    return {name: draw.uniform(low, high, jobs) for name, (low, high) in SPANS.items()}


def estimated(job: Mapping[str, Any]) -> Estimate:
    """From hours by state to carbon and water, by the functions of the leaf; one job or columns of them."""
    energy = job_energy_kwh(**{name: job[name] for name in STATES}, **STATE_KW)
    metered = facility_energy_kwh(it_energy_kwh=energy, pue=job["pue"])
    operational = operational_kgco2e(
        facility_energy_kwh=metered, grid_kgco2e_per_kwh=job["grid_kgco2e_per_kwh"]
    )
    embodied = embodied_share_kgco2e(
        embodied_kgco2e=job["nodes"] * job["node_kgco2e"],
        used_h=job["useful_h"] + job["lost_h"] + job["checkpoint_h"] + job["restart_h"] + job["idle_h"],
        lifetime_h=LIFETIME_H,
        utilisation_fraction=job["utilisation_fraction"],
    )
    at_site = onsite_water_l(it_energy_kwh=energy, onsite_l_per_kwh=job["onsite_l_per_kwh"])
    at_stations = offsite_water_l(facility_energy_kwh=metered, offsite_l_per_kwh=job["offsite_l_per_kwh"])
    water = at_site + at_stations
    total = footprint_kgco2e(operational_kgco2e=operational, embodied_kgco2e=embodied)
    return operational, embodied, total, water


def estimated_by_loop(rows: Sequence[Mapping[str, float]]) -> Estimate:
    """As `estimated`, in plain Python: bare sums and products, nothing is checked."""
    checkpoint_kw, restart_kw, idle_kw = STATE_KW.values()
    operational, embodied, total, water = [], [], [], []
    for job in rows:
        nodes = job["nodes"]
        energy = nodes * (
            (job["useful_h"] + job["lost_h"]) * job["training_kw"]
            + job["checkpoint_h"] * checkpoint_kw
            + job["restart_h"] * restart_kw
            + job["idle_h"] * idle_kw
        )
        held_h = job["useful_h"] + job["lost_h"] + job["checkpoint_h"] + job["restart_h"] + job["idle_h"]
        facility = energy * job["pue"]
        running = facility * job["grid_kgco2e_per_kwh"]
        made = nodes * job["node_kgco2e"] * held_h / (LIFETIME_H * job["utilisation_fraction"])
        operational.append(running)
        embodied.append(made)
        total.append(running + made)
        water.append(energy * job["onsite_l_per_kwh"] + facility * job["offsite_l_per_kwh"])
    return operational, embodied, total, water


def _by_columns(jobs: int) -> Callable[[], Estimate]:
    columns = job_columns(jobs)
    return lambda: estimated(columns)


def _by_loop(jobs: int) -> Callable[[], Estimate]:
    rows = list(_rows(job_columns(jobs)))
    return lambda: estimated_by_loop(rows)


def _rows(columns: Columns) -> Iterator[dict[str, float]]:
    for values in zip(*(column.tolist() for column in columns.values()), strict=True):
        yield dict(zip(columns, values, strict=True))
