"""Techniques of pools as decisions: what they change, when and where, what they cost, what is refused."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np
import pytest

from planner.answers.plan.chosen_ways import adoption_sentences
from planner.answers.plan.unit_costs import unit_cost_records
from planner.answers.plan.work import pool_records
from planner.inputs.consistency import check_scenario
from planner.inputs.loading import load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, ScenarioError, parse_scenario, with_changes
from planner.program.assembly import Assembled, assemble
from planner.program.operation import Means, desk, operate
from planner.program.plan import Plan, plan_fleet

FRAME = """
title = "A pool that may adopt techniques"
[horizon]
start = 2027-01-01
periods = 2
period = "quarter"
[[sites]]
name = "here"
grid = "us-camx"
pue = 1.1
power_cap = "900 kW"
racks = 40
[[fleet]]
sku = "h100-8"
site = "here"
nodes = 12
in_service = 2025-01-01
[[fleet]]
sku = "a100-80-8"
site = "here"
nodes = 4
in_service = 2023-01-01
[[pools]]
name = "work"
model = "llama-3-8b"
reference = "h100-8"
{pool}
[reliability]
failures = "meta-rsc-1"
restart = "10 min"
repair = "2 d"
spare_confidence = 0.9
[policy]
objective = "weighted"
carbon_price = "150 USD/t"
discount_rate = 0.08
node_life = "5 y"
"""
HOURS = 'gpu_time = "120000 h"\n'
BATCH = 'items = "40e6 /d"\ntokens_in = 1200\ntokens_out = 150\n'
ROLLOUTS = 'prompts = "4e5 /d"\nsamples = 8\nmode = "asynchronous"\ntokens_in = 500\ntokens_out = 800\n'


def scenario(pool: str, **changes: object) -> Scenario:
    return with_changes(parse_scenario(FRAME.format(pool=pool)), dict(changes))


@cache
def assembled(pool: str) -> Assembled:
    return assemble(Inputs(scenario(pool), load_catalogue()))


@cache
def planned(pool: str, late: bool = False) -> Plan:
    facts = {"facts": {"adoption.setting.time": "900 d"}} if late else {}
    return plan_fleet(scenario(pool, **facts), baselines=False)


def speeds(pool: str) -> dict[tuple[str, tuple[bool, ...]], float]:
    """Speed by SKU and the techniques that are used."""
    problem = assembled(pool).problem
    works = problem.work_options
    skus = [problem.sku_names[k] for k in problem.node_groups.sku[works.node_group]]
    return {
        (sku, tuple(uses)): float(speed)
        for sku, uses, speed in zip(skus, works.uses.tolist(), works.speed, strict=True)
    }


def test_less_to_do_is_more_done_in_an_hour_from_its_day_on() -> None:
    """Fewer samples, 1.41 times, 14 days after the start, by 40 hours of people."""
    found, adoptions = (
        speeds(HOURS + 'techniques = ["candidate-prediction"]\n'),
        assembled(HOURS + 'techniques = ["candidate-prediction"]\n').problem.adoptions,
    )
    for sku in ("h100-8", "a100-80-8"):
        assert found[sku, (True,)] / found[sku, (False,)] == pytest.approx(1.41)
    assert found["h100-8", (False,)] == 1.0
    assert adoptions.usable_fraction[0] == pytest.approx([1 - 14 / 90, 1.0])
    hour = load_catalogue().fact("planning.person_hour").value
    assert adoptions.usd[0] == pytest.approx([40 * hour, 0.0])
    plain = assembled(HOURS).problem
    assert len(plain.adoptions) == 0
    assert plain.work_options.speed == pytest.approx([1.0, found["a100-80-8", (False,)]])


def test_energy_of_fine_tuning_falls_above_idle_and_nothing_else() -> None:
    """READ: 2.5 times less of what work adds to an idle node; hours stay."""
    works = assembled(HOURS + 'techniques = ["read"]\n').problem.work_options
    plain = ~works.uses[:, 0]
    assert works.speed[~plain] == pytest.approx(works.speed[plain])
    assert works.active_kw[plain] / works.active_kw[~plain] == pytest.approx([2.5, 2.5])


def test_answers_take_the_techniques_of_services_on_chips_in_their_scope() -> None:
    """Keys and values in 8 bits leave room for more requests at once, on chips with such a rate alone."""
    found = speeds(BATCH + 'techniques = ["kv-fp8", "distillation"]\n')
    assert found["h100-8", (True, False)] > 1.05
    assert ("a100-80-8", (True, False)) not in found
    ratio = load_catalogue().fact("technique.distillation.throughput").value
    for sku in ("h100-8", "a100-80-8"):
        assert found[sku, (False, True)] / found[sku, (False, False)] == pytest.approx(ratio)


def test_rollouts_are_written_faster_and_trained_on_as_before() -> None:
    """Speculative decoding shortens the writing alone: less than it does where answers are all of it."""
    more = 'techniques = ["speculative-decoding"]\n'
    alone = 'items = "3e6 /d"\ntokens_in = 500\ntokens_out = 800\n'
    rolled, answered = speeds(ROLLOUTS + more), speeds(alone + more)
    gains = [one["h100-8", (True,)] / one["h100-8", (False,)] for one in (rolled, answered)]
    assert 1.0 < gains[0] < gains[1]


def test_what_goes_together_is_paid_once_for_each_and_what_does_not_is_no_way() -> None:
    pool = BATCH + 'techniques = ["layerskip", "speculative-decoding", "kv-fp8"]\n'
    works = assembled(pool).problem.work_options
    sets = {tuple(uses) for uses in works.uses.tolist()}
    assert (True, False, True) in sets
    assert not {one for one in sets if one[0] and one[1]}, "they exclude each other"


def test_a_technique_that_pays_is_adopted_paid_and_told() -> None:
    plain, less = planned(HOURS), planned(HOURS + 'techniques = ["candidate-prediction"]\n')
    one, other = plain.answer.solution, less.answer.solution
    assert one is not None
    assert other is not None
    assert less.answer.objective < 0.99 * plain.answer.objective
    assert other.adopted.tolist() == [1]
    assert less.ledger.cost.value == pytest.approx(other.usd, rel=1e-9)
    hour = load_catalogue().fact("planning.person_hour").value
    assert less.ledger.usd_terms["adopted_usd"].value == pytest.approx(40 * hour)
    rows = pool_records(less, other)
    first = [row for row in rows if row["way"] == "candidate-prediction"]
    assert first
    of_first = sum(float(row["reference_h"].value) for row in first if row["period"] == rows[0]["period"])
    assert of_first <= (1 - 14 / 90) * less.problem.work.demand_h[0, 0] * (1 + 1e-6)
    (said,) = adoption_sentences(less, other)
    assert said.startswith("Adopt candidate-prediction for work from 2027-01-15: it does ")
    assert "Quality: no model changes." in said
    assert "way" not in pool_records(plain, one)[0]
    row = next(row for row in unit_cost_records(less, other) if row["work"] == "work")
    assert row["usd"].value > 40 * hour, "it pays for what it adopts, or the sum of all work is refused"


def test_a_replay_has_what_was_adopted_from_its_day_on_and_nothing_else() -> None:
    """The operation of each future: never more than the share of the period, nor without the adoption."""
    plan = planned(HOURS + 'techniques = ["candidate-prediction"]\n')
    solution = plan.answer.solution
    assert solution is not None
    works, demand = plan.problem.work_options, plan.problem.work.demand_h
    for adopted, most in ((1, 1 - 14 / 90), (0, 0.0)):
        at = desk(plan.inputs, plan.assembled, dataclasses.replace(solution, adopted=np.array([adopted])))
        found = operate(at, at.stated(), Means(rent=True), at.prices())
        assert found is not None
        with_it = (works.speed * works.uses[:, 0]) @ found.working
        assert with_it[0] == pytest.approx(most * demand[0, 0], abs=1e-3)


def test_a_technique_after_the_horizon_changes_nothing() -> None:
    plain, late = planned(HOURS), planned(HOURS + 'techniques = ["candidate-prediction"]\n', late=True)
    assert plain.answer.solution is not None
    assert late.answer.solution is not None
    assert late.answer.objective == plain.answer.objective
    assert np.array_equal(late.answer.solution.work_node_h, plain.answer.solution.work_node_h)


@pytest.mark.parametrize(
    ("pool", "said"),
    [
        (HOURS + 'techniques = ["kv-fp8"]\n', "'kv-fp8' changes nothing here: it is for inference"),
        (BATCH + 'techniques = ["read"]\n', "'read' changes nothing here: it is for fine-tuning"),
        (HOURS + 'techniques = ["svp-cf"]\n', "it is for recommendation models"),
        (HOURS + 'techniques = ["2-4-sparsity"]\n', "it is for training"),
        (HOURS + 'techniques = ["red"]\n', "'red'"),
    ],
)
def test_what_is_out_of_scope_is_refused(pool: str, said: str) -> None:
    with pytest.raises(ScenarioError) as found:
        check_scenario(scenario(pool), load_catalogue())
    assert said in str(found.value)


def test_a_policy_for_all_reaches_pools_and_an_experiment_alone_no_final_run() -> None:
    """What is for experiments may be used by pools; runs alone refuse it, as in test_run_ways."""
    found = scenario(HOURS, **{"policy.techniques": ["candidate-prediction"]})
    check_scenario(found, load_catalogue())
    works = assemble(Inputs(found, load_catalogue())).problem.work_options
    own = assembled(HOURS + 'techniques = ["candidate-prediction"]\n').problem.work_options
    assert works.speed == pytest.approx(own.speed)
