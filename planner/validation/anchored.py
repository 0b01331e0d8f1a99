"""Adapters of a training run next to another of the same work: from an anchor that was measured."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from planner.inputs.software import default_stack, stack_named
from planner.performance.throughput import calibration_ratio
from planner.trace.quantities import chosen
from planner.validation.aliases import catalogue_name
from planner.validation.forms import Book, NotUnderstood
from planner.validation.performance import (
    LORA,
    SPELLINGS,
    TRAINING,
    benchmark_length,
    layout_rate,
    planned_rate,
    train,
    train_model,
)
from planner.validation.recommendation import sample_rate
from planner.validation.software import sharding_stage, split_by_stack
from planner.validation.stated import RECOMPUTE, Anchor, StatedLayout, StatedShape
from planner.validation.steps import adapted, model_step

BOOK = Book(SPELLINGS)


@BOOK.takes("scale_from_anchor", unit="1/s", subject=TRAINING)
def scale_from_anchor(
    *,
    model: str,
    gpu: str,
    dtype: str | None = None,
    anchor: Anchor,
    accelerators: int,
    global_batch: int,
    tp: int | None = None,
    pp: int | None = None,
    interleave: int | None = None,
    sequence_tokens: int | None = None,
    software: str | None = None,
) -> dict[str, float]:
    """One measured size sets one factor; another size follows.

    Answers what the anchor is in: a rate of tokens or sequences, or seconds for each step. A stated layout
    has a micro-batch of 1 and selective recomputation; none is the planner's. "LoRA" behind the name of
    a model means adapters next to its frozen weights. Models of scores and images train in mixed precision,
    on the planner's placement alone.
    """
    stated = {"tp": tp, "pp": pp, "vp": interleave, "seq": sequence_tokens, "dtype": dtype}
    rate = sample_rate(model, gpu)
    if rate is None:
        rate = _language_rate(model, gpu, dtype, tp, pp, interleave or 1, sequence_tokens, software)
    elif given := [name for name, value in stated.items() if value is not None]:
        raise NotUnderstood(f"a model of scores or images takes no {', '.join(given)}")
    modelled = rate(accelerators, global_batch)
    then = rate(anchor.anchor_accelerators, anchor.anchor_global_batch)
    factor = float(calibration_ratio(measured_tokens_per_s=anchor.anchor_value, modelled_tokens_per_s=then))
    step_ratio = (global_batch / modelled) / (anchor.anchor_global_batch / then)
    rates = dict.fromkeys(("1/s", "sequences/s", "samples/s"), factor * modelled)
    return {**rates, "s": anchor.anchor_value * step_ratio}


def _language_rate(
    model: str,
    gpu: str,
    dtype: str | None,
    tp: int | None,
    pp: int | None,
    interleave: int,
    sequence_tokens: int | None,
    software: str | None,
) -> Callable[[int, int], float]:
    """The rate of a language model, with adapters or not, by size and batch."""
    if dtype is None:
        raise NotUnderstood("scale_from_anchor needs dtype for a language model")
    base, with_adapter = model.removesuffix(LORA), model.endswith(LORA)
    name, chip = catalogue_name("model", base), catalogue_name("accelerator", gpu)
    length = sequence_tokens or benchmark_length(model)
    ran = software or default_stack(chip).name
    arguments = model_step(name, chip, dtype, ran)
    if with_adapter:
        arguments = adapted(arguments)
    if tp is None or pp is None:
        return lambda size, batch: size * planned_rate(chip, size, batch, length, arguments)
    arguments["sequence_parallel"] = chosen(
        "sequence_parallel", split_by_stack(stack_named(ran), RECOMPUTE["selective"]), "by the stack"
    )
    layout: dict[str, float] = {
        "tp": tp,
        "pp": pp,
        "interleave": interleave,
        "cp": 1,
        "micro_batch": 1,
        "recompute": RECOMPUTE["selective"],
        "sharding": sharding_stage("none_or_optimizer", ran),
    }
    return lambda size, batch: size * layout_rate(arguments, layout, size, batch, length)


@BOOK.takes("train_step_ratio", unit="1", subject=TRAINING)
def train_step_ratio(
    *,
    gpu: str,
    accelerators: int,
    global_batch: int,
    anchor_gpus: int,
    anchor_global_batch: int,
    layout: StatedLayout,
    sequence_tokens: int,
    shape: StatedShape,
    vocabulary: int,
    recompute: str | None = None,
    dtype: str,
    software: str | None = None,
) -> float:
    """Time of a step over that of the same layout at the anchor."""
    each = partial(
        train,
        gpu=gpu,
        layout=layout,
        sequence_tokens=sequence_tokens,
        shape=shape,
        vocabulary=vocabulary,
        recompute=recompute,
        dtype=dtype,
        software=software,
    )
    return _step_ratio(each, (accelerators, global_batch), (anchor_gpus, anchor_global_batch))


@BOOK.takes("train_step_ratio", unit="1", subject=TRAINING)
def train_step_ratio_model(
    *,
    model: str,
    gpu: str,
    accelerators: int,
    global_batch: int,
    anchor_gpus: int,
    anchor_global_batch: int,
    layout: StatedLayout,
    ep: int = 1,
    sequence_tokens: int,
    dtype: str,
    recompute: str | None = None,
    software: str | None = None,
) -> float:
    """The same of a model of the catalogue."""
    each = partial(
        train_model,
        model=model,
        gpu=gpu,
        layout=layout,
        ep=ep,
        sequence_tokens=sequence_tokens,
        dtype=dtype,
        recompute=recompute,
        software=software,
    )
    return _step_ratio(each, (accelerators, global_batch), (anchor_gpus, anchor_global_batch))


def _step_ratio(each: Callable[..., float], now: tuple[int, int], then: tuple[int, int]) -> float:
    """Time of a step over another's, from tokens a second and accelerator at (accelerators, batch)."""

    def step_s(size: int, batch: int) -> float:
        return batch / (size * each(accelerators=size, global_batch=batch))

    return step_s(*now) / step_s(*then)
