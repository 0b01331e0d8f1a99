"""Data of runs and services that move between sites, traced, by node group and period."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from planner.physics.starting import Deployments
from planner.physics.training import TrainingRuns
from planner.program.group_terms import Source, by_group
from planner.trace.quantities import Chosen, Traced, rows
from solver.account import begun
from solver.account_slots import lost_node_h
from solver.problem import Problem, Solution

if TYPE_CHECKING:
    from planner.program.ledger_terms import PausableUse


def transfer_part(
    kind: str,
    problem: Problem,
    solution: Solution,
    runs: TrainingRuns | None,
    run_rows: NDArray[np.intp],
    pausable: PausableUse | None,
    deployments: Deployments | None,
    options: NDArray[np.intp],
) -> dict[str, tuple[Traced, Chosen]]:
    """What moves once with runs and deployments, and logs; nothing where no data has a site."""
    sources = list[Source]()
    if runs is not None and runs.egress is not None:
        picked = solution.run > 0
        begins = problem.run_options.start[picked][:, None] == np.arange(problem.periods)
        each = rows(getattr(runs.egress, kind), runs.candidate[run_rows])
        many = solution.run[picked][:, None] * begins.astype(float)
        sources.append((each, problem.run_options.node_group[picked], many, "runs that begin"))
    if pausable is not None and pausable.jobs.egress is not None:
        own = pausable.options
        worked = (solution.done_node_h - lost_node_h(problem, solution)[1])[own]
        done = worked / problem.pausable_options.node_hours[own][:, None]
        each = rows(getattr(pausable.jobs.egress, kind), pausable.rows)
        sources.append((each, problem.pausable_options.node_group[own], done, "parts of the job"))
    if deployments is not None:
        group = problem.serve_options.node_group[options]
        for moved, many, what in (
            (deployments.begun_egress, begun(solution.replicas)[options], "deployments that begin"),
            (deployments.logs, solution.replicas[options] > 0, "deployments"),
        ):
            if moved is not None:
                sources.append((getattr(moved, kind), group, many.astype(float), what))
    return by_group(kind, "transfers", problem, sources)
