"""Scenario and catalogue joined: what may not stand side by side is refused with what would do."""

import pytest

from planner.catalogue import data_folder, load_catalogue
from planner.inputs import Inputs, check_scenario
from planner.scenario import ScenarioError, load_scenario, with_changes

SCENARIOS = data_folder() / "scenarios"


@pytest.fixture
def serving():
    return load_scenario(SCENARIOS / "serving-only.toml")


@pytest.mark.parametrize("name", ["next-quarter", "serving-only", "one-training-job"])
def test_shipped_scenarios_stand(name):
    check_scenario(load_scenario(SCENARIOS / f"{name}.toml"), load_catalogue())


def test_direct_and_life_cycle_grids_are_not_planned_side_by_side(serving):
    with pytest.raises(ScenarioError) as error:
        check_scenario(with_changes(serving, {"sites.virginia.grid": "se"}), load_catalogue())
    assert str(error.value) == (
        "serving-only.toml: sites.california.grid: 'us-camx' is average/direct/production and 'se' of "
        "virginia is average/life-cycle/production: one plan needs one signal. Choose regions of one family "
        "(us-*, gcp-* or countries), or write grid_intensity"
    )


def test_an_intensity_of_ones_own_may_stand_beside_any_region(serving):
    own = with_changes(serving, {"sites.virginia.grid": None, "sites.virginia.grid_intensity": "35 g/kWh"})
    check_scenario(own, load_catalogue())
    assert Inputs(own, load_catalogue()).grid[0].value == pytest.approx(0.035)


def test_a_checkpoint_that_dies_with_its_node_is_refused():
    job = load_scenario(SCENARIOS / "one-training-job.toml")
    mortal = with_changes(job, {"training.train-8b.checkpoint_storage": "nvme-local"})
    with pytest.raises(
        ScenarioError, match="'nvme-local' is lost with its node; choose a storage that outlives"
    ):
        check_scenario(mortal, load_catalogue())


def test_a_published_rate_keeps_the_node_it_was_counted_on():
    """Delta's A100 nodes held 4 accelerators, so an 8-accelerator node fails twice as often."""
    job = load_scenario(SCENARIOS / "one-training-job.toml")
    delta = Inputs(with_changes(job, {"reliability.failures": "delta-a100-ecc"}), load_catalogue())
    assert delta.reference_accelerators().value == 4
    assert Inputs(job, load_catalogue()).reference_accelerators().value == 8


def test_overrides_are_yours_and_reach_the_inputs():
    job = load_scenario(SCENARIOS / "one-training-job.toml")
    inputs = Inputs(with_changes(job, {"facts.accelerator.h100-sxm-80gb.tdp": "650 W"}), load_catalogue())
    tdp = inputs.accelerator("tdp")[[sku.name for sku in inputs.skus].index("h100-8")]
    assert (tdp.value, tdp.kind) == (pytest.approx(0.65), "yours")
    assert tdp.source.title == "scenario 'One 8B training run on new nodes'"


def test_the_grid_declines_from_its_data_year(serving):
    """eGRID2023 rev 2 gives 270.5 g/kWh for SRVC; 2027 is four years on."""
    inputs = Inputs(serving, load_catalogue())
    decline = load_catalogue().fact("grid.decline").value
    assert inputs.grid[0].value == pytest.approx(0.270489 * (1 - decline) ** 4, rel=1e-4)


def test_water_of_a_site_is_refused_rather_than_ignored(serving):
    with pytest.raises(ScenarioError) as error:
        check_scenario(with_changes(serving, {"sites.virginia.wue": "0.2 L/kWh"}), load_catalogue())
    assert (
        str(error.value)
        == "serving-only.toml: sites.virginia.wue: plans do not count water yet: leave it out"
    )
