"""What a training run takes: step time, failures, checkpoints, finish, energy, money and carbon."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.physics.chance import confidence, training_sigma
from planner.physics.data_mix import data_usd
from planner.physics.egress import Egress, egress_of_runs
from planner.physics.equations.training import (
    active_h,
    background_stall_h,
    checkpoint_gb_per_s,
    ettr_ratio,
    hour_weight_factor,
    interval_in_use_h,
    joint_variation_fraction,
    late_h,
    later_h,
    mean_node_kw,
    persist_h,
    run_finish_quantile_h,
    run_increment_kw,
    stall_h,
)
from planner.physics.failures import failure_rate_shape, restart_by_node_group
from planner.physics.nodes import (
    Nodes,
    energy_by_site,
)
from planner.physics.preprocessing import FedHours, Feeding, fed_hours
from planner.physics.run_speed import Speed, training_speed
from planner.physics.run_stops import RunStops, loss_spikes, rollback, run_stops
from planner.physics.run_ways import adopted_usd, usable_from_h
from planner.physics.shared_runs import mean_rate, once
from planner.physics.training_options import (
    TrainingCandidates,
)
from planner.trace.quantities import Traced, chosen, derive, derive_parts, pick, rows
from reliability.checkpoint import (
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
    power = (speed.nodes * progress.node_kw).named("run_power_kw", "Power of all nodes of a run")
    it_kwh = (rows(power, tall) * active).named("drawn_kwh")
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
        node_h=(rows(speed.nodes, tall) * active).named("node_h"),
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
    duration = (speed.useful_h / ettr).named("expected_duration_h", "Expected hours from start to finish")
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
