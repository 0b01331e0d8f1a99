"""What limits a plan, and what each limit is worth: how much of it is used, and its price by three routes.

The shadow price of a plan of whole numbers is local: with the numbers held, only divisible work can follow a
limit, and most prices are 0. So three figures are side by side: the price with the whole numbers held, the
one when all counts may be fractions, and, on request, what a step of one order either way really changes, by
solving the program again.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
import pulp

from solver import account, backend
from solver.account_slots import above_kw, lent_work_h, lost_work_h, stopping_kw
from solver.answer import answer
from solver.bounds import from_arrival, standing_usd
from solver.build import THOUSAND, build
from solver.decisions import fix, minimise_objective
from solver.infeasible import UNITS, label, moved
from solver.known import Answer
from solver.problem import Problem, Solution
from solver.program import FAMILIES, Index, Program
from solver.tables import Floats

WHOLE = ("deadlines", "jobs", "end of life", "availability")  # kept or not kept: no price per unit
AT_LEAST = (
    "minimum order",
    "demand",
    "work",
    "curtailment",
)  # limits from below: they are eased by asking for less
SIGNED = ("carbon cap", "carbon cap by period", "money cap")  # may be below 0


@dataclass(frozen=True, slots=True)
class LimitUse:
    """How much of one limit a plan uses, in the unit of its family."""

    family: str
    index: Index
    label: str
    unit: str
    used: float
    limit: float
    binding: bool

    @property
    def left(self) -> float:
        """Room up to the limit; for a limit from below, what is above it."""
        return self.used - self.limit if self.family in AT_LEAST else self.limit - self.used


@dataclass(frozen=True, slots=True)
class Move:
    """The best plan with one limit moved: by how much the objective changes, and what is proven of that.

    Both plans are the best within a gap, so that the true change lies from `least` to `most`. All three are
    infinite where no plan keeps the moved limit, and NaN where time ran out before one was found.
    """

    amount: float  # in the unit of the limit; positive gives way
    status: backend.Status
    change: float
    least: float
    most: float


@dataclass(frozen=True, slots=True)
class Price:
    """What easing one limit saves, in units of the objective per unit of the limit; at least 0."""

    family: str
    index: Index
    label: str
    unit: str
    saving_per_unit: float  # the whole numbers of the plan held
    relaxed_saving_per_unit: float  # all counts may be fractions
    eased: Move | None = None
    tightened: Move | None = None


def limit_uses(problem: Problem, plan: Solution, *, tolerance: float) -> tuple[LimitUse, ...]:
    """The use of every finite limit that has room, by plain sums of the plan.

    Deadlines, ends of life and jobs that have to run are kept or not, and left out. A minimum order is a
    limit only where something is ordered. A limit binds where its room is within `tolerance`, which is a
    share of limits above 1.
    """
    found = []
    for family, index, used, limit in _uses(problem, plan):
        room = used - limit if family in AT_LEAST else limit - used
        binding = room <= tolerance * max(1.0, abs(limit))
        name = label(problem, family, index)
        found.append(LimitUse(family, index, name, UNITS[family], used, limit, binding))
    return tuple(found)


def prices(
    problem: Problem,
    plan: Answer,
    *,
    gap_fraction: float,
    time_limit_s: float,
    tolerance: float = 1e-6,
    confirm: bool = False,
    confirmed: Collection[str] = FAMILIES,
    should_stop: backend.Stop | None = None,
) -> tuple[Price, ...]:
    """The price of every limit, from the duals of two linear programs.

        saving[l] = - d z / d b[l] at give[l] = 0

    z is the objective, b[l] the limit. With `confirm`, each limit of the `confirmed` families that binds or
    has a price is moved by one step either way and the program solved again: what one order unit takes of it,
    of the node group that takes most; one replica, or one node of work. The time limit is that of each solve.
    Empty without a plan, and NaN for a price whose linear program found no end in time.
    """
    if plan.solution is None:
        return ()
    program = build(problem, [family for family in FAMILIES if family not in WHOLE])
    minimise_objective(program)
    for slack in program.slacks.values():
        fix(slack.variable, 0.0)
    relaxed = _savings(program, time_limit_s, should_stop)
    held = _held_savings(program, plan.solution, gap_fraction, time_limit_s, should_stop)
    uses = limit_uses(problem, plan.solution, tolerance=tolerance)
    binding = {(use.family, use.index) for use in uses if use.binding}

    def solve_again(family: str, index: Index, amount: float) -> Move:
        again = answer(
            moved(problem, family, index, amount),
            gap_fraction=gap_fraction,
            time_limit_s=time_limit_s,
            should_stop=should_stop,
            start=plan.solution,
            tolerance=tolerance,
        )
        return _move(plan, again, amount)

    found = []
    for family, index in program.slacks:
        key = (family, index)
        eased = tightened = None
        worth = held.get(key, math.nan), relaxed.get(key, math.nan)
        wanted = confirm and family in confirmed
        if wanted and (key in binding or any(each > tolerance for each in worth)):
            ease, tighten = _steps(problem, family, index)
            eased = solve_again(family, index, ease) if ease > 0 else None
            tightened = solve_again(family, index, -tighten) if tighten > 0 else None
        name = label(problem, family, index)
        found.append(Price(family, index, name, UNITS[family], *worth, eased, tightened))
    return tuple(found)


def _savings(
    program: Program, time_limit_s: float, should_stop: backend.Stop | None
) -> dict[tuple[str, Index], float]:
    """What the linear program saves per unit that each limit gives way, by the reduced cost of its slack."""
    relaxed = backend.relax(program.model, time_limit_s=time_limit_s, should_stop=should_stop)
    if relaxed.status is not backend.Status.OPTIMAL:
        return {}
    return {
        key: max(0.0, -relaxed.reduced_costs[slack.variable.name] * THOUSAND / slack.size)
        for key, slack in program.slacks.items()
    }


def _held_savings(
    program: Program,
    plan: Solution,
    gap_fraction: float,
    time_limit_s: float,
    should_stop: backend.Stop | None,
) -> dict[tuple[str, Index], float]:
    """The same with every whole number at the plan's; switches that no plan names are found first."""
    whole = [each for each in program.model.variables() if each.cat == pulp.LpInteger]
    values = program.start(plan)
    for variable in whole:
        if variable.name in values:
            fix(variable, values[variable.name])
    outcome = backend.solve(
        program.model, gap_fraction=gap_fraction, time_limit_s=time_limit_s, should_stop=should_stop
    )
    if not outcome.status.has_plan:
        return {}
    for variable in whole:
        fix(variable, round(outcome.values[variable.name]))
    return _savings(program, time_limit_s, should_stop)


def _move(before: Answer, after: Answer, amount: float) -> Move:
    """The change of the objective, and the range that the bounds of both searches leave."""
    if after.status is backend.Status.INFEASIBLE:
        return Move(amount, after.status, math.inf, math.inf, math.inf)
    if not after.status.has_plan:
        return Move(amount, after.status, math.nan, math.nan, math.nan)
    return Move(
        amount,
        after.status,
        after.objective - before.objective,
        after.bound - before.objective,
        after.objective - before.bound,
    )


def _uses(problem: Problem, plan: Solution) -> Iterator[tuple[str, Index, float, float]]:
    """Family, index, what is used and the limit, wherever there is a limit."""
    groups, limits = problem.node_groups, problem.limits
    ordered = plan.orders * groups.order_unit_nodes[:, None]
    racks = account.racks_in_use(problem, plan.run, plan.in_service)
    works = problem.work_options
    done = works.speed[:, None] * plan.work_node_h
    demand, demand_h = problem.services.demand, problem.work.demand_h
    bought = ordered.sum(axis=1)
    wanted = np.where(bought > 0, limits.minimum_nodes, 0.0)
    peak = account.peak_kw(problem, plan, plan.in_service) + above_kw(problem, plan)
    yield from _each("power", peak, limits.power_kw)
    yield from _each("shared power", account.shared_power_kw(problem, peak), limits.shared_power_kw)
    yield from _each("space", racks.max(axis=1, initial=0.0), limits.racks)
    supplied = account.totals_by(groups.sku, len(problem.sku_names), ordered)
    yield from _each("supply", supplied, limits.supply_nodes)
    yield from _each("minimum order", np.where(wanted > 0, bought, np.nan), wanted)
    yield from _each("budget", account.budget_usd(problem, plan), limits.budget_usd)
    yield from _each("carbon cap", np.array(plan.kgco2e), np.array(limits.carbon_cap_kgco2e))
    emitted = plan.kgco2e_terms.by_period()
    yield from _each("carbon cap by period", emitted, limits.carbon_cap_by_period_kgco2e)
    yield from _each("money cap", np.array(plan.usd), np.array(limits.money_cap_usd))
    served = account.carried(problem, plan.replicas)
    yield from _each("demand", np.where(demand > 0, served, np.nan), demand)
    worked = account.totals_by(works.work, len(problem.work), done) + lent_work_h(problem, plan)
    worked = worked - lost_work_h(problem, plan)
    yield from _each("work", np.where(demand_h > 0, worked, np.nan), demand_h)
    least = _obliged_kw(problem)
    fewest = stopping_kw(problem, plan).min(axis=1, initial=np.inf)
    yield from _each("curtailment", np.where(least > 0, fewest, np.nan), least)


def _obliged_kw(problem: Problem) -> Floats:
    """Power that sites are obliged to stop [S]."""
    places = problem.places
    found: Floats = np.where(places.curtailment_obliged, places.curtailed_kw, 0.0)
    return found


def _each(family: str, used: Floats, limit: Floats) -> Iterator[tuple[str, Index, float, float]]:
    for index in np.ndindex(limit.shape):
        if np.isfinite(limit[index]) and not np.isnan(used[index]):
            yield family, index, float(used[index]), float(limit[index])


def _steps(problem: Problem, family: str, index: Index) -> tuple[float, float]:
    """One step, and what of it the limit can be eased and tightened by without falling below 0."""
    step, size = _step(problem, family, index), _size(problem, family, index)
    if family in SIGNED:
        return step, step
    return (min(step, size), step) if family in AT_LEAST else (step, min(step, size))


def _size(problem: Problem, family: str, index: Index) -> float:
    limits = problem.limits
    columns = {
        "power": limits.power_kw,
        "space": limits.racks,
        "shared power": limits.shared_power_kw,
        "supply": limits.supply_nodes,
        "budget": limits.budget_usd,
        "minimum order": limits.minimum_nodes,
        "demand": problem.services.demand,
        "work": problem.work.demand_h,
        "curtailment": _obliged_kw(problem),
    }
    return float(columns[family][index]) if family in columns else math.inf


def _step(problem: Problem, family: str, index: Index) -> float:
    """What one order unit takes of a limit, by the group that takes most; one replica, one node of work."""
    groups, units, limits = problem.node_groups, problem.node_groups.order_unit_nodes, problem.limits
    if family == "demand":
        serves = problem.serve_options
        each = serves.capacity / (1 + serves.standby_fraction)
        return float(each[serves.service == index[0], index[1]].max(initial=0.0))
    if family == "work":
        return float(groups.hours[index[1]])
    if family == "minimum order":
        return float(units[index[0]])
    if family in SIGNED:
        charged = groups.holding_kgco2e_per_node + groups.idle_kgco2e_per_node
        if family == "money cap":
            charged = groups.holding_usd_per_node + standing_usd(problem)
        per_node = charged[:, index[0]] if index else from_arrival(problem, charged).max(axis=1)
        return float((per_node * units).max(initial=0.0))
    if family == "shared power":
        shared = limits.shared_power_sites[index[0]][groups.site]
        return float((_busy_kw(problem) * units)[shared].max(initial=0.0))
    per_node, mine = {
        "power": (_busy_kw(problem), groups.site == index[0]),
        "curtailment": (_busy_kw(problem), groups.site == index[0]),
        "space": (groups.racks_per_node, groups.site == index[0]),
        "supply": (np.ones(len(groups)), groups.sku == index[0]),
        "budget": (groups.capex_usd_per_node[:, index[-1]], np.full(len(groups), True)),
    }[family]
    return float((per_node * units)[mine].max(initial=0.0))


def _busy_kw(problem: Problem) -> Floats:
    """Power of a node of each node group with the most that an option draws on one."""
    runs, serves, works = problem.run_options, problem.serve_options, problem.work_options
    above = np.zeros(len(problem.node_groups))
    per_run = np.divide(runs.active_kw, runs.nodes, out=np.zeros(runs.nodes.shape), where=runs.nodes > 0)
    np.maximum.at(above, runs.node_group, per_run.max(axis=1, initial=0.0))
    per_replica = np.divide(serves.active_kw, serves.nodes, out=np.zeros(len(serves)), where=serves.nodes > 0)
    np.maximum.at(above, serves.node_group, per_replica)
    np.maximum.at(above, works.node_group, works.active_kw)
    busy: Floats = problem.node_groups.idle_kw + above
    return busy
