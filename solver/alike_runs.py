"""Runs that differ in next to nothing, as one that is the best of them in everything.

Two layouts or checkpoints of a run on the same nodes in the same periods may differ by a thousandth of its
hours. A search that has to exclude one after it took the other does all of its work twice. For a bound, one
is enough that takes the least of what any of them takes: no plan of the problem costs less than the best with
it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from solver.account_energy import has_energy
from solver.problem import Problem, Solution
from solver.tables import Flags

SAME = 0.002  # of its money, carbon and hours: so little is left out of what the joined run takes
LATER_H = 1.0  # beyond what its job allows: a run is barred


def with_alike_runs_joined(problem: Problem) -> Problem:
    """The problem with the best of the runs that are alike, which takes what the least does; others barred.

    It has the same rows, and no plan of the problem costs less than its best. The same problem where none are
    alike, or where energy is counted by the hour. A run at several sites stays.
    """
    runs, jobs, groups = problem.run_options, problem.jobs, problem.node_groups
    # What is drawn may be matched or come from the sun: less of it is not less of everything.
    if not len(runs) or len(problem.contracts) or has_energy(problem).any():
        return problem
    per_h = 1 / groups.hours
    # Idling is taken back for each active hour, so that fewer of them are cheaper only next to that.
    back = {
        kind: (getattr(groups, f"idle_{kind}_per_node") * per_h)[runs.node_group]
        for kind in ("usd", "kgco2e")
    }
    net = {kind: getattr(runs, kind) - back[kind] * runs.node_hours for kind in back}
    weights = problem.objective
    cost = weights.money_weight * net["usd"].sum(axis=1) + weights.carbon_weight * net["kgco2e"].sum(axis=1)
    allowed = jobs.allowed_late_h[runs.job]
    columns = {
        name: getattr(runs, name).copy()
        for name in ("late_h", "node_hours", "active_kw", "kwh", "to_h", "bought_usd")
    }
    may = (runs.late_h <= allowed) & (runs.joint == 0)
    kinds: dict[bytes, list[int]] = {}
    for run in np.flatnonzero(may)[np.argsort(cost[may], kind="stable")].tolist():
        shape = (runs.nodes[run], runs.from_h[run], runs.racks[run], (runs.job[run], runs.node_group[run]))
        kinds.setdefault(b"".join(np.asarray(each, dtype=float).tobytes() for each in shape), []).append(run)
    for alike in kinds.values():
        while alike:
            best, *rest = alike
            taken = [best]
            for other in rest:
                pair = [*taken, other]
                least = [net["usd"][pair], net["kgco2e"][pair], runs.node_hours[pair], runs.active_kw[pair]]
                if all((each[0] - each.min(axis=0)).sum() <= SAME * abs(each[0].sum()) for each in least):
                    taken = pair
            for kind in net:
                net[kind][best] = net[kind][taken].min(axis=0)
            for values in columns.values():
                values[best] = values[taken].min(axis=0)
            columns["late_h"][taken[1:]] = allowed[taken[1:]] + LATER_H
            alike = [run for run in rest if run not in taken]
    if all(np.array_equal(values, getattr(runs, name)) for name, values in columns.items()):
        return problem
    paid = {kind: net[kind] + back[kind] * columns["node_hours"] for kind in net}
    return replace(problem, run_options=replace(runs, **columns, **paid))


def places_taken(problem: Problem, plan: Solution) -> Flags:
    """Runs that hold the nodes of a run of the plan, those of the plan itself included [R]."""
    runs = problem.run_options
    taken = np.zeros(len(runs), dtype=bool)
    for run in np.flatnonzero(plan.run):
        same = (runs.job == runs.job[run]) & (runs.node_group == runs.node_group[run]) & (runs.joint == 0)
        taken |= same & (runs.nodes == runs.nodes[run]).all(axis=1)
    return taken
