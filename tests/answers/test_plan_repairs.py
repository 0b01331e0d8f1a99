"""Ways out of an infeasibility, written into a copy of the scenario that is then planned."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from plain import plain

from planner.answers.plan.document import plan_document
from planner.answers.plan.repairs import repair_changes, repaired_text, repairs
from planner.inputs.scenario import Scenario, ScenarioError, load_scenario, parse_scenario, with_changes
from planner.program.plan import plan_fleet

SCENARIOS = Path(__file__).resolve().parents[2] / "data" / "scenarios"
ONE_QUARTER = {
    "horizon.periods": 1,
    "pools.fine-tuning.gpu_time": ["160000 h"],
    "services.chat.peak_rate": ["24 /s"],
}


def tight(**changes: Any) -> Scenario:
    """A quarter of a small building, with limits of the test's own."""
    base = load_scenario(plain("tight-power"), ONE_QUARTER)
    return with_changes(base, {path.replace("__", "."): value for path, value in changes.items()})


@pytest.mark.parametrize(
    ("changes", "family"),
    [
        ({"sites__ashburn__power_cap": "40 kW"}, "power"),
        ({"policy__carbon_cap": "20 t"}, "carbon cap"),
        ({"policy__carbon_cap_by_period": "20 t"}, "carbon cap by period"),
        ({"policy__money_cap": "40 kUSD"}, "money cap"),
    ],
)
def test_each_repair_makes_a_scenario_that_has_a_plan(changes: dict[str, Any], family: str) -> None:
    """What the infeasibility promised is what the repaired copy costs: the limits move by just so much."""
    scenario = tight(**changes)
    document = plan_document(plan_fleet(scenario, baselines=False))
    ways = repairs(document["clash"])

    assert ways[0]["family"] == family, "limits before work"
    for way in ways:
        repaired = parse_scenario(repaired_text(scenario, way))
        found = plan_fleet(repaired, baselines=False).answer
        assert repaired.title.endswith("(repaired)")
        assert found.solution is not None
        assert found.solution.usd == pytest.approx(way["cost_usd"], rel=1e-3)


def test_nodes_that_must_go_may_stay() -> None:
    """With nothing on the market, the end of life of what stands there is what clashes."""
    scenario = with_changes(
        tight(), {"fleet[0].life": "2 y", "market.h200-8.supply_nodes": 1, "market.b200-8.supply_nodes": 0}
    )
    document = plan_document(plan_fleet(scenario, baselines=False))
    (way,) = repairs(document["clash"])
    repaired = parse_scenario(repaired_text(scenario, way))

    assert way["family"] == "end of life"
    assert repaired.fleet[0].life_y is None
    assert plan_fleet(repaired, baselines=False).answer.solution is not None


def row(limit: str, where: str, by: float, period: str = "2027 Q2", **more: Any) -> dict[str, Any]:
    return {"limit": limit, "where": where, "period": period, "by": by, "share_fraction": None} | more


def test_limits_are_written_as_a_file_states_them() -> None:
    """Upwards to the next whole unit, days for a deadline, one quarter of four, and less of what is asked."""
    scenario = load_scenario(SCENARIOS / "next-quarter.toml")
    changes = repair_changes(
        scenario,
        [
            row("power", "oregon", 12.3),
            row("power", "oregon", 1.0, "2027 Q4"),
            row("space", "hamina", 1.2, "horizon"),
            row("supply", "b200-8", 3.0),
            row("budget", "all sites", 1e6),
            row("deadlines", "pretrain-70b", 30.0, "horizon"),
            row("demand", "chat", 10.0),
            row("work", "fine-tuning", 100.0, share_fraction=0.5),
        ],
    )

    assert changes == {
        "sites.oregon.power_cap": ["330 kW", "343 kW", "330 kW", "332 kW"],
        "sites.hamina.racks": 42,
        "market.b200-8.supply_nodes": [32, 36, 32, 32],
        "policy.budget": ["25000000 USD", "26000010 USD", "25000000 USD", "25000000 USD"],
        "training.pretrain-70b.deadline": date(2027, 7, 2),
        "services.chat.peak_rate": ["60 /s", "79.9999 /s", "120 /s", "160 /s"],
        "pools.fine-tuning.gpu_time": ["500000 h", "299997 h", "700000 h", "800000 h"],
    }
    assert with_changes(scenario, changes).services[0].peak_requests_per_s[1] == pytest.approx(80.0, rel=1e-4)


def test_a_minimum_order_gives_way_to_the_site_that_needs_it_most() -> None:
    """One minimum holds at all sites; what is left of 8 after 3 and after 4.5 nodes is 3."""
    scenario = with_changes(
        load_scenario(SCENARIOS / "next-quarter.toml"), {"market.h200-8.minimum_nodes": 8}
    )
    rows = [
        row("minimum order", f"h200-8 at {site}", by, "horizon")
        for site, by in (("dallas", 3), ("hamina", 4.5))
    ]

    assert repair_changes(scenario, rows) == {"market.h200-8.minimum_nodes": 3}
    gone = repair_changes(scenario, [row("minimum order", "h200-8 at dallas", 8.0, "horizon")])
    assert gone == {"market.h200-8.minimum_nodes": None}


def test_work_is_given_up_last_and_jobs_are_not_dropped() -> None:
    """Of two limits the cheaper first, then less demand, however cheap; leaving out a job is no button."""

    def way(limit: str, usd: float | None, alone: bool = True) -> dict[str, Any]:
        rows = [row(limit, "x", 1.0)]
        return {"family": limit, "alone_enough": alone, "cost_usd": usd, "rows": rows}

    families = [
        way("demand", 1.0),
        way("power", 9.0),
        way("supply", 8.0),
        way("jobs", 0.0),
        way("budget", None),
        way("space", 1.0, alone=False),
    ]

    assert [each["family"] for each in repairs({"families": families})] == [
        "supply",
        "power",
        "budget",
        "demand",
    ]


def test_a_repair_that_no_scenario_may_state_says_so() -> None:
    """A limit beyond what a file may hold is refused with its place, as any wrong value is."""
    scenario = load_scenario(SCENARIOS / "next-quarter.toml")
    with pytest.raises(ScenarioError, match="power_cap"):
        repaired_text(scenario, {"rows": [row("power", "oregon", 1e12)]})
    with pytest.raises(ValueError, match="no scenario says how 'jobs' gives way"):
        repair_changes(scenario, [row("jobs", "pretrain-70b", 1.0)])


def test_a_deadline_that_orders_cannot_reach_is_told_with_their_day() -> None:
    """A lead time of 45 d ends within the quarter, and nodes serve from the next: no limit says so."""
    leads = {f"market.{sku}.lead_time": "45 d" for sku in ("h100-8", "a100-80-8")}
    late = {"training.train-8b.deadline": date(2027, 3, 31)}
    base = load_scenario(SCENARIOS / "one-training-job.toml")
    said = plan_document(plan_fleet(with_changes(base, leads | late), baselines=False))["clash"]["text"]

    assert (
        "What is ordered serves train-8b from 2027-04-01 on, and no earlier: market.h100-8.lead_time is 45 d"
        in said
    )
    assert 'with period = "month" they wait less' in said
    stock = plan_document(
        plan_fleet(with_changes(base, {"sites.stockholm.power_cap": "5 kW"}), baselines=False)
    )
    assert "What is ordered serves" not in stock["clash"]["text"], "it is in stock"
