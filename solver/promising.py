"""Which options could pay: each is priced by the relaxation, and those far from the best are barred.

The price of an option is what the relaxation would lose by taking it: its reduced cost, or for a pausable
option that of doing all its work in the periods where it is cheapest. Large fleets have few options near the
best, and a search among these alone is short. What is barred is out of this search only, so that no bound
comes from it.
"""

from __future__ import annotations

import numpy as np

from solver import account, bounds
from solver.backend import Relaxation
from solver.problem import Problem
from solver.program import Program
from solver.steps import reader
from solver.tables import Flags, Floats, Whole

BEST_OF_EACH = 3  # options that every job, and every service in each period, keeps in any case
MOST_OF_EACH = 12  # options that it keeps where they are close
CLOSE = 0.02  # how far from the best an option may be, in shares of what jobs and services cost on average
MOSTLY = 0.5  # a larger part of a rebate is taken as all of it
SOME = 1e-6  # less than this of a variable is none


def bar_the_rest(program: Program, relaxed: Relaxation, *, any_pace: bool = False) -> None:
    """Leave orders to node groups in use, and to each job and service what was used there or is close to it.

    Services keep what is best where nodes may still arrive in time, too: elsewhere no rounding up may fit.
    With `any_pace`, a job that keeps a node group keeps all its pausable options there.
    """
    problem = program.problem
    read = reader(relaxed.values)
    runs, serves, pausable = problem.run_options, problem.serve_options, problem.pausable_options
    tasks = max(len(problem.jobs) + len(problem.services), 1)
    close = CLOSE * abs(relaxed.objective) / tasks
    groups = np.any(read(program.in_service) + read(program.rented) > SOME, axis=1)
    run_price, pausable_price, serve_price = _prices(program, relaxed)
    chosen = _near(pausable.job, groups[pausable.node_group], pausable_price, close) | (
        read(program.choose) > SOME
    )
    if any_pace:
        place = pausable.job * len(problem.node_groups) + pausable.node_group
        chosen |= np.isin(place, place[chosen])
    run = _near(runs.job, groups[runs.node_group], run_price, close) | (read(program.run) > SOME)
    served = read(program.replicas) > SOME
    for period in range(problem.periods):
        price, share = serve_price[:, period], close / problem.periods
        served[:, period] |= _near(serves.service, groups[serves.node_group], price, share)
        if (late := problem.node_groups.lead_periods > period).any():
            served[:, period] |= _near(serves.service, ~late[serves.node_group], price, share)
    groups[serves.node_group[served.any(axis=1)]] = True
    kept_of = (
        (program.order, groups),
        (program.run, run),
        (program.choose, chosen),
        (program.done, chosen),
        (program.replicas, served),
    )
    for variables, kept in kept_of:
        for variable in variables[~kept].ravel():
            variable.upBound = 0


def likeliest(program: Program, relaxed: Relaxation) -> dict[str, float]:
    """For each job, once or as often as there are of it: the option that the relaxation uses most.

    Of equal ones the cheapest. Of each SKU the rebate that its orders in the relaxation reach, or that
    is taken there for more than a half.
    """
    problem, read = program.problem, reader(relaxed.values)
    run_price, pausable_price, _ = _prices(program, relaxed)
    options = np.concatenate([program.run, program.choose])
    job = np.concatenate([problem.run_options.job, problem.pausable_options.job])
    order = np.lexsort((np.concatenate([run_price, pausable_price]), -np.round(read(options), 3), job))
    first = order[np.unique(job[order], return_index=True)[1]]
    start = {variable.name: 0.0 for part in (options, program.tier) for variable in part}
    start |= {options[row].name: float(problem.jobs.count[job[row]]) for row in first}
    taken = reached(problem, read(program.order), read(program.tier))
    return start | {program.tier[row].name: 1.0 for row in taken}


def reached(problem: Problem, orders: Floats, parts: Floats) -> list[int]:
    """The last tier of each SKU that these orders reach, or that is taken for more than a half, if any."""
    groups, tiers = problem.node_groups, problem.tiers
    nodes = account.totals_by(groups.sku, len(problem.sku_names), orders * groups.order_unit_nodes[:, None])
    rows = np.flatnonzero((nodes.sum(axis=1)[tiers.sku] >= tiers.from_nodes) | (parts > MOSTLY))
    last = {int(tiers.sku[row]): int(row) for row in rows[np.argsort(tiers.from_nodes[rows], kind="stable")]}
    return list(last.values())


def _prices(program: Program, relaxed: Relaxation) -> tuple[Floats, Floats, Floats]:
    """Of runs [R], of pausable options [E], and of carrying a service alone [V, T]."""
    problem, cost = program.problem, reader(relaxed.reduced_costs)
    options = problem.pausable_options
    work = cheapest(
        options.node_hours, options.node_hours_limit, cost(program.done) / problem.node_groups.hours
    )
    return cost(program.run), work + cost(program.choose), cost(program.replicas) * _alone(problem)


def cheapest(amount: Floats, most: Floats, price: Floats) -> Floats:
    """What it costs to take an amount from some columns, the cheapest first.

    c[x] = min sum_t price[x,t] * y[x,t], where sum_t y[x,t] = amount[x] and 0 <= y[x,t] <= most[x,t]
    """
    order = np.argsort(price, axis=1, kind="stable")
    most, price = (np.take_along_axis(column, order, axis=1) for column in (most, price))
    before = np.cumsum(most, axis=1) - most
    taken = np.clip(amount[:, None] - before, 0.0, most)
    cost: Floats = (taken * price).sum(axis=1)
    return cost


def _alone(problem: Problem) -> Floats:
    return bounds.most_replicas(problem).astype(float)


def _near(group: Whole, eligible: Flags, price: Floats, close: float) -> Flags:
    """The best rows of each group among the eligible ones, and some more if close to the best."""
    rows = np.flatnonzero(eligible)
    rows = rows[np.lexsort((price[rows], group[rows]))]
    _, first, member = np.unique(group[rows], return_index=True, return_inverse=True)
    rank = np.arange(rows.size) - first[member]
    above = price[rows] - price[rows[first]][member]
    kept = np.zeros(group.shape, dtype=bool)
    kept[rows[(rank < BEST_OF_EACH) | ((rank < MOST_OF_EACH) & (above <= close))]] = True
    return kept
