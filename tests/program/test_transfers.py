"""Data of runs and services that lie at one site: what moves once, what logs take, and what is refused."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from planner.answers.plan.cells import cell_explanation
from planner.answers.plan.document import plan_document
from planner.answers.plan.whole_ledger import whole_ledger
from planner.inputs.loading import load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, ScenarioError, parse_scenario, with_changes
from planner.program.assembly import assemble
from planner.program.plan import Plan, plan_fleet

TEXT = """
title = "A run and a service at two sites, their data at one"
[horizon]
start = 2027-01-01
periods = 2
period = "quarter"
[[sites]]
name = "dirty"
grid_intensity = "600 g/kWh"
electricity_price = "60 USD/MWh"
egress_price = "0.03 USD/GB"
pue = 1.1
power_cap = "900 kW"
racks = 40
[[sites]]
name = "clean"
grid_intensity = "100 g/kWh"
electricity_price = "60 USD/MWh"
egress_price = "0.05 USD/GB"
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
skus_today = ["h100-8"]
sites_today = ["dirty"]
{service}
[[training]]
name = "tune"
model = "llama-3-8b"
precision = "bf16"
tokens = 6e10
sequence_tokens = 8192
batch_tokens = 4e6
nodes = [2]
checkpoint_storage = "parallel-fs"
earliest = 2027-01-01
deadline = 2027-06-30
{run}
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
"""
RUN = 'data_site = "dirty"\ndata_moved = "40 TB"\n'
SERVICE = 'data_site = "dirty"\ndata_moved = "2 TB"\nlogs_moved = "1 TB/month"\n'


def scenario(*, run: str = "", service: str = "") -> Scenario:
    return parse_scenario(TEXT.format(run=run, service=service))


@cache
def planned(*, run: str = "", service: str = "") -> Plan:
    return plan_fleet(scenario(run=run, service=service), baselines=False)


@pytest.mark.parametrize("pauses", ["", "pausable = true\n"])
def test_a_run_moves_its_data_once_to_the_site_where_it_is_placed(pauses: str) -> None:
    """40,000 GB at 0.03 USD, and 0.001 kWh each by the mean of both grids; at home nothing moves."""
    plain, data = (
        assemble(Inputs(scenario(run=run), load_catalogue())).problem for run in (pauses, RUN + pauses)
    )
    options = data.pausable_options if pauses else data.run_options
    away = data.node_groups.site[options.node_group] == 1
    if pauses:
        usd, kgco2e = (
            (getattr(of, f"{kind}_per_node_h") * of.node_hours[:, None])[:, :1]
            for kind in ("usd", "kgco2e")
            for of in (data.pausable_options,)
        )
        before = plain.pausable_options
        usd = usd - before.usd_per_node_h[:, :1] * before.node_hours[:, None]
        kgco2e = kgco2e - before.kgco2e_per_node_h[:, :1] * before.node_hours[:, None]
    else:
        usd, kgco2e = (
            (getattr(data.run_options, kind) - getattr(plain.run_options, kind)).sum(axis=1, keepdims=True)
            for kind in ("usd", "kgco2e")
        )
    assert usd[:, 0] == pytest.approx(np.where(away, 40_000 * 0.03, 0.0), abs=1e-6)
    assert kgco2e[:, 0] == pytest.approx(np.where(away, 40_000 * 0.001 * 0.35, 0.0), abs=1e-6)


def test_a_deployment_moves_its_weights_and_sends_its_logs() -> None:
    """Once 2,000 GB out, each month 1,000 GB back at the price of where they leave; carbon by both grids."""
    plain, data = (
        assemble(Inputs(scenario(service=one), load_catalogue())).problem.serve_options
        for one in ("", SERVICE)
    )
    away = data.node_group == 1
    month = 90 * 24 / (365.25 * 24 / 12)
    assert (data.begun_usd - plain.begun_usd)[:, 0] == pytest.approx(np.where(away, 60.0, 0.0))
    assert (data.deployed_usd - plain.deployed_usd)[:, 0] == pytest.approx(
        np.where(away, 50.0 * month, 0.0), rel=1e-6
    )
    assert data.begun_kgco2e[:, 0] == pytest.approx(np.where(away, 0.7, 0.0))
    assert data.deployed_kgco2e[:, 0] == pytest.approx(np.where(away, 0.35 * month, 0.0), rel=1e-6)


def test_the_ledger_has_what_moves_and_each_number_opens() -> None:
    """Both go to the clean site: what that takes in data is a line of cost, carbon and the whole."""
    plan = planned(run=RUN, service=SERVICE)
    solution = plan.answer.solution
    assert solution is not None
    serving = (solution.replicas > 0).sum()
    assert plan.ledger.usd_terms["transfers_usd"].value > 1200 + 60
    assert plan.ledger.cost.value == pytest.approx(solution.usd, rel=1e-9)
    assert plan.ledger.carbon.value == pytest.approx(solution.kgco2e, rel=1e-9)
    assert serving >= 2
    line = whole_ledger(plan, solution).of("data moved to runs and services")
    assert line is not None
    assert line.value == plan.ledger.kgco2e_terms["transfers_kgco2e"].value
    document = plan_document(plan)
    for table in ("cost", "carbon"):
        [row] = [one for one in document["tables"][table] if one["term"] == "transfers"]
        key = "usd" if table == "cost" else "kgco2e"
        found = cell_explanation(document, table, row, key)
        assert found is not None
        assert found.steps[0].value == pytest.approx(row[key])
        assert "training.tune.data_moved" in found.to_text()


def test_data_are_counted_by_location_in_either_accounting() -> None:
    """A market-based plan has the same carbon of data; nothing of it is under contract."""
    changes = {"policy.accounting": "market", "sites.dirty.market_intensity": "700 g/kWh"}
    plan = plan_fleet(with_changes(scenario(run=RUN), changes), baselines=False)
    moved = plan.ledger.kgco2e_terms["transfers_kgco2e"].value
    assert moved == pytest.approx(40_000 * 0.001 * 0.35)
    assert plan.ledger.location_carbon is not None


def test_no_data_no_line_and_data_at_home_take_nothing() -> None:
    assert "transfers_usd" not in planned().ledger.usd_terms
    at_home = planned(run=RUN.replace("dirty", "clean"))
    assert at_home.answer.solution is not None
    assert at_home.answer.solution.kgco2e == pytest.approx(planned().answer.solution.kgco2e, rel=1e-9)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("run", "service", "says"),
    [
        ('data_site = "dirty"\n', "", "training.tune.data_site: needs data_moved next to it"),
        ('data_moved = "40 TB"\n', "", "training.tune.data_moved: needs data_site next to it"),
        ("", 'data_site = "dirty"\n', "services.chat.data_site: needs data_moved or logs_moved next to it"),
        ("", 'logs_moved = "1 TB/month"\n', "services.chat.logs_moved: needs data_site next to it"),
        (RUN.replace("dirty", "mars"), "", "mars' is no site here"),
        (RUN.replace("40 TB", "40 kW"), "", "training.tune.data_moved"),
    ],
)
def test_bad_keys_are_refused_once(run: str, service: str, says: str) -> None:
    with pytest.raises(ScenarioError, match=says) as error:
        scenario(run=run, service=service)
    assert len(error.value.problems) == 1
