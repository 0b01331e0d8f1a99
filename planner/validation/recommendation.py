"""Adapters of recommendation models and of image and video generation."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from planner.inputs.aliases import name_called
from planner.inputs.loading import load_catalogue
from planner.inputs.model_kinds import is_film
from planner.inputs.software import stack_named
from planner.performance.bundles import ranking_bundles
from planner.performance.diffusion import (
    generation_compute_use_fraction,
    generation_s,
    levels_tiles_ratio,
    operator_s,
    ring_rounds,
    whole_text_ratio,
)
from planner.performance.power import serving_memory_use_fraction
from planner.performance.queueing import pooled_use_fraction
from planner.performance.recommendation import (
    RecommendationStep,
    dense_forward_s,
    embedding_forward_s,
    recommendation_batch_s,
    recommendation_training_step,
    scheduled_step,
)
from planner.performance.training_layer import shape_efficiency_fraction
from planner.physics.batch_work import LEVELS, denoiser
from planner.physics.denoiser_training import chip_arguments, denoiser_training
from planner.physics.equations.batches import busy_tflop, element_gb, sample_tflop
from planner.physics.recommendation_step import SHAPE, STEP, recommendation_arguments
from planner.trace.numbers import number_text
from planner.trace.quantities import chosen
from planner.validation.aliases import alias_of, catalogue_name, constant, constants
from planner.validation.filed_engines import PEER, age_of
from planner.validation.forms import Book, NotUnderstood
from planner.validation.replicas import DEFAULT_ROUND
from planner.validation.serving import POWER, SERVING, generation_kw
from planner.validation.stated import PeerShares
from planner.validation.steps import values

RECOMMENDATION = "recommendation training"
HALF = ("bf16", "fp16")  # formats of 16 bits
NEWEST_IMAGES = "v5.1"  # the last round that made images with SDXL
REPLICATED = "dense DDP, embeddings model-parallel"  # how MAD-Max names what `scheduled_step` does

BOOK = Book(
    {
        "mflops_per_sample": ("forward_mflop", 1.0),
        "lookup_MB_per_sample": ("lookup_mb", 1.0),
        "params": ("parameters", 1.0),
    }
)

PART = re.compile(r"unet\W+(\w+)")  # "{'clip1': 'fp16', 'unet': 'fp8', 'vae': 'int8'}"
METERED = {"height": "metered_height", "width": "metered_width"}  # of images whose power was measured
FIT = {"hidden_half_width": "hidden_half_width", "tokens_half": "tokens_half"}


@BOOK.takes("train_dlrm_system", unit="samples/s", subject=RECOMMENDATION)
def train_recommendation(*, model: str, gpu: str, accelerators: int, global_batch: int) -> float:
    """Samples a second of a system that trains a recommendation model in mixed precision."""
    return float(global_batch / recommendation_step(model, gpu, accelerators, global_batch).total_s)


def is_recommendation(model: str) -> bool:
    """Whether a name is that of a recommendation model with tables of its own."""
    name = name_called("recommendation", model, load_catalogue())
    return name in load_catalogue().names("recommendation", "tables")


def sample_rate(model: str, gpu: str) -> Callable[[int, int], float] | None:
    """Samples a second of training scores or images, by size and batch; None of a language model."""
    catalogue = load_catalogue()
    if is_recommendation(model):
        return lambda size, batch: float(batch / recommendation_step(model, gpu, size, batch).total_s)
    if name_called("diffusion", model, catalogue) in catalogue.names("diffusion", "parameters"):
        return lambda size, batch: train_diffusion(
            model=model, gpu=gpu, accelerators=size, global_batch=batch
        )["1/s"]
    return None


def recommendation_step(model: str, gpu: str, accelerators: int, global_batch: int) -> RecommendationStep:
    """Times of one step of a recommendation model in mixed precision."""
    name, own = catalogue_name("accelerator", gpu), catalogue_name("recommendation", model)
    efficiency = _matrix_efficiency(
        name,
        "bf16",
        width=constant(f"recommendation.{own}.width", "width"),
        rows=global_batch / accelerators,
    )
    stated: dict[str, Any] = {
        "global_batch": global_batch,
        "accelerators": accelerators,
        "peak_tflop_per_s": constant(f"accelerator.{name}.bf16_peak", "peak_tflop_per_s"),
        "matrix_efficiency_fraction": efficiency,
    }
    known = values(recommendation_arguments(load_catalogue(), own, name, load_catalogue().link(name)))
    return recommendation_training_step(**ranking_bundles({**stated, **known}))


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
    accelerators: int,
    parameters: float,
    dense_fraction: float,
    forward_mflop: float,
    lookup_mb: float,
    local_batch: int,
    hbm_util: float,
    used: PeerShares,
    strategy: str = REPLICATED,
) -> dict[str, float]:
    """Time of a step in our schedule and samples a second, from volumes and bandwidths of MAD-Max.

    Its all-to-all is 2 lookup bytes / n over the network in each direction, less than the pooled vectors
    are; its all-reduce sends the gradients once, over a mix of fast links and network.
    """
    words = {word for word in ("DDP", "FSDP") if word in re.findall(r"[A-Z]+", strategy.upper())}
    if len(words) != 1:
        raise NotUnderstood(f"strategy says DDP or FSDP of the dense layers, got '{strategy[:60]}'")
    peer = {"peak_tflop_per_s": "peak", "link_gb_per_s": "link_bandwidth"} | {
        "network_gb_per_s": "network_bandwidth",
        "near_fraction": "all_reduce_near",
        "gradient_bytes": "gradient",
        "backward_ratio": "backward_traffic",
    }
    own = constants("peer.madmax", peer)
    chip = f"accelerator.{catalogue_name('accelerator', gpu.split(' (')[0])}"
    dense_s = local_batch * forward_mflop / 1e6 / (own["peak_tflop_per_s"] * used.flops_util)
    bottom_fraction = _bottom_fraction(model)
    memory_gb_per_s = constant(f"{chip}.memory_bandwidth", "memory_gb_per_s") * hbm_util
    embedding_s = local_batch * lookup_mb / 1e3 / memory_gb_per_s
    network_gb_per_s = own["network_gb_per_s"] * used.roce_util
    near = own["near_fraction"]
    reduce_gb_per_s = near * own["link_gb_per_s"] * used.nvlink_util + (1.0 - near) * network_gb_per_s
    step = scheduled_step(
        bottom_forward_s=dense_s * bottom_fraction,
        top_forward_s=dense_s * (1.0 - bottom_fraction),
        embedding_forward_s=embedding_s,
        embedding_backward_s=embedding_s * own["backward_ratio"],
        all_to_all_s=2.0 * local_batch * lookup_mb / 1e3 / accelerators / network_gb_per_s,
        all_reduce_s=parameters * dense_fraction * own["gradient_bytes"] / 1e9 / reduce_gb_per_s,
        optimizer_s=0.0,
        fixed_s=0.0,
    )
    # Sharded dense layers are gathered forward, half of an all-reduce, with nothing next to the first gather;
    # back again a gather and a scatter take the place of the all-reduce.
    gathered_s = 0.5 * float(step.all_reduce_s) if "FSDP" in words else 0.0
    total_s = float(step.total_s) + gathered_s
    rate = accelerators * local_batch / total_s
    return {"s": total_s, **dict.fromkeys(("1/s", "samples/s", "queries/s"), rate)}


def _bottom_fraction(model: str) -> float:
    """Share of the dense layers below the interaction; half where the catalogue has no such model."""
    if not is_recommendation(model):
        return 0.5
    name = catalogue_name("recommendation", model)
    split = constants(f"recommendation.{name}", {"bottom": "bottom", "top": "top"})
    return split["bottom"] / (split["bottom"] + split["top"])


@BOOK.takes("train_diffusion_system", unit="1/s", subject=RECOMMENDATION)
def train_diffusion(
    *, model: str, gpu: str, accelerators: int, global_batch: int, software: str | None = None
) -> dict[str, float]:
    """Samples a second of a system that trains a denoiser in mixed precision, latents encoded beforehand.

    The optimizer's state is split over all; weights and gradients too where they leave samples too little
    room.
    """
    if accelerators > global_batch:
        raise NotUnderstood(f"a batch of {global_batch} is less than one sample for each of {accelerators}")
    chip, name = catalogue_name("accelerator", gpu), catalogue_name("diffusion", model)
    stack = None if software is None else stack_named(software)
    found = denoiser_training(
        load_catalogue(),
        name,
        chip_arguments(load_catalogue(), name, chip, "bf16", stack),
        chosen("samples", float(global_batch), "stated by the row"),
        chosen("accelerators", float(accelerators), "stated by the row"),
    )
    rate = float(found.samples_per_s.value)
    return {"1/s": rate, "samples/s": rate}


@BOOK.takes("serve_system", unit="1/s", subject=SERVING)
def serve_benchmark(
    *,
    benchmark: str,
    scenario: str,
    gpu: str,
    accelerators: int,
    precision: str | None = None,
    round: str = DEFAULT_ROUND,
) -> dict[str, float]:
    """Samples a second of a benchmark's engine: recommendations, images made, objects found in images.

    Weights in 8 bits where the accelerator multiplies them and nothing else is stated. The latency bound of
    the Server scenario is a thousand times the work of one query of recommendations: queueing takes nothing
    off that rate. It is 5 to 50 times that of one image, which takes 1 % off eight accelerators, 6 % off one.
    """
    benchmark = str(alias_of("benchmark", benchmark) or benchmark)
    rates = {
        "dlrm-v2": ("samples/s", _queries_per_s),
        "stable-diffusion-xl": ("images/s", _images_per_s),
        "retinanet": ("samples/s", _detections_per_s),
    }
    unit, rate = next((rates[name] for name in rates if benchmark.startswith(name)), ("", None))
    if rate is None or scenario not in ("Offline", "Server"):
        raise NotUnderstood(f"no model of scores, images or objects of '{benchmark}' {scenario}")
    age = age_of(round, benchmark)
    if precision and (parts := PART.search(precision)):
        precision = parts[1]  # filed by part of the model: nearly all work is the denoiser's
    elif precision and "," in precision:
        precision = next((one for one in precision.split(",") if one not in HALF), precision)
    whole = accelerators * rate(catalogue_name("accelerator", gpu), precision, benchmark, scenario)
    if unit == "images/s":
        # Engines of images aged as those of words did, to their last round; look-ups hardly moved.
        whole *= age_of(NEWEST_IMAGES, benchmark) / age
        if scenario == "Server":
            whole *= _pooled_use_fraction(benchmark, accelerators, accelerators / whole)
    return {"1/s": whole, unit: whole, "samples/s": whole, "queries/s": whole}


def _pooled_use_fraction(benchmark: str, accelerators: int, image_s: float) -> float:
    """Use of accelerators that share one queue of images, each made within the bound of the benchmark."""
    bound_s = constant(f"benchmark.{benchmark}.server_latency", "bound_s")
    if bound_s <= image_s:
        raise NotUnderstood(
            f"one image takes {number_text(image_s)} s, and has to be made within {number_text(bound_s)} s"
        )
    return float(
        pooled_use_fraction(
            servers=accelerators,
            service_s=image_s,
            wait_target_s=bound_s - image_s,
            late_fraction=1.0 - constant("benchmark.in_time", "quantile_fraction"),
        )
    )


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


def recommendation_compute_use_fraction(
    model: str, gpu: str, accelerators: int, samples_per_s: float
) -> float:
    """Share of the dense 16-bit peak that training uses at a rate: forward, and twice as much back."""
    name = catalogue_name("recommendation", model)
    own = constants(f"recommendation.{name}", {"bottom": "bottom", "top": "top"})
    peak = constant(f"accelerator.{catalogue_name('accelerator', gpu)}.bf16_peak", "peak_tflop_per_s")
    return 6.0 * (own["bottom"] + own["top"]) * samples_per_s / (accelerators * peak * 1e12)


@BOOK.takes("serve_diffusion_power", unit="kW", subject=POWER)
def diffusion_power(*, model: str, gpu: str, accelerators: int, batch: int, latency_s: float) -> float:
    """Power of the accelerators that generate a batch in a measured time, at the sizes that were metered."""
    name, chip = catalogue_name("diffusion", model), catalogue_name("accelerator", gpu)
    uses = generation_uses(name, chip, accelerators, batch, latency_s)
    what = "video" if is_film(load_catalogue(), name) else "image"
    return accelerators * generation_kw(chip, what, **uses)


def generation_uses(
    name: str, chip: str, accelerators: int, batch: int, latency_s: float
) -> dict[str, float]:
    """What each accelerator uses of its memory and its 16-bit peak that makes a batch in a measured time.

    Several share each picture, by heads and, where those cannot be dealt out, by rounds of a ring. The engine
    launches every operator alone, so that values between matrices cross the memory as its blocks are written.
    """
    catalogue, own = load_catalogue(), f"diffusion.{name}"
    counted = f"{own}.metered_value_bytes"
    usual = "performance.training.elementwise_bytes_per_value"
    block_bytes = catalogue.fact(counted if catalogue.has(counted) else usual)
    parts = denoiser(catalogue, name, block_bytes, sizes=METERED)
    metered = f"{own}.metered_steps"
    steps = catalogue.fact(metered if catalogue.has(metered) else f"{own}.steps")
    passes = catalogue.fact(f"{own}.passes")
    values_of = {key: np.asarray(part.value) for key, part in parts.items()}
    whole, rounds = _shared_picture(name, float(values_of["tokens"]), accelerators)
    worked = sample_tflop(
        steps=float(steps.value),
        passes=float(passes.value),
        step_tflop=busy_tflop(
            step_tflop=values_of["step_tflop"] * np.array([whole, 1.0, 1.0]),
            width=values_of["width"],
            half_width=constant("performance.training.hidden_half_width", "half_width"),
        ),
        once_tflop=values_of["once_tflop"],
    )
    compute = generation_compute_use_fraction(
        sample_tflop=worked / accelerators,
        batch=batch,
        time_s=latency_s,
        peak_tflop_per_s=constant(f"accelerator.{chip}.bf16_peak", "peak_tflop_per_s"),
    )
    moved = element_gb(batch=batch / accelerators, passes=float(passes.value), step_gb=values_of["step_gb"])
    memory = serving_memory_use_fraction(
        touched_gb=2.0 * constant(f"{own}.parameters", "parameters") / 1e9,
        cache_read_gb=whole * rounds * moved,
        step_s=latency_s / float(steps.value),
        memory_gb_per_s=constant(f"accelerator.{chip}.memory_bandwidth", "memory_gb_per_s"),
    )
    return {"memory_use_fraction": float(memory), "compute_use_fraction": float(compute)}


def _shared_picture(name: str, tokens: float, accelerators: int) -> tuple[float, float]:
    """Tokens of a layer over an equal share, and rounds of a ring, where accelerators share a picture."""
    if accelerators == 1:
        return 1.0, 1.0
    own = f"diffusion.{name}"
    if not load_catalogue().has(f"{own}.heads"):
        raise NotUnderstood(
            f"{name}: {accelerators} accelerators share a picture by heads, which it has none of"
        )
    text = constant(f"{own}.text_tokens", "text_tokens")
    whole = whole_text_ratio(tokens=tokens, text_tokens=text, accelerators=accelerators)
    heads = constant(f"{own}.heads", "heads")
    return float(whole), float(ring_rounds(heads=heads, accelerators=accelerators))


def _queries_per_s(chip: str, precision: str | None, benchmark: str, _: str) -> float:
    """Benchmark queries of DLRM-DCNv2 a second: every accelerator holds all tables.

    Where a benchmark asks more of the accuracy, TensorRT's cross layers work in 16 bits, the rest as filed.
    """
    shape = constants("recommendation.dlrm-dcnv2", SHAPE)
    step = constants("performance.recommendation", STEP)
    half = precision in HALF
    held_bytes = (2.0 if half else 1.0) * constant("performance.recommendation.serving_bytes", "held_bytes")
    pairs = constant("recommendation.dlrm-dcnv2.pairs_per_query", "pairs")
    queries = constant("performance.recommendation.batch_queries", "queries")
    memory = {
        "memory_gb_per_s": constant(f"accelerator.{chip}.memory_bandwidth", "memory_gb_per_s"),
        "memory_efficiency_fraction": step["memory_efficiency_fraction"],
    }
    crossing = constant("recommendation.dlrm-dcnv2.crossing", "crossing")
    crossing_key = f"benchmark.{benchmark}.crossing_bytes"
    finer = load_catalogue().has(crossing_key) and load_catalogue().engines[PEER].runs_on(chip)
    crossed_bytes = constant(crossing_key, "value_bytes") if finer else held_bytes

    def dense_s(multiplications: float, values: float, value_bytes: float, of: str | None) -> float:
        efficiency = _matrix_efficiency(
            chip, of, width=constant("recommendation.dlrm-dcnv2.width", "width"), rows=pairs * queries
        )
        return float(
            dense_forward_s(
                samples=pairs,
                multiplications=multiplications,
                elementwise_values=values,
                value_bytes=value_bytes,
                peak_tflop_per_s=_served_peak(chip, of),
                matrix_efficiency_fraction=efficiency,
                **memory,
            )
        )

    plain = shape["top_multiplications"] - crossing
    batch_s = recommendation_batch_s(
        bottom_forward_s=dense_s(shape["bottom_multiplications"], 0.0, held_bytes, precision),
        top_forward_s=dense_s(plain, 0.0, held_bytes, precision)
        + dense_s(crossing, shape["elementwise_values"], crossed_bytes, "bf16" if finer else precision),
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


def _images_per_s(chip: str, precision: str | None, _: str, scenario: str) -> float:
    """Images of SDXL a second: matrices in the stated precision, attention and element-wise work in 16.

    Fused kernels keep a part of the values on the chip. Images that have to come in time are made in smaller
    batches; what their queue takes off is not counted here.
    """
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
    batch = constant(f"performance.diffusion.{'server_batch' if scenario == 'Server' else 'batch'}", "images")
    step = constants(
        "performance.training",
        {
            "block_bytes": "elementwise_bytes_per_value",
            "attention": "attention_efficiency",
            "memory_efficiency_fraction": "memory_efficiency",
        },
    )
    rows = facts["tokens"] * facts["passes"] * batch
    matrix = _matrix_efficiency(chip, precision, width=facts["width"], rows=rows)
    half = constant(f"accelerator.{chip}.bf16_peak", "peak_tflop_per_s")
    peak = _served_peak(chip, precision)
    memory = {
        "memory_gb_per_s": constant(f"accelerator.{chip}.memory_bandwidth", "memory_gb_per_s"),
        "memory_efficiency_fraction": step["memory_efficiency_fraction"],
    }
    # Matrices, attention, element-wise work: a multiplication is two operations, a moved value two bytes.
    crossing = constant("performance.diffusion.fused_traffic", "crossing_fraction")
    moved_gb = crossing * (facts["block_values"] * step["block_bytes"] + 2.0 * facts["norm_values"]) / 1e9
    multiplied = (facts["linear"] + facts["convolution"]) * _tiles_ratio(chip)
    each = operator_s(
        operator_tflop=np.array([multiplied, facts["attention"], 0.0]) * 2e-12,
        operator_gb=np.array([0.0, 0.0, moved_gb]),
        operator_tflop_per_s=np.array([peak * matrix, half * step["attention"], half]),
        **memory,
    )
    once = operator_s(
        operator_tflop=np.array([facts["once_convolution"], facts["once_attention"], 0.0]) * 2e-12,
        operator_gb=np.array([0.0, 0.0, crossing * 2.0 * facts["once_values"] / 1e9]),
        operator_tflop_per_s=np.array([half * matrix, half * step["attention"], half]),
        **memory,
    )
    made_s = generation_s(
        step_operator_s=np.asarray(each),
        once_operator_s=np.asarray(once),
        steps=facts["steps"],
        passes=facts["passes"],
        batch=batch,
        weights_gb=(2.0 if precision in HALF else 1.0) * facts["parameters"] / 1e9,
        wait_s=constant("performance.diffusion.step_time", "wait_s"),
        **memory,
    )
    return batch / float(made_s)


def _detections_per_s(chip: str, precision: str | None, benchmark: str, _: str) -> float:
    """Images in which RetinaNet finds objects a second: its multiplications at a share of the fastest peak.

    The share is that of TensorRT where it runs, of PyTorch on other chips.
    """
    own = f"benchmark.{benchmark}.matrix_share"
    share = constant(own if load_catalogue().engines[PEER].runs_on(chip) else f"{own}@pytorch", "share")
    peak = _served_peak(chip, precision)
    if precision in (None, "int8") and load_catalogue().has(f"accelerator.{chip}.int8_peak"):
        peak = max(peak, constant(f"accelerator.{chip}.int8_peak", "peak_tflop_per_s"))
    return share * peak * 1e12 / (2.0 * constant(f"benchmark.{benchmark}.multiplications", "multiplications"))


def _tiles_ratio(chip: str) -> float:
    """Multiplications of SDXL in whole tiles of a chip's kernels over those that it counts."""
    if not load_catalogue().has(key := f"accelerator.{chip}.matrix_tile"):
        return 1.0
    return float(levels_tiles_ratio(tile=constant(key, "tile"), **constants("diffusion.sdxl", LEVELS)))


def _matrix_efficiency(chip: str, precision: str | None, *, width: float, rows: float) -> float:
    """Share of the peak that matrices of this width get, by the law fitted on language models."""
    shape = shape_efficiency_fraction(
        hidden=width, tp=1.0, rank_tokens=rows, **constants("performance.training", FIT)
    )
    key = f"accelerator.{chip}.matrix_efficiency"
    # Nothing was measured of int8 kernels: they are taken as those of 16 bits.
    eight = precision == "fp8" and load_catalogue().has(f"{key}@fp8")
    return constant(f"{key}@fp8" if eight else key, "efficiency_fraction") * float(shape)


def _served_peak(chip: str, precision: str | None) -> float:
    """Dense peak of the stated precision: of 8 bits where it beats that of 16 and nothing else is stated.

    Engines of images and scores round to no integers: int8 is taken at the rate of FP8.
    """
    if precision not in (None, "int8", "fp8", *HALF):
        raise NotUnderstood(
            f"no law of images or scores in '{precision}': {', '.join(('int8', 'fp8', *HALF))}"
        )
    if precision in HALF:
        return constant(f"accelerator.{chip}.bf16_peak", "peak_tflop_per_s")
    catalogue = load_catalogue()
    known = [name for name in ("fp8", "bf16") if catalogue.has(f"accelerator.{chip}.{name}_peak")]
    return max(constant(f"accelerator.{chip}.{name}_peak", "peak_tflop_per_s") for name in known)
