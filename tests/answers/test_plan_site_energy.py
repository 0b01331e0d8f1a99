"""Batteries and the sun at the sites of a plan: keys, the mean of the sun, and what is told."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from site_energy_cases import BATTERY, HOURLY, MORE_SUN, POOL, SUN, at_site, shipped

from planner.answers.plan.cells import cell_explanation
from planner.answers.plan.document import plan_document
from planner.answers.plan.site_energy import site_energy_records, site_energy_sentences
from planner.answers.plan.summary import why_this_plan
from planner.inputs.consistency import check_scenario
from planner.inputs.loading import load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import ScenarioError
from planner.physics.site_energy import site_energy, sun_of_a_kilowatt
from planner.physics.slots import slot_times
from planner.program.operation import Means, desk, operate
from planner.program.plan import Plan, plan_fleet
from planner.trace.records import is_number
from solver.account import peak_kw


def test_the_sun_of_a_year_is_its_yield_and_rises_at_noon() -> None:
    """All periods of a year come to the yield; in UTC noon at 120 degrees west is at 20 h."""
    scenario = shipped(at_site(SUN) | HOURLY | {"horizon.periods": 4})
    inputs = Inputs(scenario, load_catalogue())
    times = slot_times(inputs)
    assert times is not None
    power, hours = sun_of_a_kilowatt(inputs, times, scenario.sites[0]), times.hours.T

    assert (power * hours).sum() / hours.sum() == pytest.approx(0.2, rel=0.01)
    assert times.start_h[int(power[1].argmax())] in (18.0, 20.0)
    assert power[1].sum() > power[3].sum()
    assert power.max() <= 1.0
    assert np.all(sun_of_a_kilowatt(inputs, times, shipped(HOURLY).sites[0]) == 0)
    found = site_energy(inputs, times)
    assert found is not None
    assert found.sun_kw[0] == pytest.approx(60 * power)


@pytest.mark.parametrize(("slots", "grid"), [(12, "us-camx"), (24, "us-camx"), (48, "us-camx"), (24, "pl")])
def test_clear_and_dull_days_have_the_mean_and_the_spread_of_days(slots: int, grid: str) -> None:
    """On a grid of known hours, and on one of which none are known."""
    keys = HOURLY | {"horizon.periods": 4, "solve.slots": slots, "sites.stockholm.grid": grid}
    power: dict[float, Any] = {}
    for spread in (0.0, 0.3):
        inputs = Inputs(shipped(at_site(SUN | {"solar_spread": spread}) | keys), load_catalogue())
        times = slot_times(inputs)
        assert times is not None
        types = len(times.day_type) // 12
        assert types == (max(slots, 24) if spread else 12 if grid == "pl" else slots) // 12
        sun = sun_of_a_kilowatt(inputs, times, inputs.scenario.sites[0]).reshape(4, types, 12)
        days = times.days.T[:, ::12]
        assert days.sum(axis=1) == pytest.approx(np.array(inputs.scenario.horizon.hours) / 24)
        power[spread] = np.average(sun, axis=1, weights=None) if not spread else sun
        if spread:
            mean = (sun * days[:, :, None]).sum(axis=1) / days.sum(axis=1)[:, None]
            assert mean == pytest.approx(power[0.0])
            energy = sun.sum(axis=2)
            center = (energy * days).sum(axis=1) / days.sum(axis=1)
            deviation = np.sqrt(((energy - center[:, None]) ** 2 * days).sum(axis=1) / days.sum(axis=1))
            assert deviation / center == pytest.approx(np.full(4, spread), rel=0.03)


def test_a_battery_takes_its_share_of_price_and_making() -> None:
    """Half a year of twelve: 104 kg / 24.2 of each kilowatt-hour; 81 % both ways are 90 % each."""
    scenario = shipped(at_site(BATTERY) | HOURLY)
    inputs = Inputs(scenario, load_catalogue())
    found = site_energy(inputs, slot_times(inputs))
    assert found is not None
    part = sum(scenario.horizon.hours) / 8766 / 12

    assert found.battery.kgco2e.value.sum() == pytest.approx(104 * part)
    assert found.one_way_fraction == pytest.approx([0.9])
    assert found.kw_per_kwh == pytest.approx([0.25])
    annuity = 0.08 / (1 - 1.08**-12)
    assert found.battery.usd.value.sum() == pytest.approx(300 * annuity * part * 12, rel=1e-6)
    assert site_energy(Inputs(shipped(HOURLY), load_catalogue()), slot_times(inputs)) is None


def test_bought_cells_take_their_share_of_price_upkeep_and_making() -> None:
    scenario = shipped(at_site(MORE_SUN) | HOURLY)
    inputs = Inputs(scenario, load_catalogue())
    found = site_energy(inputs, slot_times(inputs))
    assert found is not None
    part = sum(scenario.horizon.hours) / 8766

    assert found.solar.usd.value.sum() == pytest.approx(1500 * part * (0.08 / (1 - 1.08**-30) + 0.012))
    assert found.solar.kgco2e.value.sum() == pytest.approx(1900 * part / 30)
    assert found.solar_most_kw == pytest.approx([1000.0])
    assert not found.sun_kw.any()


def test_what_is_bought_works_and_costs_from_its_day_on() -> None:
    """The horizon has two quarters: from the day after the first begins on, one of them."""
    first = MORE_SUN | BATTERY
    days: dict[str, Any] = {}
    for day in (None, date(2027, 1, 2), date(2027, 4, 1)):
        keys = {} if day is None else {"solar_from": day, "battery_from": day}
        inputs = Inputs(shipped(at_site(first | keys) | HOURLY), load_catalogue())
        found = days[str(day)] = site_energy(inputs, slot_times(inputs))
        assert found is not None
        later = (0.0 if day else 1.0), 1.0
        whole = days["None"]
        assert found.battery.in_use == pytest.approx(np.array([later]))
        for what, kind in product(("battery", "solar"), ("usd", "kgco2e")):
            each, all_along = (getattr(getattr(of, what), kind).value for of in (found, whole))
            assert each == pytest.approx(all_along * np.array([later])), (what, kind)
        assert found.solar_kw_per_kw == pytest.approx(whole.solar_kw_per_kw * np.array(later)[None, :, None])


@cache
def with_cells(price: str) -> Plan:
    """A pool at a site that may buy the sun's cells and a battery, for least carbon."""
    energy = MORE_SUN | BATTERY | {"solar_price": price, "solar": "10 kW"}
    aim = {"policy.objective": "carbon"}
    return plan_fleet(shipped(POOL | HOURLY | at_site(energy) | aim), baselines=False)


def test_cells_of_the_sun_are_a_decision_that_every_table_knows() -> None:
    plan = with_cells("1500 USD/kW")
    solution = plan.answer.solution
    assert solution is not None
    assert solution.solar_kw[0] > 50.0
    document = plan_document(plan)
    [row] = document["tables"]["site_energy"]
    assert row["solar_bought_kw"] == pytest.approx(solution.solar_kw[0])
    given = (row["solar_kwh"] + row["spilled_kwh"]) / (row["solar_bought_kw"] + 10.0)
    assert given / sum(plan.inputs.scenario.horizon.hours) == pytest.approx(0.2, rel=0.25)
    for table, total in (("cost", solution.usd), ("carbon", solution.kgco2e)):
        key = "usd" if table == "cost" else "kgco2e"
        assert "solar" in {one["term"] for one in document["tables"][table]}
        summed = sum(one[key] for one in document["tables"][table] if one["term"] != "total")
        assert summed == pytest.approx(total, rel=1e-6)
        [line] = [one for one in document["tables"][table] if one["term"] == "solar"]
        found = cell_explanation(document, table, line, key)
        assert found is not None
        assert found.steps[0].value == pytest.approx(line[key])
    assert "making of the sun's cells" in {one["line"] for one in document["tables"]["whole_ledger"]}
    said, *_ = site_energy_sentences(plan, site_energy_records(plan, solution))
    assert "of the sun's cells are bought" in said
    headline, _ = why_this_plan(plan)
    [put_up] = [one for one in headline if "of the sun's cells at stockholm" in one]
    assert put_up.startswith("Put up ")
    assert f"ordered ahead: {solution.solar_kw[0] * 1500 / 1000:.3g} kUSD is due then" in put_up
    assert "budget" not in put_up
    assert "Buy nothing." not in headline


@cache
def planned(*, battery_price: str | None) -> Plan:
    """A pool under a demand charge, with the sun, and with a battery where one may be bought."""
    energy = SUN if battery_price is None else SUN | BATTERY | {"battery_price": battery_price}
    charged = {"electricity_price": "62 USD/MWh", "demand_charge": "15 USD/kW/month"}
    # No work can wait, and the sun shines by day alone: nights have the highest power.
    pool = {"pools": [POOL["pools"][0] | {"may_wait": 0.0}]}  # type: ignore[index]
    return plan_fleet(shipped(POOL | HOURLY | at_site(energy | charged) | pool), baselines=False)


def test_a_battery_is_a_decision_of_the_plan_that_every_table_knows() -> None:
    """It is bought, the peak falls, hours add up to the ledger, and each number opens."""
    plan, plain = planned(battery_price="9 USD/kWh"), planned(battery_price=None)
    solution, before = plan.answer.solution, plain.answer.solution
    assert solution is not None
    assert before is not None
    assert solution.battery_kwh[0] > 10.0
    assert solution.usd < before.usd
    assert plan.ledger.usd_terms["peak_usd"].value < plain.ledger.usd_terms["peak_usd"].value
    document = plan_document(plan)
    [row] = document["tables"]["site_energy"]
    lost = row["charged_kwh"] - row["given_back_kwh"]
    assert lost == pytest.approx(row["charged_kwh"] * (1 - 0.81), rel=1e-6)
    assert row["import_kwh"] == pytest.approx(row["load_kwh"] - row["solar_kwh"] + lost, rel=1e-9)
    assert row["import_kwh"] == pytest.approx(float(plan.ledger.energy.value), rel=1e-6)
    hours = document["tables"]["hours"]
    assert sum(one["energy_kwh"] for one in hours) == pytest.approx(row["import_kwh"], rel=1e-6)
    assert 0 < row["matched_hour_fraction"] <= row["matched_year_fraction"]
    assert {"battery", "stored", "sun"} <= {one["term"] for one in document["tables"]["cost"]}
    for table in ("site_energy", "cost", "carbon", "energy", "whole_ledger"):
        about = [one for one in document["tables"][table] if "atter" in str(one) or "solar_kwh" in one]
        for line in about:
            for key in [key for key, value in line.items() if is_number(value)]:
                found = cell_explanation(document, table, line, key)
                assert found is not None, (table, key)
                assert found.steps[0].value == pytest.approx(line[key], rel=1e-9, abs=1e-9), (table, key)
    assert "making of batteries" in {one["line"] for one in document["tables"]["whole_ledger"]}
    said, *dark = site_energy_sentences(plan, site_energy_records(plan, solution))
    assert "of battery pay; the sun covers" in said
    assert row["peak_kw"] < row["dark_peak_kw"]
    assert [line.startswith("A day without sun may draw") for line in dark] == [True]


def test_the_sun_saves_no_electricity_of_the_network_and_all_the_water_of_what_is_not_drawn() -> None:
    """The cells cover no load of the network; power stations take water for what is drawn of the grid."""
    plan = planned(battery_price="9 USD/kWh")
    solution, inputs = plan.answer.solution, plan.inputs
    assert solution is not None
    document = plan_document(plan)
    tables = document["tables"]
    share = float(inputs.fact("network.fabric.power").value)
    nodes = sum(one["kgco2e"] for one in tables["carbon"] if one["term"] in ("pools", "idle"))
    lines = {one["line"]: one["kgco2e"] for one in tables["whole_ledger"]}
    assert lines["electricity of the network"] == pytest.approx(share * nodes)
    assert lines["electricity of nodes"] < 0.8 * nodes

    (use,), (water,) = tables["site_energy"], tables["water"]
    drawn_kwh = use["import_kwh"] + share * use["load_kwh"]
    litres = float(inputs.fact("water.us.electricity").value)
    assert water["offsite_l"] == pytest.approx(litres * drawn_kwh, rel=1e-6)
    found = cell_explanation(document, "water", water, "offsite_l")
    assert found is not None
    assert found.steps[0].value == pytest.approx(water["offsite_l"])


def test_a_battery_that_does_not_pay_leaves_the_plan_as_it_is() -> None:
    dear, plain = planned(battery_price="3000 USD/kWh"), planned(battery_price=None)
    assert dear.answer.solution is not None
    assert dear.answer.solution.battery_kwh.tolist() == [0.0]
    assert dear.answer.objective == plain.answer.objective
    assert "battery_usd" not in {name for name, one in dear.ledger.usd_terms.items() if one.value}
    said, *_ = site_energy_sentences(dear, site_energy_records(dear, dear.answer.solution))
    assert "no battery pays" in said
    (row,) = site_energy_records(dear, dear.answer.solution)
    [without_sun] = site_energy_sentences(dear, [row | {"solar_kwh": 0.0, "spilled_kwh": 0.0}])
    assert without_sun == "At stockholm no battery pays: it would take more than it saves."


def test_a_replay_has_the_power_that_a_battery_carries() -> None:
    """The plan draws more than its cap before its battery gives; chosen again, the work finds that power."""
    plan = planned(battery_price="9 USD/kWh")
    solution = plan.answer.solution
    assert solution is not None
    cap = float(plan.problem.limits.power_kw[0, 0])
    drawn = peak_kw(plan.problem, solution, solution.in_service)
    tight = replace(plan.problem, limits=replace(plan.problem.limits, power_kw=drawn - 5.0))
    assert cap > drawn.max()
    at = desk(plan.inputs, replace(plan.assembled, problem=tight), solution)
    found = operate(at, at.stated(), Means(), at.prices())
    assert found is not None
    assert found.undone == pytest.approx(0.0, abs=1e-6)


def test_without_levers_it_is_said_why_nothing_is_decided() -> None:
    plan = plan_fleet(shipped(POOL | at_site(SUN)), baselines=False)
    assert plan.answer.solution is not None
    assert site_energy_records(plan, plan.answer.solution) == []
    [said] = site_energy_sentences(plan, [])
    assert "allow `levers`" in said


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"battery": "2 MWh"}, "needs battery_hours, battery_efficiency"),
        (SUN | {"solar_yield": None}, "needs solar_yield next to it"),
        (MORE_SUN | {"solar_life": None}, "solar_more: needs solar_life next to it"),
        (MORE_SUN | {"solar_spread": None}, "solar_more: needs solar_spread next to it"),
        (SUN | {"solar_price": "900 USD/kW"}, "has no effect without solar_more"),
        ({"battery_from": date(2027, 4, 1)}, "has no effect without battery"),
        (
            BATTERY | {"battery_from": date(2027, 4, 2)},
            "battery_from: 2027-04-02 is after the last period begins",
        ),
        (
            MORE_SUN | {"solar_from": date(2030, 1, 1)},
            "solar_from: 2030-01-01 is after the last period begins",
        ),
        ({"solar_spread": 0.3}, "has no effect without solar or solar_more"),
        ({"battery_life": "12 y"}, "has no effect without battery"),
        (BATTERY | {"battery": "2 MW"}, "2 MW"),
        (BATTERY | {"battery_efficiency": 1.2}, "out of range"),
        (SUN | {"solar_latitude": 80}, "out of range"),
    ],
)
def test_bad_keys_are_refused_once(keys: dict[str, Any], says: str) -> None:
    with pytest.raises(ScenarioError, match=says) as error:
        check_scenario(shipped(at_site(keys)), load_catalogue())
    assert len(error.value.problems) == 1
