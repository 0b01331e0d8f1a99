"""Adapters of reliability: rates, MTTF, ETTR, spares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from planner.inputs.loading import load_catalogue
from planner.performance.rounding import rounded_up
from planner.physics.equations.money import goodput_usd
from planner.validation.aliases import constant
from planner.validation.forms import Book, NotUnderstood, Spellings
from reliability.checkpoint import hours_by_state, optimal_interval_h, young_interval_h
from reliability.ettr import (
    interval_goodput_fraction,
    linear_ettr_fraction,
    not_training_h,
    weibull_ettr_fraction,
)
from reliability.fleet import (
    at_least_one_failure_fraction,
    failing_nodes,
    failure_rate_per_node_h,
    implied_node_mttf_h,
    job_mttf_h,
    lognormal_count_quantile,
    mean_count,
    rate_per_node_h,
)
from reliability.restart import restart_h as restart_of_parts_h
from reliability.restart import retried_restart_h, weibull_retried_restart_h
from reliability.simulate import simulate_job
from reliability.spares import spares_for_confidence
from reliability.two_level_ettr import (
    two_level_ettr_fraction,
    two_level_least_waste_fraction,
    two_level_restart_can_fail_ettr_fraction,
)
from reliability.writing import write_stop_fraction

FAILURES, SPARES, SILENT = "MTTF and ETTR", "spares", "silent data corruption"

_LEAST_SIMULATED = 0.05  # below it a simulated run takes longer than anybody waits

_MINUTE, _SECOND, _DAY = 1 / 60, 1 / 3600, 24.0

SPELLINGS: Spellings = {
    "failures_per_1000_node_days": ("failures_in_1000_node_days", 1.0),
    "days": ("period_h", _DAY),
    "hours": ("period_h", 1.0),
    "interruptions": ("failures", 1.0),
    "percentile": ("percent", 1.0),
    "mean_down": ("mean_down", 1.0),
    "ckpt_interval_min": ("interval_h", _MINUTE),
    "compute_between_ckpts_min": ("interval_h", _MINUTE),
    "ckpt_interval_h": ("interval_h", 1.0),
    "ckpt_interval_s": ("interval_h", _SECOND),
    "ckpt_write_min": ("write_h", _MINUTE),
    "ckpt_write_s": ("write_h", _SECOND),
    "ckpt_min": ("write_h", _MINUTE),
    "ckpt_s": ("write_h", _SECOND),
    "restart_min": ("restart_h", _MINUTE),
    "restart_s": ("restart_h", _SECOND),
    "queue_min": ("queue_h", _MINUTE),
    "mtbf_h": ("mttf_h", 1.0),
    "mtbf_min": ("mttf_h", _MINUTE),
    "mtbf_days": ("mttf_h", _DAY),
    "blocking_min": ("blocking_h", _MINUTE),
    "blocking_s": ("blocking_h", _SECOND),
    "persist_min": ("persist_h", _MINUTE),
    "persist_s": ("persist_h", _SECOND),
    "failures_per_day": ("failures_per_h", 1 / _DAY),
    "failures_per_day_at_mean": ("failures_per_h", 1 / _DAY),
    "ckpt1_min": ("local_write_h", _MINUTE),
    "ckpt2_min": ("remote_write_h", _MINUTE),
    "restart1_min": ("local_restart_h", _MINUTE),
    "restart2_min": ("remote_restart_h", _MINUTE),
    "level1_per_level2": ("local_saves", 1.0),
    "share_level1": ("local_fraction", 1.0),
    "node_mtbf_years": ("node_mttf_h", 8766.0),
    "node_mtbf_days": ("node_mttf_h", _DAY),
    "gpu_days_per_failure": ("accelerator_mttf_h", _DAY),
    "params": ("parameters", 1.0),
    "bytes_per_param": ("bytes_per_parameter", 1.0),
    "bandwidth_gbit_s": ("bandwidth_gb_per_s", 1 / 8),
    "bandwidth_gb_s": ("bandwidth_gb_per_s", 1.0),
    "failure_prob_per_gpu_day": ("failures_per_gpu_h", 1 / _DAY),
    "weekly_node_failure_prob": ("weekly_failure_fraction", 1.0),
    "image_pull_s": ("image_pull_h", _SECOND),
    "worker_init_s": ("worker_init_h", _SECOND),
    "step_s": ("step_h", _SECOND),
    "lost_work_s": ("lost_h", _SECOND),
    "reschedule_s": ("reschedule_h", _SECOND),
    "incidents": ("failures", 1.0),
    "gpu_hours": ("gpu_h", 1.0),
    "usd_per_gpu_hour": ("hour_usd", 1.0),
    "points": ("goodput_fraction", 0.01),
    "prior_median_per_1000_node_days": ("failures_in_1000_node_days", 1.0),
    "prior_sigma": ("log_sigma", 1.0),
    "ettr": ("ettr_fraction", 1.0),
}

BOOK = Book(SPELLINGS)


def planned_ettr(
    *,
    interval_h: float,
    mttf_h: float,
    write_h: float,
    restart_h: float,
    queue_h: float = 0.0,
    persist_h: float = 0.0,
) -> float:
    """ETTR from the hours in each state, as plans and answers have it; a queue keeps the job away longer."""
    return float(
        hours_by_state(
            interval_h=interval_h,
            mttf_h=mttf_h,
            write_h=write_h,
            restart_h=restart_h + queue_h,
            persist_h=persist_h,
        ).ettr_fraction
    )


# Which ETTR a row means; `any` asks for the best model that there is.
Model = Callable[..., Any]
MODELS: Mapping[str, Model] = {"linear": linear_ettr_fraction, "exact": planned_ettr, "any": planned_ettr}
BEHIND: Mapping[str, Model] = {"async": planned_ettr, "any": planned_ettr}
WEIBULL = frozenset(("any", "exact", "weibull", "weibull renewal"))
LEVELS: Mapping[str, Model] = {"two-level": two_level_ettr_fraction, "any": two_level_ettr_fraction}
LEVELS_RESTART_CAN_FAIL: Mapping[str, Model] = dict.fromkeys(LEVELS, two_level_restart_can_fail_ettr_fraction)
ONE_INTERVAL = "runtime goodput of one interval"


@BOOK.takes("job_mttf", "mtbf", unit="h", subject=FAILURES)
def mttf_from_node_rate(
    *,
    accelerators: float | None = None,
    nodes: float | None = None,
    failures_in_1000_node_days: float,
    accelerators_per_node: float | None = None,
) -> float:
    """Mean time to failure of a job from the rate of its nodes."""
    rate = rate_per_node_h(failures_in_1000_node_days=failures_in_1000_node_days)
    held = _nodes(accelerators, accelerators_per_node, nodes)
    return float(job_mttf_h(nodes=held, failure_rate_per_node_h=rate))


@BOOK.takes("job_mttf", "mtbf", unit="h", subject=FAILURES)
def mttf_from_accelerator_mttf(*, accelerators: float, accelerator_mttf_h: float) -> float:
    """Mean time to failure of a job from that of one GPU."""
    return float(job_mttf_h(nodes=accelerators, failure_rate_per_node_h=1.0 / accelerator_mttf_h))


@BOOK.takes("job_mttf", "mtbf", unit="h", subject=FAILURES)
def mtbf_from_counts(*, period_h: float, failures: float) -> float:
    """Mean time between the interruptions of a run that was watched."""
    rate = failure_rate_per_node_h(failures=failures, nodes=1.0, period_h=period_h)
    return float(job_mttf_h(nodes=1.0, failure_rate_per_node_h=rate))


@BOOK.takes("node_mtbf_implied", unit="h", subject=FAILURES)
def node_mttf(*, accelerators: float, job_mttf_h: float, accelerators_per_node: float | None = None) -> float:
    """Time between failures of one node that a job's implies."""
    return float(
        implied_node_mttf_h(job_mttf_h=job_mttf_h, nodes=_nodes(accelerators, accelerators_per_node))
    )


@BOOK.takes("failure_rate", unit="1/h", subject=FAILURES)
def failure_rate(
    *,
    accelerators: float | None = None,
    nodes: float | None = None,
    period_h: float,
    failures: float,
    accelerators_per_node: float | None = None,
) -> float:
    """Failures of a node from a count."""
    held = _nodes(accelerators, accelerators_per_node, nodes)
    return float(failure_rate_per_node_h(failures=failures, nodes=held, period_h=period_h))


@BOOK.takes("prob_at_least_one_failure", unit="1", subject=FAILURES)
def chance_of_failure(*, accelerators: float, failures_per_gpu_h: float, period_h: float) -> float:
    """Chance that a period sees a failure."""
    return float(
        at_least_one_failure_fraction(
            nodes=accelerators, failure_rate_per_node_h=failures_per_gpu_h, period_h=period_h
        )
    )


@BOOK.takes("category_share_by_count", unit="1", subject=FAILURES)
def category_share(*, category: str) -> float:
    """Share of the interruptions of the Llama 3 run in a category, from the printed counts."""
    causes = [f for key, f in load_catalogue().facts.items() if key.startswith("reliability.llama3-cause-")]
    ours = [f for f in causes if f.note.lower().startswith(f"category: {category.lower()};")]
    if not ours:
        raise NotUnderstood(f"no cause has the category '{category}'")
    return float(sum(f.value for f in ours) / sum(f.value for f in causes))


@BOOK.takes("wasted_share", unit="1", subject=FAILURES)
def wasted_share(*, accelerators: float, period_h: float, wasted_gpu_hours: float) -> float:
    """GPU-hours lost over GPU-hours held."""
    return wasted_gpu_hours / (accelerators * period_h)


@BOOK.takes("mtbe_ratio", unit="1", subject=FAILURES)
def mtbe_ratio(*, a100_mtbe_h: float, h100_mtbe_h: float) -> float:
    """One measured time between errors over another."""
    return a100_mtbe_h / h100_mtbe_h


@BOOK.takes("ettr", unit="1", subject=FAILURES)
def ettr_of_fleet(
    *,
    accelerators: float,
    failures_in_1000_node_days: float,
    interval_h: float,
    restart_h: float,
    write_h: float = 0.0,
    queue_h: float = 0.0,
    model: str = "exact",
    accelerators_per_node: float | None = None,
    failures_during_restart: bool = False,
) -> float:
    """ETTR of a job on nodes of a stated rate."""
    mttf = mttf_from_node_rate(
        accelerators=accelerators,
        failures_in_1000_node_days=failures_in_1000_node_days,
        accelerators_per_node=accelerators_per_node,
    )
    after = _after_failure(mttf, restart_h, queue_h, failures_during_restart)
    return float(_model(model)(interval_h=interval_h, mttf_h=mttf, write_h=write_h, **after))


@BOOK.takes("ettr", unit="1", subject=FAILURES)
def ettr_of_job(
    *,
    failures_per_h: float,
    interval_h: float,
    restart_h: float,
    write_h: float = 0.0,
    queue_h: float = 0.0,
    model: str = "exact",
    failures_during_restart: bool = False,
    weibull_shape: float | None = None,
) -> float:
    """ETTR of a job of a stated failure rate."""
    mttf_h = 1.0 / failures_per_h
    times = {"interval_h": interval_h, "mttf_h": mttf_h, "write_h": write_h}
    if weibull_shape is not None:
        if queue_h:
            raise NotUnderstood("with weibull_shape no job waits in a queue")
        if model not in WEIBULL:
            raise NotUnderstood(
                f"no ETTR model '{model}' for weibull_shape; known: {', '.join(sorted(WEIBULL))}"
            )
        if failures_during_restart and restart_h:
            restart_h = weibull_retried_restart_h(
                restart_h=restart_h, mttf_h=mttf_h, weibull_shape=weibull_shape
            )
        return float(weibull_ettr_fraction(weibull_shape=weibull_shape, restart_h=restart_h, **times))
    after = _after_failure(mttf_h, restart_h, queue_h, failures_during_restart)
    return float(_model(model)(**times, **after))


@BOOK.takes("ettr", unit="1", subject=FAILURES)
def asynchronous_ettr(
    *,
    failures_per_h: float,
    interval_h: float,
    blocking_h: float,
    persist_h: float,
    restart_h: float,
    model: str = "async",
    failures_during_restart: bool = False,
) -> float:
    """ETTR with checkpoints stored in the background."""
    mttf_h = 1.0 / failures_per_h
    if persist_h > (interval_h + blocking_h) * (1 + 1e-9):
        raise NotUnderstood("persist must not exceed interval and blocking: one snapshot is stored at a time")
    return float(
        _model(model, BEHIND)(
            interval_h=interval_h,
            mttf_h=mttf_h,
            write_h=blocking_h,
            persist_h=persist_h,
            **_after_failure(mttf_h, restart_h, 0.0, failures_during_restart),
        )
    )


@BOOK.takes("ettr", unit="1", subject=FAILURES)
def two_level_ettr(
    *,
    failures_per_h: float,
    local_fraction: float,
    interval_h: float,
    local_saves: float,
    local_write_h: float,
    remote_write_h: float,
    local_restart_h: float,
    remote_restart_h: float,
    model: str = "two-level",
    failures_during_restart: bool = False,
) -> float:
    """ETTR with local and remote checkpoints."""
    known = LEVELS_RESTART_CAN_FAIL if failures_during_restart else LEVELS
    return float(
        _model(model, known)(
            interval_h=interval_h,
            local_saves=local_saves,
            local_rate_per_h=failures_per_h * local_fraction,
            remote_rate_per_h=failures_per_h * (1.0 - local_fraction),
            local_write_h=local_write_h,
            remote_write_h=remote_write_h,
            local_restart_h=local_restart_h,
            remote_restart_h=remote_restart_h,
        )
    )


@BOOK.takes("first_order_waste", unit="1", subject=FAILURES)
def two_level_waste(
    *, failures_per_h: float, local_fraction: float, local_write_h: float, remote_write_h: float
) -> float:
    """Waste of the best two-level pattern, to first order."""
    return float(
        two_level_least_waste_fraction(
            local_rate_per_h=failures_per_h * local_fraction,
            remote_rate_per_h=failures_per_h * (1.0 - local_fraction),
            local_write_h=local_write_h,
            remote_write_h=remote_write_h,
        )
    )


@BOOK.takes("ckpt_overhead_share", unit="1", subject=FAILURES)
def write_share(*, write_h: float, step_h: float, steps_between: float, blocking: bool = True) -> float:
    """Share of the time that writing stops the run."""
    return float(write_stop_fraction(write_h=write_h, compute_h=steps_between * step_h, blocking=blocking))


@BOOK.takes("ettr_at_optimal_interval", unit="1", subject=FAILURES)
def best_ettr(
    *,
    accelerators: float,
    failures_in_1000_node_days: float,
    restart_h: float,
    write_h: float,
    model: str = "exact",
    accelerators_per_node: float | None = None,
    failures_during_restart: bool = False,
) -> float:
    """ETTR at the interval that the model calls best: Young's for the straight line, else the exact one."""
    mttf = mttf_from_node_rate(
        accelerators=accelerators,
        failures_in_1000_node_days=failures_in_1000_node_days,
        accelerators_per_node=accelerators_per_node,
    )
    interval = (young_interval_h if model == "linear" else optimal_interval_h)(mttf_h=mttf, write_h=write_h)
    after = _after_failure(mttf, restart_h, 0.0, failures_during_restart)
    return float(_model(model)(interval_h=interval, mttf_h=mttf, write_h=write_h, **after))


@BOOK.takes("ettr", unit="1", subject=FAILURES)
def goodput_of_interval(
    *, model: str, interval_h: float, lost_h: float, reschedule_h: float = 0.0, restart_h: float = 0.0
) -> float:
    """Goodput of one interval with one failure in it."""
    if model != ONE_INTERVAL:
        raise NotUnderstood(f"no ETTR model '{model}' for lost work in one interval; known: {ONE_INTERVAL}")
    return float(
        interval_goodput_fraction(
            interval_h=interval_h, lost_h=lost_h, reschedule_h=reschedule_h, restart_h=restart_h
        )
    )


@BOOK.takes("lost_time_from_ettr", unit="h", subject=FAILURES, labels=("gpus",))
def lost_h(*, ettr_fraction: float, period_h: float) -> float:
    """Wall-clock time that trained nothing, however many accelerators waited."""
    return float(not_training_h(ettr_fraction=ettr_fraction, period_h=period_h))


@BOOK.takes("money_per_goodput_point", unit="USD", subject=FAILURES)
def goodput_money(*, accelerators: float, period_h: float, hour_usd: float, goodput_fraction: float) -> float:
    """What points of goodput are worth."""
    return float(
        goodput_usd(
            units=accelerators,
            duration_h=period_h,
            hour_usd=hour_usd,
            goodput_fraction=goodput_fraction,
        )
    )


@BOOK.takes("expected_failures", unit="1", subject=FAILURES)
def nodes_that_fail(*, nodes: float, weekly_failure_fraction: float, period_h: float) -> float:
    """Nodes that fail at least once in the window."""
    return float(
        failing_nodes(nodes=nodes, weekly_failure_fraction=weekly_failure_fraction, period_h=period_h)
    )


@BOOK.takes("prior_predictive_count", unit="1", subject=FAILURES)
def prior_count(
    *, nodes: float, period_h: float, failures_in_1000_node_days: float, log_sigma: float
) -> float:
    """Median of the failures that a log-normal belief about the rate predicts."""
    return lognormal_count_quantile(
        median_per_node_h=float(rate_per_node_h(failures_in_1000_node_days=failures_in_1000_node_days)),
        log_sigma=log_sigma,
        node_h=nodes * period_h,
        quantile_fraction=0.5,
    )


@BOOK.takes("restart_time", unit="h", subject=FAILURES)
def restart_time(*, image_pull_h: float | None = None, worker_init_h: float, node: str) -> float:
    """Time to working again: a new node pulls the image first, the same one has it."""
    if node not in ("new", "same"):
        raise NotUnderstood(f"node must be new (it pulls the image) or same (it has it), got '{node}'")
    if node == "new" and image_pull_h is None:
        raise NotUnderstood("a new node pulls the image: image_pull_s is needed")
    return float(
        restart_of_parts_h(
            detect_h=0.0,
            replace_h=(image_pull_h or 0.0) if node == "new" else 0.0,
            initialise_h=worker_init_h,
            load_h=0.0,
            warm_up_h=0.0,
        )
    )


@BOOK.takes("sdc_rate", unit="1/h", subject=SILENT)
def silent_rate(*, failures: float, gpu_h: float) -> dict[str, float]:
    """Silent data corruptions for each million accelerator-hours."""
    per_h = float(failure_rate_per_node_h(failures=failures, nodes=1.0, period_h=gpu_h))
    return {"1": 1e6 * per_h, "1/h": per_h}


@BOOK.takes("expected_sdc", unit="1", subject=SILENT)
def silent_count(*, accelerators: float, period_h: float, incidents_per_million_gpu_h: float) -> float:
    """Silent data corruptions to expect."""
    return float(
        mean_count(units=accelerators, rate_per_unit_h=incidents_per_million_gpu_h / 1e6, period_h=period_h)
    )


@BOOK.takes("relative_gap_linear_vs_simulation", unit="1", subject=FAILURES)
def linear_gap(
    *,
    accelerators: float,
    failures_in_1000_node_days: float,
    interval_h: float,
    restart_h: float,
    write_h: float = 0.0,
    accelerators_per_node: float | None = None,
) -> float:
    """How far the straight line is from a seeded simulation of many runs."""
    mttf = mttf_from_node_rate(
        accelerators=accelerators,
        failures_in_1000_node_days=failures_in_1000_node_days,
        accelerators_per_node=accelerators_per_node,
    )
    times = {"interval_h": interval_h, "mttf_h": mttf, "write_h": write_h, "restart_h": restart_h}
    if planned_ettr(**times) < _LEAST_SIMULATED:
        raise NotUnderstood("a run that loses nearly all of its time does not end in simulation")
    line = float(linear_ettr_fraction(**times))
    played = simulate_job(intervals=1000, replicas=400, seed=0, **times)
    return abs(line / float(np.mean(played.ettr_fraction)) - 1.0)


@BOOK.takes("spares_for_percentile", unit="1", subject=SPARES)
def spares(*, mean_down: float, percent: float) -> float:
    """Fewest spares that cover the nodes under repair."""
    return float(spares_for_confidence(mean_down=mean_down, confidence_fraction=percent / 100.0))


def _nodes(
    accelerators: float | None, accelerators_per_node: float | None = None, nodes: float | None = None
) -> float:
    """Nodes as stated, or those that hold the accelerators, the last one whole."""
    if (accelerators is None) == (nodes is None):
        raise NotUnderstood("give either gpus or nodes")
    if accelerators is None:
        return float(nodes or 0.0)
    each = accelerators_per_node or constant("validation.accelerators_per_node", "accelerators")
    return float(rounded_up(accelerators / each))


def _model(name: str, known: Mapping[str, Model] = MODELS) -> Model:
    if name not in known:
        raise NotUnderstood(f"no ETTR model '{name}' for these inputs; known: {', '.join(known)}")
    return known[name]


def _after_failure(mttf_h: float, restart_h: float, queue_h: float, can_fail: bool) -> dict[str, float]:
    """Restart and queue as a form of ETTR takes them; one that can fail queues again each time."""
    if not can_fail:
        return {"restart_h": restart_h} | ({"queue_h": queue_h} if queue_h else {})
    return {"restart_h": float(retried_restart_h(restart_h=restart_h, mttf_h=mttf_h, downtime_h=queue_h))}
