"""What becomes of a plan in bad cases, with what it has bought: if it holds, what breaks first, the ways out.

A plan holds where work stays where it is and free nodes of its own node group are enough. Else each way out
is priced (`recourse.py`), and the cheapest is named.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from planner.answers.plan.recourse import MORE_HOURS, Recourse, Way
from planner.physics.chance import demand_sigmas
from planner.physics.procurement import in_stock
from planner.program.operation import Desk, World, desk
from planner.program.plan import Plan
from planner.program.solution import (
    RunOptions,
    Solution,
    nodes_of_runs,
    nodes_under_way,
    spares_at_hand,
    totals_by,
)
from planner.trace.numbers import count_text, fixed_text, mass, money, percent_text
from planner.trace.origins import facts_of
from planner.trace.quantities import chosen
from planner.trace.recomputation import recompute
from planner.trace.records import Record, plain_rows

Nodes = NDArray[np.float64]
P95 = float(ndtri(0.95))
TWICE = 2.0
WAY = "operation then at its cheapest, by a linear program with the fleet held, less that at the stated facts"
NO_WAY = "no way out by moving, renting, keeping, ordering in time or leaving out at a stated penalty"


@dataclass(frozen=True)
class Case:
    """A bad case: how many times the nodes each work takes then, which nodes are not there, what fails."""

    title: str
    rate: Mapping[int, float] = field(default_factory=dict)  # by SKU: share of its rate that is left
    demand: Mapping[str, Nodes] = field(default_factory=dict)  # by kind: multiple of the demand (W, T)
    late: NDArray[np.bool_] | None = None  # node groups whose orders come a period later (P,)
    failures: float = 1.0
    gone: tuple[int, ...] = ()  # node groups that are not to be had


def stress_tables(plan: Plan, solution: Solution) -> dict[str, list[Record]]:
    """One row for each bad case, and one for each way out of those in which the plan does not hold."""
    at = desk(plan.inputs, plan.assembled, solution)
    recourse, found, ways = Recourse.of(plan, solution, at), list[Record](), list[Record]()
    for case in _cases(plan, solution):
        row, out = _held_up(plan, solution, case, recourse)
        found.append(row)
        ways += [
            {
                "case": case.title,
                "way": way.text,
                "added_nodes": math.ceil(way.nodes - 1e-6),
                "cheapest": "yes" if number == 0 else "no",
                **_taken(way),
            }
            for number, way in enumerate(out)
        ]
    return {"stress": [*found, *_prices(plan)], "recourse": ways}


def _taken(way: Way) -> Record:
    return {"usd": chosen("usd", way.usd, WAY), "kgco2e": chosen("kgco2e", way.kgco2e, WAY)}


def stress_sentences(rows: list[Record], besides: str = "") -> list[str]:
    """Which cases the plan does not stand, what the dearest way out takes, and what no case looks at."""
    broken = [row for row in plain_rows(rows) if row["holds"] == "no"]
    if not rows:
        return []
    if not broken:
        return [f"The plan holds in every bad case that was looked at.{besides}"]
    dearest = max(broken, key=lambda row: row["usd"])
    said = (
        f"Of {len(rows)} bad cases the plan does not hold in {len(broken)} with what it has bought. The "
        f"most expensive one: {dearest['case']}; "
    )
    if dearest["recourse"] == NO_WAY:
        return [f"{said}{NO_WAY}.{besides}"]
    paid = f", {money(dearest['usd'])} and {mass(dearest['kgco2e'])}" if dearest["usd"] else ""
    return [f"{said}the cheapest way out is to {dearest['recourse']}{paid}.{besides}"]


def spot_runs(plan: Plan) -> str:
    """That no case takes spot nodes away from runs: they lose their deadlines, and no way out is priced."""
    problem, solution = plan.problem, plan.answer.solution
    if solution is None:
        return ""
    runs, places = set[str](), set[str]()
    options = ((problem.run_options, solution.run > 0), (problem.pausable_options, solution.chosen > 0))
    for table, taken in options:
        for row in np.flatnonzero(taken & plan.inputs.spot[table.node_group]).tolist():
            runs.add(problem.jobs.name[int(table.job[row])])
            places.add(problem.site_names[int(problem.node_groups.site[table.node_group[row]])])
    if not runs:
        return ""
    without = " ".join(f"--set rental.{name}.nodes=0" for name in sorted(places))
    return f" None takes the spot nodes of {', '.join(sorted(runs))} away: {without} plans without them."


def _cases(plan: Plan, solution: Solution) -> Iterator[Case]:
    inputs, groups = plan.inputs, plan.problem.node_groups
    left = 1.0 - inputs.fact("planning.stress.rate").value
    for sku in np.unique(groups.sku[solution.in_service.any(axis=1)]).tolist():
        yield Case(
            f"{plan.problem.sku_names[sku]} delivers {percent_text(1 - left, 0)} less", rate={sku: left}
        )
    services, pools = inputs.scenario.services, inputs.scenario.pools
    grown: dict[str, Nodes] = {}
    if services:
        grown["services"] = np.exp(P95 * np.asarray(demand_sigmas(inputs, services).value))
    if pools:
        grown["pools"] = np.exp(P95 * np.asarray(demand_sigmas(inputs, pools).value))
    if grown:
        yield Case("demand at its 95th percentile", demand=grown)
    delayed = ~in_stock(inputs)
    if solution.orders[delayed].any():
        yield Case("all deliveries come a period late", late=delayed)
    sites = np.unique(groups.site[solution.orders.any(axis=1)]).tolist()
    for site in sites if len(sites) > 1 else []:
        yield Case(f"{plan.problem.site_names[site]} is ready a period late", late=groups.site == site)
    yield Case("nodes fail twice as often", failures=TWICE)
    if spot := _spot_of_services(plan, solution):
        yield Case("no spot nodes are to be had", gone=spot)


def _spot_of_services(plan: Plan, solution: Solution) -> tuple[int, ...]:
    """Node groups of spot nodes that services run on, and no run: what a run loses is its deadline."""
    problem = plan.problem
    serves, runs, pausable = problem.serve_options, problem.run_options, problem.pausable_options
    serving = set(serves.node_group[solution.replicas.any(axis=1)].tolist())
    running = {
        *runs.node_group[solution.run > 0].tolist(),
        *pausable.node_group[solution.done_node_h.any(axis=1)].tolist(),
    }
    return tuple(p for p in np.flatnonzero(plan.inputs.spot).tolist() if p in serving - running)


def _held_up(plan: Plan, solution: Solution, case: Case, recourse: Recourse) -> tuple[Record, list[Way]]:
    """What is short in a case, where first, and the ways out, the cheapest first."""
    at_once, over_time, works = _needed(plan, solution, case)
    have, moved = _there(plan, solution, case), solution.moved
    on_the_way, lost = (nodes_under_way(plan.problem, moved, mean=mean) for mean in (False, True))
    short = np.maximum(np.maximum(at_once + on_the_way, over_time + lost) - have, 0.0)
    short[short < 1e-6] = 0.0
    late = _late_run(plan, solution, case)
    labels = plan.inputs.scenario.horizon.period_labels
    first, ways = "", list[Way]()
    world = _world(plan, solution, case, recourse.at)
    if short.any():
        t = int(np.flatnonzero(short.any(axis=0))[0])
        p = int(np.argmax(short[:, t]))
        names = ", ".join(sorted(works[p, t]))
        nodes = fixed_text(short[p, t], 1)
        first = f"{plan.problem.node_group_name(p)} in {labels[t]}: {nodes} nodes short for {names}"
        ways = recourse.ways(world, t, case.late)
        best = ways[0] if ways else Way(NO_WAY, 0.0, 0.0, 0.0)
    else:
        best = recourse.moved(world) or recourse.by_the_hour(world) or Way("", 0.0, 0.0, 0.0)
        first = "more nodes at once than the plan rents by the hour" if best.nodes else ""
    said = [best.text] if first else []
    if late is not None:
        said.append(f"put training.{late.job}.deadline {late.days_text} later")
    row: Record = {
        "case": case.title,
        "holds": "no" if said else "yes",
        "breaks_first": "; ".join(filter(None, (first, late.text if late else ""))),
        "short_nodes": max(int(np.ceil(short.sum(axis=0).max() - 1e-6)), 0) or math.ceil(best.nodes),
        "recourse": ", and to ".join(said) or (MORE_HOURS if best.text == MORE_HOURS else "none is needed"),
    }
    return row | _taken(best), ways


def _world(plan: Plan, solution: Solution, case: Case, at: Desk) -> World:
    """A case as the operation meets it."""
    problem, stated = plan.problem, at.stated()
    groups, serves, works = problem.node_groups, problem.serve_options, problem.work_options
    rate = np.array([case.rate.get(int(k), 1.0) for k in groups.sku])
    own = _in_own_hours(plan)
    short = solution.in_service - solution.spares - _there(plan, solution, case)
    short[~np.isfinite(short)] = 0.0
    short[plan.assembled.reserved.node_group] = 0.0
    runs, slow = problem.run_options, _slower_runs(plan, solution, case)
    longer_h = totals_by(
        runs.node_group, len(groups), (slow.node_hours - runs.node_hours) * solution.run[:, None]
    )
    as_slow = replace(problem, run_options=slow)
    more = nodes_of_runs(as_slow, solution.run) - nodes_of_runs(problem, solution.run)
    world = World(
        stated.services * case.demand.get("services", 1.0),
        stated.pools * case.demand.get("pools", 1.0),
        rate[serves.node_group],
        np.where(own, 1.0, rate[works.node_group]),
        np.maximum(stated.there - longer_h / groups.hours, 0.0),
        np.maximum(stated.at_once - more, 0.0),
    ).less(short)
    for nodes in (world.there, world.at_once):
        nodes[list(case.gone)] = 0.0
    return world


def _needed(
    plan: Plan, solution: Solution, case: Case
) -> tuple[Nodes, Nodes, dict[tuple[int, int], set[str]]]:
    """Nodes that the work of each node group takes in a case: at once, over the hours (P, T); and whose.

    As in the program: pools take hours, those too that a run leaves when it ends within a period.
    """
    problem = plan.problem
    groups = problem.node_groups
    over_time, pools = np.zeros(solution.in_service.shape), np.zeros(solution.in_service.shape)
    slower = np.array([1.0 / case.rate.get(int(k), 1.0) for k in groups.sku])
    names: dict[tuple[int, int], set[str]] = {}

    def add(
        to: Nodes, group: NDArray[np.intp], nodes: Nodes, of: NDArray[np.intp], every: tuple[str, ...]
    ) -> None:
        np.add.at(to, group, nodes)
        for row, t in np.argwhere(nodes > 0).tolist():
            names.setdefault((int(group[row]), t), set()).add(every[int(of[row])])

    serves, works, pausable = problem.serve_options, problem.work_options, problem.pausable_options
    runs = _slower_runs(plan, solution, case)
    hours = groups.hours
    run_nodes = runs.node_hours * solution.run[:, None] / hours
    add(over_time, runs.node_group, run_nodes, runs.job, problem.jobs.name)
    of_runs = over_time.copy()
    add(over_time, pausable.node_group, solution.done_node_h / hours, pausable.job, problem.jobs.name)
    more = case.demand.get("services", np.ones((len(problem.services.name), problem.periods)))
    served = serves.nodes[:, None] * solution.replicas
    times = more[serves.service] * slower[serves.node_group][:, None]
    room = _with_room(plan, solution, served, times)
    add(over_time, serves.node_group, room, serves.service, problem.services.name)
    at_once = over_time - of_runs + nodes_of_runs(replace(problem, run_options=runs), solution.run)
    more = case.demand.get("pools", np.ones((len(problem.work.name), problem.periods)))
    done = works.held_ratio * solution.work_node_h / hours
    own = np.where(_in_own_hours(plan), 1.0, slower[works.node_group])[:, None]
    add(pools, works.node_group, done * more[works.work] * own, works.work, problem.work.name)
    return at_once, over_time + pools, names


def _slower_runs(plan: Plan, solution: Solution, case: Case) -> RunOptions:
    """Runs that keep their nodes and hold them longer, where their SKU delivers less in a case."""
    runs, groups = plan.problem.run_options, plan.problem.node_groups
    nodes, node_h, to_h = runs.nodes.copy(), runs.node_hours.copy(), runs.to_h.copy()
    for r in np.flatnonzero(solution.run > 0).tolist():
        rate = case.rate.get(int(groups.sku[runs.node_group[r]]), 1.0)
        if rate == 1.0 or not node_h[r].any():
            continue
        left, held = float(node_h[r].sum()) / rate, int(nodes[r].max())
        nodes[r], node_h[r] = 0, 0.0
        for t in range(int(runs.start[r]), plan.problem.periods):
            from_h = float(runs.from_h[r, t])
            taken = min(left, held * (float(groups.hours[t]) - from_h))
            nodes[r, t], node_h[r, t], to_h[r, t] = held if taken > 0 else 0, taken, from_h + taken / held
            left -= taken
    return replace(runs, nodes=nodes, node_hours=node_h, to_h=to_h)


def _in_own_hours(plan: Plan) -> NDArray[np.bool_]:
    """Which ways to do a pool's work are on the SKU in whose hours its need is stated."""
    works, names = plan.problem.work_options, plan.problem.sku_names
    pools = [plan.inputs.scenario.pools[w] for w in works.work.tolist()]
    skus = [names[k] for k in plan.problem.node_groups.sku[works.node_group].tolist()]
    own = [pool.in_reference_hours and pool.reference == sku for pool, sku in zip(pools, skus, strict=True)]
    return np.array(own, dtype=bool)


def _with_room(plan: Plan, solution: Solution, nodes: Nodes, times: Nodes) -> Nodes:
    """Nodes of replicas when each has more to carry: the headroom of its service is used first."""
    serves, services = plan.problem.serve_options, plan.problem.services
    carried = serves.capacity * solution.replicas
    whole = totals_by(serves.service, len(services.name), carried)
    wanted = services.demand * (1.0 - solution.shed_fraction)
    room = np.divide(whole, wanted, out=np.ones_like(whole), where=wanted > 0)
    return np.where(nodes > 0, nodes * np.maximum(times / np.maximum(room[serves.service], 1.0), 1.0), 0.0)


def _there(plan: Plan, solution: Solution, case: Case) -> Nodes:
    """Nodes that are there for work in a case (P, T): in service, less spares, those late and those down."""
    problem, groups = plan.problem, plan.problem.node_groups
    there: Nodes = solution.in_service - solution.spares.astype(float)
    planned = spares_at_hand(problem, solution.spares)
    ready = planned.copy()
    if case.late is not None:
        arrived = solution.orders * groups.order_unit_nodes[:, None]
        for p, t in np.argwhere(arrived > 0).tolist():
            arrives = t + int(groups.lead_periods[p])
            if case.late[p] and arrives < problem.periods:
                if (spared := groups.spares_for[p]) < 0:
                    there[p, arrives] -= arrived[p, t]
                else:
                    ready[spared, arrives] -= min(arrived[p, t], solution.spares[p, arrives])
    repair_h = float(plan.inputs.repair().value)
    down_h = (
        np.asarray(plan.assembled.nodes.failure_rate_per_node_h.value, dtype=float).reshape(-1, 1) * repair_h
    )
    # Spares cover the failures of the plan; of twice as many, the share that they have no room for.
    extra = (case.failures - 1.0) * down_h / (1.0 + down_h) * solution.in_use
    there -= np.maximum(extra - np.maximum(ready - down_h * solution.in_use, 0.0), 0.0)
    down, of_plan = (np.maximum(down_h * solution.in_use - each, 0.0) for each in (ready, planned))
    there -= down - of_plan
    rented = plan.assembled.rented.node_group
    there[rented] = np.inf
    there[list(case.gone)] = 0.0
    reserved = plan.assembled.reserved.node_group
    there[reserved] = (solution.rented - solution.spares)[reserved]
    return there


@dataclass(frozen=True)
class Late:
    """A run that is done after its deadline."""

    job: str
    days: float

    @property
    def text(self) -> str:
        """How late it is."""
        return f"{self.job} is done {self.days_text} after its deadline (95 % chance)"

    @property
    def days_text(self) -> str:
        """The days in words."""
        return f"{count_text(self.days)} day{'s' * (self.days != 1)}"


def _late_run(plan: Plan, solution: Solution, case: Case) -> Late | None:
    """The first run that is no longer done by its deadline with its chance."""
    runs, inputs = plan.ledger.runs, plan.inputs
    if runs is None:
        return None
    finish = runs.finish_p95_h
    values = np.asarray(finish.value)
    if case.failures != 1.0:
        rate = inputs.failure_rate()
        (values,) = recompute([finish], {rate.key: rate.value * case.failures})
    for row, option in zip(plan.ledger.run_rows.tolist(), np.flatnonzero(solution.run).tolist(), strict=True):
        c = int(runs.candidate[row])
        group = int(runs.candidates.node_group[c])
        job = inputs.scenario.training[runs.candidates.job[c]]
        took = float(np.asarray(values)[c]) / case.rate.get(int(plan.problem.node_groups.sku[group]), 1.0)
        start_h = float(runs.start_h.value[row, 0])
        if case.late is not None and case.late[group]:
            start = int(plan.problem.run_options.start[option])
            lead = int(plan.problem.node_groups.lead_periods[group])
            if start >= lead and solution.orders[group, start - lead]:
                start_h += float(inputs.scenario.horizon.hours[start])
        late_d = (start_h + took - inputs.scenario.horizon.hours_from_start(job.deadline)) / 24.0
        if late_d > 0:
            return Late(job.name, float(np.ceil(late_d)))
    return None


def _prices(plan: Plan) -> Iterator[Record]:
    """The grid's carbon and the price of power at the ends of their ranges: no capacity is at stake."""
    ledger = plan.ledger
    for title, beginning, ending in (
        ("the carbon of the grids", "grid.", ".intensity"),
        ("the price of electricity", "electricity.", ".price"),
    ):
        facts = {
            key: fact
            for key, fact in facts_of(ledger.cost, ledger.carbon).items()
            if key.startswith(beginning) and key.endswith(ending) and None not in (fact.low, fact.high)
        }
        for end in ("low", "high"):
            changes = {key: float(getattr(fact, end)) for key, fact in facts.items()}
            if not changes:
                continue
            usd, kgco2e = recompute([ledger.cost, ledger.carbon], changes)
            yield {
                "case": f"{title} at the {end} end",
                "holds": "yes",
                "breaks_first": "",
                "short_nodes": 0,
                "recourse": "none is needed",
                "usd": chosen(
                    "usd", float(usd) - float(ledger.cost.value), "cost then, less that of the plan"
                ),
                "kgco2e": chosen(
                    "kgco2e", float(kgco2e) - float(ledger.carbon.value), "carbon then, less that of the plan"
                ),
            }
