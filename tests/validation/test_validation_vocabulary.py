"""Kinds of question that published rows ask: each by hand, by a property, or beside another road."""

import csv
import json

import pytest

from planner.inputs.loading import data_folder, load_catalogue
from planner.validation import benchmark_runs, filed_engines
from planner.validation.aliases import constant
from planner.validation.benchmark_runs import BenchmarkRun
from planner.validation.datasets import looking_in
from planner.validation.filed_engines import reads_apart
from planner.validation.forms import NotUnderstood
from planner.validation.registry import evaluate, forms_of
from planner.validation.replicas import serve_system
from planner.validation.serving import lengths
from planner.validation.software import with_software


def ours(quantity, unit="1", **inputs):
    return evaluate(quantity, inputs, unit)[0]


@pytest.fixture(scope="module")
def records(shared):
    with looking_in([shared / "data"]):
        yield


# Reliability and what it is worth


def test_a_new_node_pulls_the_image_first():
    """450 s of image and 721.5 s of workers; the same node has the image."""
    times = {"image_pull_s": 450, "worker_init_s": 721.5}

    assert ours("restart_time", "s", **times, node="new") == pytest.approx(1171.5)
    assert ours("restart_time", "s", **times, node="same") == pytest.approx(721.5)
    assert ours("restart_time", "s", worker_init_s=721.5, node="same") == pytest.approx(721.5)
    with pytest.raises(NotUnderstood, match="node must be new"):
        ours("restart_time", "s", **times, node="spare")


def test_silent_corruption_there_and_back():
    """18 in 35 million hours: 0.514 a million, and 18 again in as many hours."""
    rate = ours("sdc_rate", "incidents per 1e6 GPU-h", incidents=18, gpu_hours=35e6)
    days = 35e6 / 24 / 1000

    assert rate == pytest.approx(0.5143, rel=1e-3)
    assert ours("expected_sdc", gpus=1000, days=days, incidents_per_million_gpu_h=rate) == pytest.approx(18)


def test_lost_time_and_what_a_point_is_worth():
    """ETTR 0.9 of 54 days: 129.6 h on the wall, whatever the GPUs. A point of 100 GPUs, 10 d, 2 USD/h."""
    lost = ours("lost_time_from_ettr", "h", ettr=0.9, days=54, gpus=16384)
    worth = ours("money_per_goodput_point", "USD", gpus=100, days=10, usd_per_gpu_hour=2.0, points=1)

    assert lost == pytest.approx(129.6)
    assert worth == pytest.approx(100 * 240 * 2.0 / 100)


def test_the_median_of_a_belief_about_failures():
    """128 nodes, 90 d, 6.5 in 1000 node-days: 74.88 at the median rate, and the median count is close."""
    belief = {"nodes": 128, "days": 90, "prior_median_per_1000_node_days": 6.5}

    for sigma in (0.2, 0.8):
        assert ours("prior_predictive_count", **belief, prior_sigma=sigma) == pytest.approx(74.88, abs=1)


def test_carbon_for_the_same_work():
    got = ours("embodied_intensity_ratio", old_kg=150, new_kg=180, throughput_ratio_fp16=3)

    assert got == pytest.approx(0.4)


JOB = {"failures_per_day": 8, "ckpt_interval_min": 60, "restart_min": 20}
TWO = {
    "failures_per_day": 8,
    "share_level1": 0.8,
    "ckpt_interval_min": 10,
    "level1_per_level2": 6,
    "ckpt1_min": 0.2,
    "ckpt2_min": 2,
    "restart1_min": 3,
    "restart2_min": 25,
}


@pytest.mark.parametrize(
    "inputs",
    [
        JOB,
        {**JOB, "model": "linear"},
        {**JOB, "weibull_shape": 0.7},
        {**JOB, "queue_min": 10},
        {"failures_per_day": 8, "ckpt_interval_min": 60, "restart_min": 20}
        | {"blocking_min": 0.5, "persist_min": 10},
        TWO,
    ],
)
def test_a_restart_that_can_fail_costs_in_every_form(inputs):
    """It takes longer by about half its square over the time between failures, times the rate: 0.5 %."""
    sure = ours("ettr", **inputs, failures_during_restart=False)
    fails = ours("ettr", **inputs, failures_during_restart=True)

    assert sure == ours("ettr", **inputs)
    assert 0.97 * sure < fails < sure


def test_one_interval_asks_for_its_own_model():
    times = {"ckpt_interval_s": 1800, "lost_work_s": 900, "reschedule_s": 60, "restart_s": 300}

    assert ours("ettr", **times, model="runtime goodput of one interval") == pytest.approx(900 / 2160)
    with pytest.raises(NotUnderstood, match="for lost work in one interval"):
        ours("ettr", **times, model="exact")
    with pytest.raises(NotUnderstood, match="failures_during_restart"):
        ours("ettr", **times, model="runtime goodput of one interval", failures_during_restart=True)


@pytest.mark.slow
def test_records_of_lives(records):
    """Titan: survival by cage falls from bottom to top, as published; who erred twice is among who erred."""
    by_cage = [ours("km_survival", years=4, batch="old", cage=cage) for cage in (0, 1, 2)]
    twice = ours("with_more_than_one_event")

    assert by_cage == sorted(by_cage, reverse=True)
    assert by_cage[0] > ours("km_survival", years=4, batch="old") > by_cage[2]
    assert 0 < twice < ours("with_any_event")
    with pytest.raises(NotUnderstood, match="no cage 7; there are 0, 1, 2"):
        ours("km_survival", years=4, cage=7)


@pytest.mark.slow
def test_the_best_family_keeps_its_place_in_any_order(records):
    names = ["exponential", "Weibull"]

    assert ours("best_aic_of", batch="old", candidates=names) == 1
    assert ours("best_aic_of", batch="old", candidates=names[::-1]) == 0
    with pytest.raises(NotUnderstood, match="no family gumbel"):
        ours("best_aic_of", candidates=["gumbel", "Weibull"])


def test_records_of_outages():
    """InfiniteHBD: more nodes hold more of the faults, all 231 that failed hold all of them."""
    shares = [ours("share_of_faults_on_worst_nodes", nodes=400, worst=worst) for worst in (20, 40, 231)]
    down = [ours("concurrent_down_nodes", percentile=percent) for percent in (50, 95, 99)]

    assert shares[0] < shares[1] < shares[2] == 1.0
    assert down == sorted(down)
    assert down[0] < 400 * 0.0232 < down[1]  # around the mean that 2.32 % of unavailability gives
    with pytest.raises(NotUnderstood, match="more than the 100 stated"):
        ours("share_of_faults_on_worst_nodes", nodes=100, worst=20)


# Techniques and hardware

LAYERSKIP = {"technique": "layerskip", "handle": "decode_time", "ratio": 1.81}


@pytest.mark.parametrize(
    ("effect", "ratio"),
    [
        ({"ratio": 4}, 4.0),
        ({"reduction_fraction": 0.75}, 4.0),
        ({"keep_fraction": 0.25}, 4.0),
        ({"gain_fraction": 3}, 4.0),
        ({"after_gb": 5, "baseline_gb": 20, "measure": "ratio"}, 4.0),
        ({"ratio": 4, "affected_fraction": 0.6}, 1 / (0.4 + 0.6 / 4)),
    ],
)
def test_one_effect_in_five_ways(effect, ratio):
    inputs = {"technique": "any", "handle": "traffic", **effect}

    assert ours("technique_effect", **inputs) == pytest.approx(ratio)
    saved = ours("technique_effect", **{**inputs, "measure": "reduction_fraction"})
    assert saved == pytest.approx(1 - 1 / ratio)
    assert ours("technique_effect", **{**inputs, "measure": "gain_fraction"}) == pytest.approx(ratio - 1)


def test_a_name_of_the_catalogue_without_a_size_takes_its_fact():
    """LayerSkip at its middle, 1.81 on CNN/DM."""
    row = {"technique": "LayerSkip", "handle": "decode_time"}

    assert ours("technique_effect", **row) == pytest.approx(1.81)
    assert ours("technique_effect", "replicas", **row, baseline_replicas=100) == 56


# Names of rows that the catalogue has otherwise: of one handle, or of another word.
IN_CATALOGUE = {
    ("synthetic data mix", "tokens"): "synthetic-data.tokens",
    ("2:4 sparsity", "step_time"): "2-4-sparsity.step_time",
    ("recd", "throughput"): "recd.step_time",
    ("neuroshard", "step_time"): "neuroshard.lookups",
    ("recssd", "latency"): "recssd.lookups",
    ("scaleacross explorer", "throughput"): "scaleacross.throughput",
}


def test_published_headlines_are_at_most_the_end_of_a_range():
    """Each figure of the rows lies in the range of the fact with which jobs and plans count."""
    with (data_folder() / "published" / "seeds.csv").open(encoding="utf-8", newline="") as file:
        rows = [json.loads(row["inputs"]) for row in csv.DictReader(file)]
    effects = [row for row in rows if row.get("kind") == "technique_effect" and "after_gb" not in row]
    sizes = ("ratio", "reduction_fraction", "keep_fraction", "gain_fraction")

    assert len(effects) > 10
    for row in effects:
        name = row["technique"], row["handle"]
        fact = load_catalogue().fact(f"technique.{IN_CATALOGUE.get(name, '.'.join(name))}")
        size = {key: row[key] for key in sizes if key in row}
        own = ours("technique_effect", technique="any", handle="energy", **size)
        assert fact.low <= own * (1 + 1e-3), name
        assert own <= fact.high * (1 + 1e-3), name


def test_what_is_left_is_in_the_unit_of_the_baseline_and_counted_whole():
    assert ours("technique_effect", "replicas", **LAYERSKIP, baseline_replicas=100) == 56
    assert ours("technique_effect", "h", **LAYERSKIP, baseline_s=18.1) == pytest.approx(10 / 3600)
    exact = {"technique": "recd", "handle": "throughput", "ratio": 2.48}
    assert ours("technique_effect", "nodes", **exact, baseline_nodes=248) == 100


@pytest.mark.parametrize(
    ("extra", "says"),
    [
        ({"handle": "colour"}, "no handle 'colour'"),
        ({"ratio": None, "technique": "magic"}, "'magic' needs the size of its effect"),
        ({"ratio": None, "handle": "energy"}, "the catalogue has no fact of its energy"),
        ({"gain_fraction": 0.5}, "stated once"),
        ({"baseline_gb": 3.0, "baseline_nodes": 4}, "at most one baseline"),
        ({"measure": "after"}, "without a baseline"),
        ({"adoption": 1}, "takes no 'adoption'"),
    ],
)
def test_a_technique_that_says_too_little_or_too_much_is_refused(extra, says):
    inputs = {key: value for key, value in {**LAYERSKIP, **extra}.items() if value is not None}

    with pytest.raises(NotUnderstood, match=says):
        ours("technique_effect", **inputs)


def test_accelerators_beside_each_other():
    """Stated shares first; the catalogue's where none is stated; a name without a fact is refused."""
    inputs = {"measure": "idle_power_excess", "accelerator": ["Gaudi3", "CS-3"], "reference": "H100"}
    stated = {"idle_tdp_fraction": [0.3, 0.8], "reference_idle_tdp_fraction": 0.2}

    assert ours("accelerator_comparison", "percent", **inputs, **stated) == pytest.approx(60)
    with pytest.raises(NotUnderstood, match="no accelerator 'CS-3'"):
        ours("accelerator_comparison", **inputs)
    peak = {"measure": "power_at_equal_peak", "dtype": "bf16", "reference_kw": 8.0}
    there = ours("accelerator_comparison", "kW", **peak, accelerator="B200", reference="H100")
    back = {**peak, "reference_kw": there}
    assert there < 8.0
    assert ours(
        "accelerator_comparison", "kW", **back, accelerator="H100", reference="B200"
    ) == pytest.approx(8)


# Times and traces


def test_one_slow_node_of_a_synchronous_job():
    assert ours("slow_node_step_ratio", slow_nodes=1, nodes=64, slowdown_factor=1.3) == pytest.approx(1.3)
    assert ours("slow_node_step_ratio", slow_nodes=0) == 1.0
    assert 1.09 <= ours("slow_node_step_ratio", slow_nodes=1) <= 1.35
    with pytest.raises(NotUnderstood, match="from 0 to the nodes"):
        ours("slow_node_step_ratio", slow_nodes=3, nodes=2)


def test_steps_of_many_ranks_wait_for_the_slowest():
    """1 % each: the slowest of 1,024 normal ranks is 3.2 % late at the median; heavier tails wait more."""
    inputs = {"ranks": 1024, "variation_fraction": 0.01, "quantile_fraction": 0.5}
    late = [ours("step_time_quantile", **inputs, family=f) for f in ("normal", "gamma", "lognormal")]

    assert late[0] == pytest.approx(1.032, rel=0.002)
    assert late == sorted(late)


def test_a_law_through_measured_quantiles():
    three = {"measured_fractions": [0.05, 0.5, 0.95], "measured_s": [18.6, 18.8, 19.3]}
    two = {"measured_fractions": [0.05, 0.95], "measured_s": [18.6, 19.4]}

    skewed = ours("step_time_quantile", **three, quantile_fraction=0.95, over_fraction=0.5)
    assert skewed == pytest.approx(19.3 / 18.8, rel=1e-6)
    assert ours("step_time_quantile", **three, quantile_fraction=0.99, over_fraction=0.95) > 1.01
    normal = ours("step_time_quantile", **two, quantile_fraction=0.5, over_fraction=0.05)
    assert normal == pytest.approx(19.0 / 18.6)


def test_collectives_know_their_algorithm():
    link = {"ranks": 2, "size_gb": 140, "bandwidth_gb_per_s": 1000, "latency_s": 0.002}

    assert ours("collective_time", "ms", collective="all_reduce", algorithm="ring", **link) == pytest.approx(
        144
    )
    with pytest.raises(NotUnderstood, match="algorithm ring alone"):
        ours("collective_time", "s", collective="all_reduce", algorithm="tree", **link)
    with pytest.raises(NotUnderstood, match="no ring of 'gossip'"):
        ours("collective_time", "s", collective="gossip", algorithm="ring", **link)


@pytest.mark.slow
def test_traces_of_eight_ranks(records):
    ranks = [f"et_traces/param_dlrm_8xV100_kineto_rank{rank}.json.gz" for rank in range(8)]
    one = ours("trace_summary", "us", trace=ranks[0], measure="exposed_communication")

    assert one == pytest.approx(5537)  # as counted in the folder's own notes
    assert ours("trace_summary", trace=ranks, measure="slowest_over_mean_step") > 1.1
    with pytest.raises(NotUnderstood, match="its nodes have no types"):
        ours("trace_summary", "s", trace=ranks[0], measure="node_time", node_type=4)
    with pytest.raises(NotUnderstood, match="relative to the folder"):
        ours("trace_summary", trace="../secret", measure="nodes")


# Tables and their rows


@pytest.mark.slow
def test_tables_on_devices(records):
    """Capacity alone says three of 40 GB, whole tables need five; splitting levels the work."""
    tables = {"tables": "embedding_tables/criteo_tables.csv", "model": "mlperf_dlrm_dcnv2_multihot"}
    eight = {**tables, "memory_gb": 40, "devices": 8, "cost": "pooling", "measure": "largest_device_cost"}

    assert ours("table_placement", "GB", **tables, measure="table_gb") == pytest.approx(104.54, rel=1e-3)
    assert ours("table_placement", **tables, memory_gb=40, measure="fewest_devices") == 5
    assert ours("table_placement", **eight) == 100
    assert ours("table_placement", **eight, split_columns=4, split_cost_at_least=20) == 27
    with pytest.raises(NotUnderstood, match="split_columns goes with"):
        ours("table_placement", **eight, split_columns=4)
    with pytest.raises(NotUnderstood, match="no column 'colour'"):
        ours("table_placement", **{**eight, "cost": "colour"})


def test_reuse_above_an_edge_of_the_histogram(records):
    rows = {
        "histogram": "embedding_tables/dlrm_datasets_reuse.csv",
        "year": 2021,
        "dataset": "fbgemm_t856_bs65536.pt",
    }
    shares = [ours("reuse_fraction", **rows, reuse_above=above) for above in (0, 8, 32)]

    assert shares == pytest.approx([1.0, 0.719, 0.494], abs=0.002)
    with pytest.raises(NotUnderstood, match="an edge of the histogram"):
        ours("reuse_fraction", **rows, reuse_above=9)


# Energy and power


def test_hours_of_an_accelerator_without_a_power():
    """As the job command takes it: 91 % of 700 W, and an eighth of the host; a stated power comes first."""
    hours = {"gpu_hours": 1000, "gpu": "H100", "pue": 1.2}
    host_kw = constant("server.hgx-h100.host_power", "host_kw")

    assert ours("job_energy", "kWh", **hours) == pytest.approx(1200 * (0.91 * 0.7 + host_kw / 8))
    assert ours("job_energy", "kWh", **hours, power_w=700) == pytest.approx(840)
    carbon = ours("job_operational_carbon", "kg", **hours, grid_kg_per_kwh=0.5)
    assert carbon == pytest.approx(0.5 * ours("job_energy", "kWh", **hours))
    with pytest.raises(NotUnderstood, match="no accelerator 'abacus'"):
        ours("job_energy", "kWh", gpu_hours=1, gpu="abacus")


def test_diffusion_models_are_those_of_the_catalogue():
    inputs = {"gpu": "H100", "gpus": 1, "batch": 1, "latency_s": 12.0}

    by_name = ours("serve_diffusion_power", "W", model="FLUX.1-dev", **inputs)
    assert by_name == ours("serve_diffusion_power", "W", model="flux1-dev", **inputs)
    with pytest.raises(NotUnderstood, match="no diffusion 'SD 9'"):
        ours("serve_diffusion_power", "W", model="SD 9", **inputs)


def test_a_key_that_changes_the_links_is_no_label():
    """MAD-Max's H100 system has faster ports, and less of its all-reduce on links: 55.9 for 60.0 GB/s."""
    layers = {"layers": 80, "hidden": 8192, "ffn": 21846, "gpus": 2048}
    inputs = {**layers, "nvlink_util": 0.6667, "roce_util": 0.56}

    slow = ours("train_fsdp_collectives_peer", "ms", gpu="A100", **inputs)
    assert slow == pytest.approx(2506.5, rel=0.02)
    reduce_gb_per_s = 0.1465 * 450 * 0.6667 + 0.8535 * 25 * 0.56
    other = ours("train_fsdp_collectives_peer", "ms", gpu="H100", **inputs)
    assert other == pytest.approx(slow * (0.2746 * 300 * 0.6667 + 0.7254 * 12.5 * 0.56) / reduce_gb_per_s)
    with pytest.raises(NotUnderstood, match="no system of the peer with 'L40S'"):
        ours("train_fsdp_collectives_peer", "ms", gpu="L40S", **inputs)
    with pytest.raises(NotUnderstood, match="several nodes of 8"):
        ours("train_fsdp_collectives_peer", "ms", gpu="A100", **{**inputs, "gpus": 8})


def test_images_are_samples():
    assert "images_per_s" in [
        key for form in forms_of("node_power_serve") for key in form.keys("samples_per_s")
    ]


def test_a_last_node_that_is_partly_used_is_a_node():
    """12 accelerators on nodes of eight hold two: as often interrupted as 16 are."""
    rate = {"failures_per_1000_node_days": 6.5, "gpus_per_node": 8}

    assert ours("job_mttf", "h", gpus=12, **rate) == ours("job_mttf", "h", gpus=16, **rate)


@pytest.mark.slow
def test_a_recovery_of_a_played_fleet_can_fail():
    fleet = {
        "servers": 512,
        "warm_standbys": 8,
        "working_pool": 530,
        "spare_pool": 20,
        "failures_per_server_day": 0.02,
        "bad_fraction": 0.1,
        "bad_rate_multiplier": 4.0,
        "recovery_min": 30,
        "host_selection_min": 3,
        "preempt_wait_min": 20,
        "auto_repair_min": 120,
        "manual_repair_min": 2880,
        "p_auto_to_manual": 0.2,
        "auto_repair_fail": 0.4,
        "manual_repair_fail": 0.2,
        "job_days": 20,
        "lost_work_modelled": False,
    }
    sure = ours("ettr", **fleet)

    fails = ours("ettr", **fleet, failures_during_restart=True)
    assert ours("ettr", **fleet, failures_during_restart=False) == sure
    assert 0.9 * sure < fails < sure


# Serving


@pytest.mark.parametrize(
    ("gpu", "published"),
    [("H100-80GB-SXM", 286.084), ("H100-80GB-PCIe", 189.543), ("H200-141GB-SXM", 297.857)],
)
def test_beams_cost_the_same_on_every_chip(gpu, published):
    """MLPerf v4.1, GPT-J: 20 us a token of a beam give three chips within 5 %; without, +17 to +29 %."""
    inputs = {"benchmark": "gptj-99", "scenario": "Offline", "gpu": gpu, "gpus": 8}

    got = ours("serve_system", "samples/s", **inputs, precision="fp8", round="v4.1")

    assert got == pytest.approx(published, rel=0.05)


def test_an_engine_that_was_filed_as_released_serves_in_place_of_a_tuned_one():
    """Red Hat, MLPerf v5.1, Llama 3.1 8B on one card: half the error of engines tuned for the benchmark."""
    asked = {"kind": "serve_system", "benchmark": "llama3.1-8b", "precision": "fp8", "round": "v5.1"}
    source = "closed/RedHat/results/XE8640_4xH100_vLLM/llama3.1-8b/Offline"
    filed = with_software("serve_system", asked, source)
    published = {("H100-80GB-SXM", "Offline"): 5777.08, ("L40S", "Server"): 1207.14}

    def error(engine, gpu, scenario):
        cards = {"gpu": gpu, "accelerators": 1, "scenario": scenario, "engine": engine}
        rate = serve_system(benchmark="llama3.1-8b", precision="fp8", round="v5.1", **cards)["1/s"]
        return abs(rate / published[gpu, scenario] - 1)

    assert filed == {**asked, "engine": "vLLM 0.10"}
    assert with_software("serve_system", {**asked, "engine": "mlperf"}, source)["engine"] == "mlperf"
    assert "engine" not in with_software("serve_system", asked, "closed/AMD/results/8xMI300X")
    as_released = sum(error("vLLM 0.10", *where) for where in published)
    assert as_released < 0.5 * sum(error(None, *where) for where in published)


def test_answers_that_spread_are_met_when_they_are_long(monkeypatch):
    """Property: DeepSeek-R1's answers as spread as exponential ones give a fifth less than alike ones."""
    inputs = {"benchmark": "deepseek-r1", "scenario": "Offline", "gpu": "B200-SXM", "gpus": 8}
    spread = ours("serve_system", "1/s", **inputs, precision="fp4", round="v6.0")
    monkeypatch.setattr(benchmark_runs, "lengths", lambda prompt, answer, scv: lengths(prompt, answer))
    alike = ours("serve_system", "1/s", **inputs, precision="fp4", round="v6.0")

    assert 0.75 * alike < spread < 0.95 * alike


def test_four_bits_are_widened_where_no_unit_takes_them():
    """gpt-oss filed in 4 bits: values of 8 on B200, weights widened to 16 on H200, and on RTX PRO 6000.

    The last has units for fp4, but its engine has kernels for values of 16 bits alone: 15,190 tokens/s in
    MLPerf v6.0 (HPE, eight cards).
    """
    asked = {"benchmark": "gpt-oss-120b", "scenario": "Offline", "accelerators": 8, "round": "v6.0"}

    same = serve_system(**asked, gpu="H200-141GB-SXM", precision="fp4")
    assert same == serve_system(**asked, gpu="H200-141GB-SXM", precision="w4a16")
    cards = serve_system(**asked, gpu="RTX PRO 6000", precision="fp4")
    assert cards == serve_system(**asked, gpu="RTX PRO 6000", precision="w4a16")
    assert cards["1/s"] == pytest.approx(15_190, rel=0.1)
    assert serve_system(**asked, gpu="B200-SXM", precision="fp4") == serve_system(
        **asked, gpu="B200-SXM", precision="w4a8"
    )


@pytest.mark.slow
def test_prompts_are_read_apart_on_whole_racks_of_today():
    """MLPerf v6.0, Llama 3.1 405B Interactive on GB200 NVL72: 194.6 tokens/s each; not in v5.1."""
    asked = {"benchmark": "llama3.1-405b", "scenario": "Interactive", "precision": "fp4"}
    rack = {"gpu": "GB200-NVL72", "accelerators": 72}

    today = serve_system(**asked, **rack, round="v6.0")["1/s"] / 72
    before = serve_system(**asked, **rack, round="v5.1")["1/s"] / 72

    assert today == pytest.approx(194.6, rel=0.15)
    assert before < 0.75 * today
    assert not reads_apart("b200-sxm-180gb", "v6.0")


@pytest.mark.parametrize(
    ("benchmark", "gpu", "accelerators", "round", "precision", "published"),
    [
        ("llama2-70b-99", "H100-80GB-SXM", 16, "v5.1", "fp8", 62_352),
        ("llama3.1-405b", "H200-141GB-SXM", 8, "v5.1", "fp8", 552.8),
        ("llama3.1-405b", "GB200-NVL72", 4, "v5.1", "fp4", 855.8),
        ("deepseek-r1", "B200-SXM", 8, "v5.1", "fp4", 33_379),
        ("deepseek-r1", "GB300-NVL72", 8, "v5.1", "fp4", 48_047),
        ("whisper", "H200-141GB-SXM", 8, "v5.1", "fp16", 34_451),
        ("whisper", "B200-SXM", 8, "v5.1", "fp16", 45_333),
        ("dlrm-v2-99.9", "H200-141GB-SXM", 8, "v5.1", "int8", 389_330),
        ("dlrm-v2-99.9", "H100-80GB-PCIe", 8, "v4.1", "int8", 211_128),
        ("llama2-70b-99", "H100-94GB-NVL", 8, "v4.1", "fp16", 15_876),
        ("llama3.1-8b", "Xeon 6787P", 2, "v6.0", "int8", 807.7),
    ],
)
def test_results_that_no_row_of_ours_holds(benchmark, gpu, accelerators, round, precision, published):
    """Best of each system's kind in the logs of MLPerf Inference v4.1, v5.1 and v6.0, offline."""
    asked = {"benchmark": benchmark, "gpu": gpu, "accelerators": accelerators, "precision": precision}

    found = evaluate("serve_system", {**asked, "scenario": "Offline", "round": round}, "1/s")[0]

    assert found == pytest.approx(published, rel=0.15)


def test_stages_give_room_where_engines_have_them():
    """70 B in 8 bits fill one H100: two stages of TensorRT hold a batch, in v5.1 alone."""
    at = {"benchmark": "llama2-70b-99", "scenario": "Offline", "precision": "fp8"}
    h100 = {**at, "gpu": "H100-80GB-SXM", "accelerators": 16}

    older, newer = (serve_system(**h100, round=name)["1/s"] for name in ("v4.1", "v5.1"))
    assert newer > 1.25 * older  # 1.08 by the age of the engines alone
    ages = [filed_engines.age_of(name, "llama2-70b-99") for name in ("v4.1", "v5.1")]
    mi355x = {**at, "gpu": "MI355X", "accelerators": 8}
    older, newer = (serve_system(**mi355x, round=name)["1/s"] for name in ("v4.1", "v5.1"))
    assert newer / older == pytest.approx(ages[0] / ages[1])


@pytest.mark.parametrize(
    ("benchmark", "scenario", "chip", "round", "steps"),
    [
        ("llama2-70b-99.9", "Offline", "mi300x", "v5.1", 11.0),
        ("mixtral-8x7b", "Offline", "mi325x", "v5.1", 13.0),
        ("mixtral-8x7b", "Server", "mi325x", "v5.1", 10.0),
        ("llama2-70b-99", "Offline", "mi300x", "v4.1", 1.0),
        ("llama2-70b-99", "Interactive", "mi325x", "v5.1", 1.0),
        ("llama2-70b-99", "Offline", "h100-sxm-80gb", "v5.1", 1.0),
    ],
)
def test_steps_scheduled_at_once_are_those_of_the_files(benchmark, scenario, chip, round, steps):
    """num_scheduler_steps of AMD's configurations; vLLM 0.4.3 of v4.1 and its later engine have none."""
    assert filed_engines.interval_of(benchmark, chip, scenario, round) == steps


def test_mixtral_of_two_accelerators_that_differ_in_memory():
    """No constant is set on these four medians; prompts are thrown out where the cache is full alone."""
    filed = {("MI300X", "Offline"): 53_175.6, ("MI325X", "Offline"): 68_500.0}
    filed |= {("MI300X", "Server"): 47_803.1, ("MI325X", "Server"): 57_664.9}
    for (gpu, scenario), published in filed.items():
        asked = {"benchmark": "mixtral-8x7b", "gpu": gpu, "accelerators": 8, "round": "v5.1"}
        found = serve_system(**asked, scenario=scenario, precision="fp8")["1/s"]
        assert found == pytest.approx(published, rel=0.08), (gpu, scenario)

    few, many = (
        BenchmarkRun("mixtral-8x7b", chip, "fp8", 1.0, 1.0, 1.0, 9.0) for chip in ("mi300x", "mi325x")
    )
    again = [float(run._requests_read(run.held(1, 1), 1, 1, 1).input_tokens[0]) for run in (few, many)]
    # 0.01 of the cache is free for 572 tokens a request, which grow by 9 before they are looked at again.
    prompt, answer = 427.39, 144.84
    assert again[0] - prompt == pytest.approx(answer * (1.0 - 0.01 * (prompt + answer) / 9.0), rel=1e-3)
    assert again[1] == pytest.approx(prompt, rel=1e-3)


def test_an_accelerator_alone_has_its_host_for_itself():
    """H200 in v4.1: 15.41 samples/s of Llama 2 70B alone and 14.96 each of eight."""
    asked = {"benchmark": "llama2-70b-99", "gpu": "H200-141GB-SXM", "round": "v4.1", "precision": "fp8"}
    one, eight = (serve_system(**asked, scenario="Offline", accelerators=n)["1/s"] for n in (1, 8))
    assert 8.0 * one / eight == pytest.approx(15.409 / 14.963, rel=0.002)


def test_attention_of_some_engines_is_wide_where_tokens_are_written():
    """A quarter of Mixtral's tokens are written: matrices of 16 bits take 1.74 times those of 8."""
    narrow, wide = (
        BenchmarkRun("mixtral-8x7b", "mi300x", "fp8", 1.0, wide_attention=said).parts(1, 1)
        for said in (False, True)
    )
    ratio = float(wide["chip"].matrix_fraction / narrow["chip"].matrix_fraction)
    written = 144.84 / (427.39 + 144.84)
    assert 1.0 / ratio == pytest.approx(1.0 + written * (0.487 * 2614 / (0.56 * 1307) - 1.0), rel=1e-3)
    for name in ("grouped_fraction", "weight_read_fraction"):
        assert getattr(wide["chip"], name) == getattr(narrow["chip"], name)
    assert wide["model"] == narrow["model"]
    assert filed_engines.wide_attention_of("mixtral-8x7b", "mi300x", "Server")
    assert not filed_engines.wide_attention_of("mixtral-8x7b", "mi300x", "Offline")


def test_what_is_filed_in_16_bits_runs_in_8_where_it_can():
    """Llama 2 70B of v4.1: fp16 by name, FP8 by its configuration; A100 has no unit for it."""
    asked = {"benchmark": "llama2-70b-99.9", "scenario": "Offline", "accelerators": 4, "round": "v4.1"}

    assert serve_system(**asked, gpu="L40S", precision="fp16") == serve_system(
        **asked, gpu="L40S", precision="fp8"
    )
    assert serve_system(**asked, gpu="A100-80GB-SXM", precision="fp16") == serve_system(
        **asked, gpu="A100-80GB-SXM", precision="bf16"
    )
    assert filed_engines.filed_precision(None, "b200-sxm-180gb", "llama2-70b-99") == "nvfp4"
    assert filed_engines.filed_precision(None, "b200-sxm-180gb", "whisper") == "bf16"


def test_engines_of_one_maker_file_what_their_values_are():
    """Intel's scripts: weights of 4 bits by values of 8, whatever was filed; a Xeon's Whisper is in 8."""
    for filed in ("int8", "uint4"):
        assert filed_engines.filed_precision(filed, "arc-pro-b60", "llama2-70b-99") == "w4int8"
    assert filed_engines.filed_precision("int4", "xeon-6980p", "llama3.1-8b") == "w4int8"
    assert filed_engines.filed_precision("int8", "xeon-6980p", "whisper") == "int8"
    assert filed_engines.filed_precision("int4", "l4-24gb", "llama3.1-8b") == "w4a16"


def test_tensorrt_keeps_some_weights_of_mixtral_in_16_bits():
    """effective_bits 8.75 in the configurations of five companies; AMD's engine converts all of them."""
    kept = BenchmarkRun("mixtral-8x7b", "h200-sxm-141gb", "fp8", 1.0)
    parts, whole = kept.parts(1, 1), BenchmarkRun("gptj-99", "h200-sxm-141gb", "fp8", 1.0)
    model, chip, plain = parts["model"], parts["chip"], whole.parts(1, 1)["chip"]
    assert 8.0 * float(model.weight_bytes) == pytest.approx(8.75, rel=0.001)
    # 16-bit kernels reach 0.84 of half the peak, those of 8 bits 0.703 of the whole: 1/(0.906 + 0.094 1.67).
    assert float(chip.matrix_fraction / plain.matrix_fraction) == pytest.approx(0.9406, rel=0.001)
    assert kept.held(1, 1) < 2288.0
    assert whole.wide_fraction == 0.0
    assert BenchmarkRun("mixtral-8x7b", "mi325x", "fp8", 1.0).wide_fraction == 0.0
    assert BenchmarkRun("mixtral-8x7b", "b200-sxm-180gb", "nvfp4", 1.0).wide_fraction == 0.0


def test_layers_of_llama_on_arc_lie_on_stages_in_a_row():
    """PP=4 and TP=1 offline: a ring over PCI Express would take a third of the rate."""
    run = BenchmarkRun("llama2-70b-99", "arc-pro-b60", "w4int8", 1.0)
    assert run.stages("v6.0") == (1, 2, 4)
    assert BenchmarkRun("gpt-oss-120b", "arc-pro-b60", "w4a16", 1.0).stages("v6.0") == (1,)
    each = {(tp, p): run.tokens_per_s(tp, 1, "Offline", p) for tp, p in ((1, 4), (4, 1), (2, 2))}
    assert max(each, key=lambda at: each[at]) == (1, 4)


def test_within_targets_a_processor_runs_a_replica_on_each_die():
    """Three of a Xeon 6980P, each with a third of its memory and rates, and none on two processors."""
    whole = BenchmarkRun("llama3.1-8b", "xeon-6980p", "w4int8", 1.0)
    cut = BenchmarkRun("llama3.1-8b", "xeon-6980p", "w4int8", 1.0, 1.0, 3.0)
    assert filed_engines.pieces_of("xeon-6980p", "Server") == 3.0
    assert filed_engines.pieces_of("xeon-6980p", "Offline") == 1.0
    assert cut.layouts(2) == [(1, 1)]
    assert cut.held(1, 1) < whole.held(1, 1)
    # What waits for a prompt reads it three times as long, so that more than a third is lost.
    assert cut.tokens_per_s(1, 1, "Server") < whole.tokens_per_s(1, 1, "Server") / 3.0


CHAT = {"avg_batch": 32, "avg_output_tokens": 390, "weights": "bfloat16", "engine": "vLLM"}


@pytest.mark.parametrize(
    ("quantity", "unit", "plain", "spelled"),
    [
        (
            "serve_decode",
            "1/s",
            {**CHAT, "model": "Qwen 3 8B", "gpu": "H100-80GB-SXM"},
            {**CHAT, "model": "Qwen/Qwen3-8B", "gpu": "NVIDIA H100 SXM5 80GB", "engine": "vLLM 0.11.2"},
        ),
        (
            "node_power_idle",
            "W",
            {"node": "8x H200 SXM", "workload": "idle", "nodes": 1},
            {"node": "8xH200-SXM-141GB", "workload": "idle", "nodes": 1},
        ),
        (
            "train_mfu",
            "1",
            {"accelerator": "TPU v6e", "model": "Llama2-70B", "seq": "4096 (Llama2) / 8192 (Llama3.1)"},
            {"accelerator": "Google Trillium", "model": "Llama-2-70b-hf", "seq": 4096},
        ),
        (
            "serve_system",
            "samples/s",
            {"benchmark": "gptj-99", "scenario": "Server", "gpu": "H100-80GB-SXM", "gpus": 8},
            {"benchmark": "gptj-99.9", "scenario": "Server", "gpu": "HGX H100 80GB", "gpus": 8},
        ),
        (
            "train_dlrm_system",
            "samples/s",
            {"model": "DLRM-dcnv2 (MLPerf)", "gpu": "B200-SXM", "gpus": 8, "global_batch": 55296},
            {"model": "dlrm dcnv2", "gpu": "b200-sxm-180GB", "gpus": 8, "global_batch": 55296},
        ),
    ],
)
def test_a_name_is_one_however_it_is_spelled(quantity, unit, plain, spelled):
    """Owner, maker, edition, memory, spaces and hyphens change no answer."""
    assert ours(quantity, unit, **spelled) == pytest.approx(ours(quantity, unit, **plain), rel=1e-12)


@pytest.mark.parametrize(
    "gpu", ["V100-16GB", "H100 SXM5 500W", "GB200 NVL4", "A100 80GB MIG 3g.40gb", "A100-80GB-PCIe"]
)
def test_another_memory_power_or_slice_is_another_accelerator(gpu):
    with pytest.raises(NotUnderstood, match=f"no accelerator '{gpu}'"):
        ours("serve_decode", **CHAT, model="Qwen3-8B", gpu=gpu)


def test_requests_a_second_are_no_tokens():
    """An answer of Whisper has many tokens; samples and queries are as many as answers."""
    asked = {"benchmark": "whisper", "scenario": "Offline", "gpu": "L40S", "gpus": 8, "round": "v5.1"}

    tokens, samples, queries = (
        ours("serve_system", unit, **asked) for unit in ("tokens/s", "samples/s", "queries/s")
    )
    assert samples == queries
    assert tokens == pytest.approx(samples * constant("benchmark.whisper.output_tokens", "tokens"))


@pytest.mark.parametrize(
    ("gpu", "gpus", "batch", "published"),
    [("H200-141GB-SXM", 64, 256, 5_121), ("GB200-NVL72", 512, 1536, 54_900), ("B200-SXM", 8, 256, 2_165)],
)
def test_short_steps_of_an_image_model(gpu, gpus, batch, published):
    """MLPerf Training v5.0, Stable Diffusion v2: steps of 28 to 118 ms, of which the host takes 16."""
    asked = {"model": "SD v2", "gpu": gpu, "gpus": gpus, "global_batch": batch}

    assert ours("train_diffusion_system", "samples/s", **asked) == pytest.approx(published, rel=0.08)


def test_nodes_and_hours_say_what_gpus_and_days_do():
    """33 failures of 128 nodes in 100 days: 2.578 in 1000 node-days, and a job on them fails each 72.7 h."""
    counted = ours("failure_rate", "failures per 1000 node-days", gpus=1024, days=100, interruptions=33)
    rate = {"failures_per_1000_node_days": counted}

    assert counted == pytest.approx(33 / 12.8)
    assert ours("failure_rate", "failures per 1000 node-days", nodes=128, hours=2400, failures=33) == counted
    assert ours("job_mttf", "h", nodes=128, **rate) == pytest.approx(2400 / 33)
    assert ours(
        "job_water", "m3", gpu_mwh=1, pue=1.0, wue_onsite=0, wue_offsite_l_per_kwh=2
    ) == pytest.approx(2.0)
    with pytest.raises(NotUnderstood, match="either gpus or nodes"):
        ours("job_mttf", "h", nodes=128, gpus=1024, **rate)
