"""What a training run takes: step time, failures, checkpoints, finish, energy, money and carbon."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial

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
from planner.physics.chance import confidence, training_sigma
from planner.physics.checkpoints import checkpoint_gb
from planner.physics.data_mix import data_usd
from planner.physics.denoiser_training import denoiser_columns
from planner.physics.egress import Egress, egress_of_runs
from planner.physics.equations.batches import shared_samples_per_s
from planner.physics.equations.time import active_h, drawn_kwh, late_h, node_h
from planner.physics.equations.training import (
    accelerators_in_use,
    background_stall_h,
    checkpoint_gb_per_s,
    ettr_ratio,
    expected_duration_h,
    hour_weight_factor,
    interval_in_use_h,
    joint_variation_fraction,
    later_h,
    mean_node_kw,
    persist_h,
    run_finish_quantile_h,
    run_increment_kw,
    run_power_kw,
    stall_h,
    useful_time_h,
)
from planner.physics.failures import failure_rate_shape, restart_by_node_group
from planner.physics.feeding import FedHours, Feeding, fed_hours, feeding
from planner.physics.hybrids import is_hybrid
from planner.physics.joining import interleaved
from planner.physics.nodes import (
    Nodes,
    energy_by_site,
    host_columns,
    idle_node_items,
    power_curve,
    working_node_kw,
)
from planner.physics.placed_tables import imbalance_column
from planner.physics.power_caps import capped
from planner.physics.run_stops import RunStops, loss_spikes, rollback, run_stops
from planner.physics.run_ways import adopted_usd, run_ratio, usable_from_h
from planner.physics.sample_training import sample_step
from planner.physics.shared_runs import copies_of, mean_rate, once, waits_of, whole_nodes
from planner.physics.slow_steps import slow_steps_of
from planner.physics.training_options import (
    COPIED,
    LAYOUT,
    OUTSIDE_STEP,
    TrainingCandidates,
    is_mixture,
    job_workload,
    training_arguments,
)
from planner.trace.quantities import Parts, Traced, chosen, derive, derive_parts, pick, rows
from reliability.checkpoint import (
    checkpoint_size_gb,
    checkpoint_write_h,
    hours_by_state,
    objective_optimal_interval_h,
)
from reliability.fleet import job_mttf_h
from reliability.rollback import checked_h, hours_with_checks

# Two intervals for each candidate: least time, and least energy. What lies between is flat.
POLICIES = ("least time", "least energy")
# A run begins with a period, or at one of so many parts of it where it may follow another run. More parts
# leave nodes idle for less time in between, and take the search longer.
PARTS = 4


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
class TrainingRuns:
    """Candidates (C rows, one for each policy of each configuration) and the starts they allow (R rows)."""

    candidates: TrainingCandidates
    policy: NDArray[np.intp]
    step_s: Traced
    tokens_per_s_per_gpu: Traced
    accelerators: Traced
    interval_h: Traced
    mttf_h: Traced
    ettr: Traced
    duration_h: Traced
    progress: Progress
    node_kw: Traced
    candidate: NDArray[np.intp]
    start: NDArray[np.intp]
    start_h: Traced
    late_h: Traced
    held: NDArray[np.bool_]
    from_h: NDArray[np.float64]  # hours into a period from which nodes are held (R, T), and until which
    to_h: NDArray[np.float64]  # or infinite: to its end
    node_h: Traced
    increment_kw: Traced
    facility_kwh: Traced
    usd: Traced
    kgco2e: Traced
    adopted_usd: Traced  # of people, once for each run (C,)
    data_usd: Traced | None  # of data that is bought, once for each run (C,); None where none is
    egress: Egress | None  # of data that move to its site, once for each run (C, T)
    waiting: Traced | None  # how much longer steps of each candidate are (C,); None where not stated
    fed: Feeding | None  # workers of each candidate (C,), and what they take of each run; None where none is
    fed_hours: FedHours | None

    @cached_property
    def finish_p50_h(self) -> Traced:
        """Hours after its start by which a run is as likely done as not."""
        return self.progress.finish_h(chosen("quantile_fraction", 0.5, "median"))

    @cached_property
    def finish_p95_h(self) -> Traced:
        """Hours after its start by which a run is done in 19 of 20 cases."""
        return self.progress.finish_h(chosen("quantile_fraction", 0.95, "late but likely"))


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
class Progress:
    """What failures and checkpoints make of it."""

    renewal: dict[str, Traced]
    rate_shape: Traced | None
    run_variation: Traced
    useful_h: Traced
    ettr: Traced
    duration_h: Traced
    node_kw: Traced

    def finish_h(self, quantile: Traced) -> Traced:
        """Hours after its start by which a run is done with a given chance, rate and pace in doubt too."""
        doubt = {} if self.rate_shape is None else {"rate_shape": self.rate_shape}
        return derive(
            run_finish_quantile_h,
            useful_h=self.useful_h,
            quantile_fraction=quantile,
            run_variation_fraction=self.run_variation,
            **self.renewal,
            **doubt,
        )


def with_policies(single: TrainingCandidates) -> tuple[TrainingCandidates, NDArray[np.intp]]:
    """Each configuration once for each policy of checkpoint intervals, and which policy it is."""
    twice = np.repeat(np.arange(len(single)), len(POLICIES))
    return single.some(twice), np.tile(np.arange(len(POLICIES)), len(single))


def deadline_confidence(inputs: Inputs, job: NDArray[np.intp]) -> Traced:
    """Chance with which the deadline of each job in a column has to be met."""
    jobs = inputs.scenario.training
    stated = [
        inputs.yours(f"training.{j.name}.deadline_confidence", j.deadline_confidence_fraction, "1")
        for j in jobs
    ]
    return pick(stated, job)


def finish_for_sure(inputs: Inputs, progress: Progress, candidates: TrainingCandidates) -> Traced:
    """Hours after its start by which a run is done, as sure as its deadline and the policy ask for."""
    by_deadline = progress.finish_h(deadline_confidence(inputs, candidates.job))
    sure = confidence(inputs)
    if sure is None:
        return by_deadline
    sku = inputs.node_group_sku[candidates.node_group]
    pairs, index = np.unique(np.stack([candidates.job, sku]), axis=1, return_inverse=True)
    jobs = inputs.scenario.training
    sigma = pick([training_sigma(inputs, int(k), jobs[j]) for j, k in pairs.T], index.ravel())
    spread = derive(joint_variation_fraction, variation_fraction=progress.run_variation, log_sigma=sigma)
    by_policy = replace(progress, run_variation=spread).finish_h(sure)
    return derive(later_h, one_h=by_deadline, other_h=by_policy)


def training_runs(inputs: Inputs, nodes: Nodes, single: TrainingCandidates) -> TrainingRuns:
    """Every coefficient of every run: one row for each candidate, policy and start."""
    candidates, policy = with_policies(single)
    job, group = candidates.job, candidates.node_group
    jobs = inputs.scenario.training

    speed = training_speed(inputs, candidates)
    progress = training_progress(inputs, nodes, candidates, policy, speed)
    finish_h = finish_for_sure(inputs, progress, candidates)

    candidate, start, start_value = _starts(inputs, candidates, finish_h.value)
    tall = candidate[:, None]
    begin = chosen(
        "start_h",
        start_value[:, None],
        "enumerated: the start of a period, the earliest date in it, or where runs may follow one another a "
        f"part of it, of {PARTS}",
    )
    due = np.array([inputs.scenario.horizon.hours_from_start(j.deadline) for j in jobs])
    deadline = chosen("deadline_h", due[job[candidate]][:, None], "the scenario's deadline")
    calendar = {
        "start_h": begin,
        "period_start_h": inputs.period_start_h,
        "period_end_h": inputs.period_end_h,
    }
    active = derive(active_h, duration_h=rows(progress.duration_h, tall), **calendar)
    # Nodes are held until the run is done at the confidence asked for; energy is that of the expected hours.
    held = derive(active_h, duration_h=rows(finish_h, tall), **calendar).value > 0
    # However short it is, a run holds its nodes when it starts.
    held[np.arange(len(start)), start] = True
    into_h = np.maximum(start_value[:, None] - inputs.period_start_h.value, 0.0)
    until_h = start_value[:, None] + rows(finish_h, tall).value - inputs.period_start_h.value
    through = until_h >= inputs.period_end_h.value - inputs.period_start_h.value
    power = derive(run_power_kw, nodes=speed.nodes, node_kw=progress.node_kw)
    it_kwh = derive(drawn_kwh, power_kw=rows(power, tall), active_h=active)
    site = inputs.node_group_site[group[candidate]]
    facility, usd, kgco2e = energy_by_site(inputs, it_kwh, site)
    increment = derive(
        run_increment_kw,
        nodes=rows(speed.nodes, tall),
        training_kw=rows(speed.training_kw, tall),
        idle_kw=rows(speed.idle_kw, tall),
        pue=pick(inputs.pue, site[:, None]),
        held=chosen("held", held.astype(float), "1 in periods that the run may reach at its confidence"),
    )
    data = data_usd(inputs, candidates.job, candidates.way)
    return TrainingRuns(
        candidates=candidates,
        policy=policy,
        step_s=speed.step_s,
        tokens_per_s_per_gpu=speed.tokens_per_s_per_gpu,
        accelerators=speed.accelerators,
        interval_h=progress.renewal["interval_h"],
        mttf_h=progress.renewal["mttf_h"],
        ettr=progress.ettr,
        duration_h=progress.duration_h,
        progress=progress,
        node_kw=progress.node_kw,
        candidate=candidate,
        start=start,
        start_h=begin,
        late_h=derive(late_h, start_h=begin, finish_h=rows(finish_h, tall), deadline_h=deadline),
        held=held,
        from_h=np.where(held, into_h, 0.0),
        to_h=np.where(held & ~through, np.maximum(until_h, into_h), np.inf),
        node_h=derive(node_h, nodes=rows(speed.nodes, tall), active_h=active),
        increment_kw=increment,
        facility_kwh=facility,
        usd=usd,
        kgco2e=kgco2e,
        adopted_usd=once("adopted_usd", adopted_usd(inputs, candidates.way), candidates.halves),
        data_usd=None if data is None else once("data_usd", data, candidates.halves),
        # Each half reads at its own site, so that the data are moved to both.
        egress=egress_of_runs(inputs, candidates.job, inputs.node_group_site[candidates.node_group]),
        waiting=speed.waiting,
        fed=speed.fed,
        fed_hours=None
        if speed.fed is None
        else fed_hours(inputs, speed.fed, job[candidate], site, candidate, active),
    )


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
    accelerators = derive(accelerators_in_use, nodes=whole, accelerators=per_node)
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
    waits = None
    if candidates.halves is not None:
        copies = copies_of(candidates.layout, accelerators)
        waits = partial(waits_of, inputs, candidates.halves, arguments, parameters, copies)
    step, rate = throughput(arguments, accelerators, waits)
    tdp = inputs.of_sku(inputs.accelerator("tdp"), sku)
    busy = training_accelerator_kw(
        inputs, arguments, step, accelerators, parameters, tdp, power_curve(inputs, sku)
    )
    busy, rate = capped(inputs, candidates, tdp, busy, rate)
    size = derive(
        checkpoint_size_gb,
        parameters=parameters,
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
    each = derive(shared_samples_per_s, samples_per_s=found.samples_per_s, accelerators=accelerators)
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
    tdp = inputs.of_sku(inputs.accelerator("tdp"), sku)
    shared = derive(shared_samples_per_s, samples_per_s=found.samples_per_s, accelerators=accelerators)
    busy, each = capped(inputs, candidates, tdp, drawn, shared)
    size = checkpoint_gb(inputs.fact, inputs.catalogue, job.model)
    return _Pace(found.step.total_s, each, busy, pick([size], np.zeros(len(sku), dtype=np.intp)))


OF_KIND = {RECOMMENDATION: _sample_pace, DIFFUSION: _denoiser_pace, VISION: _image_pace}


def training_progress(
    inputs: Inputs, nodes: Nodes, candidates: TrainingCandidates, policy: NDArray[np.intp], speed: Speed
) -> Progress:
    """Interruptions, checkpoint stalls, the interval of each policy, and what is left of the time."""
    write, persist = _checkpoint_h(inputs, candidates, speed)
    stops = _stops(inputs, nodes, candidates, speed)
    by_energy = chosen("by_energy", policy.astype(float), "enumerated: least time (0) or least energy (1)")
    powers = {"work": speed.training_kw, "write": speed.checkpoint_kw, "restart": speed.restart_kw}
    weights = {
        f"{state}_weight_factor": derive(
            hour_weight_factor, state_kw=kw, training_kw=speed.training_kw, by_energy=by_energy
        )
        for state, kw in powers.items()
    }
    renewal: dict[str, Traced] = {
        "mttf_h": stops.mttf_h,
        "write_h": write,
        "restart_h": _restart_h(inputs, candidates),
        "persist_h": persist,
        **stops.renewal(),
    }
    renewal["interval_h"] = _interval_h(
        inputs, candidates, derive(objective_optimal_interval_h, **renewal, **weights)
    )
    states, useful = derive_parts(hours_by_state, **renewal), speed.useful_h
    if stops.check_fraction is not None:
        states = derive_parts(hours_with_checks, **states, check_fraction=stops.check_fraction)
        useful = derive(checked_h, hours_h=useful, check_fraction=stops.check_fraction)
    ettr = derive(ettr_ratio, **states)
    node_kw = derive(
        mean_node_kw,
        training_kw=speed.training_kw,
        checkpoint_kw=speed.checkpoint_kw,
        restart_kw=speed.restart_kw,
        **states,
    )
    duration = derive(expected_duration_h, useful_time_h=speed.useful_h, ettr_ratio=ettr)
    return Progress(
        renewal,
        failure_rate_shape(inputs),
        inputs.fact("performance.training.run_variation"),
        useful,
        ettr,
        duration,
        node_kw,
    )


def _stops(inputs: Inputs, nodes: Nodes, candidates: TrainingCandidates, speed: Speed) -> RunStops:
    """Failed nodes, and what the scenario says of loss spikes and silent corruption."""
    rate, halves = rows(nodes.failure_rate_per_node_h, candidates.node_group), candidates.halves
    if halves is not None:
        rate = mean_rate(speed.nodes, rate, rows(nodes.failure_rate_per_node_h, halves.group), halves)
    return run_stops(
        inputs.fact,
        derive(job_mttf_h, nodes=speed.run_nodes, failure_rate_per_node_h=rate),
        speed.accelerators,
        spikes_per_h=loss_spikes(inputs),
        spike_back_h=rollback(inputs),
        detected=inputs.scenario.reliability.detect_corruption,
    )


def _restart_h(inputs: Inputs, candidates: TrainingCandidates) -> Traced:
    """Time from a stop to running again, the longer one where two sites share a run."""
    own = restart_by_node_group(inputs, candidates.node_group)
    if candidates.halves is None or not np.ndim(own.value):
        return own
    other = restart_by_node_group(inputs, candidates.halves.group)
    return derive(later_h, one_h=own, other_h=other).named("restart_h")


def _interval_h(inputs: Inputs, candidates: TrainingCandidates, optimal: Traced) -> Traced:
    """The interval that a job states, else the best one of each policy."""
    jobs = inputs.scenario.training
    if all(job.checkpoint_interval_h is None for job in jobs):
        return optimal
    stated = [
        chosen("interval_h", 0.0, f"training.{job.name} states none")
        if job.checkpoint_interval_h is None
        else inputs.yours(f"training.{job.name}.checkpoint_interval", job.checkpoint_interval_h, "h")
        for job in jobs
    ]
    return derive(
        interval_in_use_h, optimal_interval_h=optimal, stated_interval_h=pick(stated, candidates.job)
    )


def _checkpoint_h(inputs: Inputs, candidates: TrainingCandidates, speed: Speed) -> tuple[Traced, Traced]:
    """Hours that a checkpoint stalls the run, and hours until it is safe in the background."""
    jobs = inputs.scenario.training
    size = speed.checkpoint_gb

    def written(node_gb_per_s: Traced, storage_gb_per_s: Traced) -> Traced:
        bandwidth = derive(
            checkpoint_gb_per_s,
            nodes=speed.run_nodes,
            node_gb_per_s=node_gb_per_s,
            storage_gb_per_s=storage_gb_per_s,
        )
        return derive(checkpoint_write_h, size_gb=size, bandwidth_gb_per_s=bandwidth)

    def storage(name: str) -> Traced:
        return pick(
            [inputs.fact(f"checkpoint_storage.{j.checkpoint_storage}.{name}") for j in jobs], candidates.job
        )

    flag = pick(
        [
            chosen("asynchronous", float(j.checkpoint == "asynchronous"), f"training.{j.name}.checkpoint")
            for j in jobs
        ],
        candidates.job,
    )
    to_storage = written(storage("bandwidth_per_node"), storage("bandwidth"))
    to_host = written(
        inputs.fact("checkpoint_storage.host-memory.bandwidth_per_node"),
        inputs.fact("checkpoint_storage.host-memory.bandwidth"),
    )
    behind = derive(
        background_stall_h,
        storage_write_h=to_storage,
        host_write_h=to_host,
        blocking_fraction=storage("blocking_fraction"),
    )
    stall = derive(stall_h, storage_write_h=to_storage, background_stall_h=behind, asynchronous=flag)
    return stall, derive(persist_h, storage_write_h=to_storage, asynchronous=flag)


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


def _starts(
    inputs: Inputs, candidates: TrainingCandidates, finish: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """Candidate, first period and start of every run that ends inside the horizon.

    Where there are several runs, one may begin at some part of a period, on nodes that another one has left.
    """
    horizon, jobs = inputs.scenario.horizon, inputs.scenario.training
    stated = np.array([horizon.hours_from_start(job.earliest) for job in jobs])[candidates.job]
    earliest = np.maximum(stated, usable_from_h(inputs, candidates.way))
    several = sum(job.count for job in jobs if not job.pausable) > 1
    share = np.arange(PARTS if several else 1) / PARTS
    first, last = inputs.period_start_h.value[0], inputs.period_end_h.value[0]
    parts = (first[:, None] + share * (last - first)[:, None]).ravel()
    begin = np.maximum(parts, earliest[:, None])
    ends = np.append(parts[1:], last[-1])
    inside = (begin < ends) & (begin + finish[:, None] <= last[-1])
    candidate, part = np.nonzero(inside)
    return candidate, part // share.size, begin[candidate, part]
