"""Is it a plan? Every rule once more, as plain sums that know neither the program nor its engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver import account
from solver.problem import Problem, Solution, Terms
from solver.tables import Floats


@dataclass(frozen=True, slots=True)
class Violation:
    """One rule that does not hold: `got` lies beyond `limit`."""

    rule: str
    index: tuple[int, ...]
    got: float
    limit: float

    def __str__(self) -> str:
        return f"{self.rule}{list(self.index)}: {self.got:g} where {self.limit:g} is the limit"


Check = Callable[[Problem, Solution, float], Iterator[Violation]]


def verify(problem: Problem, solution: Solution, tolerance: float) -> list[Violation]:
    """Every rule that a solution breaks; empty if none. The tolerance is relative, and absolute below 1."""
    return [violation for check in CHECKS for violation in check(problem, solution, tolerance)]


def objective_value(problem: Problem, solution: Solution) -> float:
    """What the program minimises.

    z = money weight * USD + carbon weight * kgCO2e
    """
    aim = problem.objective
    return aim.money_weight * solution.usd + aim.carbon_weight * solution.kgco2e


def _above(
    rule: str, got: NDArray[Any], limit: NDArray[Any] | float, tolerance: float
) -> Iterator[Violation]:
    """Where got > limit."""
    amount, most = np.broadcast_arrays(np.asarray(got, dtype=float), np.asarray(limit, dtype=float))
    room = tolerance * np.maximum(1.0, np.where(np.isfinite(most), np.abs(most), 1.0))
    for index in np.argwhere(~(amount <= most + room)):  # so that NaN breaks a rule, too
        row = tuple(int(number) for number in index)
        yield Violation(rule, row, float(amount[row]), float(most[row]))


def _below(
    rule: str, got: NDArray[Any], limit: NDArray[Any] | float, tolerance: float
) -> Iterator[Violation]:
    """Where got < limit."""
    for found in _above(rule, -np.asarray(got, dtype=float), -np.asarray(limit, dtype=float), tolerance):
        yield Violation(rule, found.index, -found.got, -found.limit)


def _unequal(
    rule: str, got: NDArray[Any], wanted: NDArray[Any] | float, tolerance: float
) -> Iterator[Violation]:
    yield from _above(rule, got, wanted, tolerance)
    yield from _below(rule, got, wanted, tolerance)


def counts_are_counts(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """Orders, retirements, replicas and spares are whole and >= 0; node-hours of work are >= 0"""
    for name in ("orders", "retired", "replicas", "spares"):
        count = getattr(plan, name)
        yield from _below(name, count, 0.0, tolerance)
        yield from _unequal(f"{name} whole", count, np.round(count), tolerance)
    yield from _below("work_node_h", plan.work_node_h, 0.0, tolerance)


def sums_are_sums(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """What the solution says follows from its decisions: nodes, and every term of money and carbon."""
    again = account.solution(problem, _decisions(plan))
    for name in ("bought_in_service", "kept", "in_service", "in_use"):
        yield from _unequal(name, getattr(plan, name), getattr(again, name), tolerance)
    for name in ("usd_terms", "kgco2e_terms"):
        for part in fields(Terms):
            told, summed = (getattr(getattr(each, name), part.name) for each in (plan, again))
            yield from _unequal(f"{name}.{part.name}", told, summed, tolerance)


def orders_are_allowed(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """order[p,t] = 0 where purchase is not allowed"""
    yield from _above("purchase allowed", plan.orders * ~problem.pools.purchase_allowed, 0.0, tolerance)


def jobs_run_once(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """sum_r run[r] + left_out[j] = 1; left_out[j] = 0 unless optional; run[r] = 0 if later than allowed"""
    jobs, runs = problem.jobs, problem.run_options
    done = account.totals_by(runs.job, len(jobs), plan.run.astype(float)) + plan.left_out
    yield from _unequal("job runs once", done, 1.0, tolerance)
    yield from _above("job left out", plan.left_out * ~jobs.optional, 0.0, tolerance)
    yield from _above("run late", runs.late_h * plan.run, jobs.allowed_late_h[runs.job], tolerance)


def demand_is_met(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """sum_v capacity[v] / (1 + standby[v]) * replicas[v,t] >= demand[i,t]"""
    serves = problem.serve_options
    each = serves.capacity / (1 + serves.standby_fraction)
    carried = account.totals_by(serves.service, len(problem.services), each[:, None] * plan.replicas)
    yield from _below("demand", carried, problem.services.demand, tolerance)


def work_is_done(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """sum_o speed[o] * work[o,t] >= demand_h[w,t]"""
    options = problem.work_options
    done = account.totals_by(options.work, len(problem.work), options.speed[:, None] * plan.work_node_h)
    yield from _below("work", done, problem.work.demand_h, tolerance)


def nodes_suffice(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """u[p,t] <= n[p,t] - spares[p,t]; active hours <= (n - spares) * hours[t]; spares >= need of u"""
    used = account.nodes_in_use(problem, plan.run, plan.replicas)
    active = account.active_node_h(problem, plan.run, plan.replicas, plan.work_node_h)
    usable = plan.in_service - plan.spares
    yield from _above("nodes in use", used, usable, tolerance)
    yield from _above("node-hours", active, usable * problem.pools.hours, tolerance)
    yield from _below("spares", plan.spares, account.spares_needed(problem, used, tolerance), tolerance)


def sites_carry(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """Facility power at the peak <= power_kw[s,t]; racks of nodes in service <= racks[s]"""
    power = account.peak_kw(problem, plan, plan.in_service)
    yield from _above("power", power, problem.limits.power_kw, tolerance)
    pools = problem.pools
    racks = account.totals_by(
        pools.site, len(problem.site_names), pools.racks_per_node[:, None] * plan.in_service
    )
    yield from _above("space", racks, problem.limits.racks[:, None], tolerance)


def market_delivers(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """Nodes ordered of a SKU <= supply[k,t]; nodes of a pool over the horizon: none, or >= minimum[p]"""
    pools, limits = problem.pools, problem.limits
    ordered = plan.orders * pools.order_unit_nodes[:, None]
    yield from _above(
        "supply",
        account.totals_by(pools.sku, len(problem.sku_names), ordered),
        limits.supply_nodes,
        tolerance,
    )
    bought = ordered.sum(axis=1)
    yield from _below("minimum order", bought, np.where(bought > 0, limits.minimum_nodes, 0.0), tolerance)


def means_suffice(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """Cash for orders in t <= budget[t]; carbon of the plan <= cap"""
    cost = problem.pools.capex_usd_per_node * problem.pools.order_unit_nodes[:, None] * plan.orders
    yield from _above("budget", cost.sum(axis=0), problem.limits.budget_usd, tolerance)
    yield from _above("carbon cap", np.array([plan.kgco2e]), problem.limits.carbon_cap_kgco2e, tolerance)


def cohorts_end(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """kept[h,t] >= 0; kept[h,t] = 0 from must_retire_by[h] on"""
    kept: Floats = problem.cohorts.nodes[:, None] - np.cumsum(plan.retired, axis=1).astype(float)
    yield from _below("retired once", kept, 0.0, tolerance)
    ended = np.arange(problem.periods) >= problem.cohorts.must_retire_by[:, None]
    yield from _above("end of life", kept * ended, 0.0, tolerance)


def _decisions(plan: Solution) -> account.Decisions:
    return account.Decisions(**{part.name: getattr(plan, part.name) for part in fields(account.Decisions)})


CHECKS: tuple[Check, ...] = (
    counts_are_counts,
    sums_are_sums,
    orders_are_allowed,
    jobs_run_once,
    demand_is_met,
    work_is_done,
    nodes_suffice,
    sites_carry,
    market_delivers,
    means_suffice,
    cohorts_end,
)
