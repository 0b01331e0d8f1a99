"""Adapters of checkpoints: intervals, levels, write times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from planner.validation.forms import Book, NotUnderstood
from planner.validation.reliability import SPELLINGS, mttf_from_node_rate
from reliability.checkpoint import (
    checkpoint_size_gb,
    checkpoint_write_h,
    daly_first_order_interval_h,
    daly_interval_h,
    optimal_interval_h,
    two_level_plan,
    young_interval_h,
)
from reliability.fleet import job_mttf_h

CHECKPOINTS = "checkpoint intervals"

BOOK = Book(SPELLINGS)

Interval = Callable[..., Any]
FORMULAS: dict[str, Interval] = {
    "young": young_interval_h,
    "young/daly": young_interval_h,
    "young-daly": young_interval_h,
    "daly-young": young_interval_h,
    "sqrt(2 w / (n r_f))": young_interval_h,
    "daly first order": daly_first_order_interval_h,
    "daly higher order": daly_interval_h,
    "daly": daly_interval_h,
    "exact": optimal_interval_h,
    "lambert": optimal_interval_h,
    "lambert w": optimal_interval_h,
}


@BOOK.takes("optimal_interval", unit="h", subject=CHECKPOINTS, labels=("restart_min",))
def interval_of_job(*, formula: str, mttf_h: float, write_h: float) -> float:
    """Compute time between checkpoints that a formula calls best, for a job's MTTF."""
    return float(_formula(formula)(mttf_h=mttf_h, write_h=write_h))


@BOOK.takes("optimal_interval", unit="h", subject=CHECKPOINTS, labels=("restart_min",))
def interval_of_fleet(
    *,
    formula: str,
    accelerators: float | None = None,
    nodes: float | None = None,
    failures_in_1000_node_days: float,
    write_h: float,
    accelerators_per_node: float | None = None,
) -> float:
    """Compute time between checkpoints that a formula calls best, for a job on nodes of a stated rate."""
    mttf = mttf_from_node_rate(
        accelerators=accelerators,
        nodes=nodes,
        failures_in_1000_node_days=failures_in_1000_node_days,
        accelerators_per_node=accelerators_per_node,
    )
    return interval_of_job(formula=formula, mttf_h=mttf, write_h=write_h)


@BOOK.takes("optimal_interval", unit="h", subject=CHECKPOINTS, labels=("restart_min",))
def interval_of_nodes(*, formula: str, nodes: float, node_mttf_h: float, write_h: float) -> float:
    """Compute time between checkpoints that a formula calls best, for nodes of a stated MTTF."""
    mttf = float(job_mttf_h(nodes=nodes, failure_rate_per_node_h=1.0 / node_mttf_h))
    return interval_of_job(formula=formula, mttf_h=mttf, write_h=write_h)


@BOOK.takes("interval_error_vs_exact_optimum", unit="1", subject=CHECKPOINTS)
def interval_error(*, formula: str, ckpt_over_mtbf: float) -> float:
    """How far a formula's interval is from the exact optimum, as a share of that."""
    exact = optimal_interval_h(mttf_h=1.0, write_h=ckpt_over_mtbf)
    return float(_formula(formula)(mttf_h=1.0, write_h=ckpt_over_mtbf) / exact - 1.0)


@BOOK.takes("optimal_level1_per_level2", unit="1", subject=CHECKPOINTS)
def level_ratio(
    *, failures_per_h: float, local_fraction: float, local_write_h: float, remote_write_h: float
) -> float:
    """Local saves for each remote one."""
    return float(
        two_level_plan(
            local_rate_per_h=failures_per_h * local_fraction,
            remote_rate_per_h=failures_per_h * (1.0 - local_fraction),
            local_write_h=local_write_h,
            remote_write_h=remote_write_h,
        ).local_saves
    )


@BOOK.takes("ckpt_write_time", unit="h", subject=CHECKPOINTS)
def write_time(*, parameters: float, bytes_per_parameter: float, bandwidth_gb_per_s: float) -> float:
    """Time to write a checkpoint."""
    size = checkpoint_size_gb(parameters=parameters, bytes_per_parameter=bytes_per_parameter)
    return float(checkpoint_write_h(size_gb=size, bandwidth_gb_per_s=bandwidth_gb_per_s))


@BOOK.takes("speedup", unit="1", subject=CHECKPOINTS)
def speedup(*, sync_s: float, async_s: float) -> float:
    """One measured time over another."""
    return sync_s / async_s


def _formula(name: str) -> Interval:
    known = FORMULAS.get(" ".join(name.lower().split()))
    if known is None:
        raise NotUnderstood(f"no interval formula '{name}'; known: {', '.join(FORMULAS)}")
    return known
