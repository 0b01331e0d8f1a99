"""Sweeps: one scenario with many changes, each planned, by one process, several, or a cluster.

Results go into a store as they come, so that a sweep that was stopped goes on where it was.
"""

from planner.sweeps.executors import DaskCluster, Executor, InProcess, LocalProcesses, Outcome
from planner.sweeps.grids import Grid, GridError, drawn, pareto, varied
from planner.sweeps.running import SweepResult, run_sweep, sweep_records, sweep_result

__all__ = [
    "DaskCluster", "Executor", "Grid", "GridError", "InProcess", "LocalProcesses", "Outcome", "SweepResult",
    "drawn", "pareto", "run_sweep", "sweep_records", "sweep_result", "varied",
]  # fmt: skip
