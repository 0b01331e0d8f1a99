"""Adapters of recommendation models and of image and video generation."""

from __future__ import annotations

import numpy as np

from planner.inputs.catalogue import load_catalogue
from planner.performance.diffusion import (
    attention_tflop,
    generation_compute_use_fraction,
    generation_s,
    latent_tokens,
    linear_tflop,
    operator_s,
)
from planner.performance.power import sustained_power_kw
from planner.performance.recommendation import (
    RecommendationStep,
    dense_forward_s,
    embedding_forward_s,
    recommendation_batch_s,
    recommendation_training_step,
    scheduled_step,
)
from planner.performance.training import shape_efficiency_fraction
from planner.validation.aliases import catalogue_name, constant, constants
from planner.validation.forms import Book, NotUnderstood
from planner.validation.serving import POWER, SERVING, accelerator_kw

RECOMMENDATION = "recommendation training"
SCHEDULED = "dense DDP, embeddings model-parallel"  # how MAD-Max names what `scheduled_step` does

BOOK = Book(
    {
        "mflops_per_sample": ("forward_mflop", 1.0),
        "lookup_MB_per_sample": ("lookup_mb", 1.0),
        "params": ("parameters", 1.0),
    }
)

MODELS = {
    "DLRM-dcnv2 (MLPerf)": "dlrm-dcnv2",
    "DLRM-A": "dlrm-a",
    "FLUX.1-dev": "flux1-dev",
    "HunyuanVideo": "hunyuan-video",
}
SHAPE = {
    "bottom_multiplications": "bottom",
    "top_multiplications": "top",
    "elementwise_values": "elementwise",
    "dense_parameters": "dense_parameters",
    "tables": "tables",
    "lookups": "lookups",
    "embedding_dim": "embedding_dim",
}
FIT = {"hidden_half_width": "hidden_half_width", "tokens_half": "tokens_half"}
STEP = {
    "table_bytes": "table_bytes",
    "value_bytes": "value_bytes",
    "gradient_bytes": "gradient_bytes",
    "imbalance_ratio": "imbalance",
    "fixed_s": "fixed_time",
    "memory_efficiency_fraction": "memory_efficiency",
    "link_efficiency_fraction": "link_efficiency",
    "network_efficiency_fraction": "network_efficiency",
}
LINKS = {
    "memory_gb_per_s": "memory_bandwidth",
    "link_gb_per_s": "link_bandwidth",
    "link_domain": "link_domain",
    "network_gb_per_s": "network_bandwidth",
}
GENERATOR = (
    "layers",
    "hidden",
    "ffn_ratio",
    "height",
    "width",
    "frames",
    "text_tokens",
    "spatial_ratio",
    "temporal_ratio",
    "patch",
    "steps",
    "passes",
    "parameters",
)


@BOOK.takes("train_dlrm_system", unit="samples/s", subject=RECOMMENDATION)
def train_recommendation(*, model: str, gpu: str, gpus: int, global_batch: int) -> float:
    """Samples a second of a system that trains a recommendation model in mixed precision."""
    return float(global_batch / recommendation_step(model, gpu, gpus, global_batch).total_s)


def recommendation_step(model: str, gpu: str, gpus: int, global_batch: int) -> RecommendationStep:
    """Times of one step of a recommendation model in mixed precision."""
    name, own = catalogue_name("accelerator", gpu), f"recommendation.{_known(model)}"
    chip = f"accelerator.{name}"
    return recommendation_training_step(
        global_batch=global_batch,
        gpus=gpus,
        peak_tflop_per_s=constant(f"{chip}.bf16_peak", "peak_tflop_per_s"),
        matrix_efficiency_fraction=_matrix_efficiency(
            name, width=constant(f"{own}.width", "width"), rows=global_batch / gpus
        ),
        backward_traffic_ratio=constant(f"{own}.backward_traffic", "traffic_ratio"),
        optimizer_bytes=constant("performance.training.optimizer_bytes_per_parameter", "optimizer_bytes"),
        collective_latency_s=constant("performance.training.collective_latency", "latency_s"),
        **constants(own, SHAPE),
        **constants(chip, LINKS),
        **constants("performance.recommendation", STEP),
    )


@BOOK.takes(
    "train_dlrm_peer",
    unit="s",
    subject=RECOMMENDATION,
    labels=("tables", "emb_dim", "rows_per_table", "pooling"),
)
def train_recommendation_as_peer(
    *,
    model: str,
    gpu: str,
    gpus: int,
    parameters: float,
    dense_fraction: float,
    forward_mflop: float,
    lookup_mb: float,
    local_batch: int,
    flops_util: float,
    hbm_util: float,
    nvlink_util: float,
    roce_util: float,
    strategy: str = SCHEDULED,
) -> float:
    """Time of a step in our schedule, from parts whose volumes and bandwidths are those of MAD-Max.

    Its all-to-all is 2 lookup bytes / n over the network in each direction, less than the pooled vectors
    are; its all-reduce sends the gradients once, over a mix of fast links and network.
    """
    if strategy != SCHEDULED:
        raise NotUnderstood(f"no schedule of strategy '{strategy[:60]}': known is '{SCHEDULED}'")
    peer = {"peak_tflop_per_s": "peak", "link_gb_per_s": "link_bandwidth"} | {
        "network_gb_per_s": "network_bandwidth",
        "near_fraction": "all_reduce_near",
        "gradient_bytes": "gradient",
        "backward_ratio": "backward_traffic",
    }
    own = constants("peer.madmax", peer)
    chip = f"accelerator.{catalogue_name('accelerator', gpu.split(' (')[0])}"
    split = constants(f"recommendation.{_known(model)}", {"bottom": "bottom", "top": "top"})
    dense_s = local_batch * forward_mflop / 1e6 / (own["peak_tflop_per_s"] * flops_util)
    bottom_fraction = split["bottom"] / (split["bottom"] + split["top"])
    memory_gb_per_s = constant(f"{chip}.memory_bandwidth", "memory_gb_per_s") * hbm_util
    embedding_s = local_batch * lookup_mb / 1e3 / memory_gb_per_s
    network_gb_per_s = own["network_gb_per_s"] * roce_util
    near = own["near_fraction"]
    reduce_gb_per_s = near * own["link_gb_per_s"] * nvlink_util + (1.0 - near) * network_gb_per_s
    step = scheduled_step(
        bottom_forward_s=dense_s * bottom_fraction,
        top_forward_s=dense_s * (1.0 - bottom_fraction),
        embedding_forward_s=embedding_s,
        embedding_backward_s=embedding_s * own["backward_ratio"],
        all_to_all_s=2.0 * local_batch * lookup_mb / 1e3 / gpus / network_gb_per_s,
        all_reduce_s=parameters * dense_fraction * own["gradient_bytes"] / 1e9 / reduce_gb_per_s,
        optimizer_s=0.0,
        fixed_s=0.0,
    )
    return float(step.total_s)


@BOOK.takes("serve_system", unit="1/s", subject=SERVING)
def serve_benchmark(*, benchmark: str, scenario: str, gpu: str, gpus: int) -> dict[str, float]:
    """Samples a second of a benchmark's engine: recommendation queries or images.

    Weights in 8 bits where the accelerator multiplies them. The latency bound of the Server scenario is a
    thousand times the work of one query, so that queueing alone takes nothing off the offline rate.
    """
    rates = {"dlrm-v2": ("samples/s", _queries_per_s), "stable-diffusion-xl": ("images/s", _images_per_s)}
    unit, rate = next((rates[name] for name in rates if benchmark.startswith(name)), ("", None))
    if rate is None or scenario not in ("Offline", "Server"):
        raise NotUnderstood(f"no recommendation or diffusion model of '{benchmark}' {scenario}")
    each = rate(catalogue_name("accelerator", gpu))
    return {"1/s": gpus * each, unit: gpus * each}


def query_uses(chip: str, accelerators: float, queries_per_s: float) -> dict[str, float]:
    """What queries of DLRM-DCNv2 use of an accelerator that holds every table."""
    shape = constants("recommendation.dlrm-dcnv2", SHAPE)
    pairs = constant("recommendation.dlrm-dcnv2.pairs_per_query", "pairs") * queries_per_s / accelerators
    row_gb = shape["embedding_dim"] * constant("performance.recommendation.serving_bytes", "held_bytes") / 1e9
    multiplications = shape["bottom_multiplications"] + shape["top_multiplications"]
    bandwidth = constant(f"accelerator.{chip}.memory_bandwidth", "memory_gb_per_s")
    peak = constant(f"accelerator.{chip}.bf16_peak", "peak_tflop_per_s")
    return {
        "memory_use_fraction": min(1.0, pairs * shape["lookups"] * row_gb / bandwidth),
        "compute_use_fraction": min(1.0, 2.0 * pairs * multiplications / (peak * 1e12)),
    }


def recommendation_compute_use_fraction(model: str, gpu: str, gpus: int, samples_per_s: float) -> float:
    """Share of the dense 16-bit peak that training uses at a rate: forward, and twice as much back."""
    own = constants(f"recommendation.{_known(model)}", {"bottom": "bottom", "top": "top"})
    peak = constant(f"accelerator.{catalogue_name('accelerator', gpu)}.bf16_peak", "peak_tflop_per_s")
    return 6.0 * (own["bottom"] + own["top"]) * samples_per_s / (gpus * peak * 1e12)


@BOOK.takes("serve_diffusion_power", unit="kW", subject=POWER)
def diffusion_power(*, model: str, gpu: str, gpus: int, batch: int, latency_s: float) -> float:
    """Power of the accelerators that generate a batch in a measured time."""
    name, chip = f"diffusion.{_known(model)}", catalogue_name("accelerator", gpu)
    facts = constants(name, {part: part for part in GENERATOR})
    tokens = (
        latent_tokens(
            height_px=facts["height"],
            width_px=facts["width"],
            frames=facts["frames"],
            patch=facts["patch"],
            spatial_ratio=facts["spatial_ratio"],
            temporal_ratio=facts["temporal_ratio"],
        )
        + facts["text_tokens"]
    )
    shape = {"layers": facts["layers"], "hidden": facts["hidden"], "tokens": tokens}
    one_pass = linear_tflop(ffn_ratio=facts["ffn_ratio"], **shape) + attention_tflop(**shape)
    runs = facts["steps"] * facts["passes"]
    compute = generation_compute_use_fraction(
        sample_tflop=runs * one_pass / gpus,
        batch=batch,
        time_s=latency_s,
        peak_tflop_per_s=constant(f"accelerator.{chip}.bf16_peak", "peak_tflop_per_s"),
    )
    bandwidth = constant(f"accelerator.{chip}.memory_bandwidth", "memory_gb_per_s")
    memory = min(1.0, runs * facts["parameters"] * 2.0 / 1e9 / (bandwidth * latency_s))
    running_kw = accelerator_kw(chip, memory, float(compute))
    curve = next(sku.power_curve for sku in load_catalogue().skus.values() if sku.accelerator == chip)
    what = "video" if facts["frames"] > 1 else "image"
    return gpus * float(
        sustained_power_kw(
            power_kw=running_kw,
            tdp_kw=constant(f"accelerator.{chip}.tdp", "tdp_kw"),
            sustained_fraction=constant(f"performance.power.{curve}.{what}", "sustained_fraction"),
        )
    )


def _queries_per_s(chip: str) -> float:
    """Benchmark queries of DLRM-DCNv2 a second: every accelerator holds all tables."""
    shape = constants("recommendation.dlrm-dcnv2", SHAPE)
    step = constants("performance.recommendation", STEP)
    held_bytes = constant("performance.recommendation.serving_bytes", "held_bytes")
    pairs = constant("recommendation.dlrm-dcnv2.pairs_per_query", "pairs")
    queries = constant("performance.recommendation.batch_queries", "queries")
    memory = {
        "memory_gb_per_s": constant(f"accelerator.{chip}.memory_bandwidth", "memory_gb_per_s"),
        "memory_efficiency_fraction": step["memory_efficiency_fraction"],
    }
    dense = {
        "samples": pairs,
        "value_bytes": held_bytes,
        "peak_tflop_per_s": _eight_bit_peak(chip),
        "matrix_efficiency_fraction": _matrix_efficiency(
            chip, width=constant("recommendation.dlrm-dcnv2.width", "width"), rows=pairs * queries
        ),
        **memory,
    }
    batch_s = recommendation_batch_s(
        bottom_forward_s=dense_forward_s(
            multiplications=shape["bottom_multiplications"], elementwise_values=0.0, **dense
        ),
        top_forward_s=dense_forward_s(
            multiplications=shape["top_multiplications"],
            elementwise_values=shape["elementwise_values"],
            **dense,
        ),
        embedding_forward_s=embedding_forward_s(
            samples=pairs,
            lookups=shape["lookups"],
            embedding_dim=shape["embedding_dim"],
            table_bytes=held_bytes,
            imbalance_ratio=1.0,
            **memory,
        ),
        all_to_all_s=0.0,
    )
    return 1.0 / float(batch_s)


def _images_per_s(chip: str) -> float:
    """Images of SDXL a second: matrices in 8 bits, attention and element-wise work in 16."""
    names = (
        "linear",
        "convolution",
        "attention",
        "block_values",
        "norm_values",
        "width",
        "tokens",
        "once_convolution",
        "once_attention",
        "once_values",
        "steps",
        "passes",
        "parameters",
    )
    facts = constants("diffusion.sdxl", {name: name for name in names})
    batch = constant("performance.diffusion.batch", "images")
    step = constants(
        "performance.training",
        {
            "block_bytes": "elementwise_bytes_per_value",
            "attention": "attention_efficiency",
            "memory_efficiency_fraction": "memory_efficiency",
        },
    )
    matrix = _matrix_efficiency(chip, width=facts["width"], rows=facts["tokens"] * facts["passes"] * batch)
    half = constant(f"accelerator.{chip}.bf16_peak", "peak_tflop_per_s")
    memory = {
        "memory_gb_per_s": constant(f"accelerator.{chip}.memory_bandwidth", "memory_gb_per_s"),
        "memory_efficiency_fraction": step["memory_efficiency_fraction"],
    }
    # Matrices, attention, element-wise work: a multiplication is two operations, a moved value two bytes.
    moved_gb = (facts["block_values"] * step["block_bytes"] + 2.0 * facts["norm_values"]) / 1e9
    each = operator_s(
        operator_tflop=np.array([facts["linear"] + facts["convolution"], facts["attention"], 0.0]) * 2e-12,
        operator_gb=np.array([0.0, 0.0, moved_gb]),
        operator_tflop_per_s=np.array([_eight_bit_peak(chip) * matrix, half * step["attention"], half]),
        **memory,
    )
    once = operator_s(
        operator_tflop=np.array([facts["once_convolution"], facts["once_attention"], 0.0]) * 2e-12,
        operator_gb=np.array([0.0, 0.0, 2.0 * facts["once_values"] / 1e9]),
        operator_tflop_per_s=np.array([half * matrix, half * step["attention"], half]),
        **memory,
    )
    made_s = generation_s(
        step_operator_s=np.asarray(each),
        once_operator_s=np.asarray(once),
        steps=facts["steps"],
        passes=facts["passes"],
        batch=batch,
        weights_gb=facts["parameters"] / 1e9,
        **memory,
    )
    return batch / float(made_s)


def _matrix_efficiency(chip: str, *, width: float, rows: float) -> float:
    """Share of the peak that matrices of this width get, by the law fitted on language models."""
    shape = shape_efficiency_fraction(
        hidden=width, tp=1.0, rank_tokens=rows, **constants("performance.training", FIT)
    )
    return constant(f"accelerator.{chip}.matrix_efficiency", "efficiency_fraction") * float(shape)


def _eight_bit_peak(chip: str) -> float:
    """Best dense peak that 8-bit weights give, or the 16-bit one."""
    catalogue = load_catalogue()
    known = [name for name in ("fp8", "int8", "bf16") if catalogue.has(f"accelerator.{chip}.{name}_peak")]
    return max(constant(f"accelerator.{chip}.{name}_peak", "peak_tflop_per_s") for name in known)


def _known(model: str) -> str:
    if model not in MODELS:
        raise NotUnderstood(f"no facts of the model '{model}': known are {', '.join(MODELS)}")
    return MODELS[model]
