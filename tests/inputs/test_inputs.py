"""Scenario and catalogue joined: what may not stand side by side is refused with what would do."""

import json
from pathlib import Path

import numpy as np
import pytest
from plain import plain
from scipy.special import polygamma

from planner.inputs.consistency import check_scenario
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, ScenarioError, load_scenario, with_changes
from planner.physics.equations.ownership import down_variance_to_mean_ratio
from planner.physics.failures import down_variance_to_mean, failure_rate_shape

SCENARIOS = data_folder() / "scenarios"
FIT = json.loads((Path(__file__).parents[1] / "broken/fits/whole.json").read_text(encoding="utf-8"))
RATIO, FLEET = "reliability.spares.variance_to_mean", "reliability.spares.fleet_nodes"


def with_log(folder: Path, repair: str = "", **changes: object) -> Scenario:
    """The shipped training job with the failures of a log of one's own."""
    text = (SCENARIOS / "one-training-job.toml").read_text(encoding="utf-8")
    kept = [line for line in text.splitlines() if not line.startswith(("failures =", "repair ="))]
    at = kept.index("[reliability]") + 1
    (folder / "job.toml").write_text("\n".join([*kept[:at], 'log = "fit.json"', repair, *kept[at:]]), "utf-8")
    (folder / "fit.json").write_text(json.dumps(FIT | changes), encoding="utf-8")
    return load_scenario(folder / "job.toml")


@pytest.fixture
def serving():
    return load_scenario(plain("serving-only"))


@pytest.mark.parametrize("name", ["next-quarter", "serving-only", "one-training-job"])
def test_shipped_scenarios_stand(name):
    check_scenario(load_scenario(SCENARIOS / f"{name}.toml"), load_catalogue())


DECISIONS = {
    "resale": lambda s: any(entry.has("resale_usd") for entry in s.fleet),
    "extension": lambda s: any(entry.has("extend_to_y") for entry in s.fleet),
    "rent by the hour": lambda s: any(one.commitment == "on demand" for one in s.rental),
    "rent for a term": lambda s: any(one.commitment in ("1 year", "3 years", "block") for one in s.rental),
    "spot": lambda s: any(one.commitment == "spot" for one in s.rental),
    "rebates": lambda s: any(offer.tiers for offer in s.market),
    "contracts": lambda s: bool(s.contracts),
    "moves": lambda s: bool(s.moves),
    "pausing": lambda s: any(job.pausable for job in s.training),
    "caps": lambda s: any(job.power_caps_fraction for job in s.training),
    "committed space": lambda s: any(site.has("space_committed_kw") for site in s.sites),
    "demand charge": lambda s: any(site.has("demand_charge_usd_per_kw_month") for site in s.sites),
    "rack power": lambda s: any(site.has("rack_power_kw") for site in s.sites),
}


@pytest.mark.parametrize("decision", DECISIONS)
def test_the_shipped_families_use_each_decision_twice(decision):
    stated = [load_scenario(path) for path in sorted(SCENARIOS.glob("*.toml"))]
    assert sum(DECISIONS[decision](scenario) for scenario in stated) >= 2


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


# Failures: a log, how sure a rate is, bursts


def test_a_year_before_the_data_takes_the_earliest(serving):
    """How much more a grid emitted then nobody knows: its decline is not played backwards."""
    then = with_changes(serving, {"horizon.start": "2022-07-01"})

    earliest = load_catalogue().fact("grid.us-srvc.intensity")
    assert Inputs(then, load_catalogue()).grid[0].value == earliest.value


def test_a_quoted_name_is_the_name(serving):
    """As in the file itself, and as in a list: `--set 'sites.virginia.grid="se"'`."""
    quoted, plain = ({"sites.virginia.grid": text} for text in ('"se"', "se"))

    assert with_changes(serving, quoted) == with_changes(serving, plain)


def test_a_log_says_how_often_nodes_fail_and_how_long_they_are_away(tmp_path):
    """Every number of the fit is the user's own, with its range, and is told among the facts."""
    inputs = Inputs(with_log(tmp_path), load_catalogue())
    rate, repair = inputs.failure_rate(), inputs.repair()

    assert (rate.kind, rate.value) == ("yours", pytest.approx(5.2 / 24_000))
    assert (rate.low, rate.high) == (pytest.approx(4.1 / 24_000), pytest.approx(6.6 / 24_000))
    assert "failures.csv" in rate.source.cite()
    assert (repair.value, repair.unit, repair.kind) == (31.5, "h", "yours")
    assert {rate.key, repair.key} <= inputs.facts_used.keys()


def test_a_log_of_smaller_nodes_counts_their_accelerators(tmp_path):
    """A rate of nodes of 4 is doubled for a node of 8; where the log does not say, nodes are as published."""
    four = Inputs(with_log(tmp_path, accelerators_per_node=4), load_catalogue())
    unsaid = Inputs(with_log(tmp_path, accelerators_per_node=None), load_catalogue())
    assert four.reference_accelerators().value == 4
    assert unsaid.reference_accelerators().key == "reliability.reference_accelerators"


def test_a_repair_of_ones_own_goes_before_the_log(tmp_path):
    inputs = Inputs(with_log(tmp_path, 'repair = "2 d"'), load_catalogue())
    assert (inputs.repair().value, inputs.repair().key) == (48, "scenario.reliability.repair")


def test_a_published_range_weighs_as_the_failures_that_were_counted():
    """Llama 3 counted 419 failures, and the range is the 95 % Poisson interval: a shape of about 419."""
    job = with_changes(
        load_scenario(SCENARIOS / "one-training-job.toml"), {"reliability.failures": "meta-llama-3-405b"}
    )
    shape = failure_rate_shape(Inputs(job, load_catalogue()))
    assert shape.value == pytest.approx(419, rel=0.02)


@pytest.mark.parametrize("fleet", ["meta-rsc-1", "prior"])
def test_a_rate_without_a_range_is_as_sure_as_fleets_are_alike(fleet):
    """The variance of the logarithm of a gamma variable is trigamma(shape): the spread between fleets."""
    job = load_scenario(SCENARIOS / "one-training-job.toml")
    inputs = Inputs(with_changes(job, {"reliability.failures": fleet}), load_catalogue())
    sigma = load_catalogue().fact("reliability.prior.sigma").value
    assert polygamma(1, failure_rate_shape(inputs).value) == pytest.approx(sigma**2, rel=1e-9)


def test_the_range_of_a_log_is_its_doubt_and_a_number_of_ones_own_has_none(tmp_path):
    """ln(6.6 / 4.1) over twice 1.96 is the standard deviation of the logarithm; a shape goes before it."""
    ranged = failure_rate_shape(Inputs(with_log(tmp_path, rate_shape=None), load_catalogue()))
    assert polygamma(1, ranged.value) == pytest.approx((np.log(6.6 / 4.1) / 3.919928) ** 2, rel=1e-6)

    shaped = Inputs(with_log(tmp_path, rate_shape=40.0), load_catalogue())
    assert failure_rate_shape(shaped).value == 40
    assert shaped.facts_used["fit.our cluster.rate_shape"].kind == "yours"

    job = load_scenario(SCENARIOS / "one-training-job.toml")
    stated = {"reliability.failures": None, "reliability.failure_rate": "0.1 /month"}
    assert failure_rate_shape(Inputs(with_changes(job, stated), load_catalogue())) is None


def test_bursts_grow_with_the_nodes_that_share_them():
    """The whole fleet has its measured ratio, none of it is Poisson, and between lies a straight line."""
    job, catalogue = load_scenario(SCENARIOS / "one-training-job.toml"), load_catalogue()
    ratio = down_variance_to_mean(Inputs(job, catalogue), 400).value
    whole = catalogue.fact(RATIO).value

    assert catalogue.fact(FLEET).value == 400
    assert ratio[-1] == pytest.approx(whole)
    assert ratio[199] == pytest.approx((1 + whole) / 2)
    assert np.diff(ratio) == pytest.approx((whole - 1) / 400)


def test_bursts_of_a_log_go_before_the_published_ones(tmp_path):
    """3.1 counted on 50 nodes is 1 + 2.1 / 50 for one of them; a ratio of an unknown fleet is not used."""
    logged = Inputs(with_log(tmp_path, nodes=50), load_catalogue())
    ratio = down_variance_to_mean(logged, 50).value
    assert (ratio[0], ratio[-1]) == (pytest.approx(1.042), pytest.approx(3.1))
    assert {"fit.our cluster.variance_to_mean", "fit.our cluster.nodes"} <= logged.facts_used.keys()

    for missing in ({"nodes": None}, {"nodes": 50, "variance_to_mean": None}):
        unsure = Inputs(with_log(tmp_path, **missing), load_catalogue())
        assert down_variance_to_mean(unsure, 50).value[-1] == pytest.approx(1 + 4.78 * 50 / 400)
        assert {RATIO, FLEET} <= unsure.facts_used.keys()


def test_counts_that_are_narrower_than_poisson_are_taken_as_poisson():
    ratio = down_variance_to_mean_ratio(nodes=200, fleet_variance_to_mean_ratio=0.7, fleet_nodes=400)
    assert ratio == 1


def test_parts_of_a_real_fleet_are_as_bursty_as_their_share(shared):
    """InfiniteHBD: servers down at once among random parts of the 400, four times a day over 348 days."""
    events = json.loads((shared / "data/infinitehbd_trace/fault_trace.json").read_text(encoding="utf-8"))
    days = np.arange(0.0, 348.0, 0.25)
    servers = np.zeros((400, days.size), bool)
    for server, node in enumerate(sorted({event["node_id"] for event in events})):
        starts, ends = (
            sorted(e["event_time"] for e in events if e["node_id"] == node and e["event_type"] == kind)
            for kind in ("fault_start", "fault_end")
        )
        for start, end in zip(starts, ends, strict=True):
            servers[server] |= (days >= start) & (days < end)
    generator = np.random.default_rng(0)
    catalogue = load_catalogue()

    for part in (16, 64, 200):
        counts = np.array([servers[generator.permutation(400)[:part]].sum(axis=0) for _ in range(200)])
        measured = counts.var(axis=1).mean() / counts.mean()
        ours = down_variance_to_mean_ratio(
            nodes=part, fleet_variance_to_mean_ratio=catalogue.fact(RATIO).value, fleet_nodes=400
        )
        assert measured == pytest.approx(ours, abs=0.2), part


# Figures of data sheets


@pytest.mark.parametrize(
    ("key", "text", "message"),
    [
        ("bf16_peak", "1979 TFLOP/s", "is about twice the dense 989"),
        ("fp8_peak", "3958 TFLOP/s", "the figure with structured sparsity"),
        ("link_bandwidth", "900 GB/s", "both directions added up? Give the bandwidth of one"),
        ("bf16_peak", "0 TFLOP/s", "is out of range: write a value from 0.1 to"),
    ],
)
def test_sparse_peaks_and_links_of_both_directions_are_refused(key, text, message):
    """NVIDIA's H100 data sheet prints 1,979 TFLOP/s with sparsity for 989, and 900 GB/s for 450 each way."""
    job = load_scenario(SCENARIOS / "one-training-job.toml")
    path = f"accelerator.h100-sxm-80gb.{key}"

    with pytest.raises(ScenarioError) as error:
        check_scenario(with_changes(job, {f"facts.{path}": text}), load_catalogue())

    assert f"facts.{path}: " in str(error.value)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("key", "text"), [("bf16_peak", "1200 TFLOP/s"), ("link_bandwidth", "300 GB/s"), ("tdp", "1.4 kW")]
)
def test_other_figures_of_ones_own_are_taken(key, text):
    """A faster clock, slower links, twice the power: none is a known way to misread a data sheet."""
    job = load_scenario(SCENARIOS / "one-training-job.toml")
    own = with_changes(job, {f"facts.accelerator.h100-sxm-80gb.{key}": text})

    check_scenario(own, load_catalogue())

    assert f"accelerator.h100-sxm-80gb.{key}" in own.facts
