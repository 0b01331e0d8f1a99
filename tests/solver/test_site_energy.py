"""Batteries and the sun of a site in the program: rows, closed forms, and every size and use tried."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from solver_cases import changed, cohort, limits, node_groups, problem, service

from solver import constrain_energy, constrain_limits, constrain_slots
from solver.account import budget_usd
from solver.account_energy import installed_usd, matched_fractions, net_kw, without_energy
from solver.answer import answer
from solver.build import build
from solver.infeasible import explain_infeasible
from solver.known import Answer, check
from solver.problem import Drawing, Objective, Places, Problem, SiteEnergy, Slots, Solution
from solver.program import Program
from solver.stochastic import Futures, extensive_form
from solver.variables import empty
from solver.verify import verify
from solver.verify_energy import load_kw

MONEY, CARBON = Objective(1.0, 0.0), Objective(0.0, 1.0)
LOAD = np.array([100.0, 300.0, 200.0, 100.0])
DIRTY = np.array([0.1, 0.5, 0.4, 0.2])
FREE: dict[str, Any] = {"most_kwh": [1e6], "kw_per_kwh": [1.0]}


def energy(**columns: Any) -> SiteEnergy:
    """Neither battery nor sun; every kilowatt-hour costs 0.1 USD and emits what `DIRTY` says."""
    flat = np.ones((1, 1, 4))
    plain: dict[str, Any] = {"most_kwh": [0.0], "kw_per_kwh": [0.0], "sun_kw": 0 * flat}
    for load in ("moved", "fixed", "least"):
        plain |= {f"{load}_usd_per_kwh": 0.1 * flat, f"{load}_kgco2e_per_kwh": DIRTY * flat}
    return SiteEnergy(**(plain | columns))


def site(*, load: Any = LOAD, peak: float = 0.0, feed: float = np.inf, **columns: Any) -> Problem:
    """Ten days of four slots; the one replica draws `load`, and its node nothing when idle."""
    load = np.asarray(load, dtype=float)
    parts = service([10.0], active_kw=[load.max()], kwh=np.array([[240.0 * load.mean()]]))
    parts["serve_options"] = dataclasses.replace(parts["serve_options"], node_hours=np.array([[240.0]]))
    groups = node_groups(idle_kw=[0.0], hours=[240.0], purchase_allowed=[[0.0]], idle_usd_per_node=[[0.0]])
    return problem(
        **parts,
        node_groups=groups,
        cohorts=dataclasses.replace(cohort(nodes=1), may_retire=np.zeros((1, 1), dtype=bool)),
        slots=Slots(
            hours=np.full((4, 1), 60.0),
            before=np.array([3, 0, 1, 2]),
            day_type=np.zeros(4, dtype=int),
            days=np.full((4, 1), 10.0),
        ),
        drawing=Drawing(drawn_kw=load[None, None], highest_kw=load[None, None]),
        site_energy=energy(**columns),
        places=Places(np.zeros((1, 1)), np.zeros((1, 1)), np.full((1, 1), peak)),
        limits=limits(power_kw=[[feed]]),
    )


def best(of: Problem, objective: Objective = MONEY) -> Answer:
    found = answer(dataclasses.replace(of, objective=objective), gap_fraction=1e-9, time_limit_s=10.0)
    assert found.solution is not None
    return found


def taken(of: Problem, objective: Objective = MONEY) -> tuple[Solution, float]:
    """The best plan, and what it takes over that of the same site without battery and sun."""
    plain = dataclasses.replace(of, site_energy=energy(), limits=limits())
    found = best(of, objective)
    assert found.solution is not None
    return found.solution, found.objective - best(plain, objective).objective


def drawn(of: Problem, plan: Solution) -> Any:
    return (load_kw(of, plan) + net_kw(of, plan.slots))[0, 0]


def rows(constraint: Callable[[Program], None], of: Problem) -> str:
    program = empty(of, frozenset())
    constraint(program)
    return "".join(row.asCplexLpConstraint(name) for name, row in program.model.constraints.items())


def test_rows_of_batteries_and_the_sun() -> None:
    case = site(**FREE | {"one_way_fraction": [0.8], "kw_per_kwh": [0.25]}, sun_kw=[[[0.0, 50.0, 0.0, 0.0]]])
    stores = rows(constrain_energy.store_on_each_day, case).splitlines()
    assert stores[0] == "stores_0_0_0: - 4.8 charge_0_0_0 + 7.5 discharge_0_0_0 + stored_0_0_0"
    assert stores[1] == " - stored_0_0_3 = 0"
    assert "holds_0_0_1: - battery_0_0 + stored_0_0_1 <= 0" in stores
    assert "flows_0_0_1: - 0.25 battery_0_0 + charge_0_0_1 + discharge_0_0_1 <= 0" in stores
    sold = rows(constrain_energy.sell_nothing, case).splitlines()
    assert sold[0] == "import_0_0_0: - charge_0_0_0 + discharge_0_0_0 - 100 replicas_0_0 <= 0"
    assert sold[1] == "import_0_0_1: - charge_0_0_1 + discharge_0_0_1 - 300 replicas_0_0 + sun_0_0_1"
    assert sold[2] == " + sun_moved_0_0_1 <= 0"
    sun = rows(constrain_energy.use_the_sun, case).splitlines()
    assert sun == [
        "shines_0_0_1: sun_0_0_1 + sun_moved_0_0_1 <= 50",
        "fixed_0_0_1: - 300 replicas_0_0 + sun_0_0_1 <= 0",
    ]
    plain = site()
    assert not rows(constrain_energy.store_on_each_day, plain) + rows(constrain_energy.sell_nothing, plain)


def test_power_and_peak_of_such_a_site_are_kept_slot_by_slot() -> None:
    case = site(feed=250.0, peak=14.0, **FREE)
    assert rows(constrain_limits.stay_within_power, case) == ""
    power = rows(constrain_slots.stay_within_power_in_a_slot, case).splitlines()
    assert power[0] == "slot_power_0_0_0: charge_0_0_0 - discharge_0_0_0 + 100 replicas_0_0 <= 250"
    peak = rows(constrain_slots.pay_for_the_highest_slot, case).splitlines()
    assert peak[0] == "slot_peak_0_0_0: - above_0_0 + charge_0_0_0 - discharge_0_0_0"
    assert peak[1] == " - 200 replicas_0_0 <= 0"
    assert "power_0_0: 300 replicas_0_0 <= 250" in rows(constrain_limits.stay_within_power, site(feed=250.0))


def test_an_infinite_free_battery_makes_the_peak_the_mean() -> None:
    """With a demand charge alone the site draws its mean: 300 kW become 175."""
    case = site(peak=14.0, **FREE)
    plan, more = taken(case)

    assert drawn(case, plan).max() == pytest.approx(LOAD.mean())
    assert more == pytest.approx(14.0 * (LOAD.mean() - 300.0))


def test_an_infinite_free_battery_meets_the_cleanest_slot_or_through_a_narrow_feed_the_mean() -> None:
    """All is drawn in the cleanest slot; where the feed carries the mean alone, hours are met alike."""
    before = float((60 * LOAD * DIRTY).sum())
    free, narrow = (taken(site(feed=kw, **FREE), CARBON)[1] for kw in (np.inf, LOAD.mean()))

    assert before + free == pytest.approx(60 * LOAD.sum() * DIRTY.min())
    assert before + narrow == pytest.approx(60 * LOAD.sum() * DIRTY.mean())


def test_a_narrow_feed_is_carried_by_a_battery_and_by_nothing_else() -> None:
    """A cap below the peak has no plan without a battery; of one too small it is told which cap would do."""
    assert answer(site(feed=250.0), gap_fraction=0.0, time_limit_s=5.0).solution is None
    plan = best(site(feed=250.0, battery_usd_per_kwh=[[1.0]], **FREE)).solution
    assert plan is not None
    assert plan.battery_kwh == pytest.approx([6 * 50.0])
    small = site(feed=250.0, **FREE | {"most_kwh": [6 * 20.0]})
    found = explain_infeasible(small, gap_fraction=0.0, time_limit_s=5.0)
    (power,) = [one for one in found.families if one.names == ("power",)]
    assert [give.amount for give in power.gives] == [pytest.approx(30.0, rel=1e-5)]
    assert power.verified


def test_an_infinite_free_battery_buys_in_the_cheapest_slot() -> None:
    """All energy at the least price of the day; the sun is worth the price of its own slot."""
    dear = np.array([0.05, 0.3, 0.2, 0.1])
    prices = {"moved_usd_per_kwh": dear[None, None], "fixed_usd_per_kwh": dear[None, None]}
    assert taken(site(**prices, **FREE))[1] == pytest.approx(60 * (LOAD.sum() * 0.05 - (LOAD * dear).sum()))

    sun = taken(site(**prices, sun_kw=[[[0.0, 50.0, 0.0, 0.0]]]))[1]
    assert sun == pytest.approx(-60 * 50 * 0.3)


@pytest.mark.parametrize(
    ("load", "case"),
    [
        (np.full(4, 100.0), {"moved_kgco2e_per_kwh": np.full((1, 1, 4), 0.3)}),
        (LOAD, {"moved_kgco2e_per_kwh": np.full((1, 1, 4), 0.3), "one_way_fraction": [0.93]}),
        (LOAD, {"one_way_fraction": [1e-3]}),
    ],
    ids=["flat load", "flat grid", "all is lost"],
)
def test_no_battery_where_it_brings_nothing(load: Any, case: dict[str, Any]) -> None:
    """A flat load has no peak, a flat grid no cleaner hour, and a battery that loses all no use."""
    priced = {"battery_usd_per_kwh": [[1e-3]], "battery_kgco2e_per_kwh": [[1e-3]]}
    peak = 14.0 if load is not LOAD else 0.0
    plan, more = taken(site(load=load, peak=peak, **{**FREE, **priced, **case}), Objective(1.0, 1.0))

    assert plan.battery_kwh == pytest.approx([0.0], abs=1e-6)
    assert more == pytest.approx(0.0, abs=1e-4)


def test_a_battery_in_two_slots_as_if_all_were_tried() -> None:
    """Sizes and charges one by one, money and carbon and peak: charged at night, given back by day."""
    load, way, price, peak = np.array([300.0, 100.0, 300.0, 100.0]), 0.9, 4.0, 40.0
    emitted = np.array([0.3, 0.2, 0.3, 0.2])
    terms = {"one_way_fraction": [way], "kw_per_kwh": [0.25], "battery_usd_per_kwh": [[price]]}
    case = site(load=load, peak=peak, moved_kgco2e_per_kwh=emitted[None, None], **FREE | terms)
    aim, weight = Objective(1.0, 0.5), 0.1 + 0.5 * emitted

    least = np.inf
    for size in np.linspace(0.0, 1200.0, 121):
        charge = (
            min(0.25 * size, size / 6 / way) * np.linspace(0.0, 1.0, 101)[:, None]
        )  # alike on both nights
        net = charge * np.array([-(way**2), 1.0, -(way**2), 1.0])
        cost = 60 * (net * weight).sum(axis=1) + peak * (load + net).max(axis=1) + price * size
        least = min(least, cost[(load + net >= 0).all(axis=1)].min())
    found = best(case, aim)
    assert found.solution is not None
    plain = best(dataclasses.replace(case, site_energy=energy()), aim)
    ours = found.objective - plain.objective + peak * 300.0
    assert ours <= least + 1e-6
    assert ours == pytest.approx(least, rel=0.02)
    assert found.solution.battery_kwh[0] > 100.0


@pytest.mark.nightly
def test_a_dear_battery_is_bought_as_far_as_the_peak_pays() -> None:
    """More that may be bought is never worse, and past the best size it changes nothing."""
    terms: dict[str, Any] = {"one_way_fraction": [0.9], "battery_usd_per_kwh": [[4.0]], "kw_per_kwh": [0.25]}
    held = [
        best(site(peak=40.0, most_kwh=[size], **terms)).objective for size in (0.0, 100.0, 400.0, 2e3, 1e4)
    ]
    assert all(more <= less + 1e-6 for less, more in pairwise(held))
    assert held[0] > held[2] + 1.0
    assert held[-1] == pytest.approx(held[-2], rel=1e-9)


def test_sun_is_used_as_far_as_there_is_load_and_nothing_is_sold() -> None:
    """Of 400 kW at noon 300 are used; a battery keeps the rest for later, and never makes it worse."""
    sun = {"sun_kw": [[[0.0, 400.0, 0.0, 0.0]]]}
    alone, more = taken(site(**sun))
    assert alone.slots is not None
    assert (alone.slots.sun + alone.slots.sun_moved).max() == pytest.approx(300.0)
    assert more == pytest.approx(-0.1 * 60 * 300.0)
    assert taken(site(**sun, **FREE))[1] == pytest.approx(-0.1 * 60 * 400.0)


def test_a_type_of_day_that_a_period_lacks_stores_nothing() -> None:
    """Its slots have no hours: what they draw counts for no peak, and nothing is charged in them for free."""
    base = site(peak=14.0, **FREE)
    twice = {
        name: dataclasses.replace(
            table,
            **{
                column: np.tile(getattr(table, column), 2)
                for column, shape in table.SHAPES.items()
                if shape.axes == "*TY"
            },
        )
        for name, table in base.tables().items()
        if name in ("drawing", "site_energy", "resting", "switching", "slot_demand")
    }
    slots = Slots(
        hours=np.concatenate([base.slots.hours, 0 * base.slots.hours]),
        before=np.array([3, 0, 1, 2, 7, 4, 5, 6]),
        day_type=np.repeat([0, 1], 4),
        days=np.concatenate([base.slots.days, 0 * base.slots.days]),
    )
    none = {name: type(getattr(base, name)).none(1) for name in ("work_shifts", "pausable_shifts", "windows")}
    case = dataclasses.replace(base, slots=slots, **twice, **none)
    plan = best(case).solution
    assert plan is not None
    assert plan.slots is not None
    assert not plan.slots.charge[:, :, 4:].any()
    assert best(case).objective == pytest.approx(best(base).objective)


def test_futures_share_the_battery() -> None:
    """What is bought is bought once for all futures, as an order is."""
    base = site(peak=14.0, **FREE)
    other = dataclasses.replace(base, drawing=Drawing(*(0.5 * LOAD[None, None],) * 2))
    programs = extensive_form(Futures((base, other), np.array([0.5, 0.5]), 1))
    assert programs[0].battery[0, 0] is programs[1].battery[0, 0]
    assert programs[0].charge[0, 0, 0] is not programs[1].charge[0, 0, 0]


def test_matching_by_the_hour_is_never_more_than_by_the_year() -> None:
    """Clean energy of a day's mean covers the year and not each hour; of a flat load both are one."""
    load, hours, draws = LOAD[None], np.full((1, 4), 60.0), np.random.default_rng(7)
    assert matched_fractions(load, np.full((1, 4), LOAD.mean()), hours) == pytest.approx(
        (1.0, (100 + 175 + 175 + 100) / 700)
    )
    assert matched_fractions(np.ones((1, 4)), np.ones((1, 4)), hours) == (1.0, 1.0)
    for _ in range(50):
        year, hour = matched_fractions(*(draws.uniform(0, 400, (2, 4)) for _ in range(2)), np.ones((2, 4)))
        assert hour <= year + 1e-12


@pytest.mark.parametrize(
    ("rule", "flow", "by"),
    [
        ("energy stored", "charge", 5.0),
        ("battery held", "stored", 1e7),
        ("battery power", "charge", 1e7),
        ("sun used", "sun", 1e3),
        ("sold to the grid", "discharge", 1e3),
        ("power in a slot", "charge", 1e3),
    ],
)
def test_a_use_that_breaks_a_rule_is_found(rule: str, flow: str, by: float) -> None:
    case = site(feed=250.0, **FREE, sun_kw=[[[0.0, 50.0, 0.0, 0.0]]])
    plan = best(case).solution
    assert plan is not None
    assert plan.slots is not None
    assert not check(build(case), plan, 1e-6)
    bad = dataclasses.replace(plan.slots, **{flow: getattr(plan.slots, flow) + by})
    assert rule in {one.rule for one in verify(case, dataclasses.replace(plan, slots=bad), 1e-6)}
    more = dataclasses.replace(plan, battery_kwh=np.array([2e6]), solar_kw=np.array([1.0]))
    broken = {one.rule for one in verify(case, more, 1e-6)}
    assert {"battery bought", "solar bought"} <= broken


def with_cells(**columns: Any) -> Problem:
    """Four slots of 100 kW; a kilowatt of the sun's cells gives one in the second slot, and emits 0 there."""
    shines = np.array([0.0, 1.0, 0.0, 0.0])[None, None]
    flat = {f"{load}_kgco2e_per_kwh": np.ones((1, 1, 4)) for load in ("moved", "fixed", "least")}
    return site(load=np.full(4, 100.0), solar_kw_per_kw=shines, **flat | columns)


def test_cells_of_the_sun_are_bought_as_far_as_load_takes_them() -> None:
    """A kilowatt saves 60 kWh, 6 USD: dearer ones stay, and none is bought to be spilled."""
    case = with_cells(solar_most_kw=[1e4], solar_usd_per_kw=[[5.0]])
    rows_of_sun = rows(constrain_energy.use_the_sun, case).splitlines()
    assert rows_of_sun[0] == "shines_0_0_1: - solar_0_0 + sun_0_0_1 + sun_moved_0_0_1 <= 0"
    plan, more = taken(case)
    assert plan.solar_kw == pytest.approx([100.0])
    assert more == pytest.approx(100 * (5.0 - 6.0))
    assert taken(with_cells(solar_most_kw=[70.0], solar_usd_per_kw=[[5.0]]))[1] == pytest.approx(-70.0)
    assert taken(with_cells(solar_most_kw=[1e4], solar_usd_per_kw=[[7.0]]))[0].solar_kw.tolist() == [0.0]


def test_a_battery_that_does_not_stand_yet_does_nothing() -> None:
    case = site(peak=14.0, battery_ready=[[0.0]], **FREE)
    plan, more = taken(case)
    assert more == pytest.approx(0.0)
    assert plan.slots is not None
    early = dataclasses.replace(plan.slots, charge=plan.slots.charge + 1.0)
    bad = dataclasses.replace(plan, slots=early, battery_kwh=np.array([1e3]))
    assert "battery power" in {one.rule for one in verify(case, bad, 1e-6)}


@pytest.mark.parametrize("battery_kg", [2.0, 4.0])
def test_cells_and_battery_pay_together_or_not_at_all(battery_kg: float) -> None:
    """A kilowatt more, stored, saves 60 x 0.81 kg and takes 30 kg and 5.4 kWh of battery."""
    terms: dict[str, Any] = {"one_way_fraction": [0.9], "battery_kgco2e_per_kwh": [[battery_kg]]}
    case = with_cells(solar_most_kw=[1e4], solar_kgco2e_per_kw=[[30.0]], **FREE | terms)
    plan, more = taken(case, CARBON)
    gain = 60 * 0.81 - 30.0 - 5.4 * battery_kg
    stored = 300 / 0.81 if gain > 0 else 0.0

    assert plan.solar_kw == pytest.approx([100 + stored])
    assert plan.battery_kwh == pytest.approx([5.4 * stored], abs=1e-6)
    assert more == pytest.approx(-(100 * 30.0 + stored * gain), rel=1e-6)


@pytest.mark.parametrize("flow", ["battery", "solar", "charge", "discharge", "sun", "sun_moved"])
def test_a_false_price_is_caught(flow: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from solver import totals

    case = site(
        peak=14.0,
        sun_kw=[[[0.0, 400.0, 0.0, 0.0]]],
        solar_most_kw=[50.0],
        solar_kw_per_kw=[[[0.0, 0.0, 1.0, 0.0]]],
        solar_usd_per_kw=[[1.0]],
        least_usd_per_kwh=np.full((1, 1, 4), 0.09),
        **FREE | {"battery_usd_per_kwh": [[1e-4]], "one_way_fraction": [0.9]},
    )
    plan = best(case).solution
    assert plan is not None
    honest = totals._of_energy
    monkeypatch.setattr(
        totals, "_of_energy", lambda *of: {n: c * (1.1 if n == flow else 1.0) for n, c in honest(*of).items()}
    )
    assert "what the program charges" in {one.rule for one in check(build(case), plan, 1e-6)}


def test_a_site_with_neither_is_that_of_before() -> None:
    """No column and no row; a battery that nobody may buy and a sun that never shines are none."""
    names = {variable.name.split("_")[0] for variable in build(site()).model.variables()}
    assert not names & {"battery", "solar", "charge", "discharge", "stored", "sun", "sun_moved"}
    assert changed(site(), "site_energy", kw_per_kwh=np.ones(1)).site_energy.stated().tolist() == [False]


def test_a_plan_without_batteries_and_the_sun_is_one_with_them() -> None:
    """What is searched first: it keeps every rule, and with its whole numbers held it is never worse."""
    case = with_cells(solar_most_kw=[1e4], solar_usd_per_kw=[[5.0]], **FREE)
    plain = without_energy(case)
    assert not plain.site_energy.stated().any()
    first = best(plain)
    assert first.solution is not None
    assert not check(build(case), first.solution, 1e-6)
    assert best(case).objective < first.objective - 50.0


def test_what_sites_put_up_is_in_the_budget_of_the_period_in_which_it_is_due() -> None:
    """A kilowatt-hour of battery is due at 300 USD, a kilowatt of cells at 1,500 USD."""
    case = with_cells(
        **FREE,
        solar_most_kw=[1e4],
        battery_capex_usd_per_kwh=[[300.0]],
        solar_capex_usd_per_kw=[[1500.0]],
    )
    row = constrain_limits.stay_within_budget
    held = changed(case, "limits", budget_usd=[9e4])
    assert rows(row, held) == "budget_0: 0.3 battery_0_0 + 0.4 order_0_0 + 1.5 solar_0_0 <= 90\n"
    only_cells = with_cells(solar_most_kw=[1e4], solar_capex_usd_per_kw=[[1500.0]])
    said = "budget_0: 0.4 order_0_0 + 1.5 solar_0_0 <= 90\n"
    assert rows(row, changed(only_cells, "limits", budget_usd=[9e4])) == said
    assert rows(row, changed(held.by_period(), "limits")) == "budget_0: 0.4 order_0_0 <= 90\n"


def test_a_budget_that_a_battery_needs_is_told() -> None:
    """A narrow feed needs 300 kWh of battery at 10 USD each: of a budget of 1,000 USD 2,000 are short."""
    case = site(feed=250.0, battery_capex_usd_per_kwh=[[10.0]], **FREE)
    narrow = changed(case, "limits", budget_usd=[1000.0])
    assert answer(narrow, gap_fraction=1e-9, time_limit_s=10.0).solution is None
    found = explain_infeasible(narrow, gap_fraction=0.0, time_limit_s=5.0)
    [family] = [one for one in found.families if one.names == ("budget",)]
    assert family.suffices
    assert [give.amount for give in family.gives] == pytest.approx([2000.0])


def test_a_budget_holds_as_many_cells_as_it_pays() -> None:
    """60 of the 100 kW that pay; a budget of nothing leaves none, and none is needed for a plan."""
    case = with_cells(solar_most_kw=[1e4], solar_usd_per_kw=[[5.0]], solar_capex_usd_per_kw=[[1500.0]])
    plan = best(changed(case, "limits", budget_usd=[9e4])).solution
    assert plan is not None
    assert plan.solar_kw == pytest.approx([60.0])
    assert installed_usd(case, plan) == pytest.approx([9e4])
    assert budget_usd(case, plan) == pytest.approx([9e4])
    nothing = best(changed(case, "limits", budget_usd=[0.0])).solution
    assert nothing is not None
    assert nothing.solar_kw.tolist() == [0.0]
    wide = best(case).solution
    assert wide is not None
    assert wide.solar_kw == pytest.approx([100.0])
    narrow = changed(case, "limits", budget_usd=[9e4])
    assert {one.rule for one in verify(narrow, wide, 1e-6)} == {"budget"}
    assert not verify(changed(case, "limits", budget_usd=[1.5e5]), wide, 1e-6)
    assert installed_usd(case.by_period(), wide) == pytest.approx([0.0])
