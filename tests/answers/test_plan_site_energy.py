"""Batteries and the sun at the sites of a plan: keys, the mean of the sun, and what is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from planner.answers.plan.cells import cell_explanation
from planner.answers.plan.document import plan_document
from planner.answers.plan.site_energy import site_energy_records, site_energy_sentences
from planner.inputs.catalogue import data_folder, load_catalogue
from planner.inputs.consistency import check_scenario
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, ScenarioError, load_scenario, with_changes
from planner.physics.site_energy import battery_terms, sun_kw
from planner.physics.slots import slot_times
from planner.program.plan import plan_fleet
from planner.trace.records import is_number

BATTERY = {
    "battery": "2 MWh",
    "battery_hours": "4 h",
    "battery_efficiency": 0.81,
    "battery_price": "300 USD/kWh",
    "battery_embodied": "104 kg/kWh",
    "battery_life": "12 y",
}
SUN = {"solar": "60 kW", "solar_yield": 0.2, "solar_latitude": 37.0, "solar_longitude": -120.0}
HOURLY = {"policy.levers": ["shift"], "sites.stockholm.grid": "us-camx"}
POOL = {
    "training": None,
    "pools": [
        {
            "name": "research",
            "model": "llama-3-8b",
            "reference": "h100-8",
            "gpu_time": ["40000 h", "40000 h"],
        }
    ],
    "market": [{"sku": "h100-8", "lead_time": "0 d", "order_nodes": 1}],
}


def shipped(changes: dict[str, Any]) -> Scenario:
    return with_changes(load_scenario(data_folder() / "scenarios" / "one-training-job.toml"), changes)


def at_site(keys: dict[str, Any]) -> dict[str, Any]:
    return {f"sites.stockholm.{key}": value for key, value in keys.items()}


def test_the_sun_of_a_year_is_its_yield_and_rises_at_noon() -> None:
    """All periods of a year come to the yield; in UTC noon at 120 degrees west is at 20 h."""
    scenario = shipped(at_site(SUN) | HOURLY | {"horizon.periods": 4})
    inputs = Inputs(scenario, load_catalogue())
    times = slot_times(inputs)
    assert times is not None
    power, hours = sun_kw(inputs, times, scenario.sites[0]), times.hours.T

    assert (power * hours).sum() / hours.sum() == pytest.approx(60 * 0.2, rel=0.01)
    assert times.start_h[int(power[1].argmax())] in (18.0, 20.0)
    assert power[1].sum() > power[3].sum()
    assert power.max() <= 60.0
    assert np.all(sun_kw(inputs, times, shipped(HOURLY).sites[0]) == 0)


def test_a_battery_takes_its_share_of_price_and_making() -> None:
    """Half a year of twelve: 104 kg / 24.2 of each kilowatt-hour; 81 % both ways are 90 % each."""
    scenario = shipped(at_site(BATTERY))
    terms = battery_terms(Inputs(scenario, load_catalogue()), scenario.sites[0])
    part = sum(scenario.horizon.hours) / 8766 / 12

    assert terms["battery_kgco2e_per_kwh"] == pytest.approx(104 * part)
    assert terms["one_way_fraction"] == pytest.approx(0.9)
    assert terms["kw_per_kwh"] == 0.25
    annuity = 0.08 / (1 - 1.08**-12)
    assert terms["battery_usd_per_kwh"] == pytest.approx(300 * annuity * part * 12, rel=1e-6)


def test_a_plan_says_what_battery_and_sun_would_change() -> None:
    """The sun covers less by the hour than by the year; a battery at 300 USD/kWh does not pay for carbon."""
    plan = plan_fleet(shipped(POOL | HOURLY | at_site(SUN | BATTERY)), baselines=False)
    assert plan.answer.solution is not None
    [row] = site_energy_records(plan, plan.answer.solution)

    assert row["load_kwh"] == pytest.approx(float(plan.ledger.energy.value), rel=1e-6)
    assert 0 < row["matched_hour_fraction"] <= row["matched_year_fraction"]
    assert (
        row["import_kwh"] <= row["load_kwh"] - row["solar_kwh"] + 1e-6 * row["load_kwh"] + row["battery_kwh"]
    )
    assert row["battery_kwh"] == 0.0
    price = float(plan.inputs.electricity[0].value)
    assert row["saved_usd"] == pytest.approx(price * row["solar_kwh"], rel=1e-6)
    document = plan_document(plan)
    [shown] = document["tables"]["site_energy"]
    for key in [key for key, value in shown.items() if is_number(value)]:
        found = cell_explanation(document, "site_energy", shown, key)
        assert found is not None, key
        assert found.steps[0].value == pytest.approx(row[key]), key
        assert "next to the plan" in found.to_text(), key
    [said] = site_energy_sentences(plan, [row])
    assert "no battery pays" in said
    assert "by the hour" in said


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"battery": "2 MWh"}, "needs battery_hours, battery_efficiency"),
        (SUN | {"solar_yield": None}, "needs solar_yield next to it"),
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
