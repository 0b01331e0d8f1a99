"""Training software by chip and precision: ceilings, sense, published recipes."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.studies import fit
from planner.inputs.loading import load_catalogue
from planner.inputs.software import default_stack, stack_named, stacks
from planner.performance.bundles import Links, Waits, bundled, memory_bundles, step_bundles
from planner.performance.communication import (
    context_exchange_s,
    context_imbalance_ratio,
    used_link_fraction,
)
from planner.performance.diffusion import DenoiserStep, diffusion_training_step
from planner.performance.hardware import precision_factor
from planner.performance.memory import kept_fraction, training_memory_parts
from planner.performance.training import training_step_s
from planner.physics.training_step import (
    AS_FAST,
    OUTSIDE_STEP,
    computes_in,
    hardware_arguments,
    layout_of,
    peak,
    step_arguments,
    without_precision,
)
from planner.trace.errors import InputError
from planner.validation.forms import NotUnderstood, unbundled
from planner.validation.performance import MEMORY, searched_model_rate, train_model
from planner.validation.registry import evaluate

CATALOGUE = load_catalogue()
TRAINING = sorted({sku.accelerator for sku in CATALOGUE.skus.values() if sku.trains})
LLAMA = {
    "model": "llama-3.1-70b",
    "accelerators": 64,
    "tp": 2,
    "pp": 4,
    "interleave": 5,
    "global_batch": 256,
    "micro_batch": 1,
    "sequence_tokens": 8192,
    "dp_sharding": "none_or_optimizer",
    "recompute": "none",
}
DEEPSEEK = {
    "model": "DeepSeek-V3",
    "accelerators": 256,
    "tp": 1,
    "pp": 4,
    "interleave": 4,
    "global_batch": 4096,
    "micro_batch": 1,
    "sequence_tokens": 4096,
    "dp_sharding": "none_or_optimizer",
    "dtype": "mxfp8",
}


def step_of(accelerator, precision, model="llama-3.1-70b", **change):
    layout = {
        "accelerators": 64,
        "global_batch": 256,
        "sequence_tokens": 8192,
        "tp": 2,
        "pp": 2,
        "interleave": 1,
        "cp": 1,
        "micro_batch": 1,
        "recompute": 0,
        "sharding": 1,
    }
    nodes = step_arguments(CATALOGUE, model, accelerator, precision)
    left = {name: node.value for name, node in nodes.items() if name not in OUTSIDE_STEP}
    return training_step_s(**step_bundles(left | layout | change))


# ---- every chip, every precision


@pytest.mark.parametrize("accelerator", TRAINING)
def test_no_chip_computes_faster_than_its_peak(accelerator):
    """Matrices of a step never run above the dense peak of their precision, and narrower is never slower."""
    steps = {}
    for precision in computes_in(CATALOGUE, accelerator):
        step = step_of(accelerator, precision)
        flops = 6.0 * 70.0e9 * 256 * 8192 / 64 * 0.97  # less the tables; the output layer is not in the term
        rate = flops / float(step.matrix_s) / 1e12
        assert rate < peak(CATALOGUE, accelerator, precision).value, precision
        steps[precision] = float(step.total_s)
    if (
        "fp8" in steps
        and peak(CATALOGUE, accelerator, "fp8").value > peak(CATALOGUE, accelerator, "bf16").value
    ):
        assert steps["fp8"] < steps["bf16"]
        assert steps["mxfp8"] == steps["fp8"]
    if "nvfp4" in steps:
        assert steps["nvfp4"] <= steps["fp8"]


@given(
    st.sampled_from(["h100-sxm-80gb", "b200-sxm-180gb", "mi355x", "tpu-v7", "l40s"]),
    st.sampled_from(["memory_gb_per_s", "link_gb_per_s", "network_gb_per_s", "matrix_tflop_per_s"]),
    st.floats(1.01, 4.0),
)
def test_more_of_a_chip_is_never_slower(accelerator, name, factor):
    """Bandwidth of memory, link and network, and the peak of the precision."""
    nodes = step_arguments(CATALOGUE, "llama-3.1-70b", accelerator, "bf16")
    before = nodes[name].value
    plain = float(step_of(accelerator, "bf16", cp=2).total_s)

    assert float(step_of(accelerator, "bf16", cp=2, **{name: before * factor}).total_s) <= plain * (1 + 1e-12)


def test_precisions_that_a_chip_lacks_are_named():
    assert computes_in(CATALOGUE, "a100-sxm-80gb") == ("bf16", "fp16")
    assert "nvfp4" in without_precision(CATALOGUE, "h100-sxm-80gb", "nvfp4")
    assert without_precision(CATALOGUE, "gb300-nvl72", "nvfp4") == ""
    with pytest.raises(NotUnderstood, match=r"dtype must be one of bf16, .*, got 'int4'"):
        unbundled(train_model)(**LLAMA, gpu="B200", dtype="int4")


def test_shares_of_the_peak_belong_to_a_precision():
    """Where nothing was fitted the chip's own measured share counts; calibrating it moves all precisions."""
    measured = hardware_arguments(CATALOGUE, "mi300x", "fp8")["precision_factor"].value
    facts = {p: CATALOGUE.fact(f"accelerator.mi300x.matrix_efficiency{p}").value for p in ("", "@fp8")}

    assert measured == pytest.approx(facts["@fp8"] / facts[""], rel=1e-12)
    assert precision_factor(narrow_efficiency_fraction=0.3, efficiency_fraction=0.6) == 0.5


# ---- software


def test_every_chip_has_its_newest_software():
    named = {"tpu-v6e": "maxtext", "mi355x": "primus", "b200-sxm-180gb": "megatron-2026", "l40s": "modern"}

    assert {chip: default_stack(chip).name for chip in named} == named
    assert default_stack("something new").name == "modern"
    for stack in stacks().values():
        for chip in TRAINING:
            for width in ("bf16", "fp8", "fp4"):
                assert all(CATALOGUE.has(key) for key in stack.replaced(chip, width).values()), stack.name
    with pytest.raises(InputError, match=r"software must be one of .* got 'unheard'"):
        stack_named("unheard")


def test_torchtitan_is_slower_than_megatron():
    """Published: 0.70 to 0.75 of it on dense models, 0.20 to 0.28 on a large mixture of experts."""
    dense = LLAMA | {
        "gpu": "H200",
        "dtype": "fp8",
        "model": "llama-3.1-8b",
        "tp": 1,
        "pp": 1,
        "interleave": 1,
    }
    dense |= {"accelerators": 32, "global_batch": 64, "micro_batch": 2, "dp_sharding": "fsdp"}
    experts = DEEPSEEK | {"gpu": "B200", "pp": 1, "interleave": 1, "ep": 64, "dp_sharding": "fsdp"}

    ratios = [
        unbundled(train_model)(**row, software="torchtitan")
        / unbundled(train_model)(**row, software="megatron-2026")
        for row in (dense, experts)
    ]
    assert 0.66 <= ratios[0] <= 0.80
    assert 0.2 <= ratios[1] <= 0.45


@pytest.mark.parametrize(("name", "most"), [("dense", 0.06), ("experts", 0.17)])
def test_spare_points_are_met_by_each_software(name, most):
    """Runs of 2025 and 2026 on the layouts that ran: shipped constants, and each run from the others."""
    errors = {key: each for key, each in fit.stack_errors(layouts_only=True).items() if key.endswith(name)}

    assert sum(each.size for each in errors.values()) >= 12
    assert np.mean([np.abs(np.expm1(each)).mean() for each in errors.values()]) < most
    assert max(np.median(np.abs(np.expm1(fit.without_each(each)))) for each in errors.values()) < 0.25


# ---- links and layouts


RING = {
    "rank_tokens": 4096.0,
    "key_width": 1024.0,
    "tp": 2.0,
    "links": Links(
        link_domain=8.0,
        link_gb_per_s=450.0,
        network_gb_per_s=50.0,
        link_efficiency_fraction=0.8,
        network_efficiency_fraction=0.5,
    ),
    "collective_latency_s": 20e-6,
}


def test_the_ring_costs_what_attention_does_not_hide():
    """By hand: three parts of 8.4 MB over 360 GB/s, a latency each; beside attention only its ends show."""
    part_s = 4096 * 2 * 1024 / 2 * 2 / 360e9 + 20e-6
    alone = context_exchange_s(**RING, cp=4.0, attention_s=0.0, exposed_fraction=0.2)
    reference = context_exchange_s(**RING, cp=4.0, attention_s=1.0, exposed_fraction=0.2)

    assert alone == pytest.approx(3 * part_s, rel=1e-12)
    assert reference == pytest.approx(0.2 * 3 * part_s, rel=1e-12)
    assert context_exchange_s(**RING, cp=1.0, attention_s=0.0, exposed_fraction=1.0) == 0
    assert context_exchange_s(**RING, cp=8.0, attention_s=0.0, exposed_fraction=1.0) > 2 * alone


def test_a_group_in_a_mesh_of_pairs_uses_the_links_between_its_members_alone():
    """Seven links of eight MI300X: two reach one, as measured (48 of 448 GB/s), eight all of them."""
    two, four, eight, switched = (
        used_link_fraction(members=m, pair_link_fraction=f)
        for m, f in ((2.0, 1 / 7), (4.0, 1 / 7), (8.0, 1 / 7), (2.0, 1.0))
    )
    ring = {**RING, "cp": 2.0, "attention_s": 0.0, "exposed_fraction": 0.0}
    part_s = 4096 * 2 * 1024 / 2 * 2 / 360e9

    assert (two, four, eight, switched) == pytest.approx((1 / 7, 3 / 7, 1.0, 1.0), rel=1e-12)
    assert context_exchange_s(**ring, pair_link_fraction=1 / 7) == pytest.approx(7 * part_s + 20e-6)


@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_the_last_rank_of_an_uneven_ring_attends_to_the_whole_text(ranks):
    """Counted: of 8 queries a rank, the last rank's see the most keys; pieces from both ends see the same."""
    seen = np.arange(8 * ranks) + 0.5  # keys of each query, the query's own by half
    uneven = seen.reshape(ranks, 8).sum(axis=1)
    ends = seen.reshape(2 * ranks, 4).sum(axis=1)
    even = ends[:ranks] + ends[ranks:][::-1]

    for share, held in ((1.0, uneven), (0.0, even)):
        found = context_imbalance_ratio(cp=float(ranks), causal=1.0, imbalance_fraction=share)
        assert found == pytest.approx(held.max() / held.mean(), rel=1e-12)
    assert context_imbalance_ratio(cp=float(ranks), causal=0.0, imbalance_fraction=1.0) == 1.0


def test_a_small_model_is_not_split_along_its_sequence():
    """3 B active at 4,096 tokens: nobody splits that, and what is as fast within 2 % is simple."""
    found = layout_of(
        step_arguments(CATALOGUE, "qwen3-30b-a3b", "h100-sxm-80gb", "bf16"),
        accelerators=64,
        global_batch=1024,
        sequence_tokens=4096,
        memory_gb=80.0,
        usable_fraction=0.92,
        as_fast_fraction=CATALOGUE.fact(AS_FAST).value,
    )
    assert found.cp == 1


def test_a_rack_of_fast_links_pays_for_experts():
    """Exchange inside NVLink: GB300 is published at 1.5 to 1.8 times B300, which spreads over nodes."""
    wide = unbundled(train_model)(**DEEPSEEK, gpu="GB300", ep=64)
    node = unbundled(train_model)(**DEEPSEEK, gpu="B300", ep=64)

    assert 1.05 < wide / node < 2.0


def test_a_layout_for_experts_is_planned_too():
    rate = searched_model_rate(
        model="Qwen3-30B-A3B",
        gpu="B200",
        accelerators=8,
        global_batch=512,
        sequence_tokens=4096,
        dtype="mxfp8",
    )
    assert 15_000 < rate < 40_000  # 18,066 in 2025, 27,136 in 2026


# ---- kinds that came with them


DENOISER = {
    "samples": 4.0,
    "parameters": 1e9,
    "accelerators": 64.0,
    "sharded": 0.0,
    "optimizer_bytes": 18.0,
    "memory_gb_per_s": 3350.0,
    "memory_efficiency_fraction": 0.85,
    "link_domain": 8.0,
    "link_gb_per_s": 450.0,
    "network_gb_per_s": 50.0,
    "link_efficiency_fraction": 0.8,
    "network_efficiency_fraction": 0.5,
    "fsdp_latency_s": 50e-6,
    "fsdp_exposed_fraction": 0.2,
    "data_parallel_hidden_fraction": 0.8,
    "fixed_s": 0.03,
    "scale_drag_ratio": 0.0,
}


def test_a_denoiser_trains_three_passes_and_exchanges():
    """By hand on one accelerator: three passes of four samples, the update and the host."""
    operators = np.array([0.004, 0.001])

    def step(**other: float) -> DenoiserStep:
        said = {"operator_s": operators, **DENOISER, **other}
        return diffusion_training_step(**bundled(said, links=Links, waits=Waits))

    alone, copies, sharded = step(accelerators=1.0), step(), step(sharded=1.0)

    assert alone.total_s == pytest.approx(3 * 4 * 0.005 + 18e9 / (3350e9 * 0.85) + 0.03, rel=1e-9)
    assert (alone.computing_s, alone.elementwise_s) == pytest.approx((3 * 4 * 0.004, 3 * 4 * 0.001))
    for one in (copies, sharded):
        assert one.total_s > 3 * 4 * 0.005 + 0.03
        assert sum(getattr(one, f.name) for f in fields(one) if f.name != "total_s") == pytest.approx(
            one.total_s
        )


def test_benchmarks_of_images_are_answered():
    row = {"model": "Stable Diffusion v2", "gpu": "H200-141GB-SXM", "global_batch": 256}
    eight, _ = evaluate("train_diffusion_system", row | {"accelerators": 8}, "samples/s (system)")

    assert eight == pytest.approx(1151, rel=0.2)  # MLPerf Training v5.0, from its logs
    with pytest.raises(NotUnderstood, match="no diffusion 'Dali'"):
        evaluate("train_diffusion_system", row | {"accelerators": 8, "model": "Dali"}, "samples/s")
    with pytest.raises(NotUnderstood, match="is less than one sample for each"):
        evaluate("train_diffusion_system", row | {"accelerators": 512}, "samples/s")


def test_the_strategy_of_the_peer_changes_its_step():
    """Sharded dense layers are gathered first; a strategy that says neither, or both, is refused."""
    row = {
        "model": "DLRM-I",
        "gpu": "A100-40GB",
        "accelerators": 128,
        "params": 332e9,
        "dense_fraction": 0.001,
        "mflops_per_sample": 600.0,
        "lookup_MB_per_sample": 5.0,
        "local_batch": 512,
        "flops_util": 0.705,
        "hbm_util": 0.836,
        "nvlink_util": 0.667,
        "roce_util": 0.56,
    }
    copied, _ = evaluate("train_dlrm_peer", row | {"strategy": "dense DDP, tables split"}, "ms/iteration")
    sharded, _ = evaluate("train_dlrm_peer", row | {"strategy": "dense FSDP, tables split"}, "ms/iteration")
    rate, _ = evaluate("train_dlrm_peer", row, "1/s")

    assert sharded > copied
    assert rate == pytest.approx(128 * 512 / copied * 1000, rel=1e-9)
    for strategy in ("tensor parallel", "DDP and FSDP"):
        with pytest.raises(NotUnderstood, match="strategy says DDP or FSDP"):
            evaluate("train_dlrm_peer", row | {"strategy": strategy}, "s")


def test_the_peers_sharded_step_lies_between_its_parts():
    """Two streams: no shorter than the longer of work and sending, no longer than both in turn."""
    row = {"layers": 80, "hidden": 8192, "ffn": 21846, "nvlink_util": 0.6667, "roce_util": 0.56}
    more = {"seq": 2048, "local_batch": 1, "peak_tflop_per_s": 312, "flops_util": 0.705}
    sent, _ = evaluate("train_fsdp_collectives_peer", row, "s")
    lazy, _ = evaluate("train_fsdp_step_peer", row | more | {"prefetch": False}, "s")
    eager, _ = evaluate("train_fsdp_step_peer", row | more | {"prefetch": True}, "s")
    work = 3 * 80 * 2.0 * 2048 * (4 * 8192**2 + 2 * 8192 * 21846 + 2048 * 8192) / (312e12 * 0.705)

    assert max(work, sent) < eager < lazy < work + sent


def test_scaling_from_one_point_knows_recommendation_models():
    row = {"model": "DLRM-dcnv2", "gpu": "H100-80GB-SXM", "anchor_gpus": 8, "anchor_global_batch": 55296}
    row |= {"anchor_value": 13_744_000, "accelerators": 64, "global_batch": 135168}
    ours, _ = evaluate("scale_from_anchor", row, "samples/s")

    assert ours == pytest.approx(49_066_000, rel=0.15)  # MLPerf Training v4.1, from its logs
    with pytest.raises(NotUnderstood, match="scores or images takes no dtype"):
        evaluate("scale_from_anchor", row | {"dtype": "fp8"}, "samples/s")


def test_a_step_beside_another_size_of_it():
    """The same layout at the same size is as long; twice the batch on as many takes about twice as long."""
    row = {"gpu": "H100-80GB-SXM", "tp": 2, "pp": 2, "micro_batch": 1, "seq": 2048, "layers": 48}
    row |= {"hidden": 6144, "heads": 48, "kv_heads": 48, "ffn": 12288, "gated_mlp": False, "vocab": 51200}
    row |= {"dp_sharding": "none_or_optimizer", "recompute": "none", "dtype": "bf16"}
    row |= {"anchor_gpus": 32, "anchor_global_batch": 32, "accelerators": 32}

    assert evaluate("train_step_ratio", row | {"global_batch": 32}, "1")[0] == pytest.approx(1.0, rel=1e-12)
    assert 1.5 < evaluate("train_step_ratio", row | {"global_batch": 64}, "1")[0] < 2.0


def test_a_stated_layout_may_leave_recomputation_open():
    """Nothing where that fits in memory, else selective: the row's own word decides where there is one."""
    row = DEEPSEEK | {"gpu": "GB200-NVL72", "ep": 64}

    long = row | {"micro_batch": 4}

    assert unbundled(train_model)(**row) == unbundled(train_model)(**row, recompute="none")
    assert unbundled(train_model)(**long) == unbundled(train_model)(**long, recompute="selective")
    assert unbundled(train_model)(**row, recompute="none") > unbundled(train_model)(**row, recompute="full")


def test_published_layouts_fit_in_memory():
    """Inputs of matrices are kept at their precision and gradients in 16 bits: 46 of 52 fit, 19 otherwise."""
    assert kept_fraction(value_bytes=2.0) == 1.0
    assert kept_fraction(value_bytes=1.0) == pytest.approx(27 / 34, rel=1e-12)
    arguments = step_arguments(CATALOGUE, "llama-3.1-405b", "h100-sxm-80gb", "fp8")
    layout = {"tp": 8, "pp": 8, "interleave": 8, "cp": 2, "micro_batch": 1, "sharding": 1, "recompute": 0}
    size = {
        "accelerators": 512,
        "global_batch": 1152,
        "sequence_tokens": 8192,
    }  # NVIDIA's own, MLPerf Training v5.0
    known = {name: arguments[name].value for name in MEMORY if name in arguments}

    def needed_gb(**change):
        return training_memory_parts(**memory_bundles(known | layout | size | change)).total_gb

    assert needed_gb() <= 0.92 * 80.0
    assert needed_gb(gradient_bytes=4.0, activation_fraction=1.0) > 80.0
