"""Ways to do a service: what is asked for multiplies, what does not apply changes nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from planner.answers.plan.chosen_ways import way_sentences
from planner.answers.plan.quality import quality_sentences
from planner.answers.plan.work import service_records
from planner.inputs.consistency import check_scenario
from planner.inputs.loading import load_catalogue
from planner.inputs.model_kinds import score_key
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, ScenarioError, parse_scenario
from planner.physics.nodes import node_columns
from planner.physics.serving import Replicas, replica_columns, serving_candidates
from planner.physics.ways import every_way, quality_loss, way_said
from planner.program import remedies
from planner.program.assembly import assemble
from planner.program.plan import plan_fleet
from planner.report.table_columns import COLUMNS

CATALOGUE = load_catalogue()
TEXT = """
title = "one service"
[horizon]
start = 2027-01-01
periods = 3
period = "month"
[[sites]]
name = "here"
grid = "se"
pue = 1.1
power_cap = "5 MW"
racks = 100
space = "owned"
[[fleet]]
sku = "{sku}"
site = "here"
nodes = 20
in_service = 2026-01-01
[[services]]
name = "chat"
model = "llama-3.1-8b"
precision = "bf16"
tokens_in = 1000
tokens_out = 200
peak_rate = "60 /s"
mean_to_peak = 0.5
first_token = "1 s"
per_token = "40 ms"
availability = 0.99
{more}
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


def scenario(more: str = "", sku: str = "h100-8") -> Scenario:
    found = parse_scenario(TEXT.format(sku=sku, more=more), "mine.toml")
    check_scenario(found, CATALOGUE)
    return found


def worked(more: str, sku: str = "h100-8") -> tuple[Inputs, Replicas]:
    """Each way of the service, on replicas of one accelerator."""
    tried = every_way(Inputs(scenario(more, sku), CATALOGUE))
    candidates, _ = serving_candidates(tried, (1,))
    return tried, replica_columns(tried, node_columns(tried), candidates)


def column(replicas: Replicas, name: str, way: int) -> np.ndarray[Any, Any]:
    found: np.ndarray[Any, Any] = np.asarray(getattr(replicas, name).value)[
        replicas.candidates.service == way
    ]
    return found


def test_without_a_choice_the_inputs_are_the_same() -> None:
    inputs = Inputs(scenario(), CATALOGUE)

    assert every_way(inputs) is inputs


def test_a_technique_before_its_date_changes_nothing_and_helps_afterwards() -> None:
    """8-bit keys and values take two weeks: January begins without, February with."""
    tried, replicas = worked('techniques = ["kv-fp8"]')

    assert [way.techniques for way in tried.ways.services] == [(), ("kv-fp8",)]
    for name in ("carrying", "kgco2e", "requests_per_s"):
        assert column(replicas, name, 1)[:, 0] == pytest.approx(column(replicas, name, 0)[:, 0], rel=1e-12)
    assert (column(replicas, "carrying", 1)[:, 1:] < column(replicas, "carrying", 0)[:, 1:]).all()


def test_a_technique_out_of_scope_changes_nothing() -> None:
    """The A100 has no matrix rate in 8-bit floats."""
    _, replicas = worked('techniques = ["kv-fp8"]', "a100-80-8")

    for name in ("carrying", "kgco2e", "requests_per_s"):
        assert column(replicas, name, 1) == pytest.approx(column(replicas, name, 0), rel=1e-12)


def test_faster_requests_need_fewer_replicas_by_the_ratio() -> None:
    """Distillation at its middle, usable at once: a request takes 1/2.83 of what it took."""
    facts = '[facts]\n"adoption.retraining.time" = "0 d"'
    _, replicas = worked(f'techniques = ["distillation"]\n{facts}')
    ratio = float(CATALOGUE.fact("technique.distillation.throughput").value)

    assert ratio == pytest.approx(8**0.5, rel=1e-2)
    for name, wanted, near in (("requests_per_s", ratio, 0.05), ("carrying", 1 / ratio, 0.1)):
        more = column(replicas, name, 1) / column(replicas, name, 0)
        assert more == pytest.approx(np.full(more.shape, wanted), rel=near)  # fewer share bursts less well


def test_what_is_asked_for_multiplies_but_not_what_excludes_itself() -> None:
    more = (
        'precisions = ["fp8"]\nmodels = ["llama-3.1-70b"]\n'
        'techniques = ["layerskip", "speculative-decoding"]\n'
    )
    tried = every_way(Inputs(scenario(more), CATALOGUE))
    said = [way_said(tried, row) for row in range(len(tried.scenario.services))]

    assert len(said) == 2 * 2 * 3
    assert said[0] == "llama-3.1-8b in bf16"
    assert not any("layerskip, speculative" in one for one in said)
    assert tried.ways.services[2].base == 0
    assert tried.ways.services[-1].base == 9


def test_a_quality_budget_leaves_out_what_loses_more() -> None:
    """Llama 3.1 8B scores 69.4 on MMLU and 70B 83.6: 17 % less."""
    base = 'models = ["llama-3.1-405b"]\nprecisions = ["fp8", "nvfp4"]\n'
    tried = every_way(Inputs(scenario(base + "quality_budget = 0.01"), CATALOGUE))
    said = {way_said(tried, row) for row in range(len(tried.scenario.services))}

    assert said == {"llama-3.1-8b in bf16", "llama-3.1-8b in fp8"} | {
        f"llama-3.1-405b in {one}" for one in ("bf16", "fp8", "nvfp4")
    }


def test_a_mean_of_quality_keeps_every_way_and_what_it_loses() -> None:
    """8B as stated next to 405B, which loses 1 - 87.3/69.4: it is better, and so makes up for others."""
    more = 'models = ["llama-3.1-405b"]\nprecisions = ["nvfp4"]\nmean_quality_budget = 0.01'
    stated = scenario(more).services[0]
    tried = every_way(Inputs(scenario(more), CATALOGUE))
    lost = {way_said(tried, row): way.lost_fraction for row, way in enumerate(tried.ways.services)}
    format_lost = float(CATALOGUE.fact("precision.nvfp4.quality_loss").value)

    assert lost == {
        "llama-3.1-8b in bf16": 0.0,
        "llama-3.1-8b in nvfp4": pytest.approx(format_lost),
        "llama-3.1-405b in bf16": pytest.approx(1 - 0.873 / 0.694),
        "llama-3.1-405b in nvfp4": pytest.approx(1 - 0.873 / 0.694 + format_lost),
    }
    one = quality_loss(tried, stated, "llama-3.1-405b", "nvfp4")
    assert float(one.value) == lost["llama-3.1-405b in nvfp4"]


def test_recommendation_models_are_compared_by_their_own_score() -> None:
    assert CATALOGUE.has(score_key(CATALOGUE, "dlrm-dcnv2"))
    assert score_key(CATALOGUE, "llama-3.1-8b") == "model.llama-3.1-8b.mmlu"


def test_the_way_as_stated_stays_an_option_of_the_program() -> None:
    """So an optional technique never makes the optimum worse; each adoption is paid for by people."""
    plain = assemble(Inputs(scenario(), CATALOGUE)).problem.serve_options
    found = assemble(Inputs(scenario('techniques = ["kv-fp8"]'), CATALOGUE))
    options = found.problem.serve_options
    assert found.replicas is not None
    ways = found.replicas.candidates.service[found.replica_row]
    person, hour = (CATALOGUE.fact(f).value for f in ("adoption.setting.person_time", "planning.person_hour"))

    assert set(options.service) == {0}
    assert {tuple(row) for row in plain.usd} <= {tuple(row) for row in options.usd[ways == 0]}
    assert options.begun_usd[ways == 1].max() - options.begun_usd[ways == 0].max() == pytest.approx(
        person * hour
    )


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('techniques = ["kvfp8"]', "services.chat.techniques[0]: the catalogue has no technique 'kvfp8'"),
        ('precisions = ["fp9"]', "services.chat.precisions[0]: 'fp9' is not possible here"),
        ('models = ["no-model"]', "services.chat.models[0]: the catalogue has no model 'no-model'"),
        ('models = ["gemma-7b"]\nquality_budget = 0.1', "the catalogue has no score (mmlu) of gemma-7b"),
        ('techniques = ["recd"]', "techniques[0]: 'recd' changes nothing here: it is for training and data"),
        ('techniques = ["chai"]', "it is for attention with keys for each head"),
        ("quality_budget = 0.1", "has no effect without precisions, models or techniques"),
        ("quality_budget = 2", "services.chat.quality_budget: 2 is out of range"),
        ("mean_quality_budget = 0.1", "chat.mean_quality_budget: has no effect without precisions, models"),
        (
            'precisions = ["nvfp4"]\nquality_budget = 0.02\nmean_quality_budget = "2 %"',
            "chat.mean_quality_budget: 0.02 limits nothing, as no request may lose more than quality_budget",
        ),
        (
            'models = ["gemma-7b"]\nmean_quality_budget = 0.1',
            "chat.mean_quality_budget: the catalogue has no score (mmlu) of gemma-7b",
        ),
    ],
)
def test_bad_keys_are_answered_in_one_line(more: str, said: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        scenario(more)

    assert said in str(refused.value)
    assert len(refused.value.problems) == 1


@pytest.mark.solve
def test_a_plan_says_what_it_chose_and_why() -> None:
    """Its ledger agrees with the program's sums, or the plan would have been refused."""
    plan = plan_fleet(scenario('precisions = ["fp8"]\ntechniques = ["kv-fp8"]'), baselines=False)
    solution = plan.answer.solution

    assert solution is not None
    (said,) = way_sentences(plan, solution)
    assert said.startswith(
        "chat is served mostly as llama-3.1-8b in fp8, kv-fp8, of 4 ways: a request takes 0."
    )
    rows = service_records(plan, solution)
    assert {row["way"] for row in rows if row["period"] == "2027-03"} == {
        "llama-3.1-8b in fp8, kv-fp8 from 2027-01-15"
    }


def test_where_no_plan_exists_a_larger_mean_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than 3 % do: the least of it to two digits; nothing where no loss at all is enough."""
    stated = scenario('precisions = ["fp8"]\nmean_quality_budget = 0')
    trials, key = remedies._Trials(stated, CATALOGUE, lambda: False), "services.chat.mean_quality_budget"
    monkeypatch.setattr(remedies._Trials, "has_plan", lambda _, changes: changes[key] > 0.03)
    (found,) = remedies._mean_quality(trials, "chat")

    assert found.stated == "0"
    assert found.changes == {key: pytest.approx(0.031)}
    monkeypatch.setattr(remedies._Trials, "has_plan", lambda *_: False)
    assert list(remedies._mean_quality(trials, "chat")) == []


@pytest.mark.solve
def test_a_plan_tells_who_answers_which_share_and_what_is_lost_on_average() -> None:
    """The stated 70B and the 8B, which loses 17 %: within 5 % on average."""
    text = TEXT.replace('"60 /s"', '"20 /s"').replace("llama-3.1-8b", "llama-3.1-70b")
    text = text.replace("40 ms", "60 ms").replace("periods = 3", "periods = 1")
    more = 'models = ["llama-3.1-8b"]\nmean_quality_budget = 0.05'
    mixed = plan_fleet(parse_scenario(text.format(sku="h100-8", more=more), "mine.toml"), baselines=False)
    solution = mixed.answer.solution
    assert solution is not None
    rows = service_records(mixed, solution)
    each = [
        (float(row["requests_fraction"].value), float(row["quality_loss_fraction"].value)) for row in rows
    ]
    mean = sum(share * lost for share, lost in each)

    assert len({row["way"] for row in rows}) == 2
    assert set(rows[0]) <= set(COLUMNS["services"])
    assert sum(share for share, _ in each) == pytest.approx(1.0)
    assert [float(row["mean_quality_loss_fraction"].value) for row in rows] == pytest.approx([mean, mean])
    assert 0 < mean <= 0.05
    (said,) = quality_sentences(mixed, solution)
    assert said.startswith("Of the requests of chat, ")
    assert said.endswith("of 5.0 % that are allowed.")


def with_bought_nodes(more: str) -> Scenario:
    """The same service at ten times the load, for the least money, on nodes that have to be bought."""
    text = TEXT.format(sku="h100-8", more=more)
    stands, rest = text.partition("[[fleet]]")[0], text.partition("[[services]]")[2]
    text = f'{stands}[[market]]\nsku = "h100-8"\nlead_time = "0 d"\norder_nodes = 1\n[[services]]{rest}'
    text = text.replace('objective = "carbon"', 'objective = "money"').replace('"60 /s"', '"600 /s"')
    found = parse_scenario(text, "mine.toml")
    check_scenario(found, CATALOGUE)
    return found


@pytest.mark.solve
def test_caps_pay_on_nodes_that_have_time_and_nowhere_else() -> None:
    """A node-hour costs twenty times its power: slower replicas pay on nodes that stand alone."""
    caps = "power_caps = [1.0, 0.5]"
    bought, capped, standing, slower = (
        plan_fleet(one, baselines=False).answer.solution
        for one in (with_bought_nodes(""), with_bought_nodes(caps), scenario(), scenario(caps))
    )

    assert bought is not None
    assert capped is not None
    assert capped.usd == pytest.approx(bought.usd, rel=1e-9)
    assert standing is not None
    assert slower is not None
    assert slower.kgco2e < 0.97 * standing.kgco2e
