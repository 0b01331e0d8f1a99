"""Stages that share a response time: how it may be divided, what a plan says of it, and bad input."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.answers.plan.stages import stage_sentences
from planner.answers.plan.work import service_records
from planner.inputs.consistency import check_scenario
from planner.inputs.loading import load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, ScenarioError, parse_scenario
from planner.physics import joint_tails
from planner.physics.batch_serving import batch_law
from planner.physics.joint_tails import _together_fraction, with_joint_tails
from planner.physics.pipelines import answer_quantile
from planner.physics.serving import serving_candidates
from planner.physics.ways import every_way, way_said
from planner.program import remedies
from planner.program.plan import plan_fleet
from planner.report.table_columns import COLUMNS
from planner.trace.quantities import chosen

CATALOGUE = load_catalogue()
STAGE = """
[[services]]
name = "{name}"
model = "{model}"
precision = "fp16"
candidates = {candidates}
response_time = "{within}"
peak_rate = "9000 /s"
mean_to_peak = 0.5
availability = 0.99
{more}
"""
REST = """
title = "a cascade"
[horizon]
start = 2027-01-01
periods = 1
period = "month"
[[sites]]
name = "here"
grid = "se"
pue = 1.1
power_cap = "5 MW"
racks = 100
space = "owned"
[[fleet]]
sku = "h100-8"
site = "here"
nodes = 4
in_service = 2026-01-01
[[fleet]]
sku = "xeon-6980p-2"
site = "here"
nodes = 9
in_service = 2026-01-01
[reliability]
failures = "meta-rsc-2"
restart = "10 min"
repair = "5 d"
spare_confidence = 0.9
[policy]
objective = "carbon"
discount_rate = 0.08
node_life = "5 y"
"""


def cascade(
    within: tuple[str, str] = ("2 ms", "2 ms"),
    pipeline: str = 'pipeline = "ranking"',
    more: str = "",
    facts: str = "",
) -> Scenario:
    """4,000 items through a small model, 200 of them through a large one."""
    stages = (("filter", "rm3", 4000, within[0]), ("rank", "dlrm-dcnv2", 200, within[1]))
    text = "".join(
        STAGE.format(name=name, model=model, candidates=count, within=time, more=pipeline.format(name) + more)
        for name, model, count, time in stages
    )
    found = parse_scenario(REST + text + facts, "mine.toml")
    check_scenario(found, CATALOGUE)
    return found


def test_each_stage_is_tried_with_every_part_that_leaves_one_for_the_other() -> None:
    """Ten steps of 2 ms: 0.2 to 1.8 ms for each of two."""
    tried = every_way(Inputs(cascade(), CATALOGUE))
    each = [tried.scenario.services[row].first_answer_s for row in range(9)]

    assert len(tried.ways.services) == 18
    assert each == pytest.approx(np.arange(1, 10) * 2e-4)
    assert [way.of for way in tried.ways.services] == [0] * 9 + [1] * 9
    assert way_said(tried, 8) == "rm3 in fp16, within 1.8 ms"


def test_a_stage_carries_what_a_service_of_its_own_with_that_time_carries() -> None:
    """One road: 60 % of 2 ms is a response time of 1.2 ms."""
    apart, shared = (
        every_way(Inputs(one, CATALOGUE)) for one in (cascade(("1.2 ms", "1.2 ms"), ""), cascade())
    )
    calm, unit = chosen("arrival_scv_ratio", 1.0, "Poisson"), np.ones(2, dtype=np.intp)
    own, part = (
        batch_law(tried, tried.scenario.services[row], np.arange(2), unit).capacity(calm).requests_per_s.value
        for tried, row in ((apart, 1), (shared, 9 + 5))
    )

    assert np.all(np.asarray(own) > 0)
    assert part == pytest.approx(own, rel=1e-12)


@pytest.mark.parametrize(
    ("within", "pipeline", "more", "said"),
    [
        (
            ("2 ms", "3 ms"),
            'pipeline = "ranking"',
            "",
            "services.rank.response_time: 3 ms is that of the whole pipeline 'ranking', of which "
            "services.filter says 2 ms",
        ),
        (
            ("2 ms", "2 ms"),
            'pipeline = "{}"',
            "",
            "services.filter.pipeline: 'filter' has this stage alone: name it in another service",
        ),
        (
            ("2 ms", "2 ms"),
            'pipeline = "ranking"',
            '\nunmet_penalty = "1 USD"',
            "services.filter.unmet_penalty: a request that one stage leaves is lost to all of the pipeline",
        ),
    ],
)
def test_bad_stages_are_answered_in_a_line_each(
    within: tuple[str, str], pipeline: str, more: str, said: str
) -> None:
    with pytest.raises(ScenarioError) as refused:
        cascade(within, pipeline, more)

    assert said in str(refused.value)
    assert len(refused.value.problems) <= 2


def test_where_no_plan_exists_a_longer_time_is_looked_for_in_all_stages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Once for the pipeline, told with its first stage."""
    trials, asked = remedies._Trials(cascade(), CATALOGUE, lambda: False), list[set[str]]()

    def enough(_: object, changes: dict[str, str]) -> bool:
        asked.append(set(changes))
        return all(float(text.split()[0]) > (5 if text.endswith("ms") else 0) for text in changes.values())

    monkeypatch.setattr(remedies._Trials, "has_plan", enough)
    (found,) = remedies._latency(trials, "filter")

    assert set(found.changes) == {"services.filter.response_time", "services.rank.response_time"}
    assert (found.stated, found.needed) == ("2 ms", "5.1 ms")
    assert all(keys == set(found.changes) for keys in asked)
    assert list(remedies._latency(trials, "rank")) == []


@pytest.mark.solve
def test_a_plan_tells_each_stage_its_nodes_and_its_part_of_the_time() -> None:
    """In four steps, as the fact says: no more than all of them together."""
    facts = '[facts]\n"planning.pipeline.time_steps" = "4"'
    shared = plan_fleet(cascade(facts=facts), baselines=False)
    solution = shared.answer.solution
    assert solution is not None
    rows = service_records(shared, solution)
    share = {
        name: max(float(row["time_fraction"].value) for row in rows if row["service"] == name)
        for name in ("filter", "rank")
    }
    said, together = stage_sentences(shared, solution)

    assert shared.problem.services.pipeline.tolist() == [1, 1]
    assert set(shared.problem.serve_options.time_fraction) <= {0.25, 0.5, 0.75}
    assert sum(share.values()) <= 1 + 1e-9
    assert {row["pipeline"] for row in rows} == {"ranking"}
    assert set(rows[0]) <= set(COLUMNS["services"])
    assert all(
        float(row["stage_time_s"].value) == pytest.approx(2e-3 * float(row["time_fraction"].value))
        for row in rows
    )
    assert said.startswith("Of the 2 ms of ranking, its stages take: filter ")
    assert "90.0 % or more of all answers come within 2 ms" in together


def test_stages_that_keep_nine_of_ten_each_do_not_keep_it_together() -> None:
    """In four steps of 2 ms: the least share of a stage is found with which all answers are in time."""
    facts = '[facts]\n"planning.pipeline.time_steps" = "4"'
    tried = every_way(Inputs(cascade(facts=facts), CATALOGUE))
    candidates, _ = serving_candidates(tried)
    found = with_joint_tails(tried, candidates)
    each = found.ways.quantiles["ranking"]

    def together(share: float) -> float:
        at = replace(tried, ways=replace(tried.ways, quantiles={"ranking": share}))
        return _together_fraction(at, candidates, [0, 1], list(range(6)))

    assert together(0.9) < 0.9 <= together(each) < 0.92
    assert 0.9 < each < 0.9**0.5
    assert float(answer_quantile(found, found.scenario.services[0]).value) == each


def test_a_stage_that_reads_prompts_keeps_its_part_as_often_as_all_need_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where no law is added each of two gives 0.9 ^ (1/2) in its part."""
    tried = every_way(Inputs(cascade(), CATALOGUE))
    monkeypatch.setattr(joint_tails, "in_batches", lambda inputs, service: service.name == "rank")
    none = serving_candidates(tried)[0].some(np.zeros(0, dtype=np.intp))

    assert with_joint_tails(tried, none).ways.quantiles["ranking"] == pytest.approx(0.9**0.5)
