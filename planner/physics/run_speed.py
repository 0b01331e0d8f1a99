"""How fast a training run goes: its step by the kind of its model, its workers, slow nodes, and its power."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from planner.inputs.model_kinds import DIFFUSION, RECOMMENDATION, VISION, kind_of_model
from planner.inputs.resolved import Inputs
from planner.performance.bundles import step_bundles
from planner.performance.power import (
    computing_s,
    moving_s,
    stalled_power_kw,
    training_compute_use_fraction,
    training_power_kw,
)
from planner.performance.throughput import tokens_per_s_per_gpu
from planner.performance.training import training_step_s
from planner.physics.across import Waits, waiting
from planner.physics.batch_work import image_tokens
from planner.physics.checkpoints import checkpoint_gb, trained_parameters
from planner.physics.denoiser_training import denoiser_columns
from planner.physics.equations.training import useful_time_h
from planner.physics.hybrids import is_hybrid
from planner.physics.nodes import host_columns, idle_node_items, power_curve, working_node_kw
from planner.physics.placed_tables import imbalance_column
from planner.physics.power_caps import Modes, slowed
from planner.physics.preprocessing import Feeding, feeding
from planner.physics.run_ways import run_ratio
from planner.physics.sample_training import sample_step
from planner.physics.shared_runs import copies_of, waits_of, whole_nodes
from planner.physics.slow_steps import slow_steps_of
from planner.physics.training_options import (
    COPIED,
    LAYOUT,
    OUTSIDE_STEP,
    TrainingCandidates,
    adapters_of,
    is_mixture,
    job_workload,
    training_arguments,
)
from planner.trace.quantities import Parts, Traced, chosen, derive, derive_parts, interleaved, pick, rows
from reliability.checkpoint import checkpoint_size_gb


def throughput(
    arguments: dict[str, Traced], accelerators: Traced, waits: Callable[[Parts], Waits] | None = None
) -> tuple[Parts, Traced]:
    """Step time by cause, and tokens a second of each accelerator; in doubt as a whole for experts.

    `waits` says what such a step waits for a link between sites.
    """
    step = derive_parts(
        training_step_s,
        **step_bundles(
            {
                "accelerators": accelerators,
                **{name: a for name, a in arguments.items() if name not in OUTSIDE_STEP},
            }
        ),
    )
    if waits is not None:
        step = waiting(step, waits(step))
    doubt = {name: a for name, a in arguments.items() if name == "calibration_factor"}
    rate = derive(
        tokens_per_s_per_gpu,
        step_s=step.total_s,
        accelerators=accelerators,
        **doubt,
        global_batch=arguments["global_batch"],
        sequence_tokens=arguments["sequence_tokens"],
    )
    return step, rate


def training_accelerator_kw(
    inputs: Inputs,
    arguments: dict[str, Traced],
    step: Parts,
    accelerators: Traced,
    parameters: Traced,
    tdp: Traced,
    curve: dict[str, Traced],
) -> Traced:
    """Power of one accelerator in a training step: while it multiplies, moves values, and waits."""
    compute = derive(
        training_compute_use_fraction,
        accelerators=accelerators,
        step_s=step.total_s,
        parameters=arguments.get("active_parameters", parameters),
        recompute=arguments["recompute"],
        global_batch=arguments["global_batch"],
        sequence_tokens=arguments["sequence_tokens"],
        peak_tflop_per_s=arguments["attention_tflop_per_s"],
        **{name: one for name, one in arguments.items() if name == "adapter_parameters"},
    )
    return derive(
        training_power_kw,
        tdp_kw=tdp,
        computing_s=derive(
            computing_s, matrix_s=step.matrix_s, attention_s=step.attention_s, head_s=step.head_s
        ),
        moving_s=derive(moving_s, elementwise_s=step.elementwise_s, optimizer_s=step.optimizer_s),
        total_s=step.total_s,
        compute_use_fraction=compute,
        memory_efficiency_fraction=arguments["memory_efficiency_fraction"],
        exchange_power_fraction=inputs.fact("performance.power.exchange"),
        **curve,
    )


@dataclass(frozen=True)
class Speed:
    """How fast a candidate trains, and what one of its nodes draws in each state."""

    nodes: Traced  # of its own row
    run_nodes: Traced  # of the whole run, where two sites share it
    accelerators: Traced  # of the whole run
    step_s: Traced
    tokens_per_s_per_gpu: Traced
    useful_h: Traced
    checkpoint_gb: Traced
    training_kw: Traced
    checkpoint_kw: Traced
    restart_kw: Traced
    idle_kw: Traced
    fed: Feeding | None = None
    waiting: Traced | None = None  # how much longer steps are, as nodes wait for slow ones; None: not stated


@dataclass(frozen=True)
class _Pace:
    """Steps of candidates of one kind: their time, the rate of an accelerator, its power, and checkpoints."""

    step_s: Traced
    tokens_per_s_per_gpu: Traced
    busy_kw: Traced
    checkpoint_gb: Traced


def training_speed(inputs: Inputs, candidates: TrainingCandidates) -> Speed:
    """Step time, useful hours, and the power of a node in each state."""
    jobs, sku = inputs.scenario.training, inputs.node_group_sku[candidates.node_group]
    count = chosen("nodes", candidates.nodes.astype(float), "enumerated: a size that the scenario names")
    per_node = inputs.of_sku(inputs.server("accelerators"), sku)
    whole = whole_nodes(count, candidates.halves)
    accelerators = (whole * per_node).named("accelerators_in_use")
    pace = _pace(inputs, candidates, accelerators)
    amounts = [inputs.yours(f"training.{j.name}.{j.amount_key}", j.amount, "1") for j in jobs]
    host = host_columns(inputs, sku)
    stalled = derive(
        stalled_power_kw,
        tdp_kw=inputs.of_sku(inputs.accelerator("tdp"), sku),
        stall_fraction=inputs.fact("performance.power.checkpoint_stall"),
    )
    useful = derive(
        useful_time_h,
        tokens=pick(amounts, candidates.job),
        tokens_per_s_per_gpu=pace.tokens_per_s_per_gpu,
        accelerators=accelerators,
    )
    faster = run_ratio(inputs, candidates.way)
    idle = inputs.of_sku(idle_node_items(inputs), sku)
    speed = Speed(
        nodes=count,
        run_nodes=whole,
        accelerators=accelerators,
        step_s=pace.step_s,
        tokens_per_s_per_gpu=pace.tokens_per_s_per_gpu,
        useful_h=useful if faster is None else (useful / faster).named("useful_time_h"),
        checkpoint_gb=pace.checkpoint_gb,
        training_kw=working_node_kw(host, per_node, pace.busy_kw),
        checkpoint_kw=working_node_kw(host, per_node, stalled),
        restart_kw=idle,
        idle_kw=idle,
    )
    if (slow := slow_steps_of(inputs)) is not None:
        tdp = inputs.of_sku(inputs.accelerator("tdp"), sku)
        stalled = derive(
            stalled_power_kw, tdp_kw=tdp, stall_fraction=inputs.fact("performance.power.exchange")
        )
        speed = _slowed(speed, slow.factor(whole), working_node_kw(host, per_node, stalled))
    fed = feeding(inputs, candidates.job, candidates.nodes, candidates.halves)
    return speed if fed is None else _fed(speed, fed)


def _slowed(speed: Speed, waiting: Traced, waiting_kw: Traced) -> Speed:
    """The same where nodes wait for slow ones of them; what waits draws as in an exchange."""
    rest_kw = waiting_kw - waiting_kw / waiting
    return replace(
        speed,
        waiting=waiting,
        tokens_per_s_per_gpu=(speed.tokens_per_s_per_gpu / waiting).named("tokens_per_s_per_gpu"),
        useful_h=(speed.useful_h * waiting).named("useful_time_h"),
        training_kw=(speed.training_kw / waiting + rest_kw).named("training_kw"),
    )


def _fed(speed: Speed, fed: Feeding) -> Speed:
    """The same where workers feed a run: nodes wait for what those do not supply, and both draw."""
    each, supplied = (fed.workers / speed.nodes).named("workers_per_node"), fed.supplied
    waiting = speed.idle_kw - speed.idle_kw * supplied
    at_work, at_rest = (each * fed.working_kw), (each * fed.idle_kw)
    return replace(
        speed,
        tokens_per_s_per_gpu=(speed.tokens_per_s_per_gpu * supplied).named("tokens_per_s_per_gpu"),
        useful_h=(speed.useful_h / supplied).named("useful_time_h"),
        training_kw=(speed.training_kw * supplied + waiting + at_work).named("training_kw"),
        checkpoint_kw=(speed.checkpoint_kw + at_rest).named("checkpoint_kw"),
        restart_kw=(speed.restart_kw + at_rest).named("restart_kw"),
        fed=fed,
    )


def _pace(inputs: Inputs, candidates: TrainingCandidates, accelerators: Traced) -> _Pace:
    """Language models together, or by what crosses a link; candidates of other kinds run by run."""
    jobs, halves = inputs.scenario.training, candidates.halves
    paces = [OF_KIND.get(kind_of_model(inputs.catalogue, one.model), _token_pace) for one in jobs]
    alone = np.array([one is not _token_pace for one in paces], dtype=bool)[candidates.job]
    if not alone.any() and halves is None:
        return _token_pace(inputs, candidates, accelerators)
    apart = np.where(alone, candidates.job, -1 if halves is None else -1 - halves.crosses)
    rows_of = [np.flatnonzero(apart == one) for one in np.unique(apart)]
    parts = [
        paces[candidates.job[at[0]]](inputs, candidates.some(at), rows(accelerators, at)) for at in rows_of
    ]
    order = np.argsort(np.concatenate(rows_of))
    columns = {
        f.name: interleaved([getattr(one, f.name) for one in parts], [len(at) for at in rows_of], order)
        for f in fields(_Pace)
    }
    return _Pace(**columns)


def _token_pace(inputs: Inputs, candidates: TrainingCandidates, accelerators: Traced) -> _Pace:
    """Steps of models that train on tokens."""
    jobs, sku = inputs.scenario.training, inputs.node_group_sku[candidates.node_group]
    arguments = _step_arguments(inputs, candidates, sku)
    used, index = np.unique(candidates.job, return_inverse=True)
    parameters = pick([inputs.fact(f"model.{jobs[j].model}.parameters") for j in used], index.ravel())
    trained = parameters
    if "adapter_parameters" in arguments:
        each = [trained_parameters(inputs, jobs[j].model, _adapters(inputs, j)) for j in used]
        trained = pick(each, index.ravel())
    waits = None
    if candidates.halves is not None:
        copies = copies_of(candidates.layout, accelerators)
        waits = partial(waits_of, inputs, candidates.halves, arguments, parameters, copies)
    step, rate = throughput(arguments, accelerators, waits)
    tdp = inputs.of_sku(inputs.accelerator("tdp"), sku)
    busy = training_accelerator_kw(
        inputs, arguments, step, accelerators, parameters, tdp, power_curve(inputs, sku)
    )
    busy, rate = slowed(inputs, _modes(candidates), sku, busy, rate)
    size = derive(
        checkpoint_size_gb,
        parameters=trained,
        bytes_per_parameter=inputs.fact("checkpoint.bytes_per_parameter"),
    )
    return _Pace(step.total_s, rate, busy, size)


def _sample_pace(inputs: Inputs, candidates: TrainingCandidates, accelerators: Traced) -> _Pace:
    """Steps of one recommendation model, which trains on samples."""
    job, sku = inputs.scenario.training[candidates.job[0]], inputs.node_group_sku[candidates.node_group]
    samples = inputs.yours(f"training.{job.name}.batch_samples", job.step_amount, "1")
    imbalance = imbalance_column(
        inputs, job.tables, f"training.{job.name}", sku, np.asarray(accelerators.value)
    )
    found = sample_step(inputs, job.model, job.precision, sku, accelerators, samples, imbalance)
    each = (found.samples_per_s / accelerators).named("shared_samples_per_s")
    size = pick([checkpoint_gb(inputs.fact, inputs.catalogue, job.model)], np.zeros(len(sku), dtype=np.intp))
    return _Pace(found.step.total_s, each, found.accelerator_kw, size)


def _image_pace(inputs: Inputs, candidates: TrainingCandidates, accelerators: Traced) -> _Pace:
    """Steps of one vision model: an image is a sequence of patches."""
    job, pace = inputs.scenario.training[candidates.job[0]], _token_pace(inputs, candidates, accelerators)
    if job.samples is None:
        return pace
    each = (pace.tokens_per_s_per_gpu / image_tokens(inputs, job.model)).named("samples_per_s_per_gpu")
    return replace(pace, tokens_per_s_per_gpu=each)


def _denoiser_pace(inputs: Inputs, candidates: TrainingCandidates, accelerators: Traced) -> _Pace:
    """Steps of one model that makes images or films: a sample is one of them."""
    job, sku = inputs.scenario.training[candidates.job[0]], inputs.node_group_sku[candidates.node_group]
    samples = inputs.yours(f"training.{job.name}.batch_samples", job.step_amount, "1")
    found, drawn = denoiser_columns(inputs, job.model, job.precision, sku, samples, accelerators)
    shared = (found.samples_per_s / accelerators).named("shared_samples_per_s")
    busy, each = slowed(inputs, _modes(candidates), sku, drawn, shared)
    size = checkpoint_gb(inputs.fact, inputs.catalogue, job.model)
    return _Pace(found.step.total_s, each, busy, pick([size], np.zeros(len(sku), dtype=np.intp)))


OF_KIND = {RECOMMENDATION: _sample_pace, DIFFUSION: _denoiser_pace, VISION: _image_pace}


def _modes(candidates: TrainingCandidates) -> Modes:
    return Modes(candidates.power_cap_fraction, candidates.clock_fraction)


def _adapters(inputs: Inputs, job: int) -> dict[str, Traced]:
    one = inputs.scenario.training[job]
    return adapters_of(inputs, one, f"training.{one.name}")


def _step_arguments(
    inputs: Inputs, candidates: TrainingCandidates, sku: NDArray[np.intp]
) -> dict[str, Traced]:
    """Inputs of the step time as columns: facts by job and SKU, layouts as enumerated."""
    jobs = inputs.scenario.training
    pairs, index = np.unique(np.stack([candidates.job, sku]), axis=1, return_inverse=True)
    mixed = any(is_mixture(inputs, jobs[j].model) for j in pairs[0])
    hybrid = any(is_hybrid(inputs, jobs[j].model) for j in pairs[0])
    each = [
        training_arguments(inputs, jobs[j].model, int(k), jobs[j].precision, mixed=mixed, with_hybrid=hybrid)
        for j, k in pairs.T
    ]
    arguments = {
        name: first
        if all(other[name] is first for other in each)
        else pick([one[name] for one in each], index)
        for name, first in each[0].items()
    }
    for name in LAYOUT:
        arguments[name] = chosen(name, candidates.layout[name], "the fastest layout that fits in memory")
    used, index = np.unique(candidates.job, return_inverse=True)
    if any(jobs[j].method == "lora" for j in used):
        none = chosen("adapter_parameters", 0.0, "all weights are trained")
        weights = [_adapters(inputs, j).get("adapter_parameters", none) for j in used]
        arguments["adapter_parameters"] = pick(weights, index.ravel())
    in_sequences = [kind_of_model(inputs.catalogue, j.model) not in COPIED for j in jobs]
    arguments["global_batch"] = pick(
        [
            chosen(
                "global_batch",
                float(job_workload(inputs, j).batch_sequences) if by else 0.0,
                f"training.{j.name}: batch_tokens / sequence_tokens"
                if j.samples is None
                else f"training.{j.name}.batch_samples",
            )
            for j, by in zip(jobs, in_sequences, strict=True)
        ],
        candidates.job,
    )
    arguments["sequence_tokens"] = pick(
        [
            image_tokens(inputs, j.model)
            if by and j.samples is not None
            else inputs.yours(f"training.{j.name}.sequence_tokens", float(j.sequence_tokens or 0), "1")
            for j, by in zip(jobs, in_sequences, strict=True)
        ],
        candidates.job,
    )
    return arguments
