"""Batteries and the sun apart from the fleet: a problem without them that bounds the one with them.

What ties both are rows of each site, period and slot: no more is given back than what is drawn there, and
the sun on load that cannot move is no more than such load. At a price for each of these rows the problem
falls in two (a Lagrangian bound). In one, a fleet pays for what it draws less what a kilowatt of load there
is worth to batteries and the sun; slots of it may be joined. The other is a small linear program of what is
stored and used:

    z >= min_F (f(F) - sum_s,t,y import[s,t,y] * load[s,t,y](F) + fixed[s,t,y] * fixed_load[s,t,y](F))
         + min_E (e(E) + sum_s,t,y import[s,t,y] * (discharge + sun + sun_moved - charge)
                  + fixed[s,t,y] * sun)

This holds at any prices of at least 0; those next to the operation of a good plan say most. The best fleet of
the first is one that knows what batteries and the sun are worth.

Source: Geoffrion, "Lagrangean relaxation for integer programming", Mathematical Programming Study 2, 1974.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pulp

from solver import backend
from solver.account_energy import has_energy, shares_energy, without_energy
from solver.build import THOUSAND, build
from solver.operating import HELD, for_this, hold
from solver.problem import Problem, Solution
from solver.program import Program
from solver.rows import name
from solver.slots import Shifting
from solver.tables import Floats
from solver.tasks import PausableOptions, WorkOptions

LINKS = ("import", "fixed")  # rows that tie the fleet to batteries and the sun
OWN = ("stores", "holds", "flows", "shines")  # rows of these alone
OF_ENERGY = ("battery", "solar", "charge", "discharge", "stored", "sun", "sun_moved")
JUST = 1 - 1e-9  # so that no rounding takes it below nothing
NEVER_EARNED = ("idle_", "stop_")
Options = TypeVar("Options", WorkOptions, PausableOptions)


class Apart(NamedTuple):
    """A problem of the fleet alone, and what batteries and the sun cost at least at the same prices."""

    fleet: Problem
    least: float  # in the unit of the objective, mostly below 0: what they save


def may_stand_apart(problem: Problem) -> bool:
    """Is there nothing else that ties both: no contract, no cap, no price of a peak where they stand?"""
    limits, there = problem.limits, has_energy(problem)
    return bool(
        there.any()
        and not len(problem.contracts)
        and not limits.over_the_horizon
        and np.isinf(limits.carbon_cap_by_period_kgco2e).all()
        and not problem.places.peak_usd_per_kw[there].any()
    )


def energy_apart(
    problem: Problem, plan: Solution, *, time_limit_s: float, should_stop: backend.Stop | None = None
) -> Apart | None:
    """Both problems at the prices next to the operation of a plan; None where no prices are found in time.

    No plan of the problem costs less than the best of the fleet's plus what the rest costs at least. Limits
    of power are lifted where batteries or the sun may stand in for the grid.
    """
    program = build(for_this(problem, plan))
    hold(program, program.start(plan), HELD)
    relaxed = backend.relax(program.model, time_limit_s=time_limit_s, should_stop=should_stop)
    if relaxed.status is not backend.Status.OPTIMAL:
        return None
    rows, shape = relaxed.row_prices, (len(problem.site_names), problem.periods, len(problem.slots))
    import_worth, fixed_worth = (
        np.array([-min(rows.get(name(link, place), 0.0), 0.0) for place in np.ndindex(shape)]).reshape(shape)
        for link in LINKS
    )
    kept = _kept(problem, (import_worth + fixed_worth).sum(axis=2) * THOUSAND)[:, :, None]
    import_worth, fixed_worth = kept * import_worth, kept * fixed_worth
    worth = {
        name(link, place): float(amounts[place])
        for link, amounts in zip(LINKS, (import_worth, fixed_worth), strict=True)
        for place in zip(*(axis.tolist() for axis in np.nonzero(amounts)), strict=True)
    }
    alone = backend.relax(_alone(program, worth), time_limit_s=time_limit_s, should_stop=should_stop)
    if alone.status is not backend.Status.OPTIMAL:
        return None
    try:
        fleet = _worth_less(problem, import_worth * THOUSAND, fixed_worth * THOUSAND)
    except _EarnsError:
        return None
    return Apart(fleet, alone.objective * THOUSAND)


def _kept(problem: Problem, worth: Floats) -> Floats:
    """The share of what a kilowatt through the period is worth [S, T] at which no idle node earns.

    Where the grid of a site is at its limit it may be worth more than it costs.
    """
    groups, aim = problem.node_groups, problem.objective
    idle = aim.money_weight * groups.idle_usd_per_node + aim.carbon_weight * groups.idle_kgco2e_per_node
    drawn_kw = groups.idle_kwh_per_node / groups.hours
    a_kw = np.divide(idle, drawn_kw, out=np.full_like(idle, np.inf), where=drawn_kw > 0)
    least = np.full(worth.shape, np.inf)
    np.minimum.at(least, groups.site[~groups.off_site], np.maximum(a_kw[~groups.off_site], 0.0))
    kept: Floats = np.divide(least, worth, out=np.ones_like(worth), where=worth > 0)
    return np.minimum(1.0, JUST * kept)


def _alone(program: Program, worth: dict[str, float]) -> Any:
    """What is stored and used, where each kilowatt of a row that ties it to the fleet costs its worth."""
    rows, objective = program.model.constraints, program.model.objective
    model = pulp.LpProblem("energy", pulp.LpMinimize)
    cost = {
        variable: objective.get(variable, 0.0)
        for family in OF_ENERGY
        for variable in getattr(program, family).ravel()
        if variable is not None
    }
    for row, price in worth.items():
        for variable, amount in rows[row].items():
            if variable in cost:
                cost[variable] += price * amount
    model.setObjective(pulp.LpAffineExpression(cost))
    for row, expression in rows.items():
        if row.startswith(tuple(stem + "_" for stem in OWN)):
            model.addConstraint(expression.copy(), row)
    return model


class _EarnsError(ValueError):
    """Idling or a stop would earn at these prices: the program is not meant for that."""


def _worth_less(problem: Problem, import_worth: Floats, fixed_worth: Floats) -> Problem:
    """The problem without batteries and the sun, each kilowatt of load [S, T, Y] at so much less.

    Raises:
        _EarnsError: idling or a stop would earn.
    """
    money, carbon = problem.objective.money_weight, problem.objective.carbon_weight
    kinds, weight = (("usd", "kgco2e") if money > 0 else ("kgco2e", "usd")), money or carbon
    groups, drawn = problem.node_groups, problem.drawing.drawn_kw
    own, hours, slot_h = ~groups.off_site, groups.hours, problem.slots.hours.T
    still = (import_worth + fixed_worth)[groups.site] * own[:, None, None] / weight  # [P, T, Y] of a kW
    moving = import_worth[groups.site] * own[:, None, None] / weight
    mean = still.sum(axis=2) / hours  # [P, T] of a kWh that is drawn in every hour alike
    long = np.where(slot_h > 0, slot_h, np.inf)
    of_kwh, of_moving = still / long, moving / long  # [P, T, Y]
    runs, serves, resting, switching = (
        problem.run_options,
        problem.serve_options,
        problem.resting,
        problem.switching,
    )

    def less(table: Any, **by: Floats) -> Any:
        """Money and carbon as one, as what load is worth may be more than either."""
        if not len(table):
            return table
        changed, earns = {}, False
        for stem, amount in by.items():
            usd, kgco2e = (getattr(table, stem.replace("cost", kind)) for kind in ("usd", "kgco2e"))
            one, other = (stem.replace("cost", kind) for kind in kinds)
            changed[one] = (money * usd + carbon * kgco2e) / weight - amount
            changed[other] = 0 * kgco2e
            earns |= stem.startswith(NEVER_EARNED) and bool((changed[one] < 0).any())
        if earns:
            raise _EarnsError
        return replace(table, **changed)

    lower = less(groups, idle_cost_per_node=mean * groups.idle_kwh_per_node)
    lower = less(lower, off_cost_per_node=mean * groups.off_kwh_per_node)
    idle_kw = groups.idle_kwh_per_node / hours
    of_replica = (still[serves.node_group] * drawn).sum(axis=2)
    of_replica = of_replica + (idle_kw * mean)[serves.node_group] * serves.node_hours
    replica = of_kwh[serves.node_group]

    def work(options: Options) -> Options:
        found: Options = less(options, cost_per_node_h=mean[options.node_group] * options.kwh_per_node_h)
        return found

    def shifts(options: WorkOptions | PausableOptions, table: Shifting) -> Shifting:
        """A slot has what differs from the mean; hours lost at stops are no load that is fixed."""
        at = options.node_group
        kw = options.kwh_per_node_h - idle_kw[at]
        lost = (mean - moving.sum(axis=2) / hours)[at] * kw * table.stop_h[:, None]
        found: Shifting = less(
            table,
            cost_per_node_h=kw[:, :, None] * (of_moving[at] - mean[at][:, :, None]),
            lent_cost_per_node_h=of_moving[at] * table.lent_kwh_per_node_h,
            stop_cost=lost,
        )
        return found

    works, pausable = (
        shifts(options, table)
        for options, table in (
            (problem.work_options, problem.work_shifts),
            (problem.pausable_options, problem.pausable_shifts),
        )
    )
    power, fine = problem.limits, has_energy(problem)
    return replace(
        without_energy(problem),
        node_groups=lower,
        run_options=less(runs, cost=mean[runs.node_group] * runs.kwh),
        serve_options=less(serves, cost=of_replica),
        work_options=work(problem.work_options),
        pausable_options=work(problem.pausable_options),
        work_shifts=works,
        pausable_shifts=pausable,
        resting=less(resting, quiet_cost=replica * resting.quiet_kwh, rest_cost=replica * resting.rest_kwh),
        switching=less(switching, off_cost=of_kwh * switching.off_kwh),
        limits=replace(
            power,
            power_kw=np.where(fine[:, None], np.inf, power.power_kw),
            shared_power_kw=np.where(shares_energy(problem)[:, None], np.inf, power.shared_power_kw),
        ),
    )
