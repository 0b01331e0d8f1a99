"""What a plan chose for each service (precision, model, techniques) and each pool (techniques)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from planner.inputs.techniques import technique_named
from planner.physics.ways import way_said
from planner.program.plan import Plan
from planner.program.solution import Solution, adopted_work_h
from planner.trace.numbers import number_text, percent_text
from planner.trace.records import Record


def way_sentences(plan: Plan, solution: Solution) -> list[str]:
    """A sentence for each service that may be done in several ways: the one that carries most, and why."""
    tried, replicas = plan.assembled.tried, plan.assembled.replicas
    if not tried.ways.services or replicas is None:
        return []
    of = np.array([way.of for way in tried.ways.services])
    return [
        said
        for i in np.flatnonzero(np.bincount(of) > 1).tolist()
        if (ways := np.flatnonzero(of == i).tolist())
        and len({way_said(tried, row, with_time=False) for row in ways}) > 1
        for said in _of_service(plan, solution, i, ways)
    ]


def adoption_sentences(plan: Plan, solution: Solution) -> list[str]:
    """A sentence for each technique that a pool may adopt: how much of its work, from when on; or not."""
    may, work, said = plan.assembled.work.techniques, plan.problem.work, []
    done = adopted_work_h(plan.problem, solution)
    for a, (w, name) in enumerate(zip(may.pool.tolist(), may.name, strict=True)):
        if not solution.adopted[a]:
            said.append(f"Not adopted for {work.name[w]}: {name}; it is worth less than it takes.")
            continue
        share = float(done[a].sum() / work.demand_h[w].sum())
        first = plan.inputs.scenario.horizon.date_after_h(float(may.usable_h[a]))
        said.append(
            f"Adopt {name} for {work.name[w]} from {first}: it does {percent_text(share, 0)} of the work. "
            f"Quality: {technique_named(name).quality}."
        )
    return said


def pool_way(plan: Plan, option: int) -> Record:
    """The techniques that a way to do a pool's work uses, where a plan may choose any."""
    may, uses = plan.assembled.work.techniques, plan.assembled.work.uses
    if not may.name:
        return {}
    return {"way": " and ".join(may.name[a] for a in np.flatnonzero(uses[option])) or "as stated"}


def _of_service(plan: Plan, solution: Solution, service: int, ways: list[int]) -> Iterator[str]:
    """What the last period in which it runs takes for each request, next to the best as it is stated."""
    options, replicas = plan.problem.serve_options, plan.assembled.replicas
    assert replicas is not None, "checked by the caller"
    way = replicas.candidates.service[plan.assembled.replica_row]
    mine = options.service == service
    used = np.flatnonzero((solution.replicas[mine] > 0).any(axis=0))
    if not used.size:
        return
    t, name = int(used[-1]), plan.problem.services.name[service]
    count, capacity = solution.replicas[:, t] * mine, options.capacity[:, t]
    carried = [float(np.sum(count[way == one] * capacity[way == one])) for one in ways]
    most = ways[int(np.argmax(carried))]
    said = f"{name} is served mostly as {way_said(plan.assembled.tried, most)}, of {len(ways)} ways"
    if most == ways[0]:
        yield f"{said}: as it is stated."
        return
    # All rows that were worked out: what another way beats in everything is no option of the program.
    here = np.isin(replicas.candidates.node_group, options.node_group[(count > 0) & (way == most)])
    works = np.asarray(replicas.requests_per_s.value)[:, t] > 0
    plain = np.flatnonzero((replicas.candidates.service == ways[0]) & works & here)
    if not plain.size:
        yield f"{said}; as it is stated no replica there would hold it in time."
        return
    each = plan.problem.services.demand[service, t] / np.asarray(replicas.carrying.value)[:, t]
    takes = (
        np.asarray(metric) / np.maximum(each, 1e-12)
        for metric in (np.asarray(replicas.kgco2e.value)[:, t], replicas.nodes.value)
    )
    row, share = plan.assembled.replica_row, count * capacity * (way == most)
    carbon, nodes = (float(np.average(one[row], weights=share) / one[plain].min()) for one in takes)
    yield (
        f"{said}: a request takes {number_text(carbon, 2)} times the carbon and {number_text(nodes, 2)} "
        "times the nodes of the best replica there as it is stated."
    )
