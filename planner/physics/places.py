"""What sites charge beyond energy: space by the rated power of nodes, and the highest power of a period."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.trace.columns import Column
from planner.trace.quantities import Traced, chosen, pick
from planner.trace.sums import over_rows, sums


def there_kw(*, each_kw: Column, counts: Column, there_ratio: Column) -> NDArray[np.float64]:
    """Power of one kind of decision at each site, by period.

    K[s,t] = sum_i d[s,i] n[i,t] k[i,t]

    d is 1 where i stands at the site, else 0.

    Source: plain sum over the plan's decisions.
    """
    found: NDArray[np.float64] = np.asarray(there_ratio) @ (np.asarray(each_kw) * counts)
    return found


sums(over_rows("there_ratio"))(there_kw)


def space_bill_usd(*, space_usd_per_kw: Column, occupied_kw: Column, committed_kw: Column) -> Column:
    """Money for space in a period.

    M = P * max(K, C)

    K is the rated power of the nodes in service, parked or not; C is paid whether used or not. Escalators,
    free months and what a sublet brings are left out: write the price of each period.

    Source: take-or-pay contracts for colocation, priced by rated power; energy is paid apart.
    """
    return np.multiply(space_usd_per_kw, np.maximum(occupied_kw, committed_kw))


def peak_bill_usd(*, peak_usd_per_kw: Column, peak_kw: Column) -> Column:
    """Demand charge of a period.

    M = P * K

    K is the highest power at the meter, the one that the power cap holds; each month is billed as if it
    reached the highest of its period.

    Source: demand charge of a tariff, e.g. Dominion Energy, schedule GS-3.
    """
    return np.multiply(peak_usd_per_kw, peak_kw)


@dataclass(frozen=True)
class Terms:
    """Prices and commitments by site and period (S, T), rented locations included; rated power of a node."""

    space_usd_per_kw: Traced
    committed_kw: Traced
    peak_usd_per_kw: Traced
    rated_kw: Traced  # (P, 1)


def site_terms(inputs: Inputs) -> Terms:
    """The terms of every site."""
    index = np.arange(len(inputs.sites) * inputs.periods).reshape(-1, inputs.periods)
    return Terms(
        space_usd_per_kw=(pick(inputs.space_price, index) * inputs.period_h).named(
            "kilowatt_usd_per_kw", "Price of a kilowatt through a period"
        ),
        committed_kw=pick(_committed(inputs), index),
        peak_usd_per_kw=(pick(inputs.demand_charge, index) * inputs.period_h).named(
            "kilowatt_usd_per_kw", "Price of a kilowatt through a period"
        ),
        rated_kw=pick(inputs.in_place("max_power"), inputs.node_group_sku[:, None]),
    )


def _committed(inputs: Inputs) -> list[Traced]:
    none = chosen("committed_kw", 0.0, "nothing is committed")
    found: list[Traced] = []
    for site in inputs.sites:
        if site.space_committed_kw is None:
            found += [none] * inputs.periods
        else:
            found += inputs.by_period(f"sites.{site.name}.space_committed", site.space_committed_kw, "kW")
    return found
