"""Plans for several futures: against trying every order, sums by hand, and what must hold for any of them.

The small scenario serves one model from one site for a quarter or two; it is solved to a gap of 0.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explained import explained
from plain import plain
from sizes import size

from planner.answers.futures import (
    FuturesPlan,
    futures_document,
    futures_text,
    in_future,
    mean_future,
    plan_futures,
)
from planner.answers.futures.commands import (
    draw_realised,
    read_realised,
    replay_document,
    replay_scenario,
    replay_text,
)
from planner.answers.plan.summary import why_this_plan
from planner.inputs.loading import load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import (
    Scenario,
    ScenarioError,
    canonical_text,
    load_scenario,
    parse_scenario,
    with_changes,
)
from planner.inputs.scenario.schema_futures import Future
from planner.program.draws import drawn_futures
from planner.program.futures import expected_usd, hedging_value_usd, knowing_value_usd
from planner.program.plan import plan_fleet
from planner.program.replay import known_in, replay
from planner.report.cells import opened_cell
from planner.report.integrity import disagreements
from planner.trace.errors import InputError
from solver.stochastic import FirstStage, in_each_future
from solver.verify import objective_value, verify

CODE = {
    "name": "code",
    "model": "codellama-34b",
    "precision": "bf16",
    "tokens_in": 2000,
    "tokens_out": 30,
    "peak_rate": "25 /s",
    "mean_to_peak": 0.35,
    "first_token": "2 s",
    "per_token": "60 ms",
    "availability": 0.999,
    "unmet_penalty": "0.01 USD",
}
SITE = {
    "name": "virginia",
    "grid": "us-srvc",
    "pue": 1.2,
    "power_cap": "2 MW",
    "racks": 60,
    "electricity_price": "70 USD/MWh",
}
MARKET = [
    {"sku": "h100-8", "lead_time": "0 d", "price": "300 kUSD"},
    {"sku": "l40s-8", "lead_time": "0 d", "price": "90 kUSD"},
]
SMALL = {
    "horizon.periods": 1,
    "services": [CODE],
    "sites": [SITE],
    "fleet": [],
    "market": MARKET,
    "policy.objective": "money",
    "solve.gap": "0 %",
}
LOW, HIGH = {"name": "low", "probability": 0.5}, {"name": "high", "probability": 0.5, "demand": 3}
PAIR = {"futures": [LOW, HIGH]}
MUST = {"services.code.unmet_penalty": None}


@cache
def shipped(name: str) -> Scenario:
    return load_scenario(plain(name))


def small(changes: Mapping[str, Any] = PAIR) -> Scenario:
    stated = with_changes(shipped("serving-only"), SMALL)
    return with_changes(stated, dict(changes))


def planned(changes: Mapping[str, Any] = PAIR) -> FuturesPlan:
    return plan_futures(small(changes))


def future(**said: Any) -> Future:
    return small({"futures": [{"name": "one", "probability": 1, **said}]}).futures[0]


# What may be written


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"futures": [LOW]}, "futures: have chances that add up to 0.5: make it 1"),
        ({"futures": [LOW, LOW]}, r"futures[1].name: 'low' is also futures[0]"),
        ({"futures": [LOW, HIGH | {"demand": 0}]}, "futures.high.demand: 0 is out of range"),
        ({"futures": [LOW, HIGH | {"demand": [1, 2]}]}, "futures.high.demand: the list has 2 values"),
        ({"futures": [LOW, HIGH | {"set": {"sites.x.pue": 2}}]}, ".high.set.sites.x.pue: leads nowhere"),
        ({"futures": [LOW, HIGH | {"set": {"solve.gap": 2}}]}, ".high.set.solve.gap: 2 is out of range"),
        ({"futures": [LOW, HIGH | {"set": 3}]}, "futures.high.set: 3 is not a table"),
        ({"futures": [LOW, HIGH], "uncertainty": {}}, "uncertainty: and futures say twice"),
        ({"policy.robust": "regret"}, "policy.robust: has no effect without [[futures]]"),
        (PAIR | {"policy.robust": "luck"}, "policy.robust: 'luck' is not possible here"),
        (PAIR | {"policy.decide_until": "2028-01-01"}, "is not in the horizon: write a day after 2027-01-01"),
        ({"uncertainty": {"draws": 3, "reduce_to": 4}}, "uncertainty.reduce_to: is 4, more than the 3 draws"),
        ({"uncertainty": {"demand": [1.1, 1.3]}}, "uncertainty.demand: holds a least and a most with 1"),
    ],
)
def test_what_cannot_be_written(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError) as wrong:
        small(changes)
    assert said in str(wrong.value)


def test_a_scenario_with_futures_is_written_and_read_alike() -> None:
    high = HIGH | {"grid": 0.8, "electricity": 1.4, "set": {"sites.virginia.pue": 1.3}}
    one = small({"futures": [LOW, high], "policy.robust": "regret"})
    drawn = small({"uncertainty": {"draws": 20, "demand": [0.8, 1.3]}})

    for scenario in (one, drawn):
        assert parse_scenario(canonical_text(scenario)) == scenario
    text = canonical_text(shipped("serving-only"))
    assert not any(word in text for word in ("futures", "uncertainty", "robust", "decide_until"))


# A scenario in its futures


def test_multiples_reach_what_they_are_about() -> None:
    """Each value of the changed scenario is the stated one times its multiple; the rest stays."""
    stated, catalogue = small({}), load_catalogue()
    one = future(demand=3, grid=0.8, electricity=1.4, failures=1.5, node_price=1.1)
    before, after = (Inputs(s, catalogue) for s in (stated, in_future(stated, one, catalogue)))

    assert after.scenario.services[0].peak_requests_per_s == pytest.approx((75.0,))
    assert after.grid[0].value == pytest.approx(0.8 * before.grid[0].value)
    assert after.electricity[0].value == pytest.approx(1.4 * 0.07)
    assert after.failure_rate().value == pytest.approx(1.5 * before.failure_rate().value)
    assert after.scenario.market[0].price_usd == pytest.approx((330_000.0,))
    assert after.scenario.sites[0].pue == before.scenario.sites[0].pue


def test_failures_of_ones_own_multiply(root: Path, tmp_path: Path) -> None:
    """A stated rate is written anew; that of a log is scaled with its range, the rest kept."""
    more = Future.model_construct(name="more", probability_fraction=1.0, failures_ratio=2.0)
    own = small({"reliability.failures": None, "reliability.failure_rate": "0.001 /h"})
    assert in_future(own, more, load_catalogue()).reliability.failure_rate_per_node_h == pytest.approx(0.002)

    (tmp_path / "fit.json").write_bytes((root / "tests/broken/fits/whole.json").read_bytes())
    path, named = tmp_path / "small.toml", 'failures = "meta-rsc-2"'
    text = canonical_text(small({}))
    assert named in text
    path.write_text(text.replace(named, 'log = "fit.json"'))
    fitted = load_scenario(path)
    scaled = in_future(fitted, more, load_catalogue()).fit
    assert fitted.fit is not None
    assert scaled is not None
    assert scaled.failure_rate.value == pytest.approx(2 * fitted.fit.failure_rate.value)
    assert scaled.failure_rate.high == pytest.approx(2 * (fitted.fit.failure_rate.high or 0))
    assert repr(scaled.repair) == repr(fitted.fit.repair)


def test_multiples_of_jobs_and_pools() -> None:
    job = shipped("one-training-job")
    more = Future.model_construct(name="more", probability_fraction=1.0, tokens_ratio=1.25)
    assert in_future(job, more, load_catalogue()).training[0].tokens == 1.25 * job.training[0].tokens

    quarter = shipped("next-quarter")
    more = Future.model_construct(name="more", probability_fraction=1.0, work_ratio=(1.0, 2.0, 3.0, 4.0))
    worked = in_future(quarter, more, load_catalogue()).pools[0].gpu_time_h
    assert worked == pytest.approx([500_000, 1_200_000, 2_100_000, 3_200_000])


def test_the_mean_of_futures() -> None:
    """0.5 * 1 + 0.5 * 3 = 2 for demand; a multiple that one does not name is 1 there."""
    found = mean_future(small({"futures": [LOW, HIGH | {"grid": 0.8}]}).futures, 1)

    assert found.demand_ratio == pytest.approx((2.0,))
    assert found.grid_ratio == pytest.approx(0.9)
    assert found.tokens_ratio is None


# One plan for all


@pytest.mark.nightly
def test_every_order_tried() -> None:
    """Of all orders of up to 6 and 3 nodes, none is cheaper in the mean; it lies between the extremes."""
    found = planned()
    hedge = found.hedge
    assert hedge is not None
    none = np.zeros((0, 1), dtype=np.int64)
    tried = {}
    for h100, l40s in itertools.product(range(7), range(4)):
        stage = FirstStage(np.array([[h100], [l40s]]), none, none, none)
        held = in_each_future(found.together, stage, gap_fraction=0.0, time_limit_s=20.0)
        tried[h100, l40s] = float(np.mean([one.objective for one in held]))
    best = min((value, key) for key, value in tried.items() if not np.isnan(value))

    assert hedge.value == pytest.approx(best[0], rel=1e-6)
    assert tuple(hedge.first_stage.orders[:, 0].tolist()) == best[1]
    assert 0 < hedge.first_stage.orders.sum() < 12


@pytest.mark.parametrize(("changes", "alike"), [({}, False), (MUST, True)])
def test_a_chance_matters_only_where_demand_may_go_unmet(changes: dict[str, Any], alike: bool) -> None:
    """A boom of 1 % and of 90 %: with a penalty other orders; where all must be served, the same ones."""
    orders = []
    for chance in (0.01, 0.9):
        pair = [LOW | {"probability": 1 - chance}, HIGH | {"probability": chance}]
        found = planned({"futures": pair} | changes)
        assert found.hedge is not None
        orders.append(found.hedge.plans[0].orders.tolist())
    assert (orders[0] == orders[1]) is alike
    assert planned(PAIR | changes).chances_matter is not alike


@pytest.mark.nightly
def test_a_worst_case_knows_no_chances() -> None:
    idle = {"facts.accelerator.gb200-nvl72.tdp": "1 kW"}  # nobody has or offers such a node
    found = planned(PAIR | {"policy.robust": "worst"} | idle)
    said = futures_document(found)["headline"]

    assert found.chances_matter is False
    assert found.implied_penalties == ()
    assert any("Chances play no part" in line for line in said)
    assert said[-1].startswith("[facts] accelerator.gb200-nvl72.tdp changes nothing: ")


@pytest.mark.nightly
def test_the_penalty_that_a_plan_implies_is_the_one_below_which_requests_are_left_out() -> None:
    """Stated a little below it, a part of the boom is left out; well above it, all is served."""
    found = planned(PAIR | MUST)
    (implied,) = found.implied_penalties
    said = " ".join(futures_document(found)["headline"])

    def left_out(penalty: float) -> float:
        other = planned(PAIR | {"services.code.unmet_penalty": f"{penalty} USD"})
        assert other.hedge is not None
        return max(float(plan.shed_fraction.max()) for plan in other.hedge.plans)

    assert implied.least == pytest.approx(implied.most)
    assert (implied.service, implied.future) == ("code", "high")
    assert left_out(0.95 * implied.per_request) > 0
    assert left_out(3.0 * implied.per_request) == 0
    assert f"an unserved request costs {implied.per_request:.5f} USD or more" in said
    assert planned().implied_penalties == ()


def test_the_mean_is_a_sum_by_hand_and_can_be_explained() -> None:
    found = planned()
    assert found.hedge is not None
    costs = [plan.ledger.objective.value for plan in found.plans]
    known = [one.objective for one in found.known]
    mean = [one.objective for one in found.mean]
    document = futures_document(found)

    assert found.expected.value == pytest.approx(0.5 * costs[0] + 0.5 * costs[1])
    assert found.expected.value == pytest.approx(found.hedge.value)
    assert found.worth["knowing"].value == pytest.approx(np.mean(costs) - np.mean(known))
    assert found.worth["hedging"].value == pytest.approx(np.mean(mean) - np.mean(costs))
    assert min(found.worth["knowing"].value, found.worth["hedging"].value) >= -1e-6 * abs(hedged(found))
    leaves = explained(document, "expected").to_text()
    assert "accelerator.h100-sxm-80gb" in leaves
    assert "scenario.market.h100-8.price" in leaves


def test_every_number_of_the_futures_opens_and_agrees() -> None:
    """Each cell is the top of its explanation; one that was changed, or the mean, is named."""
    document = futures_document(planned())
    for table in ("first_stage", "futures", "worth"):
        for row in document[table]:
            for key, value in row.items():
                if isinstance(value, int | float):
                    found = opened_cell(document, table, row, key)
                    assert found is not None, (table, key)
                    assert found.steps[0].value == pytest.approx(value, rel=1e-12), (table, key)

    assert disagreements(document) == []
    row = document["futures"][1]
    row["cost_usd"] *= 3
    assert [place for place, _ in disagreements(document)] == ["futures[1].cost_usd"]
    row["cost_usd"] /= 3
    document["objective"]["value"] *= 1.5
    assert [place for place, _ in disagreements(document)] == ["objective.value (the mean of the futures)"]


def hedged(found: FuturesPlan) -> float:
    return float(found.expected.value)


def test_each_future_is_verified() -> None:
    found = planned(PAIR | {"horizon.periods": 2})
    assert found.hedge is not None
    for problem, plan, shown in zip(
        found.together.problems, found.hedge.plans, found.hedge.objectives, strict=True
    ):
        assert verify(problem, plan, 1e-6) == []
        assert shown == pytest.approx(objective_value(problem, plan))


@pytest.mark.nightly
def test_what_is_made_least_is_least() -> None:
    """Each aim wins by its own measure: mean, worst future, largest regret."""
    aims = ("expected", "worst", "regret")
    found = {aim: planned(PAIR | {"policy.robust": aim}) for aim in aims}
    values = {aim: one.hedge.objectives for aim, one in found.items() if one.hedge is not None}
    tolerance = 1 + 1e-6

    for other in aims:
        assert values["expected"].mean() <= values[other].mean() * tolerance
        assert values["worst"].max() <= values[other].max() * tolerance
        assert found["regret"].regrets.max() <= found[other].regrets.max() * tolerance + 1e-9


@pytest.mark.nightly
def test_deciding_less_now_never_costs_more() -> None:
    """With the second quarter's orders left open the plan is cheaper, and no cheaper than knowing all."""
    futures = [LOW, HIGH | {"demand": [1, 3]}]
    two = {"horizon.periods": 2, "futures": futures}
    whole, part = planned(two), planned(two | {"policy.decide_until": "2027-02-01"})

    assert part.together.shared_periods == 1
    assert hedged(part) <= hedged(whole) * (1 + 1e-6)
    assert hedged(part) >= np.mean(part.best) * (1 - 1e-6)
    assert hedged(part) < hedged(whole)  # demand is alike until then: what is short can be ordered later


def test_one_future_is_the_plan_itself() -> None:
    stated = small({})
    alone = planned({"futures": [{"name": "stated", "probability": 1}]})

    assert hedged(alone) == pytest.approx(plan_fleet(stated, baselines=False).answer.objective, rel=1e-6)
    assert alone.worth["knowing"].value == pytest.approx(0.0, abs=1e-3)
    assert alone.worth["hedging"].value == pytest.approx(0.0, abs=1e-3)


def test_a_plan_says_that_it_leaves_the_futures_out() -> None:
    said = why_this_plan(plan_fleet(small(), baselines=False))[1]
    assert any("`everfleet futures` plans for all of its futures" in sentence for sentence in said)


def test_the_words() -> None:
    """What must be served is ordered for the highest demand, and the plan for the mean cannot serve it."""
    document = futures_document(planned(PAIR | MUST))
    text = futures_text(document)

    nodes = document["first_stage"][0]["nodes"]
    assert f"Order {nodes} nodes of h100-8 at virginia in 2027 Q1, whatever comes." in text
    assert "The plan for the mean future has no way through high." in text
    assert document["futures"][0]["mean_plan_value"] is not None
    assert document["futures"][1]["mean_plan_value"] is None
    assert json.loads(json.dumps(document)) == document


def test_a_future_without_a_plan_is_named() -> None:
    found = planned(MUST | {"futures": [LOW, HIGH | {"set": {"sites.virginia.power_cap": "2 kW"}}]})
    document = futures_document(found)

    assert found.impossible == ("high",)
    assert document["status"]["name"] == "infeasible"
    assert "No plan was found in high, even had it been known" in futures_text(document)


def test_a_future_of_another_fleet_is_refused() -> None:
    with pytest.raises(InputError, match=r"other node_groups\.lead_periods than the first; futures may"):
        planned(
            {
                "horizon.periods": 2,
                "futures": [LOW, HIGH | {"set": {"market.h100-8.lead_time": "60 d"}}],
            }
        )
    with pytest.raises(InputError, match="the scenario names no future"):
        planned({})
    with pytest.raises(InputError, match="is not weighed over futures"):
        planned(PAIR | {"policy.objective": "lexicographic", "policy.first": "carbon"})


def test_what_hedging_and_knowing_are_worth() -> None:
    """Birge and Louveaux's farmer (section 1.1): wait-and-see 115,406, stochastic 108,390, mean 107,240.

    They maximise profit; as costs EVPI is 7,016 and VSS 1,150 dollars.
    """
    assert knowing_value_usd(hedged_usd=-108_390.0, known_usd=-115_406.0) == pytest.approx(7_016.0)
    assert hedging_value_usd(mean_plan_usd=-107_240.0, hedged_usd=-108_390.0) == pytest.approx(1_150.0)
    assert hedging_value_usd(mean_plan_usd=0.1 + 0.2, hedged_usd=0.3) == 0.0, "rounding is worth nothing"
    yields = np.array([-48_820.0, -109_350.0, -167_000.0])
    assert expected_usd(each_usd=yields, probability_fraction=np.full(3, 1 / 3)) == pytest.approx(-108_390.0)


# Drawn futures


@pytest.mark.nightly
def test_drawn_futures_stand_for_all_draws() -> None:
    """Shares of draws add up to 1; the same seed draws the same; demand stays inside its range."""
    draws = size(6, nightly=40)
    scenario = small(MUST | {"uncertainty": {"draws": draws, "reduce_to": 4, "demand": [0.5, 3]}})
    uncertainty = scenario.uncertainty
    assert uncertainty is not None

    found, again = (drawn_futures(scenario, uncertainty, load_catalogue()) for _ in range(2))

    assert [one.name for one in found] == [one.name for one in again]
    assert sum(one.probability_fraction for one in found) == pytest.approx(1.0)
    assert all(round(draws * one.probability_fraction, 6).is_integer() for one in found)
    ratios = [one.demand_ratio[0] for one in found if one.demand_ratio is not None]
    assert len(ratios) == 4
    assert 0.5 <= min(ratios) < 1 < max(ratios) <= 3
    planned_for = plan_futures(scenario)
    assert [one.name for one in planned_for.futures] == [one.name for one in found]
    assert planned_for.worth["knowing"].value >= -1e-6 * hedged(planned_for)


@pytest.mark.nightly
def test_draws_that_are_alike_are_one_future() -> None:
    """Without a plan no draw moves anything: one of them stands for all, none is left with a share of 0."""
    nothing = {"sites.virginia.power_cap": "1 kW", "uncertainty": {"draws": 6, "reduce_to": 3}}
    scenario = small(MUST | nothing)
    assert scenario.uncertainty is not None

    (one,) = drawn_futures(scenario, scenario.uncertainty, load_catalogue())
    assert one.probability_fraction == pytest.approx(1.0)


# Replays


TWO = {"horizon.periods": 2}


@pytest.mark.nightly
def test_what_came_as_stated_leaves_no_regret() -> None:
    stated = small(TWO)
    played = replay(stated, future())

    best = plan_fleet(stated, baselines=False).answer.objective
    for one in (played.known, played.again, played.once):
        assert one is not None
        assert one.objective == pytest.approx(best, rel=1e-6)
    assert played.regret(played.again) == pytest.approx(0.0, abs=1e-6 * best)


@pytest.mark.nightly
def test_replanning_lies_between_knowing_and_never() -> None:
    """Demand triples in the second quarter: what is planned then buys more, what was planned once pays."""
    stated = small(TWO)
    came = with_changes(stated, {"futures": [{"name": "r", "probability": 1, "demand": [1, 3]}]}).futures[0]
    played = replay(stated, came)

    assert played.again is not None
    assert played.once is not None
    assert played.known.objective <= played.again.objective * (1 + 1e-6)
    assert played.again.objective < played.once.objective
    first = played.made[0].orders
    assert played.decided.orders[:, 0].tolist() == first[:, 0].tolist()
    assert played.decided.orders[:, 1].sum() > first[:, 1].sum()
    assert verify(played.assembled.problem, played.again.solution, 1e-6) == []  # type: ignore[arg-type]
    plan = played.plan
    assert plan is not None
    assert plan.ledger.objective.value == pytest.approx(played.again.objective)
    text = replay_text(replay_document(played))
    assert "Played through 2027 Q1 to 2027 Q2" in text
    assert "planned once" in text


def test_a_replay_that_cannot_go_on_says_where() -> None:
    stated = small(TWO | MUST | {"market": [MARKET[0] | {"supply_nodes": [8, 0]}]})
    came = with_changes(stated, {"futures": [{"name": "r", "probability": 1, "demand": [1, 3]}]}).futures[0]
    document = replay_document(replay(stated, came))

    assert document["status"]["verified"] is False
    assert document["status"]["text"].startswith("From 2027 Q2 on there is no plan any more")
    assert [step["planned"] for step in document["periods"]] == [True, False]


def test_a_job_that_was_begun_goes_on() -> None:
    """A job of three months, played by quarters in what was stated, runs where and when the plan said."""
    job = with_changes(shipped("one-training-job"), {"solve.gap": "0 %"})
    played = replay(job, future())

    best = plan_fleet(job, baselines=False).answer
    assert played.again is not None
    assert played.again.objective == pytest.approx(best.objective, rel=1e-6)


def test_what_is_known_when() -> None:
    """Demand up to the period itself; failures from the second period on; later as stated, or as last."""
    came = Future.model_construct(
        name="r", probability_fraction=1.0, demand_ratio=(1.1, 1.2, 1.3), failures_ratio=1.5, values={"a": 1}
    )

    first, second = known_in(came, 0, 3, False), known_in(came, 1, 3, True)
    assert first.demand_ratio == (1.1, 1.0, 1.0)
    assert (first.failures_ratio, first.values) == (None, {})
    assert second.demand_ratio == (1.1, 1.2, 1.2)
    assert (second.failures_ratio, second.values) == (1.5, {"a": 1})


def test_what_came_is_read_from_a_file(tmp_path: Path) -> None:
    file, stated = tmp_path / "came.toml", small(TWO)
    file.write_text("demand = [1.0, 3.0]\n")
    assert read_realised(stated, file).demand_ratio == (1.0, 3.0)
    document, text = replay_scenario(stated, realised=file, draw=None, persist=True)
    assert document["realised"] == "realised"
    assert "nodes ordered" in text

    for wrong, said in (
        ("demand = -1", "came.toml: demand: -1 is out of range"),
        ("demnd = 1", "came.toml: demnd: is not known here; did you mean 'demand'?"),
        ("name = 'x'", "came.toml: name: has no place here"),
        ("demand = ", "came.toml: end of document: this is not TOML: "),
    ):
        file.write_text(wrong)
        with pytest.raises(ScenarioError) as error:
            read_realised(stated, file)
        assert said in str(error.value)
    with pytest.raises(ScenarioError, match=r"nope\.toml: no such file"):
        read_realised(stated, tmp_path / "nope.toml")
    with pytest.raises(InputError, match="--realised FILE, or --draw SEED"):
        replay_scenario(stated, realised=None, draw=None, persist=False)


def test_what_came_is_drawn() -> None:
    """Of named futures one, by its chance: about half of the seeds; else facts and demand in their ranges."""
    named = [draw_realised(small(), seed, load_catalogue()).name for seed in range(40)]
    assert 10 <= named.count("high") <= 30

    ranges = small(TWO | {"uncertainty": {"demand": [0.8, 1.2]}})
    came = draw_realised(ranges, 3, load_catalogue())
    assert came.demand_ratio is not None
    assert all(0.8 <= ratio <= 1.2 for ratio in came.demand_ratio)
    assert came.values == draw_realised(ranges, 3, load_catalogue()).values


# Chances of one plan


def test_a_surer_deadline_never_cheapens_the_plan() -> None:
    """A higher quantile of the finish time bars runs and allows none: the best of fewer is no better."""
    job = with_changes(shipped("one-training-job"), {"solve.gap": "0 %"})
    costs = [
        plan_fleet(
            with_changes(job, {"training.train-8b.deadline_confidence": level}), baselines=False
        ).answer.objective
        for level in (0.5, 0.8, 0.95, 0.99, 0.999)
    ]

    for less, more in itertools.pairwise(costs):
        assert less <= more * (1 + 1e-6)
