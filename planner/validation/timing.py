"""Adapters of times: steps that wait for a slow rank, single collectives, and execution traces."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from planner.inputs.execution_traces import ExecutionTrace, read_trace
from planner.performance.collectives import CHAINED, RING_TRIPS, chain_s, ring_s
from planner.performance.timeline import busy_fraction, exposed_s
from planner.trace.errors import InputError
from planner.validation.aliases import constant
from planner.validation.datasets import named_path
from planner.validation.forms import Book, NotUnderstood
from reliability.step_time import (
    RankGroup,
    StepTime,
    fit_quantiles,
    slow_ranks_factor,
    slowest_quantile_s,
)

STEPS, SENT, TRACES = "step times", "collectives", "execution traces"
FAMILIES = ("normal", "gamma", "lognormal")

BOOK = Book({})


@BOOK.takes("step_time_quantile", unit="1", subject=STEPS)
def slowest_rank(*, ranks: float, variation_fraction: float, family: str, quantile_fraction: float) -> float:
    """Step that waits for the slowest of equal ranks, over the mean of one."""
    if family not in FAMILIES:
        raise NotUnderstood(f"no family '{family}'; known: {', '.join(FAMILIES)}")
    group = RankGroup(ranks, StepTime(1.0, variation_fraction, family))  # type: ignore[arg-type]
    return float(slowest_quantile_s(groups=[group], quantile_fraction=quantile_fraction))


@BOOK.takes("step_time_quantile", unit="1", subject=STEPS)
def measured_quantiles(
    *, measured_fractions: Any, measured_s: Any, quantile_fraction: float, over_fraction: float
) -> float:
    """Ratio of two quantiles of the law through measured ones."""
    if not isinstance(measured_fractions, list) or not isinstance(measured_s, list):
        raise NotUnderstood("measured_fractions and measured_s are lists")
    law = fit_quantiles(quantile_fractions=measured_fractions, times_s=measured_s)
    return law.quantile_s(quantile_fraction) / law.quantile_s(over_fraction)


@BOOK.takes("slow_node_step_ratio", unit="1", subject=STEPS)
def slow_nodes(*, slow_nodes: int, nodes: int | None = None, slowdown_factor: float | None = None) -> float:
    """Step of a synchronous job over that without its slow nodes: everybody waits for them."""
    factor = slowdown_factor
    if factor is None:
        factor = constant("reliability.degraded_node.slowdown", "slowdown_factor")
    if slow_nodes < 0 or (nodes is not None and nodes < slow_nodes):
        raise NotUnderstood(f"slow_nodes are from 0 to the nodes of the job, got {slow_nodes} of {nodes}")
    if slow_nodes == 0:
        return 1.0
    return float(
        slow_ranks_factor(
            ranks=max(nodes or 0, slow_nodes + 1),
            slow_ranks=slow_nodes,
            slowdown_factor=factor,
            variation_fraction=0.0,
        )
    )


@BOOK.takes("collective_time", unit="s", subject=SENT, only={"algorithm": ("ring",)})
def collective_time(
    *,
    collective: str,
    ranks: int,
    size_gb: float,
    bandwidth_gb_per_s: float,
    latency_s: float,
    oversubscription_ratio: float = 1.0,
) -> float:
    """Time of one collective on a ring."""
    link: dict[str, Any] = {
        "ranks": ranks,
        "size_gb": size_gb,
        "bandwidth_gb_per_s": bandwidth_gb_per_s,
        "latency_s": latency_s,
        "oversubscription_ratio": oversubscription_ratio,
    }
    spelled = {name.replace("_", ""): name for name in (*RING_TRIPS, *CHAINED)}
    name = spelled.get(re.sub(r"[-_ ]", "", collective.casefold()))
    if name is None:
        raise NotUnderstood(f"no ring of '{collective}'; known: {', '.join(spelled.values())}")
    return float(chain_s(**link) if name in CHAINED else ring_s(trips=RING_TRIPS[name], **link))


# Execution traces


@BOOK.takes("trace_summary", unit="s", subject=TRACES, only={"measure": ("node_time",)})
def node_time(*, trace: Any, node_type: int, is_cpu_op: bool | None = None) -> float:
    """Run times of the nodes of a type, of all ranks given."""
    return float(sum(one.node_s[_chosen(one, node_type, is_cpu_op)].sum() for one in _read(trace)))


@BOOK.takes("trace_summary", unit="1", subject=TRACES, only={"measure": ("nodes",)})
def nodes(*, trace: Any, node_type: int | None = None, is_cpu_op: bool | None = None) -> float:
    """Nodes of all ranks given, or those of a type."""
    ranks = _read(trace)
    if node_type is None and is_cpu_op is None:
        for one in ranks:
            if not one.nodes:
                raise NotUnderstood(f"{one.name} is a {one.form} trace: it has events, no nodes")
        return float(sum(one.nodes for one in ranks))
    return float(sum(_chosen(one, node_type, is_cpu_op).sum() for one in ranks))


@BOOK.takes("trace_summary", unit="s", subject=TRACES, only={"measure": ("exposed_communication",)})
def exposed_communication(*, trace: Any) -> float:
    """Time in which collectives run on the accelerator and nothing else does; the mean of several ranks."""
    found = [
        exposed_s(start_s=one.start_s, end_s=one.end_s, is_communication=one.is_collective)
        for one in _timed(trace)
    ]
    return float(np.mean(found))


@BOOK.takes("trace_summary", unit="1", subject=TRACES, only={"measure": ("busy_fraction",)})
def busy(*, trace: Any) -> float:
    """Share of the time in which the accelerator does something; the mean of several ranks."""
    return float(np.mean([busy_fraction(start_s=one.start_s, end_s=one.end_s) for one in _timed(trace)]))


@BOOK.takes("trace_summary", unit="1", subject=TRACES, only={"measure": ("slowest_over_mean_step",)})
def slowest_over_mean_step(*, trace: Any) -> float:
    """Longest step of the ranks over their mean: steps as the profiler marks them."""
    steps = []
    for one in _read(trace):
        if not one.step_s.size:
            raise NotUnderstood(f"{one.name} marks no step (ProfilerStep)")
        steps.append(float(one.step_s.mean()))
    return max(steps) / float(np.mean(steps))


def _read(trace: Any) -> list[ExecutionTrace]:
    names = trace if isinstance(trace, list) else [trace]
    if not names or not all(isinstance(name, str) for name in names):
        raise NotUnderstood("trace is the name of a file, or a list with one for each rank")
    try:
        return [read_trace(named_path(name)) for name in names]
    except InputError as error:
        raise NotUnderstood(str(error)) from error


def _timed(trace: Any) -> Sequence[ExecutionTrace]:
    ranks = _read(trace)
    for one in ranks:
        if not one.start_s.size:
            raise NotUnderstood(f"{one.name} is a {one.form} trace: it does not say when kernels ran")
    return ranks


def _chosen(one: ExecutionTrace, node_type: int | None, is_cpu_op: bool | None) -> np.ndarray:
    if not one.node_type.size:
        raise NotUnderstood(f"{one.name} is a {one.form} trace: its nodes have no types of Chakra's schema")
    chosen = np.ones(one.node_type.size, dtype=bool) if node_type is None else one.node_type == node_type
    return chosen if is_cpu_op is None else chosen & (one.on_cpu == is_cpu_op)
