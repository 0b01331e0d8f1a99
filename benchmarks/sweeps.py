"""What a sweep costs besides its plans: starting workers, handing tasks over, saving results."""

from __future__ import annotations

import operator
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.clock import Record, seconds
from planner.answers.sweeps import DaskCluster, Executor, Grid, InProcess, LocalProcesses, run_sweep, varied
from planner.answers.sweeps.running import Task, plan_point
from planner.inputs.loading import data_folder
from planner.inputs.scenario import Scenario, load_scenario
from planner.inputs.scenario.bundle import keep
from planner.store import open_store

WORKERS = 2


def overheads(points: int) -> Record:
    """Each executor on `points` scenarios: its start, a task that does nothing, and a sweep into a store.

    A sweep's overhead is its time less that of the bare plans, shared evenly among the workers.
    """
    scenario, grid = shipped_grid(points)
    tasks = [Task(keep(scenario), changes) for changes in grid.points]
    plan_point(tasks[0])  # what is loaded once is no cost of a point
    bare_s = seconds(lambda: [plan_point(task) for task in tasks])
    with _cluster() as cluster:
        executors: dict[str, tuple[Executor, int]] = {
            "this process": (InProcess(), 1),
            f"{WORKERS} processes": (LocalProcesses(WORKERS), WORKERS),
            f"Dask, {WORKERS} workers": (cluster, WORKERS),
        }
        found = {
            name: timed(scenario, grid, executor, workers, bare_s)
            for name, (executor, workers) in executors.items()
        }
    return {"points": points, "bare_s_per_point": bare_s / points, "executors": found}


def shipped_grid(points: int) -> tuple[Scenario, Grid]:
    """A shipped scenario, and so many values of its PUE."""
    scenario = load_scenario(data_folder() / "scenarios" / "one-training-job.toml")
    values = ",".join(str(1.0 + step / 1000) for step in range(points))
    return scenario, varied([f"sites.stockholm.pue={values}"])


def timed(scenario: Scenario, grid: Grid, executor: Executor, workers: int, bare_s: float) -> Record:
    """One executor: its first answer, an empty task, and a sweep next to `bare_s` of bare plans."""
    points = len(grid.points)
    marks = [time.perf_counter()]
    for _ in executor.run(operator.neg, range(points), lambda: False):
        marks.append(time.perf_counter())
    with tempfile.TemporaryDirectory(prefix="everfleet-") as folder:
        store = open_store(str(Path(folder) / "plans.sqlite"))
        sweep_s = seconds(lambda: run_sweep(scenario, grid, store, executor))
        store.close()
    return {
        "first_answer_s": marks[1] - marks[0],
        "empty_s_per_task": (marks[-1] - marks[1]) / max(1, points - 1),
        "sweep_s": sweep_s,
        "overhead_s_per_point": (sweep_s - bare_s / workers) / points,
    }


@contextmanager
def _cluster() -> Iterator[DaskCluster]:
    from distributed import LocalCluster

    with LocalCluster(  # type: ignore[no-untyped-call]  # it carries no types
        n_workers=WORKERS, threads_per_worker=1, dashboard_address=None, protocol="tcp", host="127.0.0.1"
    ) as cluster:
        yield DaskCluster(cluster.scheduler_address)
