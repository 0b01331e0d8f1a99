"""What an hour of a rented node costs and emits, its electricity apart, in each pool of rented nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.coefficients.nodes import Nodes
from planner.inputs import Inputs
from planner.trace import Traced, chosen, derive, pick, rows

Column = float | NDArray[Any]


def rented_node_usd_per_h(*, price_usd_per_h: Column, accelerators: Column) -> Column:
    """Price of a node for an hour in use, its electricity included.

    m = p * a

    Source: definition; a is 1 where the price is for a node.
    """
    return np.multiply(price_usd_per_h, accelerators)


def rent_usd(*, usd_per_node_h: Column, node_h: Column) -> Column:
    """Money for hours in use.

    M = m * h

    Source: definition.
    """
    return np.multiply(usd_per_node_h, node_h)


def rented_kgco2e(
    *, owned_kgco2e: Column, owned_h: Column, utilisation_fraction: Column, node_h: Column
) -> Column:
    """Making and repairing of the provider's node, charged to the hours in which somebody rents it.

    C = C_owned / (u * H) * h

    C_owned is what a node of one's own would be charged in H hours, over the same life. The electricity of
    the provider's idle nodes is left out.

    Source: attribution by use; carbon/README.md.
    """
    return owned_kgco2e / (np.multiply(owned_h, utilisation_fraction)) * node_h


@dataclass(frozen=True)
class Rented:
    """Pools of rented nodes (rows), and what an hour in use of one node costs and emits by period."""

    pool: NDArray[np.intp]
    usd: Traced | None
    kgco2e: Traced | None


def rented_hours(inputs: Inputs, nodes: Nodes) -> Rented:
    """An hour of every rented node, by period."""
    pool = np.flatnonzero(inputs.rented)
    if not len(pool):
        return Rented(pool, None, None)
    hour = chosen("node_h", np.ones((1, inputs.periods)), "one hour in use")
    first = len(inputs.scenario.sites)
    offers = range(len(inputs.scenario.rental))
    usd = pick(
        [_node_usd_per_h(inputs, i, t) for i in offers for t in range(inputs.periods)],
        (inputs.pool_site[pool] - first)[:, None] * inputs.periods + np.arange(inputs.periods)[None, :],
    )
    return Rented(
        pool,
        usd=derive(rent_usd, usd_per_node_h=usd, node_h=hour),
        kgco2e=derive(
            rented_kgco2e, owned_kgco2e=rows(nodes.owned_kgco2e, pool), owned_h=inputs.period_h,
            utilisation_fraction=inputs.fact("rental.utilisation"), node_h=hour,
        ),
    )  # fmt: skip


def _node_usd_per_h(inputs: Inputs, rental: int, period: int) -> Traced:
    one = inputs.scenario.rental[rental]
    sku = next(k for k, sku in enumerate(inputs.skus) if sku.name == one.sku)
    price: Traced
    if one.price_usd_per_h is None:
        price = inputs.fact(f"rental.{inputs.skus[sku].accelerator}.price")
    else:
        stated = one.price_usd_per_h
        path = f"rental.{one.name}.price" + (f"[{period}]" if len(set(stated)) > 1 else "")
        price = inputs.yours(path, stated[period], "USD/h")
    whole = one.per == "node" and one.price_usd_per_h is not None
    count = chosen("accelerators", 1.0, "the price is for a whole node") if whole else None
    return derive(
        rented_node_usd_per_h,
        price_usd_per_h=price,
        accelerators=count or inputs.server("accelerators")[sku],
    )
