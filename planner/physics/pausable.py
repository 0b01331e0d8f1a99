"""What a training job takes that may pause: node-hours in all, and what one draws, costs and emits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.physics.data_mix import data_usd
from planner.physics.egress import Egress, egress_of_runs
from planner.physics.equations.training import active_h
from planner.physics.experiments import work_increment_kw
from planner.physics.nodes import Nodes, energy_by_site
from planner.physics.run_speed import Speed, training_speed
from planner.physics.run_ways import adopted_usd, usable_from_h
from planner.physics.training import Progress, finish_for_sure, training_progress, with_policies
from planner.physics.training_options import TrainingCandidates
from planner.trace.columns import Column
from planner.trace.quantities import Traced, chosen, derive, pick, rows


def period_node_h(*, nodes: Column, window_h: Column, duration_h: Column, finish_h: Column) -> Column:
    """Most node-hours of a job in a period, so that it is done in time with the chance asked for.

    L_t = N * h_t * D / q

    h_t are the hours of its window in the period, and q the hours that an unbroken run needs at that chance
    in place of D, the expected ones: where all q / D as many were needed, they would still fit.

    Source: definition.
    """
    return nodes * window_h * np.divide(duration_h, finish_h)


@dataclass(frozen=True)
class PausableJobs:
    """Candidates (C rows, one for each policy of each configuration) that run whenever it suits."""

    candidates: TrainingCandidates
    policy: NDArray[np.intp]
    speed: Speed
    progress: Progress
    node_h: Traced
    limit_node_h: Traced
    increment_kw: Traced
    facility_kwh: Traced
    usd: Traced
    kgco2e: Traced
    adopted_usd: Traced  # of people, once for each job (C,)
    data_usd: Traced | None  # of data that is bought, once for each job (C,); None where none is
    egress: Egress | None  # of data that move to its site, once for each job (C, T)


def pausable_jobs(inputs: Inputs, nodes: Nodes, single: TrainingCandidates) -> PausableJobs:
    """Every coefficient of every way to run a pausable job; energy, money and carbon are of a node-hour."""
    candidates, policy = with_policies(single)
    speed = training_speed(inputs, candidates)
    progress = training_progress(inputs, nodes, candidates, policy, speed)
    window = derive(active_h, **_window(inputs, candidates))
    pauses = (window.value > 0).sum(axis=1).astype(float)
    duration = (
        progress.duration_h
        + chosen("pauses", pauses, "one in each period of its window")
        * (progress.renewal["write_h"] + progress.renewal["restart_h"])
    ).named(
        "pausable_duration_h",
        "Expected hours of work of a job that pauses: each pause costs a checkpoint and a restart",
    )
    tall = np.arange(len(candidates))[:, None]
    site = inputs.node_group_site[candidates.node_group]
    hour = chosen("active_h", np.ones((1, inputs.periods)), "one hour")
    it_kwh = (rows(progress.node_kw, tall) * hour).named("drawn_kwh")
    facility, usd, kgco2e = energy_by_site(inputs, it_kwh, site)
    return PausableJobs(
        candidates=candidates,
        policy=policy,
        speed=speed,
        progress=progress,
        node_h=(speed.nodes * duration).named("pausable_node_h", "Node-hours of a job in all"),
        limit_node_h=derive(
            period_node_h,
            nodes=rows(speed.nodes, tall),
            window_h=window,
            duration_h=rows(progress.duration_h, tall),
            finish_h=rows(finish_for_sure(inputs, progress, candidates), tall),
        ),
        increment_kw=derive(
            work_increment_kw, busy_kw=speed.training_kw, idle_kw=speed.idle_kw, pue=pick(inputs.pue, site)
        ),
        facility_kwh=facility,
        usd=usd,
        kgco2e=kgco2e,
        adopted_usd=adopted_usd(inputs, candidates.way),
        data_usd=data_usd(inputs, candidates.job, candidates.way),
        egress=egress_of_runs(inputs, candidates.job, inputs.node_group_site[candidates.node_group]),
    )


def _window(inputs: Inputs, candidates: TrainingCandidates) -> dict[str, Traced]:
    """From the earliest day of each job, or that of its techniques, to its deadline."""
    horizon, jobs = inputs.scenario.horizon, inputs.scenario.training
    first = np.array([horizon.hours_from_start(one.earliest) for one in jobs])
    last = np.array([horizon.hours_from_start(one.deadline) for one in jobs])[candidates.job]
    begin = np.maximum(first[candidates.job], usable_from_h(inputs, candidates.way))
    length = np.maximum(last - begin, 0.0)
    return {
        "start_h": chosen(
            "start_h", begin[:, None], "the scenario's earliest day, or that of the techniques"
        ),
        "duration_h": chosen("duration_h", length[:, None], "from then to the deadline"),
        "period_start_h": inputs.period_start_h,
        "period_end_h": inputs.period_end_h,
    }
