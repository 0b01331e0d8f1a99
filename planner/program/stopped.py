"""What work does not take in the hours of calls, traced, by node group and period."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.inputs.resolved import Inputs
from planner.physics.curtailment import stopped
from planner.program.assembly import Assembled
from planner.program.slot_ledger import DECIDED, SUMS
from planner.trace.quantities import Chosen, Traced, chosen, derive, rows
from solver.account_slots import lost_node_h
from solver.problem import Solution

if TYPE_CHECKING:
    from planner.program.ledger import PausableUse


def stopped_part(
    kind: str, inputs: Inputs, assembled: Assembled, solution: Solution, pausable: PausableUse | None
) -> dict[str, tuple[Traced, Chosen]]:
    """The term of calls, a row for each node group; nothing where none is signed or nothing stops."""
    problem, work, nodes = assembled.problem, assembled.work, assembled.nodes
    of_work, of_jobs = lost_node_h(problem, solution)
    each: list[Traced] = []
    for group, facility_kwh, row, lost in (
        (work.node_group, work.facility_kwh, None, of_work),
        *(
            ()
            if pausable is None
            else (
                (
                    pausable.jobs.candidates.node_group,
                    pausable.jobs.facility_kwh,
                    pausable.rows,
                    of_jobs[pausable.options],
                ),
            )
        ),
    ):
        if facility_kwh is None or not lost.any():
            continue
        some = np.flatnonzero(lost.any(axis=1))
        at = some if row is None else row[some]
        found = stopped(inputs, assembled.curtailment, nodes, group[at], rows(facility_kwh, at))
        assert found is not None, "something is signed"
        here = (np.arange(len(problem.node_groups))[:, None] == group[at]).astype(float)
        each.append(
            derive(
                SUMS[kind],
                **{f"each_{kind}": getattr(found, kind)},
                amounts=chosen("amounts", lost[some], f"{DECIDED}: node-hours that calls take"),
                here=chosen("here", here, "which node group each is on"),
            )
        )
    if not each:
        return {}
    whole = each[0] if len(each) == 1 else (each[0] + each[1]).named(f"stopped_{kind}")
    return {"stopped": (whole, chosen("counts", np.ones(np.shape(whole.value)), "once in each period", "1"))}
