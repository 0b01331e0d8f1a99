"""What runs at which hour: nodes by what they do, site by site and slot by slot."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from planner.program.ledger import PlanLedger
from planner.program.plan import Plan
from planner.program.slot_use import slot_nodes
from planner.program.solution import Solution, lent_work_h
from planner.trace.numbers import count_text, mass, money, percent_text
from planner.trace.records import Record

STATES = (
    "awake_nodes",
    "quiet_nodes",
    "lent_nodes",
    "pool_nodes",
    "job_nodes",
    "off_nodes",
    "idle_nodes",
)


def hour_records(plan: Plan, solution: Solution) -> list[Record]:
    """One row for each period, site and slot of a plan that decides something by slot."""
    levers = plan.assembled.levers
    found = slot_nodes(plan.inputs, plan.assembled, solution, plan.ledger)
    if levers is None or found is None:
        return []
    times, labels = levers.times, plan.inputs.scenario.horizon.period_labels
    length = 24.0 * len(np.unique(times.day_type)) / len(times.day_type)
    rows: list[Record] = []
    for t, label in enumerate(labels):
        for s, site in enumerate(plan.inputs.scenario.sites):
            item = s * len(labels) + t
            grid = plan.inputs.grid[item].value * times.fixed_ratio[item].value
            for y in np.flatnonzero(times.hours[:, t]).tolist():
                start = float(times.start_h[y])
                rows.append(
                    {
                        "period": label,
                        "site": site.name,
                        "day_type": int(times.day_type[y]) + 1,
                        "days": float(times.days[y, t]),
                        "hours": f"{_clock(start)} to {_clock(start + length)} h",
                        "grid_kgco2e_per_kwh": float(grid[y]),
                        **{name: float(found.nodes[name][s, t, y]) for name in STATES},
                        "energy_kwh": float(found.kwh[s, t, y]),
                    }
                )
    return rows


def _clock(hour: float) -> str:
    """An hour of the day in two digits, in whose order text stays in that of the day."""
    return count_text(hour).zfill(2)


def hour_sentences(plan: Plan, solution: Solution) -> Iterator[str]:
    """By which hours operation was decided, and what that changes against the mean of each period."""
    levers = plan.assembled.levers
    if levers is None:
        if plan.inputs.scenario.policy.levers:
            yield "Nothing is decided by the hour: no hours of any grid are known, or slots is 1."
        return
    ledger = plan.ledger
    saved = [
        f"{words} {mass(-carbon)} {f'and {money(-usd)}' if usd < 0 else f'for {money(usd)}'}"
        for term, words in (("shifted", "work that moves saves"), ("resting", "replicas that rest save"))
        for usd, carbon in [_taken(ledger, term)]
        if usd or carbon
    ]
    if saved:
        yield f"Decided by the hour: {', '.join(saved)}, against all awake and all hours alike."
    done = plan.problem.work.demand_h.sum()
    lent = lent_work_h(plan.problem, solution).sum()
    if lent > 0 and done > 0:
        yield f"Nodes of replicas that rest do {percent_text(lent / done, 1)} of the work of the pools."
    yield from levers.times.notes


def _taken(ledger: PlanLedger, term: str) -> tuple[float, float]:
    """Money and carbon of a term."""
    usd, carbon = ledger.usd_terms.get(f"{term}_usd"), ledger.kgco2e_terms.get(f"{term}_kgco2e")
    return (
        0.0 if usd is None else float(usd.value),
        0.0 if carbon is None else float(carbon.value),
    )
