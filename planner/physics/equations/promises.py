"""Equations of promises beyond the leaf: what of a service fails alone, and what is left to spares."""

from __future__ import annotations

import numpy as np

from planner.physics.equations.serving import COUNTED_REPLICAS
from planner.trace.columns import Column
from reliability.spares import installed_for_availability, outage_correlation_fraction

ROUNDING = 1e-9  # of a count of replicas that fit on a node


def joint_outages_fraction(
    *, variance_to_mean_ratio: Column, nodes: Column, availability_fraction: Column
) -> Column:
    """Correlation of any two nodes' outages, from the bursts of a fleet; near 1 for nodes hardly ever up.

    rho = `outage_correlation_fraction` of max(a, 1.001 * v / n)

    A fleet of n nodes that are up in less than v / n of the time cannot have bursts of v.

    Source: variance of the beta-binomial distribution.
    """
    least = 1.001 * np.divide(variance_to_mean_ratio, nodes)
    return outage_correlation_fraction(
        variance_to_mean_ratio=variance_to_mean_ratio,
        nodes=nodes,
        availability_fraction=np.maximum(availability_fraction, least),
    )


def failing_units(*, carrying: Column, replica_nodes: Column) -> Column:
    """Parts of a service that fail one by one: replicas, or nodes where several replicas share one.

    m = x min(w, 1)

    Source: definition; a failed node takes along all replicas on it.
    """
    return np.multiply(carrying, np.minimum(replica_nodes, 1.0))


def restart_ratio(*, failure_rate_per_node_h: Column, replica_nodes: Column, restart_h: Column) -> Column:
    """Restarts in progress of one such part, on average.

    rho = r max(w, 1) t

    A replica of several nodes is down when any of its nodes is.

    Source: Little's law.
    """
    return np.multiply(failure_rate_per_node_h, np.maximum(replica_nodes, 1.0)) * restart_h


def restarting_nodes(*, nodes: Column, failure_rate_per_node_h: Column, restart_h: Column) -> Column:
    """Nodes whose replicas restart at once, on average.

    m = n r t

    Source: Little's law.
    """
    return np.multiply(nodes, failure_rate_per_node_h) * restart_h


def standby_replicas(*, failures: Column, carrying: Column, replica_nodes: Column) -> Column:
    """Replicas that stand by so that failures at once are covered.

    k = f max(1, min(floor(1/w), ceil(x)))

    A node takes along as many replicas as fit on it, but no more than there are.

    Source: definition.
    """
    fitting = np.floor(1.0 / np.asarray(replica_nodes) + ROUNDING)
    lost = np.maximum(np.minimum(fitting, np.ceil(np.asarray(carrying) - ROUNDING)), 1.0)
    result: Column = np.asarray(failures) * lost
    return result


def promised_spares_fraction(*, availability_fraction: Column, restart_share_fraction: Column) -> Column:
    """Share of time in which nodes under repair have to be covered, by spares and by standby.

    p = 1 - (1 - b) (1 - A)

    The part b of the time in which the service may be short is left to restarts.

    Source: Boole's inequality.
    """
    return 1.0 - (1.0 - np.asarray(restart_share_fraction)) * (1.0 - np.asarray(availability_fraction))


def failures_without_spares(
    *,
    units: Column,
    replica_nodes: Column,
    failure_rate_per_node_h: Column,
    down_h: Column,
    availability_fraction: Column,
    correlation_fraction: Column,
) -> Column:
    """Failures at once that standby has to cover where no spares are kept next to it.

    f = min {f : P(X <= f) >= A},  X of m + f parts that fail alone,  a = 1 / (1 + r max(w, 1) t)

    A part is down for repair and restart, t. Beyond 1000 of them f grows in proportion.

    Source: k-out-of-n availability; Barlow and Proschan, "Statistical Theory of Reliability", 1975.
    """
    whole = np.ceil(np.asarray(units) - ROUNDING)
    counted = np.clip(whole, 1.0, COUNTED_REPLICAS)
    up = 1.0 / (1.0 + np.multiply(failure_rate_per_node_h, np.maximum(replica_nodes, 1.0)) * down_h)
    installed = installed_for_availability(
        needed=counted,
        availability_fraction=up,
        target_fraction=availability_fraction,
        correlation_fraction=correlation_fraction,
    )
    more = np.asarray(installed) - counted
    result: Column = np.where(whole > 0, np.ceil(more * np.maximum(whole / counted, 1.0) - ROUNDING), 0.0)
    return result


def work_held_ratio(
    *, utilisation_fraction: Column, up_fraction: Column, headroom_ratio: Column = 1.0
) -> Column:
    """Node-hours that a pool takes for each hour of work.

    h = r / (u a)

    Jobs fill a share u of the hours of the nodes that are up; no spares replace those under repair. r is the
    headroom for the confidence that a plan asks for.

    Source: definition of utilisation as the allocated share of available node-hours (Kokolis et al., 2025).
    """
    held: Column = headroom_ratio / np.multiply(utilisation_fraction, up_fraction)
    return held
