"""What a scenario trades, in the library: fronts with plans, deadlines moved, differences shared out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from explained import explained
from test_plan_questions import TEXT, WIDE

from planner.answers.saved.side_by_side import Compared, compare_several, side_by_side
from planner.answers.saved.tables import inputs_rows, signed_text, term_steps, totals_rows
from planner.answers.sweeps.attribution import Outcome, attribution, plan_mix, shares
from planner.answers.tradeoffs.deadlines import TimeError, _next_days, days_to_move, find_times
from planner.answers.tradeoffs.time_front import time_document
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.scenario import Scenario, canonical_text, load_scenario, parse_scenario, with_changes
from planner.inputs.scenario.bundle import KeptScenario
from planner.program.plan import plan_fleet
from planner.report.charts.compared import changed_waterfall, terms_side_by_side
from planner.report.charts.fronts import money_front, time_front
from planner.store import open_store
from planner.trace.errors import InputError
from planner.ui.workers import Step
from planner.ui.workers.shipped import NAMES, SCENARIO, made_from, shipped, shipped_path
from planner.ui.workers.tradeoffs import alternatives, front, front_of_time, sensitivity

SAMPLE = json.loads((Path(__file__).parents[1] / "sample_plan.json").read_text(encoding="utf-8"))
ONE_JOB = data_folder() / "scenarios" / "one-training-job.toml"
QUICK = {"solve.time_limit": "20 s"}


class Heard:
    """What a task told."""

    def __init__(self) -> None:
        self.parts: list[dict[str, Any]] = []

    def __call__(
        self, text: str = "", *, step: Step | None = None, part: dict[str, Any] | None = None
    ) -> None:
        if part is not None:
            self.parts.append(part)


def arguments_of(scenario: Scenario, **more: Any) -> dict[str, Any]:
    return {"name": "asked.toml", "text": canonical_text(scenario), "files": {}, **more}


@cache
def two_sites() -> Scenario:
    """Fine-tuning on two sites, one with dirtier power."""
    return with_changes(parse_scenario(TEXT), WIDE)


def never() -> bool:
    return False


# Time against carbon


@cache
def one_job() -> Scenario:
    return load_scenario(ONE_JOB, QUICK)


@cache
def times() -> dict[str, Any]:
    return time_document(find_times(one_job(), points=4))


def time_rows() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = times()["sections"]["times"]["tables"]["times"]
    return rows


@pytest.mark.nightly
def test_each_point_of_time_is_the_cleanest_plan_of_its_deadline() -> None:
    """Agreement: a plan made anew for that deadline, counting only carbon, emits the same within the gap."""
    assert len(time_rows()) >= 3
    for row in time_rows():
        changes = {"policy.objective": "carbon", "training.train-8b.deadline": row["deadline"]}
        anew = plan_fleet(with_changes(one_job(), changes), baselines=False).answer.solution
        assert anew is not None
        assert row["carbon_kgco2e"] == pytest.approx(anew.kgco2e, rel=0.006)
        assert row["finish_p95"] <= row["deadline"]


def test_more_time_is_never_dirtier() -> None:
    """A plan that is done early keeps every later deadline as well."""
    kept = [row for row in time_rows() if row["mark"] != "beaten"]

    assert all(np.diff([row["carbon_kgco2e"] for row in kept]) < 0)
    assert [row["deadline"] for row in kept] == sorted(row["deadline"] for row in kept)


def test_no_plan_is_done_before_the_first_day_that_is_tried() -> None:
    """The fastest option alone sets the first deadline: one day earlier nothing fits, whatever it costs."""
    first, last = days_to_move(one_job(), load_catalogue())
    earlier = with_changes(one_job(), {"training.train-8b.deadline": "2027-01-04"})

    assert (first, last) == (-176, 1)  # 5 January and the end of the horizon, 1 July, from 30 June
    assert plan_fleet(earlier, baselines=False).answer.solution is None


def test_the_widest_step_of_the_staircase_is_looked_at_next() -> None:
    """By hand: 100 days that save 10 % against 30 that save 50 %; then nothing where all days are known."""

    def plan(kgco2e: float) -> Any:
        return SimpleNamespace(solution=SimpleNamespace(kgco2e=kgco2e))

    assert _next_days({0: plan(100.0), 100: plan(90.0), 130: plan(45.0)}) == [115]
    assert _next_days({-10: None, 0: plan(100.0), 130: plan(99.9)}) == [-5]
    assert _next_days({0: plan(100.0), 1: plan(50.0)}) == []
    assert _next_days({0: plan(-10.0), 100: plan(-20.0)}) == [50], "what is below nothing can fall too"
    assert _next_days({0: plan(0.0), 100: plan(0.0)}) == []


def test_a_scenario_without_deadlines_says_so() -> None:
    with pytest.raises(TimeError, match="No job of this scenario has a deadline"):
        find_times(load_scenario(data_folder() / "scenarios" / "serving-only.toml"), points=4)


def test_a_stop_keeps_the_deadlines_that_are_there() -> None:
    """Stopped once there is one plan: that one stands, and that the rest is not known is said."""
    found: list[Any] = []
    front = find_times(one_job(), points=9, met=found.append, should_stop=lambda: bool(found))
    document = time_document(front)

    assert len(document["sections"]["times"]["tables"]["times"]) == 1
    assert document["sections"]["times"]["said"][0].startswith("Stopped early: 1 ")


# Fronts as work


def test_a_point_of_the_front_is_planned_again_from_its_changes() -> None:
    """Agreement: the scenario with a point's changes, planned anew, costs and emits what the point does."""
    heard = Heard()
    found = front(arguments_of(two_sites(), points=3), heard, never)
    rows = found["sections"]["front"]["tables"]["points"]

    assert [plan["point"] for plan in found["plans"]] == [row["point"] for row in rows]
    assert [row["name"] for row in found["beside"]] == ["this scenario's plan"]  # nothing stands today
    assert sum("row" in part for part in heard.parts) >= len(rows)
    assert found["tornado"][0].keys() >= {"fact", "at_low", "at_high"}
    row, plan = rows[0], found["plans"][0]
    assert {total["name"]: total["value"] for total in plan["totals"]} == pytest.approx(
        {"cost": row["cost_usd"], "carbon": row["carbon_kgco2e"]}
    )
    assert sum(term["usd"] for term in plan["tables"]["cost"]) == pytest.approx(row["cost_usd"])
    assert explained(plan, "carbon").steps[0].value == pytest.approx(row["carbon_kgco2e"])
    anew = plan_fleet(with_changes(two_sites(), plan["changes"]), baselines=False).answer.solution
    assert anew is not None
    assert anew.usd == pytest.approx(row["cost_usd"], rel=0.01)
    assert anew.kgco2e <= row["carbon_kgco2e"] * (1 + 1e-5)


@pytest.mark.nightly
def test_a_stopped_front_keeps_its_points_and_their_plans() -> None:
    heard = Heard()
    found = front(
        arguments_of(two_sites(), points=9), heard, lambda: sum("row" in part for part in heard.parts) > 0
    )
    rows = found["sections"]["front"]["tables"]["points"]

    assert found["complete"] is False
    assert len(found["plans"]) == len(rows)
    assert 1 <= len(rows) <= 2  # the second end may take up the plan of the first


@pytest.mark.nightly
def test_a_deadline_is_planned_again_from_its_changes() -> None:
    """The changes are those of `--set`: they make a scenario, whose cleanest plan is the point's."""
    found = front_of_time(arguments_of(one_job(), points=2), Heard(), never)
    row, plan = found["sections"]["times"]["tables"]["times"][-1], found["plans"][-1]
    changed = with_changes(one_job(), plan["changes"])

    assert changed.training[0].deadline.isoformat() == row["deadline"]
    assert plan_fleet(changed, baselines=False).answer.solution.kgco2e == pytest.approx(  # type: ignore[union-attr]
        row["carbon_kgco2e"], rel=0.011
    )


@pytest.mark.nightly
def test_alternatives_and_flips_are_work_too() -> None:
    """What the commands print, as documents; one lever keeps it short."""
    others = alternatives(arguments_of(one_job(), plans=1, within_fraction=0.05), Heard(), never)
    flips = sensitivity(arguments_of(one_job(), vary=["electricity=0.9..1.1"]), Heard(), never)

    assert others["has_plan"] is True
    assert [row["alternative"] for row in others["rows"]] == list(range(1, len(others["said"]) + 1))
    assert all(row["excess_fraction"] <= 0.05 + 1e-6 for row in others["rows"])
    assert len(flips["sections"]["flips"]["said"]) == 1


def test_charts_of_fronts_say_every_point_in_words() -> None:
    """No more marks than points and stars, and every kept point in the text of the picture."""
    rows = [
        {"point": 1, "cost_usd": 2e6, "carbon_kgco2e": 1e5, "mark": "cleanest"},
        {"point": 2, "cost_usd": 1.5e6, "carbon_kgco2e": 2e5, "mark": "knee"},
        {"point": 3, "cost_usd": 1.6e6, "carbon_kgco2e": 3e5, "mark": "beaten"},
    ]
    references = [{"name": "as today", "cost_usd": 3e6, "carbon_kgco2e": 4e5}]
    drawn = money_front({"sections": {"front": {"tables": {"points": rows}}}}, references, opened=2)
    assert drawn is not None

    for words in ("cleanest 2 MUSD at 100 tCO2e", "knee 1.5 MUSD", "as today 3 MUSD at 400 tCO2e"):
        assert words in drawn.alt
    assert "1.6 MUSD" not in drawn.alt
    assert money_front({"sections": {"front": {"tables": {}}}}) is None
    late = time_front(times())
    assert late is not None
    assert f"cleanest {time_rows()[-1]['carbon_kgco2e'] / 1000:.4g} tCO2e" in late.alt


@pytest.mark.parametrize("name", NAMES)
def test_what_is_shipped_is_current(name: str) -> None:
    """Made from the scenario, facts and version that are here: else run `make examples`."""
    text = (data_folder() / "scenarios" / f"{SCENARIO}.toml").read_text(encoding="utf-8")

    assert shipped(name, text) is not None, f"{shipped_path(name).name} is not of {made_from(text)}"
    assert shipped(name, text + "# another\n") is None


def test_the_shipped_front_has_a_plan_for_each_of_its_points() -> None:
    text = (data_folder() / "scenarios" / f"{SCENARIO}.toml").read_text(encoding="utf-8")
    found = shipped("front", text)
    assert found is not None
    rows = found["sections"]["front"]["tables"]["points"]

    assert found["complete"] is True
    assert len(found["plans"]) == len(rows)
    for clean, dirty in pairwise(row for row in rows if row["mark"] != "beaten"):
        assert clean["cost_usd"] > dirty["cost_usd"]


# Side by side


def compared(title: str, cost_usd: float, inputs: Mapping[str, Any], **terms: float) -> Compared:
    head = {"digest": title * 8, "title": title, "saved": "", "status": "optimal", "scenario": title}
    rows = [{"term": term, "label": term, "usd": value} for term, value in terms.items()]
    document = {
        "totals": [{"name": "cost", "label": "Cost", "unit": "USD", "value": cost_usd}],
        "tables": {"cost": rows, "carbon": []},
        "headline": [],
        "explanations": {},
    }
    return Compared(head, inputs, document)


def test_plans_are_held_against_the_first() -> None:
    """By hand: 90 and 120 against 100; a term that one plan lacks is nothing there."""
    one = compared("a", 100.0, {"x": 1, "y": [2, 3]}, bought=100.0)
    two = compared("b", 90.0, {"x": 1, "y": [2, 4]}, bought=60.0, energy=30.0)
    three = compared("c", 120.0, {"x": 5, "z": True}, bought=120.0)
    record = side_by_side([one, two, three])

    (total,) = record["totals"]
    assert total["differences"] == [0.0, -10.0, 20.0]
    assert total["difference_fractions"] == pytest.approx([0.0, -0.1, 0.2])
    assert [row["path"] for row in record["inputs"]] == ["x", "y", "z"]
    assert record["inputs"][1]["values"] == ["[2, 3]", "[2, 4]", None]
    assert term_steps(record, "cost", 0, 1) == [("bought", -40.0), ("energy", 30.0)]
    assert record["explanations"][0] == {}
    with pytest.raises(ValueError, match="plans are 1 to 6, got 7"):
        side_by_side([one] * 7)


def test_tables_of_a_comparison_name_units_and_signs() -> None:
    record = side_by_side(
        [compared("a", 2.15e6, {"x": 1}, t=2.15e6), compared("b", 2.149e6, {"x": None}, t=2.149e6)]
    )

    assert totals_rows(record, "AB") == [
        {"total": "Cost", "A": "2.15 MUSD", "B": "2.149 MUSD", "B − A": "-1 kUSD", "B − A, share": "-0.05 %"}
    ]
    assert inputs_rows(record, "AB") == [{"input": "x", "A": "1", "B": "–"}]
    assert signed_text(3e6, "kgCO2e") == "+3,000 tCO2e"
    drawn = terms_side_by_side(record, "cost", "AB")
    assert drawn is not None
    assert "A, t: 2.15 MUSD; B, t: 2.149 MUSD" in drawn.alt


def test_a_waterfall_of_changes_adds_up_to_the_difference() -> None:
    drawn = changed_waterfall([("work", 2e6), ("sites", -5e5), ("policy", 0.0)], "USD", "Cost")
    assert drawn is not None

    assert "work 2; sites -0.5; Total 1.5" in drawn.alt
    assert changed_waterfall([("work", 0.0)], "USD", "Cost") is None


def test_saved_plans_are_compared_by_their_digests(tmp_path: Path) -> None:
    """Two scenarios that differ in one value differ in one row; the links lead to the saved plans."""
    store = open_store(str(tmp_path / "plans.sqlite"))
    changed = with_changes(one_job(), {"sites.stockholm.pue": 1.2})
    digests = [store.save_plan(one, SAMPLE | {"title": t}) for one, t in ((one_job(), "a"), (changed, "b"))]
    record = compare_several(store, digests)
    store.close()

    assert record["inputs"] == [{"path": "sites.stockholm.pue", "values": [1.15, 1.2]}]
    assert [plan["digest"] for plan in record["plans"]] == digests
    assert record["totals"][0]["differences"] == [0.0, 0.0]


# What changed the answer


def test_shares_are_the_mean_over_the_orders() -> None:
    """By hand: a first adds 10 and then b 10; b first adds 4 and then a 16: 13 and 7 of 20."""
    none, a, b, both = frozenset[str](), frozenset({"a"}), frozenset({"b"}), frozenset({"a", "b"})
    values: dict[frozenset[str], float | None] = {none: 0.0, a: 10.0, b: 4.0, both: 20.0}

    assert shares(["a", "b"], values) == ({"a": 13.0, "b": 7.0}, 2)
    assert shares(["a", "b"], values | {b: None}) == ({"a": 10.0, "b": 10.0}, 1)
    assert shares(["a", "b"], values | {a: None, b: None}) == ({"a": 0.0, "b": 0.0}, 0)


def kept(changes: Mapping[str, Any], **files: bytes) -> KeptScenario:
    return KeptScenario("", "", "one.toml", canonical_text(with_changes(one_job(), changes)), files)


def priced(none_for: Callable[[Scenario], bool] = lambda _: False) -> Callable[[KeptScenario], Outcome]:
    """A plan whose cost is 100 x PUE + days of maximum life, and its carbon the same in kg."""

    def plan(mix: KeptScenario) -> Outcome:
        scenario = parse_scenario(mix.text)
        if none_for(scenario):
            return Outcome(why_not="no plan keeps every limit")
        worth = 100 * scenario.sites[0].pue + scenario.policy.node_life_y
        return Outcome(worth, worth / 2, 0.0)

    return plan


def test_what_changed_is_shared_out_among_the_groups_that_differ() -> None:
    """Two groups differ, so four plans; as they do not act on each other, each has its own change."""
    after = kept({"sites.stockholm.pue": 1.25, "policy.node_life": "7 y"})
    met: list[dict[str, Any]] = []
    found = attribution(kept({}), after, plan=priced(), met=met.append)

    assert {row["group"]: row["cost_usd"] for row in found["groups"]} == pytest.approx(
        {"sites and energy": 10.0, "policy, failures and facts": 2.0}
    )
    assert found["ends"]["carbon_kgco2e"] == pytest.approx([60.0, 66.0])
    assert (found["orders"], len(met), found["complete"]) == (2, 4, True)
    assert "+10.0 USD, +5.00 kgCO2e" in found["said"][0]


def test_orders_with_a_step_that_has_no_plan_are_left_out() -> None:
    after = kept({"sites.stockholm.pue": 1.25, "policy.node_life": "7 y"})
    worse = priced(lambda one: one.sites[0].pue > 1.2 and one.policy.node_life_y < 6)
    found = attribution(kept({}), after, plan=worse)

    assert found["orders"] == 1
    assert "the mean over 1 of the 2 orders" in found["said"][-1]
    none = attribution(kept({}), after, plan=priced(lambda one: one.sites[0].pue > 1.2))
    assert none["orders"] == 0
    assert none["said"] == [
        "The difference cannot be shared out: no order of the changes has a plan at every step. "
        "With sites and energy as after: no plan keeps every limit."
    ]


def test_scenarios_that_ask_for_the_same_have_nothing_to_share() -> None:
    found = attribution(kept({}), kept({"title": "another"}), plan=priced())

    assert found["groups"] == []
    assert "ask for the same" in found["said"][0]


def test_a_stop_shares_nothing_out() -> None:
    found = attribution(
        kept({}), kept({"sites.stockholm.pue": 1.25}), plan=priced(), should_stop=lambda: True
    )

    assert (found["complete"], found["said"]) == (False, ["Stopped early: the difference is not shared out."])


def test_files_of_one_name_have_to_be_one_file() -> None:
    with pytest.raises(InputError, match="Both scenarios name a file 'fit', and the two differ"):
        attribution(kept({}, fit=b"1"), kept({"sites.stockholm.pue": 1.25}, fit=b"2"), plan=priced())


def test_a_mix_is_planned_or_says_why_not() -> None:
    """Agreement with the plan of the scenario alone; a site without power has none; nonsense is none."""
    alone = plan_fleet(one_job(), baselines=False).answer.solution
    assert alone is not None

    assert plan_mix(kept({})).cost_usd == pytest.approx(alone.usd, rel=0.002)
    assert plan_mix(kept({"sites.stockholm.power_cap": "1 kW"})).why_not == "no plan keeps every limit"
    broken = KeptScenario("", "", "one.toml", kept({}).text.replace("stockholm", "?", 1))
    assert plan_mix(broken).why_not.startswith("no scenario: ")
