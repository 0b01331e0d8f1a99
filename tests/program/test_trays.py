"""A rack is bought whole and a tray fails alone: spares are trays, in the rack that the work is in."""

from __future__ import annotations

from datetime import date

import pytest

from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import load_scenario, with_changes
from planner.program.assembly import assemble
from planner.program.plan import Plan, plan_fleet
from planner.trace.errors import InputError

TRAYS = 18  # of a rack, with four accelerators each


def on_a_rack(nodes: int) -> Plan:
    """One run on so many trays, where one rack stands and more may be ordered."""
    job = {"nodes": [nodes], "tokens": 3e12, "batch_tokens": 4718592, "deadline": date(2027, 6, 30)}
    changes = {
        "fleet": [
            {"sku": "gb200-nvl72", "site": "stockholm", "nodes": TRAYS, "in_service": date(2026, 10, 1)}
        ],
        "market": [{"sku": "gb200-nvl72", "lead_time": "0 d"}],
        "sites.stockholm.power_cap": "500 kW",
        **{f"training.train-8b.{key}": value for key, value in job.items()},
    }
    path = data_folder() / "scenarios" / "one-training-job.toml"
    return plan_fleet(with_changes(load_scenario(path), changes), baselines=False)


@pytest.mark.solve
def test_a_run_on_64_of_72_keeps_its_spare_trays_in_the_rack() -> None:
    plan = on_a_rack(16)
    solution = plan.answer.solution
    assert solution is not None

    working = (plan.problem.run_options.nodes[solution.run > 0] > 0).any(axis=0)
    assert not solution.orders.any(), "two trays are left for what fails"
    assert 1 <= solution.spares[0, working].min() <= solution.spares.max() <= TRAYS - 16


@pytest.mark.solve
def test_a_run_on_all_72_takes_a_second_rack_for_its_spares() -> None:
    plan = on_a_rack(TRAYS)
    solution = plan.answer.solution
    assert solution is not None

    assert (solution.orders.sum(), plan.problem.node_groups.order_unit_nodes[0]) == (1, TRAYS)
    assert 1 <= solution.spares.max() <= TRAYS


def test_more_nodes_than_tables_of_spares_have_rows_for_are_refused() -> None:
    """A million racks for which nothing limits the supply: the message says both ways out."""
    scenario = load_scenario(data_folder() / "scenarios" / "one-training-job.toml")
    vast = with_changes(scenario, {"sites.stockholm.racks": 1_000_000, "sites.stockholm.power_cap": "9 GW"})
    with pytest.raises(InputError, match=r"^sites\.stockholm\.racks: room and supply for"):
        assemble(Inputs(vast, load_catalogue()))


def test_power_bounds_the_nodes_that_could_be_in_use() -> None:
    """300 kW at 1.15 hold no more nodes than idle in them, however many racks there are.

    By hand: h100-8 idles at 2 to 3 kW, so that a hundred or so could be on at once.
    """
    scenario = load_scenario(data_folder() / "scenarios" / "one-training-job.toml")
    wide = with_changes(scenario, {"sites.stockholm.racks": 10_000})
    problem = assemble(Inputs(wide, load_catalogue())).problem
    groups, steps = problem.node_groups, problem.spare_steps
    for p in range(len(groups)):
        reach = steps.reach[steps.node_group == p].max()
        assert reach <= 300 / groups.idle_kw[p]
        assert reach > 300 / groups.idle_kw[p] - 1
        assert 60 < reach < 200
