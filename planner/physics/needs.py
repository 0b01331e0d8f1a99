"""What a pool needs in a period, in node-hours of its reference, from each way to state it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Pool
from planner.performance.demand import (
    campaign_accelerator_h,
    jobs_accelerator_h,
    lognormal_mean_h,
    recordings_per_s,
    team_accelerator_h,
)
from planner.physics.divisible_work import NodeWork, pool_lengths
from planner.trace.columns import Column
from planner.trace.quantities import Traced, chosen, derive

MONTH_H = 730.5  # a twelfth of the mean year
HIGH = 0.99  # the quantile that job_p99 states


def work_node_h(*, work_per_h: Column, hours_h: Column, node_per_s: Column) -> Column:
    """Hours of one reference node that do what comes in a period.

    W = n h / (3600 x)

    n pieces of work come in an hour (prompts, rollouts, tokens to train on), x is what a node does of them.

    Source: definition of a rate.
    """
    return work_per_h * hours_h / (3600.0 * np.asarray(node_per_s))


def need_node_h(inputs: Inputs, pool: Pool, reference: NodeWork, period: int) -> Traced:
    """Node-hours of the reference that a pool needs in a period."""
    hours = chosen("hours_h", inputs.scenario.horizon.hours[period], "calendar hours of the period")
    if pool.in_reference_hours:
        names = [sku.name for sku in inputs.skus]
        count = inputs.server("accelerators")[names.index(pool.reference)]
        return (_HOURS[pool.way.key](inputs, pool, period, hours) / count).named(
            "reference_node_h", "Work of a pool in hours of one reference node"
        )
    return derive(
        work_node_h,
        work_per_h=work_per_h(inputs, pool, period),
        hours_h=hours,
        node_per_s=reference.rate_per_s,
    )


def work_per_h(inputs: Inputs, pool: Pool, period: int) -> Traced:
    """Pieces of work that come in an hour of a period: prompts, recordings, rollouts, tokens to train on."""
    each = {
        "items": ("passes", pool.passes),
        "audio_rate": ("passes", pool.passes),
        "jobs": ("job_tokens", pool.job_tokens),
    }
    key, times = each.get(pool.way.key, ("samples", pool.samples))
    stated = _stated(inputs, pool, period)
    if pool.way.key == "audio_rate":
        stated = derive(recordings_per_h, audio_ratio=stated, audio_s=recording_audio(inputs, pool))
    if times is None:
        return stated
    return (stated * inputs.yours(f"pools.{pool.name}.{key}", times, "1")).named("work_per_h")


def recordings_per_h(*, audio_ratio: Column, audio_s: Column) -> Column:
    """Recordings that come in an hour, from the time of sound that comes in a time.

    n = 3600 r / a

    Source: definition of a rate.
    """
    return 3600.0 * np.asarray(recordings_per_s(audio_ratio=audio_ratio, audio_s=audio_s))


def recording_audio(inputs: Inputs, pool: Pool) -> Traced:
    """Sound of one recording of a pool: as stated, or one full window."""
    if pool.audio_s is None:
        return inputs.fact(f"speech.{pool.model}.window")
    return inputs.yours(f"pools.{pool.name}.audio", pool.audio_s, "s")


def audio_h(inputs: Inputs, pool: Pool, period: int) -> Traced:
    """Hours of sound that a pool hears in a period, each pass for itself."""
    stated = _stated(inputs, pool, period)
    if pool.passes is not None:
        stated = (stated * inputs.yours(f"pools.{pool.name}.passes", pool.passes, "1")).named("audio_ratio")
    hours = chosen("hours_h", inputs.scenario.horizon.hours[period], "calendar hours of the period")
    return (stated * hours).named("audio_h")


def tokens_of_work(inputs: Inputs, pool: Pool) -> Traced:
    """Tokens in and out of a prompt of a pool."""
    read, written = pool_lengths(inputs, pool)
    return (read + written).named("tokens")


def _stated(inputs: Inputs, pool: Pool, period: int) -> Traced:
    """What the scenario states of a period."""
    way = pool.way
    return inputs.yours(f"pools.{pool.name}.{way.key}[{period}]", pool.need[period], way.unit)


def _of_jobs(inputs: Inputs, pool: Pool, period: int, hours: Traced) -> Traced:
    where = f"pools.{pool.name}"
    mean = derive(
        lognormal_mean_h,
        median_h=inputs.yours(f"{where}.job_p50", pool.job_p50_h or 0.0, "h"),
        high_h=inputs.yours(f"{where}.job_p99", pool.job_p99_h or 0.0, "h"),
        high_fraction=chosen("high_fraction", HIGH, "of 100 jobs one is longer than job_p99"),
    )
    return derive(jobs_accelerator_h, jobs_per_h=_stated(inputs, pool, period), hours_h=hours, mean_h=mean)


def _of_campaigns(inputs: Inputs, pool: Pool, period: int, hours: Traced) -> Traced:
    where = f"pools.{pool.name}"
    busy: Traced = chosen("agent_accelerators", 1.0, "one for each agent")
    if pool.agent_accelerators is not None:
        busy = inputs.yours(f"{where}.agent_accelerators", pool.agent_accelerators, "1")
    success: Traced = chosen("success_fraction", 1.0, "every campaign succeeds")
    if pool.success_fraction is not None:
        success = inputs.yours(f"{where}.success", pool.success_fraction, "1")
    return derive(
        campaign_accelerator_h,
        campaigns_per_h=_stated(inputs, pool, period),
        hours_h=hours,
        agents=inputs.yours(f"{where}.agents", pool.agents or 0.0, "1"),
        campaign_h=inputs.yours(f"{where}.campaign_time", pool.campaign_time_h or 0.0, "h"),
        agent_accelerators=busy,
        success_fraction=success,
    )


def _of_people(inputs: Inputs, pool: Pool, period: int, hours: Traced) -> Traced:
    each: Traced = inputs.fact("planning.person_time")
    if pool.person_time_h is not None:
        each = inputs.yours(f"pools.{pool.name}.person_time", pool.person_time_h, "h")
    return derive(
        team_accelerator_h,
        people=_stated(inputs, pool, period),
        person_h=each,
        hours_h=hours,
        month_h=chosen("month_h", MONTH_H, "a twelfth of the mean year"),
    )


def _as_stated(inputs: Inputs, pool: Pool, period: int, hours: Traced) -> Traced:
    return _stated(inputs, pool, period)


_HOURS: dict[str, Callable[[Inputs, Pool, int, Traced], Traced]] = {
    "gpu_time": _as_stated,
    "jobs": _of_jobs,
    "campaigns": _of_campaigns,
    "people": _of_people,
}
