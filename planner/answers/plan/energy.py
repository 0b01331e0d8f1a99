"""Where the energy of a plan goes: site by site, what each use draws, and what cooling adds to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from planner.answers.plan.shares import part_total
from planner.program.plan import Plan
from planner.program.slot_ledger import OF_SITES
from planner.trace.quantities import Derived, Traced, rows, total
from planner.trace.records import Record

# Hours of a run -> what they are spent on, and in which state the nodes are then.
STATES = {
    "useful_h": ("training: useful work", "training_kw"),
    "checkpoint_h": ("training: checkpoints", "checkpoint_kw"),
    "lost_h": ("training: lost to failures", "training_kw"),
    "restart_h": ("training: restarts", "restart_kw"),
}
USES = {
    "serving": "serving",
    "starting": "serving: replicas that start",
    "pools": "experimentation pools",
    "idle": "idle nodes",
    "parked": "parked nodes",
    "shifted": "hours: work lost at stops",
    "resting": "hours: replicas that rest, nodes that are off",
    "lent": "hours: work on lent nodes",
    "stopped": "calls to draw less: work that stands still",
    "stored": "batteries: lost",
    "sun": "sun, in place of the grid",
}


def energy_records(plan: Plan) -> list[Record]:
    """One row for each site and use; all of them together are the energy at the meters."""
    if plan.answer.solution is None:
        return []
    drawn: dict[tuple[int, str, str], dict[str, Traced]] = {}
    for term in plan.ledger.parts["kwh"]:
        for site, use, word, kwh in _uses(plan, term):
            drawn.setdefault((site, use, term), {})[word] = kwh
    names, found = plan.problem.site_names, []
    for (site, use, term), parts in sorted(drawn.items(), key=lambda one: one[0]):
        facility, pue = total("facility_kwh", parts), plan.inputs.pue[site]
        it_kwh = (facility / pue).named("it_kwh")
        if term in OF_SITES:  # at the meter of the site: no node draws or saves it
            it_kwh = (facility * 0.0).named("it_kwh")
        found.append(
            {
                "site": names[site],
                "use": use,
                "it_kwh": it_kwh,
                "overhead_kwh": (facility - it_kwh).named("overhead_kwh"),
                "explain": f"energy.{term}",
            }
        )
    return found


def _uses(plan: Plan, term: str) -> Iterator[tuple[int, str, str, Traced]]:
    """What a term of the energy is drawn for: site, use, a word for the row, and how much."""
    groups = plan.ledger.part_groups[term]
    shares = _shares(plan, term)
    for row, group in enumerate(groups):
        kwh = part_total(plan, "kwh", term, "row_kwh", rows=[row])
        if kwh is None:
            continue
        site = int(plan.problem.node_groups.site[group])
        word = f"{plan.problem.node_group_name(int(group))}, row {row + 1}"
        if not shares:
            yield site, USES[term], word, kwh
        for use, share in shares.items():
            if share[row].value:
                yield site, use, word, (kwh * share[row]).named("state_kwh")


def _shares(plan: Plan, term: str) -> Mapping[str, Traced]:
    """Share of the energy of each run by what it is spent on, from the hours in each state; else none."""
    ledger = plan.ledger
    if term == "training" and ledger.runs is not None:
        progress, index = ledger.runs.progress, ledger.runs.candidate[ledger.run_rows]
    elif term == "pausable" and ledger.pausable is not None:
        progress, index = ledger.pausable.jobs.progress, ledger.pausable.rows
    else:
        return {}
    hours, powers = _inputs(progress.ettr), _inputs(progress.node_kw)

    def some(column: Traced) -> Traced:
        return column[0] if np.shape(column.value) == (1,) else rows(column, index)

    drawn = {use: some(hours[state]) * some(powers[power]) for state, (use, power) in STATES.items()}
    first, *others = drawn.values()
    whole = first
    for other in others:
        whole = whole + other
    of_all = whole.named("all_states_kwh", "of one node over the run")
    return {use: (one / of_all).named("state_fraction") for use, one in drawn.items()}


def _inputs(traced: Traced) -> Mapping[str, Traced]:
    """What a derived number was worked out from."""
    assert isinstance(traced, Derived)
    return traced.call.inputs
