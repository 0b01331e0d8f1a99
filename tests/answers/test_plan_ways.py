"""Where no plan exists, each reason names a key of the file and a value that is enough; that value is.

Each case tightens one thing of a small building; the named value is written into the scenario, then planned.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from plain import plain
from sizes import at_night

from planner.answers.plan.document import plan_document
from planner.answers.plan.repairs import repaired_text
from planner.answers.plan.ways import way_text
from planner.inputs.scenario import Scenario, load_scenario, parse_scenario, with_changes
from planner.notebook.plan_answers import plan_made
from planner.program.plan import plan_fleet
from planner.report.page import to_html
from planner.report.text import to_markdown, to_terminal
from planner.report.workbook import to_workbook
from planner.trace.records import Record

pytestmark = pytest.mark.solve

SCENARIOS = Path(__file__).resolve().parents[2] / "data" / "scenarios"
ONE_QUARTER = {
    "horizon.periods": 1,
    "pools.fine-tuning.gpu_time": ["160000 h"],
    "services.chat.peak_rate": ["24 /s"],
}
FEW = {"fleet[0].nodes": 5, "market.h200-8.lead_time": "0 d", "market.b200-8.lead_time": "0 d"}
NOTHING_NEW = {"market.h200-8.supply_nodes": 0, "market.b200-8.supply_nodes": 0}
LATE = {"market.h200-8.lead_time": "400 d", "market.b200-8.lead_time": "400 d"}
CAMPUS = [{"name": "campus", "sites": ["ashburn"], "power_cap": "40 kW"}]
CLOUD = [{"name": "cloud", "sku": "h100-8", "grid": "gcp-us-east4", "nodes": 1}]
FULL = {"services.chat.peak_rate": ["70 /s"], "market.h200-8.lead_time": "0 d"}

CASES: dict[str, tuple[dict[str, Any], str]] = {
    "power cap": ({"sites.ashburn.power_cap": "40 kW"}, "sites.ashburn.power_cap"),
    "power group": ({"power_groups": CAMPUS}, "power_groups.campus.power_cap"),
    "racks": ({"sites.ashburn.racks": 2}, "sites.ashburn.racks"),
    "budget": (FEW | {"policy.budget": "10 kUSD"}, "policy.budget"),
    "money cap": ({"policy.money_cap": "40 kUSD"}, "policy.money_cap"),
    "carbon cap": ({"policy.carbon_cap": "20 t"}, "policy.carbon_cap"),
    "carbon cap by period": ({"policy.carbon_cap_by_period": "20 t"}, "policy.carbon_cap_by_period"),
    "first token": ({"services.chat.first_token": "10 ms"}, "services.chat.first_token"),
    "per token": ({"services.chat.per_token": "0.5 ms"}, "services.chat.per_token"),
    "supply": (FEW | NOTHING_NEW, "market.b200-8.supply_nodes"),
    "lead time": (FEW | LATE, "market.h200-8.lead_time"),
    "rack power": (FEW | {"sites.ashburn.rack_power": "7 kW"}, "sites.ashburn.rack_power"),
    "end of life": ({"fleet[0].life": "2 y"} | NOTHING_NEW, "fleet[0].life"),
    "nodes that stand": (FEW | {"market": None}, "fleet[0].nodes"),
    "nodes that are rented": (FEW | {"market": None, "rental": CLOUD}, "rental.cloud.nodes"),
    "retirement": (FULL | {"policy.retirement": "none"}, "policy.retirement"),
    "confidence": (
        {"policy.confidence": 0.999} | NOTHING_NEW,
        "policy.confidence",
    ),
    "availability": (
        {"fleet[0].nodes": 12, "pools": None, "services.chat.availability": 0.999999} | NOTHING_NEW,
        "services.chat.availability",
    ),
}

LONG = ("confidence", "per token", "first token", "lead time")  # for seconds, and found in the way of others


@cache
def tight(name: str) -> Scenario:
    base = load_scenario(plain("tight-power"), ONE_QUARTER)
    return with_changes(base, CASES[name][0])


@cache
def infeasible(name: str) -> Record:
    document = plan_document(plan_fleet(tight(name), baselines=False))
    assert document["clash"] is not None, document["status"]
    return document


@pytest.mark.parametrize("name", [name for name in CASES if at_night() or name not in LONG])
def test_a_reason_names_a_key_and_a_value_that_does(name: str) -> None:
    document, key = infeasible(name), CASES[name][1]
    ways = document["clash"]["ways"]
    way = next((one for one in ways if key in one["key"]), None)
    assert way is not None, ways
    assert way["stated"]
    assert way["needed"]
    assert way_text(way) in document["clash"]["text"]

    repaired = parse_scenario(repaired_text(tight(name), {"changes": way["changes"]}))
    assert plan_fleet(repaired, baselines=False).answer.solution is not None


@pytest.mark.parametrize("name", ["power cap", "money cap", "first token", "per token", "lead time"])
def test_the_value_as_it_is_said_does_too(name: str) -> None:
    """What a reader types from the sentence: rounded to the side on which there is a plan."""
    way = infeasible(name)["clash"]["ways"][0]
    keys, needed = way["key"].split(" and "), way["needed"].split(" and ")
    changes = {key: value.partition(" in ")[0] for key, value in zip(keys, needed, strict=True)}
    repaired = with_changes(tight(name), changes)
    assert plan_fleet(repaired, baselines=False).answer.solution is not None


@pytest.mark.nightly
def test_a_latency_target_comes_first_with_what_can_be_had() -> None:
    """10 ms to a first token: memory is not the reason, and demand is the last way out."""
    clash = infeasible("first token")["clash"]

    assert clash["ways"][0]["key"] == "services.chat.first_token"
    assert clash["ways"][0]["stated"] == "10 ms"
    assert clash["ways"][-1]["key"] == "services.chat.peak_rate"
    assert "What binds is first token (services.chat.first_token from 10 ms to " in clash["text"]
    assert "memory" not in clash["text"]
    assert clash["text"].index("services.chat.first_token") < clash["text"].index("services.chat.peak_rate")
    # Near the best there is: a little less does not do.
    needed = float(clash["ways"][0]["needed"].removesuffix(" ms"))
    less = with_changes(tight("first token"), {"services.chat.first_token": f"{0.9 * needed} ms"})
    assert plan_fleet(less, baselines=False).answer.solution is None


def test_a_deadline_is_a_day() -> None:
    scenario = load_scenario(SCENARIOS / "one-training-job.toml")
    (job,) = scenario.training
    early = {f"training.{job.name}.deadline": "2027-01-04", f"training.{job.name}.nodes": [2, 4]}
    scenario = load_scenario(SCENARIOS / "one-training-job.toml", early)
    ways = plan_document(plan_fleet(scenario, baselines=False))["clash"]["ways"]
    way = next(one for one in ways if one["key"] == f"training.{job.name}.deadline")
    later = with_changes(scenario, {way["key"]: way["needed"]})

    assert way["stated"] == "2027-01-04"
    assert plan_fleet(later, baselines=False).answer.solution is not None


def test_the_same_words_on_every_face() -> None:
    document = infeasible("power cap")
    said, way = document["clash"]["text"], document["clash"]["ways"][0]
    answer = plan_made(document)

    assert "sites.ashburn.power_cap" in " ".join(to_terminal(document).split())
    assert way["needed"] in " ".join(to_terminal(document).split())
    assert said in answer.said
    assert way["key"] in to_html(document)
    assert way["key"].replace("_", "\\_") in to_markdown(document)
    assert to_workbook(document)
