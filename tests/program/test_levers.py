"""Levers of a scenario: what operation decides by the hour, and that nothing changes where it may not."""

from __future__ import annotations

import dataclasses
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explained import equations_hold

from benchmarks.studies.hours import SERVICE_AND_POOL
from planner.answers.plan.cells import cell_explanation
from planner.answers.plan.document import plan_document
from planner.answers.plan.hours import STATES, hour_records, hour_sentences, lever_records
from planner.inputs.catalogue import load_catalogue
from planner.inputs.consistency import with_cards
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, ScenarioError, load_scenario, parse_scenario, with_changes
from planner.inputs.scenario.bundle import keep, restored
from planner.inputs.series import load_series
from planner.physics.equations.serving import day_loads_per_s
from planner.physics.equations.slots import awake_kw, clock_load_fraction
from planner.physics.slots import SLOTS_A_DAY, slot_times
from planner.program.assembly import assemble
from planner.program.plan import Plan, plan_fleet
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
{SERVICE_AND_POOL}[solve]
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


def test_a_site_whose_hours_nobody_knows_is_flat_and_says_so() -> None:
    """Moving work on a flat grid is worth nothing: the plan is that of the period."""
    elsewhere = {"sites__fresno__grid": "pl", "policy__levers": ["shift"]}
    assert slot_times(inputs_of(scenario(**elsewhere))) is None
    packs = slot_times(inputs_of(scenario(**(elsewhere | {"policy__levers": ["pack"]}))))
    assert packs is not None
    assert packs.notes == ("fresno: no hours of its grid are known, so its grid is taken as flat.",)
    assert (packs.fixed_ratio[0].value == 1).all()


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
    by_clock = times.fixed_ratio[0].value.reshape(2, 12)
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
        ({"policy__levers": ALL, "policy__accounting": "market"}, 'write accounting = "location"'),
        ({"policy__levers": ALL, "solve__slots": 7}, "no whole number of days of 12 parts"),
        ({"policy__levers": ALL, "sites__fresno__hourly_shape": "gb-2011"}, "there is no series 'gb-2011'"),
        ({"pools__search__window": "year"}, "pools.search.window"),
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


def test_hours_of_ones_own_are_kept_with_the_scenario(tmp_path: Path) -> None:
    """The level of the file and its shape; changed values and a bundle keep both."""
    own = hours_file(tmp_path)
    assert own.sites[0].hourly_shape == "hours.csv"
    for one in (own, with_changes(own, {"policy.carbon_price": "100 USD/t"})):
        times = slot_times(inputs_of(one))
        assert times is not None
        assert "hours as in hours.csv of 2025, measured" in times.notes[0]
        ratio = times.fixed_ratio[0].value[:SLOTS_A_DAY]
        assert ratio[4:9] == pytest.approx(100.0 / (14 * 500 / 24 + 10 * 100 / 24))
    with restored(keep(own)) as again:
        assert again == own
        assert again.shapes["hours.csv"].mean_kgco2e_per_kwh == pytest.approx(1 / 3, rel=1e-9)


def test_hours_are_read_only_where_a_lever_needs_them(tmp_path: Path) -> None:
    own = hours_file(tmp_path)
    assert not with_changes(own, {"policy.levers": None}).shapes


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
