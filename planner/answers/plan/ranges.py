"""Ranges of totals: what is bought stays, and in each draw the operation is chosen again.

A draw has facts of its own, and rates, demand, failures and deliveries as they may turn out. The bought fleet
then does the work as cheaply as it can: placed anew, demand left out at the stated penalty, and what is still
short rented by the hour at the catalogue's price.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from planner.answers.plan.fleet import nodes_text
from planner.inputs.scenario import Pool, Service
from planner.physics.chance import (
    TRAINING_ERROR,
    delivery_slack,
    demand_sigmas,
    pool_sigma,
    serving_sigma,
)
from planner.program.operation import NONE, Desk, Means, Operation, Prices, World, desk, operate
from planner.program.plan import Plan, Watch, silent
from planner.program.solution import Solution, spares_at_hand
from planner.trace.columns import Floats
from planner.trace.numbers import money, percent_text
from planner.trace.origins import facts_of
from planner.trace.quantities import Fact, Traced
from planner.trace.recomputation import recomputed
from planner.trace.records import Record, total_records
from planner.trace.uncertainty import Spread, draw_facts, ranged_facts, stratified

QUANTILES = (0.05, 0.5, 0.95)
MOVED = {"cost": "usd", "carbon": "kgco2e", "carbon_location": "uncontracted_kgco2e", "energy": "kwh"}
P95 = float(ndtri(0.95))
SAID_EVERY = 8  # draws
SMALL = 1e-4  # share of requests
SAID_FROM = 0.1  # share of the width below which what is rented is no news


@dataclass(frozen=True)
class Held:
    """In what share of the draws the fleet does the work, and what is short in the others."""

    draws: int
    share: float
    undone: float  # share of draws in which work is left that nobody rents nodes for
    rented: float  # the most nodes at once, in the middle of the draws that rent
    whole: bool
    cost_usd: tuple[float, float] = (0.0, 0.0)  # p5 and p95
    owned_usd: tuple[float, float] = (0.0, 0.0)  # the same without what is rented by the hour beyond the plan
    divisible: bool = True  # whether there are services or pools: runs stay as they are in every draw
    dropped: float = 0.0  # share of draws in which more requests are left at their penalty than in the plan

    @property
    def rent_share(self) -> float:
        """The share of the width of the cost's range that is rent by the hour beyond the plan."""
        width, without = (high - low for low, high in (self.cost_usd, self.owned_usd))
        return max(1.0 - without / width, 0.0) if width > 0 else 0.0

    def record(self) -> Record:
        """The shares of draws, as the document keeps them; of runs alone nothing is placed again."""
        if not self.divisible:
            return {"draws": self.draws, "enough_fraction": None, "undone_fraction": None}
        return {"draws": self.draws, "enough_fraction": self.share, "undone_fraction": self.undone}


def ranged_totals(
    plan: Plan,
    solution: Solution,
    named: Mapping[str, tuple[str, Traced]],
    draws: int,
    *,
    watch: Watch = silent,
) -> tuple[list[Record], Held]:
    """Totals with their ranges, and how often the fleet holds; `watch` is called at every eighth draw."""
    at = desk(plan.inputs, plan.assembled, solution)
    targets = [node for _, node in named.values()]
    failing = plan.assembled.nodes.failure_rate_per_node_h
    traced = {**at.traced, "failures": failing}
    facts = ranged_facts(*targets, *traced.values())
    columns = dict(zip((fact.key for fact in facts), draw_facts(facts, draws, 0), strict=True))
    drawn = [{key: float(column[i]) for key, column in columns.items()} for i in range(draws)]
    watch("drawing the ranges")
    every = recomputed([*targets, *traced.values()], drawn)
    worlds, waits = _worlds(plan, solution, at, draws)
    results, on_top, undone, dropped, rents = [], [], [], [], []
    for i, (values, world, wait) in enumerate(zip(every, worlds, waits, strict=True)):
        if i and i % SAID_EVERY == 0:
            watch(f"drawing the ranges: {i} of {draws}")
        known = dict(zip(traced, values[len(targets) :], strict=True))
        prices = at.prices(known)
        there = _less_failed(plan, solution, world, np.asarray(known["failures"]))
        stated, found = (_operated(at, one, prices) for one in (at.stated(), there))
        more = {name: getattr(found, kind) - getattr(stated, kind) for name, kind in MOVED.items()}
        weights = plan.problem.objective
        more["objective"] = weights.money_weight * more["cost"] + weights.carbon_weight * more["carbon"]
        results.append(
            [float(value) + more.get(name, 0.0) for name, value in zip(named, values, strict=False)]
        )
        worst = _operated(at, there.less_at_once(wait), prices) if wait.any() else found
        on_top.append(_on_top(at, stated, worst))
        undone.append(_undone(plan, worst))
        dropped.append(_dropped(plan, solution, stated, worst))
        rents.append(_rent_usd(at, prices, known, found) - _rent_usd(at, prices, known, stated))
    bands = [Spread(*(float(q) for q in np.quantile(column, QUANTILES))) for column in np.array(results).T]
    cost = np.array(results)[:, list(named).index("cost")]
    ends = [tuple(np.quantile(each, [QUANTILES[0], QUANTILES[-1]]).tolist()) for each in (cost, cost - rents)]
    short = np.array(on_top) > NONE
    left, more_left = np.array(undone), np.array(dropped)
    held = Held(
        draws,
        share=float(1.0 - (short | left | more_left).mean()),
        undone=float(left.mean()),
        rented=float(np.median(np.array(on_top)[short])) if short.any() else 0.0,
        whole=at.whole,
        cost_usd=ends[0],
        owned_usd=ends[1],
        divisible=bool(plan.problem.services.name or plan.problem.work.name),
        dropped=float(more_left.mean()),
    )
    return total_records(named, draws, bands, _of_worlds(plan)), held


def held_sentences(held: Held) -> list[str]:
    """What the ranges of totals stand on."""
    if not held.divisible:
        return [
            f"The ranges are of {held.draws} draws of facts; whether runs are done in time is said above."
        ]
    where = "" if held.whole else ", where they are done already"
    said = (
        f"The ranges are of {held.draws} draws of facts, rates, demand, failures and deliveries. In each, "
        f"services and pools are placed again on the fleet of this plan{where}"
    )
    if held.rented > 0.0:
        nodes = math.ceil(held.rented)
        said += (
            f". Where that is not enough, nodes are rented by the hour, which the ranges pay for: in half of "
            f"these draws no more than {nodes_text(nodes)} at once"
        )
    if held.share < 1.0 and held.rent_share > SAID_FROM:
        low, high = (money(end) for end in held.owned_usd)
        said += (
            f". That rent is {percent_text(held.rent_share, 0)} of the width of the cost's range "
            f"({money(held.cost_usd[0])} to {money(held.cost_usd[1])}, p5 to p95); without it the range is "
            f"{low} to {high}"
        )
    if held.dropped:
        said += f"; in {percent_text(held.dropped, 0)} more requests are left out, at their penalty"
    if held.undone:
        said += f"; in {percent_text(held.undone, 0)} work is left undone that no rented node can do"
    return [f"{said}."]


def _rent_usd(at: Desk, prices: Prices, known: Mapping[str, Any], found: Operation) -> float:
    """What an operation pays for nodes by the hour: those on top, and those of the offers of the scenario."""
    rented = found.rented > NONE
    usd = float((found.rented[rented] * prices.hourly["usd"][rented]).sum())
    if "hired_usd" not in known or not at.hired.size:
        return usd
    problem = at.problem
    serves, works = problem.serve_options, problem.work_options
    by_group = np.zeros((len(problem.node_groups), problem.periods))
    np.add.at(by_group, serves.node_group, found.serving / serves.nodes[:, None] * serves.node_hours)
    np.add.at(by_group, works.node_group, found.working)
    price = np.broadcast_to(known["hired_usd"], (at.hired.size, problem.periods))
    whole = 0.0 if found.unfilled is None else float((found.unfilled * prices.hired["usd"]).sum())
    return usd + float((by_group[at.hired] * price).sum()) + whole


def _operated(at: Desk, world: World, prices: Prices) -> Operation:
    found = operate(at, world, Means(rent=True, drop=True), prices)
    assert found is not None, "with nodes to rent there is always an operation"
    return found


def _on_top(at: Desk, stated: Operation, found: Operation) -> float:
    """The most nodes at once that are rented by the hour beyond what the plan does."""
    more = found.rented.sum(axis=0) + at.hired_beyond(found, stated).sum(axis=0)
    return float(more.max(initial=0.0))


def _undone(plan: Plan, found: Operation) -> bool:
    """Whether work is left that nobody said what it would cost to leave."""
    stated = np.isfinite(plan.problem.services.unmet_usd)
    return bool((found.unserved[~stated] > NONE).any() or (found.undone > NONE).any())


def _dropped(plan: Plan, solution: Solution, stated: Operation, found: Operation) -> bool:
    """Whether more requests are left at their penalty than the plan leaves."""
    priced = np.isfinite(plan.problem.services.unmet_usd)
    planned = np.maximum(stated.unserved, solution.shed_fraction)
    return bool((found.unserved > planned + SMALL)[priced].any())


def _worlds(plan: Plan, solution: Solution, at: Desk, draws: int) -> tuple[list[World], list[Floats]]:
    """Demand, rates and deliveries as they may turn out; failures follow from the facts of a draw.

    Nodes that are late are missing in the mean of a period, which money counts; next to it, how many more are
    missing at its start, when services need them already.
    """
    inputs, problem = plan.inputs, plan.problem
    groups, serves, works = problem.node_groups, problem.serve_options, problem.work_options
    services, pools = inputs.scenario.services, inputs.scenario.pools
    served = list(zip(serves.service.tolist(), groups.sku[serves.node_group].tolist(), strict=True))
    worked = list(zip(works.work.tolist(), groups.sku[works.node_group].tolist(), strict=True))
    rate = _each({at: float(serving_sigma(inputs, services[at[0]], at[1]).value) for at in {*served}}, served)
    speed = _each(
        {at: float(np.asarray(pool_sigma(inputs, pools[at[0]], at[1]).value)) for at in {*worked}}, worked
    )
    wanted, needed = _spread(plan, services), _spread(plan, pools)
    names = {
        "demand": [one.name for one in services],
        "need": [one.name for one in pools],
        "rate": [sku.name for sku in inputs.skus],
        "late": [sku.name for sku in inputs.skus],
    }
    drawn = stratified([f"{what} {name}" for what, every in names.items() for name in every], draws, [0, 1])
    normal = {
        what: np.array([ndtri(drawn[f"{what} {name}"]) for name in every]).reshape(-1, draws)
        for what, every in names.items()
    }
    orders, stated = _orders(plan, solution), at.stated()
    late = [_late(plan, orders, normal["late"][:, i]) for i in range(draws)]
    worlds = [
        World(
            stated.services * np.exp(wanted * normal["demand"][:, [i]]),
            stated.pools * np.exp(needed * normal["need"][:, [i]]),
            np.exp(rate * normal["rate"][groups.sku[serves.node_group], i]),
            np.exp(speed * normal["rate"][groups.sku[works.node_group], i]),
            at.there,
            at.at_once,
        ).less(late[i][0])
        for i in range(draws)
    ]
    return worlds, [at_first - mean for mean, at_first in late]


def _each(known: Mapping[tuple[int, int], float], pairs: Sequence[tuple[int, int]]) -> Floats:
    return np.array([known[pair] for pair in pairs], dtype=float)


def _spread(plan: Plan, works: Sequence[Service] | Sequence[Pool]) -> Floats:
    """Error of demand by work and period."""
    if not works:
        return np.zeros((0, plan.problem.periods))
    return np.asarray(demand_sigmas(plan.inputs, works).value, dtype=float)


def _orders(plan: Plan, solution: Solution) -> list[tuple[int, int, int, float]]:
    """Node group, period of arrival, nodes and slack of each order."""
    groups, found = plan.problem.node_groups, []
    for p, t in np.argwhere(solution.orders > 0).tolist():
        arrives = t + int(groups.lead_periods[p])
        if arrives < plan.problem.periods:
            slack = float(delivery_slack(plan.inputs, int(groups.sku[p]), t, arrives).value)
            found.append((p, arrives, int(solution.orders[p, t] * groups.order_unit_nodes[p]), slack))
    return found


def _late(plan: Plan, orders: Sequence[tuple[int, int, int, float]], normal: Floats) -> tuple[Floats, Floats]:
    """Nodes that are not there yet, in the mean of each period and at its start; a SKU is late as one."""
    groups = plan.problem.node_groups
    missing, at_first = np.zeros((2, len(groups), plan.problem.periods))
    for p, arrives, nodes, slack_h in orders:
        late_h = (
            float(plan.inputs.fact("planning.delivery_delay").value) * normal[groups.sku[p]] / P95 - slack_h
        )
        for t in range(arrives, plan.problem.periods):
            missing[p, t] += nodes * min(max(late_h, 0.0) / groups.hours[t], 1.0)
            at_first[p, t] += nodes * (late_h > 0.0)
            late_h -= float(groups.hours[t])
    return missing, at_first


def _less_failed(plan: Plan, solution: Solution, world: World, rate: Floats) -> World:
    """The world with the nodes under repair that spares have no room for."""
    repair_h = float(plan.inputs.repair().value)
    used = solution.in_use
    down, planned = (
        (each := value.reshape(len(used), -1) * repair_h) / (1.0 + each) * used
        for value in (rate, np.asarray(plan.assembled.nodes.failure_rate_per_node_h.value))
    )
    missing = np.maximum(down - np.maximum(spares_at_hand(plan.problem, solution.spares), planned), 0.0)
    return world.less(missing)


def _of_worlds(plan: Plan) -> list[Fact]:
    """Facts by which rates, demand and deliveries are drawn."""
    inputs, nodes = plan.inputs, [plan.inputs.fact("planning.delivery_delay")]
    services, pools = inputs.scenario.services, inputs.scenario.pools
    held: list[Traced] = [demand_sigmas(inputs, every) for every in (services, pools) if every]
    skus = np.unique(plan.problem.node_groups.sku[plan.problem.serve_options.node_group]).tolist()
    held += [serving_sigma(inputs, service, k) for service in services for k in skus]
    if pools:
        held.append(inputs.fact(TRAINING_ERROR))
    return [*nodes, *facts_of(*held).values()]
