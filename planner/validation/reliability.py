"""Adapters of reliability: rates, MTTF, ETTR, spares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from planner.inputs.catalogue import load_catalogue
from planner.validation.aliases import constant
from planner.validation.forms import Book, NotUnderstood, Spellings
from reliability.checkpoint import optimal_interval_h, young_interval_h
from reliability.ettr import (
    asynchronous_ettr_fraction,
    ettr_fraction,
    ettr_restart_can_fail_fraction,
    linear_ettr_fraction,
    weibull_ettr_fraction,
)
from reliability.fleet import (
    at_least_one_failure_fraction,
    failure_rate_per_node_h,
    implied_node_mtbf_h,
    job_mttf_h,
    rate_per_node_h,
)
from reliability.simulate import simulate_job
from reliability.spares import spares_for_confidence
from reliability.two_level_ettr import two_level_ettr_fraction

FAILURES, SPARES = "MTTF and ETTR", "spares"

_LEAST_SIMULATED = 0.05  # below it a simulated run takes longer than anybody waits

_MINUTE, _SECOND, _DAY = 1 / 60, 1 / 3600, 24.0

SPELLINGS: Spellings = {
    "failures_per_1000_node_days": ("failures_in_1000_node_days", 1.0),
    "days": ("period_h", _DAY),
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
    "mtbf_min": ("mtbf_h", _MINUTE),
    "mtbf_days": ("mtbf_h", _DAY),
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
    "node_mtbf_years": ("node_mtbf_h", 8766.0),
    "node_mtbf_days": ("node_mtbf_h", _DAY),
    "gpu_days_per_failure": ("gpu_mtbf_h", _DAY),
    "params": ("parameters", 1.0),
    "bytes_per_param": ("bytes_per_parameter", 1.0),
    "bandwidth_gbit_s": ("bandwidth_gb_per_s", 1 / 8),
    "bandwidth_gb_s": ("bandwidth_gb_per_s", 1.0),
    "failure_prob_per_gpu_day": ("failures_per_gpu_h", 1 / _DAY),
}

BOOK = Book(SPELLINGS)

# Which ETTR a row means; `any` asks for the best model that there is.
Model = Callable[..., Any]
MODELS: Mapping[str, Model] = {"linear": linear_ettr_fraction, "exact": ettr_fraction, "any": ettr_fraction}
BEHIND: Mapping[str, Model] = {"async": asynchronous_ettr_fraction, "any": asynchronous_ettr_fraction}
WEIBULL = frozenset(("any", "exact", "weibull", "weibull renewal"))
LEVELS: Mapping[str, Model] = {"two-level": two_level_ettr_fraction, "any": two_level_ettr_fraction}


@BOOK.takes("job_mttf", "mtbf", unit="h", subject=FAILURES)
def mttf_from_node_rate(
    *, gpus: float, failures_in_1000_node_days: float, gpus_per_node: float | None = None
) -> float:
    """Mean time to failure of a job from the rate of its nodes."""
    rate = rate_per_node_h(failures_in_1000_node_days=failures_in_1000_node_days)
    return float(job_mttf_h(nodes=_nodes(gpus, gpus_per_node), failure_rate_per_node_h=rate))


@BOOK.takes("job_mttf", "mtbf", unit="h", subject=FAILURES)
def mttf_from_gpu_mtbf(*, gpus: float, gpu_mtbf_h: float) -> float:
    """Mean time to failure of a job from that of one GPU."""
    return float(job_mttf_h(nodes=gpus, failure_rate_per_node_h=1.0 / gpu_mtbf_h))


@BOOK.takes("job_mttf", "mtbf", unit="h", subject=FAILURES)
def mtbf_from_counts(*, period_h: float, failures: float) -> float:
    """Mean time between the interruptions of a run that was watched."""
    rate = failure_rate_per_node_h(failures=failures, nodes=1.0, period_h=period_h)
    return float(job_mttf_h(nodes=1.0, failure_rate_per_node_h=rate))


@BOOK.takes("node_mtbf_implied", unit="h", subject=FAILURES)
def node_mtbf(*, gpus: float, job_mttf_h: float, gpus_per_node: float | None = None) -> float:
    """Time between failures of one node that a job's implies."""
    return float(implied_node_mtbf_h(job_mttf_h=job_mttf_h, nodes=_nodes(gpus, gpus_per_node)))


@BOOK.takes("failure_rate", unit="1/h", subject=FAILURES)
def failure_rate(
    *, gpus: float, period_h: float, failures: float, gpus_per_node: float | None = None
) -> float:
    """Failures of a node from a count."""
    return float(
        failure_rate_per_node_h(failures=failures, nodes=_nodes(gpus, gpus_per_node), period_h=period_h)
    )


@BOOK.takes("prob_at_least_one_failure", unit="1", subject=FAILURES)
def chance_of_failure(*, gpus: float, failures_per_gpu_h: float, period_h: float) -> float:
    """Chance that a period sees a failure."""
    return float(
        at_least_one_failure_fraction(
            nodes=gpus, failure_rate_per_node_h=failures_per_gpu_h, period_h=period_h
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
def wasted_share(*, gpus: float, period_h: float, wasted_gpu_hours: float) -> float:
    """GPU-hours lost over GPU-hours held."""
    return wasted_gpu_hours / (gpus * period_h)


@BOOK.takes("mtbe_ratio", unit="1", subject=FAILURES)
def mtbe_ratio(*, a100_mtbe_h: float, h100_mtbe_h: float) -> float:
    """One measured time between errors over another."""
    return a100_mtbe_h / h100_mtbe_h


@BOOK.takes("ettr", unit="1", subject=FAILURES)
def ettr_of_fleet(
    *,
    gpus: float,
    failures_in_1000_node_days: float,
    interval_h: float,
    restart_h: float,
    write_h: float = 0.0,
    queue_h: float = 0.0,
    model: str = "exact",
    gpus_per_node: float | None = None,
    failures_during_restart: bool = False,
) -> float:
    """ETTR of a job on nodes of a stated rate."""
    mttf = mttf_from_node_rate(
        gpus=gpus, failures_in_1000_node_days=failures_in_1000_node_days, gpus_per_node=gpus_per_node
    )
    return float(
        _model(model, failures_during_restart)(
            interval_h=interval_h, mtbf_h=mttf, write_h=write_h, restart_h=restart_h, queue_h=queue_h
        )
    )


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
    times = {
        "interval_h": interval_h,
        "mtbf_h": 1.0 / failures_per_h,
        "write_h": write_h,
        "restart_h": restart_h,
    }
    if weibull_shape is not None:
        if failures_during_restart or queue_h:
            raise NotUnderstood("with weibull_shape no restart fails and no job waits in a queue")
        if model not in WEIBULL:
            raise NotUnderstood(
                f"no ETTR model '{model}' for weibull_shape; known: {', '.join(sorted(WEIBULL))}"
            )
        return float(weibull_ettr_fraction(weibull_shape=weibull_shape, **times))
    return float(_model(model, failures_during_restart)(queue_h=queue_h, **times))


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
    return float(
        _model(model, failures_during_restart, BEHIND)(
            interval_h=interval_h,
            mtbf_h=1.0 / failures_per_h,
            blocking_h=blocking_h,
            persist_h=persist_h,
            restart_h=restart_h,
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
    return float(
        _model(model, failures_during_restart, LEVELS)(
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


@BOOK.takes("ettr_at_optimal_interval", unit="1", subject=FAILURES)
def best_ettr(
    *,
    gpus: float,
    failures_in_1000_node_days: float,
    restart_h: float,
    write_h: float,
    model: str = "exact",
    gpus_per_node: float | None = None,
) -> float:
    """ETTR at the interval that the model calls best: Young's for the straight line, else the exact one."""
    mttf = mttf_from_node_rate(
        gpus=gpus, failures_in_1000_node_days=failures_in_1000_node_days, gpus_per_node=gpus_per_node
    )
    interval = (young_interval_h if model == "linear" else optimal_interval_h)(mtbf_h=mttf, write_h=write_h)
    return float(_model(model)(interval_h=interval, mtbf_h=mttf, write_h=write_h, restart_h=restart_h))


@BOOK.takes("relative_gap_linear_vs_simulation", unit="1", subject=FAILURES)
def linear_gap(
    *,
    gpus: float,
    failures_in_1000_node_days: float,
    interval_h: float,
    restart_h: float,
    write_h: float = 0.0,
    gpus_per_node: float | None = None,
) -> float:
    """How far the straight line is from a seeded simulation of many runs."""
    mttf = mttf_from_node_rate(
        gpus=gpus, failures_in_1000_node_days=failures_in_1000_node_days, gpus_per_node=gpus_per_node
    )
    times = {"interval_h": interval_h, "mtbf_h": mttf, "write_h": write_h, "restart_h": restart_h}
    if float(ettr_fraction(**times)) < _LEAST_SIMULATED:
        raise NotUnderstood("a run that loses nearly all of its time does not end in simulation")
    line = float(linear_ettr_fraction(**times))
    played = simulate_job(intervals=1000, replicas=400, seed=0, **times)
    return abs(line / float(np.mean(played.ettr_fraction)) - 1.0)


@BOOK.takes("spares_for_percentile", unit="1", subject=SPARES)
def spares(*, mean_down: float, percent: float) -> float:
    """Fewest spares that cover the nodes under repair."""
    return float(spares_for_confidence(mean_down=mean_down, confidence_fraction=percent / 100.0))


def _nodes(gpus: float, gpus_per_node: float | None) -> float:
    return gpus / (gpus_per_node or constant("validation.accelerators_per_node", "gpus_per_node"))


def _model(name: str, restart_can_fail: bool = False, known: Mapping[str, Model] = MODELS) -> Model:
    if name not in known:
        raise NotUnderstood(f"no ETTR model '{name}' for these inputs; known: {', '.join(known)}")
    if not restart_can_fail:
        return known[name]
    if known[name] is not ettr_fraction:
        raise NotUnderstood(f"no ETTR model '{name}' lets a restart fail (failures_during_restart)")
    return ettr_restart_can_fail_fraction
