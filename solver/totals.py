"""Money and carbon as expressions of the variables: the objective, and what caps are put on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pulp
from numpy.typing import NDArray

from solver import bounds
from solver.program import Program
from solver.rows import Variables, terms
from solver.tables import Floats

THOUSAND = 1000.0


def objective(program: Program) -> Any:
    """(money weight * USD + carbon weight * kgCO2e) / 1000"""
    aim = program.problem.objective
    return weighted_total(program, aim.money_weight / THOUSAND, aim.carbon_weight / THOUSAND)


def weighted_total(
    program: Program, money_weight: float, carbon_weight: float, period: int | None = None
) -> Any:
    """A sum of money and of carbon, each by its weight, over the horizon or within one period.

    Idling is charged on nodes in service and rented, and taken back for the hours in which something runs.
    Jobs left out belong to no period. What a decision is charged later is added up at the decision. Space
    that is committed is a constant, and what is occupied beyond it is a variable; where nothing is committed,
    each node in service pays its own.
    """
    total = pulp.LpAffineExpression()
    weights = _Weights(program, money_weight, carbon_weight, period)
    for variables, coefficients in (*_of_fleet(program, weights), *_of_tasks(program, weights)):
        total.update(terms(variables, coefficients))
    places = program.problem.places
    total.constant = float((weights.keep * program.problem.cohorts.nodes[:, None]).sum())
    total.constant += float(weights(places.space_usd_per_kw * places.committed_kw).sum())
    return total


class _Weights:
    """Money and carbon of a column as one number, zero outside the period asked for."""

    def __init__(self, program: Program, money: float, carbon: float, period: int | None) -> None:
        problem = program.problem
        self.money, self.carbon = money, carbon
        self.at = np.ones(problem.periods) if period is None else np.eye(problem.periods)[period]
        self.untimed = 1.0 if period is None else 0.0
        groups, cohorts = problem.node_groups, problem.cohorts
        self.idle = self(groups.idle_usd_per_node, groups.idle_kgco2e_per_node)
        self.keep = self(cohorts.keep_usd_per_node, cohorts.keep_kgco2e_per_node)
        here = ~groups.off_site[:, None]
        self.peak = self(problem.places.peak_usd_per_kw)[groups.site] * here  # [P, T] for a kilowatt

    def __call__(self, usd: Floats, kgco2e: Floats | float = 0.0) -> Floats:
        return (self.money * usd + self.carbon * kgco2e) * self.at


def _of_fleet(program: Program, weigh: _Weights) -> list[tuple[Variables, NDArray[Any]]]:
    """Coefficients of what is bought, rented, kept, sold, moved, idle and parked."""
    problem = program.problem
    groups, cohorts, moves, tiers = problem.node_groups, problem.cohorts, problem.moves, problem.tiers
    sales = problem.sales
    holding = weigh(groups.holding_usd_per_node, groups.holding_kgco2e_per_node)
    order_usd = weigh(groups.order_usd_per_node)
    ordered = (bounds.from_arrival(problem, holding) + order_usd) * groups.order_unit_nodes[:, None]
    same = tiers.sku[:, None] == groups.sku
    rebate = np.where(same, tiers.rebate_fraction[:, None], 0.0)
    left, joined = moves.from_cohort, moves.to_cohort
    moved = weigh(moves.usd_per_node, moves.kgco2e_per_node) - bounds.from_now_on(weigh.keep)[left]
    rents = groups.rental_limit_nodes > 0
    rented = weigh(groups.rental_usd_per_node, groups.rental_kgco2e_per_node) + weigh.idle
    off = weigh(groups.off_usd_per_node, groups.off_kgco2e_per_node)
    places, here = problem.places, ~groups.off_site
    space = weigh(places.space_usd_per_kw)
    alone = np.where(places.committed_kw > 0, 0.0, space)[groups.site] * (groups.space_kw * here)[:, None]
    parked = off - weigh.idle + weigh.peak * (groups.off_kw - groups.idle_kw)[:, None]
    return [
        (program.order, ordered),
        (program.rebated, -rebate[:, :, None] * order_usd * (program.most_rebated > 0)),
        (program.retire, weigh(cohorts.retire_usd_per_node) - bounds.from_now_on(weigh.keep)),
        (program.sell, weigh(sales.usd_per_node) - bounds.from_now_on(holding)[sales.node_group]),
        (program.move, moved + bounds.after_lead(moves.lead_periods, weigh.keep[joined])),
        (program.rented, rented * rents),
        (program.commit, weigh(groups.term_left_usd_per_node)),
        (program.in_service, weigh.idle + alone + weigh.peak * groups.idle_kw[:, None]),
        (program.beyond, np.where(places.committed_kw > 0, space, 0.0)),
        (program.parked, parked * groups.may_park[:, None]),
    ]


def _of_tasks(program: Program, weigh: _Weights) -> list[tuple[Variables, NDArray[Any]]]:
    """Coefficients of jobs, services, work and clean energy, less the idling that they end."""
    problem = program.problem
    groups, jobs, services = problem.node_groups, problem.jobs, problem.services
    runs, serves, works = problem.run_options, problem.serve_options, problem.work_options
    pausable, contracts = problem.pausable_options, problem.contracts
    idle_per_h = weigh.idle / groups.hours
    run = weigh(runs.usd, runs.kgco2e) - idle_per_h[runs.node_group] * runs.node_hours
    serve = weigh(serves.usd, serves.kgco2e) - idle_per_h[serves.node_group] * serves.node_hours
    work = weigh(works.usd_per_node_h, works.kgco2e_per_node_h) - idle_per_h[works.node_group]
    done = weigh(pausable.usd_per_node_h, pausable.kgco2e_per_node_h) - idle_per_h[pausable.node_group]
    run = run + weigh.peak[runs.node_group] * runs.active_kw
    serve = serve + weigh.peak[serves.node_group] * serves.active_kw[:, None]
    work = work * groups.hours + weigh.peak[works.node_group] * works.active_kw[:, None]
    done = done * groups.hours + weigh.peak[pausable.node_group] * pausable.active_kw[:, None]
    unmet = np.where(np.isfinite(services.unmet_usd), services.unmet_usd, 0.0)
    left_out = weigh.money * jobs.left_out_usd + weigh.carbon * jobs.left_out_kgco2e
    return [
        (program.run, run.sum(axis=1)),
        (program.left_out, weigh.untimed * left_out),
        (program.replicas, serve),
        (program.shed, weigh(unmet * services.demand)),
        (program.work, work),
        (program.done, done),
        (program.matched, weigh(contracts.usd_per_kwh, -contracts.kgco2e_per_kwh) * groups.hours),
    ]
