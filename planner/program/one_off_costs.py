"""What work of a plan takes once: people's time for techniques, and data that is bought."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from planner.physics.experiments import PoolWork
from planner.program.chosen_work import ChosenWork
from planner.trace.columns import Floats
from planner.trace.quantities import Part, Traced, chosen, pick, rows
from solver.account_slots import worked_h


def once_part(
    column: str, work: ChosenWork, pools: PoolWork | None = None
) -> tuple[Part | None, NDArray[np.intp]]:
    """One of these columns of money: when a run begins, as a pausable job is done, once for each pool.

    That of a pool, for its techniques, stands at the node group where they do most of its work.
    """
    problem, solution, runs, pausable = work.problem, work.solution, work.runs, work.pausable
    each, counts, groups = list[Traced](), list[Floats](), list[NDArray[np.intp]]()
    of_runs = None if runs is None else getattr(runs, column)
    if runs is not None and of_runs is not None:
        each.append(rows(of_runs, runs.candidate[work.run_rows]))
        counts.append(work.runs_begun)
        groups.append(work.run_groups)
    of_pausable = None if pausable is None else getattr(pausable.jobs, column)
    if pausable is not None and of_pausable is not None:
        each.append(rows(of_pausable, pausable.rows))
        counts.append(work.pausable_done)
        groups.append(work.pausable_groups)
    adopted = np.flatnonzero(solution.adopted)
    if pools is not None and pools.techniques.adopted_usd is not None and adopted.size:
        each.append(rows(pools.techniques.adopted_usd, adopted))
        begins = pools.techniques.first[adopted][:, None] == np.arange(problem.periods)
        counts.append(begins.astype(float))
        most = [
            int(np.argmax(worked_h(problem, solution).sum(axis=1) * pools.uses[:, a]))
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
