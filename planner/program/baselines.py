"""Plans to compare with: cost only, without purchases, keeping everything, and as operators usually do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from planner.inputs.scenario import Scenario, with_changes
from solver.problem import Objective, Problem

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
    """The same work on nodes that stand today, of which any may be sold or scrapped."""
    allowed = np.zeros_like(problem.node_groups.purchase_allowed)
    return replace(problem, node_groups=replace(problem.node_groups, purchase_allowed=allowed))


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
        "policy.objective": "money",
        "policy.carbon_price": None,
        "policy.first": None,
        "policy.tolerance": None,
        "policy.retirement": "end of life",
        "policy.park_idle": False,
        "reliability.spare_share": USUAL_SPARES,
        "contracts": None,
        "moves": None,
    }
    for i, job in enumerate(scenario.training):
        changes |= {f"training[{i}].{key}": None for key in ("pausable", "partial", "power_caps")}
        if job.checkpoint_interval_h is None:
            changes[f"training[{i}].checkpoint_interval"] = USUAL_INTERVAL
    changes |= {f"services[{i}].power_caps": None for i in range(len(scenario.services))}
    if today:
        for i, offer in enumerate(scenario.market):
            sites = [site for site in today if not offer.sites or site in offer.sites]
            changes[f"market[{i}].sites"] = sites or today
    return with_changes(scenario, changes)
