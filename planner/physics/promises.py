"""What services are promised: nodes that are up, restarts that standby covers, spares for repairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.physics.equations.promises import (
    failing_units,
    joint_outages_fraction,
    promised_spares_fraction,
    restart_ratio,
    standby_replicas,
)
from planner.physics.equations.serving import COUNTED_REPLICAS, at_most
from planner.physics.failures import measured_bursts, restart_by_node_group
from planner.trace.quantities import Traced, chosen, derive, derive_parts, pick, rows
from reliability.promises import standby_for_restarts
from reliability.spares import node_availability_fraction

RESTART_SHARE = "reliability.promise.restart_share"


def promises(inputs: Inputs) -> list[float]:
    """What services are promised, the laxest first."""
    return sorted({service.availability_fraction for service in inputs.scenario.services})


def promise_of_service(inputs: Inputs) -> NDArray[np.int64]:
    """The place of each service's promise among all of them, from 1."""
    each = [service.availability_fraction for service in inputs.scenario.services]
    return np.searchsorted(promises(inputs), each).astype(np.int64) + 1


def node_up_fraction(inputs: Inputs, failure_rate_per_node_h: Traced) -> Traced:
    """Share of time that a node of each node group is up, repair included."""
    return derive(
        node_availability_fraction,
        failure_rate_per_node_h=failure_rate_per_node_h,
        repair_h=inputs.repair(),
    )


def outage_correlation(inputs: Inputs, up_fraction: Traced) -> Traced:
    """How much the outages of any two nodes of a node group go together: bursts that were measured."""
    ratio, fleet_nodes = measured_bursts(inputs.scenario.fit, inputs.fact)
    return derive(
        joint_outages_fraction,
        variance_to_mean_ratio=inputs.keep(ratio),
        nodes=inputs.keep(fleet_nodes),
        availability_fraction=up_fraction,
    )


def spares_fraction(inputs: Inputs, availability_fraction: float) -> Traced:
    """Share of time in which spares and standby have to cover the nodes under repair, for a promise."""
    names = [s.name for s in inputs.scenario.services if s.availability_fraction == availability_fraction]
    return derive(
        promised_spares_fraction,
        availability_fraction=inputs.yours(f"services.{names[0]}.availability", availability_fraction, "1"),
        restart_share_fraction=inputs.fact(RESTART_SHARE),
    )


def standing_by(
    inputs: Inputs,
    failure_rate_per_node_h: Traced,
    service: NDArray[np.intp],
    node_group: NDArray[np.intp],
    replica_nodes: Traced,
    carrying: Traced,
) -> tuple[Traced, Traced, Traced]:
    """Replicas on standby next to those that carry, and the nodes under repair that they cover, too.

    Third, the failures at once that they cover while replicas restart.

    A failed node takes along all replicas on it, and a replica of several nodes fails with any of them. Where
    several options share a service, each keeps the standby of the whole: together they are short no more
    often than one alone that carries all.
    """
    services, reliability = inputs.scenario.services, inputs.scenario.reliability
    target = pick(
        [inputs.yours(f"services.{s.name}.availability", s.availability_fraction, "1") for s in services],
        service[:, None],
    )
    needed = derive(
        at_most,
        value=carrying,
        most=chosen("most", COUNTED_REPLICAS, "beyond it the share no longer falls"),
    )
    share = rows(replica_nodes, np.arange(len(service))[:, None])
    restart = restart_by_node_group(inputs, node_group[:, None])
    confidence = reliability.spare_confidence_fraction
    sure: Traced = inputs.yours("reliability.spare_confidence", confidence, "1")
    if reliability.spare_share_fraction is not None:
        sure = chosen("spare_confidence", 0.0, "spares are a share of the nodes in use, whatever fails")
    found = derive_parts(
        standby_for_restarts,
        carrying_nodes=derive(failing_units, carrying=needed, replica_nodes=share),
        restart_ratio=derive(
            restart_ratio,
            failure_rate_per_node_h=rows(failure_rate_per_node_h, np.arange(len(service))[:, None]),
            replica_nodes=share,
            restart_h=restart,
        ),
        short_fraction=(1.0 - target).named(
            "short_fraction", "Share of time in which a service may be short"
        ),
        restart_share_fraction=inputs.fact(RESTART_SHARE),
        spare_confidence_fraction=sure,
    )
    standby = derive(standby_replicas, failures=found.failures, carrying=needed, replica_nodes=share)
    return standby, found.covered_nodes, found.failures
