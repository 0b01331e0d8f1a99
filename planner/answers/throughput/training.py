"""Training of transformers: language and vision models, mixtures of experts, adapters (LoRA)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import gcd

import numpy as np

from planner.answers.throughput.costs import delivered
from planner.answers.throughput.setting import Row, Setting, Table, ranged, training_error
from planner.inputs.software import default_stack, stack_named
from planner.performance.bundles import SplitLimits
from planner.performance.layouts import Layout, NoLayout
from planner.performance.throughput import (
    exposed_communication_fraction,
    mfu_fraction,
    model_flops_per_token,
    samples_per_s,
)
from planner.physics.batch_work import IMAGE_PIXELS, image_tokens
from planner.physics.hybrids import attending_layers, is_hybrid
from planner.physics.nodes import host_columns, power_curve, working_node_kw
from planner.physics.requests import given
from planner.physics.run_speed import throughput, training_accelerator_kw
from planner.physics.training_options import (
    LAYOUT,
    cannot_train,
    is_mixture,
    training_arguments,
    unknown_step,
)
from planner.physics.training_step import AS_FAST, adapter_arguments, without_precision
from planner.physics.training_step import layout_of as searched_layout
from planner.trace.columns import Indices
from planner.trace.numbers import count_text, how_many, number_text, percent_text
from planner.trace.quantities import Parts, Traced, chosen, derive, pick

WAITS = (
    "tensor_parallel_s",
    "expert_parallel_s",
    "context_parallel_s",
    "weight_gather_s",
    "pipeline_transfer_s",
    "data_parallel_s",
    "total_s",
)

VISION_BATCH = 4096  # samples, as in the pre-training of ViT
SMALL = 1e9  # parameters below which no run was fitted
# Shares by which a batch may be moved so that a number of accelerators divides it: gladly, and at most.
NEAR_BATCH, OTHER_BATCH = 0.02, 0.1
COMMON, COMMON_ON = "torchtitan", "nvlink"  # software that many train with, and where it ran
HIGH_MFU = 0.6  # from which an MFU asks for an explanation
WORTH_SAYING = 0.05  # of the rate that another batch adds: less is no reason for it

Found = tuple[int, int, int, Layout]  # SKU, nodes, batch and layout of a row that fits


@dataclass(frozen=True)
class Work:
    """What is trained: arguments of its step by SKU, and its batch in sequences."""

    vision: bool
    mixture: bool
    sequence: Traced
    batch: int
    arguments: Sequence[dict[str, Traced] | str]


def work_of(setting: Setting) -> Work:
    """The work that the question states, or the catalogue where it is silent."""
    question, fact = setting.question, setting.fact
    model = f"model.{question.model}"
    vision = setting.catalogue.has(f"{model}.patch_pixels")
    sequence: Traced
    if vision:
        pixels = given("image_pixels", float(question.image_pixels or IMAGE_PIXELS), "1")
        sequence = image_tokens(setting.inputs, question.model, pixels)
        batch = question.batch or VISION_BATCH
    else:
        stated = question.sequence_tokens
        sequence = fact("job.sequence_tokens") if stated is None else given("sequence", float(stated), "1")
        tokens = fact("job.batch_tokens").value if question.batch_tokens is None else question.batch_tokens
        batch = max(1, round(tokens / sequence.value))
    each: list[dict[str, Traced] | str] = []
    for k in range(len(setting.inputs.skus)):
        chip = setting.inputs.skus[k].accelerator
        reason = cannot_train(setting.inputs, k) or setting.without_precision(k)
        reason = reason or without_precision(setting.catalogue, chip, question.precision)
        reason = reason or unknown_step(setting.inputs, question.model)
        each.append(reason or _arguments(setting, k))
    return Work(vision, is_mixture(setting.inputs, question.model), sequence, batch, each)


def training_table(setting: Setting, sizes: Sequence[int]) -> Table:
    """Every SKU at every size on its fastest layout that fits, or why none does."""
    work = work_of(setting)
    rows: list[Row] = []
    found: list[Found] = []
    fitting: list[int] = []
    for k, sku in enumerate(setting.inputs.skus):
        each = int(setting.inputs.server("accelerators")[k].value)
        for nodes in sizes:
            batch = divisible(work.batch, nodes * each)
            layout = layout_of(setting, work, k, nodes * each, batch)
            row: Row = {
                "sku": sku.name,
                "nodes": nodes,
                "accelerators": nodes * each,
                "fits": isinstance(layout, Layout),
            }
            if isinstance(layout, Layout):
                row |= {"layout": layout.says(), "batch": batch, "memory_gb": layout.memory_gb}
                row |= {name: getattr(layout, name) for name in (*LAYOUT, "dp")}
                fitting.append(len(rows))
                found.append((k, nodes, batch, layout))
            else:
                row["reason"] = layout
            rows.append(row)
    unit = "samples" if work.vision else "tokens"
    about = {"sequence_tokens": float(work.sequence.value), "batch": work.batch}
    columns = _columns(setting, work, found) if found else {}
    notes = [*_notes(setting, work), *_mfu_note(columns), *_batch_hints(setting, work, found, columns)]
    return Table(unit, rows, fitting, columns, about, notes).filled()


def layout_of(
    setting: Setting,
    work: Work,
    sku: int,
    accelerators: int,
    batch: int,
    limits: SplitLimits | None = None,
) -> Layout | str:
    """The fastest layout on a number of accelerators, or why there is none."""
    arguments = work.arguments[sku]
    if isinstance(arguments, str):
        return arguments
    inputs = setting.inputs
    found = searched_layout(
        arguments,
        accelerators=accelerators,
        global_batch=batch,
        sequence_tokens=int(work.sequence.value),
        memory_gb=inputs.accelerator("memory")[sku].value,
        usable_fraction=inputs.fact("performance.training.usable_memory").value,
        as_fast_fraction=inputs.fact(AS_FAST).value,
        limits=limits,
    )
    return found.reason if isinstance(found, NoLayout) else found


def _arguments(setting: Setting, sku: int) -> dict[str, Traced]:
    """Arguments of the step on one SKU that do not depend on its size."""
    question = setting.question
    arguments = training_arguments(setting.inputs, question.model, sku, question.precision)
    if question.adapter_rank is not None:
        rank = given("adapter_rank", float(question.adapter_rank), "1")
        arguments |= adapter_arguments(setting.inputs, question.model, rank)
    return arguments


def divisible(batch: int, accelerators: int) -> int:
    """The nearest batch that an odd number of accelerators divides: 9 x 8 of them need a multiple of 9.

    Of multiples that are near enough the one with most factors of two, which leave most layouts; the batch
    itself where none is near.
    """
    odd = accelerators // (accelerators & -accelerators)
    if odd == 1:
        return batch
    factors = [odd << power for power in range(accelerators.bit_length(), -1, -1)]
    tries = [(factor * max(1, round(batch / factor)), NEAR_BATCH) for factor in factors]
    tries.append((odd * max(1, round(batch / odd)), OTHER_BATCH))
    return next((other for other, most in tries if abs(other - batch) <= most * batch), batch)


def rounder(batch: int, accelerators: int) -> int:
    """The batch near this one that divides among most copies; the nearest of those."""
    most = int(OTHER_BATCH * batch)
    near = range(batch - most, batch + most + 1)
    return max(near, key=lambda other: (gcd(other, accelerators), -abs(other - batch)))


def _batch_hints(
    setting: Setting, work: Work, found: Sequence[Found], columns: Mapping[str, Traced]
) -> Iterator[str]:
    """A sentence for each SKU whose largest size is faster by another batch near the stated one."""
    largest = {one[0]: place for place, one in enumerate(found)}
    for sku, place in largest.items():
        nodes, batch = found[place][1:3]
        accelerators = nodes * int(setting.inputs.server("accelerators")[sku].value)
        other = rounder(work.batch, accelerators)
        if gcd(other, accelerators) <= gcd(batch, accelerators):
            continue
        layout = layout_of(setting, work, sku, accelerators, other)
        if not isinstance(layout, Layout):
            continue
        rate = float(_columns(setting, work, [(sku, nodes, other, layout)])["rate_per_s"].value[0])
        more = rate / float(columns["rate_per_s"].value[place]) - 1.0
        if more >= WORTH_SAYING:
            yield (
                f"{setting.inputs.skus[sku].name}, {how_many(nodes, 'node')}: a batch of "
                f"{count_text(other)} {'samples' if work.vision else 'sequences'} in place of "
                f"{count_text(batch)} divides among more copies of the model and gives {number_text(rate)} "
                f"{'samples' if work.vision else 'tokens'}/s, {percent_text(more, 0)} more."
            )


def _columns(setting: Setting, work: Work, found: Sequence[Found]) -> dict[str, Traced]:
    """What each row takes, delivers and draws."""
    inputs, question = setting.inputs, setting.question
    sku = np.array([row[0] for row in found], dtype=np.intp)
    nodes = chosen("nodes", np.array([float(row[1]) for row in found]), "enumerated: a size to look at")
    per_node = inputs.of_sku(inputs.server("accelerators"), sku)
    accelerators = (nodes * per_node).named("accelerators_in_use")
    arguments = _in_columns(work, sku)
    for name in LAYOUT:
        values = np.array([float(getattr(row[3], name)) for row in found])
        arguments[name] = chosen(name, values, "the fastest layout that fits in memory")
    arguments["global_batch"] = chosen(
        "global_batch", np.array([float(row[2]) for row in found]), "sequences of a step, as requested"
    )
    arguments["sequence_tokens"] = work.sequence
    step, each = throughput(arguments, accelerators)
    rate = (
        derive(samples_per_s, global_batch=arguments["global_batch"], step_s=step.total_s)
        if work.vision
        else (each * accelerators).named("system_per_s", "Rate of a whole system")
    )
    parameters = inputs.fact(f"model.{question.model}.parameters")
    busy = training_accelerator_kw(
        inputs,
        arguments,
        step,
        accelerators,
        parameters,
        inputs.of_sku(inputs.accelerator("tdp"), sku),
        power_curve(inputs, sku),
    )
    node_kw = working_node_kw(host_columns(inputs, sku), per_node, busy)
    columns: dict[str, Traced] = ranged(rate, training_error(setting, sku, work.mixture))
    columns |= {
        "tokens_per_s_per_gpu": each,
        "step_s": step.total_s,
        "exposed_fraction": _exposed(step),
        "node_kw": node_kw,
        **delivered(setting, sku, rate=rate, nodes=nodes, node_kw=node_kw),
    }
    if question.adapter_rank is None:
        attending = attending_layers(inputs, question.model) if is_hybrid(inputs, question.model) else None
        columns["mfu_fraction"] = _mfu(arguments, each, parameters, attending)
    return columns


def _in_columns(work: Work, sku: Indices) -> dict[str, Traced]:
    """Arguments by SKU as columns; what is the same on every SKU stays one node."""
    used = np.unique(sku)
    place = np.searchsorted(used, sku)
    each = [one for one in (work.arguments[k] for k in used) if not isinstance(one, str)]
    return {
        name: first if all(one[name] is first for one in each) else pick([one[name] for one in each], place)
        for name, first in each[0].items()
    }


def _exposed(step: Parts) -> Traced:
    return derive(exposed_communication_fraction, **{name: step[name] for name in WAITS})


def _mfu(arguments: dict[str, Traced], each: Traced, parameters: Traced, attending: Traced | None) -> Traced:
    """Useful share of the peak, the whole square of attention scores counted as in PaLM.

    Of a hybrid the `attending` layers alone have scores.
    """
    shape = {name: arguments[name] for name in ("layers", "heads", "sequence_tokens")}
    if attending is not None:
        shape["layers"] = attending
    wide = arguments.get("head_dim") or chosen(
        "head_dim", arguments["hidden"].value / arguments["heads"].value, "as wide as the model"
    )
    flops = derive(
        model_flops_per_token,
        head_dim=wide,
        **shape,
        parameters=arguments.get("active_parameters", parameters),
    )
    peak = arguments["matrix_tflop_per_s"]
    return derive(mfu_fraction, tokens_per_s_per_gpu=each, flops_per_token=flops, peak_tflop_per_s=peak)


def _mfu_note(columns: Mapping[str, Traced]) -> Iterator[str]:
    """What makes an MFU higher than matrices are fast."""
    if "mfu_fraction" not in columns or float(np.max(columns["mfu_fraction"].value)) < HIGH_MFU:
        return
    yield (
        "MFU counts the whole square of attention scores, as PaLM does. A causal mask hides half of it: MFU "
        "grows with the length of sequences, and may pass 100 %, with nothing computed faster."
    )


def _software_note(setting: Setting) -> str:
    """Which training software the rates are of: the newest that each chip runs."""
    chips: dict[str, list[str]] = {}
    for sku in setting.inputs.skus:
        if sku.trains:
            names = chips.setdefault(default_stack(sku.accelerator).says, [])
            names.append(sku.accelerator)
    if len(chips) == 1:
        return f"Software: {next(iter(chips))}."
    each = (f"{says} ({', '.join(dict.fromkeys(names))})" for says, names in chips.items())
    return f"Software, the newest of each accelerator: {'; '.join(each)}."


def _common_software(setting: Setting, work: Work) -> Iterator[str]:
    """What software that nobody tuned for a chip reaches of these rates, where runs of it are known."""
    if work.vision or work.mixture or setting.question.adapter_rank is not None:
        return
    known = [one for one in setting.inputs.skus if one.trains and one.link == COMMON_ON]
    if any(one.accelerator not in setting.calibrated for one in known):
        stack = stack_named(COMMON)
        share = setting.fact(stack.facts["stack_factor"])
        yield (
            f"{stack.says} reached {share.value:g} of such rates, {share.low:g} to {share.high:g}, which "
            "their range leaves out: calibrate on a run of yours."
        )


def _notes(setting: Setting, work: Work) -> list[str]:
    """What this kind of work makes less sure."""
    notes = [_software_note(setting), *_common_software(setting, work)]
    parameters = setting.fact(f"model.{setting.question.model}.parameters").value
    if work.mixture:
        doubt = setting.calibration()
        notes.append(
            f"A mixture of experts: published runs of its kind lie at {doubt.low:g} to {doubt.high:g} times "
            "what the terms of a step add up to; a factor is taken, and the range says so."
        )
    if parameters < SMALL:
        notes.append(
            "Below 1 B parameters the host sets the pace, which is not seen: rates are an upper end."
        )
    if setting.question.adapter_rank is not None:
        notes.append("Adapters on all four attention projections; no MFU, for frozen weights need less work.")
    return notes
