"""The integer program, read like a page of maths: one function per kind of constraint, its inequality first.

The letters are those of `solver.problem`. Two helpers are variables of their own, so that rows stay short:
`in_service[p,t]`, the nodes of a pool, and `in_use[p,t]`, those that runs and replicas hold. Work is counted
in mean nodes (node-hours by the hours of the period). The objective is in thousands (kUSD, tCO2e), and so are
the budget and the carbon cap, which keeps coefficients near one.

A family of limits named in `elastic` may give way: its rows get a slack, counted in shares of the limit, and
the program then minimises the sum of all slacks instead of money and carbon.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pulp

from solver import bounds
from solver.problem import Problem
from solver.program import FAMILIES, Index, Program, Slack, array, empty, linear, name, terms
from solver.tables import Floats

THOUSAND = 1000.0


def build(problem: Problem, elastic: Iterable[str] = ()) -> Program:
    """The program of a problem."""
    families = frozenset(elastic)
    if unknown := families - set(FAMILIES):
        raise ValueError(f"elastic names {sorted(unknown)}; the families are {', '.join(FAMILIES)}")
    program = empty(problem, families)
    for constraint in CONSTRAINTS:
        constraint(program)
    if families:
        program.model.setObjective(linear([(slack.variable, 1.0) for slack in program.slacks.values()]))
    else:
        program.model.setObjective(_objective(program))
    return program


def run_every_job_once(program: Program) -> None:
    """sum_r run[r] + left_out[j] = 1"""
    problem = program.problem
    for job in range(len(problem.jobs)):
        ways = program.run[problem.run_options.job == job]
        expression = linear([(way, 1.0) for way in ways], [(program.left_out[job], 1.0)])
        program.add(name("job", (job,)), expression, pulp.LpConstraintEQ, 1.0)
        if "jobs" in program.elastic and not problem.jobs.optional[job]:
            program.slacks["jobs", (job,)] = Slack(program.left_out[job], 1.0)


def keep_deadlines(program: Program) -> None:
    """sum_r late[r] * run[r] <= allowed[j] + give

    Where deadlines are firm, later runs have the upper bound 0 and no row is needed.
    """
    if "deadlines" not in program.elastic:
        return
    problem = program.problem
    runs, period_h = problem.run_options, float(problem.pools.hours.mean())
    for job, allowed in enumerate(problem.jobs.allowed_late_h):
        late = np.where((runs.job == job) & (runs.late_h > allowed), runs.late_h - allowed, 0.0)
        if late.any():
            give = [(variable, -size) for variable, size in program.slack("deadlines", (job,), period_h)]
            row = linear(terms(program.run, late), give)
            program.add(name("deadline", (job,)), row, pulp.LpConstraintLE, 0.0)


def meet_demand(program: Program) -> None:
    """sum_v c[v] * replicas[v,t] >= demand[i,t] * (1 - give), c[v] = capacity[v] / (1 + standby[v])

    Each row is divided by its largest c, so that it counts replicas.
    """
    problem, serves = program.problem, program.problem.serve_options
    each = serves.capacity / (1 + serves.standby_fraction)
    for service in range(len(problem.services)):
        mine = np.flatnonzero(serves.service == service)
        scale = float(each[mine].max(initial=0.0)) or 1.0
        for period in range(problem.periods):
            demand = float(problem.services.demand[service, period])
            if demand > 0:
                carried = terms(program.replicas[mine, period], each[mine] / scale)
                give = program.slack("demand", (service, period), demand, most=1.0)
                row = linear(carried, [(variable, size / scale) for variable, size in give])
                program.add(name("demand", (service, period)), row, pulp.LpConstraintGE, demand / scale)


def do_the_work(program: Program) -> None:
    """sum_o speed[o] * work[o,t] >= demand_h[w,t] / hours[t] * (1 - give)"""
    problem, options = program.problem, program.problem.work_options
    for work, period in np.argwhere(problem.work.demand_h > 0):
        mine = np.flatnonzero(options.work == work)
        hours = float(problem.pools.hours[period])
        demand_h = float(problem.work.demand_h[work, period])
        done = terms(program.work[mine, period], options.speed[mine])
        give = program.slack("work", (int(work), int(period)), demand_h, most=1.0)
        row = linear(done, [(variable, size / hours) for variable, size in give])
        program.add(name("work", (work, period)), row, pulp.LpConstraintGE, demand_h / hours)


def count_nodes_in_service(program: Program) -> None:
    """n[p,t] = n[p,t-1] + unit[p] * order[p,t-lead[p]] - sum_h retire[h,t], n[p,-1] = sum_h nodes[h]"""
    problem, pools = program.problem, program.problem.pools
    for pool in range(len(pools)):
        cohorts = np.flatnonzero(problem.cohorts.pool == pool)
        for period in range(problem.periods):
            now, placed = program.in_service[pool, period], period - int(pools.lead_periods[pool])
            arrived = (
                [(program.order[pool, placed], -float(pools.order_unit_nodes[pool]))] if placed >= 0 else []
            )
            before = [(program.in_service[pool, period - 1], -1.0)] if period else []
            gone = [(leaving, 1.0) for leaving in program.retire[cohorts, period]]
            standing = 0.0 if period else float(problem.cohorts.nodes[cohorts].sum())
            row = linear([(now, 1.0)], before, arrived, gone)
            program.add(name("in_service", (pool, period)), row, pulp.LpConstraintEQ, standing)


def count_nodes_in_use(program: Program) -> None:
    """u[p,t] = sum_r nodes[r,t] * run[r] + sum_v nodes[v] * replicas[v,t]"""
    runs, serves = program.problem.run_options, program.problem.serve_options
    for pool, period in np.ndindex(program.in_use.shape):
        held = np.where(runs.pool == pool, runs.nodes[:, period], 0)
        serving = np.where(serves.pool == pool, serves.nodes, 0.0)
        row = linear(
            [(program.in_use[pool, period], 1.0)],
            terms(program.run, -held),
            terms(program.replicas[:, period], -serving),
        )
        program.add(name("in_use", (pool, period)), row, pulp.LpConstraintEQ, 0.0)


def use_what_is_in_service(program: Program) -> None:
    """u[p,t] + spares[p,t] <= n[p,t]"""
    for index in np.ndindex(program.in_use.shape):
        row = linear(
            [(program.in_use[index], 1.0), (program.spares[index], 1.0), (program.in_service[index], -1.0)]
        )
        program.add(name("nodes", index), row, pulp.LpConstraintLE, 0.0)


def fit_into_the_hours(program: Program) -> None:
    """sum_r h[r,t] * run[r] + sum_v h[v,t] * replicas[v,t] + work <= (n[p,t] - spares[p,t]) * hours[t]

    Each row is divided by the hours of its period, so that it counts nodes.
    """
    problem = program.problem
    runs, serves, works = problem.run_options, problem.serve_options, problem.work_options
    for pool, period in np.ndindex(program.in_use.shape):
        hours = problem.pools.hours[period]
        row = linear(
            terms(program.run, np.where(runs.pool == pool, runs.node_hours[:, period] / hours, 0.0)),
            terms(
                program.replicas[:, period],
                np.where(serves.pool == pool, serves.node_hours[:, period] / hours, 0.0),
            ),
            terms(program.work[:, period], np.where(works.pool == pool, 1.0, 0.0)),
            [(program.spares[pool, period], 1.0), (program.in_service[pool, period], -1.0)],
        )
        program.add(name("hours", (pool, period)), row, pulp.LpConstraintLE, 0.0)


def cover_with_spares(program: Program) -> None:
    """spares[p,t] >= sum_g spares[g] * z[g], where z[g] chooses a step that reaches:

    u[p,t] <= sum_g reach[g] * z[g];  sum_g z[g] <= 1
    """
    steps = program.problem.spare_steps
    enough = bounds.fewest_spares(program.problem, program.most_in_use)
    for index in np.ndindex(program.in_use.shape):
        most, rows = float(program.most_in_use[index]), steps.of_pool(index[0])
        rows = rows[steps.spares[rows] <= enough[index]]
        if rows.size == 0 or most == 0.0:
            continue
        step = array(name("step", index), (rows.size,), np.ones(rows.size))
        reached = linear([(program.in_use[index], 1.0)], terms(step, -np.minimum(steps.reach[rows], most)))
        program.add(name("reach", index), reached, pulp.LpConstraintLE, 0.0)
        program.add(name("one_step", index), linear([(z, 1.0) for z in step]), pulp.LpConstraintLE, 1.0)
        asked = linear([(program.spares[index], 1.0)], terms(step, -steps.spares[rows]))
        program.add(name("spares", index), asked, pulp.LpConstraintGE, 0.0)


def stay_within_power(program: Program) -> None:
    """sum_p idle[p] * n[p,t] + sum_x kw[x] * x[t] <= power_kw[s,t] + give, over what stands at s

    x is every run, replica and mean node of work, and kw[x] what it draws above idle.
    """
    problem, pools = program.problem, program.problem.pools
    runs, serves, works = problem.run_options, problem.serve_options, problem.work_options
    for site, period in np.argwhere(np.isfinite(problem.limits.power_kw)):
        limit = float(problem.limits.power_kw[site, period])
        here = pools.site == site
        row = linear(
            terms(program.in_service[:, period], pools.idle_kw * here),
            terms(program.run, runs.active_kw[:, period] * here[runs.pool]),
            terms(program.replicas[:, period], serves.active_kw * here[serves.pool]),
            terms(program.work[:, period], works.active_kw * here[works.pool]),
            _gives(program, "power", (int(site), int(period)), limit, problem.limits.power_kw),
        )
        program.add(name("power", (site, period)), row, pulp.LpConstraintLE, limit)


def stay_within_space(program: Program) -> None:
    """sum_p racks[p] * n[p,t] <= racks[s] + give, over the pools at s"""
    problem, pools = program.problem, program.problem.pools
    for site in np.flatnonzero(np.isfinite(problem.limits.racks)):
        limit = float(problem.limits.racks[site])
        give = _gives(program, "space", (int(site),), limit, problem.limits.racks)
        for period in range(problem.periods):
            taken = terms(program.in_service[:, period], pools.racks_per_node * (pools.site == site))
            program.add(name("space", (site, period)), linear(taken, give), pulp.LpConstraintLE, limit)


def stay_within_supply(program: Program) -> None:
    """sum_p unit[p] * order[p,t] <= supply[k,t] + give, over the pools of k"""
    problem, pools = program.problem, program.problem.pools
    for sku, period in np.argwhere(np.isfinite(problem.limits.supply_nodes)):
        limit = float(problem.limits.supply_nodes[sku, period])
        row = linear(
            terms(program.order[:, period], pools.order_unit_nodes * (pools.sku == sku)),
            _gives(program, "supply", (int(sku), int(period)), limit, problem.limits.supply_nodes),
        )
        program.add(name("supply", (sku, period)), row, pulp.LpConstraintLE, limit)


def order_enough_or_nothing(program: Program) -> None:
    """minimum[p] * some[p] - give <= sum_t unit[p] * order[p,t];  order[p,t] <= most[p,t] * some[p]"""
    problem = program.problem
    for pool in np.flatnonzero(problem.limits.minimum_nodes > 0):
        minimum, unit = float(problem.limits.minimum_nodes[pool]), float(problem.pools.order_unit_nodes[pool])
        some = pulp.LpVariable(name("some", (pool,)), 0, 1, pulp.LpInteger)
        row = linear(
            [(order, unit) for order in program.order[pool]],
            [(some, -minimum)],
            program.slack("minimum order", (int(pool),), minimum),
        )
        program.add(name("minimum", (pool,)), row, pulp.LpConstraintGE, 0.0)
        for period, order in enumerate(program.order[pool]):
            if order.upBound:
                least = linear([(order, 1.0), (some, -order.upBound)])
                program.add(name("ordered", (pool, period)), least, pulp.LpConstraintLE, 0.0)


def stay_within_budget(program: Program) -> None:
    """sum_p capex[p,t] * unit[p] * order[p,t] <= budget[t] + give, in thousands"""
    pools, budget = program.problem.pools, program.problem.limits.budget_usd
    for period in np.flatnonzero(np.isfinite(budget)):
        cost = pools.capex_usd_per_node[:, period] * pools.order_unit_nodes
        give = _gives(program, "budget", (int(period),), float(budget[period]), budget)
        row = linear(
            terms(program.order[:, period], cost / THOUSAND),
            [(variable, size / THOUSAND) for variable, size in give],
        )
        program.add(name("budget", (period,)), row, pulp.LpConstraintLE, float(budget[period]) / THOUSAND)


def stay_below_carbon_cap(program: Program) -> None:
    """(purchase + keep + run + serve + work + idle + left_out) / 1000 <= (cap + give) / 1000"""
    cap = program.problem.limits.carbon_cap_kgco2e
    if not math.isfinite(cap):
        return
    carbon = _weighted_total(program, money_weight=0.0, carbon_weight=1.0 / THOUSAND)
    for variable, size in _gives(program, "carbon cap", (), cap, np.array([cap])):
        carbon.addterm(variable, size / THOUSAND)
    program.add("carbon_cap", carbon, pulp.LpConstraintLE, cap / THOUSAND)


def retire_once(program: Program) -> None:
    """sum_t retire[h,t] <= nodes[h]"""
    for cohort, nodes in enumerate(program.problem.cohorts.nodes):
        row = linear([(leaving, 1.0) for leaving in program.retire[cohort]])
        program.add(name("retire_once", (cohort,)), row, pulp.LpConstraintLE, float(nodes))


def retire_at_end_of_life(program: Program) -> None:
    """sum_(t <= end[h]) retire[h,t] >= nodes[h] * (1 - give)"""
    cohorts = program.problem.cohorts
    for cohort in np.flatnonzero((cohorts.must_retire_by < program.problem.periods) & (cohorts.nodes > 0)):
        nodes, last = float(cohorts.nodes[cohort]), int(cohorts.must_retire_by[cohort])
        row = linear(
            [(leaving, 1.0) for leaving in program.retire[cohort, : last + 1]],
            program.slack("end of life", (int(cohort),), nodes, most=1.0),
        )
        program.add(name("end_of_life", (cohort,)), row, pulp.LpConstraintGE, nodes)


CONSTRAINTS = (
    run_every_job_once,
    keep_deadlines,
    meet_demand,
    do_the_work,
    count_nodes_in_service,
    count_nodes_in_use,
    use_what_is_in_service,
    fit_into_the_hours,
    cover_with_spares,
    stay_within_power,
    stay_within_space,
    stay_within_supply,
    order_enough_or_nothing,
    stay_within_budget,
    stay_below_carbon_cap,
    retire_once,
    retire_at_end_of_life,
)


def _gives(
    program: Program, family: str, index: Index, limit: float, limits: Floats
) -> list[tuple[Any, float]]:
    """- give, in shares of the limit; where that is 0, of the family's largest."""
    size = limit or float(limits[np.isfinite(limits)].max(initial=0.0)) or 1.0
    return [(variable, -size) for variable, size in program.slack(family, index, size)]


def _objective(program: Program) -> Any:
    """(money weight * USD + carbon weight * kgCO2e) / 1000"""
    aim = program.problem.objective
    return _weighted_total(program, aim.money_weight / THOUSAND, aim.carbon_weight / THOUSAND)


def _weighted_total(program: Program, money_weight: float, carbon_weight: float) -> Any:
    """A sum of money and of carbon, each by its weight, as an expression of all variables.

    Idling is charged on nodes in service and taken back for the hours in which something runs.
    """
    problem = program.problem
    pools, cohorts, jobs = problem.pools, problem.cohorts, problem.jobs
    runs, serves, works = problem.run_options, problem.serve_options, problem.work_options

    def weigh(usd: Floats, kgco2e: Floats) -> Floats:
        return money_weight * usd + carbon_weight * kgco2e

    holding = weigh(pools.holding_usd_per_node, pools.holding_kgco2e_per_node)
    idle = weigh(pools.idle_usd_per_node, pools.idle_kgco2e_per_node)
    idle_per_h = idle / pools.hours
    keep = weigh(cohorts.keep_usd_per_node, cohorts.keep_kgco2e_per_node)
    run = weigh(runs.usd, runs.kgco2e) - idle_per_h[runs.pool] * runs.node_hours
    serve = weigh(serves.usd, serves.kgco2e) - idle_per_h[serves.pool] * serves.node_hours
    work = weigh(works.usd_per_node_h, works.kgco2e_per_node_h) - idle_per_h[works.pool]
    total = linear(
        terms(program.order, bounds.from_arrival(problem, holding) * pools.order_unit_nodes[:, None]),
        terms(program.retire, money_weight * cohorts.retire_usd_per_node - bounds.from_now_on(keep)),
        terms(program.run, run.sum(axis=1)),
        terms(program.left_out, weigh(jobs.left_out_usd, jobs.left_out_kgco2e)),
        terms(program.replicas, serve),
        terms(program.work, work * pools.hours),
        terms(program.in_service, idle),
    )
    total.constant += float((keep * cohorts.nodes[:, None]).sum())
    return total
