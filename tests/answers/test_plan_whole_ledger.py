"""The whole ledger of a plan: the lines of a job, each once, by scope, next to what the plan minimises."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from test_plan_contracts import with_contracts

from planner.answers.job.footprint import Footprint, footprint_of
from planner.answers.job.setting import setting_of
from planner.answers.plan.whole_ledger import (
    WholeLedger,
    ledger_records,
    ledger_sentences,
    scope_records,
    water_records,
    whole_ledger,
)
from planner.inputs.consistency import check_scenario
from planner.inputs.job.reading import read_job
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import ScenarioError, load_scenario, with_changes
from planner.physics.surroundings import storage_share
from planner.program.plan import Plan, plan_fleet
from planner.trace.numbers import mass

STORED = {"sites.stockholm.storage": "40 TB", "sites.stockholm.wue": "0.2 L/kWh"}
ONE_SKU = {"market": [{"sku": "h100-8", "lead_time": "0 d", "order_nodes": 1}]}


def by_market(changes: dict[str, Any]) -> tuple[Plan, WholeLedger]:
    """The same, market-based."""
    market = STORED | ONE_SKU | {"policy.accounting": "market"} | changes
    plan = plan_fleet(
        with_changes(load_scenario(data_folder() / "scenarios" / "one-training-job.toml"), market),
        baselines=False,
    )
    assert plan.answer.solution is not None
    return plan, whole_ledger(plan, plan.answer.solution)


@cache
def planned() -> Plan:
    """One run on new nodes, and 40 TB."""
    scenario = with_changes(
        load_scenario(data_folder() / "scenarios" / "one-training-job.toml"), STORED | ONE_SKU
    )
    return plan_fleet(scenario, baselines=False)


@cache
def ledger() -> WholeLedger:
    plan = planned()
    assert plan.answer.solution is not None
    return whole_ledger(plan, plan.answer.solution)


def line(name: str) -> float:
    found = ledger().of(name)
    assert found is not None, name
    return float(found.value)


@cache
def same_work() -> Footprint:
    """The plan's node-hours and energy as a job: nobody else uses the nodes, which live for five years."""
    plan = planned()
    solution = plan.answer.solution
    assert solution is not None
    node_h = float((solution.in_service * plan.problem.node_groups.hours).sum())
    it_kwh = float(plan.ledger.energy.value) / 1.15
    grid = float(plan.inputs.grid[0].value)
    months = float(sum(plan.inputs.scenario.horizon.hours))
    text = f"""
title = "the same"
[site]
grid_intensity = "{grid!r} kg/kWh"
pue = 1.15
wue = "0.2 L/kWh"
[hardware]
sku = "h100-8"
lifetime = "5 y"
utilisation = 1.0
[training]
accelerator_hours = {8 * node_h!r}
energy = "{it_kwh!r} kWh"
[storage]
amount = "40 TB"
duration = "{months!r} h"
medium = "hdd"
[network]
[building]
[end_of_life]
"""
    return footprint_of(
        setting_of(read_job(tomllib.loads(text), "job.toml", load_catalogue()), load_catalogue())
    )


@pytest.mark.parametrize(
    ("name", "phase", "part"),
    [
        ("electricity of nodes", "training", "operational"),
        ("making of new nodes", "training", "embodied"),
        ("electricity of the network", "network", "operational"),
        ("making of the network", "network", "embodied"),
        ("electricity of storage at stockholm", "storage", "operational"),
        ("making of storage at stockholm", "storage", "embodied"),
        ("building", "building", "embodied"),
        ("end of life", "end_of_life", "embodied"),
    ],
)
def test_a_plan_and_a_job_of_the_same_work_agree(name: str, phase: str, part: str) -> None:
    """Line by line: the same functions on the same facts; electricity with what lies upstream of it."""
    counted: Any = same_work().phase(phase)
    upstream = line(f"upstream of {name}") if part == "operational" else 0.0
    assert line(name) + upstream == pytest.approx(float(getattr(counted, part).value), rel=1e-9)


def test_scope_2_is_what_stations_burn() -> None:
    """Most of Sweden's life-cycle factor is no combustion: 16 % is scope 2, the rest scope 3, category 3."""
    share = load_catalogue().fact("grid.se.direct_fraction").value
    assert 0.1 < share < 0.25
    for what in ("nodes", "the network", "storage at stockholm"):
        burnt, upstream = line(f"electricity of {what}"), line(f"upstream of electricity of {what}")
        assert burnt / (burnt + upstream) == pytest.approx(share, rel=1e-9)
    scopes = {row["scope"]: float(row["whole_kgco2e"].value) for row in scope_records(ledger())}
    assert scopes["2, location-based"] < scopes["3.3, fuel and energy"]


def test_water_is_that_of_the_job() -> None:
    """On site by the energy of computers, at power stations by that at the meter."""
    [row] = water_records(ledger())
    footprint = same_work()
    assert float(row["onsite_l"].value) == pytest.approx(float(footprint.onsite_l.value), rel=1e-9)
    known = float(load_catalogue().fact("water.default.electricity").value)
    meter = float(footprint.facility_kwh.value)
    assert float(row["offsite_l"].value) == pytest.approx(known * meter, rel=1e-9)


def test_minimised_lines_are_the_plan_s_carbon_and_scopes_add_up() -> None:
    """Nothing twice: the lines of the plan are its total, and scopes are all lines."""
    plan, rows = planned(), ledger_records(ledger())
    minimised = sum(float(row["kgco2e"].value) for row in rows if row["minimised"] == "yes")
    assert minimised == pytest.approx(float(plan.ledger.carbon.value), rel=1e-9)
    *scopes, every = scope_records(ledger())
    for column in ("minimised_kgco2e", "around_kgco2e", "whole_kgco2e"):
        assert sum(float(row[column].value) for row in scopes) == pytest.approx(float(every[column].value))
    assert float(every["whole_kgco2e"].value) == pytest.approx(
        sum(float(row["kgco2e"].value) for row in rows)
    )
    assert len({row["line"] for row in rows}) == len(rows)


def test_a_market_based_plan_has_its_contracts_in_its_electricity() -> None:
    """Lines add up to the market-based total, which is what such a plan minimises."""
    plan = with_contracts()
    assert plan.answer.solution is not None
    found = whole_ledger(plan, plan.answer.solution)
    minimised = sum(float(one.kgco2e.value) for one in found.entries if one.minimised)

    assert plan.ledger.location_carbon is not None
    assert minimised == pytest.approx(float(plan.ledger.carbon.value), rel=1e-9)
    electricity = found.entries[0]
    assert electricity.location is not None
    assert float(electricity.location.value) > float(electricity.kgco2e.value)


def test_a_market_based_plan_parts_what_lies_upstream_where_the_grid_stands_in() -> None:
    """Without a residual mix the grid's factor holds, of which so much is burnt; a stated mix stays whole."""
    _, found = by_market({})
    share = load_catalogue().fact("grid.se.direct_fraction").value
    lines = {one.name: one for one in found.entries}
    for what in ("nodes", "the network"):
        burnt, upstream = (
            float(lines[f"{part}electricity of {what}"].kgco2e.value) for part in ("", "upstream of ")
        )
        assert burnt / (burnt + upstream) == pytest.approx(share)
    place = lines["electricity of nodes"].location
    assert place is not None
    assert float(place.value) == pytest.approx(float(lines["electricity of nodes"].kgco2e.value))
    assert {row["scope"] for row in scope_records(found)} >= {"2, market-based", "3.3, fuel and energy"}
    plan, stated = by_market({"sites.stockholm.market_intensity": "50 g/kWh"})
    assert "upstream of electricity of nodes" not in {one.name for one in stated.entries}
    assert "is not stated: all of it stands in scope 2" in " ".join(ledger_sentences(plan, stated))


def test_a_market_based_plan_on_a_grid_of_combustion_says_what_its_factor_leaves_out() -> None:
    """No mix and no contract that emits is stated: the factor is the grid's, and none of one's own."""
    plan, found = by_market({"sites.stockholm.grid": "us-camx"})
    said = " ".join(ledger_sentences(plan, found))
    assert "the factor of the grid is of what stations burn" in said
    assert "your factor" not in said.lower()


def test_an_inventory_takes_the_whole_making_of_what_is_ordered() -> None:
    """By hand: boards and hosts that are ordered; the plan has the share of two quarters of five years."""
    plan, catalogue = planned(), load_catalogue()
    assert plan.answer.solution is not None
    nodes = int(plan.answer.solution.orders.sum())
    each = catalogue.fact("server.hgx-h100.embodied").value + 8 * (
        catalogue.fact("accelerator.h100-sxm-80gb.embodied").value
    )
    said = " ".join(ledger_sentences(plan, ledger()))
    assert nodes * each > 5 * line("making of new nodes")
    assert f"in the year of purchase: {mass(nodes * each)} for the nodes that are ordered here." in said


def test_it_says_what_the_plan_does_not_minimise() -> None:
    said = " ".join(ledger_sentences(planned(), ledger()))
    assert "The total counts" in said
    assert "network, storage, building and end of life of the nodes of your own" in said
    bare = replace(ledger(), entries=tuple(one for one in ledger().entries if "storage" not in one.name))
    assert "network, building and end of life" in " ".join(ledger_sentences(planned(), bare))
    assert "m3 of water on site" in said


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("storage", "40", "unit"),
        ("storage", "0 TB", "out of range"),
        ("storage_medium", "tape", "hdd"),
        ("storage_reads_ratio", "8", "has no effect without storage"),
    ],
)
def test_bad_storage_is_refused_once(key: str, value: str, says: str) -> None:
    scenario = load_scenario(data_folder() / "scenarios" / "one-training-job.toml")
    with pytest.raises(ScenarioError, match=says) as error:
        check_scenario(with_changes(scenario, {f"sites.stockholm.{key}": value}), load_catalogue())
    assert len(error.value.problems) == 1


def test_drives_for_reads_come_on_top_of_those_for_copies() -> None:
    """Eight times the operations of one copy (Zhao et al., ISCA 2022): drives as for eight copies."""
    scenario = with_changes(
        load_scenario(data_folder() / "scenarios" / "one-training-job.toml"),
        {"sites.stockholm.storage": "1 PB"},
    )
    plain, many, few = (
        storage_share(Inputs(with_changes(scenario, changed), load_catalogue()), 0)
        for changed in ({}, *({"sites.stockholm.storage_reads_ratio": one} for one in ("8", "1.5")))
    )

    assert plain is not None
    assert many is not None
    assert few is not None
    copies = float(load_catalogue().fact("job.storage_copies").value)
    assert many.it_kwh.value == pytest.approx(plain.it_kwh.value * 8 / copies)
    assert many.made.value == pytest.approx(plain.made.value * 8 / copies)
    assert few.it_kwh.value == pytest.approx(plain.it_kwh.value)
