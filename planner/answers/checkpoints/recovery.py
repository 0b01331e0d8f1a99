"""What stops a run, what checks of its results would find, and ways to come back: each with ETTR and cost."""

from __future__ import annotations

from dataclasses import replace

from planner.answers.checkpoints.current_interval import month
from planner.answers.checkpoints.equations import (
    mixed_restart_h,
    without_image_h,
)
from planner.answers.checkpoints.policies import (
    Policy,
    kgco2e_per_useful_h,
    policies_of,
    usd_per_useful_h,
    weights_of,
)
from planner.answers.checkpoints.question import restart_part
from planner.answers.checkpoints.setting import Setting, setting_of
from planner.physics.run_stops import Cause, unfound_per_h
from planner.trace.quantities import Traced, chosen, convert, derive
from planner.trace.records import Record
from reliability.restart import restart_h

MONTHLY = "How many of a kind come in a month, in the mean"


def stop_rows(policy: Policy) -> list[Record]:
    """Each cause of a stop: how often in a month, what it throws away, and what that costs in hours.

    The work since the last checkpoint is half an interval at the one of least time, for every cause.
    """
    setting = policy.setting
    interval = policy.best(weights_of(policy, "time")).interval_h
    none = chosen("back_h", 0.0, "what is stored stays")
    failures = Cause(
        (1.0 / setting.failures_mttf_h).named("failures_per_h", "Failures of a job an hour"), none
    )
    causes = {"failure": failures, "loss spike": setting.stops.spikes, "corruption": setting.stops.found}
    return [
        {
            "cause": name,
            "per_month": (cause.per_h * month()).named("monthly_count", MONTHLY),
            "restart_min": convert(setting.restart_h, "min"),
            "rolled_back_min": convert(cause.back_h, "min"),
            "lost_h": (cause.per_h * month() * (setting.restart_h + interval / 2.0 + cause.back_h)).named(
                "lost_in_a_month_h", "Hours that a kind of stop takes of a month, to first order"
            ),
        }
        for name, cause in causes.items()
        if cause is not None
    ]


def waiting_rows(setting: Setting, ettr: Traced) -> list[Record]:
    """Slow nodes and spread of steps, and how long in a month nodes wait for them; none where not stated."""
    slow, waiting = setting.terms.slow, setting.waiting
    if slow is None or waiting is None:
        return []
    return [
        {
            "slow_fraction": slow.slow_fraction,
            "slowdown_factor": slow.slowdown,
            "spread_fraction": slow.variation,
            "waiting_factor": waiting,
            "waited_h": (month() * ettr * (1.0 - 1.0 / waiting)).named(
                "waited_in_a_month_h",
                "Hours of a month in which a run trains, and its nodes wait for slow ones of them",
            ),
        }
    ]


def detection_rows(setting: Setting, sku: str, policy: str) -> list[Record]:
    """The run with and without checks of its results for silent corruption."""
    rows = []
    for name, detected in (("no checks", False), ("checks", True)):
        terms = setting.terms
        wanted = replace(terms, question=replace(terms.question, detect_corruption=detected))
        tried = setting_of(wanted, sku, int(setting.nodes.value))
        used = (tried.nodes * tried.accelerators).named("accelerators_in_use")
        unfound = unfound_per_h(terms.fact, used, detected=detected)
        rows.append(
            {
                "choice": name,
                "unfound_per_month": (unfound * month()).named("monthly_count", MONTHLY),
                **_at_best(policies_of(tried)[policy]),
            }
        )
    return rows


def recovery_rows(setting: Setting, policy: str) -> list[Record]:
    """Ways to come back after a failure, from the parts of a restart: with and without spares at hand."""
    terms, fact = setting.terms, setting.terms.fact
    parts = {name: convert(restart_part(terms, name), "h") for name in ("detect", "initialise", "warm_up")}
    common = {f"{name}_h": part for name, part in parts.items()} | {"load_h": setting.load_h}
    swap, requeue = (
        convert(restart_part(terms, "replace"), "h"),
        convert(fact("reliability.recovery.requeue_time"), "h"),
    )
    cached = derive(
        without_image_h, requeue_h=requeue, image_h=convert(fact("reliability.recovery.image_time"), "h")
    )
    stay = chosen("replace_h", 0.0, "the same nodes go on")
    none = chosen("initialise_h", 0.0, "its processes keep their links")
    spare = derive(restart_h, replace_h=swap, **common)
    in_process = derive(restart_h, replace_h=stay, **(common | {"initialise_h": none}))
    mixed = derive(
        mixed_restart_h,
        in_process_h=in_process,
        replaced_h=spare,
        in_process_fraction=fact("reliability.recovery.in_process"),
    )
    no_spares = chosen("spares", 0.0, "nodes come from the scheduler")
    ways = {
        "requeue": (derive(restart_h, replace_h=requeue, **common), no_spares),
        "requeue, image cached": (derive(restart_h, replace_h=cached, **common), no_spares),
        "warm spare": (spare, setting.spares),
        "warm spare, restart in process": (mixed, setting.spares),
    }
    return [
        {
            "choice": name,
            "restart_min": convert(restart, "min"),
            "spares": spares,
            **_at_best(policies_of(setting.recovering(restart, spares))[policy]),
        }
        for name, (restart, spares) in ways.items()
    ]


def _at_best(policy: Policy) -> Record:
    """A policy at its interval of least time."""
    pattern = policy.best(weights_of(policy, "time"))
    return {
        "interval_min": convert(pattern.interval_h, "min"),
        "ettr_fraction": policy.hours(pattern).ettr,
        "usd_per_useful_h": usd_per_useful_h(policy, pattern),
        "kgco2e_per_useful_h": kgco2e_per_useful_h(policy, pattern),
    }
