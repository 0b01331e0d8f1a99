"""Regions of users with a trace each: their hours by plain sums, and a plan that carries all of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from planner.inputs.loading import load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, ScenarioError, load_scenario
from planner.inputs.scenario.bundle import keep
from planner.physics.day_loads import day_loads, region_loads
from planner.physics.equations.slots import (
    mixed_hours_ratio,
    ready_load_fraction,
    traced_load_fraction,
    traced_region_load_fraction,
)
from planner.program.assembly import assemble
from planner.program.plan import plan_fleet
from planner.program.solution import carried_by_option
from solver import regions

CATALOGUE = load_catalogue()
TEXT = """
title = "users in two countries"
[horizon]
start = 2027-01-01
periods = 1
period = "month"
[[sites]]
name = "near"
region = "aws/eu-central-1"
power_cap = "5 MW"
racks = 100
space = "owned"
[[sites]]
name = "north"
region = "aws/eu-north-1"
power_cap = "5 MW"
racks = 100
space = "owned"
[[market]]
sku = "h100-8"
lead_time = "0 d"
[reliability]
failures = "meta-rsc-2"
restart = "10 min"
repair = "5 d"
spare_confidence = 0.9
[policy]
objective = "money"
discount_rate = 0.08
node_life = "5 y"
{levers}
[[services]]
name = "chat"
model = "llama-3.1-70b"
precision = "bf16"
tokens_in = 1000
tokens_out = 200
peak_rate = "60 /s"
mean_to_peak = {mean}
first_token = "900 ms"
per_token = "60 ms"
availability = 0.99
[[services.regions]]
users = "de"
share = 0.6
traffic_shape = "de.csv"
{de}
[[services.regions]]
users = "se"
share = 0.4
traffic_shape = "se.csv"
{se}
"""
DAYS = 3
Write = Callable[..., Path]


def counts(peak_h: int, seed: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Requests in each hour of some days, most of them around one hour."""
    apart = np.abs((np.arange(24) - peak_h + 12) % 24 - 12)
    noise = np.random.default_rng(seed).uniform(0.8, 1.25, (DAYS, 24))
    return np.round(1000 * np.exp(-apart / 4.0) * noise) + 20


HOURS = {"de": counts(18, 1), "se": counts(7, 2)}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes the scenario and its traces; texts of them may be replaced."""

    def written(text: str = TEXT, *, levers: str = "", mean: float = 0.4, de: str = "", se: str = "") -> Path:
        for name, hours in HOURS.items():
            start = np.datetime64("2026-03-01T00:00")
            held = [*hours.ravel(), 1]
            lines = [f"{start + i * np.timedelta64(60, 'm')},{n:.0f}" for i, n in enumerate(held)]
            (tmp_path / f"{name}.csv").write_text("\n".join(["timestamp,requests", *lines]) + "\n")
        path = tmp_path / "mine.toml"
        path.write_text(text.format(levers=levers, mean=mean, de=de, se=se))
        return path

    return written


def read(path: Path) -> Inputs:
    found: Scenario = load_scenario(path)
    return Inputs(found, CATALOGUE)


def test_the_hours_of_each_region_by_plain_sums(write: Write) -> None:
    """Of each part of a day the mean of all, and the highest hour of each, in loops over days and hours."""
    inputs = read(write(levers='levers = ["pack"]', mean=0.3))
    (service,) = inputs.scenario.services
    found = region_loads(inputs, service)
    assert found is not None
    mean, ready, notes = day_loads(inputs)
    share = {"de": 0.6, "se": 0.4}
    # The first hour and the last one of a trace may be cut short, and are left out.
    cut = {name: np.where(np.arange(DAYS * 24) == 0, np.nan, one.ravel()) for name, one in HOURS.items()}
    day = {name: one.reshape(DAYS, 24) for name, one in cut.items()}
    ratio = {name: np.nanmean(one, axis=0) / np.nanmean(one, axis=0).mean() for name, one in day.items()}
    most = {name: np.nanmax(one, axis=0) / np.nanmean(one, axis=0).mean() for name, one in day.items()}
    on_mean = [
        sum(share[name] * (ratio[name][h] + ratio[name][h + 1]) / 2 for name in share)
        for h in range(0, 24, 2)
    ]
    # The trace is as peaked as 0.3 says where no part is at the peak: all in proportion.
    scale = 0.3 / (sum(on_mean) / 12)
    assert scale * max(on_mean) < 1
    wanted = np.array(
        [[scale * share[name] * max(most[name][h : h + 2]) for h in range(0, 24, 2)] for name in share]
    )

    assert np.asarray(mean.value)[0] == pytest.approx(np.array(on_mean) * scale)
    below = wanted.sum(axis=0) <= 1
    assert np.asarray(found.value)[:, below] == pytest.approx(wanted[:, below])
    assert np.asarray(ready.value)[0] == pytest.approx(np.minimum(1.0, wanted.sum(axis=0)))
    assert notes == ("chat: requests by the hour as in the trace of each region.",)
    assert {"de.csv", "se.csv"} <= keep(inputs.scenario).files.keys()


def test_regions_with_one_trace_are_ready_for_what_that_trace_says() -> None:
    """Split by their shares; together as `ready_load_fraction` has it for a service without regions."""
    mean = HOURS["de"].mean(axis=0) / HOURS["de"].mean()
    most = HOURS["de"].max(axis=0) / HOURS["de"].mean()
    shares = np.array([0.7, 0.2, 0.1])
    mixed = mixed_hours_ratio(share_fraction=shares, hours_ratio=np.stack([mean] * 3))
    load = traced_load_fraction(mean_to_peak_fraction=0.5, hours_ratio=mixed, slots_a_day=12)
    each = traced_region_load_fraction(
        load_fraction=load,
        share_fraction=shares,
        mean_ratio=np.stack([mean] * 3),
        most_ratio=np.stack([most] * 3),
        slots_a_day=12,
    )
    whole = ready_load_fraction(load_fraction=load, mean_ratio=mean, most_ratio=most, slots_a_day=12)

    assert mixed == pytest.approx(mean)
    assert each == pytest.approx(shares[:, None] * whole)


def can_be_dealt(carried: Any, answers: Any, wanted: Any) -> bool:
    """Whether requests of each region [R] can go to options that answer it, none beyond what it carries."""
    pairs = [(r, v) for r in range(len(wanted)) for v in range(len(carried)) if answers[v] >> r & 1]
    sent, taken = np.zeros((len(wanted), len(pairs))), np.zeros((len(carried), len(pairs)))
    for column, (r, v) in enumerate(pairs):
        sent[r, column] = taken[v, column] = 1.0
    found = linprog(np.zeros(len(pairs)), A_ub=taken, b_ub=carried + 1e-6, A_eq=sent, b_eq=wanted)
    return bool(found.status == 0)


def test_rows_of_sets_hold_exactly_where_every_part_of_a_day_can_be_dealt(write: Write) -> None:
    """Against trying to deal the requests of each part, for replicas of all sizes drawn at random."""
    inputs = read(write(de='sites = ["near"]'))
    problem = assemble(inputs).problem
    loads = region_loads(inputs, inputs.scenario.services[0])
    assert loads is not None
    by_part = np.asarray(loads.value) / np.asarray(loads.value).sum(axis=0).max()
    options, demand = problem.serve_options, problem.services.demand[0, 0]
    service, answers, share = regions.columns(problem)
    draws = np.random.default_rng(3)
    seen = set()
    for _ in range(60):
        carried = draws.dirichlet(np.full(len(options), 0.5)) * demand * draws.uniform(0.9, 2.2)
        rows = carried.sum() >= demand and all(
            carried[mine & (options.service == i)].sum() >= part * demand
            for i, mine, part in zip(service, answers, share, strict=True)
        )
        parts = all(can_be_dealt(carried, options.regions, demand * part) for part in by_part.T)
        assert rows == parts
        seen.add(rows)
    assert seen == {True, False}


@pytest.mark.solve
def test_a_plan_carries_each_region_in_its_own_hours(write: Write) -> None:
    """Each at its own site: enough in its busiest hours, and one replica fewer would not be."""
    inputs = read(write(de='sites = ["near"]', se='sites = ["north"]'))
    plan = plan_fleet(inputs.scenario, baselines=False)
    solution = plan.answer.solution
    assert solution is not None
    problem, (service,) = plan.problem, inputs.scenario.services
    loads = region_loads(inputs, service)
    assert loads is not None
    busiest = np.asarray(loads.value).max(axis=1) / np.asarray(loads.value).sum(axis=0).max()
    carried, site = carried_by_option(problem, solution.replicas)[:, 0], problem.node_groups.site
    at = site[problem.serve_options.node_group]
    each = [float(carried[at == place].sum()) for place in (0, 1)]

    assert busiest.sum() > 1.15  # they peak apart
    for place, (has, part) in enumerate(zip(each, busiest, strict=True)):
        used = carried[(at == place) & (carried > 0)]
        least = float((used / solution.replicas[(at == place) & (carried > 0), 0]).min())
        assert part * 60 * (1 - 1e-6) <= has < part * 60 + least


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"de.csv"', '"none.csv"', "regions[0].traffic_shape: there is no file 'none.csv'"),
        ('"de.csv"', '"azure"', "regions[0].traffic_shape: there is no series 'azure'; a file ends in .csv"),
        ('traffic_shape = "se.csv"', "", "regions[1].traffic_shape: is missing, and others state it"),
        (
            'traffic_shape = "se.csv"',
            'busiest_time = "9 h"',
            "regions: busiest_time and traffic_shape both say when they come: state one in each",
        ),
        (
            "availability = 0.99",
            'availability = 0.99\nbusiest_time = "9 h"',
            "busiest_time: says when requests come, as traffic_shape of the regions does: keep one",
        ),
    ],
)
def test_traces_of_regions_that_do_not_fit_are_refused_in_one_line(
    write: Write, old: str, new: str, said: str
) -> None:
    from planner.answers.check import checked_scenario

    with pytest.raises(ScenarioError) as refused:
        checked_scenario(write(TEXT.replace(old, new)))

    (problem,) = refused.value.problems
    assert f"{problem.path}: {problem.message}".startswith(f"services.chat.{said}")
