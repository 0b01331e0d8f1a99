"""What a pool pays for its data where its work is done away from the site at which they lie."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Site
from planner.physics.equations.money import egress_kgco2e, egress_usd
from planner.trace.quantities import Traced, chosen, derive, pick, rows

PRICE = "network.egress.price"


@dataclass(frozen=True)
class Egress:
    """Money and carbon of the data that an hour of a node moves, of each way to work by period (O, T)."""

    usd: Traced
    kgco2e: Traced


def egress_of_work(
    inputs: Inputs, work: NDArray[np.intp], site: NDArray[np.intp], speed: Traced
) -> Egress | None:
    """Of each way to do a pool's work; None where no pool says where its data lie.

    An hour of a node moves what an hour of the reference does, times its speed. The mean of the period counts
    at both ends: data may move at other hours than work.
    """
    pools, names = inputs.scenario.pools, [one.name for one in inputs.scenario.sites]
    if not any(pool.data_site for pool in pools):
        return None
    home = np.array([names.index(one.data_site) if one.data_site else -1 for one in pools])[work]
    away = ((home >= 0) & (home != site)).astype(float)[:, None] * np.ones(inputs.periods)
    none = chosen("moved_gb", 0.0, "its data lie wherever it works", "GB")
    each = [
        none
        if pool.data_moved_gb is None
        else inputs.yours(f"pools.{pool.name}.data_moved", pool.data_moved_gb, "GB")
        for pool in pools
    ]
    tall = np.arange(len(work))[:, None]
    moved = (pick(each, work[:, None]) * rows(speed, tall)).named("moved_gb")
    moved = (moved * chosen("away_ratio", away, "1 away from the site of its data")).named("moved_gb")
    home = np.where(home < 0, site, home)
    prices = [_price(inputs, one) for one in inputs.scenario.sites]
    prices += [inputs.fact(PRICE)] * (int(home.max(initial=0)) + 1 - len(prices))
    return Egress(
        usd=derive(egress_usd, moved_gb=moved, egress_usd_per_gb=pick(prices, home[:, None])),
        kgco2e=derive(
            egress_kgco2e,
            moved_gb=moved,
            transfer_kwh_per_gb=inputs.fact("network.transfer.energy"),
            home_kgco2e_per_kwh=inputs.site_by_period(inputs.location_grid, home),
            there_kgco2e_per_kwh=inputs.site_by_period(inputs.location_grid, site),
        ),
    )


def _price(inputs: Inputs, site: Site) -> Traced:
    """Price of data that leave a site: as stated, or what clouds ask."""
    if site.egress_price_usd_per_gb is None:
        return inputs.fact(PRICE)
    return inputs.money(f"sites.{site.name}.egress_price", site.egress_price_usd_per_gb, "USD/GB")
