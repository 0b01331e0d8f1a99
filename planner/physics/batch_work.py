"""What a unit of accelerators takes of a batch: scored samples, images, films, as every answer has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from planner.inputs.catalogue import Facts
from planner.inputs.model_kinds import DIFFUSION, RECOMMENDATION, is_film, kind_of_model
from planner.inputs.resolved import Inputs
from planner.performance.diffusion import (
    generation_compute_use_fraction,
    generation_memory_gb,
    generation_s,
    latent_tokens,
    levels_tiles_ratio,
    operator_s,
)
from planner.performance.memory import serving_weights_gb
from planner.performance.power import (
    serving_compute_use_fraction,
    serving_memory_use_fraction,
)
from planner.performance.recommendation import (
    all_to_all_s,
    dense_forward_s,
    embedding_forward_s,
    recommendation_batch_s,
    recommendation_memory_gb,
)
from planner.performance.training_layer import shape_efficiency_fraction
from planner.performance.vision import patch_tokens
from planner.physics.equations.batches import (
    all_tokens,
    busy_tflop,
    counted_tflop,
    crossing_gb,
    element_gb,
    joint_efficiency_fraction,
    looked_up_gb,
    mean_width,
    moved_gb,
    operators_tflop_per_s,
    sample_tflop,
    tiled_efficiency_fraction,
    transformer_tflop,
)
from planner.physics.nodes import generation_curve, power_curve
from planner.physics.precisions import kernels_of, peak_of, value_bytes
from planner.physics.recommendation_step import CARDS
from planner.trace.columns import Indices
from planner.trace.quantities import Fact, Traced, chosen, derive, pick, rows

LAYERS = 3.0  # dense layers that share the weights where no width is published
IMAGE_PIXELS = 224  # what vision transformers are usually pre-trained on
SHAPE = ("layers", "hidden", "ffn_ratio")
COUNTS = ("linear", "convolution", "attention")
ONCE = {"linear": "once_linear", "convolution": "once_convolution", "attention": "once_attention"}
LEVELS = {
    "narrow_width": "narrow_width",
    "narrow_outputs_fraction": "narrow_outputs",
    "middle_width": "middle_width",
    "middle_outputs_fraction": "middle_outputs",
}
MODEL_CARD: Mapping[str, str] = {}  # no size but that of the model card
ATTENDS_ONCE: Mapping[str, Traced] = {}  # each layer attends once
LATENT = {
    "height_px": "height",
    "width_px": "width",
    "frames": "frames",
    "spatial_ratio": "spatial_ratio",
    "temporal_ratio": "temporal_ratio",
    "patch": "patch",
}


@dataclass(frozen=True)
class BatchWork:
    """A unit at work on a batch: memory that each accelerator needs, time, and what draws power.

    A row for each SKU; where batches of several sizes are looked at, a column for each size.
    """

    memory_gb: Traced
    batch: Traced
    time_s: Traced
    memory_use: Traced
    compute_use: Traced
    error: Fact


def batch_work(
    inputs: Inputs,
    model: str,
    precision: str,
    sku: Indices,
    items: Traced,
    accelerators: Traced | None = None,
    imbalance: Traced | None = None,
) -> BatchWork:
    """A batch of so many samples or images on units of so many accelerators, of one where none is said."""
    kind = kind_of_model(inputs.catalogue, model)
    if kind == RECOMMENDATION:
        return scored_batch(inputs, model, precision, sku, items, accelerators, imbalance)
    return made_batch(inputs, model, precision, sku, items)


def scored_batch(
    inputs: Inputs,
    model: str,
    precision: str,
    sku: Indices,
    samples: Traced,
    accelerators: Traced | None = None,
    imbalance: Traced | None = None,
) -> BatchWork:
    """Samples scored by accelerators that each hold every table, or that share them and exchange vectors.

    `imbalance` is that of a placement, by SKU, in place of the fact.
    """
    fact, own, chips = inputs.fact, f"recommendation.{model}", len(sku)
    tall = np.ndim(samples.value) > 1
    size = fact("performance.recommendation.serving_bytes")
    one = chosen("accelerators", np.ones(chips), "each accelerator holds every table")
    each: Traced = samples
    units: Traced = one
    if accelerators is not None and np.any(np.asarray(accelerators.value) > 1.0):
        units = accelerators
        each = (samples / _tall(units, tall)).named("rank_samples")
    alone = units is one
    peak = _tall(peak_column(inputs, sku, precision), tall)
    memory = {
        "memory_gb_per_s": _tall(inputs.of_sku(inputs.accelerator("memory_bandwidth"), sku), tall),
        "memory_efficiency_fraction": fact("performance.recommendation.memory_efficiency"),
    }
    reached = reached_fraction(inputs, sku, layer_width(inputs, model), each, precision)

    def dense(part: str, elementwise: Traced) -> Traced:
        return derive(
            dense_forward_s,
            samples=each,
            multiplications=fact(f"{own}.{part}"),
            value_bytes=size,
            elementwise_values=elementwise,
            peak_tflop_per_s=peak,
            matrix_efficiency_fraction=reached,
            **memory,
        )

    looked_up = {"lookups": fact(f"{own}.lookups"), "embedding_dim": fact(f"{own}.embedding_dim")}
    none = chosen("elementwise_values", 0.0, "counted with the upper layers")
    whole = "each accelerator holds every table"
    time = derive(
        recommendation_batch_s,
        bottom_forward_s=dense("bottom", none),
        top_forward_s=dense("top", fact(f"{own}.elementwise")),
        embedding_forward_s=derive(
            embedding_forward_s,
            samples=each,
            table_bytes=size,
            **looked_up,
            **memory,
            imbalance_ratio=_tall(imbalance, tall)
            if imbalance is not None
            else chosen("imbalance_ratio", 1.0, whole)
            if alone
            else fact("performance.recommendation.imbalance"),
        ),
        all_to_all_s=chosen("all_to_all_s", 0.0, whole)
        if alone
        else _exchanged(inputs, model, sku, each, units, tall),
    )
    held = derive(
        recommendation_memory_gb,
        embedding_rows=fact(f"{own}.embedding_rows"),
        table_bytes=size,
        embedding_dim=looked_up["embedding_dim"],
        dense_parameters=fact(f"{own}.dense_parameters"),
        row_state_bytes=chosen("row_state_bytes", 0.0, "nothing is trained"),
        dense_state_bytes=size,
        samples=each,
        sample_values=fact(f"{own}.elementwise"),
        value_bytes=size,
        accelerators=chosen("accelerators", 1.0, whole) if alone else _tall(units, tall),
    )
    work = (fact(f"{own}.bottom") + fact(f"{own}.top")).named(
        "scored_parameters", "Multiplications of one sample through all layers"
    )
    return BatchWork(
        memory_gb=held,
        batch=samples,
        time_s=time,
        memory_use=derive(
            serving_memory_use_fraction,
            step_s=time,
            memory_gb_per_s=memory["memory_gb_per_s"],
            touched_gb=derive(looked_up_gb, samples=each, table_bytes=size, **looked_up),
            cache_read_gb=chosen("cache_read_gb", 0.0, "nothing is cached"),
        ),
        compute_use=derive(
            serving_compute_use_fraction,
            active_parameters=work,
            step_tokens=each,
            step_s=time,
            tp=chosen("tp", 1.0, "layers are copied, not split"),
            peak_tflop_per_s=_tall(peak_column(inputs, sku, "bf16"), tall),
        ),
        error=fact("performance.recommendation.rate_error"),
    )


def scored_without_tables_gb(inputs: Inputs, model: str, samples: float, accelerators: int) -> Traced:
    """Memory of each accelerator that scores, without its tables: dense layers and its samples."""
    fact, own = inputs.fact, f"recommendation.{model}"
    size = fact("performance.recommendation.serving_bytes")
    count = chosen("accelerators", float(accelerators), "enumerated: accelerators of a unit")
    return derive(
        recommendation_memory_gb,
        embedding_rows=chosen("embedding_rows", 0.0, "tables are placed on their own"),
        table_bytes=size,
        embedding_dim=fact(f"{own}.embedding_dim"),
        dense_parameters=fact(f"{own}.dense_parameters"),
        row_state_bytes=chosen("row_state_bytes", 0.0, "nothing is trained"),
        dense_state_bytes=size,
        samples=(chosen("samples", samples, "of a batch") / count).named("rank_samples"),
        sample_values=fact(f"{own}.elementwise"),
        value_bytes=size,
        accelerators=count,
    )


def _exchanged(
    inputs: Inputs, model: str, sku: Indices, samples: Traced, accelerators: Traced, tall: bool
) -> Traced:
    """Time in which the pooled vectors of a batch reach the accelerators that hold its samples."""
    fact, own = inputs.fact, f"recommendation.{model}"

    def column(name: str) -> Traced:
        return _tall(inputs.of_sku(inputs.accelerator(name), sku), tall)

    shared = fact("performance.recommendation.link_efficiency")
    links = [
        fact(f"accelerator.{one.accelerator}.link_efficiency") if one.link in CARDS else shared
        for one in inputs.skus
    ]
    return derive(
        all_to_all_s,
        samples=samples,
        tables=fact(f"{own}.tables"),
        embedding_dim=fact(f"{own}.embedding_dim"),
        exchange_bytes=fact("performance.recommendation.serving_bytes"),
        accelerators=_tall(accelerators, tall),
        link_domain=column("link_domain"),
        link_gb_per_s=column("link_bandwidth"),
        network_gb_per_s=column("network_bandwidth"),
        link_efficiency_fraction=_tall(pick(links, sku), tall),
        network_efficiency_fraction=fact("performance.recommendation.network_efficiency"),
        collective_latency_s=fact("performance.training.collective_latency"),
        partner_latency_s=fact("performance.recommendation.partner_latency"),
    )


def made_batch(inputs: Inputs, model: str, precision: str, sku: Indices, images: Traced) -> BatchWork:
    """Images or films made, or images classified, by accelerators that each hold the whole model."""
    fact = inputs.fact
    tall = np.ndim(images.value) > 1
    diffusion = kind_of_model(inputs.catalogue, model) == DIFFUSION
    own = f"{'diffusion' if diffusion else 'model'}.{model}"
    block_bytes = fact("performance.training.elementwise_bytes_per_value")
    parts = denoiser(inputs, model, block_bytes) if diffusion else _encoder(inputs, model, block_bytes)
    once = "images are classified in one pass"
    steps: Traced = fact(f"{own}.steps") if diffusion else chosen("steps", 1.0, once)
    passes: Traced = fact(f"{own}.passes") if diffusion else chosen("passes", 1.0, once)
    size = chosen("weight_bytes", value_bytes(precision), f"bytes of one {precision} value")
    one = chosen("tp", 1.0, "each accelerator holds the whole model")
    weights = derive(serving_weights_gb, parameters=fact(f"{own}.parameters"), weight_bytes=size, tp=one)
    bandwidth = inputs.of_sku(inputs.accelerator("memory_bandwidth"), sku)
    efficiency = fact("performance.training.memory_efficiency")
    memory = {"memory_gb_per_s": _tall(bandwidth, tall), "memory_efficiency_fraction": efficiency}
    behind = np.arange(len(sku)).reshape(-1, *(1,) * (1 + tall))  # axes of sizes and of operators
    reached = reached_fraction(
        inputs,
        sku,
        parts["width"],
        (parts["tokens"] * passes * images).named("matrix_rows", "Rows that meet the weights of a layer"),
        precision,
    )
    half = _tall(peak_column(inputs, sku, "bf16"), tall)
    attention = fact("performance.training.attention_efficiency")
    in_steps, waits = reached, dict[str, Traced]()
    crossing: Traced = chosen("crossing_fraction", 1.0, "kernels of transformers are taken one by one")
    if diffusion and inputs.catalogue.has(f"{own}.linear"):  # a U-Net: measured engines fuse its kernels
        waits = {"wait_s": fact("performance.diffusion.step_time")}
        crossing = fact("performance.diffusion.fused_traffic")
        in_steps = _in_whole_tiles(inputs, own, sku, reached, tall)

    def times(tflop: Traced, gb: Traced, peak: Traced, efficiency_fraction: Traced) -> Traced:
        """Time of matrices, attention and element-wise work: the two last in 16 bits."""
        rates = derive(
            operators_tflop_per_s,
            matrix_tflop_per_s=peak,
            matrix_efficiency_fraction=efficiency_fraction,
            half_tflop_per_s=half,
            attention_efficiency_fraction=attention,
        )
        return derive(
            operator_s,
            operator_tflop=tflop,
            operator_gb=derive(crossing_gb, moved_gb=gb, crossing_fraction=crossing),
            operator_tflop_per_s=rates,
            memory_gb_per_s=rows(bandwidth, behind),
            memory_efficiency_fraction=efficiency,
        )

    time = derive(
        generation_s,
        steps=steps,
        passes=passes,
        batch=images,
        weights_gb=weights,
        **memory,
        **waits,
        step_operator_s=times(
            parts["step_tflop"], parts["step_gb"], _tall(peak_column(inputs, sku, precision), tall), in_steps
        ),
        once_operator_s=times(parts["once_tflop"], parts["once_gb"], half, reached),
    )
    drawn = parts["step_tflop"]
    if diffusion:
        half_width = fact("performance.training.hidden_half_width")
        drawn = derive(busy_tflop, step_tflop=drawn, width=parts["width"], half_width=half_width)
    whole = derive(
        sample_tflop,
        steps=steps,
        passes=passes,
        step_tflop=drawn,
        once_tflop=parts["once_tflop"],
    )
    return BatchWork(
        memory_gb=derive(
            generation_memory_gb,
            weights_gb=weights,
            batch=images,
            passes=passes,
            sample_gb=chosen("sample_gb", 0.0, "activations are left out"),
        ),
        batch=images,
        time_s=time,
        memory_use=derive(
            serving_memory_use_fraction,
            touched_gb=weights,
            memory_gb_per_s=memory["memory_gb_per_s"],
            cache_read_gb=derive(element_gb, batch=images, passes=passes, step_gb=parts["step_gb"]),
            step_s=(time / steps).named(
                "step_s", "Time of one denoising step; the parts that run once are spread over the steps"
            ),
        ),
        compute_use=derive(
            generation_compute_use_fraction,
            sample_tflop=whole,
            batch=images,
            time_s=time,
            peak_tflop_per_s=half,
        ),
        error=fact(f"performance.{'diffusion' if diffusion else 'vision'}.rate_error"),
    )


def _in_whole_tiles(inputs: Inputs, own: str, sku: Indices, reached: Traced, tall: bool) -> Traced:
    """The share of the peak that a U-Net gets where kernels round its narrow levels up to whole tiles."""
    if not inputs.catalogue.has(f"{own}.narrow_width"):
        return reached
    levels = {name: inputs.fact(f"{own}.{key}") for name, key in LEVELS.items()}
    keys = (f"accelerator.{one.accelerator}.matrix_tile" for one in inputs.skus)
    plain = chosen("tile", 1.0, "nobody says how wide its kernels are")
    tiles: list[Traced] = [inputs.fact(key) if inputs.catalogue.has(key) else plain for key in keys]
    ratio = derive(levels_tiles_ratio, tile=_tall(pick(tiles, sku), tall), **levels)
    return derive(tiled_efficiency_fraction, efficiency_fraction=reached, tiles_ratio=ratio)


def denoiser(
    facts: Facts, model: str, block_bytes: Traced, *, sizes: Mapping[str, str] = MODEL_CARD
) -> dict[str, Traced]:
    """Arithmetic and traffic of a pass and of what runs once, counted or from the shape of a transformer.

    `sizes` names the facts of a size that is another than the model card's, where the model has them.
    """
    fact, own = facts.fact, f"diffusion.{model}"
    if facts.has(f"{own}.linear"):
        none = chosen("linear", 0.0, "the decoder has convolutions alone")
        counts: dict[str, Traced] = {name: fact(f"{own}.{name}") for name in COUNTS}
        once = {name: none if name == "linear" else fact(f"{own}.{key}") for name, key in ONCE.items()}
        return {
            "width": fact(f"{own}.width"),
            "tokens": fact(f"{own}.tokens"),
            "step_tflop": derive(counted_tflop, **counts),
            "once_tflop": derive(counted_tflop, **once),
            "step_gb": derive(
                moved_gb,
                block_values=fact(f"{own}.block_values"),
                norm_values=fact(f"{own}.norm_values"),
                block_bytes=block_bytes,
            ),
            "once_gb": derive(
                moved_gb,
                norm_values=fact(f"{own}.once_values"),
                block_bytes=block_bytes,
                block_values=chosen("block_values", 0.0, "no transformer blocks in the decoder"),
            ),
        }

    def sized(word: str) -> Traced:
        stated = f"{own}.{sizes.get(word, word)}"
        return fact(stated if facts.has(stated) else f"{own}.{word}")

    latent = derive(latent_tokens, **{name: sized(key) for name, key in LATENT.items()})
    tokens = derive(all_tokens, latent_tokens=latent, text_tokens=sized("text_tokens"))
    nothing = "the decoder of this model is not counted"
    again: dict[str, Traced] = {}
    if facts.has(f"{own}.second_attention"):
        again = {"second_fraction": fact(f"{own}.second_attention"), "latent_tokens": latent}
    shape: dict[str, Traced] = {name: fact(f"{own}.{name}") for name in SHAPE}
    return _transformer(shape, tokens, block_bytes, _run_once(nothing), again)


def _encoder(facts: Facts, model: str, block_bytes: Traced) -> dict[str, Traced]:
    """The same of a vision transformer, whose images are sequences of patches: one pass, nothing else."""
    fact, own = facts.fact, f"model.{model}"
    shape: dict[str, Traced] = {
        "layers": fact(f"{own}.layers"),
        "hidden": fact(f"{own}.hidden"),
        "ffn_ratio": (fact(f"{own}.ffn") / fact(f"{own}.hidden")).named(
            "wide_ratio", "Width of a feed-forward part over that of the layer"
        ),
    }
    tokens = image_tokens(facts, model)
    return _transformer(shape, tokens, block_bytes, _run_once("nothing runs but the layers"))


def image_tokens(facts: Facts, model: str, pixels: Traced | None = None) -> Traced:
    """Tokens of one image of a vision transformer, of the usual side where none is said."""
    side = pixels or chosen("image_pixels", float(IMAGE_PIXELS), "the usual side of an image")
    return derive(patch_tokens, image_pixels=side, patch_pixels=facts.fact(f"model.{model}.patch_pixels"))


def _run_once(reason: str) -> dict[str, Traced]:
    return {name: chosen(name, np.zeros(3), reason) for name in ("once_tflop", "once_gb")}


def _transformer(
    shape: dict[str, Traced],
    tokens: Traced,
    block_bytes: Traced,
    once: dict[str, Traced],
    again: Mapping[str, Traced] = ATTENDS_ONCE,
) -> dict[str, Traced]:
    return {
        "width": shape["hidden"],
        "tokens": tokens,
        "step_tflop": derive(transformer_tflop, tokens=tokens, **shape, **again),
        "step_gb": derive(
            moved_gb,
            block_bytes=block_bytes,
            norm_values=chosen("norm_values", 0.0, "in the blocks"),
            block_values=(shape["layers"] * shape["hidden"] * tokens).named(
                "pass_values", "Values that element-wise work of one pass goes over"
            ),
        ),
        **once,
    }


def items_together(inputs: Inputs, model: str) -> Traced:
    """Samples, images or films that an engine takes together where nothing else is said."""
    kind = kind_of_model(inputs.catalogue, model)
    if kind == RECOMMENDATION:
        return inputs.fact("performance.recommendation.batch_samples")
    if is_film(inputs.catalogue, model):
        return chosen("batch", 1.0, "one film fills an accelerator")
    return inputs.fact(f"performance.{kind}.batch")


def makes_images(inputs: Inputs, model: str) -> bool:
    """Whether a model makes images or films."""
    return kind_of_model(inputs.catalogue, model) == DIFFUSION


def power_law(inputs: Inputs, model: str, sku: Indices) -> dict[str, Traced]:
    """Law of power of what is done in batches, by SKU: images and films have their own and what they hold."""
    if not makes_images(inputs, model):
        return power_curve(inputs, sku)
    return generation_curve(inputs, sku, "video" if is_film(inputs.catalogue, model) else "image")


def reached_fraction(
    inputs: Inputs, sku: Indices, width: Traced, matrix_rows: Traced, precision: str
) -> Traced:
    """Share of the peak of a precision that dense layers reach, by the law fitted on language models."""
    shape = derive(
        shape_efficiency_fraction,
        hidden=width,
        rank_tokens=matrix_rows,
        tp=chosen("tp", 1.0, "layers are copied, not split"),
        hidden_half_width=inputs.fact("performance.training.hidden_half_width"),
        tokens_half=inputs.fact("performance.training.tokens_half"),
    )
    chip = inputs.of_sku([_efficiency(inputs, one.accelerator, precision) for one in inputs.skus], sku)
    return derive(
        joint_efficiency_fraction,
        matrix_efficiency_fraction=_tall(chip, np.ndim(matrix_rows.value) > 1),
        shape_efficiency_fraction=shape,
    )


def _efficiency(inputs: Inputs, accelerator: str, precision: str) -> Fact:
    """Share of the peak that large matrices of a precision get; that of 16 bits where no other is known.

    Nothing was measured of kernels of integers: published scores in int8 have the share of 16 bits.
    """
    key = f"accelerator.{accelerator}.matrix_efficiency"
    narrow = f"{key}@{kernels_of(precision)}"
    known = precision != "int8" and inputs.catalogue.has(narrow)
    return inputs.fact(narrow if known else key)


def peak_column(inputs: Inputs, sku: Indices, precision: str) -> Traced:
    """Dense peak of each row at a precision that its accelerator has."""
    used, place = np.unique(sku, return_inverse=True)
    return pick([peak_of(inputs, inputs.skus[k].accelerator, precision) for k in used], place.ravel())


def layer_width(inputs: Inputs, model: str) -> Traced:
    """Width of the dense layers: as published, or that of square layers with as many weights."""
    own = f"recommendation.{model}"
    if inputs.catalogue.has(f"{own}.width"):
        return inputs.fact(f"{own}.width")
    layers = chosen("layers", LAYERS, "as many layers share the weights")
    return derive(mean_width, weights=inputs.fact(f"{own}.dense_parameters"), layers=layers)


def _tall(node: Traced, tall: bool) -> Traced:
    """A column with an axis of sizes behind its rows, where there is one."""
    return rows(node, np.arange(np.size(node.value))[:, None]) if tall and np.ndim(node.value) == 1 else node
