"""Rows that every plan keeps: what the services of each period take at least, in whole nodes and replicas.

As fractions, services are carried by parts of nodes, and a part of a node needs a part of a spare: a fleet of
ten nodes looks a sixth cheaper than it can be. The services of one period alone are a small program that is
soon solved with whole numbers. At the prices that the relaxation puts on nodes, spares and replicas, no plan
takes less than the least of that program (a Lagrangian bound, period by period):

    sum_p price[p] * m[p,t] + sum_p s[p] * spares[p,t] + sum_v r[v] * replicas[v,t] + sum_v d[v] * serves[v,t]
        + sum_i l[i] * shed[i,t]  >=  least[t]

    m[p,t] = n[p,t] + rented[p,t] - sum_r nodes[r,t] * run[r], whole nodes that runs leave

The row holds whatever the prices are, since `least` is the bound of a program that allows all that a plan
may do for its services in t. Prices only say how much the row lifts the relaxation. On a service of six times
its mean the relaxation is 16 % higher with one row a period.

Source: Geoffrion, "Lagrangean relaxation for integer programming", Mathematical Programming Study 2, 1974.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pulp

from solver import account, backend
from solver.build import build
from solver.constrain_tasks import serving
from solver.fleet import Cohorts
from solver.problem import Limits, Objective, Problem
from solver.program import Program
from solver.rows import Variables, linear, name
from solver.tables import Floats, Table
from solver.tasks import Jobs, RunOptions, Work, WorkOptions

CLOSELY = 5e-4  # how near to the least of a period its search goes: the row takes the bound
PRICELESS = 1e-9  # thousands for one: rounding of the engine
ROUNDING = 1e-6  # of what a period takes at least: so much is left to the rounding of the engine
# Rows of the program that are rows of a period alone, too; what they are worth stays in the price.
_OF_SERVICES = frozenset(
    {
        "demand",
        "serves",
        "least",
        "stands_by",
        "reach",
        "in_turn",
        "spares",
        "promise_reach",
        "promise_in_turn",
        "promise_spares",
        "nodes",
        "in_use",
    }
)

Terms = list[tuple[Any, float]]
Columns = TypeVar("Columns", bound=Table)


def one_period(problem: Problem, period: int) -> Problem:
    """The services of a period alone, on nodes that are ordered one by one; whatever a plan does fits in.

    Nodes are free: the prices come later. Power and racks are those of the nodes that serve, at the least
    that a node in service may draw; where nodes may be rented as well, or periods have slots, there is none.
    """
    groups, serves, count = problem.node_groups, problem.serve_options, len(problem.node_groups)
    here = _period_of(problem.node_groups, period)
    nothing, rented = np.zeros((count, 1)), np.any(groups.rental_limit_nodes > 0, axis=1)
    idle_kw = np.where(groups.may_park, np.minimum(groups.idle_kw, groups.off_kw), groups.idle_kw)
    begins = np.max(serves.begun_usd, axis=1, keepdims=True, initial=0.0)
    limits = _period_of(problem.limits, period)
    unlimited = np.full((len(problem.site_names), 1), np.inf)
    return Problem(
        periods=1,
        site_names=problem.site_names,
        sku_names=problem.sku_names,
        node_groups=replace(
            here,
            order_unit_nodes=np.ones(count, dtype=np.int64),
            lead_periods=np.zeros(count, dtype=np.int64),
            purchase_allowed=np.ones((count, 1), dtype=bool),
            rental_limit_nodes=nothing,
            rental_term_periods=np.zeros(count, dtype=np.int64),
            rental_signed_nodes=nothing,
            may_park=np.zeros(count, dtype=bool),
            idle_kw=np.where(rented, 0.0, idle_kw),
            racks_per_node=np.where(rented, 0.0, groups.racks_per_node),
        ),
        cohorts=Cohorts.none(1),
        jobs=Jobs.none(1),
        run_options=RunOptions.none(1),
        services=_period_of(problem.services, period),
        serve_options=replace(
            _period_of(serves, period),
            node_hours=np.zeros((len(serves), 1)),  # hours that runs leave are not those of whole nodes
            begun_usd=begins,  # an option that has a price when it is set up is known in every period
            begun_kgco2e=np.max(serves.begun_kgco2e, axis=1, keepdims=True, initial=0.0),
            start_usd=np.zeros((len(serves), 1)),
            start_kgco2e=np.zeros((len(serves), 1)),
        ),
        work=Work.none(1),
        work_options=WorkOptions.none(1),
        spare_steps=problem.spare_steps,
        limits=Limits(
            power_kw=unlimited if len(problem.slots) else limits.power_kw,
            racks=limits.racks,
            supply_nodes=np.full((len(problem.sku_names), 1), np.inf),
            budget_usd=np.array([np.inf]),
            shared_power_kw=limits.shared_power_kw[: 0 if len(problem.slots) else None],
            shared_power_sites=limits.shared_power_sites[: 0 if len(problem.slots) else None],
            shared_power_name=() if len(problem.slots) else limits.shared_power_name,
        ),
        objective=Objective(),
    )


def _period_of(table: Columns, period: int) -> Columns:
    """The table with one of its periods."""
    own = {
        column: np.take(getattr(table, column), [period], axis=shape.axes.index("T"))
        for column, shape in table.SHAPES.items()
        if "T" in shape.axes
    }
    return replace(table, **own)  # type: ignore[type-var]  # every subclass is a dataclass


def add_period_rows(program: Program, *, time_limit_s: float, should_stop: backend.Stop | None = None) -> int:
    """Add one row for each period in which whole nodes and replicas take more than fractions; how many.

    The program keeps all its plans, and its relaxation is nearer to them. A period whose search ends early
    gives the bound that it had by then.
    """
    problem = program.problem
    if not len(problem.serve_options) or program.relaxed:
        return 0
    relaxed = backend.relax(program.model, time_limit_s=time_limit_s, should_stop=should_stop)
    if relaxed.status is not backend.Status.OPTIMAL:
        return 0
    prices, could, added = _prices(program, relaxed), _could_stand(program), 0
    for period in range(problem.periods):
        alone = build(one_period(problem, period))
        _no_more_than_could_stand(alone, could[:, period])
        pairs = [*_nodes(program, alone, period, relaxed), *_of_services(program, alone, period, prices)]
        row = linear([(ours, price) for ours, _, price in pairs if ours is not None])
        alone.model.setObjective(
            linear([(theirs, price) for _, theirs, price in pairs if theirs is not None])
        )
        found = backend.solve(
            alone.model,
            gap_fraction=CLOSELY,
            time_limit_s=max(time_limit_s / problem.periods, backend.SOON_S),
            should_stop=should_stop,
        )
        paid = math.fsum(price * relaxed.values[each.name] for each, price in row.items())
        least = found.bound - ROUNDING * abs(found.bound)
        if found.status.has_plan and least > paid:
            program.add(name("period", (period,)), row, pulp.LpConstraintGE, least)
            added += 1
    return added


def _could_stand(program: Program) -> Floats:
    """The most nodes that could be in service and rented [P, T]: all that may come, and none goes.

    most[p,t] = sum_h nodes[h] + sum over t' <= t - lead[p] of unit[p] * most order[p,t']
                + sum over m to p, t' <= t - lead[m] of most move[m,t'] + limit[p,t]
    """
    problem = program.problem
    groups, moves, cohorts = problem.node_groups, problem.moves, problem.cohorts

    def ends(variables: Variables) -> Floats:
        return np.array([each.upBound for each in variables.ravel()], dtype=float).reshape(variables.shape)

    ordered = np.cumsum(ends(program.order) * groups.order_unit_nodes[:, None], axis=1)
    moved = account.arriving(np.cumsum(ends(program.move), axis=1), moves.lead_periods)
    goal = cohorts.node_group[moves.to_cohort]
    stood = account.totals_by(cohorts.node_group, len(groups), cohorts.nodes)[:, None]
    found: Floats = stood + account.arriving(ordered, groups.lead_periods) + groups.rental_limit_nodes
    return found + account.totals_by(goal, len(groups), moved)


def _no_more_than_could_stand(alone: Program, most: Floats) -> None:
    for order, could in zip(alone.order[:, 0], most.tolist(), strict=True):
        order.upBound = min(order.upBound, could)


# A variable of the program, the same of a period alone, and its price; None where one of them has none.
Pairs = list[tuple[Any, Any, float]]


def _prices(program: Program, relaxed: backend.Relaxation) -> Mapping[str, float]:
    """What the relaxation pays for each variable beyond the rows of services.

    b[x] = d[x] + sum over these rows of y[row] * a[row,x]

    d is the reduced cost, y the price of a row: what the rows of services pay for x is taken back.
    """
    prices = dict(relaxed.reduced_costs)
    for row, expression in program.model.constraints.items():
        price = relaxed.row_prices[row]
        if price and row.rstrip("_0123456789") in _OF_SERVICES:
            for variable, coefficient in expression.items():
                prices[variable.name] += price * coefficient
    return prices


def _nodes(program: Program, alone: Program, period: int, relaxed: backend.Relaxation) -> Pairs:
    """Whole nodes that runs leave, at the price of the row `nodes`; what could not be in service is none."""
    problem, groups = program.problem, program.problem.node_groups
    pairs: Pairs = []
    for group in np.unique(problem.serve_options.node_group).tolist():
        price = max(-relaxed.row_prices.get(name("nodes", (group, period)), 0.0), 0.0)
        if price < PRICELESS:
            continue
        pairs += [(None, alone.order[group, 0], price), (program.in_service[group, period], None, price)]
        if groups.rental_limit_nodes[group, period] > 0:
            pairs.append((program.rented[group, period], None, price))
        runs = problem.run_options
        first = runs.instants_h(group, period)[0]
        for run in np.flatnonzero(runs.holds_at(group, period, float(first))).tolist():
            pairs.append((program.run[run], None, -price * float(runs.nodes[run, period])))
    return pairs


def _of_services(program: Program, alone: Program, period: int, prices: Mapping[str, float]) -> Pairs:
    """Spares, replicas, deployments and demand not carried at their prices; a spare is never paid for."""
    serves = program.problem.serve_options
    option, period_of = np.nonzero(serves.chosen_or_not)
    here = np.flatnonzero(period_of == period)
    used = dict(
        zip(np.nonzero(alone.problem.serve_options.chosen_or_not)[0].tolist(), serving(alone), strict=True)
    )
    same = [
        *zip(program.replicas[:, period], alone.replicas[:, 0], strict=True),
        *((serving(program)[number], used[int(option[number])]) for number in here),
        *zip(program.shed[:, period], alone.shed[:, 0], strict=True),
    ]
    spares = zip(program.spares[:, period], alone.spares[:, 0], strict=True)
    pairs = [(ours, theirs, prices.get(ours.name, 0.0)) for ours, theirs in same]
    pairs += [(ours, theirs, max(prices.get(ours.name, 0.0), 0.0)) for ours, theirs in spares]
    return [each for each in pairs if abs(each[2]) >= PRICELESS]
