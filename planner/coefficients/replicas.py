"""Equations of a replica beyond the leaves: burstiness, share of a node, power over a day, standby."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Column = float | NDArray[Any]


def replica_arrival_scv_ratio(
    *, trace_scv_ratio: Column, trace_per_s: Column, demand_per_s: Column, requests_per_s: Column
) -> Column:
    """Squared coefficient of variation of the arrivals at one replica.

    c^2 = 1 + (c_trace^2 - 1) / (m n),  m = demand / trace rate,  n = demand / capacity

    A larger demand is taken as m independent streams like the trace, dealt out at random to n replicas. Both
    thin bursts. Bursts that all users share are not thinned in truth: plan them as a higher peak rate.

    Source: random splitting, c_i^2 = p c^2 + 1 - p (Whitt, "The queueing network analyzer", BSTJ 1983);
    for superposition the stationary-interval limit.
    """
    streams = np.maximum(1.0, np.divide(demand_per_s, trace_per_s))
    replicas = np.maximum(1.0, np.divide(demand_per_s, np.maximum(requests_per_s, 1e-9)))
    thinned: Column = 1.0 + (np.asarray(trace_scv_ratio) - 1.0) / (streams * replicas)
    return thinned


def replica_nodes(*, tp: Column, accelerators: Column) -> Column:
    """Nodes, or the share of one, that a replica takes.

    n = t / a

    Source: definition.
    """
    return tp / accelerators


def shared_node_kw(*, node_kw: Column, replica_nodes: Column) -> Column:
    """Power of the part of a node that a replica takes; the host is shared by accelerators.

    P = P_node * n

    Source: definition.
    """
    return node_kw * replica_nodes


def day_mean_kw(*, idle_kw: Column, busy_kw: Column, mean_to_peak_fraction: Column) -> Column:
    """Power of a replica averaged over the day's load.

    P = P_idle + m (P_peak - P_idle)

    Linear between idle and the planned load at the peak hour; m is the mean load over the peak load.

    Source: linear power model; carbon/README.md.
    """
    return idle_kw + mean_to_peak_fraction * (busy_kw - idle_kw)


def weights_gb_per_accelerator(*, parameters: Column, weight_bytes: Column, tp: Column) -> Column:
    """Weights that a step reads, on one accelerator.

    w = N B_w / t

    N are those that it touches: all of a dense model, `touched_parameters` of a mixture of experts.

    Source: definition.
    """
    return parameters * weight_bytes / tp / 1e9


def cache_read_gb_per_step(
    *,
    layers: Column,
    kv_heads: Column,
    head_dim: Column,
    kv_bytes: Column,
    running: Column,
    context_tokens: Column,
    tp: Column,
) -> Column:
    """Keys and values that one step reads, on one accelerator.

    c = 2 L kv d B_kv b s / min(t, kv)

    Source: Pope et al., arXiv 2211.05102.
    """
    return (
        2
        * layers
        * kv_heads
        * head_dim
        * kv_bytes
        * running
        * context_tokens
        / np.minimum(tp, kv_heads)
        / 1e9
    )


def step_tokens(*, running: Column, prefill_tokens: Column) -> Column:
    """Tokens that one step computes: one for each running request, and the prompts that join.

    n = b + q

    Source: continuous batching with chunked prefill.
    """
    return running + prefill_tokens


def node_available_fraction(*, failure_rate_per_node_h: Column, down_h: Column) -> Column:
    """Share of time that a replica's node is up.

    A = 1 / (1 + r * t_down)

    A pooled spare takes over after a failure, so a replica is down for the time to restart, not to repair.

    Source: renewal theory, alternating up and down times.
    """
    return 1.0 / (1.0 + np.asarray(failure_rate_per_node_h) * down_h)


def standby_ratio(*, carrying: Column, standby: Column) -> Column:
    """Standby replicas for each that carries, where they are too many to be counted one by one.

    s = k / x

    With x not rounded up, ceil(x (1 + s)) = ceil(x) + k: as many as are asked for.

    Source: n + k redundancy.
    """
    return np.divide(standby, carrying)


def needed_replicas(*, demand_per_s: Column, requests_per_s: Column) -> Column:
    """Replicas that carry a demand.

    n = ceil(demand / capacity)

    Source: definition.
    """
    return np.ceil(np.divide(demand_per_s, requests_per_s))


def carrying_replicas(*, demand_per_s: Column, requests_per_s: Column) -> Column:
    """Replicas that carry a demand; not rounded up.

    x = demand / capacity

    Source: definition.
    """
    return np.divide(demand_per_s, requests_per_s)


def replica_node_h(*, replica_nodes: Column, hours_h: Column) -> Column:
    """Node-hours that a replica holds in a period: it stands all the time.

    N_h = n * h

    Source: definition.
    """
    return replica_nodes * hours_h


def replica_increment_kw(*, busy_kw: Column, idle_kw: Column, replica_nodes: Column, pue: Column) -> Column:
    """Facility power that a replica adds at the peak hour to the idle power of its part of a node.

    dP = (P_peak - P_idle) * n * PUE

    Source: definition.
    """
    return np.maximum(0.0, np.asarray(busy_kw) - idle_kw) * replica_nodes * pue


def routed_layer_s(*, layer_s: Column, expert_layer_s: Column) -> Column:
    """Host time of a layer that chooses among experts.

    a = a_L + a_E

    Source: the form of `decode_step_s`.
    """
    return layer_s + np.asarray(expert_layer_s)


def exchange_fraction(*, exchange_s: Column, step_s: Column) -> Column:
    """Share of a step in which accelerators wait for each other's values.

    x = min(1, t_exchange / T)

    Source: definition in the fit of `accelerator_power_kw`.
    """
    return np.minimum(1.0, np.divide(exchange_s, step_s))


def at_least_running(*, running: Column) -> Column:
    """Requests that run, kept at one where a candidate carries less.

    b = max(b, 1)

    A step is taken only while a request runs.

    Source: guard at low loads.
    """
    return np.maximum(running, 1.0)


def at_least_s(*, step_s: Column, least_s: Column) -> Column:
    """Step time, kept above zero where a candidate carries no load.

    T = max(T, least)

    Source: guard; such candidates are dropped.
    """
    return np.maximum(step_s, least_s)


def at_least_per_s(*, rate_per_s: Column, least_per_s: Column) -> Column:
    """Rate, kept above zero where a candidate carries no load.

    x = max(x, least)

    Source: guard; such candidates are dropped.
    """
    return np.maximum(rate_per_s, least_per_s)


def at_most(*, value: Column, most: Column) -> Column:
    """A value and its cap.

    x = min(x, most)

    Source: guard for the size of a table.
    """
    return np.minimum(value, most)
