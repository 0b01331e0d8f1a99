"""What hardware is worth, by the worked example of a finance desk and the rules that no plan may break."""

from __future__ import annotations

import math
from datetime import date
from typing import Any

import numpy as np
import pytest
import test_plan_ownership
from sizes import size
from test_plan_ownership import FLEET, headline, solved, term

from planner.answers.plan.summary import why_this_plan
from planner.answers.plan.tables import plan_tables
from planner.answers.plan.work import _share_text
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.scenario import load_scenario, parse_scenario, with_changes
from planner.physics.value import holding_usd, sale_usd, straight_value_usd, value_usd
from planner.program.baselines import (
    KEEP_EVERYTHING,
    USUAL_PRACTICE,
    spare_confidence_fraction,
    usual_practice,
)
from planner.program.plan import Plan, plan_fleet

KEPT = {
    f"year_{n}_fraction": load_catalogue().fact(f"resale.common.year_{n}.kept").value for n in range(1, 9)
}
RATE = 0.08
QUARTERS = np.arange(9) / 4
JOB = load_scenario(data_folder() / "scenarios" / "one-training-job.toml")


def planned(changes: dict[str, Any]) -> Plan:
    return plan_fleet(with_changes(parse_scenario(FLEET), changes), baselines=False)


def trained(changes: dict[str, Any]) -> Plan:
    return plan_fleet(with_changes(JOB, {"solve.gap": "0 %"} | changes), baselines=False)


def worth(price: float, age_y: Any) -> Any:
    return value_usd(price_usd=price, age_y=age_y, **KEPT)


def present(values: Any, upkeep_usd: float) -> float:
    """Cost of holding to the end at present value: fall and interest telescope, upkeep is in mid-quarter."""
    quarters = len(values) - 1
    paid = sum(upkeep_usd / (1 + RATE) ** ((q + 0.5) / 4) for q in range(quarters))
    return float(values[0] - values[-1] / (1 + RATE) ** (quarters / 4) + paid)


# Worked example, kUSD at present value: a node of 330 when new and one of 310 that is three years old, kept
# for 1, 2, 4 and 8 quarters at 8 %, with upkeep of 5 % of the new price a year.
@pytest.mark.parametrize(
    ("price", "age_y", "values", "kept", "parted"),
    [
        (330.0, 0.0, [310.1, 291.4, 257.4, 201.3], [29.9, 57.6, 107.5, 188.0], [77.5, 101.6, 145.1, 215.6]),
        (310.0, 3.0, [135.3, 125.7, 108.5, 77.5], [16.8, 32.3, 60.2, 108.0], [38.6, 52.4, 77.1, 119.7]),
    ],
)
def test_the_worked_example(
    price: float, age_y: float, values: list[float], kept: list[float], parted: list[float]
) -> None:
    curve = worth(price, age_y + QUARTERS)
    for quarters, value, cost, with_sale in zip((1, 2, 4, 8), values, kept, parted, strict=True):
        held = present(curve[: quarters + 1], 0.05 * price / 4)
        friction = sale_usd(value_usd=curve[quarters], fee_fraction=0.15, fixed_usd=2.0, disposal_usd=0.0)
        assert curve[quarters] == pytest.approx(value, abs=0.06)
        assert held == pytest.approx(cost, abs=0.06)
        assert held + friction / (1 + RATE) ** (quarters / 4) == pytest.approx(with_sale, abs=0.06)


def test_the_charge_of_a_period_telescopes() -> None:
    """P5 Discounted, the charges come to the value at first less that at last; spans add up."""
    fine = np.linspace(0.0, 2.0, 2001)
    curve = worth(330.0, fine)
    each = holding_usd(
        value_from_usd=curve[:-1],
        value_to_usd=curve[1:],
        discount_fraction=RATE,
        hours_h=8.766,
        year_h=8766.0,
    )
    middle = (fine[:-1] + fine[1:]) / 2
    assert (each / (1 + RATE) ** middle).sum() == pytest.approx(330 - 201.3 / 1.08**2, abs=0.05)
    whole = holding_usd(
        value_from_usd=curve[0],
        value_to_usd=curve[1000],
        discount_fraction=RATE,
        hours_h=8766.0,
        year_h=8766.0,
    )
    assert each[:1000].sum() == pytest.approx(float(whole), rel=1e-9)


def test_held_for_its_whole_life_a_node_costs_its_annuity() -> None:
    """P10 Down a straight line to a tenth in five years, the present value is that of capital recovery."""
    fine = np.linspace(0.0, 5.0, 5001)
    curve = straight_value_usd(price_usd=100.0, age_y=fine, life_y=5.0, residual_fraction=0.1)
    each = holding_usd(
        value_from_usd=curve[:-1],
        value_to_usd=curve[1:],
        discount_fraction=RATE,
        hours_h=8.766,
        year_h=8766.0,
    )
    present_value = (each / (1 + RATE) ** ((fine[:-1] + fine[1:]) / 2)).sum()
    annuity = (100 - 10 / 1.08**5) * RATE / (1 - 1.08**-5)
    assert present_value == pytest.approx(annuity * (1 - 1.08**-5) / RATE, rel=1e-6)


def test_the_horizon_does_not_change_what_a_job_costs() -> None:
    """P1 Nodes bought for one job are sold after it; only a horizon that ends with it leaves the sale out."""
    two, four, eight = (trained({"horizon.periods": periods}) for periods in (2, 4, 8))

    assert solved(four).usd == pytest.approx(solved(eight).usd, rel=1e-6)
    assert solved(eight).sold.sum() == solved(eight).orders.sum() > 0
    friction = term(eight, "sold")
    assert 0 < solved(eight).usd - solved(two).usd <= friction * 1.001
    assert "keeping one to the end of the horizon would cost" in headline(eight)
    (row,) = plan_tables(eight)["disposals"]
    assert row["value_usd_per_node"] - row["sale_usd_per_node"] == pytest.approx(
        row["proceeds_usd"] / row["nodes"]
    )


def test_a_bought_and_a_standing_node_of_one_age_cost_the_same() -> None:
    """P4 Bought for the start, or in service since that day: the same holding, the same sale."""
    standing = [{"sku": "h100-8", "site": "north", "nodes": 1, "in_service": date(2027, 1, 1)}]
    plan = planned({"fleet": standing})
    vintages, value = plan.assembled.buying.vintages, plan.assembled.standing.value
    assert vintages is not None
    assert value is not None
    (row,) = np.flatnonzero(
        (vintages.node_group == plan.assembled.standing.node_group[0]) * (vintages.ordered == 0)
    )

    for name in ("usd", "capital_usd", "sale_usd"):
        bought, stood = (getattr(one, name).value for one in (vintages.value, value))
        assert bought[row] == pytest.approx(stood[0], rel=1e-9)


@pytest.mark.parametrize("name", ["one-training-job", "growth", "brownfield", "tight-power"])
def test_buying_and_selling_never_earns(name: str) -> None:
    """P3 An order and the sale of what it brought cost at least the friction, whenever it is sold."""
    problem = plan_fleet(
        with_changes(load_scenario(data_folder() / "scenarios" / f"{name}.toml"), {"solve.gap": "20 %"}),
        baselines=False,
    ).problem
    groups, sales = problem.node_groups, problem.sales
    paid = groups.order_usd_per_node[sales.node_group, sales.ordered][:, None] + sales.usd_per_node

    assert (np.where(sales.may_sell, paid, np.inf) > 0).all()
    assert (problem.cohorts.retire_usd_per_node >= 0).all()
    assert (problem.cohorts.keep_usd_per_node > 0).all()


def test_months_and_quarters_charge_alike() -> None:
    standing = [{"sku": "h100-8", "site": "north", "nodes": 1, "in_service": date(2025, 5, 5)}]
    months, quarters = (
        planned({"fleet": standing, "horizon.period": period, "horizon.periods": periods}).assembled.standing
        for period, periods in (("month", 12), ("quarter", 4))
    )
    assert months.capital_usd is not None
    assert quarters.capital_usd is not None
    assert months.capital_usd.value.sum() == pytest.approx(quarters.capital_usd.value.sum(), rel=1e-4)


def test_a_fleet_with_little_to_do_is_not_free() -> None:
    """P9 What is not needed costs its holding, or what its sale takes; a policy may forbid the sale."""
    free, ended, never = (
        plan_fleet(
            with_changes(parse_scenario(FLEET), {"policy.retirement": policy, "fleet[0].life": "6 y"}),
            baselines=False,
        )
        for policy in ("allowed", "end of life", "none")
    )
    assert solved(free).usd > 0
    assert solved(free).retired[:, 0].sum() > 0
    assert solved(ended).retired.sum(axis=0).tolist() == [0, 0, 8, 0]
    assert solved(never).retired.sum() == 0
    assert solved(free).usd <= solved(ended).usd
    assert "at the end of their life" in headline(ended)


@pytest.mark.nightly
def test_much_that_goes_is_told_and_set_beside_keeping_it() -> None:
    """Seven of eight nodes have no work: the plan says so, and what keeping them would cost."""
    plan = plan_fleet(parse_scenario(FLEET))
    kept = plan.baselines[KEEP_EVERYTHING].solution
    assert kept is not None
    why = " ".join(why_this_plan(plan)[1])

    assert kept.retired.sum() + kept.sold.sum() == 0
    assert "7 nodes leave before the end of their life (8 stand today)" in why
    assert "Keeping every node to the end of its life would cost" in why
    assert kept.usd > solved(plan).usd
    assert plan_tables(plan)["summary"][0]["keep_everything"] == pytest.approx(kept.usd)


def test_a_dearer_resale_never_makes_one_poorer() -> None:
    """The holding of what stands costs more, by less than what stands is worth more."""
    before = None
    for resale in (5e3, 10e3, 20e3, 40e3, 80e3):
        plan = planned({"fleet[0].resale": f"{resale:g} USD"})
        poorer = solved(plan).usd - 8 * resale
        if before is not None:
            assert poorer < before
        before = poorer


def test_what_changes_nothing_changes_nothing() -> None:
    """Other names, a cohort in two entries and a SKU that nobody would buy leave the objective as it is."""
    plain = planned({})
    entry = {"sku": "a100-80-8", "site": "south", "in_service": date(2021, 7, 1)}
    halves = planned({"fleet": [entry | {"nodes": 3}, entry | {"nodes": 5}]})
    useless = {"sku": "v100-8", "price": "9 MUSD", "lead_time": "0 d"}
    market = [{"sku": "h100-8", "price": "250 kUSD", "lead_time": "0 d"}, useless]

    assert solved(halves).usd == pytest.approx(solved(plain).usd, rel=1e-9)
    assert solved(planned({"market": market})).usd == pytest.approx(solved(plain).usd, rel=1e-9)


@pytest.mark.nightly
def test_dearer_capital_never_buys_more() -> None:
    """P8 A higher rate, or a faster fall of value, and no more new nodes for the same demand."""
    counts = [
        test_plan_ownership.bought(planned({"policy.discount_rate": rate} | test_plan_ownership.BUSY))
        for rate in ("2 %", "8 %", "20 %", "40 %")[:: size(3, nightly=1)]
    ]
    assert counts == sorted(counts, reverse=True)


@pytest.mark.slow
@pytest.mark.solve
@pytest.mark.nightly
def test_rent_at_the_cost_of_owning_is_indifferent() -> None:
    """P8 A year's rent at what owning costs is as good; a tenth less rents nearly all, more nothing."""
    demand = {"fleet": [], "services.chat.peak_rate": "2500 /s"}

    def renting(price: float, **more: Any) -> Plan:
        offer = {"name": "hired", "sku": "h100-8", "grid": "se", "commitment": "1 year", "per": "node"}
        offer |= {"nodes": 100, "price": f"{price} USD/h", "pue": 1.2}
        return planned(demand | {"rental": [offer]} | more)

    own = solved(planned(demand))
    none = {"market": []}
    alone = [solved(renting(price, **none)).usd for price in (10.0, 20.0)]
    even = 10.0 + 10.0 * (own.usd - alone[0]) / (alone[1] - alone[0])
    cheap, equal, dear = (solved(renting(share * even)) for share in (0.9, 1.0, 1.1))
    assert cheap.orders.sum() <= 0.1 * own.orders.sum()
    assert cheap.committed.sum() > 0
    assert dear.committed.sum() == 0
    assert dear.usd == pytest.approx(own.usd, rel=1e-6)
    assert own.usd * 0.98 <= equal.usd <= own.usd * (1 + 1e-6)


def test_the_deposit_bears_interest_until_delivery() -> None:
    """Three tenths of 250 kUSD for 90 days at 8 %, for each node ordered."""
    late = {"market.h100-8.lead_time": "90 d", "services.chat.peak_rate": ["40 /s", *3 * ["900 /s"]]}
    plan = planned(late)
    each = 0.3 * 250e3 * (math.exp(math.log(1.08) * 90 * 24 / 8766) - 1)
    nodes = test_plan_ownership.bought(plan)

    assert nodes > 0
    assert term(plan, "ordered") == pytest.approx(nodes * each)


def test_usual_practice_is_judged_by_the_same_model() -> None:
    """At today's sites, hourly checkpoints, spares by a share, nothing sold early; it is never better."""
    dirty = load_scenario(data_folder() / "scenarios" / "clean-and-dirty-sites.toml")
    usual = usual_practice(dirty)
    assert {site for offer in usual.market for site in offer.sites or ()} <= {one.site for one in usual.fleet}
    assert usual.policy.objective == "money"
    assert usual.policy.retirement == "end of life"
    assert usual.reliability.spare_share_fraction == 0.03
    assert all(job.checkpoint_interval_h == 1.0 for job in usual.training)

    plan = plan_fleet(with_changes(parse_scenario(FLEET), {"services.chat.peak_rate": "300 /s"}))
    by_usual = plan.baselines[USUAL_PRACTICE].solution
    assert by_usual is not None
    assert not by_usual.orders[0].any(), "north has no fleet today"
    assert not by_usual.retired.any()
    assert by_usual.usd >= solved(plan).usd
    (row, *_) = plan_tables(plan)["summary"]
    assert row["usual_practice"] == pytest.approx(by_usual.usd)
    assert any("As operators usually plan" in line for line in why_this_plan(plan)[1])


def test_baselines_are_said_for_what_they_are() -> None:
    """Of spent money usual practice is counted so; next to a plan that buys nothing is another one."""
    path = data_folder() / "scenarios" / "one-training-job.toml"
    spent = plan_fleet(with_changes(load_scenario(path), {"policy.objective": "cash"}))
    usual = spent.baselines[USUAL_PRACTICE].solution
    assert usual is not None
    bought = int(usual.orders.sum())  # one node each
    assert usual.usd > 100_000 * bought > 0, "each node in full"
    first = {"policy.objective": "lexicographic", "policy.first": "carbon", "policy.tolerance": 0.05}
    rented = {"rental": [{"name": "cloud", "sku": "h100-8", "grid": "fr"}], "sites[0].power_cap": "0 kW"}
    clean = plan_fleet(with_changes(load_scenario(path), first | rented | {"sites[0].grid": "fr"}))
    assert not solved(clean).orders.any()
    assert not any("Without purchases it would" in line for line in why_this_plan(clean)[1])


def test_rented_nodes_have_no_spares_that_could_be_too_few() -> None:
    """The provider replaces them: nothing is said of the spares of usual practice where all is rented."""
    spot = {"name": "spot", "sku": "h100-8", "grid": "se", "commitment": "spot"}
    scenario = with_changes(
        load_scenario(data_folder() / "scenarios" / "one-training-job.toml"), {"rental": [spot], "market": []}
    )
    plan = plan_fleet(scenario)
    inputs, assembled = plan.own_baselines[USUAL_PRACTICE]
    usual = plan.baselines[USUAL_PRACTICE].solution
    assert usual is not None
    assert usual.in_use.max() > 0
    assert spare_confidence_fraction(inputs, assembled, usual) == 1.0


@pytest.mark.nightly
def test_usual_practice_says_where_its_spares_break_the_promise() -> None:
    """One spare for up to 33 nodes: by the plan's own law, more than one is down for a share of the time."""
    worse = {"failures": None, "failure_rate": "0.3 /month", "repair": "10 d", "spare_confidence": 0.99}
    many = {"services.chat.peak_rate": "3000 /s"} | {f"reliability.{key}": one for key, one in worse.items()}
    plan = plan_fleet(with_changes(parse_scenario(FLEET), many))
    inputs, assembled = plan.own_baselines[USUAL_PRACTICE]
    by_usual = plan.baselines[USUAL_PRACTICE].solution
    assert by_usual is not None
    enough = spare_confidence_fraction(inputs, assembled, by_usual)
    (said,) = (line for line in why_this_plan(plan)[1] if "As operators usually plan" in line)

    assert enough < inputs.scenario.reliability.spare_confidence_fraction
    assert f"are enough for {100 * enough:.1f} % of the time at worst" in said


@pytest.mark.nightly
def test_what_was_paid_once_decides_nothing() -> None:
    """P6 Twice the historic price: the same plan at the same cost; the accounts alone change."""
    young = {"fleet[0].in_service": date(2024, 7, 1)}
    once, twice = (
        planned({"services.chat.peak_rate": "300 /s", "fleet[0].paid": price, **young})
        for price in ("175 kUSD", "350 kUSD")
    )
    assert solved(once).usd == pytest.approx(solved(twice).usd, rel=1e-12)
    assert np.array_equal(solved(once).orders, solved(twice).orders)
    assert np.array_equal(solved(once).retired, solved(twice).retired)
    books = [plan_tables(plan)["bridge"][-1]["to_accounts_usd"] for plan in (once, twice)]
    assert books[1] != pytest.approx(books[0], rel=1e-3)


def test_a_later_deadline_saves_no_more_than_time_does() -> None:
    """P2 Interest on the price for the delay, and nothing else: prices do not fall by waiting."""
    soon, late = (
        trained({"horizon.periods": 8, "training[0].deadline": day}) for day in ("2027-06-30", "2027-09-30")
    )
    price = float(soon.ledger.capex.value)
    assert solved(late).usd <= solved(soon).usd * (1 + 1e-9)
    assert solved(soon).usd - solved(late).usd <= RATE * price * 0.25 * 1.01


def test_between_keeping_and_selling_friction_leaves_a_band() -> None:
    """P7 Idle for one quarter a node stays, for the fee of a sale is more; idle for three it goes."""
    busy, quiet = "2500 /s", "40 /s"
    gap, end = (
        planned({"fleet": [], "services.chat.peak_rate": rates})
        for rates in ([busy, quiet, busy, busy], [busy, quiet, quiet, quiet])
    )
    assert solved(gap).orders[:, 0].sum() > 0
    assert solved(gap).orders[:, 1:].sum() == 0, "nothing is sold to be bought again"
    assert solved(gap).sold.sum() == 0
    assert solved(end).sold.sum() > 0


@pytest.mark.nightly
def test_a_faster_fall_of_value_never_buys_more() -> None:
    """Down a straight line to less of the price, fewer new nodes are worth what they would carry."""
    demand = test_plan_ownership.BUSY | {"services.chat.unmet_penalty": "0.00003 USD"}
    counts = [
        test_plan_ownership.bought(planned({"policy.residual_value": kept} | demand))
        for kept in ("80 %", "40 %", "0 %")
    ]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1]


@pytest.mark.parametrize(
    ("share", "said"), [(0.0031, "0.31 %"), (0.13, "13 %"), (0.9969, "99.7 %"), (1.0, "100 %")]
)
def test_a_share_of_a_pool_that_is_paid_for_is_never_nothing(share: float, said: str) -> None:
    """79 node-hours on rented nodes for 1.86 kUSD were "0 %" of the work."""
    assert _share_text(share) == said
