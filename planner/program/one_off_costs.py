"""What work of a plan takes once: people's time for techniques, and data that is bought."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from planner.physics.experiments import PoolWork
from planner.physics.training import TrainingRuns
from planner.trace.columns import Floats
from planner.trace.quantities import Part, Traced, chosen, pick, rows
from solver.account_slots import lost_node_h, worked_h
from solver.problem import Problem, Solution

if TYPE_CHECKING:
    from planner.program.ledger_terms import PausableUse


def once_part(
    column: str,
    problem: Problem,
    solution: Solution,
    runs: TrainingRuns | None,
    run_rows: NDArray[np.intp],
    pausable: PausableUse | None,
    work: PoolWork | None = None,
) -> tuple[Part | None, NDArray[np.intp]]:
    """One of these columns of money: when a run begins, as a pausable job is done, once for each pool.

    That of a pool, for its techniques, stands at the node group where they do most of its work.
    """
    each, counts, groups = list[Traced](), list[Floats](), list[NDArray[np.intp]]()
    of_runs = None if runs is None else getattr(runs, column)
    if runs is not None and of_runs is not None:
        begins = problem.run_options.start[solution.run > 0][:, None] == np.arange(problem.periods)
        each.append(rows(of_runs, runs.candidate[run_rows]))
        counts.append(solution.run[solution.run > 0][:, None] * begins.astype(float))
        groups.append(problem.run_options.node_group[solution.run > 0])
    of_pausable = None if pausable is None else getattr(pausable.jobs, column)
    if pausable is not None and of_pausable is not None:
        options = problem.pausable_options
        each.append(rows(of_pausable, pausable.rows))
        worked = solution.done_node_h - lost_node_h(problem, solution)[1]
        done = worked[pausable.options] / options.node_hours[pausable.options][:, None]
        counts.append(done)
        groups.append(options.node_group[pausable.options])
    adopted = np.flatnonzero(solution.adopted)
    if work is not None and work.techniques.adopted_usd is not None and adopted.size:
        each.append(rows(work.techniques.adopted_usd, adopted))
        begins = work.techniques.first[adopted][:, None] == np.arange(problem.periods)
        counts.append(begins.astype(float))
        most = [
            int(np.argmax(worked_h(problem, solution).sum(axis=1) * work.uses[:, a]))
            for a in adopted.tolist()
        ]
        groups.append(problem.work_options.node_group[most])
    if not any(np.any(one.value) for one in each):
        return None, np.zeros(0, dtype=np.intp)
    items = [one[i] for one in each for i in range(len(np.atleast_1d(one.value)))]
    part = (
        pick(items, np.arange(len(items))[:, None]),
        chosen("counts", np.concatenate(counts), "decided by the program", "1"),
    )
    return part, np.concatenate(groups)
