"""Data of a pool that lie at one site: what work elsewhere pays for them, by money and by carbon."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from planner.answers.plan.whole_ledger import whole_ledger
from planner.inputs.loading import load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, ScenarioError, parse_scenario
from planner.inputs.unstated import unstated_notes
from planner.program.assembly import assemble
from planner.program.plan import Plan, plan_fleet
from solver.account_slots import worked_h

TEXT = """
title = "Work at two sites, its data at one"
[horizon]
start = 2027-01-01
periods = 1
period = "quarter"
[[sites]]
name = "dirty"
grid_intensity = "600 g/kWh"
electricity_price = "60 USD/MWh"
pue = 1.1
power_cap = "900 kW"
racks = 40
{price}
[[sites]]
name = "clean"
grid_intensity = "100 g/kWh"
electricity_price = "60 USD/MWh"
pue = 1.1
power_cap = "900 kW"
racks = 40
[[fleet]]
sku = "h100-8"
site = "dirty"
nodes = 6
in_service = 2025-01-01
[[fleet]]
sku = "h100-8"
site = "clean"
nodes = 6
in_service = 2025-01-01
[[services]]
name = "chat"
model = "llama-3-8b"
precision = "bf16"
tokens_in = 500
tokens_out = 200
peak_rate = "40 /s"
mean_to_peak = 0.5
first_token = "2 s"
per_token = "60 ms"
availability = 0.99
[[pools]]
name = "tuning"
model = "llama-3-8b"
reference = "h100-8"
gpu_time = "60000 h"
{data}
[reliability]
failures = "meta-rsc-1"
restart = "10 min"
repair = "2 d"
spare_confidence = 0.9
[policy]
objective = "carbon"
retirement = "none"
discount_rate = 0.08
node_life = "5 y"
levers = ["shift", "pack", "lend"]
[solve]
slots = 12
"""
DATA = 'data_site = "dirty"\ndata_moved = "{amount}"'


def scenario(amount: str = "", price: str = "") -> Scenario:
    return parse_scenario(TEXT.format(data=DATA.format(amount=amount) if amount else "", price=price))


@cache
def planned(amount: str = "") -> Plan:
    return plan_fleet(scenario(amount), baselines=False)


def test_work_elsewhere_pays_for_what_it_moves_and_work_at_home_does_not() -> None:
    """40 GB an hour at 0.03 USD, and 0.001 kWh each by the mean of both grids."""
    plain, data = (
        assemble(Inputs(one, load_catalogue())).problem
        for one in (scenario(), scenario("40 GB", 'egress_price = "0.03 USD/GB"'))
    )
    at_home = data.node_groups.site[data.work_options.node_group] == 0
    usd, kgco2e = (
        getattr(data.work_options, name) - getattr(plain.work_options, name)
        for name in ("usd_per_node_h", "kgco2e_per_node_h")
    )
    assert usd[:, 0] == pytest.approx(np.where(at_home, 0.0, 40 * 0.03))
    assert kgco2e[:, 0] == pytest.approx(np.where(at_home, 0.0, 40 * 0.001 * 0.35))
    lent = data.work_shifts.lent_usd_per_node_h - plain.work_shifts.lent_usd_per_node_h
    slower = data.work_shifts.lent_speed_fraction[:, None]
    assert lent[:, 0] == pytest.approx(np.where(at_home[:, None], 0.0, slower * 40 * 0.03) * np.ones(12))


def share_away(amount: str) -> float:
    """Share of the work that is done away from its data."""
    plan = planned(amount)
    assert plan.answer.solution is not None
    done = worked_h(plan.problem, plan.answer.solution).sum(axis=1)
    site = plan.problem.node_groups.site[plan.problem.work_options.node_group]
    return float(done[site == 1].sum() / done.sum())


def test_data_that_are_few_do_not_hold_work_and_many_keep_it_at_home() -> None:
    """By carbon: 500 g of difference for some 6 kWh an hour, against 0.35 g for each GB moved."""
    assert share_away("1 GB") > 0.9
    assert share_away("60 TB") < 0.1


def test_the_ledger_has_a_line_for_what_moves() -> None:
    plan = planned("1 GB")
    solution = plan.answer.solution
    assert solution is not None
    site = plan.problem.node_groups.site[plan.problem.work_options.node_group]
    hours = float(solution.work_node_h[site == 1].sum())
    slots = solution.slots
    assert slots is not None
    slower = plan.problem.work_shifts.lent_speed_fraction[:, None]
    lent = slower * np.einsum("oty,yt->ot", slots.lent, plan.problem.slots.hours)
    hours += float(lent[site == 1].sum())
    assert plan.ledger.usd_terms["egress_usd"].value == pytest.approx(0.02 * hours, rel=1e-6)
    assert plan.ledger.kgco2e_terms["egress_kgco2e"].value == pytest.approx(0.001 * 0.35 * hours, rel=1e-6)
    assert plan.ledger.cost.value == pytest.approx(solution.usd, rel=1e-9)
    line = whole_ledger(plan, solution).of("data moved between sites")
    assert line is not None
    assert line.value == plan.ledger.kgco2e_terms["egress_kgco2e"].value


def test_what_is_half_stated_is_refused_and_a_price_that_is_not_stated_is_told() -> None:
    with pytest.raises(ScenarioError, match="data_site: needs data_moved next to it"):
        parse_scenario(TEXT.format(data='data_site = "dirty"', price=""))
    with pytest.raises(ScenarioError, match="'home' is no site here"):
        parse_scenario(TEXT.format(data='data_site = "home"\ndata_moved = "1 GB"', price=""))
    (said,) = unstated_notes(scenario("1 GB"), load_catalogue())
    assert "data that leave dirty (0.02 USD/GB: sites.dirty.egress_price)" in said
    assert "data that leave" not in unstated_notes(scenario(), load_catalogue())[0]
