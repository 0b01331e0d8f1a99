"""The program as one writes it at first: what the formulation of `solver` is measured against.

A binary for each start of each job in each configuration, whole replicas, price tiers period by period, a
high price on demand that is not carried and on jobs left out, loose bounds, and nothing dropped before. It is
solved by the same engines with the same settings.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pulp

from solver.problem import Problem

THOUSAND = 1000.0
UNMET = 100.0  # times the dearest way to do it: what is not carried, or left out
A_LOT = 10_000.0  # nodes: more than any tier sees


def plain_program(problem: Problem) -> Any:
    """The model of a fleet of `benchmarks.fleets`, one row and one term at a time."""
    model = pulp.LpProblem("plain", pulp.LpMinimize)
    groups, cohorts, periods = problem.node_groups, problem.cohorts, range(problem.periods)
    places = range(len(groups))
    order = _counts("order", len(groups), problem.periods)
    retire = _counts("retire", len(cohorts), problem.periods)
    stands = [[pulp.LpVariable(f"stands_{p}_{t}", 0) for t in periods] for p in places]
    for group in places:
        own = np.flatnonzero(cohorts.node_group == group).tolist()
        unit, lead = int(groups.order_unit_nodes[group]), int(groups.lead_periods[group])
        for t in periods:
            before = stands[group][t - 1] if t else int(cohorts.nodes[own].sum())
            came = unit * order[group][t - lead] if t >= lead else 0
            model += stands[group][t] == before + came - pulp.lpSum(retire[h][t] for h in own)
    for h in range(len(cohorts)):
        model += pulp.lpSum(retire[h]) <= int(cohorts.nodes[h])
        if cohorts.must_retire_by[h] < problem.periods:
            gone = retire[h][: int(cohorts.must_retire_by[h]) + 1]
            model += pulp.lpSum(gone) >= int(cohorts.nodes[h])
    cost: list[Any] = []
    held: list[list[list[Any]]] = [[[] for _ in periods] for _ in places]
    power: list[list[list[Any]]] = [[[] for _ in periods] for _ in places]
    _jobs(model, problem, held, power, cost)
    _services(model, problem, held, power, cost)
    _limits(model, problem, order, stands, held, power)
    _prices(model, problem, order, retire, stands, cost)
    model.setObjective(pulp.lpSum(cost) * (1 / THOUSAND))
    return model


def _counts(stem: str, rows: int, periods: int) -> list[list[Any]]:
    return [
        [pulp.LpVariable(f"{stem}_{row}_{t}", 0, None, pulp.LpInteger) for t in range(periods)]
        for row in range(rows)
    ]


def _weighed(problem: Problem, usd: Any, kgco2e: Any) -> Any:
    return problem.objective.money_weight * usd + problem.objective.carbon_weight * kgco2e


def _jobs(model: Any, problem: Problem, held: Any, power: Any, cost: list[Any]) -> None:
    """Starts + left out = 1, for each job; a start holds its nodes to the end of the work"""
    options, hours = problem.pausable_options, problem.node_groups.hours
    each = _weighed(problem, options.usd_per_node_h, options.kgco2e_per_node_h)
    each = each - _idle_per_h(problem)[options.node_group]
    starts: list[list[Any]] = [[] for _ in problem.jobs.name]
    for row in range(len(options)):
        group, nodes, limit = (
            int(options.node_group[row]),
            int(options.nodes[row]),
            options.node_hours_limit[row],
        )
        inside = np.flatnonzero(limit > 0)
        span = math.ceil(options.node_hours[row] / limit[inside[0]])
        for start in inside[: len(inside) - span + 1].tolist():
            run = pulp.LpVariable(f"run_{row}_{start}", 0, 1, pulp.LpInteger)
            starts[options.job[row]].append(run)
            for t in range(start, start + span):
                held[group][t].append(nodes * run)
                power[group][t].append(float(nodes * options.active_kw[row]) * run)
                cost.append(float(each[row, t] * options.node_hours[row] / span) * run)
    dearest = UNMET * float((options.node_hours / hours.mean()).max(initial=0.0)) * _node_cost(problem)
    for job, ways in enumerate(starts):
        left_out = pulp.LpVariable(f"left_out_{job}", 0, 1, pulp.LpInteger)
        model += pulp.lpSum(ways) + left_out == 1
        cost.append(dearest * left_out)


def _services(model: Any, problem: Problem, held: Any, power: Any, cost: list[Any]) -> None:
    """Each demand: sum_v capacity[v] * replicas[v,t] / (1 + standby[v]) + unmet[i,t] >= demand[i,t]"""
    serves, demand = problem.serve_options, problem.services.demand
    each = _weighed(problem, serves.usd, serves.kgco2e)
    each = each - _idle_per_h(problem)[serves.node_group] * serves.node_hours
    replicas = _counts("replicas", len(serves), problem.periods)
    for i, t in np.ndindex(*demand.shape):
        unmet = pulp.LpVariable(f"unmet_{i}_{t}", 0)
        carried = [unmet]
        for v in np.flatnonzero(serves.service == i).tolist():
            once = float(serves.capacity[v, t] / (1 + serves.standby_fraction[v, t]))
            carried.append(once * replicas[v][t])
            held[serves.node_group[v]][t].append(float(serves.nodes[v]) * replicas[v][t])
            power[serves.node_group[v]][t].append(float(serves.active_kw[v]) * replicas[v][t])
            cost.append(float(each[v, t]) * replicas[v][t])
        model += pulp.lpSum(carried) >= float(demand[i, t])
        cost.append(UNMET * _node_cost(problem) * unmet)


def _node_cost(problem: Problem) -> float:
    """The dearest node through one period."""
    groups = problem.node_groups
    return float((groups.holding_usd_per_node + groups.idle_usd_per_node).max())


def _idle_per_h(problem: Problem) -> Any:
    groups = problem.node_groups
    return _weighed(problem, groups.idle_usd_per_node, groups.idle_kgco2e_per_node) / groups.hours


def _limits(model: Any, problem: Problem, order: Any, stands: Any, held: Any, power: Any) -> None:
    """Nodes held within those that stand; power, racks, supply and budget"""
    groups, limits = problem.node_groups, problem.limits
    for t in range(problem.periods):
        for group in range(len(groups)):
            model += pulp.lpSum(held[group][t]) <= stands[group][t]
        for site in range(len(problem.site_names)):
            here = np.flatnonzero(groups.site == site).tolist()
            drawn = [float(groups.idle_kw[p]) * stands[p][t] for p in here]
            drawn += [term for p in here for term in power[p][t]]
            model += pulp.lpSum(drawn) <= float(limits.power_kw[site, t])
            racks = [float(groups.racks_per_node[p]) * stands[p][t] for p in here]
            model += pulp.lpSum(racks) <= float(limits.racks[site])
        ordered = [int(groups.order_unit_nodes[p]) * order[p][t] for p in range(len(groups))]
        for sku in range(len(problem.sku_names)):
            same = np.flatnonzero(groups.sku == sku).tolist()
            model += pulp.lpSum(ordered[p] for p in same) <= float(limits.supply_nodes[sku, t])
        paid = [float(groups.capex_usd_per_node[p, t] / THOUSAND) * ordered[p] for p in range(len(groups))]
        model += pulp.lpSum(paid) <= float(limits.budget_usd[t] / THOUSAND)


def _prices(model: Any, problem: Problem, order: Any, retire: Any, stands: Any, cost: list[Any]) -> None:
    """Holding from arrival on, less the rebate of the tier reached in the period; keeping; idling"""
    groups, cohorts, tiers = problem.node_groups, problem.cohorts, problem.tiers
    idle = _weighed(problem, groups.idle_usd_per_node, groups.idle_kgco2e_per_node)
    holding = _weighed(problem, groups.holding_usd_per_node, groups.holding_kgco2e_per_node)
    ordering = groups.order_usd_per_node * problem.objective.money_weight
    keep = _weighed(problem, cohorts.keep_usd_per_node, cohorts.keep_kgco2e_per_node)
    for p, t in np.ndindex(*idle.shape):
        arrives = t + int(groups.lead_periods[p])
        unit = int(groups.order_unit_nodes[p])
        cost.append(float(idle[p, t]) * stands[p][t])
        cost.append(float(unit * (holding[p, arrives:].sum() + ordering[p, t])) * order[p][t])
    for h, t in np.ndindex(*keep.shape):
        cost.append(float(cohorts.retire_usd_per_node[h, t] - keep[h, t:].sum()) * retire[h][t])
    cost.append(float((keep.sum(axis=1) * cohorts.nodes).sum()))
    for g, t in np.ndindex(len(tiers), problem.periods):
        reached = pulp.LpVariable(f"tier_{g}_{t}", 0, 1, pulp.LpInteger)
        same = np.flatnonzero(groups.sku == tiers.sku[g]).tolist()
        nodes = [pulp.LpVariable(f"rebated_{g}_{p}_{t}", 0) for p in same]
        model += pulp.lpSum(nodes) >= float(tiers.from_nodes[g]) * reached
        model += pulp.lpSum(nodes) <= A_LOT * reached
        for p, rebated in zip(same, nodes, strict=True):
            saved = tiers.rebate_fraction[g] * groups.order_usd_per_node[p, t]
            cost.append(-float(saved) * rebated)
            model += rebated <= int(groups.order_unit_nodes[p]) * order[p][t]
    # Of several tiers of a SKU one counts.
    for k, t in np.ndindex(len(problem.sku_names), problem.periods):
        own = np.flatnonzero(tiers.sku == k).tolist()
        names = [f"tier_{g}_{t}" for g in own]
        model += pulp.lpSum(model.variablesDict()[name] for name in names) <= 1
