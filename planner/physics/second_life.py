"""Nodes that leave service and go on in a lower tier of the firm: what they are worth there, and avoid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.physics.nodes import Nodes
from planner.physics.value import Value
from planner.trace.columns import Column
from planner.trace.quantities import Traced, chosen, derive, rows


def reuse_usd(*, value_usd: Column, kept_value_fraction: Column, sale_usd: Column) -> Column:
    """What a second life takes beyond the sale of a node.

    U = V - w V - S

    V is the value that leaves this fleet, w V what the lower tier would pay for an equal used node, tested
    and fitted, and S what a sale takes: market and lower tier are two ways for one node.

    Source: definition; opportunity cost.
    """
    value = np.asarray(value_usd)
    taken: Column = value - kept_value_fraction * value - sale_usd
    return taken


def avoided_kgco2e(*, making_kgco2e: Column, avoided_fraction: Column) -> Column:
    """Carbon that a second life avoids from a period on to the end of the horizon, below zero.

    C[t] = -a * sum over t' >= t of E[t']

    E[t'] is the share of its making that a new node of its kind has in a period, as a node that is bought
    has it: so no more is avoided than buying would add within the horizon. The making of the old node is
    sunk and stays so.

    Source: substitution by reuse within one boundary; outside of it nothing is credited (cut-off).
    """
    making = np.asarray(making_kgco2e)
    later: Column = -avoided_fraction * np.cumsum(making[:, ::-1], axis=1)[:, ::-1]
    return later


@dataclass(frozen=True)
class SecondLife:
    """Of each cohort (H): most nodes that a lower tier takes, and of a node by period (H, T)."""

    limit: NDArray[np.int64]
    usd: Traced  # beyond its sale
    kgco2e: Traced


def second_life(
    inputs: Inputs, nodes: Nodes, home: NDArray[np.intp], group: NDArray[np.intp], value: Value | None
) -> SecondLife | None:
    """What a lower tier makes of the fleet; None where it takes nothing.

    Nodes that were carried to another site before are sold there.
    """
    fleet = inputs.scenario.fleet
    if value is None or not any(cohort.second_life_nodes for cohort in fleet):
        return None
    limit = np.zeros(len(home), dtype=np.int64)
    limit[: len(fleet)] = [cohort.second_life_nodes or 0 for cohort in fleet]
    making = (
        rows(nodes.sunk_kgco2e, group) * chosen("node", np.ones((1, inputs.periods)), "one node")
    ).named("making_kgco2e")
    return SecondLife(
        limit=limit,
        usd=derive(
            reuse_usd,
            value_usd=value.usd,
            kept_value_fraction=inputs.fact("second_life.value"),
            sale_usd=value.sale_usd,
        ),
        kgco2e=derive(
            avoided_kgco2e, making_kgco2e=making, avoided_fraction=inputs.fact("second_life.avoided")
        ),
    )
