"""Money and carbon as expressions of the variables: the objective, and what caps are put on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pulp
from numpy.typing import NDArray

from solver import account, account_energy, account_slots, bounds
from solver.constrain_tasks import serving
from solver.problem import PausableOptions, Problem, Solution, WorkOptions
from solver.program import Program
from solver.rows import Variables, made, terms
from solver.slots import BySlot
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
    priced = _of_fleet(program, weights) | _of_tasks(program, weights) | _of_slots(program, weights)
    for family, coefficients in priced.items():
        total.update(terms(_variables(program, family), coefficients))
    total.constant = _in_any_case(program, weights)
    return total


def charged(program: Program, plan: Solution) -> float:
    """What the program charges a plan: the coefficients of its objective times what the plan decides.

    z = constant + sum over x of c[x] * value[x];  the account knows no coefficient, and has to agree
    """
    aim = program.problem.objective
    weights = _Weights(program, aim.money_weight, aim.carbon_weight, None)
    values = _decided(program, plan)
    coefficients = _of_fleet(program, weights) | _of_tasks(program, weights) | _of_slots(program, weights)
    amounts = [float((each * values[family]).sum()) for family, each in coefficients.items()]
    return math.fsum([_in_any_case(program, weights), *amounts])


def _variables(program: Program, family: str) -> Variables:
    """The variables of a family; whether an option serves is one where the program has to know."""
    found: Variables = serving(program) if family == "serves" else getattr(program, family)
    return found


def _in_any_case(program: Program, weights: _Weights) -> float:
    """What no decision changes: keeping what stands, as if it stayed, and space that is committed."""
    places = program.problem.places
    keep = weights.keep * program.problem.cohorts.nodes[:, None]
    return float(keep.sum() + weights(places.space_usd_per_kw * places.committed_kw).sum())


def _decided(program: Program, plan: Solution) -> dict[str, NDArray[Any]]:
    """The value of each family of variables in a plan, in the units of the program."""
    problem = program.problem
    groups, tiers, hours = problem.node_groups, problem.tiers, problem.node_groups.hours
    nodes = plan.orders * groups.order_unit_nodes[:, None]
    best = account.rebate_fraction(problem, plan.orders)[tiers.sku]
    first = np.zeros(len(tiers), dtype=bool)  # of equal rebates on one SKU, one is taken
    reached = np.flatnonzero((tiers.rebate_fraction == best) & (best > 0))
    first[reached[np.unique(tiers.sku[reached], return_index=True)[1]]] = True
    own = first[:, None] & (tiers.sku[:, None] == groups.sku)
    occupied = account.occupied_kw(problem, plan.in_service)
    return {
        "order": plan.orders,
        "rebated": own[:, :, None] * nodes,
        "retire": plan.retired,
        "reuse": account.reused(problem, plan),
        "sell": plan.sold,
        "move": plan.moved,
        "rented": plan.rented,
        "unfilled": account.unfilled_nodes(problem, plan),
        "commit": plan.committed,
        "in_service": plan.in_service,
        "beyond": np.maximum(occupied - problem.places.committed_kw, 0.0),
        "parked": plan.parked,
        "run": plan.run,
        "left_out": plan.left_out,
        "replicas": plan.replicas,
        "started": account.started(plan.replicas),
        "begun": account.begun(plan.replicas),
        "serves": (plan.replicas > 0)[problem.serve_options.chosen_or_not],
        "shed": plan.shed_fraction,
        "work": plan.work_node_h / hours,
        "adopt": plan.adopted,
        "sign": account.signed(problem, plan),
        "lost": account_slots.lost_node_h(problem, plan)[0] / hours,
        "lost_done": account_slots.lost_node_h(problem, plan)[1] / hours,
        "done": plan.done_node_h / hours,
        "matched": plan.matched_kwh / hours,
        **_decided_by_slot(problem, plan),
    }


def _decided_by_slot(problem: Problem, plan: Solution) -> dict[str, NDArray[Any]]:
    """The same of what is decided by slot."""
    used = account_slots.no_use(problem) if plan.slots is None else plan.slots
    return {
        "work_in": used.work,
        "work_stop": account_slots.shrinking(problem, used.work),
        "done_in": used.done,
        "done_stop": account_slots.shrinking(problem, used.done),
        "lent": used.lent,
        "quiet": used.quiet,
        "rest": used.rest,
        "wake": account_slots.shrinking(problem, used.rest),
        "off": used.off,
        "boot": account_slots.shrinking(problem, used.off),
        "above": account_slots.above_kw(problem, plan),
        "battery": account_energy.battery_kwh(problem, plan)[:, None],
        "solar": account_energy.solar_kw(problem, plan)[:, None],
        **dict(
            zip(
                ("charge", "discharge", "sun", "sun_moved"),
                account_energy.flows_kw(problem, used),
                strict=True,
            )
        ),
    }


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


def _of_fleet(program: Program, weigh: _Weights) -> dict[str, NDArray[Any]]:
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
    under_way = moves.away_fraction * bounds.at_arrival(
        moves.lead_periods, weigh.idle[cohorts.node_group[joined]]
    )
    rents = groups.rental_limit_nodes > 0
    rented = weigh(groups.rental_usd_per_node, groups.rental_kgco2e_per_node) + weigh.idle
    off = weigh(groups.off_usd_per_node, groups.off_kgco2e_per_node)
    places, here = problem.places, ~groups.off_site
    space = weigh(places.space_usd_per_kw)
    alone = np.where(places.committed_kw > 0, 0.0, space)[groups.site] * (groups.space_kw * here)[:, None]
    parked = off - weigh.idle + weigh.peak * (groups.off_kw - groups.idle_kw)[:, None]
    return {
        "order": ordered,
        "rebated": -rebate[:, :, None] * order_usd * (program.most_rebated > 0),
        "retire": weigh(cohorts.retire_usd_per_node) - bounds.from_now_on(weigh.keep),
        "reuse": weigh(cohorts.reuse_usd_per_node, cohorts.reuse_kgco2e_per_node) * made(program.reuse),
        "sell": weigh(sales.usd_per_node) - bounds.from_now_on(holding)[sales.node_group],
        "move": moved + bounds.after_lead(moves.lead_periods, weigh.keep[joined]) - under_way,
        "rented": rented * rents,
        "unfilled": weigh(groups.unfilled_usd_per_node, groups.unfilled_kgco2e_per_node)
        * made(program.unfilled),
        "commit": weigh(groups.term_left_usd_per_node),
        "in_service": weigh.idle + alone + weigh.peak * groups.idle_kw[:, None],
        "beyond": np.where(places.committed_kw > 0, space, 0.0),
        "parked": parked * groups.may_park[:, None],
    }


def _of_tasks(program: Program, weigh: _Weights) -> dict[str, NDArray[Any]]:
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
    return {
        "run": runs.of_whole_run(run.sum(axis=1)),
        "left_out": weigh.untimed * left_out,
        "replicas": serve,
        "started": weigh(serves.start_usd, serves.start_kgco2e) * made(program.started),
        "begun": weigh(serves.begun_usd, serves.begun_kgco2e) * made(program.begun),
        "serves": weigh(serves.deployed_usd, serves.deployed_kgco2e)[serves.chosen_or_not],
        "shed": weigh(unmet * services.demand),
        "work": work,
        "adopt": weigh(problem.adoptions.usd).sum(axis=1),
        "lost": _stopped(weigh, works) * groups.hours * made(program.lost),
        "lost_done": _stopped(weigh, pausable) * groups.hours * made(program.lost_done),
        "sign": -weigh(problem.places.curtailed_usd).sum(axis=1) * made(program.sign),
        "done": done,
        "matched": weigh(contracts.usd_per_kwh, -contracts.kgco2e_per_kwh) * groups.hours,
    }


def _stopped(weigh: _Weights, options: WorkOptions | PausableOptions) -> Floats:
    """What an hour that calls take saves, below zero."""
    return -weigh(options.stopped_usd_per_node_h, options.stopped_kgco2e_per_node_h)


def _of_slots(program: Program, weigh: _Weights) -> dict[str, NDArray[Any]]:
    """Coefficients of what is decided by slot, over what the mean of the period is charged."""
    problem, slots = program.problem, program.problem.slots
    if not len(slots):
        return {}
    hours, days, shifts = slots.hours.T, slots.days.T, problem.work_shifts
    resting, switching = problem.resting, problem.switching

    def by_slot(table: BySlot, stem: str, factor: Floats | float = 1.0, tail: str = "") -> Floats:
        return _by_slot(weigh, table, stem, tail) * factor

    def each_day(table: BySlot, stem: str) -> Floats:
        cost = weigh(getattr(table, f"{stem}_usd"), getattr(table, f"{stem}_kgco2e"))
        return cost[:, :, None] * days

    found = {
        "work_in": by_slot(shifts, "", hours, "_per_node_h"),
        "work_stop": each_day(shifts, "stop"),
        "done_in": by_slot(problem.pausable_shifts, "", hours, "_per_node_h"),
        "done_stop": each_day(problem.pausable_shifts, "stop"),
        "lent": by_slot(shifts, "lent_", hours, "_per_node_h"),
        "quiet": by_slot(resting, "quiet_"),
        "rest": by_slot(resting, "rest_"),
        "wake": each_day(resting, "wake"),
        "off": by_slot(switching, "off_"),
        "boot": each_day(switching, "boot"),
        "above": weigh(problem.places.peak_usd_per_kw),
        **_of_energy(problem, weigh),
    }
    return {name: each * made(getattr(program, name)) for name, each in found.items()}


def _of_energy(problem: Problem, weigh: _Weights) -> dict[str, Floats]:
    """Coefficients of batteries and of the sun."""
    table, hours = problem.site_energy, problem.slots.hours.T
    moved, fixed, least = (
        hours * _by_slot(weigh, table, f"{load}_", "_per_kwh") for load in ("moved", "fixed", "least")
    )
    battery = weigh(table.battery_usd_per_kwh, table.battery_kgco2e_per_kwh).sum(axis=1)[:, None]
    solar = weigh(table.solar_usd_per_kw, table.solar_kgco2e_per_kw).sum(axis=1)[:, None]
    flows = {"charge": moved, "discharge": -moved, "sun": -fixed, "sun_moved": -least}
    return {"battery": battery, "solar": solar, **flows}


def _by_slot(weigh: _Weights, table: BySlot, stem: str, tail: str) -> Floats:
    """Money and carbon of columns by slot as one number [., T, Y]."""
    usd, kgco2e = (np.moveaxis(getattr(table, f"{stem}{kind}{tail}"), -1, 0) for kind in ("usd", "kgco2e"))
    found: Floats = np.moveaxis(weigh(usd, kgco2e), 0, -1)
    return found
