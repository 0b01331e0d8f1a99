"""What runs at which hour: nodes by what they do, site by site and slot by slot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from planner.answers.plan.decisions import DECIDED_STATES, decided
from planner.program.ledger import PlanLedger
from planner.program.plan import Plan
from planner.program.searches import Worth, allowed_levers, operated, with_levers
from planner.program.slot_use import slot_nodes
from planner.program.solution import Solution, lent_work_h
from planner.trace.numbers import count_text, mass, money, percent_text
from planner.trace.quantities import Traced, chosen, total
from planner.trace.records import Record

STATES = (*DECIDED_STATES, "idle_nodes")

LEVER_SECONDS = 10.0  # of each linear program
ROUNDING = 1e-9  # of the totals: so little is no saving


def hour_records(plan: Plan, solution: Solution) -> list[Record]:
    """One row for each period, site and slot of a plan that decides something by slot, traced."""
    levers = plan.assembled.levers
    found = slot_nodes(plan.assembled, solution, plan.ledger)
    if levers is None or found is None:
        return []
    times, labels = levers.times, plan.inputs.scenario.horizon.period_labels
    length = 24.0 * len(np.unique(times.day_type)) / len(times.day_type)
    rows: list[Record] = []
    for t, label in enumerate(labels):
        for s, site in enumerate(plan.inputs.scenario.sites):
            item = s * len(labels) + t
            for y in np.flatnonzero(times.hours[:, t]).tolist():
                start = float(times.start_h[y])
                grid = plan.inputs.grid[item] * times.grid.fixed[item][y]
                price = plan.inputs.electricity[item] * times.price.fixed[item][y]
                rows.append(
                    {
                        "period": label,
                        "site": site.name,
                        "day_type": int(times.day_type[y]) + 1,
                        "days": float(times.days[y, t]),
                        "hours": f"{_clock(start)} to {_clock(start + length)} h",
                        "grid_kgco2e_per_kwh": grid.named("grid_kgco2e_per_kwh"),
                        "electricity_usd_per_kwh": price.named("electricity_usd_per_kwh"),
                        **_nodes({name: float(held[s, t, y]) for name, held in found.nodes.items()}),
                        "energy_kwh": _energy(found.kwh, (s, t, y)),
                    }
                )
    return rows


def _nodes(by_state: dict[str, float]) -> Record:
    """Nodes in each state; those that do nothing are what is left of all."""
    *busy, idle = STATES
    nodes = {name: decided("hours", name, by_state) for name in busy}
    rest: Traced = chosen("nodes", sum(by_state.values()), "nodes of the site in the period, none under way")
    for one in nodes.values():
        rest = rest - one
    return {**nodes, idle: rest.named(idle)}


def _energy(kwh: dict[str, Traced], at: tuple[int, int, int]) -> Traced:
    """What a site draws in a slot, use by use."""
    uses = {name: column[at] for name, column in kwh.items() if column.value[at]}
    return total("energy_kwh", uses, "at the meter of the site, through the slot on all its days")


def lever_records(plan: Plan, solution: Solution) -> list[Record]:
    """What each lever is worth on the fleet of the plan: left out of all of them, and allowed alone.

    Lending needs packing: without the one the other is left out, too, and alone it is on top of it. Blank
    where the fleet is not enough without it: then it is worth the nodes that it saves.
    """
    problem = plan.problem
    levers = allowed_levers(problem)
    if not levers:
        return []

    def taken(some: Iterable[str]) -> Worth | None:
        return operated(with_levers(problem, tuple(some)), solution, time_limit_s=LEVER_SECONDS)

    everyone, none = taken(levers), taken(())
    rows: list[Record] = []
    for lever in levers:
        gone = {lever, "lend"} if lever == "pack" else {lever}
        without = taken(one for one in levers if one not in gone)
        below = ("pack",) if lever == "lend" else ()
        base, alone = taken(below) if below else none, taken((*below, lever))
        rows.append(
            {
                "lever": lever,
                **_saved("saved", without, everyone, ("without it", "with all levers")),
                **_saved(
                    "alone_saved",
                    base,
                    alone,
                    (f"with {below[0]} alone" if below else "without any lever", "with it on top"),
                ),
            }
        )
    return rows


def _saved(name: str, more: Worth | None, less: Worth | None, ways: tuple[str, str]) -> Record:
    """How much less one operation takes than another, in money and carbon; nothing where one is none."""
    found: Record = {}
    for kind in ("usd", "kgco2e"):
        if more is None or less is None:
            found[f"{name}_{kind}"] = None
            continue
        before, after = (
            chosen(
                f"{short}_{kind}", getattr(one, kind), f"operation of the same fleet {way}: solved separately"
            )
            for one, way, short in ((more, ways[0], "without"), (less, ways[1], "with"))
        )
        found[f"{name}_{kind}"] = (before - after).named(f"{name}_{kind}")
    return found


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
    few = (ROUNDING * abs(float(ledger.cost.value)), ROUNDING * abs(float(ledger.carbon.value)))
    saved = [
        saving_said(words, usd, carbon)
        for term, words in (("shifted", "work that moves saves"), ("resting", "replicas that rest save"))
        for usd, carbon in [_taken(ledger, term)]
        if abs(usd) > few[0] or abs(carbon) > few[1]
    ]
    if saved:
        yield f"Decided by the hour: {', '.join(saved)}, against all awake and all hours alike."
    done = plan.problem.work.demand_h.sum()
    lent = lent_work_h(plan.problem, solution).sum()
    if lent > 0 and done > 0:
        yield f"Nodes of replicas that rest do {percent_text(lent / done, 1)} of the work of the pools."
    yield from levers.times.notes


def saving_said(saves: str, usd: float, kgco2e: float) -> str:
    """What is saved, and what is given up for it: what takes more carbon for less money saves no carbon."""
    both = ((kgco2e, mass(abs(kgco2e))), (usd, money(abs(usd))))
    less, more = ([said for size, said in both if size and (size < 0) is down] for down in (True, False))
    if not less:
        return (
            f"{saves} nothing and {'take' if saves.endswith('save') else 'takes'} {' and '.join(more)} more"
        )
    return f"{saves} {' and '.join(less)}" + (f" for {more[0]} more" if more else "")


def _taken(ledger: PlanLedger, term: str) -> tuple[float, float]:
    """Money and carbon of a term."""
    usd, carbon = ledger.usd_terms.get(f"{term}_usd"), ledger.kgco2e_terms.get(f"{term}_kgco2e")
    return (
        0.0 if usd is None else float(usd.value),
        0.0 if carbon is None else float(carbon.value),
    )
