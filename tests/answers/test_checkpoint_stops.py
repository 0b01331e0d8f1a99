"""Loss spikes, silent corruption and ways to come back, in the answer on checkpoints and in a plan's run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from planner.answers.checkpoints import checkpoint_answer, checkpoint_document
from planner.answers.checkpoints.text import to_text
from planner.inputs.catalogue import data_folder, load_catalogue
from planner.inputs.job_question import CheckpointQuestion
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import ScenarioError, load_scenario, with_changes
from planner.physics.nodes import node_columns
from planner.physics.training import training_runs
from planner.physics.training_options import training_candidates
from planner.trace.errors import InputError

Record = dict[str, Any]


def best(document: Record) -> Record:
    """The interval of least time."""
    return next(row for row in document["marks"] if row["name"] == "time-optimal")


def test_ten_spikes_of_an_hour_take_their_hours():
    """Ten times an hour, half an interval and a restart of a month of 730 hours."""
    plain, spiked = checkpoint_document(), checkpoint_document(loss_spikes_per_month=10.0, rollback_min=60.0)
    row = next(one for one in spiked["stops"] if one["cause"] == "loss spike")
    half_min = best(spiked)["interval_min"] / 2.0
    assert row["per_month"] == pytest.approx(10.0)
    assert row["lost_h"] == pytest.approx(10.0 * (60.0 + 10.0 + half_min) / 60.0)
    lost = best(plain)["ettr_fraction"] - best(spiked)["ettr_fraction"]
    assert lost == pytest.approx(row["lost_h"] / 730.5, rel=0.1)
    assert [one["cause"] for one in plain["stops"]] == ["failure"]
    assert "thrown away" in to_text(spiked)
    assert "thrown away" not in to_text(plain)


def test_checks_find_what_else_nobody_notices():
    """The choice stands in the answer whether it was made or not, and costs the overhead and more."""
    document = checkpoint_document(nodes=2048)
    without, checked = document["detection"]
    assert checked["unfound_per_month"] == pytest.approx(0.2 * without["unfound_per_month"])
    assert without["ettr_fraction"] == pytest.approx(best(document)["ettr_fraction"])
    assert checked["ettr_fraction"] < without["ettr_fraction"] / 1.0086
    chosen = checkpoint_document(nodes=2048, detect_corruption=True)
    assert best(chosen)["ettr_fraction"] == pytest.approx(checked["ettr_fraction"])
    assert best(chosen)["usd_per_useful_h"] == pytest.approx(checked["usd_per_useful_h"])


def test_each_way_back_is_as_quick_as_its_parts():
    """Image, spare and process each save their part of a restart; spares cost, and pay on large jobs."""
    rows = {row["choice"]: row for row in checkpoint_document(nodes=2048)["recovery"]}
    minutes = [row["restart_min"] for row in rows.values()]
    assert minutes == sorted(minutes, reverse=True)
    requeue, cached, spare, _ = rows.values()
    assert requeue["restart_min"] - cached["restart_min"] == pytest.approx(7.5)
    assert requeue["restart_min"] - spare["restart_min"] == pytest.approx(22.0 - 2.0)
    assert (requeue["spares"], spare["spares"]) == (0, 108)
    assert spare["usd_per_useful_h"] < requeue["usd_per_useful_h"]
    small = {row["choice"]: row for row in checkpoint_document(nodes=8)["recovery"]}
    assert small["warm spare"]["usd_per_useful_h"] > small["requeue"]["usd_per_useful_h"]


def test_a_plan_and_a_question_say_the_same_of_a_run():
    """One road: ETTR of the run of a plan is that of its line in the answer on checkpoints."""
    scenario = with_changes(
        load_scenario(data_folder() / "scenarios" / "one-training-job.toml"),
        {
            "reliability.loss_spikes": "20 /month",
            "reliability.rollback": "2 h",
            "reliability.detect_corruption": True,
        },
    )
    inputs = Inputs(scenario, load_catalogue())
    candidates, _ = training_candidates(inputs)
    runs = training_runs(inputs, node_columns(inputs), candidates)
    sizes = checkpoint_answer(CheckpointQuestion(), scenario)["jobs"][0]["sizes"]
    asked = {(size["sku"], size["nodes"]): size["stated_ettr_fraction"] for size in sizes}
    skus = [inputs.skus[inputs.node_group_sku[group]].name for group in runs.candidates.node_group]
    by_time = runs.policy == 0
    said = [asked[key] for key in zip(skus, runs.candidates.nodes.tolist(), strict=True)]
    assert runs.ettr.value[by_time] == pytest.approx(np.array(said)[by_time])


def test_what_the_scenario_says_is_not_said_again_and_not_played():
    """One message for each, before anything is worked out."""
    scenario = load_scenario(data_folder() / "scenarios" / "one-training-job.toml")
    with pytest.raises(InputError, match="leave it out, or use --set"):
        checkpoint_answer(CheckpointQuestion(loss_spikes_per_month=3.0), scenario)
    with pytest.raises(InputError, match="failures of nodes alone"):
        checkpoint_document(loss_spikes_per_month=3.0, replicas=10)
    with pytest.raises(InputError, match="rollback_min has to be"):
        checkpoint_document(rollback_min=-1.0)
    with pytest.raises(InputError, match="--rollback-min: has no effect without --loss-spikes"):
        checkpoint_document(rollback_min=30.0)
    with pytest.raises(ScenarioError, match=r"reliability\.rollback: has no effect without loss_spikes"):
        with_changes(scenario, {"reliability.rollback": "30 min"})
