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
        usd=(value.usd - inputs.fact("second_life.value") * value.usd - value.sale_usd).named(
            "reuse_usd",
            "The value that leaves this fleet, less what the lower tier would pay and what a sale takes",
        ),
        kgco2e=derive(
            avoided_kgco2e, making_kgco2e=making, avoided_fraction=inputs.fact("second_life.avoided")
        ),
    )
