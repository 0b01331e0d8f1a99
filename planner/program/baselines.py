"""Plans to compare with: cost only, without purchases, keeping everything, and as operators usually do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, with_changes
from planner.inputs.scenario.schema_places import OF_CURTAILMENT
from planner.physics.failures import down_variance_to_mean
from planner.program.assembly import Assembled
from reliability.spares import mean_nodes_down, share_at_most
from solver.account import spares_at_hand
from solver.problem import Objective, Problem, Solution
from solver.stochastic import FirstStage

COST_ONLY = "cost only"
NO_PURCHASES = "no purchases"
KEEP_EVERYTHING = "keep everything"
USUAL_PRACTICE = "usual practice"

USUAL_INTERVAL = "60 min"
USUAL_SPARES = 0.03


def cost_only(problem: Problem) -> Problem:
    """The same work at the least cost, whatever it emits."""
    return replace(problem, objective=Objective(1.0, 0.0))


def without_purchases(problem: Problem) -> Problem:
    """The same work on nodes that stand today, of which any may be sold or scrapped.

    No battery and no cells of the sun are put up either; cells that stand stay.
    """
    allowed, table = np.zeros_like(problem.node_groups.purchase_allowed), problem.site_energy
    none = {name: np.zeros_like(getattr(table, name)) for name in ("most_kwh", "solar_most_kw")}
    return replace(
        problem,
        node_groups=replace(problem.node_groups, purchase_allowed=allowed),
        site_energy=replace(table, **none),
    )


def keeping_everything(problem: Problem) -> Problem:
    """The same work, and no node sold or scrapped before the end of its life."""
    cohorts, sales = problem.cohorts, problem.sales
    ended = np.arange(problem.periods) >= cohorts.must_retire_by[:, None]
    return replace(
        problem,
        cohorts=replace(cohorts, may_retire=cohorts.may_retire & ended),
        sales=replace(sales, may_sell=np.zeros_like(sales.may_sell)),
    )


def usual_practice(scenario: Scenario) -> Scenario:
    """The same work within the same limits, as operators usually plan it.

    At today's sites, at the least cost; nodes stay to the end of their life and are neither moved nor parked;
    a checkpoint every hour unless an interval is stated, 3 % of spares, full power, no pausing, no contracts.
    """
    today = sorted({cohort.site for cohort in scenario.fleet})
    changes: dict[str, Any] = {
        "policy.objective": "cash" if scenario.policy.objective == "cash" else "money",
        "policy.carbon_price": None,
        "policy.first": None,
        "policy.tolerance": None,
        "policy.retirement": "end of life",
        "policy.park_idle": False,
        "policy.levers": None,
        "policy.techniques": None,
        "policy.clocks": None,
        "reliability.spare_share": USUAL_SPARES,
        "contracts": None,
        "moves": None,
    }
    for i, job in enumerate(scenario.training):
        changes |= {
            f"training[{i}].{key}": None
            for key in ("pausable", "partial", "ramp", "power_caps", "clocks", "techniques")
        }
        if job.checkpoint_interval_h is None:
            changes[f"training[{i}].checkpoint_interval"] = USUAL_INTERVAL
    for i in range(len(scenario.pools)):
        changes |= {f"pools[{i}].{key}": None for key in ("power_caps", "clocks", "techniques")}
    for i, site in enumerate(scenario.sites):
        if site.curtailment_kw is not None and not site.curtailment_obliged:
            changes |= {f"sites[{i}].{key}": None for key in ("curtailment", *OF_CURTAILMENT)}
    as_stated = ("power_caps", "clocks", "precisions", "models", "techniques")
    for i in range(len(scenario.services)):
        keys = (*as_stated, "quality_budget", "mean_quality_budget")
        changes |= {f"services[{i}].{key}": None for key in keys}
    if today:
        for i, offer in enumerate(scenario.market):
            sites = [site for site in today if not offer.sites or site in offer.sites]
            changes[f"market[{i}].sites"] = sites or today
    return with_changes(scenario, changes)


def fleet_taken_over(plan: Solution, of: Problem, problem: Problem) -> FirstStage | None:
    """What a plan of one program orders, retires and rents for terms, as decisions of another program.

    Node groups are the same where they are of one SKU and site on the same terms. None where the other
    program has no such decision, and where bought nodes are sold again.
    """
    rows = {key: row for row, key in enumerate(_group_keys(problem))}
    row_of = np.array([rows.get(key, -1) for key in _group_keys(of)], dtype=np.int64)
    there = row_of >= 0
    same_cohorts = np.array_equal(of.cohorts.nodes, problem.cohorts.nodes) and np.array_equal(
        row_of[of.cohorts.node_group], problem.cohorts.node_group
    )
    if not same_cohorts or (plan.orders + plan.committed)[~there].any() or plan.sold.any():
        return None
    orders, committed, sold, moved = (
        np.zeros((len(table), problem.periods), dtype=np.int64)
        for table in (problem.node_groups, problem.node_groups, problem.sales, problem.moves)
    )
    orders[row_of[there]], committed[row_of[there]] = plan.orders[there], plan.committed[there]
    return FirstStage(orders, plan.retired, sold, moved, committed)


def _group_keys(problem: Problem) -> list[tuple[str, str, int, bool, bool]]:
    """What tells node groups apart: SKU, site, periods of a term, whether off site, whether on a shelf."""
    groups = problem.node_groups
    return [
        (
            problem.sku_names[groups.sku[p]],
            problem.site_names[groups.site[p]],
            int(groups.rental_term_periods[p]),
            bool(groups.off_site[p]),
            bool(groups.spares_for[p] >= 0),
        )
        for p in range(len(groups))
    ]


def spare_confidence_fraction(inputs: Inputs, assembled: Assembled, plan: Solution) -> float:
    """Share of time in which the spares of the worst node group suffice, in the worst period.

    min over node groups and periods in use of P(X <= spares), X as in `reliability.spares`. Rented nodes have
    no spares and need none: the provider replaces them.
    """
    rates = np.atleast_1d(assembled.nodes.failure_rate_per_node_h.value)
    lowest, spares = 1.0, spares_at_hand(assembled.problem, plan.spares)
    for p, t in np.argwhere((plan.in_use > 0) & ~inputs.rented[:, None]):
        nodes = int(np.ceil(plan.in_use[p, t] - 1e-9))
        bursts = np.atleast_1d(down_variance_to_mean(inputs, nodes).value)[-1]
        down = mean_nodes_down(
            nodes=float(nodes), failure_rate_per_node_h=float(rates[p]), repair_h=inputs.repair().value
        )
        enough = share_at_most(np.asarray(spares[p, t]), np.asarray(down), np.asarray(bursts))
        lowest = min(lowest, float(enough))
    return lowest
