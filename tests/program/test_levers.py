"""Levers of a scenario: what operation decides by the hour, and that nothing changes where it may not."""

from __future__ import annotations

import dataclasses
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explained import equations_hold

from benchmarks.studies.hours import WORK_BY_THE_HOUR
from planner.answers.plan.cells import cell_explanation
from planner.answers.plan.document import plan_document
from planner.answers.plan.hours import STATES, hour_records, hour_sentences, lever_records, saving_said
from planner.answers.plan.unit_costs import unit_cost_records
from planner.inputs.consistency import with_cards
from planner.inputs.editing import prices_found
from planner.inputs.loading import load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, ScenarioError, load_scenario, parse_scenario, with_changes
from planner.inputs.scenario.bundle import keep, restored
from planner.inputs.series import load_series
from planner.physics.equations.serving import day_loads_per_s
from planner.physics.equations.slots import (
    awake_kw,
    clock_load_fraction,
    period_slot_ratio,
    traced_load_fraction,
    window_slot_ratio,
)
from planner.physics.slots import SLOTS_A_DAY, slot_times
from planner.program.assembly import assemble
from planner.program.clean_hours import matched_sites
from planner.program.plan import Plan, plan_fleet
from planner.program.site_energy import site_uses
from planner.report.charts import PLAN_PICTURES
from planner.trace.explain import explain
from planner.trace.records import is_number, plain_rows
from solver import account, account_slots

ALL = ["shift", "pack", "lend"]
TEXT = f"""
title = "A service and a pool in a sunny grid"
[horizon]
start = 2027-04-01
periods = 1
period = "quarter"
[[sites]]
name = "fresno"
grid = "us-camx"
pue = 1.2
power_cap = "300 kW"
racks = 12
[[fleet]]
sku = "h100-8"
site = "fresno"
nodes = 20
in_service = 2025-01-01
{WORK_BY_THE_HOUR}[solve]
gap = "0.01 %"
time_limit = "60 s"
"""


def scenario(**changes: Any) -> Scenario:
    text = parse_scenario(TEXT)
    return with_changes(text, {path.replace("__", "."): value for path, value in changes.items()})


@cache
def planned(levers: tuple[str, ...] = (), **changes: Any) -> Plan:
    allowed = {"policy__levers": list(levers)} if levers else {}
    return plan_fleet(scenario(**allowed, **changes), baselines=False)


def objective(plan: Plan) -> float:
    assert plan.answer.solution is not None
    return plan.answer.objective


def inputs_of(one: Scenario) -> Inputs:
    return Inputs(one, with_cards(one, load_catalogue()))


def test_without_levers_the_program_has_no_slots() -> None:
    assert len(planned().problem.slots) == 0
    one = planned(tuple(ALL), solve__slots=1)
    assert len(one.problem.slots) == 0
    assert objective(one) == pytest.approx(objective(planned()), rel=1e-9)


def test_no_levers_may_be_said_in_words() -> None:
    """A list of none, as a sweep or a comparison writes it, is what stands where nothing is said."""
    assert scenario(policy__levers=[], policy__techniques=[]) == scenario()


def test_a_site_whose_hours_nobody_knows_is_flat_and_says_so() -> None:
    """Moving work on a flat grid is worth nothing: the plan is that of the period."""
    elsewhere = {"sites__fresno__grid": "pl", "policy__levers": ["shift"]}
    assert slot_times(inputs_of(scenario(**elsewhere))) is None
    packs = slot_times(inputs_of(scenario(**(elsewhere | {"policy__levers": ["pack"]}))))
    assert packs is not None
    assert packs.notes == (
        "fresno: no hours of its grid are known, so its grid is taken as flat.",
        "chat: requests by a curve around 20 h, as no trace of a day is named.",
    )
    assert (packs.grid.fixed[0].value == 1).all()


def test_slots_are_the_hours_of_the_months_of_the_period() -> None:
    """Two types of day of the second quarter; each column has the mean of the period."""
    times = slot_times(inputs_of(scenario(policy__levers=ALL)))
    assert times is not None
    assert times.hours.shape == (2 * SLOTS_A_DAY, 1)
    assert times.hours.sum() == pytest.approx(91 * 24.0)
    assert "synthetic profile that nobody measured" in times.notes[0]
    series = load_series("synthetic-us-camx")
    months = series.time_utc.astype("datetime64[M]").astype(int) % 12 + 1
    days = series.complete()[np.isin(months, [4, 5, 6])].reshape(-1, 12, 2).mean(axis=2)
    by_clock = times.grid.fixed[0].value.reshape(2, 12)
    share = times.hours[:, 0].reshape(2, 12) / times.hours[:, 0].reshape(2, 12).sum(axis=0)
    assert (by_clock * share).sum(axis=0) == pytest.approx(days.mean(axis=0) / days.mean(), rel=1e-9)


def test_the_load_of_a_day_has_its_mean_and_its_hour() -> None:
    load = clock_load_fraction(
        mean_to_peak_fraction=np.array([0.45, 1.0]), busiest_h=np.array([20.0, 5.0]), slots_a_day=12
    )
    assert load.mean(axis=1) == pytest.approx([0.45, 1.0], rel=0.01)
    assert 2 * int(np.argmax(load[0])) in (18, 20)
    assert load[1] == pytest.approx(np.ones(12))
    eight = day_loads_per_s(peak_per_s=np.ones(1), mean_to_peak_fraction=np.array([0.45]))
    assert np.sort(load[0])[[0, -1]] == pytest.approx(eight[0][[0, -1]], abs=0.08)


@pytest.mark.parametrize(("mean", "capped"), [(0.4, 0), (0.6, 2), (1.0, 12)])
def test_the_load_of_a_trace_has_its_hours_and_the_stated_mean(mean: float, capped: int) -> None:
    """Parts are in proportion to the trace; where the mean asks for more, its highest are at the peak."""
    hours = np.repeat([1.0, 3.0, 2.0, 1.0], 6) / 1.75
    load = traced_load_fraction(mean_to_peak_fraction=mean, hours_ratio=hours, slots_a_day=12)
    assert load.mean() == pytest.approx(mean)
    assert (load > 1 - 1e-12).sum() >= capped
    free = load < 1 - 1e-12
    assert np.ptp((load / hours[::2])[free], axis=0) < 1e-12 if free.any() else mean == 1.0


def test_replicas_are_ready_for_the_highest_day_of_a_trace(tmp_path: Path) -> None:
    """Two days of 10 requests an hour, at noon 30 and 50: the mean day says 40, and 50 is what comes."""
    counts = [{12: 30, 36: 50}.get(i, 10) for i in range(49)]
    lines = [
        f"{np.datetime64('2025-03-04T00:00') + i * np.timedelta64(60, 'm')},{n}" for i, n in enumerate(counts)
    ]
    (tmp_path / "requests.csv").write_text("\n".join(["timestamp,requests", *lines]) + "\n")
    path = tmp_path / "mine.toml"
    stated = TEXT.replace('busiest_time = "20 h"', 'traffic_shape = "requests.csv"')
    path.write_text(stated.replace("[policy]", '[policy]\nlevers = ["pack"]'))
    own = load_scenario(path)
    slots = slot_times(inputs_of(own))
    assert slots is not None
    load, ready = (np.asarray(one.value)[0] for one in (slots.load_fraction, slots.ready_load_fraction))
    assert load.mean() == pytest.approx(0.45)
    assert load.argmax() == 6
    assert load[6] / load[0] == pytest.approx(2.5)
    assert ready[6] == pytest.approx(min(1.0, 2 * load[6]))
    assert ready[0] == pytest.approx(load[0])
    assert "chat: requests by the hour as in requests.csv, 2.0 days." in slots.notes
    assert "requests.csv" in keep(own).files
    with pytest.raises(ScenarioError, match="traffic_shape and busiest_time say the same thing twice"):
        with_changes(own, {"services.chat.busiest_time": "3 h"})


def test_awake_power_is_that_of_two_points() -> None:
    """Ten replicas at half load, or five at full load and five asleep: n a + b load gives both."""
    half, full, load = 5.0, 7.0, 0.5
    awake = float(
        awake_kw(even_kw=np.array([half]), full_kw=np.array(full), load_fraction=np.array([load]))[0]
    )
    slope = full - awake
    assert 10 * awake + slope * 5 == pytest.approx(10 * half)
    assert 5 * awake + slope * 5 == pytest.approx(5 * full)


def test_each_lever_helps_and_none_of_them_hurts() -> None:
    """Alone, two, three: each further lever makes the objective no larger, and each saves something here."""
    alone = [objective(planned((lever,))) for lever in ("shift", "pack")]
    joint = objective(planned(tuple(ALL)))
    assert joint < min(alone) < max(alone)
    assert alone[1] < objective(planned())
    # Serving meets the carbon of its hours with any lever: its load is not flat, and neither is the grid.
    resting = planned(("shift",)).answer.solution
    assert resting is not None
    assert resting.slots is not None
    assert not resting.slots.rest.any()


def test_the_ledger_is_what_the_program_charged() -> None:
    """Every term of money and carbon by traced sums; energy that levers save is in the total."""
    plan = planned(tuple(ALL))
    solution, ledger = plan.answer.solution, plan.ledger
    assert solution is not None
    assert ledger.cost.value == pytest.approx(solution.usd, rel=1e-9)
    assert ledger.carbon.value == pytest.approx(solution.kgco2e, rel=1e-9)
    assert ledger.kgco2e_terms["resting_kgco2e"].value < 0
    assert ledger.kgco2e_terms["resting_kgco2e"].value == pytest.approx(solution.kgco2e_terms.rest.sum())
    assert ledger.kgco2e_terms["lent_kgco2e"].value == pytest.approx(solution.kgco2e_terms.lend.sum())
    assert ledger.usd_terms["resting_usd"].value == pytest.approx(solution.usd_terms.rest.sum())
    assert ledger.kwh_terms["resting_kwh"].value < 0


def test_lending_never_breaks_a_target_or_a_reserve() -> None:
    """In every slot awake replicas carry the load and its reserve, and what stands by is awake."""
    plan = planned(tuple(ALL))
    solution, problem = plan.answer.solution, plan.problem
    assert solution is not None
    assert solution.slots is not None
    used = solution.slots
    assert used.lent.sum() > 0
    serves = problem.serve_options
    awake = solution.replicas[:, :, None] - used.quiet - used.rest
    standby = np.where(solution.replicas > 0, serves.standby, 0)
    share = serves.standby_fraction / (1 + serves.standby_fraction) * solution.replicas
    carried = serves.capacity[:, :, None] * (awake - (standby + share)[:, :, None])
    carried = account.totals_by(serves.service, len(problem.services), carried)
    times = slot_times(plan.inputs)
    assert times is not None
    load = np.tile(np.asarray(times.load_fraction.value), 2)[:, None, :] * problem.services.demand[:, :, None]
    assert (carried >= np.minimum(1.1 * load, problem.services.demand[:, :, None]) * (1 - 1e-6)).all()
    lent = account.totals_by(
        problem.work_options.node_group,
        len(problem.node_groups),
        problem.work_options.held_ratio[:, :, None] * used.lent,
    )
    resting = account.totals_by(
        serves.node_group, len(problem.node_groups), serves.nodes[:, None, None] * used.rest
    )
    assert (lent <= resting + 1e-6).all()


@cache
def document() -> dict[str, Any]:
    return plan_document(planned(tuple(ALL)))


CONTRACT = {
    "policy.accounting": "market",
    "policy.levers": ALL,
    "contracts": [{"name": "wind", "site": "fresno", "price_premium": "4 USD/MWh"}],
    "solve.gap": "1 %",
}


@cache
def under_contract() -> Plan:
    return plan_fleet(with_changes(parse_scenario(TEXT), CONTRACT), baselines=False)


def test_a_contract_covers_what_is_drawn_by_the_hour_and_no_more() -> None:
    """Nodes that rest or are off draw less, lent ones more: what is bought follows; carbon knows no hours."""
    plan = under_contract()
    solution, ledger, times = plan.answer.solution, plan.ledger, slot_times(plan.inputs)
    assert solution is not None
    assert times is not None
    assert (np.asarray(times.grid.day[0].value) == 1).all()
    assert ledger.kwh_terms["resting_kwh"].value < 0
    drawn = account.drawn_kwh(
        plan.problem, solution, account.idle_nodes(plan.problem, solution, solution.in_service)
    )
    assert drawn.sum() == pytest.approx(ledger.energy.value, rel=1e-9)
    assert 0.99 * drawn.sum() < solution.matched_kwh.sum() <= drawn.sum() * (1 + 1e-9)
    assert ledger.carbon.value == pytest.approx(solution.kgco2e, rel=1e-9)


def test_a_site_of_a_contract_may_stand_empty_for_a_period() -> None:
    """Nothing is needed in the first of two periods, nor bought for it: a load of zero was an error."""
    begins = {
        "horizon.periods": 2,
        "fleet": None,
        "market": [{"sku": "h100-8", "lead_time": "0 d"}],
        "services.chat.peak_rate": ["0 /s", "1200 /s"],
        "pools.search.gpu_time": ["0 h", "110000 h"],
    }
    plan = plan_fleet(with_changes(parse_scenario(TEXT), CONTRACT | begins), baselines=False)
    solution = plan.answer.solution
    assert solution is not None
    assert solution.in_service[:, 0].sum() == 0
    (found,) = matched_sites(plan, solution)
    assert found.load_kwh == pytest.approx(plan.ledger.energy.value, rel=1e-9)


def test_a_service_with_a_penalty_may_have_periods_without_demand() -> None:
    """Nothing is left out of nothing: the price by peak was a division by zero, and the plan an error."""
    breaks = {
        "horizon.periods": 2,
        "services.chat.peak_rate": ["0 /s", "1200 /s"],
        "services.chat.unmet_penalty": "1 USD",
        "pools.search.gpu_time": ["0 h", "110000 h"],
    }
    plan = plan_fleet(with_changes(parse_scenario(TEXT), breaks), baselines=False)
    assert plan.answer.solution is not None
    assert plan.problem.services.unmet_usd[0, 0] == 0
    assert plan.problem.services.unmet_usd[0, 1] > 0
    assert not plan.answer.solution.shed_fraction.any()


def test_a_unit_of_work_is_charged_what_it_does_on_lent_nodes_and_spared_what_it_rests() -> None:
    """A pool counts its accelerator-hours wherever it does them; what levers take is of the work that does.

    Work on lent nodes had no hours, and its energy and what replicas save at rest were of idle nodes.
    """
    plan = planned(tuple(ALL))
    solution, works = plan.answer.solution, plan.problem.work_options
    assert solution is not None
    rows = {row["work"]: row for row in plain_rows(unit_cost_records(plan, solution))}
    lent_node_h = account_slots.lent_node_h(plan.problem, solution)
    assert lent_node_h.sum() > 0
    held_node_h = works.held_ratio * (solution.work_node_h + lent_node_h)
    assert rows["search"]["amount"] == pytest.approx(8 * held_node_h.sum())
    electricity = plan.ledger.kgco2e_terms
    assert rows["search"]["kgco2e"] > electricity["pools_kgco2e"].value + electricity["lent_kgco2e"].value - 1
    saved = electricity["serving_kgco2e"].value - rows["chat"]["kgco2e"]
    assert saved > 0
    assert sum(row["kgco2e"] for row in rows.values()) == pytest.approx(plan.ledger.carbon.value)


def test_what_is_claimed_for_the_year_is_less_by_the_hour() -> None:
    """A flat plant and a load that is not: the period claims all; the sun has no night; location stays."""
    plan = under_contract()
    solution = plan.answer.solution
    assert solution is not None
    scenario = plan.inputs.scenario
    (contract,) = scenario.contracts
    sun = {"profile": "sun", "profile_latitude_deg": 36.8, "profile_longitude_deg": -119.8}
    found = {}
    for name, keys in (("none", {}), ("flat", {"profile": "flat"}), ("sun", sun)):
        with_profile = scenario.model_copy(update={"contracts": (contract.model_copy(update=keys),)})
        (found[name],) = matched_sites(
            dataclasses.replace(plan, inputs=Inputs(with_profile, plan.inputs.catalogue)), solution
        )
    assert found["none"].hour_kwh is None
    for one in found.values():
        assert one.load_kwh == pytest.approx(plan.ledger.energy.value, rel=1e-9)
        assert one.period_kwh == pytest.approx(float(solution.matched_kwh.sum()))
        assert one.location_kgco2e == pytest.approx(found["none"].location_kgco2e)
    flat, sunny = found["flat"], found["sun"]
    assert flat.hour_kwh is not None
    assert sunny.hour_kwh is not None
    assert 0.8 < flat.hour_kwh / flat.period_kwh < 0.999
    assert 0.4 < sunny.hour_kwh / sunny.period_kwh < 0.6  # of 24 hours 13 are days in spring
    grid = float(plan.inputs.grid[0].value)
    assert flat.hourly_kgco2e == pytest.approx(flat.market_kgco2e + (flat.period_kwh - flat.hour_kwh) * grid)


def test_sun_saves_no_carbon_that_a_contract_has_avoided_already() -> None:
    """All that the site draws is under contract: a kilowatt-hour of the sun saves its price and premium."""
    plain = under_contract().answer.solution
    assert plain is not None
    sun = {"solar": "20 kW", "solar_yield": 0.2, "solar_latitude": 36.8, "solar_longitude": -119.8}
    at_site = {f"sites.fresno.{key}": value for key, value in sun.items()}
    plan = plan_fleet(with_changes(parse_scenario(TEXT), CONTRACT | at_site), baselines=False)
    assert plan.answer.solution is not None
    (found,) = site_uses(plan, plan.answer.solution)
    used = float((found.hours * found.used_kw).sum())
    assert used > 5_000
    saved_kg = plain.kgco2e - plan.answer.solution.kgco2e
    assert abs(saved_kg) < 0.02 * used * float(plan.inputs.grid[0].value)
    price = float(plan.inputs.electricity[0].value)
    assert plain.usd - plan.answer.solution.usd == pytest.approx(used * (price + 0.004), rel=0.02)


@pytest.mark.nightly
def test_what_levers_take_is_explained_down_to_facts() -> None:
    plan = planned(tuple(ALL))
    carbon = explain(plan.ledger.kgco2e_terms["resting_kgco2e"]).to_text()
    assert "accelerator.h100-sxm-80gb.loaded_idle_power" in carbon
    assert "planning.slots.wear" in explain(plan.ledger.usd_terms["resting_usd"]).to_text()
    assert "Hours: replicas that rest" in str(document()["tables"]["cost"])


@pytest.mark.parametrize("table", ["hours", "levers"])
def test_every_number_by_the_hour_is_opened_to_itself(table: str) -> None:
    """Energy to the power of its load, nodes to what was decided, savings to two operations of the fleet."""
    rows = document()["tables"][table]
    for row in rows:
        for key in [key for key, value in row.items() if is_number(value)]:
            found = cell_explanation(document(), table, row, key)
            assert found is not None, (table, key)
            assert found.steps[0].value == pytest.approx(row[key], rel=1e-9, abs=1e-9), (table, key)
            equations_hold(found)
    energy = cell_explanation(document(), "hours", document()["tables"]["hours"][0], "energy_kwh")
    if table == "hours":
        assert energy is not None
        assert "accelerator.h100-sxm-80gb.loaded_idle_power" in {fact.name for fact in energy.facts()}


def test_an_hour_opens_the_power_of_its_own_slot() -> None:
    """Each slot has the load and the grid of its hours: what is opened is of that slot."""
    rows = hour_records(planned(tuple(ALL)), planned(tuple(ALL)).answer.solution)  # type: ignore[arg-type]
    served = [
        {step.name: step.value for step in explain(row["energy_kwh"]).steps}["served_slot_kwh"]
        for row in rows
    ]
    assert len(set(served)) > SLOTS_A_DAY
    grids = [explain(row["grid_kgco2e_per_kwh"]).steps[0].value for row in rows]
    assert grids == [row["grid_kgco2e_per_kwh"].value for row in rows]


def test_energy_by_hour_adds_up_to_the_ledger() -> None:
    """Slot by slot each node has one state, and all slots draw what the plan draws."""
    plan = planned(tuple(ALL))
    solution = plan.answer.solution
    assert solution is not None
    rows = plain_rows(hour_records(plan, solution))
    assert len(rows) == 2 * SLOTS_A_DAY
    assert sum(row["energy_kwh"] for row in rows) == pytest.approx(plan.ledger.energy.value, rel=1e-9)
    for row in rows:
        assert sum(row[state] for state in STATES) == pytest.approx(float(solution.in_service.sum()))
        assert all(row[state] >= -1e-6 for state in STATES)
    rows_of_all = rows
    alone = planned(("shift",)).answer.solution
    assert alone is not None
    rows = plain_rows(hour_records(planned(("shift",)), alone))
    grid, days = ([row[name] for row in rows] for name in ("grid_kgco2e_per_kwh", "days"))
    pools = np.average(grid, weights=[row["pool_nodes"] * row["days"] for row in rows])
    assert pools < np.average(grid, weights=days) - 0.005
    assert hour_records(planned(), planned().answer.solution) == []  # type: ignore[arg-type]
    picture = PLAN_PICTURES["hours"]({"tables": {"hours": rows_of_all}})
    assert picture is not None
    assert "fresno, 2027 Q2, days of type 2: most at " in picture.alt
    said = " ".join(hour_sentences(plan, solution))
    assert "replicas that rest save" in said
    assert "of the work of the pools" in said


@pytest.mark.nightly
def test_each_lever_says_what_it_brings_on_the_same_fleet() -> None:
    """Left out of all, or alone: no lever makes the objective larger; the document has the table."""
    plan = planned(tuple(ALL))
    solution = plan.answer.solution
    assert solution is not None
    rows = {row["lever"]: row for row in plain_rows(lever_records(plan, solution))}
    assert list(rows) == ALL
    price = 0.5  # USD/kgCO2e of the scenario
    for row in rows.values():
        assert row["saved_usd"] + price * row["saved_kgco2e"] >= -1.0
        assert row["alone_saved_usd"] + price * row["alone_saved_kgco2e"] >= -1.0
    assert rows["pack"]["alone_saved_kgco2e"] > 5000
    assert rows["pack"]["saved_kgco2e"] > 5000
    assert rows["lend"]["alone_saved_kgco2e"] < 1000
    assert lever_records(planned(), planned().answer.solution) == []  # type: ignore[arg-type]


def test_a_flat_load_meets_the_mean_of_the_grid() -> None:
    """The annual factor stays: a service that is the same at all hours has the carbon of the period."""
    flat = {"services__chat__mean_to_peak": 1.0}
    plain, slots = (
        assemble(inputs_of(scenario(**flat, **more))).problem.serve_options.kgco2e
        for more in ({}, {"policy__levers": ALL})
    )
    assert slots == pytest.approx(plain, rel=1e-9)


def test_a_load_of_sunny_hours_emits_less_than_one_of_the_night() -> None:
    """Noon in California is 20 h in UTC; energy and money are the same at any hour."""
    noon, night = (
        assemble(inputs_of(scenario(policy__levers=ALL, services__chat__busiest_time=hour))).problem
        for hour in ("20 h", "8 h")
    )
    assert (noon.serve_options.kgco2e < 0.97 * night.serve_options.kgco2e).all()
    assert noon.serve_options.kwh == pytest.approx(night.serve_options.kwh)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"policy__levers": ["shove"]}, "policy.levers"),
        ({"policy__levers": ["lend"]}, '"lend" needs "pack"'),
        ({"policy__levers": ALL, "solve__slots": 7}, "no whole number of days of 12 parts"),
        ({"policy__levers": ALL, "sites__fresno__hourly_shape": "gb-2011"}, "there is no series 'gb-2011'"),
        ({"policy__levers": ALL, "sites__fresno__price_shape": "mine"}, "there is no series 'mine'; a file"),
        ({"pools__search__window": "year"}, "pools.search.window"),
        (CONTRACT | {"contracts.wind.profile": "sun"}, "needs profile_latitude and profile_longitude"),
        (CONTRACT | {"contracts.wind.profile": "wind"}, "there is no series 'wind'; there are flat, sun"),
        ({"services__chat__busiest_time": "25 h"}, "services.chat.busiest_time"),
    ],
)
def test_what_is_written_wrongly_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError) as found:
        scenario(**changes)
    assert said in str(found.value)


def hours_file(folder: Path, header: str = "time,gco2e_per_kwh") -> Scenario:
    """A scenario in a folder with a file of hours: clean from 8 to 18 h every day of a year."""
    times = np.datetime64("2025-01-01T00") + np.arange(8760)
    clock = np.arange(8760) % 24
    lines = [f"{time}:00Z,{100 if 8 <= hour < 18 else 500}" for time, hour in zip(times, clock, strict=True)]
    (folder / "hours.csv").write_text("\n".join([header, *lines]) + "\n")
    text = TEXT.replace('grid = "us-camx"', 'hourly = "hours.csv"').replace(
        "[policy]", '[policy]\nlevers = ["shift"]'
    )
    path = folder / "mine.toml"
    path.write_text(text)
    return load_scenario(path)


@pytest.mark.nightly
def test_hours_of_ones_own_are_kept_with_the_scenario(tmp_path: Path) -> None:
    """The level of the file and its shape; changed values and a bundle keep both."""
    own = hours_file(tmp_path)
    assert own.sites[0].hourly_shape == "hours.csv"
    for one in (own, with_changes(own, {"policy.carbon_price": "100 USD/t"})):
        times = slot_times(inputs_of(one))
        assert times is not None
        assert "hours as in hours.csv of 2025, measured" in times.notes[0]
        ratio = times.grid.fixed[0].value[:SLOTS_A_DAY]
        assert ratio[4:9] == pytest.approx(100.0 / (14 * 500 / 24 + 10 * 100 / 24))
    with restored(keep(own)) as again:
        assert again == own
        assert again.shapes.grids["hours.csv"].mean_kgco2e_per_kwh == pytest.approx(1 / 3, rel=1e-9)


JOB = """
[[training]]
name = "tune"
model = "llama-3-8b"
tokens = 2e10
sequence_tokens = 4096
batch_tokens = 1e6
precision = "bf16"
deadline = {deadline}
nodes = [4]
checkpoint_storage = "parallel-fs"
pausable = true
"""


@pytest.mark.parametrize(("deadline", "cleanest"), [("2027-05-01", 500.0), ("2027-07-01", 100.0)])
def test_a_pausable_job_meets_the_hours_before_its_deadline(
    tmp_path: Path, deadline: str, cleanest: float
) -> None:
    """A grid that is clean from May on is of no use to what has to be done by then."""
    times = np.datetime64("2025-01-01T00") + np.arange(8760)
    lines = [f"{time}:00Z,{100 if time >= np.datetime64('2025-05-01T00') else 500}" for time in times]
    (tmp_path / "hours.csv").write_text("\n".join(["time,gco2e_per_kwh", *lines]) + "\n")
    path = tmp_path / "mine.toml"
    text = TEXT.replace('grid = "us-camx"', 'hourly = "hours.csv"').replace(
        "[policy]", '[policy]\nlevers = ["shift"]'
    )
    path.write_text(text.replace("[reliability]", JOB.format(deadline=deadline) + "[reliability]"))
    inputs = inputs_of(load_scenario(path))
    found = slot_times(inputs)
    assert found is not None
    met = found.of_jobs[0].grid if found.of_jobs else found.grid.period
    ratio, share = np.asarray(met[0].value), found.slot_fraction.value[0, 0]  # type: ignore[index]
    mean = (30 * 500 + 61 * 100) / 91
    assert (ratio * mean).min() == pytest.approx(cleanest)
    assert (ratio * mean) @ share == pytest.approx(500.0 if cleanest == 500 else mean)
    options = assemble(inputs).problem.pausable_options
    window_h = 24.0 * (np.datetime64(deadline) - np.datetime64("2027-04-01")).astype(int)
    assert (options.node_hours_limit <= options.nodes[:, None] * window_h).all()


def test_hours_of_a_window_are_its_own_curve() -> None:
    """Ten of thirty days: the best slots have the best hours of these days; with all days, those of all."""
    rng = np.random.default_rng(4)
    hours = rng.uniform(0.1, 0.6, 30 * 24)
    one = {
        "hours_ratio": hours,
        "signal_ratio": hours,
        "days": np.arange(30.0),
        "day_type": np.zeros(30),
        "slots_a_day": 12.0,
        "types": 1.0,
        "known_fraction": 1.0,
    }
    inside = np.arange(30) < 10
    found = window_slot_ratio(**one, within_ratio=inside.astype(float))  # type: ignore[arg-type]
    curve = np.sort(hours[: 10 * 24]).reshape(12, -1).mean(axis=1) / hours.mean()
    assert np.sort(found) == pytest.approx(curve)
    whole = window_slot_ratio(**one, within_ratio=np.ones(30))  # type: ignore[arg-type]
    assert whole == pytest.approx(period_slot_ratio(**one))  # type: ignore[arg-type]


def test_hours_are_read_only_where_a_lever_needs_them(tmp_path: Path) -> None:
    own = hours_file(tmp_path)
    assert not with_changes(own, {"policy.levers": None}).shapes.names


def prices_file(folder: Path, changes: dict[str, Any] | None = None, cheap: float = 20.0) -> Scenario:
    """A scenario in a folder with prices of a year: 120 USD/MWh, and less from 8 to 18 h."""
    times = np.datetime64("2025-01-01T00") + np.arange(8760)
    lines = [f"{time}:00Z,{cheap if 8 <= i % 24 < 18 else 120}" for i, time in enumerate(times)]
    (folder / "prices.csv").write_text("\n".join(["time,price (USD/MWh)", *lines]) + "\n")
    path = folder / "mine.toml"
    path.write_text(
        TEXT.replace('grid = "us-camx"', 'grid = "pl"\nelectricity_price = "prices.csv"').replace(
            "[policy]", '[policy]\nlevers = ["shift", "pack"]'
        )
    )
    return with_changes(load_scenario(path), changes or {})


def test_prices_by_the_hour_move_work_and_sum_to_the_bill(tmp_path: Path) -> None:
    """On a flat grid pools go to cheap hours; what is the same at all hours pays the mean of the file."""
    own = prices_file(tmp_path, {"solve.gap": "1 %"})
    (paid,) = own.sites[0].electricity_price_usd_per_kwh or ()
    assert paid == pytest.approx((14 * 0.12 + 10 * 0.02) / 24, rel=1e-5)
    plan = plan_fleet(own, baselines=False)
    times, solution = slot_times(plan.inputs), plan.answer.solution
    assert times is not None
    assert solution is not None
    for column in (times.price.fixed, times.price.day, times.price.period):
        assert (times.slot_fraction.value[0, 0] * column[0].value).sum() == pytest.approx(1.0)
    assert "prices by the hour as in prices.csv of 2025" in times.notes[1]
    rows = plain_rows(hour_records(plan, solution))
    cheap = [row for row in rows if row["electricity_usd_per_kwh"] < 0.05]
    dear = [row for row in rows if row["electricity_usd_per_kwh"] > 0.1]
    pools = [np.mean([row["pool_nodes"] for row in some]) for some in (cheap, dear)]
    assert pools[0] > 1.3 * pools[1]
    assert plan.ledger.usd_terms["shifted_usd"].value < 0
    assert plan.ledger.usd_terms["shifted_usd"].value == pytest.approx(solution.usd_terms.shift.sum())
    assert plan.ledger.cost.value == pytest.approx(solution.usd, rel=1e-9)


def test_a_file_by_flag_says_that_its_hours_do_not_count(tmp_path: Path) -> None:
    own = prices_file(tmp_path)
    content = (tmp_path / "prices.csv").read_bytes()
    for levers, said in ((["shift"], True), (None, False)):
        found = prices_found("prices.csv", content, with_changes(own, {"policy.levers": levers}), "fresno")
        assert any("price_shape" in note for note in found.notes) == said


def test_a_flat_price_is_worth_nothing(tmp_path: Path) -> None:
    """Hours that are all alike leave the coefficients of the program as they are without any."""
    own = prices_file(tmp_path, cheap=120.0)
    one, other = (
        assemble(inputs_of(scenario)).problem
        for scenario in (own, with_changes(own, {"sites.fresno.price_shape": None}))
    )
    assert not one.work_shifts.usd_per_node_h.any()
    assert one.serve_options.usd == pytest.approx(other.serve_options.usd, rel=1e-12)
    assert one.resting.rest_usd.sum(axis=2) == pytest.approx(other.resting.rest_usd.sum(axis=2), rel=1e-9)


@pytest.mark.nightly
def test_where_price_and_grid_differ_hours_are_judged_by_what_both_weigh(tmp_path: Path) -> None:
    """A high price of carbon puts the cleanest hours first, money alone the cheapest."""
    sunny = {"sites.fresno.grid": "us-camx", "sites.fresno.hourly_shape": "synthetic-us-camx"}
    spread = []
    for objective_ in (
        {"policy.objective": "money", "policy.carbon_price": None},
        {"policy.carbon_price": "90 USD/kg"},
    ):
        times = slot_times(inputs_of(prices_file(tmp_path, sunny | objective_)))
        assert times is not None
        spread.append([float(np.ptp(one.period[0].value)) for one in (times.price, times.grid)])
    assert spread[0][0] > spread[1][0]
    assert spread[0][1] < spread[1][1]


def test_work_that_is_lent_counts_once() -> None:
    """What pools do on nodes of their own and on lent ones is their demand."""
    plan = planned(tuple(ALL))
    solution, problem = plan.answer.solution, plan.problem
    assert solution is not None
    own = account.totals_by(
        problem.work_options.work,
        len(problem.work),
        problem.work_options.speed[:, None] * solution.work_node_h,
    )
    lent = account_slots.lent_work_h(problem, solution)
    assert lent.sum() > 0
    assert own + lent == pytest.approx(problem.work.demand_h, rel=1e-6)


def test_a_plan_by_period_is_a_plan_of_its_slots() -> None:
    """The search begins with it: no rule of slots is broken by what is the same at all hours."""
    from solver.verify import verify

    plain, slots = planned(), planned(("shift",))
    assert plain.answer.solution is not None
    assert not [
        found
        for found in verify(slots.problem, dataclasses.replace(plain.answer.solution, slots=None), 1e-6)
        if "terms" not in found.rule
    ]


@pytest.mark.parametrize(
    ("usd", "kgco2e", "said"),
    [
        (-500.0, -2000.0, "saves 2.00 tCO2e and 500 USD"),
        (20.0, -2000.0, "saves 2.00 tCO2e for 20.0 USD more"),
        (-11.9, 102.0, "saves 11.9 USD for 102 kgCO2e more"),
        (11.9, 102.0, "saves nothing and takes 102 kgCO2e and 11.9 USD more"),
    ],
)
def test_what_hours_save_is_no_negative_saving(usd: float, kgco2e: float, said: str) -> None:
    assert saving_said("work that moves saves", usd, kgco2e) == f"work that moves {said}"
