"""Ramps of pausable jobs: from the file to the program, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import ScenarioError, load_scenario, with_changes
from planner.program.assembly import assemble
from planner.program.baselines import usual_practice
from solver.problem import Problem

LEVERS = {"policy.levers": ["shift"], "solve.slots": 12}
PAUSES = LEVERS | {"training.train-8b.pausable": True}


def problem(changes: dict[str, Any]) -> Problem:
    scenario = load_scenario(data_folder() / "scenarios" / "one-training-job.toml")
    return assemble(Inputs(with_changes(scenario, changes), load_catalogue())).problem


def test_a_ramp_of_a_job_is_of_its_full_size_and_two_hours() -> None:
    """A tenth an hour: from a slot of two hours to the next a fifth of its nodes; no limit without a ramp."""
    slow, free = problem(PAUSES | {"training.train-8b.ramp": "10 %/h"}), problem(PAUSES)
    assert len(slow.pausable_options) > 0
    assert slow.pausable_shifts.ramp_nodes == pytest.approx(0.2 * slow.pausable_options.nodes)
    assert np.isinf(free.pausable_shifts.ramp_nodes).all()


def test_a_ramp_of_a_job_that_may_not_pause_is_refused_and_usual_practice_has_none() -> None:
    scenario = load_scenario(data_folder() / "scenarios" / "one-training-job.toml")
    with pytest.raises(ScenarioError, match=r"ramp: has no effect without pausable = true"):
        with_changes(scenario, {"training.train-8b.ramp": "10 %/h"})
    slow = with_changes(scenario, PAUSES | {"training.train-8b.ramp": "10 %/h"})
    assert usual_practice(slow).training[0].ramp_per_h is None
