"""The work of a solved plan: its coefficients, worked out once more, and which row each has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.physics.pausable import PausableJobs, pausable_jobs
from planner.physics.serving import Replicas, replica_columns
from planner.physics.training import POLICIES, TrainingRuns, training_runs
from planner.program.assembly import Assembled
from solver.account_slots import lost_node_h
from solver.problem import Problem, Solution


@dataclass(frozen=True)
class PausableUse:
    """How pausable jobs run: their coefficients, which row each is, which option of the program."""

    jobs: PausableJobs
    rows: NDArray[np.intp]
    options: NDArray[np.intp]


@dataclass(frozen=True)
class ChosenWork:
    """Runs, replicas and pausable jobs of a plan; options are those of the program, in its order."""

    problem: Problem
    solution: Solution
    runs: TrainingRuns | None
    run_rows: NDArray[np.intp]
    replicas: Replicas | None
    replica_options: NDArray[np.intp]
    pausable: PausableUse | None

    @property
    def run_options(self) -> NDArray[np.intp]:
        """Options of the runs."""
        return np.flatnonzero(self.solution.run)

    @property
    def run_counts(self) -> NDArray[Any]:
        """How many of each run there are (R, 1)."""
        return self.solution.run[self.run_options][:, None]

    @property
    def runs_begun(self) -> NDArray[np.float64]:
        """The same in the period in which they begin (R, T)."""
        starts = self.problem.run_options.start[self.run_options][:, None]
        begun: NDArray[np.float64] = self.run_counts * (starts == np.arange(self.problem.periods))
        return begun

    @property
    def run_groups(self) -> NDArray[np.intp]:
        """Node group of each run."""
        return self.problem.run_options.node_group[self.run_options]

    @property
    def replica_rows(self) -> NDArray[np.intp]:
        """Row of each option of replicas among their coefficients."""
        return np.arange(len(self.replica_options))

    @property
    def replica_counts(self) -> NDArray[Any]:
        """Replicas of each option, by period."""
        return self.solution.replicas[self.replica_options]

    @property
    def replica_groups(self) -> NDArray[np.intp]:
        """Node group of each option of replicas."""
        return self.problem.serve_options.node_group[self.replica_options]

    @property
    def pool_options(self) -> NDArray[np.intp]:
        """Options of pools in which something is worked."""
        return np.flatnonzero(self.solution.work_node_h.sum(axis=1))

    @property
    def pool_groups(self) -> NDArray[np.intp]:
        """Node group of each of these."""
        return self.problem.work_options.node_group[self.pool_options]

    @property
    def pausable_groups(self) -> NDArray[np.intp]:
        """Node group of each option of pausable jobs."""
        options = np.zeros(0, np.intp) if self.pausable is None else self.pausable.options
        return self.problem.pausable_options.node_group[options]

    @property
    def pausable_done(self) -> NDArray[np.float64]:
        """Which part of its job each option of pausable jobs does, by period."""
        assert self.pausable is not None, "some pausable job runs"
        options = self.pausable.options
        worked = self.solution.done_node_h - lost_node_h(self.problem, self.solution)[1]
        done: NDArray[np.float64] = (
            worked[options] / self.problem.pausable_options.node_hours[options][:, None]
        )
        return done


def chosen_work(inputs: Inputs, assembled: Assembled, solution: Solution) -> ChosenWork:
    """The work of a plan, of which only what was chosen is worked out."""
    runs, run_rows = _runs(inputs, assembled, solution)
    replicas, options = _replicas(assembled, solution)
    return ChosenWork(
        assembled.problem,
        solution,
        runs,
        run_rows,
        replicas,
        options,
        _pausable(inputs, assembled, solution),
    )


def _runs(
    inputs: Inputs, assembled: Assembled, solution: Solution
) -> tuple[TrainingRuns | None, NDArray[np.intp]]:
    every = assembled.runs
    picked = np.flatnonzero(solution.run)
    if every is None or not len(picked):
        return None, np.zeros(0, dtype=np.intp)
    at = assembled.run_row[picked]
    candidate, begin_h = every.candidate[at], every.start_h.value[at, 0]
    few = every.candidates.some(candidate)
    runs = training_runs(inputs, assembled.nodes, few)
    wanted = np.arange(len(picked)) * len(POLICIES) + every.policy[candidate]
    found = [
        int(np.flatnonzero((runs.candidate == c) & (runs.start_h.value[:, 0] == h))[0])
        for c, h in zip(wanted, begin_h, strict=True)
    ]
    return runs, np.array(found, dtype=np.intp)


def _replicas(assembled: Assembled, solution: Solution) -> tuple[Replicas | None, NDArray[np.intp]]:
    options = np.flatnonzero(solution.replicas.sum(axis=1))
    if assembled.replicas is None or not len(options):
        return None, options
    row = assembled.replica_row[options]
    few = assembled.replicas.candidates.some(row)
    times = None if assembled.levers is None else assembled.levers.times
    return replica_columns(assembled.tried, assembled.nodes, few, times), options


def _pausable(inputs: Inputs, assembled: Assembled, solution: Solution) -> PausableUse | None:
    options, every = np.flatnonzero(solution.done_node_h.sum(axis=1)), assembled.pausable
    if every is None or not len(options):
        return None
    candidate = assembled.pausable_row[options]
    few = pausable_jobs(inputs, assembled.nodes, every.candidates.some(candidate))
    return PausableUse(few, np.arange(len(options)) * len(POLICIES) + every.policy[candidate], options)
