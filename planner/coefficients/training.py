"""What a training run takes: step time, failures, checkpoints, finish, energy, money and carbon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.candidates import LAYOUT, TrainingCandidates, job_workload, training_arguments
from planner.coefficients.nodes import Nodes, energy_by_site, idle_node_items, power_curve
from planner.inputs import Inputs
from planner.performance.power import (
    accelerator_power_kw,
    node_power_kw,
    stalled_power_kw,
    sustained_power_kw,
    training_compute_use_fraction,
    training_memory_use_fraction,
)
from planner.performance.throughput import tokens_per_s_per_gpu
from planner.performance.training import training_step_s
from planner.timing import active_h, drawn_kwh, late_h, node_h
from planner.trace import Parts, Traced, chosen, derive, derive_parts, pick, rows
from reliability.checkpoint import (
    checkpoint_size_gb,
    checkpoint_write_h,
    hours_by_state,
    objective_optimal_interval_h,
)
from reliability.finish import finish_quantile_h
from reliability.fleet import job_mttf_h

Column = float | NDArray[Any]

# Two intervals for each candidate: least time, and least energy. What lies between is flat.
POLICIES = ("least time", "least energy")


def accelerators_in_use(*, nodes: Column, accelerators: Column) -> Column:
    """Accelerators of a run.

    n = N * a

    Source: definition.
    """
    return nodes * accelerators


def useful_time_h(*, tokens: Column, tokens_per_s_per_gpu: Column, gpus: Column) -> Column:
    """Hours of training if nothing ever failed and no checkpoint was written.

    U = D / (x * n) / 3600

    Source: definition.
    """
    return tokens / (tokens_per_s_per_gpu * gpus) / 3600.0


def checkpoint_gb_per_s(*, nodes: Column, node_gb_per_s: Column, storage_gb_per_s: Column) -> Column:
    """Bandwidth at which all nodes together write a checkpoint.

    B = min(N * b_node, B_storage)

    Source: the narrower of the nodes' links and the storage.
    """
    return np.minimum(np.asarray(nodes) * node_gb_per_s, storage_gb_per_s)


def stall_h(*, storage_write_h: Column, host_write_h: Column, asynchronous: Column) -> Column:
    """Hours that training waits for one checkpoint.

    C = host copy if asynchronous, else the write to storage

    Source: PyTorch distributed checkpointing, pytorch.org/blog/reducing-checkpointing-times.
    """
    return np.where(np.asarray(asynchronous) > 0, host_write_h, storage_write_h)


def persist_h(*, storage_write_h: Column, asynchronous: Column) -> Column:
    """Hours in the background until an asynchronous checkpoint is safe.

    P = storage write if asynchronous, else 0

    Source: definition.
    """
    return np.where(np.asarray(asynchronous) > 0, storage_write_h, 0.0)


def hour_weight_factor(*, state_kw: Column, training_kw: Column, by_energy: Column) -> Column:
    """What an hour in a state weighs against an hour of work when the interval is chosen.

    w = P_state / P_training if energy is to be least, 1 if time is

    Source: hours weighted by power; reliability/README.md.
    """
    return np.where(np.asarray(by_energy) > 0, np.divide(state_kw, training_kw), 1.0)


def ettr_ratio(*, useful_h: Column, checkpoint_h: Column, lost_h: Column, restart_h: Column) -> Column:
    """Effective training time ratio: queue and planned stops are not counted.

    ETTR = useful / (useful + checkpoint + lost + restart)

    Source: Kokolis et al., arXiv 2410.21680, section II; hours by state in the exact renewal form.
    """
    return useful_h / (useful_h + checkpoint_h + lost_h + restart_h)


def expected_duration_h(*, useful_time_h: Column, ettr_ratio: Column) -> Column:
    """Expected hours from start to finish.

    T = U / ETTR

    Source: definition of ETTR.
    """
    return useful_time_h / ettr_ratio


def mean_node_kw(
    *,
    useful_h: Column,
    checkpoint_h: Column,
    lost_h: Column,
    restart_h: Column,
    training_kw: Column,
    checkpoint_kw: Column,
    restart_kw: Column,
) -> Column:
    """Power of a node averaged over a run: lost work burns at training power, stalls and restarts do not.

    P = ((useful + lost) P_training + checkpoint P_checkpoint + restart P_restart) / (sum of hours)

    Source: energy by state; Groeneveld et al., "OLMo", arXiv 2402.00838, on power during checkpoints.
    """
    energy = (useful_h + lost_h) * training_kw + checkpoint_h * checkpoint_kw + restart_h * restart_kw
    return energy / (useful_h + checkpoint_h + lost_h + restart_h)


def run_power_kw(*, nodes: Column, node_kw: Column) -> Column:
    """Power of all nodes of a run.

    P = N * P_node

    Source: definition.
    """
    return nodes * node_kw


def run_increment_kw(
    *, nodes: Column, training_kw: Column, idle_kw: Column, pue: Column, held: Column
) -> Column:
    """Facility power that a run adds at its peak to the idle power of its nodes.

    dP = N * (P_training - P_idle) * PUE, while it holds its nodes

    Source: definition.
    """
    return nodes * np.maximum(0.0, np.asarray(training_kw) - idle_kw) * pue * held


def throughput(arguments: dict[str, Traced], gpus: Traced) -> tuple[Parts, Traced]:
    """Step time by cause, and tokens a second of each accelerator."""
    step = derive_parts(training_step_s, gpus=gpus, **arguments)
    rate = derive(
        tokens_per_s_per_gpu, step_s=step.total_s, gpus=gpus,
        global_batch=arguments["global_batch"], sequence_tokens=arguments["sequence_tokens"],
    )  # fmt: skip
    return step, rate


def training_accelerator_kw(
    inputs: Inputs,
    arguments: dict[str, Traced],
    step: Parts,
    gpus: Traced,
    parameters: Traced,
    tdp: Traced,
    curve: dict[str, Traced],
) -> Traced:
    """Power of one accelerator in a training step, from what the step uses of its units and its memory."""
    memory = derive(
        training_memory_use_fraction,
        elementwise_s=step.elementwise_s,
        optimizer_s=step.optimizer_s,
        total_s=step.total_s,
        memory_efficiency_fraction=arguments["memory_efficiency_fraction"],
    )
    compute = derive(
        training_compute_use_fraction,
        gpus=gpus,
        step_s=step.total_s,
        parameters=parameters,
        recompute=arguments["recompute"],
        global_batch=arguments["global_batch"],
        sequence_tokens=arguments["sequence_tokens"],
        peak_tflop_per_s=arguments["matrix_tflop_per_s"],
    )
    law = derive(
        accelerator_power_kw, tdp_kw=tdp, memory_use_fraction=memory, compute_use_fraction=compute, **curve
    )
    return derive(
        sustained_power_kw,
        power_kw=law,
        tdp_kw=tdp,
        sustained_fraction=inputs.fact("performance.power.training"),
    )


@dataclass(frozen=True)
class TrainingRuns:
    """Candidates (C rows, one for each policy of each configuration) and the starts they allow (R rows)."""

    candidates: TrainingCandidates
    policy: NDArray[np.intp]
    step: Parts
    tokens_per_s_per_gpu: Traced
    gpus: Traced
    interval_h: Traced
    stall_h: Traced
    mttf_h: Traced
    ettr: Traced
    duration_h: Traced
    finish_p50_h: Traced
    finish_p95_h: Traced
    finish_h: Traced
    training_kw: Traced
    node_kw: Traced
    candidate: NDArray[np.intp]
    start: NDArray[np.intp]
    start_h: Traced
    late_h: Traced
    held: NDArray[np.bool_]
    node_h: Traced
    increment_kw: Traced
    facility_kwh: Traced
    usd: Traced
    kgco2e: Traced


def training_runs(inputs: Inputs, nodes: Nodes, single: TrainingCandidates) -> TrainingRuns:
    """Every coefficient of every run: one row for each candidate, policy and start."""
    twice = np.repeat(np.arange(len(single)), len(POLICIES))
    policy = np.tile(np.arange(len(POLICIES)), len(single))
    candidates = TrainingCandidates(
        single.job[twice], single.pool[twice], single.nodes[twice],
        {name: column[twice] for name, column in single.layout.items()},
    )  # fmt: skip
    job, pool = candidates.job, candidates.pool
    jobs = inputs.scenario.training
    sku = inputs.pool_sku[pool]

    def of_job(items: list[Traced]) -> Traced:
        return pick(items, job)

    node_count = chosen("nodes", candidates.nodes.astype(float), "enumerated: a size that the scenario names")
    gpus = derive(
        accelerators_in_use, nodes=node_count, accelerators=inputs.of_sku(inputs.server("accelerators"), sku)
    )
    arguments = _step_arguments(inputs, candidates, sku)
    step, rate = throughput(arguments, gpus)
    useful = derive(
        useful_time_h, tokens_per_s_per_gpu=rate, gpus=gpus,
        tokens=of_job([inputs.yours(f"training.{j.name}.tokens", j.tokens, "1") for j in jobs]),
    )  # fmt: skip

    # Power by state, of one node.
    tdp = inputs.of_sku(inputs.accelerator("tdp"), sku)
    accelerators = inputs.of_sku(inputs.server("accelerators"), sku)
    host_kw = inputs.of_sku(inputs.server("host_power"), sku)
    parameters = of_job([inputs.fact(f"model.{j.model}.parameters") for j in jobs])
    training_kw = derive(
        node_power_kw,
        host_kw=host_kw,
        accelerators=accelerators,
        accelerator_kw=training_accelerator_kw(
            inputs, arguments, step, gpus, parameters, tdp, power_curve(inputs, sku)
        ),
    )
    checkpoint_kw = derive(
        node_power_kw, host_kw=host_kw, accelerators=accelerators,
        accelerator_kw=derive(
            stalled_power_kw, tdp_kw=tdp, stall_fraction=inputs.fact("performance.power.checkpoint_stall")
        ),
    )  # fmt: skip
    idle_kw = inputs.of_sku(idle_node_items(inputs), sku)

    # Failures and checkpoints.
    mttf = derive(
        job_mttf_h, nodes=node_count, failure_rate_per_node_h=rows(nodes.failure_rate_per_node_h, pool)
    )
    size = derive(
        checkpoint_size_gb,
        bytes_per_parameter=inputs.fact("checkpoint.bytes_per_parameter"),
        parameters=parameters,
    )
    asynchronous = of_job(
        [
            chosen("asynchronous", float(j.checkpoint == "asynchronous"), f"training.{j.name}.checkpoint")
            for j in jobs
        ]
    )
    to_storage = derive(
        checkpoint_write_h,
        size_gb=size,
        bandwidth_gb_per_s=derive(
            checkpoint_gb_per_s,
            nodes=node_count,
            node_gb_per_s=of_job(
                [inputs.fact(f"checkpoint_storage.{j.checkpoint_storage}.bandwidth_per_node") for j in jobs]
            ),
            storage_gb_per_s=of_job(
                [inputs.fact(f"checkpoint_storage.{j.checkpoint_storage}.bandwidth") for j in jobs]
            ),
        ),
    )
    to_host = derive(
        checkpoint_write_h,
        size_gb=size,
        bandwidth_gb_per_s=derive(
            checkpoint_gb_per_s,
            nodes=node_count,
            node_gb_per_s=inputs.fact("checkpoint_storage.host-memory.bandwidth_per_node"),
            storage_gb_per_s=inputs.fact("checkpoint_storage.host-memory.bandwidth"),
        ),
    )
    write = derive(stall_h, storage_write_h=to_storage, host_write_h=to_host, asynchronous=asynchronous)
    persist = derive(persist_h, storage_write_h=to_storage, asynchronous=asynchronous)
    restart = inputs.yours("reliability.restart", inputs.scenario.reliability.restart_h, "h")
    by_energy = chosen("by_energy", policy.astype(float), "enumerated: least time (0) or least energy (1)")
    weights = {
        f"{state}_weight_factor": derive(
            hour_weight_factor, state_kw=kw, training_kw=training_kw, by_energy=by_energy
        )
        for state, kw in (("work", training_kw), ("write", checkpoint_kw), ("restart", idle_kw))
    }
    interval = derive(
        objective_optimal_interval_h,
        mtbf_h=mttf,
        write_h=write,
        restart_h=restart,
        persist_h=persist,
        **weights,
    )
    renewal = {
        "interval_h": interval,
        "mtbf_h": mttf,
        "write_h": write,
        "restart_h": restart,
        "persist_h": persist,
    }
    states = derive_parts(hours_by_state, **renewal)
    ettr = derive(ettr_ratio, **states)
    duration = derive(expected_duration_h, useful_time_h=useful, ettr_ratio=ettr)

    def finish(quantile: Traced) -> Traced:
        return derive(finish_quantile_h, useful_h=useful, quantile_fraction=quantile, **renewal)

    confidence = of_job(
        [
            inputs.yours(f"training.{j.name}.deadline_confidence", j.deadline_confidence_fraction, "1")
            for j in jobs
        ]
    )
    finish_h = finish(confidence)
    node_kw = derive(
        mean_node_kw, training_kw=training_kw, checkpoint_kw=checkpoint_kw, restart_kw=idle_kw, **states
    )

    # Starts: each period in which the job may begin.
    candidate, start, start_value = _starts(inputs, candidates, finish_h.value)
    tall = candidate[:, None]
    begin = chosen(
        "start_h", start_value[:, None], "enumerated: the start of a period, or the earliest date in it"
    )
    deadline = chosen(
        "deadline_h",
        np.array([inputs.scenario.horizon.hours_from_start(jobs[j].deadline) for j in job[candidate]])[
            :, None
        ],
        "the scenario's deadline",
        "h",
    )
    late = derive(late_h, start_h=begin, finish_h=rows(finish_h, tall), deadline_h=deadline)
    calendar = {
        "start_h": begin,
        "period_start_h": inputs.period_start_h,
        "period_end_h": inputs.period_end_h,
    }
    active = derive(active_h, duration_h=rows(duration, tall), **calendar)
    held = np.asarray(active_h(
        start_h=start_value[:, None], duration_h=finish_h.value[candidate][:, None],
        period_start_h=inputs.period_start_h.value, period_end_h=inputs.period_end_h.value,
    )) > 0  # fmt: skip
    power = derive(run_power_kw, nodes=node_count, node_kw=node_kw)
    it_kwh = derive(drawn_kwh, power_kw=rows(power, tall), active_h=active)
    site = inputs.pool_site[pool[candidate]]
    facility, usd, kgco2e = energy_by_site(inputs, it_kwh, site)
    return TrainingRuns(
        candidates=candidates,
        policy=policy,
        step=step,
        tokens_per_s_per_gpu=rate,
        gpus=gpus,
        interval_h=interval,
        stall_h=write,
        mttf_h=mttf,
        ettr=ettr,
        duration_h=duration,
        finish_h=finish_h,
        finish_p50_h=finish(chosen("quantile_fraction", 0.5, "median")),
        finish_p95_h=finish(chosen("quantile_fraction", 0.95, "late but likely")),
        training_kw=training_kw,
        node_kw=node_kw,
        candidate=candidate,
        start=start,
        start_h=begin,
        late_h=late,
        held=held,
        node_h=derive(node_h, nodes=rows(node_count, tall), active_h=active),
        increment_kw=derive(
            run_increment_kw,
            nodes=rows(node_count, tall),
            training_kw=rows(training_kw, tall),
            idle_kw=rows(idle_kw, tall),
            pue=pick(inputs.pue, site[:, None]),
            held=chosen("held", held.astype(float), "1 in periods that the run may reach at its confidence"),
        ),
        facility_kwh=facility,
        usd=usd,
        kgco2e=kgco2e,
    )


def _step_arguments(
    inputs: Inputs, candidates: TrainingCandidates, sku: NDArray[np.intp]
) -> dict[str, Traced]:
    """Inputs of the step time as columns: facts by job and SKU, layouts as enumerated."""
    jobs = inputs.scenario.training
    pairs, index = np.unique(np.stack([candidates.job, sku]), axis=1, return_inverse=True)
    each = [training_arguments(inputs, jobs[j].model, int(k), jobs[j].precision) for j, k in pairs.T]
    arguments = {
        name: first
        if all(other[name] is first for other in each)
        else pick([one[name] for one in each], index)
        for name, first in each[0].items()
    }
    for name in LAYOUT:
        arguments[name] = chosen(name, candidates.layout[name], "the fastest layout that fits in memory")
    arguments["global_batch"] = pick(
        [
            chosen(
                "global_batch",
                float(job_workload(j).batch_sequences),
                f"training.{j.name}: batch_tokens / sequence_tokens",
            )
            for j in jobs
        ],
        candidates.job,
    )
    arguments["sequence_tokens"] = pick(
        [inputs.yours(f"training.{j.name}.sequence_tokens", j.sequence_tokens, "1") for j in jobs],
        candidates.job,
    )
    return arguments


def _starts(
    inputs: Inputs, candidates: TrainingCandidates, finish: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """Candidate, first period and start of every run that ends inside the horizon."""
    horizon = inputs.scenario.horizon
    earliest = np.array([horizon.hours_from_start(job.earliest) for job in inputs.scenario.training])
    begin = np.maximum(inputs.period_start_h.value, earliest[candidates.job][:, None])
    inside = (begin < inputs.period_end_h.value) & (
        begin + finish[:, None] <= inputs.period_end_h.value[0, -1]
    )
    candidate, start = np.nonzero(inside)
    return candidate, start, begin[candidate, start]
