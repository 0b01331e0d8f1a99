"""Terms of a plan by node group: what calls take away, and data that move with runs and services."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.physics.curtailment import stopped
from planner.physics.deployments import Deployments
from planner.physics.training import TrainingRuns
from planner.program.assembly import Assembled
from planner.program.slot_ledger import DECIDED, SUMS
from planner.trace.quantities import Chosen, Part, Traced, chosen, derive, rows
from solver.account import begun
from solver.account_slots import lost_node_h
from solver.problem import Problem, Solution

if TYPE_CHECKING:
    from planner.program.ledger_terms import PausableUse

# What each takes (X, T), its node group, how many there are (X, T), and of what.
Source = tuple[Traced, NDArray[np.intp], NDArray[np.float64], str]


def by_group(kind: str, term: str, problem: Problem, sources: Sequence[Source]) -> dict[str, Part]:
    """One term, a row for each node group and a column for each period; nothing where there is none of it."""
    parts = list[Traced]()
    for each, group, amounts, what in sources:
        some = np.flatnonzero(amounts.any(axis=1))
        if not some.size:
            continue
        here = (np.arange(len(problem.node_groups))[:, None] == group[some]).astype(float)
        parts.append(
            derive(
                SUMS[kind],
                **{f"each_{kind}": rows(each, some)},
                amounts=chosen("amounts", amounts[some], f"{DECIDED}: {what}"),
                here=chosen("here", here, "which node group each is on"),
            )
        )
    if not parts:
        return {}
    whole = parts[0]
    for part in parts[1:]:
        whole = (whole + part).named(f"{term}_{kind}")
    return {term: (whole, chosen("counts", np.ones(np.shape(whole.value)), "once in each period", "1"))}


WHAT = "node-hours that calls take"


def stopped_part(
    kind: str, inputs: Inputs, assembled: Assembled, solution: Solution, pausable: PausableUse | None
) -> dict[str, tuple[Traced, Chosen]]:
    """The term of calls, a row for each node group; nothing where none is signed or nothing stops."""
    work, nodes, contracts = assembled.work, assembled.nodes, assembled.curtailment
    of_work, of_jobs = lost_node_h(assembled.problem, solution)
    sources = list[Source]()
    some = np.flatnonzero(of_work.any(axis=1))
    if work.facility_kwh is not None and some.size:
        group = work.node_group[some]
        found = stopped(inputs, contracts, nodes, group, rows(work.facility_kwh, some))
        assert found is not None, "something is signed"
        sources.append((getattr(found, kind), group, of_work[some], WHAT))
    if pausable is not None and of_jobs.any():
        group = pausable.jobs.candidates.node_group[pausable.rows]
        found = stopped(inputs, contracts, nodes, group, rows(pausable.jobs.facility_kwh, pausable.rows))
        assert found is not None, "something is signed"
        sources.append((getattr(found, kind), group, of_jobs[pausable.options], WHAT))
    return by_group(kind, "stopped", assembled.problem, sources)


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
