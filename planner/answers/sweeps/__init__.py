"""Sweeps: one scenario with many changes, each planned, by one process, several, or a cluster.

Results go into a store as they come, so that a sweep that was stopped goes on where it was.
"""

from planner.answers.sweeps.executors import DaskCluster, Executor, InProcess, LocalProcesses, Outcome
from planner.answers.sweeps.running import SweepResult, run_sweep, sweep_records, sweep_result
from planner.program.grids import Grid, GridError, drawn_points, pareto, varied

__all__ = [
    "DaskCluster",
    "Executor",
    "Grid",
    "GridError",
    "InProcess",
    "LocalProcesses",
    "Outcome",
    "SweepResult",
    "drawn_points",
    "pareto",
    "run_sweep",
    "sweep_records",
    "sweep_result",
    "varied",
]
