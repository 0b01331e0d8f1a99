"""Lifetimes from a fleet's log, played jobs and job logs, each also done the plain way.

Where memory is compared, each way runs in a process of its own: `by` says which, and the answer comes back
with the time, so that a quick but wrong one is noticed.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.clock import Record, in_turns, peak_mb, repeated, seconds, spread
from benchmarks.joblog import write_sacct
from reliability.cox import fit_cox
from reliability.fitting import fit_weibull
from reliability.fleet_setting import FleetNodes, NodeFailures, RepairShop, StopHours
from reliability.fleet_simulation import simulate_fleet
from reliability.logs import read_log
from reliability.sampling_error import monte_carlo
from reliability.simulate import simulate_job
from reliability.survival import kaplan_meier

SEED = 2025
# Logarithms of how many times a unit's hazard is that of one without the trait.
TRAITS = {
    "new_batch": -0.7,
    "top_cage": 0.5,
    "edge_slot": -0.3,
    "warm_aisle": 0.4,
    "second_vendor": 0.2,
    "refurbished": 0.6,
}
LOG_DAYS, SHAPE, SCALE_DAYS = 2000, 1.6, 1500.0
RESOLUTION_H = {"day": 24.0, "second": 1 / 3600}
ENOUGH_S = 10.0
# Llama 3: 419 failures in 54 days on 16,384 GPUs; interval and costs as its reader may guess them.
JOB: dict[str, Any] = {
    "intervals": 9189,
    "interval_h": 7.9 / 60,
    "mttf_h": 54 * 24 / 419,
    "write_h": 10 / 3600,
    "restart_h": 5 / 60,
}
# AIReSim's default case: weak nodes, warm standbys, spares, and repair that does not always help.
FLEET: dict[str, Any] = {
    "nodes": FleetNodes(job_nodes=4096, warm_standbys=16, working_nodes=4160, spare_nodes=200),
    "failures": NodeFailures(node_mttf_h=2400.0, bad_fraction=0.15, bad_rate_multiplier=6.0),
    "repair": RepairShop(
        2.0, 48.0, manual_fraction=0.8, automatic_helps_fraction=0.6, manual_helps_fraction=0.8
    ),
    "stops": StopHours(recovery_h=1 / 3, selection_h=0.05, preempt_h=1 / 3),
    "job_h": 6144.0,
}

Answer = list[float]


@dataclass(frozen=True, slots=True)
class LifeLog:
    """One row for each unit of a fleet."""

    duration_h: NDArray[np.float64]
    observed: NDArray[np.bool_]
    covariates: dict[str, NDArray[np.int64]]


def life_log(rows: int, resolution: str) -> LifeLog:
    """Weibull lives of units with six traits, put in service over the log's days; whole days or seconds."""
    draw = np.random.default_rng(SEED)
    traits = {name: draw.integers(0, 2, rows) for name in TRAITS}
    log_hazard = sum(effect * traits[name] for name, effect in TRAITS.items())
    life = SCALE_DAYS * np.exp(-log_hazard / SHAPE) * draw.weibull(SHAPE, rows)
    watched = draw.uniform(1.0, LOG_DAYS, rows)
    step_h = RESOLUTION_H[resolution]
    seen_h = step_h * np.ceil(24.0 * np.minimum(life, watched) / step_h)
    return LifeLog(seen_h, life <= watched, traits)


def estimated(estimate: str, rows: int, resolution: str, by: str, repeats: int) -> Record:
    """One of `kaplan-meier`, `weibull` and `cox`, from a log of so many rows."""
    way = _by_everfleet if by == "everfleet" else _by_lifelines
    return _timed(way(estimate, life_log(rows, resolution)), repeats)


def log_read(folder: Path, by: str, repeats: int) -> Record:
    """The table of jobs by size, from the log that `log_written` left in the folder."""
    way = _sizes_by_everfleet if by == "everfleet" else _sizes_by_pandas
    return _timed(lambda: way(folder / "sacct.txt"), repeats)


def log_written(folder: Path, rows: int) -> Record:
    """How large the log is."""
    write_sacct(folder / "sacct.txt", rows, SEED)
    return {"rows": rows, "file_mb": (folder / "sacct.txt").stat().st_size / 1e6}


def played(replicas: int, plain_replicas: int, fleets: int, repeats: int) -> Record:
    """One job played in columns and in plain loops, turn by turn; and fleets played node by node."""
    ours = simulate_job(replicas=replicas, seed=SEED, **JOB)
    plain = by_checkpoint(replicas=plain_replicas, seed=SEED, **JOB)
    assert np.allclose(plain, by_failure(replicas=plain_replicas, seed=SEED, **JOB)), "two loops, two jobs"
    first, second = monte_carlo(ours.ettr_fraction), monte_carlo(plain[:, 0])
    apart = abs(first.mean - second.mean) / np.hypot(first.standard_error, second.standard_error)
    assert apart < 4.0, "columns and the loops play different jobs"
    ours_s, checkpoint_s, failure_s = in_turns(
        [
            lambda: simulate_job(replicas=replicas, seed=SEED, **JOB),
            lambda: by_checkpoint(replicas=plain_replicas, seed=SEED, **JOB),
            lambda: by_failure(replicas=plain_replicas, seed=SEED, **JOB),
        ],
        repeats,
    )
    fleet = simulate_fleet(replicas=fleets, seed=SEED, **FLEET)
    return {
        "jobs": replicas,
        "failures": int(ours.failures.sum()),
        "s": ours_s,
        "plain_jobs": plain_replicas,
        "plain_failures": int(plain[:, 1].sum()),
        "by_checkpoint_s": checkpoint_s,
        "by_failure_s": failure_s,
        "ettr_fraction": first.mean,
        "plain_ettr_fraction": second.mean,
        "plain_standard_error": second.standard_error,
        "fleets": fleets,
        "events": int(fleet.events.sum()),
        "fleet_s": repeated(lambda: simulate_fleet(replicas=fleets, seed=SEED, **FLEET), repeats),
        "peak_mb": peak_mb(),
    }


def by_checkpoint(
    *,
    intervals: int,
    interval_h: float,
    mttf_h: float,
    write_h: float,
    restart_h: float,
    replicas: int,
    seed: int,
) -> NDArray[np.float64]:
    """ETTR and failures of each job: one job after the other, from checkpoint to checkpoint."""
    draw, rate_per_h, jobs = random.Random(seed), 1.0 / mttf_h, []
    for _ in range(replicas):
        now_h, stored, failures = 0.0, 0, 0
        fails_at_h = draw.expovariate(rate_per_h)
        while stored < intervals:
            next_h = now_h + interval_h + write_h
            if next_h <= fails_at_h:
                now_h = next_h
                stored += 1
            else:
                now_h = fails_at_h + restart_h
                failures += 1
                fails_at_h = now_h + draw.expovariate(rate_per_h)
        jobs.append((intervals * interval_h / now_h, failures))
    return np.array(jobs)


def by_failure(
    *,
    intervals: int,
    interval_h: float,
    mttf_h: float,
    write_h: float,
    restart_h: float,
    replicas: int,
    seed: int,
) -> NDArray[np.float64]:
    """As `by_checkpoint`, from failure to failure: checkpoints between two are counted by a division."""
    draw, rate_per_h, jobs = random.Random(seed), 1.0 / mttf_h, []
    cycle_h = interval_h + write_h
    for _ in range(replicas):
        now_h, stored, failures = 0.0, 0.0, 0
        while (up_h := draw.expovariate(rate_per_h)) < (intervals - stored) * cycle_h:
            stored += up_h // cycle_h
            now_h += up_h + restart_h
            failures += 1
        now_h += (intervals - stored) * cycle_h
        jobs.append((intervals * interval_h / now_h, failures))
    return np.array(jobs)


def _timed(work: Callable[[], Answer], repeats: int) -> Record:
    """The answer and what it took; slow work is repeated less often."""
    answer: Answer = []

    def keep() -> None:
        answer[:] = work()

    readings = [seconds(keep)]
    while len(readings) < repeats and sum(readings) < ENOUGH_S:
        readings.append(seconds(keep))
    return {"s": spread(readings), "peak_mb": peak_mb(), "answer": answer}


def _by_everfleet(estimate: str, log: LifeLog) -> Callable[[], Answer]:
    lives: dict[str, Any] = {"duration_h": log.duration_h, "observed": log.observed}

    def curve() -> Answer:
        found = kaplan_meier(**lives)
        return _thinned(found.survival_fraction, found.low_fraction, found.high_fraction)

    def weibull() -> Answer:
        found = fit_weibull(**lives)
        return _flat([found.model.scale_h, found.model.shape], np.sqrt(np.diag(found.covariance)))

    def cox() -> Answer:
        found = fit_cox(**lives, covariates=log.covariates)
        return _flat(np.exp(found.coefficients), np.sqrt(np.diag(found.covariance)))

    return {"kaplan-meier": curve, "weibull": weibull, "cox": cox}[estimate]


def _by_lifelines(estimate: str, log: LifeLog) -> Callable[[], Answer]:
    import pandas as pd
    from lifelines import CoxPHFitter, KaplanMeierFitter, WeibullFitter

    frame = pd.DataFrame({"duration_h": log.duration_h, "observed": log.observed, **log.covariates})

    def curve() -> Answer:
        found = KaplanMeierFitter().fit(frame["duration_h"], frame["observed"])
        steps = (found.event_table["observed"] > 0).to_numpy()
        columns = found.survival_function_.join(found.confidence_interval_)[steps]
        return _thinned(*columns.to_numpy().T)

    def weibull() -> Answer:
        found = WeibullFitter().fit(frame["duration_h"], frame["observed"])
        return _flat([found.lambda_, found.rho_], np.sqrt(np.diag(found.variance_matrix_)))

    def cox() -> Answer:
        found = CoxPHFitter().fit(frame, "duration_h", "observed")
        return _flat(np.exp(found.params_), found.standard_errors_)

    return {"kaplan-meier": curve, "weibull": weibull, "cox": cox}[estimate]


def _sizes_by_everfleet(path: Path) -> Answer:
    sizes = read_log(path).jobs
    return _flat(*(sizes[name] for name in sizes.columns))


def _sizes_by_pandas(path: Path) -> Answer:
    import pandas as pd

    times = ["Eligible", "Start", "End"]
    rows = pd.read_csv(
        path, sep="|", usecols=["JobID", "State", "NNodes", *times], dtype={"JobID": str}, parse_dates=times
    )
    jobs = rows[~rows["JobID"].str.contains(".", regex=False)]
    sizes = jobs.assign(
        node_h=jobs["NNodes"] * (jobs["End"] - jobs["Start"]).dt.total_seconds() / 3600,
        failed=jobs["State"] == "NODE_FAIL",
        queue_h=(jobs["Start"] - jobs["Eligible"]).dt.total_seconds() / 3600,
    ).groupby("NNodes", as_index=False)
    table = sizes.agg(
        jobs=("JobID", "size"),
        node_h=("node_h", "sum"),
        failures=("failed", "sum"),
        queue_mean_h=("queue_h", "mean"),
        queue_median_h=("queue_h", "median"),
    )
    return _flat(*(table[name] for name in table.columns))


def _thinned(*columns: NDArray[np.float64]) -> Answer:
    """At most a thousand steps of a curve: the answer must stay small next to the memory that is measured."""
    last = columns[0].size - 1
    steps = np.unique(np.linspace(0, last, 1000).astype(int))
    return _flat(*(column[steps] for column in columns))


def _flat(*columns: Any) -> Answer:
    return [float(value) for column in columns for value in column]
