"""The variables of a program within their bounds; those of the fleet may be lent by another program."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pulp
from numpy.typing import NDArray

from solver import bounds
from solver.account import held_in_part, whole_nodes
from solver.account_energy import FLOWS, has_energy
from solver.account_slots import curtailed_fraction
from solver.problem import PausableOptions, Problem, WorkOptions
from solver.program import Program
from solver.rows import Variables, array, name
from solver.slots import BySlot
from solver.tables import Flags, Floats, Whole

LENT = ("order", "retire", "sell", "move", "commit", "battery", "solar")


def empty(
    problem: Problem,
    relaxed: frozenset[str] = frozenset(),
    *,
    prefix: str = "",
    first_stage: Program | None = None,
    siblings: Iterable[Problem] = (),
    shared_periods: int | None = None,
) -> Program:
    """All variables, and no row yet.

    `first_stage` lends its model and what it orders, retires, sells and moves before `shared_periods`;
    `siblings` are problems that share these decisions, so that orders are bounded by what is of use to any
    of them.
    """
    siblings = tuple(siblings)
    most = bounds.sizes(problem, any_lateness="deadlines" in relaxed)
    others = [bounds.sizes(other, any_lateness=False) for other in siblings]
    orders = np.max([one.orders for one in (most, *others)], axis=0)
    useful = np.max([one.useful for one in (most, *others)], axis=0)
    parts: dict[str, Any] = _use_of_node_groups(problem, most, useful, prefix)
    parts |= _tasks(problem, most, prefix, anything_left_out="jobs" in relaxed)
    parts |= _slots(problem, most, prefix)
    rebated = bounds.most_rebated(problem, orders, any_supply="supply" in relaxed)
    sold = np.max([bounds.most_sold(one, orders) for one in (problem, *siblings)], axis=0)
    committed = np.max([bounds.most_committed(one, useful) for one in (problem, *siblings)], axis=0)
    parts |= _fleet(problem, orders, sold, committed, rebated, prefix)
    if first_stage is not None:
        shared = slice(0, problem.periods if shared_periods is None else shared_periods)
        _check_lent(first_stage, problem, orders, shared)
        for stem in LENT:
            parts[stem][:, shared] = getattr(first_stage, stem)[:, shared]
    return Program(
        problem=problem,
        model=first_stage.model if first_stage else pulp.LpProblem("everfleet", pulp.LpMinimize),
        relaxed=relaxed,
        prefix=prefix,
        first_stage=first_stage,
        most_in_use=most.in_use,
        most_rebated=rebated,
        **parts,
    )


def _whole(stem: str, most: NDArray[Any], counted: Flags | bool = True) -> Variables:
    return array(stem, most.shape, most, counted)


def _amount(stem: str, most: NDArray[Any]) -> Variables:
    return array(stem, most.shape, most, False)


def _some(stem: str, most: NDArray[Any]) -> Variables:
    """Amounts where there may be any; nothing is made elsewhere, which is nearly everywhere."""
    made = np.full(most.shape, None, dtype=object)
    some = most > 0
    made[some] = [
        pulp.LpVariable("_".join([stem, *map(str, place)]), 0, None if top == np.inf else float(top))
        for place, top in zip(np.argwhere(some).tolist(), most[some].tolist(), strict=True)
    ]
    return made


def _counted(stem: str, most: NDArray[Any]) -> Variables:
    """The same of whole numbers."""
    made = _some(stem, most)
    for variable in made[most > 0]:
        variable.cat = pulp.LpInteger
    return made


def _fleet(
    problem: Problem, orders: Whole, sold: Whole, committed: Floats, rebated: Floats, prefix: str
) -> dict[str, Variables]:
    """Decisions on the fleet, of which futures of a two-stage model share some."""
    cohorts, tiers = len(problem.cohorts), len(problem.tiers)
    commit = _whole(prefix + "commit", committed)
    for index in np.argwhere(problem.node_groups.rental_signed_nodes > 0).tolist():
        commit[tuple(index)].lowBound = float(problem.node_groups.rental_signed_nodes[tuple(index)])
    return {
        "order": _whole(prefix + "order", orders),
        "retire": _whole(prefix + "retire", bounds.most_retired(problem)),
        "sell": _whole(prefix + "sell", sold),
        "move": _whole(prefix + "move", bounds.most_moved(problem)),
        "commit": commit,
        "standing": array(prefix + "standing", (cohorts, problem.periods), None, False),
        "tier": _whole(prefix + "tier", np.ones(tiers)),
        "rebated": _some(prefix + "rebated", rebated),
        "reuse": _counted(prefix + "reuse", bounds.most_reused(problem)),
    }


def _use_of_node_groups(
    problem: Problem, most: bounds.Sizes, useful: Whole, prefix: str
) -> dict[str, Variables]:
    """What happens to the nodes of a node group: rented, spare, parked, in use; and the space they take."""
    shape = (len(problem.node_groups), problem.periods)
    whole = whole_nodes(problem, most.replicas)[1] * held_in_part(problem)
    return {
        "rented": _whole(
            prefix + "rented", bounds.most_rented(problem, most.useful, useful), ~problem.under_term[:, None]
        ),
        "whole": _counted(prefix + "whole", whole),
        "unfilled": _some(prefix + "unfilled", whole),
        "spares": _amount(prefix + "spares", most.spares),
        "parked": array(prefix + "parked", shape, None, False),
        "in_service": array(prefix + "in_service", shape, None, False),
        "in_use": _amount(prefix + "in_use", most.in_use),
        "beyond": _some(prefix + "beyond", np.where(problem.places.committed_kw > 0, np.inf, 0.0)),
    }


def _tasks(
    problem: Problem, most: bounds.Sizes, prefix: str, *, anything_left_out: bool
) -> dict[str, Variables]:
    """How jobs, services and work are carried, and what is not."""
    jobs, options, contracts = problem.jobs, problem.pausable_options, problem.contracts
    count, partial = jobs.count[options.job], jobs.partial[options.job]
    choose = _whole(prefix + "choose", count)
    return {
        "run": _runs(problem, most, prefix),
        "choose": choose,
        "completed": np.where(partial, _amount(prefix + "completed", count), choose),
        "done": _amount(prefix + "done", bounds.most_done(problem)),
        "left_out": _whole(
            prefix + "left_out", (jobs.optional | anything_left_out) * jobs.count, ~jobs.partial
        ),
        "replicas": _whole(prefix + "replicas", most.replicas, problem.serve_options.whole[:, None]),
        "started": _some(prefix + "started", bounds.most_started(problem, most.replicas)),
        "begun": _some(prefix + "begun", bounds.most_begun(problem, most.replicas)),
        "shed": _amount(prefix + "shed", np.isfinite(problem.services.unmet_usd).astype(float)),
        "work": _amount(prefix + "work", most.work),
        "adopt": _whole(prefix + "adopt", np.ones(len(problem.adoptions))),
        "lost": _lost(prefix + "lost", problem, problem.work_options, most.work),
        "lost_done": _lost(prefix + "lost_done", problem, options, bounds.most_done(problem)),
        "sign": _signs(problem, prefix),
        "matched": _amount(prefix + "matched", contracts.limit_kwh / problem.node_groups.hours),
    }


def _lost(stem: str, problem: Problem, options: WorkOptions | PausableOptions, most: Floats) -> Variables:
    """Mean nodes of hours that calls take, where any may be."""
    share = curtailed_fraction(problem, options)[:, None]
    return _some(stem, np.where(share > 0, share * most, 0.0))


def _signs(problem: Problem, prefix: str) -> Variables:
    """Whether a contract for curtailment is signed, at the sites that are offered one."""
    places = problem.places
    signs = np.full(len(places), None, dtype=object)
    for site in np.flatnonzero(places.curtailed_kw > 0).tolist():
        least = float(places.curtailment_obliged[site])
        signs[site] = pulp.LpVariable(name(prefix + "sign", (site,)), least, 1, pulp.LpInteger)
    return signs


def _runs(problem: Problem, most: bounds.Sizes, prefix: str) -> Variables:
    """How often each option runs; rows of one run at several sites have one variable, and its least bound."""
    options = problem.run_options
    upper = most.runs * problem.jobs.count[options.job]
    first, counts = options.first, options.counts
    np.minimum.at(upper, first, upper)
    found = np.full(len(options), None, dtype=object)
    for row in np.flatnonzero(counts).tolist():
        found[row] = pulp.LpVariable(name(prefix + "run", (row,)), 0, float(upper[row]), pulp.LpInteger)
    return found[first]


def _slots(problem: Problem, most: bounds.Sizes, prefix: str) -> dict[str, Variables]:
    """What is decided by slot; nothing where the problem has no slots."""
    count = len(problem.slots)

    def by_slot(stem: str, amounts: NDArray[Any], where: Flags, unbounded: bool = False) -> Variables:
        top = np.where(where & (amounts > 0), np.inf if unbounded else amounts, 0.0)
        return _some(prefix + stem, top[:, :, None] * np.ones(count))

    shifts, pauses, rests, switches = (
        _allowed(table, column, rows)
        for table, column, rows in (
            (problem.work_shifts, "may_move", len(problem.work_options)),
            (problem.pausable_shifts, "may_move", len(problem.pausable_options)),
            (problem.resting, "may_rest", len(problem.serve_options)),
            (problem.switching, "may_switch", len(problem.node_groups)),
        )
    )
    done = bounds.most_done(problem)
    replicas = most.replicas.astype(float)
    group = problem.serve_options.node_group
    can_lend = np.zeros((len(problem.node_groups), problem.periods), dtype=bool)
    np.logical_or.at(can_lend, group, rests & (replicas > 0))
    borrows = (
        _allowed(problem.work_shifts, "may_borrow", len(problem.work_options))
        & can_lend[problem.work_options.node_group]
    )
    peak = np.where((problem.places.peak_usd_per_kw > 0) & (count > 0), np.inf, 0.0)
    every = np.ones((len(problem.node_groups), problem.periods))
    above = _some(prefix + "above", peak)
    for variable in above[has_energy(problem)].ravel():
        if variable is not None:
            variable.lowBound = None  # a battery or the sun may draw below the power of the period
    return {
        "work_in": by_slot("work_in", most.work, shifts, unbounded=True),
        "work_stop": by_slot("work_stop", most.work, shifts, unbounded=True),
        "done_in": by_slot("done_in", done, pauses),
        "done_stop": by_slot("done_stop", done, pauses),
        "lent": by_slot("lent", most.work, borrows, unbounded=True),
        "quiet": by_slot("quiet", replicas, rests),
        "rest": by_slot("rest", replicas, rests),
        "wake": by_slot("wake", replicas, rests),
        "off": by_slot("off", every, switches, unbounded=True),
        "boot": by_slot("boot", every, switches, unbounded=True),
        "above": above,
        **_energy(problem, prefix),
    }


def _energy(problem: Problem, prefix: str) -> dict[str, Variables]:
    """Battery and sun of sites, in slots that have hours."""
    table, count = problem.site_energy, len(problem.slots)
    if not count:
        none = np.full((len(problem.site_names), problem.periods, 0), None, dtype=object)
        flows = dict.fromkeys(FLOWS, none)
        bought = np.full((len(none), 1), None, dtype=object)
        return {"battery": bought, "solar": bought, **flows}
    ready = (table.battery_ready > 0) & (table.most_kwh > 0)[:, None]
    there = (problem.slots.hours.T > 0) & ready[:, :, None]
    endless = np.where(there, np.inf, 0.0)
    # How much of what is bought is used, the rows say.
    more = np.where(table.solar_kw_per_kw * table.solar_most_kw[:, None, None] > 0, np.inf, 0.0)
    sun = np.where(problem.slots.hours.T > 0, table.sun_kw + more, 0.0)
    return {
        "battery": _some(prefix + "battery", table.most_kwh[:, None]),
        "solar": _some(prefix + "solar", table.solar_most_kw[:, None]),
        **{flow: _some(prefix + flow, endless) for flow in ("charge", "discharge", "stored")},
        "sun": _some(prefix + "sun", sun),
        "sun_moved": _some(prefix + "sun_moved", sun),
    }


def _allowed(table: BySlot, column: str, rows: int) -> Flags:
    """Which rows may do something by slot [., 1]; none without slots."""
    found: Flags = getattr(table, column)[:, None] if len(table) else np.zeros((rows, 1), dtype=bool)
    return found


def _check_lent(first_stage: Program, problem: Problem, orders: Whole, shared: slice) -> None:
    """The fleet of both programs is the same, and lent orders are bounded widely enough."""
    lender = first_stage.problem
    for table in ("node_groups", "cohorts", "moves", "sales", "tiers"):
        ours, theirs = len(getattr(problem, table)), len(getattr(lender, table))
        if ours != theirs:
            raise ValueError(f"first_stage has {theirs} rows of {table}, the problem has {ours}")
    if problem.periods != lender.periods:
        raise ValueError(f"first_stage has {lender.periods} periods, the problem has {problem.periods}")
    lent = np.array([variable.upBound for variable in first_stage.order.ravel()]).reshape(orders.shape)
    for group, period in np.argwhere((orders > lent)[:, shared])[:1]:
        raise ValueError(
            f"first_stage bounds order[{group}, {period}] at {lent[group, period]:g} units, but "
            f"{orders[group, period]} could be of use; name this problem among its siblings"
        )
