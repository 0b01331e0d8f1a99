"""How sure a plan is: its chances against draws, the headroom that a confidence buys, and bad cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_plan_ownership import FLEET, NORTHWARDS, solved
from test_plan_value import trained

from planner.answers.plan.chance import chance_sentences, free_nodes
from planner.answers.plan.document import plan_document
from planner.answers.plan.stress import stress_sentences
from planner.answers.plan.tables import plan_tables
from planner.inputs.scenario import parse_scenario, with_changes
from planner.physics.equations.chance import (
    demand_sigma,
    headroom_ratio,
    in_time_fraction,
    met_fraction,
    missing_fraction,
    on_time_fraction,
    rate_sigma,
)
from planner.physics.equations.training import run_finish_quantile_h
from planner.program.plan import Plan, plan_fleet
from planner.report.integrity import disagreements
from planner.trace.numbers import percent_text
from planner.trace.quantities import Fact, Source
from planner.trace.records import Record, plain_rows
from planner.trace.uncertainty import Swing, narrowed, swings

pytestmark = pytest.mark.solve

DRAWS = 40_000
BUSY = {"services.chat.peak_rate": "2000 /s"}
LATE = BUSY | {"market.h100-8.lead_time": "1 d"}  # in the period of the order, and not in stock
POOL = {
    "pools": [
        {"name": "lab", "model": "llama-3-8b", "reference": "a100-80-8", "gpu_time": "60000 h"},
    ]
}
FAILING: dict[str, Any] = {
    "useful_h": 1000.0,
    "interval_h": 1.0,
    "mttf_h": 80.0,
    "write_h": 0.02,
    "restart_h": 0.2,
    "persist_h": 0.0,
}


def planned(changes: dict[str, Any]) -> Plan:
    return plan_fleet(with_changes(parse_scenario(FLEET), changes), baselines=False)


def services(tables: dict[str, list[Record]]) -> list[Record]:
    return [row for row in tables["chance"] if row["unit"] == "requests/s"]


def cases(tables: dict[str, list[Record]]) -> dict[str, Record]:
    return {row["case"]: row for row in tables["stress"]}


def drawn(
    ratio: Any,
    sku: Any,
    sigma: Any,
    spread: float,
    used: Any,
    free: Any,
    group: Any,
    nodes: Any,
    on_time: Any,
) -> float:
    """The share of draws in which there is enough: rates by SKU, demand, and orders of a SKU late or not."""
    random = np.random.default_rng(7)
    kinds = {kind: random.standard_normal(DRAWS) for kind in np.unique(sku)}
    whole = np.zeros(DRAWS)
    delays = {kind: random.random(DRAWS) for kind in np.unique(sku)}
    of_order = [delays[sku[g]] for g in np.asarray(group, dtype=int)]
    away = np.asarray(on_time) < np.array(of_order).reshape(-1, DRAWS).T
    for g in range(len(ratio)):
        missing = (away * (np.asarray(nodes) * (np.asarray(group) == g))).sum(axis=1)
        left = np.clip(1 - np.maximum(missing - free[g], 0) / used[g], 0, 1)
        whole += ratio[g] * left * np.exp(sigma[g] * kinds[sku[g]])
    return float((whole >= np.exp(spread * random.standard_normal(DRAWS))).mean())


@pytest.mark.parametrize(
    ("ratio", "sku", "sigma", "spread", "orders"),
    [
        ([1.1], [0.0], [0.05], 0.15, []),
        ([0.6, 0.7], [0.0, 1.0], [0.05, 0.3], 0.2, []),
        ([0.5, 0.5, 0.3], [0.0, 0.0, 1.0], [0.1, 0.1, 0.2], 0.1, [(0, 4.0, 0.8), (2, 6.0, 0.6)]),
        ([1.4], [0.0], [0.0], 0.0, [(0, 3.0, 0.7)]),
        ([0.6, 0.6], [0.0, 0.0], [0.05, 0.05], 0.1, [(0, 8.0, 0.5), (1, 8.0, 0.5)]),  # late together
    ],
)
def test_the_chance_is_that_of_draws(
    ratio: list[float],
    sku: list[float],
    sigma: list[float],
    spread: float,
    orders: list[tuple[int, float, float]],
) -> None:
    used, free = np.full(len(ratio), 8.0), np.full(len(ratio), 1.0)
    group, nodes, on_time = (np.array([order[i] for order in orders]) for i in range(3))
    chance = met_fraction(
        capacity_ratio=np.array(ratio),
        sku=np.array(sku),
        rate_sigma=np.array(sigma),
        demand_sigma=spread,
        used_nodes=used,
        free_nodes=free,
        order_group=group,
        order_nodes=nodes,
        on_time_fraction=on_time,
    )
    assert chance == pytest.approx(
        drawn(ratio, sku, sigma, spread, used, free, group, nodes, on_time), abs=0.012
    )


def test_work_that_waits_misses_late_nodes_until_they_are_there() -> None:
    """Eight nodes, all of them late by a normal delay: what they do after it is enough, or not."""
    random, hours, late = np.random.default_rng(3), 2160.0, 1000.0
    delay = np.maximum(late / 1.6449 * random.standard_normal(DRAWS) - 100.0, 0.0)
    demand = np.exp(0.1 * random.standard_normal(DRAWS))
    drawn_share = float((1.3 * (1 - np.minimum(delay / hours, 1)) >= demand).mean())
    slack = np.array([[100.0]])
    missing = missing_fraction(
        slack_h=slack, late_p95_h=late, hours_h=hours, tail_fraction=(np.arange(16) + 0.5)[None, :] / 16
    )
    found, at_once = (
        met_fraction(
            capacity_ratio=np.array([1.3]),
            sku=np.array([0.0]),
            rate_sigma=np.array([0.0]),
            demand_sigma=0.1,
            used_nodes=np.array([8.0]),
            free_nodes=np.array([0.0]),
            order_group=np.array([0]),
            order_nodes=np.array([8.0]),
            on_time_fraction=on_time_fraction(slack_h=slack[0], late_p95_h=late),
            **more,
        )
        for more in ({"late_fraction": missing}, {})
    )
    assert found == pytest.approx(drawn_share, abs=0.015)
    assert at_once < found - 0.1


def test_errors_by_hand() -> None:
    """Mean error of a normal; 15 % at one quarter and 34 % at four; a delay of 90 days in 1 of 20."""
    normal = np.abs(np.random.default_rng(1).standard_normal(400_000))
    assert rate_sigma(mean_error_fraction=float(normal.mean())) == pytest.approx(1.0, abs=0.005)
    grown = demand_sigma(
        quarter_error_fraction=0.15, ahead_h=np.array([1.0, 2.0, 4.0]), quarter_h=1.0, growth_exponent=0.6
    )
    assert grown == pytest.approx([0.15, 0.2274, 0.3446], abs=1e-4)
    assert on_time_fraction(slack_h=np.array([0.0, 90.0]), late_p95_h=90.0) == pytest.approx([0.5, 0.95])
    assert headroom_ratio(confidence_fraction=0.5, rate_sigma=0.2, demand_sigma=0.1) == 1.0
    assert np.log(headroom_ratio(confidence_fraction=0.9, rate_sigma=0.3, demand_sigma=0.4)) == pytest.approx(
        0.5 * 1.28155, rel=1e-4
    )


def test_the_chance_of_a_deadline_is_the_quantile_turned_round() -> None:
    """Where nodes stand and the rate is certain; a late delivery or a rate in doubt lowers it."""
    due = run_finish_quantile_h(quantile_fraction=0.9, run_variation_fraction=0.05, **FAILING)
    certain = {"due_h": due, "run_variation_fraction": 0.05, "late_p95_h": 2160.0, **FAILING}
    sure = in_time_fraction(rate_sigma=0.0, slack_h=np.inf, **certain)

    assert sure == pytest.approx(0.9, abs=1e-6)
    assert in_time_fraction(rate_sigma=0.1, slack_h=np.inf, **certain) < sure
    assert in_time_fraction(rate_sigma=0.0, slack_h=0.0, **certain) < sure


def test_what_is_planned_to_a_confidence_holds_so_often() -> None:
    """Rates, demand and failures drawn 500 times: 90 % hold in 85 to 95 %, half of them without headroom."""
    random = np.random.default_rng(3)
    for stated, least, most in ((None, 0.4, 0.68), (0.9, 0.85, 0.955)):
        plan = planned(BUSY | ({} if stated is None else {"policy.confidence": stated}))
        solution, problem = solved(plan), plan.problem
        rows = services(plan_tables(plan))
        serves, groups = problem.serve_options, problem.node_groups
        held = []
        for t, row in enumerate(rows):
            sigma_d = 0.15 * (plan.inputs.period_end_h.value[0, t] / 2191.5) ** 0.6
            counts = solution.replicas[:, t]
            rate = {
                k: plan.inputs.fact(f"performance.serving.rate_error@{plan.inputs.skus[k].accelerator}").value
                * np.sqrt(np.pi / 2)
                for k in np.unique(groups.sku[serves.node_group[counts > 0]]).tolist()
            }
            each = row["provided"] / (counts * serves.capacity[:, t]).sum() * counts * serves.capacity[:, t]
            fine = 0
            for _ in range(500):
                off = {k: np.exp(s * random.standard_normal()) for k, s in rate.items()}
                supply = sum(
                    float(one) * off[int(groups.sku[serves.node_group[v]])]
                    for v, one in enumerate(each)
                    if one > 0
                )
                fails = plan.assembled.nodes.failure_rate_per_node_h.value
                down = 0.0
                for p in range(len(groups)):
                    used = int(np.ceil(solution.in_use[p, t]))
                    if used:
                        away = 120.0 * float(np.ravel(fails)[p])
                        broken = random.binomial(used + int(solution.spares[p, t]), away / (1 + away))
                        down = max(down, max(0.0, broken - float(solution.spares[p, t])) / used)
                fine += supply * (1 - down) >= row["needed"] * np.exp(sigma_d * random.standard_normal())
            held.append(fine / 500)
            if row["delivery_fraction"] == 1.0:
                assert fine / 500 == pytest.approx(row["chance_fraction"], abs=0.07)
        assert least <= min(held)
        assert max(held) <= most


def test_more_confidence_costs_more_and_is_surer() -> None:
    """Headroom shows in what is provided, in the first lines, and in the objective."""
    loose, sure = planned(BUSY), planned(BUSY | {"policy.confidence": 0.95})
    tables = [plan_tables(plan) for plan in (loose, sure)]

    assert solved(sure).usd > solved(loose).usd
    for before, after in zip(*map(services, tables), strict=True):
        assert after["headroom_fraction"] > before["headroom_fraction"]
        assert after["chance_fraction"] > before["chance_fraction"]
    said = plan_document(loose)["headline"]
    assert any("How sure" in line and "policy.confidence" in line for line in said)
    assert not any("policy.confidence" in line for line in plan_document(sure)["headline"])


@pytest.mark.nightly
def test_a_pool_has_headroom_too() -> None:
    """Hours held, not hours worked: its electricity is that of its work."""
    plain, sure = planned(POOL), planned(POOL | {"policy.confidence": 0.9})
    rows = [row for row in plan_tables(sure)["chance"] if row["work"] == "lab"]

    held = [np.sum(plan.problem.work_options.held_ratio * solved(plan).work_node_h) for plan in (plain, sure)]
    assert held[1] > 1.2 * held[0]
    for one in rows:
        assert one["chance_fraction"] >= 0.9 - 1e-6
    own = planned(POOL | {"pools.lab.demand_error": 0.5})
    certain = planned(POOL | {"pools.lab.demand_error": 0.01})
    chances = [
        min(row["chance_fraction"] for row in plan_tables(plan)["chance"] if row["work"] == "lab")
        for plan in (own, certain)
    ]
    assert chances[0] < chances[1]


def test_a_deadline_is_planned_to_the_confidence() -> None:
    """Rates in doubt and failures; what is left is the delivery, which is told."""
    for stated in (None, 0.99):
        plan = trained({} if stated is None else {"policy.confidence": stated})
        (row,) = [one for one in plan_tables(plan)["chance"] if one["period"].startswith("by ")]
        assert 0 < row["chance_fraction"] <= 1
        assert row["needed"] > row["provided"]
        assert 0 <= row["delivery_fraction"] <= 1


def test_what_is_in_stock_is_never_late() -> None:
    """A lead time of 0 d is in stock; of a day, half of the orders come after the start of their period."""
    stock, waits = (
        services(plan_tables(planned(BUSY | {"market.h100-8.lead_time": lead})))[0]["delivery_fraction"]
        for lead in ("0 d", "1 d")
    )
    assert stock == 1.0
    assert waits < 0.6


@pytest.mark.nightly
def test_a_sku_that_delivers_less_is_short_by_so_many_nodes() -> None:
    """By hand: nodes that serve over 0.7, less those that stand free and the headroom of the replicas."""
    plan = planned(BUSY)
    solution, tables = solved(plan), plan_tables(plan)
    row = cases(tables)["h100-8 delivers 30 % less"]
    groups = plan.problem.node_groups
    free = free_nodes(plan, solution)
    wanted = 0.0
    room = {t: one["provided"] / one["needed"] for t, one in enumerate(services(tables))}
    shorts = np.zeros(solution.in_service.shape)
    for p, t in np.ndindex(*shorts.shape):
        if plan.problem.sku_names[groups.sku[p]] == "h100-8":
            more = max(1 / 0.7 / max(room[t], 1.0), 1.0)
            used = float(solution.in_use[p, t])
            shorts[p, t] = max(0.0, used * more - used - free[p, t] - solution.spares[p, t])
    wanted = float(np.ceil(shorts.sum(axis=0).max() - 1e-6))

    assert row["holds"] == "no"
    assert row["short_nodes"] == pytest.approx(wanted, abs=1)
    assert "h100-8" in row["breaks_first"]


def test_an_order_is_no_way_out_of_its_own_delay() -> None:
    """Where deliveries come a period late, those of the first period cannot be ordered in time."""
    plan = planned(LATE)
    tables = plan_tables(plan)
    first = plan.inputs.scenario.horizon.period_labels[0]
    late = [row for row in plain_rows(tables["recourse"]) if "deliveries" in row["case"]]
    others = [row for row in plain_rows(tables["recourse"]) if "deliveries" not in row["case"]]
    assert f" in {first}:" in cases(tables)["all deliveries come a period late"]["breaks_first"]
    assert any(row["way"].startswith("order ") for row in others)
    assert late
    assert not any(row["way"].startswith("order ") for row in late)


def test_bad_cases_are_always_told() -> None:
    """Late deliveries, demand, failures, the ends of carbon and power; the first lines name the dearest."""
    plan = planned(LATE)
    tables = plan_tables(plan)
    found = cases(tables)

    assert {
        "demand at its 95th percentile",
        "all deliveries come a period late",
        "nodes fail twice as often",
    } <= {*found}
    assert found["demand at its 95th percentile"]["holds"] == "no"
    (line,) = stress_sentences(tables["stress"])
    assert "does not hold" in line
    assert "the cheapest way out is to" in line
    standing = planned({"moves": [NORTHWARDS]})
    assert "all deliveries come a period late" not in cases(plan_tables(standing))
    assert stress_sentences([{"case": "x", "holds": "yes", "usd": 0.0}]) == [
        "The plan holds in every bad case that was looked at."
    ]


def test_no_delivery_is_late_of_what_is_in_stock() -> None:
    """By a lead time of 0 d, which nothing delays: neither as a case, nor as a way out of one."""
    assert "all deliveries come a period late" not in cases(plan_tables(planned(BUSY)))


def test_a_planted_chance_is_refused() -> None:
    document = plan_document(planned(BUSY))
    document["tables"]["chance"][0]["chance_fraction"] *= 0.5
    assert any(place.startswith("chance[0]") for place, _ in disagreements(document))


def test_nothing_to_meet_says_nothing() -> None:
    assert chance_sentences(planned({}), [], {"draws": 64, "enough_fraction": 1.0}) == []


def test_a_chance_below_the_share_of_draws_says_what_sets_them_apart() -> None:
    """Draws place work anew and chances do not; deliveries are in both, and in no headroom."""
    plan = planned(BUSY)
    row = {"work": "chat", "period": "2027 Q1", "chance_fraction": 0.76, "delivery_fraction": 0.6}
    (said,) = chance_sentences(plan, [row], {"draws": 64, "enough_fraction": 1.0})
    assert "in 100 % of 64 draws, with work placed anew; as it is placed, the least sure is chat" in said
    (said,) = chance_sentences(plan, [row], {"draws": 64, "enough_fraction": 0.8})
    assert "in 80 % of 64 draws; the least sure is chat" in said, "as near as draws tell it"
    headroom = planned(BUSY | {"policy.confidence": 0.9})
    late, there = (
        chance_sentences(headroom, [row | {"delivery_fraction": one}], {"draws": 64, "enough_fraction": 0.95})
        for one in (0.6, 1.0)
    )
    assert "policy.confidence leaves deliveries out: an order a period earlier" in late[0]
    assert "leaves deliveries out" not in there[0]


def test_how_sure_is_said_first_with_what_raises_it() -> None:
    """In what share of draws all of it is enough, before the views of money, and what raises it."""
    plan = planned(BUSY | POOL)
    document = plan_document(plan)
    share, lines = document["held"]["enough_fraction"], document["headline"]
    (at,) = [i for i, line in enumerate(lines) if line.startswith("How sure")]
    assert (
        f"is enough in {percent_text(share, 0)} of {document['held']['draws']} draws; the least sure"
        in lines[at]
    )
    assert 'policy.confidence = "90 %" plans the headroom' in lines[at]
    assert at < next(i for i, line in enumerate(lines) if line.startswith("The same decisions in three"))
    assert any(line.startswith("Do the work of lab on ") for line in lines)
    asked = planned(BUSY | {"policy.confidence": 0.9})
    (said,) = chance_sentences(asked, plan_tables(asked)["chance"], {"draws": 64, "enough_fraction": 0.5})
    assert "90 % is asked of each of them alone, deliveries apart, not of all of them at once" in said


@pytest.mark.nightly
def test_what_a_firm_could_state_is_told_with_what_it_narrows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prices and upkeep first; a stated value leaves the list; two facts of one cause narrow together."""
    monkeypatch.setattr("planner.answers.plan.document.swings", swings)  # of every fact
    document = plan_document(planned(BUSY))
    rows = document["tables"]["knowable"]

    assert rows == sorted(rows, key=lambda row: -row["narrows_fraction"])
    assert all(0 < row["narrows_fraction"] <= 1 for row in rows)
    assert any("finance.maintenance" in row["facts"] for row in rows)
    assert any("Your firm may know better" in line for line in document["headline"])
    stated = plan_document(planned(BUSY | {"facts": {"finance.maintenance": "0.06"}}))
    assert not any("finance.maintenance" in row["facts"] for row in stated["tables"]["knowable"])


def test_narrowing_is_that_of_independent_widths() -> None:
    """Widths of 3 and 4 of two causes: without the first, 4 of 5 is left."""
    facts = [
        Fact(1.0, "1", key=key, source=Source("s", "s"), locator="", kind="assumed")
        for key in ("finance.maintenance", "finance.deposit")
    ]
    every = [Swing(fact, 0.0, width) for fact, width in zip(facts, (3.0, 4.0), strict=True)]
    assert narrowed(every) == pytest.approx({"finance.maintenance": 0.2, "finance.deposit": 0.4})
    assert narrowed([]) == {}
    none = [Swing(fact, 5.0, 5.0) for fact in facts]  # where every price is stated, no fact moves the cost
    assert narrowed(none) == {"finance.maintenance": 0.0, "finance.deposit": 0.0}
