"""What a step of a model that makes images or films takes, by samples: one image or film each.

Plans, questions about hardware and the published cases all ask it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.inputs.catalogue import Facts
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import TrainingJob
from planner.inputs.software import Stack, default_stack
from planner.performance.bundles import Links, Waits, bundled
from planner.performance.diffusion import (
    denoiser_held_gb,
    diffusion_training_step,
    generation_compute_use_fraction,
    operator_s,
)
from planner.performance.power import training_power_kw
from planner.performance.throughput import samples_per_s
from planner.performance.training_layer import shape_efficiency_fraction
from planner.physics.batch_work import denoiser
from planner.physics.equations.batches import (
    joint_efficiency_fraction,
    operators_tflop_per_s,
    sample_tflop,
    weights_cut,
)
from planner.physics.links import link_domain
from planner.physics.nodes import power_curve
from planner.physics.training_step import hardware_arguments
from planner.trace.columns import Indices
from planner.trace.quantities import Parts, Traced, chosen, derive, derive_parts, pick, rows

# The size of images in the benchmark of training, where it is not the model card's.
TRAINED = {"height": "train_height", "width": "train_width", "text_tokens": "train_text_tokens"}
# ZeRO stage -> what each accelerator holds.
HELD = {1: "weights copied, optimizer cut across all", 3: "weights cut across all"}
HELD_BYTES = 6.0  # of a parameter: its weight in 16 bits and its gradient in 32
LINKS = (
    "link_domain",
    "link_gb_per_s",
    "network_gb_per_s",
    "link_efficiency_fraction",
    "network_efficiency_fraction",
)
WAITS = (
    "fsdp_latency_s",
    "fsdp_exposed_fraction",
    "data_parallel_hidden_fraction",
    "fixed_s",
    "scale_drag_ratio",
)
MEMORY = ("memory_gb_per_s", "memory_efficiency_fraction")


@dataclass(frozen=True)
class DenoiserTraining:
    """Steps of a denoiser on rows of chips and accelerators; what each holds besides them."""

    step: Parts
    samples_per_s: Traced
    held_gb: Traced
    sharded: Traced
    compute_use: Traced


def chip_arguments(
    facts: Facts, model: str, accelerator: str, precision: str, stack: Stack | None = None
) -> dict[str, Traced]:
    """What the step takes from a chip at a precision and from the software on it; by default its newest.

    The host's time of a step is that of the model, where it was measured and no trace of one's own says
    otherwise: recorded kernels start sooner than the layers of a language model.
    """
    found = hardware_arguments(facts, accelerator, precision, stack)
    own = f"diffusion.{model}.fixed_time"
    if facts.has(own) and not facts.has(f"performance.training.fixed_time@{accelerator}"):
        software = f"{own}@{(stack or default_stack(accelerator)).name}"
        found["fixed_s"] = facts.fact(software if facts.has(software) else own)
    return {**found, "memory_gb": facts.fact(f"accelerator.{accelerator}.memory")}


def denoiser_training(
    facts: Facts, model: str, chip: Mapping[str, Traced], samples: Traced, accelerators: Traced
) -> DenoiserTraining:
    """A step of so many samples on chips, one or a column of them.

    The optimizer's state is split over all; weights and gradients too where they leave samples too little
    room.
    """
    parts = denoiser(facts, model, chip["elementwise_bytes_per_value"], sizes=TRAINED)
    each = (samples / accelerators).named("rank_samples")
    one_pass = chosen("passes", 1.0, "a sample has one random noise level")
    shape = derive(
        shape_efficiency_fraction,
        hidden=parts["width"],
        rank_tokens=(parts["tokens"] * one_pass * each).named(
            "matrix_rows", "Rows that meet the weights of a layer"
        ),
        tp=chosen("tp", 1.0, "layers are copied or gathered, not split"),
        hidden_half_width=chip["hidden_half_width"],
        tokens_half=chip["tokens_half"],
    )
    matrix = (chip["matrix_tflop_per_s"] * chip["precision_factor"] * chip["stack_factor"]).named(
        "matrix_tflop_per_s"
    )
    rates = derive(
        operators_tflop_per_s,
        matrix_tflop_per_s=matrix,
        matrix_efficiency_fraction=derive(
            joint_efficiency_fraction,
            matrix_efficiency_fraction=chip["matrix_efficiency_fraction"],
            shape_efficiency_fraction=shape,
        ),
        half_tflop_per_s=chip["attention_tflop_per_s"],
        attention_efficiency_fraction=chip["attention_efficiency_fraction"],
    )
    operators = derive(
        operator_s,
        operator_tflop=parts["step_tflop"],
        operator_gb=parts["step_gb"],
        operator_tflop_per_s=rates,
        **{name: _by_operator(chip[name]) for name in MEMORY},
    )
    parameters = facts.fact(f"diffusion.{model}.parameters")
    state = facts.fact("performance.training.optimizer_bytes_per_parameter")
    held_bytes = chosen("held_bytes", HELD_BYTES, "a weight in 16 bits and its gradient in 32")
    cut = derive(
        weights_cut,
        parameters=parameters,
        held_bytes=held_bytes,
        memory_gb=chip["memory_gb"],
        usable_fraction=facts.fact("performance.training.usable_memory"),
    )
    step = derive_parts(
        diffusion_training_step,
        operator_s=operators,
        samples=each,
        parameters=parameters,
        accelerators=accelerators,
        sharded=cut,
        optimizer_bytes=state,
        **bundled({name: chip[name] for name in (*MEMORY, *LINKS, *WAITS)}, links=Links, waits=Waits),
    )
    worked = derive(
        sample_tflop,
        steps=chosen("steps", 1.0, "a sample has one random noise level"),
        passes=chosen("passes", 3.0, "one forward, two back"),
        step_tflop=parts["step_tflop"],
        once_tflop=chosen("once_tflop", np.zeros(3), "latents and texts are encoded beforehand"),
    )
    return DenoiserTraining(
        step=step,
        samples_per_s=derive(samples_per_s, global_batch=samples, step_s=step.total_s),
        held_gb=derive(
            denoiser_held_gb,
            parameters=parameters,
            accelerators=accelerators,
            sharded=cut,
            held_bytes=held_bytes,
            optimizer_bytes=state,
        ),
        sharded=cut,
        compute_use=derive(
            generation_compute_use_fraction,
            sample_tflop=worked,
            batch=each,
            time_s=step.total_s,
            peak_tflop_per_s=chip["attention_tflop_per_s"],
        ),
    )


def denoiser_columns(
    inputs: Inputs, model: str, precision: str, sku: Indices, samples: Traced, accelerators: Traced
) -> tuple[DenoiserTraining, Traced]:
    """The same on rows of SKUs, and what one of their accelerators draws."""
    used, place = np.unique(sku, return_inverse=True)
    each = [
        {
            **chip_arguments(inputs, model, inputs.skus[k].accelerator, precision),
            "link_domain": link_domain(inputs, int(k)),
        }
        for k in used
    ]
    chip = {
        name: first
        if all(one[name] is first for one in each)
        else pick([one[name] for one in each], place.ravel())
        for name, first in each[0].items()
    }
    found = denoiser_training(inputs, model, chip, samples, accelerators)
    # Kernels too small to fill the time that the host needs keep an accelerator as busy as values that move.
    moving = found.step.elementwise_s + found.step.optimizer_s + found.step.waiting_s
    drawn = derive(
        training_power_kw,
        tdp_kw=inputs.of_sku(inputs.accelerator("tdp"), sku),
        computing_s=found.step.computing_s,
        moving_s=moving.named("moving_s"),
        total_s=found.step.total_s,
        compute_use_fraction=found.compute_use,
        memory_efficiency_fraction=chip["memory_efficiency_fraction"],
        exchange_power_fraction=inputs.fact("performance.power.exchange"),
        **power_curve(inputs, sku),
    )
    return found, drawn


def no_step(samples: float, accelerators: int, held_gb: float, usable_gb: float) -> str:
    """Why a number of accelerators cannot take a step; empty where they can."""
    if accelerators > samples:
        return f"a step of {samples:,.0f} samples is less than one for each of {accelerators:,} accelerators"
    if held_gb > usable_gb:
        return f"weights and optimizer need {held_gb:,.3g} GB of {usable_gb:,.3g} GB that are usable"
    return ""


def stages(found: DenoiserTraining) -> NDArray[np.intp]:
    """ZeRO stage of each row, one of `HELD`."""
    return np.where(np.ravel(found.sharded.value) > 0, max(HELD), min(HELD))


def run_stage(inputs: Inputs, job: TrainingJob, sku: int, accelerators: int) -> tuple[int, float, str]:
    """ZeRO stage and held memory of a run on some accelerators, and why it cannot be; empty where it can."""
    found, _ = denoiser_columns(
        inputs,
        job.model,
        job.precision,
        np.array([sku], dtype=np.intp),
        inputs.yours(f"training.{job.name}.batch_samples", job.step_amount, "1"),
        chosen("accelerators", np.array([float(accelerators)]), "enumerated: a size that the scenario names"),
    )
    usable = inputs.fact("performance.training.usable_memory").value * inputs.accelerator("memory")[sku].value
    held = float(np.ravel(found.held_gb.value)[0])
    return int(stages(found)[0]), held, no_step(job.step_amount, accelerators, held, usable)


def _by_operator(column: Traced) -> Traced:
    """A column whose rows have an axis of operators behind them; one number for all stays as it is."""
    return rows(column, np.arange(np.size(column.value))[:, None])
