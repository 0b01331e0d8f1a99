"""What work does not take in the hours of calls, traced, by node group and period."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.inputs.resolved import Inputs
from planner.physics.curtailment import stopped
from planner.program.assembly import Assembled
from planner.program.group_terms import Source, by_group
from planner.trace.quantities import Chosen, Traced, rows
from solver.account_slots import lost_node_h
from solver.problem import Solution

if TYPE_CHECKING:
    from planner.program.ledger_terms import PausableUse

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
