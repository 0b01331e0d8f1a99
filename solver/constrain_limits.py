"""Constraints of what may not be exceeded: power, space, the market, contracts, money, carbon."""

from __future__ import annotations

import numpy as np
import pulp

from solver.account_energy import has_energy, shares_energy
from solver.constrain_energy import net_of_period
from solver.program import Program
from solver.rows import Index, Part, cells, each, grouped, linear, made, name, summed
from solver.slot_parts import energy_of_slots
from solver.tables import Flags, Floats, Whole
from solver.totals import THOUSAND, weighted_total


def stay_within_power(program: Program) -> None:
    """sum_p idle[p] * n[p,t] + (off[p] - idle[p]) * parked[p,t] + sum_x kw[x] * x[t] <= power_kw[s,t] + give

    Over the node groups at s that are not off-site. x is every run, replica and mean node of work and of
    pausable jobs, and kw[x] what it draws above idle. Sites with a battery or the sun keep it slot by slot.
    """
    limit, every = program.problem.limits.power_kw, np.arange(len(program.problem.site_names))
    program.add_rows(
        "power",
        cells(*limit.shape),
        pulp.LpConstraintLE,
        np.where(has_energy(program.problem)[:, None], np.inf, limit).ravel(),
        *_drawn(program, every, every >= 0),
        program.gives("power", limit),
    )


def stay_within_shared_power(program: Program) -> None:
    """sum_s (power of s in t) <= shared_power_kw[f,t] + give, over the sites s of f"""
    limits = program.problem.limits
    parts = [
        part
        for number, sites in enumerate(limits.shared_power_sites)
        for part in _drawn(program, np.full(len(sites), number), sites)
    ]
    if not parts:
        return
    limit, fine = limits.shared_power_kw, shares_energy(program.problem)
    program.add_rows(
        "shared_power",
        cells(*limit.shape),
        pulp.LpConstraintLE,
        np.where(fine[:, None], np.inf, limit).ravel(),
        *parts,
        program.gives("shared power", limit),
    )


def pay_for_space(program: Program) -> None:
    """sum_p kw[p] * n[p,t] - beyond[s,t] <= committed_kw[s,t], over the node groups at s, where any is"""
    groups, committed = program.problem.node_groups, program.problem.places.committed_kw
    some = committed > 0
    kw = np.outer(groups.space_kw * ~groups.off_site, np.ones(program.problem.periods))
    program.add_rows(
        "occupied",
        cells(*committed.shape),
        pulp.LpConstraintLE,
        np.where(some, committed, np.inf).ravel(),
        grouped(groups.site, program.in_service, kw * some[groups.site]),
        each(program.beyond, np.where(some, -1.0, 0.0)),
    )


def _drawn(program: Program, row: Whole, counted: Flags) -> tuple[Part, ...]:
    """Facility power at the peak of the sites that count, each in the row that is told for it."""
    problem, groups = program.problem, program.problem.node_groups
    runs, serves = problem.run_options, problem.serve_options
    works, pausable = problem.work_options, problem.pausable_options
    flat, at = np.ones(problem.periods), row[groups.site]
    here = (~groups.off_site & counted[groups.site]).astype(float)
    parked = (groups.off_kw - groups.idle_kw) * groups.may_park * here
    return (
        grouped(at, program.in_service, np.outer(groups.idle_kw * here, flat)),
        grouped(at, program.parked, np.outer(parked, flat)),
        grouped(at[runs.node_group], program.run, runs.active_kw * here[runs.node_group][:, None]),
        grouped(
            at[serves.node_group],
            program.replicas,
            np.outer(serves.active_kw * here[serves.node_group], flat),
        ),
        grouped(
            at[works.node_group],
            program.work,
            np.outer(works.active_kw * here[works.node_group], flat),
        ),
        grouped(
            at[pausable.node_group],
            program.done,
            np.outer(pausable.active_kw * here[pausable.node_group], flat),
        ),
    )


def stay_within_space(program: Program) -> None:
    """sum_p racks[p] * n[p,t] + sum_r racks[r,t] * run[r] <= racks[s] + give

    Over the node groups at s that are not off-site, and the runs there that hold room next to their nodes.
    """
    problem, groups, limit = program.problem, program.problem.node_groups, program.problem.limits.racks
    site, variables, sizes = program.gives("space", limit)
    periods = problem.periods
    every = np.repeat(site, periods) * periods + np.tile(np.arange(periods), len(site))
    racks = np.outer(groups.racks_per_node * ~groups.off_site, np.ones(periods))
    runs = problem.run_options
    here = ~groups.off_site[runs.node_group][:, None]
    program.add_rows(
        "space",
        cells(len(limit), periods),
        pulp.LpConstraintLE,
        np.repeat(limit, periods),
        grouped(groups.site, program.in_service, racks),
        grouped(groups.site[runs.node_group], program.run, runs.racks * here),
        (every, np.repeat(variables, periods), np.repeat(sizes, periods)),
    )


def stay_within_supply(program: Program) -> None:
    """sum_p unit[p] * order[p,t] <= supply[k,t] + give, over the node groups of k"""
    groups, limit = program.problem.node_groups, program.problem.limits.supply_nodes
    program.add_rows(
        "supply",
        cells(*limit.shape),
        pulp.LpConstraintLE,
        limit.ravel(),
        grouped(
            groups.sku, program.order, np.repeat(groups.order_unit_nodes[:, None], limit.shape[1], axis=1)
        ),
        program.gives("supply", limit),
    )


def order_enough_or_nothing(program: Program) -> None:
    """minimum[p] * some[p] - give <= sum_t unit[p] * order[p,t];  order[p,t] <= most[p,t] * some[p]"""
    problem = program.problem
    for group in np.flatnonzero(problem.limits.minimum_nodes > 0):
        minimum, unit = (
            float(problem.limits.minimum_nodes[group]),
            float(problem.node_groups.order_unit_nodes[group]),
        )
        some = pulp.LpVariable(program.prefix + name("some", (group,)), 0, 1, pulp.LpInteger)
        row = linear(
            [(order, unit) for order in program.order[group]],
            [(some, -minimum)],
            program.slack("minimum order", (int(group),), minimum),
        )
        program.add(name("minimum", (group,)), row, pulp.LpConstraintGE, 0.0)
        for period, order in enumerate(program.order[group]):
            if order.upBound:
                least = linear([(order, 1.0), (some, -order.upBound)])
                program.add(name("ordered", (group, period)), least, pulp.LpConstraintLE, 0.0)


def reach_tiers(program: Program) -> None:
    """sum_p,t rebated[g,p,t] >= from[g] * tier[g];  sum_g tier[g] <= 1 per SKU

    sum_g rebated[g,p,t] <= unit[p] * order[p,t];  rebated[g,p,t] <= most[p,t] * tier[g]

    All nodes of a SKU are cheaper by the rebate of the one tier that is reached; without a tier, none is.
    """
    problem, tiers, groups = program.problem, program.problem.tiers, program.problem.node_groups
    if len(tiers) == 0:
        return
    most = program.most_rebated
    shape, count = most.shape, np.arange(len(tiers))
    taken = (most > 0).astype(float)
    program.add_rows(
        "tier",
        cells(len(tiers)),
        pulp.LpConstraintGE,
        np.zeros(len(tiers)),
        summed(count, program.rebated, taken),
        each(program.tier, -tiers.from_nodes),
    )
    program.add_rows(
        "one_tier",
        cells(len(problem.sku_names)),
        pulp.LpConstraintLE,
        np.ones(len(problem.sku_names)),
        summed(tiers.sku, program.tier),
    )
    place = np.tile(np.arange(shape[1] * shape[2]), shape[0])
    program.add_rows(
        "rebated",
        cells(*shape[1:]),
        pulp.LpConstraintLE,
        np.where(taken.any(axis=0), 0.0, np.inf).ravel(),
        summed(place, program.rebated.ravel(), taken.ravel()),
        each(program.order, -groups.order_unit_nodes[:, None]),
    )
    program.add_rows(
        "rebate",
        cells(*shape),
        pulp.LpConstraintLE,
        np.where(taken > 0, 0.0, np.inf).ravel(),
        each(program.rebated, taken),
        grouped(count, program.tier, -most.reshape(len(tiers), -1)),
    )


def stay_within_budget(program: Program) -> None:
    """sum_p capex[p,t] * (unit[p] * order[p,t] - less[p,t]) + data[t] + put_up[t] <= budget[t] + give

    less[p,t] = sum_g rebate[g] * rebated[g,p,t]
    data[t] = sum_r begins[r,t] * bought[r] * run[r] + sum_e bought[e] * (done[e,t] - lost[e,t])
    put_up[t] = sum_s (battery_capex[s,t] * battery[s] + solar_capex[s,t] * solar[s])

    In thousands. What is bought for a job that may pause is paid as it is done, batteries and the sun's cells
    when they are put up.
    """
    problem, groups, tiers = program.problem, program.problem.node_groups, program.problem.tiers
    runs, pausable = problem.run_options, problem.pausable_options
    begins = runs.start[:, None] == np.arange(problem.periods)
    budget, capex = problem.limits.budget_usd, groups.capex_usd_per_node / THOUSAND
    rebate = tiers.rebate_fraction[:, None, None] * capex * (program.most_rebated > 0)
    one = np.zeros(len(groups), dtype=np.int64)
    data = np.outer(pausable.bought_usd_per_node_h, groups.hours) / THOUSAND
    row, variables, sizes = program.gives("budget", budget)
    program.add_rows(
        "budget",
        cells(len(budget)),
        pulp.LpConstraintLE,
        budget / THOUSAND,
        grouped(one, program.order, capex * groups.order_unit_nodes[:, None]),
        grouped(
            np.zeros(rebate.shape[0] * len(groups), dtype=np.int64),
            program.rebated.reshape(-1, problem.periods),
            -rebate.reshape(-1, problem.periods),
        ),
        grouped(
            np.zeros(len(runs), dtype=np.int64), program.run, runs.bought_usd[:, None] * begins / THOUSAND
        ),
        grouped(
            np.zeros(len(pausable), dtype=np.int64),
            program.done,
            data,
        ),
        grouped(np.zeros(len(pausable), dtype=np.int64), program.lost_done, -data * made(program.lost_done)),
        *_put_up(program),
        (row, variables, sizes / THOUSAND),
    )


def _put_up(program: Program) -> tuple[Part, ...]:
    """Cash for batteries and the sun's cells, in thousands, in the rows of the budget; none without slots."""
    table, every = program.problem.site_energy, np.zeros(len(program.problem.site_names), dtype=np.int64)
    if not len(program.problem.slots):
        return ()
    return tuple(
        grouped(every, bought, price / THOUSAND * made(bought))
        for bought, price in (
            (program.battery, table.battery_capex_usd_per_kwh),
            (program.solar, table.solar_capex_usd_per_kw),
        )
    )


def match_clean_energy(program: Program) -> None:
    """sum_c matched[c,t] <= energy drawn at s in t, both as mean kW

    drawn = sum_p idle[p,t] * idle nodes + off[p,t] * parked[p,t] + sum_x kwh[x,t] * x[t] + (slots)

    Of slots it is what rests, is off or works on lent nodes; stops and wakes are left uncovered. What
    batteries lose comes on top; the sun, and what work does not draw in calls, are taken off.
    """
    problem, groups, contracts = program.problem, program.problem.node_groups, program.problem.contracts
    if len(contracts) == 0:
        return
    runs, serves = problem.run_options, problem.serve_options
    works, pausable, hours = problem.work_options, problem.pausable_options, problem.node_groups.hours
    work_kwh, pausable_kwh = works.kwh_per_node_h * hours, pausable.kwh_per_node_h * hours
    here = (~groups.off_site).astype(float)[:, None]
    idle, off = here * groups.idle_kwh_per_node / hours, here * groups.off_kwh_per_node / hours

    def above_idle(group: Whole, kwh: Floats, node_hours: Floats) -> Floats:
        return here[group] * kwh / hours - idle[group] * node_hours / hours

    serve_kw = above_idle(serves.node_group, serves.kwh, serves.node_hours)
    shape = (len(problem.site_names), problem.periods)
    bought = np.isin(np.arange(shape[0]), contracts.site)
    program.add_rows(
        "clean",
        cells(*shape),
        pulp.LpConstraintLE,
        np.where(np.repeat(bought, problem.periods), 0.0, np.inf),
        grouped(contracts.site, program.matched, np.ones(program.matched.shape)),
        grouped(groups.site, program.in_service, -idle),
        grouped(groups.site, program.rented, -idle * (groups.rental_limit_nodes > 0)),
        grouped(groups.site, program.parked, (idle - off) * groups.may_park[:, None]),
        grouped(
            groups.site[runs.node_group], program.run, -above_idle(runs.node_group, runs.kwh, runs.node_hours)
        ),
        grouped(groups.site[serves.node_group], program.replicas, -serve_kw),
        grouped(groups.site[works.node_group], program.work, -above_idle(works.node_group, work_kwh, hours)),
        grouped(
            groups.site[pausable.node_group],
            program.done,
            -above_idle(pausable.node_group, pausable_kwh, hours),
        ),
        *energy_of_slots(program, groups.site, -here[:, 0]),
        *net_of_period(program, -1.0),
        *(
            grouped(
                groups.site[one.node_group],
                lost,
                here[one.node_group] * one.stopped_kwh_per_node_h * made(lost),
            )
            for one, lost in ((works, program.lost), (pausable, program.lost_done))
        ),
    )


def keep_contracts_level(program: Program) -> None:
    """matched[c,t] = matched[c,t-1], in mean kW, for contracts of a fixed share"""
    fixed = program.problem.contracts.fixed_share
    shape = program.matched.shape
    level = np.zeros(shape)
    level[:, 0] = np.inf
    level[~fixed] = np.inf
    program.add_rows(
        "level",
        cells(*shape),
        pulp.LpConstraintEQ,
        level.ravel(),
        each(program.matched),
        grouped(np.arange(shape[0]), program.matched, -np.ones(shape), later=1),
    )


def stay_below_carbon_cap(program: Program) -> None:
    """(all terms of carbon) / 1000 <= (cap + give) / 1000"""
    cap = program.problem.limits.carbon_cap_kgco2e
    _stay_below(program, "carbon cap", (), cap, money=0.0, carbon=1.0)


def stay_below_carbon_cap_by_period(program: Program) -> None:
    """(all terms of carbon in t) / 1000 <= (cap[t] + give) / 1000; jobs left out belong to no period"""
    for period, cap in enumerate(program.problem.limits.carbon_cap_by_period_kgco2e.tolist()):
        _stay_below(program, "carbon cap by period", (period,), cap, money=0.0, carbon=1.0)


def stay_below_money_cap(program: Program) -> None:
    """(all terms of money) / 1000 <= (cap + give) / 1000"""
    cap = program.problem.limits.money_cap_usd
    _stay_below(program, "money cap", (), cap, money=1.0, carbon=0.0)


def _stay_below(
    program: Program, family: str, index: Index, cap: float, *, money: float, carbon: float
) -> None:
    """(money * USD + carbon * kgCO2e) / 1000 <= (cap + give) / 1000"""
    if not np.isfinite(cap):
        return
    period = index[0] if index else None
    total = weighted_total(program, money / THOUSAND, carbon / THOUSAND, period)
    for variable, size in program.slack(family, index, abs(cap)):
        total[variable] = -size / THOUSAND
    program.add(name(family.replace(" ", "_"), index), total, pulp.LpConstraintLE, cap / THOUSAND)
