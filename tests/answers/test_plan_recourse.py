"""Ways out of bad cases and ranges of totals: the operation chosen again within the fleet that was bought."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from functools import cache
from typing import Any

import numpy as np
import pytest
from test_plan_ownership import FLEET, solved

from planner.answers.plan.chance import chance_records, free_nodes
from planner.answers.plan.ranges import Held, held_sentences, ranged_totals
from planner.answers.plan.recourse import Recourse
from planner.answers.plan.tables import plan_tables
from planner.inputs.scenario import parse_scenario, with_changes
from planner.program.operation import Desk, Means, More, Operation, desk, operate
from planner.program.plan import Plan, plan_fleet
from planner.trace.numbers import percent_text
from planner.trace.records import Record, plain_rows

pytestmark = pytest.mark.solve

AFTER_RUN_H = 80_000
BUSY = {"services.chat.peak_rate": "2000 /s"}
ROOMY = {"services.chat.peak_rate": "100 /s", "market": [], "policy.retirement": "none"}
CHEAP, DEAR = "1e-4 USD", "1 USD"  # a request: below and above what a rented node takes for it


@cache
def planned(penalty: str = "", busy: bool = True) -> Plan:
    changes: dict[str, Any] = dict(BUSY if busy else ROOMY)
    if penalty:
        changes["services.chat.unmet_penalty"] = penalty
    return plan_fleet(with_changes(parse_scenario(FLEET), changes), baselines=False)


def desk_of(plan: Plan) -> Desk:
    return desk(plan.inputs, plan.assembled, solved(plan))


def more_demand(at: Desk, times: float, means: Means) -> Operation | None:
    world = at.stated()
    return operate(at, replace(world, services=world.services * times), means, at.prices())


def test_the_stated_world_takes_no_more_than_the_plan() -> None:
    """Fractions may do better than whole replicas, never worse; both counted above idling."""
    plan = planned()
    at, solution = desk_of(plan), solved(plan)
    found = more_demand(at, 1.0, Means())
    serves = plan.problem.serve_options
    own = (solution.replicas * serves.nodes[:, None])[at.serve] * at.prices().serve["usd"]
    assert found is not None
    assert found.usd <= own.sum() * (1 + 1e-9)
    assert found.usd == pytest.approx(own.sum(), rel=0.15)
    carried = (found.serving[at.serve] * at.capacity).sum(axis=0)
    assert carried == pytest.approx(plan.problem.services.demand[0], rel=1e-6)


def test_an_hour_is_rented_for_what_is_short_and_no_more() -> None:
    """By hand: one service, nodes over the fleet times their price; the dearest price is never taken."""
    plan = planned()
    at = desk_of(plan)
    assert more_demand(at, 3.0, Means()) is None
    found = more_demand(at, 3.0, Means(rent=True))
    assert found is not None
    carried = (found.serving[at.serve] * at.capacity).sum(axis=0)
    assert carried == pytest.approx(3.0 * plan.problem.services.demand[0], rel=1e-6)
    groups = plan.problem.node_groups
    used = np.zeros_like(at.there)
    np.add.at(used, plan.problem.serve_options.node_group, found.serving)
    assert used == pytest.approx(np.minimum(at.there, used) + found.rented, abs=1e-6)
    prices = at.prices()
    rent = float(np.nansum(np.where(found.rented > 0, found.rented * prices.hourly["usd"], 0.0)))
    power = float((found.serving[at.serve] * prices.serve["usd"]).sum())
    assert found.usd == pytest.approx(rent + power)
    assert 8 * plan.inputs.fact("rental.a100-sxm-80gb.price").value * groups.hours[0] in prices.hourly["usd"]


@pytest.mark.nightly
def test_a_low_penalty_is_paid_and_a_high_one_is_not() -> None:
    """What is left out costs its share of the penalty; where renting is cheaper, nothing is left out."""
    cheap, dear = (desk_of(planned(penalty)) for penalty in (CHEAP, DEAR))
    both = Means(rent=True, drop=True)
    left = more_demand(cheap, 3.0, both)
    kept = more_demand(dear, 3.0, both)
    assert left is not None
    assert kept is not None
    assert left.unserved.max() > 0.1
    assert kept.unserved.max() == pytest.approx(0.0, abs=1e-6)
    assert kept.rented.max() > 0


def test_what_is_had_for_all_periods_is_charged_once() -> None:
    plan = planned()
    at = desk_of(plan)
    group = int(plan.problem.serve_options.node_group[at.serve[0]])
    offer = More(group, 0, usd=1e6, kgco2e=10.0, most=1e4, on_site=False)
    found = more_demand(at, 3.0, Means(more=[offer]))
    assert found is not None
    power = float((found.serving[at.serve] * at.prices().serve["usd"]).sum())
    assert found.usd == pytest.approx(power + 1e6 * found.more[0])


def recourse(tables: dict[str, list[Record]], case: str) -> list[Record]:
    return [row for row in plain_rows(tables["recourse"]) if row["case"] == case]


def test_the_cheapest_way_out_is_named() -> None:
    tables = plan_tables(planned())
    broken = [row for row in tables["stress"] if row["holds"] == "no" and row["short_nodes"]]
    assert broken
    for row in broken:
        ways = recourse(tables, row["case"])
        best = min(ways, key=lambda way: way["usd"])
        assert best["cheapest"] == "yes"
        assert [way["cheapest"] for way in ways].count("yes") == 1
        assert row["usd"] == best["usd"]
        assert best["way"] in row["recourse"]
    words = " ".join(row["way"] for row in tables["recourse"])
    for word in ("by the hour", "for a year", "order "):
        assert word in words
    held = {row["case"] for row in tables["stress"] if row["holds"] == "yes"}
    assert not held & {row["case"] for row in tables["recourse"]}


@pytest.mark.nightly
def test_keeping_what_is_sold_is_a_way() -> None:
    """Holding less the sale that is spared, no more nodes than are sold; who keeps all has no such way."""
    changes = {"services.chat.peak_rate": "300 /s", "market": []}
    sells, keeps = (
        plan_fleet(
            with_changes(parse_scenario(FLEET), changes | {"policy.retirement": policy}), baselines=False
        )
        for policy in ("allowed", "none")
    )
    kept = [row for row in plain_rows(plan_tables(sells)["recourse"]) if row["way"].startswith("keep ")]
    assert kept
    sold = solved(sells).retired.sum()
    for row in kept:
        assert f"keep {sold} node of" in row["way"]
        assert row["cheapest"] == "yes"
        ways = recourse(plan_tables(sells), row["case"])
        (hourly,) = [one for one in ways if one["way"].startswith("rent up to")]
        assert row["usd"] < hourly["usd"]
    assert not any(row["way"].startswith("keep ") for row in plan_tables(keeps)["recourse"])


@pytest.mark.nightly
def test_leaving_out_is_a_way_where_a_penalty_is_stated() -> None:
    tables = plan_tables(planned(CHEAP))
    words = [row["way"] for row in tables["recourse"]]
    assert any("at services.chat.unmet_penalty" in text for text in words)
    assert not any("unmet_penalty" in row["way"] for row in plan_tables(planned())["recourse"])


def test_a_tight_fleet_holds_in_few_draws_and_pays_in_the_others() -> None:
    """Demand is as often above what is stated as below, and half of the orders are late."""
    plan = planned()
    named = {"cost": ("Cost", plan.ledger.cost), "energy": ("Energy", plan.ledger.energy)}
    rows, held = ranged_totals(plan, solved(plan), named, 48)
    again, _ = ranged_totals(plan, solved(plan), named, 48)
    cost, energy = plain_rows(rows)
    assert plain_rows(again) == [cost, energy]
    least = min(row["chance_fraction"] for row in plain_rows(chance_records(plan, solved(plan))))
    # All that is needed is there no oftener than the least sure of it; 48 draws tell it to 0.07.
    assert 0.05 < held.share < least + 0.07
    assert held.rented > 0
    # Without what is rented on top the dear end is gone; the cheap end is that of all draws then.
    assert held.cost_usd == pytest.approx((cost["p5"], cost["p95"]))
    assert 0.8 * cost["p5"] < held.owned_usd[0] <= cost["p5"] + 1e-6
    assert held.owned_usd[1] < cost["value"] + 0.5 * (cost["p95"] - cost["value"])
    assert held.rent_share > 0.5
    (said,) = held_sentences(held)
    assert f"That rent is {percent_text(held.rent_share, 0)} of the width of the cost's range" in said
    assert cost["p5"] < cost["p50"] < cost["p95"]
    assert cost["p95"] - cost["value"] > 2 * (cost["value"] - cost["p5"])
    assert energy["p5"] < energy["value"] < energy["p95"]


@pytest.mark.parametrize("by_the_hour", [True, False])
def test_a_replica_that_carries_far_more_than_is_asked_is_sure(by_the_hour: bool) -> None:
    """One replica at 0.05 requests/s: demand would have to be tens of times as high to be too much for it."""
    changes: dict[str, Any] = {"services.chat.peak_rate": "0.05 /s", "services.chat.availability": 0.95}
    if by_the_hour:
        cloud = {"name": "cloud", "sku": "h100-8", "grid": "us-srvc", "price": "4 USD/h"}
        changes |= {"rental": [cloud], "services.chat.skus": ["h100-8"], "fleet": [], "market": []}
    plan = plan_fleet(with_changes(parse_scenario(FLEET), changes), baselines=False)
    chances = plain_rows(chance_records(plan, solved(plan)))
    assert all(row["headroom_fraction"] > 5 and row["chance_fraction"] > 0.99 for row in chances)
    _, held = ranged_totals(plan, solved(plan), {"cost": ("Cost", plan.ledger.cost)}, 24)
    assert held.share == 1.0


def test_a_node_by_the_hour_is_paid_whole_in_every_world() -> None:
    """A third more requests on a node of which replicas hold a part cost nothing more; beyond it they do."""
    cloud = {"name": "cloud", "sku": "h100-8", "grid": "us-srvc", "price": "4 USD/h"}
    alone = {"rental": [cloud], "services.chat.skus": ["h100-8"], "fleet": [], "market": []}
    plan = plan_fleet(
        with_changes(parse_scenario(FLEET), alone | {"services.chat.peak_rate": "12 /s"}), baselines=False
    )
    problem, solution = plan.problem, solved(plan)
    held = (problem.serve_options.nodes[:, None] * solution.replicas).sum(axis=0)
    assert (held < 0.6).all()
    at = desk_of(plan)
    once, third, tenfold = (more_demand(at, times, Means(rent=True)) for times in (1.0, 1.33, 20.0))
    assert once is not None
    assert third is not None
    assert tenfold is not None
    hours = sum(plan.inputs.scenario.horizon.hours)
    assert third.usd == pytest.approx(once.usd)
    assert once.usd == pytest.approx(hours * 8 * 4.0)
    assert tenfold.usd > 1.9 * once.usd


def test_a_fleet_with_room_holds() -> None:
    plan = planned(busy=False)
    named = {"cost": ("Cost", plan.ledger.cost)}
    _, held = ranged_totals(plan, solved(plan), named, 24)
    assert held.share == 1.0
    # Replicas that could be added on free nodes are counted by both: none is less sure than all at once.
    assert min(row["chance_fraction"] for row in plain_rows(chance_records(plan, solved(plan)))) > 0.99
    (line,) = held_sentences(held)
    assert line.endswith("placed again on the fleet of this plan.")
    (worse,) = held_sentences(Held(64, 0.5, 0.1, 2.3, whole=False, dropped=0.3))
    assert "30 % more requests are left out, at their penalty" in worse
    assert "no more than 3 nodes" in worse
    assert "10 % work is left undone" in worse
    assert "where they are done already" in worse
    (runs_alone,) = held_sentences(Held(64, 1.0, 0.0, 0.0, whole=True, divisible=False))
    assert "enough" not in runs_alone
    assert "whether runs are done in time is said above" in runs_alone


def test_whole_nodes_are_had_and_the_rest_is_rented_by_the_hour() -> None:
    """Against every number of nodes by hand: so many, and the price by the hour for what is still short."""
    plan = planned()
    at, prices = desk_of(plan), desk_of(plan).prices()
    group = int(plan.problem.serve_options.node_group[at.serve[0]])
    peak = np.ones_like(at.stated().services)
    peak[:, -1] = 1.13
    world = replace(at.stated(), services=1.4 * peak)
    through_usd = float(prices.hourly["usd"][group].sum())
    offer = More(group, 0, usd=0.3 * through_usd, kgco2e=0.0, most=1e4, on_site=False)
    found = operate(at, world, Means(rent=True, more=[offer]), prices)
    assert found is not None

    costs = []
    for nodes in range(40):
        each = operate(
            at, world.less(-nodes * (np.arange(len(at.there)) == group)[:, None]), Means(rent=True), prices
        )
        assert each is not None
        costs.append(each.usd + nodes * offer.usd)
    best = int(np.argmin(costs))
    assert 0 < best < 39
    assert found.more.tolist() == pytest.approx([best])
    assert found.usd == pytest.approx(costs[best], rel=1e-3)
    assert found.rented[:, -1].sum() > found.rented[:, 0].sum() >= 0


def test_a_mix_of_ordering_and_renting_is_a_way_out() -> None:
    """What is short in one period alone is rented by the hour next to what is ordered for all of them."""
    plan, solution = planned(), solved(planned())
    at = desk_of(plan)
    found = Recourse.of(plan, solution, at)
    peak = np.ones_like(at.stated().services)
    peak[:, -1] = 1.06
    ways = found.ways(replace(at.stated(), services=1.6 * peak), 0)
    mixed = [way for way in ways if way.text.startswith("order ") and "by the hour" in way.text]
    (ordered,) = [way for way in ways if way.text.startswith("order ") and "by the hour" not in way.text]

    assert [way.usd <= ordered.usd * (1 + 1e-3) for way in mixed] == [True]


@pytest.mark.parametrize(
    "aim", [{"objective": "carbon"}, {"objective": "lexicographic", "first": "money", "tolerance": 0.02}]
)
def test_a_plan_of_least_carbon_rents_no_node_that_it_does_not_need(aim: dict[str, Any]) -> None:
    """By carbon alone, clean nodes would be rented at any price, and a bad case earn their rent."""
    changes = BUSY | {f"policy.{key}": value for key, value in aim.items()}
    plan = plan_fleet(with_changes(parse_scenario(FLEET), changes), baselines=False)
    found = Recourse.of(plan, solved(plan), desk_of(plan))
    assert found.stated.rented.sum() == pytest.approx(0.0, abs=1e-6)
    more = replace(found.at.stated(), services=found.at.stated().services * 1.5)
    assert all(way.usd > -1.0 for way in found.ways(more, 0))


def test_sums_in_another_order_are_no_price_of_a_way_out() -> None:
    """Where a way takes as much as the plan, no ten-billionth of a dollar is said of it."""
    plan = planned()
    found = Recourse.of(plan, solved(plan), desk_of(plan))
    usd, kgco2e = found.stated.usd * (1 + 1e-14), found.stated.kgco2e * (1 - 1e-14)
    way = found._way("", 0.0, replace(found.stated, usd=usd, kgco2e=kgco2e))
    assert (way.usd, way.kgco2e) == (0.0, 0.0)
    assert found._way("", 0.0, replace(found.stated, usd=usd + 1.0)).usd == pytest.approx(1.0)


def test_a_way_out_keeps_a_power_cap_that_sites_share() -> None:
    """What the nodes of all sites may draw above idling together is what is placed on them, and no more."""
    at = desk_of(planned())
    every = np.ones((1, len(at.problem.site_names)), dtype=bool)
    serves = at.problem.serve_options
    kw = serves.active_kw[at.serve] / serves.nodes[at.serve]
    free = operate(at, at.stated(), Means(rent=True, drop=True), at.prices())
    assert free is not None
    drawn = (free.serving[at.serve] * kw[:, None]).sum(axis=0)
    half = replace(
        at,
        power_left_kw=np.vstack([at.power_left_kw, 0.5 * drawn]),
        power_sites=np.vstack([at.power_sites, every]),
    )
    found = operate(half, at.stated(), Means(rent=True, drop=True), at.prices())
    assert found is not None
    most_kw = np.array([kw[serves.node_group[at.serve] == p].max(initial=0.0) for p in range(len(at.there))])
    there = (found.serving[at.serve] * kw[:, None]).sum(axis=0) - (found.rented * most_kw[:, None]).sum(
        axis=0
    )

    assert (there <= 0.5 * drawn + 1e-6).all()
    assert found.rented.sum() > 0
    assert found.usd > free.usd


RUN_AND_POOL = {
    "services": [],
    "market": [],
    "policy.retirement": "none",
    "training": [
        {
            "name": "tune",
            "model": "llama-3-8b",
            "tokens": 2e11,
            "sequence_tokens": 8192,
            "batch_tokens": 4194304,
            "precision": "bf16",
            "earliest": date(2027, 1, 1),
            "deadline": date(2027, 3, 31),
            "nodes": [4],
            "checkpoint_storage": "parallel-fs",
        }
    ],
    "pools": [
        {"name": "research", "model": "llama-3-8b", "reference": "a100-80-8", "gpu_time": f"{AFTER_RUN_H} h"}
    ],
}


def test_hours_that_a_run_leaves_are_there_for_pools() -> None:
    """The run ends within the first quarter, and the pool needs the hours that it leaves: the plan stands.

    By hand: 8 nodes of 8 for 2,160 h are 138,240 h; less a spare and those of the run, the pool takes most of
    the rest, more than the nodes have that the run never holds.
    """
    plan = plan_fleet(with_changes(parse_scenario(FLEET), RUN_AND_POOL), baselines=False)
    at, solution = desk_of(plan), solved(plan)
    never_held_h = 8 * 2160.0 * (8 - 4 - solution.spares.max())
    assert never_held_h < AFTER_RUN_H
    assert (at.there[:, 0] > at.at_once[:, 0] + 1.0).any()
    found = operate(at, at.stated(), Means(), at.prices())
    assert found is not None
    assert found.undone.max() == pytest.approx(0.0, abs=1e-6)
    rows = {row["case"]: row for row in plain_rows(plan_tables(plan)["stress"])}
    assert rows["nodes fail twice as often"]["holds"] == "yes"
    # Delivered by a third less, the run holds its nodes longer and leaves fewer hours.
    slow = rows["a100-80-8 delivers 30 % less"]
    assert slow["holds"] == "no"
    assert "research" in slow["breaks_first"]
    assert slow["usd"] > 0


def test_the_chance_of_a_pool_counts_the_hours_that_a_run_leaves() -> None:
    """With fewer hours to do than the run leaves the pool is surer than even, by the hours over its need."""
    roomy = RUN_AND_POOL | {"pools": [RUN_AND_POOL["pools"][0] | {"gpu_time": "60000 h"}]}
    plan = plan_fleet(with_changes(parse_scenario(FLEET), roomy), baselines=False)
    solution = solved(plan)
    first = next(row for row in chance_records(plan, solution) if row["work"] == "research")
    busiest, over_time = (free_nodes(plan, solution, for_pools=each)[:, 0].sum() for each in (False, True))

    assert over_time > busiest + 1.0
    assert first["headroom_fraction"] > 0.2
    assert float(first["chance_fraction"].value) > 0.8


def test_a_run_that_pauses_has_a_chance_too() -> None:
    """Told to be done by its deadline, it was in no row: hours that work for it or are free, over its own."""
    pausing = RUN_AND_POOL | {"training": [RUN_AND_POOL["training"][0] | {"pausable": True}]}
    plan = plan_fleet(with_changes(parse_scenario(FLEET), pausing), baselines=False)
    solution = solved(plan)
    (row,) = plain_rows([one for one in chance_records(plan, solution) if one["work"] == "tune"])
    done_h = float(solution.done_node_h.sum()) / 4

    assert row["period"] == "by 2027-03-31"
    assert row["needed"] >= done_h - 1e-6
    assert row["headroom_fraction"] == pytest.approx(row["needed"] / row["provided"] - 1.0)
    assert 0.5 < row["chance_fraction"] <= 1.0
