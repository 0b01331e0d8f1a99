"""What stands, moves and is bought under contract, as tables of the program and as terms of a plan."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.coefficients.buying import Buying, paid_usd
from planner.coefficients.standing import Standing
from planner.inputs import Inputs
from planner.trace import Chosen, Traced, chosen
from solver.problem import Cohorts, Moves, Solution, Tiers

DECIDED = "decided by the program"


def cohort_table(standing: Standing, periods: int) -> Cohorts:
    """Cohorts of the fleet, and an empty one for each that a move may make."""
    shape = (len(standing.pool), periods)
    none = np.zeros(shape)
    return Cohorts(
        pool=standing.pool,
        nodes=standing.nodes,
        keep_usd_per_node=np.broadcast_to(standing.keep_usd.value, shape),
        keep_kgco2e_per_node=np.broadcast_to(standing.keep_kgco2e.value, shape),
        retire_usd_per_node=none
        if standing.retire_usd is None
        else np.broadcast_to(standing.retire_usd.value, shape),
        must_retire_by=standing.must_retire_by,
        available_fraction=np.broadcast_to(standing.available_fraction.value, shape),
    )


def move_table(standing: Standing, periods: int) -> Moves:
    """Ways between cohorts."""
    moving = standing.moving
    if moving is None:
        return Moves.none(periods)
    shape = (len(moving.entry), periods)
    return Moves(
        from_cohort=moving.from_cohort,
        to_cohort=moving.to_cohort,
        lead_periods=moving.lead_periods,
        usd_per_node=np.broadcast_to(moving.usd.value, shape),
        kgco2e_per_node=np.broadcast_to(moving.kgco2e.value, shape),
    )


def tier_table(buying: Buying, periods: int) -> Tiers:
    """Rebates of framework contracts."""
    if not buying.rebates:
        return Tiers.none(periods)
    return Tiers(
        sku=buying.tier_sku, from_nodes=buying.tier_from_nodes, rebate_fraction=buying.tier_rebate_fraction
    )


def minimum_order_nodes(inputs: Inputs) -> NDArray[np.float64]:
    """Fewest nodes that each pool orders over the horizon, if it orders any."""
    least = {offer.sku: float(offer.minimum_nodes or 0) for offer in inputs.scenario.market}
    return np.array([least.get(inputs.skus[sku].name, 0.0) for sku in inputs.pool_sku])


def most_standing_nodes(standing: Standing, pools: int) -> NDArray[np.float64]:
    """Standing nodes that each pool could hold, those that may move there included."""
    most = np.zeros(pools)
    np.add.at(most, standing.pool, standing.nodes)
    if standing.moving is not None:
        pairs = np.unique(
            np.stack([standing.moving.from_cohort, standing.pool[standing.moving.to_cohort]]), axis=1
        )
        np.add.at(most, pairs[1], standing.nodes[pairs[0]])
    return most


def owned_usd_terms(
    buying: Buying, standing: Standing, rebate: Traced | None, solution: Solution, ordered_nodes: NDArray[Any]
) -> dict[str, tuple[Traced, Chosen]]:
    """Money of ordering, retiring and moving: what each costs and how many there are, where there are any."""
    found: dict[str, tuple[Traced, Chosen]] = {}
    if buying.order_usd is not None and ordered_nodes.any():
        found["ordered"] = paid_usd(buying.order_usd, rebate), _count("nodes ordered", ordered_nodes)
    if standing.retire_usd is not None and solution.retired.any():
        found["retired"] = standing.retire_usd, _count("nodes retired", solution.retired)
    if standing.moving is not None and solution.moved.any():
        found["moved"] = standing.moving.usd, _count("nodes moved", solution.moved)
    return found


def owned_kgco2e_terms(standing: Standing, solution: Solution) -> dict[str, tuple[Traced, Chosen]]:
    """Carbon of moving, where something moves."""
    if standing.moving is None or not solution.moved.any():
        return {}
    return {"moved": (standing.moving.kgco2e, _count("nodes moved", solution.moved))}


def _count(name: str, counts: NDArray[Any]) -> Chosen:
    return chosen(name, np.asarray(counts, dtype=float), DECIDED, "1")
