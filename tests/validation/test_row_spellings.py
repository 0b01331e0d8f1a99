"""What rows may leave out, and how else they may say a thing: the answer is that of the full row."""

import pytest

from planner.validation.carbon import grid_called
from planner.validation.datasets import NeedsData, looking_in
from planner.validation.forms import NotUnderstood
from planner.validation.nodes import node_serving
from planner.validation.registry import evaluate, in_unit
from planner.validation.replicas import serve_system

SHAPE = {
    "layers": 80,
    "hidden": 8192,
    "heads": 64,
    "kv_heads": 8,
    "ffn": 28672,
    "gated_mlp": True,
    "vocab": 128256,
}
LAID = {
    "gpu": "H100-80GB-SXM",
    "gpus": 64,
    "tp": 4,
    "pp": 4,
    "micro_batch": 1,
    "seq": 8192,
    "global_batch": 128,
    "dtype": "fp8",
    "dp_sharding": "none_or_optimizer",
}


def ours(quantity, unit="1", **inputs):
    return evaluate(quantity, inputs, unit)[0]


def test_a_name_next_to_a_shape_describes_it():
    """Layers and widths say what runs; the name of the model changes nothing."""
    rate = ours("train", "tokens/s/GPU", **LAID, **SHAPE, recompute="none")

    assert ours("train", "tokens/s/GPU", **LAID, **SHAPE, recompute="none", model="Llama 3.1 70B") == rate


def test_what_is_recomputed_may_be_left_out_of_a_shape_as_of_a_name():
    """Nothing is where it fits in memory: 70 B over 64 accelerators of 80 GB does."""
    said = ours("train", "tokens/s/GPU", **LAID, **SHAPE, recompute="none")

    assert ours("train", "tokens/s/GPU", **LAID, **SHAPE) == said


@pytest.mark.parametrize(("word", "same"), [("FSDP2", "zero3"), ("optimizer", "zero1"), ("DDP", "none")])
def test_sharding_by_the_words_of_stacks(word, same):
    """PyTorch says FSDP2 for weights over all ranks, DDP for none."""
    laid = {**LAID, "pp": 1, "tp": 8}
    one, other = (
        ours("train", "tokens/s/GPU", **{**laid, **SHAPE, "dp_sharding": name}, recompute="full")
        for name in (word, same)
    )

    assert one == other


@pytest.mark.slow
def test_a_step_ratio_of_a_model_by_its_name():
    """A dense model by its name or by its shape: the same step, so the same ratio."""
    sizes = {"anchor_gpus": 32, "anchor_global_batch": 128}
    shaped = ours("train_step_ratio", **LAID, **SHAPE, **sizes, recompute="none")

    named = ours("train_step_ratio", **LAID, **sizes, model="Llama 3.1 70B", recompute="none")
    assert named == pytest.approx(shaped, rel=0.02)


@pytest.mark.slow
def test_a_system_by_the_name_of_its_model():
    """8 B of Llama by its shape, and by its name, whose sequence the benchmark fixes."""
    shape = {**SHAPE, "layers": 32, "hidden": 4096, "heads": 32, "ffn": 14336}
    run = {"gpu": "B200-SXM", "gpus": 8, "global_batch": 32, "dtype": "fp8", "model": "Llama 3.1 8B"}
    shaped = ours("train_system", "sequences/s (system)", **run, **shape, seq=8192)

    assert ours("train_system", "sequences/s (system)", **run) == pytest.approx(shaped, rel=0.02)
    with pytest.raises(NotUnderstood, match="seq is needed"):
        ours("train_system", "sequences/s (system)", **{**run, "model": "Qwen3-32B"})


@pytest.mark.slow
def test_adapters_by_either_name():
    """The kind says that adapters are trained; the name may say it again, and the benchmark fixes 8,192."""
    run = {"gpu": "B200-SXM", "gpus": 8, "global_batch": 8, "dtype": "fp8"}
    said = ours("finetune_lora_system", "samples/s", **run, model="Llama2 70B", seq=8192)

    assert ours("finetune_lora_system", "samples/s", **run, model="Llama2 70B LoRA") == said


def test_images_scale_from_an_anchor_too():
    """Eight times the accelerators at eight times the batch: nearly eight times the samples."""
    anchor = {"anchor_gpus": 8, "anchor_global_batch": 256, "anchor_value": 100.0}
    run = {"model": "FLUX.1", "gpu": "B200-SXM", "gpus": 64, "global_batch": 2048}

    assert 600 < ours("scale_from_anchor", "samples/s (system)", **run, **anchor) < 800
    with pytest.raises(NotUnderstood, match="scores or images takes no seq"):
        ours("scale_from_anchor", "samples/s", **{**run, "model": "DLRM-dcnv2"}, **anchor, seq=8192)


@pytest.mark.parametrize(
    ("unit", "per"),
    [("billions", 1e9), ("1e9", 1e9), ("trillion", 1e12), ("count", 1)],
)
def test_large_counts_are_in_the_words_of_their_unit(unit, per):
    """A row in billions is no row in ones."""
    counted = ours("model_parameters", "1", **SHAPE)

    assert ours("model_parameters", unit, **SHAPE) == pytest.approx(counted / per)


def test_collectives_are_spelled_in_many_ways():
    """NCCL says AllReduce."""
    link = {
        "algorithm": "ring",
        "ranks": 8,
        "size_gb": 1.0,
        "bandwidth_gb_per_s": 100.0,
        "latency_s": 1e-6,
    }
    times = {
        ours("collective_time", "s", collective=name, **link)
        for name in ("all_reduce", "AllReduce", "all-reduce")
    }

    assert len(times) == 1


@pytest.mark.slow
def test_a_node_without_a_rate_serves_at_the_best_of_ours():
    """What `serve_system` gives for its eight accelerators, and the power at that rate."""
    best = serve_system(benchmark="llama3.1-8b", scenario="Server", gpu="L40S", accelerators=8)["1/s"]
    said = node_serving(workload="llama3.1-8b Server", node="8x L40S", tokens_per_s=best)

    assert node_serving(workload="llama3.1-8b Server", node="8x L40S") == pytest.approx(said)


def test_models_made_for_code_read_the_code_around_a_gap():
    """Qwen3-Coder is Qwen3-30B-A3B by its weights: it answers a chat as fast, and its own task slower.

    ML.ENERGY v3, Sourcegraph task, one B200, 127 requests at once: 4,110 tokens/s, and ours within a fifth.
    """
    run = {"gpu": "B200-SXM", "tp": 1, "ep": 1, "avg_batch": 127.05, "avg_output_tokens": 254.6}
    run |= {"weights": "bfloat16", "engine": "vLLM"}
    chat = ours("serve_decode", "output tokens/s", **run, model="Qwen 3 30B A3B Instruct")
    code = ours("serve_decode", "output tokens/s", **run, model="Qwen 3 Coder 30B A3B")

    assert code < chat
    assert code == pytest.approx(127.05 / 0.0309, rel=0.2)
    stated = ours("serve_decode", "output tokens/s", **run, model="Qwen 3 Coder 30B A3B", input_tokens=90)
    assert stated == pytest.approx(chat)


def test_a_node_that_trains_a_model_in_other_words():
    """Adapters of Llama 2 70B by a name without its format draw what the listed workload does, within 3 %."""
    node = {"node": "8x B200 SXM", "nodes": 1}
    listed = ours("node_power_train", "W", workload="Llama2-70B LoRA FP8", **node)

    assert ours("node_power_train", "W", workload="Llama2-70B LoRA", **node) == pytest.approx(
        listed, rel=0.03
    )
    dense = ours("node_power_train", "W", workload="Llama 3.1 8B NVFP4 training", **node)
    assert 0.8 * listed < dense < 1.1 * listed
    with pytest.raises(NotUnderstood, match="no step model of the workload 'chess'"):
        ours("node_power_train", "W", workload="chess", **node)


@pytest.mark.parametrize(
    ("region", "grid"),
    [
        ("CAMX", "us-camx"),
        ("us-CAMX", "us-camx"),
        ("us-central1", "gcp-us-central1"),
        ("aws/us-east-1", "us-srvc"),
        ("France", "fr"),
        ("United States", "us"),
    ],
)
def test_a_grid_by_the_names_that_people_write(region, grid):
    """Subregions of EPA, regions of clouds, and countries are one grid each; nothing is guessed."""
    assert grid_called(region) == grid
    with pytest.raises(NotUnderstood, match="no one grid 'Atlantis'"):
        grid_called("Atlantis")


def test_a_factor_of_another_year_is_refused_or_read(shared):
    """Ember by Our World in Data: France had 53.26 g/kWh in 2023 and 40.48 in 2024."""
    asked = {"region": "France"}

    with looking_in([shared / "data"]):
        found = [evaluate("grid_intensity", {**asked, "year": y}, "g/kWh")[0] for y in (2023, 2024)]
        by_code = evaluate("grid_intensity", {"region": "FRA", "year": 2023}, "g/kWh")[0]
    assert found == pytest.approx([53.26, 40.48])
    assert by_code == found[0]
    with looking_in([]), pytest.raises(NeedsData):
        evaluate("grid_intensity", {"region": "France", "year": 2023}, "g/kWh")


def test_causes_of_repairs_as_the_paper_prints_them(shared):
    """Schroeder and Gibson, DSN 2006, Table 2: what the file calls Facilities and Undetermined."""
    printed = {"Environment": 572, "Human": 163, "Network": 247, "Unknown": 398, "Hardware": 342}

    with looking_in([shared / "data"]):
        ours = {one: evaluate("mean_repair", {"cause": one}, "min")[0] for one in printed}
        whole = {"system_in_file": 2, "from": "2000-01-01", "to": "2005-11-30"}
        shape, _ = evaluate("weibull_shape_tbf", whole, "shape")
    assert ours == pytest.approx(printed, rel=0.02)
    assert shape == pytest.approx(0.78, abs=0.06)  # figure 6(d): failures of the whole system


def test_gas_of_a_node_that_is_published_at_one_abatement():
    """SC'23 gives 12 and 6 nm the gases at 95 % alone: V100 by ACT's equation, 815 mm2."""
    card = {"area_cm2": 8.15, "ci_fab": 583, "fab_yield": 0.875, "mem_gb": 32, "mem_g_per_gb": 65}

    ours, _ = evaluate(
        "embodied_act", {**card, "node": "12nm", "gpa": "95%", "ics": 26, "pkg_g": 150}, "kgCO2e"
    )
    assert ours == pytest.approx(19.949, rel=1e-3)
    with pytest.raises(NotUnderstood, match=r"die\.n12\.gas_99"):
        evaluate("embodied_act", {**card, "node": "12nm", "ics": 26, "pkg_g": 150}, "kgCO2e")


def test_area_by_any_name_and_hours_of_several():
    engine = {"node": "4N", "hbm_gb": 80, "tdp_w": 700}
    named = ({"die_cm2": 8.14}, {"die_mm2": 814}, {"area_mm2": 814, "mem_type": "HBM3"})

    found = {round(evaluate("embodied_component_engine", {**engine, **one}, "kg")[0], 6) for one in named}
    assert len(found) == 1
    life = {"gpu_kg": 164, "lifetime_years": 4}
    days = evaluate("embodied_amortised", {**life, "gpus": 8, "days": 10}, "kg")[0]
    assert days == pytest.approx(evaluate("embodied_amortised", {**life, "gpu_hours": 1920}, "kg")[0])
    water = {"power_w": 500, "pue": 1.1, "wue_onsite": 0.2, "wue_offsite_l_per_kwh": 1.8}
    litres = ours("job_water", "L", **water, gpus=8, days=10)
    assert litres == pytest.approx(ours("job_water", "L", **water, gpu_hours=1920))
    assert litres == pytest.approx(960 * (0.2 + 1.1 * 1.8))
    with pytest.raises(NotUnderstood, match="not gpu_hours and gpus"):
        evaluate("embodied_amortised", {**life, "gpus": 8, "gpu_hours": 1920}, "kg")


@pytest.mark.parametrize(
    ("own", "unit", "value"),
    [
        ("h", "million GPU-hours", 1e-6),
        ("kgCO2e", "metric tons", 1e-3),
        ("kgCO2e", "tCO2eq", 1e-3),
        ("kgCO2e", "g", 1e3),
        ("kgCO2e/kWh", "gCO2eq/kWh", 1e3),
        ("kgCO2e/kWh", "kg/MWh", 1e3),
        ("1/h", "failures/day", 24.0),
        ("kgCO2e/y", "t/y", 1e-3),
    ],
)
def test_units_as_cards_and_reports_write_them(own, unit, value):
    assert in_unit({own: 1.0}, unit) == pytest.approx(value)
