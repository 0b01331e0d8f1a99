"""Terms of a plan by node group: what calls take away, and data that move with runs and services."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.physics.curtailment import stopped
from planner.physics.deployments import Deployments
from planner.program.assembly import Assembled
from planner.program.chosen_work import ChosenWork
from planner.program.slot_ledger import DECIDED, SUMS
from planner.trace.quantities import Chosen, Part, Traced, chosen, derive, rows
from solver.account import begun
from solver.account_slots import lost_node_h
from solver.problem import Problem

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
    kind: str, inputs: Inputs, assembled: Assembled, chosen_work: ChosenWork
) -> dict[str, tuple[Traced, Chosen]]:
    """The term of calls, a row for each node group; nothing where none is signed or nothing stops."""
    work, nodes, contracts = assembled.work, assembled.nodes, assembled.curtailment
    pausable = chosen_work.pausable
    of_work, of_jobs = lost_node_h(assembled.problem, chosen_work.solution)
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
    kind: str, work: ChosenWork, deployments: Deployments | None
) -> dict[str, tuple[Traced, Chosen]]:
    """What moves once with runs and deployments, and logs; nothing where no data has a site."""
    sources = list[Source]()
    runs, pausable = work.runs, work.pausable
    if runs is not None and runs.egress is not None:
        each = rows(getattr(runs.egress, kind), runs.candidate[work.run_rows])
        sources.append((each, work.run_groups, work.runs_begun, "runs that begin"))
    if pausable is not None and pausable.jobs.egress is not None:
        each = rows(getattr(pausable.jobs.egress, kind), pausable.rows)
        sources.append((each, work.pausable_groups, work.pausable_done, "parts of the job"))
    if deployments is not None:
        begins = begun(work.solution.replicas)[work.replica_options]
        for moved, many, what in (
            (deployments.begun_egress, begins, "deployments that begin"),
            (deployments.logs, work.replica_counts > 0, "deployments"),
        ):
            if moved is not None:
                sources.append((getattr(moved, kind), work.replica_groups, many.astype(float), what))
    return by_group(kind, "transfers", work.problem, sources)
