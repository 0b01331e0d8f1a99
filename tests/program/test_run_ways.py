"""Techniques of training jobs as decisions: what they change, when, what they cost, and what is refused."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from planner.answers.plan.unit_costs import unit_cost_records
from planner.answers.plan.work import job_records, training_sentences
from planner.inputs.consistency import check_scenario
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, ScenarioError, load_scenario, with_changes
from planner.program.assembly import assemble
from planner.program.plan import Plan, plan_fleet

SPARSE = {"training.train-8b.techniques": ["2-4-sparsity"]}
PEOPLE = {"adoption.retraining.person_time": "20 h"}
AT_ONCE = {"facts": PEOPLE | {"adoption.retraining.time": "0 d"}}
LATE = {"facts": PEOPLE | {"adoption.retraining.time": "900 d"}}
RATIO = 1.54


def shipped(changes: dict[str, Any]) -> Scenario:
    """A run that needs more than its fewest nodes to be done in time."""
    more = {"training.train-8b.tokens": 3e12, "training.train-8b.nodes": [8, 12, 16, 20, 24]}
    return with_changes(load_scenario(data_folder() / "scenarios" / "one-training-job.toml"), more | changes)


@cache
def planned(*names: str) -> Plan:
    changes: dict[str, Any] = {"sparse": SPARSE, "at once": AT_ONCE, "late": LATE}
    return plan_fleet(shipped({k: v for name in names for k, v in changes[name].items()}), baselines=False)


def objective(plan: Plan) -> float:
    assert plan.answer.solution is not None
    return plan.answer.objective


def test_a_technique_takes_its_share_of_the_time_and_its_people(  # by rows of the program alone
) -> None:
    """The same run with it takes 1 / 1.54 of the hours, starts on its day, and is charged people once."""
    runs = assemble(Inputs(shipped(SPARSE), load_catalogue())).runs
    assert runs is not None
    one, way = runs.candidates, runs.candidates.way
    assert set(way.tolist()) == {0, 1}
    keys = np.stack([one.node_group, one.nodes, runs.policy])
    for c in np.flatnonzero(way == 1):
        (plain,) = np.flatnonzero((way == 0) & (keys == keys[:, [c]]).all(axis=0))
        hours = np.asarray(runs.progress.useful_h.value)
        assert hours[plain] / hours[c] == pytest.approx(RATIO)
    begun = np.asarray(runs.start_h.value)[:, 0]
    assert begun[way[runs.candidate] == 1].min() == pytest.approx(120 * 24)
    assert begun.min() == 0
    people = np.asarray(runs.adopted_usd.value)
    hour = load_catalogue().fact("planning.person_hour").value
    assert people == pytest.approx(np.where(way == 1, 480 * hour, 0.0))


def test_a_technique_in_time_pays_and_one_that_comes_too_late_changes_nothing() -> None:
    """Fewer node-hours for people's time; the ledger is what the program charged; late, all stays."""
    plain, sparse, late = planned(), planned("sparse", "at once"), planned("sparse", "late")
    least, stated, too_late = map(objective, (sparse, plain, late))
    assert least < 0.95 * stated
    assert too_late == pytest.approx(stated, rel=1e-9)
    solution = sparse.answer.solution
    assert solution is not None
    hour = load_catalogue().fact("planning.person_hour").value
    assert sparse.ledger.usd_terms["adopted_usd"].value == pytest.approx(20 * hour)
    assert sparse.ledger.cost.value == pytest.approx(solution.usd, rel=1e-9)
    assert "adopted_usd" not in plain.ledger.usd_terms
    (row,) = job_records(sparse, solution)
    assert row["way"] == "2-4-sparsity"
    assert "with 2-4-sparsity from" in training_sentences(sparse, solution)[0]
    assert unit_cost_records(sparse, solution)[0]["work"] == "train-8b"  # refused where people are in no line


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"training.train-8b.techniques": ["layerskip"]},
            "'layerskip' changes nothing here: it is for inference",
        ),
        ({"training.train-8b.techniques": ["recd"]}, "it is for recommendation models"),
        ({"training.train-8b.techniques": ["read"]}, "it is for fine"),
        ({"policy.techniques": ["candidate-prediction"]}, "it is for experimentation"),
        ({"training.train-8b.techniques": ["sparsity"]}, "sparsity"),
    ],
)
def test_what_is_out_of_scope_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError) as found:
        check_scenario(shipped(changes), load_catalogue())
    assert said in str(found.value)


def test_a_policy_for_all_reaches_runs_too() -> None:
    own = assemble(Inputs(shipped(SPARSE), load_catalogue())).problem.run_options
    policy = assemble(Inputs(shipped({"policy.techniques": ["2-4-sparsity"]}), load_catalogue())).problem
    assert policy.run_options.usd == pytest.approx(own.usd)
