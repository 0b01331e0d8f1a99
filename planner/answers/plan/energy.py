"""Where the energy of a plan goes: site by site, what each use draws, and what cooling adds to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from planner.physics.training import Progress
from planner.program.plan import Plan
from planner.program.solution import Solution
from planner.trace.quantities import Derived, Traced
from planner.trace.records import Record

Column = NDArray[np.float64]

# Hours of a run -> what they are spent on, and in which state the nodes are then.
STATES = {
    "useful_h": ("training: useful work", "training_kw"),
    "checkpoint_h": ("training: checkpoints", "checkpoint_kw"),
    "lost_h": ("training: lost to failures", "training_kw"),
    "restart_h": ("training: restarts", "restart_kw"),
}


def energy_records(plan: Plan) -> list[Record]:
    """One row for each site and use; all of them together are the energy at the meters."""
    solution = plan.answer.solution
    if solution is None:
        return []
    drawn: dict[tuple[int, str, str], float] = {}
    for use, term, groups, kwh in _uses(plan, solution):
        for group, amount in zip(groups, kwh, strict=True):
            place = int(plan.problem.node_groups.site[group]), use, term
            drawn[place] = drawn.get(place, 0.0) + float(amount)
    names, found = plan.problem.site_names, []
    for (site, use, term), facility_kwh in sorted(drawn.items()):
        if facility_kwh:
            it_kwh = facility_kwh / float(plan.inputs.pue[site].value)
            found.append(
                {
                    "site": names[site],
                    "use": use,
                    "it_kwh": it_kwh,
                    "overhead_kwh": facility_kwh - it_kwh,
                    "explain": f"energy.{term}",
                }
            )
    return found


def state_fraction(*, state_h: Column, state_kw: Column, sum_kwh: Column) -> Column:
    """Share of a run's energy that is drawn in one of its states.

    f = h_state * P_state / (sum over all states)

    Source: energy by state, as `mean_node_kw`.
    """
    return state_h * state_kw / sum_kwh


def _uses(plan: Plan, solution: Solution) -> Iterator[tuple[str, str, NDArray[np.intp], Column]]:
    """What draws energy: its name, its term of the total, and for each row the group and the energy there."""
    ledger, problem, work = plan.ledger, plan.problem, plan.assembled.work
    if ledger.runs is not None:
        each = solution.run[solution.run > 0][:, None]
        kwh = (each * ledger.runs.facility_kwh.value[ledger.run_rows]).sum(axis=1)
        groups = problem.run_options.node_group[solution.run > 0]
        candidate = ledger.runs.candidate[ledger.run_rows]
        for use, share in _shares(ledger.runs.progress, candidate).items():
            yield use, "training", groups, kwh * share
    if ledger.pausable is not None:
        options = ledger.pausable.options
        pausable = problem.pausable_options
        kwh = (pausable.kwh_per_node_h[options] * solution.done_node_h[options]).sum(axis=1)
        for use, share in _shares(ledger.pausable.jobs.progress, ledger.pausable.rows).items():
            yield use, "pausable", pausable.node_group[options], kwh * share
    if ledger.replicas is not None:
        options = ledger.replica_options
        kwh = (ledger.replicas.facility_kwh.value * solution.replicas[options]).sum(axis=1)
        yield "serving", "serving", problem.serve_options.node_group[options], kwh
    if work.facility_kwh is not None:
        kwh = (work.facility_kwh.value * solution.work_node_h).sum(axis=1)
        yield "experimentation pools", "pools", problem.work_options.node_group, kwh
    every = np.arange(len(problem.node_groups))
    yield "idle nodes", "idle", every, (ledger.idle_nodes * plan.assembled.nodes.idle_kwh.value).sum(axis=1)
    yield (
        "parked nodes",
        "parked",
        every,
        (problem.node_groups.off_kwh_per_node * solution.parked).sum(axis=1),
    )


def _shares(progress: Progress, rows: NDArray[np.intp]) -> Mapping[str, Column]:
    """Share of the energy of some runs by what it is spent on, from the hours in each state."""
    hours, powers = _inputs(progress.ettr), _inputs(progress.node_kw)

    def some(column: Traced) -> Column:
        every: Column = np.broadcast_to(column.value, np.shape(progress.node_kw.value))
        return every[rows]

    drawn = {use: (some(hours[state]), some(powers[kw])) for state, (use, kw) in STATES.items()}
    total = np.sum([state_h * state_kw for state_h, state_kw in drawn.values()], axis=0)
    return {
        use: state_fraction(state_h=state_h, state_kw=state_kw, sum_kwh=total)
        for use, (state_h, state_kw) in drawn.items()
    }


def _inputs(traced: Traced) -> Mapping[str, Traced]:
    """What a derived number was worked out from."""
    assert isinstance(traced, Derived)
    return traced.call.inputs
