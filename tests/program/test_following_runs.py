"""Runs that follow one another: what ends within a period leaves its nodes to what begins there."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pytest

from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, load_scenario, with_changes
from planner.program.assembly import assemble
from planner.program.plan import plan_fleet
from planner.program.solution import nodes_of_runs

STANDING = {"sku": "h100-8", "site": "stockholm", "nodes": 5, "in_service": date(2026, 1, 1)}


def short_runs(count: int, **changes: Any) -> Scenario:
    """So many runs of a few hundred hours on four nodes each, all within one quarter."""
    job = {"tokens": 40e9, "nodes": [4], "deadline": date(2027, 3, 31), "count": count}
    path = data_folder() / "scenarios" / "one-training-job.toml"
    every = {f"training.train-8b.{key}": value for key, value in job.items()}
    return with_changes(load_scenario(path), {"horizon.periods": 1, "fleet": [STANDING], **every, **changes})


def test_runs_begin_within_a_period_where_there_are_several() -> None:
    one, three = (assemble(Inputs(short_runs(n), load_catalogue())).problem.run_options for n in (1, 3))

    assert (one.from_h == 0).all()
    begins = np.unique(three.from_h)
    assert begins == pytest.approx(2160.0 * np.arange(len(begins)) / 4)
    assert len(begins) > 1
    ends = np.minimum(three.to_h, 2160.0)[:, 0]
    assert (ends - three.from_h[:, 0] >= three.node_hours[:, 0] / 4 - 1e-6).all(), "until it is done for sure"


@pytest.mark.solve
def test_three_short_runs_share_four_nodes_in_one_quarter() -> None:
    """At once they would take twelve nodes, and there are five: nothing has to be bought."""
    plan = plan_fleet(short_runs(3), baselines=False)
    solution = plan.answer.solution
    assert solution is not None
    options = plan.problem.run_options

    assert not solution.orders.any()
    assert (options.nodes * solution.run[:, None]).sum() == 12
    assert nodes_of_runs(plan.problem, solution.run).max() == 4
    first = np.repeat(options.from_h[:, 0], solution.run)
    last = np.repeat(options.to_h[:, 0], solution.run)
    order = np.argsort(first)
    assert (first[order][1:] >= last[order][:-1]).all(), "none begins before the one before it has ended"
