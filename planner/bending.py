"""What bends in a plan, as records and sentences: rent, parking, pausable jobs, demand not carried."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from planner.explanation import explain
from planner.plan import Plan
from planner.used import rented_node_h
from planner.wording import money
from solver.problem import Solution

Record = dict[str, Any]

ROUNDING = 1e-6  # of nodes that are shared by replicas, or held on average


def rental_records(plan: Plan, solution: Solution) -> list[Record]:
    """Rented nodes by period: how many at once, how many hours of them, at what price."""
    rented, labels = plan.assembled.rented, plan.inputs.scenario.horizon.period_labels
    if rented.usd is None or rented.kgco2e is None:
        return []
    hours = rented_node_h(plan.assembled, solution)
    mean = hours / plan.problem.pools.hours
    nodes = np.ceil(np.maximum(solution.in_use[rented.pool], mean) - ROUNDING).astype(int)
    return [
        {
            "period": label,
            "location": plan.problem.site_names[plan.problem.pools.site[p]],
            "sku": plan.problem.sku_names[plan.problem.pools.sku[p]],
            "nodes": int(nodes[i, t]),
            "node_h": float(hours[i, t]),
            "rent_usd_per_node_h": float(rented.usd.value[i, t]),
            "rent_usd": float(rented.usd.value[i, t] * hours[i, t]),
            "embodied_kgco2e": float(rented.kgco2e.value[i, t] * hours[i, t]),
        }
        for t, label in enumerate(labels)
        for i, p in enumerate(rented.pool)
        if nodes[i, t]
    ]


def paused_records(plan: Plan, solution: Solution) -> list[Record]:
    """Pausable jobs by period: how much of each is done, on how many nodes on average."""
    options, labels = plan.problem.elastic_options, plan.inputs.scenario.horizon.period_labels
    hours = plan.problem.pools.hours
    return [
        {
            "job": plan.problem.jobs.name[options.job[e]],
            "period": label,
            "site": plan.problem.site_names[plan.problem.pools.site[options.pool[e]]],
            "sku": plan.problem.sku_names[plan.problem.pools.sku[options.pool[e]]],
            "most_nodes": int(options.nodes[e]),
            "mean_nodes": float(solution.done_node_h[e, t] / hours[t]),
            "node_h": float(solution.done_node_h[e, t]),
            "done_fraction": float(solution.done_node_h[e, t] / options.node_hours[e]),
            "energy_kwh": float(solution.done_node_h[e, t] * options.kwh_per_node_h[e, t]),
        }
        for e in np.flatnonzero(solution.done_node_h.sum(axis=1) > 0)
        for t, label in enumerate(labels)
        if solution.done_node_h[e, t] > 0
    ]


def paused_explanations(plan: Plan) -> dict[str, list[Record]]:
    """Where the numbers of the pausable jobs come from, under the names that other runs have."""
    paused = plan.ledger.paused
    if paused is None:
        return {}
    found, progress = {}, paused.elastic.progress
    for row in paused.rows:
        job = plan.problem.jobs.name[paused.elastic.candidates.job[row]]
        columns = {
            "ettr": progress.ettr,
            "interval": progress.renewal["interval_h"],
            "duration": progress.duration_h,
            "node_hours": paused.elastic.node_h,
            "mttf": progress.renewal["mtbf_h"],
        }
        for name, node in columns.items():
            found[f"job.{job}.{name}"] = explain(node, row=int(row)).to_dict()
    return found


def bending_placements(plan: Plan, solution: Solution) -> dict[str, str]:
    """Decision -> what was decided, for comparing two plans of one problem."""
    problem, placed = plan.problem, dict[str, list[str]]()
    for e in np.flatnonzero(solution.chosen):
        options = problem.elastic_options
        pool = problem.pool_name(int(options.pool[e]))
        placed.setdefault(problem.jobs.name[options.job[e]], []).append(
            f"{solution.done_node_h[e].sum():,.0f} node-hours on {pool}"
        )
    return {name: ", ".join(sorted(ways)) for name, ways in placed.items()}


def bending_sentences(plan: Plan, solution: Solution) -> list[str]:
    """Headline sentences on everything that bends."""
    return [
        *_renting(plan, solution),
        *_pausing(plan, solution),
        *_parking(plan, solution),
        *_unmet(plan, solution),
    ]


def _renting(plan: Plan, solution: Solution) -> Iterator[str]:
    records = rental_records(plan, solution)
    for place in dict.fromkeys((one["sku"], one["location"]) for one in records):
        mine = [one for one in records if (one["sku"], one["location"]) == place]
        steps = ", ".join(f"{one['nodes']} in {one['period']}" for one in mine)
        hours, paid = (sum(one[key] for one in mine) for key in ("node_h", "rent_usd"))
        yield (
            f"Rent up to so many nodes of {place[0]} at {place[1]}: {steps}; {hours:,.0f} node-hours for "
            f"{money(paid)}."
        )


def _pausing(plan: Plan, solution: Solution) -> Iterator[str]:
    paused = plan.ledger.paused
    if paused is None:
        return
    options, labels = plan.problem.elastic_options, plan.inputs.scenario.horizon.period_labels
    for row, e in zip(paused.rows, paused.options, strict=True):
        job = plan.inputs.scenario.training[options.job[e]]
        done = solution.done_node_h[e]
        steps = ", ".join(f"{done[t]:,.0f} in {labels[t]}" for t in np.flatnonzero(done > 0.5))
        copies = "" if solution.chosen[e] == 1 else f"{solution.chosen[e]} x "
        part = solution.completed[e] / solution.chosen[e]
        said = "" if part > 1 - 1e-6 else f"; {part:.0%} of it is done"
        interval_h = paused.elastic.progress.renewal["interval_h"].value[row]
        yield (
            f"Run {copies}{job.name} whenever it suits, on up to {options.nodes[e]} nodes of "
            f"{plan.problem.pool_name(int(options.pool[e]))}: node-hours {steps}{said}. It is done by "
            f"{job.deadline} with {job.deadline_confidence_fraction:.0%} chance; checkpoint every "
            f"{interval_h * 60:.0f} min."
        )


def _parking(plan: Plan, solution: Solution) -> Iterator[str]:
    hours = plan.problem.pools.hours
    parked, stood = (float((nodes * hours).sum()) for nodes in (solution.parked, solution.in_service))
    if parked > 0.5:
        yield (
            f"Switch idle nodes off for {parked:,.0f} node-hours, {parked / stood:.0%} of all in service; "
            "waking them is taken to need no time."
        )


def _unmet(plan: Plan, solution: Solution) -> Iterator[str]:
    labels = plan.inputs.scenario.horizon.period_labels
    for i, t in np.argwhere(solution.shed_fraction > 1e-6):
        yield (
            f"Leave {solution.shed_fraction[i, t]:.1%} of the peak of {plan.problem.services.name[i]} in "
            f"{labels[t]} uncarried, at its penalty of {money(float(solution.usd_terms.unmet[i, t]))}."
        )
